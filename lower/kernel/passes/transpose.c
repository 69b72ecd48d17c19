/* transpose.c - pass: neighbouring stores that copy the columns of a block become reads of its rows, shuffles and the
 * stores. Packing does this where lanes are a stride apart, so that each store would be of a gather.
 *
 * c neighbouring stores, store k of the n elements x(base + k + lane * stride), together read what n reads of c
 * contiguous elements read. A block has n columns, or fewer by a power of two: rows that are c apart then share a
 * vector, which has n / c pieces. The statements of several blocks of the same tensors may come by turns. The shuffles
 * stay inside 16 bytes as long as they can, as on all targets. Needs unrolled loops.
 */
#include "lower/kernel/passes/passes.h"
#include "lower/kernel/passes/vectors.h"
#include "lower/kernel/statements.h"

enum { LANE_BYTES = 16, MOST_LANES = 64, LEAST_COLUMNS = 2 };
enum { MOST_APART = 16 }; /* statements between two columns of a block */

/* --- what is such a block ----------------------------------------------------------------------------------------- */

/* Whether the stride is at least as long as a row. A run-time stride may be any: the elements are the same. */
static bool is_stride(const Expr *stride, int columns) {
    int64_t known;
    return expr_is_int(stride, &known) ? known >= columns : !expr_reads(stride);
}

static bool reads_columns(const Expr *e, Expr **stride) {
    if (e->kind != EXPR_READ || e->guard || e->count != 1 || e->args[0]->kind != EXPR_RAMP ||
        e->args[0]->lanes != e->lanes || e->tensor->scope == SCOPE_REGISTER)
        return false;
    *stride = e->args[0]->args[1];
    return is_stride(*stride, LEAST_COLUMNS);
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

static bool begins_block(const Kernel *kernel, const Stmt *first) {
    Expr *stride;
    return kernel->target && stores_row(first) && reads_columns(first->value, &stride) &&
           has_shape(kernel->target, first->value) && first->tensor != first->value->tensor &&
           first->tensor->type == first->value->tensor->type && !expr_reads(first->value->args[0]);
}

/* Neighbouring statements of `apart` blocks by turns. */
typedef struct StmtRun {
    Stmt *const *statements;
    int count, apart;
} StmtRun;

/* How many statements on the next column of the first block is; 0: there is none. */
static int column_distance(Arena *arena, const StmtRun *run) {
    for (int next = 1; next < run->count && next <= MOST_APART; next++)
        if (copies_column(arena, run->statements[next], run->statements[0], 1))
            return next;
    return 0;
}

static int column_count(Arena *arena, const StmtRun *run, int block) {
    const Stmt *first = run->statements[block];
    int columns = 0, lanes = first->value->lanes;
    for (int i = block; i < run->count && columns < lanes; i += run->apart, columns++)
        if (!copies_column(arena, run->statements[i], first, columns) || expr_reads(run->statements[i]->index[0]))
            break;
    return columns;
}

/* So blocks may be copied in any order. */
static bool same_tensors(const Stmt *stmt, const Stmt *first) {
    return stmt->tensor == first->tensor && stmt->value->tensor == first->value->tensor;
}

/* The columns of the blocks that begin here, each of at least 16 bytes in a row; 0: there are none. */
static int block_columns(const Kernel *kernel, StmtRun *run) {
    const Stmt *first = run->statements[0];
    if (!begins_block(kernel, first) || !(run->apart = column_distance(kernel->arena, run)))
        return 0;
    int columns = MOST_LANES, lanes = first->value->lanes, least = LANE_BYTES / element_info[first->value->type].bytes;
    for (int block = 0; block < run->apart; block++) {
        bool begins = begins_block(kernel, run->statements[block]) && same_tensors(run->statements[block], first);
        int own = begins ? column_count(kernel->arena, run, block) : 0;
        columns = own < columns ? own : columns;
    }
    for (; lanes > columns; lanes /= 2)
        ;
    return lanes >= least && is_stride(first->value->args[0]->args[1], lanes) ? lanes : 0;
}

/* --- shuffles ----------------------------------------------------------------------------------------------------- */

typedef struct TransposedBlock {
    Vectors vectors;
    StmtList list;
    int lanes, columns, group; /* elements of a vector, of a row, and of 16 bytes */
    Expr *rows[MOST_LANES];    /* vectors of one row, or of rows that are `columns` apart */
} TransposedBlock;

/* From each 16 bytes of both vectors, takes the first or second half, in pieces of `size` elements alternately. */
static void unpack(const TransposedBlock *block, int size, bool high, int *pattern) {
    int pieces = block->group / size;
    for (int i = 0; i < block->lanes; i++) {
        int piece = i % block->group / size, from = piece / 2 + (high ? pieces / 2 : 0);
        pattern[i] = i / block->group * block->group + from * size + i % size + (piece % 2 ? block->lanes : 0);
    }
}

/* Every second 16 bytes of both vectors' pieces, from the first or second on. */
static void thin(const TransposedBlock *block, int size, bool high, int *pattern) {
    (void)size;
    for (int i = 0; i < block->lanes; i++) {
        int piece = i / block->columns * block->columns;
        int from = ((i - piece) / block->group * 2 + high) * block->group;
        pattern[i] = piece + from % block->columns + i % block->group + (from < block->columns ? 0 : block->lanes);
    }
}

typedef void Shuffle(const TransposedBlock *block, int size, bool high, int *pattern);

/* Shuffles pairs of rows that are `distance` apart. */
static void shuffle_pairs(TransposedBlock *block, int distance, int size, Shuffle *shuffle) {
    int pattern[MOST_LANES];
    for (int i = 0; i < block->columns; i++) {
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
static void transpose(TransposedBlock *block) {
    for (int size = 1; size < block->group; size *= 2)
        shuffle_pairs(block, size, size, unpack);
    for (int distance = block->group; distance < block->columns; distance *= 2)
        shuffle_pairs(block, distance, 0, thin);
}

static Expr *column(const TransposedBlock *block, int number) {
    int group = block->group;
    return block->rows[number / group * group + reversed_bits(number % group, group)];
}

static Expr *read_row(Arena *arena, const Expr *lanes, int row, int columns) {
    const Expr *index = lanes->args[0];
    Expr *distance = expr_simplify(arena, expr_binary(arena, OP_MUL, expr_int(arena, row), index->args[1]));
    Expr *read = expr_copy(arena, lanes), *start = expr_binary(arena, OP_ADD, index->args[0], distance);
    read->args[0] = expr_ramp(arena, start, expr_int(arena, 1), columns);
    read->lanes = columns;
    return read;
}

/* The rows of a vector, one behind the other. */
static Expr *read_rows(TransposedBlock *block, const Expr *lanes, int first) {
    Expr *rows[MOST_LANES];
    int count = 0, pattern[MOST_LANES];
    for (int row = first; row < block->lanes; row += block->columns)
        rows[count++] =
            vectors_keep(&block->vectors, &block->list, read_row(block->vectors.arena, lanes, row, block->columns));
    for (int i = 0; i < block->lanes; i++)
        pattern[i] = i;
    return count == 1 ? rows[0]
                      : vectors_keep(&block->vectors, &block->list,
                                     expr_shuffle(block->vectors.arena, rows, count, pattern, block->lanes));
}

static Stmt *transposed(Arena *arena, const StmtRun *run, int first, int columns) {
    Stmt *const *statements = run->statements + first;
    const Expr *read = statements[0]->value;
    TransposedBlock *block = ARENA_NEW(arena, TransposedBlock);
    block->vectors = vectors_new(arena, "square", read->type, statements[0]->loc);
    block->lanes = read->lanes;
    block->columns = columns;
    block->group = LANE_BYTES / element_info[read->type].bytes;
    for (int i = 0; i < columns; i++)
        block->rows[i] = read_rows(block, read, i);
    transpose(block);
    for (int i = 0; i < columns; i++) {
        const Stmt *stmt = statements[i * run->apart];
        stmts_add(arena, &block->list,
                  stmt_store(arena, stmt->tensor, stmt->index, 1, column(block, i), NULL, stmt->loc));
    }
    return vectors_around(&block->vectors, block->list);
}

/* --- the pass ----------------------------------------------------------------------------------------------------- */

static int transpose_block(const Kernel *kernel, const Map *shared, StmtList *list, Stmt *const *statements,
                           int count) {
    (void)shared;
    StmtRun run = {statements, count, 0};
    int columns = block_columns(kernel, &run);
    for (int block = 0; block < run.apart && columns > 0; block++)
        stmts_add(kernel->arena, list, transposed(kernel->arena, &run, block, columns));
    return columns * run.apart;
}

void pass_transpose(Kernel *kernel) {
    if (kernel->lanes_apart)
        replace_statements(kernel, transpose_block);
}
