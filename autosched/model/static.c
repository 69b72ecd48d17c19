/* static.c - an analytic estimate of the time of a nest: -O2 chooses by it, and searches begin with it.
 *
 * A stage's inner block is its unrolled and vectorized loops. The block takes the largest of these times: multiply-adds
 * on their ports, loads on theirs, stores, all instructions at the issue width, and the latency of each accumulator's
 * chain. Traffic between two levels of memory is that of memory.h. All is counted for the thread with the most
 * iterations of the parallel loop, whose share is contiguous.
 *
 * What a machine does in how much time is its row of machines.def. Only ratios matter, since estimates are compared
 * with each other alone.
 */
#include "autosched/model/lanes.h"
#include "autosched/model/memory.h"
#include "autosched/model/model.h"
#include "lang/machine.h"
#include "lang/value.h"

#include <math.h>
#include <string.h>

/* What the C library does on every machine: allocations from PAGED_LEAST bytes on begin on a page; those of more pages
 * than FAULTED_PAGES are given back, and fault again when they are touched. */
enum { PAGED_LEAST = 1 << 16, FAULTED_PAGES = 32 };
enum { DIVIDED_LEAST = 16 }; /* bytes: what shorter vectors take */

enum { GATHERED_BYTES = 4 }; /* no instruction gathers narrower elements: each lane is inserted into its vector */

typedef struct BlockEstimate {
    const Machine *machine;
    double runs;                      /* of the block */
    double slots;                     /* port slots that one instruction takes */
    double vectors;                   /* vector operations of one evaluation of the block */
    double arithmetic, loads, stores; /* instructions */
    double gathered;                  /* lanes of gathers */
    double guards, edges;             /* extra instructions at the edges; part of the runs at edges */
    double divider;                   /* cycles of the divider */
    double clamps;                    /* extra instructions for clamped lanes */
    double accumulators;              /* vectors that live across the reduction */
    double operands;                  /* other vectors that one step of the block needs */
    double held;                      /* vectors that wait for later steps */
    double masks;                     /* vectors for masks at the edges, where masks have no registers of their own */
    double steps;                     /* of the reduction, in one run of the block */
    double chain;                     /* cycles of dependence chains */
    int serial;                       /* innermost loop that stays a loop; -1: none */
} BlockEstimate;

static void block_shape(const StageFacts *stage, BlockEstimate *block) {
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
    double divisions = fmax(stage->divisions - stage->repeated_divisions, 0);
    return vectors * divisions * stage->machine->divide_cost * bytes / DIVIDED_BYTES;
}

/* The part of the runs in which an index of a guarded access may be outside; of a reduction, other tiles have a copy
 * without its tests. A dimension is padded if places and taps share it; it has two sides. */
static double edge_part(const StageFacts *stage, const AccessFacts *access, int dimension) {
    double tiles = 1, taps = 0, places = 0;
    for (int l = 0; l < stage->loop_count; l++) {
        if (access->slopes[dimension * stage->loop_count + l] == 0)
            continue;
        taps += stage->loops[l]->reduction;
        places += !stage->loops[l]->reduction;
        if (!stage->loops[l]->reduction && !loop_is_expanded(stage, l))
            tiles *= stage->extents[l];
    }
    if (!stage_reduces(stage))
        return 1;
    return taps > 0 && places > 0 ? fmin(2 / tiles, 1) : 0;
}

static bool changes_outside(const StageFacts *stage, const AccessFacts *access, int dimension) {
    for (int l = 0; l < stage->loop_count; l++)
        if (access->slopes[dimension * stage->loop_count + l] != 0 && stage->extents[l] > 1 &&
            !loop_is_expanded(stage, l))
            return true;
    return false;
}

/* Distinct index tests of a guarded access in one run of the block, the mean of all runs. Tests that no outer loop
 * changes are made before it. *edges: the part of the runs that have any. */
static double block_tests(const StageFacts *stage, const AccessFacts *access, double *edges) {
    double tests = 1, inside = 1;
    bool changes = false;
    for (int d = 0; d < access->rank; d++) {
        if (!access->tested[d])
            continue;
        double part = edge_part(stage, access, d);
        inside *= 1 - part;
        tests *= 1 - part + part * index_vectors(stage, access, d);
        changes |= changes_outside(stage, access, d);
    }
    *edges = 1 - inside;
    return changes ? fmax(tests - inside, 0) : 0;
}

enum { EDGE_MASKS = 2 }; /* of the vectors of a row, the first and the last one alone have lanes outside */

/* Masks of the lanes of a guarded access: of each row the same ones. */
static double lane_masks(const StageFacts *stage, const AccessFacts *access) {
    double masks = 0;
    for (int d = 0; d < access->rank; d++)
        for (int l = 0; l < stage->loop_count && access->tested[d]; l++)
            if (stage->loops[l]->kind == LOOP_VECTORIZED && access->slopes[d * stage->loop_count + l] != 0)
                masks = fmax(masks, fmin(index_vectors(stage, access, d), EDGE_MASKS));
    return masks;
}

static void block_guards(const StageFacts *stage, const Target *target, const AccessFacts *access, double loads,
                         BlockEstimate *block) {
    double edges, tests = block_tests(stage, access, &edges);
    bool waits = stage_reduces(stage) && !access_is_vector(stage, access);
    if (edges == 0)
        return;
    block->guards += waits ? loads * stage->machine->guarded_step_cost : tests / edges * stage->machine->guard_cost;
    block->edges = fmax(block->edges, edges);
    block->masks = fmax(block->masks, target->mask_registers ? 0 : lane_masks(stage, access));
}

static void block_reads(const StageFacts *stage, const Target *target, BlockEstimate *block) {
    for (int a = 1; a < stage->access_count; a++) {
        const AccessFacts *access = &stage->accesses[a];
        double count = access_count_in_block(stage, access);
        if (access->in_registers || count == 0)
            continue;
        bool still = block->serial >= 0 && access->strides[block->serial] == 0;
        double loads = (still ? count / stage->extents[block->serial] : count) * (1 - access->repeated);
        block->loads += loads;
        double lanes = access_gathered_lanes(stage, access) * loads / count;
        block->gathered += lanes;
        block->arithmetic += access->bytes < GATHERED_BYTES ? stage->machine->insert_cost * lanes : 0;
        block->arithmetic += access_shuffles(stage, access) * loads / count;
        if (access->guarded)
            block_guards(stage, target, access, loads, block);
        block->operands += still ? count : live_operands(stage, access);
        block->held += access->held;
    }
}

static void block_writes(const StageFacts *stage, BlockEstimate *block) {
    const AccessFacts *written = &stage->accesses[0];
    int components = stage->stage->stage->component_count;
    double count = access_count_in_block(stage, written), steps = block->vectors / (count < 1 ? 1 : count);
    if (!stage_reduces(stage)) {
        block->stores = written->in_registers ? 0 : count * components;
        block->arithmetic += access_shuffles(stage, written) * components;
        block->chain = stage_scans_rows(stage) ? stage->machine->memory_latency : 0;
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

/* Vectors that spill in one run of the block, with `more` that need a register: accumulators and operands beyond the
 * registers in each step; of what waits for later steps, the part that the registers left do not hold. A stage that
 * computes for another one of its tile spills once. */
static double block_spills(const StageFacts *stage, const BlockEstimate *block, double more) {
    double left = stage->registers - (block->accumulators + block->operands + more);
    if (block->accumulators > 0) {
        double spilled = left < 0 ? -left * block->steps : 0, room = fmax(left, 0);
        return spilled + (block->held > room ? block->loads * (1 - room / block->held) : 0);
    }
    bool held = !stage_reduces(stage) && stage->accesses[0].in_registers;
    return held ? fmax(access_count_in_block(stage, &stage->accesses[0]) - stage->registers, 0) : 0;
}

/* The cycles of what runs in parallel, with `more` instructions added, and those of what spills. */
static double busy_cycles(const BlockEstimate *block, double more, double spilled) {
    const Machine *machine = block->machine;
    double cycles = larger(block->arithmetic / machine->arithmetic_ports, block->loads / machine->load_ports);
    cycles = larger(cycles, block->stores / machine->store_ports) * block->slots;
    cycles = larger(cycles, (block->arithmetic + block->loads + block->stores + more) / machine->issue_width);
    double waits = spilled > 0 && block->accumulators > 0 ? machine->memory_latency * block->steps : 0;
    return larger(cycles, larger(larger(block->chain, waits), block->divider)) +
           machine->spill_cost * block->slots * spilled;
}

static double block_cycles(const StageFacts *stage, const BlockEstimate *block) {
    const Machine *machine = block->machine;
    double cycles = busy_cycles(block, block->clamps, block_spills(stage, block, 0));
    if (block->edges > 0) {
        double spilled = block_spills(stage, block, block->masks);
        cycles += block->edges * (busy_cycles(block, block->clamps + block->guards, spilled) - cycles);
    }
    double body = block->arithmetic + block->loads + block->stores;
    if (body > machine->decoded_most) /* twice as much takes 1.5 times as long */
        cycles *= 1 + (body - machine->decoded_most) / (2 * machine->decoded_most);
    cycles += machine->gather_alone * block->gathered;
    return cycles + (block->serial >= 0 ? machine->loop_cost : 0);
}

/* The cycles that the load ports need for all runs of a block, with the lines that come into the first cache: a tile
 * whose every product reads memory has no room for them. */
static double load_cycles(const BlockEstimate *block, double runs, double lines) {
    return (runs * block->loads * block->slots + lines * block->machine->line_loads) / block->machine->load_ports;
}

/* Halving steps of a block that combines the lanes of a register; 0: it is no such block. */
static double across_steps(const StageFacts *stage, const BlockEstimate *block) {
    bool lanes =
        stage_reduces(stage) && stage->access_count == 2 && stage->accesses[1].in_registers && block->vectors > 1;
    for (int l = 0; l < stage->loop_count && lanes; l++)
        lanes = !loop_is_expanded(stage, l) || stage->extents[l] <= 1 ||
                (stage->loops[l]->kind == LOOP_UNROLLED && stage->accesses[0].strides[l] == 0 &&
                 stage->accesses[1].strides[l] == 1);
    return lanes ? ceil(log2(block->vectors)) : 0;
}

static BlockEstimate block_of(const StageFacts *stage, const Target *target) {
    BlockEstimate block = {.machine = stage->machine};
    block_shape(stage, &block);
    block.slots = port_slots(stage, target);
    double across = across_steps(stage, &block);
    if (across > 0) {
        block.arithmetic = across * fmax(stage->operations, 1);
        block.chain = across * stage->machine->chain_latency;
        return block;
    }
    double functions = stage->expensive - stage->divisions - stage->repeated_functions;
    block.arithmetic = block.vectors * (fmax(stage->operations - stage->repeated, 0) + stage->conversions +
                                        stage->machine->function_cost * fmax(functions, 0));
    block.divider = divider_cycles(stage, target, block.vectors);
    block.clamps = clamp_tests(stage);
    block_reads(stage, target, &block);
    block_writes(stage, &block);
    block.steps = unrolled_steps(stage);
    return block;
}

/* --- threads --- */

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
    double piece = ceil(all / target_threads(target));
    *part = all > 0 ? piece / all : 1;
    *forks = 1;
    for (int l = 0; l < first; l++)
        *forks *= extents[l];
    for (int l = last - 1; l >= first; l--) {
        double whole = extents[l];
        extents[l] = smaller(whole, larger(piece, 1));
        piece /= larger(whole, 1);
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
        double reach = smaller(access_reach(thread, written, d, 0), written->dims[d]);
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
    for (int a = 1; a < thread->access_count && target_threads(target) > 1; a++) {
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

static uint64_t rotated(uint64_t lines, int64_t by, int count) {
    by &= count - 1;
    return by ? (lines << by | lines >> (count - by)) & UINT64_MAX >> (64 - count) : lines;
}

/* Adds to a set of lines the same lines `times` - 1 further steps on; a step may be many bytes, or less than a line.
 * Steps that lead around all lines begin again. */
static uint64_t repeated(uint64_t lines, double bytes, double times, const Machine *machine) {
    int64_t step = (int64_t)bytes;
    int count = alias_lines(machine);
    if (bytes == 0 || times <= 1)
        return lines;
    if (fabs(bytes) < machine->line_bytes) {
        times = ceil(times * fabs(bytes) / machine->line_bytes);
        step = machine->line_bytes;
    }
    uint64_t all = lines;
    int64_t round = (int64_t)machine->line_bytes * count;
    times = smaller(times, count);
    for (int i = 1; i < times && i * step % round != 0; i++)
        all |= rotated(lines, floor_div(i * step, machine->line_bytes), count);
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
        double part = (double)__builtin_popcountll(stored & rotated(loaded, d, count)) / __builtin_popcountll(loaded);
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
        uint64_t loaded = rotated(lines_touched(stage, access, loop + 1), (int64_t)floor(moved), count);
        part = fmax(part, mean_overlap(loaded, stored, lines_apart(stage, access, written, loop + 1), count));
    }
    return part;
}

/* Cycles that the loads of a register tile wait because they seem to read what earlier tiles stored, until the stores
 * are done. */
static double alias_cycles(const Profile *profile, const StageFacts *stage) {
    const Machine *machine = stage->machine;
    bool waits = stage_reduces(stage) && machine->alias_cost > 0;
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

/* Of a stage or of all that is computed in the loops of one: seconds of the busiest thread, of one thread that does it
 * all, and to start threads. */
typedef struct ThreadTime {
    double busy, alone, fork;
} ThreadTime;

/* What a stage does at the same time: arithmetic, traffic between the first two caches, filling the second one, and
 * looking up pages. */
enum { PART_ARITHMETIC, PART_NEAR, PART_FILL, PART_PAGES, PART_COUNT };

/* Seconds of the longest part, and what it does not hide of the others. */
static double overlapped(const double *seconds, const Machine *machine) {
    int longest = 0;
    double lost = 0;
    for (int i = 1; i < PART_COUNT; i++)
        longest = seconds[i] > seconds[longest] ? i : longest;
    for (int i = 0; i < PART_COUNT; i++) {
        bool near = i == PART_NEAR || (i == PART_ARITHMETIC && longest == PART_NEAR);
        lost += i == longest ? 0 : seconds[i] * (near ? machine->near_lost : machine->overlap_lost);
    }
    return seconds[longest] + lost;
}

/* Adds to the estimate what is not to be summed by loops. */
static ThreadTime add_stage(const Profile *profile, const StageFacts *whole, const Target *target, Estimate *estimate) {
    if (whole->iterations == 0)
        return (ThreadTime){0};
    const Machine *machine = target->machine;
    double forks, part, seconds[PART_COUNT], extents[whole->loop_count + 1];
    StageFacts thread = busiest_thread(whole, target, extents, &part, &forks), *stage = &thread;
    BlockEstimate block = block_of(stage, target);
    double held = larger(held_part(whole, stage, false), held_part(whole, stage, true));
    double runs = block.runs * stage->kept * held;
    double near = traffic_bytes(profile, stage, block.serial, machine->cache_bytes[0] * machine->usable_part[0], 0);
    double cycles = runs * (block_cycles(stage, &block) + conflict_cycles(stage, block.serial));
    cycles = larger(cycles, load_cycles(&block, runs, near / machine->line_bytes));
    cycles += foreign_lines(profile, stage, target) * machine->foreign_cost;
    cycles += entries(stage) * machine->entry_cost + shared_edges(stage, part) * machine->edge_cost +
              alias_cycles(profile, stage);
    seconds[PART_ARITHMETIC] = (cycles + page_cycles(stage, block.serial) * block.runs) / machine->clock_rate;
    BlockEstimate all = block;
    block_shape(whole, &all);
    double bytes[3], moved[3];
    for (int level = 0; level < 3; level++) {
        double cache = (double)machine->cache_bytes[level] * machine->usable_part[level];
        bool shared = level == LAST_CACHE; /* shared by all threads, as is the memory behind it */
        bytes[level] = level == 0 ? near
                                  : traffic_bytes(profile, shared ? whole : stage, shared ? all.serial : block.serial,
                                                  cache, level);
        moved[level] = bytes[level] / machine->bytes_per_cycle[level] / machine->clock_rate;
        moved[level] *= shared ? larger(part, machine->memory_part) : 1;
        estimate->level[level] += moved[level];
    }
    double from_memory = smaller(bytes[LAST_CACHE] * part / larger(bytes[1], 1), 1);
    seconds[PART_NEAR] = moved[0];
    seconds[PART_FILL] = moved[LAST_CACHE] + moved[1] * (1 - from_memory); /* one line waits for the other */
    seconds[PART_PAGES] = page_walks(stage, block.serial) * machine->walk_cost / machine->clock_rate;
    bool own = !stage->stage->parent || stage->stage->parent->scan; /* it has loops of its own */
    double overhead = 0;
    if (stage->accesses[0].temporary && stage->accesses[0].size > FAULTED_PAGES * machine->page_bytes)
        overhead += stage->accesses[0].size / machine->page_bytes * machine->fault_seconds;
    estimate->compute += seconds[PART_ARITHMETIC];
    estimate->overhead += overhead;
    double busy = overlapped(seconds, machine);
    ThreadTime time = {busy + overhead, busy / larger(part, 1e-6) + overhead, own ? forks * machine->fork_seconds : 0};
    if (whole != &profile->stages[profile->heaviest])
        return time;
    estimate->balance = 1 / larger(part * target_threads(target), 1e-3);
    estimate->accumulators = block.accumulators;
    estimate->loads = block.loads / larger(block.arithmetic, 1);
    return time;
}

/* The stage whose loops hold this one; its own number if these are its own. */
static int outermost(const Profile *profile, int number) {
    const NestStage *stage = profile->stages[number].stage;
    while (stage->parent && !stage->parent->scan)
        stage = stage->parent;
    for (int s = 0; s < profile->stage_count; s++)
        if (profile->stages[s].stage == stage)
            return s;
    return number;
}

/* Loops with little work are not shared out when they run (backends/llvm/launch.c): then one thread does it all, after
 * a test. */
static double launched_seconds(const ThreadTime *time, const Machine *machine) {
    double test = time->fork * machine->fork_test;
    return time->fork > 0 ? fmin(time->busy + time->fork, time->alone + test) : time->busy;
}

Estimate static_estimate(const Profile *profile, const Target *target) {
    Estimate estimate = {0};
    ThreadTime times[profile->stage_count + 1]; /* of the loops of each stage */
    double busy = 0, alone = 0;
    memset(times, 0, sizeof times);
    for (int s = 0; s < profile->stage_count; s++) {
        if (!profile_counts(profile, s))
            continue;
        ThreadTime own = add_stage(profile, &profile->stages[s], target, &estimate);
        ThreadTime *time = &times[outermost(profile, s)];
        time->busy += own.busy;
        time->alone += own.alone;
        time->fork += own.fork;
    }
    for (int s = 0; s < profile->stage_count; s++) {
        double seconds = launched_seconds(&times[s], target->machine);
        estimate.seconds += seconds;
        estimate.overhead += fmax(seconds - times[s].busy, 0);
        busy += times[s].busy;
        alone += times[s].alone;
    }
    estimate.shared = alone > 0 ? busy / alone : 1;
    return estimate;
}

/* The most dimensions of a tensor that run-time sizes decide. */
static int run_time_dimensions(const Tensor *tensor) {
    int count = 0;
    int64_t known;
    for (int d = 0; d < tensor->rank; d++)
        count += !expr_is_int(tensor->dims[d], &known);
    return count;
}

static int most_dimensions(const Nest *nest) {
    int most = 1;
    for (int s = 0; s < nest->stage_count; s++) {
        const Stage *stage = nest->stages[s]->stage;
        int count = run_time_dimensions(stage->components[0].tensor);
        most = count > most ? count : most;
        EACH_VALUE_READ(read, stage) {
            count = run_time_dimensions(read->tensor);
            most = count > most ? count : most;
        }
    }
    return most;
}

/* Run-time sizes are a small and a large one by turns: the more dimensions a tensor has, the shorter they are. Parallel
 * loops cost next to nothing where these have too little work for threads, and pay where sizes are larger. */
double static_seconds(Arena *arena, const Nest *nest, const Target *target) {
    static const double sizes[][2] = {{48, 1024}, {48, 160}, {28, 56}, {16, 28}};
    enum { ROWS = sizeof sizes / sizeof *sizes, MATRIX = 2 };
    if (nest->program->size_count == 0)
        return static_estimate(profile_nest(arena, nest), target).seconds;
    int row = most_dimensions(nest) - MATRIX;
    const double *pair = sizes[row < 0 ? 0 : row < ROWS ? row : ROWS - 1];
    Estimate small = static_estimate(profile_nest_at(arena, nest, pair[0]), target);
    Estimate large = static_estimate(profile_nest_at(arena, nest, pair[1]), target);
    return sqrt(small.seconds * large.seconds) * large.shared;
}
