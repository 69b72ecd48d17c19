/* hints_recurrences.c - what a message suggests for a tensor that its own first definition reads: an update, or a scan.
 */
#include "sema/rewriting.h"

#include <string.h>

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
    if (!shifts || !is_name(name, index) || steps->kind != AST_INTEGER || steps->integer == INT64_MIN)
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

/* NULL: it is not read. */
static const AstExpr *first_read(const AstExpr *ast, const char *name) {
    const AstExpr *found = ast->kind == AST_APPLY && strcmp(ast->name.text, name) == 0 ? ast : NULL;
    for (int i = 0; i < ast->args.count && !found; i++)
        found = first_read(ast->args.items[i], name);
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
    if (first_read(again, target->name.text))
        return false;
    AstExpr left = ast_of_target(target);
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
    AstExpr left = ast_of_target(target);
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

bool hint_other_elements(const Statement *s, const AstExpr *read) {
    int64_t ahead;
    for (int t = 0; t < s->ast->targets.count && read->kind == AST_APPLY; t++) {
        const AstTarget *target = &s->ast->targets.items[t];
        bool own = strcmp(target->name.text, read->name.text) == 0 && !s->frame->scan;
        if (!own || step_dimension(read, target, &ahead) < 0)
            continue;
        hint_recurrence(s, read, target);
        return true;
    }
    return false;
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
