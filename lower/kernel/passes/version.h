/* version.h - the conditions of some statements: collect.c finds them, version.c makes copies of loops for them. */
#ifndef LOWER_KERNEL_PASSES_VERSION_H
#define LOWER_KERNEL_PASSES_VERSION_H

#include "lower/kernel/passes/guards.h"

/* In stores after unrolling: all copies for exact tiles together. */
enum { EXACT_BUDGET = 1536 };

typedef struct Condition {
    Expr *expr;
    uint64_t key; /* of it */
    bool guard;   /* of a statement, not of a read */
    bool index;   /* of indices alone (within.c) */
    bool cheap;   /* of such that cost little: alone they make no copies */
    bool ready;
    bool uniform;       /* it does not depend on loops below */
    bool waits;         /* it waits for a spatial loop below */
    bool masked;        /* a loop below keeps it in its body */
    Expr *test;         /* when ready: it holds for all values of the loops below */
    const Stmt *inside; /* the innermost of them where it was found first; or NULL */
} Condition;

typedef struct Version {
    Arena *arena;
    LIST(Stmt *) inner;     /* loops between the statement in question and the current one */
    LIST(const Var *) vars; /* their variables */
    LIST(const Stmt *) all; /* loops in the statement in question */
    LIST(Condition) found;
    Arena *scratch;
    const Target *target;
    bool reduces;           /* see Context of version.c */
    bool fetches;           /* lanes of some index are fetched one by one at the ends */
    ExprList near;          /* where these hold, all of their remainders go round once at most */
    bool is_far;            /* that is so nowhere, or not known */
    LIST(ExprList) indices; /* of each index: the conditions under which it is another one */
    int64_t size;           /* stores below after unrolling */
    bool uniform_only;      /* see Context of version.c */
    bool only_size;         /* conditions are not asked for */
    bool loops, serial;     /* the statement holds a loop; a loop that stays one */
} Version;

/* collect.c: the loops and conditions of the statements, and which of them are ready. The caller has set arena, target
 * and what it asks for; the rest is empty. */
void version_collect(Version *v, Stmt *const *stmts, int count);

#endif
