/* tile.c - the group of one root with a register tile: its axes, operands and genes.
 *
 * Serves every stage with reuse, alone (cache_write) or inside an element-by-element consumer (compute_at), and also
 * stages without a reduction, whose register level is only unrolled. It knows no operators: all follows from how the
 * axes occur in the reads.
 */
#include "autosched/space/tile/tile.h"
#include "lang/machine.h"
#include "lower/kernel/kernel.h"

#include <string.h>

enum {
    SPATIAL_INNER_LIMIT = 28,
    UNKNOWN_LIMIT = 4, /* for run-time sizes: the last tile may have one row but computes all */
    FEW_ROWS_VECTORS = 6,
    VECTOR_INNER_LIMIT = 8,
    SCAN_CHAINS = 2, /* rows of waiting steps: this many times what hides their latencies */
    UNROLL_LIMIT = 8,
    BLOCK_UNROLL_LIMIT = 4,
    CANDIDATE_LIMIT = 3,
    CASES_NODES = 64,
    PACKED_OPERANDS = 64, /* of a tile: one of more is little of what it reads */
    VERSIONS = 4          /* versions of a tile with run-time sizes: whole and cut short, packed and not */
};

/* --- accesses --- */

/* The coefficient of the axis in an index; false when it is not affine in it. */
static bool index_coefficient(Expr *index, const Var *axis, int64_t *coefficient) {
    Arena *arena = arena_new();
    Affine affine;
    bool known = expr_affine_modular(arena, index, &affine) && affine_coefficient(&affine, axis, coefficient);
    arena_free(arena);
    return known;
}

AccessKind access_along(const Expr *read, const Var *axis, int *dimension, int64_t *coefficient) {
    AccessKind kind = ACCESS_NONE;
    for (int d = 0; d < read->count; d++) {
        if (!expr_uses_var(read->args[d], axis))
            continue;
        *dimension = d;
        if (kind != ACCESS_NONE || expr_reads(read->args[d]) || !index_coefficient(read->args[d], axis, coefficient))
            *coefficient = 0;
        if (*coefficient <= 0)
            return ACCESS_IRREGULAR;
        kind = *coefficient == 1 && d == read->count - 1 ? ACCESS_CONTIGUOUS : ACCESS_STRIDED;
    }
    return kind;
}

bool operand_packable(const Expr *read) {
    return read->count > 0 && !read_gathers(read);
}

typedef struct OperandList {
    Space *space;
    Group *group;
    Tile *tile;
} OperandList;

/* Whether the tensor must be read in place: the group's scan writes it step by step, or the group for a block of rows,
 * so it cannot be copied beforehand. */
static bool is_read_in_place(const OperandList *list, const Tensor *tensor) {
    const Stage *stage = program_stage_of(list->space->program, tensor);
    bool inside = stage && list->group->scan && stage->scan == list->group->scan;
    for (int s = 0; s < list->group->stage_count && list->tile->placed; s++)
        inside |= stage == list->group->stages[s];
    return inside;
}

/* Whether each call reads the tensor from memory, in the order in which it lies there. */
static bool is_streamed(const Space *space, const Tensor *tensor) {
    int64_t cache = space->target->machine->cache_bytes[2], elements = tensor_elements(tensor);
    return elements > cache / element_info[tensor->type].bytes && tensor_is_given(space, tensor);
}

static void add_operand(const OperandList *list, const Expr *e) {
    TileOperand operand = {.read = e, .pack = is_read_in_place(list, e->tensor) ? -2 : -1};
    int before = 0; /* the number of the last operand of the tensor, from 1 on */
    for (int i = 0; i < list->tile->operands.count; i++) {
        TileOperand *other = &list->tile->operands.items[i];
        if (expr_equal(other->read, e))
            return;
        if (other->read->tensor == e->tensor) {
            other->shared = operand.shared = true;
            before = i + 1;
        }
    }
    const char *name = before ? arena_printf(list->space->arena, "%s_p%d", e->tensor->name, before)
                              : arena_printf(list->space->arena, "%s_p", e->tensor->name);
    operand.streamed = is_streamed(list->space, e->tensor);
    operand.name = space_local_name(list->space, list->group, name);
    list_push(list->space->arena, &list->tile->operands, operand);
}

/* --- axes --- */

static int power_above(int64_t value, int limit) {
    int power = 1;
    while (power < limit && (value < 0 || power < value))
        power *= 2;
    return power;
}

int stage_lanes(const Space *space, const Stage *stage) {
    int bytes = element_info[stage->components[0].tensor->type].bytes, least = element_info[TYPE_FLOAT].bytes;
    EACH_EXPR(e, stage->components[0].value) {
        bool counts = e->kind == EXPR_READ || ((e->kind == EXPR_OP || e->kind == EXPR_CAST) && type_is_float(e->type));
        if (counts && element_info[e->type].bytes > bytes)
            bytes = element_info[e->type].bytes;
        if (e->kind == EXPR_READ)
            SKIP_BELOW(e);
    }
    if (stage->reduction_count && type_is_float(stage->components[0].tensor->type) && bytes < least)
        bytes = least;
    int lanes = space->target->vector_bytes / bytes;
    return lanes < 1 ? 1 : lanes;
}

static Gene tile_gene(Space *space, const char *name, int64_t extent, int64_t limit) {
    Gene gene = {.kind = GENE_TILE, .register_part = 1, .unroll_part = -1};
    gene.name = arena_printf(space->arena, "%s tile", name);
    factors_tile(space->arena, extent, limit, &gene);
    return gene;
}

static const char *part_name(Space *space, const Group *group, const char *axis, const char *ending) {
    return space_local_name(space, group, arena_printf(space->arena, "%s_%s", axis, ending));
}

/* Whether some operand is reused along the axis; side_by_side: or is contiguous along it. */
static bool serves_operand(const Tile *tile, const Var *axis, bool side_by_side) {
    for (int i = 0; i < tile->operands.count; i++) {
        int dimension;
        int64_t coefficient;
        AccessKind kind = access_along(tile->operands.items[i].read, axis, &dimension, &coefficient);
        if (side_by_side ? kind == ACCESS_CONTIGUOUS : kind == ACCESS_NONE)
            return true;
    }
    return false;
}

/* The most rows of a register tile along an axis. Rows of a run-time size pay for their ends: they are allowed only if
 * an operand is reused along one of the two axes before the vectors' axis, or rows are transposed. */
static int64_t inner_limit(const Group *group, const Tile *tile, int number, int lanes, const Machine *machine) {
    const Var *axis = tile->anchor ? tile->anchor->axes[number] : tile->axes[number].axis;
    int last = tile->root->axis_count - 1;
    if (!tile->anchor && is_steps_axis(group, tile->root, last))
        return SCAN_CHAINS * machine->chains;
    if (tile->axes[number].extent >= 0)
        return SPATIAL_INNER_LIMIT;
    if (!tile->anchor)
        return number < last && serves_operand(tile, axis, true) ? lanes : 1;
    return number >= last - 2 && serves_operand(tile, axis, false) ? UNKNOWN_LIMIT : 1;
}

/* A chain leaves only a block of its axes, or nothing. */
static void use_chain(const Tile *tile, TileAxis *axis, int number) {
    const ChainAxis *chained = chain_axis(tile->chain, tile->producer, number);
    if (!chained)
        return;
    axis->chained = tile->producer < 0 && chained->step == 1;
    axis->extent = tile->producer < 0 ? chained->step : 1;
    axis->tiled = axis->extent > 1;
    axis->loop = tile->producer < 0 ? chained->inner : axis->loop;
}

/* The most vectors of a register tile along an axis of run-time size. If another size is small, little else matters. */
static int64_t unknown_vectors(const Space *space) {
    return has_limited_size(space) && space->target->masked_bytes > 0 ? FEW_ROWS_VECTORS : UNKNOWN_LIMIT;
}

/* Whether the lanes of an axis may compute all of its cases: there are many lanes, and the cases are small. */
static bool has_lanes_of_cases(const Group *group, const Tile *tile, const TileAxis *axis) {
    int nodes = 0;
    EACH_EXPR(e, tile->value->components[0].value)
        nodes++;
    return group->stage_count == 1 && nodes <= CASES_NODES && (axis->extent < 0 || axis->extent >= 2 * axis->lanes);
}

static void make_axis(Space *space, Group *group, const Tile *tile, const Stage *root, int number, int lanes) {
    TileAxis *axis = &tile->axes[number];
    const char *name = root->axes[number]->name;
    axis->axis = tile->anchor && !tile->fused ? tile->anchor->axes[number] : root->axes[number];
    axis->extent = axis_extent(root->axes[number]);
    axis->steps = is_steps_axis(group, root, number);
    axis->tiled = !axis->steps && (axis->extent < 0 || axis->extent > 1) && number >= tile->placed - 1 &&
                  !(tile->anchor && stage_deals_out(tile->anchor, tile->anchor->axes[number]));
    axis->loop = loop_path(space, root->name, name);
    use_chain(tile, axis, number);
    const Var *along = tile->anchor ? tile->anchor->axes[number] : axis->axis;
    axis->lanes = power_above(axis->extent, stage_lanes_along(space->target, tile->value, along, lanes));
    axis->shorter = axis->lanes < power_above(axis->extent, lanes);
    if (!axis->tiled)
        return;
    int64_t cases = tile->anchor || tile->placed ? 0 : group_case_period(space, group, tile->value, number);
    Gene tiles =
        tile_gene(space, axis->loop, axis->extent, inner_limit(group, tile, number, lanes, space->target->machine));
    if (cases > 0)
        factors_cases(space->arena, axis->extent, cases, &tiles);
    axis->cases = cases > 0 && !has_lanes_of_cases(group, tile, axis);
    axis->tile = group_add_gene(space, group, tiles);
    int64_t vectors = axis->extent < 0 ? -1 : ceil_divide(axis->extent, axis->lanes);
    Gene wide = tile_gene(space, arena_printf(space->arena, "%s vector", axis->loop), vectors,
                          axis->extent < 0 ? unknown_vectors(space) : VECTOR_INNER_LIMIT);
    if (!tile->anchor && !tile->placed && group->stage_count > 1 &&
        stage_has_cases(tile->value)) /* the members already fill the registers */
        factors_cases(space->arena, vectors, 1, &wide);
    axis->vector = group_add_gene(space, group, wide);
    axis->outer = part_name(space, group, name, "o");
    axis->middle = part_name(space, group, name, "m");
    axis->inner = part_name(space, group, name, "i");
    axis->lane = part_name(space, group, name, "v");
    axis->anchor_outer = part_name(space, group, name, "u");
    axis->anchor_lane = part_name(space, group, name, "l");
}

static void make_axes(Space *space, Group *group, Tile *tile) {
    const Stage *root = tile->root;
    int lanes = stage_lanes(space, tile->anchor ? tile->anchor : root);
    tile->axis_count = root->axis_count;
    tile->axes = ARENA_ARRAY(space->arena, TileAxis, root->axis_count);
    for (int a = 0; a < root->axis_count; a++) {
        make_axis(space, group, tile, root, a, lanes);
        if (!tile->anchor)
            continue;
        tile->axes[a].axis = tile->anchor->axes[a];
        tile->axes[a].inner_loop = loop_path(space, tile->anchor->name, tile->anchor->axes[a]->name);
    }
}

static void make_reductions(Space *space, Group *group, Tile *tile) {
    const Stage *anchor = tile->anchor;
    tile->reduction_count = anchor ? anchor->reduction_count : 0;
    tile->reductions = ARENA_ARRAY(space->arena, TileReduction, tile->reduction_count);
    for (int r = 0; r < tile->reduction_count; r++) {
        TileReduction *reduction = &tile->reductions[r];
        const char *name = anchor->reductions[r]->name;
        reduction->axis = anchor->reductions[r];
        reduction->extent = axis_extent(reduction->axis);
        reduction->loop = loop_path(space, anchor->name, name);
        reduction->outer = part_name(space, group, name, "o");
        reduction->middle = part_name(space, group, name, "m");
        reduction->inner = part_name(space, group, name, "i");
        reduction->unroll = reduction->block = -1;
        int64_t largest = tile->reductions[tile->largest].extent;
        if (largest >= 0 && (reduction->extent < 0 || reduction->extent > largest))
            tile->largest = r;
    }
}

bool tile_deals_out(const Tile *tile) {
    bool any = false;
    for (int a = 0; tile->anchor && a < tile->anchor->axis_count; a++)
        any |= stage_deals_out(tile->anchor, tile->anchor->axes[a]);
    return any;
}

static bool is_dealt_out(const Tile *tile, const TileReduction *reduction) {
    return tile_deals_out(tile) && stage_is_ragged_along(tile->anchor, reduction->axis);
}

/* A run-time reduction is not split: that would double the tail of every register tile for the little that unrolling
 * gives. One whose terms are dealt out is as short as its conditions say where it is one loop. */
static void make_reduction_genes(Space *space, Group *group, Tile *tile) {
    if (tile->reduction_count == 0)
        return;
    int last = tile->reduction_count - 1;
    for (int r = 0; r <= last; r++) {
        TileReduction *reduction = &tile->reductions[r];
        if ((r != last && r != tile->largest) || reduction->extent <= 1 || is_dealt_out(tile, reduction))
            continue;
        Gene unroll = {.kind = GENE_UNROLL, .register_part = -1, .unroll_part = 0};
        unroll.name = arena_printf(space->arena, "%s unroll", reduction->loop);
        factors_single(space->arena, reduction->extent, UNROLL_LIMIT, &unroll);
        reduction->unroll = group_add_gene(space, group, unroll);
    }
    TileReduction *largest = &tile->reductions[tile->largest];
    if (largest->extent > 1 && !is_dealt_out(tile, largest)) {
        Gene block = {.kind = GENE_TILE, .register_part = -1, .unroll_part = 1};
        block.name = arena_printf(space->arena, "%s block", largest->loop);
        factors_tile(space->arena, largest->extent, BLOCK_UNROLL_LIMIT, &block);
        largest->block = group_add_gene(space, group, block);
    }
}

/* --- structural genes --- */

static int add_choice(Space *space, Group *group, GeneKind kind, const Stage *root, const char *what, int count) {
    Gene gene = {.kind = kind, .structural = true, .count = count};
    gene.name = arena_printf(space->arena, "%s %s", root->name, what);
    return group_add_gene(space, group, gene);
}

/* Whether an index is a quotient of the axis: a few lanes read one element, the next lanes the next one. */
static bool reads_quotient(const Expr *read, const Var *axis) {
    int64_t by;
    int uses = 0;
    bool quotient = true;
    for (int d = 0; d < read->count; d++) {
        const Expr *index = read->args[d];
        uses += expr_uses_var(index, axis);
        if (expr_uses_var(index, axis))
            quotient &= expr_is_op(index, OP_DIV) && index->args[0]->kind == EXPR_VAR &&
                        expr_is_int(index->args[1], &by) && by > 0;
    }
    return uses == 1 && quotient;
}

/* The cost of one read for lanes along the axis. Lanes that go down in memory are reversed. */
static double lanes_cost(const Target *target, const Expr *read, const TileAxis *along, bool *used) {
    const Var *axis = along->axis;
    int dimension = 0;
    int64_t coefficient = 0;
    AccessKind kind = access_along(read, axis, &dimension, &coefficient);
    *used |= kind != ACCESS_NONE;
    if (kind == ACCESS_IRREGULAR && read_is_row_with_ends(target, read, axis, along->lanes))
        return 0.25;
    if (kind == ACCESS_IRREGULAR && coefficient < 0)
        return coefficient == -1 && dimension == read->count - 1 ? 0.1 : 0.5;
    if (kind == ACCESS_IRREGULAR && reads_quotient(read, axis))
        return 0.25;
    return kind == ACCESS_IRREGULAR ? 8 : kind == ACCESS_STRIDED ? 0.5 : 0;
}

/* Whether few elements lie between two lanes along the axis, so that they are stored together. */
static bool is_before_columns(const Tile *tile, int number) {
    int64_t between = 1;
    for (int a = number + 1; a < tile->axis_count && between > 0; a++)
        between = tile->axes[a].extent < 0 || between > INTERLEAVED_STRIDE ? 0 : between * tile->axes[a].extent;
    return between > 0 && between <= INTERLEAVED_STRIDE;
}

/* The cost of an axis as the vector axis: lost lanes, operands to pack, scattered stores; below 0: not possible. */
static double vector_cost(const Target *target, const Tile *tile, const Stage *root, int number) {
    const TileAxis *axis = &tile->axes[number];
    const Expr *value = tile->anchor ? tile->anchor->components[0].value : root->components[0].value;
    if (!axis->tiled || axis->lanes == 1 || axis->cases || number < tile->placed ||
        (!tile->anchor && tile->axes[tile->axis_count - 1].steps)) /* each lane would be a row */
        return -1;
    double cost = 0;
    bool used = false;
    for (int i = 0; i < tile->operands.count; i++)
        cost += lanes_cost(target, tile->operands.items[i].read, axis, &used);
    int64_t extent = axis->extent < 0 ? axis->lanes : axis->extent;
    double scattered = tile->anchor || root->combine != COMBINE_NONE || is_before_columns(tile, number) ? 0.25 : 1;
    cost += 1.5 * (tile_waste(extent, axis->lanes) - 1) + (number == root->axis_count - 1 ? 0 : scattered);
    cost += used || expr_uses_var(value, axis->axis) ? 0 : 0.5;
    int whole = tile->axes[0].lanes;
    for (int a = 1; a < tile->axis_count; a++)
        whole = tile->axes[a].lanes > whole ? tile->axes[a].lanes : whole;
    return cost + 2 * (1 - (double)axis->lanes / whole);
}

static void choose_candidates(Space *space, Tile *tile) {
    double costs[tile->axis_count + 1];
    tile->candidates = ARENA_ARRAY(space->arena, int, tile->axis_count + 1);
    for (int a = 0; a < tile->axis_count; a++) {
        costs[a] = vector_cost(space->target, tile, tile->root, a);
        if (costs[a] < 0)
            continue;
        int place = tile->candidate_count++;
        for (; place > 0 && costs[tile->candidates[place - 1]] > costs[a]; place--)
            tile->candidates[place] = tile->candidates[place - 1];
        tile->candidates[place] = a;
    }
    /* With run-time sizes an axis that seems long may have one value: the natural axis is safe. */
    int limit = space->program->size_count ? 1 : CANDIDATE_LIMIT;
    if (tile->candidate_count > limit)
        tile->candidate_count = limit;
}

static int tiled_count(const Tile *tile) {
    int count = 0;
    for (int a = 0; a < tile->axis_count; a++)
        count += tile->axes[a].tiled;
    return count;
}

bool tile_shares_operand(const Tile *tile, int a, int b) {
    for (int i = 0; i < tile->operands.count; i++) {
        const Expr *read = tile->operands.items[i].read;
        if (expr_uses_var(read, tile->axes[a].axis) && expr_uses_var(read, tile->axes[b].axis))
            return true;
    }
    return false;
}

/* With threads: whether some axes share an operand with the first candidate for vectors, and later ones do not. */
static bool has_apart(const Tile *tile) {
    int vector = tile->candidate_count ? tile->candidates[0] : -1;
    bool shared = false, apart = false;
    for (int a = 0; a < tile->axis_count && vector >= 0; a++)
        if (tile->axes[a].tiled && a != vector) {
            bool shares = tile_shares_operand(tile, a, vector);
            apart |= shared && !shares;
            shared |= shares;
        }
    return apart;
}

static void make_structure(Space *space, Group *group, Tile *tile) {
    choose_candidates(space, tile);
    const Stage *root = tile->root;
    bool several = tiled_count(tile) > 1;
    bool parallel = space->target->threads != 1 && tile->placed == 0 && !(tile->chain && tile->producer >= 0);
    int candidates = tile->candidate_count ? tile->candidate_count : 1;
    int outers = several ? 2 + (parallel && has_apart(tile)) : 1, orders = tile_reduce_orders(space, tile);
    tile->vector_gene = add_choice(space, group, GENE_VECTOR, root, "vector axis", candidates);
    tile->outer_gene = add_choice(space, group, GENE_ORDER, root, "outer order", outers);
    tile->middle_gene = add_choice(space, group, GENE_ORDER, root, "middle order", several ? 2 : 1);
    tile->inner_gene = add_choice(space, group, GENE_ORDER, root, "inner order", several ? 2 : 1);
    tile->parallel_gene = add_choice(space, group, GENE_PARALLEL, root, "parallel", parallel ? 3 : 1);
    tile->reduce_gene = add_choice(space, group, GENE_ORDER, root, "reduction order", orders);
    bool packs = tile->reduction_count > 0 && tile->operands.count <= PACKED_OPERANDS;
    for (int i = 0; i < tile->operands.count; i++) {
        TileOperand *operand = &tile->operands.items[i];
        bool packable = packs && operand->pack == -1 && operand_packable(operand->read);
        operand->pack = packable ? add_choice(space, group, GENE_PACK, root, operand->name, PACK_PLACES) : -1;
    }
}

Tile *tile_new(Space *space, Group *group, const Stage *root, const Stage *anchor, int placed) {
    Tile *tile = ARENA_NEW(space->arena, Tile);
    int first = group->genes.count;
    tile->root = root;
    tile->copies = ARENA_NEW(space->arena, Map);
    tile->block_gene = -1;
    tile->placed = placed;
    tile->fused = anchor && anchor != root;
    tile->chain = placed ? NULL : chain_of(space, root, &tile->producer);
    tile->anchor = anchor ? inlined_stage(space, anchor) : NULL;
    OperandList list = {space, group, tile};
    tile->value = tile->anchor ? tile->anchor : inlined_stage(space, root);
    EACH_VALUE_READ(read, tile->value)
        add_operand(&list, read);
    make_axes(space, group, tile);
    make_reductions(space, group, tile);
    make_structure(space, group, tile);
    tile_find_instr(space, group, tile);
    make_reduction_genes(space, group, tile);
    tile_choose_start(space, group, tile);
    tile_make_pieces(space, group, tile);
    tile_make_blocks(space, group, tile);
    tile_start_instr(group, tile);
    for (int g = first; g < group->genes.count; g++)
        group->genes.items[g].stage = root;
    return tile;
}

/* The lane code of the best candidate for vectors. */
static int64_t tile_lane_code(const Space *space, const Tile *tile) {
    const TileAxis *axis = tile->candidate_count ? &tile->axes[tile->candidates[0]] : NULL;
    return axis ? stage_lane_code(space->target, tile->value, axis->axis, axis->lanes) : 0;
}

void tile_group_new(Space *space, Group *group, const Stage *anchor) {
    Tile *tile = tile_new(space, group, group->root, anchor, 0);
    group->details = tile;
    for (int s = 0; s < group->stage_count; s++)
        if (!anchor && group->stages[s] != group->root)
            group->weight += stage_weight(inlined_stage(space, group->stages[s]), space->target);
    group->weight += stage_weight(tile->value, space->target) + tile_lane_code(space, tile);
    for (int a = 0, versions = 1; a < tile->axis_count; a++)
        if (tile->axes[a].extent < 0 && versions == 1)
            group->weight *= versions = VERSIONS;
    group->emit = tile_emit;
}
