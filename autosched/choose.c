/* choose.c - the plan of a function without measuring: the user's block where it leaves nothing open, the best record,
 * the default.
 *
 * A schedule that is not from the source was legal when it was made, but its legality is proved again: records that are
 * not legal any more are none. Everything is deterministic in the function, the database and the seed.
 */
#include "autosched/plan.h"

#include <math.h>
#include <string.h>

enum { CLOSE_LOOKS = 2 };
static const double needed_gain = 0.12; /* by this part another algorithm of a call must be estimated to be faster
                                         * than the one as written, to be chosen without measuring */
static const double layout_gain = 0.99; /* of a first glance at other layouts */

/* --- blocks --- */

bool plan_is_exact(const Planner *planner, const PlanFunction *function) {
    const Schedule *block = function->user;
    if (!block)
        return false;
    return planner->effort < EFFORT_ROUGH ? !schedule_hole_count(block)
                                          : !schedule_leaves_open(function->programs[0], function->target, block);
}

const Schedule *plan_filled(const Planner *planner, const Program *program, const Target *target, const Schedule *block,
                            NestError *error) {
    if (!schedule_hole_count(block))
        return block;
    HoleTree *tree = hole_tree_new(planner->arena, program, block, target);
    if (tree && !hole_tree_check(tree, error))
        return NULL;
    for (Effort effort = EFFORT_FIXED; effort <= EFFORT_MODEL; effort++) {
        const Schedule *filled = autosched_default(planner->arena, program, target, block, effort, planner->seed);
        if (filled && filled->count)
            return filled;
    }
    if (!tree || !hole_tree_is_empty(tree, error))
        autosched_explain(planner->arena, program, target, block, error);
    return NULL;
}

const Schedule *plan_named(Arena *arena, const Schedule *schedule, const char *symbol, const Target *target) {
    Schedule *named = ARENA_NEW(arena, Schedule);
    if (schedule)
        *named = *schedule;
    named->subject = symbol;
    named->target = !strcmp(target->name, "host") ? target->family->name : target->name;
    return named;
}

/* --- the default --- */

static StaticChoice *known_choice(const Planner *planner, const Program *program, const Target *target, Effort effort) {
    for (int i = 0; i < planner->choices.count; i++) {
        const struct KnownChoice *known = &planner->choices.items[i];
        if (known->program == program && known->target == target && known->effort == effort)
            return known->choice;
    }
    return NULL;
}

StaticChoice *plan_known_choice(const Planner *planner, const Program *program, const Target *target) {
    return known_choice(planner, program, target, EFFORT_MODEL);
}

static const Schedule *model_schedule(Planner *planner, const PlanFunction *function, int number, Effort effort) {
    const Program *program = function->programs[number];
    const Target *target = function->target;
    StaticChoice *choice = known_choice(planner, program, target, effort);
    if (!choice) {
        const PlanFunction *other = function->unpacked;
        const StaticChoice *from = other ? known_choice(planner, other->programs[number], target, effort) : NULL;
        choice = static_choice_from(planner->arena, program, target, effort, planner->seed, from);
        list_push(planner->arena, &planner->choices, ((struct KnownChoice){program, target, effort, choice}));
    }
    return choice->schedule;
}

static const Schedule *default_schedule(Planner *planner, const PlanFunction *function, int number, Effort effort) {
    if (!function->user && effort >= EFFORT_MODEL)
        return model_schedule(planner, function, number, effort);
    return autosched_default(planner->arena, function->programs[number], function->target, function->user, effort,
                             planner->seed);
}

/* Whether the compiler itself made it of the program as written. */
static bool is_automatic(const Program *program) {
    return program->algorithm_count > 0 && program->algorithms[0].automatic;
}

/* Whether it is the program as written but for the layouts of its temporaries. */
static bool only_lies_otherwise(const Program *program) {
    return program->algorithm_count == 1 && program->algorithms[0].only_lies;
}

/* The program as written, or the one with other layouts that is estimated to be faster. The choice is one for all
 * groups, since a layout is that of a producer and of its consumers; it comes before their points. */
static int lying_best(const Planner *planner, const PlanFunction *function) {
    int best = 0;
    double seconds = 0;
    for (int i = 1; i < function->count; i++) {
        if (!only_lies_otherwise(function->programs[i]))
            continue;
        if (seconds == 0)
            seconds = layout_gain * static_glance(function->programs[0], function->target, planner->seed);
        double own = static_glance(function->programs[i], function->target, planner->seed);
        best = own < seconds ? i : best;
        seconds = own < seconds ? own : seconds;
    }
    return best;
}

/* The layout of its temporaries; NULL: as written. */
static const char *layout_of(const Program *program) {
    int count = program->algorithm_count;
    return count > 0 && program->algorithms[count - 1].only_lies ? program->algorithms[count - 1].name : NULL;
}

static bool has_layout(const Program *program, const char *layout) {
    const char *own = layout_of(program);
    return own && layout ? !strcmp(own, layout) : own == layout;
}

/* Whether it has another layout than the best of the program as written, in which there are such alternatives, too. */
static bool lies_worse(const PlanFunction *function, const Program *program, int lying) {
    const char *best = layout_of(function->programs[lying]);
    bool known = !best;
    for (int i = 1; i < function->count && !known; i++)
        known = i != lying && function->programs[i]->algorithm_count > 1 && has_layout(function->programs[i], best);
    return !is_automatic(program) && !has_layout(program, known ? best : NULL);
}

/* The alternatives that are worth a close look, but for layouts. If there are many, a glance picks the fastest of those
 * that are faster than the program as written: their number is a product over the calls. Returns how many. */
static int look_closely(const Planner *planner, const PlanFunction *function, int lying, int *chosen) {
    double seconds[CLOSE_LOOKS + 1];
    bool *looked = ARENA_ARRAY(planner->arena, bool, function->count);
    int found = 0, others = 0;
    for (int i = 1; i < function->count; i++) {
        const Program *program = function->programs[i];
        looked[i] = !only_lies_otherwise(program) && !lies_worse(function, program, lying);
        others += looked[i];
    }
    bool many = others > CLOSE_LOOKS;
    double limit = many ? static_glance(function->programs[lying], function->target, planner->seed) : HUGE_VAL;
    for (int i = 1; i < function->count; i++) {
        const Program *program = function->programs[i];
        double own = i;
        if (!looked[i])
            continue;
        if (many)
            own = static_glance(program, function->target, planner->seed);
        if (own > limit)
            continue;
        int place = found < CLOSE_LOOKS ? found++ : CLOSE_LOOKS;
        for (; place > 0 && seconds[place - 1] > own; place--) {
            seconds[place] = seconds[place - 1];
            chosen[place] = chosen[place - 1];
        }
        seconds[place] = own;
        chosen[place] = i;
    }
    return found;
}

void plan_worth(const Planner *planner, const PlanFunction *function, bool *worth) {
    int chosen[CLOSE_LOOKS + 1];
    bool many = function->count > MANY_PROGRAMS;
    for (int i = 0; i < function->count; i++)
        worth[i] = !many || i == 0 || is_automatic(function->programs[i]);
    int count = many ? look_closely(planner, function, lying_best(planner, function), chosen) : 0;
    for (int i = 0; i < count; i++)
        worth[chosen[i]] = true;
}

/* The effort for comparing algorithms. A larger one is spent only on the chosen algorithm. */
static Effort first_effort(const Planner *planner) {
    return planner->effort > EFFORT_MODEL ? EFFORT_MODEL : planner->effort;
}

/* The model estimates fast algorithms less well than the program as written, so they must be better by a margin. Its
 * errors for several calls cancel in part. The same operations in other stages it estimates as well. */
static double compared_seconds(const Planner *planner, const PlanFunction *function, int number,
                               const Schedule *schedule) {
    const Program *program = function->programs[number];
    int calls = 0;
    for (int i = 0; i < program->algorithm_count; i++)
        calls += !program->algorithms[i].automatic;
    double margin = calls > 0 ? needed_gain / sqrt(calls) : 0;
    return estimated_seconds(planner->arena, program, schedule, function->target) / (1 - margin);
}

/* The default schedule for the algorithm that the static model estimates as fastest. */
static const Schedule *first_default(Planner *planner, const PlanFunction *function, int *number) {
    int chosen[CLOSE_LOOKS + 1];
    *number = lying_best(planner, function);
    const Schedule *best = default_schedule(planner, function, *number, first_effort(planner));
    double seconds = compared_seconds(planner, function, *number, best);
    int count = look_closely(planner, function, *number, chosen);
    for (int i = 0; i < count; i++) {
        const Schedule *schedule = default_schedule(planner, function, chosen[i], first_effort(planner));
        double estimate = compared_seconds(planner, function, chosen[i], schedule);
        if (estimate >= seconds)
            continue;
        seconds = estimate;
        best = schedule;
        *number = chosen[i];
    }
    return best;
}

int plan_preferred(Planner *planner, const PlanFunction *function) {
    int number = 0;
    if (function->count > 1)
        first_default(planner, function, &number);
    return number;
}

/* --- records --- */

/* Whether the database knows anything of the program on these inputs, even if only failures. */
static bool is_recorded(const Planner *planner, const PlanFunction *function, int number, const char *inputs) {
    Record *records;
    const Target *target = function->target;
    int count = database_find(planner->arena, planner->database, task_hash(planner->arena, function->programs[number]),
                              database_target(target), target->threads, &records);
    for (int r = 0; r < count; r++)
        if (!strcmp(records[r].inputs, inputs))
            return true;
    return false;
}

/* Whether records are enough to choose between algorithms: those that would be chosen without records must have
 * some. */
static bool can_compare(Planner *planner, const PlanFunction *function, const char *inputs) {
    bool recorded = true;
    for (int i = 0; i < function->count && recorded; i++)
        recorded = is_recorded(planner, function, i, inputs);
    return recorded || is_recorded(planner, function, plan_preferred(planner, function), inputs);
}

/* The best record of all programs. *number becomes its program. */
static const Schedule *best_record(Planner *planner, const PlanFunction *function, const char *inputs, int *number) {
    const Schedule *best = NULL;
    double seconds = HUGE_VAL;
    for (int i = 0; i < function->count; i++) {
        Record record;
        const Schedule *found =
            database_best(planner->arena, planner->database, function->programs[i], function->target, function->user,
                          function->target->threads, inputs, &record);
        if (!found || record.seconds >= seconds)
            continue;
        best = found;
        seconds = record.seconds;
        *number = i;
    }
    bool choosing = best && function->count > 1 && !planner->frozen;
    return choosing && !can_compare(planner, function, inputs) ? NULL : best;
}

/* What records of its tasks make of a function that has none itself, by the algorithms that are chosen without
 * measuring. */
static const Schedule *known_by_tasks(Planner *planner, const PlanFunction *function, int *number) {
    *number = plan_preferred(planner, function);
    return tasks_schedule(planner->arena, planner->database, function->programs[*number], function->target,
                          function->target->threads, planner->seed, planner->complete_tasks);
}

/* --- plans --- */

/* The nest of a schedule that was chosen by the static model; NULL: it was not, or its nest was not built. */
static const Nest *known_nest(const Planner *planner, const Schedule *schedule) {
    for (int i = 0; i < planner->choices.count; i++)
        if (planner->choices.items[i].choice->schedule == schedule)
            return planner->choices.items[i].choice->nest;
    return NULL;
}

Plan plan_of(const Planner *planner, const PlanFunction *function, int number, const Schedule *schedule,
             PlanOrigin origin) {
    Plan plan = {.program = function->programs[number], .number = number, .origin = origin};
    if (schedule) {
        plan.schedule = plan_named(planner->arena, schedule, plan.program->symbol, function->target);
        plan.nest = known_nest(planner, schedule);
        if (!plan.nest)
            plan.nest = nest_build(planner->arena, plan.program, plan.schedule, NULL, function->target, NULL);
    }
    return plan.nest ? plan : (Plan){0};
}

Plan plan_default(Planner *planner, const PlanFunction *function) {
    int number = 0;
    bool chooses = function->count > 1 && planner->effort >= EFFORT_ROUGH;
    const Schedule *best = chooses ? first_default(planner, function, &number) : NULL;
    if (!best || first_effort(planner) != planner->effort)
        best = default_schedule(planner, function, number, planner->effort);
    return plan_of(planner, function, number, best, function->user ? PLAN_COMPLETED : PLAN_BY_DEFAULT);
}

Plan plan_recorded_on(Planner *planner, const PlanFunction *function, const char *inputs) {
    int number = 0;
    const Schedule *best = best_record(planner, function, inputs, &number);
    return plan_of(planner, function, number, best, PLAN_BY_DATABASE);
}

Plan plan_recorded(Planner *planner, const PlanFunction *function) {
    int number = 0;
    const char *inputs = database_inputs(planner->arena, planner->database, function->programs, function->count,
                                         function->target, function->user, function->target->threads);
    const Schedule *best = best_record(planner, function, inputs, &number);
    if (!best && *inputs)
        best = best_record(planner, function, "", &number);
    if (!best && !function->user)
        best = known_by_tasks(planner, function, &number);
    return plan_of(planner, function, number, best, PLAN_BY_DATABASE);
}

Plan autosched_choose(Planner *planner, const PlanFunction *function) {
    if (plan_is_exact(planner, function))
        return plan_of(planner, function, 0, function->user, PLAN_BY_SOURCE);
    Plan recorded = planner->database ? plan_recorded(planner, function) : (Plan){0};
    return recorded.program ? recorded : plan_default(planner, function);
}
