/* transpose.c - neighbouring stores that copy the columns of a square block, as loads of its rows, shuffles and
 * the stores: what packing does where the lanes lie a stride apart, and each store would be of a gather.
 *
 * n stores one after the other, store k of the n elements x(base + k + lane * stride): together they read what n loads
 * of n neighbouring elements read. The shuffles stay inside of 16 bytes as long as they can, as those of all targets do.
 */
#include "backends/llvm/code.h"
#include "lang/expr.h"

enum { LANE_BYTES = 16, MOST_LANES = 64 };

/* --- what is such a block --- */

/* A stride that is known at run time only may be any: the elements are the same. */
static bool reads_columns(const Expr *e, Expr **stride) {
    int64_t known;
    if (e->kind != EXPR_READ || e->guard || e->count != 1 || e->args[0]->kind != EXPR_RAMP ||
        e->args[0]->lanes != e->lanes)
        return false;
    *stride = e->args[0]->args[1];
    return expr_is_int(*stride, &known) ? known >= e->lanes : !expr_reads(*stride);
}

static bool stores_row(const Stmt *stmt) {
    int64_t stride;
    return stmt->kind == STMT_STORE && !stmt->guard && stmt->index_count == 1 && stmt->index[0]->kind == EXPR_RAMP &&
           expr_is_int(stmt->index[0]->args[1], &stride) && stride == 1;
}

/* The index is that distance beyond the other one, both of loop variables alone. */
static bool is_beyond(Code *code, Expr *index, Expr *from, int64_t distance) {
    Affine affine;
    return expr_affine_modular(code->arena, expr_binary(code->arena, OP_SUB, index, from), &affine) && affine.count == 0 &&
           affine.constant == distance;
}

static bool copies_column(Code *code, const Stmt *stmt, const Stmt *first, int column) {
    Expr *stride, *wanted;
    const Expr *read = stmt->value, *start = first->value;
    return stores_row(stmt) && stmt->tensor == first->tensor && read->lanes == start->lanes &&
           reads_columns(read, &stride) && reads_columns(start, &wanted) && expr_equal(stride, wanted) &&
           read->tensor == start->tensor && is_beyond(code, read->args[0]->args[0], start->args[0]->args[0], column);
}

/* Lanes of 16 bytes at least, that a register holds. */
static bool has_shape(Code *code, const Expr *read) {
    int lanes = read->lanes, bytes = lanes * element_info[read->tensor->type].bytes;
    return lanes > 1 && lanes == padded_lanes(lanes) && lanes <= MOST_LANES && bytes >= LANE_BYTES &&
           bytes <= code->target->vector_bytes;
}

static bool is_block(Code *code, Stmt *const *statements, int count) {
    const Stmt *first = statements[0];
    Expr *stride;
    if (!stores_row(first) || !reads_columns(first->value, &stride) || !has_shape(code, first->value) ||
        count < first->value->lanes || first->tensor == first->value->tensor ||
        first->tensor->type != first->value->tensor->type || buffer_of(code, first->value->tensor)->registers ||
        buffer_of(code, first->tensor)->registers)
        return false;
    bool reads = expr_reads(first->value->args[0]);
    for (int i = 0; i < first->value->lanes && !reads; i++) {
        reads = expr_reads(statements[i]->kind == STMT_STORE ? statements[i]->index[0] : first->index[0]);
        if (!copies_column(code, statements[i], first, i))
            return false;
    }
    return !reads;
}

/* --- shuffles --- */

typedef struct Block {
    Code *code;
    int lanes, group; /* elements of a row, and of 16 bytes */
    LLVMValueRef rows[MOST_LANES];
} Block;

/* Of each 16 bytes of both vectors the first or the second half, pieces of `size` elements by turns. */
static LLVMValueRef unpack(const Block *block, LLVMValueRef a, LLVMValueRef b, int size, bool high) {
    int indices[MOST_LANES], pieces = block->group / size;
    for (int i = 0; i < block->lanes; i++) {
        int piece = i % block->group / size, from = piece / 2 + (high ? pieces / 2 : 0);
        indices[i] = i / block->group * block->group + from * size + i % size + (piece % 2 ? block->lanes : 0);
    }
    return emit_shuffle(block->code, a, b, indices, block->lanes);
}

/* Every second 16 bytes of both vectors, from the first or the second on. */
static LLVMValueRef thin(const Block *block, LLVMValueRef a, LLVMValueRef b, int size, bool high) {
    int indices[MOST_LANES];
    for (int i = 0; i < block->lanes; i++)
        indices[i] = (i / block->group * 2 + high) * block->group + i % block->group;
    return emit_shuffle(block->code, a, b, indices, block->lanes);
}

typedef LLVMValueRef Shuffle(const Block *block, LLVMValueRef a, LLVMValueRef b, int size, bool high);

/* Rows that lie `distance` apart, in pairs. */
static void shuffle_pairs(Block *block, int distance, int size, Shuffle *shuffle) {
    for (int i = 0; i < block->lanes; i++) {
        if (i & distance)
            continue;
        LLVMValueRef a = block->rows[i], b = block->rows[i | distance];
        block->rows[i] = shuffle(block, a, b, size, false);
        block->rows[i | distance] = shuffle(block, a, b, size, true);
    }
}

static int reversed_bits(int value, int count) {
    int reversed = 0;
    for (int bit = 1; bit < count; bit *= 2)
        reversed = 2 * reversed + !!(value & bit);
    return reversed;
}

/* Inside of 16 bytes, which leaves column c at the place whose bits are those of c reversed, then 16 bytes at a time. */
static void transpose(Block *block) {
    for (int size = 1; size < block->group; size *= 2)
        shuffle_pairs(block, size, size, unpack);
    for (int distance = block->group; distance < block->lanes; distance *= 2)
        shuffle_pairs(block, distance, 0, thin);
}

static LLVMValueRef column(const Block *block, int number) {
    int group = block->group;
    return block->rows[number / group * group + reversed_bits(number % group, group)];
}

static LLVMValueRef load_row(Code *code, const Expr *columns, int row) {
    Arena *arena = code->arena;
    const Expr *index = columns->args[0];
    Expr *read = expr_copy(arena, columns), *start = expr_copy(arena, index->args[0]);
    read->args = ARENA_NEW(arena, Expr *);
    Expr *distance = expr_simplify(arena, expr_binary(arena, OP_MUL, expr_int(arena, row), index->args[1]));
    start = expr_binary(arena, OP_ADD, start, distance);
    read->args[0] = expr_ramp(arena, start, expr_int(arena, 1), columns->lanes);
    return emit_stored(code, read);
}

int emit_transposed(Code *code, Stmt *const *statements, int count) {
    if (!is_block(code, statements, count))
        return 0;
    const Expr *read = statements[0]->value;
    Block block = {.code = code, .lanes = read->lanes};
    block.group = LANE_BYTES / element_info[read->tensor->type].bytes;
    for (int i = 0; i < block.lanes; i++)
        block.rows[i] = load_row(code, read, i);
    transpose(&block);
    for (int i = 0; i < block.lanes; i++) {
        forget_values(code);
        emit_stored_lanes(code, statements[i], column(&block, i));
    }
    return block.lanes;
}
