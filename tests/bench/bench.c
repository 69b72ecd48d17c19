/* bench.c THREADS ROUNDS - times the objects of tensorc and the libraries' functions in turns, in one process, and
 * prints a row a workload. workloads.h, made by the script `bench` from shapes.txt, declares and lists the workloads.
 *
 * Each side computes in short bursts that alternate, so that a slow second of the machine meets all sides alike;
 * between two bursts the threads of the former come to rest. Every side's result is compared with sums in double. */
#include "examples/measure.h"
#include "rival.h"
#include <float.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "workloads.h"

static const Workload workloads[] = {
#define MATMUL(id, reach, m, n, k)                                                                                     \
    {.kind = WORKLOAD_MATMUL,                                                                                          \
     .name = #id,                                                                                                      \
     .goal = reach,                                                                                                    \
     .rows = m,                                                                                                        \
     .columns = n,                                                                                                     \
     .depth = k,                                                                                                       \
     .tuned = id##_tuned,                                                                                              \
     .plain = id##_plain},
#define CONV2D(id, reach, n, h, w, c, m, k, s, p)                                                                      \
    {.kind = WORKLOAD_CONV2D,                                                                                          \
     .name = #id,                                                                                                      \
     .goal = reach,                                                                                                    \
     .batch = n,                                                                                                       \
     .height = h,                                                                                                      \
     .width = w,                                                                                                       \
     .channels = c,                                                                                                    \
     .filters = m,                                                                                                     \
     .kernel = k,                                                                                                      \
     .stride = s,                                                                                                      \
     .pad = p,                                                                                                         \
     .tuned = id##_tuned,                                                                                              \
     .plain = id##_plain},
    WORKLOADS};

const Rival *const rival_of[2] = {
#ifdef HAVE_OPENBLAS
    [WORKLOAD_MATMUL] = &openblas,
#endif
#ifdef HAVE_ONEDNN
    [WORKLOAD_CONV2D] = &onednn,
#endif
};
static const char *const rival_package[2] = {"OpenBLAS (libopenblas-dev)", "oneDNN (libdnnl-dev)"};

/* --- sizes and exact values --- */

typedef struct Sizes {
    size_t a, b, out;
    int depth; /* products in a sum */
} Sizes;

static Sizes sizes_of(const Workload *w) {
    if (w->kind == WORKLOAD_MATMUL)
        return (Sizes){(size_t)w->rows * w->depth, (size_t)w->depth * w->columns, (size_t)w->rows * w->columns,
                       w->depth};
    size_t image = (size_t)conv_extent(w->height, w) * conv_extent(w->width, w);
    int depth = w->channels * w->kernel * w->kernel;
    return (Sizes){(size_t)w->batch * w->channels * w->height * w->width, (size_t)w->filters * depth,
                   (size_t)w->batch * w->filters * image, depth};
}

/* An element's exact value, nearly, and the sum of the absolute values of its products. */
typedef struct Exact {
    double value, absolute;
} Exact;

static void add_product(Exact *sum, float a, float b) {
    sum->value += (double)a * b;
    sum->absolute += fabs((double)a * b);
}

static Exact exact_matmul(const Workload *w, const float *a, const float *b, size_t element) {
    size_t i = element / w->columns, j = element % w->columns;
    Exact sum = {0};
    for (int k = 0; k < w->depth; k++)
        add_product(&sum, a[i * w->depth + k], b[(size_t)k * w->columns + j]);
    return sum;
}

static Exact exact_conv2d(const Workload *w, const float *a, const float *b, size_t element) {
    int out_h = conv_extent(w->height, w), out_w = conv_extent(w->width, w);
    int x0 = (int)(element % out_w) * w->stride - w->pad, y0 = (int)(element / out_w % out_h) * w->stride - w->pad;
    size_t m = element / ((size_t)out_w * out_h) % w->filters, n = element / ((size_t)out_w * out_h * w->filters);
    Exact sum = {0};
    for (int c = 0; c < w->channels; c++)
        for (int y = 0; y < w->kernel; y++)
            for (int x = 0; x < w->kernel; x++)
                if (y0 + y >= 0 && y0 + y < w->height && x0 + x >= 0 && x0 + x < w->width)
                    add_product(&sum, a[((n * w->channels + c) * w->height + y0 + y) * w->width + x0 + x],
                                b[((m * w->channels + c) * w->kernel + y) * w->kernel + x]);
    return sum;
}

/* Some 4000 elements, both ends among them, within the bound of a sum in float in any order. */
static bool is_right(const Workload *w, const float *a, const float *b, const float *out) {
    Sizes sizes = sizes_of(w);
    size_t step = sizes.out / 4000 + 1;
    for (size_t i = 0; i < sizes.out + step; i += step) {
        size_t element = i < sizes.out ? i : sizes.out - 1;
        Exact exact = w->kind == WORKLOAD_MATMUL ? exact_matmul(w, a, b, element) : exact_conv2d(w, a, b, element);
        if (!(fabs(out[element] - exact.value) <= sizes.depth * (FLT_EPSILON / 2) * exact.absolute + FLT_MIN))
            return false;
    }
    return true;
}

/* --- sides and their times
 * -------------------------------------------------------------------------------------------- */

typedef struct Side {
    const char *name;
    const Rival *rival;                                          /* a library, or */
    int (*function)(const float *a, const float *b, float *out); /* an object of tensorc */
    void *state;
    const float *a, *b;
    float *out;
    double *times;
    int count, capacity;
    bool right;
} Side;

static void side_call(Side *side) {
    if (side->rival)
        side->rival->call(side->state);
    else if (side->function(side->a, side->b, side->out) != 0) {
        fprintf(stderr, "%s returned a status that is not 0\n", side->name);
        exit(1);
    }
}

static void side_record(Side *side, double seconds) {
    if (side->count == side->capacity) {
        side->capacity = side->capacity ? 2 * side->capacity : 256;
        side->times = realloc(side->times, sizeof *side->times * side->capacity);
        if (!side->times)
            abort();
    }
    side->times[side->count++] = seconds;
}

static void side_burst(Side *side) {
    nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    side_call(side);
    double begin = seconds_now();
    for (int calls = 0; calls < 2 || seconds_now() - begin < 0.03; calls++) {
        double start = seconds_now();
        side_call(side);
        side_record(side, seconds_now() - start);
    }
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

typedef struct Figures {
    double best, median; /* GFLOP/s */
} Figures;

static Figures side_figures(Side *side, double flops) {
    qsort(side->times, side->count, sizeof *side->times, by_value);
    return (Figures){flops / side->times[0] * 1e-9, flops / side->times[side->count / 2] * 1e-9};
}

/* --- the table
 * ---------------------------------------------------------------------------------------------------------- */

static void print_head(void) {
    printf("%-8s %-9s %18s %18s %18s %15s\n", "", "", "tensorc -O2", "tensorc -O tune", "library", "tuned/library");
    printf("%-8s %-9s %9s %8s %9s %8s %9s %8s %7s %7s %5s\n", "workload", "library", "best", "median", "best", "median",
           "best", "median", "best", "median", "goal");
}

static void print_row(const Workload *w, Side sides[3], int count, double flops) {
    Figures figures[3];
    for (int s = 0; s < count; s++)
        figures[s] = side_figures(&sides[s], flops);
    printf("%-8s %-9s", w->name, count == 3 ? sides[2].name : "-");
    for (int s = 0; s < count; s++)
        printf(" %9.2f %8.2f", figures[s].best, figures[s].median);
    if (count == 3)
        printf(" %7.2f %7.2f %5.2f", figures[1].best / figures[2].best, figures[1].median / figures[2].median, w->goal);
    else
        printf("  skipped: %s is not installed", rival_package[w->kind]);
    for (int s = 0; s < count; s++)
        if (!sides[s].right)
            printf("  WRONG: %s", sides[s].name);
    printf("\n");
    fflush(stdout);
}

static float *floats(size_t count, uint64_t seed) {
    float *values = aligned_alloc(64, (count * sizeof(float) + 63) / 64 * 64);
    if (!values)
        abort();
    fill_floats(values, count, seed);
    return values;
}

static bool bench(const Workload *w, int threads, int rounds) {
    Sizes sizes = sizes_of(w);
    float *a = floats(sizes.a, 1), *b = floats(sizes.b, 2), *out = floats(sizes.out, 3);
    Side sides[3] = {{.name = "tensorc -O2", .function = w->plain}, {.name = "tensorc -O tune", .function = w->tuned}};
    int count = 2;
    const Rival *rival = rival_of[w->kind];
    if (rival)
        sides[count++] = (Side){.name = rival->name, .rival = rival, .state = rival->open(w, a, b, out, threads)};
    bool right = true;
    for (int s = 0; s < count; s++) {
        sides[s].a = a, sides[s].b = b, sides[s].out = out;
        memset(out, 0xff, sizes.out * sizeof *out);
        side_call(&sides[s]);
        if (sides[s].rival)
            sides[s].rival->fetch(sides[s].state);
        right &= sides[s].right = is_right(w, a, b, out);
    }
    for (int round = 0; round < rounds; round++)
        for (int s = 0; s < count; s++)
            side_burst(&sides[s]);
    print_row(w, sides, count, 2.0 * (double)sizes.out * sizes.depth);
    for (int s = 0; s < count; s++)
        free(sides[s].times);
    if (rival)
        rival->close(sides[2].state);
    free(a), free(b), free(out);
    return right;
}

int main(int argc, char **argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 1, rounds = argc > 2 ? atoi(argv[2]) : 15;
    bool right = true;
    printf("GFLOP/s with %d thread%s\n", threads, threads == 1 ? "" : "s");
    print_head();
    for (size_t i = 0; i < sizeof workloads / sizeof *workloads; i++)
        right &= bench(&workloads[i], threads, rounds);
    return right ? 0 : 1;
}
