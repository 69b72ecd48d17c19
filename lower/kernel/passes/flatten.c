/* flatten.c - pass: each access gets one index, the element offset in its buffer: row major, or as its ElementOrder
 * says.
 *
 * Needs scalar indices, one for each dimension, as build wrote them: simplifying them together shows more than one by
 * one (x / 5 * 5 + x % 5 is x). An offset is a sum of coefficient * atom: terms ordered from the outermost loop
 * variable to the innermost, then one constant. So code generators find common prefixes, and the constant becomes the
 * displacement of an address.
 */
#include "lang/program.h"
#include "lower/kernel/passes/passes.h"
#include "lower/kernel/statements.h"

typedef LIST(Substitution) SizeNames;

typedef struct Flatten {
    Arena *arena;
    LIST(const Var *) loops; /* around the current statement, outermost first */
    SizeNames sizes;         /* names for extents that are sums of sizes */
} Flatten;

/* --- offsets ------------------------------------------------------------------------------------------------------ */

/* The depth of the innermost loop in a term; -1 for sizes alone. */
static int depth_of(const Flatten *f, const Term *term) {
    int depth = -1;
    EACH_EXPR(e, term->atom)
        for (int i = f->loops.count - 1; i > depth && e->kind == EXPR_VAR; i--)
            if (f->loops.items[i] == e->var)
                depth = i;
    return depth;
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

static void add_factors(Arena *arena, ExprList *list, Expr *e) {
    if (expr_is_op(e, OP_MUL)) {
        add_factors(arena, list, e->args[0]);
        add_factors(arena, list, e->args[1]);
    } else {
        list_push(arena, list, e);
    }
}

/* sizes * (loops * coefficient): so the product of the sizes is computed once for all values of the loops. */
static Expr *term_expr(const Flatten *f, const Term *term) {
    ExprList factors = {0};
    Expr *sizes = NULL, *loops = expr_int(f->arena, 1);
    add_factors(f->arena, &factors, term->atom);
    for (int i = 0; i < factors.count; i++) {
        Expr *factor = factors.items[i];
        if (depth_of(f, &(Term){1, factor}) >= 0)
            loops = expr_binary(f->arena, OP_MUL, loops, factor);
        else
            sizes = sizes ? expr_binary(f->arena, OP_MUL, sizes, factor) : factor;
    }
    loops = expr_binary(f->arena, OP_MUL, loops, expr_int(f->arena, term->coefficient));
    return sizes ? expr_binary(f->arena, OP_MUL, sizes, loops) : loops;
}

static Expr *sum_expr(const Flatten *f, const Affine *sum) {
    Expr *constant = expr_int(f->arena, sum->constant), *e = NULL;
    for (int i = 0; i < sum->count; i++) {
        Expr *term = term_expr(f, &sum->terms[i]);
        e = e ? expr_binary(f->arena, OP_ADD, e, term) : term;
    }
    return e ? expr_binary(f->arena, OP_ADD, e, constant) : constant;
}

static Expr *row_major(Arena *arena, Expr *const *dims, Expr *const *index, int rank) {
    Expr *offset = expr_int(arena, 0);
    for (int d = 0; d < rank; d++)
        offset = expr_binary(arena, OP_ADD, expr_binary(arena, OP_MUL, offset, dims[d]), index[d]);
    return offset;
}

/* The row-major offset, unless an order is given. */
static Expr *element_offset(Arena *arena, const Tensor *tensor, Expr *const *dims, Expr *const *index) {
    if (!tensor->order)
        return row_major(arena, dims, index, tensor->rank);
    Tensor named = *tensor;
    named.dims = (Expr **)dims;
    return order_offset(arena, &named, index);
}

/* A value read from memory is no sum, and its own index is in order already. */
static bool is_read(const Expr *e) {
    while (e->kind == EXPR_CAST)
        e = e->args[0];
    return e->kind == EXPR_READ;
}

static Expr *ordered(const Flatten *f, Expr *offset) {
    Affine sum;
    if (is_read(offset)) /* nested gathers would be walked again at each level */
        return offset;
    if (!expr_affine_modular(f->arena, offset, &sum))
        return offset; /* multiplied out it overflows */
    sort_terms(f, &sum);
    return sum_expr(f, &sum);
}

/* --- extents that are sums of sizes: one size each, or offsets grow when they are multiplied out ------------------ */

static Expr *replace_size(Arena *arena, Expr *e, void *context) {
    const SizeNames *names = context;
    if (e->kind == EXPR_OP && e->type == TYPE_INT64)
        for (int i = 0; i < names->count; i++)
            if (expr_equal(e, names->items[i].value))
                return expr_var(arena, names->items[i].var);
    return e;
}

static Expr *size_name(Flatten *f, Expr *dim) {
    if (dim->kind != EXPR_OP)
        return dim;
    Expr *known = replace_size(f->arena, dim, &f->sizes);
    if (known != dim)
        return known;
    const Var *var = var_new(f->arena, VAR_SIZE, TYPE_INT64, "size", NULL);
    list_push(f->arena, &f->sizes, ((Substitution){var, dim}));
    return expr_var(f->arena, var);
}

static Expr *offset_over_names(Flatten *f, const Tensor *tensor, Expr **index) {
    Expr **dims = ARENA_ARRAY(f->arena, Expr *, tensor->rank), **over = ARENA_ARRAY(f->arena, Expr *, tensor->rank);
    for (int d = 0; d < tensor->rank; d++)
        dims[d] = size_name(f, tensor->dims[d]);
    for (int d = 0; d < tensor->rank; d++)
        over[d] = expr_rewrite(f->arena, index[d], replace_size, &f->sizes);
    Expr *offset = ordered(f, element_offset(f->arena, tensor, dims, over));
    return expr_substitute(f->arena, offset, f->sizes.items, f->sizes.count);
}

static Expr *offset_of(Flatten *f, const Tensor *tensor, Expr **index) {
    bool compound = false;
    for (int d = 1; d < tensor->rank; d++)
        compound |= tensor->dims[d]->kind == EXPR_OP;
    Expr *offset = ordered(f, element_offset(f->arena, tensor, tensor->dims, index));
    if (!compound)
        return offset;
    Expr *named = offset_over_names(f, tensor, index);
    return expr_nodes(named) < expr_nodes(offset) ? named : offset;
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

static Stmt *flatten_stmt(Arena *arena, Stmt *stmt, void *context) {
    Flatten *f = context;
    Stmt *made = ARENA_NEW(f->arena, Stmt);
    *made = *stmt;
    if (stmt->kind == STMT_STORE || stmt->kind == STMT_PREFETCH) {
        made->index = ARENA_ARRAY(f->arena, Expr *, 1);
        Expr **index = ARENA_ARRAY(f->arena, Expr *, stmt->index_count);
        for (int d = 0; d < stmt->index_count; d++)
            index[d] = flatten_expr(f, stmt->index[d]);
        made->index[0] = offset_of(f, stmt->tensor, index);
        made->index_count = 1;
        made->value = flatten_expr(f, stmt->value); /* a prefetch has no value */
        made->guard = flatten_expr(f, stmt->guard);
        return made;
    }
    made->extent = flatten_expr(f, stmt->extent);
    made->condition = flatten_expr(f, stmt->condition);
    if (stmt->kind == STMT_FOR)
        list_push(f->arena, &f->loops, stmt->var);
    StmtList body = stmts_map(arena, stmt->body, stmt->count, flatten_stmt, f);
    StmtList otherwise = stmts_map(arena, stmt->otherwise, stmt->otherwise_count, flatten_stmt, f);
    if (stmt->kind == STMT_FOR)
        f->loops.count--;
    made->body = body.items;
    made->otherwise = otherwise.items;
    return made;
}

void pass_flatten(Kernel *kernel) {
    Flatten f = {.arena = kernel->arena};
    kernel->body = flatten_stmt(kernel->arena, kernel->body, &f);
}
