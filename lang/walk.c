/* walk.c - the memory of walks. */
#include "lang/walk.h"
#include "lang/arena.h"

#include <string.h>

void walk_grow(TreeWalk *walk) {
    size_t bytes = sizeof *walk->items * (size_t)walk->capacity;
    const void **items = memory_given(walk->items == walk->own ? malloc(2 * bytes) : realloc(walk->items, 2 * bytes));
    if (walk->items == walk->own)
        memcpy(items, walk->own, bytes);
    walk->items = items;
    walk->capacity *= 2;
}
