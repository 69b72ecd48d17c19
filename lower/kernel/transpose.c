/* transpose.c - pass: neighbouring stores that copy the columns of a square block become reads of its rows, shuffles
 * and the stores. Packing does this where lanes are a stride apart, so that each store would be of a gather.
 *
 * n neighbouring stores, store k of the n elements x(base + k + lane * stride), together read what n reads of n
 * contiguous elements read. The shuffles stay inside 16 bytes as long as they can, as on all targets. Needs unrolled
 * loops.
 */
#include "lower/kernel/passes.h"

enum { LANE_BYTES = 16, MOST_LANES = 64 };

/* --- what is such a block ----------------------------------------------------------------------------------------- */

/* A run-time stride may be any: the elements are the same. */
static bool reads_columns(const Expr *e, Expr **stride) {
    int64_t known;
    if (e->kind != EXPR_READ || e->guard || e->count != 1 || e->args[0]->kind != EXPR_RAMP ||
        e->args[0]->lanes != e->lanes || e->tensor->scope == SCOPE_REGISTER)
        return false;
    *stride = e->args[0]->args[1];
    return expr_is_int(*stride, &known) ? known >= e->lanes : !expr_reads(*stride);
}

static bool stores_row(const Stmt *stmt) {
    int64_t stride;
    return stmt->kind == STMT_STORE && !stmt->guard && stmt->index_count == 1 && stmt->index[0]->kind == EXPR_RAMP &&
           expr_is_int(stmt->index[0]->args[1], &stride) && stride == 1 && stmt->tensor->scope != SCOPE_REGISTER;
}

/* Whether the index is `distance` beyond the other; both depend on loop variables alone. */
static bool is_beyond(Arena *arena, Expr *index, Expr *from, int64_t distance) {
    Affine affine;
    return expr_affine_modular(arena, expr_binary(arena, OP_SUB, index, from), &affine) && affine.count == 0 &&
           affine.constant == distance;
}

static bool copies_column(Arena *arena, const Stmt *stmt, const Stmt *first, int column) {
    Expr *stride, *wanted;
    const Expr *read = stmt->value, *start = first->value;
    return stores_row(stmt) && stmt->tensor == first->tensor && read->lanes == start->lanes &&
           reads_columns(read, &stride) && reads_columns(start, &wanted) && expr_equal(stride, wanted) &&
           read->tensor == start->tensor && is_beyond(arena, read->args[0]->args[0], start->args[0]->args[0], column);
}

/* Whether the lanes have at least 16 bytes and fit into a register. */
static bool has_shape(const Target *target, const Expr *read) {
    int lanes = read->lanes, bytes = lanes * element_info[read->tensor->type].bytes;
    return lanes > 1 && (lanes & (lanes - 1)) == 0 && lanes <= MOST_LANES && bytes >= LANE_BYTES &&
           bytes <= target->vector_bytes;
}

static bool is_block(const Kernel *kernel, Stmt *const *statements, int count) {
    const Stmt *first = statements[0];
    Expr *stride;
    if (!kernel->target || !stores_row(first) || !reads_columns(first->value, &stride) ||
        !has_shape(kernel->target, first->value) || count < first->value->lanes ||
        first->tensor == first->value->tensor || first->tensor->type != first->value->tensor->type ||
        expr_reads(first->value->args[0]))
        return false;
    for (int i = 0; i < first->value->lanes; i++)
        if (!copies_column(kernel->arena, statements[i], first, i) || expr_reads(statements[i]->index[0]))
            return false;
    return true;
}

/* --- shuffles ----------------------------------------------------------------------------------------------------- */

typedef struct Block {
    Vectors vectors;
    StmtList list;
    int lanes, group; /* elements of a row, and of 16 bytes */
    Expr *rows[MOST_LANES];
} Block;

/* From each 16 bytes of both vectors, takes the first or second half, in pieces of `size` elements alternately. */
static void unpack(const Block *block, int size, bool high, int *pattern) {
    int pieces = block->group / size;
    for (int i = 0; i < block->lanes; i++) {
        int piece = i % block->group / size, from = piece / 2 + (high ? pieces / 2 : 0);
        pattern[i] = i / block->group * block->group + from * size + i % size + (piece % 2 ? block->lanes : 0);
    }
}

/* Every second 16 bytes of both vectors, from the first or second on. */
static void thin(const Block *block, int size, bool high, int *pattern) {
    (void)size;
    for (int i = 0; i < block->lanes; i++)
        pattern[i] = (i / block->group * 2 + high) * block->group + i % block->group;
}

typedef void Shuffle(const Block *block, int size, bool high, int *pattern);

/* Shuffles pairs of rows that are `distance` apart. */
static void shuffle_pairs(Block *block, int distance, int size, Shuffle *shuffle) {
    int pattern[MOST_LANES];
    for (int i = 0; i < block->lanes; i++) {
        if (i & distance)
            continue;
        Expr *pair[] = {block->rows[i], block->rows[i | distance]};
        for (int high = 0; high < 2; high++) {
            shuffle(block, size, high, pattern);
            block->rows[i | (high ? distance : 0)] = vectors_keep(
                &block->vectors, &block->list, expr_shuffle(block->vectors.arena, pair, 2, pattern, block->lanes));
        }
    }
}

static int reversed_bits(int value, int count) {
    int reversed = 0;
    for (int bit = 1; bit < count; bit *= 2)
        reversed = 2 * reversed + !!(value & bit);
    return reversed;
}

/* First inside 16 bytes, which puts column c at the place with the reversed bits of c; then 16 bytes at a time. */
static void transpose(Block *block) {
    for (int size = 1; size < block->group; size *= 2)
        shuffle_pairs(block, size, size, unpack);
    for (int distance = block->group; distance < block->lanes; distance *= 2)
        shuffle_pairs(block, distance, 0, thin);
}

static Expr *column(const Block *block, int number) {
    int group = block->group;
    return block->rows[number / group * group + reversed_bits(number % group, group)];
}

static Expr *read_row(Arena *arena, const Expr *columns, int row) {
    const Expr *index = columns->args[0];
    Expr *distance = expr_simplify(arena, expr_binary(arena, OP_MUL, expr_int(arena, row), index->args[1]));
    Expr *read = expr_copy(arena, columns), *start = expr_binary(arena, OP_ADD, index->args[0], distance);
    read->args[0] = expr_ramp(arena, start, expr_int(arena, 1), columns->lanes);
    return read;
}

static Stmt *transposed(Arena *arena, Stmt *const *statements) {
    const Expr *read = statements[0]->value;
    Block *block = ARENA_NEW(arena, Block);
    block->vectors = vectors_new(arena, "square", read->type, statements[0]->loc);
    block->lanes = read->lanes;
    block->group = LANE_BYTES / element_info[read->type].bytes;
    for (int i = 0; i < block->lanes; i++)
        block->rows[i] = vectors_keep(&block->vectors, &block->list, read_row(arena, read, i));
    transpose(block);
    for (int i = 0; i < block->lanes; i++) {
        const Stmt *stmt = statements[i];
        stmts_add(arena, &block->list,
                  stmt_store(arena, stmt->tensor, stmt->index, 1, column(block, i), NULL, stmt->loc));
    }
    return vectors_around(&block->vectors, block->list);
}

/* --- the pass ----------------------------------------------------------------------------------------------------- */

static int transpose_block(const Kernel *kernel, const Map *shared, StmtList *list, Stmt *const *statements,
                           int count) {
    (void)shared;
    if (!is_block(kernel, statements, count))
        return 0;
    stmts_add(kernel->arena, list, transposed(kernel->arena, statements));
    return statements[0]->value->lanes;
}

void pass_transpose(Kernel *kernel) {
    if (kernel->lanes_apart)
        replace_statements(kernel, transpose_block);
}
