/* float_functions.c - the functions that objects compute by sequences of their own, over all magnitudes of float,
 * against double: within 4 ulp, infinities, NaN and numbers below the smallest normal one included. Quotients by what
 * all lanes share, of random magnitudes: within 2 ulp, and right under -fstrict.
 *
 * FLOAT_STRIDE asks for every so many-th float in place of every 65521st.
 */
#include "lang/value.h"
#include "objects.h"
#include "schedules.h"
#include "tests/tap.h"

#include <dlfcn.h>
#include <stdlib.h>

enum { BATCH = 4096 };

static const Op functions[] = {OP_EXP, OP_EXP2, OP_EXPM1, OP_LOG,  OP_LOG1P, OP_LOG2, OP_LOG10, OP_TANH, OP_ERF,
                               OP_SIN, OP_COS,  OP_TAN,   OP_SQRT, OP_RSQRT, OP_POW,  OP_DIV,   OP_DIV};
enum { FUNCTIONS = sizeof functions / sizeof *functions, STRICT_DIVISION = FUNCTIONS - 1, ROW = 16 };

static float as_float(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint32_t random_bits(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 32);
}

static Kernel *kernel_of(Arena *arena, int f, const Target *target) {
    const char *name = op_info[functions[f]].libm;
    const char *call = op_info[functions[f]].arity == 2 ? "%s(X(i, j), B(i, j))" : "%s(X(i, j)) + 0.0 * B(i, j)";
    if (functions[f] == OP_DIV)
        call = "X(i, j) %s B(i, 0)";
    const char *format =
        arena_printf(arena, "def f%d(float(N, 16) X, float(N, 16) B) -> (Y) { Y(i, j) = %s }", f, call);
    if (!*name)
        name = functions[f] == OP_DIV ? "/" : "rsqrt";
    const char *text = arena_printf(arena, format, name);
    Program *program = program_of_text(arena, text, (struct Binding[]){{"N", BATCH / ROW}}, 1);
    PrimArg loop = {.kind = ARG_NAME, .name = "Y.j"};
    Prim vectorize = {.op = PRIM_VECTORIZE, .arg_count = 1, .args = &loop};
    Schedule schedule = {.count = 1, .prims = &vectorize};
    ExpandOptions options = {.strict = f == STRICT_DIVISION};
    return expand(arena, nest_build(arena, program, &schedule, NULL, target, NULL), &options);
}

/* In units of the last place of the wanted float; infinite where only one is a NaN or infinite. */
static double distance(double wanted, float found) {
    float nearest = (float)wanted;
    if (nearest == found || (isnan(wanted) && isnan(found)))
        return 0;
    if (isnan(wanted) || isnan(found))
        return INFINITY;
    bool overflow =
        fabs(wanted) > 0x1.fffff8p127 && fabsf(found) >= 0x1.fffff8p127f; /* the largest float or infinity */
    if (isinf(nearest) || isinf(found))
        return overflow ? 0 : INFINITY;
    int exponent = nearest == 0 ? -149 : ilogbf(nearest);
    return fabs(found - wanted) / ldexp(1, (exponent < -126 ? -126 : exponent) - 23);
}

typedef struct Worst {
    double distance;
    float x, b, found;
} Worst;

static void check_batch(Op op, const float *x, const float *b, const float *y, Worst *worst) {
    for (int i = 0; i < BATCH; i++) {
        Value operands[] = {{.type = TYPE_DOUBLE, .real = x[i]}, {.type = TYPE_DOUBLE, .real = b[i]}};
        double error = distance(value_apply(op, operands).real, y[i]);
        if (error > worst->distance)
            *worst = (Worst){error, x[i], b[i], y[i]};
    }
}

/* Divisors of whole rows: what has no reciprocal, or none that is a normal number, among random floats. */
static float random_divisor(uint64_t *state) {
    static const uint32_t kinds[][2] = {/* bits that stay, bits that are set */
                                        {0xffffffff, 0},          {0x80000000, 0},          {0x80000000, 0x7f800000},
                                        {0x807fffff, 0},          {0x800fffff, 0x00800000}, {0x800fffff, 0x7e800000},
                                        {0x800fffff, 0x7f000000}, {0x800000ff, 0},          {0x800fffff, 0x3f800000}};
    enum { KINDS = sizeof kinds / sizeof *kinds };
    const uint32_t *kind = kinds[random_bits(state) % KINDS];
    return as_float((random_bits(state) & kind[0]) | kind[1]);
}

/* Exponents for pow: random floats, whole numbers, and such that the result is a float. */
static float second_operand(Op op, float x, uint64_t *state) {
    uint32_t bits = random_bits(state);
    if (op != OP_POW)
        return 0;
    if (bits % 4 == 0)
        return as_float(random_bits(state));
    if (bits % 4 == 1)
        return (float)((int)(bits >> 8 & 63) - 32);
    return (float)((bits / 0x1p31 - 1) * 100 / (fabs(log(fabs(x))) + 1e-9));
}

static void test_function(int f, EntryFunction *entry, uint32_t stride, const char *target) {
    static float x[BATCH], b[BATCH], y[BATCH];
    Worst worst = {0};
    uint64_t state = 1;
    for (uint64_t first = 0; first < (uint64_t)1 << 32; first += (uint64_t)stride * BATCH) {
        for (int i = 0; i < BATCH; i++) {
            x[i] = as_float((uint32_t)(first + (uint64_t)i * stride));
            if (functions[f] == OP_DIV)
                b[i] = i % ROW ? b[i - 1] : random_divisor(&state);
            else
                b[i] = second_operand(functions[f], x[i], &state);
        }
        if (entry(NULL, (void *[]){x, b, y}) == STATUS_OK)
            check_batch(functions[f], x, b, y, &worst);
        else
            worst.distance = INFINITY;
    }
    double allowed = f == STRICT_DIVISION ? 0.5 : functions[f] == OP_DIV ? 2 : 4;
    const char *strict = f == STRICT_DIVISION ? ", -fstrict" : "";
    if (!ok(worst.distance <= allowed, "%s: %s%s", target, op_info[functions[f]].spelling, strict))
        diag_line("%.3f ulp at %a, %a: found %a", worst.distance, worst.x, worst.b, worst.found);
}

static void test_target(const char *folder, const char *name, uint32_t stride) {
    Arena *arena = arena_new();
    const Target *target = target_make(arena, name, 1);
    Kernel *kernels[FUNCTIONS];
    for (int f = 0; f < FUNCTIONS; f++)
        kernels[f] = kernel_of(arena, f, target);
    EmitOptions options = {.kind = EMIT_OBJECT, .pic = true, .candidate = true};
    void *library = load_kernels(folder, kernels, FUNCTIONS, target, &options);
    ok(library != NULL, "%s: an object", name);
    for (int f = 0; library && f < FUNCTIONS; f++)
        test_function(f, entry_of(library, arena_printf(arena, "f%d", f)), stride, name);
    if (library)
        dlclose(library);
    arena_free(arena);
}

int main(void) {
    uint32_t stride = getenv("FLOAT_STRIDE") ? (uint32_t)atoi(getenv("FLOAT_STRIDE")) : 65521;
    Arena *arena = arena_new();
    const char *folder = work_folder_make(arena);
    const Target *host = target_make(arena, "host", 1);
    test_target(folder, "host", stride);
    if (host && strcmp(host->family, "x86") == 0)
        test_target(folder, "x86-64", stride);
    else
        skip(1, "this processor is no x86");
    work_folder_remove(folder);
    arena_free(arena);
    return done_testing();
}
