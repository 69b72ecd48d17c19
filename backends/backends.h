/* backends.h - from Kernels to objects, headers, and runs: the doors of what the folder holds. */
#ifndef BACKENDS_BACKENDS_H
#define BACKENDS_BACKENDS_H

#include "backends/emit/emit.h"
#include "backends/run/run.h"

/* The backend that the target's row names. */
const Backend *backend_of(const Target *target);
/* What is wrong where the backend has not all wanted abilities; NULL: it has them. */
const char *backend_lacks(Arena *arena, const Backend *backend, unsigned wanted);
bool backend_can(const Backend *backend, Ability ability);

#endif
