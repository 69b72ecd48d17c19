/* genetic.c - a genetic search on measured times alone: parents are the fastest so far; children are crossed and
 * mutated. */
#include "autosched/search/policies.h"

#include <math.h>
#include <string.h>

enum { TRIES_PER_CHILD = 40 };

enum { PARENTS = SEARCH_SETTINGS };
const Setting genetic_settings[] = {
    COMMON_SETTINGS, [PARENTS] = {"parents", SETTING_COUNT, 12, 4, 4096, "how many of the fastest have children"},
    END_OF_SETTINGS};

/* The fastest of three random parents, which are in order of time. */
static const int *tournament(Search *search, const int **parents, int count) {
    int best = random_below(&search->random, count);
    for (int i = 0; i < 2; i++) {
        int other = random_below(&search->random, count);
        best = other < best ? other : best;
    }
    return parents[best];
}

int propose_genetic(Search *search, int wanted, int **points) {
    int most = (int)search->settings[PARENTS], count = 0;
    const int **parents = ARENA_ARRAY(search->arena, const int *, most);
    int available = search_fastest(search, most, parents);
    int *child = ARENA_ARRAY(search->arena, int, search->space->gene_count + 1);
    int children = available < 4 ? 0 : wanted - wanted / 8;
    for (int attempt = 0; attempt < children * TRIES_PER_CHILD && count < children; attempt++) {
        const int *parent = tournament(search, parents, available);
        const int *other = random_below(&search->random, 3) ? parent : tournament(search, parents, available);
        point_cross(search->space, &search->random, parent, other, child);
        point_mutate(search->space, &search->random, child);
        if (!search_is_new(search, child) || !search_is_legal(search, child))
            continue;
        hash_set_add(&search->seen, point_hash(search->space, child));
        points[count++] = search_copy(search, child);
    }
    return search_fill(search, wanted, points, count);
}
