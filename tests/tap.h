/* tap.h - the Test Anything Protocol for unit tests in C: prove reads what these functions print.
 *
 * A test is a program: calls of ok() and the is_ functions, then `return done_testing();`. Each prints one numbered
 * line; one that fails prints, after "#", where and what it got. plan() at the start is optional and then counted
 * against.
 */
#ifndef TESTS_TAP_H
#define TESTS_TAP_H

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static struct { int planned, run, failed; } tap;

#define ok(condition, ...) tap_ok((condition), __FILE__, __LINE__, __VA_ARGS__)
#define is_int(got, wanted, ...) tap_is_int((got), (wanted), __FILE__, __LINE__, __VA_ARGS__)
#define is_text(got, wanted, ...) tap_is_text((got), (wanted), __FILE__, __LINE__, __VA_ARGS__)
/* Within the given distance, or both NaN. */
#define is_close(got, wanted, distance, ...) tap_is_close((got), (wanted), (distance), __FILE__, __LINE__, __VA_ARGS__)

__attribute__((unused)) static void plan(int count) {
    tap.planned = count;
    printf("1..%d\n", count);
}

/* A line of explanation that prove shows with a failure. Text of several lines becomes several. */
__attribute__((unused, format(printf, 1, 2))) static void diag_line(const char *format, ...) {
    char text[4096];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fflush(stdout);
    for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        fprintf(stderr, "# %.*s\n", (int)strcspn(line, "\n"), line);
}

static bool tap_report(bool passed, const char *file, int line, const char *format, va_list arguments) {
    printf("%sok %d - ", passed ? "" : "not ", ++tap.run);
    vprintf(format, arguments);
    putchar('\n');
    if (!passed) {
        tap.failed++;
        diag_line("failed at %s:%d", file, line);
    }
    fflush(stdout);
    return passed;
}

#define TAP_REPORT(passed)                                                                                             \
    va_list arguments;                                                                                                 \
    va_start(arguments, format);                                                                                       \
    bool reported = tap_report((passed), file, line, format, arguments);                                               \
    va_end(arguments)

__attribute__((unused, format(printf, 4, 5))) static bool tap_ok(bool passed, const char *file, int line,
                                                                 const char *format, ...) {
    TAP_REPORT(passed);
    return reported;
}

__attribute__((unused, format(printf, 5, 6))) static bool tap_is_int(int64_t got, int64_t wanted, const char *file,
                                                                     int line, const char *format, ...) {
    TAP_REPORT(got == wanted);
    if (!reported)
        diag_line("got %" PRId64 ", wanted %" PRId64, got, wanted);
    return reported;
}

__attribute__((unused, format(printf, 5, 6))) static bool
tap_is_text(const char *got, const char *wanted, const char *file, int line, const char *format, ...) {
    TAP_REPORT(got && wanted ? strcmp(got, wanted) == 0 : got == wanted);
    if (!reported)
        diag_line("got:\n%s\nwanted:\n%s", got ? got : "(null)", wanted ? wanted : "(null)");
    return reported;
}

__attribute__((unused, format(printf, 6, 7))) static bool
tap_is_close(double got, double wanted, double distance, const char *file, int line, const char *format, ...) {
    TAP_REPORT(got == wanted || fabs(got - wanted) <= distance || (isnan(got) && isnan(wanted)));
    if (!reported)
        diag_line("got %.17g, wanted %.17g within %g", got, wanted, distance);
    return reported;
}

/* Counts `count` tests as passed that could not be run, and says why. */
__attribute__((unused)) static void skip(int count, const char *reason) {
    for (int i = 0; i < count; i++)
        printf("ok %d # SKIP %s\n", ++tap.run, reason);
}

/* The exit status of the test program: 0 when every test passed and as many ran as planned. */
__attribute__((unused)) static int done_testing(void) {
    if (!tap.planned)
        printf("1..%d\n", tap.run);
    fflush(stdout);
    return tap.failed || (tap.planned && tap.planned != tap.run);
}

#endif
