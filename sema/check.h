/* check.h - what the files of sema share: the module being checked, one program being built, one statement.
 *
 * A Builder makes one Program; a Frame is one def inside it (the unit's own, or a call's); a Statement is one
 * assignment. Expressions of a statement are built over its index variables as the source counts them; once ranges are
 * known, resolve_value rewrites them over the axes of the stage, which start at 0. A NULL expression is poisoned: its
 * error has been reported, and whatever uses it stays silent.
 */
#ifndef SEMA_CHECK_H
#define SEMA_CHECK_H

#include "lang/npy.h"
#include "lang/value.h"
#include "sema/sema.h"
#include "sema/sizes.h"

/* --- the module --- */

typedef struct SourceFile SourceFile;

typedef enum CheckState { CHECK_NEW, CHECK_RUNNING, CHECK_GOOD, CHECK_BAD } CheckState;

typedef struct Definition {
    const AstDef *ast;
    SourceFile *file;
    CheckState state;
    bool instr;       /* the meaning of an instruction: its result begins with what is there */
    Program *program; /* of its own check, when GOOD and every integer parameter had a value */
} Definition;

typedef struct CombinerDefinition {
    const AstCombiner *ast;
    SourceFile *file;
    CheckState state;
    const Combiner *combiner; /* when GOOD */
    LIST(Expr **) tested;     /* for each test of its algebra: the constants among the values that were combined */
} CombinerDefinition;

struct SourceFile {
    int number; /* among the checker's files */
    AstFile *ast;
    const char *path;
    bool embedded;
    LIST(Definition *) definitions;
    LIST(CombinerDefinition *) combiners;
    LIST(SourceFile *) imports;
};

typedef struct Checker {
    Arena *arena;
    Sources *sources;
    SemaOptions *options;
    Diagnostics *diagnostics;
    Module *module;
    int complete;               /* files, the first ones, whose imports are loaded */
    int depth;                  /* of defs under way: calls in calls */
    bool implementations;       /* some def implements another */
    LIST(SourceFile *) files;   /* main first, then in the order of reading */
    LIST(const Instr *) instrs; /* of all files */
    LIST(const Array *) arrays; /* of constants, as often as they are read as another type */
} Checker;

/* --- one program --- */

/* A tensor as a def sees it: with the sizes that its own header gives, counted from `lower`. */
typedef struct View {
    const Tensor *tensor;
    int rank;
    Expr **dims;
    Expr **lower; /* NULL: all 0 */
} View;

typedef struct Part {
    Tensor *tensor;
    int version;
    const char *suffix;
} Part;

/* What a name stands for that tensors are assigned to or read from. */
typedef struct Variable {
    const char *name;
    Loc loc;
    const AstResult *result; /* of an output of its def */
    bool input, poisoned, used;
    bool written; /* a definition was made, or tried with errors */
    View view;    /* the newest version; view.tensor NULL before the first definition */
    LIST(Tensor *) versions;
    LIST(Part) parts;        /* tensors that versions are made of: named VERSION.SUFFIX */
    Tensor *initial;         /* ROLE_INITIAL, when the caller's buffer is read or may be */
    struct Variable *beside; /* defined by one statement with it, or with what is beside that */
    bool together_used;      /* some of those that lead here are used */
} Variable;

/* One statement defines them: where one is used, the others are needed. */
void variables_together(Variable *const *variables, int count);

typedef enum SymbolKind { SYMBOL_SIZE, SYMBOL_SCALAR, SYMBOL_TENSOR } SymbolKind;

typedef struct Symbol {
    SymbolKind kind;
    const char *name;
    Loc loc;
    Expr *value;        /* SIZE (int64, over the program's sizes; NULL: not bound yet) and SCALAR */
    bool parameter;     /* SIZE: an integer parameter in brackets */
    bool used;          /* SCALAR */
    Variable *variable; /* TENSOR */
} Symbol;

/* A tensor that a scan block defines, as its statements see it. */
typedef struct Carried {
    Variable *variable;
    const AstTarget *target;  /* of its first statement */
    int step;                 /* which of its indices is the scan's */
    int definitions, defined; /* its statements, and those whose stages were made */
    View last;                /* its last version, which later steps read: dims and lower NULL where not known yet */
    bool typed;               /* the type is known */
    ElementType type;
    bool given;     /* it has sizes from before or from the header */
    Loc unknown;    /* of a read that had to be given up, for want of a type or of sizes */
    Tensor *tensor; /* the last version, made before its statements are */
} Carried;

/* scan t { ... } while its statements are checked. */
typedef struct ScanBlock {
    const AstStatement *ast;
    LIST(Carried) carried;
    bool probing; /* statements are looked at for ranges and types alone */
    Scan *scan;
} ScanBlock;

typedef LIST(Stage *) Stages;

/* Constants by name: integers for parameters and sizes, arrays for tensors. */
typedef struct Bound {
    const char *name;
    int64_t value;
    const Array *array; /* or NULL */
    Loc loc;
    bool used;
    bool waits; /* made of parameters of the caller that wait for a value */
} Bound;
typedef LIST(Bound) Bounds;

/* A call that may be replaced, or is, by what implements the called def. */
typedef struct Replacement {
    const char *name;       /* of what the call makes; "" for the unit itself */
    Definition *definition; /* that implements it */
    double error;
    Bounds parameters; /* of the implemented def there */
    bool used;
} Replacement;

typedef struct Algorithms {
    LIST(Replacement) found; /* while a program is made as it is written */
    int chosen_count;
    Replacement *chosen; /* while it is made with others */
} Algorithms;

/* Both ends count. */
typedef struct Range {
    int64_t low, high;
} Range;

typedef struct TensorRange {
    const Tensor *tensor;
    Range range;
} TensorRange;

typedef struct Builder {
    Checker *checker;
    Algorithms *algorithms; /* or NULL: calls are what they are */
    Arena *arena;
    LIST(const Var *) sizes;
    LIST(Argument) inputs;
    LIST(Tensor *) tensors; /* every one, inputs and outputs too */
    Stages stages;
    LIST(Requirement) requirements;
    LIST(Scan *) scans;
    Polys facts; /* over sizes, each >= 0: what requirements promise */
    LIST(struct Binding) bounds;
    LIST(TensorRange) ranges; /* of temporaries of integers: what is known beside their types (lost.c) */
    int calls;                /* instantiated so far */
    bool names_only;          /* integer parameters have made-up values: ranges and bounds are not reported */
} Builder;

typedef struct Frame {
    Builder *builder;
    struct Frame *caller;
    Definition *definition;
    Loc call;           /* of the call in the caller; of the export */
    const char *prefix; /* of the names of its tensors: "" or "t." */
    LIST(Symbol *) symbols;
    LIST(Variable *) variables;
    LIST(const char *) call_names; /* prefixes given to nested calls */
    ScanBlock *scan;               /* the block that is being checked, or NULL */
    bool failed;
} Frame;

/* Values that the caller lends a def: one for each of its arguments. */
typedef struct Actual {
    View view;   /* of a tensor */
    Expr *value; /* of a scalar */
    Loc loc;
} Actual;

/* --- one statement --- */

typedef struct IndexVariable {
    const char *name;
    Loc loc;              /* first appearance */
    Var *raw;             /* as the source counts it */
    bool target;          /* on the left */
    const AstExpr *place; /* on the left, but not a name: the index takes the value of this; else NULL */
    Expr *computed;       /* that value */
    bool where;           /* has a range of its own */
    bool weak;            /* range from reads that have an else */
    Expr *begin, *end;    /* of where, when one of them uses other indices: the range is the hull of all of these */
    Expr *low, *high;     /* inclusive, over sizes; NULL while unresolved */
    Expr *extent;         /* high - low + 1 */
    Var *axis;            /* 0 <= axis < extent; raw = axis + low */
} IndexVariable;

/* One read of a statement, in the order of the source. */
typedef struct ReadSite {
    const AstExpr *ast;
    const char *name; /* of the tensor, as the source says it */
    Expr *read;       /* over raw index variables; indices count from 0 */
    View view;
    bool has_else;
    ElseMode mode;
    bool written;       /* of the left side: no read */
    bool never_outside; /* the else is needless */
    bool guarded;       /* in range only because of the conditions it stands under */
    int guard_count;
    Expr **guards; /* bool: the conditions it stands under, over raw index variables */
    bool earlier;  /* of what an earlier step of the scan wrote: says nothing of the range of the steps */
    int step;      /* then: the dimension of the steps */
    bool *assured; /* per dimension: in range because a range was inferred from it, or proved for a read with an else */
} ReadSite;

typedef struct Statement {
    Frame *frame;
    Builder *builder;
    const AstStatement *ast;
    LIST(IndexVariable *) indices;
    LIST(ReadSite *) sites;
    LIST(Expr *) guards;     /* of the place that is being translated */
    LIST(Expr *) predicates; /* of where: bool, over raw index variables; each holds only where those before it do */
    int let_limit;           /* where clauses that the place may use as lets */
    bool in_predicate;       /* an index is compared with an integer as int64, not as int32 */
    int index_depth;         /* inside the indices of a read: integers become int64 */
    int depth, nodes;
    bool failed;
    LIST(const Expr *) wanted; /* casts of the source to their own type: what wraps is meant to */
    LIST(Loc) quotients;       /* of integers that are numbers and leave a rest */
    bool strong_only;          /* reads with an else say nothing of ranges */
    Polys facts;               /* over sizes: those of the builder, and that no range is empty; once ranges are known */
} Statement;

/* Whether the type of an expression is known: it is not where reads of a scan without a type yet make it up. */
typedef enum Open {
    CLOSED,
    OPEN,        /* any other type that it meets wins */
    OPEN_LITERAL /* the same, but literals after else say what it is when it meets none */
} Open;

/* A translated expression. index: int64 (or a comparison of such) made of indices, sizes and constants alone; as a
 * value it has `type`. */
typedef struct Typed {
    Expr *expr;
    ElementType type;
    bool index;
    Open open;
    Expr *wide; /* of a float that is made of numbers alone: the same in double; else NULL */
} Typed;

/* --- reporting (scope.c): the place comes first in what follows the id --- */

void frame_fail(Frame *frame); /* an error was reported in it, or in what it uses */
bool may_warn(const Frame *frame);
void note_calls(const Frame *frame);
#define DIAGNOSTICS(frame) ((frame)->builder->checker->diagnostics)
#define ERROR(frame, id, ...) (frame_fail(frame), diag(DIAGNOSTICS(frame), DIAG_##id, __VA_ARGS__))
#define WARN(frame, id, ...) (may_warn(frame) ? diag(DIAGNOSTICS(frame), DIAG_##id, __VA_ARGS__) : (void)0)
#define NOTE(frame, ...) diag_note(DIAGNOSTICS(frame), __VA_ARGS__)
#define HINT(frame, ...) diag_hint(DIAGNOSTICS(frame), __VA_ARGS__)

/* --- names (scope.c) --- */

Symbol *frame_symbol(const Frame *frame, const char *name);
Symbol *frame_add(Frame *frame, SymbolKind kind, const char *name, Loc loc);
Definition *definition_in(const SourceFile *file, const char *name); /* itself: NULL for one of an import */
CombinerDefinition *combiner_in(const SourceFile *file, const char *name);
Definition *find_definition(Arena *arena, const SourceFile *from, const char *name);
CombinerDefinition *find_combiner(Arena *arena, const SourceFile *from, const char *name);
/* Of the candidates offered so far the nearest to the name; NULL when none is near. */
typedef struct Nearest {
    const char *name, *best;
    int distance;
} Nearest;
void nearest_offer(Nearest *nearest, const char *candidate);
void hint_nearest_function(Frame *frame, const char *name);
void hint_nearest_combiner(Frame *frame, const char *name);
/* Of a tensor that its first definition reads. */
void hint_own_read(const Statement *statement, const AstExpr *read, const AstTarget *target, const Variable *variable);
void hint_nearest_value(const Statement *statement, const char *name);
/* A name that would be an index where none is: it is misspelt. */
void report_index(const Statement *statement, const IndexVariable *index);
void report_duplicate(Checker *checker, const AstName *name, const AstName *first);
int find_builtin(const char *name); /* an Op, or -1 */
/* One that is made of others: a def of the library with this name is for whole tensors and does not hide it. */
bool is_value_function(const char *name);
bool is_read(const Frame *frame, const AstExpr *apply);

/* --- types (types.c) --- */

Expr *convert(Arena *arena, Expr *e, ElementType type); /* constants are converted at once */
/* The value in a type; numbers are rounded to it once. */
Expr *typed_as(Arena *arena, Typed typed, ElementType type);
Expr *typed_value(Arena *arena, Typed typed); /* indices become values of their type */

/* --- what values lose (lost.c): warnings --- */

/* Of a value that is assigned to a tensor of the type, declared by the header or not: its ranges are known. */
void warn_lost(Statement *statement, const Expr *value, ElementType type, bool declared);
void warn_narrow_reduction(Statement *statement, const Variable *variable, const Expr *value, bool declared);
/* Of reads whose extents, fixed by the header, differ along an index. */
void warn_extents(Statement *statement);
/* What is known of a tensor that this value defines whole. */
void note_range(Statement *statement, const Tensor *tensor, const Expr *value);

/* --- expressions (expression.c) --- */

Typed translate(Statement *statement, const AstExpr *ast);
IndexVariable *find_index(const Statement *statement, const char *name);
void warn_hiding(Frame *frame, AstName name);
/* A condition, made under the conditions so far; NULL after an error. */
Expr *translate_condition(Statement *statement, const AstExpr *ast);
IndexVariable *add_index(Statement *statement, AstName name);
/* An integer of type int64; NULL after an error. */
Expr *translate_index_value(Statement *statement, const AstExpr *ast);
bool is_data_dependent(const Expr *e); /* reads memory or a scalar */

/* --- ranges (ranges.c) --- */

/* The ranges that where clauses give; a range that depends on other indices brings predicates with it. */
bool check_where(Statement *statement);
/* Finds the range of every index; target: constraints by what the left side already has, or NULL. False after errors.
 */
bool infer_ranges(Statement *statement, const View *target);
/* What the builder knows, and that no range of the statement is empty. */
void add_domain_facts(Statement *statement);
/* The smallest (or the largest) value of p over the ranges of its index variables, over sizes: false when not known. */
bool extreme_over_domain(const Statement *statement, const Poly *p, bool largest, Poly *extreme);
/* floor(x / k) + rest >= 0 says the same as x + k * rest >= 0: takes such divisions of index variables out of p >= 0.
 */
bool without_divisions(const Statement *statement, const Poly *p, Poly *plain);
bool uses_indices(const Statement *statement, const Expr *e);

/* --- bounds (bounds.c) --- */

/* target: what the left side already spans, or NULL. */
bool check_bounds(Statement *statement, const View *target);
/* p >= 0 as a comparison without minus signs: "KH <= H + 1". */
Expr *poly_condition(Arena *arena, const Poly *p);
void require(Builder *builder, Expr *condition, Status status, Loc loc);
/* What a condition on sizes that is required says of them, for what is proved later. */
void add_condition_facts(Builder *builder, const Expr *condition);
/* a == b or a requirement, or an error (false) when they never are. */
bool require_equal(Frame *frame, Expr *a, Expr *b, Loc loc, const char *what);
/* Reads of the statement that stay in range when its indices run over whole: sets Access.guarded of the others. */
void guard_over(Statement *statement, const View *whole);
/* low <= high + 1, a requirement where it depends on sizes; false after an error. */
bool require_range(Statement *statement, IndexVariable *index);
void check_tensor_size(Frame *frame, const Tensor *tensor, const char *name); /* NULL: no name that a caller knows */
/* What the header says of sizes and parameters, which have their values: errors (false), requirements, facts. */
bool check_header_conditions(Frame *frame);

/* --- resolving (resolve.c) --- */

Expr *resolve_value(Statement *statement, Expr *e);
/* The conjunction of the predicates; NULL when there are none. */
Expr *resolve_predicates(Statement *statement);
/* The same, and that each index which is computed has its value. */
Expr *resolve_conditions(Statement *statement);

/* --- statements (statement.c, stages.c) and calls (calls.c) --- */

void check_statement(Frame *frame, const AstStatement *ast);
/* The variable that a target names, made where it is new; NULL after an error. */
Variable *target_variable(Frame *frame, const AstTarget *target);
void poison_targets(Frame *frame, const AstStatement *ast); /* of a statement that is not understood */
/* The tensor that the variable stands for from here on. */
void variable_define(Builder *builder, Variable *variable, Tensor *tensor, View view);
/* The names, the value and the where ranges of an assignment; false after errors. */
bool translate_assignment(Statement *statement, const Variable *variable, Typed *value);
/* The combiner that the statement names, over as many values as it has; NULL after an error. */
CombinerDefinition *statement_combiner(Frame *frame, const AstStatement *ast);
/* The same of a statement with a combiner: a value for each of its targets. */
bool translate_tuple(Statement *statement, Variable *const *variables, Typed *values);
/* Makes the stages of a checked assignment: the ranges are known. declared: of a result with sizes, or NULL. */
void define_stages(Statement *statement, Variable *variable, Typed value, const View *declared);
/* The same for a statement with a combiner, which defines a variable for each of its components. values: NULL where
 * one is poisoned. */
void define_tuple(Statement *statement, const Combiner *combiner, Variable *const *variables, const Typed *values,
                  const View *target);
/* The declared sizes of a result; false after an error. */
bool declared_view(Frame *frame, const AstResult *result, View *view);
Tensor *new_tensor(Builder *builder, ElementType type, int rank, Loc loc);

bool is_call(const Frame *frame, const AstExpr *ast);
/* Checks a call and adds its stages; results gets a view for each result. name: what the results are called after,
 * NULL: after the def. False after errors. */
bool check_call(Frame *frame, const AstExpr *call, const char *name, View **results, int *result_count);
void check_call_statement(Frame *frame, const AstStatement *ast);

bool pass_arguments(Frame *callee, const AstExpr *call, Actual *actuals);

/* --- algorithms (implement.c) --- */

/* Checks what a def says that it implements, but not its body. */
bool check_implementation(Checker *checker, Definition *definition);
/* What the conditions of an implementation say of sizes: NAME == INTEGER. */
Bounds *implementation_bounds(Checker *checker, const AstDef *def);
/* That an implementation, its program made, has the results of what it implements. */
bool check_implemented_results(Checker *checker, const Definition *definition);
/* Notes what may take the place of the def that the frame instantiates, its parameters and sizes known. */
void note_places(Frame *frame, const char *name);
/* The frame to go on with: the callee's, or one for what takes its place; NULL after an error. */
Frame *enter_chosen(Frame *callee, const AstExpr *call, Actual *actuals, const char *name);
/* The unit's program with other algorithms. */
void add_alternatives(Checker *checker, Definition *definition, const Bounds *bounds, bool defines, Unit *unit,
                      const Algorithms *algorithms);

/* Whether some def that may be taken implements this one. */
bool is_implemented(Checker *checker, const Definition *definition);

/* --- calls that are written out (recognise.c) --- */

/* The def of a unit with calls of implemented defs for statements that compute the same, up to the order of terms, and
 * the places in it; the def itself where it has none. program: as it is written. */
Definition *recognise_calls(Checker *checker, Definition *definition, const Bounds *bounds, bool defines,
                            const Program *program, Algorithms *algorithms);

/* --- recurrences (scan.c) --- */

void check_scan(Frame *frame, const AstStatement *ast);
/* What the variable is in the block that is being checked; NULL when the block does not define it. */
Carried *find_carried(const Frame *frame, const Variable *variable);
/* What the left side spans as far as the whole block says so, or NULL. */
const View *carried_target(const Frame *frame, const Variable *variable);
/* Whether the block that is being checked makes what the expression reads. */
bool reads_carried(const Frame *frame, const Expr *e);
/* Of a read by that many indices: how many steps before the one at hand. False after an error. */
bool step_distance(Statement *statement, const AstExpr *ast, const Carried *carried, int64_t *distance);
/* --- combiners (combiner.c, algebra.c) --- */

/* Checks a combiner, once; NULL when it has errors. */
const Combiner *check_combiner(Checker *checker, CombinerDefinition *definition);
/* Tests what a good combiner claims, on values from a seed, for a statement that combines tuples in which the given
 * components are constants (NULL: any value). Reports what they break, and the statement; false then. */
bool check_algebra(Frame *frame, CombinerDefinition *definition, Expr **constants, Loc statement);

/* --- instructions (instr.c) --- */

void check_instrs(Checker *checker); /* of all files */

/* --- programs (instance.c, finish.c, module.c) --- */

SourceFile *library_file(Checker *checker, const char *name); /* of the compiler's library; NULL: there is none */

/* The program of a def with sizes bound; NULL after errors. defines: -D applies too. symbol NULL: the def's name.
 * algorithms: the places that are noted or replaced; NULL: none. */
Program *build_program(Checker *checker, Definition *definition, Bounds *bounds, bool defines, const AstName *symbol,
                       Algorithms *algorithms);
/* Integer parameters get their values. False after an error. */
bool bind_parameters(Frame *frame, Bounds *bounds, bool defines);
/* The contents of a tensor argument from a file; NULL after an error. */
const Array *constant_array(Frame *frame, const AstBinding *binding);
/* The sizes that shapes of bound arrays give, added to the bounds; false after an error. */
bool bind_shapes(Frame *frame, Bounds *bounds);
/* The tensor of an argument, its dims set, becomes a constant. */
void make_constant(Frame *frame, const Bound *constant, Tensor *tensor);
/* Checks the statements and results of a def whose parameters and arguments the frame has. */
void check_body(Frame *frame);
Variable *new_variable(Frame *frame, const char *name, Loc loc);
/* A constant in a bracket, an export or a default; false after an error. */
bool constant_value(Frame *frame, const AstExpr *ast, int64_t *value);
/* A condition over the sizes and parameters of a frame; NULL after an error. */
Expr *size_condition(Frame *frame, const AstExpr *ast);
/* An expression over the frame's symbols: an integer of sizes and constants; NULL after an error. */
Expr *size_value(Frame *frame, const AstExpr *ast);
/* Checks a def by itself, once: with symbolic sizes. False when it has errors. */
bool check_definition(Checker *checker, Definition *definition, bool defines);
/* Names, roles, order: what the frame's builder holds as a Program. */
Program *finish_program(Frame *frame, const char *symbol);
/* Reads of a caller's buffer that come too late are of copies, made first (initial.c). */
void copy_overwritten(Builder *builder);
void name_versions(Frame *frame);

#endif
