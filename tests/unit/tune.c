/* tune.c - tunings against a simulated toolchain: what is found, and what is not measured again. */
#include "tests/tap.h"
#include "tests/unit/programs.h"
#include "tests/unit/tunings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of tests/unit/schedules.h, whose random numbers are others. */
Program *program_of_text(Arena *arena, const char *text, const struct Binding *bindings, int count);

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

/* Whether all records of what was not in a race are slower than its winner, and than simulated by one factor. */
static bool outside_by_one_factor(Arena *arena, const Program *program, const Target *target, Database *database,
                                  Simulated *simulated, double winner) {
    Record *records;
    const Task *task = task_new(arena, program, NULL);
    int count = database_find(arena, database, task->key, database_target(target), 2, &records), outside = 0;
    double factor = 0;
    for (int r = 0; r < count; r++) {
        if (records[r].repeats == SIMULATED_RACE_CALLS)
            continue;
        const Schedule *schedule = task_schedule(arena, task, target, records[r].schedule);
        double now = records[r].seconds / simulated_seconds(simulated, schedule);
        factor = outside++ ? factor : now;
        if (records[r].seconds <= winner || fabs(now / factor - 1) > 1e-9)
            return false;
    }
    return outside > 20;
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
    ok(outside_by_one_factor(arena, program, target, database, &simulated, result->seconds),
       "times of what was not in the race keep their ratios");
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
    if (!tunings_begin(arena))
        return 1;
    Program *program = program_conv_chain(arena, TYPE_FLOAT, (ConvShape){1, 32, 28, 28, 48, 3, 3, 1, 1, 1});
    test_whole(arena, program, &target);
    test_same_again(arena, program, &target);
    test_exhausted(arena, &target);
    test_inputs(arena, program, &target);
    test_race_without_default(arena, program, &target);
    test_slower_race(arena, program, &target);
    test_small_steps(arena, program_of_text(arena, three_steps, NULL, 0), &target);
    test_tables(arena, program_matmul(arena, TYPE_FLOAT, 256, 256, 256), &target);
    test_names(arena, &target);
    test_given_default(arena, program, &target);
    test_cold(arena, program, &target);
    test_notes(arena, program, &target);
    tunings_end();
    arena_free(arena);
    return done_testing();
}
