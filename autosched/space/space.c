/* space.c - the space as a whole: its groups, and its sketches as seen from outside.
 *
 * Needs only the checked program and the target; the same input gives the same space.
 */
#include "autosched/space/block/block.h"
#include "autosched/space/groups.h"

#include <stdlib.h>
#include <string.h>

bool has_limited_size(const Space *space) {
    for (int i = 0; i < space->program->size_count; i++)
        if (space->program->sizes[i]->most > 0)
            return true;
    return false;
}

int64_t axis_extent(const Var *axis) {
    int64_t value;
    return expr_is_int(axis->extent, &value) ? value : -1;
}

double axis_assumed_extent(const Var *axis) {
    enum { ASSUMED_EXTENT = 1024 };
    int64_t extent = axis_extent(axis);
    return extent < 0 ? ASSUMED_EXTENT : (double)extent;
}

int compare_numbers(const void *a, const void *b) {
    return *(const int *)a - *(const int *)b;
}

int64_t group_steps(const Group *group) {
    return group->scan ? axis_extent(group->scan->axis) : 1;
}

double group_work(const Group *group) {
    double work = 0;
    for (int s = 0; s < group->stage_count; s++) {
        double flops = stage_flops(group->stages[s]),
               elements = (double)tensor_elements(group->stages[s]->components[0].tensor);
        if (flops < 0 || elements < 0)
            return -1;
        work += flops + elements;
    }
    return work;
}

bool group_computes(const Group *group, const Tensor *tensor) {
    for (int s = 0; s < group->stage_count; s++)
        if (stage_writes(group->stages[s], tensor))
            return true;
    return false;
}

static void list_computed(Space *space, int number) {
    const Group *group = space->groups.items[number];
    for (int s = 0; s < group->stage_count; s++)
        for (int c = 0; c < group->stages[s]->component_count; c++) {
            const Tensor *tensor = group->stages[s]->components[c].tensor;
            GroupNumbers *numbers = address_map_get(&space->computers, tensor);
            if (!numbers)
                address_map_set(space->arena, &space->computers, tensor,
                                numbers = ARENA_NEW(space->arena, GroupNumbers));
            list_push(space->arena, numbers, number);
        }
}

const GroupNumbers *space_computers(Space *space, const Tensor *tensor) {
    while (space->computing < space->groups.count)
        list_computed(space, space->computing++);
    return address_map_get(&space->computers, tensor);
}

static void list_readers(Space *space, Group *group) {
    for (int s = 0; s < group->stage_count; s++)
        EACH_STAGE_READ(read, inlined_stage(space, group->stages[s])) {
            void *known = address_map_get(&space->readers, read->tensor);
            if (known != group && known != space)
                address_map_set(space->arena, &space->readers, read->tensor, known ? (void *)space : group);
        }
}

bool space_reads_elsewhere(Space *space, const Group *group, const Tensor *tensor) {
    while (space->read_groups < space->groups.count)
        list_readers(space, space->groups.items[space->read_groups++]);
    const void *readers = address_map_get(&space->readers, tensor);
    return readers && readers != group;
}

bool is_steps_axis(const Group *group, const Stage *stage, int axis) {
    return group->scan && stage == group->root && axis == stage->step;
}

const char *steps_loop(Space *space, const Group *group) {
    return arena_printf(space->arena, "%s.%s", group->scan->name, group->scan->axis->name);
}

int group_add_gene(Space *space, Group *group, Gene gene) {
    if (gene.structural)
        gene.register_part = gene.unroll_part = -1;
    gene.stage = gene.stage ? gene.stage : group->root;
    list_push(space->arena, &group->genes, gene);
    return group->genes.count - 1;
}

static int compare_names(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void list_names(Space *space) {
    const Program *program = space->program;
    for (int t = 0; t < program->tensor_count; t++)
        list_push(space->arena, &space->names, program->tensors[t]->name);
    for (int s = 0; s < program->stage_count; s++) {
        const Stage *stage = program->stages[s];
        for (int a = 0; a < stage->axis_count; a++)
            list_push(space->arena, &space->names, stage->axes[a]->name);
        for (int r = 0; r < stage->reduction_count; r++)
            list_push(space->arena, &space->names, stage->reductions[r]->name);
    }
    for (int p = 0; space->user && p < space->user->count; p++)
        for (int r = 0; r < space->user->prims[p].result_count; r++)
            list_push(space->arena, &space->names, space->user->prims[p].results[r]);
    if (space->names.count)
        qsort(space->names.items, (size_t)space->names.count, sizeof *space->names.items, compare_names);
}

static bool name_is_taken(Space *space, const char *name) {
    if (!space->names.count)
        list_names(space);
    return space->names.count &&
           bsearch(&name, space->names.items, (size_t)space->names.count, sizeof *space->names.items, compare_names);
}

const char *space_local_name(Space *space, const Group *group, const char *base) {
    char *name = arena_printf(space->arena, "%s%s", group->prefix, base);
    for (char *at = name; (at = strpbrk(at, ".[]")) != NULL;) /* of a stage of a call, or of one of several updates */
        *at = '_';
    while (name_is_taken(space, name))
        name = arena_printf(space->arena, "%s_", name);
    return name;
}

static void number_genes(Space *space) {
    for (int g = 0; g < space->groups.count; g++) {
        space->groups.items[g]->first_gene = space->gene_count;
        space->gene_count += space->groups.items[g]->genes.count;
    }
}

/* The user's group comes before all others: these are added as far as they are legal with it. */
static void add_user_group(Space *space) {
    Group *group = ARENA_NEW(space->arena, Group);
    list_push(space->arena, &space->groups, group);
    for (int g = space->groups.count - 1; g > 0; g--)
        space->groups.items[g] = space->groups.items[g - 1];
    space->groups.items[0] = group;
    user_group_new(space, group, space->user);
}

static Space *space_begin(Arena *arena, const Program *program, const Target *target, const Schedule *user) {
    Space *space = ARENA_NEW(arena, Space);
    HoleTree *holes = user ? hole_tree_new(arena, program, user, target) : NULL;
    if (holes)
        user = hole_tree_schedule(holes);
    *space = (Space){.arena = arena, .program = program, .target = target, .user = user, .holes = holes};
    space->gaps.arena = arena;
    if (holes)
        hole_tree_gaps(holes, &space->gaps);
    space->bordered = -1;
    return space;
}

Space *space_of_holes(Arena *arena, const Program *program, const Target *target, const Schedule *user) {
    Space *space = space_begin(arena, program, target, user);
    add_user_group(space);
    number_genes(space);
    return space;
}

static bool says_exactly(const Schedule *schedule) {
    for (int p = 0; p < schedule->count; p++)
        if (schedule->prims[p].op == PRIM_EXACTLY)
            return true;
    return false;
}

/* Reads are numbered as the program has them: nothing may be inlined into their stage. */
static bool numbers_reads(const Schedule *schedule) {
    for (int p = 0; p < schedule->count; p++)
        if (prim_keyword(&schedule->prims[p], "read"))
            return true;
    return false;
}

Space *space_new(Arena *arena, const Program *program, const Target *target, const Schedule *user) {
    if (user && says_exactly(user))
        return space_of_holes(arena, program, target, user);
    Space *space = space_begin(arena, program, target, user);
    if (user) {
        space->held = schedule_names_stages(arena, program, space->user);
        for (int s = 0; s < program->stage_count && numbers_reads(user); s++)
            space->held[s] = true;
    }
    space_make_groups(space);
    space_add_rules(space);
    if (user)
        add_user_group(space);
    number_genes(space);
    return space;
}

Space *space_new_with_border(Arena *arena, const Program *program, const Target *target, int stage) {
    Space *space = space_begin(arena, program, target, NULL);
    space->bordered = stage;
    space_make_groups(space);
    number_genes(space);
    return space;
}

bool schedule_leaves_open(const Program *program, const Target *target, const Schedule *user) {
    Arena *arena = arena_new();
    const Space *space = space_new(arena, program, target, user);
    bool open = space->gene_count > 0 || space->groups.count > 1 || space->common.count > 0;
    arena_free(arena);
    return open;
}

/* --- sketches --- */

/* The key is mixed, because a product of the numbers of choices would wrap. */
static uint64_t structure_key(const Group *group, const int *genes) {
    uint64_t key = 1;
    for (int g = 0; g < group->genes.count; g++)
        if (group->genes.items[g].structural)
            key = hash_mix(key + (uint64_t)genes[g]);
    return key;
}

bool sketch_is_usable(Space *space, Group *group, Sketch *sketch) {
    if (sketch->makes_sense && !sketch->asked && !group->by_user) {
        Arena *scratch = arena_new();
        sketch->makes_sense = sketch_nest(scratch, space, group, sketch) != NULL;
        arena_free(scratch);
    }
    sketch->asked = true;
    return sketch->makes_sense;
}

static Sketch *sketch_make(Space *space, Group *group, const int *genes) {
    Sketch *sketch = ARENA_NEW(space->arena, Sketch);
    sketch->registers = 1;
    sketch->copies = 1;
    sketch->active = ARENA_ARRAY(space->arena, bool, group->genes.count + 1);
    for (int g = 0; g < group->genes.count; g++)
        sketch->active[g] = group->genes.items[g].structural;
    sketch->makes_sense = group->emit(space, group, genes, sketch);
    sketch->schedule = (Schedule){.subject = space->program->name,
                                  .target = space->target->name,
                                  .count = sketch->prims.count,
                                  .prims = sketch->prims.items};
    return sketch;
}

static struct CachedSketch **sketch_chain(const Group *group, uint64_t key) {
    return &group->sketches[key & (uint64_t)(group->chain_count - 1)];
}

/* Keeps hash chains short: statements with many reads have very many structures. */
static void add_chains(Arena *arena, Group *group) {
    struct CachedSketch **before = group->sketches;
    int count = group->chain_count;
    group->chain_count = count ? 2 * count : 64;
    group->sketches = ARENA_ARRAY(arena, struct CachedSketch *, group->chain_count);
    for (int i = 0; i < count; i++)
        for (struct CachedSketch *cached = before[i], *next; cached; cached = next) {
            struct CachedSketch **chain = sketch_chain(group, cached->key);
            next = cached->next;
            cached->next = *chain;
            *chain = cached;
        }
}

Sketch *group_sketch(Space *space, Group *group, const int *genes) {
    uint64_t key = structure_key(group, genes);
    for (const struct CachedSketch *cached = group->chain_count ? *sketch_chain(group, key) : NULL; cached;
         cached = cached->next)
        if (cached->key == key)
            return cached->sketch;
    if (group->sketch_count++ == group->chain_count)
        add_chains(space->arena, group);
    struct CachedSketch *made = ARENA_NEW(space->arena, struct CachedSketch), **chain = sketch_chain(group, key);
    *made = (struct CachedSketch){key, sketch_make(space, group, genes), *chain};
    *chain = made;
    return made->sketch;
}
