/* tune.h - what the files of -O tune share: the searches for one unit. */
#ifndef DRIVER_TUNE_H
#define DRIVER_TUNE_H

#include "driver/driver.h"

typedef struct Contest Contest;
typedef struct Progress Progress;

/* What one search last said of itself. */
typedef struct ShownSearch {
    const Contest *contest;
    TuneProgress last;
} ShownSearch;

/* The searches for a unit as it is written and with each of its alternatives; under a block of the user's there is one. */
struct Contest {
    const Target *target;
    const Schedule *user;
    int count, trials;
    double since;         /* when it began */
    double deadline, end; /* of searching, of the race after it; 0: none */
    bool spent;           /* the search had all of its time */
    int preferred;        /* that is taken without measuring: nothing is better than it before it is measured */
    void *const *inputs; /* of arguments; NULL: all are random */
    const char *inputs_name;
    const Unit **units;
    Program **programs;
    Toolchain *const *toolchains; /* NULL: nothing is measured */
    Tuner **tuners;
    ShownSearch *shown;
    Progress *progress; /* NULL: nothing is shown */
};

/* 1.5 ms (20.3 GFLOP/s) */
const char *speed_text(Arena *arena, double seconds, double flops);
/* From one to the other a line tells how far the searches are. */
void progress_begin(Compilation *compilation, Contest *contest);
void progress_end(Contest *contest);
/* context: the ShownSearch of the search. */
void show_progress(void *context, const TuneProgress *progress);
/* What was searched and what is best, in a line; with -v a line for each algorithm besides. */
void show_results(const Compilation *compilation, const Contest *contest, TuneResult *const *results, int best);
/* With -v: nothing had to be measured. */
void show_found(const Compilation *compilation, const Program *program);

#endif
