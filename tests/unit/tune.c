/* tune.c - tunings against a simulated toolchain: what is found, what fails, what is interrupted and goes on. */
#include "autosched/autosched.h"
#include "lang/clock.h"
#include "tests/tap.h"
#include "tests/unit/programs.h"
#include "tests/unit/simulated.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* Of tests/unit/schedules.h, whose random numbers are others. */
Program *program_of_text(Arena *arena, const char *text, const struct Binding *bindings, int count);

static char *folder;

static Target wide_target(void) {
    Target target = *target_find("x86-64-v4");
    target.threads = 2;
    return target;
}

static Database *open_database(Arena *arena, const char *name) {
    return database_for_test(arena, arena_printf(arena, "%s/%s", folder, name));
}

static TuneOptions options_for(int trials) {
    return (TuneOptions){.trials = trials,
                         .search = "anneal",
                         .cost_model = "xgboost",
                         .seed = 7,
                         .threads = 2,
                         .device = "a device",
                         .toolchain = "a toolchain"};
}

static const char *text_of(Arena *arena, const Schedule *schedule) {
    Text text = {.arena = arena};
    text_add(&text, " ");
    schedule_print_statements(&text, schedule);
    return text.text;
}

typedef struct Shown {
    int calls, last_trials;
    bool orderly;
} Shown;

static void show(void *context, const TuneProgress *progress) {
    Shown *shown = context;
    shown->calls++;
    shown->orderly &= progress->trials == shown->last_trials + 1 && progress->trials <= progress->trial_limit;
    shown->last_trials = progress->trials;
}

/* The records of a search say when each trial was made, by whom it was proposed, and what was predicted; the text of
 * the program is there once. */
static void has_history(Arena *arena, Database *database, const Program *program, const Target *target, int trials,
                        const char *name) {
    Record *records;
    int count = database_find(arena, database, task_hash(arena, program), database_target(target), 2, &records);
    bool *seen = ARENA_ARRAY(arena, bool, trials + 1);
    int ordered = 0, defaults = 0, predicted = 0, described = 0;
    for (int r = 0; r < count; r++) {
        const Record *record = &records[r];
        bool first = record->order == 1 && !strcmp(record->policy, "default") && isnan(record->prediction);
        if (record->order >= 1 && record->order <= trials && !seen[record->order])
            ordered += seen[record->order] = true;
        defaults += first;
        predicted += !first && !strcmp(record->policy, "anneal") && isfinite(record->prediction);
        described += !strcmp(record->device, "a device") && !strcmp(record->toolchain, "a toolchain") &&
                     record->features == FEATURE_VERSION && record->wall_seconds > 0 && record->operations > 0 &&
                     record->peak > 0;
    }
    is_int(ordered, trials, "%s: each trial has its number", name);
    is_int(defaults, 1, "the first is the default");
    is_int(predicted, trials - 1, "what the policy proposed was predicted");
    is_int(described, trials, "what measured them, and in how long");
    const Task *task = task_new(arena, program, NULL);
    const char *text = database_program(arena, database, task->key);
    is_text(text ? text : "", task_program(arena, task), "and the text of the program");
}

static void test_whole(Arena *arena, const Program *program, const Target *target) {
    Simulated simulated;
    Database *database = open_database(arena, "whole.db");
    TuneOptions options = options_for(64);
    Shown shown = {.orderly = true};
    simulated_open(&simulated, arena, program, target);
    simulated.failure_rate = 4;
    options.progress = show;
    options.progress_context = &shown;
    TuneResult *result = tune(arena, program, target, NULL, &simulated.toolchain, database, &options);
    const int *of = result->failures.failed;
    int failed = 0;
    for (int outcome = 1; outcome < OUTCOME_COUNT; outcome++)
        failed += of[outcome];
    is_int(result->trials, 64, "all trials were made");
    ok(failed >= 4 && failed <= 28, "failures are counted: %d", failed); /* one in four, give or take 3.5 deviations */
    ok(of[OUTCOME_CRASH] + of[OUTCOME_TIMEOUT] + of[OUTCOME_WRONG] > 0 && of[OUTCOME_BUILD_ERROR] > 0,
       "of several kinds");
    is_int(simulated.repeated, 0, "nothing is measured twice");
    is_int(simulated.built, simulated.released, "every candidate is released");
    ok(shown.calls == 64 && shown.orderly, "progress is shown once a trial");
    ok(result->default_seconds > 0 && result->seconds < result->default_seconds,
       "the winner is faster than the default: %g, %g", result->seconds, result->default_seconds);
    ok(fabs(simulated_seconds(&simulated, result->schedule) - result->seconds) < 1e-12,
       "its time is that of its schedule");
    ok(result->raced && result->default_raced, "both are of the race");
    Record *records;
    int count = database_find(arena, database, task_hash(arena, program), database_target(target), 2, &records);
    is_int(count, 64, "all trials are in the database");
    is_int(records[0].outcome, OUTCOME_OK, "a good one is the first");
    has_history(arena, database, program, target, 64, "a search");

    simulated.built = 0;
    TuneResult *again = tune(arena, program, target, NULL, &simulated.toolchain, database, &options);
    ok(again->from_database && again->measured == 0 && simulated.built == 0, "a full hit builds nothing");
    options.progress = NULL;
    is_text(text_of(arena, again->schedule), text_of(arena, result->schedule), "and gives the same winner");
    Schedule *best = database_best(arena, database, program, target, NULL, 2, "", NULL);
    is_text(best ? text_of(arena, best) : "", text_of(arena, result->schedule), "which -O2 finds too");
    database_close(database);
    simulated_close(&simulated);
}

static void test_same_again(Arena *arena, const Program *program, const Target *target) {
    const char *winners[2];
    for (int run = 0; run < 2; run++) {
        Simulated simulated;
        Database *database = open_database(arena, run ? "again1.db" : "again0.db");
        TuneOptions options = options_for(48);
        simulated_open(&simulated, arena, program, target);
        TuneResult *result = tune(arena, program, target, NULL, &simulated.toolchain, database, &options);
        winners[run] = text_of(arena, result->schedule);
        database_close(database);
        simulated_close(&simulated);
    }
    is_text(winners[0], winners[1], "the same seed and times give the same winner");
}

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
    const char *log = arena_printf(arena, "%s/killed%d.log", folder, trial);
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

static int count_records(Arena *arena, Database *database, const Program *program, const Target *target) {
    Record *records;
    return database_find(arena, database, task_hash(arena, program), database_target(target), 2, &records);
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

/* A race that the default does not finish is none: its times are compared with nothing. */
static void test_race_without_default(Arena *arena, const Program *program, const Target *target) {
    for (int turn = 1; turn <= 4; turn++) {
        Simulated simulated;
        Database *database = open_database(arena, arena_printf(arena, "race%d.db", turn));
        TuneOptions options = options_for(24);
        options.cost_model = "static";
        simulated_open(&simulated, arena, program, target);
        simulated.race_ends = turn;
        simulated.racing = 0.5;
        TuneResult *result = tune(arena, program, target, NULL, &simulated.toolchain, database, &options);
        Record record;
        Schedule *best = database_best(arena, database, program, target, NULL, 2, "", &record);
        ok(result->seconds > 0 && result->seconds <= result->default_seconds && simulated.raced > 0,
           "a race that ends at turn %d: %g, %g", turn, result->seconds, result->default_seconds);
        ok(!result->raced && !result->default_raced, "proves no gain");
        ok(fabs(simulated_seconds(&simulated, result->schedule) - result->seconds) < 1e-12 &&
               fabs(record.seconds - result->seconds) < 1e-12,
           "the times before it count");
        is_text(text_of(arena, best), text_of(arena, result->schedule), "for -O2, too");
        database_close(database);
        simulated_close(&simulated);
    }
}

/* The machine is slower in the race than before: what is not in it is not better than what wins. */
static void test_slower_race(Arena *arena, const Program *program, const Target *target) {
    Simulated simulated;
    Database *database = open_database(arena, "slower.db");
    TuneOptions options = options_for(40);
    options.cost_model = "static";
    simulated_open(&simulated, arena, program, target);
    simulated.racing = 3;
    TuneResult *result = tune(arena, program, target, NULL, &simulated.toolchain, database, &options);
    Schedule *best = database_best(arena, database, program, target, NULL, 2, "", NULL);
    is_text(text_of(arena, best), text_of(arena, result->schedule), "what won a slow race is the best of the database");
    database_close(database);
    simulated_close(&simulated);
}

/* Searches on several inputs stand beside each other, as do their notes. */
static void test_inputs(Arena *arena, Program *program, const Target *target) {
    static const char *const inputs[] = {NULL, "0123", NULL, "0123"};
    Database *database = open_database(arena, "inputs.db");
    TuneOptions options = options_for(12);
    options.maker = "one";
    options.cost_model = "static";
    for (int i = 0; i < 4; i++) {
        const char *name = inputs[i] ? inputs[i] : "";
        Simulated simulated;
        Record record = {0};
        int used = 0;
        bool spent;
        options.inputs = inputs[i];
        simulated_open(&simulated, arena, program, target);
        simulated.slower = 1 + i % 2;
        bool known = searches_are_known(arena, database, &program, 1, target, NULL, &options, &used, &spent);
        ok(known == (i >= 2), "the inputs '%s' are known when they were searched before", name);
        TuneResult *result = tune(arena, program, target, NULL, &simulated.toolchain, database, &options);
        is_int(result->measured, i < 2 ? 12 : 0, "the inputs '%s' are searched with %s", name, i < 2 ? "" : "once");
        database_best(arena, database, program, target, NULL, 2, name, &record);
        ok(record.seconds == result->seconds && !strcmp(record.inputs, name), "the best record is one of theirs");
        ok(searches_are_known(arena, database, &program, 1, target, NULL, &options, &used, &spent) && used == 12,
           "and all are noted");
        simulated_close(&simulated);
    }
    is_int(count_records(arena, database, program, target), 24, "all records are kept");
    is_text(database_inputs(arena, database, &program, 1, target, NULL, 2), "0123",
            "given inputs go before random ones");
    database_close(database);
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

/* Fewer points than trials: all are measured once, and the next tuning finds nothing left to do. */
static void test_exhausted(Arena *arena, const Target *target) {
    Simulated simulated;
    Program *program = program_blur(arena, TYPE_FLOAT, 3);
    Database *database = open_database(arena, "exhausted.db");
    TuneOptions options = options_for(5000);
    simulated_open(&simulated, arena, program, target);
    TuneResult *result = tune(arena, program, target, NULL, &simulated.toolchain, database, &options);
    ok(result->trials < 5000 && simulated.repeated == 0, "a small space is exhausted after %d trials", result->trials);
    TuneResult *again = tune(arena, program, target, NULL, &simulated.toolchain, database, &options);
    ok(again->from_database && again->measured == 0, "and then its best is a full hit");
    database_close(database);
    simulated_close(&simulated);
}

static const char three_steps[] = "def steps(float(64, 64) a) -> (d) {\n"
                                  "b(i, j) = (a(i, j) + a(i - 1, j) + a(i + 1, j)) * 0.25 where i in 1:63, j in 0:64\n"
                                  "c(i, j) = (b(i, j) + b(i - 1, j) + b(i + 1, j)) * 0.25 where i in 2:62, j in 0:64\n"
                                  "d(i, j) = (c(i, j) + c(i - 1, j) + c(i + 1, j)) * 0.25 where i in 3:61, j in 0:64 }";

/* Several points give one schedule. A search that is asked for one trial at a time comes upon those that are known. */
static void test_small_steps(Arena *arena, const Program *program, const Target *target) {
    enum { STEPS = 250 };
    TuneOptions options = options_for(STEPS);
    options.search = "anneal:chains=48,steps=10";
    Simulated simulated;
    simulated_open(&simulated, arena, program, target);
    Tuner *tuner = tuner_new(arena, program, target, NULL, &simulated.toolchain, NULL, &options);
    for (int step = 1; step <= STEPS; step++)
        tuner_search(tuner, step, 0);
    is_int(tuner_trials(tuner), STEPS, "a search in steps of one trial goes on");
    tuner_close(tuner);
    simulated_close(&simulated);
}

static void test_tables(Arena *arena, const Program *program, const Target *target) {
    for (int p = 0; search_policies[p].name; p++)
        for (int m = 0; cost_models[m].name; m++) {
            Simulated simulated;
            TuneOptions options = options_for(40);
            options.search = search_policies[p].name;
            options.cost_model = cost_models[m].name;
            simulated_open(&simulated, arena, program, target);
            simulated.failure_rate = 10;
            TuneResult *result = tune(arena, program, target, NULL, &simulated.toolchain, NULL, &options);
            ok(result->trials == 40 && result->seconds <= result->default_seconds,
               "%s with %s: %.3g times the default's speed", options.search, options.cost_model,
               result->default_seconds / result->seconds);
            simulated_close(&simulated);
        }
}

/* Z(p, q) +=! X(p, r_s) * Y(r_s, q): program_matmul in other words. */
static Program *other_names(Arena *arena, int64_t size) {
    ProgramBuilder builder = program_begin(arena, "product");
    Expr *m = program_size(&builder, "P", size), *n = program_size(&builder, "Q", size),
         *k = program_size(&builder, "S", size);
    Tensor *x = program_tensor(&builder, ROLE_INPUT, TYPE_FLOAT, "X", 2, m, k);
    Tensor *y = program_tensor(&builder, ROLE_INPUT, TYPE_FLOAT, "Y", 2, k, n);
    Tensor *z = program_tensor(&builder, ROLE_OUTPUT, TYPE_FLOAT, "Z", 2, m, n);
    Var *p = program_index(&builder, "p", m, false), *q = program_index(&builder, "q", n, false);
    Var *s = program_index(&builder, "r_s", k, true);
    Expr *left = program_read(&builder, x, NULL, expr_var(arena, p), expr_var(arena, s));
    Expr *right = program_read(&builder, y, NULL, expr_var(arena, s), expr_var(arena, q));
    program_stage(&builder, z, COMBINE_ADD, combine_identity(arena, COMBINE_ADD, TYPE_FLOAT),
                  expr_binary(arena, OP_MUL, left, right), 2, 1, p, q, s);
    return program_end(&builder);
}

static void test_names(Arena *arena, const Target *target) {
    Program *program = program_matmul(arena, TYPE_FLOAT, 96, 96, 96), *other = other_names(arena, 96);
    is_text(task_hash(arena, other), task_hash(arena, program), "names do not matter to the hash");
    ok(strcmp(task_hash(arena, other_names(arena, 97)), task_hash(arena, program)) != 0, "sizes do");
    ok(strcmp(task_hash(arena, program_matmul(arena, TYPE_DOUBLE, 96, 96, 96)), task_hash(arena, program)) != 0,
       "types do");
    ok(strcmp(task_hash(arena, program_matmul(arena, TYPE_FLOAT, 96, -1, 96)), task_hash(arena, program)) != 0,
       "a size at run time is another task");
    Simulated simulated;
    Database *database = open_database(arena, "names.db");
    TuneOptions options = options_for(24);
    simulated_open(&simulated, arena, program, target);
    TuneResult *result = tune(arena, program, target, NULL, &simulated.toolchain, database, &options);
    Schedule *found = database_best(arena, database, other, target, NULL, 2, "", NULL);
    ok(found && nest_build(arena, other, found, NULL, target, NULL),
       "a record is of use to a program with other names");
    simulated.program = other;
    ok(found && fabs(simulated_seconds(&simulated, found) / result->seconds - 1) < 0.1, "and as fast there");
    database_close(database);
    simulated_close(&simulated);
}

/* What is asked of the notes of searches, and what they told last. */
typedef struct Notes {
    Arena *arena;
    Database *database;
    const Target *target;
    TuneOptions options;
    int used;
    bool spent;
} Notes;

static bool is_known(Notes *notes, Program *const *programs, int count) {
    return searches_are_known(notes->arena, notes->database, programs, count, notes->target, NULL, &notes->options,
                              &notes->used, &notes->spent);
}

static void test_budgets(Notes *notes, Program *program, Program *const *both) {
    notes->options.budget_seconds = 5;
    ok(!is_known(notes, &program, 1), "nor is a budget");
    ok(searches_note_budget(notes->arena, notes->database, &program, 1, notes->target, NULL, &notes->options),
       "a budget was spent");
    ok(is_known(notes, &program, 1), "it is known");
    notes->options.budget_seconds = 4;
    ok(is_known(notes, &program, 1), "so is a smaller one");
    notes->options.budget_seconds = 6;
    ok(!is_known(notes, &program, 1), "a larger one is not");
    notes->options.budget_seconds = 5;
    ok(!is_known(notes, both, 2), "nor is that of other programs");
    notes->options.maker = "one";
    ok(is_known(notes, &program, 1) && notes->spent, "another seed's budget is known");
    notes->options.compiler = "another";
    ok(is_known(notes, &program, 1) && !notes->spent, "another compiler's is not, though trials still are");
    notes->options.budget_seconds = 3;
    ok(searches_note_budget(notes->arena, notes->database, &program, 1, notes->target, NULL, &notes->options),
       "it spends a smaller one");
    notes->options.trials = 1000;
    notes->options.compiler = "a compiler";
    notes->options.budget_seconds = 5;
    ok(is_known(notes, &program, 1), "which does not take away what the first one noted");
    notes->options.budget_seconds = 4;
    searches_note_budget(notes->arena, notes->database, &program, 1, notes->target, NULL, &notes->options);
    notes->options.budget_seconds = 5;
    ok(is_known(notes, &program, 1), "nor does a smaller one of its own");
}

/* What a search notes tells the next one of the same maker at once whether there is anything left to do. */
static void test_notes(Arena *arena, Program *program, const Target *target) {
    Simulated simulated;
    Database *database = open_database(arena, "notes.db");
    Program *small = program_blur(arena, TYPE_FLOAT, 3), *both[] = {program, small};
    Notes notes = {arena, database, target, .options = options_for(20)};
    notes.options.maker = "one";
    simulated_open(&simulated, arena, program, target);
    ok(!is_known(&notes, &program, 1), "nothing is known at first");
    tune(arena, program, target, NULL, &simulated.toolchain, database, &notes.options);
    ok(is_known(&notes, &program, 1), "a search that was made is known");
    is_int(notes.used, 20, "with its trials");
    ok(!is_known(&notes, both, 2), "of several programs all have to be");
    notes.options.trials = 21;
    ok(!is_known(&notes, &program, 1), "more trials are not");
    notes.options.trials = 20;
    notes.options.maker = "other";
    notes.options.compiler = "a compiler";
    ok(!is_known(&notes, &program, 1), "nor is another maker's default");
    test_budgets(&notes, program, both);
    notes.options.maker = "two";
    notes.options.budget_seconds = 0;
    tune(arena, program, target, NULL, &simulated.toolchain, database, &notes.options);
    notes.options.maker = "one";
    notes.options.trials = 20;
    ok(is_known(&notes, &program, 1), "nor do trials of another maker");
    notes.options.maker = "one";
    simulated_close(&simulated);

    simulated_open(&simulated, arena, small, target);
    notes.options.trials = 5000;
    TuneResult *result = tune(arena, small, target, NULL, &simulated.toolchain, database, &notes.options);
    notes.options.trials = 1000000;
    ok(is_known(&notes, &small, 1), "nothing is left of a small space");
    is_int(notes.used, result->trials, "all of which was tried");
    simulated_close(&simulated);

    simulated_open(&simulated, arena, program_matmul(arena, TYPE_FLOAT, 64, 64, 64), target);
    simulated.busy = -1;
    notes.options.trials = 8;
    tune(arena, simulated.program, target, NULL, &simulated.toolchain, database, &notes.options);
    both[0] = (Program *)simulated.program;
    ok(!is_known(&notes, both, 1), "a search without its default is not known");
    simulated_close(&simulated);
    database_close(database);
}

/* The default that the static model chose before is not sought again. */
static void test_given_default(Arena *arena, const Program *program, const Target *target) {
    Simulated simulated;
    TuneOptions options = options_for(1);
    options.standard = static_choice(arena, program, target, EFFORT_FIXED, options.seed);
    simulated_open(&simulated, arena, program, target);
    TuneResult *result = tune(arena, program, target, NULL, &simulated.toolchain, NULL, &options);
    is_text(text_of(arena, result->schedule), text_of(arena, options.standard->schedule),
            "a default that is given is the one that is measured");
    ok(result->default_seconds == result->seconds && result->seconds > 0, "and what others are compared with");
    simulated_close(&simulated);
}

static int count_by(Arena *arena, Database *database, const Program *program, const Target *target,
                    const char *policy) {
    Record *records;
    int count = database_find(arena, database, task_hash(arena, program), database_target(target), 2, &records);
    int found = 0;
    for (int r = 0; r < count; r++)
        found += !strcmp(records[r].policy, policy);
    return found;
}

/* A cold search stands for itself: it measures no default, and goes on from what it found itself alone. */
static void test_cold(Arena *arena, const Program *program, const Target *target) {
    Simulated simulated;
    Database *database = open_database(arena, "cold.db");
    TuneOptions options = options_for(20);
    simulated_open(&simulated, arena, program, target);
    tune(arena, program, target, NULL, &simulated.toolchain, database, &options);
    is_int(count_by(arena, database, program, target, "default"), 1, "a search measures the default");
    simulated_close(&simulated);
    simulated_open(&simulated, arena, program, target);
    options.search = "anneal:batch=4,chains=8,steps=4,cold";
    options.cost_model = "xgboost:cold";
    options.seed = 8;
    options.trials = 12;
    options.standard = static_choice(arena, program, target, EFFORT_FIXED, options.seed);
    TuneResult *result = tune(arena, program, target, NULL, &simulated.toolchain, database, &options);
    ok(result->measured == 12 && result->seconds > 0, "a cold search takes nothing of it: %d measured",
       result->measured);
    ok(result->default_seconds == 0, "and measures no default");
    is_int(count_by(arena, database, program, target, options.search), 12, "what it proposed has its name");
    result = tune(arena, program, target, NULL, &simulated.toolchain, database, &options);
    ok(result->measured == 0 && result->from_database, "its own records count");
    options.cost_model = "xgboost";
    result = tune(arena, program, target, NULL, &simulated.toolchain, database, &options);
    is_int(result->measured, 12, "not with another model");
    options.seed = 9;
    result = tune(arena, program, target, NULL, &simulated.toolchain, database, &options);
    is_int(result->measured, 12, "nor with another seed");
    database_close(database);
    simulated_close(&simulated);
}

int main(void) {
    Arena *arena = arena_new();
    Target target = wide_target();
    const char *place = getenv("TMPDIR");
    folder = arena_printf(arena, "%s/tensorc-tune-XXXXXX", place && *place ? place : "/tmp");
    if (!mkdtemp(folder))
        return 1;
    Program *program = program_conv_chain(arena, TYPE_FLOAT, (ConvShape){1, 32, 28, 28, 48, 3, 3, 1, 1, 1});
    test_whole(arena, program, &target);
    test_same_again(arena, program, &target);
    test_interrupted(arena, program, &target);
    test_killed(arena, program, &target);
    for (int trial = 8; trial <= 20; trial += 12)
        test_killed_at(arena, program, &target, trial);
    test_disasters(arena, program, &target);
    test_slow_builds(arena, program, &target);
    test_exhausted(arena, &target);
    test_busy(arena, program, &target);
    test_old_failure(arena, program, &target);
    test_inputs(arena, program, &target);
    test_deaths(arena, program, &target);
    test_cut(arena, program, &target);
    test_broken(arena, program, &target);
    test_poisoned(arena, program, &target);
    test_race_without_default(arena, program, &target);
    test_slower_race(arena, program, &target);
    test_small_steps(arena, program_of_text(arena, three_steps, NULL, 0), &target);
    test_tables(arena, program_matmul(arena, TYPE_FLOAT, 256, 256, 256), &target);
    test_names(arena, &target);
    test_given_default(arena, program, &target);
    test_cold(arena, program, &target);
    test_notes(arena, program, &target);
    int status = system(arena_printf(arena, "rm -rf '%s'", folder));
    arena_free(arena);
    return status ? status : done_testing();
}
