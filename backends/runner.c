/* runner.c - the compiler's side of running candidates: a worker process, its requests, limits and deaths.
 *
 * The worker stands in a process group of its own, so that Ctrl-C reaches the compiler alone and a kill reaches
 * whatever the candidate started. A worker that crashed, hung or answered nonsense is killed, reaped and started again
 * for the next request: what it did is an outcome with a reason.
 */
#include "backends/backends.h"
#include "backends/contents.h"
#include "backends/wire.h"
#include "lang/clock.h"
#include "lang/value.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const double slow_part = 0.5; /* of a time limit on the processor: a run that had less of it was kept waiting */

struct Runner {
    const char *command; /* NULL: local */
    const char *worker;  /* path of tensorc-worker, NULL: this program with --worker */
    pid_t pid;           /* 0: none */
    int input, output;   /* of the worker, our ends */
    Arena *arena;
    ContentsTable told; /* keys of what the worker keeps */
};

/* --- the arguments of a run --- */

static void size_values(const Program *program, const int64_t *sizes, SizeValue *values) {
    for (int i = 0; i < program->size_count; i++)
        values[i] = (SizeValue){program->sizes[i], sizes[i]};
}

int64_t argument_elements(const Program *program, const int64_t *sizes, int argument) {
    const Tensor *tensor = program->arguments[argument].tensor;
    SizeValue values[program->size_count + 1];
    int64_t count = 1, extent;
    size_values(program, sizes, values);
    for (int d = 0; tensor && d < tensor->rank; d++)
        if (!expr_evaluate(tensor->dims[d], values, program->size_count, &extent) || extent < 0 ||
            __builtin_mul_overflow(count, extent, &count))
            return -1;
    int64_t bytes;
    return tensor && __builtin_mul_overflow(count, (int64_t)element_info[tensor->type].bytes, &bytes) ? -1 : count;
}

static const Expr *without_casts(const Expr *e) {
    while (e->kind == EXPR_CAST)
        e = e->args[0];
    return e;
}

typedef struct RangeSearch {
    const Tensor *tensor;
    const SizeValue *values;
    int value_count;
    bool indexed; /* some requirement reads the tensor */
    int64_t high;
} RangeSearch;

/* A read of the argument, or of what it holds before the call. */
static bool reads_argument(const Expr *e, const Tensor *argument) {
    return e->kind == EXPR_READ &&
           (e->tensor == argument || (e->tensor->role == ROLE_INITIAL && e->tensor->buffer == argument));
}

/* Looks for `read < bound` and `read <= bound` below a requirement's condition. */
static bool find_bound(const Expr *e, void *context) {
    RangeSearch *search = context;
    int64_t bound;
    if (reads_argument(e, search->tensor))
        search->indexed = true;
    if (e->kind != EXPR_OP || (e->op != OP_LT && e->op != OP_LE))
        return true;
    const Expr *read = without_casts(e->args[0]);
    if (reads_argument(read, search->tensor) &&
        expr_evaluate(e->args[1], search->values, search->value_count, &bound)) {
        bound -= e->op == OP_LT;
        search->high = bound < search->high ? bound : search->high;
    }
    return true;
}

void argument_range(const Program *program, const int64_t *sizes, int argument, int64_t *low, int64_t *high) {
    const Tensor *tensor = program->arguments[argument].tensor;
    ElementType type = tensor ? tensor->type : program->arguments[argument].scalar->type;
    ElementKind kind = element_info[type].kind;
    *low = kind == KIND_SIGNED ? -8 : 0;
    *high = kind == KIND_BOOL ? 1 : 8;
    SizeValue values[program->size_count + 1];
    size_values(program, sizes, values);
    RangeSearch search = {.tensor = tensor, .values = values, .value_count = program->size_count, .high = INT64_MAX};
    for (int i = 0; tensor && i < program->requirement_count; i++)
        if (program->requirements[i].status == STATUS_BAD_INDEX)
            expr_walk(program->requirements[i].condition, find_bound, &search);
    if (!search.indexed)
        return;
    *low = 0;
    *high = search.high == INT64_MAX || search.high < 0 ? 0 : search.high;
}

void argument_fill(const Program *program, const int64_t *sizes, int argument, uint64_t seed, void *data) {
    const Argument *a = &program->arguments[argument];
    ElementType type = a->tensor ? a->tensor->type : a->scalar->type;
    int64_t low, high;
    argument_range(program, sizes, argument, &low, &high);
    fill_random(type, data, argument_elements(program, sizes, argument), seed + (uint64_t)argument, low, high);
}

/* --- starting and ending a worker --- */

/* tensorc-worker beside this program, or in the folders above it (a build's test programs). */
static const char *find_worker(Arena *arena) {
    const char *named = getenv("TENSORC_WORKER");
    if (named && *named)
        return arena_strdup(arena, named);
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    for (int up = 0; length > 0 && up < 3; up++) {
        while (length > 0 && path[length - 1] != '/')
            length--;
        const char *candidate = arena_printf(arena, "%.*stensorc-worker", (int)length, path);
        if (!access(candidate, X_OK))
            return candidate;
        length--;
    }
    return NULL;
}

static _Noreturn void become_worker(const Runner *runner, int input, int output) {
    setpgid(0, 0);
    dup2(input, STDIN_FILENO);
    dup2(output, STDOUT_FILENO);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_DFL);
    signal(SIGALRM, SIG_DFL);
    if (runner->command)
        execl("/bin/sh", "sh", "-c", runner->command, (char *)NULL);
    else if (runner->worker)
        execl(runner->worker, "tensorc-worker", (char *)NULL);
    else
        execl("/proc/self/exe", "tensorc", "--worker", (char *)NULL);
    _exit(127);
}

static bool start_worker(Runner *runner) {
    int request[2], answer[2];
    contents_forget(&runner->told);
    if (!wire_open(request, answer))
        return false;
    runner->pid = fork();
    if (!runner->pid)
        become_worker(runner, request[0], answer[1]);
    close(request[0]);
    close(answer[1]);
    runner->input = request[1];
    runner->output = answer[0];
    if (runner->pid > 0) {
        setpgid(runner->pid, runner->pid);
        return true;
    }
    close(request[1]);
    close(answer[0]);
    runner->pid = 0;
    return false;
}

/* Kills what is left of the worker; returns its wait status. */
static int end_worker(Runner *runner) {
    int status = 0;
    if (!runner->pid)
        return 0;
    close(runner->input);
    close(runner->output);
    for (int i = 0; i < 50 && waitpid(runner->pid, &status, WNOHANG) == 0; i++) {
        if (i == 2)
            kill(-runner->pid, SIGKILL);
        nanosleep(&(struct timespec){0, 2000000}, NULL);
    }
    kill(-runner->pid, SIGKILL);
    waitpid(runner->pid, &status, WNOHANG);
    runner->pid = 0;
    return status;
}

static void kill_worker(Runner *runner) {
    if (runner->pid) {
        kill(-runner->pid, SIGKILL);
        kill(runner->pid, SIGKILL);
        close(runner->input);
        close(runner->output);
        while (waitpid(runner->pid, NULL, 0) < 0 && errno == EINTR)
            continue;
        runner->pid = 0;
    }
}

Runner *runner_open(Arena *arena, const char *command, const char **why) {
    Runner *runner = ARENA_NEW(arena, Runner);
    signal(SIGPIPE, SIG_IGN); /* a worker that ended is an outcome */
    runner->command = command;
    runner->arena = arena;
    runner->worker = find_worker(arena);
    if (start_worker(runner))
        return runner;
    *why = arena_printf(arena, "cannot start a worker process: %s", strerror(errno));
    return NULL;
}

void runner_close(Runner *runner) {
    if (runner)
        end_worker(runner);
}

/* --- one run --- */

static bool put_argument(const RunRequest *request, int argument, Wire *wire) {
    const Argument *a = &request->program->arguments[argument];
    ElementType type = a->tensor ? a->tensor->type : a->scalar->type;
    int64_t low, high, count = argument_elements(request->program, request->sizes, argument);
    const void *data = request->inputs ? request->inputs[argument] : NULL;
    if (count < 0)
        return false;
    argument_range(request->program, request->sizes, argument, &low, &high);
    wire_put_integer(wire, type);
    wire_put_integer(wire, count);
    wire_put_integer(wire, low);
    wire_put_integer(wire, high);
    wire_put_integer(wire, a->tensor == NULL || a->tensor->role == ROLE_INPUT);
    wire_put_integer(wire, data != NULL);
    wire_put_integer(wire, request->outputs && request->outputs[argument]);
    if (data)
        wire_put(wire, data, (size_t)count * (size_t)element_info[type].bytes);
    return true;
}

/* Whether the worker has room for what it was not told. */
static bool has_room(const Runner *runner, const RunRequest *request) {
    size_t bytes = runner->told.bytes;
    for (int i = 0; i < request->constant_count; i++)
        bytes += contents_find(&runner->told, request->constants[i]->key) ? 0 : request->constants[i]->bytes;
    return bytes <= CONTENTS_LIMIT;
}

/* Contents go with the first request that needs them. With none told the worker forgets what it has. */
static void put_constants(Runner *runner, const RunRequest *request, Wire *wire) {
    if (!has_room(runner, request))
        contents_forget(&runner->told);
    wire_put_integer(wire, runner->told.items.count == 0);
    wire_put_integer(wire, request->constant_count);
    for (int i = 0; i < request->constant_count; i++) {
        const Contents *constant = request->constants[i];
        bool told = contents_find(&runner->told, constant->key) != NULL;
        wire_put_text(wire, constant->key);
        wire_put_integer(wire, (int64_t)constant->bytes);
        wire_put_integer(wire, !told);
        if (told)
            continue;
        wire_put(wire, constant->data, constant->bytes);
        contents_add(runner->arena, &runner->told, constant->key, NULL, constant->bytes);
    }
}

static bool put_request(Runner *runner, const RunRequest *request, Wire *wire) {
    const Program *program = request->program;
    wire_put_integer(wire, WIRE_VERSION);
    wire_put_text(wire, request->symbol ? request->symbol : program->symbol);
    wire_put_integer(wire, (int64_t)request->seed);
    wire_put_integer(wire, request->threads);
    wire_put_integer(wire, request->max_repeats);
    wire_put_integer(wire, request->limit_bytes);
    wire_put_real(wire, request->min_seconds);
    wire_put_real(wire, request->steady);
    wire_put_real(wire, request->stop_seconds);
    wire_put_real(wire, request->limit_seconds);
    wire_put_integer(wire, (int64_t)request->object_bytes);
    wire_put(wire, request->object, request->object_bytes);
    put_constants(runner, request, wire);
    wire_put_integer(wire, program->size_count);
    wire_put(wire, request->sizes, (size_t)program->size_count * 8);
    wire_put_integer(wire, program->argument_count);
    for (int i = 0; i < program->argument_count; i++)
        if (!put_argument(request, i, wire))
            return false;
    wire_put_integer(wire, request->sample_count);
    for (int i = 0; i < request->sample_count; i++) {
        wire_put_integer(wire, request->samples[i].argument);
        wire_put_integer(wire, request->samples[i].element);
    }
    return !wire->failed;
}

/* Waits for the answer: 1 whole, 0 the worker ended, -1 out of time or stopped. */
static int await_answer(Runner *runner, const RunRequest *request, Wire *answer) {
    double deadline = monotonic_seconds() + request->limit_seconds;
    answer->length = answer->at = 0;
    for (bool complete = false; !complete;) {
        double left = deadline - monotonic_seconds();
        if (left <= 0 || (request->stop && *request->stop))
            return -1;
        struct pollfd ready = {.fd = runner->output, .events = POLLIN};
        int count = poll(&ready, 1, left < 0.1 ? (int)(left * 1000) + 1 : 100);
        if (count > 0 && !wire_receive_some(answer, runner->output, &complete))
            return 0;
    }
    return 1;
}

static const char *death(Arena *arena, int status) {
    if (WIFSIGNALED(status))
        return arena_printf(arena, "the run ended with signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
        return "the worker program could not be started";
    return arena_printf(arena, "the worker exited with status %d", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

static void read_answer(Runner *runner, Arena *arena, const RunRequest *request, Wire *answer, RunResult *result) {
    int64_t outcome = wire_get_integer(answer);
    result->why = arena_strdup(arena, wire_get_text(answer));
    result->outcome = outcome >= 0 && outcome < OUTCOME_COUNT ? (Outcome)outcome : OUTCOME_CRASH;
    if (result->outcome != OUTCOME_OK) {
        contents_forget(&runner->told); /* it may lack what it had no memory for */
        return;
    }
    result->status = (int)wire_get_integer(answer);
    const void *samples = wire_get(answer, (size_t)request->sample_count * 8);
    if (samples && request->sample_count)
        memcpy(request->sample_bytes, samples, (size_t)request->sample_count * 8);
    for (int i = 0; request->outputs && i < request->program->argument_count; i++) {
        if (!request->outputs[i])
            continue;
        const Tensor *tensor = request->program->arguments[i].tensor;
        size_t bytes =
            (size_t)argument_elements(request->program, request->sizes, i) * (size_t)element_info[tensor->type].bytes;
        const void *data = wire_get(answer, bytes);
        if (data)
            memcpy(request->outputs[i], data, bytes);
    }
    result->repeats = (int)wire_get_integer(answer);
    result->seconds = wire_get_real(answer);
    result->minimum = wire_get_real(answer);
    result->spread = wire_get_real(answer);
    if (answer->failed) {
        result->outcome = OUTCOME_CRASH;
        result->why = "the worker's answer was damaged";
    }
}

/* Killed by none of us: a machine without memory, or a person. */
static void fail_by_death(Runner *runner, Arena *arena, RunResult *result) {
    int status = end_worker(runner);
    *result = (RunResult){.outcome = OUTCOME_CRASH,
                          .why = death(arena, status),
                          .passing = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL};
}

static void exchange(Runner *runner, Arena *arena, const RunRequest *request, Wire *message, RunResult *result) {
    if (!wire_send(message, runner->input)) {
        fail_by_death(runner, arena, result);
        return;
    }
    double before = processor_seconds(runner->pid);
    bool waited;
    switch (await_answer(runner, request, message)) {
    case 1: read_answer(runner, arena, request, message, result); break;
    case 0: fail_by_death(runner, arena, result); break;
    default:
        waited = processor_seconds(runner->pid) - before < request->limit_seconds * slow_part;
        kill_worker(runner);
        *result = (RunResult){.outcome = OUTCOME_TIMEOUT,
                              .passing = waited,
                              .why = arena_printf(arena, "the run took longer than %.3g s", request->limit_seconds)};
    }
}

void runner_run(Runner *runner, Arena *arena, const RunRequest *request, RunResult *result) {
    *result = (RunResult){.outcome = OUTCOME_BUILD_ERROR, .why = "the arguments are too large to run"};
    Wire message = {0};
    if (!runner->pid && !start_worker(runner)) {
        result->why = arena_printf(arena, "cannot start a worker process: %s", strerror(errno));
        result->passing = true;
    } else if (put_request(runner, request, &message))
        exchange(runner, arena, request, &message, result);
    wire_free(&message);
}

void run_object(Arena *arena, const RunRequest *request, RunResult *result) {
    const char *why = "";
    Runner *runner = runner_open(arena, NULL, &why);
    if (!runner) {
        *result = (RunResult){.outcome = OUTCOME_BUILD_ERROR, .why = why};
        return;
    }
    runner_run(runner, arena, request, result);
    runner_close(runner);
}
