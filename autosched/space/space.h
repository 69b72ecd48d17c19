/* space.h - the door of the search space of a program: groups of stages, genes, sketches and points.
 *
 * A group is a set of stages that are scheduled together: a root, and stages computed at its loops. Groups are
 * independent of each other. Each has genes. Structural genes (which axis is vectorized, what is packed where, orders
 * of loops) choose a sketch, which is a Schedule with holes; other genes (tile sizes) fill its holes. A choice of a
 * tile gene fills all holes of one axis at once, so that a point can only have products of sizes that were listed.
 *
 * A point is an array of choices: one for each gene of all groups. Genes that the sketch does not use do not matter:
 * point_hash ignores them. Sketches are made on demand and kept; one that nest_build refuses is kept as unusable.
 */
#ifndef AUTOSCHED_SPACE_SPACE_H
#define AUTOSCHED_SPACE_SPACE_H

#include "lang/map.h"
#include "lang/random.h"
#include "lower/nest/nest.h"

/* What a gene decides. */
typedef enum GeneKind {
    GENE_STRUCTURE, /* how stages are computed together, and all that is nothing below */
    GENE_TILE,      /* sizes of the levels that a loop is cut into */
    GENE_PARALLEL,
    GENE_UNROLL,
    GENE_VECTOR, /* which loop runs in lanes */
    GENE_ORDER,  /* of loops */
    GENE_PLACE,  /* the loop that a stage is computed at */
    GENE_PACK,   /* where an operand is copied, in the order in which it is read */
    GENE_KINDS
} GeneKind;

typedef struct Gene {
    const char *name; /* "O.h tile", "F pack" */
    GeneKind kind;
    const Stage *stage;    /* whose loops it is about; the group's root where it is about all */
    int count;             /* of choices */
    int start;             /* the choice of the fixed heuristics */
    bool structural;       /* it chooses the sketch; otherwise its choices fill holes */
    int width;             /* how many holes a choice fills */
    const int64_t *values; /* [count * width] */
    int register_part;     /* the hole whose value multiplies the register tile, or -1 */
    int unroll_part;       /* likewise for the unrolled body */
    double gain; /* only a start of its own has another choice than the first, where estimates alone choose: by
                            * how much it must be estimated to be faster; 0: any start has it */
    bool kept;   /* is not drawn or changed now */
    int tiles;   /* in a group with several register tiles: the tile, from 1 on, that it belongs to; 0: all */
} Gene;

/* Where a hole of a sketch gets its value. */
typedef struct HoleSource {
    int gene, part;            /* gene of the group */
    int64_t times;             /* the gene's value is multiplied by this */
    const struct TileEnd *end; /* it is the number of tiles of this end, of sizes that the gene says; or NULL */
} HoleSource;

typedef struct Sketch {
    Schedule schedule; /* the group's statements; holes in order */
    LIST(HoleSource) holes;
    bool *active;    /* [gene count of the group] */
    int64_t *stands; /* of the first genes, holes of a block or a rule: the choice that a choice stands for; or NULL */
    int stands_first, stands_count;
    bool makes_sense; /* as far as is known; asked: nest_build said so, too (sketch_is_usable) */
    bool asked;
    bool shorter;   /* its vectors have fewer lanes than registers, as some are fetched one by one */
    int registers;  /* the part of the register tile that the structure fixes, besides the genes: 1 or more */
    int64_t copies; /* copies of that tile, one after another, that the structure unrolls around it: 1 or more */
    uint64_t hash;  /* of its statements; 0: not known */
    Text text;      /* statements that are not read yet */
    LIST(Prim) prims;
} Sketch;

typedef struct Space Space;
typedef struct Group Group;

/* Stages that read each other's neighbours and end in one: they can be computed in strips of that one (Halide's
 * pipelines), or apart, in the groups that the rules make. */
typedef struct Pipeline {
    int count;
    int *stages; /* numbers in the program, in order; the last one is the root */
    Group *group;
} Pipeline;

/* The starting point with another choice of one gene. */
typedef struct OtherStart {
    int gene, choice;
} OtherStart;

struct Group {
    const char *prefix; /* of local names: "" or "g2_" */
    const Stage *root;
    const Scan *scan; /* the scan that computes the root in each step: it has no loop over the steps; or NULL */
    int stage_count;
    const Stage **stages; /* in program order, root included, inlined ones not */
    int first_gene;       /* index of its first gene in a point */
    LIST(Gene) genes;
    LIST(OtherStart) others; /* other kinds of starting points */
    bool tiled;              /* it is a tile group */
    bool skipped;            /* keeps the loops of the program */
    bool hopeless;           /* skipped because none of its schedules is legal */
    Pipeline *fused;         /* the pipeline that it computes in strips, where its first gene says so; or NULL */
    Pipeline *apart;         /* the pipeline that it is a part of, where that is computed apart; or NULL */
    int tile_count;          /* of register tiles, with genes of their own: Gene.tiles */
    bool by_user;            /* its sketches begin with the statements of the user's schedule */
    bool contradicts;        /* with a user's schedule: no choices meet all of its constraints */
    const Program *part;     /* what its nests are built from; NULL: not made yet */
    int64_t weight;          /* code size of each element of an unrolled tile; 0: 1 */
    /* Adds the statements for the structural choices of genes to the sketch. False: that structure makes no sense. */
    bool (*emit)(Space *space, Group *group, const int *genes, Sketch *sketch);
    void *details;       /* private to the kind of group */
    struct Ruled *ruled; /* rules of the source that hold for its root; or NULL */
    struct CachedSketch {
        uint64_t key;
        Sketch *sketch;
        struct CachedSketch *next;
    } * *sketches; /* hash chains by key; their number doubles as sketches fill them */
    int sketch_count, chain_count;
};

/* A statement that comes before those of all groups: it inlines a stage, takes one out of a scan, or is a chain's. */
typedef struct CommonStatement {
    const Prim *prim;
    const Scan *scan; /* of the stage that it places; or NULL */
} CommonStatement;

struct Space {
    Arena *arena;
    const Program *program;
    const Target *target;
    LIST(CommonStatement) common;
    struct CommonIndex *common_index; /* of these (part.c) */
    const Group **inliners; /* of each of them: the group of a pipeline that inlines the stage by itself; or NULL */
    LIST(struct Chain *) chains;
    LIST(Pipeline *) pipelines;
    Pipeline **in_pipeline; /* [stages of the program]: the pipeline that each is in, or NULL; NULL: there are none */
    LIST(Group *) groups;
    Map readers;     /* of each tensor: the one group that reads it, or the space itself where several do */
    int read_groups; /* how many groups it lists */
    Map computers;   /* of each tensor: the numbers of the groups that compute it (GroupNumbers), */
    int computing;   /* of so many groups */
    Map by_root;     /* of the name of each root: the numbers of its groups (GroupNumbers), */
    int rooted;      /* of so many groups */
    Map reads[2];    /* of each tensor: how many reads of it `present` and `apart` have */
    int gene_count;
    int *explored[2];        /* a start, and a point changed from it, of the group that is being explored; or NULL */
    const int *genes_before; /* [groups + 1] for group_cross; made at its first use */
    /* For each stage of the program: */
    const Stage **present; /* the stage after inlining so far */
    const Stage **apart;   /* the stage before stages of pipelines were inlined */
    bool *inlined;
    bool *constant;           /* computed at compile time */
    bool *marked;             /* none, but while a group's part is made */
    bool *given;              /* what it reads is given with the program, or made from that alone */
    LIST(const char *) names; /* of tensors and indices, sorted; none: not listed yet */
    const Schedule *user;     /* the first group's; or NULL */
    HoleTree *holes;          /* its holes for names; or NULL */
    Text misfits;             /* rules that are not legal for the roots that they hold for: "RULE for STAGE, ..." */
    Text gaps;                /* holes of the schedule and of rules that may lack a choice */
    Text idle;                /* rules for the target that hold for no root: "RULE, ..." */
    bool *held;               /* of each stage: the user's schedule says how it runs, no other group does; or NULL */
    int bordered;             /* the number of the stage that no reader takes in; -1: none */
    bool trusting; /* nest_build is not asked about a sketch (sketch_is_usable) before it refuses one of its points */
};

/* --- spaces --- */

/* Makes the sketches of a program: all structures worth trying, each a Schedule with holes. user: a schedule to keep
 * to; or NULL. Then the space is its holes and what it leaves open. */
Space *space_new(Arena *arena, const Program *program, const Target *target, const Schedule *user);
/* The holes of the user's schedule alone. */
Space *space_of_holes(Arena *arena, const Program *program, const Target *target, const Schedule *user);
/* Whether there is something to choose for the schedule of a source: holes, or what it leaves open. */
bool schedule_leaves_open(const Program *program, const Target *target, const Schedule *user);

/* Whether one of the group's stages computes the tensor. */
bool group_computes(const Group *group, const Tensor *tensor);
/* The groups that compute the tensor, ascending; NULL: none does. A pipeline's stages are also those of the groups that
 * compute it apart. */
typedef LIST(int) GroupNumbers;
const GroupNumbers *space_computers(Space *space, const Tensor *tensor);
/* Whether another group reads the tensor. */
bool space_reads_elsewhere(Space *space, const Group *group, const Tensor *tensor);
/* Whether the group's statements are those of the point: it does not keep plain loops, and its pipeline is computed the
 * way that it stands for. */
bool group_is_used(const Space *space, const Group *group, const int *point);
/* Operations and elements in all steps together; -1 when known only at run time. */
double group_work(const Group *group);
/* A value of a run-time size that deserves a version of the program: for this value alone, or for all up to it. */
typedef struct SizeVersion {
    const char *size;
    int64_t value;
    bool at_most;
} SizeVersion;
enum { SIZE_VERSIONS = 2 };
/* Returns their number. At run time the first version that applies is taken. */
int program_size_versions(const Program *program, SizeVersion versions[SIZE_VERSIONS]);
/* Whether several versions of the program would be too much code. */
bool program_is_long(const Program *program);

/* The parts of the program that can be searched by themselves (task_program.c), in the order in which they run. 1, with
 * *parts not set: the program is one. The space has no user's block. */
int space_tasks(Space *space, Program ***parts);
/* The parts where, besides, there is a border behind a stage: what reads it does not take it in, neither inlined nor at
 * its loops nor in strips. */
int space_tasks_with_border(Arena *arena, const Program *program, const Target *target, int stage, Program ***parts);

/* --- points --- */

void point_start(const Space *space, int *point); /* the fixed heuristics */
/* Makes the group's register tile smaller until it fits. */
void group_fit(Space *space, int number, int *point);
/* Leaves about that part of the copies that it makes of its values; false: it makes no more than one. */
bool group_shrink(Space *space, int number, double part, int *point);
/* How many copies of the value the unrolled body holds, vectors counted as one. */
double group_body(Space *space, int number, const int *point);
void group_random(Space *space, int number, Random *random, int *point);
void group_mutate(Space *space, int number, Random *random, int *point);
void point_random(Space *space, Random *random, int *point);
/* Changes one gene that matters, rarely two. */
void point_mutate(Space *space, Random *random, int *point);
void point_cross(Space *space, Random *random, const int *a, const int *b, int *child);
/* The same for parents that differ in one group alone: its genes in each. */
void group_cross(Space *space, int number, Random *random, const int *a, const int *b, int *child);
/* Any of the gene's other choices, of which there are some. */
int gene_other_choice(Random *random, const Gene *gene, int choice);
/* A mutation (mutate.c) changes one gene of its kind. */
typedef struct Mutation {
    const char *name;
    GeneKind kind;
    int weight; /* how often one of its genes is changed, relative to a gene of another kind */
    int (*change)(Random *random, const Gene *gene, int choice); /* another choice */
} Mutation;
extern const Mutation mutations[GENE_KINDS]; /* by GeneKind */
/* Changes one gene that matters, drawn by the weights of the kinds, or among those of one kind (-1: all). False: there
 * is none, or no change fits; then the point is as it was. */
bool point_mutate_by(Space *space, Random *random, int kind, int *point);
/* The stage after inlining: its reads name what the loops really touch. */
const Stage *inlined_stage(const Space *space, const Stage *stage);
/* The program that a group's nests are built from: its part, or the whole. */
const Program *group_program(Space *space, Group *group);
/* The group of another space that has the same points: of a program that differs in what is given with it alone, where
 * the group reads none of that. -1: there is none. */
int group_in(Space *other, Space *space, int number);
/* The rules that the point takes: "RULE for STAGE, ..."; NULL: none. */
const char *point_rules(Arena *arena, const Space *space, const int *point);
uint64_t point_hash(Space *space, const int *point);
uint64_t group_hash(Space *space, int number, const int *point); /* of the genes of one group */
/* A cheap check that sketches are usable and register tiles fit. nest_build accepts nearly all points that pass. */
bool point_plausible(Space *space, const int *point);
bool group_plausible(Space *space, int number, const int *point); /* of one group */
/* The schedule without splits that do nothing (tidy.c). */
Schedule *schedule_tidy(Arena *arena, const Schedule *schedule);
/* The schedule without the statements that had no effect in its nest and that no other one needs: it is legal, too.
 * *nest becomes the nest of what is left, or NULL where that was not built. */
Schedule *schedule_effective(Arena *arena, const Schedule *schedule, const Nest **nest);
/* The tidy schedule of a point, without holes. NULL when a sketch is unusable. */
Schedule *point_schedule(Arena *arena, Space *space, const int *point);
/* The same with its nest; NULL where that was not built. */
Schedule *point_schedule_with(Arena *arena, Space *space, const int *point, const Nest **nest);
/* The nest of a point, NULL when refused. only: the group whose statements are used; -1: all. */
Nest *point_nest(Arena *arena, Space *space, const int *point, int only);
Sketch *group_sketch(Space *space, Group *group, const int *genes);
/* Whether nest_build accepts the sketch's structure for the starting sizes; asked once, where nothing cheaper says no.
 */
bool sketch_is_usable(Space *space, Group *group, Sketch *sketch);

#endif
