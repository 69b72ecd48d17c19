/* tensorc.h - the one page of types that every folder shares.
 *
 * A Program is the checked algorithm: stages over iteration domains, no loops. A Schedule says how to run it. A Target
 * says for what. lower/ makes a Kernel (lower/kernel/kernel.h) of the three. What holds for a checked Program:
 *   - every tensor is written by exactly one stage (a tensor that the source defines n times is n tensors, versions);
 *   - every axis starts at 0 and every tensor at index 0 (Tensor.lower keeps what the source counted from);
 *   - index expressions are of type int64, floor division and modulo; stages stand in an order of execution.
 * All nodes live in the arena of their maker and are never changed once made: passes build new ones and share the rest.
 */
#ifndef LANG_TENSORC_H
#define LANG_TENSORC_H

#include "lang/arena.h"
#include "lang/source.h"

/* --- element types ------------------------------------------------------------------------------------------------ */

typedef enum ElementType {
#define ELEMENT(id, spelling, kind, bytes, c_type) TYPE_##id,
#include "lang/types.def"
#undef ELEMENT
    TYPE_COUNT
} ElementType;

typedef enum ElementKind { KIND_BOOL, KIND_SIGNED, KIND_UNSIGNED, KIND_FLOAT } ElementKind;

typedef struct ElementInfo {
    const char *spelling;
    ElementKind kind;
    int bytes;
    const char *c_type;
} ElementInfo;
extern const ElementInfo element_info[TYPE_COUNT];

bool type_is_float(ElementType type);
bool type_is_integer(ElementType type); /* signed or unsigned, not bool */
/* tc-semantics: int with float gives that float, same kind the wider, signed with unsigned the signed of the larger
 * width. */
ElementType type_promote(ElementType a, ElementType b);

/* --- variables ---------------------------------------------------------------------------------------------------- */

typedef struct Expr Expr;
typedef struct Tensor Tensor;
typedef struct Instr Instr;

typedef enum VarKind {
    VAR_AXIS,   /* an axis of a stage: 0 <= v < extent */
    VAR_SIZE,   /* a size known at run time only: v >= 0 */
    VAR_SCALAR, /* a scalar parameter */
    VAR_LOOP    /* a loop of a nest or kernel: 0 <= v < extent */
} VarKind;

/* Variables are compared by address. */
typedef struct Var {
    const char *name;
    VarKind kind;
    ElementType type;   /* INT64 but for scalars */
    bool reduction;     /* of an axis or loop */
    Expr *extent;       /* of an axis or loop; an expression over sizes alone for an axis */
    bool number;        /* of a nest that equal ones share: a number in which these differ */
    int64_t least;      /* of an integer that is one: what it is at least, */
    int64_t most;       /* and at most */
    const Instr *instr; /* of a loop that a hardware instruction runs together with those inside it; or NULL */
    Loc loc;
} Var;

/* --- expressions: one language for values, indices, sizes and, with vectors, for the loop IR --- */

typedef enum Op {
#define OPERATOR(id, ...) OP_##id,
#define FUNCTION OPERATOR
#include "lang/ops.def"
#undef OPERATOR
#undef FUNCTION
    OP_COUNT
} Op;

typedef enum OpClass { CLASS_ARITHMETIC, CLASS_COMPARE, CLASS_LOGIC, CLASS_SELECT, CLASS_MATH } OpClass;

typedef enum OpExactness {
    EXACTNESS_ROUNDS,
    EXACTNESS_EXACT,
    EXACTNESS_STEPS
} OpExactness; /* of results that are floats */
typedef enum OpCode { CODE_INSTRUCTION, CODE_SEQUENCE } OpCode;
typedef enum OpNumbers { NUMBERS_FIXED, NUMBERS_REALS, NUMBERS_VALUES, NUMBERS_ANY } OpNumbers; /* ever more */
typedef enum OpOrder { OPERANDS_ORDERED, OPERANDS_FREE } OpOrder;
typedef enum OpEvaluated { EVALUATED_ALL, EVALUATED_FIRST } OpEvaluated;
typedef enum OpBetween { BETWEEN_OTHER, BETWEEN_MONOTONE } OpBetween;

typedef struct OpInfo {
    const char *name; /* "ADD" */
    const char *spelling;
    int arity;
    OpClass class;
    int precedence;
    const char *libm;
    OpExactness exactness;
    OpCode code;
    OpNumbers numbers;
    OpOrder order;
    OpEvaluated evaluated;
    OpBetween between; /* of a function */
} OpInfo;
extern const OpInfo op_info[OP_COUNT];

/* The columns of a COMPARISON; nothing of another operator. */
typedef struct ComparisonInfo {
    Op opposite, exchanged;
    bool less, equal, greater, unordered;
} ComparisonInfo;
extern const ComparisonInfo comparison_info[OP_COUNT];

typedef enum ExprKind {
    EXPR_INT,  /* integer, also of bool and of every integer type (uint64 by its bits) */
    EXPR_REAL, /* real, of a float type */
    EXPR_VAR,
    EXPR_READ, /* tensor(args...) */
    EXPR_OP,   /* op(args...) */
    EXPR_CAST, /* args[0] converted to type: float to integer truncates and saturates (NaN gives 0), integers wrap */
    /* loop IR alone: */
    EXPR_RAMP,      /* lanes values args[0] + l * args[1] */
    EXPR_BROADCAST, /* lanes times args[0] */
    EXPR_REPEAT,    /* the vector args[0] again and again, `lanes` in all */
    /* Lane l is lane pattern[l] of the vectors args[], of equal lanes, one behind the other; -1: anything. */
    EXPR_SHUFFLE,
    EXPR_OFFSET, /* the sum of args[], which change in loops each inside of the one before, and of `integer` */
    EXPR_CALL    /* what instr writes: args are its operands as vectors, row major, without one that it only writes */
} ExprKind;

struct Expr {
    ExprKind kind;
    ElementType type;
    Op op;
    int lanes; /* 1 for a scalar */
    int count;
    Expr **args;
    /* READ of a Program: the value where an index is outside the tensor (of any kind: edge and so on have become
     * indices); NULL where the read is proved inside or is checked as a gather. */
    Expr *otherwise;
    Expr *guard; /* READ of a Kernel: memory is touched only where this holds, elsewhere the value is 0; or NULL */
    Loc loc;
    union {
        int64_t integer;
        double real;
        const Var *var;
        const Tensor *tensor;
        const Instr *instr;
        const int *pattern; /* of a SHUFFLE: [lanes] */
    };
};

/* --- programs --- */

typedef enum Role {
    ROLE_INPUT,
    ROLE_OUTPUT,
    ROLE_TEMPORARY,
    ROLE_CONSTANT, /* known when the program is compiled: data has its elements; it is no argument */
    /* What the caller's buffer of the output `buffer` held before the call; read at the element that is written, or
     * before any of the output is. */
    ROLE_INITIAL
} Role;

/* Of a buffer in a nest. LOCAL: the stack. SHARED: of a block of a device's threads. */
typedef enum Scope { SCOPE_GLOBAL, SCOPE_LOCAL, SCOPE_REGISTER, SCOPE_SHARED, SCOPE_COUNT } Scope;

/* How the elements of a buffer lie in memory when that is not row major: by components (index / divisor) % modulus of
 * its dimensions, the last one running fastest. The stride of a component is rounded up until it is offset modulo
 * align. */
typedef struct OrderPart {
    int dimension;
    int64_t divisor, modulus; /* modulus 0: none */
    int64_t align, offset;    /* align 0: none */
} OrderPart;

typedef struct ElementOrder {
    int count;
    OrderPart *parts; /* each dimension's hold each of its elements once */
} ElementOrder;

struct Tensor {
    const char *name; /* unique in the program: "O", "O[1]" of a later definition, "t.e" of a stage of a call */
    ElementType type;
    Role role;
    Scope scope;   /* GLOBAL in a Program */
    bool constant; /* declared const */
    int rank;
    Expr **dims;               /* extents, over sizes */
    Expr **lower;              /* what the source counts each index from, over sizes; NULL when all are 0 */
    const char **dim_names;    /* "M", or the index name for what a stage defines: layouts name dimensions by them */
    const Tensor *buffer;      /* ROLE_INITIAL: its output */
    const ElementOrder *order; /* of a buffer of a nest; NULL: row major */
    const void *data;          /* ROLE_CONSTANT: row major, in the byte order of the host */
    const struct Stage *maker; /* ROLE_CONSTANT of a nest, without data: computes it from other constants */
    Loc loc;
};

typedef enum Combine {
    COMBINE_NONE,
    COMBINE_ADD,
    COMBINE_MUL,
    COMBINE_MIN,
    COMBINE_MAX,
    COMBINE_DECLARED, /* a combiner of the source */
    COMBINE_COUNT
} Combine;

/* combiner NAME(left; right) associative commutative identity (...) { result }: over tuples of `count` components. */
typedef struct Combiner {
    const char *name;
    int count;
    const Var **left, **right; /* VAR_SCALAR, of the components' types: what was combined so far, and what is added */
    Expr **result;             /* over left and right */
    Expr **identity;           /* constants */
    bool associative, commutative;
    Loc loc;
} Combiner;

/* What a stage writes, and how. The tensors of a tuple's components have the same rank and dims. */
typedef struct Component {
    const Tensor *tensor;
    /* The combine's identity, or a read of the former version at the same indices; NULL without combine. */
    Expr *initial;
    Expr *value; /* of the tensor's type */
} Component;

/* scan t { ... }: the stages first .. first + count - 1 of the program run together, once for each step. */
typedef struct Scan {
    const char *name; /* unique among stages and scans: schedules call its loop NAME.AXIS */
    const Var *axis;  /* the steps, in the order in which they run */
    int first, count;
    Loc loc;
} Scan;

/* tensor(axes...) = value, or, with a combine, the reduction of value over the reduction axes beginning with initial:
 * for each component. */
typedef struct Stage {
    const char *name; /* the first tensor's name */
    int component_count;
    Component *components; /* 1, or as many as the combiner of a tuple has; of this stage alone */
    int axis_count;        /* the rank of its tensors; axis d runs over dims[d] */
    const Var **axes;
    int reduction_count;
    const Var **reductions; /* in the order of first appearance; empty without a combine */
    Combine combine;
    const Combiner *combiner; /* of COMBINE_DECLARED, else NULL */
    /* That it is a part of, or NULL: then a read of a stage of the scan at an earlier step is of what that step wrote,
     * and axes[step] is the scan's axis. */
    const Scan *scan;
    int step;
    Loc loc;
} Stage;

/* instr NAME(operands) on TARGET needs FEATURES { meaning } = "body": an instruction as data. */
struct Instr {
    const char *name;
    int operand_count;
    const Tensor **operands; /* of constant extents; operands[0] is what the meaning writes */
    const Stage *meaning;    /* tensor and initial: operands[0] */
    const char *target;      /* a target's or a family's name */
    int need_count;
    const char **needs;            /* features of processors, as the source spells them */
    const char *body;              /* an LLVM intrinsic's name, or LLVM IR */
    const struct Program *program; /* the meaning alone: operands[0] is its output, the others are its inputs */
    Loc loc;
};

/* Holds at every call, or the call returns `status` and writes nothing. */
typedef struct Requirement {
    Expr *condition; /* bool, over sizes (and over axes and reads for a gather: for all values of the axes) */
    int axis_count;
    const Var **axes;
    const char *text; /* for -v and the header: "0 <= ids(b, l) < V" */
    int status;       /* STATUS_BAD_SIZE or STATUS_BAD_INDEX */
    int after; /* -1: reads inputs alone. Else: reads the first `after + 1` stages, which write temporaries only */
    Loc loc;
} Requirement;

typedef enum Status {
#define STATUS(id, value, text) STATUS_##id = value,
#include "lang/status.def"
#undef STATUS
} Status;

/* What a program reads or writes of an argument as a tensor of its own, such as the weights of one layer. */
typedef struct ArgumentPart {
    const Tensor *tensor;
    Expr *offset; /* where it begins in the argument's memory, in bytes: over sizes */
} ArgumentPart;

/* One argument of the generated function, in its order. */
typedef struct Argument {
    const Tensor *tensor; /* or NULL */
    const Var *scalar;    /* or NULL */
    int part_count;       /* 0: the tensor is accessed itself. Else only its parts are: made for packing (kernel.h) */
    ArgumentPart *parts;
} Argument;

typedef struct Program {
    Arena *arena;
    const char *name;   /* of the def */
    const char *symbol; /* of the function in the object */
    int size_count;
    const Var **sizes; /* run-time sizes, in order of first appearance: the function's first arguments */
    int argument_count;
    Argument *arguments; /* inputs and scalars in source order, then outputs */
    int tensor_count;
    const Tensor **tensors; /* all of them, arguments first */
    int stage_count;
    const Stage **stages;
    const struct StagePlaces *places; /* of stages by their addresses, names and tensors: lang/program.c; or NULL */
    int requirement_count;
    Requirement *requirements;
    int scan_count;
    const Scan **scans;
    int instr_count; /* that schedules may name */
    const Instr **instrs;
    int rule_count; /* of all files: for stages of the target */
    const struct Rule *const *rules;
    int bound_count; /* what was bound by export, -D or brackets: for the header's comments and for messages */
    struct Binding {
        const char *name;
        int64_t value;
    } * bounds;
    bool strict; /* -fstrict: reductions keep their order, multiply-adds are not contracted */
    /* Of a part of a program: what stages outside of it read, too, of the constants that it reads. */
    int elsewhere_count;
    const Tensor **elsewhere;
    const void **known; /* [stage_count] or NULL: contents of stages that are computed at compile time, row major */
    /* What it computes by other algorithms: the same arguments; NULL: it is as written. */
    const struct Program *meaning;
    int algorithm_count;
    struct Algorithm {
        const char *place; /* what the replaced call makes; "": the whole */
        const char *name;  /* of the def that implements it */
        double error;      /* of its results, in parts of the largest sum of absolute terms */
        bool automatic;    /* of no def: the same operations in other stages */
        bool only_lies;    /* automatic: in the same stages, whose temporaries only lie otherwise in memory */
    } * algorithms;
    Loc loc;
} Program;

/* --- schedules --- */

typedef enum PrimOp {
#define PRIMITIVE(id, ...) PRIM_##id,
#include "lang/prims.def"
#undef PRIMITIVE
    PRIM_COUNT
} PrimOp;

typedef struct PrimInfo {
    const char *spelling, *positional, *results, *summary;
} PrimInfo;
extern const PrimInfo prim_info[PRIM_COUNT];

typedef enum PrimArgKind {
    ARG_NAME, /* a loop, a stage, a tensor, a scope: "C.i", "O[1].r_k", "io", "register" */
    ARG_INT,
    ARG_HOLE, /* ?, ?name, ? in {2, 4, 8}: items are its ARG_INT choices; all of one name have one value */
    /* Items are the two operands: name / integer or name % integer inside a layout; of a constraint + - * / % < > and,
     * as one letter each, l (<=), g (>=), = (==), ! (!=) over names of holes and integers. */
    ARG_OP,
    ARG_LIST /* (j/16, k, j%16) */
} PrimArgKind;

typedef struct PrimArg {
    PrimArgKind kind;
    const char *key; /* "at", "layout", "scope"; NULL for a positional one */
    const char *name;
    int64_t value;
    char op;
    int count;
    struct PrimArg *items;
    Loc loc;
} PrimArg;

typedef struct Prim {
    PrimOp op;
    int result_count;
    const char **results;
    int arg_count;
    PrimArg *args;
    Loc loc;
} Prim;

/* Holes are numbered in the order of the text; those that share a name are one. A Schedule without holes is a point
 * of the space. */
typedef struct Schedule {
    const char *subject; /* def or export that it belongs to */
    const char *target;  /* a target's or a family's name, as written */
    int count;
    Prim *prims;
    Loc loc;
    /* Names of stages, for messages; or NULL: */
    const char *refused; /* for which nothing that was chosen was legal: their loops are plain */
    const char *smaller; /* whose tiles were made smaller, as the function would be too much code */
    const char *plain;   /* whose loops stay plain, as the function would be far too much code */
    const char *ruled;   /* and the rules of the source by which they are scheduled */
    const char *misfits; /* and rules that are not legal for them */
    const char *idle;    /* rules for the target that apply to no stage */
    const char *gaps;    /* holes that may lack a choice: not all that may stand before them was looked at */
    const char *shorter; /* whose vectors are shorter than registers, as lanes are fetched one by one */
    int points;          /* how many were estimated for a group, where that is few, as thousands differ; else 0 */
} Schedule;

/* A rule of a source: where its conditions hold of a stage, its statements are one more way to schedule the stage. They
 * name it by formal names: stage, axis[0], sum[0], operand[0], producer[0]. */
typedef struct Rule {
    const char *name;
    int condition_count;
    const struct PrimArg *conditions; /* names of predicates, and comparisons */
    Schedule schedule;                /* its subject is the rule's name */
} Rule;

typedef enum Predicate {
#define PREDICATE(id, ...) PREDICATE_##id,
#include "lang/predicates.def"
#undef PREDICATE
    PREDICATE_COUNT
} Predicate;

/* --- targets --- */

typedef struct Machine Machine; /* lang/machine.h */

/* What all processors have that run the same instructions: a row of families.def. */
typedef struct Family {
    const char *name;         /* "x86", "arm": as schedules spell it */
    const char *title;        /* for people */
    const char *architecture; /* the first word of its triples */
    bool sse;                 /* its minima and maxima are those of SSE: the second operand where one is NaN */
    bool extremes_keep_nan;   /* ... are NaN where an operand is */
    bool saturating_casts;    /* of real numbers to integers of 32 bits and more: an instruction */
    const char *relax;        /* the instruction for loops that wait for another thread */
    int column_most;          /* the most columns that one instruction loads or stores by turns; 0: there is none */
} Family;

typedef struct Target {
    const char *name; /* "x86-64-v4", "host" */
    const Family *family;
    const char *level;   /* the row of targets.def whose features it has */
    const char *backend; /* "llvm": a row of backends/backends.c */
    const char *triple, *cpu, *features;
    const char *shows;   /* features by which a computer is known to have this level */
    const char *summary; /* a few words for --target=help */
    int vector_bytes;    /* of the widest registers that pay */
    int vector_registers;
    bool fused_multiply_add;
    int masked_bytes;       /* of the least element that vector loads and stores under a mask are cheap for; 0: none */
    bool gathers;           /* of elements of 4 bytes and more pay */
    int mask_registers;     /* 0: masks are vectors */
    bool avx512;            /* has its instructions for exponents, tables and NaN */
    bool converts_half;     /* has instructions for it, unless its features say otherwise */
    const Machine *machine; /* what takes how long */
    int threads;            /* that generated code may use; 1: no parallel loops; 0: decided at run time */
    bool host;              /* its objects run on this machine */
    int block_threads; /* of a device: the most threads of one block; 0: a CPU, whose loops are not bound to axes */
} Target;

/* --- records --- */

typedef enum Outcome {
    OUTCOME_OK,
    OUTCOME_BUILD_ERROR,
    OUTCOME_CRASH,
    OUTCOME_TIMEOUT,
    OUTCOME_WRONG,
    OUTCOME_COUNT
} Outcome;

/* What disturbed a measurement, as far as the system tells. */
typedef struct Disturbance {
    int switches;          /* of the processor to something else, against the program's will, in the kept repeats */
    double processor_part; /* processor seconds over those of the clock, for each thread: 1 is undisturbed */
    double steal;          /* part of the machine's time that its host took */
    int undisturbed;       /* repeats that nothing disturbed; all zero: not known */
} Disturbance;

typedef struct Record {
    const char *task;     /* structural hash with sizes, hexadecimal */
    const char *target;   /* the microarchitecture found, not the flag */
    const char *schedule; /* text: the statements alone */
    int threads;
    Outcome outcome;
    double seconds; /* lower quartile of the repeats */
    double spread;  /* coefficient of variation */
    int repeats;
    int64_t seed;
    int64_t date;         /* when it was measured: seconds since 1970, or 0 */
    const char *function; /* the following may be "", or NULL: who asked for it last; its file, and the def */
    const char *file, *operator;
    const char *inputs; /* names the contents that were given for arguments; none: all were random */
    const char *why;    /* of a failure, in a line */
    /* The following are 0, or "", or NULL in records of older versions. */
    int features;               /* the version of what cost models see */
    int order;                  /* the number of the trial in its search, from 1; measured again it keeps it */
    double wall_seconds;        /* what the trial took: building and measuring */
    const char *policy, *model; /* of the search, with their options */
    double prediction;          /* the model's score when the trial was proposed; NAN: none, as for the default */
    double reference_seconds; /* of a fixed kernel run beside it, which tells how fast the machine was then; 0: none */
    Disturbance disturbance;
    double operations;     /* of arithmetic in a call; 0: not known */
    double peak;           /* operations a second that the target does at most, by the compiler's table; 0: not known */
    const char *device;    /* what it ran on: the processor's name */
    const char *toolchain; /* what built it: versions of the compiler and of its code generator */
    const char *program;   /* of the task, as task_program writes it; NULL: it is not given with each record */
} Record;

#endif
