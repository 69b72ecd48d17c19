/* import.h - the door of `tensorc import`: an ONNX model becomes a .tensor file with its weights beside it. */
#ifndef DRIVER_IMPORT_IMPORT_H
#define DRIVER_IMPORT_IMPORT_H

#include "lang/arena.h"

/* The words after `import`. Returns the exit status. */
int import_command(Arena *arena, int argc, char **argv);

#endif
