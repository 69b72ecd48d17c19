/* run.h - the door of running what was emitted: in worker processes, by the tuner's toolchains, or once. */
#ifndef BACKENDS_RUN_RUN_H
#define BACKENDS_RUN_RUN_H

#include "autosched/autosched.h"
#include "backends/emit/emit.h"
#include "backends/run/worker_process.h"

/* A call of a function of an object. Our own loader loads the object into a worker process, never into the compiler. */
typedef struct RunRequest {
    const void *object;
    size_t object_bytes;
    const struct Contents *const *constants; /* constants that the object leaves out */
    int constant_count;
    const Program *program; /* the program whose arguments these are */
    const char *symbol;     /* of the function; NULL: the program's */
    const char *runner;     /* for run_object: the command that starts its worker; NULL: a local one */
    const int64_t *sizes;   /* values of program->sizes */
    void *const *inputs;    /* data of each argument; NULL: made from the seed by the worker */
    uint64_t seed;
    int threads;
    double min_seconds; /* repeat for at least so long */
    int max_repeats;
    double steady;            /* repeating may end when the fastest calls differ by this part of their time; or 0 */
    double stop_seconds;      /* slower calls are hardly repeated; 0: no such limit */
    bool hasty;               /* calls that others disturb are not repeated for longer */
    double limit_seconds;     /* wall-clock limit, after which the worker is killed */
    const volatile int *stop; /* becomes non-zero: kill the worker and return; or NULL */
    int64_t limit_bytes;
    void **outputs;   /* [argument_count] destinations of whole outputs, or NULL */
    int sample_count; /* elements of outputs to bring back, by argument and element offset */
    const struct SamplePoint {
        int argument;
        int64_t element;
    } * samples;
    uint8_t *sample_bytes; /* 8 bytes for each sample */
} RunRequest;

typedef struct RunResult {
    Outcome outcome;
    const char *why;
    bool transient; /* a transient failure: the machine's, not the object's */
    bool unable;    /* transient, and nothing can run: no worker starts, or there is no memory for the arguments */
    bool died;      /* the worker ended or answered nonsense: the object's fault if others do well there */
    int status;     /* what the function returned */
    double seconds; /* of one call: the lower quartile of those that nothing disturbed, or else of all */
    double minimum, spread;
    int repeats;
    Disturbance disturbance;
} RunResult;

/* A worker process that runs one object after another, restarted when an object ends it. command: a shell command that
 * starts tensorc-worker elsewhere, or NULL for this machine. NULL with *why if no worker answers; *transient (or NULL)
 * tells whether processes or time were short. */
typedef struct Runner Runner;
Runner *runner_open(Arena *arena, const char *command, Patience patience, const char **why, bool *transient);
void runner_run(Runner *runner, Arena *arena, const RunRequest *request, RunResult *result);
void runner_close(Runner *runner);
/* How the objects of a backend run; Backend.runner. */
typedef struct RunnerKind {
    Runner *(*open)(Arena *arena, const char *command, Patience patience, const char **why, bool *transient);
    void (*run)(Runner *runner, Arena *arena, const RunRequest *request, RunResult *result);
    void (*close)(Runner *runner); /* NULL: nothing to do */
} RunnerKind;
extern const RunnerKind worker_runner; /* the functions above */
/* One run by a runner of its own. */
void run_object(const RunnerKind *kind, Arena *arena, const RunRequest *request, RunResult *result);
/* The range of the random values of an integer argument: small numbers, or, for indices of a gather, those in range.
 * sizes: values of program->sizes. */
void argument_range(const Program *program, const int64_t *sizes, int argument, int64_t *low, int64_t *high);
/* The bytes of all arguments together; HUGE_VAL: too many to count. */
double arguments_bytes(const Program *program, const int64_t *sizes);
/* The memory that this machine has, or that this process may use. */
double memory_bytes(void);
int64_t argument_elements(const Program *program, const int64_t *sizes, int argument); /* -1: overflows */
/* Fills an argument's buffer, the same way here and in the worker. Outputs get contents too: what was there before. */
void argument_fill(const Program *program, const int64_t *sizes, int argument, uint64_t seed, void *data);
/* The main loop of tensorc-worker and `tensorc --worker`: requests on standard input, answers on standard output. */
int worker_main(int argc, char **argv);

/* What the values at the check points of a long function come from: its meaning with more outputs (program_exposed),
 * and a schedule of that. */
typedef struct ReferenceProgram {
    Program *program;
    const Schedule *schedule;
} ReferenceProgram;

/* Toolchains for the searches over the programs of one function; the first program is the one as written. They share
 * the build processes, forked for the first candidates, a worker process, and the check points, whose values come from
 * the reference, or else from the interpreter. Closing kills and reaps every process. NULL with *why if nothing can be
 * measured; *transient: at another time it may be possible. */
typedef struct ToolchainOptions {
    const Backend *backend; /* makes the candidates */
    int jobs, threads;
    uint64_t seed;
    bool strict;
    const char *runner;  /* --runner=CMD, or NULL: local */
    void *const *inputs; /* contents of arguments; NULL elements are made from the seed; NULL: all are */
    const char *given;   /* names the files of inputs; or NULL */
    const ReferenceProgram *reference;
    bool verbose;
    const volatile int *stop;
    bool *locks_warned; /* whether the warning was given that no locks keep anything apart; or NULL */
    bool *answered;     /* whether the runner has answered before, in this process; or NULL */
    double deadline;    /* a monotonic time after which nothing is waited for; 0: none */
} ToolchainOptions;
/* How many of the wanted jobs the system's limits allow, after raising the limits as far as possible. *why: what allows
 * no more, or NULL. */
int build_jobs(Arena *arena, int wanted, const char **why);
Toolchain *const *toolchains_open(Arena *arena, Program *const *programs, int count, const Target *target,
                                  const ToolchainOptions *options, const char **why, bool *transient);
void toolchains_close(Toolchain *const *toolchains);

#endif
