/* inputs.h - contents of arguments from files that the command line names, for -run and -O tune. */
#ifndef DRIVER_INPUTS_H
#define DRIVER_INPUTS_H

#include "driver/driver.h"

const char *argument_name(const Argument *argument);
int64_t *argument_shape(Compilation *compilation, const Program *program, const int64_t *sizes,
                        const Tensor *tensor); /* NULL if all sizes are known */
/* Whether it has contents before a call: a result has them where it is inout. */
bool argument_has_contents(const Program *program, const Argument *argument);
/* True, after a message, if it is the name of a result that has none. */
bool refuse_output_as_input(Program *const *programs, int count, const char *name);
/* The files of --input for arguments of the program, as "'a.npy' as x"; NULL: none. */
const char *given_inputs(Compilation *compilation, const Program *program);
/* The argument whose random contents decide how many terms a reduction has; NULL: none, or --input gives them. */
const char *random_term_counts(Compilation *compilation, const Program *program);
/* The contents of an argument from a file, which must have exactly its type and shape. data: NULL: it is only
 * looked at. False after a message. */
bool load_input(Compilation *compilation, const Program *program, const int64_t *sizes, const Argument *argument,
                const NamedFile *file, void *data);
/* The contents that a search gives to the arguments of a program with known sizes; an element is NULL if its
 * argument is random, and the result is NULL if all are. *name identifies these contents. *unfit: the files for its
 * arguments that do not fit, with reasons; NULL: all do. */
void *const *search_inputs(Compilation *compilation, const Program *program, const char **name, const char **unfit);
/* Whether each file is for an argument of a function that is searched for, and fits it. False after a message. */
bool search_inputs_fit(Compilation *compilation, Program *const *programs, int count);

#endif
