/* contents.c - tables of contents of constants. */
#include "backends/run/contents.h"
#include <stdlib.h>
#include <string.h>

const Contents *contents_find(const ContentsTable *table, const char *key) {
    for (int i = table->items.count - 1; i >= 0; i--)
        if (!strcmp(table->items.items[i]->key, key))
            return table->items.items[i];
    return NULL;
}

const Contents *contents_add(Arena *arena, ContentsTable *table, const char *key, const void *data, size_t bytes) {
    void *copy = data ? malloc(bytes + 1) : NULL;
    if (data && !copy)
        return NULL;
    if (copy)
        memcpy(copy, data, bytes);
    Contents *contents = ARENA_NEW(arena, Contents);
    *contents = (Contents){arena_strdup(arena, key), copy, bytes};
    list_push(arena, &table->items, contents);
    table->bytes += bytes;
    return contents;
}

void contents_forget(ContentsTable *table) {
    for (int i = 0; i < table->items.count; i++)
        free(table->items.items[i]->data);
    table->items.count = 0;
    table->bytes = 0;
}
