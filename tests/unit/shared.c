/* shared.c - equal nests of long functions: which become one, with which tensors and numbers, what they compute, and
 * what the explanations know of each.
 */
#include "kernel_run.h"
#include "lower/kernel/kernel.h"
#include "schedules.h"
#include "tests/tap.h"

#include <string.h>

enum { LAYERS = 80, WIDTH = 37 };

static Kernel *kernel_of(Arena *arena, const char *text, bool each) {
    Program *program = program_of_text(arena, text, NULL, 0);
    const Nest *nest = nest_build(arena, program, NULL, NULL, target_find("x86-64-v3"), NULL);
    return expand(arena, nest, &(ExpandOptions){.verify_each = true, .share_each = each, .number_each = each});
}

static int runs_of(const Kernel *kernel, const SharedNest *nest) {
    int runs = 0;
    EACH_STMT(stmt, kernel->body)
        runs += stmt->kind == STMT_SHARED && (!nest || stmt->shared == nest);
    return runs;
}

/* y = x, then LAYERS times y(i) = y(i) * a + w(l, i) + v(l, 36 - i) * w(l, 0), which is a layer of the text. */
#define LAYER "t(i) = y(i) * 3 + w(l, i) + v(l, 36 - i) * w(l, 0) where i in 0:37 y(i) = t(i)"
static const char layers[] = "def f(int32(37) x, const int32(80, 37) w, const int32(80, 37) v) -> (y) {\n"
                             "y(i) = x(i)\nfor l in 0:80 { " LAYER " } }";

static void expect_layers(const int32_t *x, const int32_t *w, const int32_t *v, int32_t *y) {
    memcpy(y, x, WIDTH * sizeof *y);
    for (int l = 0; l < LAYERS; l++) {
        const int32_t *own = w + l * WIDTH;
        for (int i = 0; i < WIDTH; i++)
            y[i] = (int32_t)((uint32_t)y[i] * 3u + (uint32_t)own[i] +
                             (uint32_t)v[l * WIDTH + WIDTH - 1 - i] * (uint32_t)own[0]);
    }
}

static void test_results(bool each) {
    Arena *arena = arena_new();
    const Kernel *kernel = kernel_of(arena, layers, each);
    int32_t x[WIDTH], y[WIDTH], expected[WIDTH], w[LAYERS * WIDTH], v[LAYERS * WIDTH];
    const char *fault;
    for (int i = 0; i < LAYERS * WIDTH; i++) {
        x[i % WIDTH] = i;
        w[i] = i * 7 % 23;
        v[i] = i * 5 % 19;
    }
    expect_layers(x, w, v, expected);
    is_int(kernel_run(kernel, NULL, (void *[]){x, w, v, y}, &fault), 0, "layers return OK");
    ok(!fault && memcmp(y, expected, sizeof y) == 0, "layers%s compute what C computes",
       each ? ", all nests apart" : "");
    arena_free(arena);
}

static void test_numbers(void) {
    Arena *arena = arena_new();
    const Kernel *kernel = kernel_of(arena, layers, false);
    const SharedNest *layer = kernel->shared.items[0];
    int runs = 0, others = 0;
    is_int(kernel->shared.count, 1, "layers are one nest");
    is_int(runs_of(kernel, NULL), LAYERS, "which runs for each, though some read an input");
    is_int(layer->number_count, 1, "weights of one layer are told by one number");
    is_int(layer->numbers[0]->most, LAYERS - 1, "which is at most that of the last layer");
    EACH_STMT(stmt, kernel->body)
        others += stmt->kind == STMT_SHARED && stmt->numbers[0]->integer != runs++;
    is_int(others, 0, "each layer has its own");
    arena_free(arena);
}

typedef struct Case {
    const char *name, *text;
    int nests, runs;
} Case;

static const Case cases[] = {
    {"few layers stand as they are", "def f(float(37) x) -> (y) { y(i) = x(i) for l in 0:20 { y(i) = y(i) * 3 + 1 } }",
     0, 0},
    {"nests of two kinds",
     "def f(float(37) x) -> (y) { y(i) = x(i) for l in 0:40 {\n"
     "y(i) = min(y(i) * 3 + (y(i + 1) else 0.0), y(i) * (y(i - 1) else 2.0) - 7)\n"
     "y(i) = max(y(i) * 3 + (y(i + 1) else 0.0), y(i) * (y(i - 1) else 2.0) - 7) } }",
     2, 79},
    {"nests of two lengths",
     "def f(float(37) x, float(38) u) -> (y, z) { y(i) = x(i) z(i) = u(i) for l in 0:40 {\n"
     "y(i) = min(y(i) * 3 + (y(i + 1) else 0.0), y(i) * (y(i - 1) else 2.0) - 7)\n"
     "z(i) = min(z(i) * 3 + (z(i + 1) else 0.0), z(i) * (z(i - 1) else 2.0) - 7) } }",
     2, 78},
    {"other numbers among the values",
     "def f(float(37) x) -> (y) { y(i) = x(i) for l in 0:80 {\n"
     "y(i) = min(y(i) * l + (y(i + 1) else 0.0), y(i) * (y(i - 1) else 2.0) - 7) } }",
     1, 79},
    {"other numbers where values are compared, chosen and divided",
     "def f(float(37) x) -> (y) { y(i) = x(i) for l in 0:80 {\n"
     "y(i) = (y(i) > l / 2.5 ? (y(i + 1) else 0.5 + l) : y(i)) / (l * 3 + 1.5) - min(y(36 - i), 4 - l) } }",
     1, 79},
    {"other numbers among integers",
     "def f(uint8(37) x) -> (y) { y(i) = x(i) for l in 0:80 {\n"
     "y(i) = (y(i) * uint8(l) + (y(i + 1) else 0)) % 11 + (y(i) < uint8(l) ? uint8(l) : y(36 - i)) } }",
     1, 79},
    {"divisors of integers, and exponents, are parts of instructions",
     "def f(int32(37) x) -> (y) { y(i) = x(i) for l in 0:80 {\n"
     "y(i) = y(i) * 3 + y(36 - i) / (l + 3) + y(i) % (l + 5) + (y(i + 1) else 7) } }",
     0, 0},
    {"in a function that is not very long, numbers among indices stay",
     "def f(float(37) x) -> (y) { y(i) = x(i) for l in 0:34 {\n"
     "y(i) = (y(i - l - 1) else 0.5) * 3 + (y(i + l + 1) else 0.0) * y(36 - i) where i in 0:37 } }",
     0, 0},
    {"in a very long one they are passed: one, with others so much more",
     "def f(float(370) x) -> (y) { y(i) = x(i) for l in 0:300 {\n"
     "y(i) = (y(i - l - 1) else 0.5) * 3 + (y(i + l + 3) else 0.0) * y(369 - i) where i in 0:370 } }",
     3, 301},
    {"one tensor where the other has two",
     "def f(float(37) x, float(37) u, float(37) v) -> (y) { y(i) = x(i) for l in 0:40 {\n"
     "y(i) = min(y(i) * 3 + u(i), y(i) * (v(i - 1) else 2.0) - 7)\n"
     "y(i) = min(y(i) * 3 + u(i), y(i) * (u(i - 1) else 2.0) - 7) } }",
     2, 79},
    {"two tensors where the other has one",
     "def f(float(37) x, float(37) u, float(37) v) -> (y) { y(i) = x(i) for l in 0:40 {\n"
     "y(i) = min(y(i) * 3 + u(i), y(i) * (u(i - 1) else 2.0) - 7)\n"
     "y(i) = min(y(i) * 3 + u(i), y(i) * (v(i - 1) else 2.0) - 7) } }",
     2, 79},
    {"rows of two lengths",
     "def f(float(9, 37) x, float(9, 37) u, float(9, 38) v) -> (y) { y(i, j) = x(i, j) for l in 0:40 {\n"
     "y(i, j) = min(y(i, j) * 3 + u(i, j), y(i, j) * 2 - 7) where i in 0:9, j in 0:37\n"
     "y(i, j) = min(y(i, j) * 3 + v(i, j), y(i, j) * 2 - 7) where i in 0:9, j in 0:37 } }",
     2, 79},
    {"indices that are numbers, and some that are not",
     "def f(float(37) x, float(81, 37) w) -> (y) { y(i) = x(i) for l in 0:40 {\n"
     "y(i) = min(y(i) * w(l, 5) + w(l, i), y(i) * (y(i - 1) else 2.0) - 7)\n"
     "y(i) = min(y(i) * w(l, i) + w(l, i), y(i) * (y(i - 1) else 2.0) - 7) } }",
     2, 79},
    {"two numbers that go their own ways",
     "def f(float(37) x, float(81, 37) w) -> (y) { y(i) = x(i) for l in 0:80 {\n"
     "y(i) = min(y(i) * w(l, i) + w(80 - l, i), y(i) * (y(i - 1) else 2.0) - 7) + w(3, i) } }",
     1, 79},
};

/* The last layer of a result writes to memory of the caller, which is another kind of tensor. */
static void test_cases(void) {
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        Arena *arena = arena_new();
        const Kernel *kernel = kernel_of(arena, cases[c].text, false);
        is_int(kernel->shared.count, cases[c].nests, "%s: nests", cases[c].name);
        is_int(runs_of(kernel, NULL), cases[c].runs, "%s: runs", cases[c].name);
        arena_free(arena);
    }
}

/* Which tensors and numbers stand for each other: those of a run are all different, and like the nest's. */
static void test_tensors(void) {
    Arena *arena = arena_new();
    const Kernel *kernel = kernel_of(arena, cases[sizeof cases / sizeof *cases - 1].text, false);
    const SharedNest *nest = kernel->shared.items[0];
    int wrong = 0, run = 0;
    is_int(nest->number_count, 2, "two numbers, and one that is the same for all");
    EACH_STMT(stmt, kernel->body) {
        if (stmt->kind != STMT_SHARED)
            continue;
        wrong += stmt->numbers[0]->integer + stmt->numbers[1]->integer != 80;
        for (int t = 0; t < nest->tensor_count; t++)
            for (int o = 0; o < t; o++)
                wrong += stmt->tensors[t] == stmt->tensors[o];
        run++;
    }
    is_int(wrong, 0, "each run has its own");
    is_int(run, LAYERS - 1, "all but the last, which stores to the output");
    arena_free(arena);
}

/* 300 steps y(i) = y(i - s) * 3 + s * y(i + s + 2), or 5 and 0 outside, in the elements from s % 4 on. */
static void test_offsets(void) {
    enum { STEPS = 300 };
    Arena *arena = arena_new();
    const Kernel *kernel = kernel_of(arena,
                                     "def f(int32(37) x) -> (y) { y(i) = x(i) for l in 0:300 {\n"
                                     "t(i) = (y(i - l % 9) else 5) * 3 + int32(l) * (y(i + l % 9 + 2) else 0)\n"
                                     "where i in 0:37  y(i) = t(i) where i in l % 4:37 } }",
                                     false);
    int32_t x[WIDTH], y[WIDTH], expected[WIDTH], before[WIDTH];
    const char *fault;
    for (int i = 0; i < WIDTH; i++)
        expected[i] = x[i] = i * 7 % 11 - 3;
    for (int s = 0; s < STEPS; s++) {
        memcpy(before, expected, sizeof before);
        for (int i = s % 4; i < WIDTH; i++) {
            uint32_t left = i >= s % 9 ? (uint32_t)before[i - s % 9] : 5;
            uint32_t right = i + s % 9 + 2 < WIDTH ? (uint32_t)before[i + s % 9 + 2] : 0;
            expected[i] = (int32_t)(left * 3 + (uint32_t)s * right);
        }
    }
    int64_t most = 0;
    for (int n = 0; n < kernel->shared.count; n++)
        most = kernel->shared.items[n]->number_count > most ? kernel->shared.items[n]->number_count : most;
    ok(kernel->shared.count < 20, "steps that differ in offsets are a few functions: %d", kernel->shared.count);
    is_int(most, 2, "with the offset and the factor as numbers");
    is_int(kernel_run(kernel, NULL, (void *[]){x, y}, &fault), 0, "they return OK");
    ok(!fault && memcmp(y, expected, sizeof y) == 0, "and compute what C computes");
    arena_free(arena);
}

static int32_t floor_quotient(int32_t a, int32_t b) {
    return a / b - (a % b < 0);
}

/* 600 steps y(i) = 3 * (y(i) % (s + 7)) + y(i) / (s + 3) + y(i / (s + 2)) - y((i * (s + 5)) % 37): by the least and by
 * the largest divisors, of dividends of either sign. */
static void test_factors(void) {
    enum { STEPS = 600 };
    Arena *arena = arena_new();
    const Kernel *kernel =
        kernel_of(arena,
                  "def f(int32(37) x) -> (y) { y(i) = x(i) for l in 0:600 {\n"
                  "t(i) = 3 * (y(i) % (l + 7)) + y(i) / (l + 3) + y(i / (l + 2)) - y((i * (l + 5)) % 37)\n"
                  "where i in 0:37  y(i) = t(i) - 9 * int32(i) } }",
                  false);
    int32_t x[WIDTH], y[WIDTH], expected[WIDTH], before[WIDTH];
    const char *fault;
    for (int i = 0; i < WIDTH; i++)
        expected[i] = x[i] = i * 7919 % 1000 - 500;
    for (int s = 0; s < STEPS; s++) {
        memcpy(before, expected, sizeof before);
        for (int i = 0; i < WIDTH; i++) {
            int32_t rest = before[i] - floor_quotient(before[i], s + 7) * (s + 7);
            expected[i] = 3 * rest + floor_quotient(before[i], s + 3) + before[i / (s + 2)] -
                          before[i * (s + 5) % WIDTH] - 9 * i;
        }
    }
    ok(kernel->shared.count < 10, "steps that differ in factors and divisors are a few functions: %d",
       kernel->shared.count);
    is_int(kernel_run(kernel, NULL, (void *[]){x, y}, &fault), 0, "they return OK");
    ok(!fault && memcmp(y, expected, sizeof y) == 0, "and compute what C computes");
    Text text = {.arena = arena};
    kernel_print(&text, kernel);
    ok(strstr(text.text, " from 1 to "), "a divisor is known to be at least 1");
    arena_free(arena);
}

static void test_text(void) {
    Arena *arena = arena_new();
    Text text = {.arena = arena};
    kernel_print(&text, kernel_of(arena, layers, false));
    ok(strstr(text.text, "    nest 1(int32 "), "the text has the nest");
    ok(strstr(text.text, ", number to 79) {\n"), "with the range of its number");
    ok(strstr(text.text, "run nest 1("), "and where it runs");
    arena_free(arena);
}

/* Loops that stay serial, and those that a limit keeps, are told for each layer. */
static void test_notes(void) {
    Arena *arena = arena_new();
    const Schedule *schedule;
    const char *text = arena_printf(arena, "%s\nschedule f on x86 { parallel(t.i) }\n", layers);
    Program *program = scheduled_program_of_text(arena, text, &schedule);
    const Nest *nest = nest_build(arena, program, schedule, NULL, target_find("x86-64-v3"), NULL);
    const Kernel *kernel = expand(arena, nest, &(ExpandOptions){.verify_each = true});
    const Kernel *each = expand(arena, nest, &(ExpandOptions){.verify_each = true, .share_each = true});
    int apart = kernel->alone.count;
    ok(apart > 0, "a loop with little work runs alone");
    is_int(each->alone.count, apart, "as many where each nest is shared");
    arena_free(arena);
}

int main(void) {
    test_results(false);
    test_results(true);
    test_numbers();
    test_cases();
    test_tensors();
    test_offsets();
    test_factors();
    test_text();
    test_notes();
    return done_testing();
}
