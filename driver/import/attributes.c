/* attributes.c - attributes by their names, and those of the present node. */
#include "driver/import/importer.h"
#include <string.h>

const Attribute *find_attribute(const NodeAttributes *attributes, const char *name) {
    for (int i = 0; i < attributes->count; i++)
        if (!strcmp(attributes->items[i]->name, name))
            return attributes->items[i];
    return NULL;
}

const Attribute *attribute(const Import *import, const char *name) {
    return find_attribute(&import->node->attributes, name);
}

int64_t attribute_integer(const Import *import, const char *name, int64_t otherwise) {
    const Attribute *found = attribute(import, name);
    return found ? found->integer : otherwise;
}

double attribute_real(const Import *import, const char *name, double otherwise) {
    const Attribute *found = attribute(import, name);
    return found ? found->real : otherwise;
}

const char *attribute_text(const Import *import, const char *name, const char *otherwise) {
    const Attribute *found = attribute(import, name);
    return found ? found->text : otherwise;
}

const int64_t *attribute_integers(const Import *import, const char *name, int *count) {
    static const int64_t none[1];
    const Attribute *found = attribute(import, name);
    *count = found ? found->integers.count : 0;
    return found ? found->integers.items ? found->integers.items : none : NULL;
}

int axis_of(Import *import, int64_t axis, int rank) {
    int64_t from_begin = axis < 0 ? axis + rank : axis;
    if (from_begin < 0 || from_begin >= (rank ? rank : 1)) {
        refuse_node(import, "axis %lld is not one of %d dimension%s", (long long)axis, rank, rank == 1 ? "" : "s");
        return 0;
    }
    return (int)from_begin;
}

bool axes_given(Import *import, int number, int rank, bool *axes) {
    int count = 0;
    const int64_t *list = attribute_integers(import, "axes", &count);
    const Element *elements = NULL;
    if (!list && input_or_none(import, number))
        elements = known_integers(import, number, "the list of axes", &count);
    for (int d = 0; d < rank; d++)
        axes[d] = false;
    for (int i = 0; i < count && !import->failed; i++) {
        int axis = axis_of(import, list ? list[i] : elements[i].value.integer, rank);
        if (axis < rank)
            axes[axis] = true;
    }
    return count > 0 || list || elements;
}
