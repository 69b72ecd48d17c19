/* sema.h - from syntax trees to checked Programs. */
#ifndef SEMA_SEMA_H
#define SEMA_SEMA_H

#include "lang/program.h"
#include "parser/ast.h"

/* -DNAME=VALUE of the command line: binds a size or an integer parameter in every export and def that has the name. */
typedef struct Define {
    const char *name;
    int64_t value;
    /* Set by sema, which warns of a define that binds nothing. */
    bool used, overridden; /* an export binds the name itself */
} Define;

typedef struct SemaOptions {
    int define_count;
    Define *defines;
    int path_count;
    const char **paths; /* -I, in order; they come after the importing file's folder and before the embedded stdlib */
    /* Finds a stdlib file by the name in an import ("nn"). Returns its number in sources, or 0. */
    uint32_t (*find_embedded)(void *context, Sources *sources, const char *name);
    const char *const *algorithms; /* names of stdlib files whose defs implement others, ended by NULL; or NULL */
    void *context;
    int most_statements;  /* -fmax-statements: of a function; 0: STATEMENT_LIMIT */
    bool strict;          /* -fstrict: reductions are neither reassociated nor contracted */
    double allowed_error; /* -ffp-error: the largest error of algorithms that may be used */
} SemaOptions;

/* Of a function, with its loops and calls written out, where nothing else is asked for: compiling it takes seconds. */
enum { STATEMENT_LIMIT = 4000 };

/* Of a unit, sizes included: code generators take time quadratic in them. */
enum { UNIT_ARGUMENT_LIMIT = 4096 };

/* A function to make: an export, or, if the file has none, a def of the main file. */
typedef struct Unit {
    Program *program;
    Loc loc;               /* of the export, or of the def that is one */
    int alternative_count; /* the same function by other algorithms; their program->meaning is the program of this
                            * unit */
    Program **alternatives;
    const Schedule **schedules; /* those for the export, then for the def, then beside an imported def */
    int schedule_count;
    bool is_version;   /* for one row of `tunes`: messages about its unit are not repeated */
    bool is_automatic; /* a version that the source does not ask for */
    int tune_count;
    struct TuneSizes {
        int count;
        bool automatic;
        bool at_most; /* the value is an upper limit for one size */
        struct Binding *bindings;
    } * tunes; /* export ... tune (M=1024, N=64), ... */
} Unit;

typedef struct Module {
    Arena *arena;
    LIST(Unit) units;
    LIST(const char *) files; /* every file that was read, main first; for the make rule */
} Module;

/* Reads imports, checks every def (unused ones too, with symbolic sizes) and makes a Program of each unit. Always
 * returns. The module is valid only if diagnostics has no error. */
Module *sema_check(Arena *arena, Sources *sources, AstFile *main_file, SemaOptions *options, Diagnostics *diagnostics);
/* Whether C can call a function of this name, and nothing that it is linked with has the name. */
bool can_be_symbol(const char *name);
/* The binding of a name; NULL: there is none. */
const struct Binding *find_binding(const struct Binding *bindings, int count, const char *name);
/* The program with some run-time sizes bound to values: a specialisation. NULL, with the reason in *why, if a
 * requirement fails for these values. */
Program *program_bind(Arena *arena, const Program *program, const struct Binding *bindings, int count,
                      const char **why);
/* A program that writes what sums and recurrences make into outputs, behind the program's own arguments and, as inputs,
 * its constants of floats. NULL: it has no such temporaries. */
Program *program_exposed(Arena *arena, const Program *program);
/* The same program, with one of its run-time sizes known to be at most a value. */
Program *program_limit(Arena *arena, const Program *program, const struct Binding *limit, const char **why);

#endif
