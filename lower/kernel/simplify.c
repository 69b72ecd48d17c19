/* simplify.c - pass: small and canonical expressions, and no statement without effect.
 *
 * Needs scalar expressions, before unroll, while they are few; offsets are simple already. Removes loops that run once
 * or never, and conditions that the variables' ranges decide. Checks of sizes stay: a size is known not to be negative
 * only because they say so.
 */
#include "lower/kernel/passes.h"

static Expr *simplify_read(Arena *arena, Expr *e) {
    int64_t holds;
    Expr *guard = e->guard ? expr_compact(arena, e->guard) : NULL;
    if (guard == e->guard)
        return e;
    bool decided = expr_is_int(guard, &holds);
    if (decided && !holds)
        return expr_constant(arena, e->type, 0);
    Expr *read = expr_copy(arena, e);
    read->guard = decided ? NULL : guard;
    return read;
}

/* Conditions and indices used as values; offsets stay in their order. */
static Expr *simplify_node(Arena *arena, Expr *e, void *context) {
    (void)context;
    if (e->kind == EXPR_READ)
        return simplify_read(arena, e);
    if (e->kind == EXPR_OP && e->type == TYPE_BOOL)
        return expr_compact(arena, e);
    if (e->kind == EXPR_CAST && e->args[0]->type == TYPE_INT64 && e->args[0]->kind == EXPR_OP)
        return expr_cast(arena, e->type, expr_compact(arena, e->args[0]));
    return e;
}

static Expr *simplify_value(Arena *arena, Expr *e) {
    return expr_rewrite(arena, e, simplify_node, NULL);
}

static StmtList simplify_body(Arena *arena, Stmt *const *body, int count);

static Stmt *simplify_loop(Arena *arena, Stmt *loop) {
    int64_t constant;
    StmtList body = stmts_of(loop->body, loop->count);
    Expr *extent = expr_compact(arena, loop->extent);
    if (expr_is_int(extent, &constant) && constant == 1) {
        Stmt *once = stmt_substitute(arena, stmt_block(arena, body), loop->var, expr_int(arena, 0));
        return once ? stmt_block(arena, simplify_body(arena, once->body, once->count)) : NULL;
    }
    body = simplify_body(arena, loop->body, loop->count);
    return stmt_for_like(arena, loop, extent, body);
}

static Stmt *simplify_store(Arena *arena, Stmt *stmt) {
    Expr *value = simplify_value(arena, stmt->value);
    return stmt_store(arena, stmt->tensor, stmt->index, stmt->index_count, value, stmt->guard, stmt->loc);
}

static Stmt *simplify_stmt(Arena *arena, Stmt *stmt) {
    if (stmt->kind == STMT_CHECK && stmt->status == STATUS_BAD_SIZE)
        return stmt;
    if (stmt->kind == STMT_CHECK)
        return stmt_check(arena, simplify_value(arena, stmt->condition), stmt->status, stmt->loc);
    if (stmt->kind == STMT_FOR)
        return simplify_loop(arena, stmt);
    if (stmt->kind == STMT_STORE)
        return simplify_store(arena, stmt);
    StmtList body = simplify_body(arena, stmt->body, stmt->count);
    StmtList otherwise = simplify_body(arena, stmt->otherwise, stmt->otherwise_count);
    if (stmt->kind == STMT_IF)
        return stmt_if_like(arena, stmt, simplify_value(arena, stmt->condition), body, otherwise);
    return stmt_with_bodies(arena, stmt, body, otherwise);
}

static StmtList simplify_body(Arena *arena, Stmt *const *body, int count) {
    StmtList list = {0};
    for (int i = 0; i < count; i++)
        stmts_add(arena, &list, simplify_stmt(arena, body[i]));
    return list;
}

void pass_simplify(Kernel *kernel) {
    kernel->body = stmt_block(kernel->arena, simplify_body(kernel->arena, kernel->body->body, kernel->body->count));
}
