/* map.c - see map.h. Open addressing, grown at three quarters. */
#include "lang/map.h"

static struct MapSlot *map_slot(const Map *map, const void *key) {
    size_t mask = (size_t)map->capacity - 1, at = ((size_t)key >> 4) * 0x9e3779b97f4a7c15u >> 32 & mask;
    while (map->slots[at].key && map->slots[at].key != key)
        at = (at + 1) & mask;
    return &map->slots[at];
}

void *address_map_get(const Map *map, const void *key) {
    return map->capacity ? map_slot(map, key)->value : NULL;
}

static void map_grow(Arena *arena, Map *map) {
    Map old = *map;
    map->capacity = old.capacity ? 2 * old.capacity : 16;
    map->slots = ARENA_ARRAY(arena, struct MapSlot, map->capacity);
    for (int i = 0; i < old.capacity; i++)
        if (old.slots[i].key)
            *map_slot(map, old.slots[i].key) = old.slots[i];
}

void address_map_set(Arena *arena, Map *map, const void *key, void *value) {
    if (4 * map->count >= 3 * map->capacity)
        map_grow(arena, map);
    struct MapSlot *slot = map_slot(map, key);
    map->count += slot->key == NULL;
    *slot = (struct MapSlot){key, value};
}
