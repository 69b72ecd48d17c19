/* waiting.c - the clock and the words of waiting. */
#include "lang/terminal.h"
#include "lang/waiting.h"
#include "lang/clock.h"

#include <stdio.h>

static const double told_after = 1;
static const double shortest = 2e-4, longest = 5e-2, part = 0.1; /* of a sleep: of what was waited */

void waiting_begin(Waiting *waiting) {
    waiting->since = monotonic_seconds();
}

double waiting_seconds(const Waiting *waiting) {
    return monotonic_seconds() - waiting->since;
}

bool waiting_is_over(const Waiting *waiting) {
    const WaitLimit *limit = &waiting->limit;
    return (limit->stop && *limit->stop) || (limit->deadline > 0 && monotonic_seconds() >= limit->deadline);
}

void waiting_tell(Waiting *waiting) {
    if (waiting->told || !waiting->what || waiting_seconds(waiting) < told_after)
        return;
    show(stderr, "tensorc: waiting for %s\n", waiting->what);
    waiting->told = true;
}

void waiting_sleep(Waiting *waiting) {
    double seconds = waiting_seconds(waiting) * part;
    seconds = seconds < shortest ? shortest : seconds > longest ? longest : seconds;
    waiting_tell(waiting);
    nanosleep(&(struct timespec){0, (long)(seconds * 1e9)}, NULL);
}
