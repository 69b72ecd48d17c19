/* fuzz.h - random programs under random schedules against the interpreter: what the files of this folder share.
 *
 * A case is a text: a .tensor file with one def, an export that binds every size and, perhaps, a schedule, after a line
 * `# fuzz: ...` that says what a file cannot: which sizes stay run-time ones, which of those the version that is run
 * has bound or limited, the target, the engine. It follows from a seed and a number alone, and whatever goes wrong is
 * found again by running the text.
 */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include "lower/kernel/kernel.h"
#include "tests/unit/random_program.h"
#include "tests/unit/schedules.h"

typedef enum Fault {
    FAULT_NONE,
    FAULT_REFUSED,     /* a valid program, or a legal schedule, is refused */
    FAULT_MISMATCH,    /* another value than the interpreter's */
    FAULT_MEMORY,      /* an access outside, a value that was never written, a race */
    FAULT_STATUS,      /* another status, or something written beside one */
    FAULT_TEXT,        /* what is printed does not read back as it was */
    FAULT_ALTERNATIVE, /* a refusal proposes what is not legal */
    FAULT_INTERNAL,    /* the compiler says so itself */
    FAULT_CRASH,
    FAULT_TIMEOUT,
    FAULT_COUNT
} Fault;
extern const char *const fault_names[FAULT_COUNT];

/* --- coverage.c: what the cases had in them --- */

enum { FEATURE_LIMIT = 96 };

typedef struct Counters {
    int64_t cases, run, refused, too_large, too_long, bad_status, objects, completed, named, levels[4];
    int64_t accepted[PRIM_COUNT], rejected[PRIM_COUNT];               /* primitives as they were tried one by one */
    int64_t with[PRIM_COUNT], pairs[PRIM_COUNT][PRIM_COUNT];          /* of schedules that ran */
    int64_t features[FEATURE_LIMIT], both[FEATURE_LIMIT][PRIM_COUNT]; /* of programs that ran */
    int64_t faults[FAULT_COUNT];
} Counters;

void count_features(Counters *counters, const char *text, const Schedule *schedule);
void counters_add(Counters *sum, const Counters *more);
void counters_print(const Counters *counters, double cpu_seconds, FILE *stream);

/* --- make.c: cases from numbers --- */

typedef struct FuzzOptions {
    uint64_t seed;
    int object_every;  /* one case in so many is compiled; 0: none */
    RandomForms forms; /* of the language that there are */
    const char *plant; /* the fault that is built into every kernel, or NULL */
} FuzzOptions;

const char *make_case(Arena *arena, const FuzzOptions *options, uint64_t number, Counters *counters);

/* --- product.c: what instructions compute --- */

typedef struct ProductCase {
    const char *program, *target; /* that has the instruction */
    const Schedule *schedule;     /* statements that use it, or NULL */
} ProductCase;
ProductCase random_product(Arena *arena, Random *random, struct Binding *bindings);

/* --- whole.c: programs of several stages, and points of their spaces --- */

const char *random_whole(Arena *arena, Random *random, struct Binding *bindings);
/* NULL: none of a few that are drawn is legal. */
const Schedule *random_point(Arena *arena, const Program *program, const Target *target, Random *random);

/* --- arrays.c --- */

/* Makes the files that a text names, in the folder, which has to be known before processes are forked. */
void make_arrays(Arena *arena, const char *text);
const char *arrays_folder(void);
void arrays_remove(void);

/* --- holes.c --- */

void dig_holes(Arena *arena, Schedule *schedule, Random *random);
/* With candidates that the constraints allow; NULL where none were found. */
const Schedule *fill_holes(Arena *arena, const Schedule *schedule, Random *random);

/* --- check.c: running a text --- */

/* counters may be NULL; *why: what is wrong, in the arena. Ends the process where the compiler does. */
Fault check_text(Arena *arena, const char *text, const FuzzOptions *options, Counters *counters, const char **why);
/* What a running case is doing, for the message when it does not come back. */
extern const char *fuzz_step;

/* A checked program of a case's text. */
typedef struct Checked {
    const char *text;
    Program *program;
    const Schedule *schedule; /* the text's block, or NULL */
    int64_t sizes[64];        /* values of program->sizes */
    uint64_t data;
    const Target *target;
    bool object, strict, explain, complete; /* complete: the schedule with what -O2 adds to it */
    bool named;                             /* one of the algorithms that the compiler makes, where there is one */
    int threads, level;
} Checked;
/* false: refused, with the messages in *why. */
bool read_text(Arena *arena, const char *text, Checked *checked, const char **why);

/* --- object.c: compiled cases --- */

/* Calls the object of the kernel on copies of the arguments, each between pages that must not be touched. Returns the
 * function's status; *why: it could not be compiled. */
int object_run(Arena *arena, const Kernel *kernel, const Checked *checked, void *const *arguments, const int64_t *bytes,
               const char **why);

/* --- reduce.c --- */

typedef Fault TryText(void *context, const char *text, const char **why);
/* A smaller text with the same fault; try is called up to `limit` times. */
const char *reduce_text(Arena *arena, const char *text, Fault fault, TryText *try, void *context, int limit);

#endif
