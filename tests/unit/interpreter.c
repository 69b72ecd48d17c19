/* interpreter.c - the interpreter against a plain recursive evaluator, and its error bounds against other orders.
 *
 * The evaluator of plain.c computes each element by recursion, one value_apply at a time. The interpreter must give the
 * same bits, whole and element by element. Its bounds must accept every legal order and contraction, and must refuse
 * results with a term missing, an index off by one, a wrong constant.
 */
#include "sema/interpreter.h"
#include "sema/interpreter_internal.h"
#include "tests/tap.h"
#include "tests/unit/plain.h"
#include "tests/unit/programs.h"
#include "tests/unit/schedules.h"

#include <stdlib.h>

/* --- a program with data --- */

typedef struct Trial {
    const Program *program;
    const int64_t *sizes;
    void *arguments[12];
    int64_t elements[12];
} Trial;

static int64_t count_elements(const Trial *trial, const Tensor *tensor, int64_t *dims) {
    Plain plain = {.program = trial->program, .sizes = trial->sizes};
    int64_t elements = 1;
    for (int d = 0; d < tensor->rank; d++) {
        dims[d] = plain_dim(&plain, tensor, d);
        elements *= dims[d];
    }
    return elements;
}

static Trial begin_trial(const Program *program, const int64_t *sizes, uint64_t seed, int64_t low, int64_t high) {
    Trial trial = {.program = program, .sizes = sizes};
    for (int i = 0; i < program->argument_count; i++) {
        int64_t dims[8];
        const Tensor *tensor = program->arguments[i].tensor;
        trial.elements[i] = tensor ? count_elements(&trial, tensor, dims) : 1;
        ElementType type = tensor ? tensor->type : program->arguments[i].scalar->type;
        trial.arguments[i] = calloc((size_t)trial.elements[i] + 1, 8);
        fill_random(type, trial.arguments[i], trial.elements[i], seed + (uint64_t)i, low, high);
    }
    return trial;
}

static void end_trial(Trial *trial) {
    for (int i = 0; i < trial->program->argument_count; i++)
        free(trial->arguments[i]);
}

static void index_of(int64_t element, const int64_t *dims, int rank, int64_t *index) {
    for (int d = rank - 1; d >= 0; d--) {
        index[d] = element % dims[d];
        element /= dims[d];
    }
}

static int output_argument(const Program *program) {
    for (int i = 0; i < program->argument_count; i++)
        if (program->arguments[i].tensor && program->arguments[i].tensor->role == ROLE_OUTPUT)
            return i;
    abort();
}

/* The output by the plain evaluator in some order. */
static void *plain_output(const Trial *trial, Order order) {
    int argument = output_argument(trial->program);
    const Tensor *tensor = trial->program->arguments[argument].tensor;
    Plain plain = {.program = trial->program, .sizes = trial->sizes, .arguments = trial->arguments, .order = order};
    int64_t dims[8], index[8], elements = count_elements(trial, tensor, dims);
    char *data = calloc((size_t)elements + 1, 8);
    for (int64_t i = 0; i < elements; i++) {
        index_of(i, dims, tensor->rank, index);
        value_store(plain_element(&plain, tensor, index), data + i * element_info[tensor->type].bytes);
    }
    return data;
}

static bool same_bits(const Tensor *tensor, const void *a, const void *b, int64_t elements) {
    for (int64_t i = 0; i < elements; i++) {
        int bytes = element_info[tensor->type].bytes;
        Value x = value_load(tensor->type, (const char *)a + i * bytes),
              y = value_load(tensor->type, (const char *)b + i * bytes);
        if (x.integer != y.integer && !(type_is_float(x.type) && isnan(x.real) && isnan(y.real)))
            return false;
    }
    return true;
}

static Interpreter *new_interpreter(const Trial *trial) {
    int status;
    const char *why;
    Interpreter *interpreter = interpreter_new(trial->program, trial->sizes, trial->arguments, &status, &why);
    if (!interpreter)
        diag_line("refused: %s", why);
    return interpreter;
}

static bool elements_agree(const Trial *trial, const void *expected) {
    Interpreter *interpreter = new_interpreter(trial);
    const Tensor *tensor = trial->program->arguments[output_argument(trial->program)].tensor;
    int64_t dims[8], index[8], elements = count_elements(trial, tensor, dims);
    bool agree = true;
    for (int64_t i = 0; i < elements && agree; i += 1 + i / 7) {
        int64_t element = elements - 1 - i;
        index_of(element, dims, tensor->rank, index);
        Evaluated found = interpreter_element(interpreter, tensor, index);
        char bits[8];
        value_store(found.value, bits);
        agree = same_bits(tensor, bits, (const char *)expected + element * element_info[tensor->type].bytes, 1);
    }
    interpreter_free(interpreter);
    return agree;
}

/* What every program has to satisfy. has_sum: a missing term must be noticed. */
static void test_program(const char *name, const Program *program, const int64_t *sizes, int64_t low, int64_t high,
                         bool has_sum) {
    Trial trial = begin_trial(program, sizes, 11, low, high);
    int argument = output_argument(program);
    const Tensor *tensor = program->arguments[argument].tensor;
    int64_t elements = trial.elements[argument];
    void *expected = plain_output(&trial, ORDER_SOURCE), *found = calloc((size_t)elements + 1, 8);
    Interpreter *interpreter = new_interpreter(&trial);
    interpreter_tensor(interpreter, tensor, found);
    ok(same_bits(tensor, expected, found, elements), "%s: whole, as by recursion", name);
    ok(elements_agree(&trial, expected), "%s: element by element, as by recursion", name);
    Mismatch first = {.tensor = NULL};
    int64_t wrong = 0;
    for (Order order = ORDER_SOURCE; order <= ORDER_CONTRACTED; order++) {
        void *other = plain_output(&trial, order);
        wrong += interpreter_check(interpreter, argument, other, 0, 1, &first);
        free(other);
    }
    if (wrong)
        diag_line("element %" PRId64 ": expected %g, found %g, bound %g", first.element, first.expected, first.found,
                  first.bound);
    is_int(wrong, 0, "%s: every order is within the bounds", name);
    if (has_sum) {
        void *other = plain_output(&trial, ORDER_MISSING_TERM);
        wrong = interpreter_check(interpreter, argument, other, 0, 1, &first);
        ok(wrong > elements / 4, "%s: a missing term is noticed in %" PRId64 " of %" PRId64 " elements", name, wrong,
           elements);
        free(other);
    }
    interpreter_free(interpreter);
    free(expected);
    free(found);
    end_trial(&trial);
}

static void test_shapes(Arena *arena) {
    static const ElementType types[] = {TYPE_FLOAT,  TYPE_DOUBLE, TYPE_INT8,    TYPE_INT32,
                                        TYPE_UINT16, TYPE_HALF,   TYPE_BFLOAT16};
    for (int t = 0; t < (int)(sizeof types / sizeof *types); t++) {
        ElementType type = types[t];
        const char *spelling = element_info[type].spelling;
        test_program(arena_printf(arena, "matmul 17x19x23 %s", spelling), program_matmul(arena, type, 17, 19, 23), NULL,
                     -9, 9, type != TYPE_BFLOAT16);
        test_program(arena_printf(arena, "matmul 1x2x500 %s", spelling), program_matmul(arena, type, 1, 2, 500), NULL,
                     -9, 9, type != TYPE_HALF && type != TYPE_BFLOAT16);
    }
    int64_t sizes[] = {5, 9, 7};
    test_program("matmul of run-time sizes", program_matmul(arena, TYPE_FLOAT, -1, -1, -1), sizes, 0, 0, true);
    int64_t none[] = {3, 0, 4};
    test_program("matmul without terms", program_matmul(arena, TYPE_FLOAT, -1, -1, -1), none, 0, 0, false);
    int64_t empty[] = {0, 3, 4};
    test_program("matmul without elements", program_matmul(arena, TYPE_FLOAT, -1, -1, -1), empty, 0, 0, false);
    test_program("accumulate", program_accumulate(arena, TYPE_FLOAT, 6, 7, 8), NULL, 0, 0, true);
    test_program("transpose", program_transpose(arena, TYPE_INT16, 33, 12), NULL, -9, 9, false);
    test_program("row sum", program_row_sum(arena, TYPE_FLOAT, 3, 1000), NULL, 0, 0, true);
    test_program("softmax", program_softmax(arena, 3, 20), NULL, 0, 0, true);
    test_program("blur", program_blur(arena, TYPE_FLOAT, 300), NULL, 0, 0, false);
    test_program("embed", program_embed(arena, 10, 5, 4, 6), NULL, 0, 9, false);
    ConvShape shape = {2, 3, 11, 9, 4, 3, 3, 2, 1, 1};
    test_program("conv2d", program_conv2d(arena, TYPE_FLOAT, shape), NULL, 0, 0, true);
    test_program("conv2d of int32", program_conv2d(arena, TYPE_INT32, shape), NULL, -99, 99, true);
    test_program("conv, bias, relu", program_conv_chain(arena, TYPE_FLOAT, shape), NULL, 0, 0, false);
}

/* --- requirements and initial contents --- */

static void test_requirements(Arena *arena) {
    Program *program = program_embed(arena, 10, 5, 4, 6);
    Trial trial = begin_trial(program, NULL, 3, 0, 9);
    int status = -1;
    const char *why = NULL;
    ((int32_t *)trial.arguments[1])[23] = 10;
    Interpreter *interpreter = interpreter_new(program, NULL, trial.arguments, &status, &why);
    ok(interpreter == NULL, "an index outside its table is refused");
    is_int(status, STATUS_BAD_INDEX, "its status");
    is_text(why, "0 <= ids(b, l) < V, but not for b = 3, l = 5, where ids is 10", "its reason");
    interpreter_free(interpreter);
    end_trial(&trial);
}

static void test_initial_stays(Arena *arena) {
    Program *program = program_accumulate(arena, TYPE_INT32, 3, 4, 5);
    Trial trial = begin_trial(program, NULL, 3, 0, 9);
    Interpreter *interpreter = new_interpreter(&trial);
    int32_t found[12], again[12];
    interpreter_tensor(interpreter, program->arguments[2].tensor, found);
    interpreter_tensor(interpreter, program->arguments[2].tensor, again);
    ok(memcmp(found, again, sizeof found) == 0, "evaluating again gives the same");
    int32_t sum = ((int32_t *)trial.arguments[2])[0];
    for (int k = 0; k < 5; k++)
        sum += ((int32_t *)trial.arguments[0])[k] * ((int32_t *)trial.arguments[1])[4 * k];
    is_int(found[0], sum, "the initial contents are the first term");
    interpreter_free(interpreter);
    end_trial(&trial);
}

/* --- sampled checks --- */

static void test_large(Arena *arena) {
    enum { SIZE = 700 };
    Program *program = program_matmul(arena, TYPE_FLOAT, SIZE, SIZE, SIZE);
    Trial trial = begin_trial(program, NULL, 5, 0, 0);
    const float *A = trial.arguments[0], *B = trial.arguments[1];
    float *C = trial.arguments[2];
    memset(C, 0, sizeof(float) * SIZE * SIZE);
    for (int i = 0; i < SIZE; i++)
        for (int k = 0; k < SIZE; k++)
            for (int j = 0; j < SIZE; j++)
                C[i * SIZE + j] += A[i * SIZE + k] * B[k * SIZE + j];
    Interpreter *interpreter = new_interpreter(&trial);
    Mismatch first;
    is_int(interpreter_check(interpreter, 2, C, 0, 7, &first), 0, "a large product is right where it is looked at");
    for (int i = SIZE - SIZE % 16; i < SIZE; i++)
        for (int j = 0; j < SIZE; j++)
            C[i * SIZE + j] += 0.01f;
    ok(interpreter_check(interpreter, 2, C, 0, 7, &first) > 3, "a wrong tail of a tile is found");
    ok(first.index[0] >= SIZE - SIZE % 16, "and where it is");
    interpreter_free(interpreter);
    end_trial(&trial);
}

/* --- bounds of comparisons, casts and functions --- */

/* Y(i) = value, X a float input of 4 elements and x its read. */
static Program *elementwise(Arena *arena, Expr *(*make)(Arena *arena, Expr *x), ElementType type) {
    ProgramBuilder b = program_begin(arena, "elementwise");
    Expr *four = expr_int(arena, 4);
    Tensor *X = program_tensor(&b, ROLE_INPUT, TYPE_FLOAT, "X", 1, four);
    Tensor *Y = program_tensor(&b, ROLE_OUTPUT, type, "Y", 1, four);
    Var *i = program_index(&b, "i", four, false);
    program_stage(&b, Y, COMBINE_NONE, NULL, make(arena, program_read(&b, X, NULL, expr_var(arena, i))), 1, 0, i);
    return program_end(&b);
}

static Expr *real(Arena *arena, double value) {
    return expr_constant(arena, TYPE_FLOAT, value);
}

static Expr *third_is_one(Arena *arena, Expr *x) { /* x / 3 >= 1 ? x : 0 */
    Expr *third = expr_binary(arena, OP_DIV, x, real(arena, 3));
    return expr_select(arena, expr_binary(arena, OP_GE, third, real(arena, 1)), x, real(arena, 0));
}

static Expr *exponential(Arena *arena, Expr *x) {
    return expr_unary(arena, OP_EXP, expr_binary(arena, OP_MUL, x, real(arena, 10)));
}

static Expr *truncated(Arena *arena, Expr *x) {
    return expr_cast(arena, TYPE_INT32, expr_binary(arena, OP_MUL, x, real(arena, 10)));
}

static Expr *plain_copy(Arena *arena, Expr *x) {
    return x;
}

static Expr *nan_max(Arena *arena, Expr *x) {
    return expr_binary(arena, OP_MAX, x, real(arena, 0));
}

static Evaluated evaluate_at(Arena *arena, Expr *(*make)(Arena *arena, Expr *x), ElementType type, float x) {
    Program *program = elementwise(arena, make, type);
    float input[4] = {x, x, x, x}, output[4];
    void *arguments[] = {input, output};
    int64_t index = 2;
    Interpreter *interpreter = interpreter_new(program, NULL, arguments, NULL, NULL);
    Evaluated result = interpreter_element(interpreter, program->arguments[1].tensor, &index);
    interpreter_free(interpreter);
    return result;
}

static void test_bounds(Arena *arena) {
    Evaluated e = evaluate_at(arena, third_is_one, TYPE_FLOAT, 3);
    ok(evaluated_matches(&e, (Value){.type = TYPE_FLOAT, .real = 0}),
       "at a comparison's edge the other branch is right too");
    e = evaluate_at(arena, third_is_one, TYPE_FLOAT, 3.001f);
    ok(!evaluated_matches(&e, (Value){.type = TYPE_FLOAT, .real = 0}), "beside it, it is wrong");
    e = evaluate_at(arena, exponential, TYPE_FLOAT, 3);
    ok(e.bound > 0 && e.bound < 1e-4 * e.value.real, "exp passes its operand's error on");
    ok(e.bound > 30 * 0x1p-24 * e.value.real, "by its derivative");
    e = evaluate_at(arena, truncated, TYPE_INT32, 0.3f);
    is_int(e.value.integer, 3, "a cast truncates");
    ok(evaluated_matches(&e, (Value){.type = TYPE_INT32, .integer = 2}), "and may step where its operand may");
    e = evaluate_at(arena, truncated, TYPE_INT32, 0.35f);
    ok(!evaluated_matches(&e, (Value){.type = TYPE_INT32, .integer = 2}), "but not elsewhere");
    e = evaluate_at(arena, plain_copy, TYPE_FLOAT, 0.3f);
    ok(e.bound == 0, "a copy is exact");
    e = evaluate_at(arena, nan_max, TYPE_FLOAT, NAN);
    ok(isnan(e.value.real) && evaluated_matches(&e, (Value){.type = TYPE_FLOAT, .real = NAN}) &&
           !evaluated_matches(&e, (Value){.type = TYPE_FLOAT, .real = 0}),
       "NaN goes through max");
    e = evaluate_at(arena, plain_copy, TYPE_FLOAT, INFINITY);
    ok(evaluated_matches(&e, (Value){.type = TYPE_FLOAT, .real = INFINITY}) &&
           !evaluated_matches(&e, (Value){.type = TYPE_FLOAT, .real = -INFINITY}),
       "infinities by their sign");
}

/* P() *=! X(r_i): what the product of four factors may be in another order. */
static Evaluated product_of(Arena *arena, const float *factors) {
    ProgramBuilder b = program_begin(arena, "product");
    Tensor *X = program_tensor(&b, ROLE_INPUT, TYPE_FLOAT, "X", 1, expr_int(arena, 4));
    Tensor *P = program_tensor(&b, ROLE_OUTPUT, TYPE_FLOAT, "P", 0);
    Var *r = program_index(&b, "r_i", expr_int(arena, 4), true);
    program_stage(&b, P, COMBINE_MUL, NULL, program_read(&b, X, NULL, expr_var(arena, r)), 0, 1, r);
    Program *program = program_end(&b);
    void *arguments[] = {(void *)factors, NULL};
    Interpreter *interpreter = interpreter_new(program, NULL, arguments, NULL, NULL);
    Evaluated result = interpreter_element(interpreter, P, NULL);
    interpreter_free(interpreter);
    return result;
}

static void test_products(Arena *arena) {
    Evaluated e = product_of(arena, (float[]){1e30f, 1e30f, 1e-30f, 0});
    ok(evaluated_matches(&e, (Value){.type = TYPE_FLOAT, .real = 0}), "a product that overflows on the way need not");
    e = product_of(arena, (float[]){1e-30f, 1e-30f, 1e30f, 3});
    ok(evaluated_matches(&e, (Value){.type = TYPE_FLOAT, .real = 3e-30f}), "nor need one that underflows");
    e = product_of(arena, (float[]){0.5f, 3, -7, 1.1f});
    ok(!evaluated_matches(&e, (Value){.type = TYPE_FLOAT, .real = e.value.real * 1.00001}), "any other is what it is");
    ok(evaluated_matches(&e, (Value){.type = TYPE_FLOAT, .real = 0.5f * (3.0f * (-7.0f * 1.1f))}), "in each order");
}

/* best(), at() = the largest of five values and where it is; claims: those of the combiner. */
static Evaluated place_of_largest(Arena *arena, const char *claims, const float *values) {
    const char *text = arena_printf(arena,
                                    "combiner largest(float v, int32 i; float w, int32 j) %s identity (-inf, -1) {\n"
                                    "(v > w || v == w && i < j) ? (v, i) : (w, j) }\n"
                                    "def f(float(5) X) -> (best, at) { best(), at() largest=! (X(r), r) }\n",
                                    claims);
    Program *program = program_of_text(arena, text, NULL, 0);
    void *arguments[] = {(void *)values, NULL, NULL};
    Interpreter *interpreter = interpreter_new(program, NULL, arguments, NULL, NULL);
    Evaluated result = interpreter_element(interpreter, program->arguments[2].tensor, NULL);
    interpreter_free(interpreter);
    return result;
}

/* Comparisons do not order NaN: another order of the terms may find another place. */
static void test_unordered(Arena *arena) {
    const char *any_order = "associative commutative", *in_order = "";
    Value second = {.type = TYPE_INT32, .integer = 1}, last = {.type = TYPE_INT32, .integer = 4};
    Evaluated e = place_of_largest(arena, any_order, (float[]){1, 7, 3, 7, 2});
    ok(evaluated_matches(&e, second) && !evaluated_matches(&e, last), "numbers have one place of the largest");
    e = place_of_largest(arena, any_order, (float[]){1, 7, NAN, 3, 5});
    is_int(e.value.integer, 4, "in source order, what was before NaN is lost");
    ok(evaluated_matches(&e, second) && evaluated_matches(&e, last), "any order may be that of the object");
    e = place_of_largest(arena, in_order, (float[]){1, 7, NAN, 3, 5});
    ok(evaluated_matches(&e, last) && !evaluated_matches(&e, second), "but not where the combiner claims nothing");
}

/* A strict program's sums are right in source order alone, to the last bit. */
static void test_strict(Arena *arena) {
    Program *program = program_matmul(arena, TYPE_FLOAT, 3, 5, 100);
    program->strict = true;
    Trial trial = begin_trial(program, NULL, 9, 0, 0);
    Interpreter *interpreter = new_interpreter(&trial);
    void *same = plain_output(&trial, ORDER_SOURCE), *other = plain_output(&trial, ORDER_REVERSED);
    is_int(interpreter_check(interpreter, 2, same, 0, 1, NULL), 0, "strict: the source's order is right");
    ok(interpreter_check(interpreter, 2, other, 0, 1, NULL) > 5, "strict: another is not");
    free(same);
    free(other);
    interpreter_free(interpreter);
    end_trial(&trial);
}

enum { TERMS_OF_ROW = 10, COLUMNS = 7 };

/* What it takes to check the indices of rows of a sparse matrix, and to compute the last output. */
static double operations_of_rows(Arena *arena, const char *def, int64_t rows) {
    int64_t terms = rows * TERMS_OF_ROW, sizes[] = {terms, rows + 1, COLUMNS};
    float *value = calloc((size_t)terms, sizeof *value), x[COLUMNS] = {1, 2, 3};
    int32_t *column = calloc((size_t)terms, sizeof *column), *row = calloc((size_t)rows + 1, sizeof *row);
    for (int64_t p = 0; p < terms; p++)
        value[p] = (float)(p % 5), column[p] = (int32_t)(p % COLUMNS);
    for (int64_t i = 0; i <= rows; i++)
        row[i] = (int32_t)(i * TERMS_OF_ROW);
    Program *program = program_of_text(arena, def, NULL, 0);
    Interpreter *interpreter =
        interpreter_new(program, sizes, (void *[]){value, column, row, x, NULL, NULL}, NULL, NULL);
    const Tensor *last = program->arguments[program->argument_count - 1].tensor;
    float *whole = calloc((size_t)(terms + COLUMNS), sizeof *whole);
    interpreter_tensor(interpreter, last, whole);
    double operations = interpreter->operations;
    interpreter_free(interpreter);
    free(value), free(column), free(row), free(whole);
    return operations;
}

/* Ten times as many rows of ten terms take ten times as many operations, whatever is made of the terms. */
static void test_rows(Arena *arena) {
#define SPARSE(outputs, statements)                                                                                    \
    "combiner largest(float v, int32 i; float w, int32 j) associative commutative identity (-inf, -1) {\n"             \
    "(v > w || v == w && i < j) ? (v, i) : (w, j) }\n"                                                                 \
    "def f(float(Z) value, int32(Z) column, int32(M1) row, float(N) x) -> (" outputs ") {\n" statements "\n}"
    static const struct {
        const char *name, *text;
    } defs[] = {
        {"scattered sums", SPARSE("float(N) y", "y(column(p)) +=! value(p) * x(0) * i where p in row(i):row(i + 1)")},
        {"sums", SPARSE("y", "y(i) +=! value(p) * x(column(p)) where p in row(i):row(i + 1)")},
        {"maxima", SPARSE("y", "y(i) max=! value(p) * x(column(p)) where row(i) <= p && p < row(i + 1), value(p) > 1")},
        {"places", SPARSE("y, k", "y(i), k(i) largest=! (value(p) * x(column(p)), p) where p in row(i):row(i + 1)")},
        {"ends in a temporary", SPARSE("y", "r(i) = row(i) * 1\n"
                                            "y(i) +=! value(p) * x(column(p)) where p in r(i):r(i + 1)")},
    };
    for (size_t d = 0; d < sizeof defs / sizeof *defs; d++) {
        double few = operations_of_rows(arena, defs[d].text, 200), many = operations_of_rows(arena, defs[d].text, 2000);
        ok(many < 15 * few, "%s: rows are walked from one end to the other (%g and %g operations)", defs[d].name, few,
           many);
    }
}

int main(void) {
    Arena *arena = arena_new();
    test_shapes(arena);
    test_requirements(arena);
    test_initial_stays(arena);
    test_large(arena);
    test_bounds(arena);
    test_products(arena);
    test_unordered(arena);
    test_strict(arena);
    test_rows(arena);
    arena_free(arena);
    return done_testing();
}
