/* source.c - reading source files and finding lines and columns in them. */
#include "lang/source.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Places are 32 bits wide; a longer file is refused with EFBIG. */
static bool read_stream(Text *text, FILE *stream) {
    char piece[16 << 10];
    size_t count;
    while ((count = fread(piece, 1, sizeof piece, stream)) > 0) {
        if (text->length + count > INT32_MAX) {
            errno = EFBIG;
            return false;
        }
        text_add_bytes(text, piece, count);
    }
    return !ferror(stream);
}

int source_read(Sources *sources, const char *path) {
    FILE *stream = fopen(path, "rb");
    if (!stream)
        return 0;
    Text text = {.arena = sources->arena};
    text_add_bytes(&text, "", 0);
    bool complete = read_stream(&text, stream);
    int reason = errno;
    struct stat file;
    bool known = fstat(fileno(stream), &file) == 0;
    fclose(stream);
    errno = reason;
    if (!complete)
        return 0;
    int number = source_add(sources, arena_strdup(sources->arena, path), text.text, text.length, false);
    if (known) {
        sources->list.items[number - 1].device = file.st_dev;
        sources->list.items[number - 1].inode = file.st_ino;
    }
    return number;
}

int source_find(const Sources *sources, const char *path) {
    struct stat file;
    if (stat(path, &file) != 0)
        return 0;
    for (int i = 0; i < sources->list.count; i++) {
        const Source *source = &sources->list.items[i];
        if (source->inode == file.st_ino && source->device == file.st_dev && source->inode)
            return i + 1;
    }
    return 0;
}

int source_add(Sources *sources, const char *name, const char *text, size_t length, bool embedded) {
    Source source = {.name = name, .text = text, .length = length, .embedded = embedded};
    list_push(sources->arena, &sources->list, source);
    return sources->list.count;
}

const Source *source_get(const Sources *sources, uint32_t file) {
    return file >= 1 && file <= (uint32_t)sources->list.count ? &sources->list.items[file - 1] : NULL;
}

void source_position(const Source *source, uint32_t offset, int *line, int *column) {
    size_t end = offset < source->length ? offset : source->length, start = 0;
    *line = 1;
    for (const char *at = source->text; (at = memchr(at, '\n', end - (size_t)(at - source->text))); at++) {
        *line += 1;
        start = (size_t)(at - source->text) + 1;
    }
    *column = (int)(end - start) + 1;
}

Loc loc_join(Loc a, Loc b) {
    if (!a.file || !b.file || a.file != b.file)
        return a.file ? a : b;
    return (Loc){a.file, a.begin < b.begin ? a.begin : b.begin, a.end > b.end ? a.end : b.end};
}
