/* evolve.c - evolutionary search with the cost model as fitness (Ansor section 5).
 *
 * Each round begins with the fastest measured points, -O2's where the search is not cold, and random ones. A child is
 * mutated from one parent, or crossed of two and mutated: by node alone two parents always have the same child, and the
 * population soon has nothing new. Parents are drawn in proportion to their predicted throughput. The nest
 * verifies each child: one that it refuses is counted and thrown away. The best points of all generations that were
 * not measured are proposed, and a few random ones.
 */
#include "autosched/search/policies.h"

#include <math.h>
#include <string.h>

enum { CROSSOVER = SEARCH_SETTINGS, POPULATION, GENERATIONS, CROSSED, RANDOM_PART };
enum { CROSS_NODE, CROSS_UNIFORM, CROSS_NONE };
static const char *const crossovers[] = {"node", "uniform", "none", NULL};
const Setting evolve_settings[] = {
    COMMON_SETTINGS,
    [CROSSOVER] = {"crossover", SETTING_WORD, CROSS_NODE, 0, 0,
                   "node: each node of the graph from the parent where its score is better; uniform: each gene from "
                   "either; none: children are only mutated",
                   crossovers},
    [POPULATION] = {"population", SETTING_COUNT, 128, 4, 65536, "points of a generation"},
    [GENERATIONS] = {"generations", SETTING_COUNT, 16, 1, 1000000, "of a round"},
    [CROSSED] = {"crossed", SETTING_REAL, 0.3, 0, 1, "part of the children that are crossed before they are mutated"},
    [RANDOM_PART] = {"random", SETTING_REAL, 0.08, 0, 1, "part of a batch that is drawn evenly"},
    END_OF_SETTINGS};

typedef struct RankedPoint {
    int *point;
    float score;
    uint64_t hash;
    float *nodes; /* scores of its nodes; NULL: not asked yet */
} RankedPoint;

/* The best members, best first; each point once. */
typedef struct Ranking {
    int count, capacity;
    RankedPoint *members;
} Ranking;

typedef struct Evolution {
    Search *search;
    Arena *arena; /* of the round */
    const Nodes *nodes;
    Ranking population, fresh; /* all; those that were not measured */
} Evolution;

static void ranking_add(Ranking *ranking, RankedPoint member) {
    bool full = ranking->count == ranking->capacity;
    if (member.score == -HUGE_VALF || (full && member.score <= ranking->members[ranking->count - 1].score))
        return;
    for (int m = 0; m < ranking->count; m++)
        if (ranking->members[m].hash == member.hash)
            return;
    int place = full ? ranking->count - 1 : ranking->count++;
    for (; place > 0 && ranking->members[place - 1].score < member.score; place--)
        ranking->members[place] = ranking->members[place - 1];
    ranking->members[place] = member;
}

/* Scores points and ranks them. Returns how many are not legal. */
static int rank_points(Evolution *evolution, int **points, int count) {
    Search *search = evolution->search;
    float *scores = ARENA_ARRAY(evolution->arena, float, count + 1);
    int refused = 0;
    search_score(search, points, count, scores);
    for (int i = 0; i < count; i++) {
        RankedPoint member = {points[i], scores[i], point_hash(search->space, points[i]), NULL};
        ranking_add(&evolution->population, member);
        if (search_is_new(search, points[i]))
            ranking_add(&evolution->fresh, member);
        refused += scores[i] == -HUGE_VALF;
    }
    return refused;
}

static int *new_point(const Evolution *evolution) {
    return ARENA_ARRAY(evolution->arena, int, evolution->search->space->gene_count + 1);
}

static void begin(Evolution *evolution, int size) {
    Search *search = evolution->search;
    int **points = ARENA_ARRAY(evolution->arena, int *, size);
    const int **fastest = ARENA_ARRAY(evolution->arena, const int *, size);
    int known = search_fastest(search, size / 4, fastest);
    for (int i = 0; i < size; i++) {
        points[i] = new_point(evolution);
        if (i < known)
            memcpy(points[i], fastest[i], sizeof *points[i] * (size_t)search->space->gene_count);
        else if (i == known && !search->settings[SEARCH_COLD])
            point_start(search->space, points[i]);
        else
            point_random(search->space, &search->random, points[i]);
    }
    rank_points(evolution, points, size);
}

/* A member, in proportion to its throughput. */
static RankedPoint *select_parent(Evolution *evolution) {
    Ranking *population = &evolution->population;
    double sum = 0, best = population->members[0].score;
    for (int m = 0; m < population->count; m++)
        sum += exp2(population->members[m].score - best);
    double drawn = random_unit(&evolution->search->random) * sum;
    for (int m = 0; m < population->count; m++)
        if ((drawn -= exp2(population->members[m].score - best)) < 0)
            return &population->members[m];
    return &population->members[0];
}

static Parent as_parent(Evolution *evolution, RankedPoint *member) {
    if (!member->nodes) {
        member->nodes = ARENA_ARRAY(evolution->arena, float, evolution->nodes->nodes.count + 1);
        node_scores(evolution->search, evolution->nodes, member->point, member->nodes);
    }
    return (Parent){member->point, member->nodes};
}

static void make_child(Evolution *evolution, int *child) {
    Search *search = evolution->search;
    Space *space = search->space;
    int crossover = (int)search->settings[CROSSOVER];
    RankedPoint *one = select_parent(evolution);
    memcpy(child, one->point, sizeof *child * (size_t)space->gene_count);
    if (crossover != CROSS_NONE && random_unit(&search->random) < search->settings[CROSSED]) {
        RankedPoint *other = select_parent(evolution);
        if (crossover == CROSS_NODE)
            cross_nodes(search, evolution->nodes, as_parent(evolution, one), as_parent(evolution, other), child);
        else
            point_cross(space, &search->random, one->point, other->point, child);
    }
    point_mutate_by(space, &search->random, -1, child);
}

static void next_generation(Evolution *evolution, int size) {
    int **points = ARENA_ARRAY(evolution->arena, int *, size);
    for (int i = 0; i < size; i++) {
        points[i] = new_point(evolution);
        make_child(evolution, points[i]);
    }
    evolution->search->made += size;
    evolution->search->refused += rank_points(evolution, points, size);
}

static Ranking ranking_new(Arena *arena, int capacity) {
    return (Ranking){.capacity = capacity, .members = ARENA_ARRAY(arena, RankedPoint, capacity + 1)};
}

int propose_evolve(Search *search, int wanted, int **points) {
    if (search->space->gene_count == 0)
        return search_fill(search, wanted, points, 0);
    int size = (int)search->settings[POPULATION], count = 0;
    int by_chance = (int)(wanted * search->settings[RANDOM_PART] + 0.5);
    Evolution evolution = {.search = search, .arena = arena_new()};
    evolution.nodes = nodes_new(evolution.arena, search->space);
    evolution.population = ranking_new(evolution.arena, size);
    evolution.fresh = ranking_new(evolution.arena, wanted);
    begin(&evolution, size);
    for (int g = 0; g < (int)search->settings[GENERATIONS] && evolution.population.count; g++)
        next_generation(&evolution, size);
    for (; count < evolution.fresh.count && count < wanted - by_chance; count++) {
        points[count] = search_copy(search, evolution.fresh.members[count].point);
        hash_set_add(&search->seen, evolution.fresh.members[count].hash);
    }
    arena_free(evolution.arena);
    return search_fill(search, wanted, points, count);
}
