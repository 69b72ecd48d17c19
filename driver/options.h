/* options.h - the command line as data. */
#ifndef DRIVER_OPTIONS_H
#define DRIVER_OPTIONS_H

#include "sema/sema.h"

typedef enum Mode { MODE_OBJECT, MODE_ASSEMBLY, MODE_LLVM, MODE_IR, MODE_SYNTAX, MODE_RUN } Mode;
typedef enum Level { LEVEL_0, LEVEL_1, LEVEL_2, LEVEL_3, LEVEL_TUNE } Level;

/* NAME=FILE of --input and --output. */
typedef struct NamedFile {
    const char *name, *path;
} NamedFile;
typedef LIST(NamedFile) NamedFiles;

typedef struct Options {
    Mode mode;
    Level level;
    LIST(const char *) files;
    LIST(const char *) targets;
    LIST(Define) defines;
    LIST(const char *) paths;
    NamedFiles run_inputs, run_outputs;
    const char *out, *header, *emit_schedule, *database, *log, *search, *scheduler, *cost_model, *runner, *dump;
    const char *depfile, *depfile_target;
    bool dependencies, phony;
    bool debug, pic, strict, unchecked_gather, frozen, explain, features, time_report, verbose;
    DiagOptions diagnostics;
    int threads, trials, jobs, most_statements;
    double budget, progress, fp_error;
    uint64_t seed;
} Options;

int print_help(void); /* returns the exit status */
/* Reads argv. Returns -1 to continue, else the exit status (after --help, --version, a list, or a usage error). */
int options_read(Arena *arena, int argc, char **argv, Options *options);
/* Prints "tensorc: error: ..." on stderr. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
