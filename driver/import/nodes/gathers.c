/* gathers.c - elements at indices that are read from memory. An index below 0 counts from the end. */
#include "driver/import/nodes/nodes.h"
#include <string.h>

const char *from_begin(Import *import, const char *index, Size size) {
    const char *end = index + strcspn(index, "(");
    if (!*end && *index >= '0' && *index <= '9')
        return index;
    return format(import, "%s < 0 ? %s + %s : %s", index, index, size_text(import, size), index);
}

void print_gather(Import *import) {
    Operand *x = input(import, 0), *at = input(import, 1);
    int axis = axis_of(import, attribute_integer(import, "axis", 0), x->rank), rank = x->rank + at->rank - 1;
    if (!x->rank || !type_is_integer(at->type))
        refuse_node(import, "a number has no axis");
    if (import->failed)
        return;
    const char **indices = index_names(import, rank), **own = ARENA_ARRAY(import->arena, const char *, x->rank + 1);
    Size *shape = new_shape(import, rank);
    for (int d = 0; d < rank; d++)
        shape[d] = d < axis ? x->shape[d] : d < axis + at->rank ? at->shape[d - axis] : x->shape[d - at->rank + 1];
    for (int d = 0; d < x->rank; d++)
        own[d] = indices[d < axis ? d : d + at->rank - 1 < 0 ? 0 : d + at->rank - 1];
    const Element *number = at->known && !at->rank ? contents(import, at) : NULL;
    own[axis] = from_begin(import, read_at(import, at, indices + axis), x->shape[axis]);
    if (number && !number->symbol && number->value.integer < 0)
        own[axis] = size_text(import, size_sum(import, x->shape[axis], number->value.integer));
    const char *read = element(import, name_of(import, x), x->rank, own);
    bool *ranged = ARENA_ARRAY(import->arena, bool, rank + 1);
    for (int d = axis; d < axis + at->rank; d++)
        ranged[d] = true;
    statement(import, "%s = %s%s", element(import, output(import, 0, x->type, rank, shape)->name, rank, indices), read,
              where(import, rank, indices, shape, ranged));
}

void print_gather_elements(Import *import) {
    Operand *x = input(import, 0), *at = input(import, 1);
    int axis = axis_of(import, attribute_integer(import, "axis", 0), x->rank);
    if (x->rank != at->rank || !x->rank)
        refuse_node(import, "its inputs have %d and %d dimensions", x->rank, at->rank);
    if (import->failed)
        return;
    const char **indices = index_names(import, x->rank), **own = index_names(import, x->rank);
    own[axis] = from_begin(import, element(import, name_of(import, at), at->rank, indices), x->shape[axis]);
    const char *read = element(import, name_of(import, x), x->rank, own);
    statement(import, "%s = %s%s",
              element(import, output(import, 0, x->type, x->rank, at->shape)->name, x->rank, indices), read,
              where(import, x->rank, indices, at->shape, NULL));
}

/* The last dimension of the indices holds one for each of some dimensions. */
void print_gather_nd(Import *import) {
    Operand *x = input(import, 0), *at = input(import, 1);
    int batch = (int)attribute_integer(import, "batch_dims", 0);
    int64_t each = at->rank ? known_size(import, at->shape[at->rank - 1]) : 0;
    if (!at->rank || batch < 0 || batch >= at->rank || each < 1 || batch + each > x->rank)
        refuse_node(import, "its indices do not fit a tensor of %d dimensions", x->rank);
    if (import->failed)
        return;
    int lead = at->rank - 1, rank = lead + x->rank - batch - (int)each;
    const char **indices = index_names(import, rank), **own = ARENA_ARRAY(import->arena, const char *, x->rank + 1);
    const char **place = ARENA_ARRAY(import->arena, const char *, at->rank + 1);
    memcpy(place, indices, sizeof *place * (size_t)lead);
    Size *shape = new_shape(import, rank);
    for (int d = 0; d < x->rank; d++)
        if (d < batch)
            own[d] = indices[d];
        else if (d < batch + each) {
            place[lead] = format(import, "%d", d - batch);
            own[d] = from_begin(import, element(import, name_of(import, at), at->rank, place), x->shape[d]);
        } else
            own[d] = indices[lead + d - batch - (int)each];
    for (int d = 0; d < rank; d++)
        shape[d] = d < lead ? at->shape[d] : x->shape[d - lead + batch + (int)each];
    const char *read = element(import, name_of(import, x), x->rank, own);
    statement(import, "%s = %s%s", element(import, output(import, 0, x->type, rank, shape)->name, rank, indices), read,
              where(import, rank, indices, shape, NULL));
}

void print_one_hot(Import *import) {
    Operand *at = input(import, 0), *values = input(import, 2);
    int rank = at->rank + 1, axis = axis_of(import, attribute_integer(import, "axis", -1), rank), own = 0;
    const Element *depth = input(import, 1)->known ? contents(import, input(import, 1)) : NULL;
    if (!depth)
        refuse_node(import, "the number of classes is not known before the program runs");
    if (values->rank != 1)
        refuse_node(import, "its values are no pair");
    if (import->failed)
        return;
    Size size = {value_cast(depth->value, TYPE_INT64).integer, depth->symbol, 0};
    const char **indices = index_names(import, rank), **place = ARENA_ARRAY(import->arena, const char *, rank);
    Size *shape = new_shape(import, rank);
    for (int d = 0; d < rank; d++) {
        shape[d] = d == axis ? size : at->shape[own];
        if (d != axis)
            place[own++] = indices[d];
    }
    const char *class = converted(import, TYPE_INT64, read_at(import, at, place)), *pair = name_of(import, values);
    const char *value = format(import, "%s == (%s < 0 ? %s + %s : %s) ? %s(1) : %s(0)", indices[axis], class, class,
                               size_text(import, size), class, pair, pair);
    statement(import, "%s = %s%s", element(import, output(import, 0, values->type, rank, shape)->name, rank, indices),
              value, where(import, rank, indices, shape, NULL));
}

/* The first steps of each sequence, as many as it has, from the last one to the first. */
void print_reversed_sequence(Import *import) {
    Operand *x = input(import, 0), *lengths = input(import, 1);
    int time = axis_of(import, attribute_integer(import, "time_axis", 0), x->rank);
    int batch = axis_of(import, attribute_integer(import, "batch_axis", 1), x->rank);
    if (x->rank < 2 || time == batch || lengths->rank != 1 || !type_is_integer(lengths->type))
        refuse_node(import, "its lengths do not fit a tensor of %d dimensions", x->rank);
    if (import->failed)
        return;
    const char **indices = index_names(import, x->rank), **own = index_names(import, x->rank);
    const char *length = element(import, name_of(import, lengths), 1, &indices[batch]), *step = indices[time];
    own[time] = format(import, "%s < %s ? %s - 1 - %s : %s", step, length, length, step, step);
    const char *result = output(import, 0, x->type, x->rank, x->shape)->name;
    statement(import, "%s = %s%s", element(import, result, x->rank, indices), read_at(import, x, own),
              where(import, x->rank, indices, x->shape, NULL));
}
