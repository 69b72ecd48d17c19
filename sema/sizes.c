/* sizes.c - polynomials over sizes and index variables, and what can be said about their sign.
 *
 * Needs the makers of lang/expr.h. Sums and products are right modulo 2^64 for all values; what divides or compares is
 * taken apart only where nothing wraps (expr_is_exact). Keeps true: a Poly has no two terms of the same factors and no term of coefficient
 * 0.
 */
#include "sema/sizes.h"
#include "lang/value.h"

#include <string.h>

typedef struct Sum {
    Arena *arena;
    int64_t constant;
    LIST(Monomial) terms;
    bool overflow; /* also when there are more than SIZE_TERM_LIMIT terms */
    bool too_long; /* the reason */
    bool normal; /* what is added is in normal form: min and max are factors, as was decided when they were made */
} Sum;

static void add_expr(Sum *sum, Expr *e, int64_t scale);

/* Of a part of what is added. */
static bool poly_of_part(Sum *sum, Expr *e, Poly *poly);

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

static void add_constant(Sum *sum, int64_t value, int64_t scale) {
    int64_t product;
    sum->overflow |= __builtin_mul_overflow(value, scale, &product);
    sum->overflow |= __builtin_add_overflow(sum->constant, product, &sum->constant);
}

static void add_monomial(Sum *sum, int64_t coefficient, int degree, Expr **factors) {
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

static void add_poly(Sum *sum, const Poly *p, int64_t scale) {
    add_constant(sum, p->constant, scale);
    for (int i = 0; i < p->count; i++) {
        int64_t coefficient;
        sum->overflow |= __builtin_mul_overflow(p->terms[i].coefficient, scale, &coefficient);
        add_monomial(sum, coefficient, p->terms[i].degree, p->terms[i].factors);
    }
}

static bool finish(Sum *sum, Poly *poly) {
    int kept = 0;
    for (int i = 0; i < sum->terms.count; i++)
        if (sum->terms.items[i].coefficient)
            sum->terms.items[kept++] = sum->terms.items[i];
    *poly = (Poly){sum->constant, kept, sum->terms.items};
    return !sum->overflow;
}

static void add_factor(Sum *sum, Expr *factor, int64_t scale) {
    Expr **factors = ARENA_ARRAY(sum->arena, Expr *, 1);
    factors[0] = factor;
    add_monomial(sum, scale, 1, factors);
}

static void multiply_into(Sum *sum, const Monomial *a, const Monomial *b, int64_t scale) {
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

static void add_product(Sum *sum, const Poly *a, const Poly *b, int64_t scale) {
    Monomial one = {a->constant, 0, NULL}, other = {b->constant, 0, NULL};
    for (int i = -1; i < a->count && !sum->overflow; i++)
        for (int j = -1; j < b->count && !sum->overflow; j++) {
            const Monomial *left = i < 0 ? &one : &a->terms[i], *right = j < 0 ? &other : &b->terms[j];
            if (left->coefficient && right->coefficient)
                multiply_into(sum, left, right, scale);
        }
}

/* --- divisions: floor((k*q + r) / k) = q + floor(r / k) --- */

/* Parts p into k * whole + rest, 0 <= rest.constant < k. */
static bool part_by(Arena *arena, const Poly *p, int64_t k, Poly *whole, Poly *rest) {
    Sum wholes = {.arena = arena}, rests = {.arena = arena};
    wholes.constant = floor_div(p->constant, k);
    rests.constant = p->constant - wholes.constant * k;
    for (int i = 0; i < p->count; i++) {
        const Monomial *term = &p->terms[i];
        bool divides = term->coefficient % k == 0;
        add_monomial(divides ? &wholes : &rests, divides ? term->coefficient / k : term->coefficient, term->degree,
                     term->factors);
    }
    bool fits = finish(&wholes, whole);
    return finish(&rests, rest) && fits;
}

static void add_division(Sum *sum, const Poly *p, int64_t k, int64_t scale) {
    Poly whole, rest;
    sum->overflow |= !part_by(sum->arena, p, k, &whole, &rest);
    add_poly(sum, &whole, scale);
    if (rest.count == 0)
        return;
    int64_t common = k;
    for (int i = 0; i < rest.count; i++)
        common = greatest_divisor(rest.terms[i].coefficient, common);
    Poly reduced = {rest.constant / common, rest.count, ARENA_ARRAY(sum->arena, Monomial, rest.count)};
    for (int i = 0; i < rest.count; i++) {
        reduced.terms[i] = rest.terms[i];
        reduced.terms[i].coefficient /= common;
    }
    Expr *numerator = poly_expr(sum->arena, &reduced);
    add_factor(sum, expr_binary(sum->arena, OP_DIV, numerator, expr_int(sum->arena, k / common)), scale);
}

static void add_modulo(Sum *sum, const Poly *p, int64_t k, int64_t scale) {
    Poly whole, rest;
    sum->overflow |= !part_by(sum->arena, p, k, &whole, &rest);
    if (rest.count == 0)
        add_constant(sum, rest.constant, scale);
    else
        add_factor(sum, expr_binary(sum->arena, OP_MOD, poly_expr(sum->arena, &rest), expr_int(sum->arena, k)), scale);
}

static void add_quotient(Sum *sum, Expr *e, int64_t scale) {
    Poly numerator, divisor;
    if (!expr_is_exact(e)) {
        add_factor(sum, e, scale);
        return;
    }
    if (!poly_of_part(sum, e->args[0], &numerator) || !poly_of_part(sum, e->args[1], &divisor)) {
        sum->overflow = true;
        return;
    }
    int64_t k;
    if (poly_is_constant(&divisor, &k) && k > 0) {
        (e->op == OP_DIV ? add_division : add_modulo)(sum, &numerator, k, scale);
        return;
    }
    Expr *made = expr_binary(sum->arena, e->op, poly_expr(sum->arena, &numerator), poly_expr(sum->arena, &divisor));
    if (made->kind == EXPR_INT)
        add_constant(sum, made->integer, scale);
    else
        add_factor(sum, made, scale);
}

/* min(a + c, b + c) = min(a, b) + c: the larger of the two constants comes out, so that equal things look equal. False
 * where what is left may wrap. */
static bool add_extreme_factor(Sum *sum, Op op, Poly a, Poly b, int64_t scale) {
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
static void add_extreme(Sum *sum, Expr *e, int64_t scale) {
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

static void add_operator(Sum *sum, Expr *e, int64_t scale) {
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
    case OP_MAX:
        if (sum->normal)
            add_factor(sum, e, scale);
        else
            add_extreme(sum, e, scale);
        break;
    default: add_factor(sum, e, scale);
    }
}

static void add_expr(Sum *sum, Expr *e, int64_t scale) {
    if (e->kind == EXPR_INT)
        add_constant(sum, e->integer, scale);
    else if (e->kind == EXPR_OP)
        add_operator(sum, e, scale);
    else
        add_factor(sum, e, scale);
}

static bool poly_of_part(Sum *of, Expr *e, Poly *poly) {
    Sum sum = {.arena = of->arena, .normal = of->normal};
    add_expr(&sum, e, 1);
    of->too_long |= sum.too_long;
    return finish(&sum, poly);
}

bool poly_of(Arena *arena, Expr *e, Poly *poly) {
    return poly_of_part(&(Sum){.arena = arena}, e, poly);
}

/* Of an operand of a factor, which is in normal form: no search is begun inside of a search. */
static bool poly_of_normal(Arena *arena, Expr *e, Poly *poly) {
    return poly_of_part(&(Sum){.arena = arena, .normal = true}, e, poly);
}

/* --- operations --- */

bool poly_sum(Arena *arena, const Poly *a, int64_t ka, const Poly *b, int64_t kb, Poly *result) {
    Sum sum = {.arena = arena};
    if (ka)
        add_poly(&sum, a, ka);
    if (kb)
        add_poly(&sum, b, kb);
    return finish(&sum, result);
}

bool poly_product(Arena *arena, const Poly *a, const Poly *b, Poly *product) {
    Sum sum = {.arena = arena};
    add_product(&sum, a, b, 1);
    return finish(&sum, product);
}

bool poly_is_constant(const Poly *p, int64_t *value) {
    *value = p->constant;
    return p->count == 0;
}

bool poly_split(Arena *arena, const Poly *p, const Var *var, Poly *coefficient, Poly *rest) {
    Sum with = {.arena = arena}, without = {.arena = arena, .constant = p->constant};
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
    Sum sum = {.arena = arena};
    add_expr(&sum, e, 1);
    return sum.too_long;
}

/* --- signs --- */

static bool is_constant_above(const Expr *e, int64_t limit) {
    int64_t value;
    return expr_is_int(e, &value) && value > limit;
}

static bool is_size(const Expr *e) {
    return e->kind == EXPR_VAR && e->var->kind == VAR_SIZE;
}

static bool factor_never_negative(Arena *arena, Expr *e) {
    if (e->kind == EXPR_VAR)
        return e->var->kind == VAR_SIZE || (e->var->kind == VAR_AXIS && e->var->extent);
    if (e->kind == EXPR_INT)
        return e->integer >= 0;
    if (e->kind != EXPR_OP)
        return false;
    Poly numerator;
    switch (e->op) {
    case OP_MOD: return is_constant_above(e->args[1], 0);
    case OP_DIV: /* by a size: where it is 0 nothing is computed */
        return (is_constant_above(e->args[1], 0) || is_size(e->args[1])) && poly_of_normal(arena, e->args[0], &numerator) &&
               poly_never_negative(arena, &numerator, NULL);
    case OP_MIN: return factor_never_negative(arena, e->args[0]) && factor_never_negative(arena, e->args[1]);
    case OP_MAX: return factor_never_negative(arena, e->args[0]) || factor_never_negative(arena, e->args[1]);
    default: return false;
    }
}

static bool term_never_negative(Arena *arena, const Monomial *term) {
    for (int f = 0; f < term->degree; f++)
        if (!factor_never_negative(arena, term->factors[f]))
            return false;
    return true;
}

static bool plainly_never_negative(Arena *arena, const Poly *p) {
    if (p->constant < 0)
        return false;
    for (int i = 0; i < p->count; i++)
        if (p->terms[i].coefficient < 0 || !term_never_negative(arena, &p->terms[i]))
            return false;
    return true;
}

typedef struct Search {
    Arena *arena;
    const Polys *facts;
    int steps; /* left: the search gives up, it never hangs */
} Search;

static bool search(Search *s, const Poly *p, int depth);

/* p with term i replaced by coefficient * by. */
static bool replace_term(Arena *arena, const Poly *p, int i, int64_t coefficient, const Poly *by, Poly *replaced) {
    Sum sum = {.arena = arena};
    for (int t = 0; t < p->count; t++)
        if (t != i)
            add_monomial(&sum, p->terms[t].coefficient, p->terms[t].degree, p->terms[t].factors);
    add_constant(&sum, p->constant, 1);
    add_poly(&sum, by, coefficient);
    return finish(&sum, replaced);
}

bool poly_replace(Arena *arena, const Poly *p, int term, const Poly *by, Poly *replaced) {
    return replace_term(arena, p, term, p->terms[term].coefficient, by, replaced);
}

/* c * min(a, b) is at least c*a where c < 0 (either will do), and the smaller of both where c > 0 (both must do). */
static bool search_extreme(Search *s, const Poly *p, int i, int depth) {
    const Monomial *term = &p->terms[i];
    const Expr *e = term->factors[0];
    bool either = (term->coefficient < 0) == (e->op == OP_MIN);
    for (int a = 0; a < 2; a++) {
        Poly by, replaced;
        bool holds = poly_of_normal(s->arena, e->args[a], &by) &&
                     replace_term(s->arena, p, i, term->coefficient, &by, &replaced) && search(s, &replaced, depth + 1);
        if (holds == either)
            return holds;
    }
    return !either;
}

/* x - k + 1 <= k * floor(x / k) <= x. */
static bool search_division(Search *s, const Poly *p, int i, int depth) {
    const Monomial *term = &p->terms[i];
    const Expr *e = term->factors[0];
    int64_t k;
    if (!expr_is_int(e->args[1], &k) || k <= 0)
        return false;
    Poly scaled, x, by, replaced;
    if (!poly_sum(s->arena, p, k, p, 0, &scaled) || !poly_of_normal(s->arena, e->args[0], &x))
        return false;
    Poly slack = {term->coefficient > 0 ? 1 - k : 0, 0, NULL};
    return poly_sum(s->arena, &x, 1, &slack, 1, &by) &&
           replace_term(s->arena, &scaled, i, term->coefficient, &by, &replaced) && search(s, &replaced, depth + 1);
}

/* x % k where its coefficient is negative: at most k - 1. */
static bool search_modulo(Search *s, const Poly *p, int i, int depth) {
    const Monomial *term = &p->terms[i];
    int64_t k;
    if (!expr_is_int(term->factors[0]->args[1], &k) || k <= 0)
        return false;
    Poly by = {k - 1, 0, NULL}, replaced;
    return replace_term(s->arena, p, i, term->coefficient, &by, &replaced) && search(s, &replaced, depth + 1);
}

/* y - x + 1 <= x * floor(y / x) <= y. */
static bool search_multiple(Search *s, const Poly *p, int i, int depth) {
    const Monomial *term = &p->terms[i];
    for (int f = 0; f < 2; f++) {
        Expr *x = term->factors[f], *e = term->factors[1 - f];
        Poly y, size, by, replaced, one = {1, 0, NULL};
        if (!is_size(x) || e->kind != EXPR_OP || e->op != OP_DIV || !expr_equal(e->args[1], x) ||
            !poly_of_normal(s->arena, e->args[0], &y) || !poly_of_normal(s->arena, x, &size))
            continue;
        by = y;
        if (term->coefficient > 0 &&
            (!poly_sum(s->arena, &y, 1, &size, -1, &by) || !poly_sum(s->arena, &by, 1, &one, 1, &by)))
            return false;
        return replace_term(s->arena, p, i, term->coefficient, &by, &replaced) && search(s, &replaced, depth + 1);
    }
    return false;
}

static bool search_term(Search *s, const Poly *p, int i, int depth) {
    const Monomial *term = &p->terms[i];
    const Expr *factor = term->factors[0];
    if (term->degree == 2)
        return search_multiple(s, p, i, depth);
    if (term->degree != 1 || factor->kind != EXPR_OP)
        return false;
    if (factor->op == OP_MIN || factor->op == OP_MAX)
        return search_extreme(s, p, i, depth);
    if (factor->op == OP_DIV)
        return search_division(s, p, i, depth);
    return factor->op == OP_MOD && term->coefficient < 0 && search_modulo(s, p, i, depth);
}

static const Monomial *find_term(const Poly *p, const Monomial *like) {
    for (int i = 0; i < p->count; i++)
        if (same_factors(&p->terms[i], like->degree, like->factors))
            return &p->terms[i];
    return NULL;
}

/* Takes off multiples of facts that cancel the i-th term, which is in the way. */
static bool search_facts(Search *s, const Poly *p, int i, int depth) {
    for (int f = 0; s->facts && f < s->facts->count; f++) {
        const Poly *fact = &s->facts->items[f];
        const Monomial *term = i < 0 ? NULL : find_term(fact, &p->terms[i]);
        int64_t there = i < 0 ? fact->constant : term ? term->coefficient : 0;
        int64_t here = i < 0 ? p->constant : p->terms[i].coefficient;
        if (there >= 0 || here >= 0 || here == INT64_MIN || there == INT64_MIN)
            continue;
        int64_t common = greatest_divisor(here, there);
        Poly rest;
        if (poly_sum(s->arena, p, -there / common, fact, here / common, &rest) && search(s, &rest, depth + 1))
            return true;
    }
    return false;
}

static bool search(Search *s, const Poly *p, int depth) {
    enum { DEPTH_LIMIT = 6 };
    if (plainly_never_negative(s->arena, p))
        return true;
    if (depth >= DEPTH_LIMIT || s->steps <= 0)
        return false;
    s->steps -= 1 + p->count * p->count / 256; /* each term is compared with all others */
    for (int i = 0; i < p->count; i++)
        if (search_term(s, p, i, depth))
            return true;
    for (int i = 0; i < p->count; i++)
        if (p->terms[i].coefficient < 0)
            return search_facts(s, p, i, depth);
    return search_facts(s, p, -1, depth);
}

bool poly_never_negative(Arena *arena, const Poly *p, const Polys *facts) {
    enum { STEP_LIMIT = 500 };
    Search s = {arena, facts, STEP_LIMIT};
    return search(&s, p, 0);
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
