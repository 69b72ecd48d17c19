/* target.h - what a fuzzer of bytes is made of: one function that may not crash whatever it is given, and inputs to
 * begin with. Linked with libFuzzer where clang has it, and with replay.c everywhere.
 */
#ifndef TESTS_TARGET_H
#define TESTS_TARGET_H

#include "lang/diag.h"
#include "lang/program.h"
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

typedef void WriteSeed(void *context, const void *bytes, size_t size);
/* Inputs that are valid: what mutations begin with beside the files of the tests. */
void write_seeds(WriteSeed *write, void *context);

/* --- reading.c: sources, and messages that nobody sees --- */

typedef struct Reading {
    Sources sources;
    Diagnostics *diagnostics;
    FILE *stream;
    char *messages;
    size_t length;
} Reading;

void reading_begin(Reading *reading, Arena *arena);
void reading_end(Reading *reading);

/* --- fixed.c: programs for inputs that need one --- */

enum { FIXED_PROGRAMS = 7 };
/* Checked once, in an arena of their own. */
const Program *fixed_program(int number);
/* The program that the first byte of an input chooses, and the text behind it, terminated, in the arena. NULL: no
 * input. */
const Program *input_program(Arena *arena, const uint8_t *bytes, size_t size, const char **text);
/* Ends the process as a crash does. */
_Noreturn void fail_input(const char *what, const char *text);

#endif
