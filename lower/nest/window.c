/* window.c - buffers that outlive an iteration: store_at and double_buffer.
 *
 * store_at puts the buffer of a stage further out than its computation: it holds the hull of what all iterations of the
 * loops between read. If these iterations run one after the other, each finds what earlier ones computed. For each of
 * these loops: if the box does not depend on it, only its first iteration computes; if one dimension of the box moves
 * with it by a step that is not larger than the box, later iterations compute the last `step` indices alone; if the
 * loop moves the box in another way, all is computed again.
 *
 * In the dimension d that moves with v the roots count from low + (width - step) * min(v, 1), under a guard that keeps
 * them inside the box. Other stages that read in those loops see the whole box, by find_seen_form.
 *
 * double_buffer computes what an iteration reads in the iteration before, into the other half of a buffer of twice the
 * length; for the first iteration, before the loop. That means the same if the stage needs nothing from the loop's
 * body.
 */
#include "lower/nest/state.h"

#include <string.h>

/* --- the primitive ------------------------------------------------------------------------------------------------ */

bool apply_store_at(NestState *state, const Prim *prim) {
    StageState *stage = argument_stage(state, prim, positional(prim, 0));
    if (stage == NULL || !check_movable(state, prim, stage) || !check_made(state, stage))
        return false;
    if (stage->scan != NULL)
        return refuse_stage(state, stage, "%s is a stage of a scan, which keeps all of it anyway", stage->name);
    if (stage->at == NULL)
        return refuse_stage(state, stage,
                            "%s is computed at the root, where its buffer is too: compute_at a loop before store_at",
                            stage->name);
    bool root = strcmp(positional(prim, 1)->name, "root") == 0;
    Node *loop = root ? NULL : argument_loop(state, prim, positional(prim, 1));
    if (!root && loop == NULL)
        return false;
    if (stage->stored ? stage->store == loop : loop == stage->at) /* it may undo an earlier one */
        no_effect(state);
    stage->stored = true;
    stage->store = loop;
    if (loop != NULL)
        loop->holds = true;
    return true;
}

bool check_store(NestState *state, const StageState *stage) {
    const Node *node = stage->at;
    if (!stage->stored)
        return true;
    for (; node != NULL && node != stage->store; node = next_outer(node))
        if (node->loop.kind != LOOP_SERIAL && node->loop.kind != LOOP_UNROLLED)
            return refuse_loop(state, node, "%s is stored outside %s, whose iterations do not run one after the other",
                               stage->name, loop_text(state, node));
    if (stage->at == NULL || node != stage->store)
        return refuse_stage(state, stage, "%s is computed at %s, which is not inside %s, where store_at keeps it",
                            stage->name, stage->at != NULL ? loop_text(state, stage->at) : "the root",
                            stage->store != NULL ? loop_text(state, stage->store) : "the root");
    return true;
}

/* --- double_buffer ------------------------------------------------------------------------------------------------ */

bool apply_double_buffer(NestState *state, const Prim *prim) {
    StageState *stage = argument_stage(state, prim, positional(prim, 0));
    if (stage == NULL || !check_movable(state, prim, stage) || !check_made(state, stage))
        return false;
    if (stage->at == NULL || stage->scan != NULL)
        return refuse_stage(state, stage,
                            "%s is not computed at a loop, so no iteration can compute it ahead: compute_at first",
                            stage->name);
    if (stage->tensor->rank == 0)
        return refuse_stage(state, stage, "%s is one element: there is nothing to copy ahead", stage->name);
    if (stage->doubled)
        no_effect(state);
    stage->doubled = true;
    return true;
}

static bool is_within(const StageState *stage, const StageState *outer) {
    for (; stage != outer && stage->at != NULL; stage = stage_of(stage->at))
        ;
    return stage == outer;
}

/* Neither the stage nor what is computed inside it may read what the body of the loop computes. */
static bool check_ahead(NestState *state, const StageState *stage, const StageState *inner) {
    for (int k = 0; k < inner->accesses.count; k++) {
        const NestRead *access = &inner->accesses.items[k];
        const StageState *producer = access->producer;
        if (access->read->tensor->role == ROLE_INITIAL)
            return refuse_stage(state, stage, "%s reads what the caller's buffer held, which %s may overwrite",
                                inner->name, loop_text(state, stage->at));
        if (producer != NULL && !producer->nest.inlined && stage_is_inside(producer, stage->at) &&
            !is_within(producer, stage))
            return refuse_stage(state, stage,
                                "%s reads %s, which is computed in the same iteration of %s: the next one's is not "
                                "there yet",
                                inner->name, producer->name, loop_text(state, stage->at));
    }
    return true;
}

bool check_doubled(NestState *state, const StageState *stage) {
    if (!stage->doubled)
        return true;
    if (stage->at == NULL || stage->at->loop.kind != LOOP_SERIAL || stage->at->loop.cut_count > 0 ||
        stage->at->loop.unroll > 1)
        return refuse_stage(
            state, stage,
            "%s is computed an iteration ahead, which needs a serial loop that is not cut or unrolled, not %s",
            stage->name, stage->at != NULL ? loop_text(state, stage->at) : "the root");
    if (stage->stored || stage->order != NULL || stage->initialisation != NULL)
        return refuse_stage(state, stage,
                            "%s has two buffers that take turns, which rules out store_at, layout and decompose",
                            stage->name);
    if (stage->scope_set && stage->scope == SCOPE_REGISTER)
        return refuse_stage(state, stage, "%s lives in registers: a loop cannot alternate between two buffers there",
                            stage->name);
    for (int i = 0; i < state->stages.count; i++)
        if (!state->stages.items[i]->nest.inlined && is_within(state->stages.items[i], stage) &&
            !check_ahead(state, stage, state->stages.items[i]))
            return false;
    return true;
}

/* --- what is left to compute -------------------------------------------------------------------------------------- */

/* Whether the stage is a reduction whose predicates may skip whole loops. */
static bool may_skip(const StageState *stage) {
    const Stage *computed = stage->nest.stage;
    for (int c = 0; c < computed->component_count; c++) {
        const Expr *value = computed->components[c].value;
        if (computed->combine != COMBINE_NONE && expr_is_op(value, OP_SELECT))
            return true;
    }
    return false;
}

/* Whether no loop between the buffer's place and this one moves the same dimension. */
static bool moves_alone(const StageState *stage, const Form *low, const Node *node) {
    for (const Node *inner = stage->at; inner != node; inner = next_outer(inner))
        if (form_has_loop(low, &inner->loop))
            return false;
    return true;
}

/* The dimension of the box that a loop moves; -1: none, -2: several. */
static int moved_dimension(const StageState *stage, const Node *node) {
    int moved = -1;
    for (int d = 0; d < stage->tensor->rank; d++)
        if (form_has_loop(stage->low[d], &node->loop))
            moved = moved == -1 ? d : -2;
    return moved;
}

/* Whether the read is of a tensor that each step of the loop's scan adds to, but not along dimension d. */
static bool grows_across(const StageState *stage, const NestRead *access, const Node *node, int d) {
    const StageState *producer = access->producer;
    if (producer == NULL || producer->scan == NULL || producer->scan != stage_of(node))
        return false;
    const Expr *step = access->read->args[producer->nest.stage->step];
    return !stage_index_is_axis(stage->nest.stage, step, d);
}

/* Whether what an iteration computed stays valid for later ones. Earlier steps of a scan do not change, but an
 * iteration whose box reaches beyond them found nothing there. */
static bool stays(const NestState *state, const StageState *stage, const Node *node, int d) {
    for (int i = 0; i < state->stages.count; i++) {
        const StageState *inner = state->stages.items[i];
        for (int k = 0; k < inner->accesses.count && !inner->nest.inlined && is_within(inner, stage); k++)
            if (grows_across(inner, &inner->accesses.items[k], node, inner == stage ? d : -1))
                return false;
    }
    return true;
}

/* Leaves out what the iterations after the first need not compute. */
static void slide(NestState *state, StageState *stage, const Node *node) {
    Forms *forms = &state->forms;
    int d = moved_dimension(stage, node);
    const Form *value = form_atom(forms, &node->atom), *one = form_int(forms, 1);
    int64_t step = 0;
    bool steps = d >= 0 && affine_coefficient(stage->low[d], &node->variable, &step);
    if (node->loop.extent == 0 || node->loop.extent == 1 || !stays(state, stage, node, d))
        return;
    if (d == -1)
        stage_add_guard(state, stage, (GuardForm){.value = value, .limit = one});
    if (!steps || step <= 0 || stage->slides[d] || !moves_alone(stage, stage->low[d], node) ||
        !form_at_most(forms, form_int(forms, step), stage->size[d]))
        return;
    const Form *kept = form_add_int(forms, stage->size[d], -step);
    const Form *shift = form_product(forms, kept, form_extreme(forms, OP_MIN, value, one));
    if (shift == NULL || form_equal(kept, form_int(forms, 0)))
        return;
    stage->base[d] = form_add(forms, stage->base[d], shift);
    stage->slides[d] = true;
}

void find_window(NestState *state, StageState *stage) {
    int rank = stage->tensor->rank;
    stage->low = ARENA_ARRAY(state->arena, const Form *, rank + 1);
    stage->slides = ARENA_ARRAY(state->arena, bool, rank + 1);
    for (int d = 0; d < rank; d++)
        stage->low[d] = stage->base[d];
    for (const Node *node = stage->at; node != stage->store; node = next_outer(node))
        if (node == NULL || may_skip(stage_of(node))) /* NULL: the nest of a refusal, being explained */
            return;
    for (const Node *node = stage->at; node != stage->store; node = next_outer(node))
        slide(state, stage, node);
}

/* The stage whose window slides along this dimension (*axis), itself or an owner; NULL: none. */
static const StageState *window_of(const StageState *stage, int *axis) {
    for (; stage->owner != NULL; stage = stage->owner)
        *axis = stage->owner_axes != NULL ? stage->owner_axes[*axis] : *axis;
    return stage->slides != NULL && stage->slides[*axis] ? stage : NULL;
}

/* Keeps the stage, also one made by cache_write, from computing beyond the window. */
void guard_window(NestState *state, StageState *stage) {
    for (int d = 0; d < stage->tensor->rank; d++) {
        int axis = d;
        const StageState *from = window_of(stage, &axis);
        if (from == NULL)
            continue;
        const Form *offset = form_add_scaled(&state->forms, stage->axes[d], -1, from->low[axis]);
        stage_add_guard(state, stage, (GuardForm){.value = offset, .limit = from->roots[axis]->extent});
    }
}

/* The value of an axis if the whole window were computed. */
const Form *find_seen_form(const void *context, const Var *var) {
    const Seeing *seeing = context;
    const StageState *stage = seeing->stage;
    for (int d = 0; d < stage->nest.stage->axis_count; d++) {
        int axis = d;
        const StageState *from = stage->nest.stage->axes[d] == var ? window_of(stage, &axis) : NULL;
        if (from != NULL)
            return form_add(seeing->forms, from->low[axis], stage->roots[d]->value);
    }
    return find_axis_form(stage, var);
}
