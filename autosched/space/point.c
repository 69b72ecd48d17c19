/* point.c - points of a space: drawing, changing, crossing and comparing them, and their schedules.
 *
 * A point is an array of choices, one for each gene. All randomness comes from the caller's stream. A point without a
 * usable sketch, or whose register tile does not fit, is not drawn if a few tries find another, or if making the tile
 * of the starting point smaller does.
 */
#include "autosched/space/block/block.h"
#include "autosched/space/groups.h"
#include "lang/machine.h"

#include <string.h>

enum { DRAW_TRIES = 60 };

void point_start(const Space *space, int *point) {
    for (int g = 0; g < space->groups.count; g++) {
        const Group *group = space->groups.items[g];
        for (int i = 0; i < group->genes.count; i++)
            point[group->first_gene + i] = group->genes.items[i].start;
    }
}

static int64_t gene_part(const Gene *gene, int choice, int part) {
    return part < 0 ? 1 : gene->values[choice * gene->width + part];
}

/* The accumulators and one vector of each operand must fit the registers, and an unrolled body the instruction cache.
 * Copies of the body run one after another, but all of them must be compiled. */
static bool tile_fits(const Space *space, const Group *group, const Sketch *sketch, const int *genes, int tile) {
    int64_t registers = sketch->registers, body = sketch->registers * sketch->copies, largest = 1;
    for (int i = 0; i < group->genes.count; i++) {
        const Gene *gene = &group->genes.items[i];
        if (gene->structural || !sketch->active[i] || (gene->tiles && gene->tiles != tile))
            continue;
        int64_t part = gene_part(gene, genes[i], gene->register_part);
        registers *= part;
        if (part > largest)
            largest = part;
        body *= part * gene_part(gene, genes[i], gene->unroll_part);
    }
    bool one = body == 1; /* there is no unrolling to leave out */
    body *= group->weight ? group->weight : 1;
    return registers + registers / largest < space->target->vector_registers &&
           (one || body <= space->target->machine->unrolled_most);
}

static bool tiles_fit(const Space *space, const Group *group, const Sketch *sketch, const int *genes) {
    int count = group->tile_count > 1 ? group->tile_count : 1;
    for (int tile = 1; tile <= count; tile++)
        if (!tile_fits(space, group, sketch, genes, tile))
            return false;
    return true;
}

/* The factor that a choice of a gene puts on an unrolled body. */
static int64_t gene_copies(const Gene *gene, int choice) {
    return gene_part(gene, choice, gene->register_part) * gene_part(gene, choice, gene->unroll_part);
}

/* The largest choice with fewer copies than the present one; -1: none. */
static int smaller_choice(const Gene *gene, int choice) {
    int64_t most = 0, own = gene_copies(gene, choice);
    int smaller = -1;
    for (int c = 0; c < gene->count; c++) {
        int64_t copies = gene_copies(gene, c);
        if (copies < own && copies > most) {
            most = copies;
            smaller = c;
        }
    }
    return smaller;
}

/* The gene that makes a body shorter: the one in use with the most copies; -1: none can. */
static int largest_gene(const Group *group, const Sketch *sketch, const int *genes) {
    int64_t most = 1;
    int largest = -1;
    for (int i = 0; i < group->genes.count; i++) {
        const Gene *gene = &group->genes.items[i];
        bool used = !gene->structural && sketch->active[i] && !gene->kept;
        if (used && gene_copies(gene, genes[i]) > most && smaller_choice(gene, genes[i]) >= 0) {
            most = gene_copies(gene, genes[i]);
            largest = i;
        }
    }
    return largest;
}

static bool may_be_used(Space *space, Group *group, Sketch *sketch) {
    return space->trusting ? sketch->makes_sense : sketch_is_usable(space, group, sketch);
}

void group_fit(Space *space, int number, int *point) {
    Group *group = space->groups.items[number];
    int *genes = point + group->first_gene, gene;
    Sketch *sketch = group_sketch(space, group, genes);
    if (group->by_user || !may_be_used(space, group, sketch))
        return;
    while (!tiles_fit(space, group, sketch, genes) && (gene = largest_gene(group, sketch, genes)) >= 0)
        genes[gene] = smaller_choice(&group->genes.items[gene], genes[gene]);
}

/* Copies of its values that the group makes. */
static double copies_of(const Group *group, const Sketch *sketch, const int *genes) {
    double copies = 1;
    for (int i = 0; i < group->genes.count; i++)
        if (!group->genes.items[i].structural && sketch->active[i])
            copies *= (double)gene_copies(&group->genes.items[i], genes[i]);
    return copies;
}

double group_body(Space *space, int number, const int *point) {
    Group *group = space->groups.items[number];
    const int *genes = point + group->first_gene;
    const Sketch *sketch = group_sketch(space, group, genes);
    return copies_of(group, sketch, genes) * (double)sketch->registers * (double)sketch->copies;
}

bool group_shrink(Space *space, int number, double part, int *point) {
    Group *group = space->groups.items[number];
    int *genes = point + group->first_gene, gene;
    const Sketch *sketch = group_sketch(space, group, genes);
    double before = copies_of(group, sketch, genes), copies = before;
    while (copies > before * part && (gene = largest_gene(group, sketch, genes)) >= 0) {
        genes[gene] = smaller_choice(&group->genes.items[gene], genes[gene]);
        copies = copies_of(group, sketch, genes);
    }
    return copies < before;
}

static bool group_fits(Space *space, Group *group, const int *genes) {
    Sketch *sketch = group_sketch(space, group, genes);
    if (!sketch->makes_sense || (group->by_user && !user_allows(space, group, genes)))
        return false;
    return tiles_fit(space, group, sketch, genes) && may_be_used(space, group, sketch);
}

bool group_plausible(Space *space, int number, const int *point) {
    Group *group = space->groups.items[number];
    return group_fits(space, group, point + group->first_gene);
}

bool point_plausible(Space *space, const int *point) {
    for (int g = 0; g < space->groups.count; g++)
        if (group_is_used(space, space->groups.items[g], point) && !group_plausible(space, g, point))
            return false;
    return true;
}

/* --- drawing --- */

static bool is_kept(const Group *group, int gene) {
    return group->genes.items[gene].kept;
}

static void draw_genes(const Group *group, Random *random, int *genes) {
    for (int i = 0; i < group->genes.count; i++)
        if (!is_kept(group, i))
            genes[i] = random_below(random, group->genes.items[i].count);
}

void group_random(Space *space, int number, Random *random, int *point) {
    Group *group = space->groups.items[number];
    int *genes = point + group->first_gene;
    for (int attempt = 0; attempt < DRAW_TRIES; attempt++) {
        draw_genes(group, random, genes);
        if (group_fits(space, group, genes))
            return;
    }
    for (int i = 0; i < group->genes.count; i++)
        if (!is_kept(group, i))
            genes[i] = group->genes.items[i].start;
    group_fit(space, number, point);
}

void point_random(Space *space, Random *random, int *point) {
    for (int g = 0; g < space->groups.count; g++)
        group_random(space, g, random, point);
}

/* A random gene that the group's present sketch uses and that has another choice; -1: none. */
static int pick_gene(Space *space, Group *group, Random *random, const int *genes) {
    Sketch *sketch = group_sketch(space, group, genes);
    int picked = -1, seen = 0;
    for (int i = 0; i < group->genes.count; i++)
        if (sketch->active[i] && group->genes.items[i].count > 1 && !is_kept(group, i) &&
            random_below(random, ++seen) == 0)
            picked = i;
    return picked;
}

int gene_other_choice(Random *random, const Gene *gene, int choice) {
    int other = random_below(random, gene->count - 1);
    return other >= choice ? other + 1 : other;
}

/* Half of the steps of a tile gene go to a near entry of its table, where sizes are similar. */
static int step_choice(Random *random, const Gene *gene, int choice) {
    if (!gene->structural && gene->count > 6 && random_below(random, 2) == 0) {
        int step = 1 + random_below(random, 3);
        int next = random_below(random, 2) ? choice + step : choice - step;
        if (next >= 0 && next < gene->count)
            return next;
    }
    return gene_other_choice(random, gene, choice);
}

enum { GENES_OF_A_WAY = 8 }; /* to change the way in which a pipeline is computed counts as a gene in so many */

/* Genes that matter in the group at the point: of a pipeline and its parts, those of the way it is computed in. */
static int genes_that_matter(const Space *space, const Group *group, const int *point) {
    if (group->fused && !group_is_used(space, group, point))
        return 1 + group->genes.count / GENES_OF_A_WAY;
    return group->apart && group_is_used(space, group->apart->group, point) ? 0 : group->genes.count;
}

/* A random group, weighted by its number of genes that matter; -1: none. */
static int pick_group(Space *space, Random *random, const int *point) {
    int all = 0;
    for (int g = 0; g < space->groups.count; g++)
        all += genes_that_matter(space, space->groups.items[g], point);
    int number = random_below(random, all ? all : 1);
    for (int g = 0; g < space->groups.count; g++) {
        number -= genes_that_matter(space, space->groups.items[g], point);
        if (number < 0)
            return g;
    }
    return -1;
}

void group_mutate(Space *space, int number, Random *random, int *point) {
    Group *group = space->groups.items[number];
    int *genes = point + group->first_gene, count = group->genes.count, saved[count + 1];
    memcpy(saved, genes, sizeof *genes * (size_t)count);
    for (int attempt = 0; attempt < DRAW_TRIES; attempt++) {
        int changes = random_below(random, 4) == 0 ? 2 : 1;
        for (int c = 0; c < changes; c++) {
            int i = pick_gene(space, group, random, genes);
            if (i >= 0)
                genes[i] = step_choice(random, &group->genes.items[i], genes[i]);
        }
        if (group_fits(space, group, genes))
            return;
        memcpy(genes, saved, sizeof *genes * (size_t)count);
    }
}

void point_mutate(Space *space, Random *random, int *point) {
    int number = pick_group(space, random, point);
    if (number >= 0)
        group_mutate(space, number, random, point);
}

/* Takes each gene of the group from either parent; if that does not fit, the first parent's. */
static void cross_group(Space *space, Group *group, Random *random, const int *a, const int *b, int *child) {
    for (int i = 0; i < group->genes.count; i++) {
        bool drawn = !is_kept(group, i) || group->genes.items[i].gain == 0; /* as where there is no such gene */
        child[i] = !drawn || random_below(random, 2) ? a[i] : b[i];
    }
    if (!group_fits(space, group, child))
        memcpy(child, a, sizeof *a * (size_t)group->genes.count);
}

void point_cross(Space *space, Random *random, const int *a, const int *b, int *child) {
    for (int g = 0; g < space->groups.count; g++) {
        int first = space->groups.items[g]->first_gene;
        cross_group(space, space->groups.items[g], random, a + first, b + first, child + first);
    }
}

/* Genes of the group, but of those of pipelines, which come last, and of those that need starts of their own: neither
 * changes how the others are drawn. */
static int genes_apart(const Group *group) {
    int count = 0;
    for (int i = 0; i < group->genes.count && !group->fused; i++)
        count += group->genes.items[i].gain == 0;
    return count;
}

/* How many of them the groups before each one have, and last all. */
static const int *genes_before(Space *space) {
    if (space->genes_before)
        return space->genes_before;
    int *before = ARENA_ARRAY(space->arena, int, space->groups.count + 1);
    for (int g = 0; g < space->groups.count; g++)
        before[g + 1] = before[g] + genes_apart(space->groups.items[g]);
    return space->genes_before = before;
}

void group_cross(Space *space, int number, Random *random, const int *a, const int *b, int *child) {
    Group *group = space->groups.items[number];
    const int *before = genes_before(space);
    random_skip(random, before[number]);
    cross_group(space, group, random, a, b, child);
    random_skip(random, group->fused ? 0 : before[space->groups.count] - before[number + 1]);
}

/* --- comparing --- */

/* What a choice of a gene stands for: that of a hole for names may stand for another one. */
static int64_t standing_choice(const Group *group, const Sketch *sketch, int gene, int choice) {
    int hole = gene - sketch->stands_first;
    bool named = group->genes.items[gene].structural && hole >= 0 && hole < sketch->stands_count;
    return named ? sketch->stands[hole] : choice;
}

static uint64_t sketch_hash(Sketch *sketch) {
    if (!sketch->hash)
        sketch->hash = schedule_hash(&sketch->schedule);
    return sketch->hash;
}

/* Points of one sketch, with the same values of its holes, give one schedule, whatever else their genes say. */
static uint64_t mix_sketch(const Group *group, Sketch *sketch, const int *point, uint64_t hash) {
    hash = hash_mix(hash ^ sketch_hash(sketch));
    for (int h = 0; h < sketch->holes.count; h++) {
        HoleSource source = sketch->holes.items[h];
        hash = hash_mix(hash + (uint64_t)hole_value(group, source, point[group->first_gene + source.gene]));
    }
    return hash;
}

static uint64_t mix_group(Space *space, int number, const int *point, uint64_t hash) {
    Group *group = space->groups.items[number];
    if (group->apart && !group_is_used(space, group, point) && !group->skipped)
        return hash_mix(hash);
    Sketch *sketch = group_sketch(space, group, point + group->first_gene);
    if (!sketch->stands)
        return mix_sketch(group, sketch, point, hash);
    for (int i = 0; i < group->genes.count; i++)
        hash = hash_mix(hash + 0x9e37u +
                        (uint64_t)(sketch->active[i]
                                       ? standing_choice(group, sketch, i, point[group->first_gene + i]) + 1
                                       : 0));
    return hash;
}

uint64_t group_hash(Space *space, int number, const int *point) {
    return mix_group(space, number, point, 0);
}

uint64_t point_hash(Space *space, const int *point) {
    uint64_t hash = 0;
    for (int g = 0; g < space->groups.count; g++)
        hash = mix_group(space, g, point, hash);
    return hash;
}

/* --- what a point stands for --- */

static bool has_statements(const Space *space, int number, const int *point, int only) {
    const Group *group = space->groups.items[number];
    return only < 0 ? group_is_used(space, group, point) : !group->skipped;
}

/* What the nests of a point begin with; with room for so many statements more. */
static Schedule common_statements(Arena *arena, Space *space, const int *point, int only, int more) {
    if (only >= 0)
        return part_schedule(arena, space, group_program(space, space->groups.items[only]), more);
    Schedule common = part_schedule(arena, space, space->program, more);
    int kept = 0;
    for (int c = 0; c < common.count; c++)
        if (!space->inliners[c] || !group_is_used(space, space->inliners[c], point))
            common.prims[kept++] = common.prims[c];
    common.count = kept;
    return common;
}

/* All statements and the values of their holes. only: one group, -1: all. False: a sketch is unusable. */
static bool point_statements(Arena *arena, Space *space, const int *point, int only, Schedule *schedule,
                             int64_t **choices) {
    int prims = 0, holes = 0, first = only < 0 ? 0 : only, end = only < 0 ? space->groups.count : only + 1;
    for (int g = first; g < end; g++) {
        Group *group = space->groups.items[g];
        if (!has_statements(space, g, point, only))
            continue;
        Sketch *sketch = group_sketch(space, group, point + group->first_gene);
        if (!may_be_used(space, group, sketch))
            return false;
        prims += sketch->schedule.count;
        holes += sketch->holes.count;
    }
    *schedule = common_statements(arena, space, point, only, prims);
    *choices = ARENA_ARRAY(arena, int64_t, holes + 1);
    holes = 0;
    for (int g = first; g < end; g++) {
        Group *group = space->groups.items[g];
        if (!has_statements(space, g, point, only))
            continue;
        const Sketch *sketch = group_sketch(space, group, point + group->first_gene);
        if (sketch->schedule.count)
            memcpy(schedule->prims + schedule->count, sketch->schedule.prims,
                   sizeof *schedule->prims * (size_t)sketch->schedule.count);
        schedule->count += sketch->schedule.count;
        for (int h = 0; h < sketch->holes.count; h++) {
            HoleSource source = sketch->holes.items[h];
            (*choices)[holes++] = hole_value(group, source, point[group->first_gene + source.gene]);
        }
    }
    return true;
}

Schedule *point_schedule_with(Arena *arena, Space *space, const int *point, const Nest **nest) {
    Schedule schedule;
    int64_t *choices;
    *nest = NULL;
    if (!point_statements(arena, space, point, -1, &schedule, &choices))
        return NULL;
    Schedule *filled = schedule_fill(arena, &schedule, choices);
    if (space->user && space->groups.count == 1 && !space->holes)
        return filled;
    Schedule *tidy = schedule_tidy(arena, filled);
    *nest = nest_build(arena, space->program, tidy, NULL, space->target, NULL);
    return *nest ? schedule_effective(arena, tidy, nest) : filled;
}

Schedule *point_schedule(Arena *arena, Space *space, const int *point) {
    const Nest *nest;
    return point_schedule_with(arena, space, point, &nest);
}

/* What the nest of a point says about its sketch. */
static void learn(Space *space, Group *group, const int *point, bool legal) {
    Sketch *sketch = group_sketch(space, group, point + group->first_gene);
    if (legal)
        sketch->asked = true;
    else
        sketch_is_usable(space, group, sketch);
}

Nest *point_nest(Arena *arena, Space *space, const int *point, int only) {
    const Program *part = only < 0 ? space->program : group_program(space, space->groups.items[only]);
    Schedule schedule;
    int64_t *choices;
    if (!point_statements(arena, space, point, only, &schedule, &choices))
        return NULL;
    Nest *nest = nest_build(arena, part, &schedule, choices, space->target, NULL);
    if (space->trusting && only >= 0)
        learn(space, space->groups.items[only], point, nest != NULL);
    return nest;
}
