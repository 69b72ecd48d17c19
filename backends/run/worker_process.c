/* worker_process.c - see worker_process.h.
 *
 * The worker has its own process group, so that Ctrl-C reaches the compiler alone and a kill reaches whatever the
 * candidate started; and its own session, since Linux shares the processors among sessions first (sched_autogroup), so
 * that it waits less where others compute. A command keeps its terminal, on which it may ask for a password. Nothing
 * that a worker does or fails to do, such as reading, blocks the compiler.
 */
#include "backends/run/worker_process.h"
#include "lang/child.h"
#include "lang/clock.h"
#include "lang/terminal.h"
#include "lang/waiting.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SHELL_SIGNALS = 128 }; /* a shell adds this to the signal that ended its command */
static const double death_seconds = 0.5;

/* --- which program --- */

const char *own_path(Arena *arena) {
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length > 0)
        return arena_strndup(arena, path, (size_t)length);
#ifdef AT_EXECFN
    const char *started = (const char *)getauxval(AT_EXECFN);
    if (started && realpath(started, path))
        return arena_strdup(arena, path);
#endif
    return NULL;
}

void worker_find(Arena *arena, WorkerProcess *process) {
    const char *named = getenv("TENSORC_WORKER");
    process->self = own_path(arena);
    process->program = named && *named ? arena_strdup(arena, named) : NULL;
    int length = process->self ? (int)strlen(process->self) : 0;
    for (int up = 0; length > 0 && up < 3 && !process->program; up++) {
        while (length > 0 && process->self[length - 1] != '/')
            length--;
        const char *candidate = arena_printf(arena, "%.*stensorc-worker", length, process->self);
        if (!access(candidate, X_OK))
            process->program = candidate;
        length--;
    }
}

/* --- starting --- */

/* A guard that ends what a command has started when the compiler ends, however that happens: only the compiler can
 * write to the request's pipe, and the guard waits for the end of that. It ends with its group. */
static void guard_group(const int ends[3]) {
    if (fork())
        return;
    dup2(ends[0], STDIN_FILENO);
    closefrom(STDIN_FILENO + 1); /* includes the compiler's end of that pipe */
    struct pollfd closed = {.fd = STDIN_FILENO};
    while (poll(&closed, 1, -1) <= 0)
        continue;
    kill(0, SIGKILL);
    _exit(0);
}

static _Noreturn void become_worker(const WorkerProcess *process, const int ends[3], pid_t compiler) {
    if (process->command)
        setpgid(0, 0);
    else
        setsid();
    child_begin(compiler);
    int apart[3]; /* above their final numbers, so that none closes another or is closed by the next program */
    for (int i = 0; i < 3; i++)
        apart[i] = fcntl(ends[i], F_DUPFD_CLOEXEC, 3);
    for (int i = 0; i < 3; i++)
        dup2(apart[i], i);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_DFL);
    signal(SIGALRM, SIG_DFL);
    const char *self = process->self ? process->self : "/proc/self/exe";
    if (process->command)
        guard_group(apart);
    if (process->command)
        execl("/bin/sh", "sh", "-c", process->command, (char *)NULL);
    else if (process->program)
        execl(process->program, "tensorc-worker", (char *)NULL);
    else
        execl(self, "tensorc", "--worker", (char *)NULL);
    dprintf(STDERR_FILENO, "%s\n", strerror(errno));
    _exit(127);
}

/* Opens pairs for standard input, output and error of the worker, none of them one of ours. False, with errno set: none
 * is open. */
static bool open_ends(int request[2], int answer[2], int errors[2]) {
    if (!wire_open(request, answer))
        return false;
    if (!pipe2(errors, O_CLOEXEC | O_NONBLOCK)) {
        fcntl(request[1], F_SETFL, O_NONBLOCK);
        fcntl(answer[0], F_SETFL, O_NONBLOCK);
        fcntl(errors[1], F_SETFL, 0);
        return true;
    }
    for (int i = 0; i < 2; i++) {
        close(request[i]);
        close(answer[i]);
    }
    return false;
}

bool worker_start(WorkerProcess *process) {
    int request[2], answer[2], errors[2];
    process->message_bytes = 0;
    process->greeted = false;
    if (!open_ends(request, answer, errors))
        return false;
    process->input = request[1];
    process->output = answer[0];
    process->errors = errors[0];
    pid_t compiler = getpid();
    process->pid = fork();
    if (!process->pid)
        become_worker(process, (int[]){request[0], answer[1], errors[1]}, compiler);
    int error = errno;
    close(request[0]);
    close(answer[1]);
    close(errors[1]);
    if (process->pid > 0) {
        if (process->command) /* who leads a group already could not begin a session */
            setpgid(process->pid, process->pid);
        return true;
    }
    close(request[1]);
    close(answer[0]);
    close(errors[0]);
    process->pid = 0;
    errno = error;
    return false;
}

/* --- messages --- */

/* Keeps the last messages. */
static void keep_messages(WorkerProcess *process, const char *bytes, int count) {
    int kept = process->message_bytes, room = MESSAGE_BYTES - count;
    if (kept > room) {
        memmove(process->messages, process->messages + kept - room, (size_t)room);
        kept = room;
    }
    memcpy(process->messages + kept, bytes, (size_t)count);
    process->message_bytes = kept + count;
}

/* Reads the messages that are there now. */
static void read_messages(WorkerProcess *process) {
    char bytes[MESSAGE_BYTES / 2];
    for (int reads = 0; process->errors >= 0 && reads < 16; reads++) {
        ssize_t got = read(process->errors, bytes, sizeof bytes);
        if (got > 0)
            keep_messages(process, bytes, (int)got);
        else if (got < 0 && errno == EINTR)
            continue;
        else if (got < 0 && errno == EAGAIN)
            return;
        else {
            close(process->errors);
            process->errors = -1;
        }
    }
}

static bool is_blank(char letter) {
    return (unsigned char)letter <= ' ';
}

/* The line that ends at *end, in the arena; *end goes to its beginning. Lines without words are left out. NULL: there
 * is none. */
static char *take_last_line(Arena *arena, const WorkerProcess *process, int *end) {
    const char *text = process->messages;
    int last = *end, begin;
    while (last > 0 && is_blank(text[last - 1]))
        last--;
    for (begin = last; begin > 0 && text[begin - 1] != '\n'; begin--)
        continue;
    *end = begin;
    return last ? arena_printf(arena, "%.*s", last - begin, text + begin) : NULL;
}

const char *worker_last_message(Arena *arena, WorkerProcess *process) {
    int end = process->message_bytes;
    char *line = take_last_line(arena, process, &end);
    for (char *at = line; at && *at; at++)
        if ((unsigned char)*at < ' ' || *at == 127)
            *at = '?';
    return line ? arena_printf(arena, ": %s", line) : "";
}

const char *worker_last_messages(Arena *arena, WorkerProcess *process) {
    const char *lines = "", *line;
    int end = process->message_bytes, count = 0;
    while (count < MESSAGE_LINES && (line = take_last_line(arena, process, &end))) {
        lines = arena_printf(arena, "%s%s%s", shown_line(arena, line), count ? " | " : "", lines);
        count++;
    }
    return count > 1 ? arena_printf(arena, "; it wrote: %s", lines) : worker_last_message(arena, process);
}

/* --- speaking --- */

typedef struct Sending {
    const Wire *request;
    int64_t length; /* sent before the bytes */
    size_t sent;
} Sending;

static bool is_sent(const Sending *sending) {
    return sending->sent == sizeof sending->length + sending->request->length;
}

/* Sends as much as there is room for. False: nobody reads it any more. */
static bool send_some(Sending *sending, int descriptor) {
    size_t head = sizeof sending->length;
    while (!is_sent(sending)) {
        bool first = sending->sent < head;
        const char *from = first ? (const char *)&sending->length + sending->sent
                                 : (const char *)sending->request->bytes + (sending->sent - head);
        size_t left = first ? head - sending->sent : head + sending->request->length - sending->sent;
        ssize_t done = write(descriptor, from, left);
        if (done < 0 && errno == EAGAIN)
            return true;
        if (done < 0 && errno != EINTR)
            return false;
        sending->sent += done > 0 ? (size_t)done : 0;
    }
    return true;
}

/* Waits once, for whatever comes first. False: the process closed its ends. */
static bool listen_and_speak(WorkerProcess *process, Sending *sending, Wire *answer, int milliseconds, bool *complete) {
    struct pollfd ready[] = {{.fd = process->output, .events = POLLIN},
                             {.fd = process->errors, .events = POLLIN},
                             {.fd = is_sent(sending) ? -1 : process->input, .events = POLLOUT}};
    int count = poll(ready, 3, milliseconds);
    if (count == 0 || (count < 0 && errno == EINTR))
        return true;
    if (count < 0) { /* poll failed: all ends are tried, without blocking */
        nanosleep(&(struct timespec){0, 2000000}, NULL);
        for (int i = 0; i < 3; i++)
            ready[i].revents = ready[i].fd >= 0 ? ready[i].events : 0;
    }
    if (ready[1].revents)
        read_messages(process);
    if (ready[2].revents && !send_some(sending, process->input))
        return false;
    return !ready[0].revents || wire_receive_some(answer, process->output, complete);
}

Exchange worker_exchange(WorkerProcess *process, const Wire *request, Wire *answer, Patience patience) {
    Sending sending = {.request = request, .length = (int64_t)request->length};
    answer->length = answer->at = 0;
    answer->failed = false;
    Waiting waiting = {.what = process->name};
    waiting_begin(&waiting);
    for (bool complete = false; !complete;) {
        double left = patience.deadline - monotonic_seconds();
        if (left <= 0 || (patience.stop && *patience.stop))
            return EXCHANGE_LATE;
        if (!is_sent(&sending) || !process->greeted) /* runs may take long */
            waiting_tell(&waiting);
        if (!listen_and_speak(process, &sending, answer, left < 0.1 ? (int)(left * 1000) + 1 : 100, &complete))
            return EXCHANGE_ENDED;
    }
    process->greeted = true;
    answer->failed |= !is_sent(&sending); /* an answer before the request was sent */
    return EXCHANGE_ANSWERED;
}

void worker_read_on(const WorkerProcess *process, Wire *answer, size_t bytes) {
    char read_bytes[256];
    ssize_t got = 0;
    while (answer->length < bytes && (got = read(process->output, read_bytes, sizeof read_bytes)) > 0)
        wire_put(answer, read_bytes, (size_t)got);
}

/* --- ending --- */

bool signal_is_fault(int signal) {
    static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        if (signal == faults[i])
            return true;
    return false;
}

static void close_ends(WorkerProcess *process) {
    close(process->input);
    close(process->output);
    if (process->errors >= 0)
        close(process->errors);
    process->errors = -1;
}

static void reap(WorkerProcess *process, int *status) {
    while (waitpid(process->pid, status, 0) < 0 && errno == EINTR)
        continue;
    process->pid = 0;
}

void worker_kill(WorkerProcess *process) {
    if (!process->pid)
        return;
    kill(-process->pid, SIGKILL);
    kill(process->pid, SIGKILL);
    read_messages(process);
    close_ends(process);
    reap(process, NULL);
}

/* Whether the process has ended by itself, which may take a moment; then reaps it. */
static bool has_ended(WorkerProcess *process, double seconds, int *status) {
    double deadline = monotonic_seconds() + seconds;
    do {
        if (waitpid(process->pid, status, WNOHANG) == process->pid)
            return true;
        nanosleep(&(struct timespec){0, 2000000}, NULL);
    } while (monotonic_seconds() < deadline);
    return false;
}

/* A worker ends when it loses its input. */
void worker_end(WorkerProcess *process) {
    int status;
    if (!process->pid)
        return;
    close_ends(process);
    if (!has_ended(process, 0.006, &status)) {
        kill(-process->pid, SIGKILL);
        kill(process->pid, SIGKILL);
        reap(process, &status);
        return;
    }
    kill(-process->pid, SIGKILL); /* whatever it has started */
    process->pid = 0;
}

Death worker_death(Arena *arena, WorkerProcess *process) {
    int status = 0;
    if (!has_ended(process, death_seconds, &status)) {
        worker_kill(process);
        return (Death){"the worker closed its output", true};
    }
    read_messages(process);
    kill(-process->pid, SIGKILL);
    close_ends(process);
    process->pid = 0;
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 0, number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    if (process->command && code > SHELL_SIGNALS && signal_is_fault(code - SHELL_SIGNALS))
        number = code - SHELL_SIGNALS;
    const char *why = number ? arena_printf(arena, "the run ended with signal %d (%s)", number, strsignal(number))
                             : arena_printf(arena, "the worker exited with status %d", code);
    return (Death){why, signal_is_fault(number)};
}
