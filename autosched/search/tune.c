/* tune.c - the pipeline of a tuning: first the default schedule, then rounds of propose, build, measure, record, learn;
 * last a race of the best.
 *
 * Nothing that a candidate does ends the search: it is a counted outcome. A tuning that was stopped or killed resumes
 * where it was, since each result is in the database before the next candidate runs. Trials in the database count.
 */
#include "autosched/search/tuner.h"
#include "lang/clock.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BUILDS_AHEAD = 2, EMPTY_ROUNDS = 3, EMPTY_POINTS = 48, ATTEMPTS = 2 };
static const size_t held_bytes = (size_t)256 << 20; /* of objects built but not measured; one alone may exceed it */
static const double batch_part = 0.25;              /* of the time left: what is built but not measured is lost */
static const double race_part = 0.12;               /* of the time budget, kept for the race */

static void begin_step(Tuner *tuner) {
    tuner->since = monotonic_seconds();
}

static void end_step(Tuner *tuner) {
    tuner->spent += monotonic_seconds() - tuner->since;
    tuner->since = 0;
}

double tuner_elapsed(const Tuner *tuner) {
    return tuner->spent + (tuner->since > 0 ? monotonic_seconds() - tuner->since : 0);
}

bool tuner_stopped(const Tuner *tuner) {
    return tuner->options->stop && *tuner->options->stop;
}

bool tuner_halted(const Tuner *tuner) {
    return tuner_stopped(tuner) || tuner_lost(tuner) || (tuner->deadline > 0 && monotonic_seconds() >= tuner->deadline);
}

double tune_deadline(double budget_seconds) {
    return budget_seconds > 0 ? monotonic_seconds() + budget_seconds * (1 - race_part) : 0;
}

/* --- trials --- */

Trial *trial_new(Tuner *tuner, const Schedule *schedule, const int *point) {
    Arena *scratch = arena_new();
    Nest *nest = nest_build(scratch, tuner->program, schedule, NULL, tuner->target, NULL);
    Trial *trial = nest ? ARENA_NEW(tuner->arena, Trial) : NULL;
    if (trial) {
        float *features = ARENA_ARRAY(tuner->arena, float, feature_count());
        features_extract(scratch, nest, features);
        *trial = (Trial){.candidate = {.id = tuner->next_id++, .schedule = schedule},
                         .point = point,
                         .features = features,
                         .prediction = NAN};
        trial->text = task_text(tuner->arena, tuner->task, schedule);
    }
    arena_free(scratch);
    return trial;
}

/* Whether two reasons are equal but for their numbers. */
static bool is_same_reason(const char *a, const char *b) {
    while (*a || *b) {
        a += strspn(a, "0123456789.");
        b += strspn(b, "0123456789.");
        if (*a != *b)
            return false;
        a += *a != 0;
        b += *b != 0;
    }
    return true;
}

void add_failures(Arena *arena, TuneFailures *sum, const TuneFailures *more) {
    for (int outcome = 1; outcome < OUTCOME_COUNT; outcome++)
        sum->failed[outcome] += more->failed[outcome];
    sum->unsettled += more->unsettled;
    sum->ended += more->ended;
    sum->ended_why = sum->ended_why ? sum->ended_why : more->ended_why;
    for (int r = 0; r < more->reasons.count; r++)
        list_push(arena, &sum->reasons, more->reasons.items[r]);
}

/* The reason that is the candidate's; NULL: there is none yet. */
static FailureReason *find_reason(const TuneFailures *failures, const Candidate *candidate) {
    for (int i = 0; i < failures->reasons.count; i++) {
        FailureReason *reason = &failures->reasons.items[i];
        if (reason->outcome == candidate->outcome && is_same_reason(reason->why, candidate->why))
            return reason;
    }
    return NULL;
}

void tuner_count_failure(Tuner *tuner, const Trial *trial) {
    const Candidate *candidate = &trial->candidate;
    TuneFailures *failures = &tuner->result->failures;
    failures->failed[candidate->outcome]++;
    if (!candidate->why || !*candidate->why)
        return;
    FailureReason *reason = find_reason(failures, candidate);
    FailureReason first = {candidate->outcome, arena_strdup(tuner->arena, candidate->why), 1};
    if (reason)
        reason->count++;
    else
        list_push(tuner->arena, &failures->reasons, first);
}

void tuner_uncount_failure(Tuner *tuner, const Candidate *candidate) {
    TuneFailures *failures = &tuner->result->failures;
    FailureReason *reason = candidate->why ? find_reason(failures, candidate) : NULL;
    failures->failed[candidate->outcome]--;
    if (reason && --reason->count == 0)
        *reason = failures->reasons.items[--failures->reasons.count];
}

void tuner_show_progress(const Tuner *tuner) {
    const TuneOptions *options = tuner->options;
    if (!options->progress)
        return;
    int done = tuner->result->trials, left = tuner->trial_limit - done, here = tuner->result->measured;
    double elapsed = tuner_elapsed(tuner), eta = here > 0 ? elapsed / here * left : 0;
    if (tuner->deadline > 0)
        eta = fmin(eta, fmax(tuner->deadline - monotonic_seconds(), 0));
    TuneProgress progress = {.name = tuner->program->name, .trials = done, .trial_limit = tuner->trial_limit};
    for (int outcome = 1; outcome < OUTCOME_COUNT; outcome++)
        progress.failed += tuner->result->failures.failed[outcome];
    progress.failed += tuner->result->failures.unsettled;
    progress.best_seconds = tuner->best < HUGE_VAL ? tuner->best : 0;
    progress.best_gflops = tuner->best < HUGE_VAL && tuner->flops > 0 ? tuner->flops / tuner->best * 1e-9 : 0;
    progress.elapsed = elapsed;
    progress.eta = eta;
    progress.task = tuner->turn;
    progress.share = tuner->share;
    options->progress(options->progress_context, &progress);
}

/* A transient failure says nothing about the schedule. */
static bool is_unsettled(const Trial *trial) {
    return trial->candidate.outcome != OUTCOME_OK && trial->candidate.transient;
}

/* Transient failures deserve another try, and so do candidates that ended a process: another time they may not. */
static bool deserves_another_try(const Trial *trial) {
    return is_unsettled(trial) || (trial->candidate.outcome != OUTCOME_OK && trial->candidate.died);
}

/* Adds a finished trial to the counts, the search and the database. */
static void finish_trial(Tuner *tuner, Trial *trial) {
    const Candidate *candidate = &trial->candidate;
    bool good = candidate->outcome == OUTCOME_OK;
    tuner->result->trials++;
    tuner->result->measured++;
    trial->finished = true;
    trial->looks = good;
    trial->order = ++tuner->order;
    tuner_remember(tuner, trial);
    tuner->good += good;
    if (good)
        tuner->best = fmin(tuner->best, candidate->seconds);
    else if (candidate->transient)
        tuner_count_unsettled(tuner, trial);
    else
        tuner_count_failure(tuner, trial);
    if (!is_unsettled(trial)) { /* a wrong result is the schedule's fault; for others see tune_doubts.c */
        if (good || candidate->outcome == OUTCOME_WRONG) {
            tuner_keep(tuner, trial);
            tuner_log(tuner, trial, "trial");
        } else {
            tuner_doubt(tuner, trial);
        }
    }
    tuner_show_progress(tuner);
}

static Trial *trial_of(Trial **trials, int count, const Candidate *candidate) {
    for (int i = 0; i < count; i++)
        if (&trials[i]->candidate == candidate)
            return trials[i];
    return NULL;
}

/* Measures a built candidate. A measurement that a stop interrupted counts for nothing. */
static void measure_trial(Tuner *tuner, Trial *trial, bool last_attempt) {
    Candidate *candidate = &trial->candidate;
    double since = monotonic_seconds();
    tuner_look(tuner, candidate, tuner_slow_seconds(tuner), false);
    tuner->built_for += candidate->build_seconds;
    trial->wall_seconds = candidate->build_seconds + monotonic_seconds() - since;
    tuner_note_run(tuner, candidate);
    bool settled = !deserves_another_try(trial) || (last_attempt && !tuner_halted(tuner));
    if (settled && (!tuner_stopped(tuner) || candidate->outcome == OUTCOME_OK))
        finish_trial(tuner, trial);
}

/* Builds trials up to the count or the limit of objects. Each is then `built`, unless the tuning was halted. Returns
 * how many were begun. */
static int build_trials(Tuner *tuner, Trial **trials, int count) {
    const Toolchain *toolchain = tuner->toolchain;
    int submitted = 0, finished = 0, ahead = BUILDS_AHEAD * (toolchain->jobs > 0 ? toolchain->jobs : 1);
    size_t held = 0;
    while (finished < count) {
        while (submitted < count && submitted - finished < ahead && held < held_bytes && !tuner_halted(tuner))
            toolchain->submit(toolchain->context, &trials[submitted++]->candidate);
        Candidate *candidate = submitted > finished ? toolchain->collect(toolchain->context, true) : NULL;
        if (!candidate)
            break;
        Trial *trial = trial_of(trials, count, candidate);
        if (!trial) { /* left over from a tuning that was stopped */
            toolchain->release(toolchain->context, candidate);
            continue;
        }
        trial->built = true;
        held += candidate->object_bytes;
        finished++;
    }
    return submitted;
}

/* Measures trials and releases them. The search learns what came of them. */
static void measure_trials(Tuner *tuner, Trial **trials, int count, bool last_attempt) {
    double since = monotonic_seconds();
    tuner_begin_batch(tuner);
    for (int t = 0; t < count; t++)
        if (trials[t]->built && !tuner_halted(tuner))
            measure_trial(tuner, trials[t], last_attempt);
    tuner_end_batch(tuner, trials, count);
    tuner->measured_for += monotonic_seconds() - since;
    for (int t = 0; t < count; t++) {
        Trial *trial = trials[t];
        const Candidate *candidate = &trial->candidate;
        bool good = candidate->outcome == OUTCOME_OK;
        if (trial->finished && !is_unsettled(trial))
            search_tell(tuner->search, trial->point, trial->features, good ? candidate->seconds : HUGE_VAL);
        if (trial->built)
            tuner->toolchain->release(tuner->toolchain->context, &trial->candidate);
        trial->finished = false;
    }
}

/* Builds a whole batch on all processors before it measures: builds and measurements exclude each other, and a
 * measurement that waited for one build would leave the other processors idle. */
static void run_once(Tuner *tuner, Trial **trials, int count, bool last_attempt) {
    for (int begun = 0, from = 0; begun < count && !tuner_halted(tuner); from = begun) {
        begun += build_trials(tuner, trials + from, count - from);
        measure_trials(tuner, trials + from, begun - from, last_attempt);
    }
}

/* Moves trials to try again to the front; returns their number. */
static int keep_unsettled(Trial **trials, int count) {
    int kept = 0;
    for (int t = 0; t < count; t++)
        if (trials[t]->built && deserves_another_try(trials[t])) {
            trials[t]->built = false;
            trials[t]->candidate.look = 0;
            trials[kept++] = trials[t];
        }
    return kept;
}

bool tuner_collect(const Tuner *tuner, const Candidate *candidates, int count) {
    const Toolchain *toolchain = tuner->toolchain;
    for (int built = 0; built < count;) {
        Candidate *candidate = toolchain->collect(toolchain->context, true);
        if (!candidate)
            return false;
        if (candidate >= candidates && candidate < candidates + count)
            built++;
        else
            toolchain->release(toolchain->context, candidate);
    }
    return true;
}

static void note_pace(Tuner *tuner, double seconds, int trials) {
    if (trials > 0 && (tuner->pace <= 0 || seconds / trials < tuner->pace))
        tuner->pace = seconds / trials;
}

void tuner_run(Tuner *tuner, Trial **trials, int count) {
    double since = monotonic_seconds();
    int before = tuner->result->measured;
    tuner->built_for = tuner->measured_for = 0;
    for (int attempt = 1; attempt <= ATTEMPTS && count > 0 && !tuner_halted(tuner); attempt++) {
        run_once(tuner, trials, count, attempt == ATTEMPTS);
        count = keep_unsettled(trials, count);
    }
    tuner->last_count = tuner->result->measured - before;
    note_pace(tuner, monotonic_seconds() - since, tuner->last_count);
    tuner_settle(tuner);
    tuner_flush(tuner);
}

/* --- rounds --- */

/* The model's score, by which the trial is proposed; NAN: none. */
static double predict(const Tuner *tuner, const Trial *trial) {
    float score = NAN;
    model_predict(tuner->model, trial->features, 1, &score);
    return isfinite(score) ? score : NAN;
}

/* Makes trials of new points. A schedule that is known already is not measured again. */
static int make_trials(Tuner *tuner, int **points, int count, Trial **trials) {
    int made = 0;
    for (int i = 0; i < count; i++) {
        Schedule *schedule = complete_schedule(tuner->arena, tuner->space, points[i]);
        Trial *trial = schedule ? trial_new(tuner, schedule, points[i]) : NULL;
        if (!trial || tuner_knows(tuner, trial->text))
            continue;
        tuner_mark(tuner, trial->text); /* two points of a batch may give the same schedule */
        trial->prediction = predict(tuner, trial);
        trials[made++] = trial;
    }
    return made;
}

/* How many trials there is time for, judged by the last batch: builds run in parallel, measurements do not. */
static int batch_size(const Tuner *tuner) {
    int left = tuner->trial_limit - tuner->result->trials, most = (int)tuner->search->settings[SEARCH_BATCH];
    int size = left < most ? left : most;
    int jobs = tuner->toolchain->jobs > 0 ? tuner->toolchain->jobs : 1;
    if (tuner->deadline <= 0 || tuner->last_count == 0)
        return size;
    double time = batch_part * (tuner->deadline - monotonic_seconds()) * tuner->last_count;
    while (size > 1 && (size + jobs - 1) / jobs * tuner->built_for + size * tuner->measured_for > time)
        size--;
    return size;
}

/* What was proposed since the last trial: several points may give one schedule, so that some that are known say nothing
 * of the others. */
typedef struct Fruitless {
    int points, none; /* none: rounds without a point */
} Fruitless;

static bool is_over(const Fruitless *fruitless) {
    return fruitless->points >= EMPTY_POINTS || fruitless->none >= EMPTY_ROUNDS;
}

static void run_rounds(Tuner *tuner) {
    int most = (int)tuner->search->settings[SEARCH_BATCH];
    int **points = ARENA_ARRAY(tuner->arena, int *, most);
    Trial **trials = ARENA_ARRAY(tuner->arena, Trial *, most);
    Fruitless fruitless = {0};
    while (tuner->result->trials < tuner->trial_limit && !tuner_halted(tuner) && !is_over(&fruitless)) {
        int wanted = batch_size(tuner), before = tuner->result->trials;
        if (!fruitless.points)
            search_learn(tuner->search);
        int count = search_propose(tuner->search, wanted, points);
        tuner_run(tuner, trials, make_trials(tuner, points, count, trials));
        fruitless = tuner->result->trials == before ? (Fruitless){fruitless.points + count, fruitless.none + !count}
                                                    : (Fruitless){0};
    }
    tuner->complete |= is_over(&fruitless) && !tuner_halted(tuner);
    tuner->exhausted |= is_over(&fruitless);
}

/* --- beginning and end --- */

bool trial_is_final(const Trial *trial) {
    return trial->candidate.outcome == OUTCOME_OK;
}

bool tuner_is_cold(const Tuner *tuner) {
    return tuner->search && tuner->search->settings[SEARCH_COLD];
}

/* Finds the default schedule, of which a cold search knows nothing. Its trial is in the database, or is made anew. */
void tuner_find_default(Tuner *tuner) {
    if (tuner->standard_sought)
        return;
    tuner->standard_sought = true;
    if (tuner_is_cold(tuner))
        return;
    const StaticChoice *choice = tuner->options->standard;
    if (!choice)
        choice = space_choice(tuner->arena, tuner->space, EFFORT_MODEL, tuner->options->seed, NULL);
    tuner->standard = trial_new(tuner, choice->schedule, choice->point);
    for (int t = 0; tuner->standard && t < tuner->trials.count; t++)
        if (strcmp(tuner->trials.items[t]->text, tuner->standard->text) == 0 &&
            trial_is_final(tuner->trials.items[t])) {
            tuner->standard = tuner->trials.items[t];
            tuner->standard_known = true;
            return;
        }
    if (tuner->standard)
        tuner->standard->unproposed = true;
}

/* The default is always measured, unless the search is cold: nothing counts as better than an unmeasured default. */
static void measure_default(Tuner *tuner) {
    if (!tuner->standard || tuner->standard_known)
        return;
    Trial *trial = tuner->standard;
    int before = tuner->result->measured;
    trial->built = false;
    tuner_run(tuner, &trial, 1);
    if (tuner->result->measured > before && candidate_ended_process(&trial->candidate))
        tuner_lose_default(tuner, trial->candidate.why);
    tuner->standard_known = tuner->result->measured > before && !is_unsettled(trial) && !tuner_doubts(tuner, trial);
}

static Schedule *schedule_of(Tuner *tuner, const Trial *trial) {
    Schedule *copy = ARENA_NEW(tuner->arena, Schedule);
    *copy = *trial->candidate.schedule;
    return copy;
}

static void use_schedule(Tuner *tuner, const Trial *trial) {
    tuner->result->schedule = schedule_of(tuner, trial);
    tuner->result->raced = trial->raced > 0;
    tuner->result->seconds = trial->raced > 0 ? trial->raced : trial->candidate.seconds;
}

/* The result is not slower: the default takes part in each race, and is a trial like the others. */
static void set_default_seconds(Tuner *tuner) {
    const Trial *standard = tuner->standard;
    tuner->result->default_raced = standard && standard->candidate.outcome == OUTCOME_OK && standard->raced > 0;
    if (standard && standard->candidate.outcome == OUTCOME_OK)
        tuner->result->default_seconds = standard->raced > 0 ? standard->raced : standard->candidate.seconds;
}

/* Sets the reason why there is less than was asked for. */
static void set_reason(Tuner *tuner) {
    const Trial *standard = tuner->standard;
    TuneResult *result = tuner->result;
    result->lost = tuner_lost(tuner) != NULL;
    result->why = tuner_lost(tuner);
    if (!result->why && result->measured && standard && standard->candidate.outcome != OUTCOME_OK)
        result->why = standard->candidate.why;
}

Trial *tuner_best_trial(const Tuner *tuner) {
    Trial *best = NULL;
    for (int t = 0; t < tuner->trials.count; t++) {
        Trial *trial = tuner->trials.items[t];
        if (trial->candidate.outcome == OUTCOME_OK && (!best || trial->candidate.seconds < best->candidate.seconds))
            best = trial;
    }
    return best;
}

/* Without a good measurement the default is taken, even if it failed here: nothing is known to be better. */
static void fall_back(Tuner *tuner) {
    tuner->result->schedule = tuner->standard ? schedule_of(tuner, tuner->standard)
                                              : autosched_default(tuner->arena, tuner->program, tuner->target,
                                                                  tuner->user, EFFORT_MODEL, tuner->options->seed);
}

int compare_seconds(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_build_seconds(const Tuner *tuner) {
    double *times = ARENA_ARRAY(tuner->arena, double, tuner->trials.count);
    size_t count = 0;
    for (int t = 0; t < tuner->trials.count; t++)
        if (tuner->trials.items[t]->candidate.build_seconds > 0)
            times[count++] = tuner->trials.items[t]->candidate.build_seconds;
    qsort(times, count, sizeof *times, compare_seconds);
    return count ? times[count / 2] : 0;
}

/* Of the function's own candidates and those of its tasks, which are counted with it. */
static double mean_build_seconds(const Tuner *tuner) {
    const TuneResult *result = tuner->result;
    int own = result->measured;
    double sum = 0;
    for (int t = 0; t < result->tasks.count; t++) {
        const TuneResult *part = result->tasks.items[t].result;
        int measured = result->tasks.items[t].shared ? 0 : part->measured;
        own -= measured;
        sum += measured * part->build_seconds;
    }
    return result->measured > 0 ? (sum + own * median_build_seconds(tuner)) / result->measured : 0;
}

CostModel *tune_model(Arena *arena, const TuneOptions *options) {
    return model_open(arena, options->cost_model ? options->cost_model : cost_models[0].name, options->seed);
}

static bool tuner_open(Tuner *tuner) {
    const TuneOptions *options = tuner->options;
    tuner->best = HUGE_VAL;
    tuner->flops = program_flops(tuner->program);
    tuner->task = task_new(tuner->arena, tuner->program, tuner->user);
    tuner->text = task_program(tuner->arena, tuner->task);
    tuner->result = ARENA_NEW(tuner->arena, TuneResult);
    const char *search = options->search ? options->search : search_policies[0].name;
    tuner->space = options->standard && !search_is_cold(search)
                       ? options->standard->space
                       : space_new(tuner->arena, tuner->program, tuner->target, tuner->user);
    tuner->model = options->model ? model_for_task(tuner->arena, options->model) : tune_model(tuner->arena, options);
    tuner->search = tuner->model ? search_open(tuner->arena, tuner->space, tuner->model, search, options->seed) : NULL;
    if (tuner->search && tuner->toolchain)
        tuner->search->jobs = tuner->toolchain->jobs;
    return tuner->search != NULL;
}

Tuner *tuner_new(Arena *arena, const Program *program, const Target *target, const Schedule *user,
                 const Toolchain *toolchain, Database *database, const TuneOptions *options) {
    Tuner *tuner = ARENA_NEW(arena, Tuner);
    *tuner = (Tuner){.arena = arena, .program = program, .target = target, .user = user};
    tuner->toolchain = toolchain;
    tuner->database = database;
    tuner->options = options;
    begin_step(tuner);
    if (tuner_open(tuner)) {
        tuner_recall(tuner);
        if (options->standard || (toolchain && tuner->result->trials > 0))
            tuner_find_default(tuner);
    }
    end_step(tuner);
    return tuner;
}

void tuner_lend(Tuner *tuner, const Toolchain *toolchain) {
    tuner->toolchain = toolchain;
    if (toolchain && tuner->search)
        tuner->search->jobs = toolchain->jobs;
}

void tuner_take_back(Tuner *tuner) {
    tuner_drop_reference(tuner);
    tuner->toolchain = NULL;
}

void tuner_lose(Tuner *tuner, const char *why) {
    tuner->lost = tuner->lost ? tuner->lost : why;
}

int tuner_trials(const Tuner *tuner) {
    return tuner->result->trials;
}

int tuners_trials(Tuner *const *tuners, int count) {
    int sum = 0;
    for (int t = 0; t < count; t++)
        sum += tuner_trials(tuners[t]);
    return sum;
}

/* Whether nothing must be measured: the default is known, and there are enough trials. */
static bool knows_enough(const Tuner *tuner, int trials) {
    bool known = !tuner->toolchain || !tuner->standard || tuner->standard_known;
    return known && tuner->result->trials >= trials && tuner_best_trial(tuner);
}

void tuner_enter(Tuner *tuner, int trials, double deadline) {
    tuner->trial_limit = trials;
    tuner->deadline = deadline;
    begin_step(tuner);
}

void tuner_leave(Tuner *tuner) {
    end_step(tuner);
}

static void find_and_measure_default(Tuner *tuner) {
    if (!tuner_halted(tuner))
        tuner_find_default(tuner);
    measure_default(tuner);
}

bool tuner_may_have_tasks(const Tuner *tuner) {
    bool open = tuner->search && tuner->toolchain && !tuner->user && tuner->options->workshop;
    return open && !tuner->tasks_sought && !tuner_lost(tuner);
}

/* By its tasks, or as a whole. */
static void search_on(Tuner *tuner, int trials, double deadline) {
    if (trials > tuner->result->trials && !tuner_halted(tuner) && tuner_may_have_tasks(tuner))
        tuner->alone = together_alone(tuner);
    if (!tuner->alone) {
        run_rounds(tuner);
        return;
    }
    end_step(tuner);
    double before = tuner->spent, since = monotonic_seconds();
    together_search(tuner->alone, trials, deadline);
    tuner_enter(tuner, trials, deadline);
    tuner->spent = before + monotonic_seconds() - since;
}

void tuner_search(Tuner *tuner, int trials, double deadline) {
    tuner->exhausted |= !tuner->search;
    if (!tuner->search)
        return;
    tuner->result->from_database = tuner->result->measured == 0 && knows_enough(tuner, trials);
    if (tuner->result->from_database || !tuner->toolchain)
        return;
    int before = tuner->result->trials;
    tuner_enter(tuner, trials, deadline);
    find_and_measure_default(tuner);
    search_on(tuner, trials, deadline);
    measure_default(tuner); /* the machine may be less busy now */
    tuner_leave(tuner);
    tuner->exhausted |= tuner->result->trials == before;
}

void tuner_search_default(Tuner *tuner, double deadline) {
    if (!tuner->search || (tuner->result->measured == 0 && knows_enough(tuner, 1)))
        return;
    tuner_enter(tuner, 1, deadline);
    find_and_measure_default(tuner);
    tuner_leave(tuner);
}

void tuner_grant(Tuner *tuner, int trials) {
    tuner->granted = trials;
}

bool tuner_is_lost(const Tuner *tuner) {
    return tuner->result->lost;
}

bool tuner_knows_default(const Tuner *tuner) {
    return tuner->standard_sought && (!tuner->standard || tuner->standard_known);
}

void tuner_close(Tuner *tuner) {
    tuner_close_tasks(tuner);
    tuner_drop_reference(tuner);
    free(tuner->known.slots);
    search_close(tuner->search);
    model_close(tuner->model);
}

TuneResult *tuner_finish(Tuner *tuner) {
    Trial *winner = tuner->winner;
    bool comparable = !tuner->toolchain || !tuner->standard || tuner->standard_known;
    tuner_settle_last(tuner);
    tuner_flush(tuner);
    tuner_close_tasks(tuner);
    tuner->result->unrecorded += tuner->database ? tuner->unwritten.count : 0;
    tuner_note(tuner);
    if (!winner && comparable)
        winner = tuner_best_trial(tuner);
    if (winner)
        use_schedule(tuner, winner);
    else
        fall_back(tuner);
    set_default_seconds(tuner);
    set_reason(tuner);
    tuner->result->from_database |= tuner->result->measured == 0 && winner && !tuner_stopped(tuner);
    tuner->result->stopped = tuner_stopped(tuner);
    tuner->result->elapsed = tuner_elapsed(tuner);
    tuner->result->build_seconds = mean_build_seconds(tuner);
    tuner_close(tuner);
    return tuner->result;
}

TuneResult *tune(Arena *arena, const Program *program, const Target *target, const Schedule *user,
                 const Toolchain *toolchain, Database *database, const TuneOptions *options) {
    double deadline = tune_deadline(options->budget_seconds);
    double end = options->budget_seconds > 0 ? monotonic_seconds() + options->budget_seconds : 0;
    Tuner *tuner = tuner_new(arena, program, target, user, toolchain, database, options);
    tuner_search(tuner, options->trials, deadline);
    tuners_race(&tuner, 1, end);
    return tuner_finish(tuner);
}
