/* memory.c - see memory.h. */
#include "autosched/model/memory.h"
#include "autosched/model/lanes.h"
#include "lang/machine.h"

#include <math.h>
#include <string.h>

/* Bytes fetched for each byte that the body of the first `depth` loops touches: whole lines of a cache, or pages, and
 * all rows in a line. */
static double line_times(const StageFacts *stage, const AccessFacts *access, int depth, double line) {
    double times = 1, unit = access->bytes;
    for (int d = access->rank - 1; d >= 0; d--) {
        double reach = smaller(access_reach(stage, access, d, depth), access->dims[d]), room = unit * access->dims[d];
        if (d == 0 || room >= line)
            return unit * reach < line && room > unit * reach ? times * line / (unit * reach) : times;
        times *= access->dims[d] / larger(reach, 1);
        unit = room;
    }
    return times;
}

/* Bytes in whole cache lines, unless the loop outside touches the rest of the line. */
static double line_bytes(const StageFacts *stage, const AccessFacts *access, int depth) {
    if (access->in_registers)
        return 0;
    double times = line_times(stage, access, depth > 0 ? depth - 1 : 0, stage->machine->line_bytes);
    return access_footprint(stage, access, depth) * times;
}

/* The largest power of two that divides a distance, up to the period of a cache's sets. */
static double common_power(double distance, double line, double period) {
    int64_t whole = (int64_t)distance;
    if ((double)whole != distance)
        return line;
    return whole == 0 ? period : smaller(larger((double)(whole & -whole), line), period);
}

/* The cache space that the body of the first `depth` loops needs. Rows at a distance divisible by a large power of two
 * share few sets, as if each were that long. */
static double occupied_bytes(const StageFacts *stage, const AccessFacts *access, int depth) {
    double bytes = line_bytes(stage, access, depth), rows = 1, distance = access->bytes, run = 1;
    double line = stage->machine->line_bytes, period = stage->machine->set_bytes;
    if (access->in_registers || access->rank < 2)
        return bytes;
    for (int d = access->rank - 1; d >= 0; d--) {
        double reach = smaller(access_reach(stage, access, d, depth), access->dims[d]);
        if (rows == 1 && run == larger(distance / access->bytes, 1))
            run *= reach; /* still contiguous */
        else if (reach > 1) {
            rows *= reach;
            bytes = larger(bytes, rows * (distance < line ? distance : common_power(distance, line, period)));
        }
        distance *= access->dims[d];
    }
    return bytes;
}

/* How much more the access touches together with those that are shifted against it. */
static double shifted_times(const StageFacts *stage, const AccessFacts *access, int depth) {
    double times = 1;
    for (int d = 0; d < access->rank && access->shifts > 1; d++) {
        double reach = smaller(access_reach(stage, access, d, depth), access->dims[d]);
        times *= smaller(reach + access->spread[d], access->dims[d]) / larger(reach, 1);
    }
    return smaller(times, access->shifts);
}

static double sum_of_bytes(const StageFacts *stage, int depth) {
    double bytes = 0;
    for (int a = 0; a < stage->access_count; a++)
        bytes += occupied_bytes(stage, &stage->accesses[a], depth) * shifted_times(stage, &stage->accesses[a], depth);
    return bytes;
}

/* Kept, as footprints are. A line is whole or not by the loop outside. */
static double body_bytes(const StageFacts *stage, int depth) {
    if (depth <= stage->changed && stage->changed > 0)
        return sum_of_bytes(stage, depth);
    if (stage->bodies[depth] == 0)
        stage->bodies[depth] = sum_of_bytes(stage, depth);
    return stage->bodies[depth];
}

double page_cycles(const StageFacts *stage, int serial) {
    double cycles = 0;
    if (serial < 0 || stage_scans_rows(stage))
        return 0;
    const Machine *machine = stage->machine;
    double extent = stage->extents[serial], page = machine->page_bytes;
    for (int a = 0; a < stage->access_count; a++) {
        double distance = fabs(stage->accesses[a].strides[serial]) * stage->accesses[a].bytes;
        if (!stage->accesses[a].in_registers && distance > page / 4 && distance * extent > machine->near_pages * page)
            cycles += machine->page_cost * smaller(distance / page, 1);
    }
    return cycles;
}

/* The part of a body's lines or pages that are gone when they are needed again: nothing of a body up to `least`, all of
 * one from `most` on. */
static double lost_part(double body, double least, double most) {
    return body <= least ? 0 : body >= most ? 1 : (body - least) / (most - least);
}

/* The loops that the body of the first `depth` loops is entered from; what the last one does not change mostly stays
 * in it. */
static double entered(const StageFacts *stage, const AccessFacts *access, int depth) {
    double count = 1;
    if (depth > 0 && access->strides[depth - 1] == 0)
        depth--;
    for (int l = 0; l < depth; l++)
        count *= stage->extents[l];
    return count;
}

/* Pages of the body of the first `depth` loops; a page whose rest the first `whole` loops touch counts in part. */
static double pages_of(const StageFacts *stage, const AccessFacts *access, int depth, int whole) {
    double page = stage->machine->page_bytes;
    if (access->in_registers)
        return 0;
    double bytes = access_footprint(stage, access, depth) * shifted_times(stage, access, depth);
    return bytes * line_times(stage, access, whole, page) / page;
}

static double pages_of_body(const StageFacts *stage, int depth) {
    double pages = 0;
    for (int a = 0; a < stage->access_count; a++)
        pages += pages_of(stage, &stage->accesses[a], depth, depth);
    return pages;
}

static double entered_pages(const StageFacts *stage, int depth) {
    double pages = 0;
    for (int a = 0; a < stage->access_count; a++) {
        const AccessFacts *access = &stage->accesses[a];
        pages += pages_of(stage, access, depth, depth - 1) * entered(stage, access, depth);
    }
    return pages;
}

/* Like traffic_bytes, of pages. */
double page_walks(const StageFacts *stage, int serial) {
    const Machine *machine = stage->machine;
    double least = machine->known_pages[0], most = machine->known_pages[1], walks = pages_of_body(stage, 0);
    int depth = serial + 1;
    if (walks <= least)
        return 0;
    while (depth > 0 && pages_of_body(stage, depth - 1) <= least)
        depth--;
    for (int d = 1; d <= depth; d++) {
        double lost = lost_part(pages_of_body(stage, d - 1), least, most);
        walks = lost * entered_pages(stage, d) + (1 - lost) * walks;
    }
    return walks;
}

/* A contiguous run of elements, and how many such runs are walked side by side. */
typedef struct ElementRuns {
    double length, count, distance; /* distance: between the runs added last */
    double places;                  /* of those runs; loops of the same stride overlap */
} ElementRuns;

static void runs_add(ElementRuns *runs, double stride, double extent) {
    if (stride <= runs->length) {
        runs->length += stride * (extent - 1);
        return;
    }
    double places = stride == runs->distance ? runs->places + extent - 1 : extent;
    runs->count *= places / (stride == runs->distance ? runs->places : 1);
    runs->distance = stride;
    runs->places = places;
}

/* A step of an access: of one of its loops, or, numbered behind them, along a dimension to the accesses that are
 * shifted against it. */
static double step_of(const StageFacts *stage, const AccessFacts *access, int number, double *extent) {
    double stride = 1;
    if (number < stage->loop_count) {
        *extent = stage->extents[number];
        return fabs(access->strides[number]);
    }
    *extent = access->spread[number - stage->loop_count] + 1;
    for (int d = number - stage->loop_count + 1; d < access->rank; d++)
        stride *= access->dims[d];
    return stride;
}

typedef struct AccessStep {
    double stride, extent;
} AccessStep;

/* Steps of an access, short ones first; of equal ones, outer loops first. */
typedef struct AccessSteps {
    AccessStep *items;
    int count;
} AccessSteps;

/* Adds a step that is outside of all those that are there. */
static void steps_add(AccessSteps *steps, AccessStep step) {
    int at = steps->count;
    if (!(step.stride > 0) || !(step.extent > 1))
        return;
    for (steps->count++; at > 0 && steps->items[at - 1].stride >= step.stride; at--)
        steps->items[at] = steps->items[at - 1];
    steps->items[at] = step;
}

static void steps_add_number(AccessSteps *steps, const StageFacts *stage, const AccessFacts *access, int number) {
    AccessStep step;
    step.stride = step_of(stage, access, number, &step.extent);
    steps_add(steps, step);
}

/* The runs of the steps: all is taken as touched at about the same time. */
static ElementRuns runs_of(const AccessSteps *steps) {
    ElementRuns runs = {1, 1, 0, 1};
    for (int s = 0; s < steps->count; s++)
        runs_add(&runs, steps->items[s].stride, steps->items[s].extent);
    return runs;
}

/* Bytes touched in sequence before another part of the buffer: the hardware prefetches these. It follows a few runs
 * side by side as well as one. */
static double sequential_bytes(const StageFacts *stage, const AccessFacts *access, double near) {
    int from = stage->loop_count, last = from + (access->shifts > 1 ? access->rank : 0) - 1;
    AccessStep items[last + 2];
    AccessSteps steps = {.items = items};
    for (int s = last; s >= from; s--)
        steps_add_number(&steps, stage, access, s);
    ElementRuns runs = runs_of(&steps);
    for (int l = from - 1; l >= 0 && access_footprint(stage, access, l) <= near; l--) {
        steps_add_number(&steps, stage, access, l);
        ElementRuns more = runs_of(&steps);
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

/* The part of a loop body's fetches that miss in its next run, because the body exceeds the cache: its usable part. The
 * pages of a body share the sets of the second cache at random, so that some sets have too many lines before the cache
 * is full. The last cache is not strictly LRU: some of a body that barely exceeds it stays. */
static double missing_part(const Machine *machine, double body, double cache, int level) {
    if (level == LAST_CACHE)
        return smaller(larger(machine->excess_missing * (body - cache) / body, 0), 1);
    double lost_at = level == 0 ? 0 : machine->lost_at * (double)machine->cache_bytes[level];
    return lost_part(body, cache, larger(cache, lost_at));
}

int common_loops(const StageFacts *a, const StageFacts *b) {
    int count = 0;
    while (count < a->loop_count && count < b->loop_count && a->loops[count]->var == b->loops[count]->var)
        count++;
    return count;
}

/* The mean bytes of an access that each iteration of the loop before `depth` is the first to touch. */
static double fresh_bytes(const StageFacts *stage, const AccessFacts *access, int depth) {
    return access_footprint(stage, access, depth - 1) / stage->extents[depth - 1];
}

/* Whether the other access touches as much of the tensor in an iteration of common loops: reads the same, or writes
 * what is new in a window that slides. */
static bool covers(const StageFacts *other, const AccessFacts *by, const StageFacts *stage, const AccessFacts *access,
                   int common) {
    if (by->tensor != access->tensor)
        return false;
    if (!by->write) /* planes that are read one by one count together */
        return access_footprint(stage, access, common) <=
               access_footprint(other, by, common) * shifted_times(other, by, common);
    bool slides = by->strides[common - 1] != 0 && access->strides[common - 1] != 0;
    return slides && fresh_bytes(stage, access, common) <= fresh_bytes(other, by, common) + stage->machine->line_bytes;
}

enum { COMPARED = 256 }; /* accesses of earlier stages: in a fused nest of thousands each has as many before it */

/* Whether an earlier stage in the same iteration of common loops touched as much of the tensor, and all that both touch
 * there stays in the cache. bodies: of the stage and of each other one together, where they are known. */
static bool was_touched_before(const Profile *profile, const StageFacts *stage, const AccessFacts *access, double cache,
                               double *bodies) {
    int before = 0, left = COMPARED;
    while (before < profile->stage_count && profile->stages[before].stage != stage->stage)
        before++;
    for (int s = before - 1; s >= 0 && left > 0; s--) {
        const StageFacts *other = &profile->stages[s];
        int common = common_loops(stage, other);
        for (int a = 0; a < other->access_count && common > 0 && left > 0; a++, left--) {
            if (!covers(other, &other->accesses[a], stage, access, common))
                continue;
            if (bodies[s] == 0)
                bodies[s] = body_bytes(stage, common) + body_bytes(other, common);
            if (bodies[s] - line_bytes(stage, access, common) <= cache)
                return true;
        }
    }
    return false;
}

/* Bytes that move into a cache which holds the body of the first `depth` loops and no more. What is read and what is
 * written move in part at the same time behind the last cache. sequences: of each access, where they are known; they
 * are the same at all depths. */
static double moved_bytes(const Profile *profile, const StageFacts *stage, int depth, double cache, int level,
                          double *sequences) {
    const Machine *machine = stage->machine;
    double bytes[2] = {0}, bodies[profile->stage_count + 1];
    memset(bodies, 0, sizeof bodies);
    for (int a = 0; a < stage->access_count; a++) {
        const AccessFacts *access = &stage->accesses[a];
        double moved = line_bytes(stage, access, depth) * shifted_times(stage, access, depth);
        moved *= entered(stage, access, depth);
        moved *= access->write                                               ? machine->written_times[level]
                 : was_touched_before(profile, stage, access, cache, bodies) ? 0
                                                                             : 1;
        if (moved == 0)
            continue;
        if (sequences[a] == 0)
            sequences[a] = sequential_bytes(stage, access, machine->run_near[level]);
        double started = machine->run_start[level] / sequences[a];
        bytes[access->write] += moved * (1 + smaller(started, machine->most_started[access->write]));
    }
    double together = level == LAST_CACHE ? machine->both_ways * smaller(bytes[0], bytes[1]) : 0;
    return bytes[0] + bytes[1] - together;
}

/* Goes outwards from the block while the body fits. What stays of a larger body moves as often as a body further
 * outside needs it; what a cache holds whole is there before. */
double traffic_bytes(const Profile *profile, const StageFacts *stage, int serial, double cache, int level) {
    const Machine *machine = stage->machine;
    int depth = serial + 1;
    double sequences[stage->access_count + 1];
    memset(sequences, 0, sizeof sequences);
    while (depth > 0 && missing_part(machine, body_bytes(stage, depth - 1), cache, level) <= 0)
        depth--;
    int gone = depth; /* nothing stays of the bodies around */
    while (gone > 0 && missing_part(machine, body_bytes(stage, gone - 1), cache, level) < 1)
        gone--;
    double bytes = gone == 0 ? 0 : moved_bytes(profile, stage, gone, cache, level, sequences);
    for (int d = gone + 1; d <= depth; d++) {
        double missing = missing_part(machine, body_bytes(stage, d - 1), cache, level);
        bytes = missing * moved_bytes(profile, stage, d, cache, level, sequences) + (1 - missing) * bytes;
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
    return step == 0 ? 1 : smaller(1 + reach / step, places);
}

/* Successive runs of the block that find an access on the same cache line. */
static double runs_on_line(const StageFacts *stage, const AccessFacts *access, int serial) {
    double step = serial >= 0 ? fabs(access->strides[serial]) * access->bytes : 0;
    return step > 0 ? fmax(stage->machine->line_bytes / step, 1) : 1;
}

/* Cycles to fetch a line again whose set has `excess` lines too many. For scalars on one line the fetch overlaps with
 * the use of the last ones. */
static double conflict_cycles_of_line(const StageFacts *stage, const AccessFacts *access, int serial, double excess) {
    const Machine *machine = stage->machine;
    if (access_is_vector(stage, access))
        return machine->conflict_cost * fmin(excess / 2, 1);
    double cycles = fmin(machine->scalar_conflict_cost * excess * excess, machine->scalar_conflict_most);
    return cycles / runs_on_line(stage, access, serial);
}

/* Lines of an access, and the sets of the nearest cache that they fall into. */
typedef struct Sets {
    double lines, count;
} Sets;

static void sets_add(Sets *sets, double places, double distance, const Machine *machine, double *most) {
    double apart = machine->set_bytes / common_power(distance, machine->line_bytes, machine->set_bytes);
    sets->lines *= places;
    sets->count *= smaller(places, apart);
    *most = larger(*most, apart);
}

/* Of a run of the block, or, with a serial loop, of all its runs in that loop. */
static Sets sets_of_block(const StageFacts *stage, const AccessFacts *access, int serial) {
    Sets sets = {1, 1};
    double most = 1;
    for (int d = 0; d < access->rank; d++) {
        double unit, places = reached_places(stage, access, d, &unit);
        if (places > 1 && unit >= stage->machine->line_bytes)
            sets_add(&sets, places, unit, stage->machine, &most);
    }
    if (serial >= 0)
        sets_add(&sets, stage->extents[serial], fabs(access->strides[serial]) * access->bytes, stage->machine, &most);
    sets.count = smaller(sets.count, most);
    return sets;
}

/* Cycles of a run of the block for conflict misses: too many lines fall into one set of the nearest cache, whose sets
 * repeat after a period. They increase from the last way on. */
static double read_conflicts(const StageFacts *stage, const AccessFacts *access, int serial) {
    Sets sets = sets_of_block(stage, access, -1);
    double excess = fmax(sets.lines / sets.count - (stage->machine->set_lines - 2), 0);
    return sets.lines * conflict_cycles_of_line(stage, access, serial, excess);
}

/* Whether the stage stores what another one left in registers: its stores wait while the next tile is computed. */
static bool stores_tile(const StageFacts *stage) {
    for (int a = 1; a < stage->access_count; a++)
        if (stage->accesses[a].in_registers)
            return true;
    return false;
}

/* Cycles of a run of the block for stores that wait for each other: one run after the other misses in the same few
 * sets, each of which fetches only as many lines at a time as it has. */
static double write_conflicts(const StageFacts *stage, const AccessFacts *access, int serial) {
    if (serial < 0 || access->strides[serial] == 0 || stores_tile(stage))
        return 0;
    double ways = stage->machine->set_lines;
    Sets walked = sets_of_block(stage, access, serial);
    if (walked.lines <= walked.count * ways)
        return 0;
    return sets_of_block(stage, access, -1).lines * stage->machine->conflict_cost * fmax(log2(ways / walked.count), 0);
}

double conflict_cycles(const StageFacts *stage, int serial) {
    double cycles = 0;
    for (int a = 0; a < stage->access_count && !stage_scans_rows(stage); a++) {
        const AccessFacts *access = &stage->accesses[a];
        if (!access->in_registers)
            cycles += access->write ? write_conflicts(stage, access, serial) : read_conflicts(stage, access, serial);
    }
    return cycles;
}
