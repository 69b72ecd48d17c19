/* stdlib.h - the .tensor files that are part of the compiler: what `import "nn"` finds when no file of that name does.
 */
#ifndef STDLIB_STDLIB_H
#define STDLIB_STDLIB_H

#include <stddef.h>

typedef struct StdlibFile {
    const char *name; /* "nn" */
    const char *text;
    size_t length;
} StdlibFile;

/* In the order of the names, ended by a NULL name. Made by embed.sh of stdlib/NAME.tensor. */
extern const StdlibFile stdlib_files[];

/* The file of an import name, or NULL. */
const StdlibFile *stdlib_find(const char *name);

#endif
