/* tune_pool.c - one scheduler for the tasks of several functions: who has the next unit of trials, and whose toolchains
 * are open.
 *
 * What a part of several functions measures counts for the first of them. Each task's best time so far is all that the
 * scheduler knows.
 */
#include "autosched/search/pool.h"
#include "lang/clock.h"

#include <math.h>
#include <string.h>

enum {
    OPEN_TOOLCHAINS = 12, /* at once, of functions and parts together */
    UNITS = 4,            /* at least, for each task */
    UNIT_LEAST = 4        /* trials of a unit: a toolchain may have to be opened for it */
};

/* --- what is searched --- */

static PoolTask *add_task(Pool *pool, PoolMember *member, const Program *program) {
    PoolTask *task = ARENA_NEW(pool->arena, PoolTask);
    *task = (PoolTask){.pool = pool, .member = member, .number = pool->tasks.count, .program = program};
    list_push(pool->arena, &pool->tasks, task);
    return task;
}

Pool *pool_new(Arena *arena, const TuneOptions *options, const FunctionBench *bench, FunctionSearch *searches,
               int count) {
    Pool *pool = ARENA_NEW(arena, Pool);
    *pool = (Pool){.arena = arena, .options = options, .bench = bench, .member_count = count};
    pool->members = ARENA_ARRAY(arena, PoolMember, count);
    for (int m = 0; m < count; m++) {
        PoolMember *member = &pool->members[m];
        member->search = &searches[m];
        member->whole = pool->tasks.count;
        member->lent = !bench || searches[m].open;
        add_task(pool, member, searches[m].tuners[0]->program);
    }
    return pool;
}

/* What was measured for a part was measured for the function. */
static void count_trials(PoolTask *part) {
    const TuneResult *own = part->tuner->result;
    TuneResult *whole = part->member->search->tuners[0]->result;
    whole->trials += own->trials - part->trials;
    whole->measured += own->measured - part->measured;
    part->trials = own->trials;
    part->measured = own->measured;
}

/* Says whose turn it is, and what share of the function's time that has, by the best times so far. */
static void note_turn(const PoolTask *task) {
    const PoolMember *member = task->member;
    Tuner *whole = member->search->tuners[0];
    double seconds = member->weights[task->number] * task->tuner->best;
    whole->turn = task->program->name;
    whole->share = seconds < whole->best && whole->best < HUGE_VAL ? seconds / whole->best : 0;
    tuner_show_progress(whole);
}

/* What a part reports is a report of the function. */
static void relay_progress(void *context, const TuneProgress *progress) {
    PoolTask *part = context;
    (void)progress;
    count_trials(part);
    note_turn(part);
}

/* Equal parts for other targets or numbers of threads are others. */
int pool_find_part(const Pool *pool, const Target *target, const Task *task) {
    for (int t = 0; t < pool->tasks.count; t++) {
        const PoolTask *part = pool->tasks.items[t];
        if (part->tuner && !strcmp(part->task->key, task->key) && part->tuner->target == target)
            return t;
    }
    return -1;
}

int pool_add_part(Pool *pool, PoolMember *member, Program *program, const Task *task, StaticChoice *standard) {
    const Tuner *whole = member->search->tuners[0];
    int equal = pool_find_part(pool, whole->target, task);
    if (equal >= 0)
        return equal;
    PoolTask *part = add_task(pool, member, program);
    part->task = task;
    part->options = *whole->options;
    part->options.workshop = NULL;
    part->options.standard = standard;
    part->options.inputs = NULL;
    part->options.model = whole->model;
    part->options.progress = whole->options->progress ? relay_progress : NULL;
    part->options.progress_context = part;
    part->tuner = tuner_new(pool->arena, program, whole->target, NULL, NULL, whole->database, &part->options);
    tuner_find_default(part->tuner);
    return pool->tasks.count - 1;
}

/* --- the scheduler --- */

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

/* Tasks of one kind differ in sizes alone. kinds: of those before. */
static int number_of_kind(const Pool *pool, const char **kinds, const SchedulerTask *scheduled, int number) {
    kinds[number] = kind_of(pool->arena, pool->tasks.items[number]->program);
    for (int t = 0; t < number; t++)
        if (!strcmp(kinds[t], kinds[number]))
            return scheduled[t].kind;
    return number;
}

static double known_seconds(const Tuner *tuner) {
    const Trial *standard = tuner->standard;
    return standard && standard->candidate.outcome == OUTCOME_OK ? standard->candidate.seconds : 0;
}

static const SchedulerFunction *list_functions(const Pool *pool) {
    SchedulerFunction *functions = ARENA_ARRAY(pool->arena, SchedulerFunction, pool->member_count);
    for (int m = 0; m < pool->member_count; m++) {
        const PoolMember *member = &pool->members[m];
        const FunctionSearch *search = member->search;
        functions[m] = (SchedulerFunction){member->weights, known_seconds(search->tuners[search->preferred])};
    }
    return functions;
}

/* That count for a function. */
static int trials_of_member(const PoolMember *member) {
    return tuners_trials(member->search->tuners, member->search->count) - member->uncounted;
}

static int count_open(const Pool *pool) {
    int open = 0;
    for (int t = 0; t < pool->tasks.count; t++)
        open += !pool->tasks.items[t]->dropped;
    return open;
}

/* Seconds of a trial, of the task or else of its function; 0: not known. */
static double pace_of(const PoolTask *task) {
    const FunctionSearch *search = task->member->search;
    return task->tuner && task->tuner->pace > 0 ? task->tuner->pace : search->tuners[search->preferred]->pace;
}

/* Seconds of a unit of any task; 0: no time is set. */
static double unit_seconds(const Pool *pool) {
    int open = count_open(pool);
    return pool->deadline > 0 ? (pool->deadline - pool->begun) / (UNITS * (open > 0 ? open : 1)) : 0;
}

/* Trials of a unit that there is time for: a slow task is not to take that of the others. Where toolchains are opened
 * again and again, a unit has to be worth it. */
static double timely_trials(const Pool *pool, const PoolTask *task, int open) {
    double pace = pace_of(task), left = (pool->deadline - monotonic_seconds()) / open;
    if (pool->deadline <= 0 || pace <= 0)
        return HUGE_VAL;
    return fmax(fmin(unit_seconds(pool), left) / pace, open > OPEN_TOOLCHAINS ? UNIT_LEAST : 1);
}

/* A round of a search, but so small that each task has some: no function has more than its part before others have
 * theirs. One task alone has all. */
static int unit_of(const Pool *pool, const PoolTask *task) {
    const FunctionSearch *search = task->member->search;
    const Tuner *tuner = task->tuner ? task->tuner : search->tuners[0];
    int open = count_open(pool), left = search->trials - trials_of_member(task->member);
    if (open <= 1 || !tuner->search)
        return pool->planned;
    double fair = fmax((double)pool->planned / (UNITS * open), UNIT_LEAST);
    int unit = (int)fmin(fmin(fair, timely_trials(pool, task, open)), tuner->search->settings[SEARCH_BATCH]);
    return !task->tuner && left > 0 && left < unit ? left : unit;
}

static double best_of(const PoolTask *task) {
    const FunctionSearch *search = task->member->search;
    double best = task->tuner ? task->tuner->best : HUGE_VAL;
    for (int t = 0; t < search->count && !task->tuner; t++)
        best = fmin(best, search->tuners[t]->best);
    return best;
}

static void drop(Pool *pool, int number) {
    pool->tasks.items[number]->dropped = true;
    scheduler_drop(pool->scheduler, number);
}

/* Earlier searches of the program as written count in part, so that the other ones, each of which has a trial at least,
 * are searched, too. */
static void discount(PoolMember *member) {
    const FunctionSearch *search = member->search;
    int own[search->count], sum = 0;
    for (int t = 0; t < search->count; t++) {
        int trials = search->tuners[t]->result->trials;
        sum += own[t] = trials > 0 ? trials : 1;
    }
    member->uncounted = sum - counted_trials(own, search->count, search->trials);
}

/* A function in which nothing is left to find: where trials are its own, others do not get them. */
static void give_up(Pool *pool, PoolMember *member) {
    bool over =
        pool_searches_whole(member) ? pool->tasks.items[member->whole]->dropped : tasks_all_dropped(member->tasks);
    int left = member->search->trials - trials_of_member(member);
    if (over && !member->over && member->search->keeps && left > 0)
        pool->trial_limit -= left;
    member->over |= over;
}

/* What the database has of a part counts for no more than is planned for it. */
static void add_recalled(const PoolTask *part, int recalled) {
    const PoolMember *member = part->member;
    int share = member->tasks ? tasks_share(member->tasks, member->search->trials) : member->search->trials;
    member->search->tuners[0]->result->trials += recalled < share ? recalled : share;
}

/* What the database has counts as if it had been searched now. */
static void count_recalled(Pool *pool, int number) {
    PoolTask *task = pool->tasks.items[number];
    int recalled = task->tuner ? task->tuner->result->trials : trials_of_member(task->member);
    if (task->tuner) {
        add_recalled(task, recalled);
        task->trials = recalled;
    }
    for (int units = recalled / unit_of(pool, task); units > 0; units--)
        scheduler_tell(pool->scheduler, number, best_of(task), 1);
}

static bool is_used(const Pool *pool, int number) {
    for (int m = 0; m < pool->member_count; m++)
        if (pool->members[m].weights[number] > 0)
            return true;
    return false;
}

bool pool_open_scheduler(Pool *pool) {
    int count = pool->tasks.count;
    const char **kinds = ARENA_ARRAY(pool->arena, const char *, count);
    SchedulerTask *scheduled = ARENA_ARRAY(pool->arena, SchedulerTask, count);
    for (int t = 0; t < count; t++) {
        scheduled[t].operations = fmax(program_flops(pool->tasks.items[t]->program), 0);
        scheduled[t].kind = number_of_kind(pool, kinds, scheduled, t);
    }
    for (int m = 0; m < pool->member_count; m++) {
        PoolMember *member = &pool->members[m];
        member->weights = ARENA_ARRAY(pool->arena, double, count);
        tasks_count(member->tasks, member->weights);
        if (member->search->count > 1)
            discount(member);
        member->weights[member->whole] = !member->tasks;
    }
    pool->scheduler = scheduler_open(pool->arena, pool->options->scheduler, scheduled, count, list_functions(pool),
                                     pool->member_count, pool->options->seed);
    for (int t = 0; t < count && pool->scheduler; t++) {
        PoolTask *task = pool->tasks.items[t];
        if (is_used(pool, t)) {
            count_recalled(pool, t);
            continue;
        }
        task->trials = task->tuner ? task->tuner->result->trials : 0;
        drop(pool, t);
    }
    return pool->scheduler != NULL;
}

bool pool_searches_whole(const PoolMember *member) {
    return member->weights[member->whole] > 0;
}

void pool_take_whole(Pool *pool, PoolMember *member) {
    for (int t = 0; t < pool->tasks.count; t++)
        member->weights[t] = t == member->whole;
    pool->tasks.items[member->whole]->dropped = false;
    scheduler_resume(pool->scheduler, member->whole);
    member->search->tuners[0]->alone = NULL;
}

void pool_take_tasks(Pool *pool, PoolMember *member, Tasks *tasks) {
    member->tasks = member->search->tuners[0]->tasks = tasks;
    memset(member->weights, 0, sizeof *member->weights * (size_t)pool->tasks.count);
    tasks_count(tasks, member->weights);
    for (int t = 0; t < pool->tasks.count; t++) {
        PoolTask *task = pool->tasks.items[t];
        if (!is_used(pool, t))
            drop(pool, t);
        if (member->weights[t] == 0 || !task->dropped)
            continue;
        if (task->member == member)
            add_recalled(task, task->tuner->result->trials - task->tuner->result->measured);
        if (task->tuner->exhausted || tuner_lost(task->tuner))
            continue;
        task->dropped = false;
        scheduler_resume(pool->scheduler, t);
    }
}

/* --- toolchains --- */

void pool_close_part(PoolTask *part) {
    const Workshop *workshop = part->member->search->tuners[0]->options->workshop;
    if (!part->toolchain)
        return;
    tuner_take_back(part->tuner);
    workshop->close(workshop->context, part->toolchain);
    part->toolchain = NULL;
}

static void close_member(Pool *pool, PoolMember *member) {
    member->lent = false;
    pool->bench->close(pool->bench->context, (int)(member - pool->members));
}

/* Makes room for another toolchain: those that were used longest ago are closed. */
static void close_oldest(Pool *pool) {
    PoolTask *part = NULL;
    PoolMember *member = NULL;
    int open = 0;
    for (int t = 0; t < pool->tasks.count; t++) {
        PoolTask *task = pool->tasks.items[t];
        open += task->toolchain != NULL;
        part = task->toolchain && (!part || task->used < part->used) ? task : part;
    }
    for (int m = 0; m < pool->member_count && pool->bench; m++) {
        PoolMember *other = &pool->members[m];
        open += other->lent;
        member = other->lent && (!member || other->used < member->used) ? other : member;
    }
    if (open < OPEN_TOOLCHAINS)
        return;
    if (part && (!member || part->used < member->used))
        pool_close_part(part);
    else
        close_member(pool, member);
}

bool pool_lend_member(Pool *pool, PoolMember *member) {
    member->used = ++pool->turns;
    if (member->lent)
        return true;
    close_oldest(pool);
    return member->lent = pool->bench->open(pool->bench->context, (int)(member - pool->members));
}

bool pool_lend_part(Pool *pool, PoolTask *part) {
    const Workshop *workshop = part->member->search->tuners[0]->options->workshop;
    part->used = ++pool->turns;
    if (part->toolchain)
        return true;
    close_oldest(pool);
    part->toolchain = workshop->open(workshop->context, (Program *)part->program);
    tuner_lend(part->tuner, part->toolchain);
    return part->toolchain != NULL;
}

/* --- turns --- */

int pool_trials(const Pool *pool) {
    int sum = 0;
    for (int m = 0; m < pool->member_count; m++)
        sum += trials_of_member(&pool->members[m]);
    return sum;
}

double pool_seconds(const Pool *pool) {
    double sum = 0;
    for (int m = 0; m < pool->member_count; m++)
        sum += pool->members[m].search->seconds;
    return sum;
}

bool pool_halted(const Pool *pool) {
    const volatile int *stop = pool->options->stop;
    return (stop && *stop) || (pool->deadline > 0 && monotonic_seconds() >= pool->deadline);
}

/* False: nothing is left to find, or to measure with. */
static bool search_part(Pool *pool, PoolTask *part, int trials) {
    Tuner *tuner = part->tuner;
    if (!pool_lend_part(pool, part))
        return false;
    note_turn(part);
    tuner_search(tuner, tuner->result->trials + trials, pool->deadline);
    count_trials(part);
    part->member->search->tuners[0]->turn = NULL;
    return !tuner->exhausted && !tuner_lost(tuner);
}

/* What is searched as a whole here is not to begin a search of its tasks. */
static bool search_whole(Pool *pool, PoolMember *member, int trials) {
    FunctionSearch *search = member->search;
    Together *alone = search->tuners[0]->alone;
    search->tuners[0]->alone = pool->bench ? alone : NULL;
    bool going = pool_lend_member(pool, member) && tuners_search(search->tuners, search->count, trials, search->trials,
                                                                 pool->deadline, &member->compared);
    search->tuners[0]->alone = pool->bench ? search->tuners[0]->alone : alone;
    return going;
}

void pool_take_turn(Pool *pool, int number, int trials) {
    PoolTask *task = pool->tasks.items[number];
    double since = monotonic_seconds(), planned = unit_seconds(pool);
    bool going = task->tuner ? search_part(pool, task, trials) : search_whole(pool, task->member, trials);
    double taken = monotonic_seconds() - since;
    task->member->search->seconds += taken;
    scheduler_tell(pool->scheduler, number, best_of(task), planned > 0 ? taken / planned : 1);
    if (going)
        return;
    drop(pool, number);
    for (int m = 0; m < pool->member_count; m++)
        if (pool->members[m].weights[number] > 0)
            give_up(pool, &pool->members[m]);
}

bool pool_spend(Pool *pool, int trials, double deadline) {
    trials = trials < pool->trial_limit ? trials : pool->trial_limit;
    for (int left; (left = trials - pool_trials(pool)) > 0 && !pool_halted(pool) &&
                   (deadline <= 0 || monotonic_seconds() < deadline);) {
        int next = scheduler_next(pool->scheduler);
        if (next < 0)
            return false;
        int unit = unit_of(pool, pool->tasks.items[next]);
        pool_take_turn(pool, next, unit < left ? unit : left);
    }
    return true;
}
