/* contest.c - searches over several algorithms of a function, which are the same program at several simulated speeds:
 * who has the trials, and who wins.
 */
#include "autosched/autosched.h"
#include "lang/clock.h"
#include "tests/tap.h"
#include "tests/unit/programs.h"
#include "tests/unit/simulated.h"

enum { ALGORITHMS = 3 };

typedef struct Contest {
    Simulated simulated[ALGORITHMS];
    Tuner *tuners[ALGORITHMS];
    TuneOptions options;
} Contest;

static Contest *contest_new(Arena *arena, const Program *program, const Target *target, const double *slower) {
    Contest *contest = ARENA_NEW(arena, Contest);
    contest->options = (TuneOptions){.search = "anneal", .cost_model = "xgboost", .seed = 7, .threads = 2};
    for (int i = 0; i < ALGORITHMS; i++) {
        Simulated *simulated = &contest->simulated[i];
        simulated_open(simulated, arena, program, target);
        simulated->slower = slower[i];
        contest->tuners[i] = tuner_new(arena, program, target, NULL, &simulated->toolchain, NULL, &contest->options);
    }
    return contest;
}

static void contest_run(Contest *contest, int trials) {
    bool compared = false;
    Tuner *next;
    int until;
    while ((next = tuners_next(contest->tuners, ALGORITHMS, trials, &until))) {
        if (until > 1 && !compared)
            tuners_compare(contest->tuners, ALGORITHMS, 0);
        else
            tuner_search(next, until, 0);
        compared |= until > 1;
    }
}

/* Ends it. Returns the fastest. */
static int contest_winner(Contest *contest) {
    int winner = 0;
    double best = HUGE_VAL;
    tuners_race(contest->tuners, ALGORITHMS, 0);
    for (int i = 0; i < ALGORITHMS; i++) {
        TuneResult *result = tuner_finish(contest->tuners[i]);
        if (result->seconds < best)
            winner = i;
        best = fmin(best, result->seconds);
        is_int(contest->simulated[i].built, contest->simulated[i].released, "every candidate of %d is released", i);
        simulated_close(&contest->simulated[i]);
    }
    return winner;
}

static void test_contest(Arena *arena, const Program *program, const Target *target) {
    Contest *contest = contest_new(arena, program, target, (double[]){1, 0.1, 0.3});
    contest_run(contest, 60);
    is_int(tuner_trials(contest->tuners[0]), 1, "what is slow by far has its default measured alone");
    is_int(tuner_trials(contest->tuners[2]), 1, "each of those");
    is_int(tuner_trials(contest->tuners[1]), 58, "all other trials are the fastest one's");
    is_int(contest->simulated[0].raced, 0, "and what is slow by far is not measured again");
    is_int(contest_winner(contest), 1, "which wins");

    contest = contest_new(arena, program, target, (double[]){3, 1, 0.95});
    contest_run(contest, 120);
    int trials = tuner_trials(contest->tuners[1]) + tuner_trials(contest->tuners[2]);
    ok(tuner_trials(contest->tuners[1]) > 16 && tuner_trials(contest->tuners[2]) > 16 && trials == 119,
       "two that are near each other are both searched: %d, %d", tuner_trials(contest->tuners[1]),
       tuner_trials(contest->tuners[2]));
    contest_winner(contest);

    contest = contest_new(arena, program, target, (double[]){1, 0.3, 2});
    contest->simulated[1].first = 6;
    contest_run(contest, 40);
    is_int(tuner_trials(contest->tuners[1]), 38, "a default that met a slow second has its chance");
    is_int(contest_winner(contest), 1, "and wins");

    contest = contest_new(arena, program, target, (double[]){1, 0.5, 2});
    tuner_search(contest->tuners[0], 40, 0);
    contest_run(contest, 40);
    ok(tuner_trials(contest->tuners[1]) >= 25, "searches of what is written do not count for the others: %d",
       tuner_trials(contest->tuners[1]));
    contest_winner(contest);

    contest = contest_new(arena, program, target, (double[]){0.3, 1, 1.2});
    tuner_search(contest->tuners[0], 40, 0);
    contest_run(contest, 40);
    ok(tuner_trials(contest->tuners[1]) > 1, "where the best has had all trials the next goes on: %d",
       tuner_trials(contest->tuners[1]));
    contest_winner(contest);
}

/* Where what is written is the best, its trials count like all others; again when they are found in the database. */
static void test_contest_of_written(Arena *arena, const Program *program, const Target *target) {
    Contest *contest = contest_new(arena, program, target, (double[]){0.3, 1, 1.2});
    int own[ALGORITHMS], sum = 0;
    contest_run(contest, 40);
    for (int i = 0; i < ALGORITHMS; i++)
        sum += own[i] = tuner_trials(contest->tuners[i]);
    is_int(sum, 40, "so many trials are made as are asked for");
    ok(own[0] > 10, "most of them of what is written: %d", own[0]);
    contest_winner(contest);
}

/* The gain over the default of a slower algorithm is told by the same race. */
static void test_default_of_slower(Arena *arena, const Program *program, const Target *target) {
    Contest *contest = contest_new(arena, program, target, (double[]){2, 1, 3});
    contest_run(contest, 30);
    tuners_race(contest->tuners, ALGORITHMS, 0);
    TuneResult *slow = tuner_finish(contest->tuners[0]), *fast = tuner_finish(contest->tuners[1]);
    ok(slow->default_raced && fast->raced && slow->seconds > fast->seconds,
       "the default of a slower algorithm is in the race: %g, %g", slow->default_seconds, fast->seconds);
    tuner_close(contest->tuners[2]);
    for (int i = 0; i < ALGORITHMS; i++)
        simulated_close(&contest->simulated[i]);
}

static void test_contest_without_time(Arena *arena, const Program *program, const Target *target) {
    Contest *contest = contest_new(arena, program, target, (double[]){1, 0.5, 2});
    tuner_search(contest->tuners[1], 1, monotonic_seconds() - 1);
    int until;
    ok(!tuner_knows_default(contest->tuners[1]), "without time the default stays unknown");
    ok(tuners_next(contest->tuners, ALGORITHMS, 40, &until) == contest->tuners[0], "the others are next");
    for (int i = 0; i < ALGORITHMS; i++)
        tuner_search(contest->tuners[i], 1, monotonic_seconds() - 1);
    ok(!tuners_next(contest->tuners, ALGORITHMS, 40, &until), "none of them goes on");
    for (int i = 0; i < ALGORITHMS; i++)
        tuner_close(contest->tuners[i]);
}

/* A race that there is no time for is none. */
static void test_race_without_time(Arena *arena, const Program *program, const Target *target) {
    Contest *contest = contest_new(arena, program, target, (double[]){1, 0.5, 2});
    contest_run(contest, 40);
    int before = 0, after = 0;
    for (int i = 0; i < ALGORITHMS; i++)
        before += contest->simulated[i].raced;
    tuners_compare(contest->tuners, ALGORITHMS, monotonic_seconds() - 1);
    tuners_race(contest->tuners, ALGORITHMS, monotonic_seconds() - 1);
    for (int i = 0; i < ALGORITHMS; i++)
        after += contest->simulated[i].raced;
    is_int(after, before, "what there is no time for is not raced");
    is_int(contest_winner(contest), 1, "the fastest is known all the same");
}

static void test_alone(Arena *arena, const Program *program, const Target *target) {
    Contest *contest = contest_new(arena, program, target, (double[]){1, 1, 1});
    int until = 0;
    ok(tuners_next(contest->tuners, 1, 40, &until) == contest->tuners[0] && until == 1, "the default comes first");
    tuner_search(contest->tuners[0], 1, 0);
    ok(tuners_next(contest->tuners, 1, 40, &until) && until == 40, "then one alone takes no turns: %d", until);
    contest_winner(contest);
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
