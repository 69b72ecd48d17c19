/* map.h - a map from addresses to pointers. Needs nothing but an arena; an empty one is all zeros. */
#ifndef LANG_MAP_H
#define LANG_MAP_H

#include "lang/arena.h"

typedef struct Map {
    int count, capacity;
    struct MapSlot {
        const void *key;
        void *value;
    } * slots;
} Map;
void *address_map_get(const Map *map, const void *key); /* NULL when absent */
void address_map_set(Arena *arena, Map *map, const void *key, void *value);

#endif
