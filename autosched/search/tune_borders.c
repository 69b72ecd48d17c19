/* tune_borders.c - other borders between the tasks of a function, searched above the tasks: which stages are computed
 * together, and where a pipeline ends.
 *
 * The rules (autosched/space/groups.c) make one cut. Each other one has one border more: behind a stage of a task,
 * which no reader takes in then; equal tasks are all divided. The static model says which could pay. Of these the few
 * most promising are put together of their tasks' defaults and measured as the whole function. The best one then has a
 * few trials for its new tasks, and as many are made of the task that it divides, so that both are searched alike. It
 * is taken where the function is faster with it. All of that are trials of the function, and tasks have their records,
 * so that nothing is measured twice.
 *
 * A function that the rules leave no border for, and a short or a cold search, pay nothing.
 */
#include "autosched/search/pool.h"
#include "lang/clock.h"

#include <math.h>
#include <string.h>

enum {
    ESTIMATED = 16,    /* new tasks for which the static model chooses a schedule */
    TRIED = 3,         /* borders that are measured */
    SEARCH_PART = 12,  /* of the trials: for the new tasks, and for the one that they replace */
    FEW_TRIALS = 4,    /* with fewer nothing is found */
    LEAST_TRIALS = FEW_TRIALS * SEARCH_PART /* of the function: with fewer, it has the default borders alone */
};
static const double promising = 1.2;  /* times the task's estimate, or the function's time with defaults */
static const double least_part = 0.1; /* of the function's estimate: a task that takes less is not divided */
static const double faster = 0.98;    /* than with the default borders: taken */
static const double time_part = 0.1;  /* of the time, for borders */

typedef struct Border {
    const TaskPart *divided; /* the first of the equal parts that it divides */
    int stage;               /* of that program; the border is behind it */
    double gain;             /* seconds, by the estimate */
    TaskParts parts;         /* of the function */
    Tasks *tasks;
    double seconds; /* of the function; HUGE_VAL: not measured */
    double before;  /* without it, after as many trials */
} Border;

/* A task that the static model has chosen a schedule for. */
typedef struct Estimated {
    const Task *task;
    StaticChoice *choice;
    double seconds;
} Estimated;

struct Borders {
    Pool *pool;
    PoolMember *member;
    Tuner *whole;
    Tasks *first;    /* by the rules; NULL: the function is one task */
    TaskParts parts; /* of it */
    LIST(Estimated) estimated;
    int chosen; /* of these, by the static model here */
    LIST(Border) borders; /* the most promising one first */
    const Border *taken;  /* or NULL */
    bool tried;
};

/* --- estimates --- */

static const Trial *known_default(const Borders *borders, const TaskPart *part) {
    const Pool *pool = borders->pool;
    int number = pool_find_part(pool, borders->whole->target, part->task);
    return !borders->first && part == borders->parts.items ? borders->whole->standard
           : number >= 0                                    ? pool->tasks.items[number]->tuner->standard
                                                            : NULL;
}

static Estimated choose(Borders *borders, const TaskPart *part) {
    Arena *arena = borders->pool->arena, *scratch = arena_new();
    const Target *target = borders->whole->target;
    const Trial *known = known_default(borders, part);
    Estimated made = {.task = part->task, .seconds = HUGE_VAL};
    if (!known && borders->chosen++ < ESTIMATED)
        made.choice = static_choice(arena, part->program, target, EFFORT_MODEL, borders->whole->options->seed);
    const Schedule *schedule = known ? known->candidate.schedule : made.choice ? made.choice->schedule : NULL;
    if (schedule)
        made.seconds = estimated_seconds(scratch, part->program, schedule, target);
    arena_free(scratch);
    return made;
}

/* Seconds of a part by its default; HUGE_VAL: not known. Leaves the default with the part. */
static double estimate(Borders *borders, TaskPart *part) {
    int e = 0;
    while (e < borders->estimated.count && strcmp(borders->estimated.items[e].task->key, part->task->key))
        e++;
    if (e == borders->estimated.count)
        list_push(borders->pool->arena, &borders->estimated, choose(borders, part));
    part->standard = borders->estimated.items[e].choice;
    return borders->estimated.items[e].seconds;
}

static double estimate_all(Borders *borders, TaskParts *parts) {
    double sum = 0;
    for (int p = 0; p < parts->count; p++)
        sum += estimate(borders, &parts->items[p]);
    return sum;
}

/* --- which there are --- */

static void add_part(Arena *arena, TaskParts *parts, Program *program) {
    list_push(arena, parts, ((TaskPart){program, task_new(arena, program, NULL), NULL}));
}

/* Puts the parts of the part with a border behind a stage. False: it stays one. */
static bool divide(const Borders *borders, const TaskPart *part, int stage, TaskParts *parts) {
    Program **programs;
    int count = space_tasks_with_border(borders->pool->arena, part->program, borders->whole->target, stage, &programs);
    for (int p = 0; p < count && count > 1; p++)
        add_part(borders->pool->arena, parts, programs[p]);
    return count > 1;
}

/* The function's parts with all that are equal to one divided. False: one of them stays what it is. */
static bool divide_equal(const Borders *borders, Border *border) {
    const char *key = border->divided->task->key;
    bool divided = true;
    for (int p = 0; p < borders->parts.count && divided; p++) {
        const TaskPart *part = &borders->parts.items[p];
        if (!strcmp(part->task->key, key))
            divided = divide(borders, part, border->stage, &border->parts);
        else
            list_push(borders->pool->arena, &border->parts, *part);
    }
    return divided;
}

/* Keeps the most promising ones, in order. */
static void keep(Borders *borders, Border border) {
    list_push(borders->pool->arena, &borders->borders, border);
    int place = borders->borders.count - 1;
    Border *items = borders->borders.items;
    for (; place > 0 && items[place - 1].gain < border.gain; place--)
        items[place] = items[place - 1];
    items[place] = border;
    borders->borders.count -= borders->borders.count > TRIED;
}

static void consider(Borders *borders, TaskPart *part, int count, int stage) {
    Border border = {.divided = part, .stage = stage, .seconds = HUGE_VAL};
    TaskParts alone = {0};
    if (!divide(borders, part, stage, &alone))
        return;
    double before = estimate(borders, part), after = estimate_all(borders, &alone);
    border.gain = count * (before - after);
    if (after <= before * promising && divide_equal(borders, &border)) {
        estimate_all(borders, &border.parts);
        keep(borders, border);
    }
}

static int count_equal(const Borders *borders, const TaskPart *part) {
    int count = 0;
    for (int p = 0; p < borders->parts.count; p++)
        count += !strcmp(borders->parts.items[p].task->key, part->task->key);
    return count;
}

static bool is_first(const Borders *borders, int part) {
    for (int p = 0; p < part; p++)
        if (!strcmp(borders->parts.items[p].task->key, borders->parts.items[part].task->key))
            return false;
    return true;
}

/* When trying is to be over; 0: any time. */
static double time_limit(const Pool *pool, double since) {
    return pool->deadline > 0 ? since + (pool->deadline - since) * time_part : 0;
}

static bool is_over(const Pool *pool, double limit) {
    return pool_halted(pool) || (limit > 0 && monotonic_seconds() >= limit);
}

static void consider_all(Borders *borders) {
    double all = estimate_all(borders, &borders->parts), limit = time_limit(borders->pool, monotonic_seconds());
    for (int p = 0; p < borders->parts.count; p++) {
        TaskPart *part = &borders->parts.items[p];
        int count = count_equal(borders, part);
        if (!is_first(borders, p) || count * estimate(borders, part) < all * least_part)
            continue;
        for (int s = 0; s < part->program->stage_count && !is_over(borders->pool, limit); s++)
            if (!stage_output(part->program->stages[s]))
                consider(borders, part, count, s);
    }
}

/* Opens the tasks of those that are kept; one whose defaults are not legal together is none. */
static void open_all(Borders *borders) {
    int count = 0;
    for (int b = 0; b < borders->borders.count; b++) {
        Border *border = &borders->borders.items[b];
        border->tasks = tasks_of_parts(borders->pool, borders->member, &border->parts);
        if (border->tasks)
            borders->borders.items[count++] = *border;
    }
    borders->borders.count = count;
}

Borders *borders_open(Pool *pool, PoolMember *member) {
    Tuner *whole = member->search->tuners[0];
    if (member->search->trials < LEAST_TRIALS || tuner_is_cold(whole) || !whole->standard)
        return NULL;
    Borders *borders = ARENA_NEW(pool->arena, Borders);
    *borders = (Borders){.pool = pool, .member = member, .whole = whole, .first = member->tasks};
    if (member->tasks)
        borders->parts = *tasks_parts(member->tasks);
    else
        list_push(pool->arena, &borders->parts, ((TaskPart){(Program *)whole->program, whole->task, NULL}));
    consider_all(borders);
    open_all(borders);
    return borders->borders.count ? borders : NULL;
}

/* --- trying --- */

/* The function's seconds with the default borders. What was put together with others is left out, also that of earlier
 * searches: it is no point. */
static double best_before(const Borders *borders) {
    const Tuner *whole = borders->whole;
    double best = borders->first ? tasks_try_best(borders->first, true) : HUGE_VAL;
    for (int t = 0; t < whole->trials.count; t++) {
        const Trial *trial = whole->trials.items[t];
        bool counts = trial == whole->standard || (trial->point && !borders->first);
        if (counts && trial->candidate.outcome == OUTCOME_OK)
            best = fmin(best, trial->candidate.seconds);
    }
    return best;
}

/* The best one with the defaults of its new tasks; NULL: none is near the function with the default borders. */
static Border *measure_all(Borders *borders, double limit) {
    double before = best_before(borders);
    Border *best = NULL;
    for (int b = 0; b < borders->borders.count && !is_over(borders->pool, limit); b++) {
        Border *border = &borders->borders.items[b];
        border->seconds = tasks_try_best(border->tasks, true);
        border->before = before;
        if (border->seconds < before * promising && (!best || border->seconds < best->seconds))
            best = border;
    }
    return best;
}

/* Trials for each side: a part of all, of those that are left, and of what there is time for. */
static int trials_of_side(const Borders *borders, double limit) {
    const Pool *pool = borders->pool;
    double left = (pool->trial_limit - pool_trials(pool)) / 4., pace = borders->whole->pace;
    double timely = limit > 0 && pace > 0 ? (limit - monotonic_seconds()) / pace / 2 : HUGE_VAL;
    return (int)fmin(fmin(borders->member->search->trials / SEARCH_PART, left), fmax(timely, 0));
}

/* The new tasks share the trials. */
static void search_new(Borders *borders, const Border *border, int trials) {
    const Pool *pool = borders->pool;
    bool *new = ARENA_ARRAY(pool->arena, bool, pool->tasks.count);
    int count = 0;
    for (int p = 0; p < border->parts.count; p++) {
        int number = tasks_number(border->tasks, p);
        count += !new[number] && borders->member->weights[number] == 0;
        new[number] |= borders->member->weights[number] == 0;
    }
    for (int t = 0; t < pool->tasks.count; t++)
        if (new[t] && !pool_halted(pool))
            pool_take_turn(borders->pool, t, trials / count > 1 ? trials / count : 1);
}

/* The number of the task that it divides. */
static int divided_number(const Borders *borders, const Border *border) {
    int part = (int)(border->divided - borders->parts.items);
    return borders->first ? tasks_number(borders->first, part) : borders->member->whole;
}

/* Both have as many trials. */
static void compare(Borders *borders, Border *border, int trials) {
    pool_take_turn(borders->pool, divided_number(borders, border), trials);
    border->before = best_before(borders);
    search_new(borders, border, trials);
    border->seconds = fmin(border->seconds, tasks_try_best(border->tasks, true));
    if (border->seconds < border->before * faster)
        borders->taken = border;
}

void borders_try(Borders *borders) {
    double limit = time_limit(borders->pool, monotonic_seconds());
    if (borders->tried || borders->whole->best == HUGE_VAL)
        return;
    borders->tried = true;
    Border *best = measure_all(borders, limit);
    int trials = trials_of_side(borders, limit);
    if (best && trials >= FEW_TRIALS)
        compare(borders, best, trials);
    if (borders->taken)
        pool_take_tasks(borders->pool, borders->member, borders->taken->tasks);
}

/* --- the end --- */

void borders_close(Borders *borders) {
    for (int b = 0; borders && b < borders->borders.count; b++) {
        const Border *border = &borders->borders.items[b];
        const Program *program = border->divided->program;
        BorderResult result = {program, program->stages[border->stage]->name, border->seconds, border->before,
                               border == borders->taken};
        tasks_close(border->tasks);
        if (border->seconds < HUGE_VAL)
            list_push(borders->whole->arena, &borders->whole->result->borders, result);
    }
    if (borders && borders->first)
        tasks_close(borders->first);
}
