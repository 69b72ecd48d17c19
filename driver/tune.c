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

/* What is left of the budget, shared out to units; part: of a unit's share. */
static double budget_for_unit(const Compilation *c, double part) {
    if (c->tune_deadline <= 0)
        return 0;
    double left = c->tune_deadline - monotonic_seconds();
    int units = c->tune_units_left + 1;
    return left > 0.01 ? left / units * part : 0.01;
}

static TuneResult *search(Compilation *c, const Program *program, const Target *target, const Schedule *user,
                          Toolchain *toolchain, int trials, double part) {
    const Options *o = c->options;
    TuneOptions options = {.budget_seconds = budget_for_unit(c, part),
                           .trials = trials,
                           .search = o->search,
                           .cost_model = o->cost_model,
                           .seed = o->seed,
                           .threads = target->threads,
                           .stop = &stop_requested,
                           .progress = show_progress,
                           .progress_context = c->arena};
    if (o->frozen)
        options.trials = 0; /* only what the database holds */
    return tune(c->arena, program, target, user, toolchain, compilation_database(c), &options);
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

/* What cannot be measured gets the default schedule, and says so. */
static Schedule *fall_back(Compilation *c, const Program *program, const Target *target, const Schedule *user,
                           const char *why) {
    fprintf(stderr, "tensorc: warning: %s is not tuned for %s: %s\n", program->symbol, target->name, why);
    return autosched_default(c->arena, program, target, user, EFFORT_MODEL_MORE, c->options->seed);
}

/* The best that the database holds, whatever the algorithms. */
static Schedule *recorded_schedule(Compilation *c, const Unit **unit, const Target *target, const Schedule *user) {
    const Unit *all = *unit;
    TuneResult *best = NULL;
    for (int i = -1; i < (user ? 0 : all->alternative_count); i++) {
        const Unit *one = unit_with(c, all, i);
        TuneResult *result = search(c, one->program, target, user, NULL, 0, 1);
        if (!result || !result->from_database || (best && result->seconds >= best->seconds))
            continue;
        best = result;
        *unit = one;
    }
    return best ? best->schedule : NULL;
}

static Schedule *frozen_schedule(Compilation *c, const Unit **unit, const Target *target, const Schedule *user) {
    Schedule *found = recorded_schedule(c, unit, target, user);
    if (!found)
        complain("%s: the tuning database has no result for %s (--tune-frozen)", (*unit)->program->symbol,
                 target_microarchitecture(target));
    return found;
}

/* A search over the schedules of one program; NULL after a message. */
static TuneResult *tune_program(Compilation *c, Program *program, const Target *target, const Schedule *user,
                                int trials, double part) {
    const char *why = "";
    know_constants(c->arena, program, target); /* once, not for each candidate */
    Toolchain *toolchain = open_toolchain(c, program, target, &why);
    if (!toolchain) {
        TuneResult *result = ARENA_NEW(c->arena, TuneResult);
        result->schedule = fall_back(c, program, target, user, why);
        return result;
    }
    catch_stop_signals();
    TuneResult *result = search(c, program, target, user, toolchain, trials, part);
    toolchain_close(toolchain);
    if (result)
        show_result(c, program, result);
    else
        complain("%s: tuning failed", program->symbol);
    return result;
}

/* Half of the trials find out which algorithms are the best, the rest are theirs. What was measured is in the database,
 * where the second search goes on with it. Returns how many are left for the best. */
static int choose_algorithms(Compilation *c, const Unit **unit, const Target *target, int trials) {
    const Unit *all = *unit;
    int choices = all->alternative_count + 1, share = trials / (2 * choices) > 0 ? trials / (2 * choices) : 1;
    double best = HUGE_VAL;
    *unit = unit_with(c, all, -1);
    for (int i = -1; i < all->alternative_count && !stop_requested; i++) {
        const Unit *one = unit_with(c, all, i);
        TuneResult *result = tune_program(c, one->program, target, NULL, share, 0.5 / (choices - i - 1));
        if (!result || result->seconds <= 0 || result->seconds >= best)
            continue;
        best = result->seconds;
        *unit = one;
    }
    int left = trials - share * (choices - 1);
    return left > share ? left : share;
}

Schedule *tune_unit(Compilation *c, const Unit **unit, const Target *target, const Schedule *user) {
    const Program *program = (*unit)->program;
    if (!compilation_database(c))
        return NULL;
    if (program->size_count && (*unit)->tune_count) /* what is tuned are its versions for known sizes */
        return autosched_default(c->arena, program, target, user, EFFORT_MODEL_MORE, c->options->seed);
    if (c->options->frozen && !program->size_count)
        return frozen_schedule(c, unit, target, user);
    int trials = trials_for_unit(c);
    const Unit *all = *unit;
    bool several = all->alternative_count && !user && !program->size_count;
    if (several)
        trials = choose_algorithms(c, unit, target, trials);
    TuneResult *result = tune_program(c, (*unit)->program, target, user, trials, 1);
    Schedule *best = several && result ? recorded_schedule(c, &all, target, user) : NULL;
    if (best)
        *unit = all; /* the same choice as that of later compilations, from the same records */
    return best ? best : result ? result->schedule : NULL;
}
