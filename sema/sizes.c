/* sizes.c - polynomials over sizes and index variables, and what can be said about their sign.
 *
 * Needs lang/sum.h: divisions and proofs are lang's. Sums and products are right modulo 2^64 for all values. What
 * divides or compares is taken apart only where nothing wraps (expr_is_exact). Keeps true: a Poly has no two terms of
 * the same factors and no term of coefficient 0.
 */
#include "sema/sizes.h"
#include "lang/sum.h"

#include <string.h>

typedef struct PolySum {
    Arena *arena;
    int64_t constant;
    LIST(Monomial) terms;
    bool overflow; /* also when there are more than SIZE_TERM_LIMIT terms */
    bool too_long; /* the reason */
} PolySum;

static void add_expr(PolySum *sum, Expr *e, int64_t scale);
static void add_product(PolySum *sum, const Poly *a, const Poly *b, int64_t scale);

/* Of a part of what is added. */
static bool poly_of_part(PolySum *sum, Expr *e, Poly *poly);

/* --- building --- */

/* A total order of factors that depends on the source alone. */
static int compare_factors(const Expr *a, const Expr *b) {
    if (a == b)
        return 0;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->kind == EXPR_VAR)
        return strcmp(a->var->name, b->var->name);
    if (a->kind == EXPR_INT)
        return (a->integer > b->integer) - (a->integer < b->integer);
    if (a->kind == EXPR_OP && a->op != b->op)
        return a->op < b->op ? -1 : 1;
    if (a->count != b->count)
        return a->count < b->count ? -1 : 1;
    for (int i = 0; i < a->count; i++) {
        int order = compare_factors(a->args[i], b->args[i]);
        if (order)
            return order;
    }
    return 0;
}

static bool same_factors(const Monomial *a, int degree, Expr *const *factors) {
    if (a->degree != degree)
        return false;
    for (int i = 0; i < degree; i++)
        if (!expr_equal(a->factors[i], factors[i]))
            return false;
    return true;
}

static void add_constant(PolySum *sum, int64_t value, int64_t scale) {
    int64_t product;
    sum->overflow |= __builtin_mul_overflow(value, scale, &product);
    sum->overflow |= __builtin_add_overflow(sum->constant, product, &sum->constant);
}

static void add_monomial(PolySum *sum, int64_t coefficient, int degree, Expr **factors) {
    if (degree == 0) {
        add_constant(sum, coefficient, 1);
        return;
    }
    for (int i = 0; i < sum->terms.count; i++) {
        Monomial *term = &sum->terms.items[i];
        if (same_factors(term, degree, factors)) {
            sum->overflow |= __builtin_add_overflow(term->coefficient, coefficient, &term->coefficient);
            return;
        }
    }
    sum->too_long |= sum->terms.count >= SIZE_TERM_LIMIT;
    sum->overflow |= sum->too_long;
    if (!sum->overflow)
        list_push(sum->arena, &sum->terms, ((Monomial){coefficient, degree, factors}));
}

static void add_poly(PolySum *sum, const Poly *p, int64_t scale) {
    add_constant(sum, p->constant, scale);
    for (int i = 0; i < p->count; i++) {
        int64_t coefficient;
        sum->overflow |= __builtin_mul_overflow(p->terms[i].coefficient, scale, &coefficient);
        add_monomial(sum, coefficient, p->terms[i].degree, p->terms[i].factors);
    }
}

static bool finish(PolySum *sum, Poly *poly) {
    int kept = 0;
    for (int i = 0; i < sum->terms.count; i++)
        if (sum->terms.items[i].coefficient)
            sum->terms.items[kept++] = sum->terms.items[i];
    *poly = (Poly){sum->constant, kept, sum->terms.items};
    return !sum->overflow;
}

static void add_factor(PolySum *sum, Expr *factor, int64_t scale) {
    Expr **factors = ARENA_ARRAY(sum->arena, Expr *, 1);
    factors[0] = factor;
    add_monomial(sum, scale, 1, factors);
}

static void multiply_into(PolySum *sum, const Monomial *a, const Monomial *b, int64_t scale) {
    Expr **factors = ARENA_ARRAY(sum->arena, Expr *, a->degree + b->degree);
    int count = 0, i = 0, j = 0;
    while (i < a->degree || j < b->degree) {
        bool first = j == b->degree || (i < a->degree && compare_factors(a->factors[i], b->factors[j]) <= 0);
        factors[count++] = first ? a->factors[i++] : b->factors[j++];
    }
    int64_t coefficient;
    sum->overflow |= __builtin_mul_overflow(a->coefficient, b->coefficient, &coefficient);
    sum->overflow |= __builtin_mul_overflow(coefficient, scale, &coefficient);
    add_monomial(sum, coefficient, count, factors);
}

/* A product of factors that are in normal form. */
static bool poly_of_atom(Arena *arena, Expr *atom, Poly *poly) {
    bool product = atom->kind == EXPR_OP && atom->op == OP_MUL;
    PolySum sum = {.arena = arena};
    Poly a, b;
    if (!product)
        add_factor(&sum, atom, 1);
    else if (poly_of_atom(arena, atom->args[0], &a) && poly_of_atom(arena, atom->args[1], &b))
        add_product(&sum, &a, &b, 1);
    return finish(&sum, poly);
}

static void add_product(PolySum *sum, const Poly *a, const Poly *b, int64_t scale) {
    Monomial one = {a->constant, 0, NULL}, other = {b->constant, 0, NULL};
    for (int i = -1; i < a->count && !sum->overflow; i++)
        for (int j = -1; j < b->count && !sum->overflow; j++) {
            const Monomial *left = i < 0 ? &one : &a->terms[i], *right = j < 0 ? &other : &b->terms[j];
            if (left->coefficient && right->coefficient)
                multiply_into(sum, left, right, scale);
        }
}

/* --- divisions and extremes --- */

static Affine affine_of(Arena *arena, const Poly *p) {
    Affine affine = {p->constant, p->count, ARENA_ARRAY(arena, Term, p->count)};
    for (int i = 0; i < p->count; i++)
        affine.terms[i] = (Term){p->terms[i].coefficient, atom_product(arena, p->terms[i].factors, p->terms[i].degree)};
    return affine;
}

/* Adds what lang's rules of division make of it. */
static void add_divided(PolySum *sum, Op op, const Poly *dividend, const Poly *divisor, int64_t scale) {
    Sum a, b, result;
    sum_init(&a, sum->arena);
    sum_init(&b, sum->arena);
    sum_init(&result, sum->arena);
    a.affine = affine_of(sum->arena, dividend);
    b.affine = affine_of(sum->arena, divisor);
    if (op == OP_DIV)
        sum_add_quotient(&result, scale, &a, &b);
    else
        sum_add_remainder(&result, scale, &a, &b);
    sum->overflow |= result.overflow;
    add_constant(sum, result.constant, 1);
    for (int i = 0; i < result.count && !sum->overflow; i++) {
        Poly quotient;
        sum->overflow |= !poly_of_atom(sum->arena, result.terms[i].atom, &quotient);
        add_poly(sum, &quotient, result.terms[i].coefficient);
    }
}

static void add_quotient(PolySum *sum, Expr *e, int64_t scale) {
    Poly dividend, divisor;
    int64_t constant;
    if (!expr_is_exact(e))
        add_factor(sum, e, scale);
    else if (!poly_of_part(sum, e->args[0], &dividend) || !poly_of_part(sum, e->args[1], &divisor))
        sum->overflow = true;
    else if (poly_is_constant(&divisor, &constant) && constant != 0)
        add_divided(sum, e->op, &dividend, &divisor, scale);
    else
        add_factor(
            sum, expr_binary(sum->arena, e->op, poly_expr(sum->arena, &dividend), poly_expr(sum->arena, &divisor)),
            scale);
}

/* min(a + c, b + c) = min(a, b) + c: the larger of the two constants comes out, so that equal things look equal. False
 * where what is left may wrap. */
static bool add_extreme_factor(PolySum *sum, Op op, Poly a, Poly b, int64_t scale) {
    int64_t common = a.constant > b.constant ? a.constant : b.constant;
    if (__builtin_sub_overflow(a.constant, common, &a.constant) ||
        __builtin_sub_overflow(b.constant, common, &b.constant))
        return false;
    Expr *first = poly_expr(sum->arena, &a), *second = poly_expr(sum->arena, &b);
    bool swap = compare_factors(first, second) > 0;
    if (!expr_is_exact(first) || !expr_is_exact(second))
        return false;
    add_factor(sum, expr_binary(sum->arena, op, swap ? second : first, swap ? first : second), scale);
    add_constant(sum, common, scale);
    return true;
}

/* min and max: the one that is known to be it, else a factor. */
static void add_extreme(PolySum *sum, Expr *e, int64_t scale) {
    Poly a, b, difference;
    Arena *arena = sum->arena;
    if (!expr_is_exact(e->args[0]) || !expr_is_exact(e->args[1])) {
        add_factor(sum, e, scale);
        return;
    }
    if (!poly_of(arena, e->args[0], &a) || !poly_of(arena, e->args[1], &b) ||
        !poly_sum(arena, &a, 1, &b, -1, &difference)) {
        sum->overflow = true;
        return;
    }
    Poly opposite;
    bool larger = poly_never_negative(arena, &difference, NULL);
    bool smaller = poly_sum(arena, &difference, -1, &a, 0, &opposite) && poly_never_negative(arena, &opposite, NULL);
    if (larger || smaller)
        add_poly(sum, larger == (e->op == OP_MAX) ? &a : &b, scale);
    else if (!add_extreme_factor(sum, e->op, a, b, scale))
        add_factor(sum, e, scale);
}

static void add_operator(PolySum *sum, Expr *e, int64_t scale) {
    Poly a, b;
    switch (e->op) {
    case OP_ADD:
    case OP_SUB:
        add_expr(sum, e->args[0], scale);
        add_expr(sum, e->args[1], e->op == OP_ADD ? scale : -scale);
        break;
    case OP_NEG: add_expr(sum, e->args[0], -scale); break;
    case OP_MUL:
        if (poly_of_part(sum, e->args[0], &a) && poly_of_part(sum, e->args[1], &b))
            add_product(sum, &a, &b, scale);
        else
            sum->overflow = true;
        break;
    case OP_DIV:
    case OP_MOD: add_quotient(sum, e, scale); break;
    case OP_MIN:
    case OP_MAX: add_extreme(sum, e, scale); break;
    default: add_factor(sum, e, scale);
    }
}

static void add_expr(PolySum *sum, Expr *e, int64_t scale) {
    if (e->kind == EXPR_INT)
        add_constant(sum, e->integer, scale);
    else if (e->kind == EXPR_OP)
        add_operator(sum, e, scale);
    else
        add_factor(sum, e, scale);
}

static bool poly_of_part(PolySum *of, Expr *e, Poly *poly) {
    PolySum sum = {.arena = of->arena};
    add_expr(&sum, e, 1);
    of->too_long |= sum.too_long;
    return finish(&sum, poly);
}

bool poly_of(Arena *arena, Expr *e, Poly *poly) {
    return poly_of_part(&(PolySum){.arena = arena}, e, poly);
}

/* --- operations --- */

bool poly_sum(Arena *arena, const Poly *a, int64_t ka, const Poly *b, int64_t kb, Poly *result) {
    PolySum sum = {.arena = arena};
    if (ka)
        add_poly(&sum, a, ka);
    if (kb)
        add_poly(&sum, b, kb);
    return finish(&sum, result);
}

bool poly_product(Arena *arena, const Poly *a, const Poly *b, Poly *product) {
    PolySum sum = {.arena = arena};
    add_product(&sum, a, b, 1);
    return finish(&sum, product);
}

bool poly_is_constant(const Poly *p, int64_t *value) {
    *value = p->constant;
    return p->count == 0;
}

bool poly_split(Arena *arena, const Poly *p, const Var *var, Poly *coefficient, Poly *rest) {
    PolySum with = {.arena = arena}, without = {.arena = arena, .constant = p->constant};
    for (int i = 0; i < p->count; i++) {
        const Monomial *term = &p->terms[i];
        int place = -1;
        for (int f = 0; f < term->degree; f++)
            if (expr_uses_var(term->factors[f], var)) {
                if (place >= 0 || term->factors[f]->kind != EXPR_VAR)
                    return false;
                place = f;
            }
        if (place < 0) {
            add_monomial(&without, term->coefficient, term->degree, term->factors);
            continue;
        }
        Expr **factors = ARENA_ARRAY(arena, Expr *, term->degree);
        for (int f = 0; f < term->degree - 1; f++)
            factors[f] = term->factors[f + (f >= place)];
        add_monomial(&with, term->coefficient, term->degree - 1, factors);
    }
    bool fits = finish(&with, coefficient);
    return finish(&without, rest) && fits;
}

bool poly_replace(Arena *arena, const Poly *p, int term, const Poly *by, Poly *replaced) {
    PolySum sum = {.arena = arena, .constant = p->constant};
    for (int t = 0; t < p->count; t++)
        if (t != term)
            add_monomial(&sum, p->terms[t].coefficient, p->terms[t].degree, p->terms[t].factors);
    add_poly(&sum, by, p->terms[term].coefficient);
    return finish(&sum, replaced);
}

static Expr *monomial_expr(Arena *arena, const Monomial *term, bool negate) {
    Expr *product = NULL;
    int64_t coefficient = negate ? -term->coefficient : term->coefficient;
    if (coefficient == -1)
        return expr_unary(arena, OP_NEG, monomial_expr(arena, term, !negate));
    if (coefficient != 1)
        product = expr_int(arena, coefficient);
    for (int f = 0; f < term->degree; f++)
        product = product ? expr_binary(arena, OP_MUL, product, term->factors[f]) : term->factors[f];
    return product;
}

/* Begins with a term that is added, so that no expression starts with a minus when that can be helped. */
Expr *poly_expr(Arena *arena, const Poly *poly) {
    int first = 0;
    while (first < poly->count && poly->terms[first].coefficient < 0)
        first++;
    bool constant_first = first == poly->count && (poly->constant > 0 || poly->count == 0);
    if (first == poly->count)
        first = constant_first ? -1 : 0;
    Expr *sum = constant_first ? expr_int(arena, poly->constant) : monomial_expr(arena, &poly->terms[first], false);
    for (int i = 0; i < poly->count; i++) {
        const Monomial *term = &poly->terms[i];
        bool negate = term->coefficient < 0 && term->coefficient != INT64_MIN;
        if (i != first)
            sum = expr_binary(arena, negate ? OP_SUB : OP_ADD, sum, monomial_expr(arena, term, negate));
    }
    if (constant_first || poly->constant == 0)
        return sum;
    bool negate = poly->constant < 0 && poly->constant != INT64_MIN;
    return expr_binary(arena, negate ? OP_SUB : OP_ADD, sum,
                       expr_int(arena, negate ? -poly->constant : poly->constant));
}

Expr *size_normal(Arena *arena, Expr *e) {
    Poly poly;
    return poly_of(arena, e, &poly) ? poly_expr(arena, &poly) : e;
}

Expr *size_min(Arena *arena, Expr *a, Expr *b) {
    return size_normal(arena, expr_binary(arena, OP_MIN, a, b));
}

Expr *size_max(Arena *arena, Expr *a, Expr *b) {
    return size_normal(arena, expr_binary(arena, OP_MAX, a, b));
}

bool size_equal(Arena *arena, Expr *a, Expr *b) {
    Poly p;
    int64_t difference;
    return poly_of(arena, expr_binary(arena, OP_SUB, a, b), &p) && poly_is_constant(&p, &difference) && difference == 0;
}

bool size_is_too_long(Arena *arena, Expr *e) {
    PolySum sum = {.arena = arena};
    add_expr(&sum, e, 1);
    return sum.too_long;
}

/* --- signs --- */

bool poly_never_negative(Arena *arena, const Poly *p, const Polys *facts) {
    Sum goal;
    AffineList known = {0};
    sum_init(&goal, arena);
    goal.affine = affine_of(arena, p);
    for (int i = 0; facts && i < facts->count; i++)
        list_push(arena, &known, affine_of(arena, &facts->items[i]));
    return sum_prove_nonnegative(&goal, &known);
}

bool poly_negative_for_real_sizes(const Poly *p) {
    int64_t value = p->constant;
    for (int i = 0; i < p->count; i++) {
        int64_t term = p->terms[i].coefficient;
        if (term >= 0)
            return false;
        for (int f = 0; f < p->terms[i].degree; f++) {
            const Expr *factor = p->terms[i].factors[f];
            if (factor->kind != EXPR_VAR || factor->var->kind != VAR_SIZE || __builtin_mul_overflow(term, 2, &term))
                return false;
        }
        if (__builtin_add_overflow(value, term, &value))
            return false;
    }
    return p->count > 0 && value < 0;
}
