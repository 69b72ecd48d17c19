/* reading.h - the checked module of a .tensor file, as the compiler reads it. */
#ifndef TESTS_BENCH_READING_H
#define TESTS_BENCH_READING_H

#include "parser/ast.h"
#include "sema/sema.h"
#include "stdlib/stdlib.h"

static inline uint32_t find_embedded(void *context, Sources *sources, const char *name) {
    const StdlibFile *file = stdlib_find(name);
    return file == NULL ? 0 : (uint32_t)source_add(sources, file->name, file->text, file->length, true);
}

/* folder: where imports are looked for, too; or NULL. NULL: the file cannot be read, or, after messages, has errors. */
static inline Module *read_module(Arena *arena, const char *path, const char *folder) {
    Sources *sources = ARENA_NEW(arena, Sources);
    sources->arena = arena;
    int file = source_read(sources, path);
    if (file == 0)
        return NULL;
    Diagnostics *diagnostics = diag_new(arena, sources, (DiagOptions){.no_warnings = true});
    AstFile *tree = parse_file(arena, sources, (uint32_t)file, diagnostics);
    SemaOptions options = {.find_embedded = find_embedded, .path_count = folder != NULL, .paths = &folder};
    Module *module = sema_check(arena, sources, tree, &options, diagnostics);
    return diag_finish(diagnostics) > 0 ? NULL : module;
}

#endif
