/* kernel.h - the loop IR: the second half of lowering, what code generators read.
 *
 * expand turns a nest into loops, stores and conditions, then runs the pass table. The verifier runs after each pass.
 * kernel/print.c prints the IR. After the last pass the IR is flat: it has no vectorized or unrolled loops; every read
 * and store has one index, the element offset in its buffer; register buffers are indexed by constants alone (an
 * EXPR_INT, or a RAMP of constants); values may be vectors, of as many lanes as the loop that they come from has
 * iterations.
 *   - A loop runs for 0 <= var < extent; with an extent of 0 or less it does not run. var->extent is an upper bound of
 *     the extent. Two loops side by side may share a Var; one inside the other may not.
 *   - A scalar among vectors stands in a BROADCAST. The index of a vector read or store is a RAMP (stride 1:
 *     contiguous) or any vector of offsets. Where a guard is false memory is not touched: a read gives 0, a store does
 *     nothing. What masked-off lanes compute is never used, but must not trap (integer division).
 *   - An index of memory is an OFFSET, the RAMP or BROADCAST of one, or any vector of offsets; constants are INTs. Each
 *     part of an OFFSET changes in a loop inside that of the part before: code generators compute it where that loop
 *     begins. Run-time sizes are a part before all loops; values read from memory change with the innermost loop.
 *   - A SHUFFLE stands for instructions that processors have. Shuffled vectors that several statements use are kept in
 *     a register buffer; each vector has elements of its own.
 *   - A SHARED statement runs a nest of kernel->shared, whose tensors and numbers stand for those of the statement. It
 *     has a kernel of its own, which all of the above holds for.
 *   - A read of ROLE_INITIAL has become a read of its output. Buffers are allocated outside the serial loops around
 *     them; one that is allocated inside a parallel loop belongs to the iteration.
 */
#ifndef LOWER_KERNEL_KERNEL_H
#define LOWER_KERNEL_KERNEL_H

#include "lang/map.h"
#include "lower/nest/nest.h"
#include <stdio.h>

typedef enum StmtKind {
    STMT_BLOCK,    /* body in order */
    STMT_FOR,      /* for var in 0:extent { body } */
    STMT_IF,       /* if condition { body } else { otherwise } */
    STMT_STORE,    /* tensor(index...) = value where guard */
    STMT_TOGETHER, /* several stores: all values and indices are computed before the first store */
    STMT_ALLOCATE, /* tensor lives in body */
    STMT_CHECK,    /* return status unless condition; only before the first store to an output, in no parallel loop */
    STMT_PREFETCH, /* tensor(index...) is brought near; touches no memory, so the index may be out of bounds */
    STMT_STEP,     /* a scheduling barrier between steps of an unrolled reduction: loads do not move across it */
    STMT_SHARED    /* a nest that equal ones share, on these tensors and numbers; in no loop or condition */
} StmtKind;

typedef struct Stmt Stmt;
struct Stmt {
    StmtKind kind;
    Loc loc;
    int count;
    Stmt **body;
    int otherwise_count;
    Stmt **otherwise;
    const Var *var;       /* FOR: var->reduction says that it is a reduction loop */
    Expr *extent;         /* FOR */
    LoopKind loop;        /* FOR */
    bool masked;          /* FOR: conditions on its variable stay in the body */
    bool in_lanes;        /* FOR: a vectorized loop of the same stage is around it */
    Expr *work;           /* FOR, parallel: instructions that all of it runs (loop_work); NULL: not known */
    Expr *condition;      /* IF, CHECK: bool, scalar */
    bool keeps;           /* IF: where it is false elements keep their value; otherwise nobody reads these elements */
    int status;           /* CHECK */
    const Tensor *tensor; /* STORE, ALLOCATE, PREFETCH */
    bool far;             /* PREFETCH: into the second cache, not the nearest one */
    int index_count;
    Expr **index; /* STORE, PREFETCH: one for each dimension; once flattened a single RAMP or scalar */
    Expr *value;  /* STORE */
    Expr *guard;  /* STORE: bool of the value's lanes, or NULL */
    /* SHARED: */
    const struct SharedNest *shared;
    const Tensor **tensors; /* in place of its tensors, each another one */
    Expr **numbers;         /* INT and REAL: the values of its numbers */
    const Map *own;         /* its loop variables and tensors -> those that they stand for here, for explanations */
};

/* EACH_STMT(s, root) { ... }: visits the statement and all below it, parents first; EACH_STMT_OF: several
 * statements. */
Stmt *stmt_next(TreeWalk *walk);
TreeWalk *stmts_walk(TreeWalk *walk, Stmt *const *stmts, int count);
#define EACH_STMT(s, root) EACH_NODE(Stmt, s, walk_begin(&s##_walk, root), stmt_next)
#define EACH_STMT_OF(s, stmts, count) EACH_NODE(Stmt, s, stmts_walk(&s##_walk, stmts, count), stmt_next)
/* Visits every expression of the statement itself, with all below; not those of its bodies. */
TreeWalk *stmt_walk_exprs(TreeWalk *walk, const Stmt *stmt);
#define EACH_STMT_EXPR(e, stmt) EACH_NODE(const Expr, e, stmt_walk_exprs(&e##_walk, stmt), expr_next)
#define EACH_STMT_READ(e, stmt) EACH_NODE(const Expr, e, stmt_walk_exprs(&e##_walk, stmt), expr_next_read)

/* A version of a function for known or small values of some run-time sizes. It is called when the sizes have these
 * values. Its program has the arguments of the general one and the sizes that are not bound. */
typedef struct Variant {
    const struct Kernel *kernel;
    const struct Binding *bindings;
    int binding_count;
    bool at_most; /* the sizes are at most the bindings' values, and stay run-time sizes */
} Variant;

/* A const argument of the function NAME_packed. */
typedef struct Packing {
    const char *argument;        /* its name */
    const char *size_symbol;     /* int64_t NAME_packed_ARG_size(sizes of ARG...): */
    Expr *bytes;                 /* this, over these sizes */
    int part_count;              /* 1 for an argument without parts */
    int rearranged;              /* so many of them by stages of the schedule; 0: the argument as it was */
    const struct Kernel *kernel; /* NAME_pack_ARG(sizes of ARG..., from, to) */
} Packing;

/* A nest that stands in a long function several times, with other tensors each time (share.c). */
typedef struct SharedNest {
    int number;            /* from 1 on, for texts */
    struct Kernel *kernel; /* of which the body alone is the nest */
    int tensor_count;
    const Tensor **tensors; /* that it reads and stores; its own and small constants aside */
    int number_count;
    const Var **numbers; /* VAR_SIZE where they may be indices, else VAR_SCALAR */
} SharedNest;

typedef struct Kernel {
    Arena *arena;
    const Program *program; /* arguments, sizes, symbol */
    const Target *target;
    Stmt *body;
    bool strict;       /* no contraction, no reassociation */
    bool lanes_apart;  /* vectorize: some vectors are no rows of memory */
    bool row_ends;     /* the same: some of these are rows that go round, or stop at bounds */
    bool near_ends;    /* guards: some copies are for tiles whose indices go round once at most */
    int variant_count; /* tried in order before the body */
    Variant *variants;
    const struct Kernel *packed; /* the same with const arguments packed in their places; or NULL */
    bool packed_as_is;           /* no argument is rearranged: the packed function is this one under another name */
    int packing_count;
    Packing *packings;
    bool functions_called; /* math functions beyond FUNCTIONS_IN_PLACE are called */
    /* For explanations: */
    RolledList rolled;
    LIST(const Var *) alone;     /* of parallel loops that became serial, as they have too little work for threads */
    LIST(const Tensor *) tested; /* stored in loops with tests, as copies without them would be too much code */
    bool part;                   /* buffers that nothing reads stay */
    LIST(SharedNest *) shared;
    const SharedNest *nest; /* whose kernel this is; or NULL */
    bool share_each, number_each;
} Kernel;

typedef struct ExpandOptions {
    bool strict;
    bool unchecked_gather; /* leave the run-time checks of gathers out */
    const char *dump;      /* letters of passes to print after, or NULL; FILE to print to */
    FILE *dump_stream;
    bool time_passes;
    bool unverified;  /* the kernel is looked at, and no code is made of it */
    bool verify_each; /* the verifier runs after each pass that changes something, as it does with dump */
    bool part;        /* what nothing in it reads is read by the rest of a program */
    bool share_each;  /* for tests: each nest is a shared one */
    bool number_each; /* for tests: all that may be numbers of a shared nest are, even in a short function */
} ExpandOptions;

/* Computes the stages of the program that are known at compile time, once for all of its nests. */
void know_constants(Arena *arena, Program *program, const Target *target);
/* The contents of a ROLE_CONSTANT tensor of a kernel, as they lie in memory: tensor_elements elements. */
const void *constant_contents(Arena *arena, const Tensor *tensor);
void constant_store(const Tensor *tensor, void *to); /* the same into zeroed memory, aligned for any type */
/* A key for the contents of a constant: within one process, for the nests of one program, equal keys mean equal
 * contents. Cheaper than the contents. NULL: no key is known. */
const char *constant_key(Arena *arena, const Tensor *tensor);
/* The constants that the kernel reads and that are no tensors of its program, in the order of first use, into *list.
 */
int kernel_constants(Arena *arena, const Kernel *kernel, const Tensor ***list);
/* Never fails on a nest that nest_build accepted; an IR that the verifier refuses is an internal error. */
Kernel *expand(Arena *arena, const Nest *nest, const ExpandOptions *options);
/* Instructions that the stores to a tensor become, with all that is computed for them: an estimate (code.c). */
typedef struct TensorCode {
    const Tensor *tensor;
    int64_t instructions;
} TensorCode;
typedef LIST(TensorCode) KernelCode;
KernelCode kernel_code(Arena *arena, const Kernel *kernel);
/* Whether math functions that are sequences fill more registers than FUNCTIONS_IN_PLACE. */
bool has_many_functions(Arena *arena, const Kernel *kernel);
/* The instructions that a loop of a flat kernel runs, an estimate: an int64 expression over what is known where it
 * begins; of what is enough for hundreds of threads, at least so many. NULL: that cannot be told there, as of rows
 * whose lengths are read. */
Expr *loop_work(Arena *arena, const Target *target, const Stmt *loop);
/* Instructions that pay for a thread to take part in a loop. A loop with less than twice that is not shared out. */
int64_t thread_work(const Target *target);
/* The program with its const arguments as constants of unknown contents: the schedule of NAME_packed is chosen for it.
 * NULL when it has none. Of an argument that is read at numbers alone, as the weights of all layers are, each slice is
 * such a constant. user: the source's schedule, whose statements name whole arguments; or NULL. */
Program *packing_program(Arena *arena, const Program *program, const Schedule *user);
/* Gives the kernel the functions for packed arguments, from a nest of its packing_program. If the nest rearranges none,
 * its schedule is dropped: the kernel's own is for the same data. */
void add_packing(Kernel *kernel, const Nest *nest, const ExpandOptions *options);
/* The size arguments of the functions that pack the argument: the sizes of its shape, in the program's order. */
const Var **packing_sizes(Arena *arena, const Program *program, const Tensor *argument, int *count);
bool is_packing_size(const Program *program, const Var *size); /* of any argument that is packed */
/* Whether there are functions for all packed arguments in one block. One of the name `all` has a NAME_pack_all of its
 * own instead. */
bool is_packed_together(const Program *program);
void kernel_print(Text *text, const Kernel *kernel);
/* Checks all invariants, and with flat those that hold after the last pass. NULL when they hold, else the first one
 * that is broken, with its statement. */
const char *kernel_verify(Arena *arena, const Kernel *kernel, bool flat);

/* A buffer from one allocation to its end, and the numbers of the first and the last statement that touch it there; -1:
 * none does. Copies of a loop allocate the same tensor, each for itself. */
typedef struct Lifetime {
    const Stmt *allocation;
    const Tensor *tensor;
    int begin, end; /* its statements: from begin on, before end */
    int first, last;
} Lifetime;
typedef struct Lifetimes {
    LIST(Lifetime) buffers;  /* in the order of their allocations, registers too */
    LIST(Stmt *) statements; /* loops, conditions and stores; those inside them are not listed */
} Lifetimes;
/* Of the statements of a flat kernel and the allocations around them (lifetimes.c). */
Lifetimes kernel_lifetimes(Arena *arena, Stmt *const *statements, int count);

/* Limits of code generators, which cost models and schedule spaces know, too. Strides are in elements between the lanes
 * of a vector. Up to SHUFFLED_STRIDE, loading everything between the lanes costs less than a gather. Up to
 * INTERLEAVED_STRIDE, the lanes and those between them are loaded or stored together. */
enum { SHUFFLED_STRIDE = 4, INTERLEAVED_STRIDE = 16 };
/* Registers of a kernel whose math functions stand in place, as sequences; others are called. */
enum { FUNCTIONS_IN_PLACE = 64 };
/* Lanes of a kernel, in rows under masks that no instruction has, which are chosen where they stand, and of half that
 * no instruction converts: others are in functions that are called. */
enum { CHOSEN_LANES = 2048, CONVERTED_LANES = 1024 };

typedef struct Pass {
    const char *name;
    char letter;
    void (*run)(Kernel *kernel);
    const char *summary;
} Pass;
extern const Pass pass_table[];
extern const int pass_count;

#endif
