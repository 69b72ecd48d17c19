/* exponentials.c - exp, exp2, expm1, sinh, cosh and tanh as sequences of instructions; see functions/functions.h.
 *
 * Coefficients for float: Moshier's Cephes, unless stated otherwise; others: Chebyshev interpolation.
 */
#include "backends/llvm/functions/functions.h"

#include <math.h>

/* --- exponents --- */

/* x * 2^n for n from twice the least exponent to twice the largest; `real` is n as a real. One instruction if there is
 * one, else two steps that are each in range; the last one rounds. */
LLVMValueRef scale_real(Lanes *l, LLVMValueRef x, LLVMValueRef real, LLVMValueRef n) {
    if (lanes_can_scale(l))
        return lanes_scale(l, x, real);
    LLVMValueRef half;
    if (lanes_are_wide(l)) /* few processors shift 64 bits arithmetically */
        round_to_whole(l, real, 0.5, &half);
    else
        half = LLVMBuildAShr(l->b, n, lanes_whole(l, 1), "");
    x = lanes_multiply(l, x, lanes_power_of_two(l, half));
    return lanes_multiply(l, x, lanes_power_of_two(l, LLVMBuildSub(l->b, n, half, "")));
}

LLVMValueRef round_to_whole(Lanes *l, LLVMValueRef x, double y, LLVMValueRef *n) {
    int64_t rounder = lanes_are_wide(l) ? 0x4338000000000000 : 0x4b400000;
    LLVMValueRef real = lanes_round_product(l, x, y, n);
    *n = LLVMBuildSub(l->b, *n, lanes_whole(l, rounder), "");
    return real;
}

/* The product of n and the first part of log(2) is exact. */
LLVMValueRef reduce_by_log2(Lanes *l, LLVMValueRef x, LLVMValueRef rest, LLVMValueRef real) {
    bool wide = lanes_are_wide(l);
    double high = wide ? 6.93147180369123816490e-01 : 0.693359375,
           low = wide ? 1.90821492927058770002e-10 : -2.12194440e-4;
    LLVMValueRef r = lanes_fused(l, real, lanes_number(l, -high), x);
    if (rest)
        r = lanes_subtract(l, r, rest);
    return lanes_fused(l, real, lanes_number(l, -low), r);
}

/* x = n * log(2) + r, |r| <= log(2) / 2: returns r. */
static LLVMValueRef reduce_exp(Lanes *l, LLVMValueRef x, LLVMValueRef *real, LLVMValueRef *n) {
    *real = round_to_whole(l, x, M_LOG2E, n);
    return reduce_by_log2(l, x, NULL, *real);
}

static const double expm1_double[] = {0.500000000000000103,     0.166666666666666675,   0.0416666666666238205,
                                      0.0083333333333300382,    0.00138888889173670806, 0.00019841269863171556,
                                      0.0000248015210578682052, 2.75572682769056962e-6, 2.76202015910315488e-7,
                                      2.5100472505694996e-8};
static const double expm1_float[] = {5.0000001201e-1, 1.6666665459e-1, 4.1665795894e-2,
                                     8.3334519073e-3, 1.3981999507e-3, 1.9875691500e-4};
static const Series expm1_series[] = {SERIES(expm1_float), SERIES(expm1_double)};

LLVMValueRef reduced_expm1(Lanes *l, LLVMValueRef r) {
    return lanes_fused(l, lanes_series(l, r, expm1_series), lanes_multiply(l, r, r), r);
}

/* --- exp, exp2, expm1 --- */

/* 2^(n - whole n) by a table for 32nds, and a parabola for the rest, |r| <= log(2) / 64. x needs no upper bound: the
 * parabola has no zero, and the scale is infinite for large x and NaN for infinite x. */
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
    LLVMValueRef first = lanes_multiply(l, entry, r); /* before the last use of r, to avoid a copy of it */
    LLVMValueRef slope = lanes_fused(l, r, lanes_number(l, square), lanes_number(l, linear));
    return lanes_scale(l, lanes_fused(l, first, slope, entry), n);
}

/* Minimax of (exp(r) - p(r)) / exp(r) for a reduced r, with p(0) = 1: 2 ulp including rounding. */
static LLVMValueRef reduced_exp(Lanes *l, LLVMValueRef r) {
    static const double terms[] = {
        1, 9.9999970631e-1, 4.9999147824e-1, 1.6667638131e-1, 4.1898161975e-2, 8.2902730950e-3};
    return lanes_are_wide(l) ? lanes_add(l, reduced_expm1(l, r), lanes_number(l, 1)) : lanes_polynomial(l, r, terms, 6);
}

LLVMValueRef emit_exp(Lanes *l, LLVMValueRef *args) {
    bool wide = lanes_are_wide(l);
    if (lanes_can_look_up(l) && !wide)
        return looked_up_exp(l, args[0]);
    LLVMValueRef n, real, x = lanes_clamp(l, args[0], wide ? -746 : -104, wide ? 710 : 89);
    LLVMValueRef r = reduce_exp(l, x, &real, &n);
    return scale_real(l, reduced_exp(l, r), real, n);
}

static const double exp2_float[] = {6.931472028550421e-1, 2.402264791363012e-1, 5.550332471162809e-2,
                                    9.618437357674640e-3, 1.339887440266574e-3, 1.535336188319500e-4};
static const double exp2_double[] = {0.693147180559945309,     0.240226506959100712,    0.0555041086648216275,
                                     0.00961812910762847952,   0.00133335581464062942,  0.000154035303933706461,
                                     0.0000152527338417824368, 1.32154868088172608e-6,  1.0178056971791799e-7,
                                     7.05489724676723626e-9,   4.45583849999820161e-10, 2.57294261003864335e-11};
static const Series exp2_series[] = {SERIES(exp2_float), SERIES(exp2_double)};

LLVMValueRef reduced_exp2(Lanes *l, LLVMValueRef f) {
    return lanes_fused(l, f, lanes_series(l, f, exp2_series), lanes_number(l, 1));
}

LLVMValueRef emit_exp2(Lanes *l, LLVMValueRef *args) {
    bool wide = lanes_are_wide(l);
    LLVMValueRef n, x = lanes_clamp(l, args[0], wide ? -1077 : -151, wide ? 1025 : 129);
    LLVMValueRef real = round_to_whole(l, x, 1, &n), rest = lanes_subtract(l, x, real);
    return scale_real(l, reduced_exp2(l, rest), real, n);
}

/* 2^n * p + (2^n - 1), computed at half the size, since 2^128 is no float. x is clamped where the result is -1. For -0
 * the result is 0. */
static LLVMValueRef unsigned_expm1(Lanes *l, LLVMValueRef x) {
    bool wide = lanes_are_wide(l);
    LLVMValueRef n, real;
    x = lanes_clamp(l, x, wide ? -40 : -18, wide ? 710 : 89);
    LLVMValueRef r = reduce_exp(l, x, &real, &n);
    LLVMValueRef power = lanes_power_of_two(l, LLVMBuildSub(l->b, n, lanes_whole(l, 1), ""));
    LLVMValueRef half = lanes_fused(l, power, reduced_expm1(l, r), lanes_subtract(l, power, lanes_number(l, 0.5)));
    return lanes_add(l, half, half);
}

LLVMValueRef emit_expm1(Lanes *l, LLVMValueRef *args) {
    return binary_intrinsic(l->code, "llvm.copysign", unsigned_expm1(l, args[0]), args[0]);
}

/* --- sinh, cosh, tanh --- */

/* t / (t + 2) with t = exp(2|x|) - 1. */
LLVMValueRef emit_tanh(Lanes *l, LLVMValueRef *args) {
    LLVMValueRef magnitude = lanes_clamp(l, lanes_absolute(l, args[0]), 0, lanes_are_wide(l) ? 20 : 10);
    LLVMValueRef twice = lanes_add(l, magnitude, magnitude), t = unsigned_expm1(l, twice);
    LLVMValueRef result = lanes_divide(l, t, lanes_add(l, t, lanes_number(l, 2)));
    return binary_intrinsic(l->code, "llvm.copysign", result, args[0]);
}

static const double sinh_series_float[] = {0.166666666816591679, 0.00833331088959329671, 0.000198910306419272682};
static const double sinh_series_double[] = {0.166666666666666667,   0.00833333333333333401, 0.000198412698412632782,
                                            2.75573192472745451e-6, 2.50520710345837846e-8, 1.60866500376778398e-10};
static const Series sinh_series[] = {SERIES(sinh_series_float), SERIES(sinh_series_double)};
static const double cosh_series_float[] = {0.500000001349816774, 0.0416664646021275703, 0.00139336858514123004};
static const double cosh_series_double[] = {0.5,
                                            0.0416666666666666768,
                                            0.00138888888888790425,
                                            0.0000248015873365259775,
                                            2.75572631895042141e-7,
                                            2.09181708663059382e-9};
static const Series cosh_series[] = {SERIES(cosh_series_float), SERIES(cosh_series_double)};

/* The parts for |x| = n * log(2) + r. */
typedef struct Hyperbolic {
    LLVMValueRef sinh_whole, cosh_whole; /* of n * log(2), halved: 2^128 is no float */
    LLVMValueRef sinh_rest, cosh_rest;   /* sinh(r) and cosh(r) - 1 */
} Hyperbolic;

static Hyperbolic split_hyperbolic(Lanes *l, LLVMValueRef x) {
    bool wide = lanes_are_wide(l);
    LLVMValueRef n, real, magnitude = lanes_clamp(l, lanes_absolute(l, x), 0, wide ? 710.6 : 89.5);
    LLVMValueRef r = reduce_exp(l, magnitude, &real, &n), square = lanes_multiply(l, r, r);
    LLVMValueRef down = LLVMBuildSub(l->b, lanes_whole(l, -2), n, "");
    down = binary_intrinsic(l->code, "llvm.smax", down, lanes_whole(l, wide ? -1022 : -126));
    LLVMValueRef growing = lanes_power_of_two(l, LLVMBuildSub(l->b, n, lanes_whole(l, 2), "")),
                 falling = lanes_power_of_two(l, down);
    Hyperbolic h = {.sinh_whole = lanes_subtract(l, growing, falling), .cosh_whole = lanes_add(l, growing, falling)};
    h.cosh_rest = lanes_multiply(l, square, lanes_series(l, square, cosh_series));
    LLVMValueRef cubic = lanes_multiply(l, lanes_multiply(l, r, square), lanes_series(l, square, sinh_series));
    h.sinh_rest = lanes_add(l, r, cubic);
    return h;
}

/* If x is its own hyperbolic sine it is returned: its half may have lost a digit. */
LLVMValueRef emit_sinh(Lanes *l, LLVMValueRef *args) {
    Hyperbolic h = split_hyperbolic(l, args[0]);
    LLVMValueRef sum = lanes_fused(l, h.cosh_whole, h.sinh_rest, lanes_multiply(l, h.sinh_whole, h.cosh_rest));
    sum = lanes_add(l, sum, h.sinh_whole);
    sum = binary_intrinsic(l->code, "llvm.copysign", lanes_add(l, sum, sum), args[0]);
    LLVMValueRef tiny =
        lanes_compare(l, LLVMRealOLT, lanes_absolute(l, args[0]), lanes_are_wide(l) ? 0x1p-27 : 0x1p-12);
    return lanes_select_where(l, tiny, args[0], sum);
}

LLVMValueRef emit_cosh(Lanes *l, LLVMValueRef *args) {
    Hyperbolic h = split_hyperbolic(l, args[0]);
    LLVMValueRef sum = lanes_fused(l, h.sinh_whole, h.sinh_rest, lanes_multiply(l, h.cosh_whole, h.cosh_rest));
    sum = lanes_add(l, sum, h.cosh_whole);
    return lanes_add(l, sum, sum);
}
