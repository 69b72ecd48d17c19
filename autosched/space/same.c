/* same.c - groups that are the same in the spaces of two programs, which differ in what is given with them alone: a
 * const argument that is packed ahead of all calls is given, one that comes with each call is not.
 *
 * A group that reads nothing given, and whose genes have the same choices, has the same points in both. So has one that
 * reads single elements of what is given, such as a layer's w(l): there is nothing to rearrange.
 */
#include "autosched/space/groups.h"

#include <string.h>

static bool is_one_element(const Stage *stage, const Expr *read) {
    for (int d = 0; d < read->count; d++)
        if (stage_uses_axis(stage, read->args[d]) || stage_uses_reduction(stage, read->args[d]))
            return false;
    return true;
}

/* Also by stages that are inlined. */
static bool reads_given(Space *space, const Group *group) {
    for (int s = 0; s < group->stage_count; s++) {
        const Stage *stage = inlined_stage(space, group->stages[s]);
        EACH_STAGE_READ(read, stage)
            if (tensor_is_given(space, read->tensor) && !is_one_element(stage, read))
                return true;
    }
    return false;
}

static bool gene_is_same(const Gene *a, const Gene *b) {
    if (strcmp(a->name, b->name) || a->count != b->count || a->width != b->width || a->structural != b->structural)
        return false;
    size_t bytes = sizeof *a->values * (size_t)a->count * (size_t)a->width;
    return a->structural || !bytes || !memcmp(a->values, b->values, bytes);
}

/* Two groups whose roots have one name. */
static bool group_is_same(const Group *a, const Group *b) {
    if (!a->fused != !b->fused || !a->apart != !b->apart || a->genes.count != b->genes.count)
        return false;
    for (int i = 0; i < a->genes.count; i++)
        if (!gene_is_same(&a->genes.items[i], &b->genes.items[i]))
            return false;
    return true;
}

static void list_root(Space *space, int number) {
    const Group *group = space->groups.items[number];
    if (!group->root)
        return;
    GroupNumbers *numbers = name_map_get(&space->by_root, group->root->name);
    if (!numbers)
        name_map_set(space->arena, &space->by_root, group->root->name, numbers = ARENA_NEW(space->arena, GroupNumbers));
    list_push(space->arena, numbers, number);
}

static const GroupNumbers *groups_with_root(Space *space, const char *name) {
    while (space->rooted < space->groups.count)
        list_root(space, space->rooted++);
    return name_map_get(&space->by_root, name);
}

int group_in(Space *other, Space *space, int number) {
    const Group *group = space->groups.items[number];
    const GroupNumbers *numbers = group->root ? groups_with_root(other, group->root->name) : NULL;
    for (int n = 0; numbers && n < numbers->count; n++)
        if (group_is_same(group, other->groups.items[numbers->items[n]]))
            return reads_given(space, group) ? -1 : numbers->items[n];
    return -1;
}
