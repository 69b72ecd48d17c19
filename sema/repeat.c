/* repeat.c - for l in 0:L { ... }: statements that are repeated, and the part of a tensor that each of them takes.
 *
 * The body is checked once for each value of the index, which is a number there, as if the source had it so many times:
 * a network of L equal layers is a call in a loop. A tensor with fewer indices than dimensions, as an argument of a
 * call, is the rest of it: w(l) is the weight of layer l. It gets a stage of its own, which costs nothing where it is
 * inlined or computed ahead.
 */
#include "sema/check.h"

#include <string.h>

/* --- loops -------------------------------------------------------------------------------------------------------- */

static Symbol *begin_index(CallFrame *frame, AstName index) {
    const Symbol *known = frame_symbol(frame, index.text);
    if (known) {
        ERROR(frame, duplicate_name, index.loc, index.text);
        NOTE(frame, known->loc, "first here");
        return NULL;
    }
    Symbol *symbol = frame_add(frame, SYMBOL_SIZE, index.text, index.loc);
    symbol->repeats = true;
    return symbol;
}

/* Whether the repeated statements of a program may be as many: loops in loops multiply. Each repetition counts as one,
 * too, since a loop may be empty. */
static bool is_short(CallFrame *frame, const AstStatement *ast, int64_t count) {
    Builder *builder = frame->builder;
    int64_t limit = 2 * (int64_t)statement_limit(builder);
    if (count > (limit - builder->repeated) / (ast->body.count + 1)) {
        refuse_length(frame, ast->loc);
        return false;
    }
    builder->repeated += count * (ast->body.count + 1);
    return true;
}

typedef struct Repetitions {
    int64_t begin, end;
} Repetitions;

/* An end that depends on sizes gets its value where the def is called or exported with them. Until then the rest of the
 * def is not looked at: its names are checked then (instance.c). */
static bool waits_for_sizes(CallFrame *frame) {
    Builder *builder = frame->builder;
    if (!builder->by_itself || builder->names_only)
        return false;
    builder->waits = true;
    builder->muted = diag_mute(DIAGNOSTICS(frame), true);
    frame_fail(frame);
    return true;
}

static void report_unknown_end(CallFrame *frame, const AstExpr *ast, const Expr *end) {
    ERROR(frame, not_a_constant, ast->loc, expr_text(frame->builder->arena, end));
    HINT(frame,
         "give the sizes here values, in the export or by -D; an index takes every value by itself, without a for");
    note_calls(frame);
}

/* While only names are checked, what is unknown is one repetition. False after an error. */
static bool known_repetitions(CallFrame *frame, const AstStatement *ast, Repetitions *r) {
    const Expr *begin = size_value(frame, ast->begin), *end = size_value(frame, ast->end);
    bool first = begin && expr_is_int(begin, &r->begin), last = end && expr_is_int(end, &r->end);
    if (!begin || !end)
        HINT(frame, "a loop repeats statements a known number of times; an index takes every value by itself");
    if (!begin || !end || (first && last))
        return begin && end;
    if (waits_for_sizes(frame))
        return false;
    if (!frame->builder->names_only) {
        report_unknown_end(frame, first ? ast->end : ast->begin, first ? end : begin);
        return false;
    }
    r->begin = first ? r->begin : last ? r->end - 1 : 0;
    r->end = r->begin + 1;
    return true;
}

static void repeat_body(CallFrame *frame, const AstStatement *ast, Symbol *index, Repetitions r) {
    for (int64_t value = r.begin; value < r.end && !diag_limit_reached(DIAGNOSTICS(frame)); value++) {
        index->value = expr_int(frame->builder->arena, value);
        for (int i = 0; i < ast->body.count && !is_too_long(frame, ast->body.items[i]); i++)
            check_statement(frame, ast->body.items[i]);
    }
    index->ended = true;
}

void check_for(CallFrame *frame, const AstStatement *ast) {
    Repetitions r;
    if (frame->scan)
        ERROR(frame, for_in_scan, ast->loc);
    bool good = !frame->scan && known_repetitions(frame, ast, &r) &&
                is_short(frame, ast, r.begin < r.end ? r.end - r.begin : 0);
    Symbol *index = good ? begin_index(frame, ast->index) : NULL;
    if (index)
        repeat_body(frame, ast, index, r);
    else
        poison_targets(frame, ast);
}

/* --- parts of tensors --------------------------------------------------------------------------------------------- */

bool is_part(const CallFrame *frame, const AstExpr *ast) {
    const Symbol *symbol = ast->kind == AST_APPLY ? frame_symbol(frame, ast->name.text) : NULL;
    return symbol && symbol->kind == SYMBOL_TENSOR && symbol->variable->view.tensor && ast->args.count > 0 &&
           ast->args.count < symbol->variable->view.rank;
}

static AstExpr *named(Arena *arena, const char *name, Loc loc) {
    AstExpr *e = ARENA_NEW(arena, AstExpr);
    *e = (AstExpr){.kind = AST_NAME, .depth = 1, .loc = loc, .name = {name, loc}};
    return e;
}

/* PART(d1, ...) = TENSOR(the indices, d1, ...) */
static AstStatement *part_statement(Arena *arena, const AstExpr *ast, const char *part, int rank) {
    AstStatement *statement = ARENA_NEW(arena, AstStatement);
    *statement = (AstStatement){.kind = STATEMENT_ASSIGN, .depth = 1, .loc = ast->loc, .combine = COMBINE_NONE};
    statement->part = true;
    AstTarget target = {.name = {part, ast->loc}, .has_indices = true, .loc = ast->loc};
    AstExpr *read = ARENA_NEW(arena, AstExpr);
    *read = *ast;
    read->args = (AstExprs){0};
    for (int i = 0; i < ast->args.count; i++)
        list_push(arena, &read->args, ast->args.items[i]);
    for (int d = ast->args.count; d < rank; d++) {
        AstExpr *index = named(arena, arena_printf(arena, "d%d", d), ast->loc);
        list_push(arena, &target.indices, index);
        list_push(arena, &read->args, index);
    }
    list_push(arena, &statement->targets, target);
    list_push(arena, &statement->values, read);
    return statement;
}

Variable *part_variable(CallFrame *frame, const AstExpr *ast) {
    Arena *arena = frame->builder->arena;
    const Variable *whole = frame_symbol(frame, ast->name.text)->variable;
    Text name = {.arena = arena};
    text_add(&name, "%s.at", ast->name.text);
    for (int i = 0; i < ast->args.count; i++) {
        Expr *index = size_value(frame, ast->args.items[i]);
        int64_t value;
        if (!index) {
            HINT(frame, "a def takes whole tensors, or parts at known indices: %s(0)", ast->name.text);
            return NULL;
        }
        if (expr_is_int(index, &value) && value >= 0)
            text_add(&name, "_%lld", (long long)value);
        else
            text_add(&name, "_%d_%d", frame->variables.count, i);
    }
    const Symbol *known = frame_symbol(frame, name.text);
    if (!known || !whole->input)
        check_statement(frame, part_statement(arena, ast, name.text, whole->view.rank));
    known = frame_symbol(frame, name.text);
    return known && known->kind == SYMBOL_TENSOR && known->variable->view.tensor ? known->variable : NULL;
}
