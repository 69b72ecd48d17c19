/* sizes.c - sums over sizes and index variables, and what can be said about their sign.
 *
 * Needs lang/sum.h: sums, divisions and proofs are lang's. Sums and products are right modulo 2^64 for all values. What
 * divides or compares is taken apart only where nothing wraps (expr_is_exact). Keeps true: a product is multiplied out,
 * and its factors stand in one order.
 */
#include "sema/sizes.h"
#include "lang/sum.h"
#include "lang/value.h"

#include <string.h>

static void add_expr(Sum *sum, int64_t scale, Expr *e);
/* Of a part of what is added. False: it overflows. */
static bool affine_of_part(Sum *sum, Expr *e, Affine *affine);

/* --- terms --- */

int term_factors(Arena *arena, const Term *term, Expr ***factors) {
    int degree = atom_degree(term->atom);
    *factors = ARENA_ARRAY(arena, Expr *, degree);
    return atom_factors(term->atom, *factors, degree);
}

/* --- building --- */

static void size_sum_init(Sum *sum, Arena *arena) {
    sum_init(sum, arena);
    sum->canonical = true;
}

/* --- divisions and extremes --- */

/* Adds what lang's rules of division make of it. */
static void add_divided(Sum *sum, int64_t scale, Op op, const Affine *dividend, const Affine *divisor) {
    Sum a, b;
    sum_over(&a, sum->arena, dividend);
    sum_over(&b, sum->arena, divisor);
    if (op == OP_DIV)
        sum_add_quotient(sum, scale, &a, &b);
    else
        sum_add_remainder(sum, scale, &a, &b);
}

static void add_product(Sum *sum, int64_t scale, const Affine *a, const Affine *b) {
    Sum left, right;
    sum_over(&left, sum->arena, a);
    sum_over(&right, sum->arena, b);
    sum_add_product(sum, scale, &left, &right);
}

static void add_quotient(Sum *sum, int64_t scale, Expr *e) {
    Arena *arena = sum->arena;
    Affine dividend, divisor;
    if (!expr_is_exact(e))
        sum_add_atom(sum, scale, e);
    else if (!affine_of_part(sum, e->args[0], &dividend) || !affine_of_part(sum, e->args[1], &divisor))
        sum->overflow = true;
    else if (divisor.count == 0 && divisor.constant != 0)
        add_divided(sum, scale, e->op, &dividend, &divisor);
    else
        sum_add_atom(sum, scale,
                     expr_binary(arena, e->op, affine_expr(arena, &dividend), affine_expr(arena, &divisor)));
}

/* min(a + c, b + c) = min(a, b) + c: the larger of the two constants comes out, so that equal things look equal. False
 * where what is left may wrap. */
static bool add_extreme_atom(Sum *sum, int64_t scale, Op op, Affine a, Affine b) {
    Arena *arena = sum->arena;
    int64_t common = a.constant > b.constant ? a.constant : b.constant;
    if (__builtin_sub_overflow(a.constant, common, &a.constant) ||
        __builtin_sub_overflow(b.constant, common, &b.constant))
        return false;
    Expr *first = affine_expr(arena, &a), *second = affine_expr(arena, &b);
    bool swap = atom_compare(first, second) > 0;
    if (!expr_is_exact(first) || !expr_is_exact(second))
        return false;
    sum_add_atom(sum, scale, expr_binary(arena, op, swap ? second : first, swap ? first : second));
    sum_add_constant(sum, scale, common);
    return true;
}

/* Whether a minimum (maximum) with `by` does not need the other one, as they are a number apart. */
static bool is_needless(Arena *arena, Op op, const Affine *by, const Affine *other) {
    Affine apart;
    return affine_sum(arena, other, 1, by, -1, &apart) && apart.count == 0 &&
           (op == OP_MIN ? apart.constant >= 0 : apart.constant <= 0);
}

/* Takes what a minimum with `by` does not need out of the minimum e: min(a, min(a + 1, b)) is min(a, b). depth: how
 * many minima within each other are looked into. */
static bool drop_needless(Arena *arena, Op op, const Affine *by, Affine *e, int depth) {
    Affine sides[2], offset = {e->constant, 0, NULL};
    if (depth == 0 || e->count != 1 || e->terms[0].coefficient != 1 || !expr_is_op(e->terms[0].atom, op))
        return false;
    for (int i = 0; i < 2; i++)
        if (!size_affine(arena, e->terms[0].atom->args[i], &sides[i]) ||
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

static void add_extreme(Sum *sum, int64_t scale, Expr *e);

/* An extreme of two of which neither is known to be it. */
static void add_undecided(Sum *sum, int64_t scale, Expr *e, Affine a, Affine b) {
    enum { DEPTH = 4 };
    Arena *arena = sum->arena;
    if (drop_needless(arena, e->op, &a, &b, DEPTH) || drop_needless(arena, e->op, &b, &a, DEPTH))
        add_extreme(sum, scale, expr_binary(arena, e->op, affine_expr(arena, &a), affine_expr(arena, &b)));
    else if (!add_extreme_atom(sum, scale, e->op, a, b))
        sum_add_atom(sum, scale, e);
}

/* min and max: the one that is known to be it, else an atom. */
static void add_extreme(Sum *sum, int64_t scale, Expr *e) {
    Arena *arena = sum->arena;
    Affine a, b, difference, opposite;
    if (!expr_is_exact(e->args[0]) || !expr_is_exact(e->args[1])) {
        sum_add_atom(sum, scale, e);
        return;
    }
    if (!size_affine(arena, e->args[0], &a) || !size_affine(arena, e->args[1], &b) ||
        !affine_sum(arena, &a, 1, &b, -1, &difference)) {
        sum->overflow = true;
        return;
    }
    bool larger = affine_never_negative(arena, &difference, NULL);
    bool smaller = affine_sum(arena, &b, 1, &a, -1, &opposite) && affine_never_negative(arena, &opposite, NULL);
    if (larger || smaller)
        sum_add_affine(sum, scale, larger == (e->op == OP_MAX) ? &a : &b);
    else
        add_undecided(sum, scale, e, a, b);
}

static void add_operator(Sum *sum, int64_t scale, Expr *e) {
    Affine a, b;
    switch (e->op) {
    case OP_ADD:
    case OP_SUB:
        add_expr(sum, scale, e->args[0]);
        add_expr(sum, e->op == OP_ADD ? scale : -scale, e->args[1]);
        break;
    case OP_NEG: add_expr(sum, -scale, e->args[0]); break;
    case OP_MUL:
        if (affine_of_part(sum, e->args[0], &a) && affine_of_part(sum, e->args[1], &b))
            add_product(sum, scale, &a, &b);
        else
            sum->overflow = true;
        break;
    case OP_DIV:
    case OP_MOD: add_quotient(sum, scale, e); break;
    case OP_MIN:
    case OP_MAX: add_extreme(sum, scale, e); break;
    default: sum_add_atom(sum, scale, e);
    }
}

static void add_expr(Sum *sum, int64_t scale, Expr *e) {
    if (e->kind == EXPR_INT)
        sum_add_constant(sum, scale, e->integer);
    else if (e->kind == EXPR_OP)
        add_operator(sum, scale, e);
    else
        sum_add_atom(sum, scale, e);
}

static bool affine_of_part(Sum *of, Expr *e, Affine *affine) {
    Sum sum;
    size_sum_init(&sum, of->arena);
    add_expr(&sum, 1, e);
    of->too_long |= sum.too_long;
    return sum_affine(sum.arena, &sum, affine);
}

bool size_affine(Arena *arena, Expr *e, Affine *affine) {
    Sum whole;
    size_sum_init(&whole, arena);
    return affine_of_part(&whole, e, affine);
}

/* --- operations --- */

bool affine_sum(Arena *arena, const Affine *a, int64_t ka, const Affine *b, int64_t kb, Affine *result) {
    Sum sum;
    size_sum_init(&sum, arena);
    sum_add_affine(&sum, ka, a);
    sum_add_affine(&sum, kb, b);
    return sum_affine(arena, &sum, result);
}

bool affine_times(Arena *arena, const Affine *a, const Affine *b, Affine *product) {
    Sum sum;
    size_sum_init(&sum, arena);
    add_product(&sum, 1, a, b);
    return sum_affine(arena, &sum, product);
}

bool affine_is_constant(const Affine *affine, int64_t *value) {
    *value = affine->constant;
    return affine->count == 0;
}

Affine affine_least(Arena *arena, const Affine *affine) {
    int64_t divisor = affine_divisor(affine);
    if (divisor <= 1)
        return *affine;
    Affine least = {floor_div(affine->constant, divisor), affine->count, ARENA_ARRAY(arena, Term, affine->count)};
    for (int i = 0; i < affine->count; i++)
        least.terms[i] = (Term){affine->terms[i].coefficient / divisor, affine->terms[i].atom};
    return least;
}

bool affine_may_be_zero(const Affine *affine) {
    int64_t divisor = affine_divisor(affine);
    return divisor ? affine->constant % divisor == 0 : affine->constant == 0;
}

/* The product without the variable, which is one of its factors once; NULL: the variable occurs in another way. */
static Expr *without_factor(Arena *arena, const Term *term, const Var *var) {
    Expr **factors;
    int degree = term_factors(arena, term, &factors), kept = 0;
    for (int f = 0; f < degree; f++)
        if (!expr_uses_var(factors[f], var))
            factors[kept++] = factors[f];
        else if (factors[f]->kind != EXPR_VAR)
            return NULL;
    return kept == degree - 1 ? atom_product(arena, factors, kept) : NULL;
}

bool affine_split(Arena *arena, const Affine *affine, const Var *var, Affine *coefficient, Affine *rest) {
    Sum with, without;
    sum_init(&with, arena);
    sum_init(&without, arena);
    sum_add_constant(&without, 1, affine->constant);
    for (int i = 0; i < affine->count; i++) {
        const Term *term = &affine->terms[i];
        if (!expr_uses_var(term->atom, var)) {
            sum_append(&without, *term);
            continue;
        }
        Expr *product = without_factor(arena, term, var);
        if (product == NULL)
            return false;
        if (product->kind == EXPR_INT)
            sum_add_constant(&with, term->coefficient, 1);
        else
            sum_add_atom(&with, term->coefficient, product);
    }
    bool fits = sum_affine(arena, &with, coefficient);
    return sum_affine(arena, &without, rest) && fits;
}

bool affine_replace(Arena *arena, const Affine *affine, int term, const Affine *by, Affine *replaced) {
    Affine alone = {0, 1, &affine->terms[term]}, rest;
    return affine_sum(arena, affine, 1, &alone, -1, &rest) &&
           affine_sum(arena, &rest, 1, by, alone.terms->coefficient, replaced);
}

Expr *size_normal(Arena *arena, Expr *e) {
    Affine affine;
    return size_affine(arena, e, &affine) ? affine_expr(arena, &affine) : e;
}

Expr *size_min(Arena *arena, Expr *a, Expr *b) {
    return size_normal(arena, expr_binary(arena, OP_MIN, a, b));
}

Expr *size_max(Arena *arena, Expr *a, Expr *b) {
    return size_normal(arena, expr_binary(arena, OP_MAX, a, b));
}

bool size_equal(Arena *arena, Expr *a, Expr *b) {
    Affine difference;
    int64_t value;
    return size_affine(arena, expr_binary(arena, OP_SUB, a, b), &difference) &&
           affine_is_constant(&difference, &value) && value == 0;
}

bool size_is_too_long(Arena *arena, Expr *e) {
    Sum sum;
    size_sum_init(&sum, arena);
    add_expr(&sum, 1, e);
    return sum.too_long;
}

/* --- signs --- */

bool affine_never_negative(Arena *arena, const Affine *affine, const AffineList *facts) {
    Sum goal;
    sum_over(&goal, arena, affine);
    return sum_prove_nonnegative(&goal, facts);
}

/* Multiplies by 2 for each size of the product. False where it has other factors, or where this overflows. */
static bool times_real_sizes(const Expr *atom, int64_t *term) {
    if (expr_is_op(atom, OP_MUL))
        return times_real_sizes(atom->args[0], term) && times_real_sizes(atom->args[1], term);
    return atom->kind == EXPR_VAR && atom->var->kind == VAR_SIZE && !__builtin_mul_overflow(*term, 2, term);
}

bool affine_negative_for_real_sizes(const Affine *affine) {
    int64_t value = affine->constant;
    for (int i = 0; i < affine->count; i++) {
        int64_t term = affine->terms[i].coefficient;
        if (term >= 0 || !times_real_sizes(affine->terms[i].atom, &term) || __builtin_add_overflow(value, term, &value))
            return false;
    }
    return affine->count > 0 && value < 0;
}
