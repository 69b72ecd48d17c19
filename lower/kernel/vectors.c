/* vectors.c - what passes over unrolled statements share: replacing runs of statements, and keeping vectors that
 * several statements have in common in registers.
 */
#include "lower/kernel/passes.h"

static StmtList replaced(const Kernel *kernel, ReplaceStatements *replace, Stmt *const *body, int count) {
    StmtList list = {0};
    for (int i = 0; i < count;) {
        int done = replace(kernel, &list, body + i, count - i);
        if (!done) {
            Stmt *stmt = body[i];
            StmtList inner = replaced(kernel, replace, stmt->body, stmt->count);
            StmtList otherwise = replaced(kernel, replace, stmt->otherwise, stmt->otherwise_count);
            stmts_add(kernel->arena, &list, stmt_with_bodies(kernel->arena, stmt, inner, otherwise));
        }
        i += done ? done : 1;
    }
    return list;
}

void replace_statements(Kernel *kernel, ReplaceStatements *replace) {
    kernel->body = stmt_block(kernel->arena, replaced(kernel, replace, kernel->body->body, kernel->body->count));
}

Vectors vectors_new(Arena *arena, const char *name, ElementType type, Loc loc) {
    Tensor *tensor = ARENA_NEW(arena, Tensor);
    *tensor = (Tensor){.name = name, .type = type, .role = ROLE_TEMPORARY, .scope = SCOPE_REGISTER};
    tensor->rank = 1;
    tensor->dims = ARENA_ARRAY(arena, Expr *, 1);
    tensor->loc = loc;
    return (Vectors){.arena = arena, .tensor = tensor};
}

Expr *vectors_keep(Vectors *vectors, StmtList *list, Expr *value) {
    Arena *arena = vectors->arena;
    Expr **index = ARENA_ARRAY(arena, Expr *, 1);
    index[0] = expr_ramp(arena, expr_int(arena, vectors->used), expr_int(arena, 1), value->lanes);
    vectors->used += value->lanes;
    stmts_add(arena, list, stmt_store(arena, vectors->tensor, index, 1, value, NULL, vectors->tensor->loc));
    return expr_read(arena, vectors->tensor, index, NULL);
}

Stmt *vectors_around(Vectors *vectors, StmtList body) {
    if (!vectors->used)
        return stmt_block(vectors->arena, body);
    vectors->tensor->dims[0] = expr_int(vectors->arena, vectors->used);
    return stmt_allocate(vectors->arena, vectors->tensor, body);
}
