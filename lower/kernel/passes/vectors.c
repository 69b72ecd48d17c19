/* vectors.c - what passes over unrolled statements share: replacing runs of statements, which tensors iterations share,
 * and keeping vectors that several statements have in common in registers.
 */
#include "lower/kernel/passes/vectors.h"
#include "lower/kernel/statements.h"

Map stored_in_parallel(Arena *arena, const Stmt *loop) {
    Map stored = {0};
    EACH_STMT(s, loop)
        if (s->kind == STMT_STORE)
            address_map_set(arena, &stored, s->tensor, (void *)s->tensor);
    EACH_STMT(s, loop)
        if (s->kind == STMT_ALLOCATE)
            address_map_set(arena, &stored, s->tensor, NULL);
    return stored;
}

typedef struct StmtReplacing {
    const Kernel *kernel;
    ReplaceStatements *replace;
    Map shared;
} StmtReplacing;

static StmtList replaced(const StmtReplacing *around, Stmt *const *body, int count);

static Stmt *replaced_inside(const StmtReplacing *around, Stmt *stmt) {
    StmtReplacing inside = *around;
    if (!stmt->count && !stmt->otherwise_count)
        return stmt;
    if (stmt->kind == STMT_FOR && stmt->loop == LOOP_PARALLEL)
        inside.shared = stored_in_parallel(around->kernel->arena, stmt);
    StmtList body = replaced(&inside, stmt->body, stmt->count);
    StmtList otherwise = replaced(&inside, stmt->otherwise, stmt->otherwise_count);
    return stmt_with_bodies(around->kernel->arena, stmt, body, otherwise);
}

static StmtList replaced(const StmtReplacing *around, Stmt *const *body, int count) {
    StmtList list = stmts_of(body, 0);
    for (int i = 0, done; i < count; i += done ? done : 1)
        if (!(done = around->replace(around->kernel, &around->shared, &list, body + i, count - i)))
            stmts_add_next(around->kernel->arena, &list, body, i, replaced_inside(around, body[i]));
    return list;
}

void replace_statements(Kernel *kernel, ReplaceStatements *replace) {
    kernel->body = replaced_inside(&(StmtReplacing){.kernel = kernel, .replace = replace}, kernel->body);
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
