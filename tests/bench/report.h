/* report.h - the results of `make bench`, as report.c reads them and plot.c draws them. */
#ifndef TESTS_BENCH_REPORT_H
#define TESTS_BENCH_REPORT_H

#include <stdbool.h>

enum { RESULT_FIELDS = 13, MOST_GROUPS = 64, MOST_PANELS = 8, MOST_SIDES = 16, MOST_PROCESSES = 64 };

typedef enum Own { O2, TUNED, LOOSE, OWN_COUNT } Own; /* loose: -ffp-error allows more error */

typedef struct Speed {
    const char *name, *way;
    double best, median; /* GFLOP/s; 0: it was not timed */
    double medians[MOST_PROCESSES], error;
    int count; /* of processes that timed it */
} Speed;

/* A workload with so many threads. */
typedef struct Row {
    char *set, *name, *group; /* the group is the operator */
    const char *wrong;        /* a side with a wrong result */
    int threads;
    double peak, lowest_peak; /* of the processes */
    Speed sides[MOST_SIDES];
    int side_count;
    Speed own[OWN_COUNT], library, winograd; /* of the libraries the fastest; winograd: what has a larger error */
} Row;

typedef struct Report {
    Row *rows;
    const char *groups[MOST_GROUPS], *sets[MOST_GROUPS];
    int count, group_count, set_count, most_threads, threads[MOST_PANELS], thread_count;
    bool loose;
} Report;

/* Direct algorithms are compared with direct ones; what -ffp-error allows with the fastest of all. */
typedef enum Ratio { O2_TO_LIBRARY, TUNED_TO_LIBRARY, LOOSE_TO_ANY, TUNED_TO_ANY, O2_TO_TUNED, RATIO_COUNT } Ratio;

typedef struct Mean {
    double value, least;
    int count;
} Mean;

double row_ratio(const Row *row, Ratio which, bool median); /* 0: there is none */
/* The geometric mean over the rows of a group or of a set. */
Mean report_mean(const Report *report, const char *group, int threads, Ratio which, bool median);
bool plot_write(const Report *report, const char *path);

#endif
