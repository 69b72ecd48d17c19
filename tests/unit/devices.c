/* devices.c - bind, for a device that is made here: what is legal, what the loop IR keeps of it, and every refusal.
 *
 * No backend makes code for such a target yet: the kernel is executed serially and compared with the unscheduled one.
 */
#include "kernel_read.h"
#include "kernel_run.h"
#include "parser/ast.h"
#include "schedules.h"
#include "tests/tap.h"
#include <string.h>

enum { M = 16, N = 32, K = 8 };

static const char program_text[] = "def f(float(M, K) A, float(K, N) B) -> (C) {\n"
                                   "    s(i, k) = A(i, k) * 2.0\n"
                                   "    C(i, j) +=! s(i, r_k) * B(r_k, j)\n"
                                   "}";

static Target device(void) {
    static const Family gpu = {.name = "gpu"};
    Target target = *target_find("x86-64-v4");
    target.name = "device";
    target.family = &gpu;
    target.block_threads = 64;
    return target;
}

static Schedule *read_schedule(Arena *arena, const char *text) {
    Sources *sources = ARENA_NEW(arena, Sources);
    sources->arena = arena;
    Diagnostics *diagnostics = diag_new(arena, sources, (DiagOptions){.stream = stdout});
    uint32_t file = (uint32_t)source_add(sources, "schedule", text, strlen(text), false);
    Schedule *schedule = parse_schedule(arena, sources, file, diagnostics);
    ok(!diag_finish(diagnostics) && schedule, "the schedule parses");
    return schedule;
}

static Program *make_program(Arena *arena, bool sized) {
    struct Binding sizes[] = {{"M", M}, {"N", N}, {"K", K}};
    return program_of_text(arena, program_text, sizes, sized ? 3 : 0);
}

/* --- legal -------------------------------------------------------------------------------------------------------- */

static const char launch[] = "iy, it = split(C.i, 4)\n"
                             "jx, jv, jt = split(C.j, 2, 8)\n"
                             "reorder(iy, jx, jv, it, jt, C.r_k)\n"
                             "bind(iy, block.y)\n"
                             "bind(jx, block.x)\n"
                             "bind(jv, vthread)\n"
                             "bind(it, thread.y)\n"
                             "bind(jt, thread.x)\n"
                             "compute_at(s, jx, scope=shared)\n"
                             "bind(s.i, thread.y)\n"
                             "bind(s.k, thread.x)\n";

static void fill(float *values, int count) {
    for (int i = 0; i < count; i++)
        values[i] = (float)(i * 7 % 11 - 5);
}

static void run(const Kernel *kernel, float *c, const char *what) {
    static float a[M * K], b[K * N];
    const char *fault = NULL;
    void *arguments[] = {a, b, c};
    fill(a, M * K);
    fill(b, K * N);
    is_int(kernel_run(kernel, NULL, arguments, &fault), 0, "%s runs", what);
    is_text(fault, NULL, "%s has no fault", what);
}

static void test_launch(Arena *arena) {
    Target target = device();
    Program *program = make_program(arena, true);
    NestError error = {0};
    const Nest *nest = nest_build(arena, program, read_schedule(arena, launch), NULL, &target, &error);
    is_text(error.rule, NULL, "a launch is legal");
    if (!nest)
        return;
    Text text = {.arena = arena}, ir = {.arena = arena}, again = {.arena = arena};
    nest_print(&text, nest);
    is_text(text.text,
            "for iy in 0:4 block.y\n"
            "    for jx in 0:2 block.x\n"
            "        s: 4 x 8 in shared from (4 * iy, 0)\n"
            "        for i in 0:4 thread.y\n"
            "            for k in 0:8 thread.x\n"
            "                s(i, k) = A(i, k) * 2.0\n"
            "        for jv in 0:2 vthread\n"
            "            for it in 0:4 thread.y\n"
            "                for jt in 0:8 thread.x\n"
            "                    C(i, j) = 0.0\n"
            "                    for r_k in 0:8\n"
            "                        C(i, j) += s(i, r_k) * B(r_k, j)\n",
            "its nest");
    const Kernel *kernel = expand(arena, nest, NULL);
    kernel_print(&ir, kernel);
    ok(strstr(ir.text, "block.y for iy in 0:4 {") && strstr(ir.text, "vthread for jv in 0:2 {"),
       "the loop IR keeps the axes");
    const char *why = NULL;
    const Kernel *read = kernel_read(arena, program, &target, ir.text, &why);
    is_text(why, NULL, "its text reads back");
    kernel_print(&again, read);
    is_text(again.text, ir.text, "as the same text");
    static float bound[M * N], plain[M * N];
    run(kernel, bound, "the launch");
    run(expand(arena, nest_build(arena, program, NULL, NULL, &target, NULL), NULL), plain, "the plain loops");
    ok(!memcmp(bound, plain, sizeof bound), "both give the same");
}

/* --- refused ------------------------------------------------------------------------------------------------------ */

static const struct Refused {
    bool cpu, run_time;
    const char *schedule, *rule, *alternative;
} refused[] = {
    {true, false, "bind(C.i, block.x)",
     "x86-64-v4 is a CPU: its loops run on threads by parallel, not along axes of a device", "parallel(C.i)"},
    {true, false, "set_scope(s, shared)",
     "shared memory belongs to the blocks of a device's threads, and x86-64-v4 has none", "set_scope(s, local)"},
    {false, false, "bind(C.i, warp.x)",
     "warp.x is no axis: it is block.x, block.y, block.z, thread.x, thread.y, thread.z or vthread",
     "bind(C.i, block.x)"},
    {false, false, "bind(C.r_k, thread.x)",
     "C.r_k is a reduction loop: its steps add to the same elements, so they cannot be thread.x",
     "bind(C.i, thread.x)"},
    {false, false, "bind(C.i, block.x)\nbind(C.j, block.x)",
     "C.j is inside C.i, and both count block.x: an axis is counted once", "bind(C.j, block.y)"},
    {false, false, "bind(C.j, block.x)", "C.j counts blocks inside C.i, which does not: block loops are the outermost",
     "bind(C.j, thread.x)"},
    {false, false, "bind(C.i, thread.x)\nbind(C.j, vthread)",
     "C.j is a vthread inside C.i, which counts threads: vthread loops are outside of thread loops", NULL},
    {false, false, "unroll(C.i)\nbind(C.j, thread.x)",
     "C.j is bound inside C.i, which is unrolled: a device starts its axes once", NULL},
    {false, true, "bind(C.i, thread.x)", "C.i has an extent known only at run time, M, so it cannot count thread.x",
     "bind(C.i, block.x)"},
    {false, false, "f = fuse(C.i, C.j)\nbind(f, thread.x)", "C.f has 512 values; thread.x counts 64 at most",
     "bind(f, block.x)"},
    {false, false, "bind(C.i, thread.y)\nbind(C.j, thread.x)",
     "C.j makes blocks of 512 threads; a block of device has 64 at most", NULL},
    {false, false, "bind(C.i, block.x)\nbind(C.j, thread.x)\ncompute_at(s, C.i, scope=shared)\nbind(s.k, thread.x)",
     "s.k counts 8 values of thread.x and C.j counts 32: a block has one size", "bind(s.k, thread.y)"},
    {false, false,
     "bind(C.i, block.x)\nbind(C.j, thread.x)\ncompute_at(s, C.i, scope=shared)\no, n = split(s.k, 1)\nbind(n, "
     "thread.x)",
     "s.n counts 1 value of thread.x and C.j counts 32: a block has one size", "bind(n, thread.y)"},
    {false, false, "bind(C.i, block.x)\nbind(C.j, thread.x)\ncompute_at(s, C.i)",
     "C.j counts threads inside the place of s, which they all use: it is of scope shared or global",
     "compute_at(s, C.r_k)"},
};

static void test_refused(Arena *arena, const struct Refused *row) {
    Target target = device();
    const Target *used = row->cpu ? target_find("x86-64-v4") : &target;
    NestError error = {0};
    Schedule *schedule = read_schedule(arena, row->schedule);
    ok(!nest_build(arena, make_program(arena, !row->run_time), schedule, NULL, used, &error), "refused");
    is_text(error.rule, row->rule, "the rule");
    is_text(error.alternative_count ? error.alternatives[0] : NULL, row->alternative, "the first alternative");
}

static void test_unbound_axis(Arena *arena) {
    Target target = device();
    const char *why = NULL;
    const Kernel *kernel = kernel_read(arena, make_program(arena, true), &target,
                                       "kernel f symbol f target device {\n"
                                       "    block.x for i in 0:4 {\n"
                                       "        block.x for j in 0:4 {\n"
                                       "            C(i, j) = 0.0\n"
                                       "        }\n"
                                       "    }\n"
                                       "}\n",
                                       &why);
    ok(!kernel && why && strstr(why, "an axis is counted once in a nest"), "the verifier looks at axes");
}

int main(void) {
    Arena *arena = arena_new();
    test_launch(arena);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        test_refused(arena, &refused[i]);
    test_unbound_axis(arena);
    arena_free(arena);
    return done_testing();
}
