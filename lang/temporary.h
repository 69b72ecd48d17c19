/* temporary.h - files beside others whose places they will take; what a killed process has left of them goes.
 */
#ifndef LANG_TEMPORARY_H
#define LANG_TEMPORARY_H

#include "lang/arena.h"

#include <stdbool.h>

/* A new file in the folder of the path, open to be written and held by a lock; the kernel applies the umask. Below 0
 * with errno set. */
int temporary_open(Arena *arena, const char *path, char **name);
/* Gives such a name to a file that has none; source is its path in /proc. False with errno set. */
bool temporary_link(Arena *arena, int file, const char *source, const char *path, char **name);
const char *folder_of(Arena *arena, const char *path); /* with its slash */

#endif
