/* sizes.c - sizes of shapes: numbers, and multiples of expressions that are known at run time. */
#include "driver/import/importer.h"
#include <ctype.h>
#include <string.h>

/* More than anybody would read. */
enum { LONGEST = 4096 };

Size size_number(int64_t number) {
    return (Size){number, NULL, 0};
}

Size size_symbol(const char *symbol) {
    return (Size){1, symbol, 0};
}

bool size_known(Size size) {
    return !size.symbol;
}

bool size_is(Size size, int64_t number) {
    return !size.symbol && size.factor == number;
}

bool sizes_equal(Size a, Size b) {
    return a.factor == b.factor && a.addend == b.addend && !a.symbol == !b.symbol &&
           (!a.symbol || !strcmp(a.symbol, b.symbol));
}

Size size_as_symbol(Import *import, Size size) {
    return size.addend ? size_symbol(size_text(import, size)) : size;
}

Size size_product(Import *import, Size a, Size b) {
    if (size_is(a, 1) || size_is(b, 1))
        return size_is(a, 1) ? b : a;
    a = size_as_symbol(import, a);
    b = size_as_symbol(import, b);
    Size product = {0, a.symbol ? a.symbol : b.symbol, 0};
    if (__builtin_mul_overflow(a.factor, b.factor, &product.factor))
        refuse_node(import, "a tensor is too large");
    if (a.symbol && b.symbol && strlen(a.symbol) + strlen(b.symbol) > LONGEST)
        refuse_node(import, "a size is too long an expression");
    else if (a.symbol && b.symbol)
        product.symbol = format(import, "%s * %s", a.symbol, b.symbol);
    if (!product.factor)
        product.symbol = NULL;
    return product;
}

/* What is left of a product of symbols when those of b are taken off its begin or its end; NULL: b is no part. */
static bool symbol_quotient(const char *a, const char *b, const char **quotient) {
    size_t length = b ? strlen(b) : 0;
    *quotient = a;
    if (!b)
        return true;
    if (!a || strncmp(a, b, length))
        return false;
    *quotient = a[length] ? a + length + 3 : NULL;
    return !a[length] || !strncmp(a + length, " * ", 3);
}

bool size_quotient(Size a, Size b, Size *quotient) {
    *quotient = size_number(1);
    if (sizes_equal(a, b) && (a.factor || a.symbol))
        return true;
    if (a.addend || b.addend || !b.factor || a.factor % b.factor ||
        !symbol_quotient(a.symbol, b.symbol, &quotient->symbol))
        return false;
    quotient->factor = a.factor / b.factor;
    return true;
}

Size size_sum(Import *import, Size size, int64_t number) {
    int64_t *sum = size_known(size) ? &size.factor : &size.addend;
    if (__builtin_add_overflow(*sum, number, sum))
        refuse_node(import, "a tensor is too large");
    return size;
}

const char *size_text(Import *import, Size size) {
    if (!size.symbol)
        return format(import, "%lld", (long long)size.factor);
    const char *text =
        size.factor == 1 ? size.symbol : format(import, "%lld * %s", (long long)size.factor, size.symbol);
    if (!size.addend)
        return text;
    return format(import, "(%s %c %llu)", text, size.addend < 0 ? '-' : '+',
                  size.addend < 0 ? -(unsigned long long)size.addend : (unsigned long long)size.addend);
}

Size *new_shape(Import *import, int rank) {
    return ARENA_ARRAY(import->arena, Size, rank + 1);
}

Size *tensor_shape(Import *import, const OnnxTensor *tensor) {
    Size *shape = new_shape(import, tensor->rank);
    for (int d = 0; d < tensor->rank; d++)
        shape[d] = size_number(tensor->shape[d]);
    return shape;
}

Size shape_product(Import *import, const Size *shape, int rank) {
    Size product = size_number(1);
    for (int d = 0; d < rank; d++)
        product = size_product(import, product, shape[d]);
    return product;
}

int64_t known_size(Import *import, Size size) {
    if (!size_known(size))
        refuse_open_size(import, size);
    return size.symbol ? 1 : size.factor;
}

/* --- in messages -------------------------------------------------------------------------------------------------- */

/* The size whose name stands at *at, or NULL; *at goes behind the word or the character there. */
static const Operand *next_size(Import *import, const char **at) {
    const char *begin = *at;
    while (isalnum((unsigned char)**at) || **at == '_')
        ++*at;
    *at += *at == begin;
    const Name *name = name_find(&import->names, arena_strndup(import->arena, begin, (size_t)(*at - begin)));
    return name && name->kind == NAME_SIZE ? name->operand : NULL;
}

const char *size_shown(Import *import, Size size) {
    Text text = {.arena = import->arena};
    for (const char *at = size_text(import, size); *at;) {
        const char *begin = at;
        const Operand *named = next_size(import, &at);
        if (named && strcmp(named->onnx, named->name))
            text_add(&text, "'%s'", named->onnx);
        else
            text_add_bytes(&text, begin, (size_t)(at - begin));
    }
    return text.text;
}

/* The word as a shell reads it. */
static const char *quoted(Import *import, const char *word) {
    bool plain = true;
    Text text = {.arena = import->arena};
    text_add(&text, "'");
    for (const char *at = word; *at; at++) {
        plain = plain && (isalnum((unsigned char)*at) || strchr("_-.,:/@%+", *at));
        text_add_bytes(&text, *at == '\'' ? "'\\''" : at, *at == '\'' ? 4 : 1);
    }
    text_add(&text, "'");
    return plain ? word : text.text;
}

const char *size_options(Import *import, Size size) {
    Text text = {.arena = import->arena};
    text_add(&text, "%s", "");
    for (const char *at = size_text(import, size); *at;) {
        const Operand *named = next_size(import, &at);
        const char *option = named ? format(import, "-D%s=NUMBER", quoted(import, named->onnx)) : "";
        if (!strstr(text.text, option))
            text_add(&text, "%s%s", text.length ? " " : "", option);
    }
    return text.text;
}

void refuse_open_size(Import *import, Size size) {
    refuse_node(import, "the size %s must be known: bind it with %s", size_shown(import, size),
                size_options(import, size));
}

int64_t shape_count(Import *import, const Size *shape, int rank) {
    return known_size(import, shape_product(import, shape, rank));
}

bool shape_known(const Size *shape, int rank) {
    for (int d = 0; d < rank; d++)
        if (!size_known(shape[d]))
            return false;
    return true;
}

bool shape_equal(const Size *a, const Size *b, int rank) {
    for (int d = 0; d < rank; d++)
        if (!sizes_equal(a[d], b[d]))
            return false;
    return true;
}
