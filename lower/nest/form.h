/* form.h - indices of a nest as forms over its loops: the arithmetic behind boxes, guards and footprints.
 * Private to lower/nest.
 *
 * The atoms of these forms are variables of loops, sizes, and what lang/form.h makes of both. A loop's is the variable
 * of a Node, whose extent is known by the time that a bound is asked for.
 */
#ifndef LOWER_NEST_FORM_H
#define LOWER_NEST_FORM_H

#include "lang/form.h"
#include "lower/nest/nest.h"

/* NULL when both hold loops or one is not affine. */
const Form *form_product(Forms *forms, const Form *a, const Form *b);
/* An index expression over variables that stand for forms; NULL when it is not affine in them (a product of two, a read
 * from memory). find gives the form of an axis, NULL when it is none. */
typedef const Form *FindForm(const void *context, const Var *var);
const Form *form_of_expr(Forms *forms, const Expr *e, FindForm *find, const void *context);

/* The values that a form takes while the loops that `outside` denies run and the others stand still: from low, an
 * expression over what stands still, up to low + width, width over sizes. False when nothing is known. */
typedef bool LoopOutside(const void *context, const Loop *loop);
bool form_span(Forms *forms, const Form *form, LoopOutside *outside, const void *context, const Form **low,
               const Form **width);
/* Visits every loop in a form, also those inside divisions; stops at and returns the first that visit answers true
 * for. */
const Loop *form_find_loop(const Form *form, LoopOutside *visit, const void *context);
bool form_has_loop(const Form *form, const Loop *loop); /* also inside a division */

#endif
