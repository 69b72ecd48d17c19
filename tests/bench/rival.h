/* rival.h - a workload, and a library that computes the same: what bench.c times beside the objects of tensorc. */
#ifndef TESTS_BENCH_RIVAL_H
#define TESTS_BENCH_RIVAL_H

#include <stddef.h>

typedef enum WorkloadKind { WORKLOAD_MATMUL, WORKLOAD_CONV2D } WorkloadKind;

/* A matmul has rows, columns and depth; a convolution has the rest. */
typedef struct Workload {
    WorkloadKind kind;
    const char *name;
    double goal;
    int rows, columns, depth;
    int batch, height, width, channels, filters, kernel, stride, pad;
    int (*tuned)(const float *a, const float *b, float *out);
    int (*plain)(const float *a, const float *b, float *out); /* the same at -O2 */
} Workload;

static inline int conv_extent(int in, const Workload *w) {
    return (in + 2 * w->pad - w->kernel) / w->stride + 1;
}

/* open() may pack b and allocate: that is not timed. NULL: the library cannot do this workload. */
typedef struct Rival {
    const char *name;
    void *(*open)(const Workload *workload, const float *a, const float *b, float *out, int threads);
    void (*call)(void *state);
    void (*fetch)(void *state); /* puts the result into out, row major */
    void (*close)(void *state);
} Rival;

/* The library for matmuls and the one for convolutions; NULL where it is not installed. */
extern const Rival *const rival_of[2];
extern const Rival openblas, onednn;

#endif
