/* convolution.c - convolutions: by the library where it has them, else written out. */
#include "driver/import/nodes/nodes.h"
#include "driver/import/nodes/window.h"
#include <string.h>

typedef struct Convolution {
    Operand *image, *filters, *bias;
    Window window;
    int64_t groups, channels, results; /* channels: those that a filter reads */
    Size *shape;
} Convolution;

static Convolution convolution_of(Import *import, int image, int filters, int bias) {
    Convolution c = {.image = input(import, image),
                     .filters = input(import, filters),
                     .bias = bias < 0 ? NULL : input_or_none(import, bias)};
    c.groups = attribute_integer(import, "group", 1);
    if (c.filters->rank != c.image->rank || c.filters->rank < 3) {
        refuse_node(import, "its filters have %d dimensions, its image %d", c.filters->rank, c.image->rank);
        c.filters = c.image =
            new_operand(import, "", TYPE_FLOAT, 3, (Size[]){{1, NULL, 0}, {1, NULL, 0}, {1, NULL, 0}});
    }
    c.window = window_of(import, c.image, c.filters->shape + 2);
    c.results = known_size(import, c.filters->shape[0]);
    c.channels = known_size(import, c.filters->shape[1]);
    if (c.groups < 1 || c.channels > INT32_MAX || c.groups > INT32_MAX || c.results % c.groups ||
        !size_is(c.image->shape[1], c.channels * c.groups)) {
        refuse_node(import, "its groups do not divide the channels");
        c.groups = 1;
    }
    c.shape = window_shape(import, &c.window, c.image->shape[0], c.filters->shape[0]);
    return c;
}

/* "[S=2, P=1]", without what is the default. */
static const char *parameters_of(Import *import, const Window *w) {
    Text text = {.arena = import->arena};
    const struct {
        const char *name;
        int64_t value, standard;
    } rows[] = {{"S", w->stride[0], 1}, {"P", w->before[0], 0}, {"D", w->dilation[0], 1}};
    text_add(&text, "%s", "");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].value != rows[i].standard)
            text_add(&text, "%s%s=%lld", text.length ? ", " : "[", rows[i].name, (long long)rows[i].value);
    return text.length ? format(import, "%s]", text.text) : "";
}

/* The call of the library's def, or NULL. */
static const char *library_call(Import *import, const Convolution *c) {
    static const char *const defs[] = {NULL, "conv1d", "conv2d", "conv3d"};
    const Window *w = &c->window;
    if (!window_is_even(w) || c->image->type != TYPE_FLOAT || c->filters->type != TYPE_FLOAT)
        return NULL;
    const char *parameters = parameters_of(import, w), *image = name_of(import, c->image);
    if (c->groups == 1)
        return format(import, "%s%s(%s, %s)", defs[w->rank], parameters, image, name_of(import, c->filters));
    if (w->rank != 2 || c->channels != 1 || c->results != c->groups)
        return NULL;
    Size planes[] = {c->filters->shape[0], c->filters->shape[2], c->filters->shape[3]};
    const char *filters = name_with_shape(import, c->filters, 3, planes);
    return filters ? format(import, "depthwise_conv2d%s(%s, %s)", parameters, image, filters) : NULL;
}

/* The channel of the image that a filter's channel reads: m is the filter. */
static const char *image_channel(Import *import, const Convolution *c) {
    long long each = c->results / c->groups, channels = c->channels;
    if (c->groups == 1)
        return "r_c";
    const char *group = each == 1 ? "c" : format(import, "c / %lld", each);
    return channels == 1 ? group : format(import, "%lld * (%s) + r_c", channels, group);
}

static void print_sum(Import *import, const Convolution *c, const char *to) {
    const Window *w = &c->window;
    const char **filter = ARENA_ARRAY(import->arena, const char *, w->rank + 3);
    filter[0] = "c";
    filter[1] = "r_c";
    memcpy(filter + 2, w->inner, sizeof *filter * (size_t)w->rank);
    const char *image = element(import, name_of(import, c->image), w->rank + 2,
                                window_indices(import, w, "n", image_channel(import, c)));
    const char *weight = element(import, name_of(import, c->filters), w->rank + 2, filter);
    const char *one = window_is_inside(w) ? image : format(import, "(%s else 0)", image);
    const char *channels = c->groups == 1 ? "" : format(import, ", c in 0:%lld", (long long)c->results);
    statement(import, "%s +=! %s * %s%s%s", element(import, to, w->rank + 2, image_indices(import, w->rank + 2)), one,
              weight, window_ranges(import, w), channels);
}

static void add_bias(Import *import, const Convolution *c, const char *from, const char *to) {
    const char **indices = image_indices(import, c->window.rank + 2);
    statement(import, "%s = %s + %s", element(import, to, c->window.rank + 2, indices),
              element(import, from, c->window.rank + 2, indices),
              element(import, name_of(import, c->bias), 1, indices + 1));
}

void print_convolution(Import *import) {
    Convolution c = convolution_of(import, 0, 1, 2);
    if (import->failed)
        return;
    const char *call = library_call(import, &c);
    Operand *result = output(import, 0, c.image->type, c.window.rank + 2, c.shape);
    if (call && c.window.rank == 2 && c.bias) {
        statement(import, "%s = add_channel(%s, %s)", result->name, call, name_of(import, c.bias));
        return;
    }
    const char *sum = c.bias ? temporary(import, result, "sum") : result->name;
    if (call)
        statement(import, "%s = %s", sum, call);
    else
        print_sum(import, &c, sum);
    if (c.bias)
        add_bias(import, &c, sum, result->name);
}

/* --- of integers -------------------------------------------------------------------------------------------------- */

/* The sums of a convolution of integers, without their zero points, in a tensor of int32. */
static Convolution print_integer_sums(Import *import, int image, int image_zero, int filters, int filters_zero,
                                      int bias, const char **sums) {
    Convolution c = convolution_of(import, image, filters, bias);
    if (import->failed)
        return c;
    c.image = without_zero(import, c.image, input_or_none(import, image_zero), 1);
    c.filters = without_zero(import, c.filters, input_or_none(import, filters_zero), 0);
    *sums = fresh_name(import, format(import, "%s_sum", import->node->outputs.items[0]));
    print_sum(import, &c, *sums);
    return c;
}

void print_integer_convolution(Import *import) {
    const char *sums = "";
    Convolution c = print_integer_sums(import, 0, 2, 1, 3, -1, &sums);
    if (import->failed)
        return;
    int rank = c.window.rank + 2;
    const char **indices = image_indices(import, rank);
    statement(import, "%s = %s", element(import, output(import, 0, TYPE_INT32, rank, c.shape)->name, rank, indices),
              element(import, sums, rank, indices));
}

void print_quantized_convolution(Import *import) {
    const char *sums = "";
    Convolution c = print_integer_sums(import, 0, 2, 3, 5, 8, &sums);
    if (import->failed)
        return;
    const char **indices = image_indices(import, c.window.rank + 2);
    const char *sum = element(import, sums, c.window.rank + 2, indices);
    if (c.bias)
        sum = format(import, "(%s + %s)", sum, read_at(import, c.bias, indices + 1));
    print_requantized(import, sum, 1, 4, 6, c.window.rank + 2, c.shape, 1, indices);
}

/* --- transposed --------------------------------------------------------------------------------------------------- */

/* By the attributes; the kernel is that of the filters. The result is larger than the image. */
static Window transposed_window(Import *import, const Operand *image, const Operand *filters) {
    Window w = window_attributes(import, image, filters->shape + 2);
    int extra_count, shape_count;
    const int64_t *extra = attribute_integers(import, "output_padding", &extra_count);
    const int64_t *shape = attribute_integers(import, "output_shape", &shape_count);
    const char *how = attribute_text(import, "auto_pad", "NOTSET");
    bool same = !strncmp(how, "SAME", 4), given = shape && shape_count >= w.rank;
    for (int d = 0; d < w.rank; d++) {
        int64_t more = extra && d < extra_count ? extra[d] : 0;
        int64_t all = w.stride[d] * (known_size(import, w.input[d]) - 1) + w.dilation[d] * (w.kernel[d] - 1) + 1 + more;
        int64_t wanted = given ? shape[shape_count - w.rank + d] : same ? w.input[d].factor * w.stride[d] : 0;
        if (given || same) {
            int64_t pads = all - wanted;
            bool lower = !strcmp(how, "SAME_LOWER");
            w.before[d] = lower || given ? (pads + 1) / 2 : pads / 2;
            if (given && strcmp(how, "SAME_UPPER"))
                w.before[d] = pads / 2;
            w.after[d] = pads - w.before[d];
        }
        w.result[d] = size_number(all - w.before[d] - w.after[d]);
        if (w.result[d].factor < 0 || more < 0)
            refuse_node(import, "its result has no elements");
    }
    return w;
}

/* The place in the image whose tap reaches an element: only where the stride divides. */
static const char *transposed_conditions(Import *import, const Window *w, const char **places) {
    Text text = {.arena = import->arena};
    text_add(&text, "%s", "");
    for (int d = 0; d < w->rank; d++) {
        long long stride = w->stride[d], dilation = w->dilation[d], before = w->before[d];
        const char *at = format(import, "%s + %lld - %lld*%s", w->indices[d], before, dilation, w->inner[d]);
        places[d] = stride == 1 ? at : format(import, "(%s) / %lld", at, stride);
        if (stride > 1)
            text_add(&text, ", (%s) %% %lld == 0", at, stride);
    }
    return text.text;
}

static bool is_library_transposed(const Window *w, const Convolution *c) {
    bool even = w->rank == 2 && c->groups == 1 && w->dilation[0] == 1 && w->dilation[1] == 1 &&
                w->stride[0] == w->stride[1] && w->before[0] == w->before[1] && c->image->type == TYPE_FLOAT;
    for (int d = 0; even && d < 2; d++)
        even = size_is(w->result[d], w->stride[d] * (w->input[d].factor - 1) + w->kernel[d] - 2 * w->before[d]);
    return even;
}

static void print_transposed_sum(Import *import, const Convolution *c, const char *to) {
    const Window *w = &c->window;
    const char **image = ARENA_ARRAY(import->arena, const char *, w->rank + 3);
    const char **filter = ARENA_ARRAY(import->arena, const char *, w->rank + 3);
    long long each = c->results / c->groups, channels = c->channels / c->groups;
    const char *conditions = transposed_conditions(import, w, image + 2);
    image[0] = "n";
    image[1] = filter[0] = c->groups == 1 ? "r_c" : format(import, "%lld * (c / %lld) + r_c", channels, each);
    filter[1] = c->groups == 1 ? "c" : format(import, "c %% %lld", each);
    memcpy(filter + 2, w->inner, sizeof *filter * (size_t)w->rank);
    statement(import, "%s +=! (%s else 0) * %s%s, c in 0:%lld, r_c in 0:%lld%s",
              element(import, to, w->rank + 2, image_indices(import, w->rank + 2)),
              element(import, name_of(import, c->image), w->rank + 2, image),
              element(import, name_of(import, c->filters), w->rank + 2, filter), window_ranges(import, w),
              (long long)c->results, channels, conditions);
}

void print_transposed_convolution(Import *import) {
    Convolution c = {.image = input(import, 0), .filters = input(import, 1), .bias = input_or_none(import, 2)};
    c.groups = attribute_integer(import, "group", 1);
    if (c.filters->rank != c.image->rank || c.filters->rank < 3 || c.groups < 1) {
        refuse_node(import, "its filters have %d dimensions, its image %d", c.filters->rank, c.image->rank);
        return;
    }
    c.window = transposed_window(import, c.image, c.filters);
    c.channels = known_size(import, c.filters->shape[0]);
    if (__builtin_mul_overflow(known_size(import, c.filters->shape[1]), c.groups, &c.results) || c.results < 1 ||
        c.channels % c.groups || !size_is(c.image->shape[1], c.channels))
        refuse_node(import, "its groups do not divide the channels");
    if (import->failed)
        return;
    const Window *w = &c.window;
    c.shape = window_shape(import, w, c.image->shape[0], size_number(c.results));
    const char *image = name_of(import, c.image), *filters = name_of(import, c.filters);
    Operand *result = output(import, 0, c.image->type, w->rank + 2, c.shape);
    const char *sum = c.bias ? temporary(import, result, "sum") : result->name;
    if (is_library_transposed(w, &c))
        statement(import, "%s = transposed_conv2d%s(%s, %s)", sum, parameters_of(import, w), image, filters);
    else
        print_transposed_sum(import, &c, sum);
    if (c.bias)
        add_bias(import, &c, sum, result->name);
}
