/* space.c THREADS ROUNDS HAND OBJECT... - times the programs of space.tensor: by the schedules of their authors, by -O2
 * and tuned, in turns.
 *
 * HAND and each OBJECT are shared objects; of HAND the functions NAME_hand count, of the others NAME. Prints for each
 * program the least and the median time of each side: that of the threads themselves, for which what else the machine
 * does counts little, and that of the clock; and how fast each side is against the hand's schedule, by the median of
 * the threads' time, with the geometric mean of all programs. Results are compared with those of the first side.
 */
#include "examples/measure.h"
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_INPUTS = 3, MOST_SIDES = 4 };

typedef struct SpaceProgram {
    const char *name;
    size_t inputs[MOST_INPUTS], output; /* elements; 0: no such input */
} SpaceProgram;

static const SpaceProgram programs[] = {
    {"blur", {2048 * 4096}, 2046 * 4094},
    {"jacobi3", {2048 * 2048}, 2048 * 2048},
    {"harris", {1536 * 2560}, 1532 * 2556},
    {"unsharp", {3 * 1080 * 1920}, 3 * 1080 * 1920},
    {"attention_before", {1024 * 64, 1024 * 64, 1024 * 64}, 1024 * 64},
    {"attention_after", {1024 * 64, 1024 * 64, 1024 * 64}, 1024 * 64},
    {"split_k", {4 * 200000, 200000 * 16}, 4 * 16},
};
enum { PROGRAM_COUNT = sizeof programs / sizeof *programs };

typedef struct Side {
    const char *name;
    void *object;
    double *times[2]; /* of each round: of the threads, by the clock */
    double lost;      /* the sum of the logarithms of its speed against the first side */
} Side;

static void quit(const char *what, const char *why) {
    fprintf(stderr, "space: %s: %s\n", what, why);
    exit(1);
}

static float *floats(size_t count) {
    float *values = aligned_alloc(64, (count * sizeof *values + 63) / 64 * 64);
    if (!values)
        quit("memory", "there is not enough");
    return values;
}

typedef const void *P;

static void call(void *function, float *const *inputs, float *output) {
    int status;
    if (inputs[2])
        status = ((int (*)(P, P, P, P))function)(inputs[0], inputs[1], inputs[2], output);
    else if (inputs[1])
        status = ((int (*)(P, P, P))function)(inputs[0], inputs[1], output);
    else
        status = ((int (*)(P, P))function)(inputs[0], output);
    if (status)
        quit("a function", "returned a status that is not 0");
}

static double own_seconds(void) {
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (double)used.tv_sec + 1e-9 * (double)used.tv_nsec;
}

/* A round of a side: the mean of as many calls as take about 20 ms. The first one counts for nothing: the caches hold
 * what the former side left. */
static void time_round(Side *side, void *function, float *const *inputs, float *output, int threads, int round) {
    double first = seconds_now();
    call(function, inputs, output);
    int calls = 1 + (int)fmin(0.02 / (seconds_now() - first), 100);
    double start = seconds_now(), own = own_seconds();
    for (int i = 0; i < calls; i++)
        call(function, inputs, output);
    side->times[0][round] = (own_seconds() - own) / calls / threads;
    side->times[1][round] = (seconds_now() - start) / calls;
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void *function_of(const Side *side, const SpaceProgram *program, bool hand) {
    char name[80];
    snprintf(name, sizeof name, "%s%s", program->name, hand ? "_hand" : "");
    void *function = dlsym(side->object, name);
    if (!function)
        quit(name, "an object has no such function");
    return function;
}

/* Sums in another order differ by about 1e-6 of their largest value. */
static bool is_right(const SpaceProgram *program, const float *expected, const float *output) {
    double largest = 0;
    for (size_t i = 0; i < program->output; i++)
        largest = fmax(largest, fabs((double)expected[i]));
    return largest_difference(expected, output, program->output) <= 1e-4 * largest;
}

static void print_sides(const SpaceProgram *program, Side *sides, int count, int rounds) {
    for (int s = 0; s < count; s++) {
        for (int t = 0; t < 2; t++)
            qsort(sides[s].times[t], (size_t)rounds, sizeof(double), by_size);
        const double *own = sides[s].times[0], *clock = sides[s].times[1];
        double speed = sides[0].times[0][rounds / 2] / own[rounds / 2];
        sides[s].lost += log(speed);
        printf("  %-17s %-6s %9.3f %9.3f %9.3f %9.3f %8.2f\n", s ? "" : program->name, sides[s].name, own[0] * 1e3,
               own[rounds / 2] * 1e3, clock[0] * 1e3, clock[rounds / 2] * 1e3, speed);
    }
    fflush(stdout);
}

static bool time_program(const SpaceProgram *program, Side *sides, int count, int threads, int rounds) {
    float *inputs[MOST_INPUTS] = {0}, *outputs[MOST_SIDES];
    void *functions[MOST_SIDES];
    bool right = true;
    for (int i = 0; i < MOST_INPUTS && program->inputs[i]; i++) {
        inputs[i] = floats(program->inputs[i]);
        fill_floats(inputs[i], program->inputs[i], (uint64_t)i + 1);
        for (size_t e = 0; e < program->inputs[i]; e++)
            inputs[i][e] = fabsf(inputs[i][e]) + 0.1f; /* a ratio of images has a divisor that is not 0 */
    }
    for (int s = 0; s < count; s++) {
        functions[s] = function_of(&sides[s], program, s == 0);
        outputs[s] = floats(program->output);
        call(functions[s], inputs, outputs[s]);
        if (!is_right(program, outputs[0], outputs[s])) {
            printf("  %s by %s is WRONG\n", program->name, sides[s].name);
            right = false;
        }
    }
    for (int round = 0; round < rounds; round++)
        for (int s = 0; s < count; s++)
            time_round(&sides[s], functions[s], inputs, outputs[s], threads, round);
    print_sides(program, sides, count, rounds);
    for (int i = 0; i < MOST_INPUTS; i++)
        free(inputs[i]);
    for (int s = 0; s < count; s++)
        free(outputs[s]);
    return right;
}

int main(int argc, char **argv) {
    static const char *const names[MOST_SIDES] = {"hand", "-O2", "tuned", "base"};
    if (argc < 4 || argc > 3 + MOST_SIDES)
        quit("arguments", "THREADS ROUNDS HAND OBJECT...");
    int threads = atoi(argv[1]), rounds = atoi(argv[2]), count = argc - 3;
    const char *only = getenv("ONLY");
    Side sides[MOST_SIDES] = {0};
    for (int s = 0; s < count; s++) {
        sides[s].name = names[s];
        sides[s].object = dlopen(argv[3 + s], RTLD_NOW | RTLD_LOCAL);
        if (!sides[s].object)
            quit(argv[3 + s], dlerror());
        for (int t = 0; t < 2; t++)
            sides[s].times[t] = calloc((size_t)rounds, sizeof(double));
    }
    printf("%d thread%-11s   ms:  threads': least, median  clock: least, median  speed\n", threads,
           threads > 1 ? "s" : "");
    bool right = true;
    int timed = 0;
    for (int p = 0; p < PROGRAM_COUNT; p++)
        if (!only || strstr(programs[p].name, only)) {
            right &= time_program(&programs[p], sides, count, threads, rounds);
            timed++;
        }
    for (int s = 1; s < count && timed; s++)
        printf("  geometric mean    %-6s %48.2f\n", sides[s].name, exp(sides[s].lost / timed));
    return !right;
}
