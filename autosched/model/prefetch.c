/* prefetch.c - which constants of a nest are worth fetching before they are read.
 *
 * Loops often read a block of a constant many times, and then the next block: the panels of packed weights, for all
 * rows of a tile. What computes with one block is fast, and memory rests meanwhile; then it waits for the next one.
 * So the block of the next iteration is fetched in equal parts beside the work on this one (GotoBLAS, section 4.4).
 */
#include "autosched/model/model.h"
#include "autosched/model/profile.h"
#include "lang/machine.h"

#include <math.h>
#include <string.h>

enum {
    LEAST_BYTES = 2048, /* of a block: hardware brings less than that in time */
    LEAST_RUNS = 2,     /* of the loops inside, over the same block: they leave time to fetch the next one */
    LEAST_STEPS = 8,    /* operations on vectors for each line that is fetched beside them */
    MOST_LINES = 24     /* that are fetched at once, where a loop further in can fetch fewer */
};

/* A block of an operand that the iterations of one loop read, each another one. */
typedef struct Block {
    const StageFacts *facts;
    const AccessFacts *access;
    int reader, fetcher; /* loops of the chain: that one, and one inside it, whose iterations fetch a part each */
} Block;

/* --- loops of a chain --- */

static bool is_expanded(const StageFacts *facts, int loop) {
    return loop_kind_is_expanded(facts->loops[loop]->kind);
}

static int innermost_serial(const StageFacts *facts) {
    int loop = facts->loop_count - 1;
    while (loop >= 0 && (is_expanded(facts, loop) || facts->extents[loop] <= 1))
        loop--;
    return loop;
}

/* The first of the loops that were fused into the one that this is a part of. */
static int first_part(const StageFacts *facts, int loop) {
    while (loop > 0 && facts->loops[loop - 1]->var == facts->loops[loop]->var)
        loop--;
    return loop;
}

/* How many operations on vectors an iteration of the loop has. */
static double steps_inside(const StageFacts *facts, int loop) {
    double steps = 1;
    for (int l = loop + 1; l < facts->loop_count; l++)
        if (facts->loops[l]->kind != LOOP_VECTORIZED)
            steps *= facts->extents[l];
    return steps;
}

/* --- blocks --- */

/* The innermost loop whose iterations read blocks apart, each several times. */
static bool find_reader(Block *block, int innermost) {
    const StageFacts *facts = block->facts;
    double runs = 1;
    for (int last = innermost, first; last >= 0; last = first - 1) {
        bool moves = false;
        first = first_part(facts, last);
        for (int l = first; l <= last; l++)
            moves |= block->access->strides[l] != 0 && facts->extents[l] > 1;
        for (int l = first; l <= last && !moves; l++)
            runs *= facts->extents[l];
        block->reader = last;
        if (moves && runs >= LEAST_RUNS)
            return last < innermost && !is_expanded(facts, last);
    }
    return false;
}

static bool is_last_part(const StageFacts *facts, int loop) {
    return loop + 1 == facts->loop_count || facts->loops[loop]->var != facts->loops[loop + 1]->var;
}

/* The outermost loop whose iterations have few enough lines to fetch, with work enough for each. */
static bool find_fetcher(Block *block, double lines, int innermost) {
    const StageFacts *facts = block->facts;
    block->fetcher = -1;
    for (int l = block->reader + 1; l <= innermost; l++) {
        lines /= facts->extents[l];
        if (is_expanded(facts, l) || !is_last_part(facts, l) || lines > PREFETCH_LINES)
            continue;
        if (lines * LEAST_STEPS <= steps_inside(facts, l) && (block->fetcher < 0 || 2 * lines >= 1))
            block->fetcher = l;
        if (lines <= MOST_LINES)
            break;
    }
    return block->fetcher >= 0;
}

/* Whether most of what the next iteration reads is not in this one's block. */
static bool is_apart(const Block *block) {
    const StageFacts *facts = block->facts;
    const AccessFacts *access = block->access;
    for (int d = 0; d < access->rank; d++) {
        double step = fabs(access->slopes[d * facts->loop_count + block->reader]);
        if (step > 0 && 4 * step >= 3 * access_reach(facts, access, d, block->reader + 1))
            return true;
    }
    return false;
}

/* Whether the block of the next iteration is worth fetching: there is room for it beside this one's. */
static bool is_worth(Block *block, const Machine *machine) {
    const StageFacts *facts = block->facts;
    int innermost = innermost_serial(facts);
    if (block->access->size <= (double)machine->cache_bytes[0] || !find_reader(block, innermost) || !is_apart(block))
        return false;
    double bytes = access_footprint(facts, block->access, block->reader + 1);
    return bytes >= LEAST_BYTES && 2 * bytes <= (double)machine->cache_bytes[1] &&
           find_fetcher(block, bytes / machine->line_bytes, innermost);
}

/* Whether it reads what is far: of constants a program has many, each used once a call. The rest was just written. */
static bool is_far(const Nest *nest, const AccessFacts *access) {
    const NestStage *producer = nest_producer(nest, access->tensor);
    return !access->irregular &&
           (producer ? producer->constant : access->tensor->constant || access->tensor->role == ROLE_CONSTANT);
}

/* --- statements --- */

/* The loop as a schedule calls it. */
static const char *loop_path(Arena *arena, const Schedule *schedule, const Loop *loop) {
    for (int p = 0; p < schedule->count; p++)
        for (int r = 0; r < schedule->prims[p].result_count; r++)
            if (strcmp(schedule->prims[p].results[r], loop->var->name) == 0)
                return loop->var->name;
    return arena_printf(arena, "%s.%s", loop->stage->stage->name, loop->var->name);
}

static bool prefetches(const Schedule *schedule, const char *tensor) {
    for (int p = 0; p < schedule->count; p++)
        if (schedule->prims[p].op == PRIM_PREFETCH && strcmp(schedule->prims[p].args[0].name, tensor) == 0)
            return true;
    return false;
}

static void add_statement(Arena *arena, Schedule *schedule, const Block *block) {
    Prim *prim = &schedule->prims[schedule->count];
    PrimArg *args = ARENA_ARRAY(arena, PrimArg, 4);
    args[0] = arg_name(block->access->tensor->name);
    args[1] = arg_name(loop_path(arena, schedule, block->facts->loops[block->reader]));
    args[2] = arg_int(1);
    args[3] = arg_name(loop_path(arena, schedule, block->facts->loops[block->fetcher]));
    args[3].key = "at";
    *prim = (Prim){.op = PRIM_PREFETCH, .arg_count = 4, .args = args};
    schedule->count++;
}

/* The schedule with room for so many statements more. */
static Schedule *with_room(Arena *arena, const Schedule *schedule, int more) {
    Schedule *copy = ARENA_NEW(arena, Schedule);
    *copy = *schedule;
    copy->prims = ARENA_ARRAY(arena, Prim, schedule->count + more + 1);
    for (int p = 0; p < schedule->count; p++)
        copy->prims[p] = schedule->prims[p];
    return copy;
}

static int count_accesses(const Profile *profile) {
    int count = 0;
    for (int s = 0; s < profile->stage_count; s++)
        count += profile->stages[s].access_count;
    return count;
}

static void remove_statement(Schedule *schedule, int number) {
    for (int p = number; p + 1 < schedule->count; p++)
        schedule->prims[p] = schedule->prims[p + 1];
    schedule->count--;
}

/* Leaves out the statements from number `first` on that the nest refuses. False: it refuses another one. */
static bool remove_refused(Schedule *schedule, int first, const Nest *nest, NestError *error) {
    for (bool legal = false; !legal && schedule->count > first;) {
        if (error->prim < first)
            return false;
        remove_statement(schedule, error->prim);
        Arena *scratch = arena_new();
        legal = nest_build(scratch, nest->program, schedule, NULL, nest->target, error) != NULL;
        arena_free(scratch);
    }
    return true;
}

/* The nest with the statements from number `first` on that are legal; NULL: there are none. */
static const Nest *build_legal(Arena *arena, Schedule *schedule, int first, const Nest *nest) {
    NestError error;
    if (schedule->count == first)
        return NULL;
    const Nest *built = nest_build(arena, nest->program, schedule, NULL, nest->target, &error);
    if (built || !remove_refused(schedule, first, nest, &error) || schedule->count == first)
        return built;
    return nest_build(arena, nest->program, schedule, NULL, nest->target, NULL);
}

Schedule *schedule_prefetch(Arena *arena, Schedule *schedule, const Nest **nest) {
    Arena *scratch = arena_new();
    const Profile *profile = profile_nest(scratch, *nest);
    Schedule *made = with_room(arena, schedule, count_accesses(profile));
    for (int s = 0; s < profile->stage_count; s++)
        for (int a = 0; a < profile->stages[s].access_count; a++) {
            const AccessFacts *access = &profile->stages[s].accesses[a];
            Block block = {.facts = &profile->stages[s], .access = access};
            if (is_far(*nest, access) && !prefetches(made, access->tensor->name) &&
                is_worth(&block, block.facts->machine))
                add_statement(arena, made, &block);
        }
    const Nest *built = build_legal(arena, made, schedule->count, *nest);
    arena_free(scratch);
    if (!built)
        return schedule;
    *nest = built;
    return made;
}
