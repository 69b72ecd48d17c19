/* divide.c - floor quotients and remainders of sums.
 *
 * For a constant divisor c0 a sum X is brought to  X = c0 * quotient + scale * rest + low  with c0 = scale * c and
 * 0 <= low < scale, whence  X / c0 = quotient + rest / c  and  X % c0 = scale * (rest % c) + low.  For other divisors
 * terms that hold the divisor as a factor are divided, where what remains is provably below it.
 */
#include "lang/sum.h"
#include "lang/value.h"

enum { CANDIDATE_LIMIT = 16, FACTOR_LIMIT = 16 };

typedef struct Division {
    Sum quotient, rest, low;
    int64_t scale, divisor;
    bool finished; /* 0 <= rest < divisor */
} Division;

static bool is_constant_op(const Expr *e, Op op, int64_t *constant) {
    return e->kind == EXPR_OP && e->op == op && e->lanes == 1 && expr_is_int(e->args[1], constant) && *constant > 0;
}

/* Moves the multiples of the divisor to the quotient. */
static void move_multiples(Division *d) {
    Sum rest;
    sum_init(&rest, d->rest.arena);
    rest.overflow = d->rest.overflow;
    for (int i = 0; i < d->rest.count; i++) {
        Term term = d->rest.terms[i];
        if (term.coefficient % d->divisor == 0)
            sum_add_atom(&d->quotient, term.coefficient / d->divisor, term.atom);
        else
            sum_append(&rest, term);
    }
    sum_add_constant(&d->quotient, 1, floor_div(d->rest.constant, d->divisor));
    rest.constant = floor_mod(d->rest.constant, d->divisor);
    sum_init(&d->rest, rest.arena);
    sum_add(&d->rest, 1, &rest);
}

/* Splits a sum into g * high + low when 0 <= low < g for all values. */
static bool split_by(const Sum *sum, int64_t g, Sum *high, Sum *low) {
    sum_init(high, sum->arena);
    sum_init(low, sum->arena);
    for (int i = 0; i < sum->count; i++) {
        Term term = sum->terms[i];
        if (term.coefficient % g == 0)
            sum_append(high, (Term){term.coefficient / g, term.atom});
        else
            sum_append(low, term);
    }
    high->constant = floor_div(sum->constant, g);
    low->constant = floor_mod(sum->constant, g);
    Interval interval = sum_interval(low);
    return interval.has_low && interval.has_high && interval.low >= 0 && interval.high < g;
}

bool sum_split(const Sum *sum, int64_t divisor, int64_t *g, Sum *high, Sum *low) {
    int64_t candidates[CANDIDATE_LIMIT];
    int count = 0;
    for (int i = 0; i < sum->count && count + 1 < CANDIDATE_LIMIT; i++)
        if (sum->terms[i].coefficient != INT64_MIN)
            candidates[count++] = greatest_divisor(sum->terms[i].coefficient, divisor);
    candidates[count++] = greatest_divisor(affine_divisor(&sum->affine), divisor);
    for (;;) {
        int best = 0;
        for (int i = 1; i < count; i++)
            if (candidates[i] > candidates[best])
                best = i;
        *g = candidates[best];
        if (*g <= 1)
            return false;
        if (split_by(sum, *g, high, low))
            return true;
        candidates[best] = 1;
    }
}

/* Where the rest lies between two neighbouring multiples of the divisor, the lower one goes to the quotient. */
static bool finish(Division *d) {
    Interval interval = sum_interval(&d->rest);
    if (!interval.has_low || !interval.has_high)
        return false;
    int64_t block = floor_div(interval.low, d->divisor);
    if (block != floor_div(interval.high, d->divisor))
        return false;
    sum_add_constant(&d->quotient, 1, block);
    sum_add_constant(&d->rest, -block, d->divisor);
    return d->finished = true;
}

/* For a remainder: k * (y % a) is k * y where c divides k * a. */
static bool unwrap_modulo(Division *d) {
    for (int i = 0; i < d->rest.count; i++) {
        Term term = d->rest.terms[i];
        int64_t a, multiple;
        if (!is_constant_op(term.atom, OP_MOD, &a) || __builtin_mul_overflow(term.coefficient, a, &multiple) ||
            multiple % d->divisor != 0 || term.coefficient == INT64_MIN)
            continue;
        sum_add_atom(&d->rest, -term.coefficient, term.atom);
        sum_add_expr(&d->rest, term.coefficient, term.atom->args[0], false);
        return true;
    }
    return false;
}

/* The form of the head comment. For a remainder the quotient is left meaningless. */
static void divide(Division *d, const Sum *dividend, int64_t divisor, bool remainder) {
    Arena *arena = dividend->arena;
    Sum high, low;
    int64_t g;
    sum_init(&d->quotient, arena);
    sum_init(&d->rest, arena);
    sum_init(&d->low, arena);
    sum_add(&d->rest, 1, dividend);
    d->scale = 1;
    d->divisor = divisor;
    d->finished = false;
    do {
        move_multiples(d);
        if (d->rest.overflow || finish(d))
            return;
        if (remainder && unwrap_modulo(d))
            continue;
        if (!sum_split(&d->rest, d->divisor, &g, &high, &low))
            return;
        sum_add(&d->low, d->scale, &low);
        d->scale *= g;
        d->divisor /= g;
        sum_init(&d->rest, arena);
        sum_add(&d->rest, 1, &high);
    } while (true);
}

static void add_op(Sum *sum, int64_t coefficient, Op op, const Sum *a, const Sum *b) {
    sum_add_atom(sum, coefficient, expr_binary(sum->arena, op, sum_expr(a), sum_expr(b)));
}

static void constant_sum(Sum *sum, Arena *arena, int64_t constant) {
    sum_init(sum, arena);
    sum->constant = constant;
}

/* (y / a + r) / c is (y + r * a) / (a * c), and (y % a) / c is (y / c) % (a / c) where c divides a. */
static bool divide_nested(Sum *sum, int64_t coefficient, const Sum *rest, int64_t divisor) {
    if (rest->count != 1 || rest->terms[0].coefficient != 1)
        return false;
    Expr *atom = rest->terms[0].atom;
    int64_t a, product;
    Sum inner, by, quotient;
    sum_init(&inner, sum->arena);
    if (is_constant_op(atom, OP_DIV, &a) && !__builtin_mul_overflow(a, divisor, &product)) {
        sum_add_expr(&inner, 1, atom->args[0], false);
        sum_add_constant(&inner, rest->constant, a);
        if (inner.overflow)
            return false;
        constant_sum(&by, sum->arena, product);
        sum_add_quotient(sum, coefficient, &inner, &by);
        return true;
    }
    if (!is_constant_op(atom, OP_MOD, &a) || rest->constant != 0 || a % divisor != 0)
        return false;
    sum_add_expr(&inner, 1, atom->args[0], false);
    constant_sum(&by, sum->arena, divisor);
    sum_init(&quotient, sum->arena);
    sum_add_quotient(&quotient, 1, &inner, &by);
    by.constant = a / divisor;
    sum_add_remainder(sum, coefficient, &quotient, &by);
    return true;
}

static void add_constant_quotient(Sum *sum, int64_t coefficient, const Sum *dividend, int64_t divisor) {
    Division d;
    Sum by;
    divide(&d, dividend, divisor, false);
    sum_add(sum, coefficient, &d.quotient);
    sum->overflow |= d.rest.overflow;
    if (d.finished || sum->overflow || divide_nested(sum, coefficient, &d.rest, d.divisor))
        return;
    constant_sum(&by, sum->arena, d.divisor);
    add_op(sum, coefficient, OP_DIV, &d.rest, &by);
}

static void add_constant_remainder(Sum *sum, int64_t coefficient, const Sum *dividend, int64_t divisor) {
    Division d;
    Sum by, part;
    divide(&d, dividend, divisor, true);
    sum_init(&part, sum->arena);
    sum_add(&part, 1, &d.low);
    sum->overflow |= d.rest.overflow;
    if (sum->overflow)
        return;
    constant_sum(&by, sum->arena, d.divisor);
    if (d.finished)
        sum_add(&part, d.scale, &d.rest);
    else
        add_op(&part, d.scale, OP_MOD, &d.rest, &by);
    sum_add(sum, coefficient, &part);
}

/* --- divisors that are no constants ------------------------------------------------------------------------------- */

/* Removes the factors of divisor from those of the atom; false when it lacks one. */
static bool divide_atom(Arena *arena, Expr *atom, Expr *divisor, Expr **quotient) {
    Expr *factors[FACTOR_LIMIT], *by[FACTOR_LIMIT];
    int count = atom_factors(atom, factors, FACTOR_LIMIT), by_count = atom_factors(divisor, by, FACTOR_LIMIT);
    for (int i = 0; i < by_count; i++) {
        int at = 0;
        while (at < count && !expr_equal(factors[at], by[i]))
            at++;
        if (at == count)
            return false;
        for (count--; at < count; at++)
            factors[at] = factors[at + 1];
    }
    *quotient = atom_product(arena, factors, count);
    return true;
}

/* Splits the dividend into divisor * quotient + rest with 0 <= rest < divisor, both parts proved. */
static bool divide_symbolic(const Sum *dividend, const Sum *divisor, Sum *quotient, Sum *rest) {
    sum_init(quotient, dividend->arena);
    sum_init(rest, dividend->arena);
    sum_add_constant(rest, 1, dividend->constant);
    bool single = divisor->count == 1 && divisor->constant == 0 && divisor->terms[0].coefficient == 1;
    for (int i = 0; i < dividend->count; i++) {
        Term term = dividend->terms[i];
        Expr *part;
        if (single && divide_atom(dividend->arena, term.atom, divisor->terms[0].atom, &part))
            sum_add_expr(quotient, term.coefficient, part, false);
        else
            sum_add_atom(rest, term.coefficient, term.atom);
    }
    Sum above;
    sum_init(&above, dividend->arena);
    sum_add(&above, 1, divisor);
    sum_add(&above, -1, rest);
    sum_add_constant(&above, 1, -1);
    return !above.overflow && !quotient->overflow && sum_is_nonnegative(rest) && sum_is_nonnegative(&above);
}

/* A constant divisor is made positive, with the dividend negated; says whether there is one, 0 included. */
static bool constant_divisor(const Sum *dividend, const Sum *divisor, Sum *normal, int64_t *constant) {
    if (divisor->count)
        return false;
    sum_init(normal, dividend->arena);
    sum_add(normal, divisor->constant < 0 ? -1 : 1, dividend);
    normal->overflow |= divisor->constant == INT64_MIN;
    *constant = divisor->constant < 0 && !normal->overflow ? -divisor->constant : divisor->constant;
    return true;
}

/* Of a canonical sum: users read these quotients as they wrote them. */
static bool stays_whole(const Sum *sum, const Sum *divisor) {
    return sum->canonical && (divisor->count || divisor->constant == 0);
}

void sum_add_quotient(Sum *sum, int64_t coefficient, const Sum *dividend, const Sum *divisor) {
    Sum normal, rest;
    int64_t constant;
    if (stays_whole(sum, divisor)) {
        add_op(sum, coefficient, OP_DIV, dividend, divisor);
    } else if (constant_divisor(dividend, divisor, &normal, &constant)) {
        sum->overflow |= normal.overflow;
        if (constant != 0 && !sum->overflow)
            add_constant_quotient(sum, coefficient, &normal, constant);
    } else if (divide_symbolic(dividend, divisor, &normal, &rest)) {
        sum_add(sum, coefficient, &normal);
    } else {
        add_op(sum, coefficient, OP_DIV, dividend, divisor);
    }
}

void sum_add_remainder(Sum *sum, int64_t coefficient, const Sum *dividend, const Sum *divisor) {
    Sum normal, rest;
    int64_t constant;
    if (stays_whole(sum, divisor)) {
        add_op(sum, coefficient, OP_MOD, dividend, divisor);
    } else if (constant_divisor(dividend, divisor, &normal, &constant)) {
        sum->overflow |=
            normal.overflow || __builtin_mul_overflow(coefficient, divisor->constant < 0 ? -1 : 1, &coefficient);
        if (constant != 0 && !sum->overflow)
            add_constant_remainder(sum, coefficient, &normal, constant);
    } else if (divide_symbolic(dividend, divisor, &normal, &rest)) {
        sum_add(sum, coefficient, &rest);
    } else {
        add_op(sum, coefficient, OP_MOD, dividend, divisor);
    }
}

void sum_divide(Sum *quotient, Sum *remainder, const Sum *dividend, const Sum *divisor) {
    Sum high, low;
    if (divisor->count == 0) {
        sum_add_quotient(quotient, 1, dividend, divisor);
        sum_add_remainder(remainder, 1, dividend, divisor);
    } else if (divide_symbolic(dividend, divisor, &high, &low)) {
        sum_add(quotient, 1, &high);
        sum_add(remainder, 1, &low);
    } else {
        add_op(quotient, 1, OP_DIV, dividend, divisor);
        add_op(remainder, 1, OP_MOD, dividend, divisor);
    }
}
