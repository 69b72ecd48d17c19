/* pattern.c - indices whose lanes are apart by numbers that are known at compile time: what quotients and remainders
 * of a row of lanes by a constant are, where the row begins at a multiple of it.
 *
 * Two neighbours that read the same byte, the pairs and triples of a fused loop: such lanes are read as one row and
 * shuffled.
 */
#include "backends/llvm/code.h"
#include "lang/expr.h"

/* Numbers whose products with lanes are no larger than an index. */
static bool is_small(int64_t value) {
    return value >= INT32_MIN && value <= INT32_MAX;
}

static int64_t floor_quotient(int64_t a, int64_t by) {
    return a / by - (a % by < 0);
}

static bool all_equal(const int64_t *offsets, int lanes, int64_t value) {
    for (int i = 0; i < lanes; i++)
        if (offsets[i] != value)
            return false;
    return true;
}

/* The number that all lanes are; false: they differ, or it is not known. */
static bool constant_of(Code *code, Expr *e, int64_t *value) {
    return e->kind == EXPR_BROADCAST ? constant_of(code, e->args[0], value) : expr_is_int(e, value);
}

/* Quotient or remainder by a constant: of a base that is so many times it, and something that all lanes have more. */
static bool divide_pattern(Code *code, const Expr *e, int lanes, Expr **base, int64_t *offsets) {
    int64_t by;
    Affine affine;
    if (!constant_of(code, e->args[1], &by) || by <= 0 || !lane_pattern(code, e->args[0], lanes, base, offsets) ||
        !expr_affine(code->arena, *base, &affine))
        return false;
    for (int t = 0; t < affine.count; t++) {
        if (affine.terms[t].coefficient % by != 0)
            return false;
        affine.terms[t].coefficient /= by;
    }
    int64_t more = affine.constant;
    affine.constant = 0;
    if (!is_small(more))
        return false;
    for (int i = 0; i < lanes; i++) {
        int64_t quotient = floor_quotient(offsets[i] + more, by);
        offsets[i] = e->op == OP_DIV ? quotient : offsets[i] + more - quotient * by;
    }
    *base = e->op == OP_DIV ? affine_expr(code->arena, &affine) : expr_int(code->arena, 0);
    return true;
}

static bool combine_patterns(Code *code, const Expr *e, int lanes, Expr **base, int64_t *offsets) {
    int64_t others[lanes], factor;
    Expr *other;
    if (!lane_pattern(code, e->args[0], lanes, base, offsets) || !lane_pattern(code, e->args[1], lanes, &other, others))
        return false;
    if (e->op == OP_MUL) {
        bool first = expr_is_int(*base, &factor) && all_equal(offsets, lanes, 0);
        if (!first && (!expr_is_int(other, &factor) || !all_equal(others, lanes, 0)))
            return false;
        if (!is_small(factor))
            return false;
        for (int i = 0; i < lanes; i++)
            offsets[i] = (first ? others[i] : offsets[i]) * factor;
    }
    for (int i = 0; i < lanes && e->op != OP_MUL; i++)
        offsets[i] = e->op == OP_ADD ? offsets[i] + others[i] : offsets[i] - others[i];
    *base = expr_binary(code->arena, e->op, *base, other);
    for (int i = 0; i < lanes; i++)
        if (!is_small(offsets[i]))
            return false;
    return true;
}

bool lane_pattern(Code *code, Expr *index, int lanes, Expr **base, int64_t *offsets) {
    int64_t stride = 0;
    bool row = index->kind == EXPR_RAMP && expr_is_int(index->args[1], &stride);
    if (index->type != TYPE_INT64)
        return false;
    if (row || index->kind == EXPR_BROADCAST || index->lanes == 1) {
        *base = index->lanes == 1 ? index : index->args[0];
        for (int i = 0; i < lanes; i++)
            offsets[i] = stride * i;
        return is_small(stride);
    }
    if (index->kind != EXPR_OP)
        return false;
    switch (index->op) {
    case OP_DIV:
    case OP_MOD: return divide_pattern(code, index, lanes, base, offsets);
    case OP_ADD:
    case OP_SUB:
    case OP_MUL: return combine_patterns(code, index, lanes, base, offsets);
    default: return false;
    }
}
