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

Size *split_sizes(Import *import, Size size) {
    int outputs = import->node->outputs.count, count = outputs;
    const int64_t *old = attribute_integers(import, "split", &count);
    const Element *parts =
        !old && input_or_none(import, 1) ? integers(import, 1, "the sizes of the parts", &count) : NULL;
    Size *sizes = new_shape(import, outputs), each = size_number((size.factor + outputs - 1) / outputs);
    int64_t left = size.factor;
    if ((old || parts) && count != outputs)
        refuse_node(import, "it has %d sizes for %d parts", count, outputs);
    if (!old && !parts && !size_known(size) && !size_quotient(size, size_number(outputs), &each))
        refuse_open_size(import, size);
    for (int i = 0; i < outputs && !import->failed; i++, left -= each.factor) {
        bool last = size_known(size) && left < each.factor;
        sizes[i] = old ? size_number(old[i]) : parts ? size_of_element(&parts[i]) : last ? size_number(left) : each;
        if (sizes[i].factor < 0)
            refuse_node(import, "a part has the size %s", size_shown(import, sizes[i]));
    }
    return import->failed ? NULL : sizes;
}
