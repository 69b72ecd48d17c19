/* scheduler.c - the table of schedulers, and the objectives that the gradient makes small.
 *
 * The gradient is Ansor's (6.2): how much a unit would change the objective, guessed from what the last units changed
 * (alpha), from the time falling in proportion to the units (the optimistic guess), and from what similar tasks reach
 * (beta). An objective is a function of the tasks' times; its slopes are taken numerically, so a new one is a row.
 */
#include "autosched/search/scheduler.h"
#include "lang/random.h"

#include <math.h>

enum { TRIES = 3 }; /* units that a task gets in any case until one run of it succeeds */
static const double least_length = 0.1; /* of a unit */
enum { ALPHA, BETA, WINDOW, EPSILON, OBJECTIVE, LATENCY, PATIENCE, GRADIENT_SETTINGS };

typedef struct TaskProgress {
    LIST(double) best; /* after each unit */
    double length;     /* of all units together, see scheduler_tell */
    bool dropped;
} TaskProgress;

struct Scheduler {
    Arena *arena;
    const double *settings;
    int (*next)(Scheduler *scheduler);
    const SchedulerTask *tasks;
    int task_count;
    const SchedulerFunction *functions;
    int function_count;
    TaskProgress *progress;
    double *seconds; /* by task: that the objective is asked for */
    Random random;
};

/* --- what is known of a task --- */

static int units_of(const Scheduler *scheduler, int task) {
    return scheduler->progress[task].best.count;
}

static double best_after(const Scheduler *scheduler, int task, int units) {
    return units > 0 ? scheduler->progress[task].best.items[units - 1] : HUGE_VAL;
}

static double best_of(const Scheduler *scheduler, int task) {
    return best_after(scheduler, task, units_of(scheduler, task));
}

/* --- objectives --- */

static double function_seconds(const Scheduler *scheduler, int function) {
    double sum = 0;
    for (int t = 0; t < scheduler->task_count; t++)
        if (scheduler->functions[function].weights[t] > 0)
            sum += scheduler->functions[function].weights[t] * scheduler->seconds[t];
    return sum;
}

static double sum_of_functions(const Scheduler *scheduler) {
    double sum = 0;
    for (int f = 0; f < scheduler->function_count; f++)
        sum += function_seconds(scheduler, f);
    return sum;
}

/* What is below the wanted latency does not count. */
static double sum_above_latency(const Scheduler *scheduler) {
    double sum = 0;
    for (int f = 0; f < scheduler->function_count; f++)
        sum += fmax(function_seconds(scheduler, f), scheduler->settings[LATENCY]);
    return sum;
}

/* Negative: of the speedups over the reference. */
static double mean_of_speedups(const Scheduler *scheduler) {
    double sum = 0;
    for (int f = 0; f < scheduler->function_count; f++) {
        double reference = scheduler->functions[f].reference, seconds = function_seconds(scheduler, f);
        sum += seconds > 0 ? log((reference > 0 ? reference : 1) / seconds) : 0;
    }
    return -exp(sum / (scheduler->function_count ? scheduler->function_count : 1));
}

/* The time that a task stops at: its best, where the last units have found no better one; 0: it does not stop. */
static double stopping_seconds(const Scheduler *scheduler, int task) {
    int units = units_of(scheduler, task), before = units - (int)scheduler->settings[PATIENCE];
    double best = best_of(scheduler, task);
    return before > 0 && best_after(scheduler, task, before) <= best ? best : 0;
}

/* Each task counts with no less than what it stops at, so that no more can be gained there. */
static double sum_until_stopped(const Scheduler *scheduler) {
    double sum = 0;
    for (int f = 0; f < scheduler->function_count; f++)
        for (int t = 0; t < scheduler->task_count; t++)
            if (scheduler->functions[f].weights[t] > 0)
                sum += scheduler->functions[f].weights[t] * fmax(scheduler->seconds[t], stopping_seconds(scheduler, t));
    return sum;
}

#define EACH_OBJECTIVE(OBJECTIVE)                                                                                      \
    OBJECTIVE(f1, sum_of_functions)                                                                                    \
    OBJECTIVE(f2, sum_above_latency)                                                                                   \
    OBJECTIVE(f3, mean_of_speedups)                                                                                    \
    OBJECTIVE(f4, sum_until_stopped)

#define COST(name, cost) cost,
static double (*const objectives[])(const Scheduler *scheduler) = {EACH_OBJECTIVE(COST)};
enum { OBJECTIVES = sizeof objectives / sizeof *objectives };
#define NAME(name, cost) #name,
static const char *const objective_names[OBJECTIVES + 1] = {EACH_OBJECTIVE(NAME)};

static double cost_of(const Scheduler *scheduler) {
    return objectives[scheduler->settings ? (int)scheduler->settings[OBJECTIVE] : 0](scheduler);
}

/* Tasks without a time do not count. */
static void take_best(Scheduler *scheduler) {
    for (int t = 0; t < scheduler->task_count; t++) {
        double best = best_of(scheduler, t);
        scheduler->seconds[t] = best < HUGE_VAL ? best : 0;
    }
}

/* Of the objective by the task's time: what becomes of it when that is a little less. */
static double slope(Scheduler *scheduler, int task) {
    static const double step = 1e-4;
    double best = best_of(scheduler, task), before = cost_of(scheduler);
    scheduler->seconds[task] = best * (1 - step);
    double after = cost_of(scheduler);
    scheduler->seconds[task] = best;
    return (before - after) / (best * step);
}

/* --- the gradient --- */

/* Seconds that a run of the task may take, by what similar ones do in a second; HUGE_VAL: none is known. */
static double similar_seconds(const Scheduler *scheduler, int task) {
    double most = 0;
    for (int t = 0; t < scheduler->task_count; t++)
        if (scheduler->tasks[t].kind == scheduler->tasks[task].kind && best_of(scheduler, t) < HUGE_VAL)
            most = fmax(most, scheduler->tasks[t].operations / best_of(scheduler, t));
    double operations = scheduler->tasks[task].operations;
    return most > 0 && operations > 0 ? scheduler->settings[BETA] * operations / most : HUGE_VAL;
}

/* What a unit is guessed to change the task's time by. */
static double guessed_change(const Scheduler *scheduler, int task) {
    const double *settings = scheduler->settings;
    int units = units_of(scheduler, task), window = (int)settings[WINDOW];
    double best = best_of(scheduler, task), before = best_after(scheduler, task, units - window);
    double backward = before < HUGE_VAL ? (best - before) / window : 0;
    double forward = fmin(-best / units, similar_seconds(scheduler, task) - best);
    return settings[ALPHA] * backward + (1 - settings[ALPHA]) * forward;
}

/* Any task that may get a unit; -1: none. */
static int random_task(Scheduler *scheduler) {
    int open = 0;
    for (int t = 0; t < scheduler->task_count; t++)
        open += !scheduler->progress[t].dropped;
    int left = open ? random_below(&scheduler->random, open) : -1;
    for (int t = 0; t < scheduler->task_count && left >= 0; t++)
        if (!scheduler->progress[t].dropped && left-- == 0)
            return t;
    return -1;
}

/* The one with the fewest units, by their length. */
static int task_in_turn(const Scheduler *scheduler) {
    int next = -1;
    for (int t = 0; t < scheduler->task_count; t++)
        if (!scheduler->progress[t].dropped &&
            (next < 0 || scheduler->progress[t].length < scheduler->progress[next].length))
            next = t;
    return next;
}

static bool is_open(const Scheduler *scheduler, int task, bool timed) {
    return !scheduler->progress[task].dropped && (best_of(scheduler, task) < HUGE_VAL) == timed;
}

/* What the next unit is expected to change the objective by, for its length: that of those so far. */
static double gradient_of(Scheduler *scheduler, int task) {
    double length = units_of(scheduler, task) ? scheduler->progress[task].length / units_of(scheduler, task) : 1;
    return fabs(slope(scheduler, task) * guessed_change(scheduler, task)) / length;
}

/* The task whose next unit is expected to change the objective most; -1: none changes it. */
static int steepest_task(Scheduler *scheduler) {
    int next = -1;
    double most = 0;
    take_best(scheduler);
    for (int t = 0; t < scheduler->task_count; t++) {
        double gradient = is_open(scheduler, t, true) ? gradient_of(scheduler, t) : 0;
        if (gradient > most) {
            most = gradient;
            next = t;
        }
    }
    return next;
}

/* A task that has not run yet, or that deserves more tries until a run succeeds; -1: none. */
static int untried_task(const Scheduler *scheduler) {
    for (int units = 0; units < TRIES; units++)
        for (int t = 0; t < scheduler->task_count; t++)
            if (is_open(scheduler, t, false) && units_of(scheduler, t) == units)
                return t;
    return -1;
}

static int next_by_gradient(Scheduler *scheduler) {
    int untried = untried_task(scheduler), steepest = untried < 0 ? steepest_task(scheduler) : -1;
    bool explores = steepest >= 0 && random_unit(&scheduler->random) < scheduler->settings[EPSILON];
    return untried >= 0 ? untried : explores ? random_task(scheduler) : steepest;
}

static int next_in_turn(Scheduler *scheduler) {
    return task_in_turn(scheduler);
}

/* --- the table --- */

static const Setting gradient_settings[] = {
    [ALPHA] = {"alpha", SETTING_REAL, 0.2, 0, 1, "how far what the last units gained is trusted, not a guess"},
    [BETA] = {"beta", SETTING_REAL, 2, 0, 1e6, "similar tasks are expected to be no slower than so many times"},
    [WINDOW] = {"window", SETTING_COUNT, 3, 1, 1000, "units that are looked back"},
    [EPSILON] = {"eps", SETTING_REAL, 0.05, 0, 1, "part of the units that go to any task"},
    [OBJECTIVE] = {"objective", SETTING_WORD, 2, 0, OBJECTIVES - 1,
                   "f1 the time of all, f2 what is above latency, f3 the mean speedup, f4 until none gains",
                   objective_names},
    [LATENCY] = {"latency", SETTING_REAL, 0, 0, 1e6, "for f2: seconds that a function may take"},
    [PATIENCE] = {"patience", SETTING_COUNT, 5, 1, 1000, "for f4: units without a gain after which a task stops"},
    {NULL, SETTING_FLAG, 0, 0, 0, NULL}};

/* A row: its name, what it does, what may be set of it, and the function that says which task goes on. */
#define EACH_SCHEDULER(SCHEDULER)                                                                                      \
    SCHEDULER("gradient", "the task with which the function is expected to gain most", gradient_settings,              \
              next_by_gradient)                                                                                        \
    SCHEDULER("round-robin", "each task in turn", NULL, next_in_turn)

#define CHOICE(name, summary, settings, next) {name, summary, settings},
const NamedChoice scheduler_policies[] = {EACH_SCHEDULER(CHOICE){NULL, NULL, NULL}};
#define NEXT(name, summary, settings, next) next,
static int (*const nexts[])(Scheduler *scheduler) = {EACH_SCHEDULER(NEXT)};

Scheduler *scheduler_open(Arena *arena, const char *policy, const SchedulerTask *tasks, int task_count,
                          const SchedulerFunction *functions, int function_count, uint64_t seed) {
    int row;
    double *settings;
    if (choice_read(arena, policy ? policy : scheduler_policies[0].name, scheduler_policies, &row, &settings))
        return NULL;
    Scheduler *scheduler = ARENA_NEW(arena, Scheduler);
    *scheduler = (Scheduler){.arena = arena,
                             .settings = scheduler_policies[row].settings ? settings : NULL,
                             .next = nexts[row],
                             .tasks = tasks,
                             .task_count = task_count,
                             .functions = functions,
                             .function_count = function_count,
                             .random = {seed}};
    scheduler->progress = ARENA_ARRAY(arena, TaskProgress, task_count + 1);
    scheduler->seconds = ARENA_ARRAY(arena, double, task_count + 1);
    return scheduler;
}

int scheduler_next(Scheduler *scheduler) {
    return scheduler->next(scheduler);
}

void scheduler_tell(Scheduler *scheduler, int task, double seconds, double length) {
    scheduler->progress[task].length += fmax(length, least_length);
    list_push(scheduler->arena, &scheduler->progress[task].best, fmin(seconds, best_of(scheduler, task)));
}

void scheduler_drop(Scheduler *scheduler, int task) {
    scheduler->progress[task].dropped = true;
}

void scheduler_resume(Scheduler *scheduler, int task) {
    scheduler->progress[task].dropped = false;
}
