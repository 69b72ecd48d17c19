/* require.c - the requirements of a program: conditions that each call checks.
 *
 * Needs sums over sizes, and lang's simplifier for what always holds. Keeps true: no two requirements
 * that were gathered here are the same condition, none always holds, and their texts have the least coefficients.
 */
#include "lang/random.h"
#include "sema/check.h"

/* 0 OP p, without minus signs: what has one stands on the left. */
static Expr *compare_sides(Arena *arena, Op op, const Affine *p) {
    Affine sides[2] = {{p->constant < 0 && p->constant != INT64_MIN ? -p->constant : 0, 0, NULL},
                       {p->constant > 0 ? p->constant : 0, 0, NULL}};
    for (int side = 0; side < 2; side++) {
        sides[side].terms = ARENA_ARRAY(arena, Term, p->count);
        for (int i = 0; i < p->count; i++) {
            if ((p->terms[i].coefficient > 0) != side || p->terms[i].coefficient == INT64_MIN)
                continue;
            Term term = p->terms[i];
            term.coefficient = side ? term.coefficient : -term.coefficient;
            sides[side].terms[sides[side].count++] = term;
        }
    }
    return expr_binary(arena, op, affine_expr(arena, &sides[0]), affine_expr(arena, &sides[1]));
}

Expr *affine_condition(Arena *arena, const Affine *p) {
    return compare_sides(arena, OP_LE, p);
}

static bool is_comparison(const Expr *e) {
    return expr_is_inequality(e) || expr_is_op(e, OP_EQ);
}

/* p such that the comparison of integers says p >= 0, or p == 0. False: it is none, or overflows. */
static bool comparison_sum(Arena *arena, const Expr *e, Affine *p) {
    if (!is_comparison(e) || e->args[0]->type != TYPE_INT64)
        return false;
    bool less = comparison_info[e->op].less;
    Expr *large = e->args[less], *small = e->args[!less];
    Affine distance = {comparison_info[e->op].equal ? 0 : -1, 0, NULL};
    return expr_is_exact(large) && expr_is_exact(small) &&
           size_affine(arena, expr_binary(arena, OP_SUB, large, small), p) && affine_sum(arena, p, 1, &distance, 1, p);
}

/* The condition, its comparisons divided by what divides all their coefficients; others stay as they are written. */
static Expr *least_condition(Arena *arena, Expr *e) {
    Affine p;
    if (e->kind != EXPR_OP)
        return e;
    if (e->op == OP_AND || e->op == OP_OR)
        return expr_binary(arena, e->op, least_condition(arena, e->args[0]), least_condition(arena, e->args[1]));
    if (!comparison_sum(arena, e, &p) || p.count == 0 || (e->op == OP_EQ && !affine_may_be_zero(&p)))
        return e;
    Affine least = affine_least(arena, &p);
    if (least.terms[0].coefficient == p.terms[0].coefficient)
        return e;
    Affine opposite = {0};
    bool equation = e->op == OP_EQ && affine_sum(arena, &least, -1, &least, 0, &opposite);
    return compare_sides(arena, equation ? OP_EQ : OP_LE, equation ? &opposite : &least);
}

/* Whether two comparisons hold for the same integers, whatever the order of their terms. */
static bool same_comparison(Arena *arena, const Expr *a, const Expr *b) {
    Affine p, q, difference;
    bool equations = a->op == OP_EQ;
    if (equations != (b->op == OP_EQ) || !comparison_sum(arena, a, &p) || !comparison_sum(arena, b, &q))
        return false;
    if (!equations || (affine_may_be_zero(&p) && affine_may_be_zero(&q))) {
        p = affine_least(arena, &p);
        q = affine_least(arena, &q);
    }
    return (affine_sum(arena, &p, 1, &q, -1, &difference) && affine_is_zero(&difference)) ||
           (equations && affine_sum(arena, &p, 1, &q, 1, &difference) && affine_is_zero(&difference));
}

static bool same_condition(Arena *arena, const Expr *a, const Expr *b) {
    if (a->kind != EXPR_OP || b->kind != EXPR_OP)
        return expr_equal(a, b);
    if (a->op == b->op && (a->op == OP_AND || a->op == OP_OR))
        return same_condition(arena, a->args[0], b->args[0]) && same_condition(arena, a->args[1], b->args[1]);
    return expr_equal(a, b) || same_comparison(arena, a, b);
}

/* A bit for each name that it has; several names may share one. */
static uint64_t names_of(const Expr *condition) {
    uint64_t names = 0;
    EACH_EXPR(e, condition)
        if (e->kind == EXPR_VAR)
            names |= (uint64_t)1 << ((((uintptr_t)e->var >> 4) * 0x9e3779b97f4a7c15) >> 58);
    return names;
}

static uint64_t size_key(int64_t coefficient, bool sign) {
    return hash_mix(sign || coefficient > 0 ? (uint64_t)coefficient : -(uint64_t)coefficient);
}

/* Of the numbers of a comparison, whatever the order of its terms, and the sign of an equation; 0 for others. */
static uint64_t comparison_key(Arena *arena, const Expr *e) {
    Affine p;
    bool equation = e->op == OP_EQ;
    if (!comparison_sum(arena, e, &p))
        return 0;
    if (!equation || affine_may_be_zero(&p))
        p = affine_least(arena, &p);
    uint64_t key = 1 + equation + hash_mix(size_key(p.constant, !equation));
    for (int i = 0; i < p.count; i++)
        key += hash_mix(size_key(p.terms[i].coefficient, !equation) + expr_key(p.terms[i].atom));
    return key;
}

/* Equal for the same conditions. */
static uint64_t condition_key(Arena *arena, const Expr *e) {
    if (e->kind == EXPR_OP && (e->op == OP_AND || e->op == OP_OR))
        return hash_mix(condition_key(arena, e->args[0])) + condition_key(arena, e->args[1]);
    return e->kind == EXPR_OP ? names_of(e) + comparison_key(arena, e) : names_of(e);
}

/* Conditions of different keys need no closer look: most are. Notes of requirements that were dropped since are
 * harmless, as the conditions are compared. */
static bool is_required(const Builder *builder, const Expr *condition, uint64_t key) {
    for (int i = 0; i < builder->required.count; i++) {
        const RequiredKey *note = &builder->required.items[i];
        if (note->key == key && note->requirement < builder->requirements.count &&
            same_condition(builder->arena, condition, builder->requirements.items[note->requirement].condition))
            return true;
    }
    return false;
}

void require_in_words(Builder *builder, Expr *condition, Status status, Loc loc, const char *text) {
    int64_t value;
    if (builder->names_only || (expr_is_int(expr_simplify(builder->arena, condition), &value) && value))
        return;
    uint64_t key = condition_key(builder->arena, condition);
    if (is_required(builder, condition, key))
        return;
    list_push(builder->arena, &builder->required, ((RequiredKey){builder->requirements.count, key}));
    Requirement requirement = {.condition = condition, .text = text, .status = (int)status, .after = -1, .loc = loc};
    list_push(builder->arena, &builder->requirements, requirement);
}

void require(Builder *builder, Expr *condition, Status status, Loc loc) {
    Expr *least = least_condition(builder->arena, condition);
    require_in_words(builder, least, status, loc, expr_text(builder->arena, least));
}

/* --- requirements that follow from others ------------------------------------------------------------------------- */

/* Whether a divisor may be 0 unless an earlier requirement says that it is not. */
static bool may_trap(const Expr *condition) {
    EACH_EXPR(e, condition)
        if ((expr_is_op(e, OP_DIV) || expr_is_op(e, OP_MOD)) && !expr_is_int(e->args[1], NULL) &&
            !expr_is_op(e->args[1], OP_MAX))
            return true;
    return false;
}

static bool compares_sizes(const Expr *condition) {
    if (expr_is_op(condition, OP_OR))
        return compares_sizes(condition->args[0]) && compares_sizes(condition->args[1]);
    return expr_compares_indices(condition);
}

/* Whether it compares sizes, so that it may follow from others, or they from it. */
static bool is_of_sizes(const Requirement *requirement) {
    return requirement->status == STATUS_BAD_SIZE && requirement->axis_count == 0 &&
           compares_sizes(requirement->condition) && !is_data_dependent(requirement->condition);
}

bool follows_from_sizes(const Builder *builder, Expr *condition) {
    Arena *arena = builder->arena;
    uint64_t names = names_of(condition);
    Facts facts = {0, ARENA_ARRAY(arena, Expr *, builder->requirements.count)};
    for (int i = 0; i < builder->requirements.count; i++)
        if (is_of_sizes(&builder->requirements.items[i]) &&
            (names_of(builder->requirements.items[i].condition) & names))
            facts.facts[facts.count++] = builder->requirements.items[i].condition;
    return expr_prove(arena, condition, &facts) == 1;
}

static bool is_member(const Expr *either, const Expr *member) {
    if (expr_is_op(either, OP_OR))
        return is_member(either->args[0], member) || is_member(either->args[1], member);
    return expr_equal(either, member);
}

/* Whether the condition follows from each member of `either`. The place behind the facts is free. */
static bool each_implies(Arena *arena, Expr *either, Expr *condition, Facts facts) {
    if (expr_is_op(either, OP_OR))
        return each_implies(arena, either->args[0], condition, facts) &&
               each_implies(arena, either->args[1], condition, facts);
    if (is_member(condition, either))
        return true;
    facts.facts[facts.count++] = either;
    return expr_prove(arena, condition, &facts) == 1;
}

/* How many requirements, from the first on, may stand for this one. Those behind a division may not: this one may say
 * that its divisor is not 0. */
static int stand_ins(const Builder *builder, int number) {
    int count = builder->requirements.count;
    for (int i = count - 1; i > number; i--)
        if (may_trap(builder->requirements.items[i].condition))
            return number;
    return count;
}

static bool follows(const Builder *builder, int number) {
    Arena *arena = builder->arena;
    int count = stand_ins(builder, number);
    Expr *condition = builder->requirements.items[number].condition;
    Facts facts = {0, ARENA_ARRAY(arena, Expr *, count + 1)};
    for (int i = 0; i < count; i++)
        if (i != number && is_of_sizes(&builder->requirements.items[i]))
            facts.facts[facts.count++] = builder->requirements.items[i].condition;
    bool implied = facts.count && condition->op != OP_EQ && expr_prove(arena, condition, &facts) == 1;
    for (int i = 0; i < facts.count && !implied; i++)
        implied = expr_is_op(facts.facts[i], OP_OR) && (names_of(facts.facts[i]) & ~names_of(condition)) == 0 &&
                  each_implies(arena, facts.facts[i], condition, facts);
    return implied;
}

/* Nobody has to read what the others say. Many requirements stay as they are, as this takes time. */
void drop_implied_requirements(Builder *builder) {
    enum { REQUIREMENT_LIMIT = 40 };
    bool few = builder->requirements.count <= REQUIREMENT_LIMIT;
    for (int i = builder->requirements.count - 1; few && i >= 0; i--)
        if (is_of_sizes(&builder->requirements.items[i]) && follows(builder, i))
            list_remove(&builder->requirements, i);
}
