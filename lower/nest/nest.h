/* nest.h - the annotated loop nest of a Program under a Schedule: the first half of lowering, what a search calls.
 *
 * nest_build applies the primitives. It proves each legal, or refuses it and names the rule that it breaks. It infers
 * the region (a box) of every tensor that is computed at a loop. It is pure in (Program, Schedule, Target), has no
 * statics and allocates from the arena alone. Primitives that make or remove stages (inline, cache_read, cache_write)
 * rewrite stages: a NestStage has its own Stage, whose value reads the tensors of the nest. The Program never changes.
 */
#ifndef LOWER_NEST_NEST_H
#define LOWER_NEST_NEST_H

#include "lang/diag.h"
#include "lang/program.h"

/* From BLOCK_X on: the values run along a device axis. */
typedef enum LoopKind {
    LOOP_SERIAL,
    LOOP_UNROLLED,
    LOOP_VECTORIZED,
    LOOP_PARALLEL,
    LOOP_TENSORIZED, /* run by the instruction of the loop's variable, with the loops inside it */
    LOOP_BLOCK_X,
    LOOP_BLOCK_Y,
    LOOP_BLOCK_Z,
    LOOP_THREAD_X,
    LOOP_THREAD_Y,
    LOOP_THREAD_Z,
    LOOP_VTHREAD,
    LOOP_KIND_COUNT
} LoopKind;

extern const char *const loop_kind_words[LOOP_KIND_COUNT]; /* "serial", "unrolled", ..., "block.x" */
bool loop_kind_is_expanded(LoopKind kind);                 /* unrolled, vectorized or tensorized: no loop remains */
bool loop_kind_is_bound(LoopKind kind);                    /* to an axis of a device */

/* How many copies of a body its unrolled and vectorized loops may make together: more takes too long to compile. */
enum { COPIES_LIMIT = 16384 };

typedef struct NestStage NestStage;

/* A leaf loop of a stage. var->extent is its extent: constant, or over sizes. */
typedef struct Loop {
    Var *var;       /* its name is what the schedule calls it, without the stage: "i", "io" */
    int64_t extent; /* when constant, else -1 */
    bool reduction;
    LoopKind kind;
    bool masked;    /* the condition of its tail stays in the body: no copy without it is made */
    int64_t unroll; /* of a serial loop: bodies in one iteration; what remains runs after them; 0: one */
    int cut_count;  /* it runs piece by piece, cut at these ascending values; negative ones count from the end */
    const int64_t *cuts;
    int fused_count; /* made by fuse of loops of these extents, outermost first; 0: not, or not all are constant */
    const int64_t *fused;
    NestStage *stage; /* the stage whose leaf it is now (cache_write moves loops) */
} Loop;

/* A condition for running the body: value < limit. It comes from a split that does not divide, or from a box that
 * exceeds its domain (below the domain: -index < 1). value is over loop variables (also those of outer stages), limit
 * over sizes. A guard over reduction loops holds for the update alone; the initialisation runs under the others. */
typedef struct Guard {
    Expr *value, *limit;
    bool reduction; /* value uses reduction loops of the stage */
} Guard;

enum { PREFETCH_LINES = 64 /* that are fetched at once, at most */ };

/* Before the body of the first `depth` loops of a stage: what it, or a loop around it, reads of a tensor some
 * iterations later. */
typedef struct Prefetch {
    const Tensor *tensor; /* as reads name it */
    int depth;
    Expr **low;       /* first index of each dimension in the later iteration, over loops */
    int64_t *extents; /* of each dimension */
    Expr *part;       /* over loops: which of `parts` equal parts is fetched here; NULL: all of it */
    int64_t parts;
    int row; /* of parts: the dimensions from this one on lie in memory as one row; and the lines of all of them */
    int64_t lines;
} Prefetch;

struct NestStage {
    const Stage *stage;     /* rewritten: reads name tensors of the nest; axes are the program's or fresh ones */
    const Tensor **buffers; /* [stage->component_count] what it writes: the program's, or box-sized ones at a loop */
    int loop_count;
    Loop **loops;       /* outermost first */
    Expr **axis_values; /* of axes, then reductions: the index into the whole domain, box origin included, over loop
                         * variables of this and outer stages */
    Expr **origin;      /* [rank] first index of the box in the domain, over outer loop variables; all 0 at root */
    bool unwraps;       /* the box may reach beyond the ends, as if the domain began again there */
    int guard_count;
    Guard *guards;
    NestStage *parent; /* the stage it is computed at; NULL: at root. In the body of the last loop that depth counts
                        * it runs first: before the initialisation, the next loop, or the store */
    int depth;         /* inside the first `depth` loops of the parent (the store nest's loops for a cache_write) */
    bool doubled;    /* computed one iteration ahead: dimension 0 of its buffer has a second half for odd iterations, */
    Expr *turn;      /* which begins at this index */
    NestStage *home; /* where its buffer lives: inside the first `home_depth` loops of home; NULL: at root. Like */
    int home_depth;  /* parent and depth, unless store_at puts it further out */
    bool inlined;    /* no loops, nothing to run */
    bool constant;   /* computed at compile time: its buffer is a ROLE_CONSTANT, nothing runs */
    int child_count;
    NestStage **children; /* computed at this one, in order of execution */
    const Scan *scan;     /* this is the loop over a scan's steps, not a stage: it writes nothing and has no buffer */
    bool in_scan;         /* computed at such a loop, into a buffer of its whole tensor that lives around all steps */
    int prefetch_count;
    Prefetch *prefetches;
    const NestStage *updates; /* the stage that it initialises: it writes that one's buffer; or NULL */
    bool initialises;         /* a reduction whose initialisation shares the loops before the first reduction loop */
    bool partial; /* stores what is summed so far, in each iteration of its reduction loops: it initialises only where
                   * these have none */
    const NestStage *resumes; /* a partial stage, in whose buffer it finds what is summed so far, unless all reduction
                               * loops of that one are at their first iteration; or NULL */
};

typedef struct Nest {
    Arena *arena;
    const Program *program;
    const Target *target;
    int stage_count;
    NestStage **stages;                    /* in order of execution, inlined ones too */
    const struct NestProducers *producers; /* of tensors among these stages: nest/query.c */
    int ineffective_count;
    const int *ineffective; /* primitives that had no effect: each gets a warning */
} Nest;

typedef struct NestError {
    int prim; /* index into schedule->prims */
    Loc loc;
    const char *rule; /* one sentence: the rule that is broken, with names and numbers */
    const char *nest; /* the loop nest as it stood */
    int alternative_count;
    const char *alternatives[3]; /* statements that would be legal in its place, */
    bool goes_before[3];         /* or before it */
} NestError;

/* choices fill the holes in order (NULL when the schedule has none). Returns NULL with *error filled when a primitive
 * is refused. error may be NULL: a search that only asks whether a schedule is legal saves the time of the explanation.
 * The identity schedule (NULL or no primitives) is always legal.
 *
 * Names: a loop is STAGE.NAME, or the local name that a primitive returned. split and fuse without results name their
 * loops i_0, i_1, ... and i_j. The loops of a cache_read are named after the dimensions as the layout calls them,
 * without "r_": k; j_0 for j/16, j_1 for j%16. */
Nest *nest_build(Arena *arena, const Program *program, const Schedule *schedule, const int64_t *choices,
                 const Target *target, NestError *error);
/* The holes of a schedule that stand for loops, places and orders: what each may become, where those before it are
 * filled. NULL: it has none. What it found out is kept in the arena. Choices are those of all holes of the schedule. */
typedef struct HoleTree HoleTree;
HoleTree *hole_tree_new(Arena *arena, const Program *program, const Schedule *schedule, const Target *target);
/* The schedule, with lists of what each of these holes may become with some choices before it. */
const Schedule *hole_tree_schedule(const HoleTree *tree);
/* How many choices the hole with that number has at most; 0: it stands for a number. */
int hole_tree_most(const HoleTree *tree, int number);
/* Adds those that may become something else besides, with choices before them that were not looked at: "?n of reorder
 * (...), ...". */
void hole_tree_gaps(const HoleTree *tree, Text *text);
/* Fills these holes alone. Constraints stay. A choice becomes the one that it stands for: its remainder. */
const Schedule *hole_tree_fill(Arena *arena, HoleTree *tree, int64_t *choices);
/* Whether the source says nothing wrong of its holes: their places, and names in their lists. */
bool hole_tree_check(HoleTree *tree, NestError *error);
/* Whether no choice of a hole is legal, whatever those before it become: *error says why. */
bool hole_tree_is_empty(HoleTree *tree, NestError *error);
void nest_print(Text *text, const Nest *nest);
/* A loop that the schedule unrolls or vectorizes but that is still a loop in the kernel. */
typedef struct Rolled {
    const Var *var;
    const char *why;
} Rolled;
typedef LIST(Rolled) RolledList;
/* Prints the nest with all temporaries, sizes, the bytes of each tensor that one iteration of each loop touches, and
 * the loops that stayed loops (rolled may be NULL: not known). */
void nest_explain(Text *text, const Nest *nest, const RolledList *rolled);
/* "STAGE.LOOP, STAGE.LOOP and 3 more"; NULL: none of them is a loop of the nest. */
const char *nest_rolled_names(Arena *arena, const Nest *nest, const RolledList *rolled);
/* The one tensor that the maker of a constant reads; NULL: none, or several. */
const Tensor *made_of(const Stage *maker);
/* What `else reflect` made of an index, min(m, period - m) with m = index % max(period, 1): that index. NULL: another
 * one. */
const Expr *reflected_index_by(const Expr *index, const Expr **period);
const Expr *reflected_index(const Expr *index, int64_t *period); /* the same, of a period that is known */
/* What `else wrap` made of an index, index % extent: that index. NULL: another one. */
const Expr *wrapped_index(const Expr *index, const Expr *extent);
/* The stage that writes a tensor of the nest; NULL: an input. */
const NestStage *nest_producer(const Nest *nest, const Tensor *tensor);
/* Reports a refusal at its statement: the rule, the nest, the alternatives. Returns false. */
bool nest_report(Diagnostics *diagnostics, const NestError *error);

/* How many vector registers the register buffers need that are live at the same time: the most at any place. */
int nest_register_count(const Nest *nest, const Target *target);

#endif
