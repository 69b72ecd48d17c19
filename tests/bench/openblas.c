/* openblas.c - matmul by OpenBLAS. */
#include "rival.h"
#include <cblas.h>
#include <stdlib.h>

typedef struct Product {
    const Workload *workload;
    const float *a, *b;
    float *out;
} Product;

static void *product_open(const Workload *workload, const float *a, const float *b, float *out, int threads) {
    Product *product = malloc(sizeof *product);
    if (product)
        *product = (Product){workload, a, b, out};
    openblas_set_num_threads(threads);
    return product;
}

static void product_call(void *state) {
    const Product *p = state;
    const Workload *w = p->workload;
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, w->rows, w->columns, w->depth, 1, p->a, w->depth, p->b,
                w->columns, 0, p->out, w->columns);
}

static void product_fetch(void *state) {
    (void)state;
}

const Rival openblas = {"OpenBLAS", product_open, product_call, product_fetch, free};
