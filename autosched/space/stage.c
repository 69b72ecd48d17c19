/* stage.c - what the rules for groups ask of a stage: what its expressions use, use again, and cost. No operator is
 * known by name.
 */
#include "autosched/space/groups.h"

bool stage_uses_axis(const Stage *stage, const Expr *e) {
    for (int a = 0; a < stage->axis_count; a++)
        if (expr_uses_var(e, stage->axes[a]))
            return true;
    return false;
}

bool stage_uses_reduction(const Stage *stage, const Expr *e) {
    for (int r = 0; r < stage->reduction_count; r++)
        if (expr_uses_var(e, stage->reductions[r]))
            return true;
    return false;
}

static bool chooses_terms(const Stage *stage, const Expr *condition, const Var *axis) {
    if (expr_is_op(condition, OP_AND))
        return chooses_terms(stage, condition->args[0], axis) || chooses_terms(stage, condition->args[1], axis);
    return expr_reads(condition) && stage_uses_reduction(stage, condition) && expr_uses_var(condition, axis);
}

bool stage_is_ragged_along(const Stage *stage, const Var *axis) {
    const Expr *value = stage->components[0].value, *condition;
    while ((condition = stage_take_condition(stage, 0, &value)))
        if (chooses_terms(stage, condition, axis))
            return true;
    return false;
}

/* Whether a condition that reads is about several reductions. */
static bool bounds_by_another(const Stage *stage, const Expr *condition) {
    int used = 0;
    if (expr_is_op(condition, OP_AND))
        return bounds_by_another(stage, condition->args[0]) || bounds_by_another(stage, condition->args[1]);
    for (int r = 0; r < stage->reduction_count && expr_reads(condition); r++)
        used += expr_uses_var(condition, stage->reductions[r]);
    return used > 1;
}

bool stage_orders_reductions(const Stage *stage) {
    const Expr *value = stage->components[0].value, *condition;
    while ((condition = stage_take_condition(stage, 0, &value)))
        if (bounds_by_another(stage, condition))
            return true;
    return false;
}

/* Whether a read that is no condition has both as indices. */
static bool reads_by_both(const Stage *stage, const Expr *value, const Var *axis) {
    while (stage_take_condition(stage, 0, &value))
        ;
    EACH_READ(read, value)
        if (expr_uses_var(read, axis) && stage_uses_reduction(stage, read))
            return true;
    return false;
}

bool stage_deals_out(const Stage *stage, const Var *axis) {
    return stage_is_ragged_along(stage, axis) && !reads_by_both(stage, stage->components[0].value, axis);
}

bool stage_is_ragged(const Stage *stage) {
    bool ragged = stage->combine != COMBINE_NONE && stage->reduction_count > 0;
    for (int a = 0; a < stage->axis_count && ragged; a++)
        ragged = axis_extent(stage->axes[a]) == 1 || stage_is_ragged_along(stage, stage->axes[a]);
    return ragged && stage->axis_count > 0 && stage_first_scatter(stage) == stage->axis_count;
}

/* Axes of more than one value. */
static int long_axis_count(const Stage *stage) {
    int count = 0;
    for (int a = 0; a < stage->axis_count; a++)
        count += axis_extent(stage->axes[a]) != 1;
    return count;
}

/* Whether some operand of the reduction is read again for other elements of the result: worth a register tile. */
bool stage_has_reuse(const Stage *stage) {
    int long_axes = long_axis_count(stage);
    if (stage->combine == COMBINE_NONE || stage->reduction_count == 0 ||
        stage_first_scatter(stage) < stage->axis_count || stage_is_ragged(stage))
        return false;
    EACH_VALUE_READ(read, stage)
        for (int a = 0; a < stage->axis_count; a++)
            if (axis_extent(stage->axes[a]) != 1 && read->tensor->rank > 0 && !expr_uses_var(read, stage->axes[a]) &&
                (stage_uses_axis(stage, read) || long_axes == 1))
                return true;
    return false;
}

OperationCount stage_operations(const Expr *e) {
    OperationCount count = {0};
    EACH_EXPR(at, e)
        if (at->kind == EXPR_OP && type_is_float(at->type)) {
            count.operations++;
            count.expensive += op_is_expensive(at);
        }
    EACH_EXPR(at, e) {
        count.operations += at->kind == EXPR_OP && type_is_integer(at->type) && expr_reads(at);
        if (at->kind == EXPR_READ)
            SKIP_BELOW(at);
    }
    return count;
}

bool stage_shares_axes(const Stage *stage, const Expr *read, int depth) {
    if (read->count < depth || stage->axis_count < depth)
        return false;
    for (int d = 0; d < depth; d++)
        if (!stage_index_is_axis(stage, read->args[d], d))
            return false;
    return true;
}

bool stage_reads_elementwise(const Stage *stage, const Expr *read) {
    for (int d = 0; d < read->count; d++) {
        if (read->args[d]->kind != EXPR_VAR && stage_index_is_axis(stage, read->args[d], d))
            continue; /* the only value of its axis */
        if (read->args[d]->kind != EXPR_VAR || read->args[d]->var->reduction)
            return false;
        for (int before = 0; before < d; before++)
            if (read->args[before]->kind == EXPR_VAR && read->args[before]->var == read->args[d]->var)
                return false;
    }
    return !read->otherwise && read->count == stage->axis_count;
}

bool read_may_be_outside(const Expr *read, const Var *axis, bool otherwise) {
    for (int d = 0; d < read->count; d++)
        if (expr_uses_var(read->args[d], axis)) {
            if (read->otherwise && otherwise)
                return true;
            EACH_EXPR(e, read->args[d])
                if (e->kind == EXPR_OP && (e->op == OP_MIN || e->op == OP_MAX || e->op == OP_MOD))
                    return true;
        }
    return false;
}
