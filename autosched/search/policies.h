/* policies.h - what the parts of a search share: estimates, measurements, and the policies that propose what to measure
 * next.
 *
 * A policy is a row of a table. It sees the space, the cost model and all measurements, and proposes legal points that
 * were neither measured nor proposed before. The same seed and measurements give the same proposals.
 */
#ifndef AUTOSCHED_SEARCH_POLICIES_H
#define AUTOSCHED_SEARCH_POLICIES_H

#include "autosched/search/search.h"

/* explore.c */
/* Seconds by the static model; HUGE_VAL where the point is refused. only: the group whose statements are used; -1:
 * all. */
double point_estimate(Arena *scratch, Space *space, const int *point, int only);
/* Points of a group that is explored where little depends on it. */
enum { GROUP_POINTS = 80 };
/* The best of so many points of the group. It is plain, or hopeless, where nothing else is legal. */
void choose_group(Space *space, int number, int budget, Random *random, int *point);
/* The starting point of a group, or the first random one that is legal. */
void fix_group(Space *space, int number, Random *random, int *point);
/* The choice with the least estimate among some of at most so many instructions. Returns the estimate, HUGE_VAL where
 * there is none; then the point is as it was. */
double choose_within(Space *space, int number, int64_t most, int *point);

/* combine.c */
/* How the code of groups fits: those that another choice has made fit stay as they are where there are few others. */
typedef struct Fit {
    const int *same; /* of each group: the first one that it is equal to */
    bool *smaller;   /* its tiles were made smaller, as all together would be too much code */
    bool *plain;     /* it keeps its plain loops, as all together would be far too much code */
    int64_t most;    /* instructions of a function beyond which groups keep their plain loops */
    int64_t worth_limit; /* the most instructions of a group that its work is worth */
    int fresh;       /* groups that were not made to fit before */
    int least;       /* points of each group, at least */
} Fit;
/* The schedule of all groups at a point, or of as many as are legal together; the others stay plain, and the schedule
 * names them. fit: tiles are made smaller where they are too much code; NULL: they are not. *nest becomes its nest, or
 * NULL where that was not built. NULL: plain loops are not legal either. */
Schedule *space_combine(Arena *arena, Space *space, int *point, Fit *fit, const Nest **nest);
/* The schedule of a point with what no gene decides: prefetches. NULL when a sketch is unusable. */
Schedule *complete_schedule(Arena *arena, Space *space, const int *point);
/* Whether the group's pipeline computes its stages, in strips. */
bool group_is_replaced(const Space *space, const Group *group, const int *point);

/* default.c */
/* The schedule of -O1, -O2 or -O3. from: a choice that holds for groups that are the same in its space; or NULL. */
StaticChoice *space_choice(Arena *arena, Space *space, Effort effort, uint64_t seed, const StaticChoice *from);

/* equal.c: for each group the first one that it is equal to: itself, mostly. */
int *equal_groups(Arena *arena, Space *space);
/* The group at the genes of an equal one; and also plain or hopeless as that is. */
void take_genes(const Space *space, int number, int equal, int *point);
void take_equal(Space *space, int number, int equal, int *point);

/* similar.c: whether two genes decide the same thing; sizes to choose from may differ. */
bool gene_is_alike(const Gene *a, const Gene *b);
/* Takes for the group, but for its kept genes, what was chosen for a group before it that is alike. False:
 * there is none. */
bool take_similar(Space *space, int number, const int *chosen, int *point);

/* A function of so few groups may have long code: each has limits of its own, where it has few stages. */
enum { FEW_GROUPS = 5 };
/* Makes the tiles of groups smaller where a function would be too much code, and leaves groups plain where it would be
 * far too much (fit.c): says of which, and whether any. nest: the point's. */
bool fit_code(Space *space, const Nest *nest, int *point, Fit *fit);
/* The instructions of the group, scheduled alone; INT64_MAX where that is not legal. */
int64_t group_code(Space *space, int number, const int *point);
/* What of a limit each may have, where those with less leave theirs to the others. */
int64_t fair_share(const int64_t *amounts, int count, int64_t limit);

typedef struct Search Search;

/* Settings that each policy has, before its own. */
enum { SEARCH_COLD, SEARCH_BATCH, SEARCH_SETTINGS };
#define COMMON_SETTINGS                                                                                                \
    [SEARCH_COLD] = {"cold",                                                                                           \
                     SETTING_FLAG,                                                                                     \
                     0,                                                                                                \
                     0,                                                                                                \
                     1,                                                                                                \
                     "begins without the schedule of -O2, which is not measured, and takes its own records alone"},    \
    [SEARCH_BATCH] = {"batch", SETTING_COUNT, 16, 1, 4096, "candidates of a round, after which the model learns"}
#define END_OF_SETTINGS                                                                                                \
    { NULL, SETTING_FLAG, 0, 0, 0, NULL }

typedef struct SearchPolicy {
    const char *name;
    /* Puts up to `wanted` points (in the search's arena) into points; returns their number. */
    int (*propose)(Search *search, int wanted, int **points);
} SearchPolicy;

/* A set of 64-bit hashes: open addressing. */
typedef struct HashSet {
    uint64_t *slots;
    int capacity, count;
} HashSet;

struct Search {
    Arena *arena;
    Space *space;
    CostModel *model;
    const SearchPolicy *policy;
    const double *settings; /* of the policy, by their number in its list */
    Random random;
    int jobs;              /* threads that may score points; proposals do not depend on it */
    LIST(Arena *) scratch; /* of each thread */
    HashSet seen;          /* measured or proposed */
    int measured;
    LIST(const int *) points; /* measured ones; NULL where only the features are known */
    LIST(double) seconds;     /* HUGE_VAL: failed */
    int rounds;
    int made, refused; /* children of crossing and mutation; those that are not legal */
    void *state; /* what the policy keeps between rounds, in the arena; NULL: nothing yet */
};

/* NULL for an unknown policy. The name may have settings: "anneal:chains=128,cold". */
Search *search_open(Arena *arena, Space *space, CostModel *model, const char *policy, uint64_t seed);
void search_close(Search *search);
/* Takes a measurement. point may be NULL (a record of another space); seconds is HUGE_VAL for a failure. */
void search_tell(Search *search, const int *point, const float *features, double seconds);
void search_learn(Search *search); /* fits the model to all measurements, those of its other tasks included */
int search_propose(Search *search, int wanted, int **points);

/* --- for policies --- */

bool hash_set_has(const HashSet *set, uint64_t hash);
void hash_set_add(HashSet *set, uint64_t hash);
/* Scores of points; -HUGE_VALF for refused ones. */
void search_score(Search *search, int *const *points, int count, float *scores);
bool search_is_new(const Search *search, const int *point); /* not seen */
bool search_is_legal(Search *search, const int *point);
int *search_copy(Search *search, const int *point);
/* Adds random new legal points, up to wanted in all. Returns the count. */
int search_fill(Search *search, int wanted, int **points, int count);
/* Nodes of the graph of a space (crossover.c): what the genes of one stage decide, or, for a pipeline in strips,
 * those of one group.
 */
typedef struct SpaceNode {
    const Group *group;
    const Stage *stage;
} SpaceNode;
typedef struct Nodes {
    LIST(SpaceNode) nodes;
    int *of_gene; /* [genes of a point] */
} Nodes;
Nodes *nodes_new(Arena *arena, const Space *space);
/* The model's score of the statements of each node at a point; -HUGE_VALF: it has none. False: the point is not legal.
 */
bool node_scores(Search *search, const Nodes *nodes, const int *point, float *scores);
/* A point and its nodes' scores. */
typedef struct Parent {
    const int *point;
    const float *scores;
} Parent;
/* Takes the genes of each node from the parent whose node has the better score. Those that depend on each other stay
 * together: all of a pipeline that the parents compute in different ways, all of a group that would not fit. */
void cross_nodes(Search *search, const Nodes *nodes, Parent a, Parent b, int *child);
/* Puts up to limit measured points, fastest first, into points; returns their number. */
int search_fastest(const Search *search, int limit, const int **points);

#define POLICY(name, summary)                                                                                          \
    int propose_##name(Search *search, int wanted, int **points);                                                      \
    extern const Setting name##_settings[];
#include "autosched/search/policies.def"
#undef POLICY

#endif
