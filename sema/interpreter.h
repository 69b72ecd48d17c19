/* interpreter.h - what a Program means: the reference for all tests and for the search.
 *
 * It computes in the exact types and in source order, without reassociation. Beside each value it keeps a bound of the
 * rounding error, and a magnitude: the sum of the absolute values of the terms, which error bounds are relative to.
 */
#ifndef SEMA_INTERPRETER_H
#define SEMA_INTERPRETER_H

#include "lang/program.h"
#include "lang/value.h"

typedef struct Interpreter Interpreter;

/* sizes: the values of program->sizes, in order. arguments: one pointer for each of program->arguments. For a tensor it
 * points to its data in row-major order (for an output to its initial contents; NULL if no ROLE_INITIAL needs them).
 * For a scalar it points to one element. Nothing is copied, so the data must stay. Returns NULL and sets *why if a
 * requirement does not hold (with its status in *status) or if memory does not suffice. */
Interpreter *interpreter_new(const Program *program, const int64_t *sizes, void *const *arguments, int *status,
                             const char **why);
/* What each stage means by itself: what an object wrote into the outputs (results, by argument) is taken for their
 * exact contents where others read it. arguments: as above, with the initial contents of outputs. */
Interpreter *interpreter_of_results(const Program *program, const int64_t *sizes, void *const *arguments,
                                    void *const *results, int *status, const char **why);
/* From now on magnitudes and bounds are not needed, so computing is cheaper. */
void interpreter_values_only(Interpreter *interpreter);
void interpreter_free(Interpreter *interpreter);

typedef struct Evaluated {
    Value value;
    double magnitude; /* the sum of absolute terms; |value| if it is not a sum */
    double bound;     /* how far a correct object may differ by the numeric rules; 0 for integers and bool */
} Evaluated;

/* One element, computed on demand. Everything computed for it is kept. */
Evaluated interpreter_element(Interpreter *interpreter, const Tensor *tensor, const int64_t *index);
/* An element of an output whose contents are given: computed again, from what its stage reads. */
Evaluated interpreter_step(Interpreter *interpreter, const Tensor *tensor, const int64_t *index);
/* Whether all correct objects have the same contents of a tensor. */
bool interpreter_is_exact(Interpreter *interpreter, const Tensor *tensor);
/* How many operations a step takes. */
double interpreter_step_cost(const Interpreter *interpreter, const Tensor *tensor);
/* Writes a whole tensor into data, in row-major order. */
void interpreter_tensor(Interpreter *interpreter, const Tensor *tensor, void *data);
/* How many multiply-adds and other operations one whole evaluation takes: decides between whole and sampled checks. */
double interpreter_cost(const Program *program, const int64_t *sizes);

/* Algorithms with an error may differ more: adds that fraction of the largest magnitude among the values to the bounds
 * of floats. */
void evaluated_allow(Evaluated *values, int count, double error);
/* The same for all later calls of interpreter_check. */
void interpreter_allow(Interpreter *interpreter, double error);

typedef struct Mismatch {
    const Tensor *tensor;
    int64_t index[16], element;
    double expected, found, bound;
} Mismatch;

/* Compares output data with the meaning: all elements if that costs less than `limit` operations (0: 10^7), otherwise
 * corners, borders and seeded points. Returns the number of wrong elements and sets *first to the first one. */
int64_t interpreter_check(Interpreter *interpreter, int argument, const void *data, double limit, uint64_t seed,
                          Mismatch *first);
/* Whether a value is within the bound. Integers must be equal, NaN equals NaN, and infinities must have the same
 * sign. */
bool evaluated_matches(const Evaluated *expected, Value found);

double smallest_step(ElementType type); /* the smallest positive value of a float type */
double largest_value(ElementType type);

#endif
