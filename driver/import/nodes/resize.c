/* resize.c - images that become larger or smaller. For each dimension that changes there are two tables, made here:
 * which elements are read, and their weights. So all modes are one sum of products.
 */
#include "driver/import/nodes/nodes.h"
#include <math.h>
#include <string.h>

/* More than any side of an image has. */
enum { LONGEST = 1 << 24 };

/* How one dimension changes. */
typedef struct Resizing {
    int64_t from, to;
    double scale;
    const char *coordinates, *mode, *nearest;
    double cubic;
    bool exclude_outside;
} Resizing;

/* The place in the input. */
static double source_of(const Resizing *r, int64_t at) {
    if (!strcmp(r->coordinates, "asymmetric"))
        return (double)at / r->scale;
    if (!strcmp(r->coordinates, "align_corners"))
        return r->to == 1 ? 0 : (double)at * (double)(r->from - 1) / (r->scale * (double)r->from - 1);
    if (!strcmp(r->coordinates, "pytorch_half_pixel") && r->to == 1)
        return 0;
    if (!strcmp(r->coordinates, "half_pixel_symmetric")) {
        double adjustment = (double)r->to / (r->scale * (double)r->from), centre = (double)r->from / 2;
        return centre * (1 - adjustment) + ((double)at + 0.5) / r->scale - 0.5;
    }
    return ((double)at + 0.5) / r->scale - 0.5;
}

static double nearest_of(const Resizing *r, double at) {
    if (!strcmp(r->nearest, "floor"))
        return floor(at);
    if (!strcmp(r->nearest, "ceil"))
        return ceil(at);
    return !strcmp(r->nearest, "round_prefer_ceil") ? floor(at + 0.5) : ceil(at - 0.5);
}

static double cubic_weight(double a, double distance) {
    double d = fabs(distance);
    if (d <= 1)
        return ((a + 2) * d - (a + 3)) * d * d + 1;
    return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

static int taps_of(const Resizing *r) {
    return !strcmp(r->mode, "nearest") ? 1 : !strcmp(r->mode, "linear") ? 2 : 4;
}

/* The elements that are read for one of the result, and their weights. */
static void taps_at(const Resizing *r, int64_t at, int64_t *places, double *weights) {
    double source = source_of(r, at), below = floor(source), sum = 0;
    int taps = taps_of(r);
    for (int t = 0; t < taps; t++) {
        double place = taps == 1 ? nearest_of(r, source) : below + t - (taps == 4);
        double distance = source - place;
        weights[t] = taps == 1 ? 1 : taps == 2 ? 1 - fabs(distance) : cubic_weight(r->cubic, distance);
        if (r->exclude_outside && (place < 0 || place >= (double)r->from))
            weights[t] = 0;
        places[t] = place < 0 ? 0 : place >= (double)r->from ? r->from - 1 : (int64_t)place;
        sum += weights[t];
    }
    for (int t = 0; t < taps && r->exclude_outside && sum; t++)
        weights[t] /= sum;
}

/* The tables as arguments of the def. */
static void make_tables(Import *import, const Resizing *r, const char *index, const char **places,
                        const char **weights) {
    int taps = taps_of(r);
    Size shape[] = {size_number(r->to), size_number(taps)};
    Operand *tables[2];
    for (int k = 0; k < 2; k++) {
        tables[k] = ARENA_NEW(import->arena, Operand);
        const char *name = format(import, "%s_%s_%s", import->node->outputs.items[0], index, k ? "weights" : "places");
        *tables[k] =
            (Operand){.onnx = name, .type = k ? TYPE_FLOAT : TYPE_INT32, .rank = 2, .shape = shape, .known = true};
        tables[k]->elements = ARENA_ARRAY(import->arena, Element, r->to * taps + 1);
    }
    int64_t place[4];
    double weight[4];
    for (int64_t i = 0; i < r->to; i++) {
        taps_at(r, i, place, weight);
        for (int t = 0; t < taps; t++) {
            tables[0]->elements[i * taps + t].value = (Value){.type = TYPE_INT32, .integer = place[t]};
            tables[1]->elements[i * taps + t].value = (Value){.type = TYPE_FLOAT, .real = (float)weight[t]};
        }
    }
    *places = name_with_shape(import, tables[0], 2, shape);
    *weights = taps > 1 ? name_with_shape(import, tables[1], 2, shape) : NULL;
}

/* --- what is asked for -------------------------------------------------------------------------------------------- */

/* Numbers of an input, or of an attribute, for each dimension. NULL: none. */
static double *real_list(Import *import, int number, const char *name, int *count) {
    const Attribute *old = attribute(import, name);
    Operand *x = old ? NULL : input_or_none(import, number);
    const Element *elements = x && x->known ? contents(import, x) : NULL;
    *count = old ? old->reals.count : elements ? (int)shape_count(import, x->shape, x->rank) : 0;
    double *list = ARENA_ARRAY(import->arena, double, *count + 1);
    for (int i = 0; i < *count; i++) {
        list[i] = old ? old->reals.items[i] : value_cast(elements[i].value, TYPE_DOUBLE).real;
        if (!old && elements[i].symbol)
            list[i] = -1;
    }
    if (x && !elements)
        refuse_node(import, "the list of %s, '%s', is not known before the program runs", name, x->onnx);
    return *count ? list : NULL;
}

static const char *one_of(Import *import, const char *name, const char *otherwise, const char *words) {
    const char *word = attribute_text(import, name, otherwise), *at = strstr(words, word);
    if (!at || !*word)
        refuse_node(import, "its attribute '%s' is '%s', which is not known", name, word);
    return word;
}

static Resizing resizing_of(Import *import) {
    bool upsample = !strcmp(import->node->kind, "Upsample") || import->model->opset < 11;
    Resizing r = {.coordinates =
                      one_of(import, "coordinate_transformation_mode", upsample ? "asymmetric" : "half_pixel",
                             "half_pixel_symmetric pytorch_half_pixel align_corners asymmetric"),
                  .mode = one_of(import, "mode", "nearest", "nearest linear cubic bilinear"),
                  .nearest = one_of(import, "nearest_mode", upsample ? "floor" : "round_prefer_floor",
                                    "round_prefer_floor round_prefer_ceil floor ceil")};
    r.cubic = attribute_real(import, "cubic_coeff_a", -0.75);
    r.exclude_outside = attribute_integer(import, "exclude_outside", 0);
    r.mode = !strcmp(r.mode, "bilinear") ? "linear" : r.mode;
    if (attribute_integer(import, "antialias", 0))
        refuse_node(import, "its attribute 'antialias' is not known");
    one_of(import, "keep_aspect_ratio_policy", "stretch", "stretch");
    return r;
}

/* The size and the scale of each dimension of the result. */
static Size *resized_shape(Import *import, const Operand *x, double *scales) {
    bool old = !strcmp(import->node->kind, "Upsample") || import->model->opset < 11;
    int scale_count = 0, size_count = 0, axis_count = x->rank;
    const int64_t *axes = attribute_integers(import, "axes", &axis_count);
    double *scale = real_list(import, old ? 1 : 2, "scales", &scale_count);
    double *sizes = old ? NULL : real_list(import, 3, "sizes", &size_count);
    Size *shape = new_shape(import, x->rank);
    axis_count = axes ? axis_count : x->rank;
    for (int d = 0; d < x->rank; d++) {
        shape[d] = x->shape[d];
        scales[d] = 1;
    }
    if ((!scale && !sizes) || (scale && scale_count != axis_count) || (sizes && size_count != axis_count))
        refuse_node(import, "it has no sizes or scales for its %d dimensions", axis_count);
    for (int i = 0; i < axis_count && !import->failed; i++) {
        int d = axes ? axis_of(import, axes[i], x->rank) : i;
        bool same = sizes ? sizes[i] < 0 || size_is(x->shape[d], (int64_t)sizes[i]) : scale[i] == 1;
        double from = same ? 1 : (double)known_size(import, x->shape[d]);
        double to = same ? 1 : sizes ? sizes[i] : floor(from * scale[i]);
        if (!(to >= 1 && to <= LONGEST && from >= 1))
            refuse_node(import, "a dimension becomes %g elements", to);
        else if (!same) {
            shape[d] = size_number((int64_t)to);
            scales[d] = sizes ? to / from : scale[i];
        }
    }
    return shape;
}

/* Whether each element is repeated some times, all as often. */
static bool is_repetition(const Resizing *r) {
    bool whole = r->to % r->from == 0 && r->scale == (double)(r->to / r->from) && taps_of(r) == 1;
    int64_t place[4];
    double weight[4];
    for (int64_t i = 0; whole && i < r->to; i++) {
        taps_at(r, i, place, weight);
        whole = place[0] == i / (r->to / r->from);
    }
    return whole;
}

void print_resizing(Import *import) {
    Operand *x = input(import, 0);
    double *scales = ARENA_ARRAY(import->arena, double, x->rank + 1);
    Resizing r = resizing_of(import);
    Size *shape = resized_shape(import, x, scales);
    if (import->failed)
        return;
    const char **indices = index_names(import, x->rank), **own = index_names(import, x->rank);
    Text factors = {.arena = import->arena}, ranges = {.arena = import->arena};
    text_add(&factors, "%s", "");
    text_add(&ranges, "%s", where(import, x->rank, indices, shape, NULL));
    for (int d = 0; d < x->rank; d++) {
        const char *places, *weights;
        if (sizes_equal(shape[d], x->shape[d]) && scales[d] == 1)
            continue;
        r.from = x->shape[d].factor;
        r.to = shape[d].factor;
        r.scale = scales[d];
        if (is_repetition(&r)) {
            own[d] = format(import, "%s / %lld", indices[d], (long long)(r.to / r.from));
            continue;
        }
        make_tables(import, &r, indices[d], &places, &weights);
        own[d] = format(import, weights ? "%s(%s, r_%s)" : "%s(%s, 0)", places, indices[d], indices[d]);
        if (weights) {
            text_add(&factors, " * %s(%s, r_%s)", weights, indices[d], indices[d]);
            text_add(&ranges, ", r_%s in 0:%d", indices[d], taps_of(&r));
        }
    }
    const char *read = element(import, name_of(import, x), x->rank, own);
    Operand *result = output(import, 0, x->type, x->rank, shape);
    statement(import, "%s %s %s%s%s", element(import, result->name, x->rank, indices), factors.length ? "+=!" : "=",
              read, factors.text, ranges.text);
}
