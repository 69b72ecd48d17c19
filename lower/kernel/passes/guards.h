/* guards.h - what the files of the pass that moves conditions out of loops share: guards.c, version.c,
 * collect.c, choice.c and within.c. */
#ifndef LOWER_KERNEL_PASSES_GUARDS_H
#define LOWER_KERNEL_PASSES_GUARDS_H

#include "lower/kernel/conditions.h"

/* Whether the expression uses the variable of a reduction loop. */
bool uses_reduction(const Expr *e);
/* Moves conditions out of loops that they do not depend on, and into the extents of loops that they cut short. */
StmtList tighten_body(Arena *arena, Stmt *const *body, int count);
/* Makes copies of loops that need no conditions; notes where there would be too many. */
StmtList version_body(Kernel *kernel, const StmtList *body);
/* A condition that chooses between values, and its opposite. tests[i] must hold for sides[i] to hold for all values of
 * the loops inside. */
typedef struct Choice {
    Expr *sides[2], *tests[2];
    bool uniform; /* it does not depend on any loop inside */
} Choice;
/* The first choice in some statements whose condition changes with expanded loops alone. False when there is none, or
 * when the statements reduce or are too many. */
bool find_choice(Arena *arena, Stmt *const *run, int count, Choice *choice);
/* What an index is where all of the conditions hold, if it takes such a number back inside its tensor (within.c). NULL:
 * it does not. Where the near ones hold, remainders by run-time sizes go round once at most; near may be NULL. */
Expr *index_within(Arena *arena, const Expr *index, ExprList *conditions, ExprList *near);

#endif
