/* kernel_simplify.c - pass: small and canonical expressions, and no statement that does nothing.
 *
 * Needs scalar indices (before flatten and unroll, while expressions are few). Loops that run once or never disappear;
 * conditions that the ranges of the variables decide too. Checks of sizes stay as they are: what is known of a size, that
 * it is not negative, holds because they say so.
 */
#include "lower/passes.h"

static Expr *simplify_expr(Arena *arena, Expr *e, void *context) {
    (void)context;
    return expr_simplify(arena, e);
}

static StmtList simplify_body(Arena *arena, Stmt *const *body, int count);

static Stmt *simplify_stmt(Arena *arena, Stmt *stmt) {
    int64_t extent;
    if (stmt->kind == STMT_CHECK && stmt->status == STATUS_BAD_SIZE)
        return stmt;
    if (stmt->kind == STMT_FOR) {
        Expr *simple = expr_simplify(arena, stmt->extent);
        if (expr_is_int(simple, &extent) && extent == 1) {
            Stmt *once = stmt_substitute(arena, stmt_block(arena, stmts_of(stmt->body, stmt->count)), stmt->var, expr_int(arena, 0));
            return once ? stmt_block(arena, simplify_body(arena, once->body, once->count)) : NULL;
        }
        StmtList body = simplify_body(arena, stmt->body, stmt->count);
        if (simple == stmt->extent)
            return stmt_with_bodies(arena, stmt, body, (StmtList){0});
        return stmt_for(arena, stmt->var, simple, stmt->loop, body, stmt->loc);
    }
    StmtList body = simplify_body(arena, stmt->body, stmt->count);
    StmtList otherwise = simplify_body(arena, stmt->otherwise, stmt->otherwise_count);
    Stmt *made = stmt_with_bodies(arena, stmt, body, otherwise);
    return made ? stmt_map_own_exprs(arena, made, simplify_expr, NULL) : NULL;
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
