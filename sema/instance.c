/* instance.c - a def with its parameters, sizes and arguments bound: checked by itself, or made for a unit.
 *
 * An integer parameter takes its value from a bracket or an export, else from -D, else from its default. A size takes
 * its value from an export, else from -D; else it is a run-time size. Run-time sizes are in the order of their first
 * appearance.
 */
#include "sema/check.h"

#include <string.h>

/* --- values by name --- */

static Bound *find_bound(Bounds *bounds, const char *name) {
    for (int i = 0; bounds && i < bounds->count; i++)
        if (strcmp(bounds->items[i].name, name) == 0)
            return &bounds->items[i];
    return NULL;
}

static Define *find_define(const CallFrame *frame, const char *name) {
    SemaOptions *options = frame->builder->checker->options;
    for (int i = options->define_count - 1; i >= 0; i--)
        if (strcmp(options->defines[i].name, name) == 0)
            return &options->defines[i];
    return NULL;
}

static void note_binding(CallFrame *frame, const char *name, int64_t value) {
    struct Binding binding = {name, value};
    if (!frame->caller)
        list_push(frame->builder->arena, &frame->builder->bounds, binding);
}

/* The value that is bound to a name; false when there is none. */
static bool bound_value(CallFrame *frame, Bounds *bounds, bool defines, const char *name, Loc *loc, int64_t *value) {
    Bound *bound = find_bound(bounds, name);
    Define *define = find_define(frame, name);
    if (define && defines)
        *(bound ? &define->overridden : &define->used) = true;
    if (bound) {
        bound->used = true;
        *value = bound->value;
        *loc = bound->loc;
    } else if (define && defines) {
        *value = define->value;
    } else {
        return false;
    }
    note_binding(frame, name, *value);
    return true;
}

Expr *size_value(CallFrame *frame, const AstExpr *ast) {
    Statement s = {.frame = frame, .builder = frame->builder};
    Typed size = translate(&s, ast);
    if (!size.expr)
        return NULL;
    if (s.indices.count) {
        report_index(&s, s.indices.items[0]);
        return NULL;
    }
    if (!size.index || size.type == TYPE_BOOL || s.sites.count || is_data_dependent(size.expr)) {
        ERROR(frame, not_a_size, ast->loc);
        return NULL;
    }
    return size_normal(frame->builder->arena, size.expr);
}

bool constant_value(CallFrame *frame, const AstExpr *ast, int64_t *value) {
    Expr *e = size_value(frame, ast);
    if (!e)
        return false;
    if (expr_is_int(e, value))
        return true;
    *value = 1;
    if (frame->builder->names_only)
        return true;
    ERROR(frame, not_a_constant, ast->loc, expr_text(frame->builder->arena, e));
    return false;
}

/* --- parameters --- */

static bool name_is_free(CallFrame *frame, const char *name, Loc loc) {
    Symbol *symbol = frame_symbol(frame, name);
    if (!symbol)
        return true;
    ERROR(frame, duplicate_name, loc, name);
    NOTE(frame, symbol->loc, "first here");
    return false;
}

/* A parameter that has no value yet: unknown, like a run-time size. */
static Expr *any_value(CallFrame *frame, const char *name) {
    Arena *arena = frame->builder->arena;
    return expr_var(arena, var_new(arena, VAR_SIZE, TYPE_INT64, name, NULL));
}

/* The value of a parameter; NULL after an error. */
static Expr *parameter_value(CallFrame *frame, const AstBinding *parameter, Bounds *bounds, bool defines) {
    const char *name = parameter->name.text;
    Loc loc = parameter->name.loc;
    const Bound *bound = find_bound(bounds, name);
    int64_t value;
    if (bound_value(frame, bounds, defines, name, &loc, &value))
        return bound && bound->waits ? any_value(frame, name) : expr_int(frame->builder->arena, value);
    if (parameter->value) {
        Expr *e = size_value(frame, parameter->value);
        if (!e || (frame->builder->names_only && !expr_is_int(e, NULL)))
            return e ? any_value(frame, name) : NULL;
        if (!constant_value(frame, parameter->value, &value))
            return NULL;
        note_binding(frame, name, value);
        return expr_int(frame->builder->arena, value);
    }
    if (frame->builder->names_only)
        return any_value(frame, name);
    ERROR(frame, parameter_unbound, frame->call, parameter->name.text, frame->definition->ast->name.text);
    NOTE(frame, loc, "declared here");
    if (frame->caller)
        HINT(frame, "give it in brackets: %s[%s=...](...)", frame->definition->ast->name.text, parameter->name.text);
    else
        HINT(frame, "bind it: export %s(%s=...), or use -D%s=...", frame->definition->ast->name.text,
             parameter->name.text, parameter->name.text);
    return NULL;
}

bool bind_parameters(CallFrame *frame, Bounds *bounds, bool defines) {
    const AstDef *def = frame->definition->ast;
    bool good = true;
    for (int i = 0; i < def->parameters.count; i++) {
        const AstBinding *parameter = &def->parameters.items[i];
        if (parameter->is_def) {
            good &= name_is_free(frame, parameter->name.text, parameter->name.loc) &&
                    bind_def_parameter(frame, parameter, find_bound(bounds, parameter->name.text));
            continue;
        }
        Expr *value = name_is_free(frame, parameter->name.text, parameter->name.loc)
                          ? parameter_value(frame, parameter, bounds, defines)
                          : NULL;
        if (!value) {
            good = false;
            continue;
        }
        Symbol *symbol = frame_add(frame, SYMBOL_SIZE, parameter->name.text, parameter->name.loc);
        symbol->parameter = true;
        symbol->value = value;
    }
    return good;
}

/* --- the arguments of a unit --- */

static Expr *new_size(CallFrame *frame, AstName name) {
    Var *size = var_new(frame->builder->arena, VAR_SIZE, TYPE_INT64, name.text, NULL);
    size->loc = name.loc;
    list_push(frame->builder->arena, &frame->builder->sizes, size);
    return expr_var(frame->builder->arena, size);
}

static void bind_size(CallFrame *frame, AstName name, Bounds *bounds, bool defines) {
    if (frame_symbol(frame, name.text))
        return;
    int64_t value;
    Loc loc = name.loc;
    bool bound = bound_value(frame, bounds, defines, name.text, &loc, &value);
    if (bound && value < 0) {
        ERROR(frame, negative_size, loc, name.text, (long long)value);
        value = 0;
    }
    frame_add(frame, SYMBOL_SIZE, name.text, name.loc)->value =
        bound ? expr_int(frame->builder->arena, value) : new_size(frame, name);
}

static void bind_sizes(CallFrame *frame, const AstExprs *dims, Bounds *bounds, bool defines) {
    for (int d = 0; d < dims->count; d++)
        if (dims->items[d]->kind == AST_NAME)
            bind_size(frame, dims->items[d]->name, bounds, defines);
}

typedef LIST(const Var *) Sizes;

/* Appends the size of that name to `ordered`. */
static void order_size(Builder *builder, Sizes *ordered, const char *name) {
    for (int i = 0; i < ordered->count; i++)
        if (strcmp(ordered->items[i]->name, name) == 0)
            return;
    for (int i = 0; i < builder->sizes.count; i++)
        if (strcmp(builder->sizes.items[i]->name, name) == 0)
            list_push(builder->arena, ordered, builder->sizes.items[i]);
}

static void order_sizes_of(Builder *builder, Sizes *ordered, const AstExprs *dims) {
    for (int d = 0; d < dims->count; d++) {
        if (dims->items[d]->kind == AST_NAME)
            order_size(builder, ordered, dims->items[d]->name.text);
        order_sizes_of(builder, ordered, &dims->items[d]->args);
    }
}

/* Sorts sizes by their first appearance, wherever they are declared. In float(M + 1) a, float(N) b, float(M) c size M
 * comes before N. */
static void order_sizes(CallFrame *frame) {
    const AstDef *def = frame->definition->ast;
    Sizes ordered = {0};
    for (int i = 0; i < def->arguments.count; i++)
        order_sizes_of(frame->builder, &ordered, &def->arguments.items[i].dims);
    for (int i = 0; i < def->results.count; i++)
        order_sizes_of(frame->builder, &ordered, &def->results.items[i].dims);
    ENSURE(ordered.count == frame->builder->sizes.count);
    for (int i = 0; i < ordered.count; i++)
        frame->builder->sizes.items[i] = ordered.items[i];
}

static bool check_dimension(CallFrame *frame, const AstExpr *ast, const Expr *extent) {
    int64_t value;
    if (!expr_is_int(extent, &value) || value >= 0)
        return true;
    ERROR(frame, negative_size, ast->loc, frame->definition->ast->name.text, (long long)value);
    return false;
}

/* A size is a name that stands alone somewhere in the header. */
static void hint_size(CallFrame *frame, const AstExpr *dim) {
    const AstResults *results = &frame->definition->ast->results;
    const AstResult *result = results->count && !results->items[0].has_dims ? &results->items[0] : NULL;
    if (dim->kind == AST_NAME && !frame_symbol(frame, dim->name.text))
        HINT(frame, "a size stands alone in an argument or in a result, as in -> (%s(%s) %s)",
             result && result->has_type ? element_info[result->type].spelling : "float", dim->name.text,
             result ? result->name.text : "y");
    for (int i = 0; i < dim->args.count; i++)
        hint_size(frame, dim->args.items[i]);
}

/* After an error in its header nothing more is said of an argument. */
static void add_poisoned(CallFrame *frame, const AstParameter *parameter) {
    if (frame_symbol(frame, parameter->name.text))
        return;
    Variable *variable = new_variable(frame, parameter->name.text, parameter->name.loc);
    variable->input = true;
    variable->poisoned = true;
}

static void add_input_tensor(CallFrame *frame, const AstParameter *parameter, Bounds *bounds) {
    Builder *builder = frame->builder;
    const Bound *bound = find_bound(bounds, parameter->name.text);
    Tensor *tensor = new_tensor(builder, parameter->type, parameter->dims.count, parameter->loc);
    tensor->name = parameter->name.text;
    tensor->role = ROLE_INPUT;
    tensor->constant = parameter->constant;
    for (int d = 0; d < tensor->rank; d++) {
        const AstExpr *dim = parameter->dims.items[d];
        tensor->dims[d] = size_value(frame, dim);
        if (!tensor->dims[d])
            hint_size(frame, dim);
        if (!tensor->dims[d] || !check_dimension(frame, dim, tensor->dims[d])) {
            add_poisoned(frame, parameter);
            return;
        }
        tensor->dim_names[d] = dim->kind == AST_NAME ? dim->name.text : NULL;
    }
    if (!name_is_free(frame, parameter->name.text, parameter->name.loc))
        return;
    Variable *variable = new_variable(frame, parameter->name.text, parameter->name.loc);
    variable->input = true;
    if (bound && bound->array)
        make_constant(frame, bound, tensor);
    else
        list_push(builder->arena, &builder->inputs, (Argument){.tensor = tensor});
    variable->view = (View){.tensor = tensor, .rank = tensor->rank, .dims = tensor->dims};
    variable->view.fixed = fixed_by_values(builder->arena, &parameter->dims, tensor);
    check_tensor_size(frame, tensor, tensor->name);
}

static void add_input_scalar(CallFrame *frame, const AstParameter *parameter, Bounds *bounds) {
    Builder *builder = frame->builder;
    if (!name_is_free(frame, parameter->name.text, parameter->name.loc))
        return;
    Var *scalar = var_new(builder->arena, VAR_SCALAR, parameter->type, parameter->name.text, NULL);
    scalar->loc = parameter->loc;
    frame_add(frame, SYMBOL_SCALAR, scalar->name, parameter->name.loc)->value = expr_var(builder->arena, scalar);
    list_push(builder->arena, &builder->inputs, (Argument){.scalar = scalar});
}

static void bind_arguments(CallFrame *frame, Bounds *bounds, bool defines) {
    const AstDef *def = frame->definition->ast;
    for (int i = 0; i < def->arguments.count; i++)
        bind_sizes(frame, &def->arguments.items[i].dims, bounds, defines);
    for (int i = 0; i < def->results.count; i++)
        bind_sizes(frame, &def->results.items[i].dims, bounds, defines);
    order_sizes(frame);
    for (int i = 0; i < def->arguments.count; i++) {
        const AstParameter *parameter = &def->arguments.items[i];
        (parameter->is_tensor ? add_input_tensor : add_input_scalar)(frame, parameter, bounds);
    }
}

/* --- conditions of the header --- */

Expr *size_condition(CallFrame *frame, const AstExpr *ast) {
    Statement s = {.frame = frame, .builder = frame->builder};
    Expr *condition = translate_condition(&s, ast);
    if (!condition)
        return NULL;
    if (!s.indices.count && !s.sites.count && !is_data_dependent(condition))
        return condition;
    if (s.indices.count)
        report_index(&s, s.indices.items[0]);
    else
        ERROR(frame, not_a_size, ast->loc);
    return NULL;
}

static bool report_condition(CallFrame *frame, const AstWhere *where) {
    Text text = {.arena = frame->builder->arena};
    ast_print_expr(&text, where->value);
    ERROR(frame, def_fails, frame->call, frame->definition->ast->name.text, text.text);
    NOTE(frame, where->loc, "declared here");
    return false;
}

static bool check_header_condition(CallFrame *frame, const AstWhere *where) {
    Expr *condition = where->kind == WHERE_PREDICATE ? size_condition(frame, where->value) : NULL;
    int64_t holds;
    if (where->kind != WHERE_PREDICATE)
        ERROR(frame, def_where, where->loc);
    if (!condition || frame->builder->names_only)
        return condition != NULL;
    if (expr_is_int(expr_simplify(frame->builder->arena, condition), &holds))
        return holds || report_condition(frame, where);
    require(frame->builder, condition, STATUS_BAD_SIZE, where->loc);
    add_condition_facts(frame->builder, condition);
    return true;
}

bool check_header_conditions(CallFrame *frame) {
    bool good = true;
    for (int i = 0; i < frame->definition->ast->wheres.count; i++)
        good &= check_header_condition(frame, &frame->definition->ast->wheres.items[i]);
    return good;
}

/* --- the body --- */

/* An inout result begins with the contents of the caller's buffer. */
static void begin_inout(CallFrame *frame, Variable *variable) {
    View view;
    if (!declared_view(frame, variable->result, &view)) {
        variable->poisoned = true;
        return;
    }
    Tensor *initial = new_tensor(frame->builder, variable->result->type, view.rank, variable->loc);
    for (int d = 0; d < view.rank; d++) {
        initial->dims[d] = view.dims[d];
        initial->dim_names[d] = arena_printf(frame->builder->arena, "d%d", d);
    }
    initial->role = ROLE_INITIAL;
    view.tensor = initial;
    variable->initial = initial;
    variable->view = view;
    list_push(frame->builder->arena, &variable->parts, ((VersionPart){initial, 0, "initial"}));
}

/* In a call it begins with what the caller gives, whose sizes must be those of the header. */
static void continue_inout(CallFrame *frame, Variable *variable, const View *begins) {
    View view;
    bool good = declared_view(frame, variable->result, &view);
    for (int d = 0; good && d < view.rank; d++) {
        const char *what = arena_printf(frame->builder->arena, "dimension %d of '%s'", d, variable->name);
        good = require_equal(frame->caller, begins->dims[d], view.dims[d], frame->call, what);
        if (!good)
            NOTE(frame, variable->result->dims.items[d]->loc, "in the header of '%s'",
                 frame->definition->ast->name.text);
    }
    variable->poisoned = !good;
    view.tensor = good ? begins->tensor : NULL;
    variable->view = view;
}

static void add_results(CallFrame *frame) {
    const AstDef *def = frame->definition->ast;
    for (int i = 0; i < def->results.count; i++) {
        const AstResult *result = &def->results.items[i];
        if (!name_is_free(frame, result->name.text, result->name.loc))
            continue;
        Variable *variable = new_variable(frame, result->name.text, result->name.loc);
        variable->result = result;
        if (result->inout && frame->begins)
            continue_inout(frame, variable, &frame->begins[i]);
        else if (result->inout)
            begin_inout(frame, variable);
    }
}

static Variable *first_beside(Variable *variable) {
    while (variable->beside)
        variable = variable->beside;
    return variable;
}

void variables_together(Variable *const *variables, int count) {
    for (int i = 1; i < count; i++) {
        Variable *first = first_beside(variables[0]), *other = first_beside(variables[i]);
        if (first != other)
            other->beside = first;
    }
}

static bool is_superfluous(Variable *variable) {
    return !variable->result && !variable->input && !variable->poisoned && !first_beside(variable)->together_used;
}

static bool mentions_size(const AstParameter *argument, const char *name) {
    for (int d = 0; d < argument->dims.count; d++)
        if (argument->dims.items[d]->kind == AST_NAME && strcmp(argument->dims.items[d]->name.text, name) == 0)
            return true;
    return false;
}

/* Whether a size appears in the header of this argument only. Then the argument is needed for its size. */
static bool brings_size(const AstDef *def, const AstParameter *argument) {
    for (int d = 0; d < argument->dims.count; d++) {
        bool elsewhere = argument->dims.items[d]->kind == AST_INTEGER;
        for (int i = 0; i < def->arguments.count && !elsewhere; i++)
            elsewhere = &def->arguments.items[i] != argument && argument->dims.items[d]->kind == AST_NAME &&
                        mentions_size(&def->arguments.items[i], argument->dims.items[d]->name.text);
        if (!elsewhere)
            return true;
    }
    return false;
}

/* A def that implements another has the arguments of that one, so unused ones are no mistake there. */
static void warn_unused_arguments(CallFrame *frame) {
    const AstDef *def = frame->definition->ast;
    for (int i = 0; i < def->arguments.count && !frame->caller && !def->implements.text && !frame->failed; i++) {
        const AstParameter *argument = &def->arguments.items[i];
        const Symbol *symbol = frame_symbol(frame, argument->name.text);
        bool used = !symbol || symbol->used || (symbol->variable && symbol->variable->used);
        if (!used && !brings_size(def, argument))
            WARN(frame, unused_argument, argument->name.loc, argument->name.text);
    }
}

/* A temporary that nothing uses may be a result that is misspelt. */
static void hint_result_name(CallFrame *frame, const char *name) {
    Nearest nearest = {.name = name};
    for (int i = 0; i < frame->variables.count; i++)
        if (is_superfluous(frame->variables.items[i]))
            nearest_offer(&nearest, frame->variables.items[i]->name);
    if (nearest.best)
        HINT(frame, "'%s' is defined and not used: did you mean '%s'?", nearest.best, name);
}

static void check_variables(CallFrame *frame) {
    for (int i = 0; i < frame->variables.count; i++) {
        Variable *variable = frame->variables.items[i];
        first_beside(variable)->together_used |= variable->used || variable->result;
    }
    for (int i = 0; i < frame->variables.count; i++) {
        Variable *variable = frame->variables.items[i];
        if (variable->result && !variable->written) {
            ERROR(frame, output_undefined, variable->loc, variable->name);
            hint_result_name(frame, variable->name);
        } else if (is_superfluous(variable) && !frame->caller)
            WARN(frame, unused_temporary, variable->loc, variable->name);
    }
    warn_unused_arguments(frame);
}

int statement_limit(const Builder *builder) {
    int most = builder->checker->options->most_statements;
    return most ? most : STATEMENT_LIMIT;
}

void refuse_length(CallFrame *frame, Loc loc) {
    ERROR(frame, too_many_statements, outermost_loc(frame, loc), statement_limit(frame->builder));
    HINT(frame, "-fmax-statements=N allows more, and more time to compile them");
}

/* Said once: callers have failed, too. Other algorithms have a few statements for each one. */
bool is_too_long(CallFrame *frame, const AstStatement *next) {
    const Algorithms *algorithms = frame->builder->algorithms;
    int limit = statement_limit(frame->builder);
    if ((algorithms && algorithms->chosen) || frame->builder->stages.count + next->body.count < limit)
        return false;
    if (!frame->failed)
        refuse_length(frame, next->loc);
    return true;
}

/* Checks them until something ends it. False: something did. */
static bool check_statements(CallFrame *frame, const AstStatements *statements) {
    for (int i = 0; i < statements->count; i++) {
        if (diag_limit_reached(DIAGNOSTICS(frame)) || is_too_long(frame, statements->items[i]))
            return false;
        check_statement(frame, statements->items[i]);
    }
    return true;
}

void check_body(CallFrame *frame) {
    frame->builder->checker->depth++;
    add_results(frame);
    bool whole = check_statements(frame, &frame->definition->ast->statements);
    for (int i = 0; i < frame->variables.count && whole && !diag_limit_reached(DIAGNOSTICS(frame)); i++)
        cover_warn(frame, frame->variables.items[i]);
    if (whole && !diag_limit_reached(DIAGNOSTICS(frame)))
        check_variables(frame);
    warn_empty_results(frame);
    name_versions(frame);
    frame->builder->checker->depth--;
}

/* --- a whole def --- */

static Program *build_with(Builder *builder, Definition *definition, Bounds *bounds, bool defines,
                           const AstName *symbol) {
    CallFrame frame = {.builder = builder, .definition = definition, .prefix = ""};
    frame.call = symbol ? symbol->loc : definition->ast->name.loc;
    CheckState state = definition->state;
    definition->state = CHECK_RUNNING;
    bool shaped = bind_shapes(&frame, bounds), good = bind_parameters(&frame, bounds, defines) && shaped;
    if (shaped)
        bind_arguments(&frame, bounds, defines);
    good = good && check_header_conditions(&frame);
    if (good)
        note_places(&frame, "");
    if (good)
        check_body(&frame);
    definition->state = state;
    return good && !frame.failed ? finish_program(&frame, symbol ? symbol->text : NULL) : NULL;
}

Program *build_program(Checker *checker, Definition *definition, Bounds *bounds, bool defines, const AstName *symbol,
                       Algorithms *algorithms) {
    Builder builder = {.checker = checker, .arena = checker->arena, .algorithms = algorithms};
    return build_with(&builder, definition, bounds, defines, symbol);
}

static bool has_value(const Checker *checker, const AstBinding *parameter, bool defines) {
    bool defined = false;
    for (int i = 0; i < checker->options->define_count; i++)
        defined |= strcmp(checker->options->defines[i].name, parameter->name.text) == 0;
    return parameter->value || (defines && defined && !parameter->is_def);
}

/* A def with a parameter that has no value yet is checked for names and types only. */
static bool check_names(Checker *checker, Definition *definition, bool defines) {
    Builder builder = {.checker = checker, .arena = checker->arena, .names_only = true};
    CallFrame frame = {.builder = &builder, .definition = definition, .prefix = ""};
    definition->state = CHECK_RUNNING;
    bind_parameters(&frame, NULL, defines);
    bind_arguments(&frame, NULL, defines);
    check_header_conditions(&frame);
    check_body(&frame);
    return !frame.failed;
}

/* Makes its program. One with a loop over sizes without values has none: its names are checked. */
static bool check_alone(Checker *checker, Definition *definition, Bounds *bounds, bool defines) {
    Builder builder = {.checker = checker, .arena = checker->arena, .by_itself = true};
    int errors = diag_error_count(checker->diagnostics);
    definition->program = build_with(&builder, definition, bounds, defines, NULL);
    definition->waits = builder.waits;
    if (!builder.waits)
        return definition->program != NULL;
    diag_mute(checker->diagnostics, builder.muted);
    return check_names(checker, definition, defines) && diag_error_count(checker->diagnostics) == errors;
}

bool check_definition(Checker *checker, Definition *definition, bool defines) {
    if (definition->state != CHECK_NEW)
        return definition->state != CHECK_BAD;
    const AstDef *def = definition->ast;
    bool good = !def->implements.text || check_implementation(checker, definition), values = true;
    Bounds *bounds = def->implements.text ? implementation_bounds(checker, def) : NULL;
    for (int i = 0; i < def->parameters.count; i++)
        values &= has_value(checker, &def->parameters.items[i], defines);
    if (values) {
        good &= check_alone(checker, definition, bounds, defines);
        good = good && (!def->implements.text || check_implemented_results(checker, definition));
    } else {
        good &= check_names(checker, definition, defines);
    }
    definition->state = good ? CHECK_GOOD : CHECK_BAD;
    return good;
}
