/* tunings.h - what tests of tunings against a simulated toolchain share: a folder for their databases, and what they
 * ask of those. */
#ifndef TESTS_UNIT_TUNINGS_H
#define TESTS_UNIT_TUNINGS_H

#include "autosched/autosched.h"
#include "tests/unit/simulated.h"

/* Makes the folder. False: it cannot be made. */
bool tunings_begin(Arena *arena);
/* Removes it. Returns the status of the test's program. */
int tunings_end(Arena *arena);

Target wide_target(void);
/* Of the folder. */
const char *tunings_file(Arena *arena, const char *name);
Database *open_database(Arena *arena, const char *name);
TuneOptions options_for(int trials);
const char *text_of(Arena *arena, const Schedule *schedule);
/* Records of the program, also those that are no times. */
int count_records(Arena *arena, Database *database, const Program *program, const Target *target);
/* The records of a search say when each trial was made, by whom it was proposed, and what was predicted; the text of
 * the program is there once. */
void has_history(Arena *arena, Database *database, const Program *program, const Target *target, int trials,
                 const char *name);

#endif
