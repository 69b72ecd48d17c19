/* objects.h - objects made into shared libraries by the C compiler, and called in this process. */
#ifndef TESTS_OBJECTS_H
#define TESTS_OBJECTS_H

#include "backends/backends.h"

typedef int EntryFunction(const int64_t *sizes, void *const *arguments);

/* A folder for the files of this test program; removed, with what is in it, by work_folder_remove. */
const char *work_folder_make(Arena *arena);
void work_folder_remove(const char *folder);

/* Writes the object of the kernels to a path. False, with a line on standard error, when there is none. */
bool write_object(const char *path, Kernel *const *kernels, int count, const Target *target,
                  const EmitOptions *options);
/* The handle of dlopen, or NULL with a line on standard error. Candidates get a tensorc_parallel that runs a loop in
 * three parts, the last one first. */
void *load_kernels(const char *folder, Kernel *const *kernels, int count, const Target *target,
                   const EmitOptions *options);
/* Candidates leave it to their loader to free what their calls left for later ones. */
void unload_kernels(void *library);
/* NAME_call of a library. */
EntryFunction *entry_of(void *library, const char *name);
/* "cc", or what $CC names. */
const char *c_compiler(void);
/* C text as a relocatable object; NULL when the compiler fails. */
char *compile_c(Arena *arena, const char *text, size_t *bytes);
/* Whether a command exists and succeeds, its output thrown away. */
bool command_works(const char *command);

#endif
