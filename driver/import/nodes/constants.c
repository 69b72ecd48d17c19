/* constants.c - tensors without inputs: those of a node, of one value, of a range, and sizes of other tensors. */
#include "driver/import/nodes/nodes.h"
#include <stdlib.h>
#include <string.h>

static Element *one_element(Import *import, ElementType type, int64_t integer, double real) {
    Element *e = ARENA_NEW(import->arena, Element);
    e->value.type = type;
    if (type_is_float(type))
        e->value.real = real;
    else
        e->value.integer = integer;
    return e;
}

static void constant_tensor(Import *import, const OnnxTensor *tensor) {
    ElementType type;
    if (!tensor_type(import, tensor, &type))
        return;
    known_output(import, 0, type, tensor->rank, tensor_shape(import, tensor), NULL)->tensor = tensor;
}

void print_constant(Import *import) {
    const Attribute *a = import->node->attributes.count ? import->node->attributes.items[0] : NULL;
    const char *name = a ? a->name : "";
    Size count = size_number(!strcmp(name, "value_ints") ? a->integers.count : a ? a->reals.count : 0);
    Element *list = ARENA_ARRAY(import->arena, Element, count.factor + 1);
    if (!strcmp(name, "value") && a->tensor)
        constant_tensor(import, a->tensor);
    else if (!strcmp(name, "value_int"))
        known_output(import, 0, TYPE_INT64, 0, NULL, one_element(import, TYPE_INT64, a->integer, 0));
    else if (!strcmp(name, "value_float"))
        known_output(import, 0, TYPE_FLOAT, 0, NULL, one_element(import, TYPE_FLOAT, 0, a->real));
    else if (!strcmp(name, "value_ints")) {
        for (int i = 0; i < count.factor; i++)
            list[i].value = (Value){.type = TYPE_INT64, .integer = a->integers.items[i]};
        known_output(import, 0, TYPE_INT64, 1, &count, list);
    } else if (!strcmp(name, "value_floats")) {
        for (int i = 0; i < count.factor; i++)
            list[i].value = (Value){.type = TYPE_FLOAT, .real = a->reals.items[i]};
        known_output(import, 0, TYPE_FLOAT, 1, &count, list);
    } else
        refuse_node(import, "its value '%s' is not known", name);
}

/* The value of a filled tensor: that of the attribute, or the float 0. */
static Value filling(Import *import) {
    const Attribute *a = attribute(import, "value");
    Value value = {.type = TYPE_FLOAT, .real = 0};
    const char *why = "it is not there";
    if (!a)
        return value;
    const void *data = a->tensor && a->tensor->count == 1 ? tensor_data(import->model, a->tensor, &why) : NULL;
    if (!data || !onnx_type(a->tensor->type, &value.type))
        refuse_node(import, "its value cannot be read: %s", why);
    return import->failed ? value : value_load(value.type, data);
}

void print_filled(Import *import) {
    int rank;
    const Element *sizes = integers(import, 0, "the shape", &rank);
    Value value = filling(import);
    Size *shape = new_shape(import, rank);
    for (int d = 0; d < rank; d++) {
        shape[d] = size_of_element(&sizes[d]);
        if (size_known(shape[d]) && shape[d].factor < 0)
            refuse_node(import, "the shape has the size %lld", (long long)shape[d].factor);
    }
    if (import->failed)
        return;
    const char **indices = index_names(import, rank), *ranges = where(import, rank, indices, shape, NULL);
    statement(import, "%s = %s%s", element(import, output(import, 0, value.type, rank, shape)->name, rank, indices),
              converted(import, value.type, number_text(import, value)), ranges);
}

/* Between sizes that are known at run time. */
void print_range(Import *import) {
    Size ends[3];
    ElementType type = input(import, 0)->type;
    for (int i = 0; i < 3; i++) {
        Operand *end = input(import, i);
        const Element *element =
            end->known && type_is_integer(end->type) && end->rank < 2 ? contents(import, end) : NULL;
        if (!element || (i == 2 && (element->symbol || !element->value.integer)))
            refuse_node(import, "its ends are not known before the program runs");
        if (import->failed)
            return;
        ends[i] = size_of_element(element);
    }
    int64_t step = ends[2].factor;
    Size distance = step > 0 ? size_subtract(import, ends[1], ends[0]) : size_subtract(import, ends[0], ends[1]);
    Size count = size_steps(import, distance, llabs(step));
    const char **indices = index_names(import, 1), *place = indices[0];
    if (step != 1)
        place = format(import, "%s * %lld", place, llabs(step));
    if (!size_is(ends[0], 0))
        place = format(import, "%s %c %s", size_text(import, ends[0]), step > 0 ? '+' : '-', place);
    else if (step < 0)
        place = format(import, "0 - %s", place);
    statement(import, "%s = %s%s", element(import, output(import, 0, type, 1, &count)->name, 1, indices),
              converted(import, type, place), where(import, 1, indices, &count, NULL));
}

void print_shape_of(Import *import) {
    Operand *x = input(import, 0);
    int64_t begin = attribute_integer(import, "start", 0), end = attribute_integer(import, "end", x->rank);
    begin = begin < 0 ? begin + x->rank : begin;
    end = end < 0 ? end + x->rank : end;
    begin = begin < 0 ? 0 : begin > x->rank ? x->rank : begin;
    end = end < begin ? begin : end > x->rank ? x->rank : end;
    Size count = size_number(end - begin);
    Element *elements = ARENA_ARRAY(import->arena, Element, count.factor + 1);
    for (int64_t d = begin; d < end; d++) {
        Size size = size_as_symbol(import, x->shape[d]);
        elements[d - begin] = (Element){{.type = TYPE_INT64, .integer = size.factor}, size.symbol};
    }
    known_output(import, 0, TYPE_INT64, 1, &count, elements);
}

void print_size_of(Import *import) {
    Operand *x = input(import, 0);
    Size count = size_as_symbol(import, shape_product(import, x->shape, x->rank));
    Element *e = one_element(import, TYPE_INT64, count.factor, 0);
    e->symbol = count.symbol;
    known_output(import, 0, TYPE_INT64, 0, NULL, e);
}
