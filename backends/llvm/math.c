/* math.c - the functions of ops.def: one instruction if there is one, else a sequence (functions/functions.c), else the
 * C library's function, lane by lane. half and bfloat16 are computed in float and rounded.
 */
#include "backends/llvm/code.h"
#include "lang/diag.h"

static const char *const intrinsic_names[OP_COUNT] = {
#define OWN(...) NULL
#define INTRINSIC(name) "llvm." #name
#define LIBRARY NULL
#define OPERATOR(...)
#define FUNCTION(id, spelling, arity, libm, exactness, code, numbers, vectors, between) [OP_##id] = vectors,
#include "lang/ops.def"
#undef OPERATOR
#undef FUNCTION
};

/* --- the C library --- */

/* Declared to touch no visible memory: nobody looks at errno. */
static LLVMValueRef library_function(Code *code, Op op, LLVMTypeRef type) {
    const char *suffix = type == code->f32 ? "f" : "";
    const char *name = arena_printf(code->arena, "%s%s", op_info[op].libm, suffix);
    LLVMTypeRef parameters[3] = {type, type, type};
    LLVMValueRef function = external_function(code, name, type, parameters, op_info[op].arity);
    add_attribute(code, function, (unsigned)LLVMAttributeFunctionIndex, "willreturn");
    add_attribute(code, function, (unsigned)LLVMAttributeFunctionIndex, "memory"); /* none */
    return function;
}

LLVMValueRef call_by_lane(Code *code, Op op, LLVMValueRef *args) {
    int lanes = lanes_of(args[0]), arity = op_info[op].arity;
    ENSURE(arity <= 3);
    LLVMTypeRef type = LLVMTypeOf(args[0]);
    LLVMTypeRef scalar = lanes > 1 ? LLVMGetElementType(type) : type;
    LLVMValueRef function = library_function(code, op, scalar);
    if (lanes == 1)
        return emit_call(code, function, args, arity);
    LLVMValueRef result = LLVMGetPoison(type);
    for (int lane = 0; lane < lanes; lane++) {
        LLVMValueRef at = index_constant(code, lane), items[3];
        for (int i = 0; i < arity; i++)
            items[i] = LLVMBuildExtractElement(code->builder, args[i], at, "");
        result = LLVMBuildInsertElement(code->builder, result, emit_call(code, function, items, arity), at, "");
    }
    return result;
}

static LLVMValueRef emit_real_function(Code *code, Op op, bool single, LLVMValueRef *args) {
    LLVMTypeRef type = LLVMTypeOf(args[0]);
    if (intrinsic_names[op])
        return emit_intrinsic(code, intrinsic_names[op], &type, 1, args, op_info[op].arity);
    LLVMValueRef result = emit_function_of_reals(code, op, !single, args);
    return result ? result : call_by_lane(code, op, args);
}

/* --- the 16-bit types --- */

/* In double the product is exact, and the sum is rounded where that no longer matters. */
static LLVMValueRef emit_narrow_fma(Code *code, ElementType type, LLVMValueRef *args) {
    LLVMValueRef wide[3];
    for (int i = 0; i < 3; i++)
        wide[i] = LLVMBuildFPExt(code->builder, args[i], type_like(code->f64, args[i]), "");
    LLVMValueRef product = LLVMBuildFMul(code->builder, wide[0], wide[1], "");
    return round_double_to(code, LLVMBuildFAdd(code->builder, product, wide[2], ""), type);
}

/* One step of the bits, whose order is that of magnitudes from either zero. */
static LLVMValueRef emit_narrow_nextafter(Code *code, ElementType type, LLVMValueRef a, LLVMValueRef b) {
    LLVMBuilderRef at = code->builder;
    LLVMValueRef zero = LLVMConstNull(LLVMTypeOf(a));
    LLVMValueRef is_zero = LLVMBuildFCmp(at, LLVMRealOEQ, a, zero, "");
    LLVMValueRef signed_zero = binary_intrinsic(code, "llvm.copysign", zero, b);
    LLVMValueRef bits = to_memory(code, LLVMBuildSelect(at, is_zero, signed_zero, a, ""), type);
    LLVMValueRef up = LLVMBuildFCmp(at, LLVMRealOLT, a, b, ""), positive = LLVMBuildFCmp(at, LLVMRealOGT, a, zero, "");
    LLVMValueRef outward = LLVMBuildNot(at, LLVMBuildXor(at, up, positive, ""), "");
    outward = LLVMBuildOr(at, outward, is_zero, "");
    LLVMTypeRef type16 = LLVMTypeOf(bits);
    LLVMValueRef step = LLVMBuildSelect(at, outward, constant_int(type16, 1), constant_int(type16, -1), "");
    LLVMValueRef next = from_memory(code, LLVMBuildAdd(at, bits, step, ""), type);
    LLVMValueRef result = LLVMBuildSelect(at, LLVMBuildFCmp(at, LLVMRealOEQ, a, b, ""), b, next, "");
    LLVMValueRef is_nan = LLVMBuildFCmp(at, LLVMRealUNO, a, b, "");
    return LLVMBuildSelect(at, is_nan, LLVMBuildFAdd(at, a, b, ""), result, "");
}

LLVMValueRef emit_math(Code *code, Op op, ElementType type, LLVMValueRef *args) {
    if (type == TYPE_DOUBLE || type == TYPE_FLOAT)
        return emit_real_function(code, op, type == TYPE_FLOAT, args);
    ENSURE(type_is_float(type));
    if (op == OP_FMA)
        return emit_narrow_fma(code, type, args);
    if (op == OP_NEXTAFTER)
        return emit_narrow_nextafter(code, type, args[0], args[1]);
    return round_to(code, emit_real_function(code, op, true, args), type);
}
