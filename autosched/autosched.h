/* autosched.h - finding schedules: by rules (-O1), by a static model (-O2), by measuring (-O tune).
 *
 * Building and running candidates is done by the struct of functions that the driver fills in: this folder knows
 * neither LLVM nor processes. Everything here is deterministic in (program, target, seed) but for measured times.
 */
#ifndef AUTOSCHED_AUTOSCHED_H
#define AUTOSCHED_AUTOSCHED_H

#include "lang/waiting.h"
#include "lower/nest.h"

/* --- the toolchain: what the driver lends --- */

/* A candidate on its way. */
typedef struct Candidate {
    int id;
    const Schedule *schedule; /* without holes */
    const void *object;       /* what was built, of the toolchain */
    size_t object_bytes;      /* that it occupies */
    Outcome outcome;
    const char *why; /* of a failure, in arena of the caller */
    bool passing;    /* the failure hangs on the machine: another try may go well */
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

/* --- spaces --- */

typedef struct Space Space;
/* The sketches of a program: all the structures worth trying, each a Schedule with holes. user: a schedule whose holes
 * are the space instead (or NULL). */
Space *space_new(Arena *arena, const Program *program, const Target *target, const Schedule *user);
int space_sketch_count(const Space *space);
const Schedule *space_sketch(const Space *space, int sketch);
double space_size(const Space *space); /* points in all */

/* --- schedules without measuring --- */

typedef enum Effort { EFFORT_IDENTITY, EFFORT_FIXED, EFFORT_ROUGH, EFFORT_MODEL, EFFORT_MODEL_MORE } Effort;
/* The schedule of -O0 (empty), -O1, -O2, -O3; of a ROUGH look, which tells what programs are worth a close one.
 * user: the user's block to hold to and fill the holes of, or NULL. */
Schedule *autosched_default(Arena *arena, const Program *program, const Target *target, const Schedule *user,
                            Effort effort, uint64_t seed);
/* The same of a program without a block of the user's, with the space that it was chosen from: a search begins there. */
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

/* A value of a run-time size that deserves a version of the program: that value alone, or all up to it. */
typedef struct SizeVersion {
    const char *size;
    int64_t value;
    bool at_most;
} SizeVersion;
enum { SIZE_VERSIONS = 2 };
/* Returns their number; the first that holds is the one to take. */
int program_size_versions(const Program *program, SizeVersion versions[SIZE_VERSIONS]);

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
    const char *inputs; /* names the contents of arguments: results of others are none; NULL: random, all count */
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

typedef struct Database Database;
/* Never ends in a crash; NULL-result only for a database that cannot be used at all (the caller has opened it). */
TuneResult *tune(Arena *arena, const Program *program, const Target *target, const Schedule *user,
                 const Toolchain *toolchain, Database *database, const TuneOptions *options);

/* The same in steps, so that the searches over several algorithms of a function can take turns. Of the options, trials and
 * budget mean nothing here. */
typedef struct Tuner Tuner;
Tuner *tuner_new(Arena *arena, const Program *program, const Target *target, const Schedule *user,
                 const Toolchain *toolchain, Database *database, const TuneOptions *options);
/* Measures the default if it is not known yet, then goes on to so many trials in all, those in the database counted.
 * deadline: a monotonic time, 0: none. */
void tuner_search(Tuner *tuner, int trials, double deadline);
/* When searching ends that has so many seconds with a race at the end; 0 for 0. */
double tune_deadline(double budget_seconds);
int tuner_trials(const Tuner *tuner);
/* Of searches for one function, the first of them for what is written: the one that is to go on, and to how many trials.
 * First each has its default measured; then the one goes on that promises most, by its best and by how much it was
 * searched. NULL: there were so many trials, or nothing is left to find. */
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
/* Whether the database holds all that searches over these programs would find in so many trials, their defaults among it, or
 * in the budget, by what earlier ones of the same maker noted. *used: the trials that it holds. */
bool searches_are_known(Arena *arena, Database *database, Program *const *programs, int count, const Target *target,
                        const Schedule *user, const TuneOptions *options, int *used);
/* The searches had all of the budget, and the best one knows its default. False: could not be written. */
bool searches_note_budget(Arena *arena, Database *database, Program *const *programs, int count, const Target *target,
                          const Schedule *user, const TuneOptions *options);
void tuner_close(Tuner *tuner); /* instead, where no result is wanted */

/* Tables behind --search=help and --cost-model=help. */
typedef struct NamedChoice {
    const char *name, *summary;
} NamedChoice;
extern const NamedChoice search_policies[], cost_models[]; /* end with a NULL name */

/* --- features --- */

enum { FEATURE_VERSION = 1 };
int feature_count(void);
const char *feature_name(int feature);
/* Of a whole nest; values has feature_count() entries. */
void features_extract(Arena *arena, const Nest *nest, float *values);

/* --- the database: SQLite, one file, safe under kill -9 and many processes --- */

typedef enum DatabaseUse {
    DATABASE_TO_WRITE, /* made where there is none */
    DATABASE_TO_READ,  /* without a look at every page, which takes long for a large one: what is found to be damaged
                        * later is as if it was not there, and database_failed tells */
    DATABASE_TO_COPY   /* to be read as a whole; one without records is refused */
} DatabaseUse;
/* NULL with *why (one line) when it cannot be opened, is damaged (*damaged then, which may be NULL) or of a newer version.
 * limit: of all waiting for others who have locked it, from now on. */
Database *database_open_within(Arena *arena, const char *path, DatabaseUse use, WaitLimit limit, const char **why,
                               bool *damaged);
/* To write, and waiting for others as long as makes sense. */
Database *database_open(Arena *arena, const char *path, const char **why, bool *damaged);
bool database_failed(const Database *database);
void database_close(Database *database);
/* The default place: $TENSORC_DB, else tensorc/tuning.db under $XDG_DATA_HOME or ~/.local/share; NULL: none of them. */
const char *database_default_path(Arena *arena);
bool database_add(Database *database, const Record *record); /* false: could not be written (full disk) */
/* All or none, in one transaction. */
bool database_add_all(Database *database, const Record *records, int count);
/* Records of the same task that were measured on other inputs go: their times cannot be compared. */
bool database_forget_others(Database *database, const Record *record);
/* A result that turned out to be none. */
bool database_forget(Database *database, const char *task, const char *target, int threads, const char *schedule);
/* The microarchitecture as records name it: the cpu found, else the row's name. */
const char *database_target(const Target *target);
/* The records of a task on a target with a number of threads, best first. */
int database_find(Arena *arena, Database *database, const char *task, const char *target, int threads,
                  Record **records);
/* tensorc db: argv begins with the command (ls, export, import, merge, prune). Rows of text on stdout; the export
 * format is reviewable text, one record a paragraph. Returns the exit status. */
int database_command(int argc, char **argv, const char *path);

/* The best record of the program (of the user's block with holes, or NULL) that is still a legal schedule of it, in the
 * names of this program: what -O2 uses where there is one. NULL: none. record may be NULL. */
Schedule *database_best(Arena *arena, Database *database, const Program *program, const Target *target,
                        const Schedule *user, int threads, Record *record);

/* Structural hash: names and the order of independent parts do not matter, sizes and types do. Hexadecimal. */
const char *task_hash(Arena *arena, const Program *program);

#endif
