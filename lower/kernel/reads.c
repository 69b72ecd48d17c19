/* reads.c - what the stages of a nest read, over the kernel's memory.
 *
 * Needs the nest that kernel_build builds. Keeps true: a read of a tensor that is computed at a loop is relative to the
 * origin of its box; a read with `else` touches memory only under its own condition; a read that a choice may skip has
 * the choice as its guard, if it may be outside.
 */
#include "lower/kernel/build.h"

Expr *build_expr(const Build *b, Expr *e) {
    return b->pieces.count ? expr_substitute(b->arena, e, b->pieces.items, b->pieces.count) : e;
}

/* In nodes: larger indices that are read from memory prove nothing; larger paths of reads are replaced. */
enum { PROVE_LIMIT = 300, PATH_LIMIT = 300 };

/* The condition that an index is inside the tensor, without what the variables' ranges prove. NULL: always inside. */
static Expr *inside_condition(Build *b, const Tensor *tensor, Expr **index) {
    Expr *all = NULL;
    for (int d = 0; d < tensor->rank; d++) {
        bool large = expr_is_larger(index[d], PROVE_LIMIT);
        Expr *bounds[2];
        index_bounds(b->arena, tensor, d, index[d], bounds);
        for (int i = 0; i < 2; i++)
            if (large || expr_prove(b->arena, bounds[i], &b->facts) != 1)
                all = expr_and(b->arena, all, bounds[i]);
    }
    return all;
}

Expr **build_index(Build *b, const NestStage *producer, Expr **index, int rank) {
    if (!producer || !producer->parent)
        return index;
    Expr **relative = ARENA_ARRAY(b->arena, Expr *, rank);
    for (int d = 0; d < rank; d++)
        relative[d] = expr_binary(b->arena, OP_SUB, index[d], build_expr(b, producer->origin[d]));
    if (producer->doubled) {
        Expr *iteration = expr_var(b->arena, producer->parent->loops[producer->depth - 1]->var);
        Expr *turn = expr_binary(b->arena, OP_MOD, iteration, expr_int(b->arena, 2));
        relative[0] = expr_binary(b->arena, OP_ADD, relative[0], expr_binary(b->arena, OP_MUL, turn, producer->turn));
    }
    return relative;
}

/* The value of an inlined stage at an index. */
static Expr *inlined_value(Build *b, const Stage *stage, const Tensor *tensor, Expr **index, Expr *path) {
    Substitution *list = ARENA_ARRAY(b->arena, Substitution, stage->axis_count);
    for (int d = 0; d < stage->axis_count; d++)
        list[d] = (Substitution){stage->axes[d], index[d]};
    Expr *value = stage->components[stage_component_of(stage, tensor)].value;
    return build_reads(b, expr_substitute(b->arena, value, list, stage->axis_count), path);
}

/* The guard of a read that may be outside. Without `otherwise` a read is inside wherever it is needed. Conditions that
 * read memory have guards themselves, made of the conditions before them, so that sizes can double with each. A path
 * that is too large is replaced by the bounds: as good, but loops are not cut by them. */
static Expr *read_guard(Expr *inside, const Expr *otherwise, Expr *path) {
    if (!inside || otherwise)
        return inside;
    return expr_is_larger(path, PATH_LIMIT) ? inside : path;
}

static Expr *lower_read(Build *b, Expr *e, Expr *path) {
    Expr **index = ARENA_ARRAY(b->arena, Expr *, e->count);
    for (int d = 0; d < e->count; d++)
        index[d] = build_reads(b, e->args[d], path);
    const NestStage *producer = nest_producer(b->nest, e->tensor);
    bool held = producer && (producer == b->held || (path && producer->unwraps));
    Expr *inside = !held && (e->otherwise || path) ? inside_condition(b, e->tensor, index) : NULL;
    Expr *otherwise = e->otherwise ? build_reads(b, e->otherwise, path) : NULL;
    if (producer && producer->inlined) {
        Expr *value =
            inlined_value(b, producer->stage, e->tensor, index, otherwise ? expr_and(b->arena, path, inside) : path);
        return inside && otherwise ? expr_select(b->arena, inside, value, otherwise) : value;
    }
    const Tensor *tensor = producer ? producer->buffers[stage_component_of(producer->stage, e->tensor)]
                           : e->tensor->role == ROLE_INITIAL ? e->tensor->buffer
                                                             : e->tensor;
    Expr **place = build_index(b, producer, index, tensor->rank);
    if (held)
        inside = inside_condition(b, tensor, place);
    Expr *read = expr_read(b->arena, tensor, place, NULL);
    read->guard = read_guard(inside, otherwise, path);
    read->loc = e->loc;
    return inside && otherwise && !expr_is_zero(otherwise) ? expr_select(b->arena, inside, read, otherwise) : read;
}

/* Whether `wanted` is surely read: not only in a part that &&, || or a choice may skip, or behind an else. */
static bool surely_reads(const Expr *e, const Expr *wanted) {
    bool chooses = expr_chooses(e);
    if (e->kind == EXPR_READ && expr_equal(e, wanted))
        return true;
    for (int i = 0; i < (chooses ? 1 : e->count); i++)
        if (surely_reads(e->args[i], wanted))
            return true;
    return e->guard && !chooses && !e->otherwise && surely_reads(e->guard, wanted);
}

/* Whether e reads something that the condition before it has not read anyway: 0 <= A(A(i)) && A(A(i)) < N reads no
 * more. (A guard would be at each read in a read, and grow with it.) */
static bool reads_more(const Expr *e, const Expr *condition) {
    EACH_READ(read, e) {
        if (!surely_reads(condition, read))
            return true;
        SKIP_BELOW(read);
    }
    return false;
}

/* A choice, && and || read only what they need: a read below that may be outside gets the condition as its guard. */
static Expr *lower_op(Build *b, Expr *e, Expr *path) {
    Expr *args[3], *condition = args[0] = build_reads(b, e->args[0], path);
    bool chooses = expr_chooses(e), reads = false;
    for (int i = 1; chooses && i < e->count; i++)
        reads |= reads_more(e->args[i], e->args[0]);
    for (int i = 1; i < e->count; i++) {
        Expr *inner = path;
        if (reads)
            inner = expr_and(b->arena, path,
                             (e->op == OP_SELECT ? i == 2 : e->op == OP_OR) ? expr_unary(b->arena, OP_NOT, condition)
                                                                            : condition);
        args[i] = build_reads(b, e->args[i], inner);
    }
    bool same = true;
    for (int i = 0; i < e->count; i++)
        same &= args[i] == e->args[i];
    return same ? e : expr_op(b->arena, e->op, e->type, args, e->count);
}

Expr *build_reads(Build *b, Expr *e, Expr *path) {
    switch (e->kind) {
    case EXPR_READ: return lower_read(b, e, path);
    case EXPR_OP: return lower_op(b, e, path);
    case EXPR_CAST: return expr_cast(b->arena, e->type, build_reads(b, e->args[0], path));
    default: return e;
    }
}

Expr *build_value(Build *b, Expr *e, const Substitutions *axes, Expr *path) {
    return build_reads(b, expr_substitute(b->arena, e, axes->items, axes->count), path);
}
