/* emit.h - the door of what every code generator needs: targets by name, what is to be emitted, what a code generator
 * is (a Backend), and the files beside an object: its header, its make rule, data that it gets after it was made.
 */
#ifndef BACKENDS_EMIT_EMIT_H
#define BACKENDS_EMIT_EMIT_H

#include "lower/kernel/kernel.h"

/* --- targets --- */

/* The row of targets.def with this name, "host" filled in from this machine (cpu name, features, caches, threads),
 * or the cpu names "cortex-a53" and so on that LLVM knows; "NAME+FEATURE" has a feature of lang/processor_features.def more.
 * threads: 0 decided at run time, 1 no parallel loops. NULL: unknown. */
const Target *target_make(Arena *arena, const char *name, int threads);
/* The microarchitecture found: the key of records ("sapphirerapids"). */
const char *target_microarchitecture(const Target *target);

/* From now on libraries that run out of memory end the program with status 3 and a line. */
void catch_memory_ends(void);

/* --- code --- */

typedef enum EmitKind { EMIT_OBJECT, EMIT_ASSEMBLY, EMIT_LLVM } EmitKind;

/* Large constants that an object leaves out: undefined symbols, whose names are their keys. */
typedef struct LeftOut {
    LIST(struct LeftOutConstant {
        const char *key;
        const Tensor *tensor;
    })
    constants;
} LeftOut;

typedef struct EmitOptions {
    EmitKind kind;
    bool debug;     /* -g: line numbers of the .tensor file */
    bool pic;       /* -fPIC; candidates always */
    bool candidate; /* no OpenMP reference: parallel loops call tensorc_parallel, which the worker supplies; and for */
                    /* each function an entry `int NAME_call(const int64_t *sizes, void *const *arguments)`, scalars */
                    /* by pointer too: what a worker can call without knowing the signature. Used by -run as well. */
    LeftOut *left_out; /* gets them; or NULL: the object has all of its constants */
    const Sources *sources;
    const char *producer;
} EmitOptions;

/* --- backends --- */

/* What one does beyond objects of serial loops. */
typedef enum Ability {
    CAN_ASSEMBLY = 1 << 0, /* -S */
    CAN_LLVM = 1 << 1,     /* -emit-llvm */
    CAN_DEBUG = 1 << 2,    /* -g */
    CAN_PARALLEL = 1 << 3, /* parallel loops */
    CAN_INSTRS = 1 << 4,   /* hardware instructions of the source */
    CAN_RUN = 1 << 5       /* -run, -O tune, checks of hardware instructions: what has a `run` */
} Ability;

struct RunRequest; /* of backends/run */
struct RunResult;

/* A code generator: a row of backends/backends.c, whose name a target's row says. */
typedef struct Backend {
    const char *name;
    /* Code for all kernels in one module: bytes (malloc'ed), or NULL with *why. */
    char *(*emit)(Kernel *const *kernels, int count, const Target *target, const EmitOptions *options, size_t *bytes,
                  const char **why);
    /* One call of a function of a candidate's object; NULL: nothing runs it. */
    void (*run)(Arena *arena, const struct RunRequest *request, struct RunResult *result);
    unsigned can; /* of Ability */
} Backend;

/* --- files beside it --- */

/* The C header of the functions: prototypes, sizes in comments, statuses, extern "C", an include guard made from name.
 */
char *emit_header(Arena *arena, const Program *const *programs, int count, const char *name, const char *source);
/* A name as make wants it written. */
char *make_escape(Arena *arena, const char *name);
/* A make rule: targets (as they are: -MT; else escaped by the caller): files, escaped here; an empty rule for each file
 * but the first when phony. */
char *emit_depfile(Arena *arena, const char *targets, const char *const *files, int count, bool phony);

/* --- data of an object --- */

/* What an undefined symbol of an object is to stand for. */
typedef struct ObjectData {
    const char *symbol;
    size_t bytes;
    void (*write)(const void *context, void *to); /* all bytes, which are 0 before; aligned to 16 */
    const void *context;
} ObjectData;

/* Defines the symbols that it needs as read-only data behind the rest of an ELF64 object for a little-endian
 * machine, each begun at a line of a cache. The object is malloc'ed and moves. False when it is no such object or
 * memory is out: it is as it was. */
bool object_add_data(char **object, size_t *bytes, const ObjectData *data, int count);

#endif
