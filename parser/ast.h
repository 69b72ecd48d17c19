/* ast.h - the syntax tree: what the source says, before names have a meaning.
 *
 * Nodes live in the arena of the parse. Lists are in source order. What the grammar accepts has its node here; sema
 * refuses what is not allowed.
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

/* AST_DEPTH_LIMIT: passes over the tree may recurse, so the parser reports what is deeper. AST_WHERE_LIMIT: how many
 * conditions a where may have, since each is compared with all others. AST_RANK_LIMIT: dimensions of a tensor. */
enum { AST_DEPTH_LIMIT = 2000, AST_WHERE_LIMIT = 500, AST_RANK_LIMIT = 64 };

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

/* NAME=value: in brackets after a name, in an export, or a default. */
typedef struct AstBinding {
    AstName name;
    AstExpr *value;   /* NULL if text is set, or if a def's parameter has no default */
    const char *text; /* "w.npy", or NULL */
    bool is_def;      /* a def's parameter that stands for a def: [def act=relu] */
} AstBinding;
typedef LIST(AstBinding) AstBindings;
typedef LIST(AstBindings) AstBindingLists;

struct AstExpr {
    AstExprKind kind;
    int depth; /* of the tree below this node: 1 for a leaf */
    Loc loc;
    AstName name;
    int64_t integer;
    bool overflow; /* an integer literal that does not fit into int64 */
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
    AstName name;         /* of RANGE and LET */
    AstExpr *begin, *end; /* of RANGE */
    AstExpr *value;       /* of LET, EXISTS and PREDICATE */
} AstWhere;
typedef LIST(AstWhere) AstWheres;

/* One name on the left of an assignment. */
typedef struct AstTarget {
    AstName name;
    bool has_indices; /* "C()" has an empty list, "v" has none */
    AstExprs indices; /* a NAME is an index; any other expression computes one */
    Loc loc;
} AstTarget;
typedef LIST(AstTarget) AstTargets;

typedef enum AstStatementKind {
    STATEMENT_ASSIGN, /* targets op value where ...; several targets: a call with several results, or a combiner */
    STATEMENT_SCAN,   /* scan t { body } */
    STATEMENT_FOR     /* for l in begin:end { body } */
} AstStatementKind;

typedef struct AstStatement AstStatement;
typedef LIST(AstStatement *) AstStatements;

struct AstStatement {
    AstStatementKind kind;
    int depth; /* how deep blocks are nested in it: 1 for an assignment */
    Loc loc;
    AstTargets targets;
    Combine combine;     /* NONE for "=" */
    bool initialise;     /* the "!" forms */
    AstName combiner;    /* "argmax=!": a combiner of the user; else text is NULL */
    AstExprs values;     /* one value, or one for each component of a combiner */
    AstExpr *annotation; /* of "value <=> g(...)" the AST_APPLY, which means nothing; else NULL */
    AstWheres wheres;
    AstName index;        /* of a block */
    AstExpr *begin, *end; /* of STATEMENT_FOR */
    AstStatements body;   /* of a block */
    bool part;            /* made by sema: it defines a part of a tensor for a call */
};

typedef struct AstParameter {
    AstName name;
    bool constant;
    ElementType type;
    bool is_tensor; /* "float(M, N) A" or "float() A"; else a scalar "float a" */
    AstExprs dims;  /* each is a NAME, an INTEGER or any other expression of sizes */
    Loc loc;
} AstParameter;
typedef LIST(AstParameter) AstParameters;

typedef struct AstResult {
    AstName name;
    bool inout;    /* it begins with the contents of the caller's buffer; then it has a type and sizes */
    bool has_type; /* "-> (int32(M, N) o)" */
    ElementType type;
    bool has_dims;
    AstExprs dims;
    Loc loc;
} AstResult;
typedef LIST(AstResult) AstResults;

typedef struct AstDef {
    AstName name;
    AstBindings parameters; /* [S=1, P=0, def act=relu] */
    AstParameters arguments;
    AstResults results;
    AstStatements statements;
    AstWheres wheres;   /* def f(...) -> (..) where ...: conditions on its sizes and parameters */
    AstName implements; /* def f(...) -> (..) implements g[...] where ... error e; else text is NULL */
    AstBindings implements_parameters;
    AstWheres implements_wheres;
    AstExpr *implements_error;
    bool damaged; /* it had a syntax error, so the rest may not be what was meant */
    Loc loc;
    struct LibraryDef *unparsed; /* of parse_library: there are only the names so far, and the place; else NULL */
} AstDef;

typedef struct AstExport {
    AstName def;
    AstBindings bindings;
    AstName symbol; /* text is NULL if it is the name of the def */
    AstBindingLists tunes;
    Loc loc;
} AstExport;

typedef struct AstImport {
    const char *path;
    Loc loc;
} AstImport;

typedef struct AstCombiner {
    AstName name;
    AstParameters left, right;
    AstNames properties;
    AstExprs identity, values; /* one for each component; "c ? (a, b) : (d, e)" has become (c ? a : d, c ? b : e) */
    bool damaged;              /* as for a def */
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
    LIST(Schedule *) schedules; /* Schedule is lang's: its statements are what a nest is made from */
    LIST(const Rule *) rules;
    LIST(AstCombiner) combiners;
    LIST(AstInstr) instrs;
} AstFile;

/* Parses one source. Always returns a tree of what could be read; errors are in diagnostics. Reentrant. */
AstFile *parse_file(Arena *arena, Sources *sources, uint32_t file, Diagnostics *diagnostics);
/* The same of a file of the compiler's library: each def is parsed when ast_complete asks for it. */
AstFile *parse_library(Arena *arena, Sources *sources, uint32_t file, Diagnostics *diagnostics);
void ast_complete(AstDef *def);
/* Parses the statements of a schedule block without the block: the form in records. NULL after errors. */
Schedule *parse_schedule(Arena *arena, Sources *sources, uint32_t file, Diagnostics *diagnostics);
/* The same of a text that no user wrote: nothing is said of errors. */
Schedule *parse_schedule_text(Arena *arena, const char *text, size_t length);
/* Prints the tree as source text that parses to the same tree: for -d p and the tests. */
void ast_print(Text *text, const AstFile *file);
void ast_print_expr(Text *text, const AstExpr *e);
/* What a message suggests: expressions that the source does not have. c: of a choice, else NULL. */
AstExpr *ast_suggest(Arena *arena, Op op, AstExpr *a, AstExpr *b, AstExpr *c);
AstExpr *ast_suggest_name(Arena *arena, const char *name);
/* The left side as an expression: a read of it. */
AstExpr ast_of_target(const AstTarget *target);

#endif
