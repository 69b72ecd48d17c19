/* collect.c - the conditions of some statements, for version.c: guards, those of padded reads, and those under which an
 * index is another one; at which of their loops each is ready, and what it is there in the worst case.
 *
 * Needs statements before they are unrolled. Conditions that would make copies for little are dropped here.
 */
#include "lower/kernel/passes/version.h"

static const Stmt *loop_of(const Version *v, const Var *var) {
    for (int i = 0; i < v->inner.count; i++)
        if (v->inner.items[i]->var == var)
            return v->inner.items[i];
    return NULL;
}

/* Notes how a variable of a loop inside affects a condition. */
static void note_inner_var(const Version *v, const Var *var, Condition *c) {
    const Stmt *loop = loop_of(v, var);
    if (!loop)
        return;
    c->masked |= loop->masked;
    bool expanded = loop_kind_is_expanded(loop->loop);
    c->uniform = false;
    c->ready &= expanded || (!c->guard && var->reduction);
    c->waits |= !expanded && !var->reduction;
}

static const Stmt *innermost(const Version *v) {
    return v->inner.count ? v->inner.items[v->inner.count - 1] : NULL;
}

static Condition *known_condition(const Version *v, const Expr *expr, uint64_t key) {
    for (int i = 0; i < v->found.count; i++)
        if (v->found.items[i].key == key && expr_equal(v->found.items[i].expr, expr))
            return &v->found.items[i];
    return NULL;
}

/* Many reads have one condition, and to set its variables takes long: where it stands beside the first of them it is
 * ready when that is. */
static void add_condition(Version *v, Expr *expr, bool guard, bool index, bool cheap) {
    Condition c = {.expr = expr,
                   .key = expr_key(expr),
                   .guard = guard,
                   .index = index,
                   .cheap = cheap,
                   .ready = true,
                   .uniform = true,
                   .inside = innermost(v)};
    Condition *known = known_condition(v, expr, c.key);
    if (known) {
        known->index &= index;
        known->cheap &= cheap;
    }
    if (known && known->guard == guard && known->inside == c.inside)
        return;
    bool reads = expr_reads(expr); /* what it reads may not exist yet, or only under other conditions */
    EACH_EXPR(e, expr)
        if (e->kind == EXPR_VAR)
            note_inner_var(v, e->var, &c);
    if (reads || c.masked || ((guard || index) && c.uniform)) /* a uniform guard is placed already */
        return;
    if (v->uniform_only && !c.uniform)
        return;
    bool asked = c.ready && (!known || known->ready);
    c.test = asked ? extreme_case(v->arena, expr, v->vars.items, v->vars.count, true) : NULL;
    int64_t holds;
    c.ready = c.test && (!expr_is_int(c.test, &holds) || holds); /* a test that never holds gives no copy */
    if (!known) {
        list_push(v->arena, &v->found, c);
        return;
    }
    known->ready &= c.ready;
    known->waits |= c.waits;
    known->uniform &= c.uniform;
}

static void add_conditions(Version *v, Expr *condition, bool guard) {
    ExprList all = {0};
    conjuncts_add(v->arena, &all, condition);
    for (int i = 0; i < all.count; i++)
        add_condition(v, all.items[i], guard, false, false);
}

static bool is_listed(const Version *v, const ExprList *conditions) {
    for (int i = 0; i < v->indices.count; i++) {
        const ExprList *known = &v->indices.items[i];
        bool same = known->count == conditions->count;
        for (int c = 0; c < conditions->count && same; c++)
            same = expr_equal(known->items[c], conditions->items[c]);
        if (same)
            return true;
    }
    return false;
}

/* What must hold for all values of the loops inside. */
static void add_near_tests(Version *v, const ExprList *near) {
    for (int i = 0; i < near->count; i++) {
        Expr *test = extreme_case(v->arena, near->items[i], v->vars.items, v->vars.count, true);
        int64_t holds = 1;
        bool known = test && expr_is_int(test, &holds);
        v->is_far |= !test || !holds;
        if (test && !known && !expr_is_listed(&v->near, test))
            list_push(v->arena, &v->near, test);
    }
}

/* Whether lanes at the ends are fetched one by one, as no mask leaves out the others. */
static bool fetches_ends(const Version *v, const Expr *read) {
    return !v->target || !target_masks(v->target, element_info[read->type].bytes);
}

/* Whether an index of the read is one number for all lanes, and taken back inside by a minimum or maximum. Where lanes
 * at the ends are fetched one by one, which is long code, also by a remainder of a known size. */
static bool is_cheap(const Version *v, const Expr *read, const Expr *index) {
    bool fetches = fetches_ends(v, read);
    for (int i = 0; i < v->inner.count; i++)
        if (v->inner.items[i]->loop == LOOP_VECTORIZED && expr_uses_var(index, v->inner.items[i]->var))
            return false;
    EACH_EXPR(e, index)
        if (expr_is_op(e, OP_MOD) && (e->args[1]->kind != EXPR_INT || !fetches))
            return false;
    return true;
}

/* Many reads have one index. In a reduction there are copies for some of its terms: not of long code. */
static void add_index_conditions(Version *v, const Expr *read) {
    for (int d = 0; d < read->count && !(v->reduces && fetches_ends(v, read)); d++) {
        ExprList conditions, near;
        bool cheap = is_cheap(v, read, read->args[d]);
        if ((cheap && fetches_ends(v, read)) || !index_within(v->scratch, read->args[d], &conditions, NULL))
            continue;
        v->fetches |= fetches_ends(v, read);
        if (!is_listed(v, &conditions)) {
            index_within(v->arena, read->args[d], &conditions, &near);
            list_push(v->arena, &v->indices, conditions);
            add_near_tests(v, &near);
        }
        for (int i = 0; i < conditions.count; i++)
            add_condition(v, conditions.items[i], false, true, cheap);
    }
}

static void add_read_conditions(Version *v, const Stmt *stmt) {
    EACH_STMT_READ(read, stmt) {
        if (read->guard)
            add_conditions(v, read->guard, false);
        add_index_conditions(v, read);
    }
}

static void collect(Version *v, Stmt *stmt, int64_t copies) {
    int64_t extent = 1;
    if (!v->only_size)
        add_read_conditions(v, stmt);
    if (stmt->kind == STMT_IF && !v->only_size)
        add_conditions(v, stmt->condition, true);
    if (stmt->kind == STMT_STORE)
        v->size += copies;
    if (stmt->kind == STMT_FOR) {
        v->loops = true;
        v->serial |= !loop_kind_is_expanded(stmt->loop);
        list_push(v->arena, &v->inner, stmt);
        list_push(v->arena, &v->vars, stmt->var);
        list_push(v->arena, &v->all, stmt);
        if (stmt->loop != LOOP_UNROLLED || !expr_is_int(stmt->extent, &extent) || extent > EXACT_BUDGET)
            extent = 1;
    }
    for (int i = 0; i < stmt->count; i++)
        collect(v, stmt->body[i], copies > EXACT_BUDGET ? copies : copies * extent);
    for (int i = 0; i < stmt->otherwise_count; i++)
        collect(v, stmt->otherwise[i], copies);
    v->inner.count -= stmt->kind == STMT_FOR;
    v->vars.count -= stmt->kind == STMT_FOR;
}

static bool all_ready(const Version *v, const ExprList *conditions) {
    for (int i = 0; i < conditions->count; i++) {
        const Condition *known = known_condition(v, conditions->items[i], expr_key(conditions->items[i]));
        if (!known || !known->ready)
            return false;
    }
    return true;
}

/* Conditions that would make copies for little. Those that always hold make none. */
static void drop_cheap_conditions(Version *v) {
    for (int i = 0; i < v->found.count; i++) {
        const Condition *c = &v->found.items[i];
        if (c->ready && !c->cheap && !expr_is_int(c->test, NULL))
            return;
    }
    for (int i = 0; i < v->found.count; i++) {
        Condition *c = &v->found.items[i];
        c->ready = c->ready && (!c->cheap || expr_is_int(c->test, NULL));
    }
}

/* An index is another one only where all of its conditions hold: without one of them the others are of no use. */
static void drop_lone_conditions(Version *v) {
    ExprList used = {0};
    for (int i = 0; i < v->indices.count; i++) {
        const ExprList *own = &v->indices.items[i];
        int count = all_ready(v, own) ? own->count : 0;
        for (int c = 0; c < count; c++)
            list_push(v->arena, &used, own->items[c]);
    }
    for (int i = 0; i < v->found.count; i++)
        v->found.items[i].ready &= !v->found.items[i].index || expr_is_listed(&used, v->found.items[i].expr);
}

void version_collect(Version *v, Stmt *const *stmts, int count) {
    v->scratch = v->only_size ? NULL : arena_new();
    for (int i = 0; i < count; i++)
        collect(v, stmts[i], 1);
    arena_free(v->scratch);
    v->scratch = NULL;
    drop_lone_conditions(v);
    drop_cheap_conditions(v);
    drop_lone_conditions(v); /* some indices have both kinds */
}
