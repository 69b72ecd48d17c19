/* simplify.c - pass: small and canonical expressions, and no statement without effect.
 *
 * Needs scalar expressions, before unroll, while they are few; offsets are simple already. Removes loops that run once
 * or never, and conditions that the variables' ranges decide. Checks of sizes stay: a size is known not to be negative
 * only because they say so.
 */
#include "lower/kernel/passes/passes.h"
#include "lower/kernel/statements.h"

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

enum { LONG_CONDITION = 512 /* nodes */ };

/* Each part of a condition is simplified before the whole: where it is long, that alone. Otherwise all would be looked
 * at again for each. */
static bool is_long_condition(const Expr *e) {
    bool joins = expr_is_op(e, OP_AND) || expr_is_op(e, OP_OR);
    return joins && !expr_is_int(e->args[0], NULL) && !expr_is_int(e->args[1], NULL) &&
           expr_is_larger(e, LONG_CONDITION);
}

/* Conditions and indices used as values; offsets stay in their order. */
static Expr *simplify_node(Arena *arena, Expr *e, void *context) {
    (void)context;
    if (e->kind == EXPR_READ)
        return simplify_read(arena, e);
    if (e->kind == EXPR_OP && e->type == TYPE_BOOL)
        return is_long_condition(e) ? e : expr_compact(arena, e);
    if (e->kind == EXPR_CAST && e->args[0]->type == TYPE_INT64 && e->args[0]->kind == EXPR_OP)
        return expr_cast(arena, e->type, expr_compact(arena, e->args[0]));
    return e;
}

static Expr *simplify_value(Arena *arena, Expr *e) {
    return expr_rewrite(arena, e, simplify_node, NULL);
}

static Stmt *simplify_stmt(Arena *arena, Stmt *stmt, void *context);

static Stmt *simplify_loop(Arena *arena, Stmt *loop) {
    int64_t constant;
    StmtList body = stmts_of(loop->body, loop->count);
    Expr *extent = expr_compact(arena, loop->extent);
    bool once = expr_is_int(extent, &constant) && constant == 1;
    if (once)
        body = stmts_substitute(arena, body, loop->var, expr_int(arena, 0));
    body = stmts_map(arena, body.items, body.count, simplify_stmt, NULL);
    return once ? stmt_block(arena, body) : stmt_for_like(arena, loop, extent, body);
}

static Stmt *simplify_store(Arena *arena, Stmt *stmt) {
    Expr *value = simplify_value(arena, stmt->value);
    return stmt_store(arena, stmt->tensor, stmt->index, stmt->index_count, value, stmt->guard, stmt->loc);
}

static Stmt *simplify_stmt(Arena *arena, Stmt *stmt, void *context) {
    if (stmt->kind == STMT_CHECK && stmt->status == STATUS_BAD_SIZE)
        return stmt;
    if (stmt->kind == STMT_CHECK)
        return stmt_check(arena, simplify_value(arena, stmt->condition), stmt->status, stmt->loc);
    if (stmt->kind == STMT_FOR)
        return simplify_loop(arena, stmt);
    if (stmt->kind == STMT_STORE)
        return simplify_store(arena, stmt);
    if (stmt->kind != STMT_IF)
        return stmt_map_bodies(arena, stmt, simplify_stmt, context);
    StmtList body = stmts_map(arena, stmt->body, stmt->count, simplify_stmt, context);
    StmtList otherwise = stmts_map(arena, stmt->otherwise, stmt->otherwise_count, simplify_stmt, context);
    return stmt_if_like(arena, stmt, simplify_value(arena, stmt->condition), body, otherwise);
}

void pass_simplify(Kernel *kernel) {
    kernel->body = simplify_stmt(kernel->arena, kernel->body, NULL);
}
