/* sizes.h - sizes, extents and ends of ranges as expressions in one normal form: the sum that lang's size_affine makes.
 */
#ifndef SEMA_SIZES_H
#define SEMA_SIZES_H

#include "lang/sum.h"

/* Minima of sizes that are made of minima may double with each statement. */
enum { SIZE_NODE_LIMIT = 512 };

/* e in it; e itself if that overflows. */
Expr *size_normal(Arena *arena, Expr *e);
/* The smaller or the larger of two: decided if possible, else min or max. */
Expr *size_min(Arena *arena, Expr *a, Expr *b);
Expr *size_max(Arena *arena, Expr *a, Expr *b);
bool size_equal(Arena *arena, Expr *a, Expr *b);
/* Whether its sum has too many terms. */
bool size_is_too_long(Arena *arena, Expr *e);

/* Whether p < 0 whenever all sizes in it are at least 2. Then p >= 0 would be useless as a requirement. */
bool affine_negative_for_real_sizes(const Affine *p);

#endif
