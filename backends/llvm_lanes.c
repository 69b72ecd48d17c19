/* llvm_lanes.c - see llvm_lanes.h. */
#include "backends/llvm_lanes.h"

#include <string.h>

Lanes lanes_like(Code *code, LLVMTypeRef scalar, LLVMValueRef value) {
    LLVMTypeRef integer = scalar == code->f64 ? code->i64 : code->i32;
    return (Lanes){code, code->builder, scalar, type_like(scalar, value), type_like(integer, value)};
}

LLVMValueRef lanes_number(Lanes *l, double value) {
    return constant_real(l->real, value);
}

LLVMValueRef lanes_whole(Lanes *l, int64_t value) {
    return constant_int(l->integer, value);
}

LLVMValueRef lanes_add(Lanes *l, LLVMValueRef a, LLVMValueRef b) {
    return LLVMBuildFAdd(l->b, a, b, "");
}

LLVMValueRef lanes_subtract(Lanes *l, LLVMValueRef a, LLVMValueRef b) {
    return LLVMBuildFSub(l->b, a, b, "");
}

LLVMValueRef lanes_multiply(Lanes *l, LLVMValueRef a, LLVMValueRef b) {
    return LLVMBuildFMul(l->b, a, b, "");
}

LLVMValueRef lanes_divide(Lanes *l, LLVMValueRef a, LLVMValueRef b) {
    return LLVMBuildFDiv(l->b, a, b, "");
}

LLVMValueRef lanes_fused(Lanes *l, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c) {
    return multiply_add(l->code, a, b, c);
}

LLVMValueRef lanes_absolute(Lanes *l, LLVMValueRef a) {
    return unary_intrinsic(l->code, "llvm.fabs", a);
}

LLVMValueRef lanes_select_where(Lanes *l, LLVMValueRef condition, LLVMValueRef a, LLVMValueRef b) {
    return LLVMBuildSelect(l->b, condition, a, b, "");
}

LLVMValueRef lanes_compare(Lanes *l, LLVMRealPredicate predicate, LLVMValueRef a, double b) {
    return LLVMBuildFCmp(l->b, predicate, a, lanes_number(l, b), "");
}

LLVMValueRef lanes_both(Lanes *l, LLVMValueRef a, LLVMValueRef b) {
    return LLVMBuildAnd(l->b, a, b, "");
}

LLVMValueRef lanes_polynomial(Lanes *l, LLVMValueRef x, const double *coefficients, int count) {
    LLVMValueRef sum = lanes_number(l, coefficients[count - 1]);
    for (int i = count - 2; i >= 0; i--)
        sum = lanes_fused(l, sum, x, lanes_number(l, coefficients[i]));
    return sum;
}

LLVMValueRef lanes_clamp(Lanes *l, LLVMValueRef x, double low, double high) {
    x = lanes_select_where(l, lanes_compare(l, LLVMRealOLT, x, low), lanes_number(l, low), x);
    return lanes_select_where(l, lanes_compare(l, LLVMRealOGT, x, high), lanes_number(l, high), x);
}

/* Adding 1.5 * 2^23, for double 1.5 * 2^52, leaves the whole number in the low bits. */
LLVMValueRef lanes_round_product(Lanes *l, LLVMValueRef x, double y, LLVMValueRef *bits) {
    double rounder = l->scalar == l->code->f64 ? 0x1.8p52 : 0x1.8p23;
    LLVMValueRef shifted = lanes_fused(l, x, lanes_number(l, y), lanes_number(l, rounder));
    if (bits)
        *bits = bits_of(l->code, shifted);
    return lanes_subtract(l, shifted, lanes_number(l, rounder));
}

/* AVX-512's scalef, on whole registers. */
static const char *scale_instruction(const Lanes *l) {
    static const char *const names[] = {"llvm.x86.avx512.mask.scalef.ps.128", "llvm.x86.avx512.mask.scalef.ps.256",
                                        "llvm.x86.avx512.mask.scalef.ps.512"};
    const Target *target = l->code->target;
    if (strcmp(target->family, "x86") != 0 || target->vector_bytes < 64 || l->scalar != l->code->f32)
        return NULL;
    int lanes = LLVMGetTypeKind(l->real) == LLVMVectorTypeKind ? (int)LLVMGetVectorSize(l->real) : 1;
    return lanes == 4 ? names[0] : lanes == 8 ? names[1] : lanes == 16 ? names[2] : NULL;
}

bool lanes_can_scale(const Lanes *l) {
    return scale_instruction(l) != NULL;
}

LLVMValueRef lanes_scale(Lanes *l, LLVMValueRef x, LLVMValueRef n) {
    enum { CURRENT_ROUNDING = 4 };
    int lanes = (int)LLVMGetVectorSize(l->real);
    LLVMTypeRef mask = lanes == 16 ? l->code->i16 : l->code->i8;
    LLVMValueRef args[] = {x, n, LLVMGetPoison(l->real), LLVMConstAllOnes(mask),
                           LLVMConstInt(l->code->i32, CURRENT_ROUNDING, false)};
    return emit_intrinsic(l->code, scale_instruction(l), NULL, 0, args, lanes == 16 ? 5 : 4);
}
