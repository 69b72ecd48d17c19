/* statements.h - what build and the passes share: making statements and walking them. Private to lower/kernel.
 *
 * Statements never change once made: a pass builds new ones and shares the parts that stay the same.
 */
#ifndef LOWER_KERNEL_STATEMENTS_H
#define LOWER_KERNEL_STATEMENTS_H

#include "lang/map.h"
#include "lower/kernel/kernel.h"

typedef LIST(Stmt *) StmtList;

/* --- making --- */

/* Appends a statement. Of a block its statements are appended; NULL and statements without effect are left out. */
void stmts_add(Arena *arena, StmtList *list, Stmt *stmt);
void stmts_add_all(Arena *arena, StmtList *list, Stmt *const *stmts, int count);
StmtList stmts_one(Arena *arena, Stmt *stmt);
/* Appends the result of the next statement of a body. As long as all statements stay, the list is the beginning of that
 * body: nothing is copied. */
void stmts_add_next(Arena *arena, StmtList *list, Stmt *const *body, int next, Stmt *made);
Stmt *stmt_block(Arena *arena, StmtList body);
Stmt *stmt_for(Arena *arena, const Var *var, Expr *extent, LoopKind loop, StmtList body, Loc loc);
/* The loop with another extent and body. */
Stmt *stmt_for_like(Arena *arena, const Stmt *loop, Expr *extent, StmtList body);
/* An IF, or one of its bodies when the condition is constant; NULL when nothing remains. */
Stmt *stmt_if(Arena *arena, Expr *condition, StmtList body, StmtList otherwise, Loc loc);
Stmt *stmt_if_like(Arena *arena, const Stmt *like, Expr *condition, StmtList body, StmtList otherwise);
Stmt *stmt_store(Arena *arena, const Tensor *tensor, Expr **index, int index_count, Expr *value, Expr *guard, Loc loc);
/* One store as it is, several as a STMT_TOGETHER; NULL when there is none. */
Stmt *stmt_together(Arena *arena, StmtList stores, Loc loc);
Stmt *stmt_allocate(Arena *arena, const Tensor *tensor, StmtList body);
/* The list with an allocation of each tensor around the statements that use it, from the first to the last
 * (lifetimes.c). A tensor that none of them uses has no allocation. */
StmtList allocate_around_uses(Arena *arena, const StmtList *list, const Tensor *const *tensors, int count);
/* Calls `note` with what `users` has for a tensor wherever a statement, or one inside it, reads or stores that tensor:
 * in order, with the statement's number. */
typedef void NoteUse(void *user, int statement);
void stmts_note_uses(Stmt *const *statements, int count, const Map *users, NoteUse *note);
Stmt *stmt_check(Arena *arena, Expr *condition, int status, Loc loc);
Stmt *stmt_prefetch(Arena *arena, const Tensor *tensor, Expr **index, int index_count, bool far, Loc loc);
Stmt *stmt_step(Arena *arena);
Stmt *stmt_shared(Arena *arena, const SharedNest *nest, const Tensor **tensors, Expr **numbers, const Map *own,
                  Loc loc);
/* stmt with other bodies: stmt itself when they are its own, NULL when it would do nothing. */
Stmt *stmt_with_bodies(Arena *arena, Stmt *stmt, StmtList body, StmtList otherwise);

/* --- walking and rewriting --- */

bool stores_registers(Stmt *const *stmts, int count);
/* The statements of a body, not those below, passed through replace; the body itself if all stay. */
typedef Stmt *ReplaceStmt(Arena *arena, Stmt *stmt, void *context);
StmtList stmts_map(Arena *arena, Stmt *const *body, int count, ReplaceStmt *replace, void *context);
Stmt *stmt_map_bodies(Arena *arena, Stmt *stmt, ReplaceStmt *replace, void *context);
/* The statement with its own expressions passed through replace. */
typedef Expr *ReplaceExpr(Arena *arena, Expr *e, void *context);
Stmt *stmt_over_exprs(Arena *arena, Stmt *stmt, ReplaceExpr *replace, void *context);
/* Statements and all below them with each expression passed through expr_rewrite. */
StmtList stmts_rewrite(Arena *arena, StmtList body, ReplaceExpr *replace, void *context);
/* The expression with its outermost reads passed through replace, which may go on with expr_over_reads. Unlike
 * expr_rewrite: what is shared is made once and stays shared, and nothing is folded: for passes after those that
 * simplify. */
typedef struct ReadMapping {
    Arena *arena;
    Expr *(*replace)(struct ReadMapping *mapping, Expr *read);
    Map done; /* Expr -> its result; empty at first */
} ReadMapping;
Expr *expr_map_reads(ReadMapping *mapping, Expr *e);
/* A flat read at another index under another guard; the read itself where both are its own. */
Expr *expr_read_at(Arena *arena, Expr *read, Expr *index, Expr *guard);
/* The depth, from 1, of the innermost of these loops, outermost first, that the expression changes in; 0: in none. A
 * read changes in the innermost one. */
int expr_depth(const Expr *e, const Var *const *loops, int count);
Expr *expr_over_reads(ReadMapping *mapping, Expr *e); /* the same of each argument and the guard of e */
Stmt *stmt_substitute(Arena *arena, Stmt *stmt, const Var *var, Expr *value);
StmtList stmts_substitute(Arena *arena, StmtList body, const Var *var, Expr *value);
/* For expr_rewrite, with a Renaming as context: reads of one tensor become reads of another. */
typedef struct Renaming {
    const Tensor *from, *to;
} Renaming;
Expr *rename_read(Arena *arena, Expr *e, void *context);
/* Makes the slices that the program reads of a const argument parts of it, if that is of use. */
void slice_argument(Arena *arena, Program *program, int number, const Schedule *user);
StmtList stmts_of(Stmt *const *stmts, int count);

/* --- conditions: conjunctions of comparisons --- */

/* Appends the operands of nested ANDs; true adds nothing. */
void conjuncts_add(Arena *arena, ExprList *list, Expr *condition);
/* The conjunction; true when the list is empty. */
Expr *conjunction(Arena *arena, const ExprList *list);
Expr *expr_and(Arena *arena, Expr *a, Expr *b); /* NULL means true, also as the result */

/* Two conditions that both hold when the index of a dimension is inside the tensor. */
void index_bounds(Arena *arena, const Tensor *tensor, int dimension, Expr *index, Expr *bounds[2]);
/* terms.c: combine(x, p ? v : identity) is x unless p holds. Returns the conditions for combining v;
 * values, of all components, become v. */
ExprList take_predicates(Arena *arena, const Stage *stage, Expr **values);
/* Adds the conditions for a term of a sum to be other than 0: its factors (T(i) else 0) are inside. */
void add_zero_conditions(Arena *arena, const Expr *term, ExprList *list);

/* --- sizes of expressions --- */

/* The simplified expression, or e itself where multiplying out sums of run-time sizes would make it larger. */
Expr *expr_compact(Arena *arena, Expr *e);

/* --- from a nest to statements --- */

/* A part of a loop of a nest. The loop's values there are those of `value` over var and inner; inner counts `factor` of
 * them.
 */
typedef struct Piece {
    const Var *var;
    Expr *extent, *value;
    LoopKind kind;
    const Var *inner; /* an unrolled loop inside, or NULL */
    int64_t factor;
} Piece;
typedef LIST(Piece) Pieces;
/* The pieces, in order, of a loop that is cut or partly unrolled. Any other loop is one piece. */
Pieces loop_pieces(Arena *arena, const Loop *loop, LoopKind kind);

/* A check over all values of a loop: a vector at a time, then the rest. */
Stmt *check_all(Arena *arena, const Target *target, Stmt *check, const Var *var);
/* `rows` tests a check for all values of a loop, inside one over rows, which are parts of that: it need not run if no
 * value fails, in a row or not. Returns rows where their ends are not read from memory. */
Stmt *check_rows(Arena *arena, const Target *target, Stmt *rows, const Stmt *check, const Var *row, const Var *var);
/* What became of the loops of one kind in an outermost nest. A loop may have several copies with different fates: the
 * kernel notes those that no copy expanded, and those that a limit kept. */
typedef struct LoopNotes {
    LIST(const Var *) expanded;
    RolledList kept, limited;
} LoopNotes;
void note_expanded(Arena *arena, LoopNotes *notes, const Var *var);
void note_kept(Arena *arena, LoopNotes *notes, const Var *var, const char *why, bool limited);
void notes_finish(Kernel *kernel, LoopNotes *notes); /* and empties the notes, for the next nest */
/* Moves the loop over the steps of a scan inside the loop in its body, if that loop goes through rows; else changes
 * nothing. Call it once it is known which steps are kept. */
Stmt *scan_by_rows(Arena *arena, Stmt *steps);
/* Moves the loop over the steps inside those over rows, and stores the last step alone, after it: for a tensor of which
 * nothing outside reads another step. NULL where that cannot be: each step is stored. */
Stmt *scan_to_last(Arena *arena, Stmt *steps, const Tensor *tensor, int dimension);
/* The statements inside the allocations at the root, with their scans by rows, and with room only for the steps that
 * are read later. kept: the smaller buffer of each one that is replaced. */
void finish_scans(Arena *arena, const Nest *nest, StmtList *list, Map *kept);
Kernel *kernel_build(Arena *arena, const Nest *nest, const ExpandOptions *options);

/* --- text --- */

void stmt_print(Text *text, const Stmt *stmt);

#endif
