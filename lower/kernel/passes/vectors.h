/* vectors.h - what passes over vectors and unrolled statements share (vectors.c). */
#ifndef LOWER_KERNEL_PASSES_VECTORS_H
#define LOWER_KERNEL_PASSES_VECTORS_H

#include "lower/kernel/statements.h"

/* Whether lanes may be those of a row that goes round, or stops at bounds: a remainder or bound of contiguous ones. */
bool lanes_have_ends(const Expr *index);
/* Tensors that a parallel loop stores to and that are not allocated inside it, each as a key: what no statement there
 * reads must not be loaded either, as another iteration may write it. */
Map stored_in_parallel(Arena *arena, const Stmt *loop);
/* Appends the replacement of the first statements, and returns how many it replaces; 0: none. They are in a parallel
 * loop that stores to the shared tensors. */
typedef int ReplaceStatements(const Kernel *kernel, const Map *shared, StmtList *list, Stmt *const *statements,
                              int count);
void replace_statements(Kernel *kernel, ReplaceStatements *replace);
/* Vectors that several statements have in common, in a register buffer; each is stored once. */
typedef struct Vectors {
    Arena *arena;
    Tensor *tensor;
    int64_t used; /* elements */
} Vectors;
Vectors vectors_new(Arena *arena, const char *name, ElementType type, Loc loc);
/* Appends a store of a value, and returns a read of it. */
Expr *vectors_keep(Vectors *vectors, StmtList *list, Expr *value);
Stmt *vectors_around(Vectors *vectors, StmtList body); /* the body inside their allocation */

#endif
