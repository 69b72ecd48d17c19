/* contents.h - contents of constants that candidates leave out of their objects: made and sent once, found by key. */
#ifndef BACKENDS_RUN_CONTENTS_H
#define BACKENDS_RUN_CONTENTS_H

#include "lang/arena.h"
#include <stddef.h>

typedef struct Contents {
    const char *key;
    void *data; /* malloc'ed; NULL: they are elsewhere */
    size_t bytes;
} Contents;

typedef struct ContentsTable {
    LIST(Contents *) items; /* their addresses do not change */
    size_t bytes;           /* of all */
} ContentsTable;

/* When the contents exceed this, all are forgotten at once. */
#define CONTENTS_LIMIT ((size_t)256 << 20)

const Contents *contents_find(const ContentsTable *table, const char *key); /* NULL: not there */
/* Adds a copy of the data, or with NULL only the key, which must be new. NULL when memory is out. */
const Contents *contents_add(Arena *arena, ContentsTable *table, const char *key, const void *data, size_t bytes);
void contents_forget(ContentsTable *table);

#endif
