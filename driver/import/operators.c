/* operators.c - a node by its row of operators.def: whether the row knows its inputs and attributes, and what prints
 * it.
 */
#include "driver/import/nodes/nodes.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef enum ResultKind { RESULT_SAME, RESULT_CAST, RESULT_TRUTH } ResultKind;

static const struct OperatorRow {
    const char *kind;
    void (*print)(Import *import); /* NULL: element by element */
    int least, most;
    const char *attributes;
    ResultKind result;
    const char *value;
} operator_rows[] = {
#define OPERATOR(kind, maker, least, most, attributes) {#kind, print_##maker, least, most, attributes, 0, NULL},
#define ELEMENTWISE(kind, inputs, result, attributes, value)                                                           \
    {#kind, NULL, inputs, inputs, attributes, RESULT_##result, value},
#include "driver/import/operators.def"
};

static const struct LibraryRow {
    const char *kind;
    int rank;
    const char *def;
} library_rows[] = {
#define LIBRARY(kind, rank, def) {#kind, rank, def},
#include "driver/import/operators.def"
};

static const char *const one_type[] = {
#define ONE_TYPE(kind) #kind,
#include "driver/import/operators.def"
};

static const struct OperatorRow *find_row(const char *kind) {
    for (size_t i = 0; i < sizeof operator_rows / sizeof *operator_rows; i++)
        if (!strcmp(operator_rows[i].kind, kind))
            return &operator_rows[i];
    return NULL;
}

static bool has_word(const char *words, const char *word) {
    size_t length = strlen(word);
    for (const char *at = words; (at = strstr(at, word)); at++)
        if ((at == words || at[-1] == ' ') && (at[length] == ' ' || !at[length]))
            return true;
    return false;
}

/* --- element by element ------------------------------------------------------------------------------------------- */

/* {NAME=NUMBER}: the attribute as a number of the type. */
static const char *add_attribute(Import *import, Text *text, const char *at, ElementType type) {
    const char *equals = strchr(at, '=');
    const char *name = arena_strndup(import->arena, at + 1, (size_t)(equals - at - 1));
    double real = attribute_real(import, name, strtod(equals + 1, NULL));
    text_add(text, "%s", number_text(import, (Value){.type = TYPE_FLOAT, .real = real}));
    return strchr(at, '}') + 1;
}

static const char *filled_in(Import *import, const char *value, const char *const *operands, ElementType type) {
    Text text = {.arena = import->arena};
    while (*value) {
        size_t plain = strcspn(value, "${");
        text_add_bytes(&text, value, plain);
        value += plain;
        if (*value == '$') {
            text_add(&text, "%s", operands[value[1] - '0']);
            value += 2;
        } else if (*value)
            value = add_attribute(import, &text, value, type);
    }
    return text.text;
}

static const char *library_def(Import *import, int rank, const Size *shape) {
    for (int i = 0; i < import->node->inputs.count; i++) {
        const Operand *operand = input(import, i);
        bool same = operand->type == TYPE_FLOAT && operand->rank == rank && shape_equal(operand->shape, shape, rank);
        if (!same || (operand->known && size_is(shape_product(import, shape, rank), 1)))
            return NULL;
    }
    for (size_t i = 0; i < sizeof library_rows / sizeof *library_rows; i++)
        if (!strcmp(library_rows[i].kind, import->node->kind) && library_rows[i].rank == rank)
            return library_rows[i].def;
    return NULL;
}

static void print_call(Import *import, const char *def, ElementType type, int rank, const Size *shape) {
    int count = import->node->inputs.count;
    const char **names = ARENA_ARRAY(import->arena, const char *, count + 1);
    for (int i = 0; i < count; i++)
        names[i] = name_of(import, input(import, i));
    const char *call = joined(import, names, count, ", ");
    statement(import, "%s = %s(%s)", output(import, 0, type, rank, shape)->name, def, call);
}

/* Whether an index stands in a value as a word. */
static bool has_index(const char *value, const char *index) {
    size_t length = strlen(index);
    for (const char *at = value; (at = strstr(at, index)); at++) {
        bool begins = at == value || (!isalnum((unsigned char)at[-1]) && at[-1] != '_');
        if (begins && !isalnum((unsigned char)at[length]) && at[length] != '_')
            return true;
    }
    return false;
}

void print_elements(Import *import, int number, ElementType type, int rank, const Size *shape, const char *value) {
    const char **indices = index_names(import, rank);
    bool *needed = ARENA_ARRAY(import->arena, bool, rank + 1);
    for (int d = 0; d < rank; d++) {
        needed[d] = true;
        if (!has_index(value, indices[d]))
            continue;
        for (int i = 0; i < import->node->inputs.count && needed[d]; i++) {
            const Operand *operand = input_or_none(import, i);
            int own = operand ? operand->rank - rank + d : -1;
            bool a_number =
                !operand || (operand->known && size_is(shape_product(import, operand->shape, operand->rank), 1));
            needed[d] = own < 0 || a_number || !sizes_equal(operand->shape[own], shape[d]);
        }
    }
    const char *ranges = where(import, rank, indices, shape, needed);
    const char *name = output(import, number, type, rank, shape)->name;
    statement(import, "%s = %s%s", element(import, name, rank, indices), value, ranges);
}

static void print_elementwise(Import *import, const struct OperatorRow *row) {
    int rank = 0, count = import->node->inputs.count;
    Size *shape = new_shape(import, 0);
    for (int i = 0; i < count; i++)
        broadcast(import, input(import, i), &rank, &shape);
    ElementType type = row->result == RESULT_TRUTH ? TYPE_BOOL : input(import, count - 1)->type;
    const char *def = library_def(import, rank, shape);
    if (def) {
        print_call(import, def, type, rank, shape);
        return;
    }
    const char **indices = index_names(import, rank), **operands = ARENA_ARRAY(import->arena, const char *, count + 1);
    for (int i = 0; i < count; i++)
        operands[i] = read_broadcast(import, input(import, i), rank, shape, indices);
    const char *value = filled_in(import, row->value, operands, type);
    bool narrow = type != TYPE_FLOAT && type != TYPE_DOUBLE && type != TYPE_BOOL;
    bool numbers = !strchr(value, '(');
    if (row->result == RESULT_CAST || (row->result == RESULT_SAME && (narrow || numbers)))
        value = converted(import, type, value);
    print_elements(import, 0, type, rank, shape, value);
}

/* --- nodes -------------------------------------------------------------------------------------------------------- */

/* What said before version 7 that, and where, the second operand is broadcast: at the end, as today, is known. */
static bool is_old_broadcast(Import *import, const struct OperatorRow *row, const char *name) {
    if (import->model->opset >= 7 || row->least != 2)
        return false;
    if (!strcmp(name, "axis")) {
        int first = input(import, 0)->rank, second = input(import, 1)->rank;
        return attribute_integer(import, "axis", 0) == first - second;
    }
    return !strcmp(name, "broadcast") || !strcmp(name, "consumed_inputs");
}

static bool is_known(Import *import, const struct OperatorRow *row) {
    const ModelNode *node = import->node;
    bool ours = !*node->domain || !strcmp(node->domain, "ai.onnx");
    if (!row || !ours)
        refuse_node(import, ours ? "this operator is not known" : "operators of the domain '%s' are not known",
                    node->domain);
    else if (node->inputs.count < row->least || node->inputs.count > row->most)
        refuse_node(import, "it has %d input%s", node->inputs.count, node->inputs.count == 1 ? "" : "s");
    for (int i = 0; row && i < node->attributes.count; i++)
        if (!import->failed && !has_word(row->attributes, node->attributes.items[i]->name) &&
            !is_old_broadcast(import, row, node->attributes.items[i]->name))
            refuse_node(import, "its attribute '%s' is not known", node->attributes.items[i]->name);
    return !import->failed;
}

/* The first input that must have the type of those after it; -1: types may differ. */
static int first_of_one_type(const struct OperatorRow *row) {
    if (!row->print)
        return !strcmp(row->kind, "Where");
    for (size_t i = 0; i < sizeof one_type / sizeof *one_type; i++)
        if (!strcmp(one_type[i], row->kind))
            return 0;
    return -1;
}

static bool has_right_types(Import *import, const struct OperatorRow *row) {
    int first = first_of_one_type(row);
    const Operand *one = first < 0 ? NULL : input(import, first);
    for (int i = first + 1; one && i < import->node->inputs.count; i++) {
        const Operand *other = input_or_none(import, i);
        if (other && other->type != one->type)
            refuse_node(import, "'%s' is %s, but '%s' is %s: its inputs must have one type", one->onnx,
                        element_info[one->type].spelling, other->onnx, element_info[other->type].spelling);
    }
    return !import->failed;
}

static void import_node(Import *import) {
    const struct OperatorRow *row = find_row(import->node->kind);
    if (!is_known(import, row) || !has_right_types(import, row) || fold_node(import) || import->failed)
        return;
    if (row->print)
        row->print(import);
    else
        print_elementwise(import, row);
}

void end_step(Import *import) {
    if (import->text.length)
        list_push(import->arena, &import->steps, ((Step){import->text.text}));
    import->text = (Text){.arena = import->arena};
}

void import_nodes(Import *import, const ModelNodes *nodes) {
    for (int i = 0; i < nodes->count && !import->failed; i++) {
        import->node = nodes->items[i];
        import_node(import);
        end_step(import);
    }
}
