/* times.h - times of short questions: the processor time of this process, and lists of such. */
#ifndef TESTS_BENCH_TIMES_H
#define TESTS_BENCH_TIMES_H

#include <stdlib.h>
#include <time.h>

static inline double microseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static inline int compare_times(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static inline void sort_times(double *times, int count) { /* the least first: the median is in the middle */
    qsort(times, (size_t)count, sizeof *times, compare_times);
}

#endif
