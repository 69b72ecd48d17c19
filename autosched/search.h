/* search.h - what the parts of a search share: estimates, cost models, policies. */
#ifndef AUTOSCHED_SEARCH_H
#define AUTOSCHED_SEARCH_H

#include "autosched/profile.h"
#include "autosched/space.h"

/* Seconds by the static model; HUGE_VAL where the point is refused. only: one group's statements alone, or -1. */
double point_estimate(Arena *scratch, Space *space, const int *point, int only);
/* The choices of -O1 or -O2; groups whose plain loops are the best are marked as skipped. */
void space_choose(Space *space, Effort effort, uint64_t seed, int *point);

#endif
