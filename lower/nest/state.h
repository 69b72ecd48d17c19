/* state.h - a nest while primitives are applied to it. Private to lower/nest.
 *
 * A stage has a root node for each axis and reduction. A Relation cuts a node into parts (split) or joins two into
 * one (fuse); nodes that no relation has taken are the leaves, and the stage's loops are its leaves in order.
 * Extents and values are not known here: finishing a nest (nest/bounds.c) finds them from the last stage to the
 * first, since the box of a stage that is computed at a loop follows from its consumers. Every Node begins with its
 * Loop, every StageState with its NestStage.
 */
#ifndef LOWER_NEST_STATE_H
#define LOWER_NEST_STATE_H

#include "lower/nest/form.h"

#include <stddef.h>

typedef struct StageState StageState;
typedef struct Relation Relation;

typedef struct Node {
    Loop loop; /* loop.stage, loop.var and loop.reduction hold for every node, also one that is no leaf */
    Var variable;
    Expr atom; /* the variable */
    Relation *taken;    /* the relation that made other nodes of it: no leaf any more; NULL for a leaf */
    struct Node *image; /* while cache_write takes loops apart: what stands for it in the new stage */
    struct Node *link;  /* stands for a node of the stage that this one is stored by: its value is that one's */
    struct Node *twin;  /* of a ".store" loop: the loop it was copied from */
    int position;       /* a leaf's place among its stage's loops */
    bool kind_set;      /* a primitive named this loop: a ".store" loop then no longer follows its twin */
    int cuts_prim;      /* that partitioned it */
    int unroll_prim;    /* that unrolled it by a factor */
    const Form *extent; /* a root's is its domain's until its stage's box is known */
    const Form *value;  /* over leaf loops, those of outer stages included */
} Node;

/* The node of a loop's variable. */
static inline const Node *node_of(const Var *variable) {
    return (const Node *)((const char *)variable - offsetof(Node, variable));
}

typedef enum RelationKind { RELATION_SPLIT, RELATION_FUSE } RelationKind;

/* What a split that does not divide does with its last piece: its values beyond the extent are cut off by a condition,
 * for which code generators make a copy without it (GUARD) or do not (MASK); it begins earlier (SHIFT); or there is no
 * such piece (EXACT). */
typedef enum Tail { TAIL_GUARD, TAIL_MASK, TAIL_SHIFT, TAIL_EXACT, TAIL_COUNT } Tail;

/* SPLIT: whole = (part 0 * factor 1 + part 1) * factor 2 + part 2 ...; factor[0] is unused. With a tail that is
 * shifted, part 0 * (product of the factors) is not more than extent - product.
 * FUSE: whole = part 0 * extent of part 1 + part 1. */
struct Relation {
    RelationKind kind;
    Node *whole;
    int count;
    Node **parts;
    int64_t *factors;
    Tail tail;               /* SPLIT */
    const PrimArg *tail_arg; /* NULL: none was given */
};

enum { UNROLL_LIMIT = 1024 }; /* values of one unrolled or vectorized loop */

typedef struct NestRead {
    const Expr *read;
    bool initial;         /* in the stage's initial value */
    StageState *producer; /* NULL: an input */
} NestRead;

typedef struct GuardForm {
    const Form *value, *limit;
    bool reduction;
    uint64_t hash; /* of the value, once it is a stage's */
} GuardForm;

/* One dimension of the hull of all that consumers read below the place where a stage is computed. */
typedef struct Box {
    bool begun, whole;
    const Form *low;   /* over loops that stand still */
    const Form *width; /* extent - 1, over sizes */
} Box;

/* A stage whose axes are looked up as forms. */
typedef struct Seeing {
    Forms *forms;
    const StageState *stage;
} Seeing;

typedef LIST(StageState *) StageList;

/* A component of a layout: (index / divisor) % modulus of a dimension. */
typedef struct LayoutPart {
    OrderPart part;
    const char *name; /* of a copy's axis */
} LayoutPart;

typedef struct Layout {
    int count;
    LayoutPart *parts;
} Layout;

struct StageState {
    NestStage nest;
    const char *name;
    const Tensor *tensor; /* over the whole domain: what reads name */
    int root_count;
    Node **roots;               /* axes, then reductions */
    LIST(Relation *) relations; /* a node is made by an earlier relation than it is taken by */
    LIST(Node *) leaves;
    LIST(NestRead) accesses;
    StageState *owner;  /* made by cache_write: the stage that stores it, whose domain it shares; not when at root */
    StageState *scan;   /* whose step it is computed in, with the root of its step axis linked to that one's; or NULL */
    bool earlier_steps; /* made by cache_read: of what earlier steps of a scan wrote */
    Node *at;           /* the loop it is computed at; NULL: root */
    bool doubled;       /* computed an iteration ahead, in two buffers by turns */
    bool stored;        /* by store_at: */
    Node *store;        /* the loop in whose body its buffer lives, NULL: the root */
    Box *stores;        /* [rank], while finishing: what consumers read in that body */
    const Form **low;   /* [rank], of one that is stored: the first index of the box, */
    bool *slides;       /* [rank] and whether base leaves out what earlier iterations computed */
    int *owner_axes;    /* the owner's axis of each dimension; NULL: in the same order */
    StageState *updates;        /* made by decompose: the stage that it initialises, whose buffer it writes */
    StageState *initialisation; /* the other way round */
    bool beside;                /* it runs where the stage that it updates does, before all of its loops */
    Scope scope;
    bool scope_set;
    Box *boxes;        /* [rank], while finishing: what consumers read */
    bool boxed;        /* runs over a box, not the whole domain: itself or its owner is computed at a loop */
    const Form **base; /* [rank]: what a root's value is counted from: the first index of the box */
    const Form **axes; /* [root_count]: base + value of the root */
    const Form **origin,
        **size; /* [rank]: of the buffer; a stage made by cache_write fills a part of its domain's box */
    LIST(GuardForm) guards;
    ElementOrder *order; /* of its buffers; NULL: row major */
    int aligned_by;      /* the primitive that aligned it last */
};

typedef struct Alias {
    const char *name;
    Node *node;
} Alias;

/* A prefetch as it was asked for: where its loop is in the end, and what is read there, is found when the nest is
 * finished. */
typedef struct PrefetchOrder {
    const Tensor *tensor;
    Node *loop;
    int64_t distance;
    int prim;
} PrefetchOrder;

typedef struct HoleNumber {
    const PrimArg *hole;
    int number; /* its place among the choices */
} HoleNumber;

/* Why a primitive is refused. Text is made only when wanted. */
typedef struct Refusal {
    bool wanted;
    int prim;                  /* -1: found when the nest was finished */
    const char *rule, *format; /* the rule, and what it was made of */
    const PrimArg *arg;        /* the argument to blame; NULL: the whole statement */
    const PrimArg *cause;      /* the argument of an earlier primitive, or of this one, that breaks the rule, or NULL */
} Refusal;

/* What an argument of the primitive at hand was found to name. */
typedef struct Named {
    const PrimArg *arg;
    const Node *node; /* or */
    const StageState *stage;
} Named;

typedef struct NestState {
    Nest nest;
    Arena *arena;
    Forms forms;
    LIST(StageState *) stages;
    LIST(Alias) aliases;
    int *alias_slots; /* by the hash of their names; a power of two */
    int alias_slot_count;
    LIST(int) ineffective;
    LIST(PrefetchOrder) prefetches;
    const int64_t *choices;
    const Schedule *schedule; /* NULL: none */
    int holes;                /* so far, those of one name counted once */
    LIST(HoleNumber) numbers; /* of the primitive at hand */
    LIST(HoleNumber) shared;  /* of those with a name, so far */
    int prim;                 /* its index */
    const Prim *last;         /* the last one that was applied */
    LIST(Named) named;        /* of it; kept only while an explanation is wanted */
    Refusal *refusal;
} NestState;

/* --- nest/state.c: stages, nodes, names --- */

NestState *state_new(Arena *arena, const Program *program, const Target *target, const int64_t *choices,
                     Refusal *refusal);
/* Returns false, for the handler to return. */
bool refuse(NestState *state, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same, with the argument to blame. */
bool refuse_at(NestState *state, const PrimArg *arg, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* The same, to blame what names the loop, where an argument does. */
bool refuse_loop(NestState *state, const Node *node, const char *format, ...) __attribute__((format(printf, 3, 4)));
bool refuse_stage(NestState *state, const StageState *stage, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool state_for_device(const NestState *state); /* whose loops can be bound to axes */
const char *state_target_name(const NestState *state);
void no_effect(NestState *state);
void no_effect_of(NestState *state, int prim);
const char *state_text(NestState *state, const char *format, ...) __attribute__((format(printf, 2, 3)));

FindForm find_domain_form; /* context: a Seeing: axes and reductions as root loops over the whole domain */
/* The relation again between the images of its nodes. */
void copy_relation(NestState *state, const Relation *relation, StageState *made);
const Tensor *tensor_copy(NestState *state, const Tensor *tensor, const char *name); /* a temporary like it */
Node *node_new(NestState *state, StageState *stage, const char *name, bool reduction);
/* The form of a node's variable, whose extent is the node's from then on. */
const Form *node_form(Forms *forms, Node *node);
/* A stage with a root and leaf for each axis and reduction, placed before `before` in the order of execution. */
StageState *stage_add(NestState *state, const Stage *stage, StageState *before);
/* The same without roots and loops. */
StageState *stage_add_bare(NestState *state, const Stage *stage, StageState *before);
/* The name of a new stage: the result's, else TENSOR.WORD made unique; NULL when refused. */
const char *stage_name(NestState *state, const Prim *prim, const char *tensor, const char *word);
/* A root and leaf for an axis or reduction, named after it as far as that is free. */
void stage_add_root(NestState *state, StageState *stage, const Var *axis, bool reduction);
/* Gives the stage another Stage (reads rewritten) and lists its reads again. */
void stage_rewrite(NestState *state, StageState *stage, const Stage *rewritten);
StageState *state_producer(const NestState *state, const Tensor *tensor); /* NULL for an input */
const Form *extent_form(NestState *state, const Expr *extent);            /* of a domain's: over sizes alone */
/* What is computed reads it: nothing inlined does. */
bool reads_tensor(const StageState *stage, const Tensor *tensor);
bool reads_stage(const StageState *consumer, const StageState *stage);
const StageState *root_of(const StageState *stage);            /* the stage at root that it is computed in */
int order_of(const NestState *state, const StageState *stage); /* its place in the order of execution */
StageState *stage_of(const Node *node);
const Node *next_outer(const Node *node); /* the loop around a leaf: of its stage, then of where that is computed */
bool node_is_leaf(const Node *node);
int leaf_index(const StageState *stage, const Node *leaf);
void leaves_insert(NestState *state, StageState *stage, int index, Node *node);
void leaves_remove(StageState *stage, int index);
Relation *relation_add(NestState *state, StageState *stage, RelationKind kind, Node *whole, int count);
/* Whether the stage is computed inside the body of a loop: of one of its owner's, or of a consumer of it. */
bool stage_is_inside(const StageState *stage, const Node *loop);
bool stages_have_name(const NestState *state, const char *name);
const char *loop_text(NestState *state, const Node *node);         /* "C.io" */
const char *loops_text(NestState *state, const StageState *stage); /* "C.jo, C.io and C.ii" */

/* --- nest/names.c: arguments of primitives --- */

/* All refuse (and return NULL or false) when the argument is not what they look for. */
Node *argument_loop(NestState *state, const Prim *prim, const PrimArg *arg);
/* What a name that is no loop may stand for: j for C.j, C.k for C.r_k; or NULL. */
const Node *loop_meant(NestState *state, const char *name);
/* All positional ones: loops of one stage, no two the same. */
Node **argument_loops(NestState *state, const Prim *prim, int count);
StageState *argument_stage(NestState *state, const Prim *prim, const PrimArg *arg); /* that is computed: not inlined */
const Tensor *argument_tensor(NestState *state, const Prim *prim, const PrimArg *arg);
bool argument_integer(NestState *state, const Prim *prim, const PrimArg *arg, int64_t *value);
/* scope= */
bool argument_scope(NestState *state, const Prim *prim, StageState *stage);
/* A scope by its name; false when refused. */
bool argument_scope_name(NestState *state, const PrimArg *arg, Scope *scope);
/* The place of a word among those of a list; -1 when refused: "tail= is guard, mask, shift or exact, not x". */
int argument_word(NestState *state, const PrimArg *arg, const char *what, const char *const *words, int count);
bool arguments_check(NestState *state, const Prim *prim); /* number, kinds and keywords as the row of prims.def says */
const PrimArg *positional(const Prim *prim, int index);   /* NULL beyond the last */
int positional_count(const Prim *prim);
void number_holes(NestState *state, const Prim *prim);
/* The name of result number `index`: as written, or the given one. Must be free. */
bool bind_loop(NestState *state, const Prim *prim, int index, Node *node);
bool stage_has_loop(const StageState *stage, const char *name);
bool loop_name_is_free(NestState *state, const StageState *stage, const char *name);
const char *fresh_loop_name(NestState *state, const StageState *stage, const char *wanted);

/* --- nest/layout.c --- */

/* What a layout speaks of. */
typedef struct LayoutSubject {
    NestState *state;
    const Tensor *tensor;
    const Var *const *axes;   /* of the stage that writes it, or NULL */
    const char *const *names; /* [rank] what its dimensions are called in messages and when there is no list */
    StageList consumers;      /* that read it */
} LayoutSubject;

const char *without_r(const char *name); /* "r_k" as "k" */
/* The components of a list, or, when that is NULL, the dimensions as they are. */
bool layout_read(const LayoutSubject *subject, const Prim *prim, const PrimArg *list, Layout *layout);

/* --- nest/cache.c --- */

/* Readers of a constant read a copy at the root, in the order of the list: it is made at compile time. */
bool copy_constant(NestState *state, const Prim *prim, const Tensor *constant, const PrimArg *list);

/* --- handlers: nest/loops.c, nest/place.c, nest/reduce.c, nest/cache.c --- */

typedef bool Handler(NestState *state, const Prim *prim);
#define PRIMITIVE(id, spelling, ...) Handler apply_##spelling;
#include "lang/prims.def"
#undef PRIMITIVE
bool check_not_inlined(NestState *state, const StageState *stage);
/* Whether the statement may take the stage away from where it is; refuses outputs and what checks read. */
bool check_movable(NestState *state, const Prim *prim, const StageState *stage);
bool check_made(NestState *state, const StageState *stage); /* likewise what shares the domain of another stage */
/* Rewrites the consumer's reads of the stage. */
bool inline_into(NestState *state, StageState *consumer, StageState *stage);

/* --- nest/bounds.c and nest/check.c --- */

/* Finds extents, values, boxes, guards and the children of each stage. */
void finish_bounds(NestState *state);
void place_loops(NestState *state); /* positions, and kinds of ".store" loops: before all else */
bool loop_is_outside(const void *stage,
                     const Loop *loop); /* stands still while stage (a StageState) runs at its place */
FindForm find_axis_form;                /* context: a StageState */
bool check_places(NestState *state);    /* before finish_bounds */
bool check_loops(NestState *state);     /* after */
/* Extents and values of the reductions alone, which no box changes: before the nest is finished. */
void find_reduction_values(NestState *state, StageState *stage);
/* Whether the parts of a split have values beyond the end of the whole. */
bool relation_exceeds(NestState *state, const Relation *relation);
/* Whether the last piece of a split begins earlier: its elements are computed twice. */
int64_t piece_size(const Relation *relation); /* values of a loop in one value of the outer part of a split */
bool split_shifts(Forms *forms, const Relation *relation);
bool set_kind(NestState *state, const Prim *prim, int index, LoopKind kind);
/* nest/bind.c: loops along the axes of a device. */
bool check_bound(NestState *state, const StageState *stage);
/* nest/prefetch.c: finds what is fetched. */
bool find_prefetches(NestState *state);
/* nest/tail.c: what splits ask of extents; notes cuts and factors that change nothing. */
bool check_tails(NestState *state, const StageState *stage);
const Form *access_form(NestState *state, const StageState *stage, const NestRead *access, int dimension);

typedef LIST(const Node *) NodeList;
/* The leaves below a node in the order in which its values count up. */
void list_leaves(Arena *arena, const Node *node, NodeList *list);

/* --- nest/window.c --- */

FindForm find_seen_form; /* context: a Seeing: axes as if nothing had been computed */
bool check_doubled(NestState *state, const StageState *stage);
bool check_store(NestState *state, const StageState *stage);
void find_window(NestState *state, StageState *stage); /* of a stage that is stored, once its box is closed */
void guard_window(NestState *state, StageState *stage);
void stage_add_guard(NestState *state, StageState *stage, GuardForm guard);

/* --- nest/scan.c --- */

/* The loop over the steps, after the scan's stages, which were added last. */
void scan_add(NestState *state, const Scan *scan);
/* The stage is computed in each step, over one value of its step axis. */
void join_scan(NestState *state, StageState *stage, StageState *scan);
/* For a primitive that moves a stage: its step axis becomes a loop of its own. */
bool leave_scan(NestState *state, const Prim *prim, StageState *stage);
/* A stage that left the scan for the root: after the scan where it reads what that computes, else before. */
void order_outside(NestState *state, StageState *stage, const StageState *scan);
bool reads_earlier_step(const StageState *stage, const NestRead *access);
bool check_steps_loop(NestState *state, const Node *node, const char *what); /* "parallel" */
bool check_steps_order(NestState *state, const StageState *stage);
bool check_steps_box(NestState *state, const StageState *stage); /* after finish_bounds */
bool check_left_scan(NestState *state, const StageState *stage);
bool reads_itself_through(const NestState *state, const StageState *stage); /* others that are not parts of a scan */
bool check_scan_access(NestState *state, const StageState *reader, const NestRead *access);
bool all_read_earlier(const NestState *state, const Tensor *tensor);

/* --- nest/tensorize.c --- */

bool check_tensorized(NestState *state, StageState *stage); /* after finish_bounds */
/* cache_reads after which an instruction could run the loops from one inwards. The nest is finished. */
int suggest_layouts(NestState *state, const Node *node, const char *instr, Prim *prims, int limit);

/* --- nest/constant.c --- */

void find_constants(NestState *state); /* of a nest that is published but for its children */

/* --- nest.c --- */

/* The nest after the first `count` primitives; checked: NULL when it breaks a rule. */
NestState *build_prefix(Arena *arena, const Program *program, const Schedule *schedule, int count,
                        const int64_t *choices, const Target *target, bool checked, Refusal *refusal);
/* nest/suggest.c: statements like the refused one. */
int suggest_prims(NestState *state, const Prim *prim, Prim *candidates, int limit);
/* Whether a statement names a stage that is computed in the nest of a stage at root. */
bool prim_names_tree(const NestState *state, const Prim *prim, const NestStage *root);
/* nest/explain.c: what an iteration of the loop touches, how large a buffer is; each after "  # ". */
void nest_explain_loop(Text *text, const Nest *nest, const NestStage *stage, int depth);
void nest_explain_buffer(Text *text, const Tensor *buffer);
void nest_print_stage(Text *text, const NestStage *stage); /* with all that is computed at it */

#endif
