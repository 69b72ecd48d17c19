/* tasks.c - the tasks of a program: what they compute one after another is what the whole computes, equal ones have one
 * hash, and their schedules together are one of the whole.
 */
#include "autosched/autosched.h"
#include "lang/value.h"
#include "sema/interpreter.h"
#include "tests/tap.h"

#include <stdlib.h>
#include <string.h>

/* Of tests/unit/schedules.h, whose random numbers are others. */
Program *program_of_text(Arena *arena, const char *text, const struct Binding *bindings, int count);

/* A program and how many tasks it has. 1: it is not cut. */
static const struct {
    const char *what, *text;
    int tasks;
} programs[] = {
    {"one product", "def f(float(24, 24) x, float(24, 24) a) -> (y) { y(i, j) +=! x(i, r_k) * a(r_k, j) }", 1},
    {"two products with an inlined stage between",
     "def f(float(24, 24) x, const float(24, 24) a, const float(24, 24) b) -> (y) {\n"
     "t(i, j) +=! x(i, r_k) * a(r_k, j)  u(i, j) = max(t(i, j), 0.0)  y(i, j) +=! u(i, r_k) * b(r_k, j) }",
     2},
    {"a stage that two tasks inline",
     "def f(float(24, 24) x, float(24, 24) a) -> (y, z) {\n"
     "s(i, j) = x(j, i)  y(i, j) +=! s(i, r_k) * a(r_k, j)  z(i, j) +=! s(r_k, i) * a(r_k, j) }",
     2},
    {"an output that is read again",
     "def f(int32(24, 24) x, int32(24, 24) a) -> (y, z) {\n"
     "y(i, j) +=! x(i, r_k) * a(r_k, j)  z(i, j) +=! y(i, r_k) * a(r_k, j) }",
     2},
    {"a sum into what the buffer held",
     "def f(int32(24, 24) x, int32(24, 24) a) -> (y, z) {\n"
     "z(i, j) +=! x(i, r_k) * a(r_k, j)  y(i, j) += z(i, r_k) * a(r_k, j) }",
     2},
    {"a scalar that one of them uses",
     "def f(int32(24, 24) x, int32(24, 24) a, int32 n) -> (y) {\n"
     "t(i, j) +=! x(i, r_k) * a(r_k, j)  y(i, j) +=! t(i, r_k) * a(r_k, j) * n }",
     2},
    {"an index that is checked, an argument",
     "def f(int32(24, 24) x, int32(24) p, int32(24, 24) a) -> (y) {\n"
     "t(i, j) +=! x(p(i), r_k) * a(r_k, j)  y(i, j) +=! t(i, r_k) * a(r_k, j) }",
     2},
    {"an index that another task computes",
     "def f(int32(24, 24) x, int32(24, 24) a) -> (y) {\n"
     "t(i) max=! x(i, r_k) % 2  u(i, j) +=! a(t(r_k), j) * x(i, r_k)  y(i, j) +=! u(i, r_k) * a(r_k, j) }",
     3},
    {"a pipeline and a product of it",
     "def f(float(130, 130) x, float(128, 128) a) -> (y) {\n"
     "s(i, j) = x(i, j) + x(i+1, j) + x(i+2, j) where i in 0:128, j in 0:130\n"
     "t(i, j) = s(i, j) + s(i, j+1) * s(i, j+2) where i in 0:128, j in 0:128  y(i, j) +=! t(i, r_k) * a(r_k, j) }",
     2},
    {"a scan",
     "def f(int32(24, 24) x, int32(24, 24) a) -> (y) {\n"
     "t(i, j) +=! x(i, r_k) * a(r_k, j)  scan i { y(i, j) = (y(i-1, j) else 0) + t(i, j) } }",
     1},
};
enum { PROGRAMS = sizeof programs / sizeof *programs };

/* --- what they compute --- */

typedef struct Data {
    Arena *arena;
    LIST(const char *) names;
    LIST(void *) contents;
} Data;

static int64_t bytes_of(const Tensor *tensor) {
    return tensor_elements(tensor) * element_info[tensor->type].bytes;
}

/* The contents of the tensor or scalar with this name: small numbers at first. */
static void *data_of(Data *data, const char *name, ElementType type, int64_t count) {
    for (int i = 0; i < data->names.count; i++)
        if (!strcmp(data->names.items[i], name))
            return data->contents.items[i];
    void *made = arena_alloc(data->arena, (size_t)(count + 1) * 8);
    fill_random(type, made, count, (uint64_t)data->names.count, 0, 5);
    list_push(data->arena, &data->names, name);
    list_push(data->arena, &data->contents, made);
    return made;
}

/* Computes all outputs from the arguments' contents. False: a check fails. */
static bool compute(Data *data, const Program *program) {
    void **arguments = ARENA_ARRAY(data->arena, void *, program->argument_count + 1);
    for (int a = 0; a < program->argument_count; a++) {
        const Argument *argument = &program->arguments[a];
        arguments[a] = argument->tensor ? data_of(data, argument->tensor->name, argument->tensor->type,
                                                  tensor_elements(argument->tensor))
                                        : data_of(data, argument->scalar->name, argument->scalar->type, 1);
    }
    int status = 0;
    const char *why = "";
    int64_t none = 0;
    Interpreter *interpreter = interpreter_new(program, &none, arguments, &status, &why);
    if (!interpreter)
        return false;
    void **made = ARENA_ARRAY(data->arena, void *, program->argument_count + 1);
    for (int a = 0; a < program->argument_count; a++) {
        const Tensor *tensor = program->arguments[a].tensor;
        if (!tensor || tensor->role != ROLE_OUTPUT)
            continue;
        made[a] = arena_alloc(data->arena, (size_t)bytes_of(tensor));
        interpreter_tensor(interpreter, tensor, made[a]);
    }
    interpreter_free(interpreter);
    for (int a = 0; a < program->argument_count; a++)
        if (made[a])
            memcpy(arguments[a], made[a], (size_t)bytes_of(program->arguments[a].tensor));
    return true;
}

/* Arguments begin with the same contents in the same order. */
static Data begin_data(Arena *arena, const Program *whole) {
    Data data = {.arena = arena};
    for (int a = 0; a < whole->argument_count; a++) {
        const Argument *argument = &whole->arguments[a];
        if (argument->tensor)
            data_of(&data, argument->tensor->name, argument->tensor->type, tensor_elements(argument->tensor));
        else
            data_of(&data, argument->scalar->name, argument->scalar->type, 1);
    }
    return data;
}

static int different_outputs(Data *a, Data *b, const Program *whole) {
    int different = 0;
    for (int i = 0; i < whole->argument_count; i++) {
        const Tensor *tensor = whole->arguments[i].tensor;
        if (tensor && tensor->role == ROLE_OUTPUT)
            different += memcmp(data_of(a, tensor->name, tensor->type, 0), data_of(b, tensor->name, tensor->type, 0),
                                (size_t)bytes_of(tensor)) != 0;
    }
    return different;
}

static void test_values(Arena *arena, int number, const Target *target) {
    const Program *whole = program_of_text(arena, programs[number].text, NULL, 0);
    Space *space = space_new(arena, whole, target, NULL);
    Program **parts = NULL;
    int count = space_tasks(space, &parts);
    is_int(count, programs[number].tasks, "%s: so many tasks", programs[number].what);
    if (count <= 1)
        return;
    Data one = begin_data(arena, whole), all = begin_data(arena, whole);
    bool good = compute(&one, whole);
    for (int p = 0; p < count; p++)
        good = good && compute(&all, parts[p]);
    ok(good && different_outputs(&one, &all, whole) == 0, "%s: the tasks compute what the whole does",
       programs[number].what);
}

/* --- with one border more --- */

/* Behind each stage; the tasks compute the same, and not one of them has the stage and what reads it. */
static void test_borders(Arena *arena, int number, const Target *target) {
    const Program *whole = program_of_text(arena, programs[number].text, NULL, 0);
    Data one = begin_data(arena, whole);
    int wrong = 0, divided = 0;
    compute(&one, whole);
    for (int s = 0; s < whole->stage_count; s++) {
        Program **parts = NULL;
        int count = space_tasks_with_border(arena, whole, target, s, &parts);
        Data all = begin_data(arena, whole);
        bool good = true;
        for (int p = 0; p < count && count > 1; p++)
            good = good && compute(&all, parts[p]);
        divided += count > 1;
        wrong += count > 1 && (!good || different_outputs(&one, &all, whole));
    }
    is_int(wrong, 0, "%s: with a border more, behind %d of its stages, too", programs[number].what, divided);
}

/* A pipeline ends at a border, a product does not take place in its epilogue's tile, an inlined stage stands alone. */
static void test_divided(Arena *arena, const Target *target) {
    static const struct {
        const char *text;
        int stage, tasks;
    } rows[] = {
        {"def f(float(1026, 1026) x) -> (y) {\n"
         "h(i, j) = x(i, j) + x(i, j + 1) + x(i, j + 2) where i in 0:1026, j in 0:1024\n"
         "v(i, j) = h(i, j) + h(i + 1, j) + h(i + 2, j) where i in 0:1024, j in 0:1024\n"
         "y(i, j) = v(i, j) * v(i, j + 1) where i in 0:1024, j in 0:1023 }",
         1, 2},
        {"def f(float(64, 64) x, float(64, 64) a) -> (y) {\n"
         "t(i, j) +=! x(i, r_k) * a(r_k, j)  y(i, j) = max(t(i, j), 0) }",
         0, 2},
        {"def f(float(64, 64) x) -> (y) { t(i, j) = exp(x(i, j))  y(i) +=! t(i, r) }", 0, 2},
        {"def f(float(64, 64) x) -> (y) { m(i) max=! x(i, r)  e(i, j) = exp(x(i, j) - m(i))\n"
         "s(i) +=! e(i, r)  y(i, j) = e(i, j) / s(i) }",
         1, 2},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        const Program *whole = program_of_text(arena, rows[r].text, NULL, 0);
        Program **parts = NULL;
        is_int(space_tasks(space_new(arena, whole, target, NULL), &parts), 1, "one task by the rules");
        int count = space_tasks_with_border(arena, whole, target, rows[r].stage, &parts);
        is_int(count, rows[r].tasks, "divided behind %s", whole->stages[rows[r].stage]->name);
        const char *name = whole->stages[rows[r].stage]->name;
        bool apart = count > 1;
        for (int p = 0; p < count && count > 1; p++) {
            const Stage *stage = program_find_stage(parts[p], name);
            apart &= !stage || stage_output(stage);
        }
        ok(apart, "which is an output there");
    }
}

/* --- their schedules --- */

/* The defaults of the tasks together are legal in the whole, where no name is given twice. */
static void test_joined(Arena *arena, int number, const Target *target) {
    const Program *whole = program_of_text(arena, programs[number].text, NULL, 0);
    Program **parts = NULL;
    int count = space_tasks(space_new(arena, whole, target, NULL), &parts), statements = 0;
    if (count <= 1)
        return;
    Schedule **schedules = ARENA_ARRAY(arena, Schedule *, count);
    for (int p = 0; p < count; p++) {
        schedules[p] = autosched_default(arena, parts[p], target, NULL, EFFORT_ROUGH, 0);
        statements += schedules[p]->count;
    }
    Schedule *joined = schedules_join(arena, whole, target, schedules, count);
    NestError error = {0};
    bool legal = nest_build(arena, whole, joined, NULL, target, &error) != NULL;
    ok(legal && joined->count > 0 && joined->count <= statements, "%s: %d statements are legal together%s%s",
       programs[number].what, joined->count, error.rule ? ": " : "", error.rule ? error.rule : "");
}

/* A local name that both give is told apart in the second also where it stands behind its stage. */
static void test_names(Arena *arena, const Target *target) {
    const char *text = "def f(float(24, 24) x, float(24, 24) a) -> (y) {\n"
                       "t(i, j) +=! x(i, r_k) * a(r_k, j)  y(i, j) +=! t(i, r_k) * a(r_k, j) }";
    static const char *const blocks[] = {"o, l = split(t.j, 8)\nvectorize(t.l)\n",
                                         "o, l = split(y.j, 8)\nvectorize(y.l)\n"};
    const Program *whole = program_of_text(arena, text, NULL, 0);
    const Task *task = task_new(arena, whole, NULL);
    Schedule *schedules[2];
    for (int i = 0; i < 2; i++)
        schedules[i] = task_schedule(arena, task, target, blocks[i]);
    bool read = schedules[0] && schedules[1];
    Schedule *joined = read ? schedules_join(arena, whole, target, schedules, 2) : NULL;
    Text printed = {.arena = arena};
    text_add(&printed, "%s", "");
    if (joined)
        schedule_print_statements(&printed, joined);
    is_text(printed.text, "o, l = split(t.j, 8)\nvectorize(t.l)\no_, l_ = split(y.j, 8)\nvectorize(y.l_)\n",
            "names that two schedules give are told apart, behind their stages, too");
}

/* What a schedule of one program says of its stages it says of those of an equal one with other names. */
static void test_renamed(Arena *arena, const Target *target) {
    static const char *const texts[] = {"def f(float(24, 24) x, float(24, 24) a) -> (y) {\n"
                                        "t(i, j) +=! x(i, r_k) * a(r_k, j)  y(i, j) +=! t(i, r_k) * a(r_k, j) }",
                                        "def g(float(24, 24) p, float(24, 24) q) -> (z) {\n"
                                        "s(m, n) +=! p(m, r_d) * q(r_d, n)  z(m, n) +=! s(m, r_d) * q(r_d, n) }"};
    static const char block[] = "o, l = split(y.j, 8)\ncompute_at(t, y.i, scope=local)\n"
                                "a_p = cache_read(a, at=o, reader=y)\n"
                                "t_p = cache_read(t, at=y.i, reader=y, scope=local)\n";
    const char *printed[2] = {"", ""}, *canonical = "";
    for (int i = 0; i < 2; i++) {
        const Program *program = program_of_text(arena, texts[i], NULL, 0);
        const Task *task = task_new(arena, program, NULL);
        Schedule *schedule = task_schedule(arena, task, target, i ? canonical : block);
        NestError error = {0};
        bool legal = schedule && nest_build(arena, program, schedule, NULL, target, &error);
        ok(legal, "legal with the names of %s: %s", program->name, error.rule ? error.rule : "");
        Text text = {.arena = arena};
        schedule_print_statements(&text, schedule);
        printed[i] = text.text;
        canonical = task_text(arena, task, schedule);
    }
    is_text(printed[1],
            "o, l = split(z.n, 8)\ncompute_at(s, z.m, scope=local)\n"
            "a_p = cache_read(q, at=o, reader=z)\n"
            "t_p = cache_read(s, at=z.m, reader=z, scope=local)\n",
            "a schedule has the names of the program that it is for");
}

/* --- equal ones --- */

static void test_equal(Arena *arena, const Target *target) {
    const char *text = "def f(float(64, 64) x, float(64, 64) a, float(64, 64) b, float(32, 64) c) -> (y) {\n"
                       "t(i, j) +=! x(i, r_k) * a(r_k, j)  u(i, j) +=! t(i, r_k) * b(r_k, j)\n"
                       "y(i, j) +=! c(i, r_k) * u(r_k, j) }";
    Program **parts = NULL;
    int count = space_tasks(space_new(arena, program_of_text(arena, text, NULL, 0), target, NULL), &parts);
    is_int(count, 3, "three products");
    if (count != 3)
        return;
    ok(!strcmp(task_hash(arena, parts[0]), task_hash(arena, parts[1])), "equal products are one task");
    ok(strcmp(task_hash(arena, parts[1]), task_hash(arena, parts[2])), "another size is another task");
    const char *alone = "def g(float(64, 64) p, float(64, 64) q) -> (r) { r(i, j) +=! p(i, r_k) * q(r_k, j) }";
    ok(!strcmp(task_hash(arena, parts[0]), task_hash(arena, program_of_text(arena, alone, NULL, 0))),
       "and it is that of a function of its own");
}

/* Layers whose weights are one tensor are tasks of their own, but equal but for the layer. */
static void test_layers(Arena *arena, const Target *target) {
    const char *text = "def f(float(64, 64) x, const float(2, 64, 64) a) -> (y) {\n"
                       "t(i, j) +=! x(i, r_k) * a(0, r_k, j)  u(i, j) +=! t(i, r_k) * a(1, r_k, j)\n"
                       "y(i, j) +=! u(i, r_k) * a(1, j, r_k) }";
    Program **parts = NULL;
    int count = space_tasks(space_new(arena, program_of_text(arena, text, NULL, 0), target, NULL), &parts);
    is_int(count, 3, "three products with one tensor");
    if (count != 3)
        return;
    ok(strcmp(task_hash(arena, parts[0]), task_hash(arena, parts[1])), "another layer is another task");
    ok(!strcmp(layer_hash(arena, parts[0], false), layer_hash(arena, parts[1], false)), "but equal but for the layer");
    ok(strcmp(layer_hash(arena, parts[1], false), layer_hash(arena, parts[2], false)),
       "another order of indices is not");
}

/* A layer max(x W, a) * b. */
static const Program *numbered(Arena *arena, const char *a, const char *b) {
    return program_of_text(arena,
                           arena_printf(arena,
                                        "def f(float(64, 64) x, float(64, 64) w) -> (y) {\n"
                                        "t(i, j) +=! x(i, r_k) * w(r_k, j)  y(i, j) = max(t(i, j), %s) * %s }",
                                        a, b),
                           NULL, 0);
}

static void test_numbers(Arena *arena) {
    const Program *one = numbered(arena, "2", "0.3"), *other = numbered(arena, "7", "0.4");
    ok(strcmp(task_hash(arena, one), task_hash(arena, other)), "a layer with other numbers is another task");
    ok(!strcmp(layer_hash(arena, one, false), layer_hash(arena, other, false)), "but equal but for the numbers");
    ok(strcmp(layer_hash(arena, one, false), layer_hash(arena, numbered(arena, "0", "0.3"), false)),
       "0 is no such number");
    ok(strcmp(layer_hash(arena, one, false), layer_hash(arena, numbered(arena, "2", "1.0"), false)), "nor is 1");
    ok(strcmp(layer_hash(arena, one, false), layer_hash(arena, numbered(arena, "2", "i"), false)), "nor is an index");
}

/* Steps y(i - a) + y(i) where i is below b. */
static const Program *shifted(Arena *arena, const char *a, const char *b) {
    return program_of_text(arena,
                           arena_printf(arena,
                                        "def f(float(N) x) -> (y) {\n"
                                        "y(i) = i < %s ? (x(i - %s) else 1.5) + x(i) : x(2 * i %% N) where i in 0:N }",
                                        b, a),
                           NULL, 0);
}

static void test_offsets(Arena *arena) {
    const Program *one = shifted(arena, "2", "30"), *other = shifted(arena, "7", "11");
    ok(strcmp(layer_hash(arena, one, false), layer_hash(arena, other, false)), "steps with other offsets differ");
    ok(!strcmp(layer_hash(arena, one, true), layer_hash(arena, other, true)), "but not in a very long function");
    ok(strcmp(layer_hash(arena, one, true), layer_hash(arena, shifted(arena, "2", "N"), true)), "a size is no offset");
    ok(strcmp(task_hash(arena, one), task_hash(arena, other)), "and they are tasks of their own");
}

/* A constant that two tasks read is rearranged in each call: for one task it would be ahead of time. */
static void test_constants(Arena *arena, const Target *target) {
    const char *text = "def f(float(64, 64) x, const float(64, 64) a, const float(64, 64) b) -> (y) {\n"
                       "t(i, j) +=! x(i, r_k) * a(r_k, j)  u(i, j) +=! t(i, r_k) * a(r_k, j)\n"
                       "y(i, j) +=! u(i, r_k) * b(r_k, j) }";
    Program **parts = NULL;
    int count = space_tasks(space_new(arena, program_of_text(arena, text, NULL, 0), target, NULL), &parts);
    int constants[3] = {0};
    for (int p = 0; count == 3 && p < count; p++)
        for (int a = 0; a < parts[p]->argument_count; a++)
            constants[p] += parts[p]->arguments[a].tensor->constant;
    ok(count == 3 && !constants[0] && !constants[1] && constants[2] == 1, "constants of one reader stay constant");
}

int main(void) {
    Arena *arena = arena_new();
    Target target = *target_find("x86-64-v4");
    target.threads = 2;
    for (int p = 0; p < PROGRAMS; p++) {
        test_values(arena, p, &target);
        test_joined(arena, p, &target);
        test_borders(arena, p, &target);
    }
    test_divided(arena, &target);
    test_names(arena, &target);
    test_renamed(arena, &target);
    test_equal(arena, &target);
    test_layers(arena, &target);
    test_numbers(arena);
    test_offsets(arena);
    test_constants(arena, &target);
    arena_free(arena);
    return done_testing();
}
