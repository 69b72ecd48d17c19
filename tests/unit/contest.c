/* contest.c - the contest of several algorithms of a function, as -O tune holds it: the same program at several
 * simulated speeds. Who has the trials, and who wins.
 */
#include "autosched/contest.h"
#include "lang/clock.h"
#include "tests/tap.h"
#include "tests/unit/programs.h"
#include "tests/unit/simulated.h"

enum { ALGORITHMS = 3 };

/* A contest, and all that it needs. */
typedef struct Held {
    Contest contest;
    ContestFile file;
    Planner planner;
    TuneOptions options;
    TuneBench bench;
    PlanFunction function;
    FunctionTuning tuning;
    Program *programs[ALGORITHMS];
    Simulated simulated[ALGORITHMS];
    Toolchain *lent[ALGORITHMS];
    int closed;
} Held;

static Toolchain *const *lend(void *context, int function, double end, const char **why, bool *transient) {
    (void)function, (void)end, (void)why, (void)transient;
    return ((Held *)context)->lent;
}

static void take_back(void *context, Toolchain *const *toolchains) {
    ((Held *)context)->closed += toolchains == ((Held *)context)->lent;
}

static Held *contest_new(Arena *arena, Program *program, const Target *target, const double *slower) {
    Held *held = ARENA_NEW(arena, Held);
    for (int i = 0; i < ALGORITHMS; i++) {
        Simulated *simulated = &held->simulated[i];
        simulated_open(simulated, arena, program, target);
        simulated->slower = slower[i];
        held->lent[i] = &simulated->toolchain;
        held->programs[i] = program;
    }
    held->options = (TuneOptions){.search = "anneal", .cost_model = "xgboost", .seed = 7};
    held->planner = (Planner){.arena = arena, .effort = EFFORT_MODEL, .seed = 7};
    held->bench = (TuneBench){.context = held, .open = lend, .close = take_back};
    held->function = (PlanFunction){.programs = held->programs, .count = ALGORITHMS, .target = target};
    held->file = (ContestFile){.planner = &held->planner, .options = &held->options, .bench = &held->bench};
    held->contest = (Contest){.file = &held->file, .function = &held->function, .tuning = &held->tuning};
    if (!contest_open(&held->contest))
        diag_line("the contest did not open");
    return held;
}

static void contest_run(Held *held, int trials) {
    Arena *arena = held->planner.arena;
    FunctionSearch *search = ARENA_NEW(arena, FunctionSearch);
    *search = (FunctionSearch){
        .tuners = held->contest.tuners, .count = ALGORITHMS, .preferred = held->contest.preferred, .trials = trials};
    contest_begin(&held->contest);
    together_search(together_new(arena, &held->options, NULL, search, 1), trials, 0);
    contest_race(&held->contest);
}

static int trials_of(const Held *held, int algorithm) {
    return tuner_trials(held->contest.tuners[algorithm]);
}

static void close_all(Held *held) {
    for (int i = 0; i < ALGORITHMS; i++)
        simulated_close(&held->simulated[i]);
}

/* Ends it. Returns the fastest. */
static int contest_winner(Held *held) {
    contest_end(&held->contest);
    for (int i = 0; i < ALGORITHMS; i++)
        is_int(held->simulated[i].built, held->simulated[i].released, "every candidate of %d is released", i);
    is_int(held->closed, 1, "what was lent is given back");
    ok(held->tuning.plan.nest && held->tuning.plan.number == held->tuning.best, "the plan is of the fastest");
    close_all(held);
    return held->tuning.best;
}

static void test_contest(Arena *arena, Program *program, const Target *target) {
    Held *held = contest_new(arena, program, target, (double[]){1, 0.1, 0.3});
    contest_run(held, 60);
    is_int(trials_of(held, 0), 1, "what is slow by far has its default measured alone");
    is_int(trials_of(held, 2), 1, "each of those");
    is_int(trials_of(held, 1), 58, "all other trials are the fastest one's");
    is_int(held->simulated[0].raced, 0, "and what is slow by far is not measured again");
    is_int(contest_winner(held), 1, "which wins");

    held = contest_new(arena, program, target, (double[]){3, 1, 0.95});
    contest_run(held, 120);
    int trials = trials_of(held, 1) + trials_of(held, 2);
    ok(trials_of(held, 1) > 16 && trials_of(held, 2) > 16 && trials == 119,
       "two that are near each other are both searched: %d, %d", trials_of(held, 1),
       trials_of(held, 2));
    contest_winner(held);

    held = contest_new(arena, program, target, (double[]){1, 0.3, 2});
    held->simulated[1].first = 6;
    contest_run(held, 40);
    is_int(trials_of(held, 1), 38, "a default that met a slow second has its chance");
    is_int(contest_winner(held), 1, "and wins");

    held = contest_new(arena, program, target, (double[]){1, 0.5, 2});
    tuner_search(held->contest.tuners[0], 40, 0);
    contest_run(held, 40);
    ok(trials_of(held, 1) >= 25, "searches of what is written do not count for the others: %d",
       trials_of(held, 1));
    contest_winner(held);

    held = contest_new(arena, program, target, (double[]){0.3, 1, 1.2});
    tuner_search(held->contest.tuners[0], 40, 0);
    contest_run(held, 40);
    ok(trials_of(held, 1) > 1, "where the best has had all trials the next goes on: %d",
       trials_of(held, 1));
    contest_winner(held);
}

/* Where what is written is the best, its trials count like all others; again when they are found in the database. */
static void test_contest_of_written(Arena *arena, Program *program, const Target *target) {
    Held *held = contest_new(arena, program, target, (double[]){0.3, 1, 1.2});
    int own[ALGORITHMS], sum = 0;
    contest_run(held, 40);
    for (int i = 0; i < ALGORITHMS; i++)
        sum += own[i] = trials_of(held, i);
    is_int(sum, 40, "so many trials are made as are asked for");
    ok(own[0] > 10, "most of them of what is written: %d", own[0]);
    contest_winner(held);
}

/* The gain over the default of a slower algorithm is told by the same race. */
static void test_default_of_slower(Arena *arena, Program *program, const Target *target) {
    Held *held = contest_new(arena, program, target, (double[]){2, 1, 3});
    contest_run(held, 30);
    contest_end(&held->contest);
    const TuneResult *slow = held->tuning.results[0], *fast = held->tuning.results[1];
    ok(slow->default_raced && fast->raced && slow->seconds > fast->seconds,
       "the default of a slower algorithm is in the race: %g, %g", slow->default_seconds, fast->seconds);
    close_all(held);
}

static void test_contest_without_time(Arena *arena, Program *program, const Target *target) {
    Held *held = contest_new(arena, program, target, (double[]){1, 0.5, 2});
    tuner_search(held->contest.tuners[1], 1, monotonic_seconds() - 1);
    int until;
    ok(!tuner_knows_default(held->contest.tuners[1]), "without time the default stays unknown");
    ok(tuners_next(held->contest.tuners, ALGORITHMS, 40, &until) == held->contest.tuners[0], "the others are next");
    for (int i = 0; i < ALGORITHMS; i++)
        tuner_search(held->contest.tuners[i], 1, monotonic_seconds() - 1);
    ok(!tuners_next(held->contest.tuners, ALGORITHMS, 40, &until), "none of them goes on");
    for (int i = 0; i < ALGORITHMS; i++)
        tuner_close(held->contest.tuners[i]);
}

static int raced(const Held *held) {
    int sum = 0;
    for (int i = 0; i < ALGORITHMS; i++)
        sum += held->simulated[i].raced;
    return sum;
}

/* A race that there is no time for is none. */
static void test_race_without_time(Arena *arena, Program *program, const Target *target) {
    Held *held = contest_new(arena, program, target, (double[]){9, 0.5, 0.45});
    for (int i = 0; i < ALGORITHMS; i++)
        tuner_search(held->contest.tuners[i], 1, 0);
    tuners_compare(held->contest.tuners, ALGORITHMS, monotonic_seconds() - 1);
    is_int(raced(held), 0, "defaults that there is no time for are not compared");
    tuners_compare(held->contest.tuners, ALGORITHMS, 0);
    int before = raced(held);
    ok(before > 0, "with time they are: %d", before);
    held->contest.end = monotonic_seconds() - 1;
    contest_run(held, 40);
    is_int(held->simulated[0].raced, 0, "the slow one is not");
    is_int(raced(held), 2 * before, "the others are compared by the contest, and not raced where there is no time");
    is_int(contest_winner(held), 2, "the fastest is known all the same");
}

static void test_alone(Arena *arena, Program *program, const Target *target) {
    Held *held = contest_new(arena, program, target, (double[]){1, 1, 1});
    int until = 0;
    ok(tuners_next(held->contest.tuners, 1, 40, &until) == held->contest.tuners[0] && until == 1,
       "the default comes first");
    tuner_search(held->contest.tuners[0], 1, 0);
    ok(tuners_next(held->contest.tuners, 1, 40, &until) && until == 40, "then one alone takes no turns: %d", until);
    contest_winner(held);
}

int main(void) {
    Arena *arena = arena_new();
    Target target = *target_find("x86-64-v4");
    target.threads = 2;
    Program *program = program_conv_chain(arena, TYPE_FLOAT, (ConvShape){1, 32, 28, 28, 48, 3, 3, 1, 1, 1});
    test_contest(arena, program, &target);
    test_contest_of_written(arena, program, &target);
    test_contest_without_time(arena, program, &target);
    test_race_without_time(arena, program, &target);
    test_default_of_slower(arena, program, &target);
    test_alone(arena, program, &target);
    arena_free(arena);
    return done_testing();
}
