/* values_make.c - see values.h. Programs are texts; a few are refused, as those that divide by the number 0. */
#include "tests/fuzz/values.h"

#include "lang/value.h"
#include "tests/fuzz/source_value.h"

#include <math.h>
#include <string.h>

#define COUNT(array) ((int64_t)(sizeof(array) / sizeof *(array)))
#define ANY(random, array) ((array)[random_below(random, COUNT(array))])

/* --- contents --- */

static const int64_t whole_extremes[] = {0,
                                         1,
                                         -1,
                                         2,
                                         -2,
                                         3,
                                         7,
                                         -7,
                                         100,
                                         127,
                                         128,
                                         -128,
                                         255,
                                         256,
                                         32767,
                                         32768,
                                         -32768,
                                         65535,
                                         INT32_MAX,
                                         INT32_MIN,
                                         INT64_C(1) << 31,
                                         INT64_C(1) << 32,
                                         -(INT64_C(1) << 32),
                                         INT64_C(1) << 53,
                                         (INT64_C(1) << 53) + 1,
                                         INT64_C(1) << 62,
                                         INT64_MAX,
                                         INT64_MAX - 1,
                                         INT64_MIN,
                                         INT64_MIN + 1};
static const double real_extremes[] = {0,       -0.0,   1,       -1,    0.5,    -0.5,   1.5,      2.5,       -2.5,
                                       3,       0.1,    7,       1e-3,  100.25, 1e6,    2e9,      -3e9,      9.3e18,
                                       2e19,    6e4,    65519,   7e4,   1e-7,   -6e-8,  3e-8,     1e-38,     1e-40,
                                       1e-45,   3.4e38, -3.3e38, 1e300, -1e300, 1e-310, 5e-324,   127,       32767.5,
                                       2.147e9, 1e18,   88.5,    -104,  709.5,  -745.5, INFINITY, -INFINITY, NAN};

void values_fill(ElementType type, void *at, int64_t count, uint64_t seed, bool small) {
    Random random = {seed};
    for (int64_t i = 0; i < count; i++) {
        Datum d;
        if (small)
            d = datum_integer(TYPE_INT64, random_below(&random, 9) - (type == TYPE_UINT8 ? 0 : 4));
        else if (element_info[type].kind == KIND_FLOAT)
            d = (Datum){.type = TYPE_DOUBLE, .real = ANY(&random, real_extremes)};
        else
            d = datum_integer(TYPE_INT64, ANY(&random, whole_extremes));
        if (!small && random_below(&random, 8) == 0)
            d = datum_integer(TYPE_INT64, random_below(&random, 2000) - 1000);
        d = datum_as(d, type);
        datum_store(&d, (char *)at + i * element_info[type].bytes);
    }
}

/* --- elements --- */

static const char *const types[] = {"int64", "int64", "uint64", "int32", "uint32", "int16", "uint16",
                                    "int8",  "uint8", "float",  "float", "double", "half",  "bfloat16"};
static const char *const arithmetic[] = {"+", "+", "-", "-", "*", "*", "/", "%"};
static const char *const comparisons[] = {"<", "<=", ">", ">=", "==", "!="};
static const char *const wholes[] = {"0",
                                     "1",
                                     "2",
                                     "3",
                                     "7",
                                     "10",
                                     "100",
                                     "127",
                                     "128",
                                     "255",
                                     "256",
                                     "32767",
                                     "32768",
                                     "2147483647",
                                     "2147483648",
                                     "4294967296",
                                     "9223372036854775807",
                                     "4611686018427387904"};
static const char *const reals[] = {"0.0", "1.0", "0.5", "2.5", "0.1", "1e-40", "3e38", "1e6", "65504.0", "0.25"};

static void leaf(Text *text, Random *random) {
    static const char *const reads[] = {"a(i)", "b(i)", "c(i)", "a(i)", "b(i)", "s", "i", "N"};
    int64_t kind = random_below(random, 10);
    if (kind < 7)
        text_add(text, "%s", ANY(random, reads));
    else if (kind < 9)
        text_add(text, random_below(random, 4) ? "%s" : "(-%s)", ANY(random, wholes));
    else
        text_add(text, "%s", ANY(random, reals));
}

static void value(Text *text, Random *random, int depth);

static void condition(Text *text, Random *random, int depth) {
    int64_t kind = random_below(random, depth > 1 ? 8 : 5);
    text_add(text, "(%s", kind == 7 ? "!" : "");
    if (kind == 5 || kind == 6) {
        condition(text, random, depth - 1);
        text_add(text, " %s ", kind == 5 ? "&&" : "||");
        condition(text, random, depth - 1);
    } else if (kind == 7) {
        condition(text, random, depth - 1);
    } else {
        value(text, random, depth - 1);
        text_add(text, " %s ", ANY(random, comparisons));
        value(text, random, depth - 1);
    }
    text_add(text, ")");
}

static void call(Text *text, Random *random, const char *name, int count, int depth) {
    text_add(text, "%s(", name);
    for (int i = 0; i < count; i++) {
        text_add(text, "%s", i ? ", " : "");
        value(text, random, depth - 1);
    }
    text_add(text, ")");
}

/* The library's gamma functions are not as near as the others. */
static bool is_drawn(Op op, int arity, bool steps) {
    const OpInfo *info = &op_info[op];
    return info->class == CLASS_MATH && info->arity == arity && op != OP_LGAMMA && op != OP_TGAMMA &&
           (!steps || info->exactness == EXACTNESS_STEPS);
}

static const char *function_name(Random *random, int arity) {
    bool steps = arity == 1 && random_below(random, 4) == 0;
    int count = 0;
    Op drawn[OP_COUNT];
    for (Op op = 0; op < OP_COUNT; op++)
        if (is_drawn(op, arity, steps))
            drawn[count++] = op;
    return op_info[drawn[random_below(random, count)]].spelling;
}

static void choice(Text *text, Random *random, int depth) {
    text_add(text, "(");
    condition(text, random, depth);
    text_add(text, " ? ");
    value(text, random, depth - 1);
    text_add(text, " : ");
    value(text, random, depth - 1);
    text_add(text, ")");
}

static void operation(Text *text, Random *random, int depth) {
    text_add(text, "(");
    value(text, random, depth - 1);
    text_add(text, " %s ", ANY(random, arithmetic));
    value(text, random, depth - 1);
    text_add(text, ")");
}

static void value(Text *text, Random *random, int depth) {
    int64_t kind = depth > 0 ? random_below(random, 20) : 0;
    if (kind < 3)
        leaf(text, random);
    else if (kind < 9)
        operation(text, random, depth);
    else if (kind < 13)
        call(text, random, random_below(random, 2) ? "min" : "max", 2, depth);
    else if (kind == 13)
        choice(text, random, depth);
    else if (kind == 14)
        call(text, random, random_below(random, 2) ? "abs" : "-", 1, depth);
    else if (kind == 15)
        call(text, random, function_name(random, 1), 1, depth);
    else if (kind == 16)
        call(text, random, function_name(random, 2), 2, depth);
    else if (kind == 17 && random_below(random, 6) == 0)
        call(text, random, function_name(random, 3), 3, depth);
    else
        call(text, random, ANY(random, types), 1, depth);
}

const char *values_of_elements(Arena *arena, Random *random) {
    static const int lengths[] = {1, 2, 5, 16, 17, 33};
    Text text = {.arena = arena};
    text_add(&text, "def f(%s(N) a, %s(N) b, %s(N) c, %s s) -> (y, z, t) {\n", ANY(random, types), ANY(random, types),
             ANY(random, types), ANY(random, types));
    for (int r = 0; r < 3; r++) {
        text_add(&text, "    %c(i) = ", "yzt"[r]);
        if (random_below(random, 3) == 0)
            condition(&text, random, 3);
        else
            value(&text, random, 1 + (int)random_below(random, 4));
        text_add(&text, " where i in 0:N");
        text_add(&text, ", exists a(i), exists b(i), exists c(i), i + int32(s) * 0 >= 0\n");
    }
    text_add(&text, "}\nexport f(N=%d)\n", ANY(random, lengths));
    return text.text;
}

/* --- shapes --- */

enum { DIMS = 2, TENSORS = 12 };

/* Each dimension runs from lower to lower + extent, a size's name. */
typedef struct Shape {
    char name[16];
    int rank, lower[DIMS];
    char extent[DIMS];
} Shape;

typedef struct Shapes {
    Text text;
    Random *random;
    const char *type;
    int count, result_count;
    Shape items[TENSORS];
} Shapes;

static int some_lower(Shapes *s) {
    static const int lowers[] = {0, 1, 1, 2, -1, -3};
    return ANY(s->random, lowers);
}

static Shape *add_shape(Shapes *s, const char *name, int rank, char extent, char second) {
    Shape *shape = &s->items[s->count++];
    *shape = (Shape){.rank = rank, .extent = {extent, second}};
    snprintf(shape->name, sizeof shape->name, "%s", name);
    return shape;
}

static void add_offset(Text *text, int64_t offset) {
    if (offset)
        text_add(text, " %c %lld", offset < 0 ? '-' : '+', (long long)(offset < 0 ? -offset : offset));
}

/* A statement's index: its name and where it begins. */
typedef struct Counter {
    char name;
    int low;
    char extent;
} Counter;

/* An index of a read that stays inside: moved by where both begin; or with a turn. */
static void inside(Shapes *s, const Shape *shape, int d, const Counter *by) {
    if (random_below(s->random, 4) == 0) { /* from the end */
        text_add(&s->text, "%c - 1 - %c", shape->extent[d], by->name);
        add_offset(&s->text, shape->lower[d] + by->low);
        return;
    }
    text_add(&s->text, "%c", by->name);
    add_offset(&s->text, shape->lower[d] - by->low);
}

static void outside_word(Shapes *s) {
    static const char *const words[] = {"edge", "wrap", "reflect", "0", "3", "-1"};
    const char *word = ANY(s->random, words);
    if (strcmp(word, "-1") == 0)
        text_add(&s->text, " else %s(-1))", s->type);
    else
        text_add(&s->text, " else %s)", word);
}

/* A read by the counters of the statement: one that stays inside, else with else. */
static void read(Shapes *s, const Counter *counters, int count) {
    const Shape *shape = &s->items[random_below(s->random, s->count)];
    const Counter *by[DIMS];
    bool fits = random_below(s->random, 3) != 0;
    for (int d = 0; d < shape->rank; d++) {
        by[d] = &counters[random_below(s->random, count)];
        fits = fits && by[d]->extent == shape->extent[d];
    }
    text_add(&s->text, "%s%s(", fits ? "" : "(", shape->name);
    for (int d = 0; d < shape->rank; d++) {
        text_add(&s->text, "%s", d ? ", " : "");
        if (fits) {
            inside(s, shape, d, by[d]);
        } else {
            text_add(&s->text, random_below(s->random, 5) ? "%c" : "2*%c", by[d]->name);
            add_offset(&s->text, random_below(s->random, 5) - 2);
        }
    }
    text_add(&s->text, ")");
    if (!fits)
        outside_word(s);
}

static void gather(Shapes *s, const Counter *counters, int count) {
    const Shape *shape = &s->items[random_below(s->random, s->count)];
    text_add(&s->text, "(%s(", shape->name);
    for (int d = 0; d < shape->rank; d++) {
        const Counter *by = &counters[random_below(s->random, count)];
        text_add(&s->text, "%s(ids(%c) else 1)", d ? ", " : "", by->name);
        add_offset(&s->text, random_below(s->random, 4) - 1);
    }
    text_add(&s->text, ")");
    outside_word(s);
}

static void term(Shapes *s, const Counter *counters, int count, int depth) {
    int64_t kind = random_below(s->random, depth ? 12 : 7);
    if (kind < 5) {
        read(s, counters, count);
    } else if (kind == 5) {
        gather(s, counters, count);
    } else if (kind == 6) {
        text_add(&s->text, "%c", counters[random_below(s->random, count)].name);
    } else if (kind < 11) {
        static const char *const ops[] = {" + ", " - ", " + ", " * "};
        text_add(&s->text, "(");
        term(s, counters, count, depth - 1);
        text_add(&s->text, "%s", ANY(s->random, ops));
        term(s, counters, count, depth - 1);
        text_add(&s->text, ")");
    } else {
        text_add(&s->text, "(%c %s %lld ? ", counters[random_below(s->random, count)].name, ANY(s->random, comparisons),
                 (long long)random_below(s->random, 5) - 1);
        term(s, counters, count, depth - 1);
        text_add(&s->text, " : ");
        term(s, counters, count, depth - 1);
        text_add(&s->text, ")");
    }
}

static void predicate(Shapes *s, const Counter *counters, int count) {
    const Counter *a = &counters[random_below(s->random, count)], *b = &counters[random_below(s->random, count)];
    const char *compare = ANY(s->random, comparisons);
    switch (random_below(s->random, 5)) {
    case 0: text_add(&s->text, ", %c %s %c", a->name, compare, b->name); break;
    case 1: text_add(&s->text, ", %c %s %lld", a->name, compare, (long long)random_below(s->random, 5) - 1); break;
    case 2: text_add(&s->text, ", %c %s (ids(%c) else 2)", a->name, compare, b->name); break;
    case 3: text_add(&s->text, ", %c + %c < %c", a->name, b->name, a->extent); break;
    default:
        text_add(&s->text, ", ");
        read(s, counters, count);
        text_add(&s->text, " %s 0", compare);
    }
}

static void range(Shapes *s, const Counter *counter, bool first) {
    text_add(&s->text, "%s%c in %d:%c", first ? " where " : ", ", counter->name, counter->low, counter->extent);
    add_offset(&s->text, counter->low);
}

static Counter some_counter(Shapes *s, char name) {
    return (Counter){name, some_lower(s), random_below(s->random, 2) ? 'N' : 'M'};
}

/* = or a reduction, with conditions where there is something to keep. Sometimes the first of two indices finds its
 * range from a read. */
static void statement(Shapes *s, Shape *shape, bool again) {
    static const char *const reductions[] = {"+", "+", "max", "min"};
    Counter counters[3];
    int count = shape->rank;
    bool reduces = random_below(s->random, 2);
    for (int d = 0; d < shape->rank; d++)
        counters[d] = (Counter){"ij"[d], shape -> lower[d], shape -> extent[d]};
    if (reduces)
        counters[count++] = some_counter(s, 'r');
    text_add(&s->text, "    %s(i%s) %s=%s %s(", shape->name, shape->rank > 1 ? ", j" : "",
             reduces ? ANY(s->random, reductions) : "", reduces && !again ? "!" : "", s->type);
    term(s, counters, count, 3);
    text_add(&s->text, ")");
    for (int c = 0; c < count; c++)
        range(s, &counters[c], c == 0);
    for (int64_t p = random_below(s->random, 3); p > 0 && (reduces || again); p--)
        predicate(s, counters, count);
    text_add(&s->text, "\n");
}

static void new_tensor(Shapes *s, int number) {
    char name[16];
    snprintf(name, sizeof name, "t%d", number);
    Shape shape = {.rank = 1 + (int)random_below(s->random, 2)};
    snprintf(shape.name, sizeof shape.name, "%s", name);
    for (int d = 0; d < shape.rank; d++) {
        Counter counter = some_counter(s, 'i');
        shape.lower[d] = counter.low;
        shape.extent[d] = counter.extent;
    }
    statement(s, &shape, false);
    s->items[s->count++] = shape;
}

/* The index finds its own range: t(i) = x(i) and x(i + c), where x begins anywhere. */
static void found_range(Shapes *s, int number) {
    const Shape *from = &s->items[random_below(s->random, s->count)];
    int offset = (int)random_below(s->random, 5) - 2;
    if (from->rank != 1)
        return;
    text_add(&s->text, "    t%d(i) = %s(i", number, from->name);
    add_offset(&s->text, offset);
    text_add(&s->text, ") + %s(%s)\n", s->type, random_below(s->random, 2) ? "i" : "i * 2");
    char extent = from->extent[0];
    int lower = from->lower[0] - offset;
    char name[16];
    snprintf(name, sizeof name, "t%d", number);
    add_shape(s, name, 1, extent, 0)->lower[0] = lower;
}

/* A reduction over the range of what it reads alone, beside a read by both indices where that is inside. */
static void found_reduction(Shapes *s, int number) {
    const Shape *by = &s->items[random_below(s->random, s->count)],
                *both = &s->items[random_below(s->random, s->count)];
    Counter counter = some_counter(s, 'i');
    if (by->rank != 1 || both->rank != 1)
        return;
    text_add(&s->text, "    t%d(i) +=! %s(%s(r) * (i + r >= %d && i + r < %c", number, s->type, by->name,
             both->lower[0], both->extent[0]);
    add_offset(&s->text, both->lower[0]);
    text_add(&s->text, " ? %s(i + r) : %s(2)))", both->name, s->type);
    range(s, &counter, true);
    if (random_below(s->random, 2))
        predicate(s, (Counter[]){{'i', 0, 'N'}, {'r', 0, 'M'}}, 2);
    text_add(&s->text, "\n");
    char name[16];
    snprintf(name, sizeof name, "t%d", number);
    add_shape(s, name, 1, counter.extent, 0)->lower[0] = counter.low;
}

static void recurrence(Shapes *s, int number) {
    Counter counters[2] = {some_counter(s, 'q'), some_counter(s, 'i')};
    text_add(&s->text, "    scan q { t%d(q, i) = %s((t%d(q - %d, i) else %lld) + ", number, s->type, number,
             1 + (int)random_below(s->random, 2), (long long)random_below(s->random, 3));
    term(s, counters, 2, 1);
    text_add(&s->text, ")");
    range(s, &counters[0], true);
    range(s, &counters[1], false);
    text_add(&s->text, " }\n");
    char name[16];
    snprintf(name, sizeof name, "t%d", number);
    Shape *shape = add_shape(s, name, 2, counters[0].extent, counters[1].extent);
    shape->lower[0] = counters[0].low;
    shape->lower[1] = counters[1].low;
}

static void called(Shapes *s, int number) {
    const Shape *from = &s->items[random_below(s->random, s->count)];
    if (from->rank != 1)
        return;
    text_add(&s->text, "    t%d = g(%s)\n", number, from->name);
    char name[16];
    snprintf(name, sizeof name, "t%d", number);
    add_shape(s, name, 1, from->extent[0], 0);
}

static void scatter(Shapes *s) {
    Counter counters[2] = {some_counter(s, 'i'), some_counter(s, 'r')};
    text_add(&s->text, "    h(%c", counters[0].name);
    add_offset(&s->text, -counters[0].low);
    text_add(&s->text, random_below(s->random, 2) ? " + (ids(r) else 0)) +=! %s(" : ") +=! %s(", s->type);
    term(s, counters, 2, 2);
    text_add(&s->text, ")");
    range(s, &counters[0], true);
    range(s, &counters[1], false);
    if (random_below(s->random, 2))
        predicate(s, counters, 2);
    text_add(&s->text, "\n");
}

static void body(Shapes *s) {
    int count = 2 + (int)random_below(s->random, 4);
    for (int n = 0; n < count; n++) {
        int64_t kind = random_below(s->random, 12);
        if (kind == 0)
            found_range(s, n);
        else if (kind == 4)
            found_reduction(s, n);
        else if (kind == 1)
            recurrence(s, n);
        else if (kind == 2)
            called(s, n);
        else if (kind == 3 && s->count > 3)
            statement(s, &s->items[3 + random_below(s->random, s->count - 3)], true);
        else
            new_tensor(s, n);
    }
}

/* A few of the tensors are results: memory holds them from their lowest indices on. */
const char *values_of_shapes(Arena *arena, Random *random) {
    static const char *const of[] = {"int32", "int32", "int64", "float", "double", "int16"};
    Shapes s = {.text = {.arena = arena}, .random = random, .type = ANY(random, of)};
    add_shape(&s, "A", 1, 'N', 0);
    add_shape(&s, "B", 2, 'M', 'N');
    add_shape(&s, "C", 1, 'M', 0);
    body(&s);
    bool scatters = random_below(random, 4) == 0;
    if (scatters)
        scatter(&s);
    Text text = {.arena = arena};
    int lower = (int)random_below(random, 4) - 1;
    text_add(&text, "def g(%s(K) x) -> (z) { t(i) = x(i", s.type);
    add_offset(&text, -lower);
    text_add(&text, ") * 2  z(k) = t(k) + %s(k) }\n", s.type);
    text_add(&text, "def f(%s(N) A, %s(M, N) B, %s(M) C, int32(N) ids) -> (", s.type, s.type, s.type);
    for (int i = 3; i < s.count; i++)
        if (i == s.count - 1 || random_below(random, 2))
            text_add(&text, "%s%s", s.result_count++ ? ", " : "", s.items[i].name);
    if (scatters)
        text_add(&text, ", %s(N + M + 8) h", s.type);
    text_add(&text, ") {\n%s}\nexport f(N=%d, M=%d)\n", s.text.text, 3 + (int)random_below(random, 4),
             3 + (int)random_below(random, 5));
    return text.text;
}
