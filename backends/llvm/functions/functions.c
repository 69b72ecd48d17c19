/* functions.c - which functions are sequences of instructions; see functions/functions.h. A function without a row
 * calls the C library.
 */
#include "backends/llvm/functions/functions.h"

LLVMValueRef lanes_series(Lanes *l, LLVMValueRef x, const Series *series) {
    const Series *own = &series[lanes_are_wide(l)];
    return lanes_polynomial(l, x, own->terms, own->count);
}

/* --- functions apart --- */

static LLVMValueRef declare_apart(Lanes *l, const char *name) {
    LLVMValueRef function = LLVMAddFunction(l->code->module, name, LLVMFunctionType(l->real, &l->real, 1, false));
    LLVMSetLinkage(function, LLVMInternalLinkage);
    set_target_attributes(l->code, function);
    add_attribute(l->code, function, (unsigned)LLVMAttributeFunctionIndex, "noinline");
    add_attribute(l->code, function, (unsigned)LLVMAttributeFunctionIndex, "cold");
    add_attribute(l->code, function, (unsigned)LLVMAttributeFunctionIndex, "willreturn");
    return function;
}

/* Defines the function apart, without source lines. */
static LLVMValueRef define_apart(Lanes *l, const char *name, ApartFunction *body, const void *context) {
    LLVMValueRef function = declare_apart(l, name);
    LLVMBasicBlockRef at = LLVMGetInsertBlock(l->b);
    LLVMMetadataRef line = LLVMGetCurrentDebugLocation2(l->b);
    LLVMSetCurrentDebugLocation2(l->b, NULL);
    frame_open(l->code, function);
    LLVMBuildRet(l->b, body(l, context, LLVMGetParam(function, 0)));
    frame_close(l->code);
    LLVMPositionBuilderAtEnd(l->b, at);
    LLVMSetCurrentDebugLocation2(l->b, line);
    return function;
}

LLVMValueRef emit_apart(Lanes *l, const char *name, ApartFunction *body, const void *context, LLVMValueRef x) {
    int lanes = lanes_of(x), bits = lanes_are_wide(l) ? 64 : 32;
    name = arena_printf(l->code->arena, "tensorc.%s.f%dx%d", name, bits, lanes);
    LLVMValueRef function = LLVMGetNamedFunction(l->code->module, name);
    return emit_call(l->code, function ? function : define_apart(l, name, body, context), &x, 1);
}

/* --- the table --- */

static RealFunction *const functions[OP_COUNT] = {
    [OP_EXP] = emit_exp,     [OP_EXP2] = emit_exp2,   [OP_EXPM1] = emit_expm1, [OP_LOG] = emit_log,
    [OP_LOG1P] = emit_log1p, [OP_LOG2] = emit_log2,   [OP_LOG10] = emit_log10, [OP_SIN] = emit_sin,
    [OP_COS] = emit_cos,     [OP_TAN] = emit_tan,     [OP_ASIN] = emit_asin,   [OP_ACOS] = emit_acos,
    [OP_ATAN] = emit_atan,   [OP_ATAN2] = emit_atan2, [OP_SINH] = emit_sinh,   [OP_COSH] = emit_cosh,
    [OP_TANH] = emit_tanh,   [OP_ASINH] = emit_asinh, [OP_ACOSH] = emit_acosh, [OP_ATANH] = emit_atanh,
    [OP_CBRT] = emit_cbrt,   [OP_POW] = emit_pow,     [OP_HYPOT] = emit_hypot, [OP_ERF] = emit_erf,
    [OP_ERFC] = emit_erfc,
};

/* For a single number the C library is faster: it takes only the path that the number needs. */
static bool suits_library(Op op, bool wide) {
    static const bool both[OP_COUNT] = {
        [OP_LOG] = true,  [OP_LOG2] = true,  [OP_LOG10] = true, [OP_LOG1P] = true,
        [OP_CBRT] = true, [OP_ASINH] = true, [OP_ACOSH] = true, [OP_POW] = true,
    };
    return both[op] || (wide && (op == OP_ERF || op == OP_ERFC));
}

LLVMValueRef emit_function_of_reals(Code *code, Op op, bool wide, LLVMValueRef *args) {
    RealFunction *function = functions[op];
    if (!function || (lanes_of(args[0]) == 1 && suits_library(op, wide)))
        return NULL;
    Lanes lanes = lanes_like(code, wide ? code->f64 : code->f32, args[0]);
    return function(&lanes, args);
}
