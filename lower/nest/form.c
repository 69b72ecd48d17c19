/* form.c - see form.h. */
#include "lang/value.h"
#include "lower/nest/state.h"

/* --- expressions -------------------------------------------------------------------------------------------------- */

const Form *form_product(Forms *forms, const Form *a, const Form *b) {
    bool affine = a->count == 0 || b->count == 0 || (affine_is_over_sizes(a) && affine_is_over_sizes(b));
    return affine ? form_multiply(forms, a, b) : NULL;
}

/* An expression over sizes alone that is not affine becomes an atom. */
static const Form *form_of_sizes(Forms *forms, const Expr *e) {
    return e->type == TYPE_INT64 && expr_is_over_sizes(e) ? form_atom(forms, e) : NULL;
}

static const Form *combine_forms(Forms *forms, Op op, const Form *a, const Form *b) {
    int64_t divisor;
    switch (op) {
    case OP_ADD: return form_add(forms, a, b);
    case OP_SUB: return form_add_scaled(forms, a, -1, b);
    case OP_MUL: return form_product(forms, a, b);
    case OP_DIV: return affine_is_int(b, &divisor) && divisor > 0 ? form_divide(forms, a, b) : NULL;
    case OP_MOD: return affine_is_int(b, &divisor) && divisor > 0 ? form_modulo(forms, a, b) : NULL;
    case OP_MIN:
    case OP_MAX: return form_extreme(forms, op, a, b);
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

/* --- loops -------------------------------------------------------------------------------------------------------- */

static const Loop *visited_loop(const Expr *e, LoopOutside *visit, const void *context) {
    const Loop *loop = e->kind == EXPR_VAR && e->var->kind == VAR_LOOP ? &node_of(e->var)->loop : NULL;
    return loop != NULL && visit(context, loop) ? loop : NULL;
}

/* Most atoms are variables, which need no walk. */
static const Loop *find_loop(const Expr *atom, LoopOutside *visit, const void *context) {
    const Loop *found = visited_loop(atom, visit, context);
    if (found != NULL || atom->kind == EXPR_VAR)
        return found;
    EACH_EXPR(e, atom)
        if ((found = visited_loop(e, visit, context)) != NULL)
            return found;
    return NULL;
}

const Loop *form_find_loop(const Form *form, LoopOutside *visit, const void *context) {
    const Loop *found = NULL;
    for (int i = 0; i < form->count && found == NULL; i++)
        found = find_loop(form->terms[i].atom, visit, context);
    return found;
}

static bool is_loop(const void *context, const Loop *loop) {
    return loop == context;
}

bool form_has_loop(const Form *form, const Loop *loop) {
    return form_find_loop(form, is_loop, loop) != NULL;
}

/* --- spans -------------------------------------------------------------------------------------------------------- */

typedef struct FormSpan {
    Forms *forms;
    LoopOutside *outside;
    const void *context;
    const Form *low, *width;
} FormSpan;

static bool is_inside(const void *context, const Loop *loop) {
    const FormSpan *span = context;
    return !span->outside(span->context, loop);
}

static bool span_of_form(FormSpan *span, const Form *form);

static bool span_of_argument(FormSpan *span, const Expr *atom, int argument) {
    return span_of_form(span, form_of(span->forms, atom->args[argument]));
}

/* x / c for x in low .. low + width: low is r modulo g, so its remainder is at most c - g + r. */
static bool span_of_division(FormSpan *span, const Expr *atom) {
    Forms *forms = span->forms;
    int64_t divisor;
    if (!expr_is_int(atom->args[1], &divisor) || !span_of_argument(span, atom, 0))
        return false;
    const Form *low = span->low, *by = form_int(forms, divisor);
    int64_t common = divisor;
    for (int i = 0; i < low->count; i++)
        common = greatest_divisor(common, low->terms[i].coefficient);
    int64_t remainder = divisor - common + floor_mod(low->constant, common);
    span->low = form_divide(forms, low, by);
    span->width = form_divide(forms, form_add_int(forms, span->width, remainder), by);
    return true;
}

/* From 0 or the least value of its range to the greatest. */
static bool span_of_range(FormSpan *span, Expr *atom) {
    const Form *alone = form_atom(span->forms, atom);
    const Form *low = form_lower(span->forms, alone), *high = form_upper(span->forms, alone);
    if (low == NULL || high == NULL)
        return false;
    span->low = low;
    span->width = form_add_scaled(span->forms, high, -1, low);
    return true;
}

static bool span_of_modulo(FormSpan *span, Expr *atom) {
    FormSpan quotient = *span, divided = *span;
    int64_t crossings;
    if (!span_of_division(&quotient, atom) || !affine_is_int(quotient.width, &crossings) || crossings != 0)
        return span_of_range(span, atom);
    span_of_argument(&divided, atom, 0);
    span->low = form_modulo(span->forms, divided.low, form_of(span->forms, atom->args[1]));
    span->width = divided.width;
    return true;
}

/* min and max move by no more than their operands do. */
static bool span_of_extreme(FormSpan *span, const Expr *atom) {
    FormSpan a = *span, b = *span;
    if (!span_of_argument(&a, atom, 0) || !span_of_argument(&b, atom, 1))
        return false;
    span->low = form_extreme(span->forms, atom->op, a.low, b.low);
    span->width = form_extreme(span->forms, OP_MAX, a.width, b.width);
    return true;
}

static bool span_of_atom(FormSpan *span, Expr *atom) {
    if (atom->kind == EXPR_VAR) {
        span->low = form_int(span->forms, 0);
        span->width = form_add_int(span->forms, node_of(atom->var)->extent, -1);
        return true;
    }
    switch (atom->op) {
    case OP_DIV: return span_of_division(span, atom) || span_of_range(span, atom);
    case OP_MOD: return span_of_modulo(span, atom);
    case OP_MIN:
    case OP_MAX: return span_of_extreme(span, atom);
    default: return false;
    }
}

static bool span_of_form(FormSpan *span, const Form *form) {
    Forms *forms = span->forms;
    const Form *low = form_int(forms, form->constant), *width = form_int(forms, 0);
    for (int i = 0; i < form->count; i++) {
        Term term = form->terms[i];
        if (find_loop(term.atom, is_inside, span) == NULL) {
            low = form_add_scaled(forms, low, term.coefficient, form_atom(forms, term.atom));
            continue;
        }
        FormSpan part = *span;
        if (!span_of_atom(&part, term.atom))
            return false;
        low = form_add_scaled(forms, low, term.coefficient, part.low);
        low = form_add_scaled(forms, low, term.coefficient < 0 ? term.coefficient : 0, part.width);
        width = form_add_scaled(forms, width, term.coefficient < 0 ? -term.coefficient : term.coefficient, part.width);
    }
    span->low = low;
    span->width = width;
    return true;
}

bool form_span(Forms *forms, const Form *form, LoopOutside *outside, const void *context, const Form **low,
               const Form **width) {
    FormSpan span = {.forms = forms, .outside = outside, .context = context};
    if (!span_of_form(&span, form))
        return false;
    *low = span.low;
    *width = span.width;
    return true;
}
