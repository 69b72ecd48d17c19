/* mutate.c - the mutations of evolutionary search (Ansor section 5.1): each changes one gene of a kind.
 *
 * Sizes of tiles move a factor from one level of a loop to another, so that the product of the levels stays. Other
 * kinds take another of their choices. A gene counts where the point's sketch uses it and it has another choice. All
 * randomness comes from the caller's stream. What does not fit is not kept; whether the point is legal, the nest says.
 */
#include "autosched/space/space.h"

enum { TRIES = 20 };

static bool divides(int64_t a, int64_t b) {
    return a > 0 && b > 0 && (a % b == 0 || b % a == 0);
}

/* Whether one choice becomes the other by a factor that moves between two levels. The outermost level is what the
 * listed ones leave. */
static bool moves_factor(const Gene *gene, int from, int to) {
    const int64_t *a = gene->values + from * gene->width, *b = gene->values + to * gene->width;
    int64_t before = 1, after = 1;
    int changed = 0;
    bool whole = true;
    for (int level = 0; level < gene->width; level++) {
        changed += a[level] != b[level];
        whole &= divides(a[level], b[level]);
        before *= a[level];
        after *= b[level];
    }
    return whole && (changed == 1 || (changed == 2 && before == after));
}

static int change_tile(Random *random, const Gene *gene, int choice) {
    int picked = -1, seen = 0;
    for (int c = 0; c < gene->count && gene->values; c++)
        if (c != choice && moves_factor(gene, choice, c) && random_below(random, ++seen) == 0)
            picked = c;
    return picked < 0 ? gene_other_choice(random, gene, choice) : picked;
}

const Mutation mutations[GENE_KINDS] = {
    [GENE_STRUCTURE] = {"structure", GENE_STRUCTURE, 1, gene_other_choice},
    [GENE_TILE] = {"tile", GENE_TILE, 3, change_tile},
    [GENE_PARALLEL] = {"parallel", GENE_PARALLEL, 1, gene_other_choice},
    [GENE_UNROLL] = {"unroll", GENE_UNROLL, 1, gene_other_choice},
    [GENE_VECTOR] = {"vector", GENE_VECTOR, 1, gene_other_choice},
    [GENE_ORDER] = {"order", GENE_ORDER, 1, gene_other_choice},
    [GENE_PLACE] = {"place", GENE_PLACE, 1, gene_other_choice},
    [GENE_PACK] = {"pack", GENE_PACK, 1, gene_other_choice},
};

/* Whether a gene matters at the point: of the two ways to compute a pipeline, those of one do; the choice
 * between them, the first gene of a group in strips, always does. */
static bool gene_matters(const Space *space, const Group *group, int gene, const int *point) {
    if (group->skipped)
        return false;
    if (group->apart && group_is_used(space, group->apart->group, point))
        return false;
    return !group->fused || gene == 0 || group_is_used(space, group, point);
}

typedef struct GenePlace {
    int group, gene;
} GenePlace;

/* A gene that the point uses, of a kind (-1: any), drawn by weight; group -1: none. */
static GenePlace draw_place(Space *space, Random *random, int kind, const int *point) {
    GenePlace place = {-1, -1};
    int64_t weights = 0;
    for (int g = 0; g < space->groups.count; g++) {
        Group *group = space->groups.items[g];
        const Sketch *sketch = group_sketch(space, group, point + group->first_gene);
        for (int i = 0; i < group->genes.count; i++) {
            const Gene *gene = &group->genes.items[i];
            if ((kind >= 0 && kind != (int)gene->kind) || gene->count < 2 || gene->kept || !sketch->active[i] ||
                !gene_matters(space, group, i, point))
                continue;
            weights += mutations[gene->kind].weight;
            if (random_below(random, weights) < mutations[gene->kind].weight)
                place = (GenePlace){g, i};
        }
    }
    return place;
}

bool point_mutate_by(Space *space, Random *random, int kind, int *point) {
    for (int attempt = 0; attempt < TRIES; attempt++) {
        GenePlace place = draw_place(space, random, kind, point);
        if (place.group < 0)
            return false;
        const Group *group = space->groups.items[place.group];
        const Gene *gene = &group->genes.items[place.gene];
        int *choice = &point[group->first_gene + place.gene], before = *choice;
        *choice = mutations[gene->kind].change(random, gene, before);
        if (point_plausible(space, point))
            return true;
        *choice = before;
    }
    return false;
}
