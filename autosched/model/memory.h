/* memory.h - what the accesses of a stage cost beyond its inner block: bytes that move between levels of memory, cache
 * lines that are fetched again, and translations of addresses.
 *
 * Traffic between two levels is the footprint of the largest loop body that fits the nearer level, times its runs (as
 * in ROLLER and the cache models before it). A stage's inner block begins inside the loop `serial`, the innermost that
 * stays a loop; -1: there is none.
 */
#ifndef AUTOSCHED_MODEL_MEMORY_H
#define AUTOSCHED_MODEL_MEMORY_H

#include "autosched/model/profile.h"

/* Bytes that move into a cache of a size and level. */
double traffic_bytes(const Profile *profile, const StageFacts *stage, int serial, double cache, int level);
/* Cycles of a run of the block for cache lines that others push out of their sets. */
double conflict_cycles(const StageFacts *stage, int serial);
/* Cycles of a run of the block for address translation: when a loop moves by about a page or more each iteration, over
 * more pages than the first-level TLB holds. */
double page_cycles(const StageFacts *stage, int serial);
/* Pages whose addresses are looked up again, since the translation caches do not hold them any more. */
double page_walks(const StageFacts *stage, int serial);
/* The number of outer loops that both stages are in. */
int common_loops(const StageFacts *a, const StageFacts *b);

#endif
