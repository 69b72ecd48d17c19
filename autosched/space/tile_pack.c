/* tile_pack.c - copies of a tile group's operands: packed so that the lanes of a vector are contiguous, padded if the
 * read has an `else`; placed at the root, in each task (without tasks: in the outer loops that change the operand), or
 * in each outer tile.
 *
 * Layouts, for n lanes and the dimension d that the vector axis v walks through; others are in the order of use:
 *     index v              (d/n, others..., d%n)     a panel of n columns is contiguous
 *     index v + ...        (others..., d)
 *     index s*v + ...      (others..., d%s, d/s)     elements that a stride skips lie apart
 *     without v            (reduced..., spatial...)  for the elements that one step of the reduction broadcasts
 * A constant that is larger than the caches has panels as wide as the register tile, in the order of the outer loops:
 * (spatial..., d/n, others..., d%n). Versions for several sizes share one copy of any other constant.
 */
#include "autosched/space/tile.h"

#include <string.h>

enum { TASKS_PER_COPY = 32 };

typedef LIST(PrimArg) Layout;

static const char *dimension_name(Space *space, int dimension) {
    return arena_printf(space->arena, "d%d", dimension);
}

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

/* Adds the dimensions that are not done, in the order of use; spatial_last puts those without reductions last. */
static void add_others(TileWriter *writer, Layout *layout, const Expr *read, const bool *done, bool spatial_last) {
    int limit = 2 * writer->tile->reduction_count + 1;
    for (int rank = spatial_last ? 0 : -1; rank <= limit; rank++)
        for (int d = 0; d < read->count; d++) {
            int place = use_rank(writer, read->args[d]);
            if (spatial_last && place < 0)
                place = limit;
            if (!done[d] && place == rank)
                list_push(writer->space->arena, layout, arg_name(dimension_name(writer->space, d)));
        }
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
static void add_outside(TileWriter *writer, Layout *layout, const Expr *read, bool *done) {
    for (int d = 0; d < read->count; d++)
        if (!done[d] && is_outside_panels(writer, read->args[d])) {
            list_push(writer->space->arena, layout, arg_name(dimension_name(writer->space, d)));
            done[d] = true;
        }
}

/* Adds a part of the vector axis' dimension, by the columns of a panel: those of a vector, or all of a register tile's,
 * which then form one stream of memory. */
static void add_panel(TileWriter *writer, Layout *layout, const TileOperand *operand, const char *name, char op) {
    const TileAxis *axis = &writer->tile->axes[writer->vector];
    HoleSource columns = {axis->vector, 1, axis->lanes, NULL};
    list_push(writer->space->arena, layout,
              operand->streamed ? arg_op_gene(writer->space, writer->sketch, name, op, columns)
                                : arg_op(writer->space, name, op, axis->lanes));
}

/* False: no layout helps. An empty layout is that of the tensor. */
static bool choose_layout(TileWriter *writer, const TileOperand *operand, PackPlace place, Layout *layout) {
    Space *space = writer->space;
    const Expr *read = operand->read;
    const TileAxis *axis = writer->vector >= 0 ? &writer->tile->axes[writer->vector] : NULL;
    int dimension = -1;
    int64_t coefficient = 0;
    AccessKind kind = axis ? access_along(read, axis->axis, &dimension, &coefficient) : ACCESS_NONE;
    bool plain = axis && dimension >= 0 && read->args[dimension]->kind == EXPR_VAR;
    const char *name = dimension >= 0 ? dimension_name(space, dimension) : NULL;
    bool *done = ARENA_ARRAY(space->arena, bool, read->count + 1);
    if (kind == ACCESS_IRREGULAR)
        return read->otherwise != NULL;
    if (kind == ACCESS_NONE) {
        if (!read->otherwise && place != PACK_ROOT && read->count > 1)
            add_others(writer, layout, read, done, true);
        return read->otherwise || layout->count;
    }
    done[dimension] = true;
    if (plain && !read->otherwise) {
        if (operand->streamed)
            add_outside(writer, layout, read, done);
        add_panel(writer, layout, operand, name, '/');
        add_others(writer, layout, read, done, false);
        add_panel(writer, layout, operand, name, '%');
        return true;
    }
    if (kind == ACCESS_CONTIGUOUS)
        return read->otherwise != NULL;
    add_others(writer, layout, read, done, false);
    if (coefficient == 1) {
        list_push(space->arena, layout, arg_name(name));
    } else {
        list_push(space->arena, layout, arg_op(space, name, '%', coefficient));
        list_push(space->arena, layout, arg_op(space, name, '/', coefficient));
    }
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

/* Whether another group reads the tensor: a copy for the whole program would leave that group nothing to copy. */
static bool is_read_elsewhere(const TileWriter *writer, const Tensor *tensor) {
    for (int g = 0; g < writer->space->groups.count; g++) {
        const Group *group = writer->space->groups.items[g];
        for (int s = 0; group != writer->group && s < group->stage_count; s++)
            if (stage_uses_tensor(inlined_stage(writer->space, group->stages[s]), tensor))
                return true;
    }
    return false;
}

static bool add_copy(TileWriter *writer, const TileOperand *operand, PackPlace place, int number) {
    Layout layout = {0};
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
    bool own = !loop && !writer->group->scan && is_read_elsewhere(writer, operand->read->tensor);
    if (operand->shared || own)
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

/* --- the loops of a copy --- */

static const char *copy_loop(TileWriter *writer, const NestStage *copy, int loop) {
    return arena_printf(writer->space->arena, "%s.%s", copy->stage->name, copy->loops[loop]->var->name);
}

/* The loop of a copy, outside its lanes, that runs along its source in memory; -1: none, or known to be shorter than
 * the lanes. */
static int loop_along_source(const NestStage *copy, int lanes) {
    const Expr *read = copy->stage->components[0].value;
    if (read->kind != EXPR_READ || read->count == 0)
        return -1;
    const Expr *index = read->args[read->count - 1], *value = NULL;
    for (int a = 0; a < copy->stage->axis_count; a++)
        if (index->kind == EXPR_VAR && index->var == copy->stage->axes[a])
            value = copy->axis_values[a];
    for (int l = 0; value && value->kind == EXPR_VAR && l < copy->loop_count - 1; l++)
        if (copy->loops[l]->var == value->var && (copy->loops[l]->extent < 0 || copy->loops[l]->extent >= lanes))
            return l;
    return -1;
}

/* If lanes are a stride apart, copies as many neighbours along the source as there are lanes together: instead of
 * gathers, a block is transposed in registers. */
static void transpose_copy(TileWriter *writer, const NestStage *copy, int lanes) {
    Space *space = writer->space;
    int along = loop_along_source(copy, lanes), last = copy->loop_count - 1;
    if (along < 0 || copy->loops[last]->extent != lanes)
        return;
    const char *base = arena_printf(space->arena, "%s_%s", copy->stage->name, copy->loops[along]->var->name);
    const char *names[2] = {space_local_name(space, writer->group, arena_printf(space->arena, "%s_o", base)),
                            space_local_name(space, writer->group, arena_printf(space->arena, "%s_i", base))};
    PrimArg args[2] = {arg_name(copy_loop(writer, copy, along)), arg_int(lanes)};
    sketch_add(space, writer->sketch, PRIM_SPLIT, 2, names, 2, args);
    NameList order = names_new(space->arena);
    for (int l = along + 1; l < last; l++)
        names_add(&order, copy_loop(writer, copy, l));
    bool apart = order.count > 0;
    names_add(&order, names[1]);
    names_add(&order, copy_loop(writer, copy, last));
    if (apart)
        sketch_loops(space, writer->sketch, PRIM_REORDER, order.names, order.count);
    sketch_loops(space, writer->sketch, PRIM_UNROLL, &names[1], 1);
}

/* The loop over panels whose lanes continue in the source where those of another end; -1: none, or it is innermost
 * already. */
static int loop_over_panels(const NestStage *copy) {
    const Expr *read = copy->stage->components[0].value, *value = NULL;
    int last = copy->loop_count - 1;
    const Expr *index = read->kind == EXPR_READ && read->count > 0 ? read->args[read->count - 1] : NULL;
    for (int a = 0; index && a < copy->stage->axis_count; a++)
        if (index->kind == EXPR_VAR && index->var == copy->stage->axes[a])
            value = copy->axis_values[a];
    for (int l = 0; value && l < last - 1 && expr_uses_var(value, copy->loops[last]->var); l++)
        if (expr_uses_var(value, copy->loops[l]->var))
            return l;
    return -1;
}

/* Copies a row of all panels at once: it is contiguous, and rows may be pages apart. */
static void copy_by_rows(TileWriter *writer, const NestStage *copy) {
    int panels = loop_over_panels(copy), last = copy->loop_count - 1;
    NameList order = names_new(writer->space->arena);
    for (int l = panels + 1; panels >= 0 && l < last; l++)
        names_add(&order, copy_loop(writer, copy, l));
    if (panels < 0)
        return;
    names_add(&order, copy_loop(writer, copy, panels));
    names_add(&order, copy_loop(writer, copy, last));
    sketch_loops(writer->space, writer->sketch, PRIM_REORDER, order.names, order.count);
}

static void vectorize_copy(TileWriter *writer, const NestStage *copy, int lanes) {
    int last = copy->loop_count - 1;
    const char *lane = copy_loop(writer, copy, last);
    if (lanes < 2 || (copy->loops[last]->extent >= 0 && copy->loops[last]->extent < 2))
        return;
    if (copy->loops[last]->extent != lanes) {
        const char *base = arena_printf(writer->space->arena, "%s_%s", copy->stage->name, copy->loops[last]->var->name);
        const char *names[2] = {
            space_local_name(writer->space, writer->group, arena_printf(writer->space->arena, "%s_o", base)),
            space_local_name(writer->space, writer->group, arena_printf(writer->space->arena, "%s_v", base))};
        PrimArg args[2] = {arg_name(lane), arg_int(lanes)};
        sketch_add(writer->space, writer->sketch, PRIM_SPLIT, 2, names, 2, args);
        lane = names[1];
    }
    sketch_loops(writer->space, writer->sketch, PRIM_VECTORIZE, &lane, 1);
    transpose_copy(writer, copy, lanes);
}

/* In the source the lanes and steps of an instruction are in the opposite order. */
static void unroll_copy(TileWriter *writer, const NestStage *copy) {
    const char *names[2] = {copy_loop(writer, copy, copy->loop_count - 2),
                            copy_loop(writer, copy, copy->loop_count - 1)};
    sketch_loops(writer->space, writer->sketch, PRIM_UNROLL, names, 2);
}

/* Makes the outer loops of a copy at the root parallel, as many as give every thread work. */
static void parallelize_copy(TileWriter *writer, const NestStage *copy) {
    int count = 0;
    int64_t tasks = 1;
    while (count < copy->loop_count - 1 && tasks < TASKS_PER_COPY && tasks > 0)
        tasks *= copy->loops[count++]->extent;
    if (count == 0 || writer->space->target->threads == 1)
        return;
    PrimArg args[count];
    for (int i = 0; i < count; i++)
        args[i] = arg_name(copy_loop(writer, copy, i));
    const char *task = args[0].name;
    if (count > 1) {
        const char *base = arena_printf(writer->space->arena, "%s_task", copy->stage->name);
        task = space_local_name(writer->space, writer->group, base);
        sketch_add(writer->space, writer->sketch, PRIM_FUSE, 1, &task, count, args);
    }
    sketch_loops(writer->space, writer->sketch, PRIM_PARALLEL, &task, 1);
}

static const NestStage *find_stage(const Nest *nest, const char *name) {
    for (int s = 0; s < nest->stage_count; s++)
        if (strcmp(nest->stages[s]->stage->name, name) == 0)
            return nest->stages[s];
    return NULL;
}

static bool schedule_copies(TileWriter *writer, const PackPlace *places) {
    Arena *scratch = arena_new();
    Nest *nest = sketch_nest(scratch, writer->space, writer->group, writer->sketch);
    for (int i = 0; nest && i < writer->tile->operands.count; i++) {
        if (places[i] == PACK_NONE)
            continue;
        const TileOperand *operand = &writer->tile->operands.items[i];
        const NestStage *copy = find_stage(nest, operand->name);
        if (!copy || copy->loop_count == 0)
            continue;
        int lanes = writer->vector >= 0 ? writer->tile->axes[writer->vector].lanes : 1;
        if (tile_instr_packs(writer, operand->read))
            unroll_copy(writer, copy);
        else
            vectorize_copy(writer, copy, lanes);
        if (places[i] == PACK_ROOT)
            parallelize_copy(writer, copy);
        else if (copy->loops[copy->loop_count - 1]->extent == lanes && !tile_instr_packs(writer, operand->read))
            copy_by_rows(writer, copy);
    }
    bool built = nest != NULL;
    arena_free(scratch);
    return built;
}

bool tile_pack(TileWriter *writer) {
    const Tile *tile = writer->tile;
    PackPlace places[tile->operands.count + 1];
    bool any = false;
    for (int i = 0; i < tile->operands.count; i++) {
        const TileOperand *operand = &tile->operands.items[i];
        places[i] = operand->pack >= 0 ? (PackPlace)writer->genes[operand->pack] : PACK_NONE;
        if (operand->pack >= 0 && tile_reads_in_place(writer, operand)) {
            places[i] = PACK_NONE;
            writer->sketch->active[operand->pack] = false;
        }
        if (places[i] == PACK_NONE && tile_instr_packs(writer, operand->read))
            places[i] = PACK_ROOT;
        if (places[i] == PACK_NONE)
            continue;
        if (!add_copy(writer, operand, places[i], number_of(writer, operand, places)))
            return false;
        any = true;
    }
    return !any || schedule_copies(writer, places);
}
