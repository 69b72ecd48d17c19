/* angles.c - sin, cos and tan as sequences of instructions; see functions/functions.h.
 *
 * Coefficients for float: Moshier's Cephes; for double: Chebyshev interpolation. An angle is reduced to half or a
 * quarter of a turn by parts of pi whose products with the number of turns are exact, or part of a fused multiply-add.
 * Angles that are too large for that are computed apart.
 */
#include "backends/llvm/functions/functions.h"

#include <math.h>

/* --- turns --- */

/* pi in parts: for doubles below 2^20, with fused multiply-adds, and with 33 digits each; for floats in double; for
 * floats with fused multiply-adds. None is negative, so that -0 stays -0. */
enum { FUSED_PARTS = 3, SHORT_PARTS = 4 };
static const double wide_fused_parts[] = {0x1.921fb54442d18p+1, 0x1.1a62633145c06p-53, 0x1.c1cd129024e09p-106};
static const double wide_parts[] = {0x1.921fb544p+1, 0x1.0b4611a6p-33, 0x1.3198a2ep-68, 0x1.b839a252049c1p-103};
static const double float_in_double_parts[] = {0x1.921fb544p+1, 0x1.0b4611a626331p-33};
static const double fused_parts[] = {0x1.921fb0p+1, 0x1.5110b4p-21, 0x1.846988p-47};
static const double REDUCTION_LIMIT = 0x1p20, FUSED_LIMIT = 0x1p16;

/* A part of a turn: x = (n + shift) * size * pi + r. */
typedef struct TurnPart {
    double size, shift;
} TurnPart;

static LLVMValueRef count_parts(Lanes *l, LLVMValueRef x, const TurnPart *part, LLVMValueRef *n) {
    if (part->shift == 0)
        return lanes_round_product(l, x, M_1_PI / part->size, n);
    LLVMValueRef shifted = lanes_fused(l, x, lanes_number(l, M_1_PI / part->size), lanes_number(l, -part->shift));
    return lanes_add(l, lanes_round_product(l, shifted, 1, n), lanes_number(l, part->shift));
}

static LLVMValueRef subtract_parts(Lanes *l, LLVMValueRef x, const TurnPart *part, const double *pi, int count,
                                   LLVMValueRef *n) {
    LLVMValueRef real = count_parts(l, x, part, n);
    for (int i = 0; i < count; i++)
        x = lanes_fused(l, real, lanes_number(l, -pi[i] * part->size), x);
    return x;
}

/* The first difference is exact; what the others lose is added to the last. */
static LLVMValueRef subtract_short_parts(Lanes *l, LLVMValueRef x, const TurnPart *part, LLVMValueRef *n) {
    LLVMValueRef real = count_parts(l, x, part, n), lost = lanes_number(l, 0);
    x = lanes_subtract(l, x, lanes_multiply(l, real, lanes_number(l, wide_parts[0] * part->size)));
    for (int i = 1; i < SHORT_PARTS - 1; i++) {
        LLVMValueRef product = lanes_multiply(l, real, lanes_number(l, wide_parts[i] * part->size));
        LLVMValueRef rest = lanes_subtract(l, x, product);
        lost = lanes_add(l, lost, lanes_subtract(l, lanes_subtract(l, x, rest), product));
        x = rest;
    }
    LLVMValueRef last = lanes_multiply(l, real, lanes_number(l, wide_parts[SHORT_PARTS - 1] * part->size));
    return lanes_subtract(l, x, lanes_subtract(l, last, lost)); /* -0 minus 0 is -0 */
}

static LLVMValueRef wide_reduction(Lanes *l, LLVMValueRef x, const TurnPart *part, LLVMValueRef *n) {
    return l->code->target->fused_multiply_add ? subtract_parts(l, x, part, wide_fused_parts, FUSED_PARTS, n)
                                               : subtract_short_parts(l, x, part, n);
}

static LLVMValueRef float_in_double_reduction(Lanes *l, LLVMValueRef x, const TurnPart *part, LLVMValueRef *n) {
    Lanes wide = lanes_like(l->code, l->code->f64, x);
    LLVMValueRef bits, angle = LLVMBuildFPExt(l->b, x, wide.real, "");
    LLVMValueRef r = subtract_parts(&wide, angle, part, float_in_double_parts, 2, &bits);
    *n = LLVMBuildTrunc(l->b, bits, l->integer, "");
    return LLVMBuildFPTrunc(l->b, r, l->real, "");
}

static LLVMValueRef fused_reduction(Lanes *l, LLVMValueRef x, const TurnPart *part, LLVMValueRef *n) {
    return subtract_parts(l, x, part, fused_parts, FUSED_PARTS, n);
}

/* --- of a reduced angle --- */

static const double sin_float[] = {-1.6666654611e-1, 8.3321608736e-3, -1.9515295891e-4};
static const double sin_double[] = {-0.166666666666666646,  0.00833333333333092456,  -0.000198412698367224178,
                                    2.75573160838163586e-6, -2.50511279440141876e-8, 1.5917848524808261e-10};
static const Series sin_series[] = {SERIES(sin_float), SERIES(sin_double)};
static const double cos_float[] = {4.166664568298827e-2, -1.388731625493765e-3, 2.443315711809948e-5};
static const double cos_double[] = {0.0416666666666666654,   -0.00138888888888873823, 0.0000248015872987430693,
                                    -2.75573172600088382e-7, 2.08761438279931325e-9,  -1.13824567780613058e-11};
static const Series cos_series[] = {SERIES(cos_float), SERIES(cos_double)};

static const double half_turn_float[] = {-0.16666665958223518, 0.00833324159224876322, -0.000198226663133563719,
                                         2.63451956285078234e-6};
static const double half_turn_double[] = {-0.166666666666666666,    0.00833333333333331562,  -0.000198412698412547951,
                                          2.75573192191150112e-6,   -2.50521076108611583e-8, 1.60589769150950071e-10,
                                          -7.64395762256061703e-13, 2.73128689130923065e-15};
static const Series half_turn_series[] = {SERIES(half_turn_float), SERIES(half_turn_double)};

/* r + r^3 * series, with the sign of r, also of -0. */
static LLVMValueRef odd_series(Lanes *l, LLVMValueRef r, const Series *series) {
    LLVMValueRef square = lanes_multiply(l, r, r);
    LLVMValueRef sum = lanes_fused(l, lanes_multiply(l, lanes_series(l, square, series), square), r, r);
    return binary_intrinsic(l->code, "llvm.copysign", sum, r);
}

static LLVMValueRef reduced_cos(Lanes *l, LLVMValueRef r) {
    LLVMValueRef square = lanes_multiply(l, r, r);
    LLVMValueRef rest = lanes_fused(l, square, lanes_series(l, square, cos_series), lanes_number(l, -0.5));
    return lanes_fused(l, square, rest, lanes_number(l, 1));
}

/* The sine of r + n * pi, |r| <= pi/2: an odd n changes the sign. Clamped, since rounding can exceed 1. */
static LLVMValueRef sin_of_half_turns(Lanes *l, LLVMValueRef r, LLVMValueRef n) {
    LLVMValueRef bits = lanes_whole(l, lanes_are_wide(l) ? 63 : 31);
    LLVMValueRef sine = lanes_clamp(l, odd_series(l, r, half_turn_series), -1, 1);
    LLVMValueRef sign = LLVMBuildShl(l->b, n, bits, "");
    return real_of(l->code, LLVMBuildXor(l->b, bits_of(l->code, sine), sign, ""), l->scalar);
}

static LLVMValueRef bit_set(Lanes *l, LLVMValueRef bits, int64_t bit) {
    return LLVMBuildICmp(l->b, LLVMIntNE, LLVMBuildAnd(l->b, bits, lanes_whole(l, bit), ""), lanes_whole(l, 0), "");
}

static LLVMValueRef tan_in_quadrant(Lanes *l, LLVMValueRef r, LLVMValueRef quadrant) {
    LLVMValueRef odd = bit_set(l, quadrant, 1), sine = odd_series(l, r, sin_series), cosine = reduced_cos(l, r);
    LLVMValueRef above = lanes_select_where(l, odd, LLVMBuildFNeg(l->b, cosine, ""), sine);
    return lanes_divide(l, above, lanes_select_where(l, odd, sine, cosine));
}

/* --- by magnitude --- */

typedef LLVMValueRef Reduction(Lanes *l, LLVMValueRef x, const TurnPart *part, LLVMValueRef *n);

typedef struct Angle {
    Op op;
    TurnPart part;
    LLVMValueRef (*of_reduced)(Lanes *l, LLVMValueRef r, LLVMValueRef n);
} Angle;

/* One large lane makes all of them take the other path. */
static LLVMValueRef up_to(Lanes *l, const Angle *angle, LLVMValueRef x, double limit, Reduction *reduction,
                          ApartFunction *beyond) {
    LLVMValueRef large = lanes_compare(l, LLVMRealOGT, lanes_absolute(l, x), limit);
    if (lanes_of(x) > 1)
        large = unary_intrinsic(l->code, "llvm.vector.reduce.or", large);
    Branch branch = branch_begin(l->code, large);
    const char *name = arena_printf(l->code->arena, "%s.beyond.%.0f", op_info[angle->op].spelling, limit);
    LLVMValueRef slow = emit_apart(l, name, beyond, angle, x);
    branch_else(l->code, &branch);
    LLVMValueRef n, r = reduction(l, x, &angle->part, &n), fast = angle->of_reduced(l, r, n);
    branch_end(l->code, &branch);
    return branch_phi(l->code, &branch, slow, fast);
}

static LLVMValueRef in_library(Lanes *l, const void *context, LLVMValueRef *args) {
    const Angle *angle = context;
    return call_by_lane(l->code, angle->op, args);
}

static LLVMValueRef in_double(Lanes *l, const void *context, LLVMValueRef *args) {
    return up_to(l, context, args[0], REDUCTION_LIMIT, float_in_double_reduction, in_library);
}

static LLVMValueRef function_of_angle(Lanes *l, const Angle *angle, LLVMValueRef x) {
    if (lanes_are_wide(l))
        return up_to(l, angle, x, REDUCTION_LIMIT, wide_reduction, in_library);
    if (l->code->target->fused_multiply_add)
        return up_to(l, angle, x, FUSED_LIMIT, fused_reduction, in_double);
    return in_double(l, angle, &x);
}

LLVMValueRef emit_sin(Lanes *l, LLVMValueRef *args) {
    return function_of_angle(l, &(Angle){OP_SIN, {1, 0}, sin_of_half_turns}, args[0]);
}

/* cos(x) = sin(r + (n + 1) * pi) where x = (n + 1/2) * pi + r. */
static LLVMValueRef cos_of_half_turns(Lanes *l, LLVMValueRef r, LLVMValueRef n) {
    return sin_of_half_turns(l, r, LLVMBuildAdd(l->b, n, lanes_whole(l, 1), ""));
}

LLVMValueRef emit_cos(Lanes *l, LLVMValueRef *args) {
    return function_of_angle(l, &(Angle){OP_COS, {1, 0.5}, cos_of_half_turns}, args[0]);
}

LLVMValueRef emit_tan(Lanes *l, LLVMValueRef *args) {
    return function_of_angle(l, &(Angle){OP_TAN, {0.5, 0}, tan_in_quadrant}, args[0]);
}
