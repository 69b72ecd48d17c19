/* launch.c - how a parallel loop comes to run in threads: by a function that all loops of a module share.
 *
 *   parallel.launch(closure, work)    calls the range of the closure in threads, where it has an extent of more than 1
 *                                     and enough work for two; else by itself
 *
 * The work is in instructions (loop_work). Sizes that are known when the program runs decide, so that a loop over
 * run-time sizes may be parallel: it costs a test where they are small.
 *
 * The closure begins with { extent, status, range }: closure_head_type. The threads are those of the hook if there is
 * one, else of the thread pool (runtime/threads.ll). A candidate calls tensorc_parallel, which the worker has.
 */
#include "backends/llvm/code.h"

LLVMTypeRef closure_head_type(Code *code) {
    LLVMTypeRef types[CLOSURE_VALUES] = {
        [CLOSURE_EXTENT] = code->i64, [CLOSURE_STATUS] = code->i32, [CLOSURE_RANGE] = code->pointer};
    return LLVMStructTypeInContext(code->context, types, CLOSURE_VALUES, false);
}

LLVMValueRef part_begin(Code *code, LLVMValueRef extent, LLVMValueRef part, LLVMValueRef parts) {
    LLVMBuilderRef b = code->builder;
    LLVMValueRef share = LLVMBuildUDiv(b, extent, parts, ""), rest = LLVMBuildURem(b, extent, parts, "");
    LLVMValueRef more = binary_intrinsic(code, "llvm.umin", part, rest);
    return LLVMBuildAdd(b, LLVMBuildMul(b, part, share, ""), more, "");
}

static LLVMTypeRef range_type(Code *code) {
    return LLVMFunctionType(code->nothing, (LLVMTypeRef[]){code->pointer, code->i64, code->i64}, 3, false);
}

static LLVMValueRef head_field(Code *code, LLVMValueRef closure, int field) {
    LLVMTypeRef head = closure_head_type(code);
    LLVMTypeRef type = LLVMStructGetTypeAtIndex(head, (unsigned)field);
    return LLVMBuildLoad2(code->builder, type, LLVMBuildStructGEP2(code->builder, head, closure, (unsigned)field, ""),
                          "");
}

static void call_range(Code *code, LLVMValueRef closure, LLVMValueRef begin, LLVMValueRef end) {
    LLVMValueRef range = head_field(code, closure, CLOSURE_RANGE);
    LLVMBuildCall2(code->builder, range_type(code), range, (LLVMValueRef[]){closure, begin, end}, 3, "");
}

/* --- the thread pool --- */

static void call_thread_pool(Code *code, LLVMValueRef closure, LLVMValueRef work) {
    LLVMValueRef range = head_field(code, closure, CLOSURE_RANGE), extent = head_field(code, closure, CLOSURE_EXTENT);
    LLVMValueRef threads = index_constant(code, code->target->threads);
    LLVMValueRef parts = LLVMBuildUDiv(code->builder, work, index_constant(code, thread_work(code->target)), "");
    emit_parallel(code, range, closure, extent, threads, parts);
}

/* --- the hook --- */

static LLVMTypeRef hook_type(Code *code) {
    return LLVMFunctionType(code->nothing, (LLVMTypeRef[]){code->pointer, code->pointer, code->i64}, 3, false);
}

/* The hook's variable is a weak reference: its address is null if nobody defines it. */
static LLVMValueRef hook_variable(Code *code) {
    LLVMValueRef hook = LLVMAddGlobal(code->module, code->pointer, "tensorc_parallel_hook");
    LLVMSetLinkage(hook, LLVMExternalWeakLinkage);
    return hook;
}

static void call_hook_or_threads(Code *code, LLVMValueRef closure, LLVMValueRef work) {
    LLVMValueRef variable = hook_variable(code);
    Branch defined = branch_begin(code, LLVMBuildIsNotNull(code->builder, variable, ""));
    LLVMValueRef value = LLVMBuildLoad2(code->builder, code->pointer, variable, "");
    branch_else(code, &defined);
    branch_end(code, &defined);
    LLVMValueRef hook = branch_phi(code, &defined, value, LLVMConstNull(code->pointer));
    Branch hooked = branch_begin(code, LLVMBuildIsNotNull(code->builder, hook, ""));
    LLVMValueRef range = head_field(code, closure, CLOSURE_RANGE), extent = head_field(code, closure, CLOSURE_EXTENT);
    LLVMBuildCall2(code->builder, hook_type(code), hook, (LLVMValueRef[]){range, closure, extent}, 3, "");
    branch_else(code, &hooked);
    call_thread_pool(code, closure, work);
    branch_end(code, &hooked);
}

/* --- the launch --- */

static void call_threads(Code *code, LLVMValueRef closure, LLVMValueRef work) {
    if (!code->options->candidate) {
        call_hook_or_threads(code, closure, work);
        return;
    }
    LLVMTypeRef types[] = {code->pointer, code->pointer, code->i64};
    LLVMValueRef function = external_function(code, "tensorc_parallel", code->nothing, types, 3);
    LLVMValueRef range = head_field(code, closure, CLOSURE_RANGE), extent = head_field(code, closure, CLOSURE_EXTENT);
    emit_call(code, function, (LLVMValueRef[]){range, closure, extent}, 3);
}

static void emit_launch(Code *code, LLVMValueRef closure, LLVMValueRef work) {
    LLVMValueRef extent = head_field(code, closure, CLOSURE_EXTENT);
    LLVMValueRef more = LLVMBuildICmp(code->builder, LLVMIntSGT, extent, index_constant(code, 1), "");
    LLVMValueRef least = index_constant(code, 2 * thread_work(code->target));
    LLVMValueRef enough = LLVMBuildICmp(code->builder, LLVMIntSGE, work, least, "");
    Branch several = branch_begin(code, LLVMBuildAnd(code->builder, more, enough, ""));
    call_threads(code, closure, work);
    branch_else(code, &several);
    call_range(code, closure, index_constant(code, 0), extent);
    branch_end(code, &several);
}

LLVMValueRef launch_function(Code *code) {
    static const char name[] = "parallel.launch";
    LLVMValueRef known = LLVMGetNamedFunction(code->module, name);
    if (known)
        return known;
    LLVMTypeRef types[] = {code->pointer, code->i64};
    Apart apart = apart_open(code, name, LLVMFunctionType(code->nothing, types, 2, false));
    emit_launch(code, LLVMGetParam(apart.function, 0), LLVMGetParam(apart.function, 1));
    LLVMBuildRetVoid(code->builder);
    return apart_close(code, &apart);
}
