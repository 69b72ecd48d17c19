/* builders.c - build processes: forked when there is something to build, while no other thread runs here, from a
 * process that has built once. Each reads schedules as text and answers with objects.
 *
 * A builder that hangs or dies costs one candidate. A build may take a limited processor time; failures that come from
 * the machine's load are marked as transient. Builders share the device lock while they build.
 */
#include "backends/run/builders.h"
#include "backends/run/device_lock.h"
#include "backends/run/wire.h"
#include "lang/child.h"
#include "lang/clock.h"
#include "lang/terminal.h"
#include "parser/ast.h"
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BUILD_LIMIT_SECONDS = 20, MOST_JOBS = 1024, OTHER_FILES = 64 };
enum { WITHOUT_MEMORY = 4 };               /* exit status of a builder */
static const double least_progress = 0.05; /* of a processor; below it a build is given up for now */

typedef struct BuildProcess {
    pid_t pid; /* 0: none */
    int input, output;
    int64_t generation;     /* of the contents that it sent */
    Candidate *candidate;   /* being built; NULL: idle */
    double deadline, spent; /* spent: processor seconds when last checked */
    double since;           /* processor seconds when this build began */
    Wire answer;
} BuildProcess;

struct Builders {
    Arena *arena;
    Program *const *programs;
    const Target *target;
    ToolchainOptions options;
    BuildProcess *items;  /* [options.jobs] */
    struct pollfd *ready; /* of each */
    int room;             /* the system has room for so many */
    LIST(struct WaitingBuild {
        Candidate *candidate;
        int program;
    })
    waiting;
    int waiting_at;
    LIST(Candidate *) finished;
    int finished_at;
    ContentsTable contents; /* contents that objects leave out */
    int64_t generation;     /* how often these were forgotten */
    int held;               /* candidates built but not released */
    bool warm;
};

static char *build(Arena *arena, const Builders *pool, int64_t program, const char *text, LeftOut *left_out,
                   size_t *bytes, const char **why) {
    Schedule *schedule = parse_schedule_text(arena, text, strlen(text));
    NestError error = {0};
    *why = "the schedule does not parse";
    if (!schedule)
        return NULL;
    Nest *nest = nest_build(arena, pool->programs[program], schedule, NULL, pool->target, &error);
    *why = error.rule ? error.rule : "the schedule is not legal";
    if (!nest)
        return NULL;
    ExpandOptions expand_options = {.strict = pool->options.strict};
    Kernel *kernel = expand(arena, nest, &expand_options);
    EmitOptions emit_options = {
        .kind = EMIT_OBJECT, .pic = true, .candidate = true, .left_out = left_out, .producer = "tensorc"};
    return pool->options.backend->emit(&kernel, 1, pool->target, &emit_options, bytes, why);
}

/* Each builder makes and sends contents once. */
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

/* Serves one request; the answer replaces it in wire. */
static void serve_build(const Builders *pool, DeviceLock *lock, Arena *kept, ContentsTable *told, Wire *wire) {
    Arena *arena = arena_new();
    LeftOut left_out = {0};
    size_t bytes = 0;
    const char *why = "";
    if (wire_get_integer(wire))
        contents_forget(told);
    int64_t program = wire_get_integer(wire);
    device_lock(lock, false);
    double since = monotonic_seconds(), seconds = 0;
    char *object = build(arena, pool, program, wire_get_text(wire), &left_out, &bytes, &why);
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

static void end_builder_without_memory(void) {
    _exit(WITHOUT_MEMORY);
}

static _Noreturn void run_builder(const Builders *pool, pid_t parent, bool first, int input, int output) {
    child_begin(parent);
    setpgid(0, 0);
    end_without_memory_by(end_builder_without_memory);
    keep_freed_memory();
    /* own descriptors: flock goes by open file. The compiler limits how long a builder may wait. */
    DeviceLock lock = device_lock_open(pool->arena, (WaitLimit){0}, first ? LOCK_TELLS : LOCK_SILENT);
    Wire wire = {0};
    ContentsTable told = {0};
    while (wire_receive(&wire, input)) {
        serve_build(pool, &lock, pool->arena, &told, &wire);
        if (!wire_send(&wire, output))
            break;
    }
    _exit(0);
}

/* Builds once before forking: the first use of LLVM in a process costs as much as a whole build. */
static void warm_up(Builders *pool) {
    Arena *arena = arena_new();
    size_t bytes = 0;
    const char *why = "";
    if (!pool->warm)
        free(build(arena, pool, 0, "", NULL, &bytes, &why));
    pool->warm = true;
    arena_free(arena);
}

int build_jobs(Arena *arena, int wanted, const char **why) {
    struct rlimit files = {0};
    *why = NULL;
    if (getrlimit(RLIMIT_NOFILE, &files))
        return wanted < MOST_JOBS ? wanted : MOST_JOBS;
    rlim_t needed = (rlim_t)wanted * 2 + OTHER_FILES;
    if (files.rlim_cur < needed) {
        files.rlim_cur = files.rlim_max < needed ? files.rlim_max : needed;
        setrlimit(RLIMIT_NOFILE, &files);
        getrlimit(RLIMIT_NOFILE, &files);
    }
    int64_t most = files.rlim_cur > OTHER_FILES + 2 ? (int64_t)((files.rlim_cur - OTHER_FILES) / 2) : 1;
    if (wanted <= most && wanted <= MOST_JOBS)
        return wanted;
    if (most < MOST_JOBS)
        *why =
            arena_printf(arena, "a process may have %llu files open (ulimit -n)", (unsigned long long)files.rlim_cur);
    else
        *why = "more never wait";
    return most < MOST_JOBS ? (int)most : MOST_JOBS;
}

static bool start_builder(Builders *pool, BuildProcess *builder) {
    int request[2], answer[2];
    warm_up(pool);
    if (!wire_open(request, answer))
        return false;
    fflush(NULL);
    pid_t parent = getpid(), pid = fork();
    if (!pid) {
        for (int i = 0; i < pool->options.jobs; i++) /* other builders' pipes must end with the compiler */
            if (pool->items[i].pid) {
                close(pool->items[i].input);
                close(pool->items[i].output);
            }
        close(request[1]);
        close(answer[0]);
        run_builder(pool, parent, builder == pool->items, request[0], answer[1]);
    }
    close(request[0]);
    close(answer[1]);
    if (pid < 0) {
        close(request[1]);
        close(answer[0]);
        return false;
    }
    fcntl(answer[0], F_SETFL, O_NONBLOCK);
    *builder = (BuildProcess){.pid = pid, .input = request[1], .output = answer[0]};
    return true;
}

static void end_builder(BuildProcess *builder) {
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

static void finish(Builders *pool, Candidate *candidate, Outcome outcome, const char *why, bool transient) {
    candidate->outcome = outcome;
    candidate->died = false;
    candidate->why = why;
    candidate->transient = transient;
    list_push(pool->arena, &pool->finished, candidate);
}

static int busy_builders(const Builders *pool) {
    int busy = 0;
    for (int i = 0; i < pool->options.jobs; i++)
        busy += pool->items[i].candidate != NULL;
    return busy;
}

/* Forgets the pool's contents when there are too many, unless some candidate that is held or being built needs them. */
static void limit_contents(Builders *pool) {
    if (pool->contents.bytes <= CONTENTS_LIMIT || pool->held > 0 || busy_builders(pool) > 0)
        return;
    contents_forget(&pool->contents);
    pool->generation++;
}

static void put_build(Builders *pool, BuildProcess *builder, const struct WaitingBuild *build, Wire *wire) {
    Text text = {.arena = pool->arena};
    schedule_print_statements(&text, build->candidate->schedule);
    wire_put_integer(wire, builder->generation != pool->generation);
    builder->generation = pool->generation;
    wire_put_integer(wire, build->program);
    wire_put_text(wire, text.text ? text.text : "");
}

/* Whether a builder is available. If the system has no room for another, the existing ones do the work. */
static bool has_builder(Builders *pool, BuildProcess *builder) {
    int alive = 0;
    for (int i = 0; i < pool->options.jobs; i++)
        alive += pool->items[i].pid != 0;
    if (builder->pid || (alive < pool->room && start_builder(pool, builder)))
        return true;
    if (alive > 0 && pool->room > alive) {
        show(stderr, "tensorc: warning: only %d candidates are built at once: no further process: %s\n", alive,
             strerror(errno));
        pool->room = alive;
    }
    return false;
}

/* Gives waiting candidates to idle builders. */
static void hand_out(Builders *pool) {
    limit_contents(pool);
    for (int i = 0; i < pool->options.jobs && pool->waiting_at < pool->waiting.count; i++) {
        BuildProcess *builder = &pool->items[i];
        bool there = !builder->candidate && has_builder(pool, builder);
        if (builder->candidate || (!there && busy_builders(pool) > 0))
            continue;
        struct WaitingBuild next = pool->waiting.items[pool->waiting_at++];
        Candidate *candidate = next.candidate;
        Wire wire = {0};
        put_build(pool, builder, &next, &wire);
        if (there && wire_send(&wire, builder->input)) {
            builder->candidate = candidate;
            builder->deadline = monotonic_seconds() + BUILD_LIMIT_SECONDS;
            builder->since = builder->spent = processor_seconds(builder->pid);
        } else {
            end_builder(builder);
            finish(pool, candidate, OUTCOME_BUILD_ERROR,
                   there ? "a build process was ended from outside" : "a build process could not be started", true);
        }
        wire_free(&wire);
    }
}

void builders_submit(Builders *pool, int program, Candidate *candidate) {
    candidate->object = NULL;
    candidate->object_bytes = 0;
    list_push(pool->arena, &pool->waiting, ((struct WaitingBuild){candidate, program}));
    hand_out(pool);
}

/* Reads the next constant that an object leaves out; NULL: the answer is damaged, or memory is out. */
static const Contents *take_constant(Builders *pool, Wire *answer) {
    const char *key = wire_get_text(answer);
    int64_t bytes = wire_get_integer(answer);
    const void *data = bytes > 0 ? wire_get(answer, (size_t)bytes) : NULL;
    const Contents *known = answer->failed ? NULL : contents_find(&pool->contents, key);
    return known || !data ? known : contents_add(pool->arena, &pool->contents, key, data, (size_t)bytes);
}

static void free_built(Built *built) {
    if (built) {
        free(built->constants);
        free(built->object);
    }
    free(built);
}

/* Reads a built candidate; NULL: a part is missing. */
static Built *take_built(Builders *pool, Wire *answer) {
    int64_t count = wire_get_integer(answer);
    Built *built = !answer->failed && count >= 0 && count <= (int64_t)answer->length ? calloc(1, sizeof *built) : NULL;
    bool whole = built && (built->constants = calloc((size_t)count + 1, sizeof *built->constants));
    while (whole && built->constant_count < count)
        whole = (built->constants[built->constant_count++] = take_constant(pool, answer)) != NULL;
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

static void take_candidate(Builders *pool, BuildProcess *builder) {
    Candidate *candidate = builder->candidate;
    Wire *answer = &builder->answer;
    size_t before = pool->contents.bytes;
    candidate->build_seconds = wire_get_real(answer);
    bool made = wire_get_integer(answer) != 0;
    const char *why = arena_strdup(pool->arena, wire_get_text(answer));
    Built *built = made ? take_built(pool, answer) : NULL;
    candidate->object = built;
    candidate->object_bytes = built ? built->bytes + pool->contents.bytes - before : 0;
    pool->held += built != NULL;
    answer->length = answer->at = 0;
    answer->failed = false;
    builder->candidate = NULL;
    finish(pool, candidate, built ? OUTCOME_OK : OUTCOME_BUILD_ERROR, made ? "" : why, made && !built);
}

static void lose_builder(Builders *pool, BuildProcess *builder, Outcome outcome, const char *why, bool transient) {
    Candidate *candidate = builder->candidate;
    end_builder(builder);
    builder->candidate = NULL;
    finish(pool, candidate, outcome, why, transient);
}

/* How a process that closed its pipes ended; .si_pid is 0 if not known. */
static siginfo_t end_of(pid_t pid) {
    siginfo_t end = {0};
    for (int i = 0; i < 100 && !waitid(P_PID, (id_t)pid, &end, WEXITED | WNOHANG | WNOWAIT) && !end.si_pid; i++)
        nanosleep(&(struct timespec){0, 2000000}, NULL);
    return end;
}

/* A build that ran out of memory, or was ended from outside, says nothing about the schedule. */
static void builder_died(Builders *pool, BuildProcess *builder) {
    Candidate *candidate = builder->candidate;
    siginfo_t end = end_of(builder->pid);
    bool exited = end.si_pid && end.si_code == CLD_EXITED;
    bool killed = end.si_pid && end.si_code != CLD_EXITED && !signal_is_fault(end.si_status);
    if (exited && end.si_status == WITHOUT_MEMORY)
        lose_builder(pool, builder, OUTCOME_BUILD_ERROR, "there is no memory to build it", true);
    else
        lose_builder(pool, builder, OUTCOME_BUILD_ERROR,
                     killed ? "the build process was ended" : "the build process crashed", killed);
    candidate->died = !candidate->transient;
}

/* A build that uses the processor continues until its limit, however little it gets; one that stands still loses its
 * process. */
static void check_deadline(Builders *pool, BuildProcess *builder) {
    double now = monotonic_seconds(), spent = processor_seconds(builder->pid);
    if (now <= builder->deadline)
        return;
    if (spent - builder->since >= BUILD_LIMIT_SECONDS * 0.9)
        lose_builder(pool, builder, OUTCOME_BUILD_ERROR, "the build took longer than 20 s", false);
    else if (spent - builder->spent < least_progress * BUILD_LIMIT_SECONDS)
        lose_builder(pool, builder, OUTCOME_TIMEOUT, "the build stood still for 20 s", true);
    else
        builder->deadline = now + BUILD_LIMIT_SECONDS;
    builder->spent = spent;
}

/* Takes the builders' answers; waits up to so many seconds for the first, or 0.1. */
static void listen_to_builders(Builders *pool, double seconds) {
    int jobs = pool->options.jobs, milliseconds = seconds >= 0.1 ? 100 : seconds > 0 ? (int)(1e3 * seconds) + 1 : 0;
    struct pollfd *ready = pool->ready;
    for (int i = 0; i < jobs; i++)
        ready[i] = (struct pollfd){.fd = pool->items[i].candidate ? pool->items[i].output : -1, .events = POLLIN};
    if (poll(ready, (nfds_t)jobs, milliseconds) < 0) { /* all are read without blocking; deadlines go on */
        nanosleep(&(struct timespec){0, 2000000}, NULL);
        for (int i = 0; i < jobs; i++)
            ready[i].revents = ready[i].fd >= 0 ? POLLIN : 0;
    }
    for (int i = 0; i < jobs; i++) {
        BuildProcess *builder = &pool->items[i];
        bool complete = false;
        if (!builder->candidate)
            continue;
        if (ready[i].revents && !wire_receive_some(&builder->answer, builder->output, &complete))
            builder_died(pool, builder);
        else if (complete)
            take_candidate(pool, builder);
        else
            check_deadline(pool, builder);
    }
    hand_out(pool);
}

/* Seconds until waiting ends. */
static double seconds_left(const Builders *pool) {
    const ToolchainOptions *options = &pool->options;
    if (options->stop && *options->stop)
        return 0;
    return options->deadline > 0 ? options->deadline - monotonic_seconds() : HUGE_VAL;
}

/* Takes it out of those that have ended. False: it is not there. */
static bool take_finished(Builders *pool, const Candidate *candidate) {
    int at = pool->finished_at;
    while (at < pool->finished.count && pool->finished.items[at] != candidate)
        at++;
    if (at == pool->finished.count)
        return false;
    for (; at > pool->finished_at; at--)
        pool->finished.items[at] = pool->finished.items[at - 1];
    pool->finished_at++;
    return true;
}

/* Ends what is done for it. */
static void give_up(Builders *pool, const Candidate *candidate) {
    for (int w = pool->waiting_at; w < pool->waiting.count; w++)
        if (pool->waiting.items[w].candidate == candidate) {
            struct WaitingBuild own = pool->waiting.items[w];
            pool->waiting.items[w] = pool->waiting.items[pool->waiting_at++];
            finish(pool, own.candidate, OUTCOME_TIMEOUT, "the search is over", true);
        }
    for (int i = 0; i < pool->options.jobs; i++)
        if (pool->items[i].candidate == candidate)
            lose_builder(pool, &pool->items[i], OUTCOME_TIMEOUT, "the search is over", true);
}

void builders_build(Builders *pool, int program, Candidate *candidate) {
    builders_submit(pool, program, candidate);
    while (!take_finished(pool, candidate)) {
        double left = seconds_left(pool);
        if (left > 0 && busy_builders(pool))
            listen_to_builders(pool, left);
        else
            give_up(pool, candidate);
    }
}

Candidate *builders_collect(Builders *pool, bool wait) {
    while (pool->finished_at == pool->finished.count && busy_builders(pool)) {
        double left = wait ? seconds_left(pool) : 0;
        listen_to_builders(pool, left);
        if (left <= 0)
            break;
    }
    return pool->finished_at < pool->finished.count ? pool->finished.items[pool->finished_at++] : NULL;
}

void builders_release(Builders *pool, Candidate *candidate) {
    pool->held -= candidate->object != NULL;
    free_built((Built *)(uintptr_t)candidate->object);
    candidate->object = NULL;
    candidate->object_bytes = 0;
}

Builders *builders_open(Arena *arena, Program *const *programs, const Target *target, const ToolchainOptions *options) {
    Builders *pool = ARENA_NEW(arena, Builders);
    *pool = (Builders){.arena = arena, .programs = programs, .target = target, .options = *options};
    pool->items = ARENA_ARRAY(arena, BuildProcess, options->jobs);
    pool->ready = ARENA_ARRAY(arena, struct pollfd, options->jobs);
    pool->room = options->jobs;
    return pool;
}

void builders_close(Builders *pool) {
    for (int i = 0; i < pool->options.jobs; i++)
        end_builder(&pool->items[i]);
    contents_forget(&pool->contents);
}
