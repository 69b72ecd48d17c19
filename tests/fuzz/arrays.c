/* arrays.c - the .npy files that cases name, in a folder of this run: what is in them follows from their names,
 * TYPE-EXTENTxEXTENT-SEED.npy, so that the text of a case says all.
 */
#include "lang/files.h"
#include "backends/backends.h"
#include "fuzz.h"
#include "lang/npy.h"
#include "lang/value.h"
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RANK_MOST = 8, ARRAY_LIMIT = 1 << 20 };

static char folder[4096];
static pid_t owner;

const char *arrays_folder(void) {
    const char *parent = getenv("TMPDIR");
    if (*folder)
        return folder;
    snprintf(folder, sizeof folder, "%s/tensorc-fuzz-XXXXXX", parent && *parent ? parent : "/tmp");
    if (!mkdtemp(folder)) {
        perror(folder);
        exit(2);
    }
    owner = getpid();
    return folder;
}

void arrays_remove(void) {
    DIR *open = *folder && owner == getpid() ? opendir(folder) : NULL;
    for (struct dirent *entry; open && (entry = readdir(open));) {
        char path[sizeof folder + sizeof entry->d_name + 1];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        unlink(path);
    }
    if (open) {
        closedir(open);
        rmdir(folder);
    }
}

/* The type whose spelling ends where the extents begin; TYPE_COUNT: none. */
static ElementType type_of_name(const char *name, size_t length) {
    int type = 0;
    while (type < TYPE_COUNT &&
           (strlen(element_info[type].spelling) != length || strncmp(element_info[type].spelling, name, length)))
        type++;
    return (ElementType)type;
}

/* False: no such name. */
static bool read_name(const char *name, ElementType *type, int *rank, int64_t *shape, uint64_t *seed) {
    const char *at = strchr(name, '-');
    *type = at ? type_of_name(name, (size_t)(at - name)) : TYPE_COUNT;
    if (*type == TYPE_COUNT)
        return false;
    char *end = (char *)at;
    for (*rank = 0; *rank < RANK_MOST && (*rank == 0 || *end == 'x'); ++*rank)
        shape[*rank] = strtoll(end + 1, &end, 10);
    *seed = strtoull(end + (*end == '-'), NULL, 10);
    return *end == '-';
}

static void make_array(Arena *arena, const char *name) {
    ElementType type;
    int rank;
    int64_t shape[RANK_MOST], elements = 1;
    uint64_t seed;
    if (!read_name(name, &type, &rank, shape, &seed))
        return;
    for (int d = 0; d < rank; d++)
        if (shape[d] < 0 || __builtin_mul_overflow(elements, shape[d], &elements) || elements > ARRAY_LIMIT)
            return;
    void *data = arena_alloc(arena, (size_t)elements * element_info[type].bytes + 16);
    fill_random(type, data, elements, seed, integer_limit(type, false) < 0 ? -2 : 0, type == TYPE_BOOL ? 1 : 6);
    Text bytes = npy_text(arena, type, rank, shape, data);
    const char *path = arena_printf(arena, "%s/%s", arrays_folder(), name);
    if (access(path, F_OK))
        write_whole(path, bytes.text, bytes.length);
}

void make_arrays(Arena *arena, const char *text) {
    for (const char *at = text; (at = strstr(at, "=\"")); at += 2) {
        const char *name = arena_strndup(arena, at + 2, strcspn(at + 2, "\"\n"));
        size_t length = strlen(name);
        if (length > 4 && !strcmp(name + length - 4, ".npy") && !strchr(name, '/'))
            make_array(arena, name);
    }
}
