/* source.h - source files and places in them. */
#ifndef LANG_SOURCE_H
#define LANG_SOURCE_H

#include "lang/arena.h"
#include <stdbool.h>
#include <stdint.h>

/* A byte range of a source file. file 0 means: no place (command line, synthesised). Files count from 1. */
typedef struct Loc {
    uint32_t file, begin, end;
} Loc;

typedef struct Source {
    const char *name; /* as the user wrote it, or "<stdlib>/nn.tensor" */
    const char *text; /* terminated; may hold NUL bytes inside, see length */
    size_t length;
    bool embedded;          /* compiled into tensorc */
    uint64_t device, inode; /* which file it is, however it is spelled; zeros: none */
} Source;

/* Every source that was read, in order: what a Loc refers to. */
typedef struct Sources {
    Arena *arena;
    LIST(Source) list;
} Sources;

/* Reads a whole file. Returns its number (>= 1), or 0 with errno set. */
int source_read(Sources *sources, const char *path);
/* Adds a text that is already in memory (kept by reference). Returns its number. */
int source_add(Sources *sources, const char *name, const char *text, size_t length, bool embedded);
/* The source that was read from the file at this path, under whatever name; 0: none, or there is no such file. */
int source_find(const Sources *sources, const char *path);
const Source *source_get(const Sources *sources, uint32_t file);
/* Line and column, both from 1, of a byte offset; columns count bytes. */
void source_position(const Source *source, uint32_t offset, int *line, int *column);
/* The smallest range that covers both; a Loc without a file is ignored. */
Loc loc_join(Loc a, Loc b);

#endif
