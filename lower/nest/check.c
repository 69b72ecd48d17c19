/* check.c - rules that hold for the whole nest, in whatever order its primitives came.
 *
 * A later primitive can break what an earlier one left legal (vectorize, then reorder), or make legal what was not yet.
 * So these rules are checked once, when the nest is finished.
 */
#include "lower/nest/state.h"

enum {
    REGISTER_LIMIT = 4096,    /* elements of a buffer in registers */
    STACK_LIMIT = 1024 * 1024 /* bytes of a buffer on the stack */
};

static bool is_straight(const Node *node) {
    return node->loop.kind == LOOP_UNROLLED || node->loop.kind == LOOP_VECTORIZED;
}

/* --- where stages are computed ------------------------------------------------------------------------------------ */

/* A consumer must be in the body of the loop; its initial value must be read before the first reduction loop. */
static bool check_consumer(NestState *state, const StageState *consumer, const NestRead *access) {
    const StageState *stage = access->producer;
    const Node *at = stage->at;
    if (!stage_is_inside(consumer, at))
        return refuse_loop(state, at, "%s reads %s but is not inside %s, so %s cannot be computed there",
                           consumer->name, stage->name, loop_text(state, at), stage->name);
    if (access->initial && stage_of(at) == consumer && at->position >= first_reduction(consumer))
        return refuse_loop(state, at,
                           "%s begins its reduction with %s, so %s must be computed outside the reduction loop %s",
                           consumer->name, stage->name, stage->name,
                           loop_text(state, consumer->leaves.items[first_reduction(consumer)]));
    return true;
}

static bool check_place(NestState *state, const StageState *stage) {
    const StageState *parent = stage_of(stage->at);
    for (int i = 0; i <= stage->at->position; i++)
        if (parent->leaves.items[i]->loop.kind == LOOP_VECTORIZED ||
            parent->leaves.items[i]->loop.kind == LOOP_TENSORIZED)
            return refuse_loop(state, stage->at, "%s is %s, so nothing can be computed inside it, as %s is",
                               loop_text(state, parent->leaves.items[i]),
                               parent->leaves.items[i]->loop.kind == LOOP_VECTORIZED ? "vectorized"
                                                                                     : "run by an instruction",
                               stage->name);
    return true;
}

bool check_places(NestState *state) {
    for (int i = 0; i < state->stages.count; i++) {
        StageState *stage = state->stages.items[i];
        if (stage->nest.inlined)
            continue;
        if ((stage->at != NULL && !check_place(state, stage)) || !check_left_scan(state, stage) ||
            !check_store(state, stage) || !check_doubled(state, stage))
            return false;
        for (int k = 0; k < stage->accesses.count; k++) {
            const NestRead *access = &stage->accesses.items[k];
            if (access->producer != NULL && !check_scan_access(state, stage, access))
                return false;
            bool placed = access->producer != NULL && access->producer->at != NULL && access->producer->scan == NULL;
            if (placed && !check_consumer(state, stage, access))
                return false;
        }
    }
    return true;
}

static bool is_foreign(const void *context, const Loop *loop) {
    const StageState *stage = context;
    return loop->stage != &stage->nest && !loop_is_outside(stage, loop);
}

/* Whether no loop that it is in is empty. */
static bool runs(const StageState *stage) {
    for (int i = 0; i < stage->leaves.count; i++)
        if (stage->leaves.items[i]->loop.extent == 0)
            return false;
    for (const Node *node = stage->at; node != NULL; node = next_outer(node))
        if (node->loop.extent == 0)
            return false;
    return true;
}

/* Whether the stage needs a value of an empty loop of its owner: initial values are those of all reduction loops. */
static bool needs_empty(const StageState *stage, const Loop *loop) {
    return loop->extent == 0 && !stage->beside && !(stage->updates != NULL && loop->reduction);
}

/* A loop of the owner, not outside the stage, that the stage counts from; NULL: none. An empty one is in no form. */
static const Loop *loop_inside(const StageState *stage) {
    for (int d = 0; d < stage->root_count; d++) {
        const Loop *loop = form_find_loop(stage->axes[d], is_foreign, stage);
        if (loop != NULL)
            return loop;
    }
    for (int i = 0; i < stage->owner->leaves.count && runs(stage); i++)
        if (needs_empty(stage, &stage->owner->leaves.items[i]->loop))
            return &stage->owner->leaves.items[i]->loop;
    return NULL;
}

/* A stage made by cache_write counts from loops of its owner, which must stay outside of it. */
static bool check_owner(NestState *state, const StageState *stage) {
    const Loop *loop = stage->owner != NULL ? loop_inside(stage) : NULL;
    return loop == NULL ||
           refuse_loop(state, stage->at, "%s is computed at %s for one value of %s, which must stay outside",
                       stage->name, loop_text(state, stage->at), loop_text(state, (const Node *)loop));
}

static bool shifts(Forms *forms, const StageState *stage) {
    for (int i = 0; i < stage->relations.count; i++)
        if (split_shifts(forms, stage->relations.items[i]))
            return true;
    return false;
}

static bool counts_loop(const StageState *stage, const Node *node) {
    for (int d = 0; d < stage->tensor->rank; d++)
        if (form_has_loop(stage->axes[d], &node->loop))
            return true;
    return node->loop.extent == 0 || node->loop.extent == 1;
}

/* An initialisation must run once for each element, before the first update. So the update's loops around it must be
 * counted by its elements, and none may reduce. */
static bool check_initialisation(NestState *state, const StageState *stage) {
    const StageState *updated = stage->updates;
    if (updated != NULL && shifts(&state->forms, updated))
        return refuse(state,
                      "%s initialises %s apart, but a shifted tail updates some elements of %s twice: use another "
                      "tail, or no decompose",
                      stage->name, updated->name, updated->name);
    for (int i = 0; updated != NULL && !stage->beside && i <= stage->at->position; i++) {
        const Node *node = updated->leaves.items[i];
        if (node->loop.reduction)
            return refuse(state, "the reduction loop %s is outside %s, which would initialise %s again and again",
                          loop_text(state, node), stage->name, updated->name);
        if (!counts_loop(stage, node))
            return refuse(state, "%s initialises %s for all values of %s, which is outside of it", stage->name,
                          updated->name, loop_text(state, node));
    }
    return true;
}

/* --- kinds of loops ----------------------------------------------------------------------------------------------- */

static bool check_vectorized(NestState *state, const StageState *stage, const Node *node) {
    for (int i = node->position + 1; i < stage->leaves.count; i++)
        if (stage->leaves.items[i]->loop.kind != LOOP_UNROLLED)
            return refuse_loop(state, node,
                               "%s is not innermost: only unrolled loops may be inside a vectorized one, and %s is not",
                               loop_text(state, node), loop_text(state, stage->leaves.items[i]));
    return true;
}

static bool check_straight(NestState *state, const Node *node) {
    const char *kind = node->loop.kind == LOOP_VECTORIZED ? "vectorized" : "unrolled";
    if (node->loop.extent < 0)
        return refuse_loop(state, node, "%s has an extent known only at run time, %s, so it cannot be %s",
                           loop_text(state, node),
                           state->refusal->wanted ? expr_text(state->arena, node->variable.extent) : "", kind);
    if (node->loop.extent > UNROLL_LIMIT)
        return refuse_loop(state, node, "%s has %lld values; a loop of more than %d is not %s", loop_text(state, node),
                           (long long)node->loop.extent, UNROLL_LIMIT, kind);
    return true;
}

/* Walks the loops around a loop, innermost first: those of its stage, then those that the stage is computed at. */
static bool check_parallel(NestState *state, const Node *node) {
    for (const Node *outer = next_outer(node); outer != NULL; outer = next_outer(outer)) {
        if (outer->loop.kind == LOOP_PARALLEL)
            return refuse_loop(state, node, "%s is inside the parallel loop %s; parallel loops do not nest",
                               loop_text(state, node), loop_text(state, outer));
        if (is_straight(outer))
            return refuse_loop(state, node, "%s is parallel inside %s, which is %s; parallel loops run whole bodies",
                               loop_text(state, node), loop_text(state, outer),
                               outer->loop.kind == LOOP_UNROLLED ? "unrolled" : "vectorized");
    }
    return true;
}

static bool check_kinds(NestState *state, const StageState *stage) {
    for (int i = 0; i < stage->leaves.count; i++) {
        const Node *node = stage->leaves.items[i];
        if (is_straight(node) && !check_straight(state, node))
            return false;
        if (node->loop.kind == LOOP_VECTORIZED && !check_vectorized(state, stage, node))
            return false;
        if (node->loop.kind == LOOP_PARALLEL && !check_parallel(state, node))
            return false;
    }
    return true;
}

static int64_t loop_copies(const Node *node) {
    if (is_straight(node))
        return node->loop.extent > 0 ? node->loop.extent : 1;
    int64_t pieces = node->loop.cut_count + 1, extent = node->loop.extent;
    int64_t copies = (node->loop.unroll > 1 ? node->loop.unroll : 1) * pieces;
    return extent >= 0 && extent < copies ? extent + (extent == 0) : copies;
}

/* Counts copies from the innermost loop outwards, through all stages around. */
static bool check_copies(NestState *state, const StageState *stage) {
    int64_t copies = 1;
    const Node *node = stage->leaves.count > 0 ? stage->leaves.items[stage->leaves.count - 1] : stage->at;
    for (; node != NULL; node = next_outer(node)) {
        copies *= loop_copies(node);
        if (copies > COPIES_LIMIT)
            return refuse_stage(state, stage,
                                "unrolled, vectorized and partitioned loops make more than %d copies of the body of %s",
                                COPIES_LIMIT, stage->name);
    }
    return true;
}

/* --- buffers ------------------------------------------------------------------------------------------------------ */

static int64_t buffer_elements(const StageState *stage) {
    int64_t elements = 1, size;
    for (int d = 0; d < stage->tensor->rank; d++)
        if (!affine_is_int(stage->size[d], &size) || __builtin_mul_overflow(elements, size, &elements))
            return -1;
    return elements;
}

/* A loop that never runs indexes nothing. */
static bool is_rolled(const void *context, const Loop *loop) {
    return loop->extent != 0 && !is_straight((const Node *)loop) && loop->kind != LOOP_TENSORIZED;
}

static bool check_register_index(NestState *state, const StageState *stage, const StageState *user, const Form *index,
                                 int d) {
    Forms *forms = &state->forms;
    if (index == NULL)
        return refuse_stage(state, stage,
                            "%s lives in registers but %s indexes it by what is not known at compile time", stage->name,
                            user->name);
    const Loop *loop = form_find_loop(form_add_scaled(forms, index, -1, stage->origin[d]), is_rolled, NULL);
    if (loop == NULL)
        return true;
    return refuse_stage(state, stage,
                        "%s lives in registers, but the loop %s, which indexes it, is neither unrolled nor vectorized",
                        stage->name, loop_text(state, (const Node *)loop));
}

/* Registers belong to one thread: inside the place of the buffer no loop of a user may be shared out. */
static bool check_register_threads(NestState *state, const StageState *stage, const StageState *user) {
    const Node *node = user->leaves.count > 0 ? user->leaves.items[user->leaves.count - 1] : user->at;
    for (; node != NULL && node != stage->at; node = next_outer(node))
        if (node->loop.kind == LOOP_PARALLEL)
            return refuse(state,
                          "%s lives in registers, but the loop %s, which uses it, is parallel: a thread has its own",
                          stage->name, loop_text(state, node));
    return true;
}

static bool check_register_reader(NestState *state, const StageState *stage, const StageState *reader) {
    for (int k = 0; k < reader->accesses.count && !reader->nest.inlined; k++) {
        const NestRead *access = &reader->accesses.items[k];
        if (access->producer != stage)
            continue;
        if (!check_register_threads(state, stage, reader))
            return false;
        for (int d = 0; d < stage->tensor->rank; d++)
            if (!check_register_index(state, stage, reader, access_form(state, reader, access, d), d))
                return false;
    }
    return true;
}

static bool is_aligned(const StageState *stage) {
    for (int i = 0; stage->order != NULL && i < stage->order->count; i++)
        if (stage->order->parts[i].align != 0)
            return true;
    return false;
}

static bool check_register(NestState *state, const StageState *stage) {
    if (is_aligned(stage))
        return refuse_stage(state, stage, "%s lives in registers, which have no strides for storage_align to change",
                            stage->name);
    int64_t elements = buffer_elements(stage);
    if (elements < 0 || elements > REGISTER_LIMIT)
        return refuse_stage(state, stage,
                            elements < 0 ? "%s cannot live in registers: its size is known only at run time"
                                         : "%s cannot live in registers: it has more than %d elements",
                            stage->name, REGISTER_LIMIT);
    for (int d = 0; d < stage->tensor->rank; d++)
        if (!check_register_index(state, stage, stage, stage->axes[d], d))
            return false;
    const StageState *first = stage->initialisation;
    for (int d = 0; first != NULL && d < stage->tensor->rank; d++)
        if (!check_register_index(state, stage, first, first->axes[d], d))
            return false;
    for (int i = 0; i < stage->readers.count; i++)
        if (!check_register_reader(state, stage, stage->readers.items[i]))
            return false;
    return check_register_threads(state, stage, stage);
}

/* Bytes of an element of the widest component. */
static int64_t component_bytes(const StageState *stage) {
    int bytes = 0;
    for (int c = 0; c < stage->nest.stage->component_count; c++) {
        int own = element_info[stage->nest.stage->components[c].tensor->type].bytes;
        bytes = own > bytes ? own : bytes;
    }
    return bytes;
}

static bool check_scope(NestState *state, const StageState *stage) {
    if (!stage->scope_set || stage->scope == SCOPE_GLOBAL)
        return true;
    if (stage->scope == SCOPE_REGISTER)
        return check_register(state, stage);
    int64_t elements = buffer_elements(stage), bytes;
    if (elements < 0 || __builtin_mul_overflow(elements, component_bytes(stage), &bytes) || bytes > STACK_LIMIT)
        return refuse_stage(state, stage, "%s does not fit on the stack, where scope local puts it: %s", stage->name,
                            elements < 0 ? "its size is known only at run time" : "it takes more than 1 MiB");
    return true;
}

/* --- the order of strict reductions ------------------------------------------------------------------------------- */

void list_leaves(Arena *arena, const Node *node, NodeList *list) {
    const Relation *relation = node->taken;
    if (relation == NULL) {
        if (list->count == 0 || list->items[list->count - 1] != node)
            list_push(arena, list, node);
    } else if (relation->kind == RELATION_FUSE) {
        if (relation->parts[0] == node)
            list_leaves(arena, relation->whole, list);
    } else {
        for (int k = 0; k < relation->count; k++)
            list_leaves(arena, relation->parts[k], list);
    }
}

/* The reason for keeping the order. */
static const char *order_reason(NestState *state, const Stage *stage) {
    const Combiner *combiner = stage->combiner;
    if (combiner != NULL && !(combiner->associative && combiner->commutative))
        return state_text(state, "%s, which is not declared associative and commutative, does not allow",
                          combiner->name);
    return "-fstrict forbids";
}

/* Lists the loops that a reduction is made of, those of stages that store its partial results included. */
static void list_reduced(NestState *state, const Node *node, NodeList *list) {
    NodeList own = {0};
    list_leaves(state->arena, node, &own);
    for (int i = 0; i < own.count; i++)
        if (own.items[i]->link != NULL)
            list_reduced(state, own.items[i]->link, list);
        else if (list->count == 0 || list->items[list->count - 1] != own.items[i])
            list_push(state->arena, list, own.items[i]);
}

/* Lists the reduction loops that a stage runs in: those of the stages that store its partial results, then its own. */
static void list_running(NestState *state, const StageState *stage, NodeList *list) {
    if (resumed_stage(stage) != NULL)
        list_running(state, resumed_stage(stage), list);
    for (int i = 0; i < stage->leaves.count; i++)
        if (stage->leaves.items[i]->loop.reduction)
            list_push(state->arena, list, stage->leaves.items[i]);
}

static bool check_order(NestState *state, const StageState *stage) {
    const Stage *computed = stage->nest.stage;
    if (!stage_is_ordered(state->nest.program, computed))
        return true;
    NodeList order = {0}, running = {0};
    for (int r = computed->axis_count; r < stage->root_count; r++)
        list_reduced(state, stage->roots[r], &order);
    list_running(state, stage, &running);
    for (int i = 0; i < running.count && i < order.count; i++)
        if (running.items[i] != order.items[i])
            return refuse(state,
                          "the reduction loops of %s run in another order than the source's, which %s: %s comes first",
                          stage->name, order_reason(state, computed), loop_text(state, order.items[i]));
    return true;
}

/* A stage that goes on from partial results reads those of all its elements. Iterations of a parallel loop around it
 * must each have their own: others store theirs meanwhile. */
static bool check_resumed(NestState *state, const StageState *stage) {
    if (resumed_stage(stage) == NULL)
        return true;
    for (const Node *node = stage->at; node != NULL; node = next_outer(node))
        if (node->loop.kind == LOOP_PARALLEL && !counts_loop(stage, node))
            return refuse_loop(state, node,
                               "%s is parallel around %s, which goes on from partial results of all its iterations",
                               loop_text(state, node), stage->name);
    return true;
}

/* --- what the caller's buffer held -------------------------------------------------------------------------------- */

static bool is_same_element(const Stage *stage, const Expr *read) {
    for (int d = 0; d < read->count; d++)
        if (!stage_index_is_axis(stage, read->args[d], d))
            return false;
    return read->otherwise == NULL;
}

/* Whether the loop is one over which the stage goes on from partial results: it begins only in its first iteration. */
static bool goes_on_over(const StageState *stage, const Node *node) {
    for (const StageState *held = resumed_stage(stage); held != NULL; held = resumed_stage(held))
        if (node->loop.reduction && stage_of(node) == held)
            return true;
    return false;
}

/* Whether each element is computed once, or begun once (initial): its indices count all loops around it, up to the
 * writer of the output. */
static bool computes_once(Forms *forms, const StageState *stage, const StageState *writer, bool initial) {
    if (shifts(forms, writer))
        return false;
    for (const StageState *owner = stage; owner != writer; owner = owner->owner)
        if (owner->owner == NULL || shifts(forms, owner))
            return false;
    for (const Node *node = stage->at; node != NULL; node = next_outer(node))
        if (!counts_loop(stage, node) && !(initial && goes_on_over(stage, node)))
            return false;
    return true;
}

/* A reduction overwrites its elements from its first step on: the caller's values must be read before that. */
static bool reads_in_time(const StageState *stage, const NestRead *access, const StageState *writer) {
    if (writer->nest.stage->combine == COMBINE_NONE || stage->updates == writer)
        return true;
    if (stage == writer || writer->initialisation != NULL)
        return stage == writer && access->initial;
    for (const Node *node = stage->at; node != NULL; node = next_outer(node))
        if (node->loop.reduction)
            return false;
    return true;
}

/* Whether it is read before the first nest that overwrites the buffer, which may be that of the initialisation, or by
 * the initialisation itself: each element before it begins that one. */
static bool reads_before(const StageState *stage, const StageState *writer) {
    const StageState *first = writer->initialisation ? root_of(writer->initialisation) : writer;
    const StageState *root = root_of(stage);
    return (root != first && root->turn < first->turn) || (first != writer && stage == writer->initialisation);
}

/* Before the writer's nest all may be read; inside it only the element that is written, and only once. A part of a
 * program may lack the writer: the whole is checked with it. */
static bool check_initial_read(NestState *state, const StageState *stage, const NestRead *access) {
    const Expr *read = access->read;
    const StageState *writer = state_producer(state, read->tensor->buffer), *root = root_of(stage);
    if (!writer || reads_before(stage, writer))
        return true;
    if (is_same_element(stage->nest.stage, read) && computes_once(&state->forms, stage, writer, access->initial) &&
        reads_in_time(stage, access, writer))
        return true;
    return refuse(state, "%s reads what the caller's buffer of %s held where the nest of %s overwrites it", stage->name,
                  writer->name, root->name);
}

static bool check_initial_reads(NestState *state, const StageState *stage) {
    for (int i = 0; i < stage->accesses.count; i++)
        if (stage->accesses.items[i].read->tensor->role == ROLE_INITIAL &&
            !check_initial_read(state, stage, &stage->accesses.items[i]))
            return false;
    return true;
}

bool check_loops(NestState *state) {
    for (int i = 0; i < state->stages.count; i++) {
        StageState *stage = state->stages.items[i];
        if (stage->nest.inlined)
            continue;
        if (!check_owner(state, stage) || !check_initialisation(state, stage) || !check_tails(state, stage) ||
            !check_kinds(state, stage) || !check_bound(state, stage) || !check_tensorized(state, stage) ||
            !check_copies(state, stage) || !check_scope(state, stage) || !check_steps_order(state, stage) ||
            !check_steps_box(state, stage) || !check_order(state, stage) || !check_resumed(state, stage) ||
            !check_initial_reads(state, stage))
            return false;
    }
    return !state->forms.overflow || refuse(state, "an index would not fit into 64 bits");
}
