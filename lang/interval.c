/* interval.c - the values that an integer expression can take, as a closed interval.
 *
 * Reasons in mathematical integers: where a bound leaves the 64 bits it is unknown. Loops and axes are taken to run at
 * least once (of one that never runs, all is true), sizes are at least 0, reads hold whatever their type can hold.
 * Of indices over sizes one end may be known alone, since they never wrap; of a value that may wrap none is.
 */
#include "lang/sum.h"
#include "lang/value.h"

/* Wide enough for products of bounds; an unbounded end is a value beyond all of them. */
__extension__ typedef __int128 Wide;
#define WIDE_INFINITY ((Wide)1 << 126)

static const Interval unbounded = {.has_low = false};

static Interval bounded(int64_t low, int64_t high) {
    return (Interval){true, true, low, high};
}

Interval interval_point(int64_t value) {
    return bounded(value, value);
}

static Wide wide_low(Interval a) {
    return a.has_low ? a.low : -WIDE_INFINITY;
}

static Wide wide_high(Interval a) {
    return a.has_high ? a.high : WIDE_INFINITY;
}

/* A bound outside the 64 bits is dropped: less is known, nothing is wrong. */
static Interval narrow(Wide low, Wide high) {
    Interval result = unbounded;
    if (low >= INT64_MIN && low <= INT64_MAX)
        result.has_low = true, result.low = (int64_t)low;
    if (high >= INT64_MIN && high <= INT64_MAX)
        result.has_high = true, result.high = (int64_t)high;
    return result;
}

Interval interval_add(Interval a, Interval b) {
    Interval result = unbounded;
    result.has_low = a.has_low && b.has_low && !__builtin_add_overflow(a.low, b.low, &result.low);
    result.has_high = a.has_high && b.has_high && !__builtin_add_overflow(a.high, b.high, &result.high);
    return result;
}

Interval interval_negate(Interval a) {
    Interval result = unbounded;
    result.has_low = a.has_high && !__builtin_sub_overflow(0, a.high, &result.low);
    result.has_high = a.has_low && !__builtin_sub_overflow(0, a.low, &result.high);
    return result;
}

static Wide wide_multiply(Wide a, Wide b) {
    if (a == 0 || b == 0)
        return 0;
    bool infinite = a == WIDE_INFINITY || a == -WIDE_INFINITY || b == WIDE_INFINITY || b == -WIDE_INFINITY;
    if (infinite)
        return (a < 0) == (b < 0) ? WIDE_INFINITY : -WIDE_INFINITY;
    return a * b;
}

static Interval multiply_corners(Interval a, Interval b) {
    Wide corners[4] = {wide_multiply(wide_low(a), wide_low(b)), wide_multiply(wide_low(a), wide_high(b)),
                       wide_multiply(wide_high(a), wide_low(b)), wide_multiply(wide_high(a), wide_high(b))};
    Wide low = corners[0], high = corners[0];
    for (int i = 1; i < 4; i++) {
        low = corners[i] < low ? corners[i] : low;
        high = corners[i] > high ? corners[i] : high;
    }
    return narrow(low, high);
}

/* Of what is never negative least times least is the least; no end times 0 is 0. */
static Interval multiply_counts(Interval a, Interval b) {
    Interval result = unbounded;
    result.has_low = !__builtin_mul_overflow(a.low, b.low, &result.low);
    if (a.has_high && b.has_high)
        result.has_high = !__builtin_mul_overflow(a.high, b.high, &result.high);
    else
        result.has_high = (a.has_high && a.high == 0) || (b.has_high && b.high == 0);
    return result;
}

bool interval_is_closed(Interval a) {
    return a.has_low && a.has_high;
}

bool interval_is_point(Interval a) {
    return interval_is_closed(a) && a.low == a.high;
}

static Interval interval_scale(Interval a, int64_t factor) {
    Interval result = unbounded;
    result.has_low = a.has_low && !__builtin_mul_overflow(a.low, factor, &result.low);
    result.has_high = a.has_high && !__builtin_mul_overflow(a.high, factor, &result.high);
    return result;
}

/* Almost all products are of a positive number or of what counts; only the others need wide numbers. */
static Interval interval_multiply(Interval a, Interval b) {
    if (interval_is_point(a) && a.low > 0)
        return interval_scale(b, a.low);
    if (interval_is_point(b) && b.low > 0)
        return interval_scale(a, b.low);
    bool counts = a.has_low && a.low >= 0 && b.has_low && b.low >= 0;
    return counts ? multiply_counts(a, b) : multiply_corners(a, b);
}

static Interval interval_min(Interval a, Interval b) {
    Interval result = {.has_low = a.has_low && b.has_low, .has_high = a.has_high || b.has_high};
    result.low = a.low < b.low ? a.low : b.low;
    result.high = !a.has_high || (b.has_high && b.high < a.high) ? b.high : a.high;
    return result;
}

static Interval interval_max(Interval a, Interval b) {
    return interval_negate(interval_min(interval_negate(a), interval_negate(b)));
}

Interval interval_join(Interval a, Interval b) {
    Interval result = {.has_low = a.has_low && b.has_low, .has_high = a.has_high && b.has_high};
    result.low = a.low < b.low ? a.low : b.low;
    result.high = a.high > b.high ? a.high : b.high;
    return result;
}

Interval interval_meet(Interval a, Interval b) {
    if (b.has_low && (!a.has_low || b.low > a.low))
        a.has_low = true, a.low = b.low;
    if (b.has_high && (!a.has_high || b.high < a.high))
        a.has_high = true, a.high = b.high;
    return a;
}

static Interval interval_abs(Interval a) {
    if (a.has_low && a.low >= 0)
        return a;
    return interval_max(interval_max(a, interval_negate(a)), bounded(0, 0));
}

/* Floor of a quotient with a divisor of at least 1; an infinite divisor leaves 0 or -1. */
static Wide wide_divide(Wide a, Wide b) {
    if (a == WIDE_INFINITY || a == -WIDE_INFINITY)
        return a;
    if (b == WIDE_INFINITY)
        return a < 0 ? -1 : 0;
    return floor_div((int64_t)a, (int64_t)b);
}

/* By a number of at least 1. */
static int64_t floor_quotient(int64_t a, int64_t b) {
    return a / b - (a % b < 0);
}

static Interval divide_by_number(Interval a, int64_t divisor) {
    Interval result = {.has_low = a.has_low, .has_high = a.has_high};
    result.low = a.has_low ? floor_quotient(a.low, divisor) : 0;
    result.high = a.has_high ? floor_quotient(a.high, divisor) : 0;
    return result;
}

static Interval interval_divide(Interval a, Interval b) {
    if (interval_is_point(b) && b.low > 0)
        return divide_by_number(a, b.low);
    if (b.has_high && b.high <= -1)
        return interval_divide(interval_negate(a), interval_negate(b));
    if (!b.has_low || b.low < 0) { /* the quotient is never larger than what is divided */
        Interval size = interval_abs(a);
        return interval_join(size, interval_negate(size));
    }
    Wide least = b.low > 1 ? b.low : 1, most = wide_high(b) > 1 ? wide_high(b) : 1;
    Interval result = narrow(wide_divide(wide_low(a), wide_low(a) >= 0 ? most : least),
                             wide_divide(wide_high(a), wide_high(a) >= 0 ? least : most));
    return b.low == 0 ? interval_join(result, bounded(0, 0)) : result;
}

/* A remainder has the sign of the divisor and is nearer to 0; by 0 it is 0. */
static Interval interval_modulo(Interval a, Interval b) {
    if (b.has_high && b.high <= -1)
        return interval_negate(interval_modulo(interval_negate(a), interval_negate(b)));
    if (!b.has_low || b.low < 0)
        return (Interval){b.has_low, b.has_high, b.low + 1, b.high > 0 ? b.high - 1 : 0};
    if (interval_is_point(b) && b.low > 0 && a.has_low && a.has_high &&
        floor_quotient(a.low, b.low) == floor_quotient(a.high, b.low))
        return bounded(floor_mod(a.low, b.low), floor_mod(a.high, b.low));
    Interval result = {.has_low = true, .low = 0, .has_high = b.has_high, .high = b.high > 0 ? b.high - 1 : 0};
    if (a.has_low && a.low >= 0)
        result = interval_min(result, (Interval){true, a.has_high, 0, a.high});
    return result;
}

/* --- expressions -------------------------------------------------------------------------------------------------- */

Interval interval_of_type(ElementType type) {
    if (type_is_float(type) || type == TYPE_INT64 || type == TYPE_UINT64)
        return unbounded;
    return bounded(integer_limit(type, false), integer_limit(type, true));
}

/* What is known of an int64 expression. sized: an end that is missing is so for sizes alone, which are small enough
 * that index arithmetic never leaves the 64 bits; without it the value may be any number, and sums with it wrap. */
typedef struct KnownRange {
    Interval range;
    bool sized;
} KnownRange;

/* Of two operands of which one at least is open, and only for sizes. */
static bool is_sized(const KnownRange *a, const KnownRange *b) {
    bool a_closed = interval_is_closed(a->range), b_closed = interval_is_closed(b->range);
    return (a_closed || a->sized) && (b_closed || b->sized) && !(a_closed && b_closed);
}

static KnownRange known_of(const Expr *e);

static bool is_number(const Expr *e, int64_t least) {
    return e->kind == EXPR_INT && e->integer >= least;
}

static bool operation_has_no_high(const Expr *e) {
    const Expr *a = e->args[0], *b = e->args[e->count - 1];
    switch (e->op) {
    case OP_ADD:
    case OP_MAX: return expr_has_no_high(a) || expr_has_no_high(b);
    case OP_SUB: return expr_has_no_high(a);
    case OP_DIV: return is_number(b, 1) && expr_has_no_high(a);
    case OP_MUL:
        return (is_number(a, 1) || expr_has_no_high(a)) && (is_number(b, 1) || expr_has_no_high(b)) &&
               (a->kind != EXPR_INT || b->kind != EXPR_INT);
    default: return false;
    }
}

bool expr_has_no_high(const Expr *e) {
    if (e->kind == EXPR_OP)
        return e->type == TYPE_INT64 && operation_has_no_high(e);
    if (e->kind != EXPR_VAR || e->var->kind == VAR_SCALAR)
        return false;
    return e->var->kind == VAR_SIZE ? !e->var->number : (e->var->extent && expr_has_no_high(e->var->extent));
}

/* Of an axis whose range is being looked for nothing is known. */
static KnownRange known_var(const Var *var) {
    const Expr *extent = var->extent;
    if (var->number && var->type != TYPE_UINT64 && type_is_integer(var->type))
        return (KnownRange){bounded(var->least, var->most), var->kind == VAR_SIZE};
    if (var->kind == VAR_SCALAR)
        return (KnownRange){interval_of_type(var->type), false};
    if (var->kind != VAR_SIZE && !extent)
        return (KnownRange){unbounded, true};
    KnownRange known = {{.has_low = true, .low = 0}, true};
    if (var->kind == VAR_SIZE || expr_has_no_high(extent))
        return known;
    Interval times = extent->kind == EXPR_INT ? bounded(0, extent->integer) : expr_interval(extent);
    known.range.has_high = times.has_high;
    known.range.high = times.high > 1 ? times.high - 1 : 0;
    return known;
}

Interval interval_combine(Op op, Interval a, Interval b) {
    switch (op) {
    case OP_ADD: return interval_add(a, b);
    case OP_SUB: return interval_add(a, interval_negate(b));
    case OP_MUL: return interval_multiply(a, b);
    case OP_DIV: return interval_divide(a, b);
    case OP_MOD: return interval_modulo(a, b);
    case OP_MIN: return interval_min(a, b);
    case OP_MAX: return interval_max(a, b);
    case OP_NEG: return interval_negate(a);
    case OP_ABS: return interval_abs(a);
    case OP_SELECT: return interval_join(a, b);
    default: return unbounded;
    }
}

/* The least number by -1 is the only quotient that does not fit. */
static bool quotient_fits(Interval a, Interval b) {
    return (a.has_low && a.low > INT64_MIN) || (b.has_low && b.low > -1) || (b.has_high && b.high < -1);
}

/* Whether no value that the operator gives leaves the 64 bits. */
static bool result_fits(Op op, Interval a, Interval b, Interval result, bool sized) {
    switch (op) {
    case OP_ADD:
    case OP_SUB:
    case OP_MUL:
    case OP_NEG:
    case OP_ABS: return interval_is_closed(result) || sized;
    case OP_DIV: return sized || quotient_fits(a, b);
    default: return true;
    }
}

/* What the operator makes of what is known of its operands. Whether no value that it gives leaves the 64 bits. */
static bool apply(Op op, const KnownRange *a, const KnownRange *b, KnownRange *known) {
    known->sized = is_sized(a, b);
    known->range = interval_combine(op, a->range, b->range);
    return result_fits(op, a->range, b->range, known->range, known->sized);
}

static bool is_applied_to_number(Op op, int64_t number) {
    return op == OP_ADD || ((op == OP_MUL || op == OP_DIV) && number > 0);
}

/* The same for a sum with a number, or a product with or a quotient by a positive one, which most operators are. */
static bool apply_number(Op op, const KnownRange *a, int64_t number, KnownRange *known) {
    bool closed = interval_is_closed(a->range);
    known->sized = !closed && a->sized;
    if (op == OP_DIV) {
        known->range = divide_by_number(a->range, number);
        return true;
    }
    known->range = op == OP_MUL ? interval_scale(a->range, number) : interval_add(a->range, interval_point(number));
    return interval_is_closed(known->range) || known->sized;
}

/* The operand beside a number that apply_number takes; NULL: there is none. */
static const Expr *operand_beside(const Expr *e, int64_t *number) {
    int last = e->count - 1, n = last == 1 && e->args[0]->kind == EXPR_INT && e->op != OP_DIV ? 0 : last;
    if (last != 1 || e->args[n]->kind != EXPR_INT || e->type != TYPE_INT64)
        return NULL;
    *number = e->args[n]->integer;
    return is_applied_to_number(e->op, *number) ? e->args[1 - n] : NULL;
}

/* Of an int64 operator: false where its value may be any number. */
static bool known_index(const Expr *e, KnownRange *known) {
    int64_t number;
    const Expr *beside = operand_beside(e, &number);
    KnownRange a, b;
    if (beside) {
        a = known_of(beside);
        return apply_number(e->op, &a, number, known);
    }
    int first = e->op == OP_SELECT ? 1 : 0;
    a = known_of(e->args[first]);
    b = e->count > 1 ? known_of(e->args[first + 1]) : a;
    return apply(e->op, &a, &b, known);
}

static KnownRange known_operation(const Expr *e) {
    KnownRange known;
    bool fits = known_index(e, &known);
    if (e->type != TYPE_INT64)
        known.sized = false;
    else if (!fits)
        known = (KnownRange){unbounded, false};
    return known;
}

/* What was reasoned without wrapping holds when no value leaves the type; otherwise the type's own range does. */
static Interval within_type(Interval interval, ElementType type) {
    Interval whole = interval_of_type(type);
    bool fits = (!whole.has_low || (interval.has_low && interval.low >= whole.low)) &&
                (!whole.has_high || (interval.has_high && interval.high <= whole.high));
    if (type == TYPE_UINT64)
        fits = interval.has_low && interval.low >= 0 && interval.has_high;
    return fits ? interval : whole;
}

static KnownRange known_ramp(const Expr *e) {
    KnownRange base = known_of(e->args[0]), stride = known_of(e->args[1]);
    bool sized = is_sized(&base, &stride);
    Interval range = interval_add(base.range, interval_multiply(bounded(0, e->lanes - 1), stride.range));
    return interval_is_closed(range) || sized ? (KnownRange){range, sized} : (KnownRange){unbounded, false};
}

static KnownRange known_offset(const Expr *e) {
    Interval range = interval_point(e->integer);
    for (int i = 0; i < e->count; i++)
        range = interval_add(range, known_of(e->args[i]).range);
    return (KnownRange){interval_is_closed(range) ? range : unbounded, false};
}

/* An integer widened to 64 bits is itself; a uint64 may be any int64. */
static KnownRange known_cast(const Expr *e) {
    if (type_is_float(e->type) || type_is_float(e->args[0]->type) || e->type == TYPE_BOOL)
        return (KnownRange){interval_of_type(e->type), false};
    return (KnownRange){within_type(expr_interval(e->args[0]), e->type), false};
}

static KnownRange known_of(const Expr *e) {
    switch (e->kind) {
    case EXPR_INT:
        return (KnownRange){e->type == TYPE_UINT64 && e->integer < 0 ? unbounded : interval_point(e->integer), false};
    case EXPR_VAR: return known_var(e->var);
    case EXPR_OP:
        if (e->type == TYPE_INT64)
            return known_operation(e);
        return (KnownRange){type_is_integer(e->type) ? within_type(known_operation(e).range, e->type)
                                                     : interval_of_type(e->type),
                            false};
    case EXPR_CAST: return known_cast(e);
    case EXPR_BROADCAST: return known_of(e->args[0]);
    case EXPR_RAMP: return known_ramp(e);
    case EXPR_OFFSET: return known_offset(e);
    default: return (KnownRange){interval_of_type(e->type), false};
    }
}

Interval expr_interval(const Expr *e) {
    return known_of(e).range;
}

bool expr_is_natural(const Expr *e) {
    Interval range = expr_interval(e);
    return range.has_low && range.low >= 0;
}

/* --- exactness ---------------------------------------------------------------------------------------------------- */

static bool is_taken_apart(const Expr *e) {
    return e->kind == EXPR_OP && e->type == TYPE_INT64 &&
           (e->op == OP_ADD || e->op == OP_SUB || e->op == OP_MUL || e->op == OP_DIV || e->op == OP_MOD ||
            e->op == OP_NEG);
}

/* Sums divide by a negative number as they divide the opposite by the positive one: that must not wrap, either. */
static bool is_divided_exactly(const Expr *e, const KnownRange *dividend) {
    KnownRange opposite;
    bool divides = e->op == OP_DIV || e->op == OP_MOD;
    return !divides || e->args[1]->kind != EXPR_INT || e->args[1]->integer >= 0 ||
           apply(OP_NEG, dividend, dividend, &opposite);
}

/* Whether no operator of e leaves the 64 bits; then also what is known of e. */
static bool is_exact(const Expr *e, KnownRange *known) {
    if (!is_taken_apart(e)) {
        *known = known_of(e);
        return true;
    }
    KnownRange a, b;
    int64_t number;
    const Expr *beside = operand_beside(e, &number);
    if (beside)
        return is_exact(beside, &a) && apply_number(e->op, &a, number, known);
    if (!is_exact(e->args[0], &a) || (e->count > 1 && !is_exact(e->args[1], &b)))
        return false;
    if (e->count == 1)
        b = a;
    return is_divided_exactly(e, &a) && apply(e->op, &a, &b, known);
}

bool expr_is_exact(const Expr *e) {
    KnownRange known;
    return !is_taken_apart(e) || is_exact(e, &known);
}
