/* toolchain.c - what the tuner measures with: build processes, a worker, and the check points of a program.
 *
 * Build processes are forked when there is something to build, while no other thread runs here, from a process that
 * has built once; each reads schedules as text and answers objects. One that hangs or dies costs one candidate. Time on the
 * processor is what a build may take, and what comes of the machine's load is marked as passing. Timing is alone on the machine:
 * builders hold a shared lock while they build, a measurement an exclusive one, also across processes, so `make -j` is
 * safe. Results are checked at points whose values the interpreter gives.
 */
#include "autosched/random.h"
#include "backends/backends.h"
#include "backends/contents.h"
#include "backends/wire.h"
#include "lang/clock.h"
#include "parser/ast.h"
#include "sema/interpreter.h"
#include <errno.h>
#include <fcntl.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SAMPLES_AN_OUTPUT = 192, BUILD_LIMIT_SECONDS = 20 };
static const double least_progress = 0.05; /* of a processor, below which a build is given up for this time */

/* What a candidate's object points at. */
typedef struct Built {
    const Contents **constants; /* that it leaves out */
    int constant_count;
    size_t bytes;
    void *object;
} Built;

typedef struct Builder {
    pid_t pid; /* 0: none */
    int input, output;
    int64_t generation;     /* of the contents that it has sent */
    Candidate *candidate;   /* under way, NULL when idle */
    double deadline, spent; /* spent: on the processor, when it was last looked at */
    double since;           /* on the processor, when this build began */
    Wire answer;
} Builder;

/* Two locks make measurements wait only for builds under way: builders pass the gate before they take the device. */
typedef struct DeviceLock {
    int gate, device;
} DeviceLock;

typedef struct Bench {
    Toolchain toolchain;
    Arena *arena;
    const Program *program;
    const Target *target;
    ToolchainOptions options;
    Builder *builders;
    LIST(Candidate *) waiting;
    int waiting_at;
    LIST(Candidate *) finished;
    int finished_at;
    ContentsTable contents; /* that the objects leave out */
    int64_t generation;     /* how often they were forgotten */
    int held;               /* candidates that are built and not released */
    Runner *runner;
    DeviceLock lock;
    int64_t *sizes;
    bool warm, prepared;
    const char *unprepared; /* why there are no check points */
    int sample_count;
    struct SamplePoint *samples;
    Evaluated *expected;
    uint8_t *sample_bytes;
    void **arguments;
} Bench;

/* --- the device lock --- */

static int open_lock(Arena *arena, const char *name) {
    const char *folder = getenv("XDG_RUNTIME_DIR");
    if (!folder || !*folder || access(folder, W_OK))
        folder = "/tmp";
    return open(arena_printf(arena, "%s/tensorc-%u-%s.lock", folder, (unsigned)getuid(), name),
                O_RDWR | O_CREAT | O_CLOEXEC, 0600);
}

static DeviceLock device_lock_open(Arena *arena) {
    return (DeviceLock){open_lock(arena, "gate"), open_lock(arena, "device")};
}

static void device_lock_close(DeviceLock *lock) {
    if (lock->gate >= 0)
        close(lock->gate);
    if (lock->device >= 0)
        close(lock->device);
}

static void lock_descriptor(int descriptor, int how) {
    while (descriptor >= 0 && flock(descriptor, how) && errno == EINTR)
        continue;
}

static void device_lock(const DeviceLock *lock, bool exclusive) {
    int how = exclusive ? LOCK_EX : LOCK_SH;
    lock_descriptor(lock->gate, how);
    lock_descriptor(lock->device, how);
    if (!exclusive)
        lock_descriptor(lock->gate, LOCK_UN);
}

static void device_unlock(const DeviceLock *lock) {
    lock_descriptor(lock->device, LOCK_UN);
    lock_descriptor(lock->gate, LOCK_UN);
}

/* --- build processes --- */

static Schedule *read_schedule(Arena *arena, const char *text) {
    Sources sources = {.arena = arena};
    FILE *nowhere = fopen("/dev/null", "w");
    Diagnostics *diagnostics = diag_new(arena, &sources, (DiagOptions){.stream = nowhere});
    int file = source_add(&sources, "<candidate>", text, strlen(text), true);
    Schedule *schedule = parse_schedule(arena, &sources, (uint32_t)file, diagnostics);
    if (nowhere)
        fclose(nowhere);
    return diag_error_count(diagnostics) ? NULL : schedule;
}

static char *build(Arena *arena, const Bench *bench, const char *text, LeftOut *left_out, size_t *bytes,
                   const char **why) {
    Schedule *schedule = read_schedule(arena, text);
    NestError error = {0};
    *why = "the schedule does not parse";
    if (!schedule)
        return NULL;
    Nest *nest = nest_build(arena, bench->program, schedule, NULL, bench->target, &error);
    *why = error.rule ? error.rule : "the schedule is not legal";
    if (!nest)
        return NULL;
    ExpandOptions expand_options = {.strict = bench->options.strict};
    Kernel *kernel = expand(arena, nest, &expand_options);
    EmitOptions emit_options = {
        .kind = EMIT_OBJECT, .pic = true, .candidate = true, .left_out = left_out, .producer = "tensorc"};
    return emit_code(&kernel, 1, bench->target, &emit_options, bytes, why);
}

/* What one build gave back, the next one needs: without this it returns to the system and comes back as new pages. */
static void keep_memory(void) {
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
#endif
}

/* Contents are made and sent by each builder once. */
static void put_left_out(Arena *arena, Arena *kept, const LeftOut *left_out, ContentsTable *told, Wire *wire) {
    wire_put_integer(wire, left_out->constants.count);
    for (int i = 0; i < left_out->constants.count; i++) {
        const struct LeftOutConstant *constant = &left_out->constants.items[i];
        size_t bytes = (size_t)tensor_elements(constant->tensor) * (size_t)element_info[constant->tensor->type].bytes;
        bool known = contents_find(told, constant->key) != NULL;
        wire_put_text(wire, constant->key);
        wire_put_integer(wire, known ? 0 : (int64_t)bytes);
        if (known)
            continue;
        wire_put(wire, constant_contents(arena, constant->tensor), bytes);
        contents_add(kept, told, constant->key, NULL, bytes);
    }
}

/* One request; the answer takes its place. */
static void serve_build(const Bench *bench, const DeviceLock *lock, Arena *kept, ContentsTable *told, Wire *wire) {
    Arena *arena = arena_new();
    LeftOut left_out = {0};
    size_t bytes = 0;
    const char *why = "";
    if (wire_get_integer(wire))
        contents_forget(told);
    device_lock(lock, false);
    double since = monotonic_seconds(), seconds = 0;
    char *object = build(arena, bench, wire_get_text(wire), &left_out, &bytes, &why);
    wire->length = 0;
    wire_put_real(wire, seconds);
    wire_put_integer(wire, object != NULL);
    wire_put_text(wire, object ? "" : why);
    if (object)
        put_left_out(arena, kept, &left_out, told, wire);
    wire_put(wire, object, object ? bytes : 0);
    seconds = monotonic_seconds() - since;
    if (!wire->failed)
        memcpy(wire->bytes, &seconds, sizeof seconds);
    device_unlock(lock);
    free(object);
    arena_free(arena);
}

static _Noreturn void run_builder(const Bench *bench, int input, int output) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setpgid(0, 0);
    keep_memory();
    DeviceLock lock = device_lock_open(bench->arena); /* descriptors of its own: flock goes by open file */
    Wire wire = {0};
    ContentsTable told = {0};
    while (wire_receive(&wire, input)) {
        serve_build(bench, &lock, bench->arena, &told, &wire);
        if (!wire_send(&wire, output))
            break;
    }
    _exit(0);
}

/* The first use of LLVM in a process costs as much as a whole build: builders are copies of a process that has done it. */
static void warm_up(Bench *bench) {
    Arena *arena = arena_new();
    size_t bytes = 0;
    const char *why = "";
    if (!bench->warm)
        free(build(arena, bench, "", NULL, &bytes, &why));
    bench->warm = true;
    arena_free(arena);
}

static bool start_builder(Bench *bench, Builder *builder) {
    int request[2], answer[2];
    warm_up(bench);
    if (!wire_open(request, answer))
        return false;
    fflush(NULL);
    pid_t pid = fork();
    if (!pid) {
        for (int i = 0; i < bench->options.jobs; i++) /* the other builders' pipes must end with the compiler */
            if (bench->builders[i].pid) {
                close(bench->builders[i].input);
                close(bench->builders[i].output);
            }
        close(request[1]);
        close(answer[0]);
        run_builder(bench, request[0], answer[1]);
    }
    close(request[0]);
    close(answer[1]);
    if (pid < 0) {
        close(request[1]);
        close(answer[0]);
        return false;
    }
    *builder = (Builder){.pid = pid, .input = request[1], .output = answer[0]};
    return true;
}

static void end_builder(Builder *builder) {
    if (!builder->pid)
        return;
    kill(builder->pid, SIGKILL);
    close(builder->input);
    close(builder->output);
    while (waitpid(builder->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    wire_free(&builder->answer);
    builder->pid = 0;
}

static void finish(Bench *bench, Candidate *candidate, Outcome outcome, const char *why, bool passing) {
    candidate->outcome = outcome;
    candidate->why = why;
    candidate->passing = passing;
    list_push(bench->arena, &bench->finished, candidate);
}

static int busy_builders(const Bench *bench) {
    int busy = 0;
    for (int i = 0; i < bench->options.jobs; i++)
        busy += bench->builders[i].candidate != NULL;
    return busy;
}

/* The bench's contents serve what is held or being built. */
static void limit_contents(Bench *bench) {
    if (bench->contents.bytes <= CONTENTS_LIMIT || bench->held > 0 || busy_builders(bench) > 0)
        return;
    contents_forget(&bench->contents);
    bench->generation++;
}

/* Gives waiting candidates to idle builders. */
static void hand_out(Bench *bench) {
    limit_contents(bench);
    for (int i = 0; i < bench->options.jobs && bench->waiting_at < bench->waiting.count; i++) {
        Builder *builder = &bench->builders[i];
        if (builder->candidate)
            continue;
        Candidate *candidate = bench->waiting.items[bench->waiting_at++];
        Wire wire = {0};
        Text text = {.arena = bench->arena};
        schedule_print_statements(&text, candidate->schedule);
        wire_put_integer(&wire, builder->generation != bench->generation);
        builder->generation = bench->generation;
        wire_put_text(&wire, text.text ? text.text : "");
        if ((builder->pid || start_builder(bench, builder)) && wire_send(&wire, builder->input)) {
            builder->candidate = candidate;
            builder->deadline = monotonic_seconds() + BUILD_LIMIT_SECONDS;
            builder->since = builder->spent = processor_seconds(builder->pid);
        } else {
            end_builder(builder);
            finish(bench, candidate, OUTCOME_BUILD_ERROR, "a build process could not be started", true);
        }
        wire_free(&wire);
    }
}

static void submit(void *context, Candidate *candidate) {
    Bench *bench = context;
    candidate->object = NULL;
    candidate->object_bytes = 0;
    list_push(bench->arena, &bench->waiting, candidate);
    hand_out(bench);
}

/* The next of the constants that an object leaves out; NULL when the answer is damaged or memory is out. */
static const Contents *take_constant(Bench *bench, Wire *answer) {
    const char *key = wire_get_text(answer);
    int64_t bytes = wire_get_integer(answer);
    const void *data = bytes > 0 ? wire_get(answer, (size_t)bytes) : NULL;
    const Contents *known = answer->failed ? NULL : contents_find(&bench->contents, key);
    return known || !data ? known : contents_add(bench->arena, &bench->contents, key, data, (size_t)bytes);
}

static void free_built(Built *built) {
    if (built) {
        free(built->constants);
        free(built->object);
    }
    free(built);
}

/* NULL where a part is missing. */
static Built *take_built(Bench *bench, Wire *answer) {
    int64_t count = wire_get_integer(answer);
    Built *built = !answer->failed && count >= 0 && count <= (int64_t)answer->length ? calloc(1, sizeof *built) : NULL;
    bool whole = built && (built->constants = calloc((size_t)count + 1, sizeof *built->constants));
    while (whole && built->constant_count < count)
        whole = (built->constants[built->constant_count++] = take_constant(bench, answer)) != NULL;
    if (whole) {
        built->bytes = answer->length - answer->at;
        built->object = malloc(built->bytes + 1);
    }
    if (built && built->object) {
        memcpy(built->object, answer->bytes + answer->at, built->bytes);
        return built;
    }
    free_built(built);
    return NULL;
}

static void take_candidate(Bench *bench, Builder *builder) {
    Candidate *candidate = builder->candidate;
    Wire *answer = &builder->answer;
    size_t before = bench->contents.bytes;
    candidate->build_seconds = wire_get_real(answer);
    bool made = wire_get_integer(answer) != 0;
    const char *why = arena_strdup(bench->arena, wire_get_text(answer));
    Built *built = made ? take_built(bench, answer) : NULL;
    candidate->object = built;
    candidate->object_bytes = built ? built->bytes + bench->contents.bytes - before : 0;
    bench->held += built != NULL;
    answer->length = answer->at = 0;
    answer->failed = false;
    builder->candidate = NULL;
    finish(bench, candidate, built ? OUTCOME_OK : OUTCOME_BUILD_ERROR, made ? "" : why, made && !built);
}

static void lose_builder(Bench *bench, Builder *builder, const char *why, bool passing) {
    Candidate *candidate = builder->candidate;
    end_builder(builder);
    builder->candidate = NULL;
    finish(bench, candidate, OUTCOME_BUILD_ERROR, why, passing);
}

/* Whether a process that has closed its pipes was killed from outside: by a machine without memory, or a person. */
static bool was_killed(pid_t pid) {
    siginfo_t end = {0};
    for (int i = 0; i < 100 && !waitid(P_PID, (id_t)pid, &end, WEXITED | WNOHANG | WNOWAIT) && !end.si_pid; i++)
        nanosleep(&(struct timespec){0, 2000000}, NULL);
    return end.si_pid && end.si_code != CLD_EXITED && end.si_status == SIGKILL;
}

/* A build that uses the processor goes on until its limit, however little of it it gets; one that stands still has lost
 * its process. */
static void check_deadline(Bench *bench, Builder *builder) {
    double now = monotonic_seconds(), spent = processor_seconds(builder->pid);
    if (now <= builder->deadline)
        return;
    if (spent - builder->since >= BUILD_LIMIT_SECONDS * 0.9)
        lose_builder(bench, builder, "the build took longer than 20 s", false);
    else if (spent - builder->spent < least_progress * BUILD_LIMIT_SECONDS)
        lose_builder(bench, builder, "the build stood still for 20 s", true);
    else
        builder->deadline = now + BUILD_LIMIT_SECONDS;
    builder->spent = spent;
}

/* Takes what the builders have to say, waiting up to milliseconds for the first word. */
static void listen_to_builders(Bench *bench, int milliseconds) {
    int jobs = bench->options.jobs;
    struct pollfd ready[jobs];
    for (int i = 0; i < jobs; i++)
        ready[i] =
            (struct pollfd){.fd = bench->builders[i].candidate ? bench->builders[i].output : -1, .events = POLLIN};
    if (poll(ready, (nfds_t)jobs, milliseconds) < 0)
        return;
    for (int i = 0; i < jobs; i++) {
        Builder *builder = &bench->builders[i];
        bool complete = false;
        if (!builder->candidate)
            continue;
        if (ready[i].revents && !wire_receive_some(&builder->answer, builder->output, &complete))
            lose_builder(bench, builder, "the build process crashed", was_killed(builder->pid));
        else if (complete)
            take_candidate(bench, builder);
        else
            check_deadline(bench, builder);
    }
    hand_out(bench);
}

static Candidate *collect(void *context, bool wait) {
    Bench *bench = context;
    while (bench->finished_at == bench->finished.count && busy_builders(bench)) {
        listen_to_builders(bench, wait ? 100 : 0);
        if (!wait || (bench->options.stop && *bench->options.stop))
            break;
    }
    return bench->finished_at < bench->finished.count ? bench->finished.items[bench->finished_at++] : NULL;
}

static void release(void *context, Candidate *candidate) {
    Bench *bench = context;
    bench->held -= candidate->object != NULL;
    free_built((Built *)(uintptr_t)candidate->object);
    candidate->object = NULL;
    candidate->object_bytes = 0;
}

/* --- check points --- */

/* First and last elements, those around multiples of 16 (where tiles end), and seeded ones. */
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

/* As many points as some 2 * 10^7 operations pay for. */
static int samples_an_output(const Bench *bench, int64_t elements) {
    double cost = interpreter_cost(bench->program, bench->sizes) / (double)(elements > 0 ? elements : 1);
    double affordable = 2e7 / (cost > 1 ? cost : 1);
    return affordable < 8 ? 8 : affordable > SAMPLES_AN_OUTPUT ? SAMPLES_AN_OUTPUT : (int)affordable;
}

static bool fill_arguments(Bench *bench) {
    const Program *program = bench->program;
    bench->arguments = ARENA_ARRAY(bench->arena, void *, program->argument_count + 1);
    for (int i = 0; i < program->argument_count; i++) {
        int64_t elements = argument_elements(program, bench->sizes, i);
        const Argument *a = &program->arguments[i];
        ElementType type = a->tensor ? a->tensor->type : a->scalar->type;
        if (elements < 0 || !(bench->arguments[i] = malloc((size_t)elements * (size_t)element_info[type].bytes + 1)))
            return false;
        argument_fill(program, bench->sizes, i, bench->options.seed, bench->arguments[i]);
    }
    return true;
}

/* Each output's samples stand together. */
static void allow_error(Bench *bench) {
    double error = program_error(bench->program);
    for (int first = 0, end; first < bench->sample_count && error > 0; first = end) {
        for (end = first; end < bench->sample_count; end++)
            if (bench->samples[end].argument != bench->samples[first].argument)
                break;
        evaluated_allow(bench->expected + first, end - first, error);
    }
}

static void evaluate_samples(Bench *bench, Interpreter *interpreter) {
    const Program *program = program_meaning(bench->program);
    bench->samples = ARENA_ARRAY(bench->arena, struct SamplePoint, SAMPLES_AN_OUTPUT * program->argument_count + 1);
    for (int i = 0; i < program->argument_count; i++) {
        const Tensor *tensor = program->arguments[i].tensor;
        int64_t elements = argument_elements(program, bench->sizes, i);
        if (tensor && tensor->role == ROLE_OUTPUT)
            choose_samples(bench, i, elements, samples_an_output(bench, elements), bench->options.seed);
    }
    bench->expected = ARENA_ARRAY(bench->arena, Evaluated, bench->sample_count + 1);
    bench->sample_bytes = ARENA_ARRAY(bench->arena, uint8_t, 8 * (size_t)bench->sample_count + 8);
    for (int i = 0; i < bench->sample_count; i++) {
        const Tensor *tensor = program->arguments[bench->samples[i].argument].tensor;
        int64_t *index = ARENA_ARRAY(bench->arena, int64_t, tensor->rank + 1);
        element_index(tensor, bench->samples[i].element, index);
        bench->expected[i] = interpreter_element(interpreter, tensor, index);
    }
    allow_error(bench);
}

/* The expected values, made when the first candidate is measured. */
static bool prepare(Bench *bench) {
    if (bench->prepared)
        return !bench->unprepared;
    bench->prepared = true;
    bench->unprepared = "no memory for the arguments";
    if (!fill_arguments(bench))
        return false;
    int status = 0;
    Interpreter *interpreter =
        interpreter_new(program_meaning(bench->program), bench->sizes, bench->arguments, &status, &bench->unprepared);
    if (!interpreter)
        return false;
    evaluate_samples(bench, interpreter);
    interpreter_free(interpreter);
    bench->unprepared = NULL;
    return true;
}

/* --- measuring --- */

static const char *check_samples(Bench *bench) {
    for (int i = 0; i < bench->sample_count; i++) {
        const Tensor *tensor = bench->program->arguments[bench->samples[i].argument].tensor;
        Value found = value_load(tensor->type, bench->sample_bytes + 8 * (size_t)i);
        if (!evaluated_matches(&bench->expected[i], found))
            return arena_printf(bench->arena, "wrong result: element %lld of %s is %.9g, should be %.9g within %.3g",
                                (long long)bench->samples[i].element, tensor->name,
                                type_is_float(tensor->type) ? found.real : (double)found.integer,
                                type_is_float(tensor->type) ? bench->expected[i].value.real
                                                            : (double)bench->expected[i].value.integer,
                                bench->expected[i].bound);
    }
    return NULL;
}

static int64_t memory_limit(const Bench *bench) {
    int64_t bytes = (int64_t)4 << 30;
    for (int i = 0; i < bench->program->argument_count; i++)
        bytes += 16 * argument_elements(bench->program, bench->sizes, i) * 8;
    return bytes;
}

static void fill_outcome(Bench *bench, Candidate *candidate, const RunResult *result) {
    candidate->outcome = result->outcome;
    candidate->why = result->why;
    candidate->passing = result->passing;
    if (result->outcome != OUTCOME_OK)
        return;
    if (result->status) {
        candidate->outcome = OUTCOME_WRONG;
        candidate->why = arena_printf(bench->arena, "the function returned status %d", result->status);
        return;
    }
    const char *wrong = check_samples(bench);
    if (wrong) {
        candidate->outcome = OUTCOME_WRONG;
        candidate->why = wrong;
    }
    candidate->seconds = result->seconds;
    candidate->spread = result->spread;
    candidate->repeats = result->repeats;
}

/* How long a run may take: what is known of good candidates decides, else a speed that nothing worth having is below.
 */
static double patience(const Bench *bench, double limit_seconds) {
    double operations = interpreter_cost(bench->program, bench->sizes);
    double seconds = limit_seconds > 0 ? 2 + 40 * limit_seconds : 5 + operations / 1e8;
    return seconds < 60 ? seconds : 60;
}

static void measure(void *context, Candidate *candidate, double limit_seconds, bool thorough) {
    Bench *bench = context;
    if (!prepare(bench)) {
        candidate->outcome = OUTCOME_BUILD_ERROR;
        candidate->why = bench->unprepared;
        return;
    }
    const Built *built = candidate->object;
    RunRequest request = {.object = built->object,
                          .object_bytes = built->bytes,
                          .constants = built->constants,
                          .constant_count = built->constant_count,
                          .program = bench->program,
                          .sizes = bench->sizes,
                          .seed = bench->options.seed,
                          .threads = bench->options.threads,
                          .min_seconds = thorough ? 0.03 : 0.025,
                          .max_repeats = thorough ? 400 : 200,
                          .steady = thorough ? 0 : 0.01,
                          .stop_seconds = limit_seconds,
                          .limit_seconds = patience(bench, limit_seconds),
                          .limit_bytes = memory_limit(bench),
                          .stop = bench->options.stop,
                          .sample_count = bench->sample_count,
                          .samples = bench->samples,
                          .sample_bytes = bench->sample_bytes};
    RunResult result;
    device_lock(&bench->lock, true);
    runner_run(bench->runner, bench->arena, &request, &result);
    device_unlock(&bench->lock);
    fill_outcome(bench, candidate, &result);
}

/* --- opening and closing --- */

Toolchain *toolchain_open(Arena *arena, const Program *program, const Target *target, const ToolchainOptions *options,
                          const char **why) {
    if (program->size_count) {
        *why = "sizes that are known at run time only cannot be measured";
        return NULL;
    }
    Bench *bench = ARENA_NEW(arena, Bench);
    *bench = (Bench){.arena = arena, .program = program, .target = target, .options = *options};
    bench->toolchain = (Toolchain){.context = bench,
                                   .jobs = options->jobs,
                                   .submit = submit,
                                   .collect = collect,
                                   .measure = measure,
                                   .release = release};
    bench->sizes = ARENA_ARRAY(arena, int64_t, 1);
    bench->lock = device_lock_open(arena);
    bench->builders = ARENA_ARRAY(arena, Builder, options->jobs);
    bench->runner = runner_open(arena, options->runner, why);
    if (!bench->runner) {
        toolchain_close(&bench->toolchain);
        return NULL;
    }
    return &bench->toolchain;
}

void toolchain_close(Toolchain *toolchain) {
    Bench *bench = toolchain->context;
    for (int i = 0; i < bench->options.jobs; i++)
        end_builder(&bench->builders[i]);
    runner_close(bench->runner);
    device_lock_close(&bench->lock);
    contents_forget(&bench->contents);
    for (int i = 0; bench->arguments && i < bench->program->argument_count; i++)
        free(bench->arguments[i]);
}
