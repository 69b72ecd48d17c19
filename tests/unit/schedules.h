/* schedules.h - programs from source text and random legal schedules of them, for tests of the law that a schedule
 * never changes what a program means.
 */
#ifndef TESTS_SCHEDULES_H
#define TESTS_SCHEDULES_H

#include "lang/random.h"
#include "lower/nest/nest.h"

/* The number that an environment variable holds: which cases of a law are asked for. */
uint64_t from_environment(const char *name, uint64_t otherwise);

/* The first export of a source text, or its first def, with some sizes bound (all others stay run-time sizes). Prints
 * what is wrong and ends the test program when the text is not a valid one. */
Program *program_of_text(Arena *arena, const char *text, const struct Binding *bindings, int count);
/* With nothing bound; *schedule: its schedule block or NULL. */
Program *scheduled_program_of_text(Arena *arena, const char *text, const Schedule **schedule);

/* Up to `count` random primitives, each legal after those before it. */
Schedule *random_schedule(Arena *arena, const Program *program, const Target *target, Random *random, int count);

typedef struct ScheduleMaking {
    bool arbitrary;              /* the last primitive may be one that is refused */
    const Schedule *first;       /* statements before them, unless they are refused; or NULL */
    int64_t *accepted, *refused; /* [PRIM_COUNT] counted up as primitives are tried, or NULL */
} ScheduleMaking;
Schedule *random_schedule_made(Arena *arena, const Program *program, const Target *target, Random *random, int count,
                               const ScheduleMaking *making);

#endif
