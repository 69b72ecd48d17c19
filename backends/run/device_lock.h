/* device_lock.h - who may use the machine: builds together, a measurement alone, across all processes of a user.
 *
 * Two locks make measurements wait only for builds under way: builders pass the gate before they take the device.
 */
#ifndef BACKENDS_RUN_DEVICE_LOCK_H
#define BACKENDS_RUN_DEVICE_LOCK_H

#include "lang/arena.h"
#include "lang/waiting.h"

/* Who speaks: of those that wait together one tells of it, and one warns of locks that cannot be had. */
typedef enum LockVoice { LOCK_SILENT, LOCK_TELLS, LOCK_WARNS } LockVoice;

typedef struct DeviceLock {
    int gate, device; /* files; below 0: cannot be opened, and nothing is kept apart */
    Waiting waiting;
    LockVoice voice;
    bool warned;
} DeviceLock;

/* Each process that locks opens its own. */
DeviceLock device_lock_open(Arena *arena, WaitLimit limit, LockVoice voice);
void device_lock_close(DeviceLock *lock);
/* False: the limit came first, and nothing is held. */
bool device_lock(DeviceLock *lock, bool exclusive);
void device_unlock(DeviceLock *lock);

#endif
