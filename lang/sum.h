/* sum.h - sums of integer terms while they are made: the working form of affine.c, simplify.c, bound.c and prove.c.
 *
 * A Sum is constant + sum of coefficient * atom over int64, each atom once, in order of first appearance. An atom is
 * simplified and is no sum, no negation and no multiple: a variable, a product of atoms, a division, a minimum, ...
 * Once an operation overflows the sum is marked and means nothing. A Sum points into itself: it is passed by address.
 * It is a sum of mathematical integers: an expression that may wrap (expr_is_exact) marks it too.
 */
#ifndef LANG_SUM_H
#define LANG_SUM_H

#include "lang/expr.h"

enum {
    SUM_INLINE = 10,        /* terms kept without an allocation */
    SUM_PRODUCT_LIMIT = 32, /* a product of sums with more terms stays a product; canonical ones are multiplied out */
    SUM_TERM_LIMIT = 64     /* of a canonical sum: operations take time quadratic in the length, or more */
};

/* What the maker of an atom knows of it: 0 <= atom < limit. */
typedef struct AtomLimit {
    Expr *atom;
    const Affine *limit;
} AtomLimit;

typedef LIST(AtomLimit) AtomLimits;

typedef struct Sum {
    Arena *arena;
    const AtomLimits *limits; /* that its bounds may use; NULL: none */
    bool overflow;
    bool modular;   /* equal modulo 2^64 alone: what made it, such as expr_affine_modular, asks nothing else of it */
    bool canonical; /* what size_affine makes */
    bool too_long;  /* a canonical one would have more than SUM_TERM_LIMIT terms, so it is marked as overflown */
    int capacity;
    union {
        struct {
            int64_t constant;
            int count;
            Term *terms;
        };
        Affine affine; /* the same, to be read as a form */
    };
    Term few[SUM_INLINE];
} Sum;

void sum_init(Sum *sum, Arena *arena);
void sum_init_canonical(Sum *sum, Arena *arena);
void sum_add_constant(Sum *sum, int64_t coefficient, int64_t constant);
void sum_add_atom(Sum *sum, int64_t coefficient, Expr *atom);
void sum_add(Sum *sum, int64_t coefficient, const Sum *other);
void sum_add_affine(Sum *sum, int64_t coefficient, const Affine *other);
void sum_append(Sum *sum, Term term); /* of an atom that it does not hold */
/* A sum that is only read: it shares the terms of the form. */
void sum_over(Sum *sum, Arena *arena, const Affine *affine);
/* Adds what multiplying out gives, or the product as one atom where that is too long. */
void sum_add_product(Sum *sum, int64_t coefficient, const Sum *a, const Sum *b);
/* Adds an expression, if it is exact; simplify says whether its parts still have to be simplified. */
void sum_add_expr(Sum *sum, int64_t coefficient, Expr *e, bool simplify);
/* The same of what is known to be exact, as extents and operands of quotients are. */
void sum_add_index(Sum *sum, int64_t coefficient, Expr *e, bool simplify);
/* The sum that an expression is, its parts simplified. */
void sum_of(Sum *sum, Arena *arena, Expr *e);
/* The canonical one. */
void sum_of_size(Sum *sum, Arena *arena, Expr *e);
/* Joins quotients with their remainders: x / c * c + x % c becomes x. */
void sum_recombine(Sum *sum);
/* divide.c: adds the floor quotient or the modulo of two sums. */
void sum_add_quotient(Sum *sum, int64_t coefficient, const Sum *dividend, const Sum *divisor);
void sum_add_remainder(Sum *sum, int64_t coefficient, const Sum *dividend, const Sum *divisor);
/* Minima and maxima of more nodes stay as they are, with no other bounds than their intervals: each level asks for all
 * below it, several times. */
enum { EXTREME_NODES = 128 };
/* minima.c: adds a minimum or maximum to a canonical sum. */
void sum_add_extreme(Sum *sum, int64_t coefficient, Expr *e);
/* Adds both, to two sums: what has to be proved is proved once. */
void sum_divide(Sum *quotient, Sum *remainder, const Sum *dividend, const Sum *divisor);

/* Splits a sum into g * high + low with 0 <= low < g for all values, g > 1 the greatest such that divides the divisor
 * (any when that is 0). */
bool sum_split(const Sum *sum, int64_t divisor, int64_t *g, Sum *high, Sum *low);

/* --- bound.c --- */
Interval sum_interval(const Sum *sum);
/* What it is at most (upper) or at least, with loops and axes at their ends as far as that is known. Says whether
 * anything was replaced. */
bool sum_bound(Sum *bound, const Sum *sum, bool upper);
/* The same of quotients: c * (x / c) becomes x, or x - c + 1. */
bool sum_relax(Sum *relaxed, const Sum *sum, bool upper);
/* Whether it is at least 0 for all values: by intervals and these bounds. */
bool sum_is_nonnegative(const Sum *sum);
/* Whether it is seen to be negative for some sizes and indices: no proof without facts would succeed. */
bool sum_is_negative_somewhere(const Sum *sum);
/* 1: at least 0 for all values, -1: below 0 for all, 0: neither is known. */
int sum_sign(const Sum *sum);
/* Of a difference, 1: at least 0 for all values, -1: at most 0 for all, 0: neither is known. */
int sum_order(const Sum *difference);

/* Whether an axis or loop has one value alone, 0. */
bool var_is_fixed(const Var *var);
Expr *sum_expr(const Sum *sum);
/* A copy that outlives the sum. False: it overflowed. */
bool sum_affine(Arena *arena, const Sum *sum, Affine *affine);
/* A total order of factors that depends on the source alone: below 0 where a comes first. */
int atom_compare(const Expr *a, const Expr *b);
bool atom_equal(Expr *a, Expr *b); /* also with the factors of a product in another order */
/* The factors of a product, or the atom itself; returns their number, at most limit. */
int atom_factors(Expr *atom, Expr **factors, int limit);
/* All of a term's; returns their number. */
int term_factors(Arena *arena, const Term *term, Expr ***factors);
int atom_degree(Expr *atom);         /* how many factors it has */
bool atom_is_loop(const Expr *atom); /* or an axis, whose extent is known */
Expr *atom_product(Arena *arena, Expr *const *factors, int count);
/* The product of all factors but one. */
Expr *atom_product_without(Arena *arena, Expr *const *factors, int count, int left_out);

Interval interval_add(Interval a, Interval b);
Interval interval_negate(Interval a);

#endif
