/* products.c THREADS ROUNDS - times a matrix product in bytes by a hardware instruction beside those in float, in
 * turns, and prints the best and the median of each and the ratio: by the time that the threads themselves take, for
 * which what else the machine does counts little, and by the clock.
 */
#include "products.h"
#include "examples/measure.h"
#include <stdio.h>
#include <stdlib.h>

enum { SIZE = 1024, SIDES = 3, CALLS = 3 };

typedef struct Side {
    void (*call)(void);
    double *seconds, *own; /* of each round: by the clock, and of the threads' own time, the mean of all */
} Side;

static const char *const names[SIDES] = {"int8", "float", "float -O2"};

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

static double own_seconds(void) {
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (double)used.tv_sec + 1e-9 * (double)used.tv_nsec;
}

static void time_side(Side *side, int threads, int round) {
    double start = seconds_now(), own = own_seconds();
    for (int i = 0; i < CALLS; i++)
        side->call();
    side->seconds[round] = (seconds_now() - start) / CALLS;
    side->own[round] = (own_seconds() - own) / CALLS / threads;
}

static int by_size(const void *x, const void *y) {
    double a_value = *(const double *)x, b_value = *(const double *)y;
    return (a_value > b_value) - (a_value < b_value);
}

static double rate(double seconds) {
    return 2e-9 * SIZE * SIZE * SIZE / seconds;
}

static void print_sides(const char *which, double *const *seconds, int rounds) {
    for (int s = 0; s < SIDES; s++) {
        qsort(seconds[s], (size_t)rounds, sizeof *seconds[s], by_size);
        printf("  %-10s %-22s %10.1f %8.1f\n", s ? "" : which, names[s], rate(seconds[s][0]),
               rate(seconds[s][rounds / 2]));
    }
    double best = fmin(seconds[1][0], seconds[2][0]), median = fmin(seconds[1][rounds / 2], seconds[2][rounds / 2]);
    printf("  %-10s %-22s %10.2f %8.2f\n", "", "int8 : better float", best / seconds[0][0],
           median / seconds[0][rounds / 2]);
}

int main(int argc, char **argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 1, rounds = argc > 2 ? atoi(argv[2]) : 15;
    Side sides[SIDES] = {{.call = call_bytes}, {.call = call_floats}, {.call = call_default}};
    double *clock_times[SIDES], *own_times[SIDES];
    a = elements(1), b = elements(1), c = elements(4), fa = elements(4), fb = elements(4), fc = elements(4);
    fill();
    for (int s = 0; s < SIDES; s++) {
        clock_times[s] = sides[s].seconds = calloc((size_t)rounds, sizeof(double));
        own_times[s] = sides[s].own = calloc((size_t)rounds, sizeof(double));
        sides[s].call();
    }
    int wrong = wrong_results();
    for (int round = 0; round < rounds; round++)
        for (int s = 0; s < SIDES; s++)
            time_side(&sides[s], threads, round);
    printf("%d x %d x %d, %d thread%s            best   median  GFLOP/s\n", SIZE, SIZE, SIZE, threads,
           threads > 1 ? "s" : "");
    print_sides("own time", own_times, rounds);
    print_sides("clock", clock_times, rounds);
    printf(wrong ? "  %d results of int8 are WRONG\n" : "", wrong);
    return wrong != 0;
}
