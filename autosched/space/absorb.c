/* absorb.c - what a group takes in with its root: one reduction that is computed in the root's tile; producers of rows,
 * of elements and of cases; a product of which a block of rows is computed at a time. Only producers that no other
 * group reads.
 */
#include "autosched/space/grouping.h"
#include "lang/machine.h"

#include <math.h>
#include <string.h>

enum { MANY_ROWS = 32, BLOCK_ROWS = 8, ASSUMED_EXTENT = 1024 };

/* Whether only members read the stage, all in the same scan (if any) and the same step. */
static bool only_used_in(Grouping *grouping, const StageUses *facts, const bool *members) {
    if (facts->inlined || facts->grouped || facts->output || facts->reads_initial || facts->consumers.count == 0)
        return false;
    for (int c = 0; c < facts->consumers.count; c++) {
        const StageUses *consumer = &grouping->facts[facts->consumers.items[c]];
        if (!members[facts->consumers.items[c]] || consumer->scan != facts->scan ||
            reads_earlier_steps(grouping, consumer, facts))
            return false;
    }
    return !stage_is_required(grouping->space->program, facts->stage); /* which takes the longest to ask */
}

/* Whether all reads of `written` by `stage`, and by what is inlined into it, pass the test, as do those by which it is
 * read through what is inlined. *any becomes true where there are some. */
static bool all_reads_through(Grouping *grouping, const Stage *stage, const Stage *written, int depth,
                              bool (*test)(const Stage *stage, const Expr *read, int depth), bool *any) {
    bool all = true;
    EACH_STAGE_READ(read, stage) {
        StageUses *producer = facts_of(grouping, read->tensor);
        bool leads = stage_writes(written, read->tensor);
        if (!leads && producer && producer->inlined)
            all &= all_reads_through(grouping, producer->stage, written, depth, test, &leads);
        all &= !leads || test(stage, read, depth);
        *any |= leads;
    }
    return all;
}

static bool all_reads(Grouping *grouping, const Stage *stage, const Stage *written, int depth,
                      bool (*test)(const Stage *stage, const Expr *read, int depth)) {
    bool any = false;
    return all_reads_through(grouping, stage, written, depth, test, &any);
}

static bool elementwise_test(const Stage *stage, const Expr *read, int depth) {
    return stage_reads_elementwise(stage, read);
}

static bool same_domain(const Stage *a, const Stage *b) {
    for (int d = 0; d < a->axis_count && a->axis_count == b->axis_count; d++)
        if (!expr_equal(a->axes[d]->extent, b->axes[d]->extent))
            return false;
    return a->axis_count == b->axis_count;
}

/* Whether a reduction is better computed in a register tile, neighbours together, than element by element. */
static bool suits_tile(Grouping *grouping, const StageUses *facts) {
    const Stage *stage = facts->stage;
    if (stage->combine == COMBINE_NONE || stage_is_row_reduction(grouping->space, stage) || stage_is_ragged(stage))
        return false;
    return stage_has_reuse(stage) || (stage->reduction_count > 0 && stage->component_count == 1 && !facts->scan &&
                                      stage_first_scatter(stage) == stage->axis_count);
}

/* The reduction that the root can compute in its tile, or NULL. */
StageUses *find_anchor(Grouping *grouping, const Stage *root, const bool *members) {
    if (root->combine != COMBINE_NONE)
        return NULL;
    for (int s = grouping->count - 1; s >= 0; s--) {
        StageUses *facts = &grouping->facts[s];
        if (only_used_in(grouping, facts, members) && suits_tile(grouping, facts) && same_domain(facts->stage, root) &&
            all_reads(grouping, root, facts->stage, 0, elementwise_test))
            return facts;
    }
    return NULL;
}

/* How many leading axes a producer shares with the members that read it. */
static int shared_depth(Grouping *grouping, const StageUses *facts, const bool *members, int limit) {
    for (int depth = limit; depth > 0; depth--) {
        bool all = facts->stage->axis_count >= depth;
        for (int s = 0; s < grouping->count && all; s++)
            if (members[s])
                all = all_reads(grouping, grouping->facts[s].stage, facts->stage, depth, stage_shares_axes);
        if (all)
            return depth;
    }
    return 0;
}

static int minimum(int a, int b) {
    return a < b ? a : b;
}

/* Whether a root without a reduction reads a reduction along memory element by element: its row is one element. */
static bool reads_row_reduction(Grouping *grouping, const Stage *root, const bool *members) {
    for (int s = 0; s < grouping->count; s++) {
        const StageUses *facts = &grouping->facts[s];
        if (only_used_in(grouping, facts, members) && stage_is_row_reduction(grouping->space, facts->stage) &&
            same_domain(facts->stage, root) &&
            all_reads(grouping, root, facts->stage, root->axis_count, stage_shares_axes))
            return true;
    }
    return false;
}

/* Whether it is the last transform of a fast algorithm: what it reads is computed beside a tile of it. */
static bool chooses_cases(Space *space, const Stage *stage) {
    return stage->combine == COMBINE_NONE && stage->component_count == 1 &&
           stage_has_cases(inlined_stage(space, stage));
}

/* Whether it is a reduction that a register tile computes a block of rows at a time. */
bool is_product(const Grouping *grouping, const StageUses *facts) {
    return stage_has_reuse(facts->stage) && !stage_is_row_reduction(grouping->space, facts->stage) && !facts->scan &&
           facts->stage->component_count == 1;
}

/* Takes in producers of which the root's row needs only a row; a row of a reduction of rows is one element. Returns the
 * number of shared axes. */
int absorb_rows(Grouping *grouping, const Stage *root, bool *members) {
    const StageUses *own = &grouping->facts[program_stage_index(grouping->space->program, root)];
    bool any = false, along = root->axis_count > 1 && !reads_row_reduction(grouping, root, members);
    along &= root->reduction_count == 0 || is_product(grouping, own);
    int depth = root->axis_count - (along || stage_is_column_reduction(grouping->space, root));
    /* The axes of a reduction of rows, which is computed element by element. */
    int least = stage_is_row_reduction(grouping->space, root) ? root->axis_count : 1;
    depth = minimum(depth, stage_first_scatter(root));
    for (int s = grouping->count - 1; s >= 0; s--) {
        StageUses *facts = &grouping->facts[s];
        if (!only_used_in(grouping, facts, members))
            continue;
        bool tiled = stage_has_reuse(facts->stage) && !stage_is_row_reduction(grouping->space, facts->stage);
        if (tiled || chooses_cases(grouping->space, facts->stage))
            continue;
        int axes = facts->stage->axis_count - stage_is_column_reduction(grouping->space, facts->stage);
        axes = minimum(axes, stage_first_scatter(facts->stage));
        int shared = shared_depth(grouping, facts, members, minimum(depth, axes));
        bool rows = stage_is_row_reduction(grouping->space, facts->stage);
        int needed = rows ? facts->stage->axis_count : least;
        if (shared < needed)
            continue;
        least = needed;
        depth = shared;
        members[s] = any = true;
    }
    return any ? depth : 0;
}

static double assumed_extent(const Var *axis) {
    return axis_extent(axis) < 0 ? ASSUMED_EXTENT : (double)axis_extent(axis);
}

/* Bytes of all elements below one index of the first `depth` axes. */
static double bytes_below(const Stage *stage, int depth) {
    double bytes = element_info[stage->components[0].tensor->type].bytes;
    for (int a = depth; a < stage->axis_count; a++)
        bytes *= assumed_extent(stage->axes[a]);
    return bytes;
}

static double cache_size(const Space *space, int level) {
    return (double)space->target->machine->cache_bytes[level];
}

/* Whether there are many blocks of its rows that fit a near cache, and what all blocks read again fits the last one. */
static bool suits_blocks(const Space *space, const Stage *stage, int depth) {
    double rows = 1, row = bytes_below(stage, depth), again = row;
    for (int r = 0; r < stage->reduction_count; r++)
        again *= assumed_extent(stage->reductions[r]);
    for (int a = 0; a < depth; a++)
        rows *= assumed_extent(stage->axes[a]);
    double cache = cache_size(space, 1);
    return rows >= MANY_ROWS && assumed_extent(stage->axes[depth - 1]) >= BLOCK_ROWS && BLOCK_ROWS * row <= cache / 4 &&
           again > 0 && again <= fmax(cache_size(space, 2) / 2, cache / 2);
}

/* The reduction with reuse that the members read by rows, which may be computed a block of rows at a time; or NULL. */
StageUses *find_row_anchor(Grouping *grouping, const bool *members, int depth) {
    for (int s = grouping->count - 1; s >= 0 && depth > 0; s--) {
        StageUses *facts = &grouping->facts[s];
        const Stage *stage = facts->stage;
        if (!members[s] && only_used_in(grouping, facts, members) && is_product(grouping, facts) &&
            stage->axis_count > depth && shared_depth(grouping, facts, members, depth) == depth &&
            suits_blocks(grouping->space, stage, depth))
            return facts;
    }
    return NULL;
}

/* Whether a member other than the product is a reduction: of rows, as no other kind is taken in. */
static bool has_row_reduction(const Grouping *grouping, const bool *members, const StageUses *product) {
    for (int s = 0; s < grouping->count; s++)
        if (members[s] && &grouping->facts[s] != product && grouping->facts[s].stage->reduction_count > 0)
            return true;
    return false;
}

/* For a root that reads, or is, a product of rows made of another product's rows (attention: weights times values,
 * weights made of scores). All can be computed a block of rows at a time, which pays if the data between them is too
 * large for a near cache; for a root that is one, also only if there are reductions of rows between (softmax). Returns
 * the first product and takes in the stages between, or NULL. */
StageUses *find_chain(Grouping *grouping, const Stage *root, const StageUses *product, bool *members,
                             int *depth) {
    bool chain[grouping->count];
    memcpy(chain, members, sizeof chain);
    chain[product - grouping->facts] = true;
    int shared = root->axis_count > 1 ? absorb_rows(grouping, root, chain) : 0;
    StageUses *block = shared == root->axis_count - 1 ? find_row_anchor(grouping, chain, shared) : NULL;
    double between = block ? bytes_below(block->stage, 0) : 0;
    if (between <= 2 * cache_size(grouping->space, 1) || product->stage->component_count > 1 ||
        (product->stage == root && !has_row_reduction(grouping, chain, product)) ||
        !suits_blocks(grouping->space, product->stage, shared))
        return NULL;
    memcpy(members, chain, sizeof chain);
    *depth = shared;
    return block;
}

/* Takes in producers of which each tile of the root's cases reads a little. */
bool absorb_transforms(Grouping *grouping, const Stage *root, bool *members) {
    const Stage *inlined = inlined_stage(grouping->space, root);
    bool any = false;
    if (!stage_has_cases(inlined) || root->component_count > 1)
        return false;
    for (int s = grouping->count - 1; s >= 0; s--) {
        StageUses *facts = &grouping->facts[s];
        if (facts->stage == root || !only_used_in(grouping, facts, members) ||
            !reads_by_cases(inlined, inlined_stage(grouping->space, facts->stage)))
            continue;
        members[s] = any = true;
    }
    return any;
}

bool reads_own_element(const Stage *stage, const Expr *read) {
    return !read->otherwise && read->count == stage->axis_count && stage_shares_axes(stage, read, stage->axis_count);
}

static bool own_element_test(const Stage *stage, const Expr *read, int depth) {
    return reads_own_element(stage, read);
}

/* Whether the stage is computed element by element, with the root's sizes. */
static bool is_of_elements(const StageUses *facts, const Stage *root) {
    const Stage *stage = facts->stage;
    return stage->combine == COMBINE_NONE && stage->component_count == 1 && stage->axis_count > 0 && !facts->scan &&
           stage_first_scatter(stage) == stage->axis_count && same_domain(stage, root);
}

/* Takes in producers that are read element by element, also through each other: they are computed in registers, beside
 * the root. Not if the root also reads others that would be computed in rows together with it. */
bool absorb_elements(Grouping *grouping, const StageUses *root, bool *members) {
    bool elements[grouping->count], rows[grouping->count], any = false;
    memcpy(elements, members, sizeof elements);
    memcpy(rows, members, sizeof rows);
    for (int s = grouping->count - 1; s >= 0 && is_of_elements(root, root->stage); s--) {
        const StageUses *facts = &grouping->facts[s];
        bool own = only_used_in(grouping, facts, elements) && is_of_elements(facts, root->stage);
        for (int r = s + 1; r < grouping->count && own; r++)
            own = !elements[r] || all_reads(grouping, grouping->facts[r].stage, facts->stage, 0, own_element_test);
        elements[s] |= own;
        any |= own;
    }
    absorb_rows(grouping, root->stage, rows);
    for (int s = 0; s < grouping->count; s++)
        any &= !rows[s] || elements[s];
    if (any)
        memcpy(members, elements, sizeof elements);
    return any;
}
