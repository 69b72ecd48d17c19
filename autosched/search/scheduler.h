/* scheduler.h - which of several searches goes on next: Ansor's task scheduler (its section 6), and taking turns.
 *
 * Time is given in units: one is a round of a search. Where the search has so many seconds, a unit of a slow task may
 * take longer than one of another, and what counts is what a second gains. A task is a search; a function takes as long
 * as its tasks do, each as often as it appears in it. Knows nothing of what is searched: it is told the best times.
 */
#ifndef AUTOSCHED_SEARCH_SCHEDULER_H
#define AUTOSCHED_SEARCH_SCHEDULER_H

#include "autosched/search/search.h"

typedef struct SchedulerTask {
    double operations; /* of a run; 0: not known */
    int kind;          /* tasks of one kind are similar: what one reaches a second, another may reach */
} SchedulerTask;

typedef struct SchedulerFunction {
    const double *weights; /* by task: how often it appears; 0: it does not */
    double reference;      /* seconds that it takes without searching; 0: not known */
} SchedulerFunction;

typedef struct Scheduler Scheduler;
/* policy: a row of scheduler_policies with its settings, as "gradient:alpha=0.2"; NULL: the first row.
 * Returns NULL for an unknown one. */
Scheduler *scheduler_open(Arena *arena, const char *policy, const SchedulerTask *tasks, int task_count,
                          const SchedulerFunction *functions, int function_count, uint64_t seed);
/* The task that gets the next unit. At first each gets one. -1: none is worth it. */
int scheduler_next(Scheduler *scheduler);
/* The task has used a unit, and the best time so far of one run is this; HUGE_VAL: none succeeded. length: of the unit,
 * in those of usual length. */
void scheduler_tell(Scheduler *scheduler, int task, double seconds, double length);
/* Nothing is left to find for the task. */
void scheduler_drop(Scheduler *scheduler, int task);
/* It gets units again. */
void scheduler_resume(Scheduler *scheduler, int task);

#endif
