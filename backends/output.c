/* output.c - files written whole or not at all: a temporary in the same folder, then a rename.
 *
 * A symbolic link stays and what it points to is replaced; an existing file keeps its permissions, a new one gets those
 * of the umask. Devices and pipes are written in place. A signal that ends the program waits for the rename, so that no
 * temporary is left.
 */
#include "backends/backends.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINK_LIMIT = 40 }; /* as many links as Linux follows */

static bool write_all(int file, const char *data, size_t bytes) {
    while (bytes) {
        ssize_t written = write(file, data, bytes);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0) {
            errno = written ? errno : ENOSPC;
            return false;
        }
        data += written;
        bytes -= (size_t)written;
    }
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

static bool write_in_place(const char *path, const void *data, size_t bytes) {
    int file = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    return file >= 0 && close_after(file, write_all(file, data, bytes));
}

/* Where a relative link of the folder of `path` points to. */
static char *beside(Arena *arena, const char *path, const char *name) {
    const char *slash = strrchr(path, '/');
    if (*name == '/' || !slash)
        return arena_strdup(arena, name);
    return arena_printf(arena, "%.*s%s", (int)(slash + 1 - path), path, name);
}

/* The file that the path means once links are followed, also one that does not exist yet. NULL with errno set. */
static const char *follow_links(Arena *arena, const char *path) {
    char target[PATH_MAX];
    for (int i = 0; i < LINK_LIMIT; i++) {
        ssize_t length = readlink(path, target, sizeof target - 1);
        if (length < 0)
            return path; /* not a link, or not there: whoever opens it finds out */
        target[length] = '\0';
        path = beside(arena, path, target);
    }
    errno = ELOOP;
    return NULL;
}

/* A new file of a name that nobody has, in the folder of the path; the kernel applies the umask. */
static int open_temporary(Arena *arena, const char *path, char **name) {
    for (unsigned attempt = 0;; attempt++) {
        *name = beside(arena, path, arena_printf(arena, ".tensorc-%ld-%u", (long)getpid(), attempt));
        int file = open(*name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (file >= 0 || errno != EEXIST)
            return file;
    }
}

static bool replace(Arena *arena, const char *path, const struct stat *old, const void *data, size_t bytes) {
    char *name;
    if (old && access(path, W_OK) != 0)
        return false;
    int file = open_temporary(arena, path, &name);
    if (file < 0)
        return false;
    bool good = !old || fchmod(file, old->st_mode & 07777) == 0;
    good = close_after(file, good && write_all(file, data, bytes));
    if (good && rename(name, path) == 0)
        return true;
    int error = errno;
    unlink(name);
    errno = error;
    return false;
}

static bool replace_undisturbed(Arena *arena, const char *path, const struct stat *old, const void *data,
                                size_t bytes) {
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    sigset_t ending, before;
    sigemptyset(&ending);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        sigaddset(&ending, numbers[i]);
    sigprocmask(SIG_BLOCK, &ending, &before);
    bool good = replace(arena, path, old, data, bytes);
    int error = errno;
    sigprocmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return good;
}

static bool write_file(Arena *arena, const char *path, const void *data, size_t bytes) {
    struct stat old;
    bool exists = stat(path, &old) == 0;
    if (exists && S_ISDIR(old.st_mode)) {
        errno = EISDIR;
        return false;
    }
    if (exists && !S_ISREG(old.st_mode))
        return write_in_place(path, data, bytes);
    if (!exists && errno != ENOENT)
        return false;
    path = follow_links(arena, path);
    return path && replace_undisturbed(arena, path, exists ? &old : NULL, data, bytes);
}

bool write_whole(const char *path, const void *data, size_t bytes) {
    if (strcmp(path, "-") == 0)
        return fflush(stdout) == 0 && write_all(STDOUT_FILENO, data, bytes);
    if (!*path) {
        errno = ENOENT;
        return false;
    }
    Arena *arena = arena_new();
    bool good = write_file(arena, path, data, bytes);
    int error = errno;
    arena_free(arena);
    errno = error;
    return good;
}
