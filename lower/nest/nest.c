/* nest.c - nest_build: the table of primitives, building, and explaining a refusal.
 *
 * A refusal that is found when the nest is finished does not know its primitive. It blames the last primitive before
 * which the schedule was legal. Finding that, and legal alternatives, builds prefixes of the schedule again: only when
 * the caller wants the explanation.
 */
#include "lower/nest/state.h"

#include <string.h>

static Handler *const handlers[] = {
#define PRIMITIVE(id, spelling, ...) [PRIM_##id] = apply_##spelling,
#include "lang/prims.def"
#undef PRIMITIVE
};

/* --- what others read of a finished nest -------------------------------------------------------------------------- */

enum { STACK_DEFAULT = 64 * 1024 }; /* a component of up to so many bytes goes on the stack by default */

static Scope default_scope(const StageState *stage) {
    int64_t bytes = element_info[stage->tensor->type].bytes, size;
    for (int d = 0; d < stage->tensor->rank; d++)
        if (!affine_is_int(stage->size[d], &size) || __builtin_mul_overflow(bytes, size, &bytes))
            return SCOPE_GLOBAL;
    return bytes <= STACK_DEFAULT ? SCOPE_LOCAL : SCOPE_GLOBAL;
}

/* A stage at root writes its tensor. A stage at a loop writes a buffer with the extents of its box. */
static const Tensor *make_buffer(NestState *state, const StageState *stage, const Tensor *tensor) {
    bool whole = stage->at == NULL || stage->scan != NULL;
    if (whole && !stage->scope_set && stage->order == NULL)
        return tensor;
    Tensor *buffer = ARENA_NEW(state->arena, Tensor);
    *buffer = *tensor;
    buffer->scope = stage->scope_set ? stage->scope : whole ? SCOPE_GLOBAL : default_scope(stage);
    buffer->order = stage->order;
    buffer->dims = ARENA_ARRAY(state->arena, Expr *, buffer->rank);
    for (int d = 0; d < buffer->rank; d++)
        buffer->dims[d] = affine_expr(state->arena, stage->size[d]);
    if (stage->doubled)
        buffer->dims[0] = expr_binary(state->arena, OP_MUL, expr_int(state->arena, 2), buffer->dims[0]);
    return buffer;
}

/* A stage that stores partial results does so in all iterations: where its reduction loops are beyond their end,
 * nothing was added. */
static void publish_guards(NestState *state, StageState *stage) {
    NestStage *nest = &stage->nest;
    nest->guards = ARENA_ARRAY(state->arena, Guard, stage->guards.count);
    for (int i = 0; i < stage->guards.count; i++) {
        GuardForm guard = stage->guards.items[i];
        if (guard.reduction && nest->stage->combine == COMBINE_NONE)
            continue;
        nest->guards[nest->guard_count++] =
            (Guard){affine_expr(state->arena, guard.value), affine_expr(state->arena, guard.limit), guard.reduction};
    }
}

static void publish_buffers(NestState *state, StageState *stage) {
    NestStage *nest = &stage->nest;
    nest->buffers = ARENA_ARRAY(state->arena, const Tensor *, nest->stage->component_count);
    for (int c = 0; c < nest->stage->component_count; c++) {
        const Tensor *tensor = nest->stage->components[c].tensor;
        nest->buffers[c] = nest->inlined ? tensor : make_buffer(state, stage, tensor);
    }
}

/* An alignment that all strides have anyway changes nothing. */
static void note_alignment(NestState *state, const StageState *stage) {
    bool aligned = false, padded = false;
    for (int i = 0; stage->order != NULL && i < stage->order->count; i++) {
        int64_t padding = 0;
        bool constant = order_stride(stage->nest.buffers[0], i, &padding) >= 0;
        aligned |= stage->order->parts[i].align != 0;
        padded |= !constant || padding > 0;
    }
    if (aligned && !padded)
        list_push(state->arena, &state->ineffective, stage->aligned_by);
}

/* The stage whose buffer holds what is summed so far where this one begins: one that is computed at the same place or
 * further inside holds nothing yet. */
static const NestStage *held_results(const StageState *stage) {
    for (const StageState *held = resumed_stage(stage); held != NULL; held = resumed_stage(held))
        for (const Node *node = stage->at; node != NULL; node = next_outer(node))
            if (stage_of(node) == held)
                return &held->nest;
    return NULL;
}

static void publish_stage(NestState *state, StageState *stage) {
    NestStage *nest = &stage->nest;
    publish_buffers(state, stage);
    if (nest->inlined)
        return;
    note_alignment(state, stage);
    nest->loop_count = stage->leaves.count;
    nest->loops = ARENA_ARRAY(state->arena, Loop *, stage->leaves.count);
    for (int i = 0; i < stage->leaves.count; i++)
        nest->loops[i] = &stage->leaves.items[i]->loop;
    nest->axis_values = ARENA_ARRAY(state->arena, Expr *, stage->root_count);
    for (int r = 0; r < stage->root_count; r++)
        nest->axis_values[r] = affine_expr(state->arena, stage->axes[r]);
    nest->origin = ARENA_ARRAY(state->arena, Expr *, stage->tensor->rank);
    for (int d = 0; d < stage->tensor->rank; d++)
        nest->origin[d] = affine_expr(state->arena, stage->origin[d]);
    nest->unwraps = stage->unwraps != NULL;
    publish_guards(state, stage);
    nest->partial = stage->partial;
    nest->resumes = held_results(stage);
    nest->initialises = stage->partial || (nest->stage->combine != COMBINE_NONE && stage->initialisation == NULL);
    nest->in_scan = stage->scan != NULL;
    nest->parent = stage->at != NULL ? stage->at->loop.stage : NULL;
    nest->depth = stage->at != NULL ? stage->at->position + 1 : 0;
    const Node *home = stage->stored ? stage->store : stage->at;
    nest->home = home != NULL ? home->loop.stage : NULL;
    nest->home_depth = home != NULL ? home->position + 1 - stage->doubled : 0;
    nest->doubled = stage->doubled;
    nest->turn = stage->doubled ? affine_expr(state->arena, stage->size[0]) : NULL;
}

/* An initialisation writes the buffer of the stage that it initialises. */
static void share_buffers(NestState *state) {
    for (int i = 0; i < state->stages.count; i++) {
        const StageState *updated = state->stages.items[i]->updates;
        NestStage *nest = &state->stages.items[i]->nest;
        if (updated == NULL)
            continue;
        nest->updates = &updated->nest;
        nest->buffers = updated->nest.buffers;
        nest->origin = updated->nest.origin;
    }
}

static void publish_children(NestState *state) {
    for (int i = 0; i < state->stages.count; i++)
        if (state->stages.items[i]->nest.parent != NULL)
            state->stages.items[i]->nest.parent->child_count++;
    for (int i = 0; i < state->stages.count; i++) {
        NestStage *nest = &state->stages.items[i]->nest;
        nest->children = ARENA_ARRAY(state->arena, NestStage *, nest->child_count);
        nest->child_count = 0;
    }
    for (int i = 0; i < state->stages.count; i++) {
        NestStage *nest = &state->stages.items[i]->nest;
        if (nest->parent != NULL)
            nest->parent->children[nest->parent->child_count++] = nest;
    }
}

static void publish(NestState *state) {
    state->nest.stage_count = state->stages.count;
    state->nest.stages = ARENA_ARRAY(state->arena, NestStage *, state->stages.count);
    for (int i = 0; i < state->stages.count; i++) {
        publish_stage(state, state->stages.items[i]);
        state->nest.stages[i] = &state->stages.items[i]->nest;
    }
    list_producers(&state->nest);
    share_buffers(state);
    publish_children(state);
    find_constants(state);
    state->nest.ineffective_count = state->ineffective.count;
    state->nest.ineffective = state->ineffective.items;
}

/* --- building ----------------------------------------------------------------------------------------------------- */

static bool apply(NestState *state, const Prim *prim) {
    state->last = prim;
    state->named.count = 0;
    if (!arguments_check(state, prim))
        return false;
    number_holes(state, prim);
    return handlers[prim->op](state, prim);
}

NestState *build_prefix(Arena *arena, const Program *program, const Schedule *schedule, int count,
                        const int64_t *choices, const Target *target, bool checked, Refusal *refusal) {
    NestState *state = state_new(arena, program, target, choices, refusal);
    state->schedule = schedule;
    for (state->prim = 0; state->prim < count; state->prim++)
        if (!apply(state, &schedule->prims[state->prim]))
            return NULL;
    state->prim = -1;
    place_loops(state);
    if (checked && !check_places(state))
        return NULL;
    finish_bounds(state);
    if ((checked && !check_loops(state)) || (!find_prefetches(state) && checked))
        return NULL;
    publish(state);
    return state;
}

/* --- explaining --------------------------------------------------------------------------------------------------- */

typedef struct NestBuild {
    Arena *arena;
    const Program *program;
    const Schedule *schedule;
    const int64_t *choices;
    const Target *target;
} NestBuild;

static NestState *rebuild(const NestBuild *build, const Schedule *schedule, int count, bool checked, Refusal *refusal) {
    return build_prefix(build->arena, build->program, schedule, count, build->choices, build->target, checked, refusal);
}

/* Whether two refusals break the same rule: the names may differ, since primitives rename loops. */
static bool is_same_rule(const Refusal *a, const Refusal *b) {
    return strcmp(a->rule, b->rule) == 0 || (a->cause != NULL && a->cause == b->cause && a->format == b->format);
}

/* Whether the nest after so many primitives breaks the rule. */
static bool prefix_breaks(const NestBuild *build, int count, const Refusal *rule) {
    Refusal refusal = {.wanted = true};
    return rebuild(build, build->schedule, count, true, &refusal) == NULL && is_same_rule(&refusal, rule);
}

enum { NEAR_PRIMS = 16 };

/* The primitive that broke a rule of the whole nest: since it the rule is broken. Each step of the search builds a
 * nest, so the steps back double after the nearest few, until a prefix without this fault is found; then the range is
 * halved. Prefixes may have other faults that later primitives mend. */
static int find_culprit(const NestBuild *build, const Refusal *last) {
    int broken = build->schedule->count, whole = 0;
    for (int step = 1; broken - step > 0 && whole == 0;) {
        if (prefix_breaks(build, broken - step, last))
            broken -= step;
        else
            whole = broken - step;
        step = build->schedule->count - broken < NEAR_PRIMS ? 1 : 2 * step;
    }
    while (broken - whole > 1) {
        int middle = whole + (broken - whole) / 2;
        if (prefix_breaks(build, middle, last))
            broken = middle;
        else
            whole = middle;
    }
    return whole;
}

/* Whether a candidate goes before the refused primitive (it makes an instruction or a second buffer fit), not in its
 * place. */
static bool goes_before(const NestBuild *build, int prim, const Prim *candidate) {
    PrimOp refused = build->schedule->prims[prim].op;
    return (refused == PRIM_TENSORIZE && candidate->op != PRIM_TENSORIZE) ||
           (refused == PRIM_DOUBLE_BUFFER && candidate->op == PRIM_COMPUTE_AT);
}

/* The schedule up to the refused primitive, with another in its place. */
static bool is_legal_instead(const NestBuild *build, int prim, const Prim *candidate) {
    Schedule copy = *build->schedule;
    copy.prims = ARENA_ARRAY(build->arena, Prim, prim + 2);
    memcpy(copy.prims, build->schedule->prims, sizeof(Prim) * (size_t)prim);
    copy.prims[prim] = *candidate;
    copy.prims[prim + 1] = build->schedule->prims[prim];
    copy.count = prim + 1 + goes_before(build, prim, candidate);
    Refusal ignored = {0};
    NestState *state = rebuild(build, &copy, copy.count, true, &ignored);
    if (state == NULL)
        return false;
    for (int i = 0; i < state->ineffective.count; i++)
        if (state->ineffective.items[i] == prim)
            return false;
    return true;
}

static const char *prim_text(Arena *arena, const Prim *prim) {
    Text text = {.arena = arena};
    schedule_print_statements(&text, &(Schedule){.count = 1, .prims = (Prim *)prim});
    if (text.length > 0 && text.text[text.length - 1] == '\n')
        text.text[text.length - 1] = '\0';
    return text.text;
}

enum { CANDIDATE_LIMIT = 24, ALTERNATIVE_LIMIT = 3 };

static void add_alternative(NestError *error, const char *text, bool before) {
    for (int i = 0; i < error->alternative_count; i++)
        if (strcmp(error->alternatives[i], text) == 0)
            return;
    error->goes_before[error->alternative_count] = before;
    error->alternatives[error->alternative_count++] = text;
}

static void find_alternatives(const NestBuild *build, NestState *before, NestError *error) {
    Prim candidates[CANDIDATE_LIMIT];
    int count = suggest_prims(before, &build->schedule->prims[error->prim], candidates, CANDIDATE_LIMIT);
    for (int i = 0; i < count && error->alternative_count < ALTERNATIVE_LIMIT; i++) {
        if (!is_legal_instead(build, error->prim, &candidates[i]))
            continue;
        add_alternative(error, prim_text(build->arena, &candidates[i]),
                        goes_before(build, error->prim, &candidates[i]));
    }
}

/* The nests of the stages that a statement names; all nests when it names none. */
static const char *nests_text(const NestBuild *build, const NestState *state, const Prim *prim) {
    Text some = {.arena = build->arena}, all = {.arena = build->arena};
    nest_print(&all, &state->nest);
    for (int i = 0; i < state->nest.stage_count; i++) {
        const NestStage *stage = state->nest.stages[i];
        if (stage->parent == NULL && !stage->inlined && prim_names_tree(state, prim, stage))
            nest_print_stage(&some, stage);
    }
    return some.length > 0 ? some.text : all.length > 0 ? all.text : "";
}

static void explain(const NestBuild *build, NestError *error) {
    Refusal refusal = {.wanted = true};
    rebuild(build, build->schedule, build->schedule->count, true, &refusal);
    if (refusal.prim < 0) {
        int culprit = find_culprit(build, &refusal);
        rebuild(build, build->schedule, culprit + 1, true, &refusal);
        refusal.prim = refusal.prim < 0 ? culprit : refusal.prim;
    }
    if (refusal.prim < 0)
        INTERNAL_ERROR("the loops of %s as it is written are refused: %s", build->program->symbol, refusal.rule);
    *error = (NestError){.prim = refusal.prim, .loc = build->schedule->prims[refusal.prim].loc, .rule = refusal.rule};
    if (refusal.arg != NULL && refusal.arg->loc.end > refusal.arg->loc.begin)
        error->loc = refusal.arg->loc;
    NestState *before = rebuild(build, build->schedule, error->prim, false, &(Refusal){.wanted = true});
    error->nest = nests_text(build, before, &build->schedule->prims[error->prim]);
    find_alternatives(build, before, error);
}

Nest *nest_build(Arena *arena, const Program *program, const Schedule *schedule, const int64_t *choices,
                 const Target *target, NestError *error) {
    Refusal refusal = {0};
    int count = schedule != NULL ? schedule->count : 0;
    NestState *state = build_prefix(arena, program, schedule, count, choices, target, true, &refusal);
    if (state == NULL && error != NULL)
        explain(&(NestBuild){arena, program, schedule, choices, target}, error);
    return state != NULL ? &state->nest : NULL;
}
