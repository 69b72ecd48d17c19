/* kernel_flatten.c - pass: each access gets one index, the element offset in its row-major buffer.
 *
 * Needs scalar indices, one a dimension. An offset is a sum of products coefficient * atom * stride: constants collected,
 * terms ordered from outermost loop variable to innermost, the constant last, so that code generators find common
 * prefixes and the constant becomes the displacement of an address.
 */
#include "lower/passes.h"
#include "lang/diag.h"

typedef struct OffsetTerm {
    int64_t coefficient;
    Expr *atom;   /* NULL: 1 */
    Expr *stride; /* of run-time sizes; NULL: 1 */
    int depth;    /* of the innermost loop in the atom, -1 for sizes alone */
} OffsetTerm;

typedef struct Offset {
    LIST(OffsetTerm) terms;
    int64_t constant;
    bool overflow;
} Offset;

typedef struct Flatten {
    Arena *arena;
    LIST(const Var *) loops; /* around the statement at hand, outermost first */
} Flatten;

/* --- sums --------------------------------------------------------------------------------------------------------------- */

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

static int depth_of(const Flatten *f, const Expr *e) {
    DepthSearch search = {f, -1};
    if (e)
        expr_walk(e, note_depth, &search);
    return search.depth;
}

static bool same_factor(const Expr *a, const Expr *b) {
    return a && b ? expr_equal(a, b) : a == b;
}

static void add_term(const Flatten *f, Offset *offset, int64_t coefficient, Expr *atom, Expr *stride) {
    if (!atom && !stride) {
        offset->overflow |= __builtin_add_overflow(offset->constant, coefficient, &offset->constant);
        return;
    }
    for (int i = 0; i < offset->terms.count; i++) {
        OffsetTerm *term = &offset->terms.items[i];
        if (same_factor(term->atom, atom) && same_factor(term->stride, stride)) {
            offset->overflow |= __builtin_add_overflow(term->coefficient, coefficient, &term->coefficient);
            return;
        }
    }
    list_push(f->arena, &offset->terms, ((OffsetTerm){coefficient, atom, stride, depth_of(f, atom)}));
}

/* Adds index * constant * stride. */
static void add_index(const Flatten *f, Offset *offset, Expr *index, int64_t constant, Expr *stride) {
    Affine affine;
    if (!expr_affine(f->arena, index, &affine)) {
        add_term(f, offset, constant, index, stride);
        return;
    }
    int64_t product;
    offset->overflow |= __builtin_mul_overflow(affine.constant, constant, &product);
    add_term(f, offset, product, NULL, stride);
    for (int i = 0; i < affine.count; i++) {
        offset->overflow |= __builtin_mul_overflow(affine.terms[i].coefficient, constant, &product);
        add_term(f, offset, product, affine.terms[i].atom, stride);
    }
}

static bool is_operation(const Expr *e, Op op) {
    return e && e->kind == EXPR_OP && e->op == op;
}

/* Whether the quotient's factor is `by` times the factor of the rest. */
static bool factor_is_multiple(const OffsetTerm *quotient, const OffsetTerm *rest, const Expr *by) {
    int64_t constant, expected;
    if (expr_is_int(by, &constant))
        return same_factor(quotient->stride, rest->stride) &&
               !__builtin_mul_overflow(rest->coefficient, constant, &expected) && quotient->coefficient == expected;
    if (quotient->coefficient != rest->coefficient || !quotient->stride)
        return false;
    if (!rest->stride)
        return expr_equal(quotient->stride, by);
    return is_operation(quotient->stride, OP_MUL) && expr_equal(quotient->stride->args[0], by) &&
           expr_equal(quotient->stride->args[1], rest->stride);
}

/* b * (a / b) + a % b is a: what fused loops leave behind. */
static void join_divisions(Offset *offset) {
    for (int q = 0; q < offset->terms.count; q++)
        for (int r = 0; r < offset->terms.count; r++) {
            OffsetTerm *quotient = &offset->terms.items[q], *rest = &offset->terms.items[r];
            if (rest->coefficient == 0 || !is_operation(quotient->atom, OP_DIV) || !is_operation(rest->atom, OP_MOD))
                continue;
            if (!expr_equal(quotient->atom->args[0], rest->atom->args[0]) ||
                !expr_equal(quotient->atom->args[1], rest->atom->args[1]) ||
                !factor_is_multiple(quotient, rest, quotient->atom->args[1]))
                continue;
            rest->atom = rest->atom->args[0];
            quotient->coefficient = 0;
        }
}

static void sort_terms(Offset *offset) {
    for (int i = 1; i < offset->terms.count; i++)
        for (int j = i; j > 0 && offset->terms.items[j - 1].depth > offset->terms.items[j].depth; j--) {
            OffsetTerm swapped = offset->terms.items[j];
            offset->terms.items[j] = offset->terms.items[j - 1];
            offset->terms.items[j - 1] = swapped;
        }
}

static Expr *offset_expr(Arena *arena, Offset *offset) {
    Expr *sum = NULL;
    sort_terms(offset);
    for (int i = 0; i < offset->terms.count; i++) {
        const OffsetTerm *term = &offset->terms.items[i];
        if (term->coefficient == 0)
            continue;
        Expr *factor = expr_int(arena, term->coefficient);
        if (term->stride)
            factor = term->coefficient == 1 ? term->stride : expr_binary(arena, OP_MUL, term->stride, factor);
        Expr *product = term->atom ? expr_binary(arena, OP_MUL, term->atom, factor) : factor;
        sum = sum ? expr_binary(arena, OP_ADD, sum, product) : product;
    }
    Expr *constant = expr_int(arena, offset->constant);
    return sum ? expr_binary(arena, OP_ADD, sum, constant) : constant;
}

/* --- accesses ------------------------------------------------------------------------------------------------------------ */

/* Splits a stride that grows by a dimension into its constant and its symbolic part. */
static void grow_stride(Arena *arena, Expr *dim, int64_t *constant, Expr **symbolic, bool *overflow) {
    int64_t value;
    if (expr_is_int(dim, &value))
        *overflow |= __builtin_mul_overflow(*constant, value, constant);
    else
        *symbolic = *symbolic ? expr_binary(arena, OP_MUL, dim, *symbolic) : dim;
}

/* Row by row, ((i * d1 + j) * d2 + k): for what overflows when it is multiplied out. */
static Expr *nested_offset(Arena *arena, const Tensor *tensor, Expr **index) {
    Expr *offset = expr_int(arena, 0);
    for (int d = 0; d < tensor->rank; d++)
        offset = expr_binary(arena, OP_ADD, expr_binary(arena, OP_MUL, offset, tensor->dims[d]), index[d]);
    return offset;
}

static Expr *offset_of(const Flatten *f, const Tensor *tensor, Expr **index) {
    Offset offset = {.constant = 0};
    int64_t constant = 1;
    Expr *symbolic = NULL;
    for (int d = tensor->rank - 1; d >= 0; d--) {
        add_index(f, &offset, index[d], constant, symbolic);
        grow_stride(f->arena, tensor->dims[d], &constant, &symbolic, &offset.overflow);
    }
    if (offset.overflow)
        return nested_offset(f->arena, tensor, index);
    join_divisions(&offset);
    return offset_expr(f->arena, &offset);
}

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
