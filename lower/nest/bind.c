/* bind.c - bind: loops whose values run along the axes of a device.
 *
 * A launch is a grid of blocks of threads. Block loops are the outermost loops of a nest. Inside them stand thread
 * loops and vthread loops (one thread runs their values one after the other, interleaved), in any order, with serial
 * loops between them. At most one loop around a statement counts each axis; wherever a block uses an axis, its loops
 * have the same extent. What several threads use lives in shared or global memory.
 */
#include "lower/nest/state.h"

static bool is_block(const Node *node) {
    return node->loop.kind >= LOOP_BLOCK_X && node->loop.kind <= LOOP_BLOCK_Z;
}

static bool is_thread(const Node *node) {
    return node->loop.kind >= LOOP_THREAD_X && node->loop.kind <= LOOP_THREAD_Z;
}

/* --- the primitive ------------------------------------------------------------------------------------------------ */

bool apply_bind(NestState *state, const Prim *prim) {
    const PrimArg *arg = positional(prim, 1);
    int axis = argument_word(state, arg, "axis", loop_kind_words + LOOP_BLOCK_X, LOOP_KIND_COUNT - LOOP_BLOCK_X);
    if (axis < 0)
        return false;
    if (!state_for_device(state))
        return refuse_at(state, arg, "%s is a CPU: its loops run on threads by parallel, not along axes of a device",
                         state_target_name(state));
    return set_kind(state, prim, 0, (LoopKind)(LOOP_BLOCK_X + axis));
}

/* --- what stands around a bound loop ------------------------------------------------------------------------------ */

static bool check_around(NestState *state, const Node *node, const Node *outer) {
    LoopKind kind = node->loop.kind, around = outer->loop.kind;
    if (kind == around)
        return refuse_loop(state, node, "%s is inside %s, and both count %s: an axis is counted once",
                           loop_text(state, node), loop_text(state, outer), loop_kind_words[kind]);
    if (is_block(node) && !is_block(outer))
        return refuse_loop(state, node, "%s counts blocks inside %s, which does not: block loops are the outermost",
                           loop_text(state, node), loop_text(state, outer));
    if (kind == LOOP_VTHREAD && is_thread(outer))
        return refuse_loop(state, node,
                           "%s is a vthread inside %s, which counts threads: vthread loops are outside of thread loops",
                           loop_text(state, node), loop_text(state, outer));
    if (around == LOOP_UNROLLED || around == LOOP_VECTORIZED || around == LOOP_PARALLEL)
        return refuse_loop(state, node, "%s is bound inside %s, which is %s: a device starts its axes once",
                           loop_text(state, node), loop_text(state, outer), loop_kind_words[around]);
    return true;
}

static bool check_extent(NestState *state, const Node *node) {
    int most = is_thread(node) ? state->nest.target->block_threads : UNROLL_LIMIT;
    if (is_block(node) || (node->loop.extent >= 0 && node->loop.extent <= most))
        return true;
    if (node->loop.extent < 0)
        return refuse_loop(state, node, "%s has an extent known only at run time, %s, so it cannot count %s",
                           loop_text(state, node),
                           state->refusal->wanted ? expr_text(state->arena, node->variable.extent) : "",
                           loop_kind_words[node->loop.kind]);
    return refuse_loop(state, node, "%s has %lld values; %s counts %d at most", loop_text(state, node),
                       (long long)node->loop.extent, loop_kind_words[node->loop.kind], most);
}

/* The number of threads in a block. */
static bool check_threads(NestState *state, const Node *node) {
    int64_t threads = 1;
    for (const Node *at = node; at != NULL; at = next_outer(at))
        threads *= is_thread(at) && at->loop.extent > 1 ? at->loop.extent : 1;
    int most = state->nest.target->block_threads;
    return threads <= most || refuse_loop(state, node, "%s makes blocks of %lld threads; a block of %s has %d at most",
                                          loop_text(state, node), (long long)threads, state_target_name(state), most);
}

static bool check_loop(NestState *state, const Node *node) {
    for (const Node *outer = next_outer(node); outer != NULL; outer = next_outer(outer))
        if (!check_around(state, node, outer))
            return false;
    return check_extent(state, node) && (!is_thread(node) || check_threads(state, node));
}

/* --- the whole launch --------------------------------------------------------------------------------------------- */

/* Other loops of the launch over the same threads must have the same extent. */
static bool check_same_extent(NestState *state, const Node *node) {
    const StageState *root = root_of(stage_of(node));
    for (int i = 0; i < state->stages.count; i++) {
        const StageState *other = state->stages.items[i];
        for (int k = 0; k < other->leaves.count && root_of(other) == root; k++) {
            const Node *leaf = other->leaves.items[k];
            if (leaf->loop.kind == node->loop.kind && leaf->loop.extent != node->loop.extent)
                return refuse_loop(state, node, "%s counts %lld value%s of %s and %s counts %lld: a block has one size",
                                   loop_text(state, node), (long long)node->loop.extent,
                                   node->loop.extent == 1 ? "" : "s", loop_kind_words[node->loop.kind],
                                   loop_text(state, leaf), (long long)leaf->loop.extent);
        }
    }
    return true;
}

/* A thread loop between a buffer's place and its use. NULL: the buffer belongs to one thread. */
static const Node *thread_between(const StageState *user, const Node *at) {
    const Node *node = user->leaves.count > 0 ? user->leaves.items[user->leaves.count - 1] : user->at;
    for (; node != NULL && node != at; node = next_outer(node))
        if (is_thread(node))
            return node;
    return NULL;
}

static bool check_buffer(NestState *state, const StageState *stage, const StageState *user) {
    bool private =
        stage->at != NULL && (!stage->scope_set || stage->scope == SCOPE_LOCAL || stage->scope == SCOPE_REGISTER);
    const Node *thread = private ? thread_between(user, stage->at) : NULL;
    return thread == NULL ||
           refuse_stage(state, stage,
                        "%s counts threads inside the place of %s, which they all use: it is of scope shared or global",
                        loop_text(state, thread), stage->name);
}

bool check_bound(NestState *state, const StageState *stage) {
    if (!state_for_device(state))
        return true;
    for (int i = 0; i < stage->leaves.count; i++) {
        const Node *node = stage->leaves.items[i];
        if (loop_kind_is_bound(node->loop.kind) &&
            (!check_loop(state, node) || (is_thread(node) && !check_same_extent(state, node))))
            return false;
    }
    for (int k = 0; k < stage->accesses.count; k++)
        if (stage->accesses.items[k].producer != NULL && !check_buffer(state, stage->accesses.items[k].producer, stage))
            return false;
    return check_buffer(state, stage, stage);
}
