/* records.h - the door of the records: what was measured, kept in a database by the structure of programs.
 *
 * The canonical form of a program: its hash, and schedules in names that do not depend on the source's. Stages are S0,
 * S1, ..., the loops of their axes S0.x0, of their reductions S0.r0, of scans C0.x0, other tensors T0, T1, ...; local
 * names that a schedule gives stay. What one program's search stored is so of use to every program of the same
 * structure.
 */
#ifndef AUTOSCHED_RECORDS_RECORDS_H
#define AUTOSCHED_RECORDS_RECORDS_H

#include "lang/waiting.h"
#include "lower/nest/nest.h"

/* --- the canonical form of a program --- */

/* Structural hash: names and the order of independent parts do not matter, sizes and types do. Hexadecimal. */
const char *task_hash(Arena *arena, const Program *program);

typedef struct Task {
    const Program *program;
    const char *key; /* hexadecimal: task_hash, with the user's schedule where there is one */
    bool renames;    /* false with a user's schedule: its text is part of the key, names included */
    int stage_count;
    const Stage **stages; /* in canonical order */
    int tensor_count;
    const Tensor **tensors; /* those without a stage */
    int scan_count;
    const Scan **scans;
} Task;

Task *task_new(Arena *arena, const Program *program, const Schedule *user);
/* The schedule's statements in canonical names. */
const char *task_text(Arena *arena, const Task *task, const Schedule *schedule);
/* The schedule of such a text in the program's names; NULL when it cannot be read. Not checked for legality. */
Schedule *task_schedule(Arena *arena, const Task *task, const Target *target, const char *text);

/* --- the database: SQLite, one file, safe under kill -9 and many processes --- */

typedef struct Database Database;
typedef enum DatabaseUse {
    DATABASE_TO_WRITE, /* made where there is none */
    DATABASE_TO_READ,  /* without a look at every page, which takes long for a large one: what is found to be damaged
                        * later is as if it was not there, and database_failed tells */
    DATABASE_TO_COPY   /* to be read as a whole; one without records is refused */
} DatabaseUse;
/* NULL with *why (one line) when it cannot be opened, is damaged (*damaged then, which may be NULL) or of a newer
 * version. limit: of all waiting for others who have locked it, from now on. */
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

/* --- notes beside the records --- */

/* How far a search has come, noted beside its records: what is to be known quickly the next time. */
typedef struct SearchNote {
    const char *maker; /* of TuneOptions */
    int trials;        /* that have a record */
    bool exhausted;    /* there are no others */
} SearchNote;
/* False: could not be written. */
bool database_note(Database *database, const char *task, const char *target, int threads, const SearchNote *note);
/* False: there is none of that maker. */
bool database_find_note(Database *database, const char *task, const char *target, int threads, const char *maker,
                        SearchNote *note);
/* The budget that searches for a function have spent, of all its programs together: by the hash of their tasks. False:
 * could not be written. */
bool database_note_budget(Database *database, const char *tasks, const char *target, int threads, const char *maker,
                          double seconds);
/* 0: none of that maker. */
double database_find_budget(Database *database, const char *tasks, const char *target, int threads, const char *maker);

#endif
