/* rival_onednn.c - convolutions of all kinds, products and scores by oneDNN.
 *
 * A convolution is tried with layouts of the library's own choice and with channels last, directly or by Winograd's
 * algorithm; the faster one is timed. Images and filters are put into the layouts ahead. Products and scores work on
 * what is given: there the ways differ in whether the operands are copied into another layout first, within the time.
 */
#include "rival.h"
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dnnl_versions.h"

enum { SOURCE, WEIGHTS, RESULT, OPERANDS, MOST_STEPS = 4, MOST_ARGUMENTS = 4 };

/* One primitive of a call. */
typedef struct Step {
    dnnl_primitive_desc_t description;
    dnnl_primitive_t primitive;
    dnnl_exec_arg_t arguments[MOST_ARGUMENTS];
    int count;
} Step;

typedef struct State {
    const Workload *workload;
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    const float *inputs[2];
    float *out, *folded;                                 /* filters with the scale of a batch norm, then the bias */
    dnnl_memory_t given[OPERANDS], used[OPERANDS], bias; /* used: the same as given, or a copy in another layout */
    Step steps[MOST_STEPS];
    int step_count;
    char way[160];
} State;

/* How a workload may be computed. */
typedef struct Way {
    dnnl_alg_kind_t algorithm;
    bool own_layout;
    const char *text;
} Way;

static bool check(dnnl_status_t status) {
    return status == dnnl_success;
}

/* --- pieces ------------------------------------------------------------------------------------------------------- */

static Layout layout_of(dnnl_memory_t memory) {
    Layout layout = NULL;
    dnnl_memory_get_memory_desc(memory, &layout);
    return layout;
}

static bool add_step(State *s, dnnl_primitive_desc_t description) {
    Step *step = &s->steps[s->step_count++];
    *step = (Step){.description = description};
    return check(dnnl_primitive_create(&step->primitive, description));
}

static void add_argument(State *s, int what, dnnl_memory_t memory) {
    Step *step = &s->steps[s->step_count - 1];
    step->arguments[step->count++] = (dnnl_exec_arg_t){what, memory};
}

static bool run_steps(State *s, int begin) {
    bool done = true;
    for (int i = begin; i < s->step_count; i++)
        done &=
            check(dnnl_primitive_execute(s->steps[i].primitive, s->stream, s->steps[i].count, s->steps[i].arguments));
    return check(dnnl_stream_wait(s->stream)) && done;
}

static void drop_step(State *s) {
    Step *step = &s->steps[--s->step_count];
    dnnl_primitive_destroy(step->primitive);
    dnnl_primitive_desc_destroy(step->description);
}

static bool add_copy(State *s, dnnl_memory_t from, dnnl_memory_t to) {
    dnnl_primitive_desc_t description;
    if (!check(dnnl_reorder_primitive_desc_create(&description, layout_of(from), s->engine, layout_of(to), s->engine,
                                                  NULL)))
        return false;
    bool added = add_step(s, description);
    add_argument(s, DNNL_ARG_FROM, from);
    add_argument(s, DNNL_ARG_TO, to);
    return added;
}

/* Ahead of the calls, or after them. */
static bool copy_now(State *s, dnnl_memory_t from, dnnl_memory_t to) {
    bool copied = add_copy(s, from, to) && run_steps(s, s->step_count - 1);
    drop_step(s);
    return copied;
}

static bool give(State *s, int operand, const float *data, int count, const dnnl_dims_t dims,
                 const dnnl_dims_t strides) {
    dnnl_memory_desc_t layout;
    if (!check(layout_strides(&layout, count, dims, strides)))
        return false;
    bool given = check(dnnl_memory_create(&s->given[operand], LAYOUT(layout), s->engine, (void *)data));
    layout_free(&layout);
    return given;
}

/* The memory that an operation works on, in the layout that it wants. */
static bool use(State *s, int operand, Layout wanted) {
    return check(dnnl_memory_create(&s->used[operand], wanted, s->engine, DNNL_MEMORY_ALLOCATE));
}

/* --- convolutions ---------------------------------------------------------------------------------------------------
 */

typedef struct Image {
    int count; /* of dimensions: batch, channel, and those of the image */
    dnnl_dims_t dims[OPERANDS], strides[OPERANDS];
    int weight_count;
} Image;

static void image_dims(const Workload *w, const int extents[3], int channels, dnnl_dims_t dims, dnnl_dims_t strides) {
    int count = w->kind->dims;
    long long stride = channels;
    for (int d = count - 1; d >= 0; d--) {
        dims[2 + d] = extents[3 - count + d];
        strides[2 + d] = stride;
        stride *= dims[2 + d];
    }
    dims[0] = w->batch, strides[0] = stride;
    dims[1] = channels, strides[1] = 1;
}

/* Filters are (window, group, channel, filter) in memory, (group, filter, channel, window) to oneDNN. */
static int filter_dims(const Workload *w, dnnl_dims_t dims, dnnl_dims_t strides) {
    int channels = w->channels / w->groups, filters = w->filters / w->groups, count = 0;
    if (w->groups > 1) {
        dims[count] = w->groups;
        strides[count++] = (long long)channels * filters;
    }
    dims[count] = filters, strides[count++] = 1;
    dims[count] = channels, strides[count++] = filters;
    long long stride = (long long)w->groups * channels * filters;
    for (int d = w->kind->dims - 1; d >= 0; d--) {
        dims[count + d] = w->window[3 - w->kind->dims + d];
        strides[count + d] = stride;
        stride *= dims[count + d];
    }
    return count + w->kind->dims;
}

static Image image_of(const Workload *w) {
    Image image = {.count = 2 + w->kind->dims};
    image_dims(w, w->in, w->channels, image.dims[SOURCE], image.strides[SOURCE]);
    image_dims(w, w->out, w->filters, image.dims[RESULT], image.strides[RESULT]);
    image.weight_count = filter_dims(w, image.dims[WEIGHTS], image.strides[WEIGHTS]);
    return image;
}

static Geometry geometry_of(const Workload *w) {
    Geometry geometry;
    for (int d = 0; d < w->kind->dims; d++) {
        geometry.strides[d] = w->stride;
        geometry.dilation[d] = w->dilation - 1;
        geometry.padding[d] = w->pad[3 - w->kind->dims + d];
    }
    return geometry;
}

static bool make_operands(const State *s, const Image *image, bool own_layout, Operands *operands) {
    dnnl_dims_t filters = {s->workload->filters}, one = {1};
    bool made = check(layout_any(&operands->weights, image->weight_count, image->dims[WEIGHTS]));
    dnnl_memory_desc_t *images[] = {[SOURCE] = &operands->source, [RESULT] = &operands->result};
    for (int i = SOURCE; i <= RESULT; i += RESULT - SOURCE)
        made &= check(own_layout ? layout_any(images[i], image->count, image->dims[i])
                                 : layout_strides(images[i], image->count, image->dims[i], image->strides[i]));
    operands->has_bias = s->folded != NULL;
    return made && (!operands->has_bias || check(layout_strides(&operands->bias, 1, filters, one)));
}

static void free_operands(Operands *operands) {
    layout_free(&operands->source);
    layout_free(&operands->weights);
    layout_free(&operands->result);
    if (operands->has_bias)
        layout_free(&operands->bias);
}

static bool describe(const State *s, const Image *image, const Way *way, dnnl_primitive_desc_t *description) {
    Operands operands;
    Geometry geometry = geometry_of(s->workload);
    dnnl_primitive_attr_t attributes = NULL;
    dnnl_post_ops_t operations = NULL;
    bool made = make_operands(s, image, way->own_layout, &operands);
    if (made && operands.has_bias)
        made = check(dnnl_primitive_attr_create(&attributes)) && check(dnnl_post_ops_create(&operations)) &&
               check(append_relu(operations)) && check(dnnl_primitive_attr_set_post_ops(attributes, operations));
    made = made && check(s->workload->transposed ? describe_deconvolution(description, s->engine, &operands, &geometry)
                                                 : describe_convolution(description, s->engine, way->algorithm,
                                                                        &operands, &geometry, attributes));
    free_operands(&operands);
    dnnl_post_ops_destroy(operations);
    dnnl_primitive_attr_destroy(attributes);
    return made;
}

/* A batch norm after a convolution is a scale of the filters and a bias. */
static bool fold(State *s, const float *const *inputs) {
    const Workload *w = s->workload;
    size_t count = workload_input_size(w, 1), filters = w->filters;
    s->folded = malloc((count + filters) * sizeof *s->folded);
    if (!s->folded)
        return false;
    for (size_t i = 0; i < count; i++)
        s->folded[i] = (float)(inputs[1][i] * (inputs[4][i % filters] / sqrt(inputs[3][i % filters] + 1e-5)));
    for (size_t m = 0; m < filters; m++)
        s->folded[count + m] = (float)(inputs[5][m] - inputs[2][m] * (inputs[4][m] / sqrt(inputs[3][m] + 1e-5)));
    dnnl_dims_t dims = {w->filters}, strides = {1};
    dnnl_memory_desc_t layout;
    if (!check(layout_strides(&layout, 1, dims, strides)))
        return false;
    bool made = check(dnnl_memory_create(&s->bias, LAYOUT(layout), s->engine, s->folded + count));
    layout_free(&layout);
    return made;
}

static bool open_convolution(State *s, const float *const *inputs, const Way *way) {
    const Workload *w = s->workload;
    dnnl_primitive_desc_t description = NULL;
    Image image = image_of(w);
    if (w->side > 1 || (w->kind->inputs[2].name && !fold(s, inputs)))
        return false;
    bool made = give(s, SOURCE, inputs[0], image.count, image.dims[SOURCE], image.strides[SOURCE]) &&
                give(s, WEIGHTS, s->folded ? s->folded : inputs[1], image.weight_count, image.dims[WEIGHTS],
                     image.strides[WEIGHTS]) &&
                give(s, RESULT, s->out, image.count, image.dims[RESULT], image.strides[RESULT]) &&
                describe(s, &image, way, &description) && add_step(s, description);
    if (!made)
        return false;
    static const int what[] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST};
    static const dnnl_query_t queries[] = {dnnl_query_src_md, dnnl_query_weights_md, dnnl_query_dst_md};
    for (int i = 0; i < OPERANDS; i++) {
        made = made && use(s, i, dnnl_primitive_desc_query_md(description, queries[i], 0));
        if (made)
            add_argument(s, what[i], s->used[i]);
    }
    if (made && s->bias)
        add_argument(s, DNNL_ARG_BIAS, s->bias);
    return made && copy_now(s, s->given[SOURCE], s->used[SOURCE]) && copy_now(s, s->given[WEIGHTS], s->used[WEIGHTS]);
}

/* --- products and scores
 * ------------------------------------------------------------------------------------------------ */

/* Row-major strides of a part of the dimensions. */
static void plain_strides(int count, const dnnl_dims_t dims, dnnl_dims_t strides) {
    for (int d = count - 1; d >= 0; d--)
        strides[d] = d == count - 1 ? 1 : strides[d + 1] * dims[d + 1];
}

/* Copies an operand of the product within the call, into rows. */
static bool copy_within(State *s, int operand, int count, const dnnl_dims_t dims) {
    dnnl_dims_t strides;
    dnnl_memory_desc_t layout;
    plain_strides(count, dims, strides);
    if (!check(layout_strides(&layout, count, dims, strides)))
        return false;
    bool made = use(s, operand, LAYOUT(layout)) && add_copy(s, s->given[operand], s->used[operand]);
    layout_free(&layout);
    return made;
}

static bool add_product(State *s, int count, const dnnl_dims_t dims[OPERANDS], dnnl_dims_t strides[OPERANDS],
                        bool copied) {
    Operands operands = {.has_bias = false};
    dnnl_primitive_desc_t description = NULL;
    dnnl_memory_desc_t *layouts[] = {&operands.source, &operands.weights, &operands.result};
    bool made = true;
    for (int i = 0; i < OPERANDS; i++) {
        if (copied)
            plain_strides(count, dims[i], strides[i]);
        made &= check(layout_strides(layouts[i], count, dims[i], strides[i]));
    }
    made = made && check(describe_matmul(&description, s->engine, &operands)) && add_step(s, description);
    free_operands(&operands);
    if (!made)
        return false;
    add_argument(s, DNNL_ARG_SRC, s->used[SOURCE] ? s->used[SOURCE] : s->given[SOURCE]);
    add_argument(s, DNNL_ARG_WEIGHTS, s->used[WEIGHTS] ? s->used[WEIGHTS] : s->given[WEIGHTS]);
    add_argument(s, DNNL_ARG_DST, s->given[RESULT]);
    return true;
}

static bool open_matmul(State *s, const float *const *inputs, const Way *way) {
    const Workload *w = s->workload;
    int count = w->batch > 1 ? 3 : 2, skip = 3 - count;
    long long b = w->batch, m = w->rows, n = w->columns, k = w->depth;
    dnnl_dims_t all[OPERANDS] = {{b, m, k}, {b, k, n}, {b, m, n}}, dims[OPERANDS], strides[OPERANDS];
    bool made = !way->own_layout;
    for (int i = 0; i < OPERANDS; i++) {
        memcpy(dims[i], all[i] + skip, (size_t)count * sizeof *dims[i]);
        plain_strides(count, dims[i], strides[i]);
        made = made && give(s, i, i == RESULT ? s->out : inputs[i], count, dims[i], strides[i]);
    }
    return made && add_product(s, count, (const dnnl_dims_t *)dims, strides, false);
}

static bool open_scores(State *s, const float *const *inputs, const Way *way) {
    const Workload *w = s->workload;
    dnnl_primitive_desc_t description;
    long long b = w->batch, a = w->heads, l = w->rows, d = w->depth;
    dnnl_dims_t dims[OPERANDS] = {{b, a, l, d}, {b, a, d, l}, {b, a, l, l}};
    dnnl_dims_t strides[OPERANDS] = {{l * a * d, d, a * d, 1}, {l * a * d, d, 1, a * d}};
    plain_strides(4, dims[RESULT], strides[RESULT]);
    bool made = true;
    for (int i = 0; i < OPERANDS; i++)
        made = made && give(s, i, i == RESULT ? s->out : inputs[i], 4, dims[i], strides[i]);
    if (made && way->own_layout)
        made = copy_within(s, SOURCE, 4, dims[SOURCE]) && copy_within(s, WEIGHTS, 4, dims[WEIGHTS]);
    made = made && add_product(s, 4, (const dnnl_dims_t *)dims, strides, way->own_layout) &&
           check(describe_softmax(&description, s->engine, layout_of(s->given[RESULT]), 3)) && add_step(s, description);
    if (!made)
        return false;
    add_argument(s, DNNL_ARG_SRC, s->given[RESULT]);
    add_argument(s, DNNL_ARG_DST, s->given[RESULT]);
    return true;
}

/* --- a way, and the best of them
 * ------------------------------------------------------------------------------------------ */

static void onednn_close(void *state) {
    State *s = state;
    while (s->step_count)
        drop_step(s);
    for (int i = 0; i < OPERANDS; i++) {
        dnnl_memory_destroy(s->given[i]);
        dnnl_memory_destroy(s->used[i]);
    }
    dnnl_memory_destroy(s->bias);
    dnnl_stream_destroy(s->stream);
    dnnl_engine_destroy(s->engine);
    free(s->folded);
    free(s);
}

static void onednn_call(void *state) {
    if (!run_steps(state, 0)) {
        fprintf(stderr, "oneDNN fails in a call\n");
        exit(1);
    }
}

static void name_way(State *s, const Way *way) {
    const char *implementation = "";
    for (int i = 0; i < s->step_count && !*implementation; i++)
        dnnl_primitive_desc_query(s->steps[s->step_count - 1 - i].description, dnnl_query_impl_info_str, 0,
                                  &implementation);
    if (s->workload->kind->family == FAMILY_SCORES) /* the product, not the softmax after it */
        dnnl_primitive_desc_query(s->steps[s->step_count - 2].description, dnnl_query_impl_info_str, 0,
                                  &implementation);
    snprintf(s->way, sizeof s->way, "%s, %s", implementation, way->text);
}

static State *open_way(const Workload *workload, const float *const *inputs, float *out, const Way *way) {
    State *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->workload = workload;
    s->out = out;
    bool made = check(dnnl_engine_create(&s->engine, dnnl_cpu, 0)) &&
                check(dnnl_stream_create(&s->stream, s->engine, dnnl_stream_default_flags));
    if (workload->kind->family == FAMILY_CONVOLUTION)
        made = made && open_convolution(s, inputs, way);
    else if (workload->kind->family == FAMILY_MATMUL)
        made = made && open_matmul(s, inputs, way);
    else
        made = made && workload->kind->family == FAMILY_SCORES && open_scores(s, inputs, way);
    if (!made) {
        onednn_close(s);
        return NULL;
    }
    name_way(s, way);
    return s;
}

static int ways_of(const Workload *w, bool loose, const Way **ways) {
    static const Way direct[] = {{dnnl_convolution_direct, true, "its own layout"},
                                 {dnnl_convolution_direct, false, "channels last"}};
    static const Way winograd[] = {{dnnl_convolution_winograd, true, "its own layout"},
                                   {dnnl_convolution_winograd, false, "channels last"}};
    static const Way plain[] = {{dnnl_alg_kind_undef, false, "as given"}, {dnnl_alg_kind_undef, true, "copied first"}};
    bool convolution = w->kind->family == FAMILY_CONVOLUTION;
    *ways = !convolution ? plain : loose ? winograd : direct;
    return loose && (!convolution || w->transposed) ? 0 : 2;
}

static void *onednn_open(const Workload *workload, const float *const *inputs, float *out, int threads, bool loose) {
    const Way *ways;
    int count = ways_of(workload, loose, &ways), best = -1;
    double best_seconds = INFINITY;
    (void)threads;       /* OMP_NUM_THREADS, or the processors that this process has */
    dnnl_set_verbose(0); /* a way that does not exist is no news */
    for (int i = 0; i < count; i++) {
        State *s = open_way(workload, inputs, out, &ways[i]);
        double seconds = s ? rival_trial(onednn_call, s) : INFINITY;
        if (seconds < best_seconds)
            best = i, best_seconds = seconds;
        if (s)
            onednn_close(s);
    }
    return best < 0 ? NULL : open_way(workload, inputs, out, &ways[best]);
}

static const char *onednn_way(void *state) {
    return ((State *)state)->way;
}

static void onednn_fetch(void *state) {
    State *s = state;
    if (s->used[RESULT] && !copy_now(s, s->used[RESULT], s->given[RESULT]))
        fprintf(stderr, "oneDNN cannot give its result\n");
}

static const char *onednn_name(void) {
    static char name[64];
    const dnnl_version_t *version = dnnl_version();
    snprintf(name, sizeof name, "oneDNN %d.%d.%d", version->major, version->minor, version->patch);
    return name;
}

const Rival rival = {onednn_name, onednn_open, onednn_way, onednn_call, onednn_fetch, onednn_close};
