/* simulated.c - see simulated.h. */
#include "simulated.h"
#include "autosched/model/profile.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint64_t statements_hash(const Schedule *schedule) {
    Arena *arena = arena_new();
    Text text = {.arena = arena};
    uint64_t hash = 5;
    text_add(&text, " ");
    schedule_print_statements(&text, schedule);
    for (const char *at = text.text; *at; at++)
        hash = hash_mix(hash ^ (unsigned char)*at) + 1;
    arena_free(arena);
    return hash;
}

static bool is_taken_in(const Nest *nest, const char *name) {
    for (int s = 0; name && s < nest->stage_count; s++)
        if (!strcmp(nest->stages[s]->stage->name, name) && (nest->stages[s]->inlined || nest->stages[s]->parent))
            return true;
    return false;
}

/* The static estimate, bent: a middle number of accumulators is best, plain loops and long bodies cost more than it
 * thinks. */
double simulated_seconds(Simulated *simulated, const Schedule *schedule) {
    Arena *scratch = arena_new();
    Nest *nest = nest_build(scratch, simulated->program, schedule, NULL, simulated->target, NULL);
    double seconds = HUGE_VAL;
    if (nest) {
        const Profile *profile = profile_nest(scratch, nest);
        Estimate estimate = static_estimate(profile, simulated->target);
        const StageFacts *stage = &profile->stages[profile->heaviest];
        double last = stage->loop_count ? stage->extents[stage->loop_count - 1] : 1;
        seconds = estimate.seconds * (1 + fabs(estimate.accumulators - 12) / 12 + fabs(log2(last) - 4) / 4);
        seconds *= 1 + (double)(statements_hash(schedule) % 64) / 1000;
        seconds *= is_taken_in(nest, simulated->lonely) ? 3 : 1;
    }
    arena_free(scratch);
    return seconds;
}

static void submit(void *context, Candidate *candidate) {
    Simulated *simulated = context;
    list_push(simulated->arena, &simulated->queue, candidate);
}

/* By chance, but for the first one, which a tuning compares all others with. */
static int failure_of(const Simulated *simulated, const Candidate *candidate) {
    uint64_t hash = statements_hash(candidate->schedule) >> 20;
    if (simulated->all_fail)
        return OUTCOME_CRASH;
    if (hash == statements_hash(simulated->queue.items[0]->schedule) >> 20)
        return simulated->first_dies ? OUTCOME_CRASH : OUTCOME_OK;
    if (!simulated->failure_rate || hash % (uint64_t)simulated->failure_rate)
        return OUTCOME_OK;
    return 1 + (int)(hash / (uint64_t)simulated->failure_rate % (OUTCOME_COUNT - 1));
}

/* Also marks the candidate so. */
static bool is_busy(Simulated *simulated, Candidate *candidate) {
    bool first = statements_hash(candidate->schedule) == statements_hash(simulated->queue.items[0]->schedule);
    candidate->transient = simulated->busy > 0 || (simulated->busy < 0 && first);
    simulated->busy -= simulated->busy > 0;
    return candidate->transient;
}

static Candidate *collect(void *context, bool wait) {
    Simulated *simulated = context;
    if (simulated->next == simulated->queue.count || simulated->stop)
        return NULL;
    Candidate *candidate = simulated->queue.items[simulated->next++];
    bool fails = failure_of(simulated, candidate) == OUTCOME_BUILD_ERROR;
    candidate->outcome = fails ? OUTCOME_BUILD_ERROR : OUTCOME_OK;
    candidate->why = fails ? "the compiler gave up" : "";
    simulated->built++;
    simulated->waiting++;
    if (simulated->ahead < simulated->waiting)
        simulated->ahead = simulated->waiting;
    candidate->build_seconds = 1e-6 * simulated->build_pause;
    if (simulated->build_pause)
        usleep((useconds_t)simulated->build_pause);
    if (is_busy(simulated, candidate)) {
        candidate->outcome = simulated->without_memory ? OUTCOME_BUILD_ERROR : OUTCOME_TIMEOUT;
        candidate->why = simulated->without_memory ? "there is no memory" : "the build stood still";
    }
    return candidate;
}

/* The machine and not the candidate. */
static int failure_of_machine(Simulated *simulated, Candidate *candidate, bool thorough) {
    bool first = statements_hash(candidate->schedule) == statements_hash(simulated->queue.items[0]->schedule);
    if (simulated->broken_after && simulated->measured + simulated->raced >= simulated->broken_after)
        return OUTCOME_CRASH;
    if (simulated->cut_after && simulated->measured + simulated->raced >= simulated->cut_after) {
        candidate->transient = true;
        return OUTCOME_CRASH;
    }
    int again = first && !thorough && !candidate->look ? simulated->first_runs++ : 0,
        bad = simulated->default_dies + simulated->default_busy;
    if (again > 0 && again <= bad) {
        candidate->transient = simulated->default_busy > 0;
        return candidate->transient ? OUTCOME_TIMEOUT : OUTCOME_CRASH;
    }
    if (thorough && first && simulated->race_ends && --simulated->race_ends == 0) {
        simulated->race_ends = 1;
        candidate->transient = true;
        return OUTCOME_BUILD_ERROR;
    }
    return OUTCOME_OK;
}

/* What the machine's speed and other processes do to a measurement before the race. */
static void disturb(Simulated *simulated, Candidate *candidate) {
    bool first = statements_hash(candidate->schedule) == statements_hash(simulated->queue.items[0]->schedule);
    bool late = simulated->slow_from && simulated->measured >= simulated->slow_from;
    bool disturbed = simulated->disturbed > 0 || (simulated->disturbed < 0 && !first);
    bool slow = simulated->burst && (simulated->measured + simulated->looks) % simulated->burst == 0;
    simulated->disturbed -= simulated->disturbed > 0;
    candidate->disturbance = (Disturbance){.processor_part = 1, .undisturbed = disturbed ? 2 : 3};
    candidate->seconds *= disturbed ? 100 : slow || (late && simulated->reference == 0) ? 3 : 1;
    candidate->seconds *= late && first && simulated->reference > 0 ? simulated->reference : 1;
    if (simulated->breaks && candidate->look && !first)
        candidate->outcome = OUTCOME_WRONG;
}

static void measure(void *context, Candidate *candidate, double limit_seconds, bool thorough) {
    Simulated *simulated = context;
    uint64_t hash = statements_hash(candidate->schedule);
    simulated->waiting = 0;
    candidate->disturbance = (Disturbance){.processor_part = 1, .undisturbed = 3};
    int failure = failure_of(simulated, candidate);
    if (simulated->die_at && !candidate->look && simulated->measured + 1 == simulated->die_at)
        kill(getpid(), SIGKILL);
    if (simulated->pause)
        usleep((useconds_t)simulated->pause);
    failure = failure ? failure : failure_of_machine(simulated, candidate, thorough);
    candidate->outcome = (Outcome)failure;
    bool deaths = simulated->deaths || simulated->first_dies || simulated->broken_after;
    candidate->died = failure == OUTCOME_CRASH && deaths && !candidate->transient;
    candidate->why = failure ? "it failed" : "";
    candidate->seconds = failure ? 0 : simulated_seconds(simulated, candidate->schedule);
    candidate->seconds *= simulated->slower > 0 ? simulated->slower : 1;
    candidate->seconds *= simulated->measured == 0 && !thorough && simulated->first > 0 ? simulated->first : 1;
    candidate->seconds *= thorough && simulated->racing > 0 ? simulated->racing : 1;
    candidate->repeats = thorough ? SIMULATED_RACE_CALLS : 3;
    if (thorough) {
        simulated->raced++;
        return;
    }
    if (candidate->outcome == OUTCOME_OK)
        disturb(simulated, candidate);
    if (candidate->look) {
        simulated->looks++;
        return;
    }
    simulated->measured++;
    simulated->repeated += hash_set_has(&simulated->seen, hash);
    hash_set_add(&simulated->seen, hash);
    if (simulated->measured == simulated->stop_after)
        simulated->stop = 1;
}

static void release(void *context, Candidate *candidate) {
    ((Simulated *)context)->released++;
}

void simulated_open(Simulated *simulated, Arena *arena, const Program *program, const Target *target) {
    *simulated = (Simulated){.arena = arena, .program = program, .target = target};
    simulated->toolchain = (Toolchain){
        .context = simulated, .jobs = 2, .submit = submit, .collect = collect, .measure = measure, .release = release};
}

void simulated_close(Simulated *simulated) {
    free(simulated->seen.slots);
}

Database *database_for_test(Arena *arena, const char *path) {
    const char *why;
    Database *database = database_open(arena, path, &why, NULL);
    if (!database) {
        fprintf(stderr, "%s\n", why);
        exit(1);
    }
    return database;
}

int count_failures(Arena *arena, Database *database, const Program *program, const Target *target) {
    Record *records;
    int failures = 0;
    int count = database_find(arena, database, task_hash(arena, program), database_target(target), 2, &records);
    for (int r = 0; r < count; r++)
        failures += records[r].outcome != OUTCOME_OK;
    return failures;
}
