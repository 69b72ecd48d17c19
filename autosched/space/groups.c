/* groups.c - which stages are inlined, and which are scheduled together (Ansor's rules on the dependence graph: skip,
 * always inline, tiling with fusion).
 *
 * Goes from the last stage to the first. A stage without a group becomes a root, and takes in producers that only its
 * group uses. If the root reads one reduction (with reuse, or across memory) element by element, that is computed in
 * the root's register tile. Otherwise it takes in all that share its leading axes, computed a row at a time (softmax,
 * layer norm), and one reduction with reuse that they read row by row, computed for a block of rows (the scores before
 * a softmax). Such rows may end in a reduction with reuse that the root reads, or is (attention).
 */
#include "autosched/space/groups.h"
#include "lang/machine.h"

#include <math.h>
#include <string.h>

enum {
    INLINED_NODES = 128,
    CHEAP_USES = 4,
    CHEAP_OPERATIONS = 4,
    MANY_ROWS = 32,
    BLOCK_ROWS = 8,
    ASSUMED_EXTENT = 1024
};

typedef struct StageUses {
    const Stage *stage;
    bool inlined, grouped;
    bool output; /* or what readers do not take in, as if it were one */
    const Scan *scan;    /* the scan that computes it, unless it was taken out */
    bool reads_initial;  /* reads what a caller's buffer held: computed before anything is stored there */
    LIST(int) producers; /* the stages that it reads directly */
    LIST(int) consumers; /* the stages that read it, also through inlined ones */
} StageUses;

typedef struct Grouping {
    Space *space;
    int count;
    StageUses *facts;
} Grouping;

/* --- questions about expressions --- */

typedef LIST(const Expr *) Reads;

/* --- facts --- */

static StageUses *facts_of(Grouping *grouping, const Tensor *tensor) {
    const Stage *stage = program_stage_of(grouping->space->program, tensor);
    return stage ? &grouping->facts[program_stage_index(grouping->space->program, stage)] : NULL;
}

/* The reads of a stage and of the producers inlined into it; indices of the latter are those of the inlined stage. */
static void stage_reads(Grouping *grouping, const Stage *stage, Arena *arena, Reads *reads) {
    EACH_STAGE_READ(read, stage)
        list_push(arena, reads, read);
    EACH_STAGE_READ(read, stage) {
        StageUses *producer = facts_of(grouping, read->tensor);
        if (producer && producer->inlined)
            stage_reads(grouping, producer->stage, arena, reads);
    }
}

/* Adds the reader to the consumers of what the stage reads, also through inlined stages. seen: the last reader
 * added. */
static void add_consumer(Grouping *grouping, int reader, int stage, int *seen) {
    for (int p = 0; p < grouping->facts[stage].producers.count; p++) {
        int producer = grouping->facts[stage].producers.items[p];
        StageUses *facts = &grouping->facts[producer];
        if (seen[producer] == reader)
            continue;
        seen[producer] = reader;
        list_push(grouping->space->arena, &facts->consumers, reader);
        if (facts->inlined)
            add_consumer(grouping, reader, producer, seen);
    }
}

static void find_consumers(Grouping *grouping) {
    int seen[grouping->count + 1];
    for (int s = 0; s < grouping->count; s++) {
        grouping->facts[s].consumers.count = 0;
        seen[s] = -1;
    }
    for (int s = 0; s < grouping->count; s++)
        if (!grouping->facts[s].inlined)
            add_consumer(grouping, s, s, seen);
}

static void list_producer(Grouping *grouping, StageUses *facts, const Tensor *tensor) {
    const StageUses *producer = facts_of(grouping, tensor);
    if (producer)
        list_push(grouping->space->arena, &facts->producers, (int)(producer - grouping->facts));
}

bool stage_reads_initial(const Stage *stage) {
    EACH_STAGE_READ(read, stage)
        if (read->tensor->role == ROLE_INITIAL)
            return true;
    return false;
}

static void collect_facts(Grouping *grouping) {
    const Program *program = grouping->space->program;
    for (int s = 0; s < program->stage_count; s++) {
        StageUses *facts = &grouping->facts[s];
        facts->stage = program->stages[s];
        facts->output = stage_output(facts->stage) != NULL || s == grouping->space->bordered;
        facts->scan = facts->stage->scan;
        facts->grouped = grouping->space->held && grouping->space->held[s];
        facts->reads_initial = stage_reads_initial(facts->stage);
        EACH_STAGE_READ(read, facts->stage)
            list_producer(grouping, facts, read->tensor);
    }
}

/* --- inlining --- */

bool stage_is_required(const Program *program, const Stage *stage) {
    for (int r = 0; r < program->requirement_count; r++)
        for (int c = 0; c < stage->component_count; c++)
            if (expr_uses_tensor(program->requirements[r].condition, stage->components[c].tensor))
                return true;
    return false;
}

/* Whether the consumer's values read what the producer writes. */
static bool values_use(const Stage *consumer, const Stage *producer) {
    EACH_VALUE_READ(read, consumer)
        if (stage_writes(producer, read->tensor))
            return true;
    return false;
}

/* Nodes of a stage's value after inlining. */
static int value_nodes(Space *space, const Stage *stage) {
    int nodes = 0;
    EACH_EXPR(e, inlined_stage(space, stage)->components[0].value)
        nodes++;
    return nodes;
}

/* Whether each element is computed once in a consumer: read element by element, or for the initial value. A reduction
 * may read it again for the same element, which the backend finds. */
static bool computed_once(Space *space, const Stage *consumer, const Stage *producer) {
    const Expr *first = NULL;
    int uses = 0;
    EACH_VALUE_READ(read, consumer) {
        if (!stage_writes(producer, read->tensor))
            continue;
        first = first ? first : read;
        bool element = consumer->reduction_count == 0 && stage_reads_elementwise(consumer, first);
        if (!(element || read_is_injective(consumer, first)) || !expr_equal(first, read))
            return false;
        uses++;
    }
    return (uses <= 1 || (consumer->reduction_count > 0 && uses * value_nodes(space, producer) <= INLINED_NODES));
}

static bool wants_inlining(Grouping *grouping, const StageUses *facts) {
    const Stage *stage = facts->stage;
    if (facts->grouped || facts->output || facts->reads_initial || stage->combine != COMBINE_NONE ||
        facts->consumers.count == 0 || stage_is_required(grouping->space->program, stage))
        return false;
    for (int c = 0; c < facts->consumers.count; c++)
        if (loses_cases(grouping->space, grouping->facts[facts->consumers.items[c]].stage, stage))
            return false;
    OperationCount cost = stage_operations(inlined_stage(grouping->space, stage)->components[0].value);
    if (cost.operations == 0)
        return true;
    bool once = true, reused = false;
    for (int c = 0; c < facts->consumers.count; c++) {
        const Stage *consumer = grouping->facts[facts->consumers.items[c]].stage;
        bool each = computed_once(grouping->space, consumer, stage);
        once &= each;
        reused |= !each && stage_has_reuse(consumer) && values_use(consumer, stage);
    }
    if (once && facts->consumers.count == 1)
        return true;
    return !reused && cost.expensive == 0 && cost.operations <= CHEAP_OPERATIONS &&
           facts->consumers.count <= CHEAP_USES;
}

static bool common_is_legal(Space *space) {
    Arena *scratch = arena_new();
    Group nothing = {0};
    Sketch empty = {0};
    bool legal = sketch_nest(scratch, space, &nothing, &empty) != NULL;
    arena_free(scratch);
    return legal;
}

/* A program with scans is asked as a whole: it has the steps as a loop. */
static bool inline_is_legal(Grouping *grouping, const Prim *prim, int stage) {
    Space *space = grouping->space;
    if (!space->present) {
        list_push(space->arena, &space->common, *prim);
        space->common.count -= !common_is_legal(space);
        return space->common.count > 0 && space->common.items[space->common.count - 1].args == prim->args;
    }
    bool readers[grouping->count + 1];
    memset(readers, 0, sizeof readers);
    for (int c = 0; c < grouping->facts[stage].consumers.count; c++)
        readers[grouping->facts[stage].consumers.items[c]] = true;
    bool legal = space_inline(space, prim, stage, readers);
    if (legal)
        list_push(space->arena, &space->common, *prim);
    return legal;
}

/* Whether only one stage reads it, each element once: there it is computed wherever that is, in a strip or apart. */
static bool is_part_of_reader(Grouping *grouping, int stage) {
    const StageUses *facts = &grouping->facts[stage];
    const Stage *reader = facts->consumers.count == 1 ? grouping->facts[facts->consumers.items[0]].stage : NULL;
    return reader && reader->combine == COMBINE_NONE && computed_once(grouping->space, reader, facts->stage);
}

/* Whether others of its pipeline read it. */
static bool is_piped(Grouping *grouping, int stage) {
    const Pipeline *pipeline = pipeline_of(grouping->space, stage);
    return pipeline && pipeline->stages[pipeline->count - 1] != stage;
}

static bool is_not_piped(Grouping *grouping, int stage) {
    return !is_piped(grouping, stage);
}

static void inline_stages(Grouping *grouping, bool (*among)(Grouping *grouping, int stage)) {
    Space *space = grouping->space;
    for (int s = 0; s < grouping->count; s++) {
        find_consumers(grouping);
        StageUses *facts = &grouping->facts[s];
        if (facts->inlined || !among(grouping, s) || !wants_inlining(grouping, facts))
            continue;
        Prim prim = {.op = PRIM_INLINE, .arg_count = 1, .args = ARENA_NEW(space->arena, PrimArg)};
        prim.args[0] = arg_name(facts->stage->name);
        facts->inlined = inline_is_legal(grouping, &prim, s);
    }
    find_consumers(grouping);
}

/* --- scans --- */

/* Whether the reader, or a stage inlined into it, reads what an earlier step of the producer wrote. */
static bool reads_earlier_steps(Grouping *grouping, const StageUses *reader, const StageUses *producer) {
    bool earlier = false;
    if (!producer->scan)
        return false;
    EACH_STAGE_READ(read, reader->stage) {
        const StageUses *read_stage = facts_of(grouping, read->tensor);
        if (stage_writes(producer->stage, read->tensor))
            earlier |= reader->stage->scan != producer->scan ||
                       !stage_index_is_axis(reader->stage, read->args[producer->stage->step], reader->stage->step);
        else if (read_stage && read_stage->inlined && read_stage != reader)
            earlier |= values_use(read_stage->stage, producer->stage);
    }
    return earlier;
}

/* Whether the stage reads something that stays in its scan. */
static bool needs_scan(Grouping *grouping, const StageUses *facts) {
    Arena *arena = arena_new();
    Reads reads = {0};
    stage_reads(grouping, facts->stage, arena, &reads);
    bool needs = false;
    for (int r = 0; r < reads.count; r++) {
        const StageUses *producer = facts_of(grouping, reads.items[r]->tensor);
        needs |= producer && !producer->inlined && producer->scan == facts->scan;
    }
    arena_free(arena);
    return needs;
}

static bool is_needed_in_scan(const Grouping *grouping, const StageUses *facts) {
    for (int c = 0; c < facts->consumers.count; c++)
        if (grouping->facts[facts->consumers.items[c]].scan == facts->scan)
            return true;
    return false;
}

static void take_out(Grouping *grouping, StageUses *facts) {
    Space *space = grouping->space;
    Prim prim = {.op = PRIM_COMPUTE_ROOT, .arg_count = 1, .args = ARENA_NEW(space->arena, PrimArg)};
    prim.args[0] = arg_name(facts->stage->name);
    list_push(space->arena, &space->common, prim);
    if (common_is_legal(space))
        facts->scan = NULL;
    else
        space->common.count--;
}

/* Not one of which a block says how it runs. */
static bool may_be_taken_out(const StageUses *facts) {
    return facts->scan && !facts->inlined && !facts->grouped;
}

/* Takes stages out of scans: what depends on no earlier step is computed for all steps before the scan; reductions that
 * no step needs, after it. */
static void empty_scans(Grouping *grouping) {
    for (int s = 0; s < grouping->count; s++) {
        StageUses *facts = &grouping->facts[s];
        if (may_be_taken_out(facts) && !needs_scan(grouping, facts))
            take_out(grouping, facts);
    }
    for (int s = grouping->count - 1; s >= 0; s--) {
        StageUses *facts = &grouping->facts[s];
        if (may_be_taken_out(facts) && stage_has_reuse(facts->stage) && !is_needed_in_scan(grouping, facts))
            take_out(grouping, facts);
    }
}

/* --- groups --- */

/* Whether only members read the stage, all in the same scan (if any) and the same step. */
static bool only_used_in(Grouping *grouping, const StageUses *facts, const bool *members) {
    if (facts->inlined || facts->grouped || facts->output || facts->reads_initial || facts->consumers.count == 0 ||
        stage_is_required(grouping->space->program, facts->stage))
        return false;
    for (int c = 0; c < facts->consumers.count; c++) {
        const StageUses *consumer = &grouping->facts[facts->consumers.items[c]];
        if (!members[facts->consumers.items[c]] || consumer->scan != facts->scan ||
            reads_earlier_steps(grouping, consumer, facts))
            return false;
    }
    return true;
}

/* Whether all reads of `written` by `stage`, and by what is inlined into it, pass the test. */
static bool all_reads(Grouping *grouping, const Stage *stage, const Stage *written, int depth,
                      bool (*test)(const Stage *stage, const Expr *read, int depth)) {
    bool all = true;
    EACH_STAGE_READ(read, stage) {
        StageUses *producer = facts_of(grouping, read->tensor);
        if (stage_writes(written, read->tensor))
            all &= test(stage, read, depth);
        else if (producer && producer->inlined && values_use(producer->stage, written))
            all &= test(stage, read, depth) && all_reads(grouping, producer->stage, written, depth, test);
    }
    return all;
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
static StageUses *find_anchor(Grouping *grouping, const Stage *root, const bool *members) {
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
static bool is_product(const Grouping *grouping, const StageUses *facts) {
    return stage_has_reuse(facts->stage) && !stage_is_row_reduction(grouping->space, facts->stage) && !facts->scan &&
           facts->stage->component_count == 1;
}

/* Takes in producers of which the root's row needs only a row. Returns the number of shared axes. */
static int absorb_rows(Grouping *grouping, const Stage *root, bool *members) {
    const StageUses *own = &grouping->facts[program_stage_index(grouping->space->program, root)];
    bool any = false, along = root->axis_count > 1 && !reads_row_reduction(grouping, root, members);
    along &= root->reduction_count == 0 || is_product(grouping, own);
    int depth = root->axis_count - (along || stage_is_column_reduction(grouping->space, root));
    int least = 1; /* those of a reduction that is taken in element by element */
    depth = minimum(depth, stage_first_scatter(root));
    for (int s = grouping->count - 1; s >= 0; s--) {
        StageUses *facts = &grouping->facts[s];
        bool tiled = stage_has_reuse(facts->stage) && !stage_is_row_reduction(grouping->space, facts->stage);
        tiled |= chooses_cases(grouping->space, facts->stage);
        if (!only_used_in(grouping, facts, members) || tiled)
            continue;
        int axes = facts->stage->axis_count - stage_is_column_reduction(grouping->space, facts->stage);
        axes = minimum(axes, stage_first_scatter(facts->stage));
        int shared = shared_depth(grouping, facts, members, minimum(depth, axes));
        bool rows = stage_is_row_reduction(grouping->space, facts->stage) && stage_has_reuse(facts->stage);
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
static StageUses *find_row_anchor(Grouping *grouping, const bool *members, int depth) {
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
static StageUses *find_chain(Grouping *grouping, const Stage *root, const StageUses *product, bool *members,
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
static bool absorb_transforms(Grouping *grouping, const Stage *root, bool *members) {
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
static bool absorb_elements(Grouping *grouping, const StageUses *root, bool *members) {
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

static void list_members(Grouping *grouping, Group *group, const bool *members) {
    group->stages = ARENA_ARRAY(grouping->space->arena, const Stage *, grouping->count);
    group->stage_count = 0;
    for (int s = 0; s < grouping->count; s++)
        if (members[s]) {
            group->stages[group->stage_count++] = grouping->facts[s].stage;
            grouping->facts[s].grouped = true;
        }
}

/* A group that is being made: its root, and what the rules have found for it so far. */
typedef struct Making {
    Grouping *grouping;
    Group *group;
    StageUses *root;
    bool *members;      /* [stages of the program] */
    StageUses *anchor;  /* the reduction that is computed in the root's tile; or NULL */
    StageUses *product; /* what is computed from a block of rows; or NULL */
    StageUses *block;   /* what is computed a block of rows at a time; or NULL */
    int depth;          /* leading axes that the members share */
    bool elements;      /* the members are computed element by element in one order */
} Making;

static void take(const Making *making, const StageUses *facts) {
    making->members[facts - making->grouping->facts] = true;
}

/* --- the rules: whether one takes the root, and what it takes in with it --- */

static bool is_attention(Making *making) {
    bool itself = !making->anchor && is_product(making->grouping, making->root);
    making->product = itself ? making->root : making->anchor;
    if (making->product && !making->group->scan)
        making->block =
            find_chain(making->grouping, making->group->root, making->product, making->members, &making->depth);
    if (!making->block)
        making->product = NULL;
    else
        take(making, making->product), take(making, making->block);
    return making->block != NULL;
}

static bool follows_anchor(Making *making) {
    if (making->anchor)
        take(making, making->anchor);
    return making->anchor != NULL;
}

static bool has_transforms(Making *making) {
    return absorb_transforms(making->grouping, making->group->root, making->members);
}

static bool is_flat(Making *making) {
    int members = 0;
    for (int s = 0; s < making->grouping->count; s++)
        members += making->members[s];
    list_members(making->grouping, making->group, making->members);
    return (members == 1 || making->elements) && group_is_flat(making->grouping->space, making->group);
}

static bool has_elements(Making *making) {
    making->elements = absorb_elements(making->grouping, making->root, making->members);
    return making->elements && is_flat(making);
}

static bool has_rows(Making *making) {
    const Stage *root = making->group->root;
    if (!making->elements && (!stage_has_reuse(root) || stage_is_row_reduction(making->grouping->space, root)))
        making->depth = absorb_rows(making->grouping, root, making->members);
    if (making->depth > 0 && !making->group->scan)
        making->block = find_row_anchor(making->grouping, making->members, making->depth);
    if (making->block)
        take(making, making->block);
    return making->depth > 0;
}

static bool is_row(Making *making) {
    const Stage *root = making->group->root;
    making->depth = stage_first_scatter(root);
    return making->depth < root->axis_count || stage_is_row_reduction(making->grouping->space, root);
}

static bool is_any(Making *making) {
    (void)making;
    return true;
}

/* --- what they derive --- */

static void derive_rows(const Making *making) {
    row_group_new(making->grouping->space, making->group, making->depth, making->block ? making->block->stage : NULL,
                  making->product ? making->product->stage : NULL);
}

static void derive_flat(const Making *making) {
    flat_group_new(making->grouping->space, making->group);
}

static void derive_tile(const Making *making) {
    Group *group = making->group;
    const Stage *anchor = making->anchor ? making->anchor->stage : group->root;
    group->tiled = true;
    tile_group_new(making->grouping->space, group, anchor->combine != COMBINE_NONE ? anchor : NULL);
}

/* The kinds of groups (compare Table 1 of Ansor): the first that applies takes the root, with what it takes in. What an
 * earlier row took in stays in the group. */
static const struct GroupKind {
    const char *name;
    bool (*applies)(Making *making);
    void (*derive)(const Making *making);
} group_kinds[] = {
    {"attention", is_attention, derive_rows}, {"epilogue", follows_anchor, derive_tile},
    {"cases", has_transforms, derive_tile},   {"elements", has_elements, derive_flat},
    {"rows", has_rows, derive_rows},          {"row", is_row, derive_rows},
    {"element", is_flat, derive_flat},        {"tile", is_any, derive_tile},
};

static void make_group(Grouping *grouping, int root) {
    Space *space = grouping->space;
    bool members[grouping->count];
    memset(members, 0, sizeof members);
    members[root] = true;
    Group *group = ARENA_NEW(space->arena, Group);
    group->root = grouping->facts[root].stage;
    group->scan = grouping->facts[root].scan;
    group->prefix = space->groups.count ? arena_printf(space->arena, "g%d_", space->groups.count + 1) : "";
    Making making = {.grouping = grouping, .group = group, .root = &grouping->facts[root], .members = members};
    making.anchor = find_anchor(grouping, group->root, members);
    const struct GroupKind *kind = group_kinds;
    while (!kind->applies(&making))
        kind++;
    list_members(grouping, group, members);
    kind->derive(&making);
    list_push(space->arena, &space->groups, group);
}

/* --- buffers of one step --- */

/* Whether each step reads only what it wrote itself. */
static bool is_of_one_step(Grouping *grouping, const StageUses *facts) {
    bool one = facts->scan && !facts->inlined && !facts->output && !facts->reads_initial &&
               !stage_is_required(grouping->space->program, facts->stage);
    for (int c = 0; c < facts->consumers.count && one; c++) {
        const StageUses *consumer = &grouping->facts[facts->consumers.items[c]];
        one = consumer->scan == facts->scan && !reads_earlier_steps(grouping, consumer, facts);
    }
    return one && facts->consumers.count > 0;
}

/* Shrinks buffers that only their own step reads: they need not keep all steps. */
static void shrink_buffers(Grouping *grouping) {
    Space *space = grouping->space;
    for (int g = 0; g < space->groups.count; g++) {
        const Group *group = space->groups.items[g];
        StageUses *facts = &grouping->facts[program_stage_index(space->program, group->root)];
        if (!is_of_one_step(grouping, facts))
            continue;
        Prim prim = {.op = PRIM_COMPUTE_AT, .arg_count = 2, .args = ARENA_ARRAY(space->arena, PrimArg, 2)};
        prim.args[0] = arg_name(facts->stage->name);
        prim.args[1] = arg_name(steps_loop(space, group));
        list_push(space->arena, &space->common, prim);
        space->common.count -= !common_is_legal(space);
    }
}

/* Stages computed at compile time have no loops in a call: they are left alone. */
static void leave_constants(Grouping *grouping) {
    Space *space = grouping->space;
    Arena *scratch = arena_new();
    Group nothing = {0};
    Sketch empty = {0};
    const Nest *nest = sketch_nest(scratch, space, &nothing, &empty);
    for (int i = 0; nest && i < nest->stage_count; i++) {
        const NestStage *stage = nest->stages[i];
        if (!stage->constant)
            continue;
        for (int s = 0; s < grouping->count; s++)
            if (strcmp(grouping->facts[s].stage->name, stage->stage->name) == 0) {
                grouping->facts[s].grouped = true;
                if (space->present)
                    space->constant[s] = true;
            }
    }
    arena_free(scratch);
}

bool tensor_is_given(const Space *space, const Tensor *tensor) {
    const Stage *stage = program_stage_of(space->program, tensor);
    return stage ? tensor->role == ROLE_TEMPORARY && space->given[program_stage_index(space->program, stage)]
                 : tensor->role == ROLE_CONSTANT;
}

/* Stages read earlier ones. */
static void find_given(Space *space) {
    space->given = ARENA_ARRAY(space->arena, bool, space->program->stage_count + 1);
    for (int s = 0; s < space->program->stage_count; s++) {
        const Stage *stage = space->program->stages[s];
        bool given = !stage->scan;
        EACH_STAGE_READ(read, stage)
            given &= stage_writes(stage, read->tensor) || tensor_is_given(space, read->tensor);
        space->given[s] = given;
    }
}

/* From the last stage to the first; grouped stages stay as they are. */
static void make_groups(Grouping *grouping) {
    bool grouped[grouping->count + 1];
    for (int s = 0; s < grouping->count; s++)
        grouped[s] = grouping->facts[s].grouped;
    grouping->space->groups.count = grouping->space->gene_count = 0;
    for (int s = grouping->count - 1; s >= 0; s--)
        if (!grouping->facts[s].inlined && !grouping->facts[s].grouped)
            make_group(grouping, s);
    for (int s = 0; s < grouping->count; s++)
        grouping->facts[s].grouped = grouped[s];
}

void space_make_groups(Space *space) {
    Grouping grouping = {.space = space, .count = space->program->stage_count};
    grouping.facts = ARENA_ARRAY(space->arena, StageUses, grouping.count + 1);
    space_keep_stages(space);
    find_given(space);
    collect_facts(&grouping);
    inline_stages(&grouping, is_part_of_reader);
    space_find_pipelines(space);
    inline_stages(&grouping, is_not_piped);
    space_keep_apart(space);
    inline_stages(&grouping, is_piped);
    empty_scans(&grouping);
    leave_constants(&grouping);
    make_groups(&grouping);
    if (space_find_chains(space))
        make_groups(&grouping);
    shrink_buffers(&grouping);
    space_add_pipelines(space);
}
