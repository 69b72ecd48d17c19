/* npy.h - arrays in NumPy's .npy files: what -run reads and writes. */
#ifndef DRIVER_NPY_H
#define DRIVER_NPY_H

#include "lang/tensorc.h"

/* Reads a file that must hold exactly this type and shape, row major, into data. False with a one-line *why. */
bool npy_read(Arena *arena, const char *path, ElementType type, int rank, const int64_t *shape, void *data,
              const char **why);
/* Writes whole or not at all; false with errno set. */
bool npy_write(Arena *arena, const char *path, ElementType type, int rank, const int64_t *shape, const void *data);

#endif
