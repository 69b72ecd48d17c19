/* objects.c - see objects.h. */
#include "objects.h"
#include "lang/files.h"
#include "tests/tap.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

/* Its path is part of commands and of rules for make: a place whose name has blanks is not taken. */
const char *work_folder_make(Arena *arena) {
    const char *place = getenv("TMPDIR");
    bool plain = place && *place && !strpbrk(place, " \t\n'\"$");
    char *folder = arena_printf(arena, "%s/tensorc-XXXXXX", plain ? place : "/tmp");
    return mkdtemp(folder);
}

void work_folder_remove(const char *folder) {
    char command[4200];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command) != 0)
        diag_line("cannot remove %s", folder);
}

const char *c_compiler(void) {
    const char *compiler = getenv("CC");
    return compiler && *compiler ? compiler : "cc";
}

char *compile_c(Arena *arena, const char *text, size_t *bytes) {
    const char *folder = work_folder_make(arena), *path = arena_printf(arena, "%s/text.o", folder);
    FILE *pipe = popen(arena_printf(arena, "%s -O1 -fPIC -w -x c -c -o '%s' -", c_compiler(), path), "w");
    fputs(text, pipe);
    FILE *file = pclose(pipe) ? NULL : fopen(path, "rb");
    char *object = NULL;
    if (file) {
        fseek(file, 0, SEEK_END);
        *bytes = (size_t)ftell(file);
        rewind(file);
        object = arena_alloc(arena, *bytes + 1);
        *bytes = fread(object, 1, *bytes, file);
        fclose(file);
    }
    work_folder_remove(folder);
    return object;
}

bool command_works(const char *command) {
    char quiet[8400];
    snprintf(quiet, sizeof quiet, "(%s) >/dev/null 2>&1", command);
    return system(quiet) == 0;
}

bool write_object(const char *path, Kernel *const *kernels, int count, const Target *target,
                  const EmitOptions *options) {
    size_t bytes;
    const char *why = NULL;
    char *object = backend_of(target)->emit(kernels, count, target, options, &bytes, &why);
    bool written = object && write_whole(path, object, bytes);
    if (!written)
        diag_line("no object: %s", why ? why : path);
    free(object);
    return written;
}

static bool write_parallel(const char *path) {
    static const char text[] =
        "#include <stdint.h>\n"
        "void tensorc_parallel(void (*body)(void *, int64_t, int64_t), void *closure, int64_t n);\n"
        "void tensorc_parallel(void (*body)(void *, int64_t, int64_t), void *closure, int64_t n) {\n"
        "    for (int part = 2; part >= 0; part--)\n"
        "        body(closure, n * part / 3, n * (part + 1) / 3);\n"
        "}\n";
    return write_whole(path, text, sizeof text - 1);
}

void *load_kernels(const char *folder, Kernel *const *kernels, int count, const Target *target,
                   const EmitOptions *options) {
    char object[4200], library[4200], threads[4200], command[16000];
    snprintf(object, sizeof object, "%s/kernels.o", folder);
    snprintf(threads, sizeof threads, "%s/parallel.c", folder);
    snprintf(library, sizeof library, "%s/kernels.so", folder);
    snprintf(command, sizeof command, "%s -shared -fPIC -o '%s' '%s' '%s' -fopenmp -lm", c_compiler(), library, object,
             threads);
    if (!write_object(object, kernels, count, target, options) || !write_parallel(threads) || system(command) != 0)
        return NULL;
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        diag_line("%s", dlerror());
    unlink(library); /* the next one is another file, or dlopen would return this one */
    return handle;
}

void unload_kernels(void *library) {
    void (*release)(void) = (void (*)(void))dlsym(library, "tensorc_release");
    if (release)
        release();
    dlclose(library);
}

EntryFunction *entry_of(void *library, const char *name) {
    char symbol[256];
    snprintf(symbol, sizeof symbol, "%s_call", name);
    return (EntryFunction *)dlsym(library, symbol);
}
