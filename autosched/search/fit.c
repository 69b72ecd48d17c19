/* fit.c - tiles and unrolled loops of a function's many nests made smaller, until code generators take its code in a
 * few seconds.
 *
 * What a nest becomes is known once it is lowered: versions, ends of tiles and lanes that are fetched one by one are
 * too many to foresee. So the chosen point is lowered as a whole and what each group became is counted. Where all
 * together is too much, the groups with more than their share are made smaller. The share is such that what the others
 * leave of theirs is shared again: no group pays for a cheaper one. What a call works on for long is worth longer code.
 * A function of a few nests is left as it is: each has limits of its own. So is one that differs in a few nests from
 * another one whose code was made to fit.
 */
#include "autosched/search/policies.h"
#include "lower/kernel/kernel.h"

#include <string.h>

enum { FUNCTION_CODE = 24000 /* instructions */, FEW_GROUPS = 5, ROUNDS = 3 };
enum { WORTH_COUNTING = 8 }; /* all is lowered and counted again where a round saves more than a part of so many */
static const double worth = 1. / 65536; /* instructions for each operation of a call */

/* The group that a tensor of a nest is computed in, or made for: buffers have the names of theirs. -1: none. */
static int group_of(const Space *space, const Tensor *tensor, const int *point) {
    for (int g = 0; g < space->groups.count; g++)
        if (group_is_used(space, space->groups.items[g], point) && group_computes(space->groups.items[g], tensor))
            return g;
    for (int g = 0; g < space->groups.count; g++) {
        const char *prefix = space->groups.items[g]->prefix;
        if (*prefix && strncmp(tensor->name, prefix, strlen(prefix)) == 0)
            return g;
    }
    return -1;
}

/* Instructions of each group at the point; false where that is not legal. */
static bool count_code(Space *space, const int *point, int64_t *code) {
    static const ExpandOptions counted_only = {.unverified = true};
    Arena *scratch = arena_new();
    const Nest *nest = point_nest(scratch, space, point, -1);
    memset(code, 0, sizeof *code * (size_t)space->groups.count);
    if (nest) {
        KernelCode counted = kernel_code(scratch, expand(scratch, nest, &counted_only));
        for (int i = counted.count - 1, group = -1; i >= 0; i--) {
            int own = group_of(space, counted.items[i].tensor, point);
            group = own >= 0 ? own : group; /* what is shuffled on the way to a store is that store's */
            if (group >= 0)
                code[group] += counted.items[i].instructions;
        }
    }
    arena_free(scratch);
    return nest != NULL;
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

/* The group with about that part of its copies. False: it has none to spare, or what is left is not legal. */
static bool shrink_group(Space *space, int number, double part, int *point) {
    Group *group = space->groups.items[number];
    Arena *scratch = arena_new();
    int *before = ARENA_ARRAY(scratch, int, space->gene_count + 1);
    memcpy(before, point, sizeof *point * (size_t)space->gene_count);
    bool smaller = group_is_used(space, group, point) && group_shrink(space, number, part, point);
    if (smaller && !point_nest(scratch, space, point, number)) {
        memcpy(point, before, sizeof *point * (size_t)space->gene_count);
        smaller = false;
    }
    arena_free(scratch);
    return smaller;
}

static int64_t allowed_code(const Group *group, int64_t share) {
    double work = group_work(group) * worth;
    return work > (double)share ? (int64_t)work : share;
}

/* Makes the groups smaller that have more code than they may. Returns the instructions that this is meant to save. */
static int64_t shrink_groups(Space *space, const int64_t *code, int *point, bool *smaller) {
    int64_t share = fair_share(code, space->groups.count, FUNCTION_CODE), saved = 0;
    for (int g = 0; g < space->groups.count; g++) {
        int64_t allowed = allowed_code(space->groups.items[g], share);
        if (code[g] <= allowed || !shrink_group(space, g, (double)allowed / (double)code[g], point))
            continue;
        smaller[g] = true;
        saved += code[g] - allowed;
    }
    return saved;
}

bool fit_code(Space *space, int *point, Fit *fit) {
    int count = space->groups.count;
    bool any = false;
    for (int round = 0; round < ROUNDS && fit->fresh > FEW_GROUPS && !space->user; round++) {
        int64_t code[count], all = 0;
        if (!count_code(space, point, code))
            break;
        for (int g = 0; g < count; g++)
            all += code[g];
        int64_t saved = shrink_groups(space, code, point, fit->smaller);
        any |= saved > 0;
        if (saved <= all / WORTH_COUNTING)
            break;
    }
    return any;
}
