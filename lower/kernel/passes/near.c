/* near.c - remainders by run-time sizes, where a test says that they go round once at most, become sums: divisions take
 * 10 to 40 cycles.
 *
 * Needs the tests that version.c made of what within.c says, and row ends found. Keeps true: every index is the same.
 */
#include "lower/kernel/passes/passes.h"
#include "lower/kernel/statements.h"

static bool holds(Arena *arena, const Facts *tests, Op op, Expr *a, Expr *b) {
    return expr_prove(arena, expr_binary(arena, op, a, b), tests) == 1;
}

/* e % n for e in -n:2n. */
static Expr *round_once(Arena *arena, Expr *e, Expr *n) {
    Expr *zero = expr_int(arena, 0), *below = expr_binary(arena, OP_LT, e, zero);
    Expr *above = expr_binary(arena, OP_GE, e, n);
    Expr *down = expr_select(arena, above, expr_binary(arena, OP_SUB, e, n), e);
    return expr_select(arena, below, expr_binary(arena, OP_ADD, e, n), down);
}

static Expr *replace(Arena *arena, Expr *e, void *context) {
    const Facts *tests = context;
    if (!expr_is_op(e, OP_MOD) || e->type != TYPE_INT64 || e->lanes > 1 || e->args[1]->kind == EXPR_INT)
        return e;
    Expr *number = e->args[0], *period = expr_without_least_one(e->args[1]); /* the test fails where it is less */
    Expr *twice = expr_binary(arena, OP_MUL, expr_int(arena, 2), period);
    bool near = holds(arena, tests, OP_GE, expr_binary(arena, OP_ADD, number, period), expr_int(arena, 0)) &&
                holds(arena, tests, OP_LT, number, twice);
    return near ? round_once(arena, number, period) : e;
}

static Expr *rewrite(Arena *arena, Expr *e, void *context) {
    return expr_rewrite(arena, e, replace, context);
}

/* context: the tests around the statement. */
static Stmt *near_of(Arena *arena, Stmt *stmt, void *context) {
    const Facts *around = context;
    if (around->count)
        stmt = stmt_over_exprs(arena, stmt, rewrite, context);
    if (stmt->kind != STMT_IF)
        return stmt_map_bodies(arena, stmt, near_of, context);
    ExprList facts = {0};
    for (int f = 0; f < around->count; f++)
        list_push(arena, &facts, around->facts[f]);
    conjuncts_add(arena, &facts, stmt->condition);
    Facts inside = {facts.count, facts.items};
    StmtList body = stmts_map(arena, stmt->body, stmt->count, near_of, &inside);
    StmtList otherwise = stmts_map(arena, stmt->otherwise, stmt->otherwise_count, near_of, context);
    return stmt_with_bodies(arena, stmt, body, otherwise);
}

void remainders_near_ends(Kernel *kernel) {
    if (kernel->near_ends)
        kernel->body = near_of(kernel->arena, kernel->body, &(Facts){0});
}
