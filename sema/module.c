/* module.c - the files of a module and the units it makes: imports, exports, schedules.
 *
 * Every def of the user's files is checked by itself, so that errors show even if nothing exports it. Defs of the
 * compiler's library are checked when they are called. Without an export every def of the main file is a unit.
 */
#include "lang/foreign.h"
#include "sema/check.h"

#include <errno.h>
#include <string.h>

static CallFrame module_frame(Checker *checker, Builder *builder, Definition *definition) {
    *builder = (Builder){.checker = checker, .arena = checker->arena};
    return (CallFrame){.builder = builder, .definition = definition, .prefix = ""};
}

/* --- imports --- */

static SourceFile *load_file(Checker *checker, AstFile *ast, const char *path, bool embedded);

static SourceFile *embedded_file(const Checker *checker, const char *name) {
    for (int i = 0; i < checker->files.count; i++)
        if (checker->files.items[i]->embedded && strcmp(checker->files.items[i]->path, name) == 0)
            return checker->files.items[i];
    return NULL;
}

static SourceFile *file_of_source(const Checker *checker, int number) {
    for (int i = 0; i < checker->files.count; i++)
        if (checker->files.items[i]->ast->file == (uint32_t)number)
            return checker->files.items[i];
    return NULL;
}

static SourceFile *parse_source(Checker *checker, uint32_t file, const char *path, bool embedded) {
    AstFile *(*parse)(Arena *, Sources *, uint32_t, Diagnostics *) = embedded ? parse_library : parse_file;
    return load_file(checker, parse(checker->arena, checker->sources, file, checker->diagnostics), path, embedded);
}

/* FOLDER/NAME.tensor, or FOLDER/NAME. *error: why an existing file could not be read. */
static SourceFile *try_folder(Checker *checker, const char *folder, size_t length, const char *name, int *error) {
    static const char *const endings[] = {".tensor", ""};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        char *path = arena_printf(checker->arena, "%.*s%s%s", (int)length, folder, name, endings[i]);
        int known = source_find(checker->sources, path); /* under whatever path: files may import each other in a
                                                          * circle */
        if (known)
            return file_of_source(checker, known);
        int number = source_read(checker->sources, path);
        if (number)
            return parse_source(checker, (uint32_t)number, path, false);
        if (errno != ENOENT && errno != ENOTDIR)
            *error = errno;
    }
    return NULL;
}

static SourceFile *find_embedded(Checker *checker, const char *name) {
    SourceFile *file = embedded_file(checker, name);
    if (file || !checker->options->find_embedded)
        return file;
    uint32_t number = checker->options->find_embedded(checker->options->context, checker->sources, name);
    return number ? parse_source(checker, number, name, true) : NULL;
}

/* An import is looked for beside the importing file, then in the folders of -I, then in the compiler's library. */
static SourceFile *find_import(Checker *checker, const SourceFile *from, const AstImport *import) {
    const char *slash = from->embedded ? NULL : strrchr(from->path, '/');
    int error = 0;
    SourceFile *file = NULL;
    if (import->path[0] == '/')
        file = try_folder(checker, "", 0, import->path, &error);
    else if (!from->embedded)
        file = try_folder(checker, from->path, slash ? (size_t)(slash + 1 - from->path) : 0, import->path, &error);
    for (int i = 0; i < checker->options->path_count && !file && import->path[0] != '/'; i++) {
        const char *folder = arena_printf(checker->arena, "%s/", checker->options->paths[i]);
        file = try_folder(checker, folder, strlen(folder), import->path, &error);
    }
    if (!file)
        file = find_embedded(checker, import->path);
    if (!file && error)
        diag(checker->diagnostics, DIAG_import_unreadable, import->loc, import->path, strerror(error));
    else if (!file)
        diag(checker->diagnostics, DIAG_import_not_found, import->loc, import->path);
    return file;
}

static void add_import(Checker *checker, SourceFile *to, SourceFile *file) {
    for (int i = 0; i < to->imports.count; i++)
        if (to->imports.items[i] == file)
            return;
    if (file != to)
        list_push(checker->arena, &to->imports, file);
}

/* Loads the imports of all loaded files, and of the files that this loads. A list, not recursion: chains of imports may
 * be long. */
static void load_imports(Checker *checker) {
    for (; checker->complete < checker->files.count; checker->complete++) {
        SourceFile *file = checker->files.items[checker->complete];
        for (int i = 0; i < file->ast->imports.count; i++) {
            SourceFile *import = find_import(checker, file, &file->ast->imports.items[i]);
            if (import)
                add_import(checker, file, import);
        }
    }
}

SourceFile *library_file(Checker *checker, const char *name) {
    SourceFile *file = find_embedded(checker, name);
    load_imports(checker);
    return file;
}

/* --- defs --- */

static void add_definition(Checker *checker, SourceFile *file, AstDef *ast) {
    const Definition *first = definition_in(file, ast->name.text);
    if (first != NULL) {
        report_duplicate(checker, &ast->name, &first->ast->name);
        return;
    }
    Definition *definition = ARENA_NEW(checker->arena, Definition);
    definition->ast = ast;
    definition->file = file;
    definition->state = ast->damaged ? CHECK_BAD : CHECK_NEW;
    if (ast->implements.text)
        list_push(checker->arena, &checker->implementations, definition);
    list_push(checker->arena, &file->definitions, definition);
    name_map_set(checker->arena, &file->names, ast->name.text, definition);
}

static void add_combiner(Checker *checker, SourceFile *file, const AstCombiner *ast) {
    const CombinerDefinition *first = combiner_in(file, ast->name.text);
    if (first != NULL) {
        report_duplicate(checker, &ast->name, &first->ast->name);
        return;
    }
    CombinerDefinition *definition = ARENA_NEW(checker->arena, CombinerDefinition);
    *definition = (CombinerDefinition){.ast = ast, .file = file, .state = ast->damaged ? CHECK_BAD : CHECK_NEW};
    list_push(checker->arena, &file->combiners, definition);
    name_map_set(checker->arena, &file->combiner_names, ast->name.text, definition);
}

static SourceFile *load_file(Checker *checker, AstFile *ast, const char *path, bool embedded) {
    SourceFile *file = ARENA_NEW(checker->arena, SourceFile);
    file->number = checker->files.count;
    file->ast = ast;
    file->path = path;
    file->embedded = embedded;
    list_push(checker->arena, &checker->files, file);
    if (!embedded)
        list_push(checker->arena, &checker->module->files, path);
    for (int i = 0; i < ast->defs.count; i++)
        add_definition(checker, file, ast->defs.items[i]);
    for (int i = 0; i < ast->combiners.count; i++)
        add_combiner(checker, file, &ast->combiners.items[i]);
    return file;
}

/* --- schedules --- */

typedef LIST(const Schedule *) Blocks;

static void take_schedules(Checker *checker, Blocks *blocks, const SourceFile *file, const char *subject) {
    for (int i = 0; i < file->ast->schedules.count; i++)
        if (strcmp(file->ast->schedules.items[i]->subject, subject) == 0)
            list_push(checker->arena, blocks, file->ast->schedules.items[i]);
}

/* Collects the blocks for a unit: those that name the export, then those that name the def, then those beside an
 * imported def. The first group that has a block for a target wins. */
static void attach_schedules(Checker *checker, Unit *unit, const Definition *definition) {
    const SourceFile *main_file = checker->files.items[0];
    const char *symbol = unit->program->symbol, *name = definition->ast->name.text;
    Blocks blocks = {0};
    take_schedules(checker, &blocks, main_file, symbol);
    if (strcmp(symbol, name) != 0)
        take_schedules(checker, &blocks, main_file, name);
    if (definition->file != main_file)
        take_schedules(checker, &blocks, definition->file, name);
    unit->schedules = blocks.items;
    unit->schedule_count = blocks.count;
}

static bool is_subject(const SourceFile *file, const char *name) {
    for (int i = 0; i < file->ast->exports.count; i++) {
        const AstExport *export = &file->ast->exports.items[i];
        if (strcmp(export->symbol.text ? export->symbol.text : export->def.text, name) == 0)
            return true;
    }
    return find_definition(file, name) != NULL;
}

/* Refuses two blocks with the same name and target. */
static void check_only_block(Checker *checker, const SourceFile *file, int index) {
    const Schedule *schedule = file->ast->schedules.items[index];
    for (int i = 0; i < index; i++) {
        const Schedule *other = file->ast->schedules.items[i];
        if (strcmp(other->subject, schedule->subject) != 0 || strcmp(other->target, schedule->target) != 0)
            continue;
        diag(checker->diagnostics, DIAG_schedule_twice, schedule->loc, schedule->subject, schedule->target);
        diag_note(checker->diagnostics, other->loc, "first here");
        return;
    }
}

static void check_schedules(Checker *checker, const SourceFile *file) {
    for (int i = 0; i < file->ast->schedules.count; i++) {
        const Schedule *schedule = file->ast->schedules.items[i];
        check_only_block(checker, file, i);
        if (schedule->target && !target_is_known(schedule->target))
            diag(checker->diagnostics, DIAG_schedule_target, schedule->loc, schedule->target);
        if (is_subject(file, schedule->subject))
            continue;
        Nearest nearest = {.name = schedule->subject};
        for (int e = 0; e < file->ast->exports.count; e++)
            if (file->ast->exports.items[e].symbol.text)
                nearest_offer(&nearest, file->ast->exports.items[e].symbol.text);
        for (int d = 0; d < file->definitions.count; d++)
            nearest_offer(&nearest, file->definitions.items[d]->ast->name.text);
        diag(checker->diagnostics, DIAG_schedule_subject, schedule->loc, schedule->subject);
        if (nearest.best)
            diag_hint(checker->diagnostics, "did you mean '%s'?", nearest.best);
    }
}

/* --- exports --- */

/* Whether `symbol` is `name`, perhaps with the f that marks the function for float. */
static bool is_library_name(const char *symbol, const char *name) {
    size_t length = strlen(name);
    return length && strncmp(symbol, name, length) == 0 && (!symbol[length] || !strcmp(symbol + length, "f"));
}

/* Whether objects, or what they are linked with, may call a function of this name. An exported function of that name
 * would be called instead. */
static bool is_library_function(const char *symbol) {
    static const char *const prefixes[] = {"pthread_", "GOMP_", "omp_", "tensorc_"};
    static const char *const names[] = {"clock_gettime", "sched_getaffinity", "sched_getcpu", "sched_setaffinity",
                                        "sigfillset"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], symbol) == 0)
            return true;
    if (is_function_of_c(symbol))
        return true;
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (strncmp(prefixes[i], symbol, strlen(prefixes[i])) == 0)
            return true;
    for (int op = 0; op < OP_COUNT; op++)
        if (is_library_name(symbol, op_info[op].libm))
            return true;
    return false;
}

static bool is_reserved_symbol(const char *symbol) {
    return is_word_of_c(symbol) || strcmp(symbol, "main") == 0 || strncmp(symbol, "TENSORC_", 8) == 0;
}

bool can_be_symbol(const char *name) {
    return !is_reserved_symbol(name) && !is_library_function(name);
}

/* Refuses symbols that are reserved or used twice. */
static bool check_symbol(Checker *checker, AstName symbol) {
    bool reserved = is_reserved_symbol(symbol.text);
    if (reserved || is_library_function(symbol.text)) {
        diag(checker->diagnostics, reserved ? DIAG_reserved_symbol : DIAG_library_symbol, symbol.loc, symbol.text);
        diag_hint(checker->diagnostics, "export it under another name: export ... as NAME");
        return false;
    }
    bool twice = name_map_get(&checker->symbols, symbol.text) != NULL;
    if (twice)
        diag(checker->diagnostics, DIAG_duplicate_symbol, symbol.loc, symbol.text);
    return !twice;
}

static bool check_argument_count(Checker *checker, const Program *program, Loc loc) {
    int count = program->size_count + program->argument_count;
    if (count > UNIT_ARGUMENT_LIMIT)
        diag(checker->diagnostics, DIAG_too_many_arguments, loc, program->symbol, count, UNIT_ARGUMENT_LIMIT);
    return count <= UNIT_ARGUMENT_LIMIT;
}

/* A number, or what a name of a def stands for in the file of the export. */
static bool binding_value(CallFrame *frame, const AstBinding *binding, Bound *bound) {
    if (is_def_parameter(frame->definition->ast, bound->name)) {
        Builder builder;
        Definition nowhere = {.file = frame->builder->checker->files.items[0]};
        CallFrame outside = module_frame(frame->builder->checker, &builder, &nowhere);
        bool good = def_value(&outside, binding, bound);
        frame->failed |= outside.failed;
        return good;
    }
    if (binding->value)
        return constant_value(frame, binding->value, &bound->value);
    ERROR(frame, parameter_not_constant, binding->name.loc, binding->name.text);
    return false;
}

static bool read_bindings(Checker *checker, Definition *definition, const AstBindings *list, Bounds *bounds) {
    Builder builder;
    CallFrame frame = module_frame(checker, &builder, definition);
    for (int i = 0; i < list->count; i++) {
        const AstBinding *binding = &list->items[i];
        Bound bound = {.name = binding->name.text, .loc = binding->name.loc};
        if (is_folder(binding)) {
            bind_folder(&frame, list, binding, bounds);
            continue;
        }
        if (binding->text ? !(bound.array = constant_array(&frame, binding)) : !binding_value(&frame, binding, &bound))
            continue;
        for (int j = 0; j < bounds->count; j++)
            if (strcmp(bounds->items[j].name, bound.name) == 0) {
                ERROR(&frame, duplicate_name, bound.loc, bound.name);
                NOTE(&frame, bounds->items[j].loc, "first here");
            }
        list_push(checker->arena, bounds, bound);
    }
    return !frame.failed;
}

static void offer_sizes(Nearest *nearest, const AstExprs *dims) {
    for (int d = 0; d < dims->count; d++)
        if (dims->items[d]->kind == AST_NAME)
            nearest_offer(nearest, dims->items[d]->name.text);
}

/* Refuses bindings of names that the def does not have. */
static bool check_used(Checker *checker, const Definition *definition, const Bounds *bounds) {
    const AstDef *def = definition->ast;
    bool good = true;
    for (int i = 0; i < bounds->count; i++) {
        const Bound *bound = &bounds->items[i];
        if (bound->used)
            continue;
        good = false;
        Nearest nearest = {.name = bound->name};
        for (int p = 0; p < def->parameters.count; p++)
            nearest_offer(&nearest, def->parameters.items[p].name.text);
        for (int a = 0; a < def->arguments.count; a++)
            offer_sizes(&nearest, &def->arguments.items[a].dims);
        diag(checker->diagnostics, DIAG_no_such_size, bound->loc, def->name.text, bound->name);
        if (nearest.best)
            diag_hint(checker->diagnostics, "did you mean '%s'?", nearest.best);
    }
    return good;
}

static bool check_tune_size(Checker *checker, const Program *program, const Bound *bound) {
    Nearest nearest = {.name = bound->name};
    bool found = false;
    for (int n = 0; n < program->size_count; n++) {
        nearest_offer(&nearest, program->sizes[n]->name);
        found |= strcmp(program->sizes[n]->name, bound->name) == 0;
    }
    if (!found) {
        diag(checker->diagnostics, DIAG_tune_name, bound->loc, program->symbol, bound->name);
        if (nearest.best)
            diag_hint(checker->diagnostics, "did you mean '%s'?", nearest.best);
    } else if (bound->value < 0) {
        diag(checker->diagnostics, DIAG_negative_size, bound->loc, bound->name, (long long)bound->value);
    }
    return found && bound->value >= 0;
}

/* -D fixes the size: a row of tune gives the others. */
static bool is_overridden(const Checker *checker, const Bound *bound) {
    for (int d = 0; d < checker->options->define_count; d++)
        if (strcmp(checker->options->defines[d].name, bound->name) == 0)
            return true;
    return false;
}

/* A row's sizes in the order of the program's: the same for rows of the same sizes in whatever order. */
static const char *row_key(Arena *arena, const Program *program, const struct TuneSizes *row) {
    Text key = {.arena = arena};
    for (int i = 0; i < program->size_count; i++) {
        const struct Binding *binding = find_binding(row->bindings, row->count, program->sizes[i]->name);
        text_add(&key, binding ? "%lld " : "- ", binding ? (long long)binding->value : 0);
    }
    return key.text;
}

/* Whether the row is the first of its sizes: rows that differ in what -D fixes are one. */
static bool is_new_row(Arena *arena, Map *rows, const Program *program, const struct TuneSizes *row) {
    const char *key = row_key(arena, program, row);
    bool new = !name_map_get(rows, key);
    name_map_set(arena, rows, key, rows);
    return new;
}

/* export ... tune (M=1024, N=64), ...: run-time sizes with values to tune for. */
static void read_tune(Checker *checker, Definition *definition, const AstBindings *list, Map *rows, Unit *unit) {
    Bounds bounds = {0};
    if (!read_bindings(checker, definition, list, &bounds))
        return;
    struct TuneSizes tune = {.bindings = ARENA_ARRAY(checker->arena, struct Binding, bounds.count)};
    bool good = true;
    for (int i = 0; i < bounds.count; i++) {
        if (is_overridden(checker, &bounds.items[i]))
            continue;
        good &= check_tune_size(checker, unit->program, &bounds.items[i]);
        tune.bindings[tune.count++] = (struct Binding){bounds.items[i].name, bounds.items[i].value};
    }
    const char *why = NULL;
    if (!good || tune.count == 0 || !is_new_row(checker->arena, rows, unit->program, &tune))
        return;
    if (!program_bind(checker->arena, unit->program, tune.bindings, tune.count, &why))
        diag(checker->diagnostics, DIAG_tune_sizes, bounds.items[0].loc, why);
    else
        unit->tunes[unit->tune_count++] = tune;
}

static void add_unit(Checker *checker, Unit unit) {
    list_push(checker->arena, &checker->module->units, unit);
    name_map_set(checker->arena, &checker->symbols, unit.program->symbol, unit.program);
}

static void make_export(Checker *checker, const AstExport *export) {
    SourceFile *main_file = checker->files.items[0];
    Definition *definition = find_definition(main_file, export->def.text);
    if (!definition) {
        Builder builder;
        Definition nowhere = {.file = main_file};
        CallFrame frame = module_frame(checker, &builder, &nowhere);
        ERROR(&frame, undefined_name, export->def.loc, export->def.text);
        hint_nearest_function(&frame, export->def.text);
        return;
    }
    AstName symbol = export->symbol.text ? export->symbol : export->def;
    Bounds bounds = {0};
    bool good = check_definition(checker, definition, false);
    good &= check_symbol(checker, symbol);
    if (!read_bindings(checker, definition, &export->bindings, &bounds) || !good)
        return;
    Algorithms algorithms = {0};
    diag_context(checker->diagnostics, export->loc, arena_printf(checker->arena, "in the export of '%s'", symbol.text));
    Unit unit = {.loc = symbol.loc};
    unit.program = build_program(checker, definition, &bounds, true, &symbol, &algorithms);
    diag_context(checker->diagnostics, export->loc, NULL);
    if (!check_used(checker, definition, &bounds) || !unit.program ||
        !check_argument_count(checker, unit.program, symbol.loc))
        return;
    attach_schedules(checker, &unit, definition);
    Definition *called = recognise_calls(checker, definition, &bounds, true, unit.program, &algorithms);
    add_alternatives(checker, called, &bounds, true, &unit, &algorithms);
    add_temporaries(checker->arena, &unit);
    add_joined(checker->arena, &unit);
    add_padded(checker->arena, &unit);
    add_channels_last(checker->arena, &unit);
    unit.tunes = ARENA_ARRAY(checker->arena, struct TuneSizes, export->tunes.count);
    Map rows = {0};
    for (int i = 0; i < export->tunes.count; i++)
        read_tune(checker, definition, &export->tunes.items[i], &rows, &unit);
    add_unit(checker, unit);
}

/* --- the module --- */

static void make_unit_of_def(Checker *checker, Definition *definition) {
    if (!check_definition(checker, definition, true) || !check_symbol(checker, definition->ast->name))
        return;
    Algorithms algorithms = {0};
    Unit unit = {.program = definition->program, .loc = definition->ast->name.loc};
    bool replaced = unit.program && checker->implementations.count && !definition->ast->implements.text;
    if (replaced || definition->waits)
        unit.program = build_program(checker, definition, NULL, true, NULL, &algorithms);
    if (!unit.program && definition->waits)
        return;
    if (!unit.program) {
        diag(checker->diagnostics, DIAG_not_a_unit, definition->ast->name.loc, definition->ast->name.text);
        diag_hint(checker->diagnostics, "give its parameters defaults, export it with values, or use -D");
        return;
    }
    if (!check_argument_count(checker, unit.program, definition->ast->name.loc))
        return;
    attach_schedules(checker, &unit, definition);
    Definition *called = recognise_calls(checker, definition, &(Bounds){0}, true, unit.program, &algorithms);
    add_alternatives(checker, called, &(Bounds){0}, true, &unit, &algorithms);
    add_temporaries(checker->arena, &unit);
    add_joined(checker->arena, &unit);
    add_padded(checker->arena, &unit);
    add_channels_last(checker->arena, &unit);
    add_unit(checker, unit);
}

static void check_combiners(Checker *checker) {
    for (int f = 0; f < checker->files.count; f++)
        for (int c = 0; c < checker->files.items[f]->combiners.count && !checker->files.items[f]->embedded; c++)
            if (!diag_limit_reached(checker->diagnostics))
                check_combiner(checker, checker->files.items[f]->combiners.items[c]);
}

/* Where the source gives the symbol of a unit. */
static Loc symbol_loc(const Checker *checker, const Program *program) {
    const AstFile *file = checker->files.items[0]->ast;
    for (int i = 0; i < file->exports.count; i++) {
        const AstName *symbol = &file->exports.items[i].symbol;
        symbol = symbol->text ? symbol : &file->exports.items[i].def;
        if (strcmp(symbol->text, program->symbol) == 0)
            return symbol->loc;
    }
    for (int i = 0; i < file->defs.count; i++)
        if (strcmp(file->defs.items[i]->name.text, program->symbol) == 0)
            return file->defs.items[i]->name.loc;
    return program->loc;
}

/* The functions that an object has beside NAME. */
static const char *const beside_names[] = {"_in", "_workspace_size"};
static const char *const beside_packed_names[] = {"_packed",   "_packed_in",  "_packed_workspace_size", "_packed_size",
                                                  "_pack_all", "_packed_all", "_packed_all_in"};

/* Refuses what another unit is called, if it is called as the function beside this one. */
static void check_beside(Checker *checker, const Program *program, const char *symbol, const char *purpose) {
    const Program *other = name_map_get(&checker->symbols, symbol);
    if (!other)
        return;
    diag(checker->diagnostics, DIAG_duplicate_symbol, symbol_loc(checker, other), other->symbol);
    diag_hint(checker->diagnostics, "export it under another name: export ... as NAME");
    diag_note(checker->diagnostics, symbol_loc(checker, program), "'%s' has a function of this name for %s",
              program->symbol, purpose);
}

static void check_argument_beside(Checker *checker, const Program *program, const char *argument) {
    static const char purpose[] = "const arguments";
    Arena *arena = checker->arena;
    check_beside(checker, program, arena_printf(arena, "%s_pack_%s", program->symbol, argument), purpose);
    check_beside(checker, program, arena_printf(arena, "%s_packed_%s_size", program->symbol, argument), purpose);
}

static void check_symbols_beside(Checker *checker) {
    Arena *arena = checker->arena;
    for (int i = 0; i < checker->module->units.count; i++) {
        const Program *program = checker->module->units.items[i].program;
        for (size_t n = 0; n < sizeof beside_names / sizeof *beside_names; n++)
            check_beside(checker, program, arena_printf(arena, "%s%s", program->symbol, beside_names[n]),
                         "calls with a workspace");
        if (!program_is_packed(program))
            continue;
        for (size_t n = 0; n < sizeof beside_packed_names / sizeof *beside_packed_names; n++)
            check_beside(checker, program, arena_printf(arena, "%s%s", program->symbol, beside_packed_names[n]),
                         "const arguments");
        for (int a = 0; a < program->argument_count; a++)
            if (argument_is_packed(&program->arguments[a]))
                check_argument_beside(checker, program, program->arguments[a].tensor->name);
    }
}

static void check_definitions(Checker *checker, bool defines) {
    for (int f = 0; f < checker->files.count; f++)
        for (int d = 0; d < checker->files.items[f]->definitions.count && !checker->files.items[f]->embedded; d++)
            if (!diag_limit_reached(checker->diagnostics))
                check_definition(checker, checker->files.items[f]->definitions.items[d], defines && f == 0);
}

static void make_units(Checker *checker, const SourceFile *main_file) {
    for (int i = 0; i < main_file->ast->exports.count && !diag_limit_reached(checker->diagnostics); i++)
        make_export(checker, &main_file->ast->exports.items[i]);
    if (main_file->ast->exports.count)
        return;
    for (int i = 0; i < main_file->definitions.count && !diag_limit_reached(checker->diagnostics); i++)
        make_unit_of_def(checker, main_file->definitions.items[i]);
}

/* Warns of options that have no effect. */
static void check_options(Checker *checker) {
    if (checker->options->strict && checker->options->allowed_error > 0)
        diag(checker->diagnostics, DIAG_strict_error, (Loc){0});
    for (int i = 0; i < checker->options->define_count; i++)
        if (!checker->options->defines[i].used)
            diag(checker->diagnostics,
                 checker->options->defines[i].overridden ? DIAG_overridden_define : DIAG_unused_define, (Loc){0},
                 checker->options->defines[i].name);
}

static void check_rule(Checker *checker, const Rule *rule) {
    const PrimArg *never = rule_contradiction(rule);
    if (rule->schedule.target && !target_is_known(rule->schedule.target))
        diag(checker->diagnostics, DIAG_rule_target, rule->schedule.loc, rule->schedule.target, rule->name);
    if (never)
        diag(checker->diagnostics, DIAG_rule_never, never->loc, rule->name);
}

static void take_rules(Checker *checker) {
    for (int f = 0; f < checker->files.count; f++)
        for (int r = 0; r < checker->files.items[f]->ast->rules.count; r++) {
            check_rule(checker, checker->files.items[f]->ast->rules.items[r]);
            list_push(checker->arena, &checker->rules, checker->files.items[f]->ast->rules.items[r]);
        }
}

Module *sema_check(Arena *arena, Sources *sources, AstFile *main_file, SemaOptions *options, Diagnostics *diagnostics) {
    Module *module = ARENA_NEW(arena, Module);
    module->arena = arena;
    Checker checker = {
        .arena = arena, .sources = sources, .options = options, .diagnostics = diagnostics, .module = module};
    SourceFile *file = load_file(&checker, main_file, source_get(sources, main_file->file)->name, false);
    load_imports(&checker);
    check_combiners(&checker);
    check_instrs(&checker);
    take_rules(&checker);
    check_definitions(&checker, main_file->exports.count == 0);
    for (int i = 0; i < checker.files.count; i++)
        check_schedules(&checker, checker.files.items[i]);
    make_units(&checker, file);
    check_symbols_beside(&checker);
    if (diag_error_count(diagnostics) == 0)
        check_options(&checker);
    return module;
}
