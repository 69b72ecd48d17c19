/* worker_process.h - the process that runs candidates: started, spoken to in frames, ended; what it wrote as messages
 * is kept for whoever has to say why it ended.
 */
#ifndef BACKENDS_RUN_WORKER_PROCESS_H
#define BACKENDS_RUN_WORKER_PROCESS_H

#include "backends/run/wire.h"
#include "lang/arena.h"
#include <stdbool.h>
#include <sys/types.h>

enum { MESSAGE_BYTES = 2048 };

typedef struct WorkerProcess {
    const char *command; /* of a shell, that starts a worker elsewhere; NULL: the program */
    const char *program; /* path of tensorc-worker; NULL: this program with --worker */
    const char *self;    /* path of this program; NULL: not known */
    pid_t pid;           /* 0: none */
    int input, output;   /* of the worker, our ends */
    const char *name;    /* in words about waiting for it */
    bool greeted;        /* it has answered once */
    int errors;          /* what it writes to standard error; -1: closed */
    char messages[MESSAGE_BYTES];
    int message_bytes; /* the last of them */
} WorkerProcess;

/* How long something is waited for. */
typedef struct Patience {
    double deadline;          /* a monotonic time */
    const volatile int *stop; /* becomes non-zero: no longer; or NULL */
} Patience;

typedef enum Exchange { EXCHANGE_ANSWERED, EXCHANGE_ENDED, EXCHANGE_LATE } Exchange;

/* How a process ended. */
typedef struct Death {
    const char *why;
    bool fault; /* by a fault of the code that ran; false: by what came from outside */
} Death;

/* Of this program: the system's word for it, or, without /proc, the path that it was started by; NULL: neither is
 * known. */
const char *own_path(Arena *arena);
void worker_find(Arena *arena, WorkerProcess *process);
/* False with errno set. */
bool worker_start(WorkerProcess *process);
/* Sends the request and waits for an answer. ENDED: the process closed its ends; LATE: it may be at work still. */
Exchange worker_exchange(WorkerProcess *process, const Wire *request, Wire *answer, Patience patience);
/* Waits a moment for the end of one that has closed its ends. */
Death worker_death(Arena *arena, WorkerProcess *process);
void worker_kill(WorkerProcess *process);
void worker_end(WorkerProcess *process);
/* The last line that it wrote as a message, ": " before it; "" where there is none. */
const char *worker_last_message(Arena *arena, WorkerProcess *process);
/* Whether a signal tells of a fault of the code that ran, and not of somebody who ends processes. */
bool signal_is_fault(int signal);

#endif
