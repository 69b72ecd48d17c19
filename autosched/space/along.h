/* along.h - how a stage runs along memory (along.c); for row.c. */
#ifndef TENSORC_ALONG_H
#define TENSORC_ALONG_H

#include "autosched/space/groups.h"

enum { LONG_ROW = 128 }; /* terms of a row that needs no others beside it */

/* Whether all reads along the axis are contiguous. */
bool runs_along_memory(const Stage *stage, const Var *axis);

/* Which reduction runs along memory, and the reductions in the order of their loops: that one is the last. */
int row_of_reduction(const Stage *stage);
const Var *reduction_at(const Stage *stage, int place);
const Var *last_reduction(const Stage *stage);

/* Whether the last two reductions can run as one loop; the number of loops then; the terms of the last one, -1: known
 * at run time only. */
bool runs_on(const Stage *stage);
int reduction_loops(const Stage *stage);
int64_t row_extent(const Stage *stage);

#endif
