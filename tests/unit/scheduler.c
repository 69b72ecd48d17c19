/* scheduler.c - the scheduler of tasks, with simulated ones: curves of the best time after so many units. */
#include "autosched/search/scheduler.h"
#include "tests/tap.h"

#include <math.h>
#include <string.h>

/* The best time falls from start towards least, by a part of the rest in each unit. */
typedef struct Curve {
    double start, least, part;
} Curve;

enum { MOST = 8 };

static double best_after(const Curve *curve, int units) {
    return curve->least + (curve->start - curve->least) * pow(1 - curve->part, units);
}

typedef struct Run {
    int units[MOST], spent;
    double cost; /* of all functions together at the end */
    bool ended;  /* no task was worth another unit */
} Run;

/* Spends up to `budget` units. */
static Run run(Arena *arena, const char *policy, const Curve *curves, const SchedulerTask *tasks, int count,
               const SchedulerFunction *functions, int function_count, int budget) {
    Run result = {0};
    Scheduler *scheduler = scheduler_open(arena, policy, tasks, count, functions, function_count, 1);
    for (; result.spent < budget; result.spent++) {
        int task = scheduler_next(scheduler);
        result.ended = task < 0;
        if (result.ended)
            break;
        scheduler_tell(scheduler, task, best_after(&curves[task], ++result.units[task]), 1);
    }
    for (int f = 0; f < function_count; f++)
        for (int t = 0; t < count; t++)
            result.cost += functions[f].weights[t] * best_after(&curves[t], result.units[t]);
    return result;
}

static const double ones[] = {1, 1, 1, 1}, first[] = {1, 0}, second[] = {0, 1};
static const SchedulerFunction together = {ones, 0};

static void test_pair(Arena *arena) {
    static const Curve curves[] = {{100, 10, 0.05}, {1, 0.5, 0.5}};
    static const SchedulerTask tasks[] = {{1e6, 0}, {1e6, 1}};
    Run turns = run(arena, "round-robin", curves, tasks, 2, &together, 1, 40);
    Run gradient = run(arena, "gradient", curves, tasks, 2, &together, 1, 40);
    ok(turns.units[0] == 20 && turns.units[1] == 20, "in turn each task gets as much");
    ok(gradient.cost < 0.75 * turns.cost, "of an unequal pair the gradient gains more: %.1f against %.1f seconds",
       gradient.cost, turns.cost);
    ok(gradient.units[1] >= 1 && gradient.units[0] > 30, "each is tried, the slow one gets most: %d and %d units",
       gradient.units[0], gradient.units[1]);
}

/* What appears four times counts four times. */
static void test_weights(Arena *arena) {
    static const Curve curves[] = {{10, 5, 0.1}, {10, 5, 0.1}};
    static const SchedulerTask tasks[] = {{1e6, 0}, {1e6, 1}};
    static const double weights[] = {1, 4};
    const SchedulerFunction function = {weights, 0};
    Run gradient = run(arena, "gradient:eps=0", curves, tasks, 2, &function, 1, 40);
    ok(gradient.units[1] > 2 * gradient.units[0], "a task that appears four times gets more: %d against %d units",
       gradient.units[1], gradient.units[0]);
}

/* f2: a function that is fast enough gets nothing; if all are, nothing is left to do. */
static void test_latency(Arena *arena) {
    static const Curve curves[] = {{1, 0.5, 0.2}, {30, 3, 0.2}};
    static const SchedulerTask tasks[] = {{1e6, 0}, {1e6, 1}};
    static const SchedulerFunction functions[] = {{first, 0}, {second, 0}};
    Run one = run(arena, "gradient:eps=0,objective=f2,latency=5", curves, tasks, 2, functions, 2, 12);
    ok(one.units[0] == 1 && one.units[1] == 11 && !one.ended,
       "f2: what is fast enough gets no more than its first unit");
    Run all = run(arena, "gradient:eps=0,objective=f2,latency=5", curves, tasks, 2, functions, 2, 1000);
    ok(all.ended && best_after(&curves[1], all.units[1]) <= 5 && best_after(&curves[1], all.units[1] - 1) > 5,
       "and the search ends as all are: after %d units", all.spent);
    Run sum = run(arena, "gradient:eps=0,objective=f1", curves, tasks, 2, functions, 2, 1000);
    ok(!sum.ended && sum.units[0] > 1, "f1 goes on");
}

/* f3: a function that takes a hundred times as long deserves no more. */
static void test_speedups(Arena *arena) {
    static const Curve curves[] = {{1, 0.5, 0.1}, {100, 50, 0.1}};
    static const SchedulerTask tasks[] = {{1e6, 0}, {1e6, 1}};
    static const SchedulerFunction functions[] = {{first, 1}, {second, 100}};
    Run sum = run(arena, "gradient:eps=0,objective=f1", curves, tasks, 2, functions, 2, 40);
    Run mean = run(arena, "gradient:eps=0,objective=f3", curves, tasks, 2, functions, 2, 40);
    ok(sum.units[0] < 8 && mean.units[0] >= 18 && mean.units[0] <= 22,
       "f3: the short function gets %d of 40 units, not %d", mean.units[0], sum.units[0]);
}

/* f4: a task that gains nothing for some units stops. */
static void test_stopping(Arena *arena) {
    static const Curve curves[] = {{100, 100, 0}, {1, 0.5, 0.3}};
    static const SchedulerTask tasks[] = {{1e6, 0}, {1e6, 1}};
    Run early = run(arena, "gradient:eps=0,objective=f4,patience=4", curves, tasks, 2, &together, 1, 60);
    ok(early.units[0] == 5, "f4: a task that gains nothing stops after %d units", early.units[0]);
    Run sum = run(arena, "gradient:eps=0,objective=f1,alpha=0", curves, tasks, 2, &together, 1, 60);
    ok(sum.units[0] > 20, "f1 gives it %d", sum.units[0]);
    static const Curve flat[] = {{100, 100, 0}, {1, 1, 0}};
    Run none = run(arena, "gradient:eps=0,objective=f4,patience=4", flat, tasks, 2, &together, 1, 60);
    ok(none.ended && none.spent == 10, "and the search ends as all stop: after %d units", none.spent);
}

/* A task that is far slower than a similar one is expected to gain. */
static void test_similar(Arena *arena) {
    static const Curve curves[] = {{10, 9, 0.1}, {1, 0.9, 0.1}};
    static const SchedulerTask apart[] = {{1e6, 0}, {1e6, 1}}, alike[] = {{1e6, 0}, {1e6, 0}};
    static const double weights[] = {1, 10};
    const SchedulerFunction function = {weights, 0};
    Run without = run(arena, "gradient:eps=0", curves, apart, 2, &function, 1, 40);
    Run with = run(arena, "gradient:eps=0", curves, alike, 2, &function, 1, 40);
    ok(with.units[0] > without.units[0] + 5, "a slow task gets more beside a fast one of its kind: %d, else %d units",
       with.units[0], without.units[0]);
    Run large = run(arena, "gradient:eps=0,beta=1000", curves, alike, 2, &function, 1, 40);
    is_int(large.units[0], without.units[0], "with a large beta kinds make no difference");
}

/* A large alpha looks back, as far as the window. */
static void test_backward(Arena *arena) {
    static const Curve curves[] = {{3, 2.9, 0.9}, {2, 1, 0.05}};
    static const SchedulerTask tasks[] = {{1e6, 0}, {1e6, 1}};
    Run trusting = run(arena, "gradient:eps=0,alpha=0", curves, tasks, 2, &together, 1, 40);
    Run looking = run(arena, "gradient:eps=0,alpha=0.9,window=2", curves, tasks, 2, &together, 1, 40);
    ok(looking.units[1] > trusting.units[1] + 5, "looking back leaves what gains no more: %d, else %d units",
       looking.units[1], trusting.units[1]);
}

static void test_exploring(Arena *arena) {
    static const Curve curves[] = {{100, 10, 0.05}, {1e-3, 5e-4, 0.5}};
    static const SchedulerTask tasks[] = {{1e6, 0}, {1e6, 1}};
    Run none = run(arena, "gradient:eps=0", curves, tasks, 2, &together, 1, 200);
    Run half = run(arena, "gradient:eps=0.5", curves, tasks, 2, &together, 1, 200);
    ok(none.units[1] == 1 && half.units[1] > 30 && half.units[1] < 70,
       "eps: part of the units go to any task: %d, else %d", half.units[1], none.units[1]);
}

/* A task none of whose runs succeeds gets a few tries. */
static void test_failing(Arena *arena) {
    static const Curve curves[] = {{HUGE_VAL, HUGE_VAL, 0}, {1, 0.5, 0.1}};
    static const SchedulerTask tasks[] = {{1e6, 0}, {1e6, 0}};
    Scheduler *scheduler = scheduler_open(arena, "gradient:eps=0", tasks, 2, &together, 1, 1);
    int units[2] = {0};
    for (int u = 0; u < 20; u++) {
        int task = scheduler_next(scheduler);
        scheduler_tell(scheduler, task, task ? best_after(&curves[1], units[1]) : HUGE_VAL, 1);
        units[task]++;
    }
    is_int(units[0], 3, "a task that always fails gets a few units of 20");
}

static void test_dropped(Arena *arena) {
    static const SchedulerTask tasks[] = {{1e6, 0}, {1e6, 1}};
    static const char *const policies[] = {"gradient:eps=1", "round-robin"};
    for (int p = 0; p < 2; p++) {
        Scheduler *scheduler = scheduler_open(arena, policies[p], tasks, 2, &together, 1, 1);
        int after = 0;
        for (int u = 0; u < 20; u++) {
            int task = scheduler_next(scheduler);
            after += u >= 4 && task == 0;
            scheduler_tell(scheduler, task, 1, 1);
            if (u == 3)
                scheduler_drop(scheduler, 0);
        }
        scheduler_drop(scheduler, 1);
        ok(after == 0 && scheduler_next(scheduler) < 0, "%s: what is dropped gets nothing", policies[p]);
        scheduler_resume(scheduler, 1);
        is_int(scheduler_next(scheduler), 1, "what is resumed gets units again");
    }
}

/* A later unit that finds nothing better takes nothing back. */
static void test_best(Arena *arena) {
    static const SchedulerTask tasks[] = {{1e6, 0}};
    Scheduler *scheduler = scheduler_open(arena, "gradient:objective=f2,latency=5", tasks, 1, &together, 1, 1);
    scheduler_tell(scheduler, 0, 9, 1);
    is_int(scheduler_next(scheduler), 0, "what is too slow gets another unit");
    scheduler_tell(scheduler, 0, 4, 1);
    scheduler_tell(scheduler, 0, 9, 1);
    is_int(scheduler_next(scheduler), -1, "once it is fast enough the best time counts, not the last");
}

/* Two that gain alike, one whose units take five times as long: each has about as much of the time. */
static void test_lengths(Arena *arena) {
    static const Curve curve = {10, 1, 0.1};
    static const double lengths[] = {5, 1};
    static const SchedulerTask tasks[] = {{1e6, 0}, {1e6, 1}};
    static const char *const policies[] = {"gradient:eps=0", "round-robin"};
    for (int p = 0; p < 2; p++) {
        Scheduler *scheduler = scheduler_open(arena, policies[p], tasks, 2, &together, 1, 1);
        int units[2] = {0};
        for (double spent = 0; spent < 100;) {
            int task = scheduler_next(scheduler);
            scheduler_tell(scheduler, task, best_after(&curve, ++units[task]), lengths[task]);
            spent += lengths[task];
        }
        ok(units[0] >= 7 && units[0] <= 14 && units[1] >= 30,
           "%s: a task with long units has no more of the time: %d units against %d", policies[p], units[0], units[1]);
    }
}

/* Units that take no time at all do not leave the others without any. */
static void test_no_length(Arena *arena) {
    static const Curve curve = {10, 1, 0.1};
    static const SchedulerTask tasks[] = {{1e6, 0}, {1e6, 1}};
    static const char *const policies[] = {"gradient:eps=0", "round-robin"};
    for (int p = 0; p < 2; p++) {
        Scheduler *scheduler = scheduler_open(arena, policies[p], tasks, 2, &together, 1, 1);
        int units[2] = {0};
        for (int u = 0; u < 60; u++) {
            int task = scheduler_next(scheduler);
            scheduler_tell(scheduler, task, best_after(&curve, ++units[task]), task);
        }
        ok(units[0] > units[1] && units[1] > 1, "%s: units without a length leave some to others: %d and %d units",
           policies[p], units[0], units[1]);
    }
}

static void test_settings(Arena *arena) {
    int row;
    double *values;
    ok(!choice_read(arena, "gradient:objective=f3,alpha=0.5", scheduler_policies, &row, &values) && values[0] == 0.5 &&
           values[4] == 2,
       "settings of the gradient are read, words too");
    const char *wrong = choice_read(arena, "gradient:objective=f5", scheduler_policies, &row, &values);
    is_text(wrong ? wrong : "", "'objective' is one of f1, f2, f3, f4", "an unknown objective is refused");
    ok(!scheduler_open(arena, "fair", NULL, 0, NULL, 0, 1), "so is an unknown scheduler");
}

int main(void) {
    Arena *arena = arena_new();
    test_pair(arena);
    test_weights(arena);
    test_latency(arena);
    test_speedups(arena);
    test_stopping(arena);
    test_similar(arena);
    test_backward(arena);
    test_exploring(arena);
    test_failing(arena);
    test_dropped(arena);
    test_best(arena);
    test_lengths(arena);
    test_no_length(arena);
    test_settings(arena);
    arena_free(arena);
    return done_testing();
}
