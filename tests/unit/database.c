/* database.c - the tuning database: what is stored comes back, survives kill -9 and other writers, and a file that is
 * damaged or foreign is refused with one line.
 */
#include "autosched/autosched.h"
#include "tests/tap.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/tensorc-database-XXXXXX";

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
                    .seed = -3};
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

/* A writer that is killed at some moment: what it said it stored is there. */
static void test_killed_writers(Arena *arena) {
    const char *path = in_folder(arena, "killed.db");
    int acknowledged = 0;
    for (int round = 0; round < 6; round++) {
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
        for (int wanted = 1 + round * 3; wanted > 0 && read(ends[0], &byte, 1) == 1; wanted--)
            acknowledged++;
        usleep((useconds_t)(round * 700));
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        while (read(ends[0], &byte, 1) == 1)
            acknowledged++;
        close(ends[0]);
    }
    Database *database = open_or_die(arena, path);
    Record *found;
    int count = database_find(arena, database, "aa", "znver4", 2, &found);
    ok(count >= acknowledged && count <= acknowledged + 6, "6 writers killed: %d acknowledged, %d found", acknowledged,
       count);
    database_close(database);
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
    is_int(COMMAND(copy, "/dev/full", "export"), 1, "a full disk is an error");
    COMMAND(in_folder(arena, "failures.db"), again, "export");
    is_int(COMMAND(copy, "/dev/null", "import", again), 0, "what is exported is imported, also of what has no meaning");
    static const char untimed[] = "task aa\ntarget b\nthreads 2\noutcome ok\nseconds 0\nspread 0\nrepeats 1\nseed 1\nschedule\n";
    write_file(again, untimed, sizeof untimed - 1);
    is_int(COMMAND(copy, "/dev/null", "import", again), 1, "a result without a time is an error");
    static const char broken[] = "task aa\ntarget b\nthreads 2\noutcome ok\nseconds -1\n";
    write_file(again, broken, sizeof broken - 1);
    is_int(COMMAND(copy, "/dev/null", "import", text, again), 1, "a malformed text is an error");
    database = open_or_die(arena, copy);
    is_int(database_find(arena, database, "aa", "znver4", 2, &found), 2, "and nothing of the import is kept");
    database_close(database);
}

int main(void) {
    Arena *arena = arena_new();
    if (!mkdtemp(folder))
        return 1;
    test_storing(arena);
    test_failures(arena);
    test_damage(arena);
    test_killed_writers(arena);
    test_two_writers(arena);
    test_commands(arena);
    int status = system(arena_printf(arena, "rm -rf '%s'", folder));
    arena_free(arena);
    return status ? status : done_testing();
}
