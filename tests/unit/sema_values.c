/* sema_values.c - what checked programs compute: the interpreter's values of a source against plain C.
 *
 * Element e of input k holds in(k, e), small integers, so that sums are exact in float. Each program is run as it is,
 * with run-time sizes, and again with all its sizes bound.
 */
#include "sema/interpreter.h"
#include "sema/sema.h"
#include "stdlib/stdlib.h"
#include "tests/tap.h"

#include <stdlib.h>

enum { SIZE_LIMIT = 8, RANK_LIMIT = 6 };

static int64_t in(int input, int64_t element) {
    return (element * 7 + input * 3 + 1) % 11 - 4;
}

typedef struct Case {
    const char *title, *source;
    int64_t sizes[SIZE_LIMIT]; /* of the last unit, in its order */
    double (*expected)(const int64_t *n, int output, const int64_t *x);
} Case;

/* --- what the programs mean --- */

/* n: N C H W M KH KW */
static double convolution(const int64_t *n, int output, const int64_t *x) {
    double sum = 0;
    for (int64_t c = 0; c < n[1]; c++)
        for (int64_t kh = 0; kh < n[5]; kh++)
            for (int64_t kw = 0; kw < n[6]; kw++) {
                int64_t h = 2 * x[2] + 2 * kh - 1, w = 2 * x[3] + 2 * kw - 1;
                if (h >= 0 && h < n[2] && w >= 0 && w < n[3])
                    sum += (double)(in(0, ((x[0] * n[1] + c) * n[2] + h) * n[3] + w) *
                                    in(1, ((x[1] * n[1] + c) * n[5] + kh) * n[6] + kw));
            }
    return sum;
}

/* n: N C H W M KH KW */
static double transposed(const int64_t *n, int output, const int64_t *x) {
    double sum = 0;
    for (int64_t c = 0; c < n[1]; c++)
        for (int64_t h = 0; h < n[2]; h++)
            for (int64_t w = 0; w < n[3]; w++) {
                int64_t kh = x[2] + 1 - 2 * h, kw = x[3] + 1 - 2 * w;
                if (kh >= 0 && kh < n[5] && kw >= 0 && kw < n[6])
                    sum += (double)(in(0, ((x[0] * n[1] + c) * n[2] + h) * n[3] + w) *
                                    in(1, ((c * n[4] + x[1]) * n[5] + kh) * n[6] + kw));
            }
    return sum;
}

static int64_t clamp(int64_t x, int64_t n) {
    return x < 0 ? 0 : x >= n ? n - 1 : x;
}

static int64_t wrap(int64_t x, int64_t n) {
    return (x % n + n) % n;
}

static int64_t reflect(int64_t x, int64_t n) {
    while (n > 1 && (x < 0 || x >= n))
        x = x < 0 ? -x : 2 * (n - 1) - x;
    return n > 1 ? x : 0;
}

static double outside(const int64_t *n, int output, const int64_t *x) {
    int64_t places[3] = {clamp(x[0] - 3, n[0]), wrap(x[0] - 5, n[0]), reflect(x[0] + 4, n[0])};
    return (double)(100 * in(0, places[0]) + 10 * in(0, places[1]) + in(0, places[2]));
}

static double guarded(const int64_t *n, int output, const int64_t *x) {
    return (double)(in(0, x[0]) + (x[0] >= n[1] ? in(0, x[0] - n[1]) * in(1, 0) : 7));
}

static double concatenation(const int64_t *n, int output, const int64_t *x) {
    int64_t i = x[0];
    return (double)(i < n[0] ? in(0, i) : i < n[0] + n[1] ? in(1, i - n[0]) : in(2, i - n[0] - n[1]));
}

static double gradient(const int64_t *n, int output, const int64_t *x) {
    double d = (double)(in(0, x[0] + 2) - in(0, x[0]));
    return d * d;
}

static double row(const int64_t *n, int64_t i, bool largest) {
    double sum = 0, most = -100;
    for (int64_t k = 0; k < n[1]; k++) {
        double a = (double)in(0, i * n[1] + k);
        sum += a;
        most = a > most ? a : most;
    }
    return largest ? most : sum;
}

static double parts(const int64_t *n, int output, const int64_t *x) {
    double sum = row(n, x[0], false);
    return x[0] >= 2 && x[0] < 4 ? row(n, x[0], true) : x[0] < 3 ? 2 * sum : sum;
}

static double shifted_part(const int64_t *n, int output, const int64_t *x) {
    return (double)(x[0] >= 1 && x[0] < n[0] - 1 ? in(0, x[0] + 1) * in(0, x[0] - 1) : in(0, x[0]));
}

static double merged(const int64_t *n, int output, const int64_t *x) {
    return (double)in(0, x[0]) - (double)in(0, x[0] / n[1]);
}

static double gathered(const int64_t *n, int output, const int64_t *x) {
    int64_t place = in(1, x[0]) + 4;
    return output ? (double)place : (double)in(0, place);
}

static double accumulated(const int64_t *n, int output, const int64_t *x) {
    return (double)in(1, x[0]) + row(n, x[0], false);
}

static double pooled(const int64_t *n, int output, const int64_t *x) {
    double most = -INFINITY;
    for (int64_t kh = 0; kh < 3; kh++)
        for (int64_t kw = 0; kw < 3; kw++) {
            int64_t h = 2 * x[2] + kh - 1, w = 2 * x[3] + kw - 1;
            if (h >= 0 && h < n[2] && w >= 0 && w < n[3])
                most = fmax(most, (double)in(0, ((x[0] * n[1] + x[1]) * n[2] + h) * n[3] + w));
        }
    return most;
}

static double scaled(const int64_t *n, int output, const int64_t *x) {
    double low = INFINITY, high = -INFINITY;
    for (int64_t i = 0; i < n[0]; i++) {
        low = fmin(low, (double)in(0, i));
        high = fmax(high, (double)in(0, i));
    }
    return ((double)in(0, x[0]) - low) * (high - low);
}

static double upsampled(const int64_t *n, int output, const int64_t *x) {
    return (double)in(0, x[0] / 2);
}

static double packed(const int64_t *n, int output, const int64_t *x) {
    return x[1] <= x[0] ? (double)in(0, x[0] * (x[0] + 1) / 2 + x[1]) : -1;
}

static double integers(const int64_t *n, int output, const int64_t *x) {
    int64_t a = in(0, x[0]);
    return (double)(output == 0 ? (a - wrap(a, 3)) / 3 : output == 1 ? wrap(a, 3) : a * x[0] + n[0]);
}

static double filled(const int64_t *n, int output, const int64_t *x) {
    return (double)(x[0] < n[0] ? in(0, x[0]) : in(1, x[0] - n[0]));
}

/* n: B Q D: products on and below the diagonal, sums from it on */
static double causal(const int64_t *n, int output, const int64_t *x) {
    double sum = 0;
    if (output == 0 && x[1] < x[2])
        return 0;
    for (int64_t d = 0; d < n[2] && output == 0; d++)
        sum += (double)(in(0, (x[0] * n[1] + x[1]) * n[2] + d) * in(1, (x[0] * n[1] + x[2]) * n[2] + d));
    for (int64_t k = x[1]; k < n[1] && output == 1; k++)
        sum += (double)in(0, (x[0] * n[1] + k) * n[2] + x[1] % n[2]);
    return sum;
}

/* n: N D: sums, the largest where the index is at least 1, counts of pairs */
static double scattered(const int64_t *n, int output, const int64_t *x) {
    double sum = 0, most = -INFINITY, count = 0;
    for (int64_t i = 0; i < n[0]; i++) {
        int64_t id = in(1, i), other = in(2, i);
        bool here = id + 4 == x[0];
        sum += here && output == 0 ? (double)in(0, i * n[1] + x[1]) : 0;
        if (id == x[0] && id >= 1 && output == 1)
            most = fmax(most, (double)in(0, i * n[1] + x[1]));
        count += here && other + 4 == x[1];
    }
    return output == 0 ? 10 + sum : output == 1 ? most : count;
}

static const Case cases[] = {
    {"a convolution with stride, padding and dilation",
     "import \"nn\"\nexport conv2d(S=2, P=1, D=2) as f",
     {2, 3, 7, 8, 2, 3, 2},
     convolution},
    {"a transposed convolution",
     "import \"nn\"\nexport transposed_conv2d(S=2, P=1) as f",
     {1, 2, 3, 4, 2, 4, 3},
     transposed},
    {"edge, wrap and reflect",
     "def f(float(N) A) -> (O) { O(i) = 100*(A(i-3) else edge) + 10*(A(i-5) else wrap) + (A(i+4) else reflect)\n"
     "    where i in 0:N }",
     {7},
     outside},
    {"edge, wrap and reflect of few elements",
     "def f(float(N) A) -> (O) { O(i) = 100*(A(i-3) else edge) + 10*(A(i-5) else wrap) + (A(i+4) else reflect)\n"
     "    where i in 0:N }",
     {2},
     outside},
    {"edge, wrap and reflect of one element",
     "def f(float(N) A) -> (O) { O(i) = 100*(A(i-3) else edge) + 10*(A(i-5) else wrap) + (A(i+4) else reflect)\n"
     "    where i in 0:N }",
     {1},
     outside},
    {"a read under a condition",
     "def f(float(T) A, float(D) B) -> (O) { O(t) = A(t) + (t - D >= 0 ? A(t - D) * B(0) : 7) where t in 0:T }",
     {9, 4},
     guarded},
    {"a concatenation",
     "def f(float(L) A, float(M) B, float(N) C) -> (O) {\n"
     "    O(i) = i < L ? A(i) : i < L + M ? B(i - L) : C(i - L - M) where i in 0:L+M+N }",
     {3, 0, 4},
     concatenation},
    {"ranges that do not begin at 0",
     "def f(float(N) A) -> (O) { d(i) = A(i + 1) - A(i - 1)  O(i) = d(i) * d(i) }",
     {7},
     gradient},
    {"parts that are reduced",
     "def f(float(N, K) A) -> (O) { O(i) +=! A(i, k)  O(i) += A(i, k) where i in 0:3  O(i) max=! A(i, k) where i in "
     "2:4 }",
     {6, 5},
     parts},
    {"a part from shifted reads",
     "def f(float(N) A) -> (O) { O(i) = A(i)  O(i) = A(i + 1) * A(i - 1) where i in 1:N-1 }",
     {8},
     shifted_part},
    {"merged dimensions",
     "def f(float(A, B) I) -> (O) { O(i) = I(i / B, i % B) - I(i / B / B, i / B % B) where i in 0:A*B }",
     {4, 5},
     merged},
    {"a gather by an index that is an output",
     "def f(float(V) T, int32(N) A) -> (O, s) { s(i) = A(i) + 4  O(i) = T(s(i)) }",
     {11, 9},
     gathered},
    {"accumulation on the caller's buffer", "def f(float(N, K) A) -> (O) { O(i) += A(i, k) }", {4, 5}, accumulated},
    {"pooling with padding", "import \"nn\"\nexport max_pool2d(K=3, S=2, P=1) as f", {1, 2, 6, 5}, pooled},
    {"a call with two results",
     "def f(float(N) x) -> (y) { a, b = g(x)  y(i) = (x(i) - a) * (b - a) }\n"
     "def g(float(N) x) -> (low, high) { low min=! x(i)  high max=! x(i) }\nexport f",
     {6},
     scaled},
    {"up-sampling", "def f(float(N) A) -> (O) { O(i) = A(i / 2) }", {5}, upsampled},
    {"triangles by predicates and by ranges",
     "def f(float(B, Q, D) X, float(B, Q, D) Y) -> (S, U) {\n"
     "    S(b, i, j) +=! X(b, i, d) * Y(b, j, d) where j <= i\n"
     "    U(b, i) +=! X(b, k, i % D) where i in 0:Q, k in i:Q, exists Y(b, k, 0) }",
     {2, 7, 3},
     causal},
    {"scattering by indices from memory",
     "def f(float(N, D) X, int32(N) I, int32(N) J) -> (float(11, D) O, float(7, D) M, int32(11, 11) C) {\n"
     "    O(v, d) = 10 where v in 0:11, d in 0:D   O(I(n) + 4, d) += X(n, d)\n"
     "    M(I(n), d) max=! X(n, d) where I(n) >= 1\n"
     "    C(I(n) + 4, J(n) + 4) +=! 1 }",
     {23, 3},
     scattered},
    {"a packed triangle",
     "def f(float(N) A) -> (O) { O(i, j) = j <= i ? A(i*(i+1)/2 + j) : -1 where i in 0:5, j in 0:5 }",
     {15},
     packed},
    {"integers floor, indices and sizes are values",
     "def f(int32(N) A) -> (q, r, v) { q(i) = A(i) / 3  r(i) = A(i) % 3  v(i) = A(i) * i + N }",
     {10},
     integers},
    {"declared sizes, filled in two parts",
     "def f(float(M) A, float(N) B) -> (float(M+N) O) { O(i) = A(i)  O(i) = B(i - M) where i in M:M+N }",
     {3, 4},
     filled},
};

/* --- running
 * --------------------------------------------------------------------------------------------------------------- */

static uint32_t find_embedded(__attribute__((unused)) void *context, Sources *sources, const char *name) {
    const StdlibFile *file = stdlib_find(name);
    return file ? (uint32_t)source_add(sources, name, file->text, file->length, true) : 0;
}

static const Program *program_of(Arena *arena, const char *text) {
    Sources *sources = ARENA_NEW(arena, Sources);
    sources->arena = arena;
    Diagnostics *diagnostics = diag_new(arena, sources, (DiagOptions){.no_warnings = true});
    uint32_t file = (uint32_t)source_add(sources, "case.tensor", text, strlen(text), false);
    SemaOptions options = {.find_embedded = find_embedded};
    Module *module = sema_check(arena, sources, parse_file(arena, sources, file, diagnostics), &options, diagnostics);
    return diag_finish(diagnostics) == 0 ? module->units.items[module->units.count - 1].program : NULL;
}

static int64_t extents_of(const Program *program, const Tensor *tensor, const int64_t *sizes, int64_t *extents) {
    SizeValue values[SIZE_LIMIT];
    int64_t count = 1;
    for (int i = 0; i < program->size_count; i++)
        values[i] = (SizeValue){program->sizes[i], sizes[i]};
    for (int d = 0; d < tensor->rank; d++) {
        if (!expr_evaluate(tensor->dims[d], values, program->size_count, &extents[d]))
            return -1;
        count *= extents[d];
    }
    return count;
}

static void **make_arguments(Arena *arena, const Program *program, const int64_t *sizes) {
    void **arguments = ARENA_ARRAY(arena, void *, program->argument_count);
    for (int a = 0; a < program->argument_count; a++) {
        const Tensor *tensor = program->arguments[a].tensor;
        int64_t extents[RANK_LIMIT], count = extents_of(program, tensor, sizes, extents);
        int bytes = element_info[tensor->type].bytes;
        char *data = arguments[a] = arena_alloc(arena, (size_t)((count + 1) * bytes));
        for (int64_t e = 0; e < count; e++)
            value_store(value_cast((Value){.type = TYPE_INT64, .integer = in(a, e)}, tensor->type), data + e * bytes);
    }
    return arguments;
}

static double element_at(Interpreter *interpreter, const Tensor *tensor, const int64_t *index) {
    Value value = interpreter_element(interpreter, tensor, index).value;
    return type_is_float(value.type) ? value.real : (double)value.integer;
}

/* Elements of one output that are not as expected. */
static int wrong_elements(const Case *test, Interpreter *interpreter, const Program *program, const Tensor *tensor,
                          const int64_t *sizes, int output) {
    int64_t extents[RANK_LIMIT], index[RANK_LIMIT], count = extents_of(program, tensor, sizes, extents);
    int wrong = 0;
    for (int64_t e = 0; e < count; e++) {
        int64_t rest = e;
        for (int d = tensor->rank - 1; d >= 0; rest /= extents[d], d--)
            index[d] = rest % extents[d];
        double got = element_at(interpreter, tensor, index), wanted = test->expected(test->sizes, output, index);
        if (fabs(got - wanted) > 1e-4 && wrong++ == 0)
            diag_line("element %" PRId64 " of %s is %g, not %g", e, tensor->name, got, wanted);
    }
    return wrong;
}

static void run_program(Arena *arena, const Case *test, const Program *program, const int64_t *sizes, const char *how) {
    int status = 0, wrong = 0, output = 0;
    const char *why = NULL;
    void **arguments = make_arguments(arena, program, sizes);
    Interpreter *interpreter = interpreter_new(program, sizes, arguments, &status, &why);
    ok(interpreter != NULL, "%s, %s: can be called", test->title, how);
    if (!interpreter) {
        diag_line("%s", why);
        return;
    }
    for (int a = 0; a < program->argument_count; a++)
        if (program->arguments[a].tensor->role == ROLE_OUTPUT)
            wrong += wrong_elements(test, interpreter, program, program->arguments[a].tensor, sizes, output++);
    is_int(wrong, 0, "%s, %s: the values", test->title, how);
    interpreter_free(interpreter);
}

static void run_case(const Case *test) {
    Arena *arena = arena_new();
    const Program *program = program_of(arena, test->source);
    ok(program != NULL, "%s: is accepted", test->title);
    if (program) {
        run_program(arena, test, program, test->sizes, "sizes at run time");
        struct Binding bindings[SIZE_LIMIT];
        for (int i = 0; i < program->size_count; i++)
            bindings[i] = (struct Binding){program->sizes[i]->name, test->sizes[i]};
        const char *why = "";
        const Program *bound = program_bind(arena, program, bindings, program->size_count, &why);
        ok(bound != NULL, "%s: its sizes can be bound %s", test->title, why);
        if (bound)
            run_program(arena, test, bound, NULL, "sizes bound");
    }
    arena_free(arena);
}

/* --- binding
 * ---------------------------------------------------------------------------------------------------------------------
 */

static void test_binding(void) {
    Arena *arena = arena_new();
    const Program *program = program_of(arena, "def f(float(N) A, float(K) B) -> (O) { O(i) +=! A(i + k) * B(k) }");
    const char *why = NULL;
    const Program *bound = program_bind(arena, program, &(struct Binding){"K", 3}, 1, &why);
    ok(bound && bound->size_count == 1 && bound->bound_count == 1, "one of two sizes is bound");
    is_text(expr_text(arena, bound->arguments[2].tensor->dims[0]), "N - 2", "the extent over the other");
    is_text(expr_text(arena, program->arguments[2].tensor->dims[0]), "N - K + 1", "the former program stays");
    struct Binding both[2] = {{"K", 9}, {"N", 7}};
    ok(!program_bind(arena, program, both, 2, &why), "sizes that break a requirement are refused");
    is_text(why, "it needs K <= N + 1", "with the requirement");
    ok(!program_bind(arena, program, &(struct Binding){"N", -1}, 1, &why), "a negative size is refused");
    both[0].value = 8;
    bound = program_bind(arena, program, both, 2, &why);
    is_int(tensor_elements(bound->arguments[2].tensor), 0, "an empty output is none");
    arena_free(arena);
}

int main(void) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        run_case(&cases[i]);
    test_binding();
    return done_testing();
}
