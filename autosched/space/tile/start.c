/* start.c - the starting point of a tile group, which -O1 uses too: a register tile of the usual shape.
 *
 * It takes two vectors of the best vector axis, and as many elements of one other axis as the registers then hold,
 * preferring sizes that divide. Operands that are neither contiguous nor broadcast are packed once at the root; so are
 * padded ones, and constants, which are packed at compile time.
 */
#include "autosched/space/tile/tile.h"
#include "lang/machine.h"

enum { STEP_FORKS = 20, MANY_TASKS = 16, TILE_LIMIT = 14 };

static double gene_score(const Gene *gene, int choice, int64_t extent, int64_t inner_limit, int64_t middle) {
    int64_t inner = gene->values[choice * 2 + 1];
    if (inner > inner_limit)
        return -1;
    double reuse = (double)inner / (double)(inner + 2) / (tile_waste(extent, inner) * tile_waste(extent, inner));
    int64_t distance =
        gene->values[choice * 2] > middle ? gene->values[choice * 2] - middle : middle - gene->values[choice * 2];
    return reuse - 1e-4 * (double)(distance > 1000 ? 1000 : distance);
}

/* The largest good inner size, with the nearest middle size. */
static void choose_tile(Gene *gene, int64_t extent, int64_t inner_limit, int64_t middle) {
    double best = -2;
    for (int c = 0; c < gene->count; c++) {
        double score = gene_score(gene, c, extent, inner_limit, middle);
        if (score > best) {
            best = score;
            gene->start = c;
        }
    }
}

/* The innermost other axis that is long enough: the second side of the register tile. */
static int second_axis(const Tile *tile, int vector) {
    int found = -1;
    for (int a = 0; a < tile->axis_count; a++)
        if (a != vector && tile->axes[a].tiled && (found < 0 || tile->axes[a].extent < 0 || tile->axes[a].extent > 3))
            found = a;
    return found;
}

static void start_with_reduction(const Space *space, Group *group, const Tile *tile, int vector) {
    Gene *genes = group->genes.items;
    int64_t vectors = 1, registers = space->target->vector_registers;
    for (int a = 0; a < tile->axis_count; a++) {
        const TileAxis *axis = &tile->axes[a];
        if (!axis->tiled)
            continue;
        int64_t count = axis->extent < 0 ? -1 : ceil_divide(axis->extent, axis->lanes);
        choose_tile(&genes[axis->vector], count, 2, 1);
        choose_tile(&genes[axis->tile], axis->extent, 1, 1);
    }
    if (vector >= 0)
        vectors = genes[tile->axes[vector].vector].values[genes[tile->axes[vector].vector].start * 2 + 1];
    int second = second_axis(tile, vector);
    int64_t limit = (registers / tile->value->component_count - 1 - vectors) / vectors;
    if (second >= 0)
        choose_tile(&genes[tile->axes[second].tile], tile->axes[second].extent, limit < TILE_LIMIT ? limit : TILE_LIMIT,
                    1);
}

/* Without a reduction: long contiguous runs, and enough tasks. */
static void start_without(Group *group, const Tile *tile, int vector) {
    Gene *genes = group->genes.items;
    int64_t others = 1;
    for (int a = 0; a < tile->axis_count; a++)
        if (tile->axes[a].tiled && a != vector) {
            choose_tile(&genes[tile->axes[a].tile], tile->axes[a].extent, 1, 1);
            others *= tile->axes[a].extent < 0 ? MANY_TASKS : tile->axes[a].extent;
        }
    for (int a = 0; a < tile->axis_count; a++) {
        const TileAxis *axis = &tile->axes[a];
        if (!axis->tiled)
            continue;
        int64_t vectors = axis->extent < 0 ? MANY_TASKS : ceil_divide(axis->extent, axis->lanes);
        choose_tile(&genes[axis->vector], axis->extent < 0 ? -1 : vectors, 1,
                    others >= MANY_TASKS ? vectors : ceil_divide(vectors, MANY_TASKS));
    }
}

/* The work of the group; in a scan, of one step. */
static double work_at_once(const Group *group) {
    double work = group_work(group);
    int64_t steps = group_steps(group);
    if (work < 0)
        return -1;
    return steps < 0 ? 0 : work / (double)(steps > 0 ? steps : 1);
}

static void start_packing(Group *group, const Tile *tile, int vector) {
    for (int i = 0; i < tile->operands.count; i++) {
        const TileOperand *operand = &tile->operands.items[i];
        if (operand->pack < 0)
            continue;
        int dimension;
        int64_t coefficient;
        AccessKind kind = ACCESS_NONE;
        if (vector >= 0)
            kind = access_along(operand->read, tile->axes[vector].axis, &dimension, &coefficient);
        bool free = operand->read->tensor->role == ROLE_CONSTANT && kind == ACCESS_CONTIGUOUS && tile->reduction_count;
        bool wanted = kind == ACCESS_STRIDED || operand->read->otherwise || free;
        group->genes.items[operand->pack].start = wanted ? PACK_ROOT : PACK_NONE;
    }
}

/* Adds starts for orders that leave out what is outside, and for padded operands read in place: tiles that suit one do
 * not suit the others. */
static void add_other_starts(Space *space, Group *group, const Tile *tile) {
    for (int order = REDUCE_CLIP_LAST; order < group->genes.items[tile->reduce_gene].count; order++) {
        OtherStart other = {tile->reduce_gene, order};
        list_push(space->arena, &group->others, other);
    }
    for (int i = 0; i < tile->operands.count; i++) {
        OtherStart other = {tile->operands.items[i].pack, PACK_NONE};
        if (other.gene >= 0 && tile->operands.items[i].read->otherwise)
            list_push(space->arena, &group->others, other);
    }
}

void tile_choose_start(Space *space, Group *group, Tile *tile) {
    int vector = tile->candidate_count ? tile->candidates[0] : -1;
    double work = work_at_once(group);
    if (tile->reduction_count)
        start_with_reduction(space, group, tile, vector);
    else
        start_without(group, tile, vector);
    start_packing(group, tile, vector);
    double small = space->target->machine->fork_operations *
                   (group->scan ? STEP_FORKS : 1); /* in a scan every step waits for all threads */
    if (work >= 0 && work < small && space->target->threads != 1)
        group->genes.items[tile->parallel_gene].start = 2;
    if (tile->reduction_count > 1)
        group->genes.items[tile->reduce_gene].start = REDUCE_SOURCE;
    for (int r = 0; r < tile->reduction_count; r++) {
        const TileReduction *reduction = &tile->reductions[r];
        if (reduction->block >= 0)
            choose_tile(&group->genes.items[reduction->block], reduction->extent, 1, MANY_TASKS);
    }
    add_other_starts(space, group, tile);
}
