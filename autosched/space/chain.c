/* chain.c - groups that are computed a block at a time inside the loops of the group that reads them.
 *
 * Fast algorithms are chains of stages: tiles are transformed, multiplied, and the products transformed back. The data
 * between the stages is several times the image. If the whole does not fit the second cache, but blocks of it do,
 * together with the operands that all blocks read, or else fit the last one, the producers are computed at the root's
 * outer loops: over axes that all have (images, groups), and over the blocks x / 4 of axes that the root reads by
 * tiles. Sizes alone decide that. The groups' own genes then describe one block.
 */
#include "autosched/space/groups.h"
#include "lang/machine.h"
#include "lang/map.h"

#include <math.h>
#include <string.h>

enum { LEAST_REUSE = 4, TASKS_A_THREAD = 2, PASSES = 4, SHARED_PART = 4 };
static const double used_part = 0.9;   /* the part of the second cache for a block and what it reads */
static const double needed_part = 0.6; /* the most bytes, relative to those without a chain */

/* --- what reads what ---------------------------------------------------------------------------------------------- */

/* The groups that read a tensor. */
typedef struct ReadingGroups {
    LIST(const Group *) groups; /* each once */
} ReadingGroups;

static void note_reader(Arena *arena, Map *all, const Tensor *tensor, const Group *group) {
    ReadingGroups *readers = address_map_get(all, tensor);
    if (!readers)
        address_map_set(arena, all, tensor, readers = ARENA_NEW(arena, ReadingGroups));
    if (!readers->groups.count || readers->groups.items[readers->groups.count - 1] != group)
        list_push(arena, &readers->groups, group);
}

/* The ReadingGroups of each tensor. */
static Map list_readers(Space *space) {
    Map all = {0};
    for (int g = 0; g < space->groups.count; g++) {
        const Group *group = space->groups.items[g];
        for (int s = 0; s < group->stage_count; s++)
            EACH_STAGE_READ(read, inlined_stage(space, group->stages[s]))
                note_reader(space->arena, &all, read->tensor, group);
    }
    return all;
}

/* The divisor of x / 4; 0 for anything else. */
static int64_t divisor_of(const Expr *index, const Var *axis) {
    int64_t divisor;
    bool quotient = expr_is_op(index, OP_DIV) && index->args[0]->kind == EXPR_VAR &&
                    (!axis || index->args[0]->var == axis) && expr_is_int(index->args[1], &divisor) && divisor > 1;
    return quotient ? divisor : 0;
}

/* The size of the tiles in which a stage reads along one of its axes (NULL: any); 0: none. */
static int64_t tiles_read(Space *space, const Stage *stage, const Var *axis) {
    int64_t divisor = 0;
    EACH_STAGE_READ(read, inlined_stage(space, stage))
        for (int d = 0; d < read->count; d++) {
            int64_t found = divisor_of(read->args[d], axis);
            divisor = found > divisor ? found : divisor;
        }
    return divisor;
}

/* --- members ------------------------------------------------------------------------------------------------------ */

static bool is_member(const Chain *chain, const Group *group) {
    for (int p = 0; p < chain->producer_count; p++)
        if (chain->producers[p] == group->root)
            return true;
    return group->root == chain->root;
}

/* Whether the chain, and nothing else, reads what the group computes. */
static bool is_read_by_chain(const Map *all, const Chain *chain, const Group *group) {
    const ReadingGroups *readers = address_map_get(all, group->root->components[0].tensor);
    bool used = false;
    for (int r = 0; readers && r < readers->groups.count; r++) {
        if (readers->groups.items[r] == group)
            continue;
        if (!is_member(chain, readers->groups.items[r]))
            return false;
        used = true;
    }
    return used;
}

/* Groups that the chain does not read, which most are, are told first. */
static bool suits_chain(Space *space, const Map *all, const Chain *chain, const Group *group) {
    if (!is_read_by_chain(all, chain, group) ||
        (space->bordered >= 0 && group->root == space->program->stages[space->bordered]))
        return false;
    return chain->producer_count < CHAIN_PRODUCERS && !group->scan && group->root->component_count == 1 &&
           group->tiled && group->root->components[0].tensor->role == ROLE_TEMPORARY &&
           !tiles_read(space, group->root, NULL);
}

/* --- shared axes -------------------------------------------------------------------------------------------------- */

/* The dimension where a stage reads a tensor by its axis, or by tiles of it; -1: none, or different ones. */
static int read_dimension(Space *space, const Stage *reader, int axis, int64_t step, const Stage *written,
                          bool *reads_it) {
    const Stage *stage = inlined_stage(space, reader);
    int dimension = -1;
    EACH_STAGE_READ(read, stage) {
        int found = -1;
        if (!stage_writes(written, read->tensor))
            continue;
        for (int d = 0; d < read->count; d++)
            if (step > 1 ? divisor_of(read->args[d], stage->axes[axis]) == step
                         : read->args[d]->kind == EXPR_VAR && read->args[d]->var == stage->axes[axis])
                found = d;
        if (found < 0 || (*reads_it && found != dimension))
            return -1;
        dimension = found;
        *reads_it = true;
    }
    return dimension;
}

/* Finds the root's axis in each stage of the chain: the root's group first, then the producers. False: readers
 * disagree. */
static bool follow(Space *space, const Chain *chain, const Group *root, ChainAxis *axis) {
    int count = root->stage_count + chain->producer_count, dims[count];
    const Stage *stages[count];
    for (int s = 0; s < root->stage_count; s++)
        stages[s] = root->stages[root->stage_count - 1 - s];
    for (int p = 0; p < chain->producer_count; p++)
        stages[root->stage_count + p] = chain->producers[p];
    for (int s = 0; s < count; s++) {
        dims[s] = stages[s] == chain->root ? axis->axis : -1;
        bool used = false;
        for (int from = 0; from < s && stages[s] != chain->root; from++) {
            bool reads_it = false;
            int64_t step = stages[from] == chain->root ? axis->step : 1;
            int found = read_dimension(space, stages[from], dims[from], step, stages[s], &reads_it);
            if ((reads_it || found >= 0) && (found < 0 || (used && found != dims[s])))
                return false;
            if (reads_it)
                dims[s] = found;
            used |= reads_it;
        }
        if (dims[s] < 0)
            return false;
        if (s >= root->stage_count)
            axis->dims[s - root->stage_count] = dims[s];
    }
    return true;
}

static int64_t iterations_of(const Chain *chain, const ChainAxis *axis) {
    return ceil_divide(axis_extent(chain->root->axes[axis->axis]), axis->step);
}

/* --- bytes -------------------------------------------------------------------------------------------------------- */

static double bytes_of(const Stage *stage) {
    double bytes = element_info[stage->components[0].tensor->type].bytes;
    for (int a = 0; a < stage->axis_count; a++)
        bytes *= (double)axis_extent(stage->axes[a]);
    return bytes;
}

static double tensor_bytes(const Tensor *tensor) {
    return (double)tensor_elements(tensor) * element_info[tensor->type].bytes;
}

/* Whether a member computes the tensor. */
static bool is_intermediate(const Space *space, const Chain *chain, const Tensor *tensor) {
    for (int g = 0; g < space->groups.count; g++)
        for (int s = 0; s < space->groups.items[g]->stage_count && is_member(chain, space->groups.items[g]); s++)
            if (stage_writes(space->groups.items[g]->stages[s], tensor))
                return true;
    return false;
}

/* The bytes that a block of a producer reads and that no member computes. */
static double operand_bytes(Space *space, const Chain *chain, int producer, int count, bool *uses) {
    const Stage *stage = inlined_stage(space, chain->producers[producer]);
    LIST(const Tensor *) seen = {0};
    double bytes = 0;
    EACH_STAGE_READ(read, stage) {
        bool again = is_intermediate(space, chain, read->tensor);
        for (int t = 0; t < seen.count; t++)
            again |= seen.items[t] == read->tensor;
        list_push(space->arena, &seen, read->tensor);
        double part = again ? 0 : tensor_bytes(read->tensor);
        for (int a = 0; a < count && !again; a++)
            if (expr_uses_var(read, stage->axes[chain->axes[a].dims[producer]])) {
                part /= (double)iterations_of(chain, &chain->axes[a]);
                uses[a] = true;
            }
        bytes += part;
    }
    return bytes;
}

/* --- whether ------------------------------------------------------------------------------------------------------ */

/* Whether every operand of a reduction is still reused along axes of the block. */
static bool keeps_reuse(Space *space, const Chain *chain, int producer, int count) {
    const Stage *stage = inlined_stage(space, chain->producers[producer]);
    if (stage->reduction_count == 0)
        return true;
    EACH_STAGE_READ(read, stage) {
        double times = 1;
        for (int a = 0; a < stage->axis_count; a++) {
            bool chained = false;
            for (int c = 0; c < count; c++)
                chained |= chain->axes[c].dims[producer] == a;
            if (!chained && !expr_uses_var(read, stage->axes[a]))
                times *= (double)axis_extent(stage->axes[a]);
        }
        if (times < LEAST_REUSE)
            return false;
    }
    return true;
}

/* Bytes moved from beyond the second cache with the first `count` axes, operands counted after their first read; below
 * 0: makes no sense. */
static double chain_cost(Space *space, const Chain *chain, int count) {
    const Machine *machine = space->target->machine;
    double block = 0, operands = 0, whole = 0, iterations = 1, cache = (double)machine->cache_bytes[1];
    int threads = target_threads(space->target);
    for (int a = 0; a < count; a++)
        iterations *= (double)iterations_of(chain, &chain->axes[a]);
    for (int p = 0; p < chain->producer_count; p++) {
        bool uses[CHAIN_AXES] = {0};
        if (!keeps_reuse(space, chain, p, count))
            return -1;
        block += bytes_of(chain->producers[p]) / iterations;
        operands += operand_bytes(space, chain, p, count, uses);
        whole += operand_bytes(space, chain, p, 0, uses);
    }
    if ((threads > 1 && iterations < TASKS_A_THREAD * threads) || iterations < 2)
        return -1;
    if (block + operands <= used_part * cache)
        return 0;
    double last = (double)machine->cache_bytes[2], again = iterations * operands - whole;
    bool near = block <= cache / 2;
    if (iterations * block <= last / 2 || (!near && threads * block + operands > last * machine->usable_part[2]))
        return -1;
    return again + (near ? 0 : PASSES / 2 * iterations * block);
}

/* The bytes moved without a chain. What one thread writes and another reads does not stay near either of them. */
static double plain_cost(const Space *space, const Chain *chain) {
    const Machine *machine = space->target->machine;
    double bytes = 0, near = (double)machine->cache_bytes[1], last = (double)machine->cache_bytes[2];
    /* cost of bytes from memory, if those from the last cache cost 1 */
    double far = round(machine->bytes_per_cycle[1] / machine->bytes_per_cycle[2]);
    for (int p = 0; p < chain->producer_count; p++)
        bytes += bytes_of(chain->producers[p]);
    if (bytes <= (space->target->threads == 1 ? near : near / SHARED_PART))
        return 0;
    return PASSES / 2 * bytes * (bytes > last / 2 ? far : 1);
}

/* Puts axes that operands have outermost, so that a part of these stays while the other axes go on. */
static void order_axes(Space *space, Chain *chain) {
    bool uses[CHAIN_AXES] = {0};
    for (int p = 0; p < chain->producer_count; p++) {
        if (inlined_stage(space, chain->producers[p])->reduction_count > 0)
            operand_bytes(space, chain, p, chain->count, uses);
    }
    ChainAxis ordered[CHAIN_AXES];
    int count = 0;
    for (int kind = 0; kind < 3; kind++)
        for (int a = 0; a < chain->count; a++)
            if (kind == (uses[a] ? 0 : chain->axes[a].step > 1 ? 2 : 1))
                ordered[count++] = chain->axes[a];
    memcpy(chain->axes, ordered, sizeof *ordered * (size_t)count);
}

/* --- statements --------------------------------------------------------------------------------------------------- */

static void name_axes(Space *space, Chain *chain) {
    for (int a = 0; a < chain->count; a++) {
        ChainAxis *axis = &chain->axes[a];
        const char *name = chain->root->axes[axis->axis]->name;
        axis->outer = axis->inner = loop_path(space, chain->root->name, name);
        if (axis->step == 1)
            continue;
        Group nothing = {.prefix = arena_printf(space->arena, "c%d_", space->chains.count + 1)};
        axis->outer = space_local_name(space, &nothing, arena_printf(space->arena, "%s_o", name));
        axis->inner = space_local_name(space, &nothing, arena_printf(space->arena, "%s_i", name));
    }
}

static const ChainAxis *axis_of(const Chain *chain, int number) {
    for (int a = 0; a < chain->count; a++)
        if (chain->axes[a].axis == number)
            return &chain->axes[a];
    return NULL;
}

/* Places all stages of a member; readers come before what they read. */
static void place_stages(Space *space, const Chain *chain, const Group *group, Sketch *sketch) {
    for (int s = group->stage_count - 1; s >= 0; s--) {
        PrimArg args[2] = {arg_name(group->stages[s]->name), arg_name(chain->axes[chain->count - 1].outer)};
        if (group->stages[s] != chain->root)
            sketch_add(space, sketch, PRIM_COMPUTE_AT, 0, NULL, 2, args);
    }
}

static void write_chain(Space *space, const Chain *chain, Sketch *sketch) {
    const Stage *root = chain->root;
    const char *order[root->axis_count + CHAIN_AXES];
    int count = 0;
    for (int a = 0; a < chain->count; a++) {
        const ChainAxis *axis = &chain->axes[a];
        const char *names[2] = {axis->outer, axis->inner};
        PrimArg args[2] = {arg_name(loop_path(space, root->name, root->axes[axis->axis]->name)), arg_int(axis->step)};
        if (axis->step > 1)
            sketch_add(space, sketch, PRIM_SPLIT, 2, names, 2, args);
        order[count++] = axis->outer;
    }
    for (int a = 0; a < root->axis_count; a++) {
        const ChainAxis *axis = axis_of(chain, a);
        if (!axis)
            order[count++] = loop_path(space, root->name, root->axes[a]->name);
        else if (axis->step > 1)
            order[count++] = axis->inner;
    }
    sketch_loops(space, sketch, PRIM_REORDER, order, count);
    for (int g = 0; g < space->groups.count; g++)
        if (is_member(chain, space->groups.items[g]))
            place_stages(space, chain, space->groups.items[g], sketch);
}

static bool add_chain(Space *space, Chain *chain) {
    Sketch sketch = {0};
    Arena *scratch = arena_new();
    int before = space->common.count;
    name_axes(space, chain);
    write_chain(space, chain, &sketch);
    for (int p = 0; p < sketch.prims.count; p++)
        add_common(space, &sketch.prims.items[p]);
    bool legal = common_nest(scratch, space) != NULL;
    arena_free(scratch);
    if (legal)
        list_push(space->arena, &space->chains, chain);
    else
        cut_common(space, before);
    return legal;
}

/* --- finding them ------------------------------------------------------------------------------------------------- */

static bool find_axes(Space *space, Chain *chain, const Group *root) {
    const Stage *stage = inlined_stage(space, chain->root);
    chain->count = 0;
    for (int a = 0; a < chain->root->axis_count && chain->count < CHAIN_AXES; a++) {
        if (axis_extent(chain->root->axes[a]) <= 1)
            continue;
        ChainAxis axis = {.axis = a, .step = tiles_read(space, chain->root, stage->axes[a])};
        axis.step = axis.step > 1 ? axis.step : 1;
        if (follow(space, chain, root, &axis) && iterations_of(chain, &axis) > 1)
            chain->axes[chain->count++] = axis;
    }
    return chain->count > 0;
}

/* The bytes that a chain saves with its best number of axes; 0: none pays. */
static double best_saving(Space *space, const Chain *chain, int *best) {
    double plain = plain_cost(space, chain), least = plain * needed_part;
    *best = 0;
    for (int count = 1; count <= chain->count; count++) {
        double cost = chain_cost(space, chain, count);
        if (cost < 0 || cost >= least)
            continue;
        least = cost;
        *best = count;
    }
    return *best ? plain - least : 0;
}

/* Adds a producer if that saves more. The chain loses axes that the producer lacks. */
static void add_producer(Space *space, Chain *chain, const Group *root, const Stage *producer) {
    Chain with = *chain;
    int count;
    with.producers[with.producer_count++] = producer;
    if (!find_axes(space, &with, root))
        return;
    order_axes(space, &with);
    if (chain->producer_count == 0 || best_saving(space, &with, &count) > best_saving(space, chain, &count))
        *chain = with;
}

static bool known_extents(const Group *group) {
    for (int s = 0; s < group->stage_count; s++)
        for (int a = 0; a < group->stages[s]->axis_count; a++)
            if (axis_extent(group->stages[s]->axes[a]) < 1)
                return false;
    return true;
}

static bool try_root(Space *space, const Map *all, const Group *root) {
    Chain *chain = ARENA_NEW(space->arena, Chain);
    *chain = (Chain){.root = root->root};
    if (root->scan || !root->tiled || !known_extents(root) || root->root->combine != COMBINE_NONE ||
        !tiles_read(space, root->root, NULL))
        return false;
    for (int g = 0; g < space->groups.count; g++) /* readers come before what they read */
        if (space->groups.items[g] != root && suits_chain(space, all, chain, space->groups.items[g]) &&
            known_extents(space->groups.items[g]))
            add_producer(space, chain, root, space->groups.items[g]->root);
    if (chain->producer_count == 0)
        return false;
    int count;
    best_saving(space, chain, &count);
    chain->count = count;
    return count > 0 && add_chain(space, chain);
}

bool space_find_chains(Space *space) {
    const Map all = list_readers(space);
    bool any = false;
    for (int g = 0; g < space->groups.count; g++)
        any |= try_root(space, &all, space->groups.items[g]);
    return any;
}

const Chain *chain_of(const Space *space, const Stage *stage, int *producer) {
    for (int c = 0; c < space->chains.count; c++) {
        const Chain *chain = space->chains.items[c];
        *producer = -1;
        if (chain->root == stage)
            return chain;
        for (int p = 0; p < chain->producer_count; p++)
            if (chain->producers[p] == stage) {
                *producer = p;
                return chain;
            }
    }
    return NULL;
}

const ChainAxis *chain_axis(const Chain *chain, int producer, int axis) {
    for (int a = 0; chain && a < chain->count; a++)
        if ((producer < 0 ? chain->axes[a].axis : chain->axes[a].dims[producer]) == axis)
            return &chain->axes[a];
    return NULL;
}
