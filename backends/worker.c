/* worker.c - the process that runs candidates: reads a request, loads its object, calls it, times it, answers.
 *
 * It needs neither LLVM nor the compiler, so that it runs wherever a C program runs. Whatever a candidate does ends
 * here: buffers stand between guard pages, a crash or a hang takes down this process alone, and the runner starts
 * another.
 */
#include "backends/backends.h"
#include "backends/loader.h"
#include "backends/wire.h"
#include "lang/clock.h"
#include "lang/value.h"
#include <omp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

typedef struct Buffer {
    uint8_t *mapping, *data;
    size_t mapped, bytes;
} Buffer;

typedef struct Job {
    const char *symbol;
    int64_t size_count, argument_count, sample_count, object_bytes, threads, max_repeats, limit_bytes;
    const int64_t *sizes;
    uint64_t seed;
    double min_seconds, stop_seconds;
    const void *object;
    Buffer *buffers;
    void **arguments;
    bool *wanted; /* whole output asked for */
    int64_t *elements;
    ElementType *types;
} Job;

typedef int (*Entry)(const int64_t *sizes, void *const *arguments);

/* --- what objects call --- */

/* The parallel loops of candidates: contiguous shares, as the code of finished objects makes them. */
static void run_parallel(void (*body)(void *closure, int64_t begin, int64_t end), void *closure, int64_t extent) {
#pragma omp parallel
    {
        int64_t threads = omp_get_num_threads(), thread = omp_get_thread_num();
        int64_t begin = extent / threads * thread + (thread < extent % threads ? thread : extent % threads);
        int64_t end = begin + extent / threads + (thread < extent % threads);
        if (begin < end)
            body(closure, begin, end);
    }
}

/* --- buffers --- */

static bool buffer_make(Buffer *buffer, size_t bytes) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), inner = (bytes + 63) / 64 * 64;
    size_t body = (inner + page - 1) / page * page + page;
    uint8_t *mapping = mmap(NULL, body + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED)
        return false;
    *buffer = (Buffer){mapping, mapping + page + body - inner, body + 2 * page, bytes};
    return !mprotect(mapping + page, body, PROT_READ | PROT_WRITE);
}

static void buffer_free(Buffer *buffer) {
    if (buffer->mapping)
        munmap(buffer->mapping, buffer->mapped);
}

/* --- requests --- */

static bool read_argument(Wire *wire, Job *job, int64_t index) {
    int64_t type = wire_get_integer(wire), count = wire_get_integer(wire);
    int64_t low = wire_get_integer(wire), high = wire_get_integer(wire);
    int64_t given = wire_get_integer(wire);
    job->wanted[index] = wire_get_integer(wire) != 0;
    if (wire->failed || type < 0 || type >= TYPE_COUNT || count < 0)
        return false;
    size_t bytes = (size_t)count * (size_t)element_info[type].bytes;
    const void *data = given ? wire_get(wire, bytes) : NULL;
    if (wire->failed || !buffer_make(&job->buffers[index], bytes))
        return false;
    job->arguments[index] = job->buffers[index].data;
    job->elements[index] = count;
    job->types[index] = (ElementType)type;
    if (data)
        memcpy(job->arguments[index], data, bytes);
    else
        fill_random((ElementType)type, job->arguments[index], count, job->seed + (uint64_t)index, low, high);
    return true;
}

static bool read_job(Arena *arena, Wire *wire, Job *job) {
    if (wire_get_integer(wire) != WIRE_VERSION)
        return false;
    job->symbol = wire_get_text(wire);
    job->seed = (uint64_t)wire_get_integer(wire);
    job->threads = wire_get_integer(wire);
    job->max_repeats = wire_get_integer(wire);
    job->limit_bytes = wire_get_integer(wire);
    job->min_seconds = wire_get_real(wire);
    job->stop_seconds = wire_get_real(wire);
    job->object_bytes = wire_get_integer(wire);
    job->object = wire_get(wire, (size_t)job->object_bytes);
    job->size_count = wire_get_integer(wire);
    const void *sizes = wire_get(wire, (size_t)job->size_count * 8);
    job->argument_count = wire_get_integer(wire);
    if (wire->failed)
        return false;
    int64_t *copy = ARENA_ARRAY(arena, int64_t, job->size_count + 1);
    memcpy(copy, sizes, (size_t)job->size_count * 8);
    job->sizes = copy;
    job->buffers = ARENA_ARRAY(arena, Buffer, job->argument_count + 1);
    job->arguments = ARENA_ARRAY(arena, void *, job->argument_count + 1);
    job->wanted = ARENA_ARRAY(arena, bool, job->argument_count + 1);
    job->elements = ARENA_ARRAY(arena, int64_t, job->argument_count + 1);
    job->types = ARENA_ARRAY(arena, ElementType, job->argument_count + 1);
    for (int64_t i = 0; i < job->argument_count; i++)
        if (!read_argument(wire, job, i))
            return false;
    job->sample_count = wire_get_integer(wire);
    return !wire->failed;
}

/* --- answers --- */

/* The sampled elements, 8 bytes each, and whole outputs: taken after the first call, before timing writes again. */
static void put_results(Wire *request, const Job *job, Wire *answer) {
    for (int64_t i = 0; i < job->sample_count; i++) {
        int64_t argument = wire_get_integer(request), element = wire_get_integer(request);
        uint8_t bytes[8] = {0};
        bool there =
            argument >= 0 && argument < job->argument_count && element >= 0 && element < job->elements[argument];
        size_t width = there ? (size_t)element_info[job->types[argument]].bytes : 0;
        if (there)
            memcpy(bytes, (uint8_t *)job->arguments[argument] + (size_t)element * width, width);
        wire_put(answer, bytes, 8);
    }
    for (int64_t i = 0; i < job->argument_count; i++)
        if (job->wanted[i])
            wire_put(answer, job->arguments[i], job->buffers[i].bytes);
}

static int compare_times(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Repeats until min_seconds have been spent, short calls in groups of at least 50 microseconds so that the clock's
 * grain does not matter; puts repeats, lower quartile, minimum and the coefficient of variation. */
static void put_times(Arena *arena, const Job *job, Entry entry, double first, Wire *answer) {
    double begin = monotonic_seconds(), total = 0, sum = 0, squares = 0;
    int64_t repeats = 0, group = first > 5e-5 ? 1 : (int64_t)(5e-5 / (first > 1e-9 ? first : 1e-9)) + 1;
    LIST(double) times = {0};
    bool slow = job->stop_seconds > 0 && first > job->stop_seconds;
    if (slow || job->max_repeats <= 0)
        list_push(arena, &times, first);
    while (!slow && repeats < job->max_repeats && (repeats < 3 || total < job->min_seconds)) {
        double from = monotonic_seconds();
        for (int64_t i = 0; i < group; i++)
            entry(job->sizes, job->arguments);
        double to = monotonic_seconds();
        list_push(arena, &times, (to - from) / (double)group);
        total = to - begin;
        repeats++;
        slow = job->stop_seconds > 0 && times.items[0] > job->stop_seconds;
    }
    for (int i = 0; i < times.count; i++)
        sum += times.items[i];
    double mean = sum / times.count;
    for (int i = 0; i < times.count; i++)
        squares += (times.items[i] - mean) * (times.items[i] - mean);
    qsort(times.items, (size_t)times.count, sizeof *times.items, compare_times);
    double deviation = times.count > 1 ? squares / (times.count - 1) : 0;
    wire_put_integer(answer, times.count);
    wire_put_real(answer, times.items[times.count / 4]);
    wire_put_real(answer, times.items[0]);
    wire_put_real(answer, mean > 0 ? __builtin_sqrt(deviation) / mean : 0);
}

static void refuse(Wire *answer, Outcome outcome, const char *why) {
    answer->length = 0;
    wire_put_integer(answer, outcome);
    wire_put_text(answer, why);
}

static void run_entry(Arena *arena, const Job *job, Entry entry, Wire *request, Wire *answer) {
    if (job->threads > 0)
        omp_set_num_threads((int)job->threads);
    double begin = monotonic_seconds();
    int status = entry(job->sizes, job->arguments);
    double first = monotonic_seconds() - begin;
    wire_put_integer(answer, OUTCOME_OK);
    wire_put_text(answer, "");
    wire_put_integer(answer, status);
    put_results(request, job, answer);
    if (status) {
        wire_put_integer(answer, 0);
        wire_put_real(answer, 0);
        wire_put_real(answer, 0);
        wire_put_real(answer, 0);
        return;
    }
    if (!(job->stop_seconds > 0 && first > 4 * job->stop_seconds)) { /* the first call also warms caches and pages */
        begin = monotonic_seconds();
        entry(job->sizes, job->arguments);
        first = monotonic_seconds() - begin;
    }
    put_times(arena, job, entry, first, answer);
}

static void limit_memory(int64_t bytes) {
    struct rlimit limit;
    if (bytes <= 0 || getrlimit(RLIMIT_AS, &limit))
        return;
    limit.rlim_cur = (rlim_t)bytes < limit.rlim_max ? (rlim_t)bytes : limit.rlim_max;
    setrlimit(RLIMIT_AS, &limit);
}

static void serve(Wire *request, Wire *answer) {
    static const LoaderSymbol symbols[] = {{"tensorc_parallel", (void *)run_parallel}};
    Arena *arena = arena_new();
    Job job = {0};
    answer->length = 0;
    if (read_job(arena, request, &job)) {
        const char *why = NULL;
        limit_memory(job.limit_bytes);
        LoadedObject *object = loader_load(arena, job.object, (size_t)job.object_bytes, symbols, 1, &why);
        Entry entry = object ? (Entry)(uintptr_t)loader_find(object, arena_printf(arena, "%s_call", job.symbol)) : NULL;
        if (entry)
            run_entry(arena, &job, entry, request, answer);
        else
            refuse(answer, OUTCOME_BUILD_ERROR, object ? "the object lacks the function" : why);
        if (object)
            loader_unload(object);
    } else {
        refuse(answer, OUTCOME_BUILD_ERROR, "the worker could not read the request or lacks memory for the arguments");
    }
    for (int64_t i = 0; job.buffers && i < job.argument_count; i++)
        buffer_free(&job.buffers[i]);
    arena_free(arena);
}

/* No core files, no output files, and an end together with the compiler that started it. */
static void confine(void) {
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){0, 0});
    prctl(PR_SET_PDEATHSIG, SIGKILL);
}

int worker_main(int argc, char **argv) {
    if (argc > 1) {
        fprintf(stderr, "usage: %s   (reads requests of tensorc on standard input)\n", argv[0]);
        return 2;
    }
    confine();
    Wire request = {0}, answer = {0};
    while (wire_receive(&request, STDIN_FILENO)) {
        serve(&request, &answer);
        if (!wire_send(&answer, STDOUT_FILENO))
            break;
    }
    wire_free(&request);
    wire_free(&answer);
    return 0;
}
