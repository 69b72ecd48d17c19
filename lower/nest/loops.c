/* loops.c - the primitives for loops of one stage: split, tile, fuse, reorder, partition, unroll, vectorize, parallel.
 *
 * Rules about extents (constant ones, limits) and about the final order of loops are checked when the nest is finished.
 */
#include "lower/nest/state.h"

/* The property that makes a loop more than a plain serial one; NULL: it is plain. */
static const char *property_of(const Node *node) {
    if (node->loop.kind != LOOP_SERIAL)
        return loop_kind_words[node->loop.kind];
    return node->loop.unroll > 1 ? "unrolled" : node->loop.cut_count > 0 ? "partitioned" : NULL;
}

/* A loop that is split or fused must not have a kind yet: it would be unclear which of the new loops gets it. */
static bool check_serial(NestState *state, const Prim *prim, const Node *node) {
    const char *property = property_of(node);
    if (property == NULL)
        return true;
    return refuse_loop(state, node, "%s is already %s: %s comes before that", loop_text(state, node), property,
                       prim_info[prim->op].spelling);
}

/* The name of a new loop: the given result, else `wanted` made unique. NULL when refused. */
static const char *result_name(NestState *state, const Prim *prim, int index, StageState *stage, const char *wanted) {
    if (index >= prim->result_count)
        return fresh_loop_name(state, stage, wanted);
    const char *name = prim->results[index];
    if (!stage_has_loop(state, stage, name))
        return name;
    refuse(state, "%s has a loop named %s; the names of a stage's loops are unique", stage->name, name);
    return NULL;
}

static void move_attached(NestState *state, const Node *from, Node *to) {
    to->holds |= from->holds;
    for (int i = 0; i < state->stages.count && from->holds; i++) {
        StageState *stage = state->stages.items[i];
        stage->at = stage->at == from ? to : stage->at;
        stage->store = stage->store == from ? to : stage->store;
    }
    for (int i = 0; i < state->prefetches.count; i++)
        if (state->prefetches.items[i].loop == from)
            state->prefetches.items[i].loop = to;
}

/* --- split and tile ----------------------------------------------------------------------------------------------- */

static bool read_factors(NestState *state, const Prim *prim, int first, int count, int64_t *factors) {
    int64_t product = 1;
    bool all_ones = true;
    const PrimArg *arg = positional(prim, first);
    for (int i = 0; i < count; i++, arg = next_positional(prim, arg)) {
        if (!argument_integer(state, prim, arg, &factors[i]))
            return false;
        if (factors[i] < 1)
            return refuse_at(state, arg, "%s needs extents of at least 1, not %lld", prim_info[prim->op].spelling,
                             (long long)factors[i]);
        if (__builtin_mul_overflow(product, factors[i], &product))
            return refuse_at(state, arg, "the extents of %s multiply to more than 64 bits hold",
                             prim_info[prim->op].spelling);
        all_ones &= factors[i] == 1;
    }
    if (all_ones)
        no_effect(state);
    return true;
}

/* tail=; TAIL_GUARD when left out. */
static bool read_tail(NestState *state, const Prim *prim, Tail *tail) {
    static const char *const words[TAIL_COUNT] = {"guard", "mask", "shift", "exact"};
    const PrimArg *arg = prim_keyword(prim, "tail");
    int word = arg != NULL ? argument_word(state, arg, "tail", words, TAIL_COUNT) : TAIL_GUARD;
    *tail = (Tail)word;
    return word >= 0;
}

/* With a shifted tail elements are computed twice: wrong if that adds to them, harmless if it writes them. */
static bool check_tail(NestState *state, const Prim *prim, Tail tail, const Node *node) {
    if (tail == TAIL_SHIFT && stage_of(node)->nest.scan != NULL)
        return refuse_at(state, prim_keyword(prim, "tail"),
                         "%s counts the steps of a scan: a last piece that begins earlier would repeat steps",
                         loop_text(state, node));
    return tail != TAIL_SHIFT || !node->loop.reduction ||
           refuse_at(state, prim_keyword(prim, "tail"),
                     "%s is a reduction loop: a last piece that begins earlier would add values twice",
                     loop_text(state, node));
}

/* Replaces the leaf by `count` parts: an outer one, and inner ones with these extents. */
static bool split_node(NestState *state, const Prim *prim, Node *node, const int64_t *factors, int count,
                       const int *results, Node **parts) {
    Tail tail;
    if (!read_tail(state, prim, &tail) || !check_tail(state, prim, tail, node))
        return false;
    StageState *stage = stage_of(node);
    int index = leaf_index(stage, node);
    list_remove(&stage->leaves, index);
    for (int k = 0; k < count; k++) {
        const char *wanted =
            prim->result_count > 0 ? NULL : arena_printf(state->arena, "%s_%d", node->variable.name, k);
        const char *name = result_name(state, prim, results[k], stage, wanted);
        if (name == NULL)
            return false;
        parts[k] = node_new(state, stage, name, node->loop.reduction);
        list_insert(state->arena, &stage->leaves, index + k, parts[k]);
    }
    Relation *relation = relation_add(state, stage, RELATION_SPLIT, node, count);
    relation->tail = tail;
    relation->tail_arg = prim_keyword(prim, "tail");
    for (int k = 0; k < count; k++) {
        relation->parts[k] = parts[k];
        relation->factors[k] = k > 0 ? factors[k - 1] : 0;
    }
    node->taken = relation;
    move_attached(state, node, parts[count - 1]);
    for (int k = 0; k < count; k++)
        if (!bind_loop(state, prim, results[k], parts[k]))
            return false;
    return true;
}

bool apply_split(NestState *state, const Prim *prim) {
    int count = positional_count(prim);
    Node *node = argument_loop(state, prim, positional(prim, 0));
    if (node == NULL || !check_serial(state, prim, node))
        return false;
    int64_t *factors = ARENA_ARRAY(state->arena, int64_t, count);
    if (!read_factors(state, prim, 1, count - 1, factors))
        return false;
    int *results = ARENA_ARRAY(state->arena, int, count);
    for (int k = 0; k < count; k++)
        results[k] = k;
    return split_node(state, prim, node, factors, count, results, ARENA_ARRAY(state->arena, Node *, count));
}

/* Puts the loops, all of one stage, into the places that they hold together. False: they are in that order already. */
static bool put_in_order(StageState *stage, Node **order, int count) {
    bool changed = false;
    int next = 0;
    for (int i = 0; i < stage->leaves.count; i++)
        for (int k = 0; k < count; k++)
            if (stage->leaves.items[i] == order[k]) {
                order[k]->position = i;
                break;
            }
    for (int i = 0; i < stage->leaves.count && next < count; i++) {
        bool listed = false;
        for (int k = 0; k < count; k++)
            listed |= order[k]->position == i;
        if (!listed)
            continue;
        changed |= stage->leaves.items[i] != order[next];
        stage->leaves.items[i] = order[next++];
    }
    return changed;
}

static bool check_different(NestState *state, const Prim *prim, const Node *a, const Node *b) {
    return a != b || refuse_loop(state, b, "%s names %s twice", prim_info[prim->op].spelling, loop_text(state, a));
}

static bool check_two_loops(NestState *state, const Prim *prim, const Node *a, const Node *b) {
    if (a->loop.stage != b->loop.stage)
        return refuse_loop(state, b, "%s and %s are loops of two stages; %s acts within one", loop_text(state, a),
                           loop_text(state, b), prim_info[prim->op].spelling);
    return check_different(state, prim, a, b);
}

bool apply_tile(NestState *state, const Prim *prim) {
    Node *a = argument_loop(state, prim, positional(prim, 0));
    Node *b = a != NULL ? argument_loop(state, prim, positional(prim, 1)) : NULL;
    int64_t factors[2];
    if (b == NULL || !check_two_loops(state, prim, a, b) || !check_serial(state, prim, a) ||
        !check_serial(state, prim, b) || !read_factors(state, prim, 2, 2, factors))
        return false;
    Node *a_parts[2], *b_parts[2];
    if (!split_node(state, prim, a, &factors[0], 2, (int[]){0, 2}, a_parts) ||
        !split_node(state, prim, b, &factors[1], 2, (int[]){1, 3}, b_parts))
        return false;
    put_in_order(stage_of(a), (Node *[]){a_parts[0], b_parts[0], a_parts[1], b_parts[1]}, 4);
    return true;
}

/* --- fuse and reorder --------------------------------------------------------------------------------------------- */

Node **argument_loops(NestState *state, const Prim *prim, int count) {
    Node **nodes = ARENA_ARRAY(state->arena, Node *, count);
    const PrimArg *arg = positional(prim, 0);
    for (int i = 0; i < count; i++, arg = next_positional(prim, arg)) {
        nodes[i] = argument_loop(state, prim, arg);
        if (nodes[i] == NULL)
            return NULL;
        for (int k = 0; k < i; k++)
            if (!check_two_loops(state, prim, nodes[k], nodes[i]))
                return NULL;
    }
    return nodes;
}

static bool check_fusible(NestState *state, const Prim *prim, Node *outer, Node *inner) {
    StageState *stage = stage_of(outer);
    if (leaf_index(stage, inner) != leaf_index(stage, outer) + 1)
        return refuse_loop(
            state, inner,
            "%s is not the loop just inside %s: fuse joins adjacent loops, the outer one first; the loops are %s",
            loop_text(state, inner), loop_text(state, outer), loops_text(state, stage));
    if (inner->loop.reduction != outer->loop.reduction)
        return refuse_loop(state, outer->loop.reduction ? outer : inner,
                           "%s is a reduction loop and %s is not: fuse joins loops of one sort",
                           loop_text(state, outer->loop.reduction ? outer : inner),
                           loop_text(state, outer->loop.reduction ? inner : outer));
    for (int i = 0; i < state->stages.count && outer->holds; i++)
        if (state->stages.items[i]->at == outer || state->stages.items[i]->store == outer)
            return refuse_loop(state, outer, "%s is computed at %s, which would be no loop any more",
                               state->stages.items[i]->name, loop_text(state, outer));
    return check_serial(state, prim, outer) && check_serial(state, prim, inner);
}

static const char *fused_name(NestState *state, Node **nodes, int count) {
    Text text = {.arena = state->arena};
    for (int i = 0; i < count; i++)
        text_add(&text, "%s%s", i == 0 ? "" : "_", nodes[i]->variable.name);
    return text.text;
}

bool apply_fuse(NestState *state, const Prim *prim) {
    int count = positional_count(prim);
    Node **nodes = argument_loops(state, prim, count);
    for (int i = 0; nodes != NULL && i + 1 < count; i++)
        if (!check_fusible(state, prim, nodes[i], nodes[i + 1]))
            return false;
    if (nodes == NULL)
        return false;
    StageState *stage = stage_of(nodes[0]);
    int index = leaf_index(stage, nodes[0]);
    for (int i = 0; i < count; i++)
        list_remove(&stage->leaves, index);
    const char *wanted = prim->result_count == 0 ? fused_name(state, nodes, count) : NULL;
    const char *name = result_name(state, prim, 0, stage, wanted);
    if (name == NULL)
        return false;
    Node *whole = node_new(state, stage, name, nodes[0]->loop.reduction);
    Relation *relation = relation_add(state, stage, RELATION_FUSE, whole, count);
    for (int i = 0; i < count; i++) {
        relation->parts[i] = nodes[i];
        nodes[i]->taken = relation;
    }
    list_insert(state->arena, &stage->leaves, index, whole);
    move_attached(state, nodes[count - 1], whole);
    return bind_loop(state, prim, 0, whole);
}

bool apply_reorder(NestState *state, const Prim *prim) {
    int count = positional_count(prim);
    Node **nodes = argument_loops(state, prim, count);
    if (nodes == NULL)
        return false;
    if (!put_in_order(stage_of(nodes[0]), nodes, count))
        no_effect(state);
    return true;
}

/* --- kinds -------------------------------------------------------------------------------------------------------- */

/* A partitioned loop runs piece by piece: the pieces may be in order or shared out, but not one vector. */
static bool check_kind(NestState *state, const Node *node, LoopKind kind) {
    const Loop *loop = &node->loop;
    bool pieces = loop->cut_count > 0 && kind != LOOP_PARALLEL;
    if ((loop->kind != LOOP_SERIAL && loop->kind != kind) || loop->unroll > 1 || pieces)
        return refuse_loop(state, node, "%s is already %s", loop_text(state, node), property_of(node));
    return !loop->reduction || kind == LOOP_UNROLLED ||
           refuse_loop(state, node, "%s is a reduction loop: its steps add to the same elements, so they cannot be %s",
                       loop_text(state, node), loop_kind_words[kind]);
}

static bool set_node_kind(NestState *state, Node *node, LoopKind kind, bool *changed) {
    if (!check_kind(state, node, kind))
        return false;
    if (kind != LOOP_UNROLLED && !check_steps_loop(state, node, loop_kind_words[kind]))
        return false;
    *changed |= node->loop.kind != kind || !node->kind_set;
    node->loop.kind = kind;
    node->kind_set = true;
    return true;
}

bool set_kind(NestState *state, const Prim *prim, int index, LoopKind kind) {
    Node *node = argument_loop(state, prim, positional(prim, index));
    bool changed = false;
    if (node == NULL || !set_node_kind(state, node, kind, &changed))
        return false;
    if (!changed)
        no_effect(state);
    return true;
}

/* Partly unrolled loops stay loops. */
static bool set_unroll(NestState *state, Node *node, int64_t factor, bool *changed) {
    if (node->loop.kind != LOOP_SERIAL)
        return refuse_loop(state, node, "%s is already %s", loop_text(state, node), loop_kind_words[node->loop.kind]);
    *changed |= factor != node->loop.unroll && factor != 1;
    node->loop.unroll = factor;
    node->unroll_prim = state->prim;
    node->kind_set = true;
    return true;
}

/* Names loops of any stages, each once. */
static bool check_named_once(NestState *state, const Prim *prim) {
    for (int i = 1; i < positional_count(prim); i++) {
        const Node *node = argument_loop(state, prim, positional(prim, i));
        for (int k = 0; node != NULL && k < i; k++) {
            const Node *before = argument_loop(state, prim, positional(prim, k));
            if (before == NULL || !check_different(state, prim, before, node))
                return false;
        }
        if (node == NULL)
            return false;
    }
    return true;
}

bool apply_unroll(NestState *state, const Prim *prim) {
    const PrimArg *arg = prim_keyword(prim, "factor");
    int64_t factor = 0;
    if (arg != NULL && !argument_integer(state, prim, arg, &factor))
        return false;
    if (arg != NULL && (factor < 1 || factor > UNROLL_LIMIT))
        return refuse_at(state, arg, "unroll repeats a body 1 to %d times an iteration, not %lld", UNROLL_LIMIT,
                         (long long)factor);
    if (!check_named_once(state, prim))
        return false;
    bool changed = false;
    for (int i = 0; i < positional_count(prim); i++) {
        Node *node = argument_loop(state, prim, positional(prim, i));
        if (node == NULL || !(arg != NULL ? set_unroll(state, node, factor, &changed)
                                          : set_node_kind(state, node, LOOP_UNROLLED, &changed)))
            return false;
    }
    if (!changed)
        no_effect(state);
    return true;
}

bool apply_vectorize(NestState *state, const Prim *prim) {
    return set_kind(state, prim, 0, LOOP_VECTORIZED);
}

bool apply_parallel(NestState *state, const Prim *prim) {
    return set_kind(state, prim, 0, LOOP_PARALLEL);
}

/* --- partition ---------------------------------------------------------------------------------------------------- */

/* Cuts count from the beginning; negative ones, after those, from the end. Each lies behind the one before. */
static bool check_cut(NestState *state, const PrimArg *arg, const int64_t *cuts, int index) {
    int64_t cut = cuts[index];
    bool ascends = index == 0 || (cuts[index - 1] < 0) == (cut < 0) ? index == 0 || cuts[index - 1] < cut : cut < 0;
    return ascends || refuse_at(state, arg, "%lld does not lie behind %lld, where the piece before it ends",
                                (long long)cut, (long long)cuts[index - 1]);
}

bool apply_partition(NestState *state, const Prim *prim) {
    Node *node = argument_loop(state, prim, positional(prim, 0));
    if (node == NULL)
        return false;
    LoopKind kind = node->loop.kind;
    if (kind != LOOP_SERIAL && kind != LOOP_PARALLEL)
        return refuse_loop(state, node, "%s is %s: only a serial or parallel loop runs piece after piece",
                           loop_text(state, node), loop_kind_words[kind]);
    if (node->loop.cut_count > 0)
        return refuse_loop(state, node, "%s is already partitioned: one statement names all cuts",
                           loop_text(state, node));
    int count = positional_count(prim) - 1;
    int64_t *cuts = ARENA_ARRAY(state->arena, int64_t, count);
    const PrimArg *arg = positional(prim, 1);
    for (int i = 0; i < count; i++, arg = next_positional(prim, arg))
        if (!argument_integer(state, prim, arg, &cuts[i]) || !check_cut(state, arg, cuts, i))
            return false;
    node->loop.cuts = cuts;
    node->loop.cut_count = count;
    node->cuts_prim = state->prim;
    return true;
}
