/* watch.h - watches a call of an object: what the clocks and counters of its threads say. There is one such call at a
 * time in a worker.
 */
#ifndef BACKENDS_RUN_WATCH_H
#define BACKENDS_RUN_WATCH_H

#include "backends/run/calls.h"

typedef struct WatchedCall {
    int (*entry)(const int64_t *sizes, void *const *arguments);
    const int64_t *sizes;
    void *const *arguments;
} WatchedCall;

/* Calls it so many times in a row. examine: each parallel loop is watched, too, which takes about a microsecond of it.
 * *status is the last one's. */
CallSeen watch_call(const WatchedCall *call, int64_t count, bool examine, int *status);
/* Runs parallel loops of candidates in contiguous shares, as the code of finished objects does. The threads wait for
 * each other as those of a program do, which is left to OpenMP here and there. */
void watch_parallel(void (*body)(void *closure, int64_t begin, int64_t end), void *closure, int64_t extent);
/* Gives each thread a processor of its own, as it has on a machine that is not busy: there the system may put two on
 * one and leave them there. Or all processors to all threads again. */
void watch_spread(bool apart);
/* Waits until all threads have a processor at once, for so long at most. Returns the seconds that it took. */
double watch_gather(double limit_seconds);
/* Seconds of the processors' time that the host of this machine took, and how many processors there are. */
double watch_stolen(int *processors);

#endif
