/* match.h - whether two nests are equal but for their tensors and for numbers. Private to the passes. */
#ifndef LOWER_KERNEL_PASSES_MATCH_H
#define LOWER_KERNEL_PASSES_MATCH_H

#include "lower/kernel/statements.h"

/* Where a number may differ: an Expr * in the first nest that is an INT or a REAL there. */
typedef Expr *const *NumberPlace;

/* Which numbers may differ; ever more. */
typedef enum MatchNumbers {
    MATCH_VALUES,  /* those of values */
    MATCH_ANY,     /* those of indices, conditions and extents, and divisors of values of up to 32 bits, too */
    MATCH_FACTORS, /* factors and divisors of indices, too */
} MatchNumbers;

typedef struct Match {
    Arena *arena;
    const Program *program;
    MatchNumbers numbers;
    int left; /* nodes that may still be looked at: unshared copies of what the other shares take long */
    /* The result, empty at first: */
    Map *to;                      /* tensors and loop variables of the first -> those of the second */
    Map *places;                  /* NumberPlace -> its position in the lists + 1 */
    LIST(Expr *) first, second;   /* the numbers at the places */
    LIST(const Tensor *) tensors; /* of the first, without its own and small constants */
    /* While it is made: */
    Map from;
    Map inner;   /* buffers that the first allocates */
    Map seen[2]; /* Expr -> what it was found equal to; with all numbers */
    bool exact;  /* no number may differ */
} Match;

/* Whether the second is the first with other tensors, loop variables and numbers, each for one. */
bool stmts_match(Match *match, const Stmt *first, const Stmt *second);
/* Hashes of expressions and statements that are equal for nests that match. */
typedef struct MatchHashes {
    Arena *arena;
    MatchNumbers numbers;
    Map known; /* Expr -> its hash */
} MatchHashes;
uint64_t match_hash(MatchHashes *hashes, const Stmt *stmt);

/* The first nest with what stands at its places replaced. */
typedef struct PlaceMapping {
    Arena *arena;
    const Map *places;
    Expr **values;              /* at a place's position what replaces its number, or NULL: nothing does */
    Map vars;                   /* loop variables -> others with other extents, or themselves; empty at first */
    LIST(const Var *) replaced; /* those that got others */
    Map done[2];
    bool exact;
} PlaceMapping;
Stmt *map_places(Arena *arena, Stmt *first, void *mapping); /* a ReplaceStmt */

#endif
