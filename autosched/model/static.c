/* static.c - an analytic estimate of the time of a nest: -O2 chooses by it, and searches begin with it.
 *
 * A stage's inner block is its unrolled and vectorized loops. The block takes the largest of these times: multiply-adds
 * on their ports, loads on theirs, stores, all instructions at the issue width, and the latency of each accumulator's
 * chain. Traffic between two levels of memory is the footprint of the largest loop body that fits the nearer level,
 * times its runs (as in ROLLER and the cache models before it). All is counted for the thread with the most iterations
 * of the parallel loop, whose share is contiguous.
 *
 * What a machine does in how much time is its row of machines.def. Only ratios matter, since estimates are compared
 * with each other alone.
 */
#include "autosched/model/lanes.h"
#include "autosched/model/model.h"
#include "lang/machine.h"

#include <math.h>
#include <string.h>

/* What the C library does on every machine: allocations from PAGED_LEAST bytes on begin on a page; those of more pages
 * than FAULTED_PAGES are given back, and fault again when they are touched. */
enum { PAGED_LEAST = 1 << 16, FAULTED_PAGES = 32, LAST_CACHE = 2 /* a level */ };
enum { DIVIDED_BYTES = 32, DIVIDED_LEAST = 16 }; /* what divide_cost is for; what shorter vectors take */

typedef struct Block {
    const Machine *machine;
    double runs;                      /* of the block */
    double slots;                     /* port slots that one instruction takes */
    double vectors;                   /* vector operations of one evaluation of the block */
    double arithmetic, loads, stores; /* instructions */
    double guards, edges;             /* extra instructions at the edges; part of the runs at edges */
    double divider;                   /* cycles of the divider */
    double clamps;                    /* extra instructions for clamped lanes */
    double accumulators;              /* vectors that live across the reduction */
    double operands;                  /* other vectors that one step of the block needs */
    double spilled;                   /* vectors that spill */
    double chain;                     /* cycles of dependence chains */
    int serial;                       /* innermost loop that stays a loop; -1: none */
} Block;

static void block_shape(const StageFacts *stage, Block *block) {
    block->runs = block->vectors = 1;
    block->serial = -1;
    for (int l = 0; l < stage->loop_count; l++) {
        if (!loop_is_expanded(stage, l)) {
            block->runs *= stage->extents[l];
            if (stage->extents[l] > 1)
                block->serial = l;
        } else if (!loop_is_tensorized(stage, l)) {
            block->vectors *= stage->loops[l]->kind == LOOP_UNROLLED ? stage->extents[l] : loop_vectors(stage, l);
        }
    }
}

/* Vectors of an access that stay live during a run of the block: those inside an expanded loop that does not change the
 * access are used again in its next iteration. */
static double live_operands(const StageFacts *stage, const AccessFacts *access) {
    double live = 1;
    bool kept = false;
    for (int l = 0; l < stage->loop_count; l++) {
        if (!loop_is_expanded(stage, l) || loop_is_tensorized(stage, l) || stage->extents[l] <= 1 ||
            stage->loops[l]->reduction)
            continue;
        if (access->strides[l] == 0)
            kept |= stage->loops[l]->kind == LOOP_UNROLLED;
        else if (kept)
            live *= stage->loops[l]->kind == LOOP_UNROLLED ? stage->extents[l] : loop_vectors(stage, l);
    }
    return live;
}

static double lane_bytes(const StageFacts *stage) {
    double lanes = 1;
    for (int l = 0; l < stage->loop_count; l++)
        if (stage->loops[l]->kind == LOOP_VECTORIZED || loop_is_tensorized(stage, l))
            lanes *= stage->extents[l];
    return lanes * stage->accesses[0].bytes;
}

/* Processors that split their widest vectors take two slots for them. */
static double port_slots(const StageFacts *stage, const Target *target) {
    bool widest = lane_bytes(stage) > target->vector_bytes / 2.0;
    return widest ? target->machine->widest_slots : 1;
}

static double divider_cycles(const StageFacts *stage, const Target *target, double vectors) {
    double bytes = fmin(fmax(lane_bytes(stage), DIVIDED_LEAST), target->vector_bytes);
    return vectors * stage->divisions * stage->machine->divide_cost * bytes / DIVIDED_BYTES;
}

static bool reduces(const StageFacts *stage) {
    return stage->stage->stage->reduction_count > 0;
}

/* The part of the runs where a guarded access of a reduction may be outside; other tiles have a copy without the guard.
 * A dimension is padded if places and taps share it; it has two sides. */
static double edge_part(const StageFacts *stage, const AccessFacts *access) {
    double inside = 1;
    for (int d = 0; d < access->rank; d++) {
        double tiles = 1, taps = 0, places = 0;
        for (int l = 0; l < stage->loop_count; l++) {
            if (access->slopes[d * stage->loop_count + l] == 0)
                continue;
            taps += stage->loops[l]->reduction;
            places += !stage->loops[l]->reduction;
            if (!stage->loops[l]->reduction && !loop_is_expanded(stage, l))
                tiles *= stage->extents[l];
        }
        if (taps > 0 && places > 0)
            inside *= 1 - fmin(2 / tiles, 1);
    }
    return reduces(stage) ? 1 - inside : 1;
}

/* Distinct index tests of a guarded access in one run of the block. Tests that no outer loop changes are made
 * before. */
static double block_tests(const StageFacts *stage, const AccessFacts *access) {
    double count = 1;
    bool changes = false;
    for (int l = 0; l < stage->loop_count; l++) {
        bool tested = false;
        for (int d = 0; d < access->rank; d++)
            tested |= access->tested[d] && access->slopes[d * stage->loop_count + l] != 0;
        if (!tested || stage->extents[l] <= 1)
            continue;
        if (loop_is_expanded(stage, l))
            count *= stage->loops[l]->kind == LOOP_UNROLLED ? stage->extents[l] : loop_vectors(stage, l);
        else
            changes = true;
    }
    return changes ? count : 0;
}

static void block_reads(const StageFacts *stage, Block *block) {
    for (int a = 1; a < stage->access_count; a++) {
        const AccessFacts *access = &stage->accesses[a];
        double count = access_count_in_block(stage, access);
        if (access->in_registers || count == 0)
            continue;
        bool still = block->serial >= 0 && access->strides[block->serial] == 0;
        double loads = still ? count / stage->extents[block->serial] : count;
        block->loads += loads;
        block->arithmetic += access_shuffles(stage, access) * loads / count;
        if (access->guarded) {
            bool waits = reduces(stage) && !access_is_vector(stage, access);
            block->guards += waits ? loads * stage->machine->guarded_step_cost
                                   : block_tests(stage, access) * stage->machine->guard_cost;
            block->edges = fmax(block->edges, edge_part(stage, access));
        }
        block->operands += still ? count : live_operands(stage, access);
    }
}

/* Whether the stage is a scan along memory, computed row by row: each step waits for the one before. */
static bool scans_rows(const StageFacts *stage) {
    const Stage *computed = stage->stage->stage;
    return computed->scan && !reduces(stage) && computed->axis_count > 1 && computed->step == computed->axis_count - 1;
}

static void block_writes(const StageFacts *stage, Block *block) {
    const AccessFacts *written = &stage->accesses[0];
    int components = stage->stage->stage->component_count;
    double count = access_count_in_block(stage, written), steps = block->vectors / (count < 1 ? 1 : count);
    if (!reduces(stage)) {
        block->stores = written->in_registers ? 0 : count * components;
        block->arithmetic += access_shuffles(stage, written) * components;
        block->chain = scans_rows(stage) ? stage->machine->memory_latency : 0;
        return;
    }
    block->accumulators = count * components;
    const Machine *machine = stage->machine;
    double latency = fmax(machine->chain_latency, stage->depth * machine->operation_latency);
    block->chain = (written->in_registers ? latency : machine->memory_latency) * (steps < 1 ? 1 : steps);
    if (!written->in_registers) {
        block->stores = count * components;
        block->loads += count;
    }
}

/* Reduction steps in one run of the block. */
static double unrolled_steps(const StageFacts *stage) {
    double steps = 1;
    for (int l = 0; l < stage->loop_count; l++)
        if (stage->loops[l]->kind == LOOP_UNROLLED && stage->loops[l]->reduction)
            steps *= stage->extents[l];
    return steps;
}

/* Accumulators and operands beyond the registers spill in each step. A stage that computes for another one of its tile
 * spills once. */
static void block_spills(const StageFacts *stage, const Target *target, Block *block) {
    double registers = target->vector_registers;
    double needed = block->accumulators + block->operands;
    double held =
        reduces(stage) || !stage->accesses[0].in_registers ? 0 : access_count_in_block(stage, &stage->accesses[0]);
    block->spilled = fmax(held - registers, 0);
    if (block->accumulators > 0 && needed > registers)
        block->spilled = (needed - registers) * unrolled_steps(stage);
}

/* The cycles of what runs in parallel, with `more` instructions added. */
static double busy_cycles(const Block *block, double more) {
    const Machine *machine = block->machine;
    double cycles = fmax(block->arithmetic / machine->arithmetic_ports, block->loads / machine->load_ports);
    cycles = fmax(cycles, block->stores / machine->store_ports) * block->slots;
    cycles = fmax(cycles, (block->arithmetic + block->loads + block->stores + more) / machine->issue_width);
    return fmax(cycles, fmax(block->chain, block->divider));
}

static double block_cycles(const Block *block) {
    const Machine *machine = block->machine;
    double cycles = busy_cycles(block, block->clamps);
    cycles += block->edges * (busy_cycles(block, block->clamps + block->guards) - cycles);
    double body = block->arithmetic + block->loads + block->stores;
    if (body > machine->decoded_most) /* twice as much takes 1.5 times as long */
        cycles *= 1 + (body - machine->decoded_most) / (2 * machine->decoded_most);
    return cycles + machine->spill_cost * block->spilled + (block->serial >= 0 ? machine->loop_cost : 0);
}

/* Halving steps of a block that combines the lanes of a register; 0: it is no such block. */
static double across_steps(const StageFacts *stage, const Block *block) {
    bool lanes = reduces(stage) && stage->access_count == 2 && stage->accesses[1].in_registers && block->vectors > 1;
    for (int l = 0; l < stage->loop_count && lanes; l++)
        lanes = !loop_is_expanded(stage, l) || stage->extents[l] <= 1 ||
                (stage->loops[l]->kind == LOOP_UNROLLED && stage->accesses[0].strides[l] == 0 &&
                 stage->accesses[1].strides[l] == 1);
    return lanes ? ceil(log2(block->vectors)) : 0;
}

static Block block_of(const StageFacts *stage, const Target *target) {
    Block block = {.machine = stage->machine};
    block_shape(stage, &block);
    block.slots = port_slots(stage, target);
    double across = across_steps(stage, &block);
    if (across > 0) {
        block.arithmetic = across * fmax(stage->operations, 1);
        block.chain = across * stage->machine->chain_latency;
        return block;
    }
    double functions = stage->machine->function_cost * (stage->expensive - stage->divisions);
    block.arithmetic = block.vectors * (stage->operations + functions);
    block.divider = divider_cycles(stage, target, block.vectors);
    block.clamps = clamp_tests(stage);
    block_reads(stage, &block);
    block_writes(stage, &block);
    block_spills(stage, target, &block);
    return block;
}

/* --- memory --- */

/* Bytes fetched for each byte that the body of the first `depth` loops touches: whole cache lines, and all rows in a
 * line. */
static double line_times(const StageFacts *stage, const AccessFacts *access, int depth) {
    double times = 1, unit = access->bytes, line = stage->machine->line_bytes;
    for (int d = access->rank - 1; d >= 0; d--) {
        double reach = fmin(access_reach(stage, access, d, depth), access->dims[d]), room = unit * access->dims[d];
        if (d == 0 || room >= line)
            return unit * reach < line && room > unit * reach ? times * line / (unit * reach) : times;
        times *= access->dims[d] / fmax(reach, 1);
        unit = room;
    }
    return times;
}

/* Bytes in whole cache lines, unless the loop outside touches the rest of the line. */
static double line_bytes(const StageFacts *stage, const AccessFacts *access, int depth) {
    if (access->in_registers)
        return 0;
    return access_footprint(stage, access, depth) * line_times(stage, access, depth > 0 ? depth - 1 : 0);
}

/* The largest power of two that divides a distance, up to the period of a cache's sets. */
static double common_power(double distance, double line, double period) {
    double power = line;
    while (power < period && fmod(distance, 2 * power) == 0)
        power *= 2;
    return power;
}

/* The cache space that the body of the first `depth` loops needs. Rows at a distance divisible by a large power of two
 * share few sets, as if each were that long. */
static double occupied_bytes(const StageFacts *stage, const AccessFacts *access, int depth) {
    double bytes = line_bytes(stage, access, depth), rows = 1, distance = access->bytes, run = 1;
    double line = stage->machine->line_bytes, period = stage->machine->set_bytes;
    if (access->in_registers || access->rank < 2)
        return bytes;
    for (int d = access->rank - 1; d >= 0; d--) {
        double reach = fmin(access_reach(stage, access, d, depth), access->dims[d]);
        if (rows == 1 && run == fmax(distance / access->bytes, 1))
            run *= reach; /* still contiguous */
        else if (reach > 1)
            bytes = fmax(bytes, (rows *= reach) * (distance < line ? distance : common_power(distance, line, period)));
        distance *= access->dims[d];
    }
    return bytes;
}

/* How much more the access touches together with those that are shifted against it. */
static double shifted_times(const StageFacts *stage, const AccessFacts *access, int depth) {
    double times = 1;
    for (int d = 0; d < access->rank && access->shifts > 1; d++) {
        double reach = fmin(access_reach(stage, access, d, depth), access->dims[d]);
        times *= fmin(reach + access->spread[d], access->dims[d]) / fmax(reach, 1);
    }
    return fmin(times, access->shifts);
}

static double body_bytes(const StageFacts *stage, int depth) {
    double bytes = 0;
    for (int a = 0; a < stage->access_count; a++)
        bytes += occupied_bytes(stage, &stage->accesses[a], depth) * shifted_times(stage, &stage->accesses[a], depth);
    return bytes;
}

/* Cycles for address translation: when a loop moves by about a page or more each iteration, over more pages than the
 * first-level TLB holds. */
static double page_cycles(const StageFacts *stage, const Block *block) {
    double cycles = 0;
    if (block->serial < 0 || scans_rows(stage))
        return 0;
    const Machine *machine = stage->machine;
    double extent = stage->extents[block->serial], page = machine->page_bytes;
    for (int a = 0; a < stage->access_count; a++) {
        double distance = fabs(stage->accesses[a].strides[block->serial]) * stage->accesses[a].bytes;
        if (!stage->accesses[a].in_registers && distance > page / 4 && distance * extent > machine->near_pages * page)
            cycles += machine->page_cost * fmin(distance / page, 1);
    }
    return cycles * block->runs;
}

/* A contiguous run of elements, and how many such runs are walked side by side. */
typedef struct Runs {
    double length, count, distance; /* distance: between the runs added last */
    double places;                  /* of those runs; loops of the same stride overlap */
} Runs;

static void runs_add(Runs *runs, double stride, double extent) {
    if (stride <= runs->length) {
        runs->length += stride * (extent - 1);
        return;
    }
    double places = stride == runs->distance ? runs->places + extent - 1 : extent;
    runs->count *= places / (stride == runs->distance ? runs->places : 1);
    runs->distance = stride;
    runs->places = places;
}

/* The runs of the loops from one on, short strides first: all is taken as touched at about the same time. */
static Runs runs_inside(const StageFacts *stage, const AccessFacts *access, int from) {
    Runs runs = {1, 1, 0, 1};
    for (double last = 0, next = 0; next < HUGE_VAL; last = next) {
        next = HUGE_VAL;
        for (int l = from; l < stage->loop_count; l++)
            if (fabs(access->strides[l]) > last && stage->extents[l] > 1)
                next = fmin(next, fabs(access->strides[l]));
        for (int l = from; l < stage->loop_count && next < HUGE_VAL; l++)
            if (fabs(access->strides[l]) == next && stage->extents[l] > 1)
                runs_add(&runs, next, stage->extents[l]);
    }
    return runs;
}

/* Bytes touched in sequence before another part of the buffer: the hardware prefetches these. It follows a few runs
 * side by side as well as one. */
static double sequential_bytes(const StageFacts *stage, const AccessFacts *access, double near) {
    int from = stage->loop_count;
    Runs runs = {1, 1, 0, 1};
    for (int l = from - 1; l >= 0 && access_footprint(stage, access, l) <= near; l--) {
        Runs more = runs_inside(stage, access, l);
        if (more.count > stage->machine->streams)
            continue;
        runs = more;
        from = l;
    }
    for (int l = from - 1; l >= 0 && runs.count <= stage->machine->streams; l--)
        if (stage->extents[l] > 1 && access->strides[l] != 0)
            runs_add(&runs, fabs(access->strides[l]), stage->extents[l]);
    return runs.length * access->bytes;
}

/* The part of a loop body's fetches that miss in its next run, because the body exceeds the cache. The last cache is
 * not strictly LRU: some of a body that barely exceeds it stays. */
static double missing_part(const Machine *machine, double body, double cache, int level) {
    return level == LAST_CACHE ? fmin(fmax(machine->excess_missing * (body - cache) / body, 0), 1) : 1;
}

static int common_loops(const StageFacts *a, const StageFacts *b) {
    int count = 0;
    while (count < a->loop_count && count < b->loop_count && a->loops[count]->var == b->loops[count]->var)
        count++;
    return count;
}

/* The mean bytes of an access that each iteration of the loop before `depth` is the first to touch. */
static double fresh_bytes(const StageFacts *stage, const AccessFacts *access, int depth) {
    return access_footprint(stage, access, depth - 1) / stage->extents[depth - 1];
}

/* Whether the other access touches as much of the tensor in an iteration of common loops: reads the same, or writes what
 * is new in a window that slides. */
static bool covers(const StageFacts *other, const AccessFacts *by, const StageFacts *stage, const AccessFacts *access,
                   int common) {
    if (by->tensor != access->tensor)
        return false;
    if (!by->write)
        return access_footprint(stage, access, common) <= access_footprint(other, by, common);
    bool slides = by->strides[common - 1] != 0 && access->strides[common - 1] != 0;
    return slides &&
           fresh_bytes(stage, access, common) <= fresh_bytes(other, by, common) + stage->machine->line_bytes;
}

/* Whether an earlier stage in the same iteration of common loops touched as much of the tensor, and all that both touch
 * there stays in the cache. */
static bool was_touched_before(const Profile *profile, const StageFacts *stage, const AccessFacts *access,
                               double cache) {
    for (int s = 0; s < profile->stage_count && profile->stages[s].stage != stage->stage; s++) {
        const StageFacts *other = &profile->stages[s];
        int common = common_loops(stage, other);
        for (int a = 0; a < other->access_count && common > 0; a++)
            if (covers(other, &other->accesses[a], stage, access, common) &&
                body_bytes(stage, common) + body_bytes(other, common) - line_bytes(stage, access, common) <= cache)
                return true;
    }
    return false;
}

/* Bytes that move into a cache which holds the body of the first `depth` loops and no more. */
static double moved_bytes(const Profile *profile, const StageFacts *stage, int depth, double cache, int level) {
    const Machine *machine = stage->machine;
    double bytes = 0;
    for (int a = 0; a < stage->access_count; a++) {
        const AccessFacts *access = &stage->accesses[a];
        double moved = line_bytes(stage, access, depth) * shifted_times(stage, access, depth);
        int first = depth;
        if (first > 0 && access->strides[first - 1] == 0)
            first--; /* what the next loop does not change mostly stays */
        for (int l = 0; l < first; l++)
            moved *= stage->extents[l];
        moved *= access->write ? machine->written_times[level] : was_touched_before(profile, stage, access, cache) ? 0 : 1;
        if (moved == 0)
            continue;
        double started = machine->run_start[level] / sequential_bytes(stage, access, machine->run_near[level]);
        bytes += moved * (1 + fmin(started, machine->most_started[access->write]));
    }
    return bytes;
}

/* Bytes that move into a cache of a size and level. Goes outwards from the block while the body fits. What stays of a
 * larger body moves as often as a body further outside needs it; where sums take most of the time, excess_missing was
 * measured without that. */
static double traffic(const Profile *profile, const StageFacts *stage, const Block *block, double cache, int level) {
    int depth = block->serial + 1;
    double bytes = 0;
    while (depth > 0 && body_bytes(stage, depth - 1) <= cache)
        depth--;
    bool stays = level == LAST_CACHE && !reduces(&profile->stages[profile->heaviest]);
    for (int d = stays || depth == 0 ? 1 : depth; d <= depth; d++) {
        double missing = missing_part(stage->machine, body_bytes(stage, d - 1), cache, level);
        bytes = missing * moved_bytes(profile, stage, d, cache, level) + (1 - missing) * bytes;
    }
    return bytes;
}

/* Places along a dimension that expanded loops reach, and the bytes between them: the shortest step of these loops.
 * Loops along one dimension may overlap. */
static double reached_places(const StageFacts *stage, const AccessFacts *access, int dimension, double *unit) {
    double reach = 0, places = 1, step = 0;
    *unit = 0;
    for (int l = 0; l < stage->loop_count; l++) {
        double slope = fabs(access->slopes[dimension * stage->loop_count + l]);
        if (slope == 0 || stage->extents[l] <= 1 || !loop_is_expanded(stage, l) ||
            stage->loops[l]->kind == LOOP_VECTORIZED || loop_is_tensorized(stage, l))
            continue;
        reach += slope * (stage->extents[l] - 1);
        places *= stage->extents[l];
        if (step == 0 || slope < step) {
            step = slope;
            *unit = fabs(access->strides[l]) * access->bytes;
        }
    }
    return step == 0 ? 1 : fmin(1 + reach / step, places);
}

/* Successive runs of the block that find an access on the same cache line. */
static double runs_on_line(const AccessFacts *access, const Block *block) {
    double step = block->serial >= 0 ? fabs(access->strides[block->serial]) * access->bytes : 0;
    return step > 0 ? fmax(block->machine->line_bytes / step, 1) : 1;
}

/* Cycles to fetch a line again whose set has `excess` lines too many. For scalars on one line the fetch overlaps with
 * the use of the last ones. */
static double conflict_cycles_of_line(const StageFacts *stage, const AccessFacts *access, const Block *block,
                                      double excess) {
    const Machine *machine = stage->machine;
    if (access_is_vector(stage, access))
        return machine->conflict_cost * fmin(excess / 2, 1);
    double cycles = fmin(machine->scalar_conflict_cost * excess * excess, machine->scalar_conflict_most);
    return cycles / runs_on_line(access, block);
}

/* Cycles of a run of the block for conflict misses: too many lines fall into one set of the nearest cache, whose sets
 * repeat after a period. They increase from the last way on. */
static double access_conflicts(const StageFacts *stage, const AccessFacts *access, const Block *block, double period) {
    double lines = 1, sets = 1, most = 1, line = stage->machine->line_bytes;
    for (int d = 0; d < access->rank; d++) {
        double unit, places = reached_places(stage, access, d, &unit);
        if (places <= 1 || unit < line)
            continue;
        double apart = period / common_power(unit, line, period);
        lines *= places;
        sets *= fmin(places, apart);
        most = fmax(most, apart);
    }
    double excess = fmax(lines / fmin(sets, most) - (stage->machine->set_lines - 2), 0);
    return lines * conflict_cycles_of_line(stage, access, block, excess);
}

static double conflict_cycles(const StageFacts *stage, const Block *block) {
    double period = stage->machine->set_bytes, cycles = 0;
    for (int a = 1; a < stage->access_count && !scans_rows(stage); a++)
        if (!stage->accesses[a].in_registers)
            cycles += access_conflicts(stage, &stage->accesses[a], block, period);
    return cycles;
}

/* --- threads --- */

static double thread_count(const Target *target) {
    return target->threads > 0 ? target->threads : target->machine->threads;
}

/* The stage as the busiest thread runs it: with its share of the parallel loop. Of the loops that this was fused from,
 * inner ones stay whole. *part is its part of all iterations; *forks counts entries of parallel loops. */
static StageFacts busiest_thread(const StageFacts *stage, const Target *target, double *extents, double *part,
                                 double *forks) {
    StageFacts thread = *stage;
    int first = 0;
    double all = 1;
    *part = 1;
    *forks = 0;
    memcpy(extents, stage->extents, sizeof *extents * (size_t)stage->loop_count);
    thread.extents = extents;
    while (first < stage->loop_count && stage->loops[first]->kind != LOOP_PARALLEL)
        first++;
    if (first == stage->loop_count)
        return thread;
    int last = first + profile_loop_parts(stage, first);
    thread.changed = last;
    for (int l = first; l < last; l++)
        all *= extents[l];
    double piece = ceil(all / thread_count(target));
    *part = all > 0 ? piece / all : 1;
    *forks = 1;
    for (int l = 0; l < first; l++)
        *forks *= extents[l];
    for (int l = last - 1; l >= first; l--) {
        double whole = extents[l];
        extents[l] = fmin(whole, fmax(piece, 1));
        piece /= fmax(whole, 1);
    }
    return thread;
}

/* The part of a thread's iterations that predicates leave, when its loops begin at their first values or (last) end at
 * their last. */
static double held_part(const StageFacts *whole, const StageFacts *thread, bool last) {
    double part = 1, shifted[whole->loop_count + 1];
    for (int p = 0; p < whole->predicates.count; p++) {
        memcpy(shifted, whole->predicates.items[p], sizeof shifted);
        for (int l = 0; l < whole->loop_count && last; l++)
            shifted[whole->loop_count] += shifted[l] * floor(whole->extents[l] - thread->extents[l]);
        part *= negative_part(thread, shifted);
    }
    return part;
}

/* Ends of memory pieces that the busiest thread writes alternately with another: prefetching for one fetches what the
 * other has just written. Short pieces do not start prefetching. */
static double shared_edges(const StageFacts *thread, double part) {
    const AccessFacts *written = &thread->accesses[0];
    double piece = 1, all = 1;
    bool whole = true;
    if (part >= 1 || written->in_registers || written->irregular)
        return 0;
    for (int d = written->rank - 1; d >= 0; d--) {
        double reach = fmin(access_reach(thread, written, d, 0), written->dims[d]);
        all *= reach;
        piece *= whole ? reach : 1;
        whole &= reach >= written->dims[d];
    }
    return piece * written->bytes >= thread->machine->stream_bytes ? all / piece - 1 : 0;
}

/* The stage that computes what another one reads, in loops of its own; NULL: none in the profile. */
static const StageFacts *producer_of(const Profile *profile, const StageFacts *stage, const AccessFacts *access) {
    for (int s = 0; s < profile->stage_count && access->temporary; s++)
        if (profile->stages[s].accesses[0].tensor == access->tensor && !profile->stages[s].accesses[0].in_registers &&
            common_loops(&profile->stages[s], stage) == 0)
            return &profile->stages[s];
    return NULL;
}

/* Lines of a temporary that the busiest thread reads but another thread writes, again and again: both have them in near
 * caches. First threads are taken to begin with first elements. */
static double lines_of_others(const StageFacts *thread, const AccessFacts *access, const StageFacts *producer,
                              const Target *target) {
    double part, forks, extents[producer->loop_count + 1], all = 1, own = 1;
    StageFacts other = busiest_thread(producer, target, extents, &part, &forks);
    for (int d = 0; d < access->rank; d++) {
        double reach = fmin(access_reach(thread, access, d, 0), access->dims[d]);
        all *= reach;
        own *= fmin(reach, access_reach(&other, &other.accesses[0], d, 0));
    }
    const Machine *machine = target->machine;
    return fmin((all - own) * access->bytes, (double)machine->cache_bytes[1]) / machine->line_bytes;
}

static double foreign_lines(const Profile *profile, const StageFacts *thread, const Target *target) {
    double lines = 0;
    for (int a = 1; a < thread->access_count && thread_count(target) > 1; a++) {
        const StageFacts *producer = producer_of(profile, thread, &thread->accesses[a]);
        lines += producer ? lines_of_others(thread, &thread->accesses[a], producer, target) : 0;
    }
    return lines;
}

/* --- loads after stores --- */

/* A set of lines has a bit for each line within the distance at which loads seem to read what was stored: how many. */
static int alias_lines(const Machine *machine) {
    int lines = machine->alias_bytes / machine->line_bytes;
    return lines < 64 ? lines : 64;
}

static uint64_t turned(uint64_t lines, int64_t by, int count) {
    by &= count - 1;
    return by ? (lines << by | lines >> (count - by)) & UINT64_MAX >> (64 - count) : lines;
}

/* Adds to a set of lines the same lines `times` - 1 further steps on; a step may be many bytes, or less than a line. */
static uint64_t repeated(uint64_t lines, double bytes, double times, const Machine *machine) {
    double step = bytes / machine->line_bytes;
    int count = alias_lines(machine);
    if (step == 0 || times <= 1)
        return lines;
    if (fabs(step) < 1) {
        times = ceil(times * fabs(step));
        step = 1;
    }
    uint64_t all = 0;
    for (int i = 0; i < fmin(times, count); i++)
        all |= turned(lines, (int64_t)floor(fmod(i * step, count)), count);
    return all;
}

/* The lines that the loops from `first` on touch, if the access begins at line 0. */
static uint64_t lines_touched(const StageFacts *stage, const AccessFacts *access, int first) {
    uint64_t lines = 1;
    for (int l = first; l < stage->loop_count; l++)
        lines = repeated(lines, access->strides[l] * access->bytes, stage->extents[l], stage->machine);
    return lines;
}

/* The distances, in lines, that the first `count` loops put between two accesses. */
static uint64_t lines_apart(const StageFacts *stage, const AccessFacts *one, const AccessFacts *other, int count) {
    uint64_t lines = 1;
    for (int l = 0; l < count; l++)
        lines = repeated(lines, one->strides[l] * one->bytes - other->strides[l] * other->bytes, stage->extents[l],
                         stage->machine);
    return lines;
}

/* The mean square, over all distances, of the part of loaded lines that are stored ones. */
static double mean_overlap(uint64_t loaded, uint64_t stored, uint64_t distances, int count) {
    double sum = 0;
    for (int d = 0; d < count; d++) {
        double part = (double)__builtin_popcountll(stored & turned(loaded, d, count)) / __builtin_popcountll(loaded);
        sum += distances >> d & 1 ? part * part : 0;
    }
    return sum / __builtin_popcountll(distances);
}

/* The stage that stores what this one leaves in registers; NULL: none. */
static const StageFacts *stage_that_stores(const Profile *profile, const StageFacts *stage) {
    for (int s = 0; s < profile->stage_count && stage->accesses[0].in_registers; s++) {
        const StageFacts *other = &profile->stages[s];
        for (int a = 1; a < other->access_count; a++)
            if (other->accesses[a].tensor == stage->accesses[0].tensor && !other->accesses[0].in_registers)
                return other;
    }
    return NULL;
}

/* Which part of one iteration's loads seems to hit the former one's stores: 0 to 1. Large buffers begin at the same
 * place of a page. */
static double aliased_part(const StageFacts *stage, const StageFacts *storing, int loop) {
    const AccessFacts *written = &storing->accesses[0];
    uint64_t stored = lines_touched(storing, written, loop + 1);
    int count = alias_lines(stage->machine);
    double part = 0;
    for (int a = 1; a < stage->access_count; a++) {
        const AccessFacts *access = &stage->accesses[a];
        if (access->in_registers || access->strides[loop] == 0 || access->size < PAGED_LEAST)
            continue;
        double moved = fmod(access->strides[loop] * access->bytes / stage->machine->line_bytes, count);
        uint64_t loaded = turned(lines_touched(stage, access, loop + 1), (int64_t)floor(moved), count);
        part = fmax(part, mean_overlap(loaded, stored, lines_apart(stage, access, written, loop + 1), count));
    }
    return part;
}

/* Cycles that the loads of a register tile wait because they seem to read what earlier tiles stored, until the stores
 * are done. */
static double alias_cycles(const Profile *profile, const StageFacts *stage) {
    const Machine *machine = stage->machine;
    bool waits = reduces(stage) && machine->alias_cost > 0;
    const StageFacts *storing = waits ? stage_that_stores(profile, stage) : NULL;
    if (!storing || storing->accesses[0].size < PAGED_LEAST || storing->loop_count < stage->outer_count)
        return 0;
    double stores = 1, cycles = 0, tiles = 1;
    for (int l = 0; l < stage->outer_count; l++)
        tiles *= stage->extents[l];
    for (int l = stage->outer_count; l < storing->loop_count; l++)
        stores *= storing->loops[l]->kind == LOOP_VECTORIZED ? loop_vectors(storing, l) : storing->extents[l];
    for (int l = stage->outer_count - 1; l >= 0 && stores <= machine->stores_waiting; l--) {
        double part = stage->extents[l] > 1 ? aliased_part(stage, storing, l) : 0;
        cycles += machine->alias_cost * part * tiles;
        tiles /= stage->extents[l];
        stores *= stage->extents[l];
    }
    return cycles;
}

/* --- everything --- */

/* How often a stage is computed at a loop, into memory that another stage then reads. */
static double entries(const StageFacts *stage) {
    double count = 1;
    if (!stage->stage->parent || stage->stage->parent->scan || stage->accesses[0].in_registers)
        return 0;
    for (int l = 0; l < stage->outer_count; l++)
        count *= stage->extents[l];
    return count;
}

static void add_stage(const Profile *profile, const StageFacts *whole, const Target *target, Estimate *estimate) {
    if (whole->iterations == 0)
        return;
    const Machine *machine = target->machine;
    double forks, part, busiest = 0, sum = 0, seconds[4], extents[whole->loop_count + 1];
    StageFacts thread = busiest_thread(whole, target, extents, &part, &forks), *stage = &thread;
    Block block = block_of(stage, target);
    double held = fmax(held_part(whole, stage, false), held_part(whole, stage, true));
    double cycles = block.runs * stage->kept * held * (block_cycles(&block) + conflict_cycles(stage, &block));
    cycles += foreign_lines(profile, stage, target) * machine->foreign_cost;
    cycles += entries(stage) * machine->entry_cost + shared_edges(stage, part) * machine->edge_cost +
              alias_cycles(profile, stage);
    seconds[0] = (cycles + page_cycles(stage, &block)) / machine->clock_rate;
    Block all = block;
    block_shape(whole, &all);
    for (int level = 0; level < 3; level++) {
        double cache = (double)machine->cache_bytes[level] * machine->usable_part[level];
        bool shared = level == LAST_CACHE; /* shared by all threads, as is the memory behind it */
        double bytes = traffic(profile, shared ? whole : stage, shared ? &all : &block, cache, level);
        seconds[level + 1] = bytes / machine->bytes_per_cycle[level] / machine->clock_rate;
        seconds[level + 1] *= shared ? fmax(part, machine->memory_part) : 1;
        estimate->level[level] += seconds[level + 1];
    }
    for (int i = 0; i < 4; i++) {
        busiest = fmax(busiest, seconds[i]);
        sum += seconds[i];
    }
    bool own = !stage->stage->parent || stage->stage->parent->scan; /* it has loops of its own */
    double overhead = own ? forks * machine->fork_seconds : 0;
    if (stage->accesses[0].temporary && stage->accesses[0].size > FAULTED_PAGES * machine->page_bytes)
        overhead += stage->accesses[0].size / machine->page_bytes * machine->fault_seconds;
    estimate->compute += seconds[0];
    estimate->overhead += overhead;
    estimate->seconds += busiest + machine->overlap_lost * (sum - busiest) + overhead;
    if (whole != &profile->stages[profile->heaviest])
        return;
    estimate->balance = 1 / fmax(part * thread_count(target), 1e-3);
    estimate->accumulators = block.accumulators;
    estimate->loads = block.loads / fmax(block.arithmetic, 1);
}

Estimate static_estimate(const Profile *profile, const Target *target) {
    Estimate estimate = {0};
    for (int s = 0; s < profile->stage_count; s++)
        add_stage(profile, &profile->stages[s], target, &estimate);
    return estimate;
}

double static_seconds(Arena *arena, const Nest *nest, const Target *target) {
    static const double sizes[] = {48, 1024};
    if (nest->program->size_count == 0)
        return static_estimate(profile_nest(arena, nest), target).seconds;
    double product = 1;
    for (int i = 0; i < 2; i++)
        product *= static_estimate(profile_nest_at(arena, nest, sizes[i]), target).seconds;
    return sqrt(product);
}
