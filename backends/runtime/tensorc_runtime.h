/* tensorc_runtime.h - what generated functions return, what runs their parallel loops, and what frees their memory.
 *
 * Objects with parallel loops bring a thread pool along, which all objects of a program, or of a shared library, share.
 * The environment's OMP_NUM_THREADS says how many threads it has, the caller included; without it, as many as the
 * process may use processors. A call never waits for a thread that has not begun to work on its loop. A program that
 * has threads of its own replaces it by defining, in one of its files,
 *
 *     tensorc_parallel_function *tensorc_parallel_hook = my_parallel;
 *
 * my_parallel(body, closure, extent) must call body(closure, begin, end) for ranges that together are 0 to extent, each
 * value once, from any threads, at the same time or not, and return when all calls have. The variable may change
 * between calls of generated functions; while it is a null pointer, the thread pool is used. Where this header is
 * compiled with OpenMP, tensorc_openmp is such a function.
 */
#ifndef TENSORC_RUNTIME_H
#define TENSORC_RUNTIME_H

#include <stdint.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define TENSORC_OK 0        /* success */
#define TENSORC_BAD_SIZE 1  /* a size argument breaks a requirement of the function; nothing was written */
#define TENSORC_BAD_INDEX 2 /* an index that was read from memory is outside its tensor; nothing was written */
#define TENSORC_NO_MEMORY 3 /* a temporary could not be allocated; nothing was written */

typedef void tensorc_parallel_body(void *closure, int64_t begin, int64_t end);
typedef void tensorc_parallel_function(tensorc_parallel_body *body, void *closure, int64_t extent);
extern tensorc_parallel_function *tensorc_parallel_hook;

/* Frees the memory that calls have left for later ones, of all objects in this program, or in this shared library.
 * Other threads may be in calls. */
void tensorc_release(void);

#ifdef _OPENMP
/* Runs a loop in OpenMP's threads, an equal part in each. */
static inline void tensorc_openmp(tensorc_parallel_body *body, void *closure, int64_t extent) {
#pragma omp parallel
    {
        int64_t threads = omp_get_num_threads(), thread = omp_get_thread_num();
        int64_t share = extent / threads, rest = extent % threads;
        int64_t begin = share * thread + (thread < rest ? thread : rest), end = begin + share + (thread < rest);
        if (begin < end)
            body(closure, begin, end);
    }
}
#endif

#ifdef __cplusplus
}
#endif

#endif
