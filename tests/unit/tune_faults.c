/* tune_faults.c - tunings against a simulated toolchain: what fails, what is interrupted or killed and goes on. */
#include "lang/clock.h"
#include "tests/tap.h"
#include "tests/unit/programs.h"
#include "tests/unit/tunings.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void test_interrupted(Arena *arena, const Program *program, const Target *target) {
    Simulated simulated;
    Database *database = open_database(arena, "interrupted.db");
    TuneOptions options = options_for(40);
    simulated_open(&simulated, arena, program, target);
    simulated.stop_after = 11;
    options.stop = &simulated.stop;
    TuneResult *result = tune(arena, program, target, NULL, &simulated.toolchain, database, &options);
    ok(result->stopped && result->trials == 11, "stopped after 11 trials");
    ok(result->schedule && simulated_seconds(&simulated, result->schedule) <= result->default_seconds,
       "with the best so far, not slower than the default");
    simulated.stop = 0;
    simulated.stop_after = 0;
    result = tune(arena, program, target, NULL, &simulated.toolchain, database, &options);
    ok(!result->stopped && result->trials == 40 && result->measured == 29, "called again it makes the other 29");
    is_int(simulated.repeated, 0, "and measures nothing of the first 11 again");
    has_history(arena, database, program, target, 40, "a search in two parts");
    database_close(database);
    simulated_close(&simulated);
}

static void test_killed(Arena *arena, const Program *program, const Target *target) {
    TuneOptions options = options_for(100000); /* more than there is time for */
    options.cost_model = "static";             /* a child of a process that has used OpenMP cannot use XGBoost */
    pid_t child = fork();
    Simulated simulated;
    if (child == 0) {
        Database *database = open_database(arena, "killed.db");
        simulated_open(&simulated, arena, program, target);
        simulated.pause = 20000;
        tune(arena, program, target, NULL, &simulated.toolchain, database, &options);
        _exit(0);
    }
    Record *records;
    int before = 0;
    for (int wait_for = 0; wait_for < 20000 && before < 9; wait_for++) {
        usleep(5000);
        Database *database = open_database(arena, "killed.db");
        before = database_find(arena, database, task_hash(arena, program), database_target(target), 2, &records);
        database_close(database);
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    Database *database = open_database(arena, "killed.db");
    before = database_find(arena, database, task_hash(arena, program), database_target(target), 2, &records);
    simulated_open(&simulated, arena, program, target);
    options.trials = before + 20;
    TuneResult *result = tune(arena, program, target, NULL, &simulated.toolchain, database, &options);
    ok(before >= 9, "a tuning was killed after %d trials", before);
    ok(result->trials == before + 20 && result->measured == 20, "the next one makes 20 more: %d", result->measured);
    database_close(database);
    simulated_close(&simulated);
}

/* Of "trial" in a log. */
static int count_logged(const char *path) {
    FILE *log = fopen(path, "r");
    char *line = NULL;
    size_t room = 0;
    int count = 0;
    while (log && getline(&line, &room, log) > 0)
        count += strstr(line, "\"event\": \"trial\"") != NULL;
    free(line);
    if (log)
        fclose(log);
    return count;
}

/* Killed while a candidate runs, at any place of a batch: all that was finished before is there. */
static void test_killed_at(Arena *arena, const Program *program, const Target *target, int trial) {
    TuneOptions options = options_for(60);
    options.cost_model = "static";
    const char *name = arena_printf(arena, "killed%d.db", trial);
    const char *log = tunings_file(arena, arena_printf(arena, "killed%d.log", trial));
    pid_t child = fork();
    if (child == 0) {
        Simulated simulated;
        simulated_open(&simulated, arena, program, target);
        simulated.die_at = trial;
        options.log = record_log_open(arena, log);
        tune(arena, program, target, NULL, &simulated.toolchain, open_database(arena, name), &options);
        _exit(0);
    }
    int status;
    Record *records;
    waitpid(child, &status, 0);
    Database *database = open_database(arena, name);
    int count = database_find(arena, database, task_hash(arena, program), database_target(target), 2, &records);
    ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "a tuning is killed at trial %d", trial);
    is_int(count, trial - 1, "and has kept all before it");
    is_int(count_logged(log), count, "also in its log");
    has_history(arena, database, program, target, trial - 1, "what is left of it");
    database_close(database);
}

static void test_disasters(Arena *arena, const Program *program, const Target *target) {
    Simulated simulated;
    Database *database = open_database(arena, "disasters.db");
    TuneOptions options = options_for(20);
    simulated_open(&simulated, arena, program, target);
    simulated.all_fail = true;
    TuneResult *result = tune(arena, program, target, NULL, &simulated.toolchain, database, &options);
    const char *standard = text_of(arena, autosched_default(arena, program, target, NULL, EFFORT_MODEL, options.seed));
    ok(result->failures.failed[OUTCOME_CRASH] == 0 && result->failures.unsettled > 0 && result->lost && result->why,
       "where every candidate crashes, the machine is to blame: %s", result->why);
    ok(result->failures.ended == result->failures.unsettled && result->failures.ended_why &&
           !strcmp(result->failures.ended_why, "it failed"),
       "for that all %d trials failed, not for its load: %d", result->failures.unsettled, result->failures.ended);
    is_text(text_of(arena, result->schedule), standard, "the default is what is left");
    is_int(count_records(arena, database, program, target), 0, "and nothing is recorded");
    simulated_close(&simulated);
    simulated_open(&simulated, arena, program, target);
    simulated.all_fail = simulated.deaths = true;
    options.trials = 400;
    result = tune(arena, program, target, NULL, &simulated.toolchain, database, &options);
    ok(result->lost && result->measured < 100, "so it is early: after %d of 400 trials", result->measured);
    options.trials = 3;
    result = tune(arena, program, target, NULL, &simulated.toolchain, database, &options);
    is_text(text_of(arena, result->schedule), standard, "and with fewer");
    is_int(count_records(arena, database, program, target), 0, "of which none is recorded");
    database_close(database);
    database = open_database(arena, "budget.db");
    simulated_close(&simulated);
    simulated_open(&simulated, arena, program, target);
    simulated.pause = 4000;
    options.trials = 100000;
    options.budget_seconds = 0.4;
    result = tune(arena, program, target, NULL, &simulated.toolchain, database, &options);
    ok(result->trials < 100000 && result->schedule, "a budget of time ends it (%d trials)", result->trials);
    database_close(database);
    simulated_close(&simulated);
    simulated_open(&simulated, arena, program, target);
    result = tune(arena, program, target, NULL, &simulated.toolchain, NULL, &(TuneOptions){.trials = 8, .threads = 2});
    ok(result->trials == 8 && result->schedule, "a tuning without a database, with the usual search and model");
    simulated_close(&simulated);
}

/* A search for so many seconds, a 13th of which each build takes: whether it built several batches. */
static bool builds_in_batches(Arena *arena, const Program *program, const Target *target, double seconds) {
    Simulated simulated;
    TuneOptions options = options_for(1000);
    options.cost_model = "static";
    options.standard = static_choice(arena, program, target, EFFORT_FIXED, options.seed);
    simulated_open(&simulated, arena, program, target);
    simulated.build_pause = (int)(1e6 * seconds / 13);
    Tuner *tuner = tuner_new(arena, program, target, NULL, &simulated.toolchain, NULL, &options);
    tuner_search(tuner, 1, 0);
    tuner_search(tuner, 1000, monotonic_seconds() + seconds);
    bool batches = simulated.built > 1 && simulated.ahead <= 8;
    printf("# %g s: at most %d of %d builds at once\n", seconds, simulated.ahead, simulated.built);
    tuner_close(tuner);
    simulated_close(&simulated);
    return batches;
}

/* Builds that take long beside the budget: no more are made ahead than it has room to measure. Where the machine is
 * so busy that the search itself takes the time, it gets more of it. */
static void test_slow_builds(Arena *arena, const Program *program, const Target *target) {
    ok(builds_in_batches(arena, program, target, 4) || builds_in_batches(arena, program, target, 16) ||
           builds_in_batches(arena, program, target, 64),
       "a short budget is for several batches");
}

/* What the machine's load makes fail is tried again, is not remembered, and lets nothing be called better. */
static void test_busy(Arena *arena, const Program *program, const Target *target) {
    Simulated simulated;
    Database *database = open_database(arena, "busy.db");
    TuneOptions options = options_for(20);
    const char *standard = text_of(arena, autosched_default(arena, program, target, NULL, EFFORT_MODEL, options.seed));
    simulated_open(&simulated, arena, program, target);
    simulated.busy = -1;
    TuneResult *result = tune(arena, program, target, NULL, &simulated.toolchain, database, &options);
    ok(result->failures.unsettled > 0 && result->measured > 1, "the default's builds found no time: %d",
       result->failures.unsettled);
    ok(result->failures.ended == 0 && !result->failures.ended_why, "which ended no process");
    is_text(text_of(arena, result->schedule), standard, "it is kept, for nothing was compared with it");
    is_int(count_failures(arena, database, program, target), 0, "and no failure is recorded");
    simulated.without_memory = true;
    result = tune(arena, program, target, NULL, &simulated.toolchain, database, &options);
    ok(result->failures.ended > 0 && result->failures.ended == result->failures.unsettled &&
           !strcmp(result->failures.ended_why, "there is no memory"),
       "builds without memory are counted with their reason: %d of %d", result->failures.ended,
       result->failures.unsettled);
    simulated.busy = 0;
    result = tune(arena, program, target, NULL, &simulated.toolchain, database, &options);
    ok(result->measured > 0 && result->default_seconds > 0 && result->seconds <= result->default_seconds,
       "the next tuning measures it first: %g, %g", result->seconds, result->default_seconds);
    database_close(database);
    simulated_close(&simulated);

    database = open_database(arena, "busy-once.db");
    simulated_open(&simulated, arena, program, target);
    simulated.busy = 1;
    result = tune(arena, program, target, NULL, &simulated.toolchain, database, &options);
    ok(result->failures.unsettled == 0 && result->default_seconds > 0, "a build that fails so once is tried again");
    is_int(result->trials, 20, "as the same trial");
    database_close(database);
    simulated_close(&simulated);
}

/* What ends a process is its own fault where the default does well after it. */
static void test_deaths(Arena *arena, const Program *program, const Target *target) {
    Simulated simulated;
    Database *database = open_database(arena, "deaths.db");
    TuneOptions options = options_for(64);
    options.cost_model = "static";
    simulated_open(&simulated, arena, program, target);
    simulated.failure_rate = 4;
    simulated.deaths = true;
    TuneResult *result = tune(arena, program, target, NULL, &simulated.toolchain, database, &options);
    int failures = count_failures(arena, database, program, target);
    ok(!result->lost && failures > 0 && result->failures.unsettled == 0, "deaths of candidates are recorded: %d",
       failures);
    is_int(count_records(arena, database, program, target), 64, "as all trials are");
    is_int(simulated.built, simulated.released, "every candidate is released");
    database_close(database);
    simulated_close(&simulated);

    for (int busy = 0; busy < 2; busy++) {
        database = open_database(arena, busy ? "once-busy.db" : "once.db");
        simulated_open(&simulated, arena, program, target);
        simulated.failure_rate = 4;
        simulated.deaths = true;
        *(busy ? &simulated.default_busy : &simulated.default_dies) = busy ? 2 : 1;
        result = tune(arena, program, target, NULL, &simulated.toolchain, database, &options);
        failures = count_failures(arena, database, program, target);
        ok(!result->lost && failures > 0 && result->trials == 64, "also where the default %s after it: %d",
           busy ? "finds no time twice" : "dies once", failures);
        database_close(database);
        simulated_close(&simulated);
    }

    database = open_database(arena, "first.db");
    simulated_open(&simulated, arena, program, target);
    simulated.first_dies = true;
    simulated.failure_rate = 4;
    options.trials = 40;
    result = tune(arena, program, target, NULL, &simulated.toolchain, database, &options);
    ok(result->lost && strstr(result->why, "its default schedule does not run on this machine: it failed"),
       "a default that dies ends the search: %s", result->why);
    is_int(simulated.built, 2, "when it was tried twice");
    is_int(count_records(arena, database, program, target), 0, "and no crash counts");
    database_close(database);
    simulated_close(&simulated);
}

/* A connection that is cut: no worker lives, though none dies of a fault. */
static void test_cut(Arena *arena, const Program *program, const Target *target) {
    static const int moments[] = {1, 4, 17, 4};
    for (size_t i = 0; i < sizeof moments / sizeof *moments; i++) {
        int after = moments[i];
        bool cold = i == 3; /* without a default to ask, what ended at last tells */
        Simulated simulated;
        Database *database = open_database(arena, arena_printf(arena, "cut%zu.db", i));
        TuneOptions options = options_for(40);
        options.cost_model = "static";
        options.maker = "one";
        options.search = cold ? "anneal:cold" : "anneal";
        simulated_open(&simulated, arena, program, target);
        simulated.cut_after = after;
        Tuner *tuner = tuner_new(arena, program, target, NULL, &simulated.toolchain, database, &options);
        tuner_search(tuner, 1, 0);
        tuner_search(tuner, cold ? 20 : 40, 0);
        tuner_grant(tuner, 40);
        TuneResult *result = tuner_finish(tuner);
        int used;
        bool spent;
        ok(result->lost && result->why && !strcmp(result->why, "it failed"), "cut after %d runs: %s", after,
           result->why);
        ok(result->measured < 40 && count_failures(arena, database, program, target) == 0,
           "the search ends: after %d trials", result->measured);
        ok(!searches_are_known(arena, database, (Program *[]){(Program *)program}, 1, target, NULL, &options, &used,
                               &spent),
           "and the next one goes on");
        database_close(database);
        simulated_close(&simulated);
    }
}

/* A machine that fails from some moment on: what was found before is kept, and it alone. */
static void test_broken(Arena *arena, const Program *program, const Target *target) {
    TuneOptions options = options_for(40);
    static const int moments[] = {1, 4, 17, 43, 50, 56}; /* the last: the default has had all its turns */
    options.cost_model = "static";
    for (size_t i = 0; i < sizeof moments / sizeof *moments; i++) {
        int after = moments[i];
        Simulated simulated;
        Database *database = open_database(arena, arena_printf(arena, "broken%d.db", after));
        simulated_open(&simulated, arena, program, target);
        simulated.broken_after = after;
        TuneResult *result = tune(arena, program, target, NULL, &simulated.toolchain, database, &options);
        int records = count_records(arena, database, program, target), most = after < 40 ? after : 40;
        bool kept = records == most && count_failures(arena, database, program, target) == 0;
        ok(kept && (result->lost || after >= 40), "broken after %d runs: %d records, no failure", after, records);
        ok(result->seconds > 0 && result->seconds <= result->default_seconds, "and nothing slower than the default");
        Schedule *best = database_best(arena, database, program, target, NULL, 2, "", NULL);
        is_text(best ? text_of(arena, best) : "", text_of(arena, result->schedule), "-O2 takes the same");
        simulated.broken_after = 0;
        result = tune(arena, program, target, NULL, &simulated.toolchain, database, &options);
        ok(!result->lost && result->trials == 40, "the next tuning goes on");
        database_close(database);
        simulated_close(&simulated);
    }
}

/* Records of failures alone, as of a machine that could run nothing, are no reason to give up. */
static void test_poisoned(Arena *arena, const Program *program, const Target *target) {
    Simulated simulated;
    Database *database = open_database(arena, "good.db"), *poisoned = open_database(arena, "poisoned.db");
    TuneOptions options = options_for(20);
    options.maker = "one";
    options.cost_model = "static";
    simulated_open(&simulated, arena, program, target);
    tune(arena, program, target, NULL, &simulated.toolchain, database, &options);
    Record *records;
    int count = database_find(arena, database, task_hash(arena, program), database_target(target), 2, &records);
    for (int r = 0; r < count; r++) {
        records[r].outcome = OUTCOME_CRASH;
        records[r].seconds = 0;
        database_add(poisoned, &records[r]);
    }
    simulated_close(&simulated);
    simulated_open(&simulated, arena, program, target);
    TuneResult *result = tune(arena, program, target, NULL, &simulated.toolchain, poisoned, &options);
    ok(result->measured == 20 && result->seconds > 0, "what failed with everything else is tried again");
    is_int(count_failures(arena, poisoned, program, target), 0, "and replaced");
    database_close(database);
    database_close(poisoned);
    simulated_close(&simulated);
}

/* A default that the database calls not built is tried again. */
static void test_old_failure(Arena *arena, const Program *program, const Target *target) {
    Simulated simulated;
    Database *database = open_database(arena, "old.db");
    TuneOptions options = options_for(12);
    simulated_open(&simulated, arena, program, target);
    TuneResult *result = tune(arena, program, target, NULL, &simulated.toolchain, database, &options);
    Schedule *standard = autosched_default(arena, program, target, NULL, EFFORT_MODEL, options.seed);
    Record *records, failed = {0};
    int count = database_find(arena, database, task_hash(arena, program), database_target(target), 2, &records);
    double seconds = simulated_seconds(&simulated, standard);
    Database *old = database;
    database = open_database(arena, "older.db");
    for (int r = 0; r < count; r++)
        if (strcmp(records[r].policy, "default") == 0)
            failed = records[r];
        else
            database_add(database, &records[r]);
    failed.outcome = OUTCOME_BUILD_ERROR;
    failed.seconds = 0;
    ok(failed.task && database_add(database, &failed), "the default's record becomes a build-error");
    database_close(old);
    result = tune(arena, program, target, NULL, &simulated.toolchain, database, &options);
    ok(result->measured == 1 && fabs(result->default_seconds - seconds) < 1e-12, "which the next tuning measures");
    is_int(count_failures(arena, database, program, target), 0, "and replaces");
    database_close(database);
    simulated_close(&simulated);
}

int main(void) {
    Arena *arena = arena_new();
    Target target = wide_target();
    if (!tunings_begin(arena))
        return 1;
    Program *program = program_conv_chain(arena, TYPE_FLOAT, (ConvShape){1, 32, 28, 28, 48, 3, 3, 1, 1, 1});
    test_interrupted(arena, program, &target);
    test_killed(arena, program, &target);
    for (int trial = 8; trial <= 20; trial += 12)
        test_killed_at(arena, program, &target, trial);
    test_disasters(arena, program, &target);
    test_slow_builds(arena, program, &target);
    test_busy(arena, program, &target);
    test_old_failure(arena, program, &target);
    test_deaths(arena, program, &target);
    test_cut(arena, program, &target);
    test_broken(arena, program, &target);
    test_poisoned(arena, program, &target);
    tunings_end();
    arena_free(arena);
    return done_testing();
}
