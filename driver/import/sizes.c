/* sizes.c - sizes of shapes: numbers, and multiples of expressions that are known at run time. */
#include "driver/import/importer.h"
#include <ctype.h>
#include <stdlib.h>
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

const char *size_alone(Import *import, Size size) {
    const char *text = size_text(import, size), *at = text;
    int depth = 0;
    do
        depth += (*at == '(') - (*at == ')');
    while (*at && *++at && depth);
    bool around = *text == '(' && !*at;
    return around ? arena_strndup(import->arena, text + 1, strlen(text) - 2) : text;
}

/* --- sums of sizes ------------------------------------------------------------------------------------------------ */

/* A sum of sizes that are known at run time is a symbol in parentheses, "(2 * M + N - 1)". Its terms are in the order
 * of their symbols, so that equal sums are equal texts. */
typedef struct SizeTerm {
    int64_t factor;
    const char *symbol;
} SizeTerm;

typedef struct SizeSum {
    Import *import;
    LIST(SizeTerm) terms;
    int64_t number;
} SizeSum;

static void add_term(SizeSum *sum, int64_t factor, const char *symbol) {
    int at = 0;
    while (at < sum->terms.count && strcmp(sum->terms.items[at].symbol, symbol) < 0)
        at++;
    if (at == sum->terms.count || strcmp(sum->terms.items[at].symbol, symbol)) {
        list_push(sum->import->arena, &sum->terms, ((SizeTerm){0}));
        memmove(&sum->terms.items[at + 1], &sum->terms.items[at],
                sizeof *sum->terms.items * (size_t)(sum->terms.count - 1 - at));
        sum->terms.items[at] = (SizeTerm){0, symbol};
    }
    if (__builtin_add_overflow(sum->terms.items[at].factor, factor, &sum->terms.items[at].factor))
        refuse_node(sum->import, "a tensor is too large");
}

static void add_number(SizeSum *sum, int64_t factor, int64_t number) {
    if (__builtin_mul_overflow(factor, number, &number) || __builtin_add_overflow(sum->number, number, &sum->number))
        refuse_node(sum->import, "a tensor is too large");
}

/* Where the sign behind a term stands in a sum without its parentheses; the end where there is none. */
static const char *end_of_term(const char *at) {
    for (int depth = 0; *at; at++) {
        depth += (*at == '(') - (*at == ')');
        if (depth < 0 || (depth == 0 && (!strncmp(at, " + ", 3) || !strncmp(at, " - ", 3))))
            break;
    }
    return at;
}

/* Whether the symbol is a sum as above: one pair of parentheses is around all of it, and no quotient is inside. */
static bool is_sum(const char *symbol) {
    const char *at = symbol + 1;
    if (*symbol != '(' || strstr(symbol, " / "))
        return false;
    while (*(at = end_of_term(at)) == ' ')
        at += 3;
    return !strcmp(at, ")");
}

static void add_symbol(SizeSum *sum, int64_t factor, const char *symbol) {
    if (!is_sum(symbol)) {
        add_term(sum, factor, symbol);
        return;
    }
    int64_t sign = 1;
    for (const char *at = symbol + 1; *at && *at != ')';) {
        const char *end = end_of_term(at);
        const char *term = arena_strndup(sum->import->arena, at, (size_t)(end - at));
        char *rest;
        int64_t number = strtoll(term, &rest, 10);
        if (!*rest)
            add_number(sum, sign * factor, number);
        else if (rest > term && !strncmp(rest, " * ", 3))
            add_symbol(sum, sign * factor * number, rest + 3);
        else
            add_symbol(sum, sign * factor, term);
        sign = !strncmp(end, " - ", 3) ? -1 : 1;
        at = *end == ' ' ? end + 3 : end;
    }
}

static void add_size(SizeSum *sum, Size size, int64_t sign) {
    if (size_known(size))
        add_number(sum, sign, size.factor);
    else {
        add_symbol(sum, sign * size.factor, size.symbol);
        add_number(sum, sign, size.addend);
    }
}

/* As a size: a number, or one symbol and a number. */
static Size size_of_sum(SizeSum *sum) {
    Text text = {.arena = sum->import->arena};
    int left = 0;
    for (int i = 0; i < sum->terms.count; i++)
        if (sum->terms.items[i].factor)
            sum->terms.items[left++] = sum->terms.items[i];
    if (left == 0)
        return size_number(sum->number);
    if (left == 1)
        return (Size){sum->terms.items[0].factor, sum->terms.items[0].symbol, sum->number};
    for (int pass = 0; pass < 2; pass++) /* what is taken off stands behind */
        for (int i = 0; i < left; i++) {
            SizeTerm term = sum->terms.items[i];
            if ((term.factor < 0) != pass)
                continue;
            text_add(&text, "%s", text.length ? pass ? " - " : " + " : pass ? "(0 - " : "(");
            if (llabs(term.factor) != 1)
                text_add(&text, "%lld * ", llabs(term.factor));
            text_add(&text, "%s", term.symbol);
        }
    text_add(&text, ")");
    if (text.length > (size_t)LONGEST)
        refuse_node(sum->import, "a size is too long an expression");
    return (Size){1, text.text, sum->number};
}

Size size_add(Import *import, Size a, Size b) {
    SizeSum sum = {.import = import};
    add_size(&sum, a, 1);
    add_size(&sum, b, 1);
    return size_of_sum(&sum);
}

Size size_subtract(Import *import, Size a, Size b) {
    SizeSum sum = {.import = import};
    add_size(&sum, a, 1);
    add_size(&sum, b, -1);
    return size_of_sum(&sum);
}

Size size_steps(Import *import, Size distance, int64_t by) {
    if (size_known(distance) || distance.factor < 0)
        return size_number(distance.factor > 0 ? (distance.factor - 1) / by + 1 : 0);
    return by == 1 ? distance
                   : size_symbol(format(import, "(%s / %lld)", size_text(import, size_sum(import, distance, by - 1)),
                                        (long long)by));
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
