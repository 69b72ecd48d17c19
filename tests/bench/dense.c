/* dense.c - prints a program that is much work for the compiler in few lines, from a seed.
 *
 * usage: dense SEED [KNOB=VALUE]...    a knob that is not given is random; dense help lists them.
 *
 * All tensors of a program have the same sizes, but for rows that lost their last dimension to a sum and are broadcast
 * where they are read. Each stage is one line and reads what stands before it. The same words print the same program.
 */
#include "lang/random.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_STAGES = 400, MOST_RANK = 6, LINE = 1 << 16 };

#define KNOBS(K)                                                                                                       \
    K(stages, 3, 60, "stages: one line each")                                                                          \
    K(rank, 1, 3, "dimensions, up to 6")                                                                               \
    K(size, 0, 2, "sizes: 0 known, 1 at run time, 2 the last one known")                                               \
    K(reads, 1, 12, "reads of a stage")                                                                                \
    K(reach, 1, 3, "how far a read is from the own place")                                                             \
    K(modes, 1, 31, "ends of rows, a sum of 1 zero, 2 edge, 4 wrap, 8 reflect, 16 another tensor")                     \
    K(depth, 1, 6, "reads are of so many stages before: 1 makes a chain")                                              \
    K(own, 0, 60, "of 100 reads, those of the own place")                                                              \
    K(windows, 0, 30, "of 100 stages, sums over all neighbours")                                                       \
    K(sums, 0, 30, "of 100 stages, sums along a row that are broadcast later")                                         \
    K(products, 0, 15, "of 100 stages, products with a matrix")                                                        \
    K(scans, 0, 15, "of 100 stages, recurrences along the first dimension")                                            \
    K(updates, 0, 15, "of 100 stages, updates of the stage before, under a condition")                                 \
    K(gathers, 0, 10, "of 100 reads, those at an index from memory")                                                   \
    K(cases, 0, 30, "of 100 reads, choices among several reads")                                                       \
    K(nesting, 1, 3, "choices in choices")                                                                             \
    K(functions, 0, 30, "of 100 reads, those with a function: exp, tanh, ...")                                         \
    K(calls, 0, 20, "of 100 stages, calls of a def: of the library for rank 2, or of a stencil")                       \
    K(types, 0, 4, "how many element types besides float")                                                             \
    K(constant, 0, 1, "1: the matrix of products is const, so the program has a packed version")                       \
    K(outputs, 1, 4, "results")

#define K_FIELD(name, least, most, help) int name;
#define K_ROW(name, least, most, help) {#name, least, most, help},
#define K_INDEX(name, least, most, help) KNOB_##name,
enum { KNOBS(K_INDEX) KNOB_COUNT };
typedef union Knobs {
    struct {
        KNOBS(K_FIELD)
    };
    int values[KNOB_COUNT];
} Knobs;

static const struct {
    const char *name;
    int least, most;
    const char *help;
} knobs[] = {KNOBS(K_ROW)};

static const char *const types[] = {"float", "double", "half", "int32", "int8", "bfloat16"};
enum { FIRST_INTEGER = 3, LAST_INTEGER = 4 };
static const char *const modes[] = {"0", "edge", "wrap", "reflect", "a"};
static const int extents[MOST_RANK][MOST_RANK] = {{100000},        {512, 700},         {24, 96, 130},
                                                  {6, 20, 30, 40}, {3, 8, 12, 16, 20}, {2, 4, 6, 8, 10, 12}};

typedef struct Stage {
    int type;
    bool row; /* it lacks the last dimension */
} Stage;

typedef struct Maker {
    Knobs knobs;
    Random random;
    Stage stages[MOST_STAGES];
    int count;
    bool fresh; /* nothing reads the stage before yet */
    char line[LINE];
    int length;
} Maker;

static void add(Maker *maker, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(Maker *maker, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    maker->length += vsnprintf(maker->line + maker->length, (size_t)(LINE - maker->length), format, arguments);
    va_end(arguments);
    if (maker->length >= LINE) {
        fprintf(stderr, "dense: a line is too long\n");
        exit(1);
    }
}

static int below(Maker *maker, int bound) {
    return (int)random_below(&maker->random, bound);
}

static bool percent(Maker *maker, int percentage) {
    return below(maker, 100) < percentage;
}

static bool is_integer(int type) {
    return type >= FIRST_INTEGER && type <= LAST_INTEGER;
}

/* i0, i1, ... of so many dimensions. */
static void add_indices(Maker *maker, int count) {
    for (int d = 0; d < count; d++)
        add(maker, "%si%d", d ? ", " : "", d);
}

static void add_ranges(Maker *maker, int count) {
    for (int d = 0; d < count; d++)
        add(maker, "%si%d in 0:S%d", d ? ", " : " where ", d, d);
}

/* --- reads -------------------------------------------------------------------------------------------------------- */

static void add_mode(Maker *maker, int type) {
    int mode;
    do
        mode = below(maker, (int)(sizeof modes / sizeof *modes));
    while (!(maker->knobs.modes & 1 << mode));
    if (mode < 4)
        add(maker, " else %s", modes[mode]);
    else {
        add(maker, " else %s(a(", types[type]);
        add_indices(maker, maker->knobs.rank);
        add(maker, "))");
    }
}

/* At an index of each dimension near the own place; window: at r0, r1, ... from it. */
static void add_near(Maker *maker, int count, bool window) {
    int reach = maker->knobs.reach;
    for (int d = 0; d < count; d++)
        if (window)
            add(maker, "%si%d + r%d - 1", d ? ", " : "", d, d);
        else
            add(maker, "%si%d + %d", d ? ", " : "", d, below(maker, 2 * reach + 1) - reach);
}

static void add_stage_name(Maker *maker, int number) {
    if (number < 0)
        add(maker, "a");
    else
        add(maker, "t%d", number);
}

static void add_read(Maker *maker, int type, bool window) {
    int back = maker->fresh ? 1 : 1 + below(maker, maker->knobs.depth),
        number = maker->count - back < -1 ? -1 : maker->count - back;
    maker->fresh = false;
    Stage stage = number < 0 ? (Stage){0} : maker->stages[number];
    int count = maker->knobs.rank - stage.row;
    bool gather = !window && count && percent(maker, maker->knobs.gathers),
         own = !window && percent(maker, maker->knobs.own);
    add(maker, "%s(", types[type]);
    add_stage_name(maker, number);
    add(maker, "(");
    if (gather)
        add(maker, "p(i0)%s", count > 1 ? ", " : "");
    if (gather)
        for (int d = 1; d < count; d++)
            add(maker, "%si%d", d > 1 ? ", " : "", d);
    else if (own)
        add_indices(maker, count);
    else
        add_near(maker, count, window);
    add(maker, ")");
    if (!own && !gather && count)
        add_mode(maker, stage.type);
    add(maker, ")");
}

static void add_term(Maker *maker, int type, int nesting);

static void add_case(Maker *maker, int type, int nesting) {
    int d = below(maker, maker->knobs.rank);
    if (below(maker, 2))
        add(maker, "(i%d < %d ? ", d, 1 + below(maker, 6));
    else {
        add(maker, "(a(");
        add_indices(maker, maker->knobs.rank);
        add(maker, ") > 0.%d ? ", below(maker, 10));
    }
    add_term(maker, type, nesting - 1);
    add(maker, " : ");
    add_term(maker, type, nesting - 1);
    add(maker, ")");
}

static void add_term(Maker *maker, int type, int nesting) {
    static const char *const functions[] = {"exp", "tanh", "sigmoid", "sin", "erf", "sqrt", "log1p", "fabs"};
    if (nesting > 0 && percent(maker, maker->knobs.cases)) {
        add_case(maker, type, nesting);
    } else if (percent(maker, maker->knobs.functions)) {
        add(maker, "%s(%s(float(", types[type], functions[below(maker, (int)(sizeof functions / sizeof *functions))]);
        add_read(maker, type, false);
        add(maker, ")))");
    } else {
        add_read(maker, type, false);
        add(maker, is_integer(type) ? " * %s(%d)" : " * %s(0.%d)", types[type], 1 + below(maker, 9));
    }
}

static void add_value(Maker *maker, int type) {
    for (int r = 0; r < maker->knobs.reads; r++) {
        add(maker, "%s", r == 0 ? "" : below(maker, 6) ? " + " : " - ");
        add_term(maker, type, maker->knobs.nesting);
    }
}

/* --- stages ------------------------------------------------------------------------------------------------------- */

static void begin_stage(Maker *maker, int number, int dimensions, const char *operator) {
    add(maker, "t%d(", number);
    add_indices(maker, dimensions);
    add(maker, ") %s ", operator);
}

static void make_points(Maker *maker, Stage *stage) {
    begin_stage(maker, maker->count, maker->knobs.rank, "=");
    add_value(maker, stage->type);
    add_ranges(maker, maker->knobs.rank);
}

static void make_window(Maker *maker, Stage *stage) {
    begin_stage(maker, maker->count, maker->knobs.rank, below(maker, 4) ? "+=!" : "max=!");
    add_read(maker, stage->type, true);
    if (below(maker, 2)) {
        add(maker, " * ");
        add_read(maker, stage->type, true);
    }
    add_ranges(maker, maker->knobs.rank);
    for (int d = 0; d < maker->knobs.rank; d++)
        add(maker, ", r%d in 0:3", d);
}

/* A row is the sum of a new stage's values. */
static void make_sum(Maker *maker, Stage *stage) {
    stage->row = true;
    begin_stage(maker, maker->count, maker->knobs.rank - 1, below(maker, 3) ? "+=!" : "max=!");
    add_value(maker, stage->type);
    add_ranges(maker, maker->knobs.rank);
}

static void make_product(Maker *maker, Stage *stage) {
    int last = maker->knobs.rank - 1;
    if (maker->count && maker->stages[maker->count - 1].row) {
        make_points(maker, stage);
        return;
    }
    stage->type = 0;
    begin_stage(maker, maker->count, maker->knobs.rank, "+=!");
    add(maker, "float(");
    add_stage_name(maker, maker->count - 1);
    add(maker, "(");
    add_indices(maker, last);
    add(maker, "%sr_k)) * w(r_k, i%d)", last ? ", " : "", last);
    add_ranges(maker, maker->knobs.rank);
}

static void make_scan(Maker *maker, Stage *stage) {
    add(maker, "scan i0 { ");
    begin_stage(maker, maker->count, maker->knobs.rank, "=");
    add(maker, "%s(", types[stage->type]);
    add_stage_name(maker, maker->count);
    add(maker, "(i0 - 1");
    for (int d = 1; d < maker->knobs.rank; d++)
        add(maker, ", i%d", d);
    add(maker, ") else %s(0)) + ", types[stage->type]);
    add_value(maker, stage->type);
    add_ranges(maker, maker->knobs.rank);
    add(maker, " }");
}

static void make_update(Maker *maker, Stage *stage) {
    int last = maker->count - 1;
    if (last < 0 || maker->stages[last].row) {
        make_points(maker, stage);
        return;
    }
    *stage = maker->stages[last];
    begin_stage(maker, maker->count, maker->knobs.rank, "=");
    add(maker, "t%d(", last);
    add_indices(maker, maker->knobs.rank);
    add(maker, ")\n    ");
    begin_stage(maker, maker->count, maker->knobs.rank, below(maker, 2) ? "+=" : "=");
    add_read(maker, stage->type, false);
    add_ranges(maker, maker->knobs.rank);
    add(maker, ", a(");
    add_indices(maker, maker->knobs.rank);
    add(maker, ") > 0.%d", below(maker, 10));
}

static void make_call(Maker *maker, Stage *stage) {
    static const char *const defs[] = {"softmax", "gelu_rows", "relu_rows", "tanh_rows", "log_softmax", "near", "blur"};
    int kinds = sizeof defs / sizeof *defs, from = maker->knobs.rank == 2 ? 0 : kinds - 2;
    if (maker->count && (maker->stages[maker->count - 1].row || maker->stages[maker->count - 1].type)) {
        make_points(maker, stage);
        return;
    }
    stage->type = 0;
    add(maker, "t%d = %s(", maker->count, defs[from + below(maker, kinds - from)]);
    add_stage_name(maker, maker->count - 1);
    add(maker, ")");
}

static void make_stage(Maker *maker) {
    Stage stage = {.type = below(maker, maker->knobs.types + 1)};
    const Knobs *k = &maker->knobs;
    const struct {
        int percentage;
        void (*make)(Maker *, Stage *);
    } kinds[] = {{k->windows, make_window}, {k->sums, make_sum},       {k->products, make_product},
                 {k->scans, make_scan},     {k->updates, make_update}, {k->calls, make_call}};
    int chosen = below(maker, 100), kind = 0, count = sizeof kinds / sizeof *kinds;
    while (kind < count && chosen >= kinds[kind].percentage)
        chosen -= kinds[kind++].percentage;
    maker->length = 0;
    maker->fresh = true;
    if (kind < count && maker->count + 1 < k->stages)
        kinds[kind].make(maker, &stage);
    else
        make_points(maker, &stage);
    printf("    %s\n", maker->line);
    maker->stages[maker->count++] = stage;
}

/* --- the program -------------------------------------------------------------------------------------------------- */

static void print_line(Maker *maker) {
    printf("%s\n", maker->line);
    maker->length = 0;
}

static void add_tensor(Maker *maker, const char *type, const char *name, int dimensions) {
    add(maker, "%s(", type);
    for (int d = 0; d < dimensions; d++)
        add(maker, "%sS%d", d ? ", " : "", d);
    add(maker, ") %s", name);
}

/* near: a stencil along all dimensions; blur: two stages. */
static void print_defs(Maker *maker) {
    int rank = maker->knobs.rank;
    for (int two = 0; two < 2; two++) {
        add(maker, "def %s(", two ? "blur" : "near");
        add_tensor(maker, "float", "x", rank);
        add(maker, ") -> (y) {%s", two ? " z(" : " y(");
        add_indices(maker, rank);
        add(maker, ") = 0.5 * (x(");
        add_near(maker, rank, false);
        add(maker, ") else edge) + x(");
        add_indices(maker, rank);
        add(maker, ")");
        add_ranges(maker, rank);
        if (two) {
            add(maker, "  y(");
            add_indices(maker, rank);
            add(maker, ") = (z(");
            add_near(maker, rank, false);
            add(maker, ") else wrap) - z(");
            add_indices(maker, rank);
            add(maker, ")");
            add_ranges(maker, rank);
        }
        add(maker, " }");
        print_line(maker);
    }
}

static void print_header(Maker *maker) {
    int rank = maker->knobs.rank;
    add(maker, "def dense(");
    add_tensor(maker, "float", "a", rank);
    add(maker, ", %sfloat(S%d, S%d) w, int32(S0) p) -> (", maker->knobs.constant ? "const " : "", rank - 1, rank - 1);
    for (int s = 0; s < maker->knobs.outputs && s < maker->knobs.stages; s++)
        add(maker, "%st%d", s ? ", " : "", maker->knobs.stages - 1 - s);
    add(maker, ") {");
    print_line(maker);
}

static void print_export(Maker *maker) {
    int rank = maker->knobs.rank, size = maker->knobs.size;
    add(maker, "export dense%s", size == 1 ? "" : "(");
    for (int d = size == 2 ? rank - 1 : 0; d < rank && size != 1; d++)
        add(maker, "S%d=%d%s", d, extents[rank - 1][d], d + 1 < rank ? ", " : ")");
    print_line(maker);
}

static void print_program(Maker *maker) {
    if (maker->knobs.calls) {
        printf("import \"nn\"\n");
        print_defs(maker);
    }
    print_header(maker);
    while (maker->count < maker->knobs.stages)
        make_stage(maker);
    printf("}\n");
    maker->length = 0;
    print_export(maker);
}

static void print_help(void) {
    for (int k = 0; k < KNOB_COUNT; k++)
        printf("%-10s %3d..%-3d %s\n", knobs[k].name, knobs[k].least, knobs[k].most, knobs[k].help);
}

static void set_knob(Knobs *values, const char *word) {
    for (int k = 0; k < KNOB_COUNT; k++) {
        size_t length = strlen(knobs[k].name);
        if (strncmp(word, knobs[k].name, length) == 0 && word[length] == '=') {
            values->values[k] = atoi(word + length + 1);
            return;
        }
    }
    fprintf(stderr, "dense: %s is no knob; dense help lists them\n", word);
    exit(2);
}

int main(int count, char **words) {
    static Maker maker;
    if (count < 2 || strcmp(words[1], "help") == 0) {
        print_help();
        return 0;
    }
    maker.random = (Random){strtoull(words[1], NULL, 10)};
    for (int k = 0; k < KNOB_COUNT; k++)
        maker.knobs.values[k] = knobs[k].least + below(&maker, knobs[k].most - knobs[k].least + 1);
    for (int w = 2; w < count; w++)
        set_knob(&maker.knobs, words[w]);
    if (maker.knobs.stages > MOST_STAGES || maker.knobs.rank > MOST_RANK || maker.knobs.types > 5) {
        fprintf(stderr, "dense: at most %d stages, %d dimensions, 5 further types\n", MOST_STAGES, MOST_RANK);
        return 2;
    }
    for (int k = 0; k < KNOB_COUNT; k++)
        printf("%s%s=%d", k ? " " : "# ", knobs[k].name, maker.knobs.values[k]);
    printf("\n");
    print_program(&maker);
    return 0;
}
