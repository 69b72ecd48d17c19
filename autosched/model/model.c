/* model.c - the table of cost models, the two that do not learn, and what models are told. */
#include "autosched/model/features.h"
#include "lang/random.h"

#include <stdlib.h>
#include <string.h>

static bool nothing_open(CostModel *model) {
    return true;
}

static bool nothing_fit(CostModel *model, const Examples *examples) {
    return true;
}

static void nothing_close(CostModel *model) {
}

static void static_predict(CostModel *model, const float *features, int count, float *scores) {
    for (int i = 0; i < count; i++)
        scores[i] = features_static_score(features + (size_t)i * (size_t)feature_count());
}

/* A pseudo-random score from the features and the seed: an arbitrary order, but always the same. */
static void none_predict(CostModel *model, const float *features, int count, float *scores) {
    for (int i = 0; i < count; i++) {
        uint64_t hash = model->seed;
        for (int f = 0; f < feature_count(); f++) {
            uint32_t bits;
            memcpy(&bits, features + (size_t)i * (size_t)feature_count() + f, sizeof bits);
            hash = hash_mix(hash + bits + 0x9e3779b9u);
        }
        scores[i] = (float)(hash >> 40) / 16777216.0f;
    }
}

#define MODELS(MODEL)                                                                                                  \
    MODEL(xgboost, "gradient-boosted trees over loop features, trained while searching", xgboost_settings,             \
          xgboost_open, xgboost_fit, xgboost_predict, xgboost_close)                                                   \
    MODEL(static, "the analytic estimate that -O2 uses; learns nothing", NULL, nothing_open, nothing_fit,              \
          static_predict, nothing_close)                                                                               \
    MODEL(none, "no preference: every candidate is as good as another", NULL, nothing_open, nothing_fit, none_predict, \
          nothing_close)

#define ROW(name, summary, settings, open, fit, predict, close) {#name, summary, open, fit, predict, close},
static const CostModelRow rows[] = {MODELS(ROW)};

#define CHOICE(name, summary, settings, open, fit, predict, close) {#name, summary, settings},
const NamedChoice cost_models[] = {MODELS(CHOICE){NULL, NULL, NULL}};

/* --- what a model is told --- */

/* What all CostModels of one model share. */
typedef struct Lessons {
    float *features; /* malloced, with the others; the last CostModel frees them */
    double *seconds;
    int *tasks;
    int count, capacity;
    int learned;    /* of them, when the model was fitted last */
    int task_count; /* that there ever were */
    int users;      /* CostModels that are open */
} Lessons;

static void lessons_grow(Lessons *lessons) {
    size_t capacity = lessons->capacity ? 2 * (size_t)lessons->capacity : 64;
    lessons->features =
        memory_given(realloc(lessons->features, sizeof *lessons->features * (size_t)feature_count() * capacity));
    lessons->seconds = memory_given(realloc(lessons->seconds, sizeof *lessons->seconds * capacity));
    lessons->tasks = memory_given(realloc(lessons->tasks, sizeof *lessons->tasks * capacity));
    ENSURE(lessons->features && lessons->seconds && lessons->tasks);
    lessons->capacity = (int)capacity;
}

void model_tell(CostModel *model, const float *features, double seconds) {
    Lessons *lessons = model->lessons;
    size_t length = (size_t)feature_count();
    if (lessons->count == lessons->capacity)
        lessons_grow(lessons);
    memcpy(lessons->features + length * (size_t)lessons->count, features, sizeof *features * length);
    lessons->seconds[lessons->count] = seconds;
    lessons->tasks[lessons->count++] = model->task;
}

bool model_learn(CostModel *model) {
    Lessons *lessons = model->lessons;
    if (lessons->learned == lessons->count)
        return true;
    lessons->learned = lessons->count;
    Examples all = {lessons->features, lessons->seconds, lessons->tasks, lessons->count, lessons->task_count};
    return model_fit(model, &all);
}

/* --- models --- */

static CostModel *model_new(Arena *arena, CostModel model) {
    CostModel *made = ARENA_NEW(arena, CostModel);
    model.arena = arena;
    model.task = 0;
    model.trouble = NULL;
    model.lessons = ARENA_NEW(arena, Lessons);
    *model.lessons = (Lessons){.task_count = 1, .users = 1};
    *made = model;
    return made->row->open(made) ? made : NULL;
}

CostModel *model_open(Arena *arena, const char *name, uint64_t seed) {
    int row;
    double *settings;
    if (choice_read(arena, name, cost_models, &row, &settings))
        return NULL;
    return model_new(arena, (CostModel){.row = &rows[row], .seed = seed, .settings = settings});
}

CostModel *model_for_task(Arena *arena, const CostModel *model) {
    if (model->own)
        return model_new(arena, *model);
    CostModel *copy = ARENA_NEW(arena, CostModel);
    *copy = *model;
    copy->task = model->lessons->task_count++;
    model->lessons->users++;
    return copy;
}

bool model_fit(CostModel *model, const Examples *examples) {
    return model->row->fit(model, examples);
}

void model_predict(CostModel *model, const float *features, int count, float *scores) {
    if (count > 0)
        model->row->predict(model, features, count, scores);
}

void model_close(CostModel *model) {
    if (!model || --model->lessons->users > 0)
        return;
    model->row->close(model);
    free(model->lessons->features);
    free(model->lessons->seconds);
    free(model->lessons->tasks);
}
