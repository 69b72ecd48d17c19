/* The law of schedules at sizes known at run time only: LAW_NAME chooses the def; plain_NAME is compiled at -O0 without
 * a schedule, scheduled_NAME with one. Both get the same inputs, at all combinations of small sizes. */
#include "plain.h"
#include "scheduled.h"
#include "tests/tap.h"
#include <stdlib.h>

static const int64_t sizes[] = {0, 1, 2, 3, 5, 13, 16, 17, 33};
enum { SIZES = sizeof sizes / sizeof *sizes, ROOM = 40 * 40 };

static float A[ROOM], B[ROOM], plain[ROOM + 1], scheduled[ROOM + 1];

/* One pair of calls at the sizes given: the statuses, both 0 where the sizes are allowed. */
typedef struct Statuses {
    int plain, scheduled;
} Statuses;

#if defined LAW_matmul
enum { COUNT = 3 };
static Statuses call(const int64_t *s) {
    return (Statuses){plain_matmul(s[0], s[1], s[2], A, B, plain), scheduled_matmul(s[0], s[1], s[2], A, B, scheduled)};
}
#elif defined LAW_softmax
enum { COUNT = 2 };
static Statuses call(const int64_t *s) {
    return (Statuses){plain_softmax(s[0], s[1], A, plain), scheduled_softmax(s[0], s[1], A, scheduled)};
}
#elif defined LAW_blur
enum { COUNT = 2 };
static Statuses call(const int64_t *s) {
    return (Statuses){plain_blur(s[0], s[1], A, plain), scheduled_blur(s[0], s[1], A, scheduled)};
}
#endif

/* Equal but for the order of sums, also where neither was to write. */
static bool agree(Statuses statuses) {
    if (statuses.plain != statuses.scheduled)
        return false;
    for (int i = 0; i <= ROOM; i++)
        if (!(fabs((double)plain[i] - scheduled[i]) <= 1e-4))
            return false;
    return true;
}

static void check_all(int64_t *chosen, int depth, int *failed, int *ran) {
    if (depth < COUNT) {
        for (int i = 0; i < SIZES; i++) {
            chosen[depth] = sizes[i];
            check_all(chosen, depth + 1, failed, ran);
        }
        return;
    }
    for (int i = 0; i <= ROOM; i++)
        plain[i] = scheduled[i] = 12345;
    Statuses statuses = call(chosen);
    *ran += statuses.plain == 0;
    if (!agree(statuses) && (*failed)++ < 5)
        diag_line("sizes %d, %d, %d: statuses %d and %d", (int)chosen[0], (int)chosen[1],
                  COUNT > 2 ? (int)chosen[2] : 0, statuses.plain, statuses.scheduled);
}

int main(void) {
    int64_t chosen[COUNT] = {0};
    int failed = 0, ran = 0;
    for (int i = 0; i < ROOM; i++) {
        A[i] = (float)(i * 37 % 101) / 101;
        B[i] = (float)(i * 53 % 103) / 103 - 0.5f;
    }
    check_all(chosen, 0, &failed, &ran);
    is_int(failed, 0, "scheduled is plain at all sizes");
    ok(ran >= SIZES * SIZES / 4, "%d combinations of sizes ran", ran);
    return done_testing();
}
