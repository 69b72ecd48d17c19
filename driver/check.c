/* check.c - whether a block of the source is legal, before anything is chosen: its errors and warnings.
 */
#include "driver/driver.h"
#include <string.h>

static const Prim *placement_of(const Schedule *schedule, const char *stage) {
    for (int i = schedule->count - 1; i >= 0; i--)
        if (schedule->prims[i].op == PRIM_COMPUTE_AT && strcmp(schedule->prims[i].args[0].name, stage) == 0)
            return &schedule->prims[i];
    return NULL;
}

/* Whether a guard of the stage leaves only the first iteration of this loop. */
static bool guarded_to_first(const NestStage *stage, const Loop *loop) {
    for (int g = 0; g < stage->guard_count; g++) {
        const Expr *value = stage->guards[g].value;
        int64_t limit;
        if (value->kind == EXPR_VAR && value->var == loop->var && expr_is_int(stage->guards[g].limit, &limit) &&
            limit <= 1)
            return true;
    }
    return false;
}

/* Whether the stage is computed in more than one iteration of this loop around it. */
static bool repeats(const NestStage *stage, const Loop *loop) {
    return loop->extent != 1 && !guarded_to_first(stage, loop) && !guarded_to_first(stage->parent, loop);
}

/* The innermost loop that computes the stage as a whole in each iteration; NULL if there is none. */
static const Loop *repeating_loop(const Nest *nest, const NestStage *stage) {
    const Stage *whole = program_find_stage(nest->program, stage->stage->name);
    bool all = whole && stage->parent && stage->home == stage->parent && !stage->in_scan && !stage->inlined &&
               (whole->axis_count || whole->reduction_count);
    for (int d = 0; all && d < whole->axis_count; d++)
        all = expr_equal(stage->buffers[0]->dims[d], whole->components[0].tensor->dims[d]);
    for (int l = all ? stage->depth - 1 : -1; l >= 0; l--)
        if (repeats(stage, stage->parent->loops[l]))
            return stage->parent->loops[l];
    return NULL;
}

/* As the schedule calls it. */
static const char *loop_name(const NestStage *stage, const Loop *loop, const Prim *placement) {
    bool innermost = loop == stage->parent->loops[stage->depth - 1];
    return innermost ? placement->args[1].name : loop->var->name;
}

/* A block may stand for several exports: the note says for which one. */
static void warn_repeated(Compilation *c, const Unit *unit, const Nest *nest, const Schedule *schedule) {
    for (int i = 0; i < nest->stage_count; i++) {
        const NestStage *stage = nest->stages[i];
        const Loop *loop = repeating_loop(nest, stage);
        const Prim *prim = loop ? placement_of(schedule, stage->stage->name) : NULL;
        if (!prim)
            continue;
        diag(c->diagnostics, DIAG_whole_again, prim->loc, stage->stage->name, loop_name(stage, loop, prim));
        diag_note(c->diagnostics, unit->loc, "in the function '%s'", unit->program->symbol);
        diag_hint(c->diagnostics, "without compute_at it is computed once");
    }
}

/* Checks that the block is legal with its holes filled as -O1 would fill them. Reports errors. */
bool check_schedule(Compilation *c, const Unit *unit, const Target *target) {
    const Schedule *user = user_schedule(unit, target);
    if (!user)
        return true;
    NestError error = {0};
    const Schedule *filled = plan_filled(&c->planner, unit->program, target, user, &error);
    Nest *nest = filled ? nest_build(c->arena, unit->program, filled, NULL, target, &error) : NULL;
    if (!nest)
        return nest_report(c->diagnostics, &error);
    for (int i = 0; i < nest->ineffective_count && !unit->is_version; i++)
        diag(c->diagnostics, DIAG_schedule_no_effect, filled->prims[nest->ineffective[i]].loc);
    if (!unit->is_version)
        warn_repeated(c, unit, nest, filled);
    return true;
}
