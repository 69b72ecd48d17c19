/* narrowed.c - what conditions say of the values that stand under them.
 *
 * A comparison bounds its sides by the ranges of each other, and the values that a side is made of as far as its sums,
 * differences, products and quotients by numbers, minima and maxima lead back to them and do not wrap. The ranges of
 * sides are those that are known without conditions: so the time is bounded, as it is by the limits here. What is found
 * holds for every value that the condition lets pass.
 */
#include "lang/program.h"
#include "lang/value.h"
#include "sema/check.h"

#include <math.h>

/* Conditions further out, longer ones, and what is deeper in a side than these, say nothing; nor do choices that are so
 * deep in a side, of which both operands count. */
enum { CONDITION_LIMIT = 32, NODE_LIMIT = 100, DEPTH_LIMIT = 8, NESTED_LIMIT = 2 };
/* The steps of all values of a function. A value may take a part of those that are left, and always a few. */
enum { ALL_STEPS = 1 << 20, STEPS_PART = 16, LEAST_STEPS = 1 << 9 };

static const Interval nothing = {true, true, 1, 0};

typedef struct NarrowingSearch {
    const Statement *statement;
    const Expr *sought; /* NULL: only whether the condition can hold */
    bool exact;         /* the result of the operator is sought, before it becomes a value of its type */
    bool found;         /* it is a part of a condition */
    Interval range;     /* what is known of it so far */
} NarrowingSearch;

void narrowing_begin(const Statement *s) {
    Builder *builder = s->builder;
    builder->narrowing_used += builder->narrowing_given - builder->narrowing_steps;
    int part = (ALL_STEPS - builder->narrowing_used) / STEPS_PART;
    builder->narrowing_given = part > LEAST_STEPS ? part : LEAST_STEPS;
    builder->narrowing_steps = builder->narrowing_given;
    builder->narrowing_depth = DEPTH_LIMIT;
}

bool narrowing_ends(const Statement *s) {
    return s->builder->narrowing_steps <= 0;
}

bool range_is_empty(Interval range) {
    return interval_is_closed(range) && range.low > range.high;
}

static Interval negated(Interval range) {
    return interval_combine(OP_NEG, range, range);
}

/* --- what is sought ----------------------------------------------------------------------------------------------- */

/* Whether the operator gives the exact result, which is also known at both ends. */
static bool never_wraps(const Statement *s, const Expr *e) {
    Interval range = exact_range(s, NULL, e);
    return interval_is_closed(range) && range_fits(range, e->type) && (e->type != TYPE_UINT64 || range.low >= 0);
}

static bool is_same_number(const Expr *x, const Expr *y) {
    return x->kind == EXPR_INT && y->kind == EXPR_INT && x->integer == y->integer &&
           (x->type == TYPE_UINT64) == (y->type == TYPE_UINT64);
}

/* Whether part has the value that e has where nothing in e wraps. */
static bool is_same_value(const Statement *s, const Expr *part, const Expr *e) {
    const Expr *x = without_widening(part), *y = without_widening(e);
    if (same_value(s, x, y) || is_same_number(x, y))
        return true;
    bool same = x->kind == EXPR_OP && expr_is_op(y, x->op) && is_arithmetic(x) && never_wraps(s, x);
    for (int i = 0; i < x->count && same; i++)
        same = is_same_value(s, x->args[i], y->args[i]);
    return same;
}

/* Whether part is the exact result of the operator e, in a type that holds it. */
static bool is_exact_result(const Statement *s, const Expr *part, const Expr *e) {
    if (!expr_is_op(part, e->op) || part->count != e->count || !type_is_integer(part->type) || !never_wraps(s, part))
        return false;
    const Expr *x = e->args[0], *y = e->args[e->count - 1];
    if (is_same_value(s, part->args[0], x) && is_same_value(s, part->args[e->count - 1], y))
        return true;
    bool swaps = e->op == OP_ADD || e->op == OP_MUL;
    return swaps && is_same_value(s, part->args[0], y) && is_same_value(s, part->args[1], x);
}

static bool is_sought(const NarrowingSearch *search, const Expr *e) {
    if (!search->sought)
        return false;
    return search->exact ? is_exact_result(search->statement, e, search->sought)
                         : same_value(search->statement, e, search->sought);
}

/* --- from a side to what it is made of ---------------------------------------------------------------------------- */

static void learn(NarrowingSearch *search, const Expr *e, Interval within);
static void learn_condition(NarrowingSearch *search, const Expr *c, bool holds);

/* What is known where one of two is the case. */
static void join(NarrowingSearch *search, const NarrowingSearch *other) {
    search->found |= other->found;
    if (range_is_empty(search->range))
        search->range = other->range;
    else if (!range_is_empty(other->range))
        search->range = interval_join(search->range, other->range);
}

/* The condition holds and chooses the one operand, or fails and chooses the other. */
static void learn_choice(NarrowingSearch *search, const Expr *e, Interval within) {
    NarrowingSearch other = *search;
    learn_condition(search, e->args[0], true);
    learn(search, e->args[1], within);
    learn_condition(&other, e->args[0], false);
    learn(&other, e->args[2], within);
    join(search, &other);
}

/* Of a factor of a product beside a number. */
static Interval factor_range(Interval product, int64_t number) {
    if (number < 0)
        return factor_range(negated(product), -number);
    Interval down = interval_combine(OP_DIV, product, interval_point(number));
    Interval up = negated(interval_combine(OP_DIV, negated(product), interval_point(number)));
    return (Interval){up.has_low, down.has_high, up.low, down.high};
}

/* Of what a number divides. */
static Interval dividend_range(Interval quotient, int64_t number) {
    int64_t size = number < 0 ? -number : number;
    Interval range = interval_combine(OP_MUL, quotient, interval_point(size));
    range = interval_combine(OP_ADD, range, (Interval){true, true, 0, size - 1});
    return number < 0 ? negated(range) : range;
}

/* Of what is multiplied by itself. */
static Interval root_range(Interval square) {
    enum { EXACT = INT32_MAX };
    if (!square.has_high || square.high < 0 || square.high > EXACT)
        return (Interval){.has_low = false};
    int64_t root = (int64_t)sqrt((double)square.high);
    return (Interval){true, true, -root, root};
}

static bool is_number(Interval range) {
    return interval_is_point(range) && range.low != 0 && range.low > -INT32_MAX && range.low < INT32_MAX;
}

/* The operator has the same operand twice. */
static void learn_twice(NarrowingSearch *search, const Expr *e, Interval within) {
    if (e->op == OP_ADD)
        learn(search, e->args[0], factor_range(within, 2));
    if (e->op == OP_MUL)
        learn(search, e->args[0], root_range(within));
}

/* The result of an operator that does not wrap is within the range. */
static void learn_operands(NarrowingSearch *search, const Expr *e, Interval within) {
    const Expr *x = e->args[0], *y = e->args[e->count - 1];
    if (e->count == 2 && same_value(search->statement, x, y))
        learn_twice(search, e, within);
    Interval a = value_range(search->statement, NULL, x), b = value_range(search->statement, NULL, y);
    if (e->op == OP_ADD || e->op == OP_SUB)
        learn(search, x, interval_combine(e->op == OP_ADD ? OP_SUB : OP_ADD, within, b));
    if (e->op == OP_ADD)
        learn(search, y, interval_combine(OP_SUB, within, a));
    if (e->op == OP_SUB)
        learn(search, y, interval_combine(OP_SUB, a, within));
    if (e->op == OP_NEG)
        learn(search, x, negated(within));
    if (e->op == OP_MUL && is_number(b))
        learn(search, x, factor_range(within, b.low));
    if (e->op == OP_MUL && is_number(a))
        learn(search, y, factor_range(within, a.low));
    if (e->op == OP_DIV && is_number(b))
        learn(search, x, dividend_range(within, b.low));
    if (e->op == OP_ABS && within.has_high)
        learn(search, x, interval_join(within, negated(within)));
}

/* What an operand of a minimum or maximum within the range may be: a minimum is at most each operand, and is this one
 * where it is less than the other. */
static Interval extreme_range(Op op, Interval within, Interval other) {
    if (op == OP_MAX)
        return negated(extreme_range(OP_MIN, negated(within), negated(other)));
    within.has_high &= other.has_low && within.high < other.low;
    return within;
}

static void learn_extreme(NarrowingSearch *search, const Expr *e, Interval within) {
    for (int i = 0; i < 2; i++) {
        Interval other = value_range(search->statement, NULL, e->args[1 - i]);
        learn(search, e->args[i], extreme_range(e->op, within, other));
    }
}

/* Whether the cast of integers changes none of the values that its operand has. */
static bool keeps_range(const Statement *s, const Expr *cast) {
    Interval range = value_range(s, NULL, cast->args[0]);
    return type_is_integer(cast->args[0]->type) && type_is_integer(cast->type) && cast->args[0]->type != TYPE_UINT64 &&
           range_fits(range, cast->type) && (cast->type != TYPE_UINT64 || (range.has_low && range.low >= 0));
}

/* The element of a temporary has the value that it was given. */
static void learn_element(NarrowingSearch *search, const Expr *read, Interval within) {
    const Expr *value = behind_read(search->statement, read);
    if (value)
        learn(search, value, within);
}

/* What e is made of, where its value is within the range. */
static void learn_parts(NarrowingSearch *search, const Expr *e, Interval within) {
    if (e->kind == EXPR_READ)
        learn_element(search, e, within);
    else if (e->kind == EXPR_CAST && keeps_range(search->statement, e))
        learn(search, e->args[0], within);
    else if (expr_is_op(e, OP_MIN) || expr_is_op(e, OP_MAX))
        learn_extreme(search, e, within);
    else if (expr_is_op(e, OP_SELECT))
        learn_choice(search, e, within);
    else if (e->kind == EXPR_OP && op_info[e->op].class == CLASS_ARITHMETIC && never_wraps(search->statement, e))
        learn_operands(search, e, within);
}

/* The value of e is within the range. */
static void learn(NarrowingSearch *search, const Expr *e, Interval within) {
    Builder *builder = search->statement->builder;
    builder->narrowing_steps--;
    if (narrowing_ends(search->statement) || builder->narrowing_depth == 0 || !type_is_integer(e->type))
        return;
    if (is_sought(search, e)) {
        search->found = true;
        search->range = interval_meet(search->range, within);
    }
    builder->narrowing_depth--;
    within = interval_meet(within, value_range(search->statement, NULL, e));
    if (range_is_empty(within))
        search->range = nothing;
    else
        learn_parts(search, e, within);
    builder->narrowing_depth++;
}

/* --- comparisons -------------------------------------------------------------------------------------------------- */

/* Of what compares so with a value of the other range. own: its range by itself. */
static Interval compared_range(Op op, Interval own, Interval other) {
    Interval below = interval_combine(OP_SUB, other, interval_point(1)),
             above = interval_combine(OP_ADD, other, interval_point(1));
    const ComparisonInfo *info = &comparison_info[op];
    Interval least = info->equal ? other : above, most = info->equal ? other : below;
    if (op != OP_NE)
        return (Interval){least.has_low && !info->less, most.has_high && !info->greater, least.low, most.high};
    if (interval_is_point(other) && own.has_low && own.low == other.low)
        own = (Interval){own.has_low && above.has_low, own.has_high, above.low, own.high};
    if (interval_is_point(other) && own.has_high && own.high == other.low)
        own = (Interval){own.has_low, own.has_high && below.has_high, own.low, below.high};
    return own;
}

static void learn_integers(NarrowingSearch *search, Op op, const Expr *x, const Expr *y) {
    Interval a = value_range(search->statement, NULL, x), b = value_range(search->statement, NULL, y);
    bool counts = a.has_low && a.low >= 0 && b.has_low && b.low >= 0;
    if (x->type == TYPE_UINT64 && !counts)
        return;
    learn(search, x, compared_range(op, a, b));
    learn(search, y, compared_range(comparison_info[op].exchanged, b, a));
}

/* Up to where a type of floats holds all integers. */
static int64_t exact_integers(ElementType type) {
    return type == TYPE_BFLOAT16 ? 1 << 8 : type == TYPE_HALF ? 1 << 11 : 1 << 24;
}

/* The integer in a float, which holds all its values, also by way of other floats; NULL: there is none. */
static const Expr *integer_of(const Statement *s, const Expr *e) {
    const Expr *from = e->kind == EXPR_CAST ? e->args[0] : NULL;
    if (from && type_is_float(from->type))
        from = integer_of(s, from);
    if (!from || !type_is_integer(from->type) || from->type == TYPE_UINT64)
        return NULL;
    Interval range = value_range(s, NULL, from);
    int64_t most = exact_integers(e->type);
    return interval_is_closed(range) && range.low >= -most && range.high <= most ? from : NULL;
}

/* Of an integer that compares so with a real number: x < 2.5 is x < 3, x <= 2.5 is x <= 2. */
static void learn_reals(NarrowingSearch *search, Op op, const Expr *x, const Expr *y) {
    const Expr *integer = integer_of(search->statement, x);
    if (!integer || y->kind != EXPR_REAL || !(fabs(y->real) < 1e9))
        return;
    Interval own = value_range(search->statement, NULL, integer);
    int64_t down = (int64_t)floor(y->real), up = (int64_t)ceil(y->real);
    bool rounds_up = op == OP_LT || op == OP_GE;
    if (down == up || (op != OP_EQ && op != OP_NE))
        learn(search, integer, compared_range(op, own, interval_point(rounds_up ? up : down)));
    else if (op == OP_EQ)
        search->range = nothing;
}

static void learn_comparison(NarrowingSearch *search, Op op, const Expr *x, const Expr *y) {
    if (type_is_integer(x->type)) {
        learn_integers(search, op, x, y);
    } else if (type_is_float(x->type)) {
        learn_reals(search, op, x, y);
        learn_reals(search, comparison_info[op].exchanged, y, x);
    }
}

/* --- conditions --------------------------------------------------------------------------------------------------- */

/* One of both holds, so it is known what both say. */
static void learn_either(NarrowingSearch *search, const Expr *c, bool holds) {
    NarrowingSearch other = *search;
    learn_condition(search, c->args[0], holds);
    learn_condition(&other, c->args[1], holds);
    join(search, &other);
}

static void learn_condition(NarrowingSearch *search, const Expr *c, bool holds) {
    if (expr_is_op(c, OP_NOT)) {
        learn_condition(search, c->args[0], !holds);
    } else if (expr_is_op(c, holds ? OP_AND : OP_OR)) {
        learn_condition(search, c->args[0], holds);
        learn_condition(search, c->args[1], holds);
    } else if (expr_is_op(c, holds ? OP_OR : OP_AND)) {
        learn_either(search, c, holds);
    } else if (expr_is_comparison(c)) {
        Op op = holds ? c->op : comparison_info[c->op].opposite;
        learn_comparison(search, op, c->args[0], c->args[1]);
    } else if (c->kind == EXPR_INT && (c->integer != 0) != holds) {
        search->range = nothing;
    }
}

/* Whether a condition is short, and steps are left for it. */
static bool is_short(const Statement *s, const Expr *condition) {
    int count = 0;
    EACH_EXPR(e, condition)
        if (++count > NODE_LIMIT || --s->builder->narrowing_steps < 0)
            return false;
    return true;
}

static void learn_all(NarrowingSearch *search, const Under *under) {
    for (int n = 0; under && n < CONDITION_LIMIT && !narrowing_ends(search->statement); under = under->outer, n++)
        if (is_short(search->statement, under->condition))
            learn_condition(search, under->condition, under->holds);
}

Interval narrowed_range(const Statement *s, const Under *under, const Expr *e, Interval range) {
    NarrowingSearch search = {.statement = s, .sought = e, .range = range};
    learn_all(&search, under);
    return search.range;
}

Interval narrowed_result(const Statement *s, const Under *under, const Expr *e, Interval range) {
    NarrowingSearch search = {.statement = s, .sought = e, .exact = true, .range = range};
    learn_all(&search, under);
    return search.range;
}

bool compares_result(const Statement *s, const Expr *comparison, const Expr *e) {
    NarrowingSearch search = {.statement = s, .sought = e, .exact = true};
    learn_condition(&search, comparison, true);
    return search.found;
}

bool never_holds(const Statement *s, const Under *under) {
    NarrowingSearch search = {.statement = s};
    if (s->builder->narrowing_depth < DEPTH_LIMIT - NESTED_LIMIT || !is_short(s, under->condition))
        return false;
    learn_condition(&search, under->condition, under->holds);
    bool never = range_is_empty(search.range);
    EACH_EXPR(e, under->condition)
        if (!never && (e->kind == EXPR_READ || e->kind == EXPR_VAR) && type_is_integer(e->type))
            never = range_is_empty(narrowed_range(s, under, e, (Interval){.has_low = false}));
    return never;
}
