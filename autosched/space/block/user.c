/* user.c - the space of a user's schedule: its statements, with a gene for each hole and for what it leaves open
 * (complete.c). Holes with the same name are one.
 *
 * The schedule's constraints (require) hold for every point that is drawn. If the starting point breaks one, the
 * nearest point that breaks none becomes the start; if all break some, one that breaks the latest.
 *
 * `? in {..}` lists its choices. A hole in place of a loop has a list of names, which depends on the holes before
 * it (hole_tree_fill): its gene is structural, a number in that list. Another plain `?` is a size: powers of two and
 * the divisors of the program's extents, up to the largest of them. Sizes that the nest refuses are never measured.
 */
#include "autosched/space/block/complete.h"

#include <string.h>

enum { SIZE_LIMIT = 1024, START_TRIES = 100000, NEAR_TRIES = 200, LEGAL_TRIES = 400 };

typedef struct HoleList {
    LIST(const PrimArg *) holes;
} HoleList;

static void find_holes(Arena *arena, const PrimArg *arg, HoleList *list) {
    bool known = false;
    for (int i = 0; arg->kind == ARG_HOLE && arg->name && i < list->holes.count; i++)
        known |= list->holes.items[i]->name && strcmp(list->holes.items[i]->name, arg->name) == 0;
    if (arg->kind == ARG_HOLE) {
        if (!known)
            list_push(arena, &list->holes, arg);
        return;
    }
    for (int i = 0; i < arg->count; i++)
        find_holes(arena, &arg->items[i], list);
}

static bool divides_some(const Program *program, int64_t size, int64_t *largest) {
    bool divides = false;
    *largest = 1;
    for (int s = 0; s < program->stage_count; s++) {
        const Stage *stage = program->stages[s];
        for (int a = 0; a < stage->axis_count + stage->reduction_count; a++) {
            int64_t extent =
                axis_extent(a < stage->axis_count ? stage->axes[a] : stage->reductions[a - stage->axis_count]);
            divides |= extent > 0 && extent % size == 0;
            int64_t reach = extent < 0 ? SIZE_LIMIT : extent;
            *largest = reach > *largest ? reach : *largest;
        }
    }
    return divides;
}

/* A gene for a hole of a schedule; names: how many choices it has, if it stands for names; otherwise 0. */
static void add_hole(Space *space, Group *group, const PrimArg *hole, const char *name, int names) {
    LIST(int64_t) values = {0};
    int64_t largest;
    for (int i = 0; i < names; i++)
        list_push(space->arena, &values, i);
    for (int i = 0; !names && i < hole->count; i++)
        list_push(space->arena, &values, hole->items[i].value);
    for (int64_t size = 1; !names && hole->count == 0 && size <= SIZE_LIMIT; size++)
        if ((divides_some(space->program, size, &largest) || (size & (size - 1)) == 0) && size <= largest)
            list_push(space->arena, &values, size);
    Gene gene = {.name = name,
                 .kind = names ? GENE_STRUCTURE : GENE_TILE,
                 .structural = names > 0,
                 .width = 1,
                 .register_part = -1,
                 .unroll_part = -1};
    gene.values = values.items;
    gene.count = values.count;
    for (int c = 0; c < gene.count; c++)
        if (values.items[c] <= 4 && !names)
            gene.start = c;
    group_add_gene(space, group, gene);
}

int group_add_holes(Space *space, Group *group, const Schedule *schedule, const HoleTree *tree) {
    HoleList list = {0};
    int first = group->genes.count;
    for (int p = 0; p < schedule->count; p++)
        for (int a = 0; a < schedule->prims[p].arg_count; a++)
            find_holes(space->arena, &schedule->prims[p].args[a], &list);
    for (int h = 0; h < list.holes.count; h++) {
        const char *own = list.holes.items[h]->name;
        const char *name = own ? own : arena_printf(space->arena, "hole %d", h + 1);
        add_hole(space, group, list.holes.items[h], name, tree ? hole_tree_most(tree, h) : 0);
    }
    return first;
}

void sketch_add_filled(Space *space, Group *group, const Schedule *schedule, HoleTree *tree, int first,
                       int64_t *choices, Sketch *sketch) {
    int holes = schedule_hole_count(schedule);
    if (tree) {
        schedule = hole_tree_fill(space->arena, tree, choices);
        sketch->stands = choices;
        sketch->stands_first = first;
        sketch->stands_count = holes;
    }
    for (int p = 0; p < schedule->count; p++)
        list_push(space->arena, &sketch->prims, schedule->prims[p]);
    for (int h = first; h < first + holes; h++)
        if (!group->genes.items[h].structural)
            arg_gene(space, sketch, h, 0);
}

/* genes: NULL: the starting point's. */
static int64_t *hole_choices(Space *space, const Group *group, const int *genes) {
    int64_t *choices = ARENA_ARRAY(space->arena, int64_t, group->genes.count + 1);
    for (int h = 0; h < group->genes.count; h++) {
        const Gene *gene = &group->genes.items[h];
        choices[h] = gene->values[genes ? genes[h] : gene->start];
    }
    return choices;
}

static bool user_emit(Space *space, Group *group, const int *genes, Sketch *sketch) {
    sketch_add_filled(space, group, space->user, space->holes, 0, hole_choices(space, group, genes), sketch);
    if (group->details)
        complete_sketch(space, group, genes, sketch);
    return true;
}

/* The first constraint that the choices break; if none, the number of constraints. */
static int user_broken(const Space *space, const Group *group, const int *genes) {
    int64_t choices[group->genes.count + 1];
    for (int h = 0; h < group->genes.count; h++)
        choices[h] = group->genes.items[h].values[genes[h]]; /* what completes the block comes after its holes */
    return schedule_broken(space->user, choices);
}

bool user_allows(const Space *space, const Group *group, const int *genes) {
    return user_broken(space, group, genes) == space->user->count;
}

/* Counts on, the first hole fastest; false when it reaches the starting point again. */
static bool next_choices(const Group *group, int *genes) {
    for (int h = 0; h < group->genes.count; h++) {
        genes[h] = (genes[h] + 1) % group->genes.items[h].count;
        if (genes[h] != group->genes.items[h].start)
            return true;
    }
    return false;
}

/* Finds the first allowed point from the starting point on, or else one that breaks the latest constraint. */
static void find_start(const Space *space, Group *group) {
    int count = group->genes.count, genes[count + 1], chosen[count + 1], kept = -1;
    for (int h = 0; h < count; h++)
        genes[h] = chosen[h] = group->genes.items[h].start;
    for (int tries = 0; tries < START_TRIES && kept < space->user->count; tries++) {
        int broken = user_broken(space, group, genes);
        if (broken > kept)
            memcpy(chosen, genes, sizeof genes);
        kept = broken > kept ? broken : kept;
        if (kept < space->user->count && !next_choices(group, genes)) {
            group->contradicts = true;
            break;
        }
    }
    for (int h = 0; h < count; h++)
        group->genes.items[h].start = chosen[h];
}

/* Whether the statements are legal at the starting point. */
static bool start_is_legal(Space *space, Group *group) {
    Arena *scratch = arena_new();
    Sketch sketch = {.active = ARENA_ARRAY(scratch, bool, group->genes.count + 1)};
    user_emit(space, group, NULL, &sketch);
    bool legal = sketch_nest(scratch, space, group, &sketch) != NULL;
    arena_free(scratch);
    return legal;
}

/* The next point to look at: the neighbours of the start first, then any. False: all were looked at. */
static bool next_try(const Group *group, int tries, const int *first, Random *random, int *genes) {
    int count = group->genes.count, h = 0;
    if (tries >= NEAR_TRIES) {
        for (h = 0; h < count; h++)
            genes[h] = random_below(random, group->genes.items[h].count);
        return true;
    }
    while (h < count && (genes[h] = (genes[h] + 1) % group->genes.items[h].count) == first[h])
        h++;
    return h < count;
}

/* Starts at a point whose nest is legal, if one is found: what the block leaves open is seen there. */
static void start_legally(Space *space, Group *group) {
    int count = group->genes.count, first[count + 1], genes[count + 1];
    Random random = {1};
    for (int h = 0; h < count; h++)
        first[h] = genes[h] = group->genes.items[h].start;
    for (int tries = 0; tries < LEGAL_TRIES; tries++) {
        if (user_allows(space, group, genes) && start_is_legal(space, group))
            return;
        if (!next_try(group, tries, first, &random, genes))
            break;
        for (int h = 0; h < count; h++)
            group->genes.items[h].start = genes[h];
    }
    for (int h = 0; h < count; h++)
        group->genes.items[h].start = first[h];
}

/* Leaves out the inlining that the user's statements do not allow. */
static void keep_legal_common(Space *space, Group *group) {
    int count = space->common.count, kept = 0;
    if (start_is_legal(space, group))
        return;
    for (int c = 0; c < count; c++) {
        const Prim *prim = space->common.items[c].prim;
        cut_common(space, kept);
        add_common(space, prim);
        kept += start_is_legal(space, group);
    }
    cut_common(space, kept);
}

static void hold_stages(Space *space, Group *group) {
    group->stages = ARENA_ARRAY(space->arena, const Stage *, space->program->stage_count + 1);
    for (int s = 0; s < space->program->stage_count; s++)
        if (space->held[s])
            group->stages[group->stage_count++] = space->program->stages[s];
}

void user_group_new(Space *space, Group *group, const Schedule *user) {
    group->prefix = "";
    group->emit = user_emit;
    group->by_user = true;
    group_add_holes(space, group, user, space->holes);
    find_start(space, group);
    start_legally(space, group);
    if (!space->held)
        return;
    hold_stages(space, group);
    keep_legal_common(space, group);
    user_group_complete(space, group);
}
