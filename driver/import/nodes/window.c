/* window.c - windows that go over an image: their attributes, how many there are, what they read. */
#include "driver/import/nodes/window.h"
#include <string.h>

/* More than any window has. */
enum { MOST = 1 << 24 };

const char **image_indices(Import *import, int rank) {
    const char **indices = index_names(import, rank);
    if (rank == 3)
        memcpy(indices, (const char *[]){"n", "c", "l"}, 3 * sizeof *indices);
    return indices;
}

static int64_t *numbers(Import *import, const char *name, int rank, int64_t otherwise) {
    int count = 0;
    const int64_t *given = attribute_integers(import, name, &count);
    int64_t *result = ARENA_ARRAY(import->arena, int64_t, rank + 1);
    if (given && count != rank)
        refuse_node(import, "its attribute '%s' has %d numbers for %d dimensions", name, count, rank);
    for (int d = 0; d < rank; d++) {
        result[d] = given && count == rank ? given[d] : otherwise;
        if (result[d] < 1 || result[d] > MOST)
            refuse_node(import, "its attribute '%s' has the number %lld", name, (long long)result[d]);
    }
    return result;
}

/* How far a window reaches. */
static int64_t reach(const Window *w, int d) {
    return w->dilation[d] * (w->kernel[d] - 1) + 1;
}

static void pad_automatically(Import *import, Window *w, const char *how) {
    bool upper = !strcmp(how, "SAME_UPPER"), lower = !strcmp(how, "SAME_LOWER");
    if (!upper && !lower && strcmp(how, "VALID"))
        refuse_node(import, "auto_pad '%s' is not known", how);
    for (int d = 0; d < w->rank && (upper || lower); d++) {
        int64_t size = known_size(import, w->input[d]);
        int64_t all = ((size + w->stride[d] - 1) / w->stride[d] - 1) * w->stride[d] + reach(w, d) - size;
        all = all < 0 ? 0 : all;
        w->before[d] = lower ? all - all / 2 : all / 2;
        w->after[d] = all - w->before[d];
    }
}

static void pad(Import *import, Window *w) {
    int count;
    const int64_t *pads = attribute_integers(import, "pads", &count);
    const char *how = attribute_text(import, "auto_pad", "NOTSET");
    if (strcmp(how, "NOTSET"))
        pad_automatically(import, w, how);
    else if (pads && count != 2 * w->rank)
        refuse_node(import, "its attribute 'pads' has %d numbers for %d dimensions", count, w->rank);
    else
        for (int d = 0; pads && d < w->rank; d++) {
            w->before[d] = pads[d];
            w->after[d] = pads[w->rank + d];
            if (pads[d] < 0 || pads[d] > MOST || pads[w->rank + d] < 0 || pads[w->rank + d] > MOST)
                refuse_node(import, "its attribute 'pads' has a number that is not allowed");
        }
}

/* How many windows there are. A last one that is not whole counts with ceil, unless it begins beyond the image. */
static Size window_count(Import *import, const Window *w, int d) {
    Size room =
        size_sum(import, w->input[d], w->before[d] + w->after[d] - reach(w, d) + (w->ceil ? w->stride[d] - 1 : 0));
    if (!size_known(room)) {
        if (w->ceil && w->stride[d] > 1)
            refuse_open_size(import, w->input[d]);
        Size steps = room;
        if (w->stride[d] > 1)
            steps = size_symbol(format(import, "(%s / %lld)", size_text(import, room), (long long)w->stride[d]));
        return size_sum(import, steps, 1);
    }
    if (room.factor < 0)
        refuse_node(import, "its window is larger than the image");
    int64_t count = room.factor / w->stride[d] + 1;
    if (w->ceil && (count - 1) * w->stride[d] >= w->input[d].factor + w->before[d])
        count--;
    return size_number(count);
}

Window window_attributes(Import *import, const Operand *image, const Size *kernel) {
    int rank = image->rank - 2, count;
    if (rank < 1 || rank > 3) {
        refuse_node(import, "images of %d dimensions are not known", image->rank);
        rank = 0;
    }
    if (!kernel && !attribute_integers(import, "kernel_shape", &count))
        refuse_node(import, "it has no attribute 'kernel_shape'");
    Window w = {.rank = rank,
                .stride = numbers(import, "strides", rank, 1),
                .dilation = numbers(import, "dilations", rank, 1),
                .kernel = numbers(import, "kernel_shape", rank, 1),
                .before = ARENA_ARRAY(import->arena, int64_t, rank + 1),
                .after = ARENA_ARRAY(import->arena, int64_t, rank + 1),
                .input = image->shape + 2,
                .result = new_shape(import, rank),
                .indices = image_indices(import, image->rank) + 2,
                .inner = ARENA_ARRAY(import->arena, const char *, rank + 1),
                .ceil = attribute_integer(import, "ceil_mode", 0)};
    for (int d = 0; d < rank; d++) {
        w.inner[d] = format(import, "r_%s", w.indices[d]);
        if (kernel)
            w.kernel[d] = known_size(import, kernel[d]);
        if (w.kernel[d] < 1 || w.kernel[d] > MOST || (size_known(w.input[d]) && w.input[d].factor > INT32_MAX))
            refuse_node(import, "a window of %lld elements, or an image of %s, is too large", (long long)w.kernel[d],
                        size_shown(import, w.input[d]));
    }
    pad(import, &w);
    return w;
}

Window window_of(Import *import, const Operand *image, const Size *kernel) {
    Window w = window_attributes(import, image, kernel);
    for (int d = 0; d < w.rank; d++)
        w.result[d] = window_count(import, &w, d);
    return w;
}

bool window_is_inside(const Window *w) {
    for (int d = 0; d < w->rank; d++)
        if (w->before[d] || w->after[d] || w->ceil)
            return false;
    return true;
}

bool window_is_even(const Window *w) {
    for (int d = 0; d < w->rank; d++)
        if (w->before[d] != w->after[d] || w->before[d] != w->before[0] || w->stride[d] != w->stride[0] ||
            w->dilation[d] != w->dilation[0])
            return false;
    return !w->ceil;
}

static const char *multiple(Import *import, int64_t factor, const char *index) {
    return factor == 1 ? index : format(import, "%lld*%s", (long long)factor, index);
}

const char *window_index(Import *import, const Window *w, int d) {
    const char *sum = format(import, "%s + %s", multiple(import, w->stride[d], w->indices[d]),
                             multiple(import, w->dilation[d], w->inner[d]));
    return w->before[d] ? format(import, "%s - %lld", sum, (long long)w->before[d]) : sum;
}

const char **window_indices(Import *import, const Window *w, const char *batch, const char *channel) {
    const char **indices = ARENA_ARRAY(import->arena, const char *, w->rank + 3);
    indices[0] = batch;
    indices[1] = channel;
    for (int d = 0; d < w->rank; d++)
        indices[d + 2] = window_index(import, w, d);
    return indices;
}

const char *window_ranges(Import *import, const Window *w) {
    Size *kernel = new_shape(import, w->rank);
    for (int d = 0; d < w->rank; d++)
        kernel[d] = size_number(w->kernel[d]);
    const char *inner = where(import, w->rank, w->inner, kernel, NULL);
    return format(import, "%s,%s", where(import, w->rank, w->indices, w->result, NULL), inner + strlen(" where"));
}

Size *window_shape(Import *import, const Window *w, Size batch, Size channels) {
    Size *shape = new_shape(import, w->rank + 2);
    shape[0] = batch;
    shape[1] = channels;
    for (int d = 0; d < w->rank; d++)
        shape[d + 2] = w->result[d];
    return shape;
}
