/* samples.c - GridSample: elements of an image at places that are read from memory. For each dimension there are the
 * place, the first element that is read, and weights of the elements from there on; the result is a sum of products.
 * And AffineGrid, which makes such places.
 */
#include "driver/import/nodes/nodes.h"
#include <string.h>

typedef enum SampleMode { SAMPLE_NEAREST, SAMPLE_LINEAR, SAMPLE_CUBIC } SampleMode;
typedef enum SampleEnds { ENDS_ZERO, ENDS_BORDER, ENDS_REFLECTED } SampleEnds;

/* Elements that are read in each dimension, and how many of them stand before the place, less one. */
static const struct SampleTaps {
    int count, before;
} sample_taps[] = {[SAMPLE_NEAREST] = {1, 0}, [SAMPLE_LINEAR] = {2, 0}, [SAMPLE_CUBIC] = {4, 1}};

typedef struct Sample {
    Operand *x, *grid, *result;
    SampleMode mode;
    SampleEnds ends;
    bool corners;         /* -1 and 1 are the centres of the first and the last element, not their outer ends */
    const char **indices; /* of the result */
    const char **at;      /* those of the tensors made for each dimension: without the channel */
    int rank;             /* dimensions of the image */
} Sample;

static int word_of(Import *import, const char *name, const char *otherwise, const char *const *words, int count) {
    const char *word = attribute_text(import, name, otherwise);
    for (int i = 0; i < count; i++)
        if (!strcmp(words[i], word))
            return i;
    refuse_node(import, "its attribute '%s' is '%s', which is not known", name, word);
    return 0;
}

/* A tensor of the node for one dimension of the image. */
static const char *made(Import *import, const Sample *s, const char *what, int dimension) {
    return temporary(import, s->result, format(import, "%s_%s", what, s->indices[2 + dimension]));
}

/* A place beyond the ends goes back from them: to and fro between two ends that are `range` apart. */
static const char *reflected(Import *import, const Sample *s, const char *place, const char *size) {
    const char *first = s->corners ? "" : " + 0.5", *range = s->corners ? format(import, "(%s - 1)", size) : size;
    const char *there = format(import, "%s - abs(abs(%s%s) %% (2 * %s) - %s)%s", range, place, first, range, range,
                               s->corners ? "" : " - 0.5");
    return s->corners ? format(import, "%s > 1 ? %s : 0", size, there) : there;
}

/* Where along a dimension, in elements. Returns an element of the tensor. */
static const char *print_place(Import *import, const Sample *s, int d) {
    const char *type = element_info[s->grid->type].spelling, *place = made(import, s, "at", d);
    const char *size = format(import, "%s(%s)", type, size_text(import, s->x->shape[2 + d]));
    const char **row = ARENA_ARRAY(import->arena, const char *, s->grid->rank);
    memcpy(row, s->at, sizeof *row * (size_t)(s->rank + 1));
    row[s->rank + 1] = format(import, "%d", s->rank - 1 - d);
    const char *own = element(import, place, s->rank + 1, s->at);
    const char *given = element(import, name_of(import, s->grid), s->grid->rank, row);
    statement(import, s->corners ? "%s = (%s + 1) / 2 * (%s - 1)" : "%s = ((%s + 1) * %s - 1) / 2", own, given, size);
    if (s->mode == SAMPLE_CUBIC) /* each element that it reads goes back from the ends instead, as onnxruntime has it */
        return own;
    if (s->ends == ENDS_BORDER)
        statement(import, "%s = max(min(%s, %s - 1), 0)", own, own, size);
    if (s->ends == ENDS_REFLECTED)
        statement(import, "%s = %s", own, reflected(import, s, own, size));
    return own;
}

/* Weights of the elements that are read. Returns an element of the tensor, whose last index is `tap`. */
static const char *print_weights(Import *import, const Sample *s, int d, const char *place, const char *first,
                                 const char *tap) {
    const char **row = ARENA_ARRAY(import->arena, const char *, s->rank + 2);
    memcpy(row, s->at, sizeof *row * (size_t)(s->rank + 1));
    row[s->rank + 1] = tap;
    const char *type = element_info[s->grid->type].spelling;
    const char *weight = element(import, made(import, s, "weight", d), s->rank + 2, row);
    const char *away = format(import, "abs(%s - %s(%s + %s))", place, type, first, tap);
    const char *ranges = format(import, " where %s in 0:%d", tap, sample_taps[s->mode].count);
    if (s->mode == SAMPLE_LINEAR) {
        statement(import, "%s = 1 - %s%s", weight, away, ranges);
        return weight;
    }
    const char *distance = element(import, made(import, s, "away", d), s->rank + 2, row);
    statement(import, "%s = %s%s", distance, away, ranges);
    statement(import, "%s = %s <= 1 ? (1.25 * %s - 2.25) * %s * %s + 1 : ((3.75 - 0.75 * %s) * %s - 6) * %s + 3",
              weight, distance, distance, distance, distance, distance, distance, distance);
    return weight;
}

/* Elements beyond the ends, which those around a place between them may be: what stands behind `else`. */
static const char *read_beyond(Import *import, const Sample *s, const char **place) {
    bool mirrored = s->ends == ENDS_REFLECTED && s->mode == SAMPLE_CUBIC;
    for (int d = 0; d < s->rank && mirrored && !s->corners; d++) {
        const char *size = size_text(import, s->x->shape[2 + d]);
        const char *twice = size_text(import, size_product(import, size_number(2), s->x->shape[2 + d]));
        const char *index = format(import, "(%s) %% (%s)", place[2 + d], twice);
        place[2 + d] = format(import, "%s < %s ? %s : %s - 1 - %s", index, size, index, twice, index);
    }
    if (s->ends == ENDS_ZERO)
        return nothing_of(s->x->type);
    return mirrored && s->corners ? "reflect" : "edge";
}

static void print_samples(Import *import, const Sample *s) {
    const struct SampleTaps *taps = &sample_taps[s->mode];
    const char *type = element_info[s->grid->type].spelling, *product = "", **place;
    place = ARENA_ARRAY(import->arena, const char *, s->x->rank + 1);
    memcpy(place, s->indices, sizeof *place * 2);
    for (int d = 0; d < s->rank; d++) {
        const char *at = print_place(import, s, d), *tap = format(import, "r_%s", s->indices[2 + d]);
        const char *first = element(import, made(import, s, "first", d), s->rank + 1, s->at);
        statement(import, "%s = int64(%s(%s))%s", first, taps->count == 1 ? "rint" : "floor", at,
                  taps->before ? format(import, " - %d", taps->before) : "");
        place[2 + d] = taps->count == 1 ? first : format(import, "%s + %s", first, tap);
        if (taps->count > 1)
            product = format(import, "%s%s * ", product, print_weights(import, s, d, at, first, tap));
    }
    const char *beyond = read_beyond(import, s, place);
    const char *read =
        format(import, "(%s else %s)", element(import, name_of(import, s->x), s->x->rank, place), beyond);
    const char *ranges = where(import, 2, s->indices, s->result->shape, NULL);
    const char *result = element(import, s->result->name, s->x->rank, s->indices);
    if (taps->count == 1)
        statement(import, "%s = %s%s", result, read, ranges);
    else if (s->x->type == s->grid->type)
        statement(import, "%s +=! %s%s%s", result, product, read, ranges);
    else {
        const char *sum = element(import, temporary(import, s->result, "sum"), s->x->rank, s->indices);
        statement(import, "%s +=! %s%s(%s)%s", sum, product, type, read, ranges);
        statement(import, "%s = %s", result, converted(import, s->x->type, sum));
    }
}

void print_grid_sample(Import *import) {
    static const char *const modes[] = {"nearest", "linear", "cubic", "nearest", "bilinear", "bicubic"};
    static const char *const paddings[] = {"zeros", "border", "reflection"};
    Operand *x = input(import, 0), *grid = input(import, 1);
    Sample s = {.x = x, .grid = grid, .rank = x->rank - 2, .corners = attribute_integer(import, "align_corners", 0)};
    s.mode = (SampleMode)(word_of(import, "mode", "linear", modes, 6) % 3);
    s.ends = (SampleEnds)word_of(import, "padding_mode", "zeros", paddings, 3);
    if (s.rank < 1 || grid->rank != x->rank || !type_is_float(grid->type) ||
        known_size(import, grid->shape[grid->rank - 1]) != s.rank)
        refuse_node(import, "its places do not fit an image of %d dimensions", x->rank);
    if (import->failed)
        return;
    Size *shape = new_shape(import, x->rank);
    for (int d = 0; d < x->rank; d++)
        shape[d] = d < 2 ? x->shape[d] : grid->shape[d - 1];
    s.result = output(import, 0, x->type, x->rank, shape);
    s.indices = index_names(import, x->rank);
    s.at = ARENA_ARRAY(import->arena, const char *, x->rank);
    for (int d = 0; d < x->rank; d++)
        if (d != 1)
            s.at[d ? d - 1 : 0] = s.indices[d];
    print_samples(import, &s);
}

/* --- places of an affine map ------------------------------------------------------------------------------------- */

/* From -1 to 1, which are the centres of the outer elements, or their ends. */
static const char *place_between(Import *import, const char *index, Size size, bool corners) {
    const char *all = size_text(import, size);
    if (!corners)
        return format(import, "(float(2 * %s + 1) / float(%s) - 1)", index, all);
    return format(import, "(float(2 * %s) / float(max(%s - 1, 1)) - 1)", index, all);
}

/* The matrices of a batch times the places of elements: (N, 2, 3) for images, (N, 3, 4) for volumes. */
void print_affine_grid(Import *import) {
    Operand *matrices = input(import, 0);
    int count;
    const Element *sizes = integers(import, 1, "the shape", &count);
    int64_t dimensions = matrices->rank == 3 ? known_size(import, matrices->shape[1]) : 0;
    if (dimensions < 2 || dimensions > 3 || count != dimensions + 2 || !size_is(matrices->shape[2], dimensions + 1))
        refuse_node(import, "its matrices do not fit %d sizes", count);
    if (import->failed)
        return;
    int rank = (int)dimensions + 2;
    bool corners = attribute_integer(import, "align_corners", 0);
    Size *shape = new_shape(import, rank);
    const char **indices = index_names(import, rank), *element_of[] = {indices[0], indices[rank - 1], NULL},
               *sum = NULL;
    for (int d = 0; d < rank; d++) {
        const Element *size = &sizes[d > 0 && d < rank - 1 ? d + 1 : 0];
        shape[d] = d == rank - 1 ? size_number(dimensions) : size_of_element(size);
    }
    for (int d = 0; d <= dimensions; d++) {
        element_of[2] = format(import, "%d", d);
        const char *factor = read_at(import, matrices, element_of), *at = indices[dimensions - d];
        const char *term = d == dimensions ? factor
                                           : format(import, "%s * %s", factor,
                                                    place_between(import, at, shape[dimensions - d], corners));
        sum = sum ? format(import, "%s + %s", sum, term) : term;
    }
    if (matrices->type != TYPE_FLOAT)
        sum = converted(import, matrices->type, sum);
    const char *result = output(import, 0, matrices->type, rank, shape)->name;
    statement(import, "%s = %s%s", element(import, result, rank, indices), sum,
              where(import, rank, indices, shape, NULL));
}
