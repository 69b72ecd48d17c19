/* inverse_angles.c - asin, acos, atan and atan2 as sequences of instructions; see functions/functions.h. Coefficients:
 * Chebyshev interpolation.
 */
#include "backends/llvm/functions/functions.h"

#include <math.h>

/* pi/2 in two parts: the first is pi/2 rounded to the width. */
static LLVMValueRef quarter(Lanes *l, double times) {
    return lanes_number(l, times * M_PI_2);
}

static double quarter_rest(const Lanes *l) {
    return lanes_are_wide(l) ? 6.123233995736766e-17 : M_PI_2 - (double)(float)M_PI_2;
}

/* x + x^3 * P(x^2). */
static LLVMValueRef odd_series(Lanes *l, LLVMValueRef x, LLVMValueRef square, const Series *series) {
    LLVMValueRef cubic = lanes_multiply(l, lanes_multiply(l, x, square), lanes_series(l, square, series));
    return lanes_add(l, x, cubic);
}

/* --- asin, acos --- */

static const double asin_series_float[] = {0.166666724147953052, 0.0749885507260082111, 0.0450013800699101676,
                                           0.0265545422061613284, 0.0380850235610926538};
static const double asin_series_double[] = {0.166666666666666486,  0.0750000000002076436,  0.0446428571034236434,
                                            0.0303819473670984811, 0.0223720476317445104,  0.0173552599557863217,
                                            0.0139296529023266332, 0.0118754943826369232,  0.00780294947735331714,
                                            0.0160355143491488231, -0.0107490503396978076, 0.0281692180608814129};
static const Series asin_series[] = {SERIES(asin_series_float), SERIES(asin_series_double)};

/* The arc sine of x; or for |x| beyond 1/2 that of the root of (1 - |x|) / 2, which is half the arc cosine of |x|. */
typedef struct Arc {
    LLVMValueRef far;  /* beyond 1/2 */
    LLVMValueRef s;    /* x or that root */
    LLVMValueRef rest; /* the arc sine of s, minus s */
} Arc;

static Arc arc_of(Lanes *l, LLVMValueRef x) {
    LLVMValueRef a = lanes_absolute(l, x), half = lanes_number(l, 0.5);
    Arc arc = {.far = lanes_compare(l, LLVMRealOGT, a, 0.5)};
    LLVMValueRef beyond = lanes_multiply(l, lanes_subtract(l, lanes_number(l, 1), a), half);
    LLVMValueRef square = lanes_select_where(l, arc.far, beyond, lanes_multiply(l, a, a));
    arc.s = lanes_select_where(l, arc.far, unary_intrinsic(l->code, "llvm.sqrt", beyond), a);
    arc.rest = lanes_multiply(l, lanes_multiply(l, arc.s, square), lanes_series(l, square, asin_series));
    return arc;
}

/* times * pi/2 - (2s + 2rest). */
static LLVMValueRef complement(Lanes *l, double times, const Arc *arc) {
    LLVMValueRef two = lanes_number(l, 2), rest = lanes_number(l, -times * quarter_rest(l));
    rest = lanes_fused(l, arc->rest, two, rest);
    return lanes_subtract(l, quarter(l, times), lanes_fused(l, arc->s, two, rest));
}

LLVMValueRef emit_asin(Lanes *l, LLVMValueRef *args) {
    Arc arc = arc_of(l, args[0]);
    LLVMValueRef result = lanes_select_where(l, arc.far, complement(l, 1, &arc), lanes_add(l, arc.s, arc.rest));
    return binary_intrinsic(l->code, "llvm.copysign", result, args[0]);
}

LLVMValueRef emit_acos(Lanes *l, LLVMValueRef *args) {
    LLVMValueRef x = args[0], negative = lanes_compare(l, LLVMRealOLT, x, 0);
    Arc arc = arc_of(l, x);
    LLVMValueRef sum = lanes_add(l, arc.s, arc.rest);
    LLVMValueRef far = lanes_select_where(l, negative, complement(l, 2, &arc), lanes_add(l, sum, sum));
    LLVMValueRef rest =
        lanes_subtract(l, binary_intrinsic(l->code, "llvm.copysign", arc.rest, x), lanes_number(l, quarter_rest(l)));
    LLVMValueRef near = lanes_subtract(l, quarter(l, 1), lanes_add(l, x, rest));
    return lanes_select_where(l, arc.far, far, near);
}

/* --- atan, atan2 --- */

static const double atan_series_float[] = {-0.333333317330635198, 0.199997393298355797,   -0.142785687482106019,
                                           0.110337641153134553,  -0.0865688043015452147, 0.0625016944474956315,
                                           -0.035871538982043358, 0.0135077714270205354,  -0.00238699731672411321};
static const double atan_series_double[] = {
    -0.333333333333333303,   0.199999999999975322,   -0.142857142853841315,    0.111111110934908281,
    -0.0909090859089193423,  0.0769229897103321692,  -0.0666656469928910421,   0.0588150687779365607,
    -0.0525797333428411081,  0.0473774957952777897,  -0.0426035663260165213,   0.0374948681253524711,
    -0.0312771890669963848,  0.023696731580048622,   -0.0155351524754141761,   0.00836893117845016214,
    -0.00349588597391630952, 0.00104960350849685151, -0.000199961893779013821, 0.0000180619546186121522};
static const Series atan_series[] = {SERIES(atan_series_float), SERIES(atan_series_double)};

static LLVMValueRef reduced_atan(Lanes *l, LLVMValueRef above, LLVMValueRef below) {
    LLVMValueRef q = lanes_divide(l, above, below);
    return odd_series(l, q, lanes_multiply(l, q, q), atan_series);
}

/* pi/2 - atan(1 / |x|) beyond 1. */
LLVMValueRef emit_atan(Lanes *l, LLVMValueRef *args) {
    LLVMValueRef a = lanes_absolute(l, args[0]), one = lanes_number(l, 1), far = lanes_compare(l, LLVMRealOGT, a, 1);
    LLVMValueRef arc = reduced_atan(l, lanes_select_where(l, far, one, a), lanes_select_where(l, far, a, one));
    LLVMValueRef result = lanes_select_where(l, far, lanes_subtract(l, quarter(l, 1), arc), arc);
    return binary_intrinsic(l->code, "llvm.copysign", result, args[0]);
}

static LLVMValueRef has_sign(Lanes *l, LLVMValueRef x) {
    return LLVMBuildICmp(l->b, LLVMIntSLT, bits_of(l->code, x), lanes_whole(l, 0), "");
}

/* The smaller of |x| and |y| divided by the larger: 0 / 0 counts as 0, and two infinities as equal. */
LLVMValueRef emit_atan2(Lanes *l, LLVMValueRef *args) {
    LLVMValueRef y = lanes_absolute(l, args[0]), x = lanes_absolute(l, args[1]), one = lanes_number(l, 1);
    LLVMValueRef steep = LLVMBuildFCmp(l->b, LLVMRealOGT, y, x, ""), back = has_sign(l, args[1]);
    LLVMValueRef above = lanes_select_where(l, steep, x, y), below = lanes_select_where(l, steep, y, x);
    LLVMValueRef infinite = LLVMBuildAnd(l->b, lanes_compare(l, LLVMRealOEQ, above, INFINITY),
                                         lanes_compare(l, LLVMRealOEQ, below, INFINITY), "");
    LLVMValueRef zero = lanes_compare(l, LLVMRealOEQ, below, 0);
    above = lanes_select_where(l, infinite, one, above);
    below = lanes_select_where(l, LLVMBuildOr(l->b, infinite, zero, ""), one, below);
    LLVMValueRef arc = reduced_atan(l, above, below);
    arc = lanes_select_where(l, LLVMBuildXor(l->b, steep, back, ""), LLVMBuildFNeg(l->b, arc, ""), arc);
    LLVMValueRef from = lanes_select_where(l, back, quarter(l, 2), lanes_number(l, 0));
    from = lanes_select_where(l, steep, quarter(l, 1), from);
    return binary_intrinsic(l->code, "llvm.copysign", lanes_add(l, from, arc), args[0]);
}
