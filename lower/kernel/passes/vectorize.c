/* vectorize.c - pass: vectorized loops become vector expressions with as many lanes as the loop has values.
 *
 * Needs flat indices. The variable becomes a ramp, and an index that is affine in it a ramp with its coefficient as
 * stride. What does not depend on the variable stays scalar and is broadcast. A condition on it becomes a mask of
 * stores and reads; any other stays an IF. A loop that cannot run in lanes (its extent is not constant, a store would
 * hit one element twice, a buffer or loop inside depends on the lane) becomes a serial one, which means the same.
 */
#include "lower/kernel/passes/passes.h"
#include "lower/kernel/passes/vectors.h"
#include "lower/kernel/statements.h"

/* The lanes that run; NULL: all. Lanes that predicates leave out are still inside: they may be read. */
typedef struct Mask {
    Expr *stores; /* vector of bool */
    Expr *lanes;  /* the same without predicates */
    Expr *any;    /* scalar bool: some lane runs; NULL: not known */
    int lane;     /* a lane that runs if any does; -1: not known */
    const ExprList *conditions; /* that narrow the mask around it, which is the outer one */
    const struct Mask *outer;
} Mask;

typedef struct Vectorize {
    Arena *arena;
    const Var *var;
    int lanes;
    Mask mask;
    const Map *shared; /* what other iterations of a parallel loop may store to */
    bool failed;
} Vectorize;

/* --- ramps -------------------------------------------------------------------------------------------------------- */

static bool as_ramp(Arena *arena, Expr *e, Expr **base, Expr **stride) {
    if (e->kind != EXPR_RAMP && e->kind != EXPR_BROADCAST)
        return false;
    *base = e->args[0];
    *stride = e->kind == EXPR_RAMP ? e->args[1] : expr_int(arena, 0);
    return true;
}

static bool is_int_constant(const Expr *e, int64_t wanted) {
    int64_t value;
    return expr_is_int(e, &value) && value == wanted;
}

static Expr *ramp_or_broadcast(Arena *arena, Expr *base, Expr *stride, int lanes) {
    return is_int_constant(stride, 0) ? expr_broadcast(arena, base, lanes) : expr_ramp(arena, base, stride, lanes);
}

/* The result of an operator on ramps if it is a ramp, else NULL. */
static Expr *ramp_op(Arena *arena, Op op, Expr *a, Expr *b, int lanes) {
    Expr *base[2], *stride[2];
    if (a->type != TYPE_INT64 || !as_ramp(arena, a, &base[0], &stride[0]) || !as_ramp(arena, b, &base[1], &stride[1]))
        return NULL;
    if (op == OP_ADD || op == OP_SUB)
        return ramp_or_broadcast(arena, expr_binary(arena, op, base[0], base[1]),
                                 expr_binary(arena, op, stride[0], stride[1]), lanes);
    if (op != OP_MUL)
        return NULL;
    for (int uniform = 0; uniform < 2; uniform++)
        if (is_int_constant(stride[uniform], 0))
            return ramp_or_broadcast(arena, expr_binary(arena, OP_MUL, base[0], base[1]),
                                     expr_binary(arena, OP_MUL, stride[1 - uniform], base[uniform]), lanes);
    return NULL;
}

/* --- expressions -------------------------------------------------------------------------------------------------- */

static Expr *vector_expr(Vectorize *v, Expr *e);

/* The operands as vectors if one of them is; false when all stay scalar. */
static bool vector_args(Vectorize *v, const Expr *e, Expr **args) {
    bool changed = false;
    for (int i = 0; i < e->count; i++) {
        args[i] = vector_expr(v, e->args[i]);
        changed |= args[i]->lanes > 1;
    }
    for (int i = 0; changed && i < e->count; i++)
        args[i] = expr_broadcast(v->arena, args[i], v->lanes);
    return changed;
}

/* Whether reading stays inside the buffer for all values of the variables. An index read from memory may be anything
 * where it was never written. */
static bool always_inside(const Tensor *tensor, Expr *offset) {
    int64_t elements = tensor_elements(tensor);
    if (elements < 0 || expr_reads(offset))
        return false;
    Interval range = expr_interval(offset);
    return range.has_low && range.has_high && range.low >= 0 && range.high < elements;
}

/* A guard and a mask, each condition once. */
static Expr *guard_and_mask(Vectorize *v, Expr *guard, Expr *mask) {
    ExprList known = {0}, more = {0};
    if (!guard || !mask)
        return guard ? guard : mask;
    conjuncts_add(v->arena, &known, guard);
    conjuncts_add(v->arena, &more, mask);
    for (int i = 0; i < more.count; i++)
        if (!expr_is_listed(&known, more.items[i]))
            guard = expr_and(v->arena, guard, more.items[i]);
    return guard;
}

/* Whether a condition of the mask reads it: so it is read for all lanes anyway. */
static bool is_read_by_mask(const Vectorize *v, const Expr *e) {
    for (const Mask *mask = &v->mask; mask && mask->conditions; mask = mask->outer)
        for (int i = 0; i < mask->conditions->count; i++)
            EACH_READ(read, mask->conditions->items[i])
                if (expr_equal(read, e))
                    return true;
    return false;
}

static Expr *vector_read(Vectorize *v, Expr *e) {
    Expr *index = vector_expr(v, e->args[0]);
    Expr *guard = e->guard ? vector_expr(v, e->guard) : NULL;
    bool shared = address_map_get(v->shared, e->tensor) != NULL;
    bool masked = v->mask.lanes && (shared || !(always_inside(e->tensor, e->args[0]) || is_read_by_mask(v, e)));
    bool uniform = index->lanes == 1 && (!guard || guard->lanes == 1) && (!masked || v->mask.any);
    if (uniform && !masked)
        return e;
    Expr *read = expr_copy(v->arena, e);
    read->args[0] = uniform || index->lanes > 1 ? index : expr_ramp(v->arena, index, expr_int(v->arena, 0), v->lanes);
    if (uniform) {
        read->guard = guard_and_mask(v, guard, v->mask.any);
        return read;
    }
    read->lanes = v->lanes;
    read->guard = guard_and_mask(v, guard, masked ? v->mask.lanes : NULL);
    if (read->guard)
        read->guard = expr_broadcast(v->arena, read->guard, v->lanes);
    return read;
}

static Expr *vector_op(Vectorize *v, Expr *e) {
    Expr *args[3];
    if (!vector_args(v, e, args)) {
        bool same = true;
        for (int i = 0; i < e->count; i++)
            same &= args[i] == e->args[i];
        return same ? e : expr_op(v->arena, e->op, e->type, args, e->count);
    }
    Expr *ramp = e->count == 2 ? ramp_op(v->arena, e->op, args[0], args[1], v->lanes) : NULL;
    return ramp ? ramp : expr_op(v->arena, e->op, e->type, args, e->count);
}

static Expr *vector_expr(Vectorize *v, Expr *e) {
    if (e->lanes > 1)
        v->failed = true;
    switch (e->kind) {
    case EXPR_VAR:
        return e->var == v->var ? expr_ramp(v->arena, expr_int(v->arena, 0), expr_int(v->arena, 1), v->lanes) : e;
    case EXPR_READ: return vector_read(v, e);
    case EXPR_OP: return vector_op(v, e);
    case EXPR_CAST: {
        Expr *a = vector_expr(v, e->args[0]);
        return a == e->args[0] ? e : expr_cast(v->arena, e->type, a);
    }
    default: return e;
    }
}

/* --- masks -------------------------------------------------------------------------------------------------------- */

/* The lane where the condition holds if it holds at any: the first if it gets harder with the lane, the last if easier;
 * -1: neither. */
static int best_lane(Vectorize *v, const Expr *condition) {
    Affine affine;
    int64_t slope;
    if (!expr_is_inequality(condition))
        return -1;
    if (!expr_affine(v->arena, expr_binary(v->arena, OP_SUB, condition->args[0], condition->args[1]), &affine) ||
        !affine_coefficient(&affine, v->var, &slope))
        return -1;
    return comparison_info[condition->op].less == (slope > 0) ? 0 : v->lanes - 1;
}

static Expr *at_lane(Vectorize *v, Expr *condition, int lane) {
    return expr_substitute(v->arena, condition, &(Substitution){v->var, expr_int(v->arena, lane)}, 1);
}

/* Narrows the mask by conditions on the lane. If all of them are easiest at one lane, some lane runs exactly if that
 * lane does. */
static Mask narrow_mask(Vectorize *v, const ExprList *conditions) {
    Mask mask = v->mask;
    int lane = mask.lanes ? mask.lane : best_lane(v, conditions->items[0]);
    for (int i = 0; i < conditions->count; i++) {
        Expr *condition = conditions->items[i];
        Expr *lanes = vector_expr(v, condition);
        mask.lanes = expr_and(v->arena, mask.lanes, lanes);
        mask.stores = expr_and(v->arena, mask.stores, lanes);
        lane = best_lane(v, condition) == lane ? lane : -1;
        if (lane >= 0)
            mask.any = expr_and(v->arena, mask.any, at_lane(v, condition, lane));
    }
    mask.lane = lane;
    mask.any = lane >= 0 ? mask.any : NULL;
    return mask;
}

/* --- statements --------------------------------------------------------------------------------------------------- */

static StmtList vector_body(Vectorize *v, Stmt *const *body, int count);

static Stmt *vector_store(Vectorize *v, Stmt *stmt) {
    Expr *index = vector_expr(v, stmt->index[0]);
    Expr *value = expr_broadcast(v->arena, vector_expr(v, stmt->value), v->lanes);
    Expr *guard = expr_and(v->arena, stmt->guard ? vector_expr(v, stmt->guard) : NULL, v->mask.stores);
    if (index->lanes == 1) {
        v->failed = true;
        return stmt;
    }
    Expr **indices = ARENA_ARRAY(v->arena, Expr *, 1);
    indices[0] = index;
    if (guard)
        guard = expr_broadcast(v->arena, guard, v->lanes);
    return stmt_store(v->arena, stmt->tensor, indices, 1, value, guard, stmt->loc);
}

static StmtList masked_body(Vectorize *v, const ExprList *conditions, Stmt *const *body, int count) {
    Mask outer = v->mask;
    if (conditions->count) {
        v->mask = narrow_mask(v, conditions);
        v->mask.conditions = conditions;
        v->mask.outer = &outer;
    }
    StmtList list = vector_body(v, body, count);
    v->mask = outer;
    return list;
}

/* Conditions that lanes share stay an IF; others become masks of what is inside. Under a mask a read may be of lanes
 * though its index is scalar. */
static Stmt *vector_if(Vectorize *v, Stmt *stmt) {
    ExprList all = {0}, uniform = {0}, varying = {0}, refused = {0};
    conjuncts_add(v->arena, &all, stmt->condition);
    for (int i = 0; i < all.count; i++) {
        Expr *shared = expr_uses_var(all.items[i], v->var) ? NULL : vector_expr(v, all.items[i]);
        if (shared && shared->lanes == 1)
            list_push(v->arena, &uniform, shared);
        else
            list_push(v->arena, &varying, all.items[i]);
    }
    StmtList body = masked_body(v, &varying, stmt->body, stmt->count);
    StmtList otherwise = vector_body(v, stmt->otherwise, stmt->otherwise_count);
    if (varying.count && stmt->otherwise_count) {
        list_push(v->arena, &refused, expr_unary(v->arena, OP_NOT, conjunction(v->arena, &varying)));
        StmtList rest = masked_body(v, &refused, stmt->otherwise, stmt->otherwise_count);
        stmts_add_all(v->arena, &body, rest.items, rest.count);
    }
    return stmt_if_like(v->arena, stmt, conjunction(v->arena, &uniform), body, otherwise);
}

static Stmt *vector_stmt(Vectorize *v, Stmt *stmt) {
    switch (stmt->kind) {
    case STMT_STORE: return vector_store(v, stmt);
    case STMT_TOGETHER: return stmt_together(v->arena, vector_body(v, stmt->body, stmt->count), stmt->loc);
    case STMT_IF: return vector_if(v, stmt);
    case STMT_FOR:
        v->failed |= expr_uses_var(stmt->extent, v->var);
        return stmt_for_like(v->arena, stmt, stmt->extent, vector_body(v, stmt->body, stmt->count));
    case STMT_STEP: return stmt;
    case STMT_CHECK:
        v->failed |= v->mask.lanes != NULL;
        return stmt_check(v->arena, vector_expr(v, stmt->condition), stmt->status, stmt->loc);
    default: v->failed = true; return stmt;
    }
}

static StmtList vector_body(Vectorize *v, Stmt *const *body, int count) {
    StmtList list = {0};
    for (int i = 0; i < count && !v->failed; i++)
        stmts_add(v->arena, &list, vector_stmt(v, body[i]));
    return list;
}

/* More lanes do not pay: the loop stays serial. */
enum { LANE_LIMIT = 4096 };

typedef struct VectorizePass {
    Arena *arena;
    LoopNotes notes;
    Map shared;
} VectorizePass;

static Stmt *vectorize_loop(VectorizePass *l, Stmt *loop, StmtList body) {
    int64_t extent;
    const char *why = "how often it runs is not constant";
    bool constant = expr_is_int(loop->extent, &extent);
    if (constant && extent > 1 && extent <= LANE_LIMIT) {
        Vectorize v = {.arena = l->arena, .var = loop->var, .lanes = (int)extent, .shared = &l->shared};
        StmtList vectors = vector_body(&v, body.items, body.count);
        if (!v.failed) {
            note_expanded(l->arena, &l->notes, loop->var);
            return stmt_block(l->arena, vectors);
        }
        why = "what it runs has no vectors";
    }
    if (!constant || extent > 1)
        note_kept(l->arena, &l->notes, loop->var, constant && extent > LANE_LIMIT ? "it has too many lanes" : why,
                  false);
    return stmt_for(l->arena, loop->var, loop->extent, LOOP_SERIAL, body, loop->loc);
}

static Stmt *vectorize_stmt(Arena *arena, Stmt *stmt, void *context) {
    if (stmt->kind == STMT_FOR && stmt->loop == LOOP_VECTORIZED)
        return vectorize_loop(context, stmt, stmts_map(arena, stmt->body, stmt->count, vectorize_stmt, context));
    VectorizePass *l = context;
    Map outer = l->shared;
    if (stmt->kind == STMT_FOR && stmt->loop == LOOP_PARALLEL)
        l->shared = stored_in_parallel(arena, stmt);
    Stmt *made = stmt_map_bodies(arena, stmt, vectorize_stmt, context);
    l->shared = outer;
    return made;
}

static bool lanes_lie_apart(const Expr *index) {
    bool vector = index->lanes > 1 && index->kind != EXPR_BROADCAST;
    return vector && (index->kind != EXPR_RAMP || !is_int_constant(index->args[1], 1));
}

/* Whether some vector is accessed that is no row: before unroll copies what does it. */
static bool has_lanes_apart(const Kernel *kernel) {
    EACH_STMT(s, kernel->body) {
        if (s->index_count && lanes_lie_apart(s->index[0]))
            return true;
        EACH_STMT_READ(read, s)
            if (lanes_lie_apart(read->args[0]))
                return true;
    }
    return false;
}

static bool has_row_ends(const Kernel *kernel) {
    EACH_STMT(s, kernel->body)
        EACH_STMT_READ(read, s)
            if (lanes_have_ends(read->args[0]))
                return true;
    return false;
}

void pass_vectorize(Kernel *kernel) {
    VectorizePass l = {.arena = kernel->arena};
    kernel->body = vectorize_stmt(kernel->arena, kernel->body, &l);
    kernel->lanes_apart = has_lanes_apart(kernel);
    kernel->row_ends = kernel->lanes_apart && has_row_ends(kernel);
    notes_finish(kernel, &l.notes);
}
