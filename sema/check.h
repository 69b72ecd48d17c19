/* check.h - what the files of sema share: the module that is checked, the program that is built, the current statement.
 *
 * A Builder makes one Program. A CallFrame is one def inside it: the def of the unit, or of a call. A Statement is one
 * assignment. Expressions of a statement use its index variables as the source counts them. Once ranges are known,
 * resolve_value rewrites them over the axes of the stage, which start at 0. A NULL expression is poisoned: its error
 * has been reported, and whatever uses it stays silent.
 */
#ifndef SEMA_CHECK_H
#define SEMA_CHECK_H

#include "lang/map.h"
#include "lang/npy.h"
#include "lang/value.h"
#include "sema/sema.h"
#include "sema/sizes.h"

/* --- the module --- */

typedef struct SourceFile SourceFile;

typedef enum CheckState { CHECK_NEW, CHECK_RUNNING, CHECK_GOOD, CHECK_BAD } CheckState;

typedef struct Definition {
    AstDef *ast; /* with its name alone until definition_in finds it, where it is of the library */
    SourceFile *file;
    CheckState state;
    bool waits;       /* a loop of it is over sizes that have no values in its own check */
    bool instr;       /* the meaning of an instruction: its result begins with its contents */
    Program *program; /* of its own check; NULL unless GOOD and all that it needs has a value */
} Definition;

typedef struct CombinerDefinition {
    const AstCombiner *ast;
    SourceFile *file;
    CheckState state;
    const Combiner *combiner; /* NULL unless GOOD */
    LIST(Expr **) tested;     /* one for each test of its algebra: the components that were constants */
} CombinerDefinition;

struct SourceFile {
    int number; /* its index among the checker's files */
    AstFile *ast;
    const char *path;
    bool embedded;
    LIST(Definition *) definitions;
    Map names; /* of definitions */
    LIST(CombinerDefinition *) combiners;
    Map combiner_names;
    LIST(SourceFile *) imports;
};

typedef struct Checker {
    Arena *arena;
    Sources *sources;
    SemaOptions *options;
    Diagnostics *diagnostics;
    Module *module;
    int complete;                       /* how many files, from the first on, have their imports loaded */
    int depth;                          /* how deep the current call is nested in others */
    LIST(SourceFile *) files;           /* main first, then in the order of reading */
    LIST(Definition *) implementations; /* the defs that implement others, of all files */
    LIST(const Instr *) instrs;         /* of all files */
    LIST(const Rule *) rules;           /* of all files */
    Map symbols;                        /* of units */
    LIST(const Array *) arrays;         /* constants from files; one for each type that a file is read as */
} Checker;

/* --- one program --- */

/* A tensor as a def sees it: with the sizes that the header of this def gives, and indices that begin at `lower`. */
typedef struct View {
    const Tensor *tensor;
    int rank;
    Expr **dims;
    Expr **lower;         /* NULL: all 0 */
    const int64_t *fixed; /* extents that headers or exports give as numbers (extents.c), 0: not so; NULL: none is */
} View;

typedef struct VersionPart {
    Tensor *tensor;
    int version;
    const char *suffix;
} VersionPart;

typedef struct Cover Cover;

/* A name that tensors are assigned to or read from. */
typedef struct Variable {
    const char *name;
    Loc loc;
    const AstResult *result; /* the result of the def that it is, or NULL */
    bool input, poisoned, used;
    bool written; /* a definition was made, or failed */
    View view;    /* the newest version; view.tensor is NULL before the first definition */
    LIST(Tensor *) versions;
    LIST(VersionPart) parts; /* tensors that a version is computed from: named VERSION.SUFFIX */
    Tensor *initial;         /* what the caller's buffer holds (ROLE_INITIAL), if that is read or may be */
    Cover *cover;            /* of a result that may keep some of the caller's buffer (cover.c); else NULL */
    struct Variable *beside; /* links variables that one statement defines together: the next one towards the first */
    bool together_used;      /* of the first of them: one of them is used */
} Variable;

/* One statement defines these variables: if one is used, all are needed. */
void variables_together(Variable *const *variables, int count);

typedef enum SymbolKind { SYMBOL_SIZE, SYMBOL_SCALAR, SYMBOL_TENSOR, SYMBOL_DEF } SymbolKind;

typedef struct Symbol {
    SymbolKind kind;
    const char *name;
    Loc loc;
    Expr *value;            /* of a SIZE (int64, over the program's sizes; NULL: not bound yet) or a SCALAR */
    bool parameter;         /* a SIZE that is an integer parameter in brackets */
    bool repeats;           /* a SIZE that is the index of a loop */
    bool ended;             /* it was one: the name is free again */
    bool used;              /* of a SCALAR */
    Variable *variable;     /* of a TENSOR */
    Definition *definition; /* of a DEF; NULL: it has no value yet */
} Symbol;

/* A tensor that a scan block defines, as the statements of the block see it. */
typedef struct Carried {
    Variable *variable;
    const AstTarget *target;  /* the left side of its first statement */
    int step;                 /* the position of the scan's index among its indices */
    int definitions, defined; /* how many statements define it, and for how many stages exist */
    View last;                /* its last version, which later steps read; dims and lower are NULL while unknown */
    bool typed;               /* the type is known */
    ElementType type;
    bool given;     /* its sizes come from an earlier definition or from the header */
    Loc unknown;    /* of a read that was given up because the type or the sizes were unknown */
    Tensor *tensor; /* the last version, made before the statements are checked */
} Carried;

/* scan t { ... } while its statements are checked. */
typedef struct ScanBlock {
    const AstStatement *ast;
    LIST(Carried) carried;
    bool probing; /* statements are only looked at for ranges and types */
    Scan *scan;
} ScanBlock;

typedef LIST(Stage *) Stages;

/* Constants by name: integers for parameters and sizes, defs for parameters, arrays for tensors. */
typedef struct Bound {
    const char *name;
    int64_t value;
    const Array *array;     /* or NULL */
    Definition *definition; /* or NULL */
    Loc loc;
    bool used;
    bool waits; /* depends on a parameter of the caller that has no value yet */
} Bound;
typedef LIST(Bound) Bounds;

/* A call that another def may replace, or replaces, since it implements the called one. */
typedef struct Replacement {
    const char *name;       /* of the result of the call; "" for the unit itself */
    Definition *definition; /* the def that implements the called one */
    double error;
    Bounds parameters; /* the parameters that the implemented def has there */
    double reuse;      /* elements_for_each_weight */
    bool used;
} Replacement;

/* The implementations of one alternative. */
typedef LIST(Replacement) ChosenPlaces;
typedef LIST(ChosenPlaces) ChosenList;

typedef struct Algorithms {
    LIST(Replacement) found; /* while the program is made as written */
    int chosen_count;
    Replacement *chosen; /* while the program is made with others */
} Algorithms;

typedef struct TensorRange {
    const Tensor *tensor;
    Interval range;
} TensorRange;

/* A temporary of integers that are rounded quotients, or such a quotient that a call passes as a scalar. */
typedef struct Rounded {
    const Tensor *tensor;          /* or NULL */
    const Expr *scalar;            /* or NULL */
    Loc loc;                       /* of the quotient */
    const struct CallFrame *frame; /* where it stands */
} Rounded;

/* What is looked at first to find a requirement again (require.c). */
typedef struct RequiredKey {
    int requirement;
    uint64_t key;
} RequiredKey;

typedef struct Builder {
    Checker *checker;
    Algorithms *algorithms; /* NULL: calls are not replaced */
    Arena *arena;
    LIST(const Var *) sizes;
    LIST(Argument) inputs;
    LIST(Tensor *) tensors; /* all of them, inputs and outputs too */
    Stages stages;
    LIST(Requirement) requirements;
    LIST(RequiredKey) required;
    LIST(Scan *) scans;
    AffineList facts; /* over sizes, each >= 0: what the requirements promise */
    LIST(struct Binding) bounds;
    LIST(TensorRange) ranges; /* of integer temporaries: what is known beyond their types (value_ranges.c) */
    int narrowing_steps;      /* that are left for a value (narrowed.c) */
    int narrowing_given;      /* those that it began with */
    int narrowing_used;       /* those that the values before it took */
    int narrowing_depth;      /* how much deeper they may lead */
    LIST(Rounded) rounded;    /* those that no statement made floats yet (lost.c) */
    int64_t calls;            /* how many were instantiated so far */
    int64_t repeated;         /* how many statements of loops (repeat.c) */
    bool names_only;          /* integer parameters have made-up values: no errors about ranges and bounds */
    bool by_itself;           /* a def is checked by itself: its sizes may get values later */
    bool waits;               /* a loop needs such a value: nothing more is checked or reported (repeat.c) */
    bool muted;               /* whether anything was reported before that */
} Builder;

typedef struct CallFrame {
    Builder *builder;
    struct CallFrame *caller;
    Definition *definition;
    Loc call;                  /* of the call in the caller, or of the export */
    const char *prefix;        /* of its tensors' names: "" or "t." */
    const AstTargets *targets; /* of a call: what it is assigned to; NULL: nothing */
    const View *begins;        /* of a call: what its inout results begin with, by result; NULL: it has none */
    LIST(Symbol *) symbols;
    Symbol **by_name; /* the same by the hash of their names, open addressing; NULL: free */
    int by_name_size; /* a power of 2 */
    LIST(Variable *) variables;
    Map call_names;  /* the prefixes of nested calls, to CallNames */
    ScanBlock *scan; /* the block that is being checked, or NULL */
    bool failed;
    bool noted; /* the last error says that it is of this call */
} CallFrame;

/* What the caller passes: one for each argument of the def. */
typedef struct Actual {
    View view;   /* of a tensor */
    Expr *value; /* of a scalar */
    Loc loc;
} Actual;

/* --- one statement --- */

typedef struct IndexVariable {
    const char *name;
    Loc loc;              /* of the first appearance */
    Var *raw;             /* as the source counts it */
    bool target;          /* on the left side */
    const AstExpr *place; /* NULL if a name on the left side; else the expression there, whose value the index takes */
    Expr *computed;       /* the value of `place` */
    bool where;           /* `where` gives its range */
    bool read;            /* `where` gives it ends that are read: conditions, within the range that reads give */
    bool weak;            /* its range comes from reads that have an else */
    Expr *begin, *end;    /* of `where`, if an end uses other indices: then the range is the hull of all these */
    Expr *low, *high;     /* inclusive, over sizes; NULL while unresolved */
    Expr *extent;         /* high - low + 1 */
    Var *axis;            /* 0 <= axis < extent; raw = axis + low */
} IndexVariable;

/* A read of a statement, in the order of the source; also a left side with computed indices (then `written` is set). */
typedef struct ReadSite {
    const AstExpr *ast;
    const char *name; /* of the tensor, as the source says it */
    Expr *read;       /* over raw index variables; indices count from 0 */
    View view;
    bool has_else;
    ElseMode mode;
    bool written;       /* it is the left side */
    bool never_outside; /* the else is never used */
    bool guarded;       /* inside only because of its guards */
    int guard_count;
    Expr **guards; /* bool, over raw index variables: the conditions that the read stands under */
    bool earlier;  /* it reads what an earlier step of the scan wrote, so it does not bound the steps */
    int step;      /* of such a read: the dimension of the steps */
    bool *assured; /* by dimension: known to be inside, as a range was inferred from it or (with an else) by proof */
} ReadSite;

typedef struct Statement {
    CallFrame *frame;
    Builder *builder;
    const AstStatement *ast;
    ElementType type; /* of the value, where there is one */
    LIST(IndexVariable *) indices;
    LIST(ReadSite *) sites;
    LIST(Expr *) guards;     /* the conditions that the current place stands under */
    LIST(Expr *) predicates; /* of where: bool, over raw index variables; each counts only where those before it hold */
    int let_limit;           /* the first clauses of where, which the current place may use as lets */
    bool in_combiner;        /* it is no assignment but what a combiner makes of a component */
    bool in_predicate;       /* an index is compared with an integer in int64, not in int32 */
    int index_depth;         /* > 0 inside the indices of a read: integers become int64 */
    int depth, nodes;
    bool failed;
    LIST(const Expr *) wanted; /* casts to their own type in the source: they say that what is lost is meant */
    LIST(Loc) quotients;       /* integer quotients of two numbers with a remainder */
    bool strong_only;          /* reads with an else do not bound indices */
    AffineList facts;          /* over sizes, once ranges are known: those of the builder, and that no range is empty */
} Statement;

/* Whether the type of an expression is known. It is not while it comes only from reads of a scan whose type is not
 * found yet. */
typedef enum Open {
    CLOSED,
    OPEN,        /* it takes the type of the other operand */
    OPEN_LITERAL /* the same, but without any other operand a literal after else decides */
} Open;

/* A translated expression. index: it is made of indices, sizes and constants only, and is an int64 or a comparison of
 * int64. `type` is its type when it is used as a value. */
typedef struct Typed {
    Expr *expr;
    ElementType type;
    bool index;
    Open open;
    Expr *wide; /* a float made of numbers only, in double; else NULL */
} Typed;

/* --- reporting (scope.c): the place is the first argument after the id --- */

Loc outermost_loc(const CallFrame *frame, Loc loc); /* of the call, in what is built, that led to this place */
void frame_fail(CallFrame *frame);                  /* an error was reported in it, or in a def that it calls */
bool may_warn(const CallFrame *frame);
/* Whether warnings depend on what the statement computes: not in a call, since its def is checked by itself. */
bool may_warn_of_values(const Statement *statement);
void note_calls(CallFrame *frame);
void note_call(CallFrame *frame); /* the innermost of them, once for each error */
#define DIAGNOSTICS(frame) ((frame)->builder->checker->diagnostics)
#define ERROR(frame, id, ...) (frame_fail(frame), diag(DIAGNOSTICS(frame), DIAG_##id, __VA_ARGS__))
#define WARN(frame, id, ...) (may_warn(frame) ? diag(DIAGNOSTICS(frame), DIAG_##id, __VA_ARGS__) : (void)0)
#define NOTE(frame, ...) diag_note(DIAGNOSTICS(frame), __VA_ARGS__)
#define HINT(frame, ...) diag_hint(DIAGNOSTICS(frame), __VA_ARGS__)

/* --- names (scope.c) --- */

Symbol *frame_symbol(const CallFrame *frame, const char *name);
Symbol *frame_add(CallFrame *frame, SymbolKind kind, const char *name, Loc loc);
Definition *definition_in(const SourceFile *file, const char *name); /* not of its imports; or NULL */
CombinerDefinition *combiner_in(const SourceFile *file, const char *name);
Definition *find_definition(const SourceFile *from, const char *name);
CombinerDefinition *find_combiner(const SourceFile *from, const char *name);
/* The candidate nearest to the name so far; NULL if none is near. */
typedef struct Nearest {
    const char *name, *best;
    int distance;
} Nearest;
void nearest_offer(Nearest *nearest, const char *candidate);
void hint_nearest_function(CallFrame *frame, const char *name);
void hint_nearest_combiner(CallFrame *frame, const char *name);
void hint_nearest_value(const Statement *statement, const char *name);
/* Reports a name that is misspelt: it would be an index where no index is possible. */
void report_index(const Statement *statement, const IndexVariable *index);
void report_duplicate(Checker *checker, const AstName *name, const AstName *first);
int find_builtin(const char *name); /* an Op, or -1 */
/* A function that is an expression of others. A def with its name that is for whole tensors does not hide it. */
bool is_value_function(const char *name);
bool is_read(const CallFrame *frame, const AstExpr *apply);

/* --- types (types.c) --- */

Expr *convert(Arena *arena, Expr *e, ElementType type); /* constants are converted at once */
/* The value in the type. Numbers are rounded once, to this type. */
Expr *typed_as(Arena *arena, Typed typed, ElementType type);
Expr *typed_value(Arena *arena, Typed typed); /* indices become values of their type */

/* --- ranges of integers (value_ranges.c) --- */

/* The conditions that a value stands under, innermost first, and whether they hold there or fail. */
typedef struct Under {
    const Expr *condition;
    bool holds;
    const struct Under *outer;
} Under;

bool is_narrow_integer(ElementType type); /* of 8 or 16 bits */
/* Whether all values of the range are of the type. What has 64 bits is taken to fit. */
bool range_fits(Interval range, ElementType type);
/* The range of an expression of integers or bools, over raw index variables. under: the conditions that it stands
 * under; NULL: none. */
Interval value_range(const Statement *statement, const Under *under, const Expr *e);
/* The range of the exact result of an operator, before it becomes a value of its type. */
Interval exact_range(const Statement *statement, const Under *under, const Expr *e);
bool same_value(const Statement *statement, const Expr *x, const Expr *y);
/* The value of the element of a temporary that is read; NULL: it is not known. */
const Expr *behind_read(const Statement *statement, const Expr *read);
Interval tensor_range(const Statement *statement, const Tensor *tensor); /* of its elements */
const Expr *without_widening(const Expr *e);                             /* the operand of casts that keep all values */
bool keeps_values(const Expr *cast); /* it is a cast to a wider integer type that keeps all values; else false */
/* Notes what is known of the elements of a tensor that this value defines whole. */
void note_range(Statement *statement, const Tensor *tensor, const Expr *value);

/* --- what conditions say of ranges (narrowed.c) --- */

void narrowing_begin(const Statement *statement); /* of a value, for which the time is bounded */
bool narrowing_ends(const Statement *statement);  /* no time is left: from now on conditions say nothing */
bool range_is_empty(Interval range);
/* The range of e where the conditions hold, if it is `range` by itself; empty: they never hold together. */
Interval narrowed_range(const Statement *statement, const Under *under, const Expr *e, Interval range);
/* The same of the exact result of an operator, as by int32(a) + b < 256 of a + b. What e is made of must not wrap. */
Interval narrowed_result(const Statement *statement, const Under *under, const Expr *e, Interval range);
/* Whether the comparison is one of this exact result. */
bool compares_result(const Statement *statement, const Expr *comparison, const Expr *e);
/* Whether the first of the conditions is known never to hold beside the others. */
bool never_holds(const Statement *statement, const Under *under);

/* --- what values lose (lost.c): warnings --- */

bool is_arithmetic(const Expr *e); /* a sum, a difference, a product, a negation */

/* Warns of what the value loses on its way into a tensor of this type. declared: by the header. Ranges are known. */
void warn_lost(Statement *statement, const Expr *value, ElementType type, bool declared);
/* Warns of what the conditions of where and the computed indices of the left side lose. */
void warn_lost_beside_value(Statement *statement);
void warn_narrow_reduction(Statement *statement, const Variable *variable, const Expr *value, bool declared);
/* Notes whether the value of a temporary, or of a result of a call, is a quotient that is rounded. */
void note_rounded(Statement *statement, const Tensor *tensor, const Expr *value);
/* The same of a scalar that a call passes. */
void note_rounded_scalar(Statement *statement, const Expr *value);

/* --- covers (cover.c): warnings --- */

/* The first definition of the result at loc leaves a rest. declaration: of the result, if that is meant. */
void cover_begin(Builder *builder, Variable *variable, const View *whole, Loc loc, const char *declaration);
/* A definition gives the elements of this part their values, where the condition holds (NULL: all of them). It is over
 * axes that run over the part. */
void cover_add(Builder *builder, Cover *cover, const View *part, const Var *const *axes, Expr *condition);
/* cases.c: whether one of the conditions holds whatever the values of what they name, but for NaN. */
bool one_always_holds(Arena *arena, Expr *const *conditions, int count);
void cover_note_read(Variable *variable);
/* At the end of the def: warns if a rest stays, or was read. */
void cover_warn(CallFrame *frame, const Variable *variable);

/* --- extents (extents.c): warnings --- */

/* Warns of extents that differ along an index, where headers fix them. later: what later definitions give to the left
 * side, or NULL. */
void warn_extents(Statement *statement, const View *later);
/* Warns of results of a def of the compiler's library that have no elements though all arguments have some, at the call
 * or export. The ranges of other defs are warned of themselves. */
void warn_empty_results(CallFrame *frame);
/* The extents that are numbers in a header, besides those that are known (or NULL). */
const int64_t *fixed_in_header(Arena *arena, const AstExprs *dims, const int64_t *known);
/* The extents of an argument that are numbers, in the header or by the values of its sizes. One that the header
 * computes from a size, such as 2 * N, is another one than that on purpose. */
const int64_t *fixed_by_values(Arena *arena, const AstExprs *dims, const Tensor *tensor);
/* The extents that the first definition of a tensor takes from reads; NULL: none. */
const int64_t *fixed_by_reads(const Statement *statement);

/* --- expressions (expression.c) --- */

Typed translate(Statement *statement, const AstExpr *ast);
IndexVariable *find_index(const Statement *statement, const char *name);
void warn_hiding(CallFrame *frame, AstName name);
/* A condition, translated under the conditions so far; NULL after an error. */
Expr *translate_condition(Statement *statement, const AstExpr *ast);
IndexVariable *add_index(Statement *statement, AstName name);
/* An integer of type int64; NULL after an error. */
Expr *translate_index_value(Statement *statement, const AstExpr *ast);
bool is_data_dependent(const Expr *e); /* it reads memory or a scalar argument */

/* --- ranges (ranges.c) --- */

/* The ranges of where clauses. A range that depends on other indices adds predicates. */
bool check_where(Statement *statement);
/* Finds the range of every index. target: what the left side already spans, which bounds its indices, or NULL. False
 * after errors. */
bool infer_ranges(Statement *statement, const View *target);
/* Adds to the facts what the builder knows, and that no range of the statement is empty. */
void add_domain_facts(Statement *statement);
/* The smallest or largest value of p over the ranges of its index variables, in terms of sizes. False if unknown. */
bool extreme_over_domain(const Statement *statement, const Affine *p, bool largest, Affine *extreme);
/* Replaces divisions of index variables in p >= 0: floor(x / k) + rest >= 0 is the same as x + k * rest >= 0. */
bool without_divisions(const Statement *statement, const Affine *p, Affine *plain);
bool uses_indices(const Statement *statement, const Expr *e);

/* --- statements written in another way (hints.c) --- */

/* Hints for an index whose range has ends that are read, and which no read bounds. */
void hint_read_ends(Statement *statement, const IndexVariable *index);
/* Hints for '=' with an index that is not on the left. */
void hint_reduction(Statement *statement, const IndexVariable *reduced);
/* Warns of a reduction over all rows for each place of one. */
void warn_rows_of_places(Statement *statement);
/* Says how to write to one place only: the name, which stands for a value, is an index on the left side. */
void hint_place(const Statement *statement, const AstTarget *target, const char *name);
/* Hints for '=' with an index on the left that is computed: this place. */
void hint_computed(const Statement *statement, const AstExpr *place);
/* Says how to give an extent that a computed index does not give. A result is declared. A temporary is first defined by
 * a simple statement. */
void hint_extent(const Statement *statement);
/* For a temporary with t(i, j) = x where j <= i: suggests a value for the rest. type: of t. */
void hint_choice(const Statement *statement, ElementType type);
/* For a value in the place of a condition. */
void hint_comparison(const Statement *statement, const AstExpr *ast);
/* For y() = sum(x(i)): suggests the reduction. False: it is no such. */
bool hint_combined(const Statement *statement, const AstExpr *ast);
/* For A(-1), whose index is at the place of dimension d: suggests to count from the beginning. False: it is no such. */
bool hint_from_end(const Statement *statement, const ReadSite *site, const AstExpr *place, int d);
/* For a result of a call that is defined in a part only: suggests a definition of the whole before it. */
void hint_rest(const Statement *statement, const Variable *variable, ElementType type);
/* The result as a header declares it that says inout. type: of the result, or TYPE_COUNT where it is not known. */
const char *inout_text(const Statement *statement, const Variable *variable, ElementType type);
/* The same for an argument that is assigned to. */
void hint_result(CallFrame *frame, const char *name);
/* Hints for a tensor that its own first definition reads. */
void hint_own_read(const Statement *statement, const AstExpr *read, const AstTarget *target, const Variable *variable);
/* The same for other elements of what a statement before defines. False: the read is not of these. */
bool hint_other_elements(const Statement *statement, const AstExpr *read);

/* --- requirements (require.c) --- */

/* p >= 0 as a comparison without minus signs: "KH <= H + 1". */
Expr *affine_condition(Arena *arena, const Affine *p);
/* Adds a condition that calls check, unless it is one already or always holds. */
void require(Builder *builder, Expr *condition, Status status, Loc loc);
/* The same; `text` says it in words. */
void require_in_words(Builder *builder, Expr *condition, Status status, Loc loc, const char *text);
/* Whether it holds, for all values of what it names, where the requirements on sizes so far hold. */
bool follows_from_sizes(const Builder *builder, Expr *condition);
/* Once all are known: drops those that follow from others. */
void drop_implied_requirements(Builder *builder);

/* --- bounds (bounds.c) --- */

/* target: what the left side already spans, or NULL. */
bool check_bounds(Statement *statement, const View *target);
/* Adds what a required condition says of sizes to the facts for later proofs. */
void add_condition_facts(Builder *builder, const Expr *condition);
/* Requires a == b. False, with an error, if they are never equal. */
bool require_equal(CallFrame *frame, Expr *a, Expr *b, Loc loc, const char *what);
/* Sets `guarded` of all reads that would leave their tensor if the indices ran over `whole`. */
void guard_over(Statement *statement, const View *whole);
/* Requires low <= high + 1, at run time if that depends on sizes. False after an error. */
bool require_range(Statement *statement, IndexVariable *index);
/* memory.c. name: NULL where no caller knows it. */
void check_tensor_size(CallFrame *frame, const Tensor *tensor, const char *name);
/* The conditions in the header, on sizes and parameters with known values: errors (false), requirements, facts. */
bool check_header_conditions(CallFrame *frame);

/* --- resolving (resolve.c) --- */

Expr *resolve_value(Statement *statement, Expr *e);
/* The conjunction of the predicates; NULL when there are none. */
Expr *resolve_predicates(Statement *statement);
/* The same, and that each computed index has its value. */
Expr *resolve_conditions(Statement *statement);
/* Drops the predicates that hold wherever the ranges are not empty: they leave no rest. */
void drop_certain_predicates(Statement *statement);

/* --- statements (statement.c, stages.c) and calls (calls.c) --- */

void check_statement(CallFrame *frame, const AstStatement *ast);
/* The variable on the left side, made if it is new; NULL after an error. */
Variable *target_variable(CallFrame *frame, const AstTarget *target);
void poison_targets(CallFrame *frame, const AstStatement *ast); /* of a statement with an error */
/* From here on the variable stands for this tensor. */
void variable_define(Builder *builder, Variable *variable, Tensor *tensor, View view);
/* Translates the names, the value and the where ranges of an assignment. False after errors. */
bool translate_assignment(Statement *statement, const Variable *variable, Typed *value);
/* The combiner of the statement, which has as many components as the statement has targets; NULL after an error. */
CombinerDefinition *statement_combiner(CallFrame *frame, const AstStatement *ast);
/* The same for a statement with a combiner: one value for each target. */
bool translate_tuple(Statement *statement, Variable *const *variables, Typed *values);
/* Makes the stages of a checked assignment, whose ranges are known. declared: the sizes in the header, or NULL. */
void define_stages(Statement *statement, Variable *variable, Typed value, const View *declared);
/* The same for a statement with a combiner, which defines one variable for each component. values: NULL if one of them
 * is poisoned. */
void define_tuple(Statement *statement, const Combiner *combiner, Variable *const *variables, const Typed *values,
                  const View *target);
/* The declared sizes of a result; false after an error. */
bool declared_view(CallFrame *frame, const AstResult *result, View *view);
Tensor *new_tensor(Builder *builder, ElementType type, int rank, Loc loc);

bool is_call(const CallFrame *frame, const AstExpr *ast);
/* Checks a call, adds its stages and gives one view for each result. targets: what the results are assigned to, with
 * which inout results begin; NULL: nothing. name: what the results are named after; NULL: the def. False after
 * errors. */
bool check_call(CallFrame *frame, const AstExpr *call, const AstTargets *targets, const char *name, View **results,
                int *result_count);
void check_call_statement(CallFrame *frame, const AstStatement *ast);
/* Whether a call of the def stands in a def of a user's file. */
bool def_is_called(const Checker *checker, const Definition *definition);

/* For tanh(x) of a whole tensor: suggests a def that is named alike and takes it, such as tanh_rows. */
void hint_whole(CallFrame *frame, const AstExpr *function);
bool pass_arguments(CallFrame *callee, const AstExpr *call, Actual *actuals);

/* --- algorithms (implement.c) --- */

/* Checks what a def promises by `implements`, but not its body. */
bool check_implementation(Checker *checker, Definition *definition);
/* The values of sizes that the conditions of an implementation give: NAME == INTEGER. */
Bounds *implementation_bounds(Checker *checker, const AstDef *def);
/* Checks that the program of an implementation has the results of the implemented def. */
bool check_implemented_results(Checker *checker, const Definition *definition);
/* Notes which defs may replace the def of the frame, whose parameters and sizes are known. */
void note_places(CallFrame *frame, const char *name);
/* The frame to continue with: the callee's, or that of the def that replaces it; NULL after an error. */
CallFrame *enter_chosen(CallFrame *callee, const AstExpr *call, Actual *actuals, const char *name);
/* mixed.c: elements of the first argument of a call for each element of its others; 0: not known. */
double elements_for_each_weight(const CallFrame *frame);
/* Adds choices in which some calls take an implementation, and others another one, or none. */
void add_mixed(Arena *arena, const Algorithms *algorithms, ChosenList *list);
/* Makes the unit's program with other algorithms. */
void add_alternatives(Checker *checker, Definition *definition, const Bounds *bounds, bool defines, Unit *unit,
                      const Algorithms *algorithms);

/* Adds a program of the same operations in other stages, which no def asks for. */
void add_automatic(Arena *arena, Unit *unit, Program *program, const char *name);
/* Where stages of such a program stand in new places: its requirements stay behind those that they stood behind. */
void move_requirements(Arena *arena, Program *program, const int *places);
bool read_uses(const Expr *read, const Var *axis); /* whether an index of the read does (channels.c) */
/* Adds the unit's program with temporaries for what it computes again, if there is such (temporaries.c). */
void add_temporaries(Arena *arena, Unit *unit);
/* Adds the unit's program with one reduction for reductions of reductions, if there are such (joined.c). */
void add_joined(Arena *arena, Unit *unit);
/* Adds the unit's program with copies of the operands of products that are read beyond their ends (padded.c). */
void add_padded(Arena *arena, Unit *unit);
/* Adds the unit's program with the channels of temporaries as their last dimension, if there are such (channels.c). */
void add_channels_last(Arena *arena, Unit *unit);

/* Whether some def says that it implements one of this name. */
bool may_be_implemented(const Checker *checker, const Definition *definition);
/* Whether some def that may be used implements this one. */
bool is_implemented(Checker *checker, const Definition *definition);

/* --- calls that are written out (recognise.c) --- */

/* A copy of the unit's def in which calls of implemented defs replace statements that compute the same, up to the order
 * of terms. Also finds the places of replacement in it. Returns the def itself if there is no such statement. program:
 * made of the def as written. */
Definition *recognise_calls(Checker *checker, Definition *definition, const Bounds *bounds, bool defines,
                            const Program *program, Algorithms *algorithms);

/* --- recurrences (scan.c) --- */

void check_scan(CallFrame *frame, const AstStatement *ast);
/* The entry of the variable in the current scan block; NULL if the block does not define it. */
Carried *find_carried(const CallFrame *frame, const Variable *variable);
/* What the left side spans, as far as the whole block tells, or NULL. */
const View *carried_target(const CallFrame *frame, const Variable *variable);
/* Whether the expression reads what the current scan block makes. */
bool reads_carried(const CallFrame *frame, const Expr *e);
/* How many steps back this read of a carried tensor goes. False after an error. */
bool step_distance(Statement *statement, const AstExpr *ast, const Carried *carried, int64_t *distance);
/* --- combiners (combiner.c, algebra.c) --- */

/* Checks a combiner, once; NULL if it has errors. */
const Combiner *check_combiner(Checker *checker, CombinerDefinition *definition);
/* Tests the claims of a combiner without errors, on values from a seed. The statement combines tuples in which the
 * given components are constants (NULL: any value). Reports what breaks a law, and the statement; false then. */
bool check_algebra(CallFrame *frame, CombinerDefinition *definition, Expr **constants, Loc statement);

/* --- instructions (instr.c) --- */

void check_instrs(Checker *checker); /* those of all files */

/* --- programs (instance.c, finish.c, module.c) --- */

int statement_limit(const Builder *builder);                  /* how many statements a function may have */
void refuse_length(CallFrame *frame, Loc loc);                /* reports that it has more */
bool is_too_long(CallFrame *frame, const AstStatement *next); /* it has more with the next one, which is reported */

SourceFile *library_file(Checker *checker, const char *name); /* from the compiler's library; NULL if it has none */

/* The program of a def with bound sizes; NULL after errors. defines: -D applies too. symbol: NULL is the name of the
 * def. algorithms: notes the places of replacement, or replaces them; NULL: neither. */
Program *build_program(Checker *checker, Definition *definition, Bounds *bounds, bool defines, const AstName *symbol,
                       Algorithms *algorithms);
/* Integer parameters get their values. False after an error. */
bool bind_parameters(CallFrame *frame, Bounds *bounds, bool defines);
/* The contents of a tensor argument from a file; NULL after an error. */
const Array *constant_array(CallFrame *frame, const AstBinding *binding);
/* Whether the binding names a folder, and adds the contents of the files in it to the bounds: those of the arguments
 * that are bound neither by the list nor so far. */
bool is_folder(const AstBinding *binding);
void bind_folder(CallFrame *frame, const AstBindings *list, const AstBinding *folder, Bounds *bounds);
/* Adds the sizes that the shapes of bound arrays give to the bounds. False after an error. */
bool bind_shapes(CallFrame *frame, Bounds *bounds);
/* Makes the tensor of an argument, whose dims are set, a constant. */
void make_constant(CallFrame *frame, const Bound *constant, Tensor *tensor);
/* Checks the statements and results of a def whose parameters and arguments the frame has. */
void check_body(CallFrame *frame);
Variable *new_variable(CallFrame *frame, const char *name, Loc loc);
/* --- loops and parts of tensors (repeat.c) --- */

void check_for(CallFrame *frame, const AstStatement *ast);
/* Whether it is a tensor with fewer indices than it has dimensions. */
bool is_part(const CallFrame *frame, const AstExpr *ast);
/* The part of the tensor, defined where it is taken; NULL after an error. */
Variable *part_variable(CallFrame *frame, const AstExpr *ast);

/* --- parameters that are defs (def_parameters.c) --- */

bool is_def_parameter(const AstDef *def, const char *name);
bool has_def_parameters(const AstDef *def);
/* The def that a name stands for where it is called: that of a parameter, or find_definition's. NULL: none, or
 * unknown. */
Definition *find_called(const CallFrame *frame, const char *name);
/* Whether it is a parameter without a value yet: nothing is known of what it returns. */
bool is_unknown_def(const CallFrame *frame, const char *name);
/* Notes which def the name of a parameter stands for. */
void note_meaning(CallFrame *frame, const char *name);
/* The def that a binding names, as the frame sees it. False after an error. */
bool def_value(CallFrame *frame, const AstBinding *binding, Bound *bound);
/* Makes the parameter a symbol of the frame. bound: what is given for it, or NULL. False after an error. */
bool bind_def_parameter(CallFrame *frame, const AstBinding *parameter, Bound *bound);
void check_unknown_call(CallFrame *frame, const AstExpr *call);

/* A constant integer in brackets, an export or a default. False after an error. */
bool constant_value(CallFrame *frame, const AstExpr *ast, int64_t *value);
/* A condition on the sizes and parameters of the frame; NULL after an error. */
Expr *size_condition(CallFrame *frame, const AstExpr *ast);
/* An integer made of the sizes and constants of the frame; NULL after an error. */
Expr *size_value(CallFrame *frame, const AstExpr *ast);
/* Checks a def by itself, once, with symbolic sizes. False if it has errors. */
bool check_definition(Checker *checker, Definition *definition, bool defines);
/* Makes a Program of what the frame's builder holds: names, roles, order. */
Program *finish_program(CallFrame *frame, const char *symbol);
/* Reads of a caller's buffer that may come too late read copies, which are made first (initial.c). */
void copy_overwritten(Builder *builder);
void name_versions(CallFrame *frame);

#endif
