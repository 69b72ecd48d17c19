/* stdlib.c - finds an embedded file by its import name. */
#include "stdlib/stdlib.h"
#include <string.h>

const StdlibFile *stdlib_find(const char *name) {
    for (const StdlibFile *file = stdlib_files; file->name; file++)
        if (strcmp(file->name, name) == 0)
            return file;
    return NULL;
}
