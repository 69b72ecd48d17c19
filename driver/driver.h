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
    LIST(char *) codes;     /* what was generated, to be freed in the end */
    LIST(struct KnownChoice {
        const Program *program;
        const Target *target;
        StaticChoice *choice;
    })
    choices;            /* of the static model, each made once */
    Database *database; /* opened when first needed */
    bool database_tried;
    LIST(struct CheckedInstr {
        const Instr *instr;
        const Target *target;
    })
    checked_instrs;
    bool locks_warned;    /* once is enough */
    double tune_deadline; /* of monotonic time, 0: none */
    int tune_units, tune_units_left, tune_trials_left;
} Compilation;

/* A unit with the schedule that was chosen for a target. */
typedef struct Scheduled {
    const Unit *unit;
    const Schedule *schedule; /* without holes, subject and target set */
    const Nest *nest;
    const char *origin; /* "the source", "the database", "tuning", "the default" */
} Scheduled;

/* Compiles one file with all its outputs. Returns the exit status. */
int compile_file(const Options *options, const char *input);

/* OUT for the first target; the architecture goes before the ending for the others. */
const char *output_path(Compilation *compilation, const Target *target, bool first);
const char *depfile_path(Compilation *compilation, const char *object);
/* Whether no file that is to be written takes the place of another, of one that is read, or of the tuning database. False
 * after a message. */
bool files_are_apart(Compilation *compilation, const Target *const *targets);
/* Before a search, which takes long. False after a message. */
bool outputs_can_be_written(Compilation *compilation, const Target *const *targets);
/* The same of the outputs of several inputs. */
bool inputs_are_apart(Arena *arena, const Options *options);
/* The output of an input file where -o does not name it. */
const char *default_output(Arena *arena, const Options *options, const char *input);

int print_targets(void);
/* The target of this name, whose backend does what the options ask for. NULL after a message. */
const Target *find_target(Arena *arena, const Options *options, const char *name);

/* Chooses by the rules of DESIGN: the user's block, a record of the database, the level. False after a diagnostic. */
bool choose_schedule(Compilation *compilation, const Unit *unit, const Target *target, Scheduled *scheduled);
/* The best fitting block of the unit for a target, or NULL. */
const Schedule *user_schedule(const Unit *unit, const Target *target);
/* For the functions with packed arguments: a unit of programs in which they are constants, whose schedule is the user's
 * block, or the default where packing costs nothing; NULL: no argument is packed. */
const Unit *packing_unit(Compilation *compilation, const Unit *unit);
const Schedule *packing_schedule(Compilation *compilation, const Unit **unit, const Target *target);
bool check_schedule(Compilation *compilation, const Unit *unit, const Target *target);
/* The same schedule, naming the function and a target under which it can be pasted into the source. */
const Schedule *name_schedule(Compilation *compilation, const Schedule *schedule, const char *symbol,
                              const Target *target);
Database *compilation_database(Compilation *compilation);
void close_database(Compilation *compilation);

/* The instructions that a nest uses, each against its meaning, once. False after a diagnostic. */
bool check_instrs_of(Compilation *compilation, const Nest *nest);
/* The best record of the unit, whatever its algorithms; the unit becomes the one with those. NULL: none, or none of the
 * algorithms that would be taken without records: others may be slower. With --tune-frozen there is nothing but records. */
const Schedule *best_record(Compilation *compilation, Database *database, const Unit **unit, const Target *target,
                            const Schedule *user);
/* What the level takes without a record and without measuring. */
const Schedule *best_default(Compilation *compilation, const Unit **unit, const Target *target, const Schedule *user);
/* What the static model has chosen for a program already, without a block of the user's; NULL: nothing yet. */
StaticChoice *known_choice(const Compilation *compilation, const Program *program, const Target *target);
/* The alternative that the static model takes; -1: as it is written. */
int preferred_alternative(Compilation *compilation, const Unit *all, const Target *target);
/* Whether candidates for the target can run. */
bool can_measure(const Compilation *compilation, const Target *target);
/* Becomes non-zero when the user wants searching to end. */
const volatile int *tune_stop(void);
/* -O tune for one unit, which becomes the one with the best algorithms; NULL after a message. *origin where nothing was
 * measured. */
const Schedule *tune_unit(Compilation *compilation, const Unit **unit, const Target *target, const Schedule *user,
                          const char **origin);
/* The unit as the source's block for the target wants it: where that names algorithms, with those and the rest of the
 * block. NULL after a diagnostic. */
const Unit *unit_of_block(Compilation *compilation, const Unit *unit, const Target *target);
/* Whether the block leaves nothing to be chosen but what its algorithms leave. */
bool block_is_whole(const Schedule *block);
/* A block that also says which algorithms the program has. */
const Schedule *schedule_with_algorithms(Compilation *compilation, const Program *program, const Schedule *schedule);
/* The unit with one of its alternatives as its program, and no further ones; -1: as it is written. */
const Unit *unit_with(Compilation *compilation, const Unit *unit, int alternative);
/* -run: runs each kernel, checks it against the interpreter, prints a line each. Returns the exit status. */
int run_kernels(Compilation *compilation, Kernel *const *kernels, int count, const Target *target);

#endif
