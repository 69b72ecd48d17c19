/* stdlib.h - the .tensor files that are part of the compiler: `import "nn"` finds them if no file has the name. */
#ifndef STDLIB_STDLIB_H
#define STDLIB_STDLIB_H

#include <stddef.h>

typedef struct StdlibFile {
    const char *name; /* "nn" */
    const char *text;
    size_t length;
} StdlibFile;

/* Sorted by name; the last one has a NULL name. embed.sh makes the table from stdlib/NAME.tensor. */
extern const StdlibFile stdlib_files[];

/* The names of those with defs that implement others, ended by NULL. */
extern const char *const stdlib_algorithms[];

/* The file with the import name, or NULL. */
const StdlibFile *stdlib_find(const char *name);

#endif
