/* random.h - seeded pseudo-random numbers (splitmix64): the same on every machine, a stream for each user of them. */
#ifndef LANG_RANDOM_H
#define LANG_RANDOM_H

#include <stdint.h>

typedef struct Random {
    uint64_t state;
} Random;

static inline uint64_t hash_mix(uint64_t value) {
    value = (value ^ (value >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ (value >> 27)) * UINT64_C(0x94d049bb133111eb);
    return value ^ (value >> 31);
}

/* Of a text. Databases keep such values: the same in each version. */
static inline uint64_t hash_text(const char *text) {
    uint64_t hash = 11;
    for (; *text; text++)
        hash = hash_mix(hash ^ (unsigned char)*text) + 0x9e3779b9u;
    return hash;
}

static inline uint64_t random_bits(Random *random) {
    random->state += UINT64_C(0x9e3779b97f4a7c15);
    return hash_mix(random->state);
}

/* As if so many numbers had been drawn. */
static inline void random_skip(Random *random, int count) {
    random->state += UINT64_C(0x9e3779b97f4a7c15) * (uint64_t)count;
}

/* In 0 .. limit - 1; limit is at least 1. */
static inline int64_t random_below(Random *random, int64_t limit) {
    return (int64_t)(random_bits(random) % (uint64_t)limit);
}

/* In [0, 1). */
static inline double random_unit(Random *random) {
    return (double)(random_bits(random) >> 11) * 0x1p-53;
}

#endif
