/* random_program.c - see random_program.h.
 *
 * Statements are made over the tensors known so far. Every expression is made for a type, so that the program is valid
 * by construction: operands are converted where their types differ, reads that may be outside have an `else`, and the
 * ranges of indices are stated. Values stay moderate: divisors are kept away from 0 for floats, arguments of exp small.
 */
#include "random_program.h"
#include <string.h>

enum { RANK_LIMIT = 3, INDEX_LIMIT = 6 };

typedef struct Known {
    const char *name;
    ElementType type;
    int rank, sizes[RANK_LIMIT]; /* numbers of size names */
    int step;                    /* its index that counts the steps of the scan that is being made, or -1 */
    bool defined;                /* by a statement of that scan */
    bool written, read, result;  /* result: has to be one, since its first definition reads the caller's buffer */
    bool shifted;                /* its indices do not begin at 0 */
    bool constant;               /* declared const */
    bool inout;                  /* a result that begins with what the caller's buffer holds */
} Known;

typedef struct Generator {
    Arena *arena;
    Text text; /* the statements */
    uint64_t state;
    const struct Binding *bindings;
    LIST(Known) tensors;
    int scalar_count;
    ElementType scalars[2];
    bool in_scan;    /* conditions may read what the scan makes: no gather is checked beforehand */
    bool gathering;  /* making an index that is read from memory */
    int index_count; /* of the statement that is being made */
    const char *index_names[INDEX_LIMIT];
    int index_sizes[INDEX_LIMIT]; /* -1: a small range of its own */
    bool all;                     /* what random_program_of_all has */
    bool in_def;                  /* of a def that is called: only its own sizes */
    bool sizes[RANDOM_SIZES];     /* that may be named */
    const char *let;              /* a name for an expression of the type let_type, or NULL */
    ElementType let_type;
    bool typed;  /* what is being made has more than reads of recurrences in it: a type of its own */
    Text before; /* combiners and defs */
    int made;    /* tensors, defs and the like, for names */
} Generator;

static const char *const size_names[RANDOM_SIZES] = {"N", "M", "K"};

static int below(Generator *g, int limit) {
    uint64_t z = g->state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (int)((z ^ z >> 31) % (uint64_t)limit);
}

static const char *format(Generator *g, const char *template, ...) {
    va_list arguments;
    va_start(arguments, template);
    const char *text = arena_vprintf(g->arena, template, arguments);
    va_end(arguments);
    return text;
}

static ElementType random_type(Generator *g) {
    static const ElementType types[] = {TYPE_FLOAT,  TYPE_FLOAT,  TYPE_FLOAT, TYPE_FLOAT,   TYPE_FLOAT, TYPE_DOUBLE,
                                        TYPE_INT32,  TYPE_INT32,  TYPE_INT8,  TYPE_UINT8,   TYPE_INT64, TYPE_INT16,
                                        TYPE_UINT16, TYPE_UINT32, TYPE_HALF,  TYPE_BFLOAT16};
    if (g->all && below(g, 30) == 0)
        return TYPE_UINT64;
    return types[below(g, sizeof types / sizeof *types)];
}

static int random_size(Generator *g) {
    int size = below(g, RANDOM_SIZES);
    for (int i = 0; i < RANDOM_SIZES && g->in_def && !g->sizes[size]; i++)
        size = (size + 1) % RANDOM_SIZES;
    return size;
}

static const char *spelling(ElementType type) {
    return element_info[type].spelling;
}

/* --- expressions -------------------------------------------------------------------------------------------------- */

static const char *value(Generator *g, ElementType type, int depth);
static const char *read_of(Generator *g, Known *tensor);

static const char *literal(Generator *g, ElementType type) {
    static const char *const reals[] = {"0.5", "1.0", "-0.25", "3.0", "0.1", "-1.0", "2.5e-1"};
    static const char *const integers[] = {"0", "1", "2", "3", "-1", "7", "-5", "100"};
    bool real = type_is_float(type);
    const char *text = real ? reals[below(g, 7)] : integers[below(g, 8)];
    return type == TYPE_FLOAT || type == TYPE_INT32 ? format(g, "(%s)", text)
                                                    : format(g, "%s(%s)", spelling(type), text);
}

/* An index that runs over the size, or NULL. */
static const char *index_of_size(Generator *g, int size) {
    int start = g->index_count ? below(g, g->index_count) : 0;
    for (int i = 0; i < g->index_count; i++)
        if (g->index_sizes[(start + i) % g->index_count] == size)
            return g->index_names[(start + i) % g->index_count];
    return NULL;
}

static const char *any_index(Generator *g) {
    return g->index_names[below(g, g->index_count)];
}

/* An index that is read from an integer tensor, or NULL. */
static const char *gathered_index(Generator *g) {
    Known *tensor = &g->tensors.items[below(g, g->tensors.count)];
    bool wide = tensor->type == TYPE_INT64; /* its values may be so large that sums with them wrap */
    if (!type_is_integer(tensor->type) || tensor->type == TYPE_UINT64 || g->gathering)
        return NULL;
    g->gathering = true;
    const char *read = read_of(g, tensor);
    g->gathering = false;
    return below(g, 2) || wide ? read : format(g, "%s + %d", read, below(g, 4) - 1);
}

/* A sum of indices that may lie anywhere. */
static const char *far_index(Generator *g) {
    const char *gathered = below(g, 8) ? NULL : gathered_index(g);
    if (gathered)
        return gathered;
    if (g->index_count == 0)
        return format(g, "%d", below(g, 4) - 1);
    switch (below(g, 7)) {
    case 0: return format(g, "%s + %d", any_index(g), below(g, 5) - 2);
    case 1: return format(g, "2*%s + %s - 1", any_index(g), any_index(g));
    case 2: return format(g, "%s/2", any_index(g));
    case 3: return format(g, "%s%%3 + %d", any_index(g), below(g, 2));
    case 4: return format(g, "%s - %s", any_index(g), any_index(g));
    case 5: return format(g, "%s - 1 - %s", size_names[random_size(g)], any_index(g));
    default: return any_index(g);
    }
}

/* Of a tensor without elements there is no edge. */
static const char *otherwise(Generator *g, const Known *tensor) {
    static const char *const modes[] = {"edge", "wrap", "reflect"};
    bool empty = false;
    for (int d = 0; d < tensor->rank; d++)
        empty |= g->bindings[tensor->sizes[d]].value == 0;
    return empty || below(g, 3) ? literal(g, tensor->type) : modes[below(g, 3)];
}

/* The read of an int32 input by indices that are inside, for a checked gather; or NULL. */
static const char *checked_index(Generator *g) {
    Known *tensor = &g->tensors.items[below(g, g->tensors.count)];
    Text text = {.arena = g->arena};
    bool inside = !tensor->written && tensor->type == TYPE_INT32;
    for (int d = 0; d < tensor->rank; d++)
        inside = inside && index_of_size(g, tensor->sizes[d]);
    if (!inside)
        return NULL;
    text_add(&text, "%s(", tensor->name);
    for (int d = 0; d < tensor->rank; d++)
        text_add(&text, "%s%s", d ? ", " : "", index_of_size(g, tensor->sizes[d]));
    text_add(&text, ")");
    tensor->read = true;
    return text.text;
}

/* One index is read from memory and has no else. */
static const char *checked_gather(Generator *g, Known *tensor) {
    Text text = {.arena = g->arena};
    const char *gathered = checked_index(g);
    int at = tensor->rank ? below(g, tensor->rank) : 0;
    for (int d = 0; d < tensor->rank; d++)
        if (d != at && !index_of_size(g, tensor->sizes[d]))
            return NULL;
    if (!gathered || !tensor->rank || tensor->shifted)
        return NULL;
    text_add(&text, "%s(", tensor->name);
    for (int d = 0; d < tensor->rank; d++)
        text_add(&text, "%s%s", d ? ", " : "", d == at ? gathered : index_of_size(g, tensor->sizes[d]));
    text_add(&text, ")");
    tensor->read = true;
    return text.text;
}

/* A read of the tensor, of its own type: inside by its indices, or with an else. What a scan is making is read at this
 * step, once it is defined there, or at an earlier one. */
static const char *read_of(Generator *g, Known *tensor) {
    Text text = {.arena = g->arena};
    bool gathers = g->all && !g->gathering && !g->in_scan && below(g, 10) == 0;
    const char *checked = gathers ? checked_gather(g, tensor) : NULL;
    if (checked)
        return checked;
    bool inside = !tensor->shifted && (tensor->rank == 0 || below(g, 4) != 0);
    int distance = tensor->step < 0 || (tensor->defined && below(g, 2)) ? 0 : 1 + below(g, 2);
    for (int d = 0; d < tensor->rank; d++)
        inside = inside && (d == tensor->step || index_of_size(g, tensor->sizes[d]));
    bool read_inside = inside && distance == 0;
    text_add(&text, "%s%s(", read_inside ? "" : "(", tensor->name);
    for (int d = 0; d < tensor->rank; d++) {
        text_add(&text, d ? ", " : "");
        if (d == tensor->step)
            text_add(&text, distance ? "t - %d" : "t", distance);
        else
            text_add(&text, "%s", inside ? index_of_size(g, tensor->sizes[d]) : far_index(g));
    }
    text_add(&text, ")");
    if (!read_inside)
        text_add(&text, " else %s)", distance ? literal(g, tensor->type) : otherwise(g, tensor));
    tensor->read = true;
    return text.text;
}

/* A recurrence that is being made takes the type of what it is computed with. The constant after its else, cast or not,
 * gives a type only where nothing else does. */
static const char *read_as(Generator *g, Known *tensor, ElementType type) {
    const char *read = read_of(g, tensor);
    g->typed |= tensor->step < 0 || tensor->type != type;
    return tensor->type == type ? read : format(g, "%s(%s)", spelling(type), read);
}

static const char *leaf(Generator *g, ElementType type) {
    bool typed = g->typed;
    int kind = below(g, 10);
    g->typed = true;
    if (g->let && below(g, 4) == 0)
        return format(g, "%s(%s)", spelling(type), g->let);
    if (g->all && kind == 0 && below(g, 4) == 0 && g->tensors.items[0].rank > 0)
        return format(g, "%s(%s.%d)", spelling(type), g->tensors.items[0].name, below(g, g->tensors.items[0].rank));
    if (kind == 0)
        return literal(g, type);
    if (kind == 1 && g->index_count)
        return format(g, "%s(%s)", spelling(type), any_index(g));
    if (kind == 2 && g->scalar_count)
        return format(g, "%s(s%d)", spelling(type), below(g, g->scalar_count));
    Known *tensor = &g->tensors.items[below(g, g->tensors.count)];
    for (int tries = 0; tries < 3 && tensor->type != type; tries++)
        tensor = &g->tensors.items[below(g, g->tensors.count)];
    g->typed = typed;
    return read_as(g, tensor, type);
}

static const char *condition(Generator *g, int depth) {
    static const char *const comparisons[] = {"<", "<=", ">", ">=", "==", "!="};
    int kind = below(g, 6);
    if (kind == 0 && g->index_count)
        return format(g, "%s %s %d", any_index(g), comparisons[below(g, 6)], below(g, 6));
    if (kind == 1 && depth > 0)
        return format(g, "(%s %s %s)", condition(g, depth - 1), below(g, 2) ? "&&" : "||", condition(g, depth - 1));
    if (kind == 2 && depth > 0)
        return format(g, "!(%s)", condition(g, depth - 1));
    ElementType type = random_type(g);
    bool typed = g->typed; /* what is compared gives no type to what is chosen */
    const char *comparison =
        format(g, "%s %s %s", value(g, type, depth - 1), comparisons[below(g, 6)], value(g, type, depth - 1));
    g->typed = typed;
    return comparison;
}

/* Functions return at least a float. A number that is said without a type is a float: beside a recurrence that has no
 * type yet it is said with one. As an argument of its own it leaves open what was. */
static const char *function(Generator *g, ElementType type, int depth) {
    static const struct {
        const char *template, *number;
        bool operand;
    } functions[] = {{"exp(%s * %s)", "0.125", true},
                     {"sqrt(abs(%s))", "", false},
                     {"sin(%s)", "", false},
                     {"tanh(%s)", "", false},
                     {"floor(%s)", "", false},
                     {"log(%2$s + abs(%1$s))", "1.0", true},
                     {"atan2(%s, %s)", "0.5", false},
                     {"erf(%s)", "", false},
                     {"cos(%s)", "", false},
                     {"trunc(%s)", "", false},
                     {"rsqrt(%2$s + abs(%1$s))", "1.0", true},
                     {"fmax(%s, %s)", "0.0", false}};
    ElementType wide = type == TYPE_DOUBLE ? TYPE_DOUBLE : TYPE_FLOAT;
    bool typed = g->typed;
    g->typed = false;
    const char *argument = value(g, wide, depth - 1);
    int drawn = below(g, sizeof functions / sizeof *functions);
    const char *number = functions[drawn].number;
    if (functions[drawn].operand && wide == TYPE_DOUBLE && !g->typed)
        number = format(g, "%s(%s)", spelling(wide), number);
    const char *call = format(g, functions[drawn].template, argument, number);
    g->typed |= typed || functions[drawn].operand || type != wide;
    return type == wide ? call : format(g, "%s(%s)", spelling(type), call);
}

static const char *quotient(Generator *g, ElementType type, int depth) {
    const char *a = value(g, type, depth - 1), *divisor = NULL;
    if (type_is_float(type))
        divisor = value(g, type, depth - 1);
    g->typed = true; /* by the divisor */
    if (divisor)
        return format(g, "(%s / (%s(1.0) + abs(%s)))", a, spelling(type), divisor);
    const char *b = read_of(g, &g->tensors.items[below(g, g->tensors.count)]); /* 0 at times, but not known as 0 */
    return format(g, "(%s %s %s(%s))", a, below(g, 2) ? "/" : "%", spelling(type), b);
}

/* An expression of exactly the type. */
static const char *value(Generator *g, ElementType type, int depth) {
    static const char *const infix[] = {"+", "-", "*", "*", "+"};
    int kind = depth > 0 ? below(g, 13) : 12;
    if (kind < 5) {
        const char *a = value(g, type, depth - 1), *b = value(g, type, depth - 1);
        return format(g, "(%s %s %s)", a, infix[kind], b);
    }
    if (kind == 5) {
        const char *a = value(g, type, depth - 1), *b = value(g, type, depth - 1);
        return format(g, "%s(%s, %s)", below(g, 2) ? "min" : "max", a, b);
    }
    if (kind == 6) {
        const char *c = condition(g, depth - 1), *a = value(g, type, depth - 1), *b = value(g, type, depth - 1);
        return format(g, "(%s ? %s : %s)", c, a, b);
    }
    if (kind == 7) {
        ElementType other = random_type(g);
        const char *converted = format(g, "%s(%s)", spelling(type), value(g, other, depth - 1));
        g->typed = true;
        return converted;
    }
    if (kind == 8)
        return quotient(g, type, depth);
    if (kind == 9)
        return format(g, "%s(%s)", below(g, 2) ? "abs" : "-", value(g, type, depth - 1));
    return kind == 10 && type_is_float(type) ? function(g, type, depth) : leaf(g, type);
}

/* --- statements --------------------------------------------------------------------------------------------------- */

static void add_index(Generator *g, const char *name, int size) {
    g->index_names[g->index_count] = name;
    g->index_sizes[g->index_count++] = size;
}

/* Ranges of reductions may end where another index is. */
static void print_where(Generator *g, int first_small, const char *partial) {
    for (int i = 0; i < g->index_count; i++) {
        text_add(&g->text, i ? ", " : " where ");
        if (i == 0 && partial)
            text_add(&g->text, "%s in %s", g->index_names[i], partial);
        else if (g->all && i > 0 && g->index_names[i][0] == 'r' && g->index_sizes[i] >= 0 && below(g, 6) == 0)
            text_add(&g->text, "%s in 0:min(%s + %d, %s)", g->index_names[i], g->index_names[below(g, i)], below(g, 3),
                     size_names[g->index_sizes[i]]);
        else if (g->index_sizes[i] < 0)
            text_add(&g->text, "%s in 0:%d", g->index_names[i], first_small + i % 3);
        else
            text_add(&g->text, "%s in 0:%s", g->index_names[i], size_names[g->index_sizes[i]]);
    }
}

static void print_target(Generator *g, const Known *tensor) {
    text_add(&g->text, "    %s(", tensor->name);
    for (int d = 0; d < tensor->rank; d++)
        text_add(&g->text, "%s%s", d ? ", " : "", g->index_names[d]);
    text_add(&g->text, ")");
}

static void begin_indices(Generator *g, const Known *tensor) {
    static const char *const names[RANK_LIMIT] = {"i", "j", "k"};
    g->index_count = 0;
    for (int d = 0; d < tensor->rank; d++)
        add_index(g, d == tensor->step ? "t" : names[d], tensor->sizes[d]);
}

static void add_reductions(Generator *g) {
    static const char *const names[2] = {"r_a", "r_b"};
    int count = 1 + (below(g, 3) == 0);
    for (int i = 0; i < count; i++)
        add_index(g, names[i], below(g, 3) ? random_size(g) : -1);
}

/* Conditions under which an element is assigned to, or a term counts. */
static void print_predicates(Generator *g) {
    static const char *const comparisons[] = {"<", "<=", ">", ">=", "!="};
    for (int i = 1 + (below(g, 4) == 0); i > 0; i--) {
        text_add(&g->text, g->index_count || i == 1 ? ", " : ", ");
        if (g->index_count == 0 || below(g, 4) == 0)
            text_add(&g->text, "%s", condition(g, 1));
        else if (below(g, 2))
            text_add(&g->text, "%s %s %s + %d", any_index(g), comparisons[below(g, 5)], any_index(g), below(g, 4) - 1);
        else
            text_add(&g->text, "%s + %s %s %d", any_index(g), any_index(g), comparisons[below(g, 5)], below(g, 9));
    }
}

static void print_let(Generator *g) {
    text_add(&g->text, g->index_count ? ", " : " where ");
    const char *name = g->let;
    g->let = NULL;
    text_add(&g->text, "%s = %s", name, value(g, g->let_type, 1));
}

/* `again`: the tensor has a definition, which this one may read and, where it is partial, keeps elsewhere. */
static void statement(Generator *g, Known *tensor, bool again) {
    static const char *const combines[] = {"+=", "+=", "+=", "max=", "min=", "*="};
    static const char *const parts[] = {"0:N/3", "N/3:N", "0:(N + 1)/2", "N/2:N"};
    begin_indices(g, tensor);
    bool partial = again && tensor->rank > 0 && tensor->sizes[0] == 0 && below(g, 2);
    bool reduces = below(g, 2);
    if (reduces)
        add_reductions(g);
    print_target(g, tensor);
    bool from_before = again ? below(g, 2) : !g->in_def && below(g, 12) == 0;
    tensor->result |= reduces && !again && from_before;
    text_add(&g->text, reduces ? " %s%s " : " = ", combines[below(g, 6)], from_before ? "" : "!");
    if (g->all && below(g, 8) == 0) {
        g->let = "a_let";
        g->let_type = random_type(g);
    }
    text_add(&g->text, "%s", value(g, tensor->type, 1 + below(g, 4)));
    bool may_shift = g->all && !again && !from_before && tensor->step < 0 && tensor->rank > 0 && tensor->sizes[0] == 0;
    bool shifted = may_shift && below(g, 8) == 0;
    const char *low = shifted ? "N/2:N" : partial ? parts[below(g, 4)] : NULL;
    const char *comment = g->let ? " #let" : shifted ? " #from" : "";
    tensor->shifted |= shifted;
    print_where(g, 1 + below(g, 3), low);
    if (g->let)
        print_let(g);
    bool keeps = !reduces && !again; /* what the caller left, where no predicate holds: of a result */
    if (g->all && g->index_count && (!keeps || (!g->in_def && !g->in_scan && !shifted)) && below(g, 4) == 0) {
        tensor->result |= keeps;
        print_predicates(g);
        comment = " #if";
    }
    text_add(&g->text, "%s\n", comment);
}

static void add_tensor(Generator *g, const char *name, bool written) {
    Known tensor = {.name = name, .type = random_type(g), .rank = below(g, 5) ? 1 + below(g, 2) : below(g, 2) ? 3 : 0};
    tensor.written = written;
    tensor.step = -1;
    for (int d = 0; d < tensor.rank; d++)
        tensor.sizes[d] = random_size(g);
    if (g->all && !written && below(g, 12) == 0)
        tensor.type = TYPE_BOOL;
    tensor.constant = g->all && !written && below(g, 8) == 0;
    list_push(g->arena, &g->tensors, tensor);
}

/* A statement reads a copy of the list that lacks its own tensor, unless that is defined already. */
static void new_tensor(Generator *g, int number) {
    add_tensor(g, arena_printf(g->arena, "T%d", number), true);
    Known tensor = g->tensors.items[--g->tensors.count];
    statement(g, &tensor, false);
    list_push(g->arena, &g->tensors, tensor);
}

/* scan t { ... }: up to three tensors that read each other and themselves at earlier steps. */
static void scan_block(Generator *g, int number) {
    int size = below(g, RANDOM_SIZES), first = g->tensors.count, count = 1 + below(g, 3);
    for (int i = 0; i < count; i++) {
        add_tensor(g, arena_printf(g->arena, "R%d_%d", number, i), true);
        Known *tensor = &g->tensors.items[first + i];
        tensor->rank = tensor->rank ? tensor->rank : 1;
        tensor->step = below(g, tensor->rank);
        tensor->sizes[tensor->step] = size;
    }
    text_add(&g->text, "    scan t {\n");
    g->in_scan = true;
    for (int i = 0; i < count; i++) {
        statement(g, &g->tensors.items[first + i], false);
        g->tensors.items[first + i].defined = true;
        if (below(g, 3) == 0)
            statement(g, &g->tensors.items[first + below(g, i + 1)], true);
    }
    text_add(&g->text, "    }\n");
    for (int i = 0; i < count; i++)
        g->tensors.items[first + i].step = -1;
    g->in_scan = false;
}

static void define_again(Generator *g) {
    int at = below(g, g->tensors.count);
    if (g->tensors.items[at].written && !g->tensors.items[at].shifted)
        statement(g, &g->tensors.items[at], true);
}

static void print_type(Text *text, const char *word, const Known *tensor) {
    text_add(text, "%s%s(", word, spelling(tensor->type));
    for (int d = 0; d < tensor->rank; d++)
        text_add(text, "%s%s", d ? ", " : "", size_names[tensor->sizes[d]]);
    text_add(text, ") ");
}

static void print_arguments(Generator *g, Text *text) {
    bool any = false;
    for (int i = 0; i < g->tensors.count; i++) {
        const Known *tensor = &g->tensors.items[i];
        if (tensor->written)
            continue;
        text_add(text, any ? ", " : "");
        print_type(text, tensor->constant ? "const " : "", tensor);
        text_add(text, "%s", tensor->name);
        any = true;
    }
    for (int i = 0; i < g->scalar_count; i++)
        text_add(text, ", %s s%d", spelling(g->scalars[i]), i);
}

/* What nothing reads is a result, and some of what is read. */
static void print_results(Generator *g, Text *text) {
    bool any = false;
    for (int i = 0; i < g->tensors.count; i++) {
        const Known *tensor = &g->tensors.items[i];
        if (tensor->written && (!tensor->read || tensor->result || below(g, 3) == 0 || i + 1 == g->tensors.count)) {
            text_add(text, any ? ", " : "");
            if (tensor->inout)
                print_type(text, "inout ", tensor);
            text_add(text, "%s", tensor->name);
            any = true;
        }
    }
}

/* Of one program in so many all sizes are the smallest. */
enum { SMALL_EVERY = 4 };

static void choose_bindings(Generator *g, struct Binding *bindings) {
    static const int values[] = {0, 1, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 19, 33}, smallest = 4;
    int count = below(g, SMALL_EVERY) ? (int)(sizeof values / sizeof *values) : smallest;
    for (int i = 0; i < RANDOM_SIZES; i++)
        bindings[i] = (struct Binding){size_names[i], values[below(g, count)]};
}

/* --- what random_program_of_all has beside that ------------------------------------------------------------------- */

/* Terms go where an index says that is computed, or read from memory: where it is inside. */
static void scatter(Generator *g) {
    static const char *const combines[] = {"+=", "max=", "min=", "*="};
    Known *tensor = &g->tensors.items[below(g, g->tensors.count)];
    if (!tensor->written || tensor->rank == 0 || tensor->shifted)
        return;
    int at = below(g, tensor->rank);
    begin_indices(g, tensor);
    g->index_names[at] = "r_s";
    g->index_sizes[at] = random_size(g);
    text_add(&g->text, "    %s(", tensor->name);
    const char *index = checked_index(g);
    if (!index || below(g, 2))
        index = below(g, 2) ? format(g, "2*%s - %d", any_index(g), below(g, 3)) : format(g, "%s/2", any_index(g));
    for (int d = 0; d < tensor->rank; d++)
        text_add(&g->text, "%s%s", d ? ", " : "", d == at ? index : g->index_names[d]);
    text_add(&g->text, ") %s%s %s", combines[below(g, 4)], below(g, 3) ? "" : "!", value(g, tensor->type, 2));
    print_where(g, 1, NULL);
    text_add(&g->text, ", %s >= 0, %s < %s #scatter\n", index, index, size_names[tensor->sizes[at]]);
}

static Known fresh_tensor(Generator *g) {
    add_tensor(g, format(g, "T%d", g->made++), true);
    return g->tensors.items[--g->tensors.count];
}

/* A recurrence over the index of a dimension. Half of them have a reduction over the step before. */
static void scan(Generator *g) {
    Known tensor = fresh_tensor(g);
    if (tensor.rank == 0)
        return;
    tensor.type = tensor.type == TYPE_HALF || tensor.type == TYPE_BFLOAT16 ? TYPE_FLOAT : tensor.type;
    int step = below(g, tensor.rank);
    begin_indices(g, &tensor);
    g->index_names[step] = "t";
    const char *type = spelling(tensor.type), *first = literal(g, tensor.type);
    text_add(&g->text, "    scan t {\n    ");
    print_target(g, &tensor);
    text_add(&g->text, " = (%s(", tensor.name);
    for (int d = 0; d < tensor.rank; d++)
        text_add(&g->text, d == step ? "%s%s - %d" : "%s%s", d ? ", " : "", g->index_names[d], 1 + below(g, 2));
    text_add(&g->text, ") else %s) * %s(%s) + %s", first, type, type_is_float(tensor.type) ? "0.5" : "3",
             value(g, tensor.type, 2));
    print_where(g, 1, NULL);
    text_add(&g->text, "\n");
    if (below(g, 2)) {
        int again = g->index_count;
        add_index(g, "r_a", random_size(g));
        text_add(&g->text, "    ");
        print_target(g, &tensor);
        text_add(&g->text, " %s %s", below(g, 2) ? "+=" : "max=", value(g, tensor.type, 2));
        print_where(g, 1, NULL);
        text_add(&g->text, "\n");
        g->index_count = again;
    }
    text_add(&g->text, "    }\n");
    list_push(g->arena, &g->tensors, tensor);
}

/* A def with one tensor of the program's as its argument, and the call of it. */
static void call(Generator *g) {
    int which = below(g, g->tensors.count), number = g->made++;
    Known *argument = &g->tensors.items[which];
    if (argument->shifted || argument->rank == 0)
        return;
    Generator inner = {.arena = g->arena, .state = g->state, .bindings = g->bindings, .all = true, .in_def = true};
    inner.text.arena = inner.before.arena = g->arena;
    Known own = *argument;
    own.name = "a";
    own.written = own.constant = own.inout = false;
    for (int d = 0; d < own.rank; d++)
        inner.sizes[own.sizes[d]] = true;
    list_push(g->arena, &inner.tensors, own);
    Known middle = own, result = own;
    middle.name = "m", result.name = "b";
    middle.written = result.written = true;
    middle.type = random_type(&inner), result.type = random_type(&inner);
    statement(&inner, &middle, false);
    list_push(g->arena, &inner.tensors, middle);
    statement(&inner, &result, false);
    bool both = below(&inner, 2);
    g->state = inner.state;
    text_add(&g->before, "def g%d(%s(", number, spelling(own.type));
    for (int d = 0; d < own.rank; d++)
        text_add(&g->before, "%s%s", d ? ", " : "", size_names[own.sizes[d]]);
    text_add(&g->before, ") a) -> (b%s) {\n%s}\n", both ? ", m" : "", inner.text.text);
    result.name = format(g, "T%d", g->made++);
    argument->read = true;
    const char *name = argument->name;
    text_add(&g->text, "    %s", result.name);
    if (both) {
        middle.name = format(g, "T%d", g->made++);
        text_add(&g->text, ", %s", middle.name);
        list_push(g->arena, &g->tensors, middle);
    }
    text_add(&g->text, " = g%d(%s)\n", number, name);
    result.read = false;
    list_push(g->arena, &g->tensors, result);
}

/* The largest value and where it is; how many values and their sum. */
static void tuple(Generator *g) {
    Known first = fresh_tensor(g), second = first;
    bool argmax = below(g, 2);
    second.name = format(g, "T%d", g->made++);
    first.type = TYPE_FLOAT, second.type = TYPE_INT32;
    begin_indices(g, &first);
    add_reductions(g);
    if (!strstr(g->before.text ? g->before.text : "", argmax ? "argmax" : "total"))
        text_add(&g->before, "%s",
                 argmax ? "combiner argmax(float v, int32 i; float w, int32 j) associative commutative "
                          "identity (-inf, -1) {\n    (v > w || (v == w && i < j)) ? (v, i) : (w, j)\n}\n"
                        : "combiner total(float v, int32 i; float w, int32 j) associative commutative "
                          "identity (0.0, 0) {\n    (v + w, i + j)\n}\n");
    text_add(&g->text, "    %s(", first.name);
    for (int d = 0; d < first.rank; d++)
        text_add(&g->text, "%s%s", d ? ", " : "", g->index_names[d]);
    text_add(&g->text, "), %s(", second.name);
    for (int d = 0; d < first.rank; d++)
        text_add(&g->text, "%s%s", d ? ", " : "", g->index_names[d]);
    text_add(&g->text, ") %s=! (%s, %s)", argmax ? "argmax" : "total", value(g, TYPE_FLOAT, 2),
             argmax ? format(g, "int32(%s)", g->index_names[g->index_count - 1]) : value(g, TYPE_INT32, 1));
    print_where(g, 1 + below(g, 3), NULL);
    text_add(&g->text, "\n");
    list_push(g->arena, &g->tensors, first);
    list_push(g->arena, &g->tensors, second);
}

/* What nothing else reads, element by element: reverse_inline takes it where its producer stores. */
static void epilogue(Generator *g) {
    Known *producer = NULL;
    for (int i = 0; i < g->tensors.count; i++) {
        Known *tensor = &g->tensors.items[i];
        if (tensor->written && !tensor->read && !tensor->shifted && !tensor->result && tensor->rank > 0)
            producer = tensor;
    }
    if (!producer)
        return;
    Known tensor = *producer;
    const char *name = producer->name, *type;
    producer->read = true;
    tensor.name = format(g, "T%d", g->made++);
    tensor.type = random_type(g);
    type = spelling(tensor.type);
    begin_indices(g, &tensor);
    print_target(g, &tensor);
    text_add(&g->text, " = %s(%s(", type, name);
    for (int d = 0; d < tensor.rank; d++)
        text_add(&g->text, "%s%s", d ? ", " : "", g->index_names[d]);
    text_add(&g->text, ")) %s %s", below(g, 2) ? "+" : "*", value(g, tensor.type, below(g, 2)));
    print_where(g, 1, NULL);
    text_add(&g->text, " #epilogue\n");
    list_push(g->arena, &g->tensors, tensor);
}

static void truth(Generator *g) {
    Known tensor = fresh_tensor(g);
    tensor.type = TYPE_BOOL;
    begin_indices(g, &tensor);
    print_target(g, &tensor);
    text_add(&g->text, " = %s", condition(g, 2));
    print_where(g, 1, NULL);
    text_add(&g->text, "\n");
    list_push(g->arena, &g->tensors, tensor);
}

static void any_statement(Generator *g, const RandomForms *forms) {
    int kind = below(g, 17);
    if (kind > 13)
        epilogue(g);
    else if (kind < 2)
        scatter(g);
    else if (kind == 2)
        scan(g);
    else if (kind == 3)
        scan_block(g, g->made++);
    else if (kind < 6)
        call(g);
    else if (kind == 6)
        truth(g);
    else if (kind < 9 && forms->tuples)
        tuple(g);
    else if (kind < 10)
        define_again(g);
    else
        new_tensor(g, g->made++);
}

static void begin_program(Generator *g, struct Binding *bindings) {
    choose_bindings(g, bindings);
    g->bindings = bindings;
    add_tensor(g, "X", false); /* every size is that of a dimension */
    g->tensors.items[0].rank = RANK_LIMIT;
    for (int i = 0; i < RANDOM_SIZES; i++)
        g->tensors.items[0].sizes[i] = i;
    for (int i = 0, count = 1 + below(g, 3); i < count; i++)
        add_tensor(g, arena_printf(g->arena, "A%d", i), false);
    for (g->scalar_count = 0; g->scalar_count < 2 && below(g, 3) == 0; g->scalar_count++)
        g->scalars[g->scalar_count] = random_type(g);
}

/* Some arguments are constants: A0="float-3x5-1.npy". */
static void print_files(Generator *g, Text *text) {
    for (int i = 0; i < g->tensors.count; i++) {
        const Known *tensor = &g->tensors.items[i];
        if (tensor->written || tensor->constant || tensor->rank == 0 || below(g, 8))
            continue;
        text_add(text, ", %s=\"%s", tensor->name, spelling(tensor->type));
        for (int d = 0; d < tensor->rank; d++)
            text_add(text, "%c%d", d ? 'x' : '-', (int)g->bindings[tensor->sizes[d]].value);
        text_add(text, "-%d.npy\"", below(g, 4));
    }
}

static const char *finish_program(Generator *g, bool with_export, bool with_files) {
    Text text = {.arena = g->arena};
    text_add(&text, "%sdef f(", g->before.text ? g->before.text : "");
    print_arguments(g, &text);
    text_add(&text, ") -> (");
    print_results(g, &text);
    text_add(&text, ") {\n%s}\n", g->text.text);
    const struct Binding *bindings = g->bindings;
    if (with_export)
        text_add(&text, "export f(N=%d, M=%d, K=%d", (int)bindings[0].value, (int)bindings[1].value,
                 (int)bindings[2].value);
    if (with_files)
        print_files(g, &text);
    text_add(&text, with_export ? ")\n" : "");
    return text.text;
}

const char *random_program(Arena *arena, uint64_t seed, bool with_export, struct Binding *bindings) {
    Generator g = {.arena = arena, .state = seed * 0x2545f4914f6cdd1du, .text = {.arena = arena}};
    begin_program(&g, bindings);
    for (int i = 0, count = 1 + below(&g, 4); i < count; i++) {
        if (below(&g, 4) == 0)
            scan_block(&g, i);
        else
            new_tensor(&g, i);
        if (below(&g, 3) == 0)
            define_again(&g);
    }
    return finish_program(&g, with_export, false);
}

/* Read and written by any statement, and written by one at least: end_inout. */
static void begin_inout(Generator *g) {
    add_tensor(g, "Y", true);
    Known *tensor = &g->tensors.items[g->tensors.count - 1];
    tensor->inout = tensor->result = true;
}

static void end_inout(Generator *g) {
    for (int i = 0; i < g->tensors.count; i++)
        if (g->tensors.items[i].inout)
            statement(g, &g->tensors.items[i], true);
}

const char *random_program_of_all(Arena *arena, uint64_t seed, const RandomForms *forms, struct Binding *bindings) {
    Generator g = {.arena = arena, .state = seed * 0x2545f4914f6cdd1du, .text = {.arena = arena}, .all = true};
    g.before.arena = arena;
    begin_program(&g, bindings);
    if (below(&g, 6) == 0)
        begin_inout(&g);
    new_tensor(&g, g.made++);
    for (int count = below(&g, 4); count > 0; count--)
        any_statement(&g, forms);
    if (below(&g, 4) == 0)
        epilogue(&g);
    end_inout(&g);
    return finish_program(&g, true, forms->files);
}
