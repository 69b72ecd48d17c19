/* offsets.c - pass: each index of a buffer in memory tells which part of it changes in which loop.
 *
 * An OFFSET is a sum of a part for each loop that it changes in, from the outermost to the innermost, and a constant.
 * Sizes are a part before all loops; values read from memory change with the innermost loop. So code generators compute
 * the address of a part where its loop begins, and the elements of an unrolled tile differ in the constant alone. This
 * is the last pass: nothing folds an OFFSET. Needs sums in the order that flatten gives them.
 */
#include "lower/kernel/passes.h"

typedef struct Offsets {
    Arena *arena;
    LIST(const Var *) loops; /* around the current statement, outermost first */
    Map done;                /* Expr -> itself with OFFSETs, in these loops */
    Map split;               /* Expr, an index without its constant -> OFFSET */
} Offsets;

/* The depth of the innermost loop that the expression changes in; 0 for sizes alone. */
static int depth_of(const Offsets *o, const Expr *e) {
    int deepest = 0;
    EACH_EXPR(at, e) {
        int depth = at->kind == EXPR_READ ? o->loops.count : 0;
        for (int i = o->loops.count; at->kind == EXPR_VAR && i > depth; i--)
            if (o->loops.items[i - 1] == at->var)
                depth = i;
        deepest = depth > deepest ? depth : deepest;
    }
    return deepest;
}

static Expr *term_expr(Arena *arena, const Term *term) {
    return expr_binary(arena, OP_MUL, term->atom, expr_int(arena, term->coefficient));
}

static Expr *offset_new(const Offsets *o, const Affine *sum) {
    int *depths = ARENA_ARRAY(o->arena, int, sum->count), count = 0;
    Expr **parts = ARENA_ARRAY(o->arena, Expr *, sum->count);
    for (int i = 0; i < sum->count; i++)
        depths[i] = depth_of(o, sum->terms[i].atom);
    for (int depth = 0; depth <= o->loops.count; depth++) {
        Expr *part = NULL;
        for (int i = 0; i < sum->count; i++)
            if (depths[i] == depth) {
                Expr *term = term_expr(o->arena, &sum->terms[i]);
                part = part ? expr_binary(o->arena, OP_ADD, part, term) : term;
            }
        if (part)
            parts[count++] = part;
    }
    return expr_offset(o->arena, parts, count, sum->constant);
}

/* Copies of an unrolled statement differ in constants: the part before the constant is split once. */
static Expr *offset_of(Offsets *o, Expr *index) {
    int64_t constant = 0;
    bool sum = index->kind == EXPR_OP && index->op == OP_ADD && expr_is_int(index->args[1], &constant);
    Expr *rest = sum ? index->args[0] : index, *offset = address_map_get(&o->split, rest);
    if (expr_is_int(index, NULL))
        return index;
    if (!offset) {
        Affine affine;
        offset =
            expr_affine_modular(o->arena, rest, &affine) ? offset_new(o, &affine) : expr_offset(o->arena, &rest, 1, 0);
        address_map_set(o->arena, &o->split, rest, offset);
    }
    return sum ? expr_offset_beyond(o->arena, offset, constant) : offset;
}

static Expr *with_offset(Offsets *o, const Tensor *tensor, Expr *index) {
    bool vector = index->kind == EXPR_RAMP || index->kind == EXPR_BROADCAST;
    if (tensor->scope == SCOPE_REGISTER || (index->lanes > 1 && !vector))
        return index;
    if (!vector)
        return offset_of(o, index);
    Expr *made = expr_copy(o->arena, index);
    made->args[0] = offset_of(o, index->args[0]);
    return made;
}

static Expr *replace_read(Arena *arena, Expr *e, void *context) {
    if (e->kind != EXPR_READ || e->count != 1)
        return e;
    Expr *read = expr_copy(arena, e);
    read->args[0] = with_offset(context, e->tensor, e->args[0]);
    return read;
}

static Expr *rewrite(Offsets *o, Expr *e) {
    return e ? expr_rewrite_once(o->arena, &o->done, e, replace_read, o) : NULL;
}

static StmtList rewrite_body(Offsets *o, Stmt *const *body, int count);

/* Inside a loop the depths differ: nothing that was split outside is reused. */
static StmtList rewrite_loop(Offsets *o, const Stmt *loop) {
    Offsets inner = {.arena = o->arena, .loops = o->loops};
    list_push(o->arena, &inner.loops, loop->var);
    StmtList body = rewrite_body(&inner, loop->body, loop->count);
    o->loops = inner.loops;
    o->loops.count--;
    return body;
}

static Stmt *rewrite_stmt(Offsets *o, const Stmt *stmt) {
    Stmt *made = ARENA_NEW(o->arena, Stmt);
    *made = *stmt;
    made->extent = rewrite(o, stmt->extent);
    made->condition = rewrite(o, stmt->condition);
    made->value = rewrite(o, stmt->value);
    made->guard = rewrite(o, stmt->guard);
    made->index = ARENA_ARRAY(o->arena, Expr *, stmt->index_count);
    for (int i = 0; i < stmt->index_count; i++)
        made->index[i] = with_offset(o, stmt->tensor, rewrite(o, stmt->index[i]));
    StmtList body = stmt->kind == STMT_FOR ? rewrite_loop(o, stmt) : rewrite_body(o, stmt->body, stmt->count);
    StmtList otherwise = rewrite_body(o, stmt->otherwise, stmt->otherwise_count);
    made->body = body.items;
    made->otherwise = otherwise.items;
    return made;
}

static StmtList rewrite_body(Offsets *o, Stmt *const *body, int count) {
    StmtList list = {0};
    for (int i = 0; i < count; i++)
        stmts_add(o->arena, &list, rewrite_stmt(o, body[i]));
    return list;
}

void pass_offsets(Kernel *kernel) {
    Offsets o = {.arena = kernel->arena};
    kernel->body = stmt_block(kernel->arena, rewrite_body(&o, kernel->body->body, kernel->body->count));
}
