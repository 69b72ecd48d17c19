/* clock.h - the clocks that durations are taken from. */
#ifndef LANG_CLOCK_H
#define LANG_CLOCK_H

#include <sys/types.h>
#include <time.h>

/* Seconds since some moment; never set back. */
static inline double monotonic_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* That a process has had of the processors until now; 0 where it is not known. */
static inline double processor_seconds(pid_t process) {
    clockid_t clock;
    struct timespec spent;
    if (clock_getcpuclockid(process, &clock) || clock_gettime(clock, &spent))
        return 0;
    return (double)spent.tv_sec + 1e-9 * (double)spent.tv_nsec;
}

#endif
