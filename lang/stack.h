/* stack.h - room on the stack for what goes as deep as a program is long: statements inside the allocations of all
 * buffers around them, elements that are computed on demand.
 */
#ifndef LANG_STACK_H
#define LANG_STACK_H

#include <stdbool.h>
#include <stdint.h>

typedef struct StackLimit {
    bool widened;
    uint64_t bytes; /* the limit before */
} StackLimit;

/* For a program of so many stages; a short one has room enough. Call it from the program's first thread. */
StackLimit stack_widen(int stages);
void stack_restore(StackLimit before);

#endif
