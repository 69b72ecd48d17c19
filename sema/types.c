/* types.c - conversion between element types.
 *
 * type_promote of lang/ has the rule of promotion. Nothing is promoted to int: uint8 * uint8 is uint8 and wraps.
 */
#include "sema/check.h"

static bool is_constant(const Expr *e) {
    return (e->kind == EXPR_INT || e->kind == EXPR_REAL) && e->lanes == 1;
}

Expr *convert(Arena *arena, Expr *e, ElementType type) {
    if (e->type == type)
        return e;
    if (!is_constant(e))
        return expr_cast(arena, type, e);
    Value value = {.type = e->type, .integer = e->integer}; /* integer and real share their memory in both */
    Value converted = value_cast(value, type);
    Expr *made = expr_copy(arena, e);
    made->kind = type_is_float(type) ? EXPR_REAL : EXPR_INT;
    made->type = type;
    made->integer = converted.integer;
    return made;
}

Expr *typed_value(Arena *arena, Typed typed) {
    return typed.index && typed.expr ? convert(arena, typed.expr, typed.type) : typed.expr;
}

Expr *typed_as(Arena *arena, Typed typed, ElementType type) {
    return typed.wide && type != TYPE_FLOAT ? convert(arena, typed.wide, type)
                                            : convert(arena, typed_value(arena, typed), type);
}
