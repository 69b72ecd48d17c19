/* tune_tasks.c - tuning a function task by task: its parts (task_program.c) are searched by themselves, each kind once,
 * and the best of each are put together and measured as a whole.
 *
 * A task's records stand under its own hash, so that they serve each function that has it. A scheduler says
 * who gets the next round. The schedules that are put together are trials of the function like others: they are raced with its
 * default, so that what does not help the whole is not kept. Above the tasks a short search takes the second best, or
 * the default, of single tasks, since a part may run otherwise alone than in the whole.
 */
#include "autosched/search/scheduler.h"
#include "autosched/search/tuner.h"
#include "lang/clock.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    STEPS = 4,          /* after each of which the best are put together */
    OPEN_TOOLCHAINS = 12, /* at once: each has processes of its own */
    CHOICES = 4,        /* of a task, best first, that may be put together; the last one is the default */
    UNITS = 4,          /* at least, for each task */
    UNIT_LEAST = 4,     /* trials of a unit: a toolchain may have to be opened for it */
    STEP_TRIALS = 32,   /* at least */
    JOINED_PART = 12    /* of the trials: for what is put together */
};
static const double time_part = 0.9;    /* of the time, for the tasks */
static const double joined_part = 0.15; /* of the time so far, for what is put together: it is long to build */
static const double near_enough = 1.2;  /* of a task's best time: others are not put together */
static const double better = 0.99;      /* of the best whole: what counts as faster */

/* Parts with one hash. */
typedef struct Subject {
    Tasks *tasks;
    Program *program; /* of the first of them */
    const Task *task;
    double weight; /* how many there are */
    Tuner *tuner;
    int trials, measured; /* that are counted in the function's */
    TuneOptions options;
    const Toolchain *toolchain; /* NULL: not open */
    int used;                   /* when it was last used */
    bool dropped;
    Schedule *choices[CHOICES];
    double seconds[CHOICES]; /* HUGE_VAL: not measured */
    int choice_count;
} Subject;

struct Tasks {
    Tuner *whole; /* the function's search */
    int part_count, subject_count;
    Program **parts;
    int *subject_of; /* [part] */
    const Task **tasks; /* [part] */
    Subject *subjects;
    Scheduler *scheduler;
    SchedulerTask *scheduled;
    SchedulerFunction function;
    int turns;
    double joining; /* seconds that what is put together took */
    bool joined; /* the defaults together are legal, and tasks can be measured */
};

/* --- opening --- */

static int find_subject(const Tasks *tasks, const Task *task) {
    int number = 0;
    while (number < tasks->subject_count && strcmp(tasks->subjects[number].task->key, task->key))
        number++;
    return number;
}

/* What was measured for a task was measured for the function. */
static void count_trials(Subject *subject) {
    const TuneResult *own = subject->tuner->result;
    TuneResult *whole = subject->tasks->whole->result;
    whole->trials += own->trials - subject->trials;
    whole->measured += own->measured - subject->measured;
    subject->trials = own->trials;
    subject->measured = own->measured;
}

/* What a task reports is a report of the function. */
static void relay_progress(void *context, const TuneProgress *progress) {
    Subject *subject = context;
    (void)progress;
    count_trials(subject);
    tuner_show_progress(subject->tasks->whole);
}

static void add_part(Tasks *tasks, int part) {
    Tuner *whole = tasks->whole;
    Program *program = tasks->parts[part];
    const Task *task = tasks->tasks[part] = task_new(whole->arena, program, NULL);
    int number = tasks->subject_of[part] = find_subject(tasks, task);
    Subject *subject = &tasks->subjects[number];
    subject->weight++;
    if (number < tasks->subject_count)
        return;
    tasks->subject_count++;
    subject->tasks = tasks;
    subject->program = program;
    subject->task = task;
    subject->options = *whole->options;
    subject->options.workshop = NULL;
    subject->options.standard = NULL;
    subject->options.inputs = NULL;
    subject->options.progress = whole->options->progress ? relay_progress : NULL;
    subject->options.progress_context = subject;
}

/* The operators of the stages, without names and sizes. */
static const char *kind_of(Arena *arena, const Program *program) {
    Text text = {.arena = arena};
    for (int s = 0; s < program->stage_count; s++) {
        const Stage *stage = program->stages[s];
        text_add(&text, "stage %d %d %d:", (int)stage->combine, stage->axis_count, stage->reduction_count);
        EACH_VALUE_EXPR(e, stage)
            text_add(&text, " %d.%d", (int)e->kind, e->kind == EXPR_OP ? (int)e->op : 0);
    }
    return text.text ? text.text : "";
}

/* Tasks of one kind differ in sizes alone. */
static int number_of_kind(const Tasks *tasks, int number) {
    Arena *arena = tasks->whole->arena;
    const char *kind = kind_of(arena, tasks->subjects[number].program);
    for (int s = 0; s < number; s++)
        if (!strcmp(kind_of(arena, tasks->subjects[s].program), kind))
            return tasks->scheduled[s].kind;
    return number;
}

static void open_scheduler(Tasks *tasks) {
    Tuner *whole = tasks->whole;
    double *weights = ARENA_ARRAY(whole->arena, double, tasks->subject_count);
    tasks->scheduled = ARENA_ARRAY(whole->arena, SchedulerTask, tasks->subject_count);
    for (int s = 0; s < tasks->subject_count; s++) {
        tasks->scheduled[s].operations = fmax(program_flops(tasks->subjects[s].program), 0);
        tasks->scheduled[s].kind = number_of_kind(tasks, s);
        weights[s] = tasks->subjects[s].weight;
    }
    const Trial *standard = whole->standard;
    bool known = standard && standard->candidate.outcome == OUTCOME_OK;
    tasks->function = (SchedulerFunction){weights, known ? standard->candidate.seconds : 0};
    tasks->scheduler = scheduler_open(whole->arena, whole->options->scheduler, tasks->scheduled, tasks->subject_count,
                                      &tasks->function, 1, whole->options->seed);
}

/* How many of its trials a round gets: each task should have some rounds. */
static int unit_of(const Tasks *tasks) {
    int most = (int)tasks->whole->search->settings[SEARCH_BATCH];
    int fair = tasks->whole->options->trials / (UNITS * tasks->subject_count);
    fair = fair > UNIT_LEAST ? fair : UNIT_LEAST;
    return fair < most ? fair : most;
}

/* Of so many, those that are not for the tasks. */
static int trials_to_join(int trials) {
    return 2 + trials / JOINED_PART;
}

/* What the database has of a task counts as if it had been searched here, but for no more than its part. */
static void count_recalled(Tasks *tasks, int number) {
    Tuner *whole = tasks->whole;
    Subject *subject = &tasks->subjects[number];
    const Tuner *tuner = subject->tuner;
    int recalled = tuner->result->trials, all = whole->options->trials;
    int share = (all - trials_to_join(all)) / tasks->subject_count;
    whole->result->trials += recalled < share ? recalled : share;
    subject->trials = recalled;
    for (int units = recalled / unit_of(tasks); units > 0; units--)
        scheduler_tell(tasks->scheduler, number, tuner->best);
}

static void open_tuners(Tasks *tasks) {
    Tuner *whole = tasks->whole;
    for (int s = 0; s < tasks->subject_count; s++) {
        Subject *subject = &tasks->subjects[s];
        subject->tuner = tuner_new(whole->arena, subject->program, whole->target, NULL, NULL, whole->database,
                                   &subject->options);
        tuner_find_default(subject->tuner);
        count_recalled(tasks, s);
    }
}

/* --- putting together --- */

/* In the names of the function. NULL: one of them is of no use there, or they are not legal together. choices: of each
 * subject; NULL: the defaults. */
static Schedule *join(Tasks *tasks, const int *choices) {
    Tuner *whole = tasks->whole;
    Schedule **schedules = ARENA_ARRAY(whole->arena, Schedule *, tasks->part_count);
    for (int p = 0; p < tasks->part_count; p++) {
        const Subject *subject = &tasks->subjects[tasks->subject_of[p]];
        const Trial *standard = subject->tuner->standard;
        const Schedule *chosen = choices    ? subject->choices[choices[tasks->subject_of[p]]]
                                 : standard ? standard->candidate.schedule
                                            : NULL;
        if (!chosen)
            return NULL;
        const char *text = task_text(whole->arena, subject->task, chosen);
        schedules[p] = task_schedule(whole->arena, tasks->tasks[p], whole->target, text);
        if (!schedules[p])
            return NULL;
    }
    Schedule *joined = schedules_join(whole->arena, whole->program, whole->target, schedules, tasks->part_count);
    Arena *scratch = arena_new();
    bool legal = nest_build(scratch, whole->program, joined, NULL, whole->target, NULL) != NULL;
    arena_free(scratch);
    return legal ? joined : NULL;
}

void tuner_open_tasks(Tuner *tuner) {
    Program **parts;
    if (tuner->tasks_sought || tuner->user || !tuner->options->workshop)
        return;
    tuner->tasks_sought = true;
    int count = space_tasks(tuner->space, &parts);
    if (count <= 1)
        return;
    Tasks *tasks = ARENA_NEW(tuner->arena, Tasks);
    *tasks = (Tasks){.whole = tuner, .part_count = count, .parts = parts};
    tasks->subject_of = ARENA_ARRAY(tuner->arena, int, count);
    tasks->tasks = ARENA_ARRAY(tuner->arena, const Task *, count);
    tasks->subjects = ARENA_ARRAY(tuner->arena, Subject, count);
    for (int p = 0; p < count; p++)
        add_part(tasks, p);
    if (tuner->options->trials < UNITS * tasks->subject_count)
        return; /* a few trials do more for the whole than for each task */
    open_scheduler(tasks);
    if (!tasks->scheduler)
        return;
    open_tuners(tasks);
    tasks->joined = tuner_is_cold(tuner) || join(tasks, NULL);
    tuner->tasks = tasks;
}

bool tuner_has_tasks(const Tuner *tuner) {
    return tuner->tasks && tuner->tasks->joined;
}

/* --- searching the tasks --- */

static void close_toolchain(const Tasks *tasks, Subject *subject) {
    const Workshop *workshop = tasks->whole->options->workshop;
    if (subject->toolchain) {
        tuner_drop_reference(subject->tuner);
        workshop->close(workshop->context, subject->toolchain);
    }
    subject->toolchain = subject->tuner->toolchain = NULL;
}

static void close_oldest(const Tasks *tasks) {
    Subject *oldest = NULL;
    int open = 0;
    for (int s = 0; s < tasks->subject_count; s++) {
        Subject *subject = &tasks->subjects[s];
        open += subject->toolchain != NULL;
        if (subject->toolchain && (!oldest || subject->used < oldest->used))
            oldest = subject;
    }
    if (open >= OPEN_TOOLCHAINS)
        close_toolchain(tasks, oldest);
}

static bool open_toolchain(Tasks *tasks, Subject *subject) {
    const Workshop *workshop = tasks->whole->options->workshop;
    subject->used = ++tasks->turns;
    if (subject->toolchain)
        return true;
    close_oldest(tasks);
    subject->toolchain = workshop->open(workshop->context, subject->program);
    tuner_lend(subject->tuner, subject->toolchain);
    return subject->toolchain != NULL;
}

static void drop(Tasks *tasks, int number) {
    tasks->subjects[number].dropped = true;
    scheduler_drop(tasks->scheduler, number);
}

/* A round of one task. */
static void take_turn(Tasks *tasks, int number, int trials, double deadline) {
    Subject *subject = &tasks->subjects[number];
    Tuner *tuner = subject->tuner;
    if (!open_toolchain(tasks, subject)) {
        drop(tasks, number);
        return;
    }
    tuner_search(tuner, tuner->result->trials + trials, deadline);
    count_trials(subject);
    scheduler_tell(tasks->scheduler, number, tuner->best);
    if (tuner->exhausted || tuner_lost(tuner))
        drop(tasks, number);
}

/* Spends up to `trials`. False: no task is worth more. */
static bool search_tasks(Tasks *tasks, int trials, double deadline) {
    Tuner *whole = tasks->whole;
    int end = whole->result->trials + trials;
    while (whole->result->trials < end && !tuner_halted(whole) &&
           (deadline <= 0 || monotonic_seconds() < deadline)) {
        int next = scheduler_next(tasks->scheduler), unit = unit_of(tasks), left = end - whole->result->trials;
        if (next < 0)
            return false;
        take_turn(tasks, next, unit < left ? unit : left, deadline);
    }
    return true;
}

/* The best of a task are measured again, so that the luckiest is not taken for the best. */
static void race_tasks(Tasks *tasks, double deadline) {
    for (int s = 0; s < tasks->subject_count && !tuner_halted(tasks->whole); s++) {
        Subject *subject = &tasks->subjects[s];
        if (subject->tuner->result->measured > 0 && open_toolchain(tasks, subject))
            tuners_race(&subject->tuner, 1, deadline);
    }
}

/* --- the level above --- */

/* Lists a task's best schedules that are near enough, best first, then its default. */
static void list_choices(Subject *subject) {
    const Tuner *tuner = subject->tuner;
    double limit = tuner->best * near_enough;
    int count = 0;
    for (int t = 0; t < tuner->trials.count; t++) {
        const Trial *trial = tuner->trials.items[t];
        double seconds = trial->candidate.seconds;
        if (trial->candidate.outcome != OUTCOME_OK || seconds > limit || trial == tuner->standard)
            continue;
        int place = count < CHOICES - 1 ? count++ : CHOICES - 1;
        for (; place > 0 && subject->seconds[place - 1] > seconds; place--) {
            subject->seconds[place] = subject->seconds[place - 1];
            subject->choices[place] = subject->choices[place - 1];
        }
        subject->seconds[place] = seconds;
        subject->choices[place] = (Schedule *)trial->candidate.schedule;
    }
    const Trial *standard = tuner->standard;
    bool best = standard && standard->candidate.outcome == OUTCOME_OK &&
                (count == 0 || standard->candidate.seconds <= subject->seconds[0]);
    subject->choice_count = best ? 0 : count;
    if (standard) {
        subject->choices[subject->choice_count] = (Schedule *)standard->candidate.schedule;
        subject->seconds[subject->choice_count++] =
            standard->candidate.outcome == OUTCOME_OK ? standard->candidate.seconds : HUGE_VAL;
    }
}

/* The best of each, or, where these are not legal together, the default of some. False: not even that is legal. */
static bool first_choices(Tasks *tasks, int *choices) {
    for (int s = 0; s < tasks->subject_count; s++) {
        list_choices(&tasks->subjects[s]);
        choices[s] = 0;
        if (tasks->subjects[s].choice_count == 0)
            return false;
    }
    if (join(tasks, choices))
        return true;
    for (int s = 0; s < tasks->subject_count; s++)
        choices[s] = tasks->subjects[s].choice_count - 1;
    bool legal = join(tasks, choices) != NULL;
    for (int s = 0; s < tasks->subject_count && legal; s++) {
        int before = choices[s];
        choices[s] = 0;
        if (before && !join(tasks, choices))
            choices[s] = before;
    }
    return legal;
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
    double since = monotonic_seconds();
    tuner_run(tasks->whole, trials, count);
    tasks->joining += monotonic_seconds() - since;
}

/* How many of what is put together there is time for. */
static int affordable(const Tasks *tasks, int most) {
    const Tuner *whole = tasks->whole;
    double time = joined_part * tuner_elapsed(whole) - tasks->joining;
    return time >= whole->pace * most ? most : time > 0 ? (int)(time / whole->pace) : 0;
}

/* Measures the best of all tasks together. */
static void try_best(Tasks *tasks) {
    if (tasks->whole->result->trials >= tasks->whole->trial_limit)
        return;
    int *choices = ARENA_ARRAY(tasks->whole->arena, int, tasks->subject_count);
    Trial *trial = first_choices(tasks, choices) ? trial_of_choices(tasks, choices) : NULL;
    if (trial)
        run_joined(tasks, &trial, 1);
}

/* Another choice of one task, and what became of it. */
typedef struct Variant {
    int subject, choice;
    Trial *trial;
} Variant;

/* Tasks by the time that they take in the function, longest first. */
static void order_subjects(const Tasks *tasks, int *order) {
    for (int s = 0; s < tasks->subject_count; s++) {
        double own = tasks->subjects[s].weight * tasks->subjects[s].seconds[0];
        int place = s;
        for (; place > 0; place--) {
            const Subject *before = &tasks->subjects[order[place - 1]];
            if (before->weight * before->seconds[0] >= own)
                break;
            order[place] = order[place - 1];
        }
        order[place] = s;
    }
}

/* Up to `most` trials in each of which one task has another choice; the most promising first. */
static int make_variants(Tasks *tasks, int *choices, int most, Variant *variants) {
    int *order = ARENA_ARRAY(tasks->whole->arena, int, tasks->subject_count), count = 0;
    order_subjects(tasks, order);
    for (int choice = 1; choice < CHOICES; choice++)
        for (int i = 0; i < tasks->subject_count && count < most; i++) {
            int s = order[i], before = choices[s];
            if (choice >= tasks->subjects[s].choice_count || choice == before)
                continue;
            choices[s] = choice;
            Trial *trial = trial_of_choices(tasks, choices);
            choices[s] = before;
            if (trial)
                variants[count++] = (Variant){s, choice, trial};
        }
    return count;
}

/* The search above the tasks: single other choices, then those together that were better. */
static void try_variants(Tasks *tasks, int most) {
    Tuner *whole = tasks->whole;
    int *choices = ARENA_ARRAY(whole->arena, int, tasks->subject_count);
    most = affordable(tasks, most);
    if (most < 2 || !first_choices(tasks, choices))
        return;
    Variant *variants = ARENA_ARRAY(whole->arena, Variant, most);
    Trial **trials = ARENA_ARRAY(whole->arena, Trial *, most);
    double best = whole->best;
    int count = make_variants(tasks, choices, most - 1, variants), better_ones = 0;
    for (int v = 0; v < count; v++)
        trials[v] = variants[v].trial;
    run_joined(tasks, trials, count);
    for (int v = 0; v < count; v++)
        if (seconds_of(variants[v].trial) < best * better) {
            choices[variants[v].subject] = variants[v].choice;
            better_ones++;
        }
    Trial *together = better_ones > 1 ? trial_of_choices(tasks, choices) : NULL;
    if (together)
        run_joined(tasks, &together, 1);
}

static bool all_complete(const Tasks *tasks) {
    bool complete = true;
    for (int s = 0; s < tasks->subject_count; s++)
        complete &= tasks->subjects[s].tuner->complete;
    return complete;
}

/* If no task can be measured by itself, the function is searched as a whole. */
static bool any_measured(const Tasks *tasks) {
    bool any = false;
    for (int s = 0; s < tasks->subject_count; s++)
        any |= tasks->subjects[s].tuner->result->trials > 0;
    return any;
}

/* In some steps, so that a search that is stopped has put something together. */
static bool search_in_steps(Tasks *tasks, int trials, int kept) {
    Tuner *whole = tasks->whole;
    int steps = 1 + trials / STEP_TRIALS < STEPS ? 1 + trials / STEP_TRIALS : STEPS, end = whole->trial_limit - kept;
    double since = monotonic_seconds(), time = whole->deadline > 0 ? (whole->deadline - since) * time_part : 0;
    bool going = true;
    for (int step = 1; step <= steps && going && !tuner_halted(whole); step++) {
        int until = end - (trials - kept) * (steps - step) / steps;
        going = search_tasks(tasks, until - whole->result->trials, time > 0 ? since + time * step / steps : 0);
        if (step == steps || !going)
            race_tasks(tasks, whole->deadline);
        if (step == steps || !going || affordable(tasks, 1))
            try_best(tasks);
    }
    return going;
}

void tuner_search_tasks(Tuner *tuner) {
    Tasks *tasks = tuner->tasks;
    int trials = tuner->trial_limit - tuner->result->trials;
    bool going = search_in_steps(tasks, trials, trials_to_join(trials) - 1);
    try_variants(tasks, tuner->trial_limit - tuner->result->trials);
    for (int last = 1; last >= 0 && going; last--) { /* what is put together may be known: then the tasks get it */
        going = search_tasks(tasks, tuner->trial_limit - tuner->result->trials - last, tuner->deadline);
        try_best(tasks);
    }
    tasks->joined = going || any_measured(tasks);
    tuner->exhausted |= tasks->joined && !going;
    tuner->complete |= all_complete(tasks);
}

/* --- the end --- */

static void add_failures(TuneResult *whole, Arena *arena, const TuneResult *part) {
    for (int outcome = 1; outcome < OUTCOME_COUNT; outcome++)
        whole->failed[outcome] += part->failed[outcome];
    whole->unsettled += part->unsettled;
    whole->unrecorded += part->unrecorded;
    for (int r = 0; r < part->reasons.count; r++)
        list_push(arena, &whole->reasons, part->reasons.items[r]);
}

void tuner_close_tasks(Tuner *tuner) {
    Tasks *tasks = tuner->tasks;
    for (int s = 0; tasks && s < tasks->subject_count; s++) {
        close_toolchain(tasks, &tasks->subjects[s]);
        const TuneResult *result = tuner_finish(tasks->subjects[s].tuner);
        add_failures(tuner->result, tuner->arena, result);
        list_push(tuner->arena, &tuner->result->tasks,
                  ((TaskResult){tasks->subjects[s].program, (int)tasks->subjects[s].weight, result}));
    }
    tuner->tasks = NULL;
}
