/* child.c - what each process does first that the compiler forks. */
#include "lang/child.h"

#include "lang/ending_signals.h"

#include <sys/prctl.h>
#include <unistd.h>

void child_begin(pid_t parent) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(0);
    struct sigaction action;
    for (int i = 0; i < ENDING_SIGNALS; i++)
        if (!sigaction(ending_signals[i], NULL, &action) && action.sa_handler != SIG_IGN)
            signal(ending_signals[i], SIG_DFL);
}
