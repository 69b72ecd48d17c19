/* groups.c - which stages are scheduled together (Ansor's rules on the dependence graph: tiling with fusion), once
 * inline.c has said which are inlined. absorb.c says what each kind of group takes in.
 *
 * Goes from the last stage to the first. A stage without a group becomes a root, and takes in producers that only its
 * group uses. If the root reads one reduction (with reuse, or across memory) element by element, that is computed in
 * the root's register tile. Otherwise it takes in all that share its leading axes, computed a row at a time (softmax,
 * layer norm), and one reduction with reuse that they read row by row, computed for a block of rows (the scores before
 * a softmax). Such rows may end in a reduction with reuse that the root reads, or is (attention).
 */
#include "autosched/space/grouping.h"
#include "autosched/space/tile/tile.h"

static void list_members(Grouping *grouping, Group *group, const Members *members) {
    group->stages = ARENA_ARRAY(grouping->space->arena, const Stage *, members->numbers.count);
    group->stage_count = members->numbers.count;
    for (int m = 0; m < members->numbers.count; m++) {
        StageUses *facts = &grouping->facts[members->numbers.items[m]];
        group->stages[m] = facts->stage;
        facts->grouped = true;
    }
}

/* A group that is being made: its root, and what the rules have found for it so far. */
typedef struct GroupMaking {
    Grouping *grouping;
    Group *group;
    StageUses *root;
    Members *members;
    StageUses *anchor;  /* the reduction that is computed in the root's tile; or NULL */
    StageUses *product; /* what is computed from a block of rows; or NULL */
    StageUses *block;   /* what is computed a block of rows at a time; or NULL */
    int depth;          /* leading axes that the members share */
    bool elements;      /* the members are computed element by element in one order */
} GroupMaking;

static void take(const GroupMaking *making, const StageUses *facts) {
    members_add(making->grouping, making->members, (int)(facts - making->grouping->facts));
}

/* --- the rules: whether one takes the root, and what it takes in with it --- */

static bool is_attention(GroupMaking *making) {
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

static bool follows_anchor(GroupMaking *making) {
    if (making->anchor)
        take(making, making->anchor);
    return making->anchor != NULL;
}

static bool has_transforms(GroupMaking *making) {
    return absorb_transforms(making->grouping, making->group->root, making->members);
}

static bool is_flat(GroupMaking *making) {
    list_members(making->grouping, making->group, making->members);
    bool simple = making->group->stage_count == 1 || making->elements;
    return simple && group_is_flat(making->grouping->space, making->group);
}

static bool has_elements(GroupMaking *making) {
    making->elements = absorb_elements(making->grouping, making->root, making->members);
    return making->elements && is_flat(making);
}

static bool has_rows(GroupMaking *making) {
    const Stage *root = making->group->root;
    if (!making->elements && (!stage_has_reuse(root) || stage_is_row_reduction(making->grouping->space, root)))
        making->depth = absorb_rows(making->grouping, root, making->members);
    if (making->depth > 0 && !making->group->scan)
        making->block = find_row_anchor(making->grouping, making->members, making->depth);
    if (making->block)
        take(making, making->block);
    return making->depth > 0;
}

static bool is_row(GroupMaking *making) {
    const Stage *root = making->group->root;
    making->depth = stage_first_scatter(root);
    return making->depth < root->axis_count || stage_is_row_reduction(making->grouping->space, root);
}

static bool is_any(GroupMaking *making) {
    (void)making;
    return true;
}

/* --- what they derive --- */

static void derive_rows(const GroupMaking *making) {
    row_group_new(making->grouping->space, making->group, making->depth, making->block ? making->block->stage : NULL,
                  making->product ? making->product->stage : NULL);
}

static void derive_flat(const GroupMaking *making) {
    flat_group_new(making->grouping->space, making->group);
}

static void derive_tile(const GroupMaking *making) {
    Group *group = making->group;
    const Stage *anchor = making->anchor ? making->anchor->stage : group->root;
    group->tiled = true;
    tile_group_new(making->grouping->space, group, anchor->combine != COMBINE_NONE ? anchor : NULL);
}

/* The kinds of groups (compare Table 1 of Ansor): the first that applies takes the root, with what it takes in. What an
 * earlier row took in stays in the group. */
static const struct GroupKind {
    const char *name;
    bool (*applies)(GroupMaking *making);
    void (*derive)(const GroupMaking *making);
} group_kinds[] = {
    {"attention", is_attention, derive_rows}, {"epilogue", follows_anchor, derive_tile},
    {"cases", has_transforms, derive_tile},   {"elements", has_elements, derive_flat},
    {"rows", has_rows, derive_rows},          {"row", is_row, derive_rows},
    {"element", is_flat, derive_flat},        {"tile", is_any, derive_tile},
};

static void make_group(Grouping *grouping, int root) {
    Space *space = grouping->space;
    Members members = {0};
    members_add(grouping, &members, root);
    Group *group = ARENA_NEW(space->arena, Group);
    group->root = grouping->facts[root].stage;
    group->scan = grouping->facts[root].scan;
    group->prefix = space->groups.count ? arena_printf(space->arena, "g%d_", space->groups.count + 1) : "";
    GroupMaking making = {.grouping = grouping, .group = group, .root = &grouping->facts[root], .members = &members};
    making.anchor = find_anchor(grouping, group->root, &members);
    const struct GroupKind *kind = group_kinds;
    while (!kind->applies(&making))
        kind++;
    list_members(grouping, group, &members);
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
        int number = program_stage_index(space->program, group->root);
        StageUses *facts = &grouping->facts[number];
        if (!is_of_one_step(grouping, facts))
            continue;
        Prim prim = {.op = PRIM_COMPUTE_AT, .arg_count = 2, .args = ARENA_ARRAY(space->arena, PrimArg, 2)};
        prim.args[0] = arg_name(facts->stage->name);
        prim.args[1] = arg_name(steps_loop(space, group));
        if (scan_allows(space, &prim, number))
            add_common(space, &prim);
    }
}

/* Stages computed at compile time have no loops in a call: they are left alone. */
static void leave_constants(Grouping *grouping) {
    Space *space = grouping->space;
    Arena *scratch = arena_new();
    const Nest *nest = common_nest(scratch, space);
    for (int i = 0; nest && i < nest->stage_count; i++) {
        const NestStage *stage = nest->stages[i];
        if (!stage->constant)
            continue;
        const Stage *own = program_find_stage(space->program, stage->stage->name);
        if (own) {
            int number = program_stage_index(space->program, own);
            grouping->facts[number].grouped = true;
            space->constant[number] = true;
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

static void list_sources(Grouping *grouping) {
    for (int s = 0; s < grouping->count; s++)
        grouping->facts[s].sources.count = 0;
    for (int s = 0; s < grouping->count; s++)
        for (int c = 0; c < grouping->facts[s].consumers.count; c++)
            list_push(grouping->space->arena, &grouping->facts[grouping->facts[s].consumers.items[c]].sources, s);
}

/* From the last stage to the first; grouped stages stay as they are. */
static void make_groups(Grouping *grouping) {
    bool grouped[grouping->count + 1];
    list_sources(grouping);
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
