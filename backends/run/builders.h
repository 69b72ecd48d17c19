/* builders.h - processes that build candidates, shared by the programs of several toolchains. */
#ifndef BACKENDS_RUN_BUILDERS_H
#define BACKENDS_RUN_BUILDERS_H

#include "backends/run/contents.h"
#include "backends/run/run.h"

/* What Candidate.object points to. */
typedef struct Built {
    const Contents **constants; /* that the object leaves out */
    int constant_count;
    size_t bytes;
    void *object;
} Built;

typedef struct Builders Builders;
Builders *builders_open(Arena *arena, Program *const *programs, const Target *target, const ToolchainOptions *options);
/* program: its index. Never blocks. */
void builders_submit(Builders *builders, int program, Candidate *candidate);
/* Builds a candidate at once; no other call gives it back. One that was not built before the end of the search has
 * failed. */
void builders_build(Builders *builders, int program, Candidate *candidate);
/* A candidate of any program whose build ended; NULL: no build is running, or the search is over. */
Candidate *builders_collect(Builders *builders, bool wait);
void builders_release(Builders *builders, Candidate *candidate);
void builders_close(Builders *builders);

#endif
