/* pooling.c - windows that are reduced: their largest value, their mean, their norm. */
#include "driver/import/nodes/nodes.h"
#include "driver/import/nodes/window.h"
#include <string.h>

/* The call of the library's def, or NULL. */
static const char *library_pool(Import *import, const Operand *x, const Window *w, const char *def) {
    bool even = window_is_even(w) && w->rank == 2 && w->dilation[0] == 1 && x->type == TYPE_FLOAT;
    if (!even || w->kernel[0] != w->kernel[1])
        return NULL;
    Text text = {.arena = import->arena};
    text_add(&text, "K=%lld, S=%lld", (long long)w->kernel[0], (long long)w->stride[0]);
    if (w->before[0])
        text_add(&text, ", P=%lld", (long long)w->before[0]);
    return format(import, "%s[%s](%s)", def, text.text, name_of(import, x));
}

/* What the window reads, which is `outside` where it leaves the image. */
static const char *window_read(Import *import, const Operand *x, const Window *w, const char *outside) {
    const char *e = element(import, name_of(import, x), x->rank, window_indices(import, w, "n", "c"));
    return window_is_inside(w) ? e : format(import, "(%s else %s)", e, outside);
}

static const char *least_of(Import *import, ElementType type) {
    if (type_is_float(type))
        return converted(import, type, "-1.0 / 0.0");
    return number_text(import, (Value){.type = type, .integer = integer_limit(type, false)});
}

void print_max_pool(Import *import) {
    Operand *x = input(import, 0);
    Window w = window_of(import, x, NULL);
    if (has_output(import, 1))
        refuse_node(import, "the places of the largest values are not known");
    if (import->failed)
        return;
    Operand *result = output(import, 0, x->type, x->rank, window_shape(import, &w, x->shape[0], x->shape[1]));
    const char *call = library_pool(import, x, &w, "max_pool2d");
    if (call)
        statement(import, "%s = %s", result->name, call);
    else
        statement(import, "%s max=! %s%s", element(import, result->name, x->rank, image_indices(import, x->rank)),
                  window_read(import, x, &w, least_of(import, x->type)), window_ranges(import, &w));
}

/* A tensor with the number of values that count in each window of a dimension. */
static const char *print_counts(Import *import, const Window *w, int d, bool with_padding, const char *of) {
    const char *name = fresh_name(import, format(import, "%s_%s", of, w->indices[d])), *at = window_index(import, w, d);
    const char *begin = with_padding ? format(import, "-%lld", (long long)w->before[d]) : "0";
    Size end = with_padding ? size_sum(import, w->input[d], w->after[d]) : w->input[d];
    statement(import, "%s(%s) +=! 1.0 where %s in 0:%s, %s in 0:%lld, %s >= %s, %s < %s", name, w->indices[d],
              w->indices[d], size_text(import, w->result[d]), w->inner[d], (long long)w->kernel[d], at, begin, at,
              size_text(import, end));
    return format(import, "%s(%s)", name, w->indices[d]);
}

void print_average_pool(Import *import) {
    Operand *x = input(import, 0);
    Window w = window_of(import, x, NULL);
    if (import->failed)
        return;
    bool with_padding = attribute_integer(import, "count_include_pad", 0), inside = window_is_inside(&w);
    Operand *result = output(import, 0, x->type, x->rank, window_shape(import, &w, x->shape[0], x->shape[1]));
    const char *call = inside || with_padding ? library_pool(import, x, &w, "avg_pool2d") : NULL;
    if (call) {
        statement(import, "%s = %s", result->name, call);
        return;
    }
    const char **indices = image_indices(import, x->rank), **counts = ARENA_ARRAY(import->arena, const char *, w.rank);
    const char *sum = temporary(import, result, "sum");
    int64_t whole = 1;
    for (int d = 0; d < w.rank; d++)
        whole *= w.kernel[d];
    bool all = inside || (with_padding && !w.ceil);
    for (int d = 0; d < w.rank && !all; d++)
        counts[d] = print_counts(import, &w, d, with_padding, result->name);
    statement(import, "%s +=! %s%s", element(import, sum, x->rank, indices), window_read(import, x, &w, "0"),
              window_ranges(import, &w));
    statement(import, "%s = %s / %s", element(import, result->name, x->rank, indices),
              element(import, sum, x->rank, indices),
              all ? format(import, "%lld.0", (long long)whole)
                  : format(import, "(%s)", joined(import, counts, w.rank, " * ")));
}

void print_lp_pool(Import *import) {
    Operand *x = input(import, 0);
    Window w = window_of(import, x, NULL);
    if (import->failed)
        return;
    int64_t p = attribute_integer(import, "p", 2);
    Operand *result = output(import, 0, x->type, x->rank, window_shape(import, &w, x->shape[0], x->shape[1]));
    const char **indices = image_indices(import, x->rank), *sum = temporary(import, result, "sum");
    const char *read = window_read(import, x, &w, "0"), *total = element(import, sum, x->rank, indices);
    statement(import, "%s +=! pow(abs(%s), %lld)%s", total, read, (long long)p, window_ranges(import, &w));
    statement(import, "%s = pow(%s, 1 / %lld.0)", element(import, result->name, x->rank, indices), total, (long long)p);
}

/* Images that become one element each. */
typedef struct WholeImages {
    const char **indices, **inner; /* of the result, and of what is read */
    Size *shape, count;            /* of the result, and of the elements of an image */
    const char *ranges;            /* of its dimensions of 1 */
} WholeImages;

static WholeImages whole_images(Import *import, const Operand *x) {
    WholeImages w = {image_indices(import, x->rank), image_indices(import, x->rank), new_shape(import, x->rank),
                     size_number(1), ""};
    bool *reduced = ARENA_ARRAY(import->arena, bool, x->rank + 1);
    if (x->rank < 3)
        refuse_node(import, "images of %d dimensions are not known", x->rank);
    for (int d = 0; d < x->rank; d++) {
        reduced[d] = d >= 2;
        w.shape[d] = reduced[d] ? size_number(1) : x->shape[d];
        if (reduced[d]) {
            w.inner[d] = format(import, "r_%s", w.indices[d]);
            w.count = size_product(import, w.count, x->shape[d]);
        }
    }
    w.ranges = where(import, x->rank, w.indices, w.shape, reduced);
    return w;
}

void print_global_pool(Import *import) {
    Operand *x = input(import, 0);
    bool mean = !strcmp(import->node->kind, "GlobalAveragePool");
    WholeImages w = whole_images(import, x);
    if (import->failed)
        return;
    const char *library = mean && x->rank == 4 && x->type == TYPE_FLOAT ? name_of(import, x) : NULL;
    Operand *result = output(import, 0, x->type, x->rank, w.shape);
    const char *own = element(import, result->name, x->rank, w.indices);
    if (library) {
        const char *means = temporary(import, result, "mean");
        statement(import, "%s = global_avg_pool(%s)", means, library);
        statement(import, "%s = %s%s", own, element(import, means, 2, w.indices), w.ranges);
        return;
    }
    const char *sum = mean ? element(import, temporary(import, result, "sum"), x->rank, w.indices) : own;
    statement(import, "%s %s=! %s%s", sum, mean ? "+" : "max", read_at(import, x, w.inner), w.ranges);
    if (mean)
        statement(import, "%s = %s / float(%s)", own, sum, size_text(import, w.count));
}

void print_global_lp_pool(Import *import) {
    Operand *x = input(import, 0);
    WholeImages w = whole_images(import, x);
    if (import->failed)
        return;
    long long p = attribute_integer(import, "p", 2);
    Operand *result = output(import, 0, x->type, x->rank, w.shape);
    const char *sum = element(import, temporary(import, result, "sum"), x->rank, w.indices);
    statement(import, "%s +=! pow(abs(%s), %lld)%s", sum, read_at(import, x, w.inner), p, w.ranges);
    statement(import, "%s = pow(%s, 1 / %lld.0)", element(import, result->name, x->rank, w.indices), sum, p);
}
