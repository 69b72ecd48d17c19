/* match.c - whether two nests are equal but for their tensors and for numbers, and the first one with variables in
 * place of numbers that differ.
 *
 * Keeps true: what replaces a number stands only where a number may differ. Indices of registers and extents of loops
 * that are expanded stay as they are, and so do exponents, of which instructions are made. A number of type int64 is
 * not negative, a factor or divisor at least 1.
 */
#include "lower/kernel/passes/match.h"
#include "lang/random.h"

#include <string.h>

enum { FEW_ELEMENTS = 16 /* of a constant whose elements may become parts of instructions */ };

/* --- where numbers may differ ------------------------------------------------------------------------------------- */

/* Numbers of type int64 may be indices; a negative one would be no size. */
static bool is_number(const Expr *e, MatchNumbers numbers) {
    if (e->type == TYPE_INT64)
        return numbers >= MATCH_ANY && e->kind == EXPR_INT && e->integer >= 0;
    return e->kind == EXPR_REAL || (e->kind == EXPR_INT && e->type != TYPE_BOOL);
}

/* A factor of an index, or a divisor. */
static bool is_factor(const Expr *e, int i) {
    if (e->kind != EXPR_OP)
        return false;
    return e->op == OP_MUL ? e->type == TYPE_INT64
                           : i == 1 && (e->op == OP_DIV || e->op == OP_MOD) && type_is_integer(e->type);
}

/* Lanes of up to 32 bits divide quickly by what is no constant. */
static bool factor_may_differ(const Expr *factor, MatchNumbers numbers) {
    MatchNumbers with = element_info[factor->type].bytes <= 4 ? MATCH_ANY : MATCH_FACTORS;
    return numbers >= with && factor->kind == EXPR_INT && factor->integer >= 1;
}

static bool operand_may_differ(const Expr *e, int i, MatchNumbers numbers) {
    if (is_factor(e, i))
        return factor_may_differ(e->args[i], numbers);
    if (e->kind != EXPR_OP || !is_number(e->args[i], numbers))
        return false;
    ElementType type = e->args[i]->type;
    OpNumbers with = type == TYPE_INT64 ? NUMBERS_ANY : type_is_float(type) ? NUMBERS_REALS : NUMBERS_VALUES;
    return op_info[e->op].numbers >= with;
}

/* A whole index. */
static bool index_may_differ(const Expr *index) {
    return index->kind == EXPR_INT && index->integer >= 0;
}

/* Whether a loop of the kind may have another number of iterations. */
static bool extent_may_differ(const Expr *extent, LoopKind kind, MatchNumbers numbers) {
    return !loop_kind_is_expanded(kind) && is_number(extent, numbers);
}

/* --- comparing ---------------------------------------------------------------------------------------------------- */

static bool exprs_match(Match *match, const Expr *a, const Expr *b);

/* Whether each stands for the other alone. */
static bool pair(Match *match, const void *a, const void *b) {
    const void *known = address_map_get(match->to, a), *back = address_map_get(&match->from, b);
    if (known || back)
        return known == b && back == a;
    address_map_set(match->arena, match->to, a, (void *)b);
    address_map_set(match->arena, &match->from, b, (void *)a);
    return true;
}

/* What several statements of the one share may be several in the other: the same number stands there each time. */
static bool numbers_match(Match *match, NumberPlace place, const Expr *b, bool factor) {
    const Expr *a = *place;
    int64_t least = factor ? 1 : a->type == TYPE_INT64 ? 0 : INT64_MIN;
    intptr_t known = (intptr_t)address_map_get(match->places, place);
    if (b->kind != a->kind || b->type != a->type || (b->kind == EXPR_INT && b->integer < least))
        return false;
    if (known)
        return match->second.items[known - 1]->integer == b->integer;
    list_push(match->arena, &match->first, (Expr *)a);
    list_push(match->arena, &match->second, (Expr *)b);
    address_map_set(match->arena, match->places, place, (void *)(intptr_t)match->first.count);
    return true;
}

static bool orders_are_equal(const ElementOrder *a, const ElementOrder *b) {
    if (!a || !b)
        return a == b;
    for (int i = 0; i < a->count && a->count == b->count; i++) {
        const OrderPart *x = &a->parts[i], *y = &b->parts[i];
        if (x->dimension != y->dimension || x->divisor != y->divisor || x->modulus != y->modulus ||
            x->align != y->align || x->offset != y->offset)
            return false;
    }
    return a->count == b->count;
}

/* One whose elements may become parts of instructions: each nest names its own. */
static bool is_small_constant(const Match *match, const Tensor *tensor) {
    int64_t elements = tensor->role == ROLE_CONSTANT ? tensor_elements(tensor) : -1;
    return elements >= 0 && elements <= FEW_ELEMENTS && !program_is_given(match->program, tensor);
}

static bool dims_match(Match *match, const Tensor *a, const Tensor *b) {
    bool equal = a->rank == b->rank, exact = match->exact;
    match->exact = true;
    for (int d = 0; d < a->rank && equal; d++)
        equal = exprs_match(match, a->dims[d], b->dims[d]);
    match->exact = exact;
    return equal;
}

static bool tensors_are_alike(Match *match, const Tensor *a, const Tensor *b) {
    return a->type == b->type && a->role == b->role && a->scope == b->scope && a->constant == b->constant &&
           !a->data == !b->data && !a->maker == !b->maker && orders_are_equal(a->order, b->order) &&
           dims_match(match, a, b) && (!is_small_constant(match, a) || a == b);
}

static bool tensors_match(Match *match, const Tensor *a, const Tensor *b) {
    bool known = address_map_get(match->to, a);
    if (!known && (a->scope == SCOPE_REGISTER || !tensors_are_alike(match, a, b)))
        return false;
    if (!pair(match, a, b))
        return false;
    if (!known && !is_small_constant(match, a))
        list_push(match->arena, &match->tensors, a);
    return true;
}

static bool indices_match(Match *match, const Tensor *tensor, Expr *const *a, Expr *const *b, int count) {
    bool exact = match->exact, inner = address_map_get(&match->inner, tensor), equal = true;
    match->exact |= tensor->scope == SCOPE_REGISTER;
    for (int d = 0; d < count && equal; d++)
        equal = !inner && !match->exact && index_may_differ(a[d]) ? numbers_match(match, &a[d], b[d], false)
                                                                  : exprs_match(match, a[d], b[d]);
    match->exact = exact;
    return equal;
}

static bool operands_match(Match *match, const Expr *a, const Expr *b) {
    bool equal = true;
    for (int i = 0; i < a->count && equal; i++)
        equal = !match->exact && operand_may_differ(a, i, match->numbers)
                    ? numbers_match(match, &a->args[i], b->args[i], is_factor(a, i))
                    : exprs_match(match, a->args[i], b->args[i]);
    return equal;
}

static bool both_match(Match *match, const Expr *a, const Expr *b) {
    return a && b ? exprs_match(match, a, b) : a == b;
}

static bool payloads_match(Match *match, const Expr *a, const Expr *b) {
    switch (a->kind) {
    case EXPR_INT:
    case EXPR_OFFSET:
    case EXPR_REAL: return a->integer == b->integer;
    case EXPR_VAR: return a->var->kind == VAR_LOOP ? address_map_get(match->to, a->var) == b->var : a->var == b->var;
    case EXPR_OP: return a->op == b->op;
    case EXPR_CALL: return a->instr == b->instr;
    case EXPR_SHUFFLE: return !memcmp(a->pattern, b->pattern, sizeof *a->pattern * (size_t)a->lanes);
    case EXPR_READ: return tensors_match(match, a->tensor, b->tensor) && both_match(match, a->guard, b->guard);
    default: return true;
    }
}

static bool exprs_match(Match *match, const Expr *a, const Expr *b) {
    Map *seen = &match->seen[match->exact];
    if (address_map_get(seen, a) == b)
        return true;
    if (a->kind != b->kind || a->type != b->type || a->lanes != b->lanes || a->count != b->count ||
        match->left-- <= 0 || !payloads_match(match, a, b))
        return false;
    bool equal = a->kind == EXPR_READ ? indices_match(match, a->tensor, a->args, b->args, a->count)
                                      : operands_match(match, a, b);
    if (equal)
        address_map_set(match->arena, seen, a, (void *)b);
    return equal;
}

static bool extents_match(Match *match, Expr *const *a, const Expr *b, LoopKind kind) {
    bool exact = match->exact;
    if (!*a || !b)
        return *a == b;
    if (!exact && extent_may_differ(*a, kind, match->numbers))
        return numbers_match(match, a, b, false);
    match->exact |= loop_kind_is_expanded(kind);
    bool equal = exprs_match(match, *a, b);
    match->exact = exact;
    return equal;
}

static bool loops_match(Match *match, const Stmt *a, const Stmt *b) {
    return a->loop == b->loop && a->masked == b->masked && a->in_lanes == b->in_lanes && a->var->type == b->var->type &&
           a->var->reduction == b->var->reduction && a->var->instr == b->var->instr &&
           extents_match(match, &a->extent, b->extent, a->loop) &&
           extents_match(match, &a->var->extent, b->var->extent, a->loop) && pair(match, a->var, b->var);
}

static bool allocations_match(Match *match, const Tensor *a, const Tensor *b) {
    address_map_set(match->arena, &match->inner, a, (void *)b);
    return tensors_are_alike(match, a, b) && pair(match, a, b);
}

static bool accesses_match(Match *match, const Stmt *a, const Stmt *b) {
    return tensors_match(match, a->tensor, b->tensor) &&
           indices_match(match, a->tensor, a->index, b->index, a->index_count) && both_match(match, a->value, b->value);
}

static bool bodies_match(Match *match, Stmt *const *a, Stmt *const *b, int count) {
    for (int i = 0; i < count; i++)
        if (!stmts_match(match, a[i], b[i]))
            return false;
    return true;
}

bool stmts_match(Match *match, const Stmt *a, const Stmt *b) {
    if (a->kind != b->kind || a->count != b->count || a->otherwise_count != b->otherwise_count ||
        a->index_count != b->index_count || a->keeps != b->keeps || a->far != b->far)
        return false;
    if ((a->kind == STMT_FOR && !loops_match(match, a, b)) ||
        (a->kind == STMT_ALLOCATE && !allocations_match(match, a->tensor, b->tensor)) ||
        ((a->kind == STMT_STORE || a->kind == STMT_PREFETCH) && !accesses_match(match, a, b)))
        return false;
    return both_match(match, a->condition, b->condition) && both_match(match, a->guard, b->guard) &&
           bodies_match(match, a->body, b->body, a->count) &&
           bodies_match(match, a->otherwise, b->otherwise, a->otherwise_count);
}

/* --- hashes ------------------------------------------------------------------------------------------------------- */

static uint64_t expr_hash(MatchHashes *hashes, const Expr *e);

static uint64_t index_hash(MatchHashes *hashes, const Tensor *tensor, Expr *const *index, int count) {
    uint64_t hash = hash_mix((uint64_t)tensor->type * 64 + (uint64_t)tensor->role * 8 + (uint64_t)tensor->rank);
    for (int d = 0; d < count; d++)
        hash = hash_mix(hash + (index[d]->kind == EXPR_INT ? 1 : expr_hash(hashes, index[d])));
    return hash;
}

static uint64_t payload_hash(MatchHashes *hashes, const Expr *e) {
    if (e->kind == EXPR_READ)
        return index_hash(hashes, e->tensor, e->args, e->count) + expr_hash(hashes, e->guard);
    if (e->kind == EXPR_VAR)
        return e->var->kind == VAR_LOOP ? 3 : (uint64_t)(uintptr_t)e->var;
    return e->kind == EXPR_INT || e->kind == EXPR_REAL ? (uint64_t)e->integer : (uint64_t)e->op;
}

static uint64_t expr_hash(MatchHashes *hashes, const Expr *e) {
    uint64_t hash = e ? (uint64_t)(uintptr_t)address_map_get(&hashes->known, e) : 1;
    if (hash)
        return hash;
    hash = hash_mix((uint64_t)e->kind * 64 + (uint64_t)e->type + payload_hash(hashes, e));
    for (int i = 0; i < e->count && e->kind != EXPR_READ; i++)
        hash = hash_mix(hash + (operand_may_differ(e, i, hashes->numbers) ? 1 : expr_hash(hashes, e->args[i])));
    hash |= 1;
    address_map_set(hashes->arena, &hashes->known, e, (void *)(uintptr_t)hash);
    return hash;
}

static uint64_t extent_hash(MatchHashes *hashes, const Stmt *stmt) {
    bool number = stmt->extent && extent_may_differ(stmt->extent, stmt->loop, hashes->numbers);
    return number ? 1 : expr_hash(hashes, stmt->extent);
}

uint64_t match_hash(MatchHashes *hashes, const Stmt *stmt) {
    uint64_t hash = hash_mix((uint64_t)stmt->kind * 64 + (uint64_t)stmt->loop * 8 + (uint64_t)stmt->count);
    hash = hash_mix(hash + extent_hash(hashes, stmt) + 2 * expr_hash(hashes, stmt->condition));
    hash = hash_mix(hash + expr_hash(hashes, stmt->value) + 2 * expr_hash(hashes, stmt->guard));
    if (stmt->index_count)
        hash = hash_mix(hash + index_hash(hashes, stmt->tensor, stmt->index, stmt->index_count));
    for (int i = 0; i < stmt->count; i++)
        hash = hash_mix(hash + match_hash(hashes, stmt->body[i]));
    for (int i = 0; i < stmt->otherwise_count; i++)
        hash = hash_mix(hash + match_hash(hashes, stmt->otherwise[i]));
    return hash | 1;
}

/* --- replacing ---------------------------------------------------------------------------------------------------- */

static Expr *map_expr(PlaceMapping *mapping, Expr *e);

static Expr *map_place(PlaceMapping *mapping, NumberPlace place) {
    intptr_t known = mapping->exact ? 0 : (intptr_t)address_map_get(mapping->places, place);
    Expr *value = known ? mapping->values[known - 1] : NULL;
    return value ? value : map_expr(mapping, *place);
}

/* The same array where nothing changes. */
static Expr **map_array(PlaceMapping *mapping, Expr **array, int count) {
    Expr **made = array;
    for (int i = 0; i < count; i++) {
        Expr *value = map_place(mapping, &array[i]);
        if (value == array[i])
            continue;
        if (made == array) {
            made = ARENA_ARRAY(mapping->arena, Expr *, count);
            memcpy(made, array, sizeof *made * (size_t)count);
        }
        made[i] = value;
    }
    return made;
}

static Expr **map_index(PlaceMapping *mapping, const Tensor *tensor, Expr **index, int count) {
    bool exact = mapping->exact;
    mapping->exact |= tensor->scope == SCOPE_REGISTER;
    Expr **made = map_array(mapping, index, count);
    mapping->exact = exact;
    return made;
}

static Expr *map_var(PlaceMapping *mapping, Expr *e) {
    const Var *var = address_map_get(&mapping->vars, e->var);
    return var && var != e->var ? expr_var(mapping->arena, var) : e;
}

static Expr *map_node(PlaceMapping *mapping, Expr *e) {
    if (e->kind == EXPR_VAR)
        return map_var(mapping, e);
    Expr **args =
        e->kind == EXPR_READ ? map_index(mapping, e->tensor, e->args, e->count) : map_array(mapping, e->args, e->count);
    Expr *guard = map_expr(mapping, e->guard);
    if (args == e->args && guard == e->guard)
        return e;
    Expr *made = expr_copy(mapping->arena, e);
    made->args = args;
    made->guard = guard;
    return made;
}

static Expr *map_expr(PlaceMapping *mapping, Expr *e) {
    if (!e || e->kind == EXPR_INT || e->kind == EXPR_REAL)
        return e;
    Map *done = &mapping->done[mapping->exact];
    Expr *made = address_map_get(done, e);
    if (!made) {
        made = map_node(mapping, e);
        address_map_set(mapping->arena, done, e, made);
    }
    return made;
}

static Expr *map_extent(PlaceMapping *mapping, Expr *const *extent, LoopKind kind) {
    bool exact = mapping->exact;
    mapping->exact |= loop_kind_is_expanded(kind);
    Expr *made = *extent ? map_place(mapping, extent) : NULL;
    mapping->exact = exact;
    return made;
}

/* Passes learn from the extent of a variable what its values are. Several loops may have one variable. */
static const Var *map_loop_var(PlaceMapping *mapping, const Var *var, LoopKind kind) {
    const Var *known = address_map_get(&mapping->vars, var);
    Expr *extent = known ? NULL : map_extent(mapping, &var->extent, kind);
    if (known)
        return known;
    Var *made = (Var *)var;
    if (extent != var->extent) {
        made = ARENA_NEW(mapping->arena, Var);
        *made = *var;
        made->extent = extent;
        list_push(mapping->arena, &mapping->replaced, var);
    }
    address_map_set(mapping->arena, &mapping->vars, var, made);
    return made;
}

static void map_loop(PlaceMapping *mapping, const Stmt *first, Stmt *loop) {
    loop->extent = map_extent(mapping, &first->extent, first->loop);
    loop->var = map_loop_var(mapping, first->var, first->loop);
}

Stmt *map_places(Arena *arena, Stmt *first, void *context) {
    PlaceMapping *mapping = context;
    Stmt *made = ARENA_NEW(arena, Stmt);
    *made = *first;
    if (first->kind == STMT_FOR)
        map_loop(mapping, first, made);
    made->condition = map_expr(mapping, first->condition);
    made->value = map_expr(mapping, first->value);
    made->guard = map_expr(mapping, first->guard);
    if (first->index_count)
        made->index = map_index(mapping, first->tensor, first->index, first->index_count);
    return stmt_map_bodies(arena, made, map_places, mapping);
}
