/* llvm_lanes.c - see llvm_lanes.h. */
#include "backends/llvm_lanes.h"

Lanes lanes_like(Code *code, LLVMTypeRef scalar, LLVMValueRef value) {
    LLVMTypeRef integer = scalar == code->f64 ? code->i64 : code->i32;
    return (Lanes){code, code->builder, scalar, like(scalar, value), like(integer, value)};
}

LLVMValueRef number(Lanes *l, double value) {
    return constant_real(l->real, value);
}

LLVMValueRef whole(Lanes *l, int64_t value) {
    return constant_int(l->integer, value);
}

LLVMValueRef add(Lanes *l, LLVMValueRef a, LLVMValueRef b) {
    return LLVMBuildFAdd(l->b, a, b, "");
}

LLVMValueRef subtract(Lanes *l, LLVMValueRef a, LLVMValueRef b) {
    return LLVMBuildFSub(l->b, a, b, "");
}

LLVMValueRef multiply(Lanes *l, LLVMValueRef a, LLVMValueRef b) {
    return LLVMBuildFMul(l->b, a, b, "");
}

LLVMValueRef divide(Lanes *l, LLVMValueRef a, LLVMValueRef b) {
    return LLVMBuildFDiv(l->b, a, b, "");
}

LLVMValueRef fused(Lanes *l, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c) {
    return multiply_add(l->code, a, b, c);
}

LLVMValueRef absolute(Lanes *l, LLVMValueRef a) {
    return unary_intrinsic(l->code, "llvm.fabs", a);
}

LLVMValueRef select_where(Lanes *l, LLVMValueRef condition, LLVMValueRef a, LLVMValueRef b) {
    return LLVMBuildSelect(l->b, condition, a, b, "");
}

LLVMValueRef compare(Lanes *l, LLVMRealPredicate predicate, LLVMValueRef a, double b) {
    return LLVMBuildFCmp(l->b, predicate, a, number(l, b), "");
}

LLVMValueRef both(Lanes *l, LLVMValueRef a, LLVMValueRef b) {
    return LLVMBuildAnd(l->b, a, b, "");
}

LLVMValueRef polynomial(Lanes *l, LLVMValueRef x, const double *coefficients, int count) {
    LLVMValueRef sum = number(l, coefficients[count - 1]);
    for (int i = count - 2; i >= 0; i--)
        sum = fused(l, sum, x, number(l, coefficients[i]));
    return sum;
}

LLVMValueRef clamp(Lanes *l, LLVMValueRef x, double low, double high) {
    x = select_where(l, compare(l, LLVMRealOLT, x, low), number(l, low), x);
    return select_where(l, compare(l, LLVMRealOGT, x, high), number(l, high), x);
}

/* Adding 1.5 * 2^23, for double 1.5 * 2^52, leaves the whole number in the low bits. */
LLVMValueRef round_product(Lanes *l, LLVMValueRef x, double y, LLVMValueRef *bits) {
    double rounder = l->scalar == l->code->f64 ? 0x1.8p52 : 0x1.8p23;
    LLVMValueRef shifted = fused(l, x, number(l, y), number(l, rounder));
    if (bits)
        *bits = bits_of(l->code, shifted);
    return subtract(l, shifted, number(l, rounder));
}
