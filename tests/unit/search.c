/* search.c - cost models that learn, and policies that use them: on a synthetic machine, where the truth is a formula.
 */
#include "autosched/search/policies.h"
#include "tests/tap.h"
#include "tests/unit/programs.h"
#include "tests/unit/simulated.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { EXAMPLES = 160, TRAINED = 120, BATCH = 16, ROUNDS = 4 };

static Target target;

/* Pairs of held-out examples that the scores order as the times do, as a part of all. */
static double ordered_part(const float *scores, const double *seconds, int count) {
    int right = 0, all = 0;
    for (int a = 0; a < count; a++)
        for (int b = a + 1; b < count; b++) {
            all++;
            right += (scores[a] > scores[b]) == (seconds[a] < seconds[b]);
        }
    return (double)right / all;
}

typedef struct Sample {
    float *features;
    double *seconds;
    int count;
} Sample;

static Sample collect_sample(Arena *arena, Simulated *simulated, int count) {
    Space *space = space_new(arena, simulated->program, &target, NULL);
    Random random = {9};
    Sample examples = {.features = ARENA_ARRAY(arena, float, (size_t)count *(size_t)feature_count())};
    int point[space->gene_count];
    examples.seconds = ARENA_ARRAY(arena, double, count);
    while (examples.count < count) {
        point_random(space, &random, point);
        Nest *nest = point_nest(arena, space, point, -1);
        Schedule *schedule = nest ? point_schedule(arena, space, point) : NULL;
        if (!schedule)
            continue;
        features_extract(arena, nest, examples.features + (size_t)examples.count * (size_t)feature_count());
        examples.seconds[examples.count++] = simulated_seconds(simulated, schedule);
    }
    return examples;
}

static bool fit(CostModel *model, const Sample *sample, int count) {
    return model_fit(model, &(Examples){sample->features, sample->seconds, NULL, count, 1});
}

static void test_models(Arena *arena, Simulated *simulated) {
    Sample examples = collect_sample(arena, simulated, EXAMPLES);
    size_t length = (size_t)feature_count();
    int held = EXAMPLES - TRAINED;
    float scores[2][EXAMPLES], again[EXAMPLES];
    const float *held_features = examples.features + TRAINED * length;
    CostModel *learner = model_open(arena, "xgboost", 1), *fixed = model_open(arena, "static", 1);
    model_predict(learner, held_features, held, again);
    model_predict(fixed, held_features, held, scores[0]);
    ok(ordered_part(again, examples.seconds + TRAINED, held) ==
           ordered_part(scores[0], examples.seconds + TRAINED, held),
       "before it has learned, xgboost orders as the static model does");
    ok(fit(learner, &examples, TRAINED) && !learner->trouble, "it fits %d examples",
       TRAINED);
    model_predict(learner, held_features, held, scores[1]);
    double before = ordered_part(scores[0], examples.seconds + TRAINED, held);
    double after = ordered_part(scores[1], examples.seconds + TRAINED, held);
    ok(after > before && after > 0.8, "what it learned orders new ones better: %.2f of pairs, static %.2f", after,
       before);
    fit(learner, &examples, TRAINED);
    model_predict(learner, held_features, held, again);
    ok(memcmp(again, scores[1], sizeof *again * (size_t)held) == 0, "fitted again it answers the same");
    for (int i = 0; i < TRAINED; i++)
        examples.seconds[i] = HUGE_VAL;
    fit(learner, &examples, TRAINED);
    model_predict(learner, held_features, held, again);
    ok(isfinite(again[0]), "examples that all failed do no harm");
    ok(!model_open(arena, "oracle", 1), "an unknown model is none");
    model_close(learner);
    model_close(fixed);
}

/* How well a model orders what is held out of a task after a few examples of it, beside many of another one or not. */
static double ordered_after_few(Arena *arena, const char *name, const Sample *other, const Sample *task) {
    enum { FEW = 8 };
    CostModel *first = model_open(arena, name, 1), *second = model_for_task(arena, first);
    size_t length = (size_t)feature_count();
    float scores[EXAMPLES];
    for (int i = 0; i < other->count; i++)
        model_tell(first, other->features + (size_t)i * length, other->seconds[i]);
    for (int i = 0; i < FEW; i++)
        model_tell(second, task->features + (size_t)i * length, task->seconds[i]);
    ok(model_learn(first) && model_learn(second), "%s learns from two tasks", name);
    model_close(first);
    model_predict(second, task->features + FEW * length, task->count - FEW, scores);
    model_close(second);
    return ordered_part(scores, task->seconds + FEW, task->count - FEW);
}

/* What one task taught helps with a similar one, though that takes another time; not where each has its own model. */
static void test_shared_model(Arena *arena, Simulated *simulated) {
    Simulated similar;
    Program *program = program_conv2d(arena, TYPE_FLOAT, (ConvShape){1, 64, 14, 14, 96, 3, 3, 1, 1, 1});
    simulated_open(&similar, arena, program, &target);
    Sample other = collect_sample(arena, simulated, EXAMPLES), task = collect_sample(arena, &similar, EXAMPLES);
    for (int i = 0; i < task.count; i++)
        task.seconds[i] *= 1000;
    double shared = ordered_after_few(arena, "xgboost", &other, &task);
    double own = ordered_after_few(arena, "xgboost:own", &other, &task);
    ok(shared > own + 0.03, "a model of two tasks orders the second one better: %.2f of pairs, its own %.2f", shared,
       own);
    for (int i = 0; i < other.count; i++)
        other.seconds[i] = HUGE_VAL;
    ok(ordered_after_few(arena, "xgboost", &other, &task) > 0.5, "a task in which all failed does no harm");
    simulated_close(&similar);
}

/* A cold model takes nothing from the static one: neither before nor after it has learned. */
static void test_cold_model(Arena *arena, Simulated *simulated) {
    Sample examples = collect_sample(arena, simulated, TRAINED);
    static const char *const names[] = {"xgboost", "xgboost:trees=40,cold"};
    float scores[4];
    size_t length = (size_t)feature_count();
    float *changed = ARENA_ARRAY(arena, float, length);
    memcpy(changed, examples.features, sizeof *changed * length);
    for (size_t f = 0; f < length; f++)
        if (!strncmp(feature_name((int)f), "static_", strlen("static_")))
            changed[f] -= 3;
    for (int cold = 0; cold < 2; cold++) {
        CostModel *model = model_open(arena, names[cold], 1);
        model_predict(model, examples.features, 1, &scores[0]);
        model_predict(model, changed, 1, &scores[1]);
        ok(fit(model, &examples, TRAINED), "%s fits", names[cold]);
        model_predict(model, examples.features, 1, &scores[2]);
        model_predict(model, changed, 1, &scores[3]);
        ok((scores[0] == scores[1]) == cold && (scores[2] == scores[3]) == cold,
           cold ? "and does not look at the static estimate: %g %g, %g %g"
                : "and looks at the static estimate: %g %g, %g %g",
           scores[0], scores[1], scores[2], scores[3]);
        float others[TRAINED];
        model_predict(model, examples.features, TRAINED, others);
        ok(ordered_part(others, examples.seconds, TRAINED) > 0.8, "what it learned orders what it has seen: %.2f",
           ordered_part(others, examples.seconds, TRAINED));
        model_close(model);
    }
}

/* Whether a policy with one chain of one step proposes the point that -O2's search starts from. */
static bool proposes_start(Arena *arena, Simulated *simulated, const char *policy) {
    Space *space = space_new(arena, simulated->program, &target, NULL);
    CostModel *model = model_open(arena, "static", 1);
    Search *search = search_open(arena, space, model, policy, 1);
    int *points[BATCH], *start = ARENA_ARRAY(arena, int, space->gene_count + 1);
    point_start(space, start);
    bool found = false;
    int count = search_propose(search, 2, points);
    for (int i = 0; i < count; i++)
        found |= point_hash(space, points[i]) == point_hash(space, start);
    search_close(search);
    model_close(model);
    return found;
}

static void test_settings(Arena *arena, Simulated *simulated) {
    static const struct Fault {
        const char *text, *why;
    } faults[] = {
        {"anneal:luck", "'anneal' has no setting 'luck'; it takes cold, batch=N, chains=N"},
        {"anneal:", "'anneal' has no setting ''"},
        {"anneal:cold,", "'anneal' has no setting ''"},
        {"anneal:chains", "'chains' needs a whole number from 1 to"},
        {"anneal:chains=", "'chains' needs a whole number from 1 to"},
        {"anneal:chains=0", "'chains' needs a whole number from 1 to"},
        {"anneal:chains=1.5", "'chains' needs a whole number from 1 to"},
        {"anneal:chains=8x", "'chains' needs a whole number from 1 to"},
        {"anneal:random=nan", "'random' needs a number from 0 to 1"},
        {"anneal:cold=1", "'cold' takes no value"},
        {"annealing", ""},
    };
    int row;
    double *values;
    for (size_t f = 0; f < sizeof faults / sizeof *faults; f++) {
        const char *why = choice_read(arena, faults[f].text, search_policies, &row, &values);
        ok(why && !strncmp(why, faults[f].why, strlen(faults[f].why)), "%s: %s", faults[f].text, why ? why : "taken");
    }
    ok(!choice_read(arena, "genetic:batch=64,cold", search_policies, &row, &values) &&
           !strcmp(search_policies[row].name, "genetic") && values[SEARCH_COLD] == 1 && values[SEARCH_BATCH] == 64,
       "settings are read");
    ok(!choice_read(arena, "genetic", search_policies, &row, &values) && values[SEARCH_COLD] == 0 &&
           values[SEARCH_BATCH] == 16,
       "and have their values where they are not set");
    ok(search_is_cold("random:cold") && !search_is_cold("random"), "a search is cold where that is said");
    ok(proposes_start(arena, simulated, "anneal:chains=1,steps=1,random=0"), "a search begins where -O2 does");
    ok(!proposes_start(arena, simulated, "anneal:chains=1,steps=1,random=0,cold"), "a cold one does not");
}

/* The best time that a policy finds in ROUNDS batches; *bad counts proposals that are illegal or were made before. */
static double search_with(Arena *arena, Simulated *simulated, const char *policy, const char *model_name, uint64_t seed,
                          int jobs, int *bad) {
    Space *space = space_new(arena, simulated->program, &target, NULL);
    CostModel *model = model_open(arena, model_name, seed);
    Search *search = search_open(arena, space, model, policy, seed);
    search->jobs = jobs;
    HashSet proposed = {0};
    double best = HUGE_VAL;
    int *points[BATCH];
    for (int round = 0; round < ROUNDS; round++) {
        search_learn(search);
        int count = search_propose(search, BATCH, points);
        for (int i = 0; i < count; i++) {
            Nest *nest = point_nest(arena, space, points[i], -1);
            *bad += !nest || hash_set_has(&proposed, point_hash(space, points[i]));
            hash_set_add(&proposed, point_hash(space, points[i]));
            if (!nest)
                continue;
            float features[feature_count()];
            features_extract(arena, nest, features);
            double seconds = simulated_seconds(simulated, point_schedule(arena, space, points[i]));
            search_tell(search, points[i], features, seconds);
            best = fmin(best, seconds);
        }
        *bad += count < BATCH;
    }
    free(proposed.slots);
    search_close(search);
    model_close(model);
    return best;
}

static double mean_of(Arena *arena, Simulated *simulated, const char *policy, int *bad) {
    enum { SEEDS = 18 };
    double mean = 0;
    for (int seed = 1; seed <= SEEDS; seed++)
        mean += log(search_with(arena, simulated, policy, "xgboost", (uint64_t)seed, 1, bad)) / SEEDS;
    return mean;
}

/* Annealing with a cost model is faster than chance; the others are not slower. */
static void test_policies(Arena *arena, Simulated *simulated) {
    int bad = 0;
    double random = mean_of(arena, simulated, "random", &bad);
    is_int(bad, 0, "random proposes nothing that is illegal or was proposed before, and batches are full");
    for (const NamedChoice *row = search_policies; row->name; row++) {
        if (strcmp(row->name, "random") == 0)
            continue;
        double gain = random - mean_of(arena, simulated, row->name, &bad);
        is_int(bad, 0, "nor does %s", row->name);
        ok(gain > (strcmp(row->name, "anneal") == 0 ? 0.1 : -0.05), "%s finds what is %.2f times as fast", row->name,
           exp(gain));
    }
    int ignored = 0;
    double once = search_with(arena, simulated, "anneal", "xgboost", 5, 1, &ignored);
    ok(once == search_with(arena, simulated, "anneal", "xgboost", 5, 3, &ignored),
       "the same seed finds the same, in more threads too");
    ok(!search_open(arena, NULL, NULL, "exhaustive", 1), "an unknown policy is none");
}

int main(void) {
    Arena *arena = arena_new();
    target = *target_find("x86-64-v4");
    target.threads = 2;
    Simulated simulated;
    Program *program = program_conv2d(arena, TYPE_FLOAT, (ConvShape){1, 32, 28, 28, 48, 3, 3, 1, 1, 1});
    simulated_open(&simulated, arena, program, &target);
    test_models(arena, &simulated);
    test_shared_model(arena, &simulated);
    test_cold_model(arena, &simulated);
    test_settings(arena, &simulated);
    test_policies(arena, &simulated);
    simulated_close(&simulated);
    arena_free(arena);
    return done_testing();
}
