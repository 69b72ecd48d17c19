/* worker.c - the process that runs candidates: reads a request, loads its object, calls it, times it, answers.
 *
 * It needs neither LLVM nor the compiler, so it runs wherever a C program runs. Whatever a candidate does ends here:
 * buffers are between guard pages, and a crash or hang ends this process alone; the runner starts another. A hang that
 * nobody ends, because the compiler was killed or is on another machine, ends by itself.
 */
#include "backends/run/contents.h"
#include "backends/run/loader.h"
#include "backends/run/run.h"
#include "backends/run/watch.h"
#include "backends/run/wire.h"
#include "lang/clock.h"
#include "lang/sanitized.h"
#include "lang/value.h"
#include <math.h>
#include <omp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

enum { MOST_THREADS = 16384 };             /* OpenMP starts so many without crashing, or says that it cannot */
enum { HOPELESS = 4 };                     /* times slower than wanted: needs no call to warm it */
static const double slow_seconds = 0.01;   /* longer calls need none either */
static const double gather_seconds = 0.05; /* how long threads wait until all have a processor */

typedef struct MappedBuffer {
    uint8_t *mapping, *data;
    size_t mapped, bytes;
} MappedBuffer;

/* The contents of an argument before a call, made from the seed. Most requests ask for those of the one before. */
typedef struct Original {
    MappedBuffer buffer; /* read only; without a mapping: none yet */
    ElementType type;
    int64_t count, low, high;
    uint64_t seed;
} Original;
typedef LIST(Original) Originals;

/* What is kept from one request to the next. */
typedef struct Kept {
    Arena *arena;
    Originals originals;
    ContentsTable contents;
} Kept;

typedef struct Job {
    int64_t number; /* of the request */
    RequestKind kind;
    bool known, fits; /* of a known version; there is memory for it */
    const char *symbol;
    int64_t size_count, argument_count, sample_count, object_bytes, threads, max_repeats, limit_bytes;
    const int64_t *sizes;
    uint64_t seed;
    double min_seconds, steady, stop_seconds, limit_seconds;
    bool hasty;
    const void *object;
    LoaderSymbol *symbols; /* what the object needs from here */
    int symbol_count;
    MappedBuffer *buffers; /* without a mapping: the original itself, which calls only read */
    void **arguments;
    bool *wanted; /* outputs to return whole */
    int64_t *elements;
    ElementType *types;
} Job;

typedef int (*CalledFunction)(const int64_t *sizes, void *const *arguments);

/* --- buffers --- */

static bool buffer_make(MappedBuffer *buffer, size_t bytes) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), inner = align_up(bytes, DATA_ALIGNMENT);
    size_t body = align_up(inner, page) + page;
    uint8_t *mapping = mmap(NULL, body + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED)
        return false;
    *buffer = (MappedBuffer){mapping, mapping + page + body - inner, body + 2 * page, bytes};
    return !mprotect(mapping + page, body, PROT_READ | PROT_WRITE);
}

/* Makes any further write to the buffer a fault. */
static bool buffer_protect(const MappedBuffer *buffer) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return !mprotect(buffer->mapping + page, buffer->mapped - 2 * page, PROT_READ);
}

static void buffer_free(MappedBuffer *buffer) {
    if (buffer->mapping)
        munmap(buffer->mapping, buffer->mapped);
}

/* --- requests --- */

static const Original *find_original(Kept *kept, int64_t index, const Original *wanted) {
    Originals *originals = &kept->originals;
    while (originals->count <= index)
        list_push(kept->arena, originals, (Original){0});
    Original *original = &originals->items[index];
    if (original->buffer.mapping && original->type == wanted->type && original->count == wanted->count &&
        original->low == wanted->low && original->high == wanted->high && original->seed == wanted->seed)
        return original;
    buffer_free(&original->buffer);
    *original = *wanted;
    if (!buffer_make(&original->buffer, (size_t)wanted->count * (size_t)element_info[wanted->type].bytes)) {
        buffer_free(&original->buffer);
        *original = (Original){0};
        return NULL;
    }
    fill_random(wanted->type, original->buffer.data, wanted->count, wanted->seed, wanted->low, wanted->high);
    return buffer_protect(&original->buffer) ? original : NULL;
}

/* Places an argument. One that calls may write gets a new buffer each time. */
static bool place_argument(Job *job, int64_t index, bool read_only, const void *data, const Original *original) {
    job->fits = data || original;
    if (!job->fits)
        return false;
    if (!data && read_only) {
        job->arguments[index] = original->buffer.data;
        return true;
    }
    MappedBuffer *buffer = &job->buffers[index];
    job->fits = buffer_make(buffer, (size_t)job->elements[index] * (size_t)element_info[job->types[index]].bytes);
    if (!job->fits)
        return false;
    job->arguments[index] = buffer->data;
    memcpy(buffer->data, data ? data : original->buffer.data, buffer->bytes);
    return true;
}

static bool read_argument(Kept *kept, Wire *wire, Job *job, int64_t index) {
    int64_t type = wire_get_integer(wire), count = wire_get_integer(wire);
    int64_t low = wire_get_integer(wire), high = wire_get_integer(wire);
    bool read_only = wire_get_integer(wire) != 0, given = wire_get_integer(wire) != 0;
    job->wanted[index] = wire_get_integer(wire) != 0;
    if (wire->failed || type < 0 || type >= TYPE_COUNT || count < 0)
        return false;
    job->elements[index] = count;
    job->types[index] = (ElementType)type;
    const void *data = given ? wire_get(wire, (size_t)count * (size_t)element_info[type].bytes) : NULL;
    Original wanted = {
        .type = (ElementType)type, .count = count, .low = low, .high = high, .seed = job->seed + (uint64_t)index};
    return !wire->failed &&
           place_argument(job, index, read_only, data, given ? NULL : find_original(kept, index, &wanted));
}

/* Reads a constant that the object leaves out: its contents come along, or came before. */
static bool read_constant(Kept *kept, Wire *wire, LoaderSymbol *symbol) {
    const char *key = wire_get_text(wire);
    int64_t bytes = wire_get_integer(wire);
    bool given = wire_get_integer(wire) != 0;
    const void *data = given && bytes > 0 ? wire_get(wire, (size_t)bytes) : NULL;
    const Contents *contents = wire->failed ? NULL : contents_find(&kept->contents, key);
    if (!contents && data)
        contents = contents_add(kept->arena, &kept->contents, key, data, (size_t)bytes);
    if (contents)
        *symbol = (LoaderSymbol){contents->key, contents->data, contents->bytes};
    return contents && contents->bytes == (size_t)bytes;
}

static bool read_symbols(Arena *arena, Kept *kept, Wire *wire, Job *job) {
    if (wire_get_integer(wire))
        contents_forget(&kept->contents);
    int64_t count = wire_get_integer(wire);
    if (wire->failed || count < 0 || count > (int64_t)wire->length)
        return false;
    job->symbols = ARENA_ARRAY(arena, LoaderSymbol, count + 1);
    job->symbols[job->symbol_count++] = (LoaderSymbol){.name = "tensorc_parallel", .address = (void *)watch_parallel};
    for (int64_t i = 0; i < count; i++)
        if (!read_constant(kept, wire, &job->symbols[job->symbol_count++]))
            return false;
    return true;
}

static bool read_head(Wire *wire, Job *job) {
    job->known = wire_get_integer(wire) == WIRE_VERSION;
    job->number = wire_get_integer(wire);
    job->kind = (RequestKind)wire_get_integer(wire);
    job->fits = true;
    return job->known && !wire->failed;
}

static bool read_job(Arena *arena, Kept *kept, Wire *wire, Job *job) {
    job->symbol = wire_get_text(wire);
    job->seed = (uint64_t)wire_get_integer(wire);
    job->threads = wire_get_integer(wire);
    job->max_repeats = wire_get_integer(wire);
    job->limit_bytes = wire_get_integer(wire);
    job->min_seconds = wire_get_real(wire);
    job->steady = wire_get_real(wire);
    job->stop_seconds = wire_get_real(wire);
    job->hasty = wire_get_integer(wire) != 0;
    job->limit_seconds = wire_get_real(wire);
    job->object_bytes = wire_get_integer(wire);
    job->object = wire_get(wire, (size_t)job->object_bytes);
    if (!read_symbols(arena, kept, wire, job))
        return false;
    job->size_count = wire_get_integer(wire);
    const void *sizes = wire_get(wire, (size_t)job->size_count * 8);
    job->argument_count = wire_get_integer(wire);
    if (wire->failed)
        return false;
    int64_t *copy = ARENA_ARRAY(arena, int64_t, job->size_count + 1);
    memcpy(copy, sizes, (size_t)job->size_count * 8);
    job->sizes = copy;
    job->buffers = ARENA_ARRAY(arena, MappedBuffer, job->argument_count + 1);
    job->arguments = ARENA_ARRAY(arena, void *, job->argument_count + 1);
    job->wanted = ARENA_ARRAY(arena, bool, job->argument_count + 1);
    job->elements = ARENA_ARRAY(arena, int64_t, job->argument_count + 1);
    job->types = ARENA_ARRAY(arena, ElementType, job->argument_count + 1);
    for (int64_t i = 0; i < job->argument_count; i++)
        if (!read_argument(kept, wire, job, i))
            return false;
    job->sample_count = wire_get_integer(wire);
    return !wire->failed;
}

/* --- answers --- */

/* The sampled elements, 8 bytes each, and whole outputs: taken after the first call, before timing overwrites them. */
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
            wire_put(answer, job->arguments[i], (size_t)job->elements[i] * (size_t)element_info[job->types[i]].bytes);
}

/* Waits until all threads have a processor, if they had not at the last call. A call that counts for nothing fills the
 * caches again. */
static void gather(Calls *calls, const WatchedCall *call) {
    int status;
    if (calls_are_still(calls))
        return;
    calls->total += watch_gather(gather_seconds);
    calls->total += watch_call(call, 1, false, &status).caller.wall;
}

/* Repeats until more repeats would change nothing (AdaTune's micro-batches). Short calls run in groups of at least 50
 * microseconds, so that the clock's resolution does not matter. warm: the time of the call before. */
static void repeat(Calls *calls, const WatchedCall *call, double warm) {
    int64_t group = warm > 5e-5 ? 1 : (int64_t)(5e-5 / (warm > 1e-9 ? warm : 1e-9)) + 1;
    int status;
    while (calls_go_on(calls)) {
        bool gathers = calls_need_gathering(calls), examines = calls_need_examining(calls);
        watch_spread((gathers || examines) && calls->limits.threads > 1);
        if (gathers)
            gather(calls, call);
        calls_add(calls, watch_call(call, group, examines, &status), group);
    }
    watch_spread(false);
}

static void put_times(Wire *answer, Disturbance disturbance, int repeats, CallTimes times) {
    wire_put_integer(answer, disturbance.switches);
    wire_put_integer(answer, disturbance.undisturbed);
    wire_put_real(answer, disturbance.processor_part);
    wire_put_real(answer, disturbance.steal);
    wire_put_integer(answer, repeats);
    wire_put_real(answer, times.seconds);
    wire_put_real(answer, times.least);
    wire_put_real(answer, times.spread);
}

static void begin_answer(const Job *job, Outcome outcome, Wire *answer) {
    answer->length = 0;
    wire_put_integer(answer, job->number);
    wire_put_integer(answer, outcome);
}

static void refuse(const Job *job, Wire *answer, RequestRefusal reason, const char *why) {
    begin_answer(job, OUTCOME_BUILD_ERROR, answer);
    wire_put_integer(answer, reason);
    wire_put_text(answer, why);
}

/* OpenMP ends the process if the system gives it no threads, though no object is at fault: the handler of that end
 * answers. Hence it is static. */
static const Job *running;

static void answer_at_end(void) {
    Wire answer = {0};
    if (!running)
        return;
    refuse(running, &answer, REFUSED_THREADS, "the run ended its process, as OpenMP does when it gets no threads");
    wire_send(&answer, STDOUT_FILENO);
}

/* False: too many for any machine. */
static bool set_threads(int64_t threads) {
    if (threads > 0 && threads <= MOST_THREADS)
        omp_set_num_threads((int)threads);
    return threads <= MOST_THREADS && omp_get_max_threads() <= MOST_THREADS;
}

static double seen_seconds(const CallSeen *seen) {
    return seen->examined && seen->path < seen->caller.wall ? seen->path : seen->caller.wall;
}

/* Calls it again, to time it. The first call and the one after it, which warms caches and pages, count where they are
 * long. */
static void time_entry(Arena *arena, const Job *job, const WatchedCall *call, CallSeen seen, Wire *answer) {
    CallLimits limits = {.threads = omp_get_max_threads(),
                         .max_calls = job->max_repeats,
                         .min_seconds = job->min_seconds,
                         .steady = job->steady,
                         .stop_seconds = job->stop_seconds,
                         .hasty = job->hasty};
    Calls calls = {.arena = arena, .limits = limits};
    double first = seen_seconds(&seen), since = monotonic_seconds();
    int processors, status;
    double stolen = watch_stolen(&processors);
    calls.limits.about = first;
    bool hopeless = job->stop_seconds > 0 && first > HOPELESS * job->stop_seconds && first > slow_seconds;
    if (hopeless) {
        calls_add(&calls, seen, 1);
    } else {
        seen = watch_call(call, 1, true, &status);
        calls.limits.about = first = seen_seconds(&seen);
        if (job->max_repeats <= 0 || (job->stop_seconds > 0 && first > fmax(job->stop_seconds, slow_seconds)))
            calls_add(&calls, seen, 1);
    }
    if (job->max_repeats > 0)
        repeat(&calls, call, first);
    double passed = (monotonic_seconds() - since) * processors;
    Disturbance disturbance = calls_disturbance(&calls);
    disturbance.steal = passed > 0 ? fmax(watch_stolen(&processors) - stolen, 0) / passed : 0;
    put_times(answer, disturbance, calls.times.count, calls_times(&calls));
}

static void run_entry(Arena *arena, const Job *job, CalledFunction entry, Wire *request, Wire *answer) {
    WatchedCall call = {entry, job->sizes, job->arguments};
    int status;
    CallSeen seen = watch_call(&call, 1, true, &status);
    begin_answer(job, OUTCOME_OK, answer);
    wire_put_integer(answer, status);
    put_results(request, job, answer);
    if (status) /* it did nothing */
        put_times(answer, (Disturbance){0}, 0, (CallTimes){0});
    else
        time_entry(arena, job, &call, seen, answer);
}

/* The address sanitizer maps all memory, which any limit would forbid. */
enum { LIMITS_MEMORY = !SANITIZES_ADDRESSES };

static void limit_memory(int64_t bytes) {
    struct rlimit limit;
    if (!LIMITS_MEMORY || bytes <= 0 || getrlimit(RLIMIT_AS, &limit))
        return;
    limit.rlim_cur = (rlim_t)bytes < limit.rlim_max ? (rlim_t)bytes : limit.rlim_max;
    setrlimit(RLIMIT_AS, &limit);
}

/* The worker's own limit is later than the compiler's. */
static void limit_time(double seconds) {
    alarm(seconds > 0 && seconds < 1e6 ? (unsigned)seconds + 2 : 0);
}

/* Loads the object and calls it. */
static void run_job(Arena *arena, const Job *job, Wire *request, Wire *answer) {
    const char *why = NULL;
    limit_memory(job->limit_bytes);
    LoadedObject *object =
        loader_load(arena, job->object, (size_t)job->object_bytes, job->symbols, job->symbol_count, &why);
    CalledFunction entry =
        object ? (CalledFunction)(uintptr_t)loader_find(object, arena_printf(arena, "%s_call", job->symbol)) : NULL;
    limit_time(job->limit_seconds);
    running = job;
    if (!set_threads(job->threads))
        refuse(job, answer, REFUSED_ALL, "the machine does not have that many threads");
    else if (entry)
        run_entry(arena, job, entry, request, answer);
    else
        refuse(job, answer, REFUSED_OBJECT, object ? "the object lacks the function" : why);
    running = NULL;
    limit_time(0);
    if (object)
        loader_unload(object);
}

static void serve(Kept *kept, Wire *request, Wire *answer) {
    Arena *arena = arena_new();
    Job job = {0};
    bool known = read_head(request, &job);
    if (known && job.kind == REQUEST_GREETING) {
        begin_answer(&job, OUTCOME_OK, answer);
        wire_put_integer(answer, WIRE_VERSION);
    } else if (known && read_job(arena, kept, request, &job)) {
        run_job(arena, &job, request, answer);
    } else if (!job.fits) {
        refuse(&job, answer, REFUSED_ALL, "the worker has no memory for the arguments");
    } else {
        refuse(&job, answer, REFUSED_OBJECT, "the worker could not read the request");
    }
    for (int64_t i = 0; job.buffers && i < job.argument_count; i++)
        buffer_free(&job.buffers[i]);
    arena_free(arena);
}

/* No core files, no output files, and it ends with the compiler that started it. */
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
    atexit(answer_at_end);
    Wire request = {0}, answer = {0};
    Kept kept = {.arena = arena_new()};
    while (wire_receive(&request, STDIN_FILENO)) {
        serve(&kept, &request, &answer);
        if (!wire_send(&answer, STDOUT_FILENO))
            break;
    }
    wire_free(&request);
    wire_free(&answer);
    for (int i = 0; i < kept.originals.count; i++)
        buffer_free(&kept.originals.items[i].buffer);
    contents_forget(&kept.contents);
    arena_free(kept.arena);
    return 0;
}
