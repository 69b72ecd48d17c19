/* similar.c - groups of a function that are alike, as the layers of a network mostly are: what was chosen for one is a
 * good start for the next.
 *
 * Two groups are alike where one rule made them and their genes decide the same things. Sizes of tiles are listed for
 * each group's own extents; the nearest ones stand for each other.
 */
#include "autosched/search/policies.h"

#include <math.h>

bool gene_is_alike(const Gene *a, const Gene *b) {
    return a->kind == b->kind && a->structural == b->structural && a->width == b->width && a->gain == b->gain &&
           (!a->structural || a->count == b->count) && !a->values == !b->values;
}

static bool group_is_alike(const Group *a, const Group *b) {
    if (a->emit != b->emit || !a->fused != !b->fused || a->genes.count != b->genes.count)
        return false;
    for (int i = 0; i < a->genes.count; i++)
        if (!gene_is_alike(&a->genes.items[i], &b->genes.items[i]))
            return false;
    return true;
}

/* How far the sizes of two choices are apart: the sum of the logarithms of their ratios. */
static double distance(const Gene *a, int choice, const Gene *b, int other) {
    double sum = 0;
    for (int i = 0; i < a->width; i++) {
        double x = (double)a->values[choice * a->width + i], y = (double)b->values[other * b->width + i];
        sum += fabs(log((1 + fabs(x)) / (1 + fabs(y))));
    }
    return sum;
}

static int nearest_choice(const Gene *gene, const Gene *from, int choice) {
    if (!gene->values)
        return choice < gene->count ? choice : gene->start;
    int nearest = gene->start;
    double least = HUGE_VAL;
    for (int c = 0; c < gene->count; c++) {
        double apart = distance(gene, c, from, choice);
        if (apart < least) {
            least = apart;
            nearest = c;
        }
    }
    return nearest;
}

/* The last group before it that is alike and not plain; NULL: there is none. */
static const Group *similar_group(const Space *space, int number) {
    for (int g = number - 1; g >= 0; g--) {
        const Group *other = space->groups.items[g];
        if (!other->skipped && group_is_alike(space->groups.items[number], other))
            return other;
    }
    return NULL;
}

bool take_similar(Space *space, int number, const int *chosen, int *point) {
    const Group *group = space->groups.items[number], *from = similar_group(space, number);
    if (!from)
        return false;
    for (int i = 0; i < group->genes.count; i++) {
        const Gene *gene = &group->genes.items[i];
        if (!gene->kept)
            point[group->first_gene + i] = nearest_choice(gene, &from->genes.items[i], chosen[from->first_gene + i]);
    }
    group_fit(space, number, point);
    return true;
}
