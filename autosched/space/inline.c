/* inline.c - which stages are inlined into their readers, and which leave their scan (Ansor's rules: skip, always
 * inline). Collects first what each stage reads.
 */
#include "autosched/space/grouping.h"

#include <stdlib.h>

enum { INLINED_NODES = 128, CHEAP_USES = 4, CHEAP_OPERATIONS = 4 };
/* A longer value gains nothing from being inlined, and each step that rewrites it takes as long as it is. */
enum { MOST_NODES = 1024 };

typedef LIST(const Expr *) Reads;

/* --- facts --- */

StageUses *facts_of(Grouping *grouping, const Tensor *tensor) {
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

/* Lists the stages that read one, also through inlined ones; seen: the last stage for which a reader was looked at. */
static void list_consumers(Grouping *grouping, int stage, int through, int *seen) {
    const StageUses *read = &grouping->facts[through];
    for (int r = 0; r < read->readers.count; r++) {
        int reader = read->readers.items[r];
        if (seen[reader] == stage)
            continue;
        seen[reader] = stage;
        if (grouping->facts[reader].inlined)
            list_consumers(grouping, stage, reader, seen);
        else
            list_push(grouping->space->arena, &grouping->facts[stage].consumers, reader);
    }
}

/* In the order of the stages. Those of other stages may be out of date. */
static void find_consumers_of(Grouping *grouping, int stage, int *seen) {
    StageUses *facts = &grouping->facts[stage];
    facts->consumers.count = 0;
    list_consumers(grouping, stage, stage, seen);
    if (facts->consumers.count > 1)
        qsort(facts->consumers.items, (size_t)facts->consumers.count, sizeof(int), compare_numbers);
}

static void find_all_consumers(Grouping *grouping) {
    int seen[grouping->count + 1];
    for (int s = 0; s < grouping->count; s++)
        seen[s] = -1;
    for (int s = 0; s < grouping->count; s++)
        find_consumers_of(grouping, s, seen);
}

static void list_producer(Grouping *grouping, StageUses *facts, const Tensor *tensor) {
    StageUses *producer = facts_of(grouping, tensor);
    if (!producer)
        return;
    list_push(grouping->space->arena, &facts->producers, (int)(producer - grouping->facts));
    list_push(grouping->space->arena, &producer->readers, (int)(facts - grouping->facts));
}

bool stage_reads_initial(const Stage *stage) {
    EACH_STAGE_READ(read, stage)
        if (read->tensor->role == ROLE_INITIAL)
            return true;
    return false;
}

void collect_facts(Grouping *grouping) {
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
    for (int c = 0; c < stage->component_count; c++)
        if (program_requires(program, stage->components[c].tensor))
            return true;
    return false;
}

/* Whether the consumer's values read what the producer writes. */
bool values_use(const Stage *consumer, const Stage *producer) {
    EACH_VALUE_READ(read, consumer)
        if (stage_writes(producer, read->tensor))
            return true;
    return false;
}

int value_effort(Space *space, const Stage *stage) {
    return expr_effort(inlined_stage(space, stage)->components[0].value);
}

/* Whether each element is computed once in a consumer: read element by element, or for the initial value. A reduction
 * may read it again for the same element, which the backend finds. */
static bool computed_once(Space *space, const Stage *consumer, const Stage *producer) {
    consumer = inlined_stage(space, consumer); /* which may read it in the place of what it read */
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
    return (uses <= 1 || (consumer->reduction_count > 0 && uses * value_effort(space, producer) <= INLINED_NODES));
}

/* Whether it takes indices back that are beyond the ends, which takes longer than to read the element. */
static bool takes_indices_back(Space *space, const Stage *stage) {
    EACH_VALUE_READ(read, inlined_stage(space, stage))
        for (int d = 0; d < read->count; d++)
            EACH_EXPR(e, read->args[d])
                if (e->kind == EXPR_OP && (e->op == OP_MOD || e->op == OP_MIN || e->op == OP_MAX))
                    return true;
    return false;
}

static bool wants_inlining(Grouping *grouping, const StageUses *facts) {
    const Stage *stage = facts->stage;
    if (facts->grouped || facts->output || facts->reads_initial || stage->combine != COMBINE_NONE ||
        facts->consumers.count == 0 || stage_is_required(grouping->space->program, stage))
        return false;
    for (int c = 0; c < facts->consumers.count; c++)
        if (loses_cases(grouping->space, grouping->facts[facts->consumers.items[c]].stage, stage))
            return false;
    const Expr *value = inlined_stage(grouping->space, stage)->components[0].value;
    OperationCount cost = stage_operations(value);
    if (cost.operations == 0 && !expr_is_larger(value, MOST_NODES) && !takes_indices_back(grouping->space, stage))
        return true;
    bool once = true, reused = false;
    for (int c = 0; c < facts->consumers.count; c++) {
        const Stage *consumer = grouping->facts[facts->consumers.items[c]].stage;
        bool each = computed_once(grouping->space, consumer, stage);
        once &= each;
        reused |= !each && stage_has_reuse(consumer) && values_use(consumer, stage);
    }
    if (once && facts->consumers.count == 1)
        return value_effort(grouping->space, stage) <= MOST_NODES;
    return !reused && cost.expensive == 0 && cost.operations <= CHEAP_OPERATIONS &&
           facts->consumers.count <= CHEAP_USES;
}

static bool inline_is_legal(Grouping *grouping, const Prim *prim, int stage) {
    Space *space = grouping->space;
    const StageUses *facts = &grouping->facts[stage];
    bool legal = space_inline(space, prim, stage, facts->consumers.items, facts->consumers.count);
    if (legal)
        add_common(space, prim);
    return legal;
}

/* Whether only one stage reads it, each element once: there it is computed wherever that is, in a strip or apart. */
bool is_part_of_reader(Grouping *grouping, int stage) {
    const StageUses *facts = &grouping->facts[stage];
    const Stage *reader = facts->consumers.count == 1 ? grouping->facts[facts->consumers.items[0]].stage : NULL;
    return reader && reader->combine == COMBINE_NONE && computed_once(grouping->space, reader, facts->stage);
}

/* Whether others of its pipeline read it. */
bool is_piped(Grouping *grouping, int stage) {
    const Pipeline *pipeline = pipeline_of(grouping->space, stage);
    return pipeline && pipeline->stages[pipeline->count - 1] != stage;
}

bool is_not_piped(Grouping *grouping, int stage) {
    return !is_piped(grouping, stage);
}

void inline_stages(Grouping *grouping, bool (*among)(Grouping *grouping, int stage)) {
    Space *space = grouping->space;
    int seen[grouping->count + 1];
    for (int s = 0; s < grouping->count; s++)
        seen[s] = -1;
    for (int s = 0; s < grouping->count; s++) {
        StageUses *facts = &grouping->facts[s];
        if (facts->inlined)
            continue;
        find_consumers_of(grouping, s, seen);
        if (!among(grouping, s) || !wants_inlining(grouping, facts))
            continue;
        Prim prim = {.op = PRIM_INLINE, .arg_count = 1, .args = ARENA_NEW(space->arena, PrimArg)};
        prim.args[0] = arg_name(facts->stage->name);
        facts->inlined = inline_is_legal(grouping, &prim, s);
    }
    find_all_consumers(grouping);
}

/* --- scans --- */

/* Whether the reader, or a stage inlined into it, reads what an earlier step of the producer wrote. */
bool reads_earlier_steps(Grouping *grouping, const StageUses *reader, const StageUses *producer) {
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
    if (!scan_allows(space, &prim, program_stage_index(space->program, facts->stage)))
        return;
    add_common(space, &prim);
    facts->scan = NULL;
}

/* Not one of which a block says how it runs. */
static bool may_be_taken_out(const StageUses *facts) {
    return facts->scan && !facts->inlined && !facts->grouped;
}

/* Takes stages out of scans: what depends on no earlier step is computed for all steps before the scan; reductions that
 * no step needs, after it. */
void empty_scans(Grouping *grouping) {
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
