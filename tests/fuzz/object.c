/* object.c - compiled cases: each buffer ends, or begins, where a page begins that must not be touched; what a function
 * only reads may not be written; what it allocates lies the same way.
 *
 * The memory is mapped once and used again. Parallel loops run in two threads where the case says so.
 */
#include "backends/backends.h"
#include "backends/run/loader.h"
#include "fuzz.h"
#include "tests/unit/objects.h"
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, REGION_LIMIT = 64, ALIGNMENT = 64 };

/* --- guarded memory ----------------------------------------------------------------------------------------------- */

typedef struct Region {
    uint8_t *pages; /* one that is not mapped before and after */
    size_t size;
} Region;

/* Zeroed pages between two that fault. */
static Region region_make(size_t bytes) {
    Region region = {.size = (bytes + PAGE - 1) / PAGE * PAGE};
    uint8_t *all = mmap(NULL, region.size + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED || (region.size && mprotect(all + PAGE, region.size, PROT_READ | PROT_WRITE)))
        abort();
    region.pages = all + PAGE;
    return region;
}

static void region_free(const Region *region) {
    munmap(region->pages - PAGE, region->size + 2 * PAGE);
}

/* At the end of the pages, or at their start. */
static void *region_place(const Region *region, size_t bytes, bool at_start) {
    return at_start ? region->pages : region->pages + region->size - bytes;
}

/* What the function allocates: aligned_alloc and free in its place. */
static Region allocated[REGION_LIMIT];

static void *guarded_alloc(size_t alignment, size_t bytes) {
    for (int i = 0; i < REGION_LIMIT; i++)
        if (!allocated[i].pages) {
            size_t rounded = (bytes + alignment - 1) / alignment * alignment;
            allocated[i] = region_make(rounded);
            memset(allocated[i].pages, 0xA5, allocated[i].size);
            return region_place(&allocated[i], rounded, false);
        }
    return aligned_alloc(alignment, bytes);
}

static void guarded_free(void *memory) {
    for (int i = 0; i < REGION_LIMIT; i++)
        if (allocated[i].pages && (uint8_t *)memory >= allocated[i].pages &&
            (uint8_t *)memory <= allocated[i].pages + allocated[i].size) {
            region_free(&allocated[i]);
            allocated[i].pages = NULL;
            return;
        }
    free(memory);
}

/* --- parallel loops ----------------------------------------------------------------------------------------------- */

typedef void LoopBody(void *closure, int64_t begin, int64_t end);

typedef struct Part {
    LoopBody *body;
    void *closure;
    int64_t begin, end;
} Part;

static void *run_part(void *part) {
    const Part *p = part;
    p->body(p->closure, p->begin, p->end);
    return NULL;
}

static void run_parallel(LoopBody *body, void *closure, int64_t count) {
    Part second = {body, closure, count / 2, count}, first = {body, closure, 0, count / 2};
    pthread_t thread;
    bool started = !pthread_create(&thread, NULL, run_part, &second);
    run_part(&first);
    if (started)
        pthread_join(thread, NULL);
    else
        run_part(&second);
}

/* Later values first. */
static void run_backwards(LoopBody *body, void *closure, int64_t count) {
    for (int part = 2; part >= 0; part--)
        body(closure, count * part / 3, count * (part + 1) / 3);
}

/* --- calling ------------------------------------------------------------------------------------------------------ */

static int call_guarded(EntryFunction *entry, const Checked *c, void *const *arguments, const int64_t *bytes) {
    int count = c->program->argument_count;
    Region regions[count + 1];
    void *placed[count + 1];
    for (int i = 0; i < count; i++) {
        const Tensor *tensor = c->program->arguments[i].tensor;
        regions[i] = region_make((size_t)bytes[i]);
        placed[i] = region_place(&regions[i], (size_t)bytes[i], (c->data >> 4 & 1) != 0);
        memcpy(placed[i], arguments[i], (size_t)bytes[i]);
        bool output = tensor && tensor->role == ROLE_OUTPUT;
        if (!output && regions[i].size)
            mprotect(regions[i].pages, regions[i].size, PROT_READ);
    }
    int status = entry(c->sizes, placed);
    for (int i = 0; i < count; i++) {
        memcpy(arguments[i], placed[i], (size_t)bytes[i]);
        region_free(&regions[i]);
    }
    return status;
}

static bool all_freed(void) {
    for (int i = 0; i < REGION_LIMIT; i++)
        if (allocated[i].pages)
            return false;
    return true;
}

int object_run(Arena *arena, const Kernel *kernel, const Checked *c, void *const *arguments, const int64_t *bytes,
               const char **why) {
    EmitOptions options = {.kind = EMIT_OBJECT, .pic = true, .candidate = true, .verify = true};
    LoaderSymbol symbols[] = {{"tensorc_parallel", (void *)(c->threads > 1 ? run_parallel : run_backwards), 0},
                              {"aligned_alloc", (void *)guarded_alloc, 0},
                              {"free", (void *)guarded_free, 0}};
    size_t size = 0;
    const char *reason = NULL;
    fuzz_step = "compiling";
    char *object = backend_of(c->target)->emit((Kernel *[]){(Kernel *)kernel}, 1, c->target, &options, &size, &reason);
    LoadedObject *loaded = object ? loader_load(arena, object, size, symbols, 3, &reason) : NULL;
    const char *name = arena_printf(arena, "%s_call", c->program->symbol);
    EntryFunction *entry = loaded ? (EntryFunction *)loader_find(loaded, name) : NULL;
    int status = -1;
    free(object);
    fuzz_step = "running the object";
    if (entry)
        status = call_guarded(entry, c, arguments, bytes);
    else
        *why = reason ? reason : "the object has no entry";
    if (loaded)
        loader_unload(loaded);
    if (loaded && !all_freed())
        *why = "the object's end leaves temporaries";
    return status;
}
