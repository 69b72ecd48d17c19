/* rewriting.c - see rewriting.h. */
#include "sema/rewriting.h"

#include <math.h>
#include <string.h>

const char *ast_text(Arena *arena, const AstExpr *ast) {
    Text text = {.arena = arena};
    ast_print_expr(&text, ast);
    return text.text;
}

bool same_source(Arena *arena, const AstExpr *a, const AstExpr *b) {
    return a->kind == b->kind && strcmp(ast_text(arena, a), ast_text(arena, b)) == 0;
}

bool is_name(const AstExpr *ast, const char *name) {
    return ast->kind == AST_NAME && strcmp(ast->name.text, name) == 0;
}

bool mentions(const AstExpr *ast, const char *name) {
    bool found = is_name(ast, name);
    for (int i = 0; i < ast->args.count && !found; i++)
        found = mentions(ast->args.items[i], name);
    return found;
}

AstExpr *replaced(Arena *arena, AstExpr *ast, const Replacing *rules, int count) {
    for (int r = 0; r < count; r++)
        if (same_source(arena, ast, rules[r].part))
            return rules[r].by;
    AstExpr *copy = ARENA_NEW(arena, AstExpr);
    *copy = *ast;
    copy->args = (AstExprs){0};
    for (int i = 0; i < ast->args.count; i++)
        list_push(arena, &copy->args, replaced(arena, ast->args.items[i], rules, count));
    return copy;
}

AstExpr *applied(Arena *arena, const char *name, AstExpr *index) {
    AstExpr *read = ast_suggest_name(arena, name);
    read->kind = AST_APPLY;
    list_push(arena, &read->args, index);
    return read;
}

AstExpr *read_with(Arena *arena, const char *name, const AstExprs *indices, int dimension, AstExpr *index) {
    AstExpr *read = ast_suggest_name(arena, name);
    read->kind = AST_APPLY;
    for (int d = 0; d < indices->count; d++)
        list_push(arena, &read->args, d == dimension ? index : indices->items[d]);
    return read;
}

const char *free_name(const Statement *s, const char *name) {
    while (frame_symbol(s->frame, name) || find_index(s, name))
        name = arena_printf(s->builder->arena, "%s_", name);
    return name;
}

const char *constant_text(Arena *arena, const Expr *e, ElementType type) {
    const char *number = NULL, *name = element_info[type].spelling;
    if (e->kind == EXPR_REAL && isinf(e->real))
        number = e->real > 0 ? "1.0 / 0.0" : "-1.0 / 0.0";
    else if (e->kind == EXPR_REAL)
        number = arena_printf(arena, e->real == floor(e->real) ? "%.1f" : "%.17g", e->real);
    else if (e->integer == INT64_MIN)
        number = "-9223372036854775807 - 1"; /* its digits alone do not fit */
    else
        number = arena_printf(arena, "%lld", (long long)e->integer);
    bool literal = type == TYPE_FLOAT || (type == TYPE_INT32 && e->integer != INT32_MIN);
    return literal ? number : arena_printf(arena, "%s(%s)", name, number);
}

const AstWhere *range_of(const Statement *s, const char *name) {
    for (int i = 0; i < s->ast->wheres.count; i++)
        if (s->ast->wheres.items[i].kind == WHERE_RANGE && strcmp(s->ast->wheres.items[i].name.text, name) == 0)
            return &s->ast->wheres.items[i];
    return NULL;
}

const char *zero_text(Arena *arena, ElementType type) {
    bool literal = type == TYPE_FLOAT || type == TYPE_INT32;
    return literal ? "0" : constant_text(arena, expr_int(arena, 0), type);
}

const Variable *variable_read(const Statement *s, const AstExpr *ast) {
    const Symbol *symbol =
        ast->kind == AST_APPLY || ast->kind == AST_NAME ? frame_symbol(s->frame, ast->name.text) : NULL;
    bool known = symbol && symbol->kind == SYMBOL_TENSOR && symbol->variable->view.tensor;
    return known ? symbol->variable : NULL;
}

const AstExpr *let_value(const Statement *s, const AstExpr *ast) {
    const AstExpr *value = NULL;
    for (int i = 0; i < s->ast->wheres.count && ast->kind == AST_NAME; i++)
        if (s->ast->wheres.items[i].kind == WHERE_LET && is_name(ast, s->ast->wheres.items[i].name.text))
            value = s->ast->wheres.items[i].value;
    return value;
}

const char *clause_text(Arena *arena, const AstWhere *where, const Replacing *rule) {
    int rules = rule != NULL;
    if (where->kind == WHERE_RANGE)
        return arena_printf(arena, "%s in %s:%s", where->name.text,
                            ast_text(arena, replaced(arena, where->begin, rule, rules)),
                            ast_text(arena, replaced(arena, where->end, rule, rules)));
    const char *value = ast_text(arena, replaced(arena, where->value, rule, rules));
    if (where->kind == WHERE_LET)
        return arena_printf(arena, "%s = %s", where->name.text, value);
    return where->kind == WHERE_EXISTS ? arena_printf(arena, "exists %s", value) : value;
}
