/* nests.h - nests made by hand, for unit tests of what works on nests. */
#ifndef TESTS_NESTS_H
#define TESTS_NESTS_H

#include "lower/nest/nest.h"

/* Every stage at root, a serial loop for each axis and then for each reduction: what the empty schedule gives. */
Nest *nest_identity(Arena *arena, const Program *program, const Target *target);

#endif
