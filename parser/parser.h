/* parser.h - what the files of this folder share: tokens, the state of one parse, and the builders of the tree.
 *
 * A source is scanned whole into an array of tokens, then parsed. So the feeder between scanner and grammar can look
 * around. It knows which token begins a line, finds the bracket that is still open, and after an error skips to where a
 * statement or an item begins.
 */
#ifndef PARSER_PARSER_H
#define PARSER_PARSER_H

#include "parser/ast.h"

typedef struct Token {
    int kind; /* as in gram.h; 0 at the end */
    Loc loc;
    bool first_on_line;
    union {
        const char *text; /* names and numbers as spelled, strings without escapes */
        ElementType type;
    };
} Token;

/* A mistake that the scanner found. The feeder reports it when the parse gets there, so that messages are in source
 * order. */
typedef struct Mistake {
    DiagId id;
    Loc loc;
    const char *argument, *hint;
} Mistake;

typedef struct Tokens {
    LIST(Token) list; /* the last has kind 0 */
    LIST(Mistake) mistakes;
} Tokens;

/* Scans a source, or a part of it. Names go into arena, the array itself into scratch. */
Tokens *scan_source(Arena *arena, Arena *scratch, const Source *source, Loc part);

typedef struct Parser {
    Arena *arena;
    Arena *scratch; /* for this parse only */
    Diagnostics *diagnostics;
    const Source *source;
    Tokens *tokens;
    int first_token; /* START_FILE or START_SCHEDULE, until it is delivered */
    int current;     /* the token that was delivered last */
    int next;        /* the token that is delivered next */
    int next_mistake;
    int delivered;          /* the kind of the last one, or of the token that was delivered in its place */
    int depth;              /* how many braces are open in the grammar, without those of "? in {...}" */
    int missing_closers;    /* how many braces to deliver before next, since the source lacks them */
    int recover_from;       /* the token from which a place to continue is searched */
    int resumed_at;         /* where the last recovery continued, so that each goes further */
    int stuck;              /* how many recoveries in a row continued at the same token: first at the end of its block,
                             * then at the token itself */
    int *openers, *closers; /* for open_bracket() and closing_bracket(), from the first error on */
    bool resynchronise;     /* after an error: skip to a place to continue */
    bool in_schedule;       /* in a schedule block */
    bool in_choices;        /* in the braces of "? in {...}" */
    bool too_deep;          /* it was reported for this statement */
    int untyped_at;         /* the argument without a type that was reported; 0: none */
    int errors_before;      /* how many errors there were before this item */
    AstFile *file;
    Schedule *schedule; /* of parse_schedule */
} Parser;

/* --- brackets.c --- */

int closer_of(int open); /* the kind of the token that closes one of this kind; 0: it is no opening bracket */
/* The innermost bracket that is open before a token (of a closing one: its opening one), or -1. */
int open_bracket(Parser *parser, int position);
/* Where the target "name" or "name(...)" that ends before the position begins, or -1. */
int target_before(Parser *parser, int position);
/* Where the bracket at the position is closed, or the end of the source. */
int closing_bracket(Parser *parser, int position);

/* --- syntax_error.c --- */

enum { TOKEN_KINDS = 512 }; /* more than gram.h has */

/* Reports that the token at `position` is not allowed there. expected[kind] says which of the TOKEN_KINDS are. */
void report_syntax_error(Parser *parser, int position, const bool *expected);
/* Whether a word is where a type should be: before a name, or before sizes and a name. */
bool is_unknown_type(Parser *parser, int position);

/* --- rewritten.c: what is suggested in place of the source; NULL: nothing --- */

/* A(i, j) for A[i][j], where the bracket is one of it. */
const char *rewritten_brackets(Parser *parser, int open);
/* "write y(i) += -x(i)" for y(i) -= x(i), where the operator is at the position. */
const char *rewritten_update(Parser *parser, int position);
/* float(x(i)) for (float)x(i), where the operand begins at the position. */
const char *rewritten_cast(Parser *parser, const char *type, int first);
/* The operand that begins at the position. */
const char *rewritten_operand(Parser *parser, int first);
/* What stands between the position and the next brace. */
const char *rewritten_results(Parser *parser, int first);
/* "i in 0:N" for "i from 0 to N", "i in range(N)", "i in [0, N)" and "i = 0:N", where the position is in it behind the
 * name; *start: where it begins. */
const char *rewritten_range(Parser *parser, int position, int *start);

/* --- feed.c --- */

/* The next token for the grammar: one of the source, or one that starts or repairs a parse. */
Token feed_token(Parser *parser);
/* The token at a position. Outside the source it is the first or the last one. */
const Token *token_at(const Parser *parser, int position);
bool token_is_name(int kind);
bool ends_operand(int kind); /* whether an operand can end with this token */
bool begins_assignment(int kind);
/* Whether an item begins here: "def", or a contextual keyword that begins a line and is followed by what makes it
 * one. */
bool is_item_start(const Parser *parser, int position);

/* --- ast.c: builders. Lists grow in place; each node covers the source of all its parts. --- */

AstExpr *ast_integer(Parser *parser, AstName spelled);
AstExpr *ast_least_integer(Parser *parser, Loc loc); /* -9223372036854775808 */
AstExpr *ast_real(Parser *parser, AstName spelled);
AstExpr *ast_name(Parser *parser, AstName name);
AstExpr *ast_apply(Parser *parser, AstName name, AstBindings parameters, AstExprs args, Loc loc);
AstExpr *ast_size(Parser *parser, AstName name, AstName digits);
AstExpr *ast_cast(Parser *parser, ElementType type, AstExpr *value, Loc loc);
AstExpr *ast_unary(Parser *parser, Op op, AstExpr *value, Loc loc);
AstExpr *ast_binary(Parser *parser, Op op, AstExpr *a, AstExpr *b);
AstExpr *ast_select(Parser *parser, AstExpr *condition, AstExpr *a, AstExpr *b);
AstExpr *ast_else(Parser *parser, AstExpr *read, AstExpr *otherwise);
/* "c ? (a, b) : (d, e)" as one expression for each component. */
AstExprs ast_select_tuple(Parser *parser, AstExpr *condition, AstExprs a, AstExprs b, Loc loc);
AstTarget ast_target(AstName name, const AstExprs *indices, Loc loc);
AstStatement *ast_assign(Parser *parser, AstTargets targets, Combine combine, bool initialise, AstExprs values);
AstStatement *ast_block(Parser *parser, AstStatementKind kind, AstName index, AstStatements body, Loc loc);
void ast_add_def(Parser *parser, AstDef *def, Loc loc);
void ast_add_combiner(Parser *parser, AstCombiner combiner);
AstParameter ast_untyped_argument(Parser *parser, AstName name);
/* Adds a condition. The first one beyond AST_WHERE_LIMIT is reported, and all beyond are left out. */
void ast_add_where(Parser *parser, AstWheres *wheres, AstWhere where);
/* Reports a condition in the place of the end of a range: i in 0:N && i > 3. */
void ast_check_end(Parser *parser, const AstExpr *end);
/* Reports dimensions beyond the limit of a tensor, and returns the others. */
AstExprs ast_dimensions(Parser *parser, AstExprs dims);
/* Reports a ';' after a statement and ignores it. */
void ast_semicolon(Parser *parser, Loc loc);
/* The text of a target's name, such as "x86-64-v4", which is several tokens. */
const char *ast_target_name(Parser *parser, Loc loc);

/* Parses the items of a part of a source into the tree. */
void parse_items(AstFile *tree, Arena *arena, Sources *sources, Loc part, Diagnostics *diagnostics);

/* --- prims.c: schedule statements --- */

PrimArg prim_name(AstName name);
PrimArg prim_integer(Parser *parser, AstName digits);
PrimArg prim_hole(Loc loc);
PrimArg prim_operation(Parser *parser, char op, PrimArg a, PrimArg b);
typedef LIST(PrimArg) PrimArgs;
PrimArg prim_list(PrimArgKind kind, PrimArgs items, Loc loc);
typedef LIST(Prim) Prims;
/* Checks the statement against its row of prims.def. Adds it or reports an error. */
void prims_add(Parser *parser, Prims *prims, AstNames results, AstName spelling, PrimArgs args, Loc loc);
/* Checks what only the whole block shows: the names of holes. */
void prims_finish(Parser *parser, Prims prims);
void rule_finish(Parser *parser, const Rule *rule); /* checks its conditions */

#endif
