/* tune.c - -O tune for one unit: searches if the database does not know enough, and stops in order.
 *
 * The first Ctrl-C ends the searches and keeps the best so far. The second one ends the program.
 */
#include "driver/tune.h"
#include "config.h"
#include "driver/inputs.h"
#include "lang/ending_signals.h"
#include "lang/terminal.h"
#include <math.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

static volatile int stop_requested; /* set by a signal handler, so it cannot be part of a structure */

const volatile int *tune_stop(void) {
    return &stop_requested;
}

static void request_stop(int number) {
    if (stop_requested)
        _exit(128 + number);
    stop_requested = 1;
}

/* Signals that the parent process ignores stay ignored. */
static void catch_stop_signals(void) {
    struct sigaction action = {.sa_handler = request_stop}, old;
    sigemptyset(&action.sa_mask);
    for (int i = 0; i < ENDING_SIGNALS; i++)
        if (!sigaction(ending_signals[i], NULL, &old) && old.sa_handler != SIG_IGN)
            sigaction(ending_signals[i], &action, NULL);
}

/* --- what a function may take --- */

bool can_measure(const Compilation *c, const Target *target) {
    return (target->host || c->options->runner) && backend_can(backend_of(target), CAN_RUN);
}

static int trials_for_unit(const Compilation *c) {
    int units = c->tune_units_left > 0 ? c->tune_units_left : 1;
    int trials = (c->tune_trials_left + units - 1) / units;
    return trials > 0 ? trials : 1;
}

/* With --trials, which counts for the whole file, trials that a function does not use go to the next ones. */
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

/* A function that cannot be measured gets what another machine has recorded. NULL, after a message, if there is
 * nothing. */
static const Schedule *recorded_elsewhere(Compilation *c, const Unit **unit, const Target *target, const Schedule *user,
                                          const char *why) {
    const Schedule *recorded = best_known(c, unit, target, user);
    if (!recorded)
        diag(c->diagnostics, DIAG_not_tuned, (Loc){0}, (*unit)->program->symbol,
             arena_printf(c->arena, " for %s: %s", target->name, why));
    return recorded;
}

/* For a target that this machine cannot run. */
static const Schedule *leave_to_others(Compilation *c, const Unit **unit, const Target *target, const Schedule *user,
                                       const char **origin) {
    const char *why =
        "it does not run on this machine; --runner names a command that starts tensorc-worker where it does";
    const Schedule *recorded = recorded_elsewhere(c, unit, target, user, why);
    if (recorded)
        return recorded;
    *origin = "the default";
    if (!user)
        *unit = unit_with(c, *unit, preferred_alternative(c, *unit, target));
    return unmeasured_schedule(c, (*unit)->program, target, user);
}

/* If nothing could be measured this time: what -O2 chooses. */
static const Schedule *fall_back(Compilation *c, const Unit **unit, const Target *target, const Schedule *user,
                                 const char *why, const char **origin) {
    const Schedule *recorded = recorded_elsewhere(c, unit, target, user, why);
    if (recorded)
        return recorded;
    *origin = "the default";
    return best_default(c, unit, target, user);
}

/* Only versions for known sizes are tuned. For an automatic version with open sizes there is no message, since its
 * function has one. */
static Schedule *leave_to_run_time(Compilation *c, const Unit *unit, const Target *target, const Schedule *user) {
    const Program *program = unit->program;
    if (!unit->tune_count && !unit->is_automatic)
        diag(c->diagnostics, DIAG_not_tuned, (Loc){0}, program->symbol,
             " for sizes known at run time only (see 'tune' of an export)");
    return unmeasured_schedule(c, program, target, user);
}

/* A missing record is an error only for a function that the source asks for. */
static const Schedule *frozen_schedule(Compilation *c, const Unit **unit, const Target *target, const Schedule *user) {
    const Schedule *found = best_known(c, unit, target, user);
    if (!found && (*unit)->is_automatic)
        return unmeasured_schedule(c, (*unit)->program, target, user);
    if (!found)
        complain("%s: the tuning database has no result for %s (--tune-frozen)", (*unit)->program->symbol,
                 target_microarchitecture(target));
    return found;
}

/* --- searches --- */

/* Gives this unit its part of the budget that is left. */
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
    contest.since = monotonic_seconds();
    contest.trials = trials_for_unit(c);
    set_deadlines(c, &contest);
    contest.units = ARENA_ARRAY(c->arena, const Unit *, contest.count);
    contest.programs = ARENA_ARRAY(c->arena, Program *, contest.count);
    contest.tuners = ARENA_ARRAY(c->arena, Tuner *, contest.count);
    contest.shown = ARENA_ARRAY(c->arena, ShownSearch, contest.count);
    for (int i = 0; i < contest.count; i++) {
        contest.units[i] = unit_with(c, all, i - 1);
        contest.programs[i] = contest.units[i]->program;
    }
    contest.inputs = search_inputs(c, all->program, &contest.inputs_name, &contest.inputs_unfit);
    return contest;
}

static const char *inputs_of(const Contest *contest) {
    return contest->inputs_name ? contest->inputs_name : "";
}

/* What the default depends on besides its task: this build of the compiler, and the seed. */
static const char *name_maker(const Compilation *c) {
    struct stat file = {0};
    const char *path = own_path(c->arena);
    if (stat("/proc/self/exe", &file) && (!path || stat(path, &file)))
        return NULL;
    return arena_printf(c->arena, "%s %lld %lld.%09ld %llu", PACKAGE_VERSION, (long long)file.st_size,
                        (long long)file.st_mtim.tv_sec, file.st_mtim.tv_nsec, (unsigned long long)c->options->seed);
}

/* The part of the budget that a function gets in any case. A search that used it counts as done. */
static double own_budget(const Compilation *c) {
    return c->tune_units > 0 ? c->options->budget / c->tune_units : 0;
}

/* The processor's name; NULL: the system does not tell. */
static const char *name_processor(Arena *arena) {
    FILE *file = fopen("/proc/cpuinfo", "r");
    char line[256], name[200];
    const char *found = NULL;
    while (file && !found && fgets(line, sizeof line, file))
        if (sscanf(line, "model name : %199[^\n]", name) == 1)
            found = arena_strdup(arena, name);
    if (file)
        fclose(file);
    return found;
}

/* Where candidates run: the processor and the host, or the runner that knows them. */
static const char *name_device(const Compilation *c) {
    struct utsname host;
    const char *processor = name_processor(c->arena);
    if (c->options->runner)
        return arena_printf(c->arena, "runner: %s", c->options->runner);
    bool named = uname(&host) == 0;
    return arena_printf(c->arena, "%s%s%s", processor ? processor : named ? host.machine : "", named ? " on " : "",
                        named ? host.nodename : "");
}

static ToolchainOptions toolchain_options(Compilation *c, const Contest *contest) {
    const Options *o = c->options;
    return (ToolchainOptions){.backend = backend_of(contest->target),
                              .jobs = o->jobs,
                              .threads = contest->target->threads,
                              .seed = o->seed,
                              .strict = o->strict,
                              .runner = o->runner,
                              .stop = &stop_requested,
                              .locks_warned = &c->locks_warned,
                              .deadline = contest->end};
}

/* What the tasks of a function are measured with. */
typedef struct TaskBench {
    Compilation *compilation;
    const Contest *contest;
} TaskBench;

/* For a task of a function, whose arguments are not the function's: their contents are random. */
static const Toolchain *open_for_task(void *context, Program *program) {
    const TaskBench *bench = context;
    Compilation *c = bench->compilation;
    ToolchainOptions options = toolchain_options(c, bench->contest);
    Program **programs = ARENA_ARRAY(c->arena, Program *, 1); /* lives as long as the toolchain */
    const char *why;
    bool transient;
    programs[0] = program;
    know_constants(c->arena, program, bench->contest->target);
    Toolchain *const *opened =
        toolchains_open(c->arena, programs, 1, bench->contest->target, &options, &why, &transient);
    return opened ? opened[0] : NULL;
}

static void close_for_task(void *context, const Toolchain *toolchain) {
    (void)context;
    toolchains_close((Toolchain *const[]){(Toolchain *)toolchain});
}

static const Workshop *workshop_of(Compilation *c, const Contest *contest) {
    Workshop *workshop = ARENA_NEW(c->arena, Workshop);
    TaskBench *bench = ARENA_NEW(c->arena, TaskBench);
    *bench = (TaskBench){c, contest};
    *workshop = (Workshop){bench, open_for_task, close_for_task};
    return workshop;
}

static TuneOptions *search_options(Compilation *c, const Contest *contest, int number) {
    const Options *o = c->options;
    contest->shown[number] = (ShownSearch){.contest = contest};
    TuneOptions *options = ARENA_NEW(c->arena, TuneOptions);
    *options =
        (TuneOptions){.trials = contest->trials,
                      .maker = search_is_cold(o->search) ? NULL : name_maker(c),
                      .file = c->input,
                      .budget_seconds = own_budget(c),
                      .inputs = contest->inputs_name,
                      .device = name_device(c),
                      .toolchain = "tensorc " PACKAGE_VERSION ", LLVM " LLVM_VERSION_TEXT,
                      .processors = o->runner ? 0 : (int)sysconf(_SC_NPROCESSORS_ONLN),
                      .log = c->log,
                      .search = o->search,
                      .scheduler = o->scheduler,
                      .workshop = workshop_of(c, contest),
                      .cost_model = o->cost_model,
                      .seed = o->seed,
                      .threads = contest->target->threads,
                      .standard = contest->user ? NULL : known_choice(c, contest->programs[number], contest->target),
                      .stop = &stop_requested,
                      .progress = show_progress,
                      .progress_context = &contest->shown[number]};
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

static bool contest_is_known(Compilation *c, const Contest *contest, int *used) {
    const TuneOptions *options = search_options(c, contest, 0);
    return options->maker && searches_are_known(c->arena, compilation_database(c), contest->programs, contest->count,
                                                contest->target, contest->user, options, used);
}

/* False if nothing can be measured. *transient: it may work another time, and the runner is not the cause. */
static bool open_toolchains(Compilation *c, Contest *contest, const char **why, bool *transient) {
    ToolchainOptions options = toolchain_options(c, contest);
    options.inputs = contest->inputs;
    for (int i = 0; i < contest->count; i++)
        know_constants(c->arena, contest->programs[i], contest->target); /* once here, not for each candidate */
    contest->toolchains =
        toolchains_open(c->arena, contest->programs, contest->count, contest->target, &options, why, transient);
    return contest->toolchains != NULL;
}

/* The searches take turns. The one that is preferred without measuring goes first. */
static void search_in_turns(Contest *contest) {
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
    contest->spent = contest->deadline > 0 && !stop_requested && monotonic_seconds() >= contest->deadline;
    tuners_race(contest->tuners, contest->count, contest->end);
}

/* NULL if the search did nothing. */
static TuneResult *end_search(const Contest *contest, int number) {
    Tuner *tuner = contest->tuners[number];
    if (tuner_trials(tuner) > 0 || number == contest->preferred)
        return tuner_finish(tuner);
    tuner_close(tuner);
    return NULL;
}

/* The best result of all searches. Until the default of the preferred one is measured, it is that one. */
static int choose_result(const Contest *contest, TuneResult *const *results) {
    int best = contest->preferred;
    for (int i = 0; i < contest->count && tuner_knows_default(contest->tuners[contest->preferred]); i++)
        if (results[i] && results[i]->seconds > 0 &&
            (results[best]->seconds <= 0 || results[i]->seconds < results[best]->seconds))
            best = i;
    return best;
}

/* Warns of a search whose machine was lost before the end, or that has nothing to compare with. */
static void warn_of_failure(const Compilation *c, const Contest *contest, TuneResult *const *results, int best) {
    const TuneResult *result = results[contest->preferred];
    for (int i = 0; i < contest->count; i++)
        result = results[i] && results[i]->lost ? results[i] : result;
    if (result->why && !result->stopped && (result->lost || results[best]->seconds <= 0))
        diag(c->diagnostics, DIAG_not_tuned, (Loc){0}, contest->programs[best]->symbol,
             arena_printf(c->arena, "%s: %s", results[best]->seconds > 0 ? " to the end" : "", result->why));
}

static bool is_lost(const Contest *contest) {
    for (int i = 0; i < contest->count; i++)
        if (tuner_is_lost(contest->tuners[i]))
            return true;
    return false;
}

/* Ends the searches. *unit becomes the one that the best schedule is for. *kept: the database has all results, and
 * enough of them to compare. */
static const Schedule *end_contest(Compilation *c, Contest *contest, const Unit **unit, bool *kept,
                                   const char **origin) {
    TuneResult **results = ARENA_ARRAY(c->arena, TuneResult *, contest->count);
    *kept = tuner_knows_default(contest->tuners[contest->preferred]);
    for (int i = 0; i < contest->count; i++) {
        results[i] = end_search(contest, i);
        *kept &= !results[i] || results[i]->unrecorded == 0;
    }
    int best = choose_result(contest, results);
    toolchains_close(contest->toolchains);
    progress_end(contest);
    show_results(c, contest, results, best);
    warn_of_failure(c, contest, results, best);
    *origin = results[best]->seconds > 0 ? "tuning" : "the default";
    *unit = contest->units[best];
    return results[best]->schedule;
}

/* Chooses the preferred algorithm. The functions of packed arguments are chosen after the search, which takes as long
 * again, so that time is reserved. */
static void choose_preferred(Compilation *c, const Unit *all, Contest *contest) {
    double since = monotonic_seconds();
    contest->preferred = preferred_alternative(c, all, contest->target) + 1;
    bool packs = contest->end > 0 && c->options->mode != MODE_RUN && !all->is_version && packing_unit(c, all);
    double kept = packs ? monotonic_seconds() - since : 0;
    contest->deadline -= kept;
    contest->end -= kept;
}

static const Schedule *search_algorithms(Compilation *c, const Unit **unit, Contest *contest, int *used,
                                         const char **origin) {
    const Unit *all = *unit;
    catch_stop_signals();
    if (contest->inputs_unfit)
        show(stderr, "tensorc: %s is measured with random contents where a file does not fit: %s\n",
             all->program->symbol, contest->inputs_unfit);
    progress_begin(c, contest);
    if (!contest->user)
        choose_preferred(c, all, contest);
    for (int i = 0; i < contest->count; i++)
        contest->tuners[i] = open_tuner(c, contest, i);
    search_in_turns(contest);
    *used = count_used(contest);
    bool kept;
    const Schedule *found = end_contest(c, contest, unit, &kept, origin);
    if (kept && contest->spent && !is_lost(contest))
        searches_note_budget(c->arena, compilation_database(c), contest->programs, contest->count, contest->target,
                             contest->user, search_options(c, contest, 0));
    const Schedule *recorded = kept ? best_record(c, &all, contest->target, contest->user, inputs_of(contest)) : NULL;
    if (recorded) {
        *unit = all; /* the choice of later compilations, from the same records */
        *origin = "tuning";
    }
    return recorded ? recorded : found;
}

static const Schedule *search_unit(Compilation *c, const Unit **unit, const Target *target, const Schedule *user,
                                   const char **origin) {
    Contest contest = contest_of(c, *unit, target, user);
    const Schedule *found = NULL;
    const char *why = "";
    bool transient = true;
    int used = 0;
    if (contest_is_known(c, &contest, &used))
        found = best_record(c, unit, target, user, inputs_of(&contest));
    if (found)
        show_found(c, (*unit)->program);
    else if (open_toolchains(c, &contest, &why, &transient))
        found = search_algorithms(c, unit, &contest, &used, origin);
    else if (stop_requested) {
        why = "the search was stopped";
        transient = true;
    }
    count_trials(c, contest.trials, used);
    if (!transient)
        complain("%s cannot be tuned: %s", (*unit)->program->symbol, why);
    return found || !transient ? found : fall_back(c, unit, target, user, why, origin);
}

const Schedule *tune_unit(Compilation *c, const Unit **unit, const Target *target, const Schedule *user,
                          const char **origin) {
    bool open = (*unit)->program->size_count > 0;
    *origin = open ? "the default" : "tuning";
    if (!compilation_database(c))
        return NULL;
    if (open)
        return leave_to_run_time(c, *unit, target, user);
    if (c->options->frozen)
        return frozen_schedule(c, unit, target, user);
    return can_measure(c, target) ? search_unit(c, unit, target, user, origin)
                                  : leave_to_others(c, unit, target, user, origin);
}
