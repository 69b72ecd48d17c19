/* stack.c - the stack of the first thread, which the kernel lets grow up to the limit of the moment; it keeps room for
 * STACK_BYTES at least. Afterwards the limit is the user's again, as processes that are started inherit it.
 */
#include "lang/stack.h"

#include <sys/resource.h>

enum { MANY_STAGES = 500, STACK_BYTES = 120 << 20 };

static rlim_t lower(rlim_t a, rlim_t b) {
    return a < b ? a : b;
}

StackLimit stack_widen(int stages) {
    struct rlimit limit;
    if (stages < MANY_STAGES || getrlimit(RLIMIT_STACK, &limit) ||
        limit.rlim_cur >= lower(limit.rlim_max, STACK_BYTES))
        return (StackLimit){false, 0};
    StackLimit before = {true, limit.rlim_cur};
    limit.rlim_cur = lower(limit.rlim_max, STACK_BYTES);
    before.widened = !setrlimit(RLIMIT_STACK, &limit);
    return before;
}

void stack_restore(StackLimit before) {
    struct rlimit limit;
    if (!before.widened || getrlimit(RLIMIT_STACK, &limit))
        return;
    limit.rlim_cur = (rlim_t)before.bytes;
    setrlimit(RLIMIT_STACK, &limit);
}
