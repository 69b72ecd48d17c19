/* lowering.c - how long the two halves of lowering take: nest_build, which a search calls tens of thousands of times,
 * and all of it, which each candidate that is built pays once.
 *
 * usage: lowering FILE.tensor    prints a line for each export and its first schedule block that fits x86-64-v4: the
 * median and the least time of many runs, in microseconds of this process's processor time.
 */
#include "lower/kernel/kernel.h"
#include "reading.h"
#include "times.h"

#include <stdlib.h>

enum { NEST_RUNS = 2000, EXPAND_RUNS = 200 };

typedef struct Case {
    const Program *program;
    const Schedule *schedule;
    const Target *target;
    bool whole; /* expand too */
} Case;

static void lower_once(Arena *arena, const Case *c) {
    Nest *nest = nest_build(arena, c->program, c->schedule, NULL, c->target, NULL);
    if (nest == NULL) {
        fprintf(stderr, "lowering: the schedule of %s is refused\n", c->program->symbol);
        exit(1);
    }
    if (c->whole)
        expand(arena, nest, &(ExpandOptions){0});
}

/* Median and least time of `runs` runs, the arena's memory reused as a search does. */
static void measure(const Case *c, int runs, double *median, double *least) {
    double *times = calloc((size_t)runs, sizeof *times);
    Arena *arena = arena_new();
    for (int i = 0; times != NULL && i < runs; i++) {
        double since = microseconds();
        lower_once(arena, c);
        times[i] = microseconds() - since;
        arena_reset(arena);
    }
    sort_times(times, runs);
    *median = times[runs / 2];
    *least = times[0];
    free(times);
    arena_free(arena);
}

static void report(const Unit *unit, const Target *target) {
    for (int i = 0; i < unit->schedule_count; i++) {
        double median[2], least[2];
        Case c = {unit->program, unit->schedules[i], target, false};
        if (target_match(target, c.schedule->target) == 0)
            continue;
        measure(&c, NEST_RUNS, &median[0], &least[0]);
        c.whole = true;
        measure(&c, EXPAND_RUNS, &median[1], &least[1]);
        printf("%-16s %4d %12.1f %8.1f %14.0f %8.0f\n", unit->program->symbol, c.schedule->count, median[0], least[0],
               median[1], least[1]);
        return;
    }
}

int main(int argc, char **argv) {
    Arena *arena = arena_new();
    Module *module = argc == 2 ? read_module(arena, argv[1], NULL) : NULL;
    if (module == NULL) {
        fprintf(stderr, "usage: lowering FILE.tensor\n");
        return 2;
    }
    printf("%-16s %4s %21s %23s\n", "microseconds", "", "nest median   least", "all median    least");
    for (int i = 0; i < module->units.count; i++)
        report(&module->units.items[i], target_find("x86-64-v4"));
    arena_free(arena);
    return 0;
}
