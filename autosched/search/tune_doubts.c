/* tune_doubts.c - failures that may be the machine's fault, not the schedule's.
 *
 * A failure is recorded only when another trial of the same search succeeds; one that ended a worker or a build
 * process, only when the default schedule succeeds after it. If nothing succeeds, or the default no longer does, the
 * search ends, and failures in doubt count as never tried. A wrong result is not in doubt: the machine ran it, and it
 * was compared here.
 */
#include "autosched/search/tuner.h"

enum { HOPELESS_TRIALS = 8, PROBES = 2 };

typedef enum Verdict { BELIEVED, DISMISSED, OPEN } Verdict;

void tuner_doubt(Tuner *tuner, Trial *trial) {
    list_push(tuner->arena, &tuner->doubted, trial);
}

bool tuner_doubts(const Tuner *tuner, const Trial *trial) {
    for (int d = 0; d < tuner->doubted.count; d++)
        if (tuner->doubted.items[d] == trial)
            return true;
    return false;
}

static bool some_died(const Tuner *tuner) {
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

static Verdict probe_default(Tuner *tuner) {
    Verdict verdict = OPEN;
    for (int p = 0; p < PROBES && verdict != BELIEVED && !tuner_halted(tuner); p++) {
        Candidate *probe = ARENA_NEW(tuner->arena, Candidate); /* builders may outlive this */
        *probe = (Candidate){.id = tuner->next_id++, .schedule = tuner->standard->candidate.schedule};
        if (!run_probe(tuner, probe))
            return OPEN;
        verdict = probe->outcome == OUTCOME_OK ? BELIEVED : probe->transient ? OPEN : DISMISSED;
        tuner->good += verdict == BELIEVED;
    }
    return verdict;
}

static Verdict judge(Tuner *tuner) {
    const Trial *standard = tuner->standard;
    bool well = standard && tuner->standard_known && standard->candidate.outcome == OUTCOME_OK;
    if (tuner->good && (!well || !some_died(tuner)))
        return BELIEVED;
    if (well)
        return probe_default(tuner);
    return tuner->doubted.count >= HOPELESS_TRIALS ? DISMISSED : OPEN;
}

static void count_end(Tuner *tuner, const char *why) {
    TuneResult *result = tuner->result;
    result->ended++;
    if (!result->ended_why && why)
        result->ended_why = arena_strdup(tuner->arena, why);
}

void tuner_count_unsettled(Tuner *tuner, const Trial *trial) {
    tuner->result->unsettled++;
    if (trial->candidate.outcome == OUTCOME_CRASH)
        count_end(tuner, trial->candidate.why);
}

const char *tuner_dismiss(Tuner *tuner) {
    const char *why = NULL;
    for (int d = 0; d < tuner->doubted.count; d++) {
        Candidate *candidate = &tuner->doubted.items[d]->candidate;
        candidate->transient = true;
        tuner->result->failed[candidate->outcome]--;
        tuner->result->unsettled++;
        count_end(tuner, candidate->why);
        why = candidate->why;
    }
    tuner->doubted.count = 0;
    return why;
}

void tuner_settle(Tuner *tuner) {
    Verdict verdict = tuner->doubted.count ? judge(tuner) : OPEN;
    if (verdict == DISMISSED)
        tuner->lost = tuner_dismiss(tuner);
    if (verdict != BELIEVED)
        return;
    for (int d = 0; d < tuner->doubted.count; d++) {
        tuner_record(tuner, tuner->doubted.items[d]);
        tuner_log(tuner, tuner->doubted.items[d], "trial");
    }
    tuner->doubted.count = 0;
}

const char *tuner_lost(const Tuner *tuner) {
    return tuner->lost ? tuner->lost : tuner->toolchain ? tuner->toolchain->lost : NULL;
}
