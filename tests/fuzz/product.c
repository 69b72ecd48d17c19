/* product.c - products that an instruction of stdlib/instr.tensor may compute, and schedules that say so.
 *
 * Random programs never match an instruction: here the value, the types and the tiles are those of one, and the rest is
 * left to chance: shapes, what is cut off, transposed or read outside, what follows, the tiles around and their order.
 */
#include "fuzz.h"
#include "parser/ast.h"
#include <string.h>

typedef struct Form {
    const char *a, *b, *sum, *instr, *target;
    int lanes, depth;
} Form;

static const Form forms[] = {
    {"uint8", "int8", "int32", "dot4_avx512", "x86-64-v4+avx512vnni", 16, 4},
    {"uint8", "int8", "int32", "dot4_avx512_256", "x86-64-v4+avx512vnni", 8, 4},
    {"uint8", "int8", "int32", "dot4_avx512_128", "x86-64-v4+avx512vnni", 4, 4},
    {"uint8", "int8", "int32", "dot4_avxvnni", "x86-64-v3+avxvnni", 8, 4},
    {"int16", "int16", "int32", "dot2_int16_avx512", "x86-64-v4+avx512vnni", 16, 2},
    {"bfloat16", "bfloat16", "float", "dot2_bf16_avx512", "x86-64-v4+avx512bf16", 16, 2},
    {"bfloat16", "bfloat16", "float", "dot2_bf16_avx512_256", "x86-64-v4+avx512bf16", 8, 2},
    {"int8", "int8", "int32", "dot4_arm", "aarch64+dotprod", 4, 4},
    {"uint8", "uint8", "uint32", "dot4_unsigned_arm", "aarch64+dotprod", 4, 4},
    {"uint8", "int8", "int32", "dot4_mixed_arm", "aarch64+i8mm", 4, 4},
    {"bfloat16", "bfloat16", "float", "dot2_bf16_arm", "aarch64+bf16", 4, 2},
};

static int below(Random *random, int limit) {
    return (int)random_below(random, limit);
}

/* --- programs ----------------------------------------------------------------------------------------------------- */

static void choose_sizes(Random *random, struct Binding *bindings) {
    static const int values[] = {0, 1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 19, 32, 33};
    static const char *const names[RANDOM_SIZES] = {"N", "M", "K"};
    for (int i = 0; i < RANDOM_SIZES; i++)
        bindings[i] = (struct Binding){names[i], values[below(random, sizeof values / sizeof *values)]};
}

/* What is multiplied: an element, one of a neighbour, none beside the edge. */
static const char *read_of_x(Arena *arena, Random *random, const Form *form) {
    switch (below(random, 5)) {
    case 0: return arena_printf(arena, "(X(i + r_w - 1, r_k) else %s(0))", form->a);
    case 1: return arena_printf(arena, "(X(i + 1, r_k) else %s(3))", form->a);
    default: return "X(i, r_k)";
    }
}

static void print_program(Arena *arena, Text *text, Random *random, const Form *form, const struct Binding *bindings) {
    static const char *const conditions[] = {"", "", "", ", r_k <= i", ", i + j < 9", ", r_k != j"};
    static const char *const after[] = {"max(T0(i, j), %s(0))", "T0(i, j) * %s(2) + T0(i, j)"};
    bool transposed = below(random, 3) == 0, follows = below(random, 2);
    const char *x = read_of_x(arena, random, form), *condition = conditions[below(random, 6)];
    text_add(text, "import \"instr\"\ndef f(%s(M, K) X, %s%s(%s) A0) -> (%s) {\n", form->a,
             below(random, 4) ? "" : "const ", form->b, transposed ? "N, K" : "K, N", follows ? "T1" : "T0");
    text_add(text, "    T0(i, j) +=! %s(%s) * %s(%s) where i in 0:M, j in 0:N, r_k in 0:K%s%s%s\n", form->sum, x,
             form->sum, transposed ? "A0(j, r_k)" : "A0(r_k, j)", strstr(x, "r_w") ? ", r_w in 0:3" : "", condition,
             *condition ? " #if" : "");
    if (follows) {
        text_add(text, "    T1(i, j) = ");
        text_add(text, after[below(random, 2)], form->sum);
        text_add(text, " where i in 0:M, j in 0:N\n");
    }
    text_add(text, "}\nexport f(N=%d, M=%d, K=%d)\n", (int)bindings[0].value, (int)bindings[1].value,
             (int)bindings[2].value);
}

/* --- schedules ---------------------------------------------------------------------------------------------------- */

/* The tiles of the instruction inside others, what it reads side by side. */
static void print_schedule(Text *text, Random *random, const Form *form) {
    static const char *const orders[] = {"jo, io, ko, ii, ju, jl, ki", "io, jo, ko, ju, ii, jl, ki",
                                         "ko, jo, io, ii, ju, jl, ki"};
    static const char *const places[] = {", at=jo", ", at=ko", ""};
    int order = below(random, 5);
    text_add(text, "io, ii = split(T0.i, %d)\n", 1 + below(random, 4));
    text_add(text, "jo, ju, jl = split(T0.j, %d, %d)\n", 1 + below(random, 3), form->lanes);
    text_add(text, "ko, ki = split(T0.r_k, %d)\n", form->depth);
    text_add(text, "reorder(%s)\n", orders[order < 3 ? order : 0]);
    text_add(text, "P = cache_read(A0%s, layout=(j/%d, k/%d, j%%%d, k%%%d))\n", places[below(random, 3)], form->lanes,
             form->depth, form->lanes, form->depth);
    if (below(random, 4))
        text_add(text, "R = cache_write(T0, at=%s, scope=register)\n", order == 1 ? "jo" : "io");
    text_add(text, "tensorize(jl, %s)\n", form->instr);
    if (below(random, 2))
        text_add(text, "unroll(ii, ju)\n");
}

static const Schedule *read_statements(Arena *arena, const char *text) {
    Sources *sources = ARENA_NEW(arena, Sources);
    sources->arena = arena;
    Diagnostics *diagnostics = diag_new(arena, sources, (DiagOptions){.stream = stderr});
    return parse_schedule(arena, sources, (uint32_t)source_add(sources, "made", text, strlen(text), false),
                          diagnostics);
}

ProductCase random_product(Arena *arena, Random *random, struct Binding *bindings) {
    const Form *form = &forms[below(random, sizeof forms / sizeof *forms)];
    Text text = {.arena = arena}, statements = {.arena = arena};
    choose_sizes(random, bindings);
    print_program(arena, &text, random, form, bindings);
    print_schedule(&statements, random, form);
    const Schedule *schedule = below(random, 4) ? read_statements(arena, statements.text) : NULL;
    return (ProductCase){text.text, form->target, schedule};
}
