/* statements.c - pieces of source: elements, ranges, conversions, statements of the present node. */
#include "driver/import/importer.h"
#include "lang/terminal.h"
#include <string.h>

void refuse_node(Import *import, const char *format, ...) {
    if (import->failed)
        return;
    import->failed = true;
    va_list arguments;
    va_start(arguments, format);
    const char *what = arena_vprintf(import->arena, format, arguments);
    va_end(arguments);
    const ModelNode *node = import->node;
    if (!node)
        complain("'%s': %s", import->model->path, what);
    else if (*node->name)
        complain("'%s', node '%s' (%s): %s", import->model->path, node->name, node->kind, what);
    else if (import->inside)
        complain("'%s', node %d (%s) inside of %s: %s", import->model->path, node->number, node->kind, import->inside,
                 what);
    else
        complain("'%s', node %d (%s): %s", import->model->path, node->number, node->kind, what);
}

void warn_of_model(const Import *import, const char *format, ...) {
    if (!import->words) /* all is done again */
        return;
    va_list arguments;
    va_start(arguments, format);
    const char *what = arena_vprintf(import->arena, format, arguments);
    va_end(arguments);
    show(stderr, "tensorc: warning: '%s': %s\n", import->model->path, what);
}

const char *format(Import *import, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const char *text = arena_vprintf(import->arena, format, arguments);
    va_end(arguments);
    return text;
}

void statement(Import *import, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    text_add(&import->text, "    %s\n", arena_vprintf(import->arena, format, arguments));
    va_end(arguments);
}

const char *joined(Import *import, const char *const *words, int count, const char *between) {
    Text text = {.arena = import->arena};
    text_add(&text, "%s", "");
    for (int i = 0; i < count; i++)
        text_add(&text, "%s%s", i ? between : "", words[i]);
    return text.text;
}

const char *element(Import *import, const char *name, int rank, const char *const *indices) {
    return format(import, "%s(%s)", name, joined(import, indices, rank, ", "));
}

const char *where(Import *import, int rank, const char *const *indices, const Size *shape, const bool *which) {
    Text text = {.arena = import->arena};
    text_add(&text, "%s", "");
    for (int d = 0; d < rank; d++)
        if (!which || which[d])
            text_add(&text, "%s %s in 0:%s", text.length ? "," : " where", indices[d], size_alone(import, shape[d]));
    return text.text;
}

const char *in_parentheses(Import *import, const char *text) {
    return strchr(text, ' ') ? format(import, "(%s)", text) : text;
}

const char *nothing_of(ElementType type) {
    return type == TYPE_BOOL ? "(0 != 0)" : "0";
}

const char *converted(Import *import, ElementType type, const char *value) {
    return format(import, "%s(%s)", element_info[type].spelling, value);
}

void broadcast(Import *import, const Operand *operand, int *rank, Size **shape) {
    int larger = operand->rank > *rank ? operand->rank : *rank;
    Size *result = new_shape(import, larger);
    for (int d = 0; d < larger; d++) {
        int a = d - (larger - *rank), b = d - (larger - operand->rank);
        Size one = a < 0 ? size_number(1) : (*shape)[a], other = b < 0 ? size_number(1) : operand->shape[b];
        result[d] = size_is(one, 1) ? other : one;
        if (!size_is(one, 1) && !size_is(other, 1) && !sizes_equal(one, other))
            refuse_node(import, "its operands have the sizes %s and %s where they must be equal",
                        size_shown(import, one), size_shown(import, other));
    }
    *rank = larger;
    *shape = result;
}
