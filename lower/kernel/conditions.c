/* conditions.c - the arithmetic of conditions: where along a loop they start or cease to hold, and what of them can be
 * tested before it.
 *
 * Conditions are comparisons of whole numbers, affine in the loop variables. What they read from memory may be any
 * number.
 */
#include "lower/kernel/conditions.h"

enum { FAR_BITS = 55 }; /* beyond all sizes, and far from overflow */

/* Whether it may be any number, because of what it reads or because it wraps. */
static bool is_wide(const Expr *e) {
    EACH_READ(read, e)
        if (element_info[read->type].bytes >= 8 || type_is_float(read->type))
            return true;
    return !expr_is_exact(e);
}

/* The number, clamped beyond all places in tensors. Arithmetic on numbers that are read may wrap, so it is clamped as a
 * whole. */
static Expr *near(Arena *arena, Expr *e) {
    int64_t most = INT64_C(1) << FAR_BITS;
    return expr_binary(arena, OP_MAX, expr_binary(arena, OP_MIN, e, expr_int(arena, most)), expr_int(arena, -most));
}

bool as_difference(Arena *arena, const Expr *condition, Affine *difference, bool *or_equal) {
    if (!expr_is_inequality(condition) || condition->lanes > 1 || condition->args[0]->type != TYPE_INT64)
        return false;
    bool less = comparison_info[condition->op].less;
    *or_equal = comparison_info[condition->op].equal;
    Expr *low = condition->args[!less], *high = condition->args[less];
    if (is_wide(low) && is_wide(high))
        return false;
    low = is_wide(low) ? near(arena, low) : low;
    high = is_wide(high) ? near(arena, high) : high;
    return expr_affine(arena, expr_binary(arena, OP_SUB, low, high), difference);
}

/* `added` minus the constant and the terms, without the term of one atom; false on overflow. */
static bool negated_rest(Arena *arena, const Affine *affine, int without, int64_t added, Expr **rest) {
    Affine negated = {.terms = ARENA_ARRAY(arena, Term, affine->count)};
    if (__builtin_sub_overflow(added, affine->constant, &negated.constant))
        return false;
    for (int i = 0; i < affine->count; i++) {
        if (i == without)
            continue;
        if (affine->terms[i].coefficient == INT64_MIN)
            return false;
        negated.terms[negated.count++] = (Term){-affine->terms[i].coefficient, affine->terms[i].atom};
    }
    *rest = affine_expr(arena, &negated);
    return true;
}

/* A value where loops may begin or end. */
static Expr *loop_end(Arena *arena, Expr *value) {
    return expr_compact(arena, expr_compact(arena, value));
}

bool first_failure(Arena *arena, Expr *condition, const Var *var, Expr **first) {
    Affine difference;
    bool or_equal;
    int64_t slope;
    if (!as_difference(arena, condition, &difference, &or_equal) || !affine_coefficient(&difference, var, &slope) ||
        slope <= 0)
        return false;
    Expr *rest; /* slope * var < rest or, for whole numbers, slope * var <= rest */
    if (!negated_rest(arena, &difference, affine_term_of(&difference, var), or_equal ? slope : slope - 1, &rest))
        return false;
    *first = loop_end(arena, expr_binary(arena, OP_DIV, rest, expr_int(arena, slope)));
    return true;
}

bool first_success(Arena *arena, Expr *condition, const Var *var, Expr **first) {
    Affine difference;
    bool or_equal;
    int64_t slope;
    if (!as_difference(arena, condition, &difference, &or_equal) || !affine_coefficient(&difference, var, &slope) ||
        slope >= 0 || slope == INT64_MIN)
        return false;
    Expr *rest; /* -(what slope * var must outweigh) */
    if (!negated_rest(arena, &difference, affine_term_of(&difference, var), 0, &rest))
        return false;
    Expr *sum = expr_binary(arena, OP_SUB, expr_int(arena, or_equal ? -slope - 1 : -slope), rest);
    *first = loop_end(arena, expr_binary(arena, OP_DIV, sum, expr_int(arena, -slope)));
    return true;
}

/* Modulo 2^64, var == numerator has one answer; slope * var == numerator may have many. */
bool equal_value(Arena *arena, Expr *condition, const Var *var, Expr **numerator, int64_t *slope) {
    Affine difference;
    if (!expr_is_op(condition, OP_EQ) || condition->lanes > 1 || condition->args[0]->type != TYPE_INT64)
        return false;
    for (int side = 0; side < 2; side++) {
        Expr *d = expr_binary(arena, OP_SUB, condition->args[side], condition->args[1 - side]);
        if (!expr_affine_modular(arena, d, &difference) || !affine_coefficient(&difference, var, slope) ||
            (*slope > 1 && !expr_is_exact(d)))
            return false;
        if (*slope > 0)
            return negated_rest(arena, &difference, affine_term_of(&difference, var), 0, numerator);
    }
    return false;
}

Expr *extreme_case(Arena *arena, Expr *condition, const Var *const *vars, int count, bool worst) {
    Affine difference;
    bool or_equal;
    if (!as_difference(arena, condition, &difference, &or_equal))
        return NULL;
    LIST(Substitution) list = {0};
    for (int i = 0; i < count; i++) {
        const Var *var = vars[i];
        int64_t slope;
        if (!affine_coefficient(&difference, var, &slope))
            return NULL;
        Expr *last = expr_binary(arena, OP_SUB, var->extent, expr_int(arena, 1));
        bool at_last = slope != 0 && (slope > 0) == worst; /* where var cancels out any value will do */
        list_push(arena, &list, ((Substitution){var, at_last ? last : expr_int(arena, 0)}));
    }
    return expr_compact(arena, expr_substitute(arena, condition, list.items, list.count));
}

/* --- before loops --- */

bool has_tensor(const Tensors *tensors, const Tensor *tensor) {
    for (int i = 0; i < tensors->count; i++)
        if (tensors->items[i] == tensor)
            return true;
    return false;
}

typedef struct Steady {
    const Var *const *vars;
    int count;
    const Tensors *written;
} Steady;

/* For expr_rewrite: reads without their guards. */
static Expr *without_guard(Arena *arena, Expr *e, void *context) {
    (void)context;
    if (e->kind != EXPR_READ || !e->guard)
        return e;
    Expr *read = expr_copy(arena, e);
    read->guard = NULL;
    return read;
}

/* For expr_rewrite: reads under guards that keep them inside, where the ranges of variables do not. */
static Expr *inside_itself(Arena *arena, Expr *e, void *context) {
    (void)context;
    Expr *inside = NULL, *bounds[2];
    for (int d = 0; e->kind == EXPR_READ && d < e->count; d++) {
        index_bounds(arena, e->tensor, d, e->args[d], bounds);
        for (int i = 0; i < 2; i++)
            if (expr_prove(arena, bounds[i], &(Facts){0}) != 1)
                inside = expr_and(arena, inside, bounds[i]);
    }
    if (!inside)
        return e;
    Expr *read = expr_copy(arena, e);
    read->guard = inside;
    return read;
}

/* Whether the read is of what stays as it is, at a place that no loop moves. */
static bool is_steady_read(const Expr *e, const Steady *steady) {
    bool holds = !has_tensor(steady->written, e->tensor);
    for (int v = 0; v < steady->count && holds; v++)
        holds = !expr_uses_var(e, steady->vars[v]);
    return holds;
}

/* Where a guard fails, the conditions that it was made of, beside this one, fail too: what is read there is of no
 * account. Elsewhere the read is inside. */
Expr *steady_condition(Arena *arena, Expr *condition, const Var *const *vars, int count, const Tensors *written) {
    Steady steady = {.vars = vars, .count = count, .written = written};
    if (!expr_reads(condition))
        return condition;
    condition = expr_rewrite(arena, condition, without_guard, NULL);
    EACH_READ(read, condition)
        if (!is_steady_read(read, &steady))
            return NULL;
    return expr_rewrite(arena, condition, inside_itself, NULL);
}
