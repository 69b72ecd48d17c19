/* print.c - the text form of kernels; tests/unit/kernel_read.c reads it back, but for shared nests.
 *
 *     kernel conv2d symbol conv2d target x86-64-v4 {
 *         check M >= 1 status 1
 *         allocate register float R(14, 32) {
 *             parallel for io in 0:(M + 13) / 14 {
 *                 unrolled reduce ki in 0:4 {
 *                     R(ii, ramp(0, 1, 16)) = broadcast(A(io * 14 + ii where ii < M), 16) where jl < broadcast(N, 16)
 *
 * An allocation shows `as (d1/16, d0, d1%16)` if the order of its elements is not row major. A loop is `for` or, over a
 * reduction, `reduce`; `of N` follows an extent that is smaller than its variable's bound. A number is int64, or with a
 * point or exponent float; others show their type (`1:int32`). Names that are no plain words are in backquotes; loops
 * and buffers that share a name get a number. A shuffle lists lanes, counted through its vectors: `shuffle(a, b by
 * 0:8:2, 15, any:3)` has 0, 2, 4, 6, 15 and three of anything. An offset is `[N * 2, i * 16, j, 3]`: the parts that
 * change in no loop, in i and in j, and the constant.
 */
#include "lower/kernel/statements.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct PrintedName {
    const void *entity; /* a Var or a Tensor */
    const char *text;
} PrintedName;

typedef struct Printer {
    Text *text;
    LIST(PrintedName) names; /* in scope, innermost last */
    int indent;
} Printer;

/* --- names -------------------------------------------------------------------------------------------------------- */

static bool name_taken(const Printer *p, const char *text) {
    for (int i = 0; i < p->names.count; i++)
        if (!strcmp(p->names.items[i].text, text))
            return true;
    return false;
}

static void name_add(Printer *p, const void *entity, const char *name) {
    Arena *arena = p->text->arena;
    const char *text = name;
    for (int i = 0; i < p->names.count; i++)
        if (p->names.items[i].entity == entity)
            return;
    for (int number = 2; name_taken(p, text); number++)
        text = arena_printf(arena, "%s_%d", name, number);
    list_push(arena, &p->names, ((PrintedName){entity, text}));
}

static const char *name_of(const Printer *p, const void *entity, const char *fallback) {
    for (int i = p->names.count - 1; i >= 0; i--)
        if (p->names.items[i].entity == entity)
            return p->names.items[i].text;
    return fallback;
}

static bool is_plain_name(const char *name) {
    static const char *const words[] = {
        "ramp",  "broadcast", "where",  "inf",    "nan",      "true",  "false",    "kernel",   "repeat",
        "call",  "by",        "symbol", "target", "strict",   "for",   "reduce",   "in",       "of",
        "if",    "else",      "check",  "status", "step",     "block", "allocate", "constant", "global",
        "local", "register",  "shared", "masked", "prefetch", "far",   "together", "shuffle",  "any"};
    if (!isalpha((unsigned char)*name) && *name != '_')
        return false;
    for (const char *at = name; *at; at++)
        if (!isalnum((unsigned char)*at) && !strchr("_.[]", *at))
            return false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(words[i], name))
            return false;
    for (int kind = 0; kind < LOOP_KIND_COUNT; kind++)
        if (!strcmp(loop_kind_words[kind], name))
            return false;
    for (int op = 0; op < OP_COUNT; op++)
        if (!strcmp(op_info[op].spelling, name))
            return false;
    for (int type = 0; type < TYPE_COUNT; type++)
        if (!strcmp(element_info[type].spelling, name))
            return false;
    return true;
}

static void print_name(Printer *p, const void *entity, const char *fallback) {
    const char *name = name_of(p, entity, fallback);
    text_add(p->text, is_plain_name(name) ? "%s" : "`%s`", name);
}

/* --- expressions -------------------------------------------------------------------------------------------------- */

static void print_expr(Printer *p, const Expr *e, int precedence);

static void print_list(Printer *p, Expr *const *list, int count) {
    for (int i = 0; i < count; i++) {
        text_add(p->text, i ? ", " : "");
        print_expr(p, list[i], 0);
    }
}

static void print_real(Printer *p, const Expr *e) {
    char digits[64];
    if (isfinite(e->real)) {
        for (int precision = 6; precision <= 17; precision++) {
            snprintf(digits, sizeof digits, "%.*g", precision, e->real);
            if (strtod(digits, NULL) == e->real)
                break;
        }
        text_add(p->text, "%s%s", digits, strpbrk(digits, ".e") ? "" : ".0");
    } else {
        text_add(p->text, isnan(e->real) ? "nan" : e->real < 0 ? "-inf" : "inf");
    }
    if (e->type != TYPE_FLOAT)
        text_add(p->text, ":%s", element_info[e->type].spelling);
}

static void print_integer(Printer *p, const Expr *e) {
    if (e->type == TYPE_BOOL) {
        text_add(p->text, e->integer ? "true" : "false");
        return;
    }
    text_add(p->text, "%lld", (long long)e->integer);
    if (e->type != TYPE_INT64)
        text_add(p->text, ":%s", element_info[e->type].spelling);
}

static void print_infix(Printer *p, const Expr *e, int precedence) {
    int own = op_info[e->op].precedence;
    if (own < precedence)
        text_add(p->text, "(");
    if (e->op == OP_SELECT) {
        print_expr(p, e->args[0], own + 1);
        text_add(p->text, " ? ");
        print_expr(p, e->args[1], own + 1);
        text_add(p->text, " : ");
        print_expr(p, e->args[2], own);
    } else {
        print_expr(p, e->args[0], own);
        text_add(p->text, " %s ", op_info[e->op].spelling);
        print_expr(p, e->args[1], own + 1);
    }
    if (own < precedence)
        text_add(p->text, ")");
}

static void print_operator(Printer *p, const Expr *e, int precedence) {
    const OpInfo *info = &op_info[e->op];
    if (info->precedence == 0) {
        text_add(p->text, "%s(", info->spelling);
        print_list(p, e->args, e->count);
        text_add(p->text, ")");
    } else if (e->count == 1) { /* always parentheses: -5 is a constant */
        text_add(p->text, "%s(", info->spelling);
        print_expr(p, e->args[0], 0);
        text_add(p->text, ")");
    } else {
        print_infix(p, e, precedence);
    }
}

static void print_read(Printer *p, const Expr *e) {
    print_name(p, e->tensor, e->tensor->name);
    text_add(p->text, "(");
    print_list(p, e->args, e->count);
    if (e->guard) {
        text_add(p->text, " where ");
        print_expr(p, e->guard, 0);
    }
    text_add(p->text, ")");
}

static void print_call(Printer *p, const char *name, const Expr *e) {
    text_add(p->text, "%s(", name);
    print_list(p, e->args, e->count);
    if (e->lanes > 1 && e->kind != EXPR_CAST)
        text_add(p->text, ", %d", e->lanes);
    text_add(p->text, ")");
}

/* How many lanes, from the first on, have this step between them. */
static int run_length(const int *lanes, int count, int step) {
    int length = 1;
    while (length < count && lanes[length] == lanes[length - 1] + step)
        length++;
    return length;
}

static void print_pattern(Printer *p, const int *pattern, int lanes) {
    for (int lane = 0, length; lane < lanes; lane += length) {
        int first = pattern[lane], step = first < 0 ? 0 : lane + 1 < lanes ? pattern[lane + 1] - first : 1;
        length = (first < 0 || step > 0) ? run_length(pattern + lane, lanes - lane, step) : 1;
        if (first >= 0 && length == 2) /* it may begin a longer run */
            length = 1;
        text_add(p->text, lane ? ", " : "");
        text_add(p->text, first < 0 ? "any" : "%d", first);
        if (length > 1)
            text_add(p->text, ":%d", first < 0 ? length : first + length * step);
        if (length > 1 && step > 1)
            text_add(p->text, ":%d", step);
    }
}

static void print_shuffle(Printer *p, const Expr *e) {
    text_add(p->text, "shuffle(");
    print_list(p, e->args, e->count);
    text_add(p->text, " by ");
    print_pattern(p, e->pattern, e->lanes);
    text_add(p->text, ")");
}

static void print_offset(Printer *p, const Expr *e) {
    text_add(p->text, "[");
    print_list(p, e->args, e->count);
    text_add(p->text, ", %lld]", (long long)e->integer);
}

static void print_expr(Printer *p, const Expr *e, int precedence) {
    switch (e->kind) {
    case EXPR_INT: print_integer(p, e); break;
    case EXPR_REAL: print_real(p, e); break;
    case EXPR_VAR: print_name(p, e->var, e->var->name); break;
    case EXPR_READ: print_read(p, e); break;
    case EXPR_OP: print_operator(p, e, precedence); break;
    case EXPR_CAST: print_call(p, element_info[e->type].spelling, e); break;
    case EXPR_RAMP: print_call(p, "ramp", e); break;
    case EXPR_BROADCAST: print_call(p, "broadcast", e); break;
    case EXPR_REPEAT: print_call(p, "repeat", e); break;
    case EXPR_SHUFFLE: print_shuffle(p, e); break;
    case EXPR_OFFSET: print_offset(p, e); break;
    case EXPR_CALL:
        text_add(p->text, "call ");
        print_name(p, NULL, e->instr->name);
        text_add(p->text, "(");
        print_list(p, e->args, e->count);
        text_add(p->text, ")");
        break;
    }
}

/* --- statements --------------------------------------------------------------------------------------------------- */

static void print_stmt(Printer *p, const Stmt *stmt);

static void line_start(Printer *p) {
    text_add(p->text, "%*s", 4 * p->indent, "");
}

static void print_body(Printer *p, Stmt *const *body, int count) {
    text_add(p->text, " {\n");
    p->indent++;
    for (int i = 0; i < count; i++)
        print_stmt(p, body[i]);
    p->indent--;
    line_start(p);
    text_add(p->text, "}");
}

static void print_for(Printer *p, const Stmt *stmt) {
    int names = p->names.count;
    name_add(p, stmt->var, stmt->var->name);
    text_add(p->text, "%s", stmt->masked ? "masked " : "");
    if (stmt->loop != LOOP_SERIAL)
        text_add(p->text, "%s ", loop_kind_words[stmt->loop]);
    text_add(p->text, stmt->var->reduction ? "reduce " : "for ");
    print_name(p, stmt->var, stmt->var->name);
    text_add(p->text, " in 0:");
    print_expr(p, stmt->extent, 2);
    if (stmt->var->extent && !expr_equal(stmt->var->extent, stmt->extent)) {
        text_add(p->text, " of ");
        print_expr(p, stmt->var->extent, 2);
    }
    if (stmt->loop == LOOP_TENSORIZED) {
        text_add(p->text, " by ");
        print_name(p, NULL, stmt->var->instr->name);
    }
    print_body(p, stmt->body, stmt->count);
    p->names.count = names;
}

static void print_if(Printer *p, const Stmt *stmt) {
    text_add(p->text, "if ");
    print_expr(p, stmt->condition, 0);
    print_body(p, stmt->body, stmt->count);
    if (stmt->otherwise_count) {
        text_add(p->text, " else");
        print_body(p, stmt->otherwise, stmt->otherwise_count);
    }
}

static void print_access(Printer *p, const Stmt *stmt) {
    print_name(p, stmt->tensor, stmt->tensor->name);
    text_add(p->text, "(");
    print_list(p, stmt->index, stmt->index_count);
    text_add(p->text, ")");
}

static void print_store(Printer *p, const Stmt *stmt) {
    print_access(p, stmt);
    text_add(p->text, " = ");
    print_expr(p, stmt->value, 0);
    if (stmt->guard) {
        text_add(p->text, " where ");
        print_expr(p, stmt->guard, 0);
    }
}

static void print_dims(Printer *p, const Tensor *tensor) {
    text_add(p->text, "(");
    print_list(p, tensor->dims, tensor->rank);
    text_add(p->text, ")");
    if (tensor->order) {
        text_add(p->text, " as ");
        order_print(p->text, tensor->order);
    }
}

static void print_allocate(Printer *p, const Stmt *stmt) {
    static const char *const scopes[SCOPE_COUNT] = {"global", "local", "register", "shared"};
    const Tensor *tensor = stmt->tensor;
    int names = p->names.count;
    name_add(p, tensor, tensor->name);
    text_add(p->text, "allocate %s %s ", scopes[tensor->scope], element_info[tensor->type].spelling);
    print_name(p, tensor, tensor->name);
    print_dims(p, tensor);
    print_body(p, stmt->body, stmt->count);
    p->names.count = names;
}

/* run nest 1(x, y, 5): its tensors, then its numbers. */
static void print_shared(Printer *p, const Stmt *stmt) {
    const SharedNest *nest = stmt->shared;
    text_add(p->text, "run nest %d(", nest->number);
    for (int i = 0; i < nest->tensor_count; i++) {
        text_add(p->text, i ? ", " : "");
        print_name(p, stmt->tensors[i], stmt->tensors[i]->name);
    }
    for (int i = 0; i < nest->number_count; i++) {
        text_add(p->text, i || nest->tensor_count ? ", " : "");
        print_expr(p, stmt->numbers[i], 0);
    }
    text_add(p->text, ")");
}

static void print_stmt(Printer *p, const Stmt *stmt) {
    line_start(p);
    switch (stmt->kind) {
    case STMT_BLOCK:
        text_add(p->text, "block");
        print_body(p, stmt->body, stmt->count);
        break;
    case STMT_FOR: print_for(p, stmt); break;
    case STMT_IF: print_if(p, stmt); break;
    case STMT_STORE: print_store(p, stmt); break;
    case STMT_TOGETHER:
        text_add(p->text, "together");
        print_body(p, stmt->body, stmt->count);
        break;
    case STMT_ALLOCATE: print_allocate(p, stmt); break;
    case STMT_CHECK:
        text_add(p->text, "check ");
        print_expr(p, stmt->condition, 0);
        text_add(p->text, " status %d", stmt->status);
        break;
    case STMT_PREFETCH:
        text_add(p->text, stmt->far ? "prefetch far " : "prefetch ");
        print_access(p, stmt);
        break;
    case STMT_STEP: text_add(p->text, "step"); break;
    case STMT_SHARED: print_shared(p, stmt); break;
    }
    text_add(p->text, "\n");
}

void stmt_print(Text *text, const Stmt *stmt) {
    print_stmt(&(Printer){.text = text}, stmt);
}

/* What is visible everywhere: sizes, scalars and tensors of the program. */
static void add_program_names(Printer *p, const Program *program) {
    for (int i = 0; i < program->size_count; i++)
        name_add(p, program->sizes[i], program->sizes[i]->name);
    for (int i = 0; i < program->argument_count; i++)
        if (program->arguments[i].scalar)
            name_add(p, program->arguments[i].scalar, program->arguments[i].scalar->name);
    for (int i = 0; i < program->argument_count; i++) {
        const Argument *argument = &program->arguments[i];
        if (argument->tensor)
            name_add(p, argument->tensor, argument->tensor->name);
        for (int k = 0; k < argument->part_count; k++)
            name_add(p, argument->parts[k].tensor, argument->parts[k].tensor->name);
    }
    for (int i = 0; i < program->tensor_count; i++)
        name_add(p, program->tensors[i], program->tensors[i]->name);
}

/* Prints constants that were computed at compile time, without their contents. */
static void print_constants(Printer *p, const Kernel *kernel) {
    const Tensor **constants;
    int count = kernel_constants(p->text->arena, kernel, &constants);
    for (int i = 0; i < count; i++) {
        const Tensor *tensor = constants[i];
        name_add(p, tensor, tensor->name);
        text_add(p->text, "\n    constant %s ", element_info[tensor->type].spelling);
        print_name(p, tensor, tensor->name);
        print_dims(p, tensor);
    }
    text_add(p->text, count ? "\n" : "");
}

/* nest 1(global float x(100), global float y(100), number to 7, float number_2) { */
static void print_nest(Printer *p, const SharedNest *nest) {
    int names = p->names.count;
    text_add(p->text, "\n    nest %d(", nest->number);
    for (int i = 0; i < nest->tensor_count; i++) {
        const Tensor *tensor = nest->tensors[i];
        name_add(p, tensor, tensor->name);
        text_add(p->text, "%s%s ", i ? ", " : "", element_info[tensor->type].spelling);
        print_name(p, tensor, tensor->name);
        print_dims(p, tensor);
    }
    for (int i = 0; i < nest->number_count; i++) {
        const Var *number = nest->numbers[i];
        name_add(p, number, number->name);
        text_add(p->text, "%s", i || nest->tensor_count ? ", " : "");
        if (number->kind == VAR_SCALAR)
            text_add(p->text, "%s ", element_info[number->type].spelling);
        print_name(p, number, number->name);
        if (!type_is_float(number->type) && number->least)
            text_add(p->text, " from %lld", (long long)number->least);
        if (!type_is_float(number->type))
            text_add(p->text, " to %lld", (long long)number->most);
    }
    text_add(p->text, ")");
    p->indent++;
    print_body(p, nest->kernel->body->body, nest->kernel->body->count);
    p->indent--;
    p->names.count = names;
}

void kernel_print(Text *text, const Kernel *kernel) {
    Printer p = {.text = text};
    add_program_names(&p, kernel->program);
    text_add(text, "kernel ");
    print_name(&p, NULL, kernel->program->name);
    text_add(text, " symbol ");
    print_name(&p, NULL, kernel->program->symbol);
    if (kernel->target)
        text_add(text, " target %s", kernel->target->name);
    text_add(text, kernel->strict ? " strict" : "");
    print_constants(&p, kernel);
    for (int n = 0; n < kernel->shared.count; n++)
        print_nest(&p, kernel->shared.items[n]);
    text_add(text, kernel->shared.count ? "\n" : "");
    print_body(&p, kernel->body->body, kernel->body->count);
    text_add(text, "\n");
}
