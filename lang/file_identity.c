/* file_identity.c - which file a path means: device and inode, of the file or of the last folder that is there. */
#include "lang/files.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

enum { LINK_LIMIT = 40 }; /* as many links as Linux follows */

/* Where a relative link of the folder of `path` points to. */
static char *beside(Arena *arena, const char *path, const char *name) {
    const char *slash = strrchr(path, '/');
    if (*name == '/' || !slash)
        return arena_strdup(arena, name);
    return arena_printf(arena, "%.*s%s", (int)(slash + 1 - path), path, name);
}

const char *file_behind_links(Arena *arena, const char *path) {
    char target[PATH_MAX];
    for (int i = 0; i < LINK_LIMIT; i++) {
        ssize_t length = readlink(path, target, sizeof target - 1);
        if (length < 0)
            return path; /* not a link, or not there: whoever opens it finds out */
        target[length] = '\0';
        path = beside(arena, path, target);
    }
    errno = ELOOP;
    return NULL;
}

/* The folder of the path, "." for a mere name; its last name goes to *name. */
static char *split_path(Arena *arena, const char *path, const char **name) {
    size_t end = strlen(path);
    while (end > 1 && path[end - 1] == '/')
        end--;
    size_t begin = end;
    while (begin > 0 && path[begin - 1] != '/')
        begin--;
    *name = arena_strndup(arena, path + begin, end - begin);
    return begin ? arena_strndup(arena, path, begin) : arena_strdup(arena, ".");
}

/* Names below a folder that is not there: it will be made as a real one, so ".." leads back out of it. */
static void push_name(Arena *arena, FileIdentity *identity, const char *name, int *up) {
    if (!strcmp(name, "."))
        return;
    if (!strcmp(name, ".."))
        ++*up;
    else if (*up > 0)
        --*up;
    else
        identity->rest = *identity->rest ? arena_printf(arena, "%s/%s", name, identity->rest) : name;
}

FileIdentity file_identity(Arena *arena, const char *path) {
    FileIdentity identity = {.rest = "", .shared = !strcmp(path, "-")};
    struct stat state = {0};
    int up = 0;
    while (!identity.shared && stat(path, &state)) {
        const char *name, *real = file_behind_links(arena, path);
        if (!real || !*real || !strcmp(real, "/") || !strcmp(real, "."))
            break;
        path = split_path(arena, real, &name);
        push_name(arena, &identity, name, &up);
    }
    for (; up > 0; up--)
        path = arena_printf(arena, "%s/..", path);
    stat(path, &state);
    identity.exists = !*identity.rest && state.st_ino;
    identity.shared |= identity.exists && !S_ISREG(state.st_mode);
    identity.device = state.st_dev;
    identity.inode = state.st_ino;
    return identity;
}

bool file_is_same(const FileIdentity *a, const FileIdentity *b) {
    return !a->shared && !b->shared && a->device == b->device && a->inode == b->inode && !strcmp(a->rest, b->rest);
}
