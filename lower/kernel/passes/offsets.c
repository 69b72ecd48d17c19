/* offsets.c - pass: each index of a buffer in memory tells which part of it changes in which loop.
 *
 * An OFFSET is a sum of a part for each loop that it changes in, from the outermost to the innermost, and a constant.
 * Sizes are a part before all loops; values read from memory change with the innermost loop. So code generators compute
 * the address of a part where its loop begins, and the elements of an unrolled tile differ in the constant alone. This
 * is the last pass: nothing folds an OFFSET. Needs sums in the order that flatten gives them.
 */
#include "lower/kernel/passes/passes.h"
#include "lower/kernel/statements.h"

typedef struct Offsets {
    ReadMapping reads; /* to reads at OFFSETs, in these loops */
    Arena *arena;
    LIST(const Var *) loops; /* around the current statement, outermost first */
    Map split;               /* Expr, an index without its constant -> OFFSET */
} Offsets;

static Expr *term_expr(Arena *arena, const Term *term) {
    return expr_binary(arena, OP_MUL, term->atom, expr_int(arena, term->coefficient));
}

static Expr *offset_new(const Offsets *o, const Affine *sum) {
    int *depths = ARENA_ARRAY(o->arena, int, sum->count), count = 0;
    Expr **parts = ARENA_ARRAY(o->arena, Expr *, sum->count);
    for (int i = 0; i < sum->count; i++)
        depths[i] = expr_depth(sum->terms[i].atom, o->loops.items, o->loops.count);
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
    bool sum = expr_is_op(index, OP_ADD) && expr_is_int(index->args[1], &constant);
    Expr *rest = sum ? index->args[0] : index, *offset = address_map_get(&o->split, rest);
    if (expr_is_int(index, NULL))
        return index;
    if (!offset) {
        Affine affine;
        Expr *over = expr_map_reads(&o->reads, rest);
        offset =
            expr_affine_modular(o->arena, over, &affine) ? offset_new(o, &affine) : expr_offset(o->arena, &over, 1, 0);
        address_map_set(o->arena, &o->split, rest, offset);
    }
    return sum ? expr_offset_beyond(o->arena, offset, constant) : offset;
}

static Expr *with_offset(Offsets *o, const Tensor *tensor, Expr *index) {
    if (tensor->scope == SCOPE_REGISTER)
        return index;
    if (index->lanes == 1)
        return offset_of(o, index);
    if (index->kind != EXPR_RAMP && index->kind != EXPR_BROADCAST)
        return expr_map_reads(&o->reads, index);
    Expr *made = expr_copy(o->arena, index);
    made->args[0] = offset_of(o, index->args[0]);
    if (index->kind == EXPR_RAMP)
        made->args[1] = expr_map_reads(&o->reads, index->args[1]);
    return made;
}

static Expr *over_offsets(Arena *arena, Expr *e, void *context) {
    (void)arena;
    return e ? expr_map_reads(context, e) : NULL;
}

static Expr *replace_read(ReadMapping *mapping, Expr *e) {
    Offsets *o = (Offsets *)mapping;
    Expr *index = with_offset(o, e->tensor, e->args[0]), *guard = over_offsets(o->arena, e->guard, o);
    return expr_read_at(o->arena, e, index, guard);
}

static Stmt *offset_stmt(Arena *arena, Stmt *stmt, void *context);

/* Inside a loop the depths differ: nothing that was split outside is reused. */
static Stmt *offset_loop(Offsets *o, Stmt *loop) {
    Offsets inner = {.reads = {.arena = o->arena, .replace = replace_read}, .arena = o->arena, .loops = o->loops};
    list_push(o->arena, &inner.loops, loop->var);
    Stmt *made = stmt_map_bodies(o->arena, loop, offset_stmt, &inner);
    o->loops = inner.loops;
    o->loops.count--;
    return made;
}

static Stmt *offset_access(Offsets *o, Stmt *stmt) {
    Expr *index = with_offset(o, stmt->tensor, stmt->index[0]);
    Expr *value = over_offsets(o->arena, stmt->value, o), *guard = over_offsets(o->arena, stmt->guard, o);
    if (index == stmt->index[0] && value == stmt->value && guard == stmt->guard)
        return stmt;
    Stmt *made = ARENA_NEW(o->arena, Stmt);
    *made = *stmt;
    made->index = ARENA_ARRAY(o->arena, Expr *, 1);
    made->index[0] = index;
    made->value = value;
    made->guard = guard;
    return made;
}

static Stmt *offset_stmt(Arena *arena, Stmt *stmt, void *context) {
    if (stmt->index_count)
        return offset_access(context, stmt);
    stmt = stmt_over_exprs(arena, stmt, over_offsets, context);
    return stmt->kind == STMT_FOR ? offset_loop(context, stmt) : stmt_map_bodies(arena, stmt, offset_stmt, context);
}

void pass_offsets(Kernel *kernel) {
    Offsets o = {.reads = {.arena = kernel->arena, .replace = replace_read}, .arena = kernel->arena};
    kernel->body = offset_stmt(kernel->arena, kernel->body, &o);
}
