/* hints_rows.c - what a message suggests for rows whose ends are read, for reductions under '=', and for places that
 * are computed. None of it is slower than what was meant.
 */
#include "sema/rewriting.h"

#include <string.h>

/* --- ranges whose ends are read ----------------------------------------------------------------------------------- */

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

Statement with_clauses(const Statement *s) {
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
    Op op = begin ? OP_GE : OP_LT;
    if (e->op == op && is_name(e->args.items[0], index))
        return e->args.items[1];
    return e->op == comparison_info[op].exchanged && is_name(e->args.items[1], index) ? e->args.items[0] : NULL;
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

bool rows_at(const Statement *s, const char *name, AstWhere *rows) {
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
    AstExpr left = ast_of_target(target);
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
           affine_is_int(&difference, &constant) && constant >= 0;
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
    AstExpr *read = applied(arena, of, ast_suggest_name(arena, p));
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

/* y(p) +=! x(p) * s(i) where p in row(i):row(i + 1): of each place only one row is its own. */
void warn_rows_of_places(Statement *statement) {
    Statement split = with_clauses(statement), *s = &split;
    AstWhere rows;
    for (int i = 0; i < s->indices.count; i++) {
        const IndexVariable *row = s->indices.items[i];
        if (row->target || !rows_at(s, row->name, &rows))
            continue;
        const IndexVariable *place = find_index(s, rows.name.text);
        WARN(s->frame, row_of_place, place->loc, place->name, row->name);
        if (s->ast->combine == COMBINE_ADD && s->ast->initialise && is_row(s->builder->arena, &rows, row->name) &&
            !has_former_value(s) && !has_other_clauses(s->ast, &rows) && !s->builder->names_only)
            hint_row_of_place(s, &rows, row, place);
        return;
    }
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

bool reads_at(const Statement *s, const AstExpr *ast, const char *name) {
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
    if (place->kind == AST_INTEGER && place->integer < INT64_MAX)
        HINT(s->frame, "name the index and say where it is: where i in %lld:%lld", (long long)place->integer,
             (long long)place->integer + 1);
    else if (s->ast->values.count == 1 && (d < 0 || !hint_inverse(s, target, d)))
        HINT(s->frame, "combine them, as += and max= do, and +=! and max=! which begin with the identity");
}
