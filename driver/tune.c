/* tune.c - -O tune for one unit: opens the toolchain and the database, shows progress, stops well.
 *
 * On a terminal one line is rewritten in place; elsewhere a line is printed at the end alone. The first Ctrl-C ends the
 * search with the best so far; the second ends the program.
 */
#include "driver/driver.h"
#include <math.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static volatile int stop_requested; /* set by a signal handler, hence not in any structure */

static void request_stop(int number) {
    if (stop_requested)
        _exit(128 + number);
    stop_requested = 1;
}

static void catch_stop_signals(void) {
    struct sigaction action = {.sa_handler = request_stop};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

static const char *time_text(Arena *arena, double seconds) {
    if (seconds < 1e-3)
        return arena_printf(arena, "%.1f us", 1e6 * seconds);
    return seconds < 1 ? arena_printf(arena, "%.3f ms", 1e3 * seconds) : arena_printf(arena, "%.3f s", seconds);
}

static void show_progress(void *context, const TuneProgress *p) {
    if (!isatty(STDERR_FILENO))
        return;
    Arena *arena = context;
    const char *best = p->best_seconds > 0 ? time_text(arena, p->best_seconds) : "-";
    fprintf(stderr, "\r\033[Ktuning %s: %d/%d trials, %d failed, best %s", p->name, p->trials, p->trial_limit,
            p->failed, best);
    if (p->best_gflops > 0)
        fprintf(stderr, " (%.1f GFLOP/s)", p->best_gflops);
    fprintf(stderr, ", %.0f s", p->elapsed);
    if (p->eta > 0)
        fprintf(stderr, ", %.0f s to go", p->eta);
    fflush(stderr);
}

static void show_failures(const TuneResult *result) {
    static const char *const names[OUTCOME_COUNT] = {NULL, "not built", "crashed", "out of time", "wrong"};
    const char *separator = ", ";
    for (int i = 0; i < OUTCOME_COUNT; i++)
        if (names[i] && result->failed[i])
            fprintf(stderr, "%s%d %s", separator, result->failed[i], names[i]);
    if (result->unsettled)
        fprintf(stderr, "%s%d without a result on a busy machine", separator, result->unsettled);
}

static void show_result(Compilation *c, const Program *program, const TuneResult *result) {
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r\033[K");
    if (result->from_database) {
        if (c->options->verbose)
            fprintf(stderr, "tensorc: %s: found in the tuning database\n", program->symbol);
        return;
    }
    double flops = program_flops(program);
    const char *algorithms = program_algorithms(c->arena, program);
    fprintf(stderr, "tensorc: tuned %s%s%s: %d trials in %.1f s", program->symbol, algorithms ? ", " : "",
            algorithms ? algorithms : "", result->trials, result->elapsed);
    show_failures(result);
    if (result->build_seconds > 0)
        fprintf(stderr, ", each built in %.0f ms", 1e3 * result->build_seconds);
    if (result->seconds > 0) {
        fprintf(stderr, "; %s", time_text(c->arena, result->seconds));
        if (flops > 0)
            fprintf(stderr, " (%.1f GFLOP/s)", 1e-9 * flops / result->seconds);
    }
    if (result->seconds > 0 && result->default_seconds > 0)
        fprintf(stderr, ", %.2f times the default's speed", result->default_seconds / result->seconds);
    fprintf(stderr, "%s\n", result->stopped ? "; stopped early" : "");
    if (result->unrecorded)
        fprintf(stderr, "tensorc: warning: the tuning database cannot be written: %d measurements are not kept\n",
                result->unrecorded);
}

static int trials_for_unit(Compilation *c) {
    int units = c->tune_units_left > 0 ? c->tune_units_left : 1;
    int trials = (c->tune_trials_left + units - 1) / units;
    c->tune_units_left--;
    c->tune_trials_left -= trials;
    return trials > 0 ? trials : 1;
}

/* What is left of the budget, shared out to units. */
static double budget_for_unit(const Compilation *c) {
    if (c->tune_deadline <= 0)
        return 0;
    double left = c->tune_deadline - monotonic_seconds();
    int units = c->tune_units_left > 0 ? c->tune_units_left + 1 : 1;
    return left > 0.01 ? left / units : 0.01;
}

static TuneOptions *search_options(Compilation *c, const Target *target, int trials) {
    const Options *o = c->options;
    TuneOptions *options = ARENA_NEW(c->arena, TuneOptions);
    *options = (TuneOptions){.budget_seconds = budget_for_unit(c),
                             .trials = trials,
                             .search = o->search,
                             .cost_model = o->cost_model,
                             .seed = o->seed,
                             .threads = target->threads,
                             .stop = &stop_requested,
                             .progress = show_progress,
                             .progress_context = c->arena};
    if (o->frozen)
        options->trials = 0; /* only what the database holds */
    return options;
}

static Toolchain *open_toolchain(Compilation *c, const Program *program, const Target *target, const char **why) {
    const Options *o = c->options;
    *why = "it does not run on this machine; --runner names a command that starts tensorc-worker where it does";
    if (!target->host && !o->runner)
        return NULL;
    ToolchainOptions options = {.jobs = o->jobs,
                                .threads = target->threads,
                                .seed = o->seed,
                                .strict = o->strict,
                                .runner = o->runner,
                                .stop = &stop_requested};
    return toolchain_open(c->arena, program, target, &options, why);
}

static Schedule *unmeasured_schedule(Compilation *c, const Program *program, const Target *target,
                                     const Schedule *user) {
    return autosched_default(c->arena, program, target, user, EFFORT_MODEL_MORE, c->options->seed);
}

/* What cannot be measured gets the default schedule, and says so. */
static Schedule *fall_back(Compilation *c, const Program *program, const Target *target, const Schedule *user,
                           const char *why) {
    fprintf(stderr, "tensorc: warning: %s is not tuned for %s: %s\n", program->symbol, target->name, why);
    return unmeasured_schedule(c, program, target, user);
}

/* Its versions for known sizes are tuned. An automatic one that leaves sizes open is no news beside its function. */
static Schedule *leave_to_run_time(Compilation *c, const Unit *unit, const Target *target, const Schedule *user) {
    const Program *program = unit->program;
    if (!unit->tune_count && !unit->is_automatic)
        fprintf(stderr,
                "tensorc: warning: %s is not tuned for sizes known at run time only (see 'tune' of an export)\n",
                program->symbol);
    return unmeasured_schedule(c, program, target, user);
}

/* Records can be missed only where the source asks for the function. */
static const Schedule *frozen_schedule(Compilation *c, const Unit **unit, const Target *target, const Schedule *user) {
    const Schedule *found = best_record(c, compilation_database(c), unit, target, user);
    if (!found && (*unit)->is_automatic)
        return unmeasured_schedule(c, (*unit)->program, target, user);
    if (!found)
        complain("%s: the tuning database has no result for %s (--tune-frozen)", (*unit)->program->symbol,
                 target_microarchitecture(target));
    return found;
}

/* A search over the schedules of one program; NULL after a message. */
static TuneResult *tune_program(Compilation *c, Program *program, const Target *target, const Schedule *user,
                                int trials) {
    const char *why = "";
    know_constants(c->arena, program, target); /* once, not for each candidate */
    Toolchain *toolchain = open_toolchain(c, program, target, &why);
    if (!toolchain) {
        TuneResult *result = ARENA_NEW(c->arena, TuneResult);
        result->schedule = fall_back(c, program, target, user, why);
        return result;
    }
    catch_stop_signals();
    TuneResult *result =
        tune(c->arena, program, target, user, toolchain, compilation_database(c), search_options(c, target, trials));
    toolchain_close(toolchain);
    if (result)
        show_result(c, program, result);
    else
        complain("%s: tuning failed", program->symbol);
    return result;
}

/* --- several algorithms --- */

/* The searches for a unit as it is written and with each of its alternatives. */
typedef struct Contest {
    int count;
    int preferred; /* that is taken without measuring: nothing is better than it before it is measured */
    const Unit **units;
    Toolchain **toolchains;
    Tuner **tuners;
} Contest;

static Contest contest_of(Compilation *c, const Unit *all) {
    Contest contest = {.count = all->alternative_count + 1};
    contest.units = ARENA_ARRAY(c->arena, const Unit *, contest.count);
    contest.toolchains = ARENA_ARRAY(c->arena, Toolchain *, contest.count);
    contest.tuners = ARENA_ARRAY(c->arena, Tuner *, contest.count);
    for (int i = 0; i < contest.count; i++)
        contest.units[i] = unit_with(c, all, i - 1);
    return contest;
}

static Tuner *open_tuner(Compilation *c, const Contest *contest, int number, const Target *target) {
    return tuner_new(c->arena, contest->units[number]->program, target, NULL, contest->toolchains[number],
                     compilation_database(c), search_options(c, target, 0));
}

/* Whether the database holds all that the searches would find. */
static bool contest_is_known(Compilation *c, const Unit *all, const Target *target, int trials) {
    Contest contest = contest_of(c, all);
    bool known = true;
    int until, opened = 0;
    while (opened < contest.count && known) {
        contest.tuners[opened] = open_tuner(c, &contest, opened, target);
        known = tuner_trials(contest.tuners[opened++]) > 0;
    }
    known = known && !tuners_next(contest.tuners, contest.count, trials, &until);
    while (opened-- > 0)
        tuner_close(contest.tuners[opened]);
    return known;
}

/* False after a message: nothing can be measured. */
static bool open_toolchains(Compilation *c, const Contest *contest, const Target *target) {
    const char *why = "";
    for (int i = 0; i < contest->count; i++) {
        Program *program = contest->units[i]->program;
        know_constants(c->arena, program, target); /* once, not for each candidate */
        contest->toolchains[i] = open_toolchain(c, program, target, &why);
        if (contest->toolchains[i])
            continue;
        while (i-- > 0)
            toolchain_close(contest->toolchains[i]);
        return false;
    }
    return true;
}

/* Ends a search and says what it did; NULL where that was nothing. */
static TuneResult *end_search(Compilation *c, const Contest *contest, int number) {
    Tuner *tuner = contest->tuners[number];
    TuneResult *result = NULL;
    if (tuner_trials(tuner) > 0 || number == contest->preferred)
        result = tuner_finish(tuner);
    else
        tuner_close(tuner);
    toolchain_close(contest->toolchains[number]);
    if (result && (result->measured > 0 || result->seconds > 0 || !tuner_knows_default(tuner)))
        show_result(c, contest->units[number]->program, result);
    return result;
}

/* The best of what the searches found; the unit becomes the one that it is for. *kept: the database has all of it, and
 * there is enough to compare. */
static const Schedule *end_contest(Compilation *c, const Contest *contest, const Unit **unit, bool *kept) {
    bool comparable = tuner_knows_default(contest->tuners[contest->preferred]);
    const TuneResult *best = NULL;
    *kept = comparable;
    for (int i = 0; i < contest->count; i++) {
        const TuneResult *result = end_search(c, contest, i);
        *kept &= !result || result->unrecorded == 0;
        bool better =
            result && (!best || (result->seconds > 0 && (best->seconds <= 0 || result->seconds < best->seconds)));
        if (comparable ? !better : i != contest->preferred)
            continue;
        best = result;
        *unit = contest->units[i];
    }
    return best->schedule;
}

/* The searches take turns. NULL where nothing can be measured. */
static const Schedule *search_algorithms(Compilation *c, const Unit **unit, const Target *target, int trials) {
    double budget = budget_for_unit(c), deadline = tune_deadline(budget);
    double end = budget > 0 ? monotonic_seconds() + budget : 0;
    const Unit *all = *unit;
    Contest contest = contest_of(c, all);
    if (contest_is_known(c, all, target, trials))
        return best_record(c, compilation_database(c), unit, target, NULL);
    if (!open_toolchains(c, &contest, target))
        return NULL;
    catch_stop_signals();
    for (int i = 0; i < contest.count; i++)
        contest.tuners[i] = open_tuner(c, &contest, i, target);
    contest.preferred = preferred_alternative(c, all, target) + 1;
    Tuner *next = contest.tuners[contest.preferred];
    int until;
    tuner_search(next, 1, deadline);
    bool compared = false, kept;
    while (!stop_requested && (next = tuners_next(contest.tuners, contest.count, trials, &until))) {
        if (until > 1 && !compared)
            tuners_compare(contest.tuners, contest.count, deadline);
        else
            tuner_search(next, until, deadline);
        compared |= until > 1;
    }
    tuners_race(contest.tuners, contest.count, end);
    const Schedule *found = end_contest(c, &contest, unit, &kept);
    const Schedule *recorded = kept ? best_record(c, compilation_database(c), &all, target, NULL) : NULL;
    if (recorded)
        *unit = all; /* the same choice as that of later compilations, from the same records */
    return recorded ? recorded : found;
}

const Schedule *tune_unit(Compilation *c, const Unit **unit, const Target *target, const Schedule *user) {
    if (!compilation_database(c))
        return NULL;
    if ((*unit)->program->size_count)
        return leave_to_run_time(c, *unit, target, user);
    if (c->options->frozen)
        return frozen_schedule(c, unit, target, user);
    int trials = trials_for_unit(c);
    if ((*unit)->alternative_count && !user) {
        const Schedule *best = search_algorithms(c, unit, target, trials);
        if (best)
            return best;
        *unit = unit_with(c, *unit, preferred_alternative(c, *unit, target));
    }
    TuneResult *result = tune_program(c, (*unit)->program, target, user, trials);
    return result ? result->schedule : NULL;
}
