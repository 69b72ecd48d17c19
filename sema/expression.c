/* expression.c - translates the syntax tree of an expression into an Expr over the statement's index variables.
 *
 * There are two kinds of integers. Expressions of sizes, indices and integer literals only ("index" expressions) stay
 * exact int64, which ranges and bounds can reason about. When one meets a value, it becomes an int32. Inside the
 * indices of a read every integer is an int64. Each read is noted as a ReadSite, with the conditions that it stands
 * under.
 */
#include "sema/check.h"

#include <string.h>

static const Typed poison = {.type = TYPE_FLOAT};

static Typed fail(Statement *s) {
    s->failed = true;
    return poison;
}

static Typed index_expr(Expr *e) {
    return (Typed){e, e->type == TYPE_BOOL ? TYPE_BOOL : TYPE_INT32, true, CLOSED, NULL};
}

/* A value. Inside indices an integer becomes an int64. */
static Typed value_expr(Statement *s, Expr *e) {
    if (s->index_depth && type_is_integer(e->type))
        return (Typed){expr_cast(s->builder->arena, TYPE_INT64, e), TYPE_INT64, true, CLOSED, NULL};
    return (Typed){e, e->type, false, CLOSED, NULL};
}

/* Gives a new node its place in the source. A node that existed before keeps its own. */
static Expr *placed(Expr *e, Loc loc) {
    if (e->loc.file == 0)
        e->loc = loc;
    return e;
}

/* --- what memory or a scalar decides --- */

bool is_data_dependent(const Expr *e) {
    EACH_EXPR(at, e)
        if (at->kind == EXPR_READ || (at->kind == EXPR_VAR && at->var->kind == VAR_SCALAR))
            return true;
    return false;
}

/* --- index variables --- */

IndexVariable *find_index(const Statement *s, const char *name) {
    for (int i = 0; i < s->indices.count; i++)
        if (!s->indices.items[i]->place && strcmp(s->indices.items[i]->name, name) == 0)
            return s->indices.items[i];
    return NULL;
}

IndexVariable *add_index(Statement *s, AstName name) {
    IndexVariable *index = ARENA_NEW(s->builder->arena, IndexVariable);
    index->name = name.text;
    index->loc = name.loc;
    index->raw = var_new(s->builder->arena, VAR_AXIS, TYPE_INT64, name.text, NULL);
    index->raw->loc = name.loc;
    list_push(s->builder->arena, &s->indices, index);
    return index;
}

/* --- conversion of operands --- */

/* The common type of two operands. *open: whether it is known. */
static ElementType meet(const Typed *a, const Typed *b, Open *open) {
    *open = !a->open || !b->open ? CLOSED : a->open > b->open ? a->open : b->open;
    if (a->open == b->open)
        return type_promote(a->type, b->type);
    bool left = a->open == CLOSED || (a->open == OPEN_LITERAL && b->open == OPEN);
    return left ? a->type : b->type;
}

/* Converts both operands to their common type, or keeps both as indices. False if one is poisoned. */
static bool promote_pair(Statement *s, Typed *a, Typed *b) {
    if (!a->expr || !b->expr)
        return false;
    Open open;
    ElementType type = meet(a, b, &open);
    if (a->index && b->index && a->expr->type == b->expr->type) {
        a->type = b->type = type;
        return true;
    }
    Arena *arena = s->builder->arena;
    *a = (Typed){typed_as(arena, *a, type), type, false, open, NULL};
    *b = (Typed){typed_as(arena, *b, type), type, false, open, NULL};
    return true;
}

/* --- floats made of numbers only have no type of their own: beside a double, 0.1 is a double --- */

/* A number or a size (known or not) in double; NULL if it is neither. */
static Expr *number_of(Statement *s, const Typed *a) {
    Arena *arena = s->builder->arena;
    if (a->wide || !a->index || !a->expr || a->type == TYPE_BOOL)
        return a->wide;
    Expr *value = expr_simplify(arena, a->expr);
    if (value->kind == EXPR_INT)
        return expr_constant(arena, TYPE_DOUBLE, (double)value->integer);
    bool of_sizes = !uses_indices(s, value) && !is_data_dependent(value);
    return of_sizes ? expr_cast(arena, TYPE_DOUBLE, value) : NULL;
}

/* The result in double of an operation on numbers only, at least one of them a float; else NULL. */
static Expr *wide_operation(Statement *s, Op op, const Typed *args, int count) {
    Expr *wide[3];
    bool all = false;
    for (int i = 0; i < count; i++)
        all |= args[i].wide != NULL;
    for (int i = 0; i < count && all; i++)
        all = (wide[i] = number_of(s, &args[i])) != NULL;
    return all ? expr_op(s->builder->arena, op, TYPE_DOUBLE, wide, count) : NULL;
}

/* Arithmetic on bool is arithmetic on int32. */
static Typed without_bool(Statement *s, Typed a) {
    if (!a.expr || a.type != TYPE_BOOL)
        return a;
    return (Typed){convert(s->builder->arena, a.expr, TYPE_INT32), TYPE_INT32, false, CLOSED, NULL};
}

static bool expect_bool(Statement *s, Typed a, const AstExpr *ast) {
    if (!a.expr || a.type == TYPE_BOOL)
        return a.expr != NULL;
    ERROR(s->frame, condition_not_bool, ast->loc, element_info[a.type].spelling);
    hint_comparison(s, ast);
    s->failed = true;
    return false;
}

/* --- conditions that a place stands under --- */

/* not c, with comparisons reversed: what is known where a condition fails. */
static Expr *negation(Arena *arena, Expr *c) {
    if (expr_is_comparison(c) && type_is_integer(c->args[0]->type))
        return expr_binary(arena, comparison_info[c->op].opposite, c->args[0], c->args[1]);
    if (expr_is_op(c, OP_NOT))
        return c->args[0];
    return expr_unary(arena, OP_NOT, c);
}

static Typed translate_under(Statement *s, const AstExpr *ast, Expr *condition, bool holds) {
    if (!condition)
        return translate(s, ast);
    list_push(s->builder->arena, &s->guards, holds ? condition : negation(s->builder->arena, condition));
    Typed result = translate(s, ast);
    s->guards.count--;
    return result;
}

/* --- operators --- */

/* Floor division by a size is allowed: the size is checked not to be 0. */
static bool check_divisor(Statement *s, Typed divisor, const AstExpr *ast) {
    if (!type_is_integer(divisor.type))
        return true;
    if (expr_is_zero(divisor.expr)) {
        ERROR(s->frame, division_by_zero, ast->loc);
        note_calls(s->frame);
        return false;
    }
    if (!divisor.index || divisor.expr->kind == EXPR_INT || is_data_dependent(divisor.expr))
        return true;
    for (int i = 0; i < s->indices.count; i++)
        if (expr_uses_var(divisor.expr, s->indices.items[i]->raw))
            return true;
    Arena *arena = s->builder->arena;
    require(s->builder, expr_binary(arena, OP_NE, divisor.expr, expr_int(arena, 0)), STATUS_BAD_SIZE, ast->loc);
    return true;
}

/* In j < length(i) the index stays exact: the value becomes an int64. */
static void compare_exactly(Statement *s, Typed *a, Typed *b) {
    Typed *index = a->index ? a : b, *value = a->index ? b : a;
    if (a->index == b->index || !type_is_integer(value->type) || !uses_indices(s, index->expr))
        return;
    value->expr = expr_cast(s->builder->arena, TYPE_INT64, value->expr);
    a->index = b->index = true;
}

static Typed make_binary(Statement *s, const AstExpr *ast, Op op, Typed a, Typed b) {
    if (op_info[op].class == CLASS_ARITHMETIC && op != OP_MIN && op != OP_MAX) {
        a = without_bool(s, a);
        b = without_bool(s, b);
    }
    if (s->in_predicate && op_info[op].class == CLASS_COMPARE && a.expr && b.expr)
        compare_exactly(s, &a, &b);
    bool compares = op_info[op].class == CLASS_COMPARE;
    Expr *wide = compares ? NULL : wide_operation(s, op, (Typed[]){a, b}, 2);
    if (!promote_pair(s, &a, &b))
        return fail(s);
    if ((op == OP_DIV || op == OP_MOD) && !check_divisor(s, b, ast->args.items[1]))
        return fail(s);
    Expr *e = placed(expr_binary(s->builder->arena, op, a.expr, b.expr), ast->loc);
    int64_t over, under;
    if (op == OP_DIV && a.index && b.index && expr_is_int(a.expr, &over) && expr_is_int(b.expr, &under) && under > 0 &&
        over % under != 0)
        list_push(s->builder->arena, &s->quotients, ast->loc);
    return (Typed){e, e->type == TYPE_BOOL ? TYPE_BOOL : a.type, a.index, compares ? CLOSED : a.open, wide};
}

static Typed make_unary(Statement *s, const AstExpr *ast, Op op, Typed a) {
    if (!a.expr)
        return poison;
    if (op == OP_NOT && !expect_bool(s, a, ast->args.items[0]))
        return poison;
    if (op != OP_NOT)
        a = without_bool(s, a);
    bool number = op == OP_NEG && a.expr->kind == EXPR_REAL; /* -0.5 is a literal too, also in other types */
    Expr *e = number ? expr_constant(s->builder->arena, a.expr->type, -a.expr->real)
                     : expr_unary(s->builder->arena, op, a.expr);
    Expr *wide = number && a.wide && a.wide->kind == EXPR_REAL
                     ? expr_constant(s->builder->arena, TYPE_DOUBLE, -a.wide->real)
                     : wide_operation(s, op, &a, 1);
    return (Typed){placed(e, ast->loc), a.type, a.index, a.open, wide};
}

static Typed make_logic(Statement *s, const AstExpr *ast) {
    const AstExpr *left = ast->args.items[0], *right = ast->args.items[1];
    Typed a = translate(s, left);
    Typed b = translate_under(s, right, a.expr && a.type == TYPE_BOOL ? a.expr : NULL, ast->op == OP_AND);
    bool good = expect_bool(s, a, left);
    if (!expect_bool(s, b, right) || !good)
        return poison;
    Expr *e = placed(expr_binary(s->builder->arena, ast->op, a.expr, b.expr), ast->loc);
    return (Typed){e, TYPE_BOOL, a.index && b.index, CLOSED, NULL};
}

Expr *translate_condition(Statement *s, const AstExpr *ast) {
    Typed condition = translate(s, ast);
    return expect_bool(s, condition, ast) ? condition.expr : NULL;
}

static Typed make_select(Statement *s, const AstExpr *ast) {
    AstExpr **args = ast->args.items;
    Typed condition = translate(s, args[0]);
    bool good = expect_bool(s, condition, args[0]);
    Expr *guard = good ? condition.expr : NULL;
    Typed a = translate_under(s, args[1], guard, true), b = translate_under(s, args[2], guard, false);
    Expr *wide[2] = {NULL, NULL};
    bool numbers = good && (a.wide || b.wide) && (wide[0] = number_of(s, &a)) && (wide[1] = number_of(s, &b));
    if (!promote_pair(s, &a, &b) || !good)
        return fail(s);
    Arena *arena = s->builder->arena;
    Expr *e = placed(expr_select(arena, condition.expr, a.expr, b.expr), ast->loc);
    return (Typed){e, a.type, a.index, a.open, numbers ? expr_select(arena, condition.expr, wide[0], wide[1]) : NULL};
}

static bool is_comparison(const AstExpr *ast) {
    return ast->kind == AST_OPERATOR && op_info[ast->op].class == CLASS_COMPARE;
}

/* Refuses a < b < c: a comparison without parentheses on the left side of another. */
static bool check_chain(Statement *s, const AstExpr *ast) {
    const AstExpr *left = is_comparison(ast) ? ast->args.items[0] : NULL;
    if (!left || !is_comparison(left) || left->loc.begin != left->args.items[0]->loc.begin)
        return true;
    Arena *arena = s->builder->arena;
    Text both = {.arena = arena};
    AstExpr *right = ast_suggest(arena, ast->op, left->args.items[1], ast->args.items[1], NULL);
    ast_print_expr(&both, ast_suggest(arena, OP_AND, ast->args.items[0], right, NULL));
    ERROR(s->frame, chained_comparison, ast->loc);
    HINT(s->frame, "write %s", both.text);
    return false;
}

static Typed translate_operator(Statement *s, const AstExpr *ast) {
    if (!check_chain(s, ast))
        return fail(s);
    if (ast->op == OP_SELECT)
        return make_select(s, ast);
    if (ast->op == OP_AND || ast->op == OP_OR)
        return make_logic(s, ast);
    Typed a = translate(s, ast->args.items[0]);
    if (ast->args.count == 1)
        return make_unary(s, ast, ast->op, a);
    Typed b = translate(s, ast->args.items[1]);
    return a.expr && b.expr ? make_binary(s, ast, ast->op, a, b) : fail(s);
}

/* --- built-ins --- */

/* The type in which a function of mathematics computes, float at least; *open: whether a literal after else decided. */
static ElementType math_type(const Typed *args, int count, Open *open) {
    ElementType type = TYPE_FLOAT;
    *open = CLOSED;
    for (int i = 0; i < count; i++) {
        if (args[i].open == OPEN)
            continue;
        type = type_promote(type, args[i].type);
        *open = args[i].open == OPEN_LITERAL ? OPEN_LITERAL : *open;
    }
    return type;
}

static Typed make_math(Statement *s, const AstExpr *ast, Op op, Typed *args) {
    Arena *arena = s->builder->arena;
    Open open;
    ElementType type = math_type(args, ast->args.count, &open);
    Expr *values[3];
    for (int i = 0; i < ast->args.count; i++)
        values[i] = typed_as(arena, args[i], type);
    Expr *e = placed(expr_op(arena, op, type, values, ast->args.count), ast->loc);
    return (Typed){e, type, false, open, wide_operation(s, op, args, ast->args.count)};
}

static Typed translate_builtin(Statement *s, const AstExpr *ast, Op op) {
    const OpInfo *info = &op_info[op];
    if (ast->args.count != info->arity) {
        ERROR(s->frame, wrong_argument_count, ast->loc, info->spelling, info->arity, info->arity == 1 ? "" : "s",
              ast->args.count);
        if ((op == OP_MIN || op == OP_MAX) && ast->args.count == 1)
            HINT(s->frame, "over an index it is an assignment: m(i) %s=! A(i, j)", info->spelling);
        else if (op == OP_MIN || op == OP_MAX)
            HINT(s->frame, "of several values: %s(a, %s(b, c))", info->spelling, info->spelling);
        return fail(s);
    }
    Typed args[3] = {poison, poison, poison};
    bool good = true;
    for (int i = 0; i < info->arity; i++) {
        args[i] = translate(s, ast->args.items[i]);
        good &= args[i].expr != NULL;
    }
    if (!good && s->ast && s->ast->targets.count && !s->ast->targets.items[0].has_indices)
        hint_whole(s->frame, ast);
    if (!good)
        return fail(s);
    if (info->class == CLASS_MATH)
        return make_math(s, ast, op, args);
    return info->arity == 1 ? make_unary(s, ast, op, args[0]) : make_binary(s, ast, op, args[0], args[1]);
}

/* Functions that are expressions of others: sigmoid(x) is 1 / (1 + exp(-x)). */
static Typed translate_sigmoid(Statement *s, const AstExpr *ast) {
    if (ast->args.count != 1) {
        ERROR(s->frame, wrong_argument_count, ast->loc, ast->name.text, 1, "", ast->args.count);
        return fail(s);
    }
    Typed arg = translate(s, ast->args.items[0]);
    if (!arg.expr)
        return poison;
    Arena *arena = s->builder->arena;
    Open open;
    ElementType type = math_type(&arg, 1, &open);
    Expr *x = typed_as(arena, arg, type), *one = expr_constant(arena, type, 1);
    Expr *power = placed(expr_unary(arena, OP_EXP, expr_unary(arena, OP_NEG, x)), ast->loc);
    Expr *sum = placed(expr_binary(arena, OP_ADD, one, power), ast->loc);
    return (Typed){placed(expr_binary(arena, OP_DIV, one, sum), ast->loc), type, false, open, NULL};
}

/* --- reads --- */

static ReadSite *add_read_site(Statement *s, const AstExpr *ast, const char *name, Expr *read, const View *view) {
    Arena *arena = s->builder->arena;
    ReadSite *site = ARENA_NEW(arena, ReadSite);
    *site = (ReadSite){.ast = ast, .name = name, .read = read, .view = *view, .guard_count = s->guards.count};
    site->guards = ARENA_ARRAY(arena, Expr *, s->guards.count);
    if (s->guards.count)
        memcpy(site->guards, s->guards.items, sizeof *site->guards * (size_t)s->guards.count);
    site->assured = ARENA_ARRAY(arena, bool, view->rank);
    list_push(arena, &s->sites, site);
    return site;
}

Expr *translate_index_value(Statement *s, const AstExpr *ast) {
    s->index_depth++;
    Typed index = translate(s, ast);
    s->index_depth--;
    if (!index.expr)
        return NULL;
    if (!index.index || index.type == TYPE_BOOL) {
        ERROR(s->frame, index_not_integer, ast->loc, element_info[index.type].spelling);
        if (type_is_float(index.type))
            HINT(s->frame, "convert it: int32(...)");
        fail(s);
        return NULL;
    }
    return index.expr;
}

/* An index of a read, counted from 0; NULL after an error. */
static Expr *translate_index(Statement *s, const AstExpr *ast, const View *view, int dim) {
    Expr *index = translate_index_value(s, ast), *lower = view->lower ? view->lower[dim] : NULL;
    return index && lower ? expr_binary(s->builder->arena, OP_SUB, index, lower) : index;
}

/* For A in place of an element of A: suggests A(i, j). */
static void hint_element(Statement *s, const char *name, int rank) {
    static const char letters[] = "ijklmnopqrst";
    Text text = {.arena = s->builder->arena};
    for (int d = 0; d < rank && letters[d]; d++)
        text_add(&text, "%s%c", d ? ", " : "", letters[d]);
    HINT(s->frame, "an element of it is %s(%s); the result has the indices that stay: B(%s) = ...", name, text.text,
         text.text);
}

static Typed read_view(Statement *s, const AstExpr *ast, const char *name, const View *view, ReadSite **site) {
    if (ast->args.count != view->rank) {
        ERROR(s->frame, wrong_rank, ast->loc, name, view->rank, view->rank == 1 ? "" : "s", ast->args.count,
              ast->args.count == 1 ? "is" : "are");
        if (ast->kind == AST_NAME)
            hint_element(s, name, view->rank);
        return fail(s);
    }
    Arena *arena = s->builder->arena;
    Expr **indices = ARENA_ARRAY(arena, Expr *, view->rank);
    bool good = true;
    for (int d = 0; d < view->rank; d++) {
        indices[d] = translate_index(s, ast->args.items[d], view, d);
        good &= indices[d] != NULL;
    }
    if (!good)
        return fail(s);
    Expr *read = placed(expr_read(arena, view->tensor, indices, NULL), ast->loc);
    ReadSite *made = add_read_site(s, ast, name, read, view);
    if (site)
        *site = made;
    return value_expr(s, read);
}

/* A read of what an earlier step of the scan wrote. While types and sizes are inferred, also of what this step
 * writes. */
static Typed read_carried(Statement *s, const AstExpr *ast, Carried *carried, int64_t distance, ReadSite **site) {
    bool known = carried->typed;
    for (int d = 0; d < carried->last.rank; d++)
        known &= carried->last.dims[d] != NULL;
    if (!known && !s->frame->scan->probing) {
        carried->unknown = carried->unknown.file ? carried->unknown : ast->loc;
        return fail(s);
    }
    View view = carried->last;
    if (!carried->tensor) {
        Tensor *stand_in = ARENA_NEW(s->builder->arena, Tensor);
        stand_in->type = carried->typed ? carried->type : TYPE_FLOAT;
        stand_in->name = carried->variable->name;
        stand_in->rank = view.rank;
        view.tensor = stand_in;
    }
    ReadSite *made = NULL;
    Typed read = read_view(s, ast, carried->variable->name, &view, &made);
    if (!made)
        return read;
    made->earlier = distance > 0;
    made->step = carried->step;
    if (site)
        *site = made;
    if (!carried->typed && s->index_depth)
        return index_expr(expr_cast(s->builder->arena, TYPE_INT64, made->read));
    read.open = carried->typed ? CLOSED : OPEN;
    return read;
}

static Typed read_in_scan(Statement *s, const AstExpr *ast, Carried *carried, ReadSite **site) {
    Variable *variable = carried->variable;
    int64_t distance;
    if (variable->poisoned || !step_distance(s, ast, carried, &distance))
        return fail(s);
    if (distance > 0 || s->frame->scan->probing)
        return read_carried(s, ast, carried, distance, site);
    if (variable->view.tensor)
        return read_view(s, ast, variable->name, &variable->view, site);
    ERROR(s->frame, scan_later_statement, ast->loc, variable->name);
    HINT(s->frame, "the step before is %s-1", s->frame->scan->ast->index.text);
    return fail(s);
}

static Typed read_variable(Statement *s, const AstExpr *ast, Variable *variable, ReadSite **site) {
    Carried *carried = find_carried(s->frame, variable);
    variable->used = true;
    cover_note_read(variable);
    if (carried)
        return read_in_scan(s, ast, carried, site);
    if (variable->view.tensor)
        return read_view(s, ast, variable->name, &variable->view, site);
    if (!variable->poisoned)
        ERROR(s->frame, read_before_definition, ast->loc, variable->name);
    for (int t = 0; may_warn(s->frame) && s->ast && !variable->poisoned && t < s->ast->targets.count; t++)
        if (strcmp(s->ast->targets.items[t].name.text, variable->name) == 0)
            hint_own_read(s, ast, &s->ast->targets.items[t], variable);
    return fail(s);
}

/* --- names --- */

static int find_let(const Statement *s, const char *name) {
    for (int i = s->let_limit - 1; i >= 0; i--)
        if (s->ast->wheres.items[i].kind == WHERE_LET && strcmp(s->ast->wheres.items[i].name.text, name) == 0)
            return i;
    return -1;
}

/* The value of a let, translated again at each use: its reads stand under the conditions of that place. */
static Typed translate_let(Statement *s, int clause) {
    int limit = s->let_limit;
    s->let_limit = clause;
    Typed result = translate(s, s->ast->wheres.items[clause].value);
    s->let_limit = limit;
    return result;
}

static Typed symbol_value(Statement *s, const AstExpr *ast, Symbol *symbol, ReadSite **site) {
    if (symbol->kind == SYMBOL_TENSOR)
        return read_variable(s, ast, symbol->variable, site);
    if (symbol->kind == SYMBOL_DEF) {
        ERROR(s->frame, def_as_value, ast->loc, ast->name.text);
        HINT(s->frame, "call it with whole tensors: t = %s(...)", ast->name.text);
    }
    if (!symbol->value)
        return fail(s);
    symbol->used = true;
    return symbol->kind == SYMBOL_SIZE ? index_expr(symbol->value) : value_expr(s, symbol->value);
}

static Typed translate_name(Statement *s, const AstExpr *ast, ReadSite **site) {
    const char *name = ast->name.text;
    int let = find_let(s, name);
    if (let >= 0)
        return translate_let(s, let);
    IndexVariable *index = find_index(s, name);
    Symbol *symbol = index ? NULL : frame_symbol(s->frame, name);
    if (symbol)
        return symbol_value(s, ast, symbol, site);
    if (!index)
        index = add_index(s, (AstName){name, ast->loc});
    return index_expr(expr_var(s->builder->arena, index->raw));
}

static Typed call_value(Statement *s, const AstExpr *ast, ReadSite **site) {
    View *results;
    int count;
    if (s->frame->scan) {
        ERROR(s->frame, scan_call, ast->loc, ast->name.text);
        return fail(s);
    }
    if (!check_call(s->frame, ast, NULL, NULL, &results, &count))
        return fail(s);
    if (count != 1 || results[0].rank != 0) {
        ERROR(s->frame, call_not_value, ast->loc, ast->name.text);
        if (s->ast && s->ast->values.count == 1 && s->ast->values.items[0] == ast &&
            s->ast->targets.items[0].indices.count)
            HINT(s->frame, "all of the result is assigned without indices: %s = %s(...)",
                 s->ast->targets.items[0].name.text, ast->name.text);
        else
            HINT(s->frame, "assign the result first: t = %s(...)", ast->name.text);
        return fail(s);
    }
    AstExpr *read = ARENA_NEW(s->builder->arena, AstExpr);
    *read = (AstExpr){.kind = AST_NAME, .loc = ast->loc, .name = ast->name};
    return read_view(s, read, ast->name.text, &results[0], site);
}

static bool is_defined_later(const CallFrame *frame, const char *name) {
    const AstStatements *statements = &frame->definition->ast->statements;
    for (int i = 0; i < statements->count; i++)
        for (int t = 0; t < statements->items[i]->targets.count; t++)
            if (strcmp(statements->items[i]->targets.items[t].name.text, name) == 0)
                return true;
    return false;
}

/* Whether a def with the name of a function hides it here. One for whole tensors takes no elements, nor does one of the
 * library. */
static bool hides_function(const CallFrame *frame, const Definition *definition, const AstExpr *ast) {
    const AstParameters *arguments = &definition->ast->arguments;
    const AstExpr *value = ast->args.count == 1 ? ast->args.items[0] : NULL;
    bool whole = value && (value->kind == AST_NAME || is_call(frame, value));
    bool of_tensors = arguments->count == 1 && arguments->items[0].dims.count > 0;
    return !definition->file->embedded && (whole || !of_tensors);
}

static Typed translate_apply(Statement *s, const AstExpr *ast, ReadSite **site) {
    const char *name = ast->name.text;
    Symbol *symbol = frame_symbol(s->frame, name);
    if (is_read(s->frame, ast))
        return read_variable(s, ast, symbol->variable, site);
    const Definition *definition = find_called(s->frame, name);
    if (is_value_function(name) && (!definition || !hides_function(s->frame, definition, ast)))
        return translate_sigmoid(s, ast);
    if (definition || is_unknown_def(s->frame, name))
        return call_value(s, ast, site);
    int op = find_builtin(name);
    if (op >= 0)
        return translate_builtin(s, ast, (Op)op);
    if (symbol || find_index(s, name) || find_let(s, name) >= 0) {
        ERROR(s->frame, not_a_tensor, ast->name.loc, name);
        return fail(s);
    }
    if (is_defined_later(s->frame, name)) {
        ERROR(s->frame, read_before_definition, ast->name.loc, name);
        return fail(s);
    }
    ERROR(s->frame, undefined_name, ast->name.loc, name);
    if (!hint_combined(s, ast))
        hint_nearest_function(s->frame, name);
    return fail(s);
}

static Typed translate_size(Statement *s, const AstExpr *ast) {
    Symbol *symbol = frame_symbol(s->frame, ast->name.text);
    if (!symbol || symbol->kind != SYMBOL_TENSOR) {
        ERROR(s->frame, not_a_tensor, ast->name.loc, ast->name.text);
        hint_nearest_value(s, ast->name.text);
        return fail(s);
    }
    Variable *variable = symbol->variable;
    variable->used = true;
    if (!variable->view.tensor) {
        if (!variable->poisoned)
            ERROR(s->frame, read_before_definition, ast->loc, variable->name);
        return fail(s);
    }
    if (ast->integer < 0 || ast->integer >= variable->view.rank) {
        ERROR(s->frame, no_such_dimension, ast->loc, variable->name, variable->view.rank,
              variable->view.rank == 1 ? "" : "s", (long long)ast->integer);
        return fail(s);
    }
    Expr *size = variable->view.dims[ast->integer];
    return size ? index_expr(size) : fail(s); /* none: ranges are still learned from this statement */
}

/* --- else --- */

/* The value for elements outside, in the type of the tensor. Its own type may not be wider. */
static Expr *outside_value(Statement *s, const AstExpr *ast, ElementType type, const char *name) {
    Typed outside = translate(s, ast);
    if (!outside.expr)
        return NULL;
    Expr *value = typed_value(s->builder->arena, outside);
    bool literal = value->kind == EXPR_INT || (value->kind == EXPR_REAL && type_is_float(type));
    if (!literal && type_promote(type, value->type) != type) {
        ERROR(s->frame, else_type, ast->loc, element_info[value->type].spelling, name, element_info[type].spelling);
        HINT(s->frame, "convert it: %s(...)", element_info[type].spelling);
        fail(s);
        return NULL;
    }
    return typed_as(s->builder->arena, outside, type);
}

/* While types are inferred: the value outside makes the type wider, unless it is a literal, which takes any type. If
 * nothing else gives the type of the read, the literal does. */
static Typed probe_else(Statement *s, Typed read, const AstExpr *ast) {
    Typed outside = translate(s, ast);
    if (!outside.expr)
        return fail(s);
    const Expr *value = typed_value(s->builder->arena, outside);
    bool literal = value->kind == EXPR_INT || value->kind == EXPR_REAL;
    if (read.index || (literal ? read.open == CLOSED : outside.open == OPEN))
        return read;
    Typed other = {outside.expr, value->type, false, literal ? OPEN_LITERAL : outside.open, NULL};
    Open open;
    ElementType type = meet(&read, &other, &open);
    return (Typed){convert(s->builder->arena, read.expr, type), type, false, open, NULL};
}

/* Words for padding in other languages. */
static bool is_padding_word(const char *name) {
    static const char *const words[] = {"clamp",    "clip",   "replicate", "nearest",  "border", "zero",    "zeros",
                                        "constant", "mirror", "symmetric", "circular", "repeat", "periodic"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i], name) == 0)
            return true;
    return false;
}

/* Refuses `else clamp`: a word for padding that is neither one of those after else nor the name of a value. */
static bool check_else_word(Statement *s, const AstExpr *ast) {
    const AstExpr *outside = ast->else_mode == ELSE_VALUE ? ast->args.items[1] : NULL;
    if (!outside || outside->kind != AST_NAME || !is_padding_word(outside->name.text) ||
        frame_symbol(s->frame, outside->name.text) || find_index(s, outside->name.text) ||
        find_let(s, outside->name.text) >= 0)
        return true;
    ERROR(s->frame, undefined_name, outside->loc, outside->name.text);
    HINT(s->frame, "what follows else is a value, or one of the words edge, wrap and reflect");
    return false;
}

static Typed translate_else(Statement *s, const AstExpr *ast) {
    if (!check_else_word(s, ast))
        return fail(s);
    const AstExpr *first = ast->args.items[0];
    ReadSite *site = NULL;
    Typed read = first->kind == AST_APPLY  ? translate_apply(s, first, &site)
                 : first->kind == AST_NAME ? translate_name(s, first, &site)
                                           : poison;
    if (!site) {
        if (read.expr && first->kind == AST_APPLY) /* anything else but a name was refused by the parser */
            ERROR(s->frame, else_without_tensor, first->loc);
        return fail(s);
    }
    site->has_else = true;
    site->mode = ast->else_mode;
    if (ast->else_mode != ELSE_VALUE)
        return read;
    int depth = s->index_depth;
    s->index_depth = 0;
    Expr *outside = NULL;
    if (s->frame->scan && s->frame->scan->probing)
        read = probe_else(s, read, ast->args.items[1]);
    else
        outside = outside_value(s, ast->args.items[1], site->read->type, site->name);
    s->index_depth = depth;
    if (s->frame->scan && s->frame->scan->probing)
        return read;
    if (!outside)
        return fail(s);
    site->read->otherwise = outside; /* the read is not shared yet */
    return read;
}

/* --- everything --- */

static Typed translate_integer(Statement *s, const AstExpr *ast) {
    if (ast->overflow) /* reported by the parser */
        return fail(s);
    Expr *e = placed(expr_int(s->builder->arena, ast->integer), ast->loc);
    bool wide = ast->integer > INT32_MAX || ast->integer < INT32_MIN;
    return (Typed){e, wide ? TYPE_INT64 : TYPE_INT32, true, CLOSED, NULL};
}

static Typed translate_real(Statement *s, const AstExpr *ast) {
    Arena *arena = s->builder->arena;
    return (Typed){expr_constant(arena, TYPE_FLOAT, ast->real), TYPE_FLOAT, false, CLOSED,
                   expr_constant(arena, TYPE_DOUBLE, ast->real)};
}

static Typed translate_cast(Statement *s, const AstExpr *ast) {
    int quotients = s->quotients.count;
    Typed a = translate(s, ast->args.items[0]);
    s->quotients.count = quotients; /* the cast says that they are meant */
    if (!a.expr)
        return poison;
    if (a.index && a.type != TYPE_BOOL && (ast->type == TYPE_INT32 || ast->type == TYPE_INT64)) {
        list_push(s->builder->arena, &s->wanted, (const Expr *)a.expr);
        return (Typed){a.expr, ast->type, true, CLOSED, NULL};
    }
    Expr *value = typed_value(s->builder->arena, a);
    Expr *e = typed_as(s->builder->arena, a, ast->type);
    if (e == value)
        list_push(s->builder->arena, &s->wanted, (const Expr *)e);
    return value_expr(s, e->kind == EXPR_CAST ? placed(e, ast->loc) : e);
}

static Typed translate_node(Statement *s, const AstExpr *ast) {
    switch (ast->kind) {
    case AST_INTEGER: return translate_integer(s, ast);
    case AST_REAL: return translate_real(s, ast);
    case AST_NAME: return translate_name(s, ast, NULL);
    case AST_APPLY: return translate_apply(s, ast, NULL);
    case AST_SIZE: return translate_size(s, ast);
    case AST_CAST: return translate_cast(s, ast);
    case AST_OPERATOR: return translate_operator(s, ast);
    case AST_ELSE: return translate_else(s, ast);
    }
    INTERNAL_ERROR("expression of kind %d", (int)ast->kind);
}

Typed translate(Statement *s, const AstExpr *ast) {
    enum { DEPTH_LIMIT = 2 * AST_DEPTH_LIMIT, NODE_LIMIT = 1 << 20 }; /* lets inside lets multiply */
    if (s->depth >= DEPTH_LIMIT || s->nodes++ >= NODE_LIMIT) {
        if (!s->failed)
            ERROR(s->frame, expression_too_large, s->ast ? s->ast->loc : ast->loc);
        return fail(s);
    }
    s->depth++;
    Typed result = translate_node(s, ast);
    s->depth--;
    if (!result.expr)
        s->failed = true;
    return result;
}
