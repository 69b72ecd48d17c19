/* dnnl_versions.h - oneDNN 2 and 3 by the same functions: in 2 a layout is a struct and an operation has a description
 * of its own, in 3 a layout is a handle.
 */
#ifndef TESTS_BENCH_DNNL_VERSIONS_H
#define TESTS_BENCH_DNNL_VERSIONS_H

#include <dnnl.h>
#include <stddef.h>

/* What an operation is made of; a layout that is NULL is not there. */
typedef struct Operands {
    dnnl_memory_desc_t source, weights, bias, result;
    bool has_bias;
} Operands;

typedef struct Geometry {
    dnnl_dims_t strides, dilation, padding;
} Geometry;

#if DNNL_VERSION_MAJOR >= 3

typedef const_dnnl_memory_desc_t Layout;
#define LAYOUT(memory_desc) (memory_desc)
#define BIAS(operands) ((operands)->has_bias ? (operands)->bias : NULL)

static inline dnnl_status_t layout_any(dnnl_memory_desc_t *made, int count, const dnnl_dims_t dims) {
    return dnnl_memory_desc_create_with_tag(made, count, dims, dnnl_f32, dnnl_format_tag_any);
}
static inline dnnl_status_t layout_strides(dnnl_memory_desc_t *made, int count, const dnnl_dims_t dims,
                                           const dnnl_dims_t strides) {
    return dnnl_memory_desc_create_with_strides(made, count, dims, dnnl_f32, strides);
}
static inline void layout_free(dnnl_memory_desc_t *layout) {
    dnnl_memory_desc_destroy(*layout);
}
static inline dnnl_status_t describe_convolution(dnnl_primitive_desc_t *made, dnnl_engine_t engine,
                                                 dnnl_alg_kind_t algorithm, const Operands *o, const Geometry *g,
                                                 dnnl_primitive_attr_t attributes) {
    return dnnl_convolution_forward_primitive_desc_create(made, engine, dnnl_forward_inference, algorithm, o->source,
                                                          o->weights, BIAS(o), o->result, g->strides, g->dilation,
                                                          g->padding, g->padding, attributes);
}
static inline dnnl_status_t describe_deconvolution(dnnl_primitive_desc_t *made, dnnl_engine_t engine, const Operands *o,
                                                   const Geometry *g) {
    return dnnl_deconvolution_forward_primitive_desc_create(
        made, engine, dnnl_forward_inference, dnnl_deconvolution_direct, o->source, o->weights, NULL, o->result,
        g->strides, g->dilation, g->padding, g->padding, NULL);
}
static inline dnnl_status_t describe_matmul(dnnl_primitive_desc_t *made, dnnl_engine_t engine, const Operands *o) {
    return dnnl_matmul_primitive_desc_create(made, engine, o->source, o->weights, NULL, o->result, NULL);
}
static inline dnnl_status_t describe_softmax(dnnl_primitive_desc_t *made, dnnl_engine_t engine, Layout layout,
                                             int axis) {
    return dnnl_softmax_forward_primitive_desc_create(made, engine, dnnl_forward_inference, dnnl_softmax_accurate,
                                                      layout, layout, axis, NULL);
}
static inline dnnl_status_t append_relu(dnnl_post_ops_t operations) {
    return dnnl_post_ops_append_eltwise(operations, dnnl_eltwise_relu, 0, 0);
}

#else

typedef const dnnl_memory_desc_t *Layout;
#define LAYOUT(memory_desc) (&(memory_desc))
#define BIAS(operands) ((operands)->has_bias ? &(operands)->bias : NULL)

static inline dnnl_status_t layout_any(dnnl_memory_desc_t *made, int count, const dnnl_dims_t dims) {
    return dnnl_memory_desc_init_by_tag(made, count, dims, dnnl_f32, dnnl_format_tag_any);
}
static inline dnnl_status_t layout_strides(dnnl_memory_desc_t *made, int count, const dnnl_dims_t dims,
                                           const dnnl_dims_t strides) {
    return dnnl_memory_desc_init_by_strides(made, count, dims, dnnl_f32, strides);
}
static inline void layout_free(dnnl_memory_desc_t *layout) {
    (void)layout;
}
static inline dnnl_status_t describe_convolution(dnnl_primitive_desc_t *made, dnnl_engine_t engine,
                                                 dnnl_alg_kind_t algorithm, const Operands *o, const Geometry *g,
                                                 dnnl_primitive_attr_t attributes) {
    dnnl_convolution_desc_t convolution;
    dnnl_status_t status = dnnl_dilated_convolution_forward_desc_init(&convolution, dnnl_forward_inference, algorithm,
                                                                      &o->source, &o->weights, BIAS(o), &o->result,
                                                                      g->strides, g->dilation, g->padding, g->padding);
    return status ? status : dnnl_primitive_desc_create(made, &convolution, attributes, engine, NULL);
}
static inline dnnl_status_t describe_deconvolution(dnnl_primitive_desc_t *made, dnnl_engine_t engine, const Operands *o,
                                                   const Geometry *g) {
    dnnl_deconvolution_desc_t deconvolution;
    dnnl_status_t status = dnnl_dilated_deconvolution_forward_desc_init(
        &deconvolution, dnnl_forward_inference, dnnl_deconvolution_direct, &o->source, &o->weights, NULL, &o->result,
        g->strides, g->dilation, g->padding, g->padding);
    return status ? status : dnnl_primitive_desc_create(made, &deconvolution, NULL, engine, NULL);
}
static inline dnnl_status_t describe_matmul(dnnl_primitive_desc_t *made, dnnl_engine_t engine, const Operands *o) {
    dnnl_matmul_desc_t matmul;
    dnnl_status_t status = dnnl_matmul_desc_init(&matmul, &o->source, &o->weights, NULL, &o->result);
    return status ? status : dnnl_primitive_desc_create(made, &matmul, NULL, engine, NULL);
}
static inline dnnl_status_t describe_softmax(dnnl_primitive_desc_t *made, dnnl_engine_t engine, Layout layout,
                                             int axis) {
    dnnl_softmax_desc_t softmax;
    dnnl_status_t status = dnnl_softmax_forward_desc_init(&softmax, dnnl_forward_inference, layout, axis);
    return status ? status : dnnl_primitive_desc_create(made, &softmax, NULL, engine, NULL);
}
static inline dnnl_status_t append_relu(dnnl_post_ops_t operations) {
    return dnnl_post_ops_append_eltwise(operations, 1, dnnl_eltwise_relu, 0, 0);
}

#endif
#endif
