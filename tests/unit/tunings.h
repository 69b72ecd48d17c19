/* tunings.h - what tests of tunings against a simulated toolchain share: a folder for their databases, and what they
 * ask of those. */
#ifndef TESTS_UNIT_TUNINGS_H
#define TESTS_UNIT_TUNINGS_H

#include "autosched/autosched.h"
#include "tests/tap.h"
#include "tests/unit/simulated.h"

#include <math.h>
#include <string.h>

/* Makes the folder. False: it cannot be made. */
bool tunings_begin(Arena *arena);
/* Removes it. */
void tunings_end(void);

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
__attribute__((unused)) static void has_history(Arena *arena, Database *database, const Program *program,
                                                const Target *target, int trials, const char *name) {
    Record *records;
    int count = database_find(arena, database, task_hash(arena, program), database_target(target), 2, &records);
    bool *seen = ARENA_ARRAY(arena, bool, trials + 1);
    int ordered = 0, defaults = 0, predicted = 0, described = 0;
    for (int r = 0; r < count; r++) {
        const Record *record = &records[r];
        bool first = record->order == 1 && !strcmp(record->policy, "default") && isnan(record->prediction);
        if (record->order >= 1 && record->order <= trials && !seen[record->order])
            ordered += seen[record->order] = true;
        defaults += first;
        predicted += !first && !strcmp(record->policy, "anneal") && isfinite(record->prediction);
        described += !strcmp(record->device, "a device") && !strcmp(record->toolchain, "a toolchain") &&
                     record->features == FEATURE_VERSION && record->wall_seconds > 0 && record->operations > 0 &&
                     record->peak > 0;
    }
    is_int(ordered, trials, "%s: each trial has its number", name);
    is_int(defaults, 1, "the first is the default");
    is_int(predicted, trials - 1, "what the policy proposed was predicted");
    is_int(described, trials, "what measured them, and in how long");
    const Task *task = task_new(arena, program, NULL);
    const char *text = database_program(arena, database, task->key);
    is_text(text ? text : "", task_program(arena, task), "and the text of the program");
}

#endif
