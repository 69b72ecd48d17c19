/* schedule.c - the plan of each function, and what is said of it.
 *
 * It is the first of these: the user's block for the target (the most specific name wins, and the level fills what it
 * leaves open), what -O tune found, a record of the database (from -O2 on), the level's default.
 */
#include "driver/driver.h"
#include "lang/terminal.h"

/* --- choosing --- */

/* Records are looked for where something is left to choose. */
static Plan plan_below_tune(Compilation *c, const Function *function) {
    bool exact = plan_is_exact(&c->planner, &function->asked);
    c->planner.database = !exact && c->options->level >= LEVEL_2 ? compilation_database(c) : NULL;
    return autosched_choose(&c->planner, &function->asked);
}

/* What was not done to the stages that was meant to be, and why: a line each, after `before`. */
void schedule_notes(Text *text, const Schedule *schedule, const char *before) {
    if (!schedule)
        return;
    if (schedule->ruled)
        text_add(text, "%sby rules of the source: %s\n", before, schedule->ruled);
    if (schedule->misfits)
        text_add(text, "%snot legal by rules of the source: %s\n", before, schedule->misfits);
    if (schedule->idle)
        text_add(text, "%sapply to no stage, rules of the source: %s\n", before, schedule->idle);
    if (schedule->gaps)
        text_add(text, "%sholes that may lack choices: %s\n", before, schedule->gaps);
    if (schedule->refused)
        text_add(text, "%sleft with plain loops, as nothing that was tried for them is legal: %s\n", before,
                 schedule->refused);
    if (schedule->smaller)
        text_add(text, "%ssmaller tiles, as the function would be too much code: %s\n", before, schedule->smaller);
    if (schedule->plain)
        text_add(text, "%splain loops, as the function would be far too much code: %s\n", before, schedule->plain);
    if (schedule->shorter)
        text_add(text, "%sshorter vectors, as some of their lanes are fetched one by one: %s\n", before,
                 schedule->shorter);
    if (schedule->points)
        text_add(text, "%sfor each of its nests %d schedules were estimated: few, as hundreds of nests differ\n",
                 before, schedule->points);
}

void show_notes(Compilation *c, const Schedule *schedule, const char *symbol) {
    Text notes = {.arena = c->arena};
    schedule_notes(&notes, schedule, arena_printf(c->arena, "tensorc: %s: ", symbol));
    show(stderr, "%s", notes.text ? notes.text : "");
}

static void show_choice(Compilation *c, const Scheduled *scheduled) {
    const Program *program = scheduled->unit->program;
    const char *algorithms = program_algorithms(c->arena, program);
    show(stderr, "tensorc: %s: scheduled by %s%s%s\n", program->symbol, scheduled->origin, algorithms ? "; " : "",
         algorithms ? algorithms : "");
    show_notes(c, scheduled->schedule, program->symbol);
    Text completed = {.arena = c->arena};
    block_notes(&completed, user_schedule(scheduled->unit, scheduled->nest->target), scheduled->schedule,
                arena_printf(c->arena, "tensorc: %s: ", program->symbol));
    show(stderr, "%s", completed.text ? completed.text : "");
}

void warn_of_plain(Compilation *c, const Scheduled *scheduled, const char *symbol) {
    if (scheduled->schedule && scheduled->schedule->plain)
        diag(c->diagnostics, DIAG_too_much_code, scheduled->unit->program->loc, symbol, scheduled->schedule->plain,
             c->options->level < LEVEL_3 ? "; -O3 allows four times as much" : "");
}

static const char *const origins[] = {[PLAN_BY_SOURCE] = "the source",
                                      [PLAN_COMPLETED] = "the source, what it leaves open by the default",
                                      [PLAN_BY_DATABASE] = "the database",
                                      [PLAN_BY_TUNING] = "tuning",
                                      [PLAN_BY_DEFAULT] = "the default"};

static Scheduled scheduled_by(Compilation *c, const Function *function, const Plan *plan) {
    const Unit *unit = plan->number ? unit_with(c, function->unit, plan->number - 1) : function->unit;
    return (Scheduled){unit, plan->schedule, plan->nest, origins[plan->origin]};
}

bool choose_schedule(Compilation *c, const Unit *unit, const Target *target, Scheduled *scheduled) {
    const Function *function = function_of(c, unit, target);
    if (!function)
        return false;
    Plan plan = {0};
    if (c->options->level < LEVEL_TUNE)
        plan = plan_below_tune(c, function);
    else if (!tuned_plan(c, function, &plan))
        return false;
    if (!plan.program)
        INTERNAL_ERROR("no schedule that was chosen for %s is legal", unit->program->symbol);
    *scheduled = scheduled_by(c, function, &plan);
    if (!check_instrs_of(c, scheduled->nest))
        return false;
    warn_of_plain(c, scheduled, unit->program->symbol);
    if (c->options->verbose)
        show_choice(c, scheduled);
    return true;
}

/* --- packed arguments --- */

Scheduled packing_schedule(Compilation *c, const Unit *unit, const Function *function) {
    const Target *target = function->target;
    PlanFunction asked = asked_of(c, unit, target);
    asked.unpacked = &function->asked;
    if (plan_is_exact(&c->planner, &asked)) {
        const Nest *nest = nest_build(c->arena, unit->program, asked.user, NULL, target, NULL);
        if (nest)
            return (Scheduled){unit, asked.user, nest, origins[PLAN_BY_SOURCE]};
    } else {
        Plan plan = plan_default(&c->planner, &asked);
        if (plan.nest)
            return (Scheduled){plan.number ? unit_with(c, unit, plan.number - 1) : unit, plan.schedule, plan.nest,
                               origins[PLAN_BY_DEFAULT]};
    }
    return (Scheduled){unit, NULL, nest_build(c->arena, unit->program, NULL, NULL, target, NULL),
                       origins[PLAN_BY_DEFAULT]};
}
