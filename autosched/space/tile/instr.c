/* instr.c - a hardware instruction of the program as the lanes of a tile group: tensorize instead of vectorize.
 *
 * An instruction fits a reduction whose value is its meaning, if one axis of the stage is its lanes and one reduction
 * its steps. An operand with that axis is packed so that both are innermost; an operand without it must have the
 * reduction innermost already. Other instructions can be used by hand.
 */
#include "autosched/space/tile/tile.h"
#include "lower/instr/instr.h"

#include <string.h>

static bool target_has(const Space *space, const Instr *instr) {
    bool has = strcmp(target_family(instr->target), space->target->family->name) == 0;
    for (int i = 0; i < instr->need_count; i++)
        has &= target_has_feature(space->target, instr->needs[i]);
    return has;
}

/* Whether it is acc(i) += ... over (i, r_k), with operands indexed in this order. */
static bool has_usual_form(const Instr *instr) {
    if (instr->meaning->axis_count != 1 || instr->meaning->reduction_count != 1 || !instr_ignores_zeros(instr))
        return false;
    for (int operand = 1; operand < instr->operand_count; operand++)
        if (instr->operands[operand]->rank != 2 || instr_operand_index(instr, operand, 0) != 0)
            return false;
    return instr_extent(instr, 0) > 1 && instr_extent(instr, 1) > 1;
}

/* The dimension indexed by the variable alone; -1: none; -2: it occurs in another way. */
static int plain_dimension(const Expr *read, const Var *var) {
    int found = -1;
    for (int d = 0; d < read->count; d++)
        if (expr_uses_var(read->args[d], var))
            found = found == -1 && read->args[d]->kind == EXPR_VAR ? d : -2;
    return found;
}

static const TileOperand *operand_of(const Tile *tile, const Expr *read) {
    for (int i = 0; i < tile->operands.count; i++)
        if (expr_equal(tile->operands.items[i].read, read))
            return &tile->operands.items[i];
    return NULL;
}

static bool read_fits(const Tile *tile, const Expr *read, const TileAxis *axis, const TileReduction *reduction) {
    int along_axis = plain_dimension(read, axis->axis), along_steps = plain_dimension(read, reduction->axis);
    const TileOperand *operand = operand_of(tile, read);
    if (read->otherwise || along_steps < 0 || along_axis == -2)
        return false;
    return along_axis < 0 ? along_steps == read->count - 1 : operand && operand->pack >= 0;
}

static bool pair_fits(const Tile *tile, const Instr *instr, const Expr *const *reads, int a, int r) {
    const TileAxis *axis = &tile->axes[a];
    const TileReduction *reduction = &tile->reductions[r];
    bool fits = axis->tiled && axis->lanes == instr_extent(instr, 0) && reduction->extent >= instr_extent(instr, 1);
    for (int i = 1; i < instr->operand_count && fits; i++)
        fits = read_fits(tile, reads[i], axis, reduction);
    return fits;
}

/* Considers only loops that some order of the group has innermost. */
static bool find_pair(Tile *tile, const Instr *instr, const Expr *const *reads) {
    for (int c = 0; c < tile->candidate_count; c++)
        for (int r = tile->reduction_count - 1; r >= 0; r--)
            if ((r == tile->reduction_count - 1 || r == tile->largest) &&
                pair_fits(tile, instr, reads, tile->candidates[c], r)) {
                tile->instr = instr;
                tile->instr_candidate = c;
                tile->instr_reduction = r;
                return true;
            }
    return false;
}

static bool instr_fits(const Space *space, Tile *tile, const Instr *instr) {
    const Stage *anchor = tile->anchor;
    if (!target_has(space, instr) || !has_usual_form(instr) || anchor->combine != instr->meaning->combine ||
        anchor->components[0].tensor->type != instr->operands[0]->type ||
        (space->program->strict && type_is_float(anchor->components[0].tensor->type)))
        return false;
    const Expr *reads[instr->operand_count];
    return instr_match(space->arena, instr, anchor->components[0].value, reads, NULL, NULL) &&
           find_pair(tile, instr, reads);
}

void tile_find_instr(Space *space, Group *group, Tile *tile) {
    tile->instr_gene = -1;
    for (int i = 0; tile->anchor && i < space->program->instr_count && !tile->instr; i++)
        instr_fits(space, tile, space->program->instrs[i]);
    if (!tile->instr)
        return;
    Gene gene = {.structural = true, .count = 2, .start = 1, .name = "instruction"};
    tile->instr_gene = group_add_gene(space, group, gene);
}

void tile_start_instr(Group *group, const Tile *tile) {
    if (!tile->instr)
        return;
    bool last = tile->instr_reduction == tile->reduction_count - 1;
    group->genes.items[tile->vector_gene].start = tile->instr_candidate;
    group->genes.items[tile->reduce_gene].start = last ? REDUCE_SOURCE : REDUCE_LARGEST;
}

bool tile_uses_instr(const TileWriter *writer) {
    return writer->tile->instr && writer->genes[writer->tile->instr_gene] == 1;
}

/* Whether the lanes and the innermost reduction of the structure are the instruction's. */
bool tile_instr_agrees(const TileWriter *writer) {
    const Tile *tile = writer->tile;
    int cut = writer->order == REDUCE_SOURCE ? tile->reduction_count - 1 : tile->largest;
    return writer->vector == tile->candidates[tile->instr_candidate] && cut == tile->instr_reduction;
}

void tile_tensorize(TileWriter *writer, const char *lane) {
    PrimArg args[2] = {arg_name(lane), arg_name(writer->tile->instr->name)};
    sketch_add(writer->space, writer->sketch, PRIM_TENSORIZE, 0, NULL, 2, args);
}

bool tile_instr_packs(const TileWriter *writer, const Expr *read) {
    const Tile *tile = writer->tile;
    return tile_uses_instr(writer) &&
           plain_dimension(read, tile->axes[tile->candidates[tile->instr_candidate]].axis) >= 0;
}

/* (d_axis/16, others, d_steps/4, d_axis%16, d_steps%4) */
int tile_instr_layout(const TileWriter *writer, const Expr *read, PrimArg *items) {
    const Tile *tile = writer->tile;
    Space *space = writer->space;
    int lanes = plain_dimension(read, tile->axes[tile->candidates[tile->instr_candidate]].axis), count = 0;
    int steps = plain_dimension(read, tile->reductions[tile->instr_reduction].axis);
    const char *lanes_name = arena_printf(space->arena, "d%d", lanes);
    const char *steps_name = arena_printf(space->arena, "d%d", steps);
    items[count++] = arg_op(space, lanes_name, '/', instr_extent(tile->instr, 0));
    for (int d = 0; d < read->count; d++)
        if (d != lanes && d != steps)
            items[count++] = arg_name(arena_printf(space->arena, "d%d", d));
    items[count++] = arg_op(space, steps_name, '/', instr_extent(tile->instr, 1));
    items[count++] = arg_op(space, lanes_name, '%', instr_extent(tile->instr, 0));
    items[count++] = arg_op(space, steps_name, '%', instr_extent(tile->instr, 1));
    return count;
}
