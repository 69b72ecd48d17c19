/* simplify.c - expressions made canonical and small.
 *
 * Index arithmetic (scalar int64) goes through sums: sum.c and divide.c; values of int64 that may wrap stay as they
 * are, but for their arguments (expr_is_exact tells them apart). Here are the other operators: comparisons
 * become "positive terms < negative terms", or one of == and !=; chains of && || min max lose what another member
 * implies. Every node is simplified once: the time is about linear in the size of the tree, and quadratic in the length
 * of a sum or chain. Simplifying again changes nothing.
 */
#include "lang/simplify.h"
#include "lang/value.h"

#include <math.h>

enum { CHAIN_LIMIT = 16 /* longer chains of && || min max are not searched for implied members */ };

static bool is_index(const Expr *e) {
    return e->type == TYPE_INT64 && e->lanes == 1;
}

static bool is_sum_op(Op op) {
    return op == OP_ADD || op == OP_SUB || op == OP_MUL || op == OP_DIV || op == OP_MOD || op == OP_NEG;
}

/* --- comparisons of indices --------------------------------------------------------------------------------------- */

/* D < 0 says the same as high < 0 when D = g * high + low with 0 <= low < g. */
static void shrink_inequality(Sum *d) {
    Sum high, low;
    int64_t g;
    while (sum_split(d, 0, &g, &high, &low)) {
        sum_init(d, high.arena);
        sum_add(d, 1, &high);
    }
}

/* Sides whose parts are still to be simplified are known to be exact. */
static void add_side(Sum *d, int64_t coefficient, Expr *e, bool simplify_parts) {
    if (simplify_parts)
        sum_add_index(d, coefficient, e, true);
    else
        sum_add_expr(d, coefficient, e, false);
}

bool inequality_of(Sum *d, Arena *arena, Op op, Expr *a, Expr *b, bool simplify_parts) {
    bool swap = comparison_info[op].greater;
    sum_init(d, arena);
    add_side(d, 1, swap ? b : a, simplify_parts);
    add_side(d, -1, swap ? a : b, simplify_parts);
    sum_add_constant(d, 1, comparison_info[op].equal ? -1 : 0);
    sum_recombine(d);
    if (!d->overflow)
        shrink_inequality(d);
    return !d->overflow;
}

/* P - N + k < 0 as P < N - k; where there is no P as N >= k + 1. */
static Expr *inequality_expr(const Sum *d) {
    Sum positive, negative;
    sum_init(&positive, d->arena);
    sum_init(&negative, d->arena);
    for (int i = 0; i < d->count; i++) {
        Term term = d->terms[i];
        if (term.coefficient > 0)
            sum_add_atom(&positive, term.coefficient, term.atom);
        else
            sum_add_atom(&negative, -term.coefficient, term.atom);
    }
    if (positive.count == 0) {
        sum_add_constant(&positive, 1, d->constant);
        sum_add_constant(&positive, 1, 1);
        return positive.overflow ? NULL : expr_binary(d->arena, OP_GE, sum_expr(&negative), sum_expr(&positive));
    }
    sum_add_constant(&negative, -1, d->constant);
    return negative.overflow ? NULL : expr_binary(d->arena, OP_LT, sum_expr(&positive), sum_expr(&negative));
}

/* e's operator on operands that are simplified already, or not yet. */
static Expr *simplify_inequality(Arena *arena, Expr *e, Expr *a, Expr *b) {
    Sum d;
    if (!inequality_of(&d, arena, e->op, a, b, true))
        return e;
    int sign = sum_sign(&d);
    if (sign)
        return expr_bool(arena, sign < 0);
    for (int i = 0; i < d.count; i++)
        if (d.terms[i].coefficient == INT64_MIN)
            return e;
    Expr *result = inequality_expr(&d);
    return result ? result : e;
}

bool equation_of(Sum *d, Arena *arena, Expr *a, Expr *b, bool simplify_parts) {
    sum_init(d, arena);
    add_side(d, 1, a, simplify_parts);
    add_side(d, -1, b, simplify_parts);
    sum_recombine(d);
    return !d->overflow;
}

/* Whether the two sides of D == 0 differ for all values. */
static bool never_zero(const Sum *d) {
    Sum shifted;
    if (!affine_may_be_zero(&d->affine) || sum_sign(d) < 0)
        return true;
    sum_init(&shifted, d->arena);
    sum_add(&shifted, 1, d);
    sum_add_constant(&shifted, 1, -1);
    return !shifted.overflow && sum_sign(&shifted) > 0;
}

static Expr *simplify_equation(Arena *arena, Expr *e, Expr *a, Expr *b) {
    Sum d, left, right;
    if (!equation_of(&d, arena, a, b, true))
        return e;
    if (d.count == 0)
        return expr_bool(arena, (d.constant == 0) == (e->op == OP_EQ));
    int64_t divisor = affine_divisor(&d.affine);
    if (never_zero(&d))
        return expr_bool(arena, e->op == OP_NE);
    sum_init(&left, arena);
    sum_init(&right, arena);
    if (d.terms[0].coefficient < 0)
        divisor = -divisor;
    for (int i = 0; i < d.count; i++) {
        int64_t coefficient = d.terms[i].coefficient / divisor;
        if (coefficient == INT64_MIN)
            return e;
        sum_add_atom(coefficient > 0 ? &left : &right, coefficient > 0 ? coefficient : -coefficient, d.terms[i].atom);
    }
    sum_add_constant(&right, -1, d.constant / divisor);
    return right.overflow ? e : expr_binary(arena, e->op, sum_expr(&left), sum_expr(&right));
}

/* --- chains: a && b && c, min(min(a, b), c) ----------------------------------------------------------------------- */

typedef struct OperatorChain {
    Arena *arena;
    Op op;
    LIST(Expr *) members;
} OperatorChain;

static void collect_members(OperatorChain *chain, Expr *e, bool simplified) {
    if (expr_is_op(e, chain->op)) {
        collect_members(chain, e->args[0], simplified);
        collect_members(chain, e->args[1], simplified);
    } else if (!simplified) {
        collect_members(chain, expr_simplify(chain->arena, e), true);
    } else {
        list_push(chain->arena, &chain->members, e);
    }
}

static bool is_inequality(const Expr *e) {
    return expr_is_inequality(e) && is_index(e->args[0]);
}

typedef enum MemberRelation {
    RELATION_NONE,
    RELATION_KEEP_FIRST,
    RELATION_KEEP_SECOND,
    RELATION_ABSORB
} MemberRelation;

/* Of two inequalities D < 0 and F < 0 under && (under || the weaker one stays, and together they may always hold). */
static MemberRelation relate_inequalities(Arena *arena, Op op, const Expr *a, const Expr *b) {
    Sum d, f, difference, total;
    if (!inequality_of(&d, arena, a->op, a->args[0], a->args[1], false) ||
        !inequality_of(&f, arena, b->op, b->args[0], b->args[1], false))
        return RELATION_NONE;
    sum_init(&difference, arena);
    sum_add(&difference, 1, &d);
    sum_add(&difference, -1, &f);
    if (!difference.overflow && difference.count == 0)
        return (difference.constant >= 0) == (op == OP_AND) ? RELATION_KEEP_FIRST : RELATION_KEEP_SECOND;
    sum_init(&total, arena);
    sum_add(&total, 1, &d);
    sum_add(&total, 1, &f);
    bool decided = op == OP_AND ? total.constant >= -1 : total.constant < 0;
    return !total.overflow && total.count == 0 && decided ? RELATION_ABSORB : RELATION_NONE;
}

static MemberRelation relate_logic(Arena *arena, Op op, Expr *a, Expr *b) {
    if (expr_equal(a, b))
        return RELATION_KEEP_FIRST;
    if (a->lanes == 1 && is_inequality(a) && is_inequality(b))
        return relate_inequalities(arena, op, a, b);
    if ((expr_is_op(a, OP_NOT) && expr_equal(a->args[0], b)) || (expr_is_op(b, OP_NOT) && expr_equal(b->args[0], a)))
        return RELATION_ABSORB;
    bool equations = (expr_is_op(a, OP_EQ) && expr_is_op(b, OP_NE)) || (expr_is_op(a, OP_NE) && expr_is_op(b, OP_EQ));
    return equations && expr_equal(a->args[0], b->args[0]) && expr_equal(a->args[1], b->args[1]) ? RELATION_ABSORB
                                                                                                 : RELATION_NONE;
}

static MemberRelation relate_extremes(Arena *arena, Op op, Expr *a, Expr *b) {
    Sum d;
    if (expr_equal(a, b))
        return RELATION_KEEP_FIRST;
    if (!is_index(a) || !equation_of(&d, arena, a, b, false))
        return RELATION_NONE;
    if (d.count == 0 && d.constant == 0)
        return RELATION_KEEP_FIRST;
    int order = sum_order(&d);
    return order == 0 ? RELATION_NONE : (order < 0) == (op == OP_MIN) ? RELATION_KEEP_FIRST : RELATION_KEEP_SECOND;
}

static MemberRelation relate(const OperatorChain *chain, Expr *a, Expr *b) {
    bool logic = chain->op == OP_AND || chain->op == OP_OR;
    return logic ? relate_logic(chain->arena, chain->op, a, b) : relate_extremes(chain->arena, chain->op, a, b);
}

/* Drops what another member implies; true when two members together decide the chain. */
static bool reduce_chain(OperatorChain *chain) {
    for (int i = 0; i < chain->members.count; i++)
        for (int j = i + 1; j < chain->members.count; j++) {
            MemberRelation relation = relate(chain, chain->members.items[i], chain->members.items[j]);
            if (relation == RELATION_ABSORB)
                return true;
            if (relation == RELATION_NONE)
                continue;
            list_remove(&chain->members, relation == RELATION_KEEP_FIRST ? j : i);
            if (relation == RELATION_KEEP_SECOND) {
                i--;
                break;
            }
            j--;
        }
    return false;
}

static Expr *chain_expr(const OperatorChain *chain) {
    Expr *e = chain->members.items[0];
    for (int i = 1; i < chain->members.count; i++)
        e = expr_binary(chain->arena, chain->op, e, chain->members.items[i]);
    return e;
}

static bool is_bool_constant(const Expr *e, bool value) {
    if (e->kind == EXPR_BROADCAST)
        e = e->args[0];
    return e->kind == EXPR_INT && e->type == TYPE_BOOL && e->integer == value;
}

static Expr *simplify_logic(Arena *arena, Expr *e) {
    OperatorChain chain = {.arena = arena, .op = e->op};
    bool neutral = e->op == OP_AND;
    collect_members(&chain, e, false);
    for (int i = 0; i < chain.members.count; i++) {
        if (is_bool_constant(chain.members.items[i], !neutral))
            return expr_broadcast(arena, expr_bool(arena, !neutral), e->lanes);
        if (is_bool_constant(chain.members.items[i], neutral))
            list_remove(&chain.members, i--);
    }
    if (chain.members.count == 0)
        return expr_broadcast(arena, expr_bool(arena, neutral), e->lanes);
    if (chain.members.count <= CHAIN_LIMIT && reduce_chain(&chain))
        return expr_broadcast(arena, expr_bool(arena, !neutral), e->lanes);
    return chain_expr(&chain);
}

static Expr *simplify_extreme(Arena *arena, Expr *e) {
    OperatorChain chain = {.arena = arena, .op = e->op};
    collect_members(&chain, e, false);
    if (chain.members.count <= CHAIN_LIMIT)
        reduce_chain(&chain);
    return chain_expr(&chain);
}

/* --- not ---------------------------------------------------------------------------------------------------------- */

/* The opposite of a simplified condition; "not less" of floats is no comparison, because of NaN. */
static Expr *opposite_of(Arena *arena, Expr *e) {
    if (e->kind == EXPR_INT)
        return expr_bool(arena, !e->integer);
    if (e->kind == EXPR_BROADCAST)
        return expr_broadcast(arena, opposite_of(arena, e->args[0]), e->lanes);
    if (e->kind != EXPR_OP)
        return expr_unary(arena, OP_NOT, e);
    if (e->op == OP_NOT)
        return e->args[0];
    if (e->op == OP_AND || e->op == OP_OR)
        return expr_binary(arena, e->op == OP_AND ? OP_OR : OP_AND, opposite_of(arena, e->args[0]),
                           opposite_of(arena, e->args[1]));
    if (expr_is_comparison(e) && !(type_is_float(e->args[0]->type) && expr_is_inequality(e)))
        return expr_binary(arena, comparison_info[e->op].opposite, e->args[0], e->args[1]);
    return expr_unary(arena, OP_NOT, e);
}

static Expr *simplify_not(Arena *arena, Expr *e) {
    Expr *a = expr_simplify(arena, e->args[0]);
    Expr *opposite = opposite_of(arena, a);
    if (expr_is_op(opposite, OP_NOT))
        return a == e->args[0] ? e : opposite;
    return expr_simplify(arena, opposite);
}

/* --- the other operators, over simplified arguments --------------------------------------------------------------- */

static bool is_real(const Expr *e, double value, bool negative) {
    if (e->kind == EXPR_BROADCAST)
        e = e->args[0];
    return e->kind == EXPR_REAL && e->real == value && !!signbit(e->real) == negative;
}

/* x * 1, x / 1, x + -0.0, x - 0.0 are exact for every x. */
static Expr *drop_neutral_real(Expr *e) {
    Expr *a = e->args[0], *b = e->count > 1 ? e->args[1] : NULL;
    switch (e->op) {
    case OP_MUL: return is_real(b, 1, false) ? a : is_real(a, 1, false) ? b : e;
    case OP_DIV: return is_real(b, 1, false) ? a : e;
    case OP_ADD: return is_real(b, 0, true) ? a : is_real(a, 0, true) ? b : e;
    case OP_SUB: return is_real(b, 0, false) ? a : e;
    default: return e;
    }
}

static Expr *drop_neutral_integer(Expr *e) {
    Expr *a = e->args[0], *b = e->count > 1 ? e->args[1] : NULL;
    switch (e->op) {
    case OP_MUL:
        if (expr_is_number(a, 0) || expr_is_number(b, 1))
            return a;
        return expr_is_number(b, 0) || expr_is_number(a, 1) ? b : e;
    case OP_ADD: return expr_is_number(b, 0) ? a : expr_is_number(a, 0) ? b : e;
    case OP_SUB: return expr_is_number(b, 0) ? a : e;
    case OP_DIV: return expr_is_number(b, 1) ? a : e;
    default: return e;
    }
}

/* The value of an operator on constants, in its exact type; divisions of integers by 0 stay as they are. */
static Expr *fold_constants(Arena *arena, Expr *e) {
    Value values[3];
    if (op_info[e->op].class == CLASS_MATH || e->op == OP_SELECT)
        return e;
    for (int i = 0; i < e->count; i++) {
        const Expr *arg = e->args[i];
        if (arg->kind != EXPR_INT && arg->kind != EXPR_REAL)
            return e;
        values[i] = (Value){.type = arg->type, .integer = arg->integer};
    }
    bool divides = e->op == OP_DIV || e->op == OP_MOD;
    if (divides && !type_is_float(e->type) && values[1].integer == 0)
        return e;
    if (e->type == TYPE_INT64 && integer_overflows(e->op, values[0].integer, e->count > 1 ? values[1].integer : 0))
        return e;
    Value value = value_apply(e->op, values);
    Expr *result = expr_constant(arena, value.type, 0);
    result->integer = value.integer;
    return result;
}

/* Lanes that count up: sums of ramps and broadcasts are ramps, products with the same factor in every lane too. */
static Expr *simplify_lanes(Arena *arena, Expr *e) {
    Expr *a = e->args[0], *b = e->count > 1 ? e->args[1] : a;
    if (a->kind == EXPR_BROADCAST && b->kind == EXPR_BROADCAST && e->count <= 2) {
        Expr *args[2] = {a->args[0], b->args[0]};
        return expr_broadcast(arena, expr_simplify(arena, expr_op(arena, e->op, e->type, args, e->count)), e->lanes);
    }
    bool ramps =
        (a->kind == EXPR_RAMP || a->kind == EXPR_BROADCAST) && (b->kind == EXPR_RAMP || b->kind == EXPR_BROADCAST);
    bool linear = e->op == OP_ADD || e->op == OP_SUB || (e->op == OP_MUL && a->kind != b->kind);
    if (e->count != 2 || e->type != TYPE_INT64 || !ramps || !linear)
        return e;
    Expr *zero = expr_int(arena, 0);
    Expr *stride_a = a->kind == EXPR_RAMP ? a->args[1] : e->op == OP_MUL ? a->args[0] : zero;
    Expr *stride_b = b->kind == EXPR_RAMP ? b->args[1] : e->op == OP_MUL ? b->args[0] : zero;
    Expr *base = expr_simplify(arena, expr_binary(arena, e->op, a->args[0], b->args[0]));
    Expr *stride = expr_simplify(arena, expr_binary(arena, e->op, stride_a, stride_b));
    return expr_is_number(stride, 0) ? expr_broadcast(arena, base, e->lanes) : expr_ramp(arena, base, stride, e->lanes);
}

/* Of the sides' difference. */
static bool holds_in_range(Op op, Interval d) {
    bool below = d.has_high && d.high < 0, above = d.has_low && d.low > 0;
    bool not_above = d.has_high && d.high <= 0, not_below = d.has_low && d.low >= 0;
    return (op == OP_LT && below) || (op == OP_LE && not_above) || (op == OP_GT && above) ||
           (op == OP_GE && not_below) || (op == OP_NE && (below || above));
}

int expr_decided_by_ranges(const Expr *e) {
    if (!expr_is_comparison(e) || !type_is_integer(e->args[0]->type))
        return -1;
    Interval d = interval_add(expr_interval(e->args[0]), interval_negate(expr_interval(e->args[1])));
    return holds_in_range(e->op, d) ? 1 : holds_in_range(comparison_info[e->op].opposite, d) ? 0 : -1;
}

static Expr *decide_by_ranges(Arena *arena, Expr *e) {
    int decided = expr_decided_by_ranges(e);
    return decided >= 0 ? expr_broadcast(arena, expr_bool(arena, decided), e->lanes) : e;
}

static Expr *simplify_abs(Arena *arena, Expr *e) {
    Interval interval = expr_interval(e->args[0]);
    if (interval.has_low && interval.low >= 0)
        return e->args[0];
    if (interval.has_high && interval.high <= 0)
        return expr_simplify(arena, expr_unary(arena, OP_NEG, e->args[0]));
    return e;
}

static Expr *simplify_operator(Arena *arena, Expr *e) {
    e = fold_constants(arena, e);
    if (e->kind != EXPR_OP)
        return e;
    if (e->lanes > 1) {
        Expr *result = simplify_lanes(arena, e);
        if (result != e)
            return result;
    }
    if (op_info[e->op].class == CLASS_COMPARE)
        return decide_by_ranges(arena, e);
    if (e->op == OP_ABS && is_index(e))
        return simplify_abs(arena, e);
    if (type_is_float(e->type))
        return drop_neutral_real(e);
    return type_is_integer(e->type) ? drop_neutral_integer(e) : e;
}

/* --- selects, casts, reads ---------------------------------------------------------------------------------------- */

static Expr *simplify_select(Arena *arena, Expr *e) {
    Expr *condition = expr_simplify(arena, e->args[0]);
    if (is_bool_constant(condition, true))
        return expr_simplify(arena, e->args[1]);
    if (is_bool_constant(condition, false))
        return expr_simplify(arena, e->args[2]);
    Expr *a = expr_simplify(arena, e->args[1]), *b = expr_simplify(arena, e->args[2]);
    if (expr_equal(a, b))
        return a;
    if (expr_is_op(condition, OP_NOT))
        return expr_select(arena, condition->args[0], b, a);
    if (condition == e->args[0] && a == e->args[1] && b == e->args[2])
        return e;
    return expr_select(arena, condition, a, b);
}

/* A constant converts; an integer widened again after a narrowing that it fitted is itself. */
static Expr *simplify_cast(Arena *arena, Expr *e) {
    Expr *a = expr_simplify(arena, e->args[0]);
    if (a->type == e->type)
        return a;
    if (a->kind == EXPR_BROADCAST)
        return expr_broadcast(arena, expr_simplify(arena, expr_cast(arena, e->type, a->args[0])), e->lanes);
    if (a->kind == EXPR_INT || a->kind == EXPR_REAL) {
        Value value = value_cast((Value){.type = a->type, .integer = a->integer}, e->type);
        Expr *result = expr_constant(arena, e->type, 0);
        result->integer = value.integer;
        return result;
    }
    if (a->kind == EXPR_CAST && a->args[0]->type == e->type && type_is_integer(a->type) && type_is_integer(e->type)) {
        Interval inner = expr_interval(a->args[0]);
        bool fits = inner.has_low && inner.has_high && a->type != TYPE_UINT64 &&
                    inner.low >= integer_limit(a->type, false) && inner.high <= integer_limit(a->type, true);
        if (fits)
            return a->args[0];
    }
    return a == e->args[0] ? e : expr_cast(arena, e->type, a);
}

/* Whether an index lies in 0:dim for all values. */
static bool is_inside(Arena *arena, Expr *index, Expr *dim) {
    Sum above;
    Interval interval = expr_interval(index);
    if (!is_index(index) || !interval.has_low || interval.low < 0 || !equation_of(&above, arena, dim, index, false))
        return false;
    sum_add_constant(&above, 1, -1);
    return !above.overflow && sum_is_nonnegative(&above);
}

/* Loses an `else` that is never taken, and a guard that always holds. */
static Expr *simplify_read(Arena *arena, Expr *e) {
    Expr *few[8], **indices = e->count <= 8 ? few : ARENA_ARRAY(arena, Expr *, e->count);
    bool changed = false, inside = e->otherwise && e->count == e->tensor->rank;
    for (int i = 0; i < e->count; i++) {
        indices[i] = expr_simplify(arena, e->args[i]);
        changed |= indices[i] != e->args[i];
        inside = inside && is_inside(arena, indices[i], e->tensor->dims[i]);
    }
    Expr *otherwise = e->otherwise && !inside ? expr_simplify(arena, e->otherwise) : NULL;
    Expr *guard = e->guard ? expr_simplify(arena, e->guard) : NULL;
    if (guard && is_bool_constant(guard, true))
        guard = NULL;
    if (guard && is_bool_constant(guard, false))
        return expr_broadcast(arena, expr_constant(arena, e->type, 0), e->lanes);
    if (!changed && otherwise == e->otherwise && guard == e->guard)
        return e;
    Expr *read = expr_copy(arena, e);
    for (int i = 0; i < e->count; i++)
        read->args[i] = indices[i];
    read->otherwise = otherwise;
    read->guard = guard;
    return read;
}

/* A ramp or broadcast, or an operator without rules of its own for its arguments. */
static Expr *simplify_arguments(Arena *arena, Expr *e) {
    Expr *args[3] = {NULL};
    bool changed = false;
    for (int i = 0; i < e->count; i++) {
        args[i] = expr_simplify(arena, e->args[i]);
        changed |= args[i] != e->args[i];
    }
    if (e->kind == EXPR_RAMP && expr_is_number(args[1], 0))
        return expr_broadcast(arena, args[0], e->lanes);
    if (changed && e->kind == EXPR_OP)
        e = expr_op(arena, e->op, e->type, args, e->count);
    else if (changed)
        e = e->kind == EXPR_RAMP ? expr_ramp(arena, args[0], args[1], e->lanes)
                                 : expr_broadcast(arena, args[0], e->lanes);
    return e->kind == EXPR_OP ? simplify_operator(arena, e) : e;
}

/* e is exact. */
static Expr *simplify_sum(Arena *arena, Expr *e) {
    Sum sum;
    sum_init(&sum, arena);
    sum_add_index(&sum, 1, e, true);
    sum_recombine(&sum);
    return sum.overflow ? e : sum_expr(&sum);
}

/* What went to the other side may wrap there: a <= b says nothing of a < b + 1 where b is the largest. */
static Expr *simplify_comparison(Arena *arena, Expr *e) {
    Expr *result = e;
    if (expr_is_exact(e->args[0]) && expr_is_exact(e->args[1]))
        result = e->op == OP_EQ || e->op == OP_NE ? simplify_equation(arena, e, e->args[0], e->args[1])
                                                  : simplify_inequality(arena, e, e->args[0], e->args[1]);
    bool changed = result != e && (result->kind != EXPR_OP || op_info[result->op].class != CLASS_COMPARE ||
                                   (expr_is_exact(result->args[0]) && expr_is_exact(result->args[1])));
    return changed ? result : simplify_arguments(arena, e);
}

static Expr *simplify_op(Arena *arena, Expr *e) {
    if (is_index(e) && is_sum_op(e->op))
        return expr_is_exact(e) ? simplify_sum(arena, e) : simplify_arguments(arena, e);
    if (is_index(e->args[0]) && op_info[e->op].class == CLASS_COMPARE)
        return simplify_comparison(arena, e);
    if (e->op == OP_AND || e->op == OP_OR)
        return simplify_logic(arena, e);
    if (is_index(e) && (e->op == OP_MIN || e->op == OP_MAX))
        return simplify_extreme(arena, e);
    if (e->op == OP_NOT)
        return simplify_not(arena, e);
    return e->op == OP_SELECT ? simplify_select(arena, e) : simplify_arguments(arena, e);
}

Expr *expr_simplify(Arena *arena, Expr *e) {
    Expr *result;
    switch (e->kind) {
    case EXPR_INT:
    case EXPR_SHUFFLE:
    case EXPR_OFFSET: /* those of passes after which nothing folds */
    case EXPR_REAL: return e;
    case EXPR_VAR: return var_is_fixed(e->var) ? expr_int(arena, 0) : e;
    case EXPR_OP: result = simplify_op(arena, e); break;
    case EXPR_CAST: result = simplify_cast(arena, e); break;
    case EXPR_READ: result = simplify_read(arena, e); break;
    default: result = simplify_arguments(arena, e);
    }
    return result != e && expr_equal(result, e) ? e : result;
}
