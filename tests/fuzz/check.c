/* check.c - runs the text of a case: reads it as the compiler would, lowers it, executes it, compares.
 *
 * The kernel is executed as built and after all passes by the checked evaluator (tests/unit/kernel_run.h), or
 * compiled. A schedule that is refused ends the case well; now and then its refusal is explained, and each alternative
 * that it proposes has to be legal.
 */
#include "autosched/autosched.h"
#include "backends/backends.h"
#include "fuzz.h"
#include "lower/kernel/statements.h"
#include "parser/ast.h"
#include "sema/interpreter.h"
#include "sema/sema.h"
#include "stdlib/stdlib.h"
#include "tests/unit/kernel_read.h"
#include "tests/unit/kernel_run.h"
#include <stdlib.h>
#include <string.h>

enum { OPERATION_LIMIT = 300000, ELEMENT_LIMIT = 1 << 20 };

const char *fuzz_step = "";

/* --- reading ------------------------------------------------------------------------------------------------------ */

/* `key=value` of the first line, up to a blank. */
static const char *header_value(Arena *arena, const char *text, const char *key, const char *otherwise) {
    const char *at = strstr(text, key);
    if (!at || at > strchr(text, '\n'))
        return otherwise;
    at += strlen(key);
    return arena_strndup(arena, at, strcspn(at, " \n"));
}

/* "device": one whose axes loops can be bound to. No backend makes code for it; its kernels are executed. */
static const Target *find_target(Arena *arena, const char *name, int threads) {
    if (strcmp(name, "device"))
        return target_make(arena, name, threads);
    Target *device = ARENA_NEW(arena, Target);
    Family *family = ARENA_NEW(arena, Family);
    *device = *target_make(arena, "x86-64-v4", threads);
    *family = *device->family;
    family->name = "gpu";
    device->name = name;
    device->family = family;
    device->block_threads = 64;
    return device;
}

static void read_header(Arena *arena, const char *text, Checked *c) {
    c->data = strtoull(header_value(arena, text, "data=", "0"), NULL, 10);
    c->object = !strcmp(header_value(arena, text, "engine=", "kernel"), "object");
    c->threads = atoi(header_value(arena, text, "threads=", "1"));
    c->level = atoi(header_value(arena, text, "level=", "0"));
    c->strict = atoi(header_value(arena, text, "strict=", "0"));
    c->complete = atoi(header_value(arena, text, "complete=", "0"));
    c->named = atoi(header_value(arena, text, "automatic=", "0"));
    c->explain = atoi(header_value(arena, text, "explain=", "0"));
    c->target = find_target(arena, header_value(arena, text, "target=", "x86-64-v4"), c->threads);
}

/* Takes the bindings of sizes that stay run-time ones out of the export. */
static void leave_to_run_time(AstFile *tree, const char *symbolic) {
    for (int e = 0; e < tree->exports.count; e++) {
        AstBindings *bindings = &tree->exports.items[e].bindings;
        int kept = 0;
        for (int i = 0; i < bindings->count; i++)
            if (!strstr(symbolic, bindings->items[i].name.text))
                bindings->items[kept++] = bindings->items[i];
        bindings->count = kept;
    }
}

static int64_t binding_value(const AstFile *tree, const char *name) {
    for (int e = 0; e < tree->exports.count; e++)
        for (int i = 0; i < tree->exports.items[e].bindings.count; i++) {
            const AstBinding *binding = &tree->exports.items[e].bindings.items[i];
            if (!strcmp(binding->name.text, name) && binding->value && binding->value->kind == AST_INTEGER)
                return binding->value->integer;
        }
    return 0;
}

/* The version of the program for the value of one of its sizes, or for no more than that, as `tune` and -O2 make
 * them; where a requirement cannot hold there is none. */
static Program *version_of(Arena *arena, const AstFile *whole, const char *text, Program *program) {
    const char *bound = header_value(arena, text, "bound=", NULL);
    const char *limited = header_value(arena, text, "limited=", NULL);
    const char *why = "", *name = bound ? bound : limited;
    if (!name)
        return program;
    struct Binding binding = {name, binding_value(whole, name)};
    Program *version = bound ? program_bind(arena, program, &binding, 1, &why)
                             : program_limit(arena, program, &binding, &why);
    return version ? version : program;
}

static bool read_sizes(const AstFile *whole, Checked *c) {
    if (c->program->size_count > (int)(sizeof c->sizes / sizeof *c->sizes))
        return false;
    for (int s = 0; s < c->program->size_count; s++)
        c->sizes[s] = binding_value(whole, c->program->sizes[s]->name);
    return true;
}

static AstFile *parse_again(Arena *arena, Sources *sources, const char *text, Diagnostics *diagnostics) {
    const char *path = strstr(text, ".npy\"") ? arena_printf(arena, "%s/case", arrays_folder()) : "case";
    return parse_file(arena, sources, (uint32_t)source_add(sources, path, text, strlen(text), false), diagnostics);
}

static uint32_t find_embedded(void *context, Sources *sources, const char *name) {
    (void)context;
    const StdlibFile *file = stdlib_find(name);
    return file ? (uint32_t)source_add(sources, name, file->text, file->length, true) : 0;
}

static void check_module(Arena *arena, Checked *c, Sources *sources, Diagnostics *diagnostics) {
    const char *symbolic = header_value(arena, c->text, "symbolic=", "");
    AstFile *tree = parse_again(arena, sources, c->text, diagnostics);
    AstFile *whole = *symbolic ? parse_again(arena, sources, c->text, diagnostics) : tree;
    leave_to_run_time(tree, symbolic);
    SemaOptions options = {.strict = c->strict, .find_embedded = find_embedded};
    Module *module = diag_error_count(diagnostics) ? NULL : sema_check(arena, sources, tree, &options, diagnostics);
    if (!module || diag_error_count(diagnostics) || !module->units.count)
        return;
    Unit *unit = &module->units.items[0];
    c->named = c->named && unit->alternative_count;
    c->program = version_of(arena, whole, c->text,
                            c->named ? unit->alternatives[c->data % (uint64_t)unit->alternative_count] : unit->program);
    c->schedule = unit->schedule_count ? unit->schedules[0] : NULL;
    if (!read_sizes(whole, c))
        c->program = NULL;
}

bool read_text(Arena *arena, const char *text, Checked *c, const char **why) {
    Sources *sources = ARENA_NEW(arena, Sources);
    char *messages = NULL;
    size_t length = 0;
    *c = (Checked){.text = text};
    sources->arena = arena;
    read_header(arena, text, c);
    FILE *stream = open_memstream(&messages, &length);
    Diagnostics *diagnostics = diag_new(arena, sources, (DiagOptions){.stream = stream, .no_warnings = true});
    make_arrays(arena, text);
    fuzz_step = "checking the program";
    check_module(arena, c, sources, diagnostics);
    diag_finish(diagnostics);
    fclose(stream);
    if (!c->program)
        *why = arena_strdup(arena, messages);
    free(messages);
    return c->program != NULL;
}

/* --- arguments ---------------------------------------------------------------------------------------------------- */

typedef struct Run {
    Arena *arena;
    const Checked *c;
    const FuzzOptions *options;
    Counters *counters;
    void **arguments, **found;
    int64_t *bytes;
    Interpreter *interpreter; /* NULL: the call returns status */
    int status;
    const char **why;
} Run;

/* Now and then an index that is read from memory is a wrong one. */
static void poison(const Program *program, int argument, uint64_t data, void *values, int64_t elements) {
    const Tensor *tensor = program->arguments[argument].tensor;
    if (data % 16 != 3 || !tensor || tensor->type != TYPE_INT32 || !elements)
        return;
    ((int32_t *)values)[data / 16 % (uint64_t)elements] = data % 32 == 3 ? -1 : 1 << 20;
}

static bool fill_arguments(Run *run) {
    const Program *program = run->c->program;
    int count = program->argument_count;
    run->arguments = ARENA_ARRAY(run->arena, void *, count + 1);
    run->found = ARENA_ARRAY(run->arena, void *, count + 1);
    run->bytes = ARENA_ARRAY(run->arena, int64_t, count + 1);
    for (int i = 0; i < count; i++) {
        const Argument *a = &program->arguments[i];
        int64_t elements = argument_elements(program, run->c->sizes, i);
        if (elements < 0 || elements > ELEMENT_LIMIT)
            return false;
        run->bytes[i] = elements * element_info[a->tensor ? a->tensor->type : a->scalar->type].bytes;
        run->arguments[i] = arena_alloc(run->arena, (size_t)run->bytes[i] + 16);
        run->found[i] = arena_alloc(run->arena, (size_t)run->bytes[i] + 16);
        argument_fill(program, run->c->sizes, i, run->c->data, run->arguments[i]);
        poison(program, i, run->c->data, run->arguments[i], elements);
    }
    return true;
}

/* --- comparing ---------------------------------------------------------------------------------------------------- */

static Fault compare_arguments(Run *run, int status, const char *which) {
    const Program *program = run->c->program;
    if (status != run->status) {
        *run->why = arena_printf(run->arena, "%s: status %d, should be %d", which, status, run->status);
        return FAULT_STATUS;
    }
    for (int i = 0; i < program->argument_count; i++) {
        const Tensor *tensor = program->arguments[i].tensor;
        Mismatch first;
        bool output = tensor && tensor->role == ROLE_OUTPUT;
        if ((!output || status) && memcmp(run->found[i], run->arguments[i], (size_t)run->bytes[i])) {
            *run->why = arena_printf(run->arena, "%s: argument %d was written", which, i);
            return FAULT_STATUS;
        }
        if (!output || status || !interpreter_check(run->interpreter, i, run->found[i], 1e9, 1, &first))
            continue;
        *run->why = arena_printf(run->arena, "%s: element %lld of %s is %.9g, should be %.9g within %.3g", which,
                                 (long long)first.element, tensor->name, first.found, first.expected, first.bound);
        return FAULT_MISMATCH;
    }
    return FAULT_NONE;
}

typedef int RunKernel(const Kernel *kernel, const int64_t *sizes, void *const *arguments, const char **fault);

static Fault run_evaluator(Run *run, RunKernel *run_kernel, const Kernel *kernel, const char *which) {
    for (int i = 0; i < run->c->program->argument_count; i++)
        memcpy(run->found[i], run->arguments[i], (size_t)run->bytes[i]);
    const char *fault = NULL;
    fuzz_step = which;
    int status = run_kernel(kernel, run->c->sizes, run->found, &fault);
    if (status == KERNEL_RUN_TOO_LONG) {
        run->counters->too_long++;
        return FAULT_NONE;
    }
    if (fault) {
        *run->why = arena_printf(run->arena, "%s: %s", which, fault);
        return FAULT_MEMORY;
    }
    return compare_arguments(run, status, which);
}

/* The text of a kernel reads back as a kernel of the same text. */
static Fault compare_kernel_text(Run *run, const Kernel *kernel) {
    Text text = {.arena = run->arena}, again = {.arena = run->arena};
    const char *why = "another text";
    fuzz_step = "reading the text of the kernel";
    kernel_print(&text, kernel);
    const Kernel *read = kernel_read(run->arena, run->c->program, kernel->target, text.text, &why);
    if (read)
        kernel_print(&again, read);
    if (read && !strcmp(text.text, again.text))
        return FAULT_NONE;
    *run->why = arena_printf(run->arena, "the text of the kernel does not read back: %s\n%s", why, text.text);
    return FAULT_TEXT;
}

/* --- planted faults: what the tests of the fuzzer look for -------------------------------------------------------- */

/* 'm': a product is a sum. 'l': a loop of at least three steps misses its last one. 's': something is stored twice as
 * far from the start. */
static Expr *plant_product(Arena *arena, Expr *e, void *context) {
    if (e->kind == EXPR_OP && e->op == OP_MUL && type_is_float(e->type))
        return expr_op(arena, OP_ADD, e->type, e->args, e->count);
    return e;
}

static void plant_statement(Stmt *stmt, char plant) {
    int64_t extent;
    if (plant == 'l' && stmt->kind == STMT_FOR && expr_is_int(stmt->extent, &extent) && extent >= 3)
        stmt->extent = expr_int(arena_new(), extent - 1);
    if (plant == 's' && stmt->kind == STMT_STORE && stmt->index_count == 1 && stmt->value->lanes > 1)
        stmt->index[0] = expr_binary(arena_new(), OP_ADD, stmt->index[0], stmt->index[0]);
}

static Kernel *planted(Run *run, Kernel *kernel) {
    if (!run->options->plant)
        return kernel;
    StmtList all = stmts_of(kernel->body->body, kernel->body->count);
    if (*run->options->plant == 'm')
        kernel->body = stmt_block(kernel->arena, stmts_rewrite(kernel->arena, all, plant_product, NULL));
    EACH_STMT(stmt, kernel->body)
        plant_statement(stmt, *run->options->plant);
    return kernel;
}

/* --- engines ------------------------------------------------------------------------------------------------------ */

static Fault run_kernels(Run *run, const Nest *nest, const ExpandOptions *options) {
    fuzz_step = "building the kernel";
    Kernel *early = kernel_build(run->arena, nest, options);
    fuzz_step = "expanding the kernel";
    Kernel *flat = planted(run, expand(run->arena, nest, options));
    Fault fault = run_evaluator(run, kernel_run_built, early, "as built");
    if (!fault)
        fault = run_evaluator(run, kernel_run, flat, "expanded");
    return fault || run->c->data % 8 ? fault : compare_kernel_text(run, flat);
}

static Fault run_compiled(Run *run, const Nest *nest, const ExpandOptions *options) {
    fuzz_step = "expanding the kernel";
    Kernel *flat = planted(run, expand(run->arena, nest, options));
    for (int i = 0; i < run->c->program->argument_count; i++)
        memcpy(run->found[i], run->arguments[i], (size_t)run->bytes[i]);
    run->counters->objects++;
    int status = object_run(run->arena, flat, run->c, run->found, run->bytes, run->why);
    return *run->why ? FAULT_INTERNAL : compare_arguments(run, status, "compiled");
}

/* --- refusals ----------------------------------------------------------------------------------------------------- */

/* The schedule up to the refused statement, with an alternative in its place or before it, in the text of a file. */
static bool is_legal_text(Run *run, const Schedule *schedule, const NestError *error, int alternative) {
    Text text = {.arena = run->arena};
    Schedule before = *schedule;
    before.count = error->prim;
    schedule_print_statements(&text, &before);
    text_add(&text, "%s\n", error->alternatives[alternative]);
    if (error->goes_before[alternative])
        schedule_print_statements(&text, &(Schedule){.count = 1, .prims = &schedule->prims[error->prim]});
    Sources *sources = ARENA_NEW(run->arena, Sources);
    sources->arena = run->arena;
    Diagnostics *diagnostics = diag_new(run->arena, sources, (DiagOptions){.stream = stderr});
    uint32_t file = (uint32_t)source_add(sources, "alternative", text.text, text.length, false);
    Schedule *other = parse_schedule(run->arena, sources, file, diagnostics);
    return other && nest_build(run->arena, run->c->program, other, NULL, run->c->target, NULL);
}

static Fault check_refusal(Run *run, const Schedule *schedule) {
    run->counters->refused++;
    if (!run->c->explain)
        return FAULT_NONE;
    NestError error = {0};
    fuzz_step = "explaining a refusal";
    if (nest_build(run->arena, run->c->program, schedule, NULL, run->c->target, &error)) {
        *run->why = "a schedule is refused only where no explanation is wanted";
        return FAULT_ALTERNATIVE;
    }
    if (!error.rule || !*error.rule || !error.nest) {
        *run->why = "a refusal has no rule, or no nest";
        return FAULT_ALTERNATIVE;
    }
    for (int i = 0; i < error.alternative_count; i++)
        if (!is_legal_text(run, schedule, &error, i)) {
            *run->why = arena_printf(run->arena, "%s\nis proposed and refused", error.alternatives[i]);
            return FAULT_ALTERNATIVE;
        }
    return FAULT_NONE;
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

/* Candidates for the holes: as -O2 finds them, or any. NULL: none was found, with *why where there are some. */
static const Schedule *choose_values(Run *run, const Schedule *schedule) {
    const Checked *c = run->c;
    Random random = {c->data};
    const Schedule *found = NULL;
    if (c->data % 2)
        return fill_holes(run->arena, schedule, &random);
    found = autosched_default(run->arena, c->program, c->target, schedule, EFFORT_MODEL, c->data);
    for (int tries = 0; tries < 20 && !found && !*run->why; tries++) {
        const Schedule *other = fill_holes(run->arena, schedule, &random);
        if (other && nest_build(run->arena, c->program, other, NULL, c->target, NULL))
            *run->why = "no values were found for the holes, though there are some";
    }
    return found;
}

/* The schedule with what -O2 adds to it. NULL, with *why: that is not legal though the schedule is. */
static const Schedule *complete(Run *run, const Schedule *schedule) {
    const Checked *c = run->c;
    if (!nest_build(run->arena, c->program, schedule, NULL, c->target, NULL))
        return schedule;
    const Schedule *whole = autosched_default(run->arena, c->program, c->target, schedule, EFFORT_MODEL, c->data);
    if (whole && nest_build(run->arena, c->program, whole, NULL, c->target, NULL)) {
        run->counters->completed += whole->count > schedule->count;
        return whole;
    }
    *run->why = "the schedule is legal, and refused with what completes it";
    return NULL;
}

static const Schedule *choose_schedule(Run *run) {
    static const Effort efforts[] = {EFFORT_IDENTITY, EFFORT_FIXED, EFFORT_MODEL};
    const Checked *c = run->c;
    fuzz_step = "choosing a schedule";
    if (c->schedule && schedule_hole_count(c->schedule))
        return choose_values(run, c->schedule);
    if (c->schedule && c->complete)
        return complete(run, c->schedule);
    if (c->schedule || c->level > 2)
        return c->schedule;
    return autosched_default(run->arena, c->program, c->target, NULL, efforts[c->level], c->data);
}

static Fault run_scheduled(Run *run) {
    const Schedule *schedule = choose_schedule(run);
    const Checked *c = run->c;
    if (!schedule && c->schedule) {
        run->counters->refused++;
        return *run->why ? FAULT_REFUSED : FAULT_NONE;
    }
    fuzz_step = "building the nest";
    const Nest *nest = nest_build(run->arena, c->program, schedule, NULL, c->target, NULL);
    if (!nest && c->schedule)
        return check_refusal(run, schedule);
    if (!nest) {
        *run->why = "the schedule that the compiler made is refused";
        return FAULT_REFUSED;
    }
    run->counters->run++;
    run->counters->levels[c->schedule ? 3 : c->level]++;
    run->counters->named += c->named;
    run->counters->bad_status += run->status != 0;
    count_features(run->counters, c->text, c->schedule ? c->schedule : schedule);
    bool each = c->data % 4 == 1; /* what equal nests become, of each nest */
    ExpandOptions options = {
        .strict = c->strict, .verify_each = true, .share_each = each, .number_each = c->data % 8 == 1};
    return c->object ? run_compiled(run, nest, &options) : run_kernels(run, nest, &options);
}

Fault check_text(Arena *arena, const char *text, const FuzzOptions *options, Counters *counters, const char **why) {
    static Counters unused;
    Checked checked;
    *why = NULL;
    if (!read_text(arena, text, &checked, why))
        return FAULT_REFUSED;
    Run run = {
        .arena = arena, .c = &checked, .options = options, .counters = counters ? counters : &unused, .why = why};
    const char *reason = NULL;
    if (interpreter_cost(checked.program, checked.sizes) > OPERATION_LIMIT || !fill_arguments(&run)) {
        run.counters->too_large++;
        return FAULT_NONE;
    }
    fuzz_step = "interpreting";
    run.interpreter =
        interpreter_new(program_meaning(checked.program), checked.sizes, run.arguments, &run.status, &reason);
    Fault fault = run_scheduled(&run);
    interpreter_free(run.interpreter);
    return fault;
}
