/* def_parameters.c - parameters that stand for defs: def block[def act](...), called as block[act=relu](...).
 *
 * A name that is given for such a parameter has the meaning that it has where it is given, so that a def of the library
 * calls what its user passes. Inside the def the parameter is called like any def. As long as it has no value, nothing
 * is known of its results: what is computed from them is checked where the def is called with a value.
 */
#include "sema/check.h"

#include <string.h>

bool is_def_parameter(const AstDef *def, const char *name) {
    for (int i = 0; i < def->parameters.count; i++)
        if (def->parameters.items[i].is_def && strcmp(def->parameters.items[i].name.text, name) == 0)
            return true;
    return false;
}

bool has_def_parameters(const AstDef *def) {
    for (int i = 0; i < def->parameters.count; i++)
        if (def->parameters.items[i].is_def)
            return true;
    return false;
}

Definition *find_called(const CallFrame *frame, const char *name) {
    const Symbol *symbol = frame_symbol(frame, name);
    if (symbol && symbol->kind == SYMBOL_DEF)
        return symbol->definition;
    return find_definition(frame->definition->file, name);
}

bool is_unknown_def(const CallFrame *frame, const char *name) {
    const Symbol *symbol = frame_symbol(frame, name);
    return symbol && symbol->kind == SYMBOL_DEF && !symbol->definition;
}

void note_meaning(CallFrame *frame, const char *name) {
    const Symbol *symbol = frame_symbol(frame, name);
    if (symbol && symbol->kind == SYMBOL_DEF && symbol->definition)
        NOTE(frame, symbol->definition->ast->name.loc, "'%s' is this def here", name);
}

/* A function of elements has no def, but a def can call it. */
static void hint_def(CallFrame *frame, const char *name) {
    if (frame_symbol(frame, name))
        return;
    int op = find_builtin(name);
    const char *arguments = op >= 0 && op_info[op].arity == 2 ? "x(n, d), ..." : "x(n, d)";
    if (op >= 0 || is_value_function(name))
        HINT(frame, "%s is a function of elements: a def of it is def NAME(float(N, D) x) -> (y) { y(n, d) = %s(%s) }",
             name, name, arguments);
    else
        hint_nearest_function(frame, name);
}

bool def_value(CallFrame *frame, const AstBinding *binding, Bound *bound) {
    const AstExpr *value = binding->value;
    if (!value || value->kind != AST_NAME) {
        ERROR(frame, parameter_not_def, value ? value->loc : binding->name.loc, binding->name.text);
        HINT(frame, "name one, without arguments: %s=relu", binding->name.text);
        return false;
    }
    bound->waits = is_unknown_def(frame, value->name.text);
    bound->definition = find_called(frame, value->name.text);
    if (bound->waits || bound->definition)
        return true;
    ERROR(frame, not_a_def, value->loc, value->name.text, binding->name.text);
    hint_def(frame, value->name.text);
    return false;
}

/* Without a value it is unknown where names alone are checked, else an error. */
static bool unbound_def(CallFrame *frame, const AstBinding *parameter) {
    const AstDef *def = frame->definition->ast;
    if (frame->builder->names_only)
        return true;
    ERROR(frame, parameter_unbound, frame->call, parameter->name.text, def->name.text);
    NOTE(frame, parameter->name.loc, "declared here");
    HINT(frame, "name a def in brackets: %s%s[%s=...]%s", frame->caller ? "" : "export ", def->name.text,
         parameter->name.text, frame->caller ? "(...)" : "");
    return false;
}

bool bind_def_parameter(CallFrame *frame, const AstBinding *parameter, Bound *bound) {
    Bound own = {0};
    if (!bound && !(parameter->value ? def_value(frame, parameter, &own) : unbound_def(frame, parameter)))
        return false;
    Symbol *symbol = frame_add(frame, SYMBOL_DEF, parameter->name.text, parameter->name.loc);
    symbol->definition = bound ? bound->definition : own.definition;
    if (bound)
        bound->used = true;
    return true;
}

/* Whatever an argument of an unknown def is, it is used. */
static void use_argument(CallFrame *frame, const AstExpr *ast) {
    Symbol *symbol = ast->kind == AST_NAME || ast->kind == AST_APPLY ? frame_symbol(frame, ast->name.text) : NULL;
    if (symbol && symbol->kind == SYMBOL_TENSOR) {
        symbol->variable->used = true;
        cover_note_read(symbol->variable);
    } else if (is_call(frame, ast)) {
        View *results;
        int count;
        check_call(frame, ast, NULL, NULL, &results, &count);
    } else if (symbol) {
        symbol->used = true;
    } else if (ast->kind == AST_NAME) {
        ERROR(frame, undefined_name, ast->loc, ast->name.text);
        hint_nearest_function(frame, ast->name.text);
    }
}

void check_unknown_call(CallFrame *frame, const AstExpr *call) {
    for (int i = 0; i < call->args.count; i++)
        use_argument(frame, call->args.items[i]);
}
