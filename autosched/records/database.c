/* database.c - the tuning database: SQLite, one file, a row for each schedule that was ever tried.
 *
 * It uses a rollback journal, not a write-ahead log: the database stays one file that users can copy, it works on
 * network file systems, and records come in transactions, so that a process killed at any moment leaves all earlier
 * records. Writers wait for each other. A file is refused with one line, and never written to, if it is no tuning
 * database, is damaged, was made by a newer version, or has what no tuning database has (views, triggers).
 */
#include "autosched/records/database.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { APPLICATION = 0x74756e65 /* "tune": marks the file as ours */ };
/* Seconds that a wait for other processes may take: to write; to read for a compilation; at least; and after a wait
 * that failed. */
static const double write_patience = 20, read_patience = 5, least_patience = 0.5, lost_patience = 0.2;

const char *const outcome_names[OUTCOME_COUNT] = {
    [OUTCOME_OK] = "ok",       [OUTCOME_BUILD_ERROR] = "build-error",
    [OUTCOME_CRASH] = "crash", [OUTCOME_TIMEOUT] = "timeout",
    [OUTCOME_WRONG] = "wrong",
};

int outcome_find(const char *name) {
    for (int outcome = 0; outcome < OUTCOME_COUNT; outcome++)
        if (strcmp(name, outcome_names[outcome]) == 0)
            return outcome;
    return -1;
}

bool database_run(Database *database, const char *sql) {
    return sqlite3_exec(database->handle, sql, NULL, NULL, NULL) == SQLITE_OK;
}

/* The first column of the first row, as an integer. */
static bool query_integer(Database *database, const char *sql, int64_t *value) {
    sqlite3_stmt *row;
    if (sqlite3_prepare_v2(database->handle, sql, -1, &row, NULL) != SQLITE_OK)
        return false;
    bool found = sqlite3_step(row) == SQLITE_ROW;
    if (found)
        *value = sqlite3_column_int64(row, 0);
    return sqlite3_finalize(row) == SQLITE_OK && found;
}

static bool is_sound(Database *database) {
    sqlite3_stmt *row;
    if (sqlite3_prepare_v2(database->handle, "PRAGMA quick_check(1)", -1, &row, NULL) != SQLITE_OK)
        return false;
    const char *answer = sqlite3_step(row) == SQLITE_ROW ? (const char *)sqlite3_column_text(row, 0) : NULL;
    bool sound = answer && strcmp(answer, "ok") == 0;
    sqlite3_finalize(row);
    return sound;
}

/* Whether each column of each record has its type, checked as a whole; values are checked when they are read. */
static bool is_typed(Database *database) {
    static const char sql[] =
        "SELECT count(*) FROM records WHERE typeof(task) != 'text' OR typeof(target) != 'text' OR"
        " typeof(schedule) != 'text' OR typeof(threads) != 'integer' OR typeof(outcome) != 'integer' OR"
        " typeof(seconds) != 'real' OR typeof(spread) != 'real' OR typeof(repeats) != 'integer' OR"
        " typeof(seed) != 'integer' OR task GLOB '*[^ -~]*' OR target GLOB '*[^ -~]*'";
    int64_t strange = 1;
    return query_integer(database, sql, &strange) && strange == 0;
}

/* --- what a tuning database is made of --- */

/* Counts what may run code: a view may be endless, and a trigger may do anything. False: it cannot be read. */
static bool count_foreign_parts(Database *database, int64_t *count) {
    static const char sql[] =
        "SELECT (SELECT count(*) FROM sqlite_master WHERE type NOT IN ('table', 'index') OR sql LIKE 'CREATE VIRTUAL%')"
        " + (SELECT count(*) FROM pragma_table_xinfo('records') WHERE hidden != 0)"
        " + (SELECT count(*) FROM pragma_table_xinfo('searches') WHERE hidden != 0)"
        " + (SELECT count(*) FROM pragma_table_xinfo('budgets') WHERE hidden != 0)"
        " + (SELECT count(*) FROM pragma_table_xinfo('tasks') WHERE hidden != 0)";
    return query_integer(database, sql, count);
}

static bool has_records(Database *database) {
    int64_t count = 0;
    return query_integer(database, "SELECT count(*) FROM sqlite_master WHERE name = 'records' AND type = 'table'",
                         &count) &&
           count == 1;
}

/* Makes the folders that hold path, as mkdir -p. */
static bool make_folders(const char *path) {
    char folder[PATH_MAX];
    if (strlen(path) >= sizeof folder) {
        errno = ENAMETOOLONG;
        return false;
    }
    strcpy(folder, path);
    for (char *slash = folder + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        if (mkdir(folder, 0777) != 0 && errno != EEXIST)
            return false;
        *slash = '/';
    }
    return true;
}

static const char *refuse(Arena *arena, const char *path, const char *reason) {
    return arena_printf(arena, "cannot use the tuning database '%s': %s", path, reason);
}

/* Creates the tables of a new file; several processes may do so at once. NULL when they exist. */
static const char *create(Arena *arena, Database *database, const char *path) {
    const char *sql =
        arena_printf(arena, "BEGIN IMMEDIATE; %s PRAGMA application_id=%d; COMMIT;", schema_tables(arena), APPLICATION);
    if (database_run(database, sql))
        return NULL;
    const char *why = refuse(arena, path, sqlite3_errmsg(database->handle)); /* before the next statement changes it */
    database_run(database, "ROLLBACK");
    return why;
}

static const char *refuse_unread(Arena *arena, const Database *database, bool *damaged) {
    *damaged = sqlite3_errcode(database->handle) == SQLITE_CORRUPT;
    return refuse(arena, database->path, sqlite3_errmsg(database->handle));
}

/* NULL when the tables are those of a tuning database. */
static const char *check_tables(Arena *arena, Database *database, DatabaseUse use, bool *damaged) {
    const char *path = database->path;
    int64_t foreign = 0;
    if (!count_foreign_parts(database, &foreign))
        return refuse_unread(arena, database, damaged);
    if (foreign)
        return refuse(arena, path, "it has views, triggers or computed columns, which no tuning database has");
    if (!has_records(database))
        return refuse(arena, path, "it has no table of records");
    *damaged = use != DATABASE_TO_READ && (!is_sound(database) || !is_typed(database));
    return *damaged ? refuse(arena, path, "it is damaged") : NULL;
}

/* NULL when the file is a tuning database that this version can use. */
static const char *check_contents(Arena *arena, Database *database, DatabaseUse use, bool *damaged) {
    int64_t application = 0, version = 0, tables = 0;
    const char *path = database->path;
    if (!query_integer(database, "SELECT count(*) FROM sqlite_master", &tables) ||
        !query_integer(database, "PRAGMA application_id", &application) ||
        !query_integer(database, "PRAGMA user_version", &version))
        return refuse_unread(arena, database, damaged);
    if (tables == 0 && application == 0)
        return use == DATABASE_TO_COPY ? refuse(arena, path, "it is empty") : create(arena, database, path);
    if (application != APPLICATION)
        return refuse(arena, path, "it holds something else");
    if (version > SCHEMA_VERSION)
        return refuse(arena, path, "a newer version of tensorc made it");
    return check_tables(arena, database, use, damaged);
}

/* Whether to keep waiting for another process. After a wait that failed it hardly waits again, but always for a moment,
 * so that the end of a search can be written. */
static int wait_for_lock(void *context, int count) {
    Database *database = context;
    Waiting *waiting = &database->waiting;
    if (!count)
        waiting_begin(waiting);
    double waited = waiting_seconds(waiting);
    bool over = waited >= least_patience && waiting_is_over(waiting);
    if (over || waited >= database->patience) {
        database->patience = lost_patience;
        return 0;
    }
    waiting_sleep(waiting);
    return 1;
}

/* Keeps SQLite from running anything that the file contains. */
static void configure(Database *database) {
    sqlite3_db_config(database->handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_db_config(database->handle, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    sqlite3_busy_handler(database->handle, wait_for_lock, database);
    database_run(database, "PRAGMA synchronous=NORMAL");
}

/* --- memory --- */

static sqlite3_mem_methods sqlite_memory; /* as SQLite has it by itself */

static void *allocate(int bytes) {
    return memory_given(sqlite_memory.xMalloc(bytes));
}

static void *allocate_again(void *memory, int bytes) {
    return memory_given(sqlite_memory.xRealloc(memory, bytes));
}

/* SQLite answers as if the file were damaged where there is no memory to read it. With this the process ends, as it
 * does where the compiler has none; what was written stays whole. */
static void end_without_memory_in_sqlite(void) {
    if (sqlite_memory.xMalloc || sqlite3_config(SQLITE_CONFIG_GETMALLOC, &sqlite_memory) != SQLITE_OK)
        return;
    sqlite3_mem_methods ending = sqlite_memory;
    ending.xMalloc = allocate;
    ending.xRealloc = allocate_again;
    sqlite3_config(SQLITE_CONFIG_MALLOC, &ending);
}

/* --- opening and closing --- */

static Database *database_new(Arena *arena, const char *path, DatabaseUse use, WaitLimit limit) {
    Database *database = ARENA_NEW(arena, Database);
    end_without_memory_in_sqlite();
    database->path = arena_strdup(arena, path);
    database->waiting.limit = limit;
    database->waiting.what = arena_printf(arena, "the tuning database '%s', which another process has locked", path);
    database->patience = use == DATABASE_TO_READ ? read_patience : write_patience;
    return database;
}

Database *database_open_within(Arena *arena, const char *path, DatabaseUse use, WaitLimit limit, const char **why,
                               bool *damaged) {
    bool unused;
    damaged = damaged ? damaged : &unused;
    *damaged = false;
    if (use == DATABASE_TO_WRITE && !make_folders(path)) {
        *why = refuse(arena, path, strerror(errno));
        return NULL;
    }
    Database *database = database_new(arena, path, use, limit);
    int flags = SQLITE_OPEN_READWRITE | (use == DATABASE_TO_WRITE ? SQLITE_OPEN_CREATE : 0);
    int status = sqlite3_open_v2(path, &database->handle, flags, NULL);
    *why = status == SQLITE_OK ? NULL : refuse(arena, path, sqlite3_errstr(status));
    if (!*why) {
        configure(database);
        *why = check_contents(arena, database, use, damaged);
    }
    if (!*why)
        return database;
    sqlite3_close(database->handle);
    return NULL;
}

Database *database_open(Arena *arena, const char *path, const char **why, bool *damaged) {
    return database_open_within(arena, path, DATABASE_TO_WRITE, (WaitLimit){0}, why, damaged);
}

bool database_failed(const Database *database) {
    return database->failed;
}

void database_close(Database *database) {
    if (!database)
        return;
    sqlite3_finalize(database->insert);
    sqlite3_finalize(database->insert_task);
    sqlite3_close(database->handle);
}

const char *database_default_path(Arena *arena) {
    const char *path = getenv("TENSORC_DB"), *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    if (path && *path)
        return arena_strdup(arena, path);
    if (data && *data)
        return arena_printf(arena, "%s/tensorc/tuning.db", data);
    return home && *home ? arena_printf(arena, "%s/.local/share/tensorc/tuning.db", home) : NULL;
}

const char *database_file(Arena *arena, const char *path, int number) {
    static const char *const endings[] = {"", "-journal", "-wal", "-shm"};
    bool any = (size_t)number < sizeof endings / sizeof *endings;
    return any ? arena_printf(arena, "%s%s", path, endings[number]) : NULL;
}

const char *database_target(const Target *target) {
    return target->cpu && *target->cpu ? target->cpu : target->name;
}

static void bind_text(sqlite3_stmt *statement, int number, const char *text) {
    sqlite3_bind_text(statement, number, text ? text : "", -1, SQLITE_STATIC);
}

static const char *insert_text(Arena *arena) {
    Text names = {.arena = arena}, values = {.arena = arena}, changes = {.arena = arena};
    for (int c = 0; c < RECORD_COLUMN_COUNT; c++) {
        const char *name = record_columns[c].name;
        text_add(&names, "%s%s", c ? ", " : "", name);
        text_add(&values, "%s", c ? ", ?" : "?");
        if (c >= KEY_COLUMNS)
            text_add(&changes, "%s%s = excluded.%s", c > KEY_COLUMNS ? ", " : "", name, name);
    }
    return arena_printf(arena,
                        "INSERT INTO records(%s) VALUES(%s) ON CONFLICT DO UPDATE SET %s"
                        " WHERE excluded.outcome = 0 OR records.outcome != 0",
                        names.text, values.text, changes.text);
}

static bool prepare(Database *database, const char *sql, sqlite3_stmt **statement) {
    return sqlite3_prepare_v2(database->handle, sql, -1, statement, NULL) == SQLITE_OK;
}

bool database_begin_changes(Database *database) {
    if (database->insert)
        return true;
    Arena *arena = arena_new();
    bool prepared =
        schema_renew(database) &&
        prepare(database, "INSERT OR IGNORE INTO tasks(task, program) VALUES(?, ?)", &database->insert_task) &&
        prepare(database, insert_text(arena), &database->insert);
    arena_free(arena);
    return prepared;
}

static bool run_once(sqlite3_stmt *statement) {
    bool done = sqlite3_step(statement) == SQLITE_DONE;
    sqlite3_reset(statement);
    return done;
}

static bool add_program(Database *database, const char *task, const char *program) {
    bind_text(database->insert_task, 1, task);
    bind_text(database->insert_task, 2, program);
    return run_once(database->insert_task);
}

/* A new measurement of a schedule on the same inputs replaces the old one: later ones are more thorough. A failure
 * never replaces a time: the machine may have failed, and the time would be lost. */
bool database_add(Database *database, const Record *record) {
    if (!database_begin_changes(database) || (record->program && !add_program(database, record->task, record->program)))
        return false;
    database_bind(database->insert, record);
    return run_once(database->insert);
}

const char *database_program(Arena *arena, Database *database, const char *task) {
    sqlite3_stmt *row;
    const char *program = NULL;
    if (!prepare(database, "SELECT program FROM tasks WHERE task=?", &row))
        return NULL; /* a file of an older version */
    bind_text(row, 1, task);
    if (sqlite3_step(row) == SQLITE_ROW && sqlite3_column_type(row, 0) == SQLITE_TEXT)
        program = arena_strdup(arena, (const char *)sqlite3_column_text(row, 0));
    sqlite3_finalize(row);
    return program && task_program_fits(task, program) ? program : NULL;
}

bool database_add_all(Database *database, const Record *records, int count) {
    bool added = database_run(database, "BEGIN IMMEDIATE");
    for (int r = 0; r < count && added; r++)
        added = database_add(database, &records[r]);
    if (added && database_run(database, "COMMIT"))
        return true;
    database_run(database, "ROLLBACK");
    return false;
}

sqlite3_stmt *database_select(Database *database, const char *rest) {
    Text sql = {.arena = arena_new()};
    sqlite3_stmt *row = NULL;
    text_add(&sql, "SELECT ");
    schema_add_names(&sql, database, "records");
    text_add(&sql, " FROM records %s", rest);
    if (sqlite3_prepare_v2(database->handle, sql.text, -1, &row, NULL) != SQLITE_OK)
        row = NULL;
    arena_free(sql.arena);
    return row;
}

int database_find(Arena *arena, Database *database, const char *task, const char *target, int threads,
                  Record **records) {
    LIST(Record) found = {0};
    *records = NULL;
    sqlite3_stmt *row = database_select(database, "WHERE task=? AND target=? AND threads=?"
                                                  " ORDER BY outcome != 0, seconds, schedule, inputs");
    database->failed |= !row && sqlite3_errcode(database->handle) == SQLITE_CORRUPT;
    if (!row)
        return 0;
    sqlite3_bind_text(row, 1, task, -1, SQLITE_STATIC);
    sqlite3_bind_text(row, 2, target, -1, SQLITE_STATIC);
    sqlite3_bind_int(row, 3, threads);
    while (sqlite3_step(row) == SQLITE_ROW) {
        Record record;
        if (database_row(arena, row, &record))
            list_push(arena, &found, record);
        else
            database->failed = true;
    }
    database->failed |= sqlite3_finalize(row) == SQLITE_CORRUPT;
    *records = found.items;
    return found.count;
}

static bool bind_task(sqlite3_stmt *statement, const char *task, const char *target, int threads, const char *maker) {
    return sqlite3_bind_text(statement, 1, task, -1, SQLITE_STATIC) == SQLITE_OK &&
           sqlite3_bind_text(statement, 2, target, -1, SQLITE_STATIC) == SQLITE_OK &&
           sqlite3_bind_int(statement, 3, threads) == SQLITE_OK &&
           sqlite3_bind_text(statement, 4, maker, -1, SQLITE_STATIC) == SQLITE_OK;
}

bool database_forget(Database *database, const Record *record) {
    static const char sql[] = "DELETE FROM records WHERE task=? AND target=? AND threads=? AND schedule=? AND inputs=?";
    sqlite3_stmt *row;
    if (!database_begin_changes(database) || sqlite3_prepare_v2(database->handle, sql, -1, &row, NULL) != SQLITE_OK)
        return false;
    bind_task(row, record->task, record->target, record->threads, record->schedule);
    bind_text(row, 5, record->inputs);
    sqlite3_step(row);
    return sqlite3_finalize(row) == SQLITE_OK;
}

bool database_note(Database *database, const char *task, const char *target, int threads, const SearchNote *note) {
    static const char sql[] = "INSERT OR REPLACE INTO searches(task, target, threads, maker, trials, exhausted)"
                              " VALUES(?, ?, ?, ?, ?, ?)";
    sqlite3_stmt *insert;
    if (!database_begin_changes(database) || sqlite3_prepare_v2(database->handle, sql, -1, &insert, NULL) != SQLITE_OK)
        return false;
    bind_task(insert, task, target, threads, note->maker);
    sqlite3_bind_int(insert, 5, note->trials);
    sqlite3_bind_int(insert, 6, note->exhausted);
    sqlite3_step(insert);
    return sqlite3_finalize(insert) == SQLITE_OK;
}

bool database_find_note(Database *database, const char *task, const char *target, int threads, const char *maker,
                        SearchNote *note) {
    static const char sql[] =
        "SELECT trials, exhausted FROM searches WHERE task=? AND target=? AND threads=? AND maker=?";
    sqlite3_stmt *row;
    if (sqlite3_prepare_v2(database->handle, sql, -1, &row, NULL) != SQLITE_OK)
        return false;
    bind_task(row, task, target, threads, maker);
    bool found = sqlite3_step(row) == SQLITE_ROW && database_note_row(row, note);
    note->maker = maker;
    sqlite3_finalize(row);
    return found;
}

bool database_note_budget(Database *database, const char *tasks, const char *target, int threads, const char *maker,
                          double seconds) {
    static const char sql[] = "INSERT INTO budgets(tasks, target, threads, maker, seconds) VALUES(?, ?, ?, ?, ?)"
                              " ON CONFLICT DO UPDATE SET seconds = max(seconds, excluded.seconds)";
    sqlite3_stmt *insert;
    if (!database_begin_changes(database) || sqlite3_prepare_v2(database->handle, sql, -1, &insert, NULL) != SQLITE_OK)
        return false;
    bind_task(insert, tasks, target, threads, maker);
    sqlite3_bind_double(insert, 5, seconds);
    sqlite3_step(insert);
    return sqlite3_finalize(insert) == SQLITE_OK;
}

double database_find_budget(Database *database, const char *tasks, const char *target, int threads, const char *maker) {
    static const char sql[] = "SELECT seconds FROM budgets WHERE tasks=? AND target=? AND threads=? AND maker=?";
    sqlite3_stmt *row;
    if (sqlite3_prepare_v2(database->handle, sql, -1, &row, NULL) != SQLITE_OK)
        return 0;
    bind_task(row, tasks, target, threads, maker);
    double seconds = sqlite3_step(row) == SQLITE_ROW ? sqlite3_column_double(row, 0) : 0;
    sqlite3_finalize(row);
    return seconds;
}
