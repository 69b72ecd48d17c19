/* check_points.c - the check points of a function: which elements, their values by the interpreter, and comparing.
 *
 * The programs of one function have the same arguments and meaning, so the values serve all of them; each allows its
 * own error.
 */
#include "backends/run/check_points.h"
#include "lang/random.h"
#include "lang/value.h"
#include <stdlib.h>
#include <string.h>

static const int64_t no_sizes[1];

bool check_points_fill(CheckPoints *points) {
    const Program *program = points->program;
    points->arguments = ARENA_ARRAY(points->arena, void *, program->argument_count + 1);
    for (int i = 0; i < program->argument_count; i++) {
        int64_t elements = argument_elements(program, no_sizes, i);
        ElementType type = argument_element_type(&program->arguments[i]);
        size_t bytes = (size_t)element_info[type].bytes;
        if (elements < 0 || !(points->arguments[i] = malloc((size_t)elements * bytes + 1)))
            return false;
        if (points->inputs && points->inputs[i])
            memcpy(points->arguments[i], points->inputs[i], (size_t)elements * bytes);
        else
            argument_fill(program, no_sizes, i, points->seed, points->arguments[i]);
    }
    return true;
}

void check_points_close(CheckPoints *points) {
    for (int i = 0; points->arguments && i < points->program->argument_count; i++)
        free(points->arguments[i]);
}

/* --- which elements --- */

/* First and last elements, those around multiples of 16 (where tiles end), and seeded random ones. */
static void choose_samples(CheckPoints *points, int argument, int64_t elements, int count) {
    Random random_state = {points->seed + (uint64_t)argument};
    for (int i = 0; i < count && i < elements; i++) {
        uint64_t random = random_bits(&random_state);
        int64_t element = (int64_t)(random % (uint64_t)elements);
        if (elements <= count)
            element = i;
        else if (i < 8)
            element = i < 4 ? i : elements - 1 - (i - 4);
        else if (i % 2)
            element = element / 16 * 16 + (int64_t)(random >> 62 & 1) * 15;
        element = element < elements ? element : elements - 1;
        points->samples[points->count++] = (struct SamplePoint){argument, element};
    }
}

void check_points_choose(CheckPoints *points, const int *most) {
    const Program *program = points->program;
    points->count = 0;
    points->samples = ARENA_ARRAY(points->arena, struct SamplePoint, SAMPLES_AN_OUTPUT * program->argument_count + 1);
    for (int i = 0; i < program->argument_count; i++) {
        const Tensor *tensor = program->arguments[i].tensor;
        if (tensor && tensor->role == ROLE_OUTPUT)
            choose_samples(points, i, argument_elements(program, no_sizes, i), most[i]);
    }
    points->values = ARENA_ARRAY(points->arena, Evaluated, points->count + 1);
}

void element_index(const Tensor *tensor, int64_t element, int64_t *index) {
    for (int d = tensor->rank - 1; d >= 0; d--) {
        int64_t extent = tensor->dims[d]->integer;
        index[d] = element % extent;
        element /= extent;
    }
}

/* --- their values --- */

/* As many samples as about 2 * 10^7 operations pay for. */
static int samples_an_output(const CheckPoints *points, int64_t elements) {
    double cost = interpreter_cost(points->program, no_sizes) / (double)(elements > 0 ? elements : 1);
    double affordable = 2e7 / (cost > 1 ? cost : 1);
    return affordable < 8 ? 8 : affordable > SAMPLES_AN_OUTPUT ? SAMPLES_AN_OUTPUT : (int)affordable;
}

const char *check_points_interpret(CheckPoints *points) {
    const Program *program = points->program;
    int status = 0, *most = ARENA_ARRAY(points->arena, int, program->argument_count + 1);
    const char *why = NULL;
    Interpreter *interpreter = interpreter_new(program, no_sizes, points->arguments, &status, &why);
    if (!interpreter)
        return why;
    for (int i = 0; i < program->argument_count; i++)
        most[i] = samples_an_output(points, argument_elements(program, no_sizes, i));
    check_points_choose(points, most);
    for (int i = 0; i < points->count; i++) {
        const Tensor *tensor = program->arguments[points->samples[i].argument].tensor;
        int64_t *index = ARENA_ARRAY(points->arena, int64_t, tensor->rank + 1);
        element_index(tensor, points->samples[i].element, index);
        points->values[i] = interpreter_element(interpreter, tensor, index);
    }
    interpreter_free(interpreter);
    return NULL;
}

Evaluated *check_points_allow(const CheckPoints *points, double error) {
    Evaluated *expected = ARENA_ARRAY(points->arena, Evaluated, points->count + 1);
    memcpy(expected, points->values, sizeof *expected * (size_t)points->count);
    for (int first = 0, end; first < points->count && error > 0; first = end) {
        for (end = first; end < points->count; end++)
            if (points->samples[end].argument != points->samples[first].argument)
                break;
        evaluated_allow(expected + first, end - first, error);
    }
    return expected;
}

const char *check_points_compare(const CheckPoints *points, const Evaluated *expected, const uint8_t *bytes) {
    for (int i = 0; i < points->count; i++) {
        const Tensor *tensor = points->program->arguments[points->samples[i].argument].tensor;
        Value found = value_load(tensor->type, bytes + 8 * (size_t)i);
        if (!evaluated_matches(&expected[i], found))
            return arena_printf(points->arena, "wrong result: element %lld of %s is %.9g, should be %.9g within %.3g",
                                (long long)points->samples[i].element, tensor->name,
                                type_is_float(tensor->type) ? found.real : (double)found.integer,
                                type_is_float(tensor->type) ? expected[i].value.real
                                                            : (double)expected[i].value.integer,
                                expected[i].bound);
    }
    return NULL;
}
