/* tunings.c - see tunings.h. */
#include "tests/unit/tunings.h"
#include "tests/unit/objects.h"

static const char *folder;

bool tunings_begin(Arena *arena) {
    folder = work_folder_make(arena);
    return folder != NULL;
}

void tunings_end(void) {
    work_folder_remove(folder);
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
