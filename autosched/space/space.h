/* space.h - the door of the spaces: the search space of a program: groups of stages, genes, sketches and points.
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
#ifndef AUTOSCHED_SPACE_SPACE_H
#define AUTOSCHED_SPACE_SPACE_H

#include "lang/random.h"
#include "lower/nest/nest.h"

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
    LIST(struct Chain *) chains;
    LIST(Group *) groups;
    int gene_count;
    /* Of each stage of the program; NULL where there are scans: */
    const Stage **present; /* with what was inlined into it so far in its place */
    bool *inlined;
    bool *constant;           /* computed at compile time */
    /* Where there are scans, the nest of the common statements: of so many, with the arguments of the last of them. */
    const Nest *common_nest;
    bool common_made;
    int common_count;
    const PrimArg *common_last;
    LIST(const char *) names; /* of tensors and indices, sorted; none: not listed yet */
    const Schedule *user;     /* the sketch is this one alone */
};

/* --- spaces --- */

/* The sketches of a program: all the structures worth trying, each a Schedule with holes. user: a schedule whose holes
 * are the space instead (or NULL). */
Space *space_new(Arena *arena, const Program *program, const Target *target, const Schedule *user);

/* Operations and elements, of all steps; -1 where they are known at run time only. */
double group_work(const Group *group);
/* A value of a run-time size that deserves a version of the program: that value alone, or all up to it. */
typedef struct SizeVersion {
    const char *size;
    int64_t value;
    bool at_most;
} SizeVersion;
enum { SIZE_VERSIONS = 2 };
/* Returns their number; the first that holds is the one to take. */
int program_size_versions(const Program *program, SizeVersion versions[SIZE_VERSIONS]);

/* --- points --- */

void point_start(const Space *space, int *point); /* the fixed heuristics */
/* The genes of one group alone. */
/* Makes the group's register tile smaller until it fits. */
void group_fit(Space *space, int number, int *point);
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
