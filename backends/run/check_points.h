/* check_points.h - elements of a function's outputs at which what a candidate wrote is checked, and their values. */
#ifndef BACKENDS_RUN_CHECK_POINTS_H
#define BACKENDS_RUN_CHECK_POINTS_H

#include "backends/run/run.h"
#include "sema/interpreter.h"

/* The caller sets the first part. What is made lives in the arena, but for the arguments. */
typedef struct CheckPoints {
    Arena *arena;
    const Program *program; /* the meaning of what is checked, of no run-time sizes */
    void *const *inputs;    /* as in ToolchainOptions */
    uint64_t seed;

    void **arguments; /* contents before a call */
    int count;
    struct SamplePoint *samples; /* those of an output are contiguous */
    Evaluated *values;
} CheckPoints;

/* Fills the arguments. False: there is no memory for them. */
bool check_points_fill(CheckPoints *points);
/* Chooses up to `most` elements of each output. most: by argument. */
void check_points_choose(CheckPoints *points, const int *most);
/* Chooses elements and lets the interpreter compute their values. NULL, or why it cannot. */
const char *check_points_interpret(CheckPoints *points);
/* The values for programs whose algorithms have an error. */
Evaluated *check_points_allow(const CheckPoints *points, double error);
/* Compares what a candidate has there: 8 bytes each. NULL, or what is wrong. */
const char *check_points_compare(const CheckPoints *points, const Evaluated *expected, const uint8_t *bytes);
void check_points_close(CheckPoints *points);
/* The indices of an element of a tensor whose extents are known. */
void element_index(const Tensor *tensor, int64_t element, int64_t *index);

enum { SAMPLES_AN_OUTPUT = 192 };

/* --- reference.c --- */

/* What runs an object: fills what is open of the request; context is the caller's. */
typedef struct ReferenceRunner {
    void *context;
    void (*run)(void *context, RunRequest *request, RunResult *result);
} ReferenceRunner;

/* Chooses elements and takes their values from what the object of a reference (its exposed program) computes; arguments
 * are filled. NULL, or why that is not to be trusted; then no elements are chosen. */
const char *reference_evaluate(CheckPoints *points, const Program *exposed, const ReferenceRunner *runner);

#endif
