/* static.c - an analytic estimate of the time of a nest: what -O2 chooses by, and where a search begins.
 *
 * A stage's inner block is its unrolled and vectorized loops. The block takes the largest of: multiply-adds over the
 * ports, loads over the ports, stores, all instructions over the issue width, and the latency of each accumulator's
 * chain. Traffic between two levels of the memory is the footprint of the largest loop body that fits the nearer one,
 * times its runs (as ROLLER and the cache models before it do). All is counted for the thread that has most iterations
 * of the parallel loop, which are in one piece.
 *
 * What a machine does in how much time is its row of machines.def; only ratios matter, since estimates are compared
 * with each other alone.
 */
#include "autosched/model/lanes.h"
#include "autosched/model/model.h"
#include "lang/machine.h"

#include <math.h>
#include <string.h>

/* What the C library does, whatever the machine: so many bytes of memory begin where a page does; more pages than those
 * are given back, and touched for the first time again. */
enum { PAGED_LEAST = 1 << 16, FAULTED_PAGES = 32 };

typedef struct Block {
    const Machine *machine;
    double runs;                      /* of the block */
    double slots;                     /* of a port that one of its instructions takes */
    double vectors;                   /* vector operations of one evaluation of the body in it */
    double arithmetic, loads, stores; /* instructions */
    double guards, edges;             /* instructions more at the edges, part of the runs that is there */
    double accumulators;              /* vectors that live across the reduction */
    double operands;                  /* vectors that one step of the block needs besides */
    double spilled;                   /* vectors that are stored and loaded again for want of registers */
    double chain;                     /* cycles that dependences take */
    int serial;                       /* innermost loop that is run as a loop, -1: none */
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

/* Vectors of an access that have to be kept while the block runs once: all that lie inside of an expanded loop which
 * does not change the access, for they are used again in its next iteration. */
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

/* Processors that split their widest vectors work on them in two steps. */
static double port_slots(const StageFacts *stage, const Target *target) {
    double lanes = 1;
    for (int l = 0; l < stage->loop_count; l++)
        if (stage->loops[l]->kind == LOOP_VECTORIZED || loop_is_tensorized(stage, l))
            lanes *= stage->extents[l];
    bool widest = lanes * stage->accesses[0].bytes > target->vector_bytes / 2.0;
    return widest ? target->machine->widest_slots : 1;
}

static bool reduces(const StageFacts *stage) {
    return stage->stage->stage->reduction_count > 0;
}

/* Part of all runs in which a guarded access of a reduction can be outside of its buffer: for the other tiles there is
 * a copy of the loops without the guard. Padded are dimensions that places and taps have together; two sides of each.
 */
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

/* Distinct tests of the indices of a guarded access in one run of the block; those that no loop around it changes are
 * made before. */
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

/* In a scan along memory, whose rows are computed one after the other: each step waits for the one before. */
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

/* Steps of the reduction in one run of the block. */
static double unrolled_steps(const StageFacts *stage) {
    double steps = 1;
    for (int l = 0; l < stage->loop_count; l++)
        if (stage->loops[l]->kind == LOOP_UNROLLED && stage->loops[l]->reduction)
            steps *= stage->extents[l];
    return steps;
}

/* Accumulators and operands beyond the registers are stored and loaded again in each step; what is computed for another
 * stage of the tile, once. */
static void block_spills(const StageFacts *stage, const Target *target, Block *block) {
    double registers = target->vector_registers;
    double needed = block->accumulators + block->operands;
    double held =
        reduces(stage) || !stage->accesses[0].in_registers ? 0 : access_count_in_block(stage, &stage->accesses[0]);
    block->spilled = fmax(held - registers, 0);
    if (block->accumulators > 0 && needed > registers)
        block->spilled = (needed - registers) * unrolled_steps(stage);
}

/* Of what runs at the same time, with some more instructions. */
static double busy_cycles(const Block *block, double more) {
    const Machine *machine = block->machine;
    double cycles = fmax(block->arithmetic / machine->arithmetic_ports, block->loads / machine->load_ports);
    cycles = fmax(cycles, block->stores / machine->store_ports) * block->slots;
    cycles = fmax(cycles, (block->arithmetic + block->loads + block->stores + more) / machine->issue_width);
    return fmax(cycles, block->chain);
}

static double block_cycles(const Block *block) {
    const Machine *machine = block->machine;
    double cycles = busy_cycles(block, 0);
    cycles += block->edges * (busy_cycles(block, block->guards) - cycles);
    double body = block->arithmetic + block->loads + block->stores;
    if (body > machine->decoded_most) /* twice as much takes half as long again */
        cycles *= 1 + (body - machine->decoded_most) / (2 * machine->decoded_most);
    return cycles + machine->spill_cost * block->spilled + (block->serial >= 0 ? machine->loop_cost : 0);
}

/* Steps by halves of a block that combines the lanes of a register; 0: it does something else. */
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
    block.arithmetic = block.vectors * (stage->operations + stage->machine->function_cost * stage->expensive);
    block_reads(stage, &block);
    block_writes(stage, &block);
    block_spills(stage, target, &block);
    return block;
}

/* --- memory --- */

/* How much more is fetched than what the body of the first `depth` loops touches: whole cache lines, and of rows
 * shorter than one all of them. */
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

/* Bytes with whole cache lines, where neighbours along a line are not touched by the loop outside either. */
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

/* The room that the body of the first `depth` loops needs of a cache: rows whose distance is a multiple of a large
 * power of two share few sets, as if each were that long. */
static double occupied_bytes(const StageFacts *stage, const AccessFacts *access, int depth) {
    double bytes = line_bytes(stage, access, depth), rows = 1, distance = access->bytes, run = 1;
    double line = stage->machine->line_bytes, period = stage->machine->set_bytes;
    if (access->in_registers || access->rank < 2)
        return bytes;
    for (int d = access->rank - 1; d >= 0; d--) {
        double reach = fmin(access_reach(stage, access, d, depth), access->dims[d]);
        if (rows == 1 && run == fmax(distance / access->bytes, 1))
            run *= reach; /* still in one piece */
        else if (reach > 1)
            bytes =
                fmax(bytes, (rows *= reach) * (distance < line ? distance : common_power(distance, line, period)));
        distance *= access->dims[d];
    }
    return bytes;
}

/* How much more than the access alone it touches together with those that are shifted against it. */
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

/* Cycles for the translation of addresses: a loop that goes on by a page or more in each iteration, over more pages
 * than the first level of the translation cache holds. */
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

/* A run of elements that lie in one piece, and how many such runs are gone through side by side. */
typedef struct Runs {
    double length, count, distance; /* distance: of the last ones that were put side by side */
    double places;                  /* of those; loops of the same stride overlap */
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

/* The loops from one on, short steps first: all that is touched is touched soon. */
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

/* Bytes that are touched one after the other before another part of the buffer is gone to: what the hardware fetches
 * ahead. A few such runs side by side are followed as well as one. */
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

/* Part of what a loop body fetches that is not there any more from its last run, for more does not fit into the
 * cache. The last cache does not drop what was used longest ago, so that some of a body that hardly exceeds it
 * stays. */
static double missing_part(const Machine *machine, double body, double cache, int level) {
    return level == 2 ? fmin(machine->excess_missing * (body - cache) / body, 1) : 1;
}

static int common_loops(const StageFacts *a, const StageFacts *b) {
    int count = 0;
    while (count < a->loop_count && count < b->loop_count && a->loops[count]->var == b->loops[count]->var)
        count++;
    return count;
}

/* Whether a stage before this one, in the same iteration of loops around both, has read as much of the same, and
 * what both touch in it stays in the cache. */
static bool was_read_before(const Profile *profile, const StageFacts *stage, const AccessFacts *access, double cache) {
    for (int s = 0; s < profile->stage_count && profile->stages[s].stage != stage->stage; s++) {
        const StageFacts *other = &profile->stages[s];
        int common = common_loops(stage, other);
        for (int a = 1; a < other->access_count && common > 0; a++)
            if (other->accesses[a].tensor == access->tensor &&
                access_footprint(stage, access, common) <= access_footprint(other, &other->accesses[a], common) &&
                body_bytes(stage, common) + body_bytes(other, common) - line_bytes(stage, access, common) <= cache)
                return true;
    }
    return false;
}

/* Bytes that move into a cache of a size and a level. Depth goes outward from the block while the body fits. */
static double traffic(const Profile *profile, const StageFacts *stage, const Block *block, double cache, int level) {
    const Machine *machine = stage->machine;
    int depth = block->serial + 1;
    double body = 0, bytes = 0;
    while (depth > 0 && (body = body_bytes(stage, depth - 1)) <= cache)
        depth--;
    for (int a = 0; a < stage->access_count; a++) {
        const AccessFacts *access = &stage->accesses[a];
        double moved = line_bytes(stage, access, depth) * shifted_times(stage, access, depth);
        int first = depth;
        if (first > 0 && access->strides[first - 1] == 0)
            first--; /* what the next loop does not change mostly stays */
        for (int l = 0; l < first; l++)
            moved *= stage->extents[l];
        moved *= access->write ? machine->written_times[level] : was_read_before(profile, stage, access, cache) ? 0 : 1;
        double started =
            moved > 0 ? fmin(machine->run_start[level] / sequential_bytes(stage, access, machine->run_near[level]),
                             machine->most_started[access->write])
                      : 0;
        bytes += moved * (1 + started);
    }
    return depth == 0 ? 0 : bytes * missing_part(machine, body, cache, level);
}

/* Places along a dimension that expanded loops reach, and the bytes between them: the shortest step of these loops.
 * Loops along one dimension reach overlapping ones. */
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

/* Runs of the block that find an access on the same cache line, one after the other. */
static double runs_on_line(const AccessFacts *access, const Block *block) {
    double step = block->serial >= 0 ? fabs(access->strides[block->serial]) * access->bytes : 0;
    return step > 0 ? fmax(block->machine->line_bytes / step, 1) : 1;
}

/* Cycles to fetch a line again, of a set that so many lines too many fall into. Scalars of a line are wanted one after
 * the other: it comes for the next ones while the last are used. */
static double conflict_cycles_of_line(const StageFacts *stage, const AccessFacts *access, const Block *block,
                                      double excess) {
    const Machine *machine = stage->machine;
    if (access_is_vector(stage, access))
        return machine->conflict_cost * fmin(excess / 2, 1);
    double cycles = fmin(machine->scalar_conflict_cost * excess * excess, machine->scalar_conflict_most);
    return cycles / runs_on_line(access, block);
}

/* Cycles of a run of the block for lines that are fetched again because too many of them fall into the same set of the
 * nearest cache, which repeats its sets after a period. From the last way on more and more do. */
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

/* The stage as the busiest thread runs it: of the parallel loop its piece alone, of what that is fused of the inner
 * loops whole. *part is its part of all iterations; *forks counts entries of parallel loops. */
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

/* Part of the iterations of a thread that predicates leave, when its loops begin at their first values or end at
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

/* Ends of pieces of memory that the busiest thread writes in turns with another one: what the hardware fetches ahead of
 * the one, the other has just written. Short pieces are no streams that it follows. */
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

/* The stage that computes what another one reads, in loops of its own; NULL: none of the profile. */
static const StageFacts *producer_of(const Profile *profile, const StageFacts *stage, const AccessFacts *access) {
    for (int s = 0; s < profile->stage_count && access->temporary; s++)
        if (profile->stages[s].accesses[0].tensor == access->tensor && !profile->stages[s].accesses[0].in_registers &&
            common_loops(&profile->stages[s], stage) == 0)
            return &profile->stages[s];
    return NULL;
}

/* Lines of a temporary that the busiest thread reads and another one has written, and will write again: they are in the
 * nearer caches of both. The first threads are taken to begin with the first elements. */
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

/* Lines of a distance at which loads seem to read what was stored, a bit each: the number of bits. */
static int alias_lines(const Machine *machine) {
    return machine->alias_bytes / machine->line_bytes;
}

static uint64_t turned(uint64_t lines, int64_t by, int count) {
    by &= count - 1;
    return by ? (lines << by | lines >> (count - by)) & UINT64_MAX >> (64 - count) : lines;
}

/* Lines, a bit each, and those `times` - 1 times a step further on: of many bytes, or less than a line. */
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

/* The lines that the loops from `first` on touch of an access that begins at the first one. */
static uint64_t lines_touched(const StageFacts *stage, const AccessFacts *access, int first) {
    uint64_t lines = 1;
    for (int l = first; l < stage->loop_count; l++)
        lines = repeated(lines, access->strides[l] * access->bytes, stage->extents[l], stage->machine);
    return lines;
}

/* How far, in lines, the first `count` loops move one access more than the other. */
static uint64_t lines_apart(const StageFacts *stage, const AccessFacts *one, const AccessFacts *other, int count) {
    uint64_t lines = 1;
    for (int l = 0; l < count; l++)
        lines = repeated(lines, one->strides[l] * one->bytes - other->strides[l] * other->bytes, stage->extents[l],
                         stage->machine);
    return lines;
}

/* The mean square of the part of the loaded lines that are stored ones, over all distances. */
static double mean_overlap(uint64_t loaded, uint64_t stored, uint64_t distances, int count) {
    double sum = 0;
    for (int d = 0; d < count; d++) {
        double part =
            (double)__builtin_popcountll(stored & turned(loaded, d, count)) / __builtin_popcountll(loaded);
        sum += distances >> d & 1 ? part * part : 0;
    }
    return sum / __builtin_popcountll(distances);
}

/* The stage that stores what this one leaves in registers; NULL: none does. */
static const StageFacts *stage_that_stores(const Profile *profile, const StageFacts *stage) {
    for (int s = 0; s < profile->stage_count && stage->accesses[0].in_registers; s++) {
        const StageFacts *other = &profile->stages[s];
        for (int a = 1; a < other->access_count; a++)
            if (other->accesses[a].tensor == stage->accesses[0].tensor && !other->accesses[0].in_registers)
                return other;
    }
    return NULL;
}

/* How much of what is loaded in one iteration of a loop seems to be what was stored in the former one: from 0 to 1.
 * Large buffers begin at the same place of a page. */
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

/* Cycles that the loads of a register tile wait because they seem to read what was stored of the tiles before, until
 * the stores are done. */
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

/* Times that a stage is computed at a loop, into memory that another one reads then. */
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
        bool shared = level == 2; /* by all threads, as is the memory behind it */
        double bytes = traffic(profile, shared ? whole : stage, shared ? &all : &block, cache, level);
        seconds[level + 1] = bytes / machine->bytes_per_cycle[level] / machine->clock_rate;
        seconds[level + 1] *= shared ? fmax(part, machine->memory_part) : 1;
        estimate->level[level] += seconds[level + 1];
    }
    for (int i = 0; i < 4; i++) {
        busiest = fmax(busiest, seconds[i]);
        sum += seconds[i];
    }
    bool own = !stage->stage->parent || stage->stage->parent->scan; /* its loops are not another stage's */
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
