/* unroll.c - pass: unrolled loops become one copy of their body for each value.
 *
 * Needs flat indices. All unrolled loops around a statement are replaced at once. Each copy of an expression is made
 * once, with constants collected at the end of its sum; what does not depend on unrolled variables is shared by
 * pointer. Conditions that the constants decide disappear. A STEP stands between the steps of a reduction into register
 * buffers: without it code generators keep the broadcasts of several steps alive and spill. A loop without constant
 * extent, or with too many copies, becomes serial.
 */
#include "lower/kernel/passes/passes.h"
#include "lower/kernel/statements.h"
#include <string.h>

/* Limit of the nodes of all copies in an outermost loop: more takes too long to compile. Tiles of convolutions that pay
 * have over 250,000. A whole kernel has no limit: its code is as long as its nests are many. */
enum { NODE_LIMIT = 1 << 19 };

typedef struct KnownVariable {
    const Var *var;
    int64_t value;
} KnownVariable;

/* What a condition became for some values of the variables. Copies ask for it again and again. */
typedef struct Decision {
    const Expr *condition;
    const KnownVariable *known; /* the values that it was decided for */
    int known_count, next;      /* index + 1 of the next in its chain; 0 ends it */
    Expr *result;
} Decision;

enum { DECISION_HEADS = 64 };

typedef struct Unroll {
    Arena *arena;
    Kernel *kernel;
    bool strict;
    LIST(const Expr *) outside; /* zeros in place of reads outside, in the current store */
    LIST(Substitution) bindings;
    int64_t copies;
    int depth;                /* loops around the current statement */
    int64_t made;             /* nodes so far of all copies in the current outermost loop */
    LIST(Decision) decisions; /* chained by the hash of the condition */
    int heads[DECISION_HEADS];
    LoopNotes notes;
} Unroll;

/* --- sums: rest + constant ---------------------------------------------------------------------------------------- */

typedef struct SplitSum {
    Expr *rest; /* NULL: 0 */
    int64_t constant;
} SplitSum;

static Expr *unroll_expr(Unroll *u, Expr *e);

static bool is_index_op(const Expr *e, Op op) {
    return e->kind == EXPR_OP && e->op == op && e->type == TYPE_INT64 && e->lanes == 1;
}

static Expr *sum_expr(Unroll *u, SplitSum sum, Expr *original) {
    int64_t constant;
    if (!sum.rest)
        return expr_is_int(original, &constant) && constant == sum.constant ? original
                                                                            : expr_int(u->arena, sum.constant);
    if (sum.constant == 0)
        return sum.rest;
    if (is_index_op(original, OP_ADD) && original->args[0] == sum.rest && expr_is_int(original->args[1], &constant) &&
        constant == sum.constant)
        return original;
    return expr_binary(u->arena, OP_ADD, sum.rest, expr_int(u->arena, sum.constant));
}

static SplitSum sum_of(Unroll *u, Expr *e);

static SplitSum sum_of_addition(Unroll *u, Expr *e) {
    SplitSum a = sum_of(u, e->args[0]), b = sum_of(u, e->args[1]), sum;
    if (__builtin_add_overflow(a.constant, b.constant, &sum.constant))
        return (SplitSum){expr_binary(u->arena, OP_ADD, sum_expr(u, a, e->args[0]), sum_expr(u, b, e->args[1])), 0};
    bool same = a.rest == e->args[0] && b.rest == e->args[1];
    sum.rest = same ? e : a.rest && b.rest ? expr_binary(u->arena, OP_ADD, a.rest, b.rest) : a.rest ? a.rest : b.rest;
    return sum;
}

/* rest * constant; merges the constant with one that is there. */
static Expr *scaled(Unroll *u, Expr *rest, int64_t constant) {
    int64_t own, product;
    if (is_index_op(rest, OP_MUL) && expr_is_int(rest->args[1], &own) &&
        !__builtin_mul_overflow(own, constant, &product))
        return expr_binary(u->arena, OP_MUL, rest->args[0], expr_int(u->arena, product));
    return expr_binary(u->arena, OP_MUL, rest, expr_int(u->arena, constant));
}

static SplitSum sum_of_product(Unroll *u, Expr *e) {
    SplitSum a = sum_of(u, e->args[0]), b = sum_of(u, e->args[1]), product = {NULL, 0};
    Expr *rest = a.rest, *by = e->args[1];
    if (b.rest && !a.rest) { /* constants go to the right */
        SplitSum swapped = a;
        a = b, b = swapped;
        rest = a.rest, by = NULL;
    }
    if (b.rest || __builtin_mul_overflow(a.constant, b.constant, &product.constant))
        return (SplitSum){expr_binary(u->arena, OP_MUL, sum_expr(u, a, e->args[0]), sum_expr(u, b, e->args[1])), 0};
    if (rest && b.constant != 0)
        product.rest = by && rest == e->args[0] && expr_is_int(by, NULL) ? e : scaled(u, rest, b.constant);
    return product;
}

static SplitSum sum_of(Unroll *u, Expr *e) {
    int64_t constant;
    if (is_index_op(e, OP_ADD))
        return sum_of_addition(u, e);
    if (is_index_op(e, OP_MUL))
        return sum_of_product(u, e);
    Expr *made = unroll_expr(u, e);
    return expr_is_int(made, &constant) ? (SplitSum){NULL, constant} : (SplitSum){made, 0};
}

/* --- conditions --------------------------------------------------------------------------------------------------- */

static Expr *lane_of(Arena *arena, const Expr *e, int lane) {
    if (e->kind == EXPR_BROADCAST)
        return e->args[0];
    if (e->kind != EXPR_RAMP)
        return NULL;
    Expr *step = expr_binary(arena, OP_MUL, e->args[1], expr_int(arena, lane));
    return expr_binary(arena, OP_ADD, e->args[0], step);
}

/* 1, 0 or -1, as expr_prove; for a vector comparison of ramps both ends decide for all lanes. */
static int decide(Unroll *u, Expr *condition) {
    if (condition->lanes == 1)
        return expr_prove(u->arena, condition, NULL);
    if (condition->op == OP_EQ || condition->op == OP_NE)
        return -1;
    int answers[2];
    for (int end = 0; end < 2; end++) {
        int lane = end ? condition->lanes - 1 : 0;
        Expr *a = lane_of(u->arena, condition->args[0], lane), *b = lane_of(u->arena, condition->args[1], lane);
        if (!a || !b)
            return -1;
        answers[end] = expr_prove(u->arena, expr_binary(u->arena, condition->op, a, b), NULL);
    }
    return answers[0] == answers[1] ? answers[0] : -1;
}

static bool bool_constant(const Expr *e, int64_t *value) {
    if (e->kind == EXPR_BROADCAST)
        e = e->args[0];
    return e->type == TYPE_BOOL && expr_is_int(e, value);
}

/* The variables that the condition uses, and their values. Versions of a nest share conditions, but some may not bind
 * all variables. */
static KnownVariable *known_for(Unroll *u, const Expr *condition, int *count) {
    KnownVariable *known = ARENA_ARRAY(u->arena, KnownVariable, u->bindings.count + 1);
    *count = 0;
    for (int i = 0; i < u->bindings.count; i++)
        if (expr_uses_var(condition, u->bindings.items[i].var))
            known[(*count)++] = (KnownVariable){u->bindings.items[i].var, u->bindings.items[i].value->integer};
    return known;
}

static bool same_known(const KnownVariable *a, const KnownVariable *b, int count) {
    for (int i = 0; i < count; i++)
        if (a[i].var != b[i].var || a[i].value != b[i].value)
            return false;
    return true;
}

static Decision *decision_of(Unroll *u, const Expr *condition) {
    int *head = &u->heads[((uintptr_t)condition >> 4) % DECISION_HEADS], count;
    KnownVariable *known = known_for(u, condition, &count);
    for (int i = *head; i != 0; i = u->decisions.items[i - 1].next) {
        Decision *decision = &u->decisions.items[i - 1];
        if (decision->condition == condition && decision->known_count == count &&
            same_known(decision->known, known, count))
            return decision;
    }
    list_push(u->arena, &u->decisions, ((Decision){condition, known, count, *head, NULL}));
    *head = u->decisions.count;
    return &u->decisions.items[u->decisions.count - 1];
}

/* --- expressions -------------------------------------------------------------------------------------------------- */

static Expr *unroll_read(Unroll *u, Expr *e) {
    Expr *index = unroll_expr(u, e->args[0]);
    Expr *guard = e->guard ? unroll_expr(u, e->guard) : NULL;
    int64_t holds;
    if (guard && bool_constant(guard, &holds)) {
        if (!holds) {
            Expr *zero = expr_constant(u->arena, e->type, 0);
            list_push(u->arena, &u->outside, zero);
            return expr_broadcast(u->arena, zero, e->lanes);
        }
        guard = NULL;
    }
    return expr_read_at(u->arena, e, index, guard);
}

static Expr *unroll_comparison(Unroll *u, Expr *e) {
    Decision *decision = decision_of(u, e);
    if (decision->result)
        return decision->result;
    Expr *a = unroll_expr(u, e->args[0]), *b = unroll_expr(u, e->args[1]);
    Expr *made = a == e->args[0] && b == e->args[1] ? e : expr_binary(u->arena, e->op, a, b);
    int decided = made != e && expr_compares_indices(made) ? decide(u, made) : -1;
    if (decided >= 0)
        made = expr_broadcast(u->arena, expr_bool(u->arena, decided), made->lanes);
    return decision_of(u, e)->result = made; /* the list may have moved */
}

static Expr *unroll_op(Unroll *u, Expr *e) {
    Expr *args[3] = {NULL};
    bool same = true;
    for (int i = 0; i < e->count; i++) {
        args[i] = unroll_expr(u, e->args[i]);
        same &= args[i] == e->args[i];
    }
    int64_t condition;
    if (e->op == OP_SELECT && bool_constant(args[0], &condition))
        return args[condition ? 1 : 2];
    return same ? e : expr_op(u->arena, e->op, e->type, args, e->count);
}

static Expr *unroll_var(Unroll *u, Expr *e) {
    for (int i = u->bindings.count - 1; i >= 0; i--)
        if (u->bindings.items[i].var == e->var)
            return u->bindings.items[i].value;
    return e;
}

static Expr *unroll_vector(Unroll *u, Expr *e) {
    Expr *base = unroll_expr(u, e->args[0]), *stride = e->count > 1 ? unroll_expr(u, e->args[1]) : NULL;
    if (base == e->args[0] && (!stride || stride == e->args[1]))
        return e;
    return e->kind == EXPR_RAMP ? expr_ramp(u->arena, base, stride, e->lanes) : expr_repeat(u->arena, base, e->lanes);
}

static Expr *unroll_call(Unroll *u, Expr *e) {
    Expr **args = ARENA_ARRAY(u->arena, Expr *, e->count);
    bool same = true;
    for (int i = 0; i < e->count; i++) {
        args[i] = unroll_expr(u, e->args[i]);
        same &= args[i] == e->args[i];
    }
    return same ? e : expr_call(u->arena, e->instr, args, e->count);
}

static Expr *unroll_expr(Unroll *u, Expr *e) {
    switch (e->kind) {
    case EXPR_VAR: return unroll_var(u, e);
    case EXPR_READ: return unroll_read(u, e);
    case EXPR_OP:
        if (is_index_op(e, OP_ADD) || is_index_op(e, OP_MUL))
            return sum_expr(u, sum_of(u, e), e);
        return expr_compares_indices(e) ? unroll_comparison(u, e) : unroll_op(u, e);
    case EXPR_CAST: {
        Expr *a = unroll_expr(u, e->args[0]);
        return a == e->args[0] ? e : expr_cast(u->arena, e->type, a);
    }
    case EXPR_RAMP:
    case EXPR_BROADCAST:
    case EXPR_REPEAT: return unroll_vector(u, e);
    case EXPR_CALL: return unroll_call(u, e);
    default: return e;
    }
}

/* --- statements --------------------------------------------------------------------------------------------------- */

static Stmt *unroll_stmt(Arena *arena, Stmt *stmt, void *context);

static StmtList unroll_body(Unroll *u, Stmt *const *body, int count) {
    return stmts_map(u->arena, body, count, unroll_stmt, u);
}

/* Whether it is a product with a read outside. */
static bool is_zero_product(const Unroll *u, const Expr *e) {
    if (e->kind == EXPR_BROADCAST || e->kind == EXPR_CAST)
        return is_zero_product(u, e->args[0]);
    if (expr_is_op(e, OP_MUL))
        return is_zero_product(u, e->args[0]) || is_zero_product(u, e->args[1]);
    for (int i = 0; i < u->outside.count; i++)
        if (u->outside.items[i] == e)
            return true;
    return false;
}

/* O(i) = O(i) + (T(j) else 0) * x, outside T: the term is left out as if x were finite, which -fstrict does not
 * assume. */
static bool adds_zero(const Unroll *u, const Stmt *store, const Expr *index, const Expr *value) {
    if (u->strict || !expr_is_op(value, OP_ADD) || value->args[0]->kind != EXPR_READ)
        return false;
    const Expr *old = value->args[0];
    return old->tensor == store->tensor && !old->guard && expr_equal(old->args[0], index) &&
           is_zero_product(u, value->args[1]);
}

static Stmt *unroll_store(Unroll *u, Stmt *stmt) {
    Expr *guard = stmt->guard ? unroll_expr(u, stmt->guard) : NULL;
    int64_t holds;
    if (guard && bool_constant(guard, &holds)) {
        if (!holds)
            return NULL;
        guard = NULL;
    }
    Expr **index = ARENA_ARRAY(u->arena, Expr *, 1);
    index[0] = unroll_expr(u, stmt->index[0]);
    u->outside.count = 0;
    Expr *value = unroll_expr(u, stmt->value);
    if (adds_zero(u, stmt, index[0], value))
        return NULL;
    if (index[0] == stmt->index[0] && value == stmt->value && guard == stmt->guard)
        return stmt;
    return stmt_store(u->arena, stmt->tensor, index, 1, value, guard, stmt->loc);
}

static Stmt *unroll_prefetch(Unroll *u, Stmt *stmt) {
    Expr **index = ARENA_ARRAY(u->arena, Expr *, 1);
    index[0] = unroll_expr(u, stmt->index[0]);
    return index[0] == stmt->index[0] ? stmt : stmt_prefetch(u->arena, stmt->tensor, index, 1, stmt->far, stmt->loc);
}

static void add_step(Unroll *u, StmtList *list) {
    if (list->count && list->items[list->count - 1]->kind != STMT_STEP)
        stmts_add(u->arena, list, stmt_step(u->arena));
}

static Stmt *unroll_loop(Unroll *u, Stmt *loop, int64_t extent) {
    StmtList list = {0};
    bool steps = loop->var->reduction && stores_registers(loop->body, loop->count);
    int64_t outer = u->copies;
    u->copies *= extent;
    list_push(u->arena, &u->bindings, ((Substitution){loop->var, NULL}));
    for (int64_t value = 0; value < extent; value++) {
        if (steps && value)
            add_step(u, &list);
        u->bindings.items[u->bindings.count - 1].value = expr_int(u->arena, value);
        StmtList body = unroll_body(u, loop->body, loop->count);
        stmts_add_all(u->arena, &list, body.items, body.count);
    }
    u->bindings.count--;
    u->copies = outer;
    return stmt_block(u->arena, list);
}

/* Nodes of a statement after unrolling; counts to at most one more than the limit. */
static int64_t unrolled_nodes(const Stmt *stmt) {
    int64_t nodes = 0, inside = 0, copies = 1;
    EACH_STMT_EXPR(e, stmt)
        if (++nodes > NODE_LIMIT)
            return nodes;
    for (int i = 0; i < stmt->count && inside <= NODE_LIMIT; i++)
        inside += unrolled_nodes(stmt->body[i]);
    for (int i = 0; i < stmt->otherwise_count && inside <= NODE_LIMIT; i++)
        inside += unrolled_nodes(stmt->otherwise[i]);
    if (stmt->kind == STMT_FOR && stmt->loop == LOOP_UNROLLED && expr_is_int(stmt->extent, &copies))
        copies = copies < NODE_LIMIT ? copies : NODE_LIMIT;
    nodes += inside * copies;
    return nodes <= NODE_LIMIT ? nodes : NODE_LIMIT + 1;
}

/* An outermost loop decides for the loops in it: all copies of a loop are alike. */
static bool is_short(Unroll *u, const Stmt *loop, int64_t extent) {
    int64_t nodes = extent > COPIES_LIMIT / u->copies ? NODE_LIMIT + 1 : u->copies > 1 ? 0 : unrolled_nodes(loop);
    if (nodes > NODE_LIMIT - u->made) {
        note_kept(u->arena, &u->notes, loop->var, "its copies would be too much code", true);
        return false;
    }
    u->made += nodes;
    note_expanded(u->arena, &u->notes, loop->var);
    return true;
}

static bool is_unrolled(Unroll *u, const Stmt *loop, const Expr *extent) {
    int64_t constant;
    if (loop->loop != LOOP_UNROLLED)
        return false;
    if (expr_is_int(extent, &constant))
        return is_short(u, loop, constant);
    note_kept(u->arena, &u->notes, loop->var, "how often it runs is not constant", false);
    return false;
}

static Stmt *unroll_for(Unroll *u, Stmt *loop) {
    if (u->depth == 0) {
        notes_finish(u->kernel, &u->notes);
        u->made = 0;
    }
    Expr *extent = unroll_expr(u, loop->extent);
    if (is_unrolled(u, loop, extent))
        return unroll_loop(u, loop, extent->integer);
    LoopKind kind = loop->loop == LOOP_UNROLLED ? LOOP_SERIAL : loop->loop;
    u->depth++;
    StmtList body = unroll_body(u, loop->body, loop->count);
    u->depth--;
    if (extent == loop->extent && kind == loop->loop)
        return stmt_with_bodies(u->arena, loop, body, (StmtList){0});
    return stmt_for(u->arena, loop->var, extent, kind, body, loop->loc);
}

static Stmt *unroll_if(Unroll *u, Stmt *stmt) {
    Expr *condition = unroll_expr(u, stmt->condition);
    int64_t constant;
    bool decided = expr_is_int(condition, &constant);
    StmtList body = {0}, otherwise = {0};
    if (!decided || constant)
        body = unroll_body(u, stmt->body, stmt->count);
    if (!decided || !constant)
        otherwise = unroll_body(u, stmt->otherwise, stmt->otherwise_count);
    if (condition == stmt->condition)
        return stmt_with_bodies(u->arena, stmt, body, otherwise);
    return stmt_if_like(u->arena, stmt, condition, body, otherwise);
}

static Stmt *unroll_stmt(Arena *arena, Stmt *stmt, void *context) {
    Unroll *u = context;
    switch (stmt->kind) {
    case STMT_STORE: return unroll_store(u, stmt);
    case STMT_PREFETCH: return unroll_prefetch(u, stmt);
    case STMT_FOR: return unroll_for(u, stmt);
    case STMT_IF: return unroll_if(u, stmt);
    case STMT_CHECK: {
        if (stmt->status == STATUS_BAD_SIZE)
            return stmt;
        Expr *condition = unroll_expr(u, stmt->condition);
        return condition == stmt->condition ? stmt : stmt_check(arena, condition, stmt->status, stmt->loc);
    }
    default: return stmt_map_bodies(arena, stmt, unroll_stmt, u);
    }
}

void pass_unroll(Kernel *kernel) {
    Unroll u = {.arena = kernel->arena, .kernel = kernel, .strict = kernel->strict, .copies = 1};
    kernel->body = unroll_stmt(kernel->arena, kernel->body, &u);
    notes_finish(kernel, &u.notes);
}
