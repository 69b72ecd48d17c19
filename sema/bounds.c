/* bounds.c - the proof that every access stays inside its tensor.
 *
 * An index is replaced by its smallest and its largest value over the domain, which leaves a condition on sizes alone.
 * If the condition follows from what is known, the access is safe. If it can never hold, or holds for sizes of 0 and 1
 * only, the program is refused. Otherwise it becomes a requirement that the function checks when it is called.
 *
 * Conditions of `? :` help in the proof. A read that is safe only because of them gets an `otherwise`, so that no later
 * step can move it out from under them.
 */
#include "sema/check.h"
#include <string.h>

static const Affine minus_one = {-1, 0, NULL};

/* --- requirements --- */

typedef enum Verdict { ALWAYS, NEVER, DEPENDS } Verdict;

/* Whether p >= 0, where p is over sizes. */
static Verdict judge(Arena *arena, const Affine *p, const AffineList *facts) {
    Affine opposite;
    if (affine_never_negative(arena, p, facts))
        return ALWAYS;
    if (affine_negative_for_real_sizes(p))
        return NEVER;
    bool never = affine_sum(arena, p, -1, &minus_one, 1, &opposite) && affine_never_negative(arena, &opposite, facts);
    return never ? NEVER : DEPENDS;
}

static bool is_empty(const Statement *s) {
    int64_t extent;
    for (int i = 0; i < s->indices.count; i++)
        if (expr_is_int(s->indices.items[i]->extent, &extent) && extent == 0)
            return true;
    return false;
}

static bool has_same_terms(const Affine *a, const Affine *b) {
    bool same = a->count == b->count;
    for (int i = 0; i < a->count && same; i++)
        same = a->terms[i].coefficient == b->terms[i].coefficient && expr_equal(a->terms[i].atom, b->terms[i].atom);
    return same;
}

/* From now on p >= 0. N >= 3 takes the place of N >= 2, in a new list: what was remembered of the old one stays. */
static void add_size_fact(Builder *builder, Affine p) {
    AffineList *facts = &builder->facts, kept = {0};
    int weaker = 0;
    while (weaker < facts->count && !has_same_terms(&facts->items[weaker], &p))
        weaker++;
    bool known = weaker < facts->count;
    if (known && facts->items[weaker].constant <= p.constant)
        return;
    if (!known && facts->count < FACT_LIMIT) {
        list_push(builder->arena, facts, p);
        return;
    }
    for (int i = 0; i < facts->count; i++)
        if (known || i != FACT_LIMIT / 2)
            list_push(builder->arena, &kept, i == weaker ? p : facts->items[i]);
    if (!known)
        list_push(builder->arena, &kept, p);
    *facts = kept;
}

/* Requires p >= 0 unless a range is empty. If p >= 0 follows even from an empty range, p is a fact for later proofs. */
static void require_on_domain(Statement *s, const Affine *p, Loc loc) {
    Builder *builder = s->builder;
    Arena *arena = builder->arena;
    Affine least = affine_least(arena, p);
    Expr *condition = affine_condition(arena, &least);
    bool certain = true;
    for (int i = 0; i < s->indices.count; i++) {
        Affine extent, none, last;
        AffineList facts = {0};
        for (int f = 0; f < builder->facts.count; f++)
            list_push(arena, &facts, builder->facts.items[f]);
        if (!size_affine(arena, s->indices.items[i]->extent, &extent) ||
            !affine_sum(arena, &extent, -1, &extent, 0, &none) || !affine_sum(arena, &extent, 1, &minus_one, 1, &last))
            continue;
        list_push(arena, &facts, none);
        if (affine_never_negative(arena, &last, &builder->facts) || affine_never_negative(arena, &least, &facts))
            continue;
        certain = false;
        Expr *empty = expr_binary(arena, OP_LE, s->indices.items[i]->extent, expr_int(arena, 0));
        condition = expr_binary(arena, OP_OR, condition, empty);
    }
    require(builder, condition, STATUS_BAD_SIZE, loc);
    if (certain)
        add_size_fact(builder, least);
}

/* min(a, b) + c >= 0 is a + c >= 0 and b + c >= 0. */
static void require_not_negative(Builder *builder, const Affine *p, Loc loc) {
    Arena *arena = builder->arena;
    const Expr *factor = p->count == 1 ? p->terms[0].atom : NULL;
    if (affine_never_negative(arena, p, &builder->facts))
        return;
    if (factor && p->terms[0].coefficient == 1 && expr_is_op(factor, OP_MIN)) {
        for (int i = 0; i < 2; i++) {
            Affine side, constant = {p->constant, 0, NULL};
            if (size_affine(arena, factor->args[i], &side) && affine_sum(arena, &side, 1, &constant, 1, &side))
                require_not_negative(builder, &side, loc);
        }
        return;
    }
    Affine least = affine_least(arena, p);
    require(builder, affine_condition(arena, &least), STATUS_BAD_SIZE, loc);
    add_size_fact(builder, least);
}

/* Requires that the range does not end before it begins. */
bool require_range(Statement *s, IndexVariable *index) {
    Builder *builder = s->builder;
    Affine extent;
    if (!size_affine(builder->arena, index->extent, &extent))
        return true;
    Verdict verdict = judge(builder->arena, &extent, &builder->facts);
    int64_t known;
    if (verdict == NEVER && affine_is_int(&extent, &known)) {
        ERROR(s->frame, negative_extent, index->loc, index->name, expr_text(builder->arena, index->low),
              expr_text(builder->arena, size_normal(builder->arena, expr_binary(builder->arena, OP_ADD, index->high,
                                                                                expr_int(builder->arena, 1)))));
        note_calls(s->frame);
        return false;
    }
    if (verdict != ALWAYS)
        require_not_negative(builder, &extent, index->loc);
    return true;
}

/* What a quotient in the term divides, and the factor that stands beside it; false: they are not k * (x / k). */
static bool multiple_in_term(Arena *arena, const Term *term, Expr **whole, Expr **factor) {
    Expr **factors, *quotient = NULL, *beside = expr_int(arena, term->coefficient);
    int degree = term_factors(arena, term, &factors);
    for (int i = 0; i < degree; i++)
        if (!quotient && expr_is_op(factors[i], OP_DIV))
            quotient = factors[i];
        else
            beside = expr_binary(arena, OP_MUL, beside, factors[i]);
    if (!quotient)
        return false;
    *whole = quotient->args[0];
    *factor = size_normal(arena, beside);
    return size_equal(arena, quotient->args[1], size_max(arena, *factor, expr_int(arena, 1)));
}

/* x == k * (x / k) in words; NULL: the sum, which must be 0, says something else. */
static const char *multiple_text(Arena *arena, const Affine *zero) {
    for (int i = 0; i < zero->count; i++) {
        Affine term = {0, 1, &zero->terms[i]};
        Expr *whole, *factor, *rest = expr_binary(arena, OP_SUB, affine_expr(arena, zero), affine_expr(arena, &term));
        if (multiple_in_term(arena, term.terms, &whole, &factor) &&
            size_equal(arena, rest, expr_unary(arena, OP_NEG, whole)))
            return arena_printf(arena, "%s to be a multiple of %s", expr_text(arena, whole), expr_text(arena, factor));
    }
    return NULL;
}

/* Requires a == b. An error (false) if the two differ for all sizes above 1. */
bool require_equal(CallFrame *frame, Expr *a, Expr *b, Loc loc, const char *what) {
    Builder *builder = frame->builder;
    Arena *arena = builder->arena;
    Affine difference, opposite;
    if (builder->names_only || !size_affine(arena, expr_binary(arena, OP_SUB, a, b), &difference) ||
        !affine_sum(arena, &difference, -1, &difference, 0, &opposite))
        return true;
    Verdict up = judge(arena, &difference, &builder->facts), down = judge(arena, &opposite, &builder->facts);
    if (up == ALWAYS && down == ALWAYS)
        return true;
    if (up == NEVER || down == NEVER || !affine_may_be_zero(&difference)) {
        ERROR(frame, size_mismatch, loc, what, expr_text(arena, a), expr_text(arena, b));
        return false;
    }
    const char *first = multiple_text(arena, &difference), *text = first ? first : multiple_text(arena, &opposite);
    Expr *equal = expr_binary(arena, OP_EQ, a, b);
    if (text)
        require_in_words(builder, equal, STATUS_BAD_SIZE, loc, text);
    else
        require(builder, equal, STATUS_BAD_SIZE, loc);
    add_size_fact(builder, affine_least(arena, &difference));
    add_size_fact(builder, affine_least(arena, &opposite));
    return true;
}

/* --- conditions as facts --- */

static void add_fact(Arena *arena, AffineList *facts, Expr *larger, Expr *smaller, int64_t by) {
    Affine p, distance = {-by, 0, NULL};
    if (size_affine(arena, expr_binary(arena, OP_SUB, larger, smaller), &p) &&
        affine_sum(arena, &p, 1, &distance, 1, &p))
        list_push(arena, facts, affine_least(arena, &p));
}

/* a % k == rest says that k * (a / k) + rest is all of a. */
static void add_remainder_fact(Arena *arena, AffineList *facts, const Expr *remainder, Expr *rest) {
    int64_t divisor;
    if (!expr_is_op(remainder, OP_MOD) || !expr_is_int(remainder->args[1], &divisor) || divisor <= 0)
        return;
    Expr *quotient = expr_binary(arena, OP_DIV, remainder->args[0], remainder->args[1]);
    Expr *whole = expr_binary(arena, OP_MUL, quotient, remainder->args[1]);
    add_fact(arena, facts, expr_binary(arena, OP_ADD, whole, rest), remainder->args[0], 0);
}

/* Adds what a condition says about indices, as sums that are not negative. */
static void add_guard_facts(Arena *arena, AffineList *facts, const Expr *guard) {
    if (guard->kind != EXPR_OP)
        return;
    Expr *a = guard->args[0], *b = guard->count > 1 ? guard->args[1] : NULL;
    if (guard->op == OP_AND) {
        add_guard_facts(arena, facts, a);
        add_guard_facts(arena, facts, b);
        return;
    }
    if (guard->op == OP_NOT && expr_is_op(a, OP_OR)) {
        add_guard_facts(arena, facts, expr_unary(arena, OP_NOT, a->args[0]));
        add_guard_facts(arena, facts, expr_unary(arena, OP_NOT, a->args[1]));
        return;
    }
    if (guard->op == OP_EQ && a->type == TYPE_INT64 && expr_is_exact(a) && expr_is_exact(b))
        add_remainder_fact(arena, facts, a, b);
    Op op = guard->op;
    if (op == OP_NOT && expr_is_comparison(a)) {
        op = comparison_info[a->op].opposite;
        b = a->args[1];
        a = a->args[0];
    }
    if (!b || a->type != TYPE_INT64 || !expr_is_exact(a) || !expr_is_exact(b))
        return;
    if (op == OP_EQ || op == OP_LE)
        add_fact(arena, facts, b, a, 0);
    if (op == OP_EQ || op == OP_GE)
        add_fact(arena, facts, a, b, 0);
    if (op == OP_LT)
        add_fact(arena, facts, b, a, 1);
    if (op == OP_GT)
        add_fact(arena, facts, a, b, 1);
}

void add_condition_facts(Builder *builder, const Expr *condition) {
    add_guard_facts(builder->arena, &builder->facts, condition);
}

/* --- proofs --- */

static bool holds_on_domain(const Statement *s, const Affine *p) {
    Affine lowest;
    return extreme_over_domain(s, p, false, &lowest) && affine_never_negative(s->builder->arena, &lowest, &s->facts);
}

/* The multiple of the guard to subtract from p so that a variable of both cancels; 1 when there is none. */
static int64_t useful_multiple(const Statement *s, const Affine *p, const Affine *guard) {
    for (int i = 0; i < s->indices.count; i++) {
        int64_t here = affine_slope(p, s->indices.items[i]->raw);
        int64_t there = affine_slope(guard, s->indices.items[i]->raw);
        if (there && here != INT64_MIN && here % there == 0 && here / there > 0)
            return here / there;
    }
    return 1;
}

/* Whether p is a sum of guards (each not negative under its condition) and of something that is never negative. */
static bool holds_under(const Statement *s, const Affine *p, const AffineList *guards, int depth, int *steps) {
    enum { GUARDS_TOGETHER = 3 };
    Arena *arena = s->builder->arena;
    for (int g = 0; g<guards->count && * steps> 0; g++) {
        Affine rest;
        --*steps;
        if (!affine_sum(arena, p, 1, &guards->items[g], -useful_multiple(s, p, &guards->items[g]), &rest))
            continue;
        if (holds_on_domain(s, &rest))
            return true;
        AffineList others = {guards->items + g + 1, guards->count - g - 1, 0};
        if (depth < GUARDS_TOGETHER && holds_under(s, &rest, &others, depth + 1, steps))
            return true;
    }
    return false;
}

typedef enum Safety { SAFE, SAFE_UNDER_GUARD, UNSAFE } Safety;

static Safety safety_of(const Statement *s, const Affine *p, const AffineList *guards);

/* A choice in the index: each side is safe where its condition holds. */
static Safety safety_of_choice(const Statement *s, const Affine *p, int term, const AffineList *guards) {
    Arena *arena = s->builder->arena;
    const Expr *choice = p->terms[term].atom;
    Safety worst = SAFE;
    for (int side = 0; side < 2 && worst != UNSAFE; side++) {
        Affine value, replaced;
        AffineList own = {0}, all = {0};
        add_guard_facts(arena, &own, side ? expr_unary(arena, OP_NOT, choice->args[0]) : choice->args[0]);
        if (!size_affine(arena, choice->args[1 + side], &value) || !affine_replace(arena, p, term, &value, &replaced))
            return UNSAFE;
        if (safety_of(s, &replaced, &own) != UNSAFE)
            continue;
        for (int i = 0; i < own.count + guards->count; i++)
            list_push(arena, &all, i < own.count ? own.items[i] : guards->items[i - own.count]);
        worst = safety_of(s, &replaced, &all);
    }
    return worst;
}

static int find_choice(const Affine *p) {
    for (int i = 0; i < p->count; i++) {
        const Expr *atom = p->terms[i].atom;
        if (expr_is_op(atom, OP_SELECT))
            return i;
    }
    return -1;
}

static Safety safety_of(const Statement *s, const Affine *p, const AffineList *guards) {
    enum { STEP_LIMIT = 1000 };
    int steps = STEP_LIMIT, choice = find_choice(p);
    Affine plain;
    if (choice >= 0)
        return safety_of_choice(s, p, choice, guards);
    if (holds_on_domain(s, p))
        return SAFE;
    bool changed = without_divisions(s, p, &plain);
    if (changed && holds_on_domain(s, &plain))
        return SAFE;
    if (holds_under(s, p, guards, 1, &steps) || (changed && holds_under(s, &plain, guards, 1, &steps)))
        return SAFE_UNDER_GUARD;
    return UNSAFE;
}

/* --- errors --- */

static const AstExpr *index_place(const ReadSite *site, int d) {
    return site->ast->kind == AST_APPLY ? site->ast->args.items[d] : site->ast;
}

/* "0:H + KH - 1": the range of an index as the source counts it. */
static const char *range_text(const Statement *s, const ReadSite *site, int d, Expr *index) {
    Arena *arena = s->builder->arena;
    Affine p, low, high, end, one = {1, 0, NULL};
    if (site->view.lower)
        index = expr_binary(arena, OP_ADD, index, site->view.lower[d]);
    if (!size_affine(arena, index, &p) || !extreme_over_domain(s, &p, false, &low) ||
        !extreme_over_domain(s, &p, true, &high) || !affine_sum(arena, &high, 1, &one, 1, &end))
        return NULL;
    return arena_printf(arena, "%s:%s", expr_text(arena, affine_expr(arena, &low)),
                        expr_text(arena, affine_expr(arena, &end)));
}

static void note_ranges(const Statement *s, const Expr *index) {
    Arena *arena = s->builder->arena;
    for (int i = 0; i < s->indices.count; i++) {
        const IndexVariable *v = s->indices.items[i];
        if (!expr_uses_var(index, v->raw))
            continue;
        Expr *end = size_normal(arena, expr_binary(arena, OP_ADD, v->high, expr_int(arena, 1)));
        NOTE(s->frame, v->loc, "%s runs over %s:%s", v->name, expr_text(arena, v->low), expr_text(arena, end));
    }
}

/* An expression as the source spells it, on one line without comments. */
static const char *source_text(const Statement *s, Loc loc) {
    const char *source = source_get(s->builder->checker->sources, loc.file)->text;
    const char *at = source + loc.begin, *end = source + loc.end;
    Text text = {.arena = s->builder->arena};
    while (at < end) {
        size_t blank = strspn(at, " \t\r\f\v\n"), comment = at[blank] == '#' ? strcspn(at + blank, "\n") : 0;
        bool again = comment || (blank && text.length && text.text[text.length - 1] == ' ');
        text_add(&text, "%s", blank && !again ? " " : "");
        at += blank + comment;
        if (at < end && !comment)
            text_add(&text, "%c", *at++);
    }
    return text.text;
}

static bool refuse_site(Statement *s, ReadSite *site, int d) {
    Arena *arena = s->builder->arena;
    Expr *index = site->read->args[d];
    const AstExpr *place = index_place(site, d);
    const char *range = range_text(s, site, d, index), *extent = expr_text(arena, site->view.dims[d]);
    const char *text = source_text(s, place->loc);
    if (site->view.lower && expr_text(arena, site->view.lower[d])[0] != '0')
        extent = arena_printf(arena, "%s, counted from %s", extent, expr_text(arena, site->view.lower[d]));
    if (range)
        ERROR(s->frame, out_of_bounds, place->loc, text, site->name, range, d, extent);
    else
        ERROR(s->frame, unproved_index, place->loc, text, site->name, d, extent);
    note_ranges(s, index);
    if (site->written) {
        AstExpr *end = ast_suggest_name(arena, expr_text(arena, site->view.dims[d]));
        Text inside = {.arena = arena};
        ast_print_expr(&inside, ast_suggest(arena, OP_LT, site->ast->args.items[d], end, NULL));
        HINT(s->frame, "leave out what lies outside: where %s", inside.text);
    } else if (s->ast->part)
        HINT(s->frame, "a part of a tensor has no value for outside: change the index or the range of the for");
    else if (!hint_other_elements(s, site->ast) && !hint_from_end(s, site, place, d))
        HINT(s->frame, "give the read a value for outside: %s else 0", source_text(s, site->ast->loc));
    note_calls(s->frame);
    return false;
}

static bool refuse_target(Statement *s, const View *target, int d) {
    Arena *arena = s->builder->arena;
    const IndexVariable *index = s->indices.items[d];
    Expr *end = size_normal(arena, expr_binary(arena, OP_ADD, index->high, expr_int(arena, 1)));
    const char *range = arena_printf(arena, "%s:%s", expr_text(arena, index->low), expr_text(arena, end));
    const AstTarget *left = &s->ast->targets.items[0];
    ERROR(s->frame, out_of_bounds, left->indices.items[d]->loc, index->name, left->name.text, range, d,
          expr_text(arena, target->dims[d]));
    HINT(s->frame,
         "what a tensor spans is fixed by its first definition, or by sizes in the header: -> (float(...) %s)",
         left->name.text);
    note_calls(s->frame);
    return false;
}

/* --- accesses --- */

static bool check_side(Statement *s, ReadSite *site, int d, const Affine *p, const AffineList *guards) {
    Safety safety = safety_of(s, p, guards);
    site->guarded |= safety == SAFE_UNDER_GUARD;
    if (safety != UNSAFE || is_empty(s))
        return true;
    Affine plain = *p, lowest;
    without_divisions(s, p, &plain);
    if (!extreme_over_domain(s, &plain, false, &lowest) || judge(s->builder->arena, &lowest, &s->facts) == NEVER)
        return refuse_site(s, site, d);
    require_on_domain(s, &lowest, index_place(site, d)->loc);
    return true;
}

/* index >= 0 and extent - 1 - index >= 0 */
static bool side_sums(Arena *arena, Expr *index, Expr *extent, Affine *low, Affine *high) {
    return size_affine(arena, index, low) && size_affine(arena, extent, high) &&
           affine_sum(arena, high, 1, low, -1, high) && affine_sum(arena, high, 1, &minus_one, 1, high);
}

static bool check_plain_index(Statement *s, ReadSite *site, int d, const AffineList *guards) {
    Affine low, high;
    if (!side_sums(s->builder->arena, site->read->args[d], site->view.dims[d], &low, &high))
        return refuse_site(s, site, d);
    return check_side(s, site, d, &low, guards) && check_side(s, site, d, &high, guards);
}

/* edge, wrap and reflect need an element to take. */
static bool check_not_empty(Statement *s, ReadSite *site, int d) {
    Affine extent;
    if (!size_affine(s->builder->arena, site->view.dims[d], &extent) ||
        !affine_sum(s->builder->arena, &extent, 1, &minus_one, 1, &extent))
        return true;
    return check_side(s, site, d, &extent, &(AffineList){0});
}

static void add_axis(Arena *arena, Requirement *requirement, const Var *axis) {
    const Var **axes = ARENA_ARRAY(arena, const Var *, requirement->axis_count + 1);
    for (int i = 0; i < requirement->axis_count; i++)
        axes[i] = requirement->axes[i];
    axes[requirement->axis_count++] = axis;
    requirement->axes = axes;
}

/* An axis that the condition does not name may have no values. Then the guards' own reads may be outside, so the
 * requirement is dropped for such sizes. Returns false if the axis never has values. */
static bool require_values(Arena *arena, Requirement *requirement, const Var *axis) {
    int64_t extent;
    if (expr_is_int(axis->extent, &extent))
        return extent > 0;
    Expr *none = expr_binary(arena, OP_LE, axis->extent, expr_int(arena, 0));
    requirement->condition = expr_binary(arena, OP_OR, none, requirement->condition);
    return true;
}

static bool guards_read(const ReadSite *site) {
    for (int g = 0; g < site->guard_count; g++)
        if (is_data_dependent(site->guards[g]))
            return true;
    return false;
}

/* Whether the index needs no check where the requirements so far hold: by what they say of sizes, or as the remainder
 * of a division by no more than the extent. */
static bool is_always_inside(const Builder *builder, Expr *inside, Expr *index, Expr *extent) {
    Arena *arena = builder->arena;
    if (!expr_is_op(index, OP_MOD) || is_data_dependent(index->args[1]))
        return follows_from_sizes(builder, inside);
    return follows_from_sizes(builder, expr_binary(arena, OP_GE, index->args[1], expr_int(arena, 1))) &&
           follows_from_sizes(builder, expr_binary(arena, OP_LE, index->args[1], extent));
}

/* "0 <= index < extent", as the source counts the tensor's elements. */
static const char *inside_text(const Statement *s, const ReadSite *site, int d, Loc loc) {
    Arena *arena = s->builder->arena;
    Expr *low = site->view.lower ? site->view.lower[d] : expr_int(arena, 0);
    Expr *high = size_normal(arena, expr_binary(arena, OP_ADD, low, site->view.dims[d]));
    return arena_printf(arena, "%s <= %s < %s", expr_text(arena, low), source_text(s, loc), expr_text(arena, high));
}

/* A requirement, checked at run time, for all values of the indices for which the conditions of the read hold. */
static bool require_gather(Statement *s, ReadSite *site, int d) {
    Arena *arena = s->builder->arena;
    Expr *index = resolve_value(s, site->read->args[d]);
    Expr *inside = expr_binary(arena, OP_AND, expr_binary(arena, OP_GE, index, expr_int(arena, 0)),
                               expr_binary(arena, OP_LT, index, site->view.dims[d]));
    Requirement requirement = {.condition = inside, .status = STATUS_BAD_INDEX, .after = -1};
    requirement.loc = index_place(site, d)->loc;
    requirement.text = inside_text(s, site, d, requirement.loc);
    for (int g = 0; g < site->guard_count; g++) {
        Expr *guard = resolve_value(s, site->guards[g]);
        requirement.condition = expr_binary(arena, OP_OR, expr_unary(arena, OP_NOT, guard), requirement.condition);
    }
    if (reads_carried(s->frame, requirement.condition)) {
        ERROR(s->frame, scan_gather, requirement.loc, source_text(s, requirement.loc), site->name);
        HINT(s->frame, "give the read a value for outside: %s else 0", source_text(s, site->ast->loc));
        return false;
    }
    if (is_always_inside(s->builder, inside, index, site->view.dims[d]))
        return true;
    bool guarded = guards_read(site) && !site->written;
    for (int i = 0; i < s->indices.count; i++) {
        const Var *axis = s->indices.items[i]->axis;
        if (expr_uses_var(requirement.condition, axis))
            add_axis(arena, &requirement, axis);
        else if (guarded && !require_values(arena, &requirement, axis))
            return true;
    }
    site->guarded |= site->guard_count > 0;
    list_push(arena, &s->builder->requirements, requirement);
    return true;
}

/* What differs from the least or the greatest value that it may have is greater or less: i != 0 of i in 0:N. */
static void add_unequal_facts(const Statement *s, AffineList *facts, const Expr *guard) {
    Arena *arena = s->builder->arena;
    bool negated = expr_is_op(guard, OP_NOT);
    const Expr *compared = negated ? guard->args[0] : guard;
    if (expr_is_op(guard, OP_AND)) {
        add_unequal_facts(s, facts, guard->args[0]);
        add_unequal_facts(s, facts, guard->args[1]);
    } else if (negated && expr_is_op(compared, OP_OR)) {
        for (int i = 0; i < 2; i++)
            add_unequal_facts(s, facts, expr_unary(arena, OP_NOT, compared->args[i]));
    }
    if (!expr_is_op(compared, negated ? OP_EQ : OP_NE) || compared->args[0]->type != TYPE_INT64 ||
        !expr_is_exact(compared->args[0]) || !expr_is_exact(compared->args[1]))
        return;
    for (int side = 0; side < 2; side++) {
        Expr *larger = compared->args[side], *smaller = compared->args[!side];
        Affine difference;
        if (size_affine(arena, expr_binary(arena, OP_SUB, larger, smaller), &difference) &&
            holds_on_domain(s, &difference))
            add_fact(arena, facts, larger, smaller, 1);
    }
}

static AffineList guard_facts(const Statement *s, const ReadSite *site) {
    AffineList facts = {0};
    for (int g = 0; g < site->guard_count; g++) {
        add_guard_facts(s->builder->arena, &facts, site->guards[g]);
        add_unequal_facts(s, &facts, site->guards[g]);
    }
    return facts;
}

/* Finds the dimensions in which a read with an else is never outside. If that is all of them, the else is dropped. */
static void find_needless_else(Statement *s, ReadSite *site) {
    AffineList none = {0};
    bool always = site->mode == ELSE_VALUE;
    for (int d = 0; d < site->view.rank; d++) {
        Affine low, high;
        Expr *index = site->read->args[d];
        site->assured[d] = !is_data_dependent(index) &&
                           side_sums(s->builder->arena, index, site->view.dims[d], &low, &high) &&
                           safety_of(s, &low, &none) == SAFE && safety_of(s, &high, &none) == SAFE;
        always &= site->assured[d];
    }
    site->never_outside = always;
}

static bool check_site(Statement *s, ReadSite *site) {
    AffineList guards = guard_facts(s, site);
    bool good = true;
    if (site->has_else)
        find_needless_else(s, site);
    for (int d = 0; d < site->view.rank && good; d++) {
        bool gather = is_data_dependent(site->read->args[d]);
        bool other_element = site->has_else && site->mode != ELSE_VALUE && !site->assured[d];
        if (other_element && site->earlier && d == site->step) {
            ERROR(s->frame, scan_else, site->ast->loc, site->name);
            HINT(s->frame, "say a value: %s else 0", source_text(s, site->ast->loc));
            good = false;
        } else if (other_element)
            good = check_not_empty(s, site, d);
        else if (!site->has_else && !gather && !site->assured[d])
            good = check_plain_index(s, site, d, &guards);
    }
    return good;
}

/* The indices of the left side stay inside what the tensor already spans. */
static bool check_target(Statement *s, const View *target) {
    Arena *arena = s->builder->arena;
    for (int d = 0; d < target->rank; d++) {
        const IndexVariable *index = s->indices.items[d];
        Expr *lower = target->lower ? target->lower[d] : expr_int(arena, 0), *extent = target->dims[d];
        Expr *sides[2] = {expr_binary(arena, OP_SUB, index->low, lower),
                          expr_binary(arena, OP_SUB, expr_binary(arena, OP_ADD, lower, extent),
                                      expr_binary(arena, OP_ADD, index->high, expr_int(arena, 1)))};
        for (int side = 0; side < 2; side++) {
            Affine p;
            if (is_empty(s) || !size_affine(arena, sides[side], &p))
                continue;
            Verdict verdict = judge(arena, &p, &s->facts);
            if (verdict == NEVER)
                return refuse_target(s, target, d);
            if (verdict == DEPENDS)
                require_on_domain(s, &p, index->loc);
        }
    }
    return true;
}

/* The left side as a read site, so that its computed indices are checked like those of reads. */
static ReadSite *target_site(Statement *s, const View *target) {
    Arena *arena = s->builder->arena;
    const AstTarget *left = &s->ast->targets.items[0];
    AstExpr *ast = ARENA_NEW(arena, AstExpr);
    *ast = ast_of_target(left);
    ReadSite *site = ARENA_NEW(arena, ReadSite);
    *site = (ReadSite){.ast = ast, .name = left->name.text, .view = *target, .guard_count = s->predicates.count};
    site->written = true;
    site->guards = s->predicates.items;
    site->assured = ARENA_ARRAY(arena, bool, target->rank);
    Expr **indices = ARENA_ARRAY(arena, Expr *, target->rank);
    for (int d = 0; d < target->rank; d++) {
        const IndexVariable *index = s->indices.items[d];
        indices[d] = index->place ? index->computed : expr_var(arena, index->raw);
        site->assured[d] = !index->place;
        if (target->lower)
            indices[d] = expr_binary(arena, OP_SUB, indices[d], target->lower[d]);
    }
    Tensor *stand_in = ARENA_NEW(arena, Tensor); /* the written tensor may not exist yet */
    *stand_in = (Tensor){.name = left->name.text, .rank = target->rank, .dims = target->dims};
    site->read = expr_read(arena, stand_in, indices, NULL);
    return site;
}

/* Computed indices of the left side are inside, or are checked at the call before anything is written. Sets *written to
 * the read site of the left side if it has such indices. */
static bool check_computed(Statement *s, const View *target, ReadSite **written) {
    bool any = false;
    for (int d = 0; target && d < target->rank; d++)
        any |= s->indices.items[d]->place != NULL;
    if (!any)
        return true;
    *written = target_site(s, target);
    return check_site(s, *written);
}

static bool is_gather(const ReadSite *site, int d) {
    return !site->has_else && is_data_dependent(site->read->args[d]);
}

/* Whether a condition of one site reads the other. */
static bool waits_for(const ReadSite *site, const ReadSite *other) {
    for (int g = 0; g < site->guard_count; g++)
        EACH_READ(read, site->guards[g])
            if (expr_equal(read, other->read))
                return true;
    return false;
}

typedef LIST(ReadSite *) ReadSites;

static ReadSite *take_next(ReadSites *left) {
    int next = 0;
    for (bool waits = true; next < left->count && waits; next += waits) {
        waits = false;
        for (int i = 0; i < left->count && !waits; i++)
            waits = i != next && waits_for(left->items[next], left->items[i]);
    }
    next = next < left->count ? next : 0;
    ReadSite *site = left->items[next];
    list_remove(left, next);
    return site;
}

static void add_gather(Arena *arena, ReadSites *list, ReadSite *site) {
    bool gathers = false;
    for (int d = 0; d < site->view.rank; d++)
        gathers |= is_gather(site, d);
    if (gathers)
        list_push(arena, list, site);
}

/* Orders the checks so that what a condition reads is checked before the condition is evaluated. written: the read site
 * of the left side, or NULL. */
static bool check_gathers(Statement *s, ReadSite *written) {
    ReadSites left = {0};
    bool good = true;
    if (written)
        add_gather(s->builder->arena, &left, written);
    for (int i = 0; i < s->sites.count; i++)
        add_gather(s->builder->arena, &left, s->sites.items[i]);
    while (left.count && good) {
        ReadSite *site = take_next(&left);
        for (int d = 0; d < site->view.rank; d++)
            if (is_gather(site, d))
                good &= require_gather(s, site, d);
    }
    return good;
}

bool check_bounds(Statement *s, const View *target) {
    if (s->builder->names_only)
        return true;
    ReadSite *written = NULL;
    bool good = (!target || check_target(s, target)) && check_computed(s, target, &written);
    for (int i = 0; i < s->sites.count; i++)
        good &= check_site(s, s->sites.items[i]);
    return good && check_gathers(s, written);
}

void guard_over(Statement *s, const View *whole) {
    Arena *arena = s->builder->arena;
    Statement wide = *s;
    wide.indices.items = ARENA_ARRAY(arena, IndexVariable *, s->indices.count);
    for (int i = 0; i < s->indices.count; i++) {
        IndexVariable *index = ARENA_NEW(arena, IndexVariable);
        *index = *s->indices.items[i];
        if (i < whole->rank) {
            index->low = whole->lower ? whole->lower[i] : expr_int(arena, 0);
            index->extent = whole->dims[i];
            index->high =
                expr_binary(arena, OP_SUB, expr_binary(arena, OP_ADD, index->low, whole->dims[i]), expr_int(arena, 1));
        }
        wide.indices.items[i] = index;
    }
    AffineList none = {0};
    wide.facts = none;
    add_domain_facts(&wide);
    for (int i = 0; i < s->sites.count; i++) {
        ReadSite *site = s->sites.items[i];
        site->guarded |= site->never_outside;
        for (int d = 0; d < site->view.rank && !site->guarded && !site->has_else; d++) {
            Affine low, high;
            Expr *index = site->read->args[d];
            site->guarded = is_data_dependent(index) || !side_sums(arena, index, site->view.dims[d], &low, &high) ||
                            safety_of(&wide, &low, &none) != SAFE || safety_of(&wide, &high, &none) != SAFE;
        }
    }
}
