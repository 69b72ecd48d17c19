/* hints.c - what a message suggests in place of a statement: the statement written in another way.
 *
 * What is suggested compiles, means what was meant, and takes no more time than that: where no such statement is known
 * nothing is said.
 */
#include "sema/check.h"

#include <math.h>
#include <string.h>

/* --- parts of the source ------------------------------------------------------------------------------------------ */

static const char *ast_text(Arena *arena, const AstExpr *ast) {
    Text text = {.arena = arena};
    ast_print_expr(&text, ast);
    return text.text;
}

static bool same_source(Arena *arena, const AstExpr *a, const AstExpr *b) {
    return a->kind == b->kind && strcmp(ast_text(arena, a), ast_text(arena, b)) == 0;
}

static bool is_name(const AstExpr *ast, const char *name) {
    return ast->kind == AST_NAME && strcmp(ast->name.text, name) == 0;
}

static bool mentions(const AstExpr *ast, const char *name) {
    bool found = is_name(ast, name);
    for (int i = 0; i < ast->args.count && !found; i++)
        found = mentions(ast->args.items[i], name);
    return found;
}

/* What stands for a part of the source. */
typedef struct Replacing {
    const AstExpr *part;
    AstExpr *by;
} Replacing;

/* A copy in which the first rule that fits a part replaces it. */
static AstExpr *replaced(Arena *arena, AstExpr *ast, const Replacing *rules, int count) {
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

static AstExpr *apply(Arena *arena, const char *name, AstExpr *index) {
    AstExpr *read = ast_suggest_name(arena, name);
    read->kind = AST_APPLY;
    list_push(arena, &read->args, index);
    return read;
}

/* The read or the left side with another index in this dimension. */
static AstExpr *read_with(Arena *arena, const char *name, const AstExprs *indices, int dimension, AstExpr *index) {
    AstExpr *read = ast_suggest_name(arena, name);
    read->kind = AST_APPLY;
    for (int d = 0; d < indices->count; d++)
        list_push(arena, &read->args, d == dimension ? index : indices->items[d]);
    return read;
}

/* A name that means nothing in the def so far. */
static const char *free_name(const Statement *s, const char *name) {
    while (frame_symbol(s->frame, name) || find_index(s, name))
        name = arena_printf(s->builder->arena, "%s_", name);
    return name;
}

/* A constant of this type, as the source says it. */
static const char *constant_text(Arena *arena, const Expr *e, ElementType type) {
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

/* --- ranges whose ends are read ----------------------------------------------------------------------------------- */

static const AstWhere *range_of(const Statement *s, const char *name) {
    for (int i = 0; i < s->ast->wheres.count; i++)
        if (s->ast->wheres.items[i].kind == WHERE_RANGE && strcmp(s->ast->wheres.items[i].name.text, name) == 0)
            return &s->ast->wheres.items[i];
    return NULL;
}

/* What is added to the name in row(i) + p; NULL: it has another form. */
static AstExpr *added_to(const AstExpr *ast, const char *name) {
    if (ast->kind != AST_OPERATOR || ast->op != OP_ADD)
        return NULL;
    AstExpr *a = ast->args.items[0], *b = ast->args.items[1];
    AstExpr *row = is_name(a, name) ? b : is_name(b, name) ? a : NULL;
    return row && !mentions(row, name) ? row : NULL;
}

/* An index row(i) + p of a read; NULL: there is none. */
static const AstExpr *place_from(const AstExpr *ast, const char *name) {
    const AstExpr *found = NULL;
    for (int i = 0; i < ast->args.count && !found; i++) {
        const AstExpr *index = ast->args.items[i];
        found = ast->kind == AST_APPLY && added_to(index, name) ? index : place_from(index, name);
    }
    return found;
}

/* An end of the range of the places: where the row begins is added. */
static AstExpr *place_end(Arena *arena, AstExpr *row, AstExpr *end) {
    if (end->kind == AST_INTEGER && end->integer == 0)
        return row;
    bool from_row = end->kind == AST_OPERATOR && end->op == OP_SUB && end->args.count == 2 &&
                    same_source(arena, end->args.items[1], row);
    return from_row ? end->args.items[0] : ast_suggest(arena, OP_ADD, row, end, NULL);
}

/* v(row(i) + p) where p in 0:row(i + 1) - row(i) is v(p) where p in row(i):row(i + 1), which is a loop over the row. */
static bool hint_places(Statement *s, const IndexVariable *index) {
    Arena *arena = s->builder->arena;
    AstExpr *value = s->ast->values.items[0], *name = ast_suggest_name(arena, index->name);
    const AstWhere *where = range_of(s, index->name);
    const AstExpr *place = place_from(value, index->name);
    if (!where || !place || index->target) /* on the left side p is counted from the row's beginning */
        return false;
    AstExpr *row = added_to(place, index->name);
    Replacing rules[] = {{place, name}, {name, ast_suggest(arena, OP_SUB, name, row, NULL)}};
    HINT(s->frame, "let %s be the place itself: %s where %s in %s:%s", index->name,
         ast_text(arena, replaced(arena, value, rules, 2)), index->name,
         ast_text(arena, place_end(arena, row, where->begin)), ast_text(arena, place_end(arena, row, where->end)));
    return true;
}

void hint_read_ends(Statement *s, const IndexVariable *index) {
    const AstWhere *where = range_of(s, index->name);
    if (!hint_places(s, index) && where)
        HINT(s->frame,
             "exists gives it the range of a tensor that it could index: where %s in %s:%s, exists TENSOR(%s)",
             index->name, ast_text(s->builder->arena, where->begin), ast_text(s->builder->arena, where->end),
             index->name);
}

/* --- y(p) = x(i) where p in row(i):row(i + 1) --------------------------------------------------------------------- */

static void add_conjuncts(Arena *arena, AstWheres *clauses, const AstWhere *where) {
    if (where->kind != WHERE_PREDICATE || where->value->kind != AST_OPERATOR || where->value->op != OP_AND) {
        list_push(arena, clauses, *where);
        return;
    }
    for (int i = 0; i < 2; i++) {
        AstWhere part = *where;
        part.value = where->value->args.items[i];
        add_conjuncts(arena, clauses, &part);
    }
}

/* The statement in which each condition is a clause: where a, b in place of where a && b. */
static Statement with_clauses(const Statement *s) {
    Arena *arena = s->builder->arena;
    AstStatement *ast = ARENA_NEW(arena, AstStatement);
    Statement split = *s;
    *ast = *s->ast;
    ast->wheres = (AstWheres){0};
    for (int i = 0; i < s->ast->wheres.count; i++)
        add_conjuncts(arena, &ast->wheres, &s->ast->wheres.items[i]);
    split.ast = ast;
    return split;
}

/* The end that a condition gives to the range of the index: p >= begin, p < end; NULL: it gives none. */
static AstExpr *end_in_condition(const AstWhere *where, const char *index, bool begin) {
    const AstExpr *e = where->kind == WHERE_PREDICATE && where->value->kind == AST_OPERATOR ? where->value : NULL;
    if (!e || e->args.count != 2)
        return NULL;
    if (e->op == (begin ? OP_GE : OP_LT) && is_name(e->args.items[0], index))
        return e->args.items[1];
    return e->op == (begin ? OP_LE : OP_GT) && is_name(e->args.items[1], index) ? e->args.items[0] : NULL;
}

/* The range that where gives to the index, as it is or by conditions; an end is NULL if there is none. */
static AstWhere whole_range(const Statement *s, const IndexVariable *index) {
    const AstWhere *given = index->read ? range_of(s, index->name) : NULL;
    AstWhere range = {.kind = WHERE_RANGE};
    if (given)
        range = *given;
    for (int i = 0; i < s->ast->wheres.count && !given; i++) {
        AstExpr *begin = end_in_condition(&s->ast->wheres.items[i], index->name, true);
        AstExpr *end = end_in_condition(&s->ast->wheres.items[i], index->name, false);
        range.begin = begin ? begin : range.begin;
        range.end = end ? end : range.end;
    }
    range.name.text = index->name;
    return range;
}

/* Finds the range of an index of the left side whose ends are read at this one. */
static bool rows_at(const Statement *s, const char *name, AstWhere *rows) {
    bool found = false;
    for (int i = 0; i < s->indices.count && !found; i++) {
        if (!s->indices.items[i]->target)
            continue;
        *rows = whole_range(s, s->indices.items[i]);
        found = rows->begin && rows->end && mentions(rows->begin, name) && mentions(rows->end, name);
    }
    return found;
}

/* Whether the clause is neither the range of the rows nor a condition that says an end of it. */
static bool is_beside(const AstWhere *where, const AstWhere *rows) {
    if (where->kind == WHERE_RANGE)
        return where->begin != rows->begin;
    bool beside = true;
    for (int i = 0; beside && i < where->value->args.count; i++)
        beside = where->value->args.items[i] != rows->begin && where->value->args.items[i] != rows->end;
    return beside;
}

/* Whether the value, or a clause beside the range, mentions the name. */
static bool is_needed(const AstStatement *ast, const AstWhere *rows, const char *name) {
    bool found = mentions(ast->values.items[0], name);
    for (int i = 0; i < ast->wheres.count && !found; i++) {
        const AstWhere *where = &ast->wheres.items[i];
        found = where->value && is_beside(where, rows) && mentions(where->value, name);
    }
    return found;
}

/* Whether the range is row(i):row(i + 1), so that the rows have all places between them. */
static bool is_row(Arena *arena, const AstWhere *where, const char *name) {
    AstExpr *begin = where->begin, *index = ast_suggest_name(arena, name);
    Replacing next = {index, ast_suggest(arena, OP_ADD, index, ast_suggest_name(arena, "1"), NULL)};
    return begin->kind == AST_APPLY && begin->args.count == 1 && begin->args.items[0]->kind == AST_NAME &&
           same_source(arena, replaced(arena, begin, &next, 1), where->end);
}

/* A clause as the source says it, with what stands for parts of it. */
static const char *clause_text(Arena *arena, const AstWhere *where, const Replacing *rule) {
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

/* Whether something besides ranges is said of what the statement defines. */
static bool has_other_clauses(const AstStatement *ast, const AstWhere *rows) {
    bool found = false;
    for (int i = 0; i < ast->wheres.count && !found; i++)
        found = ast->wheres.items[i].kind != WHERE_RANGE && is_beside(&ast->wheres.items[i], rows);
    return found;
}

/* The left side, this value, a condition that comes first (or NULL), and the clauses but for those of the rows and the
 * range of what is replaced. */
static const char *assignment_text(const Statement *s, AstExpr *value, const AstWhere *rows, const Replacing *rule,
                                   const char *first) {
    Arena *arena = s->builder->arena;
    const AstTarget *target = &s->ast->targets.items[0];
    AstExpr left = {.kind = AST_APPLY, .name = target->name, .args = target->indices};
    Text text = {.arena = arena};
    const char *before = first ? ", " : " where ";
    text_add(&text, "%s = %s", ast_text(arena, &left), ast_text(arena, replaced(arena, value, rule, rule != NULL)));
    if (first)
        text_add(&text, " where %s", first);
    for (int i = 0; i < s->ast->wheres.count; i++) {
        const AstWhere *where = &s->ast->wheres.items[i];
        bool its_range = where->kind == WHERE_RANGE && rule && is_name(rule->part, where->name.text);
        if (its_range || !is_beside(where, rows))
            continue;
        text_add(&text, "%s%s", before, clause_text(arena, where, rule));
        before = ", ";
    }
    return text.text;
}

static const char *zero_text(Arena *arena, ElementType type) {
    bool literal = type == TYPE_FLOAT || type == TYPE_INT32;
    return literal ? "0" : constant_text(arena, expr_int(arena, 0), type);
}

/* Whether the element has a value where the statement gives it none. */
static bool has_former_value(const Statement *s) {
    const Symbol *symbol = frame_symbol(s->frame, s->ast->targets.items[0].name.text);
    const Variable *variable = symbol ? symbol->variable : NULL;
    return variable && (variable->view.tensor || (variable->result && variable->result->inout));
}

/* Whether one size is at least the other, whatever the sizes are. */
static bool is_larger(Arena *arena, Expr *size, Expr *than) {
    Affine difference;
    int64_t constant;
    return size_affine(arena, expr_binary(arena, OP_SUB, size, than), &difference) &&
           affine_is_constant(&difference, &constant) && constant >= 0;
}

/* The smallest of the sizes, without those that another one is below anyway: min(M, min(N, N + 1)) is min(M, N). */
static Expr *smallest(Arena *arena, Expr *size) {
    if (!expr_is_op(size, OP_MIN))
        return size;
    Expr *a = smallest(arena, size->args[0]), *b = smallest(arena, size->args[1]);
    if (expr_is_op(b, OP_MIN) && !expr_is_op(a, OP_MIN)) {
        Expr *swap = a;
        a = b;
        b = swap;
    }
    if (expr_is_op(a, OP_MIN) && (is_larger(arena, a->args[0], b) || is_larger(arena, a->args[1], b)))
        return expr_binary(arena, OP_MIN, b, a->args[is_larger(arena, a->args[0], b)]);
    return is_larger(arena, a, b) ? b : is_larger(arena, b, a) ? a : expr_binary(arena, OP_MIN, a, b);
}

/* The statement in which row_of is the row. Places before the first row and behind the last one have none: they keep
 * their value or, where they have none, become 0. */
static const char *with_rows_text(const Statement *s, const AstWhere *where, const IndexVariable *rows,
                                  const Replacing *rule) {
    Arena *arena = s->builder->arena;
    Expr *behind = smallest(arena, size_normal(arena, expr_binary(arena, OP_ADD, rows->high, expr_int(arena, 1))));
    AstExpr *low = ast_suggest_name(arena, expr_text(arena, rows->low));
    AstExpr *end = ast_suggest_name(arena, expr_text(arena, behind)), *value = s->ast->values.items[0];
    AstExpr *from = ast_suggest(arena, OP_GE, rule->by, low, NULL),
            *to = ast_suggest(arena, OP_LT, rule->by, end, NULL);
    if (has_former_value(s) || has_other_clauses(s->ast, where))
        return assignment_text(s, value, where, rule,
                               arena_printf(arena, "%s, %s", ast_text(arena, from), ast_text(arena, to)));
    AstExpr *zero = ast_suggest_name(arena, zero_text(arena, s->type));
    AstExpr *choice = ast_suggest(arena, OP_SELECT, ast_suggest(arena, OP_AND, from, to, NULL), value, zero);
    return assignment_text(s, choice, where, rule, NULL);
}

/* Each place is in one row, which a scan over the places finds: no place is looked for in all rows. */
static void hint_row_of_place(Statement *s, const AstWhere *where, const IndexVariable *rows,
                              const IndexVariable *places) {
    Arena *arena = s->builder->arena;
    const char *of = free_name(s, "row_of"), *p = places->name, *row = ast_text(arena, where->begin);
    Expr *end = size_normal(arena, expr_binary(arena, OP_ADD, places->high, expr_int(arena, 1)));
    AstExpr *read = apply(arena, of, ast_suggest_name(arena, p));
    const char *size = expr_text(arena, end), *at = ast_text(arena, read);
    Replacing rule = {ast_suggest_name(arena, rows->name), read};
    HINT(s->frame,
         "a scan finds the row of each place: %s = 0 where %s in 0:%s  %s(%s) += 1 where %s < %s  "
         "scan %s { %s = (%s(%s - 1) else -1) + %s }  %s",
         at, p, size, of, row, row, size, p, at, of, p, at, with_rows_text(s, where, rows, &rule));
}

static bool hint_rows(Statement *s, const IndexVariable *reduced) {
    AstWhere rows;
    if (!rows_at(s, reduced->name, &rows))
        return false;
    if (!is_needed(s->ast, &rows, reduced->name))
        HINT(s->frame, "what does not depend on the row needs no rows: %s",
             assignment_text(s, s->ast->values.items[0], &rows, NULL, NULL));
    else if (is_row(s->builder->arena, &rows, reduced->name) && !s->builder->names_only)
        hint_row_of_place(s, &rows, reduced, find_index(s, rows.name.text));
    return true;
}

/* --- y(p) = v(q) where q == p + 1, and other reductions under = --------------------------------------------------- */

/* What an equation says that the index is: q == p + 1; NULL: it is none, or of another index. */
static AstExpr *equal_to(const AstWhere *where, const char *name) {
    const AstExpr *e = where->kind == WHERE_PREDICATE && where->value->kind == AST_OPERATOR ? where->value : NULL;
    for (int i = 0; i < 2 && e && e->op == OP_EQ; i++)
        if (is_name(e->args.items[i], name) && !mentions(e->args.items[1 - i], name))
            return e->args.items[1 - i];
    return NULL;
}

/* An index that an equation fixes needs no name. */
static bool hint_equal(Statement *s, const IndexVariable *reduced) {
    AstExpr *found = NULL;
    int reductions = 0;
    for (int i = 0; i < s->indices.count; i++)
        reductions += !s->indices.items[i]->target;
    for (int i = 0; i < s->ast->wheres.count && !found; i++)
        found = equal_to(&s->ast->wheres.items[i], reduced->name);
    if (found && reductions == 1 && !range_of(s, reduced->name)) {
        AstWhere equation = {.begin = found, .end = found};
        Replacing rule = {ast_suggest_name(s->builder->arena, reduced->name), found};
        HINT(s->frame, "%s has one value: %s", reduced->name,
             assignment_text(s, s->ast->values.items[0], &equation, &rule, NULL));
    }
    return found != NULL;
}

static bool reads_at(const Statement *s, const AstExpr *ast, const char *name) {
    bool found = ast->kind == AST_APPLY && is_read(s->frame, ast) && mentions(ast, name);
    for (int i = 0; i < ast->args.count && !found; i++)
        found = reads_at(s, ast->args.items[i], name);
    return found;
}

/* Whether an index of the left side is compared with what is read at this one: a search in all of it for each element,
 * for which there is mostly a shorter way. */
static bool is_searched(const Statement *s, const AstExpr *ast, const char *name) {
    bool compares = ast->kind == AST_OPERATOR && op_info[ast->op].class == CLASS_COMPARE, found = false;
    for (int i = 0; i < s->indices.count && compares && !found; i++)
        found = s->indices.items[i]->target && mentions(ast, s->indices.items[i]->name);
    found = found && reads_at(s, ast, name);
    for (int i = 0; i < ast->args.count && !found; i++)
        found = is_searched(s, ast->args.items[i], name);
    return found;
}

void hint_reduction(Statement *statement, const IndexVariable *reduced) {
    Statement split = with_clauses(statement), *s = &split;
    if (hint_rows(s, reduced) || hint_equal(s, reduced))
        return;
    bool searched = is_searched(s, s->ast->values.items[0], reduced->name);
    for (int i = 0; i < s->ast->wheres.count; i++)
        if (s->ast->wheres.items[i].value)
            searched |= is_searched(s, s->ast->wheres.items[i].value, reduced->name);
    if (!searched)
        HINT(s->frame, "+=! sums over %s; put %s on the left to keep it", reduced->name, reduced->name);
}

/* --- y(N - 1 - i) = x(i) ------------------------------------------------------------------------------------------ */

/* What the index is where the expression has this value: v - 1 where i + 1 is v; v / 2 for 2 * i, where the factor
 * divides v. NULL: unknown. *factor begins with 1. */
static AstExpr *solved_for(Arena *arena, AstExpr *ast, const char *index, AstExpr *value, const AstExpr **factor) {
    if (is_name(ast, index))
        return value;
    if (ast->kind != AST_OPERATOR || ast->args.count != 2)
        return NULL;
    AstExpr *a = ast->args.items[0], *b = ast->args.items[1];
    bool left = mentions(a, index);
    AstExpr *part = left ? a : b, *other = left ? b : a;
    if (mentions(other, index))
        return NULL;
    if (ast->op == OP_ADD)
        return solved_for(arena, part, index, ast_suggest(arena, OP_SUB, value, other, NULL), factor);
    if (ast->op == OP_SUB && left)
        return solved_for(arena, part, index, ast_suggest(arena, OP_ADD, value, other, NULL), factor);
    if (ast->op == OP_SUB)
        return solved_for(arena, part, index, ast_suggest(arena, OP_SUB, other, value, NULL), factor);
    if (ast->op != OP_MUL || other->kind != AST_INTEGER || other->integer < 2 || !is_name(part, index))
        return NULL;
    *factor = other;
    return ast_suggest(arena, OP_DIV, value, other, NULL);
}

/* The only name in the expression that is no name of the def; NULL: there is none, or several, or a read. */
static const char *only_index(const Statement *s, const AstExpr *ast) {
    const char *found = NULL;
    for (int i = 0; i < ast->args.count; i++) {
        const char *name = only_index(s, ast->args.items[i]);
        if (found && name && strcmp(found, name) != 0)
            return NULL;
        found = found ? found : name;
    }
    return ast->kind == AST_NAME && !frame_symbol(s->frame, ast->name.text) ? ast->name.text : found;
}

/* The place on the left side that is computed, if the others are names; -1: there is none, or several are. */
static int computed_place(const AstTarget *target) {
    int found = -1, count = 0;
    for (int i = 0; i < target->indices.count; i++) {
        if (target->indices.items[i]->kind == AST_NAME)
            continue;
        found = i;
        count++;
    }
    return count == 1 ? found : -1;
}

static bool is_on_left(const AstTarget *target, const char *name) {
    bool found = false;
    for (int i = 0; i < target->indices.count && !found; i++)
        found = is_name(target->indices.items[i], name);
    return found;
}

/* Hints at the statement with the place as an index and what is read there on the right side. */
static bool hint_inverse(const Statement *s, const AstTarget *target, int d) {
    Arena *arena = s->builder->arena;
    AstExpr *place = target->indices.items[d], *value = s->ast->values.items[0];
    const char *index = only_index(s, place), *name = free_name(s, "v");
    const AstExpr *factor = NULL;
    AstExpr *v = ast_suggest_name(arena, name);
    AstExpr *inverse = index ? solved_for(arena, place, index, v, &factor) : NULL;
    if (!inverse || is_on_left(target, index) || s->ast->wheres.count)
        return false;
    Replacing rule = {ast_suggest_name(arena, index), inverse};
    const AstExpr *divided = factor ? inverse->args.items[0] : NULL;
    const char *left = ast_text(arena, read_with(arena, target->name.text, &target->indices, d, v));
    const char *right = ast_text(arena, replaced(arena, value, &rule, 1));
    if (factor)
        HINT(s->frame, "name the place and compute the index: %s = %s where %s %% %lld == 0", left, right,
             arena_printf(arena, divided->kind == AST_OPERATOR ? "(%s)" : "%s", ast_text(arena, divided)),
             (long long)factor->integer);
    else
        HINT(s->frame, "name the place and compute the index: %s = %s", left, right);
    return true;
}

void hint_computed(const Statement *s, const AstExpr *place) {
    const AstTarget *target = &s->ast->targets.items[0];
    int d = computed_place(target);
    if (place->kind == AST_INTEGER && !place->overflow)
        HINT(s->frame, "name the index and say where it is: where i in %lld:%lld", (long long)place->integer,
             (long long)place->integer + 1);
    else if (s->ast->values.count == 1 && (d < 0 || !hint_inverse(s, target, d)))
        HINT(s->frame, "combine them, as += and max= do, and +=! and max=! which begin with the identity");
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
        AstExpr target = {.kind = AST_APPLY, .name = targets->items[i].name, .args = targets->items[i].indices};
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
    AstExpr left = {.kind = AST_APPLY, .name = target->name, .args = target->indices};
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
        else if (index && !index->read)
            text_add(&text, "%s%s in %s:%s", before, index->name, ast_text(text.arena, where->begin),
                     ast_text(text.arena, where->end));
        else if (where->kind == WHERE_LET || where->kind == WHERE_EXISTS)
            text_add(&text, "%s%s%s%s", before, where->kind == WHERE_LET ? where->name.text : "exists",
                     where->kind == WHERE_LET ? " = " : " ", ast_text(text.arena, where->value));
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
    AstExpr left = {.kind = AST_APPLY, .name = target->name, .args = target->indices}, *condition = NULL;
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

/* The variable that is read there; NULL: there is none, or it has no value yet. */
static const Variable *variable_read(const Statement *s, const AstExpr *ast) {
    const Symbol *symbol =
        ast->kind == AST_APPLY || ast->kind == AST_NAME ? frame_symbol(s->frame, ast->name.text) : NULL;
    bool known = symbol && symbol->kind == SYMBOL_TENSOR && symbol->variable->view.tensor;
    return known ? symbol->variable : NULL;
}

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

static const char *sizes_text(const Statement *s, const Variable *variable) {
    Text text = {.arena = s->builder->arena};
    const AstResult *result = variable->result;
    int rank = result->has_dims ? result->dims.count : s->ast->targets.items[0].indices.count;
    for (int d = 0; d < rank; d++) {
        const char *size = result->has_dims ? ast_text(s->builder->arena, result->dims.items[d]) : index_size(s, d);
        if (!size)
            return "SIZES";
        text_add(&text, "%s%s", d ? ", " : "", size);
    }
    return rank ? text.text : "";
}

/* What a name of where stands for; NULL: it is no such name. */
static const AstExpr *let_value(const Statement *s, const AstExpr *ast) {
    const AstExpr *value = NULL;
    for (int i = 0; i < s->ast->wheres.count && ast->kind == AST_NAME; i++)
        if (s->ast->wheres.items[i].kind == WHERE_LET && is_name(ast, s->ast->wheres.items[i].name.text))
            value = s->ast->wheres.items[i].value;
    return value;
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
        Text sizes = {.arena = frame->builder->arena};
        for (int d = 0; d < argument->dims.count; d++)
            text_add(&sizes, "%s%s", d ? ", " : "", ast_text(frame->builder->arena, argument->dims.items[d]));
        HINT(frame, "what changes is no argument but a result: inout %s(%s) %s",
             element_info[argument->type].spelling, sizes.length ? sizes.text : "", name);
    }
}

/* --- y(i) = y(i) + x ---------------------------------------------------------------------------------------------- */

/* Whether the read is of the element that the statement defines. */
static bool is_own_element(const Statement *s, const AstExpr *read, const AstTarget *target) {
    bool same = read->args.count == target->indices.count;
    for (int i = 0; i < read->args.count && same; i++)
        same = same_source(s->builder->arena, read->args.items[i], target->indices.items[i]);
    return same;
}

/* The operator of y(i) = y(i) + x; "" if the statement has another form. */
static const char *combine_written_out(const AstStatement *statement, const AstExpr *read) {
    const AstExpr *value = statement->values.items[0];
    bool own = value->args.count == 2 && (value->args.items[0] == read || value->args.items[1] == read);
    int op = value->kind == AST_OPERATOR ? (int)value->op
             : value->kind == AST_APPLY  ? find_builtin(value->name.text)
                                         : -1;
    bool combines = op == OP_ADD || op == OP_MUL || op == OP_MIN || op == OP_MAX;
    return own && combines && statement->combine == COMBINE_NONE ? op_info[op].spelling : "";
}

/* Whether the value has an index that is not on the left side. */
static bool reduces(const Statement *s, const AstExpr *ast) {
    const AstExprs *indices = &s->ast->targets.items[0].indices;
    bool found = ast->kind == AST_NAME && !frame_symbol(s->frame, ast->name.text) && !let_value(s, ast);
    for (int i = 0; i < indices->count && found; i++)
        found = !is_name(indices->items[i], ast->name.text);
    for (int i = 0; i < ast->args.count && !found; i++)
        found = reduces(s, ast->args.items[i]);
    return found;
}

/* --- y(i) = y(i - 1) + x ------------------------------------------------------------------------------------------ */

/* How many steps ahead of the index it is: i + 1, i - 1; 0: it is not known. */
static int64_t steps_ahead(const AstExpr *ast, const char *index) {
    bool shifts = ast->kind == AST_OPERATOR && ast->args.count == 2 && (ast->op == OP_ADD || ast->op == OP_SUB);
    const AstExpr *name = shifts ? ast->args.items[0] : NULL, *steps = shifts ? ast->args.items[1] : NULL;
    if (!shifts || !is_name(name, index) || steps->kind != AST_INTEGER)
        return 0;
    return ast->op == OP_ADD ? steps->integer : -steps->integer;
}

/* The dimension along which the statement goes from its own elements to others: one with earlier elements, if there
 * is one; *ahead is 0 if it has neither. */
static int step_dimension(const AstExpr *read, const AstTarget *target, int64_t *ahead) {
    int found = -1;
    *ahead = 0;
    for (int d = 0; d < target->indices.count && d < read->args.count; d++) {
        const AstExpr *index = target->indices.items[d];
        int64_t steps = index->kind == AST_NAME ? steps_ahead(read->args.items[d], index->name.text) : 0;
        if (steps && (found < 0 || (steps < 0 && *ahead > 0))) {
            found = d;
            *ahead = steps;
        }
    }
    return found;
}

/* T.d of a tensor that is read at the index alone; NULL: there is none. */
static AstExpr *extent_read(const Statement *s, const AstExpr *ast, const char *index) {
    const Variable *variable = variable_read(s, ast);
    AstExpr *found = NULL;
    for (int i = 0; i < ast->args.count && !found; i++) {
        found = extent_read(s, ast->args.items[i], index);
        if (!variable || !is_name(ast->args.items[i], index))
            continue;
        found = ast_suggest_name(s->builder->arena, ast->name.text);
        found->kind = AST_SIZE;
        found->integer = i;
    }
    return found;
}

static bool applies(const AstExpr *ast, const char *name) {
    bool found = ast->kind == AST_APPLY && strcmp(ast->name.text, name) == 0;
    for (int i = 0; i < ast->args.count && !found; i++)
        found = applies(ast->args.items[i], name);
    return found;
}

static bool contains(const AstExpr *ast, const AstExpr *part) {
    bool found = ast == part;
    for (int i = 0; i < ast->args.count && !found; i++)
        found = contains(ast->args.items[i], part);
    return found;
}

/* Whether the read has an else. */
static bool has_otherwise(const AstExpr *ast, const AstExpr *read) {
    bool found = ast->kind == AST_ELSE && ast->args.items[0] == read;
    for (int i = 0; i < ast->args.count && !found; i++)
        found = has_otherwise(ast->args.items[i], read);
    return found;
}

static AstExpr *difference(Arena *arena, AstExpr *from, AstExpr *subtracted) {
    return ast_suggest(arena, OP_SUB, from, subtracted, NULL);
}

/* --- the value before the first step: what changes nothing --- */

typedef enum Neutral { NEUTRAL_UNKNOWN, NEUTRAL_ZERO, NEUTRAL_ONE, NEUTRAL_TERM } Neutral;

/* What changes nothing in the expression, by what does so in the part of it that has the read; NEUTRAL_TERM: that part
 * is the read. */
static Neutral neutral_above(const AstExpr *ast, Neutral inside) {
    bool operation = ast->kind == AST_OPERATOR;
    if (inside == NEUTRAL_ZERO || inside == NEUTRAL_UNKNOWN)
        return inside;
    if (operation && (ast->op == OP_ADD || ast->op == OP_SUB))
        return NEUTRAL_ZERO;
    return operation && ast->op == OP_MUL ? NEUTRAL_ONE : NEUTRAL_UNKNOWN;
}

/* 0 in a sum, also of products, and 1 in a product. */
static Neutral neutral_of(const AstExpr *ast, const AstExpr *read) {
    Neutral found = ast == read ? NEUTRAL_TERM : NEUTRAL_UNKNOWN;
    for (int i = 0; i < ast->args.count && ast != read && found == NEUTRAL_UNKNOWN; i++)
        if (contains(ast->args.items[i], read))
            found = neutral_above(ast, neutral_of(ast->args.items[i], read));
    return found;
}

/* The read of an earlier step, written anew, with a value for before the first one; NULL: none is known. */
static AstExpr *with_otherwise(Arena *arena, const AstExpr *value, const AstExpr *read, AstExpr *again) {
    if (has_otherwise(value, read))
        return again;
    Neutral neutral = neutral_of(value, read);
    if (neutral != NEUTRAL_ZERO && neutral != NEUTRAL_ONE)
        return NULL;
    AstExpr *otherwise = ast_suggest_name(arena, neutral == NEUTRAL_ONE ? "1" : "0");
    AstExpr *both = ast_suggest_name(arena, NULL);
    otherwise->kind = AST_INTEGER;
    otherwise->integer = neutral == NEUTRAL_ONE;
    both->kind = AST_ELSE;
    list_push(arena, &both->args, again);
    list_push(arena, &both->args, otherwise);
    return both;
}

/* Suggests a scan that counts from the end. False: the statement has another form. */
static bool hint_reversed(const Statement *s, const AstExpr *read, const AstTarget *target, int d, int64_t ahead) {
    Arena *arena = s->builder->arena;
    AstExpr *value = s->ast->values.items[0], *index = target->indices.items[d];
    AstExpr *extent = extent_read(s, value, index->name.text);
    const char *step = free_name(s, "k"), *name = free_name(s, "reversed");
    if (!extent || s->ast->wheres.count || s->ast->combine != COMBINE_NONE)
        return false;
    AstExpr *last = difference(arena, extent, ast_suggest_name(arena, "1")), *k = ast_suggest_name(arena, step);
    AstExpr *steps = ast_suggest_name(arena, arena_printf(arena, "%lld", (long long)ahead));
    AstExpr *before = read_with(arena, name, &read->args, d, difference(arena, k, steps));
    before = with_otherwise(arena, value, read, before);
    if (!before)
        return false;
    Replacing rules[] = {{read, before}, {index, difference(arena, last, k)}};
    AstExpr *again = replaced(arena, value, rules, 2);
    if (applies(again, target->name.text))
        return false;
    AstExpr left = {.kind = AST_APPLY, .name = target->name, .args = target->indices};
    HINT(s->frame, "a scan goes forward, so it counts from the end: scan %s { %s = %s }  %s = %s", step,
         ast_text(arena, read_with(arena, name, &target->indices, d, k)), ast_text(arena, again),
         ast_text(arena, &left),
         ast_text(arena, read_with(arena, name, &target->indices, d, difference(arena, last, index))));
    return true;
}

static int count_reads(const AstExpr *ast, const char *name) {
    int count = ast->kind == AST_APPLY && strcmp(ast->name.text, name) == 0;
    for (int i = 0; i < ast->args.count; i++)
        count += count_reads(ast->args.items[i], name);
    return count;
}

static const AstExpr *first_read(const AstExpr *ast, const char *name) {
    const AstExpr *found = ast->kind == AST_APPLY && strcmp(ast->name.text, name) == 0 ? ast : NULL;
    for (int i = 0; i < ast->args.count && !found; i++)
        found = first_read(ast->args.items[i], name);
    return found;
}

/* Whether the value reads the target at other elements along another index. */
static bool has_other_direction(const Statement *s, const AstExpr *ast, const AstTarget *target, int dimension) {
    int64_t ahead;
    bool own = ast->kind == AST_APPLY && strcmp(ast->name.text, target->name.text) == 0;
    int step = own ? step_dimension(ast, target, &ahead) : -1;
    bool found = step >= 0 && step != dimension;
    for (int i = 0; i < ast->args.count && !found; i++)
        found = has_other_direction(s, ast->args.items[i], target, dimension);
    return found;
}

/* The statement in a scan, with a value for before the first step; "" if none is known. */
static const char *scan_text(const Statement *s, const AstExpr *read, const AstExpr *left) {
    Arena *arena = s->builder->arena;
    AstExpr *again = ARENA_NEW(arena, AstExpr);
    *again = *read;
    AstExpr *value = s->ast->values.items[0];
    Replacing rule = {read, with_otherwise(arena, value, read, again)};
    bool single = count_reads(value, left->name.text) == 1 && s->ast->combine == COMBINE_NONE;
    if (!rule.by || !single || s->ast->wheres.count)
        return "";
    return arena_printf(arena, "%s = %s", ast_text(arena, left), ast_text(arena, replaced(arena, value, &rule, 1)));
}

static void hint_scan(const Statement *s, const AstExpr *read, const AstTarget *target, const char *index) {
    Arena *arena = s->builder->arena;
    AstExpr left = {.kind = AST_APPLY, .name = target->name, .args = target->indices};
    const char *element = ast_text(arena, &left), *text = scan_text(s, read, &left);
    if (*text)
        HINT(s->frame, "what depends on its own earlier elements is a recurrence: scan %s { %s }", index, text);
    else if (range_of(s, index))
        HINT(s->frame,
             "what depends on its own earlier elements is a recurrence: in a scan %s, after a statement that defines "
             "%s for all steps",
             index, element);
    else
        HINT(s->frame,
             "what depends on its own earlier elements is a recurrence: in a scan %s, with a value after else for "
             "before the first step",
             index);
}

static void hint_recurrence(const Statement *s, const AstExpr *read, const AstTarget *target) {
    int64_t ahead;
    int d = step_dimension(read, target, &ahead);
    const AstExpr *value = s->ast->values.items[0];
    bool several = d >= 0 && has_other_direction(s, value, target, d);
    if (several && first_read(value, target->name.text) != read)
        return; /* said already */
    if (several)
        HINT(s->frame, "a scan has one direction: what depends on earlier elements along two indices is none");
    else if (ahead > 0 && !hint_reversed(s, read, target, d, ahead))
        HINT(s->frame, "a scan goes forward: it reads its own earlier elements only");
    else if (ahead < 0)
        hint_scan(s, read, target, target->indices.items[d]->name.text);
}

void hint_own_read(const Statement *s, const AstExpr *read, const AstTarget *target, const Variable *variable) {
    const char *combine = combine_written_out(s->ast, read), *own = ast_text(s->builder->arena, read);
    if (!is_own_element(s, read, target)) {
        hint_recurrence(s, read, target);
        return;
    }
    if (*combine && (!variable->result || reduces(s, s->ast->values.items[0])))
        HINT(s->frame, "%s %s=! ... begins with the identity", own, combine);
    if (*combine && variable->result)
        HINT(s->frame, "%s %s= ... changes what the caller has in it; the header says that: -> (%s)", own, combine,
             inout_text(s, variable, TYPE_COUNT));
    else if (variable->result)
        HINT(s->frame, "the header says that it begins with what the caller has in it: -> (%s)",
             inout_text(s, variable, TYPE_COUNT));
}
