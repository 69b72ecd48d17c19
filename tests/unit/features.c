/* features.c - feature vectors: the table, and that they tell schedules apart in the way that matters. */
#include "autosched/model/features.h"
#include "autosched/autosched.h"
#include "autosched/space/groups.h"
#include "lang/random.h"
#include "tests/tap.h"
#include "tests/unit/programs.h"

#include <math.h>
#include <string.h>

static Target target;

static int feature_by_name(const char *name) {
    for (int f = 0; f < feature_count(); f++)
        if (strcmp(feature_name(f), name) == 0)
            return f;
    return -1;
}

static float *features_of(Arena *arena, const Program *program, const Schedule *schedule) {
    float *values = ARENA_ARRAY(arena, float, feature_count());
    Nest *nest = nest_build(arena, program, schedule, NULL, &target, NULL);
    if (nest)
        features_extract(arena, nest, values);
    return values;
}

static void test_table(void) {
    int distinct = 0, named = 0, count = feature_count();
    for (int f = 0; f < count; f++) {
        named += feature_name(f) && *feature_name(f);
        distinct += feature_by_name(feature_name(f)) == f;
    }
    ok(count > 100 && named == count, "all %d features have a name", count);
    is_int(distinct, count, "each its own");
}

/* The names of each version, as a number: a row more or less is another version. */
static void test_version(void) {
    static const struct {
        int version;
        uint64_t names;
    } versions[] = {{1, 0x95842cd6506b6054}};
    uint64_t names = 0;
    bool known = false;
    for (int f = 0; f < feature_count(); f++)
        for (const char *at = feature_name(f); *at; at++)
            names = hash_mix(names + (unsigned char)*at);
    for (size_t v = 0; v < sizeof versions / sizeof *versions; v++)
        known |= versions[v].version == FEATURE_VERSION && versions[v].names == names;
    ok(known, "version %d has the features 0x%016llx", FEATURE_VERSION, (unsigned long long)names);
}

static bool all_finite(const float *values) {
    for (int f = 0; f < feature_count(); f++)
        if (!isfinite(values[f]))
            return false;
    return true;
}

static void test_programs(Arena *arena) {
    Program *programs[] = {
        program_matmul(arena, TYPE_FLOAT, 64, 64, 64),  program_matmul(arena, TYPE_FLOAT, 0, 1, 0),
        program_matmul(arena, TYPE_FLOAT, -1, -1, -1),  program_softmax(arena, 10, 100),
        program_embed(arena, 1000, 64, 8, 16),          program_blur(arena, TYPE_FLOAT, 100),
        program_transpose(arena, TYPE_DOUBLE, 30, 300), program_accumulate(arena, TYPE_FLOAT, 30, 30, 30),
    };
    int finite = 0, same = 0, wanted = 2 * (int)(sizeof programs / sizeof *programs);
    for (int p = 0; p < wanted; p++) {
        Effort effort = p % 2 ? EFFORT_FIXED : EFFORT_IDENTITY;
        Schedule *schedule = autosched_default(arena, programs[p / 2], &target, NULL, effort, 0);
        float *values = features_of(arena, programs[p / 2], schedule),
              *again = features_of(arena, programs[p / 2], schedule);
        finite += all_finite(values);
        same += memcmp(values, again, sizeof *values * (size_t)feature_count()) == 0;
    }
    is_int(finite, wanted, "all features of all programs are finite");
    is_int(same, wanted, "and the same again");
}

static void test_differences(Arena *arena) {
    Program *program = program_matmul(arena, TYPE_FLOAT, 256, 256, 256);
    float *plain = features_of(arena, program, autosched_default(arena, program, &target, NULL, EFFORT_IDENTITY, 0));
    float *tiled = features_of(arena, program, autosched_default(arena, program, &target, NULL, EFFORT_MODEL, 0));
    int speed = feature_by_name("static_speed"), vectors = feature_by_name("vector_extent");
    int accumulators = feature_by_name("accumulators"), parallel = feature_by_name("parallel_loops");
    ok(speed >= 0 && tiled[speed] > plain[speed] + 2,
       "a tiled matmul is thought at least 4 times as fast as a plain one");
    ok(features_static_score(tiled) == tiled[speed], "the static score is that feature");
    ok(plain[vectors] == 0 && tiled[vectors] == 16, "vectors of 16 floats are seen");
    ok(tiled[accumulators] >= 8 && tiled[accumulators] <= 31, "%g accumulators fit the registers", tiled[accumulators]);
    ok(plain[parallel] == 0 && tiled[parallel] >= 1, "the parallel loop is seen");
    Space *space = space_new(arena, program, &target, NULL);
    Random random = {1};
    int point[space->gene_count], differing = 0;
    for (int i = 0; i < 40; i++) {
        point_random(space, &random, point);
        float *values = features_of(arena, program, point_schedule(arena, space, point));
        differing += memcmp(values, tiled, sizeof *values * (size_t)feature_count()) != 0;
        tiled = values;
    }
    ok(differing >= 39, "other points have other features");
}

int main(void) {
    Arena *arena = arena_new();
    target = *target_find("x86-64-v4");
    target.threads = 2;
    test_table();
    test_version();
    test_programs(arena);
    test_differences(arena);
    arena_free(arena);
    return done_testing();
}
