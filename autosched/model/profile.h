/* profile.h - what a nest does, in numbers: the common ground of the features and of the static model.
 *
 * Every stage that runs has its chain of loops, those of the stages that it is computed at included, and its accesses
 * as linear forms over that chain: an index that is not linear is taken at its slope. Extents that are only known at
 * run time count as TYPICAL_SIZE elements a size. A loop that fuse made stands in the chain as the loops it was made
 * of, which have its variable and its kind: of them the indices are linear. All numbers are estimates; no decision
 * about legality rests on them.
 */
#ifndef AUTOSCHED_MODEL_PROFILE_H
#define AUTOSCHED_MODEL_PROFILE_H

#include "lower/nest/nest.h"

enum { TYPICAL_SIZE = 256 };

typedef struct AccessFacts {
    const Tensor *tensor;
    bool write, in_registers, guarded, irregular;
    bool temporary;  /* a buffer that the function allocates */
    int rank, bytes; /* of an element */
    double *dims;    /* [rank] of the buffer */
    double *slopes;  /* [rank * loop_count]: of each index by each loop */
    double *offsets; /* [rank]: of each index where all loops are 0 */
    int shifts;      /* reads of the same tensor that differ from it in their offsets alone, and itself; 0: it is one */
                     /* of those of a read before it */
    double *spread;  /* [rank]: how far their offsets are apart */
    double *strides; /* [loop_count]: elements between iterations */
    double size;     /* bytes of the buffer */
    bool *tested;    /* [rank] of a guarded one: whether the inner loops test that index */
    double *reached; /* [loop_count + 1]: access_footprint by depth for the extents of the profile; 0: not known yet */
} AccessFacts;

typedef struct StageFacts {
    const NestStage *stage;
    int loop_count, outer_count; /* in the chain; of these, loops of stages that this one is computed at */
    const Loop **loops;          /* outermost first */
    double *extents;
    int changed; /* loops before this one may have other extents than in the profile */
    int access_count;
    AccessFacts *accesses; /* what is written, then what is read */
    double iterations;     /* of the innermost body */
    double kept;           /* part of them that is left where terms outside of a tensor, which are 0, are left out */
    LIST(double *) predicates; /* forms that are negative where they hold; the others are left out, too */
    double operations;         /* of one scalar evaluation; a multiply-add counts 1 */
    double expensive;               /* of these: divisions, math functions */
    int depth;                 /* of a reduction: operations that wait for each other from one term to the next */
    int lanes;                 /* that a vector of the stage's type has */
    int registers;             /* vectors that the processor holds */
    int column_most;           /* that one instruction loads or stores by turns */
    const Machine *machine;
} StageFacts;

typedef struct Profile {
    int stage_count;
    StageFacts *stages; /* those that run */
    int heaviest;       /* the stage with most operations */
    double operations;
} Profile;

Profile *profile_nest(Arena *arena, const Nest *nest);
/* The same where each size known at run time only counts as so many elements. */
Profile *profile_nest_at(Arena *arena, const Nest *nest, double typical);
/* The loops of the chain from `first` on that are one loop of the nest: how many. */
int profile_loop_parts(const StageFacts *stage, int first);
/* Places along a dimension from the first to the last that the loops from a depth on reach, past its ends too. */
double access_reach(const StageFacts *stage, const AccessFacts *access, int dimension, int depth);
/* Bytes that the body of the first `depth` loops of the chain touches of an access in one iteration of them. */
double access_footprint(const StageFacts *stage, const AccessFacts *access, int depth);

/* clip.c: fills `tested` of T(i) else x. omits: it is a sum's term that is 0 outside: returns the part of the
 * iterations that may be inside, 1 where the loops do not leave out the others, and clears `guarded` where no test
 * is left in the inner loops. */
double access_clip(const StageFacts *stage, AccessFacts *access, bool omits);
/* Part of the iterations of all serial loops in which a form (a number for each loop, and the constant) is negative
 * for some values of the others: the iterations that a predicate leaves. */
double negative_part(const StageFacts *stage, const double *form);

/* static.c: seconds that one call is thought to take, and what they are made of. */
typedef struct Estimate {
    double seconds;
    double compute, level[3], overhead; /* of all stages: seconds of arithmetic, of traffic from L2, L3, memory */
    double balance;                     /* of the heaviest stage: part of the threads' time that is used */
    double accumulators, loads;         /* of its inner block: register tile, loads for each multiply-add */
} Estimate;
Estimate static_estimate(const Profile *profile, const Target *target);

#endif
