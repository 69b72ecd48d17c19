/* checks.c - loops over what a call must satisfy: indices read from memory are compared in lanes. Used by build.
 *
 * Where the ends of rows are read from memory, a loop for each row is slow if rows are short. So all elements are
 * looked at first, whatever rows they are in. Only if one of them fails are the rows looked at: it may be in none.
 */
#include "lower/kernel/conditions.h"
#include "lower/kernel/statements.h"

/* Whether an index of a read is read itself: it may be outside where an earlier part of the condition fails. */
static bool reads_by_reads(const Expr *e) {
    EACH_READ(read, e)
        for (int i = 0; i < read->count; i++)
            if (expr_reads(read->args[i]))
                return true;
    return false;
}

/* The values of a loop for which a condition may fail: those from begin to end, if end is larger. */
typedef struct FailingSpan {
    Expr *begin, *end;
} FailingSpan;

/* z < a || b <= z || inside(z): only z from a to b are tested. Returns what is left to test there; NULL: nothing. */
static Expr *narrow_span(Arena *arena, Expr *condition, const Var *var, FailingSpan *span) {
    Expr *first, *both = expr_is_op(condition, OP_NOT) ? condition->args[0] : NULL;
    if (condition->kind != EXPR_OP)
        return condition;
    if (both && expr_is_op(both, OP_AND))
        condition = expr_binary(arena, OP_OR, expr_unary(arena, OP_NOT, both->args[0]),
                                expr_unary(arena, OP_NOT, both->args[1]));
    if (condition->op == OP_OR) {
        Expr *left = narrow_span(arena, condition->args[0], var, span);
        Expr *right = narrow_span(arena, condition->args[1], var, span);
        return left && right ? expr_binary(arena, OP_OR, left, right) : left ? left : right;
    }
    Expr *steady = steady_condition(arena, condition, &var, 1, &(Tensors){0});
    if (!steady)
        return condition;
    Expr *fails = expr_simplify(arena, expr_unary(arena, OP_NOT, steady));
    if (first_failure(arena, fails, var, &first))
        span->end = expr_binary(arena, OP_MIN, span->end, first);
    else if (first_success(arena, fails, var, &first))
        span->begin = expr_binary(arena, OP_MAX, span->begin, first);
    else
        return condition;
    return NULL;
}

/* Narrows the check, too, to what is left to test in the span. */
static FailingSpan span_of(Arena *arena, Stmt **check, const Var *var) {
    FailingSpan span = {expr_int(arena, 0), var->extent};
    if ((*check)->kind == STMT_CHECK && expr_reads((*check)->condition)) {
        Expr *left = narrow_span(arena, (*check)->condition, var, &span);
        if (left)
            *check = stmt_check(arena, left, (*check)->status, (*check)->loc);
    }
    return (FailingSpan){expr_compact(arena, span.begin), expr_compact(arena, span.end)};
}

/* --- lanes --- */

/* For expr_rewrite: int64(x) >= 0 and int64(x) < n of an x of 32 bits and a size n compare 32 bits: twice as many lanes
 * in a register. */
static Expr *compare_narrow(Arena *arena, Expr *e, void *context) {
    int64_t zero;
    bool compares = e->kind == EXPR_OP && (e->op == OP_GE || e->op == OP_LT) && e->args[0]->kind == EXPR_CAST &&
                    e->args[0]->type == TYPE_INT64 && e->args[0]->args[0]->type == TYPE_INT32;
    if (!compares || !expr_is_over_sizes(e->args[1]))
        return e;
    Expr *narrow = e->args[0]->args[0];
    if (e->op == OP_GE)
        return expr_is_int(e->args[1], &zero) && zero == 0
                   ? expr_binary(arena, OP_GE, narrow, expr_constant(arena, TYPE_INT32, 0))
                   : e;
    Interval size = expr_interval(e->args[1]);
    if (!size.has_low || size.low < 0)
        return e;
    Expr *last = expr_binary(arena, OP_SUB, e->args[1], expr_int(arena, 1));
    last = expr_binary(arena, OP_MIN, last, expr_int(arena, INT32_MAX));
    return expr_binary(arena, OP_LE, narrow, expr_cast(arena, TYPE_INT32, last));
}

typedef struct Where {
    const Var *var;
    Expr *condition;
} Where;

/* For expr_rewrite: what is read for a value of the variable touches memory only where the condition holds. */
static Expr *read_where(Arena *arena, Expr *e, void *context) {
    const Where *where = context;
    if (e->kind != EXPR_READ || !expr_uses_var(e, where->var))
        return e;
    Expr *read = expr_copy(arena, e);
    read->guard = expr_and(arena, where->condition, e->guard);
    return read;
}

/* A check at a value of a variable, where that is less than the end. */
static Stmt *check_before(Arena *arena, Stmt *check, const Var *var, Expr *value, Expr *end) {
    Where where = {var, expr_binary(arena, OP_LT, value, end)};
    Expr *condition = expr_rewrite(arena, check->condition, read_where, &where);
    condition = expr_binary(arena, OP_OR, expr_binary(arena, OP_GE, value, end), condition);
    return stmt_check(arena, condition, check->status, check->loc);
}

/* The values from begin on that are left over: one by one, or, where the processor has masks, lanes of one vector. */
static Stmt *check_rest(Arena *arena, const Target *target, Stmt *check, const Var *var, Expr *begin, Expr *extent,
                        int64_t count) {
    Expr *each = expr_int(arena, count), *rest = expr_binary(arena, OP_MOD, extent, each);
    bool masks = target_masks(target, element_info[TYPE_INT32].bytes);
    Var *left = var_new(arena, VAR_LOOP, TYPE_INT64, var->name, masks ? each : rest);
    Expr *value = expr_binary(arena, OP_ADD, begin, expr_var(arena, left));
    Stmt *one = stmt_substitute(arena, check, var, value);
    if (!masks)
        return stmt_for(arena, left, left->extent, LOOP_SERIAL, stmts_one(arena, one), check->loc);
    Stmt *lanes = stmt_for(arena, left, left->extent, LOOP_VECTORIZED,
                           stmts_one(arena, check_before(arena, one, left, value, extent)), check->loc);
    Expr *some = expr_binary(arena, OP_GE, rest, expr_int(arena, 1));
    return stmt_if(arena, some, stmts_one(arena, lanes), (StmtList){0}, check->loc);
}

/* The check for all values of var: `count` at a time in lanes, and the rest. */
static Stmt *check_in_lanes(Arena *arena, const Target *target, Stmt *check, const Var *var, int64_t count,
                            Expr *extent) {
    StmtList lanes = {0}, vectors = {0}, list = {0};
    Expr *each = expr_int(arena, count), *whole = expr_compact(arena, expr_binary(arena, OP_DIV, extent, each));
    Var *outer = var_new(arena, VAR_LOOP, TYPE_INT64, var->name, whole);
    Var *lane = var_new(arena, VAR_LOOP, TYPE_INT64, var->name, each);
    Expr *begin = expr_binary(arena, OP_MUL, expr_var(arena, outer), each);
    stmts_add(arena, &lanes,
              stmt_substitute(arena, check, var, expr_binary(arena, OP_ADD, begin, expr_var(arena, lane))));
    stmts_add(arena, &vectors, stmt_for(arena, lane, each, LOOP_VECTORIZED, lanes, check->loc));
    stmts_add(arena, &list, stmt_for(arena, outer, outer->extent, LOOP_SERIAL, vectors, check->loc));
    stmts_add(arena, &list,
              check_rest(arena, target, check, var, expr_binary(arena, OP_MUL, whole, each), extent, count));
    return stmt_block(arena, list);
}

Stmt *check_all(Arena *arena, const Target *target, Stmt *check, const Var *var) {
    FailingSpan span = span_of(arena, &check, var);
    Expr *length = expr_binary(arena, OP_SUB, span.end, span.begin);
    Expr *extent = expr_compact(arena, expr_binary(arena, OP_MAX, length, expr_int(arena, 0)));
    if (check->kind == STMT_CHECK && expr_reads(extent) && !expr_uses_var(check->condition, var))
        return stmt_if(arena, expr_binary(arena, OP_GE, extent, expr_int(arena, 1)), stmts_one(arena, check),
                       (StmtList){0}, check->loc); /* what is left is the same for all values */
    int64_t count = target_lanes(target, TYPE_INT32), known;
    bool nested =
        check->kind != STMT_CHECK || !expr_reads(check->condition) || count < 2 || reads_by_reads(check->condition);
    if (!expr_is_int(span.begin, &known) || known != 0) {
        Expr *value = expr_binary(arena, OP_ADD, span.begin, expr_var(arena, var));
        check = stmt_substitute(arena, check, var, value);
    }
    if (nested || (expr_is_int(extent, &known) && known < 2 * count))
        return stmt_for(arena, var, extent, LOOP_SERIAL, stmts_one(arena, check), check->loc);
    Expr *narrow = expr_rewrite(arena, check->condition, compare_narrow, NULL);
    check = stmt_check(arena, narrow, check->status, check->loc);
    return check_in_lanes(arena, target, check, var, count, extent);
}

/* --- rows --- */

enum { FEW_ELEMENTS = 256 }; /* for each row: to look at them takes no longer than to begin a row */

/* Whether the condition is about elements alone, and may be asked of all of them. */
static bool asks_elements(const Expr *condition, const Var *row) {
    EACH_READ(read, condition)
        if (read->guard || read->otherwise)
            return false;
    return expr_reads(condition) && !reads_by_reads(condition) && !expr_uses_var(condition, row);
}

static const Tensor *lanes_that_fail(Arena *arena, int64_t count) {
    Tensor *tensor = ARENA_NEW(arena, Tensor);
    *tensor = (Tensor){.name = "outside", .type = TYPE_INT32, .role = ROLE_TEMPORARY, .rank = 1};
    tensor->scope = SCOPE_REGISTER;
    tensor->dims = ARENA_ARRAY(arena, Expr *, 1);
    tensor->dims[0] = expr_int(arena, count);
    tensor->dim_names = ARENA_ARRAY(arena, const char *, 1);
    tensor->dim_names[0] = "lane";
    return tensor;
}

static Stmt *store_lane(Arena *arena, const Tensor *tensor, Expr *lane, Expr *value, Loc loc) {
    Expr **index = ARENA_ARRAY(arena, Expr *, 1);
    index[0] = lane;
    return stmt_store(arena, tensor, index, 1, value, NULL, loc);
}

static Expr *read_lane(Arena *arena, const Tensor *tensor, Expr *lane) {
    return expr_read(arena, tensor, (Expr *[]){lane}, NULL);
}

/* A lane is 1 from the first element on for which the condition fails. */
static Stmt *note_failure(Arena *arena, const Tensor *tensor, const Stmt *check, const Var *var, Expr *lane,
                          Expr *element) {
    Substitution list = {var, element};
    Expr *holds = expr_substitute(arena, check->condition, &list, 1);
    Expr *fails = expr_select(arena, holds, expr_constant(arena, TYPE_INT32, 0), expr_constant(arena, TYPE_INT32, 1));
    return store_lane(arena, tensor, lane, expr_binary(arena, OP_MAX, read_lane(arena, tensor, lane), fails),
                      check->loc);
}

/* Looks at all elements, `count` at a time in lanes, and the rest one by one. */
static void note_failures(Arena *arena, const Tensor *tensor, const Stmt *check, const Var *var, int64_t count,
                          StmtList *list) {
    Expr *each = expr_int(arena, count), *whole = expr_binary(arena, OP_DIV, var->extent, each);
    Var *outer = var_new(arena, VAR_LOOP, TYPE_INT64, var->name, whole);
    Var *lane = var_new(arena, VAR_LOOP, TYPE_INT64, var->name, each);
    Var *left = var_new(arena, VAR_LOOP, TYPE_INT64, var->name, expr_binary(arena, OP_MOD, var->extent, each));
    Expr *element =
        expr_binary(arena, OP_ADD, expr_binary(arena, OP_MUL, expr_var(arena, outer), each), expr_var(arena, lane));
    Stmt *one = note_failure(arena, tensor, check, var, expr_var(arena, lane), element);
    Stmt *vector = stmt_for(arena, lane, each, LOOP_VECTORIZED, stmts_one(arena, one), check->loc);
    stmts_add(arena, list, stmt_for(arena, outer, whole, LOOP_SERIAL, stmts_one(arena, vector), check->loc));
    element = expr_binary(arena, OP_ADD, expr_binary(arena, OP_MUL, whole, each), expr_var(arena, left));
    one = note_failure(arena, tensor, check, var, expr_int(arena, 0), element);
    stmts_add(arena, list, stmt_for(arena, left, left->extent, LOOP_SERIAL, stmts_one(arena, one), check->loc));
}

static Expr *any_failed(Arena *arena, const Tensor *tensor, int64_t count) {
    Expr *any = NULL, *none = expr_constant(arena, TYPE_INT32, 0);
    for (int64_t l = 0; l < count; l++) {
        Expr *failed = expr_binary(arena, OP_NE, read_lane(arena, tensor, expr_int(arena, l)), none);
        any = any ? expr_binary(arena, OP_OR, any, failed) : failed;
    }
    return any;
}

Stmt *check_rows(Arena *arena, const Target *target, Stmt *rows, const Stmt *check, const Var *row, const Var *var) {
    int64_t count = target_lanes(target, TYPE_INT32);
    FailingSpan span = {expr_int(arena, 0), var->extent};
    Expr *left = rows && count > 1 ? narrow_span(arena, check->condition, var, &span) : NULL;
    if (!left || !(expr_reads(span.begin) || expr_reads(span.end)) || !asks_elements(left, row))
        return rows;
    Expr *limit = expr_binary(arena, OP_MUL, row->extent, expr_int(arena, FEW_ELEMENTS));
    Expr *few = expr_simplify(arena, expr_binary(arena, OP_LE, var->extent, limit));
    Expr *initial = expr_select(arena, few, expr_constant(arena, TYPE_INT32, 0), expr_constant(arena, TYPE_INT32, 1));
    check = stmt_check(arena, expr_rewrite(arena, left, compare_narrow, NULL), check->status, check->loc);
    const Tensor *tensor = lanes_that_fail(arena, count);
    Var *lane = var_new(arena, VAR_LOOP, TYPE_INT64, var->name, expr_int(arena, count));
    Stmt *begin = store_lane(arena, tensor, expr_var(arena, lane), initial, check->loc);
    StmtList list = {0}, elements = {0};
    note_failures(arena, tensor, check, var, count, &elements);
    stmts_add(arena, &list, stmt_for(arena, lane, lane->extent, LOOP_VECTORIZED, stmts_one(arena, begin), check->loc));
    stmts_add(arena, &list, stmt_if(arena, few, elements, (StmtList){0}, check->loc));
    stmts_add(arena, &list,
              stmt_if(arena, any_failed(arena, tensor, count), stmts_one(arena, rows), (StmtList){0}, check->loc));
    int64_t known;
    return expr_is_int(few, &known) && known == 0 ? rows : stmt_allocate(arena, tensor, list);
}
