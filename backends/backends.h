/* backends.h - from Kernels to objects, headers, and runs: includes the doors of the sub-folders. */
#ifndef BACKENDS_BACKENDS_H
#define BACKENDS_BACKENDS_H

#include "backends/emit/emit.h"
#include "backends/run/run.h"

/* The backend that the target's row names. */
const Backend *backend_of(const Target *target);
/* What the backend lacks of the wanted abilities, as a message; NULL: nothing. */
const char *backend_lacks(Arena *arena, const Backend *backend, unsigned wanted);
bool backend_can(const Backend *backend, Ability ability);

#endif
