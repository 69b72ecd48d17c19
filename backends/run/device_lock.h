/* device_lock.h - who may use the machine: builds together, a measurement alone, across all processes of a user.
 *
 * Builders pass the gate before they lock the device: a measurement waits only for builds that are already under way.
 */
#ifndef BACKENDS_RUN_DEVICE_LOCK_H
#define BACKENDS_RUN_DEVICE_LOCK_H

#include "lang/arena.h"
#include "lang/waiting.h"

/* Which messages a process writes: of those that wait together one says so; one warns of locks that cannot be had. */
typedef enum LockVoice { LOCK_SILENT, LOCK_TELLS, LOCK_WARNS } LockVoice;

typedef struct DeviceLock {
    int gate, device; /* file descriptors; below 0: cannot be opened, so that nothing is kept apart */
    Waiting waiting;
    LockVoice voice;
    bool warned;
} DeviceLock;

/* Each process opens its own locks. */
DeviceLock device_lock_open(Arena *arena, WaitLimit limit, LockVoice voice);
void device_lock_close(DeviceLock *lock);
/* False: the limit was reached, and nothing is held. */
bool device_lock(DeviceLock *lock, bool exclusive);
void device_unlock(DeviceLock *lock);

#endif
