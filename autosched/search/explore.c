/* explore.c - the best points of one group by the static model: random ones, then mutations of the best.
 *
 * Groups are independent, so each is chosen by itself, with the others as in the program. A schedule that nest_build
 * refuses is never chosen. A group keeps its plain loops if nest_build refuses everything else, or if they are
 * estimated to be the fastest.
 */
#include "autosched/search/policies.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FIXED_TRIES = 40, KEPT = 16, CROSSED = 4, MISSES = 4 };
enum { OTHER_PART = 2, OTHER_RANDOM = 16 };
/* Another start than the first is left if it is that far behind after that part of its points: on the programs of
 * tests/bench that saves an eighth of all points, and the schedules that come out are estimated to be as fast. */
enum { TRIED_PART = 4 };
static const double MOST_BEHIND = 1.15;
/* In a function of many groups, a body that is twice as long must be estimated to be so much faster: the function's
 * code takes time to compile and to load, and what is too much together is made smaller in the end. */
static const double LONGER_BODY = 0.02;
/* There, too, the part of a thread's last task that others wait for it: on a machine that is busy it is later than
 * they are, and a task that was begun cannot be shared. */
static const double WAITED = 0.1;

/* --- estimates --- */

static bool is_of_other_group(Space *space, const Stage *stage, int number) {
    const Tensor *tensor = stage->components[0].tensor;
    return !group_computes(space->groups.items[number], tensor) && space_computers(space, tensor);
}

/* The nest reduced to one group's stages and those that its statements make. The other groups have no statements, so
 * their time is always the same. */
static Nest *nest_of_group(Arena *scratch, Space *space, const Nest *nest, int number) {
    Nest *part = ARENA_NEW(scratch, Nest);
    *part = *nest;
    part->stages = ARENA_ARRAY(scratch, NestStage *, nest->stage_count + 1);
    part->stage_count = 0;
    for (int s = 0; s < nest->stage_count; s++)
        if (!is_of_other_group(space, nest->stages[s]->stage, number))
            part->stages[part->stage_count++] = nest->stages[s];
    return part;
}

/* The nest of a point, or what is one group's of it; NULL: it is refused. */
static const Nest *nest_of_point(Arena *scratch, Space *space, const int *point, int only) {
    const Nest *nest = point_nest(scratch, space, point, only);
    return nest && only >= 0 && space->groups.count > 1 ? nest_of_group(scratch, space, nest, only) : nest;
}

double point_estimate(Arena *scratch, Space *space, const int *point, int only) {
    const Nest *nest = nest_of_point(scratch, space, point, only);
    return nest ? static_seconds(scratch, nest, space->target) : HUGE_VAL;
}

double estimated_seconds(Arena *arena, const Program *program, const Schedule *schedule, const Target *target) {
    const Nest *nest = schedule ? nest_build(arena, program, schedule, NULL, target, NULL) : NULL;
    return nest ? static_seconds(arena, nest, target) : HUGE_VAL;
}

/* --- leaders --- */

/* The best few points of one group so far, best first: its genes alone, as the others stay at their starts. */
typedef struct Leaders {
    Arena *arena;      /* of their genes */
    const Group *group;
    int64_t most_code; /* the first one is at most so many instructions; 0: any number */
    int64_t missed;    /* of points that have more, all that they have */
    double least_code; /* instructions, for a body's part, of those that were counted: the least; 0: none were */
    int count;
    double seconds[KEPT]; /* as judged_seconds has them */
    int *genes[KEPT];
} Leaders;

static void copy_genes(const Group *group, int *to, const int *from) {
    memcpy(to, from, sizeof *to * (size_t)group->genes.count);
}

static void leaders_add(Leaders *leaders, const int *point, double seconds) {
    if (seconds == HUGE_VAL || (leaders->count == KEPT && seconds >= leaders->seconds[KEPT - 1]))
        return;
    for (int i = 0; i < leaders->count; i++)
        if (leaders->seconds[i] == seconds)
            return;
    int place = leaders->count < KEPT ? leaders->count++ : KEPT - 1;
    int *slot = leaders->genes[place];
    for (; place > 0 && leaders->seconds[place - 1] > seconds; place--) {
        leaders->seconds[place] = leaders->seconds[place - 1];
        leaders->genes[place] = leaders->genes[place - 1];
    }
    copy_genes(leaders->group, slot, point + leaders->group->first_gene);
    leaders->seconds[place] = seconds;
    leaders->genes[place] = slot;
}

/* With few points, those near the best are worth most of them: of so many leaders that are drawn the first is taken.
 * With many points that ends too often at what is only the best of its kind. */
enum { FEW_POINTS = 200, DRAWS_OF_FEW = 5 };

static const int *draw_leader(Random *random, const Leaders *leaders, int budget) {
    int drawn = random_below(random, leaders->count);
    for (int i = 1; i < DRAWS_OF_FEW && budget <= FEW_POINTS; i++) {
        int other = random_below(random, leaders->count);
        drawn = other < drawn ? other : drawn;
    }
    return leaders->genes[drawn];
}

/* Mutates a leader, or a cross of two. */
static void change_leader(Space *space, int number, Random *random, const Leaders *leaders, int budget, int *point) {
    const int *from = draw_leader(random, leaders, budget);
    const int *other = leaders->genes[random_below(random, leaders->count)];
    int *genes = point + leaders->group->first_gene;
    if (random_below(random, CROSSED) == 0)
        group_cross(space, number, random, from, other, genes);
    else
        copy_genes(leaders->group, genes, from);
    group_mutate(space, number, random, point);
}

static bool may_lead(const Leaders *leaders, double seconds) {
    return leaders->count == 0 || seconds < leaders->seconds[0];
}

/* Whether the body is so long that it would have to become less code than all that were counted. */
static bool is_too_long(Space *space, int number, const int *point, const Leaders *leaders) {
    return leaders->least_code > 0 &&
           leaders->least_code * group_body(space, number, point) > (double)leaders->most_code;
}

static bool code_fits(Space *space, int number, const int *point, Leaders *leaders) {
    int64_t code = group_code(space, number, point);
    double part = (double)code / group_body(space, number, point);
    if (code < INT64_MAX)
        leaders->least_code = leaders->least_code > 0 ? fmin(leaders->least_code, part) : part;
    if (code <= leaders->most_code)
        return true;
    leaders->missed += code < INT64_MAX ? code : leaders->most_code;
    return false;
}

/* The part of the time that threads wait for the last task: the fewer tasks, the longer is each. */
static double waited_part(const Nest *nest, const Target *target) {
    double threads = target_threads(target), part = 0;
    for (int s = 0; s < nest->stage_count; s++)
        for (int l = 0; l < nest->stages[s]->loop_count; l++) {
            const Loop *loop = nest->stages[s]->loops[l];
            if (loop->kind == LOOP_PARALLEL && loop->extent > 0)
                part = fmax(part, WAITED * fmin(threads / (double)loop->extent, 1));
        }
    return part;
}

/* The estimate, and in a function of many groups more for a long body and for few tasks. */
static double judged_seconds(Arena *scratch, Space *space, int number, const int *point) {
    const Nest *nest = nest_of_point(scratch, space, point, number);
    if (!nest)
        return HUGE_VAL;
    double seconds = static_seconds(scratch, nest, space->target);
    if (space->groups.count <= FEW_GROUPS)
        return seconds;
    return seconds * (1 + LONGER_BODY * log2(group_body(space, number, point)) + waited_part(nest, space->target));
}

/* Judges a point, unless that was done before or need not be. */
static void look_at(Arena *scratch, Space *space, int number, const int *point, HashSet *looked_at, Leaders *leaders) {
    uint64_t hash = group_hash(space, number, point);
    if (hash_set_has(looked_at, hash) || is_too_long(space, number, point, leaders))
        return;
    hash_set_add(looked_at, hash);
    arena_reset(scratch);
    double seconds = judged_seconds(scratch, space, number, point);
    if (!leaders->most_code || seconds == HUGE_VAL || !may_lead(leaders, seconds) ||
        code_fits(space, number, point, leaders))
        leaders_add(leaders, point, seconds);
}

static bool is_behind(const Leaders *leaders, double most) {
    return leaders->count > 0 && leaders->seconds[0] > most;
}

/* Counting takes many times as long as an estimate. */
static bool missed_enough(const Leaders *leaders) {
    return leaders->missed >= MISSES * leaders->most_code && leaders->most_code;
}

/* One of two points that are kept for exploring, with a group's starts: of other groups it has any genes. Whole points
 * for each start of each group would take time quadratic in the groups. */
static int *explored_point(Space *space, const Group *group, int which) {
    if (!space->explored[which])
        space->explored[which] = ARENA_ARRAY(space->arena, int, space->gene_count + 1);
    for (int i = 0; i < group->genes.count; i++)
        space->explored[which][group->first_gene + i] = group->genes.items[i].start;
    return space->explored[which];
}

/* Explores from a starting point: random points first, then mutations of the leaders. A start whose best is more than
 * most seconds after a part of the budget is left. */
static void explore_from(Space *space, int number, const int *start, int randoms, int budget, double most,
                         Random *random, Leaders *leaders) {
    const Group *group = leaders->group = space->groups.items[number];
    int *point = explored_point(space, group, 1), first = group->first_gene;
    Arena *scratch = arena_new();
    HashSet looked_at = {0};
    for (int i = 0; i < KEPT; i++)
        leaders->genes[i] = ARENA_ARRAY(leaders->arena, int, group->genes.count + 1);
    if (group_plausible(space, number, start))
        look_at(scratch, space, number, start, &looked_at, leaders);
    for (int i = 1; i < budget && !missed_enough(leaders); i++) {
        if (i == budget / TRIED_PART && is_behind(leaders, most))
            break;
        copy_genes(group, point + first, start + first);
        if (i < randoms || leaders->count == 0)
            group_random(space, number, random, point);
        else
            change_leader(space, number, random, leaders, budget, point);
        look_at(scratch, space, number, point, &looked_at, leaders);
    }
    if (leaders->count == 0 && !leaders->most_code)
        leaders_add(leaders, start, point_estimate(scratch, space, start, number));
    free(looked_at.slots);
    arena_free(scratch);
}

/* Keeps a gene (-1: none), and those that need starts of their own if it is none of these. */
static void keep_genes(Group *group, int own) {
    for (int i = 0; i < group->genes.count; i++) {
        Gene *gene = &group->genes.items[i];
        gene->kept = i == own || (gene->gain > 0 && (own < 0 || group->genes.items[own].gain == 0));
    }
}

static void keep_none(Group *group) {
    for (int i = 0; i < group->genes.count; i++)
        group->genes.items[i].kept = false;
}

/* Explores from one more start, with leaders of its own; they are taken where they are so many times as fast. */
static void explore_more(Space *space, int number, const int *start, int randoms, int budget, double needed,
                         Random *random, Leaders *leaders) {
    Leaders other = {.arena = leaders->arena,
                     .most_code = leaders->most_code,
                     .missed = leaders->missed,
                     .least_code = leaders->least_code};
    double most = leaders->count ? leaders->seconds[0] / needed * MOST_BEHIND : HUGE_VAL;
    explore_from(space, number, start, randoms, budget, most, random, &other);
    leaders->missed = other.missed;
    leaders->least_code = other.least_code;
    if (other.count && (!leaders->count || other.seconds[0] * needed < leaders->seconds[0]))
        *leaders = other;
}

/* Explores from another kind of starting point, or, where that needs a gain, from the best point so far. What needs a
 * gain over the gene's start needs none over its other choices. */
static void explore_other(Space *space, int number, OtherStart from, int budget, Random *random, Leaders *leaders) {
    Group *group = space->groups.items[number];
    double gain = group->genes.items[from.gene].gain;
    int gene = group->first_gene + from.gene;
    bool chosen = leaders->count && leaders->genes[0][from.gene] != group->genes.items[from.gene].start;
    int *start = explored_point(space, group, 0);
    if (gain > 0 && leaders->count)
        copy_genes(group, start + group->first_gene, leaders->genes[0]);
    keep_genes(group, from.gene);
    start[gene] = from.choice;
    group_fit(space, number, start);
    explore_more(space, number, start, budget / OTHER_RANDOM, budget / OTHER_PART, chosen ? 1 : fmax(gain, 1), random,
                 leaders);
}

/* Explores from what was chosen for a group before it that is alike. */
static void explore_similar(Space *space, int number, const int *chosen, int budget, Random *random, Leaders *leaders) {
    int *start = explored_point(space, space->groups.items[number], 0);
    if (take_similar(space, number, chosen, start))
        explore_more(space, number, start, 0, budget / OTHER_PART, 1, random, leaders);
}

/* Explores from all kinds of starting points, each with its own leaders: the strengths of one kind are several steps
 * away from another, and points that are better only in the end would be dropped before. Keeps the best leaders. */
static void explore_group(Space *space, int number, const int *chosen, int budget, Random *random, Leaders *leaders) {
    Group *group = space->groups.items[number];
    int *start = explored_point(space, group, 0);
    keep_genes(group, group->fused ? 0 : -1);
    if (group->fused)
        start[group->first_gene] = 1;
    group_fit(space, number, start);
    space->trusting = true;
    explore_from(space, number, start, budget / 4, budget, HUGE_VAL, random, leaders);
    explore_similar(space, number, chosen, budget, random, leaders);
    for (int i = 0; i < group->others.count; i++)
        explore_other(space, number, group->others.items[i], budget, random, leaders);
    space->trusting = false;
    keep_none(group);
}

static double plain_estimate(Space *space, int number, const int *point) {
    Arena *scratch = arena_new();
    space->groups.items[number]->skipped = true;
    double seconds = point_estimate(scratch, space, point, number);
    space->groups.items[number]->skipped = false;
    arena_free(scratch);
    return seconds;
}

void choose_group(Space *space, int number, int budget, Random *random, int *point) {
    Group *group = space->groups.items[number];
    Leaders leaders = {.arena = arena_new()};
    explore_group(space, number, point, budget, random, &leaders);
    group->hopeless = leaders.count == 0;
    bool may_be_plain = !group->fused && !group->by_user;
    group->skipped = group->hopeless || (may_be_plain && plain_estimate(space, number, point) < leaders.seconds[0]);
    if (leaders.count)
        copy_genes(group, point + group->first_gene, leaders.genes[0]);
    arena_free(leaders.arena);
}

double choose_within(Space *space, int number, int64_t most, int *point) {
    const Group *group = space->groups.items[number];
    Leaders leaders = {.arena = arena_new(), .most_code = most};
    explore_group(space, number, point, GROUP_POINTS, &(Random){(uint64_t)number}, &leaders);
    double seconds = leaders.count ? leaders.seconds[0] : HUGE_VAL;
    if (leaders.count)
        copy_genes(group, point + group->first_gene, leaders.genes[0]);
    arena_free(leaders.arena);
    return seconds;
}

void fix_group(Space *space, int number, Random *random, int *point) {
    Arena *scratch = arena_new();
    group_fit(space, number, point);
    bool legal = point_nest(scratch, space, point, number) != NULL;
    for (int attempt = 0; attempt < FIXED_TRIES && !legal; attempt++) {
        group_random(space, number, random, point);
        arena_reset(scratch);
        legal = point_nest(scratch, space, point, number) != NULL;
    }
    space->groups.items[number]->skipped = space->groups.items[number]->hopeless = !legal;
    arena_free(scratch);
}
