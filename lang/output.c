/* output.c - files written whole or not at all: a file without a name in the same folder, which gets its name in the
 * end.
 *
 * Where the file system has none, or an old file has to be replaced, a temporary name comes first, then a rename. Who
 * is killed between them leaves a file that the next one to write the same takes away. A symbolic link stays and what
 * it points to is replaced; an existing file keeps its permissions, a new one gets those of the umask. Devices and
 * pipes are written in place. A signal that ends the program waits for the rename, so that no temporary is left.
 */
#include "lang/ending_signals.h"
#include "lang/files.h"
#include "lang/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool write_all(int file, const void *data, size_t bytes) {
    for (const char *at = data; bytes;) {
        ssize_t written = write(file, at, bytes);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0) {
            errno = written ? errno : ENOSPC;
            return false;
        }
        at += written;
        bytes -= (size_t)written;
    }
    return true;
}

typedef struct OutputContents {
    const FilePart *parts;
    int count;
} OutputContents;

static bool write_parts(int file, const OutputContents *contents) {
    for (int i = 0; i < contents->count; i++)
        if (!write_all(file, contents->parts[i].data, contents->parts[i].bytes))
            return false;
    return true;
}

/* Closes in any case; the first error stays in errno. */
static bool close_after(int file, bool good) {
    int error = errno;
    if (close(file) != 0 && good)
        return false;
    errno = error;
    return good;
}

static bool write_in_place(const char *path, const OutputContents *contents) {
    int file = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    return file >= 0 && close_after(file, write_parts(file, contents));
}

static bool fill(int file, const struct stat *old, const OutputContents *contents) {
    return (!old || fchmod(file, old->st_mode & 07777) == 0) && write_parts(file, contents);
}

/* The temporary takes the place of the file, or goes. */
static bool rename_or_remove(const char *name, const char *path) {
    if (rename(name, path) == 0)
        return true;
    int error = errno;
    unlink(name);
    errno = error;
    return false;
}

/* What closing says, it says before the file has its name: another descriptor of it, which keeps what is held; below 0.
 */
static int close_but_hold(int file) {
    int again = fcntl(file, F_DUPFD_CLOEXEC, 0);
    if (again < 0) {
        close_after(file, false);
        return -1;
    }
    if (close(file) == 0)
        return again;
    close_after(again, false);
    return -1;
}

static bool replace_by_name(Arena *arena, const char *path, const struct stat *old, const OutputContents *contents) {
    char *name;
    int file = temporary_open(arena, path, &name), held = -1;
    if (file < 0)
        return false;
    if (fill(file, old, contents))
        held = close_but_hold(file);
    else
        close_after(file, false);
    if (held >= 0)
        return close_after(held, rename_or_remove(name, path));
    int error = errno;
    unlink(name);
    errno = error;
    return false;
}

/* Names a file that has none; false: this system cannot. */
static bool name_file(Arena *arena, int file, const char *path, bool *named) {
    const char *source = arena_printf(arena, "/proc/self/fd/%d", file);
    char *name;
    *named = linkat(AT_FDCWD, source, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0;
    if (*named)
        return true;
    if (errno != EEXIST || !temporary_link(arena, file, source, path, &name))
        return false;
    *named = rename_or_remove(name, path);
    return true;
}

static bool replace(Arena *arena, const char *path, const struct stat *old, const OutputContents *contents) {
    bool named = false;
    if (old && access(path, W_OK) != 0)
        return false;
    int file = open(folder_of(arena, path), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
    if (file < 0)
        return replace_by_name(arena, path, old, contents);
    if (!fill(file, old, contents))
        return close_after(file, false);
    int held = close_but_hold(file);
    if (held < 0)
        return false;
    bool done = name_file(arena, held, path, &named);
    close_after(held, named);
    return done ? named : replace_by_name(arena, path, old, contents);
}

static bool replace_undisturbed(Arena *arena, const char *path, const struct stat *old,
                                const OutputContents *contents) {
    sigset_t ending, before;
    sigemptyset(&ending);
    sigaddset(&ending, SIGQUIT);
    for (int i = 0; i < ENDING_SIGNALS; i++)
        sigaddset(&ending, ending_signals[i]);
    sigprocmask(SIG_BLOCK, &ending, &before);
    bool good = replace(arena, path, old, contents);
    int error = errno;
    sigprocmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return good;
}

static bool write_file(Arena *arena, const char *path, const OutputContents *contents) {
    struct stat old;
    bool exists = stat(path, &old) == 0;
    if (exists && S_ISDIR(old.st_mode)) {
        errno = EISDIR;
        return false;
    }
    if (exists && !S_ISREG(old.st_mode))
        return write_in_place(path, contents);
    if (!exists && errno != ENOENT)
        return false;
    path = file_behind_links(arena, path);
    return path && replace_undisturbed(arena, path, exists ? &old : NULL, contents);
}

/* A file that goes again at once. */
static bool can_make_file(Arena *arena, const char *path) {
    char *name = NULL;
    int file = open(folder_of(arena, path), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
    if (file < 0 && (file = temporary_open(arena, path, &name)) >= 0)
        unlink(name);
    return file >= 0 && close_after(file, true);
}

static bool can_write_file(Arena *arena, const char *path) {
    struct stat old;
    bool exists = stat(path, &old) == 0;
    if (exists && S_ISDIR(old.st_mode)) {
        errno = EISDIR;
        return false;
    }
    if (exists ? access(path, W_OK) != 0 : errno != ENOENT)
        return false;
    if (exists && !S_ISREG(old.st_mode))
        return true;
    path = file_behind_links(arena, path);
    return path && can_make_file(arena, path);
}

bool can_write_whole(const char *path) {
    if (!strcmp(path, "-"))
        return true;
    Arena *arena = arena_new();
    bool good = can_write_file(arena, path);
    int error = errno;
    arena_free(arena);
    errno = error;
    return good;
}

bool nobody_reads_output(void) {
    struct pollfd output = {.fd = STDOUT_FILENO};
    return poll(&output, 1, 0) > 0 && output.revents & POLLERR;
}

/* What was printed before. What cannot be written is dropped, so that it fails once. */
bool flush_standard_output(void) {
    if (!ferror(stdout) && fflush(stdout) == 0)
        return true;
    int error = errno;
    __fpurge(stdout);
    clearerr(stdout);
    errno = error;
    return nobody_reads_output();
}

static bool write_standard_output(const OutputContents *contents) {
    return flush_standard_output() && (write_parts(STDOUT_FILENO, contents) || nobody_reads_output());
}

bool write_whole_parts(const char *path, const FilePart *parts, int count) {
    const OutputContents contents = {parts, count};
    if (strcmp(path, "-") == 0)
        return write_standard_output(&contents);
    if (!*path) {
        errno = ENOENT;
        return false;
    }
    Arena *arena = arena_new();
    bool good = write_file(arena, path, &contents);
    int error = errno;
    arena_free(arena);
    errno = error;
    return good;
}

bool write_whole(const char *path, const void *data, size_t bytes) {
    return write_whole_parts(path, &(FilePart){data, bytes}, 1);
}
