/* guards.h - the files of the pass that moves conditions out of loops. Private to kernel/guards.c, kernel/conditions.c,
 * kernel/version.c, kernel/choice.c and kernel/checks.c.
 */
#ifndef LOWER_KERNEL_GUARDS_H
#define LOWER_KERNEL_GUARDS_H

#include "lower/kernel/passes.h"

/* Moves conditions out of loops that they do not depend on and into the extents of loops that they cut short. */
StmtList tighten_body(Arena *arena, Stmt *const *body, int count);
/* Makes copies without conditions. */
StmtList version_body(Arena *arena, const Target *target, const StmtList *body);
/* A comparison as difference < 0 (or, or_equal, <= 0). */
bool as_difference(Arena *arena, const Expr *condition, Affine *difference, bool *or_equal);
/* For a condition that holds for small values of var and then for none: the first value where it does not hold,
 * possibly negative or beyond the extent. False when the condition has another form. */
bool first_failure(Arena *arena, Expr *condition, const Var *var, Expr **first);
/* For a condition that holds for no small value of var and then for all: the first value where it holds, possibly
 * negative or beyond the extent. False when the condition has another form. */
bool first_success(Arena *arena, Expr *condition, const Var *var, Expr **first);
/* Whether all that the condition reads are inputs, at places that are there for all values of its variables and the
 * same for all of vars: it can be asked before their loops. */
bool reads_steadily(Arena *arena, const Expr *condition, const Var *const *vars, int count);
/* For slope * var == numerator: false when the condition has another form. slope > 0. */
bool equal_value(Arena *arena, Expr *condition, const Var *var, Expr **numerator, int64_t *slope);
/* A condition that values are chosen by, and its opposite; what has to hold for either to hold for all values of the
 * loops inside. */
typedef struct Choice {
    Expr *sides[2], *tests[2];
    bool uniform; /* it is about no loop inside */
} Choice;
/* The first one in some statements that loops inside do not decide, unless the statements are many. */
bool find_choice(Arena *arena, Stmt *const *run, int count, Choice *choice);

#endif
