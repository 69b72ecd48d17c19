/* graphs.c - copies of nodes with other names: those of a function where it is called, those of a graph inside of a
 * node where they take its place.
 */
#include "driver/import/model.h"

static NodeNames names_copy(const NodeCopy *copy, const NodeNames *names) {
    NodeNames result = {0};
    for (int i = 0; i < names->count; i++)
        list_push(copy->arena, &result, copy->name(copy, names->items[i]));
    return result;
}

static Declared *declared_copy(const NodeCopy *copy, const Declared *declared) {
    Declared *result = ARENA_NEW(copy->arena, Declared);
    *result = *declared;
    result->name = copy->name(copy, declared->name);
    return result;
}

static const ModelGraph *graph_copy(const NodeCopy *copy, const ModelGraph *graph) {
    ModelGraph *result = ARENA_NEW(copy->arena, ModelGraph);
    for (int i = 0; i < graph->inputs.count; i++)
        list_push(copy->arena, &result->inputs, declared_copy(copy, graph->inputs.items[i]));
    for (int i = 0; i < graph->outputs.count; i++)
        list_push(copy->arena, &result->outputs, declared_copy(copy, graph->outputs.items[i]));
    for (int i = 0; i < graph->tensors.count; i++) {
        OnnxTensor *tensor = ARENA_NEW(copy->arena, OnnxTensor);
        *tensor = *graph->tensors.items[i];
        tensor->name = copy->name(copy, tensor->name);
        list_push(copy->arena, &result->tensors, tensor);
    }
    for (int i = 0; i < graph->nodes.count; i++)
        list_push(copy->arena, &result->nodes, node_copy(copy, graph->nodes.items[i]));
    return result;
}

static void add_attribute(const NodeCopy *copy, ModelNode *node, const Attribute *inside) {
    const Attribute *given = copy->attribute ? copy->attribute(copy, inside) : inside;
    if (!given)
        return;
    Attribute *result = ARENA_NEW(copy->arena, Attribute);
    *result = *given;
    result->name = inside->name;
    if (given == inside && inside->graph)
        result->graph = graph_copy(copy, inside->graph);
    list_push(copy->arena, &node->attributes, result);
}

ModelNode *node_copy(const NodeCopy *copy, const ModelNode *node) {
    ModelNode *result = ARENA_NEW(copy->arena, ModelNode);
    *result = (ModelNode){.name = node->name, .kind = node->kind, .domain = node->domain};
    if (*node->name)
        result->name = arena_printf(copy->arena, "%s/%s", copy->label, node->name);
    result->inputs = names_copy(copy, &node->inputs);
    result->outputs = names_copy(copy, &node->outputs);
    for (int i = 0; i < node->attributes.count; i++)
        add_attribute(copy, result, node->attributes.items[i]);
    return result;
}
