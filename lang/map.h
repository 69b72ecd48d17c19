/* map.h - maps from addresses, or from names, to pointers. They need nothing but an arena; an empty one is all zeros.
 */
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
/* Of the text of names, which must live as long as the map. One map has keys of one kind. */
void *name_map_get(const Map *map, const char *name); /* NULL when absent */
void name_map_set(Arena *arena, Map *map, const char *name, void *value);

#endif
