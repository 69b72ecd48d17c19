/* pack.c - copies of what a stage reads that a user's block leaves open: in the layouts of copy.c, before all
 * loops or in one of those that the block gives.
 *
 * An operand is offered if it is read in one way, if lanes are a stride apart in it or it is read again for other
 * elements, and if it is not a copy already.
 */
#include "autosched/space/block/complete.h"

#include <string.h>

enum { OPERANDS_MOST = 8, PLACES_MOST = 4, NOWHERE = 0, AT_ROOT = 1, FIRST_LOOP = 2 };

static const int64_t places_of_copies[FIRST_LOOP + PLACES_MOST] = {0, 1, 2, 3, 4, 5};

/* --- which operands --- */

/* The one way in which the stage reads the tensor; NULL: none, or there are several. */
static const Expr *only_read(const Stage *stage, const char *tensor) {
    const Expr *found = NULL;
    EACH_VALUE_READ(read, stage) {
        if (strcmp(read->tensor->name, tensor) != 0)
            continue;
        if (found && !expr_equal(found, read))
            return NULL;
        found = read;
    }
    return found;
}

static bool is_listed(const OpenStage *open, const char *tensor) {
    for (int i = 0; i < open->operands.count; i++)
        if (strcmp(open->operands.items[i].tensor, tensor) == 0)
            return true;
    return false;
}

/* The axis of the stage that the loop is a part of; NULL: none. */
static const Var *axis_of_loop(const NestStage *stage, const Loop *loop) {
    for (int a = 0; a < stage->stage->axis_count; a++)
        if (expr_uses_var(stage->axis_values[a], loop->var))
            return stage->stage->axes[a];
    return NULL;
}

static bool is_strided(const NestStage *stage, const Expr *read, const Loop *lanes) {
    int dimension;
    int64_t coefficient;
    const Var *axis = axis_of_loop(stage, lanes);
    AccessKind kind = axis ? access_along(read, axis, &dimension, &coefficient) : ACCESS_NONE;
    return kind == ACCESS_STRIDED || read->otherwise;
}

/* Whether the block, or the completion of another stage, made it. */
static bool is_made(const Space *space, const Nest *nest, const Tensor *tensor) {
    const NestStage *producer = nest_producer(nest, tensor);
    return producer &&
           (producer->scan || producer->in_scan || !program_find_stage(space->program, producer->stage->name));
}

void complete_list_operands(Space *space, Group *group, const Nest *nest, const NestStage *stage, OpenStage *open) {
    const Loop *lanes = stage->loops[complete_inner_loop(stage, stage->loop_count, false)];
    int places = stage->loop_count < PLACES_MOST ? stage->loop_count : PLACES_MOST;
    EACH_VALUE_READ(read, stage->stage) {
        const char *tensor = read->tensor->name;
        bool strided = is_strided(stage, read, lanes), wanted = strided || stage_has_reuse(stage->stage);
        if (!wanted || !operand_packable(read) || is_made(space, nest, read->tensor) || is_listed(open, tensor) ||
            !only_read(stage->stage, tensor) || open->operands.count == OPERANDS_MOST)
            continue;
        Gene gene = {.kind = GENE_PACK, .structural = true, .width = 1, .count = FIRST_LOOP + places};
        gene.values = places_of_copies;
        gene.name = arena_printf(space->arena, "%s copy of %s", open->name, tensor);
        gene.start = strided ? AT_ROOT : NOWHERE;
        OpenOperand operand = {arena_strdup(space->arena, tensor), group_add_gene(space, group, gene)};
        list_push(space->arena, &open->operands, operand);
    }
}

/* --- their copies --- */

static const Loop *vector_loop(const NestStage *stage) {
    for (int l = 0; l < stage->loop_count; l++)
        if (stage->loops[l]->kind == LOOP_VECTORIZED)
            return stage->loops[l];
    return NULL;
}

/* The stage that reads the tensor in vectors: the open one, or the sums that were made of it; NULL: none does. */
static const NestStage *vector_stage(const Nest *nest, const NestStage *stage, const char *tensor) {
    const NestStage *found = vector_loop(stage) && only_read(stage->stage, tensor) ? stage : NULL;
    for (int c = 0; c < stage->child_count && !found; c++)
        if (!program_find_stage(nest->program, stage->children[c]->stage->name))
            found = vector_stage(nest, stage->children[c], tensor);
    return found;
}

/* The place of the innermost reduction of an index in the order of the loops; -1: it has none. */
static int use_rank(const NestStage *stage, const Expr *index) {
    int rank = -1;
    for (int r = 0; r < stage->stage->reduction_count; r++)
        for (int l = 0; l < stage->loop_count && expr_uses_var(index, stage->stage->reductions[r]); l++)
            if (expr_uses_var(stage->axis_values[stage->stage->axis_count + r], stage->loops[l]->var) && l > rank)
                rank = l;
    return rank;
}

static bool is_read_elsewhere(const Nest *nest, const NestStage *reader, const Tensor *tensor) {
    if (program_reads_elsewhere(nest->program, tensor))
        return true;
    for (int s = 0; s < nest->stage_count; s++)
        if (nest->stages[s] != reader && stage_uses_tensor(nest->stages[s]->stage, tensor))
            return true;
    return false;
}

typedef struct OperandCopy {
    const NestStage *reader;
    const Loop *lanes;
    const char *name, *loop; /* of the copy; where it is made, NULL: before all loops */
} OperandCopy;

/* Writes the copy. False: no layout helps. */
static bool write_copy(Completing *c, const OperandCopy *copying, const Expr *read) {
    const NestStage *reader = copying->reader;
    int ranks[read->count + 1], count = 0;
    CopyLayout layout = {0};
    for (int d = 0; d < read->count; d++)
        ranks[d] = use_rank(reader, read->args[d]);
    CopyRead copied = {c->space,       read, axis_of_loop(reader, copying->lanes), (int)copying->lanes->extent,
                       !copying->loop, ranks};
    if (!copy_layout(&copied, &layout))
        return false;
    PrimArg args[4] = {arg_name(arena_strdup(c->space->arena, read->tensor->name))};
    count = 1;
    if (is_read_elsewhere(c->nest, reader, read->tensor))
        args[count++] = arg_keyed(arg_name(arena_strdup(c->space->arena, reader->stage->name)), "reader");
    if (copying->loop)
        args[count++] = arg_keyed(arg_name(copying->loop), "at");
    if (layout.count)
        args[count++] = (PrimArg){.kind = ARG_LIST, .key = "layout", .count = layout.count, .items = layout.items};
    sketch_add(c->space, c->sketch, PRIM_CACHE_READ, 1, &copying->name, count, args);
    return true;
}

/* Vectors, and threads where it is made before all loops; as far as they are legal. */
static void write_loops(Completing *c, const OperandCopy *copying) {
    const CopyWriter writer = {c->space, c->group, c->sketch};
    const NestStage *copy = nest_stage_named(c->nest, copying->name);
    int lanes = (int)copying->lanes->extent, before = c->sketch->prims.count;
    if (!copy || copy->loop_count == 0 || copy->constant)
        return;
    copy_vectorize(&writer, copy, lanes);
    if (!copying->loop)
        copy_parallelize(&writer, copy);
    else if (copy->loops[copy->loop_count - 1]->extent == lanes)
        copy_by_rows(&writer, copy);
    complete_keep(c, before);
}

static void copy_operand(Completing *c, const OpenStage *open, const char *tensor, int place) {
    const NestStage *stage = nest_stage_named(c->nest, open->name);
    const NestStage *reader = stage ? vector_stage(c->nest, stage, tensor) : NULL;
    OperandCopy copying = {.reader = reader, .lanes = reader ? vector_loop(reader) : NULL};
    int loop = place - FIRST_LOOP, before = c->sketch->prims.count;
    if (!reader || loop >= stage->loop_count || copying.lanes->reduction)
        return;
    if (loop >= 0)
        copying.loop = complete_loop(c->space->arena, stage, loop);
    copying.name = complete_name(c, stage, tensor, "p");
    if (write_copy(c, &copying, only_read(reader->stage, tensor)) && complete_keep(c, before))
        write_loops(c, &copying);
    else
        c->sketch->prims.count = before;
}

void complete_pack(Completing *c, const OpenStage *open) {
    for (int i = 0; i < open->operands.count; i++) {
        const OpenOperand *operand = &open->operands.items[i];
        int place = (int)places_of_copies[c->genes[operand->gene]];
        if (place != NOWHERE)
            copy_operand(c, open, operand->tensor, place);
    }
}
