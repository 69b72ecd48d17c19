/* toolchain.c - what the tuner measures with: build processes, a worker, and the check points of a function.
 *
 * The programs of one function share all of it. They have the same arguments and meaning, so the interpreter's values
 * at the check points serve all of them; each allows its own error. Timing runs alone on the machine, across processes,
 * so `make -j` is safe. What the end of a search interrupts is marked as transient.
 */
#include "backends/run/builders.h"
#include "backends/run/device_lock.h"
#include "lang/clock.h"
#include "lang/random.h"
#include "sema/interpreter.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES_AN_OUTPUT = 192, FAILED_STARTS = 3 };
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
    const Program *meaning; /* the meaning of all programs, with their arguments */
    ToolchainOptions options;
    Builders *builders;
    Runner *runner;
    DeviceLock lock;
    int count;
    Station *stations;
    Toolchain **toolchains;
    int64_t *sizes;
    bool prepared;
    const char *unprepared; /* why there are no check points */
    int sample_count;
    struct SamplePoint *samples;
    Evaluated *values; /* values at the samples */
    uint8_t *sample_bytes;
    void **arguments;
    int unable; /* successive runs that the worker could not do with any object */
};

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

/* Chooses samples: first and last elements, those around multiples of 16 (where tiles end), and seeded random ones. */
static void choose_samples(Bench *bench, int argument, int64_t elements, int count, uint64_t seed) {
    Random random_state = {seed + (uint64_t)argument};
    for (int i = 0; i < count && elements > 0; i++) {
        uint64_t random = random_bits(&random_state);
        int64_t element = (int64_t)(random % (uint64_t)elements);
        if (elements <= count)
            element = i % elements;
        else if (i < 8)
            element = i < 4 ? i : elements - 1 - (i - 4);
        else if (i % 2)
            element = element / 16 * 16 + (int64_t)(random >> 62 & 1) * 15;
        element = element < elements ? element : elements - 1;
        bench->samples[bench->sample_count++] = (struct SamplePoint){argument, element};
    }
}

static void element_index(const Tensor *tensor, int64_t element, int64_t *index) {
    for (int d = tensor->rank - 1; d >= 0; d--) {
        int64_t extent = tensor->dims[d]->integer;
        index[d] = element % extent;
        element /= extent;
    }
}

/* As many samples as about 2 * 10^7 operations pay for. */
static int samples_an_output(const Bench *bench, int64_t elements) {
    double cost = interpreter_cost(bench->meaning, bench->sizes) / (double)(elements > 0 ? elements : 1);
    double affordable = 2e7 / (cost > 1 ? cost : 1);
    return affordable < 8 ? 8 : affordable > SAMPLES_AN_OUTPUT ? SAMPLES_AN_OUTPUT : (int)affordable;
}

static bool fill_arguments(Bench *bench) {
    const Program *program = bench->meaning;
    bench->arguments = ARENA_ARRAY(bench->arena, void *, program->argument_count + 1);
    for (int i = 0; i < program->argument_count; i++) {
        int64_t elements = argument_elements(program, bench->sizes, i);
        const Argument *a = &program->arguments[i];
        ElementType type = argument_element_type(a);
        if (elements < 0 || !(bench->arguments[i] = malloc((size_t)elements * (size_t)element_info[type].bytes + 1)))
            return false;
        if (bench->options.inputs && bench->options.inputs[i])
            memcpy(bench->arguments[i], bench->options.inputs[i], (size_t)elements * (size_t)element_info[type].bytes);
        else
            argument_fill(program, bench->sizes, i, bench->options.seed, bench->arguments[i]);
    }
    return true;
}

static void evaluate_samples(Bench *bench, Interpreter *interpreter) {
    const Program *program = bench->meaning;
    bench->samples = ARENA_ARRAY(bench->arena, struct SamplePoint, SAMPLES_AN_OUTPUT * program->argument_count + 1);
    for (int i = 0; i < program->argument_count; i++) {
        const Tensor *tensor = program->arguments[i].tensor;
        int64_t elements = argument_elements(program, bench->sizes, i);
        if (tensor && tensor->role == ROLE_OUTPUT)
            choose_samples(bench, i, elements, samples_an_output(bench, elements), bench->options.seed);
    }
    bench->values = ARENA_ARRAY(bench->arena, Evaluated, bench->sample_count + 1);
    bench->sample_bytes = ARENA_ARRAY(bench->arena, uint8_t, 8 * (size_t)bench->sample_count + 8);
    for (int i = 0; i < bench->sample_count; i++) {
        const Tensor *tensor = program->arguments[bench->samples[i].argument].tensor;
        int64_t *index = ARENA_ARRAY(bench->arena, int64_t, tensor->rank + 1);
        element_index(tensor, bench->samples[i].element, index);
        bench->values[i] = interpreter_element(interpreter, tensor, index);
    }
}

/* Makes the values at the samples when the first candidate is measured. */
static bool prepare(Bench *bench) {
    if (bench->prepared)
        return !bench->unprepared;
    bench->prepared = true;
    bench->unprepared = "no memory for the arguments";
    if (!fill_arguments(bench))
        return false;
    int status = 0;
    Interpreter *interpreter =
        interpreter_new(bench->meaning, bench->sizes, bench->arguments, &status, &bench->unprepared);
    if (!interpreter)
        return false;
    evaluate_samples(bench, interpreter);
    interpreter_free(interpreter);
    bench->unprepared = NULL;
    return true;
}

/* The samples of each output are contiguous. */
static Evaluated *expect(const Station *station) {
    const Bench *bench = station->bench;
    Evaluated *expected = ARENA_ARRAY(bench->arena, Evaluated, bench->sample_count + 1);
    double error = program_error(station->program);
    memcpy(expected, bench->values, sizeof *expected * (size_t)bench->sample_count);
    for (int first = 0, end; first < bench->sample_count && error > 0; first = end) {
        for (end = first; end < bench->sample_count; end++)
            if (bench->samples[end].argument != bench->samples[first].argument)
                break;
        evaluated_allow(expected + first, end - first, error);
    }
    return expected;
}

/* --- measuring --- */

static void lose(Bench *bench, const char *why) {
    for (int i = 0; i < bench->count; i++)
        bench->stations[i].toolchain.lost = why;
}

static const char *check_samples(const Station *station) {
    const Bench *bench = station->bench;
    for (int i = 0; i < bench->sample_count; i++) {
        const Evaluated *expected = &station->expected[i];
        const Tensor *tensor = bench->meaning->arguments[bench->samples[i].argument].tensor;
        Value found = value_load(tensor->type, bench->sample_bytes + 8 * (size_t)i);
        if (!evaluated_matches(expected, found))
            return arena_printf(bench->arena, "wrong result: element %lld of %s is %.9g, should be %.9g within %.3g",
                                (long long)bench->samples[i].element, tensor->name,
                                type_is_float(tensor->type) ? found.real : (double)found.integer,
                                type_is_float(tensor->type) ? expected->value.real : (double)expected->value.integer,
                                expected->bound);
    }
    return NULL;
}

static int64_t memory_limit(const Bench *bench) {
    int64_t bytes = (int64_t)4 << 30;
    for (int i = 0; i < bench->meaning->argument_count; i++)
        bytes += 16 * argument_elements(bench->meaning, bench->sizes, i) * 8;
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
    const char *wrong = check_samples(station);
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

/* Seconds until the search is over; HUGE_VAL: no limit. */
static double seconds_left(const Bench *bench) {
    return bench->options.deadline > 0 ? fmax(bench->options.deadline - monotonic_seconds(), 1e-3) : HUGE_VAL;
}

static RunRequest run_request(const Station *station, const Built *built, double limit_seconds, bool thorough) {
    Bench *bench = station->bench;
    return (RunRequest){.object = built->object,
                        .object_bytes = built->bytes,
                        .constants = built->constants,
                        .constant_count = built->constant_count,
                        .program = bench->meaning,
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
                        .sample_count = bench->sample_count,
                        .samples = bench->samples,
                        .sample_bytes = bench->sample_bytes};
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
        station->expected = expect(station);
    RunRequest request = run_request(station, candidate->object, limit_seconds, thorough);
    RunResult result;
    if (!device_lock(&bench->lock, true)) {
        candidate->outcome = OUTCOME_TIMEOUT;
        candidate->why = "another process had the machine";
        candidate->transient = true;
        return;
    }
    double left = seconds_left(bench);
    bool cut = left < request.limit_seconds;
    request.limit_seconds = cut ? left : request.limit_seconds;
    bench->options.backend->runner->run(bench->runner, bench->arena, &request, &result);
    device_unlock(&bench->lock);
    if (bench->options.locks_warned) /* other benches may be open, or opened, before this one closes */
        *bench->options.locks_warned |= bench->lock.warned;
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
    *bench = (Bench){.arena = arena, .meaning = program_meaning(programs[0]), .options = *options, .count = count};
    bench->sizes = sizes;
    bench->stations = ARENA_ARRAY(arena, Station, count);
    bench->toolchains = ARENA_ARRAY(arena, Toolchain *, count);
    for (int i = 0; i < count; i++)
        make_station(bench, i, programs[i]);
    LockVoice voice = options->locks_warned && *options->locks_warned ? LOCK_TELLS : LOCK_WARNS;
    bench->lock = device_lock_open(arena, (WaitLimit){options->stop, options->deadline}, voice);
    bench->builders = builders_open(arena, programs, target, options);
    *transient = false;
    bool opened = open_runner(bench, why, transient);
    if (opened && (!options->inputs || prepare(bench)))
        return bench->toolchains;
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
    for (int i = 0; bench->arguments && i < bench->meaning->argument_count; i++)
        free(bench->arguments[i]);
}
