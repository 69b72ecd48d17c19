/* quantised.c - numbers of 8 bits that stand for others: a scale and a zero point say which. */
#include "driver/import/nodes/nodes.h"
#include <string.h>

/* An element of what is one for all, or one for each index of an axis. */
static const char *along(Import *import, const Operand *operand, int axis, const char *const *indices) {
    const char **own = ARENA_ARRAY(import->arena, const char *, operand->rank + 1);
    for (int d = 0; d < operand->rank; d++)
        own[d] = size_is(operand->shape[d], 1) ? "0" : indices[axis];
    if (operand->rank > 1)
        refuse_node(import, "scales and zero points of %d dimensions are not known", operand->rank);
    return read_at(import, operand, own);
}

/* Of the type; numbers are as they stand. */
static const char *as_type(Import *import, ElementType type, const char *value) {
    return strchr("0123456789(", *value) ? value : converted(import, type, value);
}

static bool is_zero(Import *import, const Operand *zero) {
    const Element *elements = zero && zero->known ? contents(import, zero) : NULL;
    if (!zero)
        return true;
    bool all = elements != NULL;
    for (int64_t i = 0; all && i < shape_count(import, zero->shape, zero->rank); i++)
        all = !elements[i].value.integer;
    return all;
}

Operand *without_zero(Import *import, Operand *operand, Operand *zero, int axis) {
    Operand *wide = ARENA_NEW(import->arena, Operand);
    const char **indices = index_names(import, operand->rank);
    *wide = (Operand){.onnx = "", .type = TYPE_INT32, .rank = operand->rank, .shape = operand->shape};
    wide->name = fresh_name(import, format(import, "%s_wide", operand->name ? operand->name : operand->onnx));
    name_add(import->arena, &import->names, wide->name, NAME_TENSOR, wide);
    const char *value =
        converted(import, TYPE_INT32, element(import, name_of(import, operand), operand->rank, indices));
    if (!is_zero(import, zero))
        value = format(import, "%s - %s", value, as_type(import, TYPE_INT32, along(import, zero, axis, indices)));
    statement(import, "%s = %s", element(import, wide->name, wide->rank, indices), value);
    return wide;
}

/* The value, rounded, with the zero point added, as the nearest number of the type. */
static const char *saturated(Import *import, ElementType type, const char *value, const char *zero) {
    const char *sum = format(import, "rint(%s)", value);
    if (zero && strcmp(zero, "0"))
        sum = format(import, "%s + %s", sum, as_type(import, TYPE_FLOAT, zero));
    return format(import, "%s(max(min(%s, %lld), %lld))", element_info[type].spelling, sum,
                  (long long)integer_limit(type, true), (long long)integer_limit(type, false));
}

void print_requantized(Import *import, const char *sum, int scale, int other_scale, int result_scale, int rank,
                       const Size *shape, int axis, const char *const *indices) {
    Operand *zero = input(import, result_scale + 1);
    const char *value =
        format(import, "float(%s) * (%s * %s / %s)", sum, along(import, input(import, scale), axis, indices),
               along(import, input(import, other_scale), axis, indices),
               along(import, input(import, result_scale), axis, indices));
    Operand *result = output(import, 0, zero->type, rank, shape);
    statement(import, "%s = %s", element(import, result->name, rank, indices),
              saturated(import, zero->type, value, along(import, zero, axis, indices)));
}

static int axis_of_scales(Import *import, const Operand *x, const Operand *scale) {
    bool one = size_is(shape_product(import, scale->shape, scale->rank), 1);
    if (attribute_integer(import, "block_size", 0))
        refuse_node(import, "scales of blocks are not known");
    return one ? 0 : axis_of(import, attribute_integer(import, "axis", 1), x->rank);
}

void print_quantize(Import *import) {
    Operand *x = input(import, 0), *scale = input(import, 1), *zero = input_or_none(import, 2);
    int axis = axis_of_scales(import, x, scale);
    ElementType type = zero ? zero->type : TYPE_UINT8;
    int64_t asked = attribute_integer(import, "output_dtype", 0);
    if (asked && !onnx_type((int)asked, &type))
        refuse_node(import, "the type %s is not known here", onnx_type_name((int)asked));
    const char **indices = index_names(import, x->rank);
    const char *value = format(import, "%s / %s", read_at(import, x, indices), along(import, scale, axis, indices));
    if (!type_is_integer(type) || element_info[type].bytes > 2)
        refuse_node(import, "numbers of the type %s are not known here", element_info[type].spelling);
    print_elements(import, 0, type, x->rank, x->shape,
                   saturated(import, type, value, zero ? along(import, zero, axis, indices) : NULL));
}

void print_dequantize(Import *import) {
    Operand *x = input(import, 0), *scale = input(import, 1), *zero = input_or_none(import, 2);
    int axis = axis_of_scales(import, x, scale);
    const char **indices = index_names(import, x->rank);
    const char *value = converted(import, TYPE_INT32, read_at(import, x, indices));
    if (!is_zero(import, zero))
        value = format(import, "(%s - %s)", value, as_type(import, TYPE_INT32, along(import, zero, axis, indices)));
    value = format(import, "float(%s) * %s", value, along(import, scale, axis, indices));
    print_elements(import, 0, scale->type, x->rank, x->shape,
                   scale->type == TYPE_FLOAT ? value : converted(import, scale->type, value));
}

void print_dynamic_quantize(Import *import) {
    Operand *x = input(import, 0);
    const char **indices = index_names(import, x->rank),
               **inner = ARENA_ARRAY(import->arena, const char *, x->rank + 1);
    for (int d = 0; d < x->rank; d++)
        inner[d] = format(import, "r_%s", indices[d]);
    const char *least = fresh_name(import, "least"), *most = fresh_name(import, "most"), *e = read_at(import, x, inner);
    Operand *scale = output(import, 1, TYPE_FLOAT, 0, NULL), *zero = output(import, 2, TYPE_UINT8, 0, NULL);
    statement(import, "%s() min=! min(%s, 0)", least, e);
    statement(import, "%s() max=! max(%s, 0)", most, e);
    statement(import, "%s() = (%s() - %s()) / 255", scale->name, most, least);
    statement(import, "%s() = %s", zero->name,
              saturated(import, TYPE_UINT8, format(import, "-%s() / %s()", least, scale->name), NULL));
    print_elements(import, 0, TYPE_UINT8, x->rank, x->shape,
                   saturated(import, TYPE_UINT8, format(import, "%s / %s()", read_at(import, x, indices), scale->name),
                             format(import, "%s()", zero->name)));
}
