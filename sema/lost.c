/* lost.c - warnings of what a value loses on its way: sums and products of 8 or 16 bits that wrap, integer quotients
 * that become floats.
 *
 * Values have ranges (value_ranges.c), which conditions narrow. A value that fits gives no warning. Nor does a value
 * that the source says is meant: by a cast to the narrow type around a sum, or a result that is declared with that
 * type. Nor does one under a comparison of two values, which ranges do not follow: a < 255 - b ? a + b : 255.
 */
#include "lang/program.h"
#include "sema/check.h"

/* --- walking a value ---------------------------------------------------------------------------------------------- */

bool is_arithmetic(const Expr *e) {
    return e->kind == EXPR_OP && (e->op == OP_ADD || e->op == OP_SUB || e->op == OP_MUL || e->op == OP_NEG);
}

static bool is_wanted(const Statement *s, const Expr *e) {
    for (int i = 0; i < s->wanted.count; i++)
        if (s->wanted.items[i] == e)
            return true;
    return false;
}

/* All conditions of where, under which the value stands. */
static const Under *under_predicates(const Statement *s) {
    Under *all = ARENA_ARRAY(s->builder->arena, Under, s->predicates.count);
    const Under *under = NULL;
    for (int i = 0; i < s->predicates.count; i++) {
        all[i] = (Under){s->predicates.items[i], true, under};
        under = &all[i];
    }
    return under;
}

/* Whether an index has no values, or the conditions of where contradict each other: then nothing is computed. */
static bool is_never_computed(const Statement *s) {
    int64_t extent;
    narrowing_begin(s);
    for (const Under *under = under_predicates(s); under; under = under->outer)
        if (never_holds(s, under))
            return true;
    for (int i = 0; i < s->indices.count; i++)
        if (s->indices.items[i]->extent && expr_is_int(s->indices.items[i]->extent, &extent) && extent <= 0)
            return true;
    return false;
}

/* --- guards ------------------------------------------------------------------------------------------------------- */

static bool is_value(const Expr *e) {
    return e->kind == EXPR_READ || e->kind == EXPR_VAR;
}

/* The first element or variable that e is made of and that is not `other`; NULL: there is none. What indices are made
 * of does not count. */
static const Expr *value_beside(const Statement *s, const Expr *e, const Expr *other) {
    if (is_value(e) && !(other && same_value(s, e, other)))
        return e;
    const Expr *found = NULL;
    for (int i = 0; i < e->count && !is_value(e) && !found; i++)
        found = value_beside(s, e->args[i], other);
    return found;
}

/* Whether a float in it is computed, which ranges do not follow. */
static bool computes_floats(const Expr *comparison) {
    EACH_EXPR(e, comparison)
        if (e->kind == EXPR_OP && type_is_float(e->type))
            return true;
    return false;
}

/* Whether it compares two or more values, or one in a way that was not followed. */
static bool compares_values(const Statement *s, const Expr *comparison) {
    if (narrowing_ends(s) || computes_floats(comparison))
        return true;
    const Expr *first = value_beside(s, comparison, NULL);
    return first && value_beside(s, comparison, first);
}

/* Whether a number is compared with the exact result of e: then the range of that decides. */
static bool compares_with_number(const Statement *s, const Expr *comparison, const Expr *e) {
    bool number = !value_beside(s, comparison->args[0], NULL) || !value_beside(s, comparison->args[1], NULL);
    return number && compares_result(s, comparison, e);
}

/* Whether the expression has a value of the tensor or variable that e is made of. */
static bool shares_value(const Expr *expression, const Expr *e) {
    if (e->kind == EXPR_READ)
        return expr_uses_tensor(expression, e->tensor) || (e->otherwise && shares_value(expression, e->otherwise));
    if (e->kind == EXPR_VAR)
        return expr_uses_var(expression, e->var);
    for (int i = 0; i < e->count; i++)
        if (shares_value(expression, e->args[i]))
            return true;
    return false;
}

/* Whether a condition compares values of the expression. Then it may make sure that the result fits. */
static bool is_guarded(const Statement *s, const Expr *e, const Under *under) {
    for (; under; under = under->outer)
        EACH_EXPR(c, under->condition)
            if (expr_is_comparison(c) && shares_value(c, e) && compares_values(s, c) && !compares_with_number(s, c, e))
                return true;
    return false;
}

/* -x and abs(x) of a signed type wrap for one value only, which is unlikely to occur. */
static bool may_wrap(const Statement *s, const Expr *e, const Under *under) {
    if (e->op == OP_NEG && element_info[e->type].kind == KIND_SIGNED)
        return false;
    Interval range = exact_range(s, under, e);
    return !range_fits(range, e->type) && !range_fits(narrowed_result(s, under, e, range), e->type) &&
           !is_guarded(s, e, under);
}

static void warn_wrap(Statement *s, const Expr *e, ElementType wider) {
    const char *narrow = element_info[e->type].spelling, *wide = element_info[wider].spelling;
    const char *what = e->op == OP_ADD   ? "sum"
                       : e->op == OP_MUL ? "product"
                       : e->op == OP_NEG ? "negation"
                                         : "difference";
    if (e->op == OP_MUL && wider != e->type)
        WARN(s->frame, narrow_product, e->loc, narrow, wide);
    else if (wider != e->type)
        WARN(s->frame, narrow_sum, e->loc, what, narrow, wide);
    else
        WARN(s->frame, narrow_wrap, e->loc, what, narrow);
    if (e->op == OP_MUL && wider != e->type)
        HINT(s->frame, "convert the operands first: %s(...) * %s(...)", wide, wide);
    else if (s->in_combiner && wider == e->type)
        HINT(s->frame, "combine wider values, such as int32; %s(...) around it says that wrapping is meant", narrow);
    else if (e->op == OP_NEG)
        HINT(s->frame, "convert the operand first: -int32(...); %s(...) around it says that wrapping is meant", narrow);
    else
        HINT(s->frame,
             "convert the operands first: int32(...) %s int32(...); %s(...) around it says that wrapping is meant",
             op_info[e->op].spelling, narrow);
}

/* Casts in the source have a place. Casts that only the types require have none. */
static bool is_explicit(const Expr *cast) {
    return cast->loc.file != 0;
}

/* --- quotients ---------------------------------------------------------------------------------------------------- */

/* x - x % m, which is a multiple of m. */
static bool is_without_rest(const Statement *s, const Expr *e, int64_t number) {
    int64_t divisor;
    const Expr *rest = expr_is_op(e, OP_SUB) ? without_widening(e->args[1]) : NULL;
    return rest && expr_is_op(rest, OP_MOD) && expr_is_int(rest->args[1], &divisor) && divisor % number == 0 &&
           same_value(s, without_widening(e->args[0]), without_widening(rest->args[0]));
}

/* Whether the value is a multiple of the number, which is at least 1. What wraps stays one of a power of 2; what has 32
 * bits is taken not to wrap. */
static bool is_multiple(const Statement *s, const Expr *e, int64_t number) {
    int64_t value;
    if (number == 1 || expr_is_int(e, &value))
        return number == 1 || value % number == 0;
    if (e->kind == EXPR_CAST)
        return keeps_values(e) && is_multiple(s, e->args[0], number);
    bool power = (number & (number - 1)) == 0;
    if (!is_arithmetic(e) || (is_narrow_integer(e->type) && !power && !range_fits(exact_range(s, NULL, e), e->type)))
        return false;
    if (e->op == OP_MUL)
        return is_multiple(s, e->args[0], number) || is_multiple(s, e->args[1], number);
    return is_without_rest(s, e, number) ||
           (is_multiple(s, e->args[0], number) && is_multiple(s, e->args[e->count - 1], number));
}

static bool is_inexact(Statement *s, const Expr *quotient) {
    Arena *arena = s->builder->arena;
    int64_t rest, divisor;
    Expr *remainder = expr_simplify(arena, expr_binary(arena, OP_MOD, quotient->args[0], quotient->args[1]));
    if (expr_is_int(remainder, &rest) && rest == 0)
        return false;
    bool small = expr_is_int(quotient->args[1], &divisor) && divisor > -INT32_MAX && divisor < INT32_MAX;
    return !small || divisor == 0 || !is_multiple(s, quotient->args[0], divisor < 0 ? -divisor : divisor);
}

static bool is_wider(const Expr *cast) {
    return type_is_integer(cast->type) && element_info[cast->type].bytes > element_info[cast->args[0]->type].bytes;
}

/* The operand of casts that only the types require, or that only make an integer wider. */
static const Expr *without_casts(const Expr *e) {
    while (e->kind == EXPR_CAST && type_is_integer(e->args[0]->type) && (!is_explicit(e) || is_wider(e)))
        e = e->args[0];
    return e;
}

/* Whether the value also has the rest of the division, or multiplies the quotient by the divisor again: x / 8 * 8. */
static bool is_put_together(const Expr *value, const Expr *quotient) {
    bool found = false;
    if (expr_is_op(value, OP_MOD))
        found = expr_equal(value->args[0], quotient->args[0]) && expr_equal(value->args[1], quotient->args[1]);
    for (int i = 0; i < 2 && expr_is_op(value, OP_MUL) && !found; i++)
        found = without_casts(value->args[i]) == quotient &&
                expr_equal(without_casts(value->args[1 - i]), without_casts(quotient->args[1]));
    for (int i = 0; i < value->count && !found; i++)
        found = is_put_together(value->args[i], quotient);
    return found;
}

static bool passes_on(const Expr *e) {
    return is_arithmetic(e) ||
           (e->kind == EXPR_OP && (e->op == OP_ABS || e->op == OP_MIN || e->op == OP_MAX || e->op == OP_SELECT));
}

/* The note of what is read, or of a quotient that a call passes; NULL: there is none. */
static Rounded *noted_rounded(const Statement *s, const Expr *e) {
    for (int i = 0; i < s->builder->rounded.count; i++) {
        Rounded *rounded = &s->builder->rounded.items[i];
        if (e->kind == EXPR_READ ? rounded->tensor == e->tensor : rounded->scalar == e)
            return rounded;
    }
    return NULL;
}

/* An inexact quotient that goes into the integer, or a read of a tensor of such; NULL if there is none, or if a cast
 * says that rounding is meant. */
static const Expr *find_rounded(Statement *s, const Expr *e, const Expr *value) {
    const Expr *found = NULL;
    e = without_casts(e);
    if (is_wanted(s, e))
        return NULL;
    if (expr_is_op(e, OP_DIV) && type_is_integer(e->type))
        return is_inexact(s, e) && !is_put_together(value, e) ? e : NULL;
    if (e->kind == EXPR_READ && noted_rounded(s, e))
        return e;
    for (int i = e->op == OP_SELECT; i < e->count && passes_on(e) && !found; i++)
        found = find_rounded(s, e->args[i], value);
    return found;
}

/* read: of the temporary that it went into, or NULL. integer: what the type of the quotient is called. */
static void warn_quotient(Statement *s, Loc loc, ElementType type, const Expr *read, const char *integer) {
    bool passed = s->frame->caller != NULL;
    WARN(s->frame, integer_quotient, loc, element_info[type].spelling);
    if (read)
        NOTE(s->frame, read->loc, "it becomes %s here", element_info[type].spelling);
    if (passed)
        NOTE(s->frame, s->frame->call, "in this call of '%s'", s->frame->definition->ast->name.text);
    HINT(s->frame, "divide floats: float(...) / ...; %s(...) around the quotient says that rounding is meant",
         passed ? integer : "float");
}

/* One warning of a quotient is enough, however many tensors it goes into. */
static void forget_rounded(Statement *s, Loc loc) {
    for (int i = 0; i < s->builder->rounded.count; i++) {
        Rounded *rounded = &s->builder->rounded.items[i];
        if (rounded->loc.file == loc.file && rounded->loc.begin == loc.begin)
            rounded->tensor = NULL, rounded->scalar = NULL;
    }
}

/* Whether the def that is built, and no def that it calls, led from the one place to the other. */
static bool meet_in_unit(const CallFrame *a, const CallFrame *b) {
    for (; a->caller; a = a->caller)
        for (const CallFrame *other = b; other; other = other->caller)
            if (other == a)
                return false;
    return true;
}

/* In a call only what is passed to it counts: the rest is warned of where the called def is checked by itself. */
static void look_at_cast(Statement *s, const Expr *e) {
    const Expr *from = e->args[0];
    if (is_explicit(e) || !type_is_float(e->type) || !type_is_integer(from->type))
        return;
    const Expr *found = find_rounded(s, from, from);
    const Rounded *noted = found ? noted_rounded(s, found) : NULL;
    if (!found || (s->frame->caller && !(noted && meet_in_unit(s->frame, noted->frame))))
        return;
    Loc loc = noted ? noted->loc : found->loc;
    warn_quotient(s, loc, e->type, found->kind == EXPR_READ ? found : NULL, element_info[found->type].spelling);
    forget_rounded(s, loc);
}

static void note_quotient(Statement *s, const Expr *value, const Tensor *tensor) {
    const Expr *quotient = type_is_integer(value->type) ? find_rounded(s, value, value) : NULL;
    const Rounded *earlier = quotient ? noted_rounded(s, quotient) : NULL;
    if (!quotient || !may_warn(s->frame) || s->builder->names_only)
        return;
    Rounded rounded = {tensor, tensor ? NULL : quotient, quotient->loc, s->frame};
    if (earlier) {
        rounded.loc = earlier->loc;
        rounded.frame = earlier->frame;
    }
    list_push(s->builder->arena, &s->builder->rounded, rounded);
}

void note_rounded(Statement *s, const Tensor *tensor, const Expr *value) {
    if (type_is_integer(tensor->type))
        note_quotient(s, value, tensor);
}

void note_rounded_scalar(Statement *s, const Expr *value) {
    note_quotient(s, value, NULL);
}

/* A quotient of two numbers, such as 1 / 2: it was folded to 0 before it becomes a float. */
static void look_at_number(Statement *s, const Expr *e) {
    for (int i = 0; i < s->quotients.count && type_is_float(e->type); i++) {
        Loc loc = s->quotients.items[i];
        if (loc.file == e->loc.file && loc.begin >= e->loc.begin && loc.end <= e->loc.end) {
            warn_quotient(s, loc, e->type, NULL, "int32");
            return;
        }
    }
}

/* --- a whole value ------------------------------------------------------------------------------------------------ */

static void look(Statement *s, const Expr *e, ElementType wider, bool wanted, const Under *under);

/* A condition counts for what it chooses, and the first operand of && and || for the second one. */
static void look_at_operands(Statement *s, const Expr *e, ElementType wider, bool wanted, const Under *under) {
    bool select = expr_is_op(e, OP_SELECT), conditional = expr_chooses(e);
    for (int i = 0; i < e->count; i++) {
        Under inner = {e->args[0], e->op == OP_OR ? false : i == 1, under};
        bool depends = conditional && i > 0, value = is_arithmetic(e) || (select && i > 0);
        if (!depends || !never_holds(s, &inner))
            look(s, e->args[i], value ? wider : e->args[i]->type, value && wanted, depends ? &inner : under);
    }
}

/* What indices are made of, and the value outside. */
static void look_at_read(Statement *s, const Expr *read, ElementType wider, bool wanted, const Under *under) {
    for (int d = 0; d < read->count; d++)
        look(s, read->args[d], read->args[d]->type, false, under);
    if (read->otherwise)
        look(s, read->otherwise, wider, wanted, under);
}

/* wider: the type that the value becomes. wanted: wrapping is meant. */
static void look(Statement *s, const Expr *e, ElementType wider, bool wanted, const Under *under) {
    wanted |= is_wanted(s, e);
    if (is_arithmetic(e) && is_narrow_integer(e->type) && !wanted && may_wrap(s, e, under)) {
        warn_wrap(s, e, wider);
        return;
    }
    if (e->kind == EXPR_CAST) {
        look_at_cast(s, e);
        bool same = element_info[e->type].bytes <= element_info[e->args[0]->type].bytes && !type_is_float(e->type);
        look(s, e->args[0], same ? e->args[0]->type : e->type, same && (wanted || is_explicit(e)), under);
    } else if (e->kind == EXPR_REAL) {
        look_at_number(s, e);
    } else if (e->kind == EXPR_READ) {
        look_at_read(s, e, wider, wanted, under);
    } else if (e->kind == EXPR_OP) {
        look_at_operands(s, e, wider, wanted, under);
    }
}

/* What a call passes and the called def makes a float. */
static void look_at_passed(Statement *s, const Expr *value) {
    EACH_EXPR(e, value)
        if (e->kind == EXPR_CAST)
            look_at_cast(s, e);
}

void warn_lost(Statement *s, const Expr *value, ElementType type, bool declared) {
    bool passed = may_warn(s->frame) && !s->builder->names_only && s->builder->rounded.count;
    if ((!may_warn_of_values(s) && !passed) || is_never_computed(s))
        return;
    narrowing_begin(s);
    if (may_warn_of_values(s))
        look(s, value, type, declared && value->type == type, under_predicates(s));
    else
        look_at_passed(s, value);
}

/* A condition stands under those before it, as a value and the computed indices of the left side stand under all. */
void warn_lost_beside_value(Statement *s) {
    if (!may_warn_of_values(s) || is_never_computed(s))
        return;
    int count = s->predicates.count;
    for (int i = 0; i < count; i++) {
        s->predicates.count = i;
        narrowing_begin(s);
        look(s, s->predicates.items[i], TYPE_BOOL, false, under_predicates(s));
    }
    s->predicates.count = count;
    for (int i = 0; i < s->indices.count; i++)
        if (s->indices.items[i]->computed)
            look(s, s->indices.items[i]->computed, TYPE_INT64, false, under_predicates(s));
}

/* --- reductions --------------------------------------------------------------------------------------------------- */

/* How many values the index has for one element: of i:i + 3 these are 3, though it runs over more for all elements. */
static Interval count_of(const Statement *s, const IndexVariable *index) {
    Arena *arena = s->builder->arena;
    int64_t width;
    bool known = index->begin && index->end &&
                 expr_is_int(expr_simplify(arena, expr_binary(arena, OP_SUB, index->end, index->begin)), &width);
    Interval whole = expr_interval(index->extent);
    if (known && (!whole.has_high || width < whole.high))
        return (Interval){true, true, 0, width > 0 ? width : 0};
    return whole;
}

/* How many terms an element has. */
static Interval term_count(const Statement *s, int rank) {
    Interval count = {true, true, 0, 1};
    for (int i = rank; i < s->indices.count; i++)
        count = interval_combine(OP_MUL, count, count_of(s, s->indices.items[i]));
    return count;
}

/* What the sum or product begins with. */
static Interval initial_range(const Statement *s, const Variable *variable, ElementType type) {
    int64_t identity = s->ast->combine == COMBINE_MUL;
    if (s->ast->initialise)
        return (Interval){true, true, identity, identity};
    bool known = variable->view.tensor && variable->view.tensor->type == type && !s->frame->scan;
    return known ? tensor_range(s, variable->view.tensor) : interval_of_type(type);
}

/* Whether the sum, or the product, of what it begins with and so many terms of this range may wrap. */
static bool reduction_may_wrap(Combine combine, ElementType type, Interval initial, Interval range, Interval count) {
    enum { ENOUGH = 17 }; /* factors: a product that fits then is one of factors from -1 to 1 */
    if (combine == COMBINE_ADD)
        return !range_fits(interval_combine(OP_ADD, initial, interval_combine(OP_MUL, range, count)), type);
    if (range.low >= -1 && range.high <= 1)
        return false;
    Interval result = initial;
    for (int i = 0; i < ENOUGH && (!count.has_high || i < count.high) && range_fits(result, type); i++)
        result = interval_join(result, interval_combine(OP_MUL, result, range));
    return !range_fits(result, type);
}

void warn_narrow_reduction(Statement *s, const Variable *variable, const Expr *value, bool declared) {
    const AstStatement *ast = s->ast;
    bool sums = ast->combine == COMBINE_ADD, combines = sums || ast->combine == COMBINE_MUL;
    bool meant = declared || is_wanted(s, value) || (value->kind == EXPR_CAST && is_explicit(value));
    if (!may_warn_of_values(s) || !combines || !is_narrow_integer(value->type) || meant || is_never_computed(s))
        return;
    narrowing_begin(s);
    Interval range = value_range(s, under_predicates(s), value);
    Interval count = term_count(s, ast->targets.items[0].indices.count);
    if (!reduction_may_wrap(ast->combine, value->type, initial_range(s, variable, value->type), range, count))
        return;
    const char *narrow = element_info[value->type].spelling;
    WARN(s->frame, narrow_reduction, ast->loc, sums ? "sum" : "product", variable->name, narrow);
    HINT(s->frame,
         "combine wider values: int32(...); a result that is declared %s, or %s(...) around the value, says that "
         "wrapping is meant",
         narrow, narrow);
}
