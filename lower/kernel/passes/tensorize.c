/* tensorize.c - pass: loops that a hardware instruction runs become one call of it on vectors.
 *
 * Needs flat indices, and loops that the nest matched with the instruction's meaning. Conditions that do not depend on
 * the loops stay an IF around the call. A condition on lanes of the result becomes a mask of the store, and of the
 * reads of operands with these lanes. A condition on steps of the reduction becomes a mask of all reads, where zeros
 * add nothing. If a condition is of another kind, the loops become vectorized and unrolled ones, which mean the same.
 */
#include "lower/instr/instr.h"
#include "lower/kernel/conditions.h"
#include "lower/kernel/passes/passes.h"
#include "lower/kernel/statements.h"

typedef struct Tensorize {
    Arena *arena;
    const Instr *instr;
    StmtList loops;      /* outermost first */
    ExprList conditions; /* of the IFs among them */
    ExprList varying;    /* those that depend on the loops' variables */
    ExprList uniform;
    Stmt *store;
    const Expr **reads; /* of each operand */
    Expr **args;        /* the operands as vectors */
    Expr *index, *mask; /* of the result */
} Tensorize;

/* --- taking the loops apart --- */

static bool collect(Tensorize *t, Stmt *stmt) {
    if (stmt->kind == STMT_FOR && stmt->loop == LOOP_TENSORIZED && stmt->var->instr == t->instr)
        list_push(t->arena, &t->loops, stmt);
    else if (stmt->kind == STMT_IF && !stmt->otherwise_count)
        conjuncts_add(t->arena, &t->conditions, stmt->condition);
    else if (stmt->kind == STMT_STORE)
        t->store = stmt;
    else
        return false;
    return t->store ? !t->store->guard : stmt->count == 1 && collect(t, stmt->body[0]);
}

static bool uses_loops(const Tensorize *t, const Expr *e) {
    for (int i = 0; i < t->loops.count; i++)
        if (expr_uses_var(e, t->loops.items[i]->var))
            return true;
    return false;
}

static const Var **loop_vars(const Tensorize *t) {
    const Var **vars = ARENA_ARRAY(t->arena, const Var *, t->loops.count);
    for (int i = 0; i < t->loops.count; i++)
        vars[i] = t->loops.items[i]->var;
    return vars;
}

/* Sorts the conditions. Some lane runs if a condition holds at its easiest values. */
static bool sort_conditions(Tensorize *t) {
    for (int i = 0; i < t->conditions.count; i++) {
        Expr *condition = t->conditions.items[i], *some = condition;
        if (uses_loops(t, condition)) {
            list_push(t->arena, &t->varying, condition);
            some = extreme_case(t->arena, condition, loop_vars(t), t->loops.count, false);
        }
        if (!some)
            return false;
        conjuncts_add(t->arena, &t->uniform, some);
    }
    return true;
}

/* The value that is combined with the result; NULL when the store has another form. */
static const Expr *combined_value(const Tensorize *t) {
    const Expr *value = t->store->value;
    if (!instr_accumulates(t->instr))
        return value;
    if (value->kind != EXPR_OP || value->op != combine_op(t->instr->meaning->combine))
        return NULL;
    const Expr *former = value->args[0];
    bool same = former->kind == EXPR_READ && former->tensor == t->store->tensor && !former->guard &&
                expr_equal(former->args[0], t->store->index[0]);
    return same ? value->args[1] : NULL;
}

/* --- operands as vectors --- */

static const Var *loop_var(const Tensorize *t, const int *loop_of, int index) {
    return loop_of[index] < 0 ? NULL : t->loops.items[loop_of[index]]->var;
}

/* Whether the operand depends on the variable, in the dimensions from `first` on. */
static bool operand_has(const Tensorize *t, const int *loop_of, int operand, int first, const Var *var) {
    for (int d = first; d < t->instr->operands[operand]->rank; d++)
        if (loop_var(t, loop_of, instr_operand_index(t->instr, operand, d)) == var)
            return true;
    return false;
}

/* The stride of each dimension, in elements; false when an element's place is no sum of these. */
static bool operand_strides(const Tensorize *t, const int *loop_of, int operand, Expr *offset, int64_t *strides) {
    Affine affine;
    int64_t coefficient;
    if (!expr_affine_modular(t->arena, offset, &affine))
        return false;
    for (int l = 0; l < t->loops.count; l++) {
        const Var *var = t->loops.items[l]->var;
        if (!affine_coefficient(&affine, var, &coefficient) ||
            (coefficient && !operand_has(t, loop_of, operand, 0, var)))
            return false;
    }
    for (int d = 0; d < t->instr->operands[operand]->rank; d++) {
        const Var *var = loop_var(t, loop_of, instr_operand_index(t->instr, operand, d));
        strides[d] = 0;
        if (var && !affine_coefficient(&affine, var, &strides[d]))
            return false;
    }
    return true;
}

static Expr *at_first(const Tensorize *t, Expr *e) {
    Substitution *list = ARENA_ARRAY(t->arena, Substitution, t->loops.count);
    for (int i = 0; i < t->loops.count; i++)
        list[i] = (Substitution){t->loops.items[i]->var, expr_int(t->arena, 0)};
    return expr_compact(t->arena, expr_substitute(t->arena, e, list, t->loops.count));
}

/* The first dimension of the operand that its block of `lanes` elements spans. */
static int block_start(const Tensorize *t, int operand, int64_t lanes) {
    const Tensor *tensor = t->instr->operands[operand];
    int first = tensor->rank;
    for (int64_t held = 1; first > 0 && held < lanes; first--)
        held *= tensor_extent(tensor, first - 1);
    return first;
}

/* The condition for each element of the block, at the values that its variables have there. */
static Expr *condition_lanes(const Tensorize *t, const int *loop_of, int operand, int64_t lanes, Expr *condition) {
    const Tensor *tensor = t->instr->operands[operand];
    Arena *arena = t->arena;
    Substitution *list = ARENA_ARRAY(arena, Substitution, tensor->rank + 1);
    int count = 0;
    int64_t inner = 1;
    for (int d = tensor->rank - 1; d >= block_start(t, operand, lanes); d--) {
        const Var *var = loop_var(t, loop_of, instr_operand_index(t->instr, operand, d));
        Expr *value = expr_ramp(arena, expr_int(arena, 0), expr_int(arena, 1), (int)lanes);
        if (inner > 1)
            value = expr_binary(arena, OP_DIV, value, expr_broadcast(arena, expr_int(arena, inner), (int)lanes));
        inner *= tensor_extent(tensor, d);
        if (inner < lanes)
            value = expr_binary(arena, OP_MOD, value,
                                expr_broadcast(arena, expr_int(arena, tensor_extent(tensor, d)), (int)lanes));
        if (var)
            list[count++] = (Substitution){var, value};
    }
    return expr_broadcast(arena, expr_simplify(arena, expr_substitute(arena, condition, list, count)), (int)lanes);
}

/* Which of the condition's loops the block of an operand has: all, none or some. */
typedef enum Concern { CONCERNS_NONE, CONCERNS_SOME, CONCERNS_ALL } Concern;

static Concern concern(const Tensorize *t, const int *loop_of, int operand, int64_t lanes, const Expr *condition) {
    int used = 0, held = 0, first = block_start(t, operand, lanes);
    for (int l = 0; l < t->loops.count; l++) {
        const Var *var = t->loops.items[l]->var;
        used += expr_uses_var(condition, var);
        held += expr_uses_var(condition, var) && operand_has(t, loop_of, operand, first, var);
    }
    return held == 0 ? CONCERNS_NONE : held == used ? CONCERNS_ALL : CONCERNS_SOME;
}

static bool is_about_steps(const Tensorize *t, const Expr *condition) {
    for (int l = 0; l < t->loops.count; l++)
        if (t->loops.items[l]->var->reduction && expr_uses_var(condition, t->loops.items[l]->var))
            return true;
    return false;
}

/* The mask of a read or, for operand 0, of the store; false when no mask expresses the conditions. */
static bool operand_mask(const Tensorize *t, const int *loop_of, int operand, int64_t lanes, Expr **mask) {
    *mask = NULL;
    for (int i = 0; i < t->varying.count; i++) {
        Expr *condition = t->varying.items[i];
        bool steps = is_about_steps(t, condition);
        Concern concerned = concern(t, loop_of, operand, lanes, condition);
        if (steps && !instr_ignores_zeros(t->instr))
            return false;
        if (operand == 0 && steps && concerned == CONCERNS_NONE)
            continue;
        if (concerned == CONCERNS_SOME || (concerned == CONCERNS_NONE && steps))
            return false;
        if (concerned == CONCERNS_ALL)
            *mask = expr_and(t->arena, *mask, condition_lanes(t, loop_of, operand, lanes, condition));
    }
    return true;
}

static Expr *block_index(const Tensorize *t, Expr *offset, int64_t lanes) {
    return expr_ramp(t->arena, at_first(t, offset), expr_int(t->arena, 1), (int)lanes);
}

static bool read_guard(const Tensorize *t, const int *loop_of, int operand, int64_t lanes, Expr *guard, Expr **mask) {
    if (!guard)
        return true;
    if (uses_loops(t, guard) && concern(t, loop_of, operand, lanes, guard) != CONCERNS_ALL)
        return false;
    *mask = expr_and(t->arena, *mask, condition_lanes(t, loop_of, operand, lanes, guard));
    return true;
}

/* The operand as a vector: its block, read at once and repeated as needed. NULL when it does not lie so. */
static Expr *operand_vector(const Tensorize *t, const int *loop_of, int operand) {
    const Expr *read = t->reads[operand];
    int64_t strides[t->instr->operands[operand]->rank + 1], block;
    Expr *mask;
    if (!operand_strides(t, loop_of, operand, read->args[0], strides) ||
        !(block = instr_block(t->instr, operand, strides)) || !operand_mask(t, loop_of, operand, block, &mask) ||
        !read_guard(t, loop_of, operand, block, read->guard, &mask))
        return NULL;
    Expr *vector = expr_copy(t->arena, read);
    vector->args[0] = block_index(t, read->args[0], block);
    vector->lanes = (int)block;
    vector->guard = mask;
    return expr_repeat(t->arena, vector, (int)instr_lanes(t->instr, operand));
}

/* The old result, masked as the store is. */
static Expr *former_vector(const Tensorize *t) {
    Expr *read = expr_copy(t->arena, t->store->value->args[0]);
    read->args[0] = t->index;
    read->lanes = t->index->lanes;
    read->guard = t->mask;
    return read;
}

static bool make_vectors(const int *loop_of, void *context) {
    Tensorize *t = context;
    const Instr *instr = t->instr;
    int64_t strides[instr->operands[0]->rank + 1], lanes = instr_lanes(instr, 0);
    if (!operand_strides(t, loop_of, 0, t->store->index[0], strides) || instr_block(instr, 0, strides) != lanes ||
        !operand_mask(t, loop_of, 0, lanes, &t->mask))
        return false;
    t->index = block_index(t, t->store->index[0], lanes);
    int first = !instr_accumulates(instr);
    for (int i = first; i < instr->operand_count; i++) {
        t->args[i - first] = i ? operand_vector(t, loop_of, i) : former_vector(t);
        if (!t->args[i - first])
            return false;
    }
    return true;
}

/* --- the whole --- */

static bool match_loops(Tensorize *t) {
    const Expr *value = combined_value(t);
    t->reads = ARENA_ARRAY(t->arena, const Expr *, t->instr->operand_count);
    t->args = ARENA_ARRAY(t->arena, Expr *, t->instr->operand_count);
    if (!value || !instr_match(t->arena, t->instr, value, t->reads, NULL, NULL))
        return false;
    InstrLoop *loops = ARENA_ARRAY(t->arena, InstrLoop, t->loops.count);
    for (int i = 0; i < t->loops.count; i++) {
        loops[i].reduction = t->loops.items[i]->var->reduction;
        if (!expr_is_int(t->loops.items[i]->extent, &loops[i].extent))
            return false;
    }
    return instr_assign(t->instr, loops, t->loops.count, make_vectors, t);
}

static Stmt *call_of(const Tensorize *t) {
    Arena *arena = t->arena;
    Expr **index = ARENA_ARRAY(arena, Expr *, 1);
    index[0] = t->index;
    Expr *call = expr_call(arena, t->instr, t->args, t->instr->operand_count - !instr_accumulates(t->instr));
    StmtList body = stmts_one(arena, stmt_store(arena, t->store->tensor, index, 1, call, t->mask, t->store->loc));
    return stmt_if(arena, conjunction(arena, &t->uniform), body, (StmtList){0}, t->store->loc);
}

/* The loops, vectorized (the innermost that does not reduce) and unrolled (the others). *vector: a loop inside is
 * vectorized. */
static Stmt *as_other_loops(Arena *arena, Stmt *stmt, bool *vector);

static StmtList with_other_loops(Arena *arena, Stmt *const *stmts, int count, bool *vector) {
    StmtList list = {0};
    for (int i = 0; i < count; i++) {
        bool inside;
        stmts_add(arena, &list, as_other_loops(arena, stmts[i], &inside));
        *vector |= inside;
    }
    return list;
}

static Stmt *as_other_loops(Arena *arena, Stmt *stmt, bool *vector) {
    *vector = false;
    StmtList body = with_other_loops(arena, stmt->body, stmt->count, vector);
    StmtList otherwise = with_other_loops(arena, stmt->otherwise, stmt->otherwise_count, vector);
    if (stmt->kind != STMT_FOR || stmt->loop != LOOP_TENSORIZED)
        return stmt_with_bodies(arena, stmt, body, otherwise);
    LoopKind kind = *vector || stmt->var->reduction ? LOOP_UNROLLED : LOOP_VECTORIZED;
    *vector |= kind == LOOP_VECTORIZED;
    return stmt_for(arena, stmt->var, stmt->extent, kind, body, stmt->loc);
}

static Stmt *tensorize_loop(Arena *arena, Stmt *loop) {
    Tensorize t = {.arena = arena, .instr = loop->var->instr};
    if (collect(&t, loop) && sort_conditions(&t) && match_loops(&t))
        return call_of(&t);
    bool vector;
    return as_other_loops(arena, loop, &vector);
}

static Stmt *tensorize_stmt(Arena *arena, Stmt *stmt, void *context) {
    bool here = stmt->kind == STMT_FOR && stmt->loop == LOOP_TENSORIZED;
    return here ? tensorize_loop(arena, stmt) : stmt_map_bodies(arena, stmt, tensorize_stmt, context);
}

void pass_tensorize(Kernel *kernel) {
    kernel->body = tensorize_stmt(kernel->arena, kernel->body, NULL);
}
