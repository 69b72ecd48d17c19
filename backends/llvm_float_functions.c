/* llvm_float_functions.c - functions of float as sequences of instructions, the same for scalars and vectors, within
 * 4 ulp for all floats. A row of the table each; a function without one is the C library's.
 *
 * No step depends on fused multiply-adds for its accuracy: constants are split so that products with small whole numbers
 * are exact. Nothing converts a NaN to an integer, which would be undefined. Coefficients: Moshier's Cephes, if not
 * said otherwise.
 */
#include "backends/llvm_lanes.h"

#include <math.h>

/* --- exponents --- */

/* 2^n for whole n from -126 to 127. */
static LLVMValueRef power_of_two(Lanes *l, LLVMValueRef n) {
    LLVMValueRef exponent = LLVMBuildShl(l->b, LLVMBuildAdd(l->b, n, whole(l, 127), ""), whole(l, 23), "");
    return real_of(l->code, exponent, l->scalar);
}

/* x * 2^n for n from -252 to 254, in two steps that each are in range; the last one rounds. */
static LLVMValueRef scale(Lanes *l, LLVMValueRef x, LLVMValueRef n) {
    LLVMValueRef half = LLVMBuildAShr(l->b, n, whole(l, 1), "");
    x = multiply(l, x, power_of_two(l, half));
    return multiply(l, x, power_of_two(l, LLVMBuildSub(l->b, n, half, "")));
}

/* x * y rounded, as both; for values below 2^22. */
static LLVMValueRef round_to_whole(Lanes *l, LLVMValueRef x, double y, LLVMValueRef *n) {
    LLVMValueRef real = round_product(l, x, y, n);
    *n = LLVMBuildSub(l->b, *n, whole(l, 0x4b400000), "");
    return real;
}

/* x = n * log(2) + r, |r| <= log(2) / 2: returns r. */
static LLVMValueRef reduce_exp(Lanes *l, LLVMValueRef x, LLVMValueRef *n) {
    LLVMValueRef real = round_to_whole(l, x, M_LOG2E, n);
    LLVMValueRef r = fused(l, real, number(l, -0.693359375), x);
    return fused(l, real, number(l, 2.12194440e-4), r);
}

/* exp(r) - 1 for a reduced r. */
static LLVMValueRef reduced_expm1(Lanes *l, LLVMValueRef r) {
    static const double terms[] = {5.0000001201e-1, 1.6666665459e-1, 4.1665795894e-2,
                                   8.3334519073e-3, 1.3981999507e-3, 1.9875691500e-4};
    return fused(l, polynomial(l, r, terms, 6), multiply(l, r, r), r);
}

static LLVMValueRef emit_exp(Lanes *l, LLVMValueRef *args) {
    LLVMValueRef n, r = reduce_exp(l, clamp(l, args[0], -104, 89), &n);
    return scale(l, add(l, reduced_expm1(l, r), number(l, 1)), n);
}

static LLVMValueRef emit_exp2(Lanes *l, LLVMValueRef *args) {
    static const double terms[] = {1,
                                   6.931472028550421e-1,
                                   2.402264791363012e-1,
                                   5.550332471162809e-2,
                                   9.618437357674640e-3,
                                   1.339887440266574e-3,
                                   1.535336188319500e-4};
    LLVMValueRef n, x = clamp(l, args[0], -151, 129);
    LLVMValueRef rest = subtract(l, x, round_to_whole(l, x, 1, &n));
    return scale(l, polynomial(l, rest, terms, 7), n);
}

/* 2^n * p + (2^n - 1), at half the size, since 2^128 is no float. Below -18 the result is -1. */
static LLVMValueRef emit_expm1(Lanes *l, LLVMValueRef *args) {
    LLVMValueRef n, r = reduce_exp(l, clamp(l, args[0], -18, 89), &n);
    LLVMValueRef power = power_of_two(l, LLVMBuildSub(l->b, n, whole(l, 1), ""));
    LLVMValueRef half = fused(l, power, reduced_expm1(l, r), subtract(l, power, number(l, 0.5)));
    return add(l, half, half);
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
    LLVMValueRef small = compare(l, LLVMRealOLT, x, 0x1p-126);
    LLVMValueRef normal = select_where(l, small, multiply(l, x, number(l, 0x1p23)), x);
    LLVMValueRef bits = bits_of(l->code, normal);
    bits = LLVMBuildAdd(l->b, bits, whole(l, 0x3f800000 - SQRT_HALF_BITS), "");
    LLVMValueRef exponent = LLVMBuildAShr(l->b, bits, whole(l, 23), "");
    LLVMValueRef bias = select_where(l, small, whole(l, 127 + 23), whole(l, 127));
    *n = LLVMBuildSIToFP(l->b, LLVMBuildSub(l->b, exponent, bias, ""), l->real, "");
    bits = LLVMBuildAnd(l->b, bits, whole(l, 0x7fffff), "");
    return real_of(l->code, LLVMBuildAdd(l->b, bits, whole(l, SQRT_HALF_BITS), ""), l->scalar);
}

static Decomposed decompose_log(Lanes *l, LLVMValueRef x) {
    static const double terms[] = {3.3333331174e-1,  -2.4999993993e-1, 2.0000714765e-1,  -1.6668057665e-1, 1.4249322787e-1,
                                   -1.2420140846e-1, 1.1676998740e-1,  -1.1514610310e-1, 7.0376836292e-2};
    Decomposed d;
    d.fraction = subtract(l, decompose(l, x, &d.n), number(l, 1));
    LLVMValueRef square = multiply(l, d.fraction, d.fraction);
    LLVMValueRef cubic = multiply(l, multiply(l, polynomial(l, d.fraction, terms, 9), d.fraction), square);
    d.rest = fused(l, square, number(l, -0.5), cubic);
    return d;
}

/* What a logarithm gives where its argument is not positive and finite: `distance` is the argument, or more than -1. */
static LLVMValueRef logarithm_ends(Lanes *l, LLVMValueRef x, double zero, LLVMValueRef result) {
    LLVMValueRef none = select_where(l, compare(l, LLVMRealOEQ, x, zero), number(l, -INFINITY), number(l, NAN));
    result = select_where(l, compare(l, LLVMRealOGT, x, zero), result, none);
    return select_where(l, compare(l, LLVMRealOEQ, x, INFINITY), x, result);
}

/* n * log(2) + log(m) + more. */
static LLVMValueRef sum_log(Lanes *l, const Decomposed *d, LLVMValueRef more) {
    LLVMValueRef low = fused(l, d->n, number(l, -2.12194440e-4), more ? add(l, d->rest, more) : d->rest);
    return fused(l, d->n, number(l, 0.693359375), add(l, d->fraction, low));
}

static LLVMValueRef emit_log(Lanes *l, LLVMValueRef *args) {
    Decomposed d = decompose_log(l, args[0]);
    return logarithm_ends(l, args[0], 0, sum_log(l, &d, NULL));
}

/* log(u) + c / u where u + c is 1 + x, u its float. */
static LLVMValueRef emit_log1p(Lanes *l, LLVMValueRef *args) {
    LLVMValueRef x = args[0], one = number(l, 1), u = add(l, x, one);
    LLVMValueRef below = subtract(l, x, subtract(l, u, one)), above = subtract(l, one, subtract(l, u, x));
    LLVMValueRef c = select_where(l, compare(l, LLVMRealOLT, x, 1), below, above);
    Decomposed d = decompose_log(l, u);
    return logarithm_ends(l, x, -1, sum_log(l, &d, divide(l, c, u)));
}

static LLVMValueRef emit_log2(Lanes *l, LLVMValueRef *args) {
    Decomposed d = decompose_log(l, args[0]);
    LLVMValueRef factor = number(l, M_LOG2E - 1);
    LLVMValueRef sum = fused(l, d.fraction, factor, multiply(l, d.rest, factor));
    sum = add(l, add(l, sum, d.rest), d.fraction);
    return logarithm_ends(l, args[0], 0, add(l, sum, d.n));
}

static LLVMValueRef emit_log10(Lanes *l, LLVMValueRef *args) {
    static const double high = 4.3359375e-1, low = 7.00731903251827651129e-4;       /* log10(e) */
    static const double high_two = 3.0078125e-1, low_two = 2.48745663981195213739e-4; /* log10(2) */
    Decomposed d = decompose_log(l, args[0]);
    LLVMValueRef sum = multiply(l, add(l, d.fraction, d.rest), number(l, low));
    sum = fused(l, d.rest, number(l, high), sum);
    sum = fused(l, d.n, number(l, low_two), sum);
    sum = fused(l, d.fraction, number(l, high), sum);
    return logarithm_ends(l, args[0], 0, fused(l, d.n, number(l, high_two), sum));
}

/* --- tanh and erf --- */

/* t / (t + 2) with t = exp(2|x|) - 1. */
static LLVMValueRef emit_tanh(Lanes *l, LLVMValueRef *args) {
    LLVMValueRef magnitude = clamp(l, absolute(l, args[0]), 0, 10);
    LLVMValueRef twice = add(l, magnitude, magnitude), t = emit_expm1(l, &twice);
    LLVMValueRef result = divide(l, t, add(l, t, number(l, 2)));
    return binary_intrinsic(l->code, "llvm.copysign", result, args[0]);
}

/* Juffa: x + x * P(x^2) near zero, 1 - exp(Q(|x|)) beyond. */
static LLVMValueRef emit_erf(Lanes *l, LLVMValueRef *args) {
    static const double near[] = {1.28379166e-1, -3.76125336e-1, 1.12819925e-1, -2.67681349e-2, 4.99119423e-3, -5.96761703e-4};
    static const double far[] = {-1.28717512e-1, -6.34846687e-1, -1.06777877e-1, 2.42546219e-2,
                                 -3.88396438e-3, 3.83197126e-4,  -1.72853470e-5};
    LLVMValueRef x = args[0], t = absolute(l, x), square = multiply(l, x, x);
    LLVMValueRef small = fused(l, polynomial(l, square, near, 6), x, x);
    t = clamp(l, t, 0, 5); /* beyond, the polynomial turns */
    LLVMValueRef exponent = subtract(l, multiply(l, polynomial(l, t, far, 7), t), t);
    LLVMValueRef large = subtract(l, number(l, 1), emit_exp(l, &exponent));
    large = binary_intrinsic(l->code, "llvm.copysign", large, x);
    return select_where(l, compare(l, LLVMRealOGT, t, 0.927734375), large, small);
}

/* --- the table --- */

static FloatFunction *const float_functions[OP_COUNT] = {
    [OP_EXP] = emit_exp,     [OP_EXP2] = emit_exp2, [OP_EXPM1] = emit_expm1, [OP_LOG] = emit_log, [OP_LOG1P] = emit_log1p,
    [OP_LOG2] = emit_log2,   [OP_LOG10] = emit_log10, [OP_TANH] = emit_tanh, [OP_ERF] = emit_erf, [OP_SIN] = emit_sin,
    [OP_COS] = emit_cos,     [OP_TAN] = emit_tan,   [OP_POW] = emit_pow,
};

LLVMValueRef emit_float_function(Code *code, Op op, LLVMValueRef *args) {
    if (!float_functions[op])
        return NULL;
    Lanes lanes = lanes_like(code, code->f32, args[0]);
    return float_functions[op](&lanes, args);
}
