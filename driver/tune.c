/* tune.c - -O tune for one unit: opens the toolchain and the database, shows progress, stops well.
 *
 * On a terminal one line is rewritten in place; elsewhere a line is printed at the end alone. The first Ctrl-C ends the
 * searches with the best so far; the second ends the program.
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

/* Who started the compiler may have had it ignore them. */
static void catch_stop_signals(void) {
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = request_stop}, old;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (!sigaction(numbers[i], NULL, &old) && old.sa_handler != SIG_IGN)
            sigaction(numbers[i], &action, NULL);
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

/* --- what a function may take --- */

bool can_measure(const Compilation *c, const Target *target) {
    return target->host || c->options->runner;
}

static int trials_for_unit(const Compilation *c) {
    int units = c->tune_units_left > 0 ? c->tune_units_left : 1;
    int trials = (c->tune_trials_left + units - 1) / units;
    return trials > 0 ? trials : 1;
}

/* What a function leaves of its trials, the next ones have; where they are not counted for the whole file, it does not need
 * them. */
static void count_trials(Compilation *c, int trials, int used) {
    bool shared = c->options->trials && used < trials;
    c->tune_units_left--;
    c->tune_trials_left -= shared ? used : trials;
}

/* --- what is not measured --- */

static Schedule *unmeasured_schedule(Compilation *c, const Program *program, const Target *target,
                                     const Schedule *user) {
    return autosched_default(c->arena, program, target, user, EFFORT_MODEL_MORE, c->options->seed);
}

/* What cannot be measured gets what another machine has recorded, or the default schedule, and says so. */
static const Schedule *fall_back(Compilation *c, const Unit **unit, const Target *target, const Schedule *user,
                                 const char *why) {
    const Schedule *recorded = best_record(c, compilation_database(c), unit, target, user);
    if (recorded)
        return recorded;
    fprintf(stderr, "tensorc: warning: %s is not tuned for %s: %s\n", (*unit)->program->symbol, target->name, why);
    if (!user)
        *unit = unit_with(c, *unit, preferred_alternative(c, *unit, target));
    return unmeasured_schedule(c, (*unit)->program, target, user);
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

/* --- searches --- */

/* The searches for a unit as it is written and with each of its alternatives; under a block of the user's there is one. */
typedef struct Contest {
    const Target *target;
    const Schedule *user;
    int count, trials;
    double deadline, end; /* of searching, of the race after it; 0: none */
    int preferred;        /* that is taken without measuring: nothing is better than it before it is measured */
    const Unit **units;
    Program **programs;
    Toolchain *const *toolchains; /* NULL: nothing is measured */
    Tuner **tuners;
} Contest;

/* Its part of what is left of the budget. */
static void set_deadlines(const Compilation *c, Contest *contest) {
    if (c->tune_deadline <= 0)
        return;
    double now = monotonic_seconds(), left = fmax(c->tune_deadline - now, 1e-3);
    double part = left / (c->tune_units_left > 0 ? c->tune_units_left : 1);
    contest->deadline = tune_deadline(part);
    contest->end = now + part;
}

static Contest contest_of(Compilation *c, const Unit *all, const Target *target, const Schedule *user) {
    Contest contest = {.target = target, .user = user, .count = user ? 1 : all->alternative_count + 1};
    contest.trials = trials_for_unit(c);
    set_deadlines(c, &contest);
    contest.units = ARENA_ARRAY(c->arena, const Unit *, contest.count);
    contest.programs = ARENA_ARRAY(c->arena, Program *, contest.count);
    contest.tuners = ARENA_ARRAY(c->arena, Tuner *, contest.count);
    for (int i = 0; i < contest.count; i++) {
        contest.units[i] = unit_with(c, all, i - 1);
        contest.programs[i] = contest.units[i]->program;
    }
    return contest;
}

static TuneOptions *search_options(Compilation *c, const Contest *contest, int number) {
    const Options *o = c->options;
    TuneOptions *options = ARENA_NEW(c->arena, TuneOptions);
    *options =
        (TuneOptions){.trials = contest->trials,
                      .search = o->search,
                      .cost_model = o->cost_model,
                      .seed = o->seed,
                      .threads = contest->target->threads,
                      .standard = contest->user ? NULL : known_choice(c, contest->programs[number], contest->target),
                      .stop = &stop_requested,
                      .progress = show_progress,
                      .progress_context = c->arena};
    return options;
}

static Tuner *open_tuner(Compilation *c, const Contest *contest, int number) {
    return tuner_new(c->arena, contest->programs[number], contest->target, contest->user,
                     contest->toolchains ? contest->toolchains[number] : NULL, compilation_database(c),
                     search_options(c, contest, number));
}

static int count_used(const Contest *contest) {
    int used = 0;
    for (int i = 0; i < contest->count; i++)
        used += tuner_trials(contest->tuners[i]);
    return used;
}

/* Whether the database holds all that the searches would find. A single search looks whether the default is there; with
 * several that would take as long as to choose anew. */
static bool contest_is_known(Compilation *c, const Contest *contest, int *used) {
    bool known = true;
    int until, opened = 0;
    while (opened < contest->count && known) {
        contest->tuners[opened] = open_tuner(c, contest, opened);
        known = tuner_trials(contest->tuners[opened++]) > 0;
    }
    known = known && !tuners_next(contest->tuners, contest->count, contest->trials, &until) &&
            (contest->count > 1 || tuner_seek_default(contest->tuners[0]));
    *used = known ? count_used(contest) : 0;
    while (opened-- > 0)
        tuner_close(contest->tuners[opened]);
    return known;
}

/* False: nothing can be measured. */
static bool open_toolchains(Compilation *c, Contest *contest, const char **why) {
    const Options *o = c->options;
    ToolchainOptions options = {.jobs = o->jobs,
                                .threads = contest->target->threads,
                                .seed = o->seed,
                                .strict = o->strict,
                                .runner = o->runner,
                                .stop = &stop_requested,
                                .deadline = contest->end};
    for (int i = 0; i < contest->count; i++)
        know_constants(c->arena, contest->programs[i], contest->target); /* once, not for each candidate */
    contest->toolchains = toolchains_open(c->arena, contest->programs, contest->count, contest->target, &options, why);
    return contest->toolchains != NULL;
}

/* The searches take turns. What is preferred without measuring is measured first. */
static void search_in_turns(const Contest *contest) {
    Tuner *next = contest->tuners[contest->preferred];
    int until;
    tuner_search(next, 1, contest->deadline);
    bool compared = contest->count == 1;
    while (!stop_requested && (next = tuners_next(contest->tuners, contest->count, contest->trials, &until))) {
        if (until > 1 && !compared)
            tuners_compare(contest->tuners, contest->count, contest->deadline);
        else
            tuner_search(next, until, contest->deadline);
        compared |= until > 1;
    }
    tuners_race(contest->tuners, contest->count, contest->end);
}

/* Ends a search and says what it did; NULL where that was nothing. */
static TuneResult *end_search(Compilation *c, const Contest *contest, int number) {
    Tuner *tuner = contest->tuners[number];
    TuneResult *result = NULL;
    if (tuner_trials(tuner) > 0 || number == contest->preferred)
        result = tuner_finish(tuner);
    else
        tuner_close(tuner);
    if (result && (result->measured > 0 || result->seconds > 0 || !tuner_knows_default(tuner)))
        show_result(c, contest->programs[number], result);
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
    toolchains_close(contest->toolchains);
    return best->schedule;
}

static const Schedule *search_algorithms(Compilation *c, const Unit **unit, Contest *contest, int *used) {
    const Unit *all = *unit;
    catch_stop_signals();
    if (!contest->user)
        contest->preferred = preferred_alternative(c, all, contest->target) + 1;
    for (int i = 0; i < contest->count; i++)
        contest->tuners[i] = open_tuner(c, contest, i);
    search_in_turns(contest);
    *used = count_used(contest);
    bool kept;
    const Schedule *found = end_contest(c, contest, unit, &kept);
    const Schedule *recorded =
        kept ? best_record(c, compilation_database(c), &all, contest->target, contest->user) : NULL;
    if (recorded)
        *unit = all; /* the same choice as that of later compilations, from the same records */
    return recorded ? recorded : found;
}

static const Schedule *search_unit(Compilation *c, const Unit **unit, const Target *target, const Schedule *user) {
    Contest contest = contest_of(c, *unit, target, user);
    const Schedule *found = NULL;
    const char *why = "";
    int used = 0;
    if (contest_is_known(c, &contest, &used))
        found = best_record(c, compilation_database(c), unit, target, user);
    if (!found && open_toolchains(c, &contest, &why))
        found = search_algorithms(c, unit, &contest, &used);
    count_trials(c, contest.trials, used);
    return found ? found : fall_back(c, unit, target, user, why);
}

const Schedule *tune_unit(Compilation *c, const Unit **unit, const Target *target, const Schedule *user) {
    if (!compilation_database(c))
        return NULL;
    if ((*unit)->program->size_count)
        return leave_to_run_time(c, *unit, target, user);
    if (c->options->frozen)
        return frozen_schedule(c, unit, target, user);
    if (can_measure(c, target))
        return search_unit(c, unit, target, user);
    return fall_back(
        c, unit, target, user,
        "it does not run on this machine; --runner names a command that starts tensorc-worker where it does");
}
