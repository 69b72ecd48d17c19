/* checks.c - loops over what a call must satisfy: indices read from memory are compared in lanes. Used by build.
 */
#include "lower/kernel/guards.h"
#include "lower/kernel/passes.h"

/* Whether an index of a read is read itself: it may be outside where an earlier part of the condition fails. */
static bool reads_by_reads(const Expr *e) {
    EACH_READ(read, e)
        for (int i = 0; i < read->count; i++)
            if (expr_reads(read->args[i]))
                return true;
    return false;
}

/* The values of a loop for which a condition may fail: those from begin to end, if end is larger. */
typedef struct Span {
    Expr *begin, *end;
} Span;

/* z < a || b <= z || inside(z): only z from a to b are tested. */
static void narrow_span(Arena *arena, const Expr *condition, const Var *var, Span *span) {
    Expr *first;
    if (condition->kind != EXPR_OP)
        return;
    if (condition->op == OP_OR) {
        narrow_span(arena, condition->args[0], var, span);
        narrow_span(arena, condition->args[1], var, span);
        return;
    }
    Expr *fails = expr_simplify(arena, expr_unary(arena, OP_NOT, (Expr *)condition));
    if (!reads_steadily(arena, condition, &var, 1))
        return;
    if (first_failure(arena, fails, var, &first))
        span->end = expr_binary(arena, OP_MIN, span->end, first);
    else if (first_success(arena, fails, var, &first))
        span->begin = expr_binary(arena, OP_MAX, span->begin, first);
}

static Span span_of(Arena *arena, const Stmt *check, const Var *var) {
    Span span = {expr_int(arena, 0), var->extent};
    if (check->kind == STMT_CHECK && expr_reads(check->condition))
        narrow_span(arena, check->condition, var, &span);
    return (Span){expr_compact(arena, span.begin), expr_compact(arena, span.end)};
}

/* The check for all values of var: `count` at a time in lanes, the rest one by one. */
static Stmt *check_in_lanes(Arena *arena, Stmt *check, const Var *var, int64_t count, Expr *extent) {
    StmtList lanes = {0}, vectors = {0}, rest = {0}, list = {0};
    Expr *each = expr_int(arena, count), *whole = expr_compact(arena, expr_binary(arena, OP_DIV, extent, each));
    Var *outer = var_new(arena, VAR_LOOP, TYPE_INT64, var->name, whole);
    Var *lane = var_new(arena, VAR_LOOP, TYPE_INT64, var->name, each);
    Var *left = var_new(arena, VAR_LOOP, TYPE_INT64, var->name, expr_binary(arena, OP_MOD, extent, each));
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

Stmt *check_all(Arena *arena, const Target *target, Stmt *check, const Var *var) {
    Span span = span_of(arena, check, var);
    Expr *length = expr_binary(arena, OP_SUB, span.end, span.begin);
    Expr *extent = expr_compact(arena, expr_binary(arena, OP_MAX, length, expr_int(arena, 0)));
    int64_t count = target_lanes(target, TYPE_INT32), known;
    bool nested =
        check->kind != STMT_CHECK || !expr_reads(check->condition) || count < 2 || reads_by_reads(check->condition);
    if (!expr_is_int(span.begin, &known) || known != 0) {
        Expr *value = expr_binary(arena, OP_ADD, span.begin, expr_var(arena, var));
        check = stmt_substitute(arena, check, var, value);
    }
    if (nested || (expr_is_int(extent, &known) && known < 2 * count))
        return stmt_for(arena, var, extent, LOOP_SERIAL, stmts_one(arena, check), check->loc);
    return check_in_lanes(arena, check, var, count, extent);
}
