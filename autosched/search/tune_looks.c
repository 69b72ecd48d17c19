/* tune_looks.c - how a time is made of several looks at a candidate, at different times.
 *
 * A machine that others use is slower for some milliseconds or for some seconds, and no clock or counter of a process
 * tells. So all candidates of a batch are looked at one after the other, twice, and those whose looks differ again. The
 * least look counts: disturbances only add time. A look with fewer than three undisturbed calls counts for nothing.
 *
 * Phases that outlast a batch show in the reference, one schedule that is looked at before and after each batch. Where
 * it took longer than in other batches, by more than it differs among them, the batch gets one pass more; if it still
 * did, the times are taken relative to it. Else they stand as they are: the reference's own noise must not get into
 * them.
 */
#include "autosched/search/tuner.h"
#include "lang/clock.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_LOOKS = 3, TRUSTED_CALLS = 3, TRIES = 2, FEW_BATCHES = 3 };
static const double agreeing = 0.1;       /* two looks that differ by a smaller part agree */
static const double certain_part = 0.15;  /* the least difference that is taken for the machine's */
static const double unknown_spread = 0.5; /* of the reference's times while there are few */
static const double slow_factor = 1.5;    /* of the best: slower runs may stop early */
static const double slow_reference = 4;   /* of the best: it would take too long */

/* --- looks --- */

static bool is_disturbed(const Candidate *candidate) {
    const Disturbance *d = &candidate->disturbance;
    return candidate->outcome == OUTCOME_OK && disturbance_is_known(d) && d->undisturbed < TRUSTED_CALLS;
}

bool tuner_look(const Tuner *tuner, Candidate *candidate, double limit_seconds, bool thorough) {
    int tries = candidate->look ? 1 : TRIES;
    for (int i = 0; i < tries && candidate->outcome == OUTCOME_OK && (i == 0 || is_disturbed(candidate)); i++) {
        tuner->toolchain->measure(tuner->toolchain->context, candidate, limit_seconds, thorough);
        candidate->look++;
    }
    if (!is_disturbed(candidate))
        return true;
    candidate->outcome = OUTCOME_TIMEOUT;
    candidate->transient = true;
    candidate->why = "other processes disturbed it";
    return false;
}

double tuner_slow_seconds(const Tuner *tuner) {
    return tuner->best < HUGE_VAL ? tuner->best * slow_factor : 0;
}

static bool has_time(const Trial *trial) {
    return trial->built && trial->finished && trial->candidate.outcome == OUTCOME_OK;
}

static bool looks_agree(const Trial *trial) {
    return trial->looks > 1 && trial->second_look <= trial->candidate.seconds * (1 + agreeing);
}

/* Takes a look at a candidate into account. One that failed tells nothing, but for a wrong result: the machine's
 * failures are found where candidates fail at first, and in the race. */
static void add_look(Tuner *tuner, Trial *trial, const Candidate *look) {
    double seconds = trial->candidate.seconds;
    if (look->outcome == OUTCOME_WRONG) {
        tuner_forget(tuner, trial);
        trial->candidate = *look;
        tuner->good--;
        tuner_count_failure(tuner, trial);
        return;
    }
    if (look->outcome != OUTCOME_OK)
        return;
    trial->second_look =
        trial->looks == 1 ? fmax(seconds, look->seconds) : fmin(trial->second_look, fmax(seconds, look->seconds));
    trial->looks++;
    if (look->seconds < seconds)
        trial->candidate = *look;
    tuner->best = fmin(tuner->best, look->seconds);
}

static void look_again(Tuner *tuner, Trial *trial) {
    Candidate look = trial->candidate;
    double since = monotonic_seconds();
    tuner_look(tuner, &look, tuner_slow_seconds(tuner), false);
    trial->wall_seconds += monotonic_seconds() - since;
    if (!tuner_stopped(tuner) || look.outcome == OUTCOME_OK)
        add_look(tuner, trial, &look);
}

/* --- the reference --- */

static bool is_good(const Trial *trial) {
    return trial && trial->candidate.outcome == OUTCOME_OK && trial->candidate.seconds > 0;
}

/* The default, which stays the same; the best where that is slow or not known. */
static const Trial *choose_reference(const Tuner *tuner) {
    const Trial *standard = tuner->standard, *now = tuner->reference.trial;
    if (is_good(standard) && standard->candidate.seconds <= slow_reference * tuner->best)
        return standard;
    return now && is_good(now) && now->candidate.seconds <= slow_reference * tuner->best ? now
                                                                                         : tuner_best_trial(tuner);
}

void tuner_drop_reference(Tuner *tuner) {
    Reference *reference = &tuner->reference;
    if (reference->candidate)
        tuner->toolchain->release(tuner->toolchain->context, reference->candidate);
    reference->candidate = NULL;
}

static void build_reference(Tuner *tuner, const Trial *trial) {
    const Toolchain *toolchain = tuner->toolchain;
    Candidate *candidate = ARENA_NEW(tuner->arena, Candidate); /* builders may outlive this */
    tuner_drop_reference(tuner);
    if (trial != tuner->reference.trial)
        tuner->reference = (Reference){.trial = trial};
    *candidate = (Candidate){.id = tuner->next_id++, .schedule = trial->candidate.schedule, .look = 1};
    toolchain->submit(toolchain->context, candidate);
    if (!tuner_collect(tuner, candidate, 1))
        return;
    if (candidate->outcome == OUTCOME_OK)
        tuner->reference.candidate = candidate;
    else
        toolchain->release(toolchain->context, candidate);
}

static void look_at_reference(Tuner *tuner) {
    Reference *reference = &tuner->reference;
    if (!reference->candidate || tuner_halted(tuner))
        return;
    Candidate look = *reference->candidate;
    tuner_look(tuner, &look, 0, false);
    if (look.outcome == OUTCOME_OK)
        reference->now = reference->now > 0 ? fmin(reference->now, look.seconds) : look.seconds;
}

static double typical_seconds(const Reference *reference) {
    return reference->times.count ? reference->times.items[reference->times.count / 2] : 0;
}

/* What the reference takes at most while the machine is no slower than in most batches. */
static double usual_limit(const Reference *reference) {
    int count = reference->times.count;
    double typical = typical_seconds(reference);
    double spread = count < FEW_BATCHES ? unknown_spread
                                        : (reference->times.items[count * 3 / 4] - reference->times.items[0]) / typical;
    return typical * (1 + fmax(spread, certain_part));
}

static bool is_slow(const Reference *reference) {
    return reference->now > 0 && reference->times.count && reference->now > usual_limit(reference);
}

/* Slow batches are not among those that tell what is usual: a machine that stays slow is slow to the end. */
static void note_batch(Tuner *tuner) {
    Reference *reference = &tuner->reference;
    reference->was_slow = is_slow(reference);
    if (reference->now <= 0 || reference->was_slow)
        return;
    list_push(tuner->arena, &reference->times, reference->now);
    qsort(reference->times.items, (size_t)reference->times.count, sizeof *reference->times.items, compare_seconds);
}

/* --- batches --- */

/* Nothing is the reference before it is known whether the default is. */
void tuner_begin_batch(Tuner *tuner) {
    bool early = tuner->standard && !tuner->standard_known;
    const Trial *trial = early || tuner_halted(tuner) ? NULL : choose_reference(tuner);
    if (trial && (trial != tuner->reference.trial || !tuner->reference.candidate))
        build_reference(tuner, trial);
    tuner->reference.now = 0;
    look_at_reference(tuner);
}

/* all: also those that agree. */
static void take_pass(Tuner *tuner, Trial **trials, int count, bool all) {
    for (int t = 0; t < count; t++)
        if (has_time(trials[t]) && !tuner_halted(tuner) && (all || !looks_agree(trials[t])))
            look_again(tuner, trials[t]);
}

/* Sets the time of a trial relative to the reference, where the machine was slower than usual. */
static void relate(Tuner *tuner, Trial *trial) {
    const Reference *reference = &tuner->reference;
    if (!has_time(trial) || reference->now <= 0)
        return;
    bool slow = is_slow(reference);
    trial->candidate.seconds *= slow ? typical_seconds(reference) / reference->now : 1;
    trial->candidate.reference_seconds = slow ? typical_seconds(reference) : reference->now;
}

/* Records what became of a trial in its batch. Whoever reads the log has its line already. */
static void settle_trial(Tuner *tuner, Trial *trial, const Candidate *before) {
    const Candidate *now = &trial->candidate;
    relate(tuner, trial);
    if (!has_time(trial) && now->outcome != OUTCOME_WRONG)
        return;
    tuner_record(tuner, trial);
    if (now->outcome != before->outcome || now->seconds < before->seconds || now->seconds > before->seconds ||
        now->reference_seconds > 0)
        tuner_log(tuner, trial, "looks");
}

void tuner_end_batch(Tuner *tuner, Trial **trials, int count) {
    const Reference *reference = &tuner->reference;
    Candidate before[count + 1];
    for (int t = 0; t < count; t++)
        before[t] = trials[t]->candidate;
    for (int look = 1; look < MOST_LOOKS; look++)
        take_pass(tuner, trials, count, false);
    look_at_reference(tuner);
    if (is_slow(reference) && !reference->was_slow) {
        take_pass(tuner, trials, count, true);
        look_at_reference(tuner);
    }
    for (int t = 0; t < count; t++)
        if (trials[t]->built && trials[t]->finished)
            settle_trial(tuner, trials[t], &before[t]);
    note_batch(tuner);
    const Trial *best = tuner_best_trial(tuner);
    tuner->best = best ? best->candidate.seconds : HUGE_VAL;
}
