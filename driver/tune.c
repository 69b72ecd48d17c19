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
    fprintf(stderr, "tensorc: tuned %s: %d trials in %.1f s", program->symbol, result->trials, result->elapsed);
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

static double budget_for_unit(const Compilation *c, int units) {
    if (c->tune_deadline <= 0)
        return 0;
    double left = c->tune_deadline - monotonic_seconds();
    return left > 0.01 ? left / (units > 0 ? units : 1) : 0.01;
}

static TuneResult *search(Compilation *c, const Program *program, const Target *target, const Schedule *user,
                          Toolchain *toolchain) {
    const Options *o = c->options;
    int units = c->tune_units_left;
    TuneOptions options = {.budget_seconds = budget_for_unit(c, units),
                           .trials = trials_for_unit(c),
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

static Schedule *frozen_schedule(Compilation *c, const Program *program, const Target *target, const Schedule *user) {
    TuneResult *result = search(c, program, target, user, NULL);
    if (result && result->from_database)
        return result->schedule;
    complain("%s: the tuning database has no result for %s (--tune-frozen)", program->symbol,
             target_microarchitecture(target));
    return NULL;
}

Schedule *tune_unit(Compilation *c, const Unit *unit, const Target *target, const Schedule *user) {
    const Program *program = unit->program;
    const char *why = "";
    if (!compilation_database(c))
        return NULL;
    if (program->size_count && unit->tune_count) /* what is tuned are its versions for known sizes */
        return autosched_default(c->arena, program, target, user, EFFORT_MODEL_MORE, c->options->seed);
    if (c->options->frozen && !program->size_count)
        return frozen_schedule(c, program, target, user);
    Toolchain *toolchain = open_toolchain(c, program, target, &why);
    if (!toolchain)
        return fall_back(c, program, target, user, why);
    catch_stop_signals();
    TuneResult *result = search(c, program, target, user, toolchain);
    toolchain_close(toolchain);
    if (!result) {
        complain("%s: tuning failed", program->symbol);
        return NULL;
    }
    show_result(c, program, result);
    return result->schedule;
}
