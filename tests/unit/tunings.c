/* tunings.c - see tunings.h. */
#include "tests/unit/tunings.h"
#include "tests/tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *folder;

bool tunings_begin(Arena *arena) {
    const char *place = getenv("TMPDIR");
    folder = arena_printf(arena, "%s/tensorc-tune-XXXXXX", place && *place ? place : "/tmp");
    return mkdtemp(folder) != NULL;
}

int tunings_end(Arena *arena) {
    int status = system(arena_printf(arena, "rm -rf '%s'", folder));
    return status ? status : done_testing();
}

Target wide_target(void) {
    Target target = *target_find("x86-64-v4");
    target.threads = 2;
    return target;
}

const char *tunings_file(Arena *arena, const char *name) {
    return arena_printf(arena, "%s/%s", folder, name);
}

Database *open_database(Arena *arena, const char *name) {
    return database_for_test(arena, tunings_file(arena, name));
}

TuneOptions options_for(int trials) {
    return (TuneOptions){.trials = trials,
                         .search = "anneal",
                         .cost_model = "xgboost",
                         .seed = 7,
                         .threads = 2,
                         .device = "a device",
                         .toolchain = "a toolchain"};
}

const char *text_of(Arena *arena, const Schedule *schedule) {
    Text text = {.arena = arena};
    text_add(&text, " ");
    schedule_print_statements(&text, schedule);
    return text.text;
}

int count_records(Arena *arena, Database *database, const Program *program, const Target *target) {
    Record *records;
    return database_find(arena, database, task_hash(arena, program), database_target(target), 2, &records);
}

void has_history(Arena *arena, Database *database, const Program *program, const Target *target, int trials,
                 const char *name) {
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
