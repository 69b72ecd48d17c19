/* calls.h - the times of repeated calls, and which of them nothing disturbed.
 *
 * A thread that waits for the processor is not at work: its own clock stands still. A call of one thread takes the
 * processor time of that thread; with parallel loops, that of the slowest thread of each loop, the time between the
 * loops, and what beginning and ending a loop takes. Where nothing disturbs a call that is what the wall clock shows.
 * Nothing here reads a clock: watch.h does.
 */
#ifndef BACKENDS_RUN_CALLS_H
#define BACKENDS_RUN_CALLS_H

#include "lang/arena.h"
#include "lang/tensorc.h"

/* What a thread's clocks and counters say, or their difference. */
typedef struct Reading {
    double wall, processor;  /* seconds */
    int64_t switches, waits; /* of the processor to others: against its will, and by its will */
} Reading;

/* What was seen of a call, or of several in a row. */
typedef struct CallSeen {
    Reading caller;       /* the thread that calls */
    double all_processor; /* of all threads */
    int64_t all_switches, all_waits;
    bool examined;         /* the following are known */
    double path;           /* processor time from begin to end, by the slowest thread of each loop */
    int64_t path_switches; /* of the processor meanwhile */
    int64_t loops;         /* that ran in parallel */
    double begin_and_end;  /* the least time that a loop took beyond its slowest thread; HUGE_VAL: there was none */
    int64_t calls;         /* that these are the mean of; set here */
} CallSeen;

typedef struct CallLimits {
    int64_t threads, max_calls;
    double min_seconds;  /* to repeat for at least */
    double steady;       /* enough when the fastest differ by this part of their time; or 0 */
    double stop_seconds; /* slower calls are hardly repeated; 0: no limit */
    bool hasty;          /* disturbed calls get no time of their own */
    double about;        /* the first call took so long, by the processor time of its threads; 0: not known */
} CallLimits;

typedef LIST(double) Times; /* the least first */

typedef struct Calls {
    Arena *arena;
    CallLimits limits;
    LIST(CallSeen) seen; /* of one call each */
    Times times, clean;  /* of all calls; of those that nothing disturbed */
    Times still;         /* of those of them that the wall clock tells */
    double begin_and_end;
    double total, undisturbed, still_seconds; /* by the wall clock, also for waiting; of `clean`; of `still` */
} Calls;

/* A part of a call that one thread runs. A thread that gave the processor away by itself takes the time until it came
 * back. */
double reading_seconds(const Reading *reading);
/* Adds what was seen of `group` calls in a row. */
void calls_add(Calls *calls, CallSeen seen, int64_t group);
/* Whether more calls would tell more. */
bool calls_go_on(const Calls *calls);
/* Whether the next call should begin when all threads have a processor: where others compute, that is soon over. Such
 * calls are short enough to end before that, and the wall clock shows their time. */
bool calls_need_gathering(const Calls *calls);
/* Whether it takes a closer look to tell what disturbs the calls. */
bool calls_need_examining(const Calls *calls);
/* Whether the wall clock shows the time of the last one. */
bool calls_are_still(const Calls *calls);
/* Of all undisturbed calls, or of all when none is: their lower quartile, least and coefficient of variation. No call
 * takes less than a nanosecond. */
typedef struct CallTimes {
    double seconds, least, spread;
} CallTimes;
CallTimes calls_times(const Calls *calls);
/* Without what only the machine knows. */
Disturbance calls_disturbance(const Calls *calls);

#endif
