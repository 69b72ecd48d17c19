/* brute_state.h - a model of a schedule while primitives are applied to it and while it runs. Private to
 * tests/unit/brute_*.c.
 *
 * Every loop is a Piece: an axis of a stage, or what split and fuse made of others. A stage that is computed at a loop
 * runs over the hull of what the rest of that iteration reads of it, found by walking that rest and looking at its
 * reads. Buffers are as large as the whole tensor, and empty at the start of their life.
 */
#ifndef TESTS_BRUTE_STATE_H
#define TESTS_BRUTE_STATE_H

#include "brute_model.h"

typedef struct Piece Piece;
typedef struct Cut Cut;
typedef struct Part Part;

typedef enum Mark { MARK_NONE, MARK_UNROLLED, MARK_VECTOR, MARK_PARALLEL } Mark;

/* What a stage runs over: its whole tensor, or a box. Shared by what cache_write makes with what stores it. */
typedef struct Domain {
    int64_t base[6], width[6];
    Part *owner; /* whose readers decide the box */
    bool known;
} Domain;

struct Piece {
    const char *name;
    Part *stage;
    bool reduction, runs, mark_set;
    Mark mark;
    Cut *taken, *made; /* the cut that made others of it; the one that made it */
    Piece *twin;       /* of a ".store" loop: what it was copied from */
    Piece *clone;      /* while cache_write copies */
    int dimension;     /* of a whole axis: its number, else -1 */
    bool partial;      /* an axis that rfactor made of a reduction loop */
    int64_t extent;    /* of a whole reduction */
    int64_t value;
};

struct Cut {
    bool fuses; /* parts into whole; else splits whole into parts */
    bool shifts, exact;
    Piece *whole, **parts;
    int64_t *factors;
    int count;
    Cut *clone;
};

/* A tensor as it is stored. */
typedef struct Store {
    const Tensor *tensor;
    int64_t dims[6], elements;
    uint64_t *values; /* 0: nothing */
    int first;        /* number of its first element among all */
    int64_t born;
} Store;

/* A stage of the schedule. */
struct Part {
    const char *name;
    Stage *stage;
    Piece *roots[12];
    int root_count;
    LIST(Piece *) loops;
    Piece *at;
    bool stored; /* longer than an iteration of that: over one of stored_at, or everything */
    Piece *stored_at;
    Part *keeper; /* what stores what this one computes, of a cache_write inside a loop */
    bool partial; /* stores what is summed so far: some of its reduction loops are around what it keeps */
    Domain *domain;
    bool inlined, unnamed;
    bool combines;    /* adds up what rfactor made */
    int64_t identity; /* that this began with, by its bits */
};

/* An iteration of a marked loop under way. */
typedef struct Lane {
    int64_t iteration, born;
    int64_t *writers, *readers; /* by element: iteration + 1, or -1 where several read */
} Lane;

struct Model {
    Arena *arena, *scratch;
    const Program *program;
    LIST(Part *) parts; /* in order of execution */
    LIST(Store) stores;
    LIST(Lane) lanes;
    int elements;
    int64_t births;
    bool form; /* not what a primitive takes: seen while running */
    const char *why;
    /* of a search for a box: */
    const Tensor *wanted;
    int64_t low[6], high[6];
    bool found;
};

/* --- brute_model.c --- */

/* Notes what was seen, the first such alone. Returns false. */
bool model_wrong(Model *m, const char *why);
Piece *piece_new(Model *m, Part *part, const char *name, bool reduction);
Cut *cut_new(Model *m, bool fuses, Piece *whole, int count);
Domain *domain_new(Model *m, Part *owner, const Tensor *tensor); /* all of the tensor */
/* With a loop for each axis and reduction. */
Part *part_new(Model *m, const char *name, const Stage *stage, int index);
void part_insert(Model *m, Part *part, int index);
Store *model_store(Model *m, const Tensor *tensor);
/* The part that stores what this one has summed in earlier iterations; NULL: it begins anew. */
const Part *part_held(const Part *part);
int loop_index(const Part *part, const Piece *loop);   /* among the loops of the part, or -1 */
int part_order(const Model *m, const Part *part);      /* among the parts of the model, or -1 */
Part *model_part(const Model *m, const char *name);    /* or NULL */
Piece *model_loop(const Model *m, const PrimArg *arg); /* or NULL */
bool stage_reads_tensor(const Stage *stage, const Tensor *tensor);
/* Whether the part runs in the body of the loop. */
bool part_is_inside(const Part *part, const Piece *loop);
int64_t piece_extent(const Piece *piece, const Domain *domain);
void part_rewrite(Model *m, Part *part, Expr *(*replace)(Arena *, Expr *, void *), void *context);

/* --- brute_copies.c: false when the form is wrong --- */

bool model_cache_read(Model *m, const Prim *prim);
bool model_cache_write(Model *m, const Prim *prim);
bool model_rfactor(Model *m, const Prim *prim);

#endif
