/* kernel_read.h - kernels from the text that kernel_print writes: the form in which tests write, damage and compare
 * them.
 */
#ifndef TESTS_UNIT_KERNEL_READ_H
#define TESTS_UNIT_KERNEL_READ_H

#include "lower/kernel/kernel.h"

/* Reads what kernel_print wrote, against the same program. NULL with *why on malformed text. */
Kernel *kernel_read(Arena *arena, const Program *program, const Target *target, const char *text, const char **why);

#endif
