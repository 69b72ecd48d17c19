/* contest.h - the searches for one function, one for each of its programs: they take turns, and the best wins. */
#ifndef AUTOSCHED_CONTEST_H
#define AUTOSCHED_CONTEST_H

#include "autosched/plan.h"

typedef struct Contest Contest;

/* What the functions of a file share. */
typedef struct ContestFile {
    Planner *planner;
    const TuneOptions *options;
    const TuneBench *bench;
    double end; /* of all functions together: until then toolchains serve; 0: none */
} ContestFile;

struct Contest {
    const ContestFile *file;
    const PlanFunction *function;
    int number; /* of the function */
    FunctionTuning *tuning;
    int trials;           /* its part, of all programs */
    double deadline, end; /* of searching; of the race after it; 0: none */
    double kept;          /* seconds, for what is done after the race */
    bool spent;           /* the search has used all of its time, or an earlier one had the budget */
    int preferred;        /* chosen without measuring; until it is measured, no other one is better */
    TuneOptions *options; /* by program */
    Workshop workshop;
    Toolchain *const *toolchains;
    Tuner **tuners;
};

/* Whether earlier searches leave nothing to be done: then its plan is that of their records. *used: their trials. */
bool contest_is_known(Contest *contest, int *used);
/* Opens its toolchains, then its searches. False, with the reason in the tuning: nothing can be measured. */
bool contest_open(Contest *contest);
/* Takes the toolchains from its searches, and opens them again. False: they cannot be opened now. */
void contest_take_back(Contest *contest);
bool contest_lend(Contest *contest);
/* Measures the default of the preferred program. */
void contest_begin(Contest *contest);
/* Measures the best of all programs again, in turns. */
void contest_race(Contest *contest);
/* What is left of its part was given to others: for later compilations it was used. */
void contest_grant(Contest *contest);
/* Ends the searches, and takes the best result as its plan. */
void contest_end(Contest *contest);

#endif
