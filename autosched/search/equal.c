/* equal.c - groups of a function that are equal: the layers of a network. What is chosen for the first holds for all:
 * they are explored once, and equal layers run equally fast.
 *
 * Two groups are equal where their parts of the program have the same canonical form, but for constant indices (a
 * layer's weights in the tensor of all layers' weights) and the numbers that elements are computed with, and their
 * genes the same choices. In a very long function numbers that indices are computed with may differ, too.
 * A pipeline in strips may be equal to another one, as may the groups that compute it apart. A group whose schedule
 * depends on others (a chain), on a block or on rules is equal to none.
 */
#include "autosched/search/policies.h"

#include <string.h>

enum { MANY_GROUPS = 128 }; /* of a very long function */

static bool stands_alone(const Space *space, const Group *group) {
    return group->root && !group->by_user && !group->ruled && group->part && group->part != space->program;
}

static bool gene_is_equal(const Gene *a, const Gene *b) {
    if (!gene_is_alike(a, b) || a->count != b->count || a->start != b->start || a->tiles != b->tiles)
        return false;
    size_t bytes = sizeof *a->values * (size_t)a->count * (size_t)a->width;
    return !a->values || !memcmp(a->values, b->values, bytes);
}

/* Groups of one scan have the same part. */
static bool roots_are_alike(const Group *a, const Group *b) {
    int count = a->part->stage_count, at = 0;
    while (at < count && strcmp(a->part->stages[at]->name, a->root->name))
        at++;
    return at < count && count == b->part->stage_count && !strcmp(b->part->stages[at]->name, b->root->name);
}

static bool group_is_equal(const Group *a, const Group *b) {
    if (a->genes.count != b->genes.count || a->others.count != b->others.count || a->stage_count != b->stage_count ||
        !a->scan != !b->scan || !a->fused != !b->fused || !a->apart != !b->apart || !roots_are_alike(a, b))
        return false;
    for (int i = 0; i < a->genes.count; i++)
        if (!gene_is_equal(&a->genes.items[i], &b->genes.items[i]))
            return false;
    return true;
}

int *equal_groups(Arena *arena, Space *space) {
    int groups = space->groups.count, *same = ARENA_ARRAY(arena, int, groups + 1);
    int *before = ARENA_ARRAY(arena, int, groups + 1); /* of the same key, and equal to none before it; -1: none */
    Map last = {0};                                    /* from keys to the last such group, counted from 1 */
    Arena *scratch = arena_new();
    const Program *hashed = NULL;
    const char *key = NULL;
    for (int g = 0; g < groups; g++) {
        Group *group = space->groups.items[g];
        same[g] = g;
        group_program(space, group);
        if (!stands_alone(space, group))
            continue;
        if (group->part != hashed) { /* groups of one scan have the same part */
            key = arena_strdup(arena, layer_hash(scratch, group->part, groups > MANY_GROUPS));
            arena_reset(scratch);
        }
        hashed = group->part;
        before[g] = (int)(intptr_t)name_map_get(&last, key) - 1;
        for (int h = before[g]; h >= 0; h = before[h])
            if (group_is_equal(group, space->groups.items[h]))
                same[g] = h;
        if (same[g] == g)
            name_map_set(arena, &last, key, (void *)(intptr_t)(g + 1));
    }
    arena_free(scratch);
    return same;
}

void take_genes(const Space *space, int number, int equal, int *point) {
    const Group *group = space->groups.items[number], *from = space->groups.items[equal];
    memcpy(point + group->first_gene, point + from->first_gene, sizeof *point * (size_t)group->genes.count);
}

void take_equal(Space *space, int number, int equal, int *point) {
    Group *group = space->groups.items[number];
    const Group *from = space->groups.items[equal];
    take_genes(space, number, equal, point);
    group->hopeless = from->hopeless;
    group->skipped = from->skipped;
}
