/* resolve.c - rewrites expressions over a statement's index variables into values of a stage, over its axes.
 *
 * Axes count from 0. edge, wrap and reflect become arithmetic on the index. A read that is inside only because of its
 * conditions gets an `otherwise`.
 */
#include "sema/check.h"

static Expr *resolve(Statement *s, Expr *e, bool in_index);

static Expr *axis_value(Statement *s, const IndexVariable *index) {
    Arena *arena = s->builder->arena;
    return expr_binary(arena, OP_ADD, expr_var(arena, index->axis), index->low);
}

static Expr *resolve_var(Statement *s, Expr *e) {
    for (int i = 0; i < s->indices.count; i++) {
        const IndexVariable *index = s->indices.items[i];
        if (index->raw == e->var)
            return index->axis == index->raw ? e : axis_value(s, index);
    }
    return e;
}

/* --- indices outside --- */

/* 0 1 2 3 | 3 3 .. */
static Expr *edge_index(Arena *arena, Expr *index, Expr *extent) {
    Expr *last = expr_binary(arena, OP_SUB, extent, expr_int(arena, 1));
    return expr_binary(arena, OP_MAX, expr_int(arena, 0), expr_binary(arena, OP_MIN, index, last));
}

/* 0 1 2 3 | 0 1 .. */
static Expr *wrap_index(Arena *arena, Expr *index, Expr *extent) {
    return expr_binary(arena, OP_MOD, index, extent);
}

/* 0 1 2 3 | 2 1 0 1 ..: the last element is not repeated. The period is 2 * (extent - 1), or 1 if that is 0. */
static Expr *reflect_index(Arena *arena, Expr *index, Expr *extent) {
    Expr *period =
        expr_binary(arena, OP_MUL, expr_int(arena, 2), expr_binary(arena, OP_SUB, extent, expr_int(arena, 1)));
    Expr *forward = expr_binary(arena, OP_MOD, index, expr_binary(arena, OP_MAX, period, expr_int(arena, 1)));
    return expr_binary(arena, OP_MIN, forward, expr_binary(arena, OP_SUB, period, forward));
}

static Expr *outside_index(Arena *arena, ElseMode mode, Expr *index, Expr *extent) {
    static Expr *(*const modes[])(Arena *, Expr *, Expr *) = {
        [ELSE_EDGE] = edge_index, [ELSE_WRAP] = wrap_index, [ELSE_REFLECT] = reflect_index};
    return modes[mode](arena, index, extent);
}

/* --- reads --- */

static const ReadSite *site_of(const Statement *s, const Expr *read) {
    for (int i = 0; i < s->sites.count; i++)
        if (s->sites.items[i]->read == read)
            return s->sites.items[i];
    return NULL;
}

static Expr *resolve_read(Statement *s, Expr *e) {
    Arena *arena = s->builder->arena;
    const ReadSite *site = site_of(s, e);
    Expr **indices = ARENA_ARRAY(arena, Expr *, e->count);
    for (int d = 0; d < e->count; d++) {
        indices[d] = resolve_value(s, e->args[d]);
        if (site && site->has_else && site->mode != ELSE_VALUE && !site->assured[d])
            indices[d] = outside_index(arena, site->mode, indices[d], site->view.dims[d]);
    }
    Expr *otherwise = e->otherwise ? resolve_value(s, e->otherwise) : NULL;
    if (site && site->never_outside && !site->guarded)
        otherwise = NULL;
    if (!otherwise && site && site->guarded)
        otherwise = expr_constant(arena, e->type, 0);
    Expr *read = expr_read(arena, e->tensor, indices, otherwise);
    read->loc = e->loc;
    return read;
}

static Expr *resolve_parts(Statement *s, Expr *e) {
    Arena *arena = s->builder->arena;
    Expr **args = ARENA_ARRAY(arena, Expr *, e->count);
    bool changed = false;
    for (int i = 0; i < e->count; i++) {
        args[i] = resolve(s, e->args[i], e->type == TYPE_INT64);
        changed |= args[i] != e->args[i];
    }
    if (!changed)
        return e;
    Expr *made =
        e->kind == EXPR_CAST ? expr_cast(arena, e->type, args[0]) : expr_op(arena, e->op, e->type, args, e->count);
    if (made->loc.file == 0)
        made->loc = e->loc;
    return made;
}

/* An index expression is brought to normal form as a whole. */
static Expr *resolve(Statement *s, Expr *e, bool in_index) {
    switch (e->kind) {
    case EXPR_VAR: e = resolve_var(s, e); break;
    case EXPR_READ: return resolve_read(s, e);
    case EXPR_OP:
    case EXPR_CAST: e = resolve_parts(s, e); break;
    default: return e;
    }
    return e->type == TYPE_INT64 && !in_index && e->kind == EXPR_OP ? size_normal(s->builder->arena, e) : e;
}

Expr *resolve_value(Statement *s, Expr *e) {
    return resolve(s, e, false);
}

static Expr *both(Statement *s, Expr *a, Expr *b) {
    return a ? expr_binary(s->builder->arena, OP_AND, a, b) : b;
}

Expr *resolve_conditions(Statement *s) {
    Expr *all = resolve_predicates(s);
    for (int i = 0; i < s->indices.count; i++) {
        const IndexVariable *index = s->indices.items[i];
        if (!index->place)
            continue;
        Arena *arena = s->builder->arena;
        Expr *value = size_normal(arena, expr_binary(arena, OP_SUB, resolve_value(s, index->computed), index->low));
        all = both(s, all, expr_binary(arena, OP_EQ, expr_var(arena, index->axis), value));
    }
    return all;
}

Expr *resolve_predicates(Statement *s) {
    Expr *all = NULL;
    for (int i = 0; i < s->predicates.count; i++)
        all = both(s, all, resolve_value(s, s->predicates.items[i]));
    return all;
}

/* --- conditions that always hold ---------------------------------------------------------------------------------- */

/* What is known of sizes, as conditions. */
static Facts known_facts(const Statement *s) {
    Arena *arena = s->builder->arena;
    Facts facts = {s->facts.count, ARENA_ARRAY(arena, Expr *, s->facts.count)};
    for (int i = 0; i < facts.count; i++)
        facts.facts[i] = affine_condition(arena, &s->facts.items[i]);
    return facts;
}

/* While parameters have no values, one that they and sizes decide may turn out to hold. */
static bool always_holds(Statement *s, Expr *predicate, const Facts *facts) {
    Arena *arena = s->builder->arena;
    if (is_data_dependent(predicate))
        return false;
    if (s->builder->names_only)
        return !uses_indices(s, predicate);
    return expr_prove(arena, expr_simplify(arena, resolve_value(s, predicate)), facts) == 1;
}

void drop_certain_predicates(Statement *s) {
    if (s->predicates.count == 0)
        return;
    Facts facts = known_facts(s);
    int kept = 0;
    for (int i = 0; i < s->predicates.count; i++)
        if (!always_holds(s, s->predicates.items[i], &facts))
            s->predicates.items[kept++] = s->predicates.items[i];
    s->predicates.count = kept;
}
