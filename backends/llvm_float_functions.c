/* llvm_float_functions.c - functions of float as sequences of instructions, the same for scalars and vectors, within
 * 4 ulp for all floats. A row of the table each; a function without one is the C library's.
 *
 * No step depends on fused multiply-adds for its accuracy: constants are split so that products with small whole numbers
 * are exact. Roundings to whole numbers add and subtract 1.5 * 2^23, which leaves the number in the low bits: NaN passes
 * through without a conversion, which would be undefined for it.
 */
#include "backends/llvm_code.h"

#include <math.h>

/* --- vocabulary: the builder, and constants of the same lanes as a value --- */

typedef struct Lanes {
    Code *code;
    LLVMBuilderRef b;
    LLVMTypeRef real, integer;
} Lanes;

static Lanes lanes_like(Code *code, LLVMValueRef value) {
    return (Lanes){code, code->builder, LLVMTypeOf(value), like(code->i32, value)};
}

static LLVMValueRef number(Lanes *l, double value) {
    return constant_real(l->real, value);
}

static LLVMValueRef whole(Lanes *l, int64_t value) {
    return constant_int(l->integer, value);
}

static LLVMValueRef add(Lanes *l, LLVMValueRef a, LLVMValueRef b) {
    return LLVMBuildFAdd(l->b, a, b, "");
}

static LLVMValueRef subtract(Lanes *l, LLVMValueRef a, LLVMValueRef b) {
    return LLVMBuildFSub(l->b, a, b, "");
}

static LLVMValueRef multiply(Lanes *l, LLVMValueRef a, LLVMValueRef b) {
    return LLVMBuildFMul(l->b, a, b, "");
}

static LLVMValueRef fused(Lanes *l, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c) {
    return multiply_add(l->code, a, b, c);
}

static LLVMValueRef select_where(Lanes *l, LLVMValueRef condition, LLVMValueRef a, LLVMValueRef b) {
    return LLVMBuildSelect(l->b, condition, a, b, "");
}

static LLVMValueRef compare(Lanes *l, LLVMRealPredicate predicate, LLVMValueRef a, double b) {
    return LLVMBuildFCmp(l->b, predicate, a, number(l, b), "");
}

/* c[0] + x * (c[1] + x * (...)) */
static LLVMValueRef polynomial(Lanes *l, LLVMValueRef x, const double *coefficients, int count) {
    LLVMValueRef sum = number(l, coefficients[count - 1]);
    for (int i = count - 2; i >= 0; i--)
        sum = fused(l, sum, x, number(l, coefficients[i]));
    return sum;
}

/* min(max(x, low), high); NaN stays NaN. */
static LLVMValueRef clamp(Lanes *l, LLVMValueRef x, double low, double high) {
    x = select_where(l, compare(l, LLVMRealOLT, x, low), number(l, low), x);
    return select_where(l, compare(l, LLVMRealOGT, x, high), number(l, high), x);
}

static const double ROUNDER = 0x1.8p23;

/* 2^n for whole n from -126 to 127. */
static LLVMValueRef power_of_two(Lanes *l, LLVMValueRef n) {
    LLVMValueRef exponent = LLVMBuildShl(l->b, LLVMBuildAdd(l->b, n, whole(l, 127), ""), whole(l, 23), "");
    return real_of(l->code, exponent, l->code->f32);
}

/* x * 2^n for n from -252 to 254, in two steps that each are in range; the last one rounds. */
static LLVMValueRef scale(Lanes *l, LLVMValueRef x, LLVMValueRef n) {
    LLVMValueRef half = LLVMBuildAShr(l->b, n, whole(l, 1), "");
    x = multiply(l, x, power_of_two(l, half));
    return multiply(l, x, power_of_two(l, LLVMBuildSub(l->b, n, half, "")));
}

/* --- exp and its like --- */

/* x = n * log(2) + r, |r| <= log(2) / 2: the whole number n, and r. */
typedef struct Reduced {
    LLVMValueRef n, r;
    LLVMValueRef n_real;
} Reduced;

static Reduced reduce_exp(Lanes *l, LLVMValueRef x) {
    LLVMValueRef shifted = fused(l, x, number(l, 0x1.715476p0), number(l, ROUNDER));
    Reduced reduced = {.n_real = subtract(l, shifted, number(l, ROUNDER))};
    reduced.n = LLVMBuildSub(l->b, bits_of(l->code, shifted), whole(l, 0x4b400000), "");
    reduced.r = fused(l, reduced.n_real, number(l, -0.693359375), x);
    reduced.r = fused(l, reduced.n_real, number(l, 2.12194440e-4), reduced.r);
    return reduced;
}

/* (exp(r) - 1 - r) / r^2 (Moshier's Cephes, expf). */
static const double exp_terms[] = {5.0000001201e-1, 1.6666665459e-1, 4.1665795894e-2,
                                   8.3334519073e-3, 1.3981999507e-3, 1.9875691500e-4};

static LLVMValueRef emit_exp(Lanes *l, LLVMValueRef *args) {
    Reduced reduced = reduce_exp(l, clamp(l, args[0], -104, 89));
    LLVMValueRef r = reduced.r, sum = polynomial(l, r, exp_terms, 6);
    sum = add(l, fused(l, sum, multiply(l, r, r), r), number(l, 1));
    return scale(l, sum, reduced.n);
}

/* --- the table --- */

typedef LLVMValueRef (*FloatFunction)(Lanes *l, LLVMValueRef *args);

static const FloatFunction float_functions[OP_COUNT] = {
    [OP_EXP] = emit_exp,
};

LLVMValueRef emit_float_function(Code *code, Op op, LLVMValueRef *args) {
    if (!float_functions[op])
        return NULL;
    Lanes lanes = lanes_like(code, args[0]);
    return float_functions[op](&lanes, args);
}
