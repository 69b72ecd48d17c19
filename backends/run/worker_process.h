/* worker_process.h - the process that runs candidates: starting it, exchanging frames with it, ending it. What it
 * writes to standard error is kept, to explain why it ended.
 */
#ifndef BACKENDS_RUN_WORKER_PROCESS_H
#define BACKENDS_RUN_WORKER_PROCESS_H

#include "backends/run/wire.h"
#include "lang/arena.h"
#include <stdbool.h>
#include <sys/types.h>

enum { MESSAGE_BYTES = 2048, MESSAGE_LINES = 10 };

typedef struct WorkerProcess {
    const char *command; /* a shell command that starts a worker elsewhere; NULL: the program */
    const char *program; /* path of tensorc-worker; NULL: this program with --worker */
    const char *self;    /* path of this program; NULL: not known */
    pid_t pid;           /* 0: none */
    int input, output;   /* our ends of the worker's pipes */
    const char *name;    /* its name in messages about waiting */
    bool greeted;        /* it has answered once */
    int errors;          /* its standard error; -1: closed */
    char messages[MESSAGE_BYTES];
    int message_bytes; /* bytes of its last messages */
} WorkerProcess;

/* How long to wait. */
typedef struct Patience {
    double deadline;          /* a monotonic time */
    const volatile int *stop; /* becomes non-zero: wait no longer; or NULL */
} Patience;

typedef enum Exchange { EXCHANGE_ANSWERED, EXCHANGE_ENDED, EXCHANGE_LATE } Exchange;

/* How a process ended. */
typedef struct Death {
    const char *why;
    bool fault; /* by a fault of the code that ran; false: by something from outside */
} Death;

/* The path of this program from the system, or, without /proc, the path that started it; NULL: neither is known. */
const char *own_path(Arena *arena);
void worker_find(Arena *arena, WorkerProcess *process);
/* False with errno set. */
bool worker_start(WorkerProcess *process);
/* Sends the request and waits for an answer. ENDED: the process closed its ends; LATE: it may still be at work. */
Exchange worker_exchange(WorkerProcess *process, const Wire *request, Wire *answer, Patience patience);
/* Adds to an answer that is none what else is there now, about so many bytes in all. */
void worker_read_on(const WorkerProcess *process, Wire *answer, size_t bytes);
/* Waits briefly for the end of a process that closed its ends. What it wrote to standard error is not in the reason. */
Death worker_death(Arena *arena, WorkerProcess *process);
void worker_kill(WorkerProcess *process);
void worker_end(WorkerProcess *process);
/* The last line that it wrote to standard error, after ": "; "" if there is none. */
const char *worker_last_message(Arena *arena, WorkerProcess *process);
/* The last lines, joined, on one; the same where there is one. */
const char *worker_last_messages(Arena *arena, WorkerProcess *process);
/* Whether a signal means a fault of the code that ran, not that somebody ended the process. */
bool signal_is_fault(int signal);

#endif
