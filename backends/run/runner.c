/* runner.c - the compiler's side of running candidates: requests to a worker process, answers, limits and deaths.
 *
 * A worker that crashed, hung or answered nonsense is killed, reaped and restarted for the next request; what happened
 * is an outcome with a reason. Each new worker is greeted first, so that a worker that cannot start is not taken for a
 * candidate's crash. Answers carry the number of their request, and impossible times are refused.
 */
#include "backends/run/contents.h"
#include "backends/run/run.h"
#include "backends/run/wire.h"
#include "lang/clock.h"
#include "lang/terminal.h"
#include "lang/value.h"
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <string.h>

enum { START_SECONDS = 60, GREETING_LIMIT = 4096, BANNER_BYTES = 80 };
static const double slow_part = 0.5;       /* of a time limit, in processor time: a run with less was kept waiting */
static const double shortest_call = 1e-10; /* seconds */

struct Runner {
    WorkerProcess process;
    Arena *arena;
    int64_t request;    /* number of the last request */
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
    const Argument *argument;
    const SizeValue *values;
    int value_count;
    bool indexed; /* some requirement reads the argument */
    int64_t low, high;
} RangeSearch;

/* Whether it reads the argument, or what that holds before the call. */
static bool reads_argument(const Expr *e, const Argument *argument) {
    if (!argument->tensor)
        return e->kind == EXPR_VAR && e->var == argument->scalar;
    return e->kind == EXPR_READ && (e->tensor == argument->tensor ||
                                    (e->tensor->role == ROLE_INITIAL && e->tensor->buffer == argument->tensor));
}

/* Whether the expression is a read of the argument less a number, as an index that does not count from 0 is. */
static bool is_read_less(const RangeSearch *search, const Expr *e, int64_t *number) {
    *number = 0;
    if (expr_is_op(e, OP_SUB) && expr_evaluate(e->args[1], search->values, search->value_count, number))
        e = e->args[0];
    else if (expr_is_op(e, OP_ADD) && expr_evaluate(e->args[1], search->values, search->value_count, number)) {
        e = e->args[0];
        *number = -*number;
    }
    return reads_argument(without_casts(e), search->argument);
}

/* Looks for `read - number < bound`, and the like, in a requirement's condition. */
static void find_bound(RangeSearch *search, const Expr *e) {
    int64_t bound, number;
    if (reads_argument(e, search->argument))
        search->indexed = true;
    if (e->kind != EXPR_OP || (e->op != OP_LT && e->op != OP_LE && e->op != OP_GE) ||
        !is_read_less(search, e->args[0], &number) ||
        !expr_evaluate(e->args[1], search->values, search->value_count, &bound) ||
        __builtin_add_overflow(bound, number - (e->op == OP_LT), &bound))
        return;
    if (e->op == OP_GE)
        search->low = bound > search->low ? bound : search->low;
    else
        search->high = bound < search->high ? bound : search->high;
}

void argument_range(const Program *program, const int64_t *sizes, int argument, int64_t *low, int64_t *high) {
    const Argument *a = &program->arguments[argument];
    ElementType type = argument_element_type(a);
    ElementKind kind = element_info[type].kind;
    *low = kind == KIND_SIGNED ? -8 : 0;
    *high = kind == KIND_BOOL ? 1 : 8;
    SizeValue values[program->size_count + 1];
    size_values(program, sizes, values);
    RangeSearch search = {
        .argument = a, .values = values, .value_count = program->size_count, .low = INT64_MIN, .high = INT64_MAX};
    for (int i = 0; i < program->requirement_count; i++)
        if (program->requirements[i].status == STATUS_BAD_INDEX)
            EACH_EXPR(e, program->requirements[i].condition)
                find_bound(&search, e);
    if (!search.indexed)
        return;
    *low = search.low == INT64_MIN ? 0 : search.low;
    *high = search.high == INT64_MAX || search.high < *low ? *low : search.high;
}

void argument_fill(const Program *program, const int64_t *sizes, int argument, uint64_t seed, void *data) {
    const Argument *a = &program->arguments[argument];
    ElementType type = argument_element_type(a);
    int64_t low, high;
    argument_range(program, sizes, argument, &low, &high);
    fill_random(type, data, argument_elements(program, sizes, argument), seed + (uint64_t)argument, low, high);
}

/* --- starting a worker --- */

static void put_head(Runner *runner, RequestKind kind, Wire *wire) {
    wire_put_integer(wire, WIRE_VERSION);
    wire_put_integer(wire, ++runner->request);
    wire_put_integer(wire, kind);
}

/* Whether the answer is to the last request, not to an earlier one or none. */
static bool is_answer(const Runner *runner, Wire *answer) {
    return wire_get_integer(answer) == runner->request && !answer->failed;
}

static const char *who(Arena *arena, const WorkerProcess *process) {
    if (process->command)
        return arena_printf(arena, "the runner '%s'", process->command);
    return arena_printf(arena, "the worker '%s'", process->program ? process->program : "tensorc --worker");
}

static const char unknown_answer[] = "what it answers is not what tensorc-worker of this version does";

/* Reads a worker's first answer. NULL, or what is wrong with it. */
static const char *read_greeting(const Runner *runner, Wire *answer) {
    bool fits = is_answer(runner, answer) && wire_get_integer(answer) == OUTCOME_OK;
    int64_t version = wire_get_integer(answer);
    if (fits && version == WIRE_VERSION && !answer->failed && answer->at == answer->length)
        return NULL;
    return unknown_answer;
}

/* What it wrote in place of an answer, as a shell that greets does; NULL: nothing. */
static const char *read_banner(Arena *arena, WorkerProcess *process, Wire *answer) {
    worker_read_on(process, answer, BANNER_BYTES);
    const char *bytes = (const char *)answer->bytes;
    size_t length = answer->length < BANNER_BYTES ? answer->length : BANNER_BYTES, end = 0;
    while (end < length && bytes[end] && !strchr("\r\n", bytes[end]))
        end++;
    if (!length)
        return NULL;
    const char *line = shown_line(arena, arena_strndup(arena, bytes, end));
    return arena_printf(arena, "%s: '%s'", unknown_answer, line);
}

/* Asks a new worker only to answer: one that does not never ran a candidate. NULL or what is wrong; *late: there was no
 * time to find out. */
static const char *greet(Runner *runner, Arena *arena, Patience patience, bool *late) {
    Wire request = {0}, answer = {.limit = GREETING_LIMIT};
    WorkerProcess *process = &runner->process;
    const char *wrong = NULL;
    double since = monotonic_seconds();
    put_head(runner, REQUEST_GREETING, &request);
    Exchange exchange = worker_exchange(process, &request, &answer, patience);
    *late = exchange == EXCHANGE_LATE;
    if (exchange == EXCHANGE_ANSWERED)
        wrong = read_greeting(runner, &answer);
    else
        wrong = read_banner(arena, process, &answer);
    if (!wrong && exchange == EXCHANGE_ENDED)
        wrong = worker_death(arena, process).why;
    if (!wrong && *late)
        wrong = arena_printf(arena, "it has not answered for %.3g s", monotonic_seconds() - since);
    if (wrong)
        worker_kill(process);
    wire_free(&request);
    wire_free(&answer);
    return wrong;
}

/* Starts a worker. NULL: it is ready. *transient: the machine was busy, or time was short. */
static const char *start_worker(Runner *runner, Arena *arena, Patience patience, bool *transient) {
    WorkerProcess *process = &runner->process;
    contents_forget(&runner->told);
    *transient = false;
    if (!worker_start(process)) {
        *transient = true;
        return arena_printf(arena, "cannot start a worker process: %s", strerror(errno));
    }
    double limit = monotonic_seconds() + START_SECONDS;
    bool late = false, hurried = patience.deadline < limit;
    patience.deadline = hurried ? patience.deadline : limit;
    const char *wrong = greet(runner, arena, patience, &late);
    *transient = late && (hurried || (patience.stop && *patience.stop));
    return !wrong ? NULL
                  : arena_printf(arena, "%s does not start: %s%s", who(arena, process), wrong,
                                 worker_last_messages(arena, process));
}

Runner *runner_open(Arena *arena, const char *command, Patience patience, const char **why, bool *transient) {
    Runner *runner = ARENA_NEW(arena, Runner);
    bool unused;
    signal(SIGPIPE, SIG_IGN); /* a worker that ended is an outcome */
    runner->process.command = command;
    runner->arena = arena;
    runner->request = (int64_t)(monotonic_seconds() * 1e9);
    worker_find(arena, &runner->process);
    runner->process.name = who(arena, &runner->process);
    const char *wrong = start_worker(runner, arena, patience, transient ? transient : &unused);
    if (!wrong)
        return runner;
    *why = wrong;
    return NULL;
}

void runner_close(Runner *runner) {
    if (!runner)
        return;
    worker_end(&runner->process);
    contents_forget(&runner->told);
}

/* --- one run --- */

static bool put_argument(const RunRequest *request, int argument, Wire *wire) {
    const Argument *a = &request->program->arguments[argument];
    ElementType type = argument_element_type(a);
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

/* Whether the worker has room for the contents that it was not sent. */
static bool has_room(const Runner *runner, const RunRequest *request) {
    size_t bytes = runner->told.bytes;
    for (int i = 0; i < request->constant_count; i++)
        bytes += contents_find(&runner->told, request->constants[i]->key) ? 0 : request->constants[i]->bytes;
    return bytes <= CONTENTS_LIMIT;
}

/* Sends contents with the first request that needs them. A worker that was told of none forgets its contents. */
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
    put_head(runner, REQUEST_RUN, wire);
    wire_put_text(wire, request->symbol ? request->symbol : program->symbol);
    wire_put_integer(wire, (int64_t)request->seed);
    wire_put_integer(wire, request->threads);
    wire_put_integer(wire, request->max_repeats);
    wire_put_integer(wire, request->limit_bytes);
    wire_put_real(wire, request->min_seconds);
    wire_put_real(wire, request->steady);
    wire_put_real(wire, request->stop_seconds);
    wire_put_integer(wire, request->hasty);
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

/* --- answers --- */

/* Reads the worker's own reason for having no result. */
static void read_refusal(Runner *runner, Arena *arena, Wire *answer, RunResult *result) {
    int64_t reason = wire_get_integer(answer);
    const char *why = wire_get_text(answer);
    contents_forget(&runner->told); /* it may lack contents that it had no memory for */
    *result = (RunResult){.outcome = OUTCOME_BUILD_ERROR, .why = arena_strdup(arena, why)};
    result->transient = reason != REFUSED_OBJECT;
    result->unable = reason == REFUSED_ALL;
    if (reason == REFUSED_THREADS)
        result->why = arena_printf(arena, "%s%s", why, worker_last_message(arena, &runner->process));
}

static void read_outputs(const RunRequest *request, Wire *answer) {
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
}

/* So much of a disturbance, too. */
static bool disturbance_is_possible(const Disturbance *d) {
    return d->switches >= 0 && d->undisturbed >= 0 && isfinite(d->processor_part) && d->processor_part >= 0 &&
           isfinite(d->steal) && d->steal >= 0;
}

/* Whether times are possible: no call is too short, and all together take no longer than the exchange did. */
static bool times_are_possible(const RunResult *result, double elapsed) {
    return result->repeats >= 1 && result->minimum >= shortest_call && result->minimum <= result->seconds &&
           result->seconds <= elapsed && isfinite(result->spread) && result->spread >= 0 &&
           disturbance_is_possible(&result->disturbance);
}

/* -1: no number of things. */
static int read_count(Wire *answer) {
    int64_t count = wire_get_integer(answer);
    return count < 0 || count > INT32_MAX ? -1 : (int)count;
}

static Disturbance read_disturbance(Wire *answer) {
    Disturbance d = {.switches = read_count(answer)};
    d.undisturbed = read_count(answer);
    d.processor_part = wire_get_real(answer);
    d.steal = wire_get_real(answer);
    return d;
}

static void read_result(const RunRequest *request, Wire *answer, double elapsed, RunResult *result) {
    *result = (RunResult){.outcome = OUTCOME_OK, .why = ""};
    result->status = (int)wire_get_integer(answer);
    read_outputs(request, answer);
    result->disturbance = read_disturbance(answer);
    result->repeats = (int)wire_get_integer(answer);
    result->seconds = wire_get_real(answer);
    result->minimum = wire_get_real(answer);
    result->spread = wire_get_real(answer);
    if (answer->failed || answer->at != answer->length)
        *result = (RunResult){.outcome = OUTCOME_CRASH, .why = "the worker's answer was damaged", .died = true};
    else if (!result->status && !times_are_possible(result, elapsed))
        *result = (RunResult){.outcome = OUTCOME_CRASH, .why = "the worker's times are impossible", .died = true};
}

static void read_answer(Runner *runner, Arena *arena, const RunRequest *request, Wire *answer, double elapsed,
                        RunResult *result) {
    bool fits = is_answer(runner, answer);
    int64_t outcome = wire_get_integer(answer);
    if (fits && outcome == OUTCOME_OK)
        read_result(request, answer, elapsed, result);
    else if (fits)
        read_refusal(runner, arena, answer, result);
    if (!fits || answer->failed)
        *result = (RunResult){.outcome = OUTCOME_CRASH, .why = "the worker's answer was damaged", .died = true};
    if (result->died || result->transient)
        worker_kill(&runner->process);
}

static void exchange(Runner *runner, Arena *arena, const RunRequest *request, const Wire *message, RunResult *result) {
    Wire answer = {0};
    WorkerProcess *process = &runner->process;
    double since = monotonic_seconds(), before = processor_seconds(process->pid);
    bool waited;
    Death death;
    switch (worker_exchange(process, message, &answer, (Patience){since + request->limit_seconds, request->stop})) {
    case EXCHANGE_ANSWERED: read_answer(runner, arena, request, &answer, monotonic_seconds() - since, result); break;
    case EXCHANGE_ENDED:
        death = worker_death(arena, process);
        *result = (RunResult){.outcome = OUTCOME_CRASH, .transient = !death.fault, .died = death.fault};
        result->why = arena_printf(arena, "%s%s", death.why, worker_last_message(arena, process));
        break;
    case EXCHANGE_LATE:
        waited = processor_seconds(process->pid) - before < request->limit_seconds * slow_part;
        worker_kill(process);
        *result = (RunResult){.outcome = OUTCOME_TIMEOUT,
                              .transient = waited,
                              .why = arena_printf(arena, "the run took longer than %.3g s", request->limit_seconds)};
        break;
    }
    wire_free(&answer);
}

void runner_run(Runner *runner, Arena *arena, const RunRequest *request, RunResult *result) {
    *result = (RunResult){.outcome = OUTCOME_BUILD_ERROR, .why = "the arguments are too large to run"};
    Wire message = {0};
    bool transient;
    const char *wrong = NULL;
    if (!runner->process.pid)
        wrong = start_worker(runner, arena, (Patience){HUGE_VAL, request->stop}, &transient);
    if (wrong && request->stop && *request->stop)
        *result = (RunResult){.outcome = OUTCOME_TIMEOUT, .why = wrong, .transient = true};
    else if (wrong)
        *result = (RunResult){.outcome = OUTCOME_BUILD_ERROR, .why = wrong, .transient = true, .unable = true};
    else if (put_request(runner, request, &message))
        exchange(runner, arena, request, &message, result);
    wire_free(&message);
}

const RunnerKind worker_runner = {runner_open, runner_run, runner_close};

void run_object(const RunnerKind *kind, Arena *arena, const RunRequest *request, RunResult *result) {
    const char *why = "";
    Runner *runner = kind->open(arena, request->runner, (Patience){HUGE_VAL, request->stop}, &why, NULL);
    if (!runner) {
        *result = (RunResult){.outcome = OUTCOME_BUILD_ERROR, .why = why};
        return;
    }
    kind->run(runner, arena, request, result);
    kind->close(runner);
}
