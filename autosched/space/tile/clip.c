/* clip.c - register tiles for sums whose terms are 0 outside a tensor: these terms are not computed.
 *
 * In (I(h + r_kh - 1, w + r_kw - 1, r_c) else 0) * F(...), r_kh and r_kw are clipped. They are the outermost
 * reductions. Either they are unrolled, so that each copy knows which elements of the register tile have a term, or
 * they stay loops over what is inside. The first and the last tile along such an axis get code of their own. The padded
 * operand is always read in place: a copy would have the zeros in it.
 */
#include "autosched/space/tile/tile.h"

enum { CLIPPED_COPIES = 12 }; /* most copies of the tile for values of unrolled clipped reductions */

/* Whether both variables together decide if the read is inside. */
static bool share_index(const Expr *read, const Var *a, const Var *b) {
    for (int d = 0; d < read->count; d++)
        if (expr_uses_var(read->args[d], a) && expr_uses_var(read->args[d], b))
            return true;
    return false;
}

static bool is_padded(const Expr *read) {
    return read->otherwise && expr_is_zero(read->otherwise);
}

/* Whether the reduction and an axis decide what is inside. axis: -1 for any except the vector axis. */
static bool is_clipped(const Tile *tile, int reduction, int vector, int axis) {
    for (int i = 0; i < tile->operands.count; i++) {
        const Expr *read = tile->operands.items[i].read;
        for (int a = 0; a < tile->axis_count && is_padded(read); a++)
            if ((axis < 0 || a == axis) && a != vector && tile->axes[a].tiled &&
                share_index(read, tile->reductions[reduction].axis, tile->axes[a].axis))
                return true;
    }
    return false;
}

int tile_reduce_orders(const Space *space, const Tile *tile) {
    bool clips = false;
    if (tile->anchor && stage_orders_reductions(tile->anchor))
        return 1;
    for (int r = 0; r < tile->reduction_count; r++)
        clips |= is_clipped(tile, r, -1, -1);
    clips &= tile->reduction_count > 0 && tile->anchor->combine == COMBINE_ADD && !space->program->strict;
    return clips ? REDUCE_CLIP_ORDERS : tile->reduction_count > 1 ? REDUCE_ORDERS : 1;
}

bool tile_clips(const TileWriter *writer) {
    return writer->order == REDUCE_CLIP_LAST || writer->order == REDUCE_CLIP_ALL;
}

static bool clips(const TileWriter *writer, int reduction) {
    return is_clipped(writer->tile, reduction, writer->vector, -1);
}

static bool is_unrolled(const TileWriter *writer, int reduction) {
    bool last = clips(writer, reduction);
    for (int r = reduction + 1; r < writer->tile->reduction_count && writer->order == REDUCE_CLIP_LAST; r++)
        last &= !clips(writer, r);
    return last;
}

bool tile_clip_makes_sense(const TileWriter *writer) {
    const Tile *tile = writer->tile;
    int64_t copies = 1;
    int unrolled = 0;
    if (tile_uses_instr(writer) || (tile_in_blocks(tile, writer->genes) && clips(writer, tile->largest)))
        return false; /* a block is of a reduction that has all its terms */
    for (int r = 0; r < tile->reduction_count; r++) {
        if (!is_unrolled(writer, r))
            continue;
        if (tile->reductions[r].extent < 0 || tile->reductions[r].extent > CLIPPED_COPIES)
            return false;
        copies *= tile->reductions[r].extent;
        unrolled++;
    }
    return copies <= CLIPPED_COPIES && unrolled > (writer->order == REDUCE_CLIP_ALL); /* one alone is also last */
}

bool tile_reads_in_place(const TileWriter *writer, const TileOperand *operand) {
    return tile_clips(writer) && is_padded(operand->read);
}

int tile_order_clipped(TileWriter *writer) {
    const Tile *tile = writer->tile;
    int last = tile->reduction_count - 1, split = -1;
    if (!clips(writer, tile->largest))
        split = tile->largest;
    else if (!clips(writer, last))
        split = last;
    for (int r = 0; r <= last; r++)
        if (is_unrolled(writer, r)) {
            names_add(&writer->reductions, tile->reductions[r].loop);
            names_add(&writer->unrolled, tile->reductions[r].loop);
            writer->sketch->copies *= tile->reductions[r].extent;
        }
    for (int unclipped = 0; unclipped < 2; unclipped++)
        for (int r = 0; r <= last; r++)
            if (r != split && !is_unrolled(writer, r) && !clips(writer, r) == unclipped)
                names_add(&writer->reductions, tile->reductions[r].loop);
    return split;
}

int tile_reduction_place(const TileWriter *writer, int reduction) {
    bool largest = reduction == writer->tile->largest;
    int count = writer->tile->reduction_count;
    if (tile_clips(writer))
        return clips(writer, reduction) ? reduction + 1 : largest ? 2 * count : count + reduction;
    return largest && writer->order == REDUCE_LARGEST   ? 2 * count
           : largest && writer->order == REDUCE_BLOCKED ? 0
                                                        : reduction + 1;
}

void tile_partition(TileWriter *writer) {
    const Tile *tile = writer->tile;
    for (int a = 0; a < tile->axis_count; a++) {
        bool edges = false;
        for (int r = 0;
             r < tile->reduction_count && tile->axes[a].tiled && tile->axes[a].extent >= 0 && a != writer->vector; r++)
            edges |= is_unrolled(writer, r) && is_clipped(tile, r, writer->vector, a);
        PrimArg args[3] = {arg_name(tile->axes[a].middle), arg_int(1), arg_int(-1)};
        if (edges)
            sketch_add(writer->space, writer->sketch, PRIM_PARTITION, 0, NULL, 3, args);
    }
}
