/* calls.c - calls of other defs: each is instantiated where it stands.
 *
 * The header of the called def is matched with the actual arguments, which gives its sizes. If two arguments give the
 * same size, both must agree: that is checked here or at run time. A def is checked by itself before it is
 * instantiated, so that an error of its own is reported once, there.
 */
#include "sema/check.h"

#include <string.h>

bool is_call(const CallFrame *frame, const AstExpr *ast) {
    if (ast->kind != AST_APPLY || is_read(frame, ast))
        return false;
    return find_called(frame, ast->name.text) || is_unknown_def(frame, ast->name.text);
}

/* --- actual arguments --- */

static bool actual_of_variable(CallFrame *frame, const AstExpr *ast, Variable *variable, Actual *actual) {
    variable->used = true;
    cover_note_read(variable);
    actual->view = variable->view;
    actual->view.lower = NULL; /* the called def counts from 0 */
    if (!variable->view.tensor && !variable->poisoned)
        ERROR(frame, read_before_definition, ast->loc, variable->name);
    return variable->view.tensor != NULL;
}

/* count: how many results the called def has; wanted: how many are assigned. */
static void report_result_count(CallFrame *frame, Loc loc, const AstExpr *call, int count, int wanted) {
    ERROR(frame, call_result_count, loc, call->name.text, count, count == 1 ? "" : "s", wanted,
          wanted == 1 ? "is" : "are");
    note_meaning(frame, call->name.text);
}

static bool actual_of_call(CallFrame *frame, const AstExpr *ast, const char *name, Actual *actual) {
    View *results;
    int count;
    name = arena_printf(frame->builder->arena, "%s.%s", name, ast->name.text);
    if (!check_call(frame, ast, NULL, name, &results, &count))
        return false;
    if (count != 1) {
        report_result_count(frame, ast->loc, ast, count, 1);
        return false;
    }
    actual->view = results[0];
    return true;
}

/* A scalar argument: any value that does not depend on an index. */
static bool actual_value(CallFrame *frame, const AstExpr *ast, ElementType type, Actual *actual) {
    Statement s = {.frame = frame, .builder = frame->builder};
    Typed value = translate(&s, ast);
    if (!value.expr)
        return false;
    if (s.indices.count) {
        report_index(&s, s.indices.items[0]);
        return false;
    }
    if (s.sites.count) {
        ERROR(frame, scalar_reads, ast->loc);
        HINT(frame, "declare the parameter as a tensor without dimensions: %s() name", element_info[type].spelling);
        return false;
    }
    Expr *e = typed_value(frame->builder->arena, value);
    if (e->kind != EXPR_INT && type_promote(type, e->type) != type) {
        ERROR(frame, argument_type, ast->loc, element_info[e->type].spelling, element_info[type].spelling);
        return false;
    }
    actual->value = typed_as(frame->builder->arena, value, type);
    warn_lost(&s, actual->value, type, true);
    note_rounded_scalar(&s, actual->value);
    return true;
}

static bool actual_tensor(CallFrame *frame, const AstExpr *ast, const char *name, Actual *actual) {
    Symbol *symbol = ast->kind == AST_NAME || ast->kind == AST_APPLY ? frame_symbol(frame, ast->name.text) : NULL;
    if (symbol && symbol->kind == SYMBOL_TENSOR && (ast->kind == AST_NAME || ast->args.count == 0))
        return actual_of_variable(frame, ast, symbol->variable, actual);
    if (is_part(frame, ast)) {
        Variable *part = part_variable(frame, ast);
        return part && actual_of_variable(frame, ast, part, actual);
    }
    if (is_call(frame, ast))
        return actual_of_call(frame, ast, name, actual);
    if (ast->kind == AST_NAME && !symbol) {
        ERROR(frame, undefined_name, ast->loc, ast->name.text);
        hint_nearest_function(frame, ast->name.text);
    } else {
        ERROR(frame, argument_not_tensor, ast->loc);
        if (ast->kind == AST_APPLY && symbol && symbol->kind == SYMBOL_TENSOR)
            HINT(frame, "a def takes whole tensors: write %s without indices", ast->name.text);
        else
            HINT(frame, "assign it to a tensor first and pass that tensor");
        if (ast->kind == AST_APPLY && find_builtin(ast->name.text) >= 0)
            hint_whole(frame, ast);
    }
    return false;
}

/* --- the header of the called def --- */

static bool same_type(CallFrame *frame, const AstParameter *formal, const AstExpr *ast, const View *view) {
    if (view->tensor->type == formal->type)
        return true;
    ERROR(frame, argument_type, ast->loc, element_info[view->tensor->type].spelling,
          element_info[formal->type].spelling);
    NOTE(frame, formal->loc, "of this parameter");
    HINT(frame, "convert it to a tensor of its own first: t(i, ...) = %s(...)", element_info[formal->type].spelling);
    return false;
}

static bool same_rank(CallFrame *frame, const AstParameter *formal, const AstExpr *ast, const View *view) {
    if (view->rank == formal->dims.count)
        return true;
    ERROR(frame, argument_rank, ast->loc, view->rank, view->rank == 1 ? "" : "s", formal->dims.count);
    NOTE(frame, formal->loc, "of this parameter");
    return false;
}

/* --- a def for other ranks ---------------------------------------------------------------------------------------- */

/* How near the names of two defs are that may do the same for other ranks: relu_rows to relu 1, relu to relu_rows 2,
 * relu_rows to relu_volumes 3; 0: they are not. */
static int kinship(const char *called, const char *other) {
    size_t length = strlen(called), stem = strrchr(called, '_') ? (size_t)(strrchr(called, '_') - called) : 0;
    if (stem && strlen(other) == stem && strncmp(called, other, stem) == 0)
        return 1;
    if (strncmp(called, other, length) == 0 && other[length] == '_')
        return 2;
    return stem && strcmp(called, other) != 0 && strncmp(called, other, stem + 1) == 0 ? 3 : 0;
}

/* Whether the def takes arguments of these types and ranks. called: says which of them are tensors; NULL: all. */
static bool takes(const AstDef *def, const AstDef *called, const Actual *actuals, int count) {
    bool fits = def->arguments.count == count;
    for (int i = 0; i < def->arguments.count && fits; i++) {
        const AstParameter *formal = &def->arguments.items[i];
        const View *view = &actuals[i].view;
        fits = formal->is_tensor == (!called || called->arguments.items[i].is_tensor) &&
               (!formal->is_tensor ||
                (view->tensor && view->rank == formal->dims.count && view->tensor->type == formal->type));
    }
    return fits;
}

/* Suggests a def that is named alike and takes the ranks of the arguments. */
static void hint_other_rank(CallFrame *frame, const char *name, const AstDef *called, const Actual *actuals, int count,
                            int rank) {
    const Checker *checker = frame->builder->checker;
    const char *best = NULL;
    int nearest = 0;
    for (int f = 0; f < checker->files.count; f++)
        for (int d = 0; d < checker->files.items[f]->definitions.count; d++) {
            AstDef *def = checker->files.items[f]->definitions.items[d]->ast;
            int kin = kinship(name, def->name.text);
            if (kin == 0 || (best && kin >= nearest))
                continue;
            ast_complete(def);
            if (!takes(def, called, actuals, count))
                continue;
            best = def->name.text;
            nearest = kin;
        }
    if (best)
        HINT(frame, "'%s' takes %d dimension%s", best, rank, rank == 1 ? "" : "s");
}

void hint_whole(CallFrame *frame, const AstExpr *function) {
    int count = function->args.count;
    Actual *actuals = ARENA_ARRAY(frame->builder->arena, Actual, count);
    for (int i = 0; i < count; i++) {
        const AstExpr *ast = function->args.items[i];
        const Symbol *symbol = ast->kind == AST_NAME ? frame_symbol(frame, ast->name.text) : NULL;
        if (!symbol || symbol->kind != SYMBOL_TENSOR || !symbol->variable->view.tensor)
            return;
        actuals[i].view = symbol->variable->view;
    }
    if (count)
        hint_other_rank(frame, function->name.text, NULL, actuals, count, actuals[0].view.rank);
}

/* --- sizes of the header ------------------------------------------------------------------------------------------ */

/* A size that is a whole dimension in the header takes the extent of the actual tensor. */
static void bind_sizes(CallFrame *callee, const AstExprs *dims, const View *view) {
    for (int d = 0; d < view->rank; d++) {
        const AstExpr *dim = dims->items[d];
        if (dim->kind == AST_NAME && !frame_symbol(callee, dim->name.text))
            frame_add(callee, SYMBOL_SIZE, dim->name.text, dim->loc)->value = view->dims[d];
    }
}

/* The names of a size that have no value yet: how many, and one of them. */
static int unbound_names(const CallFrame *callee, const AstExpr *dim, const AstName **name) {
    int count = 0;
    if (dim->kind == AST_NAME && !frame_symbol(callee, dim->name.text)) {
        count = *name && strcmp((*name)->text, dim->name.text) == 0 ? 0 : 1;
        *name = &dim->name;
    }
    for (int i = 0; i < dim->args.count; i++)
        count += unbound_names(callee, dim->args.items[i], name);
    return count;
}

/* dividend / divisor, where the divisor is known not to be negative; NULL: it is not. One that is 0 counts as 1: what
 * that gives fits if the dividend is 0, too. */
static Expr *size_quotient(const Builder *builder, const Affine *dividend, const Affine *divisor) {
    Arena *arena = builder->arena;
    if (!affine_never_negative(arena, divisor, &builder->facts))
        return NULL;
    Expr *positive = size_max(arena, affine_expr(arena, divisor), expr_int(arena, 1));
    return size_normal(arena, expr_binary(arena, OP_DIV, affine_expr(arena, dividend), positive));
}

/* The size for which the expression of the header, in which it is the variable, is this extent; NULL: it is not
 * known. Where the division leaves a rest lay_over finds that they differ. */
static Expr *solved(const Builder *builder, Expr *header, const Var *size, Expr *extent) {
    Arena *arena = builder->arena;
    Affine difference, coefficient, rest, opposite;
    if (!size_affine(arena, expr_binary(arena, OP_SUB, header, extent), &difference) ||
        !affine_split(arena, &difference, size, &coefficient, &rest) || affine_is_zero(&coefficient) ||
        !affine_sum(arena, &rest, -1, &rest, 0, &opposite))
        return NULL;
    Expr *value = size_quotient(builder, &opposite, &coefficient);
    if (value || !affine_sum(arena, &coefficient, -1, &coefficient, 0, &opposite))
        return value;
    return size_quotient(builder, &rest, &opposite);
}

/* The value that the extent of the actual tensor leaves the one size of float(M + 1) that has none; NULL: none. */
static Expr *size_left(CallFrame *callee, const AstExpr *dim, const AstName *name, Expr *extent) {
    Arena *arena = callee->builder->arena;
    Var *size = var_new(arena, VAR_SIZE, TYPE_INT64, name->text, NULL);
    Symbol *symbol = frame_add(callee, SYMBOL_SIZE, name->text, name->loc);
    symbol->value = expr_var(arena, size);
    Expr *header = size_value(callee, dim), *value = header ? solved(callee->builder, header, size, extent) : NULL;
    int64_t number;
    symbol->ended = true;
    return value && (!expr_is_int(value, &number) || number >= 0) ? value : NULL;
}

static bool solve_size(CallFrame *callee, const AstExpr *dim, Expr *extent, Loc loc) {
    Arena *arena = callee->builder->arena;
    const AstName *name = NULL;
    Expr *value = unbound_names(callee, dim, &name) == 1 ? size_left(callee, dim, name, extent) : NULL;
    if (!value)
        return false;
    frame_add(callee, SYMBOL_SIZE, name->text, name->loc)->value = value;
    require(callee->builder, expr_binary(arena, OP_GE, value, expr_int(arena, 0)), STATUS_BAD_SIZE, loc);
    return true;
}

static bool report_unsolved(CallFrame *callee, const AstExpr *dim, Loc loc) {
    const AstName *name = NULL;
    if (unbound_names(callee, dim, &name) == 0)
        return true;
    ERROR(callee->caller, size_unknown, loc, name->text, callee->definition->ast->name.text);
    NOTE(callee, dim->loc, "in the header");
    return false;
}

/* One pass over all extents of the arguments. last: reports the first size without a value. Returns whether something
 * was solved, or that nothing had to be reported. */
static bool pass_over_sizes(CallFrame *callee, const AstExpr *call, const Actual *actuals, bool last) {
    const AstParameters *arguments = &callee->definition->ast->arguments;
    bool solved_one = false, good = true;
    for (int i = 0; i < arguments->count && good; i++)
        for (int d = 0; arguments->items[i].is_tensor && d < arguments->items[i].dims.count && good; d++) {
            const AstExpr *dim = arguments->items[i].dims.items[d];
            if (last)
                good = report_unsolved(callee, dim, call->args.items[i]->loc);
            else
                solved_one |= solve_size(callee, dim, actuals[i].view.dims[d], call->args.items[i]->loc);
        }
    return last ? good : solved_one;
}

/* A size that is solved may leave one unknown in an earlier expression. */
static bool solve_sizes(CallFrame *callee, const AstExpr *call, const Actual *actuals) {
    bool more = true;
    while (more)
        more = pass_over_sizes(callee, call, actuals, false);
    return pass_over_sizes(callee, call, actuals, true);
}

/* The actual tensor with the sizes of the header, which its own sizes must equal. */
static bool lay_over(CallFrame *callee, const AstParameter *formal, const AstExpr *ast, View *view) {
    Arena *arena = callee->builder->arena;
    View seen = {.tensor = view->tensor, .rank = view->rank, .dims = ARENA_ARRAY(arena, Expr *, view->rank)};
    seen.fixed = fixed_in_header(arena, &formal->dims, view->fixed);
    for (int d = 0; d < view->rank; d++) {
        seen.dims[d] = size_value(callee, formal->dims.items[d]);
        if (!seen.dims[d])
            return false;
        const char *what = arena_printf(arena, "dimension %d of '%s'", d, formal->name.text);
        if (!require_equal(callee->caller, view->dims[d], seen.dims[d], ast->loc, what)) {
            NOTE(callee, formal->dims.items[d]->loc, "in the header of '%s'", callee->definition->ast->name.text);
            note_calls(callee->caller);
            return false;
        }
    }
    *view = seen;
    return true;
}

static void add_argument(CallFrame *callee, const AstParameter *formal, const Actual *actual) {
    if (!formal->is_tensor) {
        frame_add(callee, SYMBOL_SCALAR, formal->name.text, formal->name.loc)->value = actual->value;
        return;
    }
    Variable *variable = new_variable(callee, formal->name.text, formal->name.loc);
    variable->input = true;
    variable->view = actual->view;
}

bool pass_arguments(CallFrame *callee, const AstExpr *call, Actual *actuals) {
    const AstDef *def = callee->definition->ast;
    for (int i = 0; i < def->arguments.count; i++)
        if (def->arguments.items[i].is_tensor)
            bind_sizes(callee, &def->arguments.items[i].dims, &actuals[i].view);
    for (int i = 0; callee->begins && i < def->results.count; i++)
        if (def->results.items[i].inout)
            bind_sizes(callee, &def->results.items[i].dims, &callee->begins[i]);
    bool good = solve_sizes(callee, call, actuals);
    for (int i = 0; i < def->arguments.count && good; i++) {
        const AstParameter *formal = &def->arguments.items[i];
        if (formal->is_tensor)
            good &= lay_over(callee, formal, call->args.items[i], &actuals[i].view);
    }
    for (int i = 0; i < def->arguments.count && good; i++)
        add_argument(callee, &def->arguments.items[i], &actuals[i]);
    return good;
}

/* --- the call --- */

/* The types and ranks of all tensors that are known. */
static bool check_tensors(CallFrame *frame, const AstDef *def, const AstExpr *call, const Actual *actuals) {
    bool good = true, hinted = false;
    for (int i = 0; i < def->arguments.count; i++) {
        const AstParameter *formal = &def->arguments.items[i];
        const View *view = &actuals[i].view;
        if (!formal->is_tensor || !view->tensor)
            continue;
        bool type = same_type(frame, formal, call->args.items[i], view);
        bool rank = !type || same_rank(frame, formal, call->args.items[i], view);
        if (!rank && !hinted)
            hint_other_rank(frame, def->name.text, def, actuals, def->arguments.count, view->rank);
        hinted |= !rank;
        good &= type && rank;
    }
    return good;
}

static Actual *check_actuals(CallFrame *frame, const AstDef *def, const AstExpr *call, const char *name) {
    Actual *actuals = ARENA_ARRAY(frame->builder->arena, Actual, def->arguments.count);
    if (call->args.count != def->arguments.count) {
        ERROR(frame, wrong_argument_count, call->loc, def->name.text, def->arguments.count,
              def->arguments.count == 1 ? "" : "s", call->args.count);
        NOTE(frame, def->name.loc, "defined here");
        return NULL;
    }
    bool good = true;
    for (int i = 0; i < def->arguments.count; i++) {
        const AstParameter *formal = &def->arguments.items[i];
        const AstExpr *ast = call->args.items[i];
        good &= formal->is_tensor ? actual_tensor(frame, ast, name, &actuals[i])
                                  : actual_value(frame, ast, formal->type, &actuals[i]);
    }
    return check_tensors(frame, def, call, actuals) && good ? actuals : NULL;
}

static bool has_parameter(const AstDef *def, const char *name) {
    for (int i = 0; i < def->parameters.count; i++)
        if (strcmp(def->parameters.items[i].name.text, name) == 0)
            return true;
    return false;
}

static void hint_parameter(CallFrame *frame, const AstDef *def, const char *name) {
    Nearest nearest = {.name = name};
    for (int i = 0; i < def->parameters.count; i++)
        nearest_offer(&nearest, def->parameters.items[i].name.text);
    Text names = {.arena = frame->builder->arena};
    for (int i = 0; i < def->parameters.count; i++)
        text_add(&names, "%s%s", i ? ", " : "", def->parameters.items[i].name.text);
    if (nearest.best)
        HINT(frame, "did you mean '%s'?", nearest.best);
    else if (names.length)
        HINT(frame, "its parameters are %s", names.text);
}

/* conv2d[S=2](...): the values in brackets are constants of the caller, or its defs. */
static bool check_brackets(CallFrame *frame, const AstDef *def, const AstExpr *call, Bounds *bounds) {
    bool good = true;
    for (int i = 0; i < call->parameters.count; i++) {
        const AstBinding *binding = &call->parameters.items[i];
        Bound bound = {.name = binding->name.text, .loc = binding->name.loc};
        if (!has_parameter(def, bound.name)) {
            ERROR(frame, no_such_parameter, binding->name.loc, def->name.text, bound.name);
            hint_parameter(frame, def, bound.name);
            good = false;
        } else if (is_def_parameter(def, bound.name)) {
            good &= def_value(frame, binding, &bound);
            list_push(frame->builder->arena, bounds, bound);
        } else if (!binding->value) {
            ERROR(frame, parameter_not_constant, binding->name.loc, bound.name);
            good = false;
        } else if (constant_value(frame, binding->value, &bound.value)) {
            bound.waits = frame->builder->names_only && !expr_is_int(size_value(frame, binding->value), NULL);
            list_push(frame->builder->arena, bounds, bound);
        } else {
            good = false;
        }
    }
    return good;
}

/* Limits the size of a program: defs that each call two others would multiply without end. A limit on depth keeps the
 * recursion of the checker short. */
static bool check_growth(CallFrame *frame, const AstExpr *call) {
    enum { DEPTH_LIMIT = 400 };
    Builder *builder = frame->builder;
    int64_t limit = 5 * (int64_t)statement_limit(builder); /* some only call others */
    if (builder->checker->depth < DEPTH_LIMIT && ++builder->calls < limit)
        return true;
    if (builder->calls <= limit)
        ERROR(frame, too_many_calls, outermost_loc(frame, call->name.loc), (long long)limit, DEPTH_LIMIT);
    builder->calls = limit;
    frame_fail(frame);
    return false;
}

static bool check_recursion(CallFrame *frame, const Definition *definition, const AstExpr *call) {
    if (definition->state != CHECK_RUNNING)
        return true;
    ERROR(frame, recursion, call->name.loc, definition->ast->name.text);
    NOTE(frame, definition->ast->name.loc, "defined here");
    return false;
}

/* A name that a call of the frame has. */
typedef struct CallName {
    int last; /* the number of the last name that was made of it; 1: none was */
} CallName;

static CallName *known_call_name(const CallFrame *frame, const char *name) {
    return name_map_get(&frame->call_names, name);
}

/* A name for the result of a call that no other call of the frame has: wanted, wanted_2, ... Names stay taken, so the
 * numbers up to the last one need not be looked at again. */
static const char *call_name(CallFrame *frame, const char *wanted) {
    Arena *arena = frame->builder->arena;
    const char *name = wanted;
    CallName *first = known_call_name(frame, wanted);
    while (known_call_name(frame, name))
        name = arena_printf(arena, "%s_%d", wanted, ++first->last);
    CallName *made = ARENA_NEW(arena, CallName);
    made->last = 1;
    name_map_set(arena, &frame->call_names, name, made);
    return name;
}

static void take_results(CallFrame *callee, const char *name, View *results) {
    Arena *arena = callee->builder->arena;
    const AstDef *def = callee->definition->ast;
    for (int i = 0; i < def->results.count; i++) {
        Variable *variable = frame_symbol(callee, def->results.items[i].name.text)->variable;
        Tensor *tensor = variable->versions.items[variable->versions.count - 1];
        results[i] = (View){.tensor = tensor, .rank = tensor->rank, .dims = tensor->dims};
        results[i].fixed = def->results.items[i].has_dims
                               ? fixed_in_header(arena, &def->results.items[i].dims, variable->view.fixed)
                               : variable->view.fixed;
        tensor->name = def->results.count == 1 ? name : arena_printf(arena, "%s.%s", name, variable->name);
        tensor->lower = NULL;
    }
}

static bool calls(const SourceFile *from, const Definition *definition, const AstExpr *e) {
    bool found = e->kind == AST_APPLY && strcmp(e->name.text, definition->ast->name.text) == 0 &&
                 find_definition(from, e->name.text) == definition;
    for (int i = 0; i < e->args.count && !found; i++)
        found = calls(from, definition, e->args.items[i]);
    return found;
}

static bool call_stands_in(const SourceFile *from, const Definition *definition, const AstStatements *statements) {
    bool found = false;
    for (int i = 0; i < statements->count && !found; i++) {
        const AstStatement *ast = statements->items[i];
        for (int v = 0; v < ast->values.count && !found; v++)
            found = calls(from, definition, ast->values.items[v]);
        found = found || call_stands_in(from, definition, &ast->body);
    }
    return found;
}

bool def_is_called(const Checker *checker, const Definition *definition) {
    bool found = false;
    for (int f = 0; f < checker->files.count && !found; f++) {
        const SourceFile *file = checker->files.items[f];
        for (int d = 0; d < file->definitions.count && !found && !file->embedded; d++)
            found = call_stands_in(file, definition, &file->definitions.items[d]->ast->statements);
    }
    return found;
}

/* Not if one comes from a parameter that is a def without a value yet. */
static bool has_results(const CallFrame *callee) {
    const AstResults *results = &callee->definition->ast->results;
    bool all = true;
    for (int i = 0; i < results->count; i++)
        all &= frame_symbol(callee, results->items[i].name.text)->variable->versions.count > 0;
    return all;
}

/* The frame of the called def with all that its body needs; NULL after an error. */
static CallFrame *enter_call(CallFrame *frame, Definition *definition, const AstExpr *call, const AstTargets *targets,
                             const View *begins, const char *name) {
    Arena *arena = frame->builder->arena;
    Bounds bounds = {0};
    bool good = check_brackets(frame, definition->ast, call, &bounds);
    Actual *actuals = check_actuals(frame, definition->ast, call, name);
    if (!good || !actuals)
        return NULL;
    CallFrame *callee = ARENA_NEW(arena, CallFrame);
    *callee = (CallFrame){.builder = frame->builder,
                          .caller = frame,
                          .definition = definition,
                          .call = call->loc,
                          .targets = targets,
                          .begins = begins};
    callee->prefix = arena_printf(arena, "%s.", name);
    if (!bind_parameters(callee, &bounds, false) || !pass_arguments(callee, call, actuals) ||
        !check_header_conditions(callee))
        return NULL;
    return enter_chosen(callee, call, actuals, name);
}

/* What an inout result begins with: the contents of the tensor that it is assigned to. */
static bool take_contents(CallFrame *frame, const AstExpr *call, const AstResult *result, const AstTarget *target,
                          View *begins) {
    const Symbol *symbol = target ? frame_symbol(frame, target->name.text) : NULL;
    Variable *variable = symbol && symbol->kind == SYMBOL_TENSOR ? symbol->variable : NULL;
    if (variable && variable->poisoned)
        return false;
    if (!variable || !variable->view.tensor) {
        ERROR(frame, call_inout, target ? target->loc : call->loc, call->name.text, result->name.text);
        NOTE(frame, result->loc, "declared here");
        HINT(frame, "assign it to a tensor that has contents: an inout result, or one that is defined before");
        return false;
    }
    *begins = variable->view;
    begins->lower = NULL;
    variable->used = true;
    cover_note_read(variable);
    return true;
}

static bool fits_result(CallFrame *frame, const AstResult *result, Loc loc, const View *begins) {
    int rank = result->dims.count;
    if (begins->tensor->type == result->type && begins->rank == rank)
        return true;
    if (begins->tensor->type != result->type)
        ERROR(frame, argument_type, loc, element_info[begins->tensor->type].spelling,
              element_info[result->type].spelling);
    else
        ERROR(frame, argument_rank, loc, begins->rank, begins->rank == 1 ? "" : "s", rank);
    NOTE(frame, result->loc, "of this result, which begins with it");
    return false;
}

/* The contents with which the inout results of a call begin: *begins has a view for each result, or is NULL. */
static bool check_inout(CallFrame *frame, const Definition *definition, const AstExpr *call, const AstTargets *targets,
                        const View **begins) {
    const AstResults *results = &definition->ast->results;
    int count = results->count, wanted = targets ? targets->count : 1;
    View *views = NULL;
    for (int i = 0; i < count; i++) {
        const AstResult *result = &results->items[i];
        const AstTarget *target = targets && i < targets->count ? &targets->items[i] : NULL;
        if (!result->inout)
            continue;
        if (count != wanted) {
            report_result_count(frame, call->loc, call, count, wanted);
            return false;
        }
        views = views ? views : ARENA_ARRAY(frame->builder->arena, View, count);
        if (!take_contents(frame, call, result, target, &views[i]) ||
            !fits_result(frame, result, target->loc, &views[i]))
            return false;
    }
    *begins = views;
    return true;
}

bool check_call(CallFrame *frame, const AstExpr *call, const AstTargets *targets, const char *name, View **results,
                int *result_count) {
    Arena *arena = frame->builder->arena;
    Definition *definition = find_called(frame, call->name.text);
    if (frame->builder->waits)
        return false;
    if (!definition) {
        check_unknown_call(frame, call);
        return false;
    }
    const View *begins;
    if (!check_recursion(frame, definition, call) || !check_growth(frame, call))
        return false;
    if (!check_definition(frame->builder->checker, definition, false)) {
        frame_fail(frame);
        return false;
    }
    if (!check_inout(frame, definition, call, targets, &begins))
        return false;
    name = call_name(frame, name ? name : arena_printf(arena, "%s%s", frame->prefix, call->name.text));
    CallFrame *callee = enter_call(frame, definition, call, targets, begins, name);
    if (!callee)
        return false;
    callee->definition->state = CHECK_RUNNING;
    check_body(callee);
    callee->definition->state = CHECK_GOOD;
    if (callee->failed && has_def_parameters(definition->ast))
        note_call(callee);
    if (callee->failed || !has_results(callee))
        return false;
    *result_count = definition->ast->results.count;
    *results = ARENA_ARRAY(arena, View, *result_count);
    take_results(callee, name, *results);
    return true;
}

/* --- statements --- */

static bool check_declared(CallFrame *frame, const Variable *variable, const AstTarget *target, const View *view) {
    const AstResult *result = variable->result;
    View declared;
    if (result && result->has_type && result->type != view->tensor->type) {
        ERROR(frame, narrowing, target->loc, element_info[view->tensor->type].spelling, variable->name,
              element_info[result->type].spelling);
        return false;
    }
    if (!result || !result->has_dims)
        return true;
    if (result->dims.count != view->rank) {
        ERROR(frame, wrong_rank, target->loc, variable->name, result->dims.count, result->dims.count == 1 ? "" : "s",
              view->rank, view->rank == 1 ? "is" : "are");
        return false;
    }
    if (!declared_view(frame, result, &declared))
        return false;
    for (int d = 0; d < view->rank; d++) {
        const char *what = arena_printf(frame->builder->arena, "dimension %d of '%s'", d, variable->name);
        if (!require_equal(frame, view->dims[d], declared.dims[d], target->loc, what))
            return false;
    }
    return true;
}

/* Returns the variable, or NULL if the target is not a variable. */
static Variable *assign_result(CallFrame *frame, const AstTarget *target, const View *view) {
    Variable *variable = target_variable(frame, target);
    if (!variable)
        return NULL;
    if (!view || !check_declared(frame, variable, target, view)) {
        variable->written = true;
        variable->poisoned |= variable->view.tensor == NULL;
        return variable;
    }
    Tensor *tensor = NULL;
    for (int i = 0; i < frame->builder->tensors.count && !tensor; i++)
        if (frame->builder->tensors.items[i] == view->tensor)
            tensor = frame->builder->tensors.items[i];
    tensor->loc = target->loc;
    variable_define(frame->builder, variable, tensor, *view);
    return variable;
}

/* a, b = f(x, y) */
void check_call_statement(CallFrame *frame, const AstStatement *ast) {
    const AstExpr *call = ast->values.items[0];
    View *results = NULL;
    int count = 0;
    if (ast->combine != COMBINE_NONE)
        ERROR(frame, call_combine, ast->loc);
    if (ast->wheres.count)
        ERROR(frame, call_where, ast->wheres.items[0].loc);
    bool good = ast->combine == COMBINE_NONE && ast->wheres.count == 0;
    const char *name = arena_printf(frame->builder->arena, "%s%s", frame->prefix, ast->targets.items[0].name.text);
    good = good && check_call(frame, call, &ast->targets, name, &results, &count);
    if (good && count != ast->targets.count) {
        report_result_count(frame, ast->loc, call, count, ast->targets.count);
        good = false;
    }
    Variable **variables = ARENA_ARRAY(frame->builder->arena, Variable *, ast->targets.count);
    for (int i = 0; i < ast->targets.count; i++) {
        variables[i] = assign_result(frame, &ast->targets.items[i], good ? &results[i] : NULL);
        good &= variables[i] != NULL;
    }
    if (good)
        variables_together(variables, ast->targets.count);
}
