/* tensor_data.c - tensors of a model: their types, and their contents, which stay in the mapped file. Contents in a
 * file of their own are mapped, too; that file lies in the folder of the model, or below it.
 */
#include "driver/import/model.h"
#include "lang/temporary.h"
#include <stdlib.h>
#include <string.h>

/* --- types -------------------------------------------------------------------------------------------------------- */

static const struct OnnxType {
    const char *name;
    bool known;
    ElementType type;
} onnx_types[] = {
    [1] = {"float", true, TYPE_FLOAT},    [2] = {"uint8", true, TYPE_UINT8},
    [3] = {"int8", true, TYPE_INT8},      [4] = {"uint16", true, TYPE_UINT16},
    [5] = {"int16", true, TYPE_INT16},    [6] = {"int32", true, TYPE_INT32},
    [7] = {"int64", true, TYPE_INT64},    [8] = {"string", false, 0},
    [9] = {"bool", true, TYPE_BOOL},      [10] = {"float16", true, TYPE_HALF},
    [11] = {"double", true, TYPE_DOUBLE}, [12] = {"uint32", true, TYPE_UINT32},
    [13] = {"uint64", true, TYPE_UINT64}, [14] = {"complex64", false, 0},
    [15] = {"complex128", false, 0},      [16] = {"bfloat16", true, TYPE_BFLOAT16},
    [17] = {"float8e4m3fn", false, 0},    [18] = {"float8e4m3fnuz", false, 0},
    [19] = {"float8e5m2", false, 0},      [20] = {"float8e5m2fnuz", false, 0},
    [21] = {"uint4", false, 0},           [22] = {"int4", false, 0},
    [23] = {"float4e2m1", false, 0},
};
enum { ONNX_TYPES = sizeof onnx_types / sizeof *onnx_types };

bool onnx_type(int type, ElementType *element) {
    bool known = type > 0 && type < ONNX_TYPES && onnx_types[type].known;
    if (known)
        *element = onnx_types[type].type;
    return known;
}

const char *onnx_type_name(int type) {
    return type > 0 && type < ONNX_TYPES ? onnx_types[type].name : "unknown";
}

/* --- messages ----------------------------------------------------------------------------------------------------- */

enum { TENSOR_SHAPE = 1, TENSOR_TYPE = 2, TENSOR_FLOATS = 4, TENSOR_INT32S = 5, TENSOR_INT64S = 7, TENSOR_NAME = 8 };
enum { TENSOR_RAW = 9, TENSOR_DOUBLES = 10, TENSOR_UINT64S = 11, TENSOR_EXTERNAL = 13 };
typedef LIST(int64_t) Shape;

static void read_tensor_shape(Arena *arena, const WireField *field, Shape *shape, WireError *error) {
    Bytes rest = field->bytes;
    uint64_t value = field->value;
    if (field->kind == WIRE_NUMBER)
        list_push(arena, shape, (int64_t)value);
    else
        while (wire_number(&rest, &value, error))
            list_push(arena, shape, (int64_t)value);
}

static void read_external(Arena *arena, Bytes bytes, OnnxTensor *tensor, WireError *error) {
    WireField field;
    const char *key = "", *value = "";
    while (wire_next(&bytes, &field, error))
        if (field.kind == WIRE_BYTES && field.number == 1)
            key = wire_text(arena, field.bytes);
        else if (field.kind == WIRE_BYTES && field.number == 2)
            value = wire_text(arena, field.bytes);
    if (!strcmp(key, "location"))
        tensor->location = value;
    else if (!strcmp(key, "offset"))
        tensor->offset = strtoll(value, NULL, 10);
    else if (!strcmp(key, "length"))
        tensor->length = strtoll(value, NULL, 10);
}

/* Elements that are packed: floats lie there as in memory. */
static void read_elements(Arena *arena, const WireField *field, OnnxTensor *tensor) {
    bool as_in_memory = field->number == TENSOR_FLOATS || field->number == TENSOR_DOUBLES;
    if (field->kind != WIRE_BYTES)
        list_push(arena, &tensor->loose, field->value);
    else if (as_in_memory) {
        tensor->raw = field->bytes;
        tensor->has_raw = true;
    } else
        tensor->packed = field->bytes;
}

static void read_tensor_field(Arena *arena, const WireField *field, OnnxTensor *tensor, Shape *shape,
                              WireError *error) {
    bool bytes = field->kind == WIRE_BYTES;
    if (field->number == TENSOR_SHAPE)
        read_tensor_shape(arena, field, shape, error);
    else if (field->number == TENSOR_TYPE && field->kind == WIRE_NUMBER)
        tensor->type = (int)field->value;
    else if (field->number == TENSOR_NAME && bytes)
        tensor->name = wire_text(arena, field->bytes);
    else if (field->number == TENSOR_RAW && bytes) {
        tensor->raw = field->bytes;
        tensor->has_raw = true;
    } else if (field->number == TENSOR_EXTERNAL && bytes)
        read_external(arena, field->bytes, tensor, error);
    else if (field->number == TENSOR_FLOATS || field->number == TENSOR_INT32S || field->number == TENSOR_INT64S ||
             field->number == TENSOR_DOUBLES || field->number == TENSOR_UINT64S)
        read_elements(arena, field, tensor);
}

OnnxTensor *read_tensor(Arena *arena, Bytes bytes, WireError *error) {
    OnnxTensor *tensor = ARENA_NEW(arena, OnnxTensor);
    Shape shape = {0};
    WireField field;
    tensor->name = "";
    tensor->length = -1;
    while (wire_next(&bytes, &field, error))
        read_tensor_field(arena, &field, tensor, &shape, error);
    tensor->rank = shape.count;
    tensor->shape = shape.items;
    tensor->count = 1;
    for (int d = 0; d < shape.count; d++)
        if (shape.items[d] < 0 || __builtin_mul_overflow(tensor->count, shape.items[d], &tensor->count))
            tensor->count = -1;
    return tensor;
}

/* --- contents ----------------------------------------------------------------------------------------------------- */

/* Whether a path stays in the folder that it starts from. */
static bool stays_inside(const char *path) {
    if (*path == '/' || !*path)
        return false;
    for (const char *at = path; at; at = strchr(at, '/'), at = at ? at + 1 : NULL)
        if (!strncmp(at, "..", 2) && (at[2] == '/' || !at[2]))
            return false;
    return true;
}

static bool other_file(Model *model, const char *location, Bytes *bytes, const char **why) {
    for (int i = 0; i < model->others.count; i++)
        if (!strcmp(model->others.items[i].location, location)) {
            *bytes = model->others.items[i].bytes;
            return true;
        }
    const char *path = arena_printf(model->arena, "%s%s", folder_of(model->arena, model->path), location);
    char *folder = realpath(folder_of(model->arena, model->path), NULL), *real = realpath(path, NULL);
    size_t length = folder ? strlen(folder) : 0;
    bool inside = folder && real && !strncmp(real, folder, length) && (length == 1 || real[length] == '/');
    free(folder);
    if (real && !inside)
        *why = "its file is outside of the model's folder";
    bool mapped = (!real || inside) && map_file(path, bytes, why);
    free(real);
    if (mapped)
        list_push(model->arena, &model->others, ((struct MappedFile){location, *bytes}));
    return mapped;
}

static const void *external_data(Model *model, const OnnxTensor *tensor, int64_t wanted, const char **why) {
    Bytes bytes;
    if (!stays_inside(tensor->location)) {
        *why = "its file is outside of the model's folder";
        return NULL;
    }
    if (!other_file(model, tensor->location, &bytes, why))
        return NULL;
    int64_t size = bytes.end - bytes.at;
    *why = "its file is too short";
    if (tensor->offset < 0 || tensor->offset > size || wanted > size - tensor->offset)
        return NULL;
    if (tensor->length >= 0 && tensor->length < wanted)
        return NULL;
    return wanted ? bytes.at + tensor->offset : (const void *)"";
}

static void store_bits(unsigned char *to, uint64_t bits, int bytes) {
    for (int b = 0; b < bytes; b++)
        to[b] = (unsigned char)(bits >> 8 * b);
}

static const void *decoded(Model *model, const OnnxTensor *tensor, int bytes, const char **why) {
    int64_t found = tensor->loose.count, at = 0;
    for (const unsigned char *byte = tensor->packed.at; byte < tensor->packed.end; byte++)
        found += !(*byte & 128);
    *why = "it has fewer elements than its shape says";
    if (found != tensor->count)
        return NULL;
    unsigned char *data = arena_alloc(model->arena, (size_t)(found * bytes) + 1);
    Bytes rest = tensor->packed;
    WireError error = {0};
    uint64_t value;
    for (int i = 0; i < tensor->loose.count; i++)
        store_bits(data + at++ * bytes, tensor->loose.items[i], bytes);
    for (; at < found && wire_number(&rest, &value, &error); at++)
        store_bits(data + at * bytes, value, bytes);
    return at == found ? data : NULL;
}

const void *tensor_data(Model *model, const OnnxTensor *tensor, const char **why) {
    ElementType type;
    int64_t wanted;
    *why = "it has a type that is not known here";
    if (!onnx_type(tensor->type, &type))
        return NULL;
    *why = "its shape is no shape";
    if (tensor->count < 0 || __builtin_mul_overflow(tensor->count, (int64_t)element_info[type].bytes, &wanted))
        return NULL;
    if (tensor->location)
        return external_data(model, tensor, wanted, why);
    if (!tensor->has_raw)
        return decoded(model, tensor, element_info[type].bytes, why);
    *why = "it has another number of elements than its shape says";
    if (tensor->raw.end - tensor->raw.at != wanted)
        return NULL;
    return wanted ? tensor->raw.at : (const void *)"";
}
