/* peak.h - how many operations a second multiply-adds of this machine reach that wait for nothing: to be compiled
 * for it. */
#ifndef TESTS_BENCH_PEAK_H
#define TESTS_BENCH_PEAK_H

#include "examples/measure.h"

#if defined __AVX512F__
enum { PEAK_LANES = 16 };
#elif defined __AVX__
enum { PEAK_LANES = 8 };
#else
enum { PEAK_LANES = 4 };
#endif
enum { PEAK_CHAINS = 12, PEAK_STEPS = 20000 };

typedef float PeakVector __attribute__((vector_size(PEAK_LANES * sizeof(float))));

/* Independent chains, as many as hide the latency, each in a register of its own; the values stay finite. */
#define PEAK_ALL(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#define PEAK_BEGIN(c) PeakVector chain##c = factor + seed * c;
#define PEAK_STEP(c) chain##c = chain##c * factor + factor;
#define PEAK_ADD(c) +chain##c
static inline float peak_burst(float seed) {
    PeakVector factor = {0};
    factor += 0.5f;
    PEAK_ALL(PEAK_BEGIN)
    for (int i = 0; i < PEAK_STEPS; i++) {
        PEAK_ALL(PEAK_STEP)
    }
    return (PEAK_ALL(PEAK_ADD))[0];
}

/* The best of some bursts of all threads at once. */
static inline double peak_gflops(int threads) {
    double best = INFINITY;
    volatile float sink = 0;
    for (int i = 0; i < 30; i++) {
        double start = seconds_now();
#pragma omp parallel for num_threads(threads) schedule(static)
        for (int t = 0; t < threads; t++)
            sink = peak_burst((float)t);
        if (i)
            best = fmin(best, seconds_now() - start);
    }
    return 2e-9 * PEAK_LANES * PEAK_CHAINS * PEAK_STEPS * threads / best + 0 * sink;
}

#endif
