/* spelling.c FILE OBJECT [ROUNDS] - whether spelling decides how fast a program is: times the exports of a .tensor
 * file, named GROUP_SPELLING, those of a group in turns.
 *
 * OBJECT is a shared object with the exports. Those of a group stand together and compute the same, from the same
 * arguments: tensors of floats of known sizes, one result. Prints for each the least time of its thread over the
 * rounds, in microseconds, and how many times the least of its group that is; beyond 1.10 with a mark. What does not
 * compute the same as the first of its group is WRONG, and the status is 1.
 */
#include "examples/measure.h"
#include "lang/program.h"
#include "reading.h"
#include "times.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

enum { ROUNDS = 15, ROUND_MICROSECONDS = 10000, MOST_INPUTS = 3 };
static const double limit = 1.10;

typedef struct Spelling {
    const Program *program;
    void *function;
    double least;
    bool right;
} Spelling;

typedef struct Group {
    Spelling *spellings;
    int count, inputs;
    float *values[MOST_INPUTS];
    float *expected, *output; /* one for all: where memory lies decides too */
} Group;

typedef struct Counts {
    int spellings, beyond, wrong;
} Counts;

static void quit(const char *what, const char *why) {
    fprintf(stderr, "spelling: %s: %s\n", what, why);
    exit(1);
}

static size_t elements(const Program *program, int argument) {
    const Tensor *tensor = program->arguments[argument].tensor;
    int64_t count = tensor != NULL && tensor->type == TYPE_FLOAT ? tensor_elements(tensor) : -1;
    if (count < 0)
        quit(program->symbol, "an argument is no tensor of floats of known sizes");
    return (size_t)count;
}

static size_t output_elements(const Program *program) {
    return elements(program, program->argument_count - 1);
}

static float *floats(size_t count) {
    float *values = aligned_alloc(64, (count * sizeof *values + 63) / 64 * 64);
    if (values == NULL)
        quit("memory", "there is not enough");
    return values;
}

/* --- calls --- */

typedef const void *P;

static int call_1(void *function, float *const *in, float *out) {
    return ((int (*)(P, P))function)(in[0], out);
}

static int call_2(void *function, float *const *in, float *out) {
    return ((int (*)(P, P, P))function)(in[0], in[1], out);
}

static int call_3(void *function, float *const *in, float *out) {
    return ((int (*)(P, P, P, P))function)(in[0], in[1], in[2], out);
}

static void call(const Group *group, const Spelling *spelling, float *output) {
    static int (*const calls[])(void *, float *const *, float *) = {call_1, call_2, call_3};
    if (calls[group->inputs - 1](spelling->function, group->values, output) != 0)
        quit(spelling->program->symbol, "returned a status that is not 0");
}

/* As many calls as take about 10 ms. The first one counts for nothing: the caches hold what another spelling left. */
static void time_round(const Group *group, Spelling *spelling) {
    double first = microseconds();
    call(group, spelling, group->output);
    int calls = 1 + (int)fmin(ROUND_MICROSECONDS / (microseconds() - first + 1), ROUND_MICROSECONDS);
    double start = microseconds();
    for (int i = 0; i < calls; i++)
        call(group, spelling, group->output);
    spelling->least = fmin(spelling->least, (microseconds() - start) / calls);
}

/* --- groups --- */

static void *function_of(void *object, const char *name) {
    void *function = dlsym(object, name);
    if (function == NULL)
        quit(name, "the object has no such function");
    return function;
}

/* Sums in another order differ by about 1e-6 of their largest value. */
static bool is_right(const Group *group, size_t count) {
    double largest = 0;
    for (size_t i = 0; i < count; i++)
        largest = fmax(largest, fabs((double)group->expected[i]));
    return largest_difference(group->expected, group->output, count) <= 1e-4 * largest;
}

static void open_spelling(const Group *group, Spelling *spelling, void *object) {
    const Program *first = group->spellings[0].program;
    size_t count = output_elements(first);
    if (spelling->program->argument_count != first->argument_count || output_elements(spelling->program) != count)
        quit(spelling->program->symbol, "has other arguments than its group");
    spelling->function = function_of(object, spelling->program->symbol);
    spelling->least = INFINITY;
    call(group, spelling, spelling->program == first ? group->expected : group->output);
    spelling->right = spelling->program == first || is_right(group, count);
}

static void open_group(Group *group, void *object) {
    const Program *first = group->spellings[0].program;
    group->inputs = first->argument_count - 1;
    if (group->inputs < 1 || group->inputs > MOST_INPUTS)
        quit(first->symbol, "has no inputs or too many");
    for (int i = 0; i < group->inputs; i++) {
        group->values[i] = floats(elements(first, i));
        fill_floats(group->values[i], elements(first, i), (uint64_t)i + 1);
    }
    group->expected = floats(output_elements(first));
    group->output = floats(output_elements(first));
    for (int s = 0; s < group->count; s++)
        open_spelling(group, &group->spellings[s], object);
}

static void close_group(Group *group) {
    for (int i = 0; i < group->inputs; i++)
        free(group->values[i]);
    free(group->expected);
    free(group->output);
}

static void report_group(const Group *group, Counts *counts) {
    double best = INFINITY;
    for (int s = 0; s < group->count; s++)
        best = fmin(best, group->spellings[s].least);
    for (int s = 0; s < group->count; s++) {
        const Spelling *spelling = &group->spellings[s];
        bool beyond = spelling->least > limit * best;
        printf("%-24s %10.1f %6.2f%s%s\n", spelling->program->symbol, spelling->least, spelling->least / best,
               beyond ? "  <--" : "", spelling->right ? "" : "  WRONG");
        counts->spellings++;
        counts->beyond += beyond;
        counts->wrong += !spelling->right;
    }
    fflush(stdout);
}

static void time_group(Group *group, void *object, int rounds, Counts *counts) {
    open_group(group, object);
    for (int round = 0; round < rounds; round++)
        for (int s = 0; s < group->count; s++)
            time_round(group, &group->spellings[s]);
    report_group(group, counts);
    close_group(group);
}

static bool of_one_group(const Program *a, const Program *b) {
    size_t length = strcspn(a->symbol, "_");
    return length == strcspn(b->symbol, "_") && strncmp(a->symbol, b->symbol, length) == 0;
}

int main(int argc, char **argv) {
    if (argc < 3 || argc > 4)
        quit("arguments", "FILE OBJECT [ROUNDS]");
    Arena *arena = arena_new();
    const Module *module = read_module(arena, argv[1], NULL);
    void *object = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
    if (module == NULL || object == NULL)
        quit(module ? argv[2] : argv[1], module ? dlerror() : "cannot be read");
    Counts counts = {0};
    for (int u = 0; u < module->units.count;) {
        Group group = {.spellings = ARENA_ARRAY(arena, Spelling, module->units.count)};
        const Program *first = module->units.items[u].program;
        for (; u < module->units.count && of_one_group(first, module->units.items[u].program); u++)
            group.spellings[group.count++].program = module->units.items[u].program;
        time_group(&group, object, argc > 3 ? atoi(argv[3]) : ROUNDS, &counts);
    }
    printf("%d of %d spellings beyond %.2f of the best of their group\n", counts.beyond, counts.spellings, limit);
    arena_free(arena);
    return counts.wrong > 0;
}
