/* narrow.c - pass: shortens vectors of a register tile if only their first lanes are stored.
 *
 * The last vector of a tile holds the rest of a row: 4 lanes of 16 for 100 columns. Many processors compute a short
 * vector in half the time of a long one, and none takes longer. A part of a register buffer is made narrower if all
 * that reads it, except what it adds to itself, are stores under the same kind of guard: the first c lanes. Needs
 * unrolled loops: registers are accessed at constants.
 */
#include "lower/kernel/passes/passes.h"
#include "lower/kernel/statements.h"

enum { LEAST_BYTES = 16 /* the shortest vector */, MANY_BUFFERS = 32 };

/* One vector of a register buffer. */
typedef struct BufferPart {
    int64_t base;
    int demand; /* the first lanes that others read */
    bool stays; /* it is read or made in a way that has no narrow form */
} BufferPart;

typedef struct Narrow {
    Arena *arena;
    const Tensor *tensor;
    int lanes; /* of all its vectors; 0: none seen yet */
    bool fails, by_forms;
    LIST(BufferPart) parts;
} Narrow;

/* --- what is accessed --------------------------------------------------------------------------------------------- */

/* The part that a RAMP at a constant accesses; NULL: none. */
static BufferPart *part_at(Narrow *narrow, const Expr *index) {
    int64_t base, stride;
    bool vector = index->kind == EXPR_RAMP && expr_is_int(index->args[0], &base) &&
                  expr_is_int(index->args[1], &stride) && stride == 1;
    if (!vector || base % index->lanes || (narrow->lanes && index->lanes != narrow->lanes)) {
        narrow->fails = true;
        return NULL;
    }
    narrow->lanes = index->lanes;
    for (int i = 0; i < narrow->parts.count; i++)
        if (narrow->parts.items[i].base == base)
            return &narrow->parts.items[i];
    list_push(narrow->arena, &narrow->parts, ((BufferPart){.base = base}));
    return &narrow->parts.items[narrow->parts.count - 1];
}

static void note_whole(Narrow *narrow, const Expr *read) {
    BufferPart *part = read->tensor == narrow->tensor ? part_at(narrow, read->args[0]) : NULL;
    if (part)
        part->stays = true;
}

/* --- guards ------------------------------------------------------------------------------------------------------- */

/* How many first lanes a guard leaves at most: ramp(0, 1, 16) < broadcast(4, 16) leaves 4. */
static int lanes_left(const Expr *guard, int lanes) {
    int64_t base, stride, limit;
    if (!guard || guard->kind != EXPR_OP)
        return lanes;
    if (guard->op == OP_AND) {
        int left = lanes_left(guard->args[0], lanes), right = lanes_left(guard->args[1], lanes);
        return left < right ? left : right;
    }
    const Expr *ramp = guard->args[0], *end = guard->count > 1 ? guard->args[1] : NULL;
    if (guard->op != OP_LT || ramp->kind != EXPR_RAMP || end->kind != EXPR_BROADCAST ||
        !expr_is_int(ramp->args[0], &base) || !expr_is_int(ramp->args[1], &stride) || stride != 1 ||
        !expr_is_int(end->args[0], &limit))
        return lanes;
    return limit <= base ? 0 : limit - base < lanes ? (int)(limit - base) : lanes;
}

/* --- narrow forms ------------------------------------------------------------------------------------------------- */

static bool has_narrow_form(const Expr *e, int lanes) {
    if (e->lanes == 1)
        return true;
    bool good = e->lanes == lanes &&
                (e->kind == EXPR_RAMP || e->kind == EXPR_BROADCAST || e->kind == EXPR_READ || e->kind == EXPR_OP ||
                 e->kind == EXPR_CAST) &&
                (!e->guard || has_narrow_form(e->guard, lanes));
    for (int i = 0; i < e->count && good; i++)
        good = has_narrow_form(e->args[i], lanes);
    return good;
}

static Expr *first_lanes(Arena *arena, Expr *e, int width);

/* The guard for the first lanes; NULL where it leaves all of them. */
static Expr *first_lanes_of_guard(Arena *arena, Expr *guard, int width) {
    if (!guard)
        return NULL;
    if (expr_is_op(guard, OP_AND))
        return expr_and(arena, first_lanes_of_guard(arena, guard->args[0], width),
                        first_lanes_of_guard(arena, guard->args[1], width));
    return lanes_left(guard, guard->lanes) < guard->lanes && lanes_left(guard, guard->lanes) >= width
               ? NULL
               : first_lanes(arena, guard, width);
}

static Expr *first_lanes(Arena *arena, Expr *e, int width) {
    if (e->lanes == 1)
        return e;
    if (e->kind == EXPR_RAMP)
        return expr_ramp(arena, e->args[0], e->args[1], width);
    if (e->kind == EXPR_BROADCAST)
        return expr_broadcast(arena, e->args[0], width);
    Expr *made = expr_copy(arena, e);
    made->lanes = width;
    made->guard = first_lanes_of_guard(arena, e->guard, width);
    made->args = ARENA_ARRAY(arena, Expr *, e->count);
    for (int i = 0; i < e->count; i++)
        made->args[i] = first_lanes(arena, e->args[i], width);
    return made;
}

/* --- what is needed ----------------------------------------------------------------------------------------------- */

typedef struct Demand {
    Narrow *narrow;
    bool own; /* the store makes a part of the buffer */
    int64_t own_base;
    int lanes;   /* lanes that the store keeps of what it reads */
    bool formed; /* the store has a narrow form */
} Demand;

static void note_demand(const Demand *demand, const Expr *read) {
    BufferPart *part = read->tensor == demand->narrow->tensor ? part_at(demand->narrow, read->args[0]) : NULL;
    if (!part || (demand->own && part->base == demand->own_base))
        return;
    part->stays |= !demand->formed;
    part->demand = part->demand > demand->lanes ? part->demand : demand->lanes;
}

static bool store_has_narrow_form(const Stmt *store, int lanes) {
    return store->index_count == 1 && store->index[0]->kind == EXPR_RAMP && has_narrow_form(store->index[0], lanes) &&
           has_narrow_form(store->value, lanes) && (!store->guard || has_narrow_form(store->guard, lanes));
}

static void note_store(Narrow *narrow, Stmt *store) {
    Demand demand = {.narrow = narrow, .lanes = store->value->lanes};
    demand.formed = !narrow->by_forms || store_has_narrow_form(store, store->index[0]->lanes);
    if (store->tensor == narrow->tensor) {
        BufferPart *own = part_at(narrow, store->index[0]);
        if (!own)
            return;
        own->stays |= !demand.formed;
        demand.own = true;
        demand.own_base = own->base;
    } else if (store->tensor->scope != SCOPE_REGISTER) {
        demand.lanes = lanes_left(store->guard, store->value->lanes);
    }
    EACH_READ(read, store->value)
        note_demand(&demand, read);
    for (int i = 0; i < store->index_count; i++)
        EACH_READ(read, store->index[i])
            note_whole(narrow, read);
    EACH_READ(read, store->guard)
        note_whole(narrow, read);
}

static void note_stmt(Narrow *narrow, Stmt *stmt) {
    if (stmt->kind == STMT_STORE)
        note_store(narrow, stmt);
    else
        EACH_STMT_READ(read, stmt)
            note_whole(narrow, read);
    narrow->fails |= stmt->kind == STMT_FOR && (stmt->loop == LOOP_VECTORIZED || stmt->loop == LOOP_TENSORIZED);
}

/* --- rewriting ---------------------------------------------------------------------------------------------------- */

static int width_for(const Narrow *narrow, int demand) {
    int least = LEAST_BYTES / element_info[narrow->tensor->type].bytes, width = least > 1 ? least : 1;
    while (width < demand)
        width *= 2;
    return width < narrow->lanes ? width : narrow->lanes;
}

/* The lanes that remain of a part. */
static int width_of(const Narrow *narrow, const BufferPart *part) {
    return part->stays ? narrow->lanes : width_for(narrow, part->demand);
}

/* The lanes of the part that is made; or, if something narrower is read, of what is stored. */
static int width_of_store(Narrow *narrow, const Stmt *store) {
    if (store->tensor == narrow->tensor)
        return width_of(narrow, part_at(narrow, store->index[0]));
    EACH_READ(read, store->value)
        if (read->tensor == narrow->tensor && width_of(narrow, part_at(narrow, read->args[0])) < narrow->lanes)
            return width_for(narrow, lanes_left(store->guard, store->value->lanes));
    return store->value->lanes;
}

static Stmt *narrow_store(Narrow *narrow, Stmt *store) {
    Arena *arena = narrow->arena;
    int width = width_of_store(narrow, store);
    if (width >= store->value->lanes)
        return store;
    Expr **index = ARENA_ARRAY(arena, Expr *, 1);
    index[0] = first_lanes(arena, store->index[0], width);
    return stmt_store(arena, store->tensor, index, 1, first_lanes(arena, store->value, width),
                      first_lanes_of_guard(arena, store->guard, width), store->loc);
}

static Stmt *narrow_stmt(Arena *arena, Stmt *stmt, void *context) {
    return stmt->kind == STMT_STORE ? narrow_store(context, stmt) : stmt_map_bodies(arena, stmt, narrow_stmt, context);
}

static bool worth_it(const Narrow *narrow) {
    bool any = false;
    for (int i = 0; i < narrow->parts.count; i++)
        any |= width_of(narrow, &narrow->parts.items[i]) < narrow->lanes;
    return any;
}

/* By the lanes that are needed; by the forms too, which take longer to look at. */
static bool can_narrow(Narrow *narrow, const Stmt *allocate, bool by_forms) {
    narrow->by_forms = by_forms;
    EACH_STMT_OF(s, allocate->body, allocate->count) {
        note_stmt(narrow, s);
        if (narrow->fails)
            return false;
    }
    return worth_it(narrow);
}

/* Whether the statement stores only the first lanes of its value. */
static bool stores_first_lanes(const Stmt *stmt) {
    return stmt->kind == STMT_STORE && stmt->guard && lanes_left(stmt->guard, stmt->value->lanes) < stmt->value->lanes;
}

/* What was seen of the kernel so far. */
typedef struct Seen {
    int first_lanes; /* stores of the first lanes of a value */
    int buffers;     /* of registers */
} Seen;

/* Each buffer is looked for in all that its allocation is around: in many others only where first lanes are stored.
 * Elsewhere no more would become narrow than what nobody reads. */
static Stmt *narrow_allocate(Arena *arena, Stmt *stmt, void *context) {
    Narrow narrow = {.arena = arena, .tensor = stmt->tensor};
    Seen *seen = context, before = *seen;
    stmt = stmt_map_bodies(arena, stmt, narrow_allocate, seen);
    seen->first_lanes += stores_first_lanes(stmt);
    if (stmt->kind != STMT_ALLOCATE || stmt->tensor->scope != SCOPE_REGISTER)
        return stmt;
    seen->buffers++;
    if (seen->first_lanes == before.first_lanes && seen->buffers - before.buffers > MANY_BUFFERS)
        return stmt;
    bool good = can_narrow(&narrow, stmt, false) && can_narrow(&narrow, stmt, true);
    return good ? stmt_map_bodies(arena, stmt, narrow_stmt, &narrow) : stmt;
}

void pass_narrow(Kernel *kernel) {
    Seen seen = {0};
    kernel->body = narrow_allocate(kernel->arena, kernel->body, &seen);
}
