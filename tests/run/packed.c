/* packed.c - functions with packed const arguments, each by itself and all in one block, beside the plain ones, over
 * boundary shapes; also as C++.
 */
#include "packed.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

static void check(int good, const char *what, int m, int k, int n) {
    if (!good)
        printf("%s is wrong for %d %d %d\n", what, m, k, n);
    failures += !good;
}

enum { BEYOND = 256 };

/* Memory of that size, and bytes beyond it that nobody may change. */
static unsigned char *packed(int64_t bytes) {
    unsigned char *memory = (unsigned char *)malloc((size_t)bytes + BEYOND);
    memset(memory, 0x5a, (size_t)bytes + BEYOND);
    return memory;
}

static int is_untouched(const unsigned char *memory, int64_t bytes) {
    for (int i = 0; i < BEYOND; i++)
        if (memory[bytes + i] != 0x5a)
            return 0;
    return 1;
}

typedef struct Case {
    int m, k, n;
    float *a, *w, *b, *wanted, *found;
} Case;

static float *floats(int count, int modulus) {
    float *data = (float *)malloc(sizeof(float) * (size_t)(count + 1));
    for (int i = 0; i < count; i++)
        data[i] = (float)(i % modulus - modulus / 2);
    return data;
}

static Case make(int m, int k, int n) {
    Case c = {m, k, n, floats(m * k, 7), floats(k * n, 5), floats(n, 3), floats(m * n, 1), floats(m * n, 1)};
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            c.wanted[i * n + j] = c.b[j];
            for (int l = 0; l < k; l++)
                c.wanted[i * n + j] += c.a[i * k + l] * c.w[l * n + j];
        }
    return c;
}

static int is_right(const Case *c) {
    return memcmp(c->wanted, c->found, sizeof(float) * (size_t)(c->m * c->n)) == 0;
}

/* Aligned to 64 bytes; what of it is never written is 0x5a. */
static unsigned char *block_of(int64_t bytes) {
    return (unsigned char *)memset(aligned_alloc(64, ((size_t)bytes + BEYOND + 63) / 64 * 64), 0x5a,
                                   (size_t)bytes + BEYOND);
}

/* The block is as large as its parts at multiples of 64 bytes, w first. */
static int is_block(const unsigned char *block, int64_t bytes, const unsigned char *w, int64_t w_bytes,
                    const unsigned char *b, int64_t b_bytes) {
    int64_t at = (w_bytes + 63) / 64 * 64;
    return bytes == at + (b_bytes + 63) / 64 * 64 && memcmp(block, w, (size_t)w_bytes) == 0 &&
           memcmp(block + at, b, (size_t)b_bytes) == 0 && is_untouched(block, bytes);
}

/* All const arguments in one block, beside w and b by themselves. */
#define TOGETHER(NAME)                                                                                                 \
    static void together_##NAME(const Case *c, const unsigned char *w, const unsigned char *b) {                       \
        int m = c->m, k = c->k, n = c->n;                                                                              \
        unsigned char *block = block_of(NAME##_packed_size(k, n));                                                     \
        struct NAME##_packed *to = (struct NAME##_packed *)block;                                                      \
        check(NAME##_pack_all(k, n, c->w, c->b, to) == 0, #NAME "_pack_all", m, k, n);                                 \
        check(is_block(block, NAME##_packed_size(k, n), w, NAME##_packed_w_size(k, n), b, NAME##_packed_b_size(n)),    \
              "the block of " #NAME, m, k, n);                                                                         \
        memset(c->found, 0, sizeof(float) * (size_t)(m * n));                                                          \
        check(NAME##_packed_all(m, k, n, to, c->a, c->found) == 0 && is_right(c), #NAME "_packed_all", m, k, n);       \
        memset(c->found, 0, sizeof(float) * (size_t)(m * n));                                                          \
        void *workspace = malloc(NAME##_packed_workspace_size(m, k, n) + 1);                                           \
        check(NAME##_packed_all_in(workspace, m, k, n, to, c->a, c->found) == 0 && is_right(c),                        \
              #NAME "_packed_all_in", m, k, n);                                                                        \
        free(workspace);                                                                                               \
        free(block);                                                                                                   \
    }
TOGETHER(dense)
TOGETHER(scheduled)
TOGETHER(laid)
TOGETHER(versions)

#define ALL_OF(NAME)                                                                                                   \
    static void all_of_##NAME(const Case *c) {                                                                         \
        int m = c->m, k = c->k, n = c->n;                                                                              \
        unsigned char *w = packed(NAME##_packed_w_size(k, n)), *b = packed(NAME##_packed_b_size(n));                   \
        struct NAME##_packed_w *packed_w = (struct NAME##_packed_w *)w;                                                \
        struct NAME##_packed_b *packed_b = (struct NAME##_packed_b *)b;                                                \
        check(NAME(m, k, n, c->a, c->w, c->b, c->found) == 0 && is_right(c), #NAME, m, k, n);                          \
        check(NAME##_pack_w(k, n, c->w, packed_w) == 0 && NAME##_pack_b(n, c->b, packed_b) == 0, #NAME "_pack", m, k,  \
              n);                                                                                                      \
        memset(c->found, 0, sizeof(float) * (size_t)(m * n));                                                          \
        check(is_untouched(w, NAME##_packed_w_size(k, n)) && is_untouched(b, NAME##_packed_b_size(n)),                 \
              #NAME "_packed_size", m, k, n);                                                                          \
        check(NAME##_packed(m, k, n, c->a, packed_w, packed_b, c->found) == 0 && is_right(c), #NAME "_packed", m, k,   \
              n);                                                                                                      \
        together_##NAME(c, w, b);                                                                                      \
        free(w);                                                                                                       \
        free(b);                                                                                                       \
    }
ALL_OF(dense)
ALL_OF(scheduled)
ALL_OF(laid)
ALL_OF(versions)

static void all_of_known(void) {
    Case c = make(5, 19, 33);
    struct known_packed_w *w = (struct known_packed_w *)packed(known_packed_w_size());
    struct known_packed_b *b = (struct known_packed_b *)packed(known_packed_b_size());
    check(known(c.a, c.w, c.b, c.found) == 0 && is_right(&c), "known", 5, 19, 33);
    check(known_pack_w(c.w, w) == 0 && known_pack_b(c.b, b) == 0, "known_pack", 5, 19, 33);
    memset(c.found, 0, sizeof(float) * 5 * 33);
    check(known_packed(c.a, w, b, c.found) == 0 && is_right(&c), "known_packed", 5, 19, 33);
    struct known_packed *block = (struct known_packed *)block_of(known_packed_size());
    memset(c.found, 0, sizeof(float) * 5 * 33);
    check(known_pack_all(c.w, c.b, block) == 0, "known_pack_all", 5, 19, 33);
    check(known_packed_all(block, c.a, c.found) == 0 && is_right(&c), "known_packed_all", 5, 19, 33);
}

/* What is packed stands first and last among arguments of other kinds, of which two are scalars. */
static void all_of_mixed(void) {
    float u[] = {1, 2, 3}, x[] = {10, 20, 30, 40, 50, 60}, v[] = {7, 8}, found[6];
    int8_t w[] = {1, -1, 2};
    struct mixed_packed *block = (struct mixed_packed *)block_of(mixed_packed_size(3, 2));
    check(mixed_pack_all(3, 2, u, w, v, block) == 0, "mixed_pack_all", 2, 3, 0);
    check(mixed_packed_all(3, 2, 2, block, 100, x, 2.5f, found) == 0, "mixed_packed_all", 2, 3, 0);
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 3; j++) {
            float wanted = 100 + x[3 * i + j] * u[j] * (float)w[j] + 2.5f * (v[0] + v[1]);
            check(found[3 * i + j] == wanted, "mixed", i, j, 0);
        }
    free(block);
}

/* Nothing is written for sizes that are refused, nor for empty arguments. */
static void refused_together(void) {
    unsigned char *block = block_of(64);
    struct dense_packed *to = (struct dense_packed *)block;
    float x[4] = {0, 0, 0, 0}, y[4];
    check(dense_packed_size(4, -1) == 0 && dense_packed_size(-1, 4) == 0, "the size of all", -1, -1, -1);
    check(dense_pack_all(-1, 4, x, x, to) == TENSORC_BAD_SIZE, "all with a negative size", 1, -1, 4);
    check(dense_packed_all(1, -1, 4, to, x, y) == TENSORC_BAD_SIZE, "a call with a negative size", 1, -1, 4);
    check(dense_packed_all(-1, 1, 4, to, x, y) == TENSORC_BAD_SIZE, "a call with another one", -1, 1, 4);
    check(dense_packed_size(0, 0) == 0 && dense_pack_all(0, 0, x, x, to) == 0, "empty ones", 1, 0, 0);
    int64_t size = INT64_C(1) << 40, rest = INT64_C(1) << 20;
    struct halves_packed *halves = (struct halves_packed *)block;
    check(halves_packed_w_size(size, rest) == INT64_C(1) << 62, "the size of one half", 0, 0, 0);
    check(halves_packed_v_size(size, rest) == INT64_C(1) << 62, "that of the other", 0, 0, 0);
    check(halves_packed_size(size, rest) == 0, "that of both", 0, 0, 0);
    check(halves_pack_all(size, rest, x, x, halves) == TENSORC_BAD_SIZE, "halves_pack_all", 0, 0, 0);
    check(halves_packed_all(size, rest, halves, y) == TENSORC_BAD_SIZE, "halves_packed_all", 0, 0, 0);
    check(is_untouched(block, 0), "memory for nothing", 0, 0, 0);
    free(block);
}

static void all_of_gathered(void) {
    float table[20], rows[6];
    int32_t ids[] = {3, 0, 9}, wrong[] = {3, 10, 0};
    for (int i = 0; i < 20; i++)
        table[i] = (float)i;
    struct gathered_packed_ids *packed_ids = (struct gathered_packed_ids *)packed(gathered_packed_ids_size(3));
    check(gathered_pack_ids(3, ids, packed_ids) == 0, "gathered_pack", 10, 2, 3);
    check(gathered_packed(10, 2, 3, table, packed_ids, rows) == 0 && rows[0] == 6 && rows[5] == 19, "gathered_packed",
          10, 2, 3);
    gathered_pack_ids(3, wrong, packed_ids);
    check(gathered_packed(10, 2, 3, table, packed_ids, rows) == TENSORC_BAD_INDEX, "gathered_packed", 10, 2, 3);
}

/* What is read of w has a size that w has not. */
static void all_of_part(void) {
    float x[] = {1, 2, 3, 4, 5, 6}, w[] = {1, 10, 100, 1000}, found[2];
    struct part_packed_w *packed_w = (struct part_packed_w *)packed(part_packed_w_size(4));
    check(part_pack_w(4, w, packed_w) == 0, "part_pack", 2, 3, 4);
    check(part_packed(2, 3, 4, x, packed_w, found) == 0 && found[0] == 321 && found[1] == 654, "part_packed", 2, 3, 4);
}

int main(void) {
    static const int shapes[][3] = {{1, 1, 1}, {4, 7, 15}, {5, 8, 16},  {3, 9, 17},   {0, 4, 4},
                                    {4, 0, 5}, {4, 4, 0},  {2, 3, 100}, {17, 31, 64}, {16, 64, 128}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        Case c = make(shapes[i][0], shapes[i][1], shapes[i][2]);
        all_of_dense(&c);
        all_of_scheduled(&c);
        all_of_laid(&c);
        all_of_versions(&c);
        free(c.a), free(c.w), free(c.b), free(c.wanted), free(c.found);
    }
    all_of_known();
    all_of_gathered();
    all_of_mixed();
    refused_together();
    check(dense_pack_w(-2, 3, NULL, NULL) == TENSORC_BAD_SIZE, "a negative size", 1, -2, 3);
    check(dense_packed_w_size(-3, 4) == 0, "the size for a negative size", 2, -3, 4);
    check(bounded_packed_w_size(1) == 0, "the size of a negative shape", 3, 4, 1);
    check(bounded_pack_w(1, NULL, NULL) == TENSORC_BAD_SIZE, "a negative shape", 3, 4, 1);
    check(bounded_packed_w_size(9) == 4 * 5, "the size of a shape", 3, 4, 9);
    all_of_part();
    int64_t large = (int64_t)1 << 40;
    check(dense_pack_w(large, large, NULL, NULL) == TENSORC_BAD_SIZE, "a size beyond 2^63 bytes", 2, large, large);
    check(dense_packed_w_size(large, large) == 0, "the size beyond 2^63 bytes", 2, large, large);
    /* ceil(17 / 16) panels, the first at an offset of 16 modulo 64 elements */
#ifdef __x86_64__ /* that the schedule is for */
    check(laid_packed_w_size(5, 17) == 2 * 80 * 4, "laid_packed_w_size", 1, 5, 17);
#endif
    return failures != 0;
}
