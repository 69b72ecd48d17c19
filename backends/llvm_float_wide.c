/* llvm_float_wide.c - functions of float that need more digits inside: sin, cos, tan and pow, computed in part in
 * double. */
#include "backends/llvm_functions.h"

#include <math.h>

/* --- sin, cos, tan --- */

/* Beyond, the reduction below has too few digits: the C library's functions take over. */
static const double REDUCTION_LIMIT = 0x1p20;

/* x = quadrant * pi/2 + r, |r| <= pi/4; pi/2 in two parts, of which the first times a number below 2^20 is exact. */
static LLVMValueRef reduce_angle(Lanes *l, LLVMValueRef x, LLVMValueRef *quadrant) {
    Lanes wide = lanes_like(l->code, l->code->f64, x);
    LLVMValueRef bits, angle = LLVMBuildFPExt(l->b, x, wide.real, "");
    LLVMValueRef n = lanes_round_product(&wide, angle, M_2_PI, &bits);
    LLVMValueRef r = lanes_fused(&wide, n, lanes_number(&wide, -1.57079632673412561417), angle);
    r = lanes_fused(&wide, n, lanes_number(&wide, -6.07710050650619224932e-11), r);
    *quadrant = LLVMBuildTrunc(l->b, bits, l->integer, "");
    return LLVMBuildFPTrunc(l->b, r, l->real, "");
}

static LLVMValueRef reduced_sin(Lanes *l, LLVMValueRef r) {
    static const double terms[] = {-1.6666654611e-1, 8.3321608736e-3, -1.9515295891e-4};
    LLVMValueRef square = lanes_multiply(l, r, r);
    return lanes_fused(l, lanes_multiply(l, lanes_polynomial(l, square, terms, 3), square), r, r);
}

static LLVMValueRef reduced_cos(Lanes *l, LLVMValueRef r) {
    static const double terms[] = {1, -0.5, 4.166664568298827e-2, -1.388731625493765e-3, 2.443315711809948e-5};
    return lanes_polynomial(l, lanes_multiply(l, r, r), terms, 5);
}

static LLVMValueRef bit_set(Lanes *l, LLVMValueRef bits, int64_t bit) {
    return LLVMBuildICmp(l->b, LLVMIntNE, LLVMBuildAnd(l->b, bits, lanes_whole(l, bit), ""), lanes_whole(l, 0), "");
}

/* The sine of r + quadrant * pi/2. */
static LLVMValueRef sin_in_quadrant(Lanes *l, LLVMValueRef r, LLVMValueRef quadrant) {
    LLVMValueRef value = lanes_select_where(l, bit_set(l, quadrant, 1), reduced_cos(l, r), reduced_sin(l, r));
    return lanes_select_where(l, bit_set(l, quadrant, 2), LLVMBuildFNeg(l->b, value, ""), value);
}

static LLVMValueRef quick_sin(Lanes *l, LLVMValueRef x) {
    LLVMValueRef quadrant, r = reduce_angle(l, x, &quadrant);
    return sin_in_quadrant(l, r, quadrant);
}

static LLVMValueRef quick_cos(Lanes *l, LLVMValueRef x) {
    LLVMValueRef quadrant, r = reduce_angle(l, x, &quadrant);
    return sin_in_quadrant(l, r, LLVMBuildAdd(l->b, quadrant, lanes_whole(l, 1), ""));
}

static LLVMValueRef quick_tan(Lanes *l, LLVMValueRef x) {
    LLVMValueRef quadrant, r = reduce_angle(l, x, &quadrant);
    LLVMValueRef odd = bit_set(l, quadrant, 1), sine = reduced_sin(l, r), cosine = reduced_cos(l, r);
    LLVMValueRef above = lanes_select_where(l, odd, LLVMBuildFNeg(l->b, cosine, ""), sine);
    return lanes_divide(l, above, lanes_select_where(l, odd, sine, cosine));
}

/* One large lane sends all of them to the C library. */
static LLVMValueRef with_library(Lanes *l, Op op, LLVMValueRef x, LLVMValueRef (*quick)(Lanes *l, LLVMValueRef x)) {
    LLVMValueRef large = lanes_compare(l, LLVMRealOGT, lanes_absolute(l, x), REDUCTION_LIMIT);
    if (lanes_of(x) > 1)
        large = unary_intrinsic(l->code, "llvm.vector.reduce.or", large);
    Branch branch = branch_begin(l->code, large);
    LLVMValueRef slow = call_by_lane(l->code, op, &x);
    branch_else(l->code, &branch);
    LLVMValueRef fast = quick(l, x);
    branch_end(l->code, &branch);
    return branch_phi(l->code, &branch, slow, fast);
}

LLVMValueRef emit_sin(Lanes *l, LLVMValueRef *args) {
    return with_library(l, OP_SIN, args[0], quick_sin);
}

LLVMValueRef emit_cos(Lanes *l, LLVMValueRef *args) {
    return with_library(l, OP_COS, args[0], quick_cos);
}

LLVMValueRef emit_tan(Lanes *l, LLVMValueRef *args) {
    return with_library(l, OP_TAN, args[0], quick_tan);
}

/* --- pow --- */

static const int64_t SQRT_HALF_BITS = 0x3fe6a09e667f3bcd;

/* log2 of a positive finite double that was a float, to about 40 digits: n + log2(m), log(m) = 2 artanh((m - 1) / (m +
 * 1)). */
static LLVMValueRef wide_log2(Lanes *l, LLVMValueRef x) {
    double terms[9];
    for (int i = 0; i < 9; i++)
        terms[i] = 2 * M_LOG2E / (2 * i + 1);
    LLVMValueRef bits =
        LLVMBuildAdd(l->b, bits_of(l->code, x), lanes_whole(l, 0x3ff0000000000000 - SQRT_HALF_BITS), "");
    LLVMValueRef exponent =
        LLVMBuildSub(l->b, LLVMBuildAShr(l->b, bits, lanes_whole(l, 52), ""), lanes_whole(l, 1023), "");
    LLVMValueRef n = LLVMBuildSIToFP(l->b, exponent, l->real, "");
    bits = LLVMBuildAnd(l->b, bits, lanes_whole(l, 0xfffffffffffff), "");
    LLVMValueRef m = real_of(l->code, LLVMBuildAdd(l->b, bits, lanes_whole(l, SQRT_HALF_BITS), ""), l->scalar);
    LLVMValueRef s = lanes_divide(l, lanes_subtract(l, m, lanes_number(l, 1)), lanes_add(l, m, lanes_number(l, 1)));
    return lanes_fused(l, lanes_polynomial(l, lanes_multiply(l, s, s), terms, 9), s, n);
}

/* 2^x for |x| <= 200, by the series of exp(f log(2)), |f| <= 1/2. */
static LLVMValueRef wide_exp2(Lanes *l, LLVMValueRef x) {
    double terms[10] = {1};
    for (int i = 1; i < 10; i++)
        terms[i] = terms[i - 1] * M_LN2 / i;
    LLVMValueRef bits, n = lanes_round_product(l, x, 1, &bits);
    LLVMValueRef power = lanes_polynomial(l, lanes_subtract(l, x, n), terms, 10);
    LLVMValueRef exponent =
        LLVMBuildShl(l->b, LLVMBuildAdd(l->b, bits, lanes_whole(l, 1023), ""), lanes_whole(l, 52), "");
    return lanes_multiply(l, power, real_of(l->code, exponent, l->scalar));
}

/* |x|^y, where 0 and infinity have infinite logarithms. */
static LLVMValueRef magnitude_pow(Lanes *l, LLVMValueRef magnitude, LLVMValueRef y) {
    Lanes wide = lanes_like(l->code, l->code->f64, y);
    LLVMValueRef logarithm = wide_log2(&wide, LLVMBuildFPExt(l->b, magnitude, wide.real, ""));
    LLVMValueRef zero = lanes_compare(l, LLVMRealOEQ, magnitude, 0),
                 infinite = lanes_compare(l, LLVMRealOEQ, magnitude, INFINITY);
    logarithm = lanes_select_where(&wide, zero, lanes_number(&wide, -INFINITY), logarithm);
    logarithm = lanes_select_where(&wide, infinite, lanes_number(&wide, INFINITY), logarithm);
    LLVMValueRef exponent = lanes_multiply(&wide, LLVMBuildFPExt(l->b, y, wide.real, ""), logarithm);
    return LLVMBuildFPTrunc(l->b, wide_exp2(&wide, lanes_clamp(&wide, exponent, -200, 200)), l->real, "");
}

static LLVMValueRef is_whole(Lanes *l, LLVMValueRef x) {
    return LLVMBuildFCmp(l->b, LLVMRealOEQ, unary_intrinsic(l->code, "llvm.trunc", x), x, "");
}

/* C's special cases: a negative base needs a whole exponent, an odd one keeps the sign; 1^y and x^0 are 1 for all. */
LLVMValueRef emit_pow(Lanes *l, LLVMValueRef *args) {
    LLVMValueRef x = args[0], y = args[1], magnitude = lanes_absolute(l, x), result = magnitude_pow(l, magnitude, y);
    LLVMValueRef even_half = is_whole(l, lanes_multiply(l, y, lanes_number(l, 0.5))), whole_y = is_whole(l, y);
    LLVMValueRef odd = lanes_both(l, whole_y, LLVMBuildNot(l->b, even_half, ""));
    LLVMValueRef signed_result = binary_intrinsic(l->code, "llvm.copysign", result, x);
    result = lanes_select_where(l, odd, signed_result, result);
    LLVMValueRef finite_negative =
        lanes_both(l, lanes_compare(l, LLVMRealOLT, x, 0), lanes_compare(l, LLVMRealONE, x, -INFINITY));
    LLVMValueRef undefined = lanes_both(l, finite_negative, LLVMBuildNot(l->b, whole_y, ""));
    undefined = LLVMBuildOr(l->b, undefined, LLVMBuildFCmp(l->b, LLVMRealUNO, x, y, ""), "");
    result = lanes_select_where(l, undefined, lanes_number(l, NAN), result);
    LLVMValueRef infinite_y = lanes_compare(l, LLVMRealOEQ, lanes_absolute(l, y), INFINITY);
    LLVMValueRef unit = lanes_both(l, lanes_compare(l, LLVMRealOEQ, magnitude, 1), infinite_y);
    unit = LLVMBuildOr(l->b, unit, lanes_compare(l, LLVMRealOEQ, x, 1), "");
    unit = LLVMBuildOr(l->b, unit, lanes_compare(l, LLVMRealOEQ, y, 0), "");
    return lanes_select_where(l, unit, lanes_number(l, 1), result);
}
