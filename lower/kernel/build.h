/* build.h - what the files of kernel_build share. Private to lower/kernel.
 *
 * build.c makes the loops and stores of stages, reads.c what they read, prefetch.c what they fetch ahead.
 */
#ifndef LOWER_KERNEL_BUILD_H
#define LOWER_KERNEL_BUILD_H

#include "lower/kernel/statements.h"

typedef LIST(Substitution) Substitutions;

/* The predicates of a stage's update, over loop variables. Around a loop they are tested in a form that some value of
 * the loops inside makes true; around the store they are tested in full. Those from `needed` on only say where a term
 * is 0: loops that test them leave the term out, the store adds it. */
typedef struct Predicates {
    ExprList full;
    int needed;
    ExprList tested; /* of the loops so far: the last test of each predicate, or NULL */
    bool *late;      /* lanes that it leaves out are computed in registers, and restored after the reduction */
} Predicates;

typedef LIST(const NestStage *) NestStages;

typedef struct Build {
    Arena *arena;
    const Nest *nest;
    const ExpandOptions *options;
    Facts facts; /* the guards of the current stage */
    bool in_parallel;
    const NestStage *held;  /* holds what is summed so far, while another stage begins with it; or NULL */
    Predicates *predicates; /* of the current stage */
    Substitutions pieces;   /* variables of loops that run in pieces, around the current statement */
    Map homed;              /* NestStage -> NestStages: those whose buffers live in its loops, in the nest's order */
    Map kept;               /* buffers of scans that keep only a few steps -> what is allocated for them */
    int *positions;         /* of each requirement: how many stages must run before it can be checked */
} Build;

/* An expression of the nest over the loops of the kernel. */
Expr *build_expr(const Build *b, Expr *e);
/* An index of a tensor as one of its buffer: relative to the origin of its box, if it is computed at a loop. producer:
 * the stage that computes it, or NULL. */
Expr **build_index(Build *b, const NestStage *producer, Expr **index, int rank);
/* Rewrites an expression over loop variables to read the kernel's memory. path: holds where it is needed; NULL:
 * always. */
Expr *build_reads(Build *b, Expr *e, Expr *path);
/* The same of an expression of a stage whose axes have values. */
Expr *build_value(Build *b, Expr *e, const Substitutions *axes, Expr *path);
/* Appends what fetches for a stage. */
void build_prefetch(Build *b, const NestStage *stage, const Prefetch *prefetch, StmtList *list);

#endif
