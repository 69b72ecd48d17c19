/* ast.c - the builders of the syntax tree, and the two entry points of the folder.
 *
 * Each node covers the source of all its parts. No tree is deeper than AST_DEPTH_LIMIT, so every later pass may
 * recurse. A deeper one is cut and reported, once for each statement.
 */
#include "parser/ast.h"
#include "parser/gram.h"
#include "parser/parser.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static AstExpr *new_expr(Parser *parser, AstExprKind kind, Loc loc) {
    AstExpr *e = ARENA_NEW(parser->arena, AstExpr);
    e->kind = kind;
    e->depth = 1;
    e->loc = loc;
    return e;
}

static void report_depth(Parser *parser, Loc loc) {
    if (!parser->too_deep) {
        diag(parser->diagnostics, DIAG_too_deep, loc, AST_DEPTH_LIMIT);
        diag_hint(parser->diagnostics,
                  "each operator is a level: give parts of it to temporaries, or sum over an index, +=!");
    }
    parser->too_deep = true;
}

static void note_depth(Parser *parser, AstExpr *e, const AstExpr *child) {
    if (child->depth >= AST_DEPTH_LIMIT) {
        report_depth(parser, e->loc);
        *e = (AstExpr){.kind = AST_INTEGER, .depth = 1, .loc = e->loc, .name = {"0", e->loc}};
    } else if (child->depth >= e->depth) {
        e->depth = child->depth + 1;
    }
}

static void add_arg(Parser *parser, AstExpr *e, AstExpr *arg) {
    list_push(parser->arena, &e->args, arg);
    note_depth(parser, e, arg);
}

AstExpr *ast_integer(Parser *parser, AstName spelled) {
    AstExpr *e = new_expr(parser, AST_INTEGER, spelled.loc);
    bool hexadecimal = spelled.text[0] == '0' && (spelled.text[1] | 0x20) == 'x';
    e->name = spelled;
    errno = 0;
    e->integer = strtoll(spelled.text, NULL, hexadecimal ? 16 : 10);
    e->overflow = errno == ERANGE;
    if (e->overflow)
        diag(parser->diagnostics, DIAG_integer_range, spelled.loc, spelled.text);
    return e;
}

AstExpr *ast_least_integer(Parser *parser, Loc loc) {
    AstExpr *e = new_expr(parser, AST_INTEGER, loc);
    e->name = (AstName){"-9223372036854775808", loc};
    e->integer = INT64_MIN;
    return e;
}

AstExpr *ast_real(Parser *parser, AstName spelled) {
    AstExpr *e = new_expr(parser, AST_REAL, spelled.loc);
    e->name = spelled;
    e->real = strtod(spelled.text, NULL);
    if (e->real > 1.7976931348623157e308)
        diag(parser->diagnostics, DIAG_real_range, spelled.loc, spelled.text);
    return e;
}

AstExpr *ast_name(Parser *parser, AstName name) {
    AstExpr *e = new_expr(parser, AST_NAME, name.loc);
    e->name = name;
    return e;
}

AstExpr *ast_apply(Parser *parser, AstName name, AstBindings parameters, AstExprs args, Loc loc) {
    AstExpr *e = new_expr(parser, AST_APPLY, loc);
    e->name = name;
    e->parameters = parameters;
    e->args = args;
    for (int i = 0; i < parameters.count; i++)
        if (e->kind == AST_APPLY && parameters.items[i].value)
            note_depth(parser, e, parameters.items[i].value);
    for (int i = 0; i < args.count && e->kind == AST_APPLY; i++)
        note_depth(parser, e, args.items[i]);
    return e;
}

AstExpr *ast_size(Parser *parser, AstName name, AstName digits) {
    AstExpr *e = new_expr(parser, AST_SIZE, loc_join(name.loc, digits.loc));
    AstName number = {digits.text + 1, digits.loc};
    e->name = name;
    e->integer = ast_integer(parser, number)->integer;
    return e;
}

AstExpr *ast_cast(Parser *parser, ElementType type, AstExpr *value, Loc loc) {
    AstExpr *e = new_expr(parser, AST_CAST, loc);
    e->type = type;
    add_arg(parser, e, value);
    return e;
}

AstExpr *ast_unary(Parser *parser, Op op, AstExpr *value, Loc loc) {
    AstExpr *e = new_expr(parser, AST_OPERATOR, loc);
    e->op = op;
    add_arg(parser, e, value);
    return e;
}

AstExpr *ast_binary(Parser *parser, Op op, AstExpr *a, AstExpr *b) {
    AstExpr *e = new_expr(parser, AST_OPERATOR, loc_join(a->loc, b->loc));
    e->op = op;
    add_arg(parser, e, a);
    if (e->kind == AST_OPERATOR)
        add_arg(parser, e, b);
    return e;
}

AstExpr *ast_select(Parser *parser, AstExpr *condition, AstExpr *a, AstExpr *b) {
    AstExpr *e = ast_binary(parser, OP_SELECT, condition, a);
    e->loc = loc_join(condition->loc, b->loc);
    if (e->kind == AST_OPERATOR)
        add_arg(parser, e, b);
    return e;
}

AstExpr *ast_suggest(Arena *arena, Op op, AstExpr *a, AstExpr *b, AstExpr *c) {
    AstExpr *e = ARENA_NEW(arena, AstExpr);
    e->kind = AST_OPERATOR;
    e->op = op;
    list_push(arena, &e->args, a);
    list_push(arena, &e->args, b);
    if (c)
        list_push(arena, &e->args, c);
    return e;
}

AstExpr ast_of_target(const AstTarget *target) {
    return (AstExpr){.kind = AST_APPLY, .name = target->name, .args = target->indices, .loc = target->loc};
}

AstExpr *ast_suggest_name(Arena *arena, const char *name) {
    AstExpr *e = ARENA_NEW(arena, AstExpr);
    e->kind = AST_NAME;
    e->name.text = name;
    return e;
}

/* A name in parentheses is a value. A name without them may be a mode. */
static ElseMode else_mode(const AstExpr *otherwise) {
    static const struct {
        const char *name;
        ElseMode mode;
    } modes[] = {{"edge", ELSE_EDGE}, {"wrap", ELSE_WRAP}, {"reflect", ELSE_REFLECT}};
    bool bare = otherwise->kind == AST_NAME && otherwise->loc.begin == otherwise->name.loc.begin;
    for (size_t i = 0; bare && i < sizeof modes / sizeof *modes; i++)
        if (!strcmp(otherwise->name.text, modes[i].name))
            return modes[i].mode;
    return ELSE_VALUE;
}

AstExpr *ast_else(Parser *parser, AstExpr *read, AstExpr *otherwise) {
    AstExpr *e = new_expr(parser, AST_ELSE, loc_join(read->loc, otherwise->loc));
    if (read->kind != AST_APPLY) {
        diag(parser->diagnostics, DIAG_else_without_read, read->loc);
        diag_hint(parser->diagnostics, "'else' belongs to one read, as in A(i - 1) else 0");
    }
    e->else_mode = else_mode(otherwise);
    add_arg(parser, e, read);
    if (e->else_mode == ELSE_VALUE && e->kind == AST_ELSE)
        add_arg(parser, e, otherwise);
    return e;
}

AstExprs ast_select_tuple(Parser *parser, AstExpr *condition, AstExprs a, AstExprs b, Loc loc) {
    AstExprs chosen = {0};
    if (a.count != b.count)
        diag(parser->diagnostics, DIAG_tuple_size, loc, a.count, b.count);
    for (int i = 0; i < a.count && i < b.count; i++)
        list_push(parser->arena, &chosen, ast_select(parser, condition, a.items[i], b.items[i]));
    return chosen;
}

void ast_check_end(Parser *parser, const AstExpr *end) {
    if (end->kind != AST_OPERATOR || (end->op != OP_AND && end->op != OP_OR))
        return;
    Loc loc = {end->loc.file, end->args.items[0]->loc.end, end->args.items[1]->loc.begin};
    diag(parser->diagnostics, DIAG_unexpected, loc, end->op == OP_AND ? "'&&'" : "'||'");
    diag_hint(parser->diagnostics, "the conditions of where are separated by ','");
}

AstTarget ast_target(AstName name, const AstExprs *indices, Loc loc) {
    AstTarget target = {.name = name, .has_indices = indices != NULL, .loc = loc};
    if (indices)
        target.indices = *indices;
    return target;
}

AstStatement *ast_assign(Parser *parser, AstTargets targets, Combine combine, bool initialise, AstExprs values) {
    AstStatement *statement = ARENA_NEW(parser->arena, AstStatement);
    *statement = (AstStatement){
        .kind = STATEMENT_ASSIGN,
        .depth = 1,
        .targets = targets,
        .combine = combine,
        .initialise = initialise,
        .values = values,
        .loc = loc_join(targets.items[0].loc, values.items[values.count - 1]->loc),
    };
    return statement;
}

AstStatement *ast_block(Parser *parser, AstStatementKind kind, AstName index, AstStatements body, Loc loc) {
    AstStatement *statement = ARENA_NEW(parser->arena, AstStatement);
    *statement = (AstStatement){.kind = kind, .depth = 1, .index = index, .body = body, .loc = loc};
    for (int i = 0; i < body.count; i++)
        if (body.items[i]->depth >= statement->depth)
            statement->depth = body.items[i]->depth + 1;
    if (statement->depth > AST_DEPTH_LIMIT) {
        report_depth(parser, loc);
        statement->body = (AstStatements){0};
        statement->depth = 1;
    }
    return statement;
}

void ast_add_def(Parser *parser, AstDef *def, Loc loc) {
    def->loc = loc;
    def->damaged = diag_error_count(parser->diagnostics) > parser->errors_before;
    list_push(parser->arena, &parser->file->defs, def);
}

void ast_add_combiner(Parser *parser, AstCombiner combiner) {
    combiner.damaged = diag_error_count(parser->diagnostics) > parser->errors_before;
    list_push(parser->arena, &parser->file->combiners, combiner);
}

AstParameter ast_untyped_argument(Parser *parser, AstName name) {
    AstParameter parameter = {.name = name, .type = TYPE_FLOAT, .loc = name.loc};
    int position = parser->current;
    while (position > 0 && token_at(parser, position)->loc.begin > name.loc.begin)
        position--;
    if (is_unknown_type(parser, position))
        return parameter; /* the grammar reports what follows */
    parser->untyped_at = position;
    diag(parser->diagnostics, DIAG_untyped_argument, name.loc, name.text);
    if (token_at(parser, position)->kind == INOUT)
        diag_hint(parser->diagnostics, "what is read and written is a result: -> (inout float(N) y)");
    else
        diag_hint(parser->diagnostics, "write float(M, N) %s for a matrix, float %s for a scalar", name.text,
                  name.text);
    return parameter;
}

void ast_add_where(Parser *parser, AstWheres *wheres, AstWhere where) {
    if (wheres->count == AST_WHERE_LIMIT)
        diag(parser->diagnostics, DIAG_too_many_conditions, where.loc, AST_WHERE_LIMIT);
    if (wheres->count <= AST_WHERE_LIMIT) /* a condition that was reported is kept as the last one */
        list_push(parser->arena, wheres, where);
}

AstExprs ast_dimensions(Parser *parser, AstExprs dims) {
    if (dims.count > AST_RANK_LIMIT) {
        diag(parser->diagnostics, DIAG_too_many_dimensions, dims.items[AST_RANK_LIMIT]->loc, AST_RANK_LIMIT);
        dims.count = AST_RANK_LIMIT;
    }
    return dims;
}

void ast_semicolon(Parser *parser, Loc loc) {
    diag(parser->diagnostics, DIAG_semicolon, loc);
    diag_hint(parser->diagnostics, "leave the ';' out");
}

const char *ast_target_name(Parser *parser, Loc loc) {
    const char *text = parser->source->text + loc.begin;
    size_t length = loc.end - loc.begin;
    for (size_t i = 0; i < length; i++)
        if (strchr(" \t\r\n\f\v#", text[i])) {
            diag(parser->diagnostics, DIAG_target_blank, loc);
            break;
        }
    return arena_strndup(parser->arena, text, length);
}

/* --- entry points --- */

static Loc whole_source(Sources *sources, uint32_t file) {
    return (Loc){file, 0, (uint32_t)source_get(sources, file)->length};
}

static void parse(Parser *parser, Sources *sources, Loc part, int first_token) {
    parser->scratch = arena_new();
    parser->errors_before = diag_error_count(parser->diagnostics);
    parser->source = source_get(sources, part.file);
    parser->tokens = scan_source(parser->arena, parser->scratch, parser->source, part);
    parser->first_token = first_token;
    grammar_parse(parser);
    arena_free(parser->scratch);
}

void parse_items(AstFile *tree, Arena *arena, Sources *sources, Loc part, Diagnostics *diagnostics) {
    Parser parser = {.arena = arena, .diagnostics = diagnostics, .file = tree, .resumed_at = -1};
    parse(&parser, sources, part, START_FILE);
}

AstFile *parse_file(Arena *arena, Sources *sources, uint32_t file, Diagnostics *diagnostics) {
    AstFile *tree = ARENA_NEW(arena, AstFile);
    tree->file = file;
    parse_items(tree, arena, sources, whole_source(sources, file), diagnostics);
    return tree;
}

Schedule *parse_schedule(Arena *arena, Sources *sources, uint32_t file, Diagnostics *diagnostics) {
    int errors_before = diag_error_count(diagnostics);
    Schedule *schedule = ARENA_NEW(arena, Schedule);
    Parser parser = {
        .arena = arena, .diagnostics = diagnostics, .schedule = schedule, .in_schedule = true, .resumed_at = -1};
    schedule->loc = whole_source(sources, file);
    parse(&parser, sources, schedule->loc, START_SCHEDULE);
    return diag_error_count(diagnostics) == errors_before ? schedule : NULL;
}

Schedule *parse_schedule_text(Arena *arena, const char *text, size_t length) {
    Sources sources = {.arena = arena};
    Diagnostics *diagnostics = diag_new(arena, &sources, (DiagOptions){.silent = true});
    int file = source_add(&sources, "<schedule>", text, length, true);
    return parse_schedule(arena, &sources, (uint32_t)file, diagnostics);
}
