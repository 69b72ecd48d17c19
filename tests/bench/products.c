/* products.c THREADS ROUNDS - times a matrix product in bytes by a hardware instruction beside those in float, in turns, and
 * prints the best and the median of each and the ratio. One thread is timed by its own time, so that what else the machine
 * does counts little; several by the clock.
 */
#include "products.h"
#include "examples/measure.h"
#include <stdio.h>
#include <stdlib.h>

enum { SIZE = 1024, SIDES = 3, CALLS = 3 };

typedef struct Side {
    const char *name;
    void (*call)(void);
    double *seconds; /* of each round */
} Side;

static uint8_t *a;
static int8_t *b;
static int32_t *c;
static float *fa, *fb, *fc;

static void call_bytes(void) {
    if (bytes(a, b, c))
        abort();
}

static void call_floats(void) {
    if (floats(fa, fb, fc))
        abort();
}

static void call_default(void) {
    if (floats_default(fa, fb, fc))
        abort();
}

static void *elements(size_t bytes_each) {
    void *memory = aligned_alloc(64, bytes_each * SIZE * SIZE);
    if (!memory)
        abort();
    return memory;
}

static void fill(void) {
    uint64_t state = 1;
    for (size_t i = 0; i < (size_t)SIZE * SIZE; i++) {
        a[i] = (uint8_t)(128 + 127 * random_float(&state));
        b[i] = (int8_t)(127 * random_float(&state));
        fa[i] = random_float(&state);
        fb[i] = random_float(&state);
    }
}

/* Some rows against the plain sums. */
static int wrong_results(void) {
    int wrong = 0;
    for (int i = 0; i < SIZE; i += 73)
        for (int j = 0; j < SIZE; j++) {
            int32_t sum = 0;
            for (int k = 0; k < SIZE; k++)
                sum += a[i * SIZE + k] * b[k * SIZE + j];
            wrong += sum != c[i * SIZE + j];
        }
    return wrong;
}

static double now(int threads) {
    if (threads > 1)
        return seconds_now();
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (double)used.tv_sec + 1e-9 * (double)used.tv_nsec;
}

static double time_side(const Side *side, int threads) {
    double start = now(threads);
    for (int i = 0; i < CALLS; i++)
        side->call();
    return (now(threads) - start) / CALLS;
}

static int by_size(const void *x, const void *y) {
    double a_value = *(const double *)x, b_value = *(const double *)y;
    return (a_value > b_value) - (a_value < b_value);
}

static double rate(double seconds) {
    return 2e-9 * SIZE * SIZE * SIZE / seconds;
}

int main(int argc, char **argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 1, rounds = argc > 2 ? atoi(argv[2]) : 15;
    Side sides[SIDES] = {{"int8", call_bytes, NULL}, {"float", call_floats, NULL}, {"float -O2", call_default, NULL}};
    a = elements(1), b = elements(1), c = elements(4), fa = elements(4), fb = elements(4), fc = elements(4);
    fill();
    for (int s = 0; s < SIDES; s++) {
        sides[s].seconds = calloc((size_t)rounds, sizeof *sides[s].seconds);
        sides[s].call();
    }
    int wrong = wrong_results();
    for (int round = 0; round < rounds; round++)
        for (int s = 0; s < SIDES; s++)
            sides[s].seconds[round] = time_side(&sides[s], threads);
    printf("%d x %d x %d, %d thread%s       best   median  GFLOP/s\n", SIZE, SIZE, SIZE, threads,
           threads > 1 ? "s" : "");
    for (int s = 0; s < SIDES; s++) {
        qsort(sides[s].seconds, (size_t)rounds, sizeof *sides[s].seconds, by_size);
        printf("  %-22s %10.1f %8.1f\n", sides[s].name, rate(sides[s].seconds[0]), rate(sides[s].seconds[rounds / 2]));
    }
    double best = fmin(sides[1].seconds[0], sides[2].seconds[0]);
    double median = fmin(sides[1].seconds[rounds / 2], sides[2].seconds[rounds / 2]);
    printf("  %-22s %10.2f %8.2f\n", "int8 : the better float", best / sides[0].seconds[0],
           median / sides[0].seconds[rounds / 2]);
    printf(wrong ? "  %d results of int8 are WRONG\n" : "", wrong);
    return wrong != 0;
}
