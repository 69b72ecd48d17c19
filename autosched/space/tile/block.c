/* block.c - a block of a long reduction around the register tile (GotoBLAS's block of K, Ansor's "SSRSRS"): what
 * the block reads stays in a near cache while the tiles of the result walk over it, each from its partial results on.
 *
 * The loop over blocks is one of the outer loops: the innermost, around the tiles that the middle loops visit, or after
 * the first, where a packed panel of an operand serves all the others. The order of the terms is that of the reduction
 * in blocks. It pays where a register tile's part of an operand does not fit the nearest cache; the model decides.
 *
 * What follows the sum element by element needs it complete. The sum is then computed at the consumer's loop around the
 * one over blocks, in loops like those of a sum alone: its partial results are a buffer of what that loop's body needs,
 * which the consumer finds in a near cache behind the last block.
 */
#include "autosched/space/tile/tile.h"
#include "lang/machine.h"

#include <string.h>

typedef enum BlockPlace { BLOCK_NONE, BLOCK_MIDDLE, BLOCK_FIRST, BLOCK_PLACES } BlockPlace;

enum {
    LEAST_USES = 16,  /* of what a block holds: less streams through the cache */
    BLOCK_LEAST = 64, /* terms */
    BLOCK_STEP = 8,
    BLOCK_START = 256,
    BLOCK_UNROLL = 8,
    BLOCK_START_UNROLL = 4,
    PANEL_VECTORS = 2 /* of an operand that a step of a usual register tile loads */
};

/* How many elements of the result read an element of the operand. */
static double uses(const Tile *tile, const Expr *read) {
    double count = 1;
    for (int a = 0; a < tile->axis_count; a++)
        count *= expr_uses_var(read, tile->axes[a].axis) ? 1 : (double)tile->axes[a].extent;
    return count;
}

/* Whether partial results of the tile may be stored, and a panel of an operand is too long for the nearest cache. */
static bool wants_blocks(const Space *space, const Group *group, const Tile *tile) {
    const Stage *anchor = tile->anchor;
    if (!anchor || tile->placed || tile->chain || group->scan || tile->reduction_count == 0 ||
        stage_first_scatter(anchor) < anchor->axis_count ||
        (tile->reduction_count > 1 && stage_is_ordered(space->program, anchor)))
        return false;
    for (int a = 0; a < tile->axis_count; a++)
        if (tile->axes[a].extent <= 0)
            return false;
    for (int i = 0; i < tile->operands.count; i++)
        if (uses(tile, tile->operands.items[i].read) < LEAST_USES)
            return false;
    int64_t extent = tile->reductions[tile->largest].extent;
    int64_t panel = (int64_t)PANEL_VECTORS * space->target->vector_bytes;
    return extent >= 2 * BLOCK_LEAST && extent > space->target->machine->cache_bytes[0] / panel;
}

/* (blocks' terms / unrolled steps, unrolled steps): about equal blocks. */
static Gene sizes_gene(const Space *space, const TileReduction *reduction) {
    Gene gene = {.kind = GENE_TILE, .width = 2, .register_part = -1, .unroll_part = 1, .gain = NEEDED_GAIN};
    LIST(int64_t) values = {0};
    int64_t extent = reduction->extent, last = 0, nearest = INT64_MAX;
    gene.name = arena_printf(space->arena, "%s sizes of blocks", reduction->loop);
    for (int64_t blocks = 2;; blocks += blocks < 4 ? 1 : blocks / 2) {
        int64_t size = ceil_divide(ceil_divide(extent, blocks), BLOCK_STEP) * BLOCK_STEP;
        if (size < BLOCK_LEAST)
            break;
        int64_t distance = size > BLOCK_START ? size - BLOCK_START : BLOCK_START - size;
        for (int64_t unroll = 1; unroll <= BLOCK_UNROLL && size != last && extent % unroll == 0; unroll *= 2) {
            if (unroll <= BLOCK_START_UNROLL && distance <= nearest) {
                gene.start = values.count / 2;
                nearest = distance;
            }
            list_push(space->arena, &values, size / unroll);
            list_push(space->arena, &values, unroll);
        }
        last = size;
    }
    gene.values = values.items;
    gene.count = values.count / 2;
    return gene;
}

void tile_make_blocks(Space *space, Group *group, Tile *tile) {
    if (!wants_blocks(space, group, tile))
        return;
    const TileReduction *reduction = &tile->reductions[tile->largest];
    Gene gene = {.kind = GENE_ORDER, .structural = true, .count = BLOCK_PLACES, .gain = NEEDED_GAIN};
    gene.name = arena_printf(space->arena, "%s blocks", reduction->loop);
    tile->block_gene = group_add_gene(space, group, gene);
    tile->block_sizes = group_add_gene(space, group, sizes_gene(space, reduction));
    for (int place = BLOCK_NONE + 1; place < BLOCK_PLACES; place++) {
        OtherStart other = {tile->block_gene, place};
        list_push(space->arena, &group->others, other);
    }
}

bool tile_in_blocks(const Tile *tile, const int *genes) {
    return tile->block_gene >= 0 && genes[tile->block_gene] != BLOCK_NONE;
}

/* The first outer loop whose extent is not 1: such loops keep names of the form STAGE.axis. */
static int first_outer(const NameList *outers) {
    int first = 0;
    while (first < outers->count && strchr(outers->names[first], '.'))
        first++;
    return first;
}

int tile_block_place(const TileWriter *writer) {
    const NameList *outers = &writer->outers;
    if (writer->tile->resumed)
        return first_outer(outers);
    if (writer->genes[writer->tile->block_gene] != BLOCK_FIRST)
        return outers->count;
    int place = first_outer(outers) + 1;
    return place < outers->count ? place : -1; /* it is the innermost */
}

bool tile_add_block(TileWriter *writer, const char *loop) {
    NameList *outers = &writer->outers;
    int place = tile_block_place(writer);
    if (place < 0)
        return false;
    names_add(outers, loop);
    for (int i = outers->count - 1; i > place; i--)
        outers->names[i] = outers->names[i - 1];
    outers->names[place] = loop;
    writer->block = place;
    return true;
}

/* --- the sum of a consumer --- */

static const char *part_of_sum(const TileWriter *writer, int axis, const char *ending) {
    const char *name = writer->tile->anchor->axes[axis]->name;
    return space_local_name(writer->space, writer->group, arena_printf(writer->space->arena, "%s_%s", name, ending));
}

static bool is_around(const TileWriter *writer, const TileAxis *axis, int place) {
    for (int i = 0; i < place && axis->tiled; i++)
        if (strcmp(writer->outers.names[i], axis->outer) == 0)
            return true;
    return false;
}

/* Its axes have the consumer's sizes, and loops of their own, except those around it. */
const Tile *tile_of_sum(const TileWriter *writer, int place) {
    const Tile *tile = writer->tile;
    Tile *sum = ARENA_NEW(writer->space->arena, Tile);
    *sum = *tile;
    sum->copies = ARENA_NEW(writer->space->arena, Map);
    sum->root = tile->anchor;
    sum->fused = false;
    sum->resumed = true;
    sum->axes = ARENA_ARRAY(writer->space->arena, TileAxis, tile->axis_count);
    for (int a = 0; a < tile->axis_count; a++) {
        TileAxis *axis = &sum->axes[a];
        *axis = tile->axes[a];
        axis->loop = axis->inner_loop;
        axis->outside = is_around(writer, axis, place);
        axis->outer = axis->outside ? axis->outer : part_of_sum(writer, a, "to");
        axis->middle = part_of_sum(writer, a, "tm");
        axis->inner = part_of_sum(writer, a, "ti");
        axis->lane = axis->anchor_lane;
    }
    return sum;
}
