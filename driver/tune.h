/* tune.h - what the files of -O tune share: the searches for one unit. */
#ifndef DRIVER_TUNE_H
#define DRIVER_TUNE_H

#include "driver/driver.h"

typedef struct Contest Contest;
typedef struct Progress Progress;

/* What a search reported last. */
typedef struct ShownSearch {
    const Contest *contest;
    TuneProgress last;
} ShownSearch;

/* The searches for a unit: one for the program as written and one for each alternative. With a user's block there is
 * only one. */
struct Contest {
    const Target *target;
    const Schedule *user;
    int count, trials;
    double since;         /* when it began */
    double deadline, end; /* of searching; of the race after it; 0: none */
    bool spent;           /* the search has used all of its time */
    int preferred;        /* chosen without measuring; until it is measured, no other one is better */
    void *const *inputs;  /* by argument; NULL: all are random */
    const char *inputs_name, *inputs_unfit; /* of search_inputs */
    const Unit **units;
    Program **programs;
    Toolchain *const *toolchains; /* NULL: nothing is measured */
    Tuner **tuners;
    ShownSearch *shown;
    Progress *progress; /* NULL: nothing is shown */
};

/* 1.5 ms (20.3 GFLOP/s) */
const char *speed_text(Arena *arena, double seconds, double flops);
/* Between these two calls lines show how far the searches are. */
void progress_begin(Compilation *compilation, Contest *contest);
void progress_end(Contest *contest);
/* context: the ShownSearch of the search. */
void show_progress(void *context, const TuneProgress *progress);
/* One line with what was searched and what is best; with -v also one line for each algorithm. */
void show_results(const Compilation *compilation, const Contest *contest, TuneResult *const *results, int best);
/* With -v: says that nothing had to be measured. */
void show_found(const Compilation *compilation, const Program *program);

#endif
