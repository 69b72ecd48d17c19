/* runtime.h - the thread pool that objects bring along, as LLVM assembly: threads.ll. */
#ifndef BACKENDS_RUNTIME_RUNTIME_H
#define BACKENDS_RUNTIME_RUNTIME_H

#define THREADS_PARALLEL "tensorc.parallel.1"         /* void (body, closure, extent, threads, most) */
#define THREADS_COUNT "tensorc.thread_count.1" /* int64_t (void) */
extern const char threads_text[];

#endif
