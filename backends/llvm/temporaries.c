/* temporaries.c - where a kernel's temporaries live.
 *
 * Small ones of constant size are on the stack. All others come from one aligned allocation at the entry of the
 * function, before anything is written, with the layout of a stack: temporaries that do not live at the same time share
 * bytes. Those of a parallel loop's body are in a slice, and there are as many slices as threads. A size that overflows
 * counts as one that cannot be allocated.
 */
#include "backends/llvm/code.h"
#include "lang/diag.h"
#include "lang/program.h"

#include <unistd.h>

enum {
    STACK_TENSOR_BYTES = 32 * 1024, /* the largest temporary on the stack */
    STACK_FRAME_BYTES = 64 * 1024 /* all on a function's stack: threads may have small ones */
};

typedef struct Layout {
    Code *code;
    int64_t stack_bytes;   /* of the function, so far */
    LLVMValueRef overflow; /* i1 */
    bool in_parallel;
} Layout;

/* --- checked arithmetic on sizes --- */

static LLVMValueRef checked(Layout *layout, const char *name, LLVMValueRef a, LLVMValueRef b) {
    Code *code = layout->code;
    LLVMValueRef pair = binary_intrinsic(code, name, a, b);
    LLVMValueRef overflow = LLVMBuildExtractValue(code->builder, pair, 1, "");
    layout->overflow = LLVMBuildOr(code->builder, layout->overflow, overflow, "");
    return LLVMBuildExtractValue(code->builder, pair, 0, "");
}

static bool both_constant(LLVMValueRef a, LLVMValueRef b, int64_t *x, int64_t *y) {
    if (!LLVMIsAConstantInt(a) || !LLVMIsAConstantInt(b))
        return false;
    *x = LLVMConstIntGetSExtValue(a);
    *y = LLVMConstIntGetSExtValue(b);
    return true;
}

static LLVMValueRef add_bytes(Layout *layout, LLVMValueRef a, LLVMValueRef b) {
    int64_t x, y, sum;
    if (both_constant(a, b, &x, &y) && !__builtin_add_overflow(x, y, &sum))
        return index_constant(layout->code, sum);
    return checked(layout, "llvm.sadd.with.overflow", a, b);
}

static LLVMValueRef multiply_bytes(Layout *layout, LLVMValueRef a, LLVMValueRef b) {
    int64_t x, y, product;
    if (both_constant(a, b, &x, &y) && !__builtin_mul_overflow(x, y, &product))
        return index_constant(layout->code, product);
    return checked(layout, "llvm.smul.with.overflow", a, b);
}

static LLVMValueRef larger(Layout *layout, LLVMValueRef a, LLVMValueRef b) {
    int64_t x, y;
    if (a == b)
        return a;
    if (both_constant(a, b, &x, &y))
        return x > y ? a : b;
    return binary_intrinsic(layout->code, "llvm.smax", a, b);
}

/* --- sizes --- */

static int64_t constant_bytes(const Tensor *tensor) {
    int64_t bytes, elements = tensor_elements(tensor);
    if (elements < 0 || __builtin_mul_overflow(elements, element_info[tensor->type].bytes, &bytes))
        return -1;
    return bytes;
}

/* The stride, rounded up as its part demands. */
static LLVMValueRef aligned_stride(Layout *layout, LLVMValueRef stride, const OrderPart *part) {
    Code *code = layout->code;
    if (part->align == 0)
        return stride;
    LLVMValueRef align = index_constant(code, part->align);
    LLVMValueRef beyond = LLVMBuildURem(code->builder, stride, align, "");
    LLVMValueRef missing = LLVMBuildSub(code->builder, index_constant(code, part->offset + part->align), beyond, "");
    return add_bytes(layout, stride, LLVMBuildURem(code->builder, missing, align, ""));
}

static LLVMValueRef element_count(Layout *layout, const Tensor *tensor) {
    Code *code = layout->code;
    LLVMValueRef elements = index_constant(code, 1);
    for (int d = 0; !tensor->order && d < tensor->rank; d++)
        elements = multiply_bytes(layout, elements, emit_value(code, tensor->dims[d]));
    for (int i = tensor->order ? tensor->order->count - 1 : -1; i >= 0; i--) {
        elements = aligned_stride(layout, elements, &tensor->order->parts[i]);
        elements = multiply_bytes(layout, elements, emit_value(code, order_extent(code->arena, tensor, i)));
    }
    return elements;
}

/* Rounded up to whole cache lines; an empty tensor takes none. */
static LLVMValueRef tensor_bytes(Layout *layout, const Tensor *tensor) {
    Code *code = layout->code;
    LLVMValueRef bytes = index_constant(code, element_info[tensor->type].bytes);
    bytes = multiply_bytes(layout, element_count(layout, tensor), bytes);
    bytes = add_bytes(layout, bytes, index_constant(code, DATA_ALIGNMENT - 1));
    return LLVMBuildAnd(code->builder, bytes, index_constant(code, -DATA_ALIGNMENT), "");
}

/* --- the layout --- */

static LLVMValueRef lay_out(Layout *layout, Stmt *const *statements, int count, LLVMValueRef offset);

static bool fits_stack(Layout *layout, const Tensor *tensor) {
    int64_t bytes = constant_bytes(tensor);
    if (bytes < 0 || bytes > STACK_TENSOR_BYTES || layout->stack_bytes + bytes > STACK_FRAME_BYTES)
        return false;
    layout->stack_bytes += bytes;
    return true;
}

static LLVMValueRef lay_out_allocation(Layout *layout, const Stmt *stmt, LLVMValueRef offset) {
    Code *code = layout->code;
    if (stmt->tensor->scope != SCOPE_REGISTER) {
        Placement *placement = ARENA_NEW(code->arena, Placement);
        *placement = (Placement){.stack = fits_stack(layout, stmt->tensor), .offset = offset};
        address_map_set(code->arena, &code->placements, stmt->tensor, placement);
        if (!placement->stack)
            offset = add_bytes(layout, offset, tensor_bytes(layout, stmt->tensor));
    }
    return lay_out(layout, stmt->body, stmt->count, offset);
}

/* How many threads may run a parallel loop. More than exist only cost memory; fewer only cost speed. */
static LLVMValueRef thread_count(Code *code) {
    if (code->target->threads > 0)
        return index_constant(code, code->target->threads);
    if (code->options->candidate)
        return index_constant(code, sysconf(_SC_NPROCESSORS_ONLN));
    LLVMValueRef count = emit_call(code, external_function(code, "omp_get_max_threads", code->i32, NULL, 0), NULL, 0);
    return LLVMBuildSExt(code->builder, count, code->i64, "");
}

/* The body is a function with its own stack. */
static LLVMValueRef lay_out_parallel(Layout *layout, const Stmt *stmt, LLVMValueRef offset) {
    Code *code = layout->code;
    Layout body = {.code = code, .overflow = layout->overflow, .in_parallel = true};
    LLVMValueRef none = index_constant(code, 0);
    LLVMValueRef bytes = lay_out(&body, stmt->body, stmt->count, none);
    layout->overflow = body.overflow;
    if (bytes == none)
        return offset;
    Slices *slices = ARENA_NEW(code->arena, Slices);
    *slices = (Slices){.offset = offset, .bytes = bytes, .count = thread_count(code)};
    address_map_set(code->arena, &code->slices, stmt, slices);
    return add_bytes(layout, offset, multiply_bytes(layout, bytes, slices->count));
}

static LLVMValueRef lay_out_statement(Layout *layout, const Stmt *stmt, LLVMValueRef offset) {
    if (stmt->kind == STMT_ALLOCATE)
        return lay_out_allocation(layout, stmt, offset);
    bool outlined = stmt->kind == STMT_FOR && stmt->loop == LOOP_PARALLEL && !layout->code->single_thread;
    if (outlined && !layout->in_parallel)
        return lay_out_parallel(layout, stmt, offset);
    LLVMValueRef end = lay_out(layout, stmt->body, stmt->count, offset);
    return larger(layout, end, lay_out(layout, stmt->otherwise, stmt->otherwise_count, offset));
}

/* The end of the memory that the statements need from offset on. */
static LLVMValueRef lay_out(Layout *layout, Stmt *const *statements, int count, LLVMValueRef offset) {
    LLVMValueRef end = offset;
    for (int i = 0; i < count; i++)
        end = larger(layout, end, lay_out_statement(layout, statements[i], offset));
    return end;
}

/* --- the allocation --- */

static void open_leave_block(Code *code) {
    Frame *frame = code->frame;
    LLVMBasicBlockRef here = LLVMGetInsertBlock(code->builder);
    frame->leave = new_block(code, "leave");
    LLVMPositionBuilderAtEnd(code->builder, frame->leave);
    frame->status = LLVMBuildPhi(code->builder, code->i32, "status");
    LLVMPositionBuilderAtEnd(code->builder, here);
}

void allocate_temporaries(Code *code, const Stmt *body) {
    LLVMBuilderRef b = code->builder;
    Layout layout = {.code = code, .overflow = constant_int(code->i1, 0)};
    LLVMValueRef none = index_constant(code, 0);
    LLVMValueRef bytes = lay_out(&layout, (Stmt *const[]){(Stmt *)body}, 1, none);
    if (bytes == none)
        return;
    LLVMValueRef all = index_constant(code, INT64_MAX & -DATA_ALIGNMENT);
    bytes = LLVMBuildSelect(b, layout.overflow, all, bytes, "");
    bytes = larger(&layout, bytes, index_constant(code, DATA_ALIGNMENT));
    LLVMTypeRef parameters[] = {code->i64, code->i64};
    LLVMValueRef args[] = {index_constant(code, DATA_ALIGNMENT), bytes};
    LLVMValueRef allocate = external_function(code, "aligned_alloc", code->pointer, parameters, 2);
    add_attribute(code, allocate, LLVMAttributeReturnIndex, "noalias");
    LLVMValueRef heap = emit_call(code, allocate, args, 2);
    LLVMBasicBlockRef failed = new_block(code, "no_memory"), work = new_block(code, "work");
    LLVMBuildCondBr(b, LLVMBuildIsNull(b, heap, ""), failed, work);
    LLVMPositionBuilderAtEnd(b, failed);
    return_status(code, constant_int(code->i32, STATUS_NO_MEMORY));
    LLVMPositionBuilderAtEnd(b, work);
    code->frame->heap = heap;
    open_leave_block(code);
}

void free_temporaries(Code *code) {
    Frame *frame = code->frame;
    if (!frame->leave)
        return;
    LLVMMoveBasicBlockAfter(frame->leave, LLVMGetLastBasicBlock(frame->function));
    LLVMPositionBuilderAtEnd(code->builder, frame->leave);
    LLVMTypeRef parameters[] = {code->pointer};
    emit_call(code, external_function(code, "free", code->nothing, parameters, 1), &frame->heap, 1);
    LLVMBuildRet(code->builder, frame->status);
}
