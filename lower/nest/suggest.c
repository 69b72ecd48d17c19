/* suggest.c - statements like a refused one, for the reader to choose from. Only legal ones are shown.
 *
 * Candidates keep the primitive and change the loop. Those nearest to the refused statement come first.
 */
#include "lower/nest/state.h"

#include <ctype.h>
#include <string.h>

typedef struct Suggestions {
    NestState *state;
    const Prim *prim;
    Prim *items;
    int count, limit;
} Suggestions;

static const char *path_of(NestState *state, const Node *node) {
    return arena_printf(state->arena, "%s.%s", stage_of(node)->name, node->variable.name);
}

/* The statement with another loop as argument number `index`. */
static void suggest_loop(Suggestions *list, int index, const Node *node) {
    if (list->count == list->limit)
        return;
    Arena *arena = list->state->arena;
    Prim *copy = &list->items[list->count++];
    *copy = *list->prim;
    copy->args = ARENA_ARRAY(arena, PrimArg, copy->arg_count);
    memcpy(copy->args, list->prim->args, sizeof(PrimArg) * (size_t)copy->arg_count);
    copy->args[index].kind = ARG_NAME;
    copy->args[index].name = path_of(list->state, node);
}

static Prim *suggest_changed(Suggestions *list) {
    if (list->count == list->limit)
        return NULL;
    Prim *copy = &list->items[list->count++];
    *copy = *list->prim;
    copy->args = ARENA_ARRAY(list->state->arena, PrimArg, copy->arg_count);
    memcpy(copy->args, list->prim->args, sizeof(PrimArg) * (size_t)copy->arg_count);
    return copy;
}

static void suggest_stage(Suggestions *list, const char *name) {
    Prim *copy = suggest_changed(list);
    if (copy != NULL)
        copy->args[0].name = name;
}

static void suggest_number(Suggestions *list, int index, int64_t value) {
    Prim *copy = suggest_changed(list);
    if (copy != NULL)
        copy->args[index] = (PrimArg){.kind = ARG_INT, .key = copy->args[index].key, .value = value};
}

/* The statement without one of its arguments. */
static void suggest_without(Suggestions *list, int index) {
    Prim *copy = suggest_changed(list);
    if (copy != NULL)
        prim_remove_argument(copy, index);
}

/* Every loop of a stage in place of an argument, from the innermost or the outermost. */
static void suggest_loops_of(Suggestions *list, int index, const StageState *stage, bool innermost_first) {
    for (int i = 0; i < stage->leaves.count; i++)
        suggest_loop(list, index, stage->leaves.items[innermost_first ? stage->leaves.count - 1 - i : i]);
}

static StageState *stage_named(const NestState *state, const char *name, size_t length) {
    for (int i = 0; i < state->stages.count; i++) {
        StageState *stage = state->stages.items[i];
        if (strlen(stage->name) == length && strncmp(stage->name, name, length) == 0)
            return stage;
    }
    return NULL;
}

/* The stage that a loop's name means, even if the name is wrong. */
static StageState *stage_of_argument(const NestState *state, const PrimArg *arg) {
    if (arg->kind != ARG_NAME)
        return NULL;
    for (int i = 0; i < state->aliases.count; i++)
        if (state->aliases.items[i].node != NULL && strcmp(state->aliases.items[i].name, arg->name) == 0)
            return stage_of(state->aliases.items[i].node);
    for (size_t length = strlen(arg->name); length > 0; length--) {
        StageState *stage = arg->name[length] == '.' ? stage_named(state, arg->name, length) : NULL;
        if (stage != NULL)
            return stage;
    }
    return state->stages.count == 1 ? state->stages.items[0] : NULL;
}

static int index_of(const Prim *prim, const PrimArg *arg) {
    return (int)(arg - prim->args);
}

/* unroll, vectorize, parallel, split: another loop of the stage. */
static void suggest_other_loops(Suggestions *list) {
    bool innermost_first = list->prim->op == PRIM_VECTORIZE || list->prim->op == PRIM_UNROLL;
    const PrimArg *arg = positional(list->prim, 0);
    for (; arg != NULL; arg = next_positional(list->prim, arg)) {
        StageState *stage = stage_of_argument(list->state, arg);
        if (stage != NULL)
            suggest_loops_of(list, index_of(list->prim, arg), stage, innermost_first);
        if (list->prim->op == PRIM_SPLIT || list->prim->op == PRIM_PARTITION || list->prim->op == PRIM_BIND)
            break;
    }
}

static void keep_first_positional(Prim *prim) {
    int kept = 0;
    for (int i = 0; i < prim->arg_count; i++)
        if (i == 0 || prim->args[i].key != NULL)
            prim->args[kept++] = prim->args[i];
    prim->arg_count = kept;
}

/* rfactor: each reduction loop of the stage. */
static void suggest_reductions(Suggestions *list) {
    const PrimArg *arg = positional(list->prim, 0);
    const StageState *stage = stage_of_argument(list->state, arg);
    for (int i = stage != NULL ? stage->leaves.count - 1 : -1; i >= 0; i--) {
        if (!stage->leaves.items[i]->loop.reduction)
            continue;
        int before = list->count;
        suggest_loop(list, 0, stage->leaves.items[i]);
        for (int k = before; k < list->count; k++)
            keep_first_positional(&list->items[k]);
    }
}

static Prim prim_of(Suggestions *list, PrimOp op, int result_count, int arg_count) {
    Prim prim = {.op = op, .result_count = result_count, .arg_count = arg_count, .loc = list->prim->loc};
    prim.args = ARENA_ARRAY(list->state->arena, PrimArg, arg_count);
    prim.results = ARENA_ARRAY(list->state->arena, const char *, result_count);
    return prim;
}

/* A name for the result of a suggested primitive: "t.e[1]" and "copy" give t_e_1__copy. */
static const char *made_name(Suggestions *list, const char *stage, const char *what) {
    char *name = arena_printf(list->state->arena, "%s_%s", stage, what);
    for (char *at = name; *at != '\0'; at++)
        if (!isalnum((unsigned char)*at))
            *at = '_';
    return name;
}

static void suggest(Suggestions *list, Prim prim) {
    if (list->count < list->limit)
        list->items[list->count++] = prim;
}

/* The statement with another word as its last positional argument. */
static void suggest_word(Suggestions *list, const char *word) {
    const PrimArg *last = positional(list->prim, positional_count(list->prim) - 1);
    Prim copy = *list->prim;
    copy.args = ARENA_ARRAY(list->state->arena, PrimArg, copy.arg_count);
    memcpy(copy.args, list->prim->args, sizeof(PrimArg) * (size_t)copy.arg_count);
    copy.args[index_of(list->prim, last)].name = word;
    suggest(list, copy);
}

static const Node *loop_of_argument(const NestState *state, const PrimArg *arg) {
    const StageState *stage = arg->kind == ARG_NAME ? stage_of_argument(state, arg) : NULL;
    const char *dot = stage != NULL ? strrchr(arg->name, '.') : NULL;
    for (int i = 0; stage != NULL && i < stage->leaves.count; i++) {
        const char *name = stage->leaves.items[i]->variable.name;
        if (strcmp(name, dot != NULL ? dot + 1 : arg->name) == 0)
            return stage->leaves.items[i];
    }
    return NULL;
}

/* An output cannot change: suggests a buffer that is written first, in the wanted scope or another. */
static void suggest_written_first(Suggestions *list) {
    const char *what = positional(list->prim, 0)->name;
    const PrimArg *last = positional(list->prim, positional_count(list->prim) - 1);
    const StageState *stage = stage_named(list->state, what, strlen(what));
    if (stage == NULL || stage_output(stage->nest.stage) == NULL)
        return;
    bool set_scope = list->prim->op == PRIM_SET_SCOPE;
    const Node *place = set_scope ? NULL : loop_of_argument(list->state, last);
    PrimArg key = {.kind = ARG_NAME, .key = set_scope ? "scope" : "at", .name = last->name};
    bool keyed = set_scope || (place != NULL && stage_of(place) == stage);
    for (int argument = keyed; argument >= 0; argument--) {
        Prim cache = prim_of(list, PRIM_CACHE_WRITE, 1, 1 + argument);
        cache.results[0] = made_name(list, stage->name, "copy");
        cache.args[0] = *positional(list->prim, 0);
        if (argument)
            cache.args[1] = key;
        suggest(list, cache);
    }
}

/* A reorder that makes the loop innermost and leaves all others as they are. */
static void suggest_innermost(Suggestions *list, const Node *node) {
    const StageState *stage = stage_of(node);
    Prim order = prim_of(list, PRIM_REORDER, 0, stage->leaves.count);
    int count = 0;
    for (int i = 0; i < stage->leaves.count; i++)
        if (stage->leaves.items[i] != node)
            order.args[count++] = arg_name(path_of(list->state, stage->leaves.items[i]));
    order.args[count] = arg_name(path_of(list->state, node));
    suggest(list, order);
}

/* A split that gives an inner loop of constant extent. */
static void suggest_split(Suggestions *list, const Node *node) {
    Arena *arena = list->state->arena;
    Prim split = prim_of(list, PRIM_SPLIT, 2, 2);
    split.args[0] = arg_name(path_of(list->state, node));
    split.args[1] = arg_int(8);
    split.results[0] = arena_printf(arena, "%so", node->variable.name);
    split.results[1] = arena_printf(arena, "%si", node->variable.name);
    suggest(list, split);
}

/* vectorize, unroll: another loop, or first a primitive that makes this one legal. */
static void suggest_straight(Suggestions *list) {
    suggest_other_loops(list);
    const Node *node = loop_of_argument(list->state, positional(list->prim, 0));
    if (node != NULL && list->prim->op == PRIM_VECTORIZE && !node->loop.reduction)
        suggest_innermost(list, node);
    if (node != NULL && (node->loop.extent < 0 || node->loop.extent > 16))
        suggest_split(list, node);
}

/* parallel: another loop; inside a parallel one, what a thread can do by itself. */
static void suggest_shared(Suggestions *list) {
    suggest_other_loops(list);
    const Node *node = loop_of_argument(list->state, positional(list->prim, 0));
    if (node == NULL || node->loop.reduction)
        return;
    Prim vectorize = prim_of(list, PRIM_VECTORIZE, 0, 1), unroll = prim_of(list, PRIM_UNROLL, 0, 2);
    vectorize.args[0] = unroll.args[0] = arg_name(path_of(list->state, node));
    unroll.args[1] = (PrimArg){.kind = ARG_INT, .key = "factor", .value = 4};
    suggest(list, vectorize);
    suggest(list, unroll);
}

/* bind, set_scope: another word in the last place; on a CPU parallel loops in place of bound ones. */
static void suggest_words(Suggestions *list) {
    static const char *const scopes[] = {"local", "register", "global"};
    bool bind = list->prim->op == PRIM_BIND, device = state_for_device(list->state);
    for (int i = 0; bind && device && i < LOOP_KIND_COUNT - LOOP_BLOCK_X; i++)
        suggest_word(list, loop_kind_words[LOOP_BLOCK_X + i]);
    for (int i = 0; !bind && i < 3; i++)
        suggest_word(list, scopes[i]);
    if (bind && device)
        suggest_other_loops(list);
    if (!bind || device)
        return;
    Prim parallel = prim_of(list, PRIM_PARALLEL, 0, 1);
    parallel.args[0] = *positional(list->prim, 0);
    suggest(list, parallel);
    Suggestions others = *list;
    others.prim = &parallel;
    suggest_other_loops(&others);
    list->count = others.count;
}

/* fuse: pairs of adjacent loops. */
static void suggest_pairs(Suggestions *list) {
    StageState *stage = stage_of_argument(list->state, positional(list->prim, 0));
    for (int i = 0; stage != NULL && i + 1 < stage->leaves.count && list->count < list->limit; i++) {
        Prim pair = *list->prim;
        pair.arg_count = 2;
        pair.args = ARENA_ARRAY(list->state->arena, PrimArg, 2);
        for (int k = 0; k < 2; k++)
            pair.args[k] = arg_name(path_of(list->state, stage->leaves.items[i + k]));
        list->items[list->count++] = pair;
    }
}

static void suggest_readers(Suggestions *list, int index, const Tensor *tensor, const StageState *but) {
    for (int i = 0; tensor != NULL && i < list->state->stages.count; i++)
        if (list->state->stages.items[i] != but && reads_tensor(list->state->stages.items[i], tensor))
            suggest_loops_of(list, index, list->state->stages.items[i], true);
}

static const Tensor *tensor_named(const NestState *state, const char *name) {
    const StageState *stage = stage_named(state, name, strlen(name));
    const Program *program = state->nest.program;
    for (int i = 0; stage == NULL && i < program->tensor_count; i++)
        if (strcmp(program->tensors[i]->name, name) == 0)
            return program->tensors[i];
    return stage != NULL ? stage->tensor : NULL;
}

/* compute_at: the loops of the named stage, then of every consumer; or inlining. */
static void suggest_places(Suggestions *list) {
    const PrimArg *what = positional(list->prim, 0), *where = positional(list->prim, 1);
    StageState *named = stage_of_argument(list->state, where);
    if (named != NULL)
        suggest_loops_of(list, index_of(list->prim, where), named, true);
    suggest_readers(list, index_of(list->prim, where), tensor_named(list->state, what->name), named);
    Prim inlined = prim_of(list, PRIM_INLINE, 0, 1);
    inlined.args[0] = *what;
    suggest(list, inlined);
}

/* decompose: the loops of the stage, outermost first. */
static void suggest_own_loops(Suggestions *list) {
    const char *what = positional(list->prim, 0)->name;
    const StageState *stage = stage_named(list->state, what, strlen(what));
    if (stage != NULL)
        suggest_loops_of(list, index_of(list->prim, positional(list->prim, 1)), stage, false);
}

/* reverse_inline: computes what the stage reads in its loops, or stores it apart first. */
static void suggest_producers(Suggestions *list) {
    const char *what = positional(list->prim, 0)->name;
    const StageState *stage = stage_named(list->state, what, strlen(what));
    for (int k = 0; stage != NULL && k < stage->accesses.count; k++) {
        StageState *producer = stage->accesses.items[k].producer;
        bool known = producer == NULL || producer->nest.inlined;
        for (int before = 0; before < k; before++)
            known |= stage->accesses.items[before].producer == producer;
        if (known)
            continue;
        PrimArg name = {.kind = ARG_NAME, .name = producer->name};
        Prim place = prim_of(list, PRIM_COMPUTE_AT, 0, 2), cache = prim_of(list, PRIM_CACHE_WRITE, 1, 1);
        cache.results[0] = made_name(list, producer->name, "part");
        place.args[0] = cache.args[0] = name;
        Suggestions places = *list;
        places.prim = &place;
        suggest_loops_of(&places, 1, stage, true);
        list->count = places.count;
        if (producer->nest.stage->combine != COMBINE_NONE)
            suggest(list, cache);
    }
}

/* store_at: the loops around the stage's place, innermost first, and the root. */
static void suggest_homes(Suggestions *list) {
    const char *what = positional(list->prim, 0)->name;
    const StageState *stage = stage_named(list->state, what, strlen(what));
    int index = index_of(list->prim, positional(list->prim, 1));
    while (stage != NULL && stage->at != NULL) {
        const StageState *parent = stage_of(stage->at);
        for (int i = leaf_index(parent, stage->at) - (stage->at == parent->leaves.items[0] ? 0 : 1); i >= 0; i--)
            suggest_loop(list, index, parent->leaves.items[i]);
        stage = parent;
    }
    if (list->count == list->limit)
        return;
    Prim root = *list->prim;
    root.args = ARENA_ARRAY(list->state->arena, PrimArg, root.arg_count);
    memcpy(root.args, list->prim->args, sizeof(PrimArg) * (size_t)root.arg_count);
    root.args[index].name = "root";
    suggest(list, root);
}

/* inline, or before double_buffer: computes the stage where it is read. */
static void suggest_where_read(Suggestions *list) {
    Prim place = prim_of(list, PRIM_COMPUTE_AT, 0, 2);
    place.args[0] = *positional(list->prim, 0);
    Suggestions places = *list;
    places.prim = &place;
    suggest_readers(&places, 1, tensor_named(list->state, place.args[0].name), NULL);
    list->count = places.count;
}

/* The loops outside of the reduction first: what is stored there is complete. */
static void suggest_complete(Suggestions *list, int index, const StageState *stage) {
    int first = first_reduction(stage);
    for (int i = first - 1; i >= 0; i--)
        suggest_loop(list, index, stage->leaves.items[i]);
    for (int i = stage->leaves.count - 1; i >= first; i--)
        suggest_loop(list, index, stage->leaves.items[i]);
}

/* cache_write, cache_read: another loop for at=. */
static void suggest_at(Suggestions *list) {
    const PrimArg *at = prim_keyword(list->prim, "at");
    if (at == NULL)
        return;
    const char *what = positional(list->prim, 0)->name;
    StageState *stage = list->prim->op == PRIM_CACHE_WRITE ? stage_named(list->state, what, strlen(what)) : NULL;
    if (stage == NULL)
        stage = stage_of_argument(list->state, at);
    if (stage != NULL && list->prim->op == PRIM_CACHE_WRITE)
        suggest_complete(list, index_of(list->prim, at), stage);
    else if (stage != NULL)
        suggest_loops_of(list, index_of(list->prim, at), stage, true);
    if (list->prim->op == PRIM_CACHE_READ)
        suggest_readers(list, index_of(list->prim, at), tensor_named(list->state, what), stage);
}

/* reorder: the loops of the stage in their order, reductions innermost, as a start. */
static void suggest_order(Suggestions *list) {
    StageState *stage = stage_of_argument(list->state, positional(list->prim, 0));
    if (stage == NULL)
        return;
    Prim order = *list->prim;
    order.arg_count = 0;
    order.args = ARENA_ARRAY(list->state->arena, PrimArg, stage->leaves.count);
    for (int reduction = 0; reduction < 2; reduction++)
        for (int i = 0; i < stage->leaves.count; i++)
            if (stage->leaves.items[i]->loop.reduction == (reduction == 0))
                order.args[order.arg_count++] = arg_name(path_of(list->state, stage->leaves.items[i]));
    suggest(list, order);
}

/* The dimensions in reversed order. */
static void suggest_reversed(Suggestions *list, int index, const Tensor *tensor) {
    Prim *copy = suggest_changed(list);
    if (copy == NULL)
        return;
    PrimArg *items = ARENA_ARRAY(list->state->arena, PrimArg, tensor->rank);
    for (int d = 0; d < tensor->rank; d++)
        items[tensor->rank - 1 - d] = arg_name(arena_printf(list->state->arena, "d%d", d));
    copy->args[index] =
        (PrimArg){.kind = ARG_LIST, .key = copy->args[index].key, .count = tensor->rank, .items = items};
}

/* The statement for a copy or buffer that the compiler owns, or for another stage. */
static void suggest_stored(Suggestions *list) {
    const Tensor *tensor = tensor_named(list->state, positional(list->prim, 0)->name);
    StageState *writer = tensor != NULL ? state_producer(list->state, tensor) : NULL;
    if (tensor != NULL && (writer == NULL || tensor->role == ROLE_OUTPUT)) {
        bool layout = writer == NULL && list->prim->op == PRIM_LAYOUT;
        Prim copy = prim_of(list, writer == NULL ? PRIM_CACHE_READ : PRIM_CACHE_WRITE, 1, 1 + layout);
        copy.results[0] = made_name(list, tensor->name, "copy");
        copy.args[0] = *positional(list->prim, 0);
        if (layout) {
            copy.args[1] = *positional(list->prim, 1);
            copy.args[1].key = "layout";
        }
        suggest(list, copy);
    }
    for (int i = 0; i < list->state->stages.count && list->count < list->limit; i++) {
        StageState *stage = list->state->stages.items[i];
        if (stage->tensor != tensor)
            suggest_stage(list, stage->name);
    }
    if (list->prim->op == PRIM_STORAGE_ALIGN && writer != NULL)
        suggest_number(list, 2, 16);
    if (list->prim->op == PRIM_LAYOUT && tensor != NULL && (writer != NULL || tensor->role == ROLE_CONSTANT))
        suggest_reversed(list, index_of(list->prim, positional(list->prim, 1)), tensor);
    for (int d = 0; list->prim->op == PRIM_STORAGE_ALIGN && writer != NULL && d < tensor->rank; d++)
        suggest_number(list, 1, d);
}

/* tensorize: a layout in which an operand lies as the instruction wants it, another instruction, another loop. */
static void suggest_instrs(Suggestions *list) {
    const Program *program = list->state->nest.program;
    const PrimArg *loop = positional(list->prim, 0), *instr = positional(list->prim, 1);
    const Node *node = loop_of_argument(list->state, loop);
    if (node != NULL)
        list->count +=
            suggest_layouts(list->state, node, instr->name, list->items + list->count, list->limit - list->count);
    for (int i = 0; i < program->instr_count && list->count < list->limit; i++) {
        Prim copy = prim_of(list, PRIM_TENSORIZE, 0, 2);
        copy.args[0] = *loop;
        copy.args[1] = arg_name(program->instrs[i]->name);
        if (strcmp(program->instrs[i]->name, instr->name) != 0)
            suggest(list, copy);
    }
    StageState *stage = stage_of_argument(list->state, loop);
    if (stage != NULL)
        suggest_loops_of(list, index_of(list->prim, loop), stage, true);
}

static int keyword_index(const Prim *prim, const char *key) {
    const PrimArg *arg = prim_keyword(prim, key);
    return arg != NULL ? index_of(prim, arg) : -1;
}

/* split, tile: another tail, other sizes, other loops. */
static void suggest_tails(Suggestions *list) {
    static const char *const tails[] = {"guard", "mask", "shift"};
    int tail = keyword_index(list->prim, "tail");
    for (int i = 0; tail >= 0 && i < 3; i++) {
        Prim *copy = suggest_changed(list);
        if (copy != NULL)
            copy->args[tail].name = tails[i];
    }
    for (int64_t size = 8; list->prim->op == PRIM_SPLIT && positional_count(list->prim) == 2 && size >= 2; size /= 2)
        suggest_number(list, index_of(list->prim, positional(list->prim, 1)), size);
    suggest_other_loops(list);
}

/* unroll: another factor, or as vectorize. */
static void suggest_unrolls(Suggestions *list) {
    int factor = keyword_index(list->prim, "factor");
    for (int64_t value = 8; factor >= 0 && value >= 2; value /= 2)
        suggest_number(list, factor, value);
    suggest_straight(list);
}

/* partition: one cut in the middle or before the last value, then the same cuts of other loops. */
static void suggest_cuts(Suggestions *list) {
    const Node *node = loop_of_argument(list->state, positional(list->prim, 0));
    for (int i = 0; node != NULL && i < 2; i++) {
        Prim cut = prim_of(list, PRIM_PARTITION, 0, 2);
        cut.args[0] = *positional(list->prim, 0);
        cut.args[1] = arg_int(i == 0 ? node->loop.extent / 2 : -1);
        if (cut.args[1].value != 0)
            suggest(list, cut);
    }
    suggest_other_loops(list);
}

/* prefetch: the next iteration, then other loops that read the tensor, or that fetch parts; or no parts. */
static void suggest_prefetches(Suggestions *list) {
    suggest_number(list, index_of(list->prim, positional(list->prim, 2)), 1);
    const Tensor *tensor = tensor_named(list->state, positional(list->prim, 0)->name);
    const PrimArg *at = prim_keyword(list->prim, "at");
    if (at != NULL)
        suggest_readers(list, index_of(list->prim, at), tensor, NULL);
    suggest_readers(list, index_of(list->prim, positional(list->prim, 1)), tensor, NULL);
    if (at != NULL)
        suggest_without(list, index_of(list->prim, at));
}

/* compute_root: the stages that are computed at loops. */
static void suggest_placed(Suggestions *list) {
    for (int i = 0; i < list->state->stages.count; i++)
        if (list->state->stages.items[i]->at != NULL)
            suggest_stage(list, list->state->stages.items[i]->name);
}

/* Whether the primitive is refused for outputs because it moves the stage. */
static bool moves_stage(PrimOp op) {
    return op == PRIM_INLINE || op == PRIM_COMPUTE_AT || op == PRIM_STORE_AT || op == PRIM_DOUBLE_BUFFER ||
           op == PRIM_SET_SCOPE;
}

/* If the statement names a stage that does not exist: the stages that do. */
static void suggest_stages(Suggestions *list) {
    const PrimArg *first = positional(list->prim, 0);
    if (prim_info[list->prim->op].positional[0] != 'T' || tensor_named(list->state, first->name) != NULL)
        return;
    for (int i = 0; i < list->state->stages.count; i++)
        suggest_stage(list, list->state->stages.items[i]->name);
}

/* The statement with the loops that its wrong names are nearest to. */
static void suggest_meant(Suggestions *list) {
    const char *kinds = prim_info[list->prim->op].positional;
    const PrimArg *arg = positional(list->prim, 0);
    Prim *copy = NULL;
    for (int kind = 0; arg != NULL; arg = next_positional(list->prim, arg)) {
        bool wrong = kinds[kind] == 'L' && arg->kind == ARG_NAME && loop_of_argument(list->state, arg) == NULL;
        const Node *meant = wrong ? loop_meant(list->state, arg->name) : NULL;
        if (meant != NULL && (copy = copy ? copy : suggest_changed(list)) != NULL)
            copy->args[index_of(list->prim, arg)].name = path_of(list->state, meant);
        kind += isalpha((unsigned char)kinds[kind + 1]) != 0;
    }
}

/* The copy in reversed order, or the buffer without a scope. */
static void suggest_keywords(Suggestions *list) {
    int layout = keyword_index(list->prim, "layout"), scope = keyword_index(list->prim, "scope");
    const Tensor *tensor = layout >= 0 ? tensor_named(list->state, positional(list->prim, 0)->name) : NULL;
    if (tensor != NULL)
        suggest_reversed(list, layout, tensor);
    if (scope >= 0)
        suggest_without(list, scope);
}

static void suggest_nothing(Suggestions *list) {
    (void)list;
}

int suggest_prims(NestState *state, const Prim *prim, Prim *candidates, int limit) {
    static void (*const suggesters[])(Suggestions *) = {
#define PRIMITIVE(id, spelling, positional, results, suggester, summary) [PRIM_##id] = suggest_##suggester,
#include "lang/prims.def"
#undef PRIMITIVE
    };
    Suggestions list = {.state = state, .prim = prim, .items = candidates, .limit = limit};
    if (positional_count(prim) == 0 || positional(prim, 0)->kind != ARG_NAME)
        return 0;
    suggest_meant(&list);
    if (moves_stage(prim->op))
        suggest_written_first(&list);
    suggest_stages(&list);
    suggesters[prim->op](&list);
    suggest_keywords(&list);
    return list.count;
}

bool prim_names_tree(const NestState *state, const Prim *prim, const NestStage *root) {
    for (int i = 0; i < prim->arg_count; i++) {
        const PrimArg *arg = &prim->args[i];
        const StageState *stage = arg->kind == ARG_NAME ? stage_named(state, arg->name, strlen(arg->name)) : NULL;
        if (stage == NULL)
            stage = stage_of_argument(state, arg);
        while (stage != NULL && stage->at != NULL)
            stage = stage_of(stage->at);
        if (stage != NULL && &stage->nest == root)
            return true;
    }
    return false;
}
