/* interpreter_internal.h - what the files of the interpreter share.
 *
 * A stage becomes Code: instructions over strips of lanes. A lane is one point of the stage, or, where a stage has few
 * points and long reductions, one point of its reduction space. Values are computed as double or int64 and rounded or
 * wrapped to their type after each instruction; beside each stands a bound of the error that a correct object may have.
 * Tensors are computed whole, or, where only some elements are wanted, element by element into a hash table.
 */
#ifndef SEMA_INTERPRETER_INTERNAL_H
#define SEMA_INTERPRETER_INTERNAL_H

#include "sema/interpreter.h"

enum { STRIP = 128 /* lanes */ };

typedef struct Lanes {
    union {
        int64_t integer[STRIP];
        double real[STRIP];
    };
    double error[STRIP]; /* meaningful where the instruction is not exact; infinity: any value is right */
} Lanes;

typedef struct Code Code;

/* An element that was computed alone. */
typedef struct Entry {
    int64_t element; /* -1: free */
    Value value;
    double error, magnitude;
} Entry;

/* What is known of a tensor's contents. */
typedef struct Storage {
    const Tensor *tensor;
    int64_t *dims, *strides, elements;
    char *data;        /* of inputs, initial contents, and of what was computed whole; else NULL */
    double *error;     /* of what was computed whole and is not exact */
    double *magnitude; /* of sums of floats computed whole */
    bool exact;        /* each correct object has the same value */
    Code *code;        /* of its stage; NULL for what is given */
    int64_t table_capacity, table_count;
    Entry *table; /* of single elements */
} Storage;

/* One index of a read: constant + sum of coefficient * variable, or the register of a computed index. */
typedef struct Index {
    const Lanes *computed;
    bool inexact; /* computed from inexact values */
    int64_t constant;
    int64_t *coefficients; /* by variable; NULL when computed */
    bool checked;          /* not known to be inside for all values of the variables */
    int64_t dim, stride;
    int64_t *lanes; /* when checked: the part that differs by lane */
} Index;

typedef struct Load {
    Storage *source;
    int rank;
    Index *indices;
    bool checked, computed;          /* any index is */
    bool conditional;                /* in a branch that may not be taken: indices outside do no harm */
    int64_t constant, *coefficients; /* of the element number, over the indices that are not computed */
    int64_t lanes[STRIP];            /* the part of the element number that differs by lane */
    int64_t step;                    /* when that grows by 0 or 1 a lane; else -1 */
    const Lanes *otherwise;          /* or NULL */
    bool otherwise_exact;
} Load;

typedef enum CodeKind { CODE_CONSTANT, CODE_VARIABLE, CODE_READ, CODE_OP, CODE_CAST } CodeKind;

typedef struct Instruction {
    CodeKind kind;
    Op op;
    ElementType type, from; /* of the result and of the operands */
    bool exact;
    bool varies; /* depends on reduction variables, through whatever it reads */
    Lanes *result;
    int count;
    const struct Instruction *args[3];
    int variable; /* VARIABLE: axes first, then reductions */
    Load *load;
} Instruction;

typedef LIST(Instruction *) Instructions;

/* The reduction of a tuple by a declared combiner, for one of its components. left and right stand for what was
 * combined so far and for what is added: lanes that are filled before `combined` is run. */
typedef struct Combination {
    Instructions section;
    Instruction **left, **right, **combined; /* [count] */
} Combination;

typedef struct TupleCode {
    int count, component;
    Instruction **initials, **values; /* [count]: of the sections initial and value of the Code */
    Combination narrow, wide;         /* in the types of the components; the same with all floats in double */
    bool *exact;                      /* [count]: each correct object has the same result */
    bool ordered;                     /* the terms are combined in the order of the source */
    struct Fold *fold;                /* interpreter_tuple.c's, from the first run on */
} TupleCode;

struct Code {
    const Stage *stage; /* NULL of a requirement */
    TupleCode *tuple;   /* of a declared combiner; else NULL */
    Storage *storage;   /* what it computes */
    ElementType type;
    Combine combine;
    int axis_count, variable_count; /* axes, then reductions */
    const Var **variables;
    int64_t *extents; /* by variable */
    int64_t points, reduction_points;
    double operations; /* of one point, for one value of the reductions */
    Instructions initial, value;
    Instruction *initial_result, *value_result;
    Instructions place;         /* of a stage that scatters: computes the values of axes that have one value a term */
    const Instruction **places; /* by axis: that value; NULL: the axis takes all. NULL: the stage does not scatter */
    int64_t **lanes;            /* by variable: its values, where it differs by lane */
    int64_t *scalars;           /* by variable: its value, where it does not */
    int64_t *terms;             /* by variable: where the next strip of terms begins */
    int lane_first, lane_end;   /* which variables differ by lane */
    Lanes result;
    double magnitude[STRIP]; /* of a sum of floats: the sum of absolute terms */
    double
        plain_sum[STRIP]; /* of a sum of floats: without rounding; of a product: by how many powers of 2 it may grow */
};

struct Interpreter {
    Arena *arena;
    const Program *program;
    SizeValue *sizes; /* sizes, then integer scalars */
    int size_count;
    int storage_count;
    Storage *storages;
    void *const *arguments;
    double operations; /* executed so far */
    bool values_only;  /* nobody asks for bounds */
    double error;      /* of the algorithms of what is checked: interpreter_allow */
};

/* interpreter_compile.c: NULL and *why if an extent has no value. A requirement is a stage of type bool without tensor.
 */
Code *code_of_stage(Interpreter *interpreter, const Stage *stage, Storage *storage, const char **why);
Storage *storage_of(Interpreter *interpreter, const Tensor *tensor);
/* The code of every component of a stage. */
bool compile_stage(Interpreter *interpreter, const Stage *stage, const char **why);

/* interpreter_run.c: computes the points whose axes stand in code->lanes; results in code->result, .magnitude. */
void run_points(Interpreter *interpreter, Code *code, int count);
/* Of a stage without reductions whose last axis is long: the points from number `first` on that lie in one row, without
 * their magnitudes. Returns how many these are. */
bool has_rows(const Code *code);
int run_row(Interpreter *interpreter, Code *code, int64_t first);
/* Puts the axes' values of the points first, first + 1, ... in row-major order into code->lanes. */
void set_points(Code *code, int64_t first, int count);

/* Computes all elements of a stage that scatters in one pass over its terms; store gets them a strip at a time. */
void run_scatter(Interpreter *interpreter, Code *code, void (*store)(Storage *storage, int64_t first, int count));
double scatter_terms(const Code *code); /* how many terms that pass has */

/* interpreter_tuple.c: the reduction of the points whose axes stand in code->lanes. */
void run_tuple(Interpreter *interpreter, Code *code, int count);
/* interpreter_run.c, for that: sections of code, and the reductions' values of the next strip of terms. */
void prepare(const Code *code, const Instructions *section, int count);
void execute_all(Interpreter *interpreter, const Code *code, const Instructions *section, int count);
int next_terms(Code *code, int64_t left);
bool next_term(const Code *code, int64_t *values); /* of one term; false after the last */

/* interpreter_storage.c */
void compute_whole(Interpreter *interpreter, Storage *storage);
void allocate_whole(Interpreter *interpreter, Storage *storage); /* for what is stored element by element */
void store_result(Storage *storage, int64_t element, int lane);  /* of the last run of its code */
/* Makes the elements known, whole or one by one. */
void demand_elements(Interpreter *interpreter, Storage *storage, const int64_t *elements, int count);
Entry *find_entry(const Storage *storage, int64_t element);
/* Loads elements, demanding them where needed; error stays as it is when the storage is exact. */
void load_elements(Interpreter *interpreter, Storage *storage, const int64_t *elements, int count, Lanes *result);
Evaluated evaluated_element(Interpreter *interpreter, Storage *storage, int64_t element);

/* interpreter_scan.c */
bool compile_scan(Interpreter *interpreter, const Scan *scan, const char **why);
void compute_scan(Interpreter *interpreter, const Scan *scan);

/* interpreter_lanes.c */
void apply_lanes(const Instruction *instruction, int count);
void cast_lanes(const Instruction *instruction, int count);
void round_lanes(ElementType type, double *values, int count);
void wrap_lanes(ElementType type, int64_t *values, int count);
/* interpreter_bounds.c: the error of what was just computed. */
void bound_lanes(const Instruction *instruction, int count);
void bound_cast(const Instruction *instruction, int count);

#endif
