/* child.h - processes that the compiler forks. */
#ifndef LANG_CHILD_H
#define LANG_CHILD_H

#include <sys/types.h>

/* In a child that was just forked: it ends with its parent, at once where that has ended already. Signals that ask a
 * program to end do so, without the compiler's handlers; those that it ignores, as under nohup, stay ignored. */
void child_begin(pid_t parent);

#endif
