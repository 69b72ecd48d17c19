/* kernel_scan.c - rows of a scan, one after the other: for t { for n { ... } } as for n { for t { ... } }.
 *
 * Where steps lie side by side in memory, and each iteration of the loop inside goes on from what it wrote itself, a few
 * rows at a time run through memory instead of all rows in each step. Used by build for the loop over the steps.
 */
#include "lower/passes.h"

typedef struct Rows {
    Arena *arena;
    const Var *steps, *row;
    LIST(const Tensor *) own;
    LIST(const Expr *) reads;
    LIST(const Stmt *) stores;
    LIST(Substitution) inner; /* 0 for the row and for each loop inside */
    bool other;               /* a statement that is not moved */
} Rows;

static bool has_tensor(const Tensor *const *list, int count, const Tensor *tensor) {
    for (int i = 0; i < count; i++)
        if (list[i] == tensor)
            return true;
    return false;
}

static bool note_read_of_row(const Expr *e, void *context) {
    Rows *rows = context;
    if (e->kind == EXPR_READ)
        list_push(rows->arena, &rows->reads, e);
    return true;
}

static void note_reads_of_row(Expr *e, void *context) {
    expr_walk(e, note_read_of_row, context);
}

static bool note_row(Stmt *stmt, void *context) {
    Rows *rows = context;
    rows->other |= stmt->kind == STMT_CHECK || stmt->kind == STMT_PREFETCH;
    if (stmt->kind == STMT_ALLOCATE)
        list_push(rows->arena, &rows->own, stmt->tensor);
    if (stmt->kind == STMT_FOR)
        list_push(rows->arena, &rows->inner, ((Substitution){stmt->var, expr_int(rows->arena, 0)}));
    if (stmt->kind == STMT_STORE)
        list_push(rows->arena, &rows->stores, stmt);
    stmt_exprs(stmt, note_reads_of_row, rows);
    return true;
}

/* How an index depends on the row: so many times the row, beyond what loops outside decide, and less than that many
 * beyond by loops inside. */
typedef struct Place {
    int64_t times;
    Expr *outside;
} Place;

static bool is_of_row(const Rows *rows, Expr *index, Place *place) {
    Affine affine;
    Arena *arena = rows->arena;
    if (expr_uses_var(index, rows->steps) || expr_reads(index) || !expr_affine(arena, index, &affine) ||
        !affine_coefficient(&affine, rows->row, &place->times) || place->times < 1)
        return false;
    Expr *first = expr_substitute(arena, index, rows->inner.items, 1);
    place->outside = expr_simplify(arena, expr_substitute(arena, index, rows->inner.items, rows->inner.count));
    Interval range = expr_interval(expr_simplify(arena, expr_binary(arena, OP_SUB, first, place->outside)));
    return range.has_low && range.has_high && range.low >= 0 && range.high < place->times;
}

/* The same row is the same part of the dimension in all accesses. */
static bool agrees(const Rows *rows, Expr *index, Place *place) {
    Place own;
    if (!is_of_row(rows, index, &own) ||
        (place->times && (own.times != place->times || !expr_equal(own.outside, place->outside))))
        return false;
    *place = own;
    return true;
}

/* Whether all that touches the tensor says by one dimension which row it is of. */
static bool rows_are_apart(const Rows *rows, const Tensor *tensor, int dimension) {
    Place place = {0};
    for (int i = 0; i < rows->stores.count; i++)
        if (rows->stores.items[i]->tensor == tensor && !agrees(rows, rows->stores.items[i]->index[dimension], &place))
            return false;
    for (int i = 0; i < rows->reads.count; i++)
        if (rows->reads.items[i]->tensor == tensor && !agrees(rows, rows->reads.items[i]->args[dimension], &place))
            return false;
    return true;
}

/* Steps are the last index, the row is one before it. */
static bool runs_by_rows(const Rows *rows, const Stmt *store) {
    if (has_tensor(rows->own.items, rows->own.count, store->tensor))
        return true;
    int last = store->index_count - 1;
    if (last < 1 || !expr_uses_var(store->index[last], rows->steps))
        return false;
    for (int d = 0; d < last; d++)
        if (rows_are_apart(rows, store->tensor, d))
            return true;
    return false;
}

Stmt *scan_by_rows(Arena *arena, Stmt *steps) {
    Stmt *row = steps && steps->kind == STMT_FOR && steps->count == 1 ? steps->body[0] : NULL;
    if (!row || steps->loop != LOOP_SERIAL || row->kind != STMT_FOR || row->loop != LOOP_SERIAL ||
        row->var->reduction || expr_uses_var(row->extent, steps->var) || expr_reads(row->extent))
        return steps;
    Rows rows = {.arena = arena, .steps = steps->var, .row = row->var};
    list_push(arena, &rows.inner, ((Substitution){row->var, expr_int(arena, 0)}));
    for (int i = 0; i < row->count; i++)
        stmt_walk(row->body[i], note_row, &rows);
    int64_t one = 0;
    bool once = expr_is_int(row->extent, &one) && one == 1;
    for (int i = 0; i < rows.stores.count && !once; i++)
        if (rows.other || !runs_by_rows(&rows, rows.stores.items[i]))
            return steps;
    StmtList body = stmts_of(row->body, row->count), inner = {0};
    stmts_add(arena, &inner, scan_by_rows(arena, stmt_for_like(arena, steps, steps->extent, body)));
    return stmt_for_like(arena, row, row->extent, inner);
}
