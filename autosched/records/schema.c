/* schema.c - the tables of the tuning database, and files of older versions.
 *
 * A file of an older version is read as it is: what it lacks is empty. It gets today's tables, whole or not at all,
 * before the first change. Older versions that have it open then go on with it, since all columns that they do not know
 * have a default; they do not open it again.
 */
#include "autosched/records/database.h"

const RecordColumn record_columns[RECORD_COLUMN_COUNT] = {
#define REQUIRED false
#define OPTIONAL true
#define COLUMN(name, member, kind, use) {#name, COLUMN_##kind, offsetof(Record, member), use},
#include "autosched/records/columns.def"
#undef COLUMN
#undef OPTIONAL
#undef REQUIRED
};

/* By kind: its type in SQL, and what a record has where it is absent; NULL: nothing. */
static const struct KindInSql {
    const char *type, *absent;
} kinds[COLUMN_KIND_COUNT] = {
    [COLUMN_TEXT] = {"TEXT", "''"},   [COLUMN_SCHEDULE] = {"TEXT", "''"}, [COLUMN_INT] = {"INTEGER", "0"},
    [COLUMN_LONG] = {"INTEGER", "0"}, [COLUMN_DATE] = {"INTEGER", "0"},   [COLUMN_OUTCOME] = {"INTEGER", "0"},
    [COLUMN_REAL] = {"REAL", "0.0"},  [COLUMN_SCORE] = {"REAL", NULL},
};

/* Notes and texts of programs: files of older versions lack these tables. */
static const char notes_schema[] =
    "CREATE TABLE IF NOT EXISTS searches(task TEXT NOT NULL, target TEXT NOT NULL, threads INTEGER NOT NULL,"
    " maker TEXT NOT NULL, trials INTEGER NOT NULL, exhausted INTEGER NOT NULL,"
    " PRIMARY KEY(task, target, threads, maker)) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS budgets(tasks TEXT NOT NULL, target TEXT NOT NULL, threads INTEGER NOT NULL,"
    " maker TEXT NOT NULL, seconds REAL NOT NULL, PRIMARY KEY(tasks, target, threads, maker)) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS tasks(task TEXT PRIMARY KEY NOT NULL, program TEXT NOT NULL) WITHOUT ROWID;";

static void add_column(Text *sql, const RecordColumn *column) {
    const struct KindInSql *kind = &kinds[column->kind];
    text_add(sql, "%s %s%s", column->name, kind->type, kind->absent ? " NOT NULL" : "");
    if (column->optional && kind->absent)
        text_add(sql, " DEFAULT %s", kind->absent);
}

const char *schema_tables(Arena *arena) {
    Text sql = {.arena = arena};
    text_add(&sql, "CREATE TABLE IF NOT EXISTS records(");
    for (int c = 0; c < RECORD_COLUMN_COUNT; c++) {
        add_column(&sql, &record_columns[c]);
        text_add(&sql, ", ");
    }
    text_add(&sql, "PRIMARY KEY(task, target, threads, schedule, inputs)) WITHOUT ROWID; %s PRAGMA user_version=%d;",
             notes_schema, SCHEMA_VERSION);
    return sql.text;
}

static bool has_column(const Database *database, const char *table, const char *name, bool in_key) {
    int key = 0;
    int status = sqlite3_table_column_metadata(database->handle, NULL, table, name, NULL, NULL, NULL, &key, NULL);
    return status == SQLITE_OK && (key || !in_key);
}

void schema_add_names(Text *sql, const Database *database, const char *table) {
    for (int c = 0; c < RECORD_COLUMN_COUNT; c++) {
        const RecordColumn *column = &record_columns[c];
        const char *absent = kinds[column->kind].absent ? kinds[column->kind].absent : "NULL";
        bool missing = column->optional && !has_column(database, table, column->name, false);
        text_add(sql, "%s%s%s%s", c ? ", " : "", missing ? absent : "", missing ? " AS " : "", column->name);
    }
}

/* Whether the file has today's tables. */
static bool is_current(const Database *database) {
    bool current = has_column(database, "records", "inputs", true) && has_column(database, "tasks", "program", false) &&
                   has_column(database, "searches", "maker", true) && has_column(database, "budgets", "maker", true);
    for (int c = 0; c < RECORD_COLUMN_COUNT && current; c++)
        current = has_column(database, "records", record_columns[c].name, false);
    return current;
}

/* Notes are of no use to other makers than their own, and older versions are others. */
bool schema_renew(Database *database) {
    if (is_current(database))
        return true;
    Text sql = {.arena = arena_new()};
    bool begun = database_run(database, "SAVEPOINT renewed");
    bool renewed = begun && database_run(database, "ALTER TABLE records RENAME TO old_records") &&
                   database_run(database, "DROP TABLE IF EXISTS searches; DROP TABLE IF EXISTS budgets") &&
                   database_run(database, schema_tables(sql.arena));
    text_add(&sql, "INSERT INTO records SELECT ");
    schema_add_names(&sql, database, "old_records");
    text_add(&sql, " FROM old_records; DROP TABLE old_records; RELEASE renewed");
    renewed = renewed && database_run(database, sql.text);
    if (begun && !renewed)
        database_run(database, "ROLLBACK TO renewed; RELEASE renewed");
    arena_free(sql.arena);
    return renewed;
}
