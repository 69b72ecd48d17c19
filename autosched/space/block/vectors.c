/* vectors.c - vectors along a loop of a stage that a user's block leaves open, with rows of a sum beside them.
 *
 * A sum is kept in registers in one of two ways. Either lanes, vectors and rows are cut off the inner ends of loops of
 * the block and stand inside all that follows. Or the loops that the block has inside a reduction are the tile: all of
 * their values stay in registers. The user's loops keep their order in both.
 */
#include "autosched/space/block/complete.h"

#include <string.h>

enum { SUMS_LIMIT = 32, HELD_LIMIT = 64 };

/* Vectors along a loop of a stage, and what is computed together with one. */
typedef struct VectorBlock {
    const NestStage *stage;
    int lane_loop, row_loop; /* of the stage; row_loop -1: one row */
    int first_sum;           /* reductions from this loop on stand inside what is kept in registers */
    int64_t lanes, vectors, rows;
    const char *outer, *more, *lane, *row_outer, *row; /* loops; NULL: there is none */
} VectorBlock;

static void write_splits(Completing *c, VectorBlock *block, Text *text) {
    const NestStage *stage = block->stage;
    const Loop *loop = stage->loops[block->lane_loop];
    bool whole = loop->extent > 0 && loop->extent <= block->lanes;
    const char *path = complete_loop(c->scratch, stage, block->lane_loop);
    block->lane = whole ? path : complete_name(c, stage, loop->var->name, "v");
    block->outer = whole ? NULL : complete_name(c, stage, loop->var->name, "o");
    block->more = whole || block->vectors == 1 ? NULL : complete_name(c, stage, loop->var->name, "u");
    if (block->more)
        text_add(text, "%s, %s, %s = split(%s, %lld, %lld)\n", block->outer, block->more, block->lane, path,
                 (long long)block->vectors, (long long)block->lanes);
    else if (!whole)
        text_add(text, "%s, %s = split(%s, %lld)\n", block->outer, block->lane, path, (long long)block->lanes);
    if (block->row_loop < 0)
        return;
    const char *row = stage->loops[block->row_loop]->var->name;
    block->row_outer = complete_name(c, stage, row, "o");
    block->row = complete_name(c, stage, row, "r");
    text_add(text, "%s, %s = split(%s, %lld)\n", block->row_outer, block->row,
             complete_loop(c->scratch, stage, block->row_loop), (long long)block->rows);
}

/* The user's loops, then the new ones. */
static void write_order(Completing *c, const VectorBlock *block, Text *text) {
    const NestStage *stage = block->stage;
    int first = block->row_loop < 0 ? block->lane_loop : block->row_loop, count = 0;
    const char *names[stage->loop_count + 5];
    for (int l = first; l < stage->loop_count; l++)
        if (l == block->row_loop)
            names[count++] = block->row_outer;
        else if (l != block->lane_loop)
            names[count++] = complete_loop(c->scratch, stage, l);
        else if (block->outer)
            names[count++] = block->outer;
    const char *inner[] = {block->row, block->more, block->lane};
    for (int i = 0; i < 3; i++)
        if (inner[i])
            names[count++] = inner[i];
    if (block->row || block->lane_loop + 1 < stage->loop_count)
        complete_write_list(text, "reorder(", names, count);
}

/* The innermost loop outside the sums; NULL: none. */
static const char *place_of_sums(Completing *c, const VectorBlock *block) {
    if (block->outer)
        return block->outer;
    for (int l = block->lane_loop - 1; l >= 0; l--)
        if (l == block->row_loop)
            return block->row_outer;
        else if (!block->stage->loops[l]->reduction)
            return complete_loop(c->scratch, block->stage, l);
    return NULL;
}

/* Unrolls the reductions inside: all of them if they are few enough, or a few steps of the innermost one. */
static void unroll_sums(Completing *c, const VectorBlock *block, const char *made, int64_t steps, Text *text) {
    const NestStage *stage = block->stage;
    const char *names[stage->loop_count + 1];
    int64_t copies = 1;
    int count = 0;
    for (int l = block->first_sum; l < stage->loop_count; l++) {
        int64_t extent = stage->loops[l]->extent;
        if (!stage->loops[l]->reduction)
            continue;
        names[count++] = arena_printf(c->scratch, "%s.%s", made, stage->loops[l]->var->name);
        copies *= extent < 0 || extent > SUMS_LIMIT ? SUMS_LIMIT + 1 : extent;
    }
    if (count == 0 || steps == 0)
        return;
    if (copies <= SUMS_LIMIT)
        complete_write_list(text, "unroll(", names, count);
    else if (steps > 1)
        text_add(text, "unroll(%s, factor=%lld)\n", names[count - 1], (long long)steps);
}

static bool add_block(Completing *c, const OpenStage *open, VectorBlock block, bool registers) {
    const NestStage *stage = block.stage;
    Text text = {.arena = c->scratch};
    const char *made = stage->stage->name, *names[2];
    int count = 0;
    write_splits(c, &block, &text);
    write_order(c, &block, &text);
    const char *place = registers ? place_of_sums(c, &block) : NULL;
    if (registers && !place)
        return false;
    if (place) {
        made = complete_name(c, stage, "", "sums");
        text_add(&text, "%s = cache_write(%s, at=%s, scope=register)\n", made, stage->stage->name, place);
        if (!block.outer)
            block.lane = arena_printf(c->scratch, "%s.%s", made, stage->loops[block.lane_loop]->var->name);
    }
    unroll_sums(c, &block, made, complete_choice(c, open, STEPS), &text);
    if (block.row)
        names[count++] = block.row;
    if (block.more)
        names[count++] = block.more;
    complete_write_list(&text, "unroll(", names, count);
    text_add(&text, "vectorize(%s)\n", block.lane);
    return complete_add(c, &text);
}

/* --- the block's own loops as a tile --- */

static int64_t held_copies(const NestStage *stage, int first, int lane_loop, int64_t lanes) {
    int64_t copies = 1;
    for (int l = first; l < stage->loop_count; l++) {
        const Loop *loop = stage->loops[l];
        if (loop->reduction)
            continue;
        if (loop->extent < 0 || loop->kind != LOOP_SERIAL || copies > HELD_LIMIT)
            return HELD_LIMIT + 1;
        copies *= l == lane_loop ? ceil_divide(loop->extent, lanes) : loop->extent;
    }
    return copies;
}

int complete_held_loop(const NestStage *stage, int lane_loop) {
    int at = lane_loop - 1;
    while (at >= 0 && !stage->loops[at]->reduction)
        at--;
    while (at >= 0 && stage->loops[at]->reduction)
        at--;
    bool whole = at >= 0 && held_copies(stage, at + 1, lane_loop, 1) <= HELD_LIMIT * HELD_LIMIT;
    return whole ? at : -1;
}

/* Keeps all that the loops inside the held loop make in registers. */
static bool add_held(Completing *c, const OpenStage *open, VectorBlock block) {
    const NestStage *stage = block.stage;
    int held = complete_held_loop(stage, block.lane_loop), count = 0;
    if (held < 0 || held_copies(stage, held + 1, block.lane_loop, block.lanes) > HELD_LIMIT)
        return false;
    Text text = {.arena = c->scratch};
    const char *names[stage->loop_count + 1], *made = complete_name(c, stage, "", "sums");
    block.vectors = 1;
    block.row_loop = -1;
    block.first_sum = held + 1;
    write_splits(c, &block, &text);
    write_order(c, &block, &text);
    text_add(&text, "%s = cache_write(%s, at=%s, scope=register)\n", made, stage->stage->name,
             complete_loop(c->scratch, stage, held));
    for (int l = held + 1; l < stage->loop_count; l++)
        if (!stage->loops[l]->reduction && l != block.lane_loop)
            names[count++] = arena_printf(c->scratch, "%s.%s", made, stage->loops[l]->var->name);
    if (block.outer)
        names[count++] = block.outer;
    else
        block.lane = arena_printf(c->scratch, "%s.%s", made, stage->loops[block.lane_loop]->var->name);
    unroll_sums(c, &block, made, complete_choice(c, open, STEPS), &text);
    complete_write_list(&text, "unroll(", names, count);
    text_add(&text, "vectorize(%s)\n", block.lane);
    return complete_add(c, &text);
}

/* --- which loops --- */

/* Whether the loop is a part of the same axis as another one. */
static bool shares_axis(const NestStage *stage, int loop, int other) {
    for (int a = 0; a < stage->stage->axis_count; a++)
        if (expr_uses_var(stage->axis_values[a], stage->loops[loop]->var) &&
            expr_uses_var(stage->axis_values[a], stage->loops[other]->var))
            return true;
    return false;
}

int complete_row_loop(const NestStage *stage, int lane_loop, int number) {
    int next = complete_inner_loop(stage, lane_loop, false), found = -1;
    for (int row = next; row >= 0 && number >= 0; row = complete_inner_loop(stage, row, false))
        if (!shares_axis(stage, row, lane_loop)) {
            found = row;
            number--;
        }
    return found >= 0 ? found : next;
}

/* No more of a loop than there is. */
static int64_t at_most(const NestStage *stage, int loop, int64_t lanes, int64_t count) {
    int64_t extent = loop >= 0 ? stage->loops[loop]->extent : -1;
    return extent > 0 && ceil_divide(extent, lanes) < count ? ceil_divide(extent, lanes) : count;
}

void complete_block(Completing *c, const OpenStage *open, const NestStage *stage, int lanes) {
    int lane_loop = complete_inner_loop(stage, stage->loop_count, false);
    bool sums = complete_inner_loop(stage, stage->loop_count, true) >= 0;
    int row_loop = sums ? complete_row_loop(stage, lane_loop, (int)complete_choice(c, open, ROW_LOOP)) : -1;
    VectorBlock block = {.stage = stage, .lane_loop = lane_loop, .first_sum = lane_loop + 1, .lanes = lanes};
    block.vectors = at_most(stage, lane_loop, lanes, complete_choice(c, open, VECTORS));
    block.rows = at_most(stage, row_loop, 1, complete_choice(c, open, ROWS));
    block.row_loop = block.rows > 1 ? row_loop : -1;
    if (sums && complete_choice(c, open, PLACE) && add_held(c, open, block))
        return;
    if ((sums && add_block(c, open, block, true)) || add_block(c, open, block, false))
        return;
    block.row_loop = -1;
    block.vectors = 1;
    if (!sums || !add_block(c, open, block, true))
        add_block(c, open, block, false);
}
