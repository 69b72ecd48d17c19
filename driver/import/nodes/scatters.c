/* scatters.c - a tensor with other values at indices that are read from memory. An index below 0 counts from the end.
 *
 * Where values are combined with what is there, each is added, or the like. Where they replace it, the last value of an
 * element is looked for first, by its number among the values; then each element reads its own.
 */
#include "driver/import/nodes/nodes.h"
#include <string.h>

/* The assignment of a node's reduction; NULL: values replace what is there. */
static const char *combination(Import *import) {
    static const char *const rows[][2] = {
        {"none", NULL}, {"add", "+="}, {"mul", "*="}, {"max", "max="}, {"min", "min="}};
    const char *wanted = attribute_text(import, "reduction", "none");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!strcmp(rows[i][0], wanted))
            return rows[i][1];
    refuse_node(import, "the reduction '%s' is not known", wanted);
    return NULL;
}

/* Values and where they go: element `value` of the updates goes to element `place` of the result. */
typedef struct Scatter {
    Operand *x, *updates;
    const char **place; /* indices of the result */
    int dimensions;     /* of the result: as many first ones are looked at to find the number of a value; the */
                        /* others have the indices of the result */
    const char **value; /* indices of the updates, of which `numbered` make the number */
    const bool *numbered;
} Scatter;

/* The ranges of the result's indices: what is read of `x` gives them, unless it is a number. */
static const char *ranges_of(Import *import, const Operand *x) {
    return x->known ? where(import, x->rank, index_names(import, x->rank), x->shape, NULL) : "";
}

static void print_combined(Import *import, const Scatter *s, const char *combined) {
    int rank = s->x->rank;
    const char **indices = index_names(import, rank), *from = read_at(import, s->x, indices);
    const char *result = output(import, 0, s->x->type, rank, s->x->shape)->name;
    statement(import, "%s = %s%s", element(import, result, rank, indices), from, ranges_of(import, s->x));
    statement(import, "%s %s %s", element(import, result, rank, s->place), combined,
              element(import, name_of(import, s->updates), s->updates->rank, s->value));
}

/* The number of a value: its indices as digits. */
static const char *number_of(Import *import, const Scatter *s) {
    const char *number = NULL;
    for (int d = 0; d < s->updates->rank; d++)
        if (s->numbered[d])
            number = number ? format(import, "%s * %s + %s", in_parentheses(import, number),
                                     in_parentheses(import, size_text(import, s->updates->shape[d])), s->value[d])
                            : s->value[d];
    return number ? number : "0";
}

/* The indices that have the number, in place of those that make it. */
static const char **indices_of_number(Import *import, const Scatter *s, const char *number) {
    int rank = s->updates->rank;
    const char **indices = ARENA_ARRAY(import->arena, const char *, rank + 1);
    Size below = size_number(1);
    bool last = true;
    memcpy(indices, s->value, sizeof *indices * (size_t)rank);
    for (int d = rank - 1; d >= 0; d--) {
        if (!s->numbered[d])
            continue;
        bool first = true;
        for (int outer = 0; outer < d; outer++)
            first &= !s->numbered[outer];
        const char *digit =
            last ? number : format(import, "%s / %s", number, in_parentheses(import, size_text(import, below)));
        indices[d] =
            first ? digit
                  : format(import, "%s %% %s", digit, in_parentheses(import, size_text(import, s->updates->shape[d])));
        below = size_product(import, below, s->updates->shape[d]);
        last = false;
    }
    return indices;
}

static void print_replaced(Import *import, const Scatter *s) {
    int rank = s->x->rank, found = s->dimensions;
    const char **indices = index_names(import, rank), *from = read_at(import, s->x, indices);
    const char *updates = name_of(import, s->updates);
    Operand *result = output(import, 0, s->x->type, rank, s->x->shape);
    const char *last = temporary(import, result, "last"), *own = element(import, last, found, indices);
    statement(import, "%s = -1%s", own, where(import, found, indices, s->x->shape, NULL));
    statement(import, "%s max= %s%s", element(import, last, found, s->place), number_of(import, s),
              where(import, s->updates->rank, s->value, s->updates->shape, s->numbered));
    const char **places = indices_of_number(import, s, own);
    for (int d = found, at = s->updates->rank - (rank - found); d < rank; d++, at++)
        places[at] = indices[d];
    statement(import, "%s = %s >= 0 ? (%s else %s) : %s%s", element(import, result->name, rank, indices), own,
              element(import, updates, s->updates->rank, places), nothing_of(s->x->type), from,
              ranges_of(import, s->x));
}

static void print_scattered(Import *import, const Scatter *s) {
    const char *combined = combination(import);
    if (s->updates->type != s->x->type)
        refuse_node(import, "its values are %s, not %s", element_info[s->updates->type].spelling,
                    element_info[s->x->type].spelling);
    if (import->failed)
        return;
    if (combined)
        print_combined(import, s, combined);
    else
        print_replaced(import, s);
}

/* The last dimension of the indices holds one for each of the first dimensions. */
void print_scatter_nd(Import *import) {
    Operand *x = input(import, 0), *at = input(import, 1), *updates = input(import, 2);
    int64_t each = at->rank ? known_size(import, at->shape[at->rank - 1]) : 0;
    int lead = at->rank - 1;
    if (each < 1 || each > x->rank || !type_is_integer(at->type) || updates->rank != lead + x->rank - each)
        refuse_node(import, "its indices do not fit a tensor of %d dimensions", x->rank);
    if (import->failed)
        return;
    const char **value = index_names(import, updates->rank);
    const char **place = ARENA_ARRAY(import->arena, const char *, x->rank + 1);
    const char **row = ARENA_ARRAY(import->arena, const char *, at->rank + 1);
    bool *numbered = ARENA_ARRAY(import->arena, bool, updates->rank + 1);
    memcpy(row, value, sizeof *row * (size_t)lead);
    for (int d = 0; d < updates->rank; d++)
        numbered[d] = d < lead;
    for (int d = 0; d < x->rank; d++) {
        row[lead] = format(import, "%d", d);
        place[d] = d < each ? from_begin(import, element(import, name_of(import, at), at->rank, row), x->shape[d])
                            : value[lead + d - (int)each];
    }
    print_scattered(import, &(Scatter){x, updates, place, (int)each, value, numbered});
}

/* Indices along one axis, one for each value. */
void print_scatter_elements(Import *import) {
    Operand *x = input(import, 0), *at = input(import, 1), *updates = input(import, 2);
    int axis = axis_of(import, attribute_integer(import, "axis", 0), x->rank), rank = x->rank;
    if (!rank || at->rank != rank || updates->rank != rank || !type_is_integer(at->type))
        refuse_node(import, "its indices do not fit a tensor of %d dimensions", rank);
    if (import->failed)
        return;
    const char **value = index_names(import, rank), **place = index_names(import, rank);
    bool *numbered = ARENA_ARRAY(import->arena, bool, rank);
    numbered[axis] = true;
    place[axis] = from_begin(import, element(import, name_of(import, at), rank, value), x->shape[axis]);
    print_scattered(import, &(Scatter){x, updates, place, rank, value, numbered});
}

/* Rows of a cache from a place on, which each element of a batch has. */
void print_tensor_scatter(Import *import) {
    Operand *x = input(import, 0), *updates = input(import, 1), *from = input_or_none(import, 2);
    int axis = axis_of(import, attribute_integer(import, "axis", -2), x->rank), rank = x->rank;
    const char *mode = attribute_text(import, "mode", "linear");
    bool circular = !strcmp(mode, "circular");
    if (rank < 2 || axis == 0 || updates->rank != rank || (from && from->rank != 1))
        refuse_node(import, "its values do not fit a cache of %d dimensions", rank);
    if (!circular && strcmp(mode, "linear"))
        refuse_node(import, "the mode '%s' is not known", mode);
    if (import->failed)
        return;
    const char **indices = index_names(import, rank), **place = index_names(import, rank);
    const char *begin = from ? element(import, name_of(import, from), 1, indices) : "0";
    const char *step = format(import, circular ? "(%s - %s) %% %s" : "%s - %s", indices[axis], begin,
                              in_parentheses(import, size_text(import, x->shape[axis])));
    const char *size = size_text(import, updates->shape[axis]), *old = read_at(import, x, indices);
    place[axis] = step;
    const char *inside =
        format(import, circular ? "%s < %s" : "%s >= 0 && %s < %s", step, circular ? size : step, size);
    statement(import, "%s = %s ? (%s else 0) : %s%s",
              element(import, output(import, 0, x->type, rank, x->shape)->name, rank, indices), inside,
              read_at(import, updates, place), old, ranges_of(import, x));
}
