/* value_ranges.c - what is known of the integers that an expression may have: their range.
 *
 * It comes from types, constants, indices and what is known of temporaries. Beside the ranges of its operands, a
 * difference of 8 or 16 bits is known not to be negative where the one operand is never less than the other, and a sum
 * of such not to wrap where the one operand is at most what the other leaves. This is found by the structure of minima,
 * maxima and quotients, also through temporaries. Conditions narrow the ranges of what stands under them (narrowed.c).
 */
#include "lang/program.h"
#include "sema/check.h"

bool is_narrow_integer(ElementType type) {
    return type_is_integer(type) && element_info[type].bytes < 4;
}

/* What has 64 bits is taken to fit. */
bool range_fits(Interval range, ElementType type) {
    Interval whole = interval_of_type(type);
    return !whole.has_low || (range.has_low && range.low >= whole.low && range.has_high && range.high <= whole.high);
}

static Interval index_range(const Statement *s, const Var *var) {
    Interval range = var->kind == VAR_SIZE ? (Interval){.has_low = true} : interval_of_type(var->type);
    for (int i = 0; i < s->indices.count; i++) {
        const IndexVariable *index = s->indices.items[i];
        if (index->raw != var || !index->low || !index->high)
            continue;
        range.has_low = expr_is_int(index->low, &range.low);
        range.has_high = expr_is_int(index->high, &range.high);
    }
    return range;
}

Interval tensor_range(const Statement *s, const Tensor *tensor) {
    Interval range = interval_of_type(tensor->type);
    for (int i = 0; i < s->builder->ranges.count; i++)
        if (s->builder->ranges.items[i].tensor == tensor)
            range = s->builder->ranges.items[i].range;
    return range;
}

static Interval read_range(const Statement *s, const Under *under, const Expr *read) {
    Interval range = tensor_range(s, read->tensor);
    return read->otherwise ? interval_join(range, value_range(s, under, read->otherwise)) : range;
}

/* --- order of two values ------------------------------------------------------------------------------------------ */

/* A proof that may take so many more steps. */
typedef struct Proof {
    const Statement *statement;
    const Under *under;
    int steps;
} Proof;

static bool is_leaf(const Expr *e) {
    return e->kind == EXPR_INT || e->kind == EXPR_VAR || (e->kind == EXPR_READ && !e->otherwise);
}

static bool same_element(Arena *arena, const Expr *x, const Expr *y) {
    bool same =
        x->kind == EXPR_READ && y->kind == EXPR_READ && x->tensor == y->tensor && !x->otherwise && !y->otherwise;
    for (int d = 0; same && d < x->count; d++)
        same = size_equal(arena, x->args[d], y->args[d]);
    return same;
}

bool same_value(const Statement *s, const Expr *x, const Expr *y) {
    return expr_equal(x, y) || same_element(s->builder->arena, x, y);
}

/* The stage whose value each element of the tensor is; NULL: there is none. */
static const Stage *plain_stage(const Builder *builder, const Tensor *tensor) {
    for (int i = builder->stages.count - 1; i >= 0; i--) {
        const Stage *stage = builder->stages.items[i];
        if (stage->component_count == 1 && stage->components[0].tensor == tensor)
            return stage->scan || stage->reduction_count || stage->components[0].initial ? NULL : stage;
    }
    return NULL;
}

const Expr *behind_read(const Statement *s, const Expr *read) {
    const Builder *builder = s->builder;
    bool temporary = read->kind == EXPR_READ && !read->otherwise && read->tensor->role == ROLE_TEMPORARY;
    const Stage *stage = temporary ? plain_stage(builder, read->tensor) : NULL;
    if (!stage)
        return NULL;
    Substitution *list = ARENA_ARRAY(builder->arena, Substitution, read->count);
    for (int d = 0; d < read->count; d++)
        list[d] = (Substitution){stage->axes[d], read->args[d]};
    return expr_substitute(builder->arena, stage->components[0].value, list, read->count);
}

/* What a quotient or a remainder is never above: the dividend, which is not negative; NULL: there is none. */
static const Expr *dividend_above(const Expr *e) {
    int64_t divisor;
    bool smaller = (expr_is_op(e, OP_DIV) || expr_is_op(e, OP_MOD)) && expr_is_int(e->args[1], &divisor) && divisor > 0;
    return smaller && element_info[e->type].kind == KIND_UNSIGNED ? e->args[0] : NULL;
}

const Expr *without_widening(const Expr *e) {
    while (keeps_values(e))
        e = e->args[0];
    return e;
}

bool keeps_values(const Expr *cast) {
    return cast->kind == EXPR_CAST && type_is_integer(cast->args[0]->type) && type_is_integer(cast->type) &&
           range_fits(interval_of_type(cast->args[0]->type), cast->type);
}

static bool never_less(Proof *proof, const Expr *x, const Expr *y);

static bool never_less_by_cases(Proof *proof, const Expr *x, const Expr *y) {
    if (expr_is_op(x, OP_MAX) && (never_less(proof, x->args[0], y) || never_less(proof, x->args[1], y)))
        return true;
    if (expr_is_op(y, OP_MIN) && (never_less(proof, x, y->args[0]) || never_less(proof, x, y->args[1])))
        return true;
    if (expr_is_op(x, OP_MIN) || expr_is_op(x, OP_SELECT))
        return never_less(proof, x->args[x->count - 2], y) && never_less(proof, x->args[x->count - 1], y);
    if (expr_is_op(y, OP_MAX) || expr_is_op(y, OP_SELECT))
        return never_less(proof, x, y->args[y->count - 2]) && never_less(proof, x, y->args[y->count - 1]);
    const Expr *above = dividend_above(y);
    return above && never_less(proof, x, above);
}

/* Whether x >= y, as numbers of their type, is sure. */
static bool never_less(Proof *proof, const Expr *x, const Expr *y) {
    if (--proof->steps < 0 || x->type != y->type)
        return false;
    if (same_value(proof->statement, x, y))
        return true;
    if (is_leaf(x) && is_leaf(y)) {
        Interval a = value_range(proof->statement, proof->under, x), b = value_range(proof->statement, proof->under, y);
        if (a.has_low && b.has_high && a.low >= b.high)
            return true;
    }
    if (keeps_values(x) && keeps_values(y) && never_less(proof, x->args[0], y->args[0]))
        return true;
    const Expr *inner = behind_read(proof->statement, x);
    if (inner && never_less(proof, inner, y))
        return true;
    inner = behind_read(proof->statement, y);
    return (inner && never_less(proof, x, inner)) || never_less_by_cases(proof, x, y);
}

/* Whether y is at most what x leaves of the type, which is unsigned: y <= p - z, where p >= z >= x. */
static bool leaves_room(Proof *proof, const Expr *x, const Expr *y) {
    if (--proof->steps < 0 || x->type != y->type)
        return false;
    if (expr_is_op(y, OP_SUB) && never_less(proof, y->args[1], x) && never_less(proof, y->args[0], y->args[1]))
        return true;
    if (expr_is_op(y, OP_MIN))
        return leaves_room(proof, x, y->args[0]) || leaves_room(proof, x, y->args[1]);
    if (expr_is_op(y, OP_MAX) || expr_is_op(y, OP_SELECT))
        return leaves_room(proof, x, y->args[y->count - 2]) && leaves_room(proof, x, y->args[y->count - 1]);
    const Expr *inner = dividend_above(y);
    inner = inner ? inner : behind_read(proof->statement, y);
    return inner && leaves_room(proof, x, inner);
}

/* The range of the exact result, which is known better by the order of the operands. */
static Interval ordered_range(const Statement *s, const Under *under, const Expr *e, Interval range) {
    enum { STEP_LIMIT = 200 };
    Proof proof = {s, under, STEP_LIMIT};
    const Expr *x = e->args[0], *y = e->args[e->count - 1];
    Interval whole = interval_of_type(e->type);
    if (e->op == OP_SUB && range.low < 0 && never_less(&proof, x, y))
        range.low = 0;
    if (e->op == OP_ADD && element_info[e->type].kind == KIND_UNSIGNED && range.high > whole.high &&
        (leaves_room(&proof, x, y) || leaves_room(&proof, y, x)))
        range.high = whole.high;
    return range;
}

/* --- ranges of operators ------------------------------------------------------------------------------------------ */

/* Of what a condition chooses: what it never chooses does not count. */
static Interval chosen_range(const Statement *s, const Under *under, const Expr *e) {
    Under holds = {e->args[0], true, under}, fails = {e->args[0], false, under};
    if (never_holds(s, &holds))
        return value_range(s, &fails, e->args[2]);
    Interval range = value_range(s, &holds, e->args[1]);
    return never_holds(s, &fails) ? range : interval_join(range, value_range(s, &fails, e->args[2]));
}

Interval exact_range(const Statement *s, const Under *under, const Expr *e) {
    if (e->op == OP_SELECT)
        return chosen_range(s, under, e);
    if (e->op == OP_SUB && is_narrow_integer(e->type) && same_value(s, e->args[0], e->args[1]))
        return (Interval){true, true, 0, 0};
    Interval a = value_range(s, under, e->args[0]);
    Interval range = interval_combine(e->op, a, e->count > 1 ? value_range(s, under, e->args[e->count - 1]) : a);
    bool ordered = is_narrow_integer(e->type) && !range_fits(range, e->type) && range.has_low && range.has_high;
    return ordered ? ordered_range(s, under, e, range) : range;
}

static Interval range_by_itself(const Statement *s, const Under *under, const Expr *e) {
    Interval range = interval_of_type(e->type);
    if (e->kind == EXPR_INT && (e->type != TYPE_UINT64 || e->integer >= 0))
        range = (Interval){true, true, e->integer, e->integer};
    else if (e->kind == EXPR_VAR)
        range = index_range(s, e->var);
    else if (e->kind == EXPR_READ)
        range = read_range(s, under, e);
    else if (e->kind == EXPR_CAST && !type_is_float(e->args[0]->type))
        range = value_range(s, under, e->args[0]);
    else if (e->kind == EXPR_OP && !type_is_float(e->type) && op_info[e->op].class != CLASS_COMPARE)
        range = exact_range(s, under, e);
    return range_fits(range, e->type) ? range : interval_of_type(e->type);
}

/* Under conditions that contradict each other any range is right, and this one is no larger than without them. */
Interval value_range(const Statement *s, const Under *under, const Expr *e) {
    Interval range = range_by_itself(s, under, e);
    if (!under || e->kind == EXPR_INT || !type_is_integer(e->type))
        return range;
    Interval narrowed = narrowed_range(s, under, e, range);
    return range_is_empty(narrowed) ? range : narrowed;
}

/* Where a condition of the statement fails, an element has another value. */
void note_range(Statement *s, const Tensor *tensor, const Expr *value) {
    if (type_is_float(tensor->type) || element_info[tensor->type].bytes > 4 || s->predicates.count)
        return;
    narrowing_begin(s);
    TensorRange known = {tensor, value_range(s, NULL, value)};
    Interval whole = interval_of_type(tensor->type);
    if (known.range.low > whole.low || known.range.high < whole.high)
        list_push(s->builder->arena, &s->builder->ranges, known);
}
