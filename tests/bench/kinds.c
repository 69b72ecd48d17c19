/* kinds.c FILE FOLDER THREADS ROUNDS SIDE... - times the export of a .tensor file as several compilers make it, in
 * turns.
 *
 * FOLDER/SIDE.so has the export, NAME, or NAME_packed where it has weights that are packed ahead; all sizes are known.
 * Prints a row: NAME; for each side the median milliseconds of the threads themselves, for which what else the machine
 * does counts little, and those of the clock; then how many times as long the first side takes as each later one, the
 * second as each later one, and so on: medians of what the rounds say, by the time of the thread where there is one,
 * else by the clock. Where a side does not compute the same as the first the row is WRONG and the status 1.
 */
#include "examples/measure.h"
#include "lang/program.h"
#include "reading.h"
#include "times.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

enum { MOST_ARGUMENTS = 10, MOST_SIDES = 8, ROUND_MICROSECONDS = 15000 };

typedef const void *P;

typedef struct Side {
    const char *name;
    void *object, *function;
    P arguments[MOST_ARGUMENTS]; /* those of the case, or packed */
    double *own, *clock;         /* microseconds of a call in each round */
} Side;

typedef struct Case {
    const Program *program;
    void *values[MOST_ARGUMENTS];
    void *expected[MOST_ARGUMENTS]; /* of outputs: what the first side computes */
    Side sides[MOST_SIDES];
    int side_count, threads, rounds;
    bool right;
} Case;

static void quit(const char *what, const char *why) {
    fprintf(stderr, "kinds: %s: %s\n", what, why);
    exit(1);
}

static void *memory(size_t bytes) { /* of whole pages, so that all sides see the same */
    void *made = aligned_alloc(4096, (bytes / 4096 + 1) * 4096);
    if (made == NULL)
        quit("memory", "there is not enough");
    return made;
}

/* --- arguments --- */

typedef struct Kind {
    ElementType type;
    size_t bytes;
    void (*fill)(void *to, size_t count, uint64_t seed);
    double (*value)(const void *from, size_t index);
} Kind;

static void fill_float(void *to, size_t count, uint64_t seed) {
    fill_floats(to, count, seed);
}

static uint8_t small(uint64_t *seed) {
    return (uint8_t)((random_float(seed) + 1) * 64);
}

static void fill_bytes(void *to, size_t count, uint64_t seed) {
    for (size_t i = 0; i < count; i++)
        ((uint8_t *)to)[i] = small(&seed);
}

static void fill_ints(void *to, size_t count, uint64_t seed) {
    for (size_t i = 0; i < count; i++)
        ((int32_t *)to)[i] = small(&seed);
}

static double float_value(const void *from, size_t index) {
    return (double)((const float *)from)[index];
}

static double byte_value(const void *from, size_t index) {
    return (double)((const uint8_t *)from)[index];
}

static double int_value(const void *from, size_t index) {
    return (double)((const int32_t *)from)[index];
}

static const Kind kinds[] = {
    {TYPE_FLOAT, 4, fill_float, float_value},
    {TYPE_INT8, 1, fill_bytes, byte_value},
    {TYPE_UINT8, 1, fill_bytes, byte_value},
    {TYPE_INT32, 4, fill_ints, int_value},
};

static const Kind *kind_of(const Argument *argument) {
    for (size_t i = 0; argument->tensor != NULL && i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].type == argument->tensor->type && tensor_elements(argument->tensor) >= 0)
            return &kinds[i];
    quit("an argument", "is no tensor of known sizes and of such a type");
    return NULL;
}

static size_t elements(const Argument *argument) {
    return (size_t)tensor_elements(argument->tensor);
}

static bool is_output(const Argument *argument) {
    return argument->tensor->role == ROLE_OUTPUT;
}

static void make_arguments(Case *timed) {
    if (timed->program->argument_count > MOST_ARGUMENTS || timed->program->size_count > 0)
        quit(timed->program->symbol, "has too many arguments, or sizes that are not known");
    for (int a = 0; a < timed->program->argument_count; a++) {
        const Argument *argument = &timed->program->arguments[a];
        const Kind *kind = kind_of(argument);
        size_t count = elements(argument);
        timed->values[a] = memory(count * kind->bytes);
        kind->fill(timed->values[a], count, (uint64_t)a + 1);
        timed->expected[a] = is_output(argument) ? memory(count * kind->bytes) : NULL;
    }
}

static void free_arguments(Case *timed) {
    for (int a = 0; a < timed->program->argument_count; a++) {
        free(timed->values[a]);
        free(timed->expected[a]);
    }
}

/* --- sides --- */

static void *find(const Side *side, const char *name, const char *middle, const char *argument, const char *end) {
    char symbol[200];
    snprintf(symbol, sizeof symbol, "%s%s%s%s", name, middle, argument, end);
    return dlsym(side->object, symbol);
}

/* Weights as the side wants them. */
static void pack(const Case *timed, Side *side, int a) {
    const char *name = timed->program->symbol, *argument = timed->program->arguments[a].tensor->name;
    int64_t (*size)(void) = (int64_t(*)(void))find(side, name, "_packed_", argument, "_size");
    int (*fill)(P, void *) = (int (*)(P, void *))find(side, name, "_pack_", argument, "");
    if (size == NULL || fill == NULL)
        quit(argument, "no function packs it");
    void *packed = memory((size_t)size());
    if (fill(timed->values[a], packed) != 0)
        quit(argument, "cannot be packed");
    side->arguments[a] = packed;
}

static void open_function(const Case *timed, Side *side) {
    const char *name = timed->program->symbol;
    void *packed = find(side, name, "_packed", "", "");
    side->function = packed != NULL ? packed : dlsym(side->object, name);
    if (side->function == NULL)
        quit(name, "an object has no such function");
    for (int a = 0; a < timed->program->argument_count; a++)
        if (packed != NULL && argument_is_packed(&timed->program->arguments[a]))
            pack(timed, side, a);
        else
            side->arguments[a] = timed->values[a];
}

static void open_side(const Case *timed, Side *side, const char *folder, const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.so", folder, name);
    side->name = name;
    side->object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (side->object == NULL)
        quit(path, dlerror());
    side->own = calloc((size_t)timed->rounds, sizeof(double));
    side->clock = calloc((size_t)timed->rounds, sizeof(double));
    open_function(timed, side);
}

static void close_side(const Case *timed, Side *side) {
    for (int a = 0; a < timed->program->argument_count; a++)
        if (side->arguments[a] != timed->values[a])
            free((void *)side->arguments[a]);
    free(side->own);
    free(side->clock);
    dlclose(side->object);
}

/* --- calls --- */

#define CALL(count, types, ...)                                                                                        \
    static int call_##count(void *function, const P *a) {                                                              \
        return ((int(*) types)function)(__VA_ARGS__);                                                                  \
    }
CALL(2, (P, P), a[0], a[1])
CALL(3, (P, P, P), a[0], a[1], a[2])
CALL(4, (P, P, P, P), a[0], a[1], a[2], a[3])
CALL(5, (P, P, P, P, P), a[0], a[1], a[2], a[3], a[4])
CALL(6, (P, P, P, P, P, P), a[0], a[1], a[2], a[3], a[4], a[5])
CALL(7, (P, P, P, P, P, P, P), a[0], a[1], a[2], a[3], a[4], a[5], a[6])
CALL(8, (P, P, P, P, P, P, P, P), a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7])
static int (*const calls[])(void *, const P *) = {[2] = call_2, call_3, call_4, call_5, call_6, call_7, call_8};

static void call(const Case *timed, const Side *side) {
    size_t count = (size_t)timed->program->argument_count;
    if (count < 2 || count >= sizeof calls / sizeof *calls)
        quit(timed->program->symbol, "has too many arguments, or too few");
    if (calls[count](side->function, side->arguments) != 0)
        quit(side->name, "returned a status that is not 0");
}

/* As many calls as take about 15 ms. The first one counts for nothing: the caches hold what the former side left. */
static void time_round(const Case *timed, Side *side, int round) {
    double first = seconds_now();
    call(timed, side);
    int count = 1 + (int)fmin(ROUND_MICROSECONDS / (1e6 * (seconds_now() - first) + 1), ROUND_MICROSECONDS);
    double start = seconds_now(), own = microseconds();
    for (int i = 0; i < count; i++)
        call(timed, side);
    side->own[round] = (microseconds() - own) / count / timed->threads;
    side->clock[round] = 1e6 * (seconds_now() - start) / count;
}

/* --- results --- */

/* Sums in another order differ by about 1e-6 of their largest value; integers do not. */
static bool is_right(const Argument *argument, const void *expected, const void *output) {
    const Kind *kind = kind_of(argument);
    double largest = 0, off = 0;
    for (size_t i = 0; i < elements(argument); i++) {
        double value = kind->value(expected, i), difference = fabs(value - kind->value(output, i));
        largest = fmax(largest, fabs(value));
        off = difference <= off ? off : isnan(difference) ? INFINITY : difference;
    }
    return off <= (kind->type == TYPE_FLOAT ? 1e-4 * largest : 0);
}

static void check_side(Case *timed, const Side *side) {
    call(timed, side);
    for (int a = 0; a < timed->program->argument_count; a++) {
        const Argument *argument = &timed->program->arguments[a];
        if (!is_output(argument))
            continue;
        size_t bytes = elements(argument) * kind_of(argument)->bytes;
        if (side == timed->sides)
            memcpy(timed->expected[a], timed->values[a], bytes);
        timed->right &= is_right(argument, timed->expected[a], timed->values[a]);
        memset(timed->values[a], 0xee, bytes); /* what the next one leaves out is seen */
    }
}

static double median(const double *times, int count) {
    double *sorted = calloc((size_t)count, sizeof *sorted);
    memcpy(sorted, times, (size_t)count * sizeof *sorted);
    sort_times(sorted, count);
    double found = sorted[count / 2];
    free(sorted);
    return found;
}

static double speed(const Case *timed, const Side *slow, const Side *fast) {
    double *ratios = calloc((size_t)timed->rounds, sizeof *ratios);
    for (int r = 0; r < timed->rounds; r++)
        ratios[r] = timed->threads == 1 ? slow->own[r] / fast->own[r] : slow->clock[r] / fast->clock[r];
    double found = median(ratios, timed->rounds);
    free(ratios);
    return found;
}

static void print_row(const Case *timed) {
    printf("%-15s", timed->program->symbol);
    for (int s = 0; s < timed->side_count; s++)
        printf(" %8.3f %8.3f", median(timed->sides[s].own, timed->rounds) / 1e3,
               median(timed->sides[s].clock, timed->rounds) / 1e3);
    for (int s = 0; s < timed->side_count; s++)
        for (int t = s + 1; t < timed->side_count; t++)
            printf(" %6.3f", speed(timed, &timed->sides[s], &timed->sides[t]));
    printf("%s\n", timed->right ? "" : " WRONG");
}

int main(int argc, char **argv) {
    if (argc < 6 || argc > 5 + MOST_SIDES)
        quit("arguments", "FILE FOLDER THREADS ROUNDS SIDE...");
    Arena *arena = arena_new();
    const Module *module = read_module(arena, argv[1], NULL);
    if (module == NULL || module->units.count != 1)
        quit(argv[1], "cannot be read, or has not one export");
    Case timed = {
        .program = module->units.items[0].program, .threads = atoi(argv[3]), .rounds = atoi(argv[4]), .right = true};
    make_arguments(&timed);
    for (timed.side_count = 0; timed.side_count < argc - 5; timed.side_count++) {
        Side *side = &timed.sides[timed.side_count];
        open_side(&timed, side, argv[2], argv[5 + timed.side_count]);
        check_side(&timed, side);
    }
    for (int round = 0; round < timed.rounds; round++)
        for (int s = 0; s < timed.side_count; s++)
            time_round(&timed, &timed.sides[s], round);
    print_row(&timed);
    for (int s = 0; s < timed.side_count; s++)
        close_side(&timed, &timed.sides[s]);
    free_arguments(&timed);
    arena_free(arena);
    return !timed.right;
}
