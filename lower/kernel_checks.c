/* kernel_checks.c - loops over what a call has to satisfy: indices that are read are compared in lanes. Used by build.
 */
#include "lower/passes.h"

/* A read whose index is read need not be inside where what comes before it in the condition fails. */
static bool reads_by_reads(const Expr *e, void *context) {
    bool *found = context;
    for (int i = 0; e->kind == EXPR_READ && i < e->count; i++)
        *found |= expr_reads(e->args[i]);
    return !*found;
}

Stmt *check_all(Arena *arena, const Target *target, Stmt *check, const Var *var) {
    StmtList body = {0}, lanes = {0}, vectors = {0}, rest = {0}, list = {0};
    int64_t count = target_lanes(target, TYPE_INT32), extent;
    bool nested = false;
    if (check->kind == STMT_CHECK)
        expr_walk(check->condition, reads_by_reads, &nested);
    nested |= check->kind != STMT_CHECK || !expr_reads(check->condition) || count < 2;
    if (nested || (expr_is_int(var->extent, &extent) && extent < 2 * count)) {
        stmts_add(arena, &body, check);
        return stmt_for(arena, var, var->extent, LOOP_SERIAL, body, check->loc);
    }
    Expr *each = expr_int(arena, count), *whole = expr_binary(arena, OP_DIV, var->extent, each);
    Var *outer = var_new(arena, VAR_LOOP, TYPE_INT64, var->name, whole);
    Var *lane = var_new(arena, VAR_LOOP, TYPE_INT64, var->name, each);
    Var *left = var_new(arena, VAR_LOOP, TYPE_INT64, var->name, expr_binary(arena, OP_MOD, var->extent, each));
    Expr *begin = expr_binary(arena, OP_MUL, expr_var(arena, outer), each);
    Expr *end = expr_binary(arena, OP_MUL, whole, each);
    stmts_add(arena, &lanes,
              stmt_substitute(arena, check, var, expr_binary(arena, OP_ADD, begin, expr_var(arena, lane))));
    stmts_add(arena, &vectors, stmt_for(arena, lane, each, LOOP_VECTORIZED, lanes, check->loc));
    stmts_add(arena, &rest, stmt_substitute(arena, check, var, expr_binary(arena, OP_ADD, end, expr_var(arena, left))));
    stmts_add(arena, &list, stmt_for(arena, outer, outer->extent, LOOP_SERIAL, vectors, check->loc));
    stmts_add(arena, &list, stmt_for(arena, left, left->extent, LOOP_SERIAL, rest, check->loc));
    return stmt_block(arena, list);
}
