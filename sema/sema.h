/* sema.h - from syntax trees to checked Programs. */
#ifndef SEMA_SEMA_H
#define SEMA_SEMA_H

#include "lang/program.h"
#include "parser/ast.h"

/* -DNAME=VALUE of the command line: binds a size or an integer parameter of every export and def that has it. */
typedef struct Define {
    const char *name;
    int64_t value;
    /* Set by sema: one that binds nothing is a warning. */
    bool used, overridden; /* an export binds the name itself */
} Define;

typedef struct SemaOptions {
    int define_count;
    Define *defines;
    int path_count;
    const char **paths; /* -I, in order; the importing file's folder comes first, the embedded stdlib last */
    /* Finds a stdlib file by import name ("nn"): its number in sources, or 0. */
    uint32_t (*find_embedded)(void *context, Sources *sources, const char *name);
    void *context;
    bool strict;          /* -fstrict: reductions are neither reassociated nor contracted */
    double allowed_error; /* -ffp-error: of algorithms that defs which implement others may use */
} SemaOptions;

/* One function to make: an export, or a def of the main file when nothing is exported. */
typedef struct Unit {
    Program *program;
    int alternative_count; /* the same function by other algorithms: program->meaning is the unit's program */
    Program **alternatives;
    const Schedule **schedules; /* that name the export, then the def, then beside an imported def */
    int schedule_count;
    bool is_version;   /* for the sizes of one of the tunes: what is said of its unit is not said of it again */
    bool is_automatic; /* such a version that the source does not ask for */
    int tune_count;
    struct TuneSizes {
        int count;
        bool automatic;
        bool at_most; /* a limit of one size: it is called up to that */
        struct Binding *bindings;
    } * tunes; /* export ... tune (M=1024, N=64), ... */
} Unit;

typedef struct Module {
    Arena *arena;
    LIST(Unit) units;
    LIST(const char *) files; /* every file that was read, main first: the depfile */
} Module;

/* Reads imports, checks every def (also unused ones, symbolically), makes a Program of each unit. Always returns; the
 * module is meaningful only when diagnostics hold no error. */
Module *sema_check(Arena *arena, Sources *sources, AstFile *main_file, SemaOptions *options, Diagnostics *diagnostics);
/* The program with some run-time sizes bound to values: what a specialisation is made of. NULL (with a reason in why)
 * when a requirement fails for them. */
Program *program_bind(Arena *arena, const Program *program, const struct Binding *bindings, int count,
                      const char **why);
/* The same program where one of its run-time sizes is known to be at most a value. */
Program *program_limit(Arena *arena, const Program *program, const struct Binding *limit, const char **why);

#endif
