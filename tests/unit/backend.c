/* backend.c - every operator and cast in every type, in objects against single values: as scalars and as vectors of
 * several lengths, on values that include each type's limits, infinities and NaN; for several levels of x86, whose
 * objects are called in this process, and for aarch64, under qemu.
 */
#include "backends/backends.h"
#include "lang/machine.h"
#include "lang/program.h"
#include "lang/value.h"
#include "tests/tap.h"
#include "tests/unit/nests.h"
#include "tests/unit/objects.h"
#include "tests/unit/programs.h"

#include <dlfcn.h>
#include <stdlib.h>

/* --- objects --- */

static Kernel *kernel_of(Arena *arena, const Program *program, const Target *target, LoopKind innermost) {
    Nest *nest = nest_identity(arena, program, target);
    for (int i = 0; i < nest->stage_count; i++)
        nest->stages[i]->loops[nest->stages[i]->loop_count - 1]->kind = innermost;
    ExpandOptions options = {.verify_each = true};
    return expand(arena, nest, &options);
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

static void add_operation(Arena *arena, Operations *list, Op op, ElementType from, ElementType to, int64_t n,
                          LoopKind loop) {
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
    static const double reals[] = {0,
                                   -0.0,
                                   1,
                                   -1,
                                   0.5,
                                   -0.5,
                                   1.5,
                                   2.5,
                                   -2.5,
                                   INFINITY,
                                   -INFINITY,
                                   NAN,
                                   65504,
                                   65520,
                                   1e-7,
                                   6e-8,
                                   3e38,
                                   -3e38,
                                   1e-45,
                                   2147483648.0,
                                   -2147483649.0,
                                   9.3e18,
                                   -9.3e18,
                                   1.9e19,
                                   255.5,
                                   -0.9,
                                   127.9,
                                   128,
                                   0x1.01p0,
                                   0x1.004p0,
                                   0x1.0020000001p0,
                                   1e300,
                                   -1e-300};
    enum { REALS = sizeof reals / sizeof *reals };
    Value value = {.type = type};
    if (type_is_float(type)) {
        double random = ldexp((double)random_at(state) / 0x1p52 - 1, (int)(random_at(state) % 40) - 20);
        value.real = value_round(type, at < REALS ? reals[at] : random);
        return value;
    }
    int64_t choices[] = {0,
                         1,
                         -1,
                         2,
                         -2,
                         3,
                         integer_limit(type, true),
                         integer_limit(type, false),
                         7,
                         -7,
                         (int64_t)((uint64_t)random_at(state) << (random_at(state) % 12)),
                         random_at(state) % 100 - 50};
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

/* What one function gets and gives: three inputs, one output. */
enum { ELEMENTS = 64, ARGUMENTS = 4, OUTPUT = 3 };
typedef struct Buffers {
    uint8_t bytes[ARGUMENTS][ELEMENTS * 8];
} Buffers;

static const uint8_t UNTOUCHED = 0xa5;

static int arity_of(Op op) {
    return op == OP_COUNT ? 1 : op_info[op].arity;
}

static ElementType operand_type(const Operation *o, int operand) {
    return o->op == OP_SELECT && operand == 0 ? TYPE_BOOL : o->from;
}

static void fill_buffers(Buffers *buffers, const Operation *o, uint64_t seed) {
    memset(buffers, UNTOUCHED, sizeof *buffers);
    for (int64_t i = 0; i < o->n; i++)
        for (int a = 0; a < arity_of(o->op); a++) {
            ElementType type = operand_type(o, a);
            Value value = interesting(type, a == 0 ? (int)i : (int)(i * 7 + 3 * a) % 80, &seed);
            value_store(value, buffers->bytes[a] + i * element_info[type].bytes);
        }
}

static void load_operands(const Buffers *buffers, const Operation *o, int64_t i, Value *operands) {
    for (int a = 0; a < arity_of(o->op); a++) {
        ElementType type = operand_type(o, a);
        operands[a] = value_load(type, buffers->bytes[a] + i * element_info[type].bytes);
    }
}

/* The first element that is wrong, or -1. */
static int64_t first_wrong(const Buffers *buffers, const Operation *o) {
    for (int64_t i = 0; i < o->n; i++) {
        Value operands[3];
        load_operands(buffers, o, i, operands);
        Value wanted = o->op == OP_COUNT ? value_cast(operands[0], o->to) : value_apply(o->op, operands);
        Value found = value_load(o->to, buffers->bytes[OUTPUT] + i * element_info[o->to].bytes);
        if (!value_matches(o->op, wanted, found))
            return i;
    }
    return -1;
}

static void show_wrong(const Buffers *buffers, const Operation *o, int64_t i) {
    Value operands[3] = {{0}};
    load_operands(buffers, o, i, operands);
    Value wanted = o->op == OP_COUNT ? value_cast(operands[0], o->to) : value_apply(o->op, operands);
    Value found = value_load(o->to, buffers->bytes[OUTPUT] + i * element_info[o->to].bytes);
    for (int a = 0; a < arity_of(o->op); a++)
        diag_line("operand %d: %.17g or %lld", a, operands[a].real, (long long)operands[a].integer);
    diag_line("element %d: wanted %.17g or %lld, found %.17g or %lld", (int)i, wanted.real, (long long)wanted.integer,
              found.real, (long long)found.integer);
}

static void check_operation(const Buffers *buffers, const Operation *o, const char *target, int status) {
    int64_t wrong = status ? 0 : first_wrong(buffers, o), end = o->n * element_info[o->to].bytes;
    bool inside = end == sizeof buffers->bytes[OUTPUT] || buffers->bytes[OUTPUT][end] == UNTOUCHED;
    const char *name = o->op == OP_COUNT ? "cast" : op_info[o->op].name;
    if (!ok(wrong < 0 && inside, "%s: %s of %s to %s, %d %s", target, name, element_info[o->from].spelling,
            element_info[o->to].spelling, (int)o->n, o->loop == LOOP_SERIAL ? "scalars" : "lanes"))
        diag_line(inside ? "status %d" : "status %d, written beyond the end", status);
    if (wrong >= 0 && !status)
        show_wrong(buffers, o, wrong);
}

/* --- all of them --- */

static bool op_has_type(Op op, ElementType type) {
    switch (op_info[op].class) {
    case CLASS_LOGIC: return type == TYPE_BOOL;
    case CLASS_MATH: return type_is_float(type);
    default: return true;
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

static Kernel **kernels_of(Arena *arena, const Operations *list, const Target *target) {
    Kernel **kernels = ARENA_ARRAY(arena, Kernel *, list->count);
    for (int i = 0; i < list->count; i++)
        kernels[i] = kernel_of(arena, list->items[i].program, target, list->items[i].loop);
    return kernels;
}

static const EmitOptions emit_options = {.kind = EMIT_OBJECT, .pic = true, .candidate = true, .verify = true};

static void test_here(const char *folder, const char *target_name, int64_t n, LoopKind loop) {
    Arena *arena = arena_new();
    const Target *target = target_make(arena, target_name, 1);
    Operations list = {0};
    add_all(arena, &list, n, loop);
    void *library = load_kernels(folder, kernels_of(arena, &list, target), list.count, target, &emit_options);
    ok(library != NULL, "%s: %d functions of %d elements in one object", target_name, list.count, (int)n);
    for (int i = 0; library && i < list.count; i++) {
        const Operation *o = &list.items[i];
        Buffers buffers;
        fill_buffers(&buffers, o, (uint64_t)i + 1);
        void *arguments[ARGUMENTS] = {buffers.bytes[0], buffers.bytes[1], buffers.bytes[2], buffers.bytes[3]};
        arguments[arity_of(o->op)] = buffers.bytes[OUTPUT];
        int status = entry_of(library, o->program->symbol)(NULL, arguments);
        check_operation(&buffers, o, target_name, status);
    }
    if (library)
        unload_kernels(library);
    arena_free(arena);
}

/* --- elsewhere: a program that reads the buffers, calls each function, and writes them --- */

static bool write_runner(const char *path, const Operations *list) {
    FILE *file = fopen(path, "w");
    if (!file)
        return false;
    fprintf(file, "#include <stdint.h>\n#include <stdio.h>\ntypedef int F(const int64_t *, void *const *);\n");
    for (int i = 0; i < list->count; i++)
        fprintf(file, "F %s_call;\n", list->items[i].program->symbol);
    fprintf(file, "static const struct { F *f; int n; } t[] = {\n");
    for (int i = 0; i < list->count; i++)
        fprintf(file, "{%s_call, %d},\n", list->items[i].program->symbol, arity_of(list->items[i].op));
    fprintf(file, "};\nstatic unsigned char b[%d][%d];\n", ARGUMENTS, ELEMENTS * 8);
    fprintf(file, "int main(void) {\nfor (int i = 0; i < %d; i++) {\nvoid *a[] = {b[0], b[1], b[2], b[3]};\n",
            list->count);
    fprintf(file, "if (fread(b, sizeof b, 1, stdin) != 1) return 2;\na[t[i].n] = b[%d];\n", OUTPUT);
    fprintf(file, "if (t[i].f(0, a)) return 3;\nfwrite(b, sizeof b, 1, stdout);\n}\nreturn 0;\n}\n");
    return fclose(file) == 0;
}

static bool write_inputs(const char *path, const Operations *list) {
    FILE *file = fopen(path, "w");
    for (int i = 0; file && i < list->count; i++) {
        Buffers buffers;
        fill_buffers(&buffers, &list->items[i], (uint64_t)i + 1);
        fwrite(&buffers, sizeof buffers, 1, file);
    }
    return file && fclose(file) == 0;
}

static void check_outputs(const char *path, const Operations *list, const char *target) {
    FILE *file = fopen(path, "r");
    for (int i = 0; file && i < list->count; i++) {
        Buffers buffers;
        if (fread(&buffers, sizeof buffers, 1, file) == 1)
            check_operation(&buffers, &list->items[i], target, 0);
    }
    if (file)
        fclose(file);
}

static void test_elsewhere(const char *folder, const char *target_name, const char *compiler, const char *runner,
                           int64_t n, LoopKind loop) {
    Arena *arena = arena_new();
    const Target *target = target_make(arena, target_name, 1);
    Operations list = {0};
    add_all(arena, &list, n, loop);
    char *object = arena_printf(arena, "%s/k.o", folder), *source = arena_printf(arena, "%s/r.c", folder);
    char *input = arena_printf(arena, "%s/in", folder), *output = arena_printf(arena, "%s/out", folder);
    const char *build = arena_printf(arena, "%s -o %s/r %s %s -lm", compiler, folder, source, object);
    const char *run = arena_printf(arena, "%s %s/r <%s >%s", runner, folder, input, output);
    bool made = write_object(object, kernels_of(arena, &list, target), list.count, target, &emit_options);
    made = made && write_runner(source, &list) && write_inputs(input, &list) && system(build) == 0;
    if (ok(made, "%s: a program of %d functions of %d elements", target_name, list.count, (int)n) &&
        ok(system(run) == 0, "%s: runs", target_name))
        check_outputs(output, &list, target_name);
    arena_free(arena);
}

static void test_aarch64(const char *folder) {
    static const char compiler[] = "aarch64-linux-gnu-gcc", runner[] = "qemu-aarch64 -L /usr/aarch64-linux-gnu";
    if (!command_works("aarch64-linux-gnu-gcc --version") || !command_works("qemu-aarch64 --version")) {
        skip(1, "aarch64: needs aarch64-linux-gnu-gcc and qemu-aarch64");
        return;
    }
    test_elsewhere(folder, "aarch64", compiler, runner, 40, LOOP_SERIAL);
    test_elsewhere(folder, "aarch64", compiler, runner, 7, LOOP_VECTORIZED);
}

static double widest_slots(Arena *arena, const char *name) {
    return target_make(arena, name, 1)->machine->widest_slots;
}

int main(void) {
    static const char *const levels[] = {"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"};
    Arena *arena = arena_new();
    const char *folder = work_folder_make(arena);
    ok(widest_slots(arena, "znver4") == 2 && widest_slots(arena, "sapphirerapids") == 1 &&
           widest_slots(arena, "znver3") == 1 && widest_slots(arena, "znver5") == 1 &&
           widest_slots(arena, "x86-64-v4") == 1,
       "of processors with AVX-512 znver4 works on halves");
    test_here(folder, "host", 40, LOOP_SERIAL);
    test_here(folder, "host", 13, LOOP_VECTORIZED);
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        const Target *level = target_make(arena, levels[i], 1);
        if (level->host)
            test_here(folder, levels[i], i % 2 ? 7 : 16, LOOP_VECTORIZED);
        else
            skip(1, "this processor does not run that level of x86");
    }
    test_aarch64(folder);
    work_folder_remove(folder);
    arena_free(arena);
    return done_testing();
}
