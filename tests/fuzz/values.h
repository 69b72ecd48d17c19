/* values.h - programs for the oracle of source_run.h, and values at the ends of every type. */
#ifndef TESTS_VALUES_H
#define TESTS_VALUES_H

#include "lang/arena.h"
#include "lang/tensorc.h"
#include "tests/unit/schedules.h"

/* Elements by the expressions of section 7: all types, operators and functions. */
const char *values_of_elements(Arena *arena, Random *random);
/* Ranges, reads outside, conditions, reductions, recurrences, scatters and calls, with indices that begin anywhere. */
const char *values_of_shapes(Arena *arena, Random *random);
/* small: whole numbers of which sums are exact; else those where arithmetic goes wrong. */
void values_fill(ElementType type, void *at, int64_t count, uint64_t seed, bool small);

#endif
