/* begin.c - pass: registers of a maximum or minimum begin with its first term. max(-inf, x) is x, also for NaN, but a
 * processor whose own maximum ignores NaN needs several instructions for it.
 *
 * Needs unrolled loops: registers are accessed at constants. Follows the stores one after another, from where one fills
 * elements with an infinity to where a term is combined with them. Where nothing reads what was filled, the store goes.
 */
#include "lower/kernel/passes/passes.h"
#include "lower/kernel/statements.h"

#include <math.h>

/* A store of an infinity to elements of registers. */
typedef struct Filling {
    int place; /* among the statements */
    double value;
    bool is_read;
} Filling;

/* What the elements of a register buffer hold: an infinity, by which store; NULL: anything. */
typedef struct Held {
    Filling **elements;
    int64_t count;
    bool is_filled; /* an element may hold one */
} Held;

typedef struct ElementRange {
    int64_t first, end;
    bool known; /* which one it is */
} ElementRange;

typedef struct Begin {
    Arena *arena;
    Map held; /* Tensor -> Held */
    LIST(Held *) filled;
    LIST(Filling *) fillings;
} Begin;

/* --- elements ----------------------------------------------------------------------------------------------------- */

static Held *held_of(Begin *begin, const Tensor *tensor) {
    return address_map_get(&begin->held, tensor);
}

/* The lane's element of the buffer; -1 where that is not known. */
static int64_t element_at(const Held *held, const Expr *index, int lane) {
    int64_t base, stride = 0;
    const Expr *first = index->kind == EXPR_RAMP ? index->args[0] : index;
    if (!expr_is_int(first, &base) || (index->kind == EXPR_RAMP && !expr_is_int(index->args[1], &stride)))
        return -1;
    int64_t element = base + lane * stride;
    return element >= 0 && element < held->count ? element : -1;
}

/* The elements that the lane may be of: that one, or all where it is not known. */
static ElementRange elements_at(const Held *held, const Expr *index, int lane) {
    int64_t element = element_at(held, index, lane);
    return element < 0 ? (ElementRange){0, held->count, false} : (ElementRange){element, element + 1, true};
}

static void note_read(Begin *begin, const Expr *read) {
    Held *held = held_of(begin, read->tensor);
    for (int lane = 0; held && lane < read->args[0]->lanes; lane++) {
        ElementRange at = elements_at(held, read->args[0], lane);
        for (int64_t e = at.first; e < at.end; e++)
            if (held->elements[e])
                held->elements[e]->is_read = true;
    }
}

/* The elements that a statement stores hold something else from there on. Under a guard some may still hold what was
 * filled in. */
static void overwrite(Held *held, const Expr *index, const Expr *guard) {
    for (int lane = 0; lane < index->lanes; lane++) {
        ElementRange at = elements_at(held, index, lane);
        for (int64_t e = at.first; e < at.end; e++) {
            if (!held->elements[e])
                continue;
            held->elements[e]->is_read |= guard || !at.known;
            held->elements[e] = NULL;
        }
    }
}

/* Of what follows nothing is known. */
static void forget(Begin *begin) {
    for (int i = 0; i < begin->filled.count; i++) {
        Held *held = begin->filled.items[i];
        for (int64_t e = 0; e < held->count; e++) {
            if (held->elements[e])
                held->elements[e]->is_read = true;
            held->elements[e] = NULL;
        }
        held->is_filled = false;
    }
    begin->filled.count = 0;
}

/* --- stores ------------------------------------------------------------------------------------------------------- */

static bool is_infinity(const Expr *e, double *value) {
    const Expr *element = e->kind == EXPR_BROADCAST ? e->args[0] : e;
    *value = element->kind == EXPR_REAL ? element->real : 0;
    return isinf(*value);
}

/* Whether all elements that the read takes hold the value. */
static bool holds(Begin *begin, const Expr *read, double value) {
    Held *held = read->kind == EXPR_READ && !read->guard ? held_of(begin, read->tensor) : NULL;
    for (int lane = 0; held && lane < read->args[0]->lanes; lane++) {
        int64_t element = element_at(held, read->args[0], lane);
        if (element < 0 || !held->elements[element] || held->elements[element]->value != value)
            return false;
    }
    return held != NULL;
}

/* The value that is stored, without a maximum with what is the least of all. */
static Expr *first_term(Begin *begin, Expr *value) {
    if (!expr_is_op(value, OP_MAX) && !expr_is_op(value, OP_MIN))
        return value;
    double identity = value->op == OP_MAX ? -INFINITY : INFINITY;
    for (int i = 0; i < 2; i++)
        if (holds(begin, value->args[i], identity))
            return value->args[1 - i];
    return value;
}

static bool is_of_registers(const Stmt *store) {
    return store->tensor->scope == SCOPE_REGISTER && store->index_count == 1;
}

static Held *held_by(Begin *begin, const Tensor *tensor) {
    Held *held = held_of(begin, tensor);
    int64_t extent, count = 1;
    for (int d = 0; d < tensor->rank && !held; d++) {
        if (!expr_is_int(tensor->dims[d], &extent))
            return NULL;
        count *= extent;
    }
    if (held)
        return held;
    held = ARENA_NEW(begin->arena, Held);
    *held = (Held){ARENA_ARRAY(begin->arena, Filling *, count + 1), count, false};
    address_map_set(begin->arena, &begin->held, tensor, held);
    return held;
}

static void fill(Begin *begin, const Stmt *store, double value, int place) {
    Held *held = held_by(begin, store->tensor);
    for (int lane = 0; held && lane < store->index[0]->lanes; lane++)
        if (element_at(held, store->index[0], lane) < 0)
            held = NULL;
    if (!held)
        return;
    Filling *filling = ARENA_NEW(begin->arena, Filling);
    *filling = (Filling){.place = place, .value = value};
    for (int lane = 0; lane < store->index[0]->lanes; lane++)
        held->elements[element_at(held, store->index[0], lane)] = filling;
    list_push(begin->arena, &begin->fillings, filling);
    if (!held->is_filled)
        list_push(begin->arena, &begin->filled, held);
    held->is_filled = true;
}

static Stmt *begin_store(Begin *begin, Stmt *store, int place) {
    double infinity;
    Stmt *made = store;
    Expr *value = store->guard ? store->value : first_term(begin, store->value);
    if (value != store->value)
        made = stmt_store(begin->arena, store->tensor, store->index, store->index_count, value, NULL, store->loc);
    if (begin->held.count)
        EACH_STMT_READ(read, made)
            note_read(begin, read);
    Held *held = held_of(begin, store->tensor);
    if (held)
        overwrite(held, store->index[0], store->guard);
    if (is_of_registers(store) && !store->guard && is_infinity(value, &infinity))
        fill(begin, store, infinity, place);
    return made;
}

/* --- statements --------------------------------------------------------------------------------------------------- */

static StmtList begin_body(Arena *arena, Stmt *const *body, int count);

static Stmt *begin_inside(Arena *arena, Stmt *stmt) {
    if (!stmt->count && !stmt->otherwise_count)
        return stmt;
    StmtList body = begin_body(arena, stmt->body, stmt->count);
    StmtList otherwise = begin_body(arena, stmt->otherwise, stmt->otherwise_count);
    return stmt_with_bodies(arena, stmt, body, otherwise);
}

static StmtList begin_body(Arena *arena, Stmt *const *body, int count) {
    Begin begin = {.arena = arena};
    Stmt **made = ARENA_ARRAY(arena, Stmt *, count + 1);
    bool changed = false;
    for (int i = 0; i < count; i++) {
        bool simple = body[i]->kind == STMT_STORE || body[i]->kind == STMT_STEP;
        if (!simple)
            forget(&begin);
        made[i] = body[i]->kind == STMT_STORE ? begin_store(&begin, body[i], i)
                  : body[i]->kind == STMT_TOGETHER ? body[i]
                                                   : begin_inside(arena, body[i]);
        changed |= made[i] != body[i];
    }
    forget(&begin);
    for (int i = 0; i < begin.fillings.count; i++)
        if (!begin.fillings.items[i]->is_read)
            made[begin.fillings.items[i]->place] = NULL;
    StmtList list = {0};
    for (int i = 0; i < count; i++)
        if (made[i])
            stmts_add(arena, &list, made[i]);
    return changed ? list : stmts_of(body, count);
}

void pass_begin(Kernel *kernel) {
    StmtList body = begin_body(kernel->arena, kernel->body->body, kernel->body->count);
    kernel->body = stmt_block(kernel->arena, body);
}
