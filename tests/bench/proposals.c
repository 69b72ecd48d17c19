/* proposals.c - how long a search takes to propose one point: a change, the nest of the changed group, its features.
 *
 * usage: proposals FILE.tensor    prints a line for each export: the mean time of a proposal and of its parts, with
 * sketches made before, in microseconds of this process's processor time.
 */
#include "autosched/model/model.h"
#include "autosched/search/policies.h"
#include "reading.h"
#include "times.h"

#include <stdlib.h>
#include <string.h>

enum { CHAINS = 48, WARM_STEPS = 20, STEPS = 60 };

typedef enum Part { CHANGE, NEST, FEATURES, PARTS } Part;

typedef struct Walker {
    Space *space;
    Random random;
    Arena *scratch;
    int *points[CHAINS];
    int *next;
    float *features;
    double spent[PARTS];
    int count, made, refused; /* made: sketches, whose time does not count */
} Walker;

/* The group in which two points differ; 0 if they do not. */
static int changed_group(const Space *space, const int *from, const int *to) {
    for (int g = 0; g < space->groups.count; g++) {
        const Group *group = space->groups.items[g];
        if (memcmp(from + group->first_gene, to + group->first_gene, sizeof *to * (size_t)group->genes.count) != 0)
            return g;
    }
    return 0;
}

static int sketches_made(const Space *space) {
    int count = 0;
    for (int g = 0; g < space->groups.count; g++)
        count += space->groups.items[g]->sketch_count;
    return count;
}

static void propose(Walker *walker, int *point, bool timed) {
    size_t bytes = sizeof *point * (size_t)walker->space->gene_count;
    int made = sketches_made(walker->space);
    double since = microseconds();
    memcpy(walker->next, point, bytes);
    point_mutate(walker->space, &walker->random, walker->next);
    double changed = microseconds();
    arena_reset(walker->scratch);
    int group = changed_group(walker->space, point, walker->next);
    Nest *nest = point_nest(walker->scratch, walker->space, walker->next, group);
    double built = microseconds();
    if (nest != NULL)
        features_extract(walker->scratch, nest, walker->features);
    double ended = microseconds();
    if (nest != NULL)
        memcpy(point, walker->next, bytes);
    made = sketches_made(walker->space) - made;
    walker->made += made;
    if (!timed || made > 0)
        return;
    walker->spent[CHANGE] += changed - since;
    walker->spent[NEST] += built - changed;
    walker->spent[FEATURES] += ended - built;
    walker->refused += nest == NULL;
    walker->count++;
}

static void report(const Program *program, const Target *target) {
    Arena *arena = arena_new();
    Walker walker = {.space = space_new(arena, program, target, NULL), .random = {1}, .scratch = arena_new()};
    int length = walker.space->gene_count + 1;
    walker.next = ARENA_ARRAY(arena, int, length);
    walker.features = ARENA_ARRAY(arena, float, feature_count());
    for (int c = 0; c < CHAINS; c++) {
        walker.points[c] = ARENA_ARRAY(arena, int, length);
        point_random(walker.space, &walker.random, walker.points[c]);
    }
    for (int step = 0; step < WARM_STEPS + STEPS; step++)
        for (int c = 0; c < CHAINS; c++)
            propose(&walker, walker.points[c], step >= WARM_STEPS);
    double all = 0;
    for (int p = 0; p < PARTS; p++)
        all += walker.spent[p] /= walker.count;
    printf("%-24s %3d %5d %8.1f %8.1f %8.1f %8.1f %8d %8d\n", program->symbol, walker.space->groups.count,
           walker.space->gene_count, all, walker.spent[CHANGE], walker.spent[NEST], walker.spent[FEATURES],
           walker.refused, walker.made);
    arena_free(walker.scratch);
    arena_free(arena);
}

int main(int argc, char **argv) {
    Arena *arena = arena_new();
    Module *module = argc >= 2 ? read_module(arena, argv[1], NULL) : NULL;
    if (module == NULL) {
        fprintf(stderr, "usage: proposals FILE.tensor [EXPORT]\n");
        return 2;
    }
    printf("%-24s %3s %5s %8s %8s %8s %8s %8s %8s\n", "microseconds", "grp", "genes", "proposal", "change", "nest",
           "features", "refused", "sketches");
    for (int i = 0; i < module->units.count; i++)
        if (argc < 3 || strcmp(argv[2], module->units.items[i].program->symbol) == 0)
            report(module->units.items[i].program, target_find("x86-64-v4"));
    arena_free(arena);
    return 0;
}
