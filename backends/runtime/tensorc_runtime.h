/* tensorc_runtime.h - what generated functions return, what runs their parallel loops, and what frees their memory.
 *
 * Objects with parallel loops call OpenMP's runtime (link with -fopenmp, or -lgomp). A program that has threads of its
 * own replaces it by defining, in one of its files,
 *
 *     tensorc_parallel_function *tensorc_parallel_hook = my_parallel;
 *
 * my_parallel(body, closure, extent) must call body(closure, begin, end) for ranges that together are 0 to extent, each
 * value once, from any threads, at the same time or not, and return when all calls have. The variable may change
 * between calls of generated functions; while it is a null pointer, OpenMP is used.
 */
#ifndef TENSORC_RUNTIME_H
#define TENSORC_RUNTIME_H

#include <stdint.h>

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

#ifdef __cplusplus
}
#endif

#endif
