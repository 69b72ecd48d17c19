/* sizes.h - polynomials over sizes and index variables: the normal form in which ranges and bounds are computed.
 *
 * Every int64 expression is constant + the sum of coefficient * product of factors. What is neither a sum nor a product
 * (a division, min, a read) is a factor; its operands are in normal form. Functions return false if a coefficient
 * overflows or a sum has more than SIZE_TERM_LIMIT terms. No answer is ever wrong.
 */
#ifndef SEMA_SIZES_H
#define SEMA_SIZES_H

#include "lang/expr.h"

typedef struct Monomial {
    int64_t coefficient; /* never 0 */
    int degree;
    Expr **factors; /* sorted */
} Monomial;

/* Terms in the order of first appearance. */
typedef struct Poly {
    int64_t constant;
    int count;
    Monomial *terms;
} Poly;

typedef LIST(Poly) Polys;

/* Operations on sums take time quadratic in their lengths, or more. */
enum { SIZE_TERM_LIMIT = 64 };

bool poly_of(Arena *arena, Expr *e, Poly *poly);
Expr *poly_expr(Arena *arena, const Poly *poly);
/* ka * a + kb * b */
bool poly_sum(Arena *arena, const Poly *a, int64_t ka, const Poly *b, int64_t kb, Poly *sum);
bool poly_product(Arena *arena, const Poly *a, const Poly *b, Poly *product);
/* Finds p = coefficient * var + rest. False if var occurs in any other way (twice in a product, inside a factor). */
bool poly_split(Arena *arena, const Poly *p, const Var *var, Poly *coefficient, Poly *rest);
/* p with the factors of one term replaced; the coefficient of the term stays. */
bool poly_replace(Arena *arena, const Poly *p, int term, const Poly *by, Poly *replaced);
bool poly_is_constant(const Poly *p, int64_t *value);

/* The normal form as an expression; e itself if it overflows. */
Expr *size_normal(Arena *arena, Expr *e);
/* The smaller or the larger of two: decided if possible, else min or max. */
Expr *size_min(Arena *arena, Expr *a, Expr *b);
Expr *size_max(Arena *arena, Expr *a, Expr *b);
bool size_equal(Arena *arena, Expr *a, Expr *b);
/* Whether its sum has too many terms. */
bool size_is_too_long(Arena *arena, Expr *e);

/* Whether p >= 0 for all sizes >= 0 for which every fact is >= 0. */
bool poly_never_negative(Arena *arena, const Poly *p, const Polys *facts);
/* Whether p < 0 whenever all sizes in it are at least 2. Then p >= 0 would be useless as a requirement. */
bool poly_negative_for_real_sizes(const Poly *p);

#endif
