/* tune_race.c - the end of a tuning: the best trials and the default are built again and measured thoroughly, in turns,
 * those of several algorithms together. Before that: which algorithm's search goes on.
 *
 * A shared machine runs whole seconds at half its speed. In turns all candidates suffer alike, and each one's fastest
 * turn is compared. The default wins unless another is faster; whatever fails here is out.
 */
#include "autosched/search/tuner.h"
#include "lang/clock.h"

#include <math.h>

enum { RACERS = 4, TURNS = 4, COMPARISONS = 2, GAIN_TRIALS = 16, TURN_TRIALS = 16, TASKS_TURN = 64, WRITTEN_PART = 4 };
static const double expected_gain = 0.4; /* part of a default's time that a search is expected to save */
static const double further_gain = 0.1;  /* in addition to what other searches saved */
static const double near_enough = 1.15;  /* of the best time: slower algorithms are not in the race */
static const double far_enough = 4;      /* of the best default: slower defaults are not compared again */

typedef struct Race {
    Tuner *tuner;
    Trial *racers[RACERS + 1];
    Candidate *candidates; /* builders may outlive the race */
    int count;
    bool only_default; /* only to say how much faster others are */
    bool built;
} Race;

/* Takes up to `most` of the fastest trials, then the default. */
static int choose_racers(const Tuner *tuner, Trial **racers, int most) {
    int count = 0;
    for (int t = 0; t < tuner->trials.count && most > 0; t++) {
        Trial *trial = tuner->trials.items[t];
        double seconds = trial->candidate.seconds;
        if (trial->candidate.outcome != OUTCOME_OK || trial == tuner->standard ||
            (count == most && seconds >= racers[most - 1]->candidate.seconds))
            continue;
        int place = count < most ? count++ : most - 1;
        for (; place > 0 && racers[place - 1]->candidate.seconds > seconds; place--)
            racers[place] = racers[place - 1];
        racers[place] = trial;
    }
    if (tuner->standard && tuner->standard->candidate.outcome == OUTCOME_OK)
        racers[count++] = tuner->standard;
    return count;
}

static void build_racers(Race *race) {
    Tuner *tuner = race->tuner;
    const Toolchain *toolchain = tuner->toolchain;
    race->candidates = ARENA_ARRAY(tuner->arena, Candidate, RACERS + 1);
    for (int i = 0; i < race->count; i++) {
        race->candidates[i] = (Candidate){.id = tuner->next_id++, .schedule = race->racers[i]->candidate.schedule};
        toolchain->submit(toolchain->context, &race->candidates[i]);
    }
    race->built = tuner_collect(tuner, race->candidates, race->count);
}

/* Measures a candidate, and once more if a process died of it. False: other processes disturbed it, which says nothing
 * of it: it takes part in the next turn. */
static bool measure_again(const Tuner *tuner, Candidate *candidate) {
    Candidate before = *candidate;
    bool trusted = tuner_look(tuner, candidate, 0, true);
    if (candidate->outcome != OUTCOME_OK && candidate->died && !tuner_lost(tuner)) {
        candidate->outcome = OUTCOME_OK;
        trusted = tuner_look(tuner, candidate, 0, true);
    }
    if (!trusted)
        *candidate = before;
    return trusted;
}

static void take_turn(const Race *race, bool backward) {
    for (int i = 0; i < race->count && race->built; i++) {
        int racer = backward ? race->count - 1 - i : i;
        Candidate *candidate = &race->candidates[racer];
        Trial *trial = race->racers[racer];
        if (candidate->outcome != OUTCOME_OK || tuner_stopped(race->tuner))
            continue;
        bool trusted = measure_again(race->tuner, candidate);
        if (trusted && candidate->outcome == OUTCOME_OK && (trial->raced == 0 || candidate->seconds < trial->raced))
            trial->raced = candidate->seconds;
    }
}

/* Whether a failure is the candidate's own, since the default succeeds: a wrong result, or two processes died of it. */
static bool is_proven(const Candidate *candidate) {
    return candidate->outcome == OUTCOME_WRONG || (candidate->outcome != OUTCOME_OK && candidate->died);
}

/* Records the race's result, which is the better measurement. The default is settled first. */
static void record_race(Tuner *tuner, Trial *trial, const Candidate *candidate) {
    trial->candidate.outcome = candidate->outcome;
    trial->candidate.why = candidate->why;
    trial->candidate.spread = candidate->spread;
    trial->candidate.repeats = candidate->repeats;
    const Trial *reference = tuner->reference.trial;
    trial->candidate.reference_seconds = reference ? reference->raced : 0;
    trial->candidate.disturbance = candidate->disturbance;
    if (candidate->outcome == OUTCOME_OK) {
        trial->candidate.seconds = trial->raced;
        tuner->best = fmin(tuner->best, trial->raced);
    } else {
        tuner_count_failure(tuner, trial);
        tuner_forget(tuner, trial);
    }
    tuner_record(tuner, trial);
    tuner_log(tuner, trial, "race");
}

/* The race counts only if the default still ran: otherwise the machine failed, and times and failures mean nothing. */
static bool is_valid(const Race *race) {
    int last = race->count - 1; /* the default's place */
    bool died = false;
    if (!race->built || tuner_lost(race->tuner))
        return false;
    if (!race->count || race->racers[last] != race->tuner->standard)
        return true;
    Candidate *standard = &race->candidates[last];
    for (int i = 0; i < last; i++)
        died |= is_proven(&race->candidates[i]);
    if (died && standard->outcome == OUTCOME_OK)
        measure_again(race->tuner, standard);
    return standard->outcome == OUTCOME_OK && race->racers[last]->raced > 0;
}

static bool was_outside(const Trial *trial) {
    return trial->candidate.outcome == OUTCOME_OK && trial->raced <= 0;
}

/* Trials that did not finish the race were measured at another time: they must not count as faster than the winner.
 * Where one would, all of them are taken as slower by one factor, so that they still tell which of them is faster, and
 * by how much. */
static void rank_behind(Tuner *tuner, const Trial *winner) {
    double least = HUGE_VAL, behind = nextafter(winner->raced, HUGE_VAL);
    for (int t = 0; t < tuner->trials.count; t++)
        if (was_outside(tuner->trials.items[t]))
            least = fmin(least, tuner->trials.items[t]->candidate.seconds);
    for (int t = 0; t < tuner->trials.count && least < behind; t++) {
        Trial *trial = tuner->trials.items[t];
        if (!was_outside(trial))
            continue;
        trial->candidate.seconds = fmax(trial->candidate.seconds * (behind / least), behind);
        trial->candidate.reference_seconds *= behind / least;
        tuner_record(tuner, trial);
    }
}

/* Takes the results of the racers, or none of them. */
static void settle(Race *race, bool valid) {
    Tuner *tuner = race->tuner;
    for (int i = race->count - 1; i >= 0; i--) {
        const Candidate *candidate = &race->candidates[i];
        Trial *racer = race->racers[i];
        bool finished = valid && candidate->outcome == OUTCOME_OK && racer->raced > 0;
        if (finished || (valid && is_proven(candidate)))
            record_race(tuner, racer, candidate);
        if (finished && !race->only_default && (!tuner->winner || racer->raced < tuner->winner->raced))
            tuner->winner = racer;
        if (!finished)
            racer->raced = 0;
        tuner->toolchain->release(tuner->toolchain->context, &race->candidates[i]);
    }
    if (valid && tuner->winner && race->count > 1)
        rank_behind(tuner, tuner->winner);
}

/* Trials of an earlier run race only if this run has measured, too. */
static bool may_race(const Tuner *tuner, double limit) {
    bool comparable = !tuner->standard || tuner->standard_known;
    bool going = tuner->toolchain && !tuner_stopped(tuner) && !tuner_lost(tuner);
    return going && comparable && tuner->result->measured > 0 && tuner_best_trial(tuner) && tuner->best <= limit;
}

/* How many of its fastest trials each search may race besides its default in the time left; below 0: not even that. */
static int affordable_racers(const Race *races, int count, int racers, double deadline) {
    double pace = 0;
    if (deadline <= 0)
        return racers;
    for (int r = 0; r < count; r++)
        pace += races[r].tuner->pace;
    double each = (deadline - monotonic_seconds()) / pace;
    return each >= racers + 1 ? racers : each >= 1 ? (int)each - 1 : -1;
}

/* Races the fastest trials and the default of each search, of one that is slower than the limit only the default, in up
 * to `turns` turns while there is time; not at all if there is time for fewer than `least` trials each. */
static void race(Tuner *const *tuners, int count, double limit, int least, int racers, int turns, double deadline) {
    Race races[count];
    double best = HUGE_VAL, started = monotonic_seconds();
    int racing = 0;
    for (int t = 0; t < count; t++)
        best = fmin(best, tuners[t]->best);
    for (int t = 0; t < count; t++)
        if (may_race(tuners[t], best * far_enough))
            races[racing++] = (Race){.tuner = tuners[t], .only_default = tuners[t]->best > best * limit};
    racers = affordable_racers(races, racing, racers, deadline);
    if (racers < least)
        return;
    for (int r = 0; r < racing; r++) {
        races[r].count = choose_racers(races[r].tuner, races[r].racers, races[r].only_default ? 0 : racers);
        build_racers(&races[r]);
    }
    for (int turn = 0; turn < turns && (turn == 0 || deadline <= 0 || monotonic_seconds() < deadline); turn++)
        for (int r = 0; r < racing; r++)
            take_turn(&races[turn % 2 ? racing - 1 - r : r], turn % 2);
    bool valid = true;
    for (int r = 0; r < racing; r++)
        valid &= is_valid(&races[r]);
    for (int r = 0; r < racing; r++) {
        settle(&races[r], valid);
        races[r].tuner->spent += (monotonic_seconds() - started) / racing;
    }
}

void tuners_race(Tuner *const *tuners, int count, double deadline) {
    race(tuners, count, near_enough, 1, RACERS, TURNS, deadline);
}

void tuners_compare(Tuner *const *tuners, int count, double deadline) {
    race(tuners, count, far_enough, 0, 0, COMPARISONS, deadline);
    for (int t = 0; t < count; t++) {
        tuners[t]->winner = NULL;
        if (tuners[t]->standard)
            tuners[t]->standard->raced = 0; /* what is said of the last race is of it alone */
    }
}

/* --- which search goes on --- */

/* The part of its default's time that a search has saved. */
static double gain(const Tuner *tuner) {
    const Trial *standard = tuner->standard;
    bool known = standard && standard->candidate.outcome == OUTCOME_OK && standard->candidate.seconds > 0;
    return known ? 1 - tuner->best / standard->candidate.seconds : 0;
}

/* The best saving to expect: what one search saved, another may, too. */
static double greatest_gain(Tuner *const *tuners, int count) {
    double greatest = expected_gain;
    for (int t = 0; t < count; t++)
        greatest = fmax(greatest, gain(tuners[t]) + further_gain);
    return greatest;
}

/* The time that a search may reach: the more it has tried, the less it can still gain. */
static double promise(const Tuner *tuner, double greatest) {
    double tried = 1 + (double)tuner->result->trials / GAIN_TRIALS;
    return tuner->best * (1 - greatest / (tried * tried));
}

int counted_trials(const int *own, int count, int trials) {
    int sum = 0, most = trials / WRITTEN_PART;
    for (int i = 0; i < count; i++)
        sum += own[i];
    return sum <= trials || own[0] <= most ? sum : sum - own[0] + most;
}

static int counted_of_all(Tuner *const *tuners, int count, int trials) {
    int own[count];
    for (int t = 0; t < count; t++)
        own[t] = tuners[t]->result->trials;
    return counted_trials(own, count, trials);
}

/* After each turn what was found of the tasks is put together, which takes time. */
static bool is_for_tasks(const Tuner *tuner) {
    return tuner->alone || tuner_may_have_tasks(tuner);
}

Tuner *tuners_next(Tuner *const *tuners, int count, int trials, int *until) {
    double greatest = greatest_gain(tuners, count);
    Tuner *next = NULL;
    for (int t = 0; t < count; t++) {
        if (tuners[t]->exhausted || tuners[t]->result->trials >= trials)
            continue;
        *until = 1;
        if (tuners[t]->result->trials == 0)
            return tuners[t];
        if (!next || promise(tuners[t], greatest) < promise(next, greatest))
            next = tuners[t];
    }
    int left = next ? trials - counted_of_all(tuners, count, trials) : 0, own = next ? next->result->trials : 0;
    if (left > trials - own)
        left = trials - own;
    int turn = left > 0 && is_for_tasks(next) ? TASKS_TURN : TURN_TRIALS;
    *until = own + (count == 1 || left < turn ? left : turn);
    return left > 0 ? next : NULL;
}

static bool are_lost(Tuner *const *tuners, int count) {
    for (int t = 0; t < count; t++)
        if (tuner_lost(tuners[t]))
            return true;
    return false;
}

bool tuners_search(Tuner *const *tuners, int count, int more, int trials, double deadline, bool *compared) {
    int end = tuners_trials(tuners, count) + more, until = 0;
    Tuner *next = NULL;
    for (int left = more; left > 0 && !tuner_stopped(tuners[0]); left = end - tuners_trials(tuners, count)) {
        next = tuners_next(tuners, count, trials, &until);
        if (!next && end > trials) /* it is given more than its part */
            next = tuners_next(tuners, count, end, &until);
        if (!next)
            return false;
        int most = next->result->trials + left;
        if (until > 1 && !*compared && count > 1)
            tuners_compare(tuners, count, deadline);
        else
            tuner_search(next, until < most ? until : most, deadline);
        *compared |= until > 1;
    }
    return !are_lost(tuners, count);
}
