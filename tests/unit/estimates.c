/* estimates.c - what the static model thinks of memory. */
#include "autosched/profile.h"
#include "tests/tap.h"
#include "tests/unit/programs.h"
#include "tests/unit/schedules.h"

#include <math.h>

static double estimate_of_text(Arena *arena, const char *text) {
    Target single = *target_find("x86-64-v4");
    single.threads = 1;
    const Schedule *schedule;
    Program *program = scheduled_program_of_text(arena, text, &schedule);
    Nest *nest = program ? nest_build(arena, program, schedule, NULL, &single, NULL) : NULL;
    return nest ? static_estimate(profile_nest(arena, nest), &single).seconds : HUGE_VAL;
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
}

int main(void) {
    Arena *arena = arena_new();
    test_memory(arena);
    arena_free(arena);
    return done_testing();
}
