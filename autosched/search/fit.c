/* fit.c - tiles and unrolled loops of a function's many nests made smaller, until code generators take its code in a
 * few seconds. Groups that are far too much code whatever their tiles are keep their plain loops.
 *
 * What a nest becomes is known once it is lowered: versions, ends of tiles and lanes that are fetched one by one are
 * too many to foresee. So the nest of the chosen point is lowered as a whole and what each group became is counted;
 * later only the groups that changed are. Nests of equal groups are one function (lower/kernel/passes/share.c), which
 * counts once, for the first of them. Where all together is too much, the groups with more than their share get another
 * choice that has no more. The share is such that what the others leave of theirs is shared again: no group pays for a
 * cheaper one. What a call works on for long is worth longer code, and time to choose again. Plain loops are for those
 * first that work the least for their code.
 * A function of a few nests and stages is left as it is: each has limits of its own. So is one that differs in a few
 * nests from another one whose code was made to fit.
 */
#include "autosched/search/policies.h"
#include "lower/kernel/kernel.h"

#include <math.h>
#include <string.h>

enum { FUNCTION_CODE = 16000 /* instructions */, ROUNDS = 3 };
enum { FEW_STAGES = 64, FEW_NODES = 1024 /* of all values */ };
enum { WORTH_COUNTING = 8 }; /* what changed is counted again where a round saves more than a part of so many */
static const double worth = 1. / 4096; /* instructions for each operation of a call, */
enum { WORTH_MOST = 4096 };            /* and the most: what a cache of instructions holds */
enum { WORTH_CHOOSING = 1 << 18 };     /* operations of a group that is explored again: microseconds of a call, */
#define SLOWER 1.1                     /* where fewer copies of the same are so many times slower */

/* The group that a tensor of a nest is computed in, or made for: buffers have the names of theirs. likely: asked first;
 * -1: none. */
static int group_of(Space *space, const Tensor *tensor, const int *point, int likely) {
    const GroupNumbers *computers = space_computers(space, tensor);
    int first = -1;
    for (int i = 0; computers && i < computers->count; i++) {
        int g = computers->items[i];
        bool used = group_is_used(space, space->groups.items[g], point);
        if (used && g == likely)
            return g;
        first = used && first < 0 ? g : first;
    }
    if (first >= 0)
        return first;
    for (int g = 0; g < space->groups.count; g++) {
        const char *prefix = space->groups.items[g]->prefix;
        if (*prefix && strncmp(tensor->name, prefix, strlen(prefix)) == 0)
            return g;
    }
    return -1;
}

/* Instructions of each group in the nest of the point, or of one in its own (only; -1: all). */
static void count_code(Arena *scratch, Space *space, const Nest *nest, const int *point, int only, int64_t *code) {
    ExpandOptions counted_only = {.unverified = true, .part = only >= 0};
    KernelCode counted = kernel_code(scratch, expand(scratch, nest, &counted_only));
    memset(code, 0, sizeof *code * (size_t)space->groups.count);
    for (int i = counted.count - 1, group = -1; i >= 0; i--) {
        int own = group_of(space, counted.items[i].tensor, point, only);
        group = own >= 0 ? own : group; /* what is shuffled on the way to a store is that store's */
        if (group >= 0)
            code[group] += counted.items[i].instructions;
    }
}

int64_t group_code(Space *space, int number, const int *point) {
    int64_t code[space->groups.count + 1];
    Arena *scratch = arena_new();
    const Nest *nest = point_nest(scratch, space, point, number);
    if (nest)
        count_code(scratch, space, nest, point, number, code);
    arena_free(scratch);
    return nest ? code[number] : INT64_MAX;
}

/* The most that each may have, so that all together have no more than the limit. */
int64_t fair_share(const int64_t *amounts, int count, int64_t limit) {
    int64_t share = 0, next = limit / (count ? count : 1);
    while (next > share) {
        int64_t left = limit;
        int above = 0;
        share = next;
        for (int i = 0; i < count; i++) {
            above += amounts[i] > share;
            left -= amounts[i] > share ? 0 : amounts[i];
        }
        next = above ? left / above : share;
    }
    return share;
}

static double estimate(Space *space, int number, const int *point) {
    Arena *scratch = arena_new();
    double seconds = point_estimate(scratch, space, point, number);
    arena_free(scratch);
    return seconds;
}

/* The group with about that part of its copies, if it has any to spare and what is left is legal. */
static bool spare_copies(Space *space, int number, double part, int *point) {
    Arena *scratch = arena_new();
    int *fewer = ARENA_ARRAY(scratch, int, space->gene_count + 1);
    memcpy(fewer, point, sizeof *point * (size_t)space->gene_count);
    bool spared = group_shrink(space, number, part, fewer) && point_nest(scratch, space, fewer, number);
    if (spared)
        memcpy(point, fewer, sizeof *point * (size_t)space->gene_count);
    arena_free(scratch);
    return spared;
}

/* Another choice for the group, of no more than so many of its `code` instructions: its own with fewer copies, or the
 * fastest one that is found within that. Its own may have more, if the other is slower by more than that excess.
 * False: it stays as it is. */
static bool shrink_group(Space *space, int number, int64_t code, int64_t most, int *point) {
    Arena *arena = arena_new();
    int *spared = ARENA_ARRAY(arena, int, space->gene_count + 1);
    int *found = ARENA_ARRAY(arena, int, space->gene_count + 1);
    size_t bytes = sizeof *point * (size_t)space->gene_count;
    memcpy(spared, point, bytes);
    memcpy(found, point, bytes);
    bool any = group_is_used(space, space->groups.items[number], point);
    bool fewer = any && spare_copies(space, number, (double)most / (double)code, spared), better = false;
    if (any && group_work(space->groups.items[number]) >= WORTH_CHOOSING) {
        double least = HUGE_VAL;
        if (fewer)
            least = fmax((double)group_code(space, number, spared) / (double)most, 1) * estimate(space, number, spared);
        better = least > SLOWER * estimate(space, number, point) && choose_within(space, number, most, found) < least;
    }
    if (better || fewer)
        memcpy(point, better ? found : spared, bytes);
    arena_free(arena);
    return better || fewer;
}

static int64_t sum_of(const int64_t *amounts, int count) {
    int64_t sum = 0;
    for (int i = 0; i < count; i++)
        sum += amounts[i];
    return sum;
}

static double worth_of(const Group *group) {
    return fmin(group_work(group) * worth, WORTH_MOST);
}

/* What the work of a group may be worth at the most, so that all groups together are no more than half of what the
 * function may have before plain loops: what cannot be made smaller has the other half. */
static int64_t worth_limit(const Space *space, const int64_t *code, const Fit *fit) {
    int count = space->groups.count;
    int64_t amounts[count + 1];
    for (int g = 0; g < count; g++)
        amounts[g] = (int64_t)fmin((double)code[g], worth_of(space->groups.items[g]));
    return fair_share(amounts, count, fit->most / 2);
}

static int64_t allowed_code(const Group *group, int64_t share, const Fit *fit) {
    int64_t own = (int64_t)fmin(worth_of(group), (double)fit->worth_limit);
    return own > share ? own : share;
}

/* Makes the groups smaller that have more code than they may. Returns the instructions that this is meant to save. */
static int64_t shrink_groups(Space *space, const int64_t *code, int *point, const Fit *fit, bool *shrunk) {
    int64_t share = fair_share(code, space->groups.count, FUNCTION_CODE), saved = 0;
    for (int g = 0; g < space->groups.count; g++) {
        int64_t allowed = allowed_code(space->groups.items[g], share, fit);
        int same = fit->same[g];
        shrunk[g] = same < g ? shrunk[same] : code[g] > allowed && shrink_group(space, g, code[g], allowed, point);
        if (!shrunk[g])
            continue;
        if (same < g)
            take_genes(space, g, same, point);
        fit->smaller[g] = true;
        saved += code[g] > allowed ? code[g] - allowed : 0;
    }
    return saved;
}

/* Counts the groups again that were made smaller, each alone: some of what is counted once for all is then more. */
static void count_again(Space *space, const int *point, const Fit *fit, const bool *shrunk, int64_t *code) {
    for (int g = 0; g < space->groups.count; g++) {
        int same = fit->same[g];
        if (!shrunk[g])
            continue;
        int64_t alone = same < g ? code[same] : group_code(space, g, point);
        code[g] = alone < code[g] ? alone : code[g];
    }
}

static bool make_smaller(Space *space, int64_t *code, int *point, const Fit *fit) {
    int count = space->groups.count;
    bool shrunk[count + 1], any = false;
    for (int round = 0; round < ROUNDS; round++) {
        int64_t all = sum_of(code, count), saved = shrink_groups(space, code, point, fit, shrunk);
        any |= saved > 0;
        if (saved <= all / WORTH_COUNTING)
            break;
        count_again(space, point, fit, shrunk, code);
    }
    return any;
}

static void keep_plain(Space *space, int number, const Fit *fit) {
    const Group *group = space->groups.items[number];
    for (int g = 0; g < space->groups.count; g++)
        if (g == number || (group->fused && space->groups.items[g]->apart == group->fused))
            space->groups.items[g]->skipped = fit->plain[g] = true;
}

/* Nests that are one function count for the first of them: those that count as nothing have their code from one that is
 * plain by now, and as many stages. */
static bool has_code_of_plain(const Space *space, int number, const int64_t *code, const Fit *fit) {
    for (int g = 0; g < number && code[number] == 0; g++)
        if (fit->plain[g] && space->groups.items[g]->stage_count == space->groups.items[number]->stage_count)
            return true;
    return false;
}

/* Of each group, with that of those that are equal to it: for an instruction. Run-time sizes are typical ones. */
static double *density_of_work(Arena *arena, Space *space, const Nest *nest, const int64_t *code, const int *point,
                               const Fit *fit) {
    double *density = ARENA_ARRAY(arena, double, space->groups.count + 1);
    const double *work = nest_work(arena, nest);
    for (int n = 0; n < nest->stage_count; n++) {
        int group = group_of(space, nest->stages[n]->stage->components[0].tensor, point, -1);
        if (group >= 0)
            density[fit->same[group]] += work[n];
    }
    for (int g = 0; g < space->groups.count; g++)
        density[g] /= code[g] > 0 ? (double)code[g] : 1;
    return density;
}

/* The group with more than the share, and more than its work is worth, that works the least for its code; -1: there is
 * none. What a call works on for long would take many times as long in plain loops. */
static int least_worth(const Space *space, const int64_t *code, int64_t share, const double *density, const int *point,
                       const Fit *fit) {
    int least = -1;
    for (int g = 0; g < space->groups.count; g++) {
        const Group *group = space->groups.items[g];
        bool may = code[g] > share && (double)code[g] > worth_of(group) && !fit->plain[g];
        if (may && group_is_used(space, group, point) && (least < 0 || density[g] < density[least]))
            least = g;
    }
    return least;
}

/* Where all together are more than a function may have: groups with more than their share, until half of that is left.
 * Such code is mostly longer than estimated. */
static bool keep_least_worth_plain(Space *space, const Nest *nest, const int64_t *code, const int *point,
                                   const Fit *fit) {
    int count = space->groups.count;
    int64_t most = fit->most / 2, share = fair_share(code, count, most), sum = sum_of(code, count);
    if (sum <= fit->most)
        return false;
    Arena *scratch = arena_new();
    const double *density = density_of_work(scratch, space, nest, code, point, fit);
    bool any = false;
    for (int g; sum > most && (g = least_worth(space, code, share, density, point, fit)) >= 0; any = true) {
        keep_plain(space, g, fit);
        sum -= code[g];
    }
    for (int g = 0; g < count; g++)
        if (has_code_of_plain(space, g, code, fit) && group_is_used(space, space->groups.items[g], point))
            keep_plain(space, g, fit);
    arena_free(scratch);
    return any;
}

static bool is_short(const Program *program) {
    int nodes = 0;
    if (program->stage_count > FEW_STAGES)
        return false;
    for (int s = 0; s < program->stage_count; s++)
        EACH_VALUE_EXPR(e, program->stages[s])
            nodes++;
    return nodes <= FEW_NODES;
}

/* Whether few groups are left to look at: those of a short function, or those in which it differs from one that
 * fits. */
static bool is_left_as_it_is(const Space *space, const Fit *fit) {
    return fit->fresh <= FEW_GROUPS && (fit->fresh < space->groups.count || is_short(space->program));
}

bool fit_code(Space *space, const Nest *nest, int *point, Fit *fit) {
    int count = space->groups.count;
    int64_t code[count + 1];
    if (space->user || is_left_as_it_is(space, fit))
        return false;
    Arena *scratch = arena_new();
    count_code(scratch, space, nest, point, -1, code);
    arena_free(scratch);
    fit->worth_limit = worth_limit(space, code, fit);
    bool smaller = make_smaller(space, code, point, fit);
    if (sum_of(code, count) > fit->most) {
        fit->worth_limit = 0; /* smaller tiles than its work is worth are better than plain loops */
        smaller |= make_smaller(space, code, point, fit);
    }
    return keep_least_worth_plain(space, nest, code, point, fit) || smaller;
}
