/* backend_laws.c - the law of objects: under random schedules, at boundary sizes, what an object computes is what the
 * program means.
 *
 * Each case is a program, sizes (bound or left to run time) and a random legal schedule. The buffers end where a page
 * begins that must not be touched, so that a vector that reads or writes too far is a crash. Cases are compiled in
 * batches, one object each. LAW_CASES asks for another number of cases, LAW_SEED for other ones.
 */
#include "lang/value.h"
#include "objects.h"
#include "schedules.h"
#include "sema/interpreter.h"
#include "tests/tap.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct Law {
    const char *name, *text;
    const char *sizes[6]; /* "M 1 4 17": a name, then values to choose from */
    int64_t index_limit;  /* values of integer inputs lie below; 0: any small number */
} Law;

static const Law laws[] = {
    {"matmul",
     "def f(float(M, K) A, float(K, N) B) -> (C) { C(i, j) +=! A(i, r_k) * B(r_k, j) }",
     {"M 1 3 7 16 17", "N 1 8 15 16 17 33", "K 0 1 4 13"},
     0},
    {"matmul of double",
     "def f(double(M, K) A, double(K, N) B) -> (C) { C(i, j) +=! A(i, r_k) * B(r_k, j) }",
     {"M 1 4 5", "N 1 7 8 9", "K 1 5"},
     0},
    {"matmul of bytes",
     "def f(uint8(M, K) A, int8(K, N) B) -> (C) { C(i, j) +=! int32(A(i, r_k)) * int32(B(r_k, j)) }",
     {"M 1 4 5", "N 1 16 17 33", "K 1 7"},
     0},
    {"half and bfloat16",
     "def f(half(N) A, bfloat16(N) B, float(N) C) -> (x, y, z) { x(i) = A(i) * A(i) + half(C(i)) "
     "y(i) = B(i) + bfloat16(C(i)) z(i) = float(x(i)) * float(y(i)) }",
     {"N 1 5 8 16 31"},
     0},
    {"convolution",
     "def f(float(C, H, W) I, float(M, C, 3, 3) F) -> (O) {\n"
     "  O(m, h, w) +=! (I(r_c, h + r_kh - 1, w + r_kw - 1) else 0) * F(m, r_c, r_kh, r_kw)\n"
     "  where h in 0:H, w in 0:W }",
     {"C 1 3", "H 1 4 5", "W 1 7 16 19", "M 1 4 8 17"},
     0},
    {"strided convolution",
     "def f(int16(C, H, W) I, int16(M, C, 3, 2) F) -> (O) {\n"
     "  O(m, h, w) +=! (I(r_c, 2*h + 2*r_kh - 2, 2*w + r_kw - 1) else 0) * F(m, r_c, r_kh, r_kw)\n"
     "  where h in 0:(H - 1)/2 + 1, w in 0:W/2 + 1 }",
     {"C 1 3", "H 1 4 7", "W 1 8 33", "M 1 5 8"},
     0},
    {"softmax",
     "def f(float(N, D) X) -> (Y) { top(n) max=! X(n, r_d) e(n, d) = exp(X(n, d) - top(n)) sum(n) +=! e(n, r_d)\n"
     "  Y(n, d) = e(n, d) / sum(n) }",
     {"N 0 1 3 8", "D 1 5 16 17"},
     0},
    {"functions",
     "def f(float(N) X) -> (Y, Z) { Y(i) = tanh(X(i)) + sin(X(i)) * log(fabs(X(i)) + 1.0) Z(i) = pow(fabs(X(i)), 0.3) "
     "}",
     {"N 1 4 16 21"},
     0},
    {"integers",
     "def f(int64(N) A, int32(N) B) -> (Q, R, T) { Q(i) = A(i) / 7 + A(N - 1 - i) % 3 R(i) = B(i) * B(i) % (A(i) + 1)\n"
     "  T(i) = B(i) < 3 ? min(B(i), 2) : max(B(i), 40) }",
     {"N 1 3 8 17"},
     0},
    {"transposition",
     "def f(float(M, N) X) -> (Y) { Y(j, i) = X(i, j) * 2.0 + X(M - 1 - i, N - 1 - j) }",
     {"M 1 5 16", "N 1 4 17"},
     0},
    {"gather",
     "def f(float(V, D) table, int32(B) ids) -> (O, S) { O(b, d) = table(ids(b), d) S(d, b) = (table(ids(b) - 1, d) "
     "else 0) }",
     {"V 5", "D 1 8 9 16", "B 1 3"},
     5},
    {"logic",
     "def f(bool(N) A, float(N) X, uint8(N) B) -> (Y, Z) { Y(i) = A(i) && X(i) > 0.0 || B(i) == uint8(3) Z(i) = Y(i) ? "
     "B(i) : uint8(9) }",
     {"N 1 8 16 19"},
     0},
    {"accumulation",
     "def f(int32(M, K) A, int32(K) x, int32 s) -> (y) { y(i) += A(i, r_k) * x(r_k) * s }",
     {"M 1 9 16", "K 0 1 5"},
     0},
    {"reductions",
     "def f(float(M, N) A) -> (P, L, G) { P(i) *=! A(i, r_j) L(j) min=! A(r_i, j) G() max=! A(r_i, r_j) }",
     {"M 1 2 5 8", "N 1 3 16"},
     0},
    {"large temporaries",
     "def f(float(N) X) -> (Y) { t(i, j) = X(i) * X(j) u(j, i) = t(i, j) + 1.0 Y(i) +=! u(r_j, i) }",
     {"N 1 17 70"},
     0},
};
enum { LAWS = sizeof laws / sizeof *laws, BATCH = 30 };

typedef struct Case {
    const Law *law;
    Program *program;
    Kernel *kernel;
    Schedule *schedule;
    int64_t sizes[6];
    int number;
} Case;

/* --- making cases --- */

static struct Binding choose_size(const char *text, Random *random, char *name) {
    int length = (int)strcspn(text, " "), count = 0;
    int64_t values[8];
    snprintf(name, 8, "%.*s", length, text);
    char *at = (char *)text + length;
    while (*at && count < 8)
        values[count++] = strtoll(at, &at, 10);
    return (struct Binding){name, values[random_below(random, count)]};
}

static void choose_sizes(Arena *arena, Case *c, Random *random) {
    struct Binding all[6], bound[6];
    int bound_count = 0, symbolic = (int)random_below(random, 3); /* none, some, all */
    for (int i = 0; i < 6 && c->law->sizes[i]; i++) {
        all[i] = choose_size(c->law->sizes[i], random, arena_alloc(arena, 8));
        if (symbolic == 0 || (symbolic == 1 && random_below(random, 2)))
            bound[bound_count++] = all[i];
    }
    c->program = program_of_text(arena, c->law->text, bound, bound_count);
    for (int s = 0; s < c->program->size_count; s++)
        for (int i = 0; i < 6 && c->law->sizes[i]; i++)
            if (!strcmp(all[i].name, c->program->sizes[s]->name))
                c->sizes[s] = all[i].value;
}

static void make_case(Arena *arena, Case *c, int number, uint64_t seed, const Target *target) {
    Random random = {seed + (uint64_t)number * 1000003};
    *c = (Case){.law = &laws[number % LAWS], .number = number};
    choose_sizes(arena, c, &random);
    c->program->symbol = arena_printf(arena, "f%d", number);
    c->schedule =
        random_schedule(arena, c->program, target, &random, number < LAWS ? 0 : 1 + (int)random_below(&random, 12));
    Nest *nest = nest_build(arena, c->program, c->schedule, NULL, target, NULL);
    c->kernel = expand(arena, nest, NULL);
}

/* --- running one --- */

typedef struct Memory {
    uint8_t *pages;
    size_t size;
    void *data; /* ends with the last page that may be touched */
} Memory;

static Memory memory_make(int64_t bytes) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), size = ((size_t)bytes + page - 1) / page * page;
    Memory memory = {.size = size + page};
    memory.pages = mmap(NULL, memory.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory.pages == MAP_FAILED || mprotect(memory.pages + size, page, PROT_NONE) != 0)
        exit(1);
    memory.data = memory.pages + size - bytes;
    return memory;
}

static int64_t bytes_of(const Case *c, const Argument *argument) {
    if (argument->scalar)
        return element_info[argument->scalar->type].bytes;
    SizeValue values[6];
    int64_t bytes = element_info[argument->tensor->type].bytes, extent;
    for (int s = 0; s < c->program->size_count; s++)
        values[s] = (SizeValue){c->program->sizes[s], c->sizes[s]};
    for (int d = 0; d < argument->tensor->rank; d++)
        bytes *= expr_evaluate(argument->tensor->dims[d], values, c->program->size_count, &extent) && extent > 0
                     ? extent
                     : 0;
    return bytes;
}

static ElementType type_of(const Argument *argument) {
    return argument->scalar ? argument->scalar->type : argument->tensor->type;
}

static const char *compare(Arena *arena, const Case *c, void *const *before, void *const *after, int status) {
    int wanted_status = STATUS_OK;
    const char *why = NULL;
    Interpreter *interpreter = interpreter_new(c->program, c->sizes, before, &wanted_status, &why);
    if (!interpreter || status)
        return status == wanted_status ? NULL : arena_printf(arena, "status %d, wanted %d", status, wanted_status);
    for (int i = 0; i < c->program->argument_count; i++) {
        const Argument *argument = &c->program->arguments[i];
        if (!argument->tensor || argument->tensor->role != ROLE_OUTPUT)
            continue;
        Mismatch first;
        int64_t wrong = interpreter_check(interpreter, i, after[i], 1e6, 1, &first);
        if (wrong)
            return arena_printf(arena, "%s: %lld wrong, element %lld is %.9g, wanted %.9g within %.3g",
                                argument->tensor->name, (long long)wrong, (long long)first.element, first.found,
                                first.expected, first.bound);
    }
    interpreter_free(interpreter);
    return NULL;
}

/* What is wrong with a case, or NULL. */
static const char *run_case(Arena *arena, const Case *c, EntryFunction *entry) {
    int count = c->program->argument_count;
    Memory *memories = ARENA_ARRAY(arena, Memory, count);
    void **after = ARENA_ARRAY(arena, void *, count), **before = ARENA_ARRAY(arena, void *, count);
    for (int i = 0; i < count; i++) {
        const Argument *argument = &c->program->arguments[i];
        int64_t bytes = bytes_of(c, argument), high = c->law->index_limit ? c->law->index_limit - 1 : 9;
        memories[i] = memory_make(bytes);
        after[i] = memories[i].data;
        fill_random(type_of(argument), after[i], bytes / element_info[type_of(argument)].bytes, (uint64_t)i + 1,
                    c->law->index_limit || type_of(argument) == TYPE_BOOL ? 0 : -9, high);
        before[i] = memcpy(arena_alloc(arena, (size_t)bytes + 1), after[i], (size_t)bytes);
    }
    const char *wrong = compare(arena, c, before, after, entry(c->sizes, after));
    for (int i = 0; i < count; i++)
        munmap(memories[i].pages, memories[i].size);
    return wrong;
}

static void show_case(Arena *arena, const Case *c, const char *wrong) {
    Text text = {.arena = arena};
    text_add(&text, "%s: %s\n", c->law->name, wrong);
    for (int s = 0; s < c->program->size_count; s++)
        text_add(&text, "%s = %lld\n", c->program->sizes[s]->name, (long long)c->sizes[s]);
    schedule_print_statements(&text, c->schedule);
    kernel_print(&text, c->kernel);
    diag_line("%.3900s", text.text);
}

/* --- batches --- */

static void test_batch(const char *folder, const char *target_name, int threads, int first, uint64_t seed) {
    Arena *arena = arena_new();
    const Target *target = target_make(arena, target_name, threads);
    Case cases[BATCH];
    Kernel *kernels[BATCH];
    for (int i = 0; i < BATCH; i++) {
        make_case(arena, &cases[i], first + i, seed, target);
        kernels[i] = cases[i].kernel;
    }
    EmitOptions options = {.kind = EMIT_OBJECT, .pic = true, .candidate = true, .verify = true};
    void *library = load_kernels(folder, kernels, BATCH, target, &options);
    int wrong_count = 0;
    for (int i = 0; library && i < BATCH; i++) {
        const char *wrong = run_case(arena, &cases[i], entry_of(library, cases[i].program->symbol));
        if (wrong && !wrong_count++)
            show_case(arena, &cases[i], wrong);
    }
    ok(library && !wrong_count, "%s, %d threads: cases %d to %d", target_name, threads, first, first + BATCH - 1);
    if (library)
        unload_kernels(library);
    arena_free(arena);
}

int main(void) {
    static const char *const names[] = {"host", "x86-64", "x86-64-v3", "host"};
    int cases = getenv("LAW_CASES") ? atoi(getenv("LAW_CASES")) : 12 * BATCH;
    uint64_t seed = getenv("LAW_SEED") ? strtoull(getenv("LAW_SEED"), NULL, 10) : 1;
    Arena *arena = arena_new();
    const char *folder = work_folder_make(arena);
    const Target *host = target_make(arena, "host", 1);
    for (int first = 0, batch = 0; first < cases; first += BATCH, batch++) {
        const char *name = host && strcmp(host->family->name, "x86") == 0 ? names[batch % 4] : "host";
        const Target *target = target_make(arena, name, 1);
        if (target->host)
            test_batch(folder, name, batch % 2 ? 1 : 3, first, seed);
        else
            skip(1, "this processor does not run that level of x86");
    }
    work_folder_remove(folder);
    arena_free(arena);
    return done_testing();
}
