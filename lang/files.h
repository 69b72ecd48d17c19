/* files.h - files by what they are, not by how their names are spelt, and files written whole or not at all. */
#ifndef LANG_FILES_H
#define LANG_FILES_H

#include "lang/arena.h"

#include <stdbool.h>
#include <sys/stat.h>

/* Which file a path means once links are followed, also one that is not there yet: that is known by the last folder on
 * its way that exists, and the names below that. */
typedef struct FileIdentity {
    bool shared; /* a device, a pipe or standard output: takes several outputs */
    bool exists;
    dev_t device;
    ino_t inode;
    const char *rest; /* the names below, without "." and ".."; "" for a file that exists */
} FileIdentity;

FileIdentity file_identity(Arena *arena, const char *path);
/* Whether writing one would take the place of the other. */
bool file_is_same(const FileIdentity *a, const FileIdentity *b);

/* Writes all to an open file or pipe. False with errno set. */
bool write_all(int file, const void *data, size_t bytes);
/* Writes a file without a name, or a temporary one beside path, and gives it that name: whole or not at all. "-" is
 * standard output; devices and pipes are written in place. False with errno set, nothing left behind. */
bool write_whole(const char *path, const void *data, size_t bytes);
/* Whether standard output is a pipe that nobody reads any more, as after head: what is written there from then on is
 * dropped, and that is no error. */
bool nobody_reads_output(void);
/* Writes what is printed to standard output; false with errno set. */
bool flush_standard_output(void);
/* The same, of parts that follow each other: none is copied. */
typedef struct FilePart {
    const void *data;
    size_t bytes;
} FilePart;
bool write_whole_parts(const char *path, const FilePart *parts, int count);
/* Whether that would go well now, room for the data apart. False with errno set. */
bool can_write_whole(const char *path);
/* The file that the path means once links are followed, also one that does not exist yet. NULL with errno set. */
const char *file_behind_links(Arena *arena, const char *path);

#endif
