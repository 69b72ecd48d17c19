/* form.c - see form.h. Sums of forms are made at once, all else by way of a Sum. */
#include "lang/form.h"
#include "lang/value.h"

#include <string.h>

static Form *form_new(Forms *forms, int64_t constant, int room) {
    Form *form = arena_alloc(forms->arena, sizeof(Form) + sizeof(Term) * (size_t)room);
    *form = (Form){.constant = constant, .terms = (Term *)(form + 1)};
    return form;
}

/* A form as an operand of what works on sums: it shares the terms and is only read. */
static void sum_of_form(Sum *sum, const Forms *forms, const Form *form) {
    sum_over(sum, forms->arena, form);
    sum->limits = &forms->limits;
}

static const Form *form_of_sum(Forms *forms, const Sum *sum) {
    Form *form = form_new(forms, sum->constant, sum->count);
    forms->overflow |= sum->overflow;
    form->count = sum->count;
    memcpy(form->terms, sum->terms, sizeof *sum->terms * (size_t)sum->count);
    return form;
}

/* --- sums --------------------------------------------------------------------------------------------------------- */

const Form *form_int(Forms *forms, int64_t value) {
    static const Form common[] = {{.constant = 0}, {.constant = 1}};
    return value == 0 || value == 1 ? &common[value] : form_new(forms, value, 0);
}

const Form *form_atom(Forms *forms, const Expr *atom) {
    Form *form = form_new(forms, 0, 1);
    form->count = 1;
    form->terms[0] = (Term){1, (Expr *)atom};
    return form;
}

static const Form *constant_sum(Forms *forms, int64_t a, int64_t factor, int64_t b) {
    int64_t product, sum;
    forms->overflow |= __builtin_mul_overflow(factor, b, &product) | __builtin_add_overflow(a, product, &sum);
    return form_int(forms, sum);
}

const Form *form_add_scaled(Forms *forms, const Form *a, int64_t factor, const Form *b) {
    if (factor == 0 || affine_is_zero(b))
        return a;
    if (factor == 1 && affine_is_zero(a))
        return b;
    if (a->count == 0 && b->count == 0)
        return constant_sum(forms, a->constant, factor, b->constant);
    Sum sum;
    Form *form = form_new(forms, 0, a->count + b->count);
    sum_init(&sum, forms->arena);
    sum.terms = form->terms;
    sum.capacity = a->count + b->count;
    sum_add_affine(&sum, 1, a);
    sum_add_affine(&sum, factor, b);
    forms->overflow |= sum.overflow;
    *form = sum.affine;
    return form;
}

const Form *form_add(Forms *forms, const Form *a, const Form *b) {
    return form_add_scaled(forms, a, 1, b);
}

/* It shares the terms. */
const Form *form_add_int(Forms *forms, const Form *a, int64_t value) {
    if (value == 0)
        return a;
    Form *sum = ARENA_NEW(forms->arena, Form);
    *sum = *a;
    forms->overflow |= __builtin_add_overflow(a->constant, value, &sum->constant);
    return sum;
}

/* Whatever order the terms stand in. What is below an atom is left out. */
uint64_t form_hash(const Form *form) {
    uint64_t sum = (uint64_t)form->constant;
    for (int i = 0; i < form->count; i++) {
        const Expr *atom = form->terms[i].atom;
        uint64_t own = atom->kind == EXPR_VAR ? (uintptr_t)atom->var >> 4 : (uint64_t)atom->op;
        sum += (own + 1) * 0x9e3779b97f4a7c15u * (2 * (uint64_t)form->terms[i].coefficient + 1);
    }
    return sum;
}

static int64_t coefficient_of(const Form *form, Expr *atom) {
    for (int i = 0; i < form->count; i++)
        if (atom_equal(form->terms[i].atom, atom))
            return form->terms[i].coefficient;
    return 0;
}

bool form_equal(const Form *a, const Form *b) {
    bool equal = a->constant == b->constant && a->count == b->count;
    for (int i = 0; a != b && equal && i < a->count; i++) {
        Term term = a->terms[i], same = b->terms[i]; /* most stand in the same order */
        int64_t other = atom_equal(same.atom, term.atom) ? same.coefficient : coefficient_of(b, term.atom);
        equal = other == term.coefficient;
    }
    return equal;
}

/* --- products and quotients --------------------------------------------------------------------------------------- */

typedef void CombineSums(Sum *sum, int64_t coefficient, const Sum *a, const Sum *b);

static const Form *combine(Forms *forms, CombineSums *combination, const Form *a, const Form *b) {
    Sum sum, left, right;
    sum_init(&sum, forms->arena);
    sum_of_form(&left, forms, a);
    sum_of_form(&right, forms, b);
    combination(&sum, 1, &left, &right);
    return form_of_sum(forms, &sum);
}

const Form *form_multiply(Forms *forms, const Form *a, const Form *b) {
    if (a->count == 0)
        return form_add_scaled(forms, form_int(forms, 0), a->constant, b);
    if (b->count == 0)
        return form_add_scaled(forms, form_int(forms, 0), b->constant, a);
    Expr *product = expr_binary(forms->arena, OP_MUL, affine_expr(forms->arena, a), affine_expr(forms->arena, b));
    return form_atom(forms, product);
}

const Form *form_divide(Forms *forms, const Form *a, const Form *b) {
    if (a->count == 0 && b->count == 0 && b->constant > 0)
        return form_int(forms, floor_div(a->constant, b->constant));
    return b->count == 0 && b->constant == 1 ? a : combine(forms, sum_add_quotient, a, b);
}

const Form *form_modulo(Forms *forms, const Form *a, const Form *b) {
    return combine(forms, sum_add_remainder, a, b);
}

const Form *form_divide_both(Forms *forms, const Form *a, const Form *b, const Form **remainder) {
    Sum quotient, rest, dividend, divisor;
    sum_init(&quotient, forms->arena);
    sum_init(&rest, forms->arena);
    sum_of_form(&dividend, forms, a);
    sum_of_form(&divisor, forms, b);
    sum_divide(&quotient, &rest, &dividend, &divisor);
    *remainder = form_of_sum(forms, &rest);
    return form_of_sum(forms, &quotient);
}

void form_note_limit(Forms *forms, const Form *quotient, const Form *limit) {
    Expr *atom = quotient->count == 1 ? quotient->terms[0].atom : NULL;
    if (atom != NULL && quotient->constant == 0 && quotient->terms[0].coefficient == 1 && atom->kind == EXPR_OP &&
        (atom->op == OP_DIV || atom->op == OP_MOD) && atom->args[1]->kind != EXPR_INT)
        list_push(forms->arena, &forms->limits, ((AtomLimit){atom, limit}));
}

/* --- bounds ------------------------------------------------------------------------------------------------------- */

static const Form *bound(Forms *forms, const Form *form, bool upper) {
    Sum end, sum;
    sum_of_form(&sum, forms, form);
    if (affine_is_over_sizes(&sum.affine))
        return form;
    sum_bound(&end, &sum, upper);
    return !end.overflow && affine_is_over_sizes(&end.affine) ? form_of_sum(forms, &end) : NULL;
}

const Form *form_upper(Forms *forms, const Form *form) {
    return bound(forms, form, true);
}

const Form *form_lower(Forms *forms, const Form *form) {
    return bound(forms, form, false);
}

/* b - a - plus: what both share cancels before bounds are taken. */
static void difference_of(Sum *difference, const Forms *forms, const Form *a, int64_t plus, const Form *b) {
    sum_init(difference, forms->arena);
    sum_add_affine(difference, 1, b);
    sum_add_affine(difference, -1, a);
    sum_add_constant(difference, -1, plus);
    difference->limits = &forms->limits;
}

/* a + plus <= b. */
static bool is_at_most(Forms *forms, const Form *a, int64_t plus, const Form *b) {
    Sum difference;
    if (a->count == 0 && b->count == 0)
        return a->constant < b->constant || (a->constant == b->constant && plus == 0);
    difference_of(&difference, forms, a, plus, b);
    return sum_is_nonnegative(&difference);
}

bool form_at_most(Forms *forms, const Form *a, const Form *b) {
    return is_at_most(forms, a, 0, b);
}

bool form_below(Forms *forms, const Form *a, const Form *b) {
    return is_at_most(forms, a, 1, b);
}

const Form *form_extreme(Forms *forms, Op op, const Form *a, const Form *b) {
    Sum difference;
    difference_of(&difference, forms, a, 0, b);
    int order = sum_order(&difference);
    if (order)
        return (order > 0) == (op == OP_MIN) ? a : b;
    return form_atom(forms, expr_binary(forms->arena, op, affine_expr(forms->arena, a), affine_expr(forms->arena, b)));
}

const Form *form_of(Forms *forms, Expr *e) {
    Sum sum;
    sum_init(&sum, forms->arena);
    sum_add_expr(&sum, 1, e, false);
    return form_of_sum(forms, &sum);
}
