/* interpreter.h - what a Program means: the oracle of all tests and of the tuner.
 *
 * Evaluates in exact types, in source order, without reassociation. Beside each value stands a magnitude, the sum of
 * the absolute terms that made it, the measure that error bounds are relative to, and a bound of the rounding error.
 */
#ifndef SEMA_INTERPRETER_H
#define SEMA_INTERPRETER_H

#include "lang/program.h"
#include "lang/value.h"

typedef struct Interpreter Interpreter;

/* sizes: values of program->sizes in order. arguments: one pointer for each of program->arguments: tensor data, row
 * major (an output's pointer holds its initial contents, needed only where ROLE_INITIAL occurs, else may be NULL), or
 * for a scalar a pointer to one element. Nothing is copied; the data must stay. Returns NULL with *why set when a
 * requirement does not hold (status in *status) or memory does not suffice. */
Interpreter *interpreter_new(const Program *program, const int64_t *sizes, void *const *arguments, int *status,
                             const char **why);
/* From now on neither magnitudes nor bounds are of use: what is computed costs less. */
void interpreter_values_only(Interpreter *interpreter);
void interpreter_free(Interpreter *interpreter);

typedef struct Evaluated {
    Value value;
    double magnitude; /* sum of absolute terms; |value| where nothing was summed */
    double bound;     /* allowed |difference| of a correct object, by the numeric rules; 0 for integers and bool */
} Evaluated;

/* One element, computed on demand with everything it needs remembered. */
Evaluated interpreter_element(Interpreter *interpreter, const Tensor *tensor, const int64_t *index);
/* A whole tensor into data (row major). */
void interpreter_tensor(Interpreter *interpreter, const Tensor *tensor, void *data);
/* Multiply-adds and other operations one whole evaluation takes, for choosing between whole and sampled checks. */
double interpreter_cost(const Program *program, const int64_t *sizes);

/* Adds to the bounds of floats what algorithms with an error may differ by: parts of the largest magnitude among them. */
void evaluated_allow(Evaluated *values, int count, double error);
/* The same for what interpreter_check compares from now on. */
void interpreter_allow(Interpreter *interpreter, double error);

typedef struct Mismatch {
    const Tensor *tensor;
    int64_t index[16], element;
    double expected, found, bound;
} Mismatch;

/* Compares output data with the meaning: all elements when the cost is below limit operations (10^7 by default for 0),
 * otherwise corners, borders and seeded points. Returns the number of wrong elements; the first is in *first. */
int64_t interpreter_check(Interpreter *interpreter, int argument, const void *data, double limit, uint64_t seed,
                          Mismatch *first);
/* The bound for another type of accumulation order: exact for integers, NaN equals NaN, infinities by sign. */
bool evaluated_matches(const Evaluated *expected, Value found);

double smallest_step(ElementType type); /* the smallest positive value of a float type */
double largest_value(ElementType type);

#endif
