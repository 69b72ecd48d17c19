/* flat.c - the group of a stage that computes element by element, with all operands in the same order, when its rows
 * may not fill vectors. All of its axes become one loop, so that short rows fill vectors as long ones do. Members that
 * it reads are computed inside it; the backend finds common subexpressions.
 */
#include "autosched/space/tile/tile.h"
#include "lang/machine.h"

#include <string.h>

enum { VECTORS_LIMIT = 4, INLINED_LIMIT = 256 /* nodes */ };
static const double empty_lanes = 1.1; /* rows are short from this ratio of work done to work needed on */

typedef struct Flat {
    const char *whole, *outer, *inner, *lane; /* loops */
    int lanes, unroll, parallel_gene;
} Flat;

/* Whether each index is the axis of its own dimension, over the whole dimension. */
static bool reads_in_order(const Stage *stage, const Expr *read) {
    if (read->otherwise || read->count != stage->axis_count)
        return false;
    for (int d = 0; d < read->count; d++)
        if (!stage_index_is_axis(stage, read->args[d], d) || !expr_equal(read->tensor->dims[d], stage->axes[d]->extent))
            return false;
    return true;
}

static bool is_axis_of(const Stage *stage, const Var *var) {
    for (int a = 0; a < stage->axis_count; a++)
        if (stage->axes[a] == var)
            return true;
    return false;
}

static bool stage_is_flat(Space *space, const Stage *stage) {
    if (stage->scan || stage->combine != COMBINE_NONE || stage->component_count > 1 ||
        stage_first_scatter(stage) < stage->axis_count)
        return false;
    const Stage *inlined = inlined_stage(space, stage);
    bool any = false;
    EACH_EXPR(e, inlined->components[0].value) {
        if (e->kind == EXPR_VAR && is_axis_of(inlined, e->var))
            return false;
        if (e->kind != EXPR_READ || !reads_in_order(inlined, e))
            continue;
        any = true;
        SKIP_BELOW(e);
    }
    return any;
}

/* Nodes of a member's value, including the members that it reads. */
static double inlined_nodes(Space *space, const Group *group, int member, const double *sizes) {
    double size = 0;
    EACH_EXPR(e, inlined_stage(space, group->stages[member])->components[0].value) {
        size++;
        if (e->kind != EXPR_READ)
            continue;
        for (int s = 0; s < group->stage_count; s++)
            if (group->stages[s]->components[0].tensor == e->tensor)
                size += sizes[s];
        SKIP_BELOW(e);
    }
    return size;
}

/* Nodes of the root's value once all members are inlined; members come before their readers. */
static double inlined_size(Space *space, const Group *group) {
    double sizes[group->stage_count];
    memset(sizes, 0, sizeof sizes);
    for (int s = 0; s < group->stage_count; s++)
        sizes[s] = inlined_nodes(space, group, s, sizes);
    return sizes[group->stage_count - 1];
}

bool group_is_flat(Space *space, const Group *group) {
    const Stage *root = group->root;
    int last = root->axis_count - 1;
    int64_t row = last < 0 ? 1 : axis_extent(root->axes[last]);
    bool full = row >= 0 && tile_waste(row, stage_lanes(space, root)) <= empty_lanes;
    if (full || last < 1)
        return false;
    for (int s = 0; s < group->stage_count; s++)
        if (!stage_is_flat(space, group->stages[s]))
            return false;
    return group->stage_count == 1 || inlined_size(space, group) <= INLINED_LIMIT;
}

static bool flat_emit(Space *space, Group *group, const int *genes, Sketch *sketch) {
    const Flat *flat = group->details;
    const Stage *root = group->root;
    const char *names[3] = {flat->outer, flat->inner, flat->lane};
    PrimArg axes[root->axis_count], split[3] = {arg_name(flat->whole)};
    for (int s = 0; s < group->stage_count; s++) {
        PrimArg member = arg_name(group->stages[s]->name);
        if (group->stages[s] != root)
            sketch_add(space, sketch, PRIM_INLINE, 0, NULL, 1, &member);
    }
    for (int a = 0; a < root->axis_count; a++)
        axes[a] = arg_name(loop_path(space, root->name, root->axes[a]->name));
    sketch_add(space, sketch, PRIM_FUSE, 1, &flat->whole, root->axis_count, axes);
    split[1] = arg_gene(space, sketch, flat->unroll, 0);
    split[2] = arg_int(flat->lanes);
    sketch_add(space, sketch, PRIM_SPLIT, 3, names, 3, split);
    sketch_loops(space, sketch, PRIM_VECTORIZE, &flat->lane, 1);
    sketch_loops(space, sketch, PRIM_UNROLL, &flat->inner, 1);
    if (space->target->threads != 1 && genes[flat->parallel_gene] == 1)
        sketch_loops(space, sketch, PRIM_PARALLEL, &flat->outer, 1);
    return true;
}

void flat_group_new(Space *space, Group *group) {
    Flat *flat = ARENA_NEW(space->arena, Flat);
    group->details = flat;
    group->emit = flat_emit;
    flat->whole = space_local_name(space, group, "flat");
    flat->outer = space_local_name(space, group, "flat_o");
    flat->inner = space_local_name(space, group, "flat_i");
    flat->lane = space_local_name(space, group, "flat_v");
    flat->lanes = space->target->vector_bytes;
    for (int s = 0; s < group->stage_count; s++) {
        int lanes = stage_lanes(space, inlined_stage(space, group->stages[s]));
        flat->lanes = lanes < flat->lanes ? lanes : flat->lanes;
    }
    Gene unroll = {.kind = GENE_UNROLL, .register_part = -1, .unroll_part = 0};
    unroll.name = arena_printf(space->arena, "%s vectors", group->root->name);
    double work = group_work(group);
    factors_single(space->arena, -1, VECTORS_LIMIT, &unroll);
    flat->unroll = group_add_gene(space, group, unroll);
    Gene parallel = {.kind = GENE_PARALLEL,
                     .structural = true,
                     .count = 2,
                     .start = work < 0 || work >= space->target->machine->fork_operations};
    parallel.name = arena_printf(space->arena, "%s parallel", group->root->name);
    flat->parallel_gene = group_add_gene(space, group, parallel);
}
