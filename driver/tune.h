/* tune.h - what the files of -O tune share: the searches for the functions of a file, and what is shown of them. */
#ifndef DRIVER_TUNE_H
#define DRIVER_TUNE_H

#include "driver/driver.h"

typedef struct Progress Progress;

/* What the searches for a function reported last. */
typedef struct ShownSearches {
    const PlanFunction *function;
    int trials;
    double since, end; /* end: 0: none */
    TuneProgress *last; /* by program */
} ShownSearches;

/* The functions that are searched for. Lists are by function. */
typedef struct TunedFile {
    Compilation *compilation;
    Function *const *functions;
    PlanFunction *asked;
    void *const **inputs; /* by argument; NULL: all are random */
    const char **unfit;   /* of search_inputs */
    ShownSearches shown;  /* of the function that is searched now */
    Progress *progress;   /* NULL: nothing is shown */
} TunedFile;

/* 1.5 ms (20.3 GFLOP/s) */
const char *speed_text(Arena *arena, double seconds, double flops);
/* Between these two calls lines show how far the searches for a function are. */
void progress_begin(TunedFile *file);
void progress_end(TunedFile *file);
/* context: the TunedFile. */
void show_progress(void *context, int function, int program, const TuneProgress *progress);
/* One line with what was searched and what is best; with -v also one line for each algorithm. */
void show_results(const Compilation *compilation, const FunctionTuning *tuning);
/* With -v: says that nothing had to be measured. */
void show_found(const Compilation *compilation, const Program *program);

#endif
