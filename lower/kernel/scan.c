/* scan.c - rows of a scan, one after another: for t { for n { ... } } as for n { for t { ... } }.
 *
 * If steps are neighbours in memory and each iteration of the loop inside only continues what it wrote itself, a few
 * rows at a time run through memory instead of all rows in each step. What a step reads of the one before then stays in
 * registers: through memory it would wait for the store. build uses this for the loop over the steps.
 *
 * If only the last step is read in the end, the whole row stays in registers, wherever it lies: only the last step
 * stores.
 */
#include "lower/kernel/statements.h"

typedef struct ScanRows {
    Arena *arena;
    const Var *steps, *row;
    LIST(const Tensor *) own;
    LIST(const Expr *) reads;
    LIST(const Stmt *) stores;
    LIST(Substitution) inner; /* the row and each loop inside at 0 */
    bool other;               /* a statement that is not moved */
} ScanRows;

static bool has_tensor(const Tensor *const *list, int count, const Tensor *tensor) {
    for (int i = 0; i < count; i++)
        if (list[i] == tensor)
            return true;
    return false;
}

static void note_row(ScanRows *rows, const Stmt *stmt) {
    rows->other |= stmt->kind == STMT_CHECK || stmt->kind == STMT_PREFETCH;
    if (stmt->kind == STMT_ALLOCATE)
        list_push(rows->arena, &rows->own, stmt->tensor);
    if (stmt->kind == STMT_FOR)
        list_push(rows->arena, &rows->inner, ((Substitution){stmt->var, expr_int(rows->arena, 0)}));
    if (stmt->kind == STMT_STORE)
        list_push(rows->arena, &rows->stores, stmt);
    EACH_STMT_READ(read, stmt)
        list_push(rows->arena, &rows->reads, read);
}

/* How an index depends on the row: `times` the row, plus what loops outside decide, plus less than `times` from loops
 * inside. */
typedef struct RowIndex {
    int64_t times;
    Expr *outside;
} RowIndex;

static bool is_of_row(const ScanRows *rows, Expr *index, RowIndex *place) {
    Affine affine;
    Arena *arena = rows->arena;
    if (expr_uses_var(index, rows->steps) || expr_reads(index) || !expr_affine_modular(arena, index, &affine) ||
        !affine_coefficient(&affine, rows->row, &place->times) || place->times < 1)
        return false;
    Expr *first = expr_substitute(arena, index, rows->inner.items, 1);
    place->outside = expr_simplify(arena, expr_substitute(arena, index, rows->inner.items, rows->inner.count));
    Interval range = expr_interval(expr_simplify(arena, expr_binary(arena, OP_SUB, first, place->outside)));
    return range.has_low && range.has_high && range.low >= 0 && range.high < place->times;
}

/* Whether a row is the same part of the dimension in all accesses. */
static bool agrees(const ScanRows *rows, Expr *index, RowIndex *place) {
    RowIndex own;
    if (!is_of_row(rows, index, &own) ||
        (place->times && (own.times != place->times || !expr_equal(own.outside, place->outside))))
        return false;
    *place = own;
    return true;
}

/* Whether all accesses of the tensor tell by one dimension which row they are in. */
static bool rows_are_apart(const ScanRows *rows, const Tensor *tensor, int dimension) {
    RowIndex place = {0};
    for (int i = 0; i < rows->stores.count; i++)
        if (rows->stores.items[i]->tensor == tensor && !agrees(rows, rows->stores.items[i]->index[dimension], &place))
            return false;
    for (int i = 0; i < rows->reads.count; i++)
        if (rows->reads.items[i]->tensor == tensor && !agrees(rows, rows->reads.items[i]->args[dimension], &place))
            return false;
    return true;
}

/* The step must be the last index, and the row one before it. */
static bool runs_by_rows(const ScanRows *rows, const Stmt *store) {
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

/* --- what a step reads of the one before -------------------------------------------------------------------------- */

/* A store of a step, and the tensor that keeps what it stored in the step before. */
typedef struct KeptStore {
    const Stmt *store;
    int loops;    /* number of unrolled or vectorized loops around it */
    Tensor *kept; /* has a dimension for each of these */
    Expr **index; /* into that */
    bool found;   /* it is read */
} KeptStore;

typedef struct Carry {
    Arena *arena;
    const Var *steps;
    LIST(const Stmt *) loops; /* around the current statement */
    LIST(KeptStore) stores;   /* of the body, in order */
    int at;                   /* the store whose value is rewritten */
    bool other;               /* not just stores of several tensors under such loops and conditions on rows */
} Carry;

static KeptStore kept_store(const Carry *carry, const Stmt *store) {
    KeptStore made = {.store = store, .loops = carry->loops.count};
    int rank = made.loops > 0 ? made.loops : 1;
    made.kept = ARENA_NEW(carry->arena, Tensor);
    *made.kept = (Tensor){.name = arena_printf(carry->arena, "%s_before", store->tensor->name),
                          .type = store->tensor->type,
                          .role = ROLE_TEMPORARY,
                          .scope = SCOPE_REGISTER,
                          .rank = rank};
    made.kept->dims = ARENA_ARRAY(carry->arena, Expr *, rank);
    made.index = ARENA_ARRAY(carry->arena, Expr *, rank);
    made.kept->dims[0] = expr_int(carry->arena, 1);
    made.index[0] = expr_int(carry->arena, 0);
    for (int i = 0; i < made.loops; i++) {
        made.kept->dims[i] = carry->loops.items[i]->extent;
        made.index[i] = expr_var(carry->arena, carry->loops.items[i]->var);
    }
    return made;
}

static void find_carry(Carry *carry, const Stmt *stmt) {
    int64_t extent;
    bool loop = stmt->kind == STMT_FOR;
    if (stmt->kind == STMT_STORE) {
        carry->other |= stmt->guard || stmt->tensor->scope == SCOPE_REGISTER;
        for (int i = 0; i < carry->stores.count; i++)
            carry->other |= carry->stores.items[i].store->tensor == stmt->tensor;
        list_push(carry->arena, &carry->stores, kept_store(carry, stmt));
    } else if (loop) {
        carry->other |= !loop_kind_is_expanded(stmt->loop) || !expr_is_int(stmt->extent, &extent);
        list_push(carry->arena, &carry->loops, stmt);
    } else if (stmt->kind == STMT_IF) {
        carry->other |=
            stmt->otherwise_count > 0 || expr_uses_var(stmt->condition, carry->steps) || expr_reads(stmt->condition);
    } else {
        carry->other |= stmt->kind != STMT_BLOCK;
    }
    for (int i = 0; i < stmt->count; i++)
        find_carry(carry, stmt->body[i]);
    carry->loops.count -= loop;
}

/* Whether the read is of the element that the store wrote one step before. Where no index of the store is the step,
 * there is a single step: what is read was there before. */
static bool is_of_last_step(const Carry *carry, const Stmt *store, const Expr *read) {
    Affine affine;
    bool steps = false;
    if (read->kind != EXPR_READ || read->tensor != store->tensor)
        return false;
    for (int d = 0; d < read->count; d++) {
        Expr *stored = store->index[d], *from = read->args[d];
        bool step = stored->kind == EXPR_VAR && stored->var == carry->steps;
        if (!step && (expr_uses_var(stored, carry->steps) || expr_reads(stored)))
            return false;
        if (!expr_affine_modular(carry->arena, expr_binary(carry->arena, OP_SUB, stored, from), &affine) ||
            affine.count > 0 || affine.constant != step)
            return false;
        steps |= step;
    }
    return steps;
}

/* Replaces a read of what this or a later store of the step wrote one step before. */
static Expr *keep_read(Arena *arena, Expr *e, void *context) {
    Carry *carry = context;
    for (int i = carry->at; i < carry->stores.count; i++) {
        KeptStore *of = &carry->stores.items[i];
        if ((i > carry->at && of->loops > 0) || !is_of_last_step(carry, of->store, e))
            continue;
        of->found = true;
        Expr *kept = expr_read(arena, of->kept, of->index, NULL);
        return e->guard ? expr_select(arena, e->guard, kept, expr_constant(arena, e->type, 0)) : kept;
    }
    return e;
}

/* Puts the kept value second in a min or max: the NaN test of the first does not wait for it. */
static Expr *kept_second(Arena *arena, Expr *e, void *context) {
    const Carry *carry = context;
    bool kept[2] = {false, false};
    if (e->kind != EXPR_OP || (e->op != OP_MIN && e->op != OP_MAX))
        return e;
    for (int i = 0; i < carry->stores.count; i++)
        for (int k = 0; k < 2; k++)
            kept[k] |= expr_uses_tensor(e->args[k], carry->stores.items[i].kept);
    return kept[0] && !kept[1] ? expr_binary(arena, e->op, e->args[1], e->args[0]) : e;
}

static Expr *with_kept_reads(Carry *carry, Expr *value) {
    value = expr_rewrite(carry->arena, value, keep_read, carry);
    return expr_rewrite(carry->arena, value, kept_second, carry);
}

/* Makes the next store two: to the kept tensor, and from there. */
static Stmt *store_both(Arena *arena, Stmt *stmt, void *context) {
    if (stmt->kind != STMT_STORE)
        return stmt_map_bodies(arena, stmt, store_both, context);
    Carry *carry = context;
    StmtList list = {0};
    KeptStore *of = &carry->stores.items[carry->at];
    Expr *value = with_kept_reads(carry, stmt->value);
    carry->at++;
    if (of->found) {
        stmts_add(arena, &list, stmt_store(arena, of->kept, of->index, of->kept->rank, value, NULL, stmt->loc));
        value = expr_read(arena, of->kept, of->index, NULL);
    }
    stmts_add(arena, &list, stmt_store(arena, stmt->tensor, stmt->index, stmt->index_count, value, NULL, stmt->loc));
    return stmt_block(arena, list);
}

static Stmt *carry_steps(Arena *arena, Stmt *steps) {
    Carry carry = {.arena = arena, .steps = steps ? steps->var : NULL};
    if (!steps || steps->kind != STMT_FOR || steps->loop != LOOP_SERIAL)
        return steps;
    for (int i = 0; i < steps->count; i++)
        find_carry(&carry, steps->body[i]);
    if (carry.other)
        return steps;
    StmtList body = stmts_map(arena, steps->body, steps->count, store_both, &carry);
    Stmt *made = stmt_for_like(arena, steps, steps->extent, body);
    bool any = false;
    for (int i = carry.stores.count - 1; i >= 0; i--) {
        const KeptStore *store = &carry.stores.items[i];
        any |= store->found;
        made = store->found ? stmt_allocate(arena, store->kept, stmts_one(arena, made)) : made;
    }
    return any ? made : steps;
}

/* --- rows of which the last step is left -------------------------------------------------------------------------- */

/* The statement with its stores replaced. */
static Stmt *replace_store(Arena *arena, Stmt *stmt, void *store) {
    return stmt->kind == STMT_STORE ? store : stmt_map_bodies(arena, stmt, replace_store, store);
}

/* A store of the rows' last step, after the steps. */
static Stmt *store_last(Arena *arena, const KeptStore *of, int dimension, Expr *steps) {
    const Stmt *store = of->store;
    Expr **index = ARENA_ARRAY(arena, Expr *, store->index_count);
    for (int d = 0; d < store->index_count; d++)
        index[d] = d == dimension ? expr_binary(arena, OP_SUB, steps, expr_int(arena, 1)) : store->index[d];
    Expr *kept = expr_read(arena, of->kept, of->index, NULL);
    return stmt_store(arena, store->tensor, index, store->index_count, kept, NULL, store->loc);
}

/* The loop over the steps for the rows of one iteration of the loops outside. */
static Stmt *steps_of_rows(Arena *arena, Stmt *steps, const Tensor *tensor, int dimension, Stmt *const *rows,
                           int count) {
    Carry carry = {.arena = arena, .steps = steps->var};
    for (int i = 0; i < count; i++)
        find_carry(&carry, rows[i]);
    if (carry.other || carry.stores.count != 1 || carry.stores.items[0].store->tensor != tensor)
        return NULL;
    const KeptStore *of = &carry.stores.items[0];
    EACH_READ(read, of->store->value)
        if (read->tensor == tensor && !is_of_last_step(&carry, of->store, read))
            return NULL;
    Expr *value = with_kept_reads(&carry, of->store->value);
    Stmt *keep = stmt_store(arena, of->kept, of->index, of->kept->rank, value, NULL, of->store->loc);
    StmtList body = stmts_map(arena, rows, count, replace_store, keep), life = {0};
    stmts_add(arena, &life, stmt_for_like(arena, steps, steps->extent, body));
    body = stmts_map(arena, rows, count, replace_store, store_last(arena, of, dimension, steps->extent));
    stmts_add_all(arena, &life, body.items, body.count);
    return stmt_allocate(arena, of->kept, life);
}

/* Moves loops around the rows that stay in registers together to the outside of the steps. */
static Stmt *steps_inside(Arena *arena, Stmt *steps, const Tensor *tensor, int dimension, Stmt *const *body,
                          int count) {
    Stmt *row = count == 1 && body[0]->kind == STMT_FOR ? body[0] : NULL;
    if (!row || loop_kind_is_expanded(row->loop))
        return steps_of_rows(arena, steps, tensor, dimension, body, count);
    if (row->var->reduction || expr_uses_var(row->extent, steps->var) || expr_reads(row->extent))
        return NULL;
    Stmt *made = steps_inside(arena, steps, tensor, dimension, row->body, row->count);
    return made ? stmt_for_like(arena, row, row->extent, stmts_one(arena, made)) : NULL;
}

Stmt *scan_to_last(Arena *arena, Stmt *steps, const Tensor *tensor, int dimension) {
    return steps->loop == LOOP_SERIAL ? steps_inside(arena, steps, tensor, dimension, steps->body, steps->count) : NULL;
}

/* --- the loop over the steps -------------------------------------------------------------------------------------- */

Stmt *scan_by_rows(Arena *arena, Stmt *steps) {
    Stmt *row = steps && steps->kind == STMT_FOR && steps->count == 1 ? steps->body[0] : NULL;
    if (!row || steps->loop != LOOP_SERIAL || row->kind != STMT_FOR || row->loop != LOOP_SERIAL ||
        row->var->reduction || expr_uses_var(row->extent, steps->var) || expr_reads(row->extent))
        return carry_steps(arena, steps);
    ScanRows rows = {.arena = arena, .steps = steps->var, .row = row->var};
    list_push(arena, &rows.inner, ((Substitution){row->var, expr_int(arena, 0)}));
    EACH_STMT_OF(s, row->body, row->count)
        note_row(&rows, s);
    int64_t one = 0;
    bool once = expr_is_int(row->extent, &one) && one == 1;
    for (int i = 0; i < rows.stores.count && !once; i++)
        if (rows.other || !runs_by_rows(&rows, rows.stores.items[i]))
            return steps;
    StmtList body = stmts_of(row->body, row->count), inner = {0};
    stmts_add(arena, &inner, scan_by_rows(arena, stmt_for_like(arena, steps, steps->extent, body)));
    return stmt_for_like(arena, row, row->extent, inner);
}
