/* print.c - expressions as source text.
 *
 * Parentheses are the fewest that read back as the same tree, by the precedences of ops.def; `else` is parenthesised
 * inside an operator, for readers. Types of literals: float, int32 and int64 are plain, others are written as a cast.
 */
#include "lang/expr.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PRECEDENCE_ANY = 0, PRECEDENCE_PREFIX = 9, PRECEDENCE_PRIMARY = 10 };

static void print_at(Text *text, const Expr *e, int precedence);

static bool reads_back(const char *digits, double value, bool single) {
    double read = strtod(digits, NULL);
    return single ? (float)read == (float)value : read == value;
}

/* The fewest digits that read back as the value; always with a point or an exponent. */
static void print_real(Text *text, ElementType type, double value) {
    if (!isfinite(value)) {
        text_add(text, isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
        return;
    }
    char digits[40];
    for (int precision = 1; precision <= 17; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, value);
        if (reads_back(digits, value, type != TYPE_DOUBLE))
            break;
    }
    text_add(text, "%s%s", digits, strpbrk(digits, ".e") ? "" : ".0");
}

static void print_integer(Text *text, const Expr *e) {
    if (e->type == TYPE_BOOL)
        text_add(text, e->integer ? "true" : "false");
    else if (e->type == TYPE_UINT64)
        text_add(text, "%" PRIu64, (uint64_t)e->integer);
    else
        text_add(text, "%" PRId64, e->integer);
}

static void print_constant(Text *text, const Expr *e) {
    bool plain = e->type == TYPE_FLOAT || e->type == TYPE_INT32 || e->type == TYPE_INT64 || e->type == TYPE_BOOL;
    if (!plain)
        text_add(text, "%s(", element_info[e->type].spelling);
    if (e->kind == EXPR_REAL)
        print_real(text, e->type, e->real);
    else
        print_integer(text, e);
    if (!plain)
        text_add(text, ")");
}

static void print_args(Text *text, const char *name, const Expr *e) {
    text_add(text, "%s(", name);
    for (int i = 0; i < e->count; i++) {
        text_add(text, i ? ", " : "");
        print_at(text, e->args[i], PRECEDENCE_ANY);
    }
    text_add(text, ")");
}

static void print_read(Text *text, const Expr *e) {
    print_args(text, e->tensor->name, e);
    if (e->otherwise) {
        text_add(text, " else ");
        print_at(text, e->otherwise, PRECEDENCE_PREFIX);
    }
    if (e->guard) {
        text_add(text, " where ");
        print_at(text, e->guard, PRECEDENCE_PREFIX);
    }
}

/* Infix operators group to the left. */
static void print_op(Text *text, const Expr *e) {
    const OpInfo *info = &op_info[e->op];
    if (e->op == OP_SELECT) {
        print_at(text, e->args[0], info->precedence + 1);
        text_add(text, " ? ");
        print_at(text, e->args[1], PRECEDENCE_ANY);
        text_add(text, " : ");
        print_at(text, e->args[2], info->precedence);
    } else if (info->precedence == 0) {
        print_args(text, info->spelling, e);
    } else if (info->arity == 1) {
        text_add(text, "%s", info->spelling);
        print_at(text, e->args[0], PRECEDENCE_PRIMARY);
    } else {
        print_at(text, e->args[0], info->precedence);
        text_add(text, " %s ", info->spelling);
        print_at(text, e->args[1], info->precedence + 1);
    }
}

static int precedence_of(const Expr *e) {
    switch (e->kind) {
    case EXPR_INT:
        return e->integer < 0 && (e->type == TYPE_INT32 || e->type == TYPE_INT64) ? PRECEDENCE_PREFIX
                                                                                  : PRECEDENCE_PRIMARY;
    case EXPR_REAL: return signbit(e->real) && e->type == TYPE_FLOAT ? PRECEDENCE_PREFIX : PRECEDENCE_PRIMARY;
    case EXPR_OP: return op_info[e->op].precedence ? op_info[e->op].precedence : PRECEDENCE_PRIMARY;
    case EXPR_READ: return e->otherwise || e->guard ? PRECEDENCE_ANY : PRECEDENCE_PRIMARY;
    default: return PRECEDENCE_PRIMARY;
    }
}

static void print_node(Text *text, const Expr *e) {
    switch (e->kind) {
    case EXPR_INT:
    case EXPR_REAL: print_constant(text, e); break;
    case EXPR_VAR: text_add(text, "%s", e->var->name); break;
    case EXPR_READ: print_read(text, e); break;
    case EXPR_OP: print_op(text, e); break;
    case EXPR_CAST: print_args(text, element_info[e->type].spelling, e); break;
    case EXPR_CALL: print_args(text, e->instr->name, e); break;
    case EXPR_OFFSET: print_args(text, "offset", e); break;
    case EXPR_SHUFFLE: print_args(text, "shuffle", e); break;
    case EXPR_RAMP:
    case EXPR_BROADCAST:
    case EXPR_REPEAT:
        print_args(text, e->kind == EXPR_RAMP ? "ramp" : e->kind == EXPR_REPEAT ? "repeat" : "broadcast", e);
        text->text[--text->length] = '\0';
        text_add(text, ", %d)", e->lanes);
        break;
    }
}

static void print_at(Text *text, const Expr *e, int precedence) {
    bool parentheses = precedence_of(e) < precedence;
    text_add(text, parentheses ? "(" : "");
    print_node(text, e);
    text_add(text, parentheses ? ")" : "");
}

void expr_print(Text *text, const Expr *e) {
    print_at(text, e, PRECEDENCE_ANY);
}

const char *expr_text(Arena *arena, const Expr *e) {
    Text text = {.arena = arena};
    expr_print(&text, e);
    return text.text;
}
