/* interpreter_tuple.c - reductions by declared combiners, and how far a correct object may be from their results.
 *
 * The result is that of the source order, with each operation rounded to its type. The bound that its operations give
 * always holds for that order. If the combiner claims to be associative and commutative, an object may also combine
 * partial results. Then the terms are combined a second time in pairs, and a third time in double. Other orders may
 * differ by as much as these three results differ, plus a bound for the roundings of n steps that grows like the root
 * of n (as for sums), but never by more than the bounds of the two orders together. A component that only chooses among
 * exact values, as argmax does, is exact in every order.
 *
 * Comparisons do not order NaN, so that a combiner need not be associative where a term is NaN: such a result may have
 * any value.
 */
#include "sema/interpreter_internal.h"

#include <math.h>
#include <string.h>

enum { FEW_POINTS = 12, MOST_LEVELS = 64 };

/* A tuple in every lane: the lanes of each component. */
typedef struct Tuples {
    LaneValues *components;
} Tuples;

typedef struct Fold {
    Interpreter *interpreter;
    StageCode *code;
    const TupleCode *tuple;
    bool reassociates; /* orders other than the source's are possible */
    Tuples initial, terms, in_order, in_double, carried;
    Tuples levels[MOST_LEVELS]; /* of pairwise combination: levels[k] holds the result of 2^k terms if bit k of `added`
                                 * is set */
    int64_t added;
    bool counts[STRIP]; /* by lane of the terms: its conditions hold, or are not certain */
    double *largest;    /* [lane]: the largest absolute partial result of the component, in source order */
    bool *has_nan; /* [lane]: a term, or what the reduction begins with, is NaN; NULL if that makes no difference */
} Fold;

static Tuples tuples_new(const Fold *fold) {
    return (Tuples){ARENA_ARRAY(fold->interpreter->arena, LaneValues, fold->tuple->count)};
}

static Fold *fold_new(Interpreter *interpreter, StageCode *code) {
    Fold *fold = ARENA_NEW(interpreter->arena, Fold);
    *fold = (Fold){.interpreter = interpreter, .code = code, .tuple = code->tuple};
    fold->reassociates = !code->tuple->ordered && !code->tuple->exact[code->tuple->component];
    Tuples *const all[] = {&fold->initial, &fold->terms, &fold->in_order, &fold->in_double, &fold->carried};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        *all[i] = tuples_new(fold);
    fold->largest = ARENA_ARRAY(interpreter->arena, double, STRIP);
    fold->has_nan = code->tuple->nan_unordered ? ARENA_ARRAY(interpreter->arena, bool, STRIP) : NULL;
    return fold;
}

/* --- combining ---------------------------------------------------------------------------------------------------- */

static void copy_lanes(LaneValues *to, int to_lane, const LaneValues *from, int from_lane, int count) {
    memcpy(to->integer + to_lane, from->integer + from_lane, sizeof *to->integer * (size_t)count);
    memcpy(to->error + to_lane, from->error + from_lane, sizeof *to->error * (size_t)count);
}

static void copy_tuples(const Fold *fold, Tuples to, int to_lane, Tuples from, int from_lane, int count) {
    for (int c = 0; c < fold->tuple->count; c++)
        copy_lanes(&to.components[c], to_lane, &from.components[c], from_lane, count);
}

static void take_results(const Fold *fold, Instruction *const *from, Tuples to, int lane, int count) {
    for (int c = 0; c < fold->tuple->count; c++) {
        copy_lanes(&to.components[c], lane, from[c]->result, 0, count);
        if (from[c]->exact)
            memset(to.components[c].error + lane, 0, sizeof(double) * (size_t)count);
    }
}

/* to = left combined with right. The lanes of `to` and left begin at `lane`, those of right at right_lane. */
static void combine(const Fold *fold, const Combination *combination, Tuples to, Tuples left, int lane, Tuples right,
                    int right_lane, int count) {
    for (int c = 0; c < fold->tuple->count; c++) {
        copy_lanes(combination->left[c]->result, 0, &left.components[c], lane, count);
        copy_lanes(combination->right[c]->result, 0, &right.components[c], right_lane, count);
    }
    execute_all(fold->interpreter, fold->code, &combination->section, count);
    take_results(fold, combination->combined, to, lane, count);
}

/* --- the orders --------------------------------------------------------------------------------------------------- */

static void note_largest(Fold *fold, int lane, int count) {
    int component = fold->tuple->component;
    const LaneValues *lanes = &fold->in_order.components[component];
    bool real = type_is_float(fold->code->type);
    for (int l = lane; l < lane + count; l++)
        fold->largest[l] = fmax(fold->largest[l], fabs(real ? lanes->real[l] : (double)lanes->integer[l]));
}

static void note_nan(Fold *fold, Tuples tuples, int from_lane, int lane, int count) {
    const Stage *stage = fold->code->stage;
    for (int c = 0; c < fold->tuple->count; c++)
        for (int l = 0; l < count && type_is_float(stage->components[c].value->type); l++)
            fold->has_nan[lane + l] |= isnan(tuples.components[c].real[from_lane + l]);
}

static void begin_fold(Fold *fold, int lane, int count) {
    copy_tuples(fold, fold->in_order, lane, fold->initial, lane, count);
    copy_tuples(fold, fold->in_double, lane, fold->initial, lane, count);
    fold->added = 0;
    for (int l = lane; l < lane + count; l++)
        fold->largest[l] = 0;
    note_largest(fold, lane, count);
    if (fold->has_nan) {
        memset(fold->has_nan + lane, false, sizeof *fold->has_nan * (size_t)count);
        note_nan(fold, fold->initial, lane, lane, count);
    }
}

/* Adds terms like a binary counter: two results of equally many terms are combined at once. */
static void add_pairwise(Fold *fold, int term_lane, int lane, int count) {
    int level = 0;
    copy_tuples(fold, fold->carried, lane, fold->terms, term_lane, count);
    for (; fold->added >> level & 1; level++)
        combine(fold, &fold->tuple->narrow, fold->carried, fold->levels[level], lane, fold->carried, lane, count);
    if (!fold->levels[level].components)
        fold->levels[level] = tuples_new(fold);
    copy_tuples(fold, fold->levels[level], lane, fold->carried, lane, count);
    fold->added++;
}

static void add_in_order(Fold *fold, int term_lane, int lane, int count) {
    const TupleCode *tuple = fold->tuple;
    combine(fold, &tuple->narrow, fold->in_order, fold->in_order, lane, fold->terms, term_lane, count);
    if (fold->has_nan)
        note_nan(fold, fold->terms, term_lane, lane, count);
    if (!fold->reassociates)
        return;
    note_largest(fold, lane, count);
    combine(fold, &tuple->wide, fold->in_double, fold->in_double, lane, fold->terms, term_lane, count);
}

/* Combines the terms from lane term_lane on with the results from `lane` on, one each. Those that do not count are left
 * out; in pairs they are the identity, which makes no difference where there are pairs. */
static void add_terms(Fold *fold, int term_lane, int lane, int count) {
    const bool *counts = fold->counts + term_lane;
    for (int first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && counts[end] == counts[first]; end++)
            ;
        if (counts[first])
            add_in_order(fold, term_lane + first, lane + first, end - first);
    }
    if (fold->reassociates)
        add_pairwise(fold, term_lane, lane, count);
}

/* Combines all levels into the pairwise result. Lower levels hold later terms. */
static void finish_pairwise(Fold *fold, int lane, int count) {
    bool begun = false;
    for (int level = 0; fold->added >> level; level++) {
        if (!(fold->added >> level & 1))
            continue;
        if (begun)
            combine(fold, &fold->tuple->narrow, fold->carried, fold->levels[level], lane, fold->carried, lane, count);
        else
            copy_tuples(fold, fold->carried, lane, fold->levels[level], lane, count);
        begun = true;
    }
    if (begun)
        combine(fold, &fold->tuple->narrow, fold->carried, fold->initial, lane, fold->carried, lane, count);
    else
        copy_tuples(fold, fold->carried, lane, fold->initial, lane, count);
}

/* --- bounds ------------------------------------------------------------------------------------------------------- */

static double distance(const Fold *fold, const LaneValues *a, const LaneValues *b, int lane) {
    if (!type_is_float(fold->code->type))
        return fabs((double)a->integer[lane] - (double)b->integer[lane]);
    bool same = a->real[lane] == b->real[lane] || (isnan(a->real[lane]) && isnan(b->real[lane]));
    double distance = same ? 0 : fabs(a->real[lane] - b->real[lane]);
    return isnan(distance) ? INFINITY : distance;
}

/* How far any order may be from the source order. The factor is twice that of sums: partial results of other orders may
 * be larger than those seen here, and equal terms may all be rounded the same way in some orders. */
static double bound_orders(const Fold *fold, int lane) {
    const StageCode *code = fold->code;
    int c = fold->tuple->component;
    const LaneValues *in_order = &fold->in_order.components[c], *pairwise = &fold->carried.components[c];
    double apart = distance(fold, in_order, pairwise, lane), own = pairwise->error[lane];
    double always = in_order->error[lane] + apart + own;
    if (!type_is_float(code->type) || code->type == TYPE_DOUBLE || !isfinite(in_order->real[lane]))
        return always;
    double terms = (double)code->reduction_points + 1, unit = 2 * type_roundoff(code->type);
    double rounded = fmax(apart, distance(fold, in_order, &fold->in_double.components[c], lane));
    double likely =
        4 * (rounded + own) + (6 * sqrt(terms) + 8) * unit * fold->largest[lane] + terms * smallest_step(code->type);
    return likely < always ? likely : always;
}

static void finish_fold(Fold *fold, int lane, int count) {
    const LaneValues *from = &fold->in_order.components[fold->tuple->component];
    double *error = fold->code->result.error;
    copy_lanes(&fold->code->result, lane, from, lane, count);
    if (fold->reassociates)
        finish_pairwise(fold, lane, count);
    for (int l = lane; l < lane + count; l++) {
        if (fold->reassociates)
            error[l] = bound_orders(fold, l);
        if (isnan(error[l]) || (fold->has_nan && fold->has_nan[l]))
            error[l] = INFINITY;
    }
}

/* --- running ------------------------------------------------------------------------------------------------------ */

static void run_initials(Fold *fold, int count) {
    StageCode *code = fold->code;
    prepare(code, &code->initial, count);
    execute_all(fold->interpreter, code, &code->initial, count);
    take_results(fold, fold->tuple->initials, fold->initial, 0, count);
}

static void run_values(Fold *fold, int count) {
    const Instructions *conditions = &fold->tuple->conditions;
    execute_all(fold->interpreter, fold->code, &fold->code->value, count);
    take_results(fold, fold->tuple->values, fold->terms, 0, count);
    for (int l = 0; l < count; l++) {
        fold->counts[l] = true;
        for (int i = 0; i < conditions->count; i++) {
            const Instruction *condition = conditions->items[i];
            bool certain = condition->exact || condition->result->error[l] == 0;
            fold->counts[l] &= condition->result->integer[l] || !certain;
        }
    }
}

static void fold_by_points(Fold *fold, int count) {
    StageCode *code = fold->code;
    prepare(code, &code->value, count);
    for (int v = code->axis_count; v < code->variable_count; v++)
        code->scalars[v] = 0;
    begin_fold(fold, 0, count);
    if (code->reduction_points > 0)
        do {
            run_values(fold, count);
            add_terms(fold, 0, 0, count);
        } while (next_term(code, code->scalars));
    finish_fold(fold, 0, count);
}

/* Reduces one point, whose axis values are in code->scalars, a strip of terms at a time. */
static void fold_by_terms(Fold *fold, int point) {
    StageCode *code = fold->code;
    int64_t left;
    begin_terms(code, &left);
    begin_fold(fold, point, 1);
    for (int count; (count = next_terms(fold->interpreter, code, &left)) > 0;) {
        prepare(code, &code->value, count);
        run_values(fold, count);
        for (int l = 0; l < count; l++)
            add_terms(fold, l, point, 1);
    }
    finish_fold(fold, point, 1);
}

void run_tuple(Interpreter *interpreter, StageCode *code, int count) {
    if (!code->tuple->fold)
        code->tuple->fold = fold_new(interpreter, code);
    Fold *fold = code->tuple->fold;
    run_initials(fold, count);
    if (!code->ends && (count >= FEW_POINTS || code->reduction_points < FEW_POINTS)) {
        fold_by_points(fold, count);
        return;
    }
    code->lane_first = code->axis_count;
    code->lane_end = code->variable_count;
    for (int l = 0; l < count; l++) {
        for (int v = 0; v < code->axis_count; v++)
            code->scalars[v] = code->lanes[v][l];
        fold_by_terms(fold, l);
    }
}
