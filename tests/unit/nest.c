/* nest.c - schedules on small programs: the nests that they give, as text, and the refusals, each with its rule and the
 * first alternative; holes, footprints and registers.
 *
 * A case is a program, the text of a schedule and what is expected. Rules of the whole nest are refused at the
 * statement that broke them, whatever comes after.
 */
#include "lower/nest/nest.h"
#include "parser/ast.h"
#include "tests/tap.h"
#include "tests/unit/programs.h"
#include <stddef.h>

typedef struct Bench {
    Arena *arena;
    Sources sources;
} Bench;

typedef struct Programs {
    Program *matmul, *sized_matmul, *strict_matmul, *convolution, *chain, *softmax, *blur, *sized_blur, *accumulate;
} Programs;

static Programs make_programs(Arena *arena) {
    ConvShape shape = {.n = 1, .c = 4, .h = 8, .w = 8, .m = 8, .kh = 3, .kw = 3, .stride = 1, .pad = 1, .dilation = 1};
    Programs p = {
        .matmul = program_matmul(arena, TYPE_FLOAT, 64, 64, 64),
        .sized_matmul = program_matmul(arena, TYPE_FLOAT, -1, -1, -1),
        .strict_matmul = program_matmul(arena, TYPE_FLOAT, 64, 64, 64),
        .convolution = program_conv2d(arena, TYPE_FLOAT, shape),
        .chain = program_conv_chain(arena, TYPE_FLOAT, shape),
        .softmax = program_softmax(arena, 16, 32),
        .blur = program_blur(arena, TYPE_FLOAT, 64),
        .sized_blur = program_blur(arena, TYPE_FLOAT, -1),
        .accumulate = program_accumulate(arena, TYPE_FLOAT, 8, 8, 8),
    };
    p.strict_matmul->strict = true;
    return p;
}

static const Target *target(void) {
    return target_find("x86-64-v4");
}

static Schedule *read_schedule(Bench *bench, const char *text) {
    Diagnostics *diagnostics = diag_new(bench->arena, &bench->sources, (DiagOptions){.stream = stdout});
    uint32_t file = (uint32_t)source_add(&bench->sources, "schedule", text, strlen(text), false);
    Schedule *schedule = parse_schedule(bench->arena, &bench->sources, file, diagnostics);
    if (diag_finish(diagnostics) != 0 || schedule == NULL)
        ok(false, "the schedule parses: %s", text);
    return schedule;
}

static const Nest *build(Bench *bench, const Program *program, const char *text, NestError *error) {
    return nest_build(bench->arena, program, read_schedule(bench, text), NULL, target(), error);
}

/* --- what is legal ---------------------------------------------------------------------------------------------- */

/* A program of a case, by its place among the Programs. */
#define OF(program) offsetof(Programs, program)
static const Program *program_of(const Programs *programs, size_t place) {
    return *(const Program *const *)((const char *)programs + place);
}

typedef struct LegalCase {
    size_t program;
    const char *what, *schedule, *nest;
} LegalCase;

static void test_legal(Bench *bench, const Programs *programs, const LegalCase *row) {
    NestError error = {0};
    const Nest *nest = build(bench, program_of(programs, row->program), row->schedule, &error);
    if (nest == NULL) {
        is_text(error.rule, NULL, "%s is legal", row->what);
        return;
    }
    Text text = {.arena = bench->arena};
    nest_print(&text, nest);
    is_text(text.text, row->nest, "%s", row->what);
}

static const LegalCase legal_cases[] = {
    {OF(matmul), "no schedule", "",
     "for i in 0:64\n"
     "    for j in 0:64\n"
     "        C(i, j) = 0.0\n"
     "        for r_k in 0:64\n"
     "            C(i, j) += A(i, r_k) * B(r_k, j)\n"},
    {OF(sized_matmul), "a register tile with a packed panel",
     "io, ii = split(C.i, 14)\njo, jv = split(C.j, 32)\nju, jl = split(jv, 16)\nko, ki = split(C.r_k, 4)\n"
     "reorder(jo, io, ko, ki, ii, ju, jl)\nP = cache_read(B, at=jo, layout=(j/16, k, j%16))\n"
     "R = cache_write(C, at=io, scope=register)\nvectorize(jl)\nunroll(ii, ju, ki)\nparallel(jo)",
     "for jo in 0:(N + 31) / 32 parallel\n"
     "    P: 2 x K x 16 from (2 * jo, 0, 0)\n"
     "    for j_0 in 0:2\n"
     "        for k in 0:K\n"
     "            for j_1 in 0:16\n"
     "                P(j_0, k, j_1) = B(k, j_0 * 16 + j_1) else 0.0 where 2 * jo + j_0 < (N + 15) / 16\n"
     "    for io in 0:(M + 13) / 14\n"
     "        R: 14 x 32 in registers from (14 * io, 32 * jo)\n"
     "        R(i, j) = 0.0 for all ii, ju, jl\n"
     "        for ko in 0:(K + 3) / 4\n"
     "            for ki in 0:4 unrolled\n"
     "                for ii in 0:14 unrolled\n"
     "                    for ju in 0:2 unrolled\n"
     "                        for jl in 0:16 vectorized\n"
     "                            R(i, j) += A(i, r_k) * P(j / 16, r_k, j % 16)"
     " where 14 * io + ii < M, 32 * jo + 16 * ju + jl < N, 4 * ko + ki < K\n"
     "        for ii.store in 0:14 unrolled\n"
     "            for ju.store in 0:2 unrolled\n"
     "                for jl.store in 0:16 vectorized\n"
     "                    C(i, j) = R(i, j) where 14 * io + ii.store < M, 32 * jo + 16 * ju.store + jl.store "
     "< N\n"},
    {OF(matmul), "split, extents from the outside in", "a, b, c = split(C.i, 4, 3)",
     "for a in 0:6\n"
     "    for b in 0:4\n"
     "        for c in 0:3\n"
     "            for j in 0:64\n"
     "                C(i, j) = 0.0\n"
     "                for r_k in 0:64\n"
     "                    C(i, j) += A(i, r_k) * B(r_k, j) where 12 * a + 3 * b + c < 64\n"},
    {OF(matmul), "a name given on by what is split", "i, v = split(C.i, 4)",
     "for i in 0:16\n"
     "    for v in 0:4\n"
     "        for j in 0:64\n"
     "            C(i, j) = 0.0\n"
     "            for r_k in 0:64\n"
     "                C(i, j) += A(i, r_k) * B(r_k, j)\n"},
    {OF(sized_matmul), "split of a run-time size", "a, b = split(C.i, 4)",
     "for a in 0:(M + 3) / 4\n"
     "    for b in 0:4\n"
     "        for j in 0:N\n"
     "            C(i, j) = 0.0\n"
     "            for r_k in 0:K\n"
     "                C(i, j) += A(i, r_k) * B(r_k, j) where 4 * a + b < M\n"},
    {OF(matmul), "tile", "a, b, c, d = tile(C.i, C.j, 16, 8)",
     "for a in 0:4\n"
     "    for b in 0:8\n"
     "        for c in 0:16\n"
     "            for d in 0:8\n"
     "                C(i, j) = 0.0\n"
     "                for r_k in 0:64\n"
     "                    C(i, j) += A(i, r_k) * B(r_k, j)\n"},
    {OF(matmul), "tile that does not divide", "a, b, c, d = tile(C.i, C.j, 10, 7)",
     "for a in 0:7\n"
     "    for b in 0:10\n"
     "        for c in 0:10\n"
     "            for d in 0:7\n"
     "                C(i, j) = 0.0\n"
     "                for r_k in 0:64\n"
     "                    C(i, j) += A(i, r_k) * B(r_k, j) where 10 * a + c < 64, 7 * b + d < 64\n"},
    {OF(matmul), "fuse of two, split again",
     "f = fuse(C.i, C.j)\na, b = split(f, "
     "32)\nparallel(a)\nvectorize(b)\nreorder(a, C.r_k, b)",
     "for a in 0:128 parallel\n"
     "    C(i, j) = 0.0 for all b\n"
     "    for r_k in 0:64\n"
     "        for b in 0:32 vectorized\n"
     "            C(i, j) += A(i, r_k) * B(r_k, j)\n"},
    {OF(chain), "fuse of three", "f = fuse(O.n, O.m, O.h)\nparallel(f)\ninline(O[1])\ncompute_at(O[0], f)",
     "for f in 0:64 parallel\n"
     "    O[0]: 1 x 1 x 1 x 8 in local from (0, f / 8, f % 8, 0)\n"
     "    for n in 0:1\n"
     "        for m in 0:1\n"
     "            for h in 0:1\n"
     "                for w in 0:8\n"
     "                    O[0](n, m, h, w) = 0.0\n"
     "                    for r_c in 0:4\n"
     "                        for r_kh in 0:3\n"
     "                            for r_kw in 0:3\n"
     "                                O[0](n, m, h, w) += (I(n, r_c, h + r_kh + -1, w + r_kw + -1) else 0.0) "
     "* F(m, r_c, r_kh, r_kw)\n"
     "    for w in 0:8\n"
     "        O(n, m, h, w) = max(O[0](n, m, h, w) + b(m), 0.0)\n"},
    {OF(matmul), "reorder keeps the places", "reorder(C.r_k, C.i)",
     "C(i, j) = 0.0 for all j, i\n"
     "for r_k in 0:64\n"
     "    for j in 0:64\n"
     "        for i in 0:64\n"
     "            C(i, j) += A(i, r_k) * B(r_k, j)\n"},
    {OF(matmul), "unroll and vectorize",
     "reorder(C.r_k, C.i, C.j)\na, b = split(C.j, "
     "8)\nunroll(b)\nreorder(C.r_k, b, C.i, a)\nvectorize(a)",
     "C(i, j) = 0.0 for all b, i, a\n"
     "for r_k in 0:64\n"
     "    for b in 0:8 unrolled\n"
     "        for i in 0:64\n"
     "            for a in 0:8 vectorized\n"
     "                C(i, j) += A(i, r_k) * B(r_k, j)\n"},
    {OF(blur), "inline", "inline(a)",
     "for i in 0:64\n"
     "    B(i) = X(i) + X(i + 1) + (X(i + 1) + X(i + 1 + 1)) + (X(i + 2) + X(i + 2 + 1))\n"},
    {OF(blur), "compute_at a tile", "x, y = split(B.i, 16)\ncompute_at(a, x)",
     "for x in 0:4\n"
     "    a: 18 in local from (16 * x)\n"
     "    for i in 0:18\n"
     "        a(i) = X(i) + X(i + 1)\n"
     "    for y in 0:16\n"
     "        B(i) = a(i) + a(i + 1) + a(i + 2)\n"},
    {OF(blur), "compute_at a tile that does not divide", "x, y = split(B.i, 10)\ncompute_at(a, x, scope=local)",
     "for x in 0:7\n"
     "    a: 12 in local from (10 * x)\n"
     "    for i in 0:12\n"
     "        a(i) = X(i) + X(i + 1) where 10 * x + i < 66\n"
     "    for y in 0:10\n"
     "        B(i) = a(i) + a(i + 1) + a(i + 2) where 10 * x + y < 64\n"},
    {OF(sized_blur), "compute_at with a run-time size", "x, y = split(B.i, 16)\ncompute_at(a, x)",
     "for x in 0:(N + 15) / 16\n"
     "    a: 18 in local from (16 * x)\n"
     "    for i in 0:18\n"
     "        a(i) = X(i) + X(i + 1) where 16 * x + i < N + 2\n"
     "    for y in 0:16\n"
     "        B(i) = a(i) + a(i + 1) + a(i + 2) where 16 * x + y < N\n"},
    {OF(softmax), "compute_at of a chain", "compute_at(e, Y.n)\ncompute_at(sum, Y.n)\ncompute_at(top, Y.n)",
     "for n in 0:16\n"
     "    top: 1 in local from (n)\n"
     "    for n in 0:1\n"
     "        top(n) = -inf\n"
     "        for r_d in 0:32\n"
     "            top(n) max= X(n, r_d)\n"
     "    e: 1 x 32 in local from (n, 0)\n"
     "    for n in 0:1\n"
     "        for d in 0:32\n"
     "            e(n, d) = exp(X(n, d) - top(n))\n"
     "    sum: 1 in local from (n)\n"
     "    for n in 0:1\n"
     "        sum(n) = 0.0\n"
     "        for r_d in 0:32\n"
     "            sum(n) += e(n, r_d)\n"
     "    for d in 0:32\n"
     "        Y(n, d) = e(n, d) / sum(n)\n"},
    {OF(accumulate), "what the caller held, read at the same element", "inline(C[0])\nR = cache_write(C, at=C.j)",
     "for i in 0:8\n"
     "    for j in 0:8\n"
     "        R: 1 x 1 in local from (i, j)\n"
     "        R(i, j) = C.initial(i, j)\n"
     "        for r_k in 0:8\n"
     "            R(i, j) += A(i, r_k) * B(r_k, j)\n"
     "        C(i, j) = R(i, j)\n"},
    {OF(matmul), "cache_write at root", "R = cache_write(C)\nparallel(R.i)",
     "for i in 0:64 parallel\n"
     "    for j in 0:64\n"
     "        R(i, j) = 0.0\n"
     "        for r_k in 0:64\n"
     "            R(i, j) += A(i, r_k) * B(r_k, j)\n"
     "for i.store in 0:64 parallel\n"
     "    for j.store in 0:64\n"
     "        C(i, j) = R(i, j)\n"},
    {OF(matmul), "cache_write at a loop, in registers",
     "x, y = split(C.j, 8)\nR = cache_write(C, at=x, "
     "scope=register)\nreorder(R.r_k, y)\nvectorize(y)",
     "for i in 0:64\n"
     "    for x in 0:8\n"
     "        R: 1 x 8 in registers from (i, 8 * x)\n"
     "        R(i, j) = 0.0 for all y\n"
     "        for r_k in 0:64\n"
     "            for y in 0:8 vectorized\n"
     "                R(i, j) += A(i, r_k) * B(r_k, j)\n"
     "        for y.store in 0:8 vectorized\n"
     "            C(i, j) = R(i, j)\n"},
    {OF(matmul), "cache_write of a tile that does not divide", "x, y = split(C.j, 10)\nR = cache_write(C, at=x)",
     "for i in 0:64\n"
     "    for x in 0:7\n"
     "        R: 1 x 10 in local from (i, 10 * x)\n"
     "        for y in 0:10\n"
     "            R(i, j) = 0.0\n"
     "            for r_k in 0:64\n"
     "                R(i, j) += A(i, r_k) * B(r_k, j) where 10 * x + y < 64\n"
     "        for y.store in 0:10\n"
     "            C(i, j) = R(i, j) where 10 * x + y.store < 64\n"},
    {OF(matmul), "cache_write inside a reduction: it goes on from what is stored",
     "ko, ki = split(C.r_k, 16)\nreorder(C.i, ko, C.j, ki)\nR = cache_write(C, at=C.j)",
     "for i in 0:64\n"
     "    for ko in 0:4\n"
     "        for j in 0:64\n"
     "            R: 1 x 1 in local from (i, j)\n"
     "            R(i, j) = C(i, j), at first 0.0\n"
     "            for ki in 0:16\n"
     "                R(i, j) += A(i, r_k) * B(r_k, j)\n"
     "            C(i, j) = R(i, j)\n"},
    {OF(matmul), "cache_write of what another one is made in",
     "R = cache_write(C, at=C.j)\nf = fuse(C.i, C.j)\nQ = cache_write(C)",
     "for f in 0:4096\n"
     "    R: 1 x 1 in local from (f / 64, f % 64)\n"
     "    R(i, j) = 0.0\n"
     "    for r_k in 0:64\n"
     "        R(i, j) += A(i, r_k) * B(r_k, j)\n"
     "    Q(i, j) = R(i, j)\n"
     "for f.store in 0:4096\n"
     "    C(i, j) = Q(i, j)\n"},
    {OF(matmul), "cache_read at root", "P = cache_read(B, layout=(n/16, k, n%16))",
     "for n_0 in 0:4\n"
     "    for k in 0:64\n"
     "        for n_1 in 0:16\n"
     "            P(n_0, k, n_1) = B(k, n_0 * 16 + n_1)\n"
     "for i in 0:64\n"
     "    for j in 0:64\n"
     "        C(i, j) = 0.0\n"
     "        for r_k in 0:64\n"
     "            C(i, j) += A(i, r_k) * P(j / 16, r_k, j % 16)\n"},
    {OF(matmul), "cache_read that pads", "P = cache_read(B, layout=(j/24, k, j%24))",
     "for j_0 in 0:3\n"
     "    for k in 0:64\n"
     "        for j_1 in 0:24\n"
     "            P(j_0, k, j_1) = B(k, j_0 * 24 + j_1) else 0.0\n"
     "for i in 0:64\n"
     "    for j in 0:64\n"
     "        C(i, j) = 0.0\n"
     "        for r_k in 0:64\n"
     "            C(i, j) += A(i, r_k) * P(j / 24, r_k, j % 24)\n"},
    {OF(blur), "cache_read of one read", "P = cache_read(X, reader=a, read=1)",
     "for d0 in 0:66\n"
     "    P(d0) = X(d0 + 1)\n"
     "for i in 0:66\n"
     "    a(i) = X(i) + P(i)\n"
     "for i in 0:64\n"
     "    B(i) = a(i) + a(i + 1) + a(i + 2)\n"},
    {OF(convolution), "cache_read that holds the else", "x, y = split(O.h, 4)\nP = cache_read(I, at=x)",
     "for n in 0:1\n"
     "    for m in 0:8\n"
     "        for x in 0:2\n"
     "            P: 1 x 4 x 6 x 10 in local from (0, 0, 4 * x, 0)\n"
     "            for n in 0:1\n"
     "                for c in 0:4\n"
     "                    for h in 0:6\n"
     "                        for w in 0:10\n"
     "                            P(n, c, h, w) = I(n, c, h - 1, w - 1) else 0.0\n"
     "            for y in 0:4\n"
     "                for w in 0:8\n"
     "                    O(n, m, h, w) = 0.0\n"
     "                    for r_c in 0:4\n"
     "                        for r_kh in 0:3\n"
     "                            for r_kw in 0:3\n"
     "                                O(n, m, h, w) += P(n, r_c, h + r_kh, w + r_kw) * F(m, r_c, r_kh, r_kw)\n"},
};

static void test_legal_cases(Bench *bench, const Programs *p) {
    for (size_t i = 0; i < sizeof legal_cases / sizeof *legal_cases; i++)
        test_legal(bench, p, &legal_cases[i]);
}

/* --- what is refused ---------------------------------------------------------------------------------------------- */

typedef struct RefusedCase {
    size_t program;
    const char *what, *schedule;
    int prim;
    const char *rule, *alternative;
} RefusedCase;

static void test_refused(Bench *bench, const Programs *programs, const RefusedCase *row) {
    NestError error = {0};
    const Nest *nest = build(bench, program_of(programs, row->program), row->schedule, &error);
    if (!ok(nest == NULL, "%s is refused", row->what))
        return;
    is_text(error.rule, row->rule, "%s: the rule", row->what);
    is_int(error.prim, row->prim, "%s: the statement", row->what);
    is_text(error.alternatives[0], row->alternative, "%s: what is legal instead", row->what);
    ok(build(bench, program_of(programs, row->program), row->schedule, NULL) == NULL, "%s: without an explanation",
       row->what);
}

static const RefusedCase refused_cases[] = {
    {OF(matmul), "a stage inside its own initialisation",
     "P = rfactor(C.r_k)\ncompute_at(P, C.r_k)\nI = decompose(P, P.r_k)\ncompute_at(P, I.r_k)", 3,
     "I.r_k is a loop of P or inside one: a stage cannot be computed inside itself", "compute_at(P, C.j)"},
    {OF(matmul), "an algorithm among loops", "algorithm(other)", 0,
     "the algorithm is chosen for a whole unit, before its loops", NULL},
    {OF(matmul), "no such loop", "a, b = split(C.q, 4)", 0, "C has no loop q; its loops are C.i, C.j and C.r_k",
     "a, b = split(C.i, 4)"},
    {OF(matmul), "no such stage", "a, b = split(D.i, 4)", 0,
     "there is no loop D.i: a loop is STAGE.NAME or a name that a statement before returned; the stages are C",
     "a, b = split(C.i, 4)"},
    {OF(matmul), "split loop", "a, b = split(C.i, 4)\nvectorize(C.i)", 1,
     "C.i was split into a and b; the loops of C are C.a, C.b, C.j and C.r_k", NULL},
    {OF(matmul), "fused loop", "f = fuse(C.i, C.j)\nvectorize(C.j)", 1,
     "C.j was fused into f; the loops of C are C.f and C.r_k", NULL},
    {OF(matmul), "bare name", "vectorize(j)", 0,
     "there is no loop j: did you mean C.j? A loop is STAGE.NAME or a name that a statement before returned",
     "reorder(C.i, C.r_k, C.j)"},
    {OF(matmul), "a stage for a loop", "R = cache_write(C)\nvectorize(R)", 1,
     "R is a stage, a loop is wanted; its loops are R.i, R.j and R.r_k", NULL},
    {OF(matmul), "no such loop", "vectorize(nowhere)", 0,
     "there is no loop nowhere: a loop is STAGE.NAME or a name that a statement before returned; the stages are C",
     NULL},
    {OF(matmul), "name twice", "a, b = split(C.i, 4)\na, c = split(C.j, 4)", 1,
     "C has a loop named a; the names of a stage's loops are unique", NULL},
    {OF(matmul), "loop's name twice", "j, b = split(C.i, 4)", 0,
     "C has a loop named j; the names of a stage's loops are unique", "j, b = split(C.j, 4)"},
    {OF(matmul), "name of a tensor", "A, b = split(C.i, 4)", 0, "the name A is that of a tensor of matmul", NULL},
    {OF(matmul), "split by 0", "a, b = split(C.i, 0)", 0, "split needs extents of at least 1, not 0",
     "a, b = split(C.i, 8)"},
    {OF(matmul), "hole", "a, b = split(C.i, ?)", 0,
     "a ? of split is not filled in: it takes a tuner's choice or a number", "a, b = split(C.i, 8)"},
    {OF(matmul), "split a parallel one", "parallel(C.i)\na, b = split(C.i, 4)", 1,
     "C.i is already parallel: split comes before that", "a, b = split(C.j, 4)"},
    {OF(matmul), "fuse parallel", "parallel(C.i)\nf = fuse(C.i, C.j)", 1,
     "C.i is already parallel: fuse comes before that", NULL},
    {OF(matmul), "fuse not adjacent", "reorder(C.i, C.r_k, C.j)\nf = fuse(C.i, C.j)", 1,
     "C.j is not the loop just inside C.i: fuse joins adjacent loops, the outer one first; the loops are "
     "C.i, C.r_k and C.j",
     NULL},
    {OF(matmul), "fuse wrong order", "f = fuse(C.j, C.i)", 0,
     "C.i is not the loop just inside C.j: fuse joins adjacent loops, the outer one first; the loops are "
     "C.i, C.j and C.r_k",
     "f = fuse(C.i, C.j)"},
    {OF(matmul), "fuse sorts", "f = fuse(C.j, C.r_k)", 0,
     "C.r_k is a reduction loop and C.j is not: fuse joins loops of one sort", "f = fuse(C.i, C.j)"},
    {OF(chain), "reorder two stages", "reorder(O[0].n, O[1].n)", 0,
     "O[0].n and O[1].n are loops of two stages; reorder acts within one",
     "reorder(O[0].r_c, O[0].r_kh, O[0].r_kw, O[0].n, O[0].m, O[0].h, O[0].w)"},
    {OF(matmul), "reorder twice", "reorder(C.i, C.i)", 0, "reorder names C.i twice", "reorder(C.r_k, C.i, C.j)"},
    {OF(matmul), "vectorize inside", "vectorize(C.i)", 0,
     "C.i is not innermost: only unrolled loops may be inside a vectorized one, and C.j is not",
     "reorder(C.j, C.r_k, C.i)"},
    {OF(matmul), "vectorize reduction", "vectorize(C.r_k)", 0,
     "C.r_k is a reduction loop: its steps add to the same elements, so they cannot be vectorized",
     "r_ko, r_ki = split(C.r_k, 8)"},
    {OF(sized_matmul), "vectorize run time", "reorder(C.r_k, C.i, C.j)\nvectorize(C.j)", 1,
     "C.j has an extent known only at run time, N, so it cannot be vectorized", "jo, ji = split(C.j, 8)"},
    {OF(sized_matmul), "unroll run time", "unroll(C.j)", 0,
     "C.j has an extent known only at run time, N, so it cannot be unrolled", "jo, ji = split(C.j, 8)"},
    {OF(matmul), "parallel reduction", "parallel(C.r_k)", 0,
     "C.r_k is a reduction loop: its steps add to the same elements, so they cannot be parallel", "parallel(C.i)"},
    {OF(matmul), "parallel nested", "parallel(C.i)\nparallel(C.j)", 1,
     "C.j is inside the parallel loop C.i; parallel loops do not nest", "unroll(C.j, factor=4)"},
    {OF(matmul), "parallel in unrolled", "unroll(C.i)\nparallel(C.j)", 1,
     "C.j is parallel inside C.i, which is unrolled; parallel loops run whole bodies", "unroll(C.j, factor=4)"},
    {OF(matmul), "two kinds", "unroll(C.i)\nparallel(C.i)", 1, "C.i is already unrolled", NULL},
    {OF(matmul), "too many copies", "unroll(C.i, C.j, C.r_k)", 0,
     "unrolled, vectorized and partitioned loops make more than 16384 copies of the body of C",
     "io, ii = split(C.i, 8)"},
    {OF(matmul), "inline output", "inline(C)", 0,
     "C is an output: all of it must be written, so inline cannot move it; use cache_write",
     "C_copy = cache_write(C)"},
    {OF(softmax), "inline reduction", "inline(sum)", 0,
     "sum is a reduction: inline takes stages that compute each element by itself", "compute_at(sum, Y.d)"},
    {OF(accumulate), "what the caller held, read again after it was overwritten",
     "inline(C[0])\nR = cache_write(C, at=C.i)\nreorder(C.j.store, C.i)", 2,
     "R reads what the caller's buffer of C held where the nest of C overwrites it", NULL},
    {OF(blur), "inline with children", "Q = cache_read(X, at=a.i)\ninline(a)", 1,
     "Q is computed at a.i, a loop that inline would take away", "compute_at(a, B.i)"},
    {OF(softmax), "compute_at consumer", "compute_at(e, Y.n)", 0,
     "sum reads e but is not inside Y.n, so e cannot be computed there", "inline(e)"},
    {OF(softmax), "compute_at output", "compute_at(Y, sum.n)", 0,
     "Y is an output: all of it must be written, so compute_at cannot move it; use cache_write",
     "Y_copy = cache_write(Y)"},
    {OF(blur), "compute_at itself", "compute_at(a, a.i)", 0,
     "a.i is a loop of a or inside one: a stage cannot be computed inside itself", "compute_at(a, B.i)"},
    {OF(accumulate), "compute_at initial", "compute_at(C[0], C.i)", 0,
     "C[0] reads what the caller's buffer of C held where the nest of C overwrites it", "inline(C[0])"},
    {OF(chain), "compute_at in vectorized", "vectorize(O[1].w)\ncompute_at(O[0], O[1].w)", 1,
     "O[1].w is vectorized, so nothing can be computed inside it, as O[0] is", "compute_at(O[0], O[1].h)"},
    {OF(blur), "compute_at inlined", "inline(a)\ncompute_at(a, B.i)", 1,
     "a is inlined: it has no loops of its own any more", NULL},
    {OF(chain), "cache_write foreign", "R = cache_write(O[0], at=O.w)", 0,
     "O.w is no loop of O[0]; cache_write computes O[0] at one of its own loops: O[0].n, O[0].m, O[0].h, "
     "O[0].w, O[0].r_c, O[0].r_kh and O[0].r_kw",
     "R = cache_write(O[0], at=O[0].w)"},
    {OF(matmul), "register serial", "R = cache_write(C, at=C.i, scope=register)", 0,
     "R lives in registers, but the loop R.j, which indexes it, is neither unrolled nor vectorized",
     "R = cache_write(C, at=C.j, scope=register)"},
    {OF(sized_matmul), "register run time", "R = cache_write(C, at=C.i, scope=register)", 0,
     "R cannot live in registers: its size is known only at run time",
     "R = cache_write(C, at=C.j, scope=register)"},
    {OF(matmul), "scope", "R = cache_write(C, at=C.i, scope=heap)", 0,
     "heap is no scope: it is global, local, register or shared", "R = cache_write(C, at=C.i)"},
    {OF(sized_matmul), "local run time", "R = cache_write(C, at=C.i, scope=local)", 0,
     "R does not fit on the stack, where scope local puts it: its size is known only at run time",
     "R = cache_write(C, at=C.j, scope=local)"},
    {OF(matmul), "compute_at cache", "R = cache_write(C, at=C.j)\ncompute_at(R, C.i)", 1,
     "R was made by cache_write and stays in the loops of C", NULL},
    {OF(matmul), "cache_read nothing", "R = cache_read(C)", 0, "nothing reads C", NULL},
    {OF(matmul), "cache_read no tensor", "R = cache_read(D)", 0, "there is no tensor D in matmul", NULL},
    {OF(chain), "cache_read outside", "R = cache_read(F, at=O.h)", 0, "nothing in the body of O.h reads F",
     "R = cache_read(F, at=O[0].r_kw)"},
    {OF(matmul), "layout names", "P = cache_read(B, at=C.i, layout=(q, k))", 0,
     "q names no dimension of B: an index that reads it, the name of a size, or d0, d1, ...",
     "P = cache_read(B, at=C.i, layout=(d1, d0))"},
    {OF(matmul), "layout twice", "P = cache_read(B, at=C.i, layout=(j, k, j))", 0,
     "the layout does not hold each element of dimension j of B once: j, or j/16 and j%16, do",
     "P = cache_read(B, at=C.i, layout=(d1, d0))"},
    {OF(matmul), "layout misses", "P = cache_read(B, at=C.i, layout=(j/16, j%16))", 0,
     "the layout does not hold each element of dimension k of B once: k, or k/16 and k%16, do",
     "P = cache_read(B, at=C.i, layout=(d1, d0))"},
    {OF(matmul), "layout gap", "P = cache_read(B, at=C.i, layout=(j/16, k, j%8))", 0,
     "the layout does not hold each element of dimension j of B once: j, or j/16 and j%16, do",
     "P = cache_read(B, at=C.i, layout=(d1, d0))"},
    {OF(convolution), "layout ambiguous", "P = cache_read(F, at=O.n, layout=(m, c, kh, d1))", 0,
     "the layout does not hold each element of dimension c of F once: c, or c/16 and c%16, do",
     "P = cache_read(F, at=O.n, layout=(d3, d2, d1, d0))"},
    {OF(accumulate), "cache_read initial", "P = cache_read(C.initial)", 0,
     "C.initial is what the caller's buffer held before it is written to; it is read once", NULL},
    {OF(strict_matmul), "strict reorder", "a, b = split(C.r_k, 8)\nreorder(b, C.i, C.j, a)", 1,
     "the reduction loops of C run in another order than the source's, which -fstrict forbids: C.a comes first",
     "reorder(C.a, C.b, C.i, C.j)"},
    {OF(matmul), "late breakage",
     "a, b = split(C.j, 8)\nreorder(C.i, a, C.r_k, b)\nvectorize(b)\nreorder(b, "
     "C.r_k)",
     3, "C.b is not innermost: only unrolled loops may be inside a vectorized one, and C.r_k is not",
     "reorder(C.r_k, C.i, C.a, C.b)"},
    {OF(matmul), "owner reorder", "a, b = split(C.j, 8)\nR = cache_write(C, at=a)\nreorder(a, C.i)", 2,
     "R is computed at C.a for one value of C.i, which must stay outside", NULL},
    {OF(chain), "fuse away", "compute_at(O[0], O[1].h)\nf = fuse(O[1].h, O[1].w)", 1,
     "O[0] is computed at O[1].h, which would be no loop any more", "f = fuse(O[1].n, O[1].m)"},
};

static void test_refused_cases(Bench *bench, const Programs *p) {
    for (size_t i = 0; i < sizeof refused_cases / sizeof *refused_cases; i++)
        test_refused(bench, p, &refused_cases[i]);
}

/* --- statements that no source text gives ------------------------------------------------------------------------- */

static void test_made(Bench *bench, const Program *program, Prim prim, const char *rule) {
    NestError error = {0};
    Schedule schedule = {.subject = "f", .target = "x86", .count = 1, .prims = &prim};
    ok(!nest_build(bench->arena, program, &schedule, NULL, target(), &error), "refused");
    is_text(error.rule, rule, "the rule of a statement that was made");
}

static void test_made_statements(Bench *bench, const Program *program) {
    PrimArg loop = {.kind = ARG_NAME, .name = "C.i"}, four = {.kind = ARG_INT, .value = 4};
    PrimArg at = {.kind = ARG_NAME, .key = "at", .name = "C.i"}, stage = {.kind = ARG_NAME, .name = "C"};
    const char *names[] = {"a", "b", "c"};
    test_made(bench, program, (Prim){.op = PRIM_CACHE_WRITE, .arg_count = 3, .args = (PrimArg[]){stage, at, at}},
              "cache_write has at= twice");
    test_made(bench, program, (Prim){.op = PRIM_INLINE, .arg_count = 2, .args = (PrimArg[]){stage, at}},
              "inline has no argument at=");
    test_made(
        bench, program,
        (Prim){.op = PRIM_SPLIT, .arg_count = 2, .args = (PrimArg[]){loop, four}, .result_count = 3, .results = names},
        "split returns 2 names, not 3");
    test_made(bench, program, (Prim){.op = PRIM_SPLIT, .arg_count = 1, .args = &loop},
              "split takes at least 2 arguments, not 1");
    test_made(bench, program, (Prim){.op = PRIM_SPLIT, .arg_count = 2, .args = (PrimArg[]){four, four}},
              "argument 1 of split is the name of a loop");
    PrimArg operation = {.kind = ARG_OP, .op = '/', .count = 1, .items = &loop};
    PrimArg layout = {.kind = ARG_LIST, .key = "layout", .count = 1, .items = &operation};
    PrimArg b = {.kind = ARG_NAME, .name = "B"};
    test_made(bench, program, (Prim){.op = PRIM_CACHE_READ, .arg_count = 2, .args = (PrimArg[]){b, layout}},
              "a layout divides by numbers");
}

/* A program whose last stage is a temporary that nothing reads. */
static void test_unread(Bench *bench, const Program *softmax) {
    Program cut = *softmax;
    cut.stage_count = 2;
    const struct {
        const char *schedule, *rule;
    } cases[] = {{"inline(e)", "nothing reads e, so there is nowhere to inline it"},
                 {"compute_at(e, top.n)", "nothing reads e, so there is no loop to compute it at"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        NestError error = {0};
        build(bench, &cut, cases[i].schedule, &error);
        is_text(error.rule, cases[i].rule, "%s", cases[i].schedule);
    }
}

/* --- the rest --------------------------------------------------------------------------------------------------- */

static void test_explanation(Bench *bench, Programs p) {
    NestError error = {0};
    build(bench, p.chain, "vectorize(O[1].w)\nvectorize(O.h)\nx = fuse(O.n, O.m)", &error);
    is_text(error.nest,
            "for n in 0:1\n"
            "    for m in 0:8\n"
            "        for h in 0:8\n"
            "            for w in 0:8\n"
            "                O(n, m, h, w) = max(O[1](n, m, h, w), 0.0)\n",
            "the explanation shows the nest of the stage that the statement names, before it");
    is_int(error.loc.begin, 28, "the place is that of the argument");
}

static void test_holes(Bench *bench, Programs p) {
    const Schedule *schedule = read_schedule(bench, "a, b = split(C.i, ?)\nc, d, e = split(C.j, ? in {2, 4}, ?)");
    const Nest *nest = nest_build(bench->arena, p.matmul, schedule, (int64_t[]){5, 4, 8}, target(), NULL);
    if (!ok(nest != NULL, "holes are filled in their order"))
        return;
    const int64_t wanted[] = {13, 5, 2, 4, 8};
    for (int i = 0; i < 5; i++)
        is_int(nest->stages[0]->loops[i]->extent, wanted[i], "extent of loop %d", i);
    NestError error = {0};
    ok(nest_build(bench->arena, p.matmul, schedule, (int64_t[]){5, 3, 8}, target(), &error) == NULL,
       "a choice that the hole does not offer is refused");
    is_text(error.rule, "the choice 3 is not among those that the ? offers", "with its rule");
}

static void test_ineffective(Bench *bench, Programs p) {
    const Nest *nest = build(bench, p.matmul,
                             "a, b = split(C.j, 1)\nreorder(C.i, a)\nreorder(a, "
                             "C.i)\nunroll(b)\nunroll(b)",
                             NULL);
    if (!ok(nest != NULL && nest->ineffective_count == 3, "three statements have no effect"))
        return;
    is_int(nest->ineffective[0], 0, "a split by 1");
    is_int(nest->ineffective[1], 1, "a reorder to the order that is");
    is_int(nest->ineffective[2], 4, "what is unrolled already");
}

static void test_registers(Bench *bench, Programs p) {
    const Nest *nest = build(bench, p.matmul,
                             "a, b = split(C.i, 6)\nc, d = split(C.j, 32)\nreorder(a, c, C.r_k, b, d)\n"
                             "R = cache_write(C, at=c, scope=register)\nvectorize(d)\nunroll(b)",
                             NULL);
    is_int(nest_register_count(nest, target_find("x86-64-v4")), 12, "6 x 32 floats in vectors of 16");
    is_int(nest_register_count(nest, target_find("x86-64-v3")), 24, "6 x 32 floats in vectors of 8");
    is_int(nest_register_count(build(bench, p.matmul, "", NULL), target()), 0, "no buffer in registers");
}

/* A memory that grows with the number of builds would end a search. */
static void test_memory(Bench *bench, Programs p) {
    Arena *arena = arena_new();
    const Schedule *schedule = read_schedule(bench, "a, b = split(C.i, 6)\nR = cache_write(C, at=a)\nunroll(R.b)");
    ok(nest_build(arena, p.matmul, schedule, NULL, target(), NULL) != NULL, "a schedule to build twice");
    size_t once = arena_bytes(arena);
    arena_reset(arena);
    nest_build(arena, p.matmul, schedule, NULL, target(), NULL);
    is_int((int64_t)arena_bytes(arena), (int64_t)once, "a build takes memory from its arena alone, always as much");
    ok(once < 100000, "and less than 100 kB: %zu", once);
    arena_free(arena);
}

int main(void) {
    Bench bench = {.arena = arena_new()};
    bench.sources.arena = bench.arena;
    Programs programs = make_programs(bench.arena);
    test_legal_cases(&bench, &programs);
    test_refused_cases(&bench, &programs);
    test_made_statements(&bench, programs.matmul);
    test_unread(&bench, programs.softmax);
    test_explanation(&bench, programs);
    test_holes(&bench, programs);
    test_ineffective(&bench, programs);
    test_registers(&bench, programs);
    test_memory(&bench, programs);
    arena_free(bench.arena);
    return done_testing();
}
