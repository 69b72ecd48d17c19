/* map.c - see map.h. Open addressing, grown at three quarters. */
#include "lang/map.h"

#include <stdbool.h>
#include <string.h>

/* What is different between kinds of keys. */
typedef struct KeyKind {
    size_t (*hash)(const void *key);
    bool (*equal)(const void *a, const void *b);
} KeyKind;

static size_t address_hash(const void *key) {
    return (size_t)key >> 4;
}

static bool address_equal(const void *a, const void *b) {
    return a == b;
}

static size_t name_hash(const void *key) {
    size_t hash = 0;
    for (const unsigned char *c = key; *c; c++)
        hash = (hash ^ *c) * 0x100000001b3u;
    return hash;
}

static bool name_equal(const void *a, const void *b) {
    return strcmp(a, b) == 0;
}

static const KeyKind addresses = {address_hash, address_equal}, names = {name_hash, name_equal};

static inline struct MapSlot *map_slot(const Map *map, const void *key, KeyKind kind) {
    size_t mask = (size_t)map->capacity - 1, at = kind.hash(key) * 0x9e3779b97f4a7c15u >> 32 & mask;
    while (map->slots[at].key && !kind.equal(map->slots[at].key, key))
        at = (at + 1) & mask;
    return &map->slots[at];
}

static inline void *map_get(const Map *map, const void *key, KeyKind kind) {
    return map->capacity ? map_slot(map, key, kind)->value : NULL;
}

static void map_grow(Arena *arena, Map *map, KeyKind kind) {
    Map old = *map;
    map->capacity = old.capacity ? 2 * old.capacity : 16;
    map->slots = ARENA_ARRAY(arena, struct MapSlot, map->capacity);
    for (int i = 0; i < old.capacity; i++)
        if (old.slots[i].key)
            *map_slot(map, old.slots[i].key, kind) = old.slots[i];
}

static inline void map_set(Arena *arena, Map *map, const void *key, void *value, KeyKind kind) {
    if (4 * map->count >= 3 * map->capacity)
        map_grow(arena, map, kind);
    struct MapSlot *slot = map_slot(map, key, kind);
    map->count += slot->key == NULL;
    *slot = (struct MapSlot){key, value};
}

void *address_map_get(const Map *map, const void *key) {
    return map_get(map, key, addresses);
}

void address_map_set(Arena *arena, Map *map, const void *key, void *value) {
    map_set(arena, map, key, value, addresses);
}

void *name_map_get(const Map *map, const char *name) {
    return map_get(map, name, names);
}

void name_map_set(Arena *arena, Map *map, const char *name, void *value) {
    map_set(arena, map, name, value, names);
}
