/* error_functions.c - erf and erfc as sequences of instructions, after Juffa; see functions/functions.h. */
#include "backends/llvm/functions/functions.h"

#include <math.h>

static const double erfc_series_float[] = {0.276978391005485631,     -0.0927639174035536271,  -0.166031286673626205,
                                           0.164053668440917513,     -0.0542058458125717295,  -0.00804820125545136256,
                                           0.008639895234154712,     0.00128335717256481204,  -0.00125155663139689269,
                                           -0.000374187213565732681, 0.0000211309658683555289};
static const double erfc_series_double[] = {
    0.27697838155252872,     -0.0927638265857459404,    -0.166030397615290028,    0.164051280033434704,
    -0.0542200009919773652,  -0.00803401508218697392,   0.00872265387367474769,   0.00127133896250340768,
    -0.0014568139122092059,  -0.000454340803631998418,  0.000206366866088766285,  0.000151039033990246086,
    -1.50769930311208346e-6, -0.0000364227474779748836, -0.000013501568564249724, 3.7084749370013346e-6,
    5.24708834460663982e-6,  1.51088930384814002e-6,    -7.36350752649715616e-7,  -8.50114006312629833e-7,
    -2.1660732254430915e-7,  1.59990403293845943e-7,    1.31195165989477334e-7,   8.05928440960857332e-9,
    -2.22857627371712263e-8, -6.56618677839811742e-9};
static const Series erfc_series[] = {SERIES(erfc_series_float), SERIES(erfc_series_double)};

/* 1 + x rounded, and the rounding error; x is less than 1, or the error less than a digit of the sum. */
static LLVMValueRef one_and(Lanes *l, LLVMValueRef x, LLVMValueRef *lost) {
    LLVMValueRef one = lanes_number(l, 1), sum = lanes_add(l, x, one);
    *lost = lanes_subtract(l, x, lanes_subtract(l, sum, one));
    return sum;
}

/* (1 + 2a) * exp(a^2) * erfc(a) - 1 is smooth in (a - 2) / (a + 2) for all a >= 0. The rounding errors of the sums
 * would show where the result is near 1. */
static LLVMValueRef erfc_without_exp(Lanes *l, LLVMValueRef a) {
    LLVMValueRef two = lanes_number(l, 2), lost_above, lost_below;
    LLVMValueRef q = lanes_divide(l, lanes_subtract(l, a, two), lanes_add(l, a, two));
    LLVMValueRef above = one_and(l, lanes_series(l, q, erfc_series), &lost_above),
                 below = one_and(l, lanes_add(l, a, a), &lost_below);
    LLVMValueRef quotient = lanes_divide(l, above, below);
    LLVMValueRef rest = lanes_fused(l, LLVMBuildFNeg(l->b, quotient, ""), lost_below, lost_above);
    return lanes_fused(l, rest, quotient, quotient);
}

/* y * exp(-a^2): the square of the upper half of a's digits is exact. */
static LLVMValueRef times_exp_of_square(Lanes *l, LLVMValueRef a, LLVMValueRef y) {
    LLVMValueRef mask = lanes_whole(l, lanes_are_wide(l) ? -(INT64_C(1) << 27) : -(1 << 12));
    LLVMValueRef high = real_of(l->code, LLVMBuildAnd(l->b, bits_of(l->code, a), mask, ""), l->scalar);
    LLVMValueRef low = lanes_multiply(l, lanes_subtract(l, a, high), lanes_add(l, a, high));
    LLVMValueRef n, real = round_to_whole(l, lanes_multiply(l, a, a), -M_LOG2E, &n);
    LLVMValueRef square = LLVMBuildFNeg(l->b, lanes_multiply(l, high, high), "");
    LLVMValueRef r = reduce_by_log2(l, square, low, real);
    return scale_real(l, lanes_fused(l, reduced_expm1(l, r), y, y), real, n);
}

/* erfc(|x|); x is clamped where the result is 0. */
static LLVMValueRef erfc_of_magnitude(Lanes *l, LLVMValueRef x) {
    LLVMValueRef a = lanes_clamp(l, lanes_absolute(l, x), 0, lanes_are_wide(l) ? 27.3 : 10.06);
    return times_exp_of_square(l, a, erfc_without_exp(l, a));
}

LLVMValueRef emit_erfc(Lanes *l, LLVMValueRef *args) {
    LLVMValueRef result = erfc_of_magnitude(l, args[0]);
    LLVMValueRef mirrored = lanes_subtract(l, lanes_number(l, 2), result);
    return lanes_select_where(l, lanes_compare(l, LLVMRealOLT, args[0], 0), mirrored, result);
}

/* 1 - exp(-a^2) * P((a - 2) / (a + 2)) for a >= 1; a is clamped where the result is 1. */
static LLVMValueRef double_erf_beyond_one(Lanes *l, LLVMValueRef a) {
    static const double terms[] = {0.255395676310505749,     -0.427185847413956312,    0.24165819424249241,
                                   -0.0789785810163528646,   0.00373289239442948221,   0.00699746174961973138,
                                   -0.000847142526735030055, -0.000981974612255866899, 0.0000435424129952342749,
                                   0.000174277007571085108,  0.0000275072949866754311, -0.0000268726637121637813,
                                   -0.0000128452990160344086};
    LLVMValueRef n, two = lanes_number(l, 2);
    a = lanes_clamp(l, a, 0, 5.95);
    LLVMValueRef q = lanes_divide(l, lanes_subtract(l, a, two), lanes_add(l, a, two));
    LLVMValueRef square = lanes_multiply(l, a, a), real = round_to_whole(l, square, -M_LOG2E, &n);
    LLVMValueRef r = reduce_by_log2(l, LLVMBuildFNeg(l->b, square, ""), NULL, real);
    LLVMValueRef y = lanes_polynomial(l, q, terms, 13);
    y = LLVMBuildFNeg(l->b, lanes_fused(l, reduced_expm1(l, r), y, y), "");
    return lanes_fused(l, y, lanes_power_of_two(l, n), lanes_number(l, 1));
}

/* x + x * P(x^2) near zero. */
static LLVMValueRef double_erf(Lanes *l, LLVMValueRef x) {
    static const double terms[] = {0.128379167095512567,    -0.376126389031835404,     0.112837916709450063,
                                   -0.0268661706432377704,  0.00522397760711642273,    -0.000854832597538969208,
                                   0.000120552949048397079, -0.0000149247369074196603, 1.64474247033173624e-6,
                                   -1.62084838018717059e-7, 1.37200645467776856e-8,    -7.79589882700214224e-10};
    LLVMValueRef near = lanes_fused(l, lanes_polynomial(l, lanes_multiply(l, x, x), terms, 12), x, x);
    LLVMValueRef a = lanes_absolute(l, x), far = double_erf_beyond_one(l, a);
    far = binary_intrinsic(l->code, "llvm.copysign", far, x);
    return lanes_select_where(l, lanes_compare(l, LLVMRealOGT, a, 1), far, near);
}

/* x + x * P(x^2) near zero, 1 - exp(Q(|x|)) beyond. */
static LLVMValueRef float_erf(Lanes *l, LLVMValueRef x) {
    static const double near[] = {1.28379166e-1,  -3.76125336e-1, 1.12819925e-1,
                                  -2.67681349e-2, 4.99119423e-3,  -5.96761703e-4};
    static const double far[] = {-1.28717512e-1, -6.34846687e-1, -1.06777877e-1, 2.42546219e-2,
                                 -3.88396438e-3, 3.83197126e-4,  -1.72853470e-5};
    LLVMValueRef t = lanes_absolute(l, x), square = lanes_multiply(l, x, x);
    LLVMValueRef small = lanes_fused(l, lanes_polynomial(l, square, near, 6), x, x);
    t = lanes_clamp(l, t, 0, 5); /* beyond that the polynomial decreases */
    LLVMValueRef exponent = lanes_subtract(l, lanes_multiply(l, lanes_polynomial(l, t, far, 7), t), t);
    LLVMValueRef large = lanes_subtract(l, lanes_number(l, 1), emit_exp(l, &exponent));
    large = binary_intrinsic(l->code, "llvm.copysign", large, x);
    return lanes_select_where(l, lanes_compare(l, LLVMRealOGT, t, 0.927734375), large, small);
}

LLVMValueRef emit_erf(Lanes *l, LLVMValueRef *args) {
    return lanes_are_wide(l) ? double_erf(l, args[0]) : float_erf(l, args[0]);
}
