/* ast_print.c - prints the tree as source text that parses to the same tree.
 *
 * Items are grouped by kind. Parentheses are printed where the grammar needs them, and around "else" in a larger
 * expression, for readers.
 */
#include "lang/program.h"
#include "parser/ast.h"

#include <string.h>

static void print_expr(Text *text, const AstExpr *e, int precedence);

/* Precedences beside those of operators. PRIMARY: an operand by itself. */
enum { PRECEDENCE_ANY = 0, PRECEDENCE_UNARY = 9, PRECEDENCE_PRIMARY = 10 };

static void print_string(Text *text, const char *string) {
    text_add(text, "\"");
    for (const char *at = string; *at; at++)
        text_add(text, *at == '"' || *at == '\\' ? "\\%c" : "%c", *at);
    text_add(text, "\"");
}

/* --- expressions --- */

void ast_print_expr(Text *text, const AstExpr *e) {
    print_expr(text, e, PRECEDENCE_ANY);
}

static void print_exprs(Text *text, const AstExprs *list) {
    text_add(text, "(");
    for (int i = 0; i < list->count; i++) {
        text_add(text, i ? ", " : "");
        print_expr(text, list->items[i], PRECEDENCE_ANY);
    }
    text_add(text, ")");
}

static void print_bindings(Text *text, const AstBindings *list, const char *open, const char *close) {
    if (list->count)
        text_add(text, "%s", open);
    for (int i = 0; i < list->count; i++) {
        const AstBinding *binding = &list->items[i];
        text_add(text, "%s%s%s", i ? ", " : "", binding->is_def ? "def " : "", binding->name.text);
        if (binding->value || binding->text)
            text_add(text, "=");
        if (binding->value)
            print_expr(text, binding->value, PRECEDENCE_ANY);
        else if (binding->text)
            print_string(text, binding->text);
    }
    if (list->count)
        text_add(text, "%s", close);
}

static void print_operator(Text *text, const AstExpr *e) {
    const OpInfo *info = &op_info[e->op];
    int precedence = info->precedence;
    if (info->arity == 1) {
        text_add(text, "%s", info->spelling);
        print_expr(text, e->args.items[0], PRECEDENCE_UNARY);
        return;
    }
    bool left = info->arity == 2 && info->class != CLASS_COMPARE; /* a < b < c is refused, (a < b) < c is not */
    print_expr(text, e->args.items[0], left ? precedence : precedence + 1);
    text_add(text, " %s ", info->arity == 3 ? "?" : info->spelling);
    print_expr(text, e->args.items[1], info->arity == 3 ? PRECEDENCE_ANY : precedence + 1);
    if (info->arity == 3) {
        text_add(text, " : ");
        print_expr(text, e->args.items[2], PRECEDENCE_ANY);
    }
}

static void print_else(Text *text, const AstExpr *e) {
    static const char *const modes[] = {[ELSE_EDGE] = "edge", [ELSE_WRAP] = "wrap", [ELSE_REFLECT] = "reflect"};
    print_expr(text, e->args.items[0], PRECEDENCE_PRIMARY);
    text_add(text, " else ");
    if (e->else_mode != ELSE_VALUE) {
        text_add(text, "%s", modes[e->else_mode]);
        return;
    }
    const AstExpr *value = e->args.items[1];
    if (value->kind == AST_ELSE)
        print_else(text, value);
    else
        print_expr(text, value, value->kind == AST_NAME ? PRECEDENCE_PRIMARY + 1 : PRECEDENCE_UNARY);
}

static int precedence_of(const AstExpr *e) {
    if (e->kind == AST_OPERATOR)
        return op_info[e->op].precedence;
    return e->kind == AST_ELSE ? PRECEDENCE_ANY + 1 : PRECEDENCE_PRIMARY;
}

/* In parentheses if e binds less tightly than its place requires. */
static void print_expr(Text *text, const AstExpr *e, int precedence) {
    bool parentheses = precedence_of(e) < precedence;
    text_add(text, parentheses ? "(" : "");
    switch (e->kind) {
    case AST_INTEGER:
    case AST_REAL:
    case AST_NAME: text_add(text, "%s", e->name.text); break;
    case AST_APPLY:
        text_add(text, "%s", e->name.text);
        print_bindings(text, &e->parameters, "[", "]");
        print_exprs(text, &e->args);
        break;
    case AST_SIZE: text_add(text, "%s.%lld", e->name.text, (long long)e->integer); break;
    case AST_CAST:
        text_add(text, "%s", element_info[e->type].spelling);
        print_exprs(text, &e->args);
        break;
    case AST_OPERATOR: print_operator(text, e); break;
    case AST_ELSE: print_else(text, e); break;
    }
    text_add(text, parentheses ? ")" : "");
}

/* --- statements --- */

static void print_where(Text *text, const AstWhere *where) {
    if (where->kind == WHERE_RANGE || where->kind == WHERE_LET)
        text_add(text, "%s %s ", where->name.text, where->kind == WHERE_LET ? "=" : "in");
    if (where->kind == WHERE_EXISTS)
        text_add(text, "exists ");
    if (where->kind == WHERE_RANGE) {
        print_expr(text, where->begin, PRECEDENCE_ANY);
        text_add(text, ":");
        print_expr(text, where->end, PRECEDENCE_ANY);
    } else {
        print_expr(text, where->value, PRECEDENCE_ANY);
    }
}

static void print_wheres(Text *text, const AstWheres *list) {
    for (int i = 0; i < list->count; i++) {
        text_add(text, i ? ", " : " where ");
        print_where(text, &list->items[i]);
    }
}

static void print_target(Text *text, const AstTarget *target) {
    text_add(text, "%s", target->name.text);
    if (target->has_indices)
        print_exprs(text, &target->indices);
}

static void print_assign(Text *text, const AstStatement *statement) {
    static const char *const spellings[] = {"", "+", "*", "min", "max"};
    for (int i = 0; i < statement->targets.count; i++) {
        text_add(text, i ? ", " : "");
        print_target(text, &statement->targets.items[i]);
    }
    text_add(text, " %s=%s ", statement->combiner.text ? statement->combiner.text : spellings[statement->combine],
             statement->initialise ? "!" : "");
    if (statement->values.count == 1)
        print_expr(text, statement->values.items[0], PRECEDENCE_ANY);
    else
        print_exprs(text, &statement->values);
    if (statement->annotation) {
        text_add(text, " <=> ");
        print_expr(text, statement->annotation, PRECEDENCE_ANY);
    }
    print_wheres(text, &statement->wheres);
    text_add(text, "\n");
}

static void print_head(Text *text, const AstStatement *block) {
    if (block->kind == STATEMENT_SCAN) {
        text_add(text, "scan %s {\n", block->index.text);
        return;
    }
    text_add(text, "for %s in ", block->index.text);
    print_expr(text, block->begin, PRECEDENCE_ANY);
    text_add(text, ":");
    print_expr(text, block->end, PRECEDENCE_ANY);
    text_add(text, " {\n");
}

static void print_statements(Text *text, const AstStatements *list, int indent) {
    for (int i = 0; i < list->count; i++) {
        const AstStatement *statement = list->items[i];
        text_add(text, "%*s", indent, "");
        if (statement->kind == STATEMENT_ASSIGN) {
            print_assign(text, statement);
            continue;
        }
        print_head(text, statement);
        print_statements(text, &statement->body, indent + 4);
        text_add(text, "%*s}\n", indent, "");
    }
}

/* --- items --- */

static void print_arguments(Text *text, const AstParameters *list) {
    for (int i = 0; i < list->count; i++) {
        const AstParameter *argument = &list->items[i];
        text_add(text, "%s%s%s", i ? ", " : "", argument->constant ? "const " : "",
                 element_info[argument->type].spelling);
        if (argument->is_tensor)
            print_exprs(text, &argument->dims);
        text_add(text, " %s", argument->name.text);
    }
}

static void print_results(Text *text, const AstResults *list) {
    for (int i = 0; i < list->count; i++) {
        const AstResult *result = &list->items[i];
        text_add(text, "%s%s", i ? ", " : "", result->inout ? "inout " : "");
        if (result->has_type)
            text_add(text, "%s", element_info[result->type].spelling);
        if (result->has_dims)
            print_exprs(text, &result->dims);
        text_add(text, "%s%s", result->has_type ? " " : "", result->name.text);
    }
}

static void print_def(Text *text, const AstDef *def) {
    text_add(text, "def %s", def->name.text);
    print_bindings(text, &def->parameters, "[", "]");
    text_add(text, "(");
    print_arguments(text, &def->arguments);
    text_add(text, ") -> (");
    print_results(text, &def->results);
    text_add(text, ")");
    print_wheres(text, &def->wheres);
    if (def->implements.text) {
        text_add(text, " implements %s", def->implements.text);
        print_bindings(text, &def->implements_parameters, "[", "]");
        print_wheres(text, &def->implements_wheres);
        if (def->implements_error) {
            text_add(text, " error ");
            print_expr(text, def->implements_error, PRECEDENCE_ANY);
        }
    }
    text_add(text, " {\n");
    print_statements(text, &def->statements, 4);
    text_add(text, "}\n");
}

static void print_export(Text *text, const AstExport *export) {
    text_add(text, "export %s", export->def.text);
    print_bindings(text, &export->bindings, "(", ")");
    if (export->symbol.text)
        text_add(text, " as %s", export->symbol.text);
    for (int i = 0; i < export->tunes.count; i++) {
        text_add(text, i ? ", " : " tune ");
        print_bindings(text, &export->tunes.items[i], "(", ")");
    }
    text_add(text, "\n");
}

static void print_combiner(Text *text, const AstCombiner *combiner) {
    text_add(text, "combiner %s(", combiner->name.text);
    print_arguments(text, &combiner->left);
    text_add(text, "; ");
    print_arguments(text, &combiner->right);
    text_add(text, ")");
    for (int i = 0; i < combiner->properties.count; i++)
        text_add(text, " %s", combiner->properties.items[i].text);
    text_add(text, " identity ");
    print_exprs(text, &combiner->identity);
    text_add(text, " {\n    ");
    print_exprs(text, &combiner->values);
    text_add(text, "\n}\n");
}

static void print_instr(Text *text, const AstInstr *instr) {
    text_add(text, "instr %s(", instr->name.text);
    print_arguments(text, &instr->arguments);
    text_add(text, ") on ");
    print_string(text, instr->target);
    for (int i = 0; i < instr->needs.count; i++) {
        text_add(text, i ? ", " : " needs ");
        print_string(text, instr->needs.items[i].text);
    }
    text_add(text, " {\n");
    print_statements(text, &instr->statements, 4);
    text_add(text, "} =");
    for (const char *line = instr->text; line; line = *line ? line + 1 : NULL) {
        size_t length = strcspn(line, "\n");
        text_add(text, "%s", strchr(instr->text, '\n') ? "\n    " : " ");
        print_string(text, arena_strndup(text->arena, line, length));
        line += length;
    }
    text_add(text, "\n");
}

void ast_print(Text *text, const AstFile *file) {
    for (int i = 0; i < file->imports.count; i++) {
        text_add(text, "import ");
        print_string(text, file->imports.items[i].path);
        text_add(text, "\n");
    }
    for (int i = 0; i < file->combiners.count; i++)
        print_combiner(text, &file->combiners.items[i]);
    for (int i = 0; i < file->instrs.count; i++)
        print_instr(text, &file->instrs.items[i]);
    for (int i = 0; i < file->defs.count; i++)
        print_def(text, file->defs.items[i]);
    for (int i = 0; i < file->exports.count; i++)
        print_export(text, &file->exports.items[i]);
    for (int i = 0; i < file->schedules.count; i++)
        schedule_print(text, file->schedules.items[i]);
    for (int i = 0; i < file->rules.count; i++)
        rule_print(text, file->rules.items[i]);
}
