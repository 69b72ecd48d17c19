/* row.c - the group of stages that share leading axes: softmax, layer norm, and chains like them.
 *
 * The root's leading axes become one parallel loop, and every producer is computed at it, a row at a time. Each stage
 * vectorizes its own last axis, or in a reduction to one value its last reduction: rfactor keeps a few vectors of
 * partial results in registers, which are combined into one vector, then into the value. A few rows are computed
 * together, stage after stage, so that the ends of their reductions overlap: in one row these wait for each other.
 *
 * A reduction with reuse that the members read by rows (the scores of attention) is computed for a block of rows by its
 * own register tile, into a buffer that stays in a near cache; the block is that tile's rows. A product of these rows
 * (of attention's weights and values), the root or what it reads, is computed from the block by a second tile. Rows of
 * a few elements become the lanes of vectors: a vector for each element of a row, kept in registers. A reduction over
 * outer axes continues in the whole row at each step. Short rows that are contiguous in memory are one row. A reduction
 * over the long rows of a matrix runs in a few streams, which memory serves faster than one. A single row is shared by
 * threads: rfactor keeps a partial result for each piece, outside all members. A stage that scatters is such a group,
 * without leading axes if the scattered ones come first.
 */
#include "autosched/space/along.h"
#include "autosched/space/tile/tile.h"
#include "lang/machine.h"

#include <string.h>

enum { UNKNOWN_LIMIT = 4 /* for run-time sizes: vectors, of which all but one may be empty */ };
enum { UNROLL_LIMIT = 8, ROWS_LIMIT = 8 };
enum { CODE_LIMIT = 64 /* weight of all vectors of a step */ };
enum { FEW_TERMS = 16 /* terms of rows that are lanes */ };
enum {
    SCATTER_STEPS = 4,
    PIECES_A_THREAD = 4 /* if their number is unknown */,
    PIECE_LEAST = 4096 /* terms */
};
static const double forked_part = 2. / 3; /* of a machine's least work for threads: rows wait for their ends anyway */

typedef struct RowMember {
    const Stage *stage;
    const Stage *reads; /* the stage with what is inlined into it */
    int unroll;       /* gene: vectors in a step, or -1 */
    int vector_gene;  /* gene: whether the vector loop is used; -1: there is none */
    bool fused;       /* the last two reductions are one loop */
    const char *axis; /* loop that is vectorized */
    const char *loop, *outer, *inner, *lane, *stream, *step;
    const char *partial, *vector; /* in a reduction: stages of partial results */
    int64_t extent;
    int lanes;
    bool shorter;                     /* the lanes are fewer than registers have */
    bool reduction;                   /* the vector loop is a reduction */
    bool tried[2], refused[2];        /* [whole, in pieces]: the nest was asked to take it apart; it refused */
    int64_t pieces;                   /* pieces for threads; 1: it stays whole */
    const char *piece, *rest, *share; /* loops over pieces and inside one; the stage of their partial results */
} RowMember;

typedef struct Row {
    int depth;
    int member_count;
    RowMember *members;
    int parallel_gene;
    int pieces_gene; /* gene: whether threads share a single row; -1: there are more rows */
    int rows;        /* gene: rows computed together, of the last shared axis; -1: one */
    int lanes_gene;  /* gene: whether rows are the lanes of vectors; -1: rows are too long, or too few */
    int lanes;
    bool shorter;       /* the lanes are fewer than registers have */
    const Tile *tile;   /* of the reduction that is computed a block of rows at a time; or NULL */
    Tile *product;      /* of the product that reads the block's rows; or NULL */
    const char *prefix; /* prefix of the product's local names */
    const char *block, *middle,
        *inner; /* loops of the last shared axis: over blocks; with a tile, also those inside a block */
} Row;

typedef enum RowParallel { ROWS_SERIAL, ROWS_PARALLEL, ROWS_PARALLEL_FIRST } RowParallel;

/* The loop that runs along memory: the last axis below the shared ones, or the last reduction. */
static const Var *vector_axis(const Group *group, const Stage *stage, int depth, bool *reduction) {
    *reduction = stage->reduction_count > 0 && stage->axis_count <= depth;
    if (*reduction)
        return last_reduction(stage);
    if (stage->axis_count <= depth || stage_scatters(stage, stage->axis_count - 1))
        return NULL;
    bool steps = group->scan && stage->scan == group->scan && stage->step == stage->axis_count - 1;
    if (steps && stage->axis_count - 1 <= depth)
        return NULL;
    const Var *last = stage->axes[stage->axis_count - 1 - steps];
    return stage_place_uses(stage, last) ? NULL : last;
}

/* *shorter: these are fewer than registers have. */
static int lanes_of(Space *space, const Stage *stage, const Var *axis, int64_t extent, bool *shorter) {
    int whole = target_lanes(space->target, stage->components[0].tensor->type), power = 1;
    int lanes = stage_lanes_along(space->target, inlined_stage(space, stage), axis, whole);
    while (power < lanes && (extent < 0 || power < extent))
        power *= 2;
    *shorter |= power == lanes && power < whole && (extent < 0 || power < extent);
    return power;
}

/* Pieces of the member's first reduction; one for each thread if their number is known. */
static int64_t piece_count(const Space *space, const Stage *stage) {
    const Machine *machine = space->target->machine;
    int64_t pieces = space->target->threads > 0 ? space->target->threads : PIECES_A_THREAD * machine->threads;
    double terms = 1;
    for (int r = 0; r < stage->reduction_count; r++)
        terms *= (double)axis_extent(stage->reductions[r]);
    int64_t first = reduction_loops(stage) == 1 ? row_extent(stage) : axis_extent(reduction_at(stage, 0));
    return first >= pieces && terms >= (double)(pieces * PIECE_LEAST) ? pieces : 1;
}

static void make_pieces(Space *space, Group *group, const char *base, RowMember *member) {
    member->pieces = member->reduction ? piece_count(space, member->reads) : 1;
    member->piece = space_local_name(space, group, arena_printf(space->arena, "%s_t", base));
    member->rest = space_local_name(space, group, arena_printf(space->arena, "%s_r", base));
    member->share = space_local_name(space, group, arena_printf(space->arena, "%s_s", base));
}

/* Steps of each stream of the reduction around the one along memory; 0: no streams. */
static int64_t stream_steps(const RowMember *member, bool pieces, int64_t streams) {
    const Stage *stage = member->reads;
    int loops = reduction_loops(stage);
    if (!member->reduction || loops < 2 || !stage_reduces_along_memory(stage))
        return 0;
    int64_t extent = axis_extent(reduction_at(stage, loops - 2));
    streams *= pieces && loops == 2 ? member->pieces : 1;
    return extent > 0 && extent % streams == 0 ? extent / streams : 0;
}

/* The most vectors in a step. Each copies all code of the value, so long code gains nothing. */
static int64_t unroll_limit(Space *space, const RowMember *member, const Var *axis) {
    const Stage *stage = inlined_stage(space, member->stage);
    if (member->extent < 0 && !member->reduction && stage->reduction_count > 0) /* it ends in each step of these */
        return 1;
    int64_t code = stage_weight(stage, space->target) + stage_lane_code(space->target, stage, axis, member->lanes);
    int64_t limit = member->extent < 0 ? UNKNOWN_LIMIT : UNROLL_LIMIT;
    return code * limit <= CODE_LIMIT ? limit : code >= CODE_LIMIT ? 1 : CODE_LIMIT / code;
}

static void make_member(Space *space, Group *group, const Stage *stage, int depth, RowMember *member) {
    const Stage *reads = inlined_stage(space, stage);
    *member = (RowMember){.stage = stage, .reads = reads, .unroll = -1, .vector_gene = -1, .pieces = 1};
    const Var *axis = vector_axis(group, reads, depth, &member->reduction);
    if (!axis || (!member->reduction && stage->reduction_count > 0 && !runs_along_memory(reads, axis)))
        return;
    member->fused = member->reduction && runs_on(reads);
    member->extent = member->fused ? row_extent(reads) : axis_extent(axis);
    member->lanes = lanes_of(space, stage, axis, member->extent, &member->shorter);
    if ((member->extent >= 0 && member->extent < 2) || member->lanes < 2)
        return;
    member->axis = axis->name;
    member->loop = loop_path(space, stage->name, axis->name);
    const char *base = arena_printf(space->arena, "s%d_%s", program_stage_index(space->program, stage), axis->name);
    member->outer = space_local_name(space, group, arena_printf(space->arena, "%s_o", base));
    member->inner = space_local_name(space, group, arena_printf(space->arena, "%s_i", base));
    member->lane = space_local_name(space, group, arena_printf(space->arena, "%s_v", base));
    member->partial = space_local_name(space, group, arena_printf(space->arena, "%s_p", base));
    member->vector = space_local_name(space, group, arena_printf(space->arena, "%s_q", base));
    member->stream = space_local_name(space, group, arena_printf(space->arena, "%s_m", base));
    member->step = space_local_name(space, group, arena_printf(space->arena, "%s_n", base));
    if (member->fused)
        member->axis = space_local_name(space, group, arena_printf(space->arena, "%s_f", base));
    make_pieces(space, group, base, member);
    Gene vector = {.kind = GENE_VECTOR, .stage = stage, .structural = true, .count = 2};
    vector.name = arena_printf(space->arena, "%s vector", member->loop);
    vector.start = !member->reduction || stage_reduces_along_memory(reads);
    member->vector_gene = group_add_gene(space, group, vector);
    Gene unroll = {.kind = GENE_UNROLL, .stage = stage, .register_part = -1, .unroll_part = 0};
    unroll.name = arena_printf(space->arena, "%s unroll", member->loop);
    factors_single(space->arena, member->extent < 0 ? -1 : ceil_divide(member->extent, member->lanes),
                   unroll_limit(space, member, axis), &unroll);
    for (int c = 0; c < unroll.count && member->reduction; c++)
        if (unroll.values[c] <= space->target->machine->chains && unroll.values[c] > unroll.values[unroll.start])
            unroll.start = c;
    member->unroll = group_add_gene(space, group, unroll);
}

/* Writes a stage of partial results in registers for up to three loops, computed where the stage is, at `place`, or at
 * the root. */
static void write_partial(Space *space, Sketch *sketch, const char *name, const char *const *loops, int count,
                          const char *place) {
    PrimArg args[4];
    for (int i = 0; i < count; i++)
        args[i] = arg_name(loops[i]);
    args[count] = arg_keyed(arg_name("register"), "scope");
    sketch_add(space, sketch, PRIM_RFACTOR, 1, &name, count + 1, args);
    PrimArg where[2] = {arg_name(name), arg_name(place)};
    if (place)
        sketch_add(space, sketch, PRIM_COMPUTE_AT, 0, NULL, 2, where);
}

/* Combines lanes that the backend does not combine: by halves, each a stage of half as many lanes. Returns the loop
 * over the last two. */
static const char *write_halves(Space *space, Sketch *sketch, const RowMember *member, const char *stage,
                                const char *lane, const char *place) {
    for (int lanes = member->lanes / 2; lanes > 1; lanes /= 2) {
        const char *names[2] = {arena_printf(space->arena, "%s_h%d", member->vector, lanes),
                                arena_printf(space->arena, "%s_l%d", member->vector, lanes)};
        const char *half = arena_printf(space->arena, "%s_q%d", member->vector, lanes);
        PrimArg split[2] = {arg_name(lane), arg_int(lanes)};
        sketch_add(space, sketch, PRIM_SPLIT, 2, names, 2, split);
        lane = loop_path(space, stage, names[1]);
        write_partial(space, sketch, half, &lane, 1, place);
        for (int k = 0; k < 2; k++) {
            const char *loop = loop_path(space, half, names[k]);
            sketch_loops(space, sketch, k == 1 ? PRIM_VECTORIZE : PRIM_UNROLL, &loop, 1);
        }
    }
    return lane;
}

/* After the split: writes vectors of partial results, then one vector of them, then the stage's value. */
static void write_reduction(Space *space, Sketch *sketch, const RowMember *member, const char *stage, bool streams,
                            const char *place) {
    const char *kept[3] = {member->lane, member->inner, member->stream}, *lane = loop_path(space, stage, member->lane);
    int count = streams ? 3 : 2;
    write_partial(space, sketch, member->partial, kept, count, place);
    sketch_loops(space, sketch, PRIM_VECTORIZE, &member->lane, 1);
    sketch_loops(space, sketch, PRIM_UNROLL, kept + 1, count - 1);
    write_partial(space, sketch, member->vector, &lane, 1, place);
    for (int k = 0; k < count; k++) {
        const char *loop = loop_path(space, member->vector, kept[k]);
        sketch_loops(space, sketch, k == 0 ? PRIM_VECTORIZE : PRIM_UNROLL, &loop, 1);
    }
    if (member->stage->combine == COMBINE_DECLARED)
        lane = write_halves(space, sketch, member, stage, lane, place);
    sketch_loops(space, sketch, PRIM_UNROLL, &lane, 1); /* the backend combines other lanes by halves */
}

/* Whether streams are neighbours: short rows, one after another in memory, are one stream that a step continues by a
 * few of them, whose sums do not wait for each other. */
static bool streams_are_neighbours(const RowMember *member) {
    return member->extent >= 0 && member->extent < LONG_ROW;
}

/* Cuts the loop around the vectors' into streams; each step continues all of them. */
static void write_streams(Space *space, Sketch *sketch, const RowMember *member, const char *stage, bool pieces,
                          int64_t steps) {
    int count = reduction_loops(member->reads);
    const char *around = pieces && count == 2 ? member->rest : reduction_at(member->reads, count - 2)->name;
    int64_t streams = space->target->machine->sum_streams;
    bool near = streams_are_neighbours(member);
    const char *names[2] = {near ? member->step : member->stream, near ? member->stream : member->step};
    PrimArg args[2] = {arg_name(loop_path(space, stage, around)), arg_int(near ? streams : steps)};
    sketch_add(space, sketch, PRIM_SPLIT, 2, names, 2, args);
    const char *order[5] = {member->step, member->outer, member->stream, member->inner, member->lane};
    sketch_loops(space, sketch, PRIM_REORDER, order, 5);
}

/* Cuts the first reduction into pieces, reduced by themselves before all members. Returns the loop over the pieces. */
static const char *write_pieces(Space *space, Sketch *sketch, const RowMember *member) {
    const Stage *stage = member->stage;
    bool row = reduction_loops(member->reads) == 1;
    const Var *first = reduction_at(member->reads, 0);
    const char *names[2] = {member->piece, member->rest}, *task = loop_path(space, member->share, member->piece);
    PrimArg split[2] = {arg_name(loop_path(space, stage->name, row ? member->axis : first->name)),
                        arg_int(ceil_divide(row ? member->extent : axis_extent(first), member->pieces))};
    sketch_add(space, sketch, PRIM_SPLIT, 2, names, 2, split);
    PrimArg piece = arg_name(member->piece), share = arg_name(member->share), axes[stage->axis_count + 1];
    sketch_add(space, sketch, PRIM_RFACTOR, 1, &member->share, 1, &piece);
    sketch_add(space, sketch, PRIM_COMPUTE_ROOT, 0, NULL, 1, &share);
    for (int a = 0; a < stage->axis_count; a++)
        axes[a] = arg_name(loop_path(space, member->share, stage->axes[a]->name));
    axes[stage->axis_count] = arg_name(task);
    if (stage->axis_count > 0) {
        task = arena_printf(space->arena, "%s_task", member->share);
        sketch_add(space, sketch, PRIM_FUSE, 1, &task, stage->axis_count + 1, axes);
    }
    sketch_loops(space, sketch, PRIM_PARALLEL, &task, 1);
    return task;
}

/* Each step of the reductions continues in the whole row, which stays in the nearest cache. */
static void write_reductions_around(Space *space, Sketch *sketch, const RowMember *member) {
    int count = member->stage->reduction_count;
    if (count == 0)
        return;
    const char *order[count + 3];
    for (int r = 0; r < count; r++)
        order[r] = loop_path(space, member->stage->name, member->stage->reductions[r]->name);
    order[count] = member->outer;
    order[count + 1] = member->inner;
    order[count + 2] = member->lane;
    sketch_loops(space, sketch, PRIM_REORDER, order, count + 3);
}

/* Moves the loop that runs along memory inside all others. */
static void write_order(Space *space, Sketch *sketch, const Stage *stage) {
    int count = stage->reduction_count, row = row_of_reduction(stage);
    if (row == count - 1)
        return;
    const char *order[count];
    for (int r = 0; r < count; r++)
        order[r] = loop_path(space, stage->name, reduction_at(stage, r)->name);
    sketch_loops(space, sketch, PRIM_REORDER, order + row, count - row);
}

/* Fuses the last two reductions, which are contiguous in memory. */
static void write_fused(Space *space, Sketch *sketch, const RowMember *member) {
    const Stage *stage = member->reads;
    PrimArg args[2];
    for (int i = 0; i < 2; i++)
        args[i] = arg_name(loop_path(space, stage->name, reduction_at(stage, stage->reduction_count - 2 + i)->name));
    sketch_add(space, sketch, PRIM_FUSE, 1, &member->axis, 2, args);
}

/* The last reduction of a stage that scatters single elements does a few steps at once. */
static void write_steps(Space *space, Sketch *sketch, const Stage *stage) {
    int count = stage->reduction_count;
    if (count == 0 || stage_first_scatter(stage) == stage->axis_count)
        return;
    PrimArg args[2] = {arg_name(loop_path(space, stage->name, stage->reductions[count - 1]->name)),
                       arg_keyed(arg_int(SCATTER_STEPS), "factor")};
    sketch_add(space, sketch, PRIM_UNROLL, 0, NULL, 2, args);
}

static void write_member(Space *space, Sketch *sketch, const RowMember *member, const int *genes, const char *place,
                         bool pieces) {
    if (member->vector_gene < 0)
        write_steps(space, sketch, member->stage);
    if (member->vector_gene < 0 || genes[member->vector_gene] == 0)
        return;
    const char *names[3] = {member->outer, member->inner, member->lane};
    const char *stage = pieces ? member->share : member->stage->name;
    if (member->reduction)
        write_order(space, sketch, member->reads);
    if (member->fused)
        write_fused(space, sketch, member);
    if (pieces)
        place = write_pieces(space, sketch, member);
    bool rest = pieces && reduction_loops(member->reads) == 1;
    PrimArg args[3] = {arg_name(loop_path(space, stage, rest ? member->rest : member->axis))};
    args[1] = arg_gene(space, sketch, member->unroll, 0);
    args[2] = arg_int(member->lanes);
    sketch->shorter |= member->shorter;
    sketch_add(space, sketch, PRIM_SPLIT, 3, names, 3, args);
    int64_t steps = stream_steps(member, pieces, space->target->machine->sum_streams);
    if (steps > 0)
        write_streams(space, sketch, member, stage, pieces, steps);
    if (member->reduction) {
        write_reduction(space, sketch, member, stage, steps > 0, place);
        return;
    }
    write_reductions_around(space, sketch, member);
    sketch_loops(space, sketch, PRIM_VECTORIZE, &member->lane, 1);
    sketch_loops(space, sketch, PRIM_UNROLL, &member->inner, 1);
}

/* Whether the group's sketch is legal. Works in scratch memory. */
static bool is_accepted(Space *space, Group *group, const Sketch *sketch) {
    Arena *scratch = arena_new();
    bool accepted = sketch_nest(scratch, space, group, sketch) != NULL;
    arena_free(scratch);
    return accepted;
}

/* The loop of a member over the rows that are computed together; own: the root's loop. */
static const char *own_row(Space *space, const Group *group, const Row *row, const RowMember *member, const char *own) {
    const Stage *stage = member->stage;
    return stage == group->root ? own : loop_path(space, stage->name, stage->axes[row->depth - 1]->name);
}

/* Takes a member's reduction apart, unless the nest refuses that. It is asked once: the answer depends on the stage,
 * hardly on other choices. Returns whether the member is taken apart. */
static bool try_member(Space *space, Group *group, RowMember *member, const int *genes, Sketch *sketch,
                       const char *place, bool pieces) {
    Sketch before = *sketch;
    if (member->refused[pieces])
        return false;
    write_member(space, sketch, member, genes, place, pieces);
    if (!member->reduction || member->tried[pieces] || sketch->prims.count == before.prims.count)
        return true;
    member->tried[pieces] = true;
    member->refused[pieces] = !is_accepted(space, group, sketch);
    if (member->refused[pieces]) {
        sketch->prims.count = before.prims.count;
        sketch->holes.count = before.holes.count;
    }
    return !member->refused[pieces];
}

/* Partial results are computed at `place`; or, if the root has a loop `own` over rows computed together, at each
 * member's own loop over these. */
static void write_members(Space *space, Group *group, Row *row, const int *genes, Sketch *sketch, const char *place,
                          const char *own) {
    for (int m = 0; m < row->member_count; m++) {
        RowMember *member = &row->members[m];
        bool pieces = row->pieces_gene >= 0 && member->pieces > 1 && genes[row->pieces_gene] == 1;
        const char *at = own ? own_row(space, group, row, member, own) : place;
        if (!pieces || !try_member(space, group, member, genes, sketch, at, true))
            try_member(space, group, member, genes, sketch, at, false);
    }
}

/* --- with a reduction that is computed for a block of rows --- */

static const char *root_loop(Space *space, const Group *group, int axis) {
    return loop_path(space, group->root->name, group->root->axes[axis]->name);
}

/* The loops of the root's shared axes, the last one cut into blocks. Returns the loop over blocks; *around: the loop
 * around it, or NULL. */
static const char *write_blocks(Space *space, Group *group, const Row *row, const int *genes, Sketch *sketch,
                                const char **around) {
    const char *names[3] = {row->block, row->middle, row->inner}, *task = space_local_name(space, group, "row");
    int last = row->depth - 1, gene = row->tile->axes[last].tile;
    PrimArg split[3] = {arg_name(root_loop(space, group, last)), arg_gene(space, sketch, gene, 0),
                        arg_gene(space, sketch, gene, 1)};
    sketch_add(space, sketch, PRIM_SPLIT, 3, names, 3, split);
    PrimArg loops[row->depth];
    for (int d = 0; d < last; d++)
        loops[d] = arg_name(root_loop(space, group, d));
    loops[last] = arg_name(row->block);
    RowParallel parallel = space->target->threads == 1 ? ROWS_SERIAL : (RowParallel)genes[row->parallel_gene];
    int fused = parallel == ROWS_PARALLEL ? row->depth : parallel == ROWS_PARALLEL_FIRST ? last : 0;
    if (fused > 1)
        sketch_add(space, sketch, PRIM_FUSE, 1, &task, fused, loops);
    else if (fused == 1)
        task = loops[0].name;
    if (fused > 0)
        sketch_loops(space, sketch, PRIM_PARALLEL, &task, 1);
    *around = fused == row->depth || last == 0 ? NULL : fused > 0 ? task : loops[last - 1].name;
    return fused == row->depth ? task : row->block;
}

static void place_members(Space *space, const Group *group, const Row *row, Sketch *sketch, const char *place) {
    for (int m = row->member_count - 1; m >= 0; m--) {
        PrimArg args[2] = {arg_name(row->members[m].stage->name), arg_name(place)};
        if (row->members[m].stage != group->root)
            sketch_add(space, sketch, PRIM_COMPUTE_AT, 0, NULL, 2, args);
    }
}

static void place_tile(Space *space, Sketch *sketch, const Tile *tile, const char *place) {
    PrimArg args[2] = {arg_name(tile->root->name), arg_name(place)};
    sketch_add(space, sketch, PRIM_COMPUTE_AT, 0, NULL, 2, args);
}

/* The tile of the product of rows; its names have another prefix. */
static bool emit_product(Space *space, Group *group, const Row *row, const int *genes, Sketch *sketch,
                         const char *around) {
    const char *prefix = group->prefix;
    group->prefix = row->prefix;
    bool emitted = tile_emit_placed(space, group, row->product, genes, sketch, around);
    group->prefix = prefix;
    return emitted;
}

/* The product reads rows of the whole block. If it is the root, the blocks are its own. */
static bool emit_blocks(Space *space, Group *group, Row *row, const int *genes, Sketch *sketch) {
    const char *around, *block = write_blocks(space, group, row, genes, sketch, &around);
    bool together = row->product || genes[row->rows] == 1;
    if (row->product && !row->product->around)
        place_tile(space, sketch, row->product, block);
    place_members(space, group, row, sketch, row->product ? block : together ? row->middle : row->inner);
    place_tile(space, sketch, row->tile, block);
    write_members(space, group, row, genes, sketch, row->inner, together ? row->inner : NULL);
    return tile_emit_placed(space, group, row->tile, genes, sketch, around) &&
           (!row->product || emit_product(space, group, row, genes, sketch, around));
}

/* Lists the loops of the shared axes, from the first to the last with more than one value; others are left alone.
 * Returns their number. */
static int shared_loops(Space *space, const Group *group, const Row *row, PrimArg *axes) {
    int count = 0, used = 0;
    for (int d = 0; d < row->depth; d++) {
        bool one = axis_extent(group->root->axes[d]) == 1;
        if (is_steps_axis(group, group->root, d) || (one && used == 0 && d < row->depth - 1))
            continue;
        axes[count++] = arg_name(root_loop(space, group, d));
        used = !one || count == 1 ? count : used;
    }
    return used;
}

/* A member whose rows are lanes: a vector for each element of a row, in registers except for the root. */
static void write_lanes(Space *space, const Group *group, const Row *row, Sketch *sketch, const Stage *stage) {
    int own = stage->axis_count - row->depth, count = own + stage->reduction_count;
    const char **loops = ARENA_ARRAY(space->arena, const char *, count + 1);
    for (int l = 0; l < count; l++) {
        const Var *var = l < own ? stage->axes[row->depth + l] : stage->reductions[l - own];
        loops[l] = loop_path(space, stage->name, var->name);
    }
    loops[count] = stage == group->root ? row->inner : loop_path(space, stage->name, stage->axes[row->depth - 1]->name);
    PrimArg scope[2] = {arg_name(stage->name), arg_name("register")};
    if (stage != group->root)
        sketch_add(space, sketch, PRIM_SET_SCOPE, 0, NULL, 2, scope);
    if (count > 0)
        sketch_loops(space, sketch, PRIM_REORDER, loops, count + 1);
    sketch_loops(space, sketch, PRIM_VECTORIZE, loops + count, 1);
    sketch_loops(space, sketch, PRIM_UNROLL, loops, count);
}

static bool row_emit(Space *space, Group *group, const int *genes, Sketch *sketch) {
    Row *row = group->details;
    if (row->tile)
        return emit_blocks(space, group, row, genes, sketch);
    if (row->depth == 0) {
        write_members(space, group, row, genes, sketch, NULL, NULL);
        return true;
    }
    PrimArg *axes = ARENA_ARRAY(space->arena, PrimArg, row->depth);
    int loops = shared_loops(space, group, row, axes);
    bool lanes = row->lanes_gene >= 0 && genes[row->lanes_gene] == 1;
    if (row->rows >= 0 || lanes) {
        const char *names[2] = {row->block, row->inner};
        PrimArg split[2] = {axes[loops - 1], lanes ? arg_int(row->lanes) : arg_gene(space, sketch, row->rows, 0)};
        sketch_add(space, sketch, PRIM_SPLIT, 2, names, 2, split);
        axes[loops - 1] = arg_name(row->block);
    }
    const char *place = loops > 0 ? axes[loops - 1].name : steps_loop(space, group);
    if (loops > 1) {
        place = space_local_name(space, group, "row");
        sketch_add(space, sketch, PRIM_FUSE, 1, &place, loops, axes);
    }
    if (space->target->threads != 1 && loops > 0 && genes[row->parallel_gene] == 1)
        sketch_loops(space, sketch, PRIM_PARALLEL, &place, 1);
    place_members(space, group, row, sketch, place);
    sketch->shorter |= lanes && row->shorter;
    for (int m = 0; m < row->member_count && lanes; m++)
        write_lanes(space, group, row, sketch, row->members[m].stage);
    if (!lanes)
        write_members(space, group, row, genes, sketch, place, row->rows >= 0 ? row->inner : NULL);
    return true;
}

static bool is_small(const Group *group, const Machine *machine) {
    double work = 0;
    for (int s = 0; s < group->stage_count; s++) {
        double flops = stage_flops(group->stages[s]);
        if (flops < 0)
            return group->scan != NULL;
        work += flops;
    }
    return work < forked_part * machine->fork_operations * (double)group_steps(group);
}

/* The gene of rows computed together: with a tile, whether those of a register tile are; else how many of them. */
static void make_rows(Space *space, Group *group, Row *row) {
    Gene gene = {.kind = GENE_TILE, .register_part = -1, .unroll_part = -1};
    gene.name = arena_printf(space->arena, "%s rows", group->root->name);
    int64_t extent = row->depth > 0 ? axis_extent(group->root->axes[row->depth - 1]) : -1;
    row->rows = -1;
    if (row->product)
        return;
    if (row->tile) {
        gene.structural = true;
        gene.count = 2;
        gene.start = 1;
    } else if (group->stage_count > 1 && !group->scan &&
               (extent > 1 || (extent < 0 && row->depth > 0 && has_limited_size(space)))) {
        factors_single(space->arena, extent, ROWS_LIMIT, &gene);
        for (int c = 0; c < gene.count; c++)
            if (gene.values[c] <= space->target->machine->chains && (extent < 0 || extent % gene.values[c] == 0))
                gene.start = c;
    } else {
        return;
    }
    row->rows = group_add_gene(space, group, gene);
}

/* The gene whether threads share the reductions of a single row. */
static void make_pieces_gene(Space *space, Group *group, Row *row) {
    bool wanted = space->target->threads != 1 && !row->tile && !group->scan, any = false;
    for (int d = 0; d < row->depth; d++)
        wanted &= axis_extent(group->root->axes[d]) == 1;
    for (int m = 0; m < row->member_count; m++)
        any |= row->members[m].pieces > 1;
    Gene gene = {.structural = true, .count = 2, .start = 1, .register_part = -1, .unroll_part = -1};
    gene.name = arena_printf(space->arena, "%s pieces", group->root->name);
    row->pieces_gene = wanted && any ? group_add_gene(space, group, gene) : -1;
}

static void name_blocks(Space *space, Group *group, Row *row) {
    const char *axis = group->root->axes[row->depth - 1]->name;
    row->block = space_local_name(space, group, arena_printf(space->arena, "%s_block", axis));
    row->middle = space_local_name(space, group, arena_printf(space->arena, "%s_rows", axis));
    row->inner = space_local_name(space, group, arena_printf(space->arena, "%s_row", axis));
    if (row->product && row->product->around) {
        row->product->axes[row->depth - 1].middle = row->middle;
        row->product->axes[row->depth - 1].inner = row->inner;
    }
}

/* Elements of a row of the stage, or terms of the sum for one; 0: known at run time only. */
static int64_t row_terms(const Stage *stage, int depth) {
    int64_t terms = 1;
    for (int a = depth; a < stage->axis_count + stage->reduction_count && terms > 0 && terms <= FEW_TERMS; a++) {
        const Var *var = a < stage->axis_count ? stage->axes[a] : stage->reductions[a - stage->axis_count];
        terms *= axis_extent(var) < 0 ? 0 : axis_extent(var);
    }
    return terms;
}

/* Whether all that the members compute for a row is a few elements. */
static bool has_few_terms(const Group *group, const Row *row) {
    bool few = row->depth > 0 && !group->scan && group->stage_count > 1 && !row->tile && !row->product;
    for (int s = 0; s < group->stage_count && few; s++) {
        const Stage *stage = group->stages[s];
        int64_t terms = row_terms(stage, row->depth);
        few = stage->axis_count >= row->depth && stage->combine != COMBINE_DECLARED && stage->component_count == 1 &&
              stage_first_scatter(stage) == stage->axis_count && terms > 0 && terms <= FEW_TERMS;
    }
    return few;
}

/* Short rows, if there are enough, may be lanes. */
static void make_lanes(Space *space, Group *group, Row *row) {
    row->lanes_gene = -1;
    if (!has_few_terms(group, row))
        return;
    int64_t extent = axis_extent(group->root->axes[row->depth - 1]);
    row->lanes = lanes_of(space, group->root, group->root->axes[row->depth - 1], extent, &row->shorter);
    for (int s = 0; s < group->stage_count; s++) {
        int lanes = lanes_of(space, group->stages[s], group->stages[s]->axes[row->depth - 1], extent, &row->shorter);
        row->lanes = lanes < row->lanes ? lanes : row->lanes;
    }
    if (row->lanes < 2 || (extent >= 0 && extent < row->lanes))
        return;
    Gene gene = {.kind = GENE_VECTOR, .structural = true, .count = 2, .start = 1};
    gene.name = arena_printf(space->arena, "%s lanes", group->root->name);
    row->lanes_gene = group_add_gene(space, group, gene);
}

/* The second register tile of a block, whose rows are those of the first. */
static void make_product(Space *space, Group *group, Row *row, const Stage *product) {
    const char *prefix = group->prefix;
    int count = group->genes.count, shared = row->tile->axes[row->depth - 1].tile;
    row->prefix = group->prefix = arena_printf(space->arena, "%sof_", prefix);
    row->product = tile_new(space, group, product, product, row->depth);
    row->product->around = product == group->root;
    row->product->axes[row->depth - 1].tile = shared;
    group->tile_count = 2;
    group->prefix = prefix;
    for (int g = 0; g < group->genes.count; g++)
        group->genes.items[g].tiles = g == shared ? 0 : g < count ? 1 : 2;
}

void row_group_new(Space *space, Group *group, int depth, const Stage *anchor, const Stage *product) {
    Row *row = ARENA_NEW(space->arena, Row);
    group->details = row;
    group->emit = row_emit;
    row->depth = depth;
    Gene parallel = {.name = arena_printf(space->arena, "%s parallel", group->root->name),
                     .kind = GENE_PARALLEL,
                     .structural = true,
                     .count = anchor ? 3 : 2};
    parallel.start = is_small(group, space->target->machine) ? ROWS_SERIAL : ROWS_PARALLEL;
    row->parallel_gene = group_add_gene(space, group, parallel);
    row->members = ARENA_ARRAY(space->arena, RowMember, group->stage_count);
    for (int s = 0; s < group->stage_count; s++)
        if (group->stages[s] != anchor && group->stages[s] != product)
            make_member(space, group, group->stages[s], depth, &row->members[row->member_count++]);
    if (anchor)
        row->tile = tile_new(space, group, anchor, anchor, depth);
    if (product)
        make_product(space, group, row, product);
    make_rows(space, group, row);
    make_pieces_gene(space, group, row);
    make_lanes(space, group, row);
    if (row->rows >= 0 || row->product || row->lanes_gene >= 0)
        name_blocks(space, group, row);
}
