/* onednn.c - convolution by oneDNN 2: every layout is its own choice, and image and filters are put into it ahead. */
#include "rival.h"
#include <dnnl.h>
#include <stdio.h>
#include <stdlib.h>

enum { SOURCE, WEIGHTS, RESULT, OPERANDS };

typedef struct Convolution {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    dnnl_primitive_desc_t description;
    dnnl_primitive_t primitive;
    dnnl_memory_t given[OPERANDS], chosen[OPERANDS]; /* row major, and as oneDNN wants it */
} Convolution;

static void check(dnnl_status_t status, const char *what) {
    if (status != dnnl_success) {
        fprintf(stderr, "oneDNN: %s ended with status %d\n", what, status);
        exit(1);
    }
}

static void reorder(Convolution *conv, dnnl_memory_t from, dnnl_memory_t to) {
    const dnnl_memory_desc_t *from_layout, *to_layout;
    dnnl_primitive_desc_t description;
    dnnl_primitive_t primitive;
    check(dnnl_memory_get_memory_desc(from, &from_layout), "memory_desc");
    check(dnnl_memory_get_memory_desc(to, &to_layout), "memory_desc");
    check(dnnl_reorder_primitive_desc_create(&description, from_layout, conv->engine, to_layout, conv->engine, NULL),
          "reorder");
    check(dnnl_primitive_create(&primitive, description), "reorder");
    dnnl_exec_arg_t arguments[] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
    check(dnnl_primitive_execute(primitive, conv->stream, 2, arguments), "reorder");
    check(dnnl_stream_wait(conv->stream), "reorder");
    dnnl_primitive_destroy(primitive);
    dnnl_primitive_desc_destroy(description);
}

/* The convolution with free choice of layouts for all three operands. */
static void describe(Convolution *conv, const Workload *w, dnnl_dims_t dims[OPERANDS]) {
    dnnl_memory_desc_t any[OPERANDS];
    for (int i = 0; i < OPERANDS; i++)
        check(dnnl_memory_desc_init_by_tag(&any[i], 4, dims[i], dnnl_f32, dnnl_format_tag_any), "layout");
    dnnl_dims_t strides = {w->stride, w->stride}, padding = {w->pad, w->pad};
    dnnl_convolution_desc_t convolution;
    check(dnnl_convolution_forward_desc_init(&convolution, dnnl_forward_inference, dnnl_convolution_auto, &any[SOURCE],
                                             &any[WEIGHTS], NULL, &any[RESULT], strides, padding, padding),
          "convolution");
    check(dnnl_primitive_desc_create(&conv->description, &convolution, NULL, conv->engine, NULL), "convolution");
    check(dnnl_primitive_create(&conv->primitive, conv->description), "convolution");
}

static void *conv_open(const Workload *w, const float *a, const float *b, float *out, int threads) {
    static const dnnl_query_t queries[] = {dnnl_query_src_md, dnnl_query_weights_md, dnnl_query_dst_md};
    const void *data[] = {a, b, out};
    dnnl_dims_t dims[OPERANDS] = {{w->batch, w->channels, w->height, w->width},
                                  {w->filters, w->channels, w->kernel, w->kernel},
                                  {w->batch, w->filters, conv_extent(w->height, w), conv_extent(w->width, w)}};
    (void)threads; /* OMP_NUM_THREADS, as for the objects of tensorc */
    Convolution *conv = calloc(1, sizeof *conv);
    if (!conv)
        return NULL;
    check(dnnl_engine_create(&conv->engine, dnnl_cpu, 0), "engine");
    check(dnnl_stream_create(&conv->stream, conv->engine, dnnl_stream_default_flags), "stream");
    describe(conv, w, dims);
    for (int i = 0; i < OPERANDS; i++) {
        dnnl_memory_desc_t plain;
        check(dnnl_memory_desc_init_by_tag(&plain, 4, dims[i], dnnl_f32, dnnl_abcd), "layout");
        check(dnnl_memory_create(&conv->given[i], &plain, conv->engine, (void *)data[i]), "memory");
        check(dnnl_memory_create(&conv->chosen[i], dnnl_primitive_desc_query_md(conv->description, queries[i], 0),
                                 conv->engine, DNNL_MEMORY_ALLOCATE),
              "memory");
    }
    reorder(conv, conv->given[SOURCE], conv->chosen[SOURCE]);
    reorder(conv, conv->given[WEIGHTS], conv->chosen[WEIGHTS]);
    return conv;
}

static void conv_call(void *state) {
    Convolution *conv = state;
    dnnl_exec_arg_t arguments[] = {{DNNL_ARG_SRC, conv->chosen[SOURCE]},
                                   {DNNL_ARG_WEIGHTS, conv->chosen[WEIGHTS]},
                                   {DNNL_ARG_DST, conv->chosen[RESULT]}};
    check(dnnl_primitive_execute(conv->primitive, conv->stream, 3, arguments), "convolution");
    check(dnnl_stream_wait(conv->stream), "convolution");
}

static void conv_fetch(void *state) {
    Convolution *conv = state;
    reorder(conv, conv->chosen[RESULT], conv->given[RESULT]);
}

static void conv_close(void *state) {
    Convolution *conv = state;
    for (int i = 0; i < OPERANDS; i++) {
        dnnl_memory_destroy(conv->given[i]);
        dnnl_memory_destroy(conv->chosen[i]);
    }
    dnnl_primitive_destroy(conv->primitive);
    dnnl_primitive_desc_destroy(conv->description);
    dnnl_stream_destroy(conv->stream);
    dnnl_engine_destroy(conv->engine);
    free(conv);
}

const Rival onednn = {"oneDNN", conv_open, conv_call, conv_fetch, conv_close};
