/* inputs.h - contents of arguments that the command line names files for, with -run and -O tune. */
#ifndef DRIVER_INPUTS_H
#define DRIVER_INPUTS_H

#include "driver/driver.h"

const char *argument_name(const Argument *argument);
int64_t *argument_shape(Compilation *compilation, const Program *program, const int64_t *sizes,
                        const Tensor *tensor); /* sizes NULL: all are known */
/* The contents of an argument from a file that must hold exactly its type and shape. False after a message. */
bool load_input(Compilation *compilation, const Program *program, const int64_t *sizes, const Argument *argument,
                const NamedFile *file, void *data);
/* What a search gives the arguments of a program whose sizes are known: NULL for those that are random. NULL: all are.
 * *name tells these contents from others. */
void *const *search_inputs(Compilation *compilation, const Program *program, const char **name);
/* Whether each file is for an argument, and fits one of a function that is searched for. False after a message. */
bool search_inputs_fit(Compilation *compilation, Program *const *programs, int count);

#endif
