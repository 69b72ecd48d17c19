/* expr.h - making, simplifying, comparing and printing expressions; affine forms and ranges. */
#ifndef LANG_EXPR_H
#define LANG_EXPR_H

#include "lang/tensorc.h"
#include "lang/walk.h"

/* --- makers. They fold constants of type int64 and bool and drop neutral elements; nothing else. --- */
Expr *expr_int(Arena *arena, int64_t value);                       /* int64 */
Expr *expr_constant(Arena *arena, ElementType type, double value); /* EXPR_INT or EXPR_REAL by the type */
Expr *expr_bool(Arena *arena, bool value);
Expr *expr_var(Arena *arena, const Var *var);
Expr *expr_read(Arena *arena, const Tensor *tensor, Expr **indices, Expr *otherwise);
Expr *expr_op(Arena *arena, Op op, ElementType type, Expr **args, int count);
Expr *expr_unary(Arena *arena, Op op, Expr *a);           /* of the type of a; COMPARE and LOGIC give bool */
Expr *expr_binary(Arena *arena, Op op, Expr *a, Expr *b); /* a and b of one type and lanes */
Expr *expr_select(Arena *arena, Expr *condition, Expr *a, Expr *b);
Expr *expr_cast(Arena *arena, ElementType type, Expr *a); /* a itself when it has the type */
Expr *expr_broadcast(Arena *arena, Expr *a, int lanes);   /* a itself when lanes is 1 */
Expr *expr_ramp(Arena *arena, Expr *base, Expr *stride, int lanes);
bool expr_is_unit_ramp(const Expr *e);               /* a RAMP by 1 from lane to lane */
Expr *expr_repeat(Arena *arena, Expr *a, int lanes); /* a vector, or a scalar, until there are that many lanes */
Expr *expr_shuffle(Arena *arena, Expr *const *args, int count, const int *pattern, int lanes);
Expr *expr_offset(Arena *arena, Expr *const *parts, int count, int64_t constant); /* an EXPR_INT where no part is */
Expr *expr_offset_beyond(Arena *arena, const Expr *offset, int64_t constant);     /* so much more than such a one */
Expr *expr_call(Arena *arena, const Instr *instr, Expr *const *args, int count);
Expr *expr_copy(Arena *arena, const Expr *e);     /* of the one node */
Expr *expr_copy_all(Arena *arena, const Expr *e); /* and of all below it; what is shared stays shared */
Var *var_new(Arena *arena, VarKind kind, ElementType type, const char *name, Expr *extent);
/* The identity of a combine in a type: 0, 1, +inf or largest, -inf or smallest. */
Expr *combine_identity(Arena *arena, Combine combine, ElementType type);
bool is_identity(Combine combine, const Expr *e); /* never of COMBINE_NONE and COMBINE_DECLARED */
Op combine_op(Combine combine);                   /* OP_ADD, OP_MUL, OP_MIN, OP_MAX */

/* --- asking --- */
static inline bool expr_is_op(const Expr *e, Op op) {
    return e->kind == EXPR_OP && e->op == op;
}
static inline bool expr_is_comparison(const Expr *e) {
    return e->kind == EXPR_OP && op_info[e->op].class == CLASS_COMPARE;
}
static inline bool expr_is_inequality(const Expr *e) { /* < <= > >= */
    return e->kind == EXPR_OP && comparison_info[e->op].less != comparison_info[e->op].greater;
}
static inline bool expr_chooses(const Expr *e) { /* whether it evaluates other operands than the first */
    return e->kind == EXPR_OP && op_info[e->op].evaluated == EVALUATED_FIRST;
}
bool expr_equal(const Expr *a, const Expr *b); /* structurally, places aside */
/* The same of equal ones, and of products that have the same factors in another order; others that differ near their
 * root have others. */
uint64_t expr_key(const Expr *e);
/* How long it takes to make code of it, in simple nodes: reads by indices that are read themselves are done lane by
 * lane, and an integer division takes a dozen instructions. */
int expr_effort(const Expr *e);
typedef LIST(Expr *) ExprList;
bool expr_is_listed(const ExprList *list, const Expr *e); /* it or an equal one */
bool expr_equal_or_absent(const Expr *a, const Expr *b);  /* the same of what may be NULL, as guards may */
bool expr_is_int(const Expr *e, int64_t *value);          /* an EXPR_INT: its value; value may be NULL */
bool expr_is_number(const Expr *e, int64_t value);        /* the EXPR_INT of this value, or a vector of it */
Expr *expr_without_least_one(const Expr *e);              /* n of max(n, 1), which periods are; else e */
bool expr_reads(const Expr *e);                           /* any tensor, at any depth */
/* What is shared counts each time it is used, so counting all nodes can take exponential time. */
int expr_nodes(const Expr *e);
int expr_nodes_up_to(const Expr *e, int nodes); /* counts at most so many */
bool expr_is_larger(const Expr *e, int nodes);  /* has more */
bool read_gathers(const Expr *read);            /* an index of it is read from memory */
bool expr_compares_indices(const Expr *e);      /* int64 */
bool expr_is_zero(const Expr *e);               /* the constant 0 or +0.0; -0.0 is another number */
/* Whether the operator of an EXPR_OP costs more than a few products. A quotient by a constant is about as cheap as one:
 * how it is spelled decides nothing. */
bool op_is_expensive(const Expr *e);
/* Whether a product with the constant's reciprocal, corrected by its remainder, gives the quotients of a division: of
 * all numbers that are not tiny. Not of a power of two, by which a division is a product. */
bool divisor_is_refined(const Expr *divisor);
bool expr_uses_var(const Expr *e, const Var *var);
bool expr_is_over_sizes(const Expr *e); /* sizes are all that it names: no other variable, no tensor */
bool expr_uses_tensor(const Expr *e, const Tensor *tensor);
/* EACH_EXPR(e, root) { ... }: for root and all below it, otherwise and guard included. EACH_READ: for the reads alone.
 */
const Expr *expr_next(TreeWalk *walk);
const Expr *expr_next_read(TreeWalk *walk);
#define EACH_EXPR(e, root) EACH_NODE(const Expr, e, walk_begin(&e##_walk, root), expr_next)
#define EACH_READ(e, root) EACH_NODE(const Expr, e, walk_begin(&e##_walk, root), expr_next_read)

/* --- rewriting: all return e itself when nothing changes --- */
typedef struct Substitution {
    const Var *var;
    Expr *value;
} Substitution;
Expr *expr_substitute(Arena *arena, Expr *e, const Substitution *list, int count);
/* Replaces bottom up: replace gets each node with its arguments already replaced and returns it or another. */
Expr *expr_rewrite(Arena *arena, Expr *e, Expr *(*replace)(Arena *arena, Expr *e, void *context), void *context);

/* --- ranges and affine forms: exact integer reasoning, overflow makes the answer "unknown", never wrong --- */

/* A closed interval; has_low and has_high false mean unbounded. */
typedef struct Interval {
    bool has_low, has_high;
    int64_t low, high;
} Interval;
/* Of an int64 expression, from the extents of the variables in it (sizes are >= 0). */
Interval expr_interval(const Expr *e);
bool expr_is_natural(const Expr *e); /* known to be at least 0 */
/* Whether it is seen at once that it has no greatest value, as sizes have none. False: it may have. */
bool expr_has_no_high(const Expr *e);
Interval interval_of_type(ElementType type); /* unbounded of 64 bits and of floats */
/* Of what an operator gives before it becomes a value of its type; b stands for a where there is one operand. */
Interval interval_combine(Op op, Interval a, Interval b);
Interval interval_join(Interval a, Interval b); /* the least one that holds both */
Interval interval_meet(Interval a, Interval b); /* what is in both; its low is above its high where nothing is */
Interval interval_point(int64_t value);
bool interval_is_point(Interval a);
bool interval_is_closed(Interval a); /* has both ends */
/* Whether no sum, product or quotient that an int64 expression is made of can leave the 64 bits: of indices, which
 * sizes keep small, and of values that are known to be narrow enough. What is not exact wraps: it is no sum of
 * mathematical integers, so it is not divided, compared or bounded as one. */
bool expr_is_exact(const Expr *e);

/* One that divides both, the greatest unless one of them is the least int64; 0 of two zeros. */
int64_t greatest_divisor(int64_t a, int64_t b);

typedef struct Term {
    int64_t coefficient; /* never 0 */
    Expr *atom;          /* a VAR, or whatever is not affine: a product, a division, a modulo, a read */
} Term;
/* constant + sum of terms; each atom once, in a canonical order (loops and axes by first appearance). */
typedef struct Affine {
    int64_t constant;
    int count;
    Term *terms;
} Affine;

typedef LIST(Affine) AffineList;
/* Every exact scalar int64 expression has one (at worst one atom); false where it may wrap, and on overflow.
 * Products of sums are multiplied out, into products of atoms; atoms are simplified. */
bool expr_affine(Arena *arena, Expr *e, Affine *affine);
/* The same modulo 2^64, for every expression: where addresses are meant, or equality; nothing follows for order. */
bool expr_affine_modular(Arena *arena, Expr *e, Affine *affine);
/* The canonical one modulo 2^64, in which ranges are computed and users read sizes: factors of products stand in one
 * order, minima and maxima lose what others imply, quotients by what is no constant and all else stay as they are
 * written. What may wrap is not divided or compared. False on overflow, or beyond SUM_TERM_LIMIT. */
bool size_affine(Arena *arena, Expr *e, Affine *affine);
Expr *affine_expr(Arena *arena, const Affine *affine);
/* ka * a + kb * b, and a * b: canonical where both are. */
bool affine_sum(Arena *arena, const Affine *a, int64_t ka, const Affine *b, int64_t kb, Affine *sum);
bool affine_times(Arena *arena, const Affine *a, const Affine *b, Affine *product);
/* Finds p = coefficient * var + rest. False if var occurs in any other way (twice in a product, inside a factor). */
bool affine_split(Arena *arena, const Affine *p, const Var *var, Affine *coefficient, Affine *rest);
/* p with the atom of one term replaced; the coefficient of the term stays. */
bool affine_replace(Arena *arena, const Affine *p, int term, const Affine *by, Affine *replaced);
/* The sum with the least coefficients that is at least 0 for the same integers. */
Affine affine_least(Arena *arena, const Affine *p);
/* Whether it is at least 0 for all values for which each of the facts is; facts may be NULL. */
bool affine_never_negative(Arena *arena, const Affine *affine, const AffineList *facts);
/* The coefficient of a variable, 0 when it does not occur; false when it occurs inside an atom. */
bool affine_coefficient(const Affine *affine, const Var *var, int64_t *coefficient);
int affine_term_of(const Affine *affine, const Var *var);   /* the term that is the variable alone; -1: there is none */
int64_t affine_slope(const Affine *affine, const Var *var); /* the coefficient of that term; 0: there is none */
bool affine_is_zero(const Affine *affine);
bool affine_is_int(const Affine *affine, int64_t *value); /* value may be NULL */
bool affine_is_over_sizes(const Affine *affine);          /* as expr_is_over_sizes */
/* The greatest common divisor of the coefficients, 0 without terms. */
int64_t affine_divisor(const Affine *affine);
/* Whether its coefficients allow 0: what divides them all divides the constant. */
bool affine_may_be_zero(const Affine *affine);

/* Canonical and small: affine sums collected, (16*a + b) / 16 -> a and % -> b where 0 <= b < 16 is known from ranges,
 * comparisons decided by intervals, selects on constants, min and max by intervals, neutral elements of floats that are
 * exact (x * 1, x + -0.0; never x * 0 or x + 0.0). Idempotent. */
Expr *expr_simplify(Arena *arena, Expr *e);
/* Whether a comparison of integers holds (1) or fails (0) for all values that its sides can take, in every lane; else
 * -1, also for any other expression. */
int expr_decided_by_ranges(const Expr *e);
/* Decides a bool expression for all values of its variables: 1 always, 0 never, -1 not known. Also uses facts: of more
 * than FACT_LIMIT the first and the last ones, half of each. */
enum { FACT_LIMIT = 128 };
typedef struct Facts {
    int count;
    Expr **facts; /* bool expressions that hold */
} Facts;
int expr_prove(Arena *arena, Expr *condition, const Facts *facts);

/* --- printing, as source text; in messages sizes and axes print by name --- */
void expr_print(Text *text, const Expr *e);
const char *expr_text(Arena *arena, const Expr *e);
/* The values of sizes and scalars in, an int64 value out; false when something in it has no value or it overflows or
 * divides by 0. For requirements, extents, headers. */
typedef struct SizeValue {
    const Var *var;
    int64_t value;
} SizeValue;
bool expr_evaluate(const Expr *e, const SizeValue *values, int count, int64_t *result);

#endif
