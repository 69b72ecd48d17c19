/* expr.c - makers, walking, substitution, printing, evaluation, and what simplification and proofs must achieve. */
#include "lang/program.h"
#include "lang/value.h"
#include "tests/tap.h"

#include "tests/unit/programs.h"

typedef struct Fixture {
    Arena *arena;
    Expr *i, *j, *k, *io, *ii, *N, *M, *h, *r, *H, *KH;
    Var *var_i, *var_N;
    const Tensor *A;
} Fixture;

static Expr *loop(Arena *arena, const char *name, Expr *extent) {
    return expr_var(arena, var_new(arena, VAR_LOOP, TYPE_INT64, name, extent));
}

static Expr *size(Arena *arena, const char *name) {
    return expr_var(arena, var_new(arena, VAR_SIZE, TYPE_INT64, name, NULL));
}

static Expr *binary(Fixture *f, Op op, Expr *a, Expr *b) {
    return expr_binary(f->arena, op, a, b);
}

static Expr *add(Fixture *f, Expr *a, Expr *b) {
    return binary(f, OP_ADD, a, b);
}

static Expr *sub(Fixture *f, Expr *a, Expr *b) {
    return binary(f, OP_SUB, a, b);
}

static Expr *mul(Fixture *f, Expr *a, Expr *b) {
    return binary(f, OP_MUL, a, b);
}

static Expr *num(Fixture *f, int64_t value) {
    return expr_int(f->arena, value);
}

static Fixture make_fixture(Arena *arena) {
    Fixture f = {.arena = arena};
    f.N = size(arena, "N");
    f.M = size(arena, "M");
    f.H = size(arena, "H");
    f.KH = size(arena, "KH");
    f.i = loop(arena, "i", f.N);
    f.j = loop(arena, "j", f.M);
    f.k = loop(arena, "k", num(&f, 64));
    f.io = loop(arena, "io", num(&f, 8));
    f.ii = loop(arena, "ii", num(&f, 16));
    f.h = loop(arena, "h", add(&f, sub(&f, f.H, f.KH), num(&f, 1)));
    f.r = loop(arena, "r_kh", f.KH);
    f.var_i = (Var *)f.i->var;
    f.var_N = (Var *)f.N->var;
    ProgramBuilder builder = program_begin(arena, "fixture");
    f.A = program_tensor(&builder, ROLE_INPUT, TYPE_FLOAT, "A", 1, num(&f, 128));
    return f;
}

/* --- makers, substitution ----------------------------------------------------------------------------------------- */

static void test_makers(Fixture *f) {
    Arena *a = f->arena;
    is_int(add(f, num(f, 2), num(f, 3))->integer, 5, "constants fold");
    ok(add(f, f->i, num(f, 0)) == f->i && mul(f, num(f, 1), f->i) == f->i, "neutral elements drop");
    ok(add(f, num(f, INT64_MAX), num(f, 1))->kind == EXPR_OP, "what overflows stays");
    ok(binary(f, OP_DIV, num(f, 1), num(f, 0))->kind == EXPR_OP, "a division by 0 stays");
    ok(binary(f, OP_AND, expr_bool(a, true), binary(f, OP_LT, f->i, f->j))->op == OP_LT, "true && x is x");
    ok(expr_select(a, expr_bool(a, false), f->i, f->j) == f->j, "a decided select is its branch");
    is_int(binary(f, OP_LT, f->i, f->j)->type, TYPE_BOOL, "a comparison is bool");
    is_int(expr_constant(a, TYPE_UINT8, 300)->integer, 255, "constants fit their type");
    is_int(combine_identity(a, COMBINE_MAX, TYPE_INT16)->integer, -32768, "the identity of max");
    ok(combine_identity(a, COMBINE_MIN, TYPE_FLOAT)->real == INFINITY, "the identity of min");
    Expr *vector = add(f, expr_ramp(a, f->i, num(f, 1), 8), f->j);
    ok(vector->lanes == 8 && vector->args[1]->kind == EXPR_BROADCAST, "a scalar among vectors is broadcast");
    ok(!expr_equal(expr_constant(a, TYPE_FLOAT, 0.0), expr_constant(a, TYPE_FLOAT, -0.0)), "0.0 and -0.0 differ");
    ok(expr_equal(add(f, f->i, f->j), add(f, f->i, f->j)) && !expr_equal(add(f, f->i, f->j), add(f, f->j, f->i)),
       "equality is structural");
}

/* --- walks -------------------------------------------------------------------------------------------------------- */

/* The nodes as the walk comes to them, at most so many: "+ i A j". */
static const char *walk_text(Fixture *f, const Expr *root, int most, bool into_reads) {
    Text text = {.arena = f->arena};
    EACH_EXPR(e, root) {
        const char *name = e->kind == EXPR_VAR ? e->var->name : e->kind == EXPR_READ ? e->tensor->name : "+";
        text_add(&text, "%s%s", text.length ? " " : "", name);
        if (--most == 0)
            break;
        if (e->kind == EXPR_READ && !into_reads)
            SKIP_BELOW(e);
    }
    return text.length ? text.text : "";
}

static void test_walks(Fixture *f) {
    Arena *a = f->arena;
    Expr *read = expr_read(a, f->A, &f->j, expr_var(a, f->var_N));
    read->guard = expr_var(a, f->var_i);
    Expr *sum = expr_op(a, OP_ADD, TYPE_INT64, (Expr *[]){expr_cast(a, TYPE_INT64, read), f->i}, 2);
    is_text(walk_text(f, sum, 0, true), "+ + A j N i i", "parents first, an index, the else and the guard of a read");
    is_text(walk_text(f, sum, 0, false), "+ + A i", "what is below a read is left out");
    is_text(walk_text(f, sum, 2, true), "+ +", "a walk can be left");
    is_text(walk_text(f, NULL, 0, true), "", "there is nothing in no expression");
    Expr *deep = f->i;
    for (int n = 0; n < 1000; n++)
        deep = expr_op(a, OP_ADD, TYPE_INT64, (Expr *[]){deep, f->j}, 2);
    int nodes = 0, vars = 0;
    EACH_EXPR(e, deep) {
        nodes++;
        vars += e->kind == EXPR_VAR;
    }
    ok(nodes == 2001 && vars == 1001, "deep ones are walked whole: %d nodes, %d variables", nodes, vars);
    ok(expr_uses_var(deep, f->i->var) && !expr_uses_var(deep, f->k->var), "what is deepest is found");
}

static void test_substitution(Fixture *f) {
    Expr *read = expr_read(f->arena, f->A, (Expr *[]){add(f, f->i, num(f, 2))}, expr_cast(f->arena, TYPE_FLOAT, f->i));
    Substitution swap[2] = {{f->i->var, f->j}, {f->j->var, f->i}};
    ok(expr_substitute(f->arena, read, &(Substitution){f->k->var, f->j}, 1) == read,
       "nothing to replace: the same node");
    is_text(expr_text(f->arena, expr_substitute(f->arena, read, swap, 2)), "A(j + 2) else float(j)",
            "else is replaced too");
    is_text(expr_text(f->arena, expr_substitute(f->arena, sub(f, f->i, f->j), swap, 2)), "j - i", "all at once");
    Substitution three = {f->i->var, num(f, 3)};
    is_text(expr_text(f->arena, expr_substitute(f->arena, read, &three, 1)), "A(5) else float(3)", "constants fold");
    ok(expr_uses_var(read, f->i->var) && !expr_uses_var(read, f->j->var), "which variables are used");
    ok(expr_uses_tensor(read, f->A), "which tensors are used");
}

/* --- printing ----------------------------------------------------------------------------------------------------- */

static void test_printing(Fixture *f) {
    Arena *a = f->arena;
    Expr *read = expr_read(a, f->A, &f->i, expr_constant(a, TYPE_FLOAT, 0));
    Expr *x = expr_constant(a, TYPE_FLOAT, 0.1);
    const struct {
        Expr *e;
        const char *text;
    } rows[] = {
        {mul(f, add(f, f->i, f->j), f->k), "(i + j) * k"},
        {sub(f, f->i, sub(f, f->j, f->k)), "i - (j - k)"},
        {sub(f, sub(f, f->i, f->j), f->k), "i - j - k"},
        {binary(f, OP_DIV, mul(f, f->i, f->j), f->k), "i * j / k"},
        {mul(f, f->i, binary(f, OP_DIV, f->j, f->k)), "i * (j / k)"},
        {binary(f, OP_MIN, f->i, add(f, f->j, num(f, -3))), "min(i, j + -3)"},
        {expr_unary(a, OP_NEG, add(f, f->i, f->j)), "-(i + j)"},
        {expr_unary(a, OP_NEG, expr_unary(a, OP_NEG, f->i)), "-(-i)"},
        {binary(f, OP_OR, binary(f, OP_LT, f->i, f->j),
                binary(f, OP_AND, binary(f, OP_LT, f->i, f->j), binary(f, OP_EQ, f->k, f->j))),
         "i < j || i < j && k == j"},
        {expr_unary(a, OP_NOT, binary(f, OP_LT, f->i, f->j)), "!(i < j)"},
        {expr_select(a, binary(f, OP_LT, f->i, f->j), expr_select(a, binary(f, OP_LT, f->i, f->k), f->i, f->j), f->k),
         "i < j ? i < k ? i : j : k"},
        {binary(f, OP_MUL, read, x), "(A(i) else 0.0) * 0.1"},
        {expr_read(a, f->A, &f->i, read), "A(i) else (A(i) else 0.0)"},
        {expr_constant(a, TYPE_FLOAT, 1e30), "1e+30"},
        {expr_constant(a, TYPE_FLOAT, 16777216), "16777216.0"},
        {expr_constant(a, TYPE_DOUBLE, 0.1), "double(0.1)"},
        {expr_constant(a, TYPE_FLOAT, -INFINITY), "-inf"},
        {expr_constant(a, TYPE_INT8, -3), "int8(-3)"},
        {expr_constant(a, TYPE_UINT64, 1e30), "uint64(18446744073709551615)"},
        {expr_bool(a, true), "true"},
        {expr_cast(a, TYPE_FLOAT, f->i), "float(i)"},
        {expr_ramp(a, f->i, num(f, 2), 8), "ramp(i, 2, 8)"},
        {expr_broadcast(a, f->i, 4), "broadcast(i, 4)"},
        {binary(f, OP_ATAN2, x, x), "atan2(0.1, 0.1)"},
    };
    for (int i = 0; i < (int)(sizeof rows / sizeof *rows); i++)
        is_text(expr_text(a, rows[i].e), rows[i].text, "prints as %s", rows[i].text);
}

/* --- simplification ----------------------------------------------------------------------------------------------- */

static void test_simplify(Fixture *f) {
    Arena *a = f->arena;
    Expr *tile = add(f, mul(f, num(f, 16), f->io), f->ii), *flat = add(f, mul(f, f->i, f->M), f->j);
    Expr *x = expr_cast(a, TYPE_FLOAT, f->i);
    const struct {
        Expr *e;
        const char *text;
    } rows[] = {
        {binary(f, OP_DIV, tile, num(f, 16)), "io"},
        {binary(f, OP_MOD, tile, num(f, 16)), "ii"},
        {binary(f, OP_DIV, add(f, tile, num(f, 35)), num(f, 16)), "io + (ii + 3) / 16 + 2"},
        {binary(f, OP_DIV, tile, num(f, 64)), "io / 4"},
        {binary(f, OP_MOD, tile, num(f, 64)), "ii + 16 * (io % 4)"},
        {binary(f, OP_DIV, binary(f, OP_DIV, f->i, num(f, 4)), num(f, 3)), "i / 12"},
        {add(f, mul(f, num(f, 4), binary(f, OP_DIV, f->i, num(f, 4))), binary(f, OP_MOD, f->i, num(f, 4))), "i"},
        {binary(f, OP_DIV, flat, f->M), "i"},
        {binary(f, OP_MOD, flat, f->M), "j"},
        {sub(f, mul(f, f->N, f->M), mul(f, f->M, f->N)), "0"},
        {sub(f, mul(f, add(f, f->i, num(f, 1)), f->M), mul(f, f->i, f->M)), "M"},
        {sub(f, num(f, 3), add(f, f->i, f->i)), "3 - 2 * i"},
        {binary(f, OP_MIN, f->k, num(f, 64)), "k"},
        {binary(f, OP_MAX, sub(f, f->k, num(f, 64)), num(f, 0)), "0"},
        {binary(f, OP_MIN, binary(f, OP_MIN, f->i, num(f, 16)), num(f, 8)), "min(i, 8)"},
        {binary(f, OP_LT, tile, num(f, 128)), "true"},
        {binary(f, OP_LT, tile, num(f, 64)), "io < 4"},
        {binary(f, OP_LE, add(f, f->i, num(f, 5)), num(f, 9)), "i < 5"},
        {binary(f, OP_LT, f->i, f->N), "true"},
        {binary(f, OP_EQ, mul(f, num(f, 4), f->i), num(f, 6)), "false"},
        {binary(f, OP_EQ, mul(f, num(f, 4), f->i), num(f, 8)), "i == 2"},
        {binary(f, OP_AND, binary(f, OP_LT, f->i, num(f, 5)), binary(f, OP_LT, f->i, num(f, 3))), "i < 3"},
        {binary(f, OP_AND, binary(f, OP_LT, f->i, num(f, 5)), binary(f, OP_GT, f->i, num(f, 7))), "false"},
        {expr_unary(a, OP_NOT, binary(f, OP_AND, binary(f, OP_LT, f->i, num(f, 5)), binary(f, OP_LT, f->j, num(f, 5)))),
         "i >= 5 || j >= 5"},
        {expr_select(a, binary(f, OP_GE, f->i, num(f, 0)), f->j, f->k), "j"},
        {binary(f, OP_MUL, x, expr_constant(a, TYPE_FLOAT, 1)), "float(i)"},
        {binary(f, OP_MUL, x, expr_constant(a, TYPE_FLOAT, 0)), "float(i) * 0.0"},
        {binary(f, OP_ADD, x, expr_constant(a, TYPE_FLOAT, 0)), "float(i) + 0.0"},
        {binary(f, OP_ADD, x, expr_constant(a, TYPE_FLOAT, -0.0)), "float(i)"},
        {expr_cast(a, TYPE_INT64, expr_cast(a, TYPE_INT32, tile)), "16 * io + ii"},
        {expr_cast(a, TYPE_INT64, expr_cast(a, TYPE_INT8, mul(f, num(f, 2), tile))), "int64(int8(32 * io + 2 * ii))"},
        {expr_read(a, f->A, &tile, expr_constant(a, TYPE_FLOAT, 0)), "A(16 * io + ii)"},
        {expr_read(a, f->A, &f->i, expr_constant(a, TYPE_FLOAT, 0)), "A(i) else 0.0"},
        {add(f, expr_ramp(a, f->i, num(f, 1), 8), mul(f, num(f, 2), expr_ramp(a, f->j, num(f, 3), 8))),
         "ramp(i + 2 * j, 7, 8)"},
        {binary(f, OP_LT, expr_cast(a, TYPE_INT32, tile), expr_constant(a, TYPE_INT32, 128)), "true"},
        {binary(f, OP_LT, expr_cast(a, TYPE_INT32, tile), expr_constant(a, TYPE_INT32, 127)),
         "int32(16 * io + ii) < 127"},
        {binary(f, OP_LT, expr_cast(a, TYPE_INT8, f->i), expr_constant(a, TYPE_INT8, 127)), "int8(i) < int8(127)"},
        {binary(f, OP_LT, expr_ramp(a, mul(f, num(f, 8), f->io), num(f, 1), 8), num(f, 64)), "broadcast(true, 8)"},
    };
    for (int i = 0; i < (int)(sizeof rows / sizeof *rows); i++) {
        Expr *simple = expr_simplify(a, rows[i].e);
        is_text(expr_text(a, simple), rows[i].text, "%s is %s", expr_text(a, rows[i].e), rows[i].text);
        ok(expr_simplify(a, simple) == simple, "and is itself when simplified again");
    }
}

/* A division in a division in ...: the time must not double with each. */
static void test_depth(Fixture *f) {
    Expr *e = f->i, *condition = binary(f, OP_LT, f->i, num(f, 7));
    for (int depth = 0; depth < 200; depth++) {
        e = binary(f, depth % 2 ? OP_DIV : OP_MOD, add(f, mul(f, num(f, 3), e), f->j), num(f, 7 + depth % 5));
        condition = expr_unary(f->arena, OP_NOT,
                               binary(f, depth % 2 ? OP_AND : OP_OR, condition, binary(f, OP_LT, f->j, num(f, depth))));
    }
    ok(expr_simplify(f->arena, e) != NULL, "deep divisions take no exponential time");
    ok(expr_simplify(f->arena, condition) != NULL, "nor do deep conditions");
    Expr *product = f->i;
    for (int depth = 0; depth < 30; depth++)
        product = mul(f, add(f, product, f->j), add(f, f->k, num(f, depth)));
    ok(expr_simplify(f->arena, product) != NULL, "nor do deep products");
}

static void test_affine(Fixture *f) {
    Affine affine;
    int64_t coefficient;
    Expr *e = add(f, mul(f, num(f, 16), add(f, f->io, f->k)), sub(f, f->ii, mul(f, num(f, 16), f->k)));
    ok(expr_affine(f->arena, e, &affine) && affine.count == 2, "terms that cancel are gone");
    ok(affine_coefficient(&affine, f->io->var, &coefficient) && coefficient == 16, "a coefficient");
    ok(affine_coefficient(&affine, f->k->var, &coefficient) && coefficient == 0, "one that is 0");
    is_text(expr_text(f->arena, affine_expr(f->arena, &affine)), "16 * io + ii", "back to an expression");
    ok(expr_affine(f->arena, binary(f, OP_DIV, f->i, num(f, 3)), &affine) &&
           !affine_coefficient(&affine, f->i->var, &coefficient),
       "inside an atom there is no coefficient");
    ok(!expr_affine(f->arena, add(f, mul(f, num(f, INT64_MAX), f->i), mul(f, num(f, INT64_MAX), f->i)), &affine),
       "overflow is told");
}

/* --- values of 64 bits, which wrap -------------------------------------------------------------------------------- */

static Expr *wide(Fixture *f, const char *name) {
    return expr_var(f->arena, var_new(f->arena, VAR_SCALAR, TYPE_INT64, name, NULL));
}

static void test_exactness(Fixture *f) {
    Expr *a = wide(f, "a"), *b = wide(f, "b"), *x = expr_cast(f->arena, TYPE_INT64, expr_cast(f->arena, TYPE_INT32, a));
    Expr *y = expr_cast(f->arena, TYPE_INT64, expr_cast(f->arena, TYPE_INT32, b));
    ok(expr_is_exact(a) && !expr_is_exact(add(f, a, num(f, 1))), "what may be any number wraps when 1 is added");
    ok(expr_is_exact(binary(f, OP_MIN, a, num(f, 10))) &&
           !expr_is_exact(sub(f, binary(f, OP_MIN, a, num(f, 10)), num(f, 1))),
       "bounded on one side too");
    ok(expr_is_exact(add(f, binary(f, OP_MOD, a, num(f, 10)), num(f, 1))), "not when it is bounded on both");
    ok(expr_is_exact(mul(f, x, y)), "nor a product of two of 32 bits");
    ok(!expr_is_exact(mul(f, mul(f, x, y), y)), "one of three does");
    ok(expr_is_exact(add(f, mul(f, f->i, f->M), f->j)), "indices over sizes do not");
}

static bool stays(Fixture *f, Expr *e) {
    return expr_equal(expr_simplify(f->arena, e), e);
}

static void test_wrapping(Fixture *f) {
    Expr *a = wide(f, "a"), *b = wide(f, "b"), *one = num(f, 1);
    ok(stays(f, binary(f, OP_LE, a, b)), "a <= b is not a < b + 1");
    ok(stays(f, binary(f, OP_LT, add(f, a, one), a)), "a + 1 < a may hold");
    ok(stays(f, binary(f, OP_GT, mul(f, a, num(f, 2)), mul(f, b, num(f, 2)))), "2 * a > 2 * b is not a > b");
    ok(stays(f, binary(f, OP_EQ, mul(f, a, num(f, 2)), mul(f, b, num(f, 2)))), "nor for ==");
    ok(stays(f, binary(f, OP_DIV, mul(f, a, num(f, 2)), num(f, 2))), "2 * a / 2 is not a");
    ok(stays(f, binary(f, OP_MAX, add(f, a, one), a)), "the larger of a + 1 and a is not the first");
    Interval range = expr_interval(add(f, binary(f, OP_MAX, a, num(f, 0)), one));
    ok(!range.has_low, "max(a, 0) + 1 may be negative");
    range = expr_interval(expr_unary(f->arena, OP_ABS, a));
    ok(!range.has_low, "so may abs(a)");
    Expr *below = binary(f, OP_AND, binary(f, OP_LT, a, num(f, 5)), binary(f, OP_LT, b, num(f, 5)));
    Facts facts = {1, &below};
    is_int(expr_prove(f->arena, binary(f, OP_LT, add(f, a, b), num(f, 10)), &facts), -1,
           "a sum of small numbers is not known to be small");
    is_text(expr_text(f->arena, expr_simplify(f->arena, binary(f, OP_LE, a, num(f, 5)))), "a < 6", "numbers compare");
    Affine affine;
    ok(!expr_affine(f->arena, add(f, a, b), &affine) && expr_affine_modular(f->arena, add(f, a, b), &affine),
       "what wraps is affine modulo 2^64 alone");
    Expr *half = binary(f, OP_DIV, mul(f, a, num(f, 2)), num(f, 2));
    ok(expr_affine_modular(f->arena, mul(f, half, add(f, b, one)), &affine) && affine.count == 2 &&
           expr_is_op(affine.terms[1].atom, OP_DIV),
       "a factor that wraps is not divided there, either");
}

/* --- ranges ------------------------------------------------------------------------------------------------------- */

enum { NEAR_END = 2, FAR_END = 12, NO_END = 3 /* among the ends of ranges: there is none */ };

static Interval range_of(int low, int high) {
    return (Interval){low != NO_END, high != NO_END, low, high};
}

/* The least and greatest result for operands in two ranges, of which open ends are taken as `end`. */
static void ends_of_results(Op op, Interval a, Interval b, int64_t end, int64_t *low, int64_t *high) {
    *low = INT64_MAX;
    *high = INT64_MIN;
    for (int64_t x = a.has_low ? a.low : -end; x <= (a.has_high ? a.high : end); x++)
        for (int64_t y = b.has_low ? b.low : -end; y <= (b.has_high ? b.high : end); y++) {
            Value values[2] = {{.type = TYPE_INT64, .integer = x}, {.type = TYPE_INT64, .integer = y}};
            int64_t result = value_apply(op, values).integer;
            *low = result < *low ? result : *low;
            *high = result > *high ? result : *high;
        }
}

/* Whether the range is the least that holds all results: an end that moves with open ends is none. */
static bool has_exact_ends(Op op, Interval a, Interval b) {
    int64_t low, high, far_low, far_high;
    ends_of_results(op, a, b, FAR_END, &low, &high);
    ends_of_results(op, a, b, 2 * FAR_END, &far_low, &far_high);
    Interval range = interval_combine(op, a, b);
    return range.has_low == (low == far_low) && range.has_high == (high == far_high) &&
           (!range.has_low || range.low == low) && (!range.has_high || range.high == high);
}

/* Whether the range holds all results. */
static bool has_all_results(Op op, Interval a, Interval b) {
    int64_t low, high;
    ends_of_results(op, a, b, FAR_END, &low, &high);
    Interval range = interval_combine(op, a, b);
    return (!range.has_low || range.low <= low) && (!range.has_high || range.high >= high);
}

static bool is_divisor(Interval range) {
    return range.has_low && range.low > 0;
}

/* Of all pairs of ranges with ends near 0 or without ends: of a remainder those that are wrong, else those that are not
 * exact. */
static int inexact_ranges(Op op) {
    int count = 0;
    for (int low = -NEAR_END; low <= NO_END; low++)
        for (int high = -NEAR_END; high <= NO_END; high++)
            for (int other_low = -NEAR_END; other_low <= NO_END; other_low++)
                for (int other_high = -NEAR_END; other_high <= NO_END; other_high++) {
                    Interval a = range_of(low, high), b = range_of(other_low, other_high);
                    bool empty = (a.has_low && low > high) || (b.has_low && other_low > other_high);
                    bool asked = !empty && (op != OP_DIV || is_divisor(b));
                    count += asked && !(op == OP_MOD ? has_all_results(op, a, b) : has_exact_ends(op, a, b));
                }
    return count;
}

static void test_ranges(void) {
    static const Op ops[] = {OP_ADD, OP_SUB, OP_MUL, OP_DIV, OP_MIN, OP_MAX};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        is_int(inexact_ranges(ops[i]), 0, "the range of %s is exact, with open ends too", op_info[ops[i]].name);
    is_int(inexact_ranges(OP_MOD), 0, "the range of a remainder holds all remainders");
    Interval any = {.has_low = false}, rest = interval_combine(OP_MOD, any, range_of(-10, -10));
    ok(rest.has_low && rest.low == -9 && rest.has_high && rest.high == 0, "of -10 they are from -9 to 0");
    rest = interval_combine(OP_MOD, any, range_of(-3, 5));
    ok(rest.has_low && rest.low == -2 && rest.has_high && rest.high == 4, "of -3 to 5 they are from -2 to 4");
    Interval large = {true, true, INT64_MAX / 2, INT64_MAX}, two = {true, true, 2, 2}, product;
    product = interval_combine(OP_MUL, large, two);
    ok(product.has_low && product.low == INT64_MAX - 1 && !product.has_high, "an end beyond the 64 bits is not known");
}

/* --- proofs ------------------------------------------------------------------------------------------------------- */

static void test_proofs(Fixture *f) {
    Arena *a = f->arena;
    Expr *H = f->H, *zero = num(f, 0);
    Expr *input = add(f, f->h, f->r), *flat = add(f, mul(f, f->i, f->M), f->j);
    /* strided: rows h of (H - KH) / 2 + 1 */
    Expr *strided = loop(a, "y", add(f, binary(f, OP_DIV, sub(f, H, f->KH), num(f, 2)), num(f, 1)));
    Expr *rows = add(f, mul(f, num(f, 2), strided), f->r);
    Expr *padded = sub(f, add(f, f->h, f->r), num(f, 1)), *clamped = binary(f, OP_MAX, padded, zero);
    Expr *wraps = binary(f, OP_MOD, add(f, f->i, num(f, 5)), f->N);
    Expr *fact = binary(f, OP_LT, add(f, f->k, num(f, 13)), f->M);
    Expr *guards = binary(f, OP_AND, binary(f, OP_GE, padded, zero), binary(f, OP_LT, padded, f->N));
    Expr *either = binary(f, OP_OR, binary(f, OP_LT, f->k, f->M), binary(f, OP_GE, f->k, f->M));
    const struct {
        Expr *condition, *fact;
        int wanted;
        const char *name;
    } rows_of_proofs[] = {
        {binary(f, OP_LT, input, H), NULL, 1, "h + r_kh < H"},
        {binary(f, OP_LE, zero, input), NULL, 1, "0 <= h + r_kh"},
        {binary(f, OP_LT, add(f, input, num(f, 1)), H), NULL, -1, "h + r_kh + 1 < H is not known"},
        {binary(f, OP_LT, rows, H), NULL, 1, "2 * y + r_kh < H"},
        {binary(f, OP_LT, add(f, rows, num(f, 1)), H), NULL, -1, "2 * y + r_kh + 1 < H is not known"},
        {binary(f, OP_LT, flat, mul(f, f->N, f->M)), NULL, 1, "i * M + j < N * M"},
        {binary(f, OP_GE, flat, mul(f, f->N, f->M)), NULL, 0, "i * M + j >= N * M never holds"},
        {binary(f, OP_LT, add(f, f->k, num(f, 5)), f->M), fact, 1, "a fact with a larger constant"},
        {binary(f, OP_LT, add(f, f->k, num(f, 14)), f->M), fact, -1, "a fact with a smaller one"},
        {binary(f, OP_GT, f->k, f->M), fact, 0, "a fact that refutes"},
        {binary(f, OP_LT, padded, f->N), guards, 1, "one of two guards"},
        {binary(f, OP_LE, zero, padded), guards, 1, "the other"},
        {binary(f, OP_LT, clamped, add(f, H, num(f, 1))), NULL, 1, "max taken apart"},
        {binary(f, OP_LE, zero, clamped), NULL, 1, "max of 0 is not negative"},
        {binary(f, OP_LT, wraps, f->N), NULL, -1, "(i + 5) % N < N fails where N is 0, unless i runs"},
        {binary(f, OP_LT, binary(f, OP_MIN, add(f, f->i, num(f, 3)), sub(f, f->N, num(f, 1))), f->N), NULL, 1, "min"},
        {either, NULL, 1, "one or its opposite"},
        {binary(f, OP_LE, mul(f, num(f, 8), binary(f, OP_DIV, f->N, num(f, 8))), f->N), NULL, 1, "8 * (N / 8) <= N"},
        {binary(f, OP_LT, sub(f, f->N, mul(f, num(f, 8), binary(f, OP_DIV, f->N, num(f, 8)))), num(f, 8)), NULL, 1,
         "N - 8 * (N / 8) < 8"},
        {binary(f, OP_EQ, binary(f, OP_MOD, f->N, num(f, 8)), zero), binary(f, OP_EQ, f->N, mul(f, num(f, 8), f->M)), 1,
         "a fact that is an equation"},
    };
    for (int i = 0; i < (int)(sizeof rows_of_proofs / sizeof *rows_of_proofs); i++) {
        Facts facts = {rows_of_proofs[i].fact != NULL, (Expr **)&rows_of_proofs[i].fact};
        is_int(expr_prove(a, rows_of_proofs[i].condition, &facts), rows_of_proofs[i].wanted, "%s",
               rows_of_proofs[i].name);
    }
}

/* --- evaluation and programs -------------------------------------------------------------------------------------- */

static void test_evaluation(Fixture *f) {
    SizeValue values[2] = {{f->N->var, 10}, {f->M->var, 0}};
    int64_t result = 0;
    ok(expr_evaluate(binary(f, OP_DIV, sub(f, f->N, num(f, 13)), num(f, 2)), values, 2, &result) && result == -2,
       "sizes are put in");
    ok(!expr_evaluate(binary(f, OP_DIV, f->N, f->M), values, 2, &result), "a division by 0 has no value");
    ok(!expr_evaluate(mul(f, f->N, num(f, INT64_MAX)), values, 2, &result), "nor has an overflow");
    ok(!expr_evaluate(f->H, values, 2, &result), "nor a size that is not given");
    Expr *guarded = binary(f, OP_AND, binary(f, OP_GT, f->M, num(f, 0)),
                           binary(f, OP_EQ, binary(f, OP_MOD, f->N, f->M), num(f, 0)));
    ok(expr_evaluate(guarded, values, 2, &result) && result == 0, "&& protects what follows");
}

static void test_programs(Fixture *f) {
    Program *program = program_matmul(f->arena, TYPE_FLOAT, 4, 5, 6);
    ok(program_flops(program) == 240, "a multiply-add counts 2");
    ok(program_flops(program_matmul(f->arena, TYPE_FLOAT, -1, 5, 6)) == -1, "unknown sizes, unknown operations");
    is_int(tensor_elements(program->arguments[0].tensor), 24, "elements of a tensor");
    is_int(program_stage_index(program, program->stages[0]), 0, "a stage's number");
    ok(program_stage_of(program, program->arguments[2].tensor) == program->stages[0], "the stage of a tensor");
    ConvShape shape = {1, 2, 5, 5, 3, 3, 3, 1, 1, 1};
    Program *chain = program_conv_chain(f->arena, TYPE_FLOAT, shape);
    ok(program_find_stage(chain, "O[0]") == chain->stages[0] && program_find_stage(chain, "O[1]") == chain->stages[1],
       "versions by number");
    ok(program_find_stage(chain, "O[2]") == chain->stages[2] && program_find_stage(chain, "O") == chain->stages[2],
       "the last by both names");
    ok(program_find_stage(chain, "O[3]") == NULL && program_find_stage(chain, "P") == NULL, "no such stage");
    Text text = {.arena = f->arena};
    program_print(&text, program);
    is_text(text.text,
            "program matmul with M=4, K=6, N=5\n"
            "  input float A(4, 6)\n"
            "  input float B(6, 5)\n"
            "  output float C(4, 5)\n"
            "  C(i, j) +=! A(i, r_k) * B(r_k, j) where i in 0:4, j in 0:5, r_k in 0:6\n",
            "a program as text");
}

static void test_keys(Fixture *f) {
    Arena *a = f->arena;
    Expr *i = f->i, *j = f->j, *three = num(f, 3), *four = num(f, 4);
    ok(expr_key(add(f, i, three)) == expr_key(add(f, i, num(f, 3))), "equal expressions have one key");
    ok(expr_key(add(f, i, three)) != expr_key(add(f, i, four)), "others have others");
    Expr *product = binary(f, OP_MUL, i, j), *other = binary(f, OP_MUL, j, f->N);
    ok(expr_key(product) == expr_key(binary(f, OP_MUL, j, i)), "the factors of a product have no order");
    ok(expr_key(binary(f, OP_MUL, i, three)) != expr_key(binary(f, OP_MUL, i, four)), "but they count");
    Expr *left = binary(f, OP_MUL, product, f->N), *right = binary(f, OP_MUL, i, other);
    ok(expr_key(left) == expr_key(right), "nor are they grouped");
    Expr *deep = i;
    for (int d = 0; d < 60; d++)
        deep = add(f, deep, deep);
    ok(expr_key(deep), "what is shared sixty times has one as soon");
    Facts many = {500, ARENA_ARRAY(a, Expr *, 500)};
    for (int k = 0; k < many.count; k++)
        many.facts[k] = binary(f, OP_LE, binary(f, OP_MOD, i, num(f, k + 2)), f->N);
    many.facts[499] = binary(f, OP_LE, j, i);
    is_int(expr_prove(a, binary(f, OP_LE, j, add(f, i, num(f, 1))), &many), 1, "the last of many facts is looked at");
    many.facts[499] = many.facts[0];
    many.facts[0] = binary(f, OP_LE, j, i);
    is_int(expr_prove(a, binary(f, OP_LE, j, add(f, i, num(f, 1))), &many), 1, "and the first");
}

static void test_targets(void) {
    ok(target_find("x86-64-v4") && !target_find("x86-64-v9"), "targets are found by name");
    const Target *target = target_find("x86-64-v3");
    ok(target_match(target, "x86-64-v3") > target_match(target, "x86-64-v2"), "the name fits best");
    ok(target_match(target, "x86-64-v2") > target_match(target, "x86-64"), "then the highest level that it includes");
    ok(target_match(target, "x86-64") > target_match(target, "x86"), "then another");
    ok(target_match(target, "x86") > 0, "the family fits");
    is_int(target_match(target, "x86-64-v4"), 0, "a higher level does not");
    is_int(target_match(target, "host"), 0, "nor this machine");
    is_int(target_match(target, "arm"), 0, "another does not");
    is_int(target_lanes(target, TYPE_FLOAT), 8, "lanes of a vector register");
    is_int(target_lanes(target_row(0), TYPE_DOUBLE), 1, "at least one");
}

int main(void) {
    Arena *arena = arena_new();
    Fixture fixture = make_fixture(arena);
    test_makers(&fixture);
    test_walks(&fixture);
    test_substitution(&fixture);
    test_printing(&fixture);
    test_simplify(&fixture);
    test_depth(&fixture);
    test_affine(&fixture);
    test_exactness(&fixture);
    test_wrapping(&fixture);
    test_ranges();
    test_proofs(&fixture);
    test_evaluation(&fixture);
    test_programs(&fixture);
    test_keys(&fixture);
    test_targets();
    arena_free(arena);
    return done_testing();
}
