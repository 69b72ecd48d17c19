/* contest.c - the searches for one function, one for each of its programs.
 *
 * The program that is preferred without measuring goes first, then the most promising one. The best result of all wins;
 * where the database has them all, its best record does, so that later compilations choose the same.
 */
#include "autosched/contest.h"
#include "lang/clock.h"

static bool is_stopped(const Contest *contest) {
    const TuneOptions *options = contest->file->options;
    return options->stop && *options->stop;
}

/* --- what each search is given --- */

/* What a search reports is told of its function. */
typedef struct ReportedProgram {
    const Contest *contest;
    int program;
} ReportedProgram;

static void relay_progress(void *context, const TuneProgress *progress) {
    const ReportedProgram *reported = context;
    const TuneBench *bench = reported->contest->file->bench;
    bench->progress(bench->context, reported->contest->number, reported->program, progress);
}

static const Toolchain *open_for_task(void *context, Program *program) {
    const Contest *contest = context;
    const TuneBench *bench = contest->file->bench;
    return bench->open_task(bench->context, contest->number, program, contest->file->end);
}

static void close_for_task(void *context, const Toolchain *toolchain) {
    const TuneBench *bench = ((const Contest *)context)->file->bench;
    bench->close_task(bench->context, toolchain);
}

static void set_options(Contest *contest, int program) {
    const PlanFunction *function = contest->function;
    const Planner *planner = contest->file->planner;
    TuneOptions *options = &contest->options[program];
    *options = *contest->file->options;
    options->trials = contest->trials;
    options->inputs = function->inputs;
    options->threads = function->target->threads;
    options->workshop = contest->file->bench->open_task ? &contest->workshop : NULL;
    options->standard =
        function->user ? NULL : plan_known_choice(planner, function->programs[program], function->target);
    options->progress = NULL;
    if (!contest->file->bench->progress)
        return;
    ReportedProgram *reported = ARENA_NEW(planner->arena, ReportedProgram);
    *reported = (ReportedProgram){contest, program};
    options->progress = relay_progress;
    options->progress_context = reported;
}

static void set_all_options(Contest *contest) {
    contest->options = ARENA_ARRAY(contest->file->planner->arena, TuneOptions, contest->function->count);
    contest->workshop = (Workshop){contest, open_for_task, close_for_task};
    for (int p = 0; p < contest->function->count; p++)
        set_options(contest, p);
}

/* The best record on the function's inputs. */
static Plan recorded_plan(const Contest *contest) {
    const PlanFunction *function = contest->function;
    Plan recorded = plan_recorded_on(contest->file->planner, function, function->inputs ? function->inputs : "");
    recorded.origin = PLAN_BY_TUNING;
    return recorded;
}

/* --- beginning --- */

bool contest_is_known(Contest *contest, int *used) {
    const PlanFunction *function = contest->function;
    Planner *planner = contest->file->planner;
    set_all_options(contest);
    *used = 0;
    if (!contest->options[0].maker ||
        !searches_are_known(planner->arena, planner->database, function->programs, function->count, function->target,
                            function->user, &contest->options[0], used, &contest->spent))
        return false;
    contest->tuning->plan = recorded_plan(contest);
    return contest->tuning->plan.program != NULL;
}

/* Chooses the preferred program. What is chosen again after the search takes as long again: that time is reserved. */
static void choose_preferred(Contest *contest) {
    const PlanFunction *function = contest->function;
    double since = monotonic_seconds();
    if (!function->user)
        contest->preferred = plan_preferred(contest->file->planner, function);
    contest->kept = function->chosen_again ? monotonic_seconds() - since : 0;
}

bool contest_lend(Contest *contest) {
    const TuneBench *bench = contest->file->bench;
    FunctionTuning *tuning = contest->tuning;
    contest->toolchains =
        bench->open(bench->context, contest->number, contest->file->end, &tuning->why, &tuning->transient);
    for (int p = 0; contest->tuners && p < contest->function->count; p++)
        if (contest->toolchains)
            tuner_lend(contest->tuners[p], contest->toolchains[p]);
        else if (!tuning->transient)
            tuner_lose(contest->tuners[p], tuning->why);
    return contest->toolchains != NULL;
}

void contest_take_back(Contest *contest) {
    const TuneBench *bench = contest->file->bench;
    for (int p = 0; p < contest->function->count; p++)
        tuner_take_back(contest->tuners[p]);
    bench->close(bench->context, contest->toolchains);
    contest->toolchains = NULL;
}

bool contest_open(Contest *contest) {
    const PlanFunction *function = contest->function;
    const Planner *planner = contest->file->planner;
    const TuneBench *bench = contest->file->bench;
    FunctionTuning *tuning = contest->tuning;
    if (!contest_lend(contest) && is_stopped(contest)) {
        tuning->why = "the search was stopped";
        tuning->transient = true;
    }
    if (!contest->toolchains)
        return false;
    if (bench->begin)
        bench->begin(bench->context, contest->number, contest->trials, contest->file->end);
    choose_preferred(contest);
    set_all_options(contest); /* with what was chosen now */
    contest->tuners = ARENA_ARRAY(planner->arena, Tuner *, function->count);
    for (int p = 0; p < function->count; p++)
        contest->tuners[p] = tuner_new(planner->arena, function->programs[p], function->target, function->user,
                                       contest->toolchains[p], planner->database, &contest->options[p]);
    return true;
}

/* --- searching --- */

void contest_begin(Contest *contest) {
    tuner_search_default(contest->tuners[contest->preferred], contest->deadline);
}

void contest_race(Contest *contest) {
    tuners_race(contest->tuners, contest->function->count, contest->end);
}

void contest_grant(Contest *contest) {
    int left = contest->trials - tuners_trials(contest->tuners, contest->function->count);
    Tuner *preferred = contest->tuners[contest->preferred];
    if (left > 0)
        tuner_grant(preferred, tuner_trials(preferred) + left);
}

/* --- the end --- */

/* NULL if the search did nothing. */
static TuneResult *end_search(const Contest *contest, int program) {
    Tuner *tuner = contest->tuners[program];
    if (tuner_trials(tuner) > 0 || program == contest->preferred)
        return tuner_finish(tuner);
    tuner_close(tuner);
    return NULL;
}

/* The best result of all searches. Until the default of the preferred one is measured, it is that one. */
static int choose_result(const Contest *contest, bool comparable) {
    TuneResult *const *results = contest->tuning->results;
    int best = contest->preferred;
    for (int p = 0; p < contest->function->count && comparable; p++)
        if (results[p] && results[p]->seconds > 0 &&
            (results[best]->seconds <= 0 || results[p]->seconds < results[best]->seconds))
            best = p;
    return best;
}

static bool is_lost(const Contest *contest) {
    for (int p = 0; p < contest->function->count; p++)
        if (tuner_is_lost(contest->tuners[p]))
            return true;
    return false;
}

/* The database has all results, and enough of them to compare: the plan is that of later compilations, from the same
 * records. */
static void use_records(Contest *contest) {
    const PlanFunction *function = contest->function;
    Planner *planner = contest->file->planner;
    if (contest->spent && !is_lost(contest))
        searches_note_budget(planner->arena, planner->database, function->programs, function->count, function->target,
                             function->user, &contest->options[0]);
    Plan recorded = recorded_plan(contest);
    if (recorded.program)
        contest->tuning->plan = recorded;
}

void contest_end(Contest *contest) {
    const PlanFunction *function = contest->function;
    FunctionTuning *tuning = contest->tuning;
    const Planner *planner = contest->file->planner;
    const TuneBench *bench = contest->file->bench;
    bool comparable = tuner_knows_default(contest->tuners[contest->preferred]), kept = comparable && planner->database;
    tuning->results = ARENA_ARRAY(planner->arena, TuneResult *, function->count);
    for (int p = 0; p < function->count; p++) {
        tuning->results[p] = end_search(contest, p);
        kept &= !tuning->results[p] || tuning->results[p]->unrecorded == 0;
    }
    tuning->preferred = contest->preferred;
    tuning->best = choose_result(contest, comparable);
    const TuneResult *best = tuning->results[tuning->best];
    tuning->plan =
        plan_of(planner, function, tuning->best, best->schedule, best->seconds > 0 ? PLAN_BY_TUNING : PLAN_BY_DEFAULT);
    if (contest->toolchains)
        bench->close(bench->context, contest->toolchains);
    contest->toolchains = NULL;
    if (kept)
        use_records(contest);
}
