/* logarithms.c - log, log1p, log2, log10, asinh, acosh and atanh as sequences of instructions; see
 * functions/functions.h.
 *
 * Coefficients for float: Moshier's Cephes; for double: Chebyshev interpolation.
 */
#include "backends/llvm/functions/functions.h"

#include <math.h>

/* x = m * 2^n with m from sqrt(1/2) to sqrt(2). */
typedef struct Decomposed {
    LLVMValueRef n;        /* as a real */
    LLVMValueRef fraction; /* m - 1 */
    LLVMValueRef rest;     /* log(m) - fraction */
} Decomposed;

/* Constants for one width of real numbers. */
typedef struct FloatLayout {
    double least, up; /* the least normal number; the factor that makes smaller ones normal */
    int digits, up_digits, bias;
    int64_t one, sqrt_half, fraction; /* bits */
} FloatLayout;

static const FloatLayout layouts[] = {
    {0x1p-126, 0x1p23, 23, 23, 127, 0x3f800000, 0x3f3504f3, 0x7fffff},
    {0x1p-1022, 0x1p52, 52, 52, 1023, 0x3ff0000000000000, 0x3fe6a09e667f3bcd, 0xfffffffffffff},
};

/* A biased exponent as a real, without converting 64 bits, which few processors can. */
static LLVMValueRef real_exponent(Lanes *l, LLVMValueRef exponent, LLVMValueRef bias) {
    if (!lanes_are_wide(l))
        return LLVMBuildSIToFP(l->b, LLVMBuildSub(l->b, exponent, bias, ""), l->real, "");
    LLVMValueRef bits = LLVMBuildOr(l->b, exponent, lanes_whole(l, 0x4330000000000000), "");
    return lanes_subtract(l, real_of(l->code, bits, l->scalar), bias);
}

LLVMValueRef decompose_real(Lanes *l, LLVMValueRef x, LLVMValueRef *n) {
    bool wide = lanes_are_wide(l);
    const FloatLayout *layout = &layouts[wide];
    LLVMValueRef small = lanes_compare(l, LLVMRealOLT, x, layout->least);
    LLVMValueRef normal = lanes_select_where(l, small, lanes_multiply(l, x, lanes_number(l, layout->up)), x);
    LLVMValueRef bits = bits_of(l->code, normal), digits = lanes_whole(l, layout->digits);
    bits = LLVMBuildAdd(l->b, bits, lanes_whole(l, layout->one - layout->sqrt_half), "");
    LLVMValueRef exponent = wide ? LLVMBuildLShr(l->b, bits, digits, "") : LLVMBuildAShr(l->b, bits, digits, "");
    LLVMValueRef biases[2];
    for (int i = 0; i < 2; i++) {
        int bias = layout->bias + i * layout->up_digits;
        biases[i] = wide ? lanes_number(l, 0x1p52 + bias) : lanes_whole(l, bias);
    }
    *n = real_exponent(l, exponent, lanes_select_where(l, small, biases[1], biases[0]));
    bits = LLVMBuildAnd(l->b, bits, lanes_whole(l, layout->fraction), "");
    return real_of(l->code, LLVMBuildAdd(l->b, bits, lanes_whole(l, layout->sqrt_half), ""), l->scalar);
}

/* log(1 + f) - f by powers of f. */
static LLVMValueRef float_log_rest(Lanes *l, LLVMValueRef f) {
    static const double terms[] = {3.3333331174e-1,  -2.4999993993e-1, 2.0000714765e-1,
                                   -1.6668057665e-1, 1.4249322787e-1,  -1.2420140846e-1,
                                   1.1676998740e-1,  -1.1514610310e-1, 7.0376836292e-2};
    LLVMValueRef square = lanes_multiply(l, f, f);
    LLVMValueRef cubic = lanes_multiply(l, lanes_multiply(l, lanes_polynomial(l, f, terms, 9), f), square);
    return lanes_fused(l, square, lanes_number(l, -0.5), cubic);
}

/* The same by powers of s = f / (2 + f): log(1 + f) = 2 artanh(s). */
static LLVMValueRef double_log_rest(Lanes *l, LLVMValueRef f) {
    static const double terms[] = {0.666666666666666973, 0.399999999998981919, 0.285714286265702036,
                                   0.222222110378165877, 0.181828961834830866, 0.153314872358657332,
                                   0.146193434535126152};
    LLVMValueRef s = lanes_divide(l, f, lanes_add(l, f, lanes_number(l, 2))), square = lanes_multiply(l, s, s);
    LLVMValueRef half = lanes_multiply(l, lanes_multiply(l, f, f), lanes_number(l, 0.5));
    LLVMValueRef sum = lanes_fused(l, square, lanes_polynomial(l, square, terms, 7), half);
    return lanes_subtract(l, lanes_multiply(l, s, sum), half);
}

static Decomposed decompose_log(Lanes *l, LLVMValueRef x) {
    Decomposed d;
    d.fraction = lanes_subtract(l, decompose_real(l, x, &d.n), lanes_number(l, 1));
    d.rest = lanes_are_wide(l) ? double_log_rest(l, d.fraction) : float_log_rest(l, d.fraction);
    return d;
}

/* The result of a logarithm if its argument is not positive and finite: x is the argument or its distance from -1. */
static LLVMValueRef logarithm_ends(Lanes *l, LLVMValueRef x, double zero, LLVMValueRef result) {
    LLVMValueRef none =
        lanes_select_where(l, lanes_compare(l, LLVMRealOEQ, x, zero), lanes_number(l, -INFINITY), lanes_number(l, NAN));
    result = lanes_select_where(l, lanes_compare(l, LLVMRealOGT, x, zero), result, none);
    return lanes_select_where(l, lanes_compare(l, LLVMRealOEQ, x, INFINITY), x, result);
}

/* n * log(2) + log(m) + more. */
static LLVMValueRef sum_log(Lanes *l, const Decomposed *d, LLVMValueRef more) {
    bool wide = lanes_are_wide(l);
    double high = wide ? 6.93147180369123816490e-01 : 0.693359375,
           low = wide ? 1.90821492927058770002e-10 : -2.12194440e-4;
    LLVMValueRef sum = lanes_fused(l, d->n, lanes_number(l, low), more ? lanes_add(l, d->rest, more) : d->rest);
    return lanes_fused(l, d->n, lanes_number(l, high), lanes_add(l, d->fraction, sum));
}

/* Logarithms to a base: log(2) for float and double in two parts, neither negative, and the factor from log(x) to base
 * e. */
typedef struct Base {
    double (*of)(double);
    double high[2], low[2], factor;
} Base;
static const Base natural = {log, {0x1.62e4p-1, 0x1.62e42fefa38p-1}, {1.428606765330187e-6, 0x1.ef35793c7673p-45}, 1},
                  two = {log2, {1, 1}, {0, 0}, M_LOG2E},
                  ten = {log10,
                         {0x1.344p-2, 0x1.34413509f78p-2},
                         {4.6050389811952137e-6, 0x1.fef311f12b358p-46},
                         M_LOG10E};

/* Tables for equal parts of the mantissas from 3/4 to 3/2, indexed by their first bits in memory: numbers with few
 * digits near the reciprocals (1 next to 1), and the logarithms of their reciprocals. */
static void fill_log_tables(const Base *base, int count, double *reciprocals, double *logarithms) {
    for (int i = 0; i < count; i++) {
        double middle = (1 + (i + 0.5) / count) / (i < count / 2 ? 1 : 2);
        reciprocals[i] = i == 0 || i == count - 1 ? 1 : round(256 / middle) / 256;
        logarithms[i] = -base->of(reciprocals[i]);
    }
}

/* (log(1 + f) - f) / f^2 for |f| < 1/32 and 1/16. */
static const double near_float[] = {-1. / 2, 1. / 3, -1. / 4, 1. / 5};
static const double near_double[] = {
    -0.499999999999999991, 0.333333333333329229,  -0.250000000000166076, 0.200000000026481867,  -0.166666666304423162,
    0.142857094904639606,  -0.125000086165659165, 0.111144285948359962,  -0.100185383935134323, 0.0831920863055495106};
static const Series near_series[] = {SERIES(near_float), SERIES(near_double)};

static LLVMValueRef log_of_near_one(Lanes *l, const Base *base, LLVMValueRef f) {
    const Series *series = &near_series[lanes_are_wide(l)];
    double terms[LANES_TABLE];
    for (int i = 0; i < series->count; i++)
        terms[i] = series->terms[i] * base->factor;
    LLVMValueRef first = base->factor == 1 ? f : lanes_multiply(l, f, lanes_number(l, base->factor));
    return lanes_fused(l, lanes_multiply(l, f, f), lanes_polynomial(l, f, terms, series->count), first);
}

/* more / x = more * r / 2^n / (1 + f), for a small `more`. */
static LLVMValueRef by_reciprocal(Lanes *l, LLVMValueRef more, LLVMValueRef r, LLVMValueRef f, LLVMValueRef n) {
    more = lanes_multiply(l, more, r);
    more = lanes_fused(l, LLVMBuildFNeg(l->b, more, ""), f, more);
    return lanes_scale(l, more, LLVMBuildFNeg(l->b, n, ""));
}

/* log(x + more); more is NULL or at most a rounding error of x. With x = m * 2^n: n * log(2) + log(1 / r) + log(m * r),
 * where m * r is near 1. No part of log(2) is negative, since n is infinite for 0 and infinity. */
static LLVMValueRef looked_up_log(Lanes *l, const Base *base, LLVMValueRef x, LLVMValueRef more) {
    double reciprocals[LANES_TABLE], logarithms[LANES_TABLE];
    bool wide = lanes_are_wide(l);
    fill_log_tables(base, lanes_table(l), reciprocals, logarithms);
    LLVMValueRef m = lanes_mantissa(l, x), n = lanes_subtract(l, lanes_exponent(l, x), lanes_exponent(l, m));
    LLVMValueRef index = LLVMBuildLShr(l->b, bits_of(l->code, m), lanes_whole(l, wide ? 48 : 18), "");
    LLVMValueRef r = lanes_look_up(l, reciprocals, index), f = lanes_fused(l, m, r, lanes_number(l, -1));
    LLVMValueRef sum = lanes_fused(l, n, lanes_number(l, base->high[wide]), lanes_look_up(l, logarithms, index));
    LLVMValueRef rest = log_of_near_one(l, base, f);
    if (base->low[wide] != 0)
        rest = lanes_fused(l, n, lanes_number(l, base->low[wide]), rest);
    if (more)
        rest = lanes_add(l, rest, by_reciprocal(l, more, r, f, n));
    return lanes_add(l, sum, rest);
}

/* --- log, log1p, log2, log10 --- */

LLVMValueRef emit_log(Lanes *l, LLVMValueRef *args) {
    if (lanes_can_look_up(l))
        return looked_up_log(l, &natural, args[0], NULL);
    Decomposed d = decompose_log(l, args[0]);
    return logarithm_ends(l, args[0], 0, sum_log(l, &d, NULL));
}

/* log(1 + x + more), more NULL or a rounding error of x: log(u) + c / u, where u + c = 1 + x + more and u is
 * rounded. */
static LLVMValueRef log_of_more(Lanes *l, LLVMValueRef x, LLVMValueRef more) {
    LLVMValueRef one = lanes_number(l, 1), u = lanes_add(l, x, one);
    LLVMValueRef below = lanes_subtract(l, x, lanes_subtract(l, u, one)),
                 above = lanes_subtract(l, one, lanes_subtract(l, u, x));
    LLVMValueRef c = lanes_select_where(l, lanes_compare(l, LLVMRealOLT, x, 1), below, above);
    if (more)
        c = lanes_add(l, c, more);
    if (lanes_can_look_up(l))
        return logarithm_ends(l, x, -1, looked_up_log(l, &natural, u, c));
    Decomposed d = decompose_log(l, u);
    return logarithm_ends(l, x, -1, sum_log(l, &d, lanes_divide(l, c, u)));
}

LLVMValueRef emit_log1p(Lanes *l, LLVMValueRef *args) {
    return binary_intrinsic(l->code, "llvm.copysign", log_of_more(l, args[0], NULL), args[0]);
}

LLVMValueRef emit_log2(Lanes *l, LLVMValueRef *args) {
    if (lanes_can_look_up(l))
        return looked_up_log(l, &two, args[0], NULL);
    Decomposed d = decompose_log(l, args[0]);
    LLVMValueRef factor = lanes_number(l, M_LOG2E - 1);
    LLVMValueRef sum = lanes_fused(l, d.fraction, factor, lanes_multiply(l, d.rest, factor));
    sum = lanes_add(l, lanes_add(l, sum, d.rest), d.fraction);
    return logarithm_ends(l, args[0], 0, lanes_add(l, sum, d.n));
}

LLVMValueRef emit_log10(Lanes *l, LLVMValueRef *args) {
    static const double high = 4.3359375e-1, low = 7.00731903251827651129e-4;         /* log10(e) */
    static const double high_two = 3.0078125e-1, low_two = 2.48745663981195213739e-4; /* log10(2) */
    if (lanes_can_look_up(l))
        return looked_up_log(l, &ten, args[0], NULL);
    Decomposed d = decompose_log(l, args[0]);
    LLVMValueRef sum = lanes_multiply(l, lanes_add(l, d.fraction, d.rest), lanes_number(l, low));
    sum = lanes_fused(l, d.rest, lanes_number(l, high), sum);
    sum = lanes_fused(l, d.n, lanes_number(l, low_two), sum);
    sum = lanes_fused(l, d.fraction, lanes_number(l, high), sum);
    return logarithm_ends(l, args[0], 0, lanes_fused(l, d.n, lanes_number(l, high_two), sum));
}

/* --- asinh, acosh, atanh --- */

/* From here on 1 is lost beside the square of x. */
static double without_one(const Lanes *l) {
    return lanes_are_wide(l) ? 0x1p54 : 0x1p25;
}

static LLVMValueRef square_root(Lanes *l, LLVMValueRef x) {
    return unary_intrinsic(l->code, "llvm.sqrt", x);
}

/* log(1 + t + more); for a large x log(2x). */
static LLVMValueRef log_of_sum(Lanes *l, LLVMValueRef x, LLVMValueRef t, LLVMValueRef more) {
    LLVMValueRef large = lanes_compare(l, LLVMRealOGT, x, without_one(l)), zero = lanes_number(l, 0);
    if (more)
        more = lanes_select_where(l, large, zero, more);
    LLVMValueRef sum = log_of_more(l, lanes_select_where(l, large, x, t), more);
    return lanes_add(l, sum, lanes_select_where(l, large, lanes_number(l, M_LN2), zero));
}

/* |x| + sqrt(x^2 + 1) = 1 + |x| + x^2 / (1 + sqrt(x^2 + 1)). */
LLVMValueRef emit_asinh(Lanes *l, LLVMValueRef *args) {
    LLVMValueRef x = lanes_absolute(l, args[0]), square = lanes_multiply(l, x, x), one = lanes_number(l, 1);
    LLVMValueRef root = square_root(l, lanes_add(l, square, one));
    LLVMValueRef rest = lanes_divide(l, square, lanes_add(l, root, one)), t = lanes_add(l, x, rest);
    LLVMValueRef result = log_of_sum(l, x, t, lanes_add(l, lanes_subtract(l, x, t), rest));
    return binary_intrinsic(l->code, "llvm.copysign", result, args[0]);
}

/* x + sqrt(x^2 - 1) = 1 + d + sqrt(d * (d + 2)) with d = x - 1. */
LLVMValueRef emit_acosh(Lanes *l, LLVMValueRef *args) {
    LLVMValueRef x = args[0], d = lanes_subtract(l, x, lanes_number(l, 1));
    LLVMValueRef root = square_root(l, lanes_multiply(l, d, lanes_add(l, d, lanes_number(l, 2))));
    LLVMValueRef result = log_of_sum(l, x, lanes_add(l, d, root), NULL);
    return lanes_select_where(l, lanes_compare(l, LLVMRealOLT, x, 1), lanes_number(l, NAN), result);
}

/* Half the logarithm of (1 + |x|) / (1 - |x|) = 1 + 2|x| / (1 - |x|). */
LLVMValueRef emit_atanh(Lanes *l, LLVMValueRef *args) {
    LLVMValueRef x = lanes_absolute(l, args[0]), rest = lanes_subtract(l, lanes_number(l, 1), x);
    LLVMValueRef result = log_of_more(l, lanes_divide(l, lanes_add(l, x, x), rest), NULL);
    result = lanes_multiply(l, result, lanes_number(l, 0.5));
    return binary_intrinsic(l->code, "llvm.copysign", result, args[0]);
}
