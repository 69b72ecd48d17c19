/* search.h - the door of the searches: schedules without measuring, and tuning, which measures candidates.
 *
 * Candidates are built and run by a struct of functions that the driver fills in: nothing here knows LLVM or processes.
 * Everything but measured times is deterministic in (program, target, seed).
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
    const void *object;       /* what was built; owned by the toolchain */
    size_t object_bytes;      /* its size */
    Outcome outcome;
    const char *why; /* of a failure; in the caller's arena */
    bool transient;  /* a transient failure: the machine's, another try may succeed */
    bool died;       /* a process ended while it ran: its own fault only if other candidates succeed */
    double seconds, spread;
    int repeats;
    double build_seconds;     /* 0: it was not built here */
    double reference_seconds; /* of one schedule of the search while the machine was as fast as then; 0: not known */
    Disturbance disturbance;  /* all zero: not known */
    int look;                 /* how often it was measured before; the reference counts as measured */
} Candidate;

typedef struct Toolchain {
    void *context;
    int jobs;         /* how many builds can run at once */
    const char *lost; /* why nothing can be measured any more; NULL: it can */
    /* Starts building; never blocks. */
    void (*submit)(void *context, Candidate *candidate);
    /* A candidate whose build succeeded or failed; NULL when no build is running. wait: blocks until one ends. */
    Candidate *(*collect)(void *context, bool wait);
    /* Runs a built candidate alone on the device, checks its results at the program's check points and fills outcome,
     * why, seconds, spread, repeats. A run slower than limit_seconds may stop early (0: no limit). thorough: more
     * repeats, for the final race. */
    void (*measure)(void *context, Candidate *candidate, double limit_seconds, bool thorough);
    void (*release)(void *context, Candidate *candidate); /* frees the object */
} Toolchain;

/* Lends toolchains for the tasks of a function. */
typedef struct Workshop {
    void *context;
    /* A toolchain for another program on the same target; NULL: that cannot be measured. */
    const Toolchain *(*open)(void *context, Program *program);
    void (*close)(void *context, const Toolchain *toolchain);
} Workshop;

/* --- schedules without measuring --- */

typedef enum Effort { EFFORT_IDENTITY, EFFORT_FIXED, EFFORT_ROUGH, EFFORT_MODEL, EFFORT_MODEL_MORE } Effort;
/* The schedule of -O0 (empty), -O1, -O2 or -O3. ROUGH is a quick look that tells which programs are worth a close one.
 * user: the user's block, to keep to and to fill the holes of; or NULL. */
Schedule *autosched_default(Arena *arena, const Program *program, const Target *target, const Schedule *user,
                            Effort effort, uint64_t seed);
/* The same for a program without a user's block, with the space that the schedule was chosen from: a search begins
 * there. */
typedef struct StaticChoice {
    Space *space;
    Schedule *schedule;
    const Nest *nest; /* the schedule's; NULL: not built */
    const int *point; /* the point of exactly this schedule; NULL: there is none, a group keeps its plain loops */
    /* What was chosen for each group, also where the schedule cannot have all of it. */
    const int *chosen;
    const bool *plain, *smaller; /* keeps its loops; has smaller tiles, as all together would be too much code */
    const bool *too_long;        /* keeps its loops as all together would be far too much code */
    const Random *drawn;         /* the stream behind it */
} StaticChoice;
StaticChoice *static_choice(Arena *arena, const Program *program, const Target *target, Effort effort, uint64_t seed);
/* Groups that are the same in the space of another choice have that one's choices. from: NULL: there is no other. */
StaticChoice *static_choice_from(Arena *arena, const Program *program, const Target *target, Effort effort,
                                 uint64_t seed, const StaticChoice *from);
/* The static model's seconds after so few points that they tell only which of two layouts suits the program. */
double static_glance(const Program *program, const Target *target, uint64_t seed);
/* The static model's seconds of the program under a schedule; HUGE_VAL if the schedule is not legal. */
double estimated_seconds(Arena *arena, const Program *program, const Schedule *schedule, const Target *target);
/* The best recorded schedules of the program's tasks put together; all: each has a record, else the others get the
 * default. NULL: the program is one task, none has a record, or they are not legal together. */
Schedule *tasks_schedule(Arena *arena, Database *database, const Program *program, const Target *target, int threads,
                         uint64_t seed, bool all);
/* Explains why no choice for the holes of the user's schedule was found to be legal: how the first choices are
 * refused. */
void autosched_explain(Arena *arena, const Program *program, const Target *target, const Schedule *user,
                       NestError *error);

/* --- tuning --- */

typedef struct TuneProgress {
    const char *name;
    int trials, trial_limit, failed;
    double best_seconds, best_gflops, elapsed, eta;
    const char *task; /* of the function, whose turn it is; NULL: none has one */
    double share;     /* of that in the function's time; 0: not known */
} TuneProgress;

typedef struct TuneOptions {
    int trials;               /* in all, including those in the database */
    double budget_seconds;    /* 0: none */
    const char *search;       /* a row of search_policies and settings, as "anneal:cold"; NULL: the first */
    const char *cost_model;   /* a row of cost_models and settings; NULL: the first */
    const CostModel *model;   /* that one, for all tasks of a file; NULL: each search opens its own */
    const char *scheduler;    /* a row of scheduler_policies and settings; NULL: the first */
    const Workshop *workshop; /* NULL: each function is searched as a whole, not by its tasks */
    uint64_t seed;
    const char *device, *toolchain; /* of the Record; or NULL */
    int processors;                 /* that the device has; 0: not known */
    RecordLog *log;                 /* NULL: none */
    const char *compiler;           /* by which it is noted that a budget was spent; NULL: nothing is noted */
    const char *maker;        /* names the compiler and the seed, which decide the default; NULL: nothing is noted */
    int threads;              /* threads of generated code: part of the key */
    const char *inputs;       /* names the arguments' contents, NULL: random; records of others do not count */
    const char *file;         /* the function's source file, for records; or NULL */
    StaticChoice *standard;   /* the default, if it was made before with the same seed; or NULL */
    const volatile int *stop; /* becomes non-zero on Ctrl-C: finish with the best so far */
    void (*progress)(void *context, const TuneProgress *progress);
    void *progress_context;
} TuneOptions;

/* A reason why candidates failed. Reasons that differ in numbers alone count as one. */
typedef struct FailureReason {
    Outcome outcome;
    const char *why; /* of the first */
    int count;
} FailureReason;

/* What became of a task of a function that is searched task by task. */
typedef struct TaskResult {
    const Program *program; /* of the first of its equal ones, in any function */
    int count;              /* of them in the function */
    const struct TuneResult *result;
    bool shared; /* another function has it, too, and its trials were counted there */
} TaskResult;

/* What became of another border between the tasks of a function. */
typedef struct BorderResult {
    const Program *program; /* of the task that it divides */
    const char *stage;      /* that readers do not take in */
    double seconds;         /* of the function */
    double before;          /* without it, after as many trials */
    bool taken;
} BorderResult;

/* The candidates that did not become a time. */
typedef struct TuneFailures {
    int failed[OUTCOME_COUNT];
    LIST(FailureReason) reasons; /* that are known */
    int unsettled;               /* only transient failures */
    int ended;                   /* of those: not by a busy machine; by what ended builds or runs, or made all fail */
    const char *ended_why;       /* the first reason; NULL: none */
} TuneFailures;
void add_failures(Arena *arena, TuneFailures *sum, const TuneFailures *more);

typedef struct TuneResult {
    Schedule *schedule; /* the winner; the default schedule if nothing measured was better */
    double seconds, default_seconds;
    bool raced, default_raced; /* these are of the race, so that they can be compared */
    int trials, measured;
    TuneFailures failures;
    const char *why; /* why the default has no time, or the search ended early; or NULL */
    bool lost;       /* it ended because the machine could not measure any more */
    int unrecorded;  /* measured, but not written to the database */
    double elapsed;
    double build_seconds; /* of a candidate: the median, with tasks the mean of their medians */
    bool from_database;   /* all of it: nothing was measured */
    bool stopped;
    LIST(TaskResult) tasks;     /* none: it was searched as a whole */
    LIST(BorderResult) borders; /* that were tried */
} TuneResult;

/* Opens the model that the options name; NULL: there is none of that name. */
CostModel *tune_model(Arena *arena, const TuneOptions *options);
/* Tunes one program; always returns a result. NULL as toolchain: nothing is measured; as database: nothing is kept. */
TuneResult *tune(Arena *arena, const Program *program, const Target *target, const Schedule *user,
                 const Toolchain *toolchain, Database *database, const TuneOptions *options);

/* Tuning in steps, so that searches over several algorithms of a function can take turns. These ignore the options
 * trials and budget_seconds. */
typedef struct Tuner Tuner;
Tuner *tuner_new(Arena *arena, const Program *program, const Target *target, const Schedule *user,
                 const Toolchain *toolchain, Database *database, const TuneOptions *options);
/* Measures the default if its time is not known yet, then searches until there are `trials` in all, including those in
 * the database. deadline: a monotonic time, 0: none. */
void tuner_search(Tuner *tuner, int trials, double deadline);
/* The default alone. */
void tuner_search_default(Tuner *tuner, double deadline);
/* From now on it measures with this toolchain, or with none. */
void tuner_lend(Tuner *tuner, const Toolchain *toolchain);
void tuner_take_back(Tuner *tuner);
/* Nothing can be measured any more, for this reason: the search ends. */
void tuner_lose(Tuner *tuner, const char *why);
/* The deadline of a search with this budget, which leaves time for a race at the end. 0 for 0. */
double tune_deadline(double budget_seconds);
int tuner_trials(const Tuner *tuner);
int tuners_trials(Tuner *const *tuners, int count); /* of all */
/* Which of the searches for one function goes on next (the first is for the program as written), and in *until up to
 * how many trials. At first each search measures its default. Then the most promising one goes on, by its best time and
 * by how much it was searched. NULL: there were `trials` trials in all, or nothing is left to find. */
Tuner *tuners_next(Tuner *const *tuners, int count, int trials, int *until);
/* Up to `more` trials by these rules, with the defaults compared once. trials: the function's part of all. False:
 * nothing is left to find, or to measure with. */
bool tuners_search(Tuner *const *tuners, int count, int more, int trials, double deadline, bool *compared);
/* Measures the defaults again, interleaved, once after the deadline: one that met a slow second would be given up. */
void tuners_compare(Tuner *const *tuners, int count, double deadline);
/* Measures the best of all again, interleaved, so that they are comparable. Call before tuner_finish. */
void tuners_race(Tuner *const *tuners, int count, double deadline);
/* Whether the default schedule was measured, or failed for good. Until then nothing counts as better. */
bool tuner_knows_default(const Tuner *tuner);
/* Whether the machine became unable to measure before the search was over. */
bool tuner_is_lost(const Tuner *tuner);
/* The scheduler gave others what the search left of these trials: for later compilations it made them. */
void tuner_grant(Tuner *tuner, int trials);
TuneResult *tuner_finish(Tuner *tuner);
/* Whether nothing is left to search: earlier searches by the same maker noted that they know each default, with enough
 * trials of each program or of all, or no others left; or that they *spent the budget, with whatever seed. *used: the
 * trials noted. */
bool searches_are_known(Arena *arena, Database *database, Program *const *programs, int count, const Target *target,
                        const Schedule *user, const TuneOptions *options, int *used, bool *spent);
/* Notes that the searches spent the budget and the best one knows its default. False: could not be written. */
bool searches_note_budget(Arena *arena, Database *database, Program *const *programs, int count, const Target *target,
                          const Schedule *user, const TuneOptions *options);
void tuner_close(Tuner *tuner); /* in place of tuner_finish, when no result is wanted */

/* Several functions that are searched under one scheduler. It gives trials to their tasks, equal ones of all functions
 * being one; a function of one task, or of several programs, is a task itself. */
typedef struct FunctionSearch {
    Tuner *const *tuners; /* of its programs */
    int count, preferred;
    int trials;     /* of all, that are its part */
    bool keeps;     /* if nothing is left to find in it, others do not get the rest of them */
    bool open;      /* its toolchains are, now */
    double seconds; /* that its turns took: the search adds to it */
} FunctionSearch;

/* Lends the toolchains of functions, which are named by their number: few are open at once. */
typedef struct FunctionBench {
    void *context;
    bool (*open)(void *context, int function); /* to its tuners; false: they cannot be opened now */
    void (*close)(void *context, int function);
} FunctionBench;

typedef struct Together Together;
/* bench: NULL: the toolchains are open all the time. */
Together *together_new(Arena *arena, const TuneOptions *options, const FunctionBench *bench, FunctionSearch *functions,
                       int count);
/* Opens the toolchains of a function, unless they are open. False: they cannot be opened now. */
bool together_lend(Together *together, int function);
/* The caller closes its toolchains. */
void together_end(Together *together, int function);
/* Searches until there are `trials` in all, including those in the database. The default of each function was measured
 * before. False: it was stopped, or there was no time for all. */
bool together_search(Together *together, int trials, double deadline);

/* The rows that --search=help lists; ends with a NULL name. */
extern const NamedChoice search_policies[];
/* Those of --scheduler=help. */
extern const NamedChoice scheduler_policies[];
/* Whether a policy with its settings begins without the default: the search is to stand for itself. */
bool search_is_cold(const char *policy);

#endif
