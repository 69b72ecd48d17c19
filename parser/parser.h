/* parser.h - what the files of this folder share: tokens, the state of one parse, and the builders of the tree.
 *
 * A source is scanned whole into an array of tokens, then parsed. So the feeder between scanner and grammar can look
 * around: it knows which token begins a line, finds the bracket that was left open, and after an error skips to where a
 * statement or an item really begins.
 */
#ifndef PARSER_PARSER_H
#define PARSER_PARSER_H

#include "parser/ast.h"

typedef struct Token {
    int kind; /* of gram.h; 0 at the end */
    Loc loc;
    bool first_on_line;
    union {
        const char *text; /* names and numbers as spelled, strings unescaped */
        ElementType type;
    };
} Token;

/* What the scanner found wrong. The feeder reports it when the parse gets there, so that messages come in source order.
 */
typedef struct Mistake {
    DiagId id;
    Loc loc;
    const char *argument, *hint;
} Mistake;

typedef struct Tokens {
    LIST(Token) list; /* the last has kind 0 */
    LIST(Mistake) mistakes;
} Tokens;

/* Scans a whole source. Names go into arena, the array itself into scratch. */
Tokens *scan_source(Arena *arena, Arena *scratch, const Source *source, uint32_t file);

typedef struct Parser {
    Arena *arena;
    Arena *scratch; /* of this parse alone */
    Diagnostics *diagnostics;
    const Source *source;
    Tokens *tokens;
    int first_token; /* START_FILE or START_SCHEDULE, until it is delivered */
    int current;     /* the token that was delivered last */
    int next;        /* the token that is delivered next */
    int next_mistake;
    int delivered;          /* its kind, or what stood in its place */
    int depth;              /* of braces that the grammar is in, those of "? in {...}" aside */
    int missing_closers;    /* braces to close before next: the source forgot them */
    int recover_from;       /* the token where the search for a place to go on begins */
    int resumed_at;         /* where the last recovery went on, so that each goes further */
    int stuck;              /* recoveries in a row that went on at the same token: at its block's end, then at itself */
    int *openers, *closers; /* what open_bracket() and closing_bracket() know, from the first error on */
    bool resynchronise;     /* after an error: skip to a place to go on */
    bool in_schedule;       /* in a schedule block */
    bool in_choices;        /* in the braces of "? in {...}" */
    bool too_deep;          /* reported for this statement */
    int untyped_at;         /* the argument that was reported to have no type; 0: none */
    int errors_before;      /* the errors before this item */
    AstFile *file;
    Schedule *schedule; /* of parse_schedule */
} Parser;

/* --- syntax_error.c --- */

enum { TOKEN_KINDS = 512 }; /* more than gram.h has */

/* Reports that the token at `position` cannot stand there; expected[kind] says which of the TOKEN_KINDS could. */
void report_syntax_error(Parser *parser, int position, const bool *expected);
/* The innermost bracket that is open before a token (the opening one, for a closing one): its position, or -1. */
int open_bracket(Parser *parser, int position);
/* Where the target "name" or "name(...)" that ends before a position begins, or -1. */
int target_before(Parser *parser, int position);
/* Where the bracket at a position is closed; the end of the source where it is not. */
int closing_bracket(Parser *parser, int position);

/* Whether a word stands where a type would: before a name, or before sizes and a name. */
bool is_unknown_type(Parser *parser, int position);

/* --- feed.c --- */

/* What the grammar sees next: a token of the source, or one that starts or repairs a parse. */
Token feed_token(Parser *parser);
/* The token at a position, the first or last of the source when it lies outside. */
const Token *token_at(const Parser *parser, int position);
bool token_is_name(int kind);
bool ends_operand(int kind); /* can an operand end with this token? */
bool begins_assignment(int kind);
/* Whether an item begins here: "def", or a contextual keyword that begins a line, in the company that makes it one. */
bool is_item_start(const Parser *parser, int position);

/* --- ast.c: builders. Lists grow in place; each node covers the source of all its parts. --- */

AstExpr *ast_integer(Parser *parser, AstName spelled);
AstExpr *ast_real(Parser *parser, AstName spelled);
AstExpr *ast_name(Parser *parser, AstName name);
AstExpr *ast_apply(Parser *parser, AstName name, AstBindings parameters, AstExprs args, Loc loc);
AstExpr *ast_size(Parser *parser, AstName name, AstName digits);
AstExpr *ast_cast(Parser *parser, ElementType type, AstExpr *value, Loc loc);
AstExpr *ast_unary(Parser *parser, Op op, AstExpr *value, Loc loc);
AstExpr *ast_binary(Parser *parser, Op op, AstExpr *a, AstExpr *b);
AstExpr *ast_select(Parser *parser, AstExpr *condition, AstExpr *a, AstExpr *b);
AstExpr *ast_else(Parser *parser, AstExpr *read, AstExpr *otherwise);
/* "c ? (a, b) : (d, e)" as one expression a component. */
AstExprs ast_select_tuple(Parser *parser, AstExpr *condition, AstExprs a, AstExprs b, Loc loc);
AstTarget ast_target(AstName name, const AstExprs *indices, Loc loc);
AstStatement *ast_assign(Parser *parser, AstTargets targets, Combine combine, bool initialise, AstExprs values);
AstStatement *ast_scan(Parser *parser, AstName index, AstStatements body, Loc loc);
void ast_add_def(Parser *parser, AstDef *def, Loc loc);
void ast_add_combiner(Parser *parser, AstCombiner combiner);
AstParameter ast_untyped_argument(Parser *parser, AstName name);
/* Reports the first condition beyond AST_WHERE_LIMIT and leaves out all beyond. */
void ast_add_where(Parser *parser, AstWheres *wheres, AstWhere where);
/* Reports a ';' after a statement; it means nothing else. */
void ast_semicolon(Parser *parser, Loc loc);
/* The text of a target's name, which the scanner sees in pieces: "x86-64-v4". */
const char *ast_target_name(Parser *parser, Loc loc);

/* --- prims.c: schedule statements --- */

PrimArg prim_name(AstName name);
PrimArg prim_integer(Parser *parser, AstName digits);
PrimArg prim_hole(Loc loc);
PrimArg prim_operation(Parser *parser, char op, PrimArg a, PrimArg b);
typedef LIST(PrimArg) PrimArgs;
PrimArg prim_list(PrimArgKind kind, PrimArgs items, Loc loc);
typedef LIST(Prim) Prims;
/* Checks the statement against its row of prims.def and adds it, or reports why not. */
void prims_add(Parser *parser, Prims *prims, AstNames results, AstName spelling, PrimArgs args, Loc loc);
/* What only the whole block shows: names of holes. */
void prims_finish(Parser *parser, Prims prims);

#endif
