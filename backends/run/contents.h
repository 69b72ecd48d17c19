/* contents.h - contents of constants that candidates leave out of their objects: made and sent once, known by key. */
#ifndef BACKENDS_RUN_CONTENTS_H
#define BACKENDS_RUN_CONTENTS_H

#include "lang/arena.h"
#include <stddef.h>

typedef struct Contents {
    const char *key;
    void *data; /* malloc'ed; NULL: known somewhere else */
    size_t bytes;
} Contents;

typedef struct ContentsTable {
    LIST(Contents *) items; /* each stays where it is */
    size_t bytes;           /* of all */
} ContentsTable;

/* More than this is forgotten, all at once. */
#define CONTENTS_LIMIT ((size_t)256 << 20)

const Contents *contents_find(const ContentsTable *table, const char *key); /* NULL: not there */
/* A copy of the data, or with NULL the key alone; NULL when memory is out. The key must not be there. */
const Contents *contents_add(Arena *arena, ContentsTable *table, const char *key, const void *data, size_t bytes);
void contents_forget(ContentsTable *table);

#endif
