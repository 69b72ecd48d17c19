/* default.c - schedules without measuring: the starting points (-O1), and the best by the static model (-O2, -O3).
 *
 * The number of points is fixed, so that the same input gives the same schedule.
 */
#include "autosched/search/policies.h"

#include <string.h>

/* Groups with expensive points get only a part of the points. */
enum { MANY_GENES = 32, FEW_READS = 6, MANY_READS = 64, MANY_STAGES = 16, MOST_PARTS = 32 };
/* Points to choose a schedule from: in all, of which a group has no more than a part, and the least of a group. */
enum { MODEL_POINTS = 2000, MODEL_POINTS_MORE = 10000, ROUGH_POINTS = 320, MOST_OF_A_GROUP = 2 };
enum { MODEL_POINTS_OF_MANY = 4000 }; /* of a function of many groups: MODEL_POINTS would leave each too few */
enum { MANY_KINDS = 500, LEAST_POINTS = 16 }; /* of groups that differ; points of each where there are many more */
enum { MOST_CODE = 3 << 14, MOST_CODE_MORE = 3 << 16 }; /* instructions of a function, for some seconds of LLVM */
enum { ROUGH_GROUP_POINTS = 32, GLANCE_POINTS = 240, GLANCE_LEAST = 8 };

/* Points of each group before its part of the rest: fewer in a function of thousands that differ, whose time to compile
 * they would be. */
static int least_points(const Space *space, const int *same) {
    int kinds = 0;
    for (int g = 0; g < space->groups.count; g++)
        kinds += same[g] == g;
    int points = kinds > MANY_KINDS ? GROUP_POINTS * MANY_KINDS / kinds : GROUP_POINTS;
    return points > LEAST_POINTS ? points : LEAST_POINTS;
}

/* How many points each group gets: a few, plus its part of the work of the rest. Those that are equal to another one
 * need none. A pipeline in strips gets as many as the groups get that compute it apart, and takes nothing of theirs. */
static void share_points(const Space *space, const int *same, int points, int least, int *budgets) {
    int groups = 0, count = space->groups.count;
    double work[count + 1], all = 0;
    bool known = true;
    for (int g = 0; g < count; g++) {
        const Group *group = space->groups.items[g];
        work[g] = group->fused || same[g] < g ? 0 : group_work(group);
        groups += !group->fused && same[g] == g;
        known &= work[g] >= 0;
        all += work[g];
    }
    int shared = points - groups * least;
    for (int g = 0; g < count; g++) {
        double part = all > 0 ? work[g] / all : 0;
        int own = shared <= 0 ? least : known ? least + (int)(shared * part) : points / groups;
        budgets[g] = own < points / MOST_OF_A_GROUP ? own : points / MOST_OF_A_GROUP;
    }
    for (int f = 0; f < count; f++) {
        const Pipeline *fused = space->groups.items[f]->fused;
        budgets[f] = fused ? 0 : budgets[f];
        for (int g = 0; g < count && fused; g++)
            budgets[f] += space->groups.items[g]->apart == fused ? budgets[g] : 0;
    }
}

static int reads_of(const Stage *stage) {
    int reads = 0;
    EACH_VALUE_READ(read, stage)
        reads++;
    return reads;
}

/* The most reads of a stage in the group; with those of what is inlined where they are very many. */
static int most_reads(Space *space, const Group *group) {
    int most = 0;
    for (int s = 0; s < group->stage_count; s++) {
        int reads = reads_of(group->stages[s]), all = reads_of(inlined_stage(space, group->stages[s]));
        reads = all > MANY_READS ? all : reads;
        most = reads > most ? reads : most;
    }
    return most;
}

/* The divisor of a group's points: a point's time grows with the square of the reads, and there are more kinds of
 * starts. */
static int parts_of_budget(Space *space, int number) {
    Group *group = space->groups.items[number];
    const Program *part = group_program(space, group);
    int reads = most_reads(space, group), parts = reads * reads / (FEW_READS * FEW_READS);
    int least = group->genes.count > MANY_GENES ? 4 : 1;
    bool steps = part->scan_count > 0 && (part == space->program || group->root->scan);
    int stages = steps ? part->stage_count : group->stage_count; /* each point is a nest of all of them */
    if (stages > MANY_STAGES)
        least *= 1 + stages / MANY_STAGES;
    return parts > least ? parts < MOST_PARTS ? parts : MOST_PARTS : least;
}

/* The estimate of a pipeline's groups when it is computed apart. */
static double apart_estimate(Space *space, const Pipeline *pipeline, const int *point) {
    Arena *scratch = arena_new();
    double seconds = 0;
    for (int g = 0; g < space->groups.count; g++)
        if (space->groups.items[g]->apart == pipeline) {
            arena_reset(scratch);
            seconds += point_estimate(scratch, space, point, g);
        }
    arena_free(scratch);
    return seconds;
}

/* Computes the pipelines in strips that are estimated to be faster so. */
static void choose_pipelines(Space *space, int *point) {
    Arena *scratch = arena_new();
    for (int g = 0; g < space->groups.count; g++) {
        const Group *group = space->groups.items[g];
        if (!group->fused || group->skipped)
            continue;
        arena_reset(scratch);
        double strips = point_estimate(scratch, space, point, g);
        point[group->first_gene] = strips < apart_estimate(space, group->fused, point);
    }
    arena_free(scratch);
}

/* Takes what was chosen for the same group of another space. False: there is none. */
static bool take_choice(Space *space, int number, const StaticChoice *from, int *point, Fit *fit, Random *random) {
    int same = group_in(from->space, space, number);
    if (same < 0)
        return false;
    Group *group = space->groups.items[number];
    const Group *own = from->space->groups.items[same];
    memcpy(point + group->first_gene, from->chosen + own->first_gene, sizeof *point * (size_t)group->genes.count);
    group->hopeless = own->hopeless;
    group->skipped = from->plain[same] || from->too_long[same];
    fit->smaller[number] = from->smaller[same];
    fit->plain[number] = from->too_long[same];
    fit->fresh--;
    *random = from->drawn[same];
    return true;
}

static int points_of(const Space *space, Effort effort) {
    static const int points[] = {0, 0, ROUGH_POINTS, MODEL_POINTS, MODEL_POINTS_MORE};
    bool many = points[effort] == MODEL_POINTS && space->groups.count > FEW_GROUPS;
    return many ? MODEL_POINTS_OF_MANY : points[effort];
}

static void choose_point(Space *space, Effort effort, uint64_t seed, const StaticChoice *from, int *point, Fit *fit,
                         Random *drawn) {
    Random random = {seed};
    int budgets[space->groups.count + 1];
    fit->least = effort == EFFORT_ROUGH ? ROUGH_GROUP_POINTS : least_points(space, fit->same);
    share_points(space, fit->same, points_of(space, effort), fit->least, budgets);
    point_start(space, point);
    for (int g = 0; g < space->groups.count; g++) {
        if (effort < EFFORT_ROUGH)
            fix_group(space, g, &random, point);
        else if (from && take_choice(space, g, from, point, fit, &random))
            ;
        else if (fit->same[g] < g)
            take_equal(space, g, fit->same[g], point);
        else
            choose_group(space, g, budgets[g] / parts_of_budget(space, g), &random, point);
        drawn[g] = random;
    }
    if (effort >= EFFORT_ROUGH)
        choose_pipelines(space, point);
}

/* Whether the point says what the group is: a plain group is one of its points only if its pipeline is in strips. */
static bool group_is_in_order(const Space *space, const Group *group, const int *point) {
    return !group->skipped || group_is_replaced(space, group, point) || (group->fused && !point[group->first_gene]);
}

StaticChoice *space_choice(Arena *arena, Space *space, Effort effort, uint64_t seed, const StaticChoice *from) {
    int groups = space->groups.count, *point = ARENA_ARRAY(arena, int, space->gene_count + 1);
    bool *plain = ARENA_ARRAY(arena, bool, groups + 1);
    Random *drawn = ARENA_ARRAY(arena, Random, groups + 1);
    Fit fit = {.same = equal_groups(arena, space),
               .smaller = ARENA_ARRAY(arena, bool, groups + 1),
               .plain = ARENA_ARRAY(arena, bool, groups + 1),
               .most = effort > EFFORT_MODEL ? MOST_CODE_MORE : MOST_CODE,
               .fresh = groups};
    choose_point(space, effort, seed, from, point, &fit, drawn);
    for (int g = 0; g < groups; g++)
        plain[g] = space->groups.items[g]->skipped;
    bool possible = !space->user || !space->groups.items[0]->hopeless;
    const Nest *nest = NULL;
    Fit *fits = effort != EFFORT_ROUGH ? &fit : NULL;
    Schedule *schedule = possible ? space_combine(arena, space, point, fits, &nest) : NULL;
    bool exact = schedule != NULL;
    for (int g = 0; g < groups; g++) {
        exact &= group_is_in_order(space, space->groups.items[g], point);
        space->groups.items[g]->skipped = space->groups.items[g]->hopeless;
    }
    if (!schedule) {
        schedule = ARENA_NEW(arena, Schedule);
        *schedule = (Schedule){.subject = space->program->name, .target = space->target->family->name};
    }
    StaticChoice *choice = ARENA_NEW(arena, StaticChoice);
    *choice = (StaticChoice){space, schedule, nest, exact ? point : NULL, point, plain, fit.smaller, fit.plain, drawn};
    return choice;
}

/* --- a glance --- */

/* Of a group: fewer in a long program, whose time to compile they would be. */
static int glance_points(const Space *space) {
    int points = GLANCE_POINTS / (space->groups.count + 1);
    return points < GLANCE_LEAST ? GLANCE_LEAST : points < GROUP_POINTS ? points : GROUP_POINTS;
}

/* The sum over the groups of what a few points of each reach; pipelines are apart. */
double static_glance(const Program *program, const Target *target, uint64_t seed) {
    Arena *arena = arena_new(), *scratch = arena_new();
    Space *space = space_new(arena, program, target, NULL);
    int *point = ARENA_ARRAY(arena, int, space->gene_count + 1);
    int budget = glance_points(space);
    double seconds = 0;
    Random random = {seed};
    const int *same = equal_groups(arena, space);
    point_start(space, point);
    for (int g = 0; g < space->groups.count; g++) {
        if (space->groups.items[g]->fused)
            continue;
        if (same[g] < g)
            take_equal(space, g, same[g], point);
        else
            choose_group(space, g, budget, &random, point);
        arena_reset(scratch);
        seconds += point_estimate(scratch, space, point, g);
    }
    arena_free(scratch);
    arena_free(arena);
    return seconds;
}

static Schedule *schedule_copy(Arena *arena, const Schedule *schedule) {
    Schedule *copy = ARENA_NEW(arena, Schedule);
    *copy = *schedule;
    return copy;
}

void autosched_explain(Arena *arena, const Program *program, const Target *target, const Schedule *user,
                       NestError *error) {
    Space *space = space_of_holes(arena, program, target, user);
    int64_t *choices = ARENA_ARRAY(arena, int64_t, space->gene_count + 1);
    const Group *group = space->groups.items[0];
    for (int h = 0; h < group->genes.count; h++)
        choices[h] = group->genes.items[h].values[group->genes.items[h].start];
    const Schedule *named = space->holes ? hole_tree_fill(arena, space->holes, choices) : space->user;
    int numbers = 0;
    for (int h = 0; h < group->genes.count; h++)
        if (!group->genes.items[h].structural)
            choices[numbers++] = choices[h];
    nest_build(arena, program, named, choices, target, error);
    if (!group->contradicts || user->prims[error->prim].op != PRIM_REQUIRE)
        return;
    bool alone = true;
    for (int p = 0; p < error->prim; p++)
        alone &= user->prims[p].op != PRIM_REQUIRE;
    error->rule =
        alone ? "no choice satisfies this constraint" : "no choice satisfies this constraint and all before it";
}

Schedule *autosched_default(Arena *arena, const Program *program, const Target *target, const Schedule *user,
                            Effort effort, uint64_t seed) {
    Schedule identity = {.subject = program->name, .target = target->family->name};
    if (!user && effort == EFFORT_IDENTITY)
        return schedule_copy(arena, &identity);
    if (!user || effort >= EFFORT_MODEL)
        return space_choice(arena, space_new(arena, program, target, user), effort, seed, NULL)->schedule;
    if (schedule_hole_count(user) == 0)
        return schedule_copy(arena, user);
    return space_choice(arena, space_of_holes(arena, program, target, user), effort, seed, NULL)->schedule;
}

StaticChoice *static_choice(Arena *arena, const Program *program, const Target *target, Effort effort, uint64_t seed) {
    return static_choice_from(arena, program, target, effort, seed, NULL);
}

StaticChoice *static_choice_from(Arena *arena, const Program *program, const Target *target, Effort effort,
                                 uint64_t seed, const StaticChoice *from) {
    return space_choice(arena, space_new(arena, program, target, NULL), effort, seed, from);
}
