/* guards.h - what the files of the pass that moves conditions out of loops share. Private to kernel/guards.c,
 * kernel/conditions.c, kernel/version.c, kernel/choice.c and kernel/checks.c.
 */
#ifndef LOWER_KERNEL_GUARDS_H
#define LOWER_KERNEL_GUARDS_H

#include "lower/kernel/passes.h"

/* Moves conditions out of loops that they do not depend on, and into the extents of loops that they cut short. */
/* Whether the expression uses the variable of a reduction loop. */
bool uses_reduction(const Expr *e);
StmtList tighten_body(Arena *arena, Stmt *const *body, int count);
/* Makes copies of loops that need no conditions; notes where there would be too many. */
StmtList version_body(Kernel *kernel, const StmtList *body);
/* Writes a comparison as difference < 0, or with or_equal as difference <= 0. */
bool as_difference(Arena *arena, const Expr *condition, Affine *difference, bool *or_equal);
/* For a condition that holds for small values of var and then for none: the first value where it does not hold. That
 * value may be negative or beyond the extent. False when the condition has another form. */
bool first_failure(Arena *arena, Expr *condition, const Var *var, Expr **first);
/* For a condition that holds for no small value of var and then for all: the first value where it holds, likewise.
 * False when the condition has another form. */
bool first_success(Arena *arena, Expr *condition, const Var *var, Expr **first);
typedef LIST(const Tensor *) Tensors;
/* The condition as it can be tested before the loops of vars, in which some tensors are written; NULL: it reads these,
 * or at places that depend on vars. */
Expr *steady_condition(Arena *arena, Expr *condition, const Var *const *vars, int count, const Tensors *written);
/* Writes the condition as slope * var == numerator, slope > 0. False when it has another form. */
bool equal_value(Arena *arena, Expr *condition, const Var *var, Expr **numerator, int64_t *slope);
/* A condition that chooses between values, and its opposite. tests[i] must hold for sides[i] to hold for all values of
 * the loops inside. */
typedef struct Choice {
    Expr *sides[2], *tests[2];
    bool uniform; /* it does not depend on any loop inside */
} Choice;
/* The first choice in some statements whose condition changes with expanded loops alone. False when there is none, or
 * when the statements reduce or are too many. */
bool find_choice(Arena *arena, Stmt *const *run, int count, Choice *choice);

#endif
