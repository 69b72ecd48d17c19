/* toolchain.c - build processes with a code generator of the test's own, which ends in all the ways that there are, and
 * what the end of a search cuts short: builds that are waited for, and runs. And a reference that cannot be trusted.
 */
#include "backends/backends.h"
#include "backends/run/builders.h"
#include "lang/clock.h"
#include "objects.h"
#include "programs.h"
#include "sema/sema.h"
#include "tests/tap.h"
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

typedef enum Way { GIVES_OBJECT, REFUSES, STANDS_STILL, LACKS_MEMORY, EXITS, IS_KILLED, ABORTS } Way;

static Way way; /* the builders are forked from this process */
static pid_t compiler;
static const char *object;
static size_t object_bytes;

/* In a build process it ends in its way. The compiler builds once, too, before it forks. */
static char *emit(Kernel *const *kernels, int count, const Target *target, const EmitOptions *options, size_t *bytes,
                  const char **why) {
    bool forked = getpid() != compiler;
    *why = "it is refused";
    while (forked && way == STANDS_STILL)
        pause();
    if (forked && way == LACKS_MEMORY)
        out_of_memory();
    if (forked && way == EXITS)
        _exit(1);
    if (forked && (way == IS_KILLED || way == ABORTS))
        kill(getpid(), way == ABORTS ? SIGABRT : SIGKILL);
    char *copy = way == GIVES_OBJECT ? malloc(object_bytes) : NULL;
    if (copy)
        memcpy(copy, object, object_bytes);
    *bytes = object_bytes;
    return copy;
}

static const Backend backend = {.name = "test", .emit = emit, .runner = &worker_runner};

typedef struct Case {
    Arena *arena;
    Program *program;
    Target target;
    Schedule schedule;
} Case;

static Builders *open_builders(Case *c, const volatile int *stop, double deadline) {
    ToolchainOptions options = {.backend = &backend, .jobs = 1, .threads = 1, .stop = stop, .deadline = deadline};
    return builders_open(c->arena, &c->program, &c->target, &options);
}

static void test_ends(Case *c) {
    static const struct {
        Way way;
        const char *why;
        bool transient, died;
    } rows[] = {{REFUSES, "it is refused", false, false},
                {LACKS_MEMORY, "there is no memory to build it", true, false},
                {EXITS, "the build process crashed", false, true},
                {ABORTS, "the build process crashed", false, true},
                {IS_KILLED, "the build process was ended", true, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Candidate candidate = {.schedule = &c->schedule};
        way = rows[i].way;
        Builders *builders = open_builders(c, NULL, 0);
        builders_submit(builders, 0, &candidate);
        ok(builders_collect(builders, true) == &candidate && candidate.outcome == OUTCOME_BUILD_ERROR,
           "a build that fails");
        is_text(candidate.why, rows[i].why, "says why");
        ok(candidate.transient == rows[i].transient, "%s: %s", rows[i].why,
           rows[i].transient ? "another try may go well" : "so it will the next time");
        ok(candidate.died == rows[i].died, "a process %s by it", rows[i].died ? "ended" : "did not end");
        builders_close(builders);
    }
}

/* A build that never ends is waited for until the search does, and not until its own limit. */
static void test_wait(Case *c) {
    volatile int stop = 1;
    way = STANDS_STILL;
    for (int i = 0; i < 2; i++) {
        Candidate candidate = {.schedule = &c->schedule};
        Builders *builders = open_builders(c, i ? &stop : NULL, i ? 0 : monotonic_seconds() + 0.2);
        builders_submit(builders, 0, &candidate);
        ok(!builders_collect(builders, true), "nothing is collected after %s", i ? "a stop" : "the end of the search");
        builders_close(builders);
    }
}

/* A build that is wanted at once comes back to who asked for it alone; the end of the search ends it. */
static void test_build(Case *c) {
    volatile int stop = 1;
    Candidate first = {.schedule = &c->schedule}, second = first;
    way = REFUSES;
    Builders *builders = open_builders(c, NULL, 0);
    builders_submit(builders, 0, &first);
    builders_build(builders, 0, &second);
    is_text(second.why, "it is refused", "a build that is wanted at once ends");
    ok(builders_collect(builders, true) == &first, "the one before it is collected");
    ok(!builders_collect(builders, true), "it is not");
    builders_close(builders);
    way = STANDS_STILL;
    builders = open_builders(c, &stop, 0);
    builders_submit(builders, 0, &first);
    builders_build(builders, 0, &second);
    is_text(second.why, "the search is over", "a build that waits for another one ends with the search");
    ok(second.outcome == OUTCOME_TIMEOUT && second.transient, "another time it may go well");
    builders_close(builders);
    builders = open_builders(c, &stop, 0);
    builders_build(builders, 0, &second);
    is_text(second.why, "the search is over", "and so does one that is being built");
    ok(!builders_collect(builders, false), "nothing is left of it");
    builders_close(builders);
}

/* Builds the object and measures it, for what is left of so many seconds. False: most of them were gone before. */
static bool measure(Case *c, double seconds, Candidate *candidate) {
    ToolchainOptions options = {
        .backend = &backend, .jobs = 1, .threads = 16}; /* its part of a busy machine is large */
    options.deadline = monotonic_seconds() + seconds;
    const char *why = "";
    bool transient;
    Toolchain *const *toolchains = toolchains_open(c->arena, &c->program, 1, &c->target, &options, &why, &transient);
    if (!toolchains)
        return false;
    Toolchain *toolchain = toolchains[0];
    *candidate = (Candidate){.schedule = &c->schedule};
    toolchain->submit(toolchain->context, candidate);
    bool built = toolchain->collect(toolchain->context, true) == candidate;
    bool early = monotonic_seconds() < options.deadline - seconds / 2;
    if (built && early)
        toolchain->measure(toolchain->context, candidate, 10, false);
    if (built)
        toolchain->release(toolchain->context, candidate);
    toolchains_close(toolchains);
    return built && early;
}

/* Of a run that never ends, which might take a minute. Where the machine is busy the search is longer. */
static void test_cut(Case *c) {
    Candidate candidate = {0};
    double seconds = 0.5, limit = 0;
    const char *text = "void tensorc_parallel(void (*)(void *, long, long), void *, long);"
                       "static void turn(void *c, long b, long e) { for (volatile int i = 0;;) i = 0; }"
                       "int %s_call(const long *sizes, void *const *a) { tensorc_parallel(turn, 0, 64); return 0; }";
    way = GIVES_OBJECT;
    object = compile_c(c->arena, arena_printf(c->arena, text, c->program->symbol), &object_bytes);
    while (object && seconds < 40 && !measure(c, seconds, &candidate))
        seconds *= 8;
    is_int(candidate.outcome, OUTCOME_TIMEOUT, "a run without an end: %s", candidate.why ? candidate.why : "");
    bool told = candidate.why && sscanf(candidate.why, "the run took longer than %lf s", &limit) == 1;
    ok(told && limit <= seconds, "ends with the search, after %g of %g s", limit, seconds);
    ok(candidate.transient, "which says nothing of its schedule");
}

/* What is written to standard error meanwhile goes to a file. */
static int redirect(const char *path) {
    int before = dup(STDERR_FILENO), file = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
    dup2(file, STDERR_FILENO);
    close(file);
    return before;
}

static bool file_has(const char *path, const char *text) {
    char line[512];
    bool found = false;
    FILE *file = fopen(path, "r");
    while (file && !found && fgets(line, sizeof line, file))
        found = strstr(line, text) != NULL;
    if (file)
        fclose(file);
    return found;
}

/* A temporary that no memory holds, of which little is read. */
static Program *program_of_large_sum(Arena *arena) {
    ProgramBuilder builder = program_begin(arena, "large");
    Expr *few = expr_int(arena, 4), *many = expr_int(arena, 1 << 20);
    Tensor *x = program_tensor(&builder, ROLE_INPUT, TYPE_FLOAT, "x", 2, few, few);
    Tensor *s = program_tensor(&builder, ROLE_TEMPORARY, TYPE_FLOAT, "s", 3, few, many, many);
    Tensor *y = program_tensor(&builder, ROLE_OUTPUT, TYPE_FLOAT, "y", 1, few);
    Var *i = program_index(&builder, "i", few, false), *r = program_index(&builder, "r", few, true);
    Var *j = program_index(&builder, "j", many, false), *k = program_index(&builder, "k", many, false);
    program_stage(&builder, s, COMBINE_ADD, NULL,
                  program_read(&builder, x, NULL, expr_var(arena, i), expr_var(arena, r)), 3, 1, i, j, k, r);
    Var *at = program_index(&builder, "i", few, false);
    Expr *zero = expr_int(arena, 0);
    program_stage(&builder, y, COMBINE_NONE, NULL, program_read(&builder, s, NULL, expr_var(arena, at), zero, zero), 1,
                  0, at);
    return program_end(&builder);
}

/* A reference that cannot be used: the interpreter takes its place, which is told. */
static void test_reference(Case *c, const char *folder, Program *whole, const char *told) {
    ReferenceProgram reference = {program_exposed(c->arena, whole), &c->schedule};
    ToolchainOptions options = {.backend = &backend, .jobs = 1, .threads = 1, .reference = &reference, .verbose = true};
    const char *why = "", *path = arena_printf(c->arena, "%s/messages", folder);
    bool transient;
    Candidate candidate = {.schedule = &c->schedule};
    way = GIVES_OBJECT;
    object =
        compile_c(c->arena, arena_printf(c->arena, "int %s_call(const long *s, void **a) { return 1; }", whole->symbol),
                  &object_bytes);
    int before = redirect(path);
    Toolchain *const *toolchains = toolchains_open(c->arena, &whole, 1, &c->target, &options, &why, &transient);
    toolchains[0]->submit(toolchains[0]->context, &candidate);
    toolchains[0]->collect(toolchains[0]->context, true);
    toolchains[0]->measure(toolchains[0]->context, &candidate, 10, false);
    toolchains[0]->release(toolchains[0]->context, &candidate);
    toolchains_close(toolchains);
    dup2(before, STDERR_FILENO);
    close(before);
    ok(file_has(path, arena_printf(c->arena, "its values come from the interpreter, which may take long: %s", told)),
       "values that the reference does not give come from the interpreter: %s", told);
    is_text(candidate.why, "the function returned status 1", "with which candidates are compared");
}

int main(void) {
    Case c = {.arena = arena_new(), .target = *target_find("x86-64")};
    const char *folder = work_folder_make(c.arena);
    setenv("XDG_RUNTIME_DIR", folder, 1); /* locks of its own */
    compiler = getpid();
    c.program = program_matmul(c.arena, TYPE_FLOAT, 5, 7, 3);
    test_ends(&c);
    test_wait(&c);
    test_build(&c);
    test_cut(&c);
    test_reference(&c, folder, program_softmax(c.arena, 3, 5), "the function refuses its arguments");
    test_reference(&c, folder, program_of_large_sum(c.arena), "its arguments take ");
    work_folder_remove(folder);
    arena_free(c.arena);
    return done_testing();
}
