/* share.c - pass: equal nests of a long function become one, which runs with other tensors and numbers each time. In a
 * very long one all nests become functions.
 *
 * Needs what build gives. Layers of a network differ in their tensors, in numbers that say which part of all layers'
 * weights is theirs, and in numbers that are parts of values. The first of such nests becomes a shared nest: the passes
 * after this one go over it once, and it is one function of the object. Each of the others, and the first, is a
 * statement that runs it.
 *
 * Which nests are equal, and where their numbers may differ, says match.c. A number that differs becomes a variable: a
 * whole index, or what else is of type int64, one like a size, the others one like a scalar argument. Indices that are
 * the same number apart in all nests share one.
 */
#include "lower/kernel/passes/match.h"
#include "lower/kernel/passes/passes.h"

enum {
    MANY_NESTS = 32,      /* of a function that is long: others compile quickly, and gain from known addresses */
    ALL_APART = 256,      /* of one in which the others are functions, too: some of LLVM's passes take four times as
                             long for a function of twice the length */
    MANY_NESTS_LEFT = 256, /* different ones: factors and divisors of indices, quicker as constants, are numbers, too */
    LONG_EFFORT = 1 << 18, /* of one whose nests are long (expr_effort) */
    WORTH_CALLING = 16,   /* nodes of a nest that is worth a call */
    MOST_NODES = 1 << 16, /* that are compared: without the limit, of what shares little in one of two, exponential */
    MANY_CLASSES = 64     /* of one hash: more are not compared with */
};

/* A statement outside all loops and conditions, with what it is equal to. */
typedef struct SharingUnit {
    Stmt *stmt;
    Expr **numbers; /* at the places of its class */
    Map *own;       /* the class's loop variables and tensors -> its own */
    struct Class *class;
} SharingUnit;

/* A number that is passed. At its places stand numbers that are `more` than it (PlacedNumber), of values none. */
typedef struct Number {
    int place;    /* its first one */
    int64_t more; /* of the number there; the least of all its places is 0 */
    Var *var;
} Number;

typedef struct Class {
    LIST(SharingUnit *) units; /* the first one is what the others are compared with */
    int place_count;
    const Map *places;
    Expr **values; /* what stands at a place, or NULL where all units have the number of the first */
    LIST(Number) numbers;
    LIST(const Tensor *) tensors;
    SharedNest *nest;
    struct Class *next; /* of the same hash */
} Class;

typedef struct Sharing {
    Arena *arena; /* of the kernel */
    Kernel *kernel;
    LIST(SharingUnit *) units;
    LIST(Class *) classes;
    Map by_hash; /* -> Class */
    MatchHashes hashes;
    bool apart; /* the function is very long */
} Sharing;

/* --- classes ------------------------------------------------------------------------------------------------------ */

/* Takes the unit into the class if it is equal to the first one. The first is compared with itself. */
static bool join(const Sharing *sharing, Class *class, SharingUnit *unit) {
    Arena *arena = sharing->arena;
    Map *own = ARENA_NEW(arena, Map), *places = ARENA_NEW(arena, Map);
    Match match = {.arena = arena,
                   .program = sharing->kernel->program,
                   .numbers = sharing->hashes.numbers,
                   .left = MOST_NODES,
                   .to = own,
                   .places = places};
    const SharingUnit *first = class->units.count ? class->units.items[0] : unit;
    if (!stmts_match(&match, first->stmt, unit->stmt))
        return false;
    if (unit == first) {
        class->place_count = match.first.count;
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

static int nodes_of(const Stmt *stmt) {
    int nodes = 0;
    EACH_STMT(s, stmt)
        EACH_STMT_EXPR(e, s)
            nodes++;
    return nodes;
}

static int effort_of(const Stmt *stmt) {
    int effort = 0;
    EACH_STMT(s, stmt) {
        for (int i = 0; i < s->index_count; i++)
            effort += expr_effort(s->index[i]);
        effort += (s->value ? expr_effort(s->value) : 0) + (s->condition ? expr_effort(s->condition) : 0);
    }
    return effort;
}

static bool is_worth_calling(const Sharing *sharing, const Stmt *stmt) {
    bool loops = false;
    EACH_STMT(s, stmt) {
        if (s->kind == STMT_CHECK)
            return false;
        loops |= s->kind == STMT_FOR;
    }
    return nodes_of(stmt) >= WORTH_CALLING || (loops && sharing->apart) || sharing->kernel->share_each;
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
    SharingUnit *unit = ARENA_NEW(sharing->arena, SharingUnit);
    unit->stmt = stmt;
    list_push(sharing->arena, &sharing->units, unit);
}

static void classify(Sharing *sharing, SharingUnit *unit) {
    if (!is_worth_calling(sharing, unit->stmt))
        return;
    const void *key = (const void *)(uintptr_t)match_hash(&sharing->hashes, unit->stmt);
    Class *known = address_map_get(&sharing->by_hash, key);
    int left = MANY_CLASSES;
    for (Class *class = known; class && left > 0; class = class->next, left--)
        if (join(sharing, class, unit))
            return;
    Class *class = ARENA_NEW(sharing->arena, Class);
    class->next = known;
    if (!join(sharing, class, unit))
        return;
    list_push(sharing->arena, &sharing->classes, class);
    address_map_set(sharing->arena, &sharing->by_hash, key, class);
}

static bool takes_long(const Sharing *sharing) {
    int effort = 0;
    for (int u = 0; u < sharing->units.count && effort < LONG_EFFORT; u++)
        effort += effort_of(sharing->units.items[u]->stmt);
    return effort >= LONG_EFFORT;
}

/* Whether the nests that are left are still too many, or too long. */
static bool are_left(const Sharing *sharing) {
    int effort = 0;
    for (int c = 0; c < sharing->classes.count && effort < LONG_EFFORT; c++)
        effort += effort_of(sharing->classes.items[c]->units.items[0]->stmt);
    return sharing->apart && (sharing->classes.count > MANY_NESTS_LEFT || effort >= LONG_EFFORT);
}

static void classify_all(Sharing *sharing, MatchNumbers numbers) {
    sharing->classes.count = 0;
    sharing->by_hash = (Map){0};
    sharing->hashes = (MatchHashes){.arena = sharing->arena, .numbers = numbers};
    for (int u = 0; u < sharing->units.count; u++)
        classify(sharing, sharing->units.items[u]);
}

/* --- the shared nest ---------------------------------------------------------------------------------------------- */

static const Expr *number_at(const Class *class, int unit, int place) {
    return class->units.items[unit]->numbers[place];
}

static bool differs(const Class *class, int place) {
    for (int u = 1; u < class->units.count; u++)
        if (number_at(class, u, place)->integer != number_at(class, 0, place)->integer)
            return true;
    return false;
}

/* Whether the number at a place is, in all units, that of another place and as much more; of values: the same one. */
static bool go_together(const Class *class, int place, int other, int64_t *more) {
    const Expr *a = number_at(class, 0, place), *b = number_at(class, 0, other);
    *more = 0;
    if (a->type != b->type || a->kind != b->kind || (a->type != TYPE_INT64 && a->integer != b->integer))
        return false;
    if (a->type == TYPE_INT64)
        *more = a->integer - b->integer; /* neither is negative */
    for (int u = 1; u < class->units.count; u++) {
        int64_t own = number_at(class, u, place)->integer, its = number_at(class, u, other)->integer;
        if (a->type == TYPE_INT64 ? own - its != *more : own != its)
            return false;
    }
    return true;
}

/* The number that stands at the place with so much more, a new one if there is none. */
static Number *number_of(const Sharing *sharing, Class *class, int place, int64_t *more) {
    for (int i = 0; i < class->numbers.count; i++)
        if (go_together(class, place, class->numbers.items[i].place, more))
            return &class->numbers.items[i];
    *more = 0;
    list_push(sharing->arena, &class->numbers, (Number){.place = place});
    return &class->numbers.items[class->numbers.count - 1];
}

static int64_t value_of(const Class *class, const Number *number, int unit) {
    return number_at(class, unit, number->place)->integer - number->more;
}

static void name_number(const Sharing *sharing, const Class *class, Number *number) {
    const Expr *first = number_at(class, 0, number->place);
    Var *var = var_new(sharing->arena, first->type == TYPE_INT64 ? VAR_SIZE : VAR_SCALAR, first->type, "number", NULL);
    number->var = var;
    var->number = true;
    var->least = 1; /* no closer: a class of one is like others */
    var->most = INT64_MIN;
    for (int u = 0; u < class->units.count; u++) {
        int64_t value = value_of(class, number, u);
        var->least = value < var->least ? value : var->least;
        var->most = value > var->most ? value : var->most;
    }
}

/* A place and the number that stands there, with how much more than that of the number's first place. */
typedef struct PlacedNumber {
    int place, number;
    int64_t more;
} PlacedNumber;

static void number_places(const Sharing *sharing, Class *class) {
    Arena *arena = sharing->arena;
    LIST(PlacedNumber) slots = {0};
    for (int place = 0; place < class->place_count; place++) {
        int64_t more;
        if (!sharing->kernel->number_each && !differs(class, place))
            continue;
        Number *number = number_of(sharing, class, place, &more);
        number->more = -more > number->more ? -more : number->more;
        list_push(arena, &slots, ((PlacedNumber){place, (int)(number - class->numbers.items), more}));
    }
    for (int i = 0; i < class->numbers.count; i++)
        name_number(sharing, class, &class->numbers.items[i]);
    class->values = ARENA_ARRAY(arena, Expr *, class->place_count + 1);
    for (int i = 0; i < slots.count; i++) {
        const PlacedNumber *slot = &slots.items[i];
        const Number *number = &class->numbers.items[slot->number];
        Expr *value = expr_var(arena, number->var);
        int64_t more = slot->more + number->more;
        class->values[slot->place] = more ? expr_binary(arena, OP_ADD, value, expr_int(arena, more)) : value;
    }
}

/* Explanations know the loops of a nest by its variables. */
static void name_replaced(const Sharing *sharing, const Class *class, const PlaceMapping *mapping) {
    for (int u = 0; u < class->units.count; u++) {
        Map *own = class->units.items[u]->own;
        for (int i = 0; i < mapping->replaced.count; i++) {
            const Var *var = mapping->replaced.items[i];
            address_map_set(sharing->arena, own, address_map_get(&mapping->vars, var), address_map_get(own, var));
        }
    }
}

static void make_nest(Sharing *sharing, Class *class) {
    Arena *arena = sharing->arena;
    Kernel *kernel = sharing->kernel;
    number_places(sharing, class);
    PlaceMapping mapping = {.arena = arena, .places = class->places, .values = class->values};
    SharedNest *nest = class->nest = ARENA_NEW(arena, SharedNest);
    nest->kernel = ARENA_NEW(arena, Kernel);
    *nest->kernel = (Kernel){.arena = arena,
                             .program = kernel->program,
                             .target = kernel->target,
                             .strict = kernel->strict,
                             .part = kernel->part,
                             .nest = nest};
    nest->kernel->body = stmt_block(arena, stmts_one(arena, map_places(arena, class->units.items[0]->stmt, &mapping)));
    name_replaced(sharing, class, &mapping);
    nest->tensors = class->tensors.items;
    nest->tensor_count = class->tensors.count;
    nest->numbers = ARENA_ARRAY(arena, const Var *, class->numbers.count + 1);
    for (int i = 0; i < class->numbers.count; i++)
        nest->numbers[nest->number_count++] = class->numbers.items[i].var;
    list_push(arena, &kernel->shared, nest);
    nest->number = kernel->shared.count;
}

static Stmt *run_of(Arena *arena, const SharingUnit *unit) {
    const Class *class = unit->class;
    const SharedNest *nest = class->nest;
    const Tensor **tensors = ARENA_ARRAY(arena, const Tensor *, nest->tensor_count + 1);
    Expr **numbers = ARENA_ARRAY(arena, Expr *, nest->number_count + 1);
    for (int i = 0; i < nest->tensor_count; i++)
        tensors[i] = address_map_get(unit->own, nest->tensors[i]);
    for (int i = 0; i < nest->number_count; i++) {
        const Number *number = &class->numbers.items[i];
        Expr *first = unit->numbers[number->place];
        numbers[i] = number->more ? expr_int(arena, first->integer - number->more) : first;
    }
    return stmt_shared(arena, nest, tensors, numbers, unit->own, unit->stmt->loc);
}

/* --- the pass ----------------------------------------------------------------------------------------------------- */

static Stmt *replace_unit(Arena *arena, Stmt *stmt, void *context) {
    const Map *units = context;
    if (is_around_nests(stmt))
        return stmt_map_bodies(arena, stmt, replace_unit, context);
    const SharingUnit *unit = address_map_get(units, stmt);
    return unit && unit->class && unit->class->nest ? run_of(arena, unit) : stmt;
}

void pass_share(Kernel *kernel) {
    Arena *arena = kernel->arena;
    Sharing sharing = {.arena = arena, .kernel = kernel};
    Map units = {0};
    if (kernel->nest)
        return;
    list_units(&sharing, kernel->body);
    sharing.apart = sharing.units.count >= ALL_APART || takes_long(&sharing);
    if (sharing.units.count < MANY_NESTS && !sharing.apart && !kernel->share_each)
        return;
    for (int u = 0; u < sharing.units.count; u++)
        address_map_set(arena, &units, sharing.units.items[u]->stmt, sharing.units.items[u]);
    classify_all(&sharing, sharing.apart ? MATCH_ANY : kernel->number_each ? MATCH_FACTORS : MATCH_VALUES);
    if (are_left(&sharing))
        classify_all(&sharing, MATCH_FACTORS);
    for (int c = 0; c < sharing.classes.count; c++)
        if (sharing.classes.items[c]->units.count > 1 || sharing.apart || kernel->share_each)
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
