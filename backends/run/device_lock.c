/* device_lock.c - see device_lock.h. flock goes by open file, so that a process that ends releases its locks.
 *
 * The files are in a folder that nobody else can enter: others can neither replace nor lock them. Without such a
 * folder, or without locks in the system, a warning is given and nothing is kept apart.
 */
#include "backends/run/device_lock.h"
#include "lang/terminal.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static void warn(DeviceLock *lock, const char *what, const char *why) {
    if (lock->voice == LOCK_WARNS && !lock->warned)
        show(stderr, "tensorc: warning: measurements are not kept apart from those of other processes: %s: %s\n", what,
             why);
    lock->warned = true;
}

/* --- the folder --- */

static bool is_private(int folder) {
    struct stat state;
    return !fstat(folder, &state) && state.st_uid == geteuid() && !(state.st_mode & 077);
}

/* Opens the folder, and makes it if needed. Below 0: impossible, or not this user's alone. */
static int open_folder(const char *path) {
    if (mkdir(path, 0700) && errno != EEXIST)
        return -1;
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0 || is_private(folder))
        return folder;
    close(folder);
    errno = EPERM;
    return -1;
}

static const char *folder_in(Arena *arena, const char *place) {
    return arena_printf(arena, "%s/tensorc-%u", place, (unsigned)geteuid());
}

static int find_folder(Arena *arena, const char **path) {
    const char *place = getenv("XDG_RUNTIME_DIR");
    *path = folder_in(arena, place ? place : "");
    int folder = place && *place ? open_folder(*path) : -1;
    if (folder >= 0)
        return folder;
    *path = folder_in(arena, "/tmp");
    return open_folder(*path);
}

static int open_lock(int folder, const char *name) {
    struct stat state;
    int file = openat(folder, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (file < 0 || (!fstat(file, &state) && S_ISREG(state.st_mode)))
        return file;
    close(file);
    errno = EINVAL;
    return -1;
}

DeviceLock device_lock_open(Arena *arena, WaitLimit limit, LockVoice voice) {
    DeviceLock lock = {.gate = -1, .device = -1, .waiting = {.limit = limit}, .voice = voice};
    const char *path;
    int folder = find_folder(arena, &path);
    if (folder >= 0) {
        lock.gate = open_lock(folder, "gate.lock");
        lock.device = open_lock(folder, "device.lock");
    }
    int error = errno;
    if (folder >= 0)
        close(folder);
    if (lock.gate < 0 || lock.device < 0) {
        const char *why = error == EPERM ? "it is not a folder of this user alone" : strerror(error);
        warn(&lock, arena_printf(arena, "'%s'", path), why);
        device_lock_close(&lock);
    }
    if (voice != LOCK_SILENT)
        lock.waiting.what =
            arena_printf(arena, "another process of this user that builds or measures (the locks in '%s')", path);
    return lock;
}

void device_lock_close(DeviceLock *lock) {
    if (lock->gate >= 0)
        close(lock->gate);
    if (lock->device >= 0)
        close(lock->device);
    lock->gate = lock->device = -1;
}

/* --- locking --- */

/* Locks a file; a system without locks is no obstacle. */
static bool lock_file(DeviceLock *lock, int file, int how) {
    waiting_begin(&lock->waiting);
    while (file >= 0 && flock(file, how | LOCK_NB)) {
        if (errno == EINTR)
            continue;
        if (errno != EWOULDBLOCK) {
            warn(lock, "flock", strerror(errno));
            device_lock_close(lock);
            return true;
        }
        if (waiting_is_over(&lock->waiting))
            return false;
        waiting_sleep(&lock->waiting);
    }
    return true;
}

static void unlock_file(int file) {
    if (file >= 0)
        flock(file, LOCK_UN);
}

bool device_lock(DeviceLock *lock, bool exclusive) {
    int how = exclusive ? LOCK_EX : LOCK_SH;
    bool held = lock_file(lock, lock->gate, how) && lock_file(lock, lock->device, how);
    if (!exclusive || !held)
        unlock_file(lock->gate);
    return held;
}

void device_unlock(DeviceLock *lock) {
    unlock_file(lock->device);
    unlock_file(lock->gate);
}
