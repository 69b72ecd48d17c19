/* tune_functions.c - the plans of several functions by measuring: one scheduler shares trials out among all their
 * tasks.
 *
 * First the default of each function is measured, then the tasks of all are searched, last the best of each function
 * race. A function that cannot be measured has no plan, only the reason.
 */
#include "autosched/contest.h"
#include "lang/clock.h"

#include <math.h>

enum {
    TRIALS = 200, /* for each function, if no number is given */
    KEPT_OPEN = 6 /* functions whose toolchains stay open until they are searched */
};

/* The functions that are searched, and what they have together. Lists are by place. */
typedef struct FileTuning {
    ContestFile file;
    Contest *contests;
    FunctionSearch *searches;
    int count;
    int trials;      /* of all */
    bool leaves;     /* trials that a function does not use are for the others */
    int spent;       /* functions that had the budget in earlier searches */
    double deadline; /* 0: none */
} FileTuning;

static void tell_end(const FileTuning *all, const Contest *contest) {
    const TuneBench *bench = all->file.bench;
    if (bench->end)
        bench->end(bench->context, contest->number, contest->tuning);
}

static bool is_stopped(const FileTuning *all) {
    const volatile int *stop = all->file.options->stop;
    return stop && *stop;
}

/* --- which functions are searched --- */

/* Of what is left for so many functions, the part of one. */
static int part_of_trials(int left, int functions) {
    int trials = (left + functions - 1) / functions;
    return trials > 0 ? trials : 1;
}

/* Adds the function, unless earlier searches leave nothing to be done. functions: that are left, with this one; left:
 * trials for them. */
static void add_function(FileTuning *all, const PlanFunction *function, int number, int functions, int *left,
                         FunctionTuning *tuning) {
    Contest *contest = &all->contests[all->count];
    int part = part_of_trials(*left, functions), used = 0;
    *contest = (Contest){.file = &all->file, .function = function, .number = number, .tuning = tuning, .trials = part};
    *tuning = (FunctionTuning){.function = function, .transient = true};
    bool known = contest_is_known(contest, &used);
    int taken = known && all->leaves && used < part ? used : part;
    *left -= taken;
    all->count += !known;
    all->spent += contest->spent;
    all->trials -= known ? taken : 0;
    if (known)
        tell_end(all, contest);
}

/* What known functions left is the others'. */
static void share_trials(FileTuning *all) {
    int left = all->trials;
    for (int c = 0; c < all->count; c++) {
        all->contests[c].trials = part_of_trials(all->trials, all->count - c);
        all->trials -= all->contests[c].trials;
    }
    all->trials = left;
}

/* Functions that had the budget keep their shares of it; the others have theirs. */
static void share_time(FileTuning *all, int functions) {
    if (all->deadline <= 0 || !all->spent)
        return;
    double part = all->file.options->budget_seconds * (functions - all->spent) / functions;
    all->deadline = all->file.end = fmin(all->deadline, monotonic_seconds() + part);
}

/* --- beginning --- */

/* One of `functions` has its part of the time that is left. */
static void set_end(const FileTuning *all, Contest *contest, int functions) {
    if (all->deadline <= 0)
        return;
    double now = monotonic_seconds(), part = fmax(all->deadline - now, 1e-3) / functions;
    contest->deadline = tune_deadline(part);
    contest->end = now + part;
}

/* Its default is measured. False: it cannot be measured. */
static bool begin_function(FileTuning *all, int place) {
    Contest *contest = &all->contests[place];
    FunctionSearch *search = &all->searches[place];
    double since = monotonic_seconds();
    set_end(all, contest, all->count - place);
    if (!contest_open(contest))
        return false;
    contest_begin(contest);
    *search = (FunctionSearch){.tuners = contest->tuners,
                               .count = contest->function->count,
                               .preferred = contest->preferred,
                               .trials = contest->trials,
                               .keeps = !all->leaves,
                               .open = place < KEPT_OPEN};
    if (!search->open)
        contest_take_back(contest);
    search->seconds = monotonic_seconds() - since;
    return true;
}

/* A function that cannot be measured is told of, and is none of those that are searched. */
static void leave_out(FileTuning *all, int place) {
    tell_end(all, &all->contests[place]);
    all->count--;
    for (int c = place; c < all->count; c++)
        all->contests[c] = all->contests[c + 1];
}

/* False: a function can never be measured. */
static bool begin_functions(FileTuning *all) {
    for (int c = 0; c < all->count;) {
        const FunctionTuning *tuning = all->contests[c].tuning;
        if (begin_function(all, c)) {
            c++;
            continue;
        }
        leave_out(all, c);
        if (tuning->transient)
            continue;
        all->count = c; /* those that were begun are ended */
        return false;
    }
    return true;
}

/* --- searching --- */

static bool lend(void *context, int place) {
    const FileTuning *all = context;
    return contest_lend(&all->contests[place]);
}

static void take_back(void *context, int place) {
    const FileTuning *all = context;
    contest_take_back(&all->contests[place]);
}

/* When the search is to be over, so that there is time for the races and for what comes after them; 0: none. */
static double search_deadline(const FileTuning *all) {
    double kept = 0;
    for (int c = 0; c < all->count; c++)
        kept += all->contests[c].kept;
    return all->deadline > 0 ? tune_deadline(fmax(all->deadline - kept - monotonic_seconds(), 1e-3)) : 0;
}

static void search_functions(FileTuning *all, Together *together) {
    double deadline = search_deadline(all);
    bool ended = together_search(together, all->trials, deadline);
    for (int c = 0; c < all->count; c++)
        if (ended)
            contest_grant(&all->contests[c]);
        else
            all->contests[c].spent = deadline > 0 && !is_stopped(all) && monotonic_seconds() >= deadline;
}

/* --- the end --- */

static void end_function(FileTuning *all, Together *together, int place) {
    Contest *contest = &all->contests[place];
    double since = monotonic_seconds();
    set_end(all, contest, all->count - place);
    if (together_lend(together, place))
        contest_race(contest);
    together_end(together, place);
    contest_end(contest);
    contest->tuning->seconds = all->searches[place].seconds + monotonic_seconds() - since;
}

bool autosched_tune(Planner *planner, const PlanFunction *functions, int count, const TuneOptions *options,
                    double deadline, const TuneBench *bench, FunctionTuning *tunings) {
    TuneOptions shared = *options;
    CostModel *model = tune_model(planner->arena, options);
    shared.model = model;
    FileTuning all = {.file = {planner, &shared, bench, deadline}, .leaves = options->trials > 0, .deadline = deadline};
    all.trials = options->trials > 0 ? options->trials : TRIALS * count;
    all.contests = ARENA_ARRAY(planner->arena, Contest, count);
    all.searches = ARENA_ARRAY(planner->arena, FunctionSearch, count);
    int left = all.trials;
    for (int f = 0; f < count; f++)
        add_function(&all, &functions[f], f, count - f, &left, &tunings[f]);
    share_trials(&all);
    share_time(&all, count);
    bool measurable = begin_functions(&all);
    FunctionBench lender = {&all, lend, take_back};
    Together *together = together_new(planner->arena, options, &lender, all.searches, all.count);
    if (measurable && all.count)
        search_functions(&all, together);
    for (int c = 0; c < all.count; c++) {
        end_function(&all, together, c);
        if (measurable)
            tell_end(&all, &all.contests[c]);
    }
    model_close(model);
    return measurable;
}
