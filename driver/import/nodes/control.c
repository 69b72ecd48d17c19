/* control.c - If, Loop and Scan: the nodes of their graphs take the node's place, for a loop those of each step.
 *
 * A condition or a number of steps must be known now. But a condition that is not known may choose between results of
 * one shape: both are computed then, since nodes do nothing but compute.
 */
#include "driver/import/nodes/nodes.h"
#include <string.h>

enum { MOST_STEPS = 4096, MOST_NODES = 1 << 16 /* of all steps of all loops */ };

/* A graph that takes the place of its node. */
typedef struct InnerGraph {
    NodeCopy copy;
    const ModelGraph *graph;
    const char *const *targets; /* names that its outputs get, if they are made inside; "": none */
    NameTable own;              /* names inside: NAME_TENSOR is made by a node, NAME_RESERVED is not */
} InnerGraph;

static const char *name_inside(const NodeCopy *copy, const char *name) {
    const InnerGraph *inside = (const InnerGraph *)copy;
    const Name *own = name_find(&inside->own, name);
    if (!own)
        return name;
    for (int i = 0; i < inside->graph->outputs.count && own->kind == NAME_TENSOR; i++)
        if (!strcmp(inside->graph->outputs.items[i]->name, name) && *inside->targets[i])
            return inside->targets[i];
    return arena_printf(copy->arena, "%s/%s", copy->label, name);
}

static void find_own_names(Import *import, InnerGraph *inside) {
    const ModelGraph *graph = inside->graph;
    for (int i = 0; i < graph->inputs.count; i++)
        name_add(import->arena, &inside->own, graph->inputs.items[i]->name, NAME_RESERVED, NULL);
    for (int i = 0; i < graph->tensors.count; i++)
        name_add(import->arena, &inside->own, graph->tensors.items[i]->name, NAME_RESERVED, NULL);
    for (int i = 0; i < graph->nodes.count; i++)
        for (int k = 0; k < graph->nodes.items[i]->outputs.count; k++)
            if (*graph->nodes.items[i]->outputs.items[k])
                name_add(import->arena, &inside->own, graph->nodes.items[i]->outputs.items[k], NAME_TENSOR, NULL);
}

/* Takes the nodes, with the tensors for the inputs. Returns the tensors of the outputs; after a message they may be
 * anything. */
static Operand **print_inside(Import *import, const ModelGraph *graph, Operand *const *inputs,
                              const char *const *targets) {
    const ModelNode *node = import->node;
    const char *around = import->inside, *label = format(import, "%s_%d", node->kind, ++import->graphs);
    InnerGraph inside = {{import->model->arena, label, name_inside, NULL}, graph, targets, {0}};
    Operand **outputs = ARENA_ARRAY(import->arena, Operand *, graph->outputs.count + 1);
    ModelNodes copies = {0}, nodes = {0};
    find_own_names(import, &inside);
    for (int i = 0; i < graph->tensors.count; i++)
        add_tensor(import, graph->tensors.items[i], name_inside(&inside.copy, graph->tensors.items[i]->name));
    for (int i = 0; i < graph->inputs.count; i++)
        name_add(import->arena, &import->operands, name_inside(&inside.copy, graph->inputs.items[i]->name), NAME_TENSOR,
                 inputs[i]);
    for (int i = 0; i < graph->nodes.count; i++)
        list_push(import->arena, &copies, node_copy(&inside.copy, graph->nodes.items[i]));
    import->failed |= !expand_functions(import->model, &copies, &nodes);
    import->inner_nodes += nodes.count;
    if (import->inner_nodes > MOST_NODES)
        refuse_node(import, "its steps, and those of loops before it, have more than %d nodes", MOST_NODES);
    import->inside = label;
    import_nodes(import, &nodes);
    import->inside = around;
    if (!import->failed)
        import->node = node;
    for (int i = 0; i < graph->outputs.count && !import->failed; i++) {
        outputs[i] = find_operand(import, name_inside(&inside.copy, graph->outputs.items[i]->name));
        if (!outputs[i])
            refuse_node(import, "nothing makes '%s', which it takes from inside", graph->outputs.items[i]->name);
    }
    return outputs;
}

/* The present node's output is that tensor. */
static void set_output(Import *import, int number, Operand *operand) {
    if (has_output(import, number) && !import->failed)
        name_add(import->arena, &import->operands, import->node->outputs.items[number], NAME_TENSOR, operand);
}

static const ModelGraph *graph_of(Import *import, const char *name, int inputs, int outputs) {
    const Attribute *a = attribute(import, name);
    const ModelGraph *graph = a ? a->graph : NULL;
    if (!graph)
        refuse_node(import, "it has no nodes '%s'", name);
    else if (graph->inputs.count != inputs || graph->outputs.count < outputs)
        refuse_node(import, "its nodes '%s' have %d inputs and %d outputs", name, graph->inputs.count,
                    graph->outputs.count);
    return import->failed ? NULL : graph;
}

/* The node's first outputs, as names for those of its graph; the others have none. */
static const char **targets_of(Import *import, const ModelGraph *graph, int count) {
    const char **targets = ARENA_ARRAY(import->arena, const char *, graph->outputs.count + 1);
    for (int i = 0; i < graph->outputs.count; i++)
        targets[i] = i < count && has_output(import, i) ? import->node->outputs.items[i] : "";
    return targets;
}

/* Whether it is one number that is known; that number. */
static bool is_known_number(Import *import, Operand *operand, int64_t *number) {
    bool one = operand->known && size_is(shape_product(import, operand->shape, operand->rank), 1);
    const Element *element = one && !type_is_float(operand->type) ? contents(import, operand) : NULL;
    if (element && !element->symbol)
        *number = element->value.integer;
    return element && !element->symbol;
}

/* A known integer. */
static Operand *known_number(Import *import, ElementType type, int64_t number) {
    Operand *operand = ARENA_NEW(import->arena, Operand);
    *operand = (Operand){.onnx = "", .type = type, .shape = new_shape(import, 0), .known = true};
    operand->elements = ARENA_NEW(import->arena, Element);
    operand->elements->value = (Value){.type = type, .integer = number};
    return operand;
}

/* --- If ----------------------------------------------------------------------------------------------------------- */

/* One of two tensors, by a condition. */
static void print_choice(Import *import, int number, Operand *yes, Operand *no) {
    Operand *condition = input(import, 0);
    if (yes->type != no->type || yes->rank != no->rank || !shape_equal(yes->shape, no->shape, yes->rank)) {
        refuse_node(import,
                    "its condition, '%s', is not known before the program runs, and its branches make '%s' "
                    "with other types or sizes",
                    condition->onnx, import->node->outputs.items[number]);
        return;
    }
    const char **indices = index_names(import, yes->rank), *zeros[] = {"0"};
    const char *chosen = read_at(import, condition, zeros), *a = read_at(import, yes, indices);
    const char *b = read_at(import, no, indices), *ranges = where(import, yes->rank, indices, yes->shape, NULL);
    const char *value = format(import, "%s ? %s : %s", chosen, a, b);
    if (yes->known && no->known)
        value = converted(import, yes->type, value);
    const char *result = output(import, number, yes->type, yes->rank, yes->shape)->name;
    statement(import, "%s = %s%s", element(import, result, yes->rank, indices), value, ranges);
}

void print_if(Import *import) {
    int count = import->node->outputs.count;
    const ModelGraph *yes = graph_of(import, "then_branch", 0, count), *no = graph_of(import, "else_branch", 0, count);
    Operand *condition = input(import, 0);
    if (condition->type != TYPE_BOOL || condition->rank > 1)
        refuse_node(import, "its condition is no truth value");
    if (import->failed)
        return;
    int64_t number;
    if (is_known_number(import, condition, &number)) {
        const ModelGraph *chosen = number ? yes : no;
        Operand **outputs = print_inside(import, chosen, NULL, targets_of(import, chosen, count));
        for (int i = 0; i < count; i++)
            set_output(import, i, outputs[i]);
        return;
    }
    Operand **first = print_inside(import, yes, NULL, targets_of(import, yes, 0));
    Operand **second = print_inside(import, no, NULL, targets_of(import, no, 0));
    for (int i = 0; i < count && !import->failed; i++)
        if (has_output(import, i))
            print_choice(import, i, first[i], second[i]);
}

/* --- steps -------------------------------------------------------------------------------------------------------- */

/* What each step leaves, one after another along a new dimension. */
typedef LIST(Operand *) Rows;

/* A row at some places of a tensor, which has the shape of rows with the axis beside. */
static void print_row(Import *import, const Operand *result, const Operand *row, int axis, int begin, int end) {
    int rank = result->rank;
    const char **indices = index_names(import, rank), **own = ARENA_ARRAY(import->arena, const char *, rank);
    bool *ranged = ARENA_ARRAY(import->arena, bool, rank);
    for (int d = 0, at = 0; d < rank; d++) {
        ranged[d] = d != axis && row->known;
        if (d != axis)
            own[at++] = indices[d];
    }
    const char *value = read_at(import, row, own), *ranges = where(import, rank, indices, result->shape, ranged);
    if (row->known)
        value = converted(import, row->type, value);
    statement(import, "%s = %s%s%s %s in %d:%d", element(import, result->name, rank, indices), value, ranges,
              *ranges ? "," : " where", indices[axis], begin, end);
}

/* The first row is put everywhere, which says how many there are; then the others have their places. */
static void print_rows(Import *import, int number, const Rows *rows, int axis, bool backwards) {
    if (!has_output(import, number) || import->failed)
        return;
    const char *name = import->node->outputs.items[number];
    if (!rows->count) {
        refuse_node(import, "it has no steps, so the sizes of '%s' are not known", name);
        return;
    }
    const Operand *first = rows->items[0];
    int count = rows->count, rank = first->rank + 1;
    Size *shape = new_shape(import, rank);
    axis = axis_of(import, axis, rank);
    for (int d = 0, at = 0; d < rank; d++)
        shape[d] = d == axis ? size_number(count) : first->shape[at++];
    const Operand *result = output(import, number, first->type, rank, shape);
    print_row(import, result, first, axis, 0, count);
    for (int k = 1; k < count && !import->failed; k++) {
        const Operand *row = rows->items[k];
        int place = backwards ? count - 1 - k : k;
        if (row->type != first->type || row->rank != first->rank || !shape_equal(row->shape, first->shape, row->rank))
            refuse_node(import, "its steps make '%s' with other types or sizes", name);
        print_row(import, result, row, axis, place, place + 1);
    }
}

/* Whether the loop goes on to a step. */
static bool goes_on(Import *import, int64_t step, Operand *steps, Operand *condition) {
    int64_t count = INT64_MAX, truth = 1;
    if (steps && !is_known_number(import, steps, &count))
        refuse_node(import, "the number of its steps, '%s', is not known before the program runs", steps->onnx);
    else if (step < count && condition && !is_known_number(import, condition, &truth))
        refuse_node(import, "whether it has a step %lld is not known before the program runs", (long long)step);
    else if (step < count && truth && step == MOST_STEPS)
        refuse_node(import, "it has more than %d steps", MOST_STEPS);
    return !import->failed && step < count && truth;
}

/* Inputs: the number of steps, whether there is a first one, and what the steps carry on. */
void print_loop(Import *import) {
    int carried = import->node->inputs.count - 2;
    const ModelGraph *body = graph_of(import, "body", carried + 2, carried + 1);
    int rows = body ? body->outputs.count - 1 - carried : 0;
    if (!body || import->node->outputs.count > carried + rows) {
        refuse_node(import, "it has %d outputs", import->node->outputs.count);
        return;
    }
    Operand **inputs = ARENA_ARRAY(import->arena, Operand *, carried + 3), *steps = input_or_none(import, 0);
    Rows *made = ARENA_ARRAY(import->arena, Rows, rows + 1);
    inputs[1] = input_or_none(import, 1);
    for (int i = 0; i < carried; i++)
        inputs[2 + i] = input(import, 2 + i);
    for (int64_t step = 0; goes_on(import, step, steps, inputs[1]); step++) {
        inputs[0] = known_number(import, TYPE_INT64, step);
        if (!inputs[1])
            inputs[1] = known_number(import, TYPE_BOOL, 1);
        Operand **outputs = print_inside(import, body, inputs, targets_of(import, body, 0));
        for (int i = 0; i < carried + 1 && !import->failed; i++)
            inputs[1 + i] = outputs[i];
        for (int i = 0; i < rows && !import->failed; i++)
            list_push(import->arena, &made[i], outputs[1 + carried + i]);
    }
    for (int i = 0; i < carried && !import->failed; i++)
        set_output(import, i, inputs[2 + i]);
    for (int i = 0; i < rows; i++)
        print_rows(import, carried + i, &made[i], 0, false);
}

static int64_t listed(Import *import, const char *name, int number) {
    int count;
    const int64_t *list = attribute_integers(import, name, &count);
    return list && number < count ? list[number] : 0;
}

/* The part of a tensor at a step. */
static Operand *print_part(Import *import, Operand *x, int axis, int64_t step) {
    int rank = x->rank - 1;
    const char **indices = index_names(import, rank), **own = ARENA_ARRAY(import->arena, const char *, x->rank);
    Size *shape = new_shape(import, rank);
    for (int d = 0, at = 0; d < x->rank; d++) {
        own[d] = d == axis ? format(import, "%lld", (long long)step) : indices[at];
        if (d != axis)
            shape[at++] = x->shape[d];
    }
    const char *read = element(import, name_of(import, x), x->rank, own);
    Operand *slice =
        new_operand(import, format(import, "%s_%lld", name_of(import, x), (long long)step), x->type, rank, shape);
    slice->name = fresh_name(import, slice->onnx);
    name_add(import->arena, &import->names, slice->name, NAME_TENSOR, slice);
    statement(import, "%s = %s", element(import, slice->name, rank, indices), read);
    end_step(import);
    return slice;
}

/* The steps that the scanned inputs have. */
static int64_t steps_of(Import *import, int states) {
    int64_t steps = -1;
    for (int i = states; i < import->node->inputs.count && !import->failed; i++) {
        Operand *x = input(import, i);
        int axis = axis_of(import, listed(import, "scan_input_axes", i - states), x->rank);
        int64_t own = x->rank ? known_size(import, x->shape[axis]) : -1;
        if (own < 0 || (steps >= 0 && own != steps))
            refuse_node(import, "its inputs have other numbers of steps");
        steps = own;
    }
    if (steps > MOST_STEPS)
        refuse_node(import, "it has more than %d steps", MOST_STEPS);
    return steps;
}

/* Inputs: what the steps carry on, and tensors of which each step has a part. */
void print_scan(Import *import) {
    int count = import->node->inputs.count, states = count - (int)attribute_integer(import, "num_scan_inputs", 0);
    if (import->model->opset < 9 || states < 0 || states >= count)
        refuse_node(import, import->model->opset < 9 ? "before version 9 it is not known" : "it has %d inputs", count);
    const ModelGraph *body = import->failed ? NULL : graph_of(import, "body", count, states);
    int64_t steps = body ? steps_of(import, states) : 0;
    if (import->failed)
        return;
    int rows = body->outputs.count - states;
    Operand **inputs = ARENA_ARRAY(import->arena, Operand *, count + 1);
    Rows *made = ARENA_ARRAY(import->arena, Rows, rows + 1);
    for (int i = 0; i < states; i++)
        inputs[i] = input(import, i);
    for (int64_t step = 0; step < steps && !import->failed; step++) {
        for (int i = states; i < count; i++) {
            bool backwards = listed(import, "scan_input_directions", i - states);
            Operand *x = input(import, i);
            int axis = axis_of(import, listed(import, "scan_input_axes", i - states), x->rank);
            inputs[i] = print_part(import, x, axis, backwards ? steps - 1 - step : step);
        }
        Operand **outputs = print_inside(import, body, inputs, targets_of(import, body, 0));
        for (int i = 0; i < states && !import->failed; i++)
            inputs[i] = outputs[i];
        for (int i = 0; i < rows && !import->failed; i++)
            list_push(import->arena, &made[i], outputs[states + i]);
    }
    for (int i = 0; i < states && !import->failed; i++)
        set_output(import, i, inputs[i]);
    for (int i = 0; i < rows; i++)
        print_rows(import, states + i, &made[i], (int)listed(import, "scan_output_axes", i),
                   listed(import, "scan_output_directions", i));
}
