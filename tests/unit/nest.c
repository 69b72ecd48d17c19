/* nest.c - schedules on small programs: the nests that they give, as text, and the refusals, each with its rule.
 *
 * Every case is a schedule's text; a test without an expected text but with a rule is a refusal.
 */
#include "lower/nest.h"
#include "parser/ast.h"
#include "tests/tap.h"
#include "tests/unit/programs.h"

typedef struct Bench {
    Arena *arena;
    Sources sources;
} Bench;

static Schedule *read_schedule(Bench *bench, const char *text) {
    Diagnostics *diagnostics = diag_new(bench->arena, &bench->sources, (DiagOptions){.stream = NULL});
    uint32_t file = (uint32_t)source_add(&bench->sources, "schedule", text, strlen(text), false);
    Schedule *schedule = parse_schedule(bench->arena, &bench->sources, file, diagnostics);
    ok(diag_finish(diagnostics) == 0 && schedule != NULL, "the schedule parses");
    return schedule;
}

static const Nest *build(Bench *bench, const Program *program, const char *text, NestError *error) {
    return nest_build(bench->arena, program, read_schedule(bench, text), NULL, target_find("x86-64-v4"), error);
}

static void gives(Bench *bench, const Program *program, const char *what, const char *schedule, const char *wanted) {
    NestError error = {0};
    const Nest *nest = build(bench, program, schedule, &error);
    if (!ok(nest != NULL, "%s is legal", what)) {
        diag_line("%s", error.rule);
        return;
    }
    Text text = {.arena = bench->arena};
    nest_print(&text, nest);
    is_text(text.text, wanted, "%s", what);
}

static void test_matmul(Bench *bench) {
    Program *program = program_matmul(bench->arena, TYPE_FLOAT, 1024, 1024, 1024);
    gives(bench, program, "no schedule", "",
          "for i in 0:1024\n"
          "    for j in 0:1024\n"
          "        C(i, j) = 0.0\n"
          "        for r_k in 0:1024\n"
          "            C(i, j) += A(i, r_k) * B(r_k, j)\n");
    gives(bench, program, "a register tile with a packed panel",
          "io, ii = split(C.i, 14)\n"
          "jo, jv = split(C.j, 32)\n"
          "ju, jl = split(jv, 16)\n"
          "ko, ki = split(C.r_k, 4)\n"
          "reorder(jo, io, ko, ki, ii, ju, jl)\n"
          "P = cache_read(B, at=jo, layout=(j/16, k, j%16))\n"
          "R = cache_write(C, at=io, scope=register)\n"
          "vectorize(jl)\n"
          "unroll(ii, ju, ki)\n"
          "parallel(jo)\n",
          "for jo in 0:32 parallel\n"
          "    P: 2 x 1024 x 16 from (2 * jo, 0, 0)\n"
          "    for j_0 in 0:2\n"
          "        for k in 0:1024\n"
          "            for j_1 in 0:16\n"
          "                P(j_0, k, j_1) = B(k, j_0 * 16 + j_1)\n"
          "    for io in 0:74\n"
          "        R: 14 x 32 in registers from (14 * io, 32 * jo)\n"
          "        R(i, j) = 0.0\n"
          "        for ko in 0:256\n"
          "            for ki in 0:4 unrolled\n"
          "                for ii in 0:14 unrolled\n"
          "                    for ju in 0:2 unrolled\n"
          "                        for jl in 0:16 vectorized\n"
          "                            R(i, j) += A(i, r_k) * P(j / 16, r_k, j % 16) where 14 * io + ii < 1024\n"
          "        for ii.store in 0:14 unrolled\n"
          "            for ju.store in 0:2 unrolled\n"
          "                for jl.store in 0:16 vectorized\n"
          "                    C(i, j) = R(i, j) where 14 * io + ii.store < 1024\n");
}

int main(void) {
    Bench bench = {.arena = arena_new()};
    bench.sources.arena = bench.arena;
    test_matmul(&bench);
    arena_free(bench.arena);
    return done_testing();
}
