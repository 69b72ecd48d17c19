/* rounds.c - calls the functions of rounds.tensor for many sizes, with inputs at both ends of pages that nothing may
 * read beyond, and compares with plain loops.
 */
#include "rounds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int64_t n, m, wrong;
static char *pages;       /* between two pages that cannot be read */
static size_t page_bytes; /* of them */
static float kernel[15], *result;

static int64_t round_to(int64_t i, int64_t size) {
    return ((i % size) + size) % size;
}

static int64_t held(int64_t i, int64_t size) {
    return i < 0 ? 0 : i < size ? i : size - 1;
}

static int64_t reflected_to(int64_t i, int64_t size) {
    int64_t period = size > 1 ? 2 * (size - 1) : 1, forward = round_to(i, period);
    return forward < size ? forward : period - forward;
}

static void *input(size_t bytes, int at_end) {
    return at_end ? pages + page_bytes - bytes : pages;
}

static void differs(const char *name, int64_t i, int64_t j, double found, double wanted) {
    if (wrong++ < 5)
        printf("%s for %ld x %ld: %g at (%ld, %ld), should be %g\n", name, (long)n, (long)m, found, (long)i, (long)j,
               wanted);
}

static void check(const char *name, int status, float (*wanted)(const float *x, int64_t i, int64_t j), const float *x) {
    wrong += status != 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < m; j++) {
            float found = result[i * m + j], value = wanted(x, i, j), gap = found - value;
            if (gap > 1e-4f || gap < -1e-4f || found != found)
                differs(name, i, j, found, value);
        }
    if (result[n * m] != 77)
        differs(name, n, 0, result[n * m], 77);
}

static float wrapped_at(const float *x, int64_t i, int64_t j) {
    return x[i * m + round_to(j + 3, m)] * 2 + x[round_to(i - 1, n) * m + round_to(j - 2, m)];
}

static float edged_at(const float *x, int64_t i, int64_t j) {
    return x[i * m + held(j + 3, m)] * 2 + x[held(i - 1, n) * m + held(j - 2, m)];
}

static float rolled_at(const float *x, int64_t i, int64_t j) {
    return x[i * m + round_to(j - 21, m)];
}

static float far_at(const float *x, int64_t i, int64_t j) {
    return x[(n - 1 - i) * m + round_to(j + 37, m)];
}

static float shorter_at(const float *x, int64_t i, int64_t j) {
    return x[(i + j) % 5];
}

static float reflected_at(const float *x, int64_t i, int64_t j) {
    return x[i * m + reflected_to(j + 3, m)] * 2 + x[reflected_to(i - 1, n) * m + reflected_to(j - 2, m)];
}

static float far_reflected_at(const float *x, int64_t i, int64_t j) {
    return x[i * m + reflected_to(j + 40, m)];
}

static float sum_at(const float *x, int64_t i, int64_t j, int64_t (*inside)(int64_t i, int64_t size)) {
    float sum = 0;
    for (int p = 0; p < 3; p++)
        for (int q = 0; q < 5; q++)
            sum += x[inside(i + p - 1, n) * m + inside(j + q - 2, m)] * kernel[p * 5 + q];
    return sum;
}

static float summed_at(const float *x, int64_t i, int64_t j) {
    return sum_at(x, i, j, round_to);
}

static float reflected_sum_at(const float *x, int64_t i, int64_t j) {
    return sum_at(x, i, j, reflected_to);
}

static float edged_sum_at(const float *x, int64_t i, int64_t j) {
    return sum_at(x, i, j, held);
}

static void check_reflected_bytes(const unsigned char *x, const unsigned char *y) {
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < m; j++) {
            unsigned char most = 0;
            for (int p = -1; p < 2; p++)
                for (int q = -1; q < 2; q++) {
                    unsigned char own = x[reflected_to(i + p, n) * m + reflected_to(j + q, m)];
                    most = own > most ? own : most;
                }
            if (y[i * m + j] != most)
                differs("reflected_bytes", i, j, y[i * m + j], most);
        }
}

static void check_bytes(const unsigned char *x, const unsigned char *y) {
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < m; j++)
            if (y[i * m + j] != x[i * m + round_to(j + 37, m)])
                differs("bytes", i, j, y[i * m + j], x[i * m + round_to(j + 37, m)]);
}

static void check_wide(const double *x, const double *y) {
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < m; j++)
            if (y[i * m + j] != x[i * m + round_to(j - 5, m)])
                differs("wide", i, j, y[i * m + j], x[i * m + round_to(j - 5, m)]);
}

static void call_all(int at_end) {
    size_t elements = (size_t)(n * m);
    float *x = input(elements * sizeof *x, at_end);
    for (size_t e = 0; e < elements; e++)
        x[e] = (float)(e % 97) - 40;
    result[elements] = 77; /* behind the result */
    check("wrapped", wrapped(n, m, x, result), wrapped_at, x);
    check("edged", edged(n, m, x, result), edged_at, x);
    check("rolled", rolled(n, m, x, -21, result), rolled_at, x);
    check("far", far(n, m, x, result), far_at, x);
    check("summed", summed(n, m, x, kernel, result), summed_at, x);
    check("reflected", reflected(n, m, x, result), reflected_at, x);
    check("far_reflected", far_reflected(n, m, x, result), far_reflected_at, x);
    check("reflected_sum", reflected_sum(n, m, x, kernel, result), reflected_sum_at, x);
    check("edged_sum", edged_sum(n, m, x, kernel, result), edged_sum_at, x);
    float *few = input(5 * sizeof *few, at_end);
    for (int e = 0; e < 5; e++)
        few[e] = (float)e * 3 - 4;
    check("shorter", shorter(5, n, m, few, result), shorter_at, few);
    unsigned char *b = input(elements, at_end);
    for (size_t e = 0; e < elements; e++)
        b[e] = (unsigned char)(e * 7);
    wrong += bytes(n, m, b, (unsigned char *)result) != 0;
    check_bytes(b, (unsigned char *)result);
    wrong += reflected_bytes(n, m, b, (unsigned char *)result) != 0;
    check_reflected_bytes(b, (unsigned char *)result);
    double *d = input(elements * sizeof *d, at_end);
    for (size_t e = 0; e < elements; e++)
        d[e] = (double)e;
    wrong += wide(n, m, d, (double *)result) != 0;
    check_wide(d, (double *)result);
}

int main(void) {
    static const int64_t lengths[] = {1, 2, 3, 5, 7, 8, 15, 16, 17, 31, 33, 37, 48, 63, 64, 65, 100, 129};
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    page_bytes = (129 * 3 * sizeof(double) / page + 1) * page;
    char *all = mmap(NULL, page_bytes + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pages = all + page;
    result = malloc(129 * 3 * sizeof(double) + 64);
    if (all == MAP_FAILED || !result || mprotect(pages, page_bytes, PROT_READ | PROT_WRITE))
        return 2;
    for (int e = 0; e < 15; e++)
        kernel[e] = (float)(e % 4) * 0.5f - 0.25f;
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++)
        for (n = 1; n <= 3; n++)
            for (int at_end = 0; at_end < 2; at_end++) {
                m = lengths[l];
                call_all(at_end);
            }
    if (wrong)
        printf("%ld values are wrong\n", (long)wrong);
    return wrong != 0;
}
