/* entries.c - the small functions beside the one that has a kernel's code: those that tell how many bytes something
 * takes, and other ways to call it.
 *
 *   NAME_workspace_size(sizes...)        what NAME_in needs of its caller
 *   NAME_in(workspace, ...), NAME(...)   the one of them that does not have the code
 *   NAME_call(sizes, arguments)          in candidates, for callers that do not know the signature
 */
#include "backends/llvm/code.h"
#include "lang/expr.h"
#include "lang/program.h"

/* --- sizes -------------------------------------------------------------------------------------------------------- */

LLVMValueRef open_size_function(Code *code, const Program *program, const char *name) {
    LLVMTypeRef *types = ARENA_ARRAY(code->arena, LLVMTypeRef, program->size_count + 1);
    for (int i = 0; i < program->size_count; i++)
        types[i] = code->i64;
    LLVMTypeRef type = LLVMFunctionType(code->i64, types, (unsigned)program->size_count, false);
    LLVMValueRef function = LLVMAddFunction(code->module, name, type);
    set_target_attributes(code, function);
    forget_values(code);
    frame_open(code, function);
    debug_function(code, function, name, program->loc);
    bind_sizes(code, program);
    return function;
}

void refuse_with(Code *code, const Program *program, int64_t result) {
    Frame *frame = code->frame;
    LLVMBasicBlockRef here = LLVMGetInsertBlock(code->builder);
    if (program->size_count == 0)
        return;
    frame->leave = new_block(code, "refused");
    LLVMPositionBuilderAtEnd(code->builder, frame->leave);
    frame->status = LLVMBuildPhi(code->builder, code->i32, "");
    LLVMBuildRet(code->builder, index_constant(code, result));
    LLVMPositionBuilderAtEnd(code->builder, here);
    refuse_negative_sizes(code, program);
}

/* Bytes that are no number stay none: nobody can allocate SIZE_MAX. */
static LLVMValueRef with_slack(Code *code, LLVMValueRef bytes) {
    LLVMValueRef all = LLVMBuildAdd(code->builder, bytes, index_constant(code, WORKSPACE_SLACK), "");
    LLVMValueRef many = LLVMBuildICmp(code->builder, LLVMIntSGE, bytes, index_constant(code, TOO_MANY_BYTES), "");
    return LLVMBuildSelect(code->builder, many, index_constant(code, -1), all, "");
}

/* if (the sizes are the variant's) return what the variant needs */
static void return_of_variant(Code *code, const Program *program, const Variant *variant, const Emitted *emitted) {
    int count = variant->kernel->program->size_count;
    LLVMValueRef *sizes = ARENA_ARRAY(code->arena, LLVMValueRef, count + 1);
    LLVMBasicBlockRef go_on = variant_begin(code, program, variant, sizes);
    LLVMBuildRet(code->builder, emit_call(code, emitted->size, sizes, count));
    LLVMPositionBuilderAtEnd(code->builder, go_on);
}

void emit_workspace_size(Code *code, const Kernel *kernel, const Emitted *variants, Emitted *emitted) {
    const Program *program = kernel->program;
    begin_kernel(code, kernel);
    emitted->size = open_size_function(code, program, arena_printf(code->arena, "%s_workspace_size", program->symbol));
    code->frame->workspace = emitted->size; /* any that is not null: the number of threads is that of NAME_in */
    refuse_with(code, program, 0);
    for (int i = 0; i < kernel->variant_count; i++) {
        return_of_variant(code, program, &kernel->variants[i], &variants[i]);
        emitted->workspace |= variants[i].workspace;
    }
    if (program->size_count > 0)
        emit_early_checks(code, kernel->body);
    LLVMValueRef bytes = temporary_bytes(code, kernel->body);
    emitted->workspace |= bytes != NULL;
    LLVMBuildRet(code->builder, bytes ? with_slack(code, bytes) : index_constant(code, 0));
    frame_close(code);
}

/* --- other ways in ------------------------------------------------------------------------------------------------ */

/* NAME, which calls NAME_in without a workspace; or NAME_in, which calls NAME and needs none. */
LLVMValueRef emit_other_way(Code *code, const Program *program, const Emitted *emitted, const char *name) {
    int count, from = emitted->workspace ? 0 : 1;
    LLVMTypeRef *types = parameter_types(code, program, !emitted->workspace, &count);
    LLVMValueRef function =
        LLVMAddFunction(code->module, name, LLVMFunctionType(code->i32, types, (unsigned)count, false));
    set_target_attributes(code, function);
    frame_open(code, function);
    debug_function(code, function, name, program->loc);
    LLVMValueRef *args = ARENA_ARRAY(code->arena, LLVMValueRef, count + 2);
    args[0] = LLVMConstNull(code->pointer); /* the workspace */
    for (int i = from; i < count; i++)
        args[i + 1 - 2 * from] = LLVMGetParam(function, (unsigned)i);
    LLVMValueRef call = emit_call(code, emitted->function, args, count + 1 - 2 * from);
    LLVMSetTailCall(call, true);
    LLVMBuildRet(code->builder, call);
    frame_close(code);
    return function;
}

static LLVMValueRef pointer_at(Code *code, LLVMValueRef array, int index, LLVMTypeRef type) {
    LLVMValueRef at = index_constant(code, index);
    return LLVMBuildInBoundsGEP2(code->builder, type, array, &at, 1, "");
}

/* int NAME_call(const int64_t *sizes, void *const *arguments): scalars are passed by pointer too. */
void emit_entry(Code *code, const Program *program, LLVMValueRef function) {
    const char *name = arena_printf(code->arena, "%s_call", program->symbol);
    LLVMTypeRef types[] = {code->pointer, code->pointer};
    LLVMValueRef entry = LLVMAddFunction(code->module, name, LLVMFunctionType(code->i32, types, 2, false));
    set_target_attributes(code, entry);
    frame_open(code, entry);
    debug_function(code, entry, name, program->loc);
    int count = program->size_count + program->argument_count;
    LLVMValueRef *args = ARENA_ARRAY(code->arena, LLVMValueRef, count + 1);
    LLVMValueRef sizes = LLVMGetParam(entry, 0), arguments = LLVMGetParam(entry, 1);
    for (int i = 0; i < program->size_count; i++)
        args[i] = LLVMBuildLoad2(code->builder, code->i64, pointer_at(code, sizes, i, code->i64), "");
    for (int i = 0; i < program->argument_count; i++) {
        const Argument *argument = &program->arguments[i];
        LLVMValueRef address = pointer_at(code, arguments, i, code->pointer);
        LLVMValueRef value = LLVMBuildLoad2(code->builder, code->pointer, address, "");
        if (argument->scalar)
            value = LLVMBuildLoad2(code->builder, memory_type(code, argument->scalar->type), value, "");
        args[program->size_count + i] = value;
    }
    LLVMBuildRet(code->builder, emit_call(code, function, args, count));
    frame_close(code);
}
