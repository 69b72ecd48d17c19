/* tuner.h - the state of one tuning, shared by its phases: history, rounds, race. */
#ifndef AUTOSCHED_SEARCH_TUNER_H
#define AUTOSCHED_SEARCH_TUNER_H

#include "autosched/search/policies.h"

/* One candidate that is, or was, measured. */
typedef struct Trial {
    Candidate candidate;
    const int *point; /* NULL: not a point of the space */
    const float *features;
    const char *text; /* of the schedule in canonical names: its key in the database */
    double raced;     /* seconds in the final race; 0 before */
    bool built;       /* well or not */
} Trial;

struct Tuner {
    Arena *arena;
    const Program *program;
    const Target *target;
    const Schedule *user;
    const Toolchain *toolchain;
    Database *database;
    const TuneOptions *options;
    const Task *task;
    Space *space;
    CostModel *model;
    Search *search;
    TuneResult *result;
    Trial *standard;      /* the default schedule's */
    bool standard_sought; /* from the first search on: it takes long to find */
    bool standard_known;  /* measured, or failed for good: others can be compared with it */
    LIST(Trial *) trials; /* measured here or found in the database, good or not */
    HashSet known;        /* of texts */
    Trial *winner;        /* of the race, or NULL */
    double best;          /* seconds; HUGE_VAL before the first good one */
    double spent, since;  /* seconds before this step of the search, and when that began; since is 0 between steps */
    double deadline;      /* of this step, 0: none */
    double pace;          /* seconds that a trial takes, built and measured, when it goes well; 0: not known */
    double built_for, measured_for; /* seconds, all trials of the last batch together */
    int last_count;                 /* of them */
    int trial_limit;                /* of this step, in all */
    bool exhausted;       /* nothing new is found any more, or there is no time */
    bool complete;        /* nothing new is found any more */
    double flops;
    LIST(Trial *) doubted;  /* failed here; whether of themselves is not known yet */
    int good;               /* runs here that went well */
    const char *lost;       /* why nothing more can be measured; NULL: it can */
    LIST(Record) unwritten; /* measured, not yet in the database: it may have room, or be free, later */
    double refused;         /* when the database last did not take them; 0: it took them */
    int next_id;
};

double tuner_elapsed(const Tuner *tuner);
bool tuner_halted(const Tuner *tuner); /* stopped, out of time, or without a machine */
/* A failure may be of the machine as it was: the default is tried again. */
bool trial_is_final(const Trial *trial);
/* A trial that failed, for the reason that its candidate has. */
void tuner_count_failure(Tuner *tuner, const Trial *trial);
/* A trial of a schedule; NULL when the nest refuses it. point may be NULL. */
Trial *trial_new(Tuner *tuner, const Schedule *schedule, const int *point);
/* Builds and measures the trials, tells the search and the database. What the machine's load made
 * fail is tried again and is never recorded. The array is left in any order. Stops early when halted. */
void tuner_run(Tuner *tuner, Trial **trials, int count);
void tuner_record(Tuner *tuner, const Trial *trial);
void tuner_forget(Tuner *tuner, const Trial *trial); /* what the database has of it */
void tuner_flush(Tuner *tuner); /* what is recorded goes into the database, in one transaction */
/* Waits until the builds of these candidates, which were submitted before, have ended; what is left over from rounds
 * that were halted is released. False: there are no more. */
bool tuner_collect(const Tuner *tuner, const Candidate *candidates, int count);
/* tune_doubts.c: failures wait there until they can be told from the machine's; a search that lost its machine ends. */
void tuner_doubt(Tuner *tuner, Trial *trial);
bool tuner_doubts(const Tuner *tuner, const Trial *trial);
void tuner_settle(Tuner *tuner);         /* what can be told now */
const char *tuner_dismiss(Tuner *tuner); /* all are the machine's; returns the reason of the last, NULL: there are */
                                         /* none */
const char *tuner_lost(const Tuner *tuner);
/* tune_history.c: what the database knows of the task becomes trials; those of the space with their points. */
void tuner_recall(Tuner *tuner);
/* The text that is stored: the point, as a comment, before the schedule's statements. */
const char *trial_record_text(const Tuner *tuner, const Trial *trial);
/* How far the search has come goes into the database, once the default is known. */
void tuner_note(const Tuner *tuner);
/* The trials of all searches for a function that count, of so many. More than those are there where what is written,
 * the first, was searched before, without the others: that is no reason not to search these, and a part of its own
 * counts. */
int counted_trials(const int *own, int count, int trials);
/* Texts that are measured already, or are about to be. */
bool tuner_knows(const Tuner *tuner, const char *text);
void tuner_mark(Tuner *tuner, const char *text);
void tuner_remember(Tuner *tuner, Trial *trial);
bool tuner_stopped(const Tuner *tuner);
/* The fastest, or NULL. */
Trial *tuner_best_trial(const Tuner *tuner);

#endif
