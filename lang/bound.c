/* bound.c - what a sum can be at least and at most, and whether it is ever negative: the quick half of the prover.
 *
 * The intervals of its atoms come first. Then loops and axes go to the ends of their extents, which may be symbolic,
 * and so do products, quotients, remainders, minima and maxima that hold them; then c * (x / c) becomes x. Facts and
 * cases are for prove.c. Each atom is bounded by itself: the sum of the bounds is a bound of the sum. Where arithmetic
 * overflows the answer is "not known".
 */
#include "lang/random.h"
#include "lang/sum.h"
#include "lang/value.h"

enum { POINTS = 4 /* that are tried */ };
enum { FACTOR_LIMIT = 16, ROUND_LIMIT = 4 /* an extent may name other loops: these suffice for what is met */ };

bool expr_is_over_sizes(const Expr *e) {
    bool over = e->kind != EXPR_READ && (e->kind != EXPR_VAR || e->var->kind == VAR_SIZE);
    for (int i = 0; i < e->count && over; i++)
        over = expr_is_over_sizes(e->args[i]);
    return over;
}

bool affine_is_over_sizes(const Affine *affine) {
    for (int i = 0; i < affine->count; i++)
        if (!expr_is_over_sizes(affine->terms[i].atom))
            return false;
    return true;
}

/* Adds factor * end to one end of a sum, as long as that is known. */
static void add_end(bool *known, int64_t *sum, bool has_end, int64_t end, int64_t factor) {
    int64_t product = 0;
    *known = *known && has_end && !__builtin_mul_overflow(end, factor, &product) &&
             !__builtin_add_overflow(*sum, product, sum);
}

/* One end of an atom, where that alone is asked for: most atoms show at once that they count from 0, or have no end. */
static Interval atom_end(const Expr *atom, bool high) {
    bool counts = atom->kind == EXPR_VAR && (atom->var->kind == VAR_SIZE || atom->var->extent);
    if (!high && counts)
        return (Interval){.has_low = true};
    return high && expr_has_no_high(atom) ? (Interval){.has_low = false} : expr_interval(atom);
}

/* The ends that are asked for, the others unknown. */
static Interval ends_of(const Sum *sum, bool low, bool high) {
    Interval ends = {low && !sum->overflow, high && !sum->overflow, sum->constant, sum->constant};
    for (int i = 0; i < sum->count && (ends.has_low || ends.has_high); i++) {
        int64_t factor = sum->terms[i].coefficient;
        bool falls = factor < 0;
        Interval atom = ends.has_low && ends.has_high ? expr_interval(sum->terms[i].atom)
                                                      : atom_end(sum->terms[i].atom, ends.has_high != falls);
        add_end(&ends.has_low, &ends.low, falls ? atom.has_high : atom.has_low, falls ? atom.high : atom.low, factor);
        add_end(&ends.has_high, &ends.high, falls ? atom.has_low : atom.has_high, falls ? atom.low : atom.high, factor);
    }
    return ends;
}

Interval sum_interval(const Sum *sum) {
    return ends_of(sum, true, true);
}

static bool interval_is_nonnegative(const Sum *sum) {
    Interval ends = ends_of(sum, true, false);
    return ends.has_low && ends.low >= 0;
}

/* --- bounds of atoms: each adds coefficient * what the atom is at most (upper) or at least, if that is known ------ */

/* Extents of loops are simplified, those of a program's axes are as it has them. */
static void add_last_value(Sum *sum, int64_t coefficient, const Var *loop) {
    sum_add_index(sum, coefficient, loop->extent, loop->kind == VAR_AXIS);
    sum_add_constant(sum, coefficient, -1);
}

static bool bound_atom(Sum *bound, int64_t coefficient, Expr *atom, bool upper);

/* A factor goes to its end where the others are known as at least 0. */
static bool bound_factor(Sum *bound, int64_t coefficient, Expr *factor, Expr *others, bool upper) {
    Sum rest, end;
    sum_init(&rest, bound->arena);
    sum_init(&end, bound->arena);
    sum_add_expr(&rest, 1, others, false);
    if (!interval_is_nonnegative(&rest) || !bound_atom(&end, 1, factor, upper))
        return false;
    sum_add_product(bound, coefficient, &end, &rest);
    return true;
}

static bool bound_product(Sum *bound, int64_t coefficient, Expr *atom, bool upper) {
    Expr *factors[FACTOR_LIMIT];
    int count = atom_factors(atom, factors, FACTOR_LIMIT);
    for (int i = 0; i < count && count > 1; i++) {
        if (expr_is_over_sizes(factors[i]))
            continue;
        Expr *others = atom_product_without(bound->arena, factors, count, i);
        if (bound_factor(bound, coefficient, factors[i], others, upper))
            return true;
    }
    return false;
}

/* The bound of an argument of an atom; says whether that is another expression. */
static bool bound_argument(Sum *end, const Sum *bound, Expr *argument, bool upper) {
    Sum whole;
    sum_init(&whole, bound->arena);
    whole.limits = bound->limits;
    sum_add_expr(&whole, 1, argument, false);
    return sum_bound(end, &whole, upper);
}

/* Of min(a, b) the smaller bound; where that of one alone is known it is an upper bound still. */
static bool bound_extreme(Sum *bound, int64_t coefficient, Expr *atom, bool upper) {
    Sum ends[2], difference;
    bool known[2], smaller = atom->op == OP_MIN;
    if (expr_is_larger(atom, EXTREME_NODES))
        return false;
    for (int i = 0; i < 2; i++) {
        bound_argument(&ends[i], bound, atom->args[i], upper);
        known[i] = !ends[i].overflow && affine_is_over_sizes(&ends[i].affine);
    }
    if (!known[0] || !known[1]) {
        if (smaller != upper || known[0] == known[1])
            return false;
        sum_add(bound, coefficient, &ends[known[1]]);
        return true;
    }
    sum_init(&difference, bound->arena);
    sum_add(&difference, 1, &ends[1]);
    sum_add(&difference, -1, &ends[0]);
    int order = sum_order(&difference);
    if (order)
        sum_add(bound, coefficient, &ends[(order < 0) == smaller]);
    else
        sum_add_atom(bound, coefficient, expr_binary(bound->arena, atom->op, sum_expr(&ends[0]), sum_expr(&ends[1])));
    return true;
}

static bool bound_by_limit(Sum *bound, int64_t coefficient, const Expr *atom, bool upper) {
    for (int i = 0; bound->limits && i < bound->limits->count; i++) {
        const AtomLimit *known = &bound->limits->items[i];
        if (!expr_equal(known->atom, atom))
            continue;
        if (upper) {
            sum_add_affine(bound, coefficient, known->limit);
            sum_add_constant(bound, coefficient, -1);
        }
        return true;
    }
    return false;
}

/* By what is no constant: x / d is not negative where x is not. */
static bool bound_quotient(Sum *bound, int64_t coefficient, const Expr *atom, bool upper) {
    Sum end, by;
    int64_t divisor = 0;
    expr_is_int(atom->args[1], &divisor);
    if (!expr_is_natural(atom->args[1]) || (divisor == 0 && upper) ||
        !bound_argument(&end, bound, atom->args[0], upper) || end.overflow)
        return false;
    if (divisor == 0)
        return sum_is_nonnegative(&end);
    sum_init(&by, bound->arena);
    by.constant = divisor;
    sum_add_quotient(bound, coefficient, &end, &by);
    return true;
}

static bool bound_remainder(Sum *bound, int64_t coefficient, const Expr *atom, bool upper) {
    int64_t divisor;
    if (!expr_is_int(atom->args[1], &divisor) || divisor <= 0)
        return !upper && expr_is_natural(atom->args[1]);
    sum_add_constant(bound, upper ? coefficient : 0, divisor - 1);
    return true;
}

static bool bound_atom(Sum *bound, int64_t coefficient, Expr *atom, bool upper) {
    if (atom_is_loop(atom)) {
        if (upper)
            add_last_value(bound, coefficient, atom->var);
        return true;
    }
    if (atom->kind != EXPR_OP || expr_is_over_sizes(atom))
        return false;
    if (bound_by_limit(bound, coefficient, atom, upper))
        return true;
    switch (atom->op) {
    case OP_MUL: return bound_product(bound, coefficient, atom, upper);
    case OP_DIV: return bound_quotient(bound, coefficient, atom, upper);
    case OP_MOD: return bound_remainder(bound, coefficient, atom, upper);
    case OP_MIN:
    case OP_MAX: return bound_extreme(bound, coefficient, atom, upper);
    default: return false;
    }
}

/* --- sums --------------------------------------------------------------------------------------------------------- */

bool sum_bound(Sum *bound, const Sum *sum, bool upper) {
    bool replaced = false;
    sum_init(bound, sum->arena);
    bound->limits = sum->limits;
    bound->overflow = sum->overflow;
    bound->constant = sum->constant;
    for (int i = 0; i < sum->count && !bound->overflow; i++) {
        Term term = sum->terms[i];
        if (bound_atom(bound, term.coefficient, term.atom, upper == (term.coefficient > 0)))
            replaced = true;
        else if (expr_is_op(term.atom, OP_MUL)) /* also one that was kept in one piece */
            sum_add_index(bound, term.coefficient, term.atom, false);
        else
            sum_add_atom(bound, term.coefficient, term.atom);
    }
    return replaced;
}

/* The c of c * (x / c), or of a multiple of that; 0: it is none. */
static int64_t whole_divisor(Term term) {
    int64_t divisor;
    bool quotient = expr_is_op(term.atom, OP_DIV) && expr_is_int(term.atom->args[1], &divisor);
    return quotient && divisor > 0 && term.coefficient % divisor == 0 ? divisor : 0;
}

/* x - c + 1 <= c * (x / c) <= x. */
bool sum_relax(Sum *relaxed, const Sum *sum, bool upper) {
    int first = 0;
    while (first < sum->count && !whole_divisor(sum->terms[first]))
        first++;
    if (first == sum->count)
        return false;
    sum_init(relaxed, sum->arena);
    relaxed->overflow = sum->overflow;
    relaxed->constant = sum->constant;
    for (int i = 0; i < sum->count; i++) {
        Term term = sum->terms[i];
        int64_t divisor = i < first ? 0 : whole_divisor(term);
        if (divisor)
            sum_add_expr(relaxed, term.coefficient / divisor, term.atom->args[0], false);
        else
            sum_add_atom(relaxed, term.coefficient, term.atom);
        if (divisor && upper != (term.coefficient > 0))
            sum_add_constant(relaxed, term.coefficient / divisor, 1 - divisor);
    }
    return true;
}

/* --- where it is negative ----------------------------------------------------------------------------------------- */

/* Sizes at a point: all 1 at the first one, some numbers at the others. */
static int64_t size_at(const Var *size, int point) {
    enum { LARGEST = 1000 };
    return point == 0 ? 1 : 1 + (int64_t)(hash_mix(hash_text(size->name) + (uint64_t)point) % LARGEST);
}

/* False: it names other variables, reads, or is not known. */
static bool value_at(const Expr *e, int point, int64_t *value) {
    int64_t a, b;
    bool size = e->kind == EXPR_VAR && e->var->kind == VAR_SIZE;
    if (size || e->kind == EXPR_INT) {
        *value = size ? size_at(e->var, point) : e->integer;
        return true;
    }
    if (e->kind != EXPR_OP || e->type != TYPE_INT64 || e->count != 2 || !value_at(e->args[0], point, &a) ||
        !value_at(e->args[1], point, &b))
        return false;
    switch (e->op) {
    case OP_ADD: return !__builtin_add_overflow(a, b, value);
    case OP_SUB: return !__builtin_sub_overflow(a, b, value);
    case OP_MUL: return !__builtin_mul_overflow(a, b, value);
    case OP_DIV: *value = floor_div(a, b); return b > 0;
    case OP_MIN: *value = a < b ? a : b; return true;
    case OP_MAX: *value = a > b ? a : b; return true;
    default: return false;
    }
}

/* The least value of coefficient * atom: a loop is at its first value or at its last. */
static bool least_at(Term term, int point, int64_t *least) {
    int64_t value;
    bool loop = atom_is_loop(term.atom);
    if (!value_at(loop ? term.atom->var->extent : term.atom, point, &value) || (loop && value < 1))
        return false;
    if (loop)
        value = term.coefficient < 0 ? value - 1 : 0;
    return !__builtin_mul_overflow(term.coefficient, value, least);
}

/* Whether it is seen at once that the sum is negative for some values: what is false is not tried to prove. */
static bool is_negative_at(const Sum *sum, int point) {
    int64_t least = sum->constant, part;
    for (int i = 0; i < sum->count; i++)
        if (!least_at(sum->terms[i], point, &part) || __builtin_add_overflow(least, part, &least))
            return false;
    return least < 0;
}

bool sum_is_negative_somewhere(const Sum *sum) {
    bool negative = false;
    for (int point = 0; point < POINTS && !negative; point++)
        negative = is_negative_at(sum, point);
    return negative;
}

bool sum_is_nonnegative(const Sum *sum) {
    Sum sums[2], relaxed;
    const Sum *now = sum;
    for (int round = 0; round < ROUND_LIMIT; round++) {
        if (interval_is_nonnegative(now))
            return true;
        if (round == 0 && is_negative_at(now, 0))
            return false;
        if (now->overflow || !sum_bound(&sums[round % 2], now, false))
            break;
        now = &sums[round % 2];
    }
    return sum_relax(&relaxed, now, false) && interval_is_nonnegative(&relaxed);
}

/* constant - sum */
static bool opposite_is_nonnegative(const Sum *sum, int64_t constant) {
    Sum opposite;
    sum_init(&opposite, sum->arena);
    opposite.limits = sum->limits;
    sum_add(&opposite, -1, sum);
    sum_add_constant(&opposite, 1, constant);
    return !opposite.overflow && sum_is_nonnegative(&opposite);
}

int sum_sign(const Sum *sum) {
    Interval interval = sum_interval(sum);
    if (interval.has_low && interval.low >= 0)
        return 1;
    if (interval.has_high && interval.high < 0)
        return -1;
    if (sum_is_nonnegative(sum))
        return 1;
    return opposite_is_nonnegative(sum, -1) ? -1 : 0;
}

int sum_order(const Sum *difference) {
    return sum_is_nonnegative(difference) ? 1 : opposite_is_nonnegative(difference, 0) ? -1 : 0;
}
