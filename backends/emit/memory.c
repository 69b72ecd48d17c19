/* memory.c - lets C++ libraries report running out of memory as everything here does.
 *
 * Their functions for it have no C names. If a library lacks them it ends the program by abort, with the same status.
 */
#include "backends/emit/emit.h"

#include <signal.h>
#include <unistd.h>

typedef void NewHandler(void);
typedef void AllocationHandler(void *context, const char *reason, bool crash);
NewHandler *set_new_handler(NewHandler *handler) __asm__("_ZSt15set_new_handlerPFvvE") __attribute__((weak));
void install_allocation_handler(AllocationHandler *handler,
                                void *context) __asm__("_ZN4llvm31install_bad_alloc_error_handlerEPFvPvPKcbES0_")
    __attribute__((weak));

static void on_allocation(void *context, const char *reason, bool crash) {
    out_of_memory();
}

static void on_abort(int number) {
    static const char text[] = "tensorc: internal error: aborted\n";
    ssize_t written = write(STDERR_FILENO, text, sizeof text - 1);
    (void)written;
    _exit(3);
}

void catch_memory_ends(void) {
    if (set_new_handler)
        set_new_handler(out_of_memory);
    if (install_allocation_handler)
        install_allocation_handler(on_allocation, NULL);
    signal(SIGABRT, on_abort);
}
