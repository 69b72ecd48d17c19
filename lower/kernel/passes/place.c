/* place.c - pass: moves allocations to where they cost least.
 *
 * Needs what unroll gives. A buffer whose size depends on no loop is allocated outside the serial loops around it
 * (every iteration writes before it reads), but inside a parallel loop, whose iterations share nothing. A register
 * buffer with an access that is not at constants inside it becomes a local one: it cannot live in registers. A buffer
 * that nothing reads is removed with the stores to it, unless the kernel is a part of a program.
 */
#include "lower/kernel/passes/passes.h"
#include "lower/kernel/statements.h"

/* --- what happens to a buffer ------------------------------------------------------------------------------------- */

typedef struct BufferUses {
    int64_t elements;
    bool read, in_memory;
} BufferUses;

typedef struct PlacePass {
    Arena *arena;
    bool part; /* what nothing reads in the kernel is read elsewhere */
    Map uses;  /* Tensor, a buffer -> BufferUses */
} PlacePass;

static BufferUses *find_uses(PlacePass *place, const Tensor *tensor) {
    BufferUses *uses = address_map_get(&place->uses, tensor);
    if (!uses) {
        uses = ARENA_NEW(place->arena, BufferUses);
        uses->elements = tensor_elements(tensor);
        address_map_set(place->arena, &place->uses, tensor, uses);
    }
    return uses;
}

/* Whether the index is constant and inside. Lanes that a guard cuts off may be outside: memory is not read there. */
static bool is_register_index(int64_t elements, const Expr *e) {
    int64_t first, step = 0;
    const Expr *base = e->kind == EXPR_RAMP ? e->args[0] : e;
    if (!expr_is_int(base, &first) || (e->kind == EXPR_RAMP && !expr_is_int(e->args[1], &step)))
        return false;
    int64_t last = first + (e->lanes - 1) * step;
    return elements < 0 || (first >= 0 && first < elements && last >= 0 && last < elements);
}

static void note_use(PlacePass *place, const Tensor *tensor, const Expr *index, bool read) {
    if (tensor->role != ROLE_TEMPORARY)
        return;
    BufferUses *uses = find_uses(place, tensor);
    uses->read |= read;
    uses->in_memory |= tensor->scope == SCOPE_REGISTER && !is_register_index(uses->elements, index);
}

static void note_stmt(PlacePass *place, const Stmt *stmt) {
    EACH_STMT_READ(read, stmt)
        note_use(place, read->tensor, read->args[0], true);
    if (stmt->kind == STMT_STORE)
        note_use(place, stmt->tensor, stmt->index[0], false);
    for (int t = 0; stmt->shared && t < stmt->shared->tensor_count; t++)
        if (stmt->tensors[t]->role == ROLE_TEMPORARY)
            find_uses(place, stmt->tensors[t])->read = true;
}

/* --- changes ------------------------------------------------------------------------------------------------------ */

/* Stores to `from` go to `to`, or nowhere when that is NULL. */
static Stmt *redirect_stores(Arena *arena, Stmt *stmt, void *context) {
    const Renaming *renaming = context;
    if ((stmt->kind != STMT_PREFETCH && stmt->kind != STMT_STORE) || stmt->tensor != renaming->from)
        return stmt_map_bodies(arena, stmt, redirect_stores, context);
    if (stmt->kind == STMT_PREFETCH || !renaming->to)
        return NULL; /* a prefetch: of registers, or of an unread buffer */
    return stmt_store(arena, renaming->to, stmt->index, stmt->index_count, stmt->value, stmt->guard, stmt->loc);
}

static Stmt *demoted(Arena *arena, Stmt *allocate) {
    Tensor *local = ARENA_NEW(arena, Tensor);
    *local = *allocate->tensor;
    local->scope = SCOPE_LOCAL;
    Renaming renaming = {allocate->tensor, local};
    StmtList body = stmts_map(arena, allocate->body, allocate->count, redirect_stores, &renaming);
    return stmt_allocate(arena, local, stmts_rewrite(arena, body, rename_read, &renaming));
}

/* --- placing ------------------------------------------------------------------------------------------------------ */

static bool size_is_fixed(const Tensor *tensor) {
    for (int d = 0; d < tensor->rank; d++)
        EACH_EXPR(e, tensor->dims[d])
            if (e->kind == EXPR_VAR && e->var->kind == VAR_LOOP)
                return false;
    return true;
}

static Stmt *place_allocate(PlacePass *place, Stmt *made) {
    Arena *arena = place->arena;
    const BufferUses *uses = find_uses(place, made->tensor);
    if (!uses->read && !place->part)
        return stmt_block(arena, stmts_map(arena, made->body, made->count, redirect_stores,
                                           &(Renaming){made->tensor, NULL}));
    bool in_memory = uses->in_memory || uses->elements < 0;
    return made->tensor->scope == SCOPE_REGISTER && in_memory ? demoted(arena, made) : made;
}

/* for i { allocate t { body } } as allocate t { for i { body } }. */
static Stmt *hoist(Arena *arena, Stmt *loop) {
    if (loop->loop == LOOP_PARALLEL || loop_kind_is_bound(loop->loop) || loop->count != 1 ||
        loop->body[0]->kind != STMT_ALLOCATE || !size_is_fixed(loop->body[0]->tensor))
        return loop;
    Stmt *allocate = loop->body[0];
    Stmt *inner = stmt_with_bodies(arena, loop, stmts_of(allocate->body, allocate->count), (StmtList){0});
    return stmt_allocate(arena, allocate->tensor, stmts_one(arena, hoist(arena, inner)));
}

/* The buffer in memory whose allocation is the whole body, or NULL. */
static const Tensor *only_allocates(Stmt *const *body, int count) {
    bool one = count == 1 && body[0]->kind == STMT_ALLOCATE && body[0]->tensor->scope != SCOPE_REGISTER;
    return one && size_is_fixed(body[0]->tensor) ? body[0]->tensor : NULL;
}

/* if c { allocate t { a } } else { allocate t { b } } as allocate t { if c { a } else { b } }, repeatedly. */
static Stmt *unite(Arena *arena, Stmt *stmt) {
    const Tensor *tensor = only_allocates(stmt->body, stmt->count);
    if (!tensor || tensor != only_allocates(stmt->otherwise, stmt->otherwise_count))
        return stmt;
    Stmt *body = stmt->body[0], *otherwise = stmt->otherwise[0];
    Stmt *inner =
        stmt_with_bodies(arena, stmt, stmts_of(body->body, body->count), stmts_of(otherwise->body, otherwise->count));
    return stmt_allocate(arena, tensor, stmts_one(arena, unite(arena, inner)));
}

static Stmt *place_stmt(Arena *arena, Stmt *stmt, void *context) {
    Stmt *made = stmt_map_bodies(arena, stmt, place_stmt, context);
    if (!made)
        return NULL;
    switch (made->kind) {
    case STMT_ALLOCATE: return place_allocate(context, made);
    case STMT_IF: return unite(arena, made);
    case STMT_FOR: return hoist(arena, made);
    default: return made;
    }
}

void pass_place(Kernel *kernel) {
    PlacePass place = {.arena = kernel->arena, .part = kernel->part};
    EACH_STMT(s, kernel->body)
        note_stmt(&place, s);
    kernel->body = place_stmt(kernel->arena, kernel->body, &place);
}
