/* packed.c - functions with packed const arguments beside the plain ones, over boundary shapes; also as C++. */
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
    check(laid_packed_w_size(5, 17) == 2 * 80 * 4, "laid_packed_w_size", 1, 5, 17);
    return failures != 0;
}
