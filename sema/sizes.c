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

/* --- terms --- */

int term_factors(Arena *arena, const Term *term, Expr ***factors) {
    int degree = atom_degree(term->atom);
    *factors = ARENA_ARRAY(arena, Expr *, degree);
    return atom_factors(term->atom, *factors, degree);
}

/* --- operations --- */

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
    sum_of_size(&sum, arena, e);
    return sum.too_long;
}

/* --- signs --- */

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
