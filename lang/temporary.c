/* temporary.c - names for files that are not whole yet, beside those whose places they will take.
 *
 * Who writes such a file holds a lock on it, which ends with the process however that ends. So the next one to write
 * the same file knows what a process that was killed has left from what another is writing, and takes it away. File
 * systems without locks keep such files.
 */
#include "lang/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SWEPT = 8 };

const char *folder_of(Arena *arena, const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? arena_strndup(arena, path, (size_t)(slash + 1 - path)) : "./";
}

/* The same for each process that writes the path; no longer than names may be. */
static char *temporary_name(Arena *arena, const char *path, unsigned attempt) {
    const char *slash = strrchr(path, '/');
    return arena_printf(arena, "%s.tensorc-%.200s-%u", folder_of(arena, path), slash ? slash + 1 : path, attempt);
}

/* Whether nobody holds the file that was of this name when it was opened, and it is still that. */
static bool is_left(int file, const char *name) {
    struct stat opened, named;
    return !flock(file, LOCK_EX | LOCK_NB) && !fstat(file, &opened) && !lstat(name, &named) &&
           S_ISREG(named.st_mode) && opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

/* Whether the name is free again. While the lock is held here, nobody else takes the file for a left one. */
static bool remove_left(const char *name) {
    int file = open(name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (file < 0)
        return errno == ENOENT;
    bool removed = is_left(file, name) && !unlink(name);
    close(file);
    return removed;
}

/* Holds a file that was just made. False: another process took it for a left one before that. */
static bool hold(int file) {
    struct stat made;
    return flock(file, LOCK_EX | LOCK_NB) ? errno != EWOULDBLOCK : fstat(file, &made) || made.st_nlink > 0;
}

/* What several processes at a time that were killed have left under the next names. */
static void sweep(Arena *arena, const char *path, unsigned attempt) {
    for (unsigned next = attempt + 1; next <= attempt + SWEPT; next++)
        remove_left(temporary_name(arena, path, next));
}

int temporary_open(Arena *arena, const char *path, char **name) {
    for (unsigned attempt = 0;;) {
        *name = temporary_name(arena, path, attempt);
        int file = open(*name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (file >= 0 && hold(file)) {
            sweep(arena, path, attempt);
            return file;
        }
        if (file >= 0)
            close(file);
        else if (errno != EEXIST)
            return -1;
        else
            attempt += !remove_left(*name);
    }
}

bool temporary_link(Arena *arena, int file, const char *source, const char *path, char **name) {
    flock(file, LOCK_EX | LOCK_NB);
    for (unsigned attempt = 0;;) {
        *name = temporary_name(arena, path, attempt);
        if (!linkat(AT_FDCWD, source, AT_FDCWD, *name, AT_SYMLINK_FOLLOW)) {
            sweep(arena, path, attempt);
            return true;
        }
        if (errno != EEXIST)
            return false;
        attempt += !remove_left(*name);
    }
}
