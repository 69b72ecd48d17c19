/* part.c - the part of a program that the nests of one group are built from.
 *
 * A search builds thousands of nests of each group, and a program may have hundreds of groups: nests of the whole
 * program would take time quadratic in its length. The part has the group's stages, already with what is inlined into
 * them, and the stages computed at compile time that they read. It says which constants of these other stages read,
 * too, because a constant is rearranged ahead of time only for an only reader. What other groups compute is an input.
 * For the group's stages the nest of the part is that of the whole program.
 *
 * With a stage of a scan the part has all of that scan, as the steps are its loop, and needs the common statements that
 * say where its stages are computed. In chains of groups the part is the whole program, with all common statements.
 */
#include "autosched/space/groups.h"
#include "lang/map.h"

#include <stdlib.h>
#include <string.h>

/* The common statements of a long program are thousands, of which each scan needs a few. */
typedef LIST(int) Numbers;
typedef struct CommonIndex {
    int listed;  /* how many it has */
    Map by_scan; /* of each scan: the Numbers of those that place its stages, ascending */
    Map outside; /* by the names of stages: those that take them out of their scans */
} CommonIndex;

void space_keep_stages(Space *space) {
    const Program *program = space->program;
    space->present = ARENA_ARRAY(space->arena, const Stage *, program->stage_count + 1);
    space->inlined = ARENA_ARRAY(space->arena, bool, program->stage_count + 1);
    space->constant = ARENA_ARRAY(space->arena, bool, program->stage_count + 1);
    space->marked = ARENA_ARRAY(space->arena, bool, program->stage_count + 1);
    space->common_index = ARENA_NEW(space->arena, CommonIndex);
    for (int s = 0; s < program->stage_count; s++)
        space->present[s] = program->stages[s];
}

void space_keep_apart(Space *space) {
    int count = space->program->stage_count;
    if (!space->pipelines.count)
        return;
    space->apart = ARENA_ARRAY(space->arena, const Stage *, count + 1);
    memcpy(space->apart, space->present, sizeof *space->apart * (size_t)count);
}

/* --- making a part ------------------------------------------------------------------------------------------------ */

typedef struct UsedTensors {
    Arena *arena;
    LIST(const Tensor *) tensors;
    Map seen; /* from each of them to itself */
} UsedTensors;

static void note_use(UsedTensors *uses, const Tensor *tensor) {
    if (address_map_get(&uses->seen, tensor))
        return;
    address_map_set(uses->arena, &uses->seen, tensor, (void *)tensor);
    list_push(uses->arena, &uses->tensors, tensor);
}

static void list_tensors(Program *part, Arena *arena) {
    UsedTensors uses = {.arena = arena};
    for (int s = 0; s < part->stage_count; s++) {
        EACH_STAGE_READ(read, part->stages[s])
            note_use(&uses, read->tensor);
        for (int c = 0; c < part->stages[s]->component_count; c++)
            note_use(&uses, part->stages[s]->components[c].tensor);
    }
    part->tensor_count = uses.tensors.count;
    part->tensors = uses.tensors.items;
}

/* Stages of the program by their numbers. */
typedef struct Chosen {
    LIST(int) numbers; /* ascending, once they are sorted */
} Chosen;

static void sort(Chosen *chosen) {
    if (chosen->numbers.count > 1)
        qsort(chosen->numbers.items, (size_t)chosen->numbers.count, sizeof(int), compare_numbers);
}

static bool is_chosen(const Chosen *chosen, int stage) {
    size_t count = (size_t)chosen->numbers.count;
    return count && bsearch(&stage, chosen->numbers.items, count, sizeof(int), compare_numbers) != NULL;
}

/* The program with only the chosen stages, as they are in that list. */
static Program *chosen_program(Arena *arena, const Space *space, const Stage *const *stages, const Chosen *chosen) {
    const Program *whole = space->program;
    Program *part = ARENA_NEW(arena, Program);
    int count = chosen->numbers.count;
    *part = *whole;
    part->stages = ARENA_ARRAY(arena, const Stage *, count + 1);
    part->known = whole->known ? ARENA_ARRAY(arena, const void *, count + 1) : NULL;
    part->stage_count = 0;
    for (int n = 0; n < count; n++) {
        int s = chosen->numbers.items[n];
        if (whole->known && whole->stages[s]->components[0].value->kind != EXPR_READ)
            part->known[part->stage_count] = whole->known[s];
        part->stages[part->stage_count++] = stages[s];
    }
    list_tensors(part, arena);
    return part;
}

/* --- which stages a part has -------------------------------------------------------------------------------------- */

typedef struct Marking {
    const Space *space;
    const Stage *const *stages;     /* as the part has them */
    bool *marked;                   /* [stages of the program] */
    Chosen own;                     /* the marked stages */
    LIST(const Tensor *) constants; /* those that the marked stages read, each once */
    LIST(const Scan *) scans;       /* that marked stages are in, each once */
} Marking;

static void note_constant(Marking *marking, const Tensor *tensor) {
    for (int c = 0; c < marking->constants.count; c++)
        if (marking->constants.items[c] == tensor)
            return;
    list_push(marking->space->arena, &marking->constants, tensor);
}

/* A stage computed at compile time belongs to its readers. */
static void mark_alone(Marking *marking, int stage) {
    const Space *space = marking->space;
    if (marking->marked[stage])
        return;
    marking->marked[stage] = true;
    list_push(space->arena, &marking->own.numbers, stage);
    EACH_STAGE_READ(read, marking->stages[stage]) {
        const Tensor *tensor = read->tensor;
        const Stage *producer = tensor->role == ROLE_TEMPORARY ? program_stage_of(space->program, tensor) : NULL;
        int number = producer ? program_stage_index(space->program, producer) : -1;
        bool computed = number >= 0 && space->constant[number];
        if (computed || tensor->role == ROLE_CONSTANT)
            note_constant(marking, tensor);
        if (computed)
            mark_alone(marking, number);
    }
}

static void mark_scan(Marking *marking, const Scan *scan) {
    for (int s = 0; s < marking->scans.count; s++)
        if (marking->scans.items[s] == scan)
            return;
    list_push(marking->space->arena, &marking->scans, scan);
    for (int s = scan->first; s < scan->first + scan->count; s++)
        if (!marking->space->inlined[s])
            mark_alone(marking, s);
}

/* The program of the marked stages, whose marks it takes away. */
static Program *marked_program(Marking *marking) {
    const Space *space = marking->space;
    for (int n = 0; n < marking->own.numbers.count; n++) {
        const Scan *scan = space->program->stages[marking->own.numbers.items[n]]->scan;
        if (scan)
            mark_scan(marking, scan);
    }
    for (int n = 0; n < marking->own.numbers.count; n++)
        space->marked[marking->own.numbers.items[n]] = false;
    sort(&marking->own);
    return chosen_program(space->arena, space, marking->stages, &marking->own);
}

/* --- statements of scans ------------------------------------------------------------------------------------------ */

typedef LIST(const Scan *) Scans;

static bool has_scan(const Scans *scans, const Scan *scan) {
    for (int s = 0; s < scans->count; s++)
        if (scans->items[s] == scan)
            return true;
    return false;
}

/* Those that stages of the part are in: one, mostly. */
static Scans scans_of(Arena *arena, const Program *part) {
    Scans scans = {0};
    for (int s = 0; s < part->stage_count; s++)
        if (part->stages[s]->scan && !has_scan(&scans, part->stages[s]->scan))
            list_push(arena, &scans, part->stages[s]->scan);
    return scans;
}

static void index_statement(const Space *space, CommonIndex *index, int number) {
    const CommonStatement *common = &space->common.items[number];
    if (common->prim->op == PRIM_COMPUTE_ROOT)
        name_map_set(space->arena, &index->outside, common->prim->args[0].name, (void *)common->prim);
    if (!common->scan)
        return;
    Numbers *numbers = address_map_get(&index->by_scan, common->scan);
    if (!numbers)
        address_map_set(space->arena, &index->by_scan, common->scan, numbers = ARENA_NEW(space->arena, Numbers));
    list_push(space->arena, numbers, number);
}

static const CommonIndex *common_index(const Space *space) {
    CommonIndex *index = space->common_index;
    while (index->listed < space->common.count)
        index_statement(space, index, index->listed++);
    return index;
}

bool stays_in_scan(const Space *space, const Stage *stage) {
    return stage->scan && !name_map_get(&common_index(space)->outside, stage->name);
}

/* The scan whose stages the statement places, or NULL. Not of one that inlines a stage: those of a part have been. */
static const Scan *scan_of(const Space *space, const Prim *prim) {
    if (prim->op != PRIM_COMPUTE_ROOT && prim->op != PRIM_COMPUTE_AT)
        return NULL;
    const Stage *stage = program_find_stage(space->program, prim->args[0].name);
    return stage ? stage->scan : NULL;
}

void add_common(Space *space, const Prim *prim) {
    Prim *kept = ARENA_NEW(space->arena, Prim);
    *kept = *prim;
    list_push(space->arena, &space->common, ((CommonStatement){kept, scan_of(space, kept)}));
}

void cut_common(Space *space, int count) {
    space->common.count = count;
    *space->common_index = (CommonIndex){0};
}

typedef LIST(const Prim *) Statements;

static Statements all_common(Arena *arena, const Space *space) {
    Statements all = {0};
    for (int c = 0; c < space->common.count; c++)
        list_push(arena, &all, space->common.items[c].prim);
    return all;
}

/* The common statements that a part needs, in their order. */
static Statements needed_in(Arena *arena, const Space *space, const Program *part) {
    const Scans scans = scans_of(arena, part);
    Statements needed = {0};
    Chosen chosen = {0};
    for (int s = 0; s < scans.count; s++) {
        const Numbers *own = address_map_get(&common_index(space)->by_scan, scans.items[s]);
        for (int n = 0; own && n < own->count; n++)
            list_push(arena, &chosen.numbers, own->items[n]);
    }
    sort(&chosen);
    for (int n = 0; n < chosen.numbers.count; n++)
        list_push(arena, &needed, space->common.items[chosen.numbers.items[n]].prim);
    return needed;
}

Schedule part_schedule(Arena *arena, const Space *space, const Program *part, int more) {
    Schedule own = {.subject = space->program->name, .target = space->target->family->name};
    Statements needed = {0};
    if (part == space->program)
        needed = all_common(arena, space);
    else if (part->scan_count)
        needed = needed_in(arena, space, part);
    own.prims = ARENA_ARRAY(arena, Prim, needed.count + more + 1);
    for (int n = 0; n < needed.count; n++)
        own.prims[own.count++] = *needed.items[n];
    return own;
}

static const Nest *nest_with(Arena *arena, const Space *space, const Program *part, const Prim *prim) {
    Schedule schedule = part_schedule(arena, space, part, 1);
    schedule.prims[schedule.count++] = *prim;
    return nest_build(arena, part, &schedule, NULL, space->target, NULL);
}

/* --- what holds in the part of a stage ---------------------------------------------------------------------------- */

/* Keeps the chosen stages as a nest has them in which the stage is inlined; nest is NULL where it cannot be. */
static bool keep_inlined(Space *space, const Nest *nest, int stage, const Chosen *chosen) {
    for (int s = 0; nest && s < nest->stage_count; s++) {
        const Stage *own = program_find_stage(space->program, nest->stages[s]->stage->name);
        int number = own ? program_stage_index(space->program, own) : -1;
        if (number >= 0 && is_chosen(chosen, number))
            space->present[number] = nest->stages[s]->stage;
    }
    return space->inlined[stage] = nest != NULL;
}

bool space_inline(Space *space, const Prim *prim, int stage, const int *readers, int count) {
    Marking marking = {.space = space, .stages = space->present, .marked = space->marked};
    mark_alone(&marking, stage);
    for (int r = 0; r < count; r++)
        mark_alone(&marking, readers[r]);
    const Program *part = marked_program(&marking);
    return keep_inlined(space, nest_with(space->arena, space, part, prim), stage, &marking.own);
}

bool scan_allows(Space *space, const Prim *prim, int stage) {
    Arena *scratch = arena_new();
    Marking marking = {.space = space, .stages = space->present, .marked = space->marked};
    mark_alone(&marking, stage);
    bool legal = nest_with(scratch, space, marked_program(&marking), prim) != NULL;
    arena_free(scratch);
    return legal;
}

/* --- the part of a group ------------------------------------------------------------------------------------------ */

static void count_reads(Space *space, Map *counts, const Stage *stage) {
    EACH_STAGE_READ(read, stage) {
        intptr_t before = (intptr_t)address_map_get(counts, read->tensor);
        address_map_set(space->arena, counts, read->tensor, (void *)(before + 1));
    }
}

/* Of the stages in this list, inlined ones aside; all that is inlined is so by now. */
static const Map *all_reads(Space *space, const Stage *const *stages) {
    Map *counts = &space->reads[stages != space->present];
    if (counts->count)
        return counts;
    for (int s = 0; s < space->program->stage_count; s++)
        if (!space->inlined[s])
            count_reads(space, counts, stages[s]);
    return counts;
}

/* The constants that stages which are not marked read, too. */
static void list_elsewhere(Space *space, const Marking *marking, Program *part) {
    const Map *all = all_reads(space, marking->stages);
    Map own = {0};
    for (int n = 0; n < marking->own.numbers.count; n++)
        if (!space->inlined[marking->own.numbers.items[n]])
            count_reads(space, &own, marking->stages[marking->own.numbers.items[n]]);
    part->elsewhere = ARENA_ARRAY(space->arena, const Tensor *, marking->constants.count + 1);
    for (int c = 0; c < marking->constants.count; c++) {
        const Tensor *tensor = marking->constants.items[c];
        if (address_map_get(all, tensor) != address_map_get(&own, tensor))
            part->elsewhere[part->elsewhere_count++] = tensor;
    }
}

static const Program *part_of(Space *space, const Group *group) {
    int producer;
    if (!group->root || chain_of(space, group->root, &producer))
        return space->program;
    Marking marking = {.space = space, .stages = group->fused ? space->apart : space->present, .marked = space->marked};
    for (int s = 0; s < group->stage_count; s++)
        mark_alone(&marking, program_stage_index(space->program, group->stages[s]));
    Program *part = marked_program(&marking);
    list_elsewhere(space, &marking, part);
    return part;
}

const Program *group_program(Space *space, Group *group) {
    if (!group->part)
        group->part = part_of(space, group);
    return group->part;
}

const Nest *common_nest(Arena *arena, Space *space) {
    Group nothing = {0};
    Sketch empty = {0};
    return sketch_nest(arena, space, &nothing, &empty);
}

const Stage *inlined_stage(const Space *space, const Stage *stage) {
    return space->present[program_stage_index(space->program, stage)];
}
