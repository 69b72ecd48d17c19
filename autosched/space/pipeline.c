/* pipeline.c - which stages form a pipeline: stages that read each other's neighbours (stencils), and end in one.
 *
 * Goes from the last stage to the first, as groups are made. A stage that is no part of a pipeline yet begins one as
 * its root, and takes in the stages that only its pipeline reads. A stage of a pipeline computes element by element or
 * sums few terms, so its value is needed near the place where it is computed; what sums many terms has a tile of its
 * own and ends the pipelines that read it. The same input gives the same pipelines: only what is part of its one reader
 * is inlined before, so that it does not matter whether the source gives it a name.
 *
 * A pipeline may be computed in strips (pipeline_emit.c) or apart, stage after stage, by the other groups. Both are in
 * the space: the first gene of the pipeline's group chooses.
 */
#include "autosched/space/groups.h"
#include "lang/machine.h"
#include "lang/map.h"

#include <string.h>

enum {
    FEW_TERMS = 64,  /* of a sum in a pipeline */
    SHORT = 8,       /* a dimension of which an element may need all */
    STAGES_MOST = 12 /* of one pipeline: a point's nest has all of them */
};

static bool sums_few_terms(const Stage *stage) {
    int64_t terms = 1;
    for (int r = 0; r < stage->reduction_count; r++) {
        int64_t extent = axis_extent(stage->reductions[r]);
        if (extent < 0 || extent > FEW_TERMS || (terms *= extent) > FEW_TERMS)
            return false;
    }
    return true;
}

/* Whether statements can spell the name: not that of one stage of several that were made from one. */
static bool has_plain_name(const Stage *stage) {
    return !strchr(stage->name, '[');
}

/* Whether it is computed at places near those that it reads, in loops that can be cut into strips; and not at compile
 * time. */
static bool suits_strips(const Space *space, int number) {
    const Stage *stage = space->present[number];
    return !space->inlined[number] && stage->component_count == 1 && stage->axis_count > 0 && !stage->scan &&
           stage->combine != COMBINE_DECLARED && stage_first_scatter(stage) == stage->axis_count &&
           !stage_is_ragged(stage) && !stage_has_cases(stage) && sums_few_terms(stage) && !stage_reads_initial(stage) &&
           has_plain_name(stage) && !space->given[number];
}

/* Whether the index may jump: what wraps around at an end is far away there. What is reflected turns back near it, if
 * the extent is a number: boxes are not known to hold it otherwise. */
static bool jumps(const Expr *index) {
    int64_t period;
    const Expr *reflected = reflected_index(index, &period);
    EACH_EXPR(e, reflected ? reflected : index)
        if (expr_is_op(e, OP_MOD))
            return true;
    return expr_reads(index);
}

/* Whether an element reads near its own place: each index moves with an axis, or has few values. */
static bool reads_near(const Stage *stage, const Expr *read) {
    for (int d = 0; d < read->count; d++) {
        int64_t extent;
        bool short_dimension = expr_is_int(read->tensor->dims[d], &extent) && extent <= SHORT;
        if (!short_dimension && (!stage_uses_axis(stage, read->args[d]) || jumps(read->args[d])))
            return false;
    }
    return true;
}

/* Whether the read is of the element's own place: each index is an axis, or there is only one. */
static bool is_of_own_place(const Stage *stage, const Expr *read) {
    for (int d = 0; d < read->count; d++)
        if (read->args[d]->kind != EXPR_INT && (read->args[d]->kind != EXPR_VAR || read->args[d]->var->reduction))
            return false;
    return !read->otherwise && read->count <= stage->axis_count;
}

/* --- finding ------------------------------------------------------------------------------------------------------ */

typedef LIST(int) Readers;

typedef struct Finding {
    Space *space;
    const Program *program;
    const Stage *const *stages; /* of the program, with what is inlined into them */
    const Readers *readers;     /* by stage: the stages that read it, but not those that are inlined */
    bool *taken;                /* by a pipeline */
    bool *member;               /* of the pipeline that is being found */
    int first;                  /* member */
    const bool *suited;         /* to strips */
    int *asked;                 /* the last root for which a stage was listed below */
    LIST(int) read;             /* stages that members read and that were not looked at, ascending */
} Finding;

static bool all_near(const Stage *reader, const Tensor *tensor) {
    EACH_STAGE_READ(read, reader)
        if (read->tensor == tensor && !reads_near(reader, read))
            return false;
    return true;
}

/* Whether only members read the stage, near their own places, and some do. */
static bool only_members_read(const Finding *finding, int stage) {
    const Stage *producer = finding->program->stages[stage];
    const Tensor *tensor = producer->components[0].tensor;
    const Readers *readers = &finding->readers[stage];
    if (tensor->role != ROLE_TEMPORARY || stage == finding->space->bordered)
        return false;
    for (int r = 0; r < readers->count; r++)
        if (!finding->member[readers->items[r]] || !all_near(finding->stages[readers->items[r]], tensor))
            return false;
    return readers->count > 0 && !stage_is_required(finding->program, producer);
}

/* Lists what a member reads, once for each root. */
static void list_read(Finding *finding, int root, int member) {
    EACH_STAGE_READ(read, finding->stages[member]) {
        const Stage *producer = program_stage_of(finding->program, read->tensor);
        int number = producer ? program_stage_index(finding->program, producer) : member, at = finding->read.count;
        if (number >= member || finding->asked[number] == root)
            continue;
        finding->asked[number] = root;
        while (at > 0 && finding->read.items[at - 1] > number)
            at--;
        list_insert(finding->space->arena, &finding->read, at, number);
    }
}

/* Takes in producers, from the root on: only what a member reads can be one, so no other stage is looked at. Returns
 * the number of stages. */
static int take_members(Finding *finding, int root) {
    int count = 1;
    finding->member[root] = true;
    finding->first = root;
    finding->read.count = 0;
    list_read(finding, root, root);
    while (finding->read.count > 0 && count < STAGES_MOST) {
        int s = finding->read.items[--finding->read.count];
        if (finding->taken[s] || !finding->suited[s] || !only_members_read(finding, s))
            continue;
        finding->member[s] = true;
        finding->first = s;
        count++;
        list_read(finding, root, s);
    }
    return count;
}

/* Whether a member reads another one at a neighbour's place. If all read their own places alone, other groups compute
 * them together. */
static bool reads_neighbours(const Finding *finding, int root) {
    for (int s = finding->first; s <= root; s++) {
        const Stage *reader = finding->stages[s];
        if (!finding->member[s])
            continue;
        EACH_VALUE_READ(read, reader) {
            const Stage *producer = program_stage_of(finding->program, read->tensor);
            if (producer && finding->member[program_stage_index(finding->program, producer)] &&
                !is_of_own_place(reader, read))
                return true;
        }
    }
    return false;
}

/* Whether what stages hand on does not fit the nearest memory anyway. */
static bool is_large(const Finding *finding, int root) {
    double bytes = 0;
    for (int s = finding->first; s < root; s++) {
        const Tensor *tensor = finding->program->stages[s]->components[0].tensor;
        int64_t elements = finding->member[s] ? tensor_elements(tensor) : 0;
        if (elements < 0)
            return true;
        bytes += (double)elements * element_info[tensor->type].bytes;
    }
    return bytes > (double)finding->space->target->machine->cache_bytes[0];
}

static bool names_producers(const PrimArg *arg) {
    bool names = arg->kind == ARG_NAME && strncmp(arg->name, "producer", 8) == 0;
    for (int i = 0; i < arg->count; i++)
        names |= names_producers(&arg->items[i]);
    return names;
}

/* Whether a rule of the source for the target schedules stages together: then it is asked of little data, too. */
static bool has_rule_for_several(const Space *space) {
    bool several = false;
    for (int r = 0; r < space->program->rule_count; r++) {
        const Rule *rule = space->program->rules[r];
        if (target_match(space->target, rule->schedule.target) <= 0)
            continue;
        for (int p = 0; p < rule->schedule.count; p++)
            for (int a = 0; a < rule->schedule.prims[p].arg_count; a++)
                several |= names_producers(&rule->schedule.prims[p].args[a]);
    }
    return several;
}

static void add_pipeline(Finding *finding, int root, int count) {
    Arena *arena = finding->space->arena;
    Pipeline *pipeline = ARENA_NEW(arena, Pipeline);
    pipeline->stages = ARENA_ARRAY(arena, int, count);
    for (int s = finding->first; s <= root; s++)
        if (finding->member[s]) {
            finding->taken[s] = true;
            pipeline->stages[pipeline->count++] = s;
        }
    list_push(arena, &finding->space->pipelines, pipeline);
}

/* Of the first component of each stage, by later stages. */
static Readers *find_readers(const Space *space) {
    const Program *program = space->program;
    Readers *readers = ARENA_ARRAY(space->arena, Readers, program->stage_count + 1);
    Map producers = {0};
    for (int s = 0; s < program->stage_count; s++)
        address_map_set(space->arena, &producers, program->stages[s]->components[0].tensor, &readers[s]);
    for (int s = 0; s < program->stage_count; s++) {
        if (space->inlined[s])
            continue;
        EACH_STAGE_READ(read, space->present[s]) {
            Readers *of = address_map_get(&producers, read->tensor);
            bool listed = of && of->count > 0 && of->items[of->count - 1] == s;
            if (of && of - readers < s && !listed)
                list_push(space->arena, of, s);
        }
    }
    return readers;
}

static void find_pipeline(Finding *finding, int root, bool small) {
    int count = take_members(finding, root);
    if (count > 1 && reads_neighbours(finding, root) && (small || is_large(finding, root)))
        add_pipeline(finding, root, count);
    for (int s = finding->first; s <= root; s++)
        finding->member[s] = false;
}

static void list_members(Space *space) {
    if (space->pipelines.count)
        space->in_pipeline = ARENA_ARRAY(space->arena, Pipeline *, space->program->stage_count);
    for (int p = space->pipelines.count - 1; p >= 0; p--)
        for (int s = 0; s < space->pipelines.items[p]->count; s++)
            space->in_pipeline[space->pipelines.items[p]->stages[s]] = space->pipelines.items[p];
}

void space_find_pipelines(Space *space) {
    const Program *program = space->program;
    bool small = has_rule_for_several(space);
    int count = program->stage_count, asked[count + 1];
    bool taken[count + 1], member[count + 1], suited[count + 1];
    for (int s = 0; s < count; s++) {
        taken[s] = space->held && space->held[s];
        suited[s] = suits_strips(space, s);
        member[s] = false;
        asked[s] = -1;
    }
    Finding finding = {.space = space,
                       .program = program,
                       .stages = space->present,
                       .readers = find_readers(space),
                       .taken = taken,
                       .member = member,
                       .suited = suited,
                       .asked = asked};
    for (int root = count - 1; root > 0; root--)
        if (!taken[root] && suited[root])
            find_pipeline(&finding, root, small);
    list_members(space);
}

Pipeline *pipeline_of(const Space *space, int stage) {
    return space->in_pipeline && stage >= 0 ? space->in_pipeline[stage] : NULL;
}

/* --- groups of pipelines ------------------------------------------------------------------------------------------ */

static Pipeline *pipeline_of_member(const Space *space, const Stage *stage) {
    return pipeline_of(space, program_stage_index(space->program, stage));
}

/* The group of each stage of the program; NULL: none. */
static Group **list_groups(Space *space) {
    Group **groups = ARENA_ARRAY(space->arena, Group *, space->program->stage_count + 1);
    for (int g = 0; g < space->groups.count; g++) {
        Group *group = space->groups.items[g];
        for (int s = 0; s < group->stage_count; s++)
            groups[program_stage_index(space->program, group->stages[s])] = group;
    }
    return groups;
}

/* Whether all stages of each group are in the pipeline, or none; and its root has a group. */
static bool divides_into_groups(Space *space, Group *const *groups, const Pipeline *pipeline) {
    const Group *last = groups[pipeline->stages[pipeline->count - 1]];
    int producer;
    for (int s = 0; s < pipeline->count; s++) {
        const Group *group = groups[pipeline->stages[s]];
        for (int other = 0; group && other < group->stage_count; other++)
            if (pipeline_of_member(space, group->stages[other]) != pipeline)
                return false;
        if (group && chain_of(space, group->root, &producer))
            return false;
    }
    return last && last->root == space->program->stages[pipeline->stages[pipeline->count - 1]];
}

static void add_group(Space *space, Group *const *groups, Pipeline *pipeline) {
    Arena *arena = space->arena;
    Group *group = ARENA_NEW(arena, Group);
    group->root = space->program->stages[pipeline->stages[pipeline->count - 1]];
    group->prefix = arena_printf(arena, "g%d_", space->groups.count + 1);
    group->stage_count = pipeline->count;
    group->stages = ARENA_ARRAY(arena, const Stage *, pipeline->count);
    for (int s = 0; s < pipeline->count; s++) {
        group->stages[s] = space->program->stages[pipeline->stages[s]];
        if (groups[pipeline->stages[s]])
            groups[pipeline->stages[s]]->apart = pipeline;
    }
    group->fused = pipeline;
    pipeline->group = group;
    pipeline_group_new(space, group, pipeline);
    list_push(arena, &space->groups, group);
}

/* The group of a pipeline that inlines by its own statements what the statement inlines; NULL: none. */
static const Group *inliner_of(const Space *space, const Prim *prim) {
    const Stage *stage = prim->op == PRIM_INLINE ? program_find_stage(space->program, prim->args[0].name) : NULL;
    const Pipeline *pipeline = stage ? pipeline_of_member(space, stage) : NULL;
    return pipeline ? pipeline->group : NULL;
}

void space_add_pipelines(Space *space) {
    Group **groups = list_groups(space);
    for (int p = 0; p < space->pipelines.count; p++)
        if (divides_into_groups(space, groups, space->pipelines.items[p]))
            add_group(space, groups, space->pipelines.items[p]);
    space->inliners = ARENA_ARRAY(space->arena, const Group *, space->common.count + 1);
    for (int c = 0; c < space->common.count; c++)
        space->inliners[c] = inliner_of(space, space->common.items[c].prim);
}

static bool is_in_strips(const Group *group, const int *point) {
    return !group->skipped && point[group->first_gene] == 1;
}

bool group_is_used(const Space *space, const Group *group, const int *point) {
    if (group->fused)
        return is_in_strips(group, point);
    return !group->skipped && !(group->apart && is_in_strips(group->apart->group, point));
}
