/* workload.h - what `make bench` times: a row of its tables, the tensors that it takes and makes, and exact results. */
#ifndef TESTS_BENCH_WORKLOAD_H
#define TESTS_BENCH_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>

typedef enum Family { FAMILY_CONVOLUTION, FAMILY_MATMUL, FAMILY_NORM, FAMILY_SCORES } Family;

enum { MOST_INPUTS = 6, MOST_NUMBERS = 9, MOST_DIMS = 6 };

typedef struct Workload Workload;

typedef struct Input {
    const char *name; /* of operators.tensor */
    const char *dims; /* of weights, which are packed ahead: letters as in workload.c; else NULL */
} Input;

typedef struct Kind {
    const char *name;   /* in the tables */
    const char *letter; /* of each number that its rows have, in order: see workload.c */
    const char *export; /* the def and its parameters, with a letter in braces for each number */
    Family family;
    int dims; /* of the image */
    Input inputs[MOST_INPUTS];
    const char *layout; /* of what is no weight */
} Kind;

struct Workload {
    const Kind *kind;
    char name[64];
    int batch;
    /* Convolutions. Of three dimensions the last `dims` are used; the others have extent 1. `channels` and `filters`
     * are those of all groups; `side` is that of a capsule's matrices, else 1. */
    int in[3], out[3], window[3], pad[3], stride, dilation, groups, channels, filters, side;
    bool transposed;
    /* Products, norms; rows are the positions of scores, columns too, depth the features. */
    int rows, columns, depth, heads;
};

/* A row of a table with one number for the batch; false: it is none. */
bool workload_read(Workload *workload, const char *row);
/* A line of a .tensor file that exports it; weights are bound to the files PREFIX.NAME.npy unless the prefix is empty.
 */
void workload_export(const Workload *workload, const char *symbol, const char *prefix);
/* Elements of an input, 0 beyond the last, and of the result. */
size_t workload_input_size(const Workload *workload, int input);
size_t workload_output_size(const Workload *workload);
/* How many dimensions an input of weights has, and their extents. */
int workload_weight_dims(const Workload *workload, int input, int dims[MOST_DIMS]);
/* Terms of a sum, and operations of all. */
int workload_terms(const Workload *workload);
double workload_flops(const Workload *workload);

/* What an element would be without rounding, nearly, and what rounding errors are relative to. */
typedef struct Exact {
    double value, absolute;
} Exact;

Exact workload_exact(const Workload *workload, const float *const *inputs, size_t element);

#endif
