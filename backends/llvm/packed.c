/* packed.c - the small functions beside NAME_packed and NAME_pack_ARG: how many bytes packed arguments take, and all
 * of them in one block of memory.
 *
 *   NAME_packed_ARG_size(sizes of ARG...)         what NAME_pack_ARG writes
 *   NAME_packed_size(sizes...)                    what NAME_pack_all writes
 *   NAME_pack_all(sizes..., from each..., to)     calls NAME_pack_ARG for each part of the block
 *   NAME_packed_all(sizes..., block, arguments)   calls NAME_packed; NAME_packed_all_in(workspace, ...) too
 *
 * In the block the parts lie in the order of the arguments, each at a multiple of 64 bytes. Where a part begins follows
 * from the sizes: the block holds nothing else. The first two functions take the sizes of all const arguments.
 */
#include "backends/llvm/code.h"
#include "lang/expr.h"
#include "lang/program.h"

/* --- one -- */

/* NAME_packed_ARG_size without a sign for what is refused: 0 is a size, too. */
static LLVMValueRef emit_size_or_refused(Code *code, const Packing *packing) {
    const Kernel *kernel = packing->kernel;
    const char *name = arena_printf(code->arena, "%s.or_refused", packing->size_symbol);
    LLVMValueRef function = open_size_function(code, kernel->program, name);
    LLVMSetLinkage(function, LLVMInternalLinkage);
    refuse_with(code, kernel->program, -1);
    if (kernel->program->size_count > 0)
        emit_early_checks(code, kernel->body);
    forget_values(code);
    LLVMBuildRet(code->builder, emit_value(code, packing->bytes));
    frame_close(code);
    return function;
}

/* A function of the packing's sizes, called with the values that they have here. */
static LLVMValueRef call_with_sizes(Code *code, const Packing *packing, LLVMValueRef function, LLVMValueRef *others,
                                    int other_count) {
    const Program *program = packing->kernel->program;
    int count = program->size_count;
    LLVMValueRef *args = ARENA_ARRAY(code->arena, LLVMValueRef, count + other_count + 1);
    for (int i = 0; i < count; i++)
        args[i] = variable_value(code, program->sizes[i]);
    for (int i = 0; i < other_count; i++)
        args[count + i] = others[i];
    return emit_call(code, function, args, count + other_count);
}

LLVMValueRef emit_packed_size(Code *code, const Packing *packing) {
    LLVMValueRef or_refused = emit_size_or_refused(code, packing);
    open_size_function(code, packing->kernel->program, packing->size_symbol);
    LLVMValueRef size = call_with_sizes(code, packing, or_refused, NULL, 0);
    LLVMBuildRet(code->builder, binary_intrinsic(code, "llvm.smax", size, index_constant(code, 0)));
    frame_close(code);
    return or_refused;
}

/* --- all together ------------------------------------------------------------------------------------------------- */

/* The program with those sizes alone that const arguments have. */
static Program program_of_packings(Code *code, const Kernel *kernel) {
    Program program = *kernel->packed->program;
    const Var **sizes = ARENA_ARRAY(code->arena, const Var *, program.size_count + 1);
    int count = 0;
    for (int i = 0; i < program.size_count; i++)
        if (is_packing_size(kernel->program, program.sizes[i]))
            sizes[count++] = program.sizes[i];
    program.sizes = sizes;
    program.size_count = count;
    return program;
}

/* Sets where each part begins, and returns the bytes of all. If a part is refused or the sum is no int64, the function
 * returns `refused`. */
static LLVMValueRef emit_offsets(Code *code, const Kernel *kernel, const LLVMValueRef *sizes, LLVMValueRef refused,
                                 LLVMValueRef *offsets) {
    LLVMBuilderRef builder = code->builder;
    LLVMBasicBlockRef here = LLVMGetInsertBlock(builder), refuse = new_block(code, "refused");
    LLVMPositionBuilderAtEnd(builder, refuse);
    LLVMBuildRet(builder, refused);
    LLVMPositionBuilderAtEnd(builder, here);
    LLVMValueRef end = index_constant(code, 0);
    for (int i = 0; i < kernel->packing_count; i++) {
        LLVMValueRef bytes = call_with_sizes(code, &kernel->packings[i], sizes[i], NULL, 0);
        offsets[i] = end;
        end = LLVMBuildAdd(builder, end, bytes, "");
        end = LLVMBuildAdd(builder, end, index_constant(code, DATA_ALIGNMENT - 1), "");
        end = LLVMBuildAnd(builder, end, index_constant(code, -DATA_ALIGNMENT), "");
        LLVMValueRef either = LLVMBuildOr(builder, bytes, end, "");
        LLVMValueRef bad = LLVMBuildICmp(builder, LLVMIntSLT, either, index_constant(code, 0), "");
        LLVMBasicBlockRef go_on = new_block(code, "sizes");
        LLVMBuildCondBr(builder, bad, refuse, go_on);
        LLVMPositionBuilderAtEnd(builder, go_on);
    }
    return end;
}

static LLVMValueRef part_at(Code *code, LLVMValueRef block, LLVMValueRef offset) {
    return LLVMBuildInBoundsGEP2(code->builder, code->i8, block, &offset, 1, "");
}

/* Opens the frame of a function that returns a status; `leading` parameters stand before the sizes. */
static LLVMValueRef open_status_function(Code *code, const Program *program, const char *name, LLVMTypeRef *types,
                                         int count, int leading) {
    LLVMTypeRef type = LLVMFunctionType(code->i32, types, (unsigned)count, false);
    LLVMValueRef function = LLVMAddFunction(code->module, name, type);
    set_target_attributes(code, function);
    forget_values(code);
    frame_open(code, function)->leading = leading;
    debug_function(code, function, name, program->loc);
    bind_sizes(code, program);
    return function;
}

/* int64_t NAME_packed_size(sizes...) */
static void emit_size_of_all(Code *code, const Kernel *kernel, const Program *program, const LLVMValueRef *sizes,
                             LLVMValueRef *offsets) {
    open_size_function(code, program, arena_printf(code->arena, "%s_size", program->symbol));
    LLVMBuildRet(code->builder, emit_offsets(code, kernel, sizes, index_constant(code, 0), offsets));
    frame_close(code);
}

/* if (status is not 0) return status */
static void return_if_not_ok(Code *code, LLVMValueRef status) {
    LLVMValueRef good = LLVMBuildICmp(code->builder, LLVMIntEQ, status, constant_int(code->i32, STATUS_OK), "");
    LLVMBasicBlockRef failed = new_block(code, "failed"), go_on = new_block(code, "packed");
    LLVMBuildCondBr(code->builder, good, go_on, failed);
    LLVMPositionBuilderAtEnd(code->builder, failed);
    LLVMBuildRet(code->builder, status);
    LLVMPositionBuilderAtEnd(code->builder, go_on);
}

/* int NAME_pack_all(sizes..., from each..., to) */
static void emit_pack_all(Code *code, const Kernel *kernel, const Program *program, const LLVMValueRef *sizes,
                          LLVMValueRef *offsets) {
    int parts = kernel->packing_count, count = program->size_count + parts + 1;
    LLVMTypeRef *types = ARENA_ARRAY(code->arena, LLVMTypeRef, count);
    for (int i = 0; i < count; i++)
        types[i] = i < program->size_count ? code->i64 : code->pointer;
    const char *name = arena_printf(code->arena, "%s_pack_all", kernel->program->symbol);
    LLVMValueRef function = open_status_function(code, program, name, types, count, 0);
    emit_offsets(code, kernel, sizes, constant_int(code->i32, STATUS_BAD_SIZE), offsets);
    LLVMValueRef to = LLVMGetParam(function, (unsigned)(count - 1));
    for (int i = 0; i < parts; i++) {
        const Packing *packing = &kernel->packings[i];
        LLVMValueRef pack = LLVMGetNamedFunction(code->module, packing->kernel->program->symbol);
        LLVMValueRef from = LLVMGetParam(function, (unsigned)(program->size_count + i));
        LLVMValueRef others[] = {from, part_at(code, to, offsets[i])};
        return_if_not_ok(code, call_with_sizes(code, packing, pack, others, 2));
    }
    LLVMBuildRet(code->builder, constant_int(code->i32, STATUS_OK));
    frame_close(code);
}

/* The types of (workspace, sizes..., block, arguments that are not packed...), the first one if there is one. */
static LLVMTypeRef *types_with_block(Code *code, const Kernel *kernel, bool workspace, int *count) {
    const Program *program = kernel->packed->program;
    int all;
    LLVMTypeRef *types = parameter_types(code, program, workspace, &all);
    *count = all - program->argument_count;
    LLVMTypeRef before = code->pointer; /* the block's, then the argument's that was where the one before goes */
    for (int i = 0, at = *count; i < program->argument_count; i++) {
        LLVMTypeRef type = types[at + i];
        if (argument_is_packed(&kernel->program->arguments[i]))
            continue;
        types[(*count)++] = before;
        before = type;
    }
    types[(*count)++] = before;
    return types;
}

/* int NAME_packed_all(sizes..., block, arguments...), or NAME_packed_all_in(workspace, ...): calls NAME_packed_in. */
static void emit_call_with_block(Code *code, const Kernel *kernel, const LLVMValueRef *sizes, LLVMValueRef *offsets,
                                 bool workspace) {
    const Program *program = kernel->packed->program;
    const char *name = arena_printf(code->arena, "%s_all%s", program->symbol, workspace ? "_in" : "");
    int count, from = workspace ? 1 : 0, at = from + program->size_count;
    LLVMTypeRef *types = types_with_block(code, kernel, workspace, &count);
    LLVMValueRef function = open_status_function(code, program, name, types, count, from);
    emit_offsets(code, kernel, sizes, constant_int(code->i32, STATUS_BAD_SIZE), offsets);
    LLVMValueRef *args = ARENA_ARRAY(code->arena, LLVMValueRef, 1 + program->size_count + program->argument_count);
    args[0] = workspace ? LLVMGetParam(function, 0) : LLVMConstNull(code->pointer);
    for (int i = 0; i < program->size_count; i++)
        args[1 + i] = LLVMGetParam(function, (unsigned)(from + i));
    LLVMValueRef block = LLVMGetParam(function, (unsigned)at++);
    for (int i = 0, part = 0; i < program->argument_count; i++)
        args[1 + program->size_count + i] = argument_is_packed(&kernel->program->arguments[i])
                                                ? part_at(code, block, offsets[part++])
                                                : LLVMGetParam(function, (unsigned)at++);
    const Program *has_code = kernel->packed_as_is ? kernel->program : program;
    LLVMValueRef callee = function_named(code, has_code->symbol, "_in");
    LLVMValueRef call = emit_call(code, callee, args, 1 + program->size_count + program->argument_count);
    LLVMSetTailCall(call, true);
    LLVMBuildRet(code->builder, call);
    frame_close(code);
}

void emit_packed_together(Code *code, const Kernel *kernel, const LLVMValueRef *sizes) {
    LLVMValueRef *offsets = ARENA_ARRAY(code->arena, LLVMValueRef, kernel->packing_count + 1);
    Program program = program_of_packings(code, kernel);
    emit_size_of_all(code, kernel, &program, sizes, offsets);
    emit_pack_all(code, kernel, &program, sizes, offsets);
    emit_call_with_block(code, kernel, sizes, offsets, false);
    emit_call_with_block(code, kernel, sizes, offsets, true);
}
