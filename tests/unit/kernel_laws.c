/* kernel_laws.c - the law of expand: under random schedules, at boundary sizes, a kernel computes what the program
 * means.
 *
 * Each case is a program, sizes (bound or left to run time) and a random legal schedule. The kernel is executed before
 * flattening and after all passes, every access checked, and compared with the interpreter. The environment variable
 * LAW_CASES asks for another number of cases, LAW_SEED for other ones, LAW_ONLY for a single one, printed in full.
 */
#include "kernel_read.h"
#include "kernel_run.h"
#include "lang/value.h"
#include "lower/kernel/statements.h"
#include "parser/ast.h"
#include "schedules.h"
#include "sema/interpreter.h"
#include "tests/tap.h"
#include <stdlib.h>

typedef struct Law {
    const char *name;
    const char *text;
    int size_count;
    struct {
        const char *name;
        const char *values; /* to choose from */
    } sizes[8];
    int64_t index_limit;  /* values of integer inputs lie below: they are used as indices; 0: any small number */
    const char *schedule; /* instead of random ones: statements whose holes get random small numbers; or NULL */
} Law;

static const Law laws[] = {
#define SIZE(name, values)                                                                                             \
    { name, values }
    {"matmul",
     "def f(float(M, K) A, float(K, N) B) -> (C) { C(i, j) +=! A(i, r_k) * B(r_k, j) }",
     3,
     {SIZE("M", "0 1 3 4 5 7 16 17"), SIZE("N", "0 1 7 8 9 16 17 33"), SIZE("K", "0 1 2 4 5 13")},
     0,
     NULL},
    {"matmul of integers with bias",
     "def f(int32(M, K) A, int32(K, N) B, int32(N) b) -> (C) { C(i, j) +=! A(i, r_k) * B(r_k, j) C(i, j) = max(C(i, j) "
     "+ b(j), 0) }",
     3,
     {SIZE("M", "1 4 5 9"), SIZE("N", "1 8 9 17"), SIZE("K", "0 1 4 5")},
     0,
     NULL},
    {"mixed widths",
     "def f(uint8(M, K) A, int8(K, N) B) -> (C) { C(i, j) +=! int32(A(i, r_k)) * int32(B(r_k, j)) }",
     3,
     {SIZE("M", "1 4 5"), SIZE("N", "1 8 9 17"), SIZE("K", "1 4 7")},
     0,
     NULL},
    {"convolution",
     "def f(float(N, C, H, W) I, float(M, C, KH, KW) F) -> (O) {\n"
     "  O(n, m, h, w) +=! (I(n, r_c, h + r_kh - 1, w + r_kw - 1) else 0) * F(m, r_c, r_kh, r_kw)\n"
     "  where h in 0:H + 2 - (KH - 1), w in 0:W + 2 - (KW - 1) }",
     7,
     {SIZE("N", "1 2"), SIZE("C", "1 2 3"), SIZE("H", "1 2 4 5"), SIZE("W", "1 3 5 8"), SIZE("M", "1 4 5 8"),
      SIZE("KH", "1 2 3"), SIZE("KW", "1 3")},
     0,
     NULL},
    {"strided convolution",
     "def f(int32(C, H, W) I, int32(M, C, 3, 2) F) -> (O) {\n"
     "  O(m, h, w) +=! (I(r_c, 2*h + 2*r_kh - 2, 2*w + r_kw - 1) else 0) * F(m, r_c, r_kh, r_kw)\n"
     "  where h in 0:(H - 1)/2 + 1, w in 0:W/2 + 1 }",
     4,
     {SIZE("C", "1 2 3"), SIZE("H", "1 4 5 7"), SIZE("W", "1 3 5 8"), SIZE("M", "1 4 5 8")},
     0,
     NULL},
    {"pooling",
     "def f(float(C, H, W) I) -> (O) {\n"
     "  O(c, h, w) max=! (I(c, 2*h + r_kh, 2*w + r_kw) else 0 - 1000.0) where r_kh in 0:3, r_kw in 0:3, h in 0:(H + "
     "1)/2, w in 0:(W + 1)/2 }",
     3,
     {SIZE("C", "1 3"), SIZE("H", "1 4 5 8"), SIZE("W", "1 3 8 9")},
     0,
     NULL},
    {"softmax",
     "def f(float(N, D) X) -> (Y) { top(n) max=! X(n, r_d) e(n, d) = exp(X(n, d) - top(n)) sum(n) +=! e(n, r_d) Y(n, "
     "d) = e(n, d) / sum(n) }",
     2,
     {SIZE("N", "0 1 3 4 8"), SIZE("D", "1 5 8 9 16 17")},
     0,
     NULL},
    {"stencils in a row",
     "def f(float(N) X) -> (C) { a(i) = X(i) + X(i + 1) b(i) = a(i) + a(i + 2) C(i) = b(i) + b(i + 1) * a(i) }",
     1,
     {SIZE("N", "5 6 9 16 17 31")},
     0,
     NULL},
    {"stencils that wrap in a row",
     "def f(float(N) X) -> (C) {\n"
     "  a(i) = X(i) + (X(i + 1) else wrap) where i in 0:N\n"
     "  b(i) = (a(i - 2) else wrap) * i + (a(i + 1) else wrap) where i in 0:N\n"
     "  C(i) = (b(i - 1) else wrap) + b(i) * (a(i + 3) else wrap) where i in 0:N }",
     1,
     {SIZE("N", "1 2 3 5 9 16 31")},
     0,
     NULL},
    {"edges",
     "def f(float(H, W) I) -> (E, R, T) {\n"
     "  E(y, x) +=! (I(y + i - 1, x + j - 1) else edge) where i in 0:3, j in 0:3, y in 0:H, x in 0:W\n"
     "  R(y, x) = (I(y - 2, x + 1) else wrap) + (I(y, x - 1) else 1) where y in 0:H, x in 0:W\n"
     "  T(x, y) = I(y, x) + E(y, x) * R(y, x) }",
     2,
     {SIZE("H", "1 2 4 5"), SIZE("W", "1 3 8 9")},
     0,
     NULL},
    {"choices",
     "def f(float(N) X, int32(N) K) -> (Y, Z) {\n"
     "  Y(i) = i > 0 ? X(i - 1) * 2.0 : 0.0 - 1.0 where i in 0:N\n"
     "  Z(i) = (i < N - 3 && X(i + 3) > 0.0) ? float(K(i) / 3) + Y(i) : float(K(i) % 5) where i in 0:N }",
     1,
     {SIZE("N", "1 4 5 8 9 17")},
     0,
     NULL},
    {"gather",
     "def f(float(V, D) table, int32(B, L) ids) -> (O, S) {\n"
     "  O(b, l, d) = table(ids(b, l), d) S(b, d) +=! (table(ids(b, r_l) - 1, d) else 0) }",
     4,
     {SIZE("V", "5"), SIZE("D", "1 3 8 9"), SIZE("B", "1 2 3"), SIZE("L", "1 2 5")},
     5,
     NULL},
    {"computed gather",
     "def f(float(V, D) table, int32(B) ids) -> (O) { n(b) = ids(b) / 2 O(b, d) = table(n(b), d) }",
     3,
     {SIZE("V", "5"), SIZE("D", "1 3 8 9"), SIZE("B", "1 2 3")},
     5,
     NULL},
    {"accumulation",
     "def f(int32(M, K) A, int32(K) x) -> (y) { y(i) += A(i, r_k) * x(r_k) }",
     2,
     {SIZE("M", "1 4 5 9"), SIZE("K", "0 1 4 5")},
     0,
     NULL},
    {"reductions of every kind",
     "def f(float(M, N) A) -> (S, P, L, G, W) {\n"
     "  S(i) +=! A(i, r_j) P(i) *=! A(i, r_j) L(j) min=! A(r_i, j) G() max=! A(r_i, r_j) W(i, j) = (A(i, j) - S(i)) * "
     "L(j) + G() }",
     2,
     {SIZE("M", "1 2 5 8"), SIZE("N", "1 3 8 9")},
     0,
     NULL},
    {"depthwise with scalar",
     "def f(float(C, H, W) I, float(C, 3, 3) F, float s) -> (O) {\n"
     "  O(c, h, w) +=! I(c, h + kh, w + kw) * F(c, kh, kw) * s O(c, h, w) = max(O(c, h, w), 0) }",
     3,
     {SIZE("C", "1 3"), SIZE("H", "3 4 7"), SIZE("W", "3 5 10")},
     0,
     NULL},
    {"doubles and halves",
     "def f(double(M, K) A, half(K) x) -> (y, z) { y(i) +=! A(i, r_k) * double(x(r_k)) z(i) = half(y(i)) + x(0) where "
     "i in 0:M }",
     2,
     {SIZE("M", "1 4 5 9"), SIZE("K", "1 4 5")},
     0,
     NULL},
    {"causal attention scores",
     "def f(float(B, Q, D) X, float(B, Q, D) Y) -> (S) { S(b, i, j) +=! X(b, i, r_d) * Y(b, j, r_d) where j <= i }",
     3,
     {SIZE("B", "1 2"), SIZE("Q", "0 1 7 8 9 16 17"), SIZE("D", "1 4 5")},
     0,
     NULL},
    {"triangles times matrices",
     "def f(float(N, N) A, float(N, M) B) -> (L, U) {\n"
     "  L(i, j) +=! A(i, k) * B(k, j) where k in 0:i + 1\n"
     "  U(i, j) max=! exp(A(i, k)) * B(k, j) where k in i:N, i in 0:N }",
     2,
     {SIZE("N", "0 1 4 5 8 9 16 17"), SIZE("M", "1 8 9 17")},
     0,
     NULL},
    {"bands and stripes",
     "def f(int32(N, N) A) -> (B, S, T) {\n"
     "  B(i, j) *=! A(i, k) + A(k, j) where k >= i - 2, k <= j + 1, 2 * k != i + j\n"
     "  S(i) min=! A(i, j) where (i + j) % 3 == 0\n"
     "  T(i) +=! A(i, j) where 2 * j == i + 1 }",
     1,
     {SIZE("N", "0 1 4 5 8 9 16 17")},
     0,
     NULL},
    {"masked and ragged rows",
     "def f(float(N, M) X, int32(N, M) mask, int32(N) length) -> (S, Y, Z) {\n"
     "  S(i) +=! X(i, j) where j < length(i)\n"
     "  Y(i, j) +=! X(i, j) * S(k) where mask(i, j) > mask(k, j), k <= i\n"
     "  Z(i, j) = Y(i, j) Z(i, j) = Z(i, j) + X(i, j + 1) where j + 1 < M, mask(i, j + 1) > 0\n"
     "  Z(i, j) max= X(i, k) where mask(i, k) != 0, k < j }",
     2,
     {SIZE("N", "1 4 5 9"), SIZE("M", "1 7 8 9 17")},
     0,
     NULL},
    {"scatter: histograms and segments",
     "def f(int32(N) bins, int32(N) seg, float(N, D) X) -> (int32(5) h, float(S, D) m, int32(5, S) both, k) {\n"
     "  h(bins(i)) +=! 1\n"
     "  m(seg(i), d) max=! X(i, d) where seg(i) > 1, i % 3 != 1\n"
     "  both(bins(i), seg(i)) +=! 2\n"
     "  k(v) +=! h(bins(i)) where v == bins(i), v in 0:4 }",
     3,
     {SIZE("N", "0 1 7 8 9 33"), SIZE("D", "1 8 9"), SIZE("S", "5")},
     5,
     NULL},
    {"scatter: gradient of an embedding",
     "def f(float(B, L, D) X, int32(B, L) ids) -> (float(V, D) O, float(B, V) R) {\n"
     "  O(ids(b, l), d) += X(b, l, d)\n"
     "  R(b, ids(b, l)) +=! X(b, l, 0) }",
     4,
     {SIZE("B", "1 2 3"), SIZE("L", "1 2 5"), SIZE("D", "1 8 9 17"), SIZE("V", "5 8")},
     5,
     NULL},
    {"scatter: along the row and by arithmetic",
     "def f(int32(N, D) ids, int32(N, D) X) -> (int32(5, D) O, int32(2 * N + 1, D) U) {\n"
     "  O(ids(n, d), d) *=! X(n, d) + 1\n"
     "  U(2 * i + 1, d) +=! X(i, d) }",
     2,
     {SIZE("N", "0 1 4 9"), SIZE("D", "1 8 9")},
     5,
     NULL},
    {"an instruction, packed and in registers",
     "instr dot(int32(4) acc, uint8(4, 2) a, int8(4, 2) b) on x86 {\n"
     "  acc(i) += int32(a(i, r_k)) * int32(b(i, r_k)) } = \"none\"\n"
     "def f(uint8(M, K) A, int8(K, N) B) -> (C) { C(i, j) +=! int32(A(i, r_k)) * int32(B(r_k, j)) }",
     3,
     {SIZE("M", "0 1 2 3 5"), SIZE("N", "0 1 3 4 5 8 9"), SIZE("K", "0 1 2 3 5")},
     0,
     "io, ii = split(C.i, ?) jo, ju, jl = split(C.j, ?, 4) ko, ki = split(C.r_k, 2)\n"
     "reorder(jo, io, ko, ii, ju, jl, ki) P = cache_read(B, at=jo, layout=(j/4, k/2, j%4, k%2))\n"
     "R = cache_write(C, at=io, scope=register) tensorize(jl, dot) unroll(ii, ju)"},
    {"an instruction on memory, its loops the other way round",
     "instr dot(float(4) acc, float(4, 2) a, float(4, 2) b) on x86 {\n"
     "  acc(i) += b(i, r_k) * a(i, r_k) } = \"none\"\n"
     "def f(float(M, K) A, float(K, N) B) -> (C) { C(i, j) +=! A(i, r_k) * B(r_k, j) }",
     3,
     {SIZE("M", "1 2 5"), SIZE("N", "1 4 5 9"), SIZE("K", "0 1 2 5")},
     0,
     "jo, jl = split(C.j, 4) ko, ki = split(C.r_k, 2) reorder(C.i, jo, ko, ki, jl)\n"
     "P = cache_read(B, layout=(k/2, j/4, j%4, k%2)) io, ii = split(C.i, ?) tensorize(ki, dot)"},
    {"an instruction of two dimensions",
     "instr tile(int32(2, 4) acc, int32(2, 3) a, int32(3, 4) b) on x86 {\n"
     "  acc(i, j) += a(i, r_k) * b(r_k, j) } = \"none\"\n"
     "def f(int32(M, K) A, int32(K, N) B) -> (C) { C(i, j) +=! A(i, r_k) * B(r_k, j) }",
     3,
     {SIZE("M", "1 2 3 5"), SIZE("N", "1 4 5 9"), SIZE("K", "1 2 3 7")},
     0,
     "io, ii = split(C.i, 2) jo, ji = split(C.j, 4) ko, ki = split(C.r_k, 3) reorder(io, jo, ko, ii, ji, ki)\n"
     "PA = cache_read(A, layout=(i/2, k/3, i%2, k%3)) PB = cache_read(B, at=jo, layout=(j/4, k/3, k%3, j%4))\n"
     "R = cache_write(C, at=jo, scope=register) tensorize(ii, tile)"},
    {"an instruction under predicates on its lanes and steps",
     "instr dot(int32(4) acc, uint8(4, 2) a, int8(4, 2) b) on x86 {\n"
     "  acc(i) += int32(a(i, r_k)) * int32(b(i, r_k)) } = \"none\"\n"
     "def f(uint8(M, K) A, int8(K, N) B) -> (C) {\n"
     "  C(i, j) +=! int32(A(i, r_k)) * int32(B(r_k, j)) where r_k <= 2 * i, j + 1 >= i }",
     3,
     {SIZE("M", "1 2 3 5"), SIZE("N", "1 4 5 9"), SIZE("K", "1 2 5 7")},
     0,
     "jo, jl = split(C.j, 4) ko, ki = split(C.r_k, 2) reorder(jo, C.i, ko, jl, ki)\n"
     "P = cache_read(B, layout=(j/4, k/2, j%4, k%2)) tensorize(jl, dot)"},
    {"an instruction that only writes",
     "instr most(int32(4) c, int32(4) a, int32(4) b) on x86 { c(i) = max(a(i), b(i)) } = \"none\"\n"
     "def f(int32(M, N) A, int32(N) B) -> (C) { C(i, j) = max(B(j), A(i, j)) }",
     2,
     {SIZE("M", "0 1 3"), SIZE("N", "0 1 4 5 11")},
     0,
     "jo, jl = split(C.j, 4) io, ii = split(C.i, ?) reorder(io, jo, ii, jl) tensorize(jl, most) unroll(ii)"},
    {"conditions on copies, of columns beyond the end",
     "def f(uint16(N, N) A) -> (T) { T(i, j) max=! A(r_b, j) where i in 0:N, r_a in 0:5, (A(r_a, j) else wrap) > 1 }",
     1,
     {SIZE("N", "1 2 3 5 7")},
     0,
     "io, im, ii, iv = split(T.i, 1, 1, 1) jo, jm, ji = split(T.j, 1, 2) reorder(io, T.r_a, T.r_b, ji, iv)\n"
     "vectorize(iv) unroll(ji) R = cache_write(T, at=jm, scope=register) P = cache_read(A, reader=R, read=0, at=jo)"},
#undef SIZE
};

/* --- one case ----------------------------------------------------------------------------------------------------- */

typedef struct Case {
    Arena *arena;
    const Law *law;
    Random random;
    Program *program;
    int64_t *sizes;
    void **arguments;
    int64_t *bytes;
    Schedule *schedule;
    const char *wrong;
} Case;

static int64_t pick_value(Case *c, const char *values) {
    int count = 1;
    for (const char *at = values; *at; at++)
        count += *at == ' ';
    for (int skipped = (int)random_below(&c->random, count); skipped > 0; values++)
        skipped -= *values == ' ';
    return atoll(values);
}

/* Chooses a value for each size and whether it is known when the program is compiled. */
static void choose_sizes(Case *c) {
    struct Binding all[8], bound[8];
    int bound_count = 0, symbolic = (int)random_below(&c->random, 3); /* none, some, all */
    for (int i = 0; i < c->law->size_count; i++) {
        all[i] = (struct Binding){c->law->sizes[i].name, pick_value(c, c->law->sizes[i].values)};
        if (symbolic == 0 || (symbolic == 1 && random_below(&c->random, 2)))
            bound[bound_count++] = all[i];
    }
    c->program = program_of_text(c->arena, c->law->text, bound, bound_count);
    c->sizes = ARENA_ARRAY(c->arena, int64_t, c->program->size_count);
    for (int s = 0; s < c->program->size_count; s++)
        for (int i = 0; i < c->law->size_count; i++)
            if (!strcmp(all[i].name, c->program->sizes[s]->name))
                c->sizes[s] = all[i].value;
}

static int64_t element_count(Case *c, const Tensor *tensor) {
    int64_t count = 1, extent = 0;
    SizeValue values[8];
    for (int s = 0; s < c->program->size_count; s++)
        values[s] = (SizeValue){c->program->sizes[s], c->sizes[s]};
    for (int d = 0; d < tensor->rank; d++) {
        expr_evaluate(tensor->dims[d], values, c->program->size_count, &extent);
        count *= extent < 0 ? 0 : extent;
    }
    return count;
}

static void fill_arguments(Case *c) {
    int count = c->program->argument_count;
    c->arguments = ARENA_ARRAY(c->arena, void *, count);
    c->bytes = ARENA_ARRAY(c->arena, int64_t, count);
    for (int i = 0; i < count; i++) {
        const Argument *argument = &c->program->arguments[i];
        ElementType type = argument->tensor ? argument->tensor->type : argument->scalar->type;
        int64_t elements = argument->tensor ? element_count(c, argument->tensor) : 1;
        c->bytes[i] = elements * element_info[type].bytes;
        c->arguments[i] = arena_alloc(c->arena, (size_t)c->bytes[i] + 16);
        fill_random(type, c->arguments[i], elements, c->random.state + (uint64_t)i, c->law->index_limit ? 0 : -9,
                    c->law->index_limit ? c->law->index_limit - 1 : 9);
    }
}

static void compare(Case *c, const Kernel *kernel, const char *which) {
    int status;
    const char *why = NULL;
    void **found = ARENA_ARRAY(c->arena, void *, c->program->argument_count);
    for (int i = 0; i < c->program->argument_count; i++) {
        found[i] = arena_alloc(c->arena, (size_t)c->bytes[i] + 16);
        memcpy(found[i], c->arguments[i], (size_t)c->bytes[i]);
    }
    Interpreter *interpreter = interpreter_new(c->program, c->sizes, c->arguments, &status, &why);
    const char *fault = NULL;
    int returned = kernel_run(kernel, c->sizes, found, &fault);
    if (returned == KERNEL_RUN_TOO_LONG)
        interpreter_free(interpreter), interpreter = NULL;
    else if (fault)
        c->wrong = arena_printf(c->arena, "%s: %s", which, fault);
    else if (returned != status)
        c->wrong = arena_printf(c->arena, "%s: status %d, not %d", which, returned, status);
    for (int i = 0; i < c->program->argument_count && interpreter && !c->wrong; i++) {
        Mismatch first;
        const Tensor *tensor = c->program->arguments[i].tensor;
        if (tensor && tensor->role == ROLE_OUTPUT && interpreter_check(interpreter, i, found[i], 1e9, 1, &first))
            c->wrong = arena_printf(c->arena, "%s: element %lld of %s is %.9g, not %.9g within %g", which,
                                    (long long)first.element, tensor->name, first.found, first.expected, first.bound);
    }
    interpreter_free(interpreter);
}

/* The text of a kernel reads back as the same text. */
static void compare_text(Case *c, const Kernel *kernel, const char *which) {
    const char *why = NULL;
    Text text = {.arena = c->arena}, again = {.arena = c->arena};
    kernel_print(&text, kernel);
    const Kernel *read = kernel_read(c->arena, c->program, kernel->target, text.text, &why);
    if (!read) {
        c->wrong = arena_printf(c->arena, "%s: its text is refused: %s\n%s", which, why, text.text);
        return;
    }
    kernel_print(&again, read);
    if (strcmp(text.text, again.text))
        c->wrong =
            arena_printf(c->arena, "%s: another text after reading it back:\n%s\n%s", which, text.text, again.text);
}

/* The statements of the law, their holes filled with 1 to 3. */
static Schedule *law_schedule(Case *c) {
    Sources sources = {.arena = c->arena};
    Diagnostics *diagnostics = diag_new(c->arena, &sources, (DiagOptions){.stream = stderr});
    int file = source_add(&sources, "law", c->law->schedule, strlen(c->law->schedule), true);
    Schedule *schedule = parse_schedule(c->arena, &sources, (uint32_t)file, diagnostics);
    int holes = schedule_hole_count(schedule);
    int64_t *choices = ARENA_ARRAY(c->arena, int64_t, holes + 1);
    for (int h = 0; h < holes; h++)
        choices[h] = 1 + random_below(&c->random, 3);
    return schedule_fill(c->arena, schedule, choices);
}

static void run_case(Case *c, const Target *target, bool verbose) {
    choose_sizes(c);
    fill_arguments(c);
    c->schedule = c->law->schedule
                      ? law_schedule(c)
                      : random_schedule(c->arena, c->program, target, &c->random, 1 + (int)random_below(&c->random, 9));
    const Nest *nest = nest_build(c->arena, c->program, c->schedule, NULL, target, NULL);
    ExpandOptions options = {.verify_each = true, .dump = verbose ? "ngsftvua" : NULL};
    if (verbose) {
        Text text = {.arena = c->arena};
        schedule_print_statements(&text, c->schedule);
        nest_print(&text, nest);
        fprintf(stderr, "%s\n", text.text);
        for (int s = 0; s < c->program->size_count; s++)
            fprintf(stderr, "%s = %lld\n", c->program->sizes[s]->name, (long long)c->sizes[s]);
    }
    const Kernel *early = kernel_build(c->arena, nest, &options), *flat = expand(c->arena, nest, &options);
    compare(c, early, "as built");
    if (!c->wrong)
        compare(c, flat, "expanded");
    if (!c->wrong)
        compare_text(c, flat, "expanded");
}

static bool run_law(const Law *law, const Target *target, uint64_t seed, bool verbose) {
    Case c = {.arena = arena_new(), .law = law, .random = {seed}};
    run_case(&c, target, verbose);
    if (c.wrong) {
        Text text = {.arena = c.arena};
        schedule_print_statements(&text, c.schedule);
        diag_line("LAW_ONLY=%llu: %s", (unsigned long long)seed, c.wrong);
        diag_line("%s", text.text ? text.text : "");
    }
    bool right = !c.wrong;
    arena_free(c.arena);
    return right;
}

int main(void) {
    Target device = *target_find("x86-64-v4"); /* whose loops can be bound to axes */
    device.block_threads = 64;
    const Target *v4 = target_find("x86-64-v4"), *targets[] = {v4, v4, target_find("x86-64"), v4, &device};
    uint64_t count = sizeof laws / sizeof *laws, cases = from_environment("LAW_CASES", 40);
    uint64_t seed = from_environment("LAW_SEED", 1), only = from_environment("LAW_ONLY", 0);
    for (uint64_t l = 0; l < count; l++) {
        int wrong = 0;
        for (uint64_t i = 0; i < cases && wrong < 3; i++) {
            uint64_t own = (seed * 1000003 + i) * count + l;
            if (!only || only == own)
                wrong += !run_law(&laws[l], targets[own / count % 5], own, only != 0);
        }
        ok(wrong == 0, "%s under random schedules", laws[l].name);
    }
    return done_testing();
}
