/* tune_functions.c - the plans of several functions by measuring: trials and time are shared out among their searches.
 *
 * What one function leaves, the next ones have. A function that cannot be measured has no plan, only the reason.
 */
#include "autosched/contest.h"
#include "lang/clock.h"

#include <math.h>

enum { TRIALS = 200 }; /* for each function, if no number is given */

/* What is left for the functions from `next` on. */
typedef struct Shares {
    const ContestFile *file;
    int functions, trials;
    bool leaves; /* trials that a function does not use are for the next ones */
    double deadline, own_budget;
} Shares;

static int next_trials(const Shares *shares) {
    int trials = (shares->trials + shares->functions - 1) / shares->functions;
    return trials > 0 ? trials : 1;
}

/* Gives a function its part of the time that is left. */
static void set_deadlines(const Shares *shares, Contest *contest) {
    if (shares->deadline <= 0)
        return;
    double now = monotonic_seconds(), part = fmax(shares->deadline - now, 1e-3) / shares->functions;
    contest->deadline = tune_deadline(part);
    contest->end = now + part;
}

static void tune_function(Shares *shares, const PlanFunction *function, int number, FunctionTuning *tuning) {
    const TuneBench *bench = shares->file->bench;
    Contest contest = {.file = shares->file, .function = function, .number = number, .tuning = tuning};
    int used = 0;
    contest.since = monotonic_seconds();
    contest.trials = next_trials(shares);
    contest.own_budget = shares->own_budget;
    set_deadlines(shares, &contest);
    *tuning = (FunctionTuning){.function = function, .transient = true};
    if (!contest_is_known(&contest, &used) && contest_open(&contest)) {
        contest_search(&contest);
        used = contest_trials(&contest);
        contest_end(&contest);
    }
    if (bench->end)
        bench->end(bench->context, number, tuning);
    shares->functions--;
    shares->trials -= shares->leaves && used < contest.trials ? used : contest.trials;
}

bool autosched_tune(Planner *planner, const PlanFunction *functions, int count, const TuneOptions *options,
                    double deadline, const TuneBench *bench, FunctionTuning *tunings) {
    ContestFile file = {planner, options, bench};
    Shares shares = {.file = &file, .functions = count, .leaves = options->trials > 0, .deadline = deadline};
    shares.trials = options->trials > 0 ? options->trials : TRIALS * count;
    shares.own_budget = count > 0 ? options->budget_seconds / count : 0;
    for (int f = 0; f < count; f++) {
        tune_function(&shares, &functions[f], f, &tunings[f]);
        if (!tunings[f].plan.program && !tunings[f].transient)
            return false;
    }
    return true;
}
