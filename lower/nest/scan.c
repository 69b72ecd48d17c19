/* scan.c - scans in a nest: the loop over the steps, the stages that follow it, and what is not allowed with them.
 *
 * A scan is a stage without a body. Its loop SCAN.t counts the steps, and it comes after its own stages in the order of
 * execution. These are computed at that loop: the root of their step axis is a link to its root. They write their whole
 * tensors, so that earlier steps can be read. A stage that a primitive moves elsewhere (inside the body, into a reader,
 * to root) leaves the scan: it then has its own loop over the steps, and a box like any other stage.
 */
#include "lower/nest/state.h"

/* --- making ------------------------------------------------------------------------------------------------------- */

static Stage *steps_stage(NestState *state, const Scan *scan) {
    Arena *arena = state->arena;
    Tensor *none = ARENA_NEW(arena, Tensor);
    *none = (Tensor){.name = scan->name, .type = TYPE_BOOL, .role = ROLE_TEMPORARY, .rank = 1, .loc = scan->loc};
    none->dims = ARENA_ARRAY(arena, Expr *, 1);
    none->dims[0] = scan->axis->extent;
    none->dim_names = ARENA_ARRAY(arena, const char *, 1);
    Stage *stage = stage_new(arena, (Component){none, NULL, expr_bool(arena, true)});
    stage->axes = ARENA_ARRAY(arena, const Var *, 1);
    stage->axes[0] = scan->axis;
    return stage;
}

void join_scan(NestState *state, StageState *stage, StageState *scan) {
    Node *steps = stage->roots[stage->nest.stage->step];
    list_remove(&stage->leaves, leaf_index(stage, steps));
    node_link(steps, scan->roots[0]);
    stage_place(stage, scan->leaves.items[scan->leaves.count - 1]);
    stage->scan = scan;
}

/* Part of a program may have fewer stages of the scan. */
void scan_add(NestState *state, const Scan *scan) {
    int end = state->stages.count, first = end;
    while (first > 0 && state->stages.items[first - 1]->nest.stage->scan == scan)
        first--;
    StageState *steps = stage_add(state, steps_stage(state, scan), NULL);
    steps->nest.scan = scan;
    for (int i = first; i < end; i++)
        join_scan(state, state->stages.items[i], steps);
}

/* --- moving ------------------------------------------------------------------------------------------------------- */

bool leave_scan(NestState *state, const Prim *prim, StageState *stage) {
    if (stage->scan == NULL)
        return true;
    for (int i = 0; i < state->stages.count && stage->owns; i++)
        if (state->stages.items[i]->owner == stage)
            return refuse_stage(state, stage, "%s was made by cache_write inside the scan %s: %s comes before that",
                                state->stages.items[i]->name, stage->scan->name, prim_info[prim->op].spelling);
    Node *steps = stage->roots[stage->nest.stage->step];
    steps->link = NULL;
    list_insert(state->arena, &stage->leaves, 0, steps);
    stage->scan = NULL;
    return true;
}

static bool reads_scan(const StageState *stage, const StageState *scan) {
    for (int i = 0; i < stage->accesses.count; i++)
        if (stage->accesses.items[i].producer != NULL && stage->accesses.items[i].producer->scan == scan)
            return true;
    return false;
}

static bool is_read_inside(const StageState *stage, const StageState *scan) {
    for (int i = 0; i < stage->readers.count; i++)
        if (reads_stage(stage->readers.items[i], stage) && root_of(stage->readers.items[i]) == scan)
            return true;
    return false;
}

void order_outside(NestState *state, StageState *stage, const StageState *scan) {
    if (!reads_scan(stage, scan) || is_read_inside(stage, scan))
        return;
    order_after(state, stage, scan);
}

bool reads_earlier_step(const StageState *stage, const NestRead *access) {
    const Stage *reader = stage->nest.stage;
    if (access->producer == NULL || reader->scan == NULL || access->producer->nest.stage->scan != reader->scan)
        return false;
    const Expr *step = access->read->args[access->producer->nest.stage->step];
    return !stage_index_is_axis(reader, step, reader->step);
}

/* --- rules -------------------------------------------------------------------------------------------------------- */

bool check_steps_loop(NestState *state, const Node *node, const char *what) {
    const StageState *stage = stage_of(node);
    return stage->nest.scan == NULL ||
           refuse_loop(state, node,
                       "%s counts the steps of a scan: each step needs the one before, so they cannot be %s",
                       loop_text(state, node), what);
}

/* The loop over the steps and its parts stay in order. */
bool check_steps_order(NestState *state, const StageState *stage) {
    if (stage->nest.scan == NULL)
        return true;
    NodeList order = {0};
    list_leaves(state->arena, stage->roots[0], &order);
    for (int i = 0; i < stage->leaves.count; i++)
        if (stage->leaves.items[i] != order.items[i])
            return refuse(state,
                          "%s counts the steps of a scan: each step needs the one before, so %s stays outside %s",
                          loop_text(state, stage->leaves.items[i]), loop_text(state, order.items[i]),
                          loop_text(state, stage->leaves.items[i]));
    return true;
}

/* What a scan writes may be read in the body of its steps (of this step after it was written, or of an earlier one), or
 * after the scan. */
static bool check_scan_reader(NestState *state, const StageState *reader, const NestRead *access) {
    const StageState *producer = access->producer, *scan = producer->scan, *root = root_of(reader);
    if (root != scan)
        return root->turn > scan->turn ||
               refuse_stage(state, reader,
                            "%s reads %s, which the scan %s computes step by step: it cannot be computed before it",
                            reader->name, producer->name, scan->name);
    if (!stage_is_inside(reader, producer->at))
        return refuse_stage(state, reader, "%s reads %s, so it cannot be computed outside %s, the step that writes it",
                            reader->name, producer->name, loop_text(state, producer->at));
    bool part = reader->nest.stage->scan == producer->nest.stage->scan;
    return part || reader->earlier_steps || reader->turn > producer->turn ||
           refuse_stage(state, reader, "%s reads %s before the stage that writes this step of it", reader->name,
                        producer->name);
}

/* Whether the stage reads the other one through stages outside scans; seen: those visited. */
static bool reads_through(Arena *arena, const StageState *stage, const StageState *other, Map *seen) {
    address_map_set(arena, seen, stage, (void *)stage);
    for (int i = 0; i < stage->accesses.count; i++) {
        const StageState *producer = stage->accesses.items[i].producer;
        if (producer == NULL || producer == stage)
            continue;
        bool enters = producer->scan == NULL && !address_map_get(seen, producer);
        if (producer == other || (enters && reads_through(arena, producer, other, seen)))
            return true;
    }
    return false;
}

bool reads_itself_through(const NestState *state, const StageState *stage) {
    return stage->nest.stage->scan != NULL && reads_through(state->arena, stage, stage, &(Map){0});
}

static bool refuse_own_steps(NestState *state, const StageState *stage) {
    return refuse_stage(state, stage, "%s needs its own earlier steps, so it stays in the scan", stage->name);
}

/* A stage that left its scan is computed for all steps at once, like what is between two steps: it must not need
 * itself. */
bool check_left_scan(NestState *state, const StageState *stage) {
    return stage->scan != NULL || stage->owner != NULL || !reads_itself_through(state, stage) ||
           refuse_own_steps(state, stage);
}

bool check_scan_access(NestState *state, const StageState *reader, const NestRead *access) {
    if (access->producer->scan != NULL)
        return check_scan_reader(state, reader, access);
    bool left = access->producer->at == NULL && access->producer->nest.stage->scan != NULL;
    if (left && root_of(reader) == access->producer)
        return refuse_own_steps(state, access->producer);
    if (left && root_of(reader)->turn < access->producer->turn)
        return refuse_stage(state, access->producer, "%s reads %s, which is computed after it", reader->name,
                            access->producer->name);
    if (access->producer->at == NULL || !reads_earlier_step(reader, access))
        return true;
    return refuse_stage(state, access->producer,
                        "%s reads an earlier step of %s, so all steps of %s are kept: it cannot be computed at %s",
                        reader->name, access->producer->name, access->producer->name,
                        loop_text(state, access->producer->at));
}

/* A stage that left the scan but is computed in its steps must not read a later step. A stage made by cache_write has
 * the step of its owner. */
bool check_steps_box(NestState *state, const StageState *stage) {
    const Stage *computed = stage->nest.stage;
    const StageState *root = root_of(stage);
    if (computed->scan == NULL || stage->scan != NULL || stage->owner != NULL || root->nest.scan != computed->scan ||
        !reads_scan(stage, root) ||
        form_at_most(&state->forms, stage->roots[computed->step]->extent, form_int(&state->forms, 1)))
        return true;
    return refuse_stage(
        state, stage,
        "%s would be computed for steps of %s that are still to come: what is computed at %s reads more "
        "than one step of it",
        stage->name, root->name, loop_text(state, stage->at));
}

/* Whether the stages read only what earlier steps wrote of a tensor. */
bool all_read_earlier(NestState *state, const Tensor *tensor) {
    const StageList *list = address_map_get(&state->readers, tensor);
    for (int i = 0; list != NULL && i < list->count; i++)
        for (int k = 0; k < list->items[i]->accesses.count; k++) {
            const NestRead *access = &list->items[i]->accesses.items[k];
            if (access->read->tensor == tensor && !reads_earlier_step(list->items[i], access))
                return false;
        }
    return true;
}
