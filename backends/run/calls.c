/* calls.c - judges calls by what was seen of them: how long each took, whether that was disturbed, whether to go on.
 *
 * Disturbed calls are repeated, within a limit of their own: the limit of those that nothing disturbs does not change.
 */
#include "backends/run/calls.h"
#include <math.h>

enum { FEWEST = 3, STEADY_CALLS = 6, LONGER = 16, GATHERED = 24, LONGEST = 40 };
enum { MOST_DISTURBED = 2, DISTURBED_PART = 8, FEW = 16 }; /* of calls that nothing examines */
static const double long_seconds = 0.25;   /* the processor time of such a call tells as much as several calls do */
static const double steady_part = 0.2;     /* part of the time for repeats, after which they may end */
static const double still_part = 0.95;     /* of the wall clock: with less the processor was elsewhere */
static const double gang_part = 0.9;       /* the same of several threads, which wait for each other */
static const double gang_excess = 0.1;     /* more than that part they worked before or after the call, not in it */
static const double ends_seconds = 1e-5;   /* what a gang works before and after calls in a row */
static const double slice_seconds = 1e-3;  /* all threads of a gang have the processors at once for about so long */
static const double switch_seconds = 2e-5; /* what a switch costs the thread that comes back, mostly by its caches */
static const double switched_part = 0.02;  /* of a call: so much by switches does not matter */
static const double least_seconds = 1e-9;  /* of a call: its processor time may read as less */

double reading_seconds(const Reading *reading) {
    bool by_itself = reading->waits > 0 && reading->switches == 0;
    return by_itself || reading->processor > reading->wall ? reading->wall : reading->processor;
}

/* Whether all threads had the processors for the whole call. */
static bool is_together(const CallSeen *seen, double threads) {
    double whole = threads * seen->caller.wall, ends = threads * ends_seconds / (double)(seen->calls ? seen->calls : 1);
    return seen->all_switches == 0 && seen->all_processor >= gang_part * whole &&
           seen->all_processor <= (1 + gang_excess) * whole + ends;
}

/* Whether the wall clock shows the time of the call. */
static bool is_still(const CallSeen *seen, int64_t threads) {
    const Reading *caller = &seen->caller;
    if (threads > 1)
        return is_together(seen, (double)threads);
    return caller->switches == 0 && (caller->waits > 0 || caller->processor >= still_part * caller->wall);
}

static double path_seconds(const Calls *calls, const CallSeen *seen) {
    double ends = seen->loops ? (double)seen->loops * calls->begin_and_end : 0;
    return fmin(seen->path + ends, seen->caller.wall);
}

static double call_seconds(const Calls *calls, const CallSeen *seen) {
    bool by_wall = is_still(seen, calls->limits.threads) || !seen->examined;
    return by_wall ? seen->caller.wall : path_seconds(calls, seen);
}

static bool is_clean(const Calls *calls, const CallSeen *seen) {
    return is_still(seen, calls->limits.threads) ||
           (seen->examined && (double)seen->path_switches * switch_seconds <= switched_part * seen->path);
}

static void add_time(Arena *arena, Times *times, double seconds) {
    list_push(arena, times, seconds);
    int place = times->count - 1;
    for (; place > 0 && times->items[place - 1] > seconds; place--)
        times->items[place] = times->items[place - 1];
    times->items[place] = seconds;
}

static void add_seen(Calls *calls, const CallSeen *seen) {
    double seconds = call_seconds(calls, seen);
    add_time(calls->arena, &calls->times, seconds);
    if (!is_clean(calls, seen))
        return;
    add_time(calls->arena, &calls->clean, seconds);
    calls->undisturbed += seconds * (double)seen->calls;
    if (!is_still(seen, calls->limits.threads))
        return;
    add_time(calls->arena, &calls->still, seconds);
    calls->still_seconds += seconds * (double)seen->calls;
}

/* One of so many. */
static CallSeen part_of(CallSeen seen, int64_t group) {
    double part = 1 / (double)group;
    seen.caller.wall *= part;
    seen.caller.processor *= part;
    seen.all_processor *= part;
    seen.path *= part;
    seen.loops /= group;
    seen.calls = group;
    return seen;
}

void calls_add(Calls *calls, CallSeen seen, int64_t group) {
    bool first = calls->seen.count == 0, known = !first && calls->begin_and_end < HUGE_VAL;
    calls->total += seen.caller.wall;
    seen = part_of(seen, group);
    list_push(calls->arena, &calls->seen, seen);
    double before = first ? HUGE_VAL : calls->begin_and_end;
    calls->begin_and_end = seen.examined ? fmin(before, seen.begin_and_end) : before;
    if (known && calls->begin_and_end < before) { /* the calls before took less, too */
        calls->times.count = calls->clean.count = calls->still.count = 0;
        calls->undisturbed = calls->still_seconds = 0;
        for (int i = 0; i + 1 < calls->seen.count; i++)
            add_seen(calls, &calls->seen.items[i]);
    }
    add_seen(calls, &calls->seen.items[calls->seen.count - 1]);
}

static double lower_quartile(const Times *times) {
    return times->items[times->count / 4];
}

/* Threads that rarely have the processors at once mostly begin with empty caches: then the fastest calls tell more. */
static double typical_seconds(const Calls *calls, const Times *times) {
    bool rarely = calls->limits.threads > 1 && calls_need_examining(calls);
    return rarely ? times->items[times->count / FEW] : lower_quartile(times);
}

/* The wall clock is trusted more than what is added up from processor times: a thread that just got its processor finds
 * nothing in its caches. */
static bool are_enough_still(const Calls *calls) {
    return calls->still.count >= STEADY_CALLS;
}

static const Times *chosen_times(const Calls *calls) {
    return are_enough_still(calls) ? &calls->still : calls->clean.count ? &calls->clean : &calls->times;
}

/* Whether undisturbed calls have filled this part of the time for repeats. */
static bool have_filled(const Calls *calls, double part) {
    double filled = are_enough_still(calls) ? calls->still_seconds : calls->undisturbed;
    return calls->clean.count >= FEWEST && filled >= part * calls->limits.min_seconds;
}

/* Whether it is too slow to be worth repeating. */
static bool is_slow(const Calls *calls) {
    double stop = calls->limits.stop_seconds;
    bool is_long = calls->clean.count && calls->clean.items[0] >= long_seconds;
    return stop > 0 && calls->times.items[0] > stop && (is_long || have_filled(calls, steady_part));
}

/* Whether a quarter of the calls agree: disturbances only add time. */
static bool is_steady(const Calls *calls) {
    return calls->limits.steady > 0 && calls->clean.count >= STEADY_CALLS && have_filled(calls, steady_part) &&
           lower_quartile(chosen_times(calls)) <= chosen_times(calls)->items[0] * (1 + calls->limits.steady);
}

/* So many times the time for repeats has passed. */
static bool has_passed(const Calls *calls, int times) {
    return calls->total >= times * fmax(calls->limits.min_seconds, 1e-9);
}

/* Calls that wait for the processor are given a longer time, and a still longer one to be undisturbed at all. */
static bool is_enough(const Calls *calls) {
    int few = calls_need_gathering(calls) && !calls_need_examining(calls) ? STEADY_CALLS : FEWEST;
    int longest = calls->limits.hasty ? 1 : calls->clean.count >= few ? LONGER : LONGEST;
    return have_filled(calls, 1) || has_passed(calls, longest);
}

bool calls_go_on(const Calls *calls) {
    int64_t most = calls->limits.max_calls;
    if (calls->times.count == 0)
        return true;
    if (calls->times.count >= most || is_slow(calls) || is_steady(calls))
        return false;
    return calls->times.count < FEWEST || !is_enough(calls);
}

/* Of the calls that nothing examines. */
typedef struct Plain {
    int count, disturbed, asleep; /* asleep: of the disturbed ones, without any switch */
} Plain;

static Plain plain_calls(const Calls *calls) {
    Plain plain = {0};
    for (int i = 0; i < calls->seen.count; i++) {
        const CallSeen *seen = &calls->seen.items[i];
        bool disturbed = !seen->examined && !is_still(seen, calls->limits.threads);
        plain.count += !seen->examined;
        plain.disturbed += disturbed;
        plain.asleep += disturbed && seen->all_switches == 0 && seen->all_waits > 0;
    }
    return plain;
}

/* Whether they are often disturbed. */
static bool is_busy(const Calls *calls) {
    Plain plain = plain_calls(calls);
    return plain.disturbed >= MOST_DISTURBED && plain.disturbed * DISTURBED_PART > plain.count;
}

/* Whether threads wait for each other asleep (OMP_WAIT_POLICY=passive): that they begin together tells nothing. */
static bool waits_asleep(const Calls *calls) {
    Plain plain = plain_calls(calls);
    return plain.asleep >= MOST_DISTURBED && 2 * plain.asleep > plain.disturbed;
}

static bool is_short(const Calls *calls) {
    double about = calls->limits.about > 0 ? calls->limits.about : HUGE_VAL;
    return fmin(about, calls->times.items[0]) < slice_seconds;
}

bool calls_need_gathering(const Calls *calls) {
    return calls->limits.threads > 1 && !calls->limits.hasty && is_busy(calls) && is_short(calls) &&
           !waits_asleep(calls);
}

/* Calls that begin together are not examined until it is clear that few of them end together. */
bool calls_need_examining(const Calls *calls) {
    bool hopes = are_enough_still(calls) || !has_passed(calls, GATHERED);
    return calls->limits.threads <= 1 || (is_busy(calls) && !(calls_need_gathering(calls) && hopes));
}

bool calls_are_still(const Calls *calls) {
    return calls->seen.count && is_still(&calls->seen.items[calls->seen.count - 1], calls->limits.threads);
}

CallTimes calls_times(const Calls *calls) {
    const Times *times = chosen_times(calls);
    double sum = 0, squares = 0;
    for (int i = 0; i < times->count; i++)
        sum += times->items[i];
    double mean = sum / times->count;
    for (int i = 0; i < times->count; i++)
        squares += (times->items[i] - mean) * (times->items[i] - mean);
    double deviation = times->count > 1 ? squares / (times->count - 1) : 0;
    return (CallTimes){.seconds = fmax(typical_seconds(calls, times), least_seconds),
                       .least = fmax(times->items[0], least_seconds),
                       .spread = mean > 0 ? sqrt(deviation) / mean : 0};
}

Disturbance calls_disturbance(const Calls *calls) {
    Disturbance d = {.undisturbed = calls->clean.count};
    double wall = 0, processor = 0;
    for (int i = 0; i < calls->seen.count; i++) {
        const CallSeen *seen = &calls->seen.items[i];
        d.switches += (int)seen->all_switches;
        wall += seen->caller.wall;
        processor += seen->all_processor;
    }
    if (d.undisturbed && d.undisturbed < FEWEST && calls->clean.items[0] >= long_seconds)
        d.undisturbed = FEWEST;
    d.processor_part =
        wall > 0 ? processor / wall / (double)(calls->limits.threads > 1 ? calls->limits.threads : 1) : 0;
    return d;
}
