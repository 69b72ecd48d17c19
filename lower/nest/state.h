/* state.h - a nest while primitives are applied to it. Private to lower/nest.
 *
 * A stage has a root node for each axis and reduction. A Relation cuts a node into parts (split) or joins two into one
 * (fuse). Nodes that no relation has taken are the leaves; the stage's loops are its leaves in order. Extents and
 * values are not known here: the box of a stage that is computed at a loop follows from its consumers, so finishing a
 * nest (nest/bounds.c) finds them from the last stage to the first. Every Node begins with its Loop, every StageState
 * with its NestStage.
 */
#ifndef LOWER_NEST_STATE_H
#define LOWER_NEST_STATE_H

#include "lang/map.h"
#include "lower/nest/form.h"

#include <stddef.h>
#include <string.h>

typedef struct StageState StageState;
typedef struct Relation Relation;

typedef struct Node {
    Loop loop; /* loop.stage, loop.var and loop.reduction hold for every node, leaf or not */
    Var variable;
    Expr atom;          /* the variable */
    Relation *taken;    /* the relation that made other nodes of it; NULL: it is a leaf */
    struct Node *image; /* while cache_write takes loops apart: its counterpart in the new stage */
    struct Node *link;  /* the node that it stands for, of the stage that stores this one: both have the same value */
    struct Node *twin;  /* of a ".store" loop: the loop that it was copied from */
    int position;       /* a leaf's place among its stage's loops */
    bool kind_set;      /* a primitive named this loop: a ".store" loop then no longer follows its twin */
    bool holds;         /* a stage was computed or stored at it, and may be still */
    bool linked;        /* a node of another stage stands for it, or did */
    int cuts_prim;      /* the primitive that partitioned it */
    int unroll_prim;    /* the primitive that unrolled it by a factor */
    const Form *extent; /* a root's is that of its domain until the stage's box is known */
    const Form *value;  /* over leaf loops, those of outer stages included */
} Node;

/* The node of a loop's variable. */
static inline const Node *node_of(const Var *variable) {
    return (const Node *)((const char *)variable - offsetof(Node, variable));
}

typedef enum RelationKind { RELATION_SPLIT, RELATION_FUSE } RelationKind;

/* What a split does with its last piece when it does not divide. GUARD: a condition cuts off the values beyond the
 * extent, and code generators make a copy of the loop without it. MASK: likewise, without that copy. SHIFT: the last
 * piece begins earlier. EXACT: every piece must be full. */
typedef enum Tail { TAIL_GUARD, TAIL_MASK, TAIL_SHIFT, TAIL_EXACT, TAIL_COUNT } Tail;

/* SPLIT: whole = (part 0 * factor 1 + part 1) * factor 2 + part 2 ...; factor[0] is unused. If the tail is shifted,
 * part 0 * (product of the factors) is at most extent - product.
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
    uint64_t hash; /* of the value, once the guard belongs to a stage */
} GuardForm;

/* One dimension of the hull of all that consumers read inside the place where a stage is computed. */
typedef struct Box {
    bool begun, whole;
    bool clamped;      /* some indices count as the nearest one inside where they are outside: else edge */
    bool wraps;        /* some indices count modulo the extent: else wrap */
    bool unwrapped;    /* it may reach beyond the ends, where indices count modulo the extent */
    const Form *low;   /* over loops that stand still */
    const Form *width; /* extent - 1, over sizes */
} Box;

/* A stage whose axes are looked up as forms: the context of a FindForm. */
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
    int64_t turn;         /* ascending in the order of execution */
    StageList readers;    /* in this order: those that read it, and some that did */
    const Tensor *tensor; /* over the whole domain: the tensor that reads name */
    int root_count;
    Node **roots;               /* axes, then reductions */
    LIST(Relation *) relations; /* the one that makes a node comes before the one that takes it */
    LIST(Node *) leaves;
    LIST(NestRead) accesses;
    StageState *owner;   /* of a stage that cache_write made, not at root: the one that stores it and has its domain */
    StageState *scan;    /* the scan that computes it in its steps; the roots of both step axes are linked; or NULL */
    bool owns;           /* it was the owner of a stage, and may be still */
    bool earlier_steps;  /* made by cache_read of what earlier steps of a scan wrote */
    Node *at;            /* the loop it is computed at; NULL: root */
    bool doubled;        /* computed one iteration ahead, in two buffers that take turns */
    bool stored;         /* by store_at: */
    Node *store;         /* the loop in whose body its buffer lives, NULL: the root */
    Box *stores;         /* [rank], while finishing: what consumers read in that body */
    const Form **low;    /* [rank], of a stored one: the first index of the box, */
    bool *slides;        /* [rank]: and whether base leaves out what earlier iterations computed */
    int *owner_axes;     /* the owner's axis of each dimension; NULL: in the same order */
    StageState *updates; /* of a stage that decompose made: the one that it initialises, into its buffer */
    StageState *initialisation; /* the reverse of updates */
    bool beside;                /* it runs at the place of the stage that it updates, before all of that one's loops */
    bool partial; /* it stores partial results: reduction loops of it are around what cache_write made of it */
    Scope scope;
    bool scope_set;
    Box *boxes;                        /* [rank], while finishing: what consumers read, */
    Box *unwrapped, *unwrapped_stores; /* and likewise before `else wrap` turns indices back; NULL: none does */
    bool *unwraps;                     /* [rank]: along it the box is the unwrapped one; NULL: along none */
    bool boxed;        /* runs over a box, not the whole domain: itself or its owner is computed at a loop */
    const Form **base; /* [rank]: the first index of the box, from which a root's value counts */
    const Form **axes; /* [root_count]: base + value of the root */
    const Form **origin,
        **size; /* [rank]: of the buffer. A stage made by cache_write fills a part of the box of its domain */
    LIST(GuardForm) guards;
    ElementOrder *order; /* of its buffers; NULL: row major */
    int aligned_by;      /* the primitive that aligned it last */
};

typedef struct Alias {
    const char *name;
    Node *node;
    uint64_t hash; /* of the name */
} Alias;

/* A prefetch as the schedule asks for it. The final place of its loop, and what is read there, are found when the nest
 * is finished. */
typedef struct PrefetchOrder {
    const Tensor *tensor;
    Node *loop, *at; /* at: in each iteration of it a part; NULL: all at once in the body of loop */
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
    const char *rule, *format; /* the rule, and the format that it was made from */
    const PrimArg *arg;        /* the argument to blame; NULL: the whole statement */
    const PrimArg *cause;      /* the argument that breaks the rule, of this or an earlier primitive; or NULL */
} Refusal;

/* What an argument of the current primitive names. */
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
    Map makers;               /* from tensors to StageLists: who writes them, or did; */
    Map by_name;              /* from the names of stages, */
    Map by_component;         /* and from those of the further tensors of tuples */
    Map readers;              /* from tensors to StageLists: who reads them, or did */
    Map loop_names;           /* all that loops had */
    Map tensor_names;         /* of the program, to the first tensor of a name: */
    bool tensor_names_listed; /* once somebody asked */
    LIST(Alias) aliases;
    int *alias_slots; /* hash table over their names; its size is a power of two */
    int alias_slot_count;
    LIST(int) ineffective;
    LIST(PrefetchOrder) prefetches;
    const int64_t *choices;
    const Schedule *schedule; /* NULL: none */
    int holes;                /* so far; holes of the same name count once */
    LIST(HoleNumber) numbers; /* of the current primitive */
    LIST(HoleNumber) shared;  /* of the holes with a name, so far */
    int prim;                 /* its index */
    const Prim *last;         /* the last one that was applied */
    LIST(Named) named;        /* of it; kept only while an explanation is wanted */
    Refusal *refusal;
} NestState;

/* --- nest/state.c: stages, nodes, names --- */

/* Most names differ in their first letter, or are one text. */
static inline bool is_same_name(const char *a, const char *b) {
    return a == b || (*a == *b && strcmp(a, b) == 0);
}

NestState *state_new(Arena *arena, const Program *program, const Target *target, const int64_t *choices,
                     Refusal *refusal);
/* Returns false, for the handler to return. */
bool refuse(NestState *state, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same, with the argument to blame. */
bool refuse_at(NestState *state, const PrimArg *arg, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* The same, with the argument that names the loop to blame, where there is one. */
bool refuse_loop(NestState *state, const Node *node, const char *format, ...) __attribute__((format(printf, 3, 4)));
bool refuse_stage(NestState *state, const StageState *stage, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool state_for_device(const NestState *state); /* a device: its loops can be bound to axes */
const char *state_target_name(const NestState *state);
void no_effect(NestState *state);
void no_effect_of(NestState *state, int prim);
const char *state_text(NestState *state, const char *format, ...) __attribute__((format(printf, 2, 3)));

FindForm find_domain_form; /* context: a Seeing; gives axes and reductions as root loops over the whole domain */
/* Makes the same relation between the images of its nodes. */
void copy_relation(NestState *state, const Relation *relation, StageState *made);
const Tensor *tensor_copy(NestState *state, const Tensor *tensor, const char *name); /* a temporary like it */
Node *node_new(NestState *state, StageState *stage, const char *name, bool reduction);
/* The form of a node's variable, whose extent is now the node's. */
const Form *node_form(Forms *forms, Node *node);
/* Adds a stage with a root and a leaf for each axis and reduction, placed before `before` in the order of execution. */
StageState *stage_add(NestState *state, const Stage *stage, StageState *before);
/* The same without roots and loops. */
StageState *stage_add_bare(NestState *state, const Stage *stage, StageState *before);
/* The name of a new stage: the primitive's result, else TENSOR.WORD made unique. NULL when refused. */
const char *stage_name(NestState *state, const Prim *prim, const char *tensor, const char *word);
/* Adds a root and leaf for an axis or reduction, named after it if that name is free. */
void stage_add_root(NestState *state, StageState *stage, const Var *axis, bool reduction);
/* Gives the stage a rewritten Stage, and lists its reads again. */
void stage_rewrite(NestState *state, StageState *stage, const Stage *rewritten);
StageState *state_producer(const NestState *state, const Tensor *tensor); /* NULL for an input */
/* The stages in the loop's body (NULL: all) that read the tensor, inlined ones too, in the order of execution. */
StageList tensor_readers(NestState *state, const Tensor *tensor, const Node *loop);
bool stage_has_read(const StageState *stage, const Tensor *tensor);
const Tensor *tensor_by_name(NestState *state, const char *name); /* of the program; NULL: none */
void node_link(Node *node, Node *to);                             /* it stands for that one */
/* The first stage of this name, or that writes a further tensor of a tuple with the name; NULL: none. */
StageState *stage_by_name(const NestState *state, const char *name);
void stage_place(StageState *stage, Node *at);        /* computes it there; NULL: at the root */
void stage_own(StageState *stage, StageState *owner); /* NULL: nobody owns it */
/* The first stage that is computed at one of its loops; NULL: none. */
const StageState *held_stage(const NestState *state, const StageState *stage);
const Form *extent_form(NestState *state, const Expr *extent); /* of a domain: over sizes alone */
/* Whether a stage that is not inlined reads the tensor. */
bool reads_tensor(const StageState *stage, const Tensor *tensor);
bool reads_stage(const StageState *consumer, const StageState *stage);
const StageState *root_of(const StageState *stage); /* the stage at root that it is computed in */
void order_after(NestState *state, StageState *stage, const StageState *before); /* puts it behind that one */
StageState *stage_of(const Node *node);
const Node *next_outer(const Node *node); /* the loop around a leaf: of its stage, then of where that is computed */
bool node_is_leaf(const Node *node);
int leaf_index(const StageState *stage, const Node *leaf);
int first_reduction(const StageState *stage); /* the place of its first reduction loop; their number: none */
Relation *relation_add(NestState *state, StageState *stage, RelationKind kind, Node *whole, int count);
/* Whether the stage is computed inside the body of a loop, which belongs to its owner or to one of its consumers. */
bool stage_is_inside(const StageState *stage, const Node *loop);
bool stages_have_name(NestState *state, const char *name);
const char *loop_text(NestState *state, const Node *node);         /* "C.io" */
const char *loops_text(NestState *state, const StageState *stage); /* "C.jo, C.io and C.ii" */

/* --- nest/names.c: arguments of primitives --- */

/* All of these refuse (and return NULL or false) when the argument is not what they look for. */
Node *argument_loop(NestState *state, const Prim *prim, const PrimArg *arg);
/* The loop that a name was probably meant for when it names none: C.j for j, C.r_k for C.k; or NULL. */
const Node *loop_meant(NestState *state, const char *name);
/* All positional arguments: distinct loops of one stage. */
Node **argument_loops(NestState *state, const Prim *prim, int count);
StageState *argument_stage(NestState *state, const Prim *prim, const PrimArg *arg); /* that is not inlined */
const Tensor *argument_tensor(NestState *state, const Prim *prim, const PrimArg *arg);
bool argument_integer(NestState *state, const Prim *prim, const PrimArg *arg, int64_t *value);
/* scope= */
bool argument_scope(NestState *state, const Prim *prim, StageState *stage);
/* A scope by its name; false when refused. */
bool argument_scope_name(NestState *state, const PrimArg *arg, Scope *scope);
/* The index of a word in a list; -1 when refused: "tail= is guard, mask, shift or exact, not x". */
int argument_word(NestState *state, const PrimArg *arg, const char *what, const char *const *words, int count);
bool arguments_check(NestState *state, const Prim *prim);             /* as the row of prims.def says */
const PrimArg *positional(const Prim *prim, int index);               /* NULL beyond the last */
const PrimArg *next_positional(const Prim *prim, const PrimArg *arg); /* likewise */
int positional_count(const Prim *prim);
void number_holes(NestState *state, const Prim *prim);
/* Names result number `index`: as given, or as written in the statement. The name must be free. */
bool bind_loop(NestState *state, const Prim *prim, int index, Node *node);
bool stage_has_loop(const NestState *state, const StageState *stage, const char *name);
bool loop_name_is_free(NestState *state, const StageState *stage, const char *name);
const char *fresh_loop_name(NestState *state, const StageState *stage, const char *wanted);

/* --- nest/layout.c --- */

/* The tensor that a layout describes, and who uses it. */
typedef struct LayoutSubject {
    NestState *state;
    const Tensor *tensor;
    const Var *const *axes;   /* of the stage that writes it, or NULL */
    const char *const *names; /* [rank] names of the dimensions in messages, and when there is no list */
    StageList consumers;      /* the stages that read it */
} LayoutSubject;

const char *without_r(const char *name); /* "r_k" as "k" */
/* Reads the components of a list. NULL: the dimensions as they are. */
bool layout_read(const LayoutSubject *subject, const Prim *prim, const PrimArg *list, Layout *layout);

/* --- nest/cache.c --- */

/* Makes the readers of a constant read a copy at the root, in the order of the list. It is made at compile time. */
bool copy_constant(NestState *state, const Prim *prim, const Tensor *constant, const PrimArg *list);

/* --- handlers: nest/loops.c, nest/place.c, nest/reduce.c, nest/cache.c --- */

typedef bool Handler(NestState *state, const Prim *prim);
#define PRIMITIVE(id, spelling, ...) Handler apply_##spelling;
#include "lang/prims.def"
#undef PRIMITIVE
bool check_not_inlined(NestState *state, const StageState *stage);
/* Whether the statement may move the stage from its place; refuses outputs and what checks read. */
bool check_movable(NestState *state, const Prim *prim, const StageState *stage);
bool check_made(NestState *state, const StageState *stage); /* likewise; refuses what shares a domain */
/* The stage from whose partial results the reduction goes on; NULL: it begins where it is computed. */
StageState *resumed_stage(const StageState *stage);
/* Rewrites the consumer's reads of the stage. */
bool inline_into(NestState *state, StageState *consumer, StageState *stage);

/* --- nest/bounds.c and nest/check.c --- */

/* Finds extents, values, boxes, guards and the children of each stage. */
void finish_bounds(NestState *state);
void place_loops(NestState *state); /* finds positions, and the kinds of ".store" loops: runs before all else */
bool box_is_whole(NestState *state, const StageState *stage, int dimension, const Box *box);
bool loop_is_outside(const void *stage,
                     const Loop *loop); /* the loop stands still while stage (a StageState) runs at its place */
FindForm find_axis_form;                /* context: a StageState */
bool check_places(NestState *state);    /* before finish_bounds */
bool check_loops(NestState *state);     /* after */
/* Finds extents and values of the reductions alone, which no box changes: works before the nest is finished. */
void find_reduction_values(NestState *state, StageState *stage);
/* Whether the parts of a split have values beyond the end of the whole. */
bool relation_exceeds(NestState *state, const Relation *relation);
int64_t piece_size(const Relation *relation); /* values of the whole for one value of the outer part of a split */
/* Whether the last piece of a split begins earlier: some elements are then computed twice. */
bool split_shifts(Forms *forms, const Relation *relation);
bool set_kind(NestState *state, const Prim *prim, int index, LoopKind kind);
/* nest/bind.c: checks loops along device axes. */
bool check_bound(NestState *state, const StageState *stage);
/* nest/prefetch.c: finds what each prefetch fetches. */
bool find_prefetches(NestState *state);
/* nest/tail.c: checks what splits demand of extents; notes cuts and factors without effect. */
bool check_tails(NestState *state, const StageState *stage);
const Form *access_form(NestState *state, const StageState *stage, const NestRead *access, int dimension);

typedef LIST(const Node *) NodeList;
/* Lists the leaves below a node, in the order in which its values count up. */
void list_leaves(Arena *arena, const Node *node, NodeList *list);

/* --- nest/window.c --- */

FindForm find_seen_form; /* context: a Seeing; gives axes as if nothing had been computed */
bool check_doubled(NestState *state, const StageState *stage);
bool check_store(NestState *state, const StageState *stage);
void find_window(NestState *state, StageState *stage); /* of a stored stage, once its box is closed */
void guard_window(NestState *state, StageState *stage);
void stage_add_guard(NestState *state, StageState *stage, GuardForm guard);

/* --- nest/wrap.c --- */

/* What an index of a read counts modulo the extent; NULL: nothing, or the rest of a quotient, as in a layout. */
const Expr *read_wraps(const Expr *read, int dimension);
/* Makes unwrapped boxes for the stages that are read so. */
void begin_unwrapped(NestState *state);
/* The stage's boxes become unwrapped ones where these are small and the others are not. */
void choose_unwrapped(NestState *state, StageState *stage);
bool stage_unwraps(const StageState *stage, int dimension);
/* Rewrites the stage, and those that read it, for the dimensions that it unwraps. */
void unwrap_stage(NestState *state, StageState *stage);

/* --- nest/scan.c --- */

/* Adds the loop over the steps after the scan's stages, which were added last. */
void scan_add(NestState *state, const Scan *scan);
/* Places the stage in each step of the scan, over one value of its step axis. */
void join_scan(NestState *state, StageState *stage, StageState *scan);
/* For a primitive that moves a stage out of its scan: its step axis becomes a loop of its own. */
bool leave_scan(NestState *state, const Prim *prim, StageState *stage);
/* Orders a stage that left the scan for the root: after the scan if it reads what that computes, else before. */
void order_outside(NestState *state, StageState *stage, const StageState *scan);
bool reads_earlier_step(const StageState *stage, const NestRead *access);
bool check_steps_loop(NestState *state, const Node *node, const char *what); /* "parallel" */
bool check_steps_order(NestState *state, const StageState *stage);
bool check_steps_box(NestState *state, const StageState *stage); /* after finish_bounds */
bool check_left_scan(NestState *state, const StageState *stage);
bool reads_itself_through(const NestState *state, const StageState *stage); /* through stages outside scans */
bool check_scan_access(NestState *state, const StageState *reader, const NestRead *access);
bool all_read_earlier(NestState *state, const Tensor *tensor);

/* --- nest/tensorize.c --- */

bool check_tensorized(NestState *state, StageState *stage); /* after finish_bounds */
/* Suggests cache_reads after which an instruction could run the loops from one inwards. The nest must be finished. */
int suggest_layouts(NestState *state, const Node *node, const char *instr, Prim *prims, int limit);

/* --- nest/query.c --- */

void list_producers(Nest *nest); /* of a nest that is published: then nest_producer need not look for them */

/* --- nest/constant.c --- */

void find_constants(NestState *state); /* of a nest that is published, but not its children */

/* --- nest.c --- */

/* The nest after the first `count` primitives. checked: NULL when it breaks a rule. */
NestState *build_prefix(Arena *arena, const Program *program, const Schedule *schedule, int count,
                        const int64_t *choices, const Target *target, bool checked, Refusal *refusal);

/* --- nest/offers.c --- */

/* A hole that stands for a loop, a place or an order, in a schedule whose statements before it have no such holes. */
typedef struct HoleQuestion {
    const Program *program;
    const Target *target;
    const Schedule *schedule;
    int prim;            /* the statement of the hole */
    const PrimArg *hole; /* among its arguments */
} HoleQuestion;
typedef struct Offer {
    int count; /* 1 or more */
    PrimArg *items;
    bool legal; /* each is, where it stands; otherwise only a later statement may make one legal */
} Offer;
Offer nest_offer(Arena *arena, const HoleQuestion *question);
/* What is wrong, in *error: an item of a list of the source is no loop; a hole does not stand where it may; none of its
 * choices is legal. */
bool nest_offer_names_loop(Arena *arena, const HoleQuestion *question, const PrimArg *item, NestError *error);
bool nest_offer_stands_well(Arena *arena, const HoleQuestion *question, NestError *error);
bool nest_offer_is_empty(Arena *arena, const HoleQuestion *question, NestError *error);

/* nest/suggest.c: statements like the refused one, into candidates; returns their number. */
int suggest_prims(NestState *state, const Prim *prim, Prim *candidates, int limit);
/* Whether a statement names a stage in the tree of a stage at root: computed in its nest. */
bool prim_names_tree(const NestState *state, const Prim *prim, const NestStage *root);
/* nest/explain.c: prints what an iteration of the loop touches, and how large a buffer is; each after "  # ". */
void nest_explain_loop(Text *text, const Nest *nest, const NestStage *stage, int depth);
void nest_explain_buffer(Text *text, const Tensor *buffer);
void nest_print_stage(Text *text, const NestStage *stage); /* with all that is computed at it */

#endif
