/* lanes.h - what the lanes of vectors cost in memory: how many instructions an access becomes in the inner block of a
 * stage (its unrolled and vectorized loops). Counts what the code generator makes of it: contiguous accesses,
 * contiguous accesses with shuffles, copies of blocks, gathers and scatters.
 */
#ifndef AUTOSCHED_MODEL_LANES_H
#define AUTOSCHED_MODEL_LANES_H

#include "autosched/model/profile.h"

bool loop_is_expanded(const StageFacts *stage, int loop);
/* A tensorized loop: the whole instruction counts as one operation on one vector of each operand. */
bool loop_is_tensorized(const StageFacts *stage, int loop);
bool stage_reduces(const StageFacts *stage);
/* Whether the stage is a scan along memory, computed row by row: each step waits for the one before. */
bool stage_scans_rows(const StageFacts *stage);
double loop_vectors(const StageFacts *stage, int loop);
bool access_is_vector(const StageFacts *stage, const AccessFacts *access);
/* Distinct vectors (or scalars to broadcast) of an access in one run of the block. 0: another access fetches them. */
double access_count_in_block(const StageFacts *stage, const AccessFacts *access);
/* Lanes that a run of the block loads one by one, because they are not neighbours. */
double access_gathered_lanes(const StageFacts *stage, const AccessFacts *access);
/* Shuffles that gather the vectors of a read from those that it is spread over, or spread those of a write. */
double access_shuffles(const StageFacts *stage, const AccessFacts *access);
/* Distinct vectors (or scalars) of one index of an access in one run of the block. */
double index_vectors(const StageFacts *stage, const AccessFacts *access, int dimension);
/* Instructions of one run of the block that test whether clamped lanes are inside, where they are one vector of memory.
 */
double clamp_tests(const StageFacts *stage);

#endif
