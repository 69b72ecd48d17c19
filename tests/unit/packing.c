/* packing.c - the law of packed arguments: under any schedule, what NAME_packed computes of what NAME_pack_ARG packed
 * is what the program means; and of constants: what is computed at compile time changes no result.
 */
#include "kernel_run.h"
#include "programs.h"
#include "schedules.h"
#include "sema/interpreter.h"
#include "tests/tap.h"
#include <stdlib.h>

static const char *const texts[] = {
    "def f(int32(M, K) A, const int32(K, N) w) -> (C) { C(i, j) +=! A(i, r_k) * w(r_k, j) }",
    "def f(int16(H, W) x, const int16(3, 3) g, const int16(W) b) -> (y) {\n"
    "    t(h, w) +=! (x(h + i - 1, w + j - 1) else 0) * g(i, j) where h in 0:H, w in 0:W\n"
    "    y(h, w) = t(h, w) + b(w)\n}",
    "def f(const int32(N, K) w, int32(K) s) -> (y) {\n"
    "    u(n, k) = w(n, k) * 3 + 1\n    y(n) +=! u(n, r_k) * s(r_k) + w(n, 0) where exists s(r_k)\n}",
    "def f(int32(V, D) table, const int32(L) ids) -> (O) { O(l, d) = (table(ids(l), d) else 7) }",
};
/* Of weights that are read at numbers, and in how many parts they are packed; 0: whole. */
#define PRODUCT "def product(int32(M, K) x, int32(K, N) w) -> (y) { y(i, j) +=! x(i, r_k) * w(r_k, j) }"
static const struct {
    const char *what, *text;
    int parts;
} sliced[] = {
    {"the layers of a loop, from the last one on",
     "def f(int32(M, K) x, const int32(3, K, K) w) -> (y) {\n"
     "    y(i, k) = x(i, k)\n    for l in 0:3 { y = product(y, w(2 - l)) }\n}\n" PRODUCT,
     3},
    {"some of run-time many layers",
     "def f(int32(M, K) x, const int32(L, K, K) w) -> (y) {\n"
     "    y(i, k) = x(i, k)\n    for l in 1:3 { y = product(y, w(l)) }\n}\n" PRODUCT,
     2},
    {"layers that two loops read",
     "def f(int32(M, K) x, const int32(2, K, K) w) -> (y) {\n"
     "    y(i, k) = x(i, k)\n    for l in 0:2 { y = product(y, w(l)) }\n"
     "    for l in 1:2 { y = product(y, w(1 - l)) }\n}\n" PRODUCT,
     2},
    {"one layer's several tensors",
     "def f(int32(M, K) x, const int32(2, 3, K, N) w) -> (y) {\n"
     "    y(i, j) = 0 where i in 0:M, j in 0:N\n"
     "    for l in 0:2 { a = product(x, w(l, 2*l))  y(i, j) = y(i, j) + a(i, j) }\n}\n" PRODUCT,
     2},
    {"a transform of each layer's",
     "def f(int32(M, K) x, const int32(2, K, K) w) -> (y) {\n"
     "    y(i, k) = x(i, k)\n    for l in 0:2 {\n        t(k, j) = w(l, K - 1 - k, j) * 3 + 1\n"
     "        y = product(y, t)\n    }\n}\n" PRODUCT,
     2},
    {"layers that are read beyond their ends",
     "def f(int32(M, K) x, const int32(2, K, K) w) -> (y) {\n"
     "    y(i, k) = x(i, k)\n    for l in 0:2 { z(i, j) +=! y(i, r_k) * (w(l, r_k + 1, j - 1) else 2) "
     "where r_k in 0:K, j in 0:K  y(i, j) = z(i, j) }\n}",
     2},
    {"layers, and all of them together",
     "def f(int32(M, K) x, const int32(2, K, N) w) -> (y) {\n"
     "    s(j) +=! w(r_l, r_k, j)\n    a = product(x, w(1))\n    y(i, j) = a(i, j) + s(j)\n}\n" PRODUCT,
     0},
    {"a stage made of two layers",
     "def f(int32(M, K) x, const int32(2, K, N) w) -> (y) {\n"
     "    s(k, j) = w(0, k, j) - w(1, k, j)\n    y = product(x, s)\n}\n" PRODUCT,
     0},
    {"a layer that may not be there",
     "def f(int32(M, K) x, const int32(L, K) w) -> (y) { y(i, k) = x(i, k) * (w(2, k) else 3) }", 0},
    {"vectors", "def f(int32(M, K) x, const int32(2, K) w) -> (y) { y(i, k) = x(i, k) * w(1, k) + w(0, k) }", 0},
};
static const int64_t sizes_of[][3] = {{3, 5, 17}, {4, 9, 4}, {1, 1, 1}, {7, 2, 8}, {2, 0, 3}, {0, 3, 5}};

typedef struct Law {
    Arena *arena;
    const Program *program;
    const int64_t *sizes;
    Interpreter *interpreter;
    void **arguments; /* of the plain function */
} Law;

/* The law's values of those sizes that the program has, which may be fewer than those of the law's. */
static int64_t *sizes_for(const Law *law, const Program *program) {
    int64_t *sizes = ARENA_ARRAY(law->arena, int64_t, program->size_count + 1);
    for (int i = 0; i < program->size_count; i++)
        for (int k = 0; k < law->program->size_count; k++)
            if (strcmp(program->sizes[i]->name, law->program->sizes[k]->name) == 0)
                sizes[i] = law->sizes[k];
    return sizes;
}

static int64_t value_of(const Law *law, const Program *program, Expr *e) {
    SizeValue *values = ARENA_ARRAY(law->arena, SizeValue, program->size_count + 1);
    const int64_t *sizes = sizes_for(law, program);
    int64_t value = 0;
    for (int i = 0; i < program->size_count; i++)
        values[i] = (SizeValue){program->sizes[i], sizes[i]};
    expr_evaluate(e, values, program->size_count, &value);
    return value;
}

static void fill_arguments(Law *law, Random *random) {
    const Program *program = law->program;
    law->arguments = ARENA_ARRAY(law->arena, void *, program->argument_count + 1);
    for (int i = 0; i < program->argument_count; i++) {
        const Tensor *tensor = program->arguments[i].tensor;
        int64_t bytes = value_of(law, program, tensor_memory(law->arena, tensor));
        char *data = law->arguments[i] = arena_alloc(law->arena, (size_t)bytes + 8);
        for (int64_t e = 0; e < bytes / element_info[tensor->type].bytes; e++)
            value_store((Value){.type = tensor->type, .integer = random_below(random, 9) - 4},
                        data + e * element_info[tensor->type].bytes);
    }
}

static const char *pack(const Law *law, const Packing *packing, void *from, void **to) {
    const Program *program = packing->kernel->program;
    int64_t bytes = value_of(law, program, packing->bytes);
    *to = arena_alloc(law->arena, (size_t)bytes + 8);
    void *arguments[] = {from, *to};
    const char *why = NULL;
    int status = kernel_run(packing->kernel, sizes_for(law, program), arguments, &why);
    return why ? why : status ? "a status" : NULL;
}

/* Why the packed function is wrong, or NULL. packed: how many arguments were packed by a copy of the schedule. */
static const char *check(const Law *law, const Kernel *kernel, int *packed) {
    void **arguments = ARENA_ARRAY(law->arena, void *, law->program->argument_count + 1);
    const char *why = NULL;
    int next = 0;
    for (int i = 0; i < law->program->argument_count; i++) {
        arguments[i] = law->arguments[i];
        if (law->program->arguments[i].tensor->role != ROLE_INPUT || !law->program->arguments[i].tensor->constant)
            continue;
        *packed += kernel->packings[next].rearranged > 0;
        if ((why = pack(law, &kernel->packings[next++], law->arguments[i], &arguments[i])))
            return arena_printf(law->arena, "packing: %s", why);
    }
    int status = kernel_run(kernel->packed, law->sizes, arguments, &why);
    if (why || status)
        return why ? why : "a status";
    Mismatch first;
    for (int i = 0; i < law->program->argument_count; i++)
        if (law->program->arguments[i].tensor->role == ROLE_OUTPUT &&
            interpreter_check(law->interpreter, i, arguments[i], 1e9, 1, &first))
            return "wrong results";
    return NULL;
}

static void append(Law const *law, Schedule *schedule, Prim prim, const Program *later, const Target *target) {
    Prim *prims = ARENA_ARRAY(law->arena, Prim, schedule->count + 1);
    Schedule longer = *schedule;
    if (schedule->count)
        memcpy(prims, schedule->prims, sizeof *prims * (size_t)schedule->count);
    prims[longer.count++] = prim;
    longer.prims = prims;
    if (nest_build(law->arena, later, &longer, NULL, target, NULL))
        *schedule = longer;
}

/* P = cache_read(w, layout=(dN/4, ..., dN%4)), and perhaps an aligned stride. */
static void pack_argument(const Law *law, Random *random, Schedule *schedule, const Program *later, const Tensor *w,
                          const Target *target) {
    PrimArg *args = ARENA_ARRAY(law->arena, PrimArg, 6), *items = ARENA_ARRAY(law->arena, PrimArg, w->rank + 1);
    PrimArg *cut = ARENA_ARRAY(law->arena, PrimArg, 2);
    const char **results = ARENA_ARRAY(law->arena, const char *, 1);
    results[0] = arena_printf(law->arena, "packed_%s", w->name);
    cut[0] = arg_name(arena_printf(law->arena, "d%d", w->rank - 1));
    cut[1] = arg_int(1 + random_below(random, 5));
    items[0] = (PrimArg){.kind = ARG_OP, .op = '/', .count = 2, .items = cut};
    for (int d = 0; d < w->rank - 1; d++)
        items[d + 1] = arg_name(arena_printf(law->arena, "d%d", d));
    items[w->rank] = (PrimArg){.kind = ARG_OP, .op = '%', .count = 2, .items = cut};
    args[0] = arg_name(w->name);
    args[1] = (PrimArg){.kind = ARG_LIST, .key = "layout", .count = w->rank + 1, .items = items};
    append(law, schedule,
           (Prim){.op = PRIM_CACHE_READ, .result_count = 1, .results = results, .arg_count = 2, .args = args}, later,
           target);
    args[2] = arg_name(results[0]);
    args[3] = arg_int(random_below(random, w->rank + 1));
    args[4] = arg_int(2 + random_below(random, 6));
    args[5] = arg_int(1);
    args[5].key = "offset";
    if (random_below(random, 2))
        append(law, schedule, (Prim){.op = PRIM_STORAGE_ALIGN, .arg_count = 4, .args = args + 2}, later, target);
}

static const char *one_schedule(const Law *law, Random *random, int *packed) {
    Program *later = packing_program(law->arena, law->program, NULL);
    const Target *target = target_find("x86-64-v3");
    Schedule *schedule = random_schedule(law->arena, later, target, random, 1 + (int)random_below(random, 8));
    for (int i = 0; i < later->argument_count; i++) {
        const Argument *argument = &later->arguments[i];
        for (int p = 0; p < argument->part_count; p++)
            if (random_below(random, 4))
                pack_argument(law, random, schedule, later, argument->parts[p].tensor, target);
        if (argument->tensor->role == ROLE_CONSTANT && random_below(random, 2))
            pack_argument(law, random, schedule, later, argument->tensor, target);
    }
    Nest *nest = nest_build(law->arena, later, schedule, NULL, target, NULL);
    ExpandOptions options = {.verify_each = true};
    Kernel *kernel = expand(law->arena, nest_build(law->arena, law->program, NULL, NULL, target, NULL), &options);
    add_packing(kernel, nest, &options);
    const char *why = check(law, kernel, packed);
    if (why) {
        Text text = {.arena = law->arena};
        schedule_print(&text, schedule);
        nest_print(&text, nest);
        return arena_printf(law->arena, "%s under\n%s", why, text.text);
    }
    return NULL;
}

/* --- keys --- */

typedef struct Keyed {
    const char *key;
    const void *contents;
    int64_t bytes;
} Keyed;
typedef LIST(Keyed) KeyedList;

/* Of the constants of a nest: how many have the key of an earlier one, and how many of those other contents. */
static void compare_keys(Arena *arena, const Nest *nest, KeyedList *known, int *same, int *wrong) {
    const Tensor **constants;
    Kernel *kernel = expand(arena, nest, &(ExpandOptions){.verify_each = true});
    int count = kernel_constants(arena, kernel, &constants);
    for (int i = 0; i < count; i++) {
        Keyed keyed = {.key = constant_key(arena, constants[i]), .contents = constant_contents(arena, constants[i])};
        keyed.bytes = tensor_elements(constants[i]) * element_info[constants[i]->type].bytes;
        bool found = !keyed.key;
        for (int k = 0; !found && k < known->count; k++)
            if (strcmp(known->items[k].key, keyed.key) == 0) {
                found = true;
                ++*same;
                *wrong += known->items[k].bytes != keyed.bytes ||
                          memcmp(known->items[k].contents, keyed.contents, (size_t)keyed.bytes) != 0;
            }
        if (!found)
            list_push(arena, known, keyed);
    }
}

static Program *with_constants(const Law *law, Random *random) {
    Program *later = packing_program(law->arena, law->program, NULL);
    for (int i = 0; i < later->argument_count; i++) {
        Tensor *tensor = (Tensor *)later->arguments[i].tensor;
        if (tensor->role != ROLE_CONSTANT)
            continue;
        char *data = arena_alloc(law->arena, (size_t)tensor_elements(tensor) * 4 + 1);
        for (int64_t e = 0; e < tensor_elements(tensor); e++)
            value_store((Value){.type = tensor->type, .integer = random_below(random, 100)},
                        data + e * element_info[tensor->type].bytes);
        tensor->data = data;
    }
    return later;
}

/* The same key never stands for other contents, whatever the layout. */
static void test_keys(Random *random) {
    struct Binding sizes[] = {{"M", 3}, {"K", 10}, {"N", 17}};
    Law law = {.arena = arena_new()};
    law.program = program_of_text(law.arena, texts[0], sizes, 3);
    Program *later = with_constants(&law, random);
    const Target *target = target_find("x86-64-v3");
    KeyedList known = {0};
    int same = 0, wrong = 0;
    for (int n = 0; n < 150; n++) {
        Schedule *schedule = random_schedule(law.arena, later, target, random, (int)random_below(random, 4));
        pack_argument(&law, random, schedule, later, later->arguments[1].tensor, target);
        compare_keys(law.arena, nest_build(law.arena, later, schedule, NULL, target, NULL), &known, &same, &wrong);
    }
    is_int(wrong, 0, "constants with the same key hold the same");
    ok(same > 10 && known.count > 5, "%d share the keys of %d", same, known.count);
    arena_free(law.arena);
}

static void test_program(const char *text, Random *random) {
    int failures = 0, packed = 0, schedules = 0;
    for (size_t s = 0; s < sizeof sizes_of / sizeof *sizes_of; s++)
        for (int n = 0; n < 25; n++, schedules++) {
            Arena *arena = arena_new();
            Law law = {.arena = arena, .program = program_of_text(arena, text, NULL, 0), .sizes = sizes_of[s]};
            fill_arguments(&law, random);
            int status;
            const char *why = "";
            law.interpreter = interpreter_new(law.program, law.sizes, law.arguments, &status, &why);
            const char *wrong = law.interpreter ? one_schedule(&law, random, &packed) : NULL;
            failures += wrong != NULL;
            if (wrong && failures == 1)
                diag_line("%s", wrong);
            interpreter_free(law.interpreter);
            arena_free(arena);
        }
    is_int(failures, 0, "packed arguments under %d schedules", schedules);
    ok(packed > 0 || strstr(text, "ids"), "some copies are what is packed: %d", packed);
}

/* A schedule of the source that names the argument finds it whole. */
static void test_slices(void) {
    PrimArg whole = arg_name("w"), part = arg_name("w.at_0");
    Prim cached = {.op = PRIM_CACHE_READ, .arg_count = 1, .args = &whole}, inlined = cached;
    inlined.args = &part;
    const Schedule naming = {.count = 1, .prims = &cached}, other = {.count = 1, .prims = &inlined};
    for (size_t i = 0; i < sizeof sliced / sizeof *sliced; i++) {
        Arena *arena = arena_new();
        const Program *program = program_of_text(arena, sliced[i].text, NULL, 0);
        is_int(packing_program(arena, program, NULL)->arguments[1].part_count, sliced[i].parts, "%s: parts",
               sliced[i].what);
        is_int(packing_program(arena, program, &naming)->arguments[1].part_count, 0, "none where a schedule names all");
        is_int(packing_program(arena, program, &other)->arguments[1].part_count, sliced[i].parts,
               "as many where it does not");
        arena_free(arena);
    }
}

int main(void) {
    Random random = {20261121};
    test_slices();
    for (size_t i = 0; i < sizeof sliced / sizeof *sliced; i++)
        test_program(sliced[i].text, &random);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        test_program(texts[i], &random);
    test_keys(&random);
    return done_testing();
}
