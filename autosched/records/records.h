/* records.h - the door of the records: measurements, kept in a database under the structure of programs.
 *
 * The canonical form of a program gives its hash, and names for schedules that do not depend on the source. Stages are
 * S0, S1, ...; the loops of their axes S0.x0, of their reductions S0.r0; those of scans C0.x0; other tensors T0, T1,
 * ... Local names that a schedule gives stay. So the results of one search serve every program of the same structure.
 */
#ifndef AUTOSCHED_RECORDS_RECORDS_H
#define AUTOSCHED_RECORDS_RECORDS_H

#include "lang/waiting.h"
#include "lower/nest/nest.h"

/* --- the canonical form of a program --- */

/* Structural hash in hexadecimal. Sizes and types matter; names and the order of independent parts do not. */
const char *task_hash(Arena *arena, const Program *program);
/* The same, but constant indices of reads and numbers that elements are computed with do not matter: no key of a
 * record, as such programs mean different things. With numbers: nor do those that indices are computed or
 * compared with. */
const char *layer_hash(Arena *arena, const Program *program, bool numbers);

typedef struct Task {
    const Program *program;
    const char *key; /* hexadecimal: task_hash, with the user's schedule where there is one */
    const Schedule *user;
    bool renames; /* false with a user's schedule, whose text is part of the key, names included */
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
/* The program as text that names nothing of the source, for readers and for later versions: a line for each stage, in
 * canonical order, then what the user's schedule adds. */
const char *task_program(Arena *arena, const Task *task);
/* Whether the text is that of the task with this key: it is hashed again. */
bool task_program_fits(const char *key, const char *program);
/* Reads such a text back as a schedule in the program's names; NULL when it cannot be read. Does not check legality. */
Schedule *task_schedule(Arena *arena, const Task *task, const Target *target, const char *text);

/* Schedules of parts of a program, each in the names of the whole, as one of the whole. Where a name that one gives is
 * taken, it gets an ending. What inlines comes first, each stage once. Does not check legality. */
Schedule *schedules_join(Arena *arena, const Program *whole, const Target *target, Schedule *const *parts, int count);

/* --- the database: SQLite, one file, safe under kill -9 and many processes --- */

typedef struct Database Database;
typedef enum DatabaseUse {
    DATABASE_TO_WRITE, /* created if it does not exist */
    DATABASE_TO_READ,  /* without checking every page, which takes long for a large one; damage found later is treated
                        * as absent data, and database_failed tells */
    DATABASE_TO_COPY   /* to read it whole; refused when it has no records */
} DatabaseUse;
/* NULL with *why (one line) when it cannot be opened, is damaged (then *damaged, which may be NULL) or is of a newer
 * version. limit: of all waiting for other processes that lock it, from now on. */
Database *database_open_within(Arena *arena, const char *path, DatabaseUse use, WaitLimit limit, const char **why,
                               bool *damaged);
/* Opens it to write, and waits for other processes as long as makes sense. */
Database *database_open(Arena *arena, const char *path, const char **why, bool *damaged);
bool database_failed(const Database *database);
void database_close(Database *database);
/* The default path: $TENSORC_DB, else tensorc/tuning.db under $XDG_DATA_HOME or ~/.local/share; NULL: none is set. */
const char *database_default_path(Arena *arena);
/* The files of the database at the path, by number: it, and what SQLite may keep beside it. NULL: no more. */
const char *database_file(Arena *arena, const char *path, int number);
bool database_add(Database *database, const Record *record); /* false: could not be written (full disk) */
/* All or none, in one transaction. */
bool database_add_all(Database *database, const Record *records, int count);
/* The text of a task's program; NULL: none is known, as in files of older versions. */
const char *database_program(Arena *arena, Database *database, const char *task);
/* Whether it is known what disturbed a measurement; records of older versions do not say. */
bool disturbance_is_known(const Disturbance *disturbance);
/* Deletes a record whose result is invalid. */
bool database_forget(Database *database, const Record *record);
/* The target's name in records: the microarchitecture found, else the name of the target's row. */
const char *database_target(const Target *target);
/* The records of a task on a target with a number of threads, best first. */
int database_find(Arena *arena, Database *database, const char *task, const char *target, int threads,
                  Record **records);
/* tensorc db: argv begins with the command (ls, export, import, merge, prune). Writes rows of text to stdout; export
 * writes reviewable text, a paragraph for each record. Returns the exit status. */
int database_command(int argc, char **argv, const char *path);

/* The best record of the program (or of the user's block with holes; user may be NULL) that is still a legal schedule,
 * in the names of this program: what -O2 uses if there is one. inputs: those it was measured on; times on others are
 * not comparable. NULL: none. record may be NULL. */
Schedule *database_best(Arena *arena, Database *database, const Program *program, const Target *target,
                        const Schedule *user, int threads, const char *inputs, Record *record);
/* The inputs that the latest result of these programs was measured on; "": none was given for any of them. */
const char *database_inputs(Arena *arena, Database *database, Program *const *programs, int count, const Target *target,
                            const Schedule *user, int threads);

/* --- a log of trials beside the database --- */

typedef struct RecordLog {
    const char *path;
    int file;
    int trouble; /* the first error that writing met; 0: none */
} RecordLog;
/* NULL with errno set. "-" is standard output. */
RecordLog *record_log_open(Arena *arena, const char *path);
/* Adds the record as a line of JSON: a value for each column that it has, after the event. */
void record_log(RecordLog *log, const char *event, const Record *record);
void record_log_close(RecordLog *log); /* NULL: nothing */

/* --- notes beside the records --- */

/* How far a search has come. Kept beside its records, to be found quickly the next time. */
typedef struct SearchNote {
    const char *maker; /* TuneOptions.maker */
    int trials;        /* how many have a record */
    bool exhausted;    /* there are no other schedules to try */
} SearchNote;
/* False: could not be written. */
bool database_note(Database *database, const char *task, const char *target, int threads, const SearchNote *note);
/* False: that maker left none. */
bool database_find_note(Database *database, const char *task, const char *target, int threads, const char *maker,
                        SearchNote *note);
/* Notes the budget of the file with which searches for a function, over all its programs, used their time; tasks: the
 * hash of their tasks. False: could not be written. */
bool database_note_budget(Database *database, const char *tasks, const char *target, int threads, const char *maker,
                          double seconds);
/* The most that was noted; 0: that maker noted none. */
double database_find_budget(Database *database, const char *tasks, const char *target, int threads, const char *maker);

#endif
