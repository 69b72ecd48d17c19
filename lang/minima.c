/* minima.c - minima and maxima in canonical sums: the one that is known to be it, else an atom without what others
 * imply, so that equal things look equal.
 */
#include "lang/sum.h"

/* min(a + c, b + c) = min(a, b) + c: the larger of the two constants comes out, so that equal things look equal. False
 * where what is left may wrap. */
static bool add_extreme_atom(Sum *sum, int64_t coefficient, Op op, Affine a, Affine b) {
    Arena *arena = sum->arena;
    int64_t common = a.constant > b.constant ? a.constant : b.constant;
    if (__builtin_sub_overflow(a.constant, common, &a.constant) ||
        __builtin_sub_overflow(b.constant, common, &b.constant))
        return false;
    Expr *first = affine_expr(arena, &a), *second = affine_expr(arena, &b);
    bool swap = atom_compare(first, second) > 0;
    if (!expr_is_exact(first) || !expr_is_exact(second))
        return false;
    sum_add_atom(sum, coefficient, expr_binary(arena, op, swap ? second : first, swap ? first : second));
    sum_add_constant(sum, coefficient, common);
    return true;
}

/* Whether a minimum (maximum) with `by` does not need the other one, as they are a number apart. */
static bool is_needless(Arena *arena, Op op, const Affine *by, const Affine *other) {
    Affine apart;
    return affine_sum(arena, other, 1, by, -1, &apart) && apart.count == 0 &&
           (op == OP_MIN ? apart.constant >= 0 : apart.constant <= 0);
}

/* What is canonical already is not made so again: each minimum within others would be looked at many times. */
static bool canonical_affine(Arena *arena, Expr *e, Affine *affine) {
    Sum sum;
    sum_init(&sum, arena);
    sum_add_expr(&sum, 1, e, false);
    return sum_affine(arena, &sum, affine);
}

/* Takes what a minimum with `by` does not need out of the minimum e: min(a, min(a + 1, b)) is min(a, b). depth: how
 * many minima within each other are looked into. */
static bool drop_needless(Arena *arena, Op op, const Affine *by, Affine *e, int depth) {
    Affine sides[2], offset = {e->constant, 0, NULL};
    if (depth == 0 || e->count != 1 || e->terms[0].coefficient != 1 || !expr_is_op(e->terms[0].atom, op))
        return false;
    for (int i = 0; i < 2; i++)
        if (!canonical_affine(arena, e->terms[0].atom->args[i], &sides[i]) ||
            !affine_sum(arena, &sides[i], 1, &offset, 1, &sides[i]))
            return false;
    bool changed = drop_needless(arena, op, by, &sides[0], depth - 1);
    changed |= drop_needless(arena, op, by, &sides[1], depth - 1);
    for (int i = 0; i < 2; i++)
        if (is_needless(arena, op, by, &sides[i])) {
            *e = sides[1 - i];
            return true;
        }
    Expr *whole = expr_binary(arena, op, affine_expr(arena, &sides[0]), affine_expr(arena, &sides[1]));
    return changed && expr_is_exact(whole) && size_affine(arena, whole, e);
}

/* An extreme of two of which neither is known to be it. */
static void add_undecided(Sum *sum, int64_t coefficient, Expr *e, Affine a, Affine b) {
    enum { DEPTH = 4 };
    Arena *arena = sum->arena;
    if (drop_needless(arena, e->op, &a, &b, DEPTH) || drop_needless(arena, e->op, &b, &a, DEPTH))
        sum_add_extreme(sum, coefficient, expr_binary(arena, e->op, affine_expr(arena, &a), affine_expr(arena, &b)));
    else if (!add_extreme_atom(sum, coefficient, e->op, a, b))
        sum_add_atom(sum, coefficient, e);
}

void sum_add_extreme(Sum *sum, int64_t coefficient, Expr *e) {
    Arena *arena = sum->arena;
    Affine a, b, difference, opposite;
    if (expr_is_larger(e, EXTREME_NODES) || !expr_is_exact(e->args[0]) || !expr_is_exact(e->args[1])) {
        sum_add_atom(sum, coefficient, e);
        return;
    }
    if (!size_affine(arena, e->args[0], &a) || !size_affine(arena, e->args[1], &b) ||
        !affine_sum(arena, &a, 1, &b, -1, &difference)) {
        sum->overflow = true;
        return;
    }
    bool larger = affine_never_negative(arena, &difference, NULL);
    if (larger || (affine_sum(arena, &b, 1, &a, -1, &opposite) && affine_never_negative(arena, &opposite, NULL)))
        sum_add_affine(sum, coefficient, larger == (e->op == OP_MAX) ? &a : &b);
    else
        add_undecided(sum, coefficient, e, a, b);
}
