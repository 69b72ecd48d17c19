/* fold.c - computes a node now where all that it reads is known: the arithmetic of shapes. A size that is known at run
 * time stays a symbol, as far as sums and products of sizes go. What is too large to be worth it is left to the
 * program.
 */
#include "driver/import/importer.h"
#include <math.h>
#include <string.h>

/* Floats are weights unless they are few. */
enum { MOST_INTEGERS = 1 << 16, MOST_REALS = 64 };

/* --- elements by their places ------------------------------------------------------------------------------------- */

typedef struct Folded {
    Import *import;
    int rank;
    const Size *shape;
    int64_t count;
    Element *elements;
    int64_t *at; /* the place of the present element */
} Folded;

static int64_t most_of(ElementType type) {
    return type_is_float(type) ? MOST_REALS : MOST_INTEGERS;
}

/* Room for a result; false: it is too large or not known. */
static bool folded_new(Import *import, Folded *f, ElementType type, int rank, const Size *shape) {
    Size count = shape_known(shape, rank) ? shape_product(import, shape, rank) : size_number(INT64_MAX);
    *f = (Folded){import, rank, shape, count.factor, NULL, NULL};
    if (count.factor > most_of(type) || count.factor < 0)
        return false;
    f->elements = ARENA_ARRAY(import->arena, Element, count.factor + 1);
    f->at = ARENA_ARRAY(import->arena, int64_t, rank + 1);
    return true;
}

static void folded_step(Folded *f) {
    for (int d = f->rank - 1; d >= 0 && ++f->at[d] == f->shape[d].factor; d--)
        f->at[d] = 0;
}

/* The element of an operand that is broadcast to the present place. */
static const Element *broadcast_element(const Folded *f, const Operand *x, const Element *elements) {
    int64_t place = 0;
    for (int d = 0; d < x->rank; d++)
        place = place * x->shape[d].factor + (x->shape[d].factor == 1 ? 0 : f->at[f->rank - x->rank + d]);
    return &elements[place];
}

/* --- arithmetic --------------------------------------------------------------------------------------------------- */

static const struct FoldedOperator {
    const char *kind;
    Op op;
    int operands;
} folded_operators[] = {
    {"Abs", OP_ABS, 1},      {"Add", OP_ADD, 2},           {"And", OP_AND, 2},   {"Ceil", OP_CEIL, 1},
    {"Div", OP_DIV, 2},      {"Equal", OP_EQ, 2},          {"Exp", OP_EXP, 1},   {"Floor", OP_FLOOR, 1},
    {"Greater", OP_GT, 2},   {"GreaterOrEqual", OP_GE, 2}, {"Less", OP_LT, 2},   {"LessOrEqual", OP_LE, 2},
    {"Log", OP_LOG, 1},      {"Max", OP_MAX, 2},           {"Min", OP_MIN, 2},   {"Mod", OP_MOD, 2},
    {"Mul", OP_MUL, 2},      {"Neg", OP_NEG, 1},           {"Not", OP_NOT, 1},   {"Or", OP_OR, 2},
    {"Pow", OP_POW, 2},      {"Round", OP_RINT, 1},        {"Sqrt", OP_SQRT, 1}, {"Sub", OP_SUB, 2},
    {"Where", OP_SELECT, 3},
};

/* Of integers. A number less a size stays open: it may be below 0. */
static bool fold_symbols(Import *import, Op op, const Element *a, const Element *b, Element *result) {
    Size x = size_of_element(a), y = size_of_element(b), size = {0, NULL, 0};
    if (op == OP_MUL)
        size = size_product(import, x, y);
    else if (op == OP_ADD)
        size = size_add(import, x, y);
    else if (op == OP_SUB && !size_known(x))
        size = size_subtract(import, x, y);
    else if (op == OP_DIV && !size_quotient(x, y, &size) && size_known(y) && y.factor > 0)
        size = size_symbol(format(import, "(%s / %lld)", size_text(import, x), (long long)y.factor));
    else if (op == OP_EQ && (sizes_equal(x, y) || (size_known(y) && y.factor < 0))) {
        *result = (Element){{.type = TYPE_BOOL, .integer = sizes_equal(x, y)}, NULL};
        return true;
    } else if (op != OP_DIV)
        return false;
    size = size_as_symbol(import, size);
    *result = (Element){{.type = a->value.type, .integer = size.factor}, size.symbol};
    return size.factor || op != OP_DIV;
}

/* Quotients and remainders as ONNX has them: towards 0, and with `fmod` the sign of the dividend. */
static Value fold_values(Import *import, Op op, Value *values) {
    bool is_integer = type_is_integer(values[0].type);
    int64_t a = values[0].integer, b = values[1].integer;
    if (op == OP_DIV && is_integer && b)
        return (Value){.type = values[0].type, .integer = b == -1 ? (int64_t) - (uint64_t)a : a / b};
    if (op == OP_MOD && is_integer && b && attribute_integer(import, "fmod", 0))
        return (Value){.type = values[0].type, .integer = b == -1 ? 0 : a % b};
    return value_apply(op, values);
}

static bool fold_element(Import *import, Op op, int count, const Element *const *operands, Element *result) {
    Value values[3];
    bool symbols = false;
    for (int i = 0; i < count; i++) {
        values[i] = operands[i]->value;
        symbols = symbols || operands[i]->symbol;
    }
    if (op == OP_SELECT && !operands[0]->symbol) {
        *result = *operands[values[0].integer ? 1 : 2];
        return true;
    }
    if (symbols)
        return count == 2 && fold_symbols(import, op, operands[0], operands[1], result);
    if (count == 2 && values[0].type != values[1].type)
        values[1] = value_cast(values[1], values[0].type);
    *result = (Element){fold_values(import, op, values), NULL};
    return true;
}

static bool fold_operator(Import *import, const struct FoldedOperator *row) {
    int rank = 0;
    Size *shape = new_shape(import, 0);
    Operand *operands[3];
    const Element *all[3], *each[3];
    Folded f;
    if (import->node->inputs.count != row->operands)
        return false;
    for (int i = 0; i < row->operands; i++) {
        operands[i] = input(import, i);
        all[i] = contents(import, operands[i]);
        broadcast(import, operands[i], &rank, &shape);
        if (!all[i] || (row->op == OP_POW && !type_is_float(operands[i]->type)))
            return false;
    }
    ElementType type = operands[row->operands - 1]->type;
    if (import->failed || !folded_new(import, &f, type, rank, shape))
        return false;
    for (int64_t i = 0; i < f.count; i++, folded_step(&f)) {
        for (int k = 0; k < row->operands; k++)
            each[k] = broadcast_element(&f, operands[k], all[k]);
        if (!fold_element(import, row->op, row->operands, each, &f.elements[i]))
            return false;
    }
    known_output(import, 0, f.count ? f.elements[0].value.type : type, rank, shape, f.elements);
    return true;
}

/* --- places ------------------------------------------------------------------------------------------------------- */

static bool fold_gather(Import *import) {
    Operand *x = input(import, 0), *at = input(import, 1);
    const Element *from = contents(import, x), *places = contents(import, at);
    int axis = axis_of(import, attribute_integer(import, "axis", 0), x->rank);
    Folded f;
    if (!from || !places || axis || !x->rank || import->failed)
        return false;
    int rank = at->rank + x->rank - 1;
    Size *shape = new_shape(import, rank);
    for (int d = 0; d < rank; d++)
        shape[d] = d < at->rank ? at->shape[d] : x->shape[d - at->rank + 1];
    int64_t below = shape_count(import, x->shape + 1, x->rank - 1), size = x->shape[0].factor;
    if (!folded_new(import, &f, x->type, rank, shape))
        return false;
    for (int64_t i = 0; i < f.count; i++) {
        int64_t place = places[i / below].value.integer;
        place = place < 0 ? place + size : place;
        if (places[i / below].symbol || place < 0 || place >= size) {
            refuse_node(import, "its index %lld is outside", (long long)place);
            return true;
        }
        f.elements[i] = from[place * below + i % below];
    }
    known_output(import, 0, x->type, rank, shape, f.elements);
    return true;
}

/* Of lists. */
static bool fold_slice(Import *import) {
    Operand *x = input(import, 0);
    const Element *from = contents(import, x);
    int counts[5];
    const Element *lists[5] = {NULL};
    if (!from || x->rank != 1 || import->node->inputs.count < 3)
        return false;
    for (int i = 1; i < import->node->inputs.count; i++) {
        lists[i] = input_or_none(import, i) ? integers(import, i, "a list of the slice", &counts[i]) : NULL;
        if (lists[i] && (counts[i] != 1 || lists[i]->symbol))
            return false;
    }
    if (import->failed || !lists[1] || !lists[2])
        return false;
    int64_t size = x->shape[0].factor, begin = lists[1]->value.integer, end = lists[2]->value.integer;
    int64_t step = lists[4] ? lists[4]->value.integer : 1, last = step > 0 ? size : size - 1, first = step > 0 ? 0 : -1;
    begin = begin < 0 ? begin + size : begin;
    end = end < 0 ? end + size : end;
    begin = begin < 0 ? 0 : begin > last ? last : begin;
    end = end < first ? first : end > last ? last : end;
    Element *elements = ARENA_ARRAY(import->arena, Element, size + 1);
    int64_t count = 0;
    for (int64_t i = begin; step && (step > 0 ? i < end : i > end) && count < size; i += step)
        elements[count++] = from[i];
    Size shape = size_number(count);
    known_output(import, 0, x->type, 1, &shape, elements);
    return step != 0;
}

/* Of lists. */
static bool fold_concat(Import *import) {
    LIST(Element) all = {0};
    ElementType type = input(import, 0)->type;
    for (int i = 0; i < import->node->inputs.count; i++) {
        Operand *x = input(import, i);
        const Element *from = contents(import, x);
        if (!from || x->rank != 1 || all.count + x->shape[0].factor > most_of(type))
            return false;
        for (int64_t k = 0; k < x->shape[0].factor; k++)
            list_push(import->arena, &all, from[k]);
    }
    Size shape = size_number(all.count);
    known_output(import, 0, type, 1, &shape, all.items ? all.items : ARENA_NEW(import->arena, Element));
    return true;
}

/* Of lists. */
static bool fold_split(Import *import) {
    Operand *x = input(import, 0);
    const Element *from = contents(import, x);
    Size *sizes = from && x->rank == 1 ? split_sizes(import, x->shape[0]) : NULL, all = size_number(0);
    int outputs = import->node->outputs.count;
    for (int i = 0; sizes && i < outputs; i++)
        all = size_add(import, all, sizes[i]);
    if (!sizes || !shape_known(sizes, outputs) || !sizes_equal(all, x->shape[0]))
        return import->failed;
    for (int i = 0; i < outputs; from += sizes[i++].factor) {
        Element *part = ARENA_ARRAY(import->arena, Element, sizes[i].factor + 1);
        if (sizes[i].factor)
            memcpy(part, from, sizeof *part * (size_t)sizes[i].factor);
        if (has_output(import, i))
            known_output(import, i, x->type, 1, &sizes[i], part);
    }
    return true;
}

static bool fold_cast(Import *import) {
    Operand *x = input(import, 0);
    const Element *from = contents(import, x);
    ElementType type;
    Folded f;
    if (!from || !onnx_type((int)attribute_integer(import, "to", 0), &type) ||
        !folded_new(import, &f, type, x->rank, x->shape))
        return false;
    for (int64_t i = 0; i < f.count; i++) {
        if (from[i].symbol && !type_is_integer(type))
            return false;
        f.elements[i] = (Element){value_cast(from[i].value, type), from[i].symbol};
    }
    known_output(import, 0, type, x->rank, x->shape, f.elements);
    return true;
}

/* --- made of sizes ------------------------------------------------------------------------------------------------ */

static bool fold_range(Import *import) {
    const Element *ends[3];
    double real[3];
    ElementType type = input(import, 0)->type;
    for (int i = 0; i < 3; i++) {
        ends[i] = contents(import, input(import, i));
        if (!ends[i] || ends[i]->symbol || input(import, i)->rank > 1)
            return false;
        real[i] = value_cast(ends[i]->value, TYPE_DOUBLE).real;
    }
    double count = ceil((real[1] - real[0]) / real[2]);
    Size shape = size_number(count > 0 && count < INT32_MAX ? (int64_t)count : 0);
    Folded f;
    if (!real[2] || count >= INT32_MAX || !folded_new(import, &f, TYPE_INT64, 1, &shape))
        return false;
    for (int64_t i = 0; i < f.count; i++) {
        f.elements[i].value = value_cast((Value){.type = TYPE_DOUBLE, .real = real[0] + (double)i * real[2]}, type);
        if (type_is_integer(type))
            f.elements[i].value.integer = ends[0]->value.integer + i * ends[2]->value.integer;
    }
    known_output(import, 0, type, 1, &shape, f.elements);
    return true;
}

/* A shape that an input lists. NULL: it has run-time sizes. */
static Size *listed_shape(Import *import, int number, int *rank) {
    const Element *sizes = integers(import, number, "the shape", rank);
    Size *shape = new_shape(import, *rank);
    for (int d = 0; d < *rank; d++) {
        shape[d] = size_number(sizes[d].value.integer);
        if (sizes[d].symbol || shape[d].factor < 0)
            return NULL;
    }
    return shape;
}

static bool fold_filled(Import *import) {
    const Attribute *a = attribute(import, "value");
    int rank;
    const Size *shape = listed_shape(import, 0, &rank);
    Folded f;
    Operand value = {.tensor = a ? a->tensor : NULL, .known = true};
    if (!a || !value.tensor || value.tensor->count != 1 || !onnx_type(value.tensor->type, &value.type))
        return false;
    const Element *element = contents(import, &value);
    if (!shape || !element || type_is_float(value.type) || !folded_new(import, &f, value.type, rank, shape))
        return false;
    for (int64_t i = 0; i < f.count; i++)
        f.elements[i] = *element;
    known_output(import, 0, value.type, rank, shape, f.elements);
    return true;
}

static bool fold_expand(Import *import) {
    Operand *x = input(import, 0), wanted = {.known = true};
    const Element *from = contents(import, x);
    wanted.shape = listed_shape(import, 1, &wanted.rank);
    Folded f;
    if (!from || !wanted.shape || import->failed)
        return false;
    int rank = x->rank;
    Size *shape = x->shape;
    broadcast(import, &wanted, &rank, &shape);
    if (import->failed || !folded_new(import, &f, x->type, rank, shape))
        return false;
    for (int64_t i = 0; i < f.count; i++, folded_step(&f))
        f.elements[i] = *broadcast_element(&f, x, from);
    known_output(import, 0, x->type, rank, shape, f.elements);
    return true;
}

/* The product of a list. */
static bool fold_product(Import *import) {
    Operand *x = input(import, 0);
    const Element *from = contents(import, x);
    Size product = size_number(1), one = size_number(1);
    if (!from || x->rank != 1 || !type_is_integer(x->type))
        return false;
    for (int64_t i = 0; i < x->shape[0].factor; i++)
        product = size_product(import, product, size_of_element(&from[i]));
    product = size_as_symbol(import, product);
    Element *element = ARENA_NEW(import->arena, Element);
    *element = (Element){{.type = x->type, .integer = product.factor}, product.symbol};
    known_output(import, 0, x->type, attribute_integer(import, "keepdims", 1) != 0, &one, element);
    return true;
}

static const struct Folder {
    const char *kind;
    bool (*fold)(Import *import);
} folders[] = {{"Cast", fold_cast},          {"Concat", fold_concat}, {"ConstantOfShape", fold_filled},
               {"Expand", fold_expand},      {"Gather", fold_gather}, {"Range", fold_range},
               {"ReduceProd", fold_product}, {"Slice", fold_slice},   {"Split", fold_split}};

bool fold_node(Import *import) {
    const char *kind = import->node->kind;
    for (int i = 0; i < import->node->inputs.count; i++)
        if (!input_or_none(import, i) || !input(import, i)->known)
            return import->failed;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (!strcmp(folders[i].kind, kind))
            return folders[i].fold(import);
    for (size_t i = 0; i < sizeof folded_operators / sizeof *folded_operators; i++)
        if (!strcmp(folded_operators[i].kind, kind))
            return fold_operator(import, &folded_operators[i]);
    return false;
}
