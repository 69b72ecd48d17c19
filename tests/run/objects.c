/* An application that links objects.tensor, in the common part of C and C++: results, sizes, statuses. */
#include "objects.h"
#include "objects.h" /* twice, on purpose */
#include "tests/tap.h"
#include <stdlib.h>

static const int64_t sizes[] = {0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 64, 101};
enum { SIZES = sizeof sizes / sizeof *sizes };

static float *floats(int64_t count, unsigned seed) {
    float *values = (float *)malloc(sizeof(float) * (size_t)(count + 1));
    for (int64_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        values[i] = (float)(seed >> 16) / 32768.0f - 1.0f;
    }
    values[count] = 12345; /* must survive */
    return values;
}

static bool close_to(double got, double wanted) {
    return fabs(got - wanted) <= 1e-4 * (1 + fabs(wanted));
}

static void test_axpy(void) {
    for (int s = 0; s < SIZES; s++) {
        int64_t n = sizes[s];
        float *x = floats(n, 1), *y = floats(n, 2), *z = floats(n, 3);
        bool right = axpy(n, x, y, 2.5f, z) == 0;
        for (int64_t i = 0; i < n; i++)
            right = right && close_to(z[i], 2.5 * x[i] + y[i]);
        ok(right && z[n] == 12345, "axpy of %d elements, and not one more", (int)n);
        free(x), free(y), free(z);
    }
}

static void check_matmul(int64_t m, int64_t k, int64_t n, bool bound) {
    float *a = floats(m * k, 4), *b = floats(k * n, 5), *c = floats(m * n, 6);
    bool right = (bound ? matmul_33(a, b, c) : matmul(m, k, n, a, b, c)) == 0;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            double sum = 0;
            for (int64_t l = 0; l < k; l++)
                sum += (double)a[i * k + l] * b[l * n + j];
            right = right && close_to(c[i * n + j], sum);
        }
    ok(right && c[m * n] == 12345, "matmul of %d x %d x %d%s", (int)m, (int)k, (int)n, bound ? ", sizes bound" : "");
    free(a), free(b), free(c);
}

static void test_matmul(void) {
    for (int s = 0; s < SIZES; s++)
        check_matmul(sizes[s], sizes[(s + 5) % SIZES], sizes[(s + 8) % SIZES], false);
    check_matmul(33, 17, 47, true);
}

static void test_integers(void) {
    uint8_t a[300];
    int8_t b[300];
    int32_t sum = 0, s = 7;
    for (int i = 0; i < 300; i++) {
        a[i] = (uint8_t)(i * 37);
        b[i] = (int8_t)(i * 91);
        sum += a[i] * b[i];
    }
    ok(dot(300, a, b, &s) == 0 && s == sum, "a product of uint8 and int8 in int32");
    ok(dot(0, a, b, &s) == 0 && s == 0, "an empty sum is 0");
}

static void test_statuses(void) {
    float table[5] = {10, 11, 12, 13, 14}, out[4] = {1, 2, 3, 4};
    int32_t good[4] = {4, 0, 2, 2}, low[4] = {0, -1, 0, 0}, high[4] = {0, 1, 2, 5};
    ok(pick(5, 4, table, low, out) == 2 && out[0] == 1, "a negative index: status 2, nothing written");
    ok(pick(5, 4, table, high, out) == 2 && out[0] == 1, "an index too large: status 2, nothing written");
    ok(pick(5, 4, table, good, out) == 0 && out[0] == 14 && out[1] == 10 && out[3] == 12, "good indices");
    ok(pick_or(5, 4, table, high, out) == 0 && out[2] == 12 && out[3] == -1, "with else nothing fails");
    float like[4] = {0, 0, 0, 0};
    out[0] = 1;
    ok(shifted(5, 4, table, like, out) == 1 && out[0] == 1, "sizes that do not fit: status 1, nothing written");
    ok(shifted(5, 3, table, like, out) == 0 && out[0] == 12 && out[2] == 14, "sizes that just fit");
    ok(axpy(-1, table, table, 1, out) == 1, "a negative size: status 1");
}

static void test_types(void) {
    float x[4] = {1.5f, -2.0f, 0.0f, 65504.0f};
    uint16_t h[4], b[4];
    uint8_t p[4];
    ok(narrow(4, x, h, b, p) == 0, "three results");
    ok(h[0] == 0x3e00 && h[1] == 0xc000 && h[2] == 0 && h[3] == 0x7bff, "half is its bits");
    ok(b[0] == 0x3fc0 && b[1] == 0xc000 && b[2] == 0, "bfloat16 is its bits");
    ok(p[0] == 1 && p[1] == 0 && p[2] == 0 && p[3] == 1, "bool is 0 or 1");
    double d[6] = {3, -1, 2, 7, NAN, 9}, least[2], most[2];
    ok(extremes(2, 3, d, least, most) == 0 && least[0] == -1 && most[0] == 3, "min and max of doubles");
    ok(isnan(least[1]) && isnan(most[1]), "NaN goes through min and max");
    ok(extremes(2, 0, d, least, most) == 0 && isinf(least[0]) && least[0] > 0 && most[0] < 0, "of nothing");
    float in[10] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, y[8] = {0, 0, 0, 0, 0, 0, 0, 99};
    ok(inner(in, y) == 0 && y[0] == 2 && y[6] == 8 && y[7] == 99, "a result that begins at index 2");
}

static void test_softmax(void) {
    for (int s = 0; s < SIZES; s++) {
        int64_t n = 3, d = sizes[s];
        float *x = floats(n * d, 7), *y = floats(n * d, 8);
        bool right = softmax(n, d, x, y) == 0;
        for (int64_t i = 0; i < n; i++) {
            double total = 0;
            for (int64_t j = 0; j < d; j++)
                total += exp(x[i * d + j]);
            for (int64_t j = 0; j < d; j++)
                right = right && close_to(y[i * d + j], exp(x[i * d + j]) / total);
        }
        ok(right && y[n * d] == 12345, "softmax of rows of %d", (int)d);
        free(x), free(y);
    }
}

int main(void) {
    test_axpy();
    test_matmul();
    test_integers();
    test_statuses();
    test_types();
    test_softmax();
    return done_testing();
}
