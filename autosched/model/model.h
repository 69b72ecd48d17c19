/* model.h - cost models: from feature vectors to scores. A larger score means that the model expects a faster schedule.
 *
 * One model may serve several tasks: what was measured of one helps with the others (Ansor section 5.2). Each task has
 * a CostModel, and those of one model share its state and its lessons. Times of different tasks are not comparable, and
 * neither are the scores: a model learns how fast a schedule is among those of its task.
 *
 * A model learns from all measurements so far, failed ones included (their seconds are HUGE_VAL). Where it cannot, it
 * returns false and answers with the static estimate, and `trouble` says why.
 */
#ifndef AUTOSCHED_MODEL_MODEL_H
#define AUTOSCHED_MODEL_MODEL_H

#include "lang/choices.h"
#include "lower/nest/nest.h"

/* Measurements. */
typedef struct Examples {
    const float *features; /* [count * feature_count()] */
    const double *seconds; /* HUGE_VAL: failed */
    const int *tasks;      /* [count]: the number of the task that each is of; NULL: all of task 0 */
    int count, task_count;
} Examples;

typedef struct CostModel {
    const struct CostModelRow *row;
    Arena *arena;
    uint64_t seed;
    const double *settings; /* one for each of the row's */
    bool own;               /* it does not learn from other tasks */
    int task;               /* the number of its task */
    struct Lessons *lessons;
    void *state;
    const char *trouble; /* why the last fit or prediction fell back; NULL: all went well */
} CostModel;

typedef struct CostModelRow {
    const char *name, *summary;
    bool (*open)(CostModel *model);
    bool (*fit)(CostModel *model, const Examples *examples);
    void (*predict)(CostModel *model, const float *features, int count, float *scores);
    void (*close)(CostModel *model);
} CostModelRow;

/* NULL for an unknown name. A name may have settings: "xgboost:cold". */
CostModel *model_open(Arena *arena, const char *name, uint64_t seed);
/* The same model for another task: it shares what was learned, unless each task is to have its own. */
CostModel *model_for_task(Arena *arena, const CostModel *model);
/* Takes a measurement of the model's task. */
void model_tell(CostModel *model, const float *features, double seconds);
/* Learns from what it was told of all its tasks. */
bool model_learn(CostModel *model);
/* Learns from these examples alone. */
bool model_fit(CostModel *model, const Examples *examples);
void model_predict(CostModel *model, const float *features, int count, float *scores);
/* Each CostModel is closed; the last one of a model ends it. */
void model_close(CostModel *model);

/* The rows that --cost-model=help lists; ends with a NULL name. */
extern const NamedChoice cost_models[];

/* --- without learning --- */

/* The expected seconds of one call. With run-time sizes: the geometric mean over small sizes, which tiles may exceed,
 * and large ones, which exceed caches. */
double static_seconds(Arena *arena, const Nest *nest, const Target *target);
/* Operations and elements of each stage of the nest, run-time sizes taken as typical ones; 0 of what does not run. */
double *nest_work(Arena *arena, const Nest *nest);

/* --- features --- */

enum { FEATURE_VERSION = 1 };
int feature_count(void);
const char *feature_name(int feature);
/* The features of a whole nest; values has feature_count() entries. */
void features_extract(Arena *arena, const Nest *nest, float *values);
/* The same of parts of it: stage n of the nest is in part[n] (-1: in none). values: parts * feature_count(). A part has
 * the estimate and the features that its stages have in the whole. */
void features_of_parts(Arena *arena, const Nest *nest, const int *part, int parts, float *values);

/* --- what follows from a nest --- */

/* The schedule of *nest with prefetches of constants that it does not prefetch already: of blocks that are read at
 * least twice and fit the second cache twice. *nest becomes its nest. Itself where there are none. */
Schedule *schedule_prefetch(Arena *arena, Schedule *schedule, const Nest **nest);

#endif
