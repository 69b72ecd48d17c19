/* model.h - cost models: from feature vectors to scores. A larger score means that the model expects a faster schedule.
 *
 * Scores are comparable within one model alone. fit gets all measurements so far, failed ones included (their seconds
 * are HUGE_VAL). It returns false when the model could not learn: the model then answers with the static estimate, and
 * `trouble` says why.
 */
#ifndef AUTOSCHED_MODEL_MODEL_H
#define AUTOSCHED_MODEL_MODEL_H

#include "lang/choices.h"
#include "lower/nest/nest.h"

typedef struct CostModel {
    const struct CostModelRow *row;
    Arena *arena;
    uint64_t seed;
    const double *settings; /* one for each of the row's */
    void *state;
    const char *trouble; /* why the last fit or prediction fell back; NULL: all went well */
} CostModel;

typedef struct CostModelRow {
    const char *name, *summary;
    bool (*open)(CostModel *model);
    bool (*fit)(CostModel *model, const float *features, const double *seconds, int count);
    void (*predict)(CostModel *model, const float *features, int count, float *scores);
    void (*close)(CostModel *model);
} CostModelRow;

/* NULL for an unknown name. A name may have settings: "xgboost:cold". */
CostModel *model_open(Arena *arena, const char *name, uint64_t seed);
bool model_fit(CostModel *model, const float *features, const double *seconds, int count);
void model_predict(CostModel *model, const float *features, int count, float *scores);
void model_close(CostModel *model);

/* The rows that --cost-model=help lists; ends with a NULL name. */
extern const NamedChoice cost_models[];

/* --- without learning --- */

/* The expected seconds of one call. With run-time sizes: the geometric mean over small sizes, which tiles may exceed,
 * and large ones, which exceed caches. */
double static_seconds(Arena *arena, const Nest *nest, const Target *target);

/* --- features --- */

enum { FEATURE_VERSION = 1 };
int feature_count(void);
const char *feature_name(int feature);
/* The features of a whole nest; values has feature_count() entries. */
void features_extract(Arena *arena, const Nest *nest, float *values);
/* The same of parts of it: stage n of the nest is in part[n] (-1: in none). values: parts * feature_count(). A part has
 * the estimate and the features that its stages have in the whole. */
void features_of_parts(Arena *arena, const Nest *nest, const int *part, int parts, float *values);

#endif
