/* shared.c - nests that a long kernel runs several times: each is a function.
 *
 *   SYMBOL.nest.N(places..., sizes..., scalars..., memory, tensors..., numbers...)
 *
 * Places are those of its temporaries that are known at run time alone; memory is where its temporaries begin. What
 * comes before memory is the same at each run. Pointers do not alias, as in the caller.
 */
#include "backends/llvm/code.h"

/* Values of the kernel's sizes and scalars. */
static void pass_variables(Code *code, SharedCode *shared) {
    const Program *program = code->kernel->program;
    for (int i = 0; i < program->size_count; i++)
        list_push(code->arena, &shared->values, variable_value(code, program->sizes[i]));
    for (int i = 0; i < program->argument_count; i++)
        if (program->arguments[i].scalar)
            list_push(code->arena, &shared->values, variable_value(code, program->arguments[i].scalar));
}

static void pass_values(Code *code, SharedCode *shared) {
    for (int i = 0; i < shared->places.count; i++)
        if (!LLVMIsConstant(*shared->places.items[i]))
            list_push(code->arena, &shared->values, *shared->places.items[i]);
    pass_variables(code, shared);
}

static LLVMTypeRef number_type(Code *code, const SharedNest *nest, int number) {
    return value_type(code, nest->numbers[number]->type, 1);
}

static LLVMValueRef declare(Code *code, const SharedNest *nest, const SharedCode *shared) {
    int count = shared->values.count, all = count + 1 + nest->tensor_count + nest->number_count;
    LLVMTypeRef *types = ARENA_ARRAY(code->arena, LLVMTypeRef, all);
    for (int i = 0; i < all; i++)
        types[i] = i < count                         ? LLVMTypeOf(shared->values.items[i])
                   : i <= count + nest->tensor_count ? code->pointer
                                                     : number_type(code, nest, i - count - 1 - nest->tensor_count);
    const char *name = arena_printf(code->arena, "%s.nest.%d", code->kernel->program->symbol, nest->number);
    return internal_function(code, name, LLVMFunctionType(code->i32, types, (unsigned)all, false));
}

/* All that the nest names gets its value from a parameter. */
static void bind_all(Code *code, const SharedNest *nest, SharedCode *shared) {
    const Program *program = code->kernel->program;
    LLVMValueRef function = shared->function;
    unsigned next = 0;
    for (int i = 0; i < shared->places.count; i++)
        if (!LLVMIsConstant(*shared->places.items[i]))
            *shared->places.items[i] = LLVMGetParam(function, next++);
    for (int i = 0; i < program->size_count; i++)
        bind_variable(code, program->sizes[i], LLVMGetParam(function, next++));
    for (int i = 0; i < program->argument_count; i++)
        if (program->arguments[i].scalar)
            bind_variable(code, program->arguments[i].scalar, LLVMGetParam(function, next++));
    code->frame->heap = LLVMGetParam(function, next++);
    for (int i = 0; i < nest->tensor_count; i++)
        bind_parameter(code, nest->tensors[i], next++);
    for (int i = 0; i < nest->number_count; i++)
        bind_variable(code, nest->numbers[i], LLVMGetParam(function, next++));
}

static void emit_nest(Code *code, const Stmt *stmt, SharedCode *shared) {
    const SharedNest *nest = stmt->shared;
    LLVMBasicBlockRef here = LLVMGetInsertBlock(code->builder);
    pass_values(code, shared);
    shared->function = declare(code, nest, shared);
    frame_open(code, shared->function);
    size_t length;
    debug_function(code, shared->function, LLVMGetValueName2(shared->function, &length), stmt->loc);
    bind_all(code, nest, shared);
    forget_values(code);
    code->addresses.count = 0;
    emit_statements(code, nest->kernel->body->body, nest->kernel->body->count);
    LLVMBuildRet(code->builder, constant_int(code->i32, STATUS_OK));
    frame_close(code);
    LLVMPositionBuilderAtEnd(code->builder, here);
    forget_values(code);
    forget_divisors(code, NULL);
    code->addresses.count = 0;
    debug_location(code, stmt->loc);
}

/* Where the temporaries of the run begin. */
static LLVMValueRef memory_of(Code *code, const Stmt *stmt) {
    const LLVMValueRef *place = address_map_get(&code->shared_places, stmt);
    if (!place || !code->frame->heap)
        return LLVMConstNull(code->pointer);
    LLVMValueRef offset = *place;
    return LLVMBuildInBoundsGEP2(code->builder, code->i8, code->frame->heap, &offset, 1, "");
}

bool has_many_runs(const Kernel *kernel) {
    enum { MANY_RUNS = 256 };
    int runs = 0;
    EACH_STMT(stmt, kernel->shared.count ? kernel->body : NULL)
        runs += stmt->kind == STMT_SHARED;
    return runs > MANY_RUNS;
}

/* Behind a value's definition and what the entry allocates. */
static void position_after(Code *code, LLVMValueRef value) {
    LLVMBasicBlockRef block = LLVMIsAInstruction(value) ? LLVMGetInstructionParent(value) : code->frame->entry;
    LLVMValueRef next = block == code->frame->entry ? NULL : LLVMGetNextInstruction(value);
    while (next && LLVMIsAPHINode(next))
        next = LLVMGetNextInstruction(next);
    if (next)
        LLVMPositionBuilderBefore(code->builder, next);
    else
        LLVMPositionBuilderAtEnd(code->builder, block);
}

/* With many runs it is loaded for each of them: to allocate registers to values that live through all takes LLVM the
 * square of the time. */
static LLVMValueRef passed(Code *code, LLVMValueRef value) {
    if (!code->many_runs || LLVMIsConstant(value))
        return value;
    LLVMValueRef kept = address_map_get(&code->passed, value);
    if (!kept) {
        LLVMBasicBlockRef here = LLVMGetInsertBlock(code->builder);
        LLVMMetadataRef line = LLVMGetCurrentDebugLocation2(code->builder);
        kept = entry_alloca(code, LLVMTypeOf(value), 0, "passed");
        address_map_set(code->arena, &code->passed, value, kept);
        position_after(code, value);
        LLVMBuildStore(code->builder, value, kept);
        LLVMPositionBuilderAtEnd(code->builder, here);
        LLVMSetCurrentDebugLocation2(code->builder, line);
    }
    LLVMValueRef load = LLVMBuildLoad2(code->builder, LLVMTypeOf(value), kept, "");
    LLVMSetVolatile(load, true);
    return load;
}

void emit_shared_nest(Code *code, const Stmt *stmt) {
    const SharedNest *nest = stmt->shared;
    SharedCode *shared = address_map_get(&code->shared, nest);
    if (!shared->function)
        emit_nest(code, stmt, shared);
    int count = 0, all = shared->values.count + 1 + nest->tensor_count + nest->number_count;
    LLVMValueRef *args = ARENA_ARRAY(code->arena, LLVMValueRef, all);
    for (int i = 0; i < shared->values.count; i++)
        args[count++] = shared->values.items[i];
    args[count++] = memory_of(code, stmt);
    for (int i = 0; i < nest->tensor_count; i++)
        args[count++] = buffer_of(code, stmt->tensors[i])->pointer;
    for (int i = 0; i < nest->number_count; i++)
        args[count++] = emit_value(code, stmt->numbers[i]);
    for (int i = 0; i < count; i++)
        args[i] = passed(code, args[i]);
    emit_call(code, shared->function, args, count);
}
