/* measure.h - what the examples share: the clock, numbers to compute with, and the comparison of results. */
#ifndef EXAMPLES_MEASURE_H
#define EXAMPLES_MEASURE_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

static inline double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* The fastest of repeated calls, which go on for at least half a second and three calls. */
static inline double best_seconds(void (*call)(void *), void *context) {
    double best = INFINITY, begin = seconds_now();
    for (int calls = 0; calls < 3 || seconds_now() - begin < 0.5; calls++) {
        double start = seconds_now();
        call(context);
        best = fmin(best, seconds_now() - start);
    }
    return best;
}

/* The next of a sequence of numbers in [-1, 1): the same on every machine. */
static inline float random_float(uint64_t *state) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (float)(int32_t)(*state >> 32) * 0x1p-31f;
}

static inline void fill_floats(float *values, size_t count, uint64_t seed) {
    for (size_t i = 0; i < count; i++)
        values[i] = random_float(&seed);
}

/* The largest difference between two results; infinite where one is NaN. */
static inline double largest_difference(const float *a, const float *b, size_t count) {
    double largest = 0;
    for (size_t i = 0; i < count; i++) {
        double difference = fabs((double)a[i] - (double)b[i]);
        if (!(difference <= largest))
            largest = isnan(difference) ? INFINITY : difference;
    }
    return largest;
}

#endif
