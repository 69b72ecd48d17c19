/* plan.h - a plan for each function: which of the programs that compute it, and by which schedule.
 *
 * autosched_choose gives the plan of one function without measuring, autosched_tune those of several by measuring. All
 * policy of choosing is here and below: who calls has the options, the files and what is printed, and is told of what
 * goes on by calls of a TuneBench and by a FunctionTuning. A plan is legal: its nest is built.
 */
#ifndef AUTOSCHED_PLAN_H
#define AUTOSCHED_PLAN_H

#include "autosched/search/search.h"

typedef enum PlanOrigin {
    PLAN_BY_SOURCE,   /* the user's block, which leaves nothing open */
    PLAN_COMPLETED,   /* the user's block, and what the default adds to it */
    PLAN_BY_DATABASE, /* the best record */
    PLAN_BY_TUNING,   /* measured now, or found by the same search before */
    PLAN_BY_DEFAULT
} PlanOrigin;

typedef struct Plan {
    Program *program;         /* one of the function's; NULL: there is no plan */
    int number;               /* which one */
    const Schedule *schedule; /* without holes; its subject and target are set */
    const Nest *nest;
    PlanOrigin origin;
} Plan;

/* What is to be planned. */
typedef struct PlanFunction {
    Program *const *programs; /* as written, then by other algorithms; with a block there is one */
    int count;
    const Target *target;
    const Schedule *user; /* the block of the source; or NULL */
    const char *inputs;   /* for a search: names the arguments' contents; NULL: random */
    /* The same function, whose const arguments are not packed, planned before: what was chosen for it holds for groups
     * of stages that read none of them. Or NULL. */
    const struct PlanFunction *unpacked;
    bool chosen_again; /* once more after a search, with packed arguments: time is kept for that */
} PlanFunction;

/* What decides a plan besides the function. One for a compilation: choices are made once. */
typedef struct Planner {
    Arena *arena;
    Effort effort; /* of the default */
    uint64_t seed;
    Database *database;  /* NULL: records do not count */
    bool complete_tasks; /* records of tasks count only where each has one */
    bool frozen;         /* records are taken though those of another algorithm may lack */
    LIST(struct KnownChoice {
        const Program *program;
        const Target *target;
        Effort effort;
        StaticChoice *choice;
    })
    choices; /* of the static model */
} Planner;

/* --- blocks of the source --- */

/* Whether the function has a block to which nothing is added: it has no holes and, for the model, nothing open. */
bool plan_is_exact(const Planner *planner, const PlanFunction *function);
/* The block with its holes filled as -O1 would fill them. NULL, with the reason, if no choice is legal. */
const Schedule *plan_filled(const Planner *planner, const Program *program, const Target *target, const Schedule *block,
                            NestError *error);
/* The same schedule under a function's name and a target with which it can be pasted into the source. */
const Schedule *plan_named(Arena *arena, const Schedule *schedule, const char *symbol, const Target *target);

/* --- without measuring --- */

/* No program where there is no schedule, or it is not legal. */
Plan plan_of(const Planner *planner, const PlanFunction *function, int number, const Schedule *schedule,
             PlanOrigin origin);

/* Fills worth[function->count]: of more than MANY_PROGRAMS, those that are worth a search or a close look: the one as
 * written, those that the compiler makes itself, and the most promising of the others at a glance. */
enum { MANY_PROGRAMS = 10 };
void plan_worth(const Planner *planner, const PlanFunction *function, bool *worth);

/* By the first of these that there is: the user's block where it is exact, the best record, the default. Fast
 * algorithms must be estimated as better by a margin. */
Plan autosched_choose(Planner *planner, const PlanFunction *function);
/* The default alone. */
Plan plan_default(Planner *planner, const PlanFunction *function);
/* The best record on the inputs that were given last; if it is none of them, on random ones; else from records of its
 * tasks. No program: there is none, or the algorithms that would be chosen without records have none. */
Plan plan_recorded(Planner *planner, const PlanFunction *function);
/* The same on these inputs ("": random ones), without its tasks. */
Plan plan_recorded_on(Planner *planner, const PlanFunction *function, const char *inputs);
/* The program that is chosen without measuring and without a block. */
int plan_preferred(Planner *planner, const PlanFunction *function);
/* What the static model has already chosen for a program without a block; NULL: nothing. */
StaticChoice *plan_known_choice(const Planner *planner, const Program *program, const Target *target);

/* --- measuring --- */

/* What became of one function. */
typedef struct FunctionTuning {
    const PlanFunction *function;
    Plan plan; /* no program: nothing could be measured, for the reason `why` */
    const char *why;
    bool transient;       /* another time it may be */
    TuneResult **results; /* by program, NULL for one that was not searched; NULL: nothing had to be measured */
    int preferred, best;  /* programs: chosen without measuring; with the best result */
    double seconds;       /* that the search took */
} FunctionTuning;

/* What the caller lends. Functions are named by their number. */
typedef struct TuneBench {
    void *context;
    /* A toolchain for each program of a function, on its inputs; what they wait for ends at a monotonic time (0: none).
     * NULL, with the reason: they cannot be measured. transient: another time they may be. */
    Toolchain *const *(*open)(void *context, int function, double end, const char **why, bool *transient);
    void (*close)(void *context, Toolchain *const *toolchains);
    /* For a task of a function, on random inputs; or NULL. */
    const Toolchain *(*open_task)(void *context, int function, Program *program, double end);
    void (*close_task)(void *context, const Toolchain *toolchain);
    /* The search for a function begins, with so many trials; all are to be over at a monotonic time (0: none). */
    void (*begin)(void *context, int function, int trials, double end);
    void (*progress)(void *context, int function, int program, const TuneProgress *progress);
    void (*end)(void *context, int function, const FunctionTuning *tuning);
} TuneBench;

/* Finds the plans of functions by measuring. options: trials and budget_seconds are of all together (no trials: a fixed
 * number for each); threads, inputs, standard, workshop and progress are set for each function. deadline: the monotonic
 * time by which all is to be over; 0: none. What one function leaves, the next ones have. Nothing that was searched
 * before is searched again. tunings: one for each function. Ends early, with false, at a function that cannot be
 * measured at all: the tunings from it on have no plan. */
bool autosched_tune(Planner *planner, const PlanFunction *functions, int count, const TuneOptions *options,
                    double deadline, const TuneBench *bench, FunctionTuning *tunings);

#endif
