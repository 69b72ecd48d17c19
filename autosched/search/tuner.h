/* tuner.h - the state of one tuning, shared by its phases: history, rounds, race. */
#ifndef AUTOSCHED_SEARCH_TUNER_H
#define AUTOSCHED_SEARCH_TUNER_H

#include "autosched/search/policies.h"

/* One candidate that is, or was, measured. */
typedef struct Trial {
    Candidate candidate;
    const int *point; /* NULL: not a point of the space */
    const float *features;
    const char *text;                /* of the schedule in canonical names: its key in the database */
    double raced;                    /* seconds in the final race; 0 before */
    bool built;                      /* well or not */
    bool finished;                   /* counted in this batch, the search is not told yet */
    int looks;                       /* that gave a time */
    double second_look;              /* the least time but one; 0: there is none */
    bool unproposed;                 /* the default: no policy proposed it */
    int order;                       /* its number in the search, from 1 */
    double wall_seconds, prediction; /* see Record */
    const Record *past;              /* what the database had of it; NULL: nothing */
} Trial;

/* The schedule that is measured again in each batch, and tells how fast the machine is. */
typedef struct Reference {
    const Trial *trial;
    Candidate *candidate; /* is built; NULL: there is none, or it could not be */
    double now;           /* the least time in this batch; 0: none */
    LIST(double) times;   /* the same of each batch that was not slow, in order */
    bool was_slow;        /* the machine, in the batch before */
} Reference;

typedef struct Tasks Tasks;
typedef struct Borders Borders;

struct Tuner {
    Arena *arena;
    const Program *program;
    const Target *target;
    const Schedule *user;
    const Toolchain *toolchain;
    Database *database;
    const TuneOptions *options;
    const Task *task;
    const char *text; /* of the program, for the database */
    Space *space;
    CostModel *model;
    Search *search;
    TuneResult *result;
    Trial *standard;      /* the default schedule's */
    bool standard_sought; /* from the first search on: it takes long to find */
    bool standard_known;  /* measured, or failed for good: others can be compared with it */
    LIST(Trial *) trials; /* measured here or found in the database, good or not */
    HashSet known;        /* the texts of trials, by hash */
    Trial *winner;        /* of the race, or NULL */
    Reference reference;
    double best;                    /* seconds; HUGE_VAL before the first good one */
    double spent, since;            /* seconds in earlier steps; start of this step, 0 between steps */
    double deadline;                /* of this step, 0: none */
    double pace;                    /* seconds to build and measure a trial when all goes well; 0: not known */
    double built_for, measured_for; /* seconds for all trials of the last batch together */
    int last_count;                 /* trials in that batch */
    int trial_limit;                /* of this step; counts all trials */
    const char *turn;               /* the task of the function that is searched now; NULL: none is */
    double share;                   /* of it in the function's time; 0: not known */
    bool exhausted;                 /* nothing new is found, or there is no time */
    bool complete;                  /* nothing new is found */
    double flops;
    LIST(Trial *) doubted;  /* failed here; not yet known whether it was their own fault */
    int good;               /* successful runs here */
    int ends;               /* runs since a candidate did well whose processes ended, not by a fault */
    const char *end_why;    /* the last one's reason */
    const char *lost;       /* why nothing more can be measured; NULL: it can */
    LIST(Record) unwritten; /* measured, not yet in the database, which may be full or locked */
    double refused;         /* when the database last failed to take them; 0: it took them */
    Tasks *tasks;           /* that it is searched by; NULL: as a whole */
    Borders *borders;       /* other ways to cut it into tasks; or NULL */
    bool tasks_sought;
    Together *alone; /* the search by its tasks, where no other function is searched with it */
    int granted;     /* see tuner_grant */
    int order;       /* of the last trial, those of earlier searches included */
    int next_id;
};

double tuner_elapsed(const Tuner *tuner);
bool tuner_halted(const Tuner *tuner); /* stopped, out of time, or without a machine */
/* Whether the database's result of the default counts. A failure may be the machine's: then it is tried again. */
bool trial_is_final(const Trial *trial);
/* Whether the default and what other searches recorded are to be left out. */
bool tuner_is_cold(const Tuner *tuner);
/* Counts a failed trial under the reason of its candidate. */
void tuner_count_failure(Tuner *tuner, const Trial *trial);
void tuner_uncount_failure(Tuner *tuner, const Candidate *candidate);
/* Makes a trial of a schedule; NULL when the nest refuses it. point may be NULL. */
Trial *trial_new(Tuner *tuner, const Schedule *schedule, const int *point);
/* Builds and measures the trials, and tells the search and the database. Transient failures are tried again and never
 * recorded. Leaves the array in any order. Stops early when halted. */
void tuner_run(Tuner *tuner, Trial **trials, int count);
/* tune_record.c: the database and the log */
void tuner_record(Tuner *tuner, const Trial *trial);
void tuner_forget(Tuner *tuner, const Trial *trial); /* deletes its record */
void tuner_flush(Tuner *tuner);                      /* writes what is recorded to the database, in one transaction */
/* tune_looks.c: measures a built candidate. False: other processes disturbed it each time, a transient failure. */
bool tuner_look(const Tuner *tuner, Candidate *candidate, double limit_seconds, bool thorough);
double tuner_slow_seconds(const Tuner *tuner); /* slower runs may stop early; 0: none */
/* Before the first and after the last look at the trials of a batch: looks again at those that it leaves in doubt, and
 * records them. Their objects must be there. */
void tuner_begin_batch(Tuner *tuner);
void tuner_end_batch(Tuner *tuner, Trial **trials, int count);
void tuner_drop_reference(Tuner *tuner); /* its object, before the toolchain closes */
/* Records a trial and writes it at once, so that a kill loses only the current one: a transaction waits milliseconds
 * for the disk, a trial takes longer. */
void tuner_keep(Tuner *tuner, const Trial *trial);
/* Adds a line to the log, if there is one: "trial" when it is finished, "looks" for what more looks or the reference
 * changed, "race" for a result of the race. */
void tuner_log(Tuner *tuner, const Trial *trial, const char *event);
/* Waits until the builds of these submitted candidates have ended; releases what is left over from halted rounds.
 * False: no build is left to wait for. */
bool tuner_collect(const Tuner *tuner, const Candidate *candidates, int count);
/* tune_doubts.c: failures wait until it is known whether they are the machine's; a search that lost its machine
 * ends. */
void tuner_doubt(Tuner *tuner, Trial *trial);
void tuner_count_unsettled(Tuner *tuner, const Trial *trial);
bool tuner_doubts(const Tuner *tuner, const Trial *trial);
/* Whether a process ended in its run, of its own fault or for another reason. */
bool candidate_ended_process(const Candidate *candidate);
void tuner_note_run(Tuner *tuner, const Candidate *candidate);
void tuner_settle(Tuner *tuner);      /* decides what can be decided now */
void tuner_settle_last(Tuner *tuner); /* what is still in doubt at the end is the machine's */
/* The default ended a process each time: nothing is compared with anything, and the search ends. */
void tuner_lose_default(Tuner *tuner, const char *why);
const char *tuner_lost(const Tuner *tuner);
/* tune_history.c: makes trials of the task's records; those of the space get their points. */
void tuner_recall(Tuner *tuner);
/* The text that is stored: the point as a comment, then the schedule's statements. */
const char *trial_record_text(const Tuner *tuner, const Trial *trial);
/* Notes in the database how far the search has come, once the default is known. */
void tuner_note(const Tuner *tuner);
/* How many trials, of `trials`, the searches for a function have done. If the program as written (the first) was
 * searched before on its own, only a fixed part of its trials counts, so that the others are searched too. */
int counted_trials(const int *own, int count, int trials);
/* Texts that are measured or about to be. */
bool tuner_knows(const Tuner *tuner, const char *text);
void tuner_mark(Tuner *tuner, const char *text);
void tuner_remember(Tuner *tuner, Trial *trial);
bool tuner_stopped(const Tuner *tuner);
/* Makes the default's trial, or finds it, unless that was done before. */
void tuner_find_default(Tuner *tuner);
void tuner_show_progress(const Tuner *tuner);
int compare_seconds(const void *a, const void *b); /* for qsort */
/* A step with the function's own toolchain, outside tuner_search: up to so many trials in all. */
void tuner_enter(Tuner *tuner, int trials, double deadline);
void tuner_leave(Tuner *tuner);
/* Whether it was not yet asked if the function is of several tasks; one that cannot be measured is not. */
bool tuner_may_have_tasks(const Tuner *tuner);
/* tune_together.c: the search of a function by its tasks alone. NULL: it is searched as a whole. */
Together *together_alone(Tuner *tuner);
/* tune_tasks.c: ends the tasks; adds them, and their failures, to the result. */
void tuner_close_tasks(Tuner *tuner);
/* tune_borders.c: ends the tasks that were tried, and adds what came of them to the result. borders may be NULL. */
void borders_close(Borders *borders);
/* The fastest trial, or NULL. */
Trial *tuner_best_trial(const Tuner *tuner);

#endif
