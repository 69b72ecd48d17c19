/* llvm_powers.c - pow of float, computed in part in double. */
#include "backends/llvm_functions.h"

#include <math.h>

static const int64_t SQRT_HALF_BITS = 0x3fe6a09e667f3bcd;

/* log2 of a positive finite double that was a float, to about 36 digits: n + log2(m), log(m) = 2 artanh((m - 1) / (m +
 * 1)). */
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

/* 2^x for |x| <= 200, to about 28 digits. */
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
