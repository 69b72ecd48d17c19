/* forms.c - see forms.h. */
#include "autosched/model/forms.h"

#include <math.h>
#include <string.h>

void linear_clear(const LinearForms *forms, double *form) {
    memset(form, 0, sizeof *form * (size_t)(forms->count + 1));
}

double extent_of(const LinearForms *forms, int loop) {
    return forms->loops[loop]->extent > 0 ? (double)forms->loops[loop]->extent : forms->typical;
}

/* A size with a limit is about in the middle of what it may be. */
static double size_of(const LinearForms *forms, const Var *size) {
    return size->most ? fmin(forms->typical, ceil((double)size->most / 2)) : forms->typical;
}

/* form is clear. */
static void form_of_var(LinearForms *forms, const Var *var, double *form) {
    if (var->kind == VAR_SIZE) {
        form[forms->count] = size_of(forms, var);
        return;
    }
    double step = 0; /* a part of a fused loop counts the values of all parts inside it */
    for (int l = forms->count - 1; l >= 0 && var->kind == VAR_LOOP; l--)
        if (forms->loops[l]->var == var) {
            form[l] = step > 0 ? step : 1;
            step = form[l] * extent_of(forms, l);
        }
    if (step > 0)
        return;
    const Stage *stage = forms->stage;
    for (int a = 0; stage && forms->axes && a < stage->axis_count + stage->reduction_count; a++)
        if ((a < stage->axis_count ? stage->axes[a] : stage->reductions[a - stage->axis_count]) == var) {
            memcpy(form, forms->axes + a * (forms->count + 1), sizeof *form * (size_t)(forms->count + 1));
            return;
        }
}

static bool is_constant(const LinearForms *forms, const double *form) {
    for (int l = 0; l < forms->count; l++)
        if (form[l] != 0)
            return false;
    return true;
}

/* Whether the quotient by a constant stays the same over all values of a loop, with the others at their start. */
static bool quotient_stays(const LinearForms *forms, const double *a, int loop, double by) {
    double start = a[forms->count] - fabs(by) * floor(a[forms->count] / fabs(by));
    return start + fabs(a[loop]) * (extent_of(forms, loop) - 1) < fabs(by);
}

/* The index repeats while the loop goes on: its lanes have no stride. */
static double returning_slope(const LinearForms *forms, const double *a, int loop) {
    return a[loop] != 0 && forms->loops[loop]->kind == LOOP_VECTORIZED ? 0.5 : 0;
}

static void form_scale(const LinearForms *forms, double factor, const double *form, double *result) {
    for (int l = 0; l <= forms->count; l++)
        result[l] = form[l] * factor;
}

/* a + b or a - b. */
static void form_add_form(const LinearForms *forms, bool subtract, double *a, const double *b) {
    for (int l = 0; l <= forms->count; l++)
        a[l] += subtract ? -b[l] : b[l];
}

/* a * b, a quotient, a remainder, or what has the slopes of the first. Remainders get the slopes that quotients drop,
 * so that by * (a / by) + a % by is a. A product of two varying forms has the slopes of the first, with b at a typical
 * value. */
static void form_combine(const LinearForms *forms, Op op, double *a, const double *b) {
    int last = forms->count;
    bool divides = op == OP_DIV || op == OP_MOD;
    double by = b[last] != 0 ? b[last] : 1;
    for (int l = 0; l < last; l++)
        if (op == OP_MUL)
            a[l] *= b[last];
        else if (divides && a[l] != 0) {
            bool stays = quotient_stays(forms, a, l, by);
            a[l] = op == OP_DIV ? (stays ? 0 : a[l] / by) : stays ? a[l] : returning_slope(forms, a, l);
        }
    a[last] = op == OP_MUL ? a[last] * b[last] : op == OP_DIV ? floor(a[last] / by) : a[last];
}

/* Whether only the first of several values of a loop is not beyond a limit, as in min(v, 1). */
static bool is_limited(const LinearForms *forms, Op op, const double *form, double limit) {
    int moving = -1;
    for (int l = 0; l < forms->count; l++)
        if (form[l] != 0 && moving >= 0)
            return false;
        else if (form[l] != 0)
            moving = l;
    if (moving < 0 || extent_of(forms, moving) < 3)
        return false;
    double second = form[forms->count] + form[moving];
    return op == OP_MIN ? form[moving] > 0 && second >= limit : form[moving] < 0 && second <= limit;
}

/* The minimum or maximum of a form and a constant: the form, or what it is for almost all values. */
static void form_limit(const LinearForms *forms, Op op, double *form, const double *limit) {
    if (is_limited(forms, op, form, limit[forms->count]))
        memcpy(form, limit, sizeof *form * (size_t)(forms->count + 1));
}

/* A number times a form, which most operators of an index are. */
static void form_of_multiple(LinearForms *forms, const Expr *e, double *form) {
    linear_form(forms, e->args[1], form);
    form_scale(forms, (double)e->args[0]->integer, form, form);
}

/* Adds the variable of a loop, or a number times one, which most terms of an index are. False: e is another term. */
static bool add_loop(const LinearForms *forms, const Expr *e, double *form) {
    bool multiple = expr_is_op(e, OP_MUL) && e->args[0]->kind == EXPR_INT;
    const Expr *of = multiple ? e->args[1] : e;
    if (of->kind != EXPR_VAR || of->var->kind != VAR_LOOP)
        return false;
    double factor = multiple ? (double)e->args[0]->integer : 1, step = 0;
    for (int l = forms->count - 1; l >= 0; l--) {
        double slope = 0;
        if (forms->loops[l]->var == of->var) {
            slope = step > 0 ? step : 1;
            step = slope * extent_of(forms, l);
        }
        form[l] += slope * factor;
    }
    return true;
}

/* Whether a remainder is the number itself but near the ends: `else wrap` makes such ones, and parts of fused loops and
 * of layouts are others. Tiles inside have a copy that reads so. */
static bool is_mostly_inside(const LinearForms *forms, const double *form, double period) {
    double reach = 0;
    if (form[forms->count] == 0 && period <= BLOCK_MOST)
        return false;
    for (int l = 0; l < forms->count; l++)
        reach += fabs(form[l]) * (extent_of(forms, l) - 1);
    return reach < 1.5 * period;
}

static void form_of_operation(LinearForms *forms, const Expr *e, double *form) {
    const Expr *period, *reflected = reflected_index_by(e, &period);
    if (reflected) { /* it is so but near the ends */
        linear_form(forms, reflected, form);
        return;
    }
    if (e->op == OP_MUL && e->args[0]->kind == EXPR_INT) {
        form_of_multiple(forms, e, form);
        return;
    }
    double other[forms->count + 1];
    int first = e->op == OP_SELECT ? 1 : 0;
    linear_form(forms, e->args[first], form);
    if (e->count - first < 2 || (e->op == OP_ADD && add_loop(forms, e->args[1], form)))
        return;
    linear_form(forms, e->args[first + 1], other);
    bool limits = e->op == OP_MIN || e->op == OP_MAX;
    if (e->op == OP_MOD && is_mostly_inside(forms, form, other[forms->count]))
        return;
    if (limits && is_constant(forms, form) && !is_constant(forms, other)) {
        form_limit(forms, e->op, other, form);
        memcpy(form, other, sizeof other);
    } else if (limits && is_constant(forms, other))
        form_limit(forms, e->op, form, other);
    else if (e->op == OP_SELECT && is_constant(forms, form))
        memcpy(form, other, sizeof other);
    else if (e->op == OP_ADD || e->op == OP_SUB)
        form_add_form(forms, e->op == OP_SUB, form, other);
    else if (e->op == OP_MUL && is_constant(forms, form))
        form_scale(forms, form[forms->count], other, form);
    else
        form_combine(forms, e->op, form, other);
}

/* An index read from memory is taken as different for each place that it is read from. */
static void form_of_gather(LinearForms *forms, const Expr *e, double *form) {
    double other[forms->count + 1];
    for (int a = 0; a < e->count; a++) {
        linear_form(forms, e->args[a], other);
        for (int l = 0; l < forms->count; l++)
            form[l] = fmax(fabs(form[l]), fabs(other[l]) > 0 ? 1 : 0);
    }
    forms->irregular = true;
}

void linear_form(LinearForms *forms, const Expr *e, double *form) {
    linear_clear(forms, form);
    switch (e->kind) {
    case EXPR_INT: form[forms->count] = (double)e->integer; break;
    case EXPR_VAR: form_of_var(forms, e->var, form); break;
    case EXPR_OP: form_of_operation(forms, e, form); break;
    case EXPR_CAST: linear_form(forms, e->args[0], form); break;
    case EXPR_READ: form_of_gather(forms, e, form); break;
    default: break;
    }
}

double linear_constant(const Expr *e, double typical) {
    if (e->kind == EXPR_INT)
        return (double)e->integer;
    LinearForms none = {.typical = typical};
    double value;
    linear_form(&none, e, &value);
    return value < 1 ? 1 : value;
}

bool moves_in_lanes(const LinearForms *forms, const double *form) {
    for (int l = 0; l < forms->count; l++)
        if (form[l] != 0 && forms->loops[l]->kind == LOOP_VECTORIZED)
            return true;
    return false;
}
