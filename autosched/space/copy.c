/* copy.c - copies of what a stage reads: their layouts, and their loops: vectors along the last one, blocks transposed
 * in registers where lanes are a stride apart in the source, rows of all panels at once, and threads.
 *
 * Layouts, for n lanes and the dimension d that the vector axis v walks through; others are in the order of use:
 *     index v              (d/n, others..., d%n)     a panel of n columns is contiguous
 *     index v + ...        (others..., d)
 *     index s*v + ...      (others..., d%s, d/s)     elements that a stride skips lie apart
 *     without v            (reduced..., spatial...)  for the elements that one step of the reduction broadcasts
 */
#include "autosched/space/tile/tile.h"

#include <string.h>

enum { TASKS_PER_COPY = 32 };

/* --- layouts --- */

const char *copy_dimension(Space *space, int dimension) {
    return arena_printf(space->arena, "d%d", dimension);
}

void copy_add_others(const CopyRead *copied, CopyLayout *layout, const bool *done, bool spatial_last) {
    int limit = 0;
    for (int d = 0; d < copied->read->count; d++)
        limit = copied->ranks[d] >= limit ? copied->ranks[d] + 1 : limit;
    for (int rank = spatial_last ? 0 : -1; rank <= limit; rank++)
        for (int d = 0; d < copied->read->count; d++) {
            int place = spatial_last && copied->ranks[d] < 0 ? limit : copied->ranks[d];
            if (!done[d] && place == rank)
                list_push(copied->space->arena, layout, arg_name(copy_dimension(copied->space, d)));
        }
}

static AccessKind access_of(const CopyRead *copied, int *dimension, int64_t *coefficient) {
    *dimension = -1;
    *coefficient = 0;
    return copied->axis ? access_along(copied->read, copied->axis, dimension, coefficient) : ACCESS_NONE;
}

bool copy_is_panels(const CopyRead *copied, int *dimension) {
    int64_t coefficient;
    AccessKind kind = access_of(copied, dimension, &coefficient);
    return (kind == ACCESS_CONTIGUOUS || kind == ACCESS_STRIDED) && !copied->read->otherwise &&
           copied->read->args[*dimension]->kind == EXPR_VAR;
}

bool copy_layout(const CopyRead *copied, CopyLayout *layout) {
    Space *space = copied->space;
    const Expr *read = copied->read;
    int dimension, panel;
    int64_t coefficient;
    AccessKind kind = access_of(copied, &dimension, &coefficient);
    const char *name = dimension >= 0 ? copy_dimension(space, dimension) : NULL;
    bool *done = ARENA_ARRAY(space->arena, bool, read->count + 1);
    if (kind == ACCESS_IRREGULAR)
        return read->otherwise != NULL;
    if (kind == ACCESS_NONE) {
        if (!read->otherwise && !copied->at_root && read->count > 1)
            copy_add_others(copied, layout, done, true);
        return read->otherwise || layout->count;
    }
    done[dimension] = true;
    bool panels = copy_is_panels(copied, &panel);
    if (kind == ACCESS_CONTIGUOUS && !panels)
        return read->otherwise != NULL;
    if (panels)
        list_push(space->arena, layout, arg_op(space, name, '/', copied->lanes));
    copy_add_others(copied, layout, done, false);
    if (!panels && coefficient == 1) {
        list_push(space->arena, layout, arg_name(name));
        return true;
    }
    if (!panels)
        list_push(space->arena, layout, arg_op(space, name, '%', coefficient));
    list_push(space->arena, layout, arg_op(space, name, panels ? '%' : '/', panels ? copied->lanes : coefficient));
    return true;
}

/* --- loops --- */

const NestStage *nest_stage_named(const Nest *nest, const char *name) {
    for (int s = 0; s < nest->stage_count; s++)
        if (strcmp(nest->stages[s]->stage->name, name) == 0)
            return nest->stages[s];
    return NULL;
}

static const char *copy_loop(const CopyWriter *writer, const NestStage *copy, int loop) {
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
static void transpose_copy(const CopyWriter *writer, const NestStage *copy, int lanes) {
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

void copy_by_rows(const CopyWriter *writer, const NestStage *copy) {
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

void copy_vectorize(const CopyWriter *writer, const NestStage *copy, int lanes) {
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

void copy_unroll(const CopyWriter *writer, const NestStage *copy) {
    const char *names[2] = {copy_loop(writer, copy, copy->loop_count - 2),
                            copy_loop(writer, copy, copy->loop_count - 1)};
    sketch_loops(writer->space, writer->sketch, PRIM_UNROLL, names, 2);
}

void copy_parallelize(const CopyWriter *writer, const NestStage *copy) {
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
