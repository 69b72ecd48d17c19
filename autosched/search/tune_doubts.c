/* tune_doubts.c - failures that may be the machine's fault, not the schedule's.
 *
 * A failure is recorded only when another trial of the same search succeeds; one that ended a worker or a build
 * process, only when the default schedule succeeds after it. If nothing succeeds, or the default does not, the search
 * ends, and failures in doubt count as never tried. So it does where processes end for another reason, such as a lost
 * connection, that of the default too. A wrong result is not in doubt: the machine ran it, and it was compared here.
 */
#include "autosched/search/tuner.h"

enum { HOPELESS_TRIALS = 8, PROBES = 2, HOPELESS_ENDS = 2 };

typedef enum FailureVerdict { BELIEVED, DISMISSED, OPEN } FailureVerdict;

void tuner_doubt(Tuner *tuner, Trial *trial) {
    list_push(tuner->arena, &tuner->doubted, trial);
}

bool tuner_doubts(const Tuner *tuner, const Trial *trial) {
    for (int d = 0; d < tuner->doubted.count; d++)
        if (tuner->doubted.items[d] == trial)
            return true;
    return false;
}

bool candidate_ended_process(const Candidate *candidate) {
    return candidate->outcome != OUTCOME_OK && (candidate->died || candidate->outcome == OUTCOME_CRASH);
}

void tuner_note_run(Tuner *tuner, const Candidate *candidate) {
    if (candidate->outcome == OUTCOME_OK)
        tuner->ends = 0;
    if (!candidate_ended_process(candidate) || !candidate->transient)
        return;
    tuner->ends++;
    tuner->end_why = candidate->why;
}

/* Whether a process ended of what is in doubt, or for another reason since a candidate did well. */
static bool some_ended(const Tuner *tuner) {
    if (tuner->ends)
        return true;
    for (int d = 0; d < tuner->doubted.count; d++)
        if (tuner->doubted.items[d]->candidate.died)
            return true;
    return false;
}

/* Builds and runs the default. False: the search was halted before that. */
static bool run_probe(const Tuner *tuner, Candidate *probe) {
    const Toolchain *toolchain = tuner->toolchain;
    toolchain->submit(toolchain->context, probe);
    if (!tuner_collect(tuner, probe, 1))
        return false;
    tuner_look(tuner, probe, 0, false);
    toolchain->release(toolchain->context, probe);
    return true;
}

static FailureVerdict verdict_of(const Candidate *probe) {
    if (probe->outcome == OUTCOME_OK)
        return BELIEVED;
    return probe->transient && !candidate_ended_process(probe) ? OPEN : DISMISSED;
}

/* *why: of its failure. */
static FailureVerdict probe_default(Tuner *tuner, const char **why) {
    FailureVerdict verdict = OPEN;
    for (int p = 0; p < PROBES && verdict != BELIEVED && !tuner_halted(tuner); p++) {
        Candidate *probe = ARENA_NEW(tuner->arena, Candidate); /* builders may outlive this */
        *probe = (Candidate){.id = tuner->next_id++, .schedule = tuner->standard->candidate.schedule};
        if (!run_probe(tuner, probe))
            return OPEN;
        verdict = verdict_of(probe);
        *why = probe->why;
        tuner_note_run(tuner, probe);
        tuner->good += verdict == BELIEVED;
    }
    return verdict;
}

/* Where processes end, only the default tells that the machine is well. */
static FailureVerdict judge(Tuner *tuner, const char **why) {
    const Trial *standard = tuner->standard;
    bool well = standard && tuner->standard_known && standard->candidate.outcome == OUTCOME_OK;
    if (tuner->good && (!standard || !some_ended(tuner)))
        return BELIEVED;
    if (well)
        return probe_default(tuner, why);
    return !tuner->good && tuner->doubted.count >= HOPELESS_TRIALS ? DISMISSED : OPEN;
}

static void count_end(Tuner *tuner, const char *why) {
    TuneResult *result = tuner->result;
    result->failures.ended++;
    if (!result->failures.ended_why && why)
        result->failures.ended_why = arena_strdup(tuner->arena, why);
}

void tuner_count_unsettled(Tuner *tuner, const Trial *trial) {
    Outcome outcome = trial->candidate.outcome; /* a busy machine makes runs too long, and ends no build */
    tuner->result->failures.unsettled++;
    if (outcome == OUTCOME_CRASH || outcome == OUTCOME_BUILD_ERROR)
        count_end(tuner, trial->candidate.why);
}

/* All as the machine's; returns the last one's reason, or NULL. */
static const char *dismiss(Tuner *tuner) {
    const char *why = NULL;
    for (int d = 0; d < tuner->doubted.count; d++) {
        Candidate *candidate = &tuner->doubted.items[d]->candidate;
        candidate->transient = true;
        tuner_uncount_failure(tuner, candidate);
        tuner->result->failures.unsettled++;
        count_end(tuner, candidate->why);
        why = candidate->why;
    }
    tuner->doubted.count = 0;
    return why;
}

void tuner_settle(Tuner *tuner) {
    const char *failure = NULL;
    FailureVerdict verdict = tuner->doubted.count || tuner->ends ? judge(tuner, &failure) : OPEN;
    if (verdict == DISMISSED) {
        const char *doubt = dismiss(tuner);
        tuner->lost = doubt ? doubt : failure;
    }
    if (verdict != BELIEVED)
        return;
    for (int d = 0; d < tuner->doubted.count; d++) {
        tuner_record(tuner, tuner->doubted.items[d]);
        tuner_log(tuner, tuner->doubted.items[d], "trial");
    }
    tuner->doubted.count = 0;
}

void tuner_settle_last(Tuner *tuner) {
    const char *doubt = dismiss(tuner), *ended = tuner->ends >= HOPELESS_ENDS ? tuner->end_why : NULL;
    if (tuner->lost || tuner_stopped(tuner))
        return;
    tuner->lost = doubt && !tuner->good ? doubt : ended;
}

void tuner_lose_default(Tuner *tuner, const char *why) {
    dismiss(tuner);
    tuner->lost = arena_printf(tuner->arena, "its default schedule does not run on this machine: %s", why);
}

const char *tuner_lost(const Tuner *tuner) {
    return tuner->lost ? tuner->lost : tuner->toolchain ? tuner->toolchain->lost : NULL;
}
