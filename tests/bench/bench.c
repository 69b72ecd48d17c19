/* bench.c - times one workload: objects of tensorc and functions of libraries in turns, in one process.
 *
 *   bench export ROW SYMBOL WEIGHTS         prints the export of a .tensor file
 *   bench weights ROW PREFIX                writes its weights to PREFIX.NAME.npy
 *   bench time ROW THREADS ROUNDS SECONDS WEIGHTS SIDE=FILE...
 *                                           prints a line a side, its fields separated by tabs
 *
 * ROW is a row of the tables, with one number for the batch. WEIGHTS is `bound` or `packed`: the objects hold the
 * weights, or take them packed. A SIDE named `library` is a library by its direct algorithms, `library-loose` one by
 * those with a larger error, every other one an object; `loose` is one that -ffp-error allows a larger error. Each side
 * computes in short bursts that alternate, so that a slow second of the machine meets all sides alike; between two
 * bursts the threads of the former come to rest, and the first call of each counts for nothing. Some elements of every
 * result are compared with exact sums, and all of them with those of the first side.
 */
#define _GNU_SOURCE
#include "rival.h"
#include <dlfcn.h>
#include <float.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/bench/peak.h"

enum { MOST_SIDES = 16, ELEMENTS_CHECKED = 1000 };

static void quit(const char *what, const char *why) {
    fprintf(stderr, "bench: %s: %s\n", what, why);
    exit(1);
}

/* --- tensors ------------------------------------------------------------------------------------------------------ */

typedef struct Tensors {
    float *inputs[MOST_INPUTS], *out, *first; /* the result of the first side */
} Tensors;

static float *floats(size_t count) {
    float *values = aligned_alloc(64, (count * sizeof(float) + 63) / 64 * 64 + 64);
    if (!values)
        quit("memory", "there is not enough");
    return values;
}

/* A variance is no negative number. */
static float *input_values(const Workload *w, int input) {
    size_t count = workload_input_size(w, input);
    float *values = floats(count);
    fill_floats(values, count, (uint64_t)input + 1);
    for (size_t i = 0; i < count && !strcmp(w->kind->inputs[input].name, "variance"); i++)
        values[i] = fabsf(values[i]) + 0.5f;
    return values;
}

static Tensors tensors_of(const Workload *w) {
    Tensors tensors = {0};
    for (int i = 0; workload_input_size(w, i); i++)
        tensors.inputs[i] = input_values(w, i);
    tensors.out = floats(workload_output_size(w));
    return tensors;
}

/* --- sides -------------------------------------------------------------------------------------------------------- */

typedef struct Side {
    const char *name, *way;
    const Rival *rival; /* a library, or an object: */
    void *state, *function;
    const void *arguments[MOST_INPUTS + 1];
    int argument_count;
    bool loose; /* an algorithm with a larger error */
    double *times, error;
    int count, capacity;
    const char *verdict;
} Side;

typedef const void *P;

static void call_object(const Side *s) {
    const P *a = s->arguments;
    int status = 1;
    switch (s->argument_count) {
    case 2: status = ((int (*)(P, P))s->function)(a[0], a[1]); break;
    case 3: status = ((int (*)(P, P, P))s->function)(a[0], a[1], a[2]); break;
    case 7: status = ((int (*)(P, P, P, P, P, P, P))s->function)(a[0], a[1], a[2], a[3], a[4], a[5], a[6]); break;
    }
    if (status)
        quit(s->name, "the object returned a status that is not 0");
}

static void side_call(Side *side) {
    if (side->rival)
        side->rival->call(side->state);
    else
        call_object(side);
}

static void *symbol_of(void *object, const char *name, bool needed) {
    void *found = dlsym(object, name);
    if (!found && needed)
        quit(name, "an object has no such function");
    return found;
}

/* The argument as bench_pack_NAME leaves it. */
static const void *packed(void *object, const char *name, const float *values) {
    char symbol[80];
    snprintf(symbol, sizeof symbol, "bench_packed_%s_size", name);
    int64_t (*size)(void) = (int64_t(*)(void))symbol_of(object, symbol, true);
    void *memory = floats((size_t)size() / sizeof(float) + 1);
    snprintf(symbol, sizeof symbol, "bench_pack_%s", name);
    int (*pack)(const float *, void *) = (int (*)(const float *, void *))symbol_of(object, symbol, true);
    if (pack(values, memory))
        quit(symbol, "the function returned a status that is not 0");
    return memory;
}

static void open_object(Side *side, const char *file, const Workload *w, const Tensors *tensors, bool bound) {
    void *object = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!object)
        quit(file, dlerror());
    void *packing = bound ? NULL : symbol_of(object, "bench_packed", false);
    side->function = packing ? packing : symbol_of(object, "bench", true);
    for (int i = 0; workload_input_size(w, i); i++) {
        const Input *input = &w->kind->inputs[i];
        if (!input->dims)
            side->arguments[side->argument_count++] = tensors->inputs[i];
        else if (!bound)
            side->arguments[side->argument_count++] =
                packing ? packed(object, input->name, tensors->inputs[i]) : tensors->inputs[i];
    }
    side->arguments[side->argument_count++] = tensors->out;
    side->way = w->kind->layout;
}

/* False: the library does not compute this. */
static bool open_rival(Side *side, const char *file, const Workload *w, const Tensors *tensors, int threads) {
    void *object = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!object)
        quit(file, dlerror());
    side->rival = symbol_of(object, "rival", true);
    side->state = side->rival->open(w, (const float *const *)tensors->inputs, tensors->out, threads, side->loose);
    side->name = side->rival->name();
    side->way = side->state ? side->rival->way(side->state) : "";
    return side->state != NULL;
}

/* --- checks ------------------------------------------------------------------------------------------------------- */

/* What sums of so many terms in any order may be off, relative to their absolute values: a bound, and less for whole
 * results, where only the usual size of those is known. */
static double sum_bound(const Workload *w) {
    return (workload_terms(w) + 8) * (FLT_EPSILON / 2);
}

static double largest_value(const float *values, size_t count) {
    double largest = 0;
    for (size_t i = 0; i < count; i++)
        largest = fmax(largest, fabs((double)values[i]));
    return largest;
}

static void check_elements(Side *side, const Workload *w, const Tensors *tensors, double allowed) {
    size_t count = workload_output_size(w), step = count / ELEMENTS_CHECKED + 1;
    for (size_t i = 0; i < count + step; i += step) {
        size_t element = i < count ? i : count - 1;
        Exact exact = workload_exact(w, (const float *const *)tensors->inputs, element);
        double error = fabs(tensors->out[element] - exact.value) / (exact.absolute + FLT_MIN);
        if (!(error <= side->error))
            side->error = isnan(error) ? INFINITY : error;
    }
    if (!(side->error <= fmax(sum_bound(w), allowed)))
        side->verdict = "WRONG";
}

/* Once, with every side's own result; `allowed` is the error of algorithms that may have a larger one. */
static void check_side(Side *side, const Workload *w, Tensors *tensors, double allowed) {
    size_t count = workload_output_size(w);
    memset(tensors->out, 0xff, count * sizeof *tensors->out);
    side->verdict = "right";
    side_call(side);
    if (side->rival)
        side->rival->fetch(side->state);
    check_elements(side, w, tensors, allowed);
    if (!tensors->first) {
        tensors->first = floats(count);
        memcpy(tensors->first, tensors->out, count * sizeof *tensors->out);
        return;
    }
    double bound = 4 * fmax(sum_bound(w), allowed) * fmax(largest_value(tensors->first, count), 1);
    if (!(largest_difference(tensors->first, tensors->out, count) <= bound))
        side->verdict = "WRONG";
}

/* --- times -------------------------------------------------------------------------------------------------------- */

static void side_record(Side *side, double seconds) {
    if (side->count == side->capacity) {
        side->capacity = side->capacity ? 2 * side->capacity : 256;
        side->times = realloc(side->times, sizeof *side->times * side->capacity);
        if (!side->times)
            quit("memory", "there is not enough");
    }
    side->times[side->count++] = seconds;
}

static double timed_call(Side *side) {
    double start = seconds_now();
    side_call(side);
    return seconds_now() - start;
}

/* A call that takes long needs none before it. */
static void side_burst(Side *side) {
    nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    double first = timed_call(side);
    if (first > 0.1) {
        side_record(side, first);
        return;
    }
    double begin = seconds_now();
    for (int calls = 0; calls < 2 || seconds_now() - begin < 0.03; calls++)
        side_record(side, timed_call(side));
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_side(const Workload *w, int threads, Side *side, double peak) {
    double *times = side->times, flops = workload_flops(w) * 1e-9;
    qsort(times, side->count, sizeof *times, by_value);
    printf("%s\t%s\t%d\t%s%s\t%.6g\t%.6g\t%.6g\t%.6g\t%.3g\t%s\t%.1f\t%s\n", w->name, w->kind->name, threads,
           side->rival && side->loose ? "loose:" : "", side->name, flops / times[0], flops / times[side->count / 2],
           times[0], times[side->count / 2], side->error, side->verdict, peak, side->way);
}

/* As many processors as threads, so that a library which starts a thread for each starts as many; the first of those
 * that this process has. */
static void confine(int threads) {
    cpu_set_t has, wanted;
    CPU_ZERO(&wanted);
    if (sched_getaffinity(0, sizeof has, &has))
        return;
    for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&wanted) < threads; i++)
        if (CPU_ISSET(i, &has))
            CPU_SET(i, &wanted);
    sched_setaffinity(0, sizeof wanted, &wanted);
}

static int open_sides(Side *sides, char **words, int count, const Workload *w, const Tensors *tensors, int threads,
                      bool bound) {
    int opened = 0;
    for (int i = 0; i < count && opened < MOST_SIDES; i++) {
        char *file = strchr(words[i], '=');
        if (!file)
            quit(words[i], "this is no side=file");
        *file++ = '\0';
        sides[opened] = (Side){.name = words[i]};
        sides[opened].loose = strstr(words[i], "loose") != NULL;
        if (strncmp(words[i], "library", 7))
            open_object(&sides[opened++], file, w, tensors, bound);
        else
            opened += open_rival(&sides[opened], file, w, tensors, threads);
    }
    return opened;
}

static int time_sides(const Workload *w, int threads, int rounds, double limit, bool bound, char **words, int count) {
    Side sides[MOST_SIDES];
    confine(threads);
    Tensors tensors = tensors_of(w);
    const char *error = getenv("FP_ERROR");
    double begin, peak = peak_gflops(threads), allowed = error && *error ? strtod(error, NULL) : 1e-4;
    int status = 0, opened = open_sides(sides, words, count, w, &tensors, threads, bound);
    for (int s = 0; s < opened; s++) {
        check_side(&sides[s], w, &tensors, sides[s].loose ? allowed : 0);
        status |= strcmp(sides[s].verdict, "right");
    }
    begin = seconds_now();
    for (int round = 0; round < rounds && (!round || seconds_now() - begin < limit); round++)
        for (int s = 0; s < opened; s++)
            side_burst(&sides[s]);
    peak = fmax(peak, peak_gflops(threads));
    for (int s = 0; s < opened; s++)
        print_side(w, threads, &sides[s], peak);
    return status ? 3 : 0;
}

/* --- sources and weights --------------------------------------------------------------------------------------------
 */

/* A NumPy file: a magic number, the length of a header of text, the header, the values. */
static void write_weights(const Workload *w, const char *prefix, int input) {
    char path[4096], header[256] = "";
    size_t count = workload_input_size(w, input);
    snprintf(path, sizeof path, "%s.%s.npy", prefix, w->kind->inputs[input].name);
    FILE *file = fopen(path, "wb"), *text = fmemopen(header, sizeof header - 1, "w");
    if (!file || !text)
        quit(path, "cannot be written");
    int dims[MOST_DIMS], dim_count = workload_weight_dims(w, input, dims);
    fprintf(text, "{'descr': '<f4', 'fortran_order': False, 'shape': (");
    for (int d = 0; d < dim_count; d++)
        fprintf(text, "%d,", dims[d]);
    fprintf(text, "), }");
    fclose(text);
    unsigned length = 246; /* with the ten bytes before it a multiple of 64 */
    fwrite("\x93NUMPY\x01\x00", 1, 8, file);
    fputc((int)(length & 255), file);
    fputc((int)(length >> 8), file);
    fprintf(file, "%-*s\n", (int)length - 1, header);
    float *values = input_values(w, input);
    bool written = fwrite(values, sizeof *values, count, file) == count;
    if (fclose(file) || !written)
        quit(path, "cannot be written");
    free(values);
}

static Workload read_row(const char *row) {
    Workload workload;
    if (!workload_read(&workload, row))
        quit(row, "this is no row of a table");
    return workload;
}

int main(int argc, char **argv) {
    const char *mode = argc > 2 ? argv[1] : "";
    Workload workload = read_row(argc > 2 ? argv[2] : "");
    if (!strcmp(mode, "export") && argc == 5)
        workload_export(&workload, argv[3], argv[4]);
    else if (!strcmp(mode, "weights") && argc == 4) {
        for (int i = 0; workload_input_size(&workload, i); i++)
            if (workload.kind->inputs[i].dims)
                write_weights(&workload, argv[3], i);
    } else if (!strcmp(mode, "time") && argc > 6)
        return time_sides(&workload, atoi(argv[3]), atoi(argv[4]), atof(argv[5]), !strcmp(argv[6], "bound"), argv + 7,
                          argc - 7);
    else
        quit(mode, "there is no such mode, or too few words after it");
    return 0;
}
