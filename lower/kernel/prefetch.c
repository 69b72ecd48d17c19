/* prefetch.c - the statements of a prefetch: one for each cache line of a box, or of one of its equal parts.
 *
 * A line may be told twice, and a box may have one more than is fetched: only how soon data comes depends on it.
 */
#include "lower/kernel/build.h"

typedef struct Fetching {
    Build *b;
    const Prefetch *prefetch;
    const NestStage *producer; /* of what is fetched; NULL: an argument */
    const Tensor *tensor;
    int64_t line; /* elements of a cache line */
    Loc loc;
    StmtList *list;
} Fetching;

/* The line of the box's element that is `at` behind its first one. */
static void add_line(const Fetching *f, Expr *const *at) {
    Arena *arena = f->b->arena;
    int rank = f->tensor->rank;
    Expr **index = ARENA_ARRAY(arena, Expr *, rank);
    for (int d = 0; d < rank; d++)
        index[d] = expr_simplify(arena, expr_binary(arena, OP_ADD, build_expr(f->b, f->prefetch->low[d]), at[d]));
    index = build_index(f->b, f->producer, index, rank);
    stmts_add(arena, f->list, stmt_prefetch(arena, f->tensor, index, rank, f->prefetch->part != NULL, f->loc));
}

/* One prefetch for each cache line of the box: in a row the first element, each one a line further, and the last. */
static void add_box(const Fetching *f) {
    Arena *arena = f->b->arena;
    int rank = f->tensor->rank;
    int64_t *at = ARENA_ARRAY(arena, int64_t, rank + 1);
    Expr **index = ARENA_ARRAY(arena, Expr *, rank + 1);
    for (int d = rank; d >= 0;) {
        for (int i = 0; i < rank; i++)
            index[i] = expr_int(arena, at[i]);
        add_line(f, index);
        for (d = rank - 1; d >= 0; at[d--] = 0) {
            int64_t last = f->prefetch->extents[d] - 1, step = d == rank - 1 ? f->line : 1;
            if (at[d] == last)
                continue;
            at[d] = at[d] + step < last ? at[d] + step : last;
            break;
        }
    }
}

/* The element `number` of the box's dimensions from `first` to before `end`, counted row by row: index by index. */
static void decompose(const Fetching *f, Expr *number, int first, int end, Expr **index) {
    Arena *arena = f->b->arena;
    for (int d = end - 1; d >= first; d--) {
        Expr *extent = expr_int(arena, f->prefetch->extents[d]);
        index[d] = d > first ? expr_binary(arena, OP_MOD, number, extent) : number;
        number = expr_binary(arena, OP_DIV, number, extent);
    }
}

/* The lines of one of the equal parts. A row is counted in whole lines from its first element on: the line that a row
 * out of step with the lines ends in is left out. What the last part has too much is the last line again. */
static void add_part(const Fetching *f) {
    Arena *arena = f->b->arena;
    const Prefetch *prefetch = f->prefetch;
    int rank = f->tensor->rank, row = prefetch->row;
    int64_t lines = prefetch->lines, each = (lines + prefetch->parts - 1) / prefetch->parts, in_row = lines;
    for (int d = 0; d < row; d++)
        in_row /= prefetch->extents[d];
    Expr *first = expr_binary(arena, OP_MUL, build_expr(f->b, prefetch->part), expr_int(arena, each));
    for (int64_t i = 0; i < each; i++) {
        Expr **index = ARENA_ARRAY(arena, Expr *, rank + 1);
        Expr *number = expr_binary(arena, OP_ADD, first, expr_int(arena, i));
        if (each * prefetch->parts > lines)
            number = expr_binary(arena, OP_MIN, number, expr_int(arena, lines - 1));
        Expr *column = row > 0 ? expr_binary(arena, OP_MOD, number, expr_int(arena, in_row)) : number;
        decompose(f, expr_binary(arena, OP_DIV, number, expr_int(arena, in_row)), 0, row, index);
        decompose(f, expr_binary(arena, OP_MUL, column, expr_int(arena, f->line)), row, rank, index);
        add_line(f, index);
    }
}

void build_prefetch(Build *b, const NestStage *stage, const Prefetch *prefetch, StmtList *list) {
    const NestStage *producer = nest_producer(b->nest, prefetch->tensor);
    const Tensor *tensor =
        producer ? producer->buffers[stage_component_of(producer->stage, prefetch->tensor)] : prefetch->tensor;
    tensor = tensor->role == ROLE_INITIAL ? tensor->buffer : tensor;
    const Fetching fetching = {.b = b,
                               .prefetch = prefetch,
                               .producer = producer,
                               .tensor = tensor,
                               .line = target_line_bytes(b->nest->target) / element_info[tensor->type].bytes,
                               .loc = stage->stage->loc,
                               .list = list};
    if (prefetch->part != NULL)
        add_part(&fetching);
    else
        add_box(&fetching);
}
