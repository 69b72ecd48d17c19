/* driver.h - what the files of the driver share: one compilation of one input file. */
#ifndef DRIVER_DRIVER_H
#define DRIVER_DRIVER_H

#include "backends/backends.h"
#include "driver/options.h"
#include "lang/clock.h"
#include "lang/files.h"

typedef struct Compilation {
    Arena *arena;
    const Options *options;
    const char *input; /* as given; "-" is standard input */
    Sources *sources;
    Diagnostics *diagnostics;
    Module *module;
    Text variant_schedules; /* of versions for known sizes and of packed arguments, as comments */
    LIST(char *) codes;     /* generated code, freed at the end */
    LIST(struct KnownChoice {
        const Program *program;
        const Target *target;
        StaticChoice *choice;
    })
    choices;            /* of the static model; each is made once */
    Database *database; /* opened when it is first needed */
    bool database_tried;
    RecordLog *log; /* of trials; NULL: none */
    LIST(struct CheckedInstr {
        const Instr *instr;
        const Target *target;
    })
    checked_instrs;
    bool locks_warned;    /* the warning about locks is given once */
    double tune_deadline; /* in monotonic time; 0: none */
    int tune_units, tune_units_left, tune_trials_left;
} Compilation;

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

/* Chooses by the rules of DESIGN: the user's block, a record of the database, the level. False after a message. */
bool choose_schedule(Compilation *compilation, const Unit *unit, const Target *target, Scheduled *scheduled);
/* The block of the unit that fits the target best, or NULL. */
const Schedule *user_schedule(const Unit *unit, const Target *target);
/* For the functions with packed arguments: a unit whose programs have these arguments as constants. Its schedule is the
 * user's block, or else the default when packing costs nothing. NULL: no argument is packed. */
const Unit *packing_unit(Compilation *compilation, const Unit *unit);
const Schedule *packing_schedule(Compilation *compilation, const Unit **unit, const Target *target);
bool check_schedule(Compilation *compilation, const Unit *unit, const Target *target);
/* The same schedule under a function name and a target with which it can be pasted into the source. */
const Schedule *name_schedule(Compilation *compilation, const Schedule *schedule, const char *symbol,
                              const Target *target);
Database *compilation_database(Compilation *compilation);
void close_database(Compilation *compilation);

/* Checks the instructions that a nest uses against their meanings, each once. False after a message. */
bool check_instrs_of(Compilation *compilation, const Nest *nest);
/* The best record of the unit with any algorithms on these inputs ("": random ones); *unit becomes the unit with these.
 * NULL if there is none, or if the algorithms that would be chosen without records have none: the recorded ones may be
 * slower. With --tune-frozen only records count. */
const Schedule *best_record(Compilation *compilation, const Unit **unit, const Target *target, const Schedule *user,
                            const char *inputs);
/* The same on the inputs that were given last; if it is none of them, on random ones; else from records of its tasks. */
const Schedule *best_known(Compilation *compilation, const Unit **unit, const Target *target, const Schedule *user);
/* What the level chooses without a record and without measuring. */
void schedule_notes(Text *text, const Schedule *schedule, const char *before);
const Schedule *best_default(Compilation *compilation, const Unit **unit, const Target *target, const Schedule *user);
/* What the static model has already chosen for a program without a user's block; NULL if nothing. */
StaticChoice *known_choice(const Compilation *compilation, const Program *program, const Target *target);
/* The alternative that the static model chooses; -1: as written. */
int preferred_alternative(Compilation *compilation, const Unit *all, const Target *target);
/* Whether candidates for the target can run. */
bool can_measure(const Compilation *compilation, const Target *target);
/* Becomes non-zero when the user asks to end the search. */
const volatile int *tune_stop(void);
/* -O tune for one unit. *unit becomes the one with the best algorithms. NULL after a message. Sets *origin if nothing
 * was measured. */
const Schedule *tune_unit(Compilation *compilation, const Unit **unit, const Target *target, const Schedule *user,
                          const char **origin);
/* The unit as the source's block for the target wants it: with the algorithms that the block names, and the rest of the
 * block as its schedule. NULL after a message. */
const Unit *unit_of_block(Compilation *compilation, const Unit *unit, const Target *target);
/* Whether the block leaves nothing to choose but what its algorithms leave open. */
bool block_is_whole(Compilation *compilation, const Unit *unit, const Target *target, const Schedule *block);
/* Whether nothing is chosen or added at this level: it has no holes and, from -O2 on, leaves nothing open. */
bool block_is_exact(const Compilation *compilation, const Program *program, const Target *target,
                    const Schedule *block);
/* The schedule as a block that is held to exactly. */
const Schedule *schedule_closed(Compilation *compilation, const Program *program, const Target *target,
                                const Schedule *schedule);
/* What the schedule has beyond the block, or NULL, of the source: a line for each statement, after `before`. */
void block_notes(Text *text, const Schedule *block, const Schedule *schedule, const char *before);
/* The schedule with statements that name the algorithms of the program. */
const Schedule *schedule_with_algorithms(Compilation *compilation, const Program *program, const Schedule *schedule);
/* The unit with one of its alternatives as its program and no others. -1: as written. */
const Unit *unit_with(Compilation *compilation, const Unit *unit, int alternative);
/* -run: runs each kernel, checks it against the interpreter, and prints one line for each. Returns the exit status. */
int run_kernels(Compilation *compilation, Kernel *const *kernels, int count, const Target *target);

#endif
