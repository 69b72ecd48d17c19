/* model.c - reads the messages of ONNX that describe a graph. Fields that say nothing about what is computed, such as
 * documentation, are skipped. A message that is damaged gives one error with its place.
 */
#include "driver/import/model.h"
#include "driver/options.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Graphs inside of nodes of graphs: more are an error, before the stack ends. */
enum { MOST_GRAPH_DEPTH = 64 };

typedef struct ModelReader {
    Arena *arena;
    Model *model;
    int graph_depth;
    WireError error;
} ModelReader;

/* How a field of a message becomes a part of what it describes. */
typedef void FieldReader(ModelReader *reader, const WireField *field, void *to);

static void read_message(ModelReader *reader, Bytes bytes, FieldReader *read, void *to) {
    WireField field;
    while (wire_next(&bytes, &field, &reader->error))
        read(reader, &field, to);
}

/* --- declared inputs and outputs ---------------------------------------------------------------------------------- */

static void read_size(ModelReader *reader, const WireField *field, void *to) {
    DeclaredSize *size = to;
    if (field->number == 1 && field->kind == WIRE_NUMBER)
        size->size = (int64_t)field->value;
    else if (field->number == 2 && field->kind == WIRE_BYTES)
        size->name = wire_text(reader->arena, field->bytes);
}

static void read_shape(ModelReader *reader, const WireField *field, void *to) {
    Declared *declared = to;
    if (field->number != 1 || field->kind != WIRE_BYTES)
        return;
    DeclaredSize size = {-1, ""};
    read_message(reader, field->bytes, read_size, &size);
    list_push(reader->arena, &declared->shape, size);
}

static void read_tensor_type(ModelReader *reader, const WireField *field, void *to) {
    Declared *declared = to;
    if (field->number == 1 && field->kind == WIRE_NUMBER)
        declared->type = (int)field->value;
    else if (field->number == 2 && field->kind == WIRE_BYTES) {
        declared->has_shape = true;
        read_message(reader, field->bytes, read_shape, declared);
    }
}

static void read_type(ModelReader *reader, const WireField *field, void *to) {
    if (field->number == 1 && field->kind == WIRE_BYTES)
        read_message(reader, field->bytes, read_tensor_type, to);
}

static void read_declared(ModelReader *reader, const WireField *field, void *to) {
    Declared *declared = to;
    if (field->number == 1 && field->kind == WIRE_BYTES)
        declared->name = wire_text(reader->arena, field->bytes);
    else if (field->number == 2 && field->kind == WIRE_BYTES)
        read_message(reader, field->bytes, read_type, declared);
}

/* --- nodes -------------------------------------------------------------------------------------------------------- */

static void read_reals(ModelReader *reader, const WireField *field, Attribute *attribute) {
    Bytes rest = field->bytes;
    for (; rest.end - rest.at >= 4 && field->kind != WIRE_NUMBER; rest.at += 4)
        list_push(reader->arena, &attribute->reals, wire_float((uint32_t)wire_bits(rest.at, 4)));
}

static void read_integers(ModelReader *reader, const WireField *field, Attribute *attribute) {
    Bytes rest = field->bytes;
    uint64_t value;
    if (field->kind == WIRE_NUMBER)
        list_push(reader->arena, &attribute->integers, (int64_t)field->value);
    else
        while (wire_number(&rest, &value, &reader->error))
            list_push(reader->arena, &attribute->integers, (int64_t)value);
}

enum { ATTRIBUTE_NAME = 1, ATTRIBUTE_REAL, ATTRIBUTE_INTEGER, ATTRIBUTE_TEXT, ATTRIBUTE_TENSOR, ATTRIBUTE_GRAPH };
enum { ATTRIBUTE_REALS = 7, ATTRIBUTE_INTEGERS = 8, ATTRIBUTE_REFERENCE = 21 };

static ModelGraph *new_graph(ModelReader *reader, Bytes bytes);

static void read_attribute(ModelReader *reader, const WireField *field, void *to) {
    Attribute *attribute = to;
    bool bytes = field->kind == WIRE_BYTES;
    if (field->number == ATTRIBUTE_NAME && bytes)
        attribute->name = wire_text(reader->arena, field->bytes);
    else if (field->number == ATTRIBUTE_REAL && field->kind == WIRE_FOUR)
        attribute->real = wire_float((uint32_t)field->value);
    else if (field->number == ATTRIBUTE_INTEGER && field->kind == WIRE_NUMBER)
        attribute->integer = (int64_t)field->value;
    else if (field->number == ATTRIBUTE_TEXT && bytes)
        attribute->text = wire_text(reader->arena, field->bytes);
    else if (field->number == ATTRIBUTE_REFERENCE && bytes)
        attribute->reference = wire_text(reader->arena, field->bytes);
    else if (field->number == ATTRIBUTE_TENSOR && bytes)
        attribute->tensor = read_tensor(reader->arena, field->bytes, &reader->error);
    else if (field->number == ATTRIBUTE_GRAPH && bytes)
        attribute->graph = new_graph(reader, field->bytes);
    else if (field->number == ATTRIBUTE_REALS)
        read_reals(reader, field, attribute);
    else if (field->number == ATTRIBUTE_INTEGERS)
        read_integers(reader, field, attribute);
}

static Attribute *new_attribute(ModelReader *reader, Bytes bytes) {
    Attribute *attribute = ARENA_NEW(reader->arena, Attribute);
    attribute->name = attribute->text = attribute->reference = "";
    read_message(reader, bytes, read_attribute, attribute);
    return attribute;
}

enum { NODE_INPUT = 1, NODE_OUTPUT, NODE_NAME, NODE_KIND, NODE_ATTRIBUTE, NODE_DOMAIN = 7 };

static void read_node(ModelReader *reader, const WireField *field, void *to) {
    ModelNode *node = to;
    if (field->kind != WIRE_BYTES)
        return;
    const char *text = field->number == NODE_ATTRIBUTE ? "" : wire_text(reader->arena, field->bytes);
    if (field->number == NODE_INPUT)
        list_push(reader->arena, &node->inputs, text);
    else if (field->number == NODE_OUTPUT)
        list_push(reader->arena, &node->outputs, text);
    else if (field->number == NODE_NAME)
        node->name = text;
    else if (field->number == NODE_KIND)
        node->kind = text;
    else if (field->number == NODE_DOMAIN)
        node->domain = text;
    else if (field->number == NODE_ATTRIBUTE)
        list_push(reader->arena, &node->attributes, new_attribute(reader, field->bytes));
}

/* --- the graph ---------------------------------------------------------------------------------------------------- */

enum { GRAPH_NODE = 1, GRAPH_TENSOR = 5, GRAPH_INPUT = 11, GRAPH_OUTPUT = 12 };

static Declared *new_declared(ModelReader *reader, Bytes bytes) {
    Declared *declared = ARENA_NEW(reader->arena, Declared);
    declared->name = "";
    read_message(reader, bytes, read_declared, declared);
    return declared;
}

static ModelNode *new_node(ModelReader *reader, Bytes bytes) {
    ModelNode *node = ARENA_NEW(reader->arena, ModelNode);
    node->name = node->kind = node->domain = "";
    read_message(reader, bytes, read_node, node);
    return node;
}

static void read_graph(ModelReader *reader, const WireField *field, void *to) {
    ModelGraph *graph = to;
    if (field->kind != WIRE_BYTES)
        return;
    if (field->number == GRAPH_NODE)
        list_push(reader->arena, &graph->nodes, new_node(reader, field->bytes));
    else if (field->number == GRAPH_TENSOR)
        list_push(reader->arena, &graph->tensors, read_tensor(reader->arena, field->bytes, &reader->error));
    else if (field->number == GRAPH_INPUT)
        list_push(reader->arena, &graph->inputs, new_declared(reader, field->bytes));
    else if (field->number == GRAPH_OUTPUT)
        list_push(reader->arena, &graph->outputs, new_declared(reader, field->bytes));
}

static ModelGraph *new_graph(ModelReader *reader, Bytes bytes) {
    ModelGraph *graph = ARENA_NEW(reader->arena, ModelGraph);
    if (++reader->graph_depth <= MOST_GRAPH_DEPTH)
        read_message(reader, bytes, read_graph, graph);
    else if (!reader->error.why)
        reader->error = (WireError){"graphs are inside of too many others", bytes.at};
    reader->graph_depth--;
    return graph;
}

enum { FUNCTION_NAME = 1, FUNCTION_INPUT = 4, FUNCTION_OUTPUT, FUNCTION_NODE = 7, FUNCTION_DOMAIN = 10 };
enum { FUNCTION_DEFAULT = 11 };

static void read_function(ModelReader *reader, const WireField *field, void *to) {
    ModelFunction *function = to;
    if (field->kind != WIRE_BYTES)
        return;
    if (field->number == FUNCTION_NAME)
        function->name = wire_text(reader->arena, field->bytes);
    else if (field->number == FUNCTION_DOMAIN)
        function->domain = wire_text(reader->arena, field->bytes);
    else if (field->number == FUNCTION_INPUT)
        list_push(reader->arena, &function->inputs, wire_text(reader->arena, field->bytes));
    else if (field->number == FUNCTION_OUTPUT)
        list_push(reader->arena, &function->outputs, wire_text(reader->arena, field->bytes));
    else if (field->number == FUNCTION_NODE)
        list_push(reader->arena, &function->nodes, new_node(reader, field->bytes));
    else if (field->number == FUNCTION_DEFAULT)
        list_push(reader->arena, &function->defaults, new_attribute(reader, field->bytes));
}

typedef struct Opset {
    const char *domain;
    int64_t version;
} Opset;

static void read_opset(ModelReader *reader, const WireField *field, void *to) {
    Opset *opset = to;
    if (field->number == 1 && field->kind == WIRE_BYTES)
        opset->domain = wire_text(reader->arena, field->bytes);
    else if (field->number == 2 && field->kind == WIRE_NUMBER)
        opset->version = (int64_t)field->value;
}

enum { MODEL_GRAPH = 7, MODEL_OPSET = 8, MODEL_FUNCTION = 25 };

static void read_model(ModelReader *reader, const WireField *field, void *to) {
    Model *model = to;
    if (field->kind != WIRE_BYTES)
        return;
    if (field->number == MODEL_GRAPH)
        read_message(reader, field->bytes, read_graph, &model->graph);
    else if (field->number == MODEL_FUNCTION) {
        ModelFunction *function = ARENA_NEW(reader->arena, ModelFunction);
        function->name = function->domain = "";
        read_message(reader, field->bytes, read_function, function);
        list_push(reader->arena, &model->functions, function);
    } else if (field->number == MODEL_OPSET) {
        Opset opset = {"", 0};
        read_message(reader, field->bytes, read_opset, &opset);
        if (!*opset.domain || !strcmp(opset.domain, "ai.onnx"))
            model->opset = opset.version;
    }
}

/* --- files -------------------------------------------------------------------------------------------------------- */

bool map_file(const char *path, Bytes *bytes, const char **why) {
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat info;
    void *memory = MAP_FAILED;
    *bytes = (Bytes){NULL, NULL};
    if (file >= 0 && !fstat(file, &info)) {
        errno = S_ISDIR(info.st_mode) ? EISDIR : EINVAL;
        if (S_ISREG(info.st_mode))
            memory = info.st_size ? mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, file, 0) : NULL;
    }
    *why = memory == MAP_FAILED ? strerror(errno) : NULL;
    if (file >= 0)
        close(file);
    if (memory == MAP_FAILED)
        return false;
    if (memory)
        *bytes = (Bytes){memory, (const unsigned char *)memory + info.st_size};
    return true;
}

static void unmap(Bytes bytes) {
    if (bytes.at)
        munmap((void *)bytes.at, (size_t)(bytes.end - bytes.at));
}

void onnx_close(Model *model) {
    unmap(model->file);
    for (int i = 0; i < model->others.count; i++)
        unmap(model->others.items[i].bytes);
}

static bool is_complete(const Model *model) {
    if (!model->graph.outputs.count)
        complain("'%s' is no ONNX model: it has no graph with outputs", model->path);
    else if (model->opset < 1)
        complain("'%s' does not say which version of ONNX's operators it uses", model->path);
    return model->graph.outputs.count && model->opset >= 1;
}

Model *onnx_open(Arena *arena, const char *path) {
    Model *model = ARENA_NEW(arena, Model);
    const char *why;
    model->arena = arena;
    model->path = path;
    if (!map_file(path, &model->file, &why)) {
        complain("cannot read '%s': %s", path, why);
        return NULL;
    }
    ModelReader reader = {.arena = arena, .model = model};
    read_message(&reader, model->file, read_model, model);
    if (reader.error.why)
        complain("'%s' is no ONNX model, or damaged: at byte %lld %s", path,
                 (long long)(reader.error.at - model->file.at), reader.error.why);
    ModelNodes nodes = model->graph.nodes;
    model->graph.nodes = (ModelNodes){0};
    if (!reader.error.why && is_complete(model) && expand_functions(model, &nodes, &model->graph.nodes))
        return model;
    onnx_close(model);
    return NULL;
}
