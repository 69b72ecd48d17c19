/* kernel_run.h - executes Kernels, before and after flattening, for tests alone.
 *
 * Every access is checked against its buffer. An element that was never written reads as undefined; undefined values
 * may be computed with and kept in temporaries (masked-off lanes do), but a condition, an index or an output that gets
 * one is a fault. Parallel loops run from their last iteration to the first, so that a dependence between iterations
 * shows, and an element that one iteration writes and another one touches is a fault.
 */
#ifndef TESTS_KERNEL_RUN_H
#define TESTS_KERNEL_RUN_H

#include "lower/kernel/kernel.h"

/* The answer where nothing is wrong yet after some 10^5 statements: schedules can make loops with few values that
 * count. */
enum { KERNEL_RUN_TOO_LONG = -1 };

/* sizes: values of program->sizes; arguments: one pointer for each of program->arguments, row major, or to a scalar.
 * Returns what the function would. *fault: NULL, or what went wrong, with the statement. */
int kernel_run(const Kernel *kernel, const int64_t *sizes, void *const *arguments, const char **fault);
/* The same of a kernel that is as it was built. */
int kernel_run_built(const Kernel *kernel, const int64_t *sizes, void *const *arguments, const char **fault);
/* The same as the first; the answer is how many elements were stored to buffers of that name. */
int64_t kernel_run_writes(const Kernel *kernel, const int64_t *sizes, void *const *arguments, const char *watched,
                          int *status, const char **fault);

#endif
