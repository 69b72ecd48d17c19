/* source_run.h - the meaning of a source by its syntax tree, statement by statement, element by element.
 *
 * An oracle that shares nothing with what it judges but the parser: no checked program, no simplifier, no proofs. What
 * it takes of the language: sections 3 to 12 of the reference without combiners, algorithms and imports. Every size has
 * a value, and programs are small. Every index has the value that the source says, whatever its tensor begins with.
 */
#ifndef TESTS_SOURCE_RUN_H
#define TESTS_SOURCE_RUN_H

#include "parser/ast.h"
#include "tests/fuzz/source_value.h"

enum { SOURCE_RANK = 6 };

typedef struct SourceTensor {
    const char *name;
    ElementType type;
    int rank;
    int64_t lower[SOURCE_RANK], extent[SOURCE_RANK]; /* data[0] is the element of the lowest indices */
    int64_t count;
    Datum *data;
} SourceTensor;

typedef struct SourceResults {
    int count;
    const SourceTensor *tensors[8]; /* of the def's results, in their order */
    const char *why;                /* why nothing can be said */
    bool outside;                   /* an index that is read from memory is outside: the call returns status 2 */
} SourceResults;

/* The first def with the sizes of the first export. arguments: as of a call, outputs with what they held before. False:
 * see why and outside. */
bool source_run(Arena *arena, const AstFile *file, bool strict, void *const *arguments, SourceResults *results);

#endif
