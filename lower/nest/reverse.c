/* reverse.c - reverse_inline: computes an element-by-element consumer where its producer stores.
 *
 * The producer's value is written into the consumer, as inline does. Then the consumer gives up its own loops and takes
 * the producer's, with all that is computed at them: its axes are counted by the roots of the producer's dimensions
 * that it reads. Stages that cache_write made of the producer then belong to the consumer; StageState.owner_axes maps
 * their dimensions to its axes.
 */
#include "lower/nest/state.h"

/* Whether the index is the axis itself, shifted or mirrored, without other axes. */
static bool follows(const Expr *index, const Var *axis) {
    if (index->kind == EXPR_VAR)
        return index->var == axis;
    if (index->kind != EXPR_OP || (index->op != OP_ADD && index->op != OP_SUB && index->op != OP_NEG))
        return false;
    bool first = expr_uses_var(index->args[0], axis), second = index->count > 1 && expr_uses_var(index->args[1], axis);
    return first != second && follows(index->args[first ? 0 : 1], axis);
}

/* The axis of the consumer that an index follows; -1: none, or several. */
static int axis_of_index(const Stage *consumer, const Expr *index) {
    int found = -1;
    for (int a = 0; a < consumer->axis_count; a++) {
        if (!expr_uses_var(index, consumer->axes[a]))
            continue;
        if (found >= 0 || !follows(index, consumer->axes[a]))
            return -1;
        found = a;
    }
    return found;
}

/* For each dimension of the producer, the consumer's axis that counts it; NULL when they do not match one to one. */
static int *match_axes(NestState *state, const Stage *consumer, const Expr *read, bool *plain) {
    int *axes = ARENA_ARRAY(state->arena, int, read->count + 1);
    if (read->count != consumer->axis_count || read->otherwise != NULL)
        return NULL;
    *plain = true;
    for (int d = 0; d < read->count; d++) {
        axes[d] = axis_of_index(consumer, read->args[d]);
        *plain &= read->args[d]->kind == EXPR_VAR;
        for (int before = 0; before < d; before++)
            if (axes[before] == axes[d])
                return NULL;
        if (axes[d] < 0)
            return NULL;
    }
    return axes;
}

static bool is_read_elsewhere(const StageState *producer, const StageState *consumer) {
    for (int i = 0; i < producer->readers.count; i++) {
        const StageState *other = producer->readers.items[i];
        if (other != consumer && !other->nest.inlined && reads_stage(other, producer))
            return true;
    }
    return false;
}

static bool has_parts(const NestState *state, const StageState *producer) {
    for (int i = 0; i < state->stages.count; i++)
        if (state->stages.items[i]->owner == producer)
            return true;
    return false;
}

/* The tensors may differ: those of a tuple. */
static bool same_indices(const Expr *a, const Expr *b) {
    bool same = a->count == b->count && !a->otherwise == !b->otherwise;
    for (int d = 0; same && d < a->count; d++)
        same = expr_equal(a->args[d], b->args[d]);
    return same && (a->otherwise == NULL || expr_equal(a->otherwise, b->otherwise));
}

/* Whether the consumer can be computed where this producer stores. *axes: see match_axes. */
static bool check_producer(NestState *state, const Prim *prim, const StageState *consumer, const StageState *producer,
                           int **axes) {
    const char *name = producer->name;
    const Expr *read = NULL;
    if (!check_movable(state, prim, producer))
        return false;
    if (producer->scan != NULL)
        return refuse_stage(state, producer, "%s is computed step by step in the scan %s: its loops stay there", name,
                            producer->scan->name);
    if (producer->nest.stage->combine != COMBINE_NONE)
        return refuse_stage(state, producer,
                            "%s is a reduction, which stores its elements more than once: cache_write(%s) first, so "
                            "that each is stored once, or compute it at a loop of %s",
                            name, name, consumer->name);
    if (producer->partial)
        return refuse_stage(state, producer,
                            "%s stores partial results in each iteration of %s: %s can only be computed when they are "
                            "complete",
                            name, loop_text(state, producer->leaves.items[first_reduction(producer)]), consumer->name);
    if (is_read_elsewhere(producer, consumer))
        return refuse_stage(state, producer, "%s is also read by other stages than %s: it must be kept", name,
                            consumer->name);
    for (int k = 0; k < consumer->accesses.count; k++) {
        const NestRead *access = &consumer->accesses.items[k];
        bool plain = true;
        if (access->producer != producer)
            continue;
        if (read != NULL && !same_indices(read, access->read))
            return refuse_stage(state, producer, "%s reads several elements of %s for one of its own", consumer->name,
                                name);
        read = access->read;
        *axes = match_axes(state, consumer->nest.stage, read, &plain);
        if (*axes == NULL || (!plain && has_parts(state, producer)))
            return refuse_stage(state, producer,
                                "%s reads %s at indices that are not its own axes, each once: they must match one to "
                                "one",
                                consumer->name, expr_text(state->arena, read));
    }
    return true;
}

static bool is_elementwise(NestState *state, const StageState *stage) {
    if (!check_not_inlined(state, stage))
        return false;
    if (stage->nest.stage->combine != COMBINE_NONE)
        return refuse_stage(state, stage,
                            "%s is a reduction: reverse_inline takes stages that compute each element by itself",
                            stage->name);
    if (stage->owner != NULL || stage->scan != NULL)
        return refuse_stage(state, stage, "%s is part of another nest, %s, and stays there", stage->name,
                            stage->owner != NULL ? stage->owner->name : stage->scan->name);
    for (int i = 0; i < stage->leaves.count; i++)
        if (stage->relations.count > 0 || stage->leaves.items[i]->loop.kind != LOOP_SERIAL)
            return refuse_stage(state, stage,
                                "the loops of %s are scheduled already, but reverse_inline gives it those of its "
                                "producer: schedule them instead",
                                stage->name);
    const StageState *other = held_stage(state, stage);
    return other == NULL ||
           refuse_stage(state, stage, "%s is computed at %s, a loop that reverse_inline would take away", other->name,
                        loop_text(state, other->at));
}

/* The last stage to run among those that the consumer reads. */
static StageState *last_producer(const StageState *consumer) {
    StageState *last = NULL;
    for (int i = 0; i < consumer->accesses.count; i++) {
        StageState *producer = consumer->accesses.items[i].producer;
        if (producer != NULL && !producer->nest.inlined && (last == NULL || producer->turn > last->turn))
            last = producer;
    }
    return last;
}

static void own_node(Node *node, StageState *stage) {
    node->loop.stage = &stage->nest;
}

/* Maps the dimensions of stages that cache_write made of the producer to the consumer's axes. */
static void move_parts(NestState *state, StageState *consumer, const StageState *producer, const int *axes) {
    for (int i = 0; i < state->stages.count; i++) {
        StageState *part = state->stages.items[i];
        if (part->owner != producer)
            continue;
        int *moved = ARENA_ARRAY(state->arena, int, part->tensor->rank + 1);
        for (int d = 0; d < part->tensor->rank; d++)
            moved[d] = axes[part->owner_axes != NULL ? part->owner_axes[d] : d];
        part->owner_axes = moved;
        stage_own(part, consumer);
    }
}

static void take_loops(NestState *state, StageState *consumer, StageState *producer, const int *axes) {
    Node **roots = ARENA_ARRAY(state->arena, Node *, consumer->root_count + 1);
    for (int d = 0; d < producer->root_count; d++) {
        roots[axes[d]] = producer->roots[d];
        roots[axes[d]]->extent = consumer->roots[axes[d]]->extent;
    }
    for (int d = 0; d < producer->root_count; d++)
        own_node(producer->roots[d], consumer);
    for (int i = 0; i < producer->relations.count; i++) {
        own_node(producer->relations.items[i]->whole, consumer);
        for (int k = 0; k < producer->relations.items[i]->count; k++)
            own_node(producer->relations.items[i]->parts[k], consumer);
    }
    consumer->roots = roots;
    consumer->leaves.count = 0;
    for (int i = 0; i < producer->leaves.count; i++)
        list_push(state->arena, &consumer->leaves, producer->leaves.items[i]);
    for (int i = 0; i < producer->relations.count; i++)
        list_push(state->arena, &consumer->relations, producer->relations.items[i]);
    stage_place(consumer, producer->at);
    producer->leaves.count = producer->relations.count = 0;
    producer->nest.inlined = true;
    producer->at = NULL;
}

bool apply_reverse_inline(NestState *state, const Prim *prim) {
    StageState *consumer = argument_stage(state, prim, positional(prim, 0));
    if (consumer == NULL || !is_elementwise(state, consumer))
        return false;
    StageState *producer = last_producer(consumer);
    if (producer == NULL)
        return refuse_stage(state, consumer, "%s reads no stage, so there is no producer to compute it with",
                            consumer->name);
    int *axes = NULL;
    if (!check_producer(state, prim, consumer, producer, &axes) || !inline_into(state, consumer, producer))
        return false;
    move_parts(state, consumer, producer, axes);
    take_loops(state, consumer, producer, axes);
    return true;
}
