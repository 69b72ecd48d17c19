/* kernel_read.c - reads the text that lower/kernel/print.c writes.
 *
 * A descent over tokens; names are looked up in the program, then in the loops and allocations around. Types follow
 * from the operands. The first error stops everything: what is made after it is never looked at.
 */
#include "kernel_read.h"
#include "lower/kernel/statements.h"
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef enum TokenKind { TOKEN_END, TOKEN_NAME, TOKEN_INTEGER, TOKEN_REAL, TOKEN_SIGN } TokenKind;

typedef struct Token {
    TokenKind kind;
    bool quoted; /* a name in backquotes */
    const char *text;
    const char *after;
} Token;

typedef struct Name {
    const char *text;
    const Var *var;
    const Tensor *tensor;
} Name;

typedef struct Reader {
    Arena *arena;
    const Program *program;
    const char *start;
    Token token;
    LIST(Name) names;
    const char *why;
} Reader;

/* --- tokens ------------------------------------------------------------------------------------------------------- */

static void fail(Reader *r, const char *message) {
    int line = 1;
    for (const char *at = r->start; !r->why && at < r->token.text && *at; at++)
        line += *at == '\n';
    if (!r->why)
        r->why = arena_printf(r->arena, "line %d: %s", line, message);
    r->token = (Token){.kind = TOKEN_END, .text = "", .after = ""};
}

static const char *name_end(const char *at) {
    while (isalnum((unsigned char)*at) || (*at && strchr("_.[]", *at)))
        at++;
    return at;
}

static const char *number_end(const char *at, TokenKind *kind) {
    *kind = TOKEN_INTEGER;
    while (isdigit((unsigned char)*at) || *at == '.' || *at == 'e' || (strchr("+-", *at) && at[-1] == 'e' && *at)) {
        if (!isdigit((unsigned char)*at))
            *kind = TOKEN_REAL;
        at++;
    }
    return at;
}

static const char *sign_end(const char *at) {
    static const char *const pairs[] = {"<=", ">=", "==", "!=", "&&", "||"};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (!strncmp(at, pairs[i], 2))
            return at + 2;
    return at + 1;
}

static void next(Reader *r) {
    const char *at = r->token.after;
    while (isspace((unsigned char)*at))
        at++;
    Token token = {.text = at, .after = at};
    if (isalpha((unsigned char)*at) || *at == '_') {
        token.kind = TOKEN_NAME;
        token.after = name_end(at);
    } else if (*at == '`') {
        const char *end = strchr(at + 1, '`');
        token = (Token){TOKEN_NAME, true, at + 1, end ? end : at + strlen(at)};
    } else if (isdigit((unsigned char)*at)) {
        token.after = number_end(at, &token.kind);
    } else if (*at) {
        token.kind = TOKEN_SIGN;
        token.after = sign_end(at);
    }
    r->token = token;
}

static size_t token_length(const Reader *r) {
    return (size_t)(r->token.after - r->token.text);
}

static bool is(const Reader *r, const char *text) {
    return r->token.kind != TOKEN_END && !r->token.quoted && token_length(r) == strlen(text) &&
           !memcmp(r->token.text, text, token_length(r));
}

static void skip_token(Reader *r) {
    if (r->token.quoted && *r->token.after)
        r->token.after++;
    next(r);
}

static bool accept(Reader *r, const char *text) {
    if (!is(r, text))
        return false;
    skip_token(r);
    return true;
}

static void expect(Reader *r, const char *text) {
    if (!accept(r, text))
        fail(r, arena_printf(r->arena, "expected '%s'", text));
}

static const char *take_name(Reader *r) {
    if (r->token.kind != TOKEN_NAME) {
        fail(r, "expected a name");
        return "";
    }
    const char *name = arena_strndup(r->arena, r->token.text, token_length(r));
    skip_token(r);
    return name;
}

static int64_t take_integer(Reader *r) {
    errno = 0;
    bool negative = accept(r, "-");
    int64_t value = r->token.kind == TOKEN_INTEGER ? strtoll(r->token.text - negative, NULL, 10) : 0;
    if (r->token.kind != TOKEN_INTEGER || errno)
        fail(r, "expected an integer");
    else
        skip_token(r);
    return value;
}

/* --- names -------------------------------------------------------------------------------------------------------- */

static const Var *find_var(const Reader *r, const char *name) {
    for (int i = r->names.count - 1; i >= 0; i--)
        if (r->names.items[i].var && !strcmp(r->names.items[i].text, name))
            return r->names.items[i].var;
    return NULL;
}

static const Tensor *find_tensor(const Reader *r, const char *name) {
    for (int i = r->names.count - 1; i >= 0; i--)
        if (r->names.items[i].tensor && !strcmp(r->names.items[i].text, name))
            return r->names.items[i].tensor;
    return NULL;
}

static void add_name(Reader *r, const char *text, const Var *var, const Tensor *tensor) {
    list_push(r->arena, &r->names, ((Name){text, var, tensor}));
}

static void add_program_names(Reader *r) {
    const Program *program = r->program;
    for (int i = 0; i < program->tensor_count; i++)
        if (program->tensors[i]->role == ROLE_CONSTANT)
            add_name(r, program->tensors[i]->name, NULL, program->tensors[i]);
    for (int i = 0; i < program->size_count; i++)
        add_name(r, program->sizes[i]->name, program->sizes[i], NULL);
    for (int i = 0; i < program->argument_count; i++) {
        if (program->arguments[i].scalar)
            add_name(r, program->arguments[i].scalar->name, program->arguments[i].scalar, NULL);
        else
            add_name(r, program->arguments[i].tensor->name, NULL, program->arguments[i].tensor);
    }
}

/* --- expressions -------------------------------------------------------------------------------------------------- */

static Expr *read_expr(Reader *r, int precedence);

static Expr *nothing(Reader *r) {
    return expr_int(r->arena, 0);
}

static int find_type(const Reader *r) {
    for (int type = 0; type < TYPE_COUNT; type++)
        if (is(r, element_info[type].spelling))
            return type;
    return -1;
}

static ExprList read_list(Reader *r) {
    ExprList list = {0};
    while (!r->why && !is(r, ")") && !is(r, "where") && !is(r, "by")) {
        list_push(r->arena, &list, read_expr(r, 0));
        if (!accept(r, ","))
            break;
    }
    return list;
}

static ElementType read_suffix(Reader *r, ElementType otherwise) {
    if (!is(r, ":") || isspace((unsigned char)r->token.text[-1])) /* that of a choice stands between blanks */
        return otherwise;
    skip_token(r);
    int type = find_type(r);
    if (type < 0)
        fail(r, "expected an element type");
    else
        skip_token(r);
    return type < 0 ? otherwise : (ElementType)type;
}

static Expr *make_number(Reader *r, ElementType type, double real, int64_t integer) {
    Expr *e =
        expr_copy(r->arena, type_is_float(type) ? expr_constant(r->arena, type, real) : expr_int(r->arena, integer));
    e->type = type;
    return e;
}

static Expr *read_real(Reader *r, double value) {
    skip_token(r);
    ElementType type = read_suffix(r, TYPE_FLOAT);
    if (!type_is_float(type))
        fail(r, "an integer type has no such value");
    return make_number(r, type, value, 0);
}

static Expr *read_number(Reader *r, bool negative) {
    if (r->token.kind == TOKEN_REAL)
        return read_real(r, (negative ? -1 : 1) * strtod(r->token.text, NULL));
    if (is(r, "inf") || is(r, "nan"))
        return read_real(r, is(r, "nan") ? NAN : negative ? -INFINITY : INFINITY);
    char digits[32];
    snprintf(digits, sizeof digits, "%s%.*s", negative ? "-" : "", (int)token_length(r), r->token.text);
    errno = 0;
    int64_t value = strtoll(digits, NULL, 10);
    if (errno)
        fail(r, "an integer of 64 bits is expected");
    skip_token(r);
    ElementType type = read_suffix(r, TYPE_INT64);
    if (type_is_float(type))
        fail(r, "a float has a point or an exponent");
    return make_number(r, type, 0, value);
}

static bool starts_number(const Reader *r) {
    return r->token.kind == TOKEN_INTEGER || r->token.kind == TOKEN_REAL || is(r, "inf") || is(r, "nan");
}

/* The operator over operands whose types and lanes agree. */
static Expr *make_operator(Reader *r, Op op, Expr **args, int count) {
    const Expr *first = args[op == OP_SELECT];
    for (int i = 0; i < count; i++) {
        ElementType wanted = op == OP_SELECT && i == 0 ? TYPE_BOOL : first->type;
        if (args[i]->type != wanted || args[i]->lanes != first->lanes)
            fail(r, arena_printf(r->arena, "operands of '%s' differ in type or lanes", op_info[op].spelling));
    }
    if (count != op_info[op].arity)
        fail(r, arena_printf(r->arena, "'%s' has %d operands", op_info[op].spelling, op_info[op].arity));
    if (r->why)
        return nothing(r);
    bool is_bool = op_info[op].class == CLASS_COMPARE || op_info[op].class == CLASS_LOGIC;
    return expr_op(r->arena, op, is_bool ? TYPE_BOOL : first->type, args, count);
}

static Expr *read_vector(Reader *r, bool ramp) {
    skip_token(r);
    expect(r, "(");
    ExprList list = read_list(r);
    expect(r, ")");
    int64_t lanes = 0;
    bool fits =
        list.count == 2 + ramp && expr_is_int(list.items[list.count - 1], &lanes) && lanes > 1 && lanes < INT32_MAX;
    for (int i = 0; fits && i < list.count; i++)
        fits = list.items[i]->lanes == 1 && (!ramp || list.items[i]->type == TYPE_INT64);
    if (!fits)
        fail(r, "ramp(base, stride, lanes) or broadcast(value, lanes) is expected");
    if (r->why)
        return nothing(r);
    return ramp ? expr_ramp(r->arena, list.items[0], list.items[1], (int)lanes)
                : expr_broadcast(r->arena, list.items[0], (int)lanes);
}

static const Instr *take_instr(Reader *r) {
    const Instr *instr = program_find_instr(r->program, take_name(r));
    if (!instr)
        fail(r, "there is no such instruction");
    return instr;
}

enum { MOST_LANES = 1 << 16 };
typedef LIST(int) LanePattern;

static Expr *read_repeat(Reader *r) {
    skip_token(r);
    expect(r, "(");
    Expr *a = read_expr(r, 0);
    expect(r, ",");
    int64_t lanes = take_integer(r);
    expect(r, ")");
    if (a->lanes == 1 || lanes > INT32_MAX || lanes < a->lanes || lanes % a->lanes != 0)
        fail(r, "repeat(vector, lanes) is expected");
    return r->why ? nothing(r) : expr_repeat(r->arena, a, (int)lanes);
}

/* 3, 0:8:2, any, any:4: appended to the lanes. */
static void read_lanes(Reader *r, LanePattern *lanes) {
    bool any = accept(r, "any");
    int64_t first = any ? -1 : take_integer(r), end = first + 1, step = 1;
    if (accept(r, ":"))
        end = any ? -1 + take_integer(r) : take_integer(r);
    else if (any)
        end = 0;
    if (!any && accept(r, ":"))
        step = take_integer(r);
    if (end <= first || step < 1 || end > MOST_LANES || (end - first + step - 1) / step > MOST_LANES - lanes->count)
        fail(r, "lanes are FIRST, FIRST:END, FIRST:END:STEP, any or any:COUNT");
    for (int64_t lane = first; !r->why && lane < end; lane += step)
        list_push(r->arena, lanes, any ? -1 : (int)lane);
}

static Expr *read_shuffle(Reader *r) {
    LanePattern lanes = {0};
    skip_token(r);
    expect(r, "(");
    ExprList list = read_list(r);
    expect(r, "by");
    do
        read_lanes(r, &lanes);
    while (!r->why && accept(r, ","));
    expect(r, ")");
    for (int i = 0; i < list.count && !r->why; i++)
        if (list.items[i]->lanes == 1 || list.items[i]->lanes != list.items[0]->lanes ||
            list.items[i]->type != list.items[0]->type)
            fail(r, "vectors that are shuffled are of one type and of equal lanes");
    if (!list.count)
        fail(r, "shuffle(vectors by lanes) is expected");
    return r->why ? nothing(r) : expr_shuffle(r->arena, list.items, list.count, lanes.items, lanes.count);
}

static Expr *read_instr_call(Reader *r) {
    skip_token(r);
    const Instr *instr = take_instr(r);
    expect(r, "(");
    ExprList list = read_list(r);
    expect(r, ")");
    return r->why ? nothing(r) : expr_call(r->arena, instr, list.items, list.count);
}

static Expr *read_cast(Reader *r, ElementType type) {
    skip_token(r);
    expect(r, "(");
    Expr *a = read_expr(r, 0);
    expect(r, ")");
    return expr_cast(r->arena, type, a);
}

static int find_call(const Reader *r) {
    for (int op = 0; op < OP_COUNT; op++)
        if (op_info[op].precedence == 0 && is(r, op_info[op].spelling))
            return op;
    return -1;
}

static Expr *read_call(Reader *r, Op op) {
    skip_token(r);
    expect(r, "(");
    ExprList list = read_list(r);
    expect(r, ")");
    return list.count ? make_operator(r, op, list.items, list.count) : nothing(r);
}

static Expr *read_guard(Reader *r, int lanes) {
    Expr *guard = read_expr(r, 0);
    if (guard->type != TYPE_BOOL || guard->lanes != lanes)
        fail(r, "a guard is a bool of its access's lanes");
    return guard;
}

static bool same_lanes(const ExprList *list) {
    for (int i = 1; i < list->count; i++)
        if (list->items[i]->lanes != list->items[0]->lanes)
            return false;
    return true;
}

/* What follows the name of a tensor: its indices. */
static ExprList read_indices(Reader *r, const Tensor *tensor) {
    expect(r, "(");
    ExprList list = read_list(r);
    if (tensor && list.count != tensor->rank && list.count != 1)
        fail(r, arena_printf(r->arena, "'%s' has %d dimensions", tensor->name, tensor->rank));
    if (!same_lanes(&list))
        fail(r, "indices differ in lanes");
    return list;
}

static Expr *read_access(Reader *r, const char *name) {
    const Tensor *tensor = find_tensor(r, name);
    if (!tensor)
        fail(r, arena_printf(r->arena, "no buffer '%s' is here", name));
    ExprList list = read_indices(r, tensor);
    if (r->why)
        return nothing(r);
    Expr *like = expr_copy(r->arena, nothing(r));
    *like = (Expr){.kind = EXPR_READ, .type = tensor->type, .lanes = list.count ? list.items[0]->lanes : 1};
    like->tensor = tensor;
    like->count = list.count;
    like->args = list.items;
    if (accept(r, "where"))
        like->guard = read_guard(r, like->lanes);
    expect(r, ")");
    return like;
}

static Expr *read_name(Reader *r) {
    int type = find_type(r), call = find_call(r);
    if (accept(r, "true"))
        return expr_bool(r->arena, true);
    if (accept(r, "false"))
        return expr_bool(r->arena, false);
    if (is(r, "ramp") || is(r, "broadcast"))
        return read_vector(r, is(r, "ramp"));
    if (is(r, "repeat"))
        return read_repeat(r);
    if (is(r, "shuffle"))
        return read_shuffle(r);
    if (is(r, "call"))
        return read_instr_call(r);
    if (type >= 0)
        return read_cast(r, (ElementType)type);
    if (call >= 0)
        return read_call(r, (Op)call);
    const char *name = take_name(r);
    if (is(r, "("))
        return read_access(r, name);
    const Var *var = find_var(r, name);
    if (!var)
        fail(r, arena_printf(r->arena, "no variable '%s' is here", name));
    return var ? expr_var(r->arena, var) : nothing(r);
}

/* [N * 2, i * 16, 3] */
static Expr *read_offset(Reader *r) {
    int64_t constant = 0;
    ExprList parts = {0};
    while (!r->why && !is(r, "]")) {
        list_push(r->arena, &parts, read_expr(r, 0));
        if (!accept(r, ","))
            break;
    }
    expect(r, "]");
    for (int i = 0; i < parts.count && !r->why; i++)
        if (parts.items[i]->type != TYPE_INT64 || parts.items[i]->lanes != 1)
            fail(r, "the parts of an offset are scalars of type int64");
    if (parts.count < 2 || !expr_is_int(parts.items[parts.count - 1], &constant))
        fail(r, "[part, ..., constant] is expected");
    return r->why ? nothing(r) : expr_offset(r->arena, parts.items, parts.count - 1, constant);
}

static Expr *read_primary(Reader *r) {
    bool minus = is(r, "-");
    if (minus || is(r, "!")) {
        skip_token(r);
        if (minus && starts_number(r))
            return read_number(r, true);
        expect(r, "(");
        Expr *a = read_expr(r, 0);
        expect(r, ")");
        return make_operator(r, minus ? OP_NEG : OP_NOT, &a, 1);
    }
    if (accept(r, "(")) {
        Expr *a = read_expr(r, 0);
        expect(r, ")");
        return a;
    }
    if (accept(r, "["))
        return read_offset(r);
    if (starts_number(r))
        return read_number(r, false);
    if (r->token.kind == TOKEN_NAME)
        return read_name(r);
    fail(r, "expected an expression");
    return nothing(r);
}

static int find_infix(const Reader *r) {
    if (r->token.kind != TOKEN_SIGN)
        return -1;
    for (int op = 0; op < OP_COUNT; op++)
        if (op_info[op].arity == 2 && op_info[op].precedence > 0 && is(r, op_info[op].spelling))
            return op;
    return is(r, "?") ? OP_SELECT : -1;
}

static Expr *read_expr(Reader *r, int precedence) {
    Expr *left = read_primary(r);
    for (int op; !r->why && (op = find_infix(r)) >= 0 && op_info[op].precedence >= precedence;) {
        int own = op_info[op].precedence;
        skip_token(r);
        Expr *args[3] = {left, read_expr(r, own + 1), NULL};
        if (op == OP_SELECT) {
            expect(r, ":");
            args[2] = read_expr(r, own);
        }
        left = make_operator(r, (Op)op, args, op == OP_SELECT ? 3 : 2);
    }
    return left;
}

/* --- statements --------------------------------------------------------------------------------------------------- */

static Stmt *read_stmt(Reader *r);

static StmtList read_body(Reader *r) {
    StmtList list = {0};
    expect(r, "{");
    while (!r->why && !is(r, "}"))
        stmts_add(r->arena, &list, read_stmt(r));
    expect(r, "}");
    return list;
}

static bool accept_loop(Reader *r, LoopKind *kind, bool *masked) {
    *masked = accept(r, "masked");
    *kind = LOOP_SERIAL;
    for (int i = 1; i < LOOP_KIND_COUNT; i++)
        if (accept(r, loop_kind_words[i]))
            *kind = (LoopKind)i;
    return is(r, "for") || is(r, "reduce");
}

static Stmt *read_for(Reader *r, LoopKind kind, bool masked) {
    bool reduction = is(r, "reduce");
    skip_token(r);
    const char *name = take_name(r);
    expect(r, "in");
    if (take_integer(r) != 0)
        fail(r, "a loop starts at 0");
    expect(r, ":");
    Expr *extent = read_expr(r, 2);
    Var *var = var_new(r->arena, VAR_LOOP, TYPE_INT64, name, accept(r, "of") ? read_expr(r, 2) : extent);
    var->reduction = reduction;
    if (kind == LOOP_TENSORIZED) {
        expect(r, "by");
        var->instr = take_instr(r);
    }
    add_name(r, name, var, NULL);
    StmtList body = read_body(r);
    r->names.count--;
    Stmt *loop = stmt_for(r->arena, var, extent, kind, body, (Loc){0});
    if (loop)
        loop->masked = masked;
    return loop;
}

static Stmt *read_if(Reader *r) {
    Expr *condition = read_expr(r, 0);
    StmtList body = read_body(r), otherwise = {0};
    if (accept(r, "else"))
        otherwise = read_body(r);
    return stmt_if(r->arena, condition, body, otherwise, (Loc){0});
}

static const Tensor *same_in_program(const Reader *r, const Tensor *tensor) {
    for (int i = 0; i < r->program->tensor_count && !tensor->order; i++) {
        const Tensor *known = r->program->tensors[i];
        bool same = known->role == ROLE_TEMPORARY && known->type == tensor->type && known->scope == tensor->scope &&
                    known->rank == tensor->rank && !strcmp(known->name, tensor->name);
        for (int d = 0; same && d < known->rank; d++)
            same = expr_equal(known->dims[d], tensor->dims[d]);
        if (same)
            return known;
    }
    return tensor;
}

/* d1/16%4 align 8 offset 1 */
static OrderPart read_part(Reader *r, int rank) {
    OrderPart part = {.divisor = 1};
    const char *name = take_name(r);
    part.dimension = *name == 'd' ? atoi(name + 1) : -1;
    if (part.dimension < 0 || part.dimension >= rank)
        fail(r, "an order is made of dimensions d0, d1, ...");
    if (accept(r, "/"))
        part.divisor = take_integer(r);
    if (accept(r, "%"))
        part.modulus = take_integer(r);
    if (accept(r, "align"))
        part.align = take_integer(r);
    if (accept(r, "offset"))
        part.offset = take_integer(r);
    if (part.divisor < 1 || part.modulus < 0 || part.align < 0 || part.offset < 0)
        fail(r, "an order divides by positive numbers");
    return part;
}

static const ElementOrder *read_order(Reader *r, int rank) {
    LIST(OrderPart) parts = {0};
    expect(r, "(");
    while (!r->why && !is(r, ")")) {
        list_push(r->arena, &parts, read_part(r, rank));
        if (!accept(r, ","))
            break;
    }
    expect(r, ")");
    ElementOrder *order = ARENA_NEW(r->arena, ElementOrder);
    *order = (ElementOrder){parts.count, parts.items};
    return order;
}

static void read_dims(Reader *r, Tensor *tensor) {
    expect(r, "(");
    ExprList dims = read_list(r);
    expect(r, ")");
    tensor->rank = dims.count;
    tensor->dims = dims.items;
    if (accept(r, "as"))
        tensor->order = read_order(r, tensor->rank);
}

/* Its contents are not a part of the text. */
static void read_constant(Reader *r) {
    Tensor *tensor = ARENA_NEW(r->arena, Tensor);
    int type = find_type(r);
    if (type < 0)
        fail(r, "expected an element type");
    skip_token(r);
    *tensor = (Tensor){
        .name = take_name(r), .role = ROLE_CONSTANT, .maker = stage_new(r->arena, (Component){NULL, NULL, NULL})};
    tensor->type = type < 0 ? TYPE_FLOAT : (ElementType)type;
    read_dims(r, tensor);
    add_name(r, tensor->name, NULL, tensor);
}

static Stmt *read_allocate(Reader *r) {
    static const char *const scopes[SCOPE_COUNT] = {"global", "local", "register", "shared"};
    Tensor *tensor = ARENA_NEW(r->arena, Tensor);
    int scope = 0;
    while (scope < SCOPE_COUNT && !is(r, scopes[scope]))
        scope++;
    skip_token(r);
    int type = find_type(r);
    if (scope == SCOPE_COUNT || type < 0)
        fail(r, "expected a scope and an element type");
    skip_token(r);
    *tensor = (Tensor){.name = take_name(r), .role = ROLE_TEMPORARY};
    tensor->type = type < 0 ? TYPE_FLOAT : (ElementType)type;
    tensor->scope = (Scope)scope;
    read_dims(r, tensor);
    const Tensor *found = same_in_program(r, tensor);
    add_name(r, tensor->name, NULL, found);
    StmtList body = read_body(r);
    r->names.count--;
    return stmt_allocate(r->arena, found, body);
}

static Stmt *read_check(Reader *r) {
    Expr *condition = read_expr(r, 0);
    expect(r, "status");
    return stmt_check(r->arena, condition, (int)take_integer(r), (Loc){0});
}

/* A buffer and its indices. */
static const Tensor *read_place(Reader *r, ExprList *index) {
    const char *name = take_name(r);
    const Tensor *tensor = find_tensor(r, name);
    if (!tensor)
        fail(r, arena_printf(r->arena, "no buffer '%s' is here", name));
    *index = read_indices(r, tensor);
    expect(r, ")");
    return tensor;
}

static Stmt *read_prefetch(Reader *r) {
    bool far = accept(r, "far");
    ExprList index;
    const Tensor *tensor = read_place(r, &index);
    return stmt_prefetch(r->arena, tensor, index.items, index.count, far, (Loc){0});
}

static Stmt *read_store(Reader *r) {
    ExprList index;
    const Tensor *tensor = read_place(r, &index);
    expect(r, "=");
    Expr *value = read_expr(r, 0), *guard = accept(r, "where") ? read_guard(r, value->lanes) : NULL;
    return stmt_store(r->arena, tensor, index.items, index.count, value, guard, (Loc){0});
}

static Stmt *read_stmt(Reader *r) {
    LoopKind kind;
    bool masked;
    if (accept_loop(r, &kind, &masked))
        return read_for(r, kind, masked);
    if (accept(r, "if"))
        return read_if(r);
    if (accept(r, "allocate"))
        return read_allocate(r);
    if (accept(r, "together"))
        return stmt_together(r->arena, read_body(r), (Loc){0});
    if (accept(r, "check"))
        return read_check(r);
    if (accept(r, "prefetch"))
        return read_prefetch(r);
    if (accept(r, "step"))
        return stmt_step(r->arena);
    return read_store(r);
}

Kernel *kernel_read(Arena *arena, const Program *program, const Target *target, const char *text, const char **why) {
    Reader r = {.arena = arena, .program = program, .start = text, .token = {.after = text}};
    Kernel *kernel = ARENA_NEW(arena, Kernel);
    *kernel = (Kernel){.arena = arena, .program = program, .target = target};
    next(&r);
    add_program_names(&r);
    expect(&r, "kernel");
    take_name(&r);
    expect(&r, "symbol");
    take_name(&r);
    if (accept(&r, "target"))
        while (r.token.kind != TOKEN_END && !is(&r, "{") && !is(&r, "strict") && !is(&r, "constant"))
            skip_token(&r); /* a target's name may be several tokens; which one is the caller's affair */
    kernel->strict = accept(&r, "strict");
    while (accept(&r, "constant"))
        read_constant(&r);
    kernel->body = stmt_block(arena, read_body(&r));
    if (!r.why && r.token.kind != TOKEN_END)
        fail(&r, "text after the end of the kernel");
    if (!r.why)
        r.why = kernel_verify(arena, kernel, false);
    *why = r.why;
    return r.why ? NULL : kernel;
}
