/* The test harness itself: what passes passes, and a child shows that what fails fails. */
#include "tests/tap.h"
#include <sys/wait.h>
#include <unistd.h>

/* The exit status of a child that runs `body`, whose output is thrown away. */
static int status_of(void (*body)(void)) {
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr))
            _exit(99);
        tap.run = tap.failed = tap.planned = 0;
        body();
        _exit(done_testing());
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void passes(void) {
    ok(true, "true");
    is_int(3, 3, "3");
    is_text("a", "a", "a");
    is_close(1.0, 1.5, 0.5, "near");
    skip(1, "a reason");
}
static void fails_ok(void) {
    ok(false, "false");
}
static void fails_int(void) {
    is_int(3, 4, "3");
}
static void fails_text(void) {
    is_text("a", NULL, "a");
}
static void fails_close(void) {
    is_close(1.0, NAN, 10, "NaN");
}
static void fails_plan(void) {
    plan(2);
    ok(true, "the only one");
}

int main(void) {
    ok(status_of(passes) == 0, "what holds passes");
    ok(status_of(fails_ok) == 1, "ok() notices what does not hold");
    ok(status_of(fails_int) == 1, "is_int() notices a difference");
    ok(status_of(fails_text) == 1, "is_text() notices a difference");
    ok(status_of(fails_close) == 1, "is_close() notices a difference");
    ok(status_of(fails_plan) == 1, "a plan that is not kept fails");
    return done_testing();
}
