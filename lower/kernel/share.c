/* share.c - pass: equal nests of a long function become one, which runs with other tensors each time. In a very long
 * one all nests become functions.
 *
 * Needs what build gives. Layers of a network differ in their tensors, and in numbers that say which part of all
 * layers' weights is theirs. The first of such nests becomes a shared nest: the passes after this one go over it once,
 * and it is one function of the object. Each of the others, and the first, is a statement that runs it.
 *
 * Two nests are equal where tensors and loop variables of one stand for those of the other, each for one, and where all
 * else is equal but for numbers that are whole indices. A number that differs becomes a variable, as sizes are.
 */
#include "lang/random.h"
#include "lower/kernel/passes.h"

#include <string.h>

enum {
    MANY_NESTS = 32,      /* of a function that is long: others compile quickly, and gain from known addresses */
    ALL_APART = 256,      /* of one in which the others are functions, too: some of LLVM's passes take four times as
                             long for a function of twice the length */
    WORTH_CALLING = 16,   /* nodes of a nest that is worth a call */
    MOST_NODES = 1 << 16, /* that are compared: without the limit, of what shares little in one of two, exponential */
    FEW_ELEMENTS = 16     /* of a constant whose elements may become parts of instructions */
};

/* A statement outside all loops and conditions, with what it is equal to. */
typedef struct Unit {
    Stmt *stmt;
    int64_t *numbers; /* at the places of its class */
    Map *own;         /* the class's loop variables and tensors -> its own */
    struct Class *class;
} Unit;

typedef struct Class {
    LIST(Unit *) units; /* the first one is what the others are compared with */
    int number_count;   /* places of whole indices; */
    int64_t *numbers;   /* those of the first, -1 where one is no number */
    const Map *places;  /* a read or store of the first -> the number of its first index + 1 */
    Expr **variables;   /* what stands there, or NULL where all units have the number of the first */
    LIST(int) differs;  /* the places whose numbers are passed */
    LIST(const Tensor *) tensors;
    SharedNest *nest;
    struct Class *next; /* of the same hash */
} Class;

typedef struct Sharing {
    Arena *arena; /* of the kernel */
    Kernel *kernel;
    LIST(Unit *) units;
    LIST(Class *) classes;
    Map by_hash; /* -> Class */
    Map hashes;  /* Expr -> hash */
} Sharing;

/* --- comparing ---------------------------------------------------------------------------------------------------- */

typedef struct Match {
    Arena *arena;
    const Program *program;
    Map *to, from;               /* tensors and loop variables */
    Map inner;                   /* buffers that the nest allocates */
    Map seen;                    /* Expr -> what it was found equal to */
    Map *places;                 /* as in Class */
    LIST(int64_t) first, second; /* numbers */
    LIST(const Tensor *) tensors;
    int left; /* nodes that may still be looked at: unshared copies of what the other shares take long */
} Match;

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

static bool tensors_are_alike(Match *match, const Tensor *a, const Tensor *b) {
    if (a->type != b->type || a->role != b->role || a->scope != b->scope || a->constant != b->constant ||
        a->rank != b->rank || !a->data != !b->data || !a->maker != !b->maker || !orders_are_equal(a->order, b->order))
        return false;
    for (int d = 0; d < a->rank; d++)
        if (!exprs_match(match, a->dims[d], b->dims[d]))
            return false;
    return !is_small_constant(match, a) || a == b;
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

/* A whole index that may be another one elsewhere. */
static bool is_number(const Match *match, const Tensor *tensor, const Expr *index) {
    return index->kind == EXPR_INT && index->integer >= 0 && !address_map_get(&match->inner, tensor);
}

/* owner: the read or store of the first nest. */
static bool indices_match(Match *match, const void *owner, const Tensor *tensor, Expr *const *a, Expr *const *b,
                          int count) {
    intptr_t known = (intptr_t)address_map_get(match->places, owner), place = known ? known - 1 : match->first.count;
    for (int d = 0; d < count; d++) { /* what several statements of the one share may be several in the other */
        bool number = is_number(match, tensor, a[d]) && b[d]->kind == EXPR_INT && b[d]->integer >= 0;
        if (known && match->second.items[place + d] != (number ? b[d]->integer : -1))
            return false;
        if (known)
            continue;
        list_push(match->arena, &match->first, number ? a[d]->integer : -1);
        list_push(match->arena, &match->second, number ? b[d]->integer : -1);
    }
    if (!known)
        address_map_set(match->arena, match->places, owner, (void *)(place + 1));
    for (int d = 0; d < count; d++)
        if (match->first.items[place + d] < 0 && !exprs_match(match, a[d], b[d]))
            return false;
    return true;
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
    case EXPR_READ:
        return tensors_match(match, a->tensor, b->tensor) && both_match(match, a->guard, b->guard) &&
               both_match(match, a->otherwise, b->otherwise);
    default: return true;
    }
}

static bool exprs_match(Match *match, const Expr *a, const Expr *b) {
    if (address_map_get(&match->seen, a) == b)
        return true;
    if (a->kind != b->kind || a->type != b->type || a->lanes != b->lanes || a->count != b->count ||
        match->left-- <= 0 || !payloads_match(match, a, b))
        return false;
    bool equal = a->kind != EXPR_READ || indices_match(match, a, a->tensor, a->args, b->args, a->count);
    for (int i = 0; i < a->count && a->kind != EXPR_READ && equal; i++)
        equal = exprs_match(match, a->args[i], b->args[i]);
    if (equal)
        address_map_set(match->arena, &match->seen, a, (void *)b);
    return equal;
}

static bool loops_match(Match *match, const Stmt *a, const Stmt *b) {
    return a->loop == b->loop && a->masked == b->masked && a->in_lanes == b->in_lanes && a->var->type == b->var->type &&
           a->var->reduction == b->var->reduction && a->var->instr == b->var->instr &&
           both_match(match, a->var->extent, b->var->extent) && pair(match, a->var, b->var);
}

static bool allocations_match(Match *match, const Tensor *a, const Tensor *b) {
    address_map_set(match->arena, &match->inner, a, (void *)b);
    return tensors_are_alike(match, a, b) && pair(match, a, b);
}

static bool stmts_match(Match *match, const Stmt *a, const Stmt *b) {
    if (a->kind != b->kind || a->count != b->count || a->otherwise_count != b->otherwise_count ||
        a->index_count != b->index_count || a->keeps != b->keeps)
        return false;
    bool accesses = a->kind == STMT_STORE || a->kind == STMT_PREFETCH;
    if ((a->kind == STMT_FOR && !loops_match(match, a, b)) ||
        (a->kind == STMT_ALLOCATE && !allocations_match(match, a->tensor, b->tensor)) ||
        (accesses && !tensors_match(match, a->tensor, b->tensor)))
        return false;
    if ((accesses && !indices_match(match, a, a->tensor, a->index, b->index, a->index_count)) ||
        !both_match(match, a->extent, b->extent) || !both_match(match, a->condition, b->condition) ||
        !both_match(match, a->value, b->value) || !both_match(match, a->guard, b->guard))
        return false;
    for (int i = 0; i < a->count; i++)
        if (!stmts_match(match, a->body[i], b->body[i]))
            return false;
    for (int i = 0; i < a->otherwise_count; i++)
        if (!stmts_match(match, a->otherwise[i], b->otherwise[i]))
            return false;
    return true;
}

/* Takes the unit into the class if it is equal to the first one. The first is compared with itself. */
static bool join(const Sharing *sharing, Class *class, Unit *unit) {
    Arena *arena = sharing->arena;
    Map *own = ARENA_NEW(arena, Map), *places = ARENA_NEW(arena, Map);
    Match match = {
        .arena = arena, .program = sharing->kernel->program, .to = own, .places = places, .left = MOST_NODES};
    const Unit *first = class->units.count ? class->units.items[0] : unit;
    if (!stmts_match(&match, first->stmt, unit->stmt))
        return false;
    if (unit == first) {
        class->number_count = match.first.count;
        class->numbers = match.first.items;
        class->places = places;
        for (int i = 0; i < match.tensors.count; i++)
            list_push(arena, &class->tensors, match.tensors.items[i]);
    }
    unit->numbers = match.second.items;
    unit->own = own;
    unit->class = class;
    list_push(arena, &class->units, unit);
    return true;
}

/* --- classes ------------------------------------------------------------------------------------------------------ */

static uint64_t expr_hash(Sharing *sharing, const Expr *e);

static uint64_t index_hash(Sharing *sharing, const Tensor *tensor, Expr *const *index, int count) {
    uint64_t hash = hash_mix((uint64_t)tensor->type * 64 + (uint64_t)tensor->role * 8 + (uint64_t)tensor->rank);
    for (int d = 0; d < count; d++)
        hash = hash_mix(hash + (index[d]->kind == EXPR_INT ? 1 : expr_hash(sharing, index[d])));
    return hash;
}

static uint64_t payload_hash(Sharing *sharing, const Expr *e) {
    if (e->kind == EXPR_READ)
        return index_hash(sharing, e->tensor, e->args, e->count) + expr_hash(sharing, e->guard);
    if (e->kind == EXPR_VAR)
        return e->var->kind == VAR_LOOP ? 3 : (uint64_t)(uintptr_t)e->var;
    return e->kind == EXPR_INT || e->kind == EXPR_REAL ? (uint64_t)e->integer : (uint64_t)e->op;
}

/* Equal for equal nests, whatever their numbers. */
static uint64_t expr_hash(Sharing *sharing, const Expr *e) {
    uint64_t hash = e ? (uint64_t)(uintptr_t)address_map_get(&sharing->hashes, e) : 1;
    if (hash)
        return hash;
    hash = hash_mix((uint64_t)e->kind * 64 + (uint64_t)e->type + payload_hash(sharing, e));
    for (int i = 0; i < e->count && e->kind != EXPR_READ; i++)
        hash = hash_mix(hash + expr_hash(sharing, e->args[i]));
    hash |= 1;
    address_map_set(sharing->arena, &sharing->hashes, e, (void *)(uintptr_t)hash);
    return hash;
}

static uint64_t stmt_hash(Sharing *sharing, const Stmt *stmt) {
    uint64_t hash = hash_mix((uint64_t)stmt->kind * 64 + (uint64_t)stmt->loop * 8 + (uint64_t)stmt->count);
    hash = hash_mix(hash + expr_hash(sharing, stmt->extent) + 2 * expr_hash(sharing, stmt->condition));
    hash = hash_mix(hash + expr_hash(sharing, stmt->value) + 2 * expr_hash(sharing, stmt->guard));
    if (stmt->index_count)
        hash = hash_mix(hash + index_hash(sharing, stmt->tensor, stmt->index, stmt->index_count));
    for (int i = 0; i < stmt->count; i++)
        hash = hash_mix(hash + stmt_hash(sharing, stmt->body[i]));
    for (int i = 0; i < stmt->otherwise_count; i++)
        hash = hash_mix(hash + stmt_hash(sharing, stmt->otherwise[i]));
    return hash | 1;
}

/* apart: the function is very long. */
static bool is_worth_calling(const Kernel *kernel, const Stmt *stmt, bool apart) {
    int nodes = 0;
    bool loops = false;
    EACH_STMT(s, stmt) {
        if (s->kind == STMT_CHECK)
            return false;
        loops |= s->kind == STMT_FOR;
        EACH_STMT_EXPR(e, s)
            nodes++;
    }
    return nodes >= WORTH_CALLING || (loops && apart) || kernel->share_each;
}

/* Buffers in memory that are allocated around several nests are tensors of each. */
static bool is_around_nests(const Stmt *stmt) {
    return stmt->kind == STMT_BLOCK || (stmt->kind == STMT_ALLOCATE && stmt->tensor->scope != SCOPE_REGISTER);
}

static void list_units(Sharing *sharing, Stmt *stmt) {
    for (int i = 0; is_around_nests(stmt) && i < stmt->count; i++)
        list_units(sharing, stmt->body[i]);
    if (is_around_nests(stmt))
        return;
    Unit *unit = ARENA_NEW(sharing->arena, Unit);
    unit->stmt = stmt;
    list_push(sharing->arena, &sharing->units, unit);
}

static void classify(Sharing *sharing, Unit *unit) {
    const void *key = (const void *)(uintptr_t)stmt_hash(sharing, unit->stmt);
    Class *known = address_map_get(&sharing->by_hash, key);
    for (Class *class = known; class; class = class->next)
        if (join(sharing, class, unit))
            return;
    Class *class = ARENA_NEW(sharing->arena, Class);
    class->next = known;
    if (!join(sharing, class, unit))
        return;
    list_push(sharing->arena, &sharing->classes, class);
    address_map_set(sharing->arena, &sharing->by_hash, key, class);
}

/* --- the shared nest ---------------------------------------------------------------------------------------------- */

/* Whether two places have the same number as each other in all units. */
static bool go_together(const Class *class, int place, int other) {
    for (int u = 0; u < class->units.count; u++)
        if (class->units.items[u]->numbers[place] != class->units.items[u]->numbers[other])
            return false;
    return true;
}

/* The most at the place; *differs: not all units have the same. */
static int64_t most_at(const Class *class, int place, bool *differs) {
    int64_t most = class->numbers[place];
    *differs = false;
    for (int u = 0; u < class->units.count; u++) {
        int64_t number = class->units.items[u]->numbers[place];
        *differs |= number != class->numbers[place];
        most = number > most ? number : most;
    }
    return most;
}

static void number_places(Sharing *sharing, Class *class) {
    class->variables = ARENA_ARRAY(sharing->arena, Expr *, class->number_count + 1);
    for (int place = 0; place < class->number_count; place++) {
        bool differs;
        int64_t most = most_at(class, place, &differs);
        differs |= sharing->kernel->share_each && most >= 0;
        for (int i = 0; differs && i < class->differs.count && !class->variables[place]; i++)
            if (go_together(class, place, class->differs.items[i]))
                class->variables[place] = class->variables[class->differs.items[i]];
        if (!differs || class->variables[place])
            continue;
        Var *number = var_new(sharing->arena, VAR_SIZE, TYPE_INT64, "number", NULL);
        number->most = most;
        class->variables[place] = expr_var(sharing->arena, number);
        list_push(sharing->arena, &class->differs, place);
    }
}

typedef struct Numbering {
    ReadMapping reads;
    const Class *class;
} Numbering;

/* The indices of an owner with variables for what differs; they themselves where nothing does. */
static Expr **numbered(Arena *arena, const Class *class, const void *owner, Expr **index, int count) {
    intptr_t place = (intptr_t)address_map_get(class->places, owner) - 1;
    Expr **made = index;
    for (int d = 0; place >= 0 && d < count; d++) {
        Expr *variable = class->variables[place + d];
        if (!variable)
            continue;
        if (made == index) {
            made = ARENA_ARRAY(arena, Expr *, count);
            memcpy(made, index, sizeof *made * (size_t)count);
        }
        made[d] = variable;
    }
    return made;
}

static Expr *number_read(ReadMapping *mapping, Expr *read) {
    const Numbering *numbering = (const Numbering *)mapping;
    Expr *made = expr_over_reads(mapping, read);
    Expr **index = numbered(mapping->arena, numbering->class, read, made->args, made->count);
    if (index == made->args)
        return made;
    made = expr_copy(mapping->arena, made);
    made->args = index;
    return made;
}

static Expr *number_expr(Arena *arena, Expr *e, void *context) {
    (void)arena;
    Numbering *numbering = context;
    return expr_map_reads(&numbering->reads, e);
}

static Stmt *number_stmt(Arena *arena, Stmt *stmt, void *context) {
    const Numbering *numbering = context;
    Stmt *made = stmt_map_bodies(arena, stmt_over_exprs(arena, stmt, number_expr, context), number_stmt, context);
    Expr **index = numbered(arena, numbering->class, stmt, made->index, made->index_count);
    if (index == made->index)
        return made;
    Stmt *copy = ARENA_NEW(arena, Stmt);
    *copy = *made;
    copy->index = index;
    return copy;
}

static void make_nest(Sharing *sharing, Class *class) {
    Arena *arena = sharing->arena;
    Kernel *kernel = sharing->kernel;
    Numbering numbering = {{.arena = arena, .replace = number_read}, class};
    number_places(sharing, class);
    SharedNest *nest = class->nest = ARENA_NEW(arena, SharedNest);
    nest->kernel = ARENA_NEW(arena, Kernel);
    *nest->kernel = (Kernel){.arena = arena,
                             .program = kernel->program,
                             .target = kernel->target,
                             .strict = kernel->strict,
                             .part = kernel->part,
                             .nest = nest};
    nest->kernel->body =
        stmt_block(arena, stmts_one(arena, number_stmt(arena, class->units.items[0]->stmt, &numbering)));
    nest->tensors = class->tensors.items;
    nest->tensor_count = class->tensors.count;
    nest->numbers = ARENA_ARRAY(arena, const Var *, class->differs.count + 1);
    for (int i = 0; i < class->differs.count; i++)
        nest->numbers[nest->number_count++] = class->variables[class->differs.items[i]]->var;
    list_push(arena, &kernel->shared, nest);
    nest->number = kernel->shared.count;
}

static Stmt *run_of(Arena *arena, const Unit *unit) {
    const Class *class = unit->class;
    const SharedNest *nest = class->nest;
    const Tensor **tensors = ARENA_ARRAY(arena, const Tensor *, nest->tensor_count + 1);
    int64_t *numbers = ARENA_ARRAY(arena, int64_t, nest->number_count + 1);
    for (int i = 0; i < nest->tensor_count; i++)
        tensors[i] = address_map_get(unit->own, nest->tensors[i]);
    for (int i = 0; i < nest->number_count; i++)
        numbers[i] = unit->numbers[class->differs.items[i]];
    return stmt_shared(arena, nest, tensors, numbers, unit->own, unit->stmt->loc);
}

/* --- the pass ----------------------------------------------------------------------------------------------------- */

static Stmt *replace_unit(Arena *arena, Stmt *stmt, void *context) {
    const Map *units = context;
    if (is_around_nests(stmt))
        return stmt_map_bodies(arena, stmt, replace_unit, context);
    const Unit *unit = address_map_get(units, stmt);
    return unit && unit->class && unit->class->nest ? run_of(arena, unit) : stmt;
}

void pass_share(Kernel *kernel) {
    Arena *arena = kernel->arena;
    Sharing sharing = {.arena = arena, .kernel = kernel};
    Map units = {0};
    if (kernel->nest)
        return;
    list_units(&sharing, kernel->body);
    if (sharing.units.count < MANY_NESTS && !kernel->share_each)
        return;
    bool apart = sharing.units.count >= ALL_APART;
    for (int u = 0; u < sharing.units.count; u++) {
        Unit *unit = sharing.units.items[u];
        address_map_set(arena, &units, unit->stmt, unit);
        if (is_worth_calling(kernel, unit->stmt, apart))
            classify(&sharing, unit);
    }
    for (int c = 0; c < sharing.classes.count; c++)
        if (sharing.classes.items[c]->units.count > 1 || apart || kernel->share_each)
            make_nest(&sharing, sharing.classes.items[c]);
    if (kernel->shared.count)
        kernel->body = replace_unit(arena, kernel->body, &units);
}

/* --- explanations ------------------------------------------------------------------------------------------------- */

/* What the passes noted of a shared nest's loops and tensors holds for those of the statement that runs it. */
static void take_notes(Kernel *kernel, const Stmt *run) {
    const Kernel *nest = run->shared->kernel;
    for (int i = 0; i < nest->rolled.count; i++) {
        const Var *own = address_map_get(run->own, nest->rolled.items[i].var);
        if (own)
            list_push(kernel->arena, &kernel->rolled, ((Rolled){own, nest->rolled.items[i].why}));
    }
    for (int i = 0; i < nest->alone.count; i++) {
        const Var *own = address_map_get(run->own, nest->alone.items[i]);
        if (own)
            list_push(kernel->arena, &kernel->alone, own);
    }
    for (int i = 0; i < nest->tested.count; i++) {
        const Tensor *own = address_map_get(run->own, nest->tested.items[i]);
        if (own)
            list_push(kernel->arena, &kernel->tested, own);
    }
}

void take_shared_notes(Kernel *kernel) {
    EACH_STMT(stmt, kernel->shared.count ? kernel->body : NULL)
        if (stmt->kind == STMT_SHARED)
            take_notes(kernel, stmt);
}
