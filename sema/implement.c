/* implement.c - defs that implement others: checks what they promise, and makes alternatives of a unit's program with
 * them in place of what they implement.
 *
 * A def that implements another has the header of that def: the same arguments, names and sizes. Its parameters take
 * the values that the implemented def has. A parameter with a value in its brackets fits only where the implemented def
 * has that value. While the program of a unit is made as written, every place where an implementation holds is noted.
 * The alternatives are made of these places.
 */
#include "sema/check.h"

#include <string.h>

enum { COMBINATIONS_LIMIT = 9 }; /* if there are more, some of them are tried: mixed.c */

/* --- what is implemented ------------------------------------------------------------------------------------------ */

static Definition *implemented(const Definition *definition) {
    return find_definition(definition->file, definition->ast->implements.text);
}

static const AstBinding *binding_of(const AstBindings *list, const char *name) {
    for (int i = 0; i < list->count; i++)
        if (strcmp(list->items[i].name.text, name) == 0)
            return &list->items[i];
    return NULL;
}

/* The error of the implementation: a literal from 0 to 1, or 0 if none is given. */
static bool error_of(const AstDef *def, double *error) {
    const AstExpr *e = def->implements_error;
    *error = e == NULL ? 0 : e->kind == AST_REAL ? e->real : (double)e->integer;
    return e == NULL || ((e->kind == AST_REAL || e->kind == AST_INTEGER) && *error < 1);
}

static bool names_implemented(const Definition *other, const Definition *definition) {
    return strcmp(other->ast->implements.text, definition->ast->name.text) == 0;
}

bool may_be_implemented(const Checker *checker, const Definition *definition) {
    for (int d = 0; d < checker->implementations.count; d++)
        if (names_implemented(checker->implementations.items[d], definition))
            return true;
    return false;
}

/* Whether the other, which is parsed then, implements the def. */
static bool implements(const Definition *other, const Definition *definition) {
    if (!names_implemented(other, definition))
        return false;
    ast_complete(other->ast);
    return implemented(other) == definition;
}

bool is_implemented(Checker *checker, const Definition *definition) {
    for (int d = 0; d < checker->implementations.count; d++) {
        const Definition *other = checker->implementations.items[d];
        double error;
        if (implements(other, definition) && error_of(other->ast, &error) && error <= checker->options->allowed_error)
            return true;
    }
    return false;
}

/* --- the header --------------------------------------------------------------------------------------------------- */

static const char *dims_text(Arena *arena, const AstExprs *dims) {
    Text text = {.arena = arena};
    for (int d = 0; d < dims->count; d++) {
        text_add(&text, d ? ", " : "");
        ast_print_expr(&text, dims->items[d]);
    }
    return text.text ? text.text : "";
}

static const char *parameter_text(Arena *arena, const AstParameter *parameter) {
    const char *type = element_info[parameter->type].spelling;
    if (parameter->constant)
        type = arena_printf(arena, "const %s", type);
    if (!parameter->is_tensor)
        return arena_printf(arena, "%s %s", type, parameter->name.text);
    return arena_printf(arena, "%s(%s) %s", type, dims_text(arena, &parameter->dims), parameter->name.text);
}

static const char *result_text(Arena *arena, const AstResult *result) {
    const char *name = result->name.text;
    if (!result->has_type)
        return name;
    return arena_printf(arena, "%s%s(%s) %s", result->inout ? "inout " : "", element_info[result->type].spelling,
                        dims_text(arena, &result->dims), name);
}

static bool same_count(Checker *checker, const AstDef *def, const AstDef *of, const char *what, int count, int wanted) {
    if (count == wanted)
        return true;
    diag(checker->diagnostics, DIAG_implements_count, def->name.loc, def->name.text, count, what, count == 1 ? "" : "s",
         of->name.text, wanted);
    diag_note(checker->diagnostics, of->name.loc, "what it implements");
    return false;
}

static bool same_text(Checker *checker, const AstDef *def, const char *own, Loc loc, const char *wanted, Loc there) {
    if (strcmp(own, wanted) == 0)
        return true;
    diag(checker->diagnostics, DIAG_implements_header, loc, own, def->name.text, wanted);
    diag_note(checker->diagnostics, there, "of what it implements");
    return false;
}

static bool check_headers(Checker *checker, const AstDef *def, const AstDef *of) {
    Arena *arena = checker->arena;
    int arguments = def->arguments.count, results = def->results.count;
    if (!same_count(checker, def, of, "argument", arguments, of->arguments.count) ||
        !same_count(checker, def, of, "result", results, of->results.count))
        return false;
    bool good = true;
    for (int i = 0; i < arguments; i++) {
        const AstParameter *own = &def->arguments.items[i], *other = &of->arguments.items[i];
        good &= same_text(checker, def, parameter_text(arena, own), own->loc, parameter_text(arena, other), other->loc);
    }
    for (int i = 0; i < results; i++) {
        const AstResult *own = &def->results.items[i], *other = &of->results.items[i];
        good &= same_text(checker, def, result_text(arena, own), own->loc, result_text(arena, other), other->loc);
    }
    return good;
}

/* Every parameter of the implemented def is a parameter of this one or has a value in the brackets. All others need
 * defaults. */
static bool check_parameters(Checker *checker, const AstDef *def, const AstDef *of) {
    bool good = true;
    for (int i = 0; i < of->parameters.count; i++) {
        const char *name = of->parameters.items[i].name.text;
        if (binding_of(&def->parameters, name) || binding_of(&def->implements_parameters, name))
            continue;
        diag(checker->diagnostics, DIAG_implements_parameter, def->implements.loc, def->name.text, name, of->name.text);
        diag_hint(checker->diagnostics, "say for which values it holds: implements %s[%s=...]", of->name.text, name);
        good = false;
    }
    for (int i = 0; i < def->implements_parameters.count; i++) {
        const AstName *name = &def->implements_parameters.items[i].name;
        if (binding_of(&of->parameters, name->text))
            continue;
        diag(checker->diagnostics, DIAG_no_such_parameter, name->loc, of->name.text, name->text);
        good = false;
    }
    for (int i = 0; i < def->parameters.count; i++) {
        const AstBinding *own = &def->parameters.items[i];
        if (own->value || binding_of(&of->parameters, own->name.text))
            continue;
        diag(checker->diagnostics, DIAG_implements_default, own->name.loc, own->name.text, of->name.text);
        good = false;
    }
    return good;
}

/* What a def means that calls another def for each of its calls is not the same for all of them. */
static bool check_no_defs(Checker *checker, const AstDef *def, const AstDef *of) {
    const AstDef *wrong = has_def_parameters(def) ? def : has_def_parameters(of) ? of : NULL;
    if (wrong)
        diag(checker->diagnostics, DIAG_implements_def, def->implements.loc, wrong->name.text);
    return !wrong;
}

static bool check_error(Checker *checker, const AstDef *def) {
    double error;
    if (error_of(def, &error))
        return true;
    diag(checker->diagnostics, DIAG_implements_error, def->implements_error->loc);
    return false;
}

/* --- conditions --------------------------------------------------------------------------------------------------- */

/* Makes the sizes and parameters of a def known to its conditions. */
static void enter_header(Checker *checker, Definition *definition, Builder *builder, CallFrame *frame) {
    *builder = (Builder){.checker = checker, .arena = checker->arena, .names_only = true};
    *frame = (CallFrame){.builder = builder, .definition = definition, .prefix = ""};
    bind_parameters(frame, NULL, false);
    for (int i = 0; i < definition->ast->arguments.count; i++) {
        const AstExprs *dims = &definition->ast->arguments.items[i].dims;
        for (int d = 0; d < dims->count; d++)
            if (dims->items[d]->kind == AST_NAME && !frame_symbol(frame, dims->items[d]->name.text)) {
                Var *size = var_new(checker->arena, VAR_SIZE, TYPE_INT64, dims->items[d]->name.text, NULL);
                frame_add(frame, SYMBOL_SIZE, size->name, dims->items[d]->loc)->value = expr_var(checker->arena, size);
            }
    }
}

static bool check_conditions(Checker *checker, const AstDef *def, Definition *of) {
    Builder builder;
    CallFrame frame;
    enter_header(checker, of, &builder, &frame);
    bool good = true;
    for (int i = 0; i < def->implements_wheres.count; i++) {
        const AstWhere *where = &def->implements_wheres.items[i];
        if (where->kind != WHERE_PREDICATE) {
            diag(checker->diagnostics, DIAG_implements_where, where->loc);
            good = false;
        } else {
            good &= size_condition(&frame, where->value) != NULL;
        }
    }
    for (int i = 0; i < def->implements_parameters.count; i++) {
        const AstBinding *binding = &def->implements_parameters.items[i];
        int64_t value;
        if (!binding->value) {
            diag(checker->diagnostics, DIAG_parameter_not_constant, binding->name.loc, binding->name.text);
            good = false;
        } else {
            good &= constant_value(&frame, binding->value, &value);
        }
    }
    return good;
}

/* Adds a binding for each NAME == INTEGER, alone or joined by &&. */
static void add_equalities(Checker *checker, const AstExpr *condition, Bounds *bounds) {
    if (condition->kind != AST_OPERATOR)
        return;
    const AstExpr *a = condition->args.items[0], *b = condition->args.count > 1 ? condition->args.items[1] : NULL;
    if (condition->op == OP_AND) {
        add_equalities(checker, a, bounds);
        add_equalities(checker, b, bounds);
    } else if (condition->op == OP_EQ && a->kind == AST_NAME && b->kind == AST_INTEGER) {
        list_push(checker->arena, bounds, ((Bound){.name = a->name.text, .value = b->integer, .loc = a->loc}));
    }
}

Bounds *implementation_bounds(Checker *checker, const AstDef *def) {
    Bounds *bounds = ARENA_NEW(checker->arena, Bounds);
    for (int i = 0; i < def->implements_wheres.count; i++)
        if (def->implements_wheres.items[i].kind == WHERE_PREDICATE)
            add_equalities(checker, def->implements_wheres.items[i].value, bounds);
    return bounds;
}

bool check_implementation(Checker *checker, Definition *definition) {
    const AstDef *def = definition->ast;
    Definition *of = implemented(definition);
    if (of == NULL || of->ast->damaged) {
        Builder builder;
        CallFrame frame = {.builder = &builder, .definition = definition, .prefix = ""};
        builder = (Builder){.checker = checker, .arena = checker->arena};
        if (of == NULL) {
            ERROR(&frame, undefined_name, def->implements.loc, def->implements.text);
            hint_nearest_function(&frame, def->implements.text);
        }
        return false;
    }
    if (of->ast->implements.text || of == definition) {
        diag(checker->diagnostics, DIAG_implements_chain, def->implements.loc, of->ast->name.text);
        return false;
    }
    if (!check_no_defs(checker, def, of->ast))
        return false;
    bool good = check_headers(checker, def, of->ast);
    good &= check_parameters(checker, def, of->ast);
    good &= check_error(checker, def);
    return good && check_conditions(checker, def, of);
}

/* --- results ------------------------------------------------------------------------------------------------------ */

static const char *tensor_text(Arena *arena, const Tensor *tensor) {
    Text text = {.arena = arena};
    text_add(&text, "%s(", element_info[tensor->type].spelling);
    for (int d = 0; d < tensor->rank; d++)
        text_add(&text, "%s%s", d ? ", " : "", expr_text(arena, tensor->dims[d]));
    text_add(&text, ")");
    return text.text;
}

/* Whether two programs with the same header have the same outputs. Their sizes have the same names. */
static bool same_outputs(Checker *checker, const Program *own, const Program *other, const AstDef *def) {
    Arena *arena = checker->arena;
    for (int i = 0; i < own->argument_count; i++) {
        const Tensor *a = own->arguments[i].tensor, *b = other->arguments[i].tensor;
        if (a == NULL || a->role != ROLE_OUTPUT)
            continue;
        bool same = a->type == b->type && a->rank == b->rank;
        for (int d = 0; same && d < a->rank; d++)
            same = strcmp(expr_text(arena, a->dims[d]), expr_text(arena, b->dims[d])) == 0;
        if (same)
            continue;
        if (def)
            diag(checker->diagnostics, DIAG_implements_result, a->loc, a->name, tensor_text(arena, a),
                 tensor_text(arena, b));
        return false;
    }
    return true;
}

static bool same_signature(Checker *checker, const Program *own, const Program *other, const AstDef *def) {
    return own->argument_count == other->argument_count && own->size_count == other->size_count &&
           same_outputs(checker, own, other, def);
}

bool check_implemented_results(Checker *checker, const Definition *definition) {
    const AstDef *def = definition->ast;
    Definition *of = implemented(definition);
    if (!check_definition(checker, of, false))
        return false;
    if (definition->waits || of->waits)
        return true;
    Bounds *bounds = implementation_bounds(checker, def);
    Builder builder;
    CallFrame frame;
    enter_header(checker, of, &builder, &frame);
    for (int i = 0; i < def->implements_parameters.count; i++) {
        const AstBinding *binding = &def->implements_parameters.items[i];
        Bound bound = {.name = binding->name.text, .loc = binding->name.loc};
        if (constant_value(&frame, binding->value, &bound.value))
            list_push(checker->arena, bounds, bound);
    }
    for (int i = 0; i < of->ast->parameters.count; i++) /* Parameters of both, without a default. */
        if (!of->ast->parameters.items[i].value &&
            !binding_of(&def->implements_parameters, of->ast->parameters.items[i].name.text))
            return true;
    const Program *other = build_program(checker, of, bounds, false, NULL, NULL);
    return other != NULL && same_signature(checker, definition->program, other, def);
}

/* --- places ------------------------------------------------------------------------------------------------------- */

static bool symbol_value(const CallFrame *frame, const char *name, int64_t *value) {
    const Symbol *symbol = frame_symbol(frame, name);
    return symbol && symbol->kind == SYMBOL_SIZE && symbol->value && expr_is_int(symbol->value, value);
}

static bool parameters_hold(CallFrame *frame, const AstDef *def) {
    for (int i = 0; i < def->implements_parameters.count; i++) {
        const AstBinding *binding = &def->implements_parameters.items[i];
        int64_t value, wanted;
        if (!symbol_value(frame, binding->name.text, &value) || !constant_value(frame, binding->value, &wanted) ||
            value != wanted)
            return false;
    }
    return true;
}

/* Whether all conditions are known to hold. */
static bool wheres_hold(CallFrame *frame, const AstWheres *wheres) {
    for (int i = 0; i < wheres->count; i++) {
        const Expr *condition = size_condition(frame, wheres->items[i].value);
        int64_t value;
        if (!condition || !expr_is_int(condition, &value) || value == 0)
            return false;
    }
    return true;
}

/* The parameters of the implemented def that this def has too, with their values. */
static Bounds passed_parameters(const CallFrame *frame, const AstDef *def) {
    Bounds bounds = {0};
    for (int i = 0; i < def->parameters.count; i++) {
        Bound bound = {.name = def->parameters.items[i].name.text, .loc = frame->call};
        if (binding_of(&frame->definition->ast->parameters, bound.name) &&
            symbol_value(frame, bound.name, &bound.value))
            list_push(frame->builder->arena, &bounds, bound);
    }
    return bounds;
}

static void note_place(CallFrame *frame, const char *name, Definition *definition) {
    Checker *checker = frame->builder->checker;
    Replacement place = {.name = name, .definition = definition};
    error_of(definition->ast, &place.error);
    if (place.error > checker->options->allowed_error || !check_definition(checker, definition, false) ||
        !parameters_hold(frame, definition->ast) || !wheres_hold(frame, &definition->ast->implements_wheres))
        return;
    place.parameters = passed_parameters(frame, definition->ast);
    place.reuse = elements_for_each_weight(frame);
    list_push(checker->arena, &frame->builder->algorithms->found, place);
}

void note_places(CallFrame *frame, const char *name) {
    const Checker *checker = frame->builder->checker;
    if (!frame->builder->algorithms || frame->builder->algorithms->chosen || checker->options->strict ||
        !wheres_hold(frame, &frame->definition->ast->wheres))
        return;
    for (int d = 0; d < checker->implementations.count; d++) {
        Definition *definition = checker->implementations.items[d];
        if (implements(definition, frame->definition))
            note_place(frame, name, definition);
    }
}

static Replacement *chosen_at(const Algorithms *algorithms, const char *name) {
    for (int i = 0; algorithms && i < algorithms->chosen_count; i++)
        if (strcmp(algorithms->chosen[i].name, name) == 0)
            return &algorithms->chosen[i];
    return NULL;
}

CallFrame *enter_chosen(CallFrame *callee, const AstExpr *call, Actual *actuals, const char *name) {
    Replacement *place = chosen_at(callee->builder->algorithms, name);
    if (!place) {
        note_places(callee, name);
        return callee;
    }
    CallFrame *frame = ARENA_NEW(callee->builder->arena, CallFrame);
    *frame = (CallFrame){.builder = callee->builder,
                         .caller = callee->caller,
                         .definition = place->definition,
                         .call = callee->call,
                         .prefix = callee->prefix,
                         .begins = callee->begins};
    place->used = true;
    return bind_parameters(frame, &place->parameters, false) && pass_arguments(frame, call, actuals) ? frame : NULL;
}

/* --- alternatives ------------------------------------------------------------------------------------------------- */

/* What binds the sizes, parameters and arrays of an implementation that replaces the whole unit. */
static Bounds bounds_of_whole(Checker *checker, const AstDef *of, const Bounds *bounds, const Replacement *place) {
    Bounds all = {0};
    for (int i = 0; i < bounds->count; i++)
        if (!binding_of(&of->parameters, bounds->items[i].name))
            list_push(checker->arena, &all, bounds->items[i]);
    for (int i = 0; i < place->parameters.count; i++)
        list_push(checker->arena, &all, place->parameters.items[i]);
    return all;
}

static void name_algorithms(Program *program, const Algorithms *algorithms) {
    program->algorithms = ARENA_ARRAY(program->arena, struct Algorithm, algorithms->chosen_count);
    for (int i = 0; i < algorithms->chosen_count; i++) {
        const Replacement *place = &algorithms->chosen[i];
        program->algorithms[program->algorithm_count++] =
            (struct Algorithm){place->name, place->definition->ast->name.text, place->error, false, false};
    }
}

static void add_alternative(Checker *checker, Definition *definition, const Bounds *bounds, bool defines, Unit *unit,
                            Replacement *chosen, int count) {
    Algorithms algorithms = {.chosen_count = count, .chosen = chosen};
    Replacement *whole = chosen_at(&algorithms, "");
    Bounds all = *bounds;
    if (whole) {
        all = bounds_of_whole(checker, definition->ast, bounds, whole);
        definition = whole->definition;
        whole->used = true;
    }
    AstName symbol = {.text = unit->program->symbol, .loc = unit->program->loc};
    Program *program = build_program(checker, definition, &all, defines, &symbol, &algorithms);
    for (int i = 0; i < count; i++)
        if (!chosen[i].used)
            return;
    if (!program || program->requirement_count != unit->program->requirement_count ||
        !same_signature(checker, program, unit->program, NULL))
        return;
    program->meaning = unit->program;
    name_algorithms(program, &algorithms);
    unit->alternatives[unit->alternative_count++] = program;
}

static int distinct_places(const Algorithms *algorithms, const char **names) {
    int count = 0;
    for (int i = 0; i < algorithms->found.count; i++) {
        int known = 0;
        while (known < count && strcmp(names[known], algorithms->found.items[i].name) != 0)
            known++;
        if (known == count)
            names[count++] = algorithms->found.items[i].name;
    }
    return count;
}

static int options_at(const Algorithms *algorithms, const char *name) {
    int count = 1; /* as written */
    for (int i = 0; i < algorithms->found.count; i++)
        count += strcmp(algorithms->found.items[i].name, name) == 0;
    return count;
}

/* Choice number `number`: one digit for each place, where 0 means "as written". */
static ChosenPlaces choose(Arena *arena, const Algorithms *algorithms, const char *const *names, int name_count,
                           int number) {
    ChosenPlaces chosen = {0};
    for (int n = 0; n < name_count; n++) {
        int options = options_at(algorithms, names[n]), option = number % options;
        number /= options;
        for (int i = 0; i < algorithms->found.count; i++)
            if (strcmp(algorithms->found.items[i].name, names[n]) == 0 && --option == 0)
                list_push(arena, &chosen, algorithms->found.items[i]);
    }
    return chosen;
}

/* Takes each implementation wherever it holds. */
static void add_everywhere(Arena *arena, const Algorithms *algorithms, ChosenList *list) {
    for (int first = 0; first < algorithms->found.count; first++) {
        ChosenPlaces chosen = {0};
        bool done = false; /* for an earlier place */
        for (int i = 0; i < algorithms->found.count; i++)
            if (algorithms->found.items[i].definition == algorithms->found.items[first].definition) {
                done |= i < first;
                list_push(arena, &chosen, algorithms->found.items[i]);
            }
        if (!done)
            list_push(arena, list, chosen);
    }
}

static const Replacement *found_for(const Algorithms *algorithms, const Prim *prim) {
    const PrimArg *at = prim_keyword(prim, "at");
    for (int i = 0; prim->op == PRIM_ALGORITHM && i < algorithms->found.count; i++) {
        const Replacement *found = &algorithms->found.items[i];
        if (strcmp(found->definition->ast->name.text, prim->args[0].name) == 0 &&
            strcmp(found->name, at ? at->name : "") == 0)
            return found;
    }
    return NULL;
}

/* What the blocks of the source name. */
static void add_named(Arena *arena, const Algorithms *algorithms, const Unit *unit, ChosenList *list) {
    for (int s = 0; s < unit->schedule_count; s++) {
        ChosenPlaces chosen = {0};
        for (int p = 0; p < unit->schedules[s]->count; p++) {
            const Replacement *found = found_for(algorithms, &unit->schedules[s]->prims[p]);
            if (found)
                list_push(arena, &chosen, *found);
        }
        if (chosen.count > 0)
            list_push(arena, list, chosen);
    }
}

/* All combinations, or if they are too many those of a kind, and those that blocks name. */
static ChosenList list_choices(Arena *arena, const Algorithms *algorithms, const Unit *unit) {
    ChosenList list = {0};
    int combinations = 1;
    const char **names = ARENA_ARRAY(arena, const char *, algorithms->found.count + 1);
    int name_count = distinct_places(algorithms, names);
    for (int n = 0; n < name_count && combinations <= COMBINATIONS_LIMIT; n++)
        combinations *= options_at(algorithms, names[n]);
    if (combinations > COMBINATIONS_LIMIT) {
        add_everywhere(arena, algorithms, &list);
        add_mixed(arena, algorithms, &list);
        add_named(arena, algorithms, unit, &list);
        return list;
    }
    for (int i = 1; i < combinations; i++)
        list_push(arena, &list, choose(arena, algorithms, names, name_count, i));
    return list;
}

void add_alternatives(Checker *checker, Definition *definition, const Bounds *bounds, bool defines, Unit *unit,
                      const Algorithms *algorithms) {
    ChosenList list = list_choices(checker->arena, algorithms, unit);
    unit->alternatives = ARENA_ARRAY(checker->arena, Program *, list.count + 1);
    for (int i = 0; i < list.count; i++)
        add_alternative(checker, definition, bounds, defines, unit, list.items[i].items, list.items[i].count);
}

void move_requirements(Arena *arena, Program *program, const int *places) {
    const Requirement *before = program->requirements;
    program->requirements = ARENA_ARRAY(arena, Requirement, program->requirement_count);
    for (int r = 0; r < program->requirement_count; r++) {
        program->requirements[r] = before[r];
        if (before[r].after >= 0)
            program->requirements[r].after = places[before[r].after];
    }
}

void add_automatic(Arena *arena, Unit *unit, Program *program, const char *name) {
    program->meaning = unit->program;
    program->algorithm_count = 1;
    program->algorithms = ARENA_NEW(arena, struct Algorithm);
    *program->algorithms = (struct Algorithm){.place = "", .name = name, .automatic = true};
    Program **alternatives = ARENA_ARRAY(arena, Program *, unit->alternative_count + 1);
    for (int i = 0; i < unit->alternative_count; i++)
        alternatives[i] = unit->alternatives[i];
    alternatives[unit->alternative_count++] = program;
    unit->alternatives = alternatives;
}
