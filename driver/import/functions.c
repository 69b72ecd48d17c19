/* functions.c - functions of the model: a node that calls one becomes the function's nodes, with the call's tensors and
 * attributes in place of the function's. Tensors inside have the call before their names.
 */
#include "driver/import/model.h"
#include "driver/options.h"
#include <string.h>

/* Calls in calls, and nodes of all calls: more are taken to be without end. */
enum { MOST_DEPTH = 64, MOST_NODES = 1 << 20 };

typedef struct Call {
    Model *model;
    const ModelFunction *function;
    const ModelNode *node;
    const char *label; /* no other call has it */
} Call;

static const ModelFunction *function_of(const Model *model, const ModelNode *node) {
    for (int i = 0; i < model->functions.count; i++) {
        const ModelFunction *function = model->functions.items[i];
        if (!strcmp(function->name, node->kind) && !strcmp(function->domain, node->domain))
            return function;
    }
    return NULL;
}

static int place_of(const NodeNames *names, const char *name) {
    for (int i = 0; i < names->count; i++)
        if (!strcmp(names->items[i], name))
            return i;
    return -1;
}

/* A tensor inside as the call has it; "": the call leaves it out. */
static const char *name_in_call(const Call *call, const char *name) {
    int input = place_of(&call->function->inputs, name), output = place_of(&call->function->outputs, name);
    if (!*name)
        return name;
    if (input >= 0)
        return input < call->node->inputs.count ? call->node->inputs.items[input] : "";
    if (output >= 0 && output < call->node->outputs.count && *call->node->outputs.items[output])
        return call->node->outputs.items[output];
    return arena_printf(call->model->arena, "%s/%s", call->label, name);
}

static NodeNames names_in_call(const Call *call, const NodeNames *names) {
    NodeNames result = {0};
    for (int i = 0; i < names->count; i++)
        list_push(call->model->arena, &result, name_in_call(call, names->items[i]));
    return result;
}

/* One that refers to an attribute of the call is that, or its default; without either the node does not have it. */
static void add_attribute(const Call *call, ModelNode *node, Attribute *inside) {
    if (*inside->reference) {
        const Attribute *given = find_attribute(&call->node->attributes, inside->reference);
        if (!given)
            given = find_attribute(&call->function->defaults, inside->reference);
        if (!given)
            return;
        Attribute *copy = ARENA_NEW(call->model->arena, Attribute);
        *copy = *given;
        copy->name = inside->name;
        inside = copy;
    }
    list_push(call->model->arena, &node->attributes, inside);
}

static ModelNode *node_in_call(const Call *call, const ModelNode *inside) {
    ModelNode *node = ARENA_NEW(call->model->arena, ModelNode);
    *node = (ModelNode){.name = inside->name, .kind = inside->kind, .domain = inside->domain};
    if (*inside->name)
        node->name = arena_printf(call->model->arena, "%s/%s", call->label, inside->name);
    node->inputs = names_in_call(call, &inside->inputs);
    node->outputs = names_in_call(call, &inside->outputs);
    for (int i = 0; i < inside->attributes.count; i++)
        add_attribute(call, node, inside->attributes.items[i]);
    return node;
}

static bool expand_node(Model *model, ModelNode *node, int depth, int *calls);

/* An input that is an output too gets the output's name. */
static bool expand_outputs(const Call *call, int depth, int *calls) {
    bool good = true;
    for (int i = 0; i < call->function->outputs.count && i < call->node->outputs.count && good; i++) {
        const char *name = call->function->outputs.items[i];
        if (place_of(&call->function->inputs, name) < 0)
            continue;
        ModelNode *node = ARENA_NEW(call->model->arena, ModelNode);
        *node = (ModelNode){.name = call->label, .kind = "Identity", .domain = ""};
        list_push(call->model->arena, &node->inputs, name_in_call(call, name));
        list_push(call->model->arena, &node->outputs, call->node->outputs.items[i]);
        good = expand_node(call->model, node, depth, calls);
    }
    return good;
}

static bool expand_call(const Call *call, int depth, int *calls) {
    bool good = depth < MOST_DEPTH && call->model->nodes.count < MOST_NODES;
    if (!good)
        complain("'%s': the function '%s' of the model is called without end", call->model->path, call->node->kind);
    for (int i = 0; i < call->function->nodes.count && good; i++)
        good = expand_node(call->model, node_in_call(call, call->function->nodes.items[i]), depth + 1, calls);
    return good && expand_outputs(call, depth, calls);
}

static bool expand_node(Model *model, ModelNode *node, int depth, int *calls) {
    Call call = {.model = model, .function = function_of(model, node), .node = node};
    if (!call.function) {
        node->number = model->nodes.count;
        list_push(model->arena, &model->nodes, node);
        return true;
    }
    call.label = arena_printf(model->arena, "%s_%d", node->kind, ++*calls);
    return expand_call(&call, depth, calls);
}

bool expand_functions(Model *model) {
    int calls = 0;
    bool good = true;
    if (!model->functions.count)
        return true;
    ModelNodes before = model->nodes;
    model->nodes = (ModelNodes){0};
    for (int i = 0; i < before.count && good; i++)
        good = expand_node(model, before.items[i], 0, &calls);
    return good;
}
