/* tune_together.c - the search of several functions under one scheduler, in steps: units for their tasks, then what is
 * put together of them.
 *
 * Before them other borders between the tasks are tried. The steps are there so that a search that is stopped has put
 * something together. A function of one task, or of several algorithms, is searched as a whole, and so is one none of
 * whose tasks can be measured by itself.
 */
#include "autosched/search/pool.h"
#include "lang/clock.h"

enum {
    STEPS = 4,      /* after each of which the best are put together */
    STEP_TRIALS = 32 /* at least */
};
static const double time_part = 0.9; /* of the time, for the tasks */

struct Together {
    Pool *pool;
    bool begun;
};

Together *together_new(Arena *arena, const TuneOptions *options, const FunctionBench *bench, FunctionSearch *functions,
                       int count) {
    Together *together = ARENA_NEW(arena, Together);
    together->pool = pool_new(arena, options, bench, functions, count);
    return together;
}

bool together_lend(Together *together, int function) {
    return pool_lend_member(together->pool, &together->pool->members[function]);
}

void together_end(Together *together, int function) {
    together->pool->members[function].lent = false;
}

/* --- the functions that have tasks --- */

/* How many there are, of those that a unit may go to. */
static int count_joined(const Pool *pool) {
    int count = 0;
    for (int m = 0; m < pool->member_count; m++)
        count += pool->members[m].tasks != NULL;
    return count;
}

/* Trials that are kept for what is put together. */
static int trials_to_join(const Pool *pool) {
    int sum = 0;
    for (int m = 0; m < pool->member_count; m++)
        sum += pool->members[m].tasks ? tasks_kept(pool->members[m].search->trials) - 1 : 0;
    return sum;
}

static void try_best(const Pool *pool, bool must) {
    for (int m = 0; m < pool->member_count; m++)
        if (pool->members[m].tasks)
            tasks_try_best(pool->members[m].tasks, must);
}

static void try_variants(const Pool *pool) {
    for (int m = 0; m < pool->member_count; m++)
        if (pool->members[m].tasks)
            tasks_try_variants(pool->members[m].tasks);
}

/* The best of a task are measured again, so that the luckiest is not taken for the best. */
static void race_parts(Pool *pool) {
    for (int t = 0; t < pool->tasks.count && !pool_halted(pool); t++) {
        PoolTask *part = pool->tasks.items[t];
        double since = monotonic_seconds();
        if (part->tuner && part->tuner->result->measured > 0 && pool_lend_part(pool, part))
            tuners_race(&part->tuner, 1, pool->deadline);
        part->member->search->seconds += monotonic_seconds() - since;
    }
}

/* Functions whose tasks cannot be measured by themselves. Whether there are any. */
static bool take_wholes(Pool *pool) {
    bool any = false;
    for (int m = 0; m < pool->member_count; m++) {
        PoolMember *member = &pool->members[m];
        if (pool_searches_whole(member) || !tasks_all_dropped(member->tasks) || tasks_any_measured(member->tasks))
            continue;
        pool_take_whole(pool, member);
        any = true;
    }
    return any;
}

/* False: no task is worth more. */
static bool spend(Pool *pool, int trials, double deadline) {
    bool going = pool_spend(pool, trials, deadline);
    while (take_wholes(pool))
        going = pool_spend(pool, trials, deadline);
    return going;
}

/* --- the steps --- */

static bool search_in_steps(Pool *pool, int trials) {
    int kept = trials_to_join(pool);
    int steps = 1 + trials / STEP_TRIALS < STEPS ? 1 + trials / STEP_TRIALS : STEPS;
    double since = monotonic_seconds(), time = pool->deadline > 0 ? (pool->deadline - since) * time_part : 0;
    bool going = true;
    for (int step = 1; step <= steps && going && !pool_halted(pool); step++) {
        int until = pool->trial_limit - kept - (trials - kept) * (steps - step) / steps;
        going = spend(pool, until, time > 0 ? since + time * step / steps : 0);
        if (step == steps || !going)
            race_parts(pool);
        try_best(pool, step == steps || !going);
    }
    return going;
}

/* Before the tasks are searched: what is taken decides which tasks there are. */
static void try_borders(Pool *pool) {
    for (int m = 0; m < pool->member_count; m++)
        if (pool->members[m].borders)
            borders_try(pool->members[m].borders);
}

/* What is put together may be known: then the tasks get its trials. */
static bool search_joined(Pool *pool) {
    bool going = search_in_steps(pool, pool->trial_limit - pool_trials(pool));
    try_variants(pool);
    for (int last = count_joined(pool); last >= 0 && going; last = last > 0 ? 0 : -1) {
        going = spend(pool, pool->trial_limit - last, pool->deadline);
        try_best(pool, true);
    }
    return going;
}

static void open_tasks(Pool *pool, PoolMember *member) {
    Tuner *whole = member->search->tuners[0];
    whole->tasks = member->tasks = tasks_open(pool, member);
    whole->borders = member->borders = borders_open(pool, member);
}

static bool begin(Pool *pool, int trials) {
    pool->planned = trials;
    for (int m = 0; m < pool->member_count; m++) {
        PoolMember *member = &pool->members[m];
        const FunctionSearch *search = member->search;
        if (search->count == 1 && tuner_may_have_tasks(search->tuners[0]))
            open_tasks(pool, member);
    }
    return pool_open_scheduler(pool);
}

Together *together_alone(Tuner *tuner) {
    FunctionSearch *search = ARENA_NEW(tuner->arena, FunctionSearch);
    Tuner **tuners = ARENA_ARRAY(tuner->arena, Tuner *, 1);
    tuners[0] = tuner;
    *search = (FunctionSearch){.tuners = tuners, .count = 1, .trials = tuner->options->trials};
    Together *together = together_new(tuner->arena, tuner->options, NULL, search, 1);
    together->begun = begin(together->pool, search->trials);
    return together->begun && (tuner->tasks || tuner->borders) ? together : NULL;
}

/* What became of each function. */
static void note_ends(const Pool *pool, bool going) {
    for (int m = 0; m < pool->member_count; m++) {
        const PoolMember *member = &pool->members[m];
        Tuner *whole = member->search->tuners[0];
        if (pool_searches_whole(member))
            continue;
        whole->exhausted |= !going;
        whole->complete |= tasks_all_complete(member->tasks);
    }
}

bool together_search(Together *together, int trials, double deadline) {
    Pool *pool = together->pool;
    pool->trial_limit = trials;
    pool->begun = monotonic_seconds();
    pool->deadline = deadline;
    if (!together->begun && !begin(pool, trials))
        return false;
    together->begun = true;
    try_borders(pool);
    bool going = count_joined(pool) ? search_joined(pool) : spend(pool, trials, deadline);
    note_ends(pool, going);
    return !pool_halted(pool);
}
