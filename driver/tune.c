/* tune.c - -O tune for a file: lends the searches what they measure with, and stops them in order. What is searched,
 * and with how many trials, autosched_tune decides.
 *
 * The first Ctrl-C ends the searches and keeps the best so far. The second one ends the program.
 */
#include "driver/tune.h"
#include "config.h"
#include "driver/inputs.h"
#include "lang/ending_signals.h"
#include "lang/terminal.h"
#include "sema/interpreter.h"
#include <signal.h>
#include <string.h>
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

/* --- what is not measured --- */

/* What is chosen without a search gets the time of one. */
static Plan unmeasured_plan(Compilation *c, const PlanFunction *asked) {
    Planner planner = c->planner;
    planner.effort = EFFORT_MODEL_MORE;
    return plan_default(&planner, asked);
}

/* A function that cannot be measured gets what another machine has recorded. No plan, after a message, if there is
 * nothing. */
static Plan recorded_elsewhere(Compilation *c, const Function *function, const char *why) {
    Plan recorded = plan_recorded(&c->planner, &function->asked);
    if (!recorded.program)
        diag(c->diagnostics, DIAG_not_tuned, (Loc){0}, function->unit->program->symbol,
             arena_printf(c->arena, " for %s: %s", function->target->name, why));
    return recorded;
}

/* For a target that this machine cannot run. */
static Plan leave_to_others(Compilation *c, const Function *function) {
    const char *why =
        "it does not run on this machine; --runner names a command that starts tensorc-worker where it does";
    Plan recorded = recorded_elsewhere(c, function, why);
    return recorded.program ? recorded : unmeasured_plan(c, &function->asked);
}

/* If nothing could be measured this time: what -O2 chooses. */
static Plan fall_back(Compilation *c, const Function *function, const char *why) {
    Plan recorded = recorded_elsewhere(c, function, why);
    return recorded.program ? recorded : plan_default(&c->planner, &function->asked);
}

static Plan unmeasured_as_written(Compilation *c, const Function *function) {
    PlanFunction asked = function->asked;
    asked.count = 1;
    return unmeasured_plan(c, &asked);
}

/* Only versions for known sizes are tuned. For an automatic version with open sizes there is no message, since its
 * function has one. */
static Plan leave_to_run_time(Compilation *c, const Function *function) {
    const Unit *unit = function->unit;
    if (!unit->tune_count && !unit->is_automatic)
        diag(c->diagnostics, DIAG_not_tuned, (Loc){0}, unit->program->symbol,
             " for sizes known at run time only (see 'tune' of an export)");
    return unmeasured_as_written(c, function);
}

/* A missing record is an error only for a function that the source asks for. */
static Plan frozen_plan(Compilation *c, const Function *function) {
    Plan found = plan_recorded(&c->planner, &function->asked);
    if (!found.program && function->unit->is_automatic)
        return unmeasured_as_written(c, function);
    if (!found.program)
        complain("%s: the tuning database has no result for %s (--tune-frozen)", function->unit->program->symbol,
                 target_microarchitecture(function->target));
    return found;
}

bool tuned_plan(Compilation *c, const Function *function, Plan *plan) {
    *plan = function->plan;
    if (plan->program)
        return true;
    bool exact = plan_is_exact(&c->planner, &function->asked);
    c->planner.database = exact ? NULL : compilation_database(c);
    if (exact)
        *plan = autosched_choose(&c->planner, &function->asked);
    else if (!c->planner.database)
        return false;
    else if (function->unit->program->size_count)
        *plan = leave_to_run_time(c, function);
    else
        *plan = c->options->frozen ? frozen_plan(c, function) : leave_to_others(c, function);
    return plan->program != NULL;
}

/* --- what the searches are lent --- */

/* Above so many operations, about two seconds, the interpreter does not compute the values. */
static const double long_cost = 1e8;

/* NULL: the interpreter computes the values. */
static const ReferenceProgram *reference_for(TunedFile *file, const Program *program, const Target *target) {
    Compilation *c = file->compilation;
    const Program *meaning = program_meaning(program);
    int64_t sizes[1];
    ReferenceProgram *reference = address_map_get(&file->references, meaning);
    if (!reference) {
        reference = ARENA_NEW(c->arena, ReferenceProgram);
        if (interpreter_cost(meaning, sizes) > long_cost)
            reference->program = program_exposed(c->arena, meaning);
        if (reference->program)
            reference->schedule =
                autosched_default(c->arena, reference->program, target, NULL, EFFORT_ROUGH, c->options->seed);
        address_map_set(c->arena, &file->references, meaning, reference);
    }
    return reference->program ? reference : NULL;
}

static ToolchainOptions toolchain_options(const TunedFile *file, const Function *function, double end) {
    Compilation *c = file->compilation;
    const Options *o = c->options;
    return (ToolchainOptions){.backend = backend_of(function->target),
                              .jobs = o->jobs,
                              .threads = function->target->threads,
                              .seed = o->seed,
                              .strict = o->strict,
                              .runner = o->runner,
                              .stop = &stop_requested,
                              .locks_warned = &c->locks_warned,
                              .answered = &c->runner_answered,
                              .verbose = o->verbose,
                              .deadline = end};
}

static Toolchain *const *open_for_function(void *context, int number, double end, const char **why, bool *transient) {
    TunedFile *file = context;
    Compilation *c = file->compilation;
    const Function *function = file->functions[number];
    const PlanFunction *asked = &file->asked[number];
    ToolchainOptions options = toolchain_options(file, function, end);
    options.inputs = file->inputs[number];
    options.given = given_inputs(c, function->unit->program);
    if (!asked->programs[0]->size_count)
        options.reference = reference_for(file, asked->programs[0], asked->target);
    for (int i = 0; i < asked->count; i++)
        know_constants(c->arena, asked->programs[i], asked->target); /* once here, not for each candidate */
    return toolchains_open(c->arena, asked->programs, asked->count, asked->target, &options, why, transient);
}

static void close_toolchains(void *context, Toolchain *const *toolchains) {
    (void)context;
    toolchains_close(toolchains);
}

/* For a task of a function, whose arguments are not the function's: their contents are random. */
static const Toolchain *open_for_task(void *context, int number, Program *program, double end) {
    TunedFile *file = context;
    Compilation *c = file->compilation;
    const Target *target = file->functions[number]->target;
    ToolchainOptions options = toolchain_options(file, file->functions[number], end);
    Program **programs = ARENA_ARRAY(c->arena, Program *, 1); /* lives as long as the toolchain */
    const char *why;
    bool transient;
    programs[0] = program;
    options.reference = reference_for(file, program, target);
    know_constants(c->arena, program, target);
    Toolchain *const *opened = toolchains_open(c->arena, programs, 1, target, &options, &why, &transient);
    return opened ? opened[0] : NULL;
}

static void close_for_task(void *context, const Toolchain *toolchain) {
    (void)context;
    toolchains_close((Toolchain *const[]){(Toolchain *)toolchain});
}

static void begin_function(void *context, int number, int trials, double end) {
    TunedFile *file = context;
    const PlanFunction *asked = &file->asked[number];
    progress_end(file);
    catch_stop_signals();
    file->end = end;
    const Program *program = file->functions[number]->unit->program;
    const char *counts = random_term_counts(file->compilation, program);
    if (file->unfit[number])
        show(stderr, "tensorc: %s is measured with random contents where a file does not fit: %s\n", program->symbol,
             file->unfit[number]);
    if (counts)
        show(stderr,
             "tensorc: %s is measured with random contents of %s, which decide how many terms there are: "
             "--input=%s=FILE.npy gives real ones\n",
             program->symbol, counts, counts);
    file->shown[number] =
        (ShownSearches){asked, trials, ARENA_ARRAY(file->compilation->arena, TuneProgress, asked->count), 0};
    file->current = number;
    file->going++;
    progress_begin(file);
}

/* Warns of a search whose machine was lost before the end, or that has nothing to compare with. */
static void warn_of_failure(const Compilation *c, const FunctionTuning *tuning) {
    const TuneResult *result = tuning->results[tuning->preferred], *best = tuning->results[tuning->best];
    for (int i = 0; i < tuning->function->count; i++)
        result = tuning->results[i] && tuning->results[i]->lost ? tuning->results[i] : result;
    if (result->why && !result->stopped && (result->lost || best->seconds <= 0))
        diag(c->diagnostics, DIAG_not_tuned, (Loc){0}, tuning->function->programs[tuning->best]->symbol,
             arena_printf(c->arena, "%s: %s", best->seconds > 0 ? " to the end" : "", result->why));
}

/* What the function gets; a plan that another machine recorded, or the default, where nothing was measured. */
static void end_function(void *context, int number, const FunctionTuning *tuning) {
    TunedFile *file = context;
    Compilation *c = file->compilation;
    Function *function = file->functions[number];
    function->plan = tuning->plan;
    file->going -= file->shown[number].function != NULL;
    progress_end(file);
    if (tuning->results) {
        show_results(c, tuning);
        warn_of_failure(c, tuning);
    } else if (tuning->plan.program) {
        show_found(c, tuning->plan.program);
    } else if (tuning->transient) {
        function->plan = fall_back(c, function, tuning->why);
    } else {
        complain("%s cannot be tuned: %s", function->unit->program->symbol, tuning->why);
    }
    if (file->going)
        progress_begin(file);
}

static const TuneBench *bench_of(TunedFile *file) {
    TuneBench *bench = ARENA_NEW(file->compilation->arena, TuneBench);
    *bench = (TuneBench){.context = file,
                         .open = open_for_function,
                         .close = close_toolchains,
                         .open_task = open_for_task,
                         .close_task = close_for_task,
                         .begin = begin_function,
                         .progress = show_progress,
                         .end = end_function};
    return bench;
}

/* --- what is measured where --- */

/* This build of the compiler; NULL: it is not known. */
static const char *name_compiler(const Compilation *c) {
    struct stat file = {0};
    const char *path = own_path(c->arena);
    if (stat("/proc/self/exe", &file) && (!path || stat(path, &file)))
        return NULL;
    return arena_printf(c->arena, "%s %lld %lld.%09ld", PACKAGE_VERSION, (long long)file.st_size,
                        (long long)file.st_mtim.tv_sec, file.st_mtim.tv_nsec);
}

/* What the default depends on besides its task. */
static const char *name_maker(const Compilation *c, const char *compiler) {
    return arena_printf(c->arena, "%s %llu", compiler, (unsigned long long)c->options->seed);
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
    return arena_printf(c->arena, "%s%s%s",
                        processor ? processor
                        : named   ? host.machine
                                  : "",
                        named ? " on " : "", named ? host.nodename : "");
}

static TuneOptions search_options(Compilation *c) {
    const Options *o = c->options;
    const char *compiler = search_is_cold(o->search) ? NULL : name_compiler(c);
    return (TuneOptions){.trials = o->trials,
                         .compiler = compiler,
                         .maker = compiler ? name_maker(c, compiler) : NULL,
                         .file = c->input,
                         .budget_seconds = o->budget,
                         .device = name_device(c),
                         .toolchain = "tensorc " PACKAGE_VERSION ", LLVM " LLVM_VERSION_TEXT,
                         .processors = o->runner ? 0 : (int)sysconf(_SC_NPROCESSORS_ONLN),
                         .log = c->log,
                         .search = o->search,
                         .scheduler = o->scheduler,
                         .cost_model = o->cost_model,
                         .seed = o->seed,
                         .stop = &stop_requested};
}

/* --- the functions of a file --- */

static bool is_searched(const Compilation *c, const Function *function) {
    return can_measure(c, function->target) && !plan_is_exact(&c->planner, &function->asked) &&
           !function->unit->program->size_count;
}

typedef LIST(Function *) Functions;

/* Adds the function and its versions, those that are searched for. False after a message. */
static bool add_searched(Compilation *c, const Unit *unit, const Target *target, Functions *searched) {
    Function *function = function_of(c, unit, target);
    if (!function)
        return false;
    if (is_searched(c, function))
        list_push(c->arena, searched, function);
    for (int v = 0; v < function->version_count; v++)
        if (!add_searched(c, function->versions[v], target, searched))
            return false;
    return true;
}

static TunedFile *file_of(Compilation *c, const Functions *searched) {
    TunedFile *file = ARENA_NEW(c->arena, TunedFile);
    int count = searched->count;
    *file = (TunedFile){.compilation = c, .functions = searched->items, .count = count, .end = c->tune_deadline};
    file->since = file->last_line = monotonic_seconds();
    file->shown = ARENA_ARRAY(c->arena, ShownSearches, count);
    file->asked = ARENA_ARRAY(c->arena, PlanFunction, count);
    file->inputs = ARENA_ARRAY(c->arena, void *const *, count);
    file->unfit = ARENA_ARRAY(c->arena, const char *, count);
    for (int f = 0; f < count; f++) {
        const Unit *unit = searched->items[f]->unit;
        const Target *target = searched->items[f]->target;
        file->asked[f] = searched->items[f]->asked;
        file->inputs[f] = search_inputs(c, unit->program, &file->asked[f].inputs, &file->unfit[f]);
        file->asked[f].chosen_again =
            c->options->mode != MODE_RUN && !unit->is_version && packing_unit(c, unit, target) != NULL;
    }
    return file;
}

static bool tune_functions(Compilation *c, const Functions *searched) {
    c->planner.database = compilation_database(c);
    if (!c->planner.database)
        return false;
    TunedFile *file = file_of(c, searched);
    TuneOptions options = search_options(c);
    FunctionTuning *tunings = ARENA_ARRAY(c->arena, FunctionTuning, searched->count);
    return autosched_tune(&c->planner, file->asked, searched->count, &options, c->tune_deadline, bench_of(file),
                          tunings);
}

/* Whether each file of --input is for an argument of a function that is searched for, which is called by its name in
 * the source, without the sizes of a version. False after a message. */
static bool inputs_fit(Compilation *c, const Functions *searched) {
    Program **programs = ARENA_ARRAY(c->arena, Program *, searched->count + 1);
    for (int f = 0; f < searched->count; f++) {
        programs[f] = ARENA_NEW(c->arena, Program);
        *programs[f] = *searched->items[f]->unit->program;
        programs[f]->symbol = arena_strndup(c->arena, programs[f]->symbol, strcspn(programs[f]->symbol, "."));
    }
    return c->options->mode == MODE_RUN || search_inputs_fit(c, programs, searched->count);
}

bool tune_file(Compilation *c, const Target *const *targets) {
    Functions searched = {0};
    for (int t = 0; t < c->options->targets.count; t++)
        for (int i = 0; i < c->module->units.count; i++)
            if (!add_searched(c, &c->module->units.items[i], targets[t], &searched))
                return false;
    if (c->options->frozen)
        return true;
    return inputs_fit(c, &searched) && (!searched.count || tune_functions(c, &searched));
}
