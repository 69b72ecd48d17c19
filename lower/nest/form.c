/* form.c - see form.h. Sums are short (a handful of terms), so terms are found by walking them. */
#include "lower/nest/form.h"
#include "lang/value.h"

/* --- checked integers --------------------------------------------------------------------------------------------- */

static int64_t plus(Forms *forms, int64_t a, int64_t b) {
    int64_t sum = 0;
    if (__builtin_add_overflow(a, b, &sum))
        forms->overflow = true;
    return sum;
}

static int64_t times(Forms *forms, int64_t a, int64_t b) {
    int64_t product = 0;
    if (__builtin_mul_overflow(a, b, &product))
        forms->overflow = true;
    return product;
}

/* --- sums --------------------------------------------------------------------------------------------------------- */

static Form *form_new(Forms *forms, int64_t constant, int room) {
    Form *form = arena_alloc(forms->arena, sizeof(Form) + sizeof(FormTerm) * (size_t)room);
    form->constant = constant;
    return form;
}

const Form *form_int(Forms *forms, int64_t value) {
    return form_new(forms, value, 0);
}

const Form *form_atom(Forms *forms, const Atom *atom) {
    Form *form = form_new(forms, 0, 1);
    form->count = 1;
    form->terms[0] = (FormTerm){1, atom};
    return form;
}

static bool atom_equal(const Atom *a, const Atom *b) {
    if (a == b)
        return true;
    if (a->kind != b->kind || a->kind == ATOM_LOOP)
        return false;
    if (a->kind == ATOM_SIZE)
        return expr_equal(a->expr, b->expr);
    return form_equal(a->a, b->a) && form_equal(a->b, b->b);
}

static FormTerm *find_term(Form *form, int count, const Atom *atom) {
    for (int i = 0; i < count; i++)
        if (atom_equal(form->terms[i].atom, atom))
            return &form->terms[i];
    return NULL;
}

static void drop_zero_terms(Form *form) {
    int kept = 0;
    for (int i = 0; i < form->count; i++)
        if (form->terms[i].factor != 0)
            form->terms[kept++] = form->terms[i];
    form->count = kept;
}

const Form *form_add_scaled(Forms *forms, const Form *a, int64_t factor, const Form *b) {
    if (factor == 0 || (b->count == 0 && b->constant == 0))
        return a;
    if (factor == 1 && a->count == 0 && a->constant == 0)
        return b;
    Form *sum = form_new(forms, plus(forms, a->constant, times(forms, factor, b->constant)), a->count + b->count);
    for (int i = 0; i < a->count; i++)
        sum->terms[sum->count++] = a->terms[i];
    for (int i = 0; i < b->count; i++) {
        int64_t added = times(forms, factor, b->terms[i].factor);
        FormTerm *same = find_term(sum, a->count, b->terms[i].atom);
        if (same != NULL)
            same->factor = plus(forms, same->factor, added);
        else
            sum->terms[sum->count++] = (FormTerm){added, b->terms[i].atom};
    }
    drop_zero_terms(sum);
    return sum;
}

const Form *form_add(Forms *forms, const Form *a, const Form *b) {
    return form_add_scaled(forms, a, 1, b);
}

const Form *form_add_int(Forms *forms, const Form *a, int64_t value) {
    if (value == 0)
        return a;
    Form *sum = form_new(forms, plus(forms, a->constant, value), a->count);
    for (int i = 0; i < a->count; i++)
        sum->terms[sum->count++] = a->terms[i];
    return sum;
}

bool form_is_int(const Form *form, int64_t *value) {
    if (form->count != 0)
        return false;
    if (value != NULL)
        *value = form->constant;
    return true;
}

/* Whatever order the terms stand in. What is below an atom is left out: two loops are the same only as one atom. */
uint64_t form_hash(const Form *form) {
    uint64_t sum = (uint64_t)form->constant;
    for (int i = 0; i < form->count; i++) {
        const Atom *atom = form->terms[i].atom;
        uint64_t own = atom->kind == ATOM_LOOP ? (uintptr_t)atom >> 4 : (uint64_t)atom->kind;
        sum += (own + 1) * 0x9e3779b97f4a7c15u * (2 * (uint64_t)form->terms[i].factor + 1);
    }
    return sum;
}

bool form_equal(const Form *a, const Form *b) {
    if (a == b)
        return true;
    if (a->constant != b->constant || a->count != b->count)
        return false;
    for (int i = 0; i < a->count; i++) {
        const FormTerm *same = &b->terms[i]; /* most stand in the same order */
        if (!atom_equal(same->atom, a->terms[i].atom))
            same = find_term((Form *)b, b->count, a->terms[i].atom);
        if (same == NULL || same->factor != a->terms[i].factor)
            return false;
    }
    return true;
}

static bool has_loops(const Form *form) {
    for (int i = 0; i < form->count; i++)
        if (form->terms[i].atom->has_loops)
            return true;
    return false;
}

/* --- ranges ------------------------------------------------------------------------------------------------------- */

static Interval form_range(const Form *form);

static Interval divided_range(Interval range, int64_t divisor) {
    range.low = floor_div(range.low, divisor);
    range.high = floor_div(range.high, divisor);
    return range;
}

/* Of a division or modulo: by a constant from what is divided, else from its limit. */
static Interval quotient_range(const Atom *atom) {
    int64_t divisor;
    if (form_is_int(atom->b, &divisor) && divisor > 0)
        return atom->kind == ATOM_MOD ? (Interval){true, true, 0, divisor - 1}
                                      : divided_range(form_range(atom->a), divisor);
    Interval limit = atom->limit != NULL ? form_range(atom->limit) : (Interval){false, false, 0, 0};
    return (Interval){atom->limit != NULL, limit.has_high, 0, limit.high - (limit.has_high && limit.high > INT64_MIN)};
}

static Interval extreme_range(const Atom *atom) {
    Interval a = form_range(atom->a), b = form_range(atom->b), both = {false, false, 0, 0};
    bool smaller = atom->kind == ATOM_MIN;
    both.has_low = smaller ? a.has_low && b.has_low : a.has_low || b.has_low;
    both.has_high = smaller ? a.has_high || b.has_high : a.has_high && b.has_high;
    bool low_a = a.has_low && (!b.has_low || (smaller ? a.low < b.low : a.low > b.low));
    bool high_a = a.has_high && (!b.has_high || (smaller ? a.high < b.high : a.high > b.high));
    both.low = low_a ? a.low : b.low;
    both.high = high_a ? a.high : b.high;
    return both;
}

static Interval atom_range(const Atom *atom) {
    switch (atom->kind) {
    case ATOM_LOOP: {
        Interval extent = form_range(*atom->extent);
        return (Interval){true, extent.has_high, 0, extent.high > 0 ? extent.high - 1 : 0};
    }
    case ATOM_SIZE: return expr_interval(atom->expr);
    case ATOM_DIV:
    case ATOM_MOD: return quotient_range(atom);
    default: return extreme_range(atom);
    }
}

/* Adds factor * [.., ..] to one end of a sum; an end that overflows is unknown. */
static void add_end(bool *known, int64_t *sum, bool has_end, int64_t end, int64_t factor) {
    int64_t product = 0;
    if (!*known || !has_end || __builtin_mul_overflow(end, factor, &product) ||
        __builtin_add_overflow(*sum, product, sum))
        *known = false;
}

static Interval form_range(const Form *form) {
    Interval sum = {true, true, form->constant, form->constant};
    for (int i = 0; i < form->count && (sum.has_low || sum.has_high); i++) {
        Interval range = atom_range(form->terms[i].atom);
        int64_t factor = form->terms[i].factor;
        bool turned = factor < 0;
        add_end(&sum.has_low, &sum.low, turned ? range.has_high : range.has_low, turned ? range.high : range.low,
                factor);
        add_end(&sum.has_high, &sum.high, turned ? range.has_low : range.has_high, turned ? range.low : range.high,
                factor);
    }
    return sum;
}

/* --- division ----------------------------------------------------------------------------------------------------- */

static Atom *atom_new(Forms *forms, AtomKind kind, const Form *a, const Form *b) {
    Atom *atom = ARENA_NEW(forms->arena, Atom);
    *atom = (Atom){.kind = kind, .a = a, .b = b, .has_loops = has_loops(a) || has_loops(b)};
    return atom;
}

/* What form holds beyond multiples of divisor; *multiples gets those, divided. Exact: form = divisor * multiples +
 * rest. */
static const Form *take_multiples(Forms *forms, const Form *form, int64_t divisor, const Form **multiples) {
    Form *whole = form_new(forms, floor_div(form->constant, divisor), form->count);
    Form *rest = form_new(forms, floor_mod(form->constant, divisor), form->count);
    for (int i = 0; i < form->count; i++) {
        FormTerm term = form->terms[i];
        if (term.factor % divisor == 0)
            whole->terms[whole->count++] = (FormTerm){term.factor / divisor, term.atom};
        else
            rest->terms[rest->count++] = term;
    }
    *multiples = whole;
    return rest;
}

/* The largest number that divides every factor of form and divisor. */
static int64_t common_factor(const Form *form, int64_t divisor) {
    for (int i = 0; i < form->count; i++)
        divisor = greatest_divisor(divisor, form->terms[i].factor);
    return divisor;
}

/* form with all factors divided by common; the constant floors. */
static const Form *shrink(Forms *forms, const Form *form, int64_t common) {
    if (common == 1)
        return form;
    Form *small = form_new(forms, floor_div(form->constant, common), form->count);
    for (int i = 0; i < form->count; i++)
        small->terms[small->count++] = (FormTerm){form->terms[i].factor / common, form->terms[i].atom};
    return small;
}

/* Whether all values of form have one quotient by divisor. */
static bool one_quotient(const Form *form, int64_t divisor, int64_t *quotient) {
    Interval range = form_range(form);
    if (!range.has_low || !range.has_high)
        return false;
    *quotient = floor_div(range.low, divisor);
    return *quotient == floor_div(range.high, divisor);
}

/* (x / c) / d is x / (c * d). */
static const Form *divide_rest(Forms *forms, const Form *rest, int64_t divisor) {
    if (divisor == 1)
        return rest;
    const Atom *inner = rest->count == 1 && rest->terms[0].factor == 1 ? rest->terms[0].atom : NULL;
    int64_t first;
    if (inner != NULL && rest->constant == 0 && inner->kind == ATOM_DIV && form_is_int(inner->b, &first))
        return form_divide(forms, inner->a, form_int(forms, times(forms, first, divisor)));
    return form_atom(forms, atom_new(forms, ATOM_DIV, rest, form_int(forms, divisor)));
}

static const Form *divide_by_int(Forms *forms, const Form *form, int64_t divisor) {
    const Form *multiples;
    const Form *rest = take_multiples(forms, form, divisor, &multiples);
    int64_t quotient;
    if (one_quotient(rest, divisor, &quotient))
        return form_add_int(forms, multiples, quotient);
    int64_t common = common_factor(rest, divisor);
    return form_add(forms, multiples, divide_rest(forms, shrink(forms, rest, common), divisor / common));
}

/* (g*x + r) % (g*c) is g * (x % c) + r where 0 <= r < g. */
static const Form *modulo_by_int(Forms *forms, const Form *form, int64_t divisor) {
    const Form *multiples;
    const Form *rest = take_multiples(forms, form, divisor, &multiples);
    int64_t quotient;
    if (one_quotient(rest, divisor, &quotient))
        return form_add_int(forms, rest, times(forms, quotient, -divisor));
    int64_t common = common_factor(rest, divisor);
    const Form *small = form_int(forms, 0);
    if (divisor > common) {
        const Form *a = shrink(forms, rest, common), *b = form_int(forms, divisor / common);
        small = form_atom(forms, atom_new(forms, ATOM_MOD, a, b));
    }
    return form_add_scaled(forms, form_int(forms, floor_mod(rest->constant, common)), common, small);
}

const Form *form_divide_below(Forms *forms, const Form *a, const Form *b, const Form *limit) {
    int64_t divisor;
    if (form_is_int(b, &divisor))
        return divisor <= 1 ? a : divide_by_int(forms, a, divisor); /* by 0: of a loop that never runs */
    Atom *atom = atom_new(forms, ATOM_DIV, a, b);
    atom->limit = limit;
    return form_atom(forms, atom);
}

const Form *form_divide(Forms *forms, const Form *a, const Form *b) {
    return form_divide_below(forms, a, b, NULL);
}

const Form *form_modulo(Forms *forms, const Form *a, const Form *b) {
    int64_t divisor;
    if (form_is_int(b, &divisor))
        return divisor == 0 ? form_int(forms, 0) : modulo_by_int(forms, a, divisor);
    Atom *atom = atom_new(forms, ATOM_MOD, a, b);
    atom->limit = b;
    return form_atom(forms, atom);
}

/* --- other operations --------------------------------------------------------------------------------------------- */

/* A product of forms over sizes is an atom of its own. */
static const Form *product_of_sizes(Forms *forms, const Form *a, const Form *b) {
    Atom *atom = ARENA_NEW(forms->arena, Atom);
    atom->kind = ATOM_SIZE;
    atom->expr = expr_binary(forms->arena, OP_MUL, form_expr(forms, a), form_expr(forms, b));
    return form_atom(forms, atom);
}

const Form *form_multiply(Forms *forms, const Form *a, const Form *b) {
    int64_t factor;
    if (form_is_int(a, &factor))
        return form_add_scaled(forms, form_int(forms, 0), factor, b);
    if (form_is_int(b, &factor))
        return form_add_scaled(forms, form_int(forms, 0), factor, a);
    return has_loops(a) || has_loops(b) ? NULL : product_of_sizes(forms, a, b);
}

const Form *form_extreme(Forms *forms, AtomKind kind, const Form *a, const Form *b) {
    if (form_at_most(forms, a, b))
        return kind == ATOM_MIN ? a : b;
    if (form_at_most(forms, b, a))
        return kind == ATOM_MIN ? b : a;
    return form_atom(forms, atom_new(forms, kind, a, b));
}

/* --- bounds over sizes -------------------------------------------------------------------------------------------- */

static const Form *form_bound(Forms *forms, const Form *form, bool upper);

static const Form *quotient_bound(Forms *forms, const Atom *atom, bool upper) {
    if (atom->kind == ATOM_MOD)
        return upper ? form_add_int(forms, atom->b, -1) : form_int(forms, 0);
    if (atom->limit != NULL)
        return upper ? form_add_int(forms, atom->limit, -1) : form_int(forms, 0);
    if (!form_is_int(atom->b, NULL))
        return NULL;
    const Form *divided = form_bound(forms, atom->a, upper);
    return divided != NULL ? form_divide(forms, divided, atom->b) : NULL;
}

/* min(a, b) is at most each of both and at least the smaller of their lower bounds. */
static const Form *extreme_bound(Forms *forms, const Atom *atom, bool upper) {
    const Form *a = form_bound(forms, atom->a, upper), *b = form_bound(forms, atom->b, upper);
    if (a != NULL && b != NULL)
        return form_extreme(forms, atom->kind, a, b);
    return (atom->kind == ATOM_MIN) != upper ? NULL : a != NULL ? a : b;
}

static const Form *atom_bound(Forms *forms, const Atom *atom, bool upper) {
    if (!atom->has_loops)
        return form_atom(forms, atom);
    switch (atom->kind) {
    case ATOM_LOOP: return upper ? form_add_int(forms, *atom->extent, -1) : form_int(forms, 0);
    case ATOM_DIV:
    case ATOM_MOD: return quotient_bound(forms, atom, upper);
    default: return extreme_bound(forms, atom, upper);
    }
}

static const Form *form_bound(Forms *forms, const Form *form, bool upper) {
    if (!has_loops(form))
        return form;
    const Form *sum = form_int(forms, form->constant);
    for (int i = 0; i < form->count; i++) {
        int64_t factor = form->terms[i].factor;
        const Form *bound = atom_bound(forms, form->terms[i].atom, upper == (factor > 0));
        if (bound == NULL)
            return NULL;
        sum = form_add_scaled(forms, sum, factor, bound);
    }
    return sum;
}

const Form *form_upper(Forms *forms, const Form *form) {
    return form_bound(forms, form, true);
}

const Form *form_lower(Forms *forms, const Form *form) {
    return form_bound(forms, form, false);
}

/* A bound in which a division of sizes by c, times a multiple of c, has become a sum: c * (a / c) is in a - c + 1 ..
 * a. */
static const Form *without_divisions(Forms *forms, const Form *form) {
    const Form *sum = form_int(forms, form->constant);
    for (int i = 0; i < form->count; i++) {
        const Atom *atom = form->terms[i].atom;
        int64_t factor = form->terms[i].factor, divisor;
        bool relaxes = atom->kind == ATOM_DIV && form_is_int(atom->b, &divisor) && factor % divisor == 0;
        const Form *part = relaxes ? atom->a : form_atom(forms, atom);
        if (relaxes && factor < 0)
            part = form_add_int(forms, part, 1 - divisor);
        sum = form_add_scaled(forms, sum, relaxes ? factor / divisor : factor, part);
    }
    return sum;
}

static bool never_positive(const Form *form) {
    Interval range = form_range(form);
    return range.has_high && range.high <= 0;
}

/* Loops that both sides share cancel before bounds are taken; intervals alone decide most cases. */
bool form_at_most(Forms *forms, const Form *a, const Form *b) {
    const Form *difference = form_add_scaled(forms, a, -1, b);
    if (form_is_int(difference, NULL) || never_positive(difference))
        return difference->count > 0 || difference->constant <= 0;
    const Form *upper = form_bound(forms, difference, true);
    return upper != NULL && (never_positive(upper) || never_positive(without_divisions(forms, upper)));
}

bool form_below(Forms *forms, const Form *a, const Form *b) {
    return form_at_most(forms, form_add_int(forms, a, 1), b);
}

/* --- expressions -------------------------------------------------------------------------------------------------- */

static Expr *atom_expr(Forms *forms, const Atom *atom) {
    static const Op ops[] = {[ATOM_DIV] = OP_DIV, [ATOM_MOD] = OP_MOD, [ATOM_MIN] = OP_MIN, [ATOM_MAX] = OP_MAX};
    if (atom->kind == ATOM_LOOP || atom->kind == ATOM_SIZE)
        return atom->expr;
    return expr_binary(forms->arena, ops[atom->kind], form_expr(forms, atom->a), form_expr(forms, atom->b));
}

Expr *form_expr(Forms *forms, const Form *form) {
    Arena *arena = forms->arena;
    Expr *sum = NULL;
    for (int i = 0; i < form->count; i++) {
        int64_t factor = form->terms[i].factor;
        bool minus = factor < 0 && sum != NULL && factor != INT64_MIN;
        Expr *atom = atom_expr(forms, form->terms[i].atom);
        Expr *term = expr_binary(arena, OP_MUL, expr_int(arena, minus ? -factor : factor), atom);
        sum = sum == NULL ? term : expr_binary(arena, minus ? OP_SUB : OP_ADD, sum, term);
    }
    if (sum == NULL)
        return expr_int(arena, form->constant);
    if (form->constant < 0 && form->constant != INT64_MIN)
        return expr_binary(arena, OP_SUB, sum, expr_int(arena, -form->constant));
    return expr_binary(arena, OP_ADD, sum, expr_int(arena, form->constant));
}

static bool has_only_sizes(const Expr *e, void *context) {
    bool *only = context;
    if (e->kind == EXPR_READ || (e->kind == EXPR_VAR && e->var->kind != VAR_SIZE))
        *only = false;
    return *only;
}

/* What is not affine but is over sizes alone is an atom. */
static const Form *form_of_sizes(Forms *forms, const Expr *e) {
    bool only = e->type == TYPE_INT64;
    expr_walk(e, has_only_sizes, &only);
    if (!only)
        return NULL;
    Atom *atom = ARENA_NEW(forms->arena, Atom);
    *atom = (Atom){.kind = ATOM_SIZE, .expr = (Expr *)e};
    return form_atom(forms, atom);
}

static const Form *combine_forms(Forms *forms, Op op, const Form *a, const Form *b) {
    int64_t divisor;
    switch (op) {
    case OP_ADD: return form_add(forms, a, b);
    case OP_SUB: return form_add_scaled(forms, a, -1, b);
    case OP_MUL: return form_multiply(forms, a, b);
    case OP_DIV: return form_is_int(b, &divisor) && divisor > 0 ? form_divide(forms, a, b) : NULL;
    case OP_MOD: return form_is_int(b, &divisor) && divisor > 0 ? form_modulo(forms, a, b) : NULL;
    case OP_MIN: return form_extreme(forms, ATOM_MIN, a, b);
    case OP_MAX: return form_extreme(forms, ATOM_MAX, a, b);
    default: return NULL;
    }
}

static const Form *form_of_op(Forms *forms, const Expr *e, FindForm *find, const void *context) {
    const Form *a = e->count > 0 ? form_of_expr(forms, e->args[0], find, context) : NULL;
    if (e->op == OP_NEG && a != NULL)
        return form_add_scaled(forms, form_int(forms, 0), -1, a);
    const Form *b = e->count == 2 && a != NULL ? form_of_expr(forms, e->args[1], find, context) : NULL;
    const Form *both = b != NULL ? combine_forms(forms, e->op, a, b) : NULL;
    return both != NULL ? both : form_of_sizes(forms, e);
}

const Form *form_of_expr(Forms *forms, const Expr *e, FindForm *find, const void *context) {
    const Form *known;
    switch (e->kind) {
    case EXPR_INT: return form_int(forms, e->integer);
    case EXPR_VAR: known = find(context, e->var); return known != NULL ? known : form_of_sizes(forms, e);
    case EXPR_OP: return e->type == TYPE_INT64 ? form_of_op(forms, e, find, context) : NULL;
    default: return form_of_sizes(forms, e);
    }
}

/* --- spans -------------------------------------------------------------------------------------------------------- */

const Loop *form_find_loop(const Form *form, LoopOutside *visit, const void *context) {
    for (int i = 0; i < form->count; i++) {
        const Atom *atom = form->terms[i].atom;
        if (!atom->has_loops)
            continue;
        if (atom->kind == ATOM_LOOP && visit(context, atom->loop))
            return atom->loop;
        const Loop *found = atom->a != NULL ? form_find_loop(atom->a, visit, context) : NULL;
        if (found == NULL && atom->b != NULL)
            found = form_find_loop(atom->b, visit, context);
        if (found != NULL)
            return found;
    }
    return NULL;
}

static bool is_loop(const void *context, const Loop *loop) {
    return loop == context;
}

bool form_has_loop(const Form *form, const Loop *loop) {
    return form_find_loop(form, is_loop, loop) != NULL;
}

typedef struct Span {
    Forms *forms;
    LoopOutside *outside;
    const void *context;
    const Form *low, *width;
} Span;

static bool is_inside(const void *context, const Loop *loop) {
    const Span *span = context;
    return !span->outside(span->context, loop);
}

static bool span_of_form(Span *span, const Form *form);

/* x / c for x in low .. low + width: low is r modulo g, so its remainder is at most c - g + r. */
static bool span_of_division(Span *span, const Atom *atom) {
    Forms *forms = span->forms;
    int64_t divisor;
    if (!form_is_int(atom->b, &divisor) || !span_of_form(span, atom->a))
        return false;
    const Form *low = span->low;
    int64_t common = common_factor(low, divisor);
    int64_t remainder = divisor - common + floor_mod(low->constant, common);
    span->low = form_divide(forms, low, atom->b);
    span->width = form_divide(forms, form_add_int(forms, span->width, remainder), atom->b);
    return true;
}

static bool span_of_modulo(Span *span, const Atom *atom) {
    Forms *forms = span->forms;
    Span quotient = *span, divided = *span;
    int64_t crossings;
    if (span_of_division(&quotient, atom) && form_is_int(quotient.width, &crossings) && crossings == 0) {
        span_of_form(&divided, atom->a);
        span->low = form_modulo(forms, divided.low, atom->b);
        span->width = divided.width;
        return true;
    }
    span->low = form_int(forms, 0);
    span->width = form_add_int(forms, atom->b, -1);
    return true;
}

/* min and max move by no more than their operands do. */
static bool span_of_extreme(Span *span, const Atom *atom) {
    Span a = *span, b = *span;
    if (!span_of_form(&a, atom->a) || !span_of_form(&b, atom->b))
        return false;
    span->low = form_extreme(span->forms, atom->kind, a.low, b.low);
    span->width = form_extreme(span->forms, ATOM_MAX, a.width, b.width);
    return true;
}

static bool span_of_atom(Span *span, const Atom *atom) {
    switch (atom->kind) {
    case ATOM_LOOP:
        span->low = form_int(span->forms, 0);
        span->width = form_add_int(span->forms, *atom->extent, -1);
        return true;
    case ATOM_DIV:
        if (atom->limit == NULL)
            return span_of_division(span, atom);
        span->low = form_int(span->forms, 0);
        span->width = form_add_int(span->forms, atom->limit, -1);
        return true;
    case ATOM_MOD: return span_of_modulo(span, atom);
    default: return span_of_extreme(span, atom);
    }
}

static bool span_of_form(Span *span, const Form *form) {
    Forms *forms = span->forms;
    const Form *low = form_int(forms, form->constant), *width = form_int(forms, 0);
    for (int i = 0; i < form->count; i++) {
        int64_t factor = form->terms[i].factor;
        const Atom *atom = form->terms[i].atom;
        const Form *alone = form_atom(forms, atom);
        if (!atom->has_loops || form_find_loop(alone, is_inside, span) == NULL) {
            low = form_add_scaled(forms, low, factor, alone);
            continue;
        }
        Span part = *span;
        if (!span_of_atom(&part, atom))
            return false;
        low = form_add_scaled(forms, low, factor, part.low);
        low = form_add_scaled(forms, low, factor < 0 ? factor : 0, part.width);
        width = form_add_scaled(forms, width, factor < 0 ? -factor : factor, part.width);
    }
    span->low = low;
    span->width = width;
    return true;
}

bool form_span(Forms *forms, const Form *form, LoopOutside *outside, const void *context, const Form **low,
               const Form **width) {
    Span span = {.forms = forms, .outside = outside, .context = context};
    if (!span_of_form(&span, form))
        return false;
    *low = span.low;
    *width = span.width;
    return true;
}
