/* ast.h - the syntax tree: what the source says, before names mean anything.
 *
 * Nodes live in the arena of the parse. Lists are in source order. What later language features need (scan, combiner,
 * instr, implements, predicates) has its node here as soon as the grammar accepts it; sema refuses what it lacks by
 * name.
 */
#ifndef PARSER_AST_H
#define PARSER_AST_H

#include "lang/diag.h"
#include "lang/tensorc.h"

typedef struct AstName {
    const char *text;
    Loc loc;
} AstName;

typedef struct AstExpr AstExpr;
typedef LIST(AstExpr *) AstExprs;
typedef LIST(AstName) AstNames;

/* The deepest tree that the parser builds (it reports what is deeper): passes over the tree may recurse. The most conditions
 * after a where: each is compared with all others. */
enum { AST_DEPTH_LIMIT = 2000, AST_WHERE_LIMIT = 500 };

typedef enum AstExprKind {
    AST_INTEGER,  /* integer; name.text keeps the spelling */
    AST_REAL,     /* real; likewise */
    AST_NAME,     /* a bare name: index variable, size, scalar, 0-d tensor */
    AST_APPLY,    /* name[parameters](args): a read, a built-in, or a call of a def */
    AST_SIZE,     /* name.integer: "A.0" */
    AST_CAST,     /* type(args[0]) */
    AST_OPERATOR, /* op(args): operators and ?: */
    AST_ELSE      /* args[0] else args[1], or else edge, wrap, reflect */
} AstExprKind;

typedef enum ElseMode { ELSE_VALUE, ELSE_EDGE, ELSE_WRAP, ELSE_REFLECT } ElseMode;

/* NAME=value in brackets after a name, in an export, or a default. */
typedef struct AstBinding {
    AstName name;
    AstExpr *value;   /* NULL when text is set or, in a def's parameter list, when there is no default */
    const char *text; /* "w.npy", or NULL */
} AstBinding;
typedef LIST(AstBinding) AstBindings;
typedef LIST(AstBindings) AstBindingLists;

struct AstExpr {
    AstExprKind kind;
    int depth; /* of the tree from here: 1 for a leaf */
    Loc loc;
    AstName name;
    int64_t integer;
    bool overflow; /* an integer literal that does not fit int64 */
    double real;
    Op op;
    ElementType type;
    ElseMode else_mode;
    AstBindings parameters;
    AstExprs args;
};

typedef enum AstWhereKind { WHERE_RANGE, WHERE_LET, WHERE_EXISTS, WHERE_PREDICATE } AstWhereKind;

typedef struct AstWhere {
    AstWhereKind kind;
    Loc loc;
    AstName name;         /* RANGE and LET */
    AstExpr *begin, *end; /* RANGE */
    AstExpr *value;       /* LET, EXISTS, PREDICATE */
} AstWhere;
typedef LIST(AstWhere) AstWheres;

/* One name on the left of an assignment. */
typedef struct AstTarget {
    AstName name;
    bool has_indices; /* "C()" has an empty list, "v" none */
    AstExprs indices; /* a NAME is an index, anything else computes one */
    Loc loc;
} AstTarget;
typedef LIST(AstTarget) AstTargets;

typedef enum AstStatementKind {
    STATEMENT_ASSIGN, /* targets op value where ...; several targets: a call with several results, or a combiner */
    STATEMENT_SCAN    /* scan t { body } */
} AstStatementKind;

typedef struct AstStatement AstStatement;
typedef LIST(AstStatement *) AstStatements;

struct AstStatement {
    AstStatementKind kind;
    int depth; /* of scan blocks from here: 1 for an assignment */
    Loc loc;
    AstTargets targets;
    Combine combine;     /* NONE for "=" */
    bool initialise;     /* the "!" forms */
    AstName combiner;    /* "argmax=!": a user's combiner; text NULL otherwise */
    AstExprs values;     /* one, or the tuple of a combiner */
    AstExpr *annotation; /* "value <=> g(...)": the APPLY; means nothing; NULL otherwise */
    AstWheres wheres;
    AstName scan_index;
    AstStatements body; /* SCAN */
};

typedef struct AstParameter {
    AstName name;
    bool constant;
    ElementType type;
    bool is_tensor; /* "float(M, N) A" or "float() A"; else a scalar "float a" */
    AstExprs dims;  /* NAME or INTEGER, or any size expression */
    Loc loc;
} AstParameter;
typedef LIST(AstParameter) AstParameters;

typedef struct AstResult {
    AstName name;
    bool inout;    /* it begins with what the caller's buffer holds; it has a type and sizes then */
    bool has_type; /* "-> (int32(M, N) o)" */
    ElementType type;
    bool has_dims;
    AstExprs dims;
    Loc loc;
} AstResult;
typedef LIST(AstResult) AstResults;

typedef struct AstDef {
    AstName name;
    AstBindings parameters; /* [S=1, P=0] */
    AstParameters arguments;
    AstResults results;
    AstStatements statements;
    AstWheres wheres;   /* def f(...) -> (..) where ...: what its sizes and parameters must be */
    AstName implements; /* def f(...) -> (..) implements g[...] where ... error e; text NULL otherwise */
    AstBindings implements_parameters;
    AstWheres implements_wheres;
    AstExpr *implements_error;
    bool damaged; /* a syntax error stood in it: what is left says nothing about what was meant */
    Loc loc;
} AstDef;

typedef struct AstExport {
    AstName def;
    AstBindings bindings;
    AstName symbol; /* text NULL: the def's name */
    AstBindingLists tunes;
    Loc loc;
} AstExport;

typedef struct AstImport {
    const char *path;
    Loc loc;
} AstImport;

/* combiner and instr are kept whole for later; sema reports them as what this version lacks. */
typedef struct AstCombiner {
    AstName name;
    AstParameters left, right;
    AstNames properties;
    AstExprs identity, values; /* values: one a component; "c ? (a, b) : (d, e)" has become (c ? a : d, c ? b : e) */
    bool damaged;              /* as a def */
    Loc loc;
} AstCombiner;

typedef struct AstInstr {
    AstName name;
    AstParameters arguments;
    const char *target;
    AstNames needs;
    AstStatements statements;
    const char *text; /* what the compiler emits: "llvm.x86..." */
    Loc loc;
} AstInstr;

typedef struct AstFile {
    uint32_t file;
    LIST(AstImport) imports;
    LIST(AstDef *) defs;
    LIST(AstExport) exports;
    LIST(Schedule *) schedules; /* lang's Schedule: the statements are already what the nest reads */
    LIST(AstCombiner) combiners;
    LIST(AstInstr) instrs;
} AstFile;

/* Parses one source. Always returns a tree of what could be read; errors are in diagnostics. Reentrant. */
AstFile *parse_file(Arena *arena, Sources *sources, uint32_t file, Diagnostics *diagnostics);
/* Parses the statements of a schedule block alone: what records store. NULL after errors. */
Schedule *parse_schedule(Arena *arena, Sources *sources, uint32_t file, Diagnostics *diagnostics);
/* The tree as source text that parses to the same tree: for -d p and the round-trip tests. */
void ast_print(Text *text, const AstFile *file);
void ast_print_expr(Text *text, const AstExpr *e);

#endif
