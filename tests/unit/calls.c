/* calls.c - which of the calls that are timed count, and when there are enough, by readings that are made up here. */
#include "backends/run/calls.h"
#include "tests/tap.h"
#include <math.h>

static const double microsecond = 1e-6, millisecond = 1e-3;

static CallSeen call_of(double wall, double processor, int64_t switches) {
    return (CallSeen){.caller = {wall, processor, switches, 0},
                      .all_processor = processor,
                      .all_switches = switches,
                      .examined = true,
                      .path = processor,
                      .path_switches = switches,
                      .begin_and_end = HUGE_VAL};
}

static Calls calls_for(Arena *arena, int64_t threads, double stop_seconds) {
    return (Calls){.arena = arena, .limits = {threads, 2000, 0.025, 0.01, stop_seconds}};
}

/* Adds equal calls until no more are wanted. Returns how many. */
static int add_all(Calls *calls, CallSeen seen) {
    int count = 0;
    for (; calls_go_on(calls) && count < 10000; count++)
        calls_add(calls, seen, 1);
    return count;
}

static void test_quiet(Arena *arena) {
    Calls calls = calls_for(arena, 1, 0);
    int count = add_all(&calls, call_of(millisecond, millisecond, 0));
    is_int(count, 6, "calls that agree are soon enough");
    Disturbance d = calls_disturbance(&calls);
    ok(calls_times(&calls).seconds == millisecond && d.undisturbed == 6 && d.switches == 0 && d.processor_part == 1,
       "none of them is disturbed");
    calls = calls_for(arena, 1, 0);
    calls_add(&calls, call_of(millisecond, 0, 1), 1);
    ok(calls_times(&calls).seconds > 0 && calls_times(&calls).least > 0, "a call takes some time, whatever clocks say");
    calls = calls_for(arena, 1, 0);
    calls.limits.steady = 0;
    is_int(add_all(&calls, call_of(millisecond, millisecond, 0)), 25, "without that they fill their time");
    calls = calls_for(arena, 1, 0);
    calls.limits.max_calls = 2;
    is_int(add_all(&calls, call_of(millisecond, millisecond, 0)), 2, "or reach their limit");
}

/* Of short calls those count that had the processor for themselves. */
static void test_short(Arena *arena) {
    Calls calls = calls_for(arena, 1, 0);
    for (int i = 0; i < 30; i++)
        calls_add(&calls, call_of(9 * millisecond, 150 * microsecond, 1), 1);
    Disturbance d = calls_disturbance(&calls);
    ok(calls_go_on(&calls) && d.undisturbed == 0 && d.switches == 30, "calls that are interrupted do not count");
    for (int i = 0; i < 3; i++)
        calls_add(&calls, call_of(100 * microsecond, 100 * microsecond, 0), 1);
    d = calls_disturbance(&calls);
    ok(fabs(calls_times(&calls).seconds - 100 * microsecond) < 1e-12 && d.undisturbed == 3, "the others do");
    ok(d.processor_part < 0.1, "what they had of the processor is told: %g", d.processor_part);
    calls = calls_for(arena, 1, 0);
    int count = add_all(&calls, call_of(9 * millisecond, 150 * microsecond, 1));
    ok(count > 100 && count < 200, "without any the worker gives up after %d", count);
    ok(calls_times(&calls).seconds > 0 && calls_disturbance(&calls).undisturbed == 0, "and says so");
    calls = calls_for(arena, 1, 0);
    for (int i = 0; i < 3; i++)
        calls_add(&calls, call_of(100 * microsecond, 100 * microsecond, 0), 1);
    int sooner = add_all(&calls, call_of(9 * millisecond, 150 * microsecond, 1));
    ok(sooner > 30 && sooner < 60, "with three of them it gives up sooner, after %d", sooner);
    calls = calls_for(arena, 1, 0);
    for (int i = 0; i < 4; i++)
        calls_add(&calls, call_of(50 * microsecond, 30 * microsecond, 0), 1);
    ok(calls_disturbance(&calls).undisturbed == 4 && fabs(calls_times(&calls).seconds - 30 * microsecond) < 1e-12,
       "what the host takes without a switch is not theirs");
}

/* A call longer than a slice of the scheduler is always interrupted: its own clock tells its time. */
static void test_long(Arena *arena) {
    Calls calls = calls_for(arena, 1, 0);
    add_all(&calls, call_of(100 * millisecond, 20 * millisecond, 8));
    ok(fabs(calls_times(&calls).seconds - 20 * millisecond) < 1e-12 && calls_disturbance(&calls).undisturbed >= 3,
       "a long call takes its processor time");
    calls = calls_for(arena, 1, 0);
    CallSeen sleeping = call_of(20 * millisecond, millisecond, 0);
    sleeping.caller.waits = 1;
    add_all(&calls, sleeping);
    ok(calls_times(&calls).seconds == 20 * millisecond && calls_disturbance(&calls).undisturbed >= 3,
       "one that waits by itself takes the time that it waits");
}

static void test_slow(Arena *arena) {
    Calls calls = calls_for(arena, 1, millisecond);
    is_int(add_all(&calls, call_of(8 * millisecond, 8 * millisecond, 0)), 3, "slow calls are repeated three times");
    calls = calls_for(arena, 1, millisecond);
    calls_add(&calls, call_of(9 * millisecond, 1.5 * millisecond, 8), 1);
    calls_add(&calls, call_of(8 * millisecond, 8 * millisecond, 0), 1);
    calls_add(&calls, call_of(8 * millisecond, 8 * millisecond, 0), 1);
    ok(calls_go_on(&calls), "three that nothing disturbed");
    calls_add(&calls, call_of(8 * millisecond, 8 * millisecond, 0), 1);
    ok(!calls_go_on(&calls), "are enough");
    calls = calls_for(arena, 1, millisecond);
    int count = add_all(&calls, call_of(500 * millisecond, 400 * millisecond, 30));
    ok(count == 1 && calls_disturbance(&calls).undisturbed == 3, "a very long one tells as much at once");
    calls = calls_for(arena, 1, millisecond);
    ok(add_all(&calls, call_of(2 * millisecond, 2 * millisecond, 0)) == 3, "not before they say something");
    ok(add_all(&calls, call_of(2 * millisecond, 2 * millisecond, 0)) == 0, "and then no more");
}

static CallSeen gang_call(double wall, double all_processor, bool examined) {
    CallSeen seen = call_of(wall, wall, 0);
    seen.all_processor = all_processor;
    seen.examined = examined;
    seen.loops = examined;
    seen.path = 80 * microsecond;
    seen.begin_and_end = 4 * microsecond;
    return seen;
}

/* Two threads: one may begin late, and the other waits for it. */
static void test_gang(Arena *arena) {
    Calls calls = calls_for(arena, 2, 0);
    add_all(&calls, gang_call(100 * microsecond, 195 * microsecond, false));
    ok(!calls_need_examining(&calls) && calls_times(&calls).seconds == 100 * microsecond,
       "threads that run together take the time of the clock");
    calls = calls_for(arena, 2, 0);
    for (int i = 0; i < 3; i++)
        calls_add(&calls, gang_call(10 * millisecond, 10 * millisecond, false), 1);
    ok(calls_need_examining(&calls) && calls_disturbance(&calls).undisturbed == 0,
       "where they do not, loops are watched");
    CallSeen late = gang_call(10 * millisecond, 10 * millisecond, true);
    late.begin_and_end = 9 * millisecond;
    for (int i = 0; i < 4; i++)
        calls_add(&calls, late, 1);
    ok(calls_need_examining(&calls) && calls_disturbance(&calls).undisturbed == 4, "which goes on");
    calls_add(&calls, gang_call(10 * millisecond, 10 * millisecond, true), 1);
    ok(fabs(calls_times(&calls).seconds - 84 * microsecond) < 1e-9, "a call takes that of its slowest thread, %g s",
       calls_times(&calls).seconds);
    CallSeen interrupted = gang_call(10 * millisecond, 10 * millisecond, true);
    interrupted.path_switches = 1;
    calls_add(&calls, interrupted, 1);
    is_int(calls_disturbance(&calls).undisturbed, 5, "unless a thread was interrupted in it");
}

/* Short calls of two threads begin when both have a processor, for as long as that may help. */
static void test_gathering(Arena *arena) {
    CallSeen waiting = gang_call(10 * millisecond, 10 * millisecond, false);
    Calls calls = calls_for(arena, 2, 0);
    calls.limits.about = 90 * microsecond;
    calls_add(&calls, waiting, 1);
    ok(!calls_need_gathering(&calls) && !calls_are_still(&calls), "one call may be disturbed");
    calls_add(&calls, waiting, 1);
    ok(calls_need_gathering(&calls) && !calls_need_examining(&calls), "where calls are, threads gather");
    for (int i = 0; i < 5; i++)
        calls_add(&calls, gang_call(100 * microsecond, 199 * microsecond, false), 1);
    ok(calls_are_still(&calls) && calls_need_gathering(&calls), "and go on with that");
    calls.total = 20 * calls.limits.min_seconds;
    ok(calls_go_on(&calls), "for some time, where few calls are still");
    calls_add(&calls, gang_call(100 * microsecond, 199 * microsecond, false), 1);
    ok(!calls_go_on(&calls) && calls_times(&calls).seconds == 100 * microsecond,
       "no longer than until they are enough");
    calls = calls_for(arena, 2, 0);
    calls.limits.about = 90 * microsecond;
    int count = 0;
    for (; count < 1000 && (count < 2 || !calls_need_examining(&calls)); count++)
        calls_add(&calls, waiting, 1);
    ok(calls_need_gathering(&calls) && calls_go_on(&calls), "if it does not help, they are examined too, after %d",
       count);
    calls = calls_for(arena, 2, 0);
    for (int i = 0; i < 2; i++)
        calls_add(&calls, waiting, 1);
    ok(!calls_need_gathering(&calls) && calls_need_examining(&calls), "and so are long calls at once");
    calls.limits.about = 90 * microsecond;
    calls.limits.hasty = true;
    ok(!calls_need_gathering(&calls) && calls_need_examining(&calls), "and those that nobody waits for");
    calls = calls_for(arena, 2, 0);
    calls.limits.about = 90 * microsecond;
    CallSeen asleep = gang_call(100 * microsecond, 140 * microsecond, false);
    asleep.all_waits = 1;
    for (int i = 0; i < 2; i++)
        calls_add(&calls, asleep, 1);
    ok(!calls_need_gathering(&calls) && calls_need_examining(&calls), "and those whose threads wait asleep");
}

/* A thread that worked while the other had no processor did so before or after the call. */
static void test_excess(Arena *arena) {
    Calls calls = calls_for(arena, 2, 0);
    calls_add(&calls, gang_call(300 * microsecond, 700 * microsecond, false), 1);
    ok(!calls_are_still(&calls), "who worked longer than the call took may have been late for it");
    calls_add(&calls, gang_call(300 * microsecond, 640 * microsecond, false), 1);
    ok(calls_are_still(&calls), "a little of that is what comes before and after it");
}

/* The fastest of a few gathered calls tell no more than the others do. */
static void test_gathered(Arena *arena) {
    Calls calls = calls_for(arena, 2, 0);
    calls.limits.about = 90 * microsecond;
    for (int i = 0; i < 2; i++)
        calls_add(&calls, gang_call(10 * millisecond, 10 * millisecond, false), 1);
    for (int i = 0; i < 8; i++)
        calls_add(&calls, gang_call((100 + i) * microsecond, 2 * (100 + i) * microsecond, false), 1);
    ok(fabs(calls_times(&calls).seconds - 102 * microsecond) < 1e-12, "still calls take their lower quartile, %g s",
       calls_times(&calls).seconds);
}

static void test_readings(void) {
    ok(reading_seconds(&(Reading){5, 2, 3, 1}) == 2, "who is interrupted works for as long as its own clock says");
    ok(reading_seconds(&(Reading){5, 2, 0, 1}) == 5, "who waits by itself for as long as that of the wall");
    ok(reading_seconds(&(Reading){5, 5.1, 0, 0}) == 5, "which is the longest that it can be");
}

/* Short calls are timed many in a row. */
static void test_groups(Arena *arena) {
    Calls calls = calls_for(arena, 1, 0);
    for (int i = 0; i < 3; i++)
        calls_add(&calls, call_of(64 * microsecond, 64 * microsecond, 0), 64);
    ok(fabs(calls_times(&calls).seconds - microsecond) < 1e-12, "a call is one part of several in a row");
    ok(fabs(calls.undisturbed - 192 * microsecond) < 1e-12, "which all count as time");
}

int main(void) {
    Arena *arena = arena_new();
    test_quiet(arena);
    test_short(arena);
    test_long(arena);
    test_slow(arena);
    test_gang(arena);
    test_gathering(arena);
    test_excess(arena);
    test_gathered(arena);
    test_readings();
    test_groups(arena);
    arena_free(arena);
    return done_testing();
}
