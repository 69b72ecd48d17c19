/* names.c - the arguments of primitives: which loop, stage or number a name or a hole of a schedule means. */
#include "lang/spelling.h"
#include "lower/nest/state.h"

#include <string.h>
#include <strings.h>

static const char *const scope_names[SCOPE_COUNT] = {
    [SCOPE_GLOBAL] = "global", [SCOPE_LOCAL] = "local", [SCOPE_REGISTER] = "register", [SCOPE_SHARED] = "shared"};

/* --- names -------------------------------------------------------------------------------------------------------- */

static uint64_t hash_name(const char *name, size_t length) {
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)name[i]) * 0x100000001b3u;
    return hash;
}

/* The slot of a name, or the free slot where it belongs. A slot holds the number of an alias, counted from 1. */
static int alias_slot(const NestState *state, const char *name, size_t length, uint64_t hash) {
    int mask = state->alias_slot_count - 1, slot = (int)hash & mask;
    for (; state->alias_slots[slot] != 0; slot = (slot + 1) & mask) {
        const Alias *alias = &state->aliases.items[state->alias_slots[slot] - 1];
        if (alias->hash == hash && strncmp(alias->name, name, length) == 0 && alias->name[length] == '\0')
            break;
    }
    return slot;
}

static const Alias *find_alias(const NestState *state, const char *name, size_t length) {
    if (state->aliases.count == 0)
        return NULL;
    int number = state->alias_slots[alias_slot(state, name, length, hash_name(name, length))];
    return number ? &state->aliases.items[number - 1] : NULL;
}

/* Keeps at least half of the slots free. */
static void grow_alias_slots(NestState *state) {
    if (2 * (state->aliases.count + 1) <= state->alias_slot_count)
        return;
    state->alias_slot_count = state->alias_slot_count ? 2 * state->alias_slot_count : 32;
    state->alias_slots = ARENA_ARRAY(state->arena, int, state->alias_slot_count);
    for (int i = 0; i < state->aliases.count; i++) {
        const Alias *alias = &state->aliases.items[i];
        state->alias_slots[alias_slot(state, alias->name, strlen(alias->name), alias->hash)] = i + 1;
    }
}

static void add_alias(NestState *state, const char *name, Node *node) {
    grow_alias_slots(state);
    uint64_t hash = hash_name(name, strlen(name));
    int slot = alias_slot(state, name, strlen(name), hash);
    list_push(state->arena, &state->aliases, ((Alias){name, node, hash}));
    state->alias_slots[slot] = state->aliases.count;
}

/* Finds a stage by its name, or as NAME[n]: the last version of a tensor that is defined n + 1 times. */
static StageState *find_stage(const NestState *state, const char *name, size_t length) {
    const char *own = name[length] ? arena_strndup(state->arena, name, length) : name;
    StageState *stage = stage_by_name(state, own);
    if (stage != NULL || length == 0 || name[length - 1] != ']')
        return stage;
    const Stage *found = program_find_stage(state->nest.program, own);
    return found != NULL ? state_producer(state, found->components[0].tensor) : NULL;
}

static Node *find_leaf(const StageState *stage, const char *name) {
    for (int i = 0; i < stage->leaves.count; i++)
        if (is_same_name(stage->leaves.items[i]->variable.name, name))
            return stage->leaves.items[i];
    return NULL;
}

static const char *parts_text(NestState *state, const Relation *relation) {
    if (relation->kind == RELATION_FUSE)
        return state_text(state, "was fused into %s", relation->whole->variable.name);
    Text text = {.arena = state->arena};
    text_add(&text, "was split into ");
    for (int i = 0; i < relation->count; i++)
        text_add(&text, "%s%s",
                 i == 0                     ? ""
                 : i + 1 == relation->count ? " and "
                                            : ", ",
                 relation->parts[i]->variable.name);
    return text.text;
}

/* The relation that took the named node, to say what became of that loop. */
static const Relation *find_taken(const StageState *stage, const char *name) {
    for (int i = 0; i < stage->relations.count; i++) {
        Relation *relation = stage->relations.items[i];
        int count = relation->kind == RELATION_SPLIT ? 1 : relation->count;
        Node **nodes = relation->kind == RELATION_SPLIT ? &relation->whole : relation->parts;
        for (int k = 0; k < count; k++)
            if (nodes[k]->taken == relation && is_same_name(nodes[k]->variable.name, name))
                return relation;
    }
    return NULL;
}

/* The leaf that a wrong name is near to: r_k for k, j for J, or a misspelt name; NULL: none. */
static const Node *nearest_leaf(const NestState *state, const StageState *stage, const char *name) {
    const char **names = ARENA_ARRAY(state->arena, const char *, stage->leaves.count + 1);
    for (int i = 0; i < stage->leaves.count; i++) {
        names[i] = stage->leaves.items[i]->variable.name;
        const char *own = strncmp(names[i], "r_", 2) == 0 ? names[i] + 2 : names[i];
        if (strcasecmp(own, name) == 0)
            return stage->leaves.items[i];
    }
    const char *nearest = spelling_nearest(name, names, stage->leaves.count);
    return nearest != NULL && strlen(nearest) > 2 ? find_leaf(stage, nearest) : NULL;
}

/* For a name without a stage: the loop of the last stage that has one of this name. */
static const Node *leaf_of_any(const NestState *state, const char *name) {
    for (int i = state->stages.count - 1; i >= 0; i--) {
        const Node *leaf = state->stages.items[i]->nest.inlined ? NULL : find_leaf(state->stages.items[i], name);
        if (leaf != NULL)
            return leaf;
    }
    for (int i = state->stages.count - 1; i >= 0; i--) {
        const StageState *stage = state->stages.items[i];
        const Node *leaf = stage->nest.inlined ? NULL : nearest_leaf(state, stage, name);
        if (leaf != NULL)
            return leaf;
    }
    return NULL;
}

/* C.j for c.j: the stage has a name that is nearly the one before the last dot. */
static const Node *leaf_of_near_stage(NestState *state, const char *name) {
    const char *dot = strrchr(name, '.');
    const char *written = arena_strndup(state->arena, name, (size_t)(dot - name)), *near = NULL;
    const char **names = ARENA_ARRAY(state->arena, const char *, state->stages.count + 1);
    for (int i = 0; i < state->stages.count; i++) {
        names[i] = state->stages.items[i]->name;
        near = strcasecmp(names[i], written) == 0 ? names[i] : near;
    }
    if (near == NULL && strlen(written) > 2)
        near = spelling_nearest(written, names, state->stages.count);
    const StageState *stage = near != NULL ? find_stage(state, near, strlen(near)) : NULL;
    if (stage == NULL || stage->nest.inlined)
        return NULL;
    const Node *leaf = find_leaf(stage, dot + 1);
    return leaf != NULL ? leaf : nearest_leaf(state, stage, dot + 1);
}

const Node *loop_meant(NestState *state, const char *name) {
    if (strchr(name, '.') == NULL)
        return leaf_of_any(state, name);
    for (size_t length = strlen(name); length > 0; length--) {
        const StageState *stage = name[length] == '.' ? find_stage(state, name, length) : NULL;
        if (stage != NULL)
            return find_leaf(stage, name + length + 1) == NULL && find_taken(stage, name + length + 1) == NULL
                       ? nearest_leaf(state, stage, name + length + 1)
                       : NULL;
    }
    return leaf_of_near_stage(state, name);
}

static Node *no_such_loop(NestState *state, StageState *stage, const char *name) {
    const Relation *relation = find_taken(stage, name);
    const Node *near = relation == NULL && state->refusal->wanted ? nearest_leaf(state, stage, name) : NULL;
    if (relation != NULL && state->refusal->wanted)
        refuse(state, "%s.%s %s; the loops of %s are %s", stage->name, name, parts_text(state, relation), stage->name,
               loops_text(state, stage));
    else if (near != NULL)
        refuse(state, "%s has no loop %s: did you mean %s.%s? Its loops are %s", stage->name, name, stage->name,
               near->variable.name, loops_text(state, stage));
    else
        refuse(state, "%s has no loop %s; its loops are %s", stage->name, name, loops_text(state, stage));
    return NULL;
}

static Node *loop_of_alias(NestState *state, const Alias *alias) {
    if (node_is_leaf(alias->node))
        return alias->node;
    return no_such_loop(state, stage_of(alias->node), alias->node->variable.name);
}

static const char *all_stages_text(NestState *state) {
    Text text = {.arena = state->arena};
    for (int i = 0; i < state->stages.count; i++)
        text_add(&text, "%s%s",
                 i == 0                         ? ""
                 : i + 1 == state->stages.count ? " and "
                                                : ", ",
                 state->stages.items[i]->name);
    return state->stages.count > 0 ? text.text : "none";
}

/* Names that statements returned and that one letter makes of this one: "jo or ji" for jj; NULL: none. */
static const char *near_aliases(const NestState *state, const char *name) {
    Text text = {.arena = state->arena};
    for (int i = 0; i < state->aliases.count; i++) {
        const Alias *alias = &state->aliases.items[i];
        bool near = alias->name[0] == name[0] && spelling_distance(alias->name, name, 1) <= 1;
        if (near && find_alias(state, alias->name, strlen(alias->name)) == alias && node_is_leaf(alias->node))
            text_add(&text, "%s%s", text.length ? " or " : "", alias->name);
    }
    return text.length ? text.text : NULL;
}

/* STAGE.LOOP where both may hold dots: the longest stage name that has such a loop, else the longest stage name. */
static Node *loop_of_path(NestState *state, const char *name) {
    StageState *longest = NULL;
    const char *rest = NULL;
    for (size_t length = strlen(name); length > 0; length--) {
        StageState *stage = name[length] == '.' ? find_stage(state, name, length) : NULL;
        Node *leaf = stage != NULL ? find_leaf(stage, name + length + 1) : NULL;
        if (leaf != NULL)
            return leaf;
        if (stage != NULL && longest == NULL) {
            longest = stage;
            rest = name + length + 1;
        }
    }
    if (longest != NULL)
        return no_such_loop(state, longest, rest);
    const StageState *named = find_stage(state, name, strlen(name));
    const Node *meant = named == NULL && state->refusal->wanted ? loop_meant(state, name) : NULL;
    const char *near = named == NULL && meant == NULL && state->refusal->wanted ? near_aliases(state, name) : NULL;
    if (near != NULL)
        refuse(state, "there is no loop %s: did you mean %s?", name, near);
    else if (named != NULL)
        refuse(state, "%s is a stage, a loop is wanted; its loops are %s", named->name, loops_text(state, named));
    else if (meant != NULL)
        refuse(state,
               "there is no loop %s: did you mean %s.%s? A loop is STAGE.NAME or a name that a statement before "
               "returned",
               name, stage_of(meant)->name, meant->variable.name);
    else if (state->refusal->wanted)
        refuse(
            state,
            "there is no loop %s: a loop is STAGE.NAME or a name that a statement before returned; the stages are %s",
            name, all_stages_text(state));
    else
        refuse(state, "%s", "");
    return NULL;
}

/* Notes what an argument named, for the caret of a refusal. */
static void note_named(NestState *state, const PrimArg *arg, const Node *node, const StageState *stage) {
    if (state->refusal->wanted)
        list_push(state->arena, &state->named, ((Named){arg, node, stage}));
}

Node *argument_loop(NestState *state, const Prim *prim, const PrimArg *arg) {
    if (arg->name == NULL) { /* an order where one loop is wanted */
        refuse_at(state, arg, "%s", "a hole of reorder stands for an order of loops: it is the last argument");
        return NULL;
    }
    const Alias *alias = find_alias(state, arg->name, strlen(arg->name));
    Node *node = alias != NULL ? loop_of_alias(state, alias) : loop_of_path(state, arg->name);
    if (node == NULL)
        state->refusal->arg = arg;
    else
        note_named(state, arg, node, NULL);
    return node;
}

StageState *argument_stage(NestState *state, const Prim *prim, const PrimArg *arg) {
    StageState *stage = find_stage(state, arg->name, strlen(arg->name));
    if (stage == NULL)
        refuse_at(state, arg, "there is no stage %s; the stages are %s", arg->name,
                  state->refusal->wanted ? all_stages_text(state) : "");
    else
        note_named(state, arg, NULL, stage);
    if (stage != NULL && stage->nest.scan != NULL) {
        refuse_at(state, arg, "%s is a scan: it has a loop, %s, but no elements", arg->name, loops_text(state, stage));
        return NULL;
    }
    return stage;
}

const Tensor *argument_tensor(NestState *state, const Prim *prim, const PrimArg *arg) {
    StageState *stage = find_stage(state, arg->name, strlen(arg->name));
    if (stage != NULL && stage->nest.scan == NULL) {
        note_named(state, arg, NULL, stage);
        for (int c = 1; c < stage->nest.stage->component_count; c++)
            if (strcmp(stage->nest.stage->components[c].tensor->name, arg->name) == 0)
                return stage->nest.stage->components[c].tensor;
        return stage->tensor;
    }
    const Tensor *tensor = tensor_by_name(state, arg->name);
    if (tensor == NULL)
        refuse_at(state, arg, "there is no tensor %s in %s", arg->name, state->nest.program->name);
    return tensor;
}

/* --- numbers ------------------------------------------------------------------------------------------------------ */

static void number_hole(NestState *state, const PrimArg *hole) {
    for (int i = 0; hole->name != NULL && i < state->shared.count; i++)
        if (strcmp(state->shared.items[i].hole->name, hole->name) == 0) {
            list_push(state->arena, &state->numbers, ((HoleNumber){hole, state->shared.items[i].number}));
            return;
        }
    HoleNumber number = {hole, state->holes++};
    list_push(state->arena, &state->numbers, number);
    if (hole->name != NULL)
        list_push(state->arena, &state->shared, number);
}

static void number_holes_of(NestState *state, const PrimArg *arg) {
    if (arg->kind == ARG_HOLE)
        number_hole(state, arg);
    for (int i = 0; arg->kind != ARG_HOLE && i < arg->count; i++)
        number_holes_of(state, &arg->items[i]);
}

void number_holes(NestState *state, const Prim *prim) {
    state->numbers.count = 0;
    for (int i = 0; i < prim->arg_count; i++)
        number_holes_of(state, &prim->args[i]);
}

static bool choice_is_offered(const PrimArg *hole, int64_t value) {
    for (int i = 0; i < hole->count; i++)
        if (hole->items[i].value == value)
            return true;
    return hole->count == 0;
}

static bool hole_value(NestState *state, const Prim *prim, const PrimArg *hole, int64_t *value) {
    if (state->choices == NULL)
        return refuse_at(state, hole, "a ? of %s is not filled in: it takes a tuner's choice or a number",
                         prim_info[prim->op].spelling);
    int index = 0;
    while (index + 1 < state->numbers.count && state->numbers.items[index].hole != hole)
        index++;
    *value = state->choices[state->numbers.items[index].number];
    if (!choice_is_offered(hole, *value))
        return refuse_at(state, hole, "the choice %lld is not among those that the ? offers", (long long)*value);
    return true;
}

/* The program to schedule was chosen before there is a nest. */
bool apply_algorithm(NestState *state, const Prim *prim) {
    return refuse_at(state, &prim->args[0], "the algorithm is chosen for a whole unit, before its loops");
}

/* It speaks to those who choose what a block leaves open. */
bool apply_exactly(NestState *state, const Prim *prim) {
    return state != NULL && prim != NULL;
}

/* If the holes of a schedule are not filled, these are refused, not the requirements on them. */
bool apply_require(NestState *state, const Prim *prim) {
    if (state->choices == NULL && schedule_hole_count(state->schedule) > 0)
        return true;
    if (constraint_holds(state->schedule, prim, state->choices))
        return true;
    if (!state->refusal->wanted)
        return refuse(state, "%s", "");
    Text text = {.arena = state->arena};
    for (int i = 0; i < state->shared.count; i++)
        text_add(&text, "%s%s = %lld", i == 0 ? " for " : ", ", state->shared.items[i].hole->name,
                 (long long)state->choices[state->shared.items[i].number]);
    return refuse_at(state, &prim->args[0], "the constraint does not hold%s", text.length > 0 ? text.text : "");
}

bool argument_integer(NestState *state, const Prim *prim, const PrimArg *arg, int64_t *value) {
    *value = arg->value;
    return arg->kind != ARG_HOLE || hole_value(state, prim, arg, value);
}

/* "guard, mask, shift or exact" */
static const char *words_text(NestState *state, const char *const *words, int count) {
    Text text = {.arena = state->arena};
    for (int i = 0; i < count; i++)
        text_add(&text, "%s%s", i == 0 ? "" : i + 1 == count ? " or " : ", ", words[i]);
    return text.text;
}

int argument_word(NestState *state, const PrimArg *arg, const char *what, const char *const *words, int count) {
    for (int i = 0; i < count; i++)
        if (strcmp(arg->name, words[i]) == 0)
            return i;
    if (state->refusal->wanted)
        refuse_at(state, arg, "%s is no %s: it is %s", arg->name, what, words_text(state, words, count));
    else
        refuse(state, "%s", "");
    return -1;
}

bool argument_scope_name(NestState *state, const PrimArg *arg, Scope *scope) {
    int found = argument_word(state, arg, "scope", scope_names, SCOPE_COUNT);
    if (found < 0)
        return false;
    if (found == SCOPE_SHARED && !state_for_device(state))
        return refuse_at(state, arg, "shared memory belongs to the blocks of a device's threads, and %s has none",
                         state_target_name(state));
    *scope = found;
    return true;
}

bool argument_scope(NestState *state, const Prim *prim, StageState *stage) {
    const PrimArg *arg = prim_keyword(prim, "scope");
    if (arg == NULL)
        return true;
    if (!argument_scope_name(state, arg, &stage->scope))
        return false;
    stage->scope_set = true;
    note_named(state, arg, NULL, stage);
    return true;
}

/* --- shape of a statement ----------------------------------------------------------------------------------------- */

typedef struct PrimKeyKind {
    const char *key;
    PrimArgKind kind;
    const char *words;
} PrimKeyKind;

static const PrimKeyKind *key_kind(const char *key) {
    static const PrimKeyKind kinds[] = {{"layout", ARG_LIST, "a list in parentheses"},
                                        {"factor", ARG_INT, "a number or ?"},
                                        {"offset", ARG_INT, "a number or ?"},
                                        {"read", ARG_INT, "a number or ?"},
                                        {NULL, ARG_NAME, "a name"}};
    const PrimKeyKind *kind = kinds;
    while (kind->key != NULL && !is_same_name(kind->key, key))
        kind++;
    return kind;
}

static bool keyword_check(NestState *state, const Prim *prim, int index) {
    const PrimArg *arg = &prim->args[index];
    const char *spelling = prim_info[prim->op].spelling;
    for (int i = 0; i < index; i++)
        if (prim->args[i].key != NULL && is_same_name(prim->args[i].key, arg->key))
            return refuse_at(state, arg, "%s has %s= twice", spelling, arg->key);
    if (!prim_has_key(prim->op, arg->key))
        return refuse_at(state, arg, "%s has no argument %s=", spelling, arg->key);
    const PrimKeyKind *wanted = key_kind(arg->key);
    return prim_takes(wanted->kind, arg) ||
           refuse_at(state, arg, "%s= of %s takes %s", arg->key, spelling, wanted->words);
}

int positional_count(const Prim *prim) {
    int count = 0;
    for (int i = 0; i < prim->arg_count; i++)
        count += prim->args[i].key == NULL;
    return count;
}

const PrimArg *positional(const Prim *prim, int index) {
    for (int i = 0; i < prim->arg_count; i++)
        if (prim->args[i].key == NULL && index-- == 0)
            return &prim->args[i];
    return NULL;
}

const PrimArg *next_positional(const Prim *prim, const PrimArg *arg) {
    for (arg++; arg < prim->args + prim->arg_count; arg++)
        if (arg->key == NULL)
            return arg;
    return NULL;
}

/* Checks positional arguments against the letters in prims.def. */
static bool positional_check(NestState *state, const Prim *prim) {
    const char *spelling = prim_info[prim->op].spelling;
    bool repeats;
    int letters = prim_letter_count(prim->op, &repeats), count = positional_count(prim);
    if (count < letters || (count > letters && !repeats))
        return refuse(state, "%s takes %s%d argument%s, not %d", spelling, repeats ? "at least " : "", letters,
                      letters == 1 ? "" : "s", count);
    count = 0;
    for (const PrimArg *arg = prim->args; arg < prim->args + prim->arg_count; arg++) {
        const PrimLetter *letter = arg->key == NULL ? prim_letter(prim->op, count++) : NULL;
        if (letter != NULL && !prim_takes(letter->kind, arg))
            return refuse_at(state, arg, "argument %d of %s is %s", count, spelling, letter->wanted);
    }
    return true;
}

/* Either all results are named or none. */
static bool results_check(NestState *state, const Prim *prim) {
    const PrimInfo *info = &prim_info[prim->op];
    int wanted = info->results[0] == 'N' ? positional_count(prim) : info->results[0] - '0';
    if (prim->result_count == 0 || prim->result_count == wanted)
        return true;
    return refuse(state, "%s returns %d name%s, not %d", info->spelling, wanted, wanted == 1 ? "" : "s",
                  prim->result_count);
}

bool arguments_check(NestState *state, const Prim *prim) {
    for (int i = 0; i < prim->arg_count; i++)
        if (prim->args[i].key != NULL && !keyword_check(state, prim, i))
            return false;
    return positional_check(state, prim) && results_check(state, prim);
}

/* --- names of results --------------------------------------------------------------------------------------------- */

static bool is_loop_name(const NestState *state, const char *name) {
    return name_map_get(&state->loop_names, name) != NULL;
}

bool stage_has_loop(const NestState *state, const StageState *stage, const char *name) {
    return is_loop_name(state, name) && find_leaf(stage, name) != NULL;
}

/* Whether a made-up name is free: no loop has it, nor one that was split or fused, which may pass its name on. */
bool loop_name_is_free(NestState *state, const StageState *stage, const char *name) {
    return !is_loop_name(state, name) || (find_leaf(stage, name) == NULL && find_taken(stage, name) == NULL);
}

const char *fresh_loop_name(NestState *state, const StageState *stage, const char *wanted) {
    const char *name = wanted;
    for (int i = 1; !loop_name_is_free(state, stage, name); i++)
        name = arena_printf(state->arena, "%s_%d", wanted, i);
    return name;
}

static bool alias_check(NestState *state, const char *name) {
    if (find_alias(state, name, strlen(name)) != NULL)
        return refuse(state, "the name %s is already the result of a statement before", name);
    if (stages_have_name(state, name))
        return refuse(state, "the name %s is that of a tensor of %s", name, state->nest.program->name);
    return true;
}

bool bind_loop(NestState *state, const Prim *prim, int index, Node *node) {
    if (index >= prim->result_count)
        return true;
    const char *name = prim->results[index];
    if (!alias_check(state, name))
        return false;
    add_alias(state, name, node);
    return true;
}

const char *stage_name(NestState *state, const Prim *prim, const char *tensor, const char *word) {
    if (prim->result_count > 0)
        return alias_check(state, prim->results[0]) ? prim->results[0] : NULL;
    const char *name = arena_printf(state->arena, "%s.%s", tensor, word);
    for (int i = 1; stages_have_name(state, name); i++)
        name = arena_printf(state->arena, "%s.%s%d", tensor, word, i);
    return name;
}
