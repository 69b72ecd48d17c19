/* looks.c - times of tunings on a simulated machine that is disturbed, slower for moments, or slower for long. */
#include "autosched/autosched.h"
#include "tests/tap.h"
#include "tests/unit/programs.h"
#include "tests/unit/simulated.h"

#include <stdlib.h>

static TuneOptions options_for(int trials) {
    return (TuneOptions){.trials = trials, .search = "anneal", .cost_model = "static", .seed = 7, .threads = 2};
}

static int count_records(Arena *arena, Database *database, const Program *program, const Target *target) {
    Record *records;
    return database_find(arena, database, task_hash(arena, program), database_target(target), 2, &records);
}

/* A time that other processes disturbed is measured again, then given up, and never recorded. */
static void test_disturbed(Arena *arena, const Program *program, const Target *target) {
    for (int always = 0; always < 2; always++) {
        Simulated simulated;
        Database *database = database_for_test(arena, ":memory:");
        TuneOptions options = options_for(12);
        simulated_open(&simulated, arena, program, target);
        simulated.disturbed = always ? -1 : 1;
        TuneResult *result = tune(arena, program, target, NULL, &simulated.toolchain, database, &options);
        is_int(result->trials, 12, "%s", always ? "all but the default are always disturbed" : "some are once");
        is_int(count_records(arena, database, program, target), always ? 1 : 12, "what is not disturbed is recorded");
        is_int(result->failures.unsettled, always ? 11 : 0, "what always is has no result");
        is_int(count_failures(arena, database, program, target), 0, "which is no failure of the schedule");
        Record *records;
        int trusted = 0;
        int count = database_find(arena, database, task_hash(arena, program), database_target(target), 2, &records);
        for (int r = 0; r < count; r++)
            trusted += records[r].disturbance.undisturbed == 3;
        is_int(trusted, count, "and no record is of a time that was disturbed");
        is_int(simulated.built, simulated.released, "every candidate is released");
        database_close(database);
        simulated_close(&simulated);
    }
}

/* The records of 49 trials of a random search, the fastest first. */
static int records_of(Arena *arena, const Program *program, const Target *target, Simulated *simulated,
                      const char *name, Record **records) {
    Database *database = database_for_test(arena, ":memory:");
    TuneOptions options = options_for(49);
    options.search = "random";
    tune(arena, program, target, NULL, &simulated->toolchain, database, &options);
    int count = database_find(arena, database, task_hash(arena, program), database_target(target), 2, records);
    is_int(simulated->built, simulated->released, "%s: every candidate is released", name);
    database_close(database);
    simulated_close(simulated);
    return count;
}

static bool same_times(const Record *a, const Record *b, int count) {
    for (int r = 0; r < count; r++)
        if (fabs(a[r].seconds / b[r].seconds - 1) > 1e-6 || a[r].outcome != b[r].outcome)
            return false;
    return true;
}

/* Times are what they are on a machine at rest, whether it is slow for moments, for a long time, or only seems so. */
static void test_looks(Arena *arena, const Program *program, const Target *target) {
    static const struct {
        int burst, slow_from;
        double reference;
        const char *when;
    } rows[] = {{7, 0, 0, "for moments"}, {0, 17, 0, "from some batch on"}, {0, 17, 1.4, "no more than it seems"}};
    Simulated simulated;
    Record *steady, *records;
    simulated_open(&simulated, arena, program, target);
    int count = records_of(arena, program, target, &simulated, "at rest", &steady), related = 0;
    for (int r = 0; r < count; r++)
        related += steady[r].reference_seconds > 0;
    ok(count == 49 && related >= 48, "records tell what the reference took: %d of %d", related, count);
    is_int(simulated.looks, 49 + 2 * 3, "each schedule is measured twice, the reference twice a batch");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        simulated_open(&simulated, arena, program, target);
        simulated.burst = rows[i].burst;
        simulated.slow_from = rows[i].slow_from;
        simulated.reference = rows[i].reference;
        int found = records_of(arena, program, target, &simulated, rows[i].when, &records);
        ok(found == count && same_times(steady, records, count), "the machine is slower, %s: the times are the same",
           rows[i].when);
    }
    simulated_open(&simulated, arena, program, target);
    simulated.breaks = true;
    count = records_of(arena, program, target, &simulated, "breaks", &records);
    int wrong = 0;
    for (int r = 0; r < count; r++)
        wrong += records[r].outcome == OUTCOME_WRONG && records[r].seconds == 0;
    ok(count == 49 && wrong == 48, "what is wrong the second time is wrong: %d of %d", wrong, count);
}

int main(void) {
    Arena *arena = arena_new();
    Target target = *target_find("x86-64-v4");
    target.threads = 2;
    Program *program = program_conv_chain(arena, TYPE_FLOAT, (ConvShape){1, 32, 28, 28, 48, 3, 3, 1, 1, 1});
    test_disturbed(arena, program, &target);
    test_looks(arena, program, &target);
    arena_free(arena);
    return done_testing();
}
