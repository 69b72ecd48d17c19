/* random_program.h - random valid programs as source text, for tests of laws that hold for every program. */
#ifndef TESTS_RANDOM_PROGRAM_H
#define TESTS_RANDOM_PROGRAM_H

#include "lang/expr.h"

/* The text of one def, "f", and of one export with all its sizes bound. The same seed gives the same text everywhere.
 * bindings gets the sizes (SIZE_NAMES of them) and their values, for those who leave the export out. */
enum { RANDOM_SIZES = 3 };
const char *random_program(Arena *arena, uint64_t seed, bool with_export, struct Binding *bindings);

/* Programs with all that the language has: predicates, scatter, scans, calls, ranges that depend on indices or begin
 * elsewhere than at 0, checked gathers, tuples and constants where they are wanted. */
typedef struct RandomForms {
    bool tuples;
    bool files; /* constants of files TYPE-EXTENTxEXTENT-SEED.npy, which the caller makes */
} RandomForms;
const char *random_program_of_all(Arena *arena, uint64_t seed, const RandomForms *forms, struct Binding *bindings);

#endif
