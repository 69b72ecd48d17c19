/* estimates.c - what the static model thinks of memory. */
#include "autosched/model/model.h"
#include "autosched/model/profile.h"
#include "lang/machine.h"
#include "tests/tap.h"
#include "tests/unit/programs.h"
#include "tests/unit/schedules.h"

#include <math.h>

static double estimate_on(Arena *arena, const char *text, int threads, const Machine *machine) {
    Target target = *target_find("x86-64-v4");
    target.threads = threads;
    target.machine = machine;
    const Schedule *schedule;
    Program *program = scheduled_program_of_text(arena, text, &schedule);
    Nest *nest = program ? nest_build(arena, program, schedule, NULL, &target, NULL) : NULL;
    return nest ? static_estimate(profile_nest(arena, nest), &target).seconds : HUGE_VAL;
}

/* On a machine whose last cache is near, whose widest registers take a slot, and that reads what it writes. */
static double estimate_with(Arena *arena, const char *text, int threads) {
    Machine machine = machines[MACHINE_zen4];
    machine.widest_slots = 1;
    machine.written_times[LAST_CACHE] = 2;
    return estimate_on(arena, text, threads, &machine);
}

static double estimate_of_text(Arena *arena, const char *text) {
    return estimate_with(arena, text, 1);
}

/* A tile of every second row, which are pixels of 512 bytes. */
static double strided_rows(Arena *arena, int rows, int pixels) {
    static const char *const format =
        "def rows(float(28, %d, 128) I, float(128, 32) F) -> (O) {\n"
        "O(h, m) +=! I(2*h, 0, r_c) * F(r_c, m) where h in 0:%d }\n"
        "schedule rows on x86 { m_o, m_v = split(O.m, 16)\n reorder(O.r_c, O.h, m_o, m_v)\n"
        "vectorize(m_v)\n unroll(O.h, m_o)\n acc = cache_write(O, scope=register) }";
    return estimate_of_text(arena, arena_printf(arena, format, pixels, rows));
}

static double elementwise(Arena *arena, const char *value) {
    static const char *const format = "def f(float(16777216) A, float(16777216) B) -> (Y) { Y(i) = %s }\n"
                                      "schedule f on x86 { o, v = split(Y.i, 16)\n vectorize(v) }";
    return estimate_of_text(arena, arena_printf(arena, format, value));
}

static void test_memory(Arena *arena) {
    double together = strided_rows(arena, 14, 4), apart = strided_rows(arena, 14, 5);
    ok(together > 1.3 * apart && together < HUGE_VAL,
       "a tile's rows that share a set of the cache, one page apart, are thought slower: %g times", together / apart);
    together = strided_rows(arena, 8, 4), apart = strided_rows(arena, 8, 5);
    ok(together < 1.25 * apart, "as many as the set has ways are not: %g times", together / apart);
    double copy = elementwise(arena, "A(i)"), sum = elementwise(arena, "A(i) + B(i)");
    ok(sum > 1.25 * copy && sum < 1.4 * copy, "what is written to memory is read first: a sum takes %g of a copy",
       sum / copy);
    double shifted = elementwise(arena, "A(i) + A(i + 8) + A(i + 16)");
    ok(shifted < 1.5 * copy, "what shifted reads share is fetched once: %g of a copy", shifted / copy);
}

/* Three planes, read one by one for t and all again for O, in strips that the cache holds or one after the other. */
static double planes_again(Arena *arena, const char *strips) {
    static const char *const format =
        "def f(float(3, 4096, 4096) I) -> (O) {\n"
        "t(y, x) = I(0, y, x) + I(1, y, x) + I(2, y, x)\n O(c, y, x) = t(y, x) * I(c, y, x) }\n"
        "schedule f on x86 { to, tv = split(t.x, 16)\n vectorize(tv)\n yo, yi = split(O.y, 16)\n"
        "xo, xv = split(O.x, 16)\n reorder(yo, yi, xo, O.c, xv)\n vectorize(xv)\n %s }";
    return estimate_of_text(arena, arena_printf(arena, format, strips));
}

static void test_planes(Arena *arena) {
    double strips = planes_again(arena, "compute_at(t, yo)"), apart = planes_again(arena, "");
    ok(strips < 0.75 * apart, "planes that were read one by one are not fetched again: %g of the time", strips / apart);
}

/* Sums of three of every second column, a row in a vector; columns: of what is read. */
static double every_second(Arena *arena, const char *read, int columns) {
    static const char *const format = "def f(float(64, %d) I, float(3) F) -> (O) {\n"
                                      "O(h, w) +=! %s * F(r_j) where w in 0:16, r_j in 0:3 }\n"
                                      "schedule f on x86 { h_o, h_i = split(O.h, 2)\n w_o, w_v = split(O.w, 16)\n"
                                      "reorder(h_o, w_o, O.r_j, h_i, w_v)\n vectorize(w_v)\n unroll(O.r_j, h_i)\n"
                                      "acc = cache_write(O, at=w_o, scope=register) }";
    return estimate_of_text(arena, arena_printf(arena, format, columns, read));
}

static void test_guards(Arena *arena) {
    static const char padded[] = "(I(h, 2*w + r_j - 1) else 0)", plain[] = "I(h, 2*w + r_j)";
    double tested = every_second(arena, padded, 32), whole = every_second(arena, plain, 33);
    ok(tested < 1.1 * whole, "masks that no loop changes are made before: %g of the time without", tested / whole);
}

/* Sums of 3 x 3 neighbours of an image twice as large, 0 outside. */
static double neighbours(Arena *arena, const char *read) {
    static const char *const format =
        "def f(float(66, 66, 64) I, float(3, 3) F) -> (O) {\n"
        "u(h, w, c) = I(h / 2, w / 2, c) where h in 0:64, w in 0:64\n"
        "O(h, w, c) +=! %s * F(r_i, r_j) where h in 0:64, w in 0:64 }\n"
        "schedule f on x86 { inline(u)\n h_o, h_i = split(O.h, 8)\n c_o, c_v = split(O.c, 16)\n"
        "reorder(h_o, O.w, c_o, O.r_i, O.r_j, h_i, c_v)\n vectorize(c_v)\n unroll(h_i)\n"
        "acc = cache_write(O, at=c_o, scope=register) }";
    return estimate_of_text(arena, arena_printf(arena, format, read));
}

/* What a producer costs that is inlined into a sum over neighbours. */
static double inlined_sum(Arena *arena, const char *producer) {
    static const char *const format =
        "def f(float(3, 64) x, float(3, 64) y, float(3, 64) z, float(3, 64) u) -> (Y) {\n"
        "P(i, j) = %s where i in 0:3, j in 0:64\n"
        "Y(i, j) +=! x(i, j) * (P(i + r - 1, j) else 0) where i in 0:3, j in 0:64, r in 0:3 }\n"
        "schedule f on x86 { inline(P)\n o, v = split(Y.j, 8)\n reorder(Y.i, o, Y.r, v)\n vectorize(v)\n"
        "acc = cache_write(Y, at=o, scope=register) }";
    return estimate_of_text(arena, arena_printf(arena, format, producer));
}

static void test_terms(Arena *arena) {
    double one = inlined_sum(arena, "exp(x(i, j))");
    double windows = inlined_sum(arena, "exp(x(i - 2, j) else 0) + exp(x(i + 2, j) else 0)");
    ok(windows > one && windows < HUGE_VAL, "windows that are no factors leave out no terms: %g times", windows / one);
    double four = inlined_sum(arena, "exp(x(i, j)) + exp(y(i, j)) + exp(z(i, j)) + exp(u(i, j))");
    ok(four > 2 * one && four < HUGE_VAL, "one padding of a term is counted once: %g times", four / one);
}

static void test_inlined_padding(Arena *arena) {
    double padded = neighbours(arena, "(u(h + r_i - 1, w + r_j - 1, c) else 0)");
    double plain = neighbours(arena, "(u(h, w, c) + 0 * I(h + r_i, w + r_j, c))");
    ok(padded < 1.2 * plain, "what tells that a term is 0 is no arithmetic: %g of the time", padded / plain);
}

/* So many vectors of a stage wait in registers for the one that reads them. */
static double waiting(Arena *arena, int vectors) {
    static const char *const format =
        "def f(float(4, 48, 16) I) -> (Y) { t(i, j, c) = I(i, j, c) * 2  Y(i, j, c) = t(i, j, c) + 1 }\n"
        "schedule f on x86 { j_o, j_i = split(Y.j, %d)\n vectorize(Y.c)\n unroll(j_i)\n"
        "compute_at(t, j_o, scope=register)\n vectorize(t.c)\n unroll(t.j) }";
    return estimate_of_text(arena, arena_printf(arena, format, vectors));
}

static void test_waiting(Arena *arena) {
    double fit = waiting(arena, 24), spill = waiting(arena, 48);
    ok(spill > 1.1 * fit && spill < HUGE_VAL, "vectors without a register are stored meanwhile: %g times", spill / fit);
}

/* Sums of as many rows of a matrix as a predicate leaves. */
static double rows_where(Arena *arena, const char *predicate) {
    static const char *const format =
        "def f(float(64, 512) A) -> (Y) { Y(i, j) +=! A(r_k, j) where i in 0:64, r_k in 0:64, %s }\n"
        "schedule f on x86 { j_o, j_v = split(Y.j, 16)\n reorder(Y.i, j_o, Y.r_k, j_v)\n"
        "vectorize(j_v)\n acc = cache_write(Y, at=j_o, scope=register) }";
    return estimate_of_text(arena, arena_printf(arena, format, predicate));
}

/* A matrix transposed, one element after the other: along rows or columns of the result. */
static double transposed(Arena *arena, const char *order) {
    static const char *const format = "def f(float(4096, 4096) A) -> (Y) { Y(i, j) = A(j, i) }\n"
                                      "schedule f on x86 { reorder(%s) }";
    return estimate_of_text(arena, arena_printf(arena, format, order));
}

static void test_scattered(Arena *arena) {
    double reads = transposed(arena, "Y.i, Y.j"), writes = transposed(arena, "Y.j, Y.i");
    ok(writes < 1.6 * reads && writes > reads, "nothing waits for lines that are written here and there: %g times",
       writes / reads);
}

/* A matrix transposed in blocks of 16 rows and so many columns. */
static double transposed_in_blocks(Arena *arena, int size, int columns, const char *order) {
    static const char *const format =
        "def f(float(%d, %d) A) -> (Y) { Y(j, i) = A(i, j) }\n"
        "schedule f on x86 { j_o, j_i = split(Y.j, %d)\n i_o, i_i = split(Y.i, 16)\n reorder(%s, j_i, i_i)\n"
        "vectorize(i_i)\n unroll(j_i) }";
    return estimate_of_text(arena, arena_printf(arena, format, size, size, columns, order));
}

static void test_blocks(Arena *arena) {
    double down = transposed_in_blocks(arena, 256, 16, "i_o, j_o"),
           along = transposed_in_blocks(arena, 256, 16, "j_o, i_o");
    ok(down > 1.4 * along && down < HUGE_VAL, "stores that share a set of the cache wait for each other: %g times",
       down / along);
    down = transposed_in_blocks(arena, 272, 16, "i_o, j_o"), along = transposed_in_blocks(arena, 272, 16, "j_o, i_o");
    ok(down < 1.1 * along, "those of neighbouring sets do not: %g times", down / along);
    double half = transposed_in_blocks(arena, 64, 8, "j_o, i_o"),
           whole = transposed_in_blocks(arena, 64, 16, "j_o, i_o");
    ok(half < 1.5 * whole, "a block of fewer columns than lanes has no gathers: %g times", half / whole);
    double four = transposed_in_blocks(arena, 48, 4, "j_o, i_o"), six = transposed_in_blocks(arena, 48, 6, "j_o, i_o");
    ok(six > 1.2 * four && six < HUGE_VAL, "what no block holds is gathered: %g times", six / four);
}

/* Products with what is read by columns, in vectors of 16 rows; nothing begins beside a gather for so long a lane. */
static double gathered(Arena *arena, double alone) {
    const char *text = "def f(float(64, 32) A, float(32, 32) B) -> (Y) { Y(i, j) +=! A(i, r_k) * B(j, r_k) }\n"
                       "schedule f on x86 { i_o, i_i = split(Y.i, 16)\n j_o, j_v = split(Y.j, 16)\n"
                       "reorder(i_o, j_o, Y.r_k, i_i, j_v)\n vectorize(j_v)\n unroll(i_i)\n"
                       "acc = cache_write(Y, at=j_o, scope=register) }";
    Target target = *target_find("x86-64-v4");
    Machine machine = *target.machine;
    const Schedule *schedule;
    Program *program = scheduled_program_of_text(arena, text, &schedule);
    machine.gather_alone = alone;
    target.machine = &machine;
    Nest *nest = nest_build(arena, program, schedule, NULL, &target, NULL);
    return nest ? static_seconds(arena, nest, &target) : HUGE_VAL;
}

static void test_gathers(Arena *arena) {
    double beside = gathered(arena, 0), alone = gathered(arena, 1.3);
    ok(alone > 1.2 * beside && alone < HUGE_VAL, "gathers that run alone take longer: %g times", alone / beside);
}

/* The estimate of a copy whose sizes are all known at run time. */
static double copied_at_run_time(Arena *arena, const char *text) {
    const Schedule *schedule;
    Program *program = scheduled_program_of_text(arena, text, &schedule);
    const Target *target = target_find("x86-64-v4");
    Nest *nest = nest_build(arena, program, schedule, NULL, target, NULL);
    return nest ? static_seconds(arena, nest, target) : HUGE_VAL;
}

static void test_run_time_sizes(Arena *arena) {
    double matrix = copied_at_run_time(arena, "def f(float(M, N) X) -> (Y) { Y(i, j) = X(i, j) }"),
           images = copied_at_run_time(arena, "def f(float(A, B, C, D) X) -> (Y) { Y(i, j, k, l) = X(i, j, k, l) }"),
           pairs = copied_at_run_time(arena, "def f(float(8, B, 8, D) X) -> (Y) { Y(i, j, k, l) = X(i, j, k, l) }");
    ok(images > matrix && images < 1000 * matrix, "four run-time sizes are short ones: %g times", images / matrix);
    ok(pairs > 20 * matrix, "two of them beside known ones are those of a matrix: %g times", pairs / matrix);
}

static void test_predicates(Arena *arena) {
    double all = rows_where(arena, "r_k >= 0"), half = rows_where(arena, "r_k <= i"),
           lanes = rows_where(arena, "r_k <= j");
    ok(half < 0.6 * all && half > 0.3 * all, "iterations without predicates cost nothing: %g of the time", half / all);
    ok(lanes > 0.9 * all, "lanes that a predicate leaves out are computed: %g of the time", lanes / all);
}

/* Sums of rows up to the diagonal by two threads, which share out rows or columns. */
static double shared_out(Arena *arena, const char *loop) {
    static const char *const format =
        "def f(float(64, 512) A) -> (Y) { Y(i, j) +=! A(r_k, j) where i in 0:64, r_k in 0:64, r_k <= i }\n"
        "schedule f on x86 { j_o, j_v = split(Y.j, 16)\n reorder(%s, Y.r_k, j_v)\n"
        "parallel(%s)\n vectorize(j_v)\n acc = cache_write(Y, at=%s, scope=register) }";
    bool rows = loop[0] == 'Y';
    return estimate_with(arena, arena_printf(arena, format, rows ? "Y.i, j_o" : "j_o, Y.i", loop, rows ? "j_o" : "Y.i"),
                         2);
}

/* Products whose first operand is computed by rows; the threads share them out by rows or by columns. */
static double handed_over(Arena *arena, const char *loops, const char *task) {
    static const char *const format = "def f(float(64, 1024) A, float(1024, 32) B) -> (Y) {\n"
                                      "t(i, k) = A(i, k) + 1  Y(i, j) +=! t(i, r_k) * B(r_k, j) }\n"
                                      "schedule f on x86 { parallel(t.i)\n j_o, j_v = split(Y.j, 16)\n"
                                      "reorder(%s, Y.r_k, j_v)\n parallel(%s)\n vectorize(j_v) }";
    return estimate_with(arena, arena_printf(arena, format, loops, task), 2);
}

static void test_threads(Arena *arena) {
    double rows = shared_out(arena, "Y.i"), columns = shared_out(arena, "j_o");
    ok(rows > 1.1 * columns && rows < HUGE_VAL, "a thread has the longer rows: %g times", rows / columns);
    double own = handed_over(arena, "Y.i, j_o", "Y.i"), all = handed_over(arena, "j_o, Y.i", "j_o");
    ok(all > 1.04 * own && all < HUGE_VAL, "what another thread has computed is far: %g times", all / own);
}

/* Copies 64 MiB in pieces of so many vectors. */
static double copy_in_pieces(Arena *arena, int vectors) {
    static const char *const format = "def f(float(16777216) A) -> (Y) { Y(i) = A(i) }\n"
                                      "schedule f on x86 { o, m, v = split(Y.i, %d, 16)\n vectorize(v) }";
    return estimate_of_text(arena, arena_printf(arena, format, vectors));
}

/* Means of a column's neighbours, which are functions; store: where they are kept. */
static double window(Arena *arena, const char *store, const char *rows) {
    static const char *const format =
        "def f(float(1026, 512) A) -> (Y) { t(y, x) = exp(A(y, x))\n"
        "Y(y, x) = t(y, x) + t(y + 1, x) + t(y + 2, x) }\n"
        "schedule f on x86 { yo, yi = split(Y.y, 64)\n xo, xv = split(Y.x, 16)\n vectorize(xv)\n"
        "compute_at(t, yi)\n %s\n to, tv = split(t.x, 16)\n %s\n vectorize(tv) }";
    return estimate_of_text(arena, arena_printf(arena, format, store, rows));
}

static double clamped(Arena *arena, const char *read, const char *cut) {
    static const char *const format = "def f(float(64, 64) A) -> (Y) { Y(y, x) = %s where y in 0:64, x in 0:64 }\n"
                                      "schedule f on x86 { xo, xv = split(Y.x, 16)\n vectorize(xv)\n %s }";
    return estimate_of_text(arena, arena_printf(arena, format, read, cut));
}

static double divided(Arena *arena, int lanes) {
    static const char *const format = "def f(float(1024) A, float(1024) B) -> (Y) { Y(i) = A(i) / B(i) }\n"
                                      "schedule f on x86 { o, v = split(Y.i, %d)\n vectorize(v) }";
    return estimate_of_text(arena, arena_printf(arena, format, lanes));
}

/* Functions that rows of a window share, in tiles of `rows` rows; step: rows from one window to the next. */
static double window_of_copies(Arena *arena, int rows, int step) {
    static const char *const format =
        "def f(float(2050, 512) A) -> (Y) { t(y, x) = exp(A(y, x))\n"
        "Y(y, x) = t(%d * y, x) + t(%d * y + 1, x) where y in 0:1024 }\n"
        "schedule f on x86 { inline(t)\n yo, yi = split(Y.y, %d)\n xo, xv = split(Y.x, 16)\n"
        "reorder(yo, xo, yi, xv)\n vectorize(xv)\n unroll(yi) }";
    return estimate_of_text(arena, arena_printf(arena, format, step, step, rows));
}

static void test_copies(Arena *arena) {
    double shared = window_of_copies(arena, 8, 1) / window_of_copies(arena, 1, 1);
    ok(shared < 0.7, "copies of a window compute what they share once: %g of one row's time", shared);
    double apart = window_of_copies(arena, 8, 2) / window_of_copies(arena, 1, 2);
    ok(apart > 0.85, "windows that do not overlap share nothing: %g", apart);
}

static void test_stencils(Arena *arena) {
    double part = copy_in_pieces(arena, 33000) / copy_in_pieces(arena, 1024);
    ok(part > 0.95 && part < 1.05, "what a little more than the last cache is read for comes from memory: %g", part);
    double again = window(arena, "", ""), slides = window(arena, "store_at(t, yo)", "");
    ok(slides < 0.6 * again, "a window that slides computes a row of three: %g of all", slides / again);
    double two = window(arena, "store_at(t, yo)", "ro, ri = split(t.y, 2)\n reorder(ro, to, ri, tv)\n unroll(ri)");
    ok(two < 0.6 * again, "also where its rows are split: %g", two / again);
    double copy = clamped(arena, "A(y, x)", ""), ends = clamped(arena, "A(y, x + 1) else edge", "");
    double cut = clamped(arena, "A(y, x + 1) else edge", "partition(xo, 1, -1)");
    ok(ends > 1.2 * copy, "lanes that may be outside are tested: %g times a copy", ends / copy);
    ok(cut < 0.95 * ends, "but not where the ends are cut off: %g of that", cut / ends);
    double rows = clamped(arena, "A(y + 1, x) else edge", "");
    ok(rows < 1.05 * copy, "whole vectors are not: %g times a copy", rows / copy);
    double halves = divided(arena, 8) / divided(arena, 16);
    ok(halves > 0.9 && halves < 1.35, "two short divisions take about as long as a wide one: %g", halves);
}

/* Seconds a row of `rows` rows of 16 floats, read 32 times, that lie so many floats apart. */
static double rows_again(Arena *arena, int rows, int apart, const Machine *machine) {
    static const char *const format =
        "def f(float(%d, %d) A) -> (Y) { Y(i, j) +=! A(r_k, j) where i in 0:32, j in 0:16 }\n"
        "schedule f on x86 { reorder(Y.i, Y.r_k, Y.j)\n vectorize(Y.j)\n"
        "acc = cache_write(Y, at=Y.i, scope=register) }";
    return estimate_on(arena, arena_printf(arena, format, rows, apart), 1, machine) / rows;
}

static double copied(Arena *arena, const Machine *machine) {
    return estimate_on(arena,
                       "def f(float(16777216) A) -> (Y) { Y(i) = A(i) }\n"
                       "schedule f on x86 { o, v = split(Y.i, 16)\n vectorize(v) }",
                       1, machine);
}

static void test_far_memory(Arena *arena) {
    const Machine *server = &machines[MACHINE_x86_server];
    double whole = rows_again(arena, 3000, 16, server), part = rows_again(arena, 9000, 16, server);
    double none = rows_again(arena, 17000, 16, server);
    ok(part > 1.02 * whole && none > 1.05 * part,
       "what nearly fills the second cache stays in it in part: %g and %g times", part / whole, none / whole);
    Machine step = *server;
    step.lost_at = 0;
    step.usable_part[1] = 0.8;
    double fits = rows_again(arena, 9000, 16, &step) / rows_again(arena, 3000, 16, &step);
    ok(fits < 1.05, "or whole, where a machine says so: %g times", fits);
    double known = rows_again(arena, 1000, 1040, server), walked = rows_again(arena, 3000, 1040, server);
    ok(walked > 1.5 * known, "rows on more pages than are known are looked up: %g times", walked / known);
    double dense = rows_again(arena, 3000, 16, server) / rows_again(arena, 1000, 16, server);
    ok(dense < 1.3, "rows that share pages are not: %g times", dense);
    Machine apart = *server;
    apart.both_ways = 0;
    double together = copied(arena, server) / copied(arena, &apart);
    ok(together < 0.85 && together > 0.7, "memory is read and written at the same time: %g of one by one", together);
}

/* Sums in registers of a panel that the first cache does not hold. */
static double panel(Arena *arena, double near_lost) {
    Machine machine = machines[MACHINE_x86_server];
    machine.near_lost = near_lost;
    return estimate_on(arena,
                       "def f(float(8, 512) A, float(512, 256) B) -> (Y) { Y(i, j) +=! A(i, k) * B(k, j) }\n"
                       "schedule f on x86 { jo, ji, jv = split(Y.j, 2, 16)\n reorder(jo, Y.k, Y.i, ji, jv)\n"
                       "vectorize(jv)\n unroll(Y.i, ji)\n acc = cache_write(Y, at=jo, scope=register) }",
                       1, &machine);
}

static void test_overlap(Arena *arena) {
    double all = panel(arena, 0.3) / panel(arena, 0.1);
    ok(all > 1.02, "traffic between the first two caches is hidden in part: %g times with less of it", all);
}

/* A layer of 104 rows, 768 numbers each, in register tiles of so many rows and vectors of 16. */
static double layer(Arena *arena, int rows, int vectors) {
    static const char *const format = "def f(float(104, 768) x, float(48, 768, 16) w) -> (Y) {\n"
                                      "Y(n, o, l) +=! x(n, k) * w(o, k, l) }\n"
                                      "schedule f on x86 { no, ni = split(Y.n, %d)\n oo, oi = split(Y.o, %d)\n"
                                      "reorder(oo, no, Y.k, ni, oi, Y.l)\n vectorize(Y.l)\n unroll(ni, oi)\n"
                                      "acc = cache_write(Y, at=no, scope=register) }";
    return estimate_on(arena, arena_printf(arena, format, rows, vectors), 1, &machines[MACHINE_x86_server]);
}

static void test_load_ports(Arena *arena) {
    double narrow = layer(arena, 26, 1), wide = layer(arena, 8, 3);
    ok(narrow > 1.07 * wide && narrow < 1.5 * wide,
       "a tile whose every product reads memory waits for lines that come near: %g times", narrow / wide);
}

/* A weighted sum of each head's 64 columns, 16 in a vector, that is divided or not. */
static double heads(Arena *arena, const char *divided) {
    static const char *const format =
        "def f(float(12, 128, 128) e, float(128, 768) v, float(12, 128) z, float(128, 768) w) -> (Y) {\n"
        "Y(i, c) +=! e(c / 64, i, r_j) * v(r_j, c)%s where c in 0:768 }\n"
        "schedule f on x86 { co, ci, cv = split(Y.c, 2, 16)\n reorder(co, Y.i, Y.r_j, ci, cv)\n"
        "vectorize(cv)\n unroll(ci)\n acc = cache_write(Y, at=Y.i, scope=register) }";
    return estimate_of_text(arena, arena_printf(arena, format, divided));
}

static void test_divisors(Arena *arena) {
    double none = heads(arena, ""), one = heads(arena, " / z(c / 64, i)"), many = heads(arena, " / w(i, c)");
    ok(one < 1.5 * none, "a divisor of a whole head is one for all lanes: %g times", one / none);
    ok(many > 1.5 * one && many < HUGE_VAL, "one for each column is not: %g times", many / one);
}

int main(void) {
    Arena *arena = arena_new();
    test_memory(arena);
    test_planes(arena);
    test_guards(arena);
    test_inlined_padding(arena);
    test_terms(arena);
    test_waiting(arena);
    test_scattered(arena);
    test_blocks(arena);
    test_gathers(arena);
    test_run_time_sizes(arena);
    test_predicates(arena);
    test_threads(arena);
    test_copies(arena);
    test_stencils(arena);
    test_far_memory(arena);
    test_overlap(arena);
    test_load_ports(arena);
    test_divisors(arena);
    arena_free(arena);
    return done_testing();
}
