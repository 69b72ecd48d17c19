/* command.c - tensorc db: ls, show, stats, export, import, merge, prune.
 *
 * A table of subcommands. Results go to standard output; an error is one line on standard error. import and merge are
 * one transaction each: all or nothing.
 */
#include "autosched/records/database.h"
#include "lang/files.h"
#include "lang/terminal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { EXIT_OK = 0, EXIT_INPUT = 1, EXIT_USAGE = 2 };

typedef struct Command {
    const char *name, *arguments, *summary;
    int minimum, maximum; /* number of arguments */
    bool creates;         /* creates a database if there is none */
    int (*run)(Arena *arena, Database *database, int count, char **arguments);
} Command;

static int complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

static int complain(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    show_error_list("database", "", format, arguments);
    va_end(arguments);
    return EXIT_INPUT;
}

static int complain_sqlite(const Database *database) {
    return complain("tuning database '%s': %s", database->path, sqlite3_errmsg(database->handle));
}

static int complain_damage(const Database *database) {
    return complain("tuning database '%s': a record of it is damaged", database->path);
}

/* Output errors (a full disk) show at the flush. */
static int finish_output(void) {
    return flush_standard_output() ? EXIT_OK : complain("cannot write 'standard output': %s", strerror(errno));
}

/* Shows a text that names what it holds: the control characters of these names are escaped. */
static int finish_report(const Database *database, ReportStatus status, const Text *text, const char *prefix) {
    switch (status) {
    case REPORT_NONE: return complain("no task of '%s' begins with '%s'", database->path, prefix);
    case REPORT_SEVERAL: return complain("several tasks of '%s' begin with '%s'", database->path, prefix);
    case REPORT_DAMAGED: return complain_damage(database);
    case REPORT_UNREAD: return complain_sqlite(database);
    case REPORT_GOOD: break;
    }
    show(stdout, "%s", text->text);
    return finish_output();
}

static int run_show(Arena *arena, Database *database, int count, char **arguments) {
    Text text = {.arena = arena};
    ReportStatus status = report_task(&text, database, arguments[0]);
    return finish_report(database, status, &text, arguments[0]);
}

static int run_stats(Arena *arena, Database *database, int count, char **arguments) {
    Text text = {.arena = arena};
    ReportStatus status = report_all(&text, database);
    return finish_report(database, status, &text, "");
}

/* A line of ls: the records of a task on a target with a number of threads and some inputs. The latest record names
 * the function. */
typedef struct Listed {
    Record first, latest, best; /* best: without a time if there is none */
    int count, failed;
} Listed;

static const char *or_dash(Arena *arena, const char *text) {
    return *text ? shown_line(arena, text) : "-";
}

static void print_listed(Arena *arena, const Listed *listed) {
    const Record *first = &listed->first, *latest = &listed->latest;
    Text text = {.arena = arena};
    if (!listed->count)
        return;
    text_add(&text, "%-32s %-16s %7d %7d %7d ", or_dash(arena, first->task), or_dash(arena, first->target),
             first->threads, listed->count, listed->failed);
    text_add(&text, "%14s %6s  ", listed->best.seconds > 0 ? arena_printf(arena, "%.6g", listed->best.seconds) : "-",
             share_of_peak(arena, &listed->best));
    if (latest->date)
        date_write(&text, latest->date);
    text_add(&text, "%*s", latest->date ? 2 : 22, latest->date ? "" : "-  ");
    text_add(&text, "%-16s %-20s %-20s %s\n", or_dash(arena, latest->inputs), or_dash(arena, latest->function),
             or_dash(arena, latest->operator), or_dash(arena, latest->file));
    fputs(text.text, stdout);
}

/* Records must come ordered by task. */
static void add_to_list(Arena *arena, Listed *listed, const Record *record) {
    if (!listed->count || !records_are_beside(&listed->first, record)) {
        print_listed(arena, listed);
        *listed = (Listed){.first = *record, .latest = *record};
    }
    listed->count++;
    if (record->date > listed->latest.date)
        listed->latest = *record;
    if (record->outcome != OUTCOME_OK)
        listed->failed++;
    else if (listed->best.seconds <= 0 || record->seconds < listed->best.seconds)
        listed->best = *record;
}

static int run_ls(Arena *arena, Database *database, int count, char **arguments) {
    sqlite3_stmt *row = database_select(database, "ORDER BY task, target, threads, inputs, schedule");
    if (!row)
        return complain_sqlite(database);
    show(stdout, "%-32s %-16s %7s %7s %7s %14s %6s  %-20s  %-16s %-20s %-20s %s\n", "task", "target", "threads",
         "records", "failed", "best seconds", "peak", "date", "inputs", "function", "operator", "file");
    Listed listed = {.count = 0};
    int status;
    while ((status = sqlite3_step(row)) == SQLITE_ROW) {
        Record record;
        if (!database_row(arena, row, &record))
            break;
        add_to_list(arena, &listed, &record);
    }
    print_listed(arena, &listed);
    sqlite3_finalize(row);
    if (status != SQLITE_DONE)
        return status == SQLITE_ROW ? complain_damage(database) : complain_sqlite(database);
    return finish_output();
}

/* Whether the file is a database: writing text over one would destroy its records. */
static bool is_database(const char *path) {
    static const char mark[] = "SQLite format 3";
    char start[sizeof mark] = "";
    FILE *file = fopen(path, "rb");
    bool found = file && fread(start, 1, sizeof start, file) == sizeof start && !memcmp(start, mark, sizeof mark);
    if (file)
        fclose(file);
    return found;
}

static int write_export(Arena *arena, const Database *database, const char *path, const Text *text) {
    FileIdentity output = file_identity(arena, path);
    const char *own;
    for (int f = 0; (own = database_file(arena, database->path, f)); f++) {
        FileIdentity identity = file_identity(arena, own);
        if (file_is_same(&output, &identity))
            return complain("the output '%s' is the tuning database '%s' itself", path, database->path);
    }
    if (output.exists && !output.shared && is_database(path))
        return complain("the output '%s' is a database: what it holds would be lost", path);
    return write_whole(path, text->text, text->length) ? EXIT_OK
                                                       : complain("cannot write '%s': %s", path, strerror(errno));
}

/* Gives the first record of each task its program. */
static void add_program(Arena *arena, Database *database, Record *record, const char **task) {
    if (strcmp(record->task, *task))
        record->program = database_program(arena, database, record->task);
    *task = record->task;
}

static int run_export(Arena *arena, Database *database, int count, char **arguments) {
    sqlite3_stmt *row =
        database_select(database, "ORDER BY task, target, threads, inputs, outcome != 0, seconds, schedule");
    if (!row)
        return complain_sqlite(database);
    Text text = {.arena = arena};
    text_add(&text, "# tuning records of tensorc, format 3\n\n");
    int status;
    const char *task = "";
    while ((status = sqlite3_step(row)) == SQLITE_ROW) {
        Record record;
        if (!database_row(arena, row, &record))
            break;
        add_program(arena, database, &record, &task);
        record_write(&text, &record);
    }
    sqlite3_finalize(row);
    if (status != SQLITE_DONE)
        return status == SQLITE_ROW ? complain_damage(database) : complain_sqlite(database);
    if (count)
        return write_export(arena, database, arguments[0], &text);
    fwrite(text.text, 1, text.length, stdout);
    return finish_output();
}

typedef struct RecordImport {
    Database *database;
    int count;
} RecordImport;

static bool import_one(void *context, const Record *record) {
    RecordImport *import = context;
    import->count++;
    return database_add(import->database, record);
}

/* Opens a text, but no folder. */
static FILE *open_text(const char *path) {
    struct stat state;
    FILE *stream = fopen(path, "r");
    if (!stream || fstat(fileno(stream), &state) || !S_ISDIR(state.st_mode))
        return stream;
    fclose(stream);
    errno = EISDIR;
    return NULL;
}

static int run_import(Arena *arena, Database *database, int count, char **arguments) {
    RecordImport import = {.database = database};
    int line = 0;
    if (!database_run(database, "BEGIN IMMEDIATE"))
        return complain_sqlite(database);
    for (int a = 0; a < count; a++) {
        FILE *stream = strcmp(arguments[a], "-") == 0 ? stdin : open_text(arguments[a]);
        const char *wrong = stream ? records_read(arena, stream, import_one, &import, &line) : strerror(errno);
        if (stream && stream != stdin)
            fclose(stream);
        if (!wrong)
            continue;
        database_run(database, "ROLLBACK");
        return stream ? complain("%s:%d: %s", arguments[a], line, wrong)
                      : complain("cannot read '%s': %s", arguments[a], wrong);
    }
    if (!database_run(database, "COMMIT")) {
        database_run(database, "ROLLBACK");
        return complain_sqlite(database);
    }
    show(stdout, "%d records imported\n", import.count);
    return finish_output();
}

/* Merges all records of another database; false, after a message, when one cannot be read or stored. */
static bool merge_rows(Arena *arena, Database *database, Database *other, int *merged) {
    sqlite3_stmt *row = database_select(other, "");
    if (!row)
        return complain_sqlite(other), false;
    int status;
    const char *task = "";
    bool stored = true, sound = true;
    while (stored && sound && (status = sqlite3_step(row)) == SQLITE_ROW) {
        Record record;
        sound = database_row(arena, row, &record);
        if (sound)
            add_program(arena, other, &record, &task);
        stored = !sound || database_add(database, &record);
        *merged += stored && sound;
    }
    sqlite3_finalize(row);
    if (!sound)
        complain_damage(other);
    else if (!stored || status != SQLITE_DONE)
        complain_sqlite(stored ? other : database);
    return sound && stored && status == SQLITE_DONE;
}

static int merge_one(Arena *arena, Database *database, const char *path, int *merged) {
    const char *why;
    FILE *there = fopen(path, "r");
    if (!there)
        return complain("cannot read '%s': %s", path, strerror(errno));
    fclose(there);
    FileIdentity one = file_identity(arena, path), own = file_identity(arena, database->path);
    if (file_is_same(&one, &own))
        return complain("'%s' is the tuning database itself", path);
    Database *other = database_open_within(arena, path, DATABASE_TO_COPY, (WaitLimit){0}, &why, NULL);
    if (!other)
        return complain("%s", why);
    bool merging = merge_rows(arena, database, other, merged);
    database_close(other);
    return merging ? EXIT_OK : EXIT_INPUT;
}

static int run_merge(Arena *arena, Database *database, int count, char **arguments) {
    int merged = 0;
    if (!database_run(database, "BEGIN IMMEDIATE"))
        return complain_sqlite(database);
    for (int a = 0; a < count; a++) {
        int status = merge_one(arena, database, arguments[a], &merged);
        if (status != EXIT_OK) {
            database_run(database, "ROLLBACK");
            return status;
        }
    }
    if (!database_run(database, "COMMIT")) {
        database_run(database, "ROLLBACK");
        return complain_sqlite(database);
    }
    show(stdout, "%d records merged\n", merged);
    return finish_output();
}

/* Keeps the best few records of each task, target, number of threads and inputs; deletes failures. */
static int run_prune(Arena *arena, Database *database, int count, char **arguments) {
    char *end = "", *sql;
    long keep = count ? strtol(arguments[0], &end, 10) : 1;
    if (*end || keep < 1)
        return complain("db prune: '%s' is not a number of records to keep", arguments[0]), EXIT_USAGE;
    sql = arena_printf(arena,
                       "DELETE FROM records WHERE (task, target, threads, schedule, inputs) NOT IN (SELECT task,"
                       " target, threads, schedule, inputs FROM (SELECT *, row_number() OVER (PARTITION BY task,"
                       " target, threads, inputs ORDER BY seconds, schedule) AS place FROM records WHERE outcome = 0)"
                       " WHERE place <= %ld)",
                       keep);
    if (!database_begin_changes(database) || !database_run(database, sql))
        return complain_sqlite(database);
    show(stdout, "%d records removed\n", sqlite3_changes(database->handle));
    database_run(database, "DELETE FROM searches"); /* notes refer to deleted records; old files have no notes */
    database_run(database, "DELETE FROM budgets");
    database_run(database, "DELETE FROM tasks WHERE task NOT IN (SELECT task FROM records)");
    database_run(database, "VACUUM");
    return finish_output();
}

static const Command commands[] = {
    {"ls", "",
     "one line a task, target, number of threads and inputs: the best time, its part of the peak, whose it is", 0, 0,
     false, run_ls},
    {"show", "TASK", "each trial of a task, which may be shortened, in its order, and the best schedule", 1, 1, false,
     run_show},
    {"stats", "", "how many records there are of what", 0, 0, false, run_stats},
    {"export", "[FILE]", "all records as text", 0, 1, false, run_export},
    {"import", "FILE...", "adds the records of exported texts (- is standard input)", 1, 1 << 20, true, run_import},
    {"merge", "DATABASE...", "adds the records of other databases", 1, 1 << 20, true, run_merge},
    {"prune", "[COUNT]", "keeps the best records alone, 1 or COUNT of each line of ls", 0, 1, false, run_prune},
};
enum { COMMAND_COUNT = sizeof commands / sizeof *commands };

static int usage(FILE *stream, int status) {
    fprintf(stream, "usage: tensorc db COMMAND [--db=FILE]\n");
    for (int c = 0; c < COMMAND_COUNT; c++)
        fprintf(stream, "  %-7s %-12s %s\n", commands[c].name, commands[c].arguments, commands[c].summary);
    return status;
}

/* Too few words, or one too many. */
static int refuse_words(const Command *command, int count, char **arguments) {
    const char *blank = *command->arguments ? " " : "";
    if (count < command->minimum)
        complain("usage: tensorc db %s%s%s", command->name, blank, command->arguments);
    else
        complain("db %s: unexpected '%s'; usage: tensorc db %s%s%s", command->name, arguments[command->maximum],
                 command->name, blank, command->arguments);
    return EXIT_USAGE;
}

static int run_command(const Command *command, int count, char **arguments, const char *path) {
    if (!command->creates && access(path, F_OK) != 0)
        return complain("there is no tuning database '%s'", path);
    Arena *arena = arena_new();
    const char *why;
    Database *database = database_open(arena, path, &why, NULL);
    int status = database ? command->run(arena, database, count, arguments) : complain("%s", why);
    database_close(database);
    arena_free(arena);
    return status;
}

static bool asks_for_help(int argc, char **argv) {
    for (int i = 0; i < argc; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    return argc > 0 && strcmp(argv[0], "help") == 0;
}

int database_command(int argc, char **argv, const char *path) {
    if (asks_for_help(argc, argv))
        return usage(stdout, EXIT_OK);
    if (argc < 1)
        return usage(stderr, EXIT_USAGE);
    for (int c = 0; c < COMMAND_COUNT; c++) {
        const Command *command = &commands[c];
        if (strcmp(argv[0], command->name) != 0)
            continue;
        if (argc - 1 < command->minimum || argc - 1 > command->maximum)
            return refuse_words(command, argc - 1, argv + 1);
        return run_command(command, argc - 1, argv + 1, path);
    }
    return complain("unknown command 'db %s'; 'tensorc db help' lists them", argv[0]), EXIT_USAGE;
}
