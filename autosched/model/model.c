/* model.c - the table of cost models, and the two that do not learn. */
#include "autosched/model/features.h"
#include "lang/random.h"

#include <string.h>

static bool nothing_open(CostModel *model) {
    return true;
}

static bool nothing_fit(CostModel *model, const float *features, const double *seconds, int count) {
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

CostModel *model_open(Arena *arena, const char *name, uint64_t seed) {
    int row;
    double *settings;
    if (choice_read(arena, name, cost_models, &row, &settings))
        return NULL;
    CostModel *model = ARENA_NEW(arena, CostModel);
    *model = (CostModel){.row = &rows[row], .arena = arena, .seed = seed, .settings = settings};
    return rows[row].open(model) ? model : NULL;
}

bool model_fit(CostModel *model, const float *features, const double *seconds, int count) {
    return model->row->fit(model, features, seconds, count);
}

void model_predict(CostModel *model, const float *features, int count, float *scores) {
    if (count > 0)
        model->row->predict(model, features, count, scores);
}

void model_close(CostModel *model) {
    if (model)
        model->row->close(model);
}
