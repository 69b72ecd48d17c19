/* features.c - the feature vector of a nest, made from its profile. features.def has the features in order. */
#include "autosched/model/features.h"

#include <math.h>
#include <string.h>

enum { LOOP_PLACES = 9, CURVE_ACCESSES = 3, CURVE_THRESHOLDS = 7, THRESHOLD_BITS = 3 };

enum {
#define TOTAL(name) FEATURE_##name,
#include "autosched/model/features.def"
#undef TOTAL
    TOTAL_COUNT
};

enum {
#define LOOP(name) LOOP_FEATURE_##name,
#include "autosched/model/features.def"
#undef LOOP
    LOOP_FEATURE_COUNT
};

enum {
#define CURVE(name) CURVE_FEATURE_##name,
#include "autosched/model/features.def"
#undef CURVE
    CURVE_FEATURE_COUNT
};

enum {
    LOOPS_AT = TOTAL_COUNT,
    CURVES_AT = LOOPS_AT + LOOP_PLACES * LOOP_FEATURE_COUNT,
    FEATURE_COUNT = CURVES_AT + CURVE_ACCESSES * CURVE_THRESHOLDS * CURVE_FEATURE_COUNT
};

#define EACH_PLACE(M) M(0) M(1) M(2) M(3) M(4) M(5) M(6) M(7) M(8)
#define EACH_SAMPLE(M, a) M(a, 0) M(a, 1) M(a, 2) M(a, 3) M(a, 4) M(a, 5) M(a, 6)

static const char *const names[FEATURE_COUNT] = {
#define TOTAL(name) #name,
#include "autosched/model/features.def"
#undef TOTAL
#define PLACE(p)                                                                                                       \
    "loop" #p ".extent", "loop" #p ".unrolled", "loop" #p ".vectorized", "loop" #p ".parallel",                        \
        "loop" #p ".reduction", "loop" #p ".outside", "loop" #p ".inside", "loop" #p ".bytes",
    EACH_PLACE(PLACE)
#define SAMPLE(a, t) "access" #a ".bytes" #t, "access" #a ".reuse" #t,
        EACH_SAMPLE(SAMPLE, 0) EACH_SAMPLE(SAMPLE, 1) EACH_SAMPLE(SAMPLE, 2)};

int feature_count(void) {
    return FEATURE_COUNT;
}

const char *feature_name(int feature) {
    return names[feature];
}

bool feature_is_estimate(int feature) {
    static const char prefix[] = "static_";
    return strncmp(names[feature], prefix, sizeof prefix - 1) == 0;
}

static float log_of(double value) {
    return value > 0 ? (float)log2(1 + value) : 0;
}

/* The logarithm of seconds, from a part of a nanosecond up. */
static float seconds_log(double seconds) {
    return (float)log2(fmax(seconds, 1e-10) * 1e10);
}

/* --- totals --- */

static void estimate_features(const Profile *profile, const Target *target, float *values) {
    Estimate estimate = static_estimate(profile, target);
    values[FEATURE_static_speed] = -(float)log2(fmax(estimate.seconds, 1e-10));
    values[FEATURE_static_compute] = seconds_log(estimate.compute);
    values[FEATURE_static_near_traffic] = seconds_log(estimate.level[0]);
    values[FEATURE_static_middle_traffic] = seconds_log(estimate.level[1]);
    values[FEATURE_static_far_traffic] = seconds_log(estimate.level[2]);
    values[FEATURE_static_overhead] = seconds_log(estimate.overhead);
    values[FEATURE_balance] = (float)estimate.balance;
    values[FEATURE_accumulators] = (float)estimate.accumulators;
    values[FEATURE_loads_per_operation] = (float)estimate.loads;
}

static void loop_totals(const StageFacts *stage, float *values) {
    double body = 1, parallel = 1;
    for (int l = 0; l < stage->loop_count; l++) {
        LoopKind kind = stage->loops[l]->kind;
        if (kind == LOOP_PARALLEL) {
            bool first = l == 0 || stage->loops[l - 1]->var != stage->loops[l]->var;
            parallel = first ? stage->extents[l] : parallel * stage->extents[l];
            values[FEATURE_parallel_extent] = log_of(parallel);
            values[FEATURE_parallel_loops] += first;
        } else if (kind == LOOP_VECTORIZED) {
            values[FEATURE_vector_extent] = (float)stage->extents[l];
            values[FEATURE_lanes_used] = (float)(stage->extents[l] / stage->lanes);
        } else if (kind == LOOP_UNROLLED) {
            body *= stage->extents[l];
        } else if (stage->extents[l] > 1) {
            values[FEATURE_innermost_serial] = log_of(stage->extents[l]);
        }
    }
    values[FEATURE_unrolled_body] = log_of(body);
}

static int vector_loop(const StageFacts *stage) {
    for (int l = stage->loop_count - 1; l >= 0; l--)
        if (stage->loops[l]->kind == LOOP_VECTORIZED)
            return l;
    return -1;
}

static void access_totals(const StageFacts *stage, float *values) {
    int lane = vector_loop(stage);
    for (int a = 1; a < stage->access_count; a++) {
        const AccessFacts *access = &stage->accesses[a];
        double stride = lane < 0 ? 0 : access->strides[lane];
        values[FEATURE_gathered_reads] += access->irregular;
        values[FEATURE_guarded_reads] += access->guarded;
        values[FEATURE_contiguous_reads] += stride == 1;
        values[FEATURE_broadcast_reads] += stride == 0;
        values[FEATURE_strided_reads] += stride != 0 && stride != 1;
    }
    if (lane >= 0)
        values[FEATURE_store_stride] = log_of(fabs(stage->accesses[0].strides[lane]));
}

static void copy_totals(const Profile *profile, float *values) {
    double bytes = 0, iterations = 0;
    for (int s = 0; s < profile->stage_count; s++) {
        const StageFacts *stage = &profile->stages[s];
        if (s == profile->heaviest || stage->accesses[0].in_registers || !profile_counts(profile, s))
            continue;
        bytes += stage->accesses[0].temporary ? stage->accesses[0].size : 0;
        iterations += stage->iterations;
    }
    values[FEATURE_copied_bytes] = log_of(bytes);
    values[FEATURE_copy_iterations] = log_of(iterations);
}

/* --- the loops of the heaviest stage --- */

static double all_bytes(const StageFacts *stage, int depth) {
    double bytes = 0;
    for (int a = 0; a < stage->access_count; a++)
        bytes += access_footprint(stage, &stage->accesses[a], depth);
    return bytes;
}

static void loop_features(const StageFacts *stage, float *values) {
    double inside = 1;
    int place = 0;
    for (int l = stage->loop_count - 1; l >= 0 && place < LOOP_PLACES; l--) {
        float *loop = values + LOOPS_AT + place * LOOP_FEATURE_COUNT;
        inside *= stage->extents[l];
        if (stage->extents[l] <= 1)
            continue;
        loop[LOOP_FEATURE_extent] = log_of(stage->extents[l]);
        loop[LOOP_FEATURE_unrolled] = stage->loops[l]->kind == LOOP_UNROLLED;
        loop[LOOP_FEATURE_vectorized] = stage->loops[l]->kind == LOOP_VECTORIZED;
        loop[LOOP_FEATURE_parallel] = stage->loops[l]->kind == LOOP_PARALLEL;
        loop[LOOP_FEATURE_reduction] = stage->loops[l]->reduction;
        loop[LOOP_FEATURE_outside] = log_of(stage->iterations / fmax(inside, 1));
        loop[LOOP_FEATURE_inside] = log_of(inside);
        loop[LOOP_FEATURE_bytes] = log_of(all_bytes(stage, l));
        place++;
    }
}

/* What the largest body whose work stays below a threshold touches of an access, and its reuse. */
typedef struct BodySample {
    double bytes, reuse;
} BodySample;

/* Loops that run once change nothing. Larger bodies come later, in place of smaller ones. */
static int sample_bodies(const StageFacts *stage, const AccessFacts *access, BodySample *samples) {
    double inside = 1;
    int first = CURVE_THRESHOLDS; /* that has a body below it */
    for (int l = stage->loop_count - 1; l >= -1; l--) {
        if (l + 1 == stage->loop_count || stage->extents[l + 1] != 1) {
            double bytes = access_footprint(stage, access, l + 1);
            BodySample sample = {bytes, inside / larger(bytes / access->bytes, 1)};
            int t = CURVE_THRESHOLDS;
            while (t > 0 && inside <= (double)(1 << t * THRESHOLD_BITS))
                t--;
            first = t < first ? t : first;
            for (; t < CURVE_THRESHOLDS; t++)
                samples[t] = sample;
        }
        inside *= l >= 0 ? stage->extents[l] : 1;
    }
    return first;
}

static void curve_features(const StageFacts *stage, const AccessFacts *access, float *curve) {
    BodySample samples[CURVE_THRESHOLDS];
    float bytes = 0, reuse = 0;
    int first = sample_bodies(stage, access, samples);
    for (int t = first; t < CURVE_THRESHOLDS; t++) {
        if (t == first || samples[t].bytes != samples[t - 1].bytes)
            bytes = log_of(samples[t].bytes);
        if (t == first || samples[t].reuse != samples[t - 1].reuse)
            reuse = log_of(samples[t].reuse);
        curve[t * CURVE_FEATURE_COUNT + CURVE_FEATURE_bytes] = bytes;
        curve[t * CURVE_FEATURE_COUNT + CURVE_FEATURE_reuse] = reuse;
    }
}

void profile_features(const Profile *profile, const Nest *nest, float *values) {
    memset(values, 0, sizeof *values * FEATURE_COUNT);
    if (profile->stage_count == 0)
        return;
    const StageFacts *stage = &profile->stages[profile->heaviest];
    estimate_features(profile, nest->target, values);
    values[FEATURE_operations] = log_of(profile->operations);
    values[FEATURE_heaviest_part] = (float)(stage->iterations * stage->operations / fmax(profile->operations, 1));
    values[FEATURE_register_count] = (float)nest_register_count(nest, nest->target);
    values[FEATURE_stages] = (float)profile->stage_count;
    values[FEATURE_guards] = (float)stage->stage->guard_count;
    loop_totals(stage, values);
    access_totals(stage, values);
    copy_totals(profile, values);
    loop_features(stage, values);
    for (int a = 0; a < stage->access_count && a < CURVE_ACCESSES; a++)
        curve_features(stage, &stage->accesses[a], values + CURVES_AT + a * CURVE_THRESHOLDS * CURVE_FEATURE_COUNT);
}

void features_extract(Arena *arena, const Nest *nest, float *values) {
    profile_features(profile_nest(arena, nest), nest, values);
}

void features_of_parts(Arena *arena, const Nest *nest, const int *part, int parts, float *values) {
    const Profile *profile = profile_nest(arena, nest);
    bool *left_out = ARENA_ARRAY(arena, bool, profile->stage_count + 1);
    for (int p = 0; p < parts; p++) {
        for (int s = 0; s < profile->stage_count; s++)
            left_out[s] = true;
        for (int n = 0; n < nest->stage_count; n++)
            for (int s = 0; s < profile->stage_count && part[n] == p; s++)
                left_out[s] &= profile->stages[s].stage != nest->stages[n];
        Profile some = profile_of_some(profile, left_out);
        profile_features(&some, nest, values + (size_t)p * FEATURE_COUNT);
    }
}

float features_static_score(const float *values) {
    return values[FEATURE_static_speed];
}
