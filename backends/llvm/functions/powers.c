/* powers.c - pow: for float partly computed in double; for double partly as a sum of two doubles, if there are fused
 * multiply-adds. */
#include "backends/llvm/functions/functions.h"

#include <math.h>

static const int64_t SQRT_HALF_BITS = 0x3fe6a09e667f3bcd;

/* log2 of a positive finite double that was a float, to about 36 binary digits: n + log2(m), with log(m) = 2 artanh((m
 * - 1) / (m + 1)). */
static LLVMValueRef wide_log2(Lanes *l, LLVMValueRef x) {
    static const double terms[] = {2.88539008179001352, 0.961796673415497375, 0.577083573363693353,
                                   0.411673299141158126, 0.340721114954929513};
    LLVMValueRef bits =
        LLVMBuildAdd(l->b, bits_of(l->code, x), lanes_whole(l, 0x3ff0000000000000 - SQRT_HALF_BITS), "");
    LLVMValueRef exponent =
        LLVMBuildSub(l->b, LLVMBuildAShr(l->b, bits, lanes_whole(l, 52), ""), lanes_whole(l, 1023), "");
    LLVMValueRef n = LLVMBuildSIToFP(l->b, exponent, l->real, "");
    bits = LLVMBuildAnd(l->b, bits, lanes_whole(l, 0xfffffffffffff), "");
    LLVMValueRef m = real_of(l->code, LLVMBuildAdd(l->b, bits, lanes_whole(l, SQRT_HALF_BITS), ""), l->scalar);
    LLVMValueRef s = lanes_divide(l, lanes_subtract(l, m, lanes_number(l, 1)), lanes_add(l, m, lanes_number(l, 1)));
    return lanes_fused(l, lanes_polynomial(l, lanes_multiply(l, s, s), terms, 5), s, n);
}

/* 2^x for |x| <= 200, to about 28 binary digits. */
static LLVMValueRef wide_exp2(Lanes *l, LLVMValueRef x) {
    static const double terms[] = {1.0,
                                   0.693147206860236196,
                                   0.240226509236514947,
                                   0.0555032689115338875,
                                   0.00961805638805777435,
                                   0.00134005622642233209,
                                   0.000154615607788721347};
    LLVMValueRef bits, n = lanes_round_product(l, x, 1, &bits);
    LLVMValueRef power = lanes_polynomial(l, lanes_subtract(l, x, n), terms, 7);
    LLVMValueRef exponent =
        LLVMBuildShl(l->b, LLVMBuildAdd(l->b, bits, lanes_whole(l, 1023), ""), lanes_whole(l, 52), "");
    return lanes_multiply(l, power, real_of(l->code, exponent, l->scalar));
}

/* x|^y; 0 and infinity have infinite logarithms. */
static LLVMValueRef float_magnitude_pow(Lanes *l, LLVMValueRef magnitude, LLVMValueRef y) {
    Lanes wide = lanes_like(l->code, l->code->f64, y);
    LLVMValueRef logarithm = wide_log2(&wide, LLVMBuildFPExt(l->b, magnitude, wide.real, ""));
    LLVMValueRef zero = lanes_compare(l, LLVMRealOEQ, magnitude, 0),
                 infinite = lanes_compare(l, LLVMRealOEQ, magnitude, INFINITY);
    logarithm = lanes_select_where(&wide, zero, lanes_number(&wide, -INFINITY), logarithm);
    logarithm = lanes_select_where(&wide, infinite, lanes_number(&wide, INFINITY), logarithm);
    LLVMValueRef exponent = lanes_multiply(&wide, LLVMBuildFPExt(l->b, y, wide.real, ""), logarithm);
    return LLVMBuildFPTrunc(l->b, wide_exp2(&wide, lanes_clamp(&wide, exponent, -200, 200)), l->real, "");
}

/* A number as a sum of two doubles; the second is below the last digit of the first. */
typedef struct DoubleSum {
    LLVMValueRef high, low;
} DoubleSum;

static LLVMValueRef exactly_fused(Lanes *l, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c) {
    return emit_intrinsic(l->code, "llvm.fma", &l->real, 1, (LLVMValueRef[]){a, b, c}, 3);
}

/* a * b, without the product of the low parts. */
static DoubleSum sum_multiply(Lanes *l, DoubleSum a, DoubleSum b) {
    LLVMValueRef high = lanes_multiply(l, a.high, b.high);
    LLVMValueRef low = exactly_fused(l, a.high, b.high, LLVMBuildFNeg(l->b, high, ""));
    low = lanes_fused(l, a.high, b.low, low);
    return (DoubleSum){high, lanes_fused(l, a.low, b.high, low)};
}

/* a + b for |a| >= |b| or a = 0. */
static DoubleSum sum_add(Lanes *l, LLVMValueRef a, LLVMValueRef b) {
    LLVMValueRef high = lanes_add(l, a, b);
    return (DoubleSum){high, lanes_subtract(l, b, lanes_subtract(l, high, a))};
}

static DoubleSum sum_number(Lanes *l, double high, double low) {
    return (DoubleSum){lanes_number(l, high), lanes_number(l, low)};
}

/* (m - 1) / (m + 1). */
static DoubleSum sum_quotient(Lanes *l, LLVMValueRef m) {
    LLVMValueRef one = lanes_number(l, 1), above = lanes_subtract(l, m, one);
    DoubleSum below = sum_add(l, one, m); /* doubles of equal magnitude: any order is exact */
    LLVMValueRef inverse = lanes_divide(l, one, below.high), high = lanes_multiply(l, above, inverse);
    LLVMValueRef negative = LLVMBuildFNeg(l->b, high, "");
    LLVMValueRef rest = exactly_fused(l, negative, below.high, above);
    rest = lanes_fused(l, negative, below.low, rest);
    return (DoubleSum){high, lanes_multiply(l, rest, inverse)};
}

/* log2 of a positive finite double to about 66 binary digits: n + 2/log(2) * (s + s^3/3 + s^5 * P(s^2)), s = (m - 1) /
 * (m + 1). */
static DoubleSum sum_log2(Lanes *l, LLVMValueRef x) {
    static const double terms[] = {0.57707801635558536,  0.412198583111144035, 0.320598897967052776,
                                   0.262308191491231998, 0.221952786121617179, 0.192380699875598387,
                                   0.168881710620887981, 0.169167119923054604};
    LLVMValueRef n, m = decompose_real(l, x, &n);
    DoubleSum s = sum_quotient(l, m), square = sum_multiply(l, s, s), cube = sum_multiply(l, square, s);
    DoubleSum first = sum_multiply(l, s, sum_number(l, 0x1.71547652b82fep+1, 0x1.777d0ffda0d24p-55));
    DoubleSum third = sum_multiply(l, cube, sum_number(l, 0x1.ec709dc3a03fdp-1, 0x1.d27f05548af0cp-55));
    LLVMValueRef fifth = lanes_multiply(l, cube.high, square.high);
    DoubleSum whole = sum_add(l, n, first.high), sum = sum_add(l, whole.high, third.high);
    LLVMValueRef low = lanes_add(l, first.low, third.low);
    low = lanes_fused(l, fifth, lanes_polynomial(l, square.high, terms, 8), low);
    low = lanes_add(l, lanes_add(l, low, whole.low), sum.low);
    return sum_add(l, sum.high, low);
}

/* The exponent is clamped where the power is 0 or infinite; its low part, which may then be NaN, is dropped. */
static LLVMValueRef double_magnitude_pow(Lanes *l, LLVMValueRef magnitude, LLVMValueRef y) {
    LLVMValueRef zero = lanes_number(l, 0), n;
    DoubleSum logarithm = sum_log2(l, magnitude), exponent = sum_multiply(l, logarithm, (DoubleSum){y, zero});
    LLVMValueRef none = lanes_select_where(l, lanes_compare(l, LLVMRealOEQ, magnitude, 0), lanes_number(l, -INFINITY),
                                           lanes_number(l, INFINITY));
    LLVMValueRef ends = LLVMBuildOr(l->b, lanes_compare(l, LLVMRealOEQ, magnitude, 0),
                                    lanes_compare(l, LLVMRealOEQ, magnitude, INFINITY), "");
    LLVMValueRef high = lanes_select_where(l, ends, lanes_multiply(l, none, y), exponent.high);
    LLVMValueRef inside = lanes_compare(l, LLVMRealOLT, lanes_absolute(l, high), 1100);
    LLVMValueRef low = lanes_select_where(l, inside, exponent.low, zero);
    LLVMValueRef real = round_to_whole(l, lanes_clamp(l, high, -1100, 1100), 1, &n);
    LLVMValueRef rest = lanes_add(l, lanes_subtract(l, lanes_clamp(l, high, -1100, 1100), real), low);
    return scale_real(l, reduced_exp2(l, rest), real, n);
}

static LLVMValueRef magnitude_pow(Lanes *l, LLVMValueRef magnitude, LLVMValueRef y) {
    return lanes_are_wide(l) ? double_magnitude_pow(l, magnitude, y) : float_magnitude_pow(l, magnitude, y);
}

static LLVMValueRef is_whole(Lanes *l, LLVMValueRef x) {
    return LLVMBuildFCmp(l->b, LLVMRealOEQ, unary_intrinsic(l->code, "llvm.trunc", x), x, "");
}

/* C's special cases: a negative base needs an integer exponent, an odd one keeps the sign; 1^y and x^0 are always 1. */
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
