/* instr.c - calls of hardware instructions: an LLVM intrinsic, or a function of LLVM IR from the source.
 *
 * Operands are passed as they lie in memory, all their elements in a row. If the instruction wants another type of as
 * many bits (a vector of 32-bit integers for packed bytes), the bits are reinterpreted. An error in a body is kept as
 * the module's problem, because the source wrote it.
 */
#include "backends/llvm/code.h"
#include "lang/expr.h"
#include "lang/program.h"

#include <ctype.h>
#include <llvm-c/IRReader.h>
#include <llvm-c/Linker.h>
#include <llvm-c/Target.h>
#include <string.h>

static void keep_problem(Code *code, const Instr *instr, const char *what) {
    if (!code->problem)
        code->problem = arena_printf(code->arena, "instr %s: %s", instr->name, what);
}

/* --- types --- */

static LLVMTypeRef element_type(Code *code, ElementType type) {
    if (type == TYPE_HALF)
        return LLVMHalfTypeInContext(code->context);
    return type == TYPE_BFLOAT16 ? LLVMBFloatTypeInContext(code->context) : memory_type(code, type);
}

static int operand_lanes(const Tensor *operand) {
    return (int)tensor_elements(operand);
}

static LLVMTypeRef operand_type(Code *code, const Tensor *operand) {
    return vector_of(element_type(code, operand->type), operand_lanes(operand));
}

static int first_operand(const Instr *instr) {
    return instr->meaning->combine == COMBINE_NONE;
}

/* The function type that the source's types declare. */
static LLVMTypeRef declared_type(Code *code, const Instr *instr) {
    LLVMTypeRef *parameters = ARENA_ARRAY(code->arena, LLVMTypeRef, instr->operand_count);
    int count = 0;
    for (int i = first_operand(instr); i < instr->operand_count; i++)
        parameters[count++] = operand_type(code, instr->operands[i]);
    return LLVMFunctionType(operand_type(code, instr->operands[0]), parameters, (unsigned)count, false);
}

static const char *type_text(Code *code, LLVMTypeRef type) {
    char *text = LLVMPrintTypeToString(type);
    const char *copy = arena_strdup(code->arena, text);
    LLVMDisposeMessage(text);
    return copy;
}

/* Whether a function takes as many operands, each with as many bits, and returns the first. */
static bool type_fits(Code *code, const Instr *instr, LLVMTypeRef type) {
    LLVMTypeRef wanted = declared_type(code, instr);
    unsigned count = LLVMCountParamTypes(type);
    bool fits = !LLVMIsFunctionVarArg(type) && count == LLVMCountParamTypes(wanted) &&
                type_bits(LLVMGetReturnType(type)) == type_bits(LLVMGetReturnType(wanted));
    LLVMTypeRef *has = ARENA_ARRAY(code->arena, LLVMTypeRef, count + 1),
                *wants = ARENA_ARRAY(code->arena, LLVMTypeRef, LLVMCountParamTypes(wanted) + 1);
    LLVMGetParamTypes(type, has);
    LLVMGetParamTypes(wanted, wants);
    for (unsigned i = 0; fits && i < count; i++)
        fits = type_bits(has[i]) == type_bits(wants[i]);
    if (!fits)
        keep_problem(code, instr,
                     arena_printf(code->arena, "its body is %s; the operands are %s", type_text(code, type),
                                  type_text(code, wanted)));
    return fits;
}

/* --- functions --- */

static bool is_name(const char *body) {
    for (; *body; body++)
        if (!isalnum((unsigned char)*body) && !strchr("._-", *body))
            return false;
    return true;
}

static LLVMValueRef intrinsic_of(Code *code, const Instr *instr) {
    unsigned id = LLVMLookupIntrinsicID(instr->body, strlen(instr->body));
    if (!id) {
        keep_problem(code, instr, arena_printf(code->arena, "this LLVM has no intrinsic %s", instr->body));
        return NULL;
    }
    if (LLVMIntrinsicIsOverloaded(id))
        return LLVMAddFunction(code->module, instr->body, declared_type(code, instr));
    LLVMTypeRef type = LLVMIntrinsicGetType(code->context, id, NULL, 0);
    return type_fits(code, instr, type) ? LLVMGetIntrinsicDeclaration(code->module, id, NULL, 0) : NULL;
}

/* Bare statements become a function whose parameters are named after the operands. */
static const char *function_text(Code *code, const Instr *instr) {
    if (strstr(instr->body, "define "))
        return instr->body;
    Text text = {.arena = code->arena};
    text_add(&text, "define %s @instr(", type_text(code, operand_type(code, instr->operands[0])));
    for (int i = first_operand(instr); i < instr->operand_count; i++)
        text_add(&text, "%s%s %%%s", i > first_operand(instr) ? ", " : "",
                 type_text(code, operand_type(code, instr->operands[i])), instr->operands[i]->name);
    text_add(&text, ") {\n%s\n}\n", instr->body);
    return text.text;
}

/* Takes the first function that a module defines, made internal and always inlined. */
static LLVMValueRef take_function(Code *code, const Instr *instr, LLVMModuleRef module) {
    LLVMValueRef function = LLVMGetFirstFunction(module);
    while (function && LLVMIsDeclaration(function))
        function = LLVMGetNextFunction(function);
    if (!function) {
        keep_problem(code, instr, "its body defines no function");
        return NULL;
    }
    const char *name = arena_printf(code->arena, "tensorc.instr.%s", instr->name);
    LLVMSetValueName2(function, name, strlen(name));
    add_attribute(code, function, (unsigned)LLVMAttributeFunctionIndex, "alwaysinline");
    set_target_attributes(code, function);
    LLVMSetModuleDataLayout(module, LLVMGetModuleDataLayout(code->module));
    LLVMSetTarget(module, LLVMGetTarget(code->module));
    return function;
}

static LLVMValueRef link_function(Code *code, const Instr *instr, LLVMModuleRef module) {
    LLVMValueRef function = take_function(code, instr, module);
    if (!function || !type_fits(code, instr, LLVMGlobalGetValueType(function))) {
        LLVMDisposeModule(module);
        return NULL;
    }
    const char *name = arena_printf(code->arena, "tensorc.instr.%s", instr->name);
    if (LLVMLinkModules2(code->module, module)) {
        keep_problem(code, instr, "its body does not link");
        return NULL;
    }
    function = LLVMGetNamedFunction(code->module, name);
    LLVMSetLinkage(function, LLVMInternalLinkage);
    code->inlines = true;
    return function;
}

static LLVMValueRef parsed_function(Code *code, const Instr *instr) {
    const char *text = function_text(code, instr);
    LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(text, strlen(text), instr->name);
    LLVMModuleRef module;
    char *message = NULL;
    if (!LLVMParseIRInContext(code->context, buffer, &module, &message))
        return link_function(code, instr, module);
    int length = message ? (int)strlen(message) : 0;
    while (length && isspace((unsigned char)message[length - 1]))
        length--;
    keep_problem(code, instr, arena_printf(code->arena, "its body is no LLVM IR: %.*s", length, message));
    LLVMDisposeMessage(message);
    return NULL;
}

/* NULL, with the problem kept, if the body is wrong. */
static LLVMValueRef instr_function(Code *code, const Instr *instr) {
    LLVMValueRef function = address_map_get(&code->instrs, instr);
    if (function || code->problem)
        return function;
    function = is_name(instr->body) ? intrinsic_of(code, instr) : parsed_function(code, instr);
    if (function)
        address_map_set(code->arena, &code->instrs, instr, function);
    return function;
}

/* --- operands --- */

/* Repeats a vector. A small one goes as one integer, which processors load and repeat at once. */
static LLVMValueRef repeated(Code *code, LLVMValueRef block, int times) {
    int lanes = lanes_of(block);
    unsigned bits = type_bits(LLVMTypeOf(block));
    if (bits == 8 || bits == 16 || bits == 32 || bits == 64) {
        LLVMTypeRef element = lanes > 1 ? LLVMGetElementType(LLVMTypeOf(block)) : LLVMTypeOf(block);
        LLVMTypeRef whole = LLVMIntTypeInContext(code->context, bits);
        LLVMValueRef copies = emit_splat(code, LLVMBuildBitCast(code->builder, block, whole, ""), times);
        copies = emit_resized(code, copies, times);
        return LLVMBuildBitCast(code->builder, copies, vector_of(element, times * lanes), "");
    }
    int *indices = ARENA_ARRAY(code->arena, int, lanes *times);
    for (int i = 0; i < lanes * times; i++)
        indices[i] = i % lanes;
    return emit_shuffle(code, block, NULL, indices, lanes * times);
}

LLVMValueRef emit_repeat(Code *code, const Expr *e) {
    const Expr *block = e->args[0];
    LLVMValueRef value = emit_resized(code, emit_value(code, block), block->lanes);
    return emit_resized(code, repeated(code, value, e->lanes / block->lanes), padded_lanes(e->lanes));
}

/* A value as it lies in memory, in exactly its lanes. What was just read is not converted back and forth. */
static LLVMValueRef stored_value(Code *code, const Expr *e) {
    if (e->kind == EXPR_REPEAT || e->kind == EXPR_BROADCAST)
        return repeated(code, stored_value(code, e->args[0]), e->lanes / e->args[0]->lanes);
    LLVMValueRef value = e->kind == EXPR_READ ? emit_stored(code, e) : to_memory(code, emit_value(code, e), e->type);
    return emit_resized(code, value, e->lanes);
}

LLVMValueRef emit_instr(Code *code, const Expr *e) {
    LLVMValueRef function = instr_function(code, e->instr);
    if (!function)
        return LLVMGetPoison(value_type(code, e->type, e->lanes));
    LLVMTypeRef type = LLVMGlobalGetValueType(function), *types = ARENA_ARRAY(code->arena, LLVMTypeRef, e->count);
    LLVMValueRef *args = ARENA_ARRAY(code->arena, LLVMValueRef, e->count);
    LLVMGetParamTypes(type, types);
    for (int i = 0; i < e->count; i++)
        args[i] = LLVMBuildBitCast(code->builder, stored_value(code, e->args[i]), types[i], "");
    LLVMValueRef result = emit_call(code, function, args, e->count);
    result = LLVMBuildBitCast(code->builder, result, vector_of(memory_type(code, e->type), e->lanes), "");
    return from_memory(code, emit_resized(code, result, padded_lanes(e->lanes)), e->type);
}
