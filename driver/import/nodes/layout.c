/* layout.c - the same elements at other places: reshaped, transposed, cut, joined, repeated, padded. Each result is one
 * statement with computed indices.
 */
#include "driver/import/nodes/nodes.h"
#include <stdlib.h>
#include <string.h>

/* --- shapes ------------------------------------------------------------------------------------------------------- */

/* A run of dimensions with as many elements in both shapes. */
typedef struct DimensionRun {
    int from, from_end, to, to_end;
} DimensionRun;

/* Takes dimensions in until both have as many elements; all that is left where that is not known. */
static DimensionRun next_run(Import *import, const Operand *x, int from, int rank, const Size *shape, int to) {
    DimensionRun run = {from, from, to, to};
    Size a = size_number(1), b = size_number(1), rest;
    do {
        bool more_a = run.from_end < x->rank, more_b = run.to_end < rank;
        bool a_is_part = !sizes_equal(a, b) && size_quotient(b, a, &rest);
        if (more_a && (a_is_part || !more_b || sizes_equal(a, b)))
            a = size_product(import, a, x->shape[run.from_end++]);
        if (more_b && (!a_is_part || !more_a))
            b = size_product(import, b, shape[run.to_end++]);
        if (!more_a && !more_b)
            return run;
    } while (!sizes_equal(a, b) && !import->failed);
    return run;
}

/* The place of the result's element among those of the run. */
static const char *place_in_run(Import *import, const DimensionRun *run, const char *const *indices,
                                const Size *shape) {
    Text text = {.arena = import->arena};
    text_add(&text, "%s", "");
    for (int d = run->to; d < run->to_end; d++) {
        Size below = shape_product(import, shape + d + 1, run->to_end - d - 1);
        if (size_is(shape[d], 1))
            continue;
        const char *plus = text.length ? " + " : "";
        if (size_is(below, 1))
            text_add(&text, "%s%s", plus, indices[d]);
        else
            text_add(&text, size_known(below) ? "%s%s * %s" : "%s(%s) * %s", plus, size_text(import, below),
                     indices[d]);
    }
    return text.length ? text.text : "0";
}

static void run_indices(Import *import, const Operand *x, const DimensionRun *run, const char *place,
                        const char **indices) {
    for (int d = run->from; d < run->from_end; d++) {
        Size below = shape_product(import, x->shape + d + 1, run->from_end - d - 1);
        Size above = shape_product(import, x->shape + run->from, d - run->from);
        const char *at = place;
        if (size_is(x->shape[d], 1)) {
            indices[d] = "0";
            continue;
        }
        if (!size_is(below, 1))
            at =
                format(import, "%s / %s", in_parentheses(import, at), in_parentheses(import, size_text(import, below)));
        if (!size_is(above, 1))
            at = format(import, "%s %% %s", in_parentheses(import, at),
                        in_parentheses(import, size_text(import, x->shape[d])));
        indices[d] = at;
    }
}

static void print_view(Import *import, const Operand *x, int rank, const Size *shape) {
    Size from = shape_product(import, x->shape, x->rank), to = shape_product(import, shape, rank);
    if (size_known(from) && size_known(to) && from.factor != to.factor)
        refuse_node(import, "a shape of %s elements cannot become one of %s", size_shown(import, from),
                    size_shown(import, to));
    if (import->failed)
        return;
    const char **indices = index_names(import, rank), **own = ARENA_ARRAY(import->arena, const char *, x->rank + 1);
    bool *ranged = ARENA_ARRAY(import->arena, bool, rank + 1);
    DimensionRun run = {0, 0, 0, 0};
    while (run.from_end < x->rank || run.to_end < rank) {
        run = next_run(import, x, run.from_end, rank, shape, run.to_end);
        run_indices(import, x, &run, place_in_run(import, &run, indices, shape), own);
        bool alone = run.from_end - run.from == 1 && run.to_end - run.to == 1 && !size_is(shape[run.to], 1);
        for (int d = run.to; d < run.to_end; d++)
            ranged[d] = !alone;
    }
    const char *read = read_at(import, x, own), *ranges = where(import, rank, indices, shape, ranged);
    const char *name = output(import, 0, x->type, rank, shape)->name;
    statement(import, "%s = %s%s", element(import, name, rank, indices),
              x->known && x->type != TYPE_FLOAT ? converted(import, x->type, read) : read, ranges);
}

/* The contents of a tensor of the file stay where they are. */
static void view(Import *import, Operand *x, int rank, const Size *shape) {
    if (!x->known || !sizes_equal(shape_product(import, x->shape, x->rank), shape_product(import, shape, rank))) {
        print_view(import, x, rank, shape);
        return;
    }
    Operand *result = known_output(import, 0, x->type, rank, shape, x->elements);
    result->tensor = x->tensor;
}

/* The size that -1 stands for. */
static Size left_over(Import *import, const Operand *x, int rank, const Size *shape, int hole) {
    Size all = shape_product(import, x->shape, x->rank), known = size_number(1), rest;
    for (int d = 0; d < rank; d++)
        if (d != hole)
            known = size_product(import, known, shape[d]);
    if (size_quotient(all, known, &rest))
        return rest;
    if (size_known(all) && size_known(known)) {
        refuse_node(import, "%s elements cannot be divided by %s", size_shown(import, all), size_shown(import, known));
        return size_number(1);
    }
    return size_symbol(format(import, "(%s / (%s))", size_text(import, all), size_text(import, known)));
}

void print_reshaping(Import *import) {
    Operand *x = input(import, 0);
    int rank, hole = -1;
    const int64_t *old = attribute_integers(import, "shape", &rank);
    const Element *wanted = old ? NULL : integers(import, 1, "the new shape", &rank);
    Size *shape = new_shape(import, rank);
    for (int d = 0; d < rank; d++) {
        shape[d] = old ? size_number(old[d]) : size_of_element(&wanted[d]);
        if (size_is(shape[d], 0) && !attribute_integer(import, "allowzero", 0) && d < x->rank)
            shape[d] = x->shape[d];
        if (size_is(shape[d], -1) && hole < 0)
            hole = d;
        else if (size_known(shape[d]) && shape[d].factor < 0)
            refuse_node(import, "the new shape has the size %lld", (long long)shape[d].factor);
    }
    if (import->failed)
        return;
    if (hole >= 0)
        shape[hole] = left_over(import, x, rank, shape, hole);
    view(import, x, rank, shape);
}

void print_flattening(Import *import) {
    Operand *x = input(import, 0);
    int64_t axis = attribute_integer(import, "axis", 1);
    int first = axis == x->rank ? x->rank : axis_of(import, axis, x->rank);
    Size shape[] = {shape_product(import, x->shape, first), shape_product(import, x->shape + first, x->rank - first)};
    view(import, x, 2, shape);
}

static void squeeze(Import *import, Operand *x) {
    bool *axes = ARENA_ARRAY(import->arena, bool, x->rank + 1), given = axes_given(import, 1, x->rank, axes);
    Size *shape = new_shape(import, x->rank);
    int rank = 0;
    for (int d = 0; d < x->rank; d++) {
        bool goes = given ? axes[d] : size_is(x->shape[d], 1);
        if (goes && !size_is(x->shape[d], 1))
            refuse_node(import, "a dimension of %s elements cannot be left out", size_shown(import, x->shape[d]));
        if (!goes)
            shape[rank++] = x->shape[d];
    }
    view(import, x, rank, shape);
}

static void unsqueeze(Import *import, Operand *x) {
    int count = 0, own = 0;
    if (!attribute_integers(import, "axes", &count))
        known_integers(import, 1, "the list of axes", &count);
    int rank = x->rank + count;
    bool *axes = ARENA_ARRAY(import->arena, bool, rank + 1);
    axes_given(import, 1, rank, axes);
    Size *shape = new_shape(import, rank);
    for (int d = 0; d < rank; d++) {
        if (!axes[d] && own == x->rank) {
            refuse_node(import, "an axis is given twice");
            return;
        }
        shape[d] = axes[d] ? size_number(1) : x->shape[own++];
    }
    view(import, x, rank, shape);
}

void print_squeezing(Import *import) {
    Operand *x = input(import, 0);
    if (*import->node->kind == 'U')
        unsqueeze(import, x);
    else
        squeeze(import, x);
}

/* --- transposed --------------------------------------------------------------------------------------------------- */

void print_transposition(Import *import) {
    Operand *x = input(import, 0);
    int count;
    const int64_t *perm = attribute_integers(import, "perm", &count);
    const char **indices = index_names(import, x->rank), **own = ARENA_ARRAY(import->arena, const char *, x->rank + 1);
    Size *shape = new_shape(import, x->rank);
    if (perm && count != x->rank)
        refuse_node(import, "its attribute 'perm' has %d numbers for %d dimensions", count, x->rank);
    for (int d = 0; d < x->rank && !import->failed; d++) {
        int from = perm ? axis_of(import, perm[d], x->rank) : x->rank - 1 - d;
        if (own[from])
            refuse_node(import, "its attribute 'perm' has the number %d twice", from);
        shape[d] = x->shape[from];
        own[from] = indices[d];
    }
    if (import->failed)
        return;
    const char *name = name_of(import, x);
    statement(import, "%s = %s", element(import, output(import, 0, x->type, x->rank, shape)->name, x->rank, indices),
              element(import, name, x->rank, own));
}

/* --- joined and cut ----------------------------------------------------------------------------------------------- */

static const char *moved(Import *import, const char *index, Size by, char sign) {
    return size_is(by, 0) ? index
                          : format(import, "%s %c %s", index, sign, in_parentheses(import, size_text(import, by)));
}

void print_concatenation(Import *import) {
    Operand *first = input(import, 0);
    int count = import->node->inputs.count, axis = axis_of(import, attribute_integer(import, "axis", 0), first->rank);
    const char **indices = index_names(import, first->rank), **own = index_names(import, first->rank);
    Size *shape = new_shape(import, first->rank), end = size_number(0);
    Text value = {.arena = import->arena};
    for (int i = 0; i < count && !import->failed; i++) {
        Operand *x = input(import, i);
        if (x->rank != first->rank || !first->rank) {
            refuse_node(import, "its inputs have %d and %d dimensions", first->rank, x->rank);
            return;
        }
        own[axis] = moved(import, indices[axis], end, '-');
        end = size_add(import, end, x->shape[axis]);
        const char *read = element(import, name_of(import, x), x->rank, own);
        if (i + 1 < count)
            text_add(&value, "%s < %s ? %s : ", indices[axis], size_text(import, end), read);
        else
            text_add(&value, "%s", read);
    }
    for (int d = 0; d < first->rank; d++)
        shape[d] = d == axis ? end : first->shape[d];
    bool *ranged = ARENA_ARRAY(import->arena, bool, first->rank + 1);
    ranged[axis] = true;
    const char *name = output(import, 0, first->type, first->rank, shape)->name;
    statement(import, "%s = %s%s", element(import, name, first->rank, indices), value.text,
              where(import, first->rank, indices, shape, ranged));
}

void print_split(Import *import) {
    Operand *x = input(import, 0);
    int axis = axis_of(import, attribute_integer(import, "axis", 0), x->rank), outputs = import->node->outputs.count;
    if (!x->rank)
        refuse_node(import, "a number has no axis");
    Size *parts = import->failed ? NULL : split_sizes(import, x->shape[axis]), begin = size_number(0);
    const char **indices = index_names(import, x->rank), **own = index_names(import, x->rank);
    bool *ranged = ARENA_ARRAY(import->arena, bool, x->rank + 1);
    ranged[axis] = true;
    for (int i = 0; parts && i < outputs && !import->failed; i++) {
        Size *shape = new_shape(import, x->rank);
        memcpy(shape, x->shape, sizeof *shape * (size_t)x->rank);
        shape[axis] = parts[i];
        own[axis] = moved(import, indices[axis], begin, '+');
        begin = size_add(import, begin, parts[i]);
        const char *read = element(import, name_of(import, x), x->rank, own);
        if (has_output(import, i))
            statement(import, "%s = %s%s",
                      element(import, output(import, i, x->type, x->rank, shape)->name, x->rank, indices), read,
                      where(import, x->rank, indices, shape, ranged));
    }
}

/* --- slices ------------------------------------------------------------------------------------------------------- */

typedef struct Cut {
    Size begin, extent;
    int64_t step;
} Cut;

static int64_t clamped(int64_t value, int64_t low, int64_t high) {
    return value < low ? low : value > high ? high : value;
}

static Cut cut_known(int64_t size, int64_t begin, int64_t end, int64_t step) {
    begin = begin < 0 ? begin + size : begin;
    end = end < 0 ? end + size : end;
    begin = step > 0 ? clamped(begin, 0, size) : clamped(begin, 0, size - 1);
    end = step > 0 ? clamped(end, 0, size) : clamped(end, -1, size - 1);
    int64_t distance = step > 0 ? end - begin : begin - end, by = step > 0 ? step : -step;
    return (Cut){size_number(begin), size_number(distance > 0 ? (distance - 1) / by + 1 : 0), step};
}

/* A place that counts from the end where it is below 0. */
static Size from_begin_of(Import *import, Size place, Size size) {
    return place.factor < 0 ? size_add(import, size, place) : place;
}

/* Where the size or an end is known at run time. Steps go forward; or backward over all of it. */
static Cut cut_symbolic(Import *import, Size size, Size begin, Size end, int64_t step) {
    bool to_end = size_known(end) && end.factor >= INT32_MAX;
    bool from_end = size_known(begin) && (begin.factor == -1 || begin.factor >= INT32_MAX);
    if (step == -1 && from_end && size_known(end) && end.factor <= -INT32_MAX)
        return (Cut){size_sum(import, size, -1), size, -1};
    bool may_end_before = !size_known(size) && size_known(end) && !to_end && end.factor >= 0;
    if (step < 1 || (may_end_before && (begin.factor < 0 || !size_known(begin)))) {
        refuse_open_size(import, !size_known(size) ? size : !size_known(begin) ? begin : end);
        return (Cut){size_number(0), size, 1};
    }
    begin = from_begin_of(import, begin, size);
    end = to_end ? size : from_begin_of(import, end, size);
    if (size_known(size) && size_known(end) && end.factor > size.factor)
        end = size;
    return (Cut){begin, size_steps(import, size_subtract(import, end, begin), step), step};
}

static Cut cut_of(Import *import, Size size, const Element *begin, const Element *end, int64_t step) {
    Size from = size_of_element(begin), to = size_of_element(end);
    if (!step || step == INT64_MIN)
        refuse_node(import, "its step is %lld", (long long)step);
    if (size_known(size) && size_known(from) && size_known(to) && step)
        return cut_known(size.factor, clamped(from.factor, -INT64_MAX / 2, INT64_MAX / 2),
                         clamped(to.factor, -INT64_MAX / 2, INT64_MAX / 2), step);
    return cut_symbolic(import, size, from, to, step);
}

static const Element *slice_list(Import *import, int number, const char *name, int *count) {
    const int64_t *old = attribute_integers(import, name, count);
    if (!old)
        return input_or_none(import, number) ? integers(import, number, format(import, "the list of %s", name), count)
                                             : NULL;
    Element *elements = ARENA_ARRAY(import->arena, Element, *count + 1);
    for (int i = 0; i < *count; i++)
        elements[i].value = (Value){.type = TYPE_INT64, .integer = old[i]};
    return elements;
}

/* What a slice takes of each dimension. False after a message. */
static bool cuts_of(Import *import, const Operand *x, Cut *cuts) {
    int count = 0, end_count = 0, axis_count = 0, step_count = 0;
    const Element *begins = slice_list(import, 1, "starts", &count), *ends = slice_list(import, 2, "ends", &end_count);
    const Element *axes = slice_list(import, 3, "axes", &axis_count),
                  *steps = slice_list(import, 4, "steps", &step_count);
    if (count != end_count || (axes && axis_count != count) || (steps && step_count != count) || count > x->rank)
        refuse_node(import, "its lists have different lengths");
    for (int d = 0; d < x->rank; d++)
        cuts[d] = (Cut){size_number(0), x->shape[d], 1};
    for (int i = 0; i < count && !import->failed; i++) {
        if ((axes && axes[i].symbol) || (steps && steps[i].symbol))
            refuse_node(import, "its axes and steps are not known before the program runs");
        int axis = axis_of(import, axes ? axes[i].value.integer : i, x->rank);
        cuts[axis] = cut_of(import, x->shape[axis], &begins[i], &ends[i], steps ? steps[i].value.integer : 1);
    }
    return !import->failed;
}

void print_slice(Import *import) {
    Operand *x = input(import, 0);
    Cut *cuts = ARENA_ARRAY(import->arena, Cut, x->rank + 1);
    if (!cuts_of(import, x, cuts))
        return;
    const char **indices = index_names(import, x->rank), **own = index_names(import, x->rank);
    Size *shape = new_shape(import, x->rank);
    bool *ranged = ARENA_ARRAY(import->arena, bool, x->rank + 1);
    for (int d = 0; d < x->rank; d++) {
        shape[d] = cuts[d].extent;
        ranged[d] = !sizes_equal(shape[d], x->shape[d]) || cuts[d].step != 1;
        if (cuts[d].step == -1)
            own[d] = format(import, "%s - %s", size_text(import, cuts[d].begin), indices[d]);
        else if (cuts[d].step != 1)
            own[d] =
                format(import, "%s + %lld * %s", size_text(import, cuts[d].begin), (long long)cuts[d].step, indices[d]);
        else
            own[d] = moved(import, indices[d], cuts[d].begin, '+');
    }
    const char *read = element(import, name_of(import, x), x->rank, own);
    statement(import, "%s = %s%s", element(import, output(import, 0, x->type, x->rank, shape)->name, x->rank, indices),
              read, where(import, x->rank, indices, shape, ranged));
}

/* --- repeated ----------------------------------------------------------------------------------------------------- */

void print_expansion(Import *import) {
    Operand *x = input(import, 0), wanted = {0};
    int count, rank = x->rank;
    const Element *elements = integers(import, 1, "the new shape", &count);
    Size *shape = new_shape(import, rank);
    memcpy(shape, x->shape, sizeof *shape * (size_t)rank);
    wanted.rank = count;
    wanted.shape = new_shape(import, count);
    for (int d = 0; d < count; d++) {
        wanted.shape[d] = size_of_element(&elements[d]);
        if (size_known(wanted.shape[d]) && wanted.shape[d].factor < 0)
            refuse_node(import, "the new shape has the size %lld", (long long)wanted.shape[d].factor);
    }
    broadcast(import, &wanted, &rank, &shape);
    if (import->failed)
        return;
    const char *read = read_broadcast(import, x, rank, shape, index_names(import, rank));
    print_elements(import, 0, x->type, rank, shape, x->type == TYPE_FLOAT ? read : converted(import, x->type, read));
}

void print_tiling(Import *import) {
    Operand *x = input(import, 0);
    int count;
    const Element *times = integers(import, 1, "how often it is repeated", &count);
    if (count != x->rank)
        refuse_node(import, "it has %d numbers for %d dimensions", count, x->rank);
    if (import->failed)
        return;
    const char **indices = index_names(import, x->rank), **own = index_names(import, x->rank);
    Size *shape = new_shape(import, x->rank);
    for (int d = 0; d < x->rank; d++) {
        Size by = size_of_element(&times[d]);
        if (size_known(by) && by.factor < 0)
            refuse_node(import, "it is repeated %lld times", (long long)by.factor);
        shape[d] = size_product(import, x->shape[d], by);
        if (!size_is(by, 1))
            own[d] = format(import, "%s %% %s", indices[d], in_parentheses(import, size_text(import, x->shape[d])));
    }
    const char *read = element(import, name_of(import, x), x->rank, own);
    statement(import, "%s = %s%s", element(import, output(import, 0, x->type, x->rank, shape)->name, x->rank, indices),
              read, where(import, x->rank, indices, shape, NULL));
}

/* --- padded ------------------------------------------------------------------------------------------------------- */

/* What is read outside of the tensor, or NULL after a message. */
static const char *padding_value(Import *import, const Operand *x) {
    static const char *const modes[][2] = {{"edge", "edge"}, {"reflect", "reflect"}, {"wrap", "wrap"}};
    const char *mode = attribute_text(import, "mode", "constant");
    Operand *value = input_or_none(import, 2);
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if (!strcmp(mode, modes[i][0]))
            return modes[i][1];
    if (strcmp(mode, "constant"))
        refuse_node(import, "the mode '%s' is not known", mode);
    bool known = value && value->known && contents(import, value);
    if (value && !known)
        refuse_node(import, "the value outside, '%s', is not known before the program runs", value->onnx);
    Value number = {.type = TYPE_DOUBLE, .real = attribute_real(import, "value", 0)};
    number = value_cast(known ? contents(import, value)->value : number, x->type);
    const char *text = number_text(import, number);
    return type_is_float(x->type) && x->type != TYPE_FLOAT ? converted(import, x->type, text) : text;
}

void print_padding(Import *import) {
    Operand *x = input(import, 0);
    int count, axis_count = x->rank;
    const int64_t *old = attribute_integers(import, attribute(import, "paddings") ? "paddings" : "pads", &count);
    const Element *pads = old ? NULL : integers(import, 1, "how much is added", &count);
    const Element *axes = input_or_none(import, 3) ? known_integers(import, 3, "the list of axes", &axis_count) : NULL;
    const char *value = padding_value(import, x);
    if (count != 2 * axis_count)
        refuse_node(import, "it has %d numbers for %d dimensions", count, axis_count);
    const char **indices = index_names(import, x->rank), **own = index_names(import, x->rank);
    Size *shape = new_shape(import, x->rank);
    memcpy(shape, x->shape, sizeof *shape * (size_t)x->rank);
    bool outside = false;
    for (int i = 0; i < axis_count && !import->failed; i++) {
        int d = axes ? axis_of(import, axes[i].value.integer, x->rank) : i;
        Size before = old ? size_number(old[i]) : size_of_element(&pads[i]);
        Size after = old ? size_number(old[i + axis_count]) : size_of_element(&pads[i + axis_count]);
        if (before.factor < -INT32_MAX || before.factor > INT32_MAX || after.factor < -INT32_MAX ||
            after.factor > INT32_MAX)
            refuse_node(import, "it adds %s and %s elements", size_shown(import, before), size_shown(import, after));
        shape[d] = size_add(import, x->shape[d], size_add(import, before, after));
        own[d] = before.factor < 0 ? moved(import, indices[d], size_subtract(import, size_number(0), before), '+')
                                   : moved(import, indices[d], before, '-');
        outside = outside || before.factor > 0 || after.factor > 0;
    }
    if (import->failed)
        return;
    const char *read = element(import, name_of(import, x), x->rank, own);
    statement(import, "%s = %s%s%s%s",
              element(import, output(import, 0, x->type, x->rank, shape)->name, x->rank, indices), read,
              outside ? " else " : "", outside ? value : "", where(import, x->rank, indices, shape, NULL));
}

/* The middle of the tensor, or the tensor in the middle of zeros. */
void print_centre(Import *import) {
    Operand *x = input(import, 0);
    int count, given = 0;
    const Element *wanted = integers(import, 1, "the shape", &count);
    const int64_t *axes = attribute_integers(import, "axes", &given);
    if (count != (axes ? given : x->rank))
        refuse_node(import, "it has %d sizes for %d dimensions", count, axes ? given : x->rank);
    if (import->failed)
        return;
    const char **indices = index_names(import, x->rank), **own = index_names(import, x->rank);
    Size *shape = new_shape(import, x->rank);
    memcpy(shape, x->shape, sizeof *shape * (size_t)x->rank);
    for (int k = 0; k < count; k++) {
        int d = axis_of(import, axes ? axes[k] : k, x->rank);
        int64_t from = known_size(import, x->shape[d]), to = known_size(import, size_of_element(&wanted[k]));
        shape[d] = size_number(to);
        int64_t before = from > to ? (from - to) / 2 : -((to - from) / 2);
        if (before)
            own[d] = moved(import, indices[d], size_number(llabs(before)), before < 0 ? '-' : '+');
    }
    const char *read = element(import, name_of(import, x), x->rank, own);
    statement(import, "%s = (%s else %s)%s",
              element(import, output(import, 0, x->type, x->rank, shape)->name, x->rank, indices), read,
              nothing_of(x->type), where(import, x->rank, indices, shape, NULL));
}

/* --- blocks of pixels --------------------------------------------------------------------------------------------- */

static int64_t block_of(Import *import, const Operand *x) {
    int64_t block = attribute_integer(import, "blocksize", 0);
    if (x->rank != 4 || block < 1 || block > INT16_MAX)
        refuse_node(import, "images of %d dimensions, or blocks of %lld, are not known", x->rank, (long long)block);
    return import->failed ? 0 : block;
}

void print_depth_to_space(Import *import) {
    Operand *x = input(import, 0);
    long long b = block_of(import, x), channels = b ? known_size(import, x->shape[1]) : 0;
    const char *mode = attribute_text(import, "mode", "DCR");
    bool columns_first = !strcmp(mode, "CRD");
    if (b && channels % (b * b))
        refuse_node(import, "%lld channels are no blocks of %lld", channels, b);
    if (!columns_first && strcmp(mode, "DCR"))
        refuse_node(import, "the mode '%s' is not known", mode);
    if (import->failed)
        return;
    Size shape[] = {x->shape[0], size_number(channels / (b * b)), size_product(import, x->shape[2], size_number(b)),
                    size_product(import, x->shape[3], size_number(b))};
    const char *place = format(import, "%lld * (h %% %lld) + w %% %lld", b, b, b);
    const char *channel = columns_first ? format(import, "%lld * c + %s", b * b, place)
                                        : format(import, "%lld * (%s) + c", channels / (b * b), place);
    const char *own[] = {"n", channel, format(import, "h / %lld", b), format(import, "w / %lld", b)};
    const char *read = element(import, name_of(import, x), 4, own), **indices = index_names(import, 4);
    statement(import, "%s = %s%s", element(import, output(import, 0, x->type, 4, shape)->name, 4, indices), read,
              where(import, 4, indices, shape, NULL));
}

void print_space_to_depth(Import *import) {
    Operand *x = input(import, 0);
    long long b = block_of(import, x), channels = b ? known_size(import, x->shape[1]) : 0;
    long long rows = b ? known_size(import, x->shape[2]) : 0, columns = b ? known_size(import, x->shape[3]) : 0;
    if (b && (rows % b || columns % b || channels < 1))
        refuse_node(import, "an image of %lld by %lld is no blocks of %lld", rows, columns, b);
    if (import->failed)
        return;
    Size shape[] = {x->shape[0], size_product(import, x->shape[1], size_number(b * b)), size_number(rows / b),
                    size_number(columns / b)};
    bool columns_first = !strcmp(attribute_text(import, "mode", "DCR"), "CRD");
    const char *place = columns_first ? format(import, "c %% %lld", b * b) : format(import, "c / %lld", channels);
    const char *channel = columns_first ? format(import, "c / %lld", b * b) : format(import, "c %% %lld", channels);
    const char *own[] = {"n", channel, format(import, "%lld * h + %s / %lld", b, place, b),
                         format(import, "%lld * w + %s %% %lld", b, place, b)};
    const char *read = element(import, name_of(import, x), 4, own), **indices = index_names(import, 4);
    statement(import, "%s = %s%s", element(import, output(import, 0, x->type, 4, shape)->name, 4, indices), read,
              where(import, 4, indices, shape, NULL));
}

/* --- parts of matrices -------------------------------------------------------------------------------------------- */

void print_triangle(Import *import) {
    Operand *x = input(import, 0);
    int count = 0;
    const Element *k = input_or_none(import, 1) ? integers(import, 1, "the diagonal", &count) : NULL;
    Size diagonal = k && count ? size_of_element(&k[0]) : size_number(0);
    bool upper = attribute_integer(import, "upper", 1);
    if (x->rank < 2)
        refuse_node(import, "a tensor of %d dimensions has no triangle", x->rank);
    if (import->failed)
        return;
    const char **indices = index_names(import, x->rank), *i = indices[x->rank - 2], *j = indices[x->rank - 1];
    const char *condition = format(import, "%s %s %s + %s", j, upper ? ">=" : "<=", i, size_text(import, diagonal));
    const char *read = element(import, name_of(import, x), x->rank, indices);
    print_elements(import, 0, x->type, x->rank, x->shape,
                   converted(import, x->type, format(import, "%s ? %s : 0", condition, read)));
}

void print_eye(Import *import) {
    Operand *x = input(import, 0);
    ElementType type = x->type;
    int64_t asked = attribute_integer(import, "dtype", 0);
    if (asked && !onnx_type((int)asked, &type))
        refuse_node(import, "the type %s is not known here", onnx_type_name((int)asked));
    if (x->rank != 2)
        refuse_node(import, "a tensor of %d dimensions has no diagonal", x->rank);
    if (import->failed)
        return;
    const char *ranges = where(import, 2, index_names(import, 2), x->shape, NULL);
    const char *condition = format(import, "j == i + %lld ? 1 : 0", (long long)attribute_integer(import, "k", 0));
    statement(import, "%s(i, j) = %s%s", output(import, 0, type, 2, x->shape)->name, converted(import, type, condition),
              ranges);
}
