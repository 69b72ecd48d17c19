/* plan.c - plans of functions, by choosing and by measuring, as the driver asks for them: on simulated toolchains. */
#include "autosched/autosched.h"
#include "lang/clock.h"
#include "tests/tap.h"
#include "tests/unit/programs.h"
#include "tests/unit/simulated.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Of tests/unit/schedules.h, whose random numbers are others. */
Program *program_of_text(Arena *arena, const char *text, const struct Binding *bindings, int count);

enum { FUNCTIONS = 2, MANY = 15, MOST_OPEN = 12, TRIALS = 20 };

/* What measures functions, and what was told of them. */
typedef struct Bench {
    TuneBench bench;
    Arena *arena;
    const PlanFunction *functions;
    Simulated simulated[MANY];
    Toolchain *lent[MANY][1];
    bool refused[MANY], for_good;
    int pauses[MANY]; /* of the measurements */
    double end; /* of all functions */
    bool early; /* a toolchain was asked for that ends before */
    int opened, closed, most_open, begun, ended, given[MANY], shown[MANY];
    const char *lonely; /* see Simulated */
    bool tasks_fail;    /* all candidates of tasks by themselves, which end their processes */
    LIST(Simulated *) tasks;
    int tasks_open;
    struct Bench *before; /* the one made before it */
} Bench;

static Bench *last_bench;

static Toolchain *const *open_simulated(void *context, int function, double end, const char **why, bool *transient) {
    Bench *bench = context;
    const PlanFunction *asked = &bench->functions[function];
    bench->early |= end < bench->end;
    if (bench->refused[function]) {
        *why = "it is refused";
        *transient = !bench->for_good;
        return NULL;
    }
    bench->opened++;
    int open = bench->opened - bench->closed;
    bench->most_open = open > bench->most_open ? open : bench->most_open;
    if (!bench->lent[function][0])
        simulated_open(&bench->simulated[function], bench->arena, asked->programs[0], asked->target);
    bench->simulated[function].lonely = bench->lonely;
    bench->simulated[function].pause = bench->pauses[function];
    bench->lent[function][0] = &bench->simulated[function].toolchain;
    return bench->lent[function];
}

static void close_simulated(void *context, Toolchain *const *toolchains) {
    (void)toolchains;
    ((Bench *)context)->closed++;
}

static const Toolchain *open_for_task(void *context, int function, Program *program, double end) {
    Bench *bench = context;
    Simulated *simulated = ARENA_NEW(bench->arena, Simulated);
    (void)end;
    simulated_open(simulated, bench->arena, program, bench->functions[function].target);
    simulated->lonely = bench->lonely;
    simulated->all_fail = simulated->deaths = bench->tasks_fail;
    list_push(bench->arena, &bench->tasks, simulated);
    bench->tasks_open++;
    return &simulated->toolchain;
}

static void close_for_task(void *context, const Toolchain *toolchain) {
    (void)toolchain;
    ((Bench *)context)->tasks_open--;
}

static void note_begin(void *context, int function, int trials, double end) {
    Bench *bench = context;
    (void)end;
    bench->begun++;
    bench->given[function] = trials;
}

static void note_progress(void *context, int function, int program, const TuneProgress *progress) {
    (void)program;
    (void)progress;
    ((Bench *)context)->shown[function]++;
}

static void note_end(void *context, int function, const FunctionTuning *tuning) {
    (void)function;
    (void)tuning;
    ((Bench *)context)->ended++;
}

static Bench *bench_new(Arena *arena, const PlanFunction *functions) {
    Bench *bench = ARENA_NEW(arena, Bench);
    bench->arena = arena;
    bench->functions = functions;
    bench->before = last_bench;
    last_bench = bench;
    bench->bench = (TuneBench){.context = bench,
                               .open = open_simulated,
                               .close = close_simulated,
                               .begin = note_begin,
                               .progress = note_progress,
                               .end = note_end};
    return bench;
}

static void close_all(void) {
    for (Bench *bench = last_bench; bench; bench = bench->before) {
        for (int f = 0; f < MANY; f++)
            simulated_close(&bench->simulated[f]);
        for (int t = 0; t < bench->tasks.count; t++)
            simulated_close(bench->tasks.items[t]);
    }
}

static const TuneOptions options = {
    .trials = TRIALS, .search = "anneal", .cost_model = "xgboost", .seed = 5, .maker = "a compiler"};

static const char *text_of(Arena *arena, const Plan *plan) {
    Text text = {.arena = arena};
    if (plan->schedule)
        schedule_print_statements(&text, plan->schedule);
    return text.text ? text.text : "";
}

static void same_plan(Arena *arena, const Plan *plan, const Plan *wanted, const char *name) {
    is_text(text_of(arena, plan), text_of(arena, wanted), "%s", name);
}

/* A block that leaves nothing open, records, the default, in this order. */
static void test_choose(Arena *arena, const PlanFunction *function, Database *database, const Plan *tuned) {
    Planner planner = {.arena = arena, .effort = EFFORT_MODEL, .seed = 7};
    Plan plan = autosched_choose(&planner, function);
    ok(plan.origin == PLAN_BY_DEFAULT && plan.nest && plan.program == function->programs[0],
       "without a block and records the default is chosen");
    Plan again = autosched_choose(&planner, function);
    is_int(planner.choices.count, 1, "which is made once");
    same_plan(arena, &again, &plan, "and is the same again");
    planner.database = database;
    Plan recorded = autosched_choose(&planner, function);
    ok(recorded.origin == PLAN_BY_DATABASE, "then a record");
    same_plan(arena, &recorded, tuned, "the best one");
    ok(strcmp(text_of(arena, tuned), text_of(arena, &plan)), "which is another schedule than the default");
    PlanFunction blocked = *function;
    blocked.user = plan.schedule;
    planner.effort = EFFORT_FIXED;
    Plan exact = autosched_choose(&planner, &blocked);
    ok(exact.origin == PLAN_BY_SOURCE, "a block without holes stands before all");
    same_plan(arena, &exact, &plan, "and nothing is added");
}

/* Trials are shared out, what was searched is known, and what is not measured has no plan. */
static void test_tune(Arena *arena, const PlanFunction *functions, Database *database) {
    Planner planner = {.arena = arena, .effort = EFFORT_MODEL, .seed = 7, .database = database};
    FunctionTuning tunings[FUNCTIONS];
    Bench *bench = bench_new(arena, functions);
    ok(autosched_tune(&planner, functions, FUNCTIONS, &options, 0, &bench->bench, tunings), "two functions are tuned");
    is_int(bench->given[0] + bench->given[1], TRIALS, "the trials are those of both");
    is_int(bench->simulated[0].measured + bench->simulated[1].measured, TRIALS, "and all are measured");
    ok(bench->shown[0] > 0 && bench->shown[1] > 0 && bench->begun == 2 && bench->ended == 2,
       "of both it is told how far they are");
    is_int(bench->closed, bench->opened, "what was lent is given back");
    for (int f = 0; f < FUNCTIONS; f++) {
        ok(tunings[f].plan.origin == PLAN_BY_TUNING && tunings[f].plan.nest, "function %d has a plan", f);
        const TuneResult *result = tunings[f].results[tunings[f].best];
        ok(result->seconds > 0 && result->seconds <= result->default_seconds, "which is not slower than the default");
    }
    bench = bench_new(arena, functions);
    FunctionTuning again[FUNCTIONS];
    autosched_tune(&planner, functions, FUNCTIONS, &options, 0, &bench->bench, again);
    ok(bench->opened == 0 && !again[0].results && again[0].plan.origin == PLAN_BY_TUNING, "again nothing is measured");
    for (int f = 0; f < FUNCTIONS; f++)
        same_plan(arena, &again[f].plan, &tunings[f].plan, "the plans are the same");
    test_choose(arena, &functions[0], database, &tunings[0].plan);
}

static void test_refused(Arena *arena, const PlanFunction *functions) {
    Planner planner = {.arena = arena, .effort = EFFORT_MODEL, .seed = 7};
    FunctionTuning tunings[FUNCTIONS] = {0};
    Bench *bench = bench_new(arena, functions);
    bench->refused[0] = true;
    TuneOptions one = options;
    one.maker = NULL;
    ok(autosched_tune(&planner, functions, FUNCTIONS, &one, 0, &bench->bench, tunings),
       "where a function cannot be measured this time");
    ok(!tunings[0].plan.program && tunings[0].transient, "it has no plan");
    is_int(bench->simulated[1].measured, TRIALS, "the other one has its trials");
    bench = bench_new(arena, functions);
    bench->refused[0] = bench->for_good = true;
    ok(!autosched_tune(&planner, functions, FUNCTIONS, &one, 0, &bench->bench, tunings) && bench->opened == 0,
       "one that never can ends the search");
    bench = bench_new(arena, functions);
    bench->refused[1] = bench->for_good = true;
    ok(!autosched_tune(&planner, functions, FUNCTIONS, &one, 0, &bench->bench, tunings), "wherever it stands");
    is_int(bench->closed, bench->opened, "what was lent is given back");
    ok(bench->simulated[0].measured <= 1, "before anything is searched: %d", bench->simulated[0].measured);
}

/* Two functions for so many seconds: whether one whose measurements take a 40th of them each leaves the other its part.
 */
static bool shares_time(Arena *arena, const PlanFunction *functions, double seconds) {
    Planner planner = {.arena = arena, .effort = EFFORT_MODEL, .seed = 7};
    FunctionTuning tunings[FUNCTIONS];
    Bench *bench = bench_new(arena, functions);
    TuneOptions given = options;
    given.trials = 100000;
    given.maker = NULL;
    given.cost_model = "static";
    bench->pauses[0] = (int)(1e6 * seconds / 40);
    bench->pauses[1] = (int)(1e6 * seconds / 400);
    bench->end = monotonic_seconds() + seconds;
    autosched_tune(&planner, functions, FUNCTIONS, &given, bench->end, &bench->bench, tunings);
    int slow = bench->simulated[0].measured, fast = bench->simulated[1].measured;
    printf("# %g s: %d and %d trials\n", seconds, slow, fast);
    return !bench->early && slow >= 2 && fast >= 4 * slow;
}

/* A busy machine gets more of it. */
static void test_unequal(Arena *arena, const PlanFunction *functions) {
    ok(shares_time(arena, functions, 5) || shares_time(arena, functions, 20) || shares_time(arena, functions, 60),
       "a function whose trials take long leaves the other one its part of the time");
}

/* More than may be open at once. */
static void test_many(Arena *arena, const Target *target, Database *database) {
    enum { ALL = 8 * MANY };
    Planner planner = {.arena = arena, .effort = EFFORT_MODEL, .seed = 7, .database = database};
    PlanFunction functions[MANY];
    FunctionTuning tunings[MANY];
    Program *programs[MANY];
    for (int f = 0; f < MANY; f++) {
        programs[f] = program_conv_chain(arena, TYPE_FLOAT, (ConvShape){1, 4 + f, 8, 8, 16, 3, 3, 1, 1, 1});
        functions[f] = (PlanFunction){.programs = &programs[f], .count = 1, .target = target};
    }
    Bench *bench = bench_new(arena, functions);
    TuneOptions given = options;
    given.trials = ALL;
    ok(autosched_tune(&planner, functions, MANY, &given, 0, &bench->bench, tunings), "%d functions are tuned", MANY);
    int measured = 0, better = 0;
    for (int f = 0; f < MANY; f++) {
        const TuneResult *result = tunings[f].results[tunings[f].best];
        measured += bench->simulated[f].measured;
        better += result->seconds > 0 && result->seconds <= result->default_seconds;
    }
    is_int(measured, ALL, "with all trials");
    is_int(better, MANY, "none is slower than its default");
    ok(bench->most_open <= MOST_OPEN && bench->opened > MANY, "at most %d at once have their toolchains: %d",
       MOST_OPEN, bench->most_open);
    is_int(bench->closed, bench->opened, "which are all given back");
    bench = bench_new(arena, functions);
    autosched_tune(&planner, functions, MANY, &given, 0, &bench->bench, tunings);
    is_int(bench->opened, 0, "again nothing is measured");
}

/* Functions of a file are cut otherwise where they are faster so; tasks that they share then are one. */
static void test_borders(Arena *arena, const Target *target) {
    static const char *const texts[FUNCTIONS] = {
        "def f(float(96, 96) x, float(96, 96) a, float(96) b) -> (y) {\n"
        "t(i, j) +=! x(i, r_k) * a(r_k, j)  y(i, j) = max(t(i, j) + b(j), 0) }",
        "def g(float(96, 96) p, float(96, 96) q) -> (r) { r(i, j) +=! p(i, r_k) * q(r_k, j) }"};
    Planner planner = {.arena = arena, .effort = EFFORT_MODEL, .seed = 7};
    PlanFunction functions[FUNCTIONS];
    FunctionTuning tunings[FUNCTIONS];
    Program *programs[FUNCTIONS];
    for (int f = 0; f < FUNCTIONS; f++) {
        programs[f] = program_of_text(arena, texts[f], NULL, 0);
        functions[f] = (PlanFunction){.programs = &programs[f], .count = 1, .target = target};
    }
    Bench *bench = bench_new(arena, functions);
    bench->bench.open_task = open_for_task;
    bench->bench.close_task = close_for_task;
    bench->lonely = "t";
    TuneOptions given = options;
    given.trials = 160;
    given.maker = NULL;
    ok(autosched_tune(&planner, functions, FUNCTIONS, &given, 0, &bench->bench, tunings), "two functions are tuned");
    const TuneResult *result = tunings[0].results[0], *other = tunings[1].results[0];
    ok(result->borders.count == 1 && result->borders.items[0].taken && result->tasks.count == 2,
       "one of them is cut where the rules set no border");
    ok(other->borders.count == 0 && other->tasks.count == 0, "the other one cannot be cut");
    ok(result->seconds < 0.5 * result->default_seconds && tunings[0].plan.nest, "its plan is %.2f times as fast",
       result->default_seconds / result->seconds);
    int measured = 0;
    for (int t = 0; t < bench->tasks.count; t++)
        measured += bench->tasks.items[t]->measured;
    is_int(measured + bench->simulated[0].measured + bench->simulated[1].measured, given.trials,
           "the trials are those that were given");
    ok(bench->closed == bench->opened && bench->tasks_open == 0, "what was lent is given back");
}

/* What ended the processes of tasks is said of their function. */
static void test_failing_tasks(Arena *arena, const Target *target) {
    Planner planner = {.arena = arena, .effort = EFFORT_MODEL, .seed = 7};
    Program *program = program_of_text(arena,
                                       "def f(float(48, 48) x, float(48, 48) a, float(48, 48) b) -> (y) {\n"
                                       "t(i, j) +=! x(i, r_k) * a(r_k, j)  y(i, j) +=! t(i, r_k) * b(r_k, j) }",
                                       NULL, 0);
    PlanFunction function = {.programs = &program, .count = 1, .target = target};
    FunctionTuning tuning;
    Bench *bench = bench_new(arena, &function);
    bench->bench.open_task = open_for_task;
    bench->bench.close_task = close_for_task;
    bench->tasks_fail = true;
    TuneOptions given = options;
    given.trials = 40;
    given.maker = NULL;
    autosched_tune(&planner, &function, 1, &given, 0, &bench->bench, &tuning);
    const TuneResult *result = tuning.results[0];
    ok(bench->tasks.count > 0 && result->failures.ended > 0 && result->failures.ended == result->failures.unsettled,
       "%d trials of tasks ended their processes, %d had no result", result->failures.ended,
       result->failures.unsettled);
    is_text(result->failures.ended_why ? result->failures.ended_why : "", "it failed", "which is said of the function");
}

int main(void) {
    char path[] = "/tmp/tensorc-plan-XXXXXX";
    const char *folder = mkdtemp(path);
    Arena *arena = arena_new();
    Target target = *target_find("x86-64-v4");
    target.threads = 2;
    Program *programs[] = {program_conv_chain(arena, TYPE_FLOAT, (ConvShape){1, 32, 28, 28, 48, 3, 3, 1, 1, 1}),
                           program_conv_chain(arena, TYPE_FLOAT, (ConvShape){1, 16, 14, 14, 32, 3, 3, 1, 1, 1})};
    PlanFunction functions[FUNCTIONS];
    for (int f = 0; f < FUNCTIONS; f++)
        functions[f] = (PlanFunction){.programs = &programs[f], .count = 1, .target = &target};
    Database *database = database_for_test(arena, arena_printf(arena, "%s/plan.db", folder));
    test_tune(arena, functions, database);
    test_refused(arena, functions);
    test_unequal(arena, functions);
    test_many(arena, &target, database);
    test_borders(arena, &target);
    test_failing_tasks(arena, &target);
    close_all();
    database_close(database);
    if (system(arena_printf(arena, "rm -rf '%s'", folder)))
        diag_line("%s is left", folder);
    arena_free(arena);
    return done_testing();
}
