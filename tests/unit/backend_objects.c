/* backend_objects.c - what objects need and promise beside their results: threads and their replacement, memory that
 * cannot be had, indices that are out of range, line numbers, the registers that a tile lives in.
 */
#include "lang/files.h"
#include "lang/machine.h"
#include "objects.h"
#include "parser/ast.h"
#include "schedules.h"
#include "tests/tap.h"

#include <dlfcn.h>
#include <elf.h>
#include <stdlib.h>
#include <unistd.h>

static const char *folder;

/* A kernel of a program under a schedule's statements. */
static Kernel *kernel_under(Arena *arena, const Program *program, const char *schedule, const Target *target) {
    Sources *sources = ARENA_NEW(arena, Sources);
    sources->arena = arena;
    Diagnostics *diagnostics = diag_new(arena, sources, (DiagOptions){0});
    uint32_t file = (uint32_t)source_add(sources, "schedule", schedule, strlen(schedule), false);
    Schedule *parsed = parse_schedule(arena, sources, file, diagnostics);
    NestError error = {0};
    Nest *nest = nest_build(arena, program, parsed, NULL, target, &error);
    if (!nest) {
        diag_line("%s", error.rule);
        exit(1);
    }
    return expand(arena, nest, NULL);
}

static Kernel *kernel_of(Arena *arena, const char *program, const char *schedule, const Target *target,
                         const struct Binding *bindings, int count) {
    return kernel_under(arena, program_of_text(arena, program, bindings, count), schedule, target);
}

static char *assembly_of(Kernel *kernel, const Target *target, EmitOptions options) {
    size_t bytes;
    const char *why = NULL;
    options.kind = EMIT_ASSEMBLY;
    return backend_of(target)->emit(&kernel, 1, target, &options, &bytes, &why);
}

static int count_text(const char *text, const char *part) {
    int count = 0;
    for (const char *at = text; at && (at = strstr(at, part)); at += strlen(part))
        count++;
    return count;
}

/* Lines that hold both: a vector register and the stack. */
static int count_lines(const char *text, const char *a, const char *b) {
    int count = 0;
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        const char *end = line + strcspn(line, "\n"), *first = strstr(line, a), *second = strstr(line, b);
        count += first && second && first < end && second < end;
    }
    return count;
}

/* --- registers --- */

static const char matmul_text[] = "def mm(float(M, K) A, float(K, N) B) -> (C) { C(i, j) +=! A(i, r_k) * B(r_k, j) }";
static const char packed_text[] = "P = cache_read(B, layout=(d1/16, d0, d1%16))\nio, ii = split(C.i, 14)\n"
                                  "jv, jl = split(C.j, 16)\nreorder(io, jv, C.r_k, ii, jl)\n"
                                  "R = cache_write(C, at=jv, scope=register)\nunroll(ii)\nvectorize(jl)\n";
static const char tile_text[] = "io, ii = split(C.i, 14)\njo, ji = split(C.j, 32)\njv, jl = split(ji, 16)\n"
                                "reorder(io, jo, C.r_k, ii, jv, jl)\nR = cache_write(C, at=jo, scope=register)\n"
                                "unroll(ii, jv)\nvectorize(jl)\n";

static void test_tile(void) {
    Arena *arena = arena_new();
    const struct Binding sizes[] = {{"M", 140}, {"N", 320}, {"K", 100}};
    const Target *target = target_make(arena, "x86-64-v4", 1);
    char *text =
        assembly_of(kernel_of(arena, matmul_text, tile_text, target, sizes, 3), target, (EmitOptions){.pic = true});
    is_int(count_lines(text, "vfmadd", "%zmm"), 28, "a tile of 14 x 32 is 28 multiply-adds on whole registers");
    is_int(count_lines(text, "zmm", "(%rsp)"), 0, "none of them is spilt");
    free(text);
    target = target_make(arena, "x86-64-v3", 1);
    static const char small[] = "io, ii = split(C.i, 6)\njo, ji = split(C.j, 16)\njv, jl = split(ji, 8)\n"
                                "reorder(io, jo, C.r_k, ii, jv, jl)\nR = cache_write(C, at=jo, scope=register)\n"
                                "unroll(ii, jv)\nvectorize(jl)\n";
    text = assembly_of(kernel_of(arena, matmul_text, small, target, sizes, 3), target, (EmitOptions){.pic = true});
    ok(count_lines(text, "vfmadd", "%ymm") >= 12 && !strstr(text, "zmm"), "AVX2 has its own registers");
    is_int(count_lines(text, "ymm", "(%rsp)"), 0, "12 accumulators fit into 16");
    free(text);
    arena_free(arena);
}

static void test_strict(void) {
    Arena *arena = arena_new();
    const Target *target = target_make(arena, "x86-64-v3", 1);
    Kernel *kernel = kernel_of(arena, matmul_text, "", target, NULL, 0);
    char *text = assembly_of(kernel, target, (EmitOptions){.pic = true});
    ok(strstr(text, "vfmadd") != NULL, "a multiplication and an addition are one instruction");
    free(text);
    kernel->strict = true;
    text = assembly_of(kernel, target, (EmitOptions){.pic = true});
    ok(strstr(text, "vfmadd") == NULL && strstr(text, "vmulss"), "two when strict");
    free(text);
    arena_free(arena);
}

/* Divisions in the code of rows of 64, each divided by one number. */
static int count_divisions(const char *schedule) {
    static const char text[] = "def p(float(N, 64) X) -> (Y) { s(i) = X(i, 0) + X(i, 1) Y(i, j) = X(i, j) / s(i) }";
    Arena *arena = arena_new();
    const struct Binding sizes[] = {{"N", 2}};
    const Target *target = target_make(arena, "x86-64-v4", 1);
    Kernel *kernel = kernel_of(arena, text, schedule, target, sizes, 1);
    char *assembly = assembly_of(kernel, target, (EmitOptions){.pic = true});
    int count = count_text(assembly, "vdiv");
    free(assembly);
    arena_free(arena);
    return count;
}

static void test_quotients(void) {
    is_int(count_divisions("compute_at(s, Y.i)\njo, ji = split(Y.j, 16)\nvectorize(ji)\nunroll(jo)\n"), 1,
           "four vectors divided by one number are one division");
    is_int(count_divisions("compute_at(s, Y.i)\njo, ji = split(Y.j, 16)\nvectorize(ji)\nunroll(Y.i, jo)\n"), 2,
           "two rows are two");
    is_int(count_divisions("jo, ji = split(Y.j, 16)\nvectorize(ji)\nunroll(Y.i, jo)\n"), 2,
           "also with all sums computed before");
}

/* --- threads --- */

static const char parallel_text[] = "def p(float(N, M) X) -> (Y) { t(i, j) = X(i, j) * 2.0 Y(i) +=! t(i, r_j) }";

/* A program that calls p(50, 3000): with what else is in `more`, linked with `flags`. */
static bool run_parallel_program(Arena *arena, const char *schedule, int threads, const char *more, const char *flags) {
    const Target *target = target_make(arena, "host", threads);
    Kernel *kernel = kernel_of(arena, parallel_text, schedule, target, NULL, 0);
    const char *object = arena_printf(arena, "%s/p.o", folder), *source = arena_printf(arena, "%s/p.c", folder);
    const char *text = arena_printf(
        arena,
        "#include <stdint.h>\n#include <stdio.h>\n%s\nint p(int64_t, int64_t, const float *, float *);\n"
        "static float x[50 * 3000], y[50];\nint main(void) {\nfor (int i = 0; i < 50 * 3000; i++) x[i] = i %% 7;\n"
        "int status = p(50, 3000, x, y);\nfor (int i = 0; i < 50; i++) {\nfloat sum = 0;\n"
        "for (int j = 0; j < 3000; j++) sum += 2 * x[i * 3000 + j];\nif (sum != y[i]) status = 9;\n}\n"
        "return status%s;\n}\n",
        more, *more ? " + !calls" : "");
    const char *build = arena_printf(arena, "%s -I%s/backends/runtime -o %s/p %s %s %s", c_compiler(),
                                     getenv("srcdir") ? getenv("srcdir") : ".", folder, source, object, flags);
    EmitOptions options = {.kind = EMIT_OBJECT, .pic = true};
    return write_object(object, &kernel, 1, target, &options) && write_whole(source, text, strlen(text)) &&
           system(build) == 0 && system(arena_printf(arena, "OMP_NUM_THREADS=3 %s/p", folder)) == 0;
}

static void test_threads(void) {
    Arena *arena = arena_new();
    static const char hook[] = "#include \"tensorc_runtime.h\"\nstatic int calls;\n"
                               "static void mine(tensorc_parallel_body *body, void *closure, int64_t extent) {\n"
                               "calls++;\nfor (int64_t i = extent; i-- > 0;) body(closure, i, i + 1);\n}\n"
                               "tensorc_parallel_function *tensorc_parallel_hook = mine;\n";
    static const char loops[] = "parallel(Y.i)", slices[] = "compute_at(t, Y.i)\nparallel(Y.i)";
    static const char openmp[] = "#include \"tensorc_runtime.h\"\nstatic int calls;\n"
                                 "static void mine(tensorc_parallel_body *body, void *closure, int64_t extent) {\n"
                                 "calls++;\ntensorc_openmp(body, closure, extent);\n}\n"
                                 "tensorc_parallel_function *tensorc_parallel_hook = mine;\n";
    ok(run_parallel_program(arena, loops, 0, "", ""), "a parallel loop in the pool's threads");
    ok(run_parallel_program(arena, slices, 0, "", ""), "temporaries of the threads");
    ok(run_parallel_program(arena, loops, 0, hook, ""), "threads of the program's own");
    ok(run_parallel_program(arena, slices, 0, hook, ""), "and their temporaries");
    ok(run_parallel_program(arena, loops, 0, openmp, "-fopenmp"), "threads of OpenMP");
    ok(run_parallel_program(arena, slices, 0, openmp, "-fopenmp"), "and their temporaries");
    ok(run_parallel_program(arena, loops, 2, "", ""), "a fixed number of threads");
    ok(run_parallel_program(arena, slices, 1, "", ""), "one thread");
    arena_free(arena);
}

/* --- statuses --- */

static void test_statuses(void) {
    Arena *arena = arena_new();
    const Target *target = target_make(arena, "host", 1);
    static const char pairs[] =
        "def pairs(float(N) X) -> (Y) { t(i, j) = X(i) * X(j) u(j, i) = t(i, j) + 1.0 Y(i) +=! u(r_j, i) }";
    static const char gather[] = "def gather(float(V) table, int32(B) ids) -> (O) { O(b) = table(ids(b)) }";
    Kernel *kernels[] = {kernel_of(arena, pairs, "", target, NULL, 0), kernel_of(arena, gather, "", target, NULL, 0)};
    EmitOptions options = {.kind = EMIT_OBJECT, .pic = true, .candidate = true, .verify = true};
    void *library = load_kernels(folder, kernels, 2, target, &options);
    if (!ok(library != NULL, "an object of two functions"))
        return;
    float x[] = {1, 2, 3}, y[] = {-1, -1, -1};
    EntryFunction *entry = entry_of(library, "pairs");
    is_int(entry((int64_t[]){(int64_t)1 << 28}, (void *[]){x, y}), STATUS_NO_MEMORY, "a temporary of 2^56 elements");
    is_int(entry((int64_t[]){(int64_t)1 << 62}, (void *[]){x, y}), STATUS_BAD_SIZE, "a size that overflows");
    is_int(entry((int64_t[]){-1}, (void *[]){x, y}), STATUS_BAD_SIZE, "a negative size");
    ok(y[0] == -1, "nothing is written then");
    is_int(entry((int64_t[]){0}, (void *[]){x, y}), STATUS_OK, "a size of 0");
    is_int(entry((int64_t[]){3}, (void *[]){x, y}), STATUS_OK, "a size that can be had");
    ok(y[2] == 3 * 6 + 3, "its result");
    int32_t ids[] = {2, 0, 3};
    y[0] = -1;
    is_int(entry_of(library, "gather")((int64_t[]){3, 3}, (void *[]){x, ids, y}), STATUS_BAD_INDEX,
           "an index out of range");
    ok(y[0] == -1, "nothing is written before all are checked");
    unload_kernels(library);
    arena_free(arena);
}

/* --- line numbers, symbols, repeatability --- */

static void test_lines(void) {
    Arena *arena = arena_new();
    Sources sources = {.arena = arena};
    static const char text[] = "def f(float(N) X) -> (Y) {\n    t(i) = X(i) * 2.0\n    Y(i) = t(i) + 1.0\n}\n";
    const Target *target = target_make(arena, "host", 0);
    Kernel *kernel = kernel_of(arena, text, "parallel(Y.i)", target, NULL, 0);
    source_add(&sources, "lines.tensor", text, sizeof text - 1, false);
    char *assembly = assembly_of(kernel, target, (EmitOptions){.pic = true, .debug = true, .sources = &sources});
    ok(strstr(assembly, "\"lines.tensor\"") != NULL, "-g names the file");
    ok(count_text(assembly, "\t.loc\t0 2 ") + count_text(assembly, "\t.loc\t1 2 ") > 0,
       "-g has the first statement's line");
    ok(count_text(assembly, "\t.loc\t0 3 ") + count_text(assembly, "\t.loc\t1 3 ") > 0,
       "and the second's, in the parallel loop");
    free(assembly);
    assembly = assembly_of(kernel, target, (EmitOptions){.pic = true});
    is_int(count_text(assembly, "\t.loc\t"), 0, "none without -g");
    char *again = assembly_of(kernel, target, (EmitOptions){.pic = true});
    is_text(again, assembly, "the same input gives the same bytes");
    free(again);
    free(assembly);
    arena_free(arena);
}

/* --- targets --- */

static void test_targets(void) {
    Arena *arena = arena_new();
    const Target *host = target_make(arena, "host", 2), *cortex = target_make(arena, "cortex-a53", 0);
    ok(host && host->host && *host->cpu && host->vector_bytes >= 16 && host->machine->cache_bytes[0] >= 8192,
       "this machine");
    ok(host && host->machine->cache_bytes[LAST_CACHE] <= (int64_t)sysconf(_SC_NPROCESSORS_ONLN) << 24,
       "with no larger a part of the last cache than its processors have");
    ok(host && host->threads == 2 && *target_microarchitecture(host), "with its threads and microarchitecture");
    ok(cortex && !strcmp(cortex->family->name, "arm") && !strcmp(cortex->cpu, "cortex-a53"),
       "a processor that LLVM knows");
    ok(!target_make(arena, "pentium-99", 0), "one that nobody knows");
    arena_free(arena);
}

/* What this machine is asked to stand for has its own model, and no feature that the machine lacks. */
static void test_stand_ins(void) {
    Arena *arena = arena_new();
    const char *before = getenv("TENSORC_HOST") ? arena_strdup(arena, getenv("TENSORC_HOST")) : "";
    setenv("TENSORC_HOST", "", 1);
    const Target *here = target_make(arena, "host", 1);
    if (strcmp(here->family->name, "x86") != 0) {
        skip(5, "this machine stands for no x86");
        arena_free(arena);
        return;
    }
    setenv("TENSORC_HOST", "haswell", 1);
    const Target *haswell = target_make(arena, "host", 1), *wide = target_make(arena, "x86-64-v4", 1);
    ok(!strcmp(haswell->cpu, "haswell") && haswell->host && !strstr(haswell->features, "+avx512"), "a Haswell");
    ok(haswell->vector_bytes <= 32 &&
           haswell->machine->cache_bytes[1] == target_find("x86-64-v3")->machine->cache_bytes[1],
       "with its vectors and caches");
    ok(!wide->host && target_make(arena, "x86-64", 1)->host, "that runs no AVX-512");
    setenv("TENSORC_HOST", "znver4", 1);
    const Target *zen = target_make(arena, "host", 1);
    ok(zen->machine->widest_slots == 2 && zen->vector_bytes <= here->vector_bytes, "one of AMD, which works on halves");
    setenv("TENSORC_HOST", "pentium-99", 1);
    ok(!target_make(arena, "host", 1), "none that nobody knows");
    setenv("TENSORC_HOST", before, 1);
    arena_free(arena);
}

/* --- constants --- */

static const char *section_of(const char *object, const char *name, size_t *bytes) {
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)object;
    const Elf64_Shdr *sections = (const Elf64_Shdr *)(object + header->e_shoff);
    const char *names = object + sections[header->e_shstrndx].sh_offset;
    for (int i = 0; i < header->e_shnum; i++)
        if (strcmp(names + sections[i].sh_name, name) == 0) {
            *bytes = sections[i].sh_size;
            return object + sections[i].sh_offset;
        }
    return NULL;
}

/* What is measured is what is shipped: the code is the same with the constants in the object and left out. */
static void test_left_out(void) {
    static const struct Binding sizes[] = {{"M", 56}, {"N", 64}, {"K", 64}};
    Arena *arena = arena_new();
    const Target *target = target_make(arena, "x86-64-v4", 1);
    Program *program = program_of_text(arena, matmul_text, sizes, 3);
    Tensor *weights = (Tensor *)program->arguments[1].tensor;
    weights->role = ROLE_CONSTANT;
    weights->data = calloc(64 * 64, sizeof(float));
    Kernel *kernel = kernel_under(arena, program, packed_text, target);
    LeftOut left_out = {0};
    EmitOptions options = {.kind = EMIT_OBJECT, .pic = true, .candidate = true, .verify = true};
    size_t bytes[2], code_bytes[2] = {0, 1};
    const char *why = "", *objects[2], *code[2];
    objects[0] = backend_of(target)->emit(&kernel, 1, target, &options, &bytes[0], &why);
    options.left_out = &left_out;
    objects[1] = backend_of(target)->emit(&kernel, 1, target, &options, &bytes[1], &why);
    for (int i = 0; i < 2; i++)
        code[i] = section_of(objects[i], ".text", &code_bytes[i]);
    is_int(left_out.constants.count, 1, "a packed constant is left out");
    ok(bytes[0] > bytes[1] + 64 * 64 * 4 - 1024, "the object is smaller: %zu, %zu bytes", bytes[0], bytes[1]);
    ok(code_bytes[0] == code_bytes[1] && !memcmp(code[0], code[1], code_bytes[0]), "its code is the same");
    for (int i = 0; i < 2; i++)
        free((char *)objects[i]);
    free((void *)weights->data);
    arena_free(arena);
}

/* --- backends --- */

static void test_backends(Arena *arena) {
    for (int i = 0; i < target_count(); i++)
        ok(backend_of(target_row(i))->emit != NULL, "target %s has a backend", target_row(i)->name);
    unsigned all = CAN_ASSEMBLY | CAN_LLVM | CAN_DEBUG | CAN_PARALLEL | CAN_INSTRS | CAN_RUN;
    const Backend *llvm = backend_of(target_row(0));
    Backend other = {"other", llvm->emit, NULL, CAN_ASSEMBLY};
    ok(backend_lacks(arena, llvm, all) == NULL, "LLVM's does all");
    ok(backend_lacks(arena, &other, CAN_ASSEMBLY) == NULL, "another one does what its row says");
    static const struct {
        unsigned wanted;
        const char *text;
    } lacks[] = {{CAN_ASSEMBLY | CAN_LLVM, "the backend 'other' makes no LLVM IR (-emit-llvm)"},
                 {CAN_DEBUG, "the backend 'other' writes no line numbers (-g)"},
                 {CAN_PARALLEL, "the backend 'other' has no parallel loops (--threads)"},
                 {CAN_INSTRS, "the backend 'other' has no hardware instructions of the source (instr)"},
                 {CAN_RUN, "the backend 'other' makes code that this machine cannot run (-run)"}};
    for (size_t i = 0; i < sizeof lacks / sizeof *lacks; i++)
        is_text(backend_lacks(arena, &other, lacks[i].wanted), lacks[i].text, "and nothing else");
    other.can = 0;
    is_text(backend_lacks(arena, &other, all), "the backend 'other' makes no assembly (-S)", "the first lack is told");
}

int main(void) {
    Arena *arena = arena_new();
    test_backends(arena);
    folder = work_folder_make(arena);
    test_targets();
    test_stand_ins();
    test_tile();
    test_strict();
    test_quotients();
    test_lines();
    test_statuses();
    test_threads();
    test_left_out();
    work_folder_remove(folder);
    arena_free(arena);
    return done_testing();
}
