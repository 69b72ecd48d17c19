/* types.c - element types of expressions: conversion, and the promotions that surprise.
 *
 * The rule of promotion itself is type_promote of lang/. There is no promotion to int: uint8 * uint8 is uint8 and
 * wraps.
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
    Value value = {.type = e->type, .integer = e->integer}; /* integer and real share their place in both */
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

static bool is_narrow_product(const Expr *e) {
    return e->kind == EXPR_OP && e->op == OP_MUL && type_is_integer(e->type) && element_info[e->type].bytes < 4;
}

void warn_narrow_product(Frame *frame, const Expr *value, ElementType wider) {
    if (!is_narrow_product(value) || element_info[wider].bytes <= element_info[value->type].bytes)
        return;
    const char *narrow = element_info[value->type].spelling, *wide = element_info[wider].spelling;
    if (!may_warn(frame))
        return;
    WARN(frame, narrow_product, value->loc, narrow, wide);
    HINT(frame, "convert the operands first: %s(a) * %s(b)", wide, wide);
    note_calls(frame);
}
