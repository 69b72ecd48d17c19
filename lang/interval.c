/* interval.c - the values that an integer expression can take, as a closed interval.
 *
 * Reasons in mathematical integers: where a bound leaves the 64 bits it is unknown. Loops and axes are taken to run at
 * least once (of one that never runs, all is true), sizes are at least 0, reads hold whatever their type can hold.
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

Interval interval_scale(Interval a, int64_t factor) {
    if (factor < 0)
        return factor == INT64_MIN ? unbounded : interval_scale(interval_negate(a), -factor);
    Interval result = unbounded;
    result.has_low = (a.has_low || factor == 0) && !__builtin_mul_overflow(a.low, factor, &result.low);
    result.has_high = (a.has_high || factor == 0) && !__builtin_mul_overflow(a.high, factor, &result.high);
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

static Interval interval_multiply(Interval a, Interval b) {
    Wide corners[4] = {wide_multiply(wide_low(a), wide_low(b)), wide_multiply(wide_low(a), wide_high(b)),
                       wide_multiply(wide_high(a), wide_low(b)), wide_multiply(wide_high(a), wide_high(b))};
    Wide low = corners[0], high = corners[0];
    for (int i = 1; i < 4; i++) {
        low = corners[i] < low ? corners[i] : low;
        high = corners[i] > high ? corners[i] : high;
    }
    return narrow(low, high);
}

static Interval interval_min(Interval a, Interval b) {
    Wide low = wide_low(a) < wide_low(b) ? wide_low(a) : wide_low(b);
    Wide high = wide_high(a) < wide_high(b) ? wide_high(a) : wide_high(b);
    return narrow(low, high);
}

static Interval interval_max(Interval a, Interval b) {
    return interval_negate(interval_min(interval_negate(a), interval_negate(b)));
}

static Interval interval_join(Interval a, Interval b) {
    return narrow(wide_low(a) < wide_low(b) ? wide_low(a) : wide_low(b),
                  wide_high(a) > wide_high(b) ? wide_high(a) : wide_high(b));
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
    return a / b - (a % b < 0);
}

static Interval interval_divide(Interval a, Interval b) {
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

static Interval interval_modulo(Interval a, Interval b) {
    if (!b.has_low || b.low < 0) {
        Interval size = interval_abs(b);
        return interval_join(size, interval_negate(size));
    }
    if (b.has_high && b.low == b.high && b.low > 0 && a.has_low && a.has_high &&
        floor_div(a.low, b.low) == floor_div(a.high, b.low))
        return bounded(floor_mod(a.low, b.low), floor_mod(a.high, b.low));
    Interval result = {.has_low = true, .low = 0, .has_high = b.has_high, .high = b.high > 0 ? b.high - 1 : 0};
    if (a.has_low && a.low >= 0)
        result = interval_min(result, (Interval){true, a.has_high, 0, a.high});
    return result;
}

/* --- expressions -------------------------------------------------------------------------------------------------- */

static Interval type_interval(ElementType type) {
    if (type_is_float(type) || type == TYPE_INT64 || type == TYPE_UINT64)
        return unbounded;
    return bounded(integer_limit(type, false), integer_limit(type, true));
}

static Interval var_interval(const Var *var) {
    if (var->kind == VAR_SCALAR)
        return type_interval(var->type);
    Interval result = {.has_low = true, .low = 0};
    if (var->kind != VAR_SIZE && var->extent) {
        Interval extent = expr_interval(var->extent);
        result.has_high = extent.has_high;
        result.high = extent.high > 1 ? extent.high - 1 : 0;
    }
    return result;
}

static Interval op_interval(const Expr *e) {
    if (e->op == OP_SELECT)
        return interval_join(expr_interval(e->args[1]), expr_interval(e->args[2]));
    Interval a = expr_interval(e->args[0]);
    Interval b = e->count > 1 ? expr_interval(e->args[1]) : unbounded;
    switch (e->op) {
    case OP_ADD: return interval_add(a, b);
    case OP_SUB: return interval_add(a, interval_negate(b));
    case OP_MUL: return interval_multiply(a, b);
    case OP_DIV: return interval_divide(a, b);
    case OP_MOD: return interval_modulo(a, b);
    case OP_MIN: return interval_min(a, b);
    case OP_MAX: return interval_max(a, b);
    case OP_NEG: return interval_negate(a);
    case OP_ABS: return interval_abs(a);
    default: return unbounded;
    }
}

/* What was reasoned without wrapping holds when no value leaves the type; otherwise the type's own range does. */
static Interval within_type(Interval interval, ElementType type) {
    Interval whole = type_interval(type);
    bool fits = (!whole.has_low || (interval.has_low && interval.low >= whole.low)) &&
                (!whole.has_high || (interval.has_high && interval.high <= whole.high));
    if (type == TYPE_UINT64)
        fits = interval.has_low && interval.low >= 0 && interval.has_high;
    return fits ? interval : whole;
}

Interval expr_interval(const Expr *e) {
    switch (e->kind) {
    case EXPR_INT: return e->type == TYPE_UINT64 && e->integer < 0 ? unbounded : bounded(e->integer, e->integer);
    case EXPR_VAR: return var_interval(e->var);
    case EXPR_OP:
        if (e->type == TYPE_INT64)
            return op_interval(e);
        return type_is_integer(e->type) ? within_type(op_interval(e), e->type) : type_interval(e->type);
    case EXPR_CAST:
        if (type_is_float(e->type) || type_is_float(e->args[0]->type) || e->type == TYPE_BOOL)
            return type_interval(e->type);
        return within_type(expr_interval(e->args[0]), e->type);
    case EXPR_BROADCAST: return expr_interval(e->args[0]);
    case EXPR_RAMP: {
        Interval steps = interval_multiply(bounded(0, e->lanes - 1), expr_interval(e->args[1]));
        return interval_add(expr_interval(e->args[0]), steps);
    }
    default: return type_interval(e->type);
    }
}
