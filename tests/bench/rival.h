/* rival.h - a library that computes the same as a workload. Each library is a shared object of its own, which bench.c
 * loads: two versions of one library can stand side by side.
 */
#ifndef TESTS_BENCH_RIVAL_H
#define TESTS_BENCH_RIVAL_H

#include "examples/measure.h"
#include "tests/bench/workload.h"

/* open() may pack weights, put images into the layout that the library likes best, allocate, and try several ways:
 * nothing of that is timed. call() computes once. fetch() puts the result into `out`, row major. */
typedef struct Rival {
    const char *(*name)(void);
    /* `loose`: by an algorithm with a larger error, Winograd's. NULL: the library cannot. */
    void *(*open)(const Workload *workload, const float *const *inputs, float *out, int threads, bool loose);
    const char *(*way)(void *state); /* the algorithm and the layout that were chosen */
    void (*call)(void *state);
    void (*fetch)(void *state);
    void (*close)(void *state);
} Rival;

/* What each shared object defines. */
extern const Rival rival;

/* The time of a call, to choose between ways: a few calls after a first one. */
static inline double rival_trial(void (*call)(void *), void *state) {
    double best = INFINITY, begin = seconds_now();
    call(state);
    if (seconds_now() - begin > 0.5)
        return seconds_now() - begin;
    begin = seconds_now();
    for (int calls = 0; calls < 3 || seconds_now() - begin < 0.03; calls++) {
        double start = seconds_now();
        call(state);
        best = fmin(best, seconds_now() - start);
    }
    return best;
}

#endif
