/* reference.c - values at check points from an object that the interpreter checks step by step: here the object is the
 * interpreter itself, which may be made to err.
 */
#include "backends/run/check_points.h"
#include "lang/value.h"
#include "random_program.h"
#include "schedules.h"
#include "sema/sema.h"
#include "tests/tap.h"
#include <math.h>
#include <stdlib.h>

enum { PROGRAMS = 250 };

/* An "object" that computes what the program means. */
typedef struct Object {
    const char *faulty; /* the tensor that it gets wrong, by 1 % and a bit; NULL: none */
    bool dies;
    int runs;
} Object;

static const int64_t no_sizes[1];

static void store(const RunRequest *request, Interpreter *interpreter, const Object *object, int argument, char *data) {
    const Tensor *tensor = request->program->arguments[argument].tensor;
    int64_t elements = argument_elements(request->program, no_sizes, argument);
    int bytes = element_info[tensor->type].bytes;
    interpreter_tensor(interpreter, tensor, data);
    for (int64_t e = 0; object->faulty && !strcmp(object->faulty, tensor->name) && e < elements; e++) {
        Value value = value_load(tensor->type, data + e * bytes);
        if (type_is_float(tensor->type))
            value.real = value_round(tensor->type, value.real * 1.01 + 0.001);
        else
            value.integer = value_wrap(tensor->type, value.integer + 1);
        value_store(value, data + e * bytes);
    }
}

static void run(void *context, RunRequest *request, RunResult *result) {
    Object *object = context;
    const char *why = NULL;
    *result = (RunResult){.outcome = object->dies ? OUTCOME_CRASH : OUTCOME_OK, .why = "it died", .repeats = 1};
    object->runs++;
    if (object->dies)
        return;
    Interpreter *interpreter = interpreter_new(request->program, no_sizes, request->inputs, &result->status, &why);
    for (int a = 0; interpreter && a < request->program->argument_count; a++) {
        const Tensor *tensor = request->program->arguments[a].tensor;
        if (!tensor || tensor->role != ROLE_OUTPUT)
            continue;
        char *data = malloc((size_t)argument_elements(request->program, no_sizes, a) * 8 + 8);
        store(request, interpreter, object, a, data);
        if (request->outputs && request->outputs[a])
            memcpy(request->outputs[a], data,
                   (size_t)argument_elements(request->program, no_sizes, a) * (size_t)element_info[tensor->type].bytes);
        for (int s = 0; s < request->sample_count; s++)
            if (request->samples[s].argument == a)
                value_store(
                    value_load(tensor->type, data + request->samples[s].element * element_info[tensor->type].bytes),
                    request->sample_bytes + 8 * s);
        free(data);
    }
    interpreter_free(interpreter);
}

typedef struct Case {
    Arena *arena;
    Program *program, *exposed;
    CheckPoints points;
    Object object;
    const char *why;
} Case;

/* Evaluates by the reference. False: the program has none. */
static bool evaluate(Case *c, const char *text, Object object) {
    *c = (Case){.arena = arena_new(), .object = object};
    c->program = program_of_text(c->arena, text, NULL, 0);
    c->exposed = c->program && !c->program->size_count ? program_exposed(c->arena, c->program) : NULL;
    if (!c->exposed)
        return false;
    c->points = (CheckPoints){.arena = c->arena, .program = c->program, .seed = 7};
    if (!check_points_fill(&c->points))
        return false;
    c->why = reference_evaluate(&c->points, c->exposed, &(ReferenceRunner){&c->object, run});
    return true;
}

static void end(Case *c) {
    check_points_close(&c->points);
    arena_free(c->arena);
}

static Evaluated meaning_at(const Case *c, Interpreter *interpreter, int sample) {
    const Tensor *tensor = c->program->arguments[c->points.samples[sample].argument].tensor;
    int64_t *index = ARENA_ARRAY(c->arena, int64_t, tensor->rank + 1);
    element_index(tensor, c->points.samples[sample].element, index);
    return interpreter_element(interpreter, tensor, index);
}

static bool is_same(Value a, Value b) {
    return type_is_float(a.type) ? a.real == b.real || (isnan(a.real) && isnan(b.real)) : a.integer == b.integer;
}

/* How many of the values are not the program's, or have a bound where there can be no error. */
static int count_wrong(Case *c) {
    int status, wrong = 0;
    const char *why;
    Interpreter *interpreter = interpreter_new(c->program, no_sizes, c->points.arguments, &status, &why);
    for (int s = 0; s < c->points.count; s++) {
        const Evaluated meant = meaning_at(c, interpreter, s), *found = &c->points.values[s];
        const Tensor *tensor = c->program->arguments[c->points.samples[s].argument].tensor;
        wrong += !is_same(meant.value, found->value) || found->bound < 0 ||
                 (interpreter_is_exact(interpreter, tensor) && found->bound != 0);
    }
    interpreter_free(interpreter);
    return wrong;
}

/* --- programs made at random --- */

static bool is_refused(const Case *c) {
    int status;
    const char *why;
    Interpreter *interpreter = interpreter_new(c->program, no_sizes, c->points.arguments, &status, &why);
    interpreter_free(interpreter);
    return !interpreter;
}

static void test_random(bool of_all) {
    int evaluated = 0, refused = 0, wrong = 0;
    for (uint64_t seed = 1; seed <= PROGRAMS; seed++) {
        Arena *arena = arena_new();
        struct Binding bindings[RANDOM_SIZES];
        const char *text = of_all ? random_program_of_all(arena, seed, &(RandomForms){.tuples = true}, bindings)
                                  : random_program(arena, seed, true, bindings);
        Case c;
        if (evaluate(&c, text, (Object){0}) && !is_refused(&c)) {
            int errors = c.why ? 0 : count_wrong(&c);
            evaluated++;
            refused += c.why != NULL;
            wrong += errors > 0;
            if (c.why || errors)
                diag_line("seed %llu: %d wrong, %s\n%s", (unsigned long long)seed, errors, c.why ? c.why : "", text);
        }
        end(&c);
        arena_free(arena);
    }
    const char *which = of_all ? "with all that there is" : "simple";
    ok(evaluated > PROGRAMS / 8, "%s: %d of %d programs have temporaries of sums", which, evaluated, PROGRAMS);
    is_int(refused, 0, "%s: what the object computes is trusted", which);
    is_int(wrong, 0, "%s: the values are what the program means", which);
}

/* --- one program --- */

static const char layers[] =
    "def f(float(9, 300) x, const float(300, 40) a, float(40, 50) b, float(50, 7) c) -> (O) {\n"
    "    s(i, j) +=! x(i, k) * a(k, j)\n"
    "    t(i, j) = s(i, j) * 2 + 1\n"
    "    u(i, j) +=! t(i, k) * b(k, j)\n"
    "    v(i, j) +=! max(u(i, k), 0) * c(k, j)\n"
    "    O(i, j) = max(v(i, j), -1000)\n"
    "}\n"
    "export f\n";

static void test_arguments(void) {
    Case c;
    bool there = evaluate(&c, layers, (Object){0});
    ok(there && !c.why, "three layers have values");
    is_int(c.exposed->argument_count, 8, "the sums between are outputs, what is simple is not");
    is_text(c.exposed->arguments[5].tensor->name, "s", "in the order of the stages");
    is_int(c.object.runs, 3, "it runs as it is, and with other numbers");
    is_int(c.points.count, 63, "all elements of a small output are compared");
    end(&c);
    ok(!evaluate(&c, "def f(float(N) x) -> (O) { t(i) = x(i) + 1\n O(i) = t(i) * t(i) }\nexport f(N=8)\n", (Object){0}),
       "a program without sums has no reference");
    end(&c);
}

static void test_faults(void) {
    static const char *const tensors[] = {"s", "v", "O"};
    Case c;
    for (int t = 0; t < 3; t++) {
        evaluate(&c, layers, (Object){.faulty = tensors[t]});
        ok(c.why && strstr(c.why, "differs from what it means"), "a fault in %s is seen: %s", tensors[t],
           c.why ? c.why : "not");
        is_int(c.points.count, 0, "then there are no values");
        end(&c);
    }
    evaluate(&c, layers, (Object){.dies = true});
    is_text(c.why, "it died", "an object that dies says so");
    end(&c);
}

/* A sum of so many terms, in floats, with its terms from the last to the first. */
static float layer_sum(const float *x, int terms, const float *weights, int step) {
    float sum = 0;
    for (int k = terms - 1; k >= 0; k--)
        sum += x[k] * weights[k * step];
    return sum;
}

static void backwards(float *const *arguments, int rows, float *out) {
    float s[40], u[50];
    for (int i = 0; i < rows; i++) {
        for (int j = 0; j < 40; j++)
            s[j] = layer_sum(arguments[0] + i * 300, 300, arguments[1] + j, 40) * 2 + 1;
        for (int j = 0; j < 50; j++)
            u[j] = fmaxf(layer_sum(s, 40, arguments[2] + j, 50), 0);
        for (int j = 0; j < 7; j++)
            out[i * 7 + j] = layer_sum(u, 50, arguments[3] + j, 7);
    }
}

/* Another order of all terms is right, a term that is missing in the first layer is wrong. */
static void test_bounds(void) {
    Case c;
    float found[63];
    uint8_t bytes[8 * 63] = {0};
    evaluate(&c, layers, (Object){0});
    for (int missing = 0; missing < 2; missing++) {
        float *x = c.points.arguments[0];
        for (int i = 0; missing && i < 9; i++)
            x[i * 300 + 123] = 0;
        backwards((float *const *)c.points.arguments, 9, found);
        for (int s = 0; s < c.points.count; s++)
            memcpy(bytes + 8 * s, &found[c.points.samples[s].element], sizeof *found);
        const char *wrong = check_points_compare(&c.points, c.points.values, bytes);
        ok(missing ? wrong != NULL : !wrong, "%s: %s",
           missing ? "a term is missing" : "from the last term to the first", wrong ? wrong : "right");
    }
    end(&c);
}

int main(void) {
    test_random(false);
    test_random(true);
    test_arguments();
    test_faults();
    test_bounds();
    return done_testing();
}
