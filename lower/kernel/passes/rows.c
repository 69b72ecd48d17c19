/* rows.c - pass: reads whose lanes are known distances apart at compile time become a read of a row, from the first
 * lane's element to the last one's, and a shuffle.
 *
 * Examples are quotients and remainders of a row of lanes by a constant, if the row begins at a multiple of it: two
 * neighbours that read the same byte, or the pairs and triples of a fused loop. Elements of the row that no lane reads
 * are not written by other iterations of a parallel loop. Needs unrolled loops.
 */
#include "lang/value.h"
#include "lower/kernel/passes/passes.h"
#include "lower/kernel/passes/vectors.h"
#include "lower/kernel/statements.h"

/* Numbers whose products with lanes are no larger than an index. */
static bool is_small(int64_t value) {
    return value >= INT32_MIN && value <= INT32_MAX;
}

static bool all_equal(const int64_t *offsets, int lanes, int64_t value) {
    for (int i = 0; i < lanes; i++)
        if (offsets[i] != value)
            return false;
    return true;
}

/* The number that all lanes have; false: they differ, or it is not known. */
static bool constant_of(const Expr *e, int64_t *value) {
    return e->kind == EXPR_BROADCAST ? constant_of(e->args[0], value) : expr_is_int(e, value);
}

static bool lane_pattern(Arena *arena, Expr *index, int lanes, Expr **base, int64_t *offsets);

/* Quotient or remainder by a constant, of a base that is a multiple of it plus an offset for each lane. */
static bool divide_pattern(Arena *arena, const Expr *e, int lanes, Expr **base, int64_t *offsets) {
    int64_t by;
    Affine affine;
    if (!constant_of(e->args[1], &by) || by <= 0 || !lane_pattern(arena, e->args[0], lanes, base, offsets) ||
        !expr_affine(arena, *base, &affine))
        return false;
    for (int t = 0; t < affine.count; t++) {
        if (affine.terms[t].coefficient % by != 0)
            return false;
        affine.terms[t].coefficient /= by;
    }
    int64_t more = affine.constant;
    affine.constant = 0;
    if (!is_small(more))
        return false;
    for (int i = 0; i < lanes; i++)
        offsets[i] = e->op == OP_DIV ? floor_div(offsets[i] + more, by) : floor_mod(offsets[i] + more, by);
    *base = e->op == OP_DIV ? affine_expr(arena, &affine) : expr_int(arena, 0);
    return true;
}

static bool combine_patterns(Arena *arena, const Expr *e, int lanes, Expr **base, int64_t *offsets) {
    int64_t others[lanes], factor;
    Expr *other;
    if (!lane_pattern(arena, e->args[0], lanes, base, offsets) ||
        !lane_pattern(arena, e->args[1], lanes, &other, others))
        return false;
    if (e->op == OP_MUL) {
        bool first = expr_is_int(*base, &factor) && all_equal(offsets, lanes, 0);
        if (!first && (!expr_is_int(other, &factor) || !all_equal(others, lanes, 0)))
            return false;
        if (!is_small(factor))
            return false;
        for (int i = 0; i < lanes; i++)
            offsets[i] = (first ? others[i] : offsets[i]) * factor;
    }
    for (int i = 0; i < lanes && e->op != OP_MUL; i++)
        offsets[i] = e->op == OP_ADD ? offsets[i] + others[i] : offsets[i] - others[i];
    *base = expr_binary(arena, e->op, *base, other);
    for (int i = 0; i < lanes; i++)
        if (!is_small(offsets[i]))
            return false;
    return true;
}

/* An index as a scalar base plus an offset for each lane; false: not known at compile time. */
static bool lane_pattern(Arena *arena, Expr *index, int lanes, Expr **base, int64_t *offsets) {
    int64_t stride = 0;
    bool row = index->kind == EXPR_RAMP && expr_is_int(index->args[1], &stride);
    if (index->type != TYPE_INT64)
        return false;
    if (row || index->kind == EXPR_BROADCAST || index->lanes == 1) {
        *base = index->lanes == 1 ? index : index->args[0];
        for (int i = 0; i < lanes; i++)
            offsets[i] = stride * i;
        return is_small(stride);
    }
    if (index->kind != EXPR_OP)
        return false;
    switch (index->op) {
    case OP_DIV:
    case OP_MOD: return divide_pattern(arena, index, lanes, base, offsets);
    case OP_ADD:
    case OP_SUB:
    case OP_MUL: return combine_patterns(arena, index, lanes, base, offsets);
    default: return false;
    }
}

/* --- the pass ----------------------------------------------------------------------------------------------------- */

static Expr *read_at(Arena *arena, const Expr *like, Expr *first, int lanes) {
    Expr *read = expr_copy(arena, like);
    read->args[0] = expr_ramp(arena, first, expr_int(arena, 1), lanes);
    read->lanes = lanes;
    return read;
}

/* Reads of one parallel loop, or outside of all. */
typedef struct RowsPass {
    ReadMapping mapping;
    Map shared; /* tensors that other iterations may write */
} RowsPass;

/* Whether a row has elements that no lane reads. */
static bool has_gaps(const int64_t *offsets, int lanes, int64_t first, int64_t last) {
    bool read[SHUFFLED_STRIDE * lanes];
    int found = 0;
    for (int i = 0; i <= last - first; i++)
        read[i] = false;
    for (int i = 0; i < lanes; i++) {
        found += !read[offsets[i] - first];
        read[offsets[i] - first] = true;
    }
    return found <= last - first;
}

static Expr *replace_read(ReadMapping *mapping, Expr *e) {
    const RowsPass *rows = (const RowsPass *)mapping; /* whose first member it is */
    Arena *arena = mapping->arena;
    int64_t offsets[e->lanes], first = INT64_MAX, last = INT64_MIN;
    int pattern[e->lanes];
    Expr *base;
    e = expr_over_reads(mapping, e);
    if (e->count != 1 || e->guard || e->tensor->scope == SCOPE_REGISTER || e->args[0]->kind != EXPR_OP ||
        e->lanes == 1 || !lane_pattern(arena, e->args[0], e->lanes, &base, offsets))
        return e;
    for (int i = 0; i < e->lanes; i++) {
        first = offsets[i] < first ? offsets[i] : first;
        last = offsets[i] > last ? offsets[i] : last;
    }
    if (last - first >= SHUFFLED_STRIDE * e->lanes ||
        (address_map_get(&rows->shared, e->tensor) && has_gaps(offsets, e->lanes, first, last)))
        return e;
    base = expr_binary(arena, OP_ADD, base, expr_int(arena, first));
    if (first == last)
        return expr_broadcast(arena, read_at(arena, e, base, 1), e->lanes);
    for (int i = 0; i < e->lanes; i++)
        pattern[i] = (int)(offsets[i] - first);
    Expr *row = read_at(arena, e, base, (int)(last - first + 1));
    return expr_shuffle(arena, &row, 1, pattern, e->lanes);
}

static Expr *rewrite(Arena *arena, Expr *e, void *context) {
    (void)arena;
    return expr_map_reads(context, e);
}

static Stmt *rows_of(Arena *arena, Stmt *stmt, void *context) {
    RowsPass inside = {.mapping = {.arena = arena, .replace = replace_read}};
    stmt = stmt_over_exprs(arena, stmt, rewrite, context);
    if (stmt->kind == STMT_FOR && stmt->loop == LOOP_PARALLEL) {
        inside.shared = stored_in_parallel(arena, stmt);
        context = &inside;
    }
    return stmt_map_bodies(arena, stmt, rows_of, context);
}

void pass_rows(Kernel *kernel) {
    RowsPass rows = {.mapping = {.arena = kernel->arena, .replace = replace_read}};
    if (kernel->lanes_apart)
        kernel->body = rows_of(kernel->arena, kernel->body, &rows);
}
