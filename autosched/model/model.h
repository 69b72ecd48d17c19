/* model.h - cost models: from feature vectors to scores, larger for what is thought to be faster.
 *
 * A score is comparable with those of the same model alone. fit gets all measurements so far, failed ones included
 * (seconds is then HUGE_VAL); false means that the model could not learn: it then answers as the static estimate does,
 * and says why.
 */
#ifndef AUTOSCHED_MODEL_MODEL_H
#define AUTOSCHED_MODEL_MODEL_H

#include "lower/nest/nest.h"

typedef struct CostModel {
    const struct CostModelRow *row;
    Arena *arena;
    uint64_t seed;
    void *state;
    const char *trouble; /* why the last fit or prediction fell back; NULL when all went well */
} CostModel;

typedef struct CostModelRow {
    const char *name, *summary;
    bool (*open)(CostModel *model);
    bool (*fit)(CostModel *model, const float *features, const double *seconds, int count);
    void (*predict)(CostModel *model, const float *features, int count, float *scores);
    void (*close)(CostModel *model);
} CostModelRow;

/* NULL for an unknown name. */
CostModel *model_open(Arena *arena, const char *name, uint64_t seed);
bool model_fit(CostModel *model, const float *features, const double *seconds, int count);
void model_predict(CostModel *model, const float *features, int count, float *scores);
void model_close(CostModel *model);

/* A row of what an option may name. */
typedef struct NamedChoice {
    const char *name, *summary;
} NamedChoice;
/* Behind --cost-model=help; ends with a NULL name. */
extern const NamedChoice cost_models[];

/* --- without learning --- */

/* The seconds that one call is thought to take; of run-time sizes the geometric mean over small ones,
 * which tiles may exceed, and large ones, which exceed caches. */
double static_seconds(Arena *arena, const Nest *nest, const Target *target);

/* --- features --- */

enum { FEATURE_VERSION = 1 };
int feature_count(void);
const char *feature_name(int feature);
/* Of a whole nest; values has feature_count() entries. */
void features_extract(Arena *arena, const Nest *nest, float *values);

#endif
