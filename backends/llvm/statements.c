/* statements.c - statements of a flat kernel: stores, serial loops, conditions, checks, lifetimes of buffers. */
#include "backends/llvm/code.h"
#include "lang/diag.h"
#include "lang/expr.h"
#include "lang/program.h"

/* --- checks --- */

/* Whether the condition holds, in all lanes. */
static LLVMValueRef emit_holds(Code *code, const Expr *condition) {
    LLVMValueRef holds = emit_value(code, condition);
    if (condition->lanes == 1)
        return holds;
    LLVMTypeRef type = LLVMTypeOf(holds);
    return emit_intrinsic(code, "llvm.vector.reduce.and", &type, 1, &holds, 1);
}

static void emit_check(Code *code, const Stmt *stmt) {
    LLVMBasicBlockRef failed = new_block(code, "failed"), passed = new_block(code, "passed");
    LLVMBuildCondBr(code->builder, emit_holds(code, stmt->condition), passed, failed);
    LLVMPositionBuilderAtEnd(code->builder, failed);
    return_status(code, constant_int(code->i32, stmt->status));
    LLVMPositionBuilderAtEnd(code->builder, passed);
}

/* Whether the sizes and parameters in an expression have values: functions that tell bytes know the sizes alone. */
static bool has_values(const Code *code, const Expr *e) {
    EACH_EXPR(part, e)
        if (part->kind == EXPR_VAR && !address_map_get(&code->frame->variables, part->var))
            return false;
    return true;
}

void emit_early_checks(Code *code, const Stmt *stmt) {
    debug_location(code, stmt->loc);
    if (stmt->kind == STMT_CHECK && !expr_reads(stmt->condition) && has_values(code, stmt->condition)) {
        forget_values(code);
        emit_check(code, stmt);
        address_map_set(code->arena, &code->checked, stmt, (void *)stmt);
    }
    if (stmt->kind == STMT_BLOCK || stmt->kind == STMT_ALLOCATE)
        for (int i = 0; i < stmt->count; i++)
            emit_early_checks(code, stmt->body[i]);
}

/* --- lifetimes --- */

static LLVMValueRef temporary_address(Code *code, const Tensor *tensor, const Placement *placement) {
    if (placement->address)
        return placement->address;
    if (!placement->stack) {
        LLVMValueRef offset = placement->offset;
        return LLVMBuildInBoundsGEP2(code->builder, code->i8, code->frame->heap, &offset, 1, tensor->name);
    }
    LLVMTypeRef type = LLVMArrayType(memory_type(code, tensor->type), (unsigned)tensor_elements(tensor));
    return entry_alloca(code, type, DATA_ALIGNMENT, tensor->name);
}

void bind_temporary(Code *code, const Tensor *tensor, const Placement *placement) {
    ENSURE(placement != NULL);
    bind_buffer(code, tensor, temporary_address(code, tensor, placement));
    buffer_of(code, tensor)->placement = placement;
}

void bind_registers(Code *code, const Stmt *allocation) {
    Buffer *buffer = ARENA_NEW(code->arena, Buffer);
    *buffer = (Buffer){.tensor = allocation->tensor, .registers = registers_new(code, allocation)};
    address_map_set(code->arena, &code->frame->buffers, allocation->tensor, buffer);
}

static void emit_allocation(Code *code, const Stmt *stmt) {
    if (is_nest_apart(code, stmt)) {
        emit_nest_apart(code, stmt);
        return;
    }
    if (stmt->tensor->scope == SCOPE_REGISTER)
        bind_registers(code, stmt);
    else
        bind_temporary(code, stmt->tensor, address_map_get(&code->placements, stmt));
    emit_statements(code, stmt->body, stmt->count);
}

/* --- control flow --- */

static void emit_if(Code *code, const Stmt *stmt) {
    Branch branch = branch_begin(code, emit_value(code, stmt->condition));
    emit_statements(code, stmt->body, stmt->count);
    branch_else(code, &branch);
    emit_statements(code, stmt->otherwise, stmt->otherwise_count);
    branch_end(code, &branch);
}

static void emit_body(Code *code, const Stmt *stmt, LLVMValueRef index) {
    code->frame->depth++;
    bind_variable(code, stmt->var, index);
    emit_statements(code, stmt->body, stmt->count);
    code->frame->depth--;
}

static void emit_for(Code *code, const Stmt *stmt) {
    LLVMValueRef extent = emit_value(code, stmt->extent), zero = index_constant(code, 0);
    if (LLVMIsAConstantInt(extent) && LLVMConstIntGetSExtValue(extent) == 1) {
        emit_body(code, stmt, zero);
        return;
    }
    LoopBlocks loop = loop_begin(code, zero, extent, stmt->var->name);
    emit_body(code, stmt, loop.index);
    loop_end(code, &loop);
}

/* The address may be outside the buffer: it is computed without "inbounds". */
static void emit_prefetch(Code *code, const Stmt *stmt) {
    const Buffer *buffer = buffer_of(code, stmt->tensor);
    Expr *index = stmt->index_count ? stmt->index[0] : expr_int(code->arena, 0);
    LLVMValueRef at = emit_value(code, index_in_buffer(code, buffer, index)), base = buffer->pointer;
    LLVMValueRef address = LLVMBuildGEP2(code->builder, memory_type(code, stmt->tensor->type), base, &at, 1, "");
    LLVMTypeRef type = LLVMTypeOf(address);
    LLVMValueRef near = LLVMConstInt(code->i32, stmt->far ? 2 : 3, false); /* 3: all levels; 2: from the second on */
    LLVMValueRef args[] = {address, LLVMConstInt(code->i32, 0, false), near, LLVMConstInt(code->i32, 1, false)};
    emit_intrinsic(code, "llvm.prefetch", &type, 1, args, 4);
}

/* Emits no instruction, but loads do not cross it. Otherwise loads that neighbouring steps share stay in registers
 * until the accumulators no longer fit. */
static void emit_step(Code *code) {
    emit_empty_assembly(code, "~{memory}", code->nothing, NULL, true);
}

void emit_statements(Code *code, Stmt *const *statements, int count) {
    for (int i = 0; i < count; i++)
        emit_statement(code, statements[i]);
}

void emit_statement(Code *code, const Stmt *stmt) {
    debug_location(code, stmt->loc);
    forget_values(code);
    if (stmt->kind != STMT_STORE)
        forget_divisors(code, NULL);
    switch (stmt->kind) {
    case STMT_BLOCK: emit_statements(code, stmt->body, stmt->count); return;
    case STMT_FOR:
        if (stmt->loop == LOOP_PARALLEL && !code->single_thread && !code->frame->parallel)
            emit_parallel_loop(code, stmt);
        else if (is_nest_apart(code, stmt))
            emit_nest_apart(code, stmt);
        else
            emit_for(code, stmt);
        return;
    case STMT_IF: emit_if(code, stmt); return;
    case STMT_STORE: emit_store(code, stmt); return;
    case STMT_TOGETHER: emit_stores_together(code, stmt); return;
    case STMT_ALLOCATE: emit_allocation(code, stmt); return;
    case STMT_CHECK:
        if (!address_map_get(&code->checked, stmt))
            emit_check(code, stmt);
        return;
    case STMT_PREFETCH: emit_prefetch(code, stmt); return;
    case STMT_STEP: emit_step(code); return;
    case STMT_SHARED: emit_shared_nest(code, stmt); return;
    }
}
