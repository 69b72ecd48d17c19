/* prove.c - deciding conditions on indices for all values of their variables, with the help of facts.
 *
 * First comes expr_simplify, which settles most by intervals. What is left goes to Fourier and Motzkin: the opposite of
 * the wanted inequality, the facts that share variables with it and the ranges of all these variables are a system of
 * linear inequalities over "columns" (variables, products, quotients, ...); when eliminating one column after the other
 * leaves 0 < 0, the system has no solution and the inequality holds. Constants are rounded to whole numbers on the way.
 * Bounded: beyond the limits below an answer is "not known". Nothing is ever proved by an operation that overflowed.
 */
#include "lang/simplify.h"
#include "lang/value.h"
#include "lang/walk.h"

#include <string.h>

enum {
    COLUMN_LIMIT = 40,  /* variables of one system */
    ROW_LIMIT = 160,    /* inequalities of one system */
    GROWTH_LIMIT = 400, /* inequalities that one elimination may leave */
    SPLIT_LIMIT = 4,    /* min, max, select and abs that are taken apart by cases, one inside the other */
    ATOM_NODES = 64,    /* of what is more than looked at: each system and each case has all of them again */
    EITHER_NODES = 512, /* of what may hold because one of its members does not */
    FACTOR_LIMIT = 16
};

typedef LIST(Sum *) Sums;

typedef struct Prover {
    Arena *arena;       /* scratch */
    Sums facts;         /* each at least 0 */
    ExprList truths;    /* conditions that are no inequalities of indices */
    bool contradiction; /* the facts cannot hold: all is true */
    int splits;
    Expr *split[SPLIT_LIMIT];
} Prover;

static Sum *new_sum(Arena *arena) {
    Sum *sum = ARENA_NEW(arena, Sum);
    sum_init(sum, arena);
    return sum;
}

static void push_sum(Arena *arena, Sums *sums, Sum *sum) {
    if (!sum->overflow)
        list_push(arena, sums, sum);
}

/* factor * sum + plus as a new one. */
static Sum *scaled_sum(Arena *arena, const Sum *sum, int64_t factor, int64_t plus) {
    Sum *result = new_sum(arena);
    sum_add(result, factor, sum);
    sum_add_constant(result, 1, plus);
    return result;
}

/* --- the system --------------------------------------------------------------------------------------------------- */

typedef struct SystemRow {
    int64_t constant;
    int64_t coefficients[COLUMN_LIMIT];
} SystemRow; /* constant + sum of coefficient * column >= 0 */

typedef struct System {
    Arena *arena;
    int column_count;
    Expr *columns[COLUMN_LIMIT];
    uint64_t keys[COLUMN_LIMIT]; /* of the columns */
    Sums sums; /* the rows before there are columns for all */
    LIST(SystemRow *) rows;
} System;

static void add_sum(System *system, Sum *sum) {
    if (system->sums.count < ROW_LIMIT)
        push_sum(system->arena, &system->sums, sum);
}

static void add_interval(System *system, Expr *atom) {
    Interval interval = expr_interval(atom);
    for (int side = 0; side < 2; side++) {
        if (!(side ? interval.has_high : interval.has_low))
            continue;
        Sum *sum = new_sum(system->arena);
        sum_add_atom(sum, side ? -1 : 1, atom);
        sum_add_constant(sum, side ? 1 : -1, side ? interval.high : interval.low);
        add_sum(system, sum);
    }
}

/* e - atom >= 0, or with sign -1 the opposite direction. */
static void add_difference(System *system, Expr *e, Expr *atom, int sign) {
    Sum *sum = new_sum(system->arena);
    sum_add_expr(sum, sign, e, false);
    sum_add_atom(sum, -sign, atom);
    add_sum(system, sum);
}

/* What a quotient q = x / c satisfies: c * q <= x <= c * q + c - 1. */
static void add_quotient_bounds(System *system, Expr *atom, int64_t divisor) {
    Sum *low = new_sum(system->arena);
    sum_add_expr(low, 1, atom->args[0], false);
    sum_add_atom(low, -divisor, atom);
    add_sum(system, low);
    add_sum(system, scaled_sum(system->arena, low, -1, divisor - 1));
}

/* What a remainder m = x % c satisfies: m = x - c * (x / c). */
static void add_remainder_bounds(System *system, Expr *atom, int64_t divisor) {
    Arena *arena = system->arena;
    Sum dividend, by, *equal = new_sum(arena);
    sum_init(&dividend, arena);
    sum_init(&by, arena);
    by.constant = divisor;
    sum_add_expr(&dividend, 1, atom->args[0], false);
    sum_add(equal, 1, &dividend);
    sum_add_quotient(equal, -divisor, &dividend, &by);
    sum_add_atom(equal, -1, atom);
    add_sum(system, equal);
    add_sum(system, scaled_sum(arena, equal, -1, 0));
}

/* extent - 1 of a loop or axis. */
static void last_value(Sum *sum, Arena *arena, const Expr *loop) {
    sum_init(sum, arena);
    sum_add_expr(sum, 1, loop->var->extent, true);
    sum_add_constant(sum, 1, -1);
}

/* d * (x / d) is at most x, where both are at least 0, and at least x - d + 1, where d is at least 1. */
static void add_multiple_bounds(System *system, Expr *atom, Expr *quotient, Expr *others, const Interval *divisor) {
    Sum dividend, *low = new_sum(system->arena);
    if (!expr_is_op(quotient, OP_DIV) || !atom_equal(quotient->args[1], others))
        return;
    sum_init(&dividend, system->arena);
    sum_add_expr(&dividend, 1, quotient->args[0], false);
    if (sum_is_nonnegative(&dividend))
        add_difference(system, quotient->args[0], atom, 1);
    if (divisor->low < 1)
        return;
    sum_add_atom(low, 1, atom);
    sum_add(low, -1, &dividend);
    sum_add_expr(low, 1, others, false);
    sum_add_constant(low, 1, -1);
    add_sum(system, low);
}

/* For a factor f of a product with a rest that is at least 0: f is at most its last value, so f * rest is too. And with
 * f at least 0 and the rest at least 1 the product is at least f. */
static void add_product_bounds(System *system, Expr *atom) {
    Arena *arena = system->arena;
    Expr *factors[FACTOR_LIMIT];
    int count = atom_factors(atom, factors, FACTOR_LIMIT);
    for (int i = 0; i < count && count > 1; i++) {
        Sum rest, last, *row = new_sum(arena);
        Expr *product = atom_product_without(arena, factors, count, i);
        sum_init(&rest, arena);
        sum_add_expr(&rest, 1, product, false);
        Interval of_rest = sum_interval(&rest), of_factor = expr_interval(factors[i]);
        if (!of_rest.has_low || of_rest.low < 0)
            continue;
        add_multiple_bounds(system, atom, factors[i], product, &of_rest);
        if (atom_is_loop(factors[i])) {
            last_value(&last, arena, factors[i]);
            sum_add_product(row, 1, &last, &rest);
            sum_add_atom(row, -1, atom);
            add_sum(system, row);
        }
        if (of_rest.low >= 1 && of_factor.has_low && of_factor.low >= 0)
            add_difference(system, factors[i], atom, -1);
    }
}

/* Everything known of a column beyond its interval. */
static void add_bounds(System *system, Expr *atom) {
    int64_t divisor;
    Sum last;
    add_interval(system, atom);
    if (atom_is_loop(atom)) {
        last_value(&last, system->arena, atom);
        sum_add_atom(&last, -1, atom);
        add_sum(system, scaled_sum(system->arena, &last, 1, 0));
    } else if (expr_is_op(atom, OP_MIN) || expr_is_op(atom, OP_MAX)) {
        add_difference(system, atom->args[0], atom, atom->op == OP_MIN ? 1 : -1);
        add_difference(system, atom->args[1], atom, atom->op == OP_MIN ? 1 : -1);
    } else if (expr_is_op(atom, OP_MUL)) {
        add_product_bounds(system, atom);
    } else if (expr_is_op(atom, OP_DIV) && expr_is_int(atom->args[1], &divisor) && divisor > 0) {
        add_quotient_bounds(system, atom, divisor);
    } else if (expr_is_op(atom, OP_MOD) && expr_is_int(atom->args[1], &divisor) && divisor > 0) {
        add_remainder_bounds(system, atom, divisor);
    }
}

static int find_column(const System *system, Expr *atom) {
    uint64_t key = expr_key(atom);
    for (int i = 0; i < system->column_count; i++)
        if (system->keys[i] == key && atom_equal(system->columns[i], atom))
            return i;
    return -1;
}

/* Makes columns of the sum's atoms; new ones bring their bounds. False when there are too many. */
static bool add_columns(System *system, const Sum *sum) {
    for (int i = 0; i < sum->count; i++) {
        if (find_column(system, sum->terms[i].atom) >= 0)
            continue;
        if (system->column_count == COLUMN_LIMIT)
            return false;
        system->keys[system->column_count] = expr_key(sum->terms[i].atom);
        system->columns[system->column_count++] = sum->terms[i].atom;
        add_bounds(system, sum->terms[i].atom);
    }
    return true;
}

/* A minimum or maximum of what is a column: its bounds lead there. */
static bool leads_to_column(const System *system, const Expr *atom) {
    for (int i = 0; i < system->column_count && (expr_is_op(atom, OP_MIN) || expr_is_op(atom, OP_MAX)); i++)
        if (system->columns[i]->kind == EXPR_VAR && expr_uses_var(atom, system->columns[i]->var))
            return true;
    return false;
}

static bool touches(const System *system, const Sum *sum) {
    for (int i = 0; i < sum->count; i++)
        if (find_column(system, sum->terms[i].atom) >= 0 || leads_to_column(system, sum->terms[i].atom))
            return true;
    return false;
}

/* Adds the facts that share columns with the system, and those that share columns with them, and so on. */
static void add_facts(System *system, const Sums *facts) {
    bool *used = ARENA_ARRAY(system->arena, bool, facts->count);
    int next = 0;
    for (bool changed = true; changed;) {
        changed = false;
        for (; next < system->sums.count; next++)
            add_columns(system, system->sums.items[next]);
        for (int i = 0; i < facts->count; i++)
            if (!used[i] && touches(system, facts->items[i])) {
                used[i] = changed = true;
                add_sum(system, facts->items[i]);
            }
    }
}

/* --- elimination -------------------------------------------------------------------------------------------------- */

static int64_t row_divisor(const SystemRow *row, int columns) {
    int64_t divisor = 0;
    for (int i = 0; i < columns; i++)
        divisor = greatest_divisor(divisor, row->coefficients[i]);
    return divisor;
}

/* Adds a row, divided by its common divisor: whole numbers let the constant round down. True on a contradiction. */
static bool push_row(System *system, SystemRow *row) {
    int64_t divisor = row_divisor(row, system->column_count);
    if (divisor == 0)
        return row->constant < 0;
    row->constant = floor_div(row->constant, divisor);
    for (int i = 0; i < system->column_count; i++)
        row->coefficients[i] /= divisor;
    for (int i = 0; i < system->rows.count; i++) {
        SystemRow *other = system->rows.items[i];
        if (memcmp(other->coefficients, row->coefficients, sizeof(int64_t) * (size_t)system->column_count) != 0)
            continue;
        if (row->constant < other->constant)
            other->constant = row->constant;
        return false;
    }
    list_push(system->arena, &system->rows, row);
    return false;
}

static bool push_rows_of_sums(System *system) {
    for (int i = 0; i < system->sums.count; i++) {
        const Sum *sum = system->sums.items[i];
        SystemRow *row = ARENA_NEW(system->arena, SystemRow);
        row->constant = sum->constant;
        bool complete = true;
        for (int t = 0; t < sum->count && complete; t++) {
            int column = find_column(system, sum->terms[t].atom);
            complete = column >= 0 && sum->terms[t].coefficient != INT64_MIN;
            if (complete)
                row->coefficients[column] = sum->terms[t].coefficient;
        }
        if (complete && push_row(system, row))
            return true;
    }
    return false;
}

/* The rows that eliminating a column adds, -1 when no row holds it. exact: no solution in whole numbers comes in, since
 * of each two rows that are combined one has the coefficient 1 or -1. */
static int growth_of(const System *system, int column, bool *exact) {
    int positive = 0, negative = 0;
    bool units_above = true, units_below = true;
    for (int i = 0; i < system->rows.count; i++) {
        int64_t coefficient = system->rows.items[i]->coefficients[column];
        positive += coefficient > 0;
        negative += coefficient < 0;
        units_above = units_above && coefficient <= 1;
        units_below = units_below && coefficient >= -1;
    }
    *exact = units_above || units_below;
    return positive + negative == 0 ? -1 : system->rows.count + positive * negative - positive - negative;
}

/* The column to eliminate next: an exact one if there is, then the one that leaves the fewest rows; -1 for none. */
static int cheapest_column(const System *system) {
    int best = -1, best_growth = GROWTH_LIMIT;
    bool best_exact = false;
    for (int column = 0; column < system->column_count; column++) {
        bool exact;
        int growth = growth_of(system, column, &exact);
        if (growth < 0 || growth >= GROWTH_LIMIT || (best_exact && !exact))
            continue;
        if (growth < best_growth || exact > best_exact) {
            best = column;
            best_growth = growth;
            best_exact = exact;
        }
    }
    return best;
}

/* a * p + b * n, where p > 0 and n < 0 are the column's coefficients in b and a; NULL on overflow. */
static SystemRow *combine_rows(const System *system, const SystemRow *a, const SystemRow *b, int column) {
    int64_t of_a = -b->coefficients[column], of_b = a->coefficients[column];
    SystemRow *row = ARENA_NEW(system->arena, SystemRow);
    for (int i = -1; i < system->column_count; i++) {
        int64_t x, y, *to = i < 0 ? &row->constant : &row->coefficients[i];
        if (__builtin_mul_overflow(i < 0 ? a->constant : a->coefficients[i], of_a, &x) ||
            __builtin_mul_overflow(i < 0 ? b->constant : b->coefficients[i], of_b, &y) ||
            __builtin_add_overflow(x, y, to) || *to == INT64_MIN)
            return NULL;
    }
    return row;
}

/* Replaces the rows that hold the column by all combinations without it. True on a contradiction. */
static bool eliminate(System *system, int column) {
    SystemRow **rows = system->rows.items;
    int count = system->rows.count;
    memset(&system->rows, 0, sizeof system->rows);
    for (int i = 0; i < count; i++)
        if (rows[i]->coefficients[column] == 0)
            list_push(system->arena, &system->rows, rows[i]);
    for (int i = 0; i < count; i++)
        for (int j = 0; j < count && rows[i]->coefficients[column] > 0; j++) {
            SystemRow *row = rows[j]->coefficients[column] < 0 ? combine_rows(system, rows[i], rows[j], column) : NULL;
            if (row && push_row(system, row))
                return true;
        }
    return false;
}

static bool is_contradictory(System *system) {
    if (push_rows_of_sums(system))
        return true;
    for (int column; (column = cheapest_column(system)) >= 0;)
        if (eliminate(system, column))
            return true;
    return false;
}

static bool prove_by_elimination(const Prover *prover, const Sum *goal) {
    System *system = ARENA_NEW(prover->arena, System);
    system->arena = prover->arena;
    add_sum(system, scaled_sum(prover->arena, goal, -1, -1));
    if (system->sums.count == 0)
        return false;
    add_facts(system, &prover->facts);
    return is_contradictory(system);
}

/* --- facts and cases ---------------------------------------------------------------------------------------------- */

static void assume(Prover *prover, Expr *e);

static void assume_nonnegative(Prover *prover, Sum *sum) {
    if (sum->count == 0 && sum->constant < 0 && !sum->overflow)
        prover->contradiction = true;
    push_sum(prover->arena, &prover->facts, sum);
}

static void assume_comparison(Prover *prover, Expr *e) {
    Arena *arena = prover->arena;
    Sum d;
    if (e->op == OP_EQ || e->op == OP_NE) {
        if (!equation_of(&d, arena, e->args[0], e->args[1], false))
            return;
        int sign = sum_sign(&d);
        if (e->op == OP_EQ || sign > 0)
            assume_nonnegative(prover, scaled_sum(arena, &d, 1, e->op == OP_EQ ? 0 : -1));
        if (e->op == OP_EQ)
            assume_nonnegative(prover, scaled_sum(arena, &d, -1, 0));
    } else if (inequality_of(&d, arena, e->op, e->args[0], e->args[1], false)) {
        assume_nonnegative(prover, scaled_sum(arena, &d, -1, -1));
    }
}

/* e is simplified. */
static void assume(Prover *prover, Expr *e) {
    if (expr_is_op(e, OP_AND)) {
        assume(prover, e->args[0]);
        assume(prover, e->args[1]);
        return;
    }
    if (e->kind == EXPR_INT && !e->integer)
        prover->contradiction = true;
    if (expr_compares_indices(e) && e->lanes == 1)
        assume_comparison(prover, e);
    list_push(prover->arena, &prover->truths, e);
}

static void assume_equal(Prover *prover, Expr *atom, Expr *value) {
    Sum *sum = new_sum(prover->arena);
    sum_add_atom(sum, 1, atom);
    sum_add_expr(sum, -1, value, false);
    assume_nonnegative(prover, sum);
    assume_nonnegative(prover, scaled_sum(prover->arena, sum, -1, 0));
}

static bool prove_nonnegative(Prover *prover, const Sum *goal);

/* The condition under which the atom is its first case, and the two cases. */
static Expr *case_condition(Arena *arena, Expr *atom, Expr **first, Expr **second) {
    *first = atom->args[atom->op == OP_SELECT ? 1 : 0];
    *second = atom->op == OP_ABS ? expr_unary(arena, OP_NEG, *first) : atom->args[atom->op == OP_SELECT ? 2 : 1];
    if (atom->op == OP_SELECT)
        return atom->args[0];
    if (atom->op == OP_ABS)
        return expr_binary(arena, OP_GE, *first, expr_int(arena, 0));
    return expr_binary(arena, atom->op == OP_MIN ? OP_LE : OP_GE, *first, *second);
}

/* Proves the goal once with the atom as each of its cases. */
static bool prove_by_cases(Prover *prover, const Sum *goal, Expr *atom) {
    Arena *arena = prover->arena;
    Expr *values[2], *condition = case_condition(arena, atom, &values[0], &values[1]);
    bool proved = true;
    prover->split[prover->splits++] = atom;
    for (int i = 0; i < 2 && proved; i++) {
        Prover inner = *prover;
        inner.facts.capacity = inner.facts.count; /* growing copies, so that the outer list stays as it is */
        inner.truths.capacity = inner.truths.count;
        assume(&inner, expr_simplify(arena, i ? expr_unary(arena, OP_NOT, condition) : condition));
        assume_equal(&inner, atom, values[i]);
        proved = inner.contradiction || prove_nonnegative(&inner, goal);
    }
    prover->splits--;
    return proved;
}

/* An atom of the goal that has cases and has not been split yet. */
static Expr *find_split(const Prover *prover, const Sum *goal) {
    for (int i = 0; i < goal->count && prover->splits < SPLIT_LIMIT; i++) {
        Expr *atom = goal->terms[i].atom;
        bool has_cases = expr_is_op(atom, OP_MIN) || expr_is_op(atom, OP_MAX) || expr_is_op(atom, OP_SELECT) ||
                         expr_is_op(atom, OP_ABS);
        for (int s = 0; s < prover->splits; s++)
            has_cases = has_cases && !expr_equal(prover->split[s], atom);
        if (has_cases && !expr_is_larger(atom, ATOM_NODES))
            return atom;
    }
    return NULL;
}

static bool prove_nonnegative(Prover *prover, const Sum *goal) {
    if (goal->overflow)
        return false;
    if (sum_is_nonnegative(goal))
        return true;
    if (prover->facts.count == 0 && sum_is_negative_somewhere(goal))
        return false;
    if (prove_by_elimination(prover, goal))
        return true;
    Expr *atom = find_split(prover, goal);
    return atom && prove_by_cases(prover, goal, atom);
}

static bool holds(Prover *prover, Expr *e);

static bool comparison_holds(Prover *prover, Expr *e) {
    Arena *arena = prover->arena;
    Sum d;
    if (e->op == OP_EQ || e->op == OP_NE) {
        if (!equation_of(&d, arena, e->args[0], e->args[1], false))
            return false;
        if (e->op == OP_EQ)
            return prove_nonnegative(prover, &d) && prove_nonnegative(prover, scaled_sum(arena, &d, -1, 0));
        return prove_nonnegative(prover, scaled_sum(arena, &d, 1, -1)) ||
               prove_nonnegative(prover, scaled_sum(arena, &d, -1, -1));
    }
    return inequality_of(&d, arena, e->op, e->args[0], e->args[1], false) &&
           prove_nonnegative(prover, scaled_sum(arena, &d, -1, -1));
}

/* One member holds, or the second does wherever the first does not; of what is long, each by itself: the opposites of
 * all before each member would take the square of its length. */
static bool either_holds(Prover *prover, Expr *e) {
    if (holds(prover, e->args[0]))
        return true;
    if (expr_is_larger(e, EITHER_NODES))
        return holds(prover, e->args[1]);
    Prover inner = *prover;
    inner.facts.capacity = inner.facts.count;
    inner.truths.capacity = inner.truths.count;
    assume(&inner, expr_simplify(prover->arena, expr_unary(prover->arena, OP_NOT, e->args[0])));
    return holds(&inner, e->args[1]);
}

/* e is simplified. */
static bool holds(Prover *prover, Expr *e) {
    if (prover->contradiction)
        return true;
    if (e->kind == EXPR_INT)
        return e->integer != 0;
    if (expr_is_listed(&prover->truths, e))
        return true;
    if (expr_is_op(e, OP_AND))
        return holds(prover, e->args[0]) && holds(prover, e->args[1]);
    if (expr_is_op(e, OP_OR))
        return either_holds(prover, e);
    return expr_compares_indices(e) && e->lanes == 1 && comparison_holds(prover, e);
}

/* The fact behind this one that is looked at: the first ones say what a def requires, the last ones what was found out
 * beside the question. */
static int next_fact(int fact, int count) {
    return fact + 1 == FACT_LIMIT / 2 && count > FACT_LIMIT ? count - FACT_LIMIT / 2 : fact + 1;
}

bool affine_never_negative(Arena *arena, const Affine *affine, const AffineList *facts) {
    Sum goal;
    sum_over(&goal, arena, affine);
    if (sum_is_nonnegative(&goal))
        return true;
    for (int i = 0; i < goal.count; i++)
        if (expr_is_larger(goal.terms[i].atom, ATOM_NODES))
            return false;
    Prover prover = {.arena = arena_new()};
    for (int i = 0; facts && i < facts->count; i = next_fact(i, facts->count)) {
        Sum *fact = new_sum(prover.arena);
        sum_add_affine(fact, 1, &facts->items[i]);
        assume_nonnegative(&prover, fact);
    }
    bool proved = prover.contradiction || prove_nonnegative(&prover, &goal);
    arena_free(prover.arena);
    return proved;
}

int expr_prove(Arena *arena, Expr *condition, const Facts *facts) {
    condition = expr_simplify(arena, condition);
    if (condition->kind == EXPR_INT)
        return condition->integer != 0;
    Prover prover = {.arena = arena_new()};
    for (int i = 0; facts && i < facts->count; i = next_fact(i, facts->count))
        assume(&prover, expr_simplify(prover.arena, facts->facts[i]));
    int result = -1;
    if (holds(&prover, condition))
        result = 1;
    else if (holds(&prover, expr_simplify(prover.arena, expr_unary(prover.arena, OP_NOT, condition))))
        result = 0;
    arena_free(prover.arena);
    return result;
}
