/* simplify.c - laws of expr_simplify, expr_affine, expr_interval, expr_prove and of forms, tried on random index
 * expressions.
 *
 * Each expression is evaluated for every value of its variables by a plain evaluator of this file: simplifying must not
 * change a value and must change nothing when repeated; a range must hold every value; a proof must hold for all.
 */
#include "lang/form.h"
#include "tests/tap.h"

#include <stdlib.h>

/* --- variables: two sizes, loops of constant and of symbolic extent --- */

enum { SIZE_COUNT = 2, VAR_COUNT = 8, SIZE_VALUES = 4 };

typedef struct Variables {
    Arena *arena;
    Var *vars[VAR_COUNT];
    int64_t values[VAR_COUNT];
} Variables;

static uint64_t state;

static int choose(int count) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % (uint64_t)count);
}

static Expr *constant(Variables *v, int64_t value) {
    return expr_int(v->arena, value);
}

static Variables make_variables(Arena *arena) {
    Variables v = {.arena = arena};
    static const char *const names[] = {"N", "M", "a", "b", "c", "d", "i", "j"};
    static const int64_t extents[] = {0, 0, 4, 3, 2, 1};
    for (int i = 0; i < 6; i++)
        v.vars[i] = var_new(arena,
                            i < SIZE_COUNT ? VAR_SIZE
                            : i % 2        ? VAR_LOOP
                                           : VAR_AXIS,
                            TYPE_INT64, names[i], i < SIZE_COUNT ? NULL : expr_int(arena, extents[i]));
    Expr *N = expr_var(arena, v.vars[0]), *M = expr_var(arena, v.vars[1]);
    v.vars[6] = var_new(arena, VAR_AXIS, TYPE_INT64, names[6], N);
    v.vars[7] = var_new(arena, VAR_LOOP, TYPE_INT64, names[7],
                        expr_binary(arena, OP_ADD, expr_binary(arena, OP_SUB, N, M), constant(&v, 1)));
    return v;
}

static int64_t floor_quotient(int64_t a, int64_t b) {
    if (b == 0)
        return 0;
    int64_t quotient = a / b;
    return quotient * b != a && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

static int64_t evaluate(const Variables *v, const Expr *e) {
    if (e->kind == EXPR_INT)
        return e->integer;
    if (e->kind == EXPR_VAR) {
        for (int i = 0; i < VAR_COUNT; i++)
            if (v->vars[i] == e->var)
                return v->values[i];
        abort();
    }
    if (e->kind == EXPR_CAST)
        return (int32_t)evaluate(v, e->args[0]);
    int64_t x = evaluate(v, e->args[0]), y = e->count > 1 ? evaluate(v, e->args[1]) : 0;
    switch (e->op) {
    case OP_ADD: return x + y;
    case OP_SUB: return x - y;
    case OP_MUL: return x * y;
    case OP_DIV: return floor_quotient(x, y);
    case OP_MOD: return y == 0 ? 0 : x - y * floor_quotient(x, y);
    case OP_MIN: return x < y ? x : y;
    case OP_MAX: return x > y ? x : y;
    case OP_NEG: return -x;
    case OP_ABS: return x < 0 ? -x : x;
    case OP_LT: return x < y;
    case OP_LE: return x <= y;
    case OP_GT: return x > y;
    case OP_GE: return x >= y;
    case OP_EQ: return x == y;
    case OP_NE: return x != y;
    case OP_AND: return x && y;
    case OP_OR: return x || y;
    case OP_NOT: return !x;
    case OP_SELECT: return x ? y : evaluate(v, e->args[2]);
    default: abort();
    }
}

/* Steps to the next values of all variables, sizes slowest; false after the last. Loops that do not run are skipped. */
static bool next_values(Variables *v, uint32_t used) {
    for (int i = VAR_COUNT - 1; i >= 0; i--) {
        if (!(used >> i & 1))
            continue;
        int64_t limit = i < SIZE_COUNT ? SIZE_VALUES : evaluate(v, v->vars[i]->extent);
        if (++v->values[i] < limit)
            return true;
        v->values[i] = 0;
    }
    return false;
}

static bool loops_run(const Variables *v, uint32_t used) {
    for (int i = SIZE_COUNT; i < VAR_COUNT; i++)
        if ((used >> i & 1) && evaluate(v, v->vars[i]->extent) < 1)
            return false;
    return true;
}

/* The variables of an expression and those of their extents, as bits. */
static uint32_t variables_of(const Variables *v, const Expr *e) {
    uint32_t used = 0;
    for (int i = VAR_COUNT - 1; i >= 0; i--) {
        bool in_extent = i == 0 ? used >> 6 : i == 1 ? used >> 7 : 0;
        if (expr_uses_var(e, v->vars[i]) || in_extent)
            used |= 1u << i;
    }
    return used;
}

/* --- random expressions --- */

static Expr *random_index(Variables *v, int depth);

static Expr *random_condition(Variables *v, int depth) {
    int kind = depth > 0 ? choose(9) : choose(6);
    if (kind < 6)
        return expr_binary(v->arena, OP_LT + kind, random_index(v, depth - 1), random_index(v, depth - 1));
    if (kind == 8)
        return expr_unary(v->arena, OP_NOT, random_condition(v, depth - 1));
    return expr_binary(v->arena, kind == 6 ? OP_AND : OP_OR, random_condition(v, depth - 1),
                       random_condition(v, depth - 1));
}

static Expr *random_index(Variables *v, int depth) {
    static const int64_t constants[] = {0, 1, 2, 3, 4, 6, 8, 12, -1, -2, -4, 5};
    if (depth <= 0 || choose(8) == 0)
        return choose(3) ? expr_var(v->arena, v->vars[choose(VAR_COUNT)]) : constant(v, constants[choose(12)]);
    int kind = choose(20);
    Expr *x = random_index(v, depth - 1);
    if (kind < 7)
        return expr_binary(v->arena, kind < 5 ? OP_ADD : OP_SUB, x, random_index(v, depth - 1));
    if (kind < 10)
        return expr_binary(v->arena, OP_MUL, constant(v, constants[choose(12)]), x);
    if (kind < 12)
        return expr_binary(v->arena, OP_DIV, x, constant(v, constants[choose(12)]));
    if (kind < 14)
        return expr_binary(v->arena, OP_MOD, x, constant(v, constants[choose(12)]));
    if (kind < 16)
        return expr_binary(v->arena, kind == 14 ? OP_MIN : OP_MAX, x, random_index(v, depth - 1));
    if (kind == 16)
        return expr_select(v->arena, random_condition(v, depth - 2), x, random_index(v, depth - 1));
    if (kind == 17)
        return expr_unary(v->arena, choose(2) ? OP_NEG : OP_ABS, x);
    if (kind == 18)
        return expr_cast(v->arena, TYPE_INT64, expr_cast(v->arena, TYPE_INT32, x));
    static const Op products[] = {OP_MUL, OP_DIV, OP_MOD};
    return expr_binary(v->arena, products[choose(3)], x, random_index(v, depth - 1));
}

/* Whether both have one value for all variables; the interval has to hold every value of the first. */
static bool same_values(Variables *v, const Expr *e, const Expr *f, uint32_t used, Interval interval) {
    memset(v->values, 0, sizeof v->values);
    do {
        if (!loops_run(v, used))
            continue;
        int64_t value = evaluate(v, e);
        if (value != evaluate(v, f) || (interval.has_low && value < interval.low) ||
            (interval.has_high && value > interval.high))
            return false;
    } while (next_values(v, used));
    return true;
}

static void complain(Arena *arena, const char *what, Expr *e, Expr *f) {
    diag_line("%s: %s", what, expr_text(arena, e));
    diag_line("   gives %s", expr_text(arena, f));
}

static void test_random_expressions(int rounds) {
    int wrong = 0, restless = 0, outside = 0, affine_wrong = 0;
    for (int round = 0; round < rounds; round++) {
        Arena *arena = arena_new();
        Variables v = make_variables(arena);
        state = (uint64_t)round * 77 + 5;
        Expr *e = round % 3 ? random_index(&v, 2 + round % 4) : random_condition(&v, 1 + round % 4);
        Expr *simple = expr_simplify(arena, e), *again = expr_simplify(arena, simple);
        uint32_t used = variables_of(&v, e);
        Interval all = {.has_low = false};
        if (!same_values(&v, e, simple, used, all) && wrong++ < 5)
            complain(arena, "changed", e, simple);
        if (!expr_equal(simple, again) && restless++ < 5)
            complain(arena, "simplified again", simple, again);
        if (e->type == TYPE_INT64 && !same_values(&v, e, e, used, expr_interval(e)) && outside++ < 5)
            complain(arena, "outside its interval", e, e);
        Affine affine;
        if (e->type == TYPE_INT64 &&
            (!expr_affine(arena, e, &affine) || !same_values(&v, e, affine_expr(arena, &affine), used, all)) &&
            affine_wrong++ < 5)
            complain(arena, "affine form", e, affine_expr(arena, &affine));
        arena_free(arena);
    }
    is_int(wrong, 0, "simplifying keeps the values of %d random expressions", rounds);
    is_int(restless, 0, "simplifying again changes nothing");
    is_int(outside, 0, "intervals hold all values");
    is_int(affine_wrong, 0, "affine forms keep the values");
}

/* --- proofs on random conditions --- */

/* 1 when the condition holds wherever the fact does, 0 when nowhere, -1 otherwise, 2 when the fact never does. */
static int truth(Variables *v, const Expr *condition, const Expr *fact, uint32_t used) {
    int seen = 2;
    memset(v->values, 0, sizeof v->values);
    do {
        if (!loops_run(v, used) || !evaluate(v, fact))
            continue;
        int value = evaluate(v, condition) != 0;
        seen = seen == 2 || seen == value ? value : -1;
    } while (next_values(v, used));
    return seen;
}

static void test_random_proofs(int rounds) {
    int wrong = 0, proved = 0, provable = 0;
    for (int round = 0; round < rounds; round++) {
        Arena *arena = arena_new();
        Variables v = make_variables(arena);
        state = (uint64_t)round * 131 + 17;
        Expr *condition = random_condition(&v, round % 3);
        Expr *fact = round % 2 ? random_condition(&v, round % 3) : expr_bool(arena, true);
        Facts facts = {1, &fact};
        uint32_t used = variables_of(&v, condition) | variables_of(&v, fact);
        int found = expr_prove(arena, condition, round % 2 ? &facts : NULL), wanted = truth(&v, condition, fact, used);
        proved += found >= 0;
        provable += wanted >= 0;
        if (found >= 0 && wanted != 2 && found != wanted && wrong++ < 5) {
            complain(arena, "wrongly proved", condition, fact);
            diag_line("   proved %d, is %d", found, wanted);
        }
        arena_free(arena);
    }
    is_int(wrong, 0, "no proof of %d random conditions is wrong", rounds);
    diag_line("proved %d of at most %d", proved, provable);
    ok(proved * 10 >= provable * 8, "eight of ten that hold on the values tried are proved");
}

/* --- forms: the same sums, shared and never changed --- */

static bool always(Variables *v, Op op, Expr *a, Expr *b) {
    Expr *condition = expr_binary(v->arena, op, a, b);
    return truth(v, condition, expr_bool(v->arena, true), variables_of(v, condition)) > 0;
}

static bool is_form_of(Variables *v, const Form *form, Op op, Expr *a, Expr *b) {
    return always(v, OP_EQ, affine_expr(v->arena, form), expr_binary(v->arena, op, a, b));
}

/* What is found at once is what is found apart. */
static bool divides_at_once(Forms *forms, const Form *a, const Form *b) {
    const Form *remainder, *quotient = form_divide_both(forms, a, b, &remainder);
    return forms->overflow ||
           (form_equal(quotient, form_divide(forms, a, b)) && form_equal(remainder, form_modulo(forms, a, b)));
}

/* What the operations on the forms of two expressions are wrong in; NULL: nothing. */
static const char *wrong_operation(Variables *v, Expr *e, Expr *f, int64_t divisor) {
    Forms forms = {.arena = v->arena};
    const Form *a = form_of(&forms, e), *b = form_of(&forms, f), *by = form_int(&forms, divisor);
    const Form *low = form_lower(&forms, a), *high = form_upper(&forms, a);
    if (!is_form_of(v, form_add_scaled(&forms, a, divisor, b), OP_ADD, e,
                    expr_binary(v->arena, OP_MUL, constant(v, divisor), f)))
        return "a sum";
    if (!is_form_of(v, form_divide(&forms, a, by), OP_DIV, e, constant(v, divisor)) ||
        !is_form_of(v, form_divide(&forms, a, b), OP_DIV, e, f))
        return "a quotient";
    if (!is_form_of(v, form_modulo(&forms, a, by), OP_MOD, e, constant(v, divisor)) ||
        !is_form_of(v, form_modulo(&forms, a, b), OP_MOD, e, f))
        return "a remainder";
    if (!divides_at_once(&forms, a, by) || !divides_at_once(&forms, a, b))
        return "a quotient and its remainder";
    if (!is_form_of(v, form_multiply(&forms, a, b), OP_MUL, e, f))
        return "a product";
    if (!is_form_of(v, form_extreme(&forms, OP_MIN, a, b), OP_MIN, e, f))
        return "a minimum";
    if (low && !always(v, OP_LE, affine_expr(v->arena, low), e))
        return "a lower bound";
    if (high && !always(v, OP_GE, affine_expr(v->arena, high), e))
        return "an upper bound";
    if (form_at_most(&forms, a, b) && !always(v, OP_LE, e, f))
        return "a proof of <=";
    return form_below(&forms, a, b) && !always(v, OP_LT, e, f) ? "a proof of <" : NULL;
}

static void test_random_forms(int rounds) {
    int wrong = 0;
    for (int round = 0; round < rounds; round++) {
        Arena *arena = arena_new();
        Variables v = make_variables(arena);
        state = (uint64_t)round * 211 + 3;
        Expr *e = expr_simplify(arena, random_index(&v, 1 + round % 3));
        Expr *f = expr_simplify(arena, random_index(&v, 1 + round % 2));
        const char *found = wrong_operation(&v, e, f, 1 + choose(12));
        if (found && wrong++ < 5)
            complain(arena, found, e, f);
        arena_free(arena);
    }
    is_int(wrong, 0, "operations, bounds and comparisons of the forms of %d pairs of random expressions", rounds);
}

/* A loop over N * M is taken apart: its maker knows more than the bounds can show. */
static void test_limits(void) {
    Arena *arena = arena_new();
    Variables v = make_variables(arena);
    Expr *N = expr_var(arena, v.vars[0]), *M = expr_var(arena, v.vars[1]);
    Var *loop = var_new(arena, VAR_LOOP, TYPE_INT64, "f", expr_binary(arena, OP_MUL, N, M));
    Forms forms = {.arena = arena};
    const Form *n = form_atom(&forms, N), *m = form_atom(&forms, M), *f = form_atom(&forms, expr_var(arena, loop));
    const Form *outer = form_divide(&forms, f, m), *inner = form_modulo(&forms, f, m);
    ok(!form_below(&forms, outer, n) && !form_below(&forms, inner, m), "limits of quotients by sizes are not known");
    form_note_limit(&forms, outer, n);
    form_note_limit(&forms, inner, m);
    ok(form_below(&forms, outer, n) && form_below(&forms, inner, m), "until they are noted");
    ok(form_below(&forms, form_add(&forms, form_add(&forms, outer, outer), inner),
                  form_add(&forms, form_add(&forms, n, n), m)),
       "also in sums");
    arena_free(arena);
}

int main(void) {
    test_random_expressions(getenv("TEST_ROUNDS") ? atoi(getenv("TEST_ROUNDS")) : 6000);
    test_random_proofs(getenv("TEST_ROUNDS") ? atoi(getenv("TEST_ROUNDS")) : 3000);
    test_random_forms(getenv("TEST_ROUNDS") ? atoi(getenv("TEST_ROUNDS")) : 3000);
    test_limits();
    return done_testing();
}
