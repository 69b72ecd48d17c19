/* factors.c - the tile sizes that a space offers for a loop: divisors, and a few sizes that waste little.
 *
 * Register levels (inner) are small; middle levels take divisors of the rest. A size that does not divide costs guarded
 * or masked work, so it is listed only if the waste is small, or there is nothing else (primes, unknown extents).
 */
#include "autosched/space/groups.h"

enum { UNKNOWN_MIDDLE = 16, POWER_LIMIT = 4096 };
static const double inner_waste = 1.2, middle_waste = 1.13;

int64_t ceil_divide(int64_t value, int64_t by) {
    return (value + by - 1) / by;
}

double tile_waste(int64_t extent, int64_t size) {
    return extent > 0 ? (double)(ceil_divide(extent, size) * size) / (double)extent : 1;
}

static bool is_power(int64_t value) {
    return (value & (value - 1)) == 0;
}

static bool offers_inner(int64_t extent, int64_t size) {
    if (extent < 0)
        return size <= 4 || size % 2 == 0;
    if (size > extent)
        return false;
    return extent % size == 0 || size == extent ||
           ((size % 2 == 0 || size <= 3) && tile_waste(extent, size) <= inner_waste);
}

static bool offers_middle(int64_t extent, int64_t size) {
    if (extent < 0)
        return size <= UNKNOWN_MIDDLE && is_power(size);
    return extent % size == 0 || (size < POWER_LIMIT && is_power(size) && tile_waste(extent, size) <= middle_waste);
}

typedef LIST(int64_t) Values;

/* A loop that never runs is tiled as if it ran once. */
static void add_middles(Arena *arena, Values *values, int64_t extent, int64_t inner) {
    int64_t left = extent < 0    ? -1
                   : extent == 0 ? 1
                                 : ceil_divide(extent, inner),
            limit = left < 0 ? UNKNOWN_MIDDLE : left;
    for (int64_t middle = 1; middle <= limit; middle++) {
        if (middle > POWER_LIMIT)
            middle = limit;
        if (!offers_middle(left, middle))
            continue;
        list_push(arena, values, middle);
        list_push(arena, values, inner);
    }
}

void factors_tile(Arena *arena, int64_t extent, int64_t limit, Gene *gene) {
    Values values = {0};
    for (int64_t inner = 1; inner <= limit; inner++)
        if (inner == 1 || offers_inner(extent, inner))
            add_middles(arena, &values, extent, inner);
    gene->width = 2;
    gene->values = values.items;
    gene->count = values.count / 2;
}

void factors_cases(Arena *arena, int64_t extent, int64_t period, Gene *gene) {
    Values values = {0};
    add_middles(arena, &values, extent, period);
    gene->width = 2;
    gene->values = values.items;
    gene->count = values.count / 2;
    gene->register_part = -1;
}

void factors_single(Arena *arena, int64_t extent, int64_t limit, Gene *gene) {
    Values values = {0};
    for (int64_t size = 1; size <= limit; size++)
        if (size == 1 || (extent < 0 ? is_power(size) : offers_middle(extent, size)))
            list_push(arena, &values, size);
    gene->width = 1;
    gene->values = values.items;
    gene->count = values.count;
}
