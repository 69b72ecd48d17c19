/* copies.h - what copies of an unrolled loop's body have in common. Private to autosched/model. */
#ifndef AUTOSCHED_MODEL_COPIES_H
#define AUTOSCHED_MODEL_COPIES_H

#include "autosched/model/profile.h"

/* Reads of a stage, each once, and their accesses. */
typedef struct ReadsSeen {
    const Expr **reads;
    const AccessFacts *accesses;
    int count;
} ReadsSeen;

/* Fills `repeated` and `held` of the stage's accesses, the stage's repeated operations, and its conversions. */
void count_copies(Arena *arena, StageFacts *facts, const ReadsSeen *seen);

#endif
