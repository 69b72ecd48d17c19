/* device_lock.h - who may use the machine: builds together, a measurement alone, across all processes of a user.
 *
 * Two locks make measurements wait only for builds under way: builders pass the gate before they take the device.
 */
#ifndef BACKENDS_DEVICE_LOCK_H
#define BACKENDS_DEVICE_LOCK_H

#include "lang/arena.h"
#include <stdbool.h>

typedef struct DeviceLock {
    int gate, device; /* files; below 0: cannot be opened, and nothing is kept apart */
} DeviceLock;

/* Each process that locks opens its own. */
DeviceLock device_lock_open(Arena *arena);
void device_lock_close(DeviceLock *lock);
void device_lock(const DeviceLock *lock, bool exclusive);
void device_unlock(const DeviceLock *lock);

#endif
