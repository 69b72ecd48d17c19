/* anneal.c - simulated annealing with the cost model as energy (AutoTVM section 3.3, Algorithm 1).
 *
 * Parallel chains persist over the rounds and cool down once in each round. The best points seen form a pool, from
 * which the batch is taken greedily by score plus a reward for choices that are new to the batch (equation 3). A part
 * of the batch is random. In the first round, before anything is measured, no structure may fill more than a share of
 * the batch.
 */
#include "autosched/search/policies.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { POOL_FACTOR = 6, SEEDS = 12, STRUCTURE_SHARE = 6 };

enum { CHAINS = SEARCH_SETTINGS, STEPS, RANDOM_PART, DIVERSITY, TEMPERATURE };
const Setting anneal_settings[] = {
    COMMON_SETTINGS,
    [CHAINS] = {"chains", SETTING_COUNT, 48, 1, 65536, "parallel chains"},
    [STEPS] = {"steps", SETTING_COUNT, 44, 1, 1000000,
               "of each chain in a round; more in the first, unless it is cold"},
    [RANDOM_PART] = {"random", SETTING_REAL, 0.08, 0, 1, "part of a batch that is drawn evenly"},
    [DIVERSITY] = {"diversity", SETTING_REAL, 0.25, 0, 1000, "reward for choices that are new to a batch"},
    [TEMPERATURE] = {"temperature", SETTING_REAL, 1, 0, 1000, "at which a round begins, in spreads of the score"},
    END_OF_SETTINGS};
static const double first_part = 4. / 11; /* of the steps of a round, more in the first one */

typedef struct PointPool {
    int count, capacity;
    int **points;
    float *scores;
    uint64_t *hashes;
    HashSet members;
} PointPool;

static void pool_add(Search *search, PointPool *pool, const int *point, float score) {
    uint64_t hash = point_hash(search->space, point);
    int place = pool->count;
    if (score == -HUGE_VALF || hash_set_has(&search->seen, hash) || hash_set_has(&pool->members, hash))
        return;
    if (pool->count == pool->capacity) {
        place = 0;
        for (int i = 1; i < pool->count; i++)
            if (pool->scores[i] < pool->scores[place])
                place = i;
        if (pool->scores[place] >= score)
            return;
    } else {
        pool->points[pool->count++] = ARENA_ARRAY(search->arena, int, search->space->gene_count + 1);
    }
    memcpy(pool->points[place], point, sizeof *point * (size_t)search->space->gene_count);
    pool->scores[place] = score;
    pool->hashes[place] = hash;
    hash_set_add(&pool->members, hash);
}

/* --- chains --- */

static int chain_count(const Search *search) {
    return (int)search->settings[CHAINS];
}

/* New chains begin at random points, one at the start unless the search is cold; in later rounds some restart at the
 * fastest measured points. */
static int **place_chains(Search *search) {
    int **chains = search->state;
    if (!chains) {
        search->state = chains = ARENA_ARRAY(search->arena, int *, chain_count(search));
        for (int c = 0; c < chain_count(search); c++) {
            chains[c] = ARENA_ARRAY(search->arena, int, search->space->gene_count + 1);
            if (c == 0 && !search->settings[SEARCH_COLD])
                point_start(search->space, chains[c]);
            else
                point_random(search->space, &search->random, chains[c]);
        }
    }
    const int *fastest[SEEDS];
    int last = chain_count(search) - 1, count = search_fastest(search, SEEDS, fastest);
    for (int s = 0; s < count && s <= last; s++)
        memcpy(chains[last - s], fastest[s], sizeof **fastest * (size_t)search->space->gene_count);
    return chains;
}

static double score_spread(const float *scores, int count) {
    double sum = 0, squares = 0, n = 0;
    for (int i = 0; i < count; i++)
        if (scores[i] > -HUGE_VALF)
            n++, sum += scores[i], squares += (double)scores[i] * scores[i];
    double variance = n > 1 ? squares / n - (sum / n) * (sum / n) : 0;
    return variance > 1e-8 ? sqrt(variance) : 1e-4;
}

static bool is_accepted(Search *search, float from, float to, double temperature) {
    if (to == -HUGE_VALF)
        return false;
    return to >= from || random_unit(&search->random) < exp(((double)to - from) / fmax(temperature, 1e-6));
}

static void walk_chains(Search *search, int **chains, PointPool *pool) {
    int count = chain_count(search), length = search->space->gene_count;
    int steps = (int)search->settings[STEPS];
    if (!search->rounds && !search->settings[SEARCH_COLD])
        steps += (int)(steps * first_part + 0.5);
    float *scores = ARENA_ARRAY(search->arena, float, count), *proposed = ARENA_ARRAY(search->arena, float, count);
    int **next = ARENA_ARRAY(search->arena, int *, count);
    for (int c = 0; c < count; c++)
        next[c] = ARENA_ARRAY(search->arena, int, length + 1);
    search_score(search, chains, count, scores);
    for (int c = 0; c < count; c++)
        pool_add(search, pool, chains[c], scores[c]);
    double scale = score_spread(scores, count) * search->settings[TEMPERATURE];
    for (int step = 0; step < steps; step++) {
        double temperature = scale * (1 - (double)step / steps);
        for (int c = 0; c < count; c++) {
            memcpy(next[c], chains[c], sizeof(int) * (size_t)length);
            point_mutate(search->space, &search->random, next[c]);
        }
        search_score(search, next, count, proposed);
        for (int c = 0; c < count; c++) {
            pool_add(search, pool, next[c], proposed[c]);
            if (!is_accepted(search, scores[c], proposed[c], temperature))
                continue;
            memcpy(chains[c], next[c], sizeof(int) * (size_t)length);
            scores[c] = proposed[c];
        }
    }
}

/* --- the batch --- */

/* The (gene, choice) pairs that the batch has, and how many points of each structure. */
typedef struct Coverage {
    bool *covered;
    int *first; /* [gene]: its first pair in covered */
    HashSet structures[STRUCTURE_SHARE];
} Coverage;

static Coverage coverage_new(Search *search) {
    Space *space = search->space;
    Coverage coverage = {.first = ARENA_ARRAY(search->arena, int, space->gene_count + 1)};
    int total = 0, gene = 0;
    for (int g = 0; g < space->groups.count; g++)
        for (int i = 0; i < space->groups.items[g]->genes.count; i++) {
            coverage.first[gene++] = total;
            total += space->groups.items[g]->genes.items[i].count;
        }
    coverage.covered = ARENA_ARRAY(search->arena, bool, total + 1);
    return coverage;
}

static double new_choices(const Search *search, const Coverage *coverage, const int *point) {
    int fresh = 0;
    for (int g = 0; g < search->space->gene_count; g++)
        fresh += !coverage->covered[coverage->first[g] + point[g]];
    return (double)fresh / (search->space->gene_count ? search->space->gene_count : 1);
}

static uint64_t structure_hash(const Search *search, const int *point) {
    uint64_t hash = 7;
    for (int g = 0; g < search->space->groups.count; g++) {
        const Group *group = search->space->groups.items[g];
        for (int i = 0; i < group->genes.count; i++)
            if (group->genes.items[i].structural)
                hash = hash_mix(hash + (uint64_t)point[group->first_gene + i] + 1);
    }
    return hash;
}

/* Whether a structure has room: set l holds those with more than l points in the batch. */
static bool structure_has_room(const Coverage *coverage, uint64_t hash, int share) {
    return share > STRUCTURE_SHARE || !hash_set_has(&coverage->structures[share - 1], hash);
}

static void cover(Search *search, Coverage *coverage, const int *point) {
    for (int g = 0; g < search->space->gene_count; g++)
        coverage->covered[coverage->first[g] + point[g]] = true;
    uint64_t hash = structure_hash(search, point);
    for (int level = 0; level < STRUCTURE_SHARE; level++)
        if (!hash_set_has(&coverage->structures[level], hash)) {
            hash_set_add(&coverage->structures[level], hash);
            return;
        }
}

/* The pool member that adds most to the batch; -1: none. */
static int pick(const Search *search, const PointPool *pool, const Coverage *coverage, const bool *taken, double scale,
                int share) {
    int best = -1;
    double best_value = -HUGE_VAL;
    for (int i = 0; i < pool->count; i++) {
        if (taken[i] || !structure_has_room(coverage, structure_hash(search, pool->points[i]), share))
            continue;
        double value =
            pool->scores[i] / scale + search->settings[DIVERSITY] * new_choices(search, coverage, pool->points[i]);
        if (value > best_value) {
            best_value = value;
            best = i;
        }
    }
    return best;
}

static int choose_batch(Search *search, const PointPool *pool, int wanted, int **points) {
    Coverage coverage = coverage_new(search);
    bool *taken = ARENA_ARRAY(search->arena, bool, pool->count + 1);
    double scale = score_spread(pool->scores, pool->count);
    int count = 0, share = search->rounds ? STRUCTURE_SHARE + 1 : 1 + wanted / STRUCTURE_SHARE;
    while (count < wanted) {
        int best = pick(search, pool, &coverage, taken, scale, share);
        if (best < 0 && share <= STRUCTURE_SHARE) {
            share = STRUCTURE_SHARE + 1;
            continue;
        }
        if (best < 0)
            break;
        taken[best] = true;
        cover(search, &coverage, pool->points[best]);
        hash_set_add(&search->seen, pool->hashes[best]);
        points[count++] = pool->points[best];
    }
    for (int level = 0; level < STRUCTURE_SHARE; level++)
        free(coverage.structures[level].slots);
    return count;
}

int propose_anneal(Search *search, int wanted, int **points) {
    PointPool pool = {.capacity = wanted * POOL_FACTOR};
    pool.points = ARENA_ARRAY(search->arena, int *, pool.capacity);
    pool.scores = ARENA_ARRAY(search->arena, float, pool.capacity);
    pool.hashes = ARENA_ARRAY(search->arena, uint64_t, pool.capacity);
    if (search->space->gene_count == 0)
        return search_fill(search, wanted, points, 0);
    walk_chains(search, place_chains(search), &pool);
    int by_chance = (int)(wanted * search->settings[RANDOM_PART] + 0.5);
    int count = choose_batch(search, &pool, wanted - by_chance, points);
    free(pool.members.slots);
    return search_fill(search, wanted, points, count);
}
