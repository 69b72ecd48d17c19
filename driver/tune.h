/* tune.h - what the files of -O tune share: the searches for the functions of a file, and what is shown of them. */
#ifndef DRIVER_TUNE_H
#define DRIVER_TUNE_H

#include "driver/driver.h"

typedef struct Progress Progress;

/* What the searches for a function reported last. */
typedef struct ShownSearches {
    const PlanFunction *function; /* NULL: they have not begun */
    int trials;                   /* that are its part */
    TuneProgress *last;           /* by program */
    int program;                  /* that reported last */
} ShownSearches;

/* The functions that are searched for. Lists are by function. */
typedef struct TunedFile {
    Compilation *compilation;
    Function *const *functions;
    PlanFunction *asked;
    void *const **inputs; /* by argument; NULL: all are random */
    const char **unfit;   /* of search_inputs */
    Map references;       /* by program: what the values that results are compared with come from */
    int count;
    ShownSearches *shown;
    int current;        /* the function that is searched now */
    int going;          /* functions that have begun, and not ended */
    double since, end;  /* of all searches; end: 0: none */
    double last_line;   /* when it was shown */
    Progress *progress; /* NULL: nothing is shown */
} TunedFile;

/* 1.5 ms (20.3 GFLOP/s) */
const char *speed_text(Arena *arena, double seconds, double flops);
/* Between these two calls lines show how far the searches are. Nothing, where lines are shown already, or are not. */
void progress_begin(TunedFile *file);
void progress_end(TunedFile *file);
/* context: the TunedFile. */
void show_progress(void *context, int function, int program, const TuneProgress *progress);
/* One line with what was searched and what is best; with -v also one line for each algorithm. */
void show_results(const Compilation *compilation, const FunctionTuning *tuning);
/* With -v: says that nothing had to be measured. */
void show_found(const Compilation *compilation, const Program *program);

#endif
