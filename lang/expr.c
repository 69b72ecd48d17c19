/* expr.c - making, walking, comparing and rewriting expressions.
 *
 * Needs the tables of ops.def and types.def. Keeps true: a node is complete when its maker returns and never changes;
 * operands of an operator have the operator's lanes (a scalar among vectors is broadcast); rewriting shares whatever
 * it leaves as it was.
 */
#include "lang/expr.h"
#include "lang/diag.h"
#include "lang/map.h"
#include "lang/random.h"
#include "lang/value.h"

#include <limits.h>
#include <math.h>
#include <string.h>

/* With its arguments behind it. */
static Expr *new_node(Arena *arena, int count) {
    Expr *e = arena_alloc(arena, sizeof *e + sizeof *e->args * (size_t)count);
    e->args = count ? (Expr **)(e + 1) : NULL;
    return e;
}

static Expr *make_node(Arena *arena, ExprKind kind, ElementType type, int count) {
    Expr *e = new_node(arena, count);
    e->kind = kind;
    e->type = type;
    e->lanes = 1;
    e->count = count;
    return e;
}

static Expr *make_integer(Arena *arena, ElementType type, int64_t value) {
    Expr *e = make_node(arena, EXPR_INT, type, 0);
    e->integer = value;
    return e;
}

Expr *expr_int(Arena *arena, int64_t value) {
    return make_integer(arena, TYPE_INT64, value);
}

Expr *expr_bool(Arena *arena, bool value) {
    return make_integer(arena, TYPE_BOOL, value);
}

Expr *expr_constant(Arena *arena, ElementType type, double value) {
    Value rounded = value_cast((Value){.type = TYPE_DOUBLE, .real = value}, type);
    if (!type_is_float(type))
        return make_integer(arena, type, rounded.integer);
    Expr *e = make_node(arena, EXPR_REAL, type, 0);
    e->real = rounded.real;
    return e;
}

Expr *expr_var(Arena *arena, const Var *var) {
    Expr *e = make_node(arena, EXPR_VAR, var->type, 0);
    e->var = var;
    return e;
}

Expr *expr_broadcast(Arena *arena, Expr *a, int lanes) {
    if (lanes == a->lanes)
        return a;
    ENSURE(a->lanes == 1);
    Expr *e = make_node(arena, EXPR_BROADCAST, a->type, 1);
    e->args[0] = a;
    e->lanes = lanes;
    return e;
}

Expr *expr_ramp(Arena *arena, Expr *base, Expr *stride, int lanes) {
    if (lanes == 1)
        return base;
    Expr *e = make_node(arena, EXPR_RAMP, base->type, 2);
    e->args[0] = base;
    e->args[1] = stride;
    e->lanes = lanes;
    return e;
}

bool expr_is_unit_ramp(const Expr *e) {
    int64_t stride;
    return e->kind == EXPR_RAMP && expr_is_int(e->args[1], &stride) && stride == 1;
}

Expr *expr_repeat(Arena *arena, Expr *a, int lanes) {
    if (a->lanes == lanes || a->lanes == 1)
        return expr_broadcast(arena, a, lanes);
    ENSURE(lanes % a->lanes == 0);
    Expr *e = make_node(arena, EXPR_REPEAT, a->type, 1);
    e->args[0] = a;
    e->lanes = lanes;
    return e;
}

Expr *expr_shuffle(Arena *arena, Expr *const *args, int count, const int *pattern, int lanes) {
    Expr *e = make_node(arena, EXPR_SHUFFLE, args[0]->type, count);
    e->lanes = lanes;
    memcpy(e->args, args, sizeof *args * (size_t)count);
    int *own = ARENA_ARRAY(arena, int, lanes);
    memcpy(own, pattern, sizeof *pattern * (size_t)lanes);
    e->pattern = own;
    return e;
}

Expr *expr_offset(Arena *arena, Expr *const *parts, int count, int64_t constant) {
    if (count == 0)
        return expr_int(arena, constant);
    Expr *e = make_node(arena, EXPR_OFFSET, TYPE_INT64, count);
    memcpy(e->args, parts, sizeof *parts * (size_t)count);
    e->integer = constant;
    return e;
}

Expr *expr_offset_beyond(Arena *arena, const Expr *offset, int64_t constant) {
    Expr *e = ARENA_NEW(arena, Expr);
    *e = *offset;
    e->integer = (int64_t)((uint64_t)offset->integer + (uint64_t)constant);
    return e;
}

Expr *expr_call(Arena *arena, const Instr *instr, Expr *const *args, int count) {
    const Tensor *written = instr->operands[0];
    int64_t lanes = 1, extent;
    for (int d = 0; d < written->rank; d++)
        lanes *= expr_is_int(written->dims[d], &extent) ? extent : 1;
    Expr *e = make_node(arena, EXPR_CALL, written->type, count);
    e->lanes = (int)lanes;
    e->instr = instr;
    if (count)
        memcpy(e->args, args, sizeof *args * (size_t)count);
    return e;
}

/* Copies the arguments into e, scalars among vectors broadcast, and gives e the lanes of the widest. */
static void take_args(Arena *arena, Expr *e, Expr *const *args) {
    for (int i = 0; i < e->count; i++)
        if (args[i]->lanes > e->lanes)
            e->lanes = args[i]->lanes;
    for (int i = 0; i < e->count; i++)
        e->args[i] = expr_broadcast(arena, args[i], e->lanes);
}

/* Of as many indices as the access has: one in all in a flat kernel. */
static Expr *make_read(Arena *arena, const Tensor *tensor, Expr **indices, int count, Expr *otherwise) {
    Expr *e = make_node(arena, EXPR_READ, tensor->type, count);
    e->tensor = tensor;
    take_args(arena, e, indices);
    e->otherwise = otherwise ? expr_broadcast(arena, otherwise, e->lanes) : NULL;
    return e;
}

Expr *expr_read(Arena *arena, const Tensor *tensor, Expr **indices, Expr *otherwise) {
    return make_read(arena, tensor, indices, tensor->rank, otherwise);
}

Expr *expr_copy(Arena *arena, const Expr *e) {
    Expr *copy = new_node(arena, e->count), **args = copy->args;
    *copy = *e;
    copy->args = args;
    for (int i = 0; i < e->count; i++)
        args[i] = e->args[i];
    return copy;
}

static Expr *copy_below(Arena *arena, Map *copies, const Expr *e) {
    Expr *copy = e ? address_map_get(copies, e) : NULL;
    if (!e || copy)
        return copy;
    copy = expr_copy(arena, e);
    for (int i = 0; i < e->count; i++)
        copy->args[i] = copy_below(arena, copies, e->args[i]);
    copy->otherwise = copy_below(arena, copies, e->otherwise);
    copy->guard = copy_below(arena, copies, e->guard);
    address_map_set(arena, copies, e, copy);
    return copy;
}

Expr *expr_copy_all(Arena *arena, const Expr *e) {
    return e->count || e->otherwise || e->guard ? copy_below(arena, &(Map){0}, e) : expr_copy(arena, e);
}

Var *var_new(Arena *arena, VarKind kind, ElementType type, const char *name, Expr *extent) {
    Var *var = ARENA_NEW(arena, Var);
    var->name = name;
    var->kind = kind;
    var->type = type;
    var->extent = extent;
    return var;
}

/* --- folding ------------------------------------------------------------------------------------------------------ */

static bool is_index_or_bool(const Expr *e) {
    return e->kind == EXPR_INT && (e->type == TYPE_INT64 || e->type == TYPE_BOOL);
}

/* The constant that an operator on int64 or bool constants gives; NULL also where it overflows or divides by 0. */
static Expr *fold_constants(Arena *arena, Op op, ElementType type, Expr **args, int count) {
    if (type != TYPE_INT64 && type != TYPE_BOOL)
        return NULL;
    Value values[3];
    for (int i = 0; i < count; i++)
        if (!is_index_or_bool(args[i]))
            return NULL;
    for (int i = 0; i < count; i++)
        values[i] = (Value){.type = args[i]->type, .integer = args[i]->integer};
    if (type == TYPE_INT64 && integer_overflows(op, values[0].integer, count > 1 ? values[1].integer : 0))
        return NULL;
    return make_integer(arena, type, value_apply(op, values).integer);
}

/* The operand that an int64 operator with a neutral one returns, or NULL. */
static Expr *drop_neutral_index(Op op, Expr **args) {
    switch (op) {
    case OP_ADD: return expr_is_number(args[1], 0) ? args[0] : expr_is_number(args[0], 0) ? args[1] : NULL;
    case OP_SUB: return expr_is_number(args[1], 0) ? args[0] : NULL;
    case OP_MUL: return expr_is_number(args[1], 1) ? args[0] : expr_is_number(args[0], 1) ? args[1] : NULL;
    case OP_DIV: return expr_is_number(args[1], 1) ? args[0] : NULL;
    default: return NULL;
    }
}

static Expr *drop_neutral_bool(Op op, Expr **args) {
    if (op != OP_AND && op != OP_OR)
        return NULL;
    int neutral = op == OP_AND;
    for (int i = 0; i < 2; i++) {
        if (expr_is_number(args[i], neutral))
            return args[1 - i];
        if (expr_is_number(args[i], !neutral))
            return args[i];
    }
    return NULL;
}

static Expr *fold(Arena *arena, Op op, ElementType type, Expr **args, int count) {
    Expr *folded = fold_constants(arena, op, type, args, count);
    if (!folded && op == OP_SELECT && args[0]->kind == EXPR_INT)
        folded = args[0]->integer ? args[1] : args[2];
    if (!folded && type == TYPE_INT64)
        folded = drop_neutral_index(op, args);
    if (!folded && type == TYPE_BOOL)
        folded = drop_neutral_bool(op, args);
    return folded;
}

Expr *expr_op(Arena *arena, Op op, ElementType type, Expr **args, int count) {
    int lanes = 1;
    for (int i = 0; i < count; i++)
        if (args[i]->lanes > lanes)
            lanes = args[i]->lanes;
    Expr *folded = fold(arena, op, type, args, count);
    if (folded)
        return expr_broadcast(arena, folded, lanes);
    Expr *e = make_node(arena, EXPR_OP, type, count);
    e->op = op;
    e->lanes = lanes;
    for (int i = 0; i < count; i++)
        e->args[i] = args[i]->lanes == lanes ? args[i] : expr_broadcast(arena, args[i], lanes);
    return e;
}

static ElementType result_type(Op op, const Expr *operand) {
    OpClass class = op_info[op].class;
    return class == CLASS_COMPARE || class == CLASS_LOGIC ? TYPE_BOOL : operand->type;
}

Expr *expr_unary(Arena *arena, Op op, Expr *a) {
    return expr_op(arena, op, result_type(op, a), &a, 1);
}

Expr *expr_binary(Arena *arena, Op op, Expr *a, Expr *b) {
    return expr_op(arena, op, result_type(op, a), (Expr *[]){a, b}, 2);
}

Expr *expr_select(Arena *arena, Expr *condition, Expr *a, Expr *b) {
    return expr_op(arena, OP_SELECT, a->type, (Expr *[]){condition, a, b}, 3);
}

Expr *expr_cast(Arena *arena, ElementType type, Expr *a) {
    if (a->type == type)
        return a;
    if (is_index_or_bool(a) && (type == TYPE_INT64 || type == TYPE_BOOL))
        return make_integer(arena, type, value_cast((Value){.type = a->type, .integer = a->integer}, type).integer);
    Expr *e = make_node(arena, EXPR_CAST, type, 1);
    take_args(arena, e, &a);
    return e;
}

/* --- combines ----------------------------------------------------------------------------------------------------- */

Op combine_op(Combine combine) {
    static const Op ops[COMBINE_COUNT] = {OP_ADD, OP_ADD, OP_MUL, OP_MIN, OP_MAX};
    return ops[combine];
}

Expr *combine_identity(Arena *arena, Combine combine, ElementType type) {
    if (combine != COMBINE_MIN && combine != COMBINE_MAX)
        return expr_constant(arena, type, combine == COMBINE_MUL);
    if (type_is_float(type))
        return expr_constant(arena, type, combine == COMBINE_MIN ? INFINITY : -INFINITY);
    return make_integer(arena, type, integer_limit(type, combine == COMBINE_MIN));
}

bool is_identity(Combine combine, const Expr *e) {
    bool extreme = combine == COMBINE_MIN || combine == COMBINE_MAX;
    if (combine == COMBINE_NONE || combine == COMBINE_DECLARED)
        return false;
    if (e->kind == EXPR_REAL && extreme)
        return e->real == (combine == COMBINE_MIN ? INFINITY : -INFINITY);
    if (e->kind == EXPR_REAL)
        return e->real == (combine == COMBINE_MUL) && !signbit(e->real);
    int64_t identity = extreme ? integer_limit(e->type, combine == COMBINE_MIN) : combine == COMBINE_MUL;
    return e->kind == EXPR_INT && e->integer == identity;
}

/* --- asking ------------------------------------------------------------------------------------------------------- */

bool expr_is_int(const Expr *e, int64_t *value) {
    if (e->kind != EXPR_INT)
        return false;
    if (value)
        *value = e->integer;
    return true;
}

bool expr_is_number(const Expr *e, int64_t value) {
    if (e->kind == EXPR_BROADCAST)
        e = e->args[0];
    return e->kind == EXPR_INT && e->integer == value;
}

Expr *expr_without_least_one(const Expr *e) {
    bool least = expr_is_op(e, OP_MAX) && expr_is_number(e->args[1], 1);
    return least ? e->args[0] : (Expr *)e;
}

bool expr_compares_indices(const Expr *e) {
    return expr_is_comparison(e) && e->args[0]->type == TYPE_INT64;
}

bool expr_is_zero(const Expr *e) {
    int64_t value;
    return e->kind == EXPR_REAL ? e->integer == 0 : expr_is_int(e, &value) && value == 0; /* a real by its bits */
}

bool expr_equal_or_absent(const Expr *a, const Expr *b) {
    return a && b ? expr_equal(a, b) : a == b;
}

bool expr_is_listed(const ExprList *list, const Expr *e) {
    for (int i = 0; i < list->count; i++)
        if (expr_equal(list->items[i], e))
            return true;
    return false;
}

static bool same_payload(const Expr *a, const Expr *b) {
    switch (a->kind) {
    case EXPR_INT:
    case EXPR_OFFSET:
    case EXPR_REAL: /* by its bits: a NaN equals itself, -0.0 differs from 0.0 */ return a->integer == b->integer;
    case EXPR_VAR: return a->var == b->var;
    case EXPR_READ:
        return a->tensor == b->tensor && expr_equal_or_absent(a->otherwise, b->otherwise) &&
               expr_equal_or_absent(a->guard, b->guard);
    case EXPR_OP: return a->op == b->op;
    case EXPR_CALL: return a->instr == b->instr;
    case EXPR_SHUFFLE: return memcmp(a->pattern, b->pattern, sizeof *a->pattern * (size_t)a->lanes) == 0;
    default: return true;
    }
}

bool expr_equal(const Expr *a, const Expr *b) {
    if (a == b)
        return true;
    if (a->kind != b->kind || a->type != b->type || a->lanes != b->lanes || a->count != b->count || !same_payload(a, b))
        return false;
    for (int i = 0; i < a->count; i++)
        if (!expr_equal(a->args[i], b->args[i]))
            return false;
    return true;
}

/* The factors of a product have no order, and with more than two they may be grouped in another way. */
static bool is_long_product(const Expr *e) {
    return expr_is_op(e, OP_MUL) && (expr_is_op(e->args[0], OP_MUL) || expr_is_op(e->args[1], OP_MUL));
}

static uint64_t key_of(const Expr *e, int depth) {
    uint64_t own = e->kind == EXPR_OP ? (uint64_t)e->op : e->kind == EXPR_SHUFFLE ? 0 : (uint64_t)e->integer;
    uint64_t key = hash_mix(own * 32 + (uint64_t)e->kind);
    for (int i = 0; i < e->count && depth > 0 && !is_long_product(e); i++) {
        uint64_t part = key_of(e->args[i], depth - 1);
        key = expr_is_op(e, OP_MUL) ? key + part : hash_mix(key + part);
    }
    return key;
}

uint64_t expr_key(const Expr *e) {
    enum { DEPTH = 4 }; /* parts that are shared are seen each time */
    return key_of(e, DEPTH);
}

static bool is_gather(const Expr *e) {
    for (int i = 0; i < e->count && e->kind == EXPR_READ; i++)
        if (expr_reads(e->args[i]))
            return true;
    return false;
}

static bool is_long_division(const Expr *e) {
    int64_t divisor;
    return (expr_is_op(e, OP_DIV) || expr_is_op(e, OP_MOD)) && type_is_integer(e->type) &&
           !(expr_is_int(e->args[1], &divisor) && divisor > 0 && (divisor & (divisor - 1)) == 0);
}

int expr_effort(const Expr *e) {
    enum { GATHER = 64, DIVISION = 16 };
    int effort = 0;
    EACH_EXPR(part, e)
        effort += is_gather(part) ? GATHER : is_long_division(part) ? DIVISION : 1;
    return effort;
}

const Expr *expr_next(TreeWalk *walk) {
    const Expr *e = walk->at;
    if (!e)
        return walk_next(walk);
    if (e->kind == EXPR_READ) {
        walk_push(walk, e->guard);
        walk_push(walk, e->otherwise);
    }
    for (int i = e->count - 1; i > 0; i--)
        walk_push(walk, e->args[i]);
    return e->count ? walk->at = e->args[0] : walk_next(walk);
}

/* Passes by all that reads nothing below, which most nodes are. */
const Expr *expr_next_read(TreeWalk *walk) {
    const Expr *e = walk->at;
    if (e && e->kind == EXPR_READ) {
        walk_push(walk, e->guard);
        walk_push(walk, e->otherwise);
    }
    do {
        for (int i = e ? e->count - 1 : -1; i >= 0; i--)
            if (e->args[i]->count || e->args[i]->kind == EXPR_READ)
                walk_push(walk, e->args[i]);
        e = walk_next(walk);
    } while (e && e->kind != EXPR_READ);
    return e;
}

bool op_is_expensive(const Expr *e) {
    bool constant = e->op == OP_DIV && (e->args[1]->kind == EXPR_REAL || e->args[1]->kind == EXPR_INT);
    return op_info[e->op].class == CLASS_MATH || (e->op == OP_DIV && !constant);
}

/* Tried for all numbers in [1, 2) and 1,000 constants. */
bool divisor_is_refined(const Expr *divisor) {
    int exponent;
    bool wide = divisor->type == TYPE_DOUBLE;
    if (divisor->kind != EXPR_REAL || !(wide || divisor->type == TYPE_FLOAT))
        return false;
    double fraction = frexp(fabs(divisor->real), &exponent);
    int most = wide ? 900 : 100; /* reciprocals and remainders are no subnormal numbers */
    return isfinite(fraction) && fraction != 0.5 && fraction != 0 && exponent > -most && exponent < most;
}

int expr_nodes(const Expr *e) {
    return expr_nodes_up_to(e, INT_MAX);
}

int expr_nodes_up_to(const Expr *e, int nodes) {
    int count = 0;
    EACH_EXPR(at, nodes > 0 ? e : NULL)
        if (++count == nodes)
            break;
    return count;
}

bool expr_is_larger(const Expr *e, int nodes) {
    return expr_nodes_up_to(e, nodes + 1) > nodes;
}

bool expr_reads(const Expr *e) {
    EACH_READ(read, e)
        return true;
    return false;
}

bool read_gathers(const Expr *read) {
    for (int d = 0; d < read->count; d++)
        if (expr_reads(read->args[d]))
            return true;
    return false;
}

bool expr_uses_var(const Expr *e, const Var *var) {
    if (e->kind == EXPR_VAR)
        return e->var == var;
    for (int i = 0; i < e->count; i++)
        if (expr_uses_var(e->args[i], var))
            return true;
    return (e->otherwise && expr_uses_var(e->otherwise, var)) || (e->guard && expr_uses_var(e->guard, var));
}

bool expr_uses_tensor(const Expr *e, const Tensor *tensor) {
    EACH_READ(read, e)
        if (read->tensor == tensor)
            return true;
    return false;
}

/* --- rewriting ---------------------------------------------------------------------------------------------------- */

/* The node again over other arguments, through its maker, so that constants fold. */
static Expr *rebuild(Arena *arena, const Expr *e, Expr **args, Expr *otherwise, Expr *guard) {
    Expr *made;
    switch (e->kind) {
    case EXPR_OP: made = expr_op(arena, e->op, e->type, args, e->count); break;
    case EXPR_CAST: made = expr_cast(arena, e->type, args[0]); break;
    case EXPR_BROADCAST: made = args[0]->lanes == 1 ? expr_broadcast(arena, args[0], e->lanes) : args[0]; break;
    case EXPR_RAMP: made = expr_ramp(arena, args[0], args[1], e->lanes); break;
    case EXPR_REPEAT: made = expr_repeat(arena, args[0], e->lanes); break;
    case EXPR_SHUFFLE: made = expr_shuffle(arena, args, e->count, e->pattern, e->lanes); break;
    case EXPR_OFFSET: made = expr_offset(arena, args, e->count, e->integer); break;
    case EXPR_CALL: made = expr_call(arena, e->instr, args, e->count); break;
    default:
        made = make_read(arena, e->tensor, args, e->count, otherwise);
        made->guard = guard ? expr_broadcast(arena, guard, made->lanes) : NULL;
    }
    for (int i = 0; i < e->count; i++)
        if (made == args[i])
            return made;
    made->loc = e->loc;
    return made;
}

typedef struct ExprRewriting {
    Arena *arena;
    Expr *(*replace)(Arena *arena, Expr *e, void *context);
    void *context;
} ExprRewriting;

static Expr *rewrite(const ExprRewriting *r, Expr *e);

/* e over rewritten parts; e itself when all parts stay. */
static Expr *rewrite_parts(const ExprRewriting *r, Expr *e) {
    Expr *few[4], **args = e->count <= 4 ? few : ARENA_ARRAY(r->arena, Expr *, e->count);
    bool changed = false;
    for (int i = 0; i < e->count; i++) {
        args[i] = rewrite(r, e->args[i]);
        changed |= args[i] != e->args[i];
    }
    Expr *otherwise = e->otherwise ? rewrite(r, e->otherwise) : NULL;
    Expr *guard = e->guard ? rewrite(r, e->guard) : NULL;
    changed |= otherwise != e->otherwise || guard != e->guard;
    return changed ? rebuild(r->arena, e, args, otherwise, guard) : e;
}

static Expr *rewrite(const ExprRewriting *r, Expr *e) {
    if (e->count || e->otherwise || e->guard)
        e = rewrite_parts(r, e);
    return r->replace(r->arena, e, r->context);
}

Expr *expr_rewrite(Arena *arena, Expr *e, Expr *(*replace)(Arena *arena, Expr *e, void *context), void *context) {
    return rewrite(&(ExprRewriting){arena, replace, context}, e);
}

typedef struct SubstitutionArray {
    const Substitution *list;
    int count;
} SubstitutionArray;

static Expr *replace_var(Arena *arena, Expr *e, void *context) {
    const SubstitutionArray *substitutions = context;
    if (e->kind == EXPR_VAR)
        for (int i = 0; i < substitutions->count; i++)
            if (substitutions->list[i].var == e->var)
                return substitutions->list[i].value;
    return e;
}

/* All at once. */
Expr *expr_substitute(Arena *arena, Expr *e, const Substitution *list, int count) {
    return expr_rewrite(arena, e, replace_var, &(SubstitutionArray){list, count});
}
