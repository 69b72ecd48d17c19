/* hints.c - what a message suggests in place of a statement: the statement written in another way.
 *
 * What is suggested compiles, means what was meant, and takes no more time than that: where no such statement is known
 * nothing is said.
 */
#include "lang/foreign.h"
#include "sema/rewriting.h"

#include <string.h>

/* --- values ------------------------------------------------------------------------------------------------------ */

/* Whether it is what "y() += ! x(i)" adds, where "+=!" was meant. */
static bool follows_update(const Statement *s, const AstExpr *ast) {
    const AstExpr *value = s->ast && s->ast->kind == STATEMENT_ASSIGN ? s->ast->values.items[0] : NULL;
    return value && s->ast->combine != COMBINE_NONE && !s->ast->initialise && value->kind == AST_OPERATOR &&
           value->op == OP_NOT && value->args.items[0] == ast;
}

void hint_comparison(const Statement *s, const AstExpr *ast) {
    enum { LONGEST = 40 };
    Arena *arena = s->builder->arena;
    const char *known = ast->kind == AST_NAME && find_index(s, ast->name.text) ? foreign_hint(ast->name.text) : NULL;
    const char *text = ast_text(arena, ast_suggest(arena, OP_NE, (AstExpr *)ast, ast_suggest_name(arena, "0"), NULL));
    if (known)
        HINT(s->frame, "%s", known);
    else if (follows_update(s, ast))
        HINT(s->frame, "%s=! is written without a blank", op_info[combine_op(s->ast->combine)].spelling);
    else
        HINT(s->frame, "compare it: (%s)", strlen(text) <= LONGEST ? text : "... != 0");
}

/* Whether an element is read somewhere in the value: a sum of a whole tensor has no indices. */
static bool reads_element(const AstExpr *ast) {
    bool found = ast->kind == AST_APPLY;
    for (int i = 0; i < ast->args.count && !found; i++)
        found = reads_element(ast->args.items[i]);
    return found;
}

/* Whether it is the whole value of an assignment to one tensor. */
static bool is_assigned(const Statement *s, const AstExpr *ast) {
    return s->ast && s->ast->kind == STATEMENT_ASSIGN && s->ast->targets.count == 1 && s->ast->values.items[0] == ast &&
           s->ast->combine == COMBINE_NONE && !s->ast->initialise;
}

bool hint_combined(const Statement *s, const AstExpr *ast) {
    Arena *arena = s->builder->arena;
    const char *combiner = foreign_combiner(ast->name.text);
    bool good = combiner && is_assigned(s, ast) && ast->args.count > 0 && reads_element(ast->args.items[0]);
    for (int i = 1; i < ast->args.count && good; i++) /* the indices that it is over: sum(x(i, j), j) */
        good = ast->args.items[i]->kind == AST_NAME && !frame_symbol(s->frame, ast->args.items[i]->name.text);
    if (!good)
        return false;
    AstExpr left = ast_of_target(&s->ast->targets.items[0]);
    HINT(s->frame, "write %s %s %s", ast_text(arena, &left), combiner, ast_text(arena, ast->args.items[0]));
    return true;
}

/* A(-1) for the last element: indices count from 0. */
bool hint_from_end(const Statement *s, const ReadSite *site, const AstExpr *place, int d) {
    if (place->kind != AST_OPERATOR || place->op != OP_NEG || place->args.items[0]->kind != AST_INTEGER ||
        site->view.lower || site->ast->kind != AST_APPLY)
        return false;
    Arena *arena = s->builder->arena;
    AstExpr *end = ast_suggest(arena, OP_SUB, ast_suggest_name(arena, expr_text(arena, site->view.dims[d])),
                               place->args.items[0], NULL);
    HINT(s->frame, "an index counts from the beginning: %s",
         ast_text(arena, read_with(arena, site->ast->name.text, &site->ast->args, d, end)));
    return true;
}

/* --- temporaries that need a value first -------------------------------------------------------------------------- */

/* What the target number i begins with before values are combined; NULL: nothing is combined. */
static const char *identity_text(const Statement *s, int i) {
    Arena *arena = s->builder->arena;
    if (s->ast->combine != COMBINE_NONE)
        return constant_text(arena, combine_identity(arena, s->ast->combine, s->type), s->type);
    if (!s->ast->combiner.text)
        return NULL;
    const Combiner *combiner = statement_combiner(s->frame, s->ast)->combiner;
    return constant_text(arena, combiner->identity[i], combiner->left[i]->type);
}

/* first(v) = identity where v in 0:..., for each target. */
static const char *first_definitions(const Statement *s) {
    const AstTargets *targets = &s->ast->targets;
    Text text = {.arena = s->builder->arena}, places = text, ranges = text;
    for (int d = 0; d < targets->items[0].indices.count; d++) {
        text_add(&places, "%s%c", d ? ", " : "", "vwabcdef"[d % 8]);
        text_add(&ranges, "%s%c in 0:...", d ? ", " : "", "vwabcdef"[d % 8]);
    }
    for (int i = 0; i < targets->count; i++)
        text_add(&text, "%s%s(%s) = %s where %s", i ? ", then " : "", targets->items[i].name.text, places.text,
                 identity_text(s, i), ranges.text);
    return text.text;
}

void hint_extent(const Statement *s) {
    const AstTargets *targets = &s->ast->targets;
    const Symbol *symbol = frame_symbol(s->frame, targets->items[0].name.text);
    Text left = {.arena = s->builder->arena};
    for (int i = 0; i < targets->count; i++) {
        AstExpr target = ast_of_target(&targets->items[i]);
        text_add(&left, "%s%s", i ? ", " : "", ast_text(s->builder->arena, &target));
    }
    if (symbol && symbol->variable && symbol->variable->result)
        HINT(s->frame, "say it in the header: TYPE(SIZES) %s", symbol->name);
    else if (identity_text(s, 0))
        HINT(s->frame, "define it first: %s, then %s %s= ...", first_definitions(s), left.text,
             s->ast->combiner.text ? s->ast->combiner.text : op_info[combine_op(s->ast->combine)].spelling);
}

/* --- c(pos, d) = x(d) where pos is a value ------------------------------------------------------------------------ */

/* Whether the name stands for one integer. */
static bool is_integer_name(const Statement *s, const char *name) {
    const Symbol *symbol = frame_symbol(s->frame, name);
    const View *view = symbol && symbol->kind == SYMBOL_TENSOR ? &symbol->variable->view : NULL;
    if (!symbol || symbol->kind == SYMBOL_DEF || (view && (!view->tensor || view->rank > 0)))
        return false;
    return symbol->kind == SYMBOL_SIZE || type_is_integer(view ? view->tensor->type : symbol->value->type);
}

/* Whether something else than the statement says how large the tensor is. */
static bool has_sizes(const Statement *s, const AstTarget *target) {
    const Symbol *symbol = frame_symbol(s->frame, target->name.text);
    const Variable *variable = symbol && symbol->kind == SYMBOL_TENSOR ? symbol->variable : NULL;
    return variable && (variable->view.tensor || (variable->result && variable->result->has_dims));
}

void hint_place(const Statement *s, const AstTarget *target, const char *name) {
    Arena *arena = s->builder->arena;
    for (int i = 0; i < s->ast->wheres.count; i++)
        if (s->ast->wheres.items[i].kind == WHERE_LET && strcmp(s->ast->wheres.items[i].name.text, name) == 0) {
            HINT(s->frame, "a condition says where an index is: where %s == %s", name,
                 ast_text(arena, s->ast->wheres.items[i].value));
            return;
        }
    if (!is_integer_name(s, name) || s->frame->scan) {
        HINT(s->frame, "choose another name for the index");
        return;
    }
    AstExpr *index = ast_suggest_name(arena, free_name(s, "p"));
    Replacing rule = {ast_suggest_name(arena, name), index};
    AstExpr left = ast_of_target(target);
    HINT(s->frame, "an index of its own writes only there: %s ... where %s%s == %s",
         ast_text(arena, replaced(arena, &left, &rule, 1)),
         has_sizes(s, target) ? "" : arena_printf(arena, "%s in 0:SIZE, ", index->name.text), index->name.text, name);
}

/* One more condition of a conjunction; NULL: there is none so far. */
static AstExpr *and_also(Arena *arena, AstExpr *condition, AstExpr *also) {
    return condition ? ast_suggest(arena, OP_AND, condition, also, NULL) : also;
}

/* What a range of where says as a condition, in addition to the range that the index has. */
static AstExpr *range_condition(const Statement *s, const AstWhere *where, AstExpr *condition) {
    Arena *arena = s->builder->arena;
    const IndexVariable *index = find_index(s, where->name.text);
    AstExpr *name = ast_suggest_name(arena, index->name);
    bool from_zero = where->begin->kind == AST_INTEGER && where->begin->integer == 0;
    if (index->read ? !from_zero : index->begin && uses_indices(s, index->begin))
        condition = and_also(arena, condition, ast_suggest(arena, OP_GE, name, where->begin, NULL));
    if (index->read || (index->end && uses_indices(s, index->end)))
        condition = and_also(arena, condition, ast_suggest(arena, OP_LT, name, where->end, NULL));
    return condition;
}

/* Whether a range depends on other indices while the ranges of these are made up. */
static bool has_unknown_hull(const Statement *s) {
    bool found = false;
    for (int i = 0; i < s->indices.count && s->builder->names_only; i++)
        found |= s->indices.items[i]->begin != NULL;
    return found;
}

/* The clauses of where that are no conditions. A range that depends on other indices becomes that of all of them. */
static const char *other_clauses(const Statement *s) {
    Text text = {.arena = s->builder->arena};
    for (int i = 0; i < s->ast->wheres.count; i++) {
        const AstWhere *where = &s->ast->wheres.items[i];
        const IndexVariable *index = where->kind == WHERE_RANGE ? find_index(s, where->name.text) : NULL;
        const char *before = text.length ? ", " : " where ";
        if (index && !index->read && index->begin)
            text_add(&text, "%s%s in %s:%s", before, index->name, expr_text(text.arena, index->low),
                     expr_text(text.arena,
                               size_normal(text.arena, expr_binary(text.arena, OP_ADD, index->low, index->extent))));
        else if ((index && !index->read) || where->kind == WHERE_LET || where->kind == WHERE_EXISTS)
            text_add(&text, "%s%s", before, clause_text(text.arena, where, NULL));
    }
    return text.length ? text.text : "";
}

/* A temporary over all rows and all places is larger than both: hints at its value, which needs no temporary. */
static bool hint_value_itself(const Statement *statement) {
    Arena *arena = statement->builder->arena;
    Statement split = with_clauses(statement);
    AstWhere rows;
    bool found = false;
    for (int i = 0; i < split.indices.count && !found; i++)
        found = rows_at(&split, split.indices.items[i]->name, &rows) && !mentions(rows.begin, rows.name.text) &&
                reads_at(&split, rows.begin, split.indices.items[i]->name);
    if (found)
        HINT(split.frame,
             "a temporary has all places of its indices; read the value itself instead of '%s': %s where %s in %s:%s",
             split.ast->targets.items[0].name.text, ast_text(arena, split.ast->values.items[0]), rows.name.text,
             ast_text(arena, rows.begin), ast_text(arena, rows.end));
    return found;
}

void hint_choice(const Statement *s, ElementType type) {
    Arena *arena = s->builder->arena;
    if (hint_value_itself(s))
        return;
    const AstTarget *target = &s->ast->targets.items[0];
    AstExpr left = ast_of_target(target), *condition = NULL;
    for (int i = 0; i < s->ast->wheres.count; i++) {
        const AstWhere *where = &s->ast->wheres.items[i];
        if (where->kind == WHERE_PREDICATE)
            condition = and_also(arena, condition, where->value);
        else if (where->kind == WHERE_RANGE)
            condition = range_condition(s, where, condition);
    }
    if (!condition || has_unknown_hull(s))
        return;
    AstExpr *zero = ast_suggest_name(arena, zero_text(arena, type));
    AstExpr *choice = ast_suggest(arena, OP_SELECT, condition, s->ast->values.items[0], zero);
    HINT(s->frame, "say what it is elsewhere: %s = %s%s", ast_text(arena, &left), ast_text(arena, choice),
         other_clauses(s));
}

/* --- what a header would say -------------------------------------------------------------------------------------- */

/* A size as the header says it, or would say it. */
static const char *dimension_text(const Statement *s, const Variable *variable, int dimension) {
    const AstDef *def = s->frame->definition->ast;
    Arena *arena = s->builder->arena;
    for (int i = 0; variable->input && i < def->arguments.count; i++)
        if (strcmp(def->arguments.items[i].name.text, variable->name) == 0)
            return ast_text(arena, def->arguments.items[i].dims.items[dimension]);
    return expr_text(arena, variable->view.dims[dimension]);
}

/* The size of a dimension that is read at the index alone; NULL: there is none. end: that it must be, where known. */
static const char *size_read(const Statement *s, const AstExpr *ast, const char *index, Expr *end) {
    const Variable *variable = variable_read(s, ast);
    const char *found = NULL;
    for (int i = 0; i < ast->args.count && !found; i++) {
        const AstExpr *at = ast->args.items[i];
        bool known = variable && (variable->input || !s->builder->names_only); /* its sizes are not made up */
        bool alone = known && i < variable->view.rank && is_name(at, index);
        if (alone && (!end || size_equal(s->builder->arena, variable->view.dims[i], end)))
            found = dimension_text(s, variable, i);
        else
            found = size_read(s, at, index, end);
    }
    return found;
}

/* The size that lets an index of the left side run as far as it does; NULL: it is not known. */
static const char *index_size(const Statement *s, int dimension) {
    Arena *arena = s->builder->arena;
    const IndexVariable *index = dimension < s->indices.count ? s->indices.items[dimension] : NULL;
    if (!index || index->place)
        return NULL;
    const AstWhere *where = range_of(s, index->name);
    Expr *end = NULL;
    if (where && !index->read && !index->begin)
        return ast_text(arena, where->end);
    if (index->low && index->high && !s->builder->names_only)
        end = size_normal(arena, expr_binary(arena, OP_ADD, index->high, expr_int(arena, 1)));
    const char *found = size_read(s, s->ast->values.items[0], index->name, end);
    for (int i = 0; i < s->ast->wheres.count && !found; i++)
        if (s->ast->wheres.items[i].value)
            found = size_read(s, s->ast->wheres.items[i].value, index->name, end);
    return found ? found : end ? expr_text(arena, end) : NULL;
}

/* The sizes that a header says. */
static const char *dimensions_text(Arena *arena, const AstExprs *dims) {
    Text text = {.arena = arena};
    for (int d = 0; d < dims->count; d++)
        text_add(&text, "%s%s", d ? ", " : "", ast_text(arena, dims->items[d]));
    return text.length ? text.text : "";
}

static const char *sizes_text(const Statement *s, const Variable *variable) {
    Text text = {.arena = s->builder->arena};
    const AstResult *result = variable->result;
    int rank = s->ast->targets.items[0].indices.count;
    if (result->has_dims)
        return dimensions_text(text.arena, &result->dims);
    for (int d = 0; d < rank; d++) {
        const char *size = index_size(s, d);
        if (!size)
            return "SIZES";
        text_add(&text, "%s%s", d ? ", " : "", size);
    }
    return rank ? text.text : "";
}

void hint_rest(const Statement *s, const Variable *variable, ElementType type) {
    const AstTarget *target = &s->ast->targets.items[0];
    const AstResult *result = variable->result;
    AstExpr left = ast_of_target(target);
    Text ranges = {.arena = s->builder->arena};
    for (int d = 0; d < target->indices.count && result->has_dims; d++)
        text_add(&ranges, "%s%s in 0:%s", d ? ", " : "", ast_text(ranges.arena, target->indices.items[d]),
                 ast_text(ranges.arena, result->dims.items[d]));
    if (ranges.length)
        HINT(s->frame, "define all of it first: %s = %s where %s", ast_text(ranges.arena, &left),
             zero_text(ranges.arena, type), ranges.text);
}

/* The type of a value that is not translated yet; TYPE_COUNT: unknown. own: the tensor that takes this type. */
static ElementType value_type(const Statement *s, const AstExpr *ast, const char *own) {
    const Variable *variable = variable_read(s, ast);
    if (let_value(s, ast))
        return TYPE_COUNT;
    const Symbol *symbol = ast->kind == AST_NAME ? frame_symbol(s->frame, ast->name.text) : NULL;
    bool number = ast->kind == AST_INTEGER || ast->kind == AST_SIZE || (ast->kind == AST_NAME && !symbol);
    if (variable)
        return variable->view.tensor->type;
    if (ast->kind == AST_CAST || ast->kind == AST_REAL || number)
        return ast->kind == AST_CAST ? ast->type : ast->kind == AST_REAL ? TYPE_FLOAT : TYPE_INT32;
    if (symbol && symbol->kind != SYMBOL_TENSOR)
        return symbol->kind == SYMBOL_SCALAR ? symbol->value->type : TYPE_INT32;
    int op = ast->kind == AST_OPERATOR ? (int)ast->op : ast->kind == AST_APPLY ? find_builtin(ast->name.text) : -1;
    bool keeps = op == OP_ADD || op == OP_SUB || op == OP_MUL || op == OP_DIV || op == OP_MOD || op == OP_NEG ||
                 op == OP_MIN || op == OP_MAX || op == OP_ABS || op == OP_SELECT || ast->kind == AST_ELSE;
    ElementType type = TYPE_COUNT;
    for (int i = op == OP_SELECT; i < ast->args.count && keeps; i++) {
        const AstExpr *part = ast->args.items[i];
        bool itself = (part->kind == AST_APPLY || part->kind == AST_NAME) && strcmp(part->name.text, own) == 0;
        ElementType other = itself ? type : value_type(s, part, own);
        if (!itself && other == TYPE_COUNT)
            return TYPE_COUNT;
        type = type == TYPE_COUNT ? other : type_promote(type, other);
    }
    return type;
}

const char *inout_text(const Statement *s, const Variable *variable, ElementType type) {
    const AstResult *result = variable->result;
    if (result->has_type)
        type = result->type;
    else if (type == TYPE_COUNT)
        type = value_type(s, s->ast->values.items[0], variable->name);
    const char *spelling = type == TYPE_COUNT ? "TYPE" : element_info[type].spelling;
    return arena_printf(s->builder->arena, "inout %s(%s) %s", spelling, sizes_text(s, variable), variable->name);
}

void hint_result(CallFrame *frame, const char *name) {
    const AstDef *def = frame->definition->ast;
    for (int i = 0; i < def->arguments.count; i++) {
        const AstParameter *argument = &def->arguments.items[i];
        if (strcmp(argument->name.text, name) != 0)
            continue;
        HINT(frame, "what changes is no argument but a result: inout %s(%s) %s", element_info[argument->type].spelling,
             dimensions_text(frame->builder->arena, &argument->dims), name);
    }
}
