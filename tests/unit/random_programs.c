/* random_programs.c - laws of random programs: sema accepts them, their records' text gives their key, the interpreter
 * gives what plain recursion does, and their kernels, as they stand and under random schedules, compute what they mean.
 *
 * RANDOM_CASES asks for another number of programs, RANDOM_SEED for other ones, RANDOM_ONLY for a single one, printed.
 * With a number as its argument it only prints the program of that seed, with an export, and with a second one also a
 * schedule of that many random primitives: for tests that need a file.
 */
#include "autosched/records/records.h"
#include "kernel_run.h"
#include "lower/kernel/statements.h"
#include "parser/ast.h"
#include "plain.h"
#include "random_program.h"
#include "schedules.h"
#include "sema/interpreter.h"
#include "sema/sema.h"
#include "tests/tap.h"
#include <stdlib.h>

enum { ARGUMENT_LIMIT = 32, STEP_LIMIT = 20000, OPERATION_LIMIT = 300000 };

typedef struct Case {
    Arena *arena;
    const char *text;
    Program *program;
    int64_t sizes[RANDOM_SIZES];
    void *arguments[ARGUMENT_LIMIT], *found[ARGUMENT_LIMIT];
    int64_t elements[ARGUMENT_LIMIT];
    Random random;
    const Target *target;
    Schedule *schedule;
    const char *wrong;
} Case;

/* The program with none, some or all of its sizes bound; NULL, with what was said, when it is refused. */
static Program *check_text(Case *c, const struct Binding *bindings) {
    Sources *sources = ARENA_NEW(c->arena, Sources);
    sources->arena = c->arena;
    char *messages = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&messages, &length);
    Diagnostics *diagnostics = diag_new(c->arena, sources, (DiagOptions){.stream = stream, .no_warnings = true});
    uint32_t file = (uint32_t)source_add(sources, "random", c->text, strlen(c->text), false);
    AstFile *tree = parse_file(c->arena, sources, file, diagnostics);
    Define defines[RANDOM_SIZES];
    SemaOptions options = {.defines = defines};
    int symbolic = (int)random_below(&c->random, 4); /* 0: all run-time sizes, 1: some */
    for (int i = 0; i < RANDOM_SIZES; i++)
        if (symbolic > 1 || (symbolic == 1 && random_below(&c->random, 2)))
            defines[options.define_count++] = (Define){.name = bindings[i].name, .value = bindings[i].value};
    Module *module = diag_error_count(diagnostics) ? NULL : sema_check(c->arena, sources, tree, &options, diagnostics);
    int errors = diag_finish(diagnostics);
    fclose(stream);
    if (errors || !module->units.count)
        c->wrong = arena_printf(c->arena, "refused: %s", messages);
    free(messages);
    return c->wrong ? NULL : module->units.items[0].program;
}

static void fill_arguments(Case *c) {
    for (int i = 0; i < c->program->argument_count; i++) {
        const Argument *argument = &c->program->arguments[i];
        ElementType type = argument->tensor ? argument->tensor->type : argument->scalar->type;
        Plain plain = {.program = c->program, .sizes = c->sizes};
        c->elements[i] = 1;
        for (int d = 0; argument->tensor && d < argument->tensor->rank; d++)
            c->elements[i] *= plain_dim(&plain, argument->tensor, d);
        c->arguments[i] = arena_alloc(c->arena, (size_t)c->elements[i] * 8 + 16);
        c->found[i] = arena_alloc(c->arena, (size_t)c->elements[i] * 8 + 16);
        fill_random(type, c->arguments[i], c->elements[i], c->random.state + (uint64_t)i, -8, 8);
    }
}

static bool same_value(Value a, Value b) {
    return a.integer == b.integer || (type_is_float(a.type) && (a.real == b.real || (isnan(a.real) && isnan(b.real))));
}

/* Some elements of each output by recursion, as long as that takes few steps. */
static void compare_plain(Case *c, Interpreter *interpreter) {
    for (int i = 0; i < c->program->argument_count; i++) {
        const Tensor *tensor = c->program->arguments[i].tensor;
        if (!tensor || tensor->role != ROLE_OUTPUT)
            continue;
        for (int64_t element = c->elements[i] - 1; element >= 0; element -= 1 + c->elements[i] / 7) {
            Plain plain = {
                .program = c->program, .sizes = c->sizes, .arguments = c->arguments, .step_limit = STEP_LIMIT};
            int64_t index[8], rest = element;
            for (int d = tensor->rank - 1; d >= 0; d--) {
                index[d] = rest % plain_dim(&plain, tensor, d);
                rest /= plain_dim(&plain, tensor, d);
            }
            Value wanted = plain_element(&plain, tensor, index);
            Evaluated found = interpreter_element(interpreter, tensor, index);
            if (plain.steps <= STEP_LIMIT && !same_value(wanted, found.value))
                c->wrong = arena_printf(c->arena, "the interpreter's %s[%d] is %.17g, should be %.17g", tensor->name,
                                        (int)element, found.value.real, wanted.real);
        }
    }
}

static void compare_kernel(Case *c, const Kernel *kernel, Interpreter *interpreter, const char *which) {
    for (int i = 0; i < c->program->argument_count; i++)
        memcpy(c->found[i], c->arguments[i], (size_t)c->elements[i] * 8);
    const char *fault = NULL;
    int status = kernel_run(kernel, c->sizes, c->found, &fault);
    if (status == KERNEL_RUN_TOO_LONG)
        return;
    if (fault || status)
        c->wrong = arena_printf(c->arena, "%s: status %d, %s", which, status, fault ? fault : "no fault");
    for (int i = 0; i < c->program->argument_count && !c->wrong; i++) {
        Mismatch first;
        const Tensor *tensor = c->program->arguments[i].tensor;
        if (tensor && tensor->role == ROLE_OUTPUT && interpreter_check(interpreter, i, c->found[i], 1e9, 1, &first))
            c->wrong = arena_printf(c->arena, "%s: element %d of %s is %.9g, should be %.9g within %g", which,
                                    (int)first.element, tensor->name, first.found, first.expected, first.bound);
    }
}

static void compare_schedule(Case *c, Interpreter *interpreter, int primitives) {
    c->schedule = primitives ? random_schedule(c->arena, c->program, c->target, &c->random, primitives) : NULL;
    const Nest *nest = nest_build(c->arena, c->program, c->schedule, NULL, c->target, NULL);
    ExpandOptions options = {.verify_each = true};
    compare_kernel(c, kernel_build(c->arena, nest, &options), interpreter, "as built");
    if (!c->wrong)
        compare_kernel(c, expand(c->arena, nest, &options), interpreter, "expanded");
}

/* What the database keeps of a program is hashed to its key again, with a user's schedule, too, and only as it is. */
static void check_record(Case *c) {
    Schedule *user = random_schedule(c->arena, c->program, c->target, &c->random, 2);
    for (int u = 0; u < 2 && !c->wrong; u++) {
        const Task *task = task_new(c->arena, c->program, u ? user : NULL);
        const char *text = task_program(c->arena, task);
        char *number = strpbrk(text + strlen("schedules 1 "), "123456789");
        if (!task_program_fits(task->key, text) || !strstr(text, "\nS0 stage "))
            c->wrong = arena_printf(c->arena, "its text does not give its key:\n%s", text);
        if (number && !c->wrong) {
            *number = *number == '9' ? '1' : *number + 1;
            if (task_program_fits(task->key, text))
                c->wrong = arena_printf(c->arena, "another number gives its key, too:\n%s", text);
        }
    }
}

static void run_case(Case *c, uint64_t seed) {
    struct Binding bindings[RANDOM_SIZES];
    int status;
    c->text = random_program(c->arena, seed, false, bindings);
    c->program = check_text(c, bindings);
    if (!c->program)
        return;
    check_record(c);
    if (c->wrong)
        return;
    for (int s = 0; s < c->program->size_count; s++)
        for (int i = 0; i < RANDOM_SIZES; i++)
            if (!strcmp(bindings[i].name, c->program->sizes[s]->name))
                c->sizes[s] = bindings[i].value;
    fill_arguments(c);
    Interpreter *interpreter = interpreter_new(c->program, c->sizes, c->arguments, &status, &c->wrong);
    if (!interpreter)
        return;
    compare_plain(c, interpreter);
    bool small = interpreter_cost(c->program, c->sizes) < OPERATION_LIMIT;
    for (int i = 0; i < 3 && small && !c->wrong; i++)
        compare_schedule(c, interpreter, 3 * i);
    interpreter_free(interpreter);
}

static bool check_case(uint64_t seed, const Target *target, bool verbose) {
    Case c = {.arena = arena_new(), .target = target, .random = {seed}};
    if (verbose)
        fprintf(stderr, "%s", random_program(c.arena, seed, true, (struct Binding[RANDOM_SIZES]){{0}}));
    run_case(&c, seed);
    if (c.wrong) {
        Text text = {.arena = c.arena};
        if (c.schedule)
            schedule_print_statements(&text, c.schedule);
        diag_line("RANDOM_ONLY=%llu: %s", (unsigned long long)seed, c.wrong);
        diag_line("%s", text.text ? text.text : "");
    }
    bool right = !c.wrong;
    arena_free(c.arena);
    return right;
}

static int print_program(uint64_t seed, int primitives) {
    struct Binding bindings[RANDOM_SIZES];
    Case c = {.arena = arena_new(), .random = {seed}, .target = target_find("x86-64-v4")};
    c.text = random_program(c.arena, seed, true, bindings);
    fputs(c.text, stdout);
    if (primitives) {
        Text text = {.arena = c.arena};
        c.program = program_of_text(c.arena, c.text, NULL, 0);
        c.schedule = random_schedule(c.arena, c.program, c.target, &c.random, primitives);
        c.schedule->subject = "f";
        c.schedule->target = "x86";
        schedule_print(&text, c.schedule);
        fputs(text.text, stdout);
    }
    arena_free(c.arena);
    return 0;
}

int main(int count, char **arguments) {
    if (count > 1)
        return print_program(strtoull(arguments[1], NULL, 10), count > 2 ? atoi(arguments[2]) : 0);
    const Target *target = target_find("x86-64-v4");
    uint64_t cases = from_environment("RANDOM_CASES", 200), seed = from_environment("RANDOM_SEED", 1);
    uint64_t only = from_environment("RANDOM_ONLY", 0);
    int wrong = 0;
    for (uint64_t i = 0; i < cases && wrong < 5; i++)
        if (!only || only == seed + i)
            wrong += !check_case(seed + i, target, only != 0);
    if (only)
        wrong = !check_case(only, target, true);
    ok(wrong == 0, "%d random programs mean the same to all", (int)cases);
    return done_testing();
}
