/* interpreter_bounds.c - how far a correct object may be from each value that is computed.
 *
 * Every operation may add a rounding error. (A contracted multiply-add saves one rounding, which changes the result by
 * as much.) It also passes on the errors of its operands: multiplied by its derivative for arithmetic, by trying the
 * ends of the operands' ranges for functions. Where the ends lie on different sides of a comparison, the bound covers
 * the other branch too. An infinite bound says that any value is correct. Functions of the target's library may be
 * wrong by 4 units in the last place.
 */
#include "lang/extremes.h"
#include "sema/interpreter_internal.h"

#include <float.h>
#include <math.h>

double smallest_step(ElementType type) {
    switch (type) {
    case TYPE_HALF: return 0x1p-24;
    case TYPE_BFLOAT16: return 0x1p-133;
    case TYPE_FLOAT: return 0x1p-149;
    default: return 0x1p-1074;
    }
}

double largest_value(ElementType type) {
    switch (type) {
    case TYPE_HALF: return 65504;
    case TYPE_BFLOAT16: return 0x1.fep127;
    case TYPE_FLOAT: return FLT_MAX;
    default: return DBL_MAX;
    }
}

/* The rounding error of a result and of the object's result, in units of half a last place. */
static double rounding(ElementType type, double result, double units) {
    return isfinite(result) ? units * type_roundoff(type) * fabs(result) + smallest_step(type) : 0;
}

static double error_of(const Instruction *argument, int lane) {
    return argument->exact ? 0 : argument->result->error[lane];
}

static double value_of(const Instruction *in, int lane) {
    if (type_is_float(in->type))
        return in->result->real[lane];
    int64_t integer = in->result->integer[lane];
    return in->type == TYPE_UINT64 ? (double)(uint64_t)integer : (double)integer;
}

/* A product that overflows keeps its full precision where it is added: there it may be finite. So it has a bound, by
 * which sums know it. */
static bool product_overflows(const Instruction *in, int lane) {
    return in->op == OP_MUL && type_is_float(in->type) && isinf(in->result->real[lane]) &&
           isfinite(value_of(in->args[0], lane)) && isfinite(value_of(in->args[1], lane));
}

double error_of_term(double term, double error) {
    return isinf(term) && error > 0 ? INFINITY : error;
}

/* A bound that is NaN comes from a NaN or an infinity. It is 0 if the operands are finite, else infinite. */
static double settle(double error, double a, double b) {
    if (!isnan(error))
        return error;
    return isfinite(a) && isfinite(b) ? 0 : INFINITY;
}

/* Outside -fstrict a term with a factor 0 may be left out, as if its other factors were finite. */
static bool may_be_left_out(const Instruction *in, int lane) {
    return in->op == OP_MUL && type_is_float(in->type) && isnan(in->result->real[lane]) &&
           (value_of(in->args[0], lane) == 0 || value_of(in->args[1], lane) == 0);
}

/* Outside -fstrict a quotient may be a product with the reciprocal, which is rounded once more. */
static double roundings_of(Op op) {
    return op == OP_DIV ? 3 : 2;
}

/* --- arithmetic --------------------------------------------------------------------------------------------------- */

static double arithmetic_error(Op op, double a, double b, double result, double error_a, double error_b) {
    switch (op) {
    case OP_ADD:
    case OP_SUB: return error_of_term(a, error_a) + error_of_term(b, error_b);
    case OP_MUL: return (error_b ? fabs(a) * error_b : 0) + (error_a ? fabs(b) * error_a : 0) + error_a * error_b;
    case OP_DIV:
        if (error_b == 0)
            return error_a ? error_a / fabs(b) : 0;
        return fabs(b) > error_b ? (error_a + fabs(result) * error_b) / (fabs(b) - error_b) : INFINITY;
    case OP_MIN:
    case OP_MAX: return larger(error_a, error_b);
    case OP_MOD: return error_a || error_b ? error_a + fabs(b) + error_b : 0;
    default: /* OP_NEG, OP_ABS */ return error_a;
    }
}

static void bound_arithmetic(const Instruction *in, int count) {
    bool rounds =
        type_is_float(in->type) && (in->op == OP_ADD || in->op == OP_SUB || in->op == OP_MUL || in->op == OP_DIV);
    bool binary = in->count > 1;
    for (int l = 0; l < count; l++) {
        double error_a = error_of(in->args[0], l), error_b = binary ? error_of(in->args[1], l) : 0;
        double result = value_of(in, l), a = value_of(in->args[0], l), b = binary ? value_of(in->args[1], l) : 0;
        double error = arithmetic_error(in->op, a, b, result, error_a, error_b);
        if (in->op == OP_DIV && !rounds && error > 0)
            error += 1; /* the quotient of integers may jump by 1 */
        if (product_overflows(in, l))
            result = largest_value(in->type);
        in->result->error[l] =
            may_be_left_out(in, l)
                ? INFINITY
                : settle(error, error_a, error_b) + (rounds ? rounding(in->type, result, roundings_of(in->op)) : 0);
    }
}

static double bound_of_infinite(const Instruction *in, int lane) {
    if (may_be_left_out(in, lane))
        return INFINITY;
    return product_overflows(in, lane) ? rounding(in->type, largest_value(in->type), 2) : 0;
}

/* The most common case, without calls. */
static void bound_exact_operands(const Instruction *in, int count) {
    double unit = roundings_of(in->op) * type_roundoff(in->type), least = smallest_step(in->type);
    for (int l = 0; l < count; l++) {
        double size = fabs(in->result->real[l]);
        in->result->error[l] = size <= DBL_MAX ? unit * size + least : bound_of_infinite(in, l);
    }
}

/* --- comparisons, logic, selection -------------------------------------------------------------------------------- */

static void bound_compare(const Instruction *in, int count) {
    for (int l = 0; l < count; l++) {
        double error = error_of(in->args[0], l) + error_of(in->args[1], l);
        double distance = fabs(value_of(in->args[0], l) - value_of(in->args[1], l));
        in->result->error[l] = error > 0 && (distance <= error || isinf(error));
    }
}

static void bound_logic(const Instruction *in, int count) {
    for (int l = 0; l < count; l++) {
        bool decided = false, uncertain = false;
        for (int i = 0; i < in->count; i++) {
            bool unsure = error_of(in->args[i], l) > 0;
            bool decides = in->op != OP_NOT && !unsure && (in->args[i]->result->integer[l] != 0) == (in->op == OP_OR);
            decided |= decides;
            uncertain |= unsure;
        }
        in->result->error[l] = uncertain && !decided;
    }
}

static void bound_select(const Instruction *in, int count) {
    for (int l = 0; l < count; l++) {
        double error_a = error_of(in->args[1], l), error_b = error_of(in->args[2], l);
        bool first = in->args[0]->result->integer[l];
        double error = first ? error_a : error_b;
        if (error_of(in->args[0], l) > 0) {
            double distance = fabs(value_of(in->args[1], l) - value_of(in->args[2], l));
            error = isnan(distance) ? INFINITY : distance + larger(error_a, error_b);
        }
        in->result->error[l] = error;
    }
}

/* --- functions ---------------------------------------------------------------------------------------------------- */

static double apply_at(const Instruction *in, const double *at) {
    Value args[3];
    for (int i = 0; i < in->count; i++)
        args[i] = (Value){.type = TYPE_DOUBLE, .real = at[i]};
    return value_apply(in->op, args).real;
}

/* The largest distance of the function's values from the result, over all combinations of the ends of its operands. An
 * operand that may be any value may be NaN, which no end shows: erf(+-infinity) is +-1. */
static double spread(const Instruction *in, int lane, double result) {
    double at[3], greatest = 0;
    for (int i = 0; i < in->count; i++)
        if (isinf(error_of(in->args[i], lane)))
            return INFINITY;
    for (int corner = 0; corner < 1 << in->count; corner++) {
        for (int i = 0; i < in->count; i++) {
            double error = error_of(in->args[i], lane);
            at[i] = value_of(in->args[i], lane) + (corner >> i & 1 ? error : -error);
        }
        double distance = fabs(apply_at(in, at) - result);
        if (isnan(distance))
            return INFINITY;
        greatest = larger(greatest, distance);
    }
    return greatest;
}

/* Of an angle: tangents have a pole between two of them. */
static double half_turn(double angle) {
    return floor(angle / M_PI + 0.5);
}

/* The bound for functions whose values between the ends may be farther away than at the ends, or a pole. */
static double function_error(const Instruction *in, int lane, double result) {
    double error_a = error_of(in->args[0], lane), error_b = in->count > 1 ? error_of(in->args[1], lane) : 0;
    double a = value_of(in->args[0], lane), b = in->count > 1 ? value_of(in->args[1], lane) : 0;
    switch (in->op) {
    case OP_SIN:
    case OP_COS: return error_a;
    case OP_TAN: return half_turn(a - error_a) != half_turn(a + error_a) ? INFINITY : spread(in, lane, result) * 2;
    case OP_TGAMMA:
    case OP_LGAMMA: return a - error_a <= 0 ? INFINITY : spread(in, lane, result) * 2;
    case OP_POW: return fabs(a) <= error_a && b < error_b ? INFINITY : spread(in, lane, result) * 2;
    case OP_FMOD: return fabs(b) <= error_b ? INFINITY : error_a + error_b + fabs(b);
    case OP_COPYSIGN: return fabs(b) <= error_b ? 2 * fabs(a) + error_a : error_a;
    case OP_FMIN:
    case OP_FMAX:
    case OP_FABS: return larger(error_a, error_b);
    case OP_NEXTAFTER: return error_a + 2 * type_roundoff(in->type) * fabs(a) + smallest_step(in->type);
    default:
        if (op_info[in->op].between != BETWEEN_MONOTONE)
            return INFINITY;
        return spread(in, lane, result) * (op_info[in->op].exactness == EXACTNESS_STEPS ? 1 : 2);
    }
}

static bool all_certain(const Instruction *in, int lane) {
    for (int i = 0; i < in->count; i++)
        if (error_of(in->args[i], lane) > 0)
            return false;
    return true;
}

static void bound_function(const Instruction *in, int count) {
    for (int l = 0; l < count; l++) {
        double result = value_of(in, l), error = 0;
        if (!all_certain(in, l))
            error = function_error(in, l, result);
        if (isnan(error))
            error = INFINITY;
        if (op_info[in->op].exactness == EXACTNESS_ROUNDS)
            error += rounding(in->type, result, in->op == OP_SQRT || in->op == OP_FMA ? 4 : 10);
        in->result->error[l] = error;
    }
}

void bound_lanes(const Instruction *in, int count) {
    switch (op_info[in->op].class) {
    case CLASS_COMPARE: bound_compare(in, count); break;
    case CLASS_LOGIC: bound_logic(in, count); break;
    case CLASS_SELECT: bound_select(in, count); break;
    case CLASS_MATH: bound_function(in, count); break;
    default:
        if (in->count == 2 && in->args[0]->exact && in->args[1]->exact && type_is_float(in->type))
            bound_exact_operands(in, count);
        else
            bound_arithmetic(in, count);
    }
}

/* --- casts -------------------------------------------------------------------------------------------------------- */

static double cast_distance(const Instruction *in, double at, double result) {
    Value value = value_cast((Value){.type = TYPE_DOUBLE, .real = at}, in->type);
    double cast = in->type == TYPE_UINT64 ? (double)(uint64_t)value.integer : (double)value.integer;
    return fabs(cast - result);
}

/* To an integer: converts the ends. To a narrower float: adds a rounding. */
void bound_cast(const Instruction *in, int count) {
    bool to_real = type_is_float(in->type), narrower = type_roundoff(in->type) > type_roundoff(in->from);
    for (int l = 0; l < count; l++) {
        double error = error_of(in->args[0], l), value = value_of(in->args[0], l), result = value_of(in, l);
        if (!to_real && error > 0) {
            double below = cast_distance(in, value - error, result), above = cast_distance(in, value + error, result);
            bool crosses_zero = in->type == TYPE_BOOL && fabs(value) <= error;
            error = isinf(error) ? INFINITY : crosses_zero ? 1 : larger(below, above);
        }
        in->result->error[l] = error + (to_real && narrower ? rounding(in->type, result, 2) : 0);
    }
}
