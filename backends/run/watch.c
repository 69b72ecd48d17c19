/* watch.c - see watch.h. What cannot be asked counts as undisturbed. */
#include "backends/run/watch.h"
#include "lang/clock.h"
#include <errno.h>
#include <math.h>
#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

enum { LINE_BYTES = 64 };
/* Seconds: an empty loop takes no longer; no more for trying, at once and in all. */
static const double short_loop = 5e-6, patience = 0.3, all_patience = 1;
static const double nap_seconds = 2e-3; /* so long without the processor gives a thread precedence when it wakes */

/* A thread's share of a loop; a cache line of its own. */
typedef struct LoopShare {
    _Alignas(LINE_BYTES) Reading reading;
} LoopShare;

/* Of the call that is watched; static because objects call back without a context. */
static struct Watch {
    bool on;
    LoopShare *shares;
    int share_count;
    Reading loops;         /* of the caller, in loops */
    double path;           /* in loops */
    int64_t path_switches; /* in loops */
    int64_t loop_count;
    double begin_and_end;
} watch;

static double clock_seconds(clockid_t clock) {
    struct timespec now;
    return clock_gettime(clock, &now) ? 0 : (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static Reading read_thread(void) {
    struct rusage used = {0};
    getrusage(RUSAGE_THREAD, &used);
    return (Reading){monotonic_seconds(), clock_seconds(CLOCK_THREAD_CPUTIME_ID), used.ru_nivcsw, used.ru_nvcsw};
}

static Reading since(const Reading *begin) {
    Reading end = read_thread();
    return (Reading){end.wall - begin->wall, end.processor - begin->processor, end.switches - begin->switches,
                     end.waits - begin->waits};
}

static void reading_add(Reading *sum, const Reading *part) {
    sum->wall += part->wall;
    sum->processor += part->processor;
    sum->switches += part->switches;
    sum->waits += part->waits;
}

/* --- parallel loops --- */

static void run_share(void (*body)(void *closure, int64_t begin, int64_t end), void *closure, int64_t extent) {
    int64_t threads = omp_get_num_threads(), thread = omp_get_thread_num();
    int64_t begin = extent / threads * thread + (thread < extent % threads ? thread : extent % threads);
    int64_t end = begin + extent / threads + (thread < extent % threads);
    if (begin < end)
        body(closure, begin, end);
}

static void note_loop(const Reading *whole) {
    double path = 0, longest = 0;
    int64_t switches = 0;
    for (int i = 0; i < watch.share_count; i++) {
        const Reading *share = &watch.shares[i].reading;
        path = fmax(path, reading_seconds(share));
        longest = fmax(longest, share->wall);
        switches = share->switches > switches ? share->switches : switches;
    }
    reading_add(&watch.loops, whole);
    watch.path += path;
    watch.path_switches += switches;
    watch.loop_count++;
    watch.begin_and_end = fmin(watch.begin_and_end, fmax(whole->wall - longest, 0));
}

void watch_parallel(void (*body)(void *closure, int64_t begin, int64_t end), void *closure, int64_t extent) {
    int threads = omp_get_max_threads();
    bool watched = watch.on && !omp_in_parallel() && threads > 1 && threads <= watch.share_count;
    if (!watched) {
#pragma omp parallel
        run_share(body, closure, extent);
        return;
    }
    Reading begin = read_thread();
    for (int i = 0; i < watch.share_count; i++)
        watch.shares[i].reading = (Reading){0};
#pragma omp parallel
    {
        Reading from = read_thread();
        run_share(body, closure, extent);
        watch.shares[omp_get_thread_num()].reading = since(&from);
    }
    Reading whole = since(&begin);
    note_loop(&whole);
}

static void do_nothing(void *closure, int64_t begin, int64_t end) {
}

/* The least time of a loop without work, whose threads wait for each other. On a busy machine they rarely run at once,
 * but then a single one of them tells it. Kept for each number of threads: more threads than processors never run at
 * once, and time is not spent on that again at each call. */
static double empty_loop_seconds(int threads) {
    static int known_threads;
    static double known, spent;
    double begin = monotonic_seconds(), now = begin;
    if (known_threads != threads) {
        known = HUGE_VAL;
        spent = 0;
    }
    known_threads = threads;
    for (double end = begin + fmin(patience, all_patience - spent); known > short_loop && now < end;) {
        double from = now;
        watch_parallel(do_nothing, NULL, threads);
        now = monotonic_seconds();
        known = fmin(known, now - from);
    }
    spent += now - begin;
    return known;
}

/* Processors that this process may use, before any of its threads is kept on one. */
static int processor_count(void) {
    static int count;
    cpu_set_t allowed;
    if (count == 0)
        count = sched_getaffinity(0, sizeof allowed, &allowed) ? 1 : CPU_COUNT(&allowed);
    return count;
}

/* The processor that thread so-and-so of a gang gets, of those that are allowed. */
static int nth_processor(const cpu_set_t *allowed, int thread) {
    for (int processor = 0; processor < CPU_SETSIZE; processor++)
        if (CPU_ISSET(processor, allowed) && thread-- == 0)
            return processor;
    return 0;
}

void watch_spread(bool apart) {
    static cpu_set_t allowed;
    static bool spread;
    int threads = omp_get_max_threads();
    if (apart == spread)
        return;
    if (apart && (processor_count() < threads || sched_getaffinity(0, sizeof allowed, &allowed)))
        return;
    spread = apart;
#pragma omp parallel
    {
        cpu_set_t own;
        CPU_ZERO(&own);
        CPU_SET(nth_processor(&allowed, omp_get_thread_num()), &own);
        sched_setaffinity(0, sizeof own, apart ? &own : &allowed);
    }
}

/* All threads sleep until the same moment. */
static void nap_together(void) {
    double until = monotonic_seconds() + nap_seconds;
    struct timespec moment = {(time_t)until, (long)((until - floor(until)) * 1e9)};
#pragma omp parallel
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &moment, NULL) == EINTR)
        continue;
}

/* Threads that spin until all are there use up their turns: asleep they keep them. */
double watch_gather(double limit_seconds) {
    int threads = omp_get_max_threads();
    if (threads > processor_count()) /* they never run all at once */
        return 0;
    double quick = fmax(short_loop, 2 * empty_loop_seconds(threads)), begin = monotonic_seconds(), now = begin;
    for (bool together = false; !together && now < begin + limit_seconds;) {
        nap_together();
        double from = monotonic_seconds();
        watch_parallel(do_nothing, NULL, threads);
        now = monotonic_seconds();
        together = now - from <= quick;
    }
    return now - begin;
}

/* --- calls --- */

static bool make_shares(int threads) {
    if (watch.share_count >= threads)
        return true;
    free(watch.shares);
    watch.shares = aligned_alloc(LINE_BYTES, (size_t)threads * sizeof *watch.shares);
    watch.share_count = watch.shares ? threads : 0;
    return watch.shares != NULL;
}

static void begin_watch(bool examine) {
    bool possible = examine && make_shares(omp_get_max_threads());
    watch = (struct Watch){
        .on = possible, .shares = watch.shares, .share_count = watch.share_count, .begin_and_end = HUGE_VAL};
}

/* What the caller did outside of loops is on the path, too. */
static void end_watch(CallSeen *seen) {
    Reading outside = seen->caller, loops = watch.loops;
    outside.wall -= loops.wall;
    outside.processor = fmax(outside.processor - loops.processor, 0);
    outside.switches -= loops.switches;
    outside.waits -= loops.waits;
    seen->examined = watch.on;
    seen->path = watch.path + reading_seconds(&outside);
    seen->path_switches = watch.path_switches + outside.switches;
    seen->loops = watch.loop_count;
    seen->begin_and_end = watch.begin_and_end;
    watch.on = false;
    if (seen->loops > 0)
        seen->begin_and_end = fmin(seen->begin_and_end, empty_loop_seconds(omp_get_max_threads()));
}

/* Of all threads. Each reads its own clock: what others ran is added to the clock of the process at ticks alone, some
 * milliseconds later. */
static double team_seconds(void) {
    double sum = 0;
    if (omp_get_max_threads() <= 1)
        return clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
#pragma omp parallel reduction(+ : sum)
    sum += clock_seconds(CLOCK_THREAD_CPUTIME_ID);
    return sum;
}

CallSeen watch_call(const WatchedCall *call, int64_t count, bool examine, int *status) {
    CallSeen seen = {0};
    struct rusage before = {0}, after = {0};
    begin_watch(examine);
    double processor = team_seconds();
    getrusage(RUSAGE_SELF, &before);
    Reading begin = read_thread();
    double from = monotonic_seconds();
    for (int64_t i = 0; i < count; i++)
        *status = call->entry(call->sizes, call->arguments);
    double wall = monotonic_seconds() - from;
    seen.caller = since(&begin);
    getrusage(RUSAGE_SELF, &after);
    seen.all_processor = team_seconds() - processor;
    seen.all_switches = after.ru_nivcsw - before.ru_nivcsw;
    seen.all_waits = after.ru_nvcsw - before.ru_nvcsw;
    seen.caller.wall = wall;
    end_watch(&seen);
    return seen;
}

/* --- the host --- */

double watch_stolen(int *processors) {
    double ticks[8] = {0};
    long second = sysconf(_SC_CLK_TCK), count = sysconf(_SC_NPROCESSORS_ONLN);
    FILE *file = fopen("/proc/stat", "r");
    *processors = count > 0 ? (int)count : 1;
    if (!file)
        return 0;
    int read = fscanf(file, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", &ticks[0], &ticks[1], &ticks[2], &ticks[3],
                      &ticks[4], &ticks[5], &ticks[6], &ticks[7]);
    fclose(file);
    return read == 8 && second > 0 ? ticks[7] / (double)second : 0;
}
