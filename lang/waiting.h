/* waiting.h - waiting for other processes: no longer than may be, and after a second in words. */
#ifndef LANG_WAITING_H
#define LANG_WAITING_H

#include <stdbool.h>

/* When everything that waits gives up. */
typedef struct WaitLimit {
    const volatile int *stop; /* becomes non-zero: nothing is waited for any more; or NULL */
    double deadline;          /* a monotonic time, 0: none */
} WaitLimit;

typedef struct Waiting {
    WaitLimit limit;
    const char *what; /* is waited for, as "waiting for ..." says it; NULL: nobody is told */
    double since;     /* a monotonic time */
    bool told;        /* once for all the waits of one kind */
} Waiting;

void waiting_begin(Waiting *waiting);
double waiting_seconds(const Waiting *waiting);
/* Whether the stop or the deadline has come. */
bool waiting_is_over(const Waiting *waiting);
/* Says after a second what is waited for; for waits that have a way to sleep of their own. */
void waiting_tell(Waiting *waiting);
/* Sleeps for a moment, longer when it has taken long already. */
void waiting_sleep(Waiting *waiting);

#endif
