/* tune_record.c - what is kept of each trial: in the database, and as a line of a log that was asked for.
 *
 * What a trial was proposed by, and when in its search, stays as it was first written, also when a later search
 * measures it again.
 */
#include "autosched/search/tuner.h"
#include "lang/clock.h"
#include "lang/machine.h"

#include <math.h>
#include <string.h>
#include <time.h>

static const double retry_seconds = 2; /* until a database that refused is asked again: it may have waited long */

void tuner_flush(Tuner *tuner) {
    if (!tuner->database || tuner->unwritten.count == 0 ||
        database_add_all(tuner->database, tuner->unwritten.items, tuner->unwritten.count))
        tuner->unwritten.count = 0;
    tuner->refused = tuner->unwritten.count ? monotonic_seconds() : 0;
}

static ElementType output_type(const Program *program) {
    for (int t = 0; t < program->tensor_count; t++)
        if (program->tensors[t]->role == ROLE_OUTPUT)
            return program->tensors[t]->type;
    return TYPE_FLOAT;
}

/* Operations a second of all threads when each cycle begins as many as the core can; 0: not known. */
static double peak_of(const Tuner *tuner) {
    const Target *target = tuner->target;
    const Machine *machine = target->machine;
    int threads = tuner->options->threads > 0 ? tuner->options->threads : tuner->options->processors;
    if (!machine || machine->widest_slots <= 0 || threads <= 0)
        return 0;
    double lanes = fmax((double)target->vector_bytes / element_info[output_type(tuner->program)].bytes, 1);
    return machine->clock_rate * machine->arithmetic_ports / machine->widest_slots * lanes *
           (target->fused_multiply_add ? 2 : 1) * threads;
}

/* What stays as it was first written. */
static Record first_record(const Tuner *tuner, const Trial *trial) {
    if (trial->past)
        return *trial->past;
    return (Record){.order = trial->order,
                    .wall_seconds = trial->wall_seconds,
                    .policy = trial->unproposed ? "default" : tuner->options->search,
                    .model = tuner->options->cost_model,
                    .prediction = trial->prediction,
                    .features = FEATURE_VERSION};
}

static Record record_of(const Tuner *tuner, const Trial *trial) {
    const Candidate *candidate = &trial->candidate;
    const TuneOptions *options = tuner->options;
    Record record = first_record(tuner, trial);
    record.task = tuner->task->key;
    record.program = tuner->text;
    record.target = database_target(tuner->target);
    record.schedule = trial_record_text(tuner, trial);
    record.threads = options->threads;
    record.outcome = candidate->outcome;
    record.seconds = candidate->outcome == OUTCOME_OK ? candidate->seconds : 0;
    record.spread = candidate->spread;
    record.repeats = candidate->repeats;
    record.reference_seconds = candidate->reference_seconds;
    record.disturbance = candidate->disturbance;
    record.seed = (int64_t)options->seed;
    record.date = (int64_t)time(NULL);
    record.function = tuner->program->symbol;
    record.file = options->file;
    record.inputs = options->inputs;
    record.operator= tuner->program->name;
    record.why = candidate->outcome == OUTCOME_OK ? NULL : candidate->why;
    record.operations = fmax(tuner->flops, 0);
    record.peak = peak_of(tuner);
    record.device = options->device;
    record.toolchain = options->toolchain;
    return record;
}

void tuner_record(Tuner *tuner, const Trial *trial) {
    Record record = record_of(tuner, trial);
    for (int i = 0; i < tuner->unwritten.count; i++)
        if (!strcmp(tuner->unwritten.items[i].schedule, record.schedule))
            tuner->unwritten.items[i--] = tuner->unwritten.items[--tuner->unwritten.count];
    list_push(tuner->arena, &tuner->unwritten, record);
}

void tuner_log(Tuner *tuner, const Trial *trial, const char *event) {
    if (!tuner->options->log)
        return;
    Record record = record_of(tuner, trial);
    record_log(tuner->options->log, event, &record);
}

void tuner_keep(Tuner *tuner, const Trial *trial) {
    tuner_record(tuner, trial);
    if (tuner->refused <= 0 || monotonic_seconds() - tuner->refused > retry_seconds)
        tuner_flush(tuner);
}

void tuner_forget(Tuner *tuner, const Trial *trial) {
    Record record = record_of(tuner, trial);
    if (tuner->database)
        database_forget(tuner->database, &record);
}
