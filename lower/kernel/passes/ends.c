/* ends.c - pass: reads of a row of lanes that goes round, stops at bounds, or turns back become reads of rows under
 * masks.
 *
 * Where `else wrap` meets the end of a row, lanes go on at its beginning: the row is read twice, with the lanes before
 * its end and with those after it. Where `else edge` meets a bound, the lanes beyond it have the element there. Where
 * `else reflect` meets the end, lanes go back: what they read is a row in reverse. Without this pass each lane is
 * fetched by itself. For processors that load under masks. Needs unrolled loops.
 */
#include "lang/program.h"
#include "lower/kernel/passes/passes.h"
#include "lower/kernel/passes/vectors.h"
#include "lower/kernel/statements.h"
#include <string.h>

enum { LANES_LIMIT = 64 /* of masks */ };

/* The index `around` + e of contiguous lanes e that begin at `first`: e % period, or min(max(e, low), high), or
 * min(e % period, top - e % period). */
typedef struct RowEnds {
    Expr *around, *first;
    Expr *period;     /* no fewer than the lanes that are read; NULL: it does not go round */
    Expr *low, *high; /* NULL: none */
    Expr *top, *half; /* lanes up to half of top go forward, those from there to top go back; NULL: none goes back */
} RowEnds;

bool lanes_have_ends(const Expr *index) {
    if (index->kind != EXPR_OP)
        return false;
    bool ends =
        index->op == OP_MIN || index->op == OP_MAX || index->op == OP_MOD || index->op == OP_ADD || index->op == OP_SUB;
    for (int i = 0; i < index->count && ends; i++)
        ends = index->args[i]->kind == EXPR_BROADCAST || expr_is_unit_ramp(index->args[i]) ||
               lanes_have_ends(index->args[i]);
    return ends;
}

static bool find_period(Arena *arena, const Expr *index, RowEnds *ends) {
    const Expr *ramp = index->args[0], *by = index->args[1];
    if (!expr_is_unit_ramp(ramp) || by->kind != EXPR_BROADCAST)
        return false;
    ends->first = expr_binary(arena, OP_MOD, ramp->args[0], by->args[0]);
    ends->period = by->args[0];
    return true;
}

/* Top in top - forward, with numbers added that are the same in all lanes. NULL: it is another value. */
static Expr *find_top(Arena *arena, const Expr *back, const Expr *forward) {
    if (back->kind != EXPR_OP || (back->op != OP_SUB && back->op != OP_ADD))
        return NULL;
    int side = back->args[0]->kind == EXPR_BROADCAST ? 0 : 1;
    const Expr *same = back->args[side], *rest = back->args[1 - side];
    if (same->kind != EXPR_BROADCAST)
        return NULL;
    if (back->op == OP_SUB && side == 0)
        return expr_equal(rest, forward) ? same->args[0] : NULL;
    Expr *top = find_top(arena, rest, forward);
    return top ? expr_binary(arena, back->op, top, same->args[0]) : NULL;
}

/* Whether lanes go round where they have come back: another remainder may stand there, too. A period is at least 1. */
static bool is_period_of(Arena *arena, Expr *period, Expr *top) {
    Affine rest;
    Expr *number = expr_without_least_one(period);
    return expr_affine(arena, expr_binary(arena, OP_SUB, number, top), &rest) && rest.count == 0 && rest.constant == 0;
}

static bool find_reflection(Arena *arena, const Expr *index, RowEnds *ends) {
    if (!expr_is_op(index, OP_MIN))
        return false;
    int side = expr_is_op(index->args[0], OP_MOD) ? 0 : 1;
    const Expr *forward = index->args[side];
    ends->top = expr_is_op(forward, OP_MOD) ? find_top(arena, index->args[1 - side], forward) : NULL;
    if (!ends->top || !find_period(arena, forward, ends))
        return false;
    ends->top = expr_compact(arena, ends->top);
    if (!is_period_of(arena, ends->period, ends->top))
        return false;
    ends->half = expr_compact(arena, expr_binary(arena, OP_DIV, ends->top, expr_int(arena, 2)));
    return true;
}

static bool find_bounds(Arena *arena, const Expr *index, RowEnds *ends) {
    if (expr_is_unit_ramp(index)) {
        ends->first = index->args[0];
        return true;
    }
    if (index->kind != EXPR_OP || (index->op != OP_MIN && index->op != OP_MAX))
        return false;
    int side = index->args[0]->kind == EXPR_BROADCAST ? 0 : 1;
    if (index->args[side]->kind != EXPR_BROADCAST || !find_bounds(arena, index->args[1 - side], ends))
        return false;
    Expr *bound = index->args[side]->args[0];
    Expr **own = index->op == OP_MAX ? &ends->low : &ends->high;
    Expr **other = index->op == OP_MAX ? &ends->high : &ends->low;
    *own = *own ? expr_binary(arena, index->op, *own, bound) : bound;
    *other = *other ? expr_binary(arena, index->op, *other, bound) : NULL;
    return true;
}

static bool find_ends(Arena *arena, const Expr *index, RowEnds *ends) {
    *ends = (RowEnds){.around = expr_int(arena, 0)};
    while (expr_is_op(index, OP_ADD)) {
        int side = index->args[0]->kind == EXPR_BROADCAST ? 0 : 1;
        if (index->args[side]->kind != EXPR_BROADCAST)
            return false;
        ends->around = expr_binary(arena, OP_ADD, ends->around, index->args[side]->args[0]);
        index = index->args[1 - side];
    }
    if (expr_is_op(index, OP_MOD))
        return find_period(arena, index, ends);
    if (find_reflection(arena, index, ends))
        return true;
    *ends = (RowEnds){.around = ends->around};
    return find_bounds(arena, index, ends) && (ends->low || ends->high);
}

/* --- what they become --------------------------------------------------------------------------------------------- */

static Expr *lanes_from(Arena *arena, Expr *first, int lanes) {
    return expr_ramp(arena, first, expr_int(arena, 1), lanes);
}

/* A comparison of each lane with one number. */
static Expr *compare_lanes(Arena *arena, const RowEnds *ends, Op op, Expr *with, int lanes) {
    return expr_binary(arena, op, lanes_from(arena, ends->first, lanes), expr_broadcast(arena, with, lanes));
}

static Expr *read_under(Arena *arena, Expr *read, Expr *index, Expr *mask) {
    return expr_read_at(arena, read, index, expr_and(arena, read->guard, mask));
}

/* The lanes before the end of the row, and behind them those at its beginning. */
static Expr *read_around(Arena *arena, Expr *read, const RowEnds *ends) {
    int lanes = read->lanes;
    Expr *period = ends->period, *at = expr_binary(arena, OP_ADD, ends->around, ends->first);
    Expr *is_before = compare_lanes(arena, ends, OP_LT, period, lanes);
    Expr *behind = expr_binary(arena, OP_ADD, ends->first, expr_int(arena, lanes));
    Expr *any_after = expr_binary(arena, OP_GT, behind, period);
    Expr *is_after = expr_and(arena, expr_broadcast(arena, any_after, lanes), expr_unary(arena, OP_NOT, is_before));
    Expr *before = read_under(arena, read, lanes_from(arena, at, lanes), is_before);
    Expr *after = read_under(arena, read, lanes_from(arena, expr_binary(arena, OP_SUB, at, period), lanes), is_after);
    return expr_select(arena, is_before, before, after);
}

static Expr *reverse_ramp(Arena *arena, Expr *e, void *context) {
    (void)context;
    if (e->kind != EXPR_RAMP)
        return e;
    Expr *steps = expr_binary(arena, OP_MUL, e->args[1], expr_int(arena, e->lanes - 1));
    Expr *last = expr_compact(arena, expr_binary(arena, OP_ADD, e->args[0], steps));
    return expr_ramp(arena, last, expr_binary(arena, OP_SUB, expr_int(arena, 0), e->args[1]), e->lanes);
}

/* Whether reversed ramps are all that makes its lanes those of the reversed vector. */
static bool can_reverse(const Expr *guard) {
    if (guard)
        EACH_EXPR(e, guard)
            if (e->kind == EXPR_SHUFFLE || e->kind == EXPR_CALL)
                return false;
    return true;
}

/* The lanes that go back, which are the first to the last ones of a row in reverse. */
static Expr *read_back(Arena *arena, const Expr *read, const RowEnds *ends) {
    int lanes = read->lanes, reverse[LANES_LIMIT];
    for (int l = 0; l < lanes; l++)
        reverse[l] = lanes - 1 - l;
    Expr *last = expr_binary(arena, OP_ADD, ends->first, expr_int(arena, lanes - 1));
    Expr *begin = expr_compact(arena, expr_binary(arena, OP_SUB, ends->top, last));
    Expr *row = lanes_from(arena, begin, lanes), *none = expr_broadcast(arena, expr_int(arena, 0), lanes);
    Expr *any = expr_broadcast(arena, expr_binary(arena, OP_GT, last, ends->half), lanes);
    Expr *mask = expr_and(arena, any, expr_binary(arena, OP_GE, row, none));
    mask = expr_and(arena, mask, expr_binary(arena, OP_LT, row, expr_broadcast(arena, ends->half, lanes)));
    Expr *made = expr_copy(arena, read);
    made->args[0] = lanes_from(arena, expr_binary(arena, OP_ADD, ends->around, begin), lanes);
    Expr *guard = read->guard ? expr_rewrite(arena, read->guard, reverse_ramp, NULL) : NULL;
    made->guard = expr_and(arena, guard, mask);
    return expr_shuffle(arena, &made, 1, reverse, lanes);
}

/* The lanes up to the half, those that go back from there, and those that go forward again. */
static Expr *read_reflected(Arena *arena, Expr *read, const RowEnds *ends) {
    int lanes = read->lanes;
    Expr *at = expr_binary(arena, OP_ADD, ends->around, ends->first);
    Expr *is_forward = compare_lanes(arena, ends, OP_LE, ends->half, lanes);
    Expr *is_back = compare_lanes(arena, ends, OP_LT, ends->top, lanes);
    Expr *any = expr_broadcast(arena, expr_binary(arena, OP_LE, ends->first, ends->half), lanes);
    Expr *behind = expr_binary(arena, OP_ADD, ends->first, expr_int(arena, lanes));
    Expr *any_again = expr_broadcast(arena, expr_binary(arena, OP_GT, behind, ends->top), lanes);
    Expr *is_again = expr_and(arena, any_again, expr_unary(arena, OP_NOT, is_back));
    Expr *forward = read_under(arena, read, lanes_from(arena, at, lanes), expr_and(arena, any, is_forward));
    Expr *again =
        read_under(arena, read, lanes_from(arena, expr_binary(arena, OP_SUB, at, ends->top), lanes), is_again);
    Expr *back = read_back(arena, read, ends);
    return expr_select(arena, is_forward, forward, expr_select(arena, is_back, back, again));
}

/* Lanes beyond a bound have the element at the bound. */
static Expr *hold(Arena *arena, Expr *read, const RowEnds *ends, Expr *bound, Expr *is_beyond, Expr *value) {
    Expr *at = expr_broadcast(arena, expr_binary(arena, OP_ADD, ends->around, bound), read->lanes);
    return expr_select(arena, is_beyond, read_under(arena, read, at, is_beyond), value);
}

static Expr *read_between(Arena *arena, Expr *read, const RowEnds *ends) {
    int lanes = read->lanes;
    Expr *below = NULL, *above = NULL, *between = NULL, *any = NULL;
    if (ends->low) {
        Expr *last = expr_binary(arena, OP_ADD, ends->first, expr_int(arena, lanes - 1));
        any = expr_binary(arena, OP_GE, last, ends->low);
        below = compare_lanes(arena, ends, OP_LT, ends->low, lanes);
        between = expr_unary(arena, OP_NOT, below);
    }
    if (ends->high) {
        Expr *within = compare_lanes(arena, ends, OP_LE, ends->high, lanes);
        any = expr_and(arena, any, expr_binary(arena, OP_LE, ends->first, ends->high));
        above = expr_unary(arena, OP_NOT, within);
        between = expr_and(arena, between, within);
    }
    between = expr_and(arena, expr_broadcast(arena, any, lanes), between);
    Expr *at = expr_binary(arena, OP_ADD, ends->around, ends->first);
    Expr *value = read_under(arena, read, lanes_from(arena, at, lanes), between);
    value = below ? hold(arena, read, ends, ends->low, below, value) : value;
    return above ? hold(arena, read, ends, ends->high, above, value) : value;
}

/* --- the pass ----------------------------------------------------------------------------------------------------- */

typedef struct Answer {
    Expr *condition;
    bool proved;
} Answer;

typedef struct EndsPass {
    ReadMapping mapping;
    const Target *target;
    Facts facts;          /* the loops around have iterations */
    LIST(Answer) answers; /* what was asked of periods in the loop at hand, mostly of one or two */
} EndsPass;

static bool is_proved(EndsPass *pass, Expr *condition) {
    for (int i = 0; i < pass->answers.count; i++)
        if (expr_equal(pass->answers.items[i].condition, condition))
            return pass->answers.items[i].proved;
    Answer answer = {condition, expr_prove(pass->mapping.arena, condition, &pass->facts) == 1};
    list_push(pass->mapping.arena, &pass->answers, answer);
    return answer.proved;
}

/* Whether the guard lets no more lanes than the period through: (first + lane) < end, with end - first <= period. */
static bool guard_limits(EndsPass *pass, const Expr *guard, Expr *period) {
    Arena *arena = pass->mapping.arena;
    if (!guard || guard->kind != EXPR_OP)
        return false;
    const Expr *ramp = guard->args[0], *end = guard->args[guard->count - 1];
    if (guard->op == OP_AND)
        return guard_limits(pass, ramp, period) || guard_limits(pass, end, period);
    if (guard->op != OP_LT || !expr_is_unit_ramp(ramp) || end->kind != EXPR_BROADCAST)
        return false;
    Expr *room = expr_binary(arena, OP_SUB, end->args[0], ramp->args[0]);
    return is_proved(pass, expr_binary(arena, OP_LE, room, period));
}

/* Whether no lane that is read goes round twice, or turns back so. */
static bool goes_round_once(EndsPass *pass, const Expr *read, const RowEnds *ends) {
    Arena *arena = pass->mapping.arena;
    Expr *period = ends->top ? expr_binary(arena, OP_ADD, ends->half, expr_int(arena, 1)) : ends->period;
    return is_proved(pass, expr_binary(arena, OP_GE, period, expr_int(arena, read->lanes))) ||
           guard_limits(pass, read->guard, period);
}

static Expr *replace_read(ReadMapping *mapping, Expr *e) {
    EndsPass *pass = (EndsPass *)mapping;
    RowEnds ends;
    e = expr_over_reads(mapping, e);
    if (e->count != 1 || e->lanes == 1 || e->lanes > LANES_LIMIT || e->tensor->scope == SCOPE_REGISTER ||
        e->args[0]->kind != EXPR_OP || !target_masks(pass->target, element_info[e->tensor->type].bytes) ||
        !find_ends(mapping->arena, e->args[0], &ends) || (ends.period && !goes_round_once(pass, e, &ends)) ||
        (ends.top && !can_reverse(e->guard)))
        return e;
    return ends.top      ? read_reflected(mapping->arena, e, &ends)
           : ends.period ? read_around(mapping->arena, e, &ends)
                         : read_between(mapping->arena, e, &ends);
}

static Expr *rewrite(Arena *arena, Expr *e, void *context) {
    (void)arena;
    return expr_map_reads(context, e);
}

/* That a loop with this extent has iterations. */
static Expr *runs_at_all(Arena *arena, Expr *extent) {
    int64_t by;
    if (expr_is_op(extent, OP_DIV) && expr_is_int(extent->args[1], &by) && by > 0)
        return expr_binary(arena, OP_GE, extent->args[0], extent->args[1]);
    return expr_binary(arena, OP_GE, extent, expr_int(arena, 1));
}

static Stmt *ends_of(Arena *arena, Stmt *stmt, void *context) {
    EndsPass inside = *(EndsPass *)context;
    stmt = stmt_over_exprs(arena, stmt, rewrite, context);
    if (stmt->kind != STMT_FOR)
        return stmt_map_bodies(arena, stmt, ends_of, context);
    Expr **facts = ARENA_ARRAY(arena, Expr *, inside.facts.count + 1);
    for (int f = 0; f < inside.facts.count; f++)
        facts[f] = inside.facts.facts[f];
    facts[inside.facts.count++] = runs_at_all(arena, stmt->extent);
    inside.facts.facts = facts;
    inside.mapping.done = (Map){0}; /* what was not known outside may be known here */
    memset(&inside.answers, 0, sizeof inside.answers);
    return stmt_map_bodies(arena, stmt, ends_of, &inside);
}

void pass_ends(Kernel *kernel) {
    EndsPass pass = {.mapping = {.arena = kernel->arena, .replace = replace_read}, .target = kernel->target};
    if (kernel->row_ends && kernel->target)
        kernel->body = ends_of(kernel->arena, kernel->body, &pass);
    remainders_near_ends(kernel);
}
