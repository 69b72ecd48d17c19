/* xgboost.c - gradient-boosted trees through XGBoost's C API.
 *
 * The trees learn the difference between the logarithm of the measured speed and a straight line over the static
 * estimate. With few measurements the answer is near the static one, with many the trees decide: a global and a local
 * model added (AutoTVM section 4), with the analytic model as the global one. Failed candidates count as slow. One
 * thread, histogram trees and a fixed seed: the same measurements give the same model. If any call fails, the line
 * alone answers. A cold model has neither the static estimate nor its parts: its line is the mean.
 *
 * Tasks differ in how long they take. All have one slope, and each has a line of its own through its mean: what the
 * trees learn is relative to that.
 */
#include "autosched/model/features.h"

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xgboost/c_api.h>

enum { LEAST_EXAMPLES = 6 };

enum { TREES, DEPTH, ETA, COLD, OWN };
const Setting xgboost_settings[] = {
    [TREES] = {"trees", SETTING_COUNT, 70, 1, 10000, "how many trees"},
    [DEPTH] = {"depth", SETTING_COUNT, 5, 1, 20, "the most levels of a tree"},
    [ETA] = {"eta", SETTING_REAL, 0.15, 0.001, 1, "what part of its answer a tree adds"},
    [COLD] = {"cold", SETTING_FLAG, 0, 0, 1, "learns from measured times alone, without the static estimate"},
    [OWN] = {"own", SETTING_FLAG, 0, 0, 1, "each task has a model of its own, which learns nothing from the others"},
    {NULL, SETTING_FLAG, 0, 0, 0, NULL}};

static const double failure_penalty = 2; /* below the slowest, in the logarithm of speed */

/* XGBoost is loaded when a model is fitted: linked in, it would make every compilation take a third longer to start. */
#define XGBOOST_FUNCTIONS(FUNCTION)                                                                                    \
    FUNCTION(XGBGetLastError)                                                                                          \
    FUNCTION(XGBoosterCreate)                                                                                          \
    FUNCTION(XGBoosterFree)                                                                                            \
    FUNCTION(XGBoosterSetParam)                                                                                        \
    FUNCTION(XGBoosterUpdateOneIter)                                                                                   \
    FUNCTION(XGBoosterPredict)                                                                                         \
    FUNCTION(XGDMatrixCreateFromMat)                                                                                   \
    FUNCTION(XGDMatrixSetFloatInfo)                                                                                    \
    FUNCTION(XGDMatrixFree)

typedef struct Library {
    void *handle; /* NULL: not loaded; stays loaded, for its threads */
#define MEMBER(name) __typeof__(&name) name;
    XGBOOST_FUNCTIONS(MEMBER)
#undef MEMBER
} Library;

typedef struct Boosted {
    Library library;
    BoosterHandle booster; /* NULL: the line alone */
    double slope;
    double *offsets; /* of the line of each task; malloced */
    int task_count;  /* that have one; those of the others are 0 */
    bool cold;
} Boosted;

typedef struct Parameter {
    const char *name, *value;
} Parameter;

static const Parameter parameters[] = {
    {"verbosity", "0"},
    {"nthread", "1"},
    {"tree_method", "hist"},
    {"max_bin", "64"},
    {"objective", "reg:squarederror"},
    {"base_score", "0"},
    {"min_child_weight", "1"},
    {"lambda", "1"},
    {"subsample", "0.9"},
    {"colsample_bytree", "0.7"},
};
enum { PARAMETER_COUNT = sizeof parameters / sizeof *parameters };

bool xgboost_open(CostModel *model) {
    Boosted *boosted = ARENA_NEW(model->arena, Boosted);
    bool cold = model->settings[COLD] != 0;
    *boosted = (Boosted){.slope = cold ? 0 : 1, .cold = cold};
    model->state = boosted;
    model->own = model->settings[OWN] != 0;
    return true;
}

static bool load(CostModel *model, Library *library) {
    static const char *const names[] = {"libxgboost.so.0", "libxgboost.so"};
    for (size_t i = 0; i < sizeof names / sizeof *names && !library->handle; i++)
        library->handle = dlopen(names[i], RTLD_LAZY | RTLD_LOCAL);
    bool whole = library->handle != NULL;
#define FIND(name) whole = whole && (library->name = (__typeof__(library->name))dlsym(library->handle, #name)) != NULL;
    XGBOOST_FUNCTIONS(FIND)
#undef FIND
    if (!whole)
        model->trouble = "XGBoost: libxgboost cannot be loaded";
    return whole;
}

static void forget(Boosted *boosted) {
    const Library *library = &boosted->library;
    if (boosted->booster)
        library->XGBoosterFree(boosted->booster);
    boosted->booster = NULL;
}

void xgboost_close(CostModel *model) {
    Boosted *boosted = model->state;
    forget(boosted);
    free(boosted->offsets);
}

static bool trouble(CostModel *model) {
    const Library *library = &((const Boosted *)model->state)->library;
    const char *error = library->XGBGetLastError();
    model->trouble = arena_printf(model->arena, "XGBoost: %.*s", (int)strcspn(error, "\n"), error);
    return false;
}

static int task_of(const Examples *examples, int example) {
    return examples->tasks ? examples->tasks[example] : 0;
}

/* The logarithms of speeds; failures are below all others of their task. False when nothing was measured. */
static bool targets(Arena *scratch, const Examples *examples, double *speeds) {
    bool any = false;
    double *slowest = ARENA_ARRAY(scratch, double, examples->task_count);
    for (int t = 0; t < examples->task_count; t++)
        slowest[t] = HUGE_VAL;
    for (int i = 0; i < examples->count; i++) {
        double *least = &slowest[task_of(examples, i)];
        speeds[i] = -log2(fmax(examples->seconds[i], 1e-10));
        if (examples->seconds[i] < HUGE_VAL)
            *least = fmin(*least, speeds[i]), any = true;
    }
    for (int i = 0; i < examples->count; i++)
        if (examples->seconds[i] == HUGE_VAL)
            speeds[i] = slowest[task_of(examples, i)] - failure_penalty;
    return any;
}

/* Sums over the examples of a task that were measured: x is the static score, y the speed. */
typedef struct TaskSums {
    double n, x, y, xx, xy;
} TaskSums;

static void add_up(const Examples *examples, const double *speeds, TaskSums *sums) {
    memset(sums, 0, sizeof *sums * (size_t)examples->task_count);
    for (int i = 0; i < examples->count; i++) {
        TaskSums *sum = &sums[task_of(examples, i)];
        double x = features_static_score(examples->features + (size_t)i * (size_t)feature_count()), y = speeds[i];
        if (examples->seconds[i] < HUGE_VAL)
            sum->n++, sum->x += x, sum->y += y, sum->xx += x * x, sum->xy += x * y;
    }
}

/* Least squares of speed over the static score, each task around its mean. Slopes outside [0, 1] come from too few
 * examples and are clamped. */
static double slope_of(const TaskSums *sums, int count) {
    double spread = 0, common = 0, degrees = 0;
    for (int t = 0; t < count; t++) {
        if (sums[t].n == 0)
            continue;
        spread += sums[t].xx - sums[t].x * sums[t].x / sums[t].n;
        common += sums[t].xy - sums[t].x * sums[t].y / sums[t].n;
        degrees += sums[t].n - 1;
    }
    return degrees > 1 && spread * (degrees + 1) > 1e-6 ? fmin(fmax(common / spread, 0.05), 1) : 1;
}

static void fit_lines(Arena *scratch, Boosted *boosted, const Examples *examples, const double *speeds) {
    TaskSums *sums = ARENA_ARRAY(scratch, TaskSums, examples->task_count);
    size_t size = sizeof *boosted->offsets * (size_t)examples->task_count;
    boosted->offsets = memory_given(realloc(boosted->offsets, size));
    ENSURE(boosted->offsets);
    boosted->task_count = examples->task_count;
    add_up(examples, speeds, sums);
    boosted->slope = boosted->cold ? 0 : slope_of(sums, examples->task_count);
    for (int t = 0; t < examples->task_count; t++)
        boosted->offsets[t] = sums[t].n > 0 ? (sums[t].y - boosted->slope * sums[t].x) / sums[t].n : 0;
}

static double line_at(const Boosted *boosted, int task, const float *features) {
    double offset = task < boosted->task_count ? boosted->offsets[task] : 0;
    return offset + boosted->slope * features_static_score(features);
}

static bool set_number(const Library *library, BoosterHandle booster, const char *name, double value) {
    char text[32];
    snprintf(text, sizeof text, "%.10g", value);
    return library->XGBoosterSetParam(booster, name, text) == 0;
}

/* A matrix of the features that the trees may see; NULL if it cannot be made. */
static DMatrixHandle matrix_of(const Boosted *boosted, const float *features, int count) {
    size_t length = (size_t)feature_count();
    float *seen = NULL;
    DMatrixHandle data;
    if (boosted->cold) {
        seen = memory_given(malloc(sizeof *seen * length * (size_t)(count + 1)));
        ENSURE(seen);
        for (size_t i = 0; i < length * (size_t)count; i++)
            seen[i] = feature_is_estimate((int)(i % length)) ? NAN : features[i];
    }
    int status = boosted->library.XGDMatrixCreateFromMat(seen ? seen : features, (bst_ulong)count, (bst_ulong)length,
                                                         NAN, &data);
    free(seen);
    return status == 0 ? data : NULL;
}

static bool train(CostModel *model, Boosted *boosted, DMatrixHandle data) {
    const Library *library = &boosted->library;
    char seed[24];
    snprintf(seed, sizeof seed, "%u", (unsigned)(model->seed & 0x7fffffff));
    if (library->XGBoosterCreate(&data, 1, &boosted->booster) != 0)
        return trouble(model);
    bool good = library->XGBoosterSetParam(boosted->booster, "seed", seed) == 0 &&
                set_number(library, boosted->booster, "max_depth", model->settings[DEPTH]) &&
                set_number(library, boosted->booster, "eta", model->settings[ETA]);
    for (int p = 0; p < PARAMETER_COUNT; p++)
        good = good && library->XGBoosterSetParam(boosted->booster, parameters[p].name, parameters[p].value) == 0;
    for (int round = 0; round < (int)model->settings[TREES] && good; round++)
        good = library->XGBoosterUpdateOneIter(boosted->booster, round, data) == 0;
    if (!good) {
        trouble(model);
        forget(boosted);
    }
    return good;
}

static bool train_on(CostModel *model, Boosted *boosted, const Examples *examples, const float *labels) {
    const Library *library = &boosted->library;
    DMatrixHandle data = matrix_of(boosted, examples->features, examples->count);
    if (!data)
        return trouble(model);
    bool good = library->XGDMatrixSetFloatInfo(data, "label", labels, (bst_ulong)examples->count) == 0
                    ? train(model, boosted, data)
                    : trouble(model);
    library->XGDMatrixFree(data);
    return good;
}

/* What the trees are to say of each example. A failure of a task in which all failed is below that task's line, which
 * nothing else is known of. */
static void label(const Boosted *boosted, const Examples *examples, const double *speeds, float *labels) {
    for (int i = 0; i < examples->count; i++) {
        const float *features = examples->features + (size_t)i * (size_t)feature_count();
        double speed = speeds[i] - line_at(boosted, task_of(examples, i), features);
        labels[i] = (float)(speed < HUGE_VAL ? speed : -failure_penalty);
    }
}

bool xgboost_fit(CostModel *model, const Examples *examples) {
    Boosted *boosted = model->state;
    Arena *scratch = arena_new();
    double *speeds = ARENA_ARRAY(scratch, double, examples->count + 1);
    bool good = true;
    model->trouble = NULL;
    forget(boosted);
    if (targets(scratch, examples, speeds)) {
        float *labels = ARENA_ARRAY(scratch, float, examples->count + 1);
        fit_lines(scratch, boosted, examples, speeds);
        label(boosted, examples, speeds, labels);
        good = examples->count < LEAST_EXAMPLES ||
               (load(model, &boosted->library) && train_on(model, boosted, examples, labels));
    }
    arena_free(scratch);
    return good;
}

static bool add_trees(CostModel *model, Boosted *boosted, const float *features, int count, float *scores) {
    const Library *library = &boosted->library;
    DMatrixHandle data = matrix_of(boosted, features, count);
    bst_ulong length = 0;
    const float *results;
    if (!data)
        return trouble(model);
    bool good = library->XGBoosterPredict(boosted->booster, data, 0, 0, 0, &length, &results) == 0 &&
                length == (bst_ulong)count;
    for (int i = 0; i < count && good; i++)
        scores[i] += results[i];
    if (!good)
        trouble(model);
    library->XGDMatrixFree(data);
    return good;
}

void xgboost_predict(CostModel *model, const float *features, int count, float *scores) {
    Boosted *boosted = model->state;
    for (int i = 0; i < count; i++)
        scores[i] = (float)line_at(boosted, model->task, features + (size_t)i * (size_t)feature_count());
    if (boosted->booster && !add_trees(model, boosted, features, count, scores))
        forget(boosted);
}
