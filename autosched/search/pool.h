/* pool.h - what one scheduler shares trials among: the tasks of several functions, and functions that are searched as a
 * whole. Equal tasks of all functions are one.
 *
 * Below the searches of tasks (tune_tasks.c) and their steps (tune_together.c). Few toolchains are open at once: each
 * has processes of its own.
 */
#ifndef AUTOSCHED_SEARCH_POOL_H
#define AUTOSCHED_SEARCH_POOL_H

#include "autosched/search/scheduler.h"
#include "autosched/search/tuner.h"

enum { CHOICES = 4 }; /* of a part, best first, that may be put together; the last one is the default */

typedef struct Pool Pool;

/* A function. */
typedef struct PoolMember {
    FunctionSearch *search; /* what the caller gave */
    Tasks *tasks;       /* that it is searched by; NULL: as a whole */
    Borders *borders;   /* other ways to cut it into tasks; NULL: there are none */
    int whole;          /* the number of it as a whole */
    bool compared;      /* the defaults of its programs, with each other */
    bool over;          /* nothing is left to find */
    int uncounted;      /* trials of its programs before this search */
    double *weights;    /* by number: how often it has the task */
    bool lent;          /* its toolchains are open */
    int used;           /* when they were used last */
} PoolMember;

/* What the scheduler gives units to: a part of functions, or a function as a whole. */
typedef struct PoolTask {
    Pool *pool;
    PoolMember *member; /* the function; of a part the first that has it */
    int number;         /* in the pool's list */
    const Program *program;
    bool dropped;
    /* of a part alone */
    Tuner *tuner;
    const Task *task;
    int trials, measured; /* that are counted in the function's */
    TuneOptions options;
    const Toolchain *toolchain; /* NULL: not open */
    int used;                   /* when it was used last */
    Schedule *choices[CHOICES];
    double seconds[CHOICES]; /* HUGE_VAL: not measured */
    int choice_count;
    bool closed; /* its search was finished */
} PoolTask;

struct Pool {
    Arena *arena;
    const TuneOptions *options;
    const FunctionBench *bench; /* NULL: the functions' toolchains are always open */
    PoolMember *members;
    int member_count;
    LIST(PoolTask *) tasks;
    Scheduler *scheduler; /* NULL before pool_open_scheduler */
    int planned;          /* trials in all, by which units are made */
    int trial_limit;
    double begun, deadline; /* of the search; deadline: 0: none */
    double joining;  /* seconds that what is put together took */
    int turns;
};

Pool *pool_new(Arena *arena, const TuneOptions *options, const FunctionBench *bench, FunctionSearch *searches,
               int count);
/* The number of a part of a member's function, which is added unless an equal one is there. standard: its default, if
 * that was made before; or NULL. */
int pool_add_part(Pool *pool, PoolMember *member, Program *program, const Task *task, StaticChoice *standard);
/* The equal part of a function with the target; -1: there is none. */
int pool_find_part(const Pool *pool, const Target *target, const Task *task);
/* After the last part: each member is searched by its tasks, or as a whole. False: the scheduler is not known. */
bool pool_open_scheduler(Pool *pool);
/* Of all functions, those in the database included. */
int pool_trials(const Pool *pool);
/* That turns, and what is put together, took. */
double pool_seconds(const Pool *pool);
/* Whether nothing more is to be measured: stopped, or out of time. */
bool pool_halted(const Pool *pool);
/* Opens the toolchains of a function or a part, where they are not open. False: they cannot be. */
bool pool_lend_member(Pool *pool, PoolMember *member);
bool pool_lend_part(Pool *pool, PoolTask *part);
void pool_close_part(PoolTask *part);
/* Gives units to tasks until there are `trials` in all, or the deadline has passed. False: no task is worth more. */
bool pool_spend(Pool *pool, int trials, double deadline);
/* Up to so many trials of one task, whose turn it is. */
void pool_take_turn(Pool *pool, int number, int trials);
/* Whether the member is searched as a whole, not by its tasks. */
bool pool_searches_whole(const PoolMember *member);
/* From now on the member is searched as a whole, and its tasks no more, unless other functions have them. */
void pool_take_whole(Pool *pool, PoolMember *member);
/* From now on the member is searched by these tasks. */
void pool_take_tasks(Pool *pool, PoolMember *member, Tasks *tasks);

/* --- the tasks of one function (tune_tasks.c) --- */

/* NULL: it is one task, or has few trials, or the defaults of its tasks are not legal together. */
Tasks *tasks_open(Pool *pool, PoolMember *member);
/* A part of a function's program, as its own. */
typedef struct TaskPart {
    Program *program;
    const Task *task;
    StaticChoice *standard; /* NULL: not made yet */
} TaskPart;
typedef LIST(TaskPart) TaskParts;
/* The same of these parts. */
Tasks *tasks_of_parts(Pool *pool, PoolMember *member, const TaskParts *parts);
const TaskParts *tasks_parts(const Tasks *tasks);
/* The number in the pool of the task that a part is. */
int tasks_number(const Tasks *tasks, int part);
/* Sets how often the function has each task, by number in the pool. tasks: NULL: none. */
void tasks_count(const Tasks *tasks, double *weights);
/* Of the function's trials: those that are not for the tasks; those that are for each task. */
int tasks_kept(int trials);
int tasks_share(const Tasks *tasks, int trials);
bool tasks_any_measured(const Tasks *tasks);
bool tasks_all_dropped(const Tasks *tasks);
bool tasks_all_complete(const Tasks *tasks);
/* Measures the best of all tasks together. must: even if that took its part of the time already. Returns its seconds;
 * HUGE_VAL: not known. */
double tasks_try_best(Tasks *tasks, bool must);
/* The search above the tasks: single other choices, then those together that were better. */
void tasks_try_variants(Tasks *tasks);
/* Ends the searches of the tasks that the function is the first to have, and adds their failures to its result. */
void tasks_close(Tasks *tasks);

/* --- other borders between the tasks of one function (tune_borders.c) --- */

/* Once its tasks are open. NULL: there is no other way to cut it, or none that is worth a trial. */
Borders *borders_open(Pool *pool, PoolMember *member);
/* Tries them, once; the best one is taken if the function is faster with it. */
void borders_try(Borders *borders);

#endif
