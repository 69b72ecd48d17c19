/* sizes.c - sizes as expressions in normal form: see sizes.h. The arithmetic is lang's. */
#include "sema/sizes.h"

Expr *size_normal(Arena *arena, Expr *e) {
    Affine affine;
    return size_affine(arena, e, &affine) ? affine_expr(arena, &affine) : e;
}

Expr *size_min(Arena *arena, Expr *a, Expr *b) {
    return size_normal(arena, expr_binary(arena, OP_MIN, a, b));
}

Expr *size_max(Arena *arena, Expr *a, Expr *b) {
    return size_normal(arena, expr_binary(arena, OP_MAX, a, b));
}

bool size_equal(Arena *arena, Expr *a, Expr *b) {
    Affine difference;
    return size_affine(arena, expr_binary(arena, OP_SUB, a, b), &difference) && affine_is_zero(&difference);
}

bool size_is_too_long(Arena *arena, Expr *e) {
    Sum sum;
    sum_of_size(&sum, arena, e);
    return sum.too_long;
}

/* Multiplies by 2 for each size of the product. False where it has other factors, or where this overflows. */
static bool times_real_sizes(const Expr *atom, int64_t *term) {
    if (expr_is_op(atom, OP_MUL))
        return times_real_sizes(atom->args[0], term) && times_real_sizes(atom->args[1], term);
    return atom->kind == EXPR_VAR && atom->var->kind == VAR_SIZE && !__builtin_mul_overflow(*term, 2, term);
}

bool affine_negative_for_real_sizes(const Affine *affine) {
    int64_t value = affine->constant;
    for (int i = 0; i < affine->count; i++) {
        int64_t term = affine->terms[i].coefficient;
        if (term >= 0 || !times_real_sizes(affine->terms[i].atom, &term) || __builtin_add_overflow(value, term, &value))
            return false;
    }
    return affine->count > 0 && value < 0;
}
