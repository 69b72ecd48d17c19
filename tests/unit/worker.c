/* worker.c - objects loaded and run in a worker process: results, statuses, crashes, hangs, memory limits, bad objects.
 *
 * The objects are made by the system's C compiler ($CC, else cc), so this needs no code generator. */
#include "backends/backends.h"
#include "backends/run/contents.h"
#include "backends/run/device_lock.h"
#include "backends/run/wire.h"
#include "lang/clock.h"
#include "lang/sanitized.h"
#include "lang/value.h"
#include "objects.h"
#include "programs.h"
#include "tests/tap.h"
#include <math.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const Patience forever = {HUGE_VAL, NULL};
enum { PATIENT = 300 }; /* seconds, after which a wait that has to end is taken for one without an end */

typedef struct Case {
    Arena *arena;
    Runner *runner;
    Program *program;
    int64_t sizes[1];
} Case;

static RunResult run_text(Case *c, const char *body, RunRequest request) {
    RunResult result = {.outcome = OUTCOME_COUNT};
    const char *text = arena_printf(
        c->arena,
        "#include <stdint.h>\n#include <stdlib.h>\n#include <string.h>\n#include <math.h>\n#include <signal.h>\n"
        "#include <unistd.h>\n"
        "void tensorc_parallel(void (*)(void *, int64_t, int64_t), void *, int64_t);\n"
        "static void add(void *c, int64_t b, int64_t e) { for (; b < e; b++) ((float *)c)[b] = b; }\n"
        "static int table[4] = {1, 2, 3, 4}; int common_variable;\n"
        "int %s_call(const int64_t *sizes, void *const *a) { %s }\n",
        c->program->symbol, body);
    size_t bytes = 0;
    request.object = compile_c(c->arena, text, &bytes);
    request.object_bytes = bytes;
    request.program = c->program;
    request.sizes = c->sizes;
    if (!request.limit_seconds)
        request.limit_seconds = 20;
    request.max_repeats = 3;
    if (request.object)
        runner_run(c->runner, c->arena, &request, &result);
    return result;
}

static void test_results(Case *c) {
    int64_t elements = argument_elements(c->program, c->sizes, 2);
    float *out = arena_alloc(c->arena, (size_t)elements * sizeof *out);
    void *outputs[3] = {NULL, NULL, out};
    RunResult r = run_text(c, "tensorc_parallel(add, a[2], 12); common_variable += table[2]; return 0;",
                           (RunRequest){.outputs = outputs, .threads = 2});
    is_int(r.outcome, OUTCOME_OK, "an object with a parallel loop runs: %s", r.why ? r.why : "");
    ok(elements >= 12 && out[0] == 0 && out[11] == 11, "its results come back");
    ok(r.seconds > 0 && r.repeats == 3, "it was timed");
    ok(r.disturbance.undisturbed <= 3 && r.disturbance.processor_part > 0,
       "with what disturbed it: %d of 3 undisturbed", r.disturbance.undisturbed);

    float *in = arena_alloc(c->arena, (size_t)argument_elements(c->program, c->sizes, 0) * sizeof *in);
    argument_fill(c->program, c->sizes, 0, 7, in);
    uint8_t sample[8];
    struct SamplePoint point = {2, 5};
    r = run_text(c, "((float *)a[2])[5] = expf(((float *)a[0])[3]); return 0;",
                 (RunRequest){.seed = 7, .sample_count = 1, .samples = &point, .sample_bytes = sample});
    is_int(r.outcome, OUTCOME_OK, "a call into libm runs");
    float value;
    memcpy(&value, sample, sizeof value);
    ok(value == expf(in[3]), "a sampled element comes back; the worker's inputs are the ones made here");

    const char *second = "float *o = a[2]; int status = o[1] == 99; o[1] = 99; return status;";
    r = run_text(c, second, (RunRequest){.seed = 7});
    r = run_text(c, second, (RunRequest){.seed = 7});
    ok(r.outcome == OUTCOME_OK && r.status == 0, "what a run leaves in an output is not there in the next");
    r = run_text(c, arena_printf(c->arena, "return ((float *)a[0])[3] == %.9gf;", in[3]), (RunRequest){.seed = 8});
    ok(r.outcome == OUTCOME_OK && r.status == 0, "another seed gives other inputs");

    r = run_text(c, "usleep(15000); return 0;", (RunRequest){.stop_seconds = 0.01});
    is_int(r.repeats, 3, "what is slow is repeated, too");

    r = run_text(c, "return 2;", (RunRequest){0});
    ok(r.outcome == OUTCOME_OK && r.status == 2, "a status comes back");
}

/* Contents that an object leaves out come with the first request, and with the first of each new worker. */
static void test_contents(Case *c) {
    static const char body[] = "extern __attribute__((visibility(\"hidden\"))) const int one[2], two[1];"
                               "if ((uintptr_t)one % 64 || (uintptr_t)two % 64) return 9;"
                               "if (one[0] == 99) abort(); ((int *)one)[1] += 1; return one[1] + two[0];";
    int first[2] = {0, 3}, second[1] = {2};
    Contents one = {"one", first, sizeof first}, two = {"two", second, sizeof second};
    const Contents *constants[] = {&one, &two};
    RunRequest request = {.constants = constants, .constant_count = 2};
    RunResult r = run_text(c, body, request);
    ok(r.outcome == OUTCOME_OK && r.status == 6, "constants that an object leaves out are there: %d", r.status);
    first[1] = 30;
    r = run_text(c, body, request);
    ok(r.outcome == OUTCOME_OK && r.status == 6, "they are sent once, and what a run does to them is gone");
    first[0] = 99;
    one.key = "three";
    run_text(
        c, "extern __attribute__((visibility(\"hidden\"))) const int three[2]; if (three[0] == 99) abort(); return 0;",
        request);
    first[0] = 0;
    one.key = "one";
    r = run_text(c, body, request);
    ok(r.outcome == OUTCOME_OK && r.status == 33, "a new worker gets them again: %d", r.status);
    request.constant_count = 1;
    r = run_text(c, body, request);
    is_int(r.outcome, OUTCOME_BUILD_ERROR, "one that is missing is named: %s", r.why);
    size_t large = CONTENTS_LIMIT / 2 + 1;
    Contents left = {"left", calloc(1, large), large}, right = {"right", calloc(1, large), large};
    request.constants = (const Contents *[]){&left};
    const char *reads = "extern __attribute__((visibility(\"hidden\"))) const int %s[2]; return %s[0];";
    run_text(c, arena_printf(c->arena, reads, "left", "left"), request);
    request.constants = (const Contents *[]){&right};
    run_text(c, arena_printf(c->arena, reads, "right", "right"), request);
    *(int *)left.data = 7;
    request.constants = (const Contents *[]){&left};
    r = run_text(c, arena_printf(c->arena, reads, "left", "left"), request);
    ok(r.outcome == OUTCOME_OK && r.status == 7, "too many are forgotten and sent again");
    free(left.data);
    free(right.data);
}

static const char no_limits[] = "memory cannot be limited under the sanitizer of addresses";

static void test_limited_memory(Case *c) {
#if SANITIZES_ADDRESSES
    skip(1, no_limits);
#else
    RunResult r = run_text(c, "volatile char *p = malloc((size_t)3 << 30); if (!p) return 3; p[0] = 1; return 0;",
                           (RunRequest){.limit_bytes = (int64_t)1 << 30});
    ok(r.outcome == OUTCOME_OK && r.status == 3, "memory is limited");
#endif
}

static void test_faults(Case *c) {
    RunResult r = run_text(c, "*(volatile int *)8 = 1; return 0;", (RunRequest){0});
    is_int(r.outcome, OUTCOME_CRASH, "a crash is an outcome");
    ok(r.why && strstr(r.why, "signal 11"), "with its signal: %s", r.why ? r.why : "");
    const char *end = arena_printf(c->arena, "((volatile float *)a[2])[%lld + 1023] = 1; return 0;",
                                   (long long)argument_elements(c->program, c->sizes, 2));
    r = run_text(c, end, (RunRequest){0});
    is_int(r.outcome, OUTCOME_CRASH, "a write less than a page past a buffer hits a guard page");
    r = run_text(c, "((volatile float *)a[0])[0] = 1; return 0;", (RunRequest){0});
    is_int(r.outcome, OUTCOME_CRASH, "so does a write into an input");
    r = run_text(c, "for (volatile int i = 0;;) i = 0;", (RunRequest){.limit_seconds = 0.3});
    is_int(r.outcome, OUTCOME_TIMEOUT, "a hang is an outcome");
    test_limited_memory(c);
    r = run_text(c, "_exit(5);", (RunRequest){0});
    ok(r.outcome == OUTCOME_CRASH && strstr(r.why, "status 5"), "an exit is an outcome");
    int stop = 1;
    alarm(PATIENT); /* without the stop it goes on for longer */
    r = run_text(c, "for (volatile int i = 0;;) i = 0;", (RunRequest){.stop = &stop, .limit_seconds = 1e4});
    alarm(0);
    is_int(r.outcome, OUTCOME_TIMEOUT, "a stop request ends a run at once");
    r = run_text(c, "extern int no_such_function(void); return no_such_function();", (RunRequest){0});
    is_int(r.outcome, OUTCOME_BUILD_ERROR, "an unknown function is refused: %s", r.why);
    r = run_text(c, "return 0;", (RunRequest){0});
    is_int(r.outcome, OUTCOME_OK, "the next run works");
}

/* Damaged objects: every prefix length and seeded byte flips give an outcome, and the runner lives on. */
static void test_damage(Case *c) {
    size_t bytes = 0;
    char *object = compile_c(
        c->arena, arena_printf(c->arena, "int %s_call(void *s, void **a) { return 0; }", c->program->symbol), &bytes);
    int strange = 0;
    uint64_t state = 1;
    for (int i = 0; object && i < 60; i++) {
        char *copy = arena_alloc(c->arena, bytes);
        memcpy(copy, object, bytes);
        state = state * 6364136223846793005u + 1442695040888963407u;
        size_t size = i < 30 ? bytes * (size_t)i / 30 : bytes;
        if (i >= 30)
            copy[(state >> 33) % 64] ^= (char)(1 + (state >> 20) % 255);
        RunRequest request = {
            .object = copy, .object_bytes = size, .program = c->program, .sizes = c->sizes, .limit_seconds = 5};
        RunResult r;
        runner_run(c->runner, c->arena, &request, &r);
        strange += r.outcome < 0 || r.outcome >= OUTCOME_COUNT;
    }
    ok(object && !strange, "damaged objects give outcomes");
    RunResult r = run_text(c, "return 0;", (RunRequest){0});
    is_int(r.outcome, OUTCOME_OK, "and the next run works");
}

/* What the runner cannot reach, for it is in another group or on another machine, ends by itself when it hangs. */
static void test_orphan(Case *c) {
    const char *why = "", *folder = getenv("TMPDIR");
    char *ended = arena_printf(c->arena, "%s/tensorc-ended-XXXXXX", folder ? folder : "/tmp");
    int file = mkstemp(ended);
    char *worker = realpath("tensorc-worker", NULL); /* tests run in the build's folder */
    if (!ok(file >= 0 && worker, "a worker program and a temporary file"))
        return;
    close(file);
    c->runner = runner_open(
        c->arena, arena_printf(c->arena, "exec setsid sh -c '\"%s\"; echo ended >\"%s\"' 2>/dev/null", worker, ended),
        forever, &why, NULL);
    RunResult r = run_text(c, "for (volatile int i = 0;;) i = 0;", (RunRequest){.limit_seconds = 0.5});
    is_int(r.outcome, OUTCOME_TIMEOUT, "a worker out of reach hangs");
    runner_close(c->runner);
    struct stat state = {0};
    for (int i = 0; i < 1000 && !stat(ended, &state) && state.st_size == 0; i++)
        usleep(20000);
    ok(state.st_size > 0, "and ends by itself");
    unlink(ended);
    free(worker);
}

/* What does not answer once is no worker: its messages say why. */
static void test_starts(Case *c) {
    static const struct {
        const char *command, *said;
        double seconds;
        bool transient;
    } rows[] = {
        {"exec false", "exited with status 1", 60, false},
        {"echo no such machine >&2; exit 255", "status 255: no such machine$", 60, false},
        {"printf 'a\\033[31mb\\nlast \\033[31mline\\n\\n' >&2; exit 7", "wrote: a.x1B\\[31mb . last .x1B\\[31mline$",
         60, false},
        {"printf 'last \\033[31mline\\n\\n' >&2; exit 7", "status 7: last \\?\\[31mline$", 60, false},
        {"no-such-command-anywhere", "status 127: .*not found", 60, false},
        {"printf 'one\\ntwo\\n\\nthree\\033[0m\\n' >&2; exit 8", "status 8; it wrote: one . two . three.x1B\\[0m$", 60,
         false},
        {"seq 1 30 >&2; exit 8", "status 8; it wrote: 21 . 22 .* . 30$", 60, false},
        {"printf 'Hello, \\033you\\nand all\\n'; exec cat", "of this version does: 'Hello, .x1Byou'$", 60, false},
        {"echo Hi; sleep 60", "of this version does: 'Hi'$", 5, true}, /* time for a shell on a busy machine */
        {"exec cat", "what it answers is not what tensorc-worker", 60, false},
        {"kill -TERM $$", "signal 15", 60, false},
        {"exec <&-; exec >&-; sleep 60", "closed its output", 60, false},
        {"exec sleep 60", "has not answered for 0[.0-9]* s$", 0.2, true},
        {"sleep 60 <&-", "has not answered for 0[.0-9]* s$", 0.2, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *why = "";
        bool transient = !rows[i].transient;
        Patience patience = {monotonic_seconds() + rows[i].seconds, NULL};
        Runner *runner = runner_open(c->arena, rows[i].command, patience, &why, &transient);
        regex_t pattern;
        regcomp(&pattern, rows[i].said, REG_EXTENDED | REG_NOSUB);
        ok(!runner && !regexec(&pattern, why, 0, NULL, 0), "%s does not start: %s", rows[i].command, why);
        is_int(transient, rows[i].transient, "%s", transient ? "there was no time" : "which is an error");
        regfree(&pattern);
        runner_close(runner);
    }
}

/* --- the machine's lock, which somebody holds and never gives back --- */

static void remove_locks(Arena *arena, const char *folder) {
    const char *own = arena_printf(arena, "%s/tensorc-%u", folder, (unsigned)geteuid());
    unlink(arena_printf(arena, "%s/gate.lock", own));
    unlink(arena_printf(arena, "%s/device.lock", own));
    rmdir(own);
    rmdir(folder);
}

static void test_lock(Case *c) {
    const char *tmp = getenv("TMPDIR");
    char *folder = arena_printf(c->arena, "%s/tensorc-lock-test-XXXXXX", tmp ? tmp : "/tmp");
    setenv("XDG_RUNTIME_DIR", mkdtemp(folder), 1);
    volatile int stop = 0;
    DeviceLock holder = device_lock_open(c->arena, (WaitLimit){0}, LOCK_SILENT);
    ok(holder.device >= 0 && device_lock(&holder, true), "the machine is had");
    DeviceLock late = device_lock_open(c->arena, (WaitLimit){&stop, monotonic_seconds() + 0.3}, LOCK_SILENT);
    DeviceLock stopped = device_lock_open(c->arena, (WaitLimit){&stop, 0}, LOCK_SILENT);
    alarm(PATIENT);
    ok(!device_lock(&late, true), "nobody else waits for it beyond the deadline");
    ok(!device_lock(&late, false), "nor to build");
    stop = 1;
    ok(!device_lock(&stopped, true), "nor after a stop");
    alarm(0);
    device_unlock(&holder);
    ok(device_lock(&late, true), "what is free is had after it, too");
    device_lock_close(&late);
    device_lock_close(&stopped);
    device_lock_close(&holder);
    unsetenv("XDG_RUNTIME_DIR");
    remove_locks(c->arena, folder);
}

/* --- answers that are changed on their way --- */

typedef struct Change {
    const char *name;
    int from_end; /* numbers of the answer: 1 spread, 2 minimum, 3 seconds, 4 repeats, 5 steal, 6 processor's part, 7
                     undisturbed, 8 switches; 0 that of the request; -1 none */
    double value;
} Change;
static const Change changes[] = {
    {"none", -1, 0},    {"zero", 3, 0},      {"negative", 3, -1e-3}, {"infinite", 3, INFINITY}, {"nan", 3, NAN},
    {"huge", 3, 1e300}, {"tiny", 2, 1e-300}, {"minimum", 2, NAN},    {"spread", 1, -INFINITY},  {"repeats", 4, 0},
    {"number", 0, 0},   {"steal", 5, NAN},   {"processor", 6, -1},   {"clean", 7, -1},          {"switches", 8, -1},
};
enum { CHANGES = sizeof changes / sizeof *changes };

/* This program as a worker: passes on what the real one says, the answers after the greeting changed. */
static int be_between(const char *name, const char *worker) {
    int request[2], answer[2];
    const Change *change = changes;
    while (strcmp(change->name, name))
        change++;
    if (!wire_open(request, answer))
        return 1;
    if (!fork()) {
        dup2(request[0], 0);
        dup2(answer[1], 1);
        execl(worker, worker, (char *)NULL);
        _exit(1);
    }
    Wire wire = {0};
    for (int i = 0; wire_receive(&wire, 0) && wire_send(&wire, request[1]) && wire_receive(&wire, answer[0]); i++) {
        uint8_t *at = change->from_end > 0 ? wire.bytes + wire.length - 8 * change->from_end : wire.bytes;
        int64_t number = 77;
        if (i && change->from_end >= 0)
            memcpy(at, change->from_end ? (const void *)&change->value : (const void *)&number, 8);
        if (!wire_send(&wire, 1))
            return 1;
    }
    return 0;
}

static RunResult run_between(Case *c, const char *name) {
    const char *why = "";
    char *self = realpath("/proc/self/exe", NULL), *worker = realpath("tensorc-worker", NULL);
    c->runner = runner_open(c->arena, arena_printf(c->arena, "exec '%s' --between='%s' '%s'", self, name, worker),
                            forever, &why, NULL);
    free(self);
    free(worker);
    RunResult r = {.outcome = OUTCOME_COUNT, .why = why};
    if (c->runner)
        r = run_text(c, "return 0;", (RunRequest){0});
    runner_close(c->runner);
    return r;
}

static void test_answers(Case *c) {
    RunResult r = run_between(c, "none");
    ok(r.outcome == OUTCOME_OK && r.seconds > 0, "a worker behind another program: %s", r.why ? r.why : "");
    for (int i = 1; i < CHANGES; i++) {
        r = run_between(c, changes[i].name);
        ok(r.outcome == OUTCOME_CRASH && r.died && !r.transient, "a wrong answer (%s) is none: %s", changes[i].name,
           r.why);
    }
}

/* Ends from outside say nothing of the object. */
static void test_ends(Case *c) {
    static const struct {
        const char *body;
        bool transient;
    } rows[] = {
        {"kill(getpid(), SIGTERM); pause(); return 0;", true},
        {"kill(getpid(), SIGHUP); pause(); return 0;", true},
        {"kill(getpid(), SIGINT); pause(); return 0;", true},
        {"kill(getpid(), SIGKILL); pause(); return 0;", true},
        {"kill(getpid(), SIGABRT); pause(); return 0;", false},
        {"kill(getpid(), SIGILL); pause(); return 0;", false},
        {"exit(1); return 0;", true},
        {"_exit(1); return 0;", true},
    };
    const char *why = "";
    RunResult r;
    c->runner = runner_open(c->arena, NULL, forever, &why, NULL);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        r = run_text(c, rows[i].body, (RunRequest){0});
        ok(r.outcome != OUTCOME_OK && r.transient == rows[i].transient && r.died == !rows[i].transient, "%s %s: %s",
           rows[i].body, rows[i].transient ? "comes from outside" : "is a fault", r.why);
    }
    if (SANITIZES_ADDRESSES)
        skip(1, no_limits);
    for (int threads = SANITIZES_ADDRESSES ? 100000 : 10000; threads <= 1000000; threads *= 10) {
        const char *body = "tensorc_parallel(add, a[2], 12); return 0;";
        r = run_text(c, body, (RunRequest){.threads = threads, .limit_bytes = (int64_t)1 << 30});
        ok(r.outcome == OUTCOME_BUILD_ERROR && r.transient && !r.died && r.unable == (threads > 16384),
           "%d threads, which have no room: %s", threads, r.why);
    }
    r = run_text(c, "return 0;", (RunRequest){0});
    is_int(r.outcome, OUTCOME_OK, "the next run works");
    runner_close(c->runner);
}

int main(int argc, char **argv) {
    if (argc == 3 && !strncmp(argv[1], "--between=", 10))
        return be_between(argv[1] + 10, argv[2]);
    Case c = {.arena = arena_new()};
    const char *why = "";
    c.program = program_matmul(c.arena, TYPE_FLOAT, 5, 7, 3);
    c.runner = runner_open(c.arena, NULL, forever, &why, NULL);
    if (!ok(c.runner != NULL, "a worker starts: %s", why))
        return done_testing();
    test_results(&c);
    test_contents(&c);
    test_faults(&c);
    test_damage(&c);
    runner_close(c.runner);
    test_orphan(&c);
    test_starts(&c);
    test_answers(&c);
    test_lock(&c);
    test_ends(&c);
    arena_free(c.arena);
    return done_testing();
}
