/* llvm_float_functions.c - functions of float as sequences of instructions, for scalars and vectors, within 4 ulp
 * for all floats. A row of the table each; a function without one is the C library's.
 *
 * No step depends on fused multiply-adds for its accuracy: constants are split so that products with small whole
 * numbers are exact. Nothing converts a NaN to an integer, which would be undefined. Coefficients: Moshier's Cephes, if
 * not said otherwise.
 */
#include "backends/llvm_lanes.h"

#include <math.h>

/* --- exponents --- */

/* 2^n for whole n from -126 to 127. */
static LLVMValueRef power_of_two(Lanes *l, LLVMValueRef n) {
    LLVMValueRef exponent = LLVMBuildShl(l->b, LLVMBuildAdd(l->b, n, lanes_whole(l, 127), ""), lanes_whole(l, 23), "");
    return real_of(l->code, exponent, l->scalar);
}

/* x * 2^n for n from -252 to 254, which `real` is too: by an instruction that does it, or in two steps that each are in
 * range; the last one rounds. */
static LLVMValueRef scale(Lanes *l, LLVMValueRef x, LLVMValueRef real, LLVMValueRef n) {
    if (lanes_can_scale(l))
        return lanes_scale(l, x, real);
    LLVMValueRef half = LLVMBuildAShr(l->b, n, lanes_whole(l, 1), "");
    x = lanes_multiply(l, x, power_of_two(l, half));
    return lanes_multiply(l, x, power_of_two(l, LLVMBuildSub(l->b, n, half, "")));
}

/* x * y rounded, as both; for values below 2^22. */
static LLVMValueRef round_to_whole(Lanes *l, LLVMValueRef x, double y, LLVMValueRef *n) {
    LLVMValueRef real = lanes_round_product(l, x, y, n);
    *n = LLVMBuildSub(l->b, *n, lanes_whole(l, 0x4b400000), "");
    return real;
}

/* x = n * log(2) + r, |r| <= log(2) / 2: returns r. */
static LLVMValueRef reduce_exp(Lanes *l, LLVMValueRef x, LLVMValueRef *real, LLVMValueRef *n) {
    *real = round_to_whole(l, x, M_LOG2E, n);
    LLVMValueRef r = lanes_fused(l, *real, lanes_number(l, -0.693359375), x);
    return lanes_fused(l, *real, lanes_number(l, 2.12194440e-4), r);
}

/* exp(r) - 1 for a reduced r. */
static LLVMValueRef reduced_expm1(Lanes *l, LLVMValueRef r) {
    static const double terms[] = {5.0000001201e-1, 1.6666665459e-1, 4.1665795894e-2,
                                   8.3334519073e-3, 1.3981999507e-3, 1.9875691500e-4};
    return lanes_fused(l, lanes_polynomial(l, r, terms, 6), lanes_multiply(l, r, r), r);
}

/* 2^(n - whole n) by a table, n = 32nds, and a parabola for what is left, |r| <= log(2) / 64. From above x needs no bound:
 * the parabola has no zero, and the scale of what is large, or no number for an infinite x, is infinite. */
static LLVMValueRef looked_up_exp(Lanes *l, LLVMValueRef x) {
    static const double rounder = 0x1.8p18, linear = 1.0000146609, square = 0.5;
    double table[LANES_TABLE];
    for (int i = 0; i < LANES_TABLE; i++)
        table[i] = exp2((double)i / LANES_TABLE);
    x = lanes_select_where(l, lanes_compare(l, LLVMRealOLT, x, -104), lanes_number(l, -104), x);
    LLVMValueRef steps = lanes_fused(l, x, lanes_number(l, M_LOG2E), lanes_number(l, rounder));
    LLVMValueRef n = lanes_subtract(l, steps, lanes_number(l, rounder));
    LLVMValueRef r = lanes_fused(l, n, lanes_number(l, -0.693359375), x);
    r = lanes_fused(l, n, lanes_number(l, 2.12194440e-4), r);
    LLVMValueRef entry = lanes_look_up(l, table, bits_of(l->code, steps));
    LLVMValueRef first = lanes_multiply(l, entry, r); /* before the last use of r, so that no copy of it is made */
    LLVMValueRef slope = lanes_fused(l, r, lanes_number(l, square), lanes_number(l, linear));
    return lanes_scale(l, lanes_fused(l, first, slope, entry), n);
}

/* Minimax of (exp(r) - p(r)) / exp(r) for a reduced r, with p(0) = 1: 2 ulp together with the roundings. */
static LLVMValueRef emit_exp(Lanes *l, LLVMValueRef *args) {
    if (lanes_can_look_up(l))
        return looked_up_exp(l, args[0]);
    static const double terms[] = {
        1, 9.9999970631e-1, 4.9999147824e-1, 1.6667638131e-1, 4.1898161975e-2, 8.2902730950e-3};
    LLVMValueRef n, real, r = reduce_exp(l, lanes_clamp(l, args[0], -104, 89), &real, &n);
    return scale(l, lanes_polynomial(l, r, terms, 6), real, n);
}

static LLVMValueRef emit_exp2(Lanes *l, LLVMValueRef *args) {
    static const double terms[] = {1,
                                   6.931472028550421e-1,
                                   2.402264791363012e-1,
                                   5.550332471162809e-2,
                                   9.618437357674640e-3,
                                   1.339887440266574e-3,
                                   1.535336188319500e-4};
    LLVMValueRef n, x = lanes_clamp(l, args[0], -151, 129);
    LLVMValueRef real = round_to_whole(l, x, 1, &n), rest = lanes_subtract(l, x, real);
    return scale(l, lanes_polynomial(l, rest, terms, 7), real, n);
}

/* 2^n * p + (2^n - 1), at half the size, since 2^128 is no float. Below -18 the result is -1. */
static LLVMValueRef emit_expm1(Lanes *l, LLVMValueRef *args) {
    LLVMValueRef n, real, r = reduce_exp(l, lanes_clamp(l, args[0], -18, 89), &real, &n);
    LLVMValueRef power = power_of_two(l, LLVMBuildSub(l->b, n, lanes_whole(l, 1), ""));
    LLVMValueRef half = lanes_fused(l, power, reduced_expm1(l, r), lanes_subtract(l, power, lanes_number(l, 0.5)));
    return lanes_add(l, half, half);
}

/* --- logarithms --- */

/* x = m * 2^n with m from sqrt(1/2) to sqrt(2). */
typedef struct Decomposed {
    LLVMValueRef n;        /* as a real */
    LLVMValueRef fraction; /* m - 1 */
    LLVMValueRef rest;     /* log(m) - fraction */
} Decomposed;

static const int64_t SQRT_HALF_BITS = 0x3f3504f3;

static LLVMValueRef decompose(Lanes *l, LLVMValueRef x, LLVMValueRef *n) {
    LLVMValueRef small = lanes_compare(l, LLVMRealOLT, x, 0x1p-126);
    LLVMValueRef normal = lanes_select_where(l, small, lanes_multiply(l, x, lanes_number(l, 0x1p23)), x);
    LLVMValueRef bits = bits_of(l->code, normal);
    bits = LLVMBuildAdd(l->b, bits, lanes_whole(l, 0x3f800000 - SQRT_HALF_BITS), "");
    LLVMValueRef exponent = LLVMBuildAShr(l->b, bits, lanes_whole(l, 23), "");
    LLVMValueRef bias = lanes_select_where(l, small, lanes_whole(l, 127 + 23), lanes_whole(l, 127));
    *n = LLVMBuildSIToFP(l->b, LLVMBuildSub(l->b, exponent, bias, ""), l->real, "");
    bits = LLVMBuildAnd(l->b, bits, lanes_whole(l, 0x7fffff), "");
    return real_of(l->code, LLVMBuildAdd(l->b, bits, lanes_whole(l, SQRT_HALF_BITS), ""), l->scalar);
}

static Decomposed decompose_log(Lanes *l, LLVMValueRef x) {
    static const double terms[] = {3.3333331174e-1,  -2.4999993993e-1, 2.0000714765e-1,
                                   -1.6668057665e-1, 1.4249322787e-1,  -1.2420140846e-1,
                                   1.1676998740e-1,  -1.1514610310e-1, 7.0376836292e-2};
    Decomposed d;
    d.fraction = lanes_subtract(l, decompose(l, x, &d.n), lanes_number(l, 1));
    LLVMValueRef square = lanes_multiply(l, d.fraction, d.fraction);
    LLVMValueRef cubic =
        lanes_multiply(l, lanes_multiply(l, lanes_polynomial(l, d.fraction, terms, 9), d.fraction), square);
    d.rest = lanes_fused(l, square, lanes_number(l, -0.5), cubic);
    return d;
}

/* What a logarithm gives where its argument is not positive and finite: `distance` is the argument, or more than -1. */
static LLVMValueRef logarithm_ends(Lanes *l, LLVMValueRef x, double zero, LLVMValueRef result) {
    LLVMValueRef none =
        lanes_select_where(l, lanes_compare(l, LLVMRealOEQ, x, zero), lanes_number(l, -INFINITY), lanes_number(l, NAN));
    result = lanes_select_where(l, lanes_compare(l, LLVMRealOGT, x, zero), result, none);
    return lanes_select_where(l, lanes_compare(l, LLVMRealOEQ, x, INFINITY), x, result);
}

/* n * log(2) + log(m) + more. */
static LLVMValueRef sum_log(Lanes *l, const Decomposed *d, LLVMValueRef more) {
    LLVMValueRef low =
        lanes_fused(l, d->n, lanes_number(l, -2.12194440e-4), more ? lanes_add(l, d->rest, more) : d->rest);
    return lanes_fused(l, d->n, lanes_number(l, 0.693359375), lanes_add(l, d->fraction, low));
}

/* Of 32nds of the mantissas from 3/4 to 3/2, as their first bits stand in memory: numbers of few digits near the
 * reciprocals, 1 next to 1, and the logarithms of what they are the reciprocals of. */
static void fill_log_tables(double *reciprocals, double *logarithms) {
    for (int i = 0; i < LANES_TABLE; i++) {
        double middle = (1 + (i + 0.5) / LANES_TABLE) / (i < LANES_TABLE / 2 ? 1 : 2);
        reciprocals[i] = i == 0 || i == LANES_TABLE - 1 ? 1 : round(256 / middle) / 256;
        logarithms[i] = -log(reciprocals[i]);
    }
}

/* x = m * 2^n: n * log(2) + log(1 / r) + log(m * r) + more, m * r within 1/32 of 1. Both parts of log(2) are positive,
 * since n is infinite for 0 and for what is infinite. */
static LLVMValueRef looked_up_log(Lanes *l, LLVMValueRef x, LLVMValueRef more) {
    static const double terms[] = {-1. / 2, 1. / 3, -1. / 4, 1. / 5}, high = 0x1.62e4p-1, low = 1.428606765330187e-6;
    double reciprocals[LANES_TABLE], logarithms[LANES_TABLE];
    fill_log_tables(reciprocals, logarithms);
    LLVMValueRef m = lanes_mantissa(l, x), n = lanes_subtract(l, lanes_exponent(l, x), lanes_exponent(l, m));
    LLVMValueRef index = LLVMBuildLShr(l->b, bits_of(l->code, m), lanes_whole(l, 18), "");
    LLVMValueRef f = lanes_fused(l, m, lanes_look_up(l, reciprocals, index), lanes_number(l, -1));
    LLVMValueRef sum = lanes_fused(l, n, lanes_number(l, high), lanes_look_up(l, logarithms, index));
    LLVMValueRef rest = lanes_fused(l, lanes_multiply(l, f, f), lanes_polynomial(l, f, terms, 4), f);
    rest = lanes_fused(l, n, lanes_number(l, low), rest);
    return lanes_add(l, sum, more ? lanes_add(l, rest, more) : rest);
}

static LLVMValueRef emit_log(Lanes *l, LLVMValueRef *args) {
    if (lanes_can_look_up(l))
        return looked_up_log(l, args[0], NULL);
    Decomposed d = decompose_log(l, args[0]);
    return logarithm_ends(l, args[0], 0, sum_log(l, &d, NULL));
}

/* log(u) + c / u where u + c is 1 + x, u its float. */
static LLVMValueRef emit_log1p(Lanes *l, LLVMValueRef *args) {
    LLVMValueRef x = args[0], one = lanes_number(l, 1), u = lanes_add(l, x, one);
    LLVMValueRef below = lanes_subtract(l, x, lanes_subtract(l, u, one)),
                 above = lanes_subtract(l, one, lanes_subtract(l, u, x));
    LLVMValueRef c = lanes_select_where(l, lanes_compare(l, LLVMRealOLT, x, 1), below, above);
    if (lanes_can_look_up(l))
        return logarithm_ends(l, x, -1, looked_up_log(l, u, lanes_divide(l, c, u)));
    Decomposed d = decompose_log(l, u);
    return logarithm_ends(l, x, -1, sum_log(l, &d, lanes_divide(l, c, u)));
}

static LLVMValueRef emit_log2(Lanes *l, LLVMValueRef *args) {
    Decomposed d = decompose_log(l, args[0]);
    LLVMValueRef factor = lanes_number(l, M_LOG2E - 1);
    LLVMValueRef sum = lanes_fused(l, d.fraction, factor, lanes_multiply(l, d.rest, factor));
    sum = lanes_add(l, lanes_add(l, sum, d.rest), d.fraction);
    return logarithm_ends(l, args[0], 0, lanes_add(l, sum, d.n));
}

static LLVMValueRef emit_log10(Lanes *l, LLVMValueRef *args) {
    static const double high = 4.3359375e-1, low = 7.00731903251827651129e-4;         /* log10(e) */
    static const double high_two = 3.0078125e-1, low_two = 2.48745663981195213739e-4; /* log10(2) */
    Decomposed d = decompose_log(l, args[0]);
    LLVMValueRef sum = lanes_multiply(l, lanes_add(l, d.fraction, d.rest), lanes_number(l, low));
    sum = lanes_fused(l, d.rest, lanes_number(l, high), sum);
    sum = lanes_fused(l, d.n, lanes_number(l, low_two), sum);
    sum = lanes_fused(l, d.fraction, lanes_number(l, high), sum);
    return logarithm_ends(l, args[0], 0, lanes_fused(l, d.n, lanes_number(l, high_two), sum));
}

/* --- tanh and erf --- */

/* t / (t + 2) with t = exp(2|x|) - 1. */
static LLVMValueRef emit_tanh(Lanes *l, LLVMValueRef *args) {
    LLVMValueRef magnitude = lanes_clamp(l, lanes_absolute(l, args[0]), 0, 10);
    LLVMValueRef twice = lanes_add(l, magnitude, magnitude), t = emit_expm1(l, &twice);
    LLVMValueRef result = lanes_divide(l, t, lanes_add(l, t, lanes_number(l, 2)));
    return binary_intrinsic(l->code, "llvm.copysign", result, args[0]);
}

/* Juffa: x + x * P(x^2) near zero, 1 - exp(Q(|x|)) beyond. */
static LLVMValueRef emit_erf(Lanes *l, LLVMValueRef *args) {
    static const double near[] = {1.28379166e-1,  -3.76125336e-1, 1.12819925e-1,
                                  -2.67681349e-2, 4.99119423e-3,  -5.96761703e-4};
    static const double far[] = {-1.28717512e-1, -6.34846687e-1, -1.06777877e-1, 2.42546219e-2,
                                 -3.88396438e-3, 3.83197126e-4,  -1.72853470e-5};
    LLVMValueRef x = args[0], t = lanes_absolute(l, x), square = lanes_multiply(l, x, x);
    LLVMValueRef small = lanes_fused(l, lanes_polynomial(l, square, near, 6), x, x);
    t = lanes_clamp(l, t, 0, 5); /* beyond, the polynomial turns */
    LLVMValueRef exponent = lanes_subtract(l, lanes_multiply(l, lanes_polynomial(l, t, far, 7), t), t);
    LLVMValueRef large = lanes_subtract(l, lanes_number(l, 1), emit_exp(l, &exponent));
    large = binary_intrinsic(l->code, "llvm.copysign", large, x);
    return lanes_select_where(l, lanes_compare(l, LLVMRealOGT, t, 0.927734375), large, small);
}

/* --- the table --- */

static FloatFunction *const float_functions[OP_COUNT] = {
    [OP_EXP] = emit_exp,     [OP_EXP2] = emit_exp2, [OP_EXPM1] = emit_expm1, [OP_LOG] = emit_log,
    [OP_LOG1P] = emit_log1p, [OP_LOG2] = emit_log2, [OP_LOG10] = emit_log10, [OP_TANH] = emit_tanh,
    [OP_ERF] = emit_erf,     [OP_SIN] = emit_sin,   [OP_COS] = emit_cos,     [OP_TAN] = emit_tan,
    [OP_POW] = emit_pow,
};

LLVMValueRef emit_float_function(Code *code, Op op, LLVMValueRef *args) {
    if (!float_functions[op])
        return NULL;
    Lanes lanes = lanes_like(code, code->f32, args[0]);
    return float_functions[op](&lanes, args);
}
