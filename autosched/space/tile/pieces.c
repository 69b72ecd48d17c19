/* pieces.c - a long reduction to few elements in pieces (split-K): partial results of all pieces, then their sum.
 *
 * The partial results are a stage of their own (rfactor), whose first axis counts the pieces. Its register tile is that
 * of the reduction, with a few pieces side by side: one piece of a small result has too few accumulators to hide their
 * latencies, and reads memory in one stream. Threads share the pieces. The sum of the partial results stays where the
 * reduction was.
 */
#include "autosched/space/tile/tile.h"

enum {
    TILE_VECTORS = 16, /* vectors of the results that a thread's register tile holds */
    LONG_TIMES = 16,   /* the reduction is this many times longer than there are results */
    PIECE_LEAST = 512, /* terms */
    PIECES_A_THREAD = 4,
    PIECES_MOST = 16, /* of one thread */
    SIDES_MOST = 8,
    START_SIDES = 4
};

/* Elements of the reduction's result; -1: known at run time only. */
static int64_t result_elements(const Tile *tile) {
    int64_t elements = 1;
    for (int a = 0; a < tile->axis_count; a++) {
        if (tile->axes[a].extent < 0 || elements > INT32_MAX)
            return -1;
        elements *= tile->axes[a].extent;
    }
    return elements;
}

/* The most pieces that are long enough; 0: the reduction stays whole. */
static int64_t most_pieces(const Space *space, const Group *group, const Tile *tile) {
    const Stage *anchor = tile->anchor;
    if (!anchor || tile->placed || tile->chain || group->scan || tile->reduction_count == 0 ||
        anchor->component_count > 1 || anchor->combine == COMBINE_DECLARED ||
        stage_is_ordered(space->program, anchor) || stage_first_scatter(anchor) < anchor->axis_count)
        return 0;
    int threads = target_threads(space->target);
    int64_t extent = tile->reductions[tile->largest].extent, elements = result_elements(tile);
    int64_t few = (int64_t)threads * TILE_VECTORS * stage_lanes(space, anchor);
    if (elements < 1 || elements > few || extent < LONG_TIMES * elements)
        return 0;
    int64_t most = threads > 1 ? PIECES_A_THREAD * threads : PIECES_MOST;
    most = most < PIECES_MOST ? PIECES_MOST : most;
    return extent / PIECE_LEAST < most ? extent / PIECE_LEAST : most;
}

/* The accumulators of the starting tile. */
static int64_t start_accumulators(const Group *group, const Tile *tile) {
    int64_t count = 1;
    for (int a = 0; a < tile->axis_count; a++) {
        bool vector = tile->candidate_count && a == tile->candidates[0];
        const Gene *gene = &group->genes.items[vector ? tile->axes[a].vector : tile->axes[a].tile];
        count *= tile->axes[a].tiled ? gene->values[gene->start * 2 + 1] : 1;
    }
    return count;
}

/* (terms of a piece, pieces side by side). Starts with as many side by side as fill the registers, and with a number of
 * pieces that serves all threads. */
static Gene sizes_gene(const Space *space, const Group *group, const Tile *tile, int64_t most) {
    Gene gene = {.kind = GENE_TILE, .width = 2, .register_part = 1, .unroll_part = -1};
    LIST(int64_t) values = {0};
    int64_t extent = tile->reductions[tile->largest].extent, accumulators = start_accumulators(group, tile);
    gene.name = arena_printf(space->arena, "%s sizes of pieces", tile->reductions[tile->largest].loop);
    for (int64_t pieces = 2; pieces <= most; pieces *= 2)
        for (int64_t sides = 1; sides <= pieces && sides <= SIDES_MOST; sides *= 2) {
            bool fits = sides == 1 || 2 * sides * accumulators <= space->target->vector_registers + 1;
            if (fits && sides <= START_SIDES && pieces / sides <= target_threads(space->target))
                gene.start = values.count / 2;
            list_push(space->arena, &values, ceil_divide(extent, pieces));
            list_push(space->arena, &values, sides);
        }
    gene.values = values.items;
    gene.count = values.count / 2;
    return gene;
}

/* The tile of the partial results: the same, with the loops of their stage. */
static void make_partial(Space *space, Group *group, Tile *tile) {
    TilePieces *pieces = tile->pieces;
    const Stage *anchor = tile->anchor;
    Stage *stage = ARENA_NEW(space->arena, Stage);
    Tile *partial = ARENA_NEW(space->arena, Tile);
    *stage = *anchor;
    stage->name = pieces->stage;
    *partial = *tile;
    partial->copies = ARENA_NEW(space->arena, Map);
    partial->root = stage;
    partial->fused = false;
    partial->axes = ARENA_ARRAY(space->arena, TileAxis, tile->axis_count);
    partial->reductions = ARENA_ARRAY(space->arena, TileReduction, tile->reduction_count);
    for (int a = 0; a < tile->axis_count; a++) {
        partial->axes[a] = tile->axes[a];
        partial->axes[a].loop = loop_path(space, stage->name, anchor->axes[a]->name);
    }
    for (int r = 0; r < tile->reduction_count; r++) {
        partial->reductions[r] = tile->reductions[r];
        partial->reductions[r].loop =
            loop_path(space, stage->name, r == tile->largest ? pieces->rest : anchor->reductions[r]->name);
    }
    pieces->partial = partial;
}

void tile_make_pieces(Space *space, Group *group, Tile *tile) {
    int64_t most = most_pieces(space, group, tile);
    if (most < 2)
        return;
    TilePieces *pieces = tile->pieces = ARENA_NEW(space->arena, TilePieces);
    const char *name = tile->reductions[tile->largest].axis->name;
    Gene gene = {.structural = true, .count = 2, .register_part = -1, .unroll_part = -1};
    gene.name = arena_printf(space->arena, "%s pieces", tile->reductions[tile->largest].loop);
    pieces->gene = group_add_gene(space, group, gene);
    pieces->sizes = group_add_gene(space, group, sizes_gene(space, group, tile, most));
    pieces->piece = space_local_name(space, group, arena_printf(space->arena, "%s_t", name));
    pieces->rest = space_local_name(space, group, arena_printf(space->arena, "%s_r", name));
    pieces->stage = space_local_name(space, group, arena_printf(space->arena, "%s_s", tile->anchor->name));
    pieces->outer = space_local_name(space, group, arena_printf(space->arena, "%s_to", name));
    pieces->inner = space_local_name(space, group, arena_printf(space->arena, "%s_ti", name));
    make_partial(space, group, tile);
    OtherStart other = {pieces->gene, 1};
    list_push(space->arena, &group->others, other);
}

bool tile_in_pieces(const Tile *tile, const int *genes) {
    return tile->pieces && genes[tile->pieces->gene] == 1;
}

void tile_write_pieces(TileWriter *writer) {
    const Tile *tile = writer->tile;
    const TilePieces *pieces = tile->pieces;
    Space *space = writer->space;
    const char *cut[2] = {pieces->piece, pieces->rest}, *sides[2] = {pieces->outer, pieces->inner};
    PrimArg split[2] = {arg_name(tile->reductions[tile->largest].loop)}, piece = arg_name(pieces->piece);
    split[1] = arg_gene(space, writer->sketch, pieces->sizes, 0);
    sketch_add(space, writer->sketch, PRIM_SPLIT, 2, cut, 2, split);
    sketch_add(space, writer->sketch, PRIM_RFACTOR, 1, &pieces->stage, 1, &piece);
    split[0] = arg_name(loop_path(space, pieces->stage, pieces->piece));
    split[1] = arg_gene(space, writer->sketch, pieces->sizes, 1);
    sketch_add(space, writer->sketch, PRIM_SPLIT, 2, sides, 2, split);
    writer->tile = pieces->partial;
    names_add(&writer->outers, pieces->outer);
    names_add(&writer->inners, pieces->inner);
}

void tile_write_sum(TileWriter *writer) {
    const Tile *tile = writer->tile;
    Space *space = writer->space;
    if (writer->vector < 0)
        return;
    const TileAxis *axis = &tile->axes[writer->vector];
    const char *names[2] = {axis->anchor_outer, axis->anchor_lane}, *stage = tile->anchor->name;
    PrimArg split[2] = {arg_name(loop_path(space, stage, tile->anchor->axes[writer->vector]->name)),
                        arg_int(axis->lanes)};
    const char *order[2] = {loop_path(space, stage, tile->pieces->piece), axis->anchor_lane};
    sketch_add(space, writer->sketch, PRIM_SPLIT, 2, names, 2, split);
    sketch_loops(space, writer->sketch, PRIM_REORDER, order, 2);
    sketch_loops(space, writer->sketch, PRIM_VECTORIZE, order + 1, 1);
}
