/* instr.c - checks that hardware instructions do what the source says they mean.
 *
 * An instruction is compiled alone before a schedule that uses it. The program is its meaning, and the instruction runs
 * the whole nest. If it does not compile, the error names the place of the instruction. If this machine has the
 * instruction, it runs in a worker on random and on extreme values, and the interpreter gives the correct results.
 * Integers must be equal, floats within the bounds of every result. (The values are far from the smallest numbers,
 * which such instructions may treat as 0.) A call that traps or does not return is an error too. Each instruction is
 * checked once in a compilation.
 */
#include "lower/instr/instr.h"
#include "driver/driver.h"
#include "lang/random.h"
#include "lang/terminal.h"
#include "sema/interpreter.h"
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 12, LIMIT_SECONDS = 5 };

typedef struct InstrCheck {
    Compilation *c;
    const Instr *instr;
    const Target *target;
    const Program *program;
    void **inputs, **outputs; /* by argument of the program */
    Random random;
} InstrCheck;

/* --- the instruction alone --- */

/* tensorize(ACC.i, NAME) for the outermost loop. */
static Schedule *whole_schedule(InstrCheck *check) {
    Arena *arena = check->c->arena;
    Schedule *schedule = ARENA_NEW(arena, Schedule);
    Prim *prim = ARENA_NEW(arena, Prim);
    const Stage *stage = check->program->stages[check->program->stage_count - 1];
    const Var *first = stage->axis_count ? stage->axes[0] : stage->reductions[0];
    *prim = (Prim){.op = PRIM_TENSORIZE, .arg_count = 2, .args = ARENA_ARRAY(arena, PrimArg, 2)};
    prim->args[0] = arg_name(arena_printf(arena, "%s.%s", stage->name, first->name));
    prim->args[1] = arg_name(check->instr->name);
    *schedule = (Schedule){.subject = check->program->name, .count = 1, .prims = prim};
    return schedule;
}

static char *emit(InstrCheck *check, const Nest *nest, size_t *bytes, const char **why) {
    Kernel *kernel = expand(check->c->arena, nest, NULL);
    EmitOptions options = {.kind = EMIT_OBJECT, .pic = true, .candidate = true, .producer = "tensorc"};
    return backend_of(check->target)->emit(&kernel, 1, check->target, &options, bytes, why);
}

/* LLVM ends the process if the processor lacks the instruction, so a child process tries it. */
static bool ends_well(InstrCheck *check, const Nest *nest) {
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        size_t bytes;
        const char *why;
        int nowhere = open("/dev/null", O_WRONLY);
        dup2(nowhere, STDERR_FILENO);
        free(emit(check, nest, &bytes, &why));
        _exit(0);
    }
    int status = 0;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    return child < 0 || (WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static char *make_object(InstrCheck *check, size_t *bytes) {
    const char *why = backend_lacks(check->c->arena, backend_of(check->target), CAN_INSTRS);
    if (why) {
        diag(check->c->diagnostics, DIAG_instr_body, check->instr->loc, why);
        return NULL;
    }
    NestError error = {0};
    Nest *nest = nest_build(check->c->arena, check->program, whole_schedule(check), NULL, check->target, &error);
    char *object = NULL;
    if (!nest)
        why = error.rule;
    else if (ends_well(check, nest))
        object = emit(check, nest, bytes, &why);
    else
        why = arena_printf(check->c->arena, "%s has no instruction for it; are all features there that it needs?",
                           check->target->name);
    if (!object)
        diag(check->c->diagnostics, DIAG_instr_body, check->instr->loc, why);
    return object;
}

/* --- values --- */

/* Integers with any bits; floats of many magnitudes, none near the ends of their range. */
static Value random_value(InstrCheck *check, ElementType type) {
    uint64_t bits = random_bits(&check->random);
    if (!type_is_float(type))
        return value_cast((Value){.type = TYPE_INT64, .integer = (int64_t)bits}, type);
    double mantissa = 1 + (double)(bits >> 12) * 0x1p-52;
    int range = type == TYPE_HALF ? 3 : 20, exponent = (int)(bits >> 2 & 1023) % (2 * range + 1) - range;
    return value_cast((Value){.type = TYPE_DOUBLE, .real = ldexp(bits & 1 ? -mantissa : mantissa, exponent)}, type);
}

/* The smallest, the largest, 0 and its neighbours. */
static Value extreme_value(InstrCheck *check, ElementType type, unsigned which) {
    if (type_is_float(type)) {
        static const double reals[] = {-0x1p4, 0x1p4, 0, 1, -1, 0x1.8p0};
        return value_cast((Value){.type = TYPE_DOUBLE, .real = reals[which % 6]}, type);
    }
    int64_t integers[] = {integer_limit(type, false), integer_limit(type, true), 0, 1, -1, 2};
    return value_cast((Value){.type = TYPE_INT64, .integer = integers[which % 6]}, type);
}

/* The first rounds have all operands at one end, then at different ends, then mixed extremes. Later rounds are
 * random. */
static Value value_for(InstrCheck *check, int round, int argument, ElementType type) {
    if (round < 4)
        return extreme_value(check, type, (unsigned)(round >> (argument & 1)) & 1);
    if (round < 7)
        return extreme_value(check, type, (unsigned)(random_bits(&check->random) >> 33));
    return random_value(check, type);
}

static int64_t elements_of(const InstrCheck *check, int argument) {
    return tensor_elements(check->program->arguments[argument].tensor);
}

static void fill(InstrCheck *check, int round) {
    for (int i = 0; i < check->program->argument_count; i++) {
        ElementType type = check->program->arguments[i].tensor->type;
        for (int64_t e = 0; e < elements_of(check, i); e++)
            value_store(value_for(check, round, i, type), (char *)check->inputs[i] + e * element_info[type].bytes);
    }
}

static void make_buffers(InstrCheck *check) {
    int count = check->program->argument_count;
    check->inputs = ARENA_ARRAY(check->c->arena, void *, count);
    check->outputs = ARENA_ARRAY(check->c->arena, void *, count);
    for (int i = 0; i < count; i++) {
        const Tensor *tensor = check->program->arguments[i].tensor;
        size_t bytes = (size_t)(elements_of(check, i) * element_info[tensor->type].bytes);
        check->inputs[i] = arena_alloc(check->c->arena, bytes);
        if (tensor->role == ROLE_OUTPUT)
            check->outputs[i] = arena_alloc(check->c->arena, bytes);
    }
}

/* --- comparing --- */

/* The elements of an operand that one result is made of: "a(3, 0) = 7, a(3, 1) = 255". */
static void add_operand(InstrCheck *check, Text *text, int argument, const Mismatch *wrong) {
    const Tensor *tensor = check->program->arguments[argument].tensor;
    const Stage *stage = check->program->stages[check->program->stage_count - 1];
    int operand = (argument + 1) % check->program->argument_count;
    for (int64_t e = 0; e < elements_of(check, argument); e++) {
        int64_t index[16], rest = e;
        bool concerned = true;
        for (int d = tensor->rank - 1; d >= 0; d--) {
            int64_t extent = 1;
            expr_is_int(tensor->dims[d], &extent);
            index[d] = rest % extent;
            rest /= extent;
            for (int a = 0; a < stage->axis_count; a++)
                if (instr_index(check->instr, instr_operand_index(check->instr, operand, d)) == stage->axes[a])
                    concerned &= index[d] == wrong->index[a];
        }
        if (!concerned)
            continue;
        Value value = value_load(tensor->type, (char *)check->inputs[argument] + e * element_info[tensor->type].bytes);
        text_add(text, "%s%s(", text->length ? ", " : "", tensor->name);
        for (int d = 0; d < tensor->rank; d++)
            text_add(text, "%s%lld", d ? ", " : "", (long long)index[d]);
        text_add(text, type_is_float(value.type) ? ") = %.9g" : ") = %.0f",
                 type_is_float(value.type) ? value.real : (double)value.integer);
    }
}

static void report_mismatch(InstrCheck *check, const Mismatch *wrong) {
    Text index = {.arena = check->c->arena}, operands = {.arena = check->c->arena};
    for (int d = 0; d < wrong->tensor->rank; d++)
        text_add(&index, "%s%lld", d ? ", " : "", (long long)wrong->index[d]);
    diag(check->c->diagnostics, DIAG_instr_wrong, check->instr->loc, check->instr->name, wrong->tensor->name,
         index.text ? index.text : "", wrong->found, wrong->expected);
    for (int i = 0; i < check->program->argument_count - !instr_accumulates(check->instr); i++)
        add_operand(check, &operands, i, wrong);
    diag_note(check->c->diagnostics, (Loc){0}, "with %s", operands.text);
}

static bool compare(InstrCheck *check) {
    int status = 0, output = check->program->argument_count - 1;
    const char *why = "";
    Interpreter *interpreter = interpreter_new(check->program, NULL, check->inputs, &status, &why);
    if (!interpreter)
        INTERNAL_ERROR("the meaning of %s cannot be evaluated: %s", check->instr->name, why);
    Mismatch wrong;
    int64_t count = interpreter_check(interpreter, output, check->outputs[output], 0, 1, &wrong);
    interpreter_free(interpreter);
    if (count)
        report_mismatch(check, &wrong);
    return count == 0;
}

static bool run_round(InstrCheck *check, Runner *runner, const void *object, size_t bytes) {
    RunResult result;
    RunRequest request = {.object = object,
                          .object_bytes = bytes,
                          .program = check->program,
                          .inputs = check->inputs,
                          .threads = 1,
                          .max_repeats = 1,
                          .limit_seconds = LIMIT_SECONDS,
                          .outputs = check->outputs};
    backend_of(check->target)->runner->run(runner, check->c->arena, &request, &result);
    if (result.outcome == OUTCOME_OK)
        return compare(check);
    diag(check->c->diagnostics, DIAG_instr_run, check->instr->loc, check->instr->name, result.why);
    return false;
}

static bool run_rounds(InstrCheck *check, const void *object, size_t bytes) {
    const char *why = "";
    const RunnerKind *kind = backend_of(check->target)->runner;
    Runner *runner = kind->open(check->c->arena, NULL, (Patience){HUGE_VAL, NULL}, &why, NULL);
    if (!runner) {
        complain("%s", why);
        return false;
    }
    make_buffers(check);
    bool good = true;
    for (int round = 0; round < ROUNDS && good; round++) {
        fill(check, round);
        good = run_round(check, runner, object, bytes);
    }
    kind->close(runner);
    return good;
}

/* --- which instructions --- */

static bool is_checked(const Compilation *c, const Instr *instr, const Target *target) {
    for (int i = 0; i < c->checked_instrs.count; i++)
        if (c->checked_instrs.items[i].instr == instr && c->checked_instrs.items[i].target == target)
            return true;
    return false;
}

static bool check_instr(Compilation *c, const Instr *instr, const Target *target) {
    if (is_checked(c, instr, target))
        return true;
    list_push(c->arena, &c->checked_instrs, ((struct CheckedInstr){instr, target}));
    InstrCheck check = {.c = c, .instr = instr, .target = target, .program = instr->program};
    size_t bytes = 0;
    char *object = make_object(&check, &bytes);
    bool runs = target->host && backend_can(backend_of(target), CAN_RUN);
    bool good = object && (!runs || run_rounds(&check, object, bytes));
    free(object);
    if (good && c->options->verbose)
        show(stderr, "tensorc: instr %s %s\n", instr->name,
             runs ? "does what it means on this machine" : "is not checked: this machine does not run it");
    return good;
}

bool check_instrs_of(Compilation *c, const Nest *nest) {
    for (int s = 0; s < nest->stage_count; s++)
        for (int l = 0; l < nest->stages[s]->loop_count; l++) {
            const Loop *loop = nest->stages[s]->loops[l];
            if (loop->kind == LOOP_TENSORIZED && !check_instr(c, loop->var->instr, nest->target))
                return false;
        }
    return true;
}
