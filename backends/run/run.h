/* run.h - the door of running what was emitted: in worker processes, by the tuner's toolchains, or once. */
#ifndef BACKENDS_RUN_RUN_H
#define BACKENDS_RUN_RUN_H

#include "autosched/autosched.h"
#include "backends/emit/emit.h"
#include "backends/run/worker_process.h"

/* One call of a function of an object: loaded by our own loader into a worker process, never into the compiler. */
typedef struct RunRequest {
    const void *object;
    size_t object_bytes;
    const struct Contents *const *constants; /* that the object leaves out */
    int constant_count;
    const Program *program; /* whose arguments they are */
    const char *symbol;     /* of the function; NULL: the program's */
    const char *runner;     /* of run_object: the command that starts its worker, or NULL: local */
    const int64_t *sizes;   /* values of program->sizes */
    void *const *inputs;    /* data of each argument, NULL: made from the seed on the worker's side */
    uint64_t seed;
    int threads;
    double min_seconds; /* repeat until then */
    int max_repeats;
    double steady;        /* the fastest calls' difference, a part of their time, at which repeating may end; or 0 */
    double stop_seconds;  /* what takes longer is hardly repeated; 0: no such limit */
    double limit_seconds; /* wall clock, kill after */
    const volatile int *stop; /* becomes non-zero: kill and return; or NULL */
    int64_t limit_bytes;
    void **outputs;   /* [argument_count] where to put whole outputs, or NULL */
    int sample_count; /* points of outputs to bring back: argument and element offset */
    const struct SamplePoint {
        int argument;
        int64_t element;
    } * samples;
    uint8_t *sample_bytes; /* 8 bytes a sample */
} RunRequest;

typedef struct RunResult {
    Outcome outcome;
    const char *why;
    bool transient; /* the failure is the machine's, not the object's */
    bool unable;    /* nothing can run: no worker starts, or there is no memory for the arguments; transient, too */
    bool died;      /* the worker ended, or answered nonsense: of the object, if others do well there */
    int status;     /* what the function returned */
    double seconds; /* of one call: the lower quartile of the repeats, for what disturbs a run only ever adds time */
    double minimum, spread;
    int repeats;
} RunResult;

/* A worker process that runs one object after the other; started again whenever one took it down. command: a shell
 * command that starts tensorc-worker elsewhere, or NULL for this machine. NULL with *why where none answers;
 * *transient (or NULL): for want of processes or of time. */
typedef struct Runner Runner;
Runner *runner_open(Arena *arena, const char *command, Patience patience, const char **why, bool *transient);
void runner_run(Runner *runner, Arena *arena, const RunRequest *request, RunResult *result);
void runner_close(Runner *runner);
/* One run in a worker of its own. */
void run_object(Arena *arena, const RunRequest *request, RunResult *result);
/* The range of the random values that an integer argument gets: small numbers, and for what is used as an index in a
 * gather the indices that are in range. sizes: values of program->sizes. */
void argument_range(const Program *program, const int64_t *sizes, int argument, int64_t *low, int64_t *high);
/* Of all arguments together; HUGE_VAL: more than can be counted. */
double arguments_bytes(const Program *program, const int64_t *sizes);
/* That this machine has, or this process may have. */
double memory_bytes(void);
int64_t argument_elements(const Program *program, const int64_t *sizes, int argument); /* -1: overflows */
/* Contents of an argument's buffer, the same here and in the worker (outputs get some too: what was there before). */
void argument_fill(const Program *program, const int64_t *sizes, int argument, uint64_t seed, void *data);
/* tensorc-worker's main loop, also `tensorc --worker`: requests on standard input, answers on standard output. */
int worker_main(int argc, char **argv);

/* Toolchains for the searches over programs of one function, the first as it is written: they share build processes,
 * forked for the first candidates, a worker process to run in, and the check points, whose values come from the
 * interpreter. Closing kills and reaps every process. NULL with *why where nothing can be measured; *transient:
 * another time it may, or these programs never can. */
typedef struct ToolchainOptions {
    const Backend *backend; /* makes the candidates */
    int jobs, threads;
    uint64_t seed;
    bool strict;
    const char *runner;  /* --runner=CMD, or NULL: local */
    void *const *inputs; /* contents of arguments, NULL for those made from the seed; NULL: all are */
    const volatile int *stop;
    bool *locks_warned; /* whether it was said that nothing is kept apart; or NULL */
    double deadline; /* a monotonic time when nothing is waited for any more; 0: none */
} ToolchainOptions;
/* So many of the jobs that are wanted as the system's limits allow, which are raised as far as may be; *why: what
 * allows no more, or NULL. */
int build_jobs(Arena *arena, int wanted, const char **why);
Toolchain *const *toolchains_open(Arena *arena, Program *const *programs, int count, const Target *target,
                                  const ToolchainOptions *options, const char **why, bool *transient);
void toolchains_close(Toolchain *const *toolchains);

#endif
