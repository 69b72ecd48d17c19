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

/* The repeated statements of a program together, since loops in loops multiply. */
enum { REPEATED_LIMIT = 20000 };

static Symbol *begin_index(CallFrame *frame, AstName index) {
    const Symbol *known = frame_symbol(frame, index.text);
    if (known) {
        ERROR(frame, duplicate_name, index.loc, index.text);
        NOTE(frame, known->loc, "first here");
        return NULL;
    }
    return frame_add(frame, SYMBOL_SIZE, index.text, index.loc);
}

static bool is_short(CallFrame *frame, const AstStatement *ast, int64_t count) {
    Builder *builder = frame->builder;
    if (count <= (REPEATED_LIMIT - builder->repeated) / (ast->body.count + 1)) {
        builder->repeated += (int)count * (ast->body.count + 1);
        return true;
    }
    ERROR(frame, loop_too_long, ast->loc, REPEATED_LIMIT);
    return false;
}

void check_for(CallFrame *frame, const AstStatement *ast) {
    int64_t begin, end;
    bool good = !frame->scan;
    if (frame->scan)
        ERROR(frame, for_in_scan, ast->loc);
    if (good && !(constant_value(frame, ast->begin, &begin) && constant_value(frame, ast->end, &end))) {
        HINT(frame, "a loop repeats statements a known number of times; an index takes every value by itself");
        good = false;
    }
    good = good && is_short(frame, ast, begin < end ? end - begin : 0);
    Symbol *index = good ? begin_index(frame, ast->index) : NULL;
    for (int64_t value = begin; index && value < end && !diag_limit_reached(DIAGNOSTICS(frame)); value++) {
        index->value = expr_int(frame->builder->arena, value);
        for (int i = 0; i < ast->body.count; i++)
            check_statement(frame, ast->body.items[i]);
    }
    if (index)
        index->ended = true;
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
