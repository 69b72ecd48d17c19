/* failing.c - preloaded by tests: call number FAIL_AT of the function FAIL_NAME fails with the error FAIL_ERROR, with
 * FAIL_ON=1 those after it, too, with FAIL_EACH=N one in N; FAIL_KILL=1: it sends the program SIGKILL instead, or the
 * signal FAIL_SIGNAL. Each process counts for itself. FAIL_PATH=PREFIX: there are no files whose paths begin so, for
 * whoever opens, links, runs or asks for them. FAIL_TMPFILE=1: there are no files without names. FAIL_FORKED=1: calls
 * fail only in what is forked and runs no other program. FAIL_USER=N: the user has this number. FAIL_CHILD=N: that is
 * killed at its read number N.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static long calls, at, each, child_reads;
static pid_t first;
static int error, on, ended, signal_sent, no_nameless, in_forked;
static const char *wanted, *absent;

static long number(const char *name) {
    const char *text = getenv(name);
    return text ? strtol(text, NULL, 10) : 0;
}

__attribute__((constructor)) static void read_wishes(void) {
    at = number("FAIL_AT");
    each = number("FAIL_EACH");
    absent = getenv("FAIL_PATH");
    child_reads = number("FAIL_CHILD");
    in_forked = (int)number("FAIL_FORKED");
    no_nameless = (int)number("FAIL_TMPFILE");
    first = getpid();
    error = (int)number("FAIL_ERROR");
    on = (int)number("FAIL_ON");
    ended = (int)number("FAIL_KILL");
    signal_sent = getenv("FAIL_SIGNAL") ? (int)number("FAIL_SIGNAL") : SIGKILL;
    wanted = getenv("FAIL_NAME");
}

static int fails(const char *name) {
    if (!wanted || strcmp(wanted, name) || (in_forked && getpid() == first))
        return 0;
    long call = __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
    if (call != at && !(on && call > at) && !(each && call > at && (call - at) % each == 0))
        return 0;
    if (ended) {
        kill(getpid(), signal_sent);
        return 0; /* it is ignored */
    }
    errno = error;
    return 1;
}

static int is_nameless(int flags) {
    if (!no_nameless || (flags & O_TMPFILE) != O_TMPFILE)
        return 0;
    errno = EOPNOTSUPP;
    return 1;
}

static int is_absent(const char *path) {
    if (!absent || strncmp(path, absent, strlen(absent)))
        return 0;
    errno = ENOENT;
    return 1;
}

/* The function of the system behind one of ours. */
static void *real(const char *name) {
    return dlsym(RTLD_NEXT, name);
}

#define FAILING(result, failure, name, parameters, arguments)                                                          \
    result name parameters {                                                                                           \
        static result(*real_##name) parameters;                                                                        \
        if (!real_##name)                                                                                              \
            real_##name = (result(*) parameters)real(#name);                                                           \
        return fails(#name) ? failure : real_##name arguments;                                                         \
    }

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *old, size_t bytes);
void *malloc(size_t bytes) {
    return fails("malloc") ? NULL : __libc_malloc(bytes);
}
void *calloc(size_t count, size_t bytes) {
    return fails("calloc") ? NULL : __libc_calloc(count, bytes);
}
void *realloc(void *old, size_t bytes) {
    return fails("realloc") ? NULL : __libc_realloc(old, bytes);
}

FAILING(void *, MAP_FAILED, mmap, (void *to, size_t bytes, int protection, int flags, int file, off_t offset),
        (to, bytes, protection, flags, file, offset))
FAILING(ssize_t, -1, write, (int file, const void *bytes, size_t count), (file, bytes, count))
FAILING(pid_t, -1, fork, (void), ())
FAILING(ssize_t, -1, pwrite64, (int file, const void *bytes, size_t count, off64_t to), (file, bytes, count, to))
FAILING(int, -1, rename, (const char *from, const char *to), (from, to))
FAILING(int, -1, fchmod, (int file, mode_t mode), (file, mode))
FAILING(int, -1, fsync, (int file), (file))
FAILING(int, -1, fdatasync, (int file), (file))
FAILING(int, -1, close, (int file), (file))
FAILING(int, -1, pipe2, (int ends[2], int flags), (ends, flags))
FAILING(int, -1, poll, (struct pollfd * files, nfds_t count, int milliseconds), (files, count, milliseconds))
FAILING(int, -1, flock, (int file, int how), (file, how))

uid_t geteuid(void) {
    long user = number("FAIL_USER");
    return user ? (uid_t)user : ((uid_t(*)(void))real("geteuid"))();
}

ssize_t read(int file, void *bytes, size_t count) {
    static pid_t counted;
    static long reads;
    if (counted != getpid())
        reads = 0;
    counted = getpid();
    if (child_reads && counted != first && ++reads == child_reads)
        kill(counted, SIGKILL);
    return fails("read") ? -1 : ((ssize_t(*)(int, void *, size_t))real("read"))(file, bytes, count);
}
int linkat(int from, const char *old, int to, const char *name, int flags) {
    return is_absent(old) || fails("linkat")
               ? -1
               : ((int (*)(int, const char *, int, const char *, int))real("linkat"))(from, old, to, name, flags);
}
ssize_t readlink(const char *path, char *text, size_t room) {
    return is_absent(path) ? -1 : ((ssize_t(*)(const char *, char *, size_t))real("readlink"))(path, text, room);
}
int stat(const char *path, struct stat *about) {
    bool failed = fails("stat") || is_absent(path);
    return failed ? -1 : ((int (*)(const char *, struct stat *))real("stat"))(path, about);
}
int access(const char *path, int how) {
    return is_absent(path) ? -1 : ((int (*)(const char *, int))real("access"))(path, how);
}
FILE *fopen(const char *path, const char *how) {
    return is_absent(path) ? NULL : ((FILE * (*)(const char *, const char *)) real("fopen"))(path, how);
}
FILE *fopen64(const char *path, const char *how) {
    return is_absent(path) ? NULL : ((FILE * (*)(const char *, const char *)) real("fopen64"))(path, how);
}

int execl(const char *path, const char *argument, ...) {
    char *arguments[16] = {(char *)(uintptr_t)argument};
    va_list more;
    va_start(more, argument);
    for (int i = 1; i < 15 && arguments[i - 1]; i++)
        arguments[i] = va_arg(more, char *);
    va_end(more);
    return is_absent(path) ? -1 : execv(path, arguments);
}

/* An argument that is not there is read and handed on all the same: it is in a register. */
int open(const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    mode_t mode = va_arg(more, mode_t);
    va_end(more);
    return is_nameless(flags) || is_absent(path) || fails("open")
               ? -1
               : ((int (*)(const char *, int, ...))real("open"))(path, flags, mode);
}
int open64(const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    mode_t mode = va_arg(more, mode_t);
    va_end(more);
    return is_nameless(flags) || is_absent(path) || fails("open")
               ? -1
               : ((int (*)(const char *, int, ...))real("open64"))(path, flags, mode);
}
int openat(int folder, const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    mode_t mode = va_arg(more, mode_t);
    va_end(more);
    return is_nameless(flags) || is_absent(path) || fails("open")
               ? -1
               : ((int (*)(int, const char *, int, ...))real("openat"))(folder, path, flags, mode);
}
static int control(const char *name, int file, int command, void *argument) {
    return fails("fcntl") ? -1 : ((int (*)(int, int, ...))real(name))(file, command, argument);
}
int fcntl(int file, int command, ...) {
    va_list more;
    va_start(more, command);
    void *argument = va_arg(more, void *);
    va_end(more);
    return control("fcntl", file, command, argument);
}
int fcntl64(int file, int command, ...) {
    va_list more;
    va_start(more, command);
    void *argument = va_arg(more, void *);
    va_end(more);
    return control("fcntl64", file, command, argument);
}
