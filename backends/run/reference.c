/* reference.c - values at the check points of a long function from compiled code, which the interpreter checks.
 *
 * Of a network, the interpreter alone takes minutes, and its bounds, which add up all errors that there could be, are
 * larger than the values. So the function is run with what its sums make as further outputs (sema/exposed.c), and the
 * interpreter computes some elements of each output again, from what the object wrote into the others. If all agree,
 * the object computed what the function means, with rounding errors of its own. How much these matter in the end is
 * measured: the object is run again on floats that differ by more than what a candidate's roundings amount to. A result
 * may differ by some times as much as the results of these runs do.
 */
#include "backends/run/check_points.h"
#include "lang/random.h"
#include "lang/value.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RUNS = 2 };
static const double step_operations = 5e5; /* of the interpreter, for each output */
static const double allowed_times = 8;     /* the largest difference of these runs */
static const double no_time = 1e-9;
static const double long_seconds = 2; /* of a run: then there is one with other numbers */
static const double roundings = 8;    /* for each square root of a term of the longest reduction */

typedef struct ReferenceRun {
    CheckPoints *points;
    const Program *exposed;
    const ReferenceRunner *runner;
    void **inputs;  /* [arguments] contents before a call: those of the check points, of constants, and NULL */
    void **changed; /* [arguments] the same, of other floats; NULL: not made */
    void **results; /* [arguments] of outputs */
    uint8_t *bytes; /* at the samples */
    double seconds; /* of the first run */
} ReferenceRun;

static const int64_t no_sizes[1];

static bool is_output(const Program *program, int argument) {
    const Tensor *tensor = program->arguments[argument].tensor;
    return tensor && tensor->role == ROLE_OUTPUT;
}

static size_t bytes_of(const Program *program, int argument) {
    ElementType type = argument_element_type(&program->arguments[argument]);
    return (size_t)argument_elements(program, no_sizes, argument) * (size_t)element_info[type].bytes;
}

/* --- memory --- */

static const void *contents_of_constant(const Program *program, const char *name) {
    for (int t = 0; t < program->tensor_count; t++)
        if (!strcmp(program->tensors[t]->name, name))
            return program->tensors[t]->data;
    return NULL;
}

/* False: no memory. */
static bool open_reference(ReferenceRun *reference) {
    const Program *exposed = reference->exposed;
    Arena *arena = reference->points->arena;
    int count = exposed->argument_count, own = reference->points->program->argument_count;
    reference->inputs = ARENA_ARRAY(arena, void *, count);
    reference->changed = ARENA_ARRAY(arena, void *, count);
    reference->results = ARENA_ARRAY(arena, void *, count);
    for (int a = 0; a < count; a++) {
        bool given = a < own, output = is_output(exposed, a);
        if (given)
            reference->inputs[a] = reference->points->arguments[a];
        else if (!output)
            reference->inputs[a] =
                (void *)(uintptr_t)contents_of_constant(reference->points->program, exposed->arguments[a].tensor->name);
        if (output && !(reference->results[a] = malloc(bytes_of(exposed, a) + 1)))
            return false;
    }
    return true;
}

static void close_reference(const ReferenceRun *reference) {
    for (int a = 0; a < reference->exposed->argument_count; a++) {
        free(reference->results[a]);
        free(reference->changed[a]);
    }
}

/* --- running --- */

static RunRequest request_for(const ReferenceRun *reference, void *const *inputs) {
    double bytes = arguments_bytes(reference->exposed, no_sizes);
    return (RunRequest){.program = reference->exposed,
                        .sizes = no_sizes,
                        .inputs = inputs,
                        .seed = reference->points->seed,
                        .stop_seconds = no_time, /* so that a long call is made once */
                        .limit_bytes = ((int64_t)4 << 30) + (int64_t)(2 * bytes),
                        .sample_count = reference->points->count,
                        .samples = reference->points->samples,
                        .sample_bytes = reference->bytes};
}

/* *seconds: what a call takes. NULL, or why it does not run. */
static const char *run(const ReferenceRun *reference, RunRequest *request, double *seconds) {
    RunResult result;
    reference->runner->run(reference->runner->context, request, &result);
    *seconds = result.seconds;
    if (result.outcome != OUTCOME_OK)
        return result.why && *result.why ? result.why : "it does not run";
    return result.status ? "the function refuses its arguments" : NULL;
}

/* --- what it computed --- */

static Value result_at(const ReferenceRun *reference, int argument, int64_t element) {
    ElementType type = argument_element_type(&reference->exposed->arguments[argument]);
    return value_load(type, (const char *)reference->results[argument] + element * element_info[type].bytes);
}

static Evaluated step_at(const ReferenceRun *reference, Interpreter *interpreter, int argument, int64_t element) {
    const Tensor *tensor = reference->exposed->arguments[argument].tensor;
    int64_t *index = ARENA_ARRAY(reference->points->arena, int64_t, tensor->rank + 1);
    element_index(tensor, element, index);
    return interpreter_step(interpreter, tensor, index);
}

/* How many elements of an output the interpreter has time for. */
static int affordable_elements(const ReferenceRun *reference, const Interpreter *interpreter, int argument, int most) {
    double cost = interpreter_step_cost(interpreter, reference->exposed->arguments[argument].tensor);
    double affordable = step_operations / (cost > 1 ? cost : 1);
    return affordable < 4 ? 4 : affordable > most ? most : (int)affordable;
}

/* The first and the last element, and seeded ones. NULL, or what is wrong. */
static const char *check_output(const ReferenceRun *reference, Interpreter *interpreter, int argument) {
    enum { MOST = 32 };
    int64_t elements = argument_elements(reference->exposed, no_sizes, argument);
    int count = affordable_elements(reference, interpreter, argument, MOST);
    Random random = {reference->points->seed + (uint64_t)argument};
    for (int i = 0; i < count && i < elements; i++) {
        int64_t element = i < 2 ? i * (elements - 1) : random_below(&random, elements);
        Evaluated expected = step_at(reference, interpreter, argument, element);
        Value found = result_at(reference, argument, element);
        if (!evaluated_matches(&expected, found))
            return arena_printf(reference->points->arena, "element %lld of %s differs from what it means",
                                (long long)element, reference->exposed->arguments[argument].tensor->name);
    }
    return NULL;
}

static const char *check_outputs(const ReferenceRun *reference, Interpreter *interpreter) {
    const char *wrong = NULL;
    for (int a = 0; a < reference->exposed->argument_count && !wrong; a++)
        if (is_output(reference->exposed, a))
            wrong = check_output(reference, interpreter, a);
    return wrong;
}

/* The elements, with what the object wrote there, the magnitudes of their own sums, and what these may be wrong by. */
static void take_values(ReferenceRun *reference, Interpreter *interpreter) {
    CheckPoints *points = reference->points;
    int *most = ARENA_ARRAY(points->arena, int, points->program->argument_count + 1);
    for (int a = 0; a < points->program->argument_count; a++)
        if (is_output(points->program, a))
            most[a] = affordable_elements(reference, interpreter, a, SAMPLES_AN_OUTPUT);
    check_points_choose(points, most);
    for (int i = 0; i < points->count; i++) {
        const struct SamplePoint *sample = &points->samples[i];
        points->values[i] = step_at(reference, interpreter, sample->argument, sample->element);
        points->values[i].value = result_at(reference, sample->argument, sample->element);
    }
    reference->bytes = ARENA_ARRAY(points->arena, uint8_t, 8 * (size_t)points->count + 8);
}

/* --- how much roundings matter --- */

static double longest_reduction(const Program *program) {
    double longest = 1;
    for (int s = 0; s < program->stage_count; s++) {
        double terms = 1;
        for (int r = 0; r < program->stages[s]->reduction_count; r++)
            terms *= (double)program->stages[s]->reductions[r]->extent->integer;
        longest = fmax(longest, terms);
    }
    return longest;
}

/* The coarsest rounding of what is computed: narrower floats that are only read do not count. */
static double coarsest_rounding(const Program *program) {
    double coarsest = 0;
    for (int s = 0; s < program->stage_count; s++)
        EACH_STAGE_EXPR(e, program->stages[s])
            if (type_is_float(e->type) && e->kind != EXPR_READ)
                coarsest = fmax(coarsest, type_roundoff(e->type));
    return coarsest;
}

/* Copies an input with each element changed by up to such a part of it; rounded up or down by chance, so that few
 * elements of a coarse type change, and not none. */
static void change(ElementType type, const char *from, char *to, int64_t count, double part, uint64_t seed) {
    Random random = {seed};
    int bytes = element_info[type].bytes;
    for (int64_t i = 0; i < count; i++) {
        Value value = value_load(type, from + i * bytes);
        value.real *= 1 + part * (2 * random_unit(&random) - 1);
        value.real += value.real * type_roundoff(type) * (2 * random_unit(&random) - 1);
        value.real = value_round(type, value.real);
        value_store(value, to + i * bytes);
    }
}

/* False: no memory. */
static bool change_inputs(const ReferenceRun *reference, int turn) {
    const Program *exposed = reference->exposed;
    double part = roundings * sqrt(longest_reduction(exposed)) * coarsest_rounding(exposed);
    for (int a = 0; a < exposed->argument_count; a++) {
        ElementType type = argument_element_type(&exposed->arguments[a]);
        void **to = &reference->changed[a];
        if (!reference->inputs[a])
            continue;
        if (!*to && !(*to = malloc(bytes_of(exposed, a) + 1)))
            return false;
        if (type_is_float(type))
            change(type, reference->inputs[a], *to, argument_elements(exposed, no_sizes, a), part,
                   reference->points->seed + (uint64_t)(a * RUNS + turn));
        else
            memcpy(*to, reference->inputs[a], bytes_of(exposed, a));
    }
    return true;
}

static double distance(Value a, Value b) {
    if (!type_is_float(a.type))
        return fabs((double)a.integer - (double)b.integer);
    if (a.real == b.real || (isnan(a.real) && isnan(b.real)))
        return 0;
    double between = fabs(a.real - b.real);
    return isnan(between) ? INFINITY : between;
}

/* Raises the largest distance of each output. */
static void note_distances(const ReferenceRun *reference, double *largest) {
    const CheckPoints *points = reference->points;
    for (int i = 0; i < points->count; i++) {
        int argument = points->samples[i].argument;
        Value found = value_load(points->values[i].value.type, reference->bytes + 8 * (size_t)i);
        largest[argument] = fmax(largest[argument], distance(points->values[i].value, found));
    }
}

/* A number that is rounded to an integer may be the next one. */
static double allowed(ElementType type, double largest) {
    return allowed_times * largest + (type_is_float(type) || type == TYPE_BOOL ? 0 : 1);
}

static void set_bounds(const ReferenceRun *reference, Interpreter *meaning, const double *largest) {
    const CheckPoints *points = reference->points;
    for (int i = 0; i < points->count; i++) {
        int argument = points->samples[i].argument;
        const Tensor *tensor = points->program->arguments[argument].tensor;
        if (!interpreter_is_exact(meaning, tensor))
            points->values[i].bound += allowed(tensor->type, largest[argument]);
    }
}

/* meaning: of the whole, which knows what is exact. */
static const char *find_bounds(const ReferenceRun *reference, Interpreter *meaning) {
    double *largest = ARENA_ARRAY(reference->points->arena, double, reference->points->program->argument_count + 1);
    const char *wrong = NULL;
    double seconds;
    for (int turn = 0; turn < (reference->seconds > long_seconds ? 1 : RUNS) && !wrong; turn++) {
        if (!change_inputs(reference, turn))
            return "no memory";
        RunRequest request = request_for(reference, reference->changed);
        wrong = run(reference, &request, &seconds);
        if (!wrong)
            note_distances(reference, largest);
    }
    set_bounds(reference, meaning, largest);
    return wrong;
}

/* --- all of it --- */

static const char *evaluate(ReferenceRun *reference) {
    const CheckPoints *points = reference->points;
    const char *why = NULL;
    int status = 0;
    RunRequest request = request_for(reference, reference->inputs);
    request.outputs = reference->results;
    Interpreter *meaning = interpreter_new(points->program, no_sizes, points->arguments, &status, &why), *steps = NULL;
    if (meaning && !(why = run(reference, &request, &reference->seconds)))
        steps =
            interpreter_of_results(reference->exposed, no_sizes, reference->inputs, reference->results, &status, &why);
    if (steps && !(why = check_outputs(reference, steps))) {
        take_values(reference, steps);
        why = find_bounds(reference, meaning);
    }
    interpreter_free(steps);
    interpreter_free(meaning);
    return why;
}

const char *reference_evaluate(CheckPoints *points, const Program *exposed, const ReferenceRunner *runner) {
    ReferenceRun reference = {.points = points, .exposed = exposed, .runner = runner};
    const char *why = open_reference(&reference) ? evaluate(&reference) : "no memory";
    close_reference(&reference);
    if (why)
        points->count = 0;
    return why;
}
