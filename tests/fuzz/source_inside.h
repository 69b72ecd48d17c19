/* source_inside.h - what the files of the evaluator share: source_run.c (statements), source_ranges.c (indices) and
 * source_eval.c (expressions).
 */
#ifndef TESTS_SOURCE_INSIDE_H
#define TESTS_SOURCE_INSIDE_H

#include "tests/fuzz/source_run.h"

typedef enum SourceNameKind { SOURCE_SIZE, SOURCE_SCALAR, SOURCE_TENSOR } SourceNameKind;

typedef struct SourceName {
    SourceNameKind kind;
    const char *name;
    int64_t size;
    Datum scalar;
    SourceTensor *tensor;
} SourceName;

/* One index of a statement: from low up to end; begin and stop are its range in `where`, which may name others. */
typedef struct SourceIndex {
    const char *name;
    bool known, bound; /* its range; its value */
    int64_t low, end, value;
    const AstExpr *begin, *stop;
} SourceIndex;

typedef struct SourceIndices {
    int count;
    SourceIndex items[16];
} SourceIndices;

typedef struct SourceRun {
    Arena *arena;
    const AstFile *file;
    const AstDef *def;
    bool strict;
    LIST(SourceName) names;
    const AstStatement *statement; /* whose expressions are evaluated, with its indices */
    SourceIndices *indices;
    const char *step; /* the index of a scan, and its value now */
    int64_t at_step;
    int in_index, in_predicate, types_only, let_limit;
    void *const *initial;
    const char *why;
    bool outside;
} SourceRun;

void source_stop(SourceRun *run, const char *why);
SourceName *source_name_find(SourceRun *run, const char *name);
Datum *source_element(const SourceTensor *tensor, const int64_t *index);
SourceTensor *source_tensor(Arena *arena, const char *name, ElementType type, int rank, const int64_t *lower,
                            const int64_t *extent);
int64_t source_bytes(ElementType type);
int64_t source_whole(SourceRun *run, const AstExpr *ast); /* a size, or an index */
Datum source_evaluate(SourceRun *run, const AstExpr *ast);

/* source_ranges.c */
void source_take_wheres(SourceRun *run, const AstStatement *ast, SourceIndices *indices); /* ranges of `where` alone */
bool source_find_ranges(SourceRun *run, const AstStatement *ast, SourceIndices *indices);
SourceIndex *source_index_of(const SourceIndices *indices, const char *name);
const SourceIndex *source_index_named(const SourceIndices *indices, const AstExpr *ast); /* a bare name, or NULL */
bool source_uses_indices(const SourceRun *run, const AstExpr *ast);
void source_each_point(SourceRun *run, SourceIndices *indices, void (*visit)(void *context), void *context);
/* Whether the element is of the step of the scan that runs. */
bool source_is_of_step(const SourceRun *run, const AstStatement *ast, const SourceTensor *tensor, int64_t element);

#endif
