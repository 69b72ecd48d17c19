/* search.h - the door of the searches: schedules without measuring, and tuning, which measures candidates.
 *
 * Building and running candidates is done by the struct of functions that the driver fills in: nothing here knows LLVM
 * or processes. Everything is deterministic in (program, target, seed) but for measured times.
 */
#ifndef AUTOSCHED_SEARCH_SEARCH_H
#define AUTOSCHED_SEARCH_SEARCH_H

#include "autosched/model/model.h"
#include "autosched/records/records.h"
#include "autosched/space/space.h"

/* --- the toolchain: what the driver lends --- */

/* A candidate on its way. */
typedef struct Candidate {
    int id;
    const Schedule *schedule; /* without holes */
    const void *object;       /* what was built, of the toolchain */
    size_t object_bytes;      /* that it occupies */
    Outcome outcome;
    const char *why; /* of a failure, in arena of the caller */
    bool transient;  /* the failure is the machine's: another try may go well */
    bool died;       /* a process ended by it: its own fault only where others do well */
    double seconds, spread;
    int repeats;
    double build_seconds; /* 0: it was not built here */
} Candidate;

typedef struct Toolchain {
    void *context;
    int jobs; /* builds that can be under way at once */
    const char *lost; /* why nothing can be measured any more; NULL: it can */
    /* Starts building; never blocks. */
    void (*submit)(void *context, Candidate *candidate);
    /* A candidate whose build ended, well or not; NULL when none is under way. wait: blocks until one ends. */
    Candidate *(*collect)(void *context, bool wait);
    /* Runs a built candidate alone on the device, checks its results at the program's check points and fills outcome,
     * why, seconds, spread, repeats. limit_seconds: a run slower than this may stop early (0: no such limit). thorough:
     * more repeats, for the final race. */
    void (*measure)(void *context, Candidate *candidate, double limit_seconds, bool thorough);
    void (*release)(void *context, Candidate *candidate); /* frees the object */
} Toolchain;

/* --- schedules without measuring --- */

typedef enum Effort { EFFORT_IDENTITY, EFFORT_FIXED, EFFORT_ROUGH, EFFORT_MODEL, EFFORT_MODEL_MORE } Effort;
/* The schedule of -O0 (empty), -O1, -O2, -O3; of a ROUGH look, which tells what programs are worth a close one.
 * user: the user's block to hold to and fill the holes of, or NULL. */
Schedule *autosched_default(Arena *arena, const Program *program, const Target *target, const Schedule *user,
                            Effort effort, uint64_t seed);
/* The same of a program without a block of the user's, with the space that it was chosen from: a search begins there.
 */
typedef struct StaticChoice {
    Space *space;
    Schedule *schedule;
    const int *point; /* that stands for the very schedule; NULL: none, a group has its plain loops */
} StaticChoice;
StaticChoice *static_choice(Arena *arena, const Program *program, const Target *target, Effort effort, uint64_t seed);
/* What the static model thinks that the program takes under a schedule that is legal; HUGE_VAL for others. */
double estimated_seconds(Arena *arena, const Program *program, const Schedule *schedule, const Target *target);
/* Why no choice for the holes of the user's schedule was found to be legal: what is refused for the first choices. */
void autosched_explain(Arena *arena, const Program *program, const Target *target, const Schedule *user,
                       NestError *error);

/* --- tuning --- */

typedef struct TuneProgress {
    const char *name;
    int trials, trial_limit, failed;
    double best_seconds, best_gflops, elapsed, eta;
} TuneProgress;

typedef struct TuneOptions {
    int trials;             /* in all, those found in the database counted */
    double budget_seconds;  /* 0: none */
    const char *search;     /* a row of search_policies: "random", "anneal", ... */
    const char *cost_model; /* a row of cost_models: "xgboost", "static", "none" */
    uint64_t seed;
    const char *maker; /* names the compiler and the seed, by which the default is the same; NULL: nothing is noted */
    int threads;       /* that generated code uses: part of the key */
    const char *inputs; /* names the contents of arguments, NULL: random; results of others do not count, and go */
    const char *file;  /* where the function stands: records say so; or NULL */
    StaticChoice *standard;   /* the default, if it was made before, of the same seed; or NULL */
    const volatile int *stop; /* becomes non-zero on Ctrl-C: finish with the best so far */
    void (*progress)(void *context, const TuneProgress *progress);
    void *progress_context;
} TuneOptions;

/* A reason why candidates failed. Those that differ in their numbers alone are one. */
typedef struct FailureReason {
    Outcome outcome;
    const char *why; /* of the first */
    int count;
} FailureReason;

typedef struct TuneResult {
    Schedule *schedule; /* the winner; the default schedule when nothing measured was better */
    double seconds, default_seconds;
    int trials, measured, failed[OUTCOME_COUNT];
    LIST(FailureReason) reasons; /* of the failed ones whose reason is known */
    const char *why; /* the default has no time, or the search ended early: the reason; or NULL */
    bool lost;       /* it ended for want of a machine that can measure */
    int unsettled;               /* failed every time by the machine's load */
    int unrecorded; /* measured, but the database did not take it */
    double elapsed;
    double build_seconds; /* of a candidate: the median */
    bool from_database;   /* a full hit: nothing was measured */
    bool stopped;
} TuneResult;

/* Never ends in a crash; NULL-result only for a database that cannot be used at all (the caller has opened it). */
TuneResult *tune(Arena *arena, const Program *program, const Target *target, const Schedule *user,
                 const Toolchain *toolchain, Database *database, const TuneOptions *options);

/* The same in steps, so that the searches over several algorithms of a function can take turns. Of the options,
 * trials and budget mean nothing here. */
typedef struct Tuner Tuner;
Tuner *tuner_new(Arena *arena, const Program *program, const Target *target, const Schedule *user,
                 const Toolchain *toolchain, Database *database, const TuneOptions *options);
/* Measures the default if it is not known yet, then goes on to so many trials in all, those in the database counted.
 * deadline: a monotonic time, 0: none. */
void tuner_search(Tuner *tuner, int trials, double deadline);
/* When searching ends that has so many seconds with a race at the end; 0 for 0. */
double tune_deadline(double budget_seconds);
int tuner_trials(const Tuner *tuner);
/* Of searches for one function, the first of them for what is written: the one that is to go on, and to how many
 * trials. First each has its default measured; then the one goes on that promises most, by its best and by how much
 * it was searched. NULL: there were so many trials, or nothing is left to find. */
Tuner *tuners_next(Tuner *const *tuners, int count, int trials, int *until);
/* Their defaults again, interleaved: one that met a slow second would be given up. Once, when the deadline is over. */
void tuners_compare(Tuner *const *tuners, int count, double deadline);
/* The best of all, interleaved, so that they can be compared; before tuner_finish. */
void tuners_race(Tuner *const *tuners, int count, double deadline);
/* Whether the default schedule was measured, or failed for good: before that nothing is better than it. */
bool tuner_knows_default(const Tuner *tuner);
/* Whether the machine could not measure any more before the search was over. */
bool tuner_is_lost(const Tuner *tuner);
TuneResult *tuner_finish(Tuner *tuner);
/* Whether the database holds all that searches over these programs would find in so many trials, their defaults
 * among it, or in the budget, by what earlier ones of the same maker noted. *used: the trials that it holds. */
bool searches_are_known(Arena *arena, Database *database, Program *const *programs, int count, const Target *target,
                        const Schedule *user, const TuneOptions *options, int *used);
/* The searches had all of the budget, and the best one knows its default. False: could not be written. */
bool searches_note_budget(Arena *arena, Database *database, Program *const *programs, int count, const Target *target,
                          const Schedule *user, const TuneOptions *options);
void tuner_close(Tuner *tuner); /* instead, where no result is wanted */

/* Behind --search=help; ends with a NULL name. */
extern const NamedChoice search_policies[];

#endif
