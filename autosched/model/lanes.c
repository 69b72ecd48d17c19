/* lanes.c - see lanes.h. */
#include "autosched/model/lanes.h"
#include "lang/machine.h"
#include "lower/kernel/kernel.h"

#include <math.h>
#include <string.h>

enum { SHUFFLE_INDICES = 2 }; /* vectors of indices for shuffles */

bool loop_is_expanded(const StageFacts *stage, int loop) {
    return loop_kind_is_expanded(stage->loops[loop]->kind);
}

bool loop_is_tensorized(const StageFacts *stage, int loop) {
    return stage->loops[loop]->kind == LOOP_TENSORIZED;
}

bool stage_reduces(const StageFacts *stage) {
    return stage->stage->stage->reduction_count > 0;
}

bool stage_scans_rows(const StageFacts *stage) {
    const Stage *computed = stage->stage->stage;
    return computed->scan && !stage_reduces(stage) && computed->axis_count > 1 &&
           computed->step == computed->axis_count - 1;
}

double loop_vectors(const StageFacts *stage, int loop) {
    return ceil(stage->extents[loop] / stage->lanes);
}

bool access_is_vector(const StageFacts *stage, const AccessFacts *access) {
    bool along = false;
    for (int l = 0; l < stage->loop_count; l++)
        along |= stage->loops[l]->kind == LOOP_VECTORIZED && access->strides[l] != 0;
    return along;
}

/* The cost of a vector of consecutive elements. One as long as a cache line crosses lines unless all strides are whole
 * vectors. */
static double vector_cost(const StageFacts *stage, const AccessFacts *access) {
    double part = (double)stage->lanes * access->bytes / stage->machine->line_bytes;
    for (int l = 0; l < stage->loop_count; l++)
        if (stage->extents[l] > 1 && stage->loops[l]->kind != LOOP_VECTORIZED && !loop_is_tensorized(stage, l) &&
            fmod(access->strides[l], stage->lanes) != 0)
            return 1 + stage->machine->crossing_cost * fmin(part, 1);
    return 1;
}

enum { ROW_BYTES = 16 }; /* the least of a row in a block that is transposed */

/* The neighbouring columns that a run of the block reads one by one; 0: none, or what it reads is computed with. */
static double copied_columns(const StageFacts *stage, const AccessFacts *access) {
    double columns = 0;
    for (int l = 0; l < stage->loop_count; l++)
        if (stage->loops[l]->kind == LOOP_UNROLLED && access->strides[l] == 1)
            columns = larger(columns, stage->extents[l]);
    return stage->operations + stage->expensive > 0 || access->write ? 0 : columns;
}

/* Whether a block is read column by column, with neighbouring columns read too: the block of rows is transposed. */
static bool is_transposed(const StageFacts *stage, const AccessFacts *access) {
    return copied_columns(stage, access) * access->bytes >= ROW_BYTES;
}

/* What a vector of transposed blocks costs, the mean of all columns: those of a power of two are a block. Rows with
 * fewer columns than lanes share a vector: more loads, and fewer shuffles. What is left is gathered. */
static double transposed_cost(const StageFacts *stage, const AccessFacts *access) {
    double columns = copied_columns(stage, access), cost = 0, left = columns;
    for (double block = stage->lanes; block * access->bytes >= ROW_BYTES; block /= 2) {
        double rows = stage->lanes / block;
        cost += floor(left / block) * block * (stage->machine->transpose_cost + (rows - 1) - log2(rows));
        left = fmod(left, block);
    }
    return (cost + left * stage->lanes * stage->machine->gather_cost) / columns;
}

static bool is_whole_stride(const AccessFacts *access, int loop, double limit) {
    double stride = fabs(access->strides[loop]);
    return !access->irregular && stride == floor(stride) && stride > 1 && stride <= limit;
}

/* Whether whole vectors are read and a part of them is taken. */
static bool is_shuffled(const AccessFacts *access, int loop) {
    return !access->write && is_whole_stride(access, loop, SHUFFLED_STRIDE);
}

/* --- columns: interleaved lanes --- */

/* The access that counts for all those that differ in offsets alone. */
static const AccessFacts *first_shifted(const StageFacts *stage, const AccessFacts *access) {
    for (int a = 1; a < stage->access_count && access->shifts == 0; a++)
        if (stage->accesses[a].tensor == access->tensor && stage->accesses[a].shifts > 1)
            return &stage->accesses[a];
    return access;
}

/* How many elements the offsets of these accesses are apart. */
static double shifted_elements(const AccessFacts *access) {
    double elements = 0, step = 1;
    for (int d = access->rank - 1; d >= 0; d--) {
        elements += access->spread[d] * step;
        step *= access->dims[d];
    }
    return elements;
}

/* Whether an unrolled loop goes through elements between two lanes. */
static bool goes_between(const StageFacts *stage, const AccessFacts *access, int loop, double stride) {
    double step = fabs(access->strides[loop]);
    return stage->loops[loop]->kind == LOOP_UNROLLED && stage->extents[loop] > 1 && step > 0 && step < stride;
}

/* How many distinct vectors with this stride are interleaved. */
static double column_count(const StageFacts *stage, const AccessFacts *access, double stride) {
    double columns = access->shifts > 1 && shifted_elements(access) < stride ? access->shifts : 1;
    for (int l = 0; l < stage->loop_count; l++)
        if (goes_between(stage, access, l, stride))
            columns *= stage->extents[l];
    return smaller(columns, stride);
}

/* Registers that one run of the block loads or stores. */
static double column_vectors(const StageFacts *stage, const AccessFacts *access, int lanes) {
    double stride = access->strides[lanes], count = stride * loop_vectors(stage, lanes);
    for (int l = 0; l < stage->loop_count; l++)
        if (stage->loops[l]->kind == LOOP_UNROLLED && access->strides[l] != 0 &&
            !goes_between(stage, access, l, stride))
            count *= stage->extents[l];
    return count;
}

/* Whether the registers suffice for all columns that the steps of an unrolled reduction read, for the accumulators, and
 * for shuffle indices. */
static bool are_held(const StageFacts *stage, int lanes) {
    double held = loop_vectors(stage, lanes), widest = 0;
    bool steps = false;
    for (int l = 0; l < stage->loop_count; l++) {
        bool unrolled = stage->loops[l]->kind == LOOP_UNROLLED && stage->extents[l] > 1;
        steps |= unrolled && stage->loops[l]->reduction;
        held *= unrolled && !stage->loops[l]->reduction ? stage->extents[l] : 1;
    }
    for (int a = 1; a < stage->access_count; a++)
        if (stage->accesses[a].shifts > 0 && is_whole_stride(&stage->accesses[a], lanes, INTERLEAVED_STRIDE)) {
            held += column_vectors(stage, &stage->accesses[a], lanes);
            widest = larger(widest, fabs(stage->accesses[a].strides[lanes]));
        }
    held += widest > SHUFFLED_STRIDE ? widest / 2 + SHUFFLE_INDICES : 0;
    return !steps || held <= stage->registers;
}

static bool is_power_of_two(double lanes) {
    return lanes >= 1 && log2(lanes) == floor(log2(lanes));
}

/* Whether the lanes along a loop are loaded or stored together with those between them: a power of two of them. */
static bool is_interleaved(const StageFacts *stage, const AccessFacts *access, int loop) {
    double stride = access->strides[loop];
    if (stage->loops[loop]->kind != LOOP_VECTORIZED || !is_whole_stride(access, loop, INTERLEAVED_STRIDE) ||
        stride < 0 || !is_power_of_two(stage->extents[loop]))
        return false;
    double columns = column_count(stage, first_shifted(stage, access), stride);
    if (access->write)
        return columns == stride && stage->stage->stage->reduction_count == 0;
    return columns > 1 && (stride <= SHUFFLED_STRIDE || 2 * columns >= stride) && are_held(stage, loop);
}

/* The loop of interleaved lanes; -1: none. */
static int interleaved_loop(const StageFacts *stage, const AccessFacts *access) {
    for (int l = 0; l < stage->loop_count && !access->in_registers; l++)
        if (is_interleaved(stage, access, l))
            return l;
    return -1;
}

static double interleaved_vectors(const StageFacts *stage, const AccessFacts *access, int lanes) {
    bool again = access->shifts == 0 && shifted_elements(first_shifted(stage, access)) < access->strides[lanes];
    return again ? 0 : column_vectors(stage, access, lanes);
}

/* Shuffles for a register: one for each factor 2 of the stride, p for each other prime factor p; or the cost of an
 * instruction for whole columns. */
static double turns(const StageFacts *stage, double stride) {
    const Machine *machine = stage->machine;
    double shuffles = 0;
    if (stride <= stage->column_most)
        return machine->column_cost;
    for (double factor = 2; stride > 1;)
        if (fmod(stride, factor) == 0) {
            shuffles += (factor == 2 ? 1 : factor) + machine->shuffle_excess;
            stride /= factor;
        } else {
            factor++;
        }
    return shuffles;
}

/* --- all accesses --- */

double access_count_in_block(const StageFacts *stage, const AccessFacts *access) {
    int lanes = interleaved_loop(stage, access);
    double count = 1;
    if (lanes >= 0)
        return interleaved_vectors(stage, access, lanes) * vector_cost(stage, access);
    for (int l = 0; l < stage->loop_count; l++) {
        if (!loop_is_expanded(stage, l) || loop_is_tensorized(stage, l) || (access->strides[l] == 0))
            continue;
        if (stage->loops[l]->kind == LOOP_UNROLLED)
            count *= stage->extents[l];
        else if (fabs(access->strides[l]) == 1 || access->in_registers)
            count *= loop_vectors(stage, l) * (access->in_registers ? 1 : vector_cost(stage, access));
        else if (is_transposed(stage, access))
            count *= loop_vectors(stage, l) * transposed_cost(stage, access);
        else if (is_shuffled(access, l))
            count *= loop_vectors(stage, l) * fabs(access->strides[l]) * vector_cost(stage, access);
        else
            count *= stage->extents[l] * (access->write ? stage->machine->scatter_cost : stage->machine->gather_cost);
    }
    return count;
}

double access_gathered_lanes(const StageFacts *stage, const AccessFacts *access) {
    double lanes = 1;
    bool gathered = false;
    if (access->in_registers || access->write || interleaved_loop(stage, access) >= 0)
        return 0;
    for (int l = 0; l < stage->loop_count; l++) {
        if (!loop_is_expanded(stage, l) || loop_is_tensorized(stage, l) || access->strides[l] == 0)
            continue;
        lanes *= stage->extents[l];
        gathered |= stage->loops[l]->kind == LOOP_VECTORIZED && fabs(access->strides[l]) != 1 &&
                    !is_transposed(stage, access) && !is_shuffled(access, l);
    }
    return gathered ? lanes : 0;
}

double access_shuffles(const StageFacts *stage, const AccessFacts *access) {
    int together = interleaved_loop(stage, access);
    double count = 1, shuffles = 0;
    if (together >= 0)
        return interleaved_vectors(stage, access, together) * turns(stage, access->strides[together]);
    for (int l = 0; l < stage->loop_count; l++) {
        if (!loop_is_expanded(stage, l) || loop_is_tensorized(stage, l) || access->strides[l] == 0)
            continue;
        bool lanes = stage->loops[l]->kind == LOOP_VECTORIZED;
        count *= lanes ? loop_vectors(stage, l) : stage->extents[l];
        if (lanes && is_shuffled(access, l))
            shuffles = fabs(access->strides[l]) - 1;
        if (lanes && access->strides[l] < 0)
            shuffles++;
    }
    return access->in_registers || is_transposed(stage, access) ? 0 : count * shuffles;
}

double index_vectors(const StageFacts *stage, const AccessFacts *access, int dimension) {
    double count = 1;
    for (int l = 0; l < stage->loop_count; l++)
        if (loop_is_expanded(stage, l) && access->slopes[dimension * stage->loop_count + l] != 0)
            count *= stage->loops[l]->kind == LOOP_UNROLLED ? stage->extents[l] : loop_vectors(stage, l);
    return count;
}

/* --- clamped lanes --- */

/* The iterations before the last cut from the beginning, and behind the first one from the end. */
static double cut_off(const Loop *loop) {
    double iterations = 0;
    for (int c = 0; c < loop->cut_count; c++)
        if (loop->cuts[c] > 0)
            iterations = (double)loop->cuts[c];
        else
            return iterations - (double)loop->cuts[c];
    return iterations;
}

/* The part of the runs that tests a clamped index: those at the ends that a loop's cuts leave; without cuts all. Of
 * run-time sizes, which have no cuts, those of the two tiles at the ends, but all in a reduction, where these take the
 * most time. */
static double clamped_part(const StageFacts *stage, const AccessFacts *access, int dimension) {
    double part = 1, tiles = 1;
    for (int l = 0; l < stage->loop_count; l++) {
        if (access->slopes[dimension * stage->loop_count + l] == 0)
            continue;
        if (stage->loops[l]->cut_count > 0)
            part = fmin(part, cut_off(stage->loops[l]) / stage->extents[l]);
        if (!loop_is_expanded(stage, l))
            tiles *= stage->extents[l];
    }
    return stage_reduces(stage) || access->clamped[dimension] < CLAMP_SIZE ? part : fmin(part, 2 / tiles);
}

/* Whether an earlier access has the same index there. */
static bool was_clamped(const StageFacts *stage, int access, int dimension) {
    const AccessFacts *own = &stage->accesses[access];
    size_t slopes = sizeof *own->slopes * (size_t)stage->loop_count;
    for (int a = 1; a < access; a++) {
        const AccessFacts *other = &stage->accesses[a];
        if (other->tensor == own->tensor && other->clamped[dimension] &&
            other->offsets[dimension] == own->offsets[dimension] &&
            !memcmp(other->slopes + dimension * stage->loop_count, own->slopes + dimension * stage->loop_count, slopes))
            return true;
    }
    return false;
}

double clamp_tests(const StageFacts *stage) {
    double tests = 0;
    for (int a = 1; a < stage->access_count; a++)
        for (int d = 0; d < stage->accesses[a].rank; d++)
            if (stage->accesses[a].clamped[d] && !was_clamped(stage, a, d))
                tests += stage->accesses[a].clamped[d] * index_vectors(stage, &stage->accesses[a], d) *
                         clamped_part(stage, &stage->accesses[a], d);
    return tests * stage->machine->guarded_step_cost;
}
