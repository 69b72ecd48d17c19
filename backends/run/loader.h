/* loader.h - loads a relocatable ELF object into this process. */
#ifndef BACKENDS_RUN_LOADER_H
#define BACKENDS_RUN_LOADER_H

#include "lang/arena.h"
#include <stdbool.h>
#include <stddef.h>

typedef struct LoadedObject LoadedObject;

/* Undefined symbols are looked up here before the symbols of the process. */
typedef struct LoaderSymbol {
    const char *name;
    void *address;
    size_t bytes; /* bytes at the address, which are copied to the object's data; 0: the symbol is the address */
} LoaderSymbol;

/* Maps and relocates an object; the caller may free the bytes afterwards. NULL with a one-line *why in the arena. */
LoadedObject *loader_load(Arena *arena, const void *bytes, size_t size, const LoaderSymbol *symbols, int symbol_count,
                          const char **why);
void *loader_find(const LoadedObject *object, const char *name); /* a defined global symbol, or NULL */
void loader_unload(LoadedObject *object);

#endif
