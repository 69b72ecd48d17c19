/* form.h - indices of a nest as forms over its loops: the arithmetic behind boxes, guards and footprints. Private to
 * lower/nest.
 *
 * The atoms of these forms are loop variables, sizes, and what lang/form.h makes of both. A loop variable belongs to a
 * Node, whose extent is known before a bound is asked for.
 */
#ifndef LOWER_NEST_FORM_H
#define LOWER_NEST_FORM_H

#include "lang/form.h"
#include "lower/nest/nest.h"

/* NULL when both hold loops or one is not affine. */
const Form *form_product(Forms *forms, const Form *a, const Form *b);
/* The form of an index expression whose variables stand for forms. NULL when it is not affine in them (a product of
 * two, a read from memory). find gives the form of an axis, NULL for any other variable. */
typedef const Form *FindForm(const void *context, const Var *var);
const Form *form_of_expr(Forms *forms, const Expr *e, FindForm *find, const void *context);

/* The span of a form while the loops that `outside` denies run and the others stand still: from low, over what stands
 * still, to low + width, width over sizes. False when nothing is known. */
typedef bool LoopOutside(const void *context, const Loop *loop);
bool form_span(Forms *forms, const Form *form, LoopOutside *outside, const void *context, const Form **low,
               const Form **width);
/* Visits every loop in a form, also those inside divisions, and returns the first for which visit returns true. */
const Loop *form_find_loop(const Form *form, LoopOutside *visit, const void *context);
bool form_has_loop(const Form *form, const Loop *loop); /* also inside a division */

#endif
