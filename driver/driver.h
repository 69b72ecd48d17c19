/* driver.h - what the files of the driver share: one compilation of one input file. */
#ifndef DRIVER_DRIVER_H
#define DRIVER_DRIVER_H

#include "backends/backends.h"
#include "driver/options.h"
#include "lang/clock.h"
#include "lang/files.h"
#include "lang/map.h"

typedef struct Compilation {
    Arena *arena;
    const Options *options;
    const char *input; /* as given; "-" is standard input */
    Sources *sources;
    Diagnostics *diagnostics;
    Module *module;
    Text variant_schedules; /* of versions for known sizes and of packed arguments, as comments */
    LIST(char *) codes;     /* generated code, freed at the end */
    Planner planner;        /* its database is set where records count */
    Map functions;          /* by unit: its function for the last target, which knows the others */
    Database *database;     /* opened when it is first needed */
    bool database_tried;
    RecordLog *log; /* of trials; NULL: none */
    LIST(struct CheckedInstr {
        const Instr *instr;
        const Target *target;
    })
    checked_instrs;
    bool results_lost; /* a result of -run could not be written, and that was said: nothing runs after that */
    bool runner_answered;
    bool locks_warned;        /* the warning about locks is given once */
    double tune_deadline;     /* in monotonic time; 0: none */
    const volatile int *stop; /* becomes non-zero when the user asks to end the search */
} Compilation;

/* A function of the file for one target. */
typedef struct Function {
    const Unit *source; /* as it was read; or a version of that */
    const Unit *unit;   /* with the algorithms that its block names */
    const Target *target;
    PlanFunction asked;
    Plan plan;         /* of -O tune; no program: none was made yet */
    int version_count; /* for known sizes */
    const struct TuneSizes *rows;
    const Unit **versions;    /* by row */
    struct Function *of_unit; /* for another target */
} Function;

/* A unit with the schedule chosen for a target. */
typedef struct Scheduled {
    const Unit *unit;
    const Schedule *schedule; /* without holes; its subject and target are set */
    const Nest *nest;
    const char *origin; /* "the source", "the database", "tuning", "the default" */
} Scheduled;

/* Compiles one file with all its outputs. Returns the exit status. */
int compile_file(const Options *options, const char *input);

/* OUT for the first target. For the others the architecture is put before the ending. */
const char *output_path(Compilation *compilation, const Target *target, bool first);
const char *depfile_path(Compilation *compilation, const char *object);
/* Whether no output overwrites another output, an input or the tuning database. False after a message. */
bool files_are_apart(Compilation *compilation, const Target *const *targets);
/* Whether all outputs can be written: asked before a search, which takes long. False after a message. */
bool outputs_can_be_written(Compilation *compilation, const Target *const *targets);
/* Ends the log, which outputs_can_be_written has opened. False, after a message, when a line of it could not be
 * written. */
bool close_log(Compilation *compilation);
/* Whether the outputs of several inputs are different files. False after a message. */
bool inputs_are_apart(Arena *arena, const Options *options);
/* The output for an input file if -o does not name it. */
const char *default_output(Arena *arena, const Options *options, const char *input);

int print_targets(void);
/* The target with this name, if its backend can do what the options ask for. NULL after a message. */
const Target *find_target(Arena *arena, const Options *options, const char *name);
/* Whether candidates for the target can run. */
bool can_measure(const Compilation *compilation, const Target *target);

/* block.c: a block of the source */
/* The block of the unit that fits the target best, or NULL. */
const Schedule *user_schedule(const Unit *unit, const Target *target);
/* The schedule as a block that is held to exactly. */
const Schedule *schedule_closed(Compilation *compilation, const Program *program, const Target *target,
                                const Schedule *schedule);
/* What the schedule has beyond the block, or NULL, of the source: a line for each statement, after `before`. */
void block_notes(Text *text, const Schedule *block, const Schedule *schedule, const char *before);

/* check.c: checks that the block is legal with its holes filled as -O1 would fill them. False after a message. */
bool check_schedule(Compilation *compilation, const Unit *unit, const Target *target);

/* database.c: NULL if there is none, after a message where that is an error. Below -O tune a missing one is not:
 * nothing was tuned yet. */
Database *compilation_database(Compilation *compilation);
void close_database(Compilation *compilation);

/* algorithm.c: units with one of their algorithms */
/* The unit as the source's block for the target wants it: with the algorithms that the block names, and the rest of the
 * block as its schedule. NULL after a message. */
const Unit *unit_of_block(Compilation *compilation, const Unit *unit, const Target *target);
/* The schedule with statements that name the algorithms of the program. */
const Schedule *schedule_with_algorithms(Compilation *compilation, const Program *program, const Schedule *schedule);
/* The unit with one of its alternatives as its program and no others. -1: as written. */
const Unit *unit_with(Compilation *compilation, const Unit *unit, int alternative);

/* functions.c */
/* The function of a unit, checked; made once. NULL after a message. */
Function *function_of(Compilation *compilation, const Unit *source, const Target *target);
/* What is asked of a planner for a unit. */
PlanFunction asked_of(Compilation *compilation, const Unit *unit, const Target *target);
/* For the functions with packed arguments: a unit whose programs have these arguments as constants. Its schedule is the
 * user's block, or else the default when packing costs nothing. NULL: no argument is packed. */
const Unit *packing_unit(Compilation *compilation, const Unit *unit, const Target *target);

/* tune.c: -O tune */
/* Becomes non-zero when the user asks to end the search. */
const volatile int *tune_stop(void);
/* Searches for the functions of the file on all targets. False after a message. */
bool tune_file(Compilation *compilation, const Target *const *targets);
/* What the search found, or what stands for it where nothing is measured. False after a message. */
bool tuned_plan(Compilation *compilation, const Function *function, Plan *plan);

/* schedule.c */
/* The plan of a unit. False after a message. */
bool choose_schedule(Compilation *compilation, const Unit *unit, const Target *target, Scheduled *scheduled);
/* The plan of a packing unit of the function; its unit is the one with its algorithms. No schedule: as written. */
Scheduled packing_schedule(Compilation *compilation, const Unit *unit, const Function *function);
/* Plain loops that nobody asked for may be slow: a warning. */
void warn_of_plain(Compilation *compilation, const Scheduled *scheduled, const char *symbol);
/* What was not done to the stages that was meant to be, and why: a line each, after `before`; none without a
 * schedule. */
void schedule_notes(Text *text, const Schedule *schedule, const char *before);
/* The same on standard error, for -v. */
void show_notes(Compilation *compilation, const Schedule *schedule, const char *symbol);

/* instr.c: checks the instructions that a nest uses against their meanings, each once. False after a message. */
bool check_instrs_of(Compilation *compilation, const Nest *nest);
/* Whether -run can do what its options ask for; before a search, the arguments' files and sizes, too. False after a
 * message. */
bool run_is_possible(Compilation *compilation, const Target *const *targets);
/* -run: runs each kernel, checks it against the interpreter, and prints one line for each. Returns the exit status. */
int run_kernels(Compilation *compilation, Kernel *const *kernels, int count, const Target *target);

#endif
