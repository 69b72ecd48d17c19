/* place.c - pass: moves allocations to where they cost least.
 *
 * Needs what unroll gives. A buffer whose size depends on no loop is allocated outside the serial loops around it
 * (every iteration writes before it reads), but inside a parallel loop, whose iterations share nothing. A register
 * buffer with an access that is not at constants inside it becomes a local one: it cannot live in registers. A buffer
 * that nothing reads is removed with the stores to it.
 */
#include "lower/kernel/passes.h"

/* --- what happens to a buffer ------------------------------------------------------------------------------------- */

typedef struct Uses {
    const Tensor *tensor; /* NULL: a free slot */
    bool read, in_memory;
} Uses;

/* All allocated buffers: a hash table by address, at most half full. */
typedef struct Place {
    Arena *arena;
    Uses *slots;
    size_t slot_count; /* a power of two */
    size_t buffers;
} Place;

static Uses *find_uses(const Place *place, const Tensor *tensor) {
    size_t at = ((uintptr_t)tensor >> 4) * 0x9e3779b97f4a7c15u;
    for (at &= place->slot_count - 1; place->slots[at].tensor; at = (at + 1) & (place->slot_count - 1))
        if (place->slots[at].tensor == tensor)
            break;
    return &place->slots[at];
}

/* Whether the index is constant and inside. Lanes that a guard cuts off may be outside: memory is not read there. */
static bool is_register_index(const Tensor *tensor, const Expr *e) {
    int64_t first, step = 0;
    const Expr *base = e->kind == EXPR_RAMP ? e->args[0] : e;
    if (tensor->scope != SCOPE_REGISTER)
        return true; /* any index */
    if (!expr_is_int(base, &first) || (e->kind == EXPR_RAMP && !expr_is_int(e->args[1], &step)))
        return false;
    int64_t last = first + (e->lanes - 1) * step, elements = tensor_elements(tensor);
    return elements < 0 || (first >= 0 && first < elements && last >= 0 && last < elements);
}

static void note_stmt(Place *place, Stmt *stmt) {
    EACH_STMT_READ(read, stmt) {
        if (read->tensor->role != ROLE_TEMPORARY)
            continue;
        Uses *uses = find_uses(place, read->tensor);
        uses->read = true;
        uses->in_memory |= !is_register_index(read->tensor, read->args[0]);
    }
    if (stmt->kind == STMT_STORE && stmt->tensor->role == ROLE_TEMPORARY)
        find_uses(place, stmt->tensor)->in_memory |= !is_register_index(stmt->tensor, stmt->index[0]);
}

static Place find_all_uses(Kernel *kernel) {
    Place place = {.arena = kernel->arena, .slot_count = 1};
    EACH_STMT(s, kernel->body)
        place.buffers += s->kind == STMT_ALLOCATE;
    while (place.slot_count < 2 * place.buffers + 1)
        place.slot_count *= 2;
    place.slots = ARENA_ARRAY(kernel->arena, Uses, place.slot_count);
    EACH_STMT(s, kernel->body)
        if (s->kind == STMT_ALLOCATE)
            find_uses(&place, s->tensor)->tensor = s->tensor;
    EACH_STMT(s, kernel->body)
        note_stmt(&place, s);
    return place;
}

/* --- changes ------------------------------------------------------------------------------------------------------ */

static Expr *rename_reads(Arena *arena, Expr *e, void *context) {
    return expr_rewrite(arena, e, rename_read, context);
}

/* Stores to `from` go to `to`, or nowhere when that is NULL. */
static StmtList redirect_stores(Arena *arena, Stmt *const *body, int count, const Renaming *renaming) {
    StmtList list = {0};
    for (int i = 0; i < count; i++) {
        Stmt *stmt = body[i];
        if (stmt->kind == STMT_PREFETCH && stmt->tensor == renaming->from)
            continue; /* of registers, or of an unread buffer */
        if (stmt->kind == STMT_STORE && stmt->tensor == renaming->from) {
            if (renaming->to)
                stmts_add(arena, &list,
                          stmt_store(arena, renaming->to, stmt->index, stmt->index_count, stmt->value, stmt->guard,
                                     stmt->loc));
            continue;
        }
        StmtList inner = redirect_stores(arena, stmt->body, stmt->count, renaming);
        StmtList otherwise = redirect_stores(arena, stmt->otherwise, stmt->otherwise_count, renaming);
        stmts_add(arena, &list, stmt_with_bodies(arena, stmt, inner, otherwise));
    }
    return list;
}

static Stmt *demoted(Arena *arena, Stmt *allocate) {
    Tensor *local = ARENA_NEW(arena, Tensor);
    *local = *allocate->tensor;
    local->scope = SCOPE_LOCAL;
    Renaming renaming = {allocate->tensor, local};
    StmtList body = redirect_stores(arena, allocate->body, allocate->count, &renaming);
    StmtList renamed = {0};
    for (int i = 0; i < body.count; i++)
        stmts_add(arena, &renamed, stmt_map_exprs(arena, body.items[i], rename_reads, &renaming));
    return stmt_allocate(arena, local, renamed);
}

/* --- placing ------------------------------------------------------------------------------------------------------ */

static bool size_is_fixed(const Tensor *tensor) {
    for (int d = 0; d < tensor->rank; d++)
        EACH_EXPR(e, tensor->dims[d])
            if (e->kind == EXPR_VAR && e->var->kind == VAR_LOOP)
                return false;
    return true;
}

static StmtList place_body(const Place *place, Stmt *const *body, int count);

static Stmt *place_allocate(const Place *place, Stmt *allocate, StmtList body) {
    Arena *arena = place->arena;
    Stmt *made = stmt_with_bodies(arena, allocate, body, (StmtList){0});
    if (!made)
        return NULL;
    const Uses *uses = find_uses(place, made->tensor);
    if (!uses->read)
        return stmt_block(arena, redirect_stores(arena, made->body, made->count, &(Renaming){made->tensor, NULL}));
    bool in_memory = uses->in_memory || tensor_elements(made->tensor) < 0;
    return made->tensor->scope == SCOPE_REGISTER && in_memory ? demoted(arena, made) : made;
}

/* for i { allocate t { body } } as allocate t { for i { body } }. */
static Stmt *hoist(Arena *arena, Stmt *loop) {
    if (loop->loop == LOOP_PARALLEL || loop_kind_is_bound(loop->loop) || loop->count != 1 ||
        loop->body[0]->kind != STMT_ALLOCATE || !size_is_fixed(loop->body[0]->tensor))
        return loop;
    Stmt *allocate = loop->body[0];
    Stmt *inner = stmt_with_bodies(arena, loop, stmts_of(allocate->body, allocate->count), (StmtList){0});
    StmtList body = {0};
    stmts_add(arena, &body, hoist(arena, inner));
    return stmt_allocate(arena, allocate->tensor, body);
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
    StmtList list = {0};
    stmts_add(arena, &list, unite(arena, inner));
    return stmt_allocate(arena, tensor, list);
}

static Stmt *place_stmt(const Place *place, Stmt *stmt) {
    StmtList body = place_body(place, stmt->body, stmt->count);
    StmtList otherwise = place_body(place, stmt->otherwise, stmt->otherwise_count);
    if (stmt->kind == STMT_ALLOCATE)
        return place_allocate(place, stmt, body);
    Stmt *made = stmt_with_bodies(place->arena, stmt, body, otherwise);
    if (made && made->kind == STMT_IF)
        return unite(place->arena, made);
    return made && made->kind == STMT_FOR ? hoist(place->arena, made) : made;
}

static StmtList place_body(const Place *place, Stmt *const *body, int count) {
    StmtList list = {0};
    for (int i = 0; i < count; i++)
        stmts_add(place->arena, &list, place_stmt(place, body[i]));
    return list;
}

void pass_place(Kernel *kernel) {
    Place place = find_all_uses(kernel);
    kernel->body = stmt_block(kernel->arena, place_body(&place, kernel->body->body, kernel->body->count));
}
