/* within.c - indices that are taken back inside their tensor: e % n, max(0, min(e, n - 1)), e reflected at the ends. In
 * most tiles they are e for all elements.
 *
 * Needs indices as build made them. Keeps true: where all conditions of an index hold, it is e.
 */
#include "lower/kernel/passes/guards.h"

enum { TILE = 1 << 20 }; /* more than what loops over tiles go beyond an extent */

typedef struct Within {
    Arena *arena;
    ExprList conditions; /* where they hold, the index is another one */
    ExprList near;       /* where they hold, remainders by run-time sizes go round once at most */
} Within;

static Expr *within(Within *w, const Expr *index);

static void require(Within *w, Op op, Expr *e, Expr *bound) {
    list_push(w->arena, &w->conditions, expr_binary(w->arena, op, e, bound));
}

static void require_near(Within *w, Expr *e, Expr *period) {
    Arena *arena = w->arena;
    Expr *twice = expr_binary(arena, OP_MUL, expr_int(arena, 2), period), *zero = expr_int(arena, 0);
    list_push(arena, &w->near, expr_binary(arena, OP_GE, expr_binary(arena, OP_ADD, e, period), zero));
    list_push(arena, &w->near, expr_binary(arena, OP_LT, e, twice));
}

static bool always(Arena *arena, Op op, Expr *a, Expr *b) {
    return expr_prove(arena, expr_binary(arena, op, a, b), &(Facts){0}) == 1;
}

/* How many run-time sizes the largest values of an index are a product of, more or less. */
static int degree(const Expr *e) {
    if (e->kind == EXPR_VAR)
        return e->var->kind == VAR_SIZE ? 1 : e->var->extent ? degree(e->var->extent) : 0;
    if (e->kind != EXPR_OP || e->count < 1 || e->type != TYPE_INT64)
        return 0;
    int a = degree(e->args[0]), b = degree(e->args[e->count - 1]);
    switch (e->op) {
    case OP_MUL: return a + b;
    case OP_DIV: return a - b;
    case OP_MOD: return b;
    default: return a > b ? a : b;
    }
}

static bool has_parts(const Expr *e) {
    EACH_EXPR(part, e)
        if (expr_is_op(part, OP_DIV) || expr_is_op(part, OP_MOD))
            return true;
    return false;
}

/* Whether e is in 0:period but near the ends. Parts of fused loops, and elements of a layout in blocks, are remainders
 * that go round many times. */
static bool is_mostly_within(Arena *arena, Expr *e, Expr *period) {
    int64_t number;
    bool known = expr_is_int(period, &number);
    Interval range = expr_interval(e);
    if (known)
        return range.has_low && range.has_high && range.low >= -number / 2 && range.high - number < number / 2;
    if (has_parts(e)) /* of a loop over all tiles */
        return degree(e) <= degree(period);
    Expr *tile = expr_int(arena, TILE), *twice = expr_binary(arena, OP_MUL, expr_int(arena, 2), period);
    return always(arena, OP_LT, e, expr_binary(arena, OP_ADD, twice, tile)) &&
           always(arena, OP_GE, e, expr_int(arena, -TILE));
}

/* e % n is e in 0:n. A period of at least 1 is the number itself, where e is in 0 to that. */
static Expr *within_period(Within *w, const Expr *index) {
    int before = w->conditions.count, near = w->near.count;
    Expr *e = within(w, index->args[0]), *period = expr_without_least_one(index->args[1]);
    if (!is_mostly_within(w->arena, e, period)) {
        w->conditions.count = before;
        w->near.count = near;
        return (Expr *)index;
    }
    require(w, OP_GE, e, expr_int(w->arena, 0));
    require(w, OP_LT, e, period);
    if (period->kind != EXPR_INT)
        require_near(w, e, period);
    return e;
}

static bool is_reflection(const Expr *index) {
    const Expr *forward = index->args[0], *back = index->args[1];
    return index->op == OP_MIN && expr_is_op(forward, OP_MOD) && expr_is_op(back, OP_SUB) &&
           expr_equal(back->args[1], forward);
}

/* min(f, p - f) is f up to half of p. */
static Expr *within_half(Within *w, const Expr *index) {
    Expr *forward = index->args[0], *period = index->args[1]->args[0], *e = within(w, forward);
    Arena *arena = w->arena;
    if (e == forward)
        return (Expr *)index;
    bool doubled = expr_is_op(period, OP_MUL) && expr_is_number(period->args[0], 2);
    Expr *half =
        doubled ? period->args[1] : expr_compact(arena, expr_binary(arena, OP_DIV, period, expr_int(arena, 2)));
    require(w, OP_LE, e, half);
    return e;
}

static bool has_loop(const Expr *e) {
    EACH_EXPR(part, e)
        if (part->kind == EXPR_VAR && part->var->kind == VAR_LOOP)
            return true;
    return false;
}

/* A minimum or maximum with what is the same in all loops. */
static Expr *within_bound(Within *w, const Expr *index) {
    int side = has_loop(index->args[0]) ? 0 : 1;
    if (has_loop(index->args[1 - side]))
        return (Expr *)index;
    Expr *e = within(w, index->args[side]);
    require(w, index->op == OP_MAX ? OP_GE : OP_LE, e, index->args[1 - side]);
    return e;
}

/* What is another number in many elements stays in it. */
static Expr *within(Within *w, const Expr *index) {
    if (expr_is_op(index, OP_MOD) && !has_loop(index->args[1]))
        return within_period(w, index);
    if (!expr_is_op(index, OP_MIN) && !expr_is_op(index, OP_MAX))
        return (Expr *)index;
    return is_reflection(index) ? within_half(w, index) : within_bound(w, index);
}

Expr *index_within(Arena *arena, const Expr *index, ExprList *conditions, ExprList *near) {
    Within w = {.arena = arena};
    if (index->lanes > 1 || expr_reads(index))
        return NULL;
    Expr *e = within(&w, index);
    *conditions = w.conditions;
    if (near)
        *near = w.near;
    return w.conditions.count ? e : NULL;
}
