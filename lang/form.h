/* form.h - sums of integer terms that never change once they are made: what a search computes indices with.
 *
 * A Form is an Affine that others may share: constant + sum of coefficient * atom, each atom once. It follows the rules
 * of Sum (lang/sum.h), which is the same while it is being made: both divide, compare and bound by one code. Its atoms
 * are taken as simplified. Arithmetic that leaves 64 bits sets Forms.overflow and gives some form; the caller looks at
 * it before it trusts a result.
 */
#ifndef LANG_FORM_H
#define LANG_FORM_H

#include "lang/sum.h"

typedef Affine Form;

typedef struct Forms {
    Arena *arena;
    bool overflow;
    AtomLimits limits; /* that were noted */
} Forms;

const Form *form_int(Forms *forms, int64_t value);
const Form *form_atom(Forms *forms, const Expr *atom);
const Form *form_add(Forms *forms, const Form *a, const Form *b);
const Form *form_add_scaled(Forms *forms, const Form *a, int64_t factor, const Form *b); /* a + factor * b */
const Form *form_add_int(Forms *forms, const Form *a, int64_t value);
/* Of two that are no constants it is one atom: (n - 1) * m stays as it is. */
const Form *form_multiply(Forms *forms, const Form *a, const Form *b);
/* By 0, as of a fused loop that never runs, they give something. */
const Form *form_divide(Forms *forms, const Form *a, const Form *b);
const Form *form_modulo(Forms *forms, const Form *a, const Form *b);
const Form *form_divide_both(Forms *forms, const Form *a, const Form *b, const Form **remainder); /* gives a / b */
/* Of a quotient or remainder by sizes: notes that it is at least 0 and below the limit. */
void form_note_limit(Forms *forms, const Form *quotient, const Form *limit);
const Form *form_extreme(Forms *forms, Op min_or_max, const Form *a, const Form *b);

bool form_equal(const Form *a, const Form *b);
uint64_t form_hash(const Form *form); /* the same of equal ones */
/* Proved for all values of loops and sizes: a < b, a <= b. */
bool form_below(Forms *forms, const Form *a, const Form *b);
bool form_at_most(Forms *forms, const Form *a, const Form *b);
/* A bound over sizes alone that is not exceeded; NULL when there is none that is known. */
const Form *form_upper(Forms *forms, const Form *form);
const Form *form_lower(Forms *forms, const Form *form);

/* Of an expression whose parts are simplified, all that it names being an atom. */
const Form *form_of(Forms *forms, Expr *e);

#endif
