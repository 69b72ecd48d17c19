/* kernel.c - kernels as text: goldens of every pass, round trips, refusals of the reader, and what the verifier finds.
 *
 * A golden is tests/ir/NAME.tensor, whose first line says after which passes the kernel is printed (`# passes: gsp`),
 * and tests/ir/NAME.ir. ACCEPT=1 writes the latter anew.
 */
#include "kernel_read.h"
#include "kernel_run.h"
#include "lang/value.h"
#include "lower/kernel/statements.h"
#include "schedules.h"
#include "tests/tap.h"
#include "tests/unit/programs.h"
#include <dirent.h>
#include <stdlib.h>

/* --- goldens ------------------------------------------------------------------------------------------------------ */

static char *read_all(Arena *arena, const char *path) {
    FILE *file = fopen(path, "r");
    Text text = {.arena = arena};
    char bytes[4096];
    for (size_t count; file && (count = fread(bytes, 1, sizeof bytes, file)) > 0;)
        text_add_bytes(&text, bytes, count);
    if (file)
        fclose(file);
    return text.text;
}

static const char *passes_of(Arena *arena, const char *source) {
    static const char start[] = "# passes: ";
    return strncmp(source, start, sizeof start - 1)
               ? ""
               : arena_strndup(arena, source + sizeof start - 1, strcspn(source + sizeof start - 1, "\n"));
}

static char *dump_of(Arena *arena, const char *source, Kernel **kernel) {
    const Schedule *schedule;
    Program *program = scheduled_program_of_text(arena, source, &schedule);
    NestError error = {0};
    const Nest *nest = nest_build(arena, program, schedule, NULL, target_find("x86-64-v4"), &error);
    if (!ok(nest != NULL, "%s: the schedule is legal", program->symbol)) {
        diag_line("%s", error.rule);
        return NULL;
    }
    char *bytes = NULL;
    size_t length;
    FILE *stream = open_memstream(&bytes, &length);
    *kernel = expand(arena, nest, &(ExpandOptions){.dump = passes_of(arena, source), .dump_stream = stream});
    fclose(stream);
    char *text = arena_strdup(arena, bytes);
    free(bytes);
    return text;
}

static void test_golden(const char *folder, const char *name) {
    Arena *arena = arena_new();
    Kernel *kernel = NULL;
    const char *expected = arena_printf(arena, "%s/%.*s.ir", folder, (int)(strlen(name) - strlen(".tensor")), name);
    char *dump = dump_of(arena, read_all(arena, arena_printf(arena, "%s/%s", folder, name)), &kernel);
    if (dump && getenv("ACCEPT") && *getenv("ACCEPT")) {
        FILE *file = fopen(expected, "w");
        if (file) {
            fputs(dump, file);
            fclose(file);
        }
    }
    is_text(dump, read_all(arena, expected), "the passes of %s", name);
    const char *why = NULL;
    Text text = {.arena = arena}, again = {.arena = arena};
    kernel_print(&text, kernel);
    const Kernel *read = kernel_read(arena, kernel->program, kernel->target, text.text, &why);
    if (ok(read != NULL, "the text of %s reads back", name)) {
        kernel_print(&again, read);
        is_text(again.text, text.text, "and prints the same");
        ok(kernel_verify(arena, read, true) == NULL, "and is flat");
    } else {
        diag_line("%s", why);
    }
    arena_free(arena);
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void test_goldens(Arena *arena) {
    const char *folder = arena_printf(arena, "%s/tests/ir", getenv("srcdir") ? getenv("srcdir") : ".");
    LIST(char *) names = {0};
    DIR *directory = opendir(folder);
    for (struct dirent *entry; directory && (entry = readdir(directory));)
        if (strlen(entry->d_name) > 7 && !strcmp(entry->d_name + strlen(entry->d_name) - 7, ".tensor"))
            list_push(arena, &names, arena_strdup(arena, entry->d_name));
    if (directory)
        closedir(directory);
    if (!ok(names.count > 0, "there are goldens in %s", folder))
        return;
    qsort(names.items, (size_t)names.count, sizeof *names.items, by_name);
    for (int i = 0; i < names.count; i++)
        test_golden(folder, names.items[i]);
}

/* --- text: all that it can say, and what is refused --------------------------------------------------------------- */

#define KERNEL(body) "kernel matmul symbol matmul target x86-64-v4 {\n" body "}\n"

static void test_round_trip(Arena *arena, const Program *program, const char *what, const char *text) {
    const char *why = NULL;
    Text again = {.arena = arena};
    const Kernel *kernel = kernel_read(arena, program, target_find("x86-64-v4"), text, &why);
    if (!ok(kernel != NULL, "%s: read", what)) {
        diag_line("%s", why);
        return;
    }
    kernel_print(&again, kernel);
    is_text(again.text, text, "%s: the same text again", what);
}

static void test_texts(Arena *arena) {
    Program *program = program_matmul(arena, TYPE_FLOAT, -1, 16, 8);
    test_round_trip(arena, program, "constants of every type",
                    KERNEL("    allocate local double d(1) {\n"
                           "        d(0) = 0.1:double + 1e+300:double * -inf:double - (nan:double - -(2.5:double))\n"
                           "        if 1:int32 < -7:int32 || 200:uint8 >= 3:uint8 || !(M > 3) {\n"
                           "            C(0, 0) = float(half(0.5) + 1.5:half)\n"
                           "        }\n"
                           "        C(0, 1) = float(d(0)) / min(1.0, 2.5)\n"
                           "    }\n"));
    test_round_trip(arena, program, "loops of every kind",
                    KERNEL("    check M >= 1 && M < 100 status 1\n"
                           "    parallel for i in 0:M {\n"
                           "        vectorized for j in 0:min(16, M) of 16 {\n"
                           "            unrolled reduce k in 0:8 {\n"
                           "                step\n"
                           "                C(i, j) = i > j ? C(i, j) : A(i, k where k < 7) where i < 5\n"
                           "            }\n"
                           "        }\n"
                           "    }\n"));
    test_round_trip(
        arena, program, "vectors",
        KERNEL("    for i in 0:M {\n"
               "        C(ramp(i * 16, 1, 16)) = broadcast(A(i * 8), 16) + B(ramp(15, -1, 16)) * sqrt(B(ramp(0, i, 16) "
               "where ramp(0, 1, 16) < broadcast(i, 16))) where ramp(0, 2, 16) != broadcast(4, 16)\n"
               "    }\n"));
    test_round_trip(arena, program, "offsets",
                    KERNEL("    for i in 0:M {\n"
                           "        for j in 0:8 {\n"
                           "            C([M * 2, i * 16, j, 3]) = A([i * 8 + i / 2, -4]) + B([j, 0])\n"
                           "            C(ramp([i * 16, 0], 1, 8)) = broadcast(A([i, 0]), 8)\n"
                           "        }\n"
                           "    }\n"));
    test_round_trip(
        arena, program, "shuffles",
        KERNEL("    for i in 0:M {\n"
               "        C(ramp(i * 16, 1, 8)) = shuffle(A(ramp(i, 1, 8)), B(ramp(0, 1, 8)) by 0:16:2)\n"
               "        C(ramp(i * 16, 1, 8)) = shuffle(B(ramp(0, 1, 8)) by 7, 6, 0:3, any, 0, any)\n"
               "        C(i) = shuffle(B(ramp(0, 1, 8)) by 3) where shuffle(ramp(0, 1, 4) < broadcast(i, 4) by 1)\n"
               "    }\n"));
    test_round_trip(arena, program, "names that are no plain words",
                    KERNEL("    for `step` in 0:M {\n"
                           "        allocate register float `max`(2) {\n"
                           "            allocate global float `a b`(2, M) {\n"
                           "                for i in 0:2 {\n"
                           "                    for i_2 in 0:2 {\n"
                           "                        `a b`(i, i_2) = `max`(i) + A(`step`, i)\n"
                           "                    }\n"
                           "                }\n"
                           "            }\n"
                           "        }\n"
                           "    }\n"));
}

static void test_refusals(Arena *arena) {
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"kernel", "line 1: expected a name"},
        {KERNEL("    C(0, 0) = 1.0"), NULL},
        {KERNEL("    C(0, 0) = 1.0:int32\n"), "an integer type has no such value"},
        {KERNEL("    C(0, 0) = 1\n"), "a value has the type of its tensor"},
        {KERNEL("    C(0, 0) = 1:float\n"), "a float has a point or an exponent"},
        {KERNEL("    C(0, 0, 0) = 1.0\n"), "'C' has 2 dimensions"},
        {KERNEL("    D(0) = 1.0\n"), "no buffer 'D' is here"},
        {KERNEL("    C(i, 0) = 1.0\n"), "line 2: no variable 'i' is here"},
        {KERNEL("    C(0, 0) = 1.0 + 2\n"), "operands of '+' differ in type or lanes"},
        {KERNEL("    C(0, 0) = 1.0 + broadcast(1.0, 4)\n"), "operands of '+' differ in type or lanes"},
        {KERNEL("    C(0, 0) = min(1.0)\n"), "'min' has 2 operands"},
        {KERNEL("    C(0, 0) = ramp(1.0, 1.0, 4)\n"), "ramp(base, stride, lanes)"},
        {KERNEL("    C(0, 0) = 99999999999999999999\n"), "an integer of 64 bits"},
        {KERNEL("    for i in 1:M {\n    }\n"), "a loop starts at 0"},
        {KERNEL("    C(0, 0) = A(0, 0 where 1)\n"), "a guard is a bool"},
        {KERNEL("    C(ramp(0, 1, 4), 0) = broadcast(1.0, 4)\n"), "indices differ in lanes"},
        {KERNEL("") "C", "text after the end"},
    };
    Program *program = program_matmul(arena, TYPE_FLOAT, -1, 16, 8);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *why = NULL;
        const Kernel *kernel = kernel_read(arena, program, NULL, cases[i].text, &why);
        bool as_wanted = cases[i].why ? !kernel && why && strstr(why, cases[i].why) : kernel && !why;
        if (!ok(as_wanted, "the reader: %s", cases[i].why ? cases[i].why : "accepts"))
            diag_line("got: %s", why ? why : "no complaint");
    }
    Random random = {1};
    const char *text =
        KERNEL("    for i in 0:M {\n        C(i, 0) = i > 2 ? A(i, 0 where i < 5) : float(-1.5:half)\n    }\n");
    int refused = 0;
    for (int round = 0; round < 500; round++) {
        const char *why;
        char *damaged = arena_strdup(arena, text);
        damaged[random_below(&random, (int64_t)strlen(text))] = " (){}:,`-+?<=&0a\"\n"[random_below(&random, 18)];
        refused += !kernel_read(arena, program, NULL, damaged, &why);
    }
    ok(refused > 100 && refused < 500, "damaged text is refused or read, never worse");
}

/* --- the verifier ------------------------------------------------------------------------------------------------- */

static void is_broken(Arena *arena, const Kernel *kernel, bool flat, const char *rule) {
    const char *why = kernel_verify(arena, kernel, flat);
    if (!ok(why && !strncmp(why, rule, strlen(rule)), "the verifier: %s", rule))
        diag_line("got: %s", why ? why : "nothing");
}

/* Rules that text can break. */
static void test_verifier_text(Arena *arena) {
    static const struct {
        const char *body, *rule;
        bool flat; /* holds before flattening, not after */
    } cases[] = {
        {"for i in 0:4 {\n A(i, 0) = 1.0\n }\n", "no input is stored to", false},
        {"C(0, 0) = 1.0\n check M > 0 status 1\n", "a check stands before the first store to an output", false},
        {"for i in 0:2 {\n check i < M status 1\n C(i, 0) = 1.0\n }\n", "a check stands before", false},
        {"parallel for i in 0:2 {\n check i < M status 1\n }\n", "a check stands in no parallel loop", false},
        {"parallel for i in 0:2 {\n parallel for j in 0:2 {\n C(i, j) = 1.0\n } }\n", "no parallel loop stands inside",
         false},
        {"C(0, 0) = float(1) where 1 < 2\n for i in 0:1.5 {\n step\n }\n", "a loop's extent is a scalar of type int64",
         false},
        {"if M {\n C(0, 0) = 1.0\n }\n", "a condition is a scalar of type bool", false},
        {"allocate local float t(2.0) {\n C(0, 0) = t(0)\n }\n", "a buffer's extents are scalars of type int64", false},
        {"C(0, 0) = A(0.5, 0)\n", "an index is of type int64", false},
        {"C(0, 0) = 1.0\n", "an access of a flat kernel has one index", true},
        {"unrolled for i in 0:2 {\n C(i) = 1.0\n }\n", "no loop of a flat kernel is vectorized or unrolled", true},
        {"vectorized for i in 0:2 {\n C(i) = 1.0\n }\n", "no loop of a flat kernel is vectorized or unrolled", true},
        {"for i in 0:2 {\n allocate register float t(2) {\n t(i) = 1.0\n } }\n",
         "a register buffer is indexed by constants", true},
        {"for i in 0:2 {\n C(i) = 1.0\n }\n", "an index of a flat kernel is an offset", true},
        {"for i in 0:2 {\n C(ramp(i, 1, 4)) = broadcast(1.0, 4)\n }\n", "an index of a flat kernel is an offset", true},
        {"for i in 0:2 {\n for j in 0:2 {\n C([j, i, 0]) = 1.0\n } }\n",
         "a part of an offset changes in a loop inside of", false},
        {"for i in 0:2 {\n C([i, i * 4, 0]) = 1.0\n }\n", "a part of an offset changes in a loop inside of", false},
        {"C(0) = shuffle(broadcast(1.0, 4) by 4)\n", "a shuffle takes lanes that are there", false},
        {"allocate register float t(M) {\n t(0) = 1.0\n }\n", "a register buffer has a constant size", true},
        {"allocate register float t(4) {\n t(ramp(1, 1, 4)) = broadcast(1.0, 4)\n }\n",
         "a register buffer's index is inside it", true},
    };
    Program *program = program_matmul(arena, TYPE_FLOAT, -1, 16, 8);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *why = NULL, *text = arena_printf(arena, KERNEL("%s"), cases[i].body);
        const Kernel *kernel = kernel_read(arena, program, NULL, text, &why);
        if (cases[i].flat && ok(kernel != NULL, "it holds before flattening"))
            is_broken(arena, kernel, true, cases[i].rule);
        else if (!ok(!kernel && why && strstr(why, cases[i].rule), "the verifier: %s", cases[i].rule))
            diag_line("got: %s", why ? why : "nothing");
    }
}

/* A kernel around one statement. */
static Kernel *around(Arena *arena, const Program *program, Stmt *stmt) {
    Kernel *kernel = ARENA_NEW(arena, Kernel);
    Stmt *block = ARENA_NEW(arena, Stmt);
    *block = (Stmt){.kind = STMT_BLOCK, .count = 1, .body = ARENA_ARRAY(arena, Stmt *, 1)};
    block->body[0] = stmt;
    *kernel = (Kernel){.arena = arena, .program = program, .body = block};
    return kernel;
}

static Stmt *store(Arena *arena, const Program *program, Expr *value) {
    Expr **index = ARENA_ARRAY(arena, Expr *, 1);
    index[0] =
        value->lanes > 1 ? expr_ramp(arena, expr_int(arena, 0), expr_int(arena, 1), value->lanes) : expr_int(arena, 0);
    const Tensor *output = program->arguments[program->argument_count - 1].tensor;
    return stmt_store(arena, output, index, 1, value, NULL, (Loc){0});
}

static Expr *changed(Arena *arena, const Expr *e, Expr change) {
    Expr *copy = expr_copy(arena, e);
    copy->type = change.type;
    copy->lanes = change.lanes;
    return copy;
}

/* Rules that only damage in memory can break. */
static void test_verifier_damage(Arena *arena) {
    Program *program = program_matmul(arena, TYPE_FLOAT, -1, 16, 8);
    Expr *one = expr_constant(arena, TYPE_FLOAT, 1), *wide = expr_broadcast(arena, one, 4);
    Expr *sum = expr_binary(arena, OP_ADD, one, one), *zero[] = {expr_int(arena, 0), expr_int(arena, 0)};
    Var *i = var_new(arena, VAR_LOOP, TYPE_INT64, "i", expr_int(arena, 2));
    Stmt *good = store(arena, program, one);
    ok(kernel_verify(arena, around(arena, program, good), false) == NULL, "a store alone is a kernel");

    is_broken(arena, around(arena, program, store(arena, program, expr_cast(arena, TYPE_FLOAT, expr_var(arena, i)))),
              false, "a variable is used outside its loop");
    is_broken(
        arena,
        around(arena, program, store(arena, program, changed(arena, sum, (Expr){.type = TYPE_FLOAT, .lanes = 4}))),
        false, "operands have the lanes of their operator");
    is_broken(
        arena,
        around(arena, program, store(arena, program, changed(arena, sum, (Expr){.type = TYPE_DOUBLE, .lanes = 1}))),
        false, "the types of an operator's operands agree");
    is_broken(
        arena,
        around(arena, program, store(arena, program, changed(arena, one, (Expr){.type = TYPE_FLOAT, .lanes = 4}))),
        false, "a constant has one lane");
    is_broken(
        arena,
        around(arena, program, store(arena, program, changed(arena, wide, (Expr){.type = TYPE_DOUBLE, .lanes = 4}))),
        false, "a ramp or broadcast has the type of its scalars");
    is_broken(arena,
              around(arena, program, store(arena, program, expr_read(arena, program->arguments[0].tensor, zero, one))),
              false, "no read of a kernel has an else value");
    Stmt *masked = store(arena, program, wide);
    masked->guard = expr_bool(arena, true);
    is_broken(arena, around(arena, program, masked), false, "a guard has the lanes of its access");

    StmtList body = {0}, nested = {0};
    stmts_add(arena, &body, good);
    Stmt *inner = stmt_for(arena, i, expr_int(arena, 2), LOOP_SERIAL, body, (Loc){0});
    stmts_add(arena, &nested, inner);
    is_broken(arena, around(arena, program, stmt_for(arena, i, expr_int(arena, 2), LOOP_SERIAL, nested, (Loc){0})),
              false, "a variable is defined once in a nest");
    is_broken(arena, around(arena, program, stmt_block(arena, body)), false,
              "a block stands only around the whole kernel");
    Tensor *buffer = ARENA_NEW(arena, Tensor);
    *buffer = (Tensor){.name = "t", .type = TYPE_FLOAT, .role = ROLE_TEMPORARY};
    is_broken(arena, around(arena, program, store(arena, program, expr_read(arena, buffer, NULL, NULL))), false,
              "a buffer is used outside its allocation");
    StmtList twice = {0};
    stmts_add(arena, &twice, stmt_allocate(arena, buffer, body));
    is_broken(arena, around(arena, program, stmt_allocate(arena, buffer, twice)), false,
              "a buffer is allocated once in a nest");
}

/* --- windows ------------------------------------------------------------------------------------------------------ */

/* How often elements of `t` are computed for a blur of three rows, under the statements. */
static int64_t count_writes(Arena *arena, const char *statements) {
    static float input[16 * 8], output[14 * 8];
    const Schedule *schedule;
    const char *text = arena_printf(arena,
                                    "def f(float(16, 8) X) -> (Y) {\n"
                                    "  t(y, x) = X(y, x) * 2.0\n"
                                    "  Y(y, x) = t(y, x) + t(y + 1, x) + t(y + 2, x) }\n"
                                    "export f() as g\nschedule g on x86 { %s }\n",
                                    statements);
    Program *program = scheduled_program_of_text(arena, text, &schedule);
    const Target *target = target_find("x86-64-v4");
    const Nest *nest = nest_build(arena, program, schedule, NULL, target, NULL);
    if (!nest)
        return -1;
    int status;
    const char *why;
    void *arguments[] = {input, output};
    int64_t writes = kernel_run_writes(expand(arena, nest, NULL), NULL, arguments, "t", &status, &why);
    return why ? -1 : writes;
}

static void test_windows(Arena *arena) {
    is_int(count_writes(arena, "compute_at(t, Y.y)"), 14 * 3 * 8, "each row of a stencil is computed three times");
    is_int(count_writes(arena, "compute_at(t, Y.y) store_at(t, root)"), 16 * 8, "stored at the root: once");
    is_int(count_writes(arena, "a, b = split(Y.y, 7) compute_at(t, b) store_at(t, a)"), 2 * 9 * 8,
           "stored in a tile: once a tile");
    is_int(count_writes(arena, "reorder(Y.x, Y.y) compute_at(t, Y.y) store_at(t, root)"), 16 * 8,
           "over two loops, each with a dimension of its own: once");
    is_int(count_writes(arena, "a, b = split(Y.y, 7) compute_at(t, b) store_at(t, root)"), (7 + 2 + 7 + 2) * 8,
           "over two loops that share a dimension: once for each value of the outer one");
}

/* What the evaluator of tests must see: each statement is wrong in one way, the last one right. */
static void test_evaluator(Arena *arena) {
    static const struct {
        const char *body, *fault;
    } cases[] = {
        {"parallel for i in 0:2 {\n C(0, 0) = 1.0\n }\n", "written by another iteration"},
        {"C(0, 0) = 1.0\n parallel for i in 0:2 {\n C(i, 1) = C(0, 0)\n C(i, 0) = 2.0\n }\n",
         "read by another iteration"},
        {"parallel for i in 0:2 {\n C(i, 1) = A(0, 0)\n C(1 - i, 0) = 1.0\n C(i, 0) = 2.0\n }\n", "written by another"},
        {"C(0, 2) = 1.0\n", "outside 0:2"},
        {"allocate local float t(2) {\n C(0, 0) = t(1)\n }\n", "undefined value"},
        {"C(0, 0) = 1.0\n", "was not written"},
        {"parallel for i in 0:2 {\n allocate local float t(1) {\n t(0) = A(0, 0)\n for j in 0:2 {\n"
         " C(i, j) = t(0) + A(0, 0)\n } } }\n",
         NULL},
    };
    Program *program = program_matmul(arena, TYPE_FLOAT, 2, 2, 2);
    float a[4] = {0}, b[4] = {0}, c[4] = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *why = NULL, *fault = NULL, *text = arena_printf(arena, KERNEL("%s"), cases[i].body);
        const Kernel *kernel = kernel_read(arena, program, NULL, text, &why);
        if (!ok(kernel != NULL, "a kernel to execute: %s", why ? why : "it reads"))
            continue;
        kernel_run(kernel, NULL, (void *[]){a, b, c}, &fault);
        bool right = cases[i].fault ? fault && strstr(fault, cases[i].fault) : !fault;
        if (!ok(right, "the evaluator sees: %s", cases[i].fault ? cases[i].fault : "nothing wrong"))
            diag_line("got: %s", fault ? fault : "nothing");
    }
}

int main(void) {
    Arena *arena = arena_new();
    test_evaluator(arena);
    test_windows(arena);
    test_goldens(arena);
    test_texts(arena);
    test_refusals(arena);
    test_verifier_text(arena);
    test_verifier_damage(arena);
    arena_free(arena);
    return done_testing();
}
