/* functions.c - functions of the model: a node that calls one becomes the function's nodes, with the call's tensors and
 * attributes in place of the function's. Tensors inside have the call before their names.
 */
#include "driver/import/model.h"
#include "driver/options.h"
#include <string.h>

/* Calls in calls, and nodes of all calls: more are taken to be without end. */
enum { MOST_DEPTH = 64, MOST_NODES = 1 << 20 };

typedef struct Call {
    NodeCopy copy; /* of the function's nodes */
    Model *model;
    const ModelFunction *function;
    const ModelNode *node;
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
static const char *name_in_call(const NodeCopy *copy, const char *name) {
    const Call *call = (const Call *)copy;
    int input = place_of(&call->function->inputs, name), output = place_of(&call->function->outputs, name);
    if (!*name)
        return name;
    if (input >= 0)
        return input < call->node->inputs.count ? call->node->inputs.items[input] : "";
    if (output >= 0 && output < call->node->outputs.count && *call->node->outputs.items[output])
        return call->node->outputs.items[output];
    return arena_printf(copy->arena, "%s/%s", copy->label, name);
}

/* One that refers to an attribute of the call is that, or its default; without either the node does not have it. */
static const Attribute *attribute_in_call(const NodeCopy *copy, const Attribute *inside) {
    const Call *call = (const Call *)copy;
    if (!*inside->reference)
        return inside;
    const Attribute *given = find_attribute(&call->node->attributes, inside->reference);
    return given ? given : find_attribute(&call->function->defaults, inside->reference);
}

static bool expand_node(Model *model, ModelNode *node, int depth, ModelNodes *to);

/* An input that is an output too gets the output's name. */
static bool expand_outputs(const Call *call, int depth, ModelNodes *to) {
    bool good = true;
    for (int i = 0; i < call->function->outputs.count && i < call->node->outputs.count && good; i++) {
        const char *name = call->function->outputs.items[i];
        if (place_of(&call->function->inputs, name) < 0)
            continue;
        ModelNode *node = ARENA_NEW(call->model->arena, ModelNode);
        *node = (ModelNode){.name = call->copy.label, .kind = "Identity", .domain = ""};
        list_push(call->model->arena, &node->inputs, name_in_call(&call->copy, name));
        list_push(call->model->arena, &node->outputs, call->node->outputs.items[i]);
        good = expand_node(call->model, node, depth, to);
    }
    return good;
}

static bool expand_call(const Call *call, int depth, ModelNodes *to) {
    bool good = depth < MOST_DEPTH && to->count < MOST_NODES;
    if (!good)
        complain("'%s': the function '%s' of the model is called without end", call->model->path, call->node->kind);
    for (int i = 0; i < call->function->nodes.count && good; i++)
        good = expand_node(call->model, node_copy(&call->copy, call->function->nodes.items[i]), depth + 1, to);
    return good && expand_outputs(call, depth, to);
}

static bool expand_node(Model *model, ModelNode *node, int depth, ModelNodes *to) {
    Call call = {{model->arena, "", name_in_call, attribute_in_call}, model, function_of(model, node), node};
    if (!call.function) {
        node->number = to->count;
        list_push(model->arena, to, node);
        return true;
    }
    call.copy.label = arena_printf(model->arena, "%s_%d", node->kind, ++model->calls);
    return expand_call(&call, depth, to);
}

bool expand_functions(Model *model, const ModelNodes *nodes, ModelNodes *to) {
    bool good = true;
    for (int i = 0; i < nodes->count && good; i++)
        good = expand_node(model, nodes->items[i], 0, to);
    return good;
}
