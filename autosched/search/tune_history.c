/* tune_history.c - a tuning's memory: trials by their text, and those of earlier runs from the database.
 *
 * A record begins with its point in the space, as a comment. The point counts only if it gives exactly the record's
 * schedule: another version of the space may have numbered its choices differently.
 */
#include "autosched/search/tuner.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char point_mark[] = "# point";

bool tuner_knows(const Tuner *tuner, const char *text) {
    return hash_set_has(&tuner->known, hash_text(text));
}

void tuner_mark(Tuner *tuner, const char *text) {
    hash_set_add(&tuner->known, hash_text(text));
}

void tuner_remember(Tuner *tuner, Trial *trial) {
    tuner_mark(tuner, trial->text);
    list_push(tuner->arena, &tuner->trials, trial);
}

const char *trial_record_text(const Tuner *tuner, const Trial *trial) {
    if (!trial->point)
        return trial->text;
    Text text = {.arena = tuner->arena};
    text_add(&text, "%s", point_mark);
    for (int g = 0; g < tuner->space->gene_count; g++)
        text_add(&text, " %d", trial->point[g]);
    text_add(&text, "\n%s", trial->text);
    return text.text;
}

/* Reads the point of the comment; NULL when its numbers are not choices of the space. */
static const int *read_point(const Tuner *tuner, const char *text) {
    if (strncmp(text, point_mark, sizeof point_mark - 1) != 0)
        return NULL;
    int *point = ARENA_ARRAY(tuner->arena, int, tuner->space->gene_count + 1), number = 0;
    char *end = (char *)text + sizeof point_mark - 1;
    for (int g = 0; g < tuner->space->groups.count; g++)
        for (int i = 0; i < tuner->space->groups.items[g]->genes.count; i++) {
            const char *at = end;
            long choice = *at == ' ' ? strtol(at, &end, 10) : -1;
            if (end == at || choice < 0 || choice >= tuner->space->groups.items[g]->genes.items[i].count)
                return NULL;
            point[number++] = (int)choice;
        }
    return *end == '\n' ? point : NULL;
}

static const int *recall_point(Tuner *tuner, const Record *record, const char *text) {
    const int *point = read_point(tuner, record->schedule);
    Schedule *schedule =
        point && point_plausible(tuner->space, point) ? complete_schedule(tuner->arena, tuner->space, point) : NULL;
    return schedule && strcmp(task_text(tuner->arena, tuner->task, schedule), text) == 0 ? point : NULL;
}

static void recall(Tuner *tuner, const Record *record) {
    Schedule *schedule = task_schedule(tuner->arena, tuner->task, tuner->target, record->schedule);
    Trial *trial = schedule ? trial_new(tuner, schedule, NULL) : NULL;
    if (!trial || tuner_knows(tuner, trial->text))
        return;
    bool good = record->outcome == OUTCOME_OK;
    trial->point = recall_point(tuner, record, trial->text);
    trial->candidate.outcome = record->outcome;
    trial->candidate.seconds = record->seconds;
    trial->candidate.spread = record->spread;
    trial->candidate.repeats = record->repeats;
    trial->candidate.why = record->why;
    trial->candidate.reference_seconds = record->reference_seconds;
    trial->candidate.disturbance = record->disturbance;
    trial->past = record;
    trial->order = record->order;
    tuner->result->trials++;
    tuner->order = record->order > tuner->order ? record->order : tuner->order;
    if (good)
        tuner->best = fmin(tuner->best, record->seconds);
    else
        tuner_count_failure(tuner, trial);
    tuner_remember(tuner, trial);
    search_tell(tuner->search, trial->point, trial->features, good ? record->seconds : HUGE_VAL);
}

/* A cold search goes on where it was itself, with the same seed. */
static bool may_recall(const Tuner *tuner, const Record *record) {
    const TuneOptions *options = tuner->options;
    return !tuner_is_cold(tuner) ||
           (!strcmp(record->policy, options->search) && !strcmp(record->model, options->cost_model) &&
            record->seed == (int64_t)options->seed);
}

void tuner_recall(Tuner *tuner) {
    Record *records;
    if (!tuner->database)
        return;
    int count = database_find(tuner->arena, tuner->database, tuner->task->key, database_target(tuner->target),
                              tuner->options->threads, &records);
    const char *inputs = tuner->options->inputs ? tuner->options->inputs : "";
    bool measured = false; /* only failures: the machine could run nothing, so they are tried again */
    for (int r = 0; r < count; r++) {
        bool same = strcmp(records[r].inputs, inputs) == 0 && may_recall(tuner, &records[r]);
        measured |= same && records[r].outcome == OUTCOME_OK; /* these come first */
        if (same && measured)
            recall(tuner, &records[r]);
    }
    if (tuner->order < tuner->result->trials) /* records of older versions have no number */
        tuner->order = tuner->result->trials;
}

/* --- notes --- */

/* What was measured with other contents of arguments is another search. */
static const char *note_key(Arena *arena, const Task *task, const TuneOptions *options) {
    return options->inputs ? arena_printf(arena, "%s %s", task->key, options->inputs) : task->key;
}

void tuner_note(const Tuner *tuner) {
    bool known = tuner->database && tuner->options->maker && tuner->standard && tuner->standard_known;
    if (!known || !trial_is_final(tuner->standard) || tuner->unwritten.count)
        return;
    int made = tuner->result->trials - tuner->result->failures.unsettled,
        granted = tuner_lost(tuner) ? 0 : tuner->granted;
    SearchNote note = {
        .maker = tuner->options->maker, .trials = made > granted ? made : granted, .exhausted = tuner->complete};
    database_note(tuner->database, note_key(tuner->arena, tuner->task, tuner->options), database_target(tuner->target),
                  tuner->options->threads, &note);
}

/* The hash of the keys of all programs of a function. */
static const char *hash_tasks(Arena *arena, Program *const *programs, int count, const Schedule *user,
                              const TuneOptions *options) {
    Text keys = {.arena = arena};
    for (int i = 0; i < count; i++)
        text_add(&keys, "%s ", note_key(arena, task_new(arena, programs[i], user), options));
    return arena_printf(arena, "%016llx", (unsigned long long)hash_text(keys.text));
}

bool searches_note_budget(Arena *arena, Database *database, Program *const *programs, int count, const Target *target,
                          const Schedule *user, const TuneOptions *options) {
    return options->compiler &&
           database_note_budget(database, hash_tasks(arena, programs, count, user, options), database_target(target),
                                options->threads, options->compiler, options->budget_seconds);
}

static bool budget_is_spent(Arena *arena, Database *database, Program *const *programs, int count, const Target *target,
                            const Schedule *user, const TuneOptions *options) {
    return options->compiler && options->budget_seconds > 0 &&
           database_find_budget(database, hash_tasks(arena, programs, count, user, options), database_target(target),
                                options->threads, options->compiler) >= options->budget_seconds;
}

bool searches_are_known(Arena *arena, Database *database, Program *const *programs, int count, const Target *target,
                        const Schedule *user, const TuneOptions *options, int *used, bool *spent) {
    bool enough = true, all = true;
    int own[count];
    *used = 0;
    for (int i = 0; i < count; i++) {
        const char *key = note_key(arena, task_new(arena, programs[i], user), options);
        SearchNote note = {0};
        all &= database_find_note(database, key, database_target(target), options->threads, options->maker, &note);
        enough &= note.exhausted || note.trials >= options->trials;
        own[i] = note.trials;
        *used += note.trials;
    }
    *spent = budget_is_spent(arena, database, programs, count, target, user, options);
    return *spent || (all && (enough || counted_trials(own, count, options->trials) >= options->trials));
}
