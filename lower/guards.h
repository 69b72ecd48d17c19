/* guards.h - the two files of the pass that moves conditions out of loops.  Private to lower/kernel_guards.c and
 * kernel_version.c.
 */
#ifndef LOWER_GUARDS_H
#define LOWER_GUARDS_H

#include "lower/passes.h"

/* Moves conditions out of loops that they do not depend on and into the extents of loops that they cut short. */
StmtList tighten_body(Arena *arena, Stmt *const *body, int count);
/* Makes copies without conditions. */
StmtList version_body(Arena *arena, const StmtList *body);
/* For a condition that holds for small values of var and then for none: the first value where it does not hold,
 * possibly negative or beyond the extent. False when the condition has another form. */
bool first_failure(Arena *arena, Expr *condition, const Var *var, Expr **first);

/* The condition at the values of some loops where it is hardest to hold (worst) or easiest: it holds for all of their
 * values only if the first holds, for none if the second does not. NULL when a variable is hidden in a division or the
 * like. */
Expr *extreme_case(Arena *arena, Expr *condition, Stmt *const *loops, int count, bool worst);

#endif
