/* emit.c - the statements of a tile group. Its loops, from the outside in:
 *
 *    axes of extent 1, outer spatial (fused and parallel), middle spatial | reductions, inner spatial (unrolled), lanes
 *
 * What is right of the bar belongs to the stage in registers: made by cache_write of the root, or the anchor, which is
 * computed at the last middle loop. Annotations come before cache_write, so that the loops that store the tile have
 * them too.
 */
#include "autosched/space/tile/tile.h"
#include "lower/instr/instr.h"

#include <string.h>

enum { PARALLEL_ALL, PARALLEL_FIRST, PARALLEL_NONE };

NameList names_new(Arena *arena) {
    return (NameList){.arena = arena};
}

void names_add(NameList *list, const char *name) {
    if (list->count == list->capacity)
        list->names = list_grow(list->arena, list->names, &list->capacity, sizeof *list->names);
    list->names[list->count++] = name;
}

static void names_join(NameList *list, const NameList *other) {
    for (int i = 0; i < other->count; i++)
        names_add(list, other->names[i]);
}

static void writer_clear(TileWriter *writer) {
    NameList *lists[] = {&writer->outers, &writer->middles, &writer->inners, &writer->reductions, &writer->unrolled};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        *lists[i] = names_new(writer->space->arena);
}

static void loops(TileWriter *writer, PrimOp op, const NameList *list) {
    sketch_loops(writer->space, writer->sketch, op, list->names, list->count);
}

static PrimArg hole(TileWriter *writer, int gene, int part) {
    return arg_gene(writer->space, writer->sketch, gene, part);
}

/* --- spatial axes --- */

/* Without its outer loop where that is around the tile: the loop is then one of a block. */
static void split_axis(TileWriter *writer, const TileAxis *axis, bool vector) {
    const char *names[4] = {axis->outer, axis->middle, axis->inner, axis->lane};
    int gene = vector ? axis->vector : axis->tile, first = axis->outside, count = 1;
    PrimArg args[4] = {arg_name(axis->loop)};
    for (int part = first; part < 2; part++)
        args[count++] = hole(writer, gene, part);
    if (vector)
        args[count++] = arg_int(axis->lanes);
    writer->sketch->shorter |= vector && axis->shorter;
    sketch_add(writer->space, writer->sketch, PRIM_SPLIT, count, names + first, count, args);
}

typedef const char *AxisName(const TileWriter *writer, int axis);

/* The tiled axes, with the vector axis first or last. */
static void order_axes(const TileWriter *writer, bool vector_first, NameList *list, AxisName *name) {
    const Tile *tile = writer->tile;
    if (vector_first && writer->vector >= 0 && name(writer, writer->vector))
        names_add(list, name(writer, writer->vector));
    for (int a = 0; a < tile->axis_count; a++)
        if (tile->axes[a].tiled && a != writer->vector && name(writer, a))
            names_add(list, name(writer, a));
    if (!vector_first && writer->vector >= 0 && name(writer, writer->vector))
        names_add(list, name(writer, writer->vector));
}

/* The axes that share no operand with the vector axis come first: threads then share what only these read. */
static void order_apart(const TileWriter *writer, NameList *list, AxisName *name) {
    const Tile *tile = writer->tile;
    for (int sharing = 0; sharing <= 1; sharing++)
        for (int a = 0; a < tile->axis_count; a++)
            if (tile->axes[a].tiled && a != writer->vector && name(writer, a) &&
                (writer->vector >= 0 && tile_shares_operand(tile, a, writer->vector)) == sharing)
                names_add(list, name(writer, a));
    if (writer->vector >= 0 && name(writer, writer->vector))
        names_add(list, name(writer, writer->vector));
}

/* Inside the register tile: the vector axis last, or first together with the axes that share its operand. What the
 * innermost loop does not change stays in registers over it, so the better order keeps the smaller side. */
static void order_inner(const TileWriter *writer, NameList *list, AxisName *name) {
    const Tile *tile = writer->tile;
    if (writer->genes[tile->inner_gene] == 0 || writer->vector < 0) {
        order_axes(writer, false, list, name);
        return;
    }
    for (int sharing = 1; sharing >= 0; sharing--) {
        for (int a = 0; a < tile->axis_count; a++)
            if (tile->axes[a].tiled && a != writer->vector && tile_shares_operand(tile, a, writer->vector) == sharing)
                names_add(list, name(writer, a));
        if (sharing)
            names_add(list, name(writer, writer->vector));
    }
}

/* Whether the axis is a loop around the tile: of the last one, middle and inner loops are left. */
static bool is_around(const Tile *tile, int axis) {
    return tile->around && axis < tile->placed;
}

static bool has_outer(const Tile *tile, int axis) {
    return !is_around(tile, axis) && !tile->axes[axis].outside;
}

/* NULL: it is around the tile. */
static const char *outer_name(const TileWriter *writer, int axis) {
    return has_outer(writer->tile, axis) ? writer->tile->axes[axis].outer : NULL;
}

static const char *middle_name(const TileWriter *writer, int axis) {
    return writer->tile->axes[axis].middle;
}

static const char *inner_name(const TileWriter *writer, int axis) {
    return writer->tile->axes[axis].inner;
}

static void write_axes(TileWriter *writer) {
    const Tile *tile = writer->tile;
    for (int a = 0; tile->chain && tile->producer < 0 && a < tile->chain->count; a++)
        names_add(&writer->outers, tile->chain->axes[a].outer);
    for (int a = 0; a < tile->axis_count; a++)
        if (is_around(tile, a))
            continue;
        else if (tile->axes[a].tiled)
            split_axis(writer, &tile->axes[a], a == writer->vector);
        else if (!tile->axes[a].steps && !tile->axes[a].chained)
            names_add(&writer->outers, tile->axes[a].loop);
    if (writer->genes[tile->outer_gene] == 2)
        order_apart(writer, &writer->outers, outer_name);
    else
        order_axes(writer, writer->genes[tile->outer_gene] == 1, &writer->outers, outer_name);
    order_axes(writer, writer->genes[tile->middle_gene] == 1, &writer->middles, middle_name);
    order_inner(writer, &writer->inners, inner_name);
    if (writer->vector >= 0)
        writer->lane = tile->axes[writer->vector].lane;
}

/* --- reductions --- */

static void split_reduction(TileWriter *writer, const TileReduction *reduction, bool blocked) {
    const char *names[3] = {reduction->outer, blocked ? reduction->middle : reduction->inner, reduction->inner};
    PrimArg args[3] = {arg_name(reduction->loop)};
    bool around = tile_in_blocks(writer->tile, writer->genes);
    int gene = around ? writer->tile->block_sizes : blocked ? reduction->block : reduction->unroll;
    int count = blocked ? 3 : 2;
    if (blocked || !tile_uses_instr(writer))
        args[1] = hole(writer, gene, 0);
    if (tile_uses_instr(writer))
        args[count - 1] = arg_int(instr_extent(writer->tile->instr, 1));
    else if (blocked)
        args[2] = hole(writer, gene, 1);
    sketch_add(writer->space, writer->sketch, PRIM_SPLIT, count, names, count, args);
}

/* For an order that leaves out terms outside: only the innermost reduction is split; blocks are of that one. */
static void write_clipped_reductions(TileWriter *writer) {
    int split = tile_order_clipped(writer);
    bool blocks = tile_in_blocks(writer->tile, writer->genes);
    const TileReduction *reduction = &writer->tile->reductions[split < 0 ? 0 : split];
    if (split >= 0 && reduction->unroll < 0)
        names_add(&writer->reductions, reduction->loop);
    if (split < 0 || reduction->unroll < 0)
        return;
    split_reduction(writer, reduction, blocks);
    names_add(&writer->reductions, blocks ? reduction->middle : reduction->outer);
    names_add(&writer->reductions, reduction->inner);
    names_add(&writer->unrolled, reduction->inner);
}

/* Splits the reductions and lists their loops, outermost first; the unrolled one is last. */
static void write_reductions(TileWriter *writer) {
    const Tile *tile = writer->tile;
    if (tile_clips(writer)) {
        write_clipped_reductions(writer);
        return;
    }
    int count = tile->reduction_count, cut = writer->order == REDUCE_SOURCE ? count - 1 : tile->largest;
    bool blocked = writer->order == REDUCE_BLOCKED;
    if (count == 0)
        return;
    const TileReduction *split = &tile->reductions[cut];
    bool is_split = (blocked ? split->block : split->unroll) >= 0;
    if (is_split)
        split_reduction(writer, split, blocked);
    if (is_split && blocked && !tile_in_blocks(tile, writer->genes)) /* else it is an outer loop */
        names_add(&writer->reductions, split->outer);
    for (int r = 0; r < count; r++)
        if (r != cut)
            names_add(&writer->reductions, tile->reductions[r].loop);
    names_add(&writer->reductions, !is_split ? split->loop : blocked ? split->middle : split->outer);
    writer->step = is_split && tile_uses_instr(writer) ? split->inner : NULL;
    if (!is_split || writer->step)
        return;
    names_add(&writer->reductions, split->inner);
    names_add(&writer->unrolled, split->inner);
}

/* --- the parts of a schedule --- */

static void write_parallel(TileWriter *writer) {
    NameList *outers = &writer->outers;
    int mode = writer->space->target->threads == 1 ? PARALLEL_NONE : writer->genes[writer->tile->parallel_gene];
    int most = writer->block >= 0 ? writer->block : outers->count, fused = most; /* one that reduces is not parallel */
    writer->task = NULL;
    if (outers->count == 0)
        return;
    writer->last_outer = outers->names[outers->count - 1];
    bool placed = writer->tile->placed || writer->tile->resumed;
    if (placed)
        writer->task = writer->place;
    const Chain *chain = writer->tile->chain;
    if (mode == PARALLEL_NONE || most == 0 || placed || (chain && writer->tile->producer >= 0))
        return;
    if (chain)
        fused = mode == PARALLEL_FIRST ? 1 : chain->count; /* producers are computed at the last of these */
    else if (mode == PARALLEL_FIRST)
        for (fused = 1; fused < most && strchr(outers->names[fused - 1], '.'); fused++)
            ; /* loops of extent 1 keep names of the form STAGE.axis */
    if (!chain && tile_deals_out(writer->tile)) /* the ends of a row are those of a loop where that has a loop */
        for (fused = 1; fused < most && strchr(outers->names[fused], '.'); fused++)
            ;
    writer->task = outers->names[0];
    writer->fused = fused;
    if (fused > 1) {
        NameList list = {.count = fused, .names = outers->names};
        PrimArg args[fused];
        for (int i = 0; i < fused; i++)
            args[i] = arg_name(list.names[i]);
        writer->task = space_local_name(writer->space, writer->group, "task");
        sketch_add(writer->space, writer->sketch, PRIM_FUSE, 1, &writer->task, fused, args);
    }
    if (fused == outers->count)
        writer->last_outer = writer->task;
    sketch_loops(writer->space, writer->sketch, PRIM_PARALLEL, &writer->task, 1);
}

static void annotate(TileWriter *writer, const char *lane) {
    if (lane && writer->step)
        tile_tensorize(writer, lane);
    else if (lane)
        sketch_loops(writer->space, writer->sketch, PRIM_VECTORIZE, &lane, 1);
    loops(writer, PRIM_UNROLL, &writer->unrolled);
}

/* The innermost loop outside the register tile. */
static const char *tile_place(const TileWriter *writer) {
    if (writer->middles.count == 0 && !writer->last_outer && writer->group->scan && writer->tile->fused)
        return steps_loop(writer->space, writer->group);
    return writer->middles.count ? writer->middles.names[writer->middles.count - 1] : writer->last_outer;
}

/* The loops of the root in order; reductions: NULL if another stage has them. */
static void order_loops(TileWriter *writer, const NameList *reductions) {
    NameList all = names_new(writer->space->arena);
    names_join(&all, &writer->outers);
    names_join(&all, &writer->middles);
    if (reductions)
        names_join(&all, reductions);
    names_join(&all, &writer->inners);
    names_join(&writer->unrolled, &writer->inners);
    if (writer->lane)
        names_add(&all, writer->lane);
    if (writer->step)
        names_add(&all, writer->step);
    loops(writer, PRIM_REORDER, &all);
}

/* The same, with their kinds. */
static void write_root_loops(TileWriter *writer, const NameList *reductions) {
    order_loops(writer, reductions);
    if (tile_clips(writer))
        tile_partition(writer);
    tile_cut_ends(writer);
    annotate(writer, writer->lane);
    write_parallel(writer);
}

/* Without a reduction, what a tile reads from its group is computed beside it. */
static bool write_producers(TileWriter *writer, const char *place) {
    const TileAxis *axis = writer->vector >= 0 ? &writer->tile->axes[writer->vector] : NULL;
    CasePlace at = {writer->tile->value, place, axis ? axis->axis : NULL, axis ? axis->lanes : 1};
    return emit_producers(writer->space, writer->group, writer->sketch, &at);
}

/* The root has its own reduction: cache_write moves the register tile into a new stage. */
static bool write_alone(TileWriter *writer) {
    const Tile *tile = writer->tile;
    write_reductions(writer);
    if (tile_in_blocks(tile, writer->genes) && !tile_add_block(writer, tile->reductions[tile->largest].outer))
        return false;
    write_root_loops(writer, &writer->reductions);
    const char *place = tile_place(writer), *result = space_local_name(writer->space, writer->group, "acc");
    writer->reader = writer->tile->root->name;
    if (writer->tile->reduction_count == 0)
        return writer->tile->placed || write_producers(writer, place);
    if (!place)
        return true;
    PrimArg args[3] = {arg_name(writer->tile->root->name), arg_keyed(arg_name(place), "at"),
                       arg_keyed(arg_name("register"), "scope")};
    sketch_add(writer->space, writer->sketch, PRIM_CACHE_WRITE, 1, &result, 3, args);
    writer->reader = result;
    return true;
}

/* The loop of the anchor over an axis of the register tile: the part of it outside the lanes. */
static const char *anchor_name(const TileWriter *writer, int axis) {
    const TileAxis *of = &writer->tile->axes[axis];
    return axis == writer->vector ? of->anchor_outer : of->inner_loop;
}

/* The anchor's loops, once it is computed at the tile: its axes have the extents of the register tile. */
static void write_anchor_loops(TileWriter *writer) {
    const Tile *tile = writer->tile;
    NameList order = names_new(writer->space->arena);
    const char *lane = NULL;
    writer->unrolled.count = 0;
    if (writer->vector >= 0) {
        const TileAxis *axis = &tile->axes[writer->vector];
        const char *names[2] = {axis->anchor_outer, axis->anchor_lane};
        PrimArg args[2] = {arg_name(axis->inner_loop), arg_int(axis->lanes)};
        sketch_add(writer->space, writer->sketch, PRIM_SPLIT, 2, names, 2, args);
        lane = axis->anchor_lane;
    }
    write_reductions(writer);
    names_join(&order, &writer->reductions);
    NameList axes = names_new(writer->space->arena);
    for (int a = 0; a < tile->axis_count; a++)
        if (!tile->axes[a].tiled)
            names_add(&axes, tile->axes[a].inner_loop);
    order_inner(writer, &axes, anchor_name);
    names_join(&order, &axes);
    names_join(&writer->unrolled, &axes);
    if (lane)
        names_add(&order, lane);
    if (writer->step)
        names_add(&order, writer->step);
    loops(writer, PRIM_REORDER, &order);
    annotate(writer, lane);
}

/* The root is an element-by-element consumer with the tile loops. */
static void write_fused(TileWriter *writer) {
    write_root_loops(writer, NULL);
    PrimArg args[3] = {arg_name(writer->tile->anchor->name), arg_name(tile_place(writer)),
                       arg_keyed(arg_name("register"), "scope")};
    sketch_add(writer->space, writer->sketch, PRIM_COMPUTE_AT, 0, NULL, 3, args);
    writer->reader = writer->tile->anchor->name;
    write_anchor_loops(writer);
}

/* The loops of the root, and in them, at the last outer loop around the blocks of the sum, those of the sum. */
static void write_consumer(TileWriter *writer, int place) {
    writer->block = place;
    order_loops(writer, NULL);
    annotate(writer, writer->lane);
    write_parallel(writer);
}

static void add_around(TileWriter *writer, const NameList *around) {
    NameList all = names_new(writer->space->arena);
    names_join(&all, around);
    names_join(&all, &writer->outers);
    writer->outers = all;
    writer->block += around->count;
}

/* The root is an element-by-element consumer of a sum in blocks: it follows the last block of each of its outer tiles,
 * whose partial results are a buffer. */
static bool write_resumed(TileWriter *writer) {
    int place = tile_block_place(writer);
    if (place < 1)
        return false;
    write_consumer(writer, place);
    NameList around = {.count = place, .names = writer->outers.names};
    PrimArg args[2] = {arg_name(writer->tile->anchor->name), arg_name(around.names[place - 1])};
    if (writer->task && writer->fused == place)
        args[1] = arg_name(writer->task);
    sketch_add(writer->space, writer->sketch, PRIM_COMPUTE_AT, 0, NULL, 2, args);
    writer->tile = tile_of_sum(writer, place);
    writer->place = writer->task;
    writer_clear(writer);
    write_axes(writer);
    if (!write_alone(writer))
        return false;
    add_around(writer, &around);
    return true;
}

/* The tile of partial results is that of a stage alone. It reads its operands in place: few results read them a few
 * times only. */
static bool write_pieces(TileWriter *writer, const Tile *whole) {
    if (!write_alone(writer))
        return false;
    writer->tile = whole;
    tile_write_sum(writer);
    return true;
}

bool tile_emit_placed(Space *space, Group *group, const Tile *tile, const int *genes, Sketch *sketch,
                      const char *place) {
    TileWriter writer = {.space = space, .group = group, .tile = tile, .genes = genes, .sketch = sketch};
    writer.place = place;
    writer.vector = tile->candidate_count ? tile->candidates[genes[tile->vector_gene]] : -1;
    writer.order = (ReduceOrder)genes[tile->reduce_gene];
    writer_clear(&writer);
    bool blocks = tile_in_blocks(tile, genes);
    writer.block = -1;
    if (blocks && !tile_clips(&writer)) {
        writer.order = REDUCE_BLOCKED;
        sketch->active[tile->reduce_gene] = false;
    }
    if (tile->anchor)
        sketch->registers = tile->anchor->component_count;
    if (tile_uses_instr(&writer) && !tile_instr_agrees(&writer))
        return false;
    if (tile_clips(&writer) && !tile_clip_makes_sense(&writer))
        return false;
    bool pieces = tile_in_pieces(tile, genes);
    if ((pieces && (blocks || tile_clips(&writer))) || ((pieces || blocks) && tile_uses_instr(&writer)))
        return false;
    if (pieces)
        tile_write_pieces(&writer);
    write_axes(&writer);
    if (pieces)
        return write_pieces(&writer, tile);
    if (tile->fused && !tile_place(&writer) && !writer.outers.count)
        return false;
    if (tile->fused && !blocks)
        write_fused(&writer);
    else if (!(tile->fused ? write_resumed(&writer) : write_alone(&writer)))
        return false;
    return tile_pack(&writer);
}

bool tile_emit(Space *space, Group *group, const int *genes, Sketch *sketch) {
    return tile_emit_placed(space, group, group->details, genes, sketch, NULL);
}
