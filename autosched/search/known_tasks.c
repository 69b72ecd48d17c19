/* known_tasks.c - a schedule for a program that was not tuned itself, from the records of its tasks: what was tuned in
 * another function serves this one.
 *
 * Tasks without a record get what the static model chooses. Nothing is measured.
 */
#include "autosched/search/search.h"

#include <string.h>

typedef struct KnownTask {
    const Task *task;
    const Schedule *schedule; /* the best recorded, or NULL */
} KnownTask;

static const KnownTask *find_equal(const KnownTask *tasks, int count, const Task *task) {
    for (int t = 0; t < count; t++)
        if (!strcmp(tasks[t].task->key, task->key))
            return &tasks[t];
    return NULL;
}

/* Returns how many have a record. */
static int find_records(Arena *arena, Database *database, Program *const *parts, int count, const Target *target,
                        int threads, KnownTask *tasks) {
    int known = 0;
    for (int p = 0; p < count; p++) {
        tasks[p].task = task_new(arena, parts[p], NULL);
        const KnownTask *equal = find_equal(tasks, p, tasks[p].task);
        if (!equal)
            tasks[p].schedule = database_best(arena, database, parts[p], target, NULL, threads, "", NULL);
        else if (equal->schedule)
            tasks[p].schedule = task_schedule(arena, tasks[p].task, target,
                                              task_text(arena, equal->task, equal->schedule));
        known += tasks[p].schedule != NULL;
    }
    return known;
}

Schedule *tasks_schedule(Arena *arena, Database *database, const Program *program, const Target *target, int threads,
                         uint64_t seed, bool all) {
    Program **parts;
    int count = program->size_count ? 1 : space_tasks(space_new(arena, program, target, NULL), &parts);
    if (count <= 1)
        return NULL;
    KnownTask *tasks = ARENA_ARRAY(arena, KnownTask, count);
    int known = find_records(arena, database, parts, count, target, threads, tasks);
    if (known == 0 || (all && known < count))
        return NULL;
    Schedule **schedules = ARENA_ARRAY(arena, Schedule *, count);
    for (int p = 0; p < count; p++)
        schedules[p] = tasks[p].schedule
                           ? (Schedule *)tasks[p].schedule
                           : autosched_default(arena, parts[p], target, NULL, EFFORT_MODEL, seed);
    Schedule *joined = schedules_join(arena, program, target, schedules, count);
    return nest_build(arena, program, joined, NULL, target, NULL) ? joined : NULL;
}
