/* simulated.h - a toolchain that builds and runs nothing: times follow from the nest by a formula of its own, and
 * chosen candidates fail to build, crash, hang or answer wrongly. For tests of searches.
 */
#ifndef TESTS_SIMULATED_H
#define TESTS_SIMULATED_H

#include "autosched/search/policies.h"

enum { SIMULATED_RACE_CALLS = 20 }; /* of a measurement in the race */

typedef struct Simulated {
    Toolchain toolchain;
    Arena *arena;
    const Program *program;
    const Target *target;
    int failure_rate; /* one of so many candidates fails, in turns of all kinds; 0: none */
    bool all_fail;
    bool deaths;      /* crashes end processes */
    bool first_dies;  /* the default does, always */
    int broken_after; /* so many runs every further one ends its process; 0: none */
    int cut_after;    /* so many runs the connection is cut: each further one ends a process, not by a fault */
    int default_dies; /* the default's second run, before the race, and so many in all end their process */
    int default_busy; /* the same by the machine's load */
    int race_ends;    /* the default's runs of the race from this one on find no process; 0: none */
    int busy;         /* so many of the next builds fail by the machine's load; -1: the default's builds do, always */
    bool without_memory; /* that is what those fail by */
    int stop_after;      /* measurements until *stop is set; 0: never */
    int stop;
    int die_at;         /* measurement at which the process is killed; 0: never */
    int pause;          /* microseconds a measurement takes */
    int build_pause;    /* that a build takes, one after the other */
    double slower;      /* than the formula says, so many times; 0: as it says */
    double racing;      /* the same of the race alone, besides; 0: as it says */
    double first;       /* the same of the first measurement alone, besides */
    const char *lonely; /* a stage; where it is inlined or computed at another one, all takes three times as long */
    int built, measured, raced, released;
    int looks;        /* measurements before the race of what was measured already */
    int disturbed;    /* so many of the next measurements are disturbed; -1: all but the default's */
    int burst;        /* each of so many measurements before the race is three times slower; 0: none */
    int slow_from;    /* so many first measurements before the race, then the machine is three times slower; 0: never */
    double reference; /* so many times slower is, from the same measurement on, the default alone; 0: as the others */
    bool breaks;      /* the second measurement of all but the default gives a wrong result */
    int first_runs;   /* of the default, before the race */
    int ahead;        /* the most builds that waited for a measurement at once */
    int waiting;
    int repeated; /* schedules that were measured twice before the race */
    HashSet seen;
    LIST(Candidate *) queue;
    int next;
} Simulated;

void simulated_open(Simulated *simulated, Arena *arena, const Program *program, const Target *target);
void simulated_close(Simulated *simulated);
/* Seconds of a schedule by the formula; HUGE_VAL when it is not legal. */
double simulated_seconds(Simulated *simulated, const Schedule *schedule);

/* Ends the test where there is none. */
Database *database_for_test(Arena *arena, const char *path);
/* Records of the program that are no times. */
int count_failures(Arena *arena, Database *database, const Program *program, const Target *target);

#endif
