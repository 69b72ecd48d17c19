/* fuzz.c - random programs under random schedules at boundary sizes, against the interpreter.
 *
 *     fuzz [--cases=N] [--first=N] [--seed=S] [--jobs=N] [--time=SECONDS] [--objects=N]
 *          [--found=FOLDER] [--show=N] [--reduce=N] [--plant=X]
 *     fuzz [--seed=S] --case=N [--print]      one case, from its number
 *     fuzz FILE...                            cases from files, as --found has them
 *
 * Cases run in processes forked for a batch each, under limits of memory and time: whatever ends one is a fault of the
 * case at hand, and the batch goes on behind it. The first faults are reduced and saved. Exit status 0: no fault.
 */
#include "lang/files.h"
#include "fuzz.h"
#include "backends/backends.h"
#include "lang/clock.h"
#include "lang/sanitized.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    BATCH = 200,
    RECORDS = 64,
    JOB_LIMIT = 64,
    CASE_CPU_SECONDS = 20,
    CASE_SECONDS = 300,
    WHY_BYTES = 2000,
    FAULT_STATUS_BASE = 64
};
/* The sanitizer of addresses keeps a map of all memory, which any limit would forbid. */
static const rlim_t memory_limit = SANITIZES_ADDRESSES ? RLIM_INFINITY : (rlim_t)4 << 30;

typedef struct FuzzRecord {
    uint64_t number;
    Fault fault;
    char why[WHY_BYTES];
} FuzzRecord;

/* What a batch shares with its parent. */
typedef struct Slot {
    Counters counters;
    uint64_t current, end;
    char step[64];
    int record_count;
    FuzzRecord records[RECORDS];
} Slot;

typedef struct Worker {
    pid_t process; /* 0: none */
    Slot *slot;
    int errors; /* a file for what it says */
} Worker;

typedef struct Fuzzer {
    FuzzOptions options;
    uint64_t cases, next;
    double seconds, started;
    int jobs, reduce_limit, show_limit;
    const char *found;
    Counters total;
    LIST(FuzzRecord) records;
    Arena *arena;
    Worker workers[JOB_LIMIT];
} Fuzzer;

/* --- one case in this process ------------------------------------------------------------------------------------- */

static void limit_case(bool on) {
    struct itimerval cpu = {.it_value.tv_sec = on ? CASE_CPU_SECONDS : 0};
    struct itimerval wall = {.it_value.tv_sec = on ? CASE_SECONDS : 0};
    setitimer(ITIMER_PROF, &cpu, NULL);
    setitimer(ITIMER_REAL, &wall, NULL);
}

static void limit_memory(void) {
    struct rlimit limit = {memory_limit, memory_limit}, none = {0, 0};
    setrlimit(RLIMIT_AS, &limit);
    setrlimit(RLIMIT_CORE, &none);
}

static Fault run_number(const FuzzOptions *options, uint64_t number, Counters *counters, char *why) {
    Arena *arena = arena_new();
    const char *reason = NULL;
    const char *text = make_case(arena, options, number, counters);
    Fault fault = check_text(arena, text, options, counters, &reason);
    if (fault)
        snprintf(why, WHY_BYTES, "%s", reason ? reason : "");
    arena_free(arena);
    return fault;
}

/* --- batches ------------------------------------------------------------------------------------------------------ */

static void record(Slot *slot, uint64_t number, Fault fault, const char *why) {
    slot->counters.faults[fault]++;
    if (slot->record_count == RECORDS)
        return;
    FuzzRecord *r = &slot->records[slot->record_count++];
    r->number = number;
    r->fault = fault;
    snprintf(r->why, sizeof r->why, "%s", why);
}

static _Noreturn void run_batch(const FuzzOptions *options, Slot *slot) {
    char why[WHY_BYTES];
    limit_memory();
    for (; slot->current < slot->end; slot->current++) {
        limit_case(true);
        slot->counters.cases++;
        Fault fault = run_number(options, slot->current, &slot->counters, why);
        if (fault)
            record(slot, slot->current, fault, why);
    }
    _exit(0);
}

static void start_worker(Fuzzer *f, Worker *worker) {
    if (ftruncate(worker->errors, 0) || lseek(worker->errors, 0, SEEK_SET))
        abort();
    worker->process = fork();
    if (worker->process)
        return;
    dup2(worker->errors, 2);
    run_batch(&f->options, worker->slot);
}

static void start_batch(Fuzzer *f, Worker *worker) {
    memset(worker->slot, 0, sizeof *worker->slot);
    worker->slot->current = f->next;
    uint64_t end = f->next + BATCH;
    worker->slot->end = f->next = end < f->cases ? end : f->cases;
    start_worker(f, worker);
}

static const char *worker_words(Arena *arena, int errors) {
    char text[WHY_BYTES];
    ssize_t length = pread(errors, text, sizeof text - 1, 0);
    return arena_strndup(arena, text, length > 0 ? (size_t)length : 0);
}

/* How a process that did not come back ended. */
static Fault fault_of_status(int status) {
    if (WIFSIGNALED(status))
        return WTERMSIG(status) == SIGPROF || WTERMSIG(status) == SIGALRM ? FAULT_TIMEOUT : FAULT_CRASH;
    int code = WEXITSTATUS(status);
    return code >= FAULT_STATUS_BASE && code < FAULT_STATUS_BASE + FAULT_COUNT ? (Fault)(code - FAULT_STATUS_BASE)
           : code                                                              ? FAULT_INTERNAL
                                                                               : FAULT_NONE;
}

static void gather(Fuzzer *f, Worker *worker) {
    counters_add(&f->total, &worker->slot->counters);
    for (int i = 0; i < worker->slot->record_count; i++)
        list_push(f->arena, &f->records, worker->slot->records[i]);
}

/* A batch that ended early goes on behind the case that ended it. */
static void finish_worker(Fuzzer *f, Worker *worker, int status) {
    Slot *slot = worker->slot;
    Fault fault = fault_of_status(status);
    worker->process = 0;
    if (fault) {
        const char *signal = WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "";
        record(slot, slot->current, fault,
               arena_printf(f->arena, "%s\n%s", signal, worker_words(f->arena, worker->errors)));
        slot->current++;
        if (slot->current < slot->end) {
            start_worker(f, worker);
            return;
        }
    }
    gather(f, worker);
}

static bool goes_on(const Fuzzer *f) {
    return f->next < f->cases && (!f->seconds || monotonic_seconds() - f->started < f->seconds);
}

static void run_all(Fuzzer *f) {
    int running = 0;
    for (int w = 0; w < f->jobs; w++) {
        f->workers[w].slot = mmap(NULL, sizeof(Slot), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        f->workers[w].errors = fileno(tmpfile());
        if (goes_on(f))
            start_batch(f, &f->workers[w]);
        running += f->workers[w].process != 0;
    }
    while (running > 0) {
        int status;
        pid_t process = waitpid(-1, &status, 0);
        for (int w = 0; w < f->jobs; w++) {
            Worker *worker = &f->workers[w];
            if (worker->process != process)
                continue;
            finish_worker(f, worker, status);
            if (!worker->process && goes_on(f))
                start_batch(f, worker);
            running -= worker->process == 0;
        }
    }
}

/* --- texts in processes of their own ------------------------------------------------------------------------------ */

static _Noreturn void try_here(const FuzzOptions *options, const char *text, int words) {
    const char *why = NULL;
    dup2(words, 2);
    limit_memory();
    limit_case(true);
    Fault fault = check_text(arena_new(), text, options, NULL, &why);
    if (fault && why)
        dprintf(words, "%s\n", why);
    _exit(fault ? FAULT_STATUS_BASE + (int)fault : 0);
}

/* Refusals are the same fault only where they say the same: the words up to what is quoted. */
typedef struct Trying {
    const FuzzOptions *options;
    Arena *arena;
    const char *refusal;
} Trying;

static const char *refusal_words(Arena *arena, const char *why) {
    const char *at = why ? strstr(why, "error: ") : NULL;
    return at ? arena_strndup(arena, at, strcspn(at, "'0123456789\n")) : "";
}

static int status_at_end(pid_t process) {
    int status;
    while (waitpid(process, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}

static Fault try_text(void *context, const char *text, const char **why) {
    Trying *trying = context;
    FILE *words = tmpfile();
    fflush(NULL);
    pid_t process = fork();
    if (!process)
        try_here(trying->options, text, fileno(words));
    int status = status_at_end(process);
    *why = worker_words(trying->arena, fileno(words));
    fclose(words);
    Fault fault = fault_of_status(status);
    if (fault == FAULT_REFUSED && trying->refusal && strcmp(refusal_words(trying->arena, *why), trying->refusal))
        return FAULT_NONE;
    return fault;
}

static void save(const Fuzzer *f, const FuzzRecord *r, const char *text) {
    char path[4200];
    if (!f->found || (mkdir(f->found, 0777) && errno != EEXIST))
        return;
    snprintf(path, sizeof path, "%s/%llu-%llu.tensor", f->found, (unsigned long long)f->options.seed,
             (unsigned long long)r->number);
    if (write_whole(path, text, strlen(text)))
        printf("saved as %s\n", path);
}

static const char *stream_text(Arena *arena, FILE *file) {
    Text text = {.arena = arena};
    char bytes[4096];
    for (size_t got; (got = fread(bytes, 1, sizeof bytes, file)) > 0;)
        text_add_bytes(&text, bytes, got);
    return text.text ? text.text : "";
}

/* The text of a case, made in a process of its own, which the fault may end; NULL then. */
static const char *made_text(Fuzzer *f, Arena *arena, uint64_t number) {
    FILE *file = tmpfile();
    fflush(NULL);
    pid_t process = fork();
    if (!process) {
        limit_memory();
        limit_case(true);
        fputs(make_case(arena, &f->options, number, NULL), file);
        fflush(file);
        _exit(0);
    }
    int status = status_at_end(process);
    rewind(file);
    const char *text = status ? NULL : stream_text(arena, file);
    fclose(file);
    return text;
}

static void show(Fuzzer *f, const FuzzRecord *r) {
    Arena *arena = arena_new();
    Trying trying = {.options = &f->options, .arena = arena};
    printf("--- --seed=%llu --case=%llu: %s\n%s\n", (unsigned long long)f->options.seed, (unsigned long long)r->number,
           fault_names[r->fault], r->why);
    const char *why = "", *text = made_text(f, arena, r->number);
    if (text == NULL) {
        printf("the making of the case ends so, too\n");
        arena_free(arena);
        return;
    }
    Fault again = try_text(&trying, text, &why);
    trying.refusal = refusal_words(arena, why);
    if (again == r->fault && f->reduce_limit > 0)
        text = reduce_text(arena, text, r->fault, try_text, &trying, f->reduce_limit);
    else if (again != r->fault)
        printf("alone it is another fault: %s\n", fault_names[again]);
    try_text(&trying, text, &why);
    printf("%s%s\n", text, why);
    save(f, r, text);
    fflush(stdout);
    arena_free(arena);
}

/* --- the command line --------------------------------------------------------------------------------------------- */

static const char *option_value(const char *argument, const char *name) {
    size_t length = strlen(name);
    return !strncmp(argument, name, length) ? argument + length : NULL;
}

static const char *file_text(Arena *arena, const char *path) {
    FILE *file = fopen(path, "r");
    const char *text = file ? stream_text(arena, file) : "";
    if (!*text) {
        fprintf(stderr, "fuzz: cannot read '%s'\n", path);
        exit(2);
    }
    fclose(file);
    return text;
}

static int run_files(const FuzzOptions *options, char **paths, int count) {
    int faults = 0;
    for (int i = 0; i < count; i++) {
        Arena *arena = arena_new();
        Trying trying = {.options = options, .arena = arena};
        const char *why = "";
        Fault fault = try_text(&trying, file_text(arena, paths[i]), &why);
        if (fault)
            printf("%s: %s\n%s\n", paths[i], fault_names[fault], why);
        faults += fault != FAULT_NONE;
        arena_free(arena);
    }
    return faults > 0;
}

static int report(Fuzzer *f) {
    struct rusage usage;
    getrusage(RUSAGE_CHILDREN, &usage);
    double cpu = (double)usage.ru_utime.tv_sec + (double)usage.ru_stime.tv_sec +
                 1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
    int64_t faults = 0;
    for (int i = 1; i < FAULT_COUNT; i++)
        faults += f->total.faults[i];
    for (int i = 0; i < f->records.count && i < f->show_limit; i++)
        show(f, &f->records.items[i]);
    counters_print(&f->total, cpu, stdout);
    printf("seed %llu: cases 0 to %llu, %.1f seconds\n", (unsigned long long)f->options.seed,
           (unsigned long long)f->next, monotonic_seconds() - f->started);
    return faults > 0;
}

typedef struct CommandLine {
    bool one, print;
    int file_count;
    char **files;
} CommandLine;

static void read_option(Fuzzer *f, CommandLine *line, const char *argument) {
    const char *value;
    if ((value = option_value(argument, "--cases=")))
        f->cases = strtoull(value, NULL, 10);
    else if ((value = option_value(argument, "--seed=")))
        f->options.seed = strtoull(value, NULL, 10);
    else if ((value = option_value(argument, "--jobs=")))
        f->jobs = atoi(value) < 1 ? 1 : atoi(value) > JOB_LIMIT ? JOB_LIMIT : atoi(value);
    else if ((value = option_value(argument, "--time=")))
        f->seconds = atof(value);
    else if ((value = option_value(argument, "--objects=")))
        f->options.object_every = atoi(value);
    else if ((value = option_value(argument, "--found=")))
        f->found = value;
    else if ((value = option_value(argument, "--reduce=")))
        f->reduce_limit = atoi(value);
    else if ((value = option_value(argument, "--show=")))
        f->show_limit = atoi(value);
    else if ((value = option_value(argument, "--plant=")))
        f->options.plant = value;
    else if ((value = option_value(argument, "--first=")))
        f->next = strtoull(value, NULL, 10);
    else if (!strcmp(argument, "--print"))
        line->print = true;
    else if ((value = option_value(argument, "--case="))) {
        f->next = strtoull(value, NULL, 10);
        line->one = true;
    } else {
        fprintf(stderr, "fuzz: unknown option '%s'\n", argument);
        exit(2);
    }
}

int main(int argc, char **argv) {
    static Fuzzer f = {.options = {.seed = 1, .object_every = 40, .forms = {.tuples = true, .files = true}},
                       .cases = 1000,
                       .jobs = 1,
                       .reduce_limit = 3000,
                       .show_limit = 10};
    CommandLine line = {.files = argv};
    f.arena = arena_new();
    f.started = monotonic_seconds();
    arrays_folder();
    atexit(arrays_remove);
    for (int i = 1; i < argc; i++)
        if (!strncmp(argv[i], "--", 2))
            read_option(&f, &line, argv[i]);
        else
            line.files[line.file_count++] = argv[i];
    if (line.file_count)
        return run_files(&f.options, line.files, line.file_count);
    if (line.print) {
        fputs(make_case(f.arena, &f.options, f.next, NULL), stdout);
        return 0;
    }
    f.cases = line.one ? f.next + 1 : f.next + f.cases;
    target_make(f.arena, "host", 1); /* LLVM looks at the machine once, not in every process */
    run_all(&f);
    return report(&f);
}
