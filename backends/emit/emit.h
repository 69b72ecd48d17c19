/* emit.h - the door of what every code generator needs: targets by name, what to emit, what a code generator is (a
 * Backend), and the files beside an object: its header, its make rule, data added after it is made.
 */
#ifndef BACKENDS_EMIT_EMIT_H
#define BACKENDS_EMIT_EMIT_H

#include "lower/kernel/kernel.h"

/* --- targets --- */

/* The target with this name: a row of targets.def; "host", filled in from this machine (cpu name, features, caches,
 * threads); or a row of processors.def, such as "cortex-a53". "NAME+FEATURE" adds a feature of
 * lang/processor_features.def. threads: 0 decides at run time, 1 makes no parallel loops. NULL: unknown. */
const Target *target_make(Arena *arena, const char *name, int threads);
/* The microarchitecture that was found: the key of records ("sapphirerapids"). */
const char *target_microarchitecture(const Target *target);

/* From now on a library that runs out of memory ends the program with status 3 and a message. */
void catch_memory_ends(void);

/* --- code --- */

/* Bytes: where constants, temporaries, and the buffers of runs begin. A vector of any target lies in one such piece. */
enum { DATA_ALIGNMENT = 64 };
/* The next multiple; everything is one of 0. */
size_t align_up(size_t value, size_t alignment);

typedef enum EmitKind { EMIT_OBJECT, EMIT_ASSEMBLY, EMIT_LLVM } EmitKind;

/* Large constants that an object leaves out. They become undefined symbols, named by their keys. */
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
    bool candidate; /* parallel loops call tensorc_parallel, which the worker supplies. Each function has an
                     * entry `int NAME_call(const int64_t *sizes, void *const *arguments)`, scalars by pointer too:
                     * a worker calls it without knowing the signature. Used by -run too. */
    bool verify;    /* the code of a candidate, too, which its results check in a search */
    LeftOut *left_out; /* gets the large constants; NULL: the object has all of them */
    const Sources *sources;
    const char *producer;
    int jobs; /* processes that generate code at once; 0: one */
} EmitOptions;

/* --- backends --- */

/* What a backend can do beyond objects of serial loops. */
typedef enum Ability {
    CAN_ASSEMBLY = 1 << 0, /* -S */
    CAN_LLVM = 1 << 1,     /* -emit-llvm */
    CAN_DEBUG = 1 << 2,    /* -g */
    CAN_PARALLEL = 1 << 3, /* parallel loops */
    CAN_INSTRS = 1 << 4,   /* hardware instructions of the source */
    CAN_RUN = 1 << 5       /* -run, -O tune, checks of hardware instructions: backends with a `run` */
} Ability;

struct RunnerKind; /* of backends/run */

/* A code generator: a row of backends/backends.c. A target's row names it. */
typedef struct Backend {
    const char *name;
    /* Code for all kernels in one module: malloc'ed bytes, or NULL with *why. */
    char *(*emit)(Kernel *const *kernels, int count, const Target *target, const EmitOptions *options, size_t *bytes,
                  const char **why);
    const struct RunnerKind *runner; /* calls functions of its objects; NULL: this machine cannot run its code */
    unsigned can;                    /* a set of Ability */
} Backend;

/* --- files beside it --- */

/* The C header of the functions: prototypes, sizes in comments, statuses, extern "C", an include guard named after
 * name. */
char *emit_header(Arena *arena, const Program *const *programs, int count, const char *name, const char *source);
/* A name, escaped for make. */
char *make_escape(Arena *arena, const char *name);
/* A make rule: targets: files. targets are written as they are (-MT, or the caller escapes them), files are escaped
 * here. phony adds an empty rule for each file but the first. */
char *emit_depfile(Arena *arena, const char *targets, const char *const *files, int count, bool phony);

/* --- data of an object --- */

/* What an undefined symbol of an object stands for. */
typedef struct ObjectData {
    const char *symbol;
    size_t bytes;
    void (*write)(const void *context, void *to); /* writes all bytes; they are 0 before, and aligned to 16 */
    const void *context;
} ObjectData;

/* Defines the undefined symbols that the data has, as read-only data behind the rest of an ELF64 object for a
 * little-endian machine; each begins on a cache line. The object is malloc'ed and may move. False, with the object
 * unchanged, when it is no such object or memory is out. */
bool object_add_data(char **object, size_t *bytes, const ObjectData *data, int count);
/* One object of several for one target, whose hidden symbols become its local ones: malloc'ed, of *merged_bytes. NULL:
 * one of them is no ELF64 object for a little-endian machine, two define a name, or memory is out. */
char *objects_merge(char *const *objects, const size_t *bytes, int count, size_t *merged_bytes);
/* Whether it is an ELF64 object for a little-endian machine. */
bool is_elf_object(const char *object, size_t bytes);

#endif
