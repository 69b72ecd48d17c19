/* rewriting.h - statements of the source written in another way: what hints are made of. Private to hints.c,
 * hints_rows.c and hints_recurrences.c.
 */
#ifndef SEMA_REWRITING_H
#define SEMA_REWRITING_H

#include "sema/check.h"

/* What stands for a part of the source. */
typedef struct Replacing {
    const AstExpr *part;
    AstExpr *by;
} Replacing;

/* As the source says it. */
const char *ast_text(Arena *arena, const AstExpr *ast);
/* Whether the source says the same, places aside. */
bool same_source(Arena *arena, const AstExpr *a, const AstExpr *b);
bool is_name(const AstExpr *ast, const char *name);
/* Whether the name stands somewhere in it. */
bool mentions(const AstExpr *ast, const char *name);
/* A copy in which the first rule that fits a part replaces it. */
AstExpr *replaced(Arena *arena, AstExpr *ast, const Replacing *rules, int count);
/* NAME(index) */
AstExpr *applied(Arena *arena, const char *name, AstExpr *index);
/* The read or the left side with another index in this dimension. */
AstExpr *read_with(Arena *arena, const char *name, const AstExprs *indices, int dimension, AstExpr *index);
/* A name that means nothing in the def so far. */
const char *free_name(const Statement *s, const char *name);
/* A constant of this type, as the source says it. */
const char *constant_text(Arena *arena, const Expr *e, ElementType type);
/* The range that where gives to the name; NULL: none. */
const AstWhere *range_of(const Statement *s, const char *name);
/* 0 of this type, as the source says it. */
const char *zero_text(Arena *arena, ElementType type);
/* The variable that is read there; NULL: there is none, or it has no value yet. */
const Variable *variable_read(const Statement *s, const AstExpr *ast);
/* What a name of where stands for; NULL: it is no such name. */
const AstExpr *let_value(const Statement *s, const AstExpr *ast);
/* A clause as the source says it, with what stands for parts of it, or NULL. */
const char *clause_text(Arena *arena, const AstWhere *where, const Replacing *rule);

/* --- of rows (hints_rows.c) --- */
/* Finds the range of an index of the left side whose ends are read at this one. */
bool rows_at(const Statement *s, const char *name, AstWhere *rows);
/* The statement in which each condition is a clause: where a, b in place of where a && b. */
Statement with_clauses(const Statement *s);
/* Whether a tensor is read at an index that mentions the name. */
bool reads_at(const Statement *s, const AstExpr *ast, const char *name);

#endif
