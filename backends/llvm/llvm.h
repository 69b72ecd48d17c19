/* llvm.h - the door of the code generator for processors that LLVM knows. */
#ifndef BACKENDS_LLVM_LLVM_H
#define BACKENDS_LLVM_LLVM_H

#include "backends/emit/emit.h"

/* See Backend.emit. */
char *llvm_emit(Kernel *const *kernels, int count, const Target *target, const EmitOptions *options, size_t *bytes,
                const char **why);

#endif
