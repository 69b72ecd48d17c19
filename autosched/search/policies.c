/* policies.c - the table of search policies, and the memory of a search. */
#include "autosched/search/policies.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { RANDOM_TRIES = 200, FIRST_SLOTS = 256, SHARE_POINTS = 12 /* at least, for a thread */ };

/* --- sets of hashes --- */

/* 0 marks an empty slot. */
static int slot_of(const HashSet *set, uint64_t hash) {
    int slot = (int)(hash_mix(hash) & (uint64_t)(set->capacity - 1));
    while (set->slots[slot] && set->slots[slot] != hash)
        slot = (slot + 1) & (set->capacity - 1);
    return slot;
}

bool hash_set_has(const HashSet *set, uint64_t hash) {
    return set->capacity > 0 && set->slots[slot_of(set, hash | 1)] != 0;
}

static void hash_set_grow(HashSet *set) {
    HashSet larger = {.capacity = set->capacity ? set->capacity * 2 : FIRST_SLOTS};
    larger.slots = memory_given(calloc((size_t)larger.capacity, sizeof *larger.slots));
    ENSURE(larger.slots);
    for (int s = 0; s < set->capacity; s++)
        if (set->slots[s])
            larger.slots[slot_of(&larger, set->slots[s])] = set->slots[s];
    larger.count = set->count;
    free(set->slots);
    *set = larger;
}

void hash_set_add(HashSet *set, uint64_t hash) {
    if (set->count * 2 >= set->capacity)
        hash_set_grow(set);
    int slot = slot_of(set, hash | 1);
    set->count += set->slots[slot] == 0;
    set->slots[slot] = hash | 1;
}

/* --- points --- */

bool search_is_new(const Search *search, const int *point) {
    return !hash_set_has(&search->seen, point_hash(search->space, point));
}

bool search_is_legal(Search *search, const int *point) {
    Arena *scratch = arena_new();
    bool legal = point_plausible(search->space, point) && point_nest(scratch, search->space, point, -1);
    arena_free(scratch);
    return legal;
}

int *search_copy(Search *search, const int *point) {
    int count = search->space->gene_count, *copy = ARENA_ARRAY(search->arena, int, count + 1);
    memcpy(copy, point, sizeof *copy * (size_t)count);
    return copy;
}

/* A share of the points to score, for one thread, which builds nests in its own arena. */
typedef struct ScoringShare {
    const Search *search;
    Arena *scratch;
    int *const *points;
    int count;
    float *features;
    bool *refused;
} ScoringShare;

static void *extract_share(void *argument) {
    const ScoringShare *share = argument;
    size_t length = (size_t)feature_count();
    for (int i = 0; i < share->count; i++) {
        arena_reset(share->scratch);
        Nest *nest = point_nest(share->scratch, share->search->space, share->points[i], -1);
        share->refused[i] = !nest;
        if (nest)
            features_extract(share->scratch, nest, share->features + (size_t)i * length);
        else
            memset(share->features + (size_t)i * length, 0, sizeof *share->features * length);
    }
    return NULL;
}

/* Makes all sketches before threads start, so that threads only find them. */
static void make_sketches(Space *space, int *const *points, int count) {
    for (int i = 0; i < count; i++)
        for (int g = 0; g < space->groups.count; g++)
            group_sketch(space, space->groups.items[g], points[i] + space->groups.items[g]->first_gene);
}

static Arena *scratch_of(Search *search, int thread) {
    while (search->scratch.count <= thread)
        list_push(search->arena, &search->scratch, arena_new());
    return search->scratch.items[thread];
}

/* Features of all points, in as many threads as pay. What gets no thread is done here. */
static void extract_all(Search *search, int *const *points, int count, float *features, bool *refused) {
    int jobs = search->jobs < count / SHARE_POINTS ? search->jobs : count / SHARE_POINTS;
    jobs = jobs > 1 ? jobs : 1;
    ScoringShare shares[jobs];
    pthread_t threads[jobs];
    bool started[jobs];
    make_sketches(search->space, points, count);
    for (int j = 0; j < jobs; j++) {
        int first = count * j / jobs, last = count * (j + 1) / jobs;
        shares[j] = (ScoringShare){search,
                                   scratch_of(search, j),
                                   points + first,
                                   last - first,
                                   features + (size_t)first * (size_t)feature_count(),
                                   refused + first};
    }
    for (int j = 1; j < jobs; j++)
        started[j] = !pthread_create(&threads[j], NULL, extract_share, &shares[j]);
    extract_share(&shares[0]);
    for (int j = 1; j < jobs; j++)
        if (started[j])
            pthread_join(threads[j], NULL);
        else
            extract_share(&shares[j]);
}

void search_score(Search *search, int *const *points, int count, float *scores) {
    float *features = memory_given(malloc(sizeof *features * (size_t)feature_count() * (size_t)(count + 1)));
    bool *refused = memory_given(calloc((size_t)count + 1, sizeof *refused));
    ENSURE(features && refused);
    extract_all(search, points, count, features, refused);
    model_predict(search->model, features, count, scores);
    for (int i = 0; i < count; i++)
        if (refused[i])
            scores[i] = -HUGE_VALF;
    free(refused);
    free(features);
}

int search_fill(Search *search, int wanted, int **points, int count) {
    int *point = ARENA_ARRAY(search->arena, int, search->space->gene_count + 1);
    for (int attempt = 0; attempt < RANDOM_TRIES && count < wanted; attempt++) {
        point_random(search->space, &search->random, point);
        if (!search_is_new(search, point) || !search_is_legal(search, point))
            continue;
        hash_set_add(&search->seen, point_hash(search->space, point));
        points[count++] = search_copy(search, point);
    }
    return count;
}

int search_fastest(const Search *search, int limit, const int **points) {
    double times[limit + 1];
    int count = 0;
    for (int i = 0; i < search->measured; i++) {
        double seconds = search->seconds.items[i];
        if (!search->points.items[i] || seconds == HUGE_VAL || (count == limit && seconds >= times[limit - 1]))
            continue;
        int place = count < limit ? count++ : limit - 1;
        for (; place > 0 && times[place - 1] > seconds; place--) {
            times[place] = times[place - 1];
            points[place] = points[place - 1];
        }
        times[place] = seconds;
        points[place] = search->points.items[i];
    }
    return count;
}

/* --- policies --- */

static const SearchPolicy policies[] = {
#define POLICY(name, summary) {#name, propose_##name},
#include "autosched/search/policies.def"
#undef POLICY
};

const NamedChoice search_policies[] = {
#define POLICY(name, summary) {#name, summary, name##_settings},
#include "autosched/search/policies.def"
#undef POLICY
    {NULL, NULL, NULL}};

/* --- a search --- */

Search *search_open(Arena *arena, Space *space, CostModel *model, const char *policy, uint64_t seed) {
    int row;
    double *settings;
    if (choice_read(arena, policy, search_policies, &row, &settings))
        return NULL;
    Search *search = ARENA_NEW(arena, Search);
    *search = (Search){.arena = arena,
                       .space = space,
                       .model = model,
                       .policy = &policies[row],
                       .settings = settings,
                       .random = {seed},
                       .jobs = 1};
    return search;
}

bool search_is_cold(const char *policy) {
    Arena *scratch = arena_new();
    int row;
    double *settings;
    bool cold = !choice_read(scratch, policy, search_policies, &row, &settings) && settings[SEARCH_COLD];
    arena_free(scratch);
    return cold;
}

void search_close(Search *search) {
    if (!search)
        return;
    for (int i = 0; i < search->scratch.count; i++)
        arena_free(search->scratch.items[i]);
    free(search->seen.slots);
}

void search_tell(Search *search, const int *point, const float *features, double seconds) {
    model_tell(search->model, features, seconds);
    list_push(search->arena, &search->points, point ? search_copy(search, point) : NULL);
    list_push(search->arena, &search->seconds, seconds);
    search->measured++;
    if (point)
        hash_set_add(&search->seen, point_hash(search->space, point));
}

void search_learn(Search *search) {
    model_learn(search->model);
}

int search_propose(Search *search, int wanted, int **points) {
    int count = search->policy->propose(search, wanted, points);
    search->rounds++;
    return count;
}
