/* types.c - types, constants, intrinsics and small idioms that all parts of the generator use. */
#include "backends/llvm/code.h"
#include "lang/diag.h"

#include <math.h>
#include <string.h>

/* --- types --- */

int padded_lanes(int lanes) {
    int padded = 1;
    while (padded < lanes)
        padded *= 2;
    return padded;
}

LLVMTypeRef vector_of(LLVMTypeRef scalar, int lanes) {
    return lanes == 1 ? scalar : LLVMVectorType(scalar, (unsigned)lanes);
}

LLVMTypeRef value_type(Code *code, ElementType type, int lanes) {
    LLVMTypeRef scalar = NULL;
    if (type == TYPE_BOOL)
        scalar = code->i1;
    else if (type_is_float(type))
        scalar = type == TYPE_DOUBLE ? code->f64 : code->f32;
    else
        scalar = memory_type(code, type);
    return vector_of(scalar, padded_lanes(lanes));
}

LLVMTypeRef memory_type(Code *code, ElementType type) {
    if (type == TYPE_FLOAT || type == TYPE_DOUBLE)
        return type == TYPE_FLOAT ? code->f32 : code->f64;
    return LLVMIntTypeInContext(code->context, 8 * (unsigned)element_info[type].bytes);
}

static int type_lanes(LLVMTypeRef type) {
    return LLVMGetTypeKind(type) == LLVMVectorTypeKind ? (int)LLVMGetVectorSize(type) : 1;
}

int lanes_of(LLVMValueRef value) {
    return type_lanes(LLVMTypeOf(value));
}

unsigned type_bits(LLVMTypeRef type) {
    switch (LLVMGetTypeKind(type)) {
    case LLVMIntegerTypeKind: return LLVMGetIntTypeWidth(type);
    case LLVMHalfTypeKind:
    case LLVMBFloatTypeKind: return 16;
    case LLVMFloatTypeKind: return 32;
    case LLVMDoubleTypeKind: return 64;
    case LLVMVectorTypeKind: return LLVMGetVectorSize(type) * type_bits(LLVMGetElementType(type));
    default: return 0;
    }
}

LLVMTypeRef type_like(LLVMTypeRef scalar, LLVMValueRef value) {
    return vector_of(scalar, lanes_of(value));
}

/* --- constants --- */

static LLVMTypeRef element_of(LLVMTypeRef type) {
    return LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetElementType(type) : type;
}

static LLVMValueRef constant_splat(LLVMTypeRef type, LLVMValueRef scalar) {
    int lanes = type_lanes(type);
    if (lanes == 1)
        return scalar;
    LLVMValueRef items[lanes];
    for (int i = 0; i < lanes; i++)
        items[i] = scalar;
    return LLVMConstVector(items, (unsigned)lanes);
}

LLVMValueRef constant_int(LLVMTypeRef type, int64_t value) {
    return constant_splat(type, LLVMConstInt(element_of(type), (unsigned long long)value, true));
}

LLVMValueRef constant_real(LLVMTypeRef type, double value) {
    return constant_splat(type, LLVMConstReal(element_of(type), value));
}

LLVMValueRef index_constant(Code *code, int64_t value) {
    return constant_int(code->i64, value);
}

LLVMValueRef iota(LLVMTypeRef element, int lanes) {
    if (lanes == 1)
        return LLVMConstInt(element, 0, false);
    LLVMValueRef items[lanes];
    for (int i = 0; i < lanes; i++)
        items[i] = LLVMConstInt(element, (unsigned long long)i, false);
    return LLVMConstVector(items, (unsigned)lanes);
}

LLVMValueRef lane_mask(Code *code, int real, int lanes) {
    if (lanes == 1)
        return LLVMConstInt(code->i1, real > 0, false);
    LLVMValueRef items[lanes];
    for (int i = 0; i < lanes; i++)
        items[i] = LLVMConstInt(code->i1, i < real, false);
    return LLVMConstVector(items, (unsigned)lanes);
}

/* --- shuffles --- */

LLVMValueRef emit_shuffle(Code *code, LLVMValueRef a, LLVMValueRef b, const int *indices, int count) {
    LLVMValueRef mask[count];
    for (int i = 0; i < count; i++)
        mask[i] =
            indices[i] < 0 ? LLVMGetPoison(code->i32) : LLVMConstInt(code->i32, (unsigned long long)indices[i], false);
    if (!b)
        b = LLVMGetPoison(LLVMTypeOf(a));
    return LLVMBuildShuffleVector(code->builder, a, b, LLVMConstVector(mask, (unsigned)count), "");
}

LLVMValueRef emit_splat(Code *code, LLVMValueRef scalar, int lanes) {
    lanes = padded_lanes(lanes);
    if (lanes == 1)
        return scalar;
    LLVMTypeRef type = vector_of(LLVMTypeOf(scalar), lanes);
    if (LLVMIsConstant(scalar))
        return constant_splat(type, scalar);
    LLVMValueRef first =
        LLVMBuildInsertElement(code->builder, LLVMGetPoison(type), scalar, index_constant(code, 0), "");
    int zeros[lanes];
    memset(zeros, 0, sizeof zeros);
    return emit_shuffle(code, first, NULL, zeros, lanes);
}

LLVMValueRef emit_resized(Code *code, LLVMValueRef value, int lanes) {
    int from = lanes_of(value);
    if (from == lanes)
        return value;
    if (lanes == 1)
        return LLVMBuildExtractElement(code->builder, value, index_constant(code, 0), "");
    if (from == 1) {
        LLVMValueRef any = LLVMGetPoison(vector_of(LLVMTypeOf(value), lanes));
        return LLVMBuildInsertElement(code->builder, any, value, index_constant(code, 0), "");
    }
    int indices[lanes];
    for (int i = 0; i < lanes; i++)
        indices[i] = i < from ? i : -1;
    return emit_shuffle(code, value, NULL, indices, lanes);
}

LLVMValueRef emit_lanes(Code *code, LLVMValueRef value, int first, int count) {
    int indices[count];
    for (int i = 0; i < count; i++)
        indices[i] = first + i;
    return emit_shuffle(code, value, NULL, indices, count);
}

LLVMValueRef emit_joined(Code *code, LLVMValueRef low, LLVMValueRef high) {
    int count = 2 * lanes_of(low), indices[count];
    for (int i = 0; i < count; i++)
        indices[i] = i;
    return emit_shuffle(code, low, high, indices, count);
}

/* --- calls --- */

LLVMValueRef emit_call(Code *code, LLVMValueRef function, LLVMValueRef *args, int count) {
    return LLVMBuildCall2(code->builder, LLVMGlobalGetValueType(function), function, args, (unsigned)count, "");
}

LLVMValueRef emit_intrinsic(Code *code, const char *name, LLVMTypeRef *overloads, int overload_count,
                            LLVMValueRef *args, int count) {
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    if (!id)
        INTERNAL_ERROR("this LLVM has no intrinsic %s", name);
    return emit_call(code, LLVMGetIntrinsicDeclaration(code->module, id, overloads, (size_t)overload_count), args,
                     count);
}

LLVMValueRef unary_intrinsic(Code *code, const char *name, LLVMValueRef a) {
    LLVMTypeRef type = LLVMTypeOf(a);
    return emit_intrinsic(code, name, &type, 1, &a, 1);
}

LLVMValueRef binary_intrinsic(Code *code, const char *name, LLVMValueRef a, LLVMValueRef b) {
    LLVMTypeRef type = LLVMTypeOf(a);
    return emit_intrinsic(code, name, &type, 1, (LLVMValueRef[]){a, b}, 2);
}

LLVMValueRef multiply_add(Code *code, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c) {
    LLVMTypeRef type = LLVMTypeOf(a);
    return emit_intrinsic(code, "llvm.fmuladd", &type, 1, (LLVMValueRef[]){a, b, c}, 3);
}

LLVMValueRef external_function(Code *code, const char *name, LLVMTypeRef result, LLVMTypeRef *parameters, int count) {
    LLVMValueRef function = LLVMGetNamedFunction(code->module, name);
    if (function)
        return function;
    function = LLVMAddFunction(code->module, name, LLVMFunctionType(result, parameters, (unsigned)count, false));
    add_attribute(code, function, (unsigned)LLVMAttributeFunctionIndex, "nounwind");
    return function;
}

/* --- bits --- */

LLVMValueRef bits_of(Code *code, LLVMValueRef real) {
    LLVMTypeRef integer = element_of(LLVMTypeOf(real)) == code->f64 ? code->i64 : code->i32;
    return LLVMBuildBitCast(code->builder, real, type_like(integer, real), "");
}

LLVMValueRef real_of(Code *code, LLVMValueRef bits, LLVMTypeRef scalar) {
    return LLVMBuildBitCast(code->builder, bits, type_like(scalar, bits), "");
}
