/* shared.c - a network of 70 equal layers, whose nests are one function, against loops in C: with known sizes and
 * others, in the function's own memory and in a workspace, with weights as they are and packed. All sums are exact.
 */
#include "shared.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LAYERS = 70 };
static int failures;

static void check(int good, const char *what, int n, int d) {
    if (!good)
        printf("%s is wrong for %d rows of %d\n", what, n, d);
    failures += !good;
}

/* From -least to least in no order. */
static float *floats_of(int count, int least) {
    float *data = malloc(sizeof(float) * (size_t)(count + 1));
    for (int i = 0; i < count; i++)
        data[i] = (float)((int)((unsigned)(i + 1) * 2654435761u >> 20) % (2 * least + 1) - least);
    return data;
}

static void *memory(int64_t bytes) {
    return aligned_alloc(64, ((size_t)bytes + 64) / 64 * 64);
}

static void expect(int n, int d, const float *x, const float *w, const float *b, int first, float *y) {
    float *row = malloc(sizeof(float) * (size_t)(d + 1));
    for (int i = 0; i < n * d; i++)
        y[i] = x[i] + (float)first;
    for (int l = 0; l < LAYERS; l++)
        for (int i = 0; i < n; i++) {
            for (int o = 0; o < d; o++) {
                float sum = y[i * d + o] * b[l * d + o];
                for (int r = 0; r < d; r++)
                    sum += y[i * d + r] * w[(l * d + o) * d + r];
                row[o] = sum < -4 ? -4 : sum > 4 ? 4 : sum;
            }
            memcpy(y + i * d, row, sizeof(float) * (size_t)d);
        }
    free(row);
}

typedef struct Case {
    int n, d, first;
    float *x, *w, *b, *y, *expected;
} Case;

static Case case_of(int n, int d) {
    Case c = {n, d, 1, floats_of(n * d, 4), floats_of(LAYERS * d * d, 1), floats_of(LAYERS * d, 2), NULL, NULL};
    c.y = floats_of(n * d, 3);
    c.expected = floats_of(n * d, 3);
    expect(n, d, c.x, c.w, c.b, c.first, c.expected);
    return c;
}

static void compare(Case *c, int status, const char *what) {
    size_t bytes = sizeof(float) * (size_t)(c->n * c->d);
    check(status == 0, "a status", c->n, c->d);
    check(memcmp(c->y, c->expected, bytes) == 0, what, c->n, c->d);
    memset(c->y, 0x5a, bytes);
}

static void release(Case *c) {
    free(c->x), free(c->w), free(c->b), free(c->y), free(c->expected);
}

/* OF: the sizes of the function, WEIGHTS those of the weights, as arguments that others follow. */
#define ARGS(...) __VA_ARGS__
#define TEST(NAME, OF, WEIGHTS, SIZES, WEIGHT_SIZES)                                                                   \
    static void test_##NAME(int n, int d) {                                                                            \
        int64_t N = n, D = d;                                                                                          \
        (void)N, (void)D;                                                                                              \
        Case c = case_of(n, d);                                                                                        \
        void *workspace = memory(NAME##_workspace_size SIZES);                                                         \
        struct NAME##_packed_w *w = memory(NAME##_packed_w_size WEIGHT_SIZES);                                         \
        struct NAME##_packed_b *b = memory(NAME##_packed_b_size WEIGHT_SIZES);                                         \
        struct NAME##_packed *all = memory(NAME##_packed_size WEIGHT_SIZES);                                           \
        int packed = NAME##_pack_w(ARGS WEIGHTS c.w, w) | NAME##_pack_b(ARGS WEIGHTS c.b, b) |                         \
                     NAME##_pack_all(ARGS WEIGHTS c.w, c.b, all);                                                      \
        check(packed == 0, "packing", n, d);                                                                           \
        compare(&c, NAME(ARGS OF c.x, c.w, c.b, c.first, c.y), #NAME);                                                 \
        compare(&c, NAME##_in(workspace, ARGS OF c.x, c.w, c.b, c.first, c.y), #NAME " in a workspace");               \
        compare(&c, NAME##_packed(ARGS OF c.x, w, b, c.first, c.y), #NAME " with packed weights");                     \
        compare(&c, NAME##_packed_all(ARGS OF all, c.x, c.first, c.y), #NAME " with weights in one block");            \
        free(workspace), free(w), free(b), free(all);                                                                  \
        release(&c);                                                                                                   \
    }

TEST(known, (), (), (), ())
TEST(large, (), (), (), ())
TEST(net, (N, D, ), (D, ), (N, D), (D))

int main(void) {
    static const int rows[] = {0, 1, 2, 7, 33}, columns[] = {1, 8, 15, 16, 17, 67};
    test_known(5, 19);
    test_large(200, 64);
    for (size_t n = 0; n < sizeof rows / sizeof *rows; n++)
        for (size_t d = 0; d < sizeof columns / sizeof *columns; d++)
            test_net(rows[n], columns[d]);
    return failures != 0;
}
