/* roots.c - rsqrt, cbrt and hypot as sequences of instructions; see functions/functions.h. */
#include "backends/llvm/functions/functions.h"

#include <math.h>

LLVMValueRef emit_rsqrt(Lanes *l, LLVMValueRef *args) {
    return lanes_divide(l, lanes_number(l, 1), unary_intrinsic(l->code, "llvm.sqrt", args[0]));
}

/* --- cbrt --- */

/* Constants for one width: below `least` numbers are scaled up, to have all digits, and results down; half the digits;
 * a first guess. Others are taken as an eighth, so that their neighbours are finite. */
typedef struct CubeRoot {
    double least, up, down;
    int64_t half_digit;
    double guess; /* minus a third of the first 32 bits */
} CubeRoot;

static const CubeRoot cube_roots[] = {{0x1p-76, 0x1p48, 0x1p-16, 1 << 12, 0x548c2b4b},
                                      {0x1p-900, 0x1p108, 0x1p-36, 1 << 27, 0x553c3014}};

/* a^(-1/3) for a >= 0, from its bits as if they were a logarithm. The bits of a NaN are a number, too. */
static LLVMValueRef guess_inverse(Lanes *l, LLVMValueRef a, const CubeRoot *root) {
    Lanes narrow = lanes_like(l->code, l->code->f32, a);
    bool wide = lanes_are_wide(l);
    LLVMValueRef bits = bits_of(l->code, a), word = lanes_whole(l, 32);
    if (wide)
        bits = LLVMBuildTrunc(l->b, LLVMBuildLShr(l->b, bits, word, ""), narrow.integer, "");
    LLVMValueRef real = LLVMBuildSIToFP(l->b, bits, narrow.real, "");
    real = lanes_fused(&narrow, real, lanes_number(&narrow, -1. / 3), lanes_number(&narrow, root->guess));
    bits = LLVMBuildFPToSI(l->b, real, narrow.integer, "");
    if (wide)
        bits = LLVMBuildShl(l->b, LLVMBuildZExt(l->b, bits, l->integer, ""), word, "");
    return real_of(l->code, bits, l->scalar);
}

/* Moroz, Samotyy, Walczyk, Cieslinski: the first step from this guess gives 10 digits. Then the series of (1 -
 * e)^(-1/3), e = 1 - a * y^3, gives three times as many. */
static LLVMValueRef inverse_cube_root(Lanes *l, LLVMValueRef a, const CubeRoot *root) {
    static const double first[] = {1.752319676, -1.2509524245, 0.5093818292}, next[] = {1, 1. / 3, 2. / 9};
    LLVMValueRef y = guess_inverse(l, a, root);
    LLVMValueRef cube = lanes_multiply(l, lanes_multiply(l, lanes_multiply(l, a, y), y), y);
    y = lanes_multiply(l, y, lanes_polynomial(l, cube, first, 3));
    if (!lanes_are_wide(l))
        return y;
    cube = lanes_multiply(l, lanes_multiply(l, lanes_multiply(l, a, y), y), y);
    LLVMValueRef e = lanes_subtract(l, lanes_number(l, 1), cube);
    return lanes_multiply(l, y, lanes_polynomial(l, e, next, 3));
}

/* Rounds to half the digits, so that the square is exact. */
static LLVMValueRef round_to_half(Lanes *l, LLVMValueRef t, const CubeRoot *root) {
    LLVMValueRef bits = LLVMBuildAdd(l->b, bits_of(l->code, t), lanes_whole(l, root->half_digit / 2), "");
    return real_of(l->code, LLVMBuildAnd(l->b, bits, lanes_whole(l, -root->half_digit), ""), l->scalar);
}

/* y = a^(-1/3) (1 - e/3), t = a * y^2 (1 + 2e/3) rounded to few digits; the root is t + (a - t^3) * y^2 (1 + 2e/3) /
 * 3. */
static LLVMValueRef cube_root(Lanes *l, LLVMValueRef a, const CubeRoot *root) {
    LLVMValueRef y = inverse_cube_root(l, a, root), t = lanes_multiply(l, lanes_multiply(l, a, y), y);
    LLVMValueRef e = lanes_fused(l, LLVMBuildFNeg(l->b, t, ""), y, lanes_number(l, 1));
    LLVMValueRef more = lanes_fused(l, e, lanes_number(l, 2. / 3), lanes_number(l, 1)),
                 third = lanes_fused(l, e, lanes_number(l, 2. / 9), lanes_number(l, 1. / 3));
    t = round_to_half(l, lanes_multiply(l, t, more), root);
    LLVMValueRef rest = lanes_fused(l, LLVMBuildFNeg(l->b, lanes_multiply(l, t, t), ""), t, a);
    return lanes_fused(l, rest, lanes_multiply(l, lanes_multiply(l, y, y), third), t);
}

LLVMValueRef emit_cbrt(Lanes *l, LLVMValueRef *args) {
    const CubeRoot *root = &cube_roots[lanes_are_wide(l)];
    LLVMValueRef size = lanes_absolute(l, args[0]), small = lanes_compare(l, LLVMRealOLT, size, root->least);
    LLVMValueRef up = lanes_select_where(l, small, lanes_number(l, root->up), lanes_number(l, 0.125)),
                 down = lanes_select_where(l, small, lanes_number(l, root->down), lanes_number(l, 2));
    LLVMValueRef result = lanes_multiply(l, cube_root(l, lanes_multiply(l, size, up), root), down);
    result = binary_intrinsic(l->code, "llvm.copysign", result, args[0]);
    return lanes_select_where(l, lanes_compare(l, LLVMRealOLT, size, INFINITY), result, args[0]);
}

/* --- hypot --- */

/* Scales by a power of two to keep squares in range. An infinite operand makes the result infinite, even beside a
 * NaN. */
LLVMValueRef emit_hypot(Lanes *l, LLVMValueRef *args) {
    bool wide = lanes_are_wide(l);
    int digits = wide ? 52 : 23, most = wide ? 2046 : 254; /* of exponents */
    LLVMValueRef x = lanes_absolute(l, args[0]), y = lanes_absolute(l, args[1]);
    LLVMValueRef larger = lanes_select_where(l, LLVMBuildFCmp(l->b, LLVMRealOGT, x, y, ""), x, y);
    LLVMValueRef least = lanes_number(l, wide ? 0x1p-1022 : 0x1p-126);
    LLVMValueRef top = lanes_number(l, wide ? 0x1p1022 : 0x1p126);
    LLVMValueRef size = lanes_select_where(l, LLVMBuildFCmp(l->b, LLVMRealOGT, larger, least, ""), larger, least);
    size = lanes_select_where(l, LLVMBuildFCmp(l->b, LLVMRealOLT, size, top, ""), size, top);
    LLVMValueRef exponent =
        LLVMBuildAnd(l->b, bits_of(l->code, size), lanes_whole(l, (int64_t)(most + 1) << digits), "");
    LLVMValueRef up = LLVMBuildSub(l->b, lanes_whole(l, (int64_t)most << digits), exponent, "");
    LLVMValueRef scale = real_of(l->code, up, l->scalar);
    x = lanes_multiply(l, x, scale);
    y = lanes_multiply(l, y, scale);
    LLVMValueRef root = unary_intrinsic(l->code, "llvm.sqrt", lanes_fused(l, x, x, lanes_multiply(l, y, y)));
    LLVMValueRef result = lanes_multiply(l, root, real_of(l->code, exponent, l->scalar));
    LLVMValueRef infinite = LLVMBuildOr(l->b, lanes_compare(l, LLVMRealOEQ, lanes_absolute(l, args[0]), INFINITY),
                                        lanes_compare(l, LLVMRealOEQ, lanes_absolute(l, args[1]), INFINITY), "");
    return lanes_select_where(l, infinite, lanes_number(l, INFINITY), result);
}
