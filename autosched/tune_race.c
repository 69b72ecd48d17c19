/* tune_race.c - the end of a tuning: the best few and the default are built again and measured thoroughly, in turns.
 *
 * A machine that is shared runs whole seconds at half its speed; in turns, all suffer alike, and the fastest of a
 * candidate's turns is compared. The default wins unless another is faster; whatever fails here is out.
 */
#include "autosched/tuner.h"

#include <math.h>

enum { RACERS = 4, TURNS = 4 };

/* The fastest trials, and the default at the end where it is none of them. */
static int choose_racers(const Tuner *tuner, Trial **racers) {
    int count = 0;
    for (int t = 0; t < tuner->trials.count; t++) {
        Trial *trial = tuner->trials.items[t];
        double seconds = trial->candidate.seconds;
        if (trial->candidate.outcome != OUTCOME_OK || trial == tuner->standard ||
            (count == RACERS && seconds >= racers[RACERS - 1]->candidate.seconds))
            continue;
        int place = count < RACERS ? count++ : RACERS - 1;
        for (; place > 0 && racers[place - 1]->candidate.seconds > seconds; place--)
            racers[place] = racers[place - 1];
        racers[place] = trial;
    }
    if (tuner->standard && tuner->standard->candidate.outcome == OUTCOME_OK)
        racers[count++] = tuner->standard;
    return count;
}

static bool build_racers(Tuner *tuner, Trial **racers, Candidate *candidates, int count) {
    const Toolchain *toolchain = tuner->toolchain;
    for (int i = 0; i < count; i++) {
        candidates[i] = (Candidate){.id = tuner->next_id++, .schedule = racers[i]->candidate.schedule};
        toolchain->submit(toolchain->context, &candidates[i]);
    }
    for (int built = 0; built < count;) {
        Candidate *candidate = toolchain->collect(toolchain->context, true);
        if (!candidate)
            return false;
        if (candidate >= candidates && candidate < candidates + count)
            built++;
        else
            toolchain->release(toolchain->context, candidate); /* left over from rounds that were halted */
    }
    return true;
}

static void take_turns(Tuner *tuner, Trial **racers, Candidate *candidates, int count) {
    for (int turn = 0; turn < TURNS; turn++)
        for (int i = 0; i < count; i++) {
            int racer = turn % 2 ? count - 1 - i : i;
            Candidate *candidate = &candidates[racer];
            if (candidate->outcome != OUTCOME_OK || (tuner->options->stop && *tuner->options->stop))
                continue;
            tuner->toolchain->measure(tuner->toolchain->context, candidate, 0, true);
            if (candidate->outcome == OUTCOME_OK &&
                (racers[racer]->raced == 0 || candidate->seconds < racers[racer]->raced))
                racers[racer]->raced = candidate->seconds;
        }
}

/* What the race found is the better measurement: the database gets it. */
static void record_race(Tuner *tuner, Trial *trial, const Candidate *candidate) {
    trial->candidate.outcome = candidate->outcome;
    trial->candidate.spread = candidate->spread;
    trial->candidate.repeats = candidate->repeats;
    if (candidate->outcome == OUTCOME_OK)
        trial->candidate.seconds = trial->raced;
    else
        tuner->result->failed[candidate->outcome]++;
    tuner_record(tuner, trial);
}

/* Without the default, for which the machine had no time, the others' faster times say nothing. */
static bool default_raced(const Tuner *tuner, Trial **racers, const Candidate *candidates, int count) {
    int last = count - 1; /* where it stands */
    return racers[last] != tuner->standard || candidates[last].outcome == OUTCOME_OK || !candidates[last].passing;
}

Trial *tuner_race(Tuner *tuner) {
    Trial *racers[RACERS + 1], *winner = NULL;
    int count = choose_racers(tuner, racers);
    Candidate *candidates = ARENA_ARRAY(tuner->arena, Candidate, RACERS + 1); /* builders may outlive this function */
    bool built = build_racers(tuner, racers, candidates, count);
    if (built)
        take_turns(tuner, racers, candidates, count);
    built &= default_raced(tuner, racers, candidates, count);
    for (int i = count - 1; i >= 0; i--) {
        bool finished = built && candidates[i].outcome == OUTCOME_OK && racers[i]->raced > 0;
        if (built && (finished || (candidates[i].outcome != OUTCOME_OK && !candidates[i].passing)))
            record_race(tuner, racers[i], &candidates[i]);
        if (finished && (!winner || racers[i]->raced < winner->raced))
            winner = racers[i];
        tuner->toolchain->release(tuner->toolchain->context, &candidates[i]);
    }
    return winner;
}
