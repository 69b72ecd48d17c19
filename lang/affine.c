/* affine.c - affine forms: made of expressions by way of a Sum, asked, computed with, and as expressions again. */
#include "lang/sum.h"
#include "lang/value.h"

enum { FACTOR_LIMIT = 16 };

/* --- divisors ----------------------------------------------------------------------------------------------------- */

static uint64_t magnitude(int64_t value) {
    return value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
}

static uint64_t common_divisor(uint64_t a, uint64_t b) {
    while (b != 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

int64_t greatest_divisor(int64_t a, int64_t b) {
    return a == INT64_MIN || b == INT64_MIN ? 1 : (int64_t)common_divisor(magnitude(a), magnitude(b));
}

int64_t affine_divisor(const Affine *affine) {
    uint64_t divisor = 0;
    for (int i = 0; i < affine->count; i++)
        divisor = common_divisor(divisor, magnitude(affine->terms[i].coefficient));
    return divisor > INT64_MAX ? 1 : (int64_t)divisor;
}

bool affine_may_be_zero(const Affine *affine) {
    int64_t divisor = affine_divisor(affine);
    return divisor ? affine->constant % divisor == 0 : affine->constant == 0;
}

/* --- as expressions ----------------------------------------------------------------------------------------------- */

/* coefficient * atom, coefficients of products as their first factor. */
static Expr *term_expr(Arena *arena, int64_t coefficient, Expr *atom) {
    if (coefficient == 1)
        return atom;
    Expr *factors[FACTOR_LIMIT + 1] = {expr_int(arena, coefficient)};
    return atom_product(arena, factors, 1 + atom_factors(atom, factors + 1, FACTOR_LIMIT));
}

/* Adds to text that begins with a positive term: negative ones are subtracted. */
static Expr *append_expr(Arena *arena, Expr *e, int64_t coefficient, Expr *atom) {
    bool subtract = coefficient < 0 && coefficient != INT64_MIN;
    Expr *term = atom ? term_expr(arena, subtract ? -coefficient : coefficient, atom)
                      : expr_int(arena, subtract ? -coefficient : coefficient);
    return expr_binary(arena, subtract ? OP_SUB : OP_ADD, e, term);
}

/* The first positive term leads, or a positive constant, or else the first term; the others follow in their order. */
Expr *affine_expr(Arena *arena, const Affine *sum) {
    if (sum->count == 0)
        return expr_int(arena, sum->constant);
    int lead = 0;
    while (lead < sum->count && sum->terms[lead].coefficient < 0)
        lead++;
    Expr *e;
    if (lead < sum->count)
        e = term_expr(arena, sum->terms[lead].coefficient, sum->terms[lead].atom);
    else if (sum->constant > 0)
        e = expr_int(arena, sum->constant);
    else if (sum->terms[lead = 0].coefficient == -1)
        e = expr_unary(arena, OP_NEG, sum->terms[0].atom);
    else
        e = term_expr(arena, sum->terms[0].coefficient, sum->terms[0].atom);
    for (int i = 0; i < sum->count; i++)
        if (i != lead)
            e = append_expr(arena, e, sum->terms[i].coefficient, sum->terms[i].atom);
    bool constant_leads = lead == sum->count;
    return constant_leads || sum->constant == 0 ? e : append_expr(arena, e, sum->constant, NULL);
}

/* --- of expressions ----------------------------------------------------------------------------------------------- */

bool expr_affine(Arena *arena, Expr *e, Affine *affine) {
    Sum sum;
    sum_of(&sum, arena, e);
    return sum_affine(arena, &sum, affine);
}

/* Whether it matters that e may wrap: sums and products are the same modulo 2^64. */
static bool divides(const Expr *e) {
    EACH_EXPR(at, e)
        if (expr_is_op(at, OP_DIV) || expr_is_op(at, OP_MOD))
            return true;
    return false;
}

bool expr_affine_modular(Arena *arena, Expr *e, Affine *affine) {
    Sum sum;
    sum_init(&sum, arena);
    sum.modular = divides(e) && !expr_is_exact(e);
    sum_add_index(&sum, 1, e, true);
    if (!sum.modular && !sum.overflow)
        sum_recombine(&sum);
    return sum_affine(arena, &sum, affine);
}

bool size_affine(Arena *arena, Expr *e, Affine *affine) {
    Sum sum;
    sum_of_size(&sum, arena, e);
    return sum_affine(arena, &sum, affine);
}

/* --- asking ------------------------------------------------------------------------------------------------------- */

bool affine_is_zero(const Affine *affine) {
    return affine->count == 0 && affine->constant == 0;
}

bool affine_is_int(const Affine *affine, int64_t *value) {
    if (affine->count != 0)
        return false;
    if (value != NULL)
        *value = affine->constant;
    return true;
}

int affine_term_of(const Affine *affine, const Var *var) {
    for (int i = 0; i < affine->count; i++)
        if (affine->terms[i].atom->kind == EXPR_VAR && affine->terms[i].atom->var == var)
            return i;
    return -1;
}

int64_t affine_slope(const Affine *affine, const Var *var) {
    int term = affine_term_of(affine, var);
    return term < 0 ? 0 : affine->terms[term].coefficient;
}

bool affine_coefficient(const Affine *affine, const Var *var, int64_t *coefficient) {
    *coefficient = 0;
    for (int i = 0; i < affine->count; i++) {
        const Expr *atom = affine->terms[i].atom;
        if (atom->kind == EXPR_VAR && atom->var == var)
            *coefficient = affine->terms[i].coefficient;
        else if (expr_uses_var(atom, var))
            return false;
    }
    return true;
}

/* --- operations --------------------------------------------------------------------------------------------------- */

bool affine_sum(Arena *arena, const Affine *a, int64_t ka, const Affine *b, int64_t kb, Affine *result) {
    Sum sum;
    sum_init_canonical(&sum, arena);
    sum_add_affine(&sum, ka, a);
    sum_add_affine(&sum, kb, b);
    return sum_affine(arena, &sum, result);
}

bool affine_times(Arena *arena, const Affine *a, const Affine *b, Affine *product) {
    Sum sum, left, right;
    sum_init_canonical(&sum, arena);
    sum_over(&left, arena, a);
    sum_over(&right, arena, b);
    sum_add_product(&sum, 1, &left, &right);
    return sum_affine(arena, &sum, product);
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
