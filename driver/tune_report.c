/* tune_report.c - what -O tune prints at the end: one line for each function, and a warning for what was not kept or
 * not measured.
 */
#include "driver/tune.h"
#include "lang/terminal.h"
#include <math.h>

/* --- figures --- */

static const char *time_text(Arena *arena, double seconds) {
    static const struct {
        double below, factor;
        int digits;
        const char *unit;
    } units[] = {{1e-6, 1e9, 1, "ns"}, {1e-3, 1e6, 1, "us"}, {1, 1e3, 3, "ms"}, {HUGE_VAL, 1, 3, "s"}};
    int u = 0;
    while (seconds >= units[u].below)
        u++;
    return arena_printf(arena, "%.*f %s", units[u].digits, units[u].factor * seconds, units[u].unit);
}

const char *speed_text(Arena *arena, double seconds, double flops) {
    const char *time = time_text(arena, seconds);
    return flops > 0 ? arena_printf(arena, "%s (%.1f GFLOP/s)", time, 1e-9 * flops / seconds) : time;
}

static const char *trials_text(Arena *arena, int count) {
    return arena_printf(arena, count == 1 ? "%d trial" : "%d trials", count);
}

/* Over all searches for a function. */
typedef struct Totals {
    int algorithms, measured, found, unrecorded;
    TuneFailures failures;
    double build_seconds; /* over those that were measured */
    bool stopped;
} Totals;

static Totals add_results(Arena *arena, const FunctionTuning *tuning) {
    Totals totals = {0};
    for (int i = 0; i < tuning->function->count; i++) {
        const TuneResult *result = tuning->results[i];
        if (!result)
            continue;
        totals.algorithms += result->trials > 0;
        totals.measured += result->measured;
        totals.found += result->trials - result->measured;
        totals.unrecorded += result->unrecorded;
        totals.build_seconds += result->build_seconds * result->measured;
        totals.stopped |= result->stopped;
        add_failures(arena, &totals.failures, &result->failures);
    }
    return totals;
}

/* --- the end --- */

static void show_name(Arena *arena, const char *verb, const Program *program) {
    const char *algorithms = program_algorithms(arena, program);
    show(stderr, "tensorc: %s%s%s%s: ", verb, program->symbol, algorithms ? ", " : "", algorithms ? algorithms : "");
}

static const char *const outcome_words[OUTCOME_COUNT] = {NULL, "not built", "crashed", "out of time", "wrong"};

/* The first reason for an outcome, and how often it occurred if there are others. */
static void show_reason(int outcome, int failed, const FailureReason *reasons, int count) {
    for (int r = 0; r < count; r++)
        if (reasons[r].outcome == (Outcome)outcome) {
            if (reasons[r].count < failed)
                show(stderr, " (%d: %s)", reasons[r].count, reasons[r].why);
            else
                show(stderr, " (%s)", reasons[r].why);
            return;
        }
}

static void show_failures(const TuneFailures *failures) {
    const int *failed = failures->failed;
    for (int i = 0; i < OUTCOME_COUNT; i++)
        if (outcome_words[i] && failed[i]) {
            show(stderr, ", %d %s", failed[i], outcome_words[i]);
            show_reason(i, failed[i], failures->reasons.items, failures->reasons.count);
        }
    if (failures->unsettled > failures->ended)
        show(stderr, ", %d without a result on a busy machine", failures->unsettled - failures->ended);
    if (failures->ended)
        show(stderr, ", %d without a result%s%s%s", failures->ended, failures->ended_why ? " (" : "",
             failures->ended_why ? failures->ended_why : "", failures->ended_why ? ")" : "");
}

/* How much faster it is than a default is only said when both were in the race, in turns: other times are of a machine
 * that may have been slower or faster. */
static void show_gain(Arena *arena, const Program *program, const TuneResult *result, const TuneResult *standard) {
    if (result->seconds <= 0)
        return;
    show(stderr, "; %s", speed_text(arena, result->seconds, program_flops(program)));
    if (result->raced && standard->default_raced)
        show(stderr, ", %.2f times the default's speed", standard->default_seconds / result->seconds);
}

/* One line for each algorithm. Without -v only for those with wrong results. */
static void show_each(const Compilation *c, const FunctionTuning *tuning) {
    for (int i = 0; i < tuning->function->count; i++) {
        const TuneResult *result = tuning->results[i];
        bool wrong = result && result->failures.failed[OUTCOME_WRONG];
        if (!result || result->trials == 0 || !(wrong || c->options->verbose))
            continue;
        show_name(c->arena, "", tuning->function->programs[i]);
        show(stderr, "%s", trials_text(c->arena, result->trials));
        show_failures(&result->failures);
        show_gain(c->arena, tuning->function->programs[i], result, result);
        show(stderr, "\n");
    }
}

/* With -v: one line for each task that was searched by itself. */
static void show_tasks(const Compilation *c, const TuneResult *whole) {
    for (int t = 0; t < whole->tasks.count; t++) {
        const TaskResult *task = &whole->tasks.items[t];
        const TuneResult *result = task->result;
        if (result->trials == 0)
            continue;
        show(stderr, "tensorc: task %s", task->program->name);
        if (task->count > 1)
            show(stderr, ", %d equal ones", task->count);
        if (task->shared) {
            show(stderr, ": searched for another function\n");
            continue;
        }
        show(stderr, ": %s", trials_text(c->arena, result->measured));
        if (result->trials > result->measured)
            show(stderr, ", after %d in the database", result->trials - result->measured);
        show_gain(c->arena, task->program, result, result);
        show(stderr, "\n");
    }
}

/* With -v: one line for each other border that was tried. */
static void show_borders(const TuneResult *whole) {
    for (int b = 0; b < whole->borders.count; b++) {
        const BorderResult *border = &whole->borders.items[b];
        show(stderr, "tensorc: border behind %s in task %s: %.2f times the speed, %s\n", border->stage,
             border->program->name, border->before / border->seconds, border->taken ? "taken" : "not taken");
    }
}

/* The default in this line is what is compiled without measuring. */
static void show_sum(const Compilation *c, const FunctionTuning *tuning) {
    Totals totals = add_results(c->arena, tuning);
    show_name(c->arena, "tuned ", tuning->function->programs[tuning->best]);
    show(stderr, "%s", trials_text(c->arena, totals.measured));
    if (totals.algorithms > 1)
        show(stderr, " of %d algorithms", totals.algorithms);
    show(stderr, " in %.1f s", tuning->seconds);
    if (totals.found)
        show(stderr, ", after %d in the database", totals.found);
    show_failures(&totals.failures);
    if (totals.build_seconds > 0)
        show(stderr, ", each built in %.0f ms", 1e3 * totals.build_seconds / totals.measured);
    show_gain(c->arena, tuning->function->programs[tuning->best], tuning->results[tuning->best],
              tuning->results[tuning->preferred]);
    show(stderr, "%s\n", totals.stopped ? "; stopped early" : "");
}

/* With -v: all reasons for failures in the searches for a function. */
static void show_reasons(const Compilation *c, const FunctionTuning *tuning) {
    for (int i = 0; i < tuning->function->count && c->options->verbose; i++)
        for (int r = 0; tuning->results[i] && r < tuning->results[i]->failures.reasons.count; r++) {
            const FailureReason *reason = &tuning->results[i]->failures.reasons.items[r];
            show_name(c->arena, "", tuning->function->programs[i]);
            show(stderr, "%d %s: %s\n", reason->count, outcome_words[reason->outcome], reason->why);
        }
}

static void warn_of_lost(const Compilation *c, int unrecorded) {
    if (unrecorded)
        diag(c->diagnostics, DIAG_database, (Loc){0},
             arena_printf(c->arena, "the tuning database cannot be written: %d measurement%s not kept", unrecorded,
                          unrecorded == 1 ? " is" : "s are"));
}

void show_results(const Compilation *c, const FunctionTuning *tuning) {
    const Program *program = tuning->function->programs[tuning->best];
    Totals totals = add_results(c->arena, tuning);
    if (totals.measured && totals.algorithms > 1)
        show_each(c, tuning);
    for (int i = 0; i < tuning->function->count && c->options->verbose && totals.measured; i++)
        if (tuning->results[i]) {
            show_borders(tuning->results[i]);
            show_tasks(c, tuning->results[i]);
        }
    if (totals.measured || (totals.found && totals.stopped))
        show_sum(c, tuning);
    else if (tuning->results[tuning->best]->seconds > 0)
        show_found(c, program);
    else
        diag(c->diagnostics, DIAG_not_tuned, (Loc){0}, program->symbol,
             totals.stopped ? ": the search was stopped before anything was measured"
                            : ": there was no time to measure anything");
    show_reasons(c, tuning);
    warn_of_lost(c, totals.unrecorded);
}

void show_found(const Compilation *c, const Program *program) {
    if (c->options->verbose)
        show(stderr, "tensorc: %s: found in the tuning database\n", program->symbol);
}
