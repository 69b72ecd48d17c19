/* toolchain.c - what the tuner measures with: build processes, a worker, and the check points of a function.
 *
 * The programs of one function share all of it. Values at the check points are made when the first candidate is
 * measured: by the interpreter, or, for a long function, by its reference (reference.c). Timing runs alone on the
 * machine, across processes, so `make -j` is safe. What the end of a search interrupts is marked as transient.
 */
#include "backends/run/builders.h"
#include "backends/run/check_points.h"
#include "backends/run/device_lock.h"
#include "lang/clock.h"
#include "lang/terminal.h"
#include <math.h>
#include <string.h>

enum { FAILED_STARTS = 3 };
enum { COPIES_HERE = 1, COPIES_OF_WORKER = 2 }; /* copies of the arguments */

typedef struct Bench Bench;

/* The toolchain of one program. */
typedef struct Station {
    Toolchain toolchain;
    Bench *bench;
    const Program *program;
    int number;
    Evaluated *expected; /* values at the samples with the program's error; NULL before they are needed */
} Station;

struct Bench {
    Arena *arena;
    ToolchainOptions options;
    Builders *builders;
    Runner *runner;
    DeviceLock lock;
    int count;
    Station *stations;
    Toolchain **toolchains;
    int64_t *sizes;
    CheckPoints points; /* of the meaning of all programs, with their arguments */
    bool prepared;
    const char *unprepared; /* why there are no check points */
    Candidate reference;    /* that their values come from, while it is built and run */
    const char *too_large;  /* why it is not; or NULL */
    uint8_t *sample_bytes;
    int unable; /* successive runs that the worker could not do with any object */
};

static const char busy_machine[] = "another process had the machine";

/* Seconds until the search is over; HUGE_VAL: no limit. */
static double seconds_left(const Bench *bench) {
    return bench->options.deadline > 0 ? fmax(bench->options.deadline - monotonic_seconds(), 1e-3) : HUGE_VAL;
}

static bool is_over(const Bench *bench) {
    return (bench->options.stop && *bench->options.stop) || seconds_left(bench) <= 1e-3;
}

static void submit(void *context, Candidate *candidate) {
    const Station *station = context;
    builders_submit(station->bench->builders, station->number, candidate);
}

static Candidate *collect(void *context, bool wait) {
    return builders_collect(((const Station *)context)->bench->builders, wait);
}

static void release(void *context, Candidate *candidate) {
    builders_release(((const Station *)context)->bench->builders, candidate);
}

/* --- check points --- */

static void run_reference(void *context, RunRequest *request, RunResult *result);

/* Values from compiled code, or why there are none. */
static const char *values_by_reference(Bench *bench) {
    Candidate *candidate = &bench->reference;
    if (bench->too_large)
        return bench->too_large;
    *candidate = (Candidate){.schedule = bench->options.reference->schedule};
    builders_build(bench->builders, bench->count, candidate);
    const char *why = candidate->why;
    if (candidate->outcome == OUTCOME_OK)
        why = reference_evaluate(&bench->points, bench->options.reference->program,
                                 &(ReferenceRunner){bench, run_reference});
    builders_release(bench->builders, candidate);
    return why;
}

static void tell_of_interpreter(const Bench *bench, const char *why) {
    if (bench->options.verbose)
        show(stderr, "tensorc: %s: its values come from the interpreter, which may take long: %s\n",
             bench->points.program->symbol, why);
}

/* Makes the values at the check points. */
static void make_values(Bench *bench) {
    bench->unprepared = check_points_fill(&bench->points) ? NULL : "no memory for the arguments";
    const char *why = bench->options.reference && !bench->unprepared ? values_by_reference(bench) : "";
    if (!why || bench->unprepared)
        return;
    if (*why && is_over(bench))
        bench->unprepared = "the search is over";
    else if (*why)
        tell_of_interpreter(bench, why);
    if (!bench->unprepared)
        bench->unprepared = check_points_interpret(&bench->points);
}

/* Made when the first candidate is measured. */
static bool prepare(Bench *bench) {
    if (!bench->prepared) {
        make_values(bench);
        bench->sample_bytes = ARENA_ARRAY(bench->arena, uint8_t, 8 * (size_t)bench->points.count + 8);
    }
    bench->prepared = true;
    return !bench->unprepared;
}

/* --- measuring --- */

static void lose(Bench *bench, const char *why) {
    for (int i = 0; i < bench->count; i++)
        bench->stations[i].toolchain.lost = why;
}

static int64_t memory_limit(const Bench *bench) {
    int64_t bytes = (int64_t)4 << 30;
    for (int i = 0; i < bench->points.program->argument_count; i++)
        bytes += 16 * argument_elements(bench->points.program, bench->sizes, i) * 8;
    return bytes;
}

static void fill_outcome(const Station *station, Candidate *candidate, const RunResult *result) {
    candidate->outcome = result->outcome;
    candidate->why = result->why;
    candidate->transient = result->transient;
    candidate->died = result->died;
    if (result->outcome != OUTCOME_OK)
        return;
    if (result->status) {
        candidate->outcome = OUTCOME_WRONG;
        candidate->why = arena_printf(station->bench->arena, "the function returned status %d", result->status);
        return;
    }
    const char *wrong = check_points_compare(&station->bench->points, station->expected, station->bench->sample_bytes);
    if (wrong) {
        candidate->outcome = OUTCOME_WRONG;
        candidate->why = wrong;
    }
    candidate->seconds = result->seconds;
    candidate->spread = result->spread;
    candidate->repeats = result->repeats;
    candidate->disturbance = result->disturbance;
}

/* How long a run may take: decided by good candidates, else by a speed that nothing worth having is below. */
static double patience(const Station *station, double limit_seconds) {
    double operations = interpreter_cost(station->program, station->bench->sizes);
    double seconds = limit_seconds > 0 ? 2 + 40 * limit_seconds : 5 + operations / 1e8;
    return seconds < 60 ? seconds : 60;
}

static RunRequest run_request(const Station *station, const Built *built, double limit_seconds, bool thorough) {
    Bench *bench = station->bench;
    return (RunRequest){.object = built->object,
                        .object_bytes = built->bytes,
                        .constants = built->constants,
                        .constant_count = built->constant_count,
                        .program = bench->points.program,
                        .symbol = station->program->symbol,
                        .sizes = bench->sizes,
                        .inputs = bench->options.inputs,
                        .seed = bench->options.seed,
                        .threads = bench->options.threads,
                        .min_seconds = thorough ? 0.03 : 0.0125, /* of several looks */
                        .max_repeats = thorough ? 4000 : 2000,
                        .steady = thorough ? 0 : 0.01,
                        .stop_seconds = limit_seconds,
                        .limit_seconds = patience(station, limit_seconds),
                        .limit_bytes = memory_limit(bench),
                        .stop = bench->options.stop,
                        .sample_count = bench->points.count,
                        .samples = bench->points.samples,
                        .sample_bytes = bench->sample_bytes};
}

/* Alone on the machine. *cut: the search ends before the request's limit. False: another process had the machine. */
static bool run_alone(Bench *bench, RunRequest *request, RunResult *result, bool *cut) {
    *cut = false;
    if (!device_lock(&bench->lock, true))
        return false;
    double left = seconds_left(bench);
    *cut = left < request->limit_seconds;
    request->limit_seconds = *cut ? left : request->limit_seconds;
    bench->options.backend->runner->run(bench->runner, bench->arena, request, result);
    device_unlock(&bench->lock);
    if (bench->options.locks_warned) /* other benches may be open, or opened, before this one closes */
        *bench->options.locks_warned |= bench->lock.warned;
    return true;
}

static void run_reference(void *context, RunRequest *request, RunResult *result) {
    Bench *bench = context;
    const Built *built = bench->reference.object;
    bool cut;
    request->object = built->object;
    request->object_bytes = built->bytes;
    request->constants = built->constants;
    request->constant_count = built->constant_count;
    request->threads = bench->options.threads;
    request->stop = bench->options.stop;
    request->limit_seconds = patience(&bench->stations[0], 0);
    if (!run_alone(bench, request, result, &cut))
        *result = (RunResult){.outcome = OUTCOME_TIMEOUT, .why = busy_machine};
}

static void measure(void *context, Candidate *candidate, double limit_seconds, bool thorough) {
    Station *station = context;
    Bench *bench = station->bench;
    if (!prepare(bench)) {
        candidate->outcome = OUTCOME_BUILD_ERROR;
        candidate->why = bench->unprepared;
        candidate->transient = true; /* then no candidate can be measured */
        lose(bench, bench->unprepared);
        return;
    }
    if (!station->expected)
        station->expected = check_points_allow(&bench->points, program_error(station->program));
    RunRequest request = run_request(station, candidate->object, limit_seconds, thorough);
    RunResult result;
    bool cut;
    if (!run_alone(bench, &request, &result, &cut)) {
        candidate->outcome = OUTCOME_TIMEOUT;
        candidate->why = busy_machine;
        candidate->transient = true;
        return;
    }
    bench->unable = result.unable ? bench->unable + 1 : 0;
    if (bench->unable >= FAILED_STARTS)
        lose(bench, result.why);
    fill_outcome(station, candidate, &result);
    candidate->transient |= cut && result.outcome == OUTCOME_TIMEOUT;
}

/* --- opening and closing --- */

/* Why the arguments need too much memory; NULL: they do not. */
static const char *excess(Arena *arena, const Program *program, const int64_t *sizes, bool worker_here) {
    double bytes = arguments_bytes(program, sizes), room = memory_bytes();
    if (bytes * (COPIES_HERE + (worker_here ? COPIES_OF_WORKER : 0)) <= room)
        return NULL;
    return arena_printf(arena, "its arguments take %.3g GB, for which a memory of %.3g GB is too small", 1e-9 * bytes,
                        1e-9 * room);
}

static void make_station(Bench *bench, int number, const Program *program) {
    Station *station = &bench->stations[number];
    *station = (Station){.bench = bench, .program = program, .number = number};
    station->toolchain = (Toolchain){.context = station,
                                     .jobs = bench->options.jobs,
                                     .submit = submit,
                                     .collect = collect,
                                     .measure = measure,
                                     .release = release};
    bench->toolchains[number] = &station->toolchain;
}

/* Starts the worker. A command that does not answer in time is at fault, unless it answered before, or there was no
 * time to begin with; the worker of this machine is not. *transient: at another time it may be possible. */
static bool open_runner(Bench *bench, const char **why, bool *transient) {
    const ToolchainOptions *options = &bench->options;
    double begun = monotonic_seconds(), deadline = options->deadline > 0 ? options->deadline : HUGE_VAL;
    bool known = !options->runner || (options->answered && *options->answered);
    Patience patience = {deadline, options->stop};
    bench->runner = options->backend->runner->open(bench->arena, options->runner, patience, why, transient);
    if (bench->runner && options->answered)
        *options->answered = true;
    bool stopped = options->stop && *options->stop;
    if (bench->runner || !*transient || stopped || monotonic_seconds() < deadline)
        return bench->runner != NULL;
    *transient = known || begun >= deadline;
    if (*transient)
        *why = "there was no time to start the worker";
    return false;
}

/* Those of the stations, then the reference's. */
static Program *const *programs_to_build(const Bench *bench, Program *const *programs) {
    Program **all = ARENA_ARRAY(bench->arena, Program *, bench->count + 1);
    memcpy(all, programs, sizeof *all * (size_t)bench->count);
    all[bench->count] = bench->options.reference ? bench->options.reference->program : NULL;
    return all;
}

Toolchain *const *toolchains_open(Arena *arena, Program *const *programs, int count, const Target *target,
                                  const ToolchainOptions *options, const char **why, bool *transient) {
    if (programs[0]->size_count) {
        *transient = true;
        *why = "sizes that are known at run time only cannot be measured";
        return NULL;
    }
    int64_t *sizes = ARENA_ARRAY(arena, int64_t, 1);
    const char *missing = excess(arena, programs[0], sizes, !options->runner);
    if (missing) {
        *why = missing;
        *transient = true;
        return NULL;
    }
    Bench *bench = ARENA_NEW(arena, Bench);
    *bench = (Bench){.arena = arena, .options = *options, .count = count};
    bench->points = (CheckPoints){
        .arena = arena, .program = program_meaning(programs[0]), .inputs = options->inputs, .seed = options->seed};
    if (options->reference)
        bench->too_large = excess(arena, options->reference->program, sizes, !options->runner);
    bench->sizes = sizes;
    bench->stations = ARENA_ARRAY(arena, Station, count);
    bench->toolchains = ARENA_ARRAY(arena, Toolchain *, count);
    for (int i = 0; i < count; i++)
        make_station(bench, i, programs[i]);
    LockVoice voice = options->locks_warned && *options->locks_warned ? LOCK_TELLS : LOCK_WARNS;
    bench->lock = device_lock_open(arena, (WaitLimit){options->stop, options->deadline}, voice);
    bench->builders = builders_open(arena, programs_to_build(bench, programs), target, options);
    *transient = false;
    bool opened = open_runner(bench, why, transient);
    if (opened && (!options->inputs || prepare(bench)))
        return bench->toolchains;
    *transient |= opened && is_over(bench);
    if (opened)
        *why = arena_printf(arena, "the inputs that are given%s%s: %s", options->given ? ", " : "",
                            options->given ? options->given : "", bench->unprepared);
    toolchains_close(bench->toolchains);
    return NULL;
}

void toolchains_close(Toolchain *const *toolchains) {
    Bench *bench = ((const Station *)toolchains[0]->context)->bench;
    builders_close(bench->builders);
    bench->options.backend->runner->close(bench->runner);
    device_lock_close(&bench->lock);
    check_points_close(&bench->points);
}
