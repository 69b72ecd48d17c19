/* device_lock.c - see device_lock.h; flock goes by open file, so that a process which ends gives back what it holds. */
#include "backends/device_lock.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

static int open_lock(Arena *arena, const char *name) {
    const char *folder = getenv("XDG_RUNTIME_DIR");
    if (!folder || !*folder || access(folder, W_OK))
        folder = "/tmp";
    return open(arena_printf(arena, "%s/tensorc-%u-%s.lock", folder, (unsigned)getuid(), name),
                O_RDWR | O_CREAT | O_CLOEXEC, 0600);
}

DeviceLock device_lock_open(Arena *arena) {
    return (DeviceLock){open_lock(arena, "gate"), open_lock(arena, "device")};
}

void device_lock_close(DeviceLock *lock) {
    if (lock->gate >= 0)
        close(lock->gate);
    if (lock->device >= 0)
        close(lock->device);
}

static void lock_descriptor(int descriptor, int how) {
    while (descriptor >= 0 && flock(descriptor, how) && errno == EINTR)
        continue;
}

void device_lock(const DeviceLock *lock, bool exclusive) {
    int how = exclusive ? LOCK_EX : LOCK_SH;
    lock_descriptor(lock->gate, how);
    lock_descriptor(lock->device, how);
    if (!exclusive)
        lock_descriptor(lock->gate, LOCK_UN);
}

void device_unlock(const DeviceLock *lock) {
    lock_descriptor(lock->device, LOCK_UN);
    lock_descriptor(lock->gate, LOCK_UN);
}
