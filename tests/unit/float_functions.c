/* float_functions.c - the functions that objects compute by sequences of their own, over all magnitudes of float and
 * double, against long double: within 4 ulp, infinities, NaN and numbers below the smallest normal one included.
 * Quotients by what all lanes share, of random magnitudes: within 2 ulp, and right under -fstrict.
 *
 * FLOAT_STRIDE asks for every so many-th float in place of every 65521st, and for the worst of each function;
 * FLOAT_ONLY for one function alone.
 */
#include "lang/value.h"
#include "objects.h"
#include "schedules.h"
#include "tests/tap.h"

#include <dlfcn.h>
#include <float.h>
#include <stdlib.h>

enum { BATCH = 4096, ROW = 16 };

typedef struct Subject {
    Op op;
    bool wide, strict; /* of double; under -fstrict */
} Subject;

static long double rsqrt_of(long double x) {
    return 1 / sqrtl(x);
}

/* Those of the C library with more digits than a double has. */
typedef struct Precise {
    bool own; /* a sequence of its own, not an instruction or a call */
    long double (*of_1)(long double);
    long double (*of_2)(long double, long double);
    long double (*of_3)(long double, long double, long double);
} Precise;
static const Precise precise[OP_COUNT] = {
#define NONEl rsqrt_of
#define OWN(...) true
#define INTRINSIC(name) false
#define LIBRARY false
#define OPERATOR(...)
#define FUNCTION(id, spelling, arity, libm, exactness, code, numbers, vectors, between)                                \
    [OP_##id] = {.own = vectors, .of_##arity = libm##l},
#include "lang/ops.def"
#undef OPERATOR
#undef FUNCTION
};

enum { SUBJECTS_MOST = 2 * OP_COUNT };
static Subject subjects[SUBJECTS_MOST];
static int subject_count;

static void add_subject(Op op, bool wide, bool strict) {
    subjects[subject_count++] = (Subject){op, wide, strict};
}

static void list_subjects(void) {
    for (Op op = 0; op < OP_COUNT; op++)
        for (int wide = 0; wide < 2 && (precise[op].own || op == OP_SQRT); wide++)
            add_subject(op, wide, false);
    add_subject(OP_DIV, false, false);
    add_subject(OP_DIV, false, true);
}

static float as_float(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint32_t drawn_bits(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 32);
}

static double as_double(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static Kernel *kernel_of(Arena *arena, int f, const Target *target, int lanes) {
    Op op = subjects[f].op;
    const char *name = op_info[op].spelling;
    const char *call = op_info[op].arity == 2 ? "%s(X(i, j), B(i, j))" : "%s(X(i, j)) where exists B(i, j)";
    if (op == OP_DIV)
        call = "X(i, j) %s B(i, 0)";
    const char *type = subjects[f].wide ? "double" : "float";
    const char *format = arena_printf(arena, "def f%d(%s(N, %d) X, %s(N, %d) B) -> (Y) { Y(i, j) = %s }", f, type,
                                      lanes, type, lanes, call);
    const char *text = arena_printf(arena, format, name);
    Program *program = program_of_text(arena, text, (struct Binding[]){{"N", BATCH / lanes}}, 1);
    PrimArg loop = {.kind = ARG_NAME, .name = "Y.j"};
    Prim vectorize = {.op = PRIM_VECTORIZE, .arg_count = 1, .args = &loop};
    Schedule schedule = {.count = 1, .prims = &vectorize};
    ExpandOptions options = {.strict = subjects[f].strict, .verify_each = true};
    return expand(arena, nest_build(arena, program, &schedule, NULL, target, NULL), &options);
}

/* In units of the last place of the wanted number; infinite where only one is a NaN or infinite. */
static double distance(long double wanted, double found, bool wide) {
    double nearest = wide ? (double)wanted : (double)(float)wanted, largest = wide ? DBL_MAX : (double)FLT_MAX;
    int least = wide ? -1022 : -126, digits = wide ? 52 : 23;
    if (nearest == found || (isnan(wanted) && isnan(found)))
        return 0;
    if (isnan(wanted) || isnan(found))
        return INFINITY;
    long double close = largest * (1 - 4 * ldexpl(1, -digits));
    if (isinf(nearest) || isinf(found))
        return fabsl(wanted) > close && fabs(found) >= close && (found < 0) == (wanted < 0) ? 0 : INFINITY;
    int exponent = nearest == 0 ? least : ilogb(nearest);
    return (double)(fabsl(found - wanted) / ldexpl(1, (exponent < least ? least : exponent) - digits));
}

typedef struct Worst {
    double distance;
    double x, b, found;
} Worst;

static long double wanted_of(Op op, long double x, long double b) {
    return precise[op].of_1 ? precise[op].of_1(x) : precise[op].of_2 ? precise[op].of_2(x, b) : x / b;
}

/* Divisors of whole rows: what has no reciprocal, or none that is a normal number, among random floats. */
static float random_divisor(uint64_t *state) {
    static const uint32_t kinds[][2] = {/* bits that stay, bits that are set */
                                        {0xffffffff, 0},          {0x80000000, 0},          {0x80000000, 0x7f800000},
                                        {0x807fffff, 0},          {0x800fffff, 0x00800000}, {0x800fffff, 0x7e800000},
                                        {0x800fffff, 0x7f000000}, {0x800000ff, 0},          {0x800fffff, 0x3f800000}};
    enum { KINDS = sizeof kinds / sizeof *kinds };
    const uint32_t *kind = kinds[drawn_bits(state) % KINDS];
    return as_float((drawn_bits(state) & kind[0]) | kind[1]);
}

/* Exponents for pow: random floats, whole numbers, and such that the result is a float. The others: random floats
 * and such that are near x, or of its magnitude. */
static float second_operand(Op op, float x, uint64_t *state) {
    uint32_t bits = drawn_bits(state);
    if (op_info[op].arity < 2)
        return 0;
    if (bits % 4 == 0)
        return as_float(drawn_bits(state));
    float near_one = (float)(bits / 0x1p31 - 1);
    if (op != OP_POW)
        return bits % 4 == 1 ? x + near_one : x * near_one * 16;
    if (bits % 4 == 1)
        return (float)((int)(bits >> 8 & 63) - 32);
    return (float)((bits / 0x1p31 - 1) * 100 / (fabs(log(fabs(x))) + 1e-9));
}

typedef struct Batch {
    float x[BATCH], b[BATCH], y[BATCH];
    double wide_x[BATCH], wide_b[BATCH], wide_y[BATCH];
} Batch;

/* Numbers of 64 bits have the bits of those of 32, and random ones. */
static void fill_batch(Batch *batch, const Subject *subject, uint64_t first, uint32_t stride, uint64_t *state) {
    for (int i = 0; i < BATCH; i++) {
        uint32_t bits = (uint32_t)(first + (uint64_t)i * stride);
        batch->x[i] = as_float(bits);
        batch->wide_x[i] = i % 2 ? as_double((uint64_t)bits << 32 | drawn_bits(state)) : (double)batch->x[i];
        if (subject->op == OP_DIV)
            batch->b[i] = i % ROW ? batch->b[i - 1] : random_divisor(state);
        else
            batch->b[i] = second_operand(subject->op, subject->wide ? (float)batch->wide_x[i] : batch->x[i], state);
        batch->wide_b[i] = i % 3 ? batch->b[i] : batch->b[i] * 7.123456789012345; /* doubles have more room */
        if (isnan(batch->wide_x[i])) /* a signalling NaN is nobody's base */
            batch->wide_x[i] = NAN;
    }
}

static void check_batch(const Batch *batch, const Subject *subject, Worst *worst) {
    bool wide = subject->wide;
    for (int i = 0; i < BATCH; i++) {
        double x = wide ? batch->wide_x[i] : batch->x[i], b = wide ? batch->wide_b[i] : batch->b[i],
               y = wide ? batch->wide_y[i] : batch->y[i];
        double error = distance(wanted_of(subject->op, x, b), y, wide);
        if (error > worst->distance)
            *worst = (Worst){error, x, b, y};
    }
}

static bool run_batch(Batch *batch, const Subject *subject, EntryFunction *entry) {
    void *narrow[] = {batch->x, batch->b, batch->y}, *wide[] = {batch->wide_x, batch->wide_b, batch->wide_y};
    return entry(NULL, subject->wide ? wide : narrow) == STATUS_OK;
}

static void test_function(const Subject *subject, EntryFunction *entry, uint32_t stride, const char *target) {
    static Batch batch;
    Worst worst = {0};
    uint64_t state = 1;
    for (uint64_t first = 0; first < (uint64_t)1 << 32; first += (uint64_t)stride * BATCH) {
        fill_batch(&batch, subject, first, stride, &state);
        if (run_batch(&batch, subject, entry))
            check_batch(&batch, subject, &worst);
        else
            worst.distance = INFINITY;
    }
    double allowed = subject->strict ? 0.5 : subject->op == OP_DIV ? 2 : 4;
    if (!ok(worst.distance <= allowed, "%s: %s of %s%s", target, op_info[subject->op].spelling,
            subject->wide ? "double" : "float", subject->strict ? ", -fstrict" : ""))
        diag_line("%.3f ulp at %a, %a: found %a", worst.distance, worst.x, worst.b, worst.found);
    else if (getenv("FLOAT_STRIDE"))
        diag_line("%.3f ulp at %a, %a: found %a", worst.distance, worst.x, worst.b, worst.found);
}

/* --- exact results --- */

typedef struct Point {
    Op op;
    double x, b;
} Point;

/* Odd functions keep the sign of 0, roots and powers of what has them are these, quadrants are those of C. */
static const Point points[] = {
    {OP_SIN, -0.0, 0},
    {OP_TAN, -0.0, 0},
    {OP_ASIN, -0.0, 0},
    {OP_ATAN, -0.0, 0},
    {OP_SINH, -0.0, 0},
    {OP_TANH, -0.0, 0},
    {OP_ASINH, -0.0, 0},
    {OP_ATANH, -0.0, 0},
    {OP_CBRT, -0.0, 0},
    {OP_ERF, -0.0, 0},
    {OP_CBRT, 27, 0},
    {OP_CBRT, -64, 0},
    {OP_CBRT, 0x1p-99, 0},
    {OP_CBRT, 1331, 0},
    {OP_CBRT, 0.125, 0},
    {OP_CBRT, 12326391, 0},
    {OP_HYPOT, 3, 4},
    {OP_HYPOT, 0x5p120, 0xcp120},
    {OP_HYPOT, 0x3p-149, 0x4p-149},
    {OP_HYPOT, INFINITY, NAN},
    {OP_HYPOT, NAN, -INFINITY},
    {OP_HYPOT, -0.0, 0},
    {OP_ATAN2, 0, 0},
    {OP_ATAN2, -0.0, 0},
    {OP_ATAN2, 0, -0.0},
    {OP_ATAN2, -0.0, -0.0},
    {OP_ATAN2, -0.0, -2},
    {OP_ATAN2, 0, -2},
    {OP_ATAN2, -0.0, 2},
    {OP_ATAN2, 3, 0},
    {OP_ATAN2, -3, -0.0},
    {OP_ATAN2, INFINITY, INFINITY},
    {OP_ATAN2, -INFINITY, INFINITY},
    {OP_ATAN2, INFINITY, -INFINITY},
    {OP_ATAN2, 1, INFINITY},
    {OP_ATAN2, -1, INFINITY},
    {OP_ATAN2, 1, -INFINITY},
    {OP_ATAN2, -1, -INFINITY},
    {OP_ATAN2, INFINITY, 1},
    {OP_ATAN2, NAN, 1},
    {OP_ATAN2, 1, NAN},
    {OP_ATAN2, INFINITY, NAN},
    {OP_ATAN2, NAN, INFINITY},
    {OP_ATAN2, NAN, -INFINITY},
    {OP_EXPM1, -0.0, 0},
    {OP_LOG1P, -0.0, 0},
    {OP_ACOS, 1, 0},
    {OP_ACOSH, 1, 0},
    {OP_ACOSH, -3, 0},
    {OP_ACOSH, -INFINITY, 0},
    {OP_ATANH, 1, 0},
    {OP_ATANH, -1, 0},
    {OP_ATANH, 2, 0},
    {OP_ASIN, 1.5, 0},
    {OP_ACOS, -1.5, 0},
    {OP_COSH, 0, 0},
    {OP_COSH, -INFINITY, 0},
    {OP_SINH, -INFINITY, 0},
    {OP_ERFC, 0, 0},
    {OP_ERFC, INFINITY, 0},
    {OP_ERFC, -INFINITY, 0},
    {OP_LOG, 1, 0},
    {OP_LOG2, 8, 0},
    {OP_LOG10, 1, 0},
    {OP_EXP, 0, 0},
    {OP_EXP2, 10, 0},
    {OP_ASINH, -INFINITY, 0},
    {OP_ASINH, 0x1p-149, 0},
    {OP_SINH, 0x1p-149, 0},
    {OP_LOG1P, -1, 0},
    {OP_EXPM1, -INFINITY, 0},
    {OP_SIN, INFINITY, 0},
    {OP_COS, 0, 0},
};
enum { POINTS = sizeof points / sizeof *points };

static bool is_exact(const Point *point, double found, bool wide) {
    long double wanted = wanted_of(point->op, point->x, point->b);
    double nearest = wide ? (double)wanted : (double)(float)wanted;
    return isnan(nearest) ? isnan(found) : nearest == found && !signbit(nearest) == !signbit(found);
}

static void test_points(const Subject *subject, EntryFunction *entry, const char *target) {
    static Batch batch;
    int wrong = 0, count = 0;
    for (int i = 0; i < POINTS; i++) {
        batch.x[i] = (float)(batch.wide_x[i] = points[i].x);
        batch.b[i] = (float)(batch.wide_b[i] = points[i].b);
    }
    bool ran = run_batch(&batch, subject, entry);
    for (int i = 0; i < POINTS && ran; i++) {
        double found = subject->wide ? batch.wide_y[i] : batch.y[i];
        if (points[i].op != subject->op || ++count == 0 || is_exact(&points[i], found, subject->wide))
            continue;
        wrong++;
        diag_line("%a, %a: found %a", points[i].x, points[i].b, found);
    }
    if (count)
        ok(ran && wrong == 0, "%s: %s of %s, exactly", target, op_info[subject->op].spelling,
           subject->wide ? "double" : "float");
}

/* lanes: of a vector, at most those of a row of divisors. */
static void test_target(const char *folder, const char *name, int lanes, uint32_t stride) {
    Arena *arena = arena_new();
    const Target *target = target_make(arena, name, 1);
    Kernel *kernels[SUBJECTS_MOST];
    for (int f = 0; f < subject_count; f++)
        kernels[f] = kernel_of(arena, f, target, lanes);
    EmitOptions options = {.kind = EMIT_OBJECT, .pic = true, .candidate = true};
    const char *shown = arena_printf(arena, "%s, %d lanes", name, lanes);
    void *library = load_kernels(folder, kernels, subject_count, target, &options);
    ok(library != NULL, "%s: an object", shown);
    const char *only = getenv("FLOAT_ONLY");
    for (int f = 0; library && f < subject_count; f++)
        if (!only || strcmp(only, op_info[subjects[f].op].spelling) == 0) {
            EntryFunction *entry = entry_of(library, arena_printf(arena, "f%d", f));
            test_function(&subjects[f], entry, stride, shown);
            test_points(&subjects[f], entry, shown);
        }
    if (library)
        unload_kernels(library);
    arena_free(arena);
}

int main(void) {
    uint32_t stride = getenv("FLOAT_STRIDE") ? (uint32_t)atoi(getenv("FLOAT_STRIDE")) : 65521;
    Arena *arena = arena_new();
    const char *folder = work_folder_make(arena);
    list_subjects();
    test_target(folder, "host", ROW, stride);
    test_target(folder, "host", 4, stride);
    static const char *const rows[] = {"x86-64", "x86-64-v3"};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (target_make(arena, rows[i], 1)->host)
            test_target(folder, rows[i], ROW, stride);
        else
            skip(1, "this machine does not run that level of x86");
    work_folder_remove(folder);
    arena_free(arena);
    return done_testing();
}
