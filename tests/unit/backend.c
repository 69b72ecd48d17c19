/* backend.c - objects of hand-made programs, linked by the C compiler, called in this process, against single values.
 *
 * Every operator and cast in every type, as scalars and as vectors of several lengths, on values that include each type's
 * limits, infinities and NaN.
 */
#include "backends/backends.h"
#include "lang/program.h"
#include "lang/value.h"
#include "tests/tap.h"
#include "tests/unit/nests.h"
#include "tests/unit/programs.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

typedef int EntryFunction(const int64_t *sizes, void *const *arguments);

static const char *work_folder;

/* --- objects --- */

static Kernel *kernel_of(Arena *arena, const Program *program, const Target *target, LoopKind innermost) {
    Nest *nest = nest_identity(arena, program, target);
    for (int i = 0; i < nest->stage_count; i++)
        nest->stages[i]->loops[nest->stages[i]->loop_count - 1]->kind = innermost;
    ExpandOptions options = {0};
    return expand(arena, nest, &options);
}

/* All kernels in one shared library, made by the C compiler as a user would. NULL when that fails. */
static void *load_kernels(Arena *arena, Kernel *const *kernels, int count, const Target *target, const EmitOptions *options) {
    size_t bytes;
    const char *why = NULL;
    char *object = emit_code(kernels, count, target, options, &bytes, &why);
    if (!object) {
        diag_line("emit_code: %s", why);
        return NULL;
    }
    const char *path = arena_printf(arena, "%s/k.o", work_folder), *library = arena_printf(arena, "%s/k.so", work_folder);
    bool written = write_whole(path, object, bytes);
    free(object);
    const char *compiler = getenv("CC");
    const char *command = arena_printf(arena, "%s -shared -o %s %s -fopenmp -lm", compiler ? compiler : "cc", library, path);
    if (!written || system(command) != 0)
        return NULL;
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        diag_line("%s", dlerror());
    unlink(library);
    return handle;
}

/* --- programs of one operation --- */

/* Y(i) = e(A(i), B(i), C(i)) for the operator, or the cast of A when op is OP_COUNT. */
static Program *operation_program(Arena *arena, const char *name, Op op, ElementType from, ElementType to, int64_t n) {
    ProgramBuilder b = program_begin(arena, name);
    Expr *extent = expr_int(arena, n), *args[3];
    int arity = op == OP_COUNT ? 1 : op_info[op].arity;
    static const char *const names[] = {"A", "B", "C"};
    Var *index = program_index(&b, "i", extent, false);
    for (int i = 0; i < arity; i++) {
        bool condition = (op == OP_SELECT && i == 0);
        Tensor *input = program_tensor(&b, ROLE_INPUT, condition ? TYPE_BOOL : from, names[i], 1, extent);
        args[i] = program_read(&b, input, NULL, expr_var(arena, index));
    }
    Tensor *output = program_tensor(&b, ROLE_OUTPUT, to, "Y", 1, extent);
    Expr *value = op == OP_COUNT ? expr_cast(arena, to, args[0]) : expr_op(arena, op, to, args, arity);
    program_stage(&b, output, COMBINE_NONE, NULL, value, 1, 0, index);
    return program_end(&b);
}

typedef struct Operation {
    Op op;
    ElementType from, to;
    int64_t n;
    LoopKind loop;
    Program *program;
} Operation;

typedef LIST(Operation) Operations;

static void add_operation(Arena *arena, Operations *list, Op op, ElementType from, ElementType to, int64_t n, LoopKind loop) {
    const char *name = arena_printf(arena, "f%d", list->count);
    Operation operation = {op, from, to, n, loop, operation_program(arena, name, op, from, to, n)};
    list_push(arena, list, operation);
}

/* --- values --- */

static int64_t random_at(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)(*state >> 11);
}

/* The values that break things, then random ones of all magnitudes. */
static Value interesting(ElementType type, int at, uint64_t *state) {
    static const double reals[] = {0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, INFINITY, -INFINITY, NAN, 65504, 65520, 1e-7,
                                   6e-8, 3e38, -3e38, 1e-45, 2147483648.0, -2147483649.0, 9.3e18, -9.3e18, 1.9e19, 255.5,
                                   -0.9, 127.9, 128, 0x1.01p0, 0x1.004p0, 0x1.0020000001p0, 1e300, -1e-300};
    enum { REALS = sizeof reals / sizeof *reals };
    Value value = {.type = type};
    if (type_is_float(type)) {
        double random = ldexp((double)random_at(state) / 0x1p52 - 1, (int)(random_at(state) % 40) - 20);
        value.real = value_round(type, at < REALS ? reals[at] : random);
        return value;
    }
    int64_t choices[] = {0, 1, -1, 2, -2, 3, integer_limit(type, true), integer_limit(type, false), 7, -7,
                         random_at(state) << (random_at(state) % 12), random_at(state) % 100 - 50};
    value.integer = value_wrap(type, choices[(size_t)(random_at(state) % 12)]);
    return value;
}

/* Relative to the result's digits: 0 for what is exact, 4 units in the last place of the type for the functions. */
static bool value_matches(Op op, Value wanted, Value found) {
    if (!type_is_float(wanted.type))
        return wanted.integer == found.integer;
    if (isnan(wanted.real) || isnan(found.real))
        return isnan(wanted.real) && isnan(found.real);
    if (wanted.real == found.real)
        return true;
    bool exact = op == OP_COUNT || op_info[op].class != CLASS_MATH;
    if (exact || isinf(wanted.real) != isinf(found.real))
        return false;
    double smallest = wanted.type == TYPE_DOUBLE ? 0x1p-1074 : wanted.type == TYPE_HALF ? 0x1p-24 : 0x1p-149;
    double unit = fmax(2 * type_roundoff(wanted.type) * fabs(wanted.real), smallest);
    return fabs(wanted.real - found.real) <= 4 * unit;
}

static void check_operation(EntryFunction *entry, const Operation *o, uint64_t seed) {
    int arity = o->op == OP_COUNT ? 1 : op_info[o->op].arity;
    uint8_t buffers[4][64 * 8];
    memset(buffers, 0xa5, sizeof buffers);
    void *arguments[4] = {buffers[0], buffers[1], buffers[2], buffers[3]};
    Value inputs[64][3];
    for (int64_t i = 0; i < o->n; i++)
        for (int a = 0; a < arity; a++) {
            ElementType type = o->op == OP_SELECT && a == 0 ? TYPE_BOOL : o->from;
            inputs[i][a] = interesting(type, a == 0 ? (int)i : (int)(i * 7 + 3 * a) % 80, &seed);
            value_store(inputs[i][a], buffers[a] + i * element_info[type].bytes);
        }
    arguments[arity] = buffers[3];
    int status = entry(NULL, arguments);
    int64_t wrong = status ? o->n : 0, first = 0;
    Value wanted, found;
    for (int64_t i = 0; i < o->n && !wrong; i++) {
        wanted = o->op == OP_COUNT ? value_cast(inputs[i][0], o->to) : value_apply(o->op, inputs[i]);
        found = value_load(o->to, buffers[3] + i * element_info[o->to].bytes);
        if (!value_matches(o->op, wanted, found)) {
            wrong++;
            first = i;
        }
    }
    uint8_t *end = buffers[3] + o->n * element_info[o->to].bytes;
    bool inside = end == buffers[3] + sizeof buffers[3] || *end == 0xa5;
    if (!ok(!wrong && inside, "%s %s of %s, %d %s", o->op == OP_COUNT ? "cast to" : op_info[o->op].name,
            element_info[o->to].spelling, element_info[o->from].spelling, (int)o->n, o->loop == LOOP_SERIAL ? "scalars" : "lanes") &&
        !status && inside)
        diag_line("element %d: inputs %.17g %.17g (%lld %lld), wanted %.17g (%lld), found %.17g (%lld)", (int)first,
                  inputs[first][0].real, inputs[first][1].real, (long long)inputs[first][0].integer,
                  (long long)inputs[first][1].integer, wanted.real, (long long)wanted.integer, found.real,
                  (long long)found.integer);
}

static bool op_has_type(Op op, ElementType type) {
    if (op == OP_LGAMMA || op == OP_TGAMMA || op_info[op].class == CLASS_BITWISE)
        return false;
    switch (op_info[op].class) {
    case CLASS_LOGIC:
        return type == TYPE_BOOL;
    case CLASS_MATH:
        return type_is_float(type);
    default:
        return true;
    }
}

static ElementType result_type(Op op, ElementType type) {
    return op_info[op].class == CLASS_COMPARE || op_info[op].class == CLASS_LOGIC ? TYPE_BOOL : type;
}

static void add_all(Arena *arena, Operations *list, int64_t n, LoopKind loop) {
    for (Op op = 0; op < OP_COUNT; op++)
        for (ElementType type = 0; type < TYPE_COUNT; type++)
            if (op_has_type(op, type))
                add_operation(arena, list, op, type, result_type(op, type), n, loop);
    for (ElementType from = 0; from < TYPE_COUNT; from++)
        for (ElementType to = 0; to < TYPE_COUNT; to++)
            if (from != to)
                add_operation(arena, list, OP_COUNT, from, to, n, loop);
}

static void test_operations(const char *target_name, int64_t n, LoopKind loop) {
    Arena *arena = arena_new();
    const Target *target = target_make(arena, target_name, 1);
    Operations list = {0};
    add_all(arena, &list, n, loop);
    Kernel **kernels = ARENA_ARRAY(arena, Kernel *, list.count);
    for (int i = 0; i < list.count; i++)
        kernels[i] = kernel_of(arena, list.items[i].program, target, loop);
    EmitOptions options = {.kind = EMIT_OBJECT, .pic = true, .candidate = true};
    void *library = load_kernels(arena, kernels, list.count, target, &options);
    if (ok(library != NULL, "%s: %d functions of %d elements in one object", target_name, list.count, (int)n)) {
        for (int i = 0; i < list.count; i++) {
            EntryFunction *entry = (EntryFunction *)dlsym(library, arena_printf(arena, "f%d_call", i));
            check_operation(entry, &list.items[i], (uint64_t)i + 1);
        }
        dlclose(library);
    }
    arena_free(arena);
}

int main(void) {
    char folder[] = "/tmp/backend-XXXXXX";
    work_folder = mkdtemp(folder);
    test_operations("host", 40, LOOP_SERIAL);
    test_operations("host", 16, LOOP_VECTORIZED);
    rmdir(folder);
    return done_testing();
}
