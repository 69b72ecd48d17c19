/* elementwise.c - operators of elements that a row of operators.def cannot say alone: those that depend on the type, on
 * an attribute, or on how many inputs there are.
 */
#include "driver/import/nodes/nodes.h"
#include <math.h>
#include <string.h>

static void broadcast_inputs(Import *import, int *rank, Size **shape) {
    *rank = 0;
    *shape = new_shape(import, 0);
    for (int i = 0; i < import->node->inputs.count; i++)
        if (input_or_none(import, i))
            broadcast(import, input(import, i), rank, shape);
}

static const char *read_input(Import *import, int number, int rank, const Size *shape) {
    return read_broadcast(import, input(import, number), rank, shape, index_names(import, rank));
}

/* A value of two inputs, $0 and $1, as one of the type. */
static void print_pair(Import *import, ElementType type, const char *pattern_of_two) {
    int rank;
    Size *shape;
    broadcast_inputs(import, &rank, &shape);
    Text text = {.arena = import->arena};
    for (const char *at = pattern_of_two; *at; at++)
        if (*at == '$')
            text_add(&text, "%s", read_input(import, *++at - '0', rank, shape));
        else
            text_add_bytes(&text, at, 1);
    bool narrow = type != TYPE_FLOAT && type != TYPE_DOUBLE;
    print_elements(import, 0, type, rank, shape, narrow ? converted(import, type, text.text) : text.text);
}

/* Quotients of integers are rounded towards 0. */
void print_quotient(Import *import) {
    ElementType type = input(import, 0)->type;
    bool is_signed = element_info[type].kind == KIND_SIGNED;
    print_pair(import, type, is_signed ? "($0 < 0) == ($1 < 0) ? abs($0) / abs($1) : -(abs($0) / abs($1))" : "$0 / $1");
}

/* The sign of the divisor, or with fmod that of the dividend. In the language it is the first for integers, the second
 * for floats. */
void print_remainder(Import *import) {
    ElementType type = input(import, 0)->type;
    bool fmod = attribute_integer(import, "fmod", 0), is_float = type_is_float(type);
    const char *value = "$0 % $1";
    if (fmod && element_info[type].kind == KIND_SIGNED)
        value = "$0 < 0 ? -(abs($0) % abs($1)) : abs($0) % abs($1)";
    if (!fmod && is_float)
        value = "$0 % $1 == 0 || ($0 % $1 < 0) == ($1 < 0) ? $0 % $1 : $0 % $1 + $1";
    print_pair(import, type, value);
}

/* Exponents that are small numbers become products and roots. */
void print_power(Import *import) {
    static const struct {
        double exponent;
        const char *value;
    } rows[] = {{1, "$0"}, {2, "$0 * $0"}, {3, "$0 * $0 * $0"}, {0.5, "sqrt($0)"}, {-1, "1 / $0"}};
    Operand *base = input(import, 0), *exponent = input(import, 1);
    const Element *number = exponent->known && !exponent->rank ? contents(import, exponent) : NULL;
    const char *value = "pow($0, $1)";
    for (size_t i = 0; number && i < sizeof rows / sizeof *rows; i++)
        if (value_cast(number->value, TYPE_DOUBLE).real == rows[i].exponent && (i < 3 || type_is_float(base->type)))
            value = rows[i].value;
    const char *type = element_info[base->type].spelling;
    bool general = *value == 'p';
    if (general && type_is_integer(base->type))
        value = "rint(pow(double($0), double($1)))";
    else if (general && exponent->type != base->type)
        value = format(import, "%s(pow($0, $1))", type);
    print_pair(import, base->type, value);
}

/* Sum, Mean, Min and Max of any number of inputs. */
void print_several(Import *import) {
    int rank, count = import->node->inputs.count;
    Size *shape;
    const char *kind = import->node->kind;
    const char *function = !strcmp(kind, "Max") ? "max" : !strcmp(kind, "Min") ? "min" : NULL;
    broadcast_inputs(import, &rank, &shape);
    const char *value = read_input(import, 0, rank, shape);
    for (int i = 1; i < count; i++) {
        const char *next = read_input(import, i, rank, shape);
        value = function ? format(import, "%s(%s, %s)", function, value, next) : format(import, "%s + %s", value, next);
    }
    if (!strcmp(kind, "Mean"))
        value = format(import, "(%s) / %d", value, count);
    ElementType type = input(import, 0)->type;
    print_elements(import, 0, type, rank, shape, type == TYPE_FLOAT ? value : converted(import, type, value));
}

/* An input, or an attribute of older versions; NULL: there is no limit. */
static const char *limit_of(Import *import, int number, const char *name) {
    const Attribute *old = attribute(import, name);
    if (old)
        return number_text(import, (Value){.type = TYPE_FLOAT, .real = old->real});
    Operand *limit = input_or_none(import, number);
    return limit ? read_at(import, limit, index_names(import, limit->rank)) : NULL;
}

void print_clip(Import *import) {
    Operand *x = input(import, 0);
    const char *value = read_at(import, x, index_names(import, x->rank));
    const char *least = limit_of(import, 1, "min"), *most = limit_of(import, 2, "max");
    if (least)
        value = format(import, "max(%s, %s)", value, least);
    if (most)
        value = format(import, "min(%s, %s)", value, most);
    print_elements(import, 0, x->type, x->rank, x->shape,
                   x->type == TYPE_FLOAT ? value : converted(import, x->type, value));
}

void print_gelu(Import *import) {
    Operand *x = input(import, 0);
    const char *e = read_at(import, x, index_names(import, x->rank)),
               *how = attribute_text(import, "approximate", "none");
    const char *value = format(import, "0.5 * %s * (1 + erf(%s * 0.7071067811865476))", e, e);
    if (!strcmp(how, "tanh"))
        value =
            format(import, "0.5 * %s * (1 + tanh(0.7978845608028654 * (%s + 0.044715 * %s * %s * %s)))", e, e, e, e, e);
    else if (strcmp(how, "none"))
        refuse_node(import, "the approximation '%s' is not known", how);
    print_elements(import, 0, x->type, x->rank, x->shape,
                   x->type == TYPE_FLOAT ? value : converted(import, x->type, value));
}

void print_is_infinite(Import *import) {
    Operand *x = input(import, 0);
    const char *e = read_at(import, x, index_names(import, x->rank));
    bool negative = attribute_integer(import, "detect_negative", 1),
         positive = attribute_integer(import, "detect_positive", 1);
    const char *value = negative && positive ? format(import, "abs(%s) == 1.0 / 0.0", e)
                        : positive           ? format(import, "%s == 1.0 / 0.0", e)
                        : negative           ? format(import, "%s == -1.0 / 0.0", e)
                                             : "(0 != 0)";
    print_elements(import, 0, TYPE_BOOL, x->rank, x->shape, value);
}

void print_bit_shift(Import *import) {
    bool left = !strcmp(attribute_text(import, "direction", ""), "LEFT");
    ElementType type = input(import, 0)->type;
    if (element_info[type].kind != KIND_UNSIGNED)
        refuse_node(import, "shifts of the type %s are not known", element_info[type].spelling);
    const char *power = left ? "$0 * TYPE(exp2(double($1)))" : "$0 / TYPE(exp2(double($1)))";
    const char *type_at = strstr(power, "TYPE");
    print_pair(import, type,
               format(import, "%.*s%s%s", (int)(type_at - power), power, element_info[type].spelling, type_at + 4));
}

/* Whether a node or the model reads the present node's output, or may. */
static bool is_output_read(const Import *import, int number) {
    const char *name = has_output(import, number) ? import->node->outputs.items[number] : "";
    const ModelNodes *nodes = &import->model->graph.nodes;
    bool read = import->inside != NULL;
    for (int i = 0; i < import->outputs.count; i++)
        read = read || !strcmp(import->outputs.items[i]->onnx, name);
    for (int i = import->node->number + 1; i < nodes->count && !read; i++) {
        for (int k = 0; k < nodes->items[i]->inputs.count; k++)
            read = read || !strcmp(nodes->items[i]->inputs.items[k], name);
        for (int k = 0; k < nodes->items[i]->attributes.count; k++)
            read = read || nodes->items[i]->attributes.items[k]->graph; /* which may read it */
    }
    return *name && read;
}

/* The result is the input, under its name. */
void print_same(Import *import) {
    Operand *x = input(import, 0);
    if (attribute_integer(import, "training_mode", 0))
        refuse_node(import, "dropout in training is not known");
    bool mask = is_output_read(import, 1);
    Operand *training = input_or_none(import, 2);
    const Element *trains = training && training->known ? contents(import, training) : NULL;
    if (training && (!trains || trains->value.integer))
        refuse_node(import, "dropout in training is not known");
    if (mask)
        print_elements(import, 1, TYPE_BOOL, x->rank, x->shape, "(0 == 0)");
    name_add(import->arena, &import->operands, import->node->outputs.items[0], NAME_TENSOR, x);
}

void print_cast(Import *import) {
    Operand *x = input(import, 0);
    ElementType type = x->type;
    int64_t to = attribute_integer(import, "to", 0);
    if (import->node->inputs.count == 2)
        type = input(import, 1)->type;
    else if (!onnx_type((int)to, &type))
        refuse_node(import, "the type %s is not known here", onnx_type_name((int)to));
    if (type == x->type) {
        name_add(import->arena, &import->operands, import->node->outputs.items[0], NAME_TENSOR, x);
        return;
    }
    const char *e = read_at(import, x, index_names(import, x->rank));
    print_elements(import, 0, type, x->rank, x->shape,
                   type == TYPE_BOOL ? format(import, "%s != 0", e) : converted(import, type, e));
}

/* Before version 7 a list of slopes is one for each channel. */
void print_parametric_relu(Import *import) {
    Operand *x = input(import, 0), *slope = input(import, 1);
    bool of_channels = import->model->opset < 7 && slope->rank == 1 && x->rank > 1;
    int rank = x->rank;
    Size *shape = x->shape;
    const char **indices = index_names(import, rank), *e = read_at(import, x, indices);
    if (!of_channels)
        broadcast(import, slope, &rank, &shape);
    if (rank != x->rank)
        refuse_node(import, "its slopes have %d dimensions, its input %d", slope->rank, x->rank);
    if (import->failed)
        return;
    const char *factor =
        of_channels ? read_at(import, slope, size_is(slope->shape[0], 1) ? (const char *const[]){"0"} : indices + 1)
                    : read_broadcast(import, slope, rank, shape, indices);
    const char *value = format(import, "%s < 0 ? %s * %s : %s", e, factor, e, e);
    const char *name = output(import, 0, x->type, rank, x->shape)->name;
    statement(import, "%s = %s", element(import, name, rank, indices),
              x->type == TYPE_FLOAT ? value : converted(import, x->type, value));
}
