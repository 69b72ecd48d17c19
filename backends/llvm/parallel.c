/* parallel.c - parallel loops: the body becomes a function of its own; its values are passed in a closure.
 *
 *   SYMBOL.loop.N(begin, end, values...)    runs a part of the loop; its pointers do not alias, as in the caller
 *   SYMBOL.range.N(closure, begin, end)     unpacks the closure: what threads call
 *
 * A loop whose body has temporaries in memory runs over as many parts as there are slices of these; others run over the
 * values of the loop. Parallel loops inside run serially. launch.c calls the threads.
 *
 * What differs between equal layers of a network is passed, too: where weights that are numbers lie, and at which
 * element a nest begins to read the weights of all layers. So their loops are one function (mergefunc).
 *
 * A serial nest of a function that has a twin for packed arguments is such a SYMBOL.loop.N too, which is called: what
 * both have in common is then one function (mergefunc), and is optimized and emitted once. So is one of a long
 * function: LLVM's time grows faster than functions do, and partitions are made of functions.
 */
#include "backends/llvm/code.h"
#include "lang/diag.h"
#include "lang/expr.h"

typedef struct Outline {
    Code *code;
    const Stmt *stmt;
    const Stmt *apart;    /* a serial nest: the loop, or the first allocation around it; else NULL */
    bool by_heap;         /* reaches temporaries as its caller does: addresses of their own would fill registers */
    bool by_address;      /* a nest that has a twin, whose temporaries may be elsewhere, gets their addresses */
    const Slices *slices; /* or NULL */
    LIST(const Var *) variables; /* of the caller's frame */
    LIST(const Tensor *) tensors;
    LIST(int64_t) firsts;         /* of these: the element that is passed */
    LIST(const Buffer *) on_heap; /* at constant places of the caller's memory, which is passed as a whole */
    LIST(Placement *) placements; /* those whose offsets are not constant; by_address: all */
    Map seen;
    Map inner;                 /* variables and buffers of this loop: an earlier loop may have shared them */
    bool checks;               /* the body may return a status */
    LIST(LLVMValueRef) values; /* all that is passed, in the caller */
    LLVMTypeRef closure_type;  /* { extent, status, range, values... } */
    LLVMValueRef loop, range;
} Outline;

enum { LOOP_BEGIN, LOOP_END, LOOP_VALUES };

/* --- what the body needs --- */

/* Whether it is a temporary at a constant place of the caller's memory. */
static bool is_placed(const Buffer *buffer) {
    const Placement *placement = buffer->placement;
    return placement && !placement->stack && LLVMIsConstant(placement->offset);
}

static bool is_listed(const Outline *outline, const Tensor *tensor) {
    for (int i = 0; i < outline->tensors.count; i++)
        if (outline->tensors.items[i] == tensor)
            return true;
    for (int i = 0; i < outline->on_heap.count; i++)
        if (outline->on_heap.items[i]->tensor == tensor)
            return true;
    return false;
}

static void collect_tensor(Outline *outline, const Tensor *tensor) {
    Code *code = outline->code;
    tensor = tensor_in_memory(tensor);
    const Buffer *buffer = address_map_get(&code->frame->buffers, tensor);
    if (address_map_get(&outline->inner, tensor))
        return;
    if (is_listed(outline, tensor))
        return;
    if (!buffer && tensor->role == ROLE_CONSTANT && !folds_constant(tensor))
        buffer = buffer_of(code, tensor);
    if (!buffer || (!buffer->registers && LLVMIsAGlobalVariable(buffer->pointer)))
        return;
    if (buffer->registers)
        INTERNAL_ERROR("the register buffer %s is used by a parallel loop inside", tensor->name);
    if (outline->by_heap && is_placed(buffer))
        list_push(code->arena, &outline->on_heap, buffer);
    else {
        list_push(code->arena, &outline->tensors, tensor);
        list_push(code->arena, &outline->firsts, INT64_MAX);
    }
}

/* The constant of an offset in a buffer; 0: it has none, or has another form. */
static int64_t constant_of(const Expr *index) {
    if (index->kind == EXPR_RAMP)
        index = index->args[0];
    return index->kind == EXPR_INT || index->kind == EXPR_OFFSET ? index->integer : 0;
}

/* Of weights the least place where the nest reads is what is passed. */
static void collect_access(Outline *outline, const Tensor *tensor, Expr *const *index, int count) {
    collect_tensor(outline, tensor);
    tensor = tensor_in_memory(tensor);
    bool weights = tensor->role == ROLE_CONSTANT || (tensor->role == ROLE_INPUT && tensor->constant);
    int64_t first = weights && count ? constant_of(index[0]) : 0;
    for (int i = 0; i < outline->tensors.count; i++)
        if (outline->tensors.items[i] == tensor && outline->firsts.items[i] > first)
            outline->firsts.items[i] = first > 0 ? first : 0;
}

static void collect_expr(Outline *outline, const Expr *e) {
    Code *code = outline->code;
    if (e->kind == EXPR_READ)
        collect_access(outline, e->tensor, e->args, e->count);
    const void *key = e->kind == EXPR_VAR    ? (const void *)e->var
                      : e->kind == EXPR_READ ? (const void *)e->tensor
                                             : NULL;
    if (!key || address_map_get(&outline->seen, key))
        return;
    address_map_set(code->arena, &outline->seen, key, (void *)key);
    if (e->kind == EXPR_VAR && address_map_get(&code->frame->variables, e->var) &&
        !address_map_get(&outline->inner, e->var))
        list_push(code->arena, &outline->variables, e->var);
}

static void collect_placement(Outline *outline, const Stmt *allocation) {
    Placement *placement = address_map_get(&outline->code->placements, allocation);
    if (placement && !placement->stack && (outline->by_address || !LLVMIsConstant(placement->offset)))
        list_push(outline->code->arena, &outline->placements, placement);
}

static void note_inner(Outline *outline, const Stmt *stmt) {
    const void *key = stmt->kind == STMT_FOR        ? (const void *)stmt->var
                      : stmt->kind == STMT_ALLOCATE ? (const void *)stmt->tensor
                                                    : NULL;
    if (key)
        address_map_set(outline->code->arena, &outline->inner, key, (void *)key);
}

static void collect_statements(Outline *outline, Stmt *const *statements, int count) {
    EACH_STMT_OF(stmt, statements, count) {
        note_inner(outline, stmt);
        EACH_STMT_EXPR(e, stmt)
            collect_expr(outline, e);
        if (stmt->kind == STMT_STORE || stmt->kind == STMT_PREFETCH)
            collect_access(outline, stmt->tensor, stmt->index, stmt->index_count);
        if (stmt->kind == STMT_ALLOCATE)
            collect_placement(outline, stmt);
        outline->checks |= stmt->kind == STMT_CHECK;
    }
}

static LLVMValueRef tensor_value(Outline *outline, int number) {
    Code *code = outline->code;
    const Tensor *tensor = outline->tensors.items[number];
    const Buffer *buffer = buffer_of(code, tensor);
    if (outline->firsts.items[number] == buffer->first)
        return buffer->pointer;
    LLVMValueRef beyond = index_constant(code, outline->firsts.items[number] - buffer->first);
    return LLVMBuildInBoundsGEP2(code->builder, memory_type(code, tensor->type), buffer->pointer, &beyond, 1, "");
}

static LLVMValueRef placement_value(Outline *outline, Placement *placement) {
    Code *code = outline->code;
    if (!outline->by_address)
        return placement->offset;
    return LLVMBuildInBoundsGEP2(code->builder, code->i8, code->frame->heap, &placement->offset, 1, "");
}

/* Order: variables, tensors, placements, then the slices' address and size, or the caller's memory. */
static void collect_values(Outline *outline) {
    Code *code = outline->code;
    for (int i = 0; i < outline->variables.count; i++)
        list_push(code->arena, &outline->values, variable_value(code, outline->variables.items[i]));
    for (int i = 0; i < outline->tensors.count; i++)
        list_push(code->arena, &outline->values, tensor_value(outline, i));
    for (int i = 0; i < outline->placements.count; i++)
        list_push(code->arena, &outline->values, placement_value(outline, outline->placements.items[i]));
    if (outline->by_heap)
        list_push(code->arena, &outline->values, code->frame->heap);
    if (outline->slices) {
        LLVMValueRef offset = outline->slices->offset;
        LLVMValueRef first = LLVMBuildInBoundsGEP2(code->builder, code->i8, code->frame->heap, &offset, 1, "slices");
        list_push(code->arena, &outline->values, first);
        list_push(code->arena, &outline->values, outline->slices->bytes);
        list_push(code->arena, &outline->values, outline->slices->count);
    }
}

static void make_closure_type(Outline *outline) {
    Code *code = outline->code;
    int count = outline->values.count;
    LLVMTypeRef *types = ARENA_ARRAY(code->arena, LLVMTypeRef, count + CLOSURE_VALUES);
    LLVMGetStructElementTypes(closure_head_type(code), types);
    for (int i = 0; i < count; i++)
        types[CLOSURE_VALUES + i] = LLVMTypeOf(outline->values.items[i]);
    outline->closure_type = LLVMStructTypeInContext(code->context, types, (unsigned)(count + CLOSURE_VALUES), false);
}

/* --- the functions --- */

static LLVMValueRef inner_function(Outline *outline, const char *part, LLVMTypeRef result, LLVMTypeRef *types,
                                   int count) {
    Code *code = outline->code;
    const char *name = arena_printf(code->arena, "%s.%s.%d", code->kernel->program->symbol, part, code->outlined_count);
    return internal_function(code, name, LLVMFunctionType(result, types, (unsigned)count, false));
}

static void open_inner(Outline *outline, LLVMValueRef function) {
    frame_open(outline->code, function);
    outline->code->frame->parallel = true;
    size_t length;
    debug_function(outline->code, function, LLVMGetValueName2(function, &length), outline->stmt->loc);
}

static void bind_placement(const Outline *outline, Placement *placement, LLVMValueRef value) {
    if (outline->by_address)
        placement->address = value;
    else
        placement->offset = value;
}

/* Everything that the body names gets its value from a parameter. Offsets in a slice belong to the body alone. */
static void bind_parameters(Outline *outline) {
    Code *code = outline->code;
    Frame *frame = code->frame, *caller = frame->outer;
    unsigned next = LOOP_VALUES;
    for (int i = 0; i < outline->variables.count; i++) {
        const Var *var = outline->variables.items[i];
        address_map_set(code->arena, &frame->variables, var, LLVMGetParam(frame->function, next++));
    }
    for (int i = 0; i < outline->tensors.count; i++) {
        bind_parameter(code, outline->tensors.items[i], next++);
        buffer_of(code, outline->tensors.items[i])->first = outline->firsts.items[i];
    }
    for (int i = 0; i < outline->placements.count; i++)
        bind_placement(outline, outline->placements.items[i], LLVMGetParam(frame->function, next++));
    if (outline->by_heap)
        frame->heap = LLVMGetParam(frame->function, next++);
    frame->depth = caller->depth;
}

/* Those that are reached as in the caller. */
static void bind_on_heap(Outline *outline) {
    for (int i = 0; i < outline->on_heap.count; i++)
        bind_temporary(outline->code, outline->on_heap.items[i]->tensor, outline->on_heap.items[i]->placement);
}

/* Makes temporaries the caller's again: the next loop may be another piece of this one, with the same temporaries. */
static void unbind_placements(Outline *outline) {
    int first = outline->variables.count + outline->tensors.count;
    for (int i = 0; i < outline->placements.count; i++)
        bind_placement(outline, outline->placements.items[i],
                       outline->by_address ? NULL : outline->values.items[first + i]);
}

static void emit_values_loop(Outline *outline, LLVMValueRef begin, LLVMValueRef end) {
    Code *code = outline->code;
    const Stmt *stmt = outline->stmt;
    LoopBlocks loop = loop_begin(code, begin, end, stmt->var->name);
    code->frame->depth++;
    bind_variable(code, stmt->var, loop.index);
    emit_statements(code, stmt->body, stmt->count);
    code->frame->depth--;
    loop_end(code, &loop);
}

/* The extent, at least 0: that of a piece that ends before it begins is negative. */
static LLVMValueRef loop_extent(Code *code, const Stmt *stmt) {
    return binary_intrinsic(code, "llvm.smax", emit_value(code, stmt->extent), index_constant(code, 0));
}

/* begin and end count slices. Each slice's values are one part of the loop. */
static void emit_slices_loop(Outline *outline, LLVMValueRef begin, LLVMValueRef end) {
    Code *code = outline->code;
    Frame *frame = code->frame;
    unsigned last = LLVMCountParams(frame->function);
    LLVMValueRef first = LLVMGetParam(frame->function, last - 3), bytes = LLVMGetParam(frame->function, last - 2);
    LLVMValueRef count = LLVMGetParam(frame->function, last - 1);
    LLVMValueRef extent = loop_extent(code, outline->stmt);
    LoopBlocks loop = loop_begin(code, begin, end, "slice");
    LLVMValueRef offset = LLVMBuildMul(code->builder, loop.index, bytes, "");
    frame->heap = LLVMBuildInBoundsGEP2(code->builder, code->i8, first, &offset, 1, "slice");
    LLVMValueRef next = LLVMBuildNSWAdd(code->builder, loop.index, index_constant(code, 1), "");
    LLVMValueRef low = part_begin(code, extent, loop.index, count);
    emit_values_loop(outline, low, part_begin(code, extent, next, count));
    loop_end(code, &loop);
}

static void emit_loop_function(Outline *outline) {
    Code *code = outline->code;
    int count = outline->values.count;
    LLVMTypeRef *types = ARENA_ARRAY(code->arena, LLVMTypeRef, LOOP_VALUES + count);
    types[LOOP_BEGIN] = types[LOOP_END] = code->i64;
    for (int i = 0; i < count; i++)
        types[LOOP_VALUES + i] = LLVMTypeOf(outline->values.items[i]);
    outline->loop = inner_function(outline, "loop", code->i32, types, LOOP_VALUES + count);
    open_inner(outline, outline->loop);
    bind_parameters(outline);
    bind_on_heap(outline);
    forget_values(code);
    LLVMValueRef begin = LLVMGetParam(outline->loop, LOOP_BEGIN), end = LLVMGetParam(outline->loop, LOOP_END);
    for (const Stmt *around = outline->apart; around && around != outline->stmt; around = around->body[0])
        bind_registers(code, around);
    if (outline->slices)
        emit_slices_loop(outline, begin, end);
    else
        emit_values_loop(outline, begin, end);
    LLVMBuildRet(code->builder, constant_int(code->i32, STATUS_OK));
    frame_close(code);
    unbind_placements(outline);
}

static LLVMValueRef closure_field(Outline *outline, LLVMValueRef closure, int field) {
    return LLVMBuildStructGEP2(outline->code->builder, outline->closure_type, closure, (unsigned)field, "");
}

/* Threads that fail all write their status; any of these will do. */
static void keep_status(Outline *outline, LLVMValueRef closure, LLVMValueRef status) {
    Code *code = outline->code;
    LLVMValueRef failed = LLVMBuildICmp(code->builder, LLVMIntNE, status, constant_int(code->i32, STATUS_OK), "");
    Branch branch = branch_begin(code, failed);
    LLVMValueRef store = LLVMBuildStore(code->builder, status, closure_field(outline, closure, CLOSURE_STATUS));
    LLVMSetOrdering(store, LLVMAtomicOrderingMonotonic);
    LLVMSetAlignment(store, 4);
    branch_else(code, &branch);
    branch_end(code, &branch);
}

static void emit_range_function(Outline *outline) {
    Code *code = outline->code;
    LLVMTypeRef types[] = {code->pointer, code->i64, code->i64};
    outline->range = inner_function(outline, "range", code->nothing, types, 3);
    open_inner(outline, outline->range);
    LLVMValueRef closure = LLVMGetParam(outline->range, 0);
    int count = LOOP_VALUES + outline->values.count;
    LLVMValueRef *args = ARENA_ARRAY(code->arena, LLVMValueRef, count);
    args[LOOP_BEGIN] = LLVMGetParam(outline->range, 1);
    args[LOOP_END] = LLVMGetParam(outline->range, 2);
    for (int i = 0; i < outline->values.count; i++) {
        LLVMTypeRef type = LLVMTypeOf(outline->values.items[i]);
        args[LOOP_VALUES + i] =
            LLVMBuildLoad2(code->builder, type, closure_field(outline, closure, CLOSURE_VALUES + i), "");
    }
    LLVMValueRef status = emit_call(code, outline->loop, args, count);
    if (outline->checks)
        keep_status(outline, closure, status);
    LLVMBuildRetVoid(code->builder);
    frame_close(code);
}

/* --- the call --- */

static LLVMValueRef fill_closure(Outline *outline, LLVMValueRef extent) {
    Code *code = outline->code;
    LLVMValueRef closure = entry_alloca(code, outline->closure_type, 16, "closure");
    LLVMBuildStore(code->builder, extent, closure_field(outline, closure, CLOSURE_EXTENT));
    LLVMBuildStore(code->builder, constant_int(code->i32, STATUS_OK), closure_field(outline, closure, CLOSURE_STATUS));
    LLVMBuildStore(code->builder, outline->range, closure_field(outline, closure, CLOSURE_RANGE));
    for (int i = 0; i < outline->values.count; i++)
        LLVMBuildStore(code->builder, outline->values.items[i], closure_field(outline, closure, CLOSURE_VALUES + i));
    return closure;
}

static void return_if_failed(Code *code, LLVMValueRef status) {
    LLVMValueRef ok = constant_int(code->i32, STATUS_OK);
    Branch failed = branch_begin(code, LLVMBuildICmp(code->builder, LLVMIntNE, status, ok, ""));
    LLVMBasicBlockRef next = new_block(code, "unreached");
    return_status(code, status);
    LLVMPositionBuilderAtEnd(code->builder, next);
    branch_else(code, &failed);
    branch_end(code, &failed);
}

static void emit_threads(Outline *outline, LLVMValueRef extent, LLVMValueRef work) {
    Code *code = outline->code;
    LLVMValueRef closure = fill_closure(outline, extent);
    emit_call(code, launch_function(code), (LLVMValueRef[]){closure, work}, 2);
    if (outline->checks)
        return_if_failed(code,
                         LLVMBuildLoad2(code->builder, code->i32, closure_field(outline, closure, CLOSURE_STATUS), ""));
}

/* The body's own function, and for threads the one that unpacks a closure. */
static void emit_functions(Outline *outline, bool threads) {
    Code *code = outline->code;
    const Stmt *stmt = outline->stmt;
    LLVMBasicBlockRef here = LLVMGetInsertBlock(code->builder);
    EACH_EXPR(e, stmt->extent)
        collect_expr(outline, e);
    note_inner(outline, stmt);
    for (const Stmt *around = outline->apart; around && around != stmt; around = around->body[0])
        note_inner(outline, around);
    collect_statements(outline, stmt->body, stmt->count);
    collect_values(outline);
    emit_loop_function(outline);
    if (threads) {
        make_closure_type(outline);
        emit_range_function(outline);
    }
    code->outlined_count++;
    forget_values(code);
    LLVMPositionBuilderAtEnd(code->builder, here);
    debug_location(code, stmt->loc);
}

/* All that the loop runs; where that is not known, more than enough. */
static LLVMValueRef emit_work(Code *code, const Stmt *stmt) {
    return stmt->work ? emit_value(code, stmt->work) : index_constant(code, INT64_MAX);
}

void emit_parallel_loop(Code *code, const Stmt *stmt) {
    Outline outline = {.code = code, .stmt = stmt, .slices = address_map_get(&code->slices, stmt)};
    LLVMValueRef extent = loop_extent(code, stmt), work = emit_work(code, stmt);
    emit_functions(&outline, true);
    if (outline.slices)
        extent = outline.slices->count;
    emit_threads(&outline, extent, work);
}

/* --- nests apart --- */

enum { NODES_APART = 64, NODES_LONG = 16384 }; /* of a nest that is worth a call; of a kernel that is long */

/* Whether the caller has the tensor in registers. */
static bool is_in_registers(const Code *code, const Tensor *tensor) {
    const Buffer *buffer = tensor ? address_map_get(&code->frame->buffers, tensor_in_memory(tensor)) : NULL;
    return buffer && buffer->registers;
}

static bool reads_registers(const Code *code, const Stmt *stmt) {
    EACH_STMT_READ(read, stmt)
        if (is_in_registers(code, read->tensor))
            return true;
    return false;
}

/* Whether nothing in the nest needs its caller's registers or threads. */
static bool stands_alone(const Code *code, const Stmt *nest) {
    EACH_STMT_OF(stmt, nest->body, nest->count) {
        if (stmt->kind == STMT_FOR && stmt->loop == LOOP_PARALLEL)
            return false;
        if (is_in_registers(code, stmt->tensor) || reads_registers(code, stmt))
            return false;
    }
    return true;
}

static bool has_nodes(Stmt *const *stmts, int count, int most) {
    int nodes = 0;
    EACH_STMT_OF(stmt, stmts, count)
        EACH_STMT_EXPR(e, stmt)
            if (++nodes >= most)
                return true;
    return false;
}

bool is_long_kernel(const Kernel *kernel) {
    return has_nodes(kernel->body->body, kernel->body->count, NODES_LONG);
}

/* The loop that is alone in allocations of registers, or the statement itself. */
static const Stmt *inside_registers(const Stmt *stmt) {
    while (stmt->kind == STMT_ALLOCATE && stmt->tensor->scope == SCOPE_REGISTER && stmt->count == 1)
        stmt = stmt->body[0];
    return stmt;
}

bool is_nest_apart(const Code *code, const Stmt *stmt) {
    const Frame *frame = code->frame;
    if (!code->nests_apart || code->options->debug || frame->outer || frame->depth > 0)
        return false;
    const Stmt *nest = inside_registers(stmt);
    return nest->kind == STMT_FOR && nest->loop == LOOP_SERIAL && has_nodes(nest->body, nest->count, NODES_APART) &&
           stands_alone(code, nest);
}

void emit_nest_apart(Code *code, const Stmt *stmt) {
    Outline outline = {.code = code,
                       .stmt = inside_registers(stmt),
                       .apart = stmt,
                       .by_heap = !code->has_twin && code->frame->heap,
                       .by_address = code->has_twin};
    LLVMValueRef extent = loop_extent(code, outline.stmt);
    emit_functions(&outline, false);
    int count = LOOP_VALUES + outline.values.count;
    LLVMValueRef *args = ARENA_ARRAY(code->arena, LLVMValueRef, count);
    args[LOOP_BEGIN] = index_constant(code, 0);
    args[LOOP_END] = extent;
    for (int i = 0; i < outline.values.count; i++)
        args[LOOP_VALUES + i] = outline.values.items[i];
    LLVMValueRef status = emit_call(code, outline.loop, args, count);
    if (outline.checks)
        return_if_failed(code, status);
}
