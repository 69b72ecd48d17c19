/* watch.c - what is seen of calls, by the clocks of their threads. */
#include "backends/run/watch.h"
#include "tests/tap.h"

#include <omp.h>
#include <unistd.h>

enum { THREADS = 2, STEPS = 400000, CALLS = 40, ENOUGH = 4 }; /* less work than a tick of the system is long */

/* Asks no clock: that of a thread is brought up to date by asking it. */
static void work(void *closure, int64_t begin, int64_t end) {
    for (volatile int step = 0; step < STEPS; step++)
        continue;
}

static int entry(const int64_t *sizes, void *const *arguments) {
    watch_parallel(work, NULL, THREADS);
    return 7;
}

/* The second thread works as much as the first, which waits for it. The system tells others of what it did only now and
 * then, of several calls at once. */
static bool is_all_work(const CallSeen *seen) {
    return seen->all_processor >= 1.5 * seen->caller.processor && seen->all_processor <= 2.5 * seen->caller.processor;
}

static void test_calls(bool examine) {
    WatchedCall call = {.entry = entry};
    int status = 0, good = 0;
    watch_spread(true);
    for (int i = 0; i < CALLS; i++) {
        watch_gather(0.05);
        CallSeen seen = watch_call(&call, 1, examine, &status);
        good += is_all_work(&seen);
    }
    watch_spread(false);
    is_int(status, 7, "a call returns its status");
    ok(good >= ENOUGH, "the work of all threads is known at once, in %d of %d calls", good, CALLS);
}

static void test_loops(void) {
    WatchedCall call = {.entry = entry};
    int status;
    CallSeen seen = watch_call(&call, 3, true, &status);
    ok(seen.examined && seen.loops == 3, "loops are counted where they are examined");
    ok(seen.path > 0 && seen.path < seen.all_processor, "each takes what its slowest thread does");
    seen = watch_call(&call, 3, false, &status);
    ok(!seen.examined && seen.loops == 0, "and only there");
    ok(watch_gather(0) == 0, "threads do not gather where there is no time for it");
}

int main(void) {
    setsid(); /* as a worker does */
    omp_set_num_threads(THREADS);
    test_calls(false);
    test_calls(true);
    test_loops();
    return done_testing();
}
