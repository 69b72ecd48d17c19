/* backends.h - from Kernels to objects, headers, and runs: the doors of what the folder holds. */
#ifndef BACKENDS_BACKENDS_H
#define BACKENDS_BACKENDS_H

#include "backends/emit/emit.h"
#include "backends/llvm/llvm.h"
#include "backends/run/run.h"

#endif
