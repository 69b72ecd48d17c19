/* object.h - data that an object gets after the code generator made it. */
#ifndef BACKENDS_OBJECT_H
#define BACKENDS_OBJECT_H

#include <stdbool.h>
#include <stddef.h>

/* What an undefined symbol of an object is to stand for. */
typedef struct ObjectData {
    const char *symbol;
    size_t bytes;
    void (*write)(const void *context, void *to); /* all bytes, which are 0 before; aligned to 16 */
    const void *context;
} ObjectData;

/* Defines the symbols that it needs as read-only data behind the rest of an ELF64 object for a little-endian machine, each
 * begun at a line of a cache. The object is malloc'ed and moves. False when it is no such object or memory is out: it is
 * as it was. */
bool object_add_data(char **object, size_t *bytes, const ObjectData *data, int count);

#endif
