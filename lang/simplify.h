/* simplify.h - what simplify.c and prove.c share about conditions on indices. */
#ifndef LANG_SIMPLIFY_H
#define LANG_SIMPLIFY_H

#include "lang/sum.h"

/* D such that `a op b`, an inequality of indices, says D < 0. False on overflow. */
bool inequality_of(Sum *d, Arena *arena, Op op, Expr *a, Expr *b, bool simplify_parts);
/* D such that a == b says D == 0. */
bool equation_of(Sum *d, Arena *arena, Expr *a, Expr *b, bool simplify_parts);

#endif
