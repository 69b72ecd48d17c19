/* runtime.h - what objects bring along: the memory of their temporaries (memory.ll) and a thread pool (threads.ll). */
#ifndef BACKENDS_RUNTIME_RUNTIME_H
#define BACKENDS_RUNTIME_RUNTIME_H

#define MEMORY_TAKE "tensorc.take.1"           /* void *(workspace, bytes) */
#define MEMORY_GIVE "tensorc.give.1"           /* void (workspace, memory) */
#define MEMORY_RELEASE "tensorc_release"       /* void (void) */
#define THREADS_PARALLEL "tensorc.parallel.2"  /* void (body, closure, extent, threads, most) */
#define THREADS_COUNT "tensorc.thread_count.2" /* int64_t (void) */

/* Stands in texts for the instruction of loops that wait. */
#define RUNTIME_RELAX "RELAX"
/* Lines of texts with this name are what runs at the end of a program. */
#define RUNTIME_AT_END "tensorc.at_end"

typedef struct RuntimePart {
    const char *name; /* of its file */
    const char *text; /* LLVM IR */
    struct RuntimeAssembly {
        const char *family, *assembly;
    } assemblies[]; /* of the same; the last one has no family */
} RuntimePart;

extern const RuntimePart memory_part, threads_part;

#endif
