/* labels.c - how far the times that a tuning records can be trusted: the same schedules, measured by two searches while
 * other processes compute, and by one before that on the machine as it is.
 *
 * usage: labels [SCHEDULES [PROCESSES [THREADS...]]]    default: 100 schedules, 8 processes, 1 and 2 threads
 * With LABELS_ALL in the environment also a line for each measurement and each record.
 *
 * A line for each number of threads: how many of the pairs of schedules of a program both searches put in the same
 * order, which is the most that a cost model could reach, and of the pairs whose times
 * differ by a tenth without load; how many records are more than 5 and 50 times off the least
 * time known; how many schedules have no record; how long a search took. The builds are made once for all searches.
 */
#include "autosched/autosched.h"
#include "backends/backends.h"
#include "lang/clock.h"
#include "tests/unit/programs.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SEARCHES = 3, MOST_LOAD = 256 }; /* the first one without load */

static void quit(const char *what) {
    fprintf(stderr, "labels: %s\n", what);
    exit(1);
}

/* --- a toolchain that builds each schedule once --- */

typedef struct Build {
    const char *text;
    Candidate *candidate; /* keeps what was built */
} Build;

typedef struct Shelf {
    Toolchain toolchain;
    const Toolchain *real;
    Arena *arena;
    LIST(Build) builds;
    LIST(Candidate *) ready;
    int next;
} Shelf;

static const char *text_of(Arena *arena, const Schedule *schedule) {
    Text text = {.arena = arena};
    text_add(&text, " ");
    schedule_print_statements(&text, schedule);
    return text.text;
}

static const Candidate *find_build(const Shelf *shelf, const char *text) {
    for (int i = 0; i < shelf->builds.count; i++)
        if (strcmp(shelf->builds.items[i].text, text) == 0)
            return shelf->builds.items[i].candidate;
    return NULL;
}

static const Candidate *build(Shelf *shelf, const char *text, const Schedule *schedule) {
    Candidate *candidate = ARENA_NEW(shelf->arena, Candidate);
    *candidate = (Candidate){.id = shelf->builds.count, .schedule = schedule};
    shelf->real->submit(shelf->real->context, candidate);
    if (shelf->real->collect(shelf->real->context, true) != candidate)
        quit("a build has no end");
    list_push(shelf->arena, &shelf->builds, ((Build){text, candidate}));
    return candidate;
}

static void submit(void *context, Candidate *candidate) {
    Shelf *shelf = context;
    const char *text = text_of(shelf->arena, candidate->schedule);
    const Candidate *built = find_build(shelf, text);
    built = built ? built : build(shelf, text, candidate->schedule);
    candidate->outcome = built->outcome;
    candidate->why = built->why;
    candidate->object = built->object;
    candidate->object_bytes = built->object_bytes;
    list_push(shelf->arena, &shelf->ready, candidate);
}

static Candidate *collect(void *context, bool wait) {
    Shelf *shelf = context;
    return shelf->next < shelf->ready.count ? shelf->ready.items[shelf->next++] : NULL;
}

static void measure(void *context, Candidate *candidate, double limit_seconds, bool thorough) {
    const Toolchain *real = ((Shelf *)context)->real;
    real->measure(real->context, candidate, limit_seconds, thorough);
    const Disturbance *d = &candidate->disturbance;
    if (getenv("LABELS_ALL"))
        printf("  %d: %.1f us, spread %.2f, %d of %d undisturbed, %d switches, processor %.2f, steal %.2f%s\n",
               candidate->id, 1e6 * candidate->seconds, candidate->spread, d->undisturbed, candidate->repeats,
               d->switches, d->processor_part, d->steal, candidate->transient ? ", given up" : "");
}

static void keep(void *context, Candidate *candidate) {
}

/* --- load --- */

static void start_load(pid_t *load, int count) {
    for (int i = 0; i < count; i++) {
        load[i] = fork();
        if (load[i])
            continue;
        setsid(); /* as processes of other users: the system shares the processors among sessions first */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (volatile unsigned turn = 0;; turn++)
            ;
    }
}

static void end_load(const pid_t *load, int count) {
    for (int i = 0; i < count; i++)
        if (load[i] > 0) {
            kill(load[i], SIGKILL);
            waitpid(load[i], NULL, 0);
        }
}

/* --- searches --- */

typedef struct Found {
    int count;
    Record *records;
    double seconds; /* that the search took */
} Found;

static Found search(Arena *arena, Shelf *shelf, const Program *program, const Target *target, int trials) {
    const char *why = "";
    Database *database = database_open(arena, ":memory:", &why, NULL);
    TuneOptions options = {
        .trials = trials, .search = "random", .cost_model = "none", .seed = 3, .threads = target->threads};
    double since = monotonic_seconds();
    if (!database)
        quit(why);
    Tuner *tuner = tuner_new(arena, program, target, NULL, &shelf->toolchain, database, &options);
    tuner_search(tuner, trials, 0);
    tuner_finish(tuner);
    Found found = {.seconds = monotonic_seconds() - since};
    found.count = database_find(arena, database, task_hash(arena, program), database_target(target), target->threads,
                                &found.records);
    database_close(database);
    return found;
}

/* --- figures --- */

typedef struct Figures {
    double pairs, agreed, apart, apart_agreed, records, off5, off50, missing, seconds;
} Figures;

static double seconds_in(const Found *found, const char *schedule) {
    for (int r = 0; r < found->count; r++)
        if (found->records[r].outcome == OUTCOME_OK && strcmp(found->records[r].schedule, schedule) == 0)
            return found->records[r].seconds;
    return 0;
}

static void count_errors(const Found *found, int schedule, int trials, Figures *figures) {
    const char *text = found[0].records[schedule].schedule;
    double least = HUGE_VAL;
    for (int s = 0; s < SEARCHES; s++)
        least = fmin(least, seconds_in(&found[s], text) > 0 ? seconds_in(&found[s], text) : HUGE_VAL);
    for (int s = 1; s < SEARCHES; s++) {
        double seconds = seconds_in(&found[s], text);
        figures->records += seconds > 0;
        figures->missing += seconds <= 0;
        figures->off5 += seconds > 5 * least;
        figures->off50 += seconds > 50 * least;
        if (getenv("LABELS_ALL") && seconds != 0)
            printf("    %10.1f us alone, %10.1f, ratio %.2f\n", 1e6 * seconds_in(&found[0], text), 1e6 * seconds,
                   seconds / least);
    }
}

static void count_pairs(const Found *found, Figures *figures) {
    for (int i = 0; i < found[1].count; i++)
        for (int j = 0; j < i; j++) {
            const char *a = found[1].records[i].schedule, *b = found[1].records[j].schedule;
            double first = seconds_in(&found[1], a) - seconds_in(&found[1], b);
            bool both = seconds_in(&found[1], a) > 0 && seconds_in(&found[1], b) > 0;
            both &= seconds_in(&found[2], a) > 0 && seconds_in(&found[2], b) > 0;
            bool agreed = both && first * (seconds_in(&found[2], a) - seconds_in(&found[2], b)) > 0;
            bool apart = both && fabs(seconds_in(&found[0], a) - seconds_in(&found[0], b)) >
                                     0.1 * fmin(seconds_in(&found[0], a), seconds_in(&found[0], b));
            figures->pairs += both;
            figures->agreed += agreed;
            figures->apart += apart;
            figures->apart_agreed += apart && agreed;
        }
}

static void add_program(Arena *arena, Program *program, const Target *target, int trials, int load, Figures *figures) {
    ToolchainOptions options = {.backend = backend_of(target), .jobs = 1, .threads = target->threads, .seed = 3};
    const char *why = "";
    bool transient;
    Program *programs[] = {program};
    pid_t busy[MOST_LOAD];
    Found found[SEARCHES];
    Toolchain *const *toolchains = toolchains_open(arena, programs, 1, target, &options, &why, &transient);
    if (!toolchains)
        quit(why);
    Shelf shelf = {.arena = arena, .real = toolchains[0]};
    shelf.toolchain = (Toolchain){
        .context = &shelf, .jobs = 1, .submit = submit, .collect = collect, .measure = measure, .release = keep};
    found[0] = search(arena, &shelf, program, target, trials);
    start_load(busy, load);
    for (int s = 1; s < SEARCHES; s++) {
        found[s] = search(arena, &shelf, program, target, trials);
        figures->seconds += found[s].seconds / (SEARCHES - 1);
    }
    end_load(busy, load);
    for (int r = 0; r < found[0].count; r++)
        if (found[0].records[r].outcome == OUTCOME_OK)
            count_errors(found, r, trials, figures);
    count_pairs(found, figures);
    toolchains_close(toolchains);
}

static void report(Arena *arena, int trials, int load, int threads) {
    const Target *target = target_make(arena, "host", threads);
    Program *programs[] = {
        program_matmul(arena, TYPE_FLOAT, 128, 128, 128),
        program_conv_chain(arena, TYPE_FLOAT, (ConvShape){1, 32, 28, 28, 48, 3, 3, 1, 1, 1}),
        program_conv2d(arena, TYPE_FLOAT, (ConvShape){1, 1, 258, 258, 1, 3, 3, 1, 0, 1}),
    };
    Figures sum = {0};
    int count = sizeof programs / sizeof *programs;
    for (int p = 0; p < count; p++)
        add_program(arena, programs[p], target, trials * (p + 1) / count - trials * p / count, load, &sum);
    printf("%d threads, %d processes beside: %.3f of %.0f pairs agree, %.3f of those a tenth apart; of %.0f records "
           "%.1f %% are more than 5 times "
           "off, %.1f %% more than 50 times; %.0f have no record; a search of %d took %.1f s\n",
           threads, load, sum.pairs > 0 ? sum.agreed / sum.pairs : 0, sum.pairs,
           sum.apart > 0 ? sum.apart_agreed / sum.apart : 0, sum.records, 100 * sum.off5 / fmax(sum.records, 1),
           100 * sum.off50 / fmax(sum.records, 1), sum.missing, trials, sum.seconds);
    fflush(stdout);
}

int main(int argc, char **argv) {
    int trials = argc > 1 ? atoi(argv[1]) : 100, load = argc > 2 ? atoi(argv[2]) : 8;
    if (trials < 3 || load < 0 || load > MOST_LOAD)
        quit("usage: labels [SCHEDULES [PROCESSES [THREADS...]]]");
    for (int i = 3; i < (argc > 3 ? argc : 5); i++) {
        Arena *arena = arena_new();
        report(arena, trials, load, argc > 3 ? atoi(argv[i]) : i - 2);
        arena_free(arena);
    }
    return 0;
}
