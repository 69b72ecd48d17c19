/* interpreter_internal.h - what the files of the interpreter share.
 *
 * A stage becomes a StageCode: instructions over strips of lanes. A lane is one point of the stage, or, if a stage has
 * few points and long reductions, one point of its reduction space. Values are computed as double or int64 and rounded
 * or wrapped to their type after each instruction. Beside each value stands a bound of the error that a correct object
 * may have. Tensors are computed whole, or, if only some elements are wanted, element by element into a hash table.
 */
#ifndef SEMA_INTERPRETER_INTERNAL_H
#define SEMA_INTERPRETER_INTERNAL_H

#include "sema/interpreter.h"

enum { STRIP = 128 /* lanes */ };

typedef struct LaneValues {
    union {
        int64_t integer[STRIP];
        double real[STRIP];
    };
    double error[STRIP]; /* unless the instruction is exact; infinity: any value is correct */
} LaneValues;

typedef struct StageCode StageCode;

/* An element that was computed by itself. */
typedef struct Entry {
    int64_t element; /* -1: this entry is free */
    Value value;
    double error, magnitude;
} Entry;

/* What is known of the contents of a tensor. */
typedef struct Storage {
    const Tensor *tensor;
    int64_t *dims, *strides, elements;
    char *data;        /* of an input, initial contents, a result, or a tensor that was computed whole; else NULL */
    double *error;     /* of a tensor that was computed whole and is not exact */
    double *magnitude; /* of sums of floats that were computed whole */
    bool exact;        /* every correct object has the same values */
    bool given;        /* what an object wrote, which others read as exact */
    StageCode *code;   /* of the stage that computes it; NULL if its contents are given */
    int64_t table_capacity, table_count;
    Entry *table; /* the elements that were computed by themselves */
} Storage;

/* One index of a read: constant + the sum of coefficient * variable, or the register of a computed index. */
typedef struct Index {
    const LaneValues *computed;
    bool inexact; /* computed from inexact values */
    int64_t constant;
    int64_t *coefficients; /* by variable; NULL when computed */
    bool checked;          /* it may be outside for some values of the variables */
    int64_t dim, stride;
    int64_t *lanes; /* of a checked index: the part that differs by lane */
} Index;

typedef struct Load {
    Storage *source;
    int rank;
    Index *indices;
    bool checked, computed;          /* whether any index is */
    bool conditional;                /* the branch may not be taken: indices outside do no harm */
    int64_t constant, *coefficients; /* of the element's number, over the indices that are not computed */
    int64_t lanes[STRIP];            /* of the element's number: the part that differs by lane */
    int64_t step;                    /* by which that grows from lane to lane: 0 or 1, else -1 */
    const LaneValues *otherwise;     /* or NULL */
    bool otherwise_exact;
} Load;

typedef enum CodeKind { CODE_CONSTANT, CODE_VARIABLE, CODE_READ, CODE_OP, CODE_CAST } CodeKind;

typedef struct Instruction {
    CodeKind kind;
    Op op;
    ElementType type, from; /* of the result and of the operands */
    bool exact;
    bool varies; /* it depends on reduction variables, directly or through its operands */
    LaneValues *result;
    int count;
    const struct Instruction *args[3];
    int variable; /* of CODE_VARIABLE: axes come first, then reductions */
    Load *load;
} Instruction;

typedef LIST(Instruction *) Instructions;

/* The reduction of a tuple by a declared combiner, for one component. left and right stand for what was combined so far
 * and for the next term: their lanes are filled before `combined` runs. */
typedef struct Combination {
    Instructions section;
    Instruction **left, **right, **combined; /* [count] */
} Combination;

typedef struct TupleCode {
    int count, component;
    Instruction **initials, **values; /* [count]: of the sections initial and value of the StageCode */
    Instructions conditions;          /* of the section value: a term counts where all hold */
    Combination narrow, wide;         /* in the types of the components; the same with all floats in double */
    bool *exact;                      /* [count]: every correct object has the same result, unless a term is NaN */
    bool ordered;                     /* the terms are combined in source order */
    bool nan_unordered;               /* other orders than the source's may give other results where a term is NaN */
    struct Fold *fold;                /* of interpreter_tuple.c, from the first run on */
} TupleCode;

/* Of the strips that next_strip has given so far. */
typedef enum StripsState { STRIPS_NEW, STRIPS_BEGUN, STRIPS_OVER } StripsState;
typedef struct Ends Ends;

struct StageCode {
    const Stage *stage; /* NULL for a requirement */
    TupleCode *tuple;   /* NULL unless the combiner is declared */
    Storage *storage;   /* what it computes */
    ElementType type;
    bool exact; /* every correct object computes the same from what it reads */
    Combine combine;
    int axis_count, variable_count; /* axes first, then reductions */
    const Var **variables;
    int64_t *extents; /* by variable */
    int64_t points, reduction_points;
    double operations; /* for one point and one value of the reductions */
    Instructions initial, value;
    Instruction *initial_result, *value_result;
    Instructions place;         /* of a stage that scatters: computes the axes that have one value for each term */
    const Instruction **places; /* by axis: its value for a term, or NULL if the axis takes all values; NULL if the
                                 * stage does not scatter */
    int64_t **lanes;            /* by variable: its values, if it differs by lane */
    int64_t *scalars;           /* by variable: its value, if it does not */
    int64_t *terms;             /* by variable: its value at the start of the next strip of terms */
    int lane_first, lane_end;   /* the variables that differ by lane */
    Ends *ends;                 /* [variables] of interpreter_ends.c; NULL: no end of a variable is read */
    StripsState strips;
    LaneValues result;
    double magnitude[STRIP]; /* of a sum of floats: the sum of absolute terms */
    double
        plain_sum[STRIP]; /* of a sum of floats: the sum without rounding; of a product: by how many powers of 2 it may
                           * grow */
};

struct Interpreter {
    Arena *arena;
    const Program *program;
    SizeValue *sizes; /* sizes first, then integer scalars */
    int size_count;
    int storage_count;
    Storage *storages;
    void *const *arguments;
    void *const *results; /* of outputs, by argument; NULL: they are computed */
    double operations; /* how many were executed so far */
    bool values_only;  /* bounds and magnitudes are not needed */
    double error;      /* of the algorithms in the checked object: see interpreter_allow */
};

/* interpreter_compile.c: NULL, with *why set, if an extent has no value. A requirement is a stage of type bool without
 * a tensor. */
StageCode *code_of_stage(Interpreter *interpreter, const Stage *stage, Storage *storage, const char **why);
Storage *storage_of(Interpreter *interpreter, const Tensor *tensor);
void set_exact(StageCode *code, bool exact); /* and what it computes */
/* Makes the code of every component of a stage. */
bool compile_stage(Interpreter *interpreter, const Stage *stage, const char **why);

/* interpreter_run.c: computes the points whose axis values are in code->lanes. The results are in code->result and
 * code->magnitude. */
void run_points(Interpreter *interpreter, StageCode *code, int count);
/* has_rows: a stage without reductions whose last axis is long. run_row: its points from number `first` on that lie in
 * one row, without magnitudes. Returns how many they are. */
bool has_rows(const StageCode *code);
int run_row(Interpreter *interpreter, StageCode *code, int64_t first);
/* Puts the axis values of the points first, first + 1, ... in row-major order into code->lanes. */
void set_points(StageCode *code, int64_t first, int count);

/* Computes all elements of a stage that scatters in one pass over its terms. store is called for one strip at a
 * time. */
void run_scatter(Interpreter *interpreter, StageCode *code, void (*store)(Storage *storage, int64_t first, int count));
double scatter_terms(const StageCode *code); /* how many terms that pass has */

/* interpreter_tuple.c: reduces the points whose axis values are in code->lanes. */
void run_tuple(Interpreter *interpreter, StageCode *code, int count);
/* interpreter_run.c, for interpreter_tuple.c: sections of code, and the reductions' values of the next strip of
 * terms, given the scalars of the axes. */
void prepare(const StageCode *code, const Instructions *section, int count);
void execute_all(Interpreter *interpreter, const StageCode *code, const Instructions *section, int count);
void begin_terms(StageCode *code, int64_t *left);                         /* left: how many terms are left */
int next_terms(Interpreter *interpreter, StageCode *code, int64_t *left); /* how many the strip has; 0 after the last */
bool next_term(const StageCode *code, int64_t *values);                   /* of one term; false after the last */

/* interpreter_ends.c. find_ends: notes where the variables from number `first` on begin and end where the condition
 * holds (fails: where it does not), if it reads that. next_strip: puts the next values of these variables between their
 * ends into the lanes, given the scalars of those before, without places; the last one is the fastest. Returns how many
 * they are; 0: begin_strips is needed. */
void find_ends(Interpreter *interpreter, StageCode *code, const Expr *condition, bool fails, int first);
void begin_strips(StageCode *code);
int next_strip(Interpreter *interpreter, StageCode *code, int first);
/* interpreter_compile.c, for interpreter_ends.c: what may read outside is 0 there. */
const Instruction *compile_apart(Interpreter *interpreter, StageCode *code, Instructions *section, const Expr *e);

/* interpreter_storage.c */
void compute_whole(Interpreter *interpreter, Storage *storage);
void allocate_whole(Interpreter *interpreter, Storage *storage); /* for storing single elements */
void store_result(Storage *storage, int64_t element, int lane);  /* of the last run of its code */
/* Makes the elements known: all, or one by one. */
void demand_elements(Interpreter *interpreter, Storage *storage, const int64_t *elements, int count);
Entry *find_entry(const Storage *storage, int64_t element);
/* Loads elements, and computes them if needed. Their error is left alone if the storage is exact. */
void load_elements(Interpreter *interpreter, Storage *storage, const int64_t *elements, int count, LaneValues *result);
Evaluated evaluated_element(Interpreter *interpreter, Storage *storage, int64_t element);
Evaluated computed_element(Interpreter *interpreter, Storage *storage, int64_t element); /* known or not */

/* interpreter_scan.c */
bool compile_scan(Interpreter *interpreter, const Scan *scan, const char **why);
void compute_scan(Interpreter *interpreter, const Scan *scan);

/* interpreter_lanes.c */
void apply_lanes(const Instruction *instruction, int count);
void cast_lanes(const Instruction *instruction, int count);
void round_lanes(ElementType type, double *values, int count);
void wrap_lanes(ElementType type, int64_t *values, int count);
/* interpreter_bounds.c: the error of the last result. */
void bound_lanes(const Instruction *instruction, int count);
void bound_cast(const Instruction *instruction, int count);
/* What a term adds to the bound of a sum: an infinite one that is not certain decides nothing. */
double error_of_term(double term, double error);

#endif
