/* space.h - the search space of a program: groups of stages, genes, sketches and points.
 *
 * A group is a set of stages that are scheduled together: the root, whose loops all others of it are computed at.
 * Groups are independent of each other. Each has genes: structural ones (which axis is vectorized, what is packed
 * where, orders of loops) choose a sketch, which is a Schedule with holes; the others (tile sizes) fill a sketch's
 * holes. A choice of a tile gene fills all holes of one axis at once, so that every product of sizes that a point can
 * have is one that was listed.
 *
 * A point is an array of choices, one a gene, for all groups. Genes that the sketch does not use do not matter:
 * point_hash ignores them. Sketches are made on demand and kept; a sketch that nest_build refuses is kept as unusable.
 */
#ifndef AUTOSCHED_SPACE_H
#define AUTOSCHED_SPACE_H

#include "autosched/autosched.h"
#include "autosched/random.h"

typedef struct Gene {
    const char *name;      /* "O.h tile", "F pack" */
    int count;             /* of choices */
    int start;             /* the choice of the fixed heuristics */
    bool structural;       /* chooses the sketch; else its choices are values of holes */
    int width;             /* holes that a choice fills */
    const int64_t *values; /* [count * width] */
    int register_part;     /* the hole whose value multiplies the register tile, or -1 */
    int unroll_part;       /* likewise the unrolled body */
    int tiles;             /* of a group with two register tiles: the one, 1 or 2, that it is part of; 0: of each */
} Gene;

/* Where a hole of a sketch gets its value. */
typedef struct HoleSource {
    int gene, part; /* gene of the group */
    int64_t times;  /* as much as the gene says */
} HoleSource;

typedef struct Sketch {
    Schedule schedule; /* the group's statements; holes in order */
    LIST(HoleSource) holes;
    bool *active; /* [gene count of the group] */
    bool usable;
    int registers;  /* of the register tile besides the genes' parts: 1, or what is fixed by the structure */
    int64_t copies; /* of that tile, one behind the other, for what the structure unrolls around it: 1 or more */
    LIST(Prim) prims;
} Sketch;

typedef struct Space Space;
typedef struct Group Group;

/* Groups that are computed at the outer loops of one that reads them (chain.c). */
enum { CHAIN_AXES = 4, CHAIN_PRODUCERS = 3 };
typedef struct ChainAxis {
    int axis;                  /* of the root */
    int64_t step;              /* elements of a block; 1: the axis itself */
    const char *outer, *inner; /* the root's loops: over the blocks, and in one */
    int dims[CHAIN_PRODUCERS]; /* of the producers: they have it too, one value a block */
} ChainAxis;
typedef struct Chain {
    const Stage *root;
    int count;
    ChainAxis axes[CHAIN_AXES]; /* outermost first */
    int producer_count;
    const Stage *producers[CHAIN_PRODUCERS];
} Chain;

/* The starting point with another choice of one gene. */
typedef struct OtherStart {
    int gene, choice;
} OtherStart;

struct Group {
    const char *prefix; /* of local names: "" or "g2_" */
    const Stage *root;
    const Scan *scan; /* that the root is computed in each step of: it has no loop over the steps; or NULL */
    int stage_count;
    const Stage **stages; /* in program order, root included, inlined ones not */
    int first_gene;       /* place of its genes in a point */
    LIST(Gene) genes;
    LIST(OtherStart) others; /* starting points of other kinds */
    int kept_gene;           /* nothing that draws or changes a point changes it; -1: none */
    /* Adds the statements for the structural choices of genes to the sketch. False: that structure makes no sense. */
    bool tiled;          /* it is a tile group */
    bool skipped;        /* stays as the program has it */
    bool hopeless;       /* because no schedule of it was found to be legal */
    bool contradicts;    /* of a user's schedule: no choices hold for all of its constraints */
    const Program *part; /* what its nests are built of; NULL: not made yet */
    int64_t weight;      /* of each element of an unrolled tile, in what it becomes; 0: 1 */
    bool (*emit)(Space *space, Group *group, const int *genes, Sketch *sketch);
    void *details; /* of the kind of group */
    struct CachedSketch {
        uint64_t key;
        Sketch *sketch;
        struct CachedSketch *next;
    } **sketches; /* chains by their keys, as many as there may be sketches before they become twice as many */
    int sketch_count, chain_count;
};

struct Space {
    Arena *arena;
    const Program *program;
    const Target *target;
    LIST(Prim) common; /* inline statements and those of chains: before all groups */
    LIST(Chain *) chains;
    LIST(Group *) groups;
    int gene_count;
    /* Of each stage of the program; NULL where there are scans: */
    const Stage **present; /* with what was inlined into it so far in its place */
    bool *inlined;
    bool *constant;           /* computed when compiling */
    LIST(const char *) names; /* of tensors and indices, sorted; none: not listed yet */
    const Schedule *user;     /* the sketch is this one alone */
    LIST(Schedule *) shown;   /* what space_sketch answers */
};

/* --- how a space is made --- */

/* Divides the stages into groups and adds the inline statements. */
void space_make_groups(Space *space);
void tile_group_new(Space *space, Group *group,
                    const Stage *anchor); /* anchor: the reduction computed in the root's tile */
/* Members share the first depth axes of the root; anchor: one that is computed a block of rows at a time, or NULL; product:
 * one that is computed of the block's rows, or NULL. */
void row_group_new(Space *space, Group *group, int depth, const Stage *anchor, const Stage *product);
void user_group_new(Space *space, Group *group, const Schedule *user);
/* flat.c: of stages that are computed element by element in one order, in short rows or of sizes of run time. */
void flat_group_new(Space *space, Group *group);
bool group_is_flat(Space *space, const Group *group);
/* Whether the constraints of the user's schedule hold. */
bool user_allows(const Space *space, const Group *group, const int *genes);
/* Looks for chains among the groups and adds their statements. Groups that were made before do not know of them. */
bool space_find_chains(Space *space);
/* The chain that the stage is the root of, or else a producer of; NULL: none. */
const Chain *chain_of(const Space *space, const Stage *stage, int *producer);
/* What the chain has to do with an axis of that stage; NULL: nothing. chain may be NULL. */
const ChainAxis *chain_axis(const Chain *chain, int producer, int axis);
int group_add_gene(Space *space, Group *group, Gene gene);
bool stage_has_reuse(const Stage *stage);
/* A reduction of each element of which conditions read from memory choose the terms: no two elements have loops in common. */
bool stage_is_ragged(const Stage *stage);
/* A reduction over what lies side by side in memory, of which nothing is used again along two axes: better in vectors of
 * partial results than in a tile of elements. */
bool stage_is_row_reduction(const Space *space, const Stage *stage);
/* Of neighbours that lie side by side in all that is read, each over what does not: better in vectors of neighbours. */
bool stage_is_column_reduction(const Space *space, const Stage *stage);
/* All that it reads along its last reduction lies side by side. */
bool stage_reduces_along_memory(const Stage *stage);
enum { FEW_SUMS = 4 }; /* of a size of run time: values for which a product is sums along memory */
/* How much code an evaluation of its value becomes (weight.c), against a multiply-add: 1 or more. */
int64_t stage_weight(const Stage *stage, const Target *target);
/* Times that the group runs: the steps of its scan, 1 without one, -1 when not constant. */
int64_t group_steps(const Group *group);
/* Operations and elements, of all steps; -1 where they are known at run time only. */
double group_work(const Group *group);
/* The axis counts the steps of the scan that the group's root is computed in. */
bool is_steps_axis(const Group *group, const Stage *stage, int axis);
const char *steps_loop(Space *space, const Group *group); /* "scan.t" */
/* Whether the program is a version for a run-time size up to a limit. */
bool has_limited_size(const Space *space);
/* The extent when it is constant, else -1. */
int64_t axis_extent(const Var *axis);
/* A name that no tensor, size or index of the program has, made of the base. */
const char *space_local_name(Space *space, const Group *group, const char *base);

/* --- cases (case.c): a == 0 ? ... : a == 1 ? ... --- */

/* How many values of an axis stand together where each is a case of the stage's value; 0: it chooses no cases. */
int64_t case_period(const Stage *stage, int axis);
bool stage_has_cases(const Stage *stage);
/* The same with what the members of the group choose by it; root: as the nest has it. */
int64_t group_case_period(Space *space, const Group *group, const Stage *root, int axis);
/* Whether the stage reads the producer at numbers and at axes alone: a tile of cases needs a small part of it. */
bool reads_by_cases(const Stage *stage, const Stage *producer);
/* Whether inlined there, the producer's cases would be in the middle of an axis: x / 2 % 4 is no choice of a tile. */
bool loses_cases(Space *space, const Stage *consumer, const Stage *producer);
/* Whether each element is read once at most: every axis and reduction of the stage is an index, or two (x / 4, x % 4). */
bool read_is_injective(const Stage *stage, const Expr *read);
/* Where what a tile of cases reads is computed. */
typedef struct CasePlace {
    const Stage *root;
    const char *loop;
    const Var *vector; /* the root's vector axis, or NULL */
    int lanes;
} CasePlace;
/* Computes the members that the root reads in registers at the place. False: one has no lanes there. */
bool emit_producers(Space *space, const Group *group, Sketch *sketch, const CasePlace *place);

/* --- parts of a program (part.c) --- */

/* Begins with the stages as they are. */
void space_keep_stages(Space *space);
/* Inlines a stage, by the given statement, into those that are marked; false: it is not legal. */
bool space_inline(Space *space, const Prim *prim, int stage, const bool *readers);
/* The stage as it is after inlining: its reads name what the loops really touch. */
const Stage *inlined_stage(Space *space, const Stage *stage);
/* What the nests of a group are built of, and how many of the common statements they need. */
const Program *group_program(Space *space, Group *group);
int part_common_count(const Space *space, const Program *part);

/* --- tables of tile sizes (factors.c) --- */

/* Pairs (middle, inner) for a loop of an extent (-1 unknown): inner at most limit. Writes to the gene: count, values.
 */
void factors_tile(Arena *arena, int64_t extent, int64_t limit, Gene *gene);
/* Inner sizes of one period alone, in no register tile. */
void factors_cases(Arena *arena, int64_t extent, int64_t period, Gene *gene);
/* Single inner sizes. */
void factors_single(Arena *arena, int64_t extent, int64_t limit, Gene *gene);
int64_t ceil_divide(int64_t value, int64_t by);
/* Work done for work needed, at least 1, when a loop of extent is cut to pieces of size. */
double tile_waste(int64_t extent, int64_t size);

/* --- statements (sketch.c) --- */

PrimArg arg_name(const char *name);
PrimArg arg_int(int64_t value);
/* The next hole of the sketch: part `part` of a gene of the group. */
PrimArg arg_gene(Space *space, Sketch *sketch, int gene, int part);
/* name / value or name % value */
PrimArg arg_op(Space *space, const char *name, char op, int64_t value);
/* The same with so many times what the next hole holds: part `part` of a gene. */
PrimArg arg_op_gene(Space *space, Sketch *sketch, const char *name, char op, HoleSource source);
PrimArg arg_keyed(PrimArg arg, const char *key);
void sketch_add(Space *space, Sketch *sketch, PrimOp op, int results, const char *const *names, int count,
                const PrimArg *args);
/* op(names...) without results: reorder, vectorize, unroll, parallel. Nothing when count is 0. */
void sketch_loops(Space *space, Sketch *sketch, PrimOp op, const char *const *names, int count);
/* The nest of what the sketch holds so far, at the starting choices; NULL when it is refused. */
Nest *sketch_nest(Arena *arena, Space *space, Group *group, const Sketch *sketch);

/* --- points --- */

void point_start(const Space *space, int *point); /* the fixed heuristics */
/* The genes of one group alone. */
void group_random(Space *space, int number, Random *random, int *point);
void group_mutate(Space *space, int number, Random *random, int *point);
void point_random(Space *space, Random *random, int *point);
/* Changes one gene that matters, or rarely two. */
void point_mutate(Space *space, Random *random, int *point);
void point_cross(Space *space, Random *random, const int *a, const int *b, int *child);
/* The same of parents that differ in one group alone. */
void group_cross(Space *space, int number, Random *random, const int *a, const int *b, int *child);
uint64_t point_hash(Space *space, const int *point);
uint64_t group_hash(Space *space, int number, const int *point); /* of the genes of one group */
bool point_equal(Space *space, const int *a, const int *b);
/* Cheap: the sketches are usable and the register tiles fit. Nearly all that pass are accepted by nest_build. */
bool point_plausible(Space *space, const int *point);
bool group_plausible(Space *space, int number, const int *point); /* that of one group */
/* The same schedule without splits that do nothing (tidy.c). */
Schedule *schedule_tidy(Arena *arena, const Schedule *schedule);
/* Without the statements that had no effect in its nest. */
Schedule *schedule_effective(Arena *arena, const Schedule *schedule, const Nest *nest);
/* Without holes, tidy. NULL when a sketch is unusable. */
Schedule *point_schedule(Arena *arena, Space *space, const int *point);
/* NULL when refused. only: the group whose statements are used alone, or -1 for all. */
Nest *point_nest(Arena *arena, Space *space, const int *point, int only);
Sketch *group_sketch(Space *space, Group *group, const int *genes);

#endif
