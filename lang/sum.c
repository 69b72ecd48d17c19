/* sum.c - sums of integer terms: collecting, multiplying out, and the sums that expressions are.
 *
 * Needs divide.c for quotients, minima.c for minima and maxima, and expr_simplify for the parts that are no sums. Keeps
 * the invariants of sum.h. Nothing here is more than quadratic in the number of terms of one sum, and products are cut
 * off by SUM_PRODUCT_LIMIT.
 */
#include "lang/sum.h"

#include <string.h>

enum { FACTOR_LIMIT = 16 };

void sum_init(Sum *sum, Arena *arena) {
    sum->arena = arena;
    sum->limits = NULL;
    sum->overflow = sum->modular = sum->canonical = sum->too_long = false;
    sum->constant = 0;
    sum->count = 0;
    sum->capacity = SUM_INLINE;
    sum->terms = sum->few;
}

void sum_over(Sum *sum, Arena *arena, const Affine *affine) {
    sum_init(sum, arena);
    sum->affine = *affine;
}

static void take_marks(Sum *sum, const Sum *part) {
    sum->overflow |= part->overflow;
    sum->too_long |= part->too_long;
}

void sum_add_constant(Sum *sum, int64_t coefficient, int64_t constant) {
    int64_t product;
    sum->overflow |= __builtin_mul_overflow(coefficient, constant, &product) ||
                     __builtin_add_overflow(sum->constant, product, &sum->constant);
}

/* --- atoms -------------------------------------------------------------------------------------------------------- */

static bool is_sum_like(const Expr *e) {
    return e->kind == EXPR_INT || expr_is_op(e, OP_ADD) || expr_is_op(e, OP_SUB) || expr_is_op(e, OP_NEG);
}

/* A product of sums that was too long to be multiplied out is one factor. */
static bool is_product(const Expr *atom) {
    return expr_is_op(atom, OP_MUL) && !is_sum_like(atom->args[0]) && !is_sum_like(atom->args[1]);
}

int atom_degree(Expr *atom) {
    return is_product(atom) ? atom_degree(atom->args[0]) + atom_degree(atom->args[1]) : 1;
}

int atom_factors(Expr *atom, Expr **factors, int limit) {
    if (limit > 1 && is_product(atom)) {
        int count = atom_factors(atom->args[0], factors, limit - 1);
        return count + atom_factors(atom->args[1], factors + count, limit - count);
    }
    factors[0] = atom;
    return 1;
}

int term_factors(Arena *arena, const Term *term, Expr ***factors) {
    int degree = atom_degree(term->atom);
    *factors = ARENA_ARRAY(arena, Expr *, degree);
    return atom_factors(term->atom, *factors, degree);
}

Expr *atom_product(Arena *arena, Expr *const *factors, int count) {
    Expr *product = count ? factors[0] : expr_int(arena, 1);
    for (int i = 1; i < count; i++)
        product = expr_binary(arena, OP_MUL, product, factors[i]);
    return product;
}

/* The last factor stands in the place of that one. */
Expr *atom_product_without(Arena *arena, Expr *const *factors, int count, int left_out) {
    Expr *others[count];
    memcpy(others, factors, sizeof others);
    others[left_out] = others[count - 1];
    return atom_product(arena, others, count - 1);
}

int atom_compare(const Expr *a, const Expr *b) {
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
        int order = atom_compare(a->args[i], b->args[i]);
        if (order)
            return order;
    }
    return 0;
}

/* The product of two atoms, its factors in their order. */
static Expr *sorted_product(Arena *arena, Expr *a, Expr *b) {
    int degree = atom_degree(a), count = degree + atom_degree(b);
    Expr **factors = ARENA_ARRAY(arena, Expr *, count);
    atom_factors(a, factors, degree);
    atom_factors(b, factors + degree, count - degree);
    for (int i = 1; i < count; i++) {
        Expr *factor = factors[i];
        int place = i;
        for (; place > 0 && atom_compare(factors[place - 1], factor) > 0; place--)
            factors[place] = factors[place - 1];
        factors[place] = factor;
    }
    return atom_product(arena, factors, count);
}

bool atom_is_loop(const Expr *atom) {
    return atom->kind == EXPR_VAR && (atom->var->kind == VAR_AXIS || atom->var->kind == VAR_LOOP) && atom->var->extent;
}

static bool same_factors(Expr *a, Expr *b) {
    Expr *of_a[FACTOR_LIMIT], *of_b[FACTOR_LIMIT];
    int count = atom_factors(a, of_a, FACTOR_LIMIT), left = atom_factors(b, of_b, FACTOR_LIMIT);
    if (count != left)
        return false;
    for (int i = 0; i < count; i++) {
        int found = 0;
        while (found < left && !expr_equal(of_a[i], of_b[found]))
            found++;
        if (found == left)
            return false;
        of_b[found] = of_b[--left];
    }
    return true;
}

bool atom_equal(Expr *a, Expr *b) {
    if (a == b)
        return true;
    if (a->kind != b->kind)
        return false;
    if (a->kind == EXPR_VAR)
        return a->var == b->var;
    return expr_equal(a, b) || (expr_is_op(a, OP_MUL) && expr_is_op(b, OP_MUL) && same_factors(a, b));
}

/* --- adding ------------------------------------------------------------------------------------------------------- */

static void reserve(Sum *sum, int count) {
    if (count <= sum->capacity)
        return;
    sum->capacity = 2 * count;
    Term *terms = ARENA_ARRAY(sum->arena, Term, sum->capacity);
    memcpy(terms, sum->terms, sizeof *terms * (size_t)sum->count);
    sum->terms = terms;
}

void sum_append(Sum *sum, Term term) {
    sum->too_long |= sum->canonical && sum->count == SUM_TERM_LIMIT;
    sum->overflow |= sum->too_long;
    if (sum->too_long)
        return;
    reserve(sum, sum->count + 1);
    sum->terms[sum->count++] = term;
}

void sum_add_atom(Sum *sum, int64_t coefficient, Expr *atom) {
    if (coefficient == 0)
        return;
    for (int i = 0; i < sum->count; i++) {
        Term *term = &sum->terms[i];
        if (term->atom != atom && !atom_equal(term->atom, atom))
            continue;
        sum->overflow |= __builtin_add_overflow(term->coefficient, coefficient, &term->coefficient);
        if (term->coefficient == 0)
            memmove(term, term + 1, sizeof *term * (size_t)(--sum->count - i));
        return;
    }
    sum_append(sum, (Term){coefficient, atom});
}

static int64_t scaled(Sum *sum, int64_t a, int64_t b) {
    int64_t product;
    sum->overflow |= __builtin_mul_overflow(a, b, &product);
    return product;
}

/* What is empty takes the terms as they are: each atom is there once. */
static void take_terms(Sum *sum, int64_t coefficient, const Affine *other) {
    reserve(sum, other->count);
    sum->count = other->count;
    memcpy(sum->terms, other->terms, sizeof *sum->terms * (size_t)other->count);
    for (int i = 0; i < other->count && coefficient != 1; i++)
        sum->terms[i].coefficient = scaled(sum, coefficient, sum->terms[i].coefficient);
}

void sum_add_affine(Sum *sum, int64_t coefficient, const Affine *other) {
    sum_add_constant(sum, coefficient, other->constant);
    if (other->count == 0 || coefficient == 0)
        return;
    if (sum->count == 0) {
        take_terms(sum, coefficient, other);
        return;
    }
    for (int i = 0; i < other->count; i++)
        sum_add_atom(sum, scaled(sum, coefficient, other->terms[i].coefficient), other->terms[i].atom);
}

void sum_add(Sum *sum, int64_t coefficient, const Sum *other) {
    take_marks(sum, other);
    sum_add_affine(sum, coefficient, &other->affine);
}

/* Whether atom_product would make the same of its factors. */
static bool is_made_of_factors(const Expr *atom) {
    int count = 1;
    for (; is_product(atom); atom = atom->args[0])
        if (++count >= FACTOR_LIMIT || is_product(atom->args[1]))
            return false;
    return true;
}

static void add_atom_product(Sum *sum, int64_t coefficient, Expr *a, Expr *b) {
    if (sum->canonical) {
        sum_add_atom(sum, coefficient, sorted_product(sum->arena, a, b));
        return;
    }
    if (!is_product(b) && is_made_of_factors(a)) {
        sum_add_atom(sum, coefficient, expr_binary(sum->arena, OP_MUL, a, b));
        return;
    }
    Expr *factors[2 * FACTOR_LIMIT];
    int count = atom_factors(a, factors, FACTOR_LIMIT);
    count += atom_factors(b, factors + count, FACTOR_LIMIT);
    sum_add_atom(sum, coefficient, atom_product(sum->arena, factors, count));
}

static bool is_long_product(const Sum *a, const Sum *b) {
    return a->count && b->count &&
           (a->count + (a->constant != 0)) * (b->count + (b->constant != 0)) > SUM_PRODUCT_LIMIT;
}

/* Where the order is canonical what has fewer factors comes first. */
static void add_term_product(Sum *sum, int64_t coefficient, Term a, const Sum *b) {
    int64_t factor = scaled(sum, coefficient, a.coefficient);
    if (sum->canonical)
        sum_add_atom(sum, scaled(sum, factor, b->constant), a.atom);
    for (int j = 0; j < b->count && !sum->overflow; j++)
        add_atom_product(sum, scaled(sum, factor, b->terms[j].coefficient), a.atom, b->terms[j].atom);
    if (!sum->canonical)
        sum_add_atom(sum, scaled(sum, factor, b->constant), a.atom);
}

void sum_add_product(Sum *sum, int64_t coefficient, const Sum *a, const Sum *b) {
    take_marks(sum, a);
    take_marks(sum, b);
    if (sum->overflow)
        return;
    if (!sum->canonical && is_long_product(a, b)) {
        sum_add_atom(sum, coefficient, expr_binary(sum->arena, OP_MUL, sum_expr(a), sum_expr(b)));
        return;
    }
    if (sum->canonical)
        sum_add(sum, scaled(sum, coefficient, a->constant), b);
    for (int i = 0; i < a->count; i++)
        add_term_product(sum, coefficient, a->terms[i], b);
    if (!sum->canonical)
        sum_add(sum, scaled(sum, coefficient, a->constant), b);
}

/* --- x / c * c + x % c is x --------------------------------------------------------------------------------------- */

static bool has_terms(const Sum *sum, const Sum *part) {
    for (int i = 0; i < part->count; i++) {
        bool found = false;
        for (int j = 0; j < sum->count && !found; j++)
            found = sum->terms[j].coefficient == part->terms[i].coefficient &&
                    atom_equal(sum->terms[j].atom, part->terms[i].atom);
        if (!found)
            return false;
    }
    return part->count > 0;
}

/* Joins the modulo that is term i, dividend % divisor, with its quotient over / by, where the sum has that too. */
static bool recombine_quotient(Sum *sum, int i, const Sum *dividend, const Sum *divisor, const Sum *over,
                               const Sum *by) {
    int64_t coefficient = sum->terms[i].coefficient;
    Sum quotient, product;
    sum_init(&quotient, sum->arena);
    sum_init(&product, sum->arena);
    sum_add_quotient(&quotient, 1, over, by);
    sum_add_product(&product, coefficient, &quotient, divisor);
    if (product.overflow || !has_terms(sum, &product))
        return false;
    sum_add_atom(sum, -coefficient, sum->terms[i].atom);
    sum_add(sum, -1, &product);
    sum_add(sum, coefficient, dividend);
    return true;
}

/* (y / a + r) / c as (y + a*r) / (a*c), the form that it has where y was divided at once. */
static bool unnest(const Sum *dividend, const Sum *divisor, Sum *over, Sum *by) {
    sum_init(over, dividend->arena);
    sum_init(by, dividend->arena);
    for (int i = 0; i < dividend->count && divisor->count == 0; i++) {
        Expr *atom = dividend->terms[i].atom;
        int64_t a;
        if (dividend->terms[i].coefficient != 1 || !expr_is_op(atom, OP_DIV) || !expr_is_int(atom->args[1], &a) ||
            a <= 0)
            continue;
        sum_add(over, a, dividend);
        sum_add_atom(over, -a, atom);
        sum_add_expr(over, 1, atom->args[0], false);
        sum_add(by, a, divisor);
        return !over->overflow && !by->overflow;
    }
    return false;
}

static bool recombine_term(Sum *sum, int i) {
    const Expr *modulo = sum->terms[i].atom;
    Sum dividend, divisor, over, by;
    sum_init(&dividend, sum->arena);
    sum_init(&divisor, sum->arena);
    sum_add_expr(&dividend, 1, modulo->args[0], false);
    sum_add_expr(&divisor, 1, modulo->args[1], false);
    return recombine_quotient(sum, i, &dividend, &divisor, &dividend, &divisor) ||
           (unnest(&dividend, &divisor, &over, &by) && recombine_quotient(sum, i, &dividend, &divisor, &over, &by));
}

void sum_recombine(Sum *sum) {
    for (int i = 0; i < sum->count && !sum->overflow; i++)
        if (expr_is_op(sum->terms[i].atom, OP_MOD) && sum->count > 1 && sum->terms[i].coefficient != INT64_MIN &&
            recombine_term(sum, i))
            i = -1;
}

/* --- expressions -------------------------------------------------------------------------------------------------- */

/* Whether the dividend would change its sign, which the smallest number cannot. */
static bool turns_sign(const Sum *sum, const Sum *divisor, Expr *dividend) {
    return divisor->count == 0 && divisor->constant < 0 && !expr_is_exact(expr_unary(sum->arena, OP_NEG, dividend));
}

/* The sum that an argument of e is. What is divided is exact. */
static void add_operand(Sum *operand, Sum *sum, const Expr *e, int argument, bool simplify) {
    sum_init(operand, sum->arena);
    operand->canonical = sum->canonical;
    operand->modular = sum->modular && e->op == OP_MUL;
    sum_add_index(operand, 1, e->args[argument], simplify);
    if (simplify && !operand->canonical && !operand->modular)
        sum_recombine(operand);
    take_marks(sum, operand);
}

/* A product, quotient or modulo of the two arguments. */
static void add_combination(Sum *sum, int64_t coefficient, Expr *e, bool simplify) {
    Sum a, b;
    add_operand(&a, sum, e, 0, simplify);
    add_operand(&b, sum, e, 1, simplify);
    if (sum->overflow)
        return;
    if (e->op == OP_MUL)
        sum_add_product(sum, coefficient, &a, &b);
    else if (turns_sign(sum, &b, e->args[0]))
        sum_add_atom(sum, coefficient, e);
    else if (e->op == OP_DIV)
        sum_add_quotient(sum, coefficient, &a, &b);
    else
        sum_add_remainder(sum, coefficient, &a, &b);
}

bool var_is_fixed(const Var *var) {
    int64_t extent;
    return (var->kind == VAR_AXIS || var->kind == VAR_LOOP) && var->extent && expr_is_int(var->extent, &extent) &&
           extent <= 1;
}

/* What is an atom, once it is simplified. */
static void add_opaque(Sum *sum, int64_t coefficient, Expr *e, bool simplify) {
    if (simplify && !sum->canonical)
        sum_add_index(sum, coefficient, expr_simplify(sum->arena, e), false);
    else
        sum_add_atom(sum, coefficient, e);
}

static void add_op(Sum *sum, int64_t coefficient, Expr *e, bool simplify) {
    switch (e->op) {
    case OP_ADD:
        sum_add_index(sum, coefficient, e->args[0], simplify);
        sum_add_index(sum, coefficient, e->args[1], simplify);
        return;
    case OP_SUB:
        sum_add_index(sum, coefficient, e->args[0], simplify);
        sum_add_index(sum, scaled(sum, coefficient, -1), e->args[1], simplify);
        return;
    case OP_NEG: sum_add_index(sum, scaled(sum, coefficient, -1), e->args[0], simplify); return;
    case OP_MUL: add_combination(sum, coefficient, e, simplify); return;
    case OP_DIV:
    case OP_MOD:
        if (simplify && (!sum->modular || expr_is_exact(e))) {
            add_combination(sum, coefficient, e, simplify);
            return;
        }
        break;
    case OP_MIN:
    case OP_MAX:
        if (sum->canonical) {
            sum_add_extreme(sum, coefficient, e);
            return;
        }
        break;
    default: break;
    }
    add_opaque(sum, coefficient, e, simplify);
}

void sum_add_index(Sum *sum, int64_t coefficient, Expr *e, bool simplify) {
    if (e->kind == EXPR_INT)
        sum_add_constant(sum, coefficient, e->integer);
    else if (e->kind == EXPR_VAR)
        sum_add_atom(sum, var_is_fixed(e->var) && !sum->canonical ? 0 : coefficient, e);
    else if (e->kind == EXPR_OP && e->lanes == 1)
        add_op(sum, coefficient, e, simplify);
    else
        add_opaque(sum, coefficient, e, simplify);
}

void sum_add_expr(Sum *sum, int64_t coefficient, Expr *e, bool simplify) {
    sum->overflow |= e->kind == EXPR_OP && !expr_is_exact(e);
    if (!sum->overflow)
        sum_add_index(sum, coefficient, e, simplify);
}

void sum_of(Sum *sum, Arena *arena, Expr *e) {
    sum_init(sum, arena);
    sum_add_expr(sum, 1, e, true);
    if (!sum->overflow)
        sum_recombine(sum);
}

void sum_init_canonical(Sum *sum, Arena *arena) {
    sum_init(sum, arena);
    sum->canonical = sum->modular = true;
}

void sum_of_size(Sum *sum, Arena *arena, Expr *e) {
    sum_init_canonical(sum, arena);
    sum_add_index(sum, 1, e, true);
}

Expr *sum_expr(const Sum *sum) {
    return affine_expr(sum->arena, &sum->affine);
}

bool sum_affine(Arena *arena, const Sum *sum, Affine *affine) {
    affine->constant = sum->constant;
    affine->count = sum->count;
    affine->terms = ARENA_ARRAY(arena, Term, sum->count);
    memcpy(affine->terms, sum->terms, sizeof *sum->terms * (size_t)sum->count);
    return !sum->overflow;
}
