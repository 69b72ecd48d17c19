/* state.c - stages and loops of a nest that is being built, and the texts that refusals name them by. */
#include "lower/nest/state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- refusing ----------------------------------------------------------------------------------------------------- */

static bool holds_arg(const PrimArg *args, int count, const PrimArg *arg) {
    for (int i = 0; i < count; i++)
        if (&args[i] == arg || holds_arg(args[i].items, args[i].count, arg))
            return true;
    return false;
}

/* The argument of the last primitive to blame: this one, else the one that names the loop or stage, else, for rules of
 * the whole nest, the only argument. */
static const PrimArg *blamed(const NestState *state, const PrimArg *arg, const Node *node, const StageState *stage) {
    const Prim *prim = state->last;
    if (prim == NULL)
        return NULL;
    if (arg != NULL && holds_arg(prim->args, prim->arg_count, arg))
        return arg;
    for (int i = 0; i < state->named.count; i++) {
        const Named *named = &state->named.items[i];
        if ((node != NULL && named->node == node) || (stage != NULL && named->stage == stage))
            return named->arg;
    }
    return prim->arg_count == 1 && state->prim < 0 ? &prim->args[0] : NULL;
}

static bool refuse_words(NestState *state, const PrimArg *arg, const PrimArg *cause, const char *format,
                         va_list arguments) {
    Refusal *refusal = state->refusal;
    refusal->prim = state->prim;
    refusal->arg = arg;
    refusal->cause = cause;
    refusal->format = format;
    if (refusal->wanted)
        refusal->rule = arena_vprintf(state->arena, format, arguments);
    return false;
}

#define REFUSE(arg, node, stage)                                                                                       \
    va_list arguments;                                                                                                 \
    va_start(arguments, format);                                                                                       \
    refuse_words(state, state->refusal->wanted ? blamed(state, arg, node, stage) : NULL, arg, format, arguments);      \
    va_end(arguments);                                                                                                 \
    return false

bool refuse(NestState *state, const char *format, ...) {
    REFUSE(NULL, NULL, NULL);
}

bool refuse_at(NestState *state, const PrimArg *arg, const char *format, ...) {
    REFUSE(arg, NULL, NULL);
}

bool refuse_loop(NestState *state, const Node *node, const char *format, ...) {
    REFUSE(NULL, node, NULL);
}

bool refuse_stage(NestState *state, const StageState *stage, const char *format, ...) {
    REFUSE(NULL, NULL, stage);
}

bool state_for_device(const NestState *state) {
    return state->nest.target != NULL && state->nest.target->block_threads > 0;
}

const char *state_target_name(const NestState *state) {
    return state->nest.target != NULL ? state->nest.target->name : "the target";
}

void no_effect_of(NestState *state, int prim) {
    int at = 0;
    while (at < state->ineffective.count && state->ineffective.items[at] < prim)
        at++;
    if (at < state->ineffective.count && state->ineffective.items[at] == prim)
        return;
    list_insert(state->arena, &state->ineffective, at, prim);
}

void no_effect(NestState *state) {
    no_effect_of(state, state->prim);
}

/* Text for messages; empty when none is wanted. */
const char *state_text(NestState *state, const char *format, ...) {
    if (!state->refusal->wanted)
        return "";
    va_list arguments;
    va_start(arguments, format);
    const char *text = arena_vprintf(state->arena, format, arguments);
    va_end(arguments);
    return text;
}

const char *loop_text(NestState *state, const Node *node) {
    return state_text(state, "%s.%s", stage_of(node)->name, node->variable.name);
}

const char *loops_text(NestState *state, const StageState *stage) {
    if (!state->refusal->wanted)
        return "";
    if (stage->nest.inlined)
        return "none: it is inlined";
    if (stage->leaves.count == 0)
        return "none";
    Text text = {.arena = state->arena};
    for (int i = 0; i < stage->leaves.count; i++) {
        const char *between = i == 0 ? "" : i + 1 == stage->leaves.count ? " and " : ", ";
        text_add(&text, "%s%s.%s", between, stage->name, stage->leaves.items[i]->variable.name);
    }
    return text.text;
}

/* --- nodes -------------------------------------------------------------------------------------------------------- */

Node *node_new(NestState *state, StageState *stage, const char *name, bool reduction) {
    Node *node = ARENA_NEW(state->arena, Node);
    name_map_set(state->arena, &state->loop_names, name, node);
    node->variable = (Var){.name = name, .kind = VAR_LOOP, .type = TYPE_INT64, .reduction = reduction};
    node->loop = (Loop){.var = &node->variable, .extent = -1, .reduction = reduction, .stage = &stage->nest};
    node->atom = (Expr){.kind = EXPR_VAR, .type = TYPE_INT64, .lanes = 1, .var = &node->variable};
    return node;
}

const Form *node_form(Forms *forms, Node *node) {
    node->variable.extent = affine_expr(forms->arena, node->extent);
    return form_atom(forms, &node->atom);
}

void node_link(Node *node, Node *to) {
    node->link = to;
    to->linked = true;
}

StageState *stage_of(const Node *node) {
    return (StageState *)node->loop.stage;
}

const Node *next_outer(const Node *node) {
    const StageState *stage = stage_of(node);
    return node->position > 0 ? stage->leaves.items[node->position - 1] : stage->at;
}

const StageState *root_of(const StageState *stage) {
    while (stage->at != NULL)
        stage = stage_of(stage->at);
    return stage;
}

bool reads_tensor(const StageState *stage, const Tensor *tensor) {
    for (int i = 0; i < stage->accesses.count && !stage->nest.inlined; i++)
        if (stage->accesses.items[i].read->tensor == tensor)
            return true;
    return false;
}

bool reads_stage(const StageState *consumer, const StageState *stage) {
    for (int i = 0; i < consumer->accesses.count; i++)
        if (consumer->accesses.items[i].producer == stage)
            return true;
    return false;
}

const Form *find_domain_form(const void *context, const Var *var) {
    const Seeing *seeing = context;
    const Stage *stage = seeing->stage->nest.stage;
    for (int i = 0; i < seeing->stage->root_count; i++)
        if (var == (i < stage->axis_count ? stage->axes[i] : stage->reductions[i - stage->axis_count]))
            return node_form(seeing->forms, seeing->stage->roots[i]);
    return NULL;
}

bool node_is_leaf(const Node *node) {
    return node->taken == NULL;
}

int leaf_index(const StageState *stage, const Node *leaf) {
    for (int i = 0; i < stage->leaves.count; i++)
        if (stage->leaves.items[i] == leaf)
            return i;
    return -1;
}

int first_reduction(const StageState *stage) {
    int first = 0;
    while (first < stage->leaves.count && !stage->leaves.items[first]->loop.reduction)
        first++;
    return first;
}

Relation *relation_add(NestState *state, StageState *stage, RelationKind kind, Node *whole, int count) {
    Relation *relation = ARENA_NEW(state->arena, Relation);
    relation->kind = kind;
    relation->whole = whole;
    relation->count = count;
    relation->parts = ARENA_ARRAY(state->arena, Node *, count);
    relation->factors = ARENA_ARRAY(state->arena, int64_t, count);
    list_push(state->arena, &stage->relations, relation);
    return relation;
}

/* --- stages ------------------------------------------------------------------------------------------------------- */

/* Adds a stage to those that a map has under a key. */
static void note_stage(NestState *state, StageList *list, StageState *stage) {
    for (int i = 0; i < list->count; i++)
        if (list->items[i] == stage)
            return;
    list_push(state->arena, list, stage);
}

static void note_name(NestState *state, Map *map, const char *name, StageState *stage) {
    StageList *list = name_map_get(map, name);
    if (list == NULL)
        name_map_set(state->arena, map, name, list = ARENA_NEW(state->arena, StageList));
    note_stage(state, list, stage);
}

static void note_maker(NestState *state, const Tensor *tensor, StageState *stage) {
    StageList *list = address_map_get(&state->makers, tensor);
    if (list == NULL)
        address_map_set(state->arena, &state->makers, tensor, list = ARENA_NEW(state->arena, StageList));
    note_stage(state, list, stage);
}

/* Makes the stage what is found by the tensors that it writes. */
static void set_computed(NestState *state, StageState *stage, const Stage *computed) {
    stage->nest.stage = computed;
    for (int c = 0; c < computed->component_count; c++) {
        note_maker(state, computed->components[c].tensor, stage);
        if (c > 0)
            note_name(state, &state->by_component, computed->components[c].tensor->name, stage);
    }
}

static bool makes(const StageState *stage, const Tensor *tensor) {
    return stage->tensor == tensor || stage_writes(stage->nest.stage, tensor);
}

StageState *state_producer(const NestState *state, const Tensor *tensor) {
    const StageList *list = address_map_get(&state->makers, tensor);
    StageState *first = NULL;
    if (tensor->role == ROLE_INPUT || tensor->role == ROLE_CONSTANT || tensor->role == ROLE_INITIAL || list == NULL)
        return NULL;
    for (int i = 0; i < list->count; i++)
        if ((first == NULL || list->items[i]->turn < first->turn) && makes(list->items[i], tensor))
            first = list->items[i];
    return first;
}

static bool has_component(const StageState *stage, const char *name) {
    const Stage *computed = stage->nest.stage;
    for (int c = 1; c < computed->component_count; c++)
        if (strcmp(computed->components[c].tensor->name, name) == 0)
            return true;
    return false;
}

StageState *stage_by_name(const NestState *state, const char *name) {
    const StageList *own = name_map_get(&state->by_name, name), *further = name_map_get(&state->by_component, name);
    StageState *first = NULL;
    for (int i = 0; own != NULL && i < own->count; i++)
        if (first == NULL || own->items[i]->turn < first->turn)
            first = own->items[i];
    if (first != NULL || further == NULL)
        return first;
    for (int i = 0; i < further->count; i++)
        if ((first == NULL || further->items[i]->turn < first->turn) && has_component(further->items[i], name))
            first = further->items[i];
    return first;
}

void stage_place(StageState *stage, Node *at) {
    stage->at = at;
    if (at != NULL)
        at->holds = true;
}

void stage_own(StageState *stage, StageState *owner) {
    stage->owner = owner;
    if (owner != NULL)
        owner->owns = true;
}

/* Puts the reader among the readers of the producer, which are in the order of execution. */
static void note_reader(NestState *state, StageState *producer, StageState *reader) {
    StageList *readers = &producer->readers;
    int begin = 0, end = readers->count;
    while (begin < end) {
        int middle = begin + (end - begin) / 2;
        if (readers->items[middle]->turn < reader->turn)
            begin = middle + 1;
        else
            end = middle;
    }
    if (begin == readers->count || readers->items[begin] != reader)
        list_insert(state->arena, readers, begin, reader);
}

static void set_producer(NestState *state, StageState *stage, NestRead *access) {
    access->producer = state_producer(state, access->read->tensor);
    if (access->producer != NULL)
        note_reader(state, access->producer, stage);
}

static void note_read(NestState *state, const Tensor *tensor, StageState *stage) {
    StageList *list = address_map_get(&state->readers, tensor);
    if (list == NULL)
        address_map_set(state->arena, &state->readers, tensor, list = ARENA_NEW(state->arena, StageList));
    if (list->count == 0 || list->items[list->count - 1] != stage)
        list_push(state->arena, list, stage);
}

static int by_turn(const void *a, const void *b) {
    int64_t x = (*(StageState *const *)a)->turn, y = (*(StageState *const *)b)->turn;
    return (x > y) - (x < y);
}

bool stage_has_read(const StageState *stage, const Tensor *tensor) {
    for (int k = 0; k < stage->accesses.count; k++)
        if (stage->accesses.items[k].read->tensor == tensor)
            return true;
    return false;
}

/* A stage may be listed several times, as it was rewritten. */
StageList tensor_readers(NestState *state, const Tensor *tensor, const Node *loop) {
    const StageList *list = address_map_get(&state->readers, tensor);
    StageList all = {0}, readers = {0};
    for (int i = 0; list != NULL && i < list->count; i++)
        if ((loop == NULL || stage_is_inside(list->items[i], loop)) && stage_has_read(list->items[i], tensor))
            list_push(state->arena, &all, list->items[i]);
    if (all.count > 1)
        qsort(all.items, (size_t)all.count, sizeof *all.items, by_turn);
    for (int i = 0; i < all.count; i++)
        if (i == 0 || all.items[i] != all.items[i - 1])
            list_push(state->arena, &readers, all.items[i]);
    return readers;
}

static void add_access(NestState *state, StageState *stage, const Expr *read, bool initial) {
    list_push(state->arena, &stage->accesses, ((NestRead){read, initial, NULL}));
    note_read(state, read->tensor, stage);
    set_producer(state, stage, &stage->accesses.items[stage->accesses.count - 1]);
}

void stage_rewrite(NestState *state, StageState *stage, const Stage *rewritten) {
    set_computed(state, stage, rewritten);
    stage->accesses.count = 0;
    EACH_VALUE_READ(read, rewritten)
        add_access(state, stage, read, false);
    EACH_INITIAL_READ(read, rewritten)
        add_access(state, stage, read, true);
}

static const Form *no_axis(const void *context, const Var *var) {
    return NULL;
}

const Form *extent_form(NestState *state, const Expr *extent) {
    return form_of_expr(&state->forms, extent, no_axis, NULL);
}

void stage_add_root(NestState *state, StageState *stage, const Var *axis, bool reduction) {
    const char *name = axis->name;
    if (!loop_name_is_free(state, stage, name))
        name = fresh_loop_name(state, stage, name);
    Node *node = node_new(state, stage, name, reduction);
    node->variable.loc = axis->loc;
    node->extent = extent_form(state, axis->extent);
    stage->roots[stage->root_count++] = node;
    list_push(state->arena, &stage->leaves, node);
}

/* Between the numbers of two stages there is room for others, which may be many thousands: none is numbered again for
 * each. */
#define TURN_GAP (INT64_C(1) << 32)

static void number_all(NestState *state) {
    for (int i = 0; i < state->stages.count; i++)
        state->stages.items[i]->turn = (i + 1) * TURN_GAP;
}

/* The place of a stage in the list. */
static int place_of(const NestState *state, const StageState *stage) {
    int begin = 0, end = state->stages.count;
    while (end - begin > 1) {
        int middle = begin + (end - begin) / 2;
        if (state->stages.items[middle]->turn > stage->turn)
            end = middle;
        else
            begin = middle;
    }
    return begin;
}

static void order_insert(NestState *state, StageState *stage, int place) {
    StageState *const *stages = state->stages.items;
    int64_t low = place > 0 ? stages[place - 1]->turn : 0;
    int64_t high = place < state->stages.count ? stages[place]->turn : low + 2 * TURN_GAP;
    stage->turn = low + (high - low) / 2;
    list_insert(state->arena, &state->stages, place, stage);
    if (high - low < 2)
        number_all(state);
}

void order_after(NestState *state, StageState *stage, const StageState *before) {
    list_remove(&state->stages, place_of(state, stage));
    order_insert(state, stage, place_of(state, before) + 1);
}

StageState *stage_add_bare(NestState *state, const Stage *stage, StageState *before) {
    StageState *added = ARENA_NEW(state->arena, StageState);
    added->name = stage->name;
    added->tensor = stage->components[0].tensor;
    added->roots = ARENA_ARRAY(state->arena, Node *, stage->axis_count + stage->reduction_count);
    order_insert(state, added, before != NULL ? place_of(state, before) : state->stages.count);
    set_computed(state, added, stage);
    note_name(state, &state->by_name, added->name, added);
    return added;
}

/* The loop order of a stage that scatters. Its value must not depend on a loop inside the loop over the place. So: axes
 * before it, reductions, axes that the place depends on, the place, all other axes. */
static void order_scatter(NestState *state, StageState *added) {
    enum { BEFORE, REDUCTION, USED, PLACE, REST, RANKS };
    const Stage *stage = added->nest.stage;
    int first = stage_first_scatter(stage);
    if (first == stage->axis_count)
        return;
    added->leaves.count = 0;
    for (int rank = 0; rank < RANKS; rank++)
        for (int i = 0; i < added->root_count; i++) {
            int own = i >= stage->axis_count                    ? REDUCTION
                      : i < first                               ? BEFORE
                      : stage_scatters(stage, i)                ? PLACE
                      : stage_place_uses(stage, stage->axes[i]) ? USED
                                                                : REST;
            if (own == rank)
                list_push(state->arena, &added->leaves, added->roots[i]);
        }
}

StageState *stage_add(NestState *state, const Stage *stage, StageState *before) {
    StageState *added = stage_add_bare(state, stage, before);
    for (int d = 0; d < stage->axis_count; d++)
        stage_add_root(state, added, stage->axes[d], false);
    for (int r = 0; r < stage->reduction_count; r++)
        stage_add_root(state, added, stage->reductions[r], true);
    order_scatter(state, added);
    stage_rewrite(state, added, stage);
    return added;
}

/* A stage of a scan may read one that is added after it. */
static void list_later_producers(NestState *state) {
    for (int i = 0; i < state->stages.count; i++) {
        StageState *stage = state->stages.items[i];
        for (int k = 0; stage->scan != NULL && k < stage->accesses.count; k++)
            set_producer(state, stage, &stage->accesses.items[k]);
    }
}

NestState *state_new(Arena *arena, const Program *program, const Target *target, const int64_t *choices,
                     Refusal *refusal) {
    NestState *state = ARENA_NEW(arena, NestState);
    state->nest = (Nest){.arena = arena, .program = program, .target = target};
    state->arena = state->forms.arena = arena;
    state->choices = choices;
    state->refusal = refusal;
    for (int i = 0; i < program->stage_count; i++) {
        const Scan *scan = program->stages[i]->scan;
        stage_add(state, program->stages[i], NULL);
        if (scan != NULL && (i + 1 == program->stage_count || program->stages[i + 1]->scan != scan))
            scan_add(state, scan);
    }
    list_later_producers(state);
    return state;
}

const Tensor *tensor_by_name(NestState *state, const char *name) {
    const Program *program = state->nest.program;
    for (int i = program->tensor_count - 1; !state->tensor_names_listed && i >= 0; i--)
        name_map_set(state->arena, &state->tensor_names, program->tensors[i]->name, (void *)program->tensors[i]);
    state->tensor_names_listed = true;
    return name_map_get(&state->tensor_names, name);
}

bool stages_have_name(NestState *state, const char *name) {
    return name_map_get(&state->by_name, name) != NULL || tensor_by_name(state, name) != NULL;
}

const StageState *held_stage(const NestState *state, const StageState *stage) {
    bool holds = false;
    for (int i = 0; i < stage->leaves.count; i++)
        holds |= stage->leaves.items[i]->holds;
    for (int i = 0; holds && i < state->stages.count; i++) {
        const StageState *other = state->stages.items[i];
        if (other->at != NULL && other->at->loop.stage == &stage->nest)
            return other;
    }
    return NULL;
}

/* Climbs from the stage to the place where it is computed, on to that stage's place, and so on. */
bool stage_is_inside(const StageState *stage, const Node *loop) {
    const StageState *owner = stage_of(loop);
    if (stage == owner)
        return true;
    for (; stage->at != NULL; stage = stage_of(stage->at))
        if (stage->at->loop.stage == &owner->nest)
            return leaf_index(owner, stage->at) >= leaf_index(owner, loop);
    return false;
}
