/* temporaries.c - where a kernel's temporaries live.
 *
 * Small ones of constant size are on the stack. All others are in one aligned piece of memory, which the function takes
 * at its entry, of the pool or of its caller (runtime.c), before anything is written. Those that no statement needs at
 * the same time share bytes: if all sizes are known, each lies in the lowest gap that is left for it, in the order that
 * takes the fewest bytes of those that are tried; otherwise in slots. Those of a parallel loop's body are in a slice,
 * and there are as many slices as threads. A size that overflows counts as one that cannot be allocated.
 */
#include "backends/llvm/code.h"
#include "lang/diag.h"
#include "lang/program.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    STACK_TENSOR_BYTES = 32 * 1024, /* the largest temporary on the stack */
    STACK_FRAME_BYTES = 64 * 1024,  /* all on a function's stack: threads may have small ones */
    ARRANGEMENT_ROUNDS = 32         /* for each order that is tried */
};

typedef struct MemoryLayout {
    Code *code;
    int64_t stack_bytes;   /* of the function, so far */
    LLVMValueRef overflow; /* i1 */
    bool in_parallel;
    LIST(LLVMValueRef *) offsets; /* of what was laid out so far */
    LIST(LLVMValueRef *) inside;  /* of slices: offsets in one, its bytes, how many there are */
} MemoryLayout;

/* --- checked arithmetic on sizes --- */

static LLVMValueRef checked(MemoryLayout *layout, const char *name, LLVMValueRef a, LLVMValueRef b) {
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

static LLVMValueRef add_bytes(MemoryLayout *layout, LLVMValueRef a, LLVMValueRef b) {
    int64_t x, y, sum;
    if (both_constant(a, b, &x, &y) && !__builtin_add_overflow(x, y, &sum))
        return index_constant(layout->code, sum);
    return checked(layout, "llvm.sadd.with.overflow", a, b);
}

static LLVMValueRef multiply_bytes(MemoryLayout *layout, LLVMValueRef a, LLVMValueRef b) {
    int64_t x, y, product;
    if (both_constant(a, b, &x, &y) && !__builtin_mul_overflow(x, y, &product))
        return index_constant(layout->code, product);
    return checked(layout, "llvm.smul.with.overflow", a, b);
}

static LLVMValueRef larger(MemoryLayout *layout, LLVMValueRef a, LLVMValueRef b) {
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
static LLVMValueRef aligned_stride(MemoryLayout *layout, LLVMValueRef stride, const OrderPart *part) {
    Code *code = layout->code;
    if (part->align == 0)
        return stride;
    LLVMValueRef align = index_constant(code, part->align);
    LLVMValueRef beyond = LLVMBuildURem(code->builder, stride, align, "");
    LLVMValueRef missing = LLVMBuildSub(code->builder, index_constant(code, part->offset + part->align), beyond, "");
    return add_bytes(layout, stride, LLVMBuildURem(code->builder, missing, align, ""));
}

static LLVMValueRef element_count(MemoryLayout *layout, const Tensor *tensor) {
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
static LLVMValueRef tensor_bytes(MemoryLayout *layout, const Tensor *tensor) {
    Code *code = layout->code;
    LLVMValueRef bytes = index_constant(code, element_info[tensor->type].bytes);
    bytes = multiply_bytes(layout, element_count(layout, tensor), bytes);
    bytes = add_bytes(layout, bytes, index_constant(code, DATA_ALIGNMENT - 1));
    return LLVMBuildAnd(code->builder, bytes, index_constant(code, -DATA_ALIGNMENT), "");
}

/* --- blocks that share bytes -------------------------------------------------------------------------------------- */

/* Bytes that are needed from one statement to another: of a tensor, or of all that is inside one statement. */
typedef struct MemoryBlock {
    const Tensor *tensor; /* or NULL */
    int first, last;
    LLVMValueRef bytes;
    int from, to;      /* the offsets of the layout that begin in it */
    int64_t known, at; /* if all sizes are known: its bytes and its place */
    int slot;          /* else: what it shares with others */
} MemoryBlock;
typedef LIST(MemoryBlock) MemoryBlockList;

static bool at_once(const MemoryBlock *a, const MemoryBlock *b) {
    return a->first <= b->last && b->first <= a->last;
}

/* Whether all sizes are known, and their sum is a number. */
static bool all_known(MemoryBlockList *blocks) {
    int64_t sum = 0;
    for (int b = 0; b < blocks->count; b++) {
        MemoryBlock *block = &blocks->items[b];
        if (!LLVMIsAConstantInt(block->bytes))
            return false;
        block->known = LLVMConstIntGetSExtValue(block->bytes);
        if (__builtin_add_overflow(sum, block->known, &sum))
            return false;
    }
    return true;
}

/* What was laid out from 0 on begins at the offset. */
static void move_block(MemoryLayout *layout, const MemoryBlock *block, LLVMValueRef offset) {
    for (int i = block->from; i < block->to; i++) {
        LLVMValueRef *moved = layout->offsets.items[i];
        *moved = add_bytes(layout, *moved, offset);
    }
}

/* --- known sizes: an arrangement of few bytes --- */

static int by_start(const void *a, const void *b) {
    const MemoryBlock *x = a, *y = b;
    return x->first != y->first ? x->first - y->first : x->from - y->from;
}

/* Larger ones first: they leave gaps for the others. */
static int by_size(const void *a, const void *b) {
    const MemoryBlock *x = a, *y = b;
    return x->known != y->known ? (x->known < y->known ? 1 : -1) : by_start(a, b);
}

static int by_end(const void *a, const void *b) {
    const MemoryBlock *x = a, *y = b;
    return x->last != y->last ? y->last - x->last : by_size(a, b);
}

static int by_place(const void *a, const void *b) {
    const MemoryBlock *x = *(MemoryBlock *const *)a, *y = *(MemoryBlock *const *)b;
    return (x->at > y->at) - (x->at < y->at);
}

/* The lowest gap among the `count` first blocks that are needed at once with this one. */
static int64_t lowest_gap(const MemoryBlockList *blocks, int count, const MemoryBlock **others) {
    const MemoryBlock *block = &blocks->items[count];
    int found = 0;
    int64_t at = 0;
    for (int b = 0; b < count; b++)
        if (at_once(&blocks->items[b], block))
            others[found++] = &blocks->items[b];
    qsort(others, (size_t)found, sizeof *others, by_place);
    for (int o = 0; o < found && others[o]->at < at + block->known; o++)
        at = others[o]->at + others[o]->known > at ? others[o]->at + others[o]->known : at;
    return at;
}

/* Places the blocks in their order. Returns the one that ends last. */
static int place_in_order(MemoryBlockList *blocks, const MemoryBlock **others) {
    int highest = 0;
    for (int b = 0; b < blocks->count; b++) {
        MemoryBlock *block = &blocks->items[b], *top = &blocks->items[highest];
        block->at = lowest_gap(blocks, b, others);
        if (block->at + block->known > top->at + top->known)
            highest = b;
    }
    return highest;
}

static void bring_to_front(MemoryBlockList *blocks, int number) {
    MemoryBlock block = blocks->items[number];
    memmove(blocks->items + 1, blocks->items, (size_t)number * sizeof block);
    blocks->items[0] = block;
}

/* No arrangement has fewer bytes than are needed at one of the statements. */
static int64_t most_at_once(const MemoryBlockList *blocks) {
    int64_t most = 0;
    for (int b = 0; b < blocks->count; b++) {
        int64_t sum = 0;
        for (int o = 0; o < blocks->count; o++)
            if (blocks->items[o].first <= blocks->items[b].first && blocks->items[b].first <= blocks->items[o].last)
                sum += blocks->items[o].known;
        most = sum > most ? sum : most;
    }
    return most;
}

typedef struct Arrangement {
    int64_t least;       /* no arrangement takes fewer bytes */
    int64_t bytes;       /* of the best one so far */
    MemoryBlock *blocks; /* as they lie there */
    const MemoryBlock **others;
} Arrangement;

/* From this order on: the block that ends last is placed before all others in the next round. */
static void try_order(Arrangement *best, MemoryBlockList *blocks, int (*order)(const void *, const void *)) {
    qsort(blocks->items, (size_t)blocks->count, sizeof *blocks->items, order);
    for (int round = 0; round < ARRANGEMENT_ROUNDS && best->bytes > best->least; round++) {
        int highest = place_in_order(blocks, best->others);
        int64_t bytes = blocks->items[highest].at + blocks->items[highest].known;
        if (bytes < best->bytes) {
            best->bytes = bytes;
            memcpy(best->blocks, blocks->items, (size_t)blocks->count * sizeof *blocks->items);
        }
        if (highest == 0)
            return;
        bring_to_front(blocks, highest);
    }
}

static LLVMValueRef place_known(MemoryLayout *layout, MemoryBlockList *blocks) {
    Arena *arena = layout->code->arena;
    Arrangement best = {.least = most_at_once(blocks), .bytes = INT64_MAX};
    best.blocks = ARENA_ARRAY(arena, MemoryBlock, blocks->count + 1);
    best.others = ARENA_ARRAY(arena, const MemoryBlock *, blocks->count + 1);
    if (blocks->count == 0)
        return index_constant(layout->code, 0);
    try_order(&best, blocks, by_size);
    try_order(&best, blocks, by_end);
    for (int b = 0; b < blocks->count; b++)
        move_block(layout, &best.blocks[b], index_constant(layout->code, best.blocks[b].at));
    return index_constant(layout->code, best.bytes);
}

/* --- run-time sizes: slots --- */

enum { OTHER_SHAPE = 1, SAME_RANK, SAME_SHAPE };

/* How well two blocks share a slot whose size is the larger one's: those of one shape lose nothing. */
static int likeness(const MemoryBlock *a, const MemoryBlock *b) {
    if (!a->tensor || !b->tensor || a->tensor->rank != b->tensor->rank)
        return OTHER_SHAPE;
    bool same = a->tensor->type == b->tensor->type && !a->tensor->order && !b->tensor->order;
    for (int d = 0; d < a->tensor->rank && same; d++)
        same = expr_equal(a->tensor->dims[d], b->tensor->dims[d]);
    return same ? SAME_SHAPE : SAME_RANK;
}

/* A part of the memory that its blocks have by turns. */
typedef struct Slot {
    LIST(const MemoryBlock *) blocks; /* by the statements that they are needed at */
    LIST(const MemoryBlock *) shapes; /* one block of each shape */
} Slot;
typedef LIST(Slot) SlotList;

/* Where the block is among those of the slot; -1: it is needed at the same time as one of them. */
static int turn_in_slot(const Slot *slot, const MemoryBlock *block) {
    int begin = 0, end = slot->blocks.count;
    while (begin < end) {
        int middle = begin + (end - begin) / 2;
        if (slot->blocks.items[middle]->first < block->first)
            begin = middle + 1;
        else
            end = middle;
    }
    bool before = begin > 0 && at_once(slot->blocks.items[begin - 1], block);
    bool after = begin < slot->blocks.count && at_once(slot->blocks.items[begin], block);
    return before || after ? -1 : begin;
}

static int most_likeness(const Slot *slot, const MemoryBlock *block) {
    int most = 0;
    for (int s = 0; s < slot->shapes.count; s++) {
        int like = likeness(slot->shapes.items[s], block);
        most = like > most ? like : most;
    }
    return most;
}

/* Whether a later block may be more like this one than like those that the slot has. */
static bool is_new_shape(const Slot *slot, const MemoryBlock *block, int most) {
    return slot->shapes.count == 0 || (block->tensor && most < (block->tensor->order ? SAME_RANK : SAME_SHAPE));
}

/* Puts the block into the slot that is free for it and whose blocks are most like it; else into a new one. Returns its
 * number. */
static int choose_slot(Arena *arena, SlotList *slots, const MemoryBlock *block) {
    int best = slots->count, most = 0, turn = 0;
    for (int s = 0; s < slots->count; s++) {
        int like = most_likeness(&slots->items[s], block);
        int own = like > most ? turn_in_slot(&slots->items[s], block) : -1;
        if (own >= 0)
            best = s, most = like, turn = own;
    }
    if (best == slots->count)
        list_push(arena, slots, (Slot){0});
    Slot *slot = &slots->items[best];
    list_insert(arena, &slot->blocks, turn, block);
    if (is_new_shape(slot, block, most))
        list_push(arena, &slot->shapes, block);
    return best;
}

/* Run-time sizes: which is larger is not known. Blocks share slots, as large as the largest of theirs. */
static LLVMValueRef place_slots(MemoryLayout *layout, MemoryBlockList *blocks) {
    LLVMValueRef offset = index_constant(layout->code, 0);
    SlotList slots = {0};
    for (int b = 0; b < blocks->count; b++)
        blocks->items[b].slot = choose_slot(layout->code->arena, &slots, &blocks->items[b]);
    for (int s = 0; s < slots.count; s++) {
        LLVMValueRef size = index_constant(layout->code, 0);
        for (int b = 0; b < blocks->count; b++)
            if (blocks->items[b].slot == s) {
                move_block(layout, &blocks->items[b], offset);
                size = larger(layout, size, blocks->items[b].bytes);
            }
        offset = add_bytes(layout, offset, size);
    }
    return offset;
}

/* Gives the blocks their places, from 0 on. Returns the bytes that they take together. */
static LLVMValueRef place_blocks(MemoryLayout *layout, MemoryBlockList *blocks) {
    return all_known(blocks) ? place_known(layout, blocks) : place_slots(layout, blocks);
}

/* --- the layout --------------------------------------------------------------------------------------------------- */

static LLVMValueRef lay_out(MemoryLayout *layout, Stmt *const *statements, int count);

static bool fits_stack(MemoryLayout *layout, const Tensor *tensor) {
    int64_t bytes = constant_bytes(tensor);
    if (bytes < 0 || bytes > STACK_TENSOR_BYTES || layout->stack_bytes + bytes > STACK_FRAME_BYTES)
        return false;
    layout->stack_bytes += bytes;
    return true;
}

/* How many threads may run a parallel loop. More than exist only cost memory; fewer only cost speed. */
static LLVMValueRef thread_count(Code *code) {
    if (code->target->threads > 0)
        return index_constant(code, code->target->threads);
    if (code->options->candidate)
        return index_constant(code, sysconf(_SC_NPROCESSORS_ONLN));
    return emit_thread_count(code);
}

/* The body is a function with its own stack, whose offsets begin in its slice. */
static LLVMValueRef lay_out_parallel(MemoryLayout *layout, const Stmt *stmt) {
    Code *code = layout->code;
    MemoryLayout body = {.code = code, .overflow = layout->overflow, .in_parallel = true};
    LLVMValueRef none = index_constant(code, 0), bytes = lay_out(&body, stmt->body, stmt->count);
    layout->overflow = body.overflow;
    if (bytes == none)
        return none;
    Slices *slices = ARENA_NEW(code->arena, Slices);
    *slices = (Slices){.offset = none, .bytes = bytes, .count = thread_count(code)};
    address_map_set(code->arena, &code->slices, stmt, slices);
    list_push(code->arena, &layout->offsets, &slices->offset);
    list_push(code->arena, &layout->inside, &slices->bytes);
    list_push(code->arena, &layout->inside, &slices->count);
    for (int i = 0; i < body.offsets.count; i++)
        list_push(code->arena, &layout->inside, body.offsets.items[i]);
    return multiply_bytes(layout, bytes, slices->count);
}

/* The nest is a function with its own stack. Its temporaries are laid out once, from 0 on. */
static SharedCode *lay_out_nest(MemoryLayout *layout, const SharedNest *nest) {
    Code *code = layout->code;
    SharedCode *shared = address_map_get(&code->shared, nest);
    if (shared)
        return shared;
    MemoryLayout body = {.code = code, .overflow = layout->overflow};
    shared = ARENA_NEW(code->arena, SharedCode);
    shared->bytes = lay_out(&body, nest->kernel->body->body, nest->kernel->body->count);
    layout->overflow = body.overflow;
    for (int i = 0; i < body.offsets.count; i++)
        list_push(code->arena, &shared->places, body.offsets.items[i]);
    for (int i = 0; i < body.inside.count; i++)
        list_push(code->arena, &shared->places, body.inside.items[i]);
    address_map_set(code->arena, &code->shared, nest, shared);
    return shared;
}

/* At each place where a shared nest runs its temporaries lie where that place has room for them. */
static LLVMValueRef lay_out_shared(MemoryLayout *layout, const Stmt *stmt) {
    Code *code = layout->code;
    LLVMValueRef none = index_constant(code, 0), bytes = lay_out_nest(layout, stmt->shared)->bytes;
    if (bytes == none)
        return none;
    LLVMValueRef *place = ARENA_NEW(code->arena, LLVMValueRef);
    *place = none;
    address_map_set(code->arena, &code->shared_places, stmt, place);
    list_push(code->arena, &layout->offsets, place);
    return bytes;
}

static LLVMValueRef lay_out_statement(MemoryLayout *layout, const Stmt *stmt) {
    if (stmt->kind == STMT_SHARED)
        return lay_out_shared(layout, stmt);
    bool outlined = stmt->kind == STMT_FOR && stmt->loop == LOOP_PARALLEL && !layout->code->single_thread;
    if (outlined && !layout->in_parallel)
        return lay_out_parallel(layout, stmt);
    LLVMValueRef bytes = lay_out(layout, stmt->body, stmt->count);
    return larger(layout, bytes, lay_out(layout, stmt->otherwise, stmt->otherwise_count));
}

static void lay_out_buffer(MemoryLayout *layout, MemoryBlockList *blocks, const Lifetime *lifetime) {
    Code *code = layout->code;
    if (lifetime->tensor->scope == SCOPE_REGISTER)
        return;
    Placement *placement = ARENA_NEW(code->arena, Placement);
    *placement = (Placement){.stack = fits_stack(layout, lifetime->tensor), .offset = index_constant(code, 0)};
    address_map_set(code->arena, &code->placements, lifetime->allocation, placement);
    if (placement->stack || lifetime->first < 0)
        return;
    MemoryBlock block = {.tensor = lifetime->tensor, .first = lifetime->first, .last = lifetime->last};
    block.bytes = tensor_bytes(layout, lifetime->tensor);
    block.from = layout->offsets.count;
    list_push(code->arena, &layout->offsets, &placement->offset);
    block.to = layout->offsets.count;
    list_push(code->arena, blocks, block);
}

/* What is in the statement alone: other blocks may have its bytes before and after. */
static void lay_out_inside(MemoryLayout *layout, MemoryBlockList *blocks, const Stmt *stmt, int number) {
    int from = layout->offsets.count;
    MemoryBlock block = {.first = number, .last = number, .from = from, .bytes = lay_out_statement(layout, stmt)};
    block.to = layout->offsets.count;
    if (block.to > from)
        list_push(layout->code->arena, blocks, block);
}

/* Lays out what the statements need, from 0 on. Returns its bytes. */
static LLVMValueRef lay_out(MemoryLayout *layout, Stmt *const *statements, int count) {
    MemoryBlockList blocks = {0};
    Lifetimes lifetimes = kernel_lifetimes(layout->code->arena, statements, count);
    for (int b = 0; b < lifetimes.buffers.count; b++)
        lay_out_buffer(layout, &blocks, &lifetimes.buffers.items[b]);
    for (int i = 0; i < lifetimes.statements.count; i++)
        lay_out_inside(layout, &blocks, lifetimes.statements.items[i], i);
    return place_blocks(layout, &blocks);
}

/* --- the memory --- */

LLVMValueRef temporary_bytes(Code *code, const Stmt *body) {
    MemoryLayout layout = {.code = code, .overflow = constant_int(code->i1, 0)};
    LLVMValueRef bytes = lay_out(&layout, (Stmt *const[]){(Stmt *)body}, 1);
    if (bytes == index_constant(code, 0))
        return NULL;
    LLVMValueRef all = index_constant(code, TOO_MANY_BYTES);
    bytes = LLVMBuildSelect(code->builder, layout.overflow, all, bytes, "");
    return larger(&layout, bytes, index_constant(code, DATA_ALIGNMENT));
}

static void open_leave_block(Code *code) {
    Frame *frame = code->frame;
    LLVMBasicBlockRef here = LLVMGetInsertBlock(code->builder);
    frame->leave = new_block(code, "leave");
    LLVMPositionBuilderAtEnd(code->builder, frame->leave);
    frame->status = LLVMBuildPhi(code->builder, code->i32, "status");
    LLVMPositionBuilderAtEnd(code->builder, here);
}

void take_temporaries(Code *code, const Stmt *body) {
    LLVMBuilderRef b = code->builder;
    LLVMValueRef bytes = temporary_bytes(code, body);
    if (!bytes)
        return;
    LLVMValueRef heap = emit_take(code, code->frame->workspace, bytes);
    LLVMBasicBlockRef failed = new_block(code, "no_memory"), work = new_block(code, "work");
    LLVMBuildCondBr(b, LLVMBuildIsNull(b, heap, ""), failed, work);
    LLVMPositionBuilderAtEnd(b, failed);
    return_status(code, constant_int(code->i32, STATUS_NO_MEMORY));
    LLVMPositionBuilderAtEnd(b, work);
    code->frame->heap = heap;
    open_leave_block(code);
}

void give_temporaries(Code *code) {
    Frame *frame = code->frame;
    if (!frame->leave)
        return;
    LLVMMoveBasicBlockAfter(frame->leave, LLVMGetLastBasicBlock(frame->function));
    LLVMPositionBuilderAtEnd(code->builder, frame->leave);
    emit_give(code, frame->workspace, frame->heap);
    LLVMBuildRet(code->builder, frame->status);
}
