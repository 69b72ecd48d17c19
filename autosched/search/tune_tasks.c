/* tune_tasks.c - the tasks of one function: its parts (task_program.c) are searched by themselves, and the best of each
 * are put together and measured as a whole.
 *
 * A task's records stand under its own hash, so that they serve each function that has it. The schedules that are put
 * together are trials of the function like others: they are raced with its default, so that what does not help the
 * whole is not kept. Above the tasks a short search takes the second best, or the default, of single tasks, since a
 * part may run otherwise alone than in the whole.
 */
#include "autosched/search/pool.h"
#include "lang/clock.h"

#include <math.h>
#include <string.h>

enum {
    LEAST_TRIALS = 4, /* for each task: fewer do more for the whole, unless it has */
    MANY_TASKS = 12,  /* a proposal for all of which is long to make, and changes too much at once */
    JOINED_PART = 12  /* of the trials: for what is put together */
};
static const double joined_part = 0.15; /* of the time so far, for what is put together: it is long to build */
static const double near_enough = 1.2;  /* of a task's best time: others are not put together */
static const double better = 0.99;      /* of the best whole: what counts as faster */

struct Tasks {
    Pool *pool;
    PoolMember *member;
    Tuner *whole; /* the function's search */
    TaskParts parts;
    int *place_of;     /* [part]: in the lists below */
    int own_count;     /* different tasks */
    int *own, *counts; /* their numbers; how many parts each is */
};

/* --- opening --- */

static PoolTask *own_task(const Tasks *tasks, int place) {
    return tasks->pool->tasks.items[tasks->own[place]];
}

/* Numbers the different ones of the parts. */
static void count_part(Tasks *tasks, int part) {
    const TaskPart *parts = tasks->parts.items;
    int before = 0;
    while (strcmp(parts[before].task->key, parts[part].task->key))
        before++;
    int place = tasks->place_of[part] = before < part ? tasks->place_of[before] : tasks->own_count++;
    tasks->counts[place]++;
}

/* Those of the most operations first: where time is short, the others may get none. */
static void add_parts(Tasks *tasks) {
    int *order = ARENA_ARRAY(tasks->pool->arena, int, tasks->parts.count);
    double *operations = ARENA_ARRAY(tasks->pool->arena, double, tasks->parts.count);
    for (int p = 0; p < tasks->parts.count; p++) {
        int at = p;
        operations[p] = tasks->counts[tasks->place_of[p]] * program_flops(tasks->parts.items[p].program);
        for (; at > 0 && operations[order[at - 1]] < operations[p]; at--)
            order[at] = order[at - 1];
        order[at] = p;
    }
    for (int i = 0; i < tasks->parts.count; i++) {
        const TaskPart *part = &tasks->parts.items[order[i]];
        tasks->own[tasks->place_of[order[i]]] =
            pool_add_part(tasks->pool, tasks->member, part->program, part->task, part->standard);
    }
}

const TaskParts *tasks_parts(const Tasks *tasks) {
    return &tasks->parts;
}

int tasks_number(const Tasks *tasks, int part) {
    return tasks->own[tasks->place_of[part]];
}

/* Of so many trials, those that are not for the tasks. */
int tasks_kept(int trials) {
    return 2 + trials / JOINED_PART;
}

int tasks_share(const Tasks *tasks, int trials) {
    return (trials - tasks_kept(trials)) / tasks->own_count;
}

void tasks_count(const Tasks *tasks, double *weights) {
    for (int t = 0; tasks && t < tasks->own_count; t++)
        weights[tasks->own[t]] = tasks->counts[t];
}

/* --- putting together --- */

/* In the names of the function. NULL: one of them is of no use there, or they are not legal together. choices: of each
 * task; NULL: the defaults. */
static Schedule *join(Tasks *tasks, const int *choices) {
    Tuner *whole = tasks->whole;
    Schedule **schedules = ARENA_ARRAY(whole->arena, Schedule *, tasks->parts.count);
    for (int p = 0; p < tasks->parts.count; p++) {
        const PoolTask *task = own_task(tasks, tasks->place_of[p]);
        const Trial *standard = task->tuner->standard;
        const Schedule *chosen = choices    ? task->choices[choices[tasks->place_of[p]]]
                                 : standard ? standard->candidate.schedule
                                            : NULL;
        if (!chosen)
            return NULL;
        const char *text = task_text(whole->arena, task->task, chosen);
        schedules[p] = task_schedule(whole->arena, tasks->parts.items[p].task, whole->target, text);
        if (!schedules[p])
            return NULL;
    }
    Schedule *joined = schedules_join(whole->arena, whole->program, whole->target, schedules, tasks->parts.count);
    Arena *scratch = arena_new();
    bool legal = nest_build(scratch, whole->program, joined, NULL, whole->target, NULL) != NULL;
    arena_free(scratch);
    return legal ? joined : NULL;
}

Tasks *tasks_of_parts(Pool *pool, PoolMember *member, const TaskParts *parts) {
    Tuner *whole = member->search->tuners[0];
    Tasks *tasks = ARENA_NEW(pool->arena, Tasks);
    *tasks = (Tasks){.pool = pool, .member = member, .whole = whole, .parts = *parts};
    tasks->own = ARENA_ARRAY(pool->arena, int, parts->count);
    tasks->counts = ARENA_ARRAY(pool->arena, int, parts->count);
    tasks->place_of = ARENA_ARRAY(pool->arena, int, parts->count);
    for (int p = 0; p < parts->count; p++)
        count_part(tasks, p);
    int wanted = tasks->own_count < MANY_TASKS ? tasks->own_count : MANY_TASKS;
    if (member->search->trials < LEAST_TRIALS * wanted)
        return NULL;
    add_parts(tasks);
    return tuner_is_cold(whole) || join(tasks, NULL) ? tasks : NULL;
}

Tasks *tasks_open(Pool *pool, PoolMember *member) {
    Tuner *whole = member->search->tuners[0];
    Program **programs;
    TaskParts parts = {0};
    whole->tasks_sought = true;
    int count = space_tasks(whole->space, &programs);
    for (int p = 0; p < count && count > 1; p++)
        list_push(pool->arena, &parts, ((TaskPart){programs[p], task_new(pool->arena, programs[p], NULL), NULL}));
    return count > 1 ? tasks_of_parts(pool, member, &parts) : NULL;
}

/* --- the end of a task --- */

bool tasks_any_measured(const Tasks *tasks) {
    bool any = false;
    for (int t = 0; t < tasks->own_count; t++)
        any |= own_task(tasks, t)->tuner->result->trials > 0;
    return any;
}

static bool are_all(const Tasks *tasks, bool (*is)(const PoolTask *task)) {
    bool all = true;
    for (int t = 0; t < tasks->own_count; t++)
        all &= is(own_task(tasks, t));
    return all;
}

static bool is_dropped(const PoolTask *task) {
    return task->dropped;
}

static bool is_complete(const PoolTask *task) {
    return task->tuner->complete;
}

bool tasks_all_dropped(const Tasks *tasks) {
    return are_all(tasks, is_dropped);
}

bool tasks_all_complete(const Tasks *tasks) {
    return are_all(tasks, is_complete);
}

/* --- the level above --- */

/* Lists a task's best schedules that are near enough, best first, then its default. */
static void list_choices(PoolTask *task) {
    const Tuner *tuner = task->tuner;
    double limit = tuner->best * near_enough;
    int count = 0;
    for (int t = 0; t < tuner->trials.count; t++) {
        const Trial *trial = tuner->trials.items[t];
        double seconds = trial->candidate.seconds;
        if (trial->candidate.outcome != OUTCOME_OK || seconds > limit || trial == tuner->standard)
            continue;
        int place = count < CHOICES - 1 ? count++ : CHOICES - 1;
        for (; place > 0 && task->seconds[place - 1] > seconds; place--) {
            task->seconds[place] = task->seconds[place - 1];
            task->choices[place] = task->choices[place - 1];
        }
        task->seconds[place] = seconds;
        task->choices[place] = (Schedule *)trial->candidate.schedule;
    }
    const Trial *standard = tuner->standard;
    bool best = standard && standard->candidate.outcome == OUTCOME_OK &&
                (count == 0 || standard->candidate.seconds <= task->seconds[0]);
    task->choice_count = best ? 0 : count;
    if (standard) {
        task->choices[task->choice_count] = (Schedule *)standard->candidate.schedule;
        task->seconds[task->choice_count++] =
            standard->candidate.outcome == OUTCOME_OK ? standard->candidate.seconds : HUGE_VAL;
    }
}

/* The best of each, or, where these are not legal together, the default of some. False: not even that is legal. */
static bool first_choices(Tasks *tasks, int *choices) {
    for (int s = 0; s < tasks->own_count; s++) {
        list_choices(own_task(tasks, s));
        choices[s] = 0;
        if (own_task(tasks, s)->choice_count == 0)
            return false;
    }
    if (join(tasks, choices))
        return true;
    for (int s = 0; s < tasks->own_count; s++)
        choices[s] = own_task(tasks, s)->choice_count - 1;
    bool legal = join(tasks, choices) != NULL;
    for (int s = 0; s < tasks->own_count && legal; s++) {
        int before = choices[s];
        choices[s] = 0;
        if (before && !join(tasks, choices))
            choices[s] = before;
    }
    return legal;
}

/* The trial of a schedule that is known already; NULL: it is not, or is not legal. */
static const Trial *known_trial(Tasks *tasks, const int *choices) {
    const Tuner *whole = tasks->whole;
    const Schedule *joined = join(tasks, choices);
    const char *text = joined ? task_text(whole->arena, whole->task, joined) : "";
    for (int t = 0; t < whole->trials.count; t++)
        if (!strcmp(whole->trials.items[t]->text, text))
            return whole->trials.items[t];
    return NULL;
}

/* A trial of what is put together; NULL: it is not legal, or known. */
static Trial *trial_of_choices(Tasks *tasks, const int *choices) {
    Tuner *whole = tasks->whole;
    Schedule *joined = join(tasks, choices);
    Trial *trial = joined ? trial_new(whole, joined, NULL) : NULL;
    if (!trial || tuner_knows(whole, trial->text))
        return NULL;
    tuner_mark(whole, trial->text);
    return trial;
}

static double seconds_of(const Trial *trial) {
    return trial && trial->candidate.outcome == OUTCOME_OK && trial->candidate.seconds > 0 ? trial->candidate.seconds
                                                                                           : HUGE_VAL;
}

static void run_joined(Tasks *tasks, Trial **trials, int count) {
    Pool *pool = tasks->pool;
    double since = monotonic_seconds();
    tasks->whole->turn = NULL;
    if (!pool_lend_member(pool, tasks->member))
        return;
    tuner_enter(tasks->whole, tasks->whole->result->trials + pool->trial_limit - pool_trials(pool), pool->deadline);
    tuner_run(tasks->whole, trials, count);
    tuner_leave(tasks->whole);
    pool->joining += monotonic_seconds() - since;
    tasks->member->search->seconds += monotonic_seconds() - since;
}

/* How many of what is put together there is time for. */
static int affordable(const Tasks *tasks, int most) {
    double pace = tasks->whole->pace, time = joined_part * pool_seconds(tasks->pool) - tasks->pool->joining;
    return time >= pace * most ? most : time > 0 ? (int)(time / pace) : 0;
}

static bool can_join(const Tasks *tasks) {
    return pool_trials(tasks->pool) < tasks->pool->trial_limit && !pool_halted(tasks->pool) &&
           !tuner_lost(tasks->whole);
}

double tasks_try_best(Tasks *tasks, bool must) {
    if (!can_join(tasks) || !(must || affordable(tasks, 1)))
        return HUGE_VAL;
    int *choices = ARENA_ARRAY(tasks->whole->arena, int, tasks->own_count);
    if (!first_choices(tasks, choices))
        return HUGE_VAL;
    Trial *trial = trial_of_choices(tasks, choices);
    if (trial)
        run_joined(tasks, &trial, 1);
    return seconds_of(trial ? trial : known_trial(tasks, choices));
}

/* Another choice of one task, and what became of it. */
typedef struct TaskVariant {
    int place, choice;
    Trial *trial;
} TaskVariant;

/* Places of tasks by the time that they take in the function, longest first. */
static void order_places(const Tasks *tasks, int *order) {
    double *seconds = ARENA_ARRAY(tasks->whole->arena, double, tasks->own_count);
    for (int s = 0; s < tasks->own_count; s++) {
        int place = s;
        seconds[s] = tasks->counts[s] * own_task(tasks, s)->seconds[0];
        for (; place > 0 && seconds[order[place - 1]] < seconds[s]; place--)
            order[place] = order[place - 1];
        order[place] = s;
    }
}

/* Up to `most` trials in each of which one task has another choice; the most promising first. */
static int make_variants(Tasks *tasks, int *choices, int most, TaskVariant *variants) {
    int *order = ARENA_ARRAY(tasks->whole->arena, int, tasks->own_count), count = 0;
    order_places(tasks, order);
    for (int choice = 1; choice < CHOICES; choice++)
        for (int i = 0; i < tasks->own_count && count < most; i++) {
            int s = order[i], before = choices[s];
            if (choice >= own_task(tasks, s)->choice_count || choice == before)
                continue;
            choices[s] = choice;
            Trial *trial = trial_of_choices(tasks, choices);
            choices[s] = before;
            if (trial)
                variants[count++] = (TaskVariant){s, choice, trial};
        }
    return count;
}

void tasks_try_variants(Tasks *tasks) {
    Tuner *whole = tasks->whole;
    int left = tasks->pool->trial_limit - pool_trials(tasks->pool), kept = tasks_kept(tasks->member->search->trials);
    int most = left < kept ? left : kept;
    if (!can_join(tasks))
        return;
    int *choices = ARENA_ARRAY(whole->arena, int, tasks->own_count);
    most = affordable(tasks, most);
    if (most < 2 || !first_choices(tasks, choices))
        return;
    TaskVariant *variants = ARENA_ARRAY(whole->arena, TaskVariant, most);
    Trial **trials = ARENA_ARRAY(whole->arena, Trial *, most);
    double best = whole->best;
    int count = make_variants(tasks, choices, most - 1, variants), better_ones = 0;
    for (int v = 0; v < count; v++)
        trials[v] = variants[v].trial;
    run_joined(tasks, trials, count);
    for (int v = 0; v < count; v++)
        if (seconds_of(variants[v].trial) < best * better) {
            choices[variants[v].place] = variants[v].choice;
            better_ones++;
        }
    Trial *together = better_ones > 1 ? trial_of_choices(tasks, choices) : NULL;
    if (together)
        run_joined(tasks, &together, 1);
}

/* --- the end --- */

static void add_result(Tuner *whole, const TuneResult *part) {
    add_failures(whole->arena, &whole->result->failures, &part->failures);
    whole->result->unrecorded += part->unrecorded;
}

/* A function is not searched to the end if a task of it is not, unless it is searched as a whole instead. */
static void note_lost(const Tasks *tasks, const PoolTask *part) {
    Tuner *whole = tasks->whole;
    const TuneResult *result = part->tuner->result;
    if (result->lost && !whole->lost && !pool_searches_whole(tasks->member))
        whole->lost = arena_printf(whole->arena, "task %s: %s", part->program->name, result->why);
}

/* The first function of a part ends it. */
void tasks_close(Tasks *tasks) {
    for (int s = 0; s < tasks->own_count; s++) {
        PoolTask *part = own_task(tasks, s);
        if (part->member != tasks->member || part->closed)
            continue;
        part->closed = true;
        pool_close_part(part);
        add_result(tasks->whole, tuner_finish(part->tuner));
    }
}

void tuner_close_tasks(Tuner *tuner) {
    Tasks *tasks = tuner->tasks;
    if (tasks)
        tasks_close(tasks);
    for (int s = 0; tasks && s < tasks->own_count; s++) {
        const PoolTask *part = own_task(tasks, s);
        note_lost(tasks, part);
        bool first = part->member == tasks->member;
        TaskResult result = {part->program, tasks->counts[s], part->tuner->result, !first};
        list_push(tuner->arena, &tuner->result->tasks, result);
    }
    tuner->tasks = NULL;
    borders_close(tuner->borders);
    tuner->borders = NULL;
}
