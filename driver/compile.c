/* compile.c - one input file from source to all its outputs.
 *
 * All outputs are first made in memory and then written, each whole or not at all. The object is written last: when
 * make finds it, its header and its make rule exist too.
 */
#include "config.h"
#include "driver/driver.h"
#include "driver/inputs.h"
#include "lang/stack.h"
#include "lang/terminal.h"
#include "stdlib/stdlib.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct Output {
    const char *path;
    const void *data;
    size_t bytes;
} Output;
typedef LIST(Output) Outputs;

static bool dumps(const Compilation *c, char letter) {
    return c->options->dump && strchr(c->options->dump, letter);
}

static void report_time(const Compilation *c, const char *step, double *since) {
    double now = monotonic_seconds();
    if (c->options->time_report)
        show(stderr, "%-24s %9.3f ms\n", step, 1e3 * (now - *since));
    *since = now;
}

/* --- reading --- */

static char *read_standard_input(Arena *arena, size_t *length) {
    Text text = {.arena = arena};
    char buffer[65536];
    for (ssize_t got; (got = read(STDIN_FILENO, buffer, sizeof buffer)) != 0;) {
        if (got < 0 && errno != EINTR)
            return NULL;
        if (got > 0)
            text_add_bytes(&text, buffer, (size_t)got);
    }
    *length = text.length;
    return text.text ? text.text : arena_strdup(arena, "");
}

static int read_input(Compilation *c) {
    int file = 0;
    if (strcmp(c->input, "-")) {
        file = source_read(c->sources, c->input);
    } else {
        size_t length = 0;
        char *text = read_standard_input(c->arena, &length);
        if (text)
            file = source_add(c->sources, "<stdin>", text, length, false);
    }
    if (!file)
        complain("cannot read '%s': %s", c->input, strerror(errno));
    return file;
}

static uint32_t find_embedded(void *context, Sources *sources, const char *name) {
    const StdlibFile *file = stdlib_find(name);
    if (!file)
        return 0;
    const char *shown = arena_printf(sources->arena, "<stdlib>/%s.tensor", name);
    return (uint32_t)source_add(sources, shown, file->text, file->length, true);
}

/* Reads the source and checks its Programs. False after errors, which are reported. */
static bool check_input(Compilation *c) {
    double since = monotonic_seconds();
    int file = read_input(c);
    if (!file)
        return false;
    AstFile *tree = parse_file(c->arena, c->sources, (uint32_t)file, c->diagnostics);
    report_time(c, "parse", &since);
    if (dumps(c, 'p')) {
        Text text = {.arena = c->arena};
        ast_print(&text, tree);
        show(stderr, "%s", text.text ? text.text : "");
    }
    SemaOptions options = {.define_count = c->options->defines.count,
                           .defines = c->options->defines.items,
                           .path_count = c->options->paths.count,
                           .paths = c->options->paths.items,
                           .find_embedded = find_embedded,
                           .algorithms = stdlib_algorithms,
                           .most_statements = c->options->most_statements,
                           .strict = c->options->strict,
                           .allowed_error = c->options->fp_error};
    c->module = sema_check(c->arena, c->sources, tree, &options, c->diagnostics);
    report_time(c, "check", &since);
    if (diag_error_count(c->diagnostics))
        return false;
    for (int i = 0; dumps(c, 'c') && i < c->module->units.count; i++) {
        Text text = {.arena = c->arena};
        program_print(&text, c->module->units.items[i].program);
        show(stderr, "%s", text.text ? text.text : "");
    }
    return true;
}

/* --- kernels --- */

/* The first of so many names, as a line after what is said of them; "": none. */
static const char *names_note(Arena *arena, const char *what, const char *const *names, int count) {
    enum { NAMED = 4 };
    Text text = {.arena = arena};
    for (int i = 0; i < count && i < NAMED; i++)
        text_add(&text, "%s%s", i > 0 ? ", " : what, names[i]);
    if (count > NAMED)
        text_add(&text, " and %d more", count - NAMED);
    text_add(&text, count > 0 ? "\n" : "");
    return text.text ? text.text : "";
}

/* What loops keep their tests. */
static const char *tested_note(Arena *arena, const Kernel *kernel) {
    const char **names = ARENA_ARRAY(arena, const char *, kernel->tested.count + 1);
    for (int i = 0; i < kernel->tested.count; i++)
        names[i] = kernel->tested.items[i]->name;
    return names_note(arena, "tests stay in loops, as copies without them would be too much code: ", names,
                      kernel->tested.count);
}

static const char *functions_note(const Kernel *kernel) {
    return kernel->functions_called ? "some math functions are called, as all of them in place would be too much code\n"
                                    : "";
}

/* How much code the nests of a long function share. */
static const char *shared_note(Arena *arena, const Kernel *kernel) {
    int runs = 0;
    EACH_STMT(stmt, kernel->shared.count ? kernel->body : NULL)
        runs += stmt->kind == STMT_SHARED;
    if (runs && runs == kernel->shared.count)
        return arena_printf(arena, "the function is long, so nests are functions of their own: %d\n", runs);
    return runs ? arena_printf(arena, "equal nests are one function: %d nests, %d function%s\n", runs,
                               kernel->shared.count, kernel->shared.count > 1 ? "s" : "")
                : "";
}

/* Which parallel loops are none. */
static const char *alone_note(Arena *arena, const Kernel *kernel) {
    const char **names = ARENA_ARRAY(arena, const char *, kernel->alone.count + 1);
    for (int i = 0; i < kernel->alone.count; i++)
        names[i] = kernel->alone.items[i]->name;
    return names_note(arena, "too little work for threads, so one runs it: ", names, kernel->alone.count);
}

/* Reports on the function with the name `symbol`. */
static void print_reports(const Compilation *c, const Scheduled *scheduled, const char *symbol, const Kernel *kernel) {
    const Program *program = scheduled->unit->program;
    if (c->options->explain) {
        Text explained = {.arena = c->arena};
        schedule_notes(&explained, scheduled->schedule, "");
        block_notes(&explained, user_schedule(scheduled->unit, scheduled->nest->target), scheduled->schedule, "");
        text_add(&explained, "%s%s%s%s", tested_note(c->arena, kernel), functions_note(kernel),
                 shared_note(c->arena, kernel), alone_note(c->arena, kernel));
        nest_explain(&explained, scheduled->nest, &kernel->rolled);
        const char *algorithms = program_algorithms(c->arena, program);
        show(stdout, "%s: scheduled by %s; beside each loop what one iteration of it touches\n%s%s%s%s", symbol,
             scheduled->origin, algorithms ? "computed: " : "", algorithms ? algorithms : "", algorithms ? "\n" : "",
             explained.text ? explained.text : "");
    }
    if (!c->options->features)
        return;
    float *values = ARENA_ARRAY(c->arena, float, feature_count());
    features_extract(c->arena, scheduled->nest, values);
    show(stdout, "%s: features, version %d\n", symbol, FEATURE_VERSION);
    for (int i = 0; i < feature_count(); i++)
        show(stdout, "  %-40s %g\n", feature_name(i), values[i]);
}

static void dump_nest(const Compilation *c, const Nest *nest) {
    Text text = {.arena = c->arena};
    if (!dumps(c, 'n'))
        return;
    nest_print(&text, nest);
    show(stderr, "%s", text.text ? text.text : "");
}

/* Tells of loops that stay loops although the schedule unrolls or vectorizes them. If the schedule is a block of the
 * source, that is a warning. */
static void tell_rolled(Compilation *c, const Scheduled *scheduled, const RolledList *rolled) {
    const char *symbol = scheduled->unit->program->symbol;
    const char *names = nest_rolled_names(c->arena, scheduled->nest, rolled);
    PlanFunction asked = names ? asked_of(c, scheduled->unit, scheduled->nest->target) : (PlanFunction){0};
    if (plan_is_exact(&c->planner, &asked))
        diag(c->diagnostics, DIAG_stays_loop, asked.user->loc, names, rolled->items[0].why);
    else if (names && c->options->verbose)
        show(stderr, "tensorc: %s: stays a loop, not unrolled or vectorized: %s\n", symbol, names);
}

static void tell_emitted(const Compilation *c, const Kernel *kernel) {
    const char *symbol = kernel->program->symbol;
    if (kernel->tested.count && c->options->verbose)
        show(stderr, "tensorc: %s: %s", symbol, tested_note(c->arena, kernel));
    if (kernel->functions_called && c->options->verbose)
        show(stderr, "tensorc: %s: %s", symbol, functions_note(kernel));
    if (kernel->alone.count && c->options->verbose)
        show(stderr, "tensorc: %s: %s", symbol, alone_note(c->arena, kernel));
}

static Kernel *make_kernel(Compilation *c, const Scheduled *scheduled) {
    const Options *o = c->options;
    ExpandOptions options = {.strict = o->strict,
                             .unchecked_gather = o->unchecked_gather,
                             .dump = o->dump,
                             .dump_stream = stderr,
                             .time_passes = o->time_report};
    return expand(c->arena, scheduled->nest, &options);
}

static Kernel *schedule_kernel(Compilation *c, const Unit *unit, const Target *target, Scheduled *scheduled) {
    double since = monotonic_seconds();
    if (!choose_schedule(c, unit, target, scheduled))
        return NULL;
    report_time(c, "schedule", &since);
    dump_nest(c, scheduled->nest);
    Kernel *kernel = make_kernel(c, scheduled);
    report_time(c, "lower, in all", &since);
    print_reports(c, scheduled, scheduled->unit->program->symbol, kernel);
    tell_rolled(c, scheduled, &kernel->rolled);
    tell_emitted(c, kernel);
    return kernel;
}

/* A source cannot hold the schedule of a version for known sizes, or one for packed arguments only. They are written as
 * comments. */
static void add_as_comment(const Compilation *c, const Schedule *schedule, Text *text) {
    Text block = {.arena = c->arena};
    if (!c->options->emit_schedule)
        return;
    schedule_print(&block, schedule);
    for (const char *line = block.text; line && *line;) {
        size_t length = strcspn(line, "\n");
        text_add(text, "# %.*s\n", (int)length, line);
        line += length + (line[length] == '\n');
    }
}

static bool make_variants(Compilation *c, const Function *function, Kernel *kernel) {
    kernel->variants = ARENA_ARRAY(c->arena, Variant, function->version_count + 1);
    for (int i = 0; i < function->version_count; i++) {
        const struct TuneSizes *row = &function->rows[i];
        Scheduled scheduled;
        const Kernel *variant = schedule_kernel(c, function->versions[i], function->target, &scheduled);
        if (!variant)
            return false;
        const Program *program = scheduled.unit->program;
        add_as_comment(c, schedule_with_algorithms(c, program, scheduled.schedule), &c->variant_schedules);
        kernel->variants[kernel->variant_count++] = (Variant){variant, row->bindings, row->count, row->at_most};
    }
    return true;
}

/* "w, s in 3 of 4 parts", of the arguments that the schedule rearranges, or of the others; NULL: there is none. */
static const char *packings_text(Arena *arena, const Kernel *kernel, bool rearranged) {
    Text text = {.arena = arena};
    for (int i = 0; i < kernel->packing_count; i++) {
        const Packing *packing = &kernel->packings[i];
        if ((packing->rearranged > 0) != rearranged)
            continue;
        text_add(&text, "%s%s", text.text ? ", " : "", packing->argument);
        if (packing->rearranged > 0 && packing->part_count > 1)
            text_add(&text, " in %d of %d parts", packing->rearranged, packing->part_count);
    }
    return text.text;
}

/* "f_packed: rearranged by packing: w; packed as they are: b", for -v and explanations. */
static void tell_packed(const Compilation *c, const Kernel *kernel) {
    const char *rearranged = packings_text(c->arena, kernel, true), *same = packings_text(c->arena, kernel, false);
    Text line = {.arena = c->arena};
    text_add(&line, "%s: ", kernel->packed->program->symbol);
    if (rearranged)
        text_add(&line, "rearranged by packing: %s%s", rearranged, same ? "; " : "");
    if (same)
        text_add(&line, "packed as they are: %s", same);
    if (kernel->packed_as_is)
        text_add(&line, "; the same function as %s", kernel->program->symbol);
    if (c->options->explain)
        show(stdout, "%s\n", line.text);
    if (c->options->verbose)
        show(stderr, "tensorc: %s\n", line.text);
}

/* Tells of a schedule that only the packed function has. */
static void tell_packed_schedule(Compilation *c, const Scheduled *scheduled, const Kernel *packed, bool user) {
    const char *symbol = packed->program->symbol;
    const Schedule *named = plan_named(c->arena, scheduled->schedule, symbol, packed->target);
    if (!user)
        add_as_comment(c, schedule_with_algorithms(c, scheduled->unit->program, named), &c->variant_schedules);
    warn_of_plain(c, scheduled, symbol);
    if (c->options->verbose)
        show_notes(c, scheduled->schedule, symbol);
    if (c->options->explain)
        print_reports(c, scheduled, symbol, packed);
}

/* Makes the functions for packed const arguments. They have algorithms and a schedule of their own, since packing costs
 * their calls nothing. */
static void pack_arguments(Compilation *c, const Function *function, Kernel *kernel) {
    const Options *o = c->options;
    const Target *target = function->target;
    const Unit *packed = o->mode == MODE_RUN ? NULL : packing_unit(c, function->unit, target);
    if (!packed)
        return;
    double since = monotonic_seconds();
    const Schedule *user = user_schedule(packed, target);
    Scheduled scheduled = packing_schedule(c, packed, function);
    ExpandOptions options = {.strict = o->strict, .unchecked_gather = o->unchecked_gather};
    add_packing(kernel, scheduled.nest, &options);
    if (!kernel->packed_as_is)
        tell_packed_schedule(c, &scheduled, kernel->packed, scheduled.schedule == user);
    tell_packed(c, kernel);
    report_time(c, "pack", &since);
}

static bool make_kernels(Compilation *c, const Target *target, Scheduled *scheduled, Kernel **kernels) {
    for (int i = 0; i < c->module->units.count; i++) {
        const Unit *unit = &c->module->units.items[i];
        kernels[i] = schedule_kernel(c, unit, target, &scheduled[i]);
        const Function *function = kernels[i] ? function_of(c, unit, target) : NULL;
        if (!function || !make_variants(c, function, kernels[i]))
            return false;
        pack_arguments(c, function, kernels[i]);
    }
    return !diag_error_count(c->diagnostics);
}

/* --- outputs --- */

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* path with the ending of its last component replaced or added. */
static const char *with_ending(Arena *arena, const char *path, const char *ending) {
    const char *base = base_name(path), *dot = strrchr(base, '.');
    size_t stem = dot && dot != base ? (size_t)(dot - path) : strlen(path);
    return arena_printf(arena, "%.*s%s", (int)stem, path, ending);
}

const char *default_output(Arena *arena, const Options *options, const char *input) {
    static const char *const endings[] = {".o", ".s", ".ll", ".ir"};
    return !strcmp(input, "-") ? "-" : with_ending(arena, base_name(input), endings[options->mode]);
}

const char *output_path(Compilation *c, const Target *target, bool first) {
    const char *path = c->options->out ? c->options->out : default_output(c->arena, c->options, c->input);
    if (first)
        return path;
    const char *dot = strrchr(base_name(path), '.');
    return with_ending(c->arena, path, arena_printf(c->arena, ".%s%s", target->family->architecture, dot ? dot : ""));
}

static bool add_code(Compilation *c, Kernel *const *kernels, const Target *target, Output *output) {
    const Options *o = c->options;
    int count = c->module->units.count;
    if (o->mode == MODE_IR) {
        Text text = {.arena = c->arena};
        for (int i = 0; i < count; i++) {
            for (int v = 0; v < kernels[i]->variant_count; v++)
                kernel_print(&text, kernels[i]->variants[v].kernel);
            kernel_print(&text, kernels[i]);
            for (int p = 0; p < kernels[i]->packing_count; p++)
                kernel_print(&text, kernels[i]->packings[p].kernel);
            if (kernels[i]->packed && !kernels[i]->packed_as_is)
                kernel_print(&text, kernels[i]->packed);
        }
        output->data = text.text ? text.text : "";
        output->bytes = text.length;
        return true;
    }
    EmitOptions options = {.kind = o->mode == MODE_ASSEMBLY ? EMIT_ASSEMBLY
                                   : o->mode == MODE_LLVM   ? EMIT_LLVM
                                                            : EMIT_OBJECT,
                           .debug = o->debug,
                           .pic = o->pic,
                           .sources = c->sources,
                           .producer = "tensorc " PACKAGE_VERSION,
                           .jobs = o->jobs};
    const char *why = "";
    double since = monotonic_seconds();
    char *code = backend_of(target)->emit(kernels, count, target, &options, &output->bytes, &why);
    report_time(c, "generate code", &since);
    if (!code) {
        complain("cannot generate code for %s: %s", target->name, why);
        return false;
    }
    list_push(c->arena, &c->codes, code);
    output->data = code;
    return true;
}

static void add_header(Compilation *c, Outputs *outputs) {
    const char *path = c->options->header;
    const Program **programs = ARENA_ARRAY(c->arena, const Program *, c->module->units.count);
    for (int i = 0; i < c->module->units.count; i++)
        programs[i] = c->module->units.items[i].program;
    char *text = emit_header(c->arena, programs, c->module->units.count, base_name(path), base_name(c->input));
    list_push(c->arena, outputs, ((Output){path, text, strlen(text)}));
}

const char *depfile_path(Compilation *c, const char *object) {
    return c->options->depfile ? c->options->depfile : with_ending(c->arena, object, ".d");
}

/* The targets of the make rule: the object for each target. */
static const char *rule_targets(Compilation *c, const Target *const *targets) {
    Text text = {.arena = c->arena};
    if (c->options->depfile_target)
        return c->options->depfile_target;
    for (int t = 0; t < c->options->targets.count; t++)
        text_add(&text, "%s%s", t ? " " : "", make_escape(c->arena, output_path(c, targets[t], t == 0)));
    return text.text;
}

/* Whether make can read the rule: it has no spelling for a line break in a name. */
static bool rule_can_be_written(Compilation *c, const Target *const *targets) {
    const char *rule = rule_targets(c, targets), *name = strchr(rule, '\n') ? rule : NULL;
    for (int i = 0; i < c->module->files.count && !name; i++)
        name = strchr(c->module->files.items[i], '\n') ? c->module->files.items[i] : NULL;
    if (name)
        complain("-MD: make cannot read the name of a file with a line break: '%s'", name);
    return !name;
}

static bool add_depfile(Compilation *c, const Target *const *targets, Outputs *outputs) {
    const Options *o = c->options;
    const char *object = output_path(c, targets[0], true);
    if (!o->depfile && !strcmp(object, "-")) {
        complain("-MD needs -MF when the output is not a file");
        return false;
    }
    LIST(const char *) files = {0};
    for (int i = 0; i < c->module->files.count; i++)
        list_push(c->arena, &files, c->module->files.items[i]);
    char *text = emit_depfile(c->arena, rule_targets(c, targets), files.items, files.count, o->phony);
    list_push(c->arena, outputs, ((Output){depfile_path(c, object), text, strlen(text)}));
    return true;
}

/* Where nobody asks for them this is left out: whether a schedule is closed takes a space of its whole program. */
static void add_schedules(Compilation *c, const Scheduled *scheduled, Text *text) {
    for (int i = 0; c->options->emit_schedule && i < c->module->units.count; i++) {
        const Program *program = scheduled[i].unit->program;
        const Schedule *closed = schedule_closed(c, program, scheduled[i].nest->target, scheduled[i].schedule);
        schedule_print(text, schedule_with_algorithms(c, program, closed));
    }
    text_add(text, "%s", c->variant_schedules.text ? c->variant_schedules.text : "");
    c->variant_schedules = (Text){.arena = c->arena};
}

static bool write_outputs(const Compilation *c, const Outputs *outputs) {
    for (int i = 0; i < outputs->count; i++) {
        const Output *output = &outputs->items[i];
        if (!write_whole(output->path, output->data, output->bytes)) {
            complain("cannot write '%s': %s", output->path, strerror(errno));
            return false;
        }
    }
    return true;
}

/* --- targets --- */

static const Target **make_targets(Compilation *c) {
    const Options *o = c->options;
    const Target **targets = ARENA_ARRAY(c->arena, const Target *, o->targets.count);
    for (int i = 0; i < o->targets.count; i++) {
        targets[i] = find_target(c->arena, o, o->targets.items[i]);
        if (!targets[i])
            return NULL;
        for (int j = 0; j < i; j++)
            if (!strcmp(targets[i]->family->architecture, targets[j]->family->architecture)) {
                complain("targets '%s' and '%s' are of one architecture; an object is for one", targets[j]->name,
                         targets[i]->name);
                return NULL;
            }
    }
    return targets;
}

static bool compile_for_target(Compilation *c, const Target *const *targets, int t, Outputs *outputs, Text *schedules,
                               int *status) {
    const Target *target = targets[t];
    int count = c->module->units.count;
    Scheduled *scheduled = ARENA_ARRAY(c->arena, Scheduled, count + 1);
    Kernel **kernels = ARENA_ARRAY(c->arena, Kernel *, count + 1);
    if (!make_kernels(c, target, scheduled, kernels))
        return false;
    add_schedules(c, scheduled, schedules);
    if (c->options->mode == MODE_RUN) {
        *status = run_kernels(c, kernels, count, target);
        return true;
    }
    Output code = {.path = output_path(c, target, t == 0)};
    if (!add_code(c, kernels, target, &code))
        return false;
    if (t == 0 && c->options->header)
        add_header(c, outputs);
    if (t == 0 && c->options->dependencies && !add_depfile(c, targets, outputs))
        return false;
    list_push(c->arena, outputs, code);
    return true;
}

static int compile_checked(Compilation *c) {
    const Target **targets = make_targets(c);
    if (!targets)
        return 2;
    int target_count = c->options->targets.count, status = 0;
    if (c->options->mode == MODE_SYNTAX) {
        for (int t = 0; t < target_count; t++)
            for (int i = 0; i < c->module->units.count; i++)
                function_of(c, &c->module->units.items[i], targets[t]);
        return 0;
    }
    if (!files_are_apart(c, targets))
        return 1;
    if (c->options->mode != MODE_RUN && c->options->dependencies && !rule_can_be_written(c, targets))
        return 1;
    if (c->options->mode == MODE_RUN && !run_is_possible(c, targets))
        return 1;
    if (c->options->level == LEVEL_TUNE && !c->options->frozen && !outputs_can_be_written(c, targets))
        return 1;
    if (c->options->level == LEVEL_TUNE && !tune_file(c, targets))
        return 1;
    Outputs outputs = {0};
    Text schedules = {.arena = c->arena};
    for (int t = 0; t < target_count; t++)
        if (!compile_for_target(c, targets, t, &outputs, &schedules, &status))
            return 1;
    if (c->options->emit_schedule) {
        Output output = {c->options->emit_schedule, schedules.text ? schedules.text : "", schedules.length};
        list_push(c->arena, &outputs, output);
    }
    return diag_error_count(c->diagnostics) || !write_outputs(c, &outputs) ? 1 : status;
}

static Planner planner_of(const Compilation *c) {
    static const Effort efforts[] = {EFFORT_IDENTITY, EFFORT_FIXED, EFFORT_MODEL, EFFORT_MODEL_MORE, EFFORT_MODEL};
    const Options *o = c->options;
    return (Planner){.arena = c->arena,
                     .effort = efforts[o->level],
                     .seed = o->seed,
                     .complete_tasks = o->level == LEVEL_TUNE,
                     .frozen = o->frozen};
}

static int compile_deep(Compilation *c) {
    int most = 0;
    for (int i = 0; i < c->module->units.count; i++) {
        int stages = c->module->units.items[i].program->stage_count;
        most = stages > most ? stages : most;
    }
    StackLimit before = stack_widen(most);
    int status = compile_checked(c);
    stack_restore(before);
    return status;
}

int compile_file(const Options *options, const char *input) {
    Arena *arena = arena_new();
    Sources sources = {.arena = arena};
    Compilation c = {
        .arena = arena, .variant_schedules = {.arena = arena}, .options = options, .input = input, .sources = &sources};
    c.diagnostics = diag_new(arena, &sources, options->diagnostics);
    if (options->budget > 0)
        c.tune_deadline = monotonic_seconds() + options->budget;
    c.planner = planner_of(&c);
    c.stop = tune_stop();
    int status = check_input(&c) ? 0 : 1;
    if (!status)
        status = compile_deep(&c);
    close_database(&c);
    if (!close_log(&c) && !status)
        status = 1;
    if (diag_finish(c.diagnostics) && !status)
        status = 1;
    for (int i = 0; i < c.codes.count; i++)
        free(c.codes.items[i]);
    arena_free(arena);
    return status;
}
