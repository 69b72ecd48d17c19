/* rival_openblas.c - products and norms by OpenBLAS: with its own threads inside each product, or with one product, or
 * one part of a matrix, a thread. The faster way is timed.
 */
#include "rival.h"
#include <cblas.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PARTS = 64 };

typedef struct Blas {
    const Workload *workload;
    const float *const *inputs;
    float *out;
    int threads;
    bool own_threads;
} Blas;

static void product(const Blas *s, int b) {
    const Workload *w = s->workload;
    size_t m = w->rows, n = w->columns, k = w->depth;
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, w->rows, w->columns, w->depth, 1, s->inputs[0] + b * m * k,
                w->depth, s->inputs[1] + b * k * n, w->columns, 0, s->out + b * m * n, w->columns);
}

static void products(const Blas *s) {
    if (s->own_threads)
        for (int b = 0; b < s->workload->batch; b++)
            product(s, b);
    else
#pragma omp parallel for num_threads(s->threads) schedule(static)
        for (int b = 0; b < s->workload->batch; b++)
            product(s, b);
}

static float square(const float *x, size_t count) {
    return cblas_sdot((int)count, x, 1, x, 1);
}

/* Each matrix in as many parts as it takes to give every thread one. */
static void norms_in_parts(const Blas *s, size_t count) {
    int batch = s->workload->batch, parts = s->threads < MOST_PARTS ? s->threads : MOST_PARTS;
    float sums[MOST_PARTS];
    if (batch >= s->threads) {
#pragma omp parallel for num_threads(s->threads) schedule(static)
        for (int b = 0; b < batch; b++)
            s->out[b] = sqrtf(square(s->inputs[0] + b * count, count));
        return;
    }
    for (int b = 0; b < batch; b++) {
        const float *matrix = s->inputs[0] + b * count;
#pragma omp parallel for num_threads(parts) schedule(static)
        for (int p = 0; p < parts; p++)
            sums[p] = square(matrix + count * p / parts, count * (p + 1) / parts - count * p / parts);
        float sum = 0;
        for (int p = 0; p < parts; p++)
            sum += sums[p];
        s->out[b] = sqrtf(sum);
    }
}

static void norms(const Blas *s) {
    size_t count = (size_t)s->workload->rows * s->workload->columns;
    if (!s->own_threads)
        norms_in_parts(s, count);
    else
        for (int b = 0; b < s->workload->batch; b++)
            s->out[b] = sqrtf(square(s->inputs[0] + b * count, count));
}

static void blas_call(void *state) {
    const Blas *s = state;
    if (s->workload->kind->family == FAMILY_MATMUL)
        products(s);
    else
        norms(s);
}

static void choose(Blas *s, bool own_threads) {
    s->own_threads = own_threads;
    openblas_set_num_threads(own_threads ? s->threads : 1);
}

static void *blas_open(const Workload *workload, const float *const *inputs, float *out, int threads, bool loose) {
    Family family = workload->kind->family;
    Blas *s = !loose && (family == FAMILY_MATMUL || family == FAMILY_NORM) ? malloc(sizeof *s) : NULL;
    if (!s)
        return NULL;
    *s = (Blas){.workload = workload, .inputs = inputs, .out = out, .threads = threads};
    choose(s, true);
    double inside = rival_trial(blas_call, s);
    choose(s, false);
    if (inside < rival_trial(blas_call, s))
        choose(s, true);
    return s;
}

static const char *blas_way(void *state) {
    const Blas *s = state;
    bool product = s->workload->kind->family == FAMILY_MATMUL;
    if (s->own_threads)
        return product ? "sgemm" : "sdot";
    return product ? "sgemm, one a thread" : "sdot, one a thread";
}

static void blas_fetch(void *state) {
    (void)state;
}

static const char *blas_name(void) {
    static char name[64];
    const char *version = strstr(openblas_get_config(), "OpenBLAS ");
    snprintf(name, sizeof name, "%.*s", version ? (int)strcspn(version + 9, " ") + 9 : 8,
             version ? version : "OpenBLAS");
    return name;
}

const Rival rival = {blas_name, blas_open, blas_way, blas_call, blas_fetch, free};
