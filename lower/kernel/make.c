/* make.c - making, walking and rewriting statements.
 *
 * Keeps true: bodies hold no blocks and no statements without effect; no IF has a constant condition; rewriting returns
 * the statement itself if nothing changes.
 */
#include "lower/kernel/statements.h"
#include <string.h>

/* --- making ------------------------------------------------------------------------------------------------------- */

static Stmt *make(Arena *arena, StmtKind kind, Loc loc) {
    Stmt *stmt = ARENA_NEW(arena, Stmt);
    stmt->kind = kind;
    stmt->loc = loc;
    return stmt;
}

void stmts_add(Arena *arena, StmtList *list, Stmt *stmt) {
    if (!stmt)
        return;
    if (stmt->kind == STMT_BLOCK)
        stmts_add_all(arena, list, stmt->body, stmt->count);
    else
        list_push(arena, list, stmt);
}

void stmts_add_all(Arena *arena, StmtList *list, Stmt *const *stmts, int count) {
    for (int i = 0; i < count; i++)
        stmts_add(arena, list, stmts[i]);
}

Expr *rename_read(Arena *arena, Expr *e, void *context) {
    const Renaming *renaming = context;
    if (e->kind != EXPR_READ || e->tensor != renaming->from)
        return e;
    Expr *read = expr_copy(arena, e);
    read->tensor = renaming->to;
    return read;
}

StmtList stmts_of(Stmt *const *stmts, int count) {
    return (StmtList){(Stmt **)stmts, count, count};
}

StmtList stmts_one(Arena *arena, Stmt *stmt) {
    StmtList list = {0};
    stmts_add(arena, &list, stmt);
    return list;
}

void stmts_add_next(Arena *arena, StmtList *list, Stmt *const *body, int next, Stmt *made) {
    if (made == body[next] && list->items == body && list->count == next)
        *list = stmts_of(body, next + 1);
    else
        stmts_add(arena, list, made);
}

static void set_body(Stmt *stmt, StmtList body) {
    stmt->body = body.items;
    stmt->count = body.count;
}

Stmt *stmt_block(Arena *arena, StmtList body) {
    Stmt *stmt = make(arena, STMT_BLOCK, (Loc){0});
    set_body(stmt, body);
    return stmt;
}

Stmt *stmt_for(Arena *arena, const Var *var, Expr *extent, LoopKind loop, StmtList body, Loc loc) {
    int64_t constant;
    if (body.count == 0 || (expr_is_int(extent, &constant) && constant <= 0))
        return NULL;
    Stmt *stmt = make(arena, STMT_FOR, loc);
    stmt->var = var;
    stmt->extent = extent;
    stmt->loop = loop;
    set_body(stmt, body);
    return stmt;
}

Stmt *stmt_for_like(Arena *arena, const Stmt *loop, Expr *extent, StmtList body) {
    Stmt *made = stmt_for(arena, loop->var, extent, loop->loop, body, loop->loc);
    if (made) {
        made->masked = loop->masked;
        made->in_lanes = loop->in_lanes;
    }
    return made;
}

Stmt *stmt_if(Arena *arena, Expr *condition, StmtList body, StmtList otherwise, Loc loc) {
    int64_t constant;
    if (expr_is_int(condition, &constant))
        return stmt_block(arena, constant ? body : otherwise);
    if (body.count == 0 && otherwise.count == 0)
        return NULL;
    Stmt *stmt = make(arena, STMT_IF, loc);
    stmt->condition = condition;
    set_body(stmt, body);
    stmt->otherwise = otherwise.items;
    stmt->otherwise_count = otherwise.count;
    return stmt;
}

Stmt *stmt_if_like(Arena *arena, const Stmt *like, Expr *condition, StmtList body, StmtList otherwise) {
    Stmt *stmt = stmt_if(arena, condition, body, otherwise, like->loc);
    if (stmt && stmt->kind == STMT_IF)
        stmt->keeps = like->keeps;
    return stmt;
}

Stmt *stmt_store(Arena *arena, const Tensor *tensor, Expr **index, int index_count, Expr *value, Expr *guard, Loc loc) {
    Stmt *stmt = make(arena, STMT_STORE, loc);
    stmt->tensor = tensor;
    stmt->index = index;
    stmt->index_count = index_count;
    stmt->value = value;
    stmt->guard = guard;
    return stmt;
}

Stmt *stmt_together(Arena *arena, StmtList stores, Loc loc) {
    if (stores.count < 2)
        return stores.count ? stores.items[0] : NULL;
    Stmt *stmt = make(arena, STMT_TOGETHER, loc);
    set_body(stmt, stores);
    return stmt;
}

Stmt *stmt_allocate(Arena *arena, const Tensor *tensor, StmtList body) {
    if (body.count == 0)
        return NULL;
    Stmt *stmt = make(arena, STMT_ALLOCATE, tensor->loc);
    stmt->tensor = tensor;
    set_body(stmt, body);
    return stmt;
}

Stmt *stmt_check(Arena *arena, Expr *condition, int status, Loc loc) {
    Stmt *stmt = make(arena, STMT_CHECK, loc);
    stmt->condition = condition;
    stmt->status = status;
    return stmt;
}

Stmt *stmt_prefetch(Arena *arena, const Tensor *tensor, Expr **index, int index_count, bool far, Loc loc) {
    Stmt *stmt = make(arena, STMT_PREFETCH, loc);
    stmt->far = far;
    stmt->tensor = tensor;
    stmt->index = index;
    stmt->index_count = index_count;
    return stmt;
}

Stmt *stmt_step(Arena *arena) {
    return make(arena, STMT_STEP, (Loc){0});
}

Stmt *stmt_shared(Arena *arena, const SharedNest *nest, const Tensor **tensors, Expr **numbers, const Map *own,
                  Loc loc) {
    Stmt *stmt = make(arena, STMT_SHARED, loc);
    stmt->shared = nest;
    stmt->tensors = tensors;
    stmt->numbers = numbers;
    stmt->own = own;
    return stmt;
}

static bool same_body(StmtList list, Stmt *const *body, int count) {
    return list.count == count &&
           (count == 0 || list.items == body || !memcmp(list.items, body, sizeof *body * (size_t)count));
}

Stmt *stmt_with_bodies(Arena *arena, Stmt *stmt, StmtList body, StmtList otherwise) {
    if (same_body(body, stmt->body, stmt->count) && same_body(otherwise, stmt->otherwise, stmt->otherwise_count))
        return stmt;
    switch (stmt->kind) {
    case STMT_BLOCK: return stmt_block(arena, body);
    case STMT_FOR: return stmt_for_like(arena, stmt, stmt->extent, body);
    case STMT_IF: return stmt_if_like(arena, stmt, stmt->condition, body, otherwise);
    case STMT_ALLOCATE: return stmt_allocate(arena, stmt->tensor, body);
    case STMT_TOGETHER: return stmt_together(arena, body, stmt->loc);
    default: return stmt;
    }
}

/* --- walking and rewriting ---------------------------------------------------------------------------------------- */

Stmt *stmt_next(TreeWalk *walk) {
    const Stmt *stmt = walk->at;
    for (int i = stmt ? stmt->otherwise_count - 1 : -1; i >= 0; i--)
        walk_push(walk, stmt->otherwise[i]);
    for (int i = stmt ? stmt->count - 1 : -1; i >= 0; i--)
        walk_push(walk, stmt->body[i]);
    return (Stmt *)walk_next(walk);
}

TreeWalk *stmts_walk(TreeWalk *walk, Stmt *const *stmts, int count) {
    walk_begin(walk, NULL);
    while (count)
        walk_push(walk, stmts[--count]);
    return walk;
}

TreeWalk *stmt_walk_exprs(TreeWalk *walk, const Stmt *stmt) {
    walk_begin(walk, NULL);
    for (int i = stmt->index_count - 1; i >= 0; i--)
        walk_push(walk, stmt->index[i]);
    walk_push(walk, stmt->guard);
    walk_push(walk, stmt->value);
    walk_push(walk, stmt->condition);
    walk_push(walk, stmt->extent);
    return walk;
}

bool stores_registers(Stmt *const *stmts, int count) {
    EACH_STMT_OF(s, stmts, count)
        if (s->kind == STMT_STORE && s->tensor->scope == SCOPE_REGISTER)
            return true;
    return false;
}

StmtList stmts_map(Arena *arena, Stmt *const *body, int count, ReplaceStmt *replace, void *context) {
    StmtList list = stmts_of(body, 0);
    for (int i = 0; i < count; i++)
        stmts_add_next(arena, &list, body, i, replace(arena, body[i], context));
    return list;
}

Stmt *stmt_map_bodies(Arena *arena, Stmt *stmt, ReplaceStmt *replace, void *context) {
    if (!stmt->count && !stmt->otherwise_count)
        return stmt;
    StmtList body = stmts_map(arena, stmt->body, stmt->count, replace, context);
    StmtList otherwise = stmts_map(arena, stmt->otherwise, stmt->otherwise_count, replace, context);
    return stmt_with_bodies(arena, stmt, body, otherwise);
}

static Expr *map_expr(Arena *arena, Expr *e, ReplaceExpr *replace, void *context, bool *changed) {
    Expr *made = e ? replace(arena, e, context) : NULL;
    *changed |= made != e;
    return made;
}

Stmt *stmt_over_exprs(Arena *arena, Stmt *stmt, ReplaceExpr *replace, void *context) {
    bool changed = false;
    Stmt copy = *stmt;
    copy.extent = map_expr(arena, stmt->extent, replace, context, &changed);
    copy.condition = map_expr(arena, stmt->condition, replace, context, &changed);
    copy.value = map_expr(arena, stmt->value, replace, context, &changed);
    copy.guard = map_expr(arena, stmt->guard, replace, context, &changed);
    if (stmt->index_count) {
        copy.index = ARENA_ARRAY(arena, Expr *, stmt->index_count);
        for (int i = 0; i < stmt->index_count; i++)
            copy.index[i] = map_expr(arena, stmt->index[i], replace, context, &changed);
    }
    if (!changed)
        return stmt;
    Stmt *made = ARENA_NEW(arena, Stmt);
    *made = copy;
    return made;
}

/* Removes a store with a false guard, an empty loop, an IF that is decided. */
static Stmt *settle(Arena *arena, Stmt *stmt) {
    StmtList body = stmts_of(stmt->body, stmt->count);
    int64_t constant;
    if (stmt->kind == STMT_FOR)
        return expr_is_int(stmt->extent, &constant) && constant <= 0 ? NULL : stmt;
    if (stmt->kind == STMT_CHECK && expr_is_int(stmt->condition, &constant) && constant)
        return NULL;
    if (stmt->kind == STMT_IF && expr_is_int(stmt->condition, NULL))
        return stmt_if(arena, stmt->condition, body, stmts_of(stmt->otherwise, stmt->otherwise_count), stmt->loc);
    if (stmt->kind == STMT_STORE && stmt->guard && expr_is_int(stmt->guard, &constant))
        return constant ? stmt_store(arena, stmt->tensor, stmt->index, stmt->index_count, stmt->value, NULL, stmt->loc)
                        : NULL;
    return stmt;
}

typedef struct StmtRewriting {
    ReplaceExpr *replace;
    void *context;
} StmtRewriting;

static Expr *rewrite_expr(Arena *arena, Expr *e, void *context) {
    const StmtRewriting *rewriting = context;
    return expr_rewrite(arena, e, rewriting->replace, rewriting->context);
}

static Stmt *rewrite_stmt(Arena *arena, Stmt *stmt, void *context) {
    stmt = stmt_over_exprs(arena, stmt, rewrite_expr, context);
    stmt = stmt_map_bodies(arena, stmt, rewrite_stmt, context);
    return stmt ? settle(arena, stmt) : NULL;
}

StmtList stmts_rewrite(Arena *arena, StmtList body, ReplaceExpr *replace, void *context) {
    StmtRewriting rewriting = {replace, context};
    return stmts_map(arena, body.items, body.count, rewrite_stmt, &rewriting);
}

Expr *expr_over_reads(ReadMapping *mapping, Expr *e) {
    Expr *guard = e->guard ? expr_map_reads(mapping, e->guard) : NULL, *made = e;
    for (int i = 0; i < e->count; i++) {
        Expr *arg = expr_map_reads(mapping, e->args[i]);
        made = arg != e->args[i] && made == e ? expr_copy(mapping->arena, e) : made;
        made->args[i] = arg;
    }
    made = guard != e->guard && made == e ? expr_copy(mapping->arena, e) : made;
    made->guard = guard;
    return made;
}

Expr *expr_map_reads(ReadMapping *mapping, Expr *e) {
    if (!e->count && e->kind != EXPR_READ)
        return e;
    Expr *made = address_map_get(&mapping->done, e);
    if (!made) {
        made = e->kind == EXPR_READ ? mapping->replace(mapping, e) : expr_over_reads(mapping, e);
        address_map_set(mapping->arena, &mapping->done, e, made);
    }
    return made;
}

Expr *expr_read_at(Arena *arena, Expr *read, Expr *index, Expr *guard) {
    if (index == read->args[0] && guard == read->guard)
        return read;
    Expr *made = expr_copy(arena, read);
    made->args[0] = index;
    made->guard = guard;
    return made;
}

int expr_depth(const Expr *e, const Var *const *loops, int count) {
    int deepest = 0;
    EACH_EXPR(at, e) {
        int depth = at->kind == EXPR_READ ? count : 0;
        for (int i = count; at->kind == EXPR_VAR && i > depth; i--)
            if (loops[i - 1] == at->var)
                depth = i;
        deepest = depth > deepest ? depth : deepest;
    }
    return deepest;
}

static Expr *substitute(Arena *arena, Expr *e, void *context) {
    return expr_substitute(arena, e, context, 1);
}

/* The loop over a variable of its own, which has that bound. */
static Stmt *with_bound(Arena *arena, const Stmt *loop, Expr *bound) {
    Var *var = ARENA_NEW(arena, Var);
    *var = *loop->var;
    var->extent = bound;
    Stmt *made = ARENA_NEW(arena, Stmt);
    *made = *loop;
    made->var = var;
    set_body(made, stmts_substitute(arena, stmts_of(loop->body, loop->count), loop->var, expr_var(arena, var)));
    return made;
}

static Stmt *substitute_stmt(Arena *arena, Stmt *stmt, void *context) {
    const Substitution *substitution = context;
    Expr *bound = stmt->kind == STMT_FOR ? stmt->var->extent : NULL;
    if (bound && expr_uses_var(bound, substitution->var))
        stmt = with_bound(arena, stmt, expr_simplify(arena, expr_substitute(arena, bound, substitution, 1)));
    stmt = stmt_over_exprs(arena, stmt, substitute, context);
    stmt = stmt_map_bodies(arena, stmt, substitute_stmt, context);
    return stmt ? settle(arena, stmt) : NULL;
}

Stmt *stmt_substitute(Arena *arena, Stmt *stmt, const Var *var, Expr *value) {
    return substitute_stmt(arena, stmt, &(Substitution){var, value});
}

StmtList stmts_substitute(Arena *arena, StmtList body, const Var *var, Expr *value) {
    return stmts_map(arena, body.items, body.count, substitute_stmt, &(Substitution){var, value});
}

/* --- conditions --------------------------------------------------------------------------------------------------- */

void conjuncts_add(Arena *arena, ExprList *list, Expr *condition) {
    int64_t constant;
    if (expr_is_op(condition, OP_AND)) {
        conjuncts_add(arena, list, condition->args[0]);
        conjuncts_add(arena, list, condition->args[1]);
    } else if (!expr_is_int(condition, &constant) || !constant) {
        list_push(arena, list, condition);
    }
}

Expr *expr_and(Arena *arena, Expr *a, Expr *b) {
    return a && b ? expr_binary(arena, OP_AND, a, b) : a ? a : b;
}

Expr *conjunction(Arena *arena, const ExprList *list) {
    Expr *all = NULL;
    for (int i = 0; i < list->count; i++)
        all = expr_and(arena, all, list->items[i]);
    return all ? all : expr_bool(arena, true);
}

/* --- sizes of expressions ----------------------------------------------------------------------------------------- */

void index_bounds(Arena *arena, const Tensor *tensor, int dimension, Expr *index, Expr *bounds[2]) {
    bounds[0] = expr_binary(arena, OP_GE, index, expr_int(arena, 0));
    bounds[1] = expr_binary(arena, OP_LT, index, tensor->dims[dimension]);
}

Expr *expr_compact(Arena *arena, Expr *e) {
    Expr *simple = expr_simplify(arena, e);
    return simple == e || expr_nodes(simple) <= expr_nodes(e) + 2 ? simple : e;
}
