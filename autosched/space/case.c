/* case.c - axes that choose between the cases of a value: a == 0 ? ... : a == 1 ? ..., h % 4 == 0 ? ...
 *
 * The transforms of fast algorithms are written so. If all values of such an axis are in one unrolled body, each has
 * one case, and what the cases read is read once.
 */
#include "autosched/space/groups.h"

enum { CASES_LIMIT = 8 };

/* The period of axis == 3, or axis % 4 == 3. */
static int64_t compared_period(const Expr *condition, const Var *axis) {
    int64_t value, period;
    if (!expr_is_op(condition, OP_EQ) || !expr_is_int(condition->args[1], &value))
        return 0;
    const Expr *chosen = condition->args[0];
    if (chosen->kind == EXPR_VAR && chosen->var == axis)
        return axis_extent(axis);
    bool remainder = expr_is_op(chosen, OP_MOD) && chosen->args[0]->kind == EXPR_VAR && chosen->args[0]->var == axis &&
                     expr_is_int(chosen->args[1], &period);
    return remainder ? period : 0;
}

int64_t case_period(const Stage *stage, int axis) {
    int64_t extent = axis_extent(stage->axes[axis]), period = 0;
    EACH_EXPR(e, stage->components[0].value)
        if (expr_is_op(e, OP_SELECT)) {
            int64_t compared = compared_period(e->args[0], stage->axes[axis]);
            period = compared > period ? compared : period;
        }
    bool many = period > CASES_LIMIT || (extent >= 0 && period > extent);
    return period > 1 && !many ? period : 0;
}

bool stage_has_cases(const Stage *stage) {
    for (int a = 0; a < stage->axis_count && stage->combine == COMBINE_NONE; a++)
        if (case_period(stage, a) > 0)
            return true;
    return false;
}

/* --- what a tile of cases reads ----------------------------------------------------------------------------------- */

/* One axis, or a part of one: x, x / 4, x % 4. */
static const Var *axis_in(const Expr *index) {
    int64_t divisor;
    if (index->kind == EXPR_OP && (index->op == OP_DIV || index->op == OP_MOD) &&
        expr_is_int(index->args[1], &divisor) && divisor > 0)
        index = index->args[0];
    return index->kind == EXPR_VAR ? index->var : NULL;
}

bool reads_by_cases(const Stage *stage, const Stage *producer) {
    bool chosen = false;
    EACH_READ(read, stage->components[0].value)
        for (int d = 0; d < read->count && read->tensor == producer->components[0].tensor; d++) {
            bool number = expr_is_int(read->args[d], NULL);
            if (!number && axis_in(read->args[d]) == NULL)
                return false;
            chosen |= number;
        }
    return chosen && producer->combine == COMBINE_NONE && producer->component_count == 1;
}

/* The period that a read wants of an axis: x / 4 and x % 4 want multiples of 4; x alone, where the producer (as the
 * nest has it) chooses cases, wants all of these. */
static int64_t wanted_period(const Expr *read, const Stage *producer, const Var *axis) {
    int64_t wanted = 0;
    for (int d = 0; d < read->count; d++) {
        const Expr *index = read->args[d];
        int64_t period = 0;
        if (axis_in(index) != axis)
            continue;
        if (index->kind == EXPR_VAR)
            period = case_period(producer, d);
        else
            expr_is_int(index->args[1], &period);
        wanted = period > wanted ? period : wanted;
    }
    return wanted;
}

int64_t group_case_period(Space *space, const Group *group, const Stage *root, int axis) {
    int64_t extent = axis_extent(root->axes[axis]), period = case_period(root, axis);
    for (int s = 0; s < group->stage_count; s++) {
        const Stage *producer = group->stages[s] == group->root ? NULL : inlined_stage(space, group->stages[s]);
        EACH_READ(read, producer ? root->components[0].value : NULL) {
            bool reads = read->tensor == producer->components[0].tensor;
            int64_t wanted = reads ? wanted_period(read, producer, root->axes[axis]) : 0;
            period = wanted > period ? wanted : period;
        }
    }
    return extent >= 0 && period > extent ? extent : period;
}

/* Whether two indices together are the axis: x / 4 and x % 4. */
static bool is_split_pair(const Expr *a, const Expr *b, const Var *axis) {
    int64_t divisor, modulus;
    return a->kind == EXPR_OP && b->kind == EXPR_OP && a->op == OP_DIV && b->op == OP_MOD && axis_in(a) == axis &&
           axis_in(b) == axis && expr_is_int(a->args[1], &divisor) && expr_is_int(b->args[1], &modulus) &&
           divisor == modulus;
}

/* Whether different values of the variable always mean different elements of what is read. */
static bool is_told(const Expr *read, const Var *var) {
    bool told = axis_extent(var) == 1;
    for (int d = 0; d < read->count; d++) {
        told |= read->args[d]->kind == EXPR_VAR && read->args[d]->var == var;
        for (int other = 0; other < read->count; other++)
            told |= is_split_pair(read->args[d], read->args[other], var);
    }
    return told;
}

bool read_is_injective(const Stage *stage, const Expr *read) {
    bool told = true;
    for (int a = 0; a < stage->axis_count; a++)
        told &= is_told(read, stage->axes[a]);
    for (int r = 0; r < stage->reduction_count; r++)
        told &= is_told(read, stage->reductions[r]);
    return told;
}

/* Looks for x / 4 in the place of an axis that chooses. */
bool loses_cases(Space *space, const Stage *consumer, const Stage *producer) {
    EACH_READ(read, consumer->components[0].value)
        for (int d = 0; d < read->count && read->tensor == producer->components[0].tensor; d++)
            if (expr_is_op(read->args[d], OP_DIV) && case_period(inlined_stage(space, producer), d) > 0)
                return true;
    return false;
}

/* --- statements --------------------------------------------------------------------------------------------------- */

/* The dimension of a tensor that the reader indexes by an axis; -1: none. */
static int dimension_of_axis(const Stage *reader, const Tensor *tensor, const Var *axis) {
    int dimension = -1;
    EACH_READ(read, reader->components[0].value)
        for (int d = 0; d < read->count && read->tensor == tensor; d++)
            if (read->args[d]->kind == EXPR_VAR && read->args[d]->var == axis)
                dimension = d;
    return dimension;
}

/* For each member (readers before what they read): its dimension for the root's vector axis; -1: none. */
static void find_lanes(Space *space, const Group *group, const CasePlace *place, int *dimensions) {
    for (int s = group->stage_count - 1; s >= 0; s--) {
        const Tensor *tensor = group->stages[s]->components[0].tensor;
        dimensions[s] = place->vector ? dimension_of_axis(place->root, tensor, place->vector) : -1;
        for (int r = s + 1; r < group->stage_count && place->vector && dimensions[s] < 0; r++) {
            const Stage *reader = inlined_stage(space, group->stages[r]);
            if (dimensions[r] >= 0 && group->stages[r] != group->root)
                dimensions[s] = dimension_of_axis(reader, tensor, reader->axes[dimensions[r]]);
        }
    }
}

static const char *producer_loop(Space *space, const Stage *producer, int axis) {
    return loop_path(space, producer->name, producer->axes[axis]->name);
}

/* lane: the vectorized dimension, or -1. */
static void emit_producer(Space *space, const Group *group, Sketch *sketch, const CasePlace *place, int number,
                          int lane) {
    const Stage *producer = group->stages[number];
    PrimArg at[3] = {arg_name(producer->name), arg_name(place->loop), arg_keyed(arg_name("register"), "scope")};
    sketch_add(space, sketch, PRIM_COMPUTE_AT, 0, NULL, 3, at);
    const char *names[producer->axis_count + 2], *parts[2];
    int count = 0;
    for (int a = 0; a < producer->axis_count; a++)
        if (a != lane)
            names[count++] = producer_loop(space, producer, a);
    if (lane >= 0) {
        parts[0] = space_local_name(space, group, arena_printf(space->arena, "c%d_u", number));
        parts[1] = space_local_name(space, group, arena_printf(space->arena, "c%d_l", number));
        PrimArg args[2] = {arg_name(producer_loop(space, producer, lane)), arg_int(place->lanes)};
        sketch_add(space, sketch, PRIM_SPLIT, 2, parts, 2, args);
        names[count++] = parts[0];
        names[count] = parts[1];
    }
    sketch_loops(space, sketch, PRIM_REORDER, names, count + (lane >= 0));
    if (lane >= 0)
        sketch_loops(space, sketch, PRIM_VECTORIZE, &parts[1], 1);
    sketch_loops(space, sketch, PRIM_UNROLL, names, count);
}

bool emit_producers(Space *space, const Group *group, Sketch *sketch, const CasePlace *place) {
    int dimensions[group->stage_count];
    find_lanes(space, group, place, dimensions);
    for (int s = group->stage_count - 1; s >= 0; s--) {
        if (group->stages[s] == group->root)
            continue;
        if (!place->loop || (place->vector && dimensions[s] < 0))
            return false;
        emit_producer(space, group, sketch, place, s, dimensions[s]);
    }
    return true;
}
