/* sizes.h - affine sums over sizes and index variables: the normal form in which ranges and bounds are computed.
 *
 * Every int64 expression is constant + the sum of coefficient * atom. An atom is a product of factors, sorted. What is
 * neither a sum nor a product (a division, min, a read) is a factor; its operands are in normal form. Functions return
 * false if a coefficient overflows or a sum has more than SUM_TERM_LIMIT terms. No answer is ever wrong.
 */
#ifndef SEMA_SIZES_H
#define SEMA_SIZES_H

#include "lang/sum.h"

/* Minima of sizes that are made of minima may double with each statement. */
enum { SIZE_NODE_LIMIT = 512 };

/* The factors of a term's atom, one or more; returns their number. */
int term_factors(Arena *arena, const Term *term, Expr ***factors);
/* Finds p = coefficient * var + rest. False if var occurs in any other way (twice in a product, inside a factor). */
bool affine_split(Arena *arena, const Affine *p, const Var *var, Affine *coefficient, Affine *rest);
/* p with the atom of one term replaced; the coefficient of the term stays. */
bool affine_replace(Arena *arena, const Affine *p, int term, const Affine *by, Affine *replaced);
bool affine_is_constant(const Affine *p, int64_t *value);
/* The sum with the least coefficients that is at least 0 for the same integers. */
Affine affine_least(Arena *arena, const Affine *p);
/* Whether its coefficients allow p == 0: what divides them all divides the constant. */
bool affine_may_be_zero(const Affine *p);

/* The normal form as an expression; e itself if it overflows. */
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
