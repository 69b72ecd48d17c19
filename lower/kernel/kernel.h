/* kernel.h - the loop IR: the second half of lowering, what code generators read.
 *
 * expand turns a nest into loops, stores and conditions, then runs the pass table; the verifier runs after each pass.
 * The text form (kernel/print.c) prints and reads back. After the last pass ("flat") there are no vectorized or
 * unrolled loops, every read and store has one index (the element offset in its buffer), register buffers are indexed
 * by constants alone (an EXPR_INT, or a RAMP of constants), and values may be vectors of any number of lanes, that of
 * the loop they come from.
 *   - A loop runs for 0 <= var < extent; an extent of 0 or less is no iteration. var->extent bounds the extent from
 *     above; side by side two loops may share a Var, one inside the other never.
 *   - A scalar among vectors stands in a BROADCAST; a vector read or store has a RAMP (stride 1: contiguous) or any
 *     vector of offsets as its index. Where a guard is false memory is not touched: a read gives 0, a store does
 *     nothing. What masked-off lanes compute is never used, but must not trap (integer division).
 *   - An index of memory is an OFFSET, the RAMP or BROADCAST of one, or a vector of any offsets; constants are INTs.
 *     The
 *     parts of an OFFSET change in loops each inside of that of the part before: code generators compute each where its
 *     loop begins. Sizes are a part before all loops; what is read changes with the innermost.
 *   - A SHUFFLE stands for instructions that processors have. What several statements shuffle is kept in a register
 *     buffer, each vector in elements of its own.
 *   - A read of ROLE_INITIAL has become one of its output. Buffers are allocated outside the serial loops around them;
 *     one that is allocated inside a parallel loop belongs to the iteration.
 */
#ifndef LOWER_KERNEL_KERNEL_H
#define LOWER_KERNEL_KERNEL_H

#include "lower/nest/nest.h"
#include <stdio.h>

typedef enum StmtKind {
    STMT_BLOCK,    /* body in order */
    STMT_FOR,      /* for var in 0:extent { body } */
    STMT_IF,       /* if condition { body } else { otherwise } */
    STMT_STORE,    /* tensor(index...) = value where guard */
    STMT_TOGETHER, /* several stores: the values and indices of all are computed before the first one stores */
    STMT_ALLOCATE, /* tensor lives in body */
    STMT_CHECK,    /* return status unless condition; only before the first store to an output, in no parallel loop */
    STMT_PREFETCH, /* tensor(index...) comes near; no memory is touched, wherever the index is */
    STMT_STEP      /* a scheduling barrier between steps of an unrolled reduction: loads are not moved across */
} StmtKind;

typedef struct Stmt Stmt;
struct Stmt {
    StmtKind kind;
    Loc loc;
    int count;
    Stmt **body;
    int otherwise_count;
    Stmt **otherwise;
    const Var *var;       /* FOR: var->reduction: over a reduction */
    Expr *extent;         /* FOR */
    LoopKind loop;        /* FOR */
    bool masked;          /* FOR: conditions on its variable stay in the body */
    bool in_lanes;        /* FOR: a vectorized loop of the same stage is around it */
    Expr *condition;      /* IF, CHECK: bool, scalar */
    bool keeps;           /* IF: where it fails elements keep their value; else they are elements that nobody reads */
    int status;           /* CHECK */
    const Tensor *tensor; /* STORE, ALLOCATE, PREFETCH */
    int index_count;
    Expr **index; /* STORE, PREFETCH: one a dimension; one in all, a RAMP or a scalar, once flattened */
    Expr *value;  /* STORE */
    Expr *guard;  /* STORE: bool of the value's lanes, or NULL */
};

/* EACH_STMT(s, root) { ... }: for the statement and all below it, parents first; EACH_STMT_OF: of several. */
Stmt *stmt_next(TreeWalk *walk);
TreeWalk *stmts_walk(TreeWalk *walk, Stmt *const *stmts, int count);
#define EACH_STMT(s, root) EACH_NODE(Stmt, s, walk_begin(&s##_walk, root), stmt_next)
#define EACH_STMT_OF(s, stmts, count) EACH_NODE(Stmt, s, stmts_walk(&s##_walk, stmts, count), stmt_next)
/* Every expression that the statement itself holds, not those of its bodies, and all below. */
TreeWalk *stmt_walk_exprs(TreeWalk *walk, const Stmt *stmt);
#define EACH_STMT_EXPR(e, stmt) EACH_NODE(const Expr, e, stmt_walk_exprs(&e##_walk, stmt), expr_next)
#define EACH_STMT_READ(e, stmt) EACH_NODE(const Expr, e, stmt_walk_exprs(&e##_walk, stmt), expr_next_read)

/* A version of a function for known or small values of some of its run-time sizes: it is called where they have
 * them. Its program has the arguments of the general one, and those of its sizes that are not bound. */
typedef struct Variant {
    const struct Kernel *kernel;
    const struct Binding *bindings;
    int binding_count;
    bool at_most; /* the sizes are not more than the bindings, which they keep */
} Variant;

/* A const argument of the function NAME_packed. */
typedef struct Packing {
    const char *size_symbol;     /* int64_t NAME_packed_ARG_size(sizes of ARG...): the bytes of */
    const Tensor *packed;        /* this */
    const struct Kernel *kernel; /* NAME_pack_ARG(sizes of ARG..., from, to) */
} Packing;

typedef struct Kernel {
    Arena *arena;
    const Program *program; /* arguments, sizes, symbol */
    const Target *target;
    Stmt *body;
    bool strict;       /* no contraction, no reassociation */
    int variant_count; /* tried in order before the body */
    Variant *variants;
    const struct Kernel *packed; /* the same with const arguments packed in their places; or NULL */
    int packing_count;
    Packing *packings;
    RolledList rolled; /* for explanations */
} Kernel;

typedef struct ExpandOptions {
    bool strict;
    bool unchecked_gather; /* leave the run-time checks of gathers out */
    const char *dump;      /* letters of passes to print after, or NULL; FILE to print to */
    FILE *dump_stream;
    bool time_passes;
} ExpandOptions;

/* Computes what a nest of the program leaves no loops of, once for all its nests. */
void know_constants(Arena *arena, Program *program, const Target *target);
/* What a ROLE_CONSTANT tensor of a kernel holds, as it lies in memory: tensor_elements elements. */
const void *constant_contents(Arena *arena, const Tensor *tensor);
void constant_store(const Tensor *tensor, void *to); /* the same where memory is 0, for any type's alignment */
/* A text that within one process, for constants of one program's nests, stands for the same contents; NULL: none is
 * known. It costs less than the contents. */
const char *constant_key(Arena *arena, const Tensor *tensor);
/* Those that the kernel reads and that are no tensors of its program; *list gets them, in the order of their first use.
 */
int kernel_constants(Arena *arena, const Kernel *kernel, const Tensor ***list);
/* Never fails on a nest that nest_build accepted; an IR that the verifier refuses is an internal error. */
Kernel *expand(Arena *arena, const Nest *nest, const ExpandOptions *options);
/* The program with its const arguments as constants whose contents are known later: what the schedule of NAME_packed is
 * chosen for. NULL when it has none. */
Program *packing_program(Arena *arena, const Program *program);
/* Gives the kernel the functions for packed arguments, after a nest of its packing_program. */
void add_packing(Kernel *kernel, const Nest *nest, const ExpandOptions *options);
/* The sizes that functions which pack the argument take: those of its shape, in the order of the program's. */
const Var **packing_sizes(Arena *arena, const Program *program, const Tensor *argument, int *count);
void kernel_print(Text *text, const Kernel *kernel);
/* NULL when all invariants hold, else the first one broken, with the statement. flat: those of after the last pass
 * too. */
const char *kernel_verify(Arena *arena, const Kernel *kernel, bool flat);

/* Limits of code generators, with which cost models and spaces of schedules count. Strides are in elements, between the
 * lanes of a vector: up to the first one, loading what lies between costs less than a gather; up to the second one, the
 * lanes and those between them are loaded or stored together. */
enum { SHUFFLED_STRIDE = 4, INTERLEAVED_STRIDE = 16 };

typedef struct Pass {
    const char *name;
    char letter;
    void (*run)(Kernel *kernel);
    const char *summary;
} Pass;
extern const Pass pass_table[];
extern const int pass_count;

#endif
