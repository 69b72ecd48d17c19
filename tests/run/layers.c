/* layers.c - weights of all layers, packed one by one and all in one block: the same results as without packing, to the
 * bit, over boundary shapes. All sums are exact.
 */
#include "layers.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BEYOND = 256 };
static int failures;

static void check(int good, const char *what, int n, int d) {
    if (!good)
        printf("%s is wrong for %d rows of %d\n", what, n, d);
    failures += !good;
}

/* Memory of that size, and bytes beyond it that nobody may change. */
static void *memory(int64_t bytes) {
    unsigned char *made = malloc((size_t)bytes + BEYOND);
    memset(made, 0x5a, (size_t)bytes + BEYOND);
    return made;
}

static void release(void *block, int64_t bytes, const char *what, int n, int d) {
    int untouched = 1;
    for (int i = 0; i < BEYOND; i++)
        untouched &= ((unsigned char *)block)[bytes + i] == 0x5a;
    check(untouched, what, n, d);
    free(block);
}

/* From -least to least in no order. */
static float *floats_of(int count, int least) {
    float *data = malloc(sizeof(float) * (size_t)(count + 1));
    for (int i = 0; i < count; i++)
        data[i] = (float)((int)((unsigned)(i + 1) * 2654435761u >> 20) % (2 * least + 1) - least);
    return data;
}

static void *bytes_of(int count, int low, int high) {
    int8_t *data = malloc((size_t)count + 1);
    for (int i = 0; i < count; i++)
        data[i] = (int8_t)(low + (int)((unsigned)(i + 1) * 2654435761u >> 20) % (high - low + 1));
    return data;
}

static void halve(float *data, int count) {
    for (int i = 0; i < count; i++)
        data[i] = data[i] == 0 ? 1.0f : 0.5f;
}

typedef struct Results {
    float *plain, *packed, *block;
    int n, d;
} Results;

static Results results_of(int n, int d) {
    return (Results){floats_of(n * d, 1), floats_of(n * d, 2), floats_of(n * d, 3), n, d};
}

static void compare(Results *r, int status, const char *what) {
    size_t bytes = sizeof(float) * (size_t)(r->n * r->d);
    check(status == 0, "a status", r->n, r->d);
    check(memcmp(r->plain, r->packed, bytes) == 0, what, r->n, r->d);
    check(memcmp(r->plain, r->block, bytes) == 0, "the block", r->n, r->d);
    free(r->plain), free(r->packed), free(r->block);
}

/* Of a function with the weights w alone. SIZES are those of the function, OF those of w. */
#define ONE(NAME, LAYERS, SIZES, OF)                                                                                   \
    static void test_##NAME(int n, int d) {                                                                            \
        int64_t N = n, D = d, L = n + 4, bytes, all;                                                                   \
        (void)L, (void)N, (void)D;                                                                                     \
        float *x = floats_of(n * d, 3), *w = floats_of((int)(LAYERS)*d * d, 1);                                        \
        Results r = results_of(n, d);                                                                                  \
        struct NAME##_packed_w *p = memory(bytes = NAME##_packed_w_size OF);                                           \
        struct NAME##_packed *b = memory(all = NAME##_packed_size OF);                                                 \
        int status = NAME(SIZES, x, w, r.plain) | NAME##_pack_w(ARGS OF, w, p) | NAME##_pack_all(ARGS OF, w, b) |      \
                     NAME##_packed(SIZES, x, p, r.packed) | NAME##_packed_all(SIZES, b, x, r.block);                   \
        compare(&r, status, #NAME);                                                                                    \
        release(p, bytes, "beyond " #NAME, n, d), release(b, all, "beyond the block", n, d);                           \
        free(x), free(w);                                                                                              \
    }
#define ARGS(...) __VA_ARGS__
#define BOTH N, D
#define THREE N, D, L
ONE(some, n + 4, THREE, (D, L))
ONE(twice, 3, BOTH, (D))
ONE(beside, 2, BOTH, (D))
ONE(whole, 2, BOTH, (D))
ONE(pairs, 4, BOTH, (D))

static void test_floats(int n, int d) {
    float *x = floats_of(n * d, 3), *w = floats_of(3 * d * d, 1), *b = floats_of(3 * d, 9);
    Results r = results_of(n, d);
    int64_t bytes = floats_packed_w_size(d), all = floats_packed_size(d);
    struct floats_packed_w *pw = memory(bytes);
    struct floats_packed_b *pb = memory(floats_packed_b_size(d));
    struct floats_packed *block = memory(all);
    int status = floats(n, d, x, w, b, r.plain) | floats_pack_w(d, w, pw) | floats_pack_b(d, b, pb) |
                 floats_pack_all(d, w, b, block) | floats_packed(n, d, x, pw, pb, r.packed) |
                 floats_packed_all(n, d, block, x, r.block);
    compare(&r, status, "floats");
    release(pw, bytes, "beyond w", n, d), release(block, all, "beyond the block", n, d);
    free(pb), free(x), free(w), free(b);
}

static void test_eights(int n, int d, int blocks) {
    float *x = floats_of(n * d, 3), *s = floats_of(2 * d * blocks, 1);
    int8_t *w = bytes_of(2 * d * d, -1, 1);
    halve(s, 2 * d * blocks);
    Results r = results_of(n, d);
    int64_t all = eights_packed_size(d, blocks), bytes = eights_packed_w_size(d);
    struct eights_packed_w *pw = memory(bytes);
    struct eights_packed_s *ps = memory(eights_packed_s_size(d, blocks));
    struct eights_packed *block = memory(all);
    int status = eights(n, d, blocks, x, w, s, r.plain) | eights_pack_w(d, w, pw) | eights_pack_s(d, blocks, s, ps) |
                 eights_pack_all(d, blocks, w, s, block) | eights_packed(n, d, blocks, x, pw, ps, r.packed) |
                 eights_packed_all(n, d, blocks, block, x, r.block);
    compare(&r, status, "eights");
    release(pw, bytes, "beyond w", n, d), release(block, all, "beyond the block", n, d);
    free(ps), free(x), free(w), free(s);
}

static void test_fours(int n, int d, int blocks) {
    float *x = floats_of(n * d, 3), *s = floats_of(2 * d * blocks, 1), *z = floats_of(2 * d * blocks, 8);
    uint8_t *w = bytes_of(d * d, -128, 127);
    halve(s, 2 * d * blocks);
    Results r = results_of(n, d);
    int64_t all = fours_packed_size(d, d / 2, blocks), bytes = fours_packed_w_size(d, d / 2);
    struct fours_packed_w *pw = memory(bytes);
    struct fours_packed_s *ps = memory(fours_packed_s_size(d, blocks));
    struct fours_packed_z *pz = memory(fours_packed_z_size(d, blocks));
    struct fours_packed *block = memory(all);
    int status = fours(n, d, d / 2, blocks, x, w, s, z, r.plain) | fours_pack_w(d, d / 2, w, pw) |
                 fours_pack_s(d, blocks, s, ps) | fours_pack_z(d, blocks, z, pz) |
                 fours_pack_all(d, d / 2, blocks, w, s, z, block) |
                 fours_packed(n, d, d / 2, blocks, x, pw, ps, pz, r.packed) |
                 fours_packed_all(n, d, d / 2, blocks, block, x, r.block);
    compare(&r, status, "fours");
    release(pw, bytes, "beyond w", n, d), release(block, all, "beyond the block", n, d);
    free(ps), free(pz), free(x), free(w), free(s), free(z);
}

int main(void) {
    static const int rows[] = {0, 1, 2, 7}, widths[] = {0, 1, 2, 15, 16, 17, 31, 32, 33, 64, 67};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t k = 0; k < sizeof widths / sizeof *widths; k++) {
            int n = rows[i], d = widths[k];
            test_floats(n, d), test_some(n, d), test_twice(n, d), test_beside(n, d), test_whole(n, d), test_pairs(n, d);
            test_eights(n, d, 1), test_eights(n, d, d > 0 ? d : 2);
            if (d % 2 == 0)
                test_fours(n, d, 1), test_fours(n, d, d > 0 ? d / 2 : 2);
        }
    test_eights(5, 96, 3), test_fours(5, 96, 3);
    check(some_packed_w_size(64, 2) == 0 && some_packed_w_size(64, 3) > 0, "the size of what has no such layer", 0, 64);
    check(some_pack_w(64, 2, NULL, NULL) == TENSORC_BAD_SIZE, "its status", 0, 64);
    return failures != 0;
}
