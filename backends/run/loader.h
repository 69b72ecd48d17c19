/* loader.h - loads a relocatable ELF object into this process. */
#ifndef BACKENDS_RUN_LOADER_H
#define BACKENDS_RUN_LOADER_H

#include "lang/arena.h"
#include <stdbool.h>
#include <stddef.h>

typedef struct LoadedObject LoadedObject;

/* What undefined symbols resolve to before the process's own symbols are looked at. */
typedef struct LoaderSymbol {
    const char *name;
    void *address;
    size_t bytes; /* of contents at the address, which are copied to the object's data; 0: the symbol is the address */
} LoaderSymbol;

/* Maps and relocates; the bytes may go afterwards. NULL with a one-line *why, in the arena. */
LoadedObject *loader_load(Arena *arena, const void *bytes, size_t size, const LoaderSymbol *symbols, int symbol_count,
                          const char **why);
void *loader_find(const LoadedObject *object, const char *name); /* a defined global symbol, or NULL */
void loader_unload(LoadedObject *object);

#endif
