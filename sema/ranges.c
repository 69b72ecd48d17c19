/* ranges.c - which values each index variable takes.
 *
 * What `where` says is fixed first. Then the ranges are found in rounds. Each read A(.., e, ..) says 0 <= e < size. If
 * a variable is the only unresolved one in such constraints, it takes the largest interval that satisfies all of them,
 * for all values of the variables that were resolved before. That is how a stencil shrinks its output. A read with an
 * `else` may go outside, so it is used last, and only if its index is a bare variable. Indices that depend on data say
 * nothing.
 */
#include "sema/check.h"

#include <string.h>

/* sum >= 0 */
typedef struct Constraint {
    Affine sum;
    bool weak, used;
    ReadSite *site; /* NULL: of the left side */
    int dim;
} Constraint;

typedef struct Inference {
    Statement *statement;
    Arena *arena;
    LIST(Constraint) constraints;
    bool weak; /* reads with an else count too */
} Inference;

/* --- extremes over the domain --- */

bool uses_indices(const Statement *s, const Expr *e) {
    for (int i = 0; i < s->indices.count; i++)
        if (expr_uses_var(e, s->indices.items[i]->raw))
            return true;
    return false;
}

static bool extreme_expr(const Statement *s, Expr *e, bool largest, Affine *extreme) {
    Affine p;
    return size_affine(s->builder->arena, e, &p) && extreme_over_domain(s, &p, largest, extreme);
}

static bool never_negative(const Statement *s, const Affine *p) {
    return affine_never_negative(s->builder->arena, p, &s->facts);
}

/* x % k is in 0:k. If x is never negative, x % k is at most x. */
static bool extreme_modulo(const Statement *s, Expr *e, bool largest, Affine *extreme) {
    Arena *arena = s->builder->arena;
    if (!largest) {
        *extreme = (Affine){0, 0, NULL};
        return true;
    }
    Expr *last = expr_binary(arena, OP_SUB, e->args[1], expr_int(arena, 1));
    Affine low, high;
    if (extreme_expr(s, e->args[0], false, &low) && never_negative(s, &low) && extreme_expr(s, e->args[0], true, &high))
        last = expr_binary(arena, OP_MIN, last, affine_expr(arena, &high));
    return size_affine(arena, last, extreme);
}

/* The extreme of a factor that is not a variable but uses index variables. All these operators grow with their
 * operands. */
static bool extreme_factor(const Statement *s, Expr *e, bool largest, Affine *extreme) {
    Arena *arena = s->builder->arena;
    if (e->kind != EXPR_OP || e->count < 2 || (e->op != OP_MIN && e->op != OP_MAX && uses_indices(s, e->args[1])))
        return false;
    Affine a, b;
    switch (e->op) {
    case OP_MOD: return extreme_modulo(s, e, largest, extreme);
    case OP_DIV:
        return size_affine(arena, e->args[1], &b) && never_negative(s, &b) &&
               extreme_expr(s, e->args[0], largest, &a) &&
               size_affine(arena, expr_binary(arena, OP_DIV, affine_expr(arena, &a), e->args[1]), extreme);
    case OP_MIN:
    case OP_MAX:
        return extreme_expr(s, e->args[0], largest, &a) && extreme_expr(s, e->args[1], largest, &b) &&
               size_affine(arena, expr_binary(arena, e->op, affine_expr(arena, &a), affine_expr(arena, &b)), extreme);
    default: return false;
    }
}

static bool extreme_of_factor(const Statement *s, Expr *e, bool largest, Affine *extreme) {
    Affine p;
    if (!uses_indices(s, e) || e->kind == EXPR_VAR)
        return size_affine(s->builder->arena, e, &p) && extreme_over_domain(s, &p, largest, extreme);
    return extreme_factor(s, e, largest, extreme);
}

/* The extreme of a product. It grows with each factor if no factor is ever negative. With only one factor the sign does
 * not matter. */
static bool extreme_term(const Statement *s, const Term *term, bool largest, Affine *extreme) {
    Arena *arena = s->builder->arena;
    Affine product = {term->coefficient, 0, NULL};
    Expr **factors;
    int degree = term_factors(arena, term, &factors);
    largest = largest == (term->coefficient > 0);
    for (int f = 0; f < degree; f++) {
        Affine low, value;
        if (!extreme_of_factor(s, factors[f], largest, &value))
            return false;
        bool sign_known = degree == 1 || (extreme_of_factor(s, factors[f], false, &low) && never_negative(s, &low));
        if (!sign_known || !affine_times(arena, &product, &value, &product))
            return false;
    }
    *extreme = product;
    return true;
}

/* Whether a term uses index variables in any other way than one variable times sizes. */
static bool is_compound(const Statement *s, const Term *term) {
    Expr **factors;
    int variables = 0, degree = term_factors(s->builder->arena, term, &factors);
    for (int f = 0; f < degree; f++) {
        bool uses = uses_indices(s, factors[f]);
        if (uses && factors[f]->kind != EXPR_VAR)
            return true;
        variables += uses;
    }
    return variables > 1;
}

/* p with each compound term replaced by its extreme. */
static bool extreme_of_compounds(const Statement *s, const Affine *p, bool largest, Affine *result) {
    Arena *arena = s->builder->arena;
    *result = (Affine){p->constant, 0, NULL};
    for (int i = 0; i < p->count; i++) {
        Affine term = {0, 1, &p->terms[i]}, extreme;
        if (is_compound(s, &p->terms[i])) {
            if (!extreme_term(s, &p->terms[i], largest, &extreme))
                return false;
            term = extreme;
        }
        if (!affine_sum(arena, result, 1, &term, 1, result))
            return false;
    }
    return true;
}

/* Replaces one variable in p by one end of its range. The sign of its coefficient decides which end. */
static bool put_at_end(const Statement *s, const IndexVariable *index, bool largest, Affine *p) {
    Arena *arena = s->builder->arena;
    Affine coefficient, rest, opposite, end, product;
    if (!affine_split(arena, p, index->raw, &coefficient, &rest))
        return false;
    if (coefficient.count == 0 && coefficient.constant == 0)
        return true;
    if (!index->low || !affine_sum(arena, &coefficient, -1, &coefficient, 0, &opposite))
        return false;
    bool rises = never_negative(s, &coefficient);
    if (!rises && !never_negative(s, &opposite))
        return false;
    return size_affine(arena, rises == largest ? index->high : index->low, &end) &&
           affine_times(arena, &coefficient, &end, &product) && affine_sum(arena, &rest, 1, &product, 1, p);
}

bool extreme_over_domain(const Statement *s, const Affine *p, bool largest, Affine *extreme) {
    if (!extreme_of_compounds(s, p, largest, extreme))
        return false;
    for (int i = 0; i < s->indices.count; i++)
        if (!put_at_end(s, s->indices.items[i], largest, extreme))
            return false;
    return true;
}

/* floor(x / k) + rest >= 0 is x + k*rest >= 0; rest - floor(x / k) >= 0 is k*rest + k-1 - x >= 0. */
bool without_divisions(const Statement *s, const Affine *p, Affine *plain) {
    Arena *arena = s->builder->arena;
    *plain = *p;
    for (int i = 0; i < plain->count; i++) {
        Term term = plain->terms[i];
        const Expr *e = term.atom;
        bool fits = (term.coefficient == 1 || term.coefficient == -1) && expr_is_op(e, OP_DIV) && uses_indices(s, e) &&
                    !uses_indices(s, e->args[1]);
        if (!fits)
            continue;
        Affine quotient = {0, 1, &term}, rest, numerator, divisor, product, sum;
        if (!size_affine(arena, e->args[1], &divisor) || !never_negative(s, &divisor))
            return false;
        if (!affine_sum(arena, plain, 1, &quotient, -1, &rest) || !size_affine(arena, e->args[0], &numerator) ||
            !affine_times(arena, &rest, &divisor, &product) ||
            !affine_sum(arena, &product, 1, &numerator, term.coefficient, &sum))
            return false;
        Affine slack = {-1, 0, NULL};
        if (term.coefficient < 0 &&
            (!affine_sum(arena, &sum, 1, &divisor, 1, &sum) || !affine_sum(arena, &sum, 1, &slack, 1, &sum)))
            return false;
        *plain = sum;
        i = -1;
    }
    return true;
}

/* Reports an end of a range that depends on data or is not an integer. */
static void report_no_size(Statement *s, const AstExpr *ast, const Expr *end, const char *index) {
    ERROR(s->frame, where_not_size, ast->loc);
    if (is_data_dependent(end) && type_is_integer(end->type))
        HINT(s->frame, "conditions may depend on data: where %s in 0:N, %s < ...", index, index);
}

/* --- what where says --- */

/* An end of a where range, over sizes or also over other indices; NULL after an error, or if it is read from memory
 * (*read). */
static Expr *where_end(Statement *s, const AstExpr *ast, int clause, bool *read) {
    int known = s->indices.count, reads = s->sites.count, limit = s->let_limit;
    *read = false;
    s->let_limit = clause;
    Typed end = translate(s, ast);
    s->let_limit = limit;
    if (!end.expr)
        return NULL;
    Expr *result = NULL;
    *read = s->sites.count > reads;
    if (*read)
        ; /* what it is made of is looked at as a condition */
    else if (s->indices.count > known)
        report_index(s, s->indices.items[known]);
    else if (!end.index || end.type == TYPE_BOOL || is_data_dependent(end.expr))
        report_no_size(s, ast, end.expr, s->ast->wheres.items[clause].name.text);
    else if (expr_uses_var(end.expr, find_index(s, s->ast->wheres.items[clause].name.text)->raw))
        ERROR(s->frame, where_uses_itself, ast->loc, s->ast->wheres.items[clause].name.text);
    else if (uses_indices(s, end.expr))
        result = end.expr;
    else
        result = size_normal(s->builder->arena, end.expr);
    s->indices.count = known;
    s->sites.count = reads;
    return result;
}

/* j in 0:i + 1 is j in 0:N with the condition j < i + 1. */
static void depend_on_indices(Statement *s, IndexVariable *index, Expr *begin, Expr *end) {
    Arena *arena = s->builder->arena;
    Expr *value = expr_var(arena, index->raw);
    index->begin = begin;
    index->end = end;
    if (uses_indices(s, begin))
        list_push(arena, &s->predicates, expr_binary(arena, OP_GE, value, begin));
    if (uses_indices(s, end))
        list_push(arena, &s->predicates, expr_binary(arena, OP_LT, value, end));
}

static bool check_where_range(Statement *s, int clause) {
    const AstWhere *where = &s->ast->wheres.items[clause];
    IndexVariable *index = find_index(s, where->name.text);
    if (index->where || index->read) {
        ERROR(s->frame, where_twice, where->name.loc, where->name.text);
        return false;
    }
    bool begin_read, end_read;
    Expr *begin = where_end(s, where->begin, clause, &begin_read);
    if (!begin && !begin_read)
        return false;
    Expr *end = where_end(s, where->end, clause, &end_read);
    if (!end && !end_read)
        return false;
    index->read = begin_read || end_read;
    if (index->read)
        return true;
    Arena *arena = s->builder->arena;
    int64_t first, last;
    if (expr_is_int(begin, &first) && expr_is_int(end, &last) && last <= first) {
        WARN(s->frame, empty_range, where->loc, where->name.text);
        end = begin;
    }
    index->where = true;
    index->loc = where->loc;
    if (uses_indices(s, begin) || uses_indices(s, end)) {
        depend_on_indices(s, index, begin, end);
        return true;
    }
    index->low = begin;
    index->high = size_normal(arena, expr_binary(arena, OP_SUB, end, expr_int(arena, 1)));
    return true;
}

bool check_where(Statement *s) {
    bool good = true;
    for (int i = 0; i < s->ast->wheres.count; i++) {
        const AstWhere *where = &s->ast->wheres.items[i];
        if (where->kind == WHERE_RANGE && !find_index(s, where->name.text))
            add_index(s, where->name);
    }
    for (int i = 0; i < s->ast->wheres.count; i++) {
        const AstWhere *where = &s->ast->wheres.items[i];
        if (where->kind == WHERE_RANGE)
            good &= check_where_range(s, i);
    }
    return good;
}

/* --- constraints --- */

static void add_constraint(Inference *in, Affine sum, ReadSite *site, int dim, bool weak) {
    Constraint constraint = {.weak = weak, .site = site, .dim = dim};
    if (without_divisions(in->statement, &sum, &constraint.sum))
        list_push(in->arena, &in->constraints, constraint);
}

/* 0 <= index < extent */
static void add_constraints(Inference *in, Expr *index, Expr *extent, ReadSite *site, int dim, bool weak) {
    Arena *arena = in->arena;
    Affine low, size, high, one = {-1, 0, NULL};
    if (!size_affine(arena, index, &low) || !size_affine(arena, extent, &size) ||
        !affine_sum(arena, &size, 1, &low, -1, &high) || !affine_sum(arena, &high, 1, &one, 1, &high))
        return;
    add_constraint(in, low, site, dim, weak);
    add_constraint(in, high, site, dim, weak);
}

static void collect_site(Inference *in, ReadSite *site) {
    for (int d = 0; d < site->view.rank; d++) {
        Expr *index = site->read->args[d];
        if (!site->view.dims[d] || (site->earlier && d == site->step))
            continue;
        bool bare = site->ast->kind == AST_APPLY && site->ast->args.items[d]->kind == AST_NAME;
        if (!is_data_dependent(index) && (!site->has_else || bare))
            add_constraints(in, index, site->view.dims[d], site, d, site->has_else);
    }
}

static void collect_target(Inference *in, const View *target) {
    Arena *arena = in->arena;
    for (int d = 0; d < target->rank; d++) {
        if (!target->dims[d])
            continue;
        Expr *index = expr_var(arena, in->statement->indices.items[d]->raw);
        if (target->lower)
            index = expr_binary(arena, OP_SUB, index, target->lower[d]);
        add_constraints(in, index, target->dims[d], NULL, d, false);
    }
}

/* --- rounds --- */

/* The only unresolved variable of a constraint, or NULL. */
static IndexVariable *alone_in(const Inference *in, const Constraint *constraint) {
    IndexVariable *found = NULL;
    const Statement *s = in->statement;
    for (int i = 0; i < s->indices.count; i++) {
        IndexVariable *index = s->indices.items[i];
        if (index->low)
            continue;
        bool occurs = false;
        for (int t = 0; t < constraint->sum.count && !occurs; t++)
            occurs = expr_uses_var(constraint->sum.terms[t].atom, index->raw);
        if (occurs && found)
            return NULL;
        if (occurs)
            found = index;
    }
    return found;
}

/* The bound that c * v + rest >= 0 gives for v: the largest low end (c > 0) or the smallest high end; NULL if none. */
static Expr *bound_from(const Inference *in, const Constraint *constraint, const IndexVariable *index, bool *is_low) {
    Arena *arena = in->arena;
    Affine coefficient, rest, lowest;
    int64_t c;
    if (!affine_split(arena, &constraint->sum, index->raw, &coefficient, &rest) || !affine_is_int(&coefficient, &c) ||
        c == 0 || c == INT64_MIN || !extreme_over_domain(in->statement, &rest, false, &lowest))
        return NULL;
    *is_low = c > 0;
    Expr *quotient = expr_binary(arena, OP_DIV, affine_expr(arena, &lowest), expr_int(arena, c > 0 ? c : -c));
    return size_normal(arena, c > 0 ? expr_unary(arena, OP_NEG, quotient) : quotient);
}

/* An end of a range, as found in a round. own: from constraints without other variables. conditional: from reads under
 * conditions. shared: from all others. */
typedef struct RangeEnd {
    Expr *own, *shared, *conditional;
} RangeEnd;

typedef struct RangeEnds {
    RangeEnd low, high;
} RangeEnds;

static Expr *tighter(Arena *arena, Expr *a, Expr *b, bool is_low) {
    return !a ? b : !b ? a : is_low ? size_max(arena, a, b) : size_min(arena, a, b);
}

static bool is_own(const Inference *in, const Constraint *constraint, const IndexVariable *index) {
    Affine coefficient, rest;
    if (!affine_split(in->arena, &constraint->sum, index->raw, &coefficient, &rest))
        return false;
    for (int t = 0; t < rest.count; t++)
        if (uses_indices(in->statement, rest.terms[t].atom))
            return false;
    return true;
}

static bool is_conditional(const Constraint *constraint) {
    return constraint->site && constraint->site->guard_count > 0;
}

static bool take_bound(const Inference *in, const Constraint *constraint, const IndexVariable *index, RangeEnds *ends) {
    bool is_low = false;
    Expr *bound = bound_from(in, constraint, index, &is_low);
    if (!bound)
        return false;
    RangeEnd *end = is_low ? &ends->low : &ends->high;
    Expr **place = is_own(in, constraint, index) ? &end->own
                   : is_conditional(constraint)  ? &end->conditional
                                                 : &end->shared;
    *place = tighter(in->arena, *place, bound, is_low);
    return true;
}

/* Whether the index is a reduction with a range of its own. Then reads under conditions do not cut it: the conditions
 * decide which terms count. */
static bool is_let_be(const IndexVariable *index, const RangeEnds *ends) {
    return !index->target && ends->low.own && ends->high.own;
}

static void join_conditional(const Inference *in, const IndexVariable *index, RangeEnds *ends) {
    if (is_let_be(index, ends))
        return;
    ends->low.shared = tighter(in->arena, ends->low.shared, ends->low.conditional, true);
    ends->high.shared = tighter(in->arena, ends->high.shared, ends->high.conditional, false);
}

/* Whether larger > smaller for all sizes above 1. */
static bool always_above(const Inference *in, Expr *larger, Expr *smaller) {
    Affine difference, opposite, one = {-1, 0, NULL};
    const AffineList *facts = &in->statement->builder->facts;
    if (!larger || !smaller || !size_affine(in->arena, expr_binary(in->arena, OP_SUB, smaller, larger), &difference))
        return false;
    return affine_negative_for_real_sizes(&difference) || (affine_sum(in->arena, &difference, -1, &one, 1, &opposite) &&
                                                           affine_never_negative(in->arena, &opposite, facts));
}

/* Whether a reduction is always cut short by an index that `where` fixes. That is a mistake: the reduction keeps its
 * own range, and the proof of bounds reports what goes outside. If it may be cut, there is a warning only. */
static bool is_cut(const Inference *in, const IndexVariable *index, const RangeEnds *ends) {
    return !index->target && ends->low.own && ends->high.own &&
           (always_above(in, ends->high.own, ends->high.shared) || always_above(in, ends->low.shared, ends->low.own));
}

static void warn_cut(const Inference *in, const IndexVariable *index, const RangeEnds *ends) {
    Arena *arena = in->arena;
    if (index->target || !ends->low.own || !ends->high.own ||
        (size_equal(arena, index->low, ends->low.own) && size_equal(arena, index->high, ends->high.own)))
        return;
    Expr *end = size_normal(arena, expr_binary(arena, OP_ADD, index->high, expr_int(arena, 1)));
    WARN(in->statement->frame, cut_reduction, index->loc, index->name, expr_text(arena, index->low),
         expr_text(arena, end));
}

/* Gives the variable the range that was found. False if an end is missing. */
static bool settle(const Inference *in, IndexVariable *index, const RangeEnds *ends, bool cut) {
    Expr *low = tighter(in->arena, ends->low.own, cut ? NULL : ends->low.shared, true);
    Expr *high = tighter(in->arena, ends->high.own, cut ? NULL : ends->high.shared, false);
    if (!low || !high)
        return false;
    index->low = low;
    index->high = high;
    warn_cut(in, index, ends);
    return true;
}

/* For each constraint the variable that it bounds in this round, or NULL. */
static IndexVariable **find_ends(Inference *in, RangeEnds *found) {
    Statement *s = in->statement;
    IndexVariable **bounded = ARENA_ARRAY(in->arena, IndexVariable *, in->constraints.count);
    for (int c = 0; c < in->constraints.count; c++) {
        Constraint *constraint = &in->constraints.items[c];
        IndexVariable *alone = constraint->weak && !in->weak ? NULL : alone_in(in, constraint);
        for (int i = 0; i < s->indices.count && alone; i++)
            if (s->indices.items[i] == alone && take_bound(in, constraint, alone, &found[i]))
                bounded[c] = alone;
    }
    return bounded;
}

/* The hull of a range that depends on other indices, once their ranges are known. Its extent is at least 0. */
static bool settle_hull(const Inference *in, IndexVariable *index) {
    Arena *arena = in->arena;
    const Statement *s = in->statement;
    Affine begin, end, low, high;
    if (!size_affine(arena, index->begin, &begin) || !size_affine(arena, index->end, &end) ||
        !extreme_over_domain(s, &begin, false, &low) || !extreme_over_domain(s, &end, true, &high))
        return false;
    Expr *first = affine_expr(arena, &low);
    Expr *extent = size_normal(arena, expr_binary(arena, OP_SUB, affine_expr(arena, &high), first));
    Expr *last = expr_binary(arena, OP_SUB, size_max(arena, extent, expr_int(arena, 0)), expr_int(arena, 1));
    index->low = size_normal(arena, first);
    index->high = size_normal(arena, expr_binary(arena, OP_ADD, first, last));
    return true;
}

static bool settle_hulls(const Inference *in) {
    bool progress = false;
    for (int i = 0; i < in->statement->indices.count; i++) {
        IndexVariable *index = in->statement->indices.items[i];
        if (index->begin && !index->low)
            progress |= settle_hull(in, index);
    }
    return progress;
}

static bool is_used(const Inference *in, const Constraint *constraint, const IndexVariable *index, bool cut,
                    bool let_be) {
    return is_own(in, constraint, index) || (!cut && !(let_be && is_conditional(constraint)));
}

/* One round. All variables see the state before the round. */
static bool run_round(Inference *in) {
    Statement *s = in->statement;
    RangeEnds *found = ARENA_ARRAY(in->arena, RangeEnds, s->indices.count);
    IndexVariable **bounded = find_ends(in, found);
    bool progress = false;
    for (int i = 0; i < s->indices.count; i++) {
        IndexVariable *index = s->indices.items[i];
        join_conditional(in, index, &found[i]);
        bool cut = is_cut(in, index, &found[i]), let_be = is_let_be(index, &found[i]);
        if (index->low || index->begin || !settle(in, index, &found[i], cut))
            continue;
        for (int c = 0; c < in->constraints.count; c++)
            if (bounded[c] == index)
                in->constraints.items[c].used = is_used(in, &in->constraints.items[c], index, cut, let_be);
        progress = true;
    }
    return progress;
}

/* --- what remains unresolved --- */

static bool occurs_in_reads(const Statement *s, const IndexVariable *index) {
    for (int i = 0; i < s->sites.count; i++)
        for (int d = 0; d < s->sites.items[i]->view.rank; d++)
            if (expr_uses_var(s->sites.items[i]->read->args[d], index->raw))
                return true;
    return false;
}

static bool holds_unresolved(const Statement *s, const Expr *e) {
    for (int i = 0; i < s->indices.count; i++)
        if (!s->indices.items[i]->low && expr_uses_var(e, s->indices.items[i]->raw))
            return true;
    return false;
}

static void note_hulls(const Statement *s) {
    for (int i = 0; i < s->indices.count; i++) {
        const IndexVariable *index = s->indices.items[i];
        for (int j = 0; j < s->indices.count && index->begin && !index->low; j++) {
            const IndexVariable *other = s->indices.items[j];
            if (!other->low && (expr_uses_var(index->begin, other->raw) || expr_uses_var(index->end, other->raw)))
                NOTE(s->frame, index->loc, "the range of %s depends on that of %s", index->name, other->name);
        }
    }
}

/* Notes what is known of the variables and why it does not help. */
static void note_uses(const Statement *s) {
    Arena *arena = s->builder->arena;
    for (int i = 0; i < s->sites.count; i++) {
        const ReadSite *site = s->sites.items[i];
        for (int d = 0; d < site->view.rank; d++) {
            Expr *e = site->read->args[d];
            if (!site->view.dims[d] || !holds_unresolved(s, e))
                continue;
            const char *why = site->has_else         ? "but this read may go outside: it has an else"
                              : is_data_dependent(e) ? "but that depends on data"
                                                     : "which leaves more than one range possible";
            NOTE(s->frame, site->ast->loc, "0 <= %s < %s is known, %s", expr_text(arena, e),
                 expr_text(arena, site->view.dims[d]), why);
        }
    }
}

/* Reports names that no read bounds and that are not on the left side: they are misspelt, not indices. */
static bool report_undefined(Statement *s) {
    bool good = true;
    for (int i = 0; i < s->indices.count; i++) {
        IndexVariable *index = s->indices.items[i];
        if (index->low || index->target || index->where || index->read || occurs_in_reads(s, index))
            continue;
        report_index(s, index);
        good = false;
    }
    return good;
}

static bool report_computed(Statement *s) {
    for (int i = 0; i < s->indices.count; i++) {
        const IndexVariable *index = s->indices.items[i];
        if (!index->place || index->low)
            continue;
        const char *name = s->ast->targets.items[0].name.text;
        ERROR(s->frame, computed_extent, index->loc, i, name);
        hint_extent(s);
        return false;
    }
    return true;
}

/* Another index whose name differs by upper and lower case only; NULL: there is none. */
static const IndexVariable *same_letters(const Statement *s, const IndexVariable *index) {
    for (int i = 0; i < s->indices.count; i++)
        if (s->indices.items[i] != index && strcasecmp(s->indices.items[i]->name, index->name) == 0)
            return s->indices.items[i];
    return NULL;
}

static bool report_unresolved(Statement *s) {
    const IndexVariable *first = NULL;
    Text names = {.arena = s->builder->arena};
    bool good = report_undefined(s);
    for (int i = 0; i < s->indices.count && good; i++) {
        const IndexVariable *index = s->indices.items[i];
        if (index->low)
            continue;
        text_add(&names, "%s'%s'", first ? ", " : "", index->name);
        first = first ? first : index;
    }
    if (!first)
        return good;
    ERROR(s->frame, unresolved_index, first->loc, names.text);
    note_uses(s);
    note_hulls(s);
    if (first->read)
        hint_read_ends(s, first);
    else if (same_letters(s, first))
        HINT(s->frame, "'%s' is another index than '%s'", same_letters(s, first)->name, first->name);
    else
        HINT(s->frame, "say it: where %s in 0:...", first->name);
    note_calls(s->frame);
    return false;
}

/* --- the whole --- */

static bool size_fits(Arena *arena, Expr *e) {
    Affine p;
    return size_affine(arena, e, &p);
}

/* A range that is written may be as long as it is. */
static bool is_long_range(const IndexVariable *index) {
    return !index->where && expr_is_larger(index->extent, SIZE_NODE_LIMIT);
}

static void report_long_range(Statement *s, const IndexVariable *index) {
    if (is_long_range(index)) {
        ERROR(s->frame, range_nodes, index->loc, index->name, SIZE_NODE_LIMIT);
        HINT(s->frame, "say it: where %s in 0:...", index->name);
    } else if (size_is_too_long(s->builder->arena, index->extent)) {
        ERROR(s->frame, range_terms, index->loc, index->name, SUM_TERM_LIMIT);
    } else {
        ERROR(s->frame, range_overflow, index->loc, index->name);
    }
    note_calls(s->frame);
}

/* Makes the extent of an index whose range is known, and the axis that counts it from 0. */
static bool complete_index(Statement *s, IndexVariable *index) {
    Arena *arena = s->builder->arena;
    index->extent = expr_binary(arena, OP_SUB, index->high, index->low);
    index->extent = size_normal(arena, expr_binary(arena, OP_ADD, index->extent, expr_int(arena, 1)));
    if (is_long_range(index) || !size_fits(arena, index->extent)) {
        report_long_range(s, index);
        return false;
    }
    int64_t low;
    bool from_zero = expr_is_int(index->low, &low) && low == 0;
    index->axis = from_zero ? index->raw : var_new(arena, VAR_AXIS, TYPE_INT64, index->name, NULL);
    index->axis->extent = index->extent;
    index->axis->reduction = !index->target;
    index->axis->loc = index->loc;
    return require_range(s, index);
}

void add_domain_facts(Statement *s) {
    Arena *arena = s->builder->arena;
    for (int i = 0; i < s->builder->facts.count; i++)
        list_push(arena, &s->facts, s->builder->facts.items[i]);
    for (int i = 0; i < s->indices.count; i++) {
        Affine extent, one = {-1, 0, NULL};
        if (size_affine(arena, s->indices.items[i]->extent, &extent) && affine_sum(arena, &extent, 1, &one, 1, &extent))
            list_push(arena, &s->facts, extent);
    }
}

static void note_assured(const Inference *in) {
    for (int c = 0; c + 1 < in->constraints.count; c++) {
        const Constraint *low = &in->constraints.items[c], *high = &in->constraints.items[c + 1];
        if (low->site && low->site == high->site && low->dim == high->dim)
            low->site->assured[low->dim] |= low->used && high->used && !low->weak;
    }
}

/* If a def is checked for its names only, every range is a size of its own. */
static void invent_ranges(Statement *s) {
    Arena *arena = s->builder->arena;
    for (int i = 0; i < s->indices.count; i++) {
        IndexVariable *index = s->indices.items[i];
        Expr *size = expr_var(arena, var_new(arena, VAR_SIZE, TYPE_INT64, index->name, NULL));
        index->low = expr_int(arena, 0);
        index->high = size_normal(arena, expr_binary(arena, OP_SUB, size, expr_int(arena, 1)));
    }
}

static void collect_constraints(Inference *in, const View *target) {
    const Statement *s = in->statement;
    for (int i = 0; i < s->sites.count; i++)
        collect_site(in, s->sites.items[i]);
    if (target)
        collect_target(in, target);
}

static void run_rounds(Inference *in) {
    bool progress = true;
    while (progress) {
        while (settle_hulls(in) || run_round(in))
            ;
        in->weak = !in->statement->strong_only;
        progress = run_round(in);
        in->weak = false;
    }
}

/* The ends are all that is kept of what the rounds make, which is much. */
static void find_ranges(Inference *in, const View *target) {
    Statement *s = in->statement;
    Arena *arena = s->builder->arena;
    bool *known = ARENA_ARRAY(in->arena, bool, s->indices.count);
    for (int i = 0; i < s->indices.count; i++)
        known[i] = s->indices.items[i]->low != NULL;
    s->builder->arena = in->arena;
    collect_constraints(in, target);
    run_rounds(in);
    s->builder->arena = arena;
    for (int i = 0; i < s->indices.count; i++) {
        IndexVariable *index = s->indices.items[i];
        if (known[i] || !index->low)
            continue;
        index->low = expr_copy_all(arena, index->low);
        index->high = expr_copy_all(arena, index->high);
    }
}

static bool complete_ranges(Statement *s) {
    bool good = report_computed(s) && report_unresolved(s);
    for (int i = 0; i < s->indices.count && good; i++)
        good = complete_index(s, s->indices.items[i]);
    return good;
}

bool infer_ranges(Statement *s, const View *target) {
    if (s->builder->names_only)
        invent_ranges(s);
    Inference in = {.statement = s, .arena = arena_new()};
    find_ranges(&in, target);
    bool probing = s->frame->scan && s->frame->scan->probing; /* which uses the ends that were found */
    bool good = !probing && complete_ranges(s);
    if (good)
        note_assured(&in);
    arena_free(in.arena);
    if (good)
        add_domain_facts(s);
    return good;
}
