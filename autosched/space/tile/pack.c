/* pack.c - copies of a tile group's operands: packed so that the lanes of a vector are contiguous, padded if the
 * read has an `else`; placed at the root, in each task (without tasks: in the outer loops that change the operand), or
 * in each outer tile.
 *
 * A constant that is larger than the caches has panels as wide as the register tile, in the order of the outer loops:
 * (spatial..., d/n, others..., d%n). Versions for several sizes share one copy of any other constant.
 */
#include "autosched/space/tile/tile.h"

#include <string.h>

/* The rank of a dimension in the order of use: that of its innermost reduction; spatial ones come first. */
static int use_rank(const TileWriter *writer, const Expr *index) {
    const Tile *tile = writer->tile;
    int rank = -1;
    for (int r = 0; r < tile->reduction_count; r++) {
        int place = tile_reduction_place(writer, r);
        if (expr_uses_var(index, tile->reductions[r].axis) && place > rank)
            rank = place;
    }
    return rank;
}

/* The position of the axis' outer loop; -1: none. */
static int outer_place(const TileWriter *writer, const TileAxis *axis) {
    for (int i = 0; i < writer->outers.count; i++)
        if (axis->tiled && strcmp(axis->outer, writer->outers.names[i]) == 0)
            return i;
    return -1;
}

/* Whether only loops outside those over the panels walk through the dimension. */
static bool is_outside_panels(const TileWriter *writer, const Expr *index) {
    const Tile *tile = writer->tile;
    bool outside = false;
    if (use_rank(writer, index) >= 0)
        return false;
    for (int a = 0; a < tile->axis_count; a++)
        if (expr_uses_var(index, tile->axes[a].axis)) {
            outside = outer_place(writer, &tile->axes[a]) < outer_place(writer, &tile->axes[writer->vector]);
            if (!outside)
                return false;
        }
    return outside;
}

/* Puts panels into the order in which the loops reach them: memory is read from one end to the other. */
static void add_outside(TileWriter *writer, CopyLayout *layout, const Expr *read, bool *done) {
    for (int d = 0; d < read->count; d++)
        if (!done[d] && is_outside_panels(writer, read->args[d])) {
            list_push(writer->space->arena, layout, arg_name(copy_dimension(writer->space, d)));
            done[d] = true;
        }
}

/* Panels as wide as the register tile, which form one stream of memory. */
static void stream_layout(TileWriter *writer, const TileOperand *operand, const CopyRead *copied, int dimension,
                          CopyLayout *layout) {
    const TileAxis *axis = &writer->tile->axes[writer->vector];
    const char *name = copy_dimension(writer->space, dimension);
    HoleSource columns = {axis->vector, 1, axis->lanes, NULL};
    bool *done = ARENA_ARRAY(writer->space->arena, bool, operand->read->count + 1);
    done[dimension] = true;
    add_outside(writer, layout, operand->read, done);
    list_push(writer->space->arena, layout, arg_op_gene(writer->space, writer->sketch, name, '/', columns));
    copy_add_others(copied, layout, done, false);
    list_push(writer->space->arena, layout, arg_op_gene(writer->space, writer->sketch, name, '%', columns));
}

/* False: no layout helps. An empty layout is that of the tensor. */
static bool choose_layout(TileWriter *writer, const TileOperand *operand, PackPlace place, CopyLayout *layout) {
    const Expr *read = operand->read;
    const TileAxis *axis = writer->vector >= 0 ? &writer->tile->axes[writer->vector] : NULL;
    int dimension = -1, *ranks = ARENA_ARRAY(writer->space->arena, int, read->count + 1);
    for (int d = 0; d < read->count; d++)
        ranks[d] = use_rank(writer, read->args[d]);
    CopyRead copied = {writer->space,      read,          axis ? axis->axis : NULL, axis ? axis->lanes : 1,
                       place == PACK_ROOT, .ranks = ranks};
    if (!operand->streamed || !copy_is_panels(&copied, &dimension))
        return copy_layout(&copied, layout);
    stream_layout(writer, operand, &copied, dimension, layout);
    return true;
}

/* The innermost outer loop that changes the operand: loops inside it read the same copy again. */
static const char *last_changing(const TileWriter *writer, const Expr *read) {
    const Tile *tile = writer->tile;
    for (int i = writer->outers.count - 1; i >= 0; i--) {
        if (i == writer->block && expr_uses_var(read, tile->reductions[tile->largest].axis))
            return writer->outers.names[i];
        for (int a = 0; a < tile->axis_count; a++)
            if (tile->axes[a].tiled && strcmp(tile->axes[a].outer, writer->outers.names[i]) == 0 &&
                expr_uses_var(read, tile->axes[a].axis))
                return writer->outers.names[i];
    }
    return writer->last_outer;
}

/* The loop of a place; NULL: the root. False: it is the same as another place, or does not exist. */
static bool place_loop(const TileWriter *writer, const Expr *read, PackPlace place, const char **loop) {
    *loop = NULL;
    if (place == PACK_TASK)
        *loop = writer->task ? writer->task : last_changing(writer, read);
    else if (place == PACK_TILE && writer->last_outer != writer->task && writer->task)
        *loop = writer->last_outer;
    return place == PACK_ROOT || *loop;
}

/* The number of the operand among the remaining reads of its tensor. */
static int number_of(const TileWriter *writer, const TileOperand *operand, const PackPlace *places) {
    const TileOperand *operands = writer->tile->operands.items;
    int number = 0;
    for (int i = 0; &operands[i] < operand; i++)
        number += operands[i].read->tensor == operand->read->tensor && places[i] == PACK_NONE;
    return number;
}

/* Whether the copy is for one reader alone. A copy for the whole program would leave another group nothing to copy. */
static bool is_own_copy(const TileWriter *writer, const TileOperand *operand, PackPlace place) {
    return operand->shared ||
           (place == PACK_ROOT && space_reads_elsewhere(writer->space, writer->group, operand->read->tensor));
}

/* What a scan computes step by step is copied for all of its readers, or not at all. */
static bool is_never_copied(const TileWriter *writer, const TileOperand *operand, PackPlace place) {
    const Stage *stage = program_stage_of(writer->space->program, operand->read->tensor);
    return stage && stays_in_scan(writer->space, stage) && is_own_copy(writer, operand, place);
}

static bool add_copy(TileWriter *writer, const TileOperand *operand, PackPlace place, int number) {
    CopyLayout layout = {0};
    const char *loop;
    if (!place_loop(writer, operand->read, place, &loop))
        return false;
    if (tile_instr_packs(writer, operand->read)) {
        layout.items = ARENA_ARRAY(writer->space->arena, PrimArg, operand->read->count + 2);
        layout.count = tile_instr_layout(writer, operand->read, layout.items);
    } else if (!choose_layout(writer, operand, place, &layout))
        return false;
    PrimArg args[5] = {arg_name(operand->read->tensor->name)};
    int count = 1;
    if (is_own_copy(writer, operand, place))
        args[count++] = arg_keyed(arg_name(writer->reader), "reader");
    if (operand->shared)
        args[count++] = arg_keyed(arg_int(number), "read");
    if (loop)
        args[count++] = arg_keyed(arg_name(loop), "at");
    if (layout.count)
        args[count++] = (PrimArg){.kind = ARG_LIST, .key = "layout", .count = layout.count, .items = layout.items};
    sketch_add(writer->space, writer->sketch, PRIM_CACHE_READ, 1, &operand->name, count, args);
    return true;
}

/* --- the loops of copies --- */

typedef LIST(Prim) CopyLoops;

/* Writes the loops of an operand's copy, as the nest has it. */
static void schedule_copy_loops(TileWriter *writer, const TileOperand *operand, PackPlace place, const Nest *nest) {
    const NestStage *copy = nest_stage_named(nest, operand->name);
    if (!copy || copy->loop_count == 0)
        return;
    CopyWriter copies = {writer->space, writer->group, writer->sketch};
    int lanes = writer->vector >= 0 ? writer->tile->axes[writer->vector].lanes : 1;
    if (tile_instr_packs(writer, operand->read))
        copy_unroll(&copies, copy);
    else
        copy_vectorize(&copies, copy, lanes);
    if (place == PACK_ROOT)
        copy_parallelize(&copies, copy);
    else if (copy->loops[copy->loop_count - 1]->extent == lanes && !tile_instr_packs(writer, operand->read))
        copy_by_rows(&copies, copy);
}

/* What the loops of a copy depend on, with the values at which genes start: the statement that makes it, the lanes, and
 * the loops around it. Those inside make the part that is copied, whatever their order. NULL: on more than that. */
static const char *copy_key(const TileWriter *writer, const TileOperand *operand, PackPlace place, const Prim *made) {
    if (writer->tile->placed || writer->tile->around || writer->place)
        return NULL;
    const char *loop;
    Text key = {.arena = writer->space->arena};
    text_add(&key, "%d %d ", writer->vector, tile_uses_instr(writer));
    schedule_print_statements(&key, &(Schedule){.count = 1, .prims = (Prim *)made});
    place_loop(writer, operand->read, place, &loop);
    for (int i = 0; loop && i < writer->outers.count; i++) {
        text_add(&key, "%s ", writer->outers.names[i]);
        if (strcmp(writer->outers.names[i], loop) == 0 || (loop == writer->task && i == writer->fused - 1))
            break;
    }
    return key.text;
}

/* The statements from number `first` on, which make the copies of the operands in their order. */
static void list_keys(const TileWriter *writer, const PackPlace *places, int first, const char **keys) {
    const TileOperand *operands = writer->tile->operands.items;
    for (int i = 0; i < writer->tile->operands.count; i++)
        keys[i] = places[i] == PACK_NONE
                      ? NULL
                      : copy_key(writer, &operands[i], places[i], &writer->sketch->prims.items[first++]);
}

/* Writes the loops of all copies as they were written before. False: of one they were not. */
static bool repeat_copies(TileWriter *writer, const PackPlace *places, const char *const *keys) {
    const CopyLoops *known[writer->tile->operands.count + 1];
    for (int i = 0; i < writer->tile->operands.count; i++) {
        known[i] = keys[i] ? name_map_get(writer->tile->copies, keys[i]) : NULL;
        if (places[i] != PACK_NONE && !known[i])
            return false;
    }
    for (int i = 0; i < writer->tile->operands.count; i++)
        for (int p = 0; known[i] && p < known[i]->count; p++)
            list_push(writer->space->arena, &writer->sketch->prims, known[i]->items[p]);
    return true;
}

/* Takes down the statements from number `first` on. */
static void note_copy(const TileWriter *writer, const char *key, int first) {
    Arena *arena = writer->space->arena;
    CopyLoops *prims = ARENA_NEW(arena, CopyLoops);
    for (int p = first; p < writer->sketch->prims.count; p++)
        list_push(arena, prims, writer->sketch->prims.items[p]);
    name_map_set(arena, writer->tile->copies, key, prims);
}

/* first: the statement that makes the first copy. False: the nest refuses one. */
static bool schedule_copies(TileWriter *writer, const PackPlace *places, int first) {
    int count = writer->tile->operands.count;
    const char *keys[count + 1];
    list_keys(writer, places, first, keys);
    if (repeat_copies(writer, places, keys))
        return true;
    Arena *scratch = arena_new();
    const Nest *nest = sketch_nest(scratch, writer->space, writer->group, writer->sketch);
    for (int i = 0; nest && i < count; i++) {
        int before = writer->sketch->prims.count;
        if (places[i] != PACK_NONE)
            schedule_copy_loops(writer, &writer->tile->operands.items[i], places[i], nest);
        if (keys[i])
            note_copy(writer, keys[i], before);
    }
    bool built = nest != NULL;
    arena_free(scratch);
    return built;
}

bool tile_pack(TileWriter *writer) {
    const Tile *tile = writer->tile;
    PackPlace places[tile->operands.count + 1];
    int first = writer->sketch->prims.count;
    for (int i = 0; i < tile->operands.count; i++) {
        const TileOperand *operand = &tile->operands.items[i];
        places[i] = operand->pack >= 0 ? (PackPlace)writer->genes[operand->pack] : PACK_NONE;
        if (operand->pack >= 0 &&
            (tile_reads_in_place(writer, operand) || is_never_copied(writer, operand, places[i]))) {
            places[i] = PACK_NONE;
            writer->sketch->active[operand->pack] = false;
        }
        if (places[i] == PACK_NONE && tile_instr_packs(writer, operand->read))
            places[i] = PACK_ROOT;
        if (places[i] == PACK_NONE)
            continue;
        if (!add_copy(writer, operand, places[i], number_of(writer, operand, places)))
            return false;
    }
    return writer->sketch->prims.count == first || schedule_copies(writer, places, first);
}
