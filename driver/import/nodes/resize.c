/* resize.c - images that become larger or smaller. For each dimension that changes there are two tables: which elements
 * are read, and their weights. So all modes are one sum of products. The tables are made here; those of a size that is
 * known at run time are computed by the program.
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

/* Numbers of an input, or of an attribute, for each dimension; *elements: an input's. NULL: none. */
static double *real_list(Import *import, int number, const char *name, int *count, const Element **elements) {
    const Attribute *old = attribute(import, name);
    Operand *x = old ? NULL : input_or_none(import, number);
    *elements = x && x->known ? contents(import, x) : NULL;
    *count = old ? old->reals.count : *elements ? (int)shape_count(import, x->shape, x->rank) : 0;
    double *list = ARENA_ARRAY(import->arena, double, *count + 1);
    for (int i = 0; i < *count; i++)
        list[i] = old ? old->reals.items[i] : value_cast((*elements)[i].value, TYPE_DOUBLE).real;
    if (x && !*elements)
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

/* A dimension of the result: its size; its scale, or 0 where that is the quotient of the sizes. */
typedef struct Resized {
    Size size;
    double scale;
} Resized;

/* A size times a number, rounded down. */
static Size scaled_size(Import *import, Size size, double scale) {
    enum { MOST_PARTS = 64 };
    if (size_known(size))
        return size_number((int64_t)floor((double)size.factor * scale));
    for (int parts = 1; parts <= MOST_PARTS; parts++) {
        double whole = scale * parts;
        if (whole != rint(whole) || whole < 1 || whole > LONGEST)
            continue;
        Size product = size_product(import, size_number((int64_t)whole), size);
        return parts == 1 ? product : size_symbol(format(import, "(%s / %d)", size_text(import, product), parts));
    }
    refuse_open_size(import, size);
    return size;
}

/* One that becomes a size, or gets a scale. */
static Resized resized_dimension(Import *import, Size from, const double *scale, const Size *size) {
    if (size && (sizes_equal(*size, from) || (size_known(*size) && size->factor < 0)))
        return (Resized){from, 1};
    Resized r = {size ? *size : scaled_size(import, from, *scale), size ? 0 : *scale};
    bool fits = r.size.factor >= 1 && (!size_known(r.size) || r.size.factor <= LONGEST);
    if (!fits || (size_known(from) && from.factor < 1))
        refuse_node(import, "a dimension becomes %s elements", size_shown(import, r.size));
    if (size && size_known(from) && size_known(r.size))
        r.scale = (double)r.size.factor / (double)from.factor;
    return r;
}

static Resized *resized_shape(Import *import, const Operand *x) {
    bool old = !strcmp(import->node->kind, "Upsample") || import->model->opset < 11;
    int scale_count = 0, size_count = 0, axis_count = x->rank;
    const int64_t *axes = attribute_integers(import, "axes", &axis_count);
    const Element *elements = NULL, *sized = NULL;
    double *scales = real_list(import, old ? 1 : 2, "scales", &scale_count, &elements);
    double *sizes = old ? NULL : real_list(import, 3, "sizes", &size_count, &sized);
    Resized *shape = ARENA_ARRAY(import->arena, Resized, x->rank + 1);
    axis_count = axes ? axis_count : x->rank;
    for (int d = 0; d < x->rank; d++)
        shape[d] = (Resized){x->shape[d], 1};
    if ((!scales && !sizes) || (scales && scale_count != axis_count) || (sizes && size_count != axis_count))
        refuse_node(import, "it has no sizes or scales for its %d dimensions", axis_count);
    for (int i = 0; i < axis_count && !import->failed; i++) {
        int d = axes ? axis_of(import, axes[i], x->rank) : i;
        if (sizes) {
            Size size = size_of_element(&sized[i]);
            shape[d] = resized_dimension(import, x->shape[d], NULL, &size);
        } else if (scales[i] != 1)
            shape[d] = resized_dimension(import, x->shape[d], &scales[i], NULL);
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

/* As often as each element is repeated; 0: it is not. */
static int64_t times_repeated(Import *import, Resizing r, Size from, const Resized *to) {
    Size times;
    if (size_known(from)) {
        r.from = from.factor;
        r.to = to->size.factor;
        r.scale = to->scale;
        return size_known(to->size) && is_repetition(&r) ? r.to / r.from : 0;
    }
    if (!size_quotient(to->size, from, &times) || !size_known(times) ||
        (to->scale && to->scale != (double)times.factor))
        return 0;
    r.from = 64; /* as with any size */
    r.to = r.from * times.factor;
    r.scale = (double)times.factor;
    return times.factor < LONGEST / r.from && is_repetition(&r) ? times.factor : 0;
}

/* --- sizes that are known at run time ----------------------------------------------------------------------------- */

/* The place in the input of element `index`, as source_of has it; of doubles. */
static const char *place_text(Import *import, const Resizing *r, const char *index, Size from, const Resized *to) {
    const char *size = format(import, "double(%s)", size_text(import, from));
    const char *all = format(import, "double(%s)", size_text(import, to->size));
    const char *scale = to->scale ? format(import, "double(%.17g)", to->scale) : format(import, "(%s / %s)", all, size);
    const char *middle = format(import, "(double(%s) + 0.5) / %s - 0.5", index, scale);
    if (!strcmp(r->coordinates, "asymmetric"))
        return to->scale ? format(import, "double(%s) / %s", index, scale)
                         : format(import, "double(%s) * %s / %s", index, size, all);
    if (!strcmp(r->coordinates, "align_corners"))
        return format(import, "%s > 1 ? double(%s) * (%s - 1) / (%s * %s - 1) : 0", size_text(import, to->size), index,
                      size, scale, size);
    if (!strcmp(r->coordinates, "pytorch_half_pixel"))
        return format(import, "%s > 1 ? %s : 0", size_text(import, to->size), middle);
    if (!strcmp(r->coordinates, "half_pixel_symmetric"))
        return format(import, "%s / 2 * (1 - %s / (%s * %s)) + %s", size, all, scale, size, middle);
    return middle;
}

static const char *nearest_text(Import *import, const Resizing *r, const char *at) {
    if (!strcmp(r->nearest, "floor"))
        return format(import, "floor(%s)", at);
    if (!strcmp(r->nearest, "ceil"))
        return format(import, "ceil(%s)", at);
    return format(import, !strcmp(r->nearest, "round_prefer_ceil") ? "floor(%s + 0.5)" : "ceil(%s - 0.5)", at);
}

/* A weight by how far an element is away. */
static const char *weight_text(Import *import, const Resizing *r, const char *away) {
    double a = r->cubic;
    return taps_of(r) == 2 ? format(import, "1 - %s", away)
                           : format(import,
                                    "%s <= 1 ? ((%.9g) * %s - (%.9g)) * %s * %s + 1 : "
                                    "(((%.9g) * %s - (%.9g)) * %s + (%.9g)) * %s - (%.9g)",
                                    away, a + 2, away, a + 3, away, away, a, away, 5 * a, away, 8 * a, away, 4 * a);
}

/* Tensors of the program in place of the tables. Returns the place of an element that is read, and *weight; NULL: there
 * is one. */
static const char *print_tables(Import *import, const Resizing *r, const Operand *result, const char *index, Size from,
                                const Resized *to, const char **weight) {
    const char *tap = format(import, "r_%s", index), *row[] = {index, tap};
    const char *ranges = format(import, " where %s in 0:%s", index, size_alone(import, to->size));
    const char *at = element(import, temporary(import, result, format(import, "at_%s", index)), 1, row);
    const char *first = element(import, temporary(import, result, format(import, "first_%s", index)), 1, row);
    int taps = taps_of(r);
    statement(import, "%s = %s%s", at, place_text(import, r, index, from, to), ranges);
    statement(import, "%s = int64(%s)%s", first,
              taps == 1 ? nearest_text(import, r, at) : format(import, "floor(%s)", at), taps == 4 ? " - 1" : "");
    *weight = NULL;
    if (taps == 1)
        return first;
    const char *away = element(import, temporary(import, result, format(import, "away_%s", index)), 2, row);
    const char *place = format(import, "%s + %s", first, tap);
    *weight = element(import, temporary(import, result, format(import, "weight_%s", index)), 2, row);
    statement(import, "%s = float(abs(%s - double(%s))) where %s in 0:%d", away, at, place, tap, taps);
    statement(import, "%s = %s", *weight, weight_text(import, r, away));
    if (r->exclude_outside) {
        const char *total = element(import, temporary(import, result, format(import, "total_%s", index)), 1, row);
        statement(import, "%s = %s >= 0 && %s < %s ? %s : 0", *weight, place, place, size_text(import, from), *weight);
        statement(import, "%s +=! %s", total, *weight);
        statement(import, "%s = %s / %s", *weight, *weight, total);
    }
    return place;
}

/* --- the sum ------------------------------------------------------------------------------------------------------ */

/* What is read along a dimension, and its factor and range in the sum. Whether it may be beyond the ends. */
static bool resize_dimension(Import *import, Resizing r, const Operand *result, int d, const Resized *to,
                             const char **own, Text *factors, Text *ranges) {
    const Operand *x = input(import, 0);
    const char *index = own[d], *places, *weights;
    int64_t times = times_repeated(import, r, x->shape[d], to);
    if (times) {
        own[d] = format(import, "%s / %lld", index, (long long)times);
        return false;
    }
    bool known = size_known(x->shape[d]) && size_known(to->size);
    if (known) {
        r.from = x->shape[d].factor;
        r.to = to->size.factor;
        r.scale = to->scale;
        make_tables(import, &r, index, &places, &weights);
        own[d] = format(import, weights ? "%s(%s, r_%s)" : "%s(%s, 0)", places, index, index);
        weights = weights ? format(import, "%s(%s, r_%s)", weights, index, index) : NULL;
    } else
        own[d] = print_tables(import, &r, result, index, x->shape[d], to, &weights);
    if (weights) {
        text_add(factors, " * %s", weights);
        text_add(ranges, ", r_%s in 0:%d", index, taps_of(&r));
    }
    return !known;
}

void print_resizing(Import *import) {
    Operand *x = input(import, 0);
    Resizing r = resizing_of(import);
    Resized *resized = resized_shape(import, x);
    if (import->failed)
        return;
    const char **indices = index_names(import, x->rank), **own = index_names(import, x->rank);
    Size *shape = new_shape(import, x->rank);
    bool open = false;
    for (int d = 0; d < x->rank; d++)
        shape[d] = resized[d].size;
    Text factors = {.arena = import->arena}, ranges = {.arena = import->arena};
    text_add(&factors, "%s", "");
    text_add(&ranges, "%s", where(import, x->rank, indices, shape, NULL));
    const char *name = name_of(import, x);
    Operand *result = output(import, 0, x->type, x->rank, shape);
    for (int d = 0; d < x->rank; d++)
        if (!sizes_equal(shape[d], x->shape[d]) || resized[d].scale != 1)
            open |= resize_dimension(import, r, result, d, &resized[d], own, &factors, &ranges);
    const char *read = element(import, name, x->rank, own);
    if (open)
        read = format(import, "(%s else edge)", read);
    statement(import, "%s %s %s%s%s", element(import, result->name, x->rank, indices), factors.length ? "+=!" : "=",
              read, factors.text, ranges.text);
}
