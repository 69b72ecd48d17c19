/* npy.h - arrays in NumPy's .npy files: constants of programs, and what -run reads. */
#ifndef LANG_NPY_H
#define LANG_NPY_H

#include "lang/tensorc.h"

typedef struct Array {
    const char *path;
    ElementType type;
    int rank;
    int64_t *shape;
    int64_t elements;
    void *data; /* row major, in the byte order of the host; never NULL */
} Array;

/* The array of a file, which must hold elements of this type. NULL with a one-line *why. */
Array *npy_load(Arena *arena, const char *path, ElementType type, const char **why);
/* "(3, 4)" */
const char *npy_shape_text(Arena *arena, int rank, const int64_t *shape);
/* What a file begins with; the elements follow. */
Text npy_head(Arena *arena, ElementType type, int rank, const int64_t *shape);
/* The bytes of a file. */
Text npy_text(Arena *arena, ElementType type, int rank, const int64_t *shape, const void *data);

#endif
