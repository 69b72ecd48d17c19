/* guards.c - pass: conditions leave the loops that they would slow down.
 *
 * Needs what build made, indices not yet simplified. Three steps:
 *   tighten  A condition moves out of loops that it does not depend on, and into the bounds of a serial loop that it
 *            cuts short: for i in 0:min(4, M - io * 4). A loop over v under v == e is no loop.
 *   version  The remaining conditions hold in most iterations. Where their outer variables are bound:
 *            `if (it holds for all values of the inner loops) { no condition } else { as before }`, one test for all
 *            conditions and two copies. When sizes are known the second copy is the one last tile, with exact extents.
 *            A serial loop around the test is cut in two instead. Conditions of padded reads are treated the same way.
 *   finish   In the second copy a guard of a store into a register buffer becomes a guard of the reads: the element
 *            exists in the buffer, and nobody reads it.
 */
#include "lower/kernel/passes/guards.h"
#include "lower/kernel/passes/passes.h"

/* --- tighten ------------------------------------------------------------------------------------------------------ */

static bool is_plain_if(const Stmt *stmt) {
    return stmt->kind == STMT_IF && stmt->otherwise_count == 0;
}

/* The IF that is the whole body of an IF, or NULL. */
static Stmt *only_if(const Stmt *stmt) {
    return stmt->count == 1 && is_plain_if(stmt->body[0]) ? stmt->body[0] : NULL;
}

/* The conditions of a statement; kept: only those of predicates. */
static ExprList conditions_of(Arena *arena, const Stmt *stmt, bool kept) {
    ExprList list = {0};
    if (!is_plain_if(stmt))
        return list;
    for (; stmt; stmt = only_if(stmt))
        if (stmt->keeps || !kept)
            conjuncts_add(arena, &list, stmt->condition);
    return list;
}

/* Conditions that all statements of a body have. */
static ExprList common_conditions(Arena *arena, const StmtList *body) {
    ExprList common = {0}, kept;
    bool first = true;
    for (int i = 0; i < body->count; i++) {
        if (body->items[i]->kind == STMT_PREFETCH)
            continue; /* useless where nothing else is done */
        ExprList own = conditions_of(arena, body->items[i], false);
        kept = (ExprList){0};
        for (int c = 0; c < own.count; c++)
            if (first || expr_is_listed(&common, own.items[c]))
                list_push(arena, &kept, own.items[c]);
        common = kept;
        first = false;
    }
    return common;
}

static Stmt *without_own(Arena *arena, Stmt *stmt, void *context) {
    const ExprList *conditions = context;
    ExprList own = {0}, left = {0};
    if (stmt->kind == STMT_PREFETCH)
        return stmt;
    conjuncts_add(arena, &own, stmt->condition);
    for (int c = 0; c < own.count; c++)
        if (!expr_is_listed(conditions, own.items[c]))
            list_push(arena, &left, own.items[c]);
    StmtList body = stmts_of(stmt->body, stmt->count);
    if (only_if(stmt))
        body = stmts_map(arena, stmt->body, stmt->count, without_own, context);
    return stmt_if_like(arena, stmt, conjunction(arena, &left), body, (StmtList){0});
}

/* The body without conditions that are now around it. */
static StmtList without_conditions(Arena *arena, const StmtList *body, const ExprList *conditions) {
    return stmts_map(arena, body->items, body->count, without_own, (void *)conditions);
}

/* Puts conditions of a body around a statement; those of predicates go inside, in an IF of their own. */
static Stmt *under_conditions(Arena *arena, Stmt *stmt, const ExprList *conditions, const StmtList *body, Loc loc) {
    ExprList lists[2] = {{0}, {0}};
    for (int c = 0; c < conditions->count; c++) {
        bool keeps = false;
        for (int i = 0; i < body->count && !keeps; i++) {
            ExprList kept = conditions_of(arena, body->items[i], true);
            keeps = expr_is_listed(&kept, conditions->items[c]);
        }
        list_push(arena, &lists[keeps], conditions->items[c]);
    }
    for (int keeps = 1; keeps >= 0; keeps--) {
        Stmt like = {.keeps = keeps, .loc = loc};
        stmt = stmt_if_like(arena, &like, conjunction(arena, &lists[keeps]), stmts_one(arena, stmt), (StmtList){0});
    }
    return stmt;
}

/* The extent of a loop where the condition a * var + rest < limit holds, a > 0. NULL when the condition has another
 * form, or an unrolled loop would lose its constant extent. */
static Expr *cut_extent(Arena *arena, const Stmt *loop, Expr *extent, Expr *condition) {
    Expr *first;
    if (loop->loop == LOOP_VECTORIZED || loop->loop == LOOP_TENSORIZED || loop_kind_is_bound(loop->loop) ||
        !first_failure(arena, condition, loop->var, &first))
        return NULL;
    Expr *cut = expr_compact(arena, expr_binary(arena, OP_MIN, extent, first));
    if (loop->loop == LOOP_UNROLLED && !expr_is_int(cut, NULL))
        return NULL;
    return cut;
}

/* The extent of an unrolled loop beyond which a condition holds for no value of the loops inside: 16 * ju + jl < 6
 * leaves one value of ju. The condition stays. */
static Expr *shrunk_extent(Arena *arena, const Stmt *loop, const StmtList *body, Expr *extent, Expr *condition) {
    LIST(const Var *) inner = {0};
    Expr *first, *best = NULL;
    EACH_STMT_OF(s, body->items, body->count)
        if (s->kind == STMT_FOR)
            list_push(arena, &inner, s->var);
    if (loop->loop == LOOP_UNROLLED)
        best = extreme_case(arena, condition, inner.items, inner.count, false);
    if (!best || !first_failure(arena, best, loop->var, &first))
        return extent;
    Expr *cut = expr_compact(arena, expr_binary(arena, OP_MIN, extent, first));
    return expr_is_int(cut, NULL) ? cut : extent;
}

/* Whether the guard and the ranges of the variables keep the read inside its tensor. */
static bool is_inside_by_guard(Arena *arena, const Expr *read) {
    ExprList known = {0};
    if (read->guard)
        conjuncts_add(arena, &known, read->guard);
    Facts facts = {known.count, known.items};
    for (int d = 0; d < read->count; d++) {
        Expr *bounds[2];
        index_bounds(arena, read->tensor, d, read->args[d], bounds);
        for (int i = 0; i < 2; i++)
            if (expr_prove(arena, bounds[i], &facts) != 1)
                return false;
    }
    return true;
}

/* For expr_rewrite: reads that may be outside touch memory only where the condition, the context, holds. */
static Expr *read_under(Arena *arena, Expr *e, void *context) {
    if (e->kind != EXPR_READ || is_inside_by_guard(arena, e))
        return e;
    Expr *read = expr_copy(arena, e);
    read->guard = expr_and(arena, context, e->guard);
    return read;
}

/* An IF, and those that are all its body, whose conditions read nothing outside where the context fails: they may come
 * to stand in one conjunction with it, and all of a conjunction is computed. */
static Stmt *conditions_under(Arena *arena, Stmt *stmt, void *context) {
    if (!is_plain_if(stmt))
        return stmt;
    StmtList body = stmts_of(stmt->body, stmt->count);
    if (only_if(stmt))
        body = stmts_map(arena, stmt->body, stmt->count, conditions_under, context);
    return stmt_if_like(arena, stmt, expr_rewrite(arena, stmt->condition, read_under, context), body, (StmtList){0});
}

/* for v in 0:n { if a * v == e { body } } as if e % a == 0 && 0 <= e / a && e / a < n { body at v = e / a }. Not in
 * lanes: there e may differ, and lanes would read at values that v never has. */
static Stmt *only_iteration(Arena *arena, const Stmt *loop, const StmtList *body, const ExprList *common) {
    Expr *numerator, *condition = NULL;
    int64_t slope;
    int which = 0;
    while (which < common->count && !equal_value(arena, common->items[which], loop->var, &numerator, &slope))
        which++;
    if (which == common->count || stores_registers(body->items, body->count) /* constant indices */ || loop->in_lanes)
        return NULL;
    Expr *divisor = expr_int(arena, slope), *zero = expr_int(arena, 0);
    Expr *value = expr_compact(arena, expr_binary(arena, OP_DIV, numerator, divisor));
    if (slope != 1)
        condition = expr_binary(arena, OP_EQ, expr_binary(arena, OP_MOD, numerator, divisor), zero);
    condition = expr_and(arena, condition, expr_binary(arena, OP_GE, value, zero));
    condition = expr_and(arena, condition, expr_binary(arena, OP_LT, value, loop->extent));
    StmtList inner = without_conditions(arena, body, &(ExprList){common->items + which, 1, 1});
    inner = stmts_substitute(arena, inner, loop->var, value);
    if (expr_prove(arena, condition, &(Facts){0}) != 1)
        inner = stmts_map(arena, inner.items, inner.count, conditions_under, condition);
    return stmt_if_like(arena, &(Stmt){.keeps = true, .loc = loop->loc}, condition, inner, (StmtList){0});
}

/* The loop from `first` on, counted from 0, and its conditions. */
static Stmt *loop_from(Arena *arena, const Stmt *loop, Expr *first, Expr *extent, const StmtList *body) {
    if (!first)
        return stmt_for_like(arena, loop, extent, *body);
    Var *var = ARENA_NEW(arena, Var);
    *var = *loop->var;
    Expr *moved = expr_binary(arena, OP_ADD, expr_var(arena, var), first);
    StmtList shifted = stmts_substitute(arena, *body, loop->var, moved);
    Expr *left = expr_compact(arena, expr_binary(arena, OP_SUB, extent, first));
    return stmt_for(arena, var, left, loop->loop, shifted, loop->loc);
}

/* Where a serial loop begins under a condition; NULL if the condition does not tell. */
static Expr *cut_begin(Arena *arena, const Stmt *loop, Expr *begin, Expr *condition) {
    Expr *first;
    if (loop->loop != LOOP_SERIAL || !first_success(arena, condition, loop->var, &first))
        return NULL;
    Expr *known = begin ? begin : expr_int(arena, 0);
    return expr_compact(arena, expr_binary(arena, OP_MAX, known, first));
}

/* Whether a condition may leave a loop. One that reads may not if the loop may have no values: nothing may be there. */
static bool may_leave(Arena *arena, const Stmt *loop, Expr *condition) {
    return !expr_reads(condition) ||
           expr_prove(arena, expr_binary(arena, OP_GE, loop->extent, expr_int(arena, 1)), &(Facts){0}) == 1;
}

/* What a body stores to buffers from outside it. */
typedef struct Effects {
    Arena *arena;
    LIST(const Var *) loops; /* the loop, and those in its body around the current statement */
    Tensors own;             /* allocated in the body */
    Tensors written;         /* these, and what is stored in the body */
    ExprList path;           /* conditions around the current statement */
    ExprList needed;         /* conditions that hold, for some values of these loops, at every store */
    bool any, other;         /* there are stores; there are other effects */
} Effects;

static void note_effect(Effects *effects) {
    ExprList kept = {0};
    for (int i = 0; i < effects->path.count; i++) {
        Expr *steady = steady_condition(effects->arena, effects->path.items[i], effects->loops.items,
                                        effects->loops.count, &effects->written);
        Expr *easiest =
            !steady ? NULL
                    : extreme_case(effects->arena, steady, effects->loops.items + 1, effects->loops.count - 1, false);
        if (easiest && (!effects->any || expr_is_listed(&effects->needed, easiest)))
            list_push(effects->arena, &kept, easiest);
    }
    effects->needed = kept;
    effects->any = true;
}

static void note_effects(Effects *effects, Stmt *stmt) {
    int loops = effects->loops.count, own = effects->own.count, path = effects->path.count;
    effects->other |= stmt->kind == STMT_CHECK;
    if (stmt->kind == STMT_FOR)
        list_push(effects->arena, &effects->loops, stmt->var);
    if (stmt->kind == STMT_ALLOCATE)
        list_push(effects->arena, &effects->own, stmt->tensor);
    if (stmt->kind == STMT_IF)
        conjuncts_add(effects->arena, &effects->path, stmt->condition);
    if (stmt->kind == STMT_STORE && !has_tensor(&effects->own, stmt->tensor))
        note_effect(effects);
    for (int i = 0; i < stmt->count; i++)
        note_effects(effects, stmt->body[i]);
    effects->path.count = path;
    for (int i = 0; i < stmt->otherwise_count; i++)
        note_effects(effects, stmt->otherwise[i]);
    effects->loops.count = loops;
    effects->own.count = own;
}

/* Cuts a serial loop to the part that stores something. A tile computed in registers and stored where it is inside may
 * store nothing; a reduction under conditions read from memory may have few terms. */
static void cut_to_useful(Arena *arena, const Stmt *loop, const StmtList *body, Expr **begin, Expr **extent) {
    Effects effects = {.arena = arena};
    if (loop->loop != LOOP_SERIAL)
        return;
    list_push(arena, &effects.loops, loop->var);
    EACH_STMT_OF(s, body->items, body->count)
        if (s->kind == STMT_STORE || s->kind == STMT_ALLOCATE)
            list_push(arena, &effects.written, s->tensor);
    for (int i = 0; i < body->count; i++)
        note_effects(&effects, body->items[i]);
    for (int i = 0; i < effects.needed.count && !effects.other; i++) {
        Expr *condition = effects.needed.items[i], *cut;
        if (!expr_uses_var(condition, loop->var) || (loop->var->reduction && !expr_reads(condition)))
            continue;
        if ((cut = cut_extent(arena, loop, *extent, condition)))
            *extent = cut;
        else if (loop->var->reduction && (cut = cut_begin(arena, loop, *begin, condition)))
            *begin = cut;
    }
}

static Stmt *tighten_for(Arena *arena, Stmt *loop, StmtList body) {
    ExprList common = common_conditions(arena, &body), moved = {0}, outside = {0};
    Stmt *only = only_iteration(arena, loop, &body, &common);
    if (only)
        return only;
    Expr *extent = loop->extent, *begin = NULL;
    for (int i = 0; i < common.count; i++) {
        Expr *condition = common.items[i], *cut;
        if (!expr_uses_var(condition, loop->var)) {
            if (!may_leave(arena, loop, condition))
                continue;
            list_push(arena, &outside, condition);
            list_push(arena, &moved, condition);
        } else if ((cut = cut_extent(arena, loop, extent, condition))) {
            extent = cut;
            list_push(arena, &moved, condition);
        } else if ((cut = cut_begin(arena, loop, begin, condition))) {
            begin = cut;
            list_push(arena, &moved, condition);
        } else {
            extent = shrunk_extent(arena, loop, &body, extent, condition);
        }
    }
    cut_to_useful(arena, loop, &body, &begin, &extent);
    StmtList whole = body;
    if (moved.count)
        body = without_conditions(arena, &body, &moved);
    Stmt *made = extent == loop->extent && !begin ? stmt_with_bodies(arena, loop, body, (StmtList){0})
                                                  : loop_from(arena, loop, begin, extent, &body);
    return made && outside.count ? under_conditions(arena, made, &outside, &whole, loop->loc) : made;
}

/* allocate t { if c { body } } as if c { allocate t { body } }. */
static Stmt *tighten_allocate(Arena *arena, Stmt *allocate, StmtList body) {
    ExprList common = common_conditions(arena, &body);
    if (!common.count)
        return stmt_with_bodies(arena, allocate, body, (StmtList){0});
    StmtList inner = without_conditions(arena, &body, &common);
    Stmt *made = stmt_allocate(arena, allocate->tensor, inner);
    return under_conditions(arena, made, &common, &body, allocate->loc);
}

static Stmt *tighten(Arena *arena, Stmt *stmt, void *context) {
    (void)context;
    StmtList body = tighten_body(arena, stmt->body, stmt->count);
    if (stmt->kind == STMT_FOR)
        return tighten_for(arena, stmt, body);
    if (stmt->kind == STMT_ALLOCATE)
        return tighten_allocate(arena, stmt, body);
    StmtList otherwise = tighten_body(arena, stmt->otherwise, stmt->otherwise_count);
    Stmt *made = stmt_with_bodies(arena, stmt, body, otherwise);
    if (!made || !is_plain_if(made) || !only_if(made) || made->keeps != only_if(made)->keeps)
        return made;
    Stmt *inner = made->body[0];
    Expr *both = expr_and(arena, made->condition, inner->condition);
    return stmt_if_like(arena, made, both, stmts_of(inner->body, inner->count), (StmtList){0});
}

StmtList tighten_body(Arena *arena, Stmt *const *body, int count) {
    return stmts_map(arena, body, count, tighten, NULL);
}

/* --- finish ------------------------------------------------------------------------------------------------------- */

static bool index_inside(Arena *arena, const Tensor *tensor, Expr **index) {
    for (int d = 0; d < tensor->rank; d++) {
        int64_t extent;
        Interval range = expr_interval(expr_simplify(arena, index[d]));
        if (!expr_is_int(tensor->dims[d], &extent) || !range.has_low || !range.has_high || range.low < 0 ||
            range.high >= extent)
            return false;
    }
    return true;
}

typedef struct SafeSearch {
    Arena *arena;
    ExprList conditions; /* of the IFs inside */
} SafeSearch;

/* Whether the condition reads what may have been filled under the guard alone: elements of a copy, or of a stage. */
static bool reads_computed(const Expr *condition) {
    EACH_READ(read, condition)
        if (read->tensor->role == ROLE_TEMPORARY)
            return true;
    return false;
}

/* Whether everything under a guard stores inside register buffers, in loops that become copies or lanes. */
static bool is_safe(SafeSearch *search, Stmt *const *stmts, int count) {
    EACH_STMT_OF(s, stmts, count) {
        bool safe = s->kind == STMT_TOGETHER; /* its stores are looked at next */
        if (s->kind == STMT_FOR)
            safe = s->loop != LOOP_SERIAL && s->loop != LOOP_PARALLEL;
        if (s->kind == STMT_STORE)
            safe = s->tensor->scope == SCOPE_REGISTER && index_inside(search->arena, s->tensor, s->index);
        if (s->kind == STMT_IF) {
            safe = s->keeps && !reads_computed(s->condition);
            conjuncts_add(search->arena, &search->conditions, s->condition);
        }
        if (!safe)
            return false;
    }
    return true;
}

static bool have_atom(const Affine *parts, const Affine *atoms) {
    for (int p = 0; p < parts->count; p++)
        for (int i = 0; i < atoms->count; i++)
            if (expr_equal(parts->terms[p].atom, atoms->terms[i].atom))
                return true;
    return false;
}

/* Each part of the index is compared in the form that atoms have: an index is as it was made, (i * 2 + 1) % 3. */
static bool uses_atom(Arena *arena, Expr *index, const Affine *atoms) {
    Affine parts;
    EACH_EXPR(e, index)
        if (!expr_affine_modular(arena, (Expr *)e, &parts) || have_atom(&parts, atoms))
            return true;
    return false;
}

/* Whether the index depends on anything in the condition. If not, the condition does not keep it inside: an index that
 * a split of another dimension does not touch is the same in its last tile. A condition about nothing is decided for
 * all that is under it. */
static bool concerns(Arena *arena, Expr *condition, Expr *const *index, int count) {
    Affine sides[2];
    for (int side = 0; side < 2; side++) {
        if (condition->kind != EXPR_OP || !expr_affine_modular(arena, condition->args[side], &sides[side]))
            return true;
        for (int d = 0; d < count; d++)
            if (uses_atom(arena, index[d], &sides[side]))
                return true;
    }
    return sides[0].count + sides[1].count == 0;
}

/* Whether an index is a number that may be outside. Loops of the last tile that have one value left are numbers: then
 * the index and the condition may have had these in common, and nothing tells any more. */
static bool has_fixed_index(Arena *arena, const Expr *read) {
    for (int d = 0; d < read->count; d++) {
        int64_t index;
        Expr *bounds[2];
        if (!expr_is_int(expr_simplify(arena, read->args[d]), &index))
            continue;
        index_bounds(arena, read->tensor, d, read->args[d], bounds);
        for (int i = 0; i < 2; i++)
            if (expr_prove(arena, bounds[i], &(Facts){0}) != 1)
                return true;
    }
    return false;
}

static bool reads_under(Arena *arena, const Expr *guard, const Expr *condition) {
    EACH_EXPR(e, guard) {
        ExprList own = {0};
        if (e->kind == EXPR_READ && e->guard)
            conjuncts_add(arena, &own, e->guard);
        if (expr_is_listed(&own, condition))
            return true;
    }
    return false;
}

/* A guard may itself read what only exists where the condition holds, even if it keeps a read that is inside anyway. */
static bool concerns_guard(Arena *arena, Expr *condition, Expr *guard) {
    return guard && expr_reads(guard) &&
           (reads_under(arena, guard, condition) || concerns(arena, condition, &guard, 1));
}

/* Conditions that an IF drops, and predicates that stay, inside and around it. Together they imply more than alone. */
typedef struct Finish {
    ExprList dropped;
    ExprList kept;
} Finish;

/* loops: shares a loop variable; else a size or scalar. */
static bool share_variable(const Expr *a, const Expr *b, bool loops) {
    EACH_EXPR(e, a)
        if (e->kind == EXPR_VAR && (e->var->kind == VAR_LOOP) == loops && expr_uses_var(b, e->var))
            return true;
    return false;
}

/* Whether a kept condition, together with the dropped one about the same loops, says something of the read: j by j < i,
 * or N by i == 5, where i < N is dropped. */
static bool concerns_by(const Expr *kept, const Expr *dropped, const Expr *read) {
    if (!share_variable(kept, dropped, true))
        return false;
    for (int d = 0; d < read->count; d++)
        if (share_variable(kept, read->args[d], true) || share_variable(dropped, read->tensor->dims[d], false))
            return true;
    return false;
}

/* Adds to the guard the dropped conditions about loops that it uses: together they say more. */
static void guard_by_loops(Arena *arena, const Finish *finish, Expr *read) {
    for (int i = 0; i < finish->dropped.count && read->guard; i++) {
        ExprList known = {0};
        conjuncts_add(arena, &known, read->guard);
        if (expr_is_listed(&known, finish->dropped.items[i]) ||
            !share_variable(read->guard, finish->dropped.items[i], true))
            continue;
        read->guard = expr_and(arena, read->guard, finish->dropped.items[i]);
        i = -1; /* earlier ones may use its loops */
    }
}

static Expr *guard_read(Arena *arena, Expr *e, void *context) {
    const Finish *finish = context;
    if (e->kind != EXPR_READ)
        return e;
    bool inside = index_inside(arena, e->tensor, e->args);
    if (inside && !e->guard)
        return e;
    Expr *read = expr_copy(arena, e);
    bool fixed = !inside && has_fixed_index(arena, e);
    for (int i = 0; i < finish->dropped.count; i++) {
        Expr *dropped = finish->dropped.items[i];
        bool needed = concerns_guard(arena, dropped, e->guard) ||
                      (!inside && (fixed || concerns(arena, dropped, e->args, e->count)));
        for (int k = 0; k < finish->kept.count && !inside && !needed; k++)
            needed = concerns_by(finish->kept.items[k], dropped, e);
        if (needed)
            read->guard = expr_and(arena, read->guard, dropped);
    }
    if (!inside && !is_inside_by_guard(arena, read))
        guard_by_loops(arena, finish, read);
    return read;
}

bool uses_reduction(const Expr *e) {
    EACH_EXPR(at, e)
        if (at->kind == EXPR_VAR && at->var->reduction)
            return true;
    return false;
}

/* around: the conditions of the IFs around it. */
static Stmt *finish_if(Arena *arena, Stmt *stmt, const ExprList *around) {
    SafeSearch search = {.arena = arena};
    if (!is_safe(&search, stmt->body, stmt->count) || stmt->keeps)
        return stmt;
    ExprList all = {0}, kept = {0};
    Finish finish = {.kept = search.conditions};
    for (int i = 0; i < around->count; i++)
        list_push(arena, &finish.kept, around->items[i]);
    conjuncts_add(arena, &all, stmt->condition);
    for (int i = 0; i < all.count; i++) {
        if (uses_reduction(all.items[i]))
            list_push(arena, &kept, all.items[i]);
        else
            list_push(arena, &finish.dropped, all.items[i]);
    }
    if (!finish.dropped.count)
        return stmt;
    for (int i = 0; i < kept.count; i++)
        list_push(arena, &finish.kept, kept.items[i]);
    StmtList body = stmts_rewrite(arena, stmts_of(stmt->body, stmt->count), guard_read, &finish);
    return stmt_if(arena, conjunction(arena, &kept), body, (StmtList){0}, stmt->loc);
}

static StmtList finish_body(Arena *arena, Stmt *const *body, int count, ExprList *around) {
    StmtList list = {0};
    for (int i = 0; i < count; i++) {
        int outer = around->count;
        if (body[i]->kind == STMT_IF)
            conjuncts_add(arena, around, body[i]->condition);
        StmtList inner = finish_body(arena, body[i]->body, body[i]->count, around);
        StmtList otherwise = finish_body(arena, body[i]->otherwise, body[i]->otherwise_count, around);
        around->count = outer;
        Stmt *made = stmt_with_bodies(arena, body[i], inner, otherwise);
        stmts_add(arena, &list, made && is_plain_if(made) ? finish_if(arena, made, around) : made);
    }
    return list;
}

void pass_guards(Kernel *kernel) {
    Arena *arena = kernel->arena;
    StmtList body = tighten_body(arena, kernel->body->body, kernel->body->count);
    body = version_body(kernel, &body);
    body = finish_body(arena, body.items, body.count, &(ExprList){0});
    kernel->body = stmt_block(arena, body);
}
