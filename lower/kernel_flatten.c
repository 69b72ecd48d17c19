/* kernel_flatten.c - pass: each access gets one index, the element offset in its row-major buffer.
 *
 * Needs scalar indices, one a dimension, as build wrote them: simplified together they show what simplified one by one
 * they would hide (x / 5 * 5 + x % 5 is x). An offset is a sum of coefficient * atom: constants collected, terms
 * ordered from outermost loop variable to innermost, the constant last, so that code generators find common prefixes
 * and the constant becomes the displacement of an address.
 */
#include "lower/passes.h"

typedef struct Flatten {
    Arena *arena;
    LIST(const Var *) loops; /* around the statement at hand, outermost first */
} Flatten;

/* --- offsets ------------------------------------------------------------------------------------------------------ */

typedef struct DepthSearch {
    const Flatten *flatten;
    int depth;
} DepthSearch;

static bool note_depth(const Expr *e, void *context) {
    DepthSearch *search = context;
    if (e->kind == EXPR_VAR)
        for (int i = search->flatten->loops.count - 1; i > search->depth; i--)
            if (search->flatten->loops.items[i] == e->var)
                search->depth = i;
    return true;
}

/* Of the innermost loop in a term; -1 for sizes alone. */
static int depth_of(const Flatten *f, const Term *term) {
    DepthSearch search = {f, -1};
    expr_walk(term->atom, note_depth, &search);
    return search.depth;
}

static void sort_terms(const Flatten *f, Affine *sum) {
    int *depths = ARENA_ARRAY(f->arena, int, sum->count);
    for (int i = 0; i < sum->count; i++) {
        Term term = sum->terms[i];
        int depth = depth_of(f, &term), at = i;
        for (; at > 0 && depths[at - 1] > depth; at--) {
            sum->terms[at] = sum->terms[at - 1];
            depths[at] = depths[at - 1];
        }
        sum->terms[at] = term;
        depths[at] = depth;
    }
}

static Expr *sum_expr(Arena *arena, const Affine *sum) {
    Expr *constant = expr_int(arena, sum->constant), *e = NULL;
    for (int i = 0; i < sum->count; i++) {
        Expr *term = expr_binary(arena, OP_MUL, sum->terms[i].atom, expr_int(arena, sum->terms[i].coefficient));
        e = e ? expr_binary(arena, OP_ADD, e, term) : term;
    }
    return e ? expr_binary(arena, OP_ADD, e, constant) : constant;
}

static Expr *offset_of(const Flatten *f, const Tensor *tensor, Expr **index) {
    Expr *offset = expr_int(f->arena, 0);
    Affine sum;
    for (int d = 0; d < tensor->rank; d++)
        offset = expr_binary(f->arena, OP_ADD, expr_binary(f->arena, OP_MUL, offset, tensor->dims[d]), index[d]);
    if (!expr_affine(f->arena, offset, &sum))
        return offset; /* it overflows when it is multiplied out */
    sort_terms(f, &sum);
    return sum_expr(f->arena, &sum);
}

/* --- accesses ----------------------------------------------------------------------------------------------------- */

static Expr *flatten_read(Arena *arena, Expr *e, void *context) {
    if (e->kind != EXPR_READ)
        return e;
    Expr *read = expr_copy(arena, e);
    read->count = 1;
    read->args = ARENA_ARRAY(arena, Expr *, 1);
    read->args[0] = offset_of(context, e->tensor, e->args);
    return read;
}

static Expr *flatten_expr(Flatten *f, Expr *e) {
    return e ? expr_rewrite(f->arena, e, flatten_read, f) : NULL;
}

static StmtList flatten_body(Flatten *f, Stmt *const *body, int count);

static Stmt *flatten_stmt(Flatten *f, const Stmt *stmt) {
    Stmt *made = ARENA_NEW(f->arena, Stmt);
    *made = *stmt;
    if (stmt->kind == STMT_STORE) {
        made->index = ARENA_ARRAY(f->arena, Expr *, 1);
        Expr **index = ARENA_ARRAY(f->arena, Expr *, stmt->index_count);
        for (int d = 0; d < stmt->index_count; d++)
            index[d] = flatten_expr(f, stmt->index[d]);
        made->index[0] = offset_of(f, stmt->tensor, index);
        made->index_count = 1;
        made->value = flatten_expr(f, stmt->value);
        made->guard = flatten_expr(f, stmt->guard);
        return made;
    }
    made->extent = flatten_expr(f, stmt->extent);
    made->condition = flatten_expr(f, stmt->condition);
    if (stmt->kind == STMT_FOR)
        list_push(f->arena, &f->loops, stmt->var);
    StmtList body = flatten_body(f, stmt->body, stmt->count);
    StmtList otherwise = flatten_body(f, stmt->otherwise, stmt->otherwise_count);
    if (stmt->kind == STMT_FOR)
        f->loops.count--;
    made->body = body.items;
    made->otherwise = otherwise.items;
    return made;
}

static StmtList flatten_body(Flatten *f, Stmt *const *body, int count) {
    StmtList list = {0};
    for (int i = 0; i < count; i++)
        stmts_add(f->arena, &list, flatten_stmt(f, body[i]));
    return list;
}

void pass_flatten(Kernel *kernel) {
    Flatten f = {.arena = kernel->arena};
    kernel->body = stmt_block(kernel->arena, flatten_body(&f, kernel->body->body, kernel->body->count));
}
