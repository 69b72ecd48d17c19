/* database.c - the tuning database: what is stored comes back, survives kill -9 and other writers, and a file that is
 * damaged or foreign is refused with one line.
 */
#include "autosched/autosched.h"
#include "lang/clock.h"
#include "tests/tap.h"

#include <math.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static char *folder;
static int kills = 6; /* KILLS asks for another number of processes to kill */
enum { PATIENT = 300 }; /* seconds, after which what has to end is taken for something without an end */

static const char *in_folder(Arena *arena, const char *name) {
    return arena_printf(arena, "%s/%s", folder, name);
}

static Record sample(Arena *arena, const char *task, int number, double seconds) {
    return (Record){.task = task,
                    .target = "znver4",
                    .schedule = arena_printf(arena, "a, b = split(C.i, %d)\nvectorize(b)\n", number),
                    .threads = 2,
                    .outcome = number % 5 == 4 ? OUTCOME_WRONG : OUTCOME_OK,
                    .seconds = seconds,
                    .spread = 0.1 / 3,
                    .repeats = 7,
                    .seed = -3,
                    .date = 1900000000 + number,
                    .function = "f",
                    .file = "folder/f.tensor",
                    .operator= "matmul",
                    .inputs = "0123",
                    .why = number % 5 == 4 ? "wrong result: element 3" : "",
                    .features = 3,
                    .order = 40 + number,
                    .wall_seconds = 0.7 / 3,
                    .policy = "anneal:chains=8",
                    .model = "xgboost:cold",
                    .prediction = number % 2 ? -1.0 / 3 : NAN,
                    .reference_seconds = 1e-5 / 3,
                    .disturbance = {.switches = 2, .processor_part = 0.9, .steal = 0.01, .undisturbed = 5},
                    .operations = 2e9,
                    .peak = 1e11,
                    .device = "a processor, of a kind",
                    .toolchain = "tensorc 0, LLVM 0"};
}

static Database *open_or_die(Arena *arena, const char *path) {
    const char *why;
    Database *database = database_open(arena, path, &why, NULL);
    if (!database) {
        diag_line("%s", why);
        exit(1);
    }
    return database;
}

static void test_storing(Arena *arena) {
    const char *path = in_folder(arena, "new/deep/tuning.db");
    Database *database = open_or_die(arena, path);
    for (int i = 0; i < 10; i++) {
        Record record = sample(arena, "aa", i, 1.0 / (i + 1));
        ok(database_add(database, &record), "record %d is added", i);
    }
    Record other = sample(arena, "bb", 1, 5), *found;
    database_add(database, &other);
    database_close(database);
    database = open_or_die(arena, path);
    is_int(database_find(arena, database, "aa", "znver4", 2, &found), 10, "all records of the task come back");
    ok(found[0].seconds == 1.0 / 9 && found[0].spread == 0.1 / 3, "the best first, to the bit");
    is_text(found[0].schedule, "a, b = split(C.i, 8)\nvectorize(b)\n", "its schedule");
    is_int(found[9].outcome, OUTCOME_WRONG, "failures last");
    is_int(found[0].seed, -3, "its seed");
    is_int(found[0].date, 1900000008, "its date");
    is_text(arena_printf(arena, "%s %s %s %s", found[0].function, found[0].file, found[0].operator, found[0].inputs),
            "f folder/f.tensor matmul 0123", "whose it is, and of what inputs");
    is_text(found[9].why, "wrong result: element 3", "why it failed");
    const Record *first = &found[0], *second = &found[1];
    is_text(arena_printf(arena, "%d %d %s %s %s %s", first->features, first->order, first->policy, first->model,
                         first->device, first->toolchain),
            "3 48 anneal:chains=8 xgboost:cold a processor, of a kind tensorc 0, LLVM 0",
            "what searched and measured it, and when in its search");
    ok(first->wall_seconds == 0.7 / 3 && first->reference_seconds == 1e-5 / 3 && first->operations == 2e9 &&
           first->peak == 1e11,
       "its figures, to the bit");
    ok(first->disturbance.switches == 2 && first->disturbance.processor_part == 0.9 &&
           first->disturbance.steal == 0.01 && first->disturbance.undisturbed == 5,
       "what disturbed it");
    ok(isnan(first->prediction) && second->prediction == -1.0 / 3, "what was predicted of it, or that nothing was");
    is_int(database_find(arena, database, "aa", "znver4", 1, &found), 0, "other threads: none");
    is_int(database_find(arena, database, "aa", "znver3", 2, &found), 0, "another target: none");
    Record again = sample(arena, "aa", 8, 0.5);
    database_add(database, &again);
    is_int(database_find(arena, database, "aa", "znver4", 2, &found), 10, "measured again: replaced");
    ok(found[0].seconds == 1.0 / 8, "and no longer the best");
    database_close(database);
}

/* A machine that fails, for whatever reason, takes no result away. */
static void test_failures(Arena *arena) {
    Database *database = open_or_die(arena, in_folder(arena, "failures.db"));
    Record record = sample(arena, "cc", 1, 0.25), failure = record, *found;
    for (failure.outcome = OUTCOME_BUILD_ERROR; failure.outcome < OUTCOME_COUNT; failure.outcome++) {
        failure.seconds = 0;
        ok(database_add(database, &failure) && database_add(database, &record) && database_add(database, &failure),
           "a result between two failures %d", failure.outcome);
        is_int(database_find(arena, database, "cc", "znver4", 2, &found), 1, "is one record");
        ok(found[0].outcome == OUTCOME_OK && found[0].seconds == 0.25, "and is kept");
    }
    for (int i = 0; i < 4; i++) {
        record.seconds = (double[]){0, -1, INFINITY, 1}[i];
        record.spread = i == 3 ? INFINITY : 0;
        record.schedule = arena_printf(arena, "# %d\n", i);
        database_add(database, &record);
    }
    is_int(database_find(arena, database, "cc", "znver4", 2, &found), 1, "times that are none are not found");
    database_close(database);
}

static void write_file(const char *path, const void *data, size_t bytes) {
    FILE *file = fopen(path, "wb");
    fwrite(data, 1, bytes, file);
    fclose(file);
}

static void is_refused(Arena *arena, const char *path, const char *reason, const char *name) {
    const char *why = NULL;
    Database *database = database_open(arena, path, &why, NULL);
    ok(!database && why && strstr(why, reason) && !strchr(why, '\n') && strstr(why, path), "%s: refused in one line",
       name);
    if (why && !strstr(why, reason))
        diag_line("%s", why);
    database_close(database);
}

static void test_damage(Arena *arena) {
    const char *path = in_folder(arena, "damaged.db");
    Database *database = open_or_die(arena, path);
    for (int i = 0; i < 400; i++) {
        Record record = sample(arena, "aa", i, i);
        if (i == 0 || i % 5 != 4)
            database_add(database, &record);
    }
    database_close(database);
    static char bytes[1 << 20];
    FILE *file = fopen(path, "rb");
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    const char *half = in_folder(arena, "half.db"), *holed = in_folder(arena, "holed.db");
    write_file(half, bytes, size / 2 + 100);
    is_refused(arena, half, "", "a truncated database");
    memset(bytes + size / 2, 0xa5, size / 3);
    write_file(holed, bytes, size);
    is_refused(arena, holed, "damaged", "overwritten in the middle");
    write_file(holed, "this is not a database at all, but it is long enough to look at\n", 64);
    is_refused(arena, holed, "not a database", "a text file");
    is_refused(arena, folder, "", "a folder");
    is_refused(arena, "/dev/null/x/tuning.db", "Not a directory", "a place that cannot be made");
    write_file(holed, "", 0);
    database = open_or_die(arena, holed);
    ok(database != NULL, "an empty file is a new database");
    database_close(database);
}

/* The subcommands write to standard output and error: away from the test's own lines. */
static int command(const char *path, const char *output, int count, char **arguments) {
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        if (!freopen(output, "w", stdout) || !freopen("/dev/null", "w", stderr))
            _exit(9);
        int status = database_command(count, arguments, path);
        fflush(stdout);
        _exit(status);
    }
    int status;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

#define COMMAND(path, output, ...)                                                                                     \
    command(path, output, (int)(sizeof(char *[]){__VA_ARGS__} / sizeof(char *)), (char *[]){__VA_ARGS__})

/* What was measured on some inputs stands beside what was measured on others. */
static void test_inputs(Arena *arena) {
    static const char *const inputs[] = {"", "0123", "4567"};
    const char *path = in_folder(arena, "inputs.db");
    Database *database = open_or_die(arena, path);
    Record record = sample(arena, "aa", 1, 0), *found;
    for (int i = 0; i < 6; i++) {
        record.inputs = inputs[i % 3];
        record.seconds = 6 - i;
        ok(database_add(database, &record), "a schedule on the inputs '%s'", record.inputs);
    }
    is_int(database_find(arena, database, "aa", "znver4", 2, &found), 3, "has a record for each of them");
    for (int i = 0; i < 3; i++)
        ok(found[i].seconds == 1 + i && !strcmp(found[i].inputs, inputs[2 - i]), "the last one for '%s'",
           found[i].inputs);
    ok(database_forget(database, &record), "one is forgotten");
    is_int(database_find(arena, database, "aa", "znver4", 2, &found), 2, "and it alone");
    record = sample(arena, "aa", 2, 9);
    database_add(database, &record);
    database_close(database);
    is_int(COMMAND(path, "/dev/null", "prune"), 0, "prune");
    database = open_or_die(arena, path);
    is_int(database_find(arena, database, "aa", "znver4", 2, &found), 2, "keeps the best of each");
    database_close(database);
}

static void change(const char *path, const char *sql) {
    sqlite3 *handle;
    char *message = NULL;
    if (sqlite3_open(path, &handle) != SQLITE_OK ||
        sqlite3_exec(handle, "PRAGMA synchronous=OFF", NULL, NULL, NULL) != SQLITE_OK ||
        sqlite3_exec(handle, sql, NULL, NULL, &message) != SQLITE_OK)
        diag_line("%s: %s", sql, message ? message : "?");
    sqlite3_close(handle);
}

/* A database of three good records, the second of which is changed by a statement. */
static Database *with_strange_row(Arena *arena, const char *path, const char *assignment) {
    const char *why;
    unlink(path);
    database_close(open_or_die(arena, path));
    change(path,
           arena_printf(
               arena,
               "BEGIN; DROP TABLE records; CREATE TABLE records(task, target, threads, schedule, outcome, seconds"
               " REAL, spread REAL, repeats, seed, date, inputs, prediction DEFAULT NULL, policy DEFAULT '', wall REAL"
               " DEFAULT 0, trial DEFAULT 0); WITH n(i) AS (VALUES(0), (1), (2)) INSERT INTO"
               " records(task, target, threads, schedule, outcome, seconds, spread, repeats, seed, date, inputs)"
               " SELECT 'aa', 'znver4', 2, 'a' || i, 0, 1.5, 0.5, 7, -3, 253402300799, '' FROM n; %s%s%s COMMIT",
               *assignment ? "UPDATE records SET " : "", assignment, *assignment ? " WHERE schedule = 'a1';" : ""));
    return database_open_within(arena, path, DATABASE_TO_READ, (WaitLimit){0}, &why, NULL);
}

static void test_strange_rows(Arena *arena) {
    static const char *const assignments[] = {"schedule = NULL",
                                              "schedule = x'4142'",
                                              "schedule = 5",
                                              "schedule = 'a' || char(0) || 'b'",
                                              "schedule = 'a' || char(27)",
                                              "outcome = 5",
                                              "outcome = -1",
                                              "outcome = 'x'",
                                              "outcome = NULL",
                                              "outcome = 4294967296",
                                              "seconds = NULL",
                                              "seconds = -1",
                                              "seconds = 9e999",
                                              "seconds = 'fast'",
                                              "spread = -1",
                                              "spread = x''",
                                              "repeats = -1",
                                              "repeats = 2147483648",
                                              "repeats = 1.5",
                                              "seed = 'x'",
                                              "seed = NULL",
                                              "date = -1",
                                              "date = 253402300800",
                                              "date = 'x'",
                                              "inputs = NULL",
                                              "prediction = 'x'",
                                              "prediction = 9e999",
                                              "policy = 7",
                                              "wall = -1",
                                              "trial = 0.5"};
    const char *path = in_folder(arena, "strange.db");
    Record *found;
    Database *database = with_strange_row(arena, path, "");
    is_int(database_find(arena, database, "aa", "znver4", 2, &found), 3, "a table made by somebody else is read");
    ok(!database_failed(database), "and is sound");
    database_close(database);
    for (size_t i = 0; i < sizeof assignments / sizeof *assignments; i++) {
        database = with_strange_row(arena, path, assignments[i]);
        is_int(database_find(arena, database, "aa", "znver4", 2, &found), 2, "%s: the record is not there",
               assignments[i]);
        ok(database_failed(database), "and the database is damaged");
        database_close(database);
        ok(COMMAND(path, "/dev/null", "export") == 1, "so it is not exported");
        ok(COMMAND(in_folder(arena, "copy_of_strange.db"), "/dev/null", "merge", (char *)path) == 1, "nor merged");
    }
    for (int i = 0; i < 2; i++) {
        database_close(with_strange_row(arena, path, i ? "target = NULL" : "task = NULL"));
        is_refused(arena, path, "damaged", "a name that is missing");
    }
}

/* A table with a row that today's cannot hold is not renewed, and stays as it is. */
static void test_failed_renewal(Arena *arena) {
    const char *path = in_folder(arena, "unrenewed.db");
    Record *found, record = sample(arena, "aa", 1, 0.5);
    Database *database = with_strange_row(arena, path, "schedule = NULL");
    ok(!database_add(database, &record), "a file with a row that cannot be kept takes no record");
    is_int(database_find(arena, database, "aa", "znver4", 2, &found), 2, "and has its others");
    database_close(database);
    sqlite3 *handle;
    sqlite3_stmt *row;
    sqlite3_open(path, &handle);
    sqlite3_prepare_v2(handle, "SELECT count(*) FROM records, pragma_table_info('records')", -1, &row, NULL);
    is_int(sqlite3_step(row) == SQLITE_ROW ? sqlite3_column_int(row, 0) : -1, 3 * 15, "in its own columns");
    sqlite3_finalize(row);
    sqlite3_close(handle);
}

static void test_foreign_parts(Arena *arena) {
    static const char endless[] = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)";
    const struct Part {
        const char *sql, *reason;
    } parts[] = {
        {arena_printf(arena,
                      "DROP TABLE records; CREATE VIEW records AS %s SELECT 'a' task, 'b' target, 1 threads, 'c'"
                      " schedule, 0 outcome, 1.0 seconds, 0.0 spread, 1 repeats, i seed FROM n",
                      endless),
         "views"},
        {"CREATE VIEW other AS SELECT 1", "views"},
        {arena_printf(arena, "CREATE TRIGGER t AFTER INSERT ON records BEGIN DELETE FROM records; END"), "triggers"},
        {"ALTER TABLE records ADD COLUMN more TEXT AS (task || 'x')", "computed"},
        {"ALTER TABLE searches ADD COLUMN more TEXT AS (task || 'x')", "computed"},
        {"ALTER TABLE budgets ADD COLUMN more TEXT AS (tasks || 'x')", "computed"},
        {"ALTER TABLE tasks ADD COLUMN more TEXT AS (task || 'x')", "computed"},
        {"PRAGMA writable_schema=ON; INSERT INTO sqlite_master(type, name, tbl_name, rootpage, sql)"
         " VALUES('table', 'v', 'v', 0, 'CREATE VIRTUAL TABLE v USING absent(x)')",
         "views"},
        {"DROP TABLE records", "no table of records"},
    };
    const char *path = in_folder(arena, "parts.db");
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        unlink(path);
        database_close(open_or_die(arena, path));
        change(path, parts[i].sql);
        is_refused(arena, path, parts[i].reason, parts[i].sql);
        const char *why = "";
        ok(!database_open_within(arena, path, DATABASE_TO_READ, (WaitLimit){0}, &why, NULL), "to be read, too");
        is_int(COMMAND(path, "/dev/null", "ls"), 1, "ls");
        is_int(COMMAND(in_folder(arena, "other.db"), "/dev/null", "merge", (char *)path), 1, "merge");
    }
    unlink(path);
    database_close(open_or_die(arena, path));
    is_int(COMMAND(in_folder(arena, "other.db"), "/dev/null", "merge", (char *)path), 0, "one of no records is merged");
    write_file(path, "", 0);
    is_int(COMMAND(in_folder(arena, "other.db"), "/dev/null", "merge", (char *)path), 1, "an empty file is none");
    is_int(COMMAND(path, "/dev/null", "merge", (char *)path), 1, "nor is a database merged with itself");
}

/* What somebody adds to a database that is open already is not run. */
static void test_parts_added_later(Arena *arena) {
    const char *path = in_folder(arena, "later.db");
    Database *database = open_or_die(arena, path);
    Record record = sample(arena, "aa", 1, 0.5), *found;
    database_add(database, &record);
    change(path, "CREATE TRIGGER t AFTER INSERT ON records BEGIN DELETE FROM records; END");
    record.schedule = "another\n";
    ok(database_add(database, &record), "a record is added beside a trigger");
    is_int(database_find(arena, database, "aa", "znver4", 2, &found), 2, "which deletes none");
    change(path,
           "DROP TABLE records; CREATE VIEW records AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
           " SELECT 'aa' task, 'znver4' target, 2 threads, 'c' schedule, 0 outcome, 1.0 seconds, 0.0 spread, 1 repeats,"
           " i seed, 0 date, '' function, '' file, '' operator, '' inputs, '' why FROM n");
    alarm(PATIENT);
    is_int(database_find(arena, database, "aa", "znver4", 2, &found), 0, "an endless view is not read");
    alarm(0);
    database_close(database);
}

/* Every byte of a page that holds records is changed: records come whole or not at all. */
static void test_changed_bytes(Arena *arena) {
    const char *path = in_folder(arena, "bytes.db"), *changed = in_folder(arena, "changed.db");
    Database *database = open_or_die(arena, path);
    Record record = sample(arena, "aa", 1, 0.5), *found;
    database_add(database, &record);
    database_close(database);
    static char bytes[1 << 16];
    FILE *file = fopen(path, "rb");
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    int looked = 0;
    for (size_t at = size - 120; at < size; at++)
        for (int value = 0; value < 3; value++) {
            char before = bytes[at];
            const char *why;
            bytes[at] = (char)(value == 0 ? 0 : value == 1 ? before + 1 : 0x7f);
            write_file(changed, bytes, size);
            bytes[at] = before;
            database = database_open_within(arena, changed, DATABASE_TO_READ, (WaitLimit){0}, &why, NULL);
            looked += database && database_find(arena, database, "aa", "znver4", 2, &found) >= 0;
            database_close(database);
        }
    ok(looked > 200, "a database with a changed byte is looked at: %d times", looked);
}

/* --- waiting for others --- */

/* Of a database that somebody else has locked and never gives back. */
static void test_locked(Arena *arena) {
    const char *path = in_folder(arena, "locked.db"), *why = "";
    double begin = monotonic_seconds();
    sqlite3 *other;
    volatile int stop = 0;
    Record record = sample(arena, "aa", 1, 0.5);
    Database *database = open_or_die(arena, path);
    database_close(database);
    sqlite3_open(path, &other);
    database = database_open_within(arena, path, DATABASE_TO_WRITE, (WaitLimit){&stop, begin + 2}, &why, NULL);
    sqlite3_exec(other, "BEGIN EXCLUSIVE", NULL, NULL, NULL);
    ok(!database_add(database, &record) && monotonic_seconds() - begin >= 2 && monotonic_seconds() - begin < 15,
       "nobody waits beyond the deadline: %.1f s", monotonic_seconds() - begin);
    stop = 1;
    begin = monotonic_seconds();
    for (int i = 0; i < 5; i++)
        database_add(database, &record);
    ok(monotonic_seconds() - begin < 15, "nor again and again: %.1f s", monotonic_seconds() - begin);
    begin = monotonic_seconds();
    ok(!database_open_within(arena, path, DATABASE_TO_WRITE, (WaitLimit){&stop, 0}, &why, NULL) &&
           strstr(why, "locked") && monotonic_seconds() - begin < 15,
       "nor after a stop: %s", why);
    sqlite3_exec(other, "ROLLBACK", NULL, NULL, NULL);
    ok(database_add(database, &record), "when it is free again all is well");
    database_close(database);
    sqlite3_close(other);
}

/* A writer that is killed at some moment: what it said it stored is there. */
static void test_killed_writers(Arena *arena) {
    const char *path = in_folder(arena, "killed.db");
    int acknowledged = 0;
    for (int round = 0; round < kills; round++) {
        int ends[2];
        if (pipe(ends) != 0)
            exit(1);
        pid_t child = fork();
        if (child == 0) {
            Database *database = open_or_die(arena, path);
            for (int i = 0;; i++) {
                Record record = sample(arena, "aa", round * 1000000 + i * 5, i + 1);
                if (database_add(database, &record) && write(ends[1], "x", 1) != 1)
                    _exit(1);
            }
        }
        close(ends[1]);
        char byte;
        for (int wanted = 1 + round * 3 % 17; wanted > 0 && read(ends[0], &byte, 1) == 1; wanted--)
            acknowledged++;
        usleep((useconds_t)(round * 700 % 20000));
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        while (read(ends[0], &byte, 1) == 1)
            acknowledged++;
        close(ends[0]);
    }
    Database *database = open_or_die(arena, path);
    Record *found;
    int count = database_find(arena, database, "aa", "znver4", 2, &found);
    ok(count >= acknowledged && count <= acknowledged + kills, "%d writers killed: %d acknowledged, %d found", kills,
       acknowledged, count);
    int whole = 0;
    for (int r = 0; r < count; r++)
        whole += found[r].order > 0 && found[r].wall_seconds == 0.7 / 3 &&
                 !strcmp(found[r].toolchain, "tensorc 0, LLVM 0");
    is_int(whole, count, "with all that is known of each");
    database_close(database);
}

/* A file of version 1 with OLD_RECORDS records. */
enum { OLD_RECORDS = 300 };
static void make_old_file(const char *path) {
    unlink(path);
    change(path, "BEGIN; CREATE TABLE records(task TEXT NOT NULL, target TEXT NOT NULL, threads INTEGER NOT NULL,"
                 " schedule TEXT NOT NULL, outcome INTEGER NOT NULL, seconds REAL NOT NULL, spread REAL NOT NULL,"
                 " repeats INTEGER NOT NULL, seed INTEGER NOT NULL, inputs TEXT NOT NULL DEFAULT '',"
                 " why TEXT NOT NULL DEFAULT '',"
                 " PRIMARY KEY(task, target, threads, schedule, inputs)) WITHOUT ROWID; WITH RECURSIVE n(i) AS"
                 " (VALUES(1) UNION ALL SELECT i + 1 FROM n WHERE i < 300) INSERT INTO records"
                 " SELECT 'aa', 'znver4', 2, 'a' || i, 0, 1.0, 0.0, 3, 0, '', '' FROM n;"
                 " PRAGMA application_id=0x74756e65; PRAGMA user_version=1; COMMIT");
}

/* Killed while the file of an older version is renewed: it is old and whole, or new and whole. */
static void test_killed_renewal(Arena *arena) {
    const char *path = in_folder(arena, "renewal.db");
    int whole = 0, renewed = 0;
    for (int round = 0; round < kills; round++) {
        make_old_file(path);
        int ends[2];
        char byte;
        if (pipe(ends) != 0)
            exit(1);
        pid_t child = fork();
        if (child == 0) {
            Record record = sample(arena, "aa", 1, 0.5);
            Database *database = open_or_die(arena, path);
            _exit(write(ends[1], "x", 1) != 1 || !database_add(database, &record));
        }
        close(ends[1]);
        if (read(ends[0], &byte, 1) != 1)
            diag_line("the writer did not begin");
        close(ends[0]);
        usleep((useconds_t)(round * 311 % 4000));
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        Record *found;
        Database *database = open_or_die(arena, path);
        int count = database_find(arena, database, "aa", "znver4", 2, &found), old = 0;
        for (int r = 0; r < count; r++)
            old += found[r].seconds == 1 && found[r].repeats == 3 && !found[r].order;
        whole += old == OLD_RECORDS && (count == old || count == old + 1) && !database_failed(database);
        renewed += count > old;
        database_close(database);
    }
    is_int(whole, kills, "%d files were being renewed: they are whole", kills);
    diag_line("%d of them were done", renewed);
}

static void test_two_writers(Arena *arena) {
    const char *path = in_folder(arena, "shared.db");
    for (int writer = 0; writer < 2; writer++)
        if (fork() == 0) {
            Database *database = open_or_die(arena, path);
            int failed = 0;
            for (int i = 0; i < 40; i++) {
                Record record = sample(arena, "aa", writer * 1000 + i, i + 1);
                failed += !database_add(database, &record);
            }
            database_close(database);
            _exit(failed != 0);
        }
    int status, failures = 0;
    for (int writer = 0; writer < 2; writer++) {
        wait(&status);
        failures += status != 0;
    }
    is_int(failures, 0, "two processes write at once");
    Database *database = open_or_die(arena, path);
    Record *found;
    is_int(database_find(arena, database, "aa", "znver4", 2, &found), 80, "and all is there");
    database_close(database);
}

static bool same_files(const char *a, const char *b) {
    static char left[1 << 18], right[1 << 18];
    FILE *one = fopen(a, "rb"), *two = fopen(b, "rb");
    size_t bytes = fread(left, 1, sizeof left, one);
    bool same = bytes == fread(right, 1, sizeof right, two) && memcmp(left, right, bytes) == 0;
    fclose(one);
    fclose(two);
    return same && bytes > 0;
}

static void test_commands(Arena *arena) {
    char *from = arena_strdup(arena, in_folder(arena, "new/deep/tuning.db"));
    char *text = arena_strdup(arena, in_folder(arena, "export.txt")), *again = arena_printf(arena, "%s.2", text);
    const char *copy = in_folder(arena, "copy.db"), *merged = in_folder(arena, "merged.db");
    is_int(COMMAND(from, text, "export"), 0, "export");
    is_int(COMMAND(copy, "/dev/null", "import", text), 0, "import");
    is_int(COMMAND(copy, "/dev/null", "export", again), 0, "export to a file");
    ok(same_files(text, again), "what was imported exports the same");
    is_int(COMMAND(merged, "/dev/null", "merge", from), 0, "merge");
    COMMAND(merged, again, "export");
    ok(same_files(text, again), "what was merged exports the same");
    is_int(COMMAND(copy, "/dev/null", "prune", "2"), 0, "prune");
    Database *database = open_or_die(arena, copy);
    Record *found;
    is_int(database_find(arena, database, "aa", "znver4", 2, &found), 2, "prune keeps the best two");
    ok(found[0].seconds == 1.0 / 8, "of them the best");
    database_close(database);
    is_int(COMMAND(copy, "/dev/null", "ls"), 0, "ls");
    is_int(COMMAND(copy, "/dev/null", "frobnicate"), 2, "an unknown command is wrong usage");
    is_int(COMMAND(copy, "/dev/null", "prune", "x"), 2, "so is a bad count");
    is_int(COMMAND(copy, "/dev/null", "merge", "/nowhere/x.db"), 1, "merging what is not there is an error");
    is_int(COMMAND(copy, "/dev/null", "import", folder), 1, "importing a folder is an error");
    is_int(COMMAND(copy, "/dev/full", "export"), 1, "a full disk is an error");
    COMMAND(in_folder(arena, "failures.db"), again, "export");
    is_int(COMMAND(copy, "/dev/null", "import", again), 0, "what is exported is imported, also of what has no meaning");
    static const char untimed[] =
        "task aa\ntarget b\nthreads 2\noutcome ok\nseconds 0\nspread 0\nrepeats 1\nseed 1\nschedule\n";
    write_file(again, untimed, sizeof untimed - 1);
    is_int(COMMAND(copy, "/dev/null", "import", again), 1, "a result without a time is an error");
    static const char broken[] = "task aa\ntarget b\nthreads 2\noutcome ok\nseconds -1\n";
    write_file(again, broken, sizeof broken - 1);
    is_int(COMMAND(copy, "/dev/null", "import", text, again), 1, "a malformed text is an error");
    database = open_or_die(arena, copy);
    is_int(database_find(arena, database, "aa", "znver4", 2, &found), 2, "and nothing of the import is kept");
    database_close(database);
}

/* Files of versions that had fewer columns, or no inputs in the key, are read as they are, and get today's layout with
 * the first record; and what those versions do to it goes well. */
static int version_of(sqlite3 *handle) {
    sqlite3_stmt *row;
    sqlite3_prepare_v2(handle, "PRAGMA user_version", -1, &row, NULL);
    int version = sqlite3_step(row) == SQLITE_ROW ? sqlite3_column_int(row, 0) : -1;
    sqlite3_finalize(row);
    return version;
}

static void test_old_file(Arena *arena, const char *name, const char *more, const char *inputs) {
    const char *path = in_folder(arena, name);
    static const char insert[] =
        "INSERT INTO records(task, target, threads, schedule, outcome, seconds, spread, repeats,"
        " seed) VALUES('aa', 'znver4', 2, 'a', 0, 1.0, 0, 3, 0)";
    const char *schema =
        arena_printf(arena,
                     "CREATE TABLE records(task TEXT NOT NULL, target TEXT NOT NULL, threads INTEGER NOT NULL,"
                     " schedule TEXT NOT NULL, outcome INTEGER NOT NULL, seconds REAL NOT NULL, spread REAL NOT NULL,"
                     " repeats INTEGER NOT NULL,"
                     " seed INTEGER NOT NULL,%s PRIMARY KEY(task, target, threads, schedule)) WITHOUT ROWID;"
                     "PRAGMA application_id=0x74756e65; PRAGMA user_version=1;",
                     more);
    sqlite3 *handle;
    sqlite3_open(path, &handle);
    sqlite3_exec(handle, schema, NULL, NULL, NULL);
    sqlite3_exec(handle, insert, NULL, NULL, NULL);
    Record *found, added = sample(arena, "aa", 2, 0.5), beside;
    Database *database = open_or_die(arena, path);
    is_int(database_find(arena, database, "aa", "znver4", 2, &found), 1, "%s is read", name);
    ok(found[0].seconds == 1 && !*found[0].function && !*found[0].why, "and lacks what it lacks");
    ok(!found[0].order && !*found[0].policy && isnan(found[0].prediction) && !database_program(arena, database, "aa"),
       "also of what came later");
    is_text(found[0].inputs, inputs, "with the inputs that it knows");
    beside = found[0];
    is_int(COMMAND(path, "/dev/null", "ls"), 0, "it can be listed");
    is_int(version_of(handle), 1, "and stays as it is");
    sqlite3_exec(handle, "CREATE TABLE old_records(task)", NULL, NULL, NULL);
    ok(!database_add_all(database, &added, 1), "one that cannot be renewed takes no record");
    is_int(database_find(arena, database, "aa", "znver4", 2, &found), 1, "and is read as before");
    is_int(version_of(handle), 1, "as it was");
    is_int(sqlite3_exec(handle, "DROP TABLE old_records", NULL, NULL, NULL), SQLITE_OK, "what was in the way goes");
    is_int(database_find(arena, database, "aa", "znver4", 2, &found), 1, "it is read again");
    ok(database_add_all(database, &added, 1), "a record is added to it");
    is_int(version_of(handle), 2, "which renews it");
    is_int(database_find(arena, database, "aa", "znver4", 2, &found), 2, "beside the old one");
    is_text(found[0].function, "f", "with all that is known of it");
    ok(found[1].seconds == 1 && found[1].date == beside.date, "which is as it was");
    is_text(found[1].inputs, inputs, "with its inputs");
    beside.inputs = "new";
    ok(database_add(database, &beside), "the same on other inputs");
    is_int(database_find(arena, database, "aa", "znver4", 2, &found), 3, "is another record");
    database_close(database);
    is_int(sqlite3_exec(handle, "DELETE FROM records", NULL, NULL, NULL), SQLITE_OK, "an old version empties it");
    is_int(sqlite3_exec(handle, insert, NULL, NULL, NULL), SQLITE_OK, "and adds a record to it");
    is_int(sqlite3_exec(handle, arena_printf(arena, "%s ON CONFLICT DO UPDATE SET seconds = 2.0", insert), NULL, NULL,
                        NULL),
           SQLITE_OK, "and replaces it");
    sqlite3_close(handle);
    database_close(open_or_die(arena, path));
}

int main(void) {
    Arena *arena = arena_new();
    const char *place = getenv("TMPDIR"), *asked = getenv("KILLS");
    kills = asked ? atoi(asked) : kills;
    folder = arena_printf(arena, "%s/tensorc-database-XXXXXX", place && *place ? place : "/tmp");
    if (!mkdtemp(folder))
        return 1;
    test_storing(arena);
    test_inputs(arena);
    test_failures(arena);
    test_damage(arena);
    test_strange_rows(arena);
    test_failed_renewal(arena);
    test_foreign_parts(arena);
    test_parts_added_later(arena);
    test_changed_bytes(arena);
    test_locked(arena);
    test_killed_writers(arena);
    test_killed_renewal(arena);
    test_two_writers(arena);
    test_commands(arena);
    test_old_file(arena, "a file of fewer columns", "", "");
    test_old_file(
        arena, "a file without inputs in its key",
        " date INTEGER NOT NULL DEFAULT 5, function TEXT NOT NULL DEFAULT '', file TEXT NOT NULL DEFAULT '',"
        " operator TEXT NOT NULL DEFAULT '', inputs TEXT NOT NULL DEFAULT 'ab', why TEXT NOT NULL DEFAULT '',",
        "ab");
    int status = system(arena_printf(arena, "rm -rf '%s'", folder));
    arena_free(arena);
    return status ? status : done_testing();
}
