/* run.c - -run: runs each kernel in a worker process on seeded random inputs and checks it against the interpreter.
 *
 * The worker runs on this machine, or where --runner starts one. The interpreter is always here.
 * Prints one line for each kernel: the time of one call, GFLOP/s, and how it was checked. A wrong result, a crash or a
 * status other than 0 is an error of the run (exit status 1).
 */
#include "driver/driver.h"
#include "driver/inputs.h"
#include "lang/npy.h"
#include "lang/terminal.h"
#include "sema/interpreter.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct RunData {
    int64_t *sizes;
    void **inputs;  /* by argument: the contents before the call */
    void **outputs; /* NULL for inputs */
} RunData;

static bool fill_data(const Program *program, uint64_t seed, RunData *data) {
    for (int i = 0; i < program->argument_count; i++) {
        const Argument *a = &program->arguments[i];
        ElementType type = argument_element_type(a);
        int64_t elements = argument_elements(program, data->sizes, i);
        size_t bytes = (size_t)elements * (size_t)element_info[type].bytes + 1;
        if (elements < 0 || !(data->inputs[i] = malloc(bytes)))
            return false;
        argument_fill(program, data->sizes, i, seed, data->inputs[i]);
        if (a->tensor && a->tensor->role == ROLE_OUTPUT && !(data->outputs[i] = malloc(bytes)))
            return false;
    }
    return true;
}

/* Whether the name is that of a result alone: then after a message. */
static bool is_result(const Compilation *c, const char *name) {
    bool refused = false;
    for (int u = 0; u < c->module->units.count && !refused; u++)
        refused = refuse_output_as_input((Program *[]){(Program *)c->module->units.items[u].program}, 1, name);
    return refused;
}

/* Whether each name belongs to a function. Otherwise the command line is wrong, and nothing runs. */
static bool names_exist(const Compilation *c, const NamedFiles *files, bool results) {
    for (int f = 0; f < files->count; f++) {
        bool found = false;
        for (int u = 0; u < c->module->units.count; u++) {
            const Program *program = c->module->units.items[u].program;
            for (int i = 0; i < program->argument_count; i++) {
                const Argument *a = &program->arguments[i];
                bool fits = results ? a->tensor && a->tensor->role == ROLE_OUTPUT : argument_has_contents(program, a);
                found |= fits && !strcmp(argument_name(a), files->items[f].name);
            }
        }
        if (!found && !results && is_result(c, files->items[f].name))
            return false;
        if (!found) {
            complain("no %s is called '%s'", results ? "result" : "argument", files->items[f].name);
            return false;
        }
    }
    return true;
}

/* data: NULL: they are only looked at. */
static bool load_inputs(Compilation *c, const Program *program, const int64_t *sizes, void *const *data) {
    const NamedFiles *files = &c->options->run_inputs;
    for (int f = 0; f < files->count; f++)
        for (int i = 0; i < program->argument_count; i++) {
            const Argument *a = &program->arguments[i];
            if (strcmp(argument_name(a), files->items[f].name) || !argument_has_contents(program, a))
                continue;
            if (!load_input(c, program, sizes, a, &files->items[f], data ? data[i] : NULL))
                return false;
        }
    return true;
}

/* False after a message; then the other functions are not run, as what they write would fail the same way. */
static bool save_outputs(Compilation *c, const Program *program, const RunData *data) {
    const NamedFiles *files = &c->options->run_outputs;
    for (int f = 0; f < files->count; f++)
        for (int i = 0; i < program->argument_count; i++) {
            const Tensor *tensor = program->arguments[i].tensor;
            if (!data->outputs[i] || strcmp(tensor->name, files->items[f].name))
                continue;
            Text text = npy_text(c->arena, tensor->type, tensor->rank, argument_shape(c, program, data->sizes, tensor),
                                 data->outputs[i]);
            if (!write_whole(files->items[f].path, text.text, text.length)) {
                complain("cannot write '%s': %s", files->items[f].path, strerror(errno));
                c->results_lost = true;
                return false;
            }
        }
    return true;
}

static void free_data(const Program *program, RunData *data) {
    for (int i = 0; i < program->argument_count; i++) {
        free(data->inputs[i]);
        free(data->outputs[i]);
    }
}

static const char *index_text(Arena *arena, const Mismatch *mismatch) {
    Text text = {.arena = arena};
    for (int d = 0; d < mismatch->tensor->rank && d < 16; d++)
        text_add(&text, "%s%lld", d ? ", " : "", (long long)mismatch->index[d]);
    return text.text ? text.text : "";
}

/* Checks all outputs against the interpreter. False after a message. */
static bool check_outputs(Compilation *c, const Program *program, const RunData *data, int64_t *wrong) {
    int status = 0;
    const char *why = "";
    Interpreter *interpreter = interpreter_new(program_meaning(program), data->sizes, data->inputs, &status, &why);
    if (!interpreter) {
        complain("%s: cannot check: %s", program->symbol, why);
        return false;
    }
    interpreter_allow(interpreter, program_error(program));
    *wrong = 0;
    for (int i = 0; i < program->argument_count; i++) {
        Mismatch first;
        int64_t count =
            data->outputs[i] ? interpreter_check(interpreter, i, data->outputs[i], 0, c->options->seed, &first) : 0;
        if (count)
            complain("%s: %lld elements of %s are wrong; %s(%s) is %.9g, should be %.9g within %.3g", program->symbol,
                     (long long)count, first.tensor->name, first.tensor->name, index_text(c->arena, &first),
                     first.found, first.expected, first.bound);
        *wrong += count;
    }
    interpreter_free(interpreter);
    return *wrong == 0;
}

/* Says why the function refused its arguments, as the interpreter does; the files among them are named. */
static void report_status(Compilation *c, const Program *program, const RunData *data, int found) {
    int status = 0;
    const char *why = NULL, *given = given_inputs(c, program);
    interpreter_free(interpreter_new(program_meaning(program), data->sizes, data->inputs, &status, &why));
    bool same = status == found && why;
    complain("%s: returned status %d%s%s%s%s", program->symbol, found, same && given ? ": " : "",
             same && given ? given : "", same ? ": " : "", same ? why : "");
}

static bool report_failure(Compilation *c, const Program *program, const RunData *data, const RunResult *result) {
    if (result->outcome != OUTCOME_OK)
        complain("%s: %s", program->symbol, result->why);
    else if (result->status)
        report_status(c, program, data, result->status);
    return result->outcome != OUTCOME_OK || result->status;
}

static char *make_object(Compilation *c, Kernel *kernel, const Target *target, size_t *bytes) {
    EmitOptions options = {.kind = EMIT_OBJECT,
                           .pic = true,
                           .candidate = true,
                           .debug = c->options->debug,
                           .sources = c->sources,
                           .producer = "tensorc"};
    const char *why = "";
    char *object = backend_of(target)->emit(&kernel, 1, target, &options, bytes, &why);
    if (!object)
        complain("cannot generate code for %s: %s", target->name, why);
    return object;
}

/* " (M=8, N=3)" for run-time sizes. */
static const char *sizes_text(Arena *arena, const Program *program, const int64_t *sizes) {
    Text text = {.arena = arena};
    for (int i = 0; i < program->size_count; i++)
        text_add(&text, "%s%s=%lld", i ? ", " : " (", program->sizes[i]->name, (long long)sizes[i]);
    text_add(&text, program->size_count ? ")" : "");
    return text.length ? text.text : "";
}

static bool run_and_check(Compilation *c, const Program *program, const Target *target, RunData *data,
                          RunRequest *request) {
    RunResult result;
    int64_t wrong = 0;
    run_object(backend_of(target)->runner, c->arena, request, &result);
    if (report_failure(c, program, data, &result) || !check_outputs(c, program, data, &wrong))
        return false;
    double flops = program_flops(program), cost = interpreter_cost(program_meaning(program), data->sizes);
    show(stdout, "%s%s: %.6g ms", program->symbol, sizes_text(c->arena, program, data->sizes), 1e3 * result.seconds);
    if (flops > 0 && result.seconds > 0)
        show(stdout, ", %.2f GFLOP/s", 1e-9 * flops / result.seconds);
    show(stdout, ", %d runs, %s", result.repeats,
         cost < 1e7 ? "all results checked" : "results checked at sampled points");
    const char *algorithms = program_algorithms(c->arena, program);
    show(stdout, "%s%s\n", algorithms ? ", " : "", algorithms ? algorithms : "");
    return true;
}

/* Makes one call with these sizes. */
static bool run_sized(Compilation *c, Kernel *kernel, const Target *target, int64_t *sizes, char *object,
                      size_t bytes) {
    const Program *program = kernel->program;
    RunData data = {.sizes = sizes,
                    .inputs = ARENA_ARRAY(c->arena, void *, program->argument_count + 1),
                    .outputs = ARENA_ARRAY(c->arena, void *, program->argument_count + 1)};
    bool good = fill_data(program, c->options->seed, &data);
    if (!good)
        complain("%s: no memory for the arguments", program->symbol);
    RunRequest request = {.object = object,
                          .object_bytes = bytes,
                          .program = program,
                          .runner = c->options->runner,
                          .sizes = data.sizes,
                          .inputs = data.inputs,
                          .seed = c->options->seed,
                          .threads = target->threads,
                          .min_seconds = 0.1,
                          .hasty = true,
                          .max_repeats = 1000,
                          .limit_seconds = 600,
                          .outputs = data.outputs};
    good = good && load_inputs(c, program, data.sizes, data.inputs) &&
           run_and_check(c, program, target, &data, &request) && save_outputs(c, program, &data);
    free_data(program, &data);
    return good;
}

/* The sizes in a row of `tune`. False if the row leaves one open. */
static bool sizes_of_row(const Program *program, const struct TuneSizes *row, int64_t *sizes) {
    int found = 0;
    for (int i = 0; i < program->size_count; i++) {
        const struct Binding *binding = find_binding(row->bindings, row->count, program->sizes[i]->name);
        sizes[i] = binding ? binding->value : sizes[i];
        found += binding != NULL;
    }
    return found == program->size_count && !row->automatic && !row->at_most;
}

/* The row of tune that the most is known of: the first one that gives sizes by numbers; NULL: none does. */
static const struct TuneSizes *plain_row(const Unit *unit) {
    for (int i = 0; i < unit->tune_count; i++)
        if (!unit->tunes[i].automatic && !unit->tunes[i].at_most)
            return &unit->tunes[i];
    return NULL;
}

/* Names the sizes that have no value: not those that a row of tune gives. */
static void complain_sizes(Arena *arena, const Unit *unit) {
    const Program *program = unit->program;
    const struct TuneSizes *row = plain_row(unit);
    Text names = {.arena = arena}, options = {.arena = arena};
    const char **open = ARENA_ARRAY(arena, const char *, program->size_count);
    int count = 0;
    for (int i = 0; i < program->size_count; i++)
        if (!row || !find_binding(row->bindings, row->count, program->sizes[i]->name))
            open[count++] = program->sizes[i]->name;
    for (int i = 0; i < count; i++) {
        text_add(&names, "%s%s", i == 0 ? "" : i + 1 == count ? " and " : ", ", open[i]);
        text_add(&options, "%s-D%s=VALUE", i ? " " : "", open[i]);
    }
    complain("%s: -run needs the size%s %s: give %s, or %s row of tune in its export", program->symbol,
             count == 1 ? "" : "s", names.text, options.text, row ? "all sizes in a" : "a");
}

static void add_row(Text *rows, const struct TuneSizes *row) {
    text_add(rows, "%s", rows->length ? ", (" : "(");
    for (int b = 0; b < row->count; b++)
        text_add(rows, "%s%s=%lld", b ? ", " : "", row->bindings[b].name, (long long)row->bindings[b].value);
    text_add(rows, ")");
}

/* Runs the kernel with its known sizes, or with each row of tune that has all sizes. */
static bool run_kernel(Compilation *c, const Unit *unit, Kernel *kernel, const Target *target) {
    const Program *program = kernel->program;
    int64_t *sizes = ARENA_ARRAY(c->arena, int64_t, program->size_count + 1);
    size_t bytes = 0;
    int rows = program->size_count ? unit->tune_count : 1, run = 0;
    char *object = make_object(c, kernel, target, &bytes);
    bool good = object != NULL;
    Text open = {.arena = c->arena};
    for (int i = 0; i < rows && object && !c->results_lost; i++)
        if (!program->size_count || sizes_of_row(program, &unit->tunes[i], sizes)) {
            good &= run_sized(c, kernel, target, sizes, object, bytes);
            run++;
        } else {
            add_row(&open, &unit->tunes[i]);
        }
    if (object && !run)
        complain_sizes(c->arena, unit);
    else if (open.length)
        show(stderr, "tensorc: %s: not run with rows of tune that leave sizes open: %s\n", program->symbol, open.text);
    free(object);
    return good && run;
}

/* Whether there are sizes to run the function with, for all of which the files of --input fit. */
static bool arguments_fit(Compilation *c, const Unit *unit) {
    const Program *program = unit->program;
    int64_t *sizes = ARENA_ARRAY(c->arena, int64_t, program->size_count + 1);
    int rows = program->size_count ? unit->tune_count : 1, run = 0;
    for (int i = 0; i < rows; i++) {
        if (program->size_count && !sizes_of_row(program, &unit->tunes[i], sizes))
            continue;
        if (!load_inputs(c, program, sizes, NULL))
            return false;
        run++;
    }
    if (!run)
        complain_sizes(c->arena, unit);
    return run;
}

bool run_is_possible(Compilation *c, const Target *const *targets) {
    const Options *o = c->options;
    for (int t = 0; t < o->targets.count; t++)
        if (!can_measure(c, targets[t])) {
            complain("-run needs a target that this machine runs, not %s; --runner names a command that starts "
                     "tensorc-worker where it runs",
                     targets[t]->name);
            return false;
        }
    if (!names_exist(c, &o->run_inputs, false) || !names_exist(c, &o->run_outputs, true))
        return false;
    for (int u = 0; u < c->module->units.count && o->level == LEVEL_TUNE; u++)
        if (!arguments_fit(c, &c->module->units.items[u]))
            return false;
    return true;
}

int run_kernels(Compilation *c, Kernel *const *kernels, int count, const Target *target) {
    int status = 0;
    for (int i = 0; i < count && !c->results_lost; i++)
        if (!run_kernel(c, &c->module->units.items[i], kernels[i], target))
            status = 1;
    return status;
}
