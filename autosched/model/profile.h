/* profile.h - what a nest does, in numbers: the base of the features and of the static model.
 *
 * Every stage that runs has its chain of loops, which includes the loops of the stages that it is computed at. Its
 * accesses are linear forms over that chain; an index that is not linear is replaced by its slope. A run-time size
 * counts as TYPICAL_SIZE. A fused loop stands in the chain as the loops that it was made of, with its variable and
 * kind, because the indices are linear in those. All numbers are estimates; no decision about legality rests on them.
 */
#ifndef AUTOSCHED_MODEL_PROFILE_H
#define AUTOSCHED_MODEL_PROFILE_H

#include "lang/extremes.h"
#include "lower/nest/nest.h"

enum { TYPICAL_SIZE = 256, TYPICAL_ROW = 32 /* terms of a ragged one */ };

/* What it costs to take lanes back inside by a limit, a remainder by a number, or one by a run-time size: in tests. */
enum { CLAMP_LIMIT = 1, CLAMP_NUMBER = 2, CLAMP_SIZE = 4 };

typedef struct AccessFacts {
    const Tensor *tensor;
    bool write, in_registers, guarded, irregular;
    bool temporary;   /* a buffer that the function allocates */
    int rank, bytes;  /* of an element */
    double *dims;     /* [rank] of the buffer */
    double *slopes;   /* [rank * loop_count]: of each index by each loop */
    double *offsets;  /* [rank]: of each index where all loops are 0 */
    int *movers;      /* [rank * loop_count]: the loops whose slope is not 0, by index, outermost first */
    int *mover_count; /* [rank] */
    int shifts;       /* itself and reads of the tensor that differ in offsets alone; 0: an earlier one counts it */
    double *spread;   /* [rank]: how far apart their offsets are */
    double repeated;  /* part of it in copies of unrolled loops that other copies read too */
    double held;      /* vectors that stay in registers, for a later step of an unrolled reduction reads them too */
    double *strides;  /* [loop_count]: elements from one iteration to the next */
    double size;      /* bytes of the buffer */
    int *clamped;     /* [rank]: where lanes may be beyond the ends and read other elements instead, what that costs */
    bool *tested;     /* [rank], of a guarded access: whether the inner loops test that index */
    double *reached;  /* [loop_count + 1]: access_footprint by depth for the extents of the profile; 0: not known yet */
} AccessFacts;

typedef struct StageFacts {
    const NestStage *stage;
    int loop_count, outer_count; /* in the chain; of these, how many belong to stages that this one is computed at */
    const Loop **loops;          /* outermost first */
    double *extents;
    int changed;    /* loops before this one may have extents other than the profile's */
    double *bodies; /* [loop_count + 1]: bytes that a body takes, by depth, like AccessFacts.reached */
    int access_count;
    AccessFacts *accesses;     /* what is written, then what is read */
    double iterations;         /* how often the innermost body runs */
    double kept;               /* part of the iterations that remains where loops leave out zero terms outside a
                                * tensor */
    LIST(double *) predicates; /* forms that are negative where a predicate holds; other iterations are left out */
    double operations;         /* of one scalar evaluation; a multiply-add counts 1 */
    double expensive;          /* of these: expensive ones (divisions, math functions) */
    double divisions;          /* of these: divisions of floating-point numbers */
    double repeated;           /* of the operations: those that other copies of unrolled loops compute too */
    double repeated_functions; /* of these: math functions */
    double repeated_divisions; /* and divisions of floating-point numbers */
    double conversions;        /* of integers to floats, those of other copies aside */
    int depth;                 /* of a reduction: operations in sequence from one term to the next */
    int lanes;                 /* lanes of a vector of the stage's type */
    int registers;             /* vector registers of the processor */
    int column_most;           /* most columns that one instruction loads or stores interleaved */
    const Machine *machine;
} StageFacts;

typedef struct Profile {
    int stage_count;
    StageFacts *stages; /* those that run */
    int heaviest;       /* the stage with the most operations */
    double operations;
    const bool *left_out; /* [stage_count]: stages whose time does not count; NULL: all count */
} Profile;

static inline bool profile_counts(const Profile *profile, int stage) {
    return !profile->left_out || !profile->left_out[stage];
}

Profile *profile_nest(Arena *arena, const Nest *nest);
/* The same with each run-time size taken as `typical`. */
Profile *profile_nest_at(Arena *arena, const Nest *nest, double typical);
/* The profile of some of the stages, in what all of them leave in memory: those that are not left out. */
Profile profile_of_some(const Profile *profile, const bool *left_out);
/* How many loops of the chain, from `first` on, are parts of one fused loop of the nest. */
int profile_loop_parts(const StageFacts *stage, int first);
/* How far the loops from a depth on reach along a dimension, from the first to the last place, also past its ends. */
double access_reach(const StageFacts *stage, const AccessFacts *access, int dimension, int depth);
/* The footprint in bytes of an access: what one iteration of the first `depth` loops of the chain touches. */
double access_footprint(const StageFacts *stage, const AccessFacts *access, int depth);

/* clip.c: fills `tested` of T(i) else x. omits: it is a term of a sum that is 0 outside the tensor. Returns the part of
 * the iterations that may be inside, 1 where the loops run over the others too, and clears `guarded` if the inner loops
 * need no test. */
double access_clip(const StageFacts *stage, AccessFacts *access, bool omits);
/* The part of the iterations where a form is negative, if terms of a sum are 0 elsewhere and loops leave these out; 1
 * if they cannot. form: as for negative_part. */
double predicate_clip(const StageFacts *stage, const double *form);
/* The part of the serial loops' iterations where a form is negative for some values of the other loops: the iterations
 * that a predicate leaves. form: a coefficient for each loop, then the constant. */
double negative_part(const StageFacts *stage, const double *form);

/* static.c: the expected seconds of one call, and what they consist of. */
typedef struct Estimate {
    double seconds;
    double compute, level[3], overhead; /* of all stages: seconds of arithmetic; of traffic from L2, L3, memory */
    double shared;                      /* what all threads leave of the time that one takes, without what they cost */
    double balance;                     /* of the heaviest stage: part of the threads' time in use */
    double accumulators, loads;         /* of its inner block: register tile, loads for each multiply-add */
} Estimate;
Estimate static_estimate(const Profile *profile, const Target *target);

#endif
