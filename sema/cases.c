/* cases.c - whether one of several conditions always holds, as one of c < 0, c == 0 and c > 0 does.
 *
 * Comparisons of the same two things, or of one thing with numbers, are of one Subject. What matters of its value is
 * where it lies among these numbers: at one of them, or between two. All combinations of that are tried. A condition of
 * another form is a subject that is true or false. Keeps true: what is not understood, or is too much, is answered with
 * "no". NaN, which fulfils no comparison, is not thought of.
 */
#include "sema/check.h"

#include <math.h>

typedef struct Subject {
    Expr *left, *right; /* what is compared; right: NULL where that is a number */
    Affine difference;  /* left - right without its constant, where is_index */
    bool is_index, whole;
    Interval range;       /* of whole ones */
    LIST(double) numbers; /* ascending, each once */
    LIST(double) samples; /* a value for each place that it may have among them */
    int sample;           /* the current one */
} Subject;

/* subject OP number. */
typedef struct Literal {
    const Expr *condition;
    int subject;
    Op op;
    double number;
} Literal;

typedef struct Cases {
    Arena *arena;
    LIST(Subject) subjects;
    LIST(Literal) literals;
} Cases;

/* False: it is none, or no double has its value. */
static bool number_of(const Expr *e, double *number) {
    const int64_t exact = (int64_t)1 << 53;
    *number = e->kind == EXPR_REAL ? e->real : e->kind == EXPR_INT ? (double)e->integer : 0;
    return (e->kind == EXPR_REAL && e->real == e->real) ||
           (e->kind == EXPR_INT && e->integer > -exact && e->integer < exact);
}

/* --- subjects ----------------------------------------------------------------------------------------------------- */

/* 1: the same, -1: its opposite, 0: another. */
static int compare_subjects(Arena *arena, const Subject *a, const Subject *b) {
    Affine rest;
    if (a->is_index != b->is_index)
        return 0;
    for (int sign = 1; a->is_index && sign >= -1; sign -= 2)
        if (affine_sum(arena, &a->difference, 1, &b->difference, -sign, &rest) && affine_is_zero(&rest))
            return sign;
    if (a->is_index || !a->right != !b->right)
        return 0;
    if (expr_equal(a->left, b->left) && (!a->right || expr_equal(a->right, b->right)))
        return 1;
    return a->right && expr_equal(a->left, b->right) && expr_equal(a->right, b->left) ? -1 : 0;
}

static void add_number(Arena *arena, Subject *subject, double number) {
    int at = 0;
    while (at < subject->numbers.count && subject->numbers.items[at] < number)
        at++;
    if (at < subject->numbers.count && subject->numbers.items[at] == number)
        return;
    list_push(arena, &subject->numbers, number);
    for (int i = subject->numbers.count - 1; i > at; i--)
        subject->numbers.items[i] = subject->numbers.items[i - 1];
    subject->numbers.items[at] = number;
}

static void add_literal(Cases *cases, const Expr *condition, const Subject *subject, Op op, double number) {
    int found = 0, sign = 0;
    for (; found < cases->subjects.count; found++)
        if ((sign = compare_subjects(cases->arena, &cases->subjects.items[found], subject)))
            break;
    if (!sign)
        list_push(cases->arena, &cases->subjects, *subject);
    op = sign < 0 ? comparison_info[op].exchanged : op;
    number = sign < 0 ? -number : number;
    add_number(cases->arena, &cases->subjects.items[found], number);
    list_push(cases->arena, &cases->literals, ((Literal){condition, found, op, number}));
}

static bool index_subject(Arena *arena, const Expr *e, Subject *subject, double *number) {
    Affine *p = &subject->difference;
    if (e->args[0]->type != TYPE_INT64 || !expr_is_exact(e->args[0]) || !expr_is_exact(e->args[1]) ||
        !size_affine(arena, expr_binary(arena, OP_SUB, e->args[0], e->args[1]), p) ||
        !number_of(expr_int(arena, p->constant), number))
        return false;
    *number = 0 - *number;
    p->constant = 0;
    subject->is_index = subject->whole = true;
    subject->range = expr_interval(affine_expr(arena, p));
    return true;
}

/* Of an integer; a conversion keeps what fits. */
static Interval range_of(const Expr *e) {
    Interval range = interval_of_type(e->type);
    if (e->kind != EXPR_CAST || type_is_float(e->args[0]->type))
        return range;
    Interval from = range_of(e->args[0]);
    bool fits = from.has_low && from.has_high && (!range.has_low || from.low >= range.low) &&
                (!range.has_high || from.high <= range.high);
    return fits ? from : range;
}

static void add_comparison(Cases *cases, const Expr *e) {
    Subject subject = {.left = e->args[0], .right = e->args[1]};
    Op op = e->op;
    double number = 0;
    if (index_subject(cases->arena, e, &subject, &number)) {
        add_literal(cases, e, &subject, op, number);
        return;
    }
    subject.whole = !type_is_float(e->args[0]->type);
    bool first = number_of(e->args[0], &number);
    if (first || number_of(e->args[1], &number)) {
        subject.left = e->args[first];
        subject.right = NULL;
        subject.range = range_of(subject.left);
        op = first ? comparison_info[op].exchanged : op;
    }
    add_literal(cases, e, &subject, op, number);
}

static bool is_joined(const Expr *e) {
    return e->kind == EXPR_OP && (e->op == OP_AND || e->op == OP_OR || e->op == OP_NOT);
}

static void add_condition(Cases *cases, Expr *e) {
    if (e->kind == EXPR_INT)
        return;
    if (is_joined(e)) {
        for (int i = 0; i < e->count; i++)
            add_condition(cases, e->args[i]);
    } else if (expr_is_comparison(e)) {
        add_comparison(cases, e);
    } else {
        Subject truth = {.left = e, .whole = true, .range = {true, true, 0, 1}};
        add_literal(cases, e, &truth, OP_NE, 0);
    }
}

/* --- their values ------------------------------------------------------------------------------------------------- */

static void add_sample(Arena *arena, Subject *subject, double value) {
    const Interval *range = &subject->range;
    bool below = subject->whole && range->has_low && value < (double)range->low;
    bool above = subject->whole && range->has_high && value > (double)range->high;
    if (!below && !above)
        list_push(arena, &subject->samples, value);
}

/* The value next to one of two numbers towards the other, if it lies between them; either may be infinite. */
static void add_sample_between(Arena *arena, Subject *subject, double low, double high) {
    bool first = low == -HUGE_VAL;
    double between = subject->whole ? (first ? high - 1 : low + 1) : nextafter(first ? high : low, first ? low : high);
    bool outside = subject->whole && subject->range.has_low && between < (double)subject->range.low;
    between = outside ? (double)subject->range.low : between;
    if (low < between && between < high)
        add_sample(arena, subject, between);
}

static void take_samples(Arena *arena, Subject *subject) {
    const double *numbers = subject->numbers.items;
    int last = subject->numbers.count - 1;
    add_sample_between(arena, subject, -HUGE_VAL, numbers[0]);
    for (int i = 0; i <= last; i++) {
        add_sample(arena, subject, numbers[i]);
        add_sample_between(arena, subject, numbers[i], i < last ? numbers[i + 1] : HUGE_VAL);
    }
}

/* --- the proof ---------------------------------------------------------------------------------------------------- */

static bool literal_holds(const Cases *cases, const Expr *e) {
    int i = 0;
    while (cases->literals.items[i].condition != e)
        i++;
    const Literal *literal = &cases->literals.items[i];
    const Subject *subject = &cases->subjects.items[literal->subject];
    double sample = subject->samples.items[subject->sample], number = literal->number;
    return op_compares(literal->op, number > sample, number == sample, number < sample);
}

static bool holds(const Cases *cases, const Expr *e) {
    if (e->kind == EXPR_INT)
        return e->integer != 0;
    if (!is_joined(e))
        return literal_holds(cases, e);
    bool first = holds(cases, e->args[0]);
    return e->op == OP_NOT   ? !first
           : e->op == OP_AND ? first && holds(cases, e->args[1])
                             : first || holds(cases, e->args[1]);
}

/* To the next combination. False: there is none. */
static bool next_case(Cases *cases) {
    for (int i = 0; i < cases->subjects.count; i++) {
        Subject *subject = &cases->subjects.items[i];
        if (++subject->sample < subject->samples.count)
            return true;
        subject->sample = 0;
    }
    return false;
}

bool one_always_holds(Arena *arena, Expr *const *conditions, int count) {
    enum { CASE_LIMIT = 1000 };
    Cases cases = {.arena = arena};
    int64_t all = 1;
    for (int i = 0; i < count; i++)
        add_condition(&cases, conditions[i]);
    for (int i = 0; i < cases.subjects.count && all <= CASE_LIMIT; i++) {
        take_samples(arena, &cases.subjects.items[i]);
        all *= cases.subjects.items[i].samples.count;
    }
    bool found = count > 0 && all <= CASE_LIMIT;
    for (bool more = all > 0; more && found; more = next_case(&cases)) {
        found = false;
        for (int i = 0; i < count && !found; i++)
            found = holds(&cases, conditions[i]);
    }
    return found;
}
