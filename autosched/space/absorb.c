/* absorb.c - what a group takes in with its root: one reduction that is computed in the root's tile; producers of rows,
 * of elements and of cases; a product of which a block of rows is computed at a time. Only producers that no other
 * group reads.
 */
#include "autosched/space/grouping.h"
#include "lang/extremes.h"
#include "lang/machine.h"

#include <math.h>

enum { MANY_ROWS = 32, BLOCK_ROWS = 8 };
enum { MOST_OF_ROWS = 32 /* stages: further ones gain nothing, and each point takes as long as all of them */ };
enum { LONG_BODY = 2048 /* nodes */ };

/* --- stages that may be taken in --- */

/* The place of the stage among the members, or of the first one behind it. */
static int place_among(const Members *members, int stage) {
    int begin = 0, end = members->numbers.count;
    while (begin < end) {
        int middle = begin + (end - begin) / 2;
        if (members->numbers.items[middle] < stage)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

static bool is_member(const Members *members, int stage) {
    int at = place_among(members, stage);
    return at < members->numbers.count && members->numbers.items[at] == stage;
}

void members_add(Grouping *grouping, Members *members, int stage) {
    if (!is_member(members, stage))
        list_insert(grouping->space->arena, &members->numbers, place_among(members, stage), stage);
}

static Members members_copy(Grouping *grouping, const Members *members) {
    Members copy = {0};
    for (int m = 0; m < members->numbers.count; m++)
        list_push(grouping->space->arena, &copy.numbers, members->numbers.items[m]);
    return copy;
}

/* The stages before `below` that the member reads can be taken in. */
static void list_sources(Grouping *grouping, Members *sources, int member, int below) {
    const StageUses *facts = &grouping->facts[member];
    for (int s = 0; s < facts->sources.count; s++)
        if (facts->sources.items[s] < below)
            members_add(grouping, sources, facts->sources.items[s]);
}

/* The stages that members read: only these can be read by members alone. They are looked at from the last one on. */
static Members sources_of(Grouping *grouping, const Members *members) {
    Members sources = {0};
    for (int m = 0; m < members->numbers.count; m++)
        list_sources(grouping, &sources, members->numbers.items[m], grouping->count);
    return sources;
}

/* Makes a source that is looked at a member: then what it reads may be one. */
static void take_source(Grouping *grouping, Members *sources, Members *members, int stage) {
    members_add(grouping, members, stage);
    list_sources(grouping, sources, stage, stage);
}

/* Whether only members read the stage, all in the same scan (if any) and the same step. */
static bool only_used_in(Grouping *grouping, const StageUses *facts, const Members *members) {
    if (facts->inlined || facts->grouped || facts->output || facts->reads_initial || facts->consumers.count == 0)
        return false;
    for (int c = 0; c < facts->consumers.count; c++) {
        const StageUses *consumer = &grouping->facts[facts->consumers.items[c]];
        if (!is_member(members, facts->consumers.items[c]) || consumer->scan != facts->scan ||
            reads_earlier_steps(grouping, consumer, facts))
            return false;
    }
    return !stage_is_required(grouping->space->program, facts->stage);
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

/* The reduction that the root can compute in its tile, or NULL. Without axes there is no tile. */
StageUses *find_anchor(Grouping *grouping, const Stage *root, const Members *members) {
    if (root->combine != COMBINE_NONE || root->axis_count == 0)
        return NULL;
    const Members sources = sources_of(grouping, members);
    for (int s = sources.numbers.count - 1; s >= 0; s--) {
        StageUses *facts = &grouping->facts[sources.numbers.items[s]];
        if (only_used_in(grouping, facts, members) && suits_tile(grouping, facts) && same_domain(facts->stage, root) &&
            all_reads(grouping, root, facts->stage, 0, elementwise_test))
            return facts;
    }
    return NULL;
}

/* How many leading axes a producer shares with the members that read it. */
static int shared_depth(Grouping *grouping, const StageUses *facts, const Members *members, int limit) {
    for (int depth = limit; depth > 0; depth--) {
        bool all = facts->stage->axis_count >= depth;
        for (int m = 0; m < members->numbers.count && all; m++) {
            const Stage *reader = grouping->facts[members->numbers.items[m]].stage;
            all = all_reads(grouping, reader, facts->stage, depth, stage_shares_axes);
        }
        if (all)
            return depth;
    }
    return 0;
}

/* Whether a root without a reduction reads a reduction along memory element by element: its row is one element. */
static bool reads_row_reduction(Grouping *grouping, const Stage *root, const Members *members) {
    const Members sources = sources_of(grouping, members);
    for (int s = 0; s < sources.numbers.count; s++) {
        const StageUses *facts = &grouping->facts[sources.numbers.items[s]];
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
int absorb_rows(Grouping *grouping, const Stage *root, Members *members) {
    const StageUses *own = &grouping->facts[program_stage_index(grouping->space->program, root)];
    bool any = false, along = root->axis_count > 1 && !reads_row_reduction(grouping, root, members);
    along &= root->reduction_count == 0 || is_product(grouping, own);
    int depth = root->axis_count - (along || stage_is_column_reduction(grouping->space, root));
    /* The axes of a reduction of rows, which is computed element by element. */
    int least = stage_is_row_reduction(grouping->space, root) ? root->axis_count : 1;
    depth = smaller_int(depth, stage_first_scatter(root));
    Members sources = sources_of(grouping, members);
    while (sources.numbers.count > 0 && members->numbers.count < MOST_OF_ROWS) {
        int s = sources.numbers.items[--sources.numbers.count];
        StageUses *facts = &grouping->facts[s];
        if (!only_used_in(grouping, facts, members))
            continue;
        bool tiled = stage_has_reuse(facts->stage) && !stage_is_row_reduction(grouping->space, facts->stage);
        if (tiled || chooses_cases(grouping->space, facts->stage))
            continue;
        int axes = facts->stage->axis_count - stage_is_column_reduction(grouping->space, facts->stage);
        axes = smaller_int(axes, stage_first_scatter(facts->stage));
        int shared = shared_depth(grouping, facts, members, smaller_int(depth, axes));
        bool rows = stage_is_row_reduction(grouping->space, facts->stage);
        int needed = rows ? facts->stage->axis_count : least;
        if (shared < needed || shared == 0) /* what has no axes has no rows in common with its reader */
            continue;
        least = needed;
        depth = shared;
        any = true;
        take_source(grouping, &sources, members, s);
    }
    return any ? depth : 0;
}

/* Bytes of all elements below one index of the first `depth` axes. */
static double bytes_below(const Stage *stage, int depth) {
    double bytes = element_info[stage->components[0].tensor->type].bytes;
    for (int a = depth; a < stage->axis_count; a++)
        bytes *= axis_assumed_extent(stage->axes[a]);
    return bytes;
}

static double cache_size(const Space *space, int level) {
    return (double)space->target->machine->cache_bytes[level];
}

/* Whether there are many blocks of its rows that fit a near cache, and what all blocks read again fits the last one. */
static bool suits_blocks(const Space *space, const Stage *stage, int depth) {
    double rows = 1, row = bytes_below(stage, depth), again = row;
    for (int r = 0; r < stage->reduction_count; r++)
        again *= axis_assumed_extent(stage->reductions[r]);
    for (int a = 0; a < depth; a++)
        rows *= axis_assumed_extent(stage->axes[a]);
    double cache = cache_size(space, 1);
    return rows >= MANY_ROWS && axis_assumed_extent(stage->axes[depth - 1]) >= BLOCK_ROWS &&
           BLOCK_ROWS * row <= cache / 4 && again > 0 && again <= fmax(cache_size(space, 2) / 2, cache / 2);
}

/* The reduction with reuse that the members read by rows, which may be computed a block of rows at a time; or NULL. */
StageUses *find_row_anchor(Grouping *grouping, const Members *members, int depth) {
    const Members sources = sources_of(grouping, members);
    for (int s = sources.numbers.count - 1; s >= 0 && depth > 0; s--) {
        StageUses *facts = &grouping->facts[sources.numbers.items[s]];
        const Stage *stage = facts->stage;
        if (!is_member(members, sources.numbers.items[s]) && only_used_in(grouping, facts, members) &&
            is_product(grouping, facts) && stage->axis_count > depth &&
            !stage_deals_out(stage, stage->axes[depth - 1]) && shared_depth(grouping, facts, members, depth) == depth &&
            suits_blocks(grouping->space, stage, depth))
            return facts;
    }
    return NULL;
}

/* Whether a member other than the product is a reduction: of rows, as no other kind is taken in. */
static bool has_row_reduction(const Grouping *grouping, const Members *members, const StageUses *product) {
    for (int m = 0; m < members->numbers.count; m++) {
        const StageUses *facts = &grouping->facts[members->numbers.items[m]];
        if (facts != product && facts->stage->reduction_count > 0)
            return true;
    }
    return false;
}

/* For a root that reads, or is, a product of rows made of another product's rows (attention: weights times values,
 * weights made of scores). All can be computed a block of rows at a time, which pays if the data between them is too
 * large for a near cache; for a root that is one, also only if there are reductions of rows between (softmax). Returns
 * the first product and takes in the stages between, or NULL. */
StageUses *find_chain(Grouping *grouping, const Stage *root, const StageUses *product, Members *members, int *depth) {
    Members chain = members_copy(grouping, members);
    members_add(grouping, &chain, (int)(product - grouping->facts));
    int shared = root->axis_count > 1 ? absorb_rows(grouping, root, &chain) : 0;
    StageUses *block = shared == root->axis_count - 1 ? find_row_anchor(grouping, &chain, shared) : NULL;
    double between = block ? bytes_below(block->stage, 0) : 0;
    if (between <= 2 * cache_size(grouping->space, 1) || product->stage->component_count > 1 ||
        stage_deals_out(product->stage, product->stage->axes[shared - 1]) ||
        (product->stage == root && !has_row_reduction(grouping, &chain, product)) ||
        !suits_blocks(grouping->space, product->stage, shared))
        return NULL;
    *members = chain;
    *depth = shared;
    return block;
}

/* Takes in producers of which each tile of the root's cases reads a little. */
bool absorb_transforms(Grouping *grouping, const Stage *root, Members *members) {
    const Stage *inlined = inlined_stage(grouping->space, root);
    bool any = false;
    if (!stage_has_cases(inlined) || root->component_count > 1)
        return false;
    Members sources = sources_of(grouping, members);
    while (sources.numbers.count > 0) {
        int s = sources.numbers.items[--sources.numbers.count];
        StageUses *facts = &grouping->facts[s];
        if (facts->stage == root || !only_used_in(grouping, facts, members) ||
            !reads_by_cases(inlined, inlined_stage(grouping->space, facts->stage)))
            continue;
        any = true;
        take_source(grouping, &sources, members, s);
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

/* Whether all that read the stage read its own element alone. */
static bool all_read_own_element(Grouping *grouping, const StageUses *facts) {
    for (int c = 0; c < facts->consumers.count; c++)
        if (!all_reads(grouping, grouping->facts[facts->consumers.items[c]].stage, facts->stage, 0, own_element_test))
            return false;
    return true;
}

/* Takes in producers that are read element by element, also through each other: they are computed in registers, beside
 * the root. Not if the root also reads others that would be computed in rows together with it. Nor more than a long
 * body has: what is stored between two of them takes no time beside them, and LLVM takes more the longer one is. */
bool absorb_elements(Grouping *grouping, const StageUses *root, Members *members) {
    Members elements = members_copy(grouping, members), rows = members_copy(grouping, members);
    Members sources = is_of_elements(root, root->stage) ? sources_of(grouping, members) : (Members){0};
    bool any = false;
    int left = LONG_BODY - value_effort(grouping->space, root->stage);
    while (sources.numbers.count > 0) {
        int s = sources.numbers.items[--sources.numbers.count];
        const StageUses *facts = &grouping->facts[s];
        if (!only_used_in(grouping, facts, &elements) || !is_of_elements(facts, root->stage) ||
            !all_read_own_element(grouping, facts))
            continue;
        int effort = value_effort(grouping->space, facts->stage);
        if (effort > left)
            continue;
        any = true;
        left -= effort;
        take_source(grouping, &sources, &elements, s);
    }
    absorb_rows(grouping, root->stage, &rows);
    for (int m = 0; m < rows.numbers.count; m++)
        any &= is_member(&elements, rows.numbers.items[m]);
    if (any)
        *members = elements;
    return any;
}
