/* conditions.h - the arithmetic of conditions, which are comparisons of whole numbers. Private to lower/kernel. */
#ifndef LOWER_KERNEL_CONDITIONS_H
#define LOWER_KERNEL_CONDITIONS_H

#include "lower/kernel/statements.h"

/* Writes a comparison as difference < 0, or with or_equal as difference <= 0. */
bool as_difference(Arena *arena, const Expr *condition, Affine *difference, bool *or_equal);
/* For a condition that holds for small values of var and then for none: the first value where it does not hold. That
 * value may be negative or beyond the extent. False when the condition has another form. */
bool first_failure(Arena *arena, Expr *condition, const Var *var, Expr **first);
/* For a condition that holds for no small value of var and then for all: the first value where it holds, likewise.
 * False when the condition has another form. */
bool first_success(Arena *arena, Expr *condition, const Var *var, Expr **first);
/* Writes the condition as slope * var == numerator, slope > 0. False when it has another form. */
bool equal_value(Arena *arena, Expr *condition, const Var *var, Expr **numerator, int64_t *slope);
/* The condition at the values of some variables where it is hardest (worst) or easiest to meet. If the worst case
 * holds, the condition holds for all of these values; if the easiest does not, for none. NULL when a variable is hidden
 * in a division or the like. */
Expr *extreme_case(Arena *arena, Expr *condition, const Var *const *vars, int count, bool worst);

typedef LIST(const Tensor *) Tensors;
bool has_tensor(const Tensors *tensors, const Tensor *tensor);
/* The condition as it can be tested before the loops of vars, in which some tensors are written; NULL: it reads these,
 * or at places that depend on vars. */
Expr *steady_condition(Arena *arena, Expr *condition, const Var *const *vars, int count, const Tensors *written);

#endif
