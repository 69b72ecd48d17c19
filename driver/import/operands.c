/* operands.c - tensors of the model: where the nodes find them, their contents if these are known, and how the source
 * reads them. A tensor whose contents are known becomes an argument of the def when it is first read, or a number.
 */
#include "driver/import/importer.h"
#include <math.h>
#include <string.h>

/* Contents of more elements are left to the program. */
enum { MOST_ELEMENTS = 1 << 16 };

Operand *find_operand(Import *import, const char *onnx) {
    Name *name = name_find(&import->operands, onnx);
    return name ? name->operand : NULL;
}

Operand *new_operand(Import *import, const char *onnx, ElementType type, int rank, const Size *shape) {
    Operand *operand = ARENA_NEW(import->arena, Operand);
    *operand = (Operand){.onnx = onnx, .type = type, .rank = rank, .shape = new_shape(import, rank)};
    if (rank)
        memcpy(operand->shape, shape, sizeof *shape * (size_t)rank);
    name_add(import->arena, &import->operands, onnx, NAME_TENSOR, operand);
    return operand;
}

void add_tensor(Import *import, const OnnxTensor *tensor, const char *onnx) {
    ElementType type;
    if (!tensor_type(import, tensor, &type))
        return;
    Operand *operand = new_operand(import, onnx, type, tensor->rank, tensor_shape(import, tensor));
    operand->tensor = tensor;
    operand->known = true;
}

Operand *input_or_none(Import *import, int number) {
    const ModelNode *node = import->node;
    if (number >= node->inputs.count || !*node->inputs.items[number])
        return NULL;
    Operand *operand = find_operand(import, node->inputs.items[number]);
    if (!operand) {
        refuse_node(import, "it reads '%s', which nothing before it makes", node->inputs.items[number]);
        operand = new_operand(import, node->inputs.items[number], TYPE_FLOAT, 0, NULL);
    }
    return operand;
}

Operand *input(Import *import, int number) {
    Operand *operand = input_or_none(import, number);
    if (operand)
        return operand;
    refuse_node(import, "it has no input %d", number);
    return new_operand(import, "", TYPE_FLOAT, 0, NULL);
}

bool has_output(const Import *import, int number) {
    return number < import->node->outputs.count && *import->node->outputs.items[number];
}

static Operand *unnamed_output(Import *import, int number, ElementType type, int rank, const Size *shape) {
    const char *onnx = has_output(import, number) ? import->node->outputs.items[number] : "";
    Operand *before = *onnx ? find_operand(import, onnx) : NULL;
    if (before && before->known + (before->name != NULL))
        refuse_node(import, "it makes '%s', which is there already", onnx);
    return new_operand(import, onnx, type, rank, shape);
}

Operand *output(Import *import, int number, ElementType type, int rank, const Size *shape) {
    Operand *operand = unnamed_output(import, number, type, rank, shape);
    const char *like = *operand->onnx ? operand->onnx : import->node->kind;
    for (int i = 0; i < import->outputs.count; i++)
        if (!strcmp(import->outputs.items[i]->onnx, operand->onnx))
            operand->name = import->outputs.items[i]->name;
    if (!operand->name)
        operand->name = fresh_name(import, like);
    name_add(import->arena, &import->names, operand->name, NAME_TENSOR, operand);
    return operand;
}

Operand *known_output(Import *import, int number, ElementType type, int rank, const Size *shape, Element *elements) {
    Operand *operand = unnamed_output(import, number, type, rank, shape);
    operand->elements = elements;
    operand->known = true;
    return operand;
}

const char *temporary(Import *import, const Operand *of, const char *what) {
    return fresh_name(import, format(import, "%s_%s", of->name, what));
}

/* --- contents ----------------------------------------------------------------------------------------------------- */

static const void *bytes_of(Import *import, const Operand *operand) {
    const char *why;
    const void *data = tensor_data(import->model, operand->tensor, &why);
    if (!data)
        refuse_node(import, "the tensor '%s' cannot be read: %s", operand->onnx, why);
    return data;
}

bool tensor_type(Import *import, const OnnxTensor *tensor, ElementType *type) {
    bool known = onnx_type(tensor->type, type);
    const char *name = *tensor->name ? tensor->name : "of its value";
    if (!known)
        refuse_node(import, "the tensor '%s' has the type %s, which is not known here", name,
                    onnx_type_name(tensor->type));
    else if (tensor->count < 0)
        refuse_node(import, "the tensor '%s' has a shape that is no shape", name);
    return !import->failed;
}

const Element *contents(Import *import, const Operand *operand) {
    if (operand->elements || !operand->tensor || operand->tensor->count > MOST_ELEMENTS)
        return operand->elements;
    const unsigned char *data = bytes_of(import, operand);
    if (!data)
        return NULL;
    Element *elements = ARENA_ARRAY(import->arena, Element, operand->tensor->count + 1);
    for (int64_t i = 0; i < operand->tensor->count; i++)
        elements[i].value = value_load(operand->type, data + i * element_info[operand->type].bytes);
    return ((Operand *)operand)->elements = elements;
}

const Element *integers(Import *import, int number, const char *what, int *count) {
    Operand *operand = input(import, number);
    const Element *elements = operand->known && type_is_integer(operand->type) ? contents(import, operand) : NULL;
    *count = elements ? (int)shape_count(import, operand->shape, operand->rank) : 0;
    if (!elements)
        refuse_node(import, "%s, '%s', is not known before the program runs", what, operand->onnx);
    return elements;
}

const Element *known_integers(Import *import, int number, const char *what, int *count) {
    const Element *elements = integers(import, number, what, count);
    for (int i = 0; elements && i < *count; i++)
        if (elements[i].symbol) {
            refuse_open_size(import, size_of_element(&elements[i]));
            return NULL;
        }
    return elements;
}

Size size_of_element(const Element *element) {
    return (Size){element->value.integer, element->symbol, 0};
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

const char *name_with_shape(Import *import, const Operand *operand, int rank, const Size *shape) {
    if (!operand->known || !shape_known(operand->shape, operand->rank))
        return NULL;
    for (int i = 0; i < import->weights.count; i++) {
        const Weight *weight = &import->weights.items[i];
        if (weight->operand == operand && weight->rank == rank && shape_equal(weight->shape, shape, rank))
            return weight->name;
    }
    Operand *argument = ARENA_NEW(import->arena, Operand);
    *argument = *operand;
    argument->rank = rank;
    argument->shape = new_shape(import, rank);
    if (rank)
        memcpy(argument->shape, shape, sizeof *shape * (size_t)rank);
    argument->name = fresh_name(import, *operand->onnx ? operand->onnx : "constant");
    name_add(import->arena, &import->names, argument->name, NAME_TENSOR, argument);
    list_push(import->arena, &import->weights, ((Weight){argument->name, operand, rank, argument->shape}));
    return argument->name;
}

const char *name_of(Import *import, const Operand *operand) {
    if (operand->name)
        return operand->name;
    const char *name = name_with_shape(import, operand, operand->rank, operand->shape);
    if (!name)
        refuse_node(import, "the sizes of '%s' must be known: bind them with %s", operand->onnx,
                    size_options(import, shape_product(import, operand->shape, operand->rank)));
    return name ? name : "unknown";
}

static const char *real_text(Import *import, ElementType type, double real) {
    if (isnan(real))
        return "(0.0 / 0.0)";
    if (isinf(real))
        return real < 0 ? "(-1.0 / 0.0)" : "(1.0 / 0.0)";
    const char *text = "";
    real = value_round(type, real);
    for (int digits = 1; digits <= 17; digits++) {
        text = format(import, "%.*g", digits, fabs(real));
        if (value_round(type, strtod(text, NULL)) == fabs(real))
            break;
    }
    const char *point = strpbrk(text, ".e") ? "" : ".0";
    return signbit(real) ? format(import, "(-%s%s)", text, point) : format(import, "%s%s", text, point);
}

const char *number_text(Import *import, Value value) {
    if (type_is_float(value.type))
        return real_text(import, value.type, value.real);
    if (value.type == TYPE_BOOL)
        return value.integer ? "(0 == 0)" : "(0 != 0)";
    if (value.type == TYPE_UINT64)
        return format(import, "uint64(%llu)", (unsigned long long)value.integer);
    if (value.integer == INT64_MIN)
        return "(-9223372036854775807 - 1)";
    return format(import, value.integer < 0 ? "(%lld)" : "%lld", (long long)value.integer);
}

/* Its only element as a number; NULL: it has others, or is not known. */
static const char *only_number(Import *import, const Operand *operand) {
    Size count = shape_product(import, operand->shape, operand->rank);
    const Element *elements = operand->known && size_is(count, 1) ? contents(import, operand) : NULL;
    if (!elements)
        return NULL;
    if (!elements->symbol)
        return number_text(import, elements->value);
    return format(import, "(%s)", size_text(import, size_of_element(elements)));
}

const char *read_at(Import *import, const Operand *operand, const char *const *indices) {
    const char *number = only_number(import, operand);
    return number ? number : element(import, name_of(import, operand), operand->rank, indices);
}

const char *read_broadcast(Import *import, const Operand *operand, int rank, const Size *shape,
                           const char *const *indices) {
    const char **own = ARENA_ARRAY(import->arena, const char *, operand->rank + 1);
    for (int d = 0; d < operand->rank; d++) {
        int to = rank - operand->rank + d;
        bool repeated = to < 0 || (size_is(operand->shape[d], 1) && !size_is(shape[to], 1));
        own[d] = repeated ? "0" : indices[to];
    }
    return read_at(import, operand, own);
}
