/* iterations.c - how many iterations the loops around a stage run where that are fewer than their extents say: places
 * that are scattered to, what is beyond an extent, windows that slide, and ragged reductions.
 */
#include "autosched/model/forms.h"

#include <math.h>

/* --- scattered places, and what is beyond an extent --- */

/* A loop over the place that a stage scatters to has one iteration inside the reductions. */
static void fill_scatter(StageFacts *facts, const double *values) {
    const Stage *stage = facts->stage->stage;
    int inside = facts->loop_count;
    while (inside > 0 && !facts->loops[inside - 1]->reduction)
        inside--;
    for (int d = 0; d < stage->axis_count; d++)
        for (int l = inside; l < facts->loop_count && stage_scatters(stage, d); l++)
            if (values[d * (facts->loop_count + 1) + l] != 0) {
                facts->iterations /= fmax(facts->extents[l], 1);
                facts->extents[l] = 1;
            }
}

/* For an axis of run-time size: the part of its register tile's values that is computed. There are copies of the tile
 * for half of its vectors or rows, half of those and so on. */
static double counted_part(const StageFacts *facts, const double *value, double extent) {
    double reach = 1, unrolled = 1, lanes = 1;
    for (int l = 0; l < facts->loop_count; l++) {
        double slope = fabs(value[l]);
        reach += slope * (facts->extents[l] - 1);
        if (slope > 0 && facts->loops[l]->kind == LOOP_UNROLLED)
            unrolled *= facts->extents[l];
        if (slope > 0 && facts->loops[l]->kind == LOOP_VECTORIZED)
            lanes *= facts->extents[l];
    }
    double whole = floor(extent / (unrolled * lanes)), left = ceil((extent - whole * unrolled * lanes) / lanes);
    if (unrolled * lanes <= 1) /* without a tile nothing is computed beyond the extent */
        return 1;
    double copy = unrolled;
    while (copy > 1 && ceil(copy / 2) >= left)
        copy = ceil(copy / 2);
    double computed = (whole * unrolled + (left > 0 ? copy : 0)) * lanes;
    return reach > computed ? computed / reach : 1;
}

static void fill_counted(const LinearForms *forms, StageFacts *facts, const double *values) {
    const Stage *stage = facts->stage->stage;
    bool serial = false;
    if (forms->nest->target->masked_bytes == 0)
        return;
    for (int l = 0; l < facts->loop_count; l++)
        serial |= facts->loops[l]->reduction && facts->loops[l]->kind == LOOP_SERIAL;
    for (int a = 0; a < stage->axis_count && serial; a++)
        if (stage->axes[a]->extent->kind != EXPR_INT)
            facts->kept *= counted_part(facts, values + a * (facts->loop_count + 1),
                                        linear_constant(stage->axes[a]->extent, forms->typical));
}

/* --- windows --- */

/* Multiplies the iterations of loops that move a form by `part`, outer ones first. */
static void shrink_loops(StageFacts *facts, const double *form, double part) {
    for (int l = 0; l < facts->loop_count; l++)
        if (form[l] != 0) {
            double left = fmax(facts->extents[l] * part, 1);
            part *= facts->extents[l] / left;
            facts->iterations *= left / facts->extents[l];
            facts->extents[l] = left;
        }
}

/* The loop v of min(v, 1), where the window of store_at slides; -1: none. */
static int sliding_loop(const StageFacts *facts, const Expr *value) {
    int64_t one;
    EACH_EXPR(e, value)
        if (expr_is_op(e, OP_MIN) && e->args[0]->kind == EXPR_VAR && expr_is_int(e->args[1], &one) && one == 1)
            for (int l = 0; l < facts->loop_count; l++)
                if (facts->loops[l]->var == e->args[0]->var)
                    return l;
    return -1;
}

/* Whether only loops inside of a loop move the form. */
static bool moves_inside(const StageFacts *facts, const double *form, int loop) {
    bool moves = false;
    for (int l = 0; l < facts->loop_count; l++) {
        if (form[l] != 0 && l <= loop)
            return false;
        moves |= form[l] != 0;
    }
    return moves;
}

/* A window that slides along a loop: its first iteration computes `limit` places, the others what it moves by. The
 * loops get the mean. */
static void fill_window(LinearForms *forms, StageFacts *facts, const Guard *guard) {
    int loop = sliding_loop(facts, guard->value);
    double form[forms->count + 1], reach = 1, extent, limit = linear_constant(guard->limit, forms->typical);
    if (loop < 0 || (extent = facts->extents[loop]) < 3)
        return;
    linear_form(forms, guard->value, form);
    double moved = limit - form[forms->count];
    if (!moves_inside(facts, form, loop) || moved < 1)
        return;
    for (int l = 0; l < facts->loop_count; l++)
        reach += form[l] * (facts->extents[l] - 1);
    if (reach >= limit)
        shrink_loops(facts, form, (limit + (extent - 1) * moved) / extent / reach);
}

/* --- ragged reductions: p in row(i):row(i + 1) --- */

/* The product of the extents of the axes that what is read from memory depends on. */
static double rows_of(const Stage *stage, const Expr *end, double typical) {
    double rows = 1;
    for (int a = 0; a < stage->axis_count; a++)
        if (expr_uses_var(end, stage->axes[a]))
            rows *= fmax(linear_constant(stage->axes[a]->extent, typical), 1);
    return rows;
}

/* Whether each row has elements of its own, x(i, p); otherwise all rows share those that p counts. */
static bool has_own_elements(const Stage *stage, const Expr *value, const Expr *place, const Expr *end) {
    EACH_READ(read, value)
        for (int a = 0; a < stage->axis_count; a++)
            for (int r = 0; r < stage->reduction_count && expr_uses_var(end, stage->axes[a]); r++)
                if (expr_uses_var(place, stage->reductions[r]) && expr_uses_var(read, stage->axes[a]) &&
                    expr_uses_var(read, stage->reductions[r]))
                    return true;
    return false;
}

/* Serial loops that move the form run a part of their iterations, and one more where vectors have two ends. */
static void shorten_loops(StageFacts *facts, const double *form, double part) {
    double vectors = 0;
    for (int l = 0; l < facts->loop_count; l++)
        vectors += form[l] != 0 && facts->loops[l]->kind == LOOP_VECTORIZED;
    for (int l = 0; l < facts->loop_count && part < 1; l++) {
        if (form[l] == 0 || facts->loops[l]->kind != LOOP_SERIAL)
            continue;
        double left = fmax(facts->extents[l] * part, facts->loops[l]->extent < 0 ? TYPICAL_ROW : 1);
        part *= facts->extents[l] / left;
        left = fmin(left + vectors, facts->extents[l]);
        vectors = 0;
        facts->iterations *= left / facts->extents[l];
        facts->extents[l] = left;
    }
}

/* What is compared with an end that is read; NULL: the condition is another one. */
static const Expr *place_of(const Stage *stage, const Expr *condition, const Expr **end) {
    for (int side = 0; side < 2 && expr_is_comparison(condition); side++) {
        const Expr *place = condition->args[side];
        *end = condition->args[1 - side];
        for (int r = 0; r < stage->reduction_count; r++)
            if (!expr_reads(place) && expr_reads(*end) && expr_uses_var(place, stage->reductions[r]))
                return place;
    }
    return NULL;
}

/* The row that a reduction runs along is taken as one of equal ones, or as half of its own. */
static bool fill_row(LinearForms *forms, StageFacts *facts, const Expr *condition, const Expr *value) {
    const Stage *stage = facts->stage->stage;
    const Expr *end, *place;
    if (expr_is_op(condition, OP_AND))
        return fill_row(forms, facts, condition->args[0], value) || fill_row(forms, facts, condition->args[1], value);
    if (!(place = place_of(stage, condition, &end)))
        return false;
    double form[forms->count + 1], rows = rows_of(stage, end, forms->typical);
    linear_form(forms, place, form);
    shorten_loops(facts, form, rows > 1 && has_own_elements(stage, value, place, end) ? 0.5 : 1 / rows);
    return true;
}

static void fill_ragged(LinearForms *forms, StageFacts *facts) {
    const Stage *stage = facts->stage->stage;
    const Expr *value = stage->components[0].value, *condition;
    bool done = false;
    while (!done && (condition = stage_take_condition(stage, 0, &value)))
        done = expr_reads(condition) && fill_row(forms, facts, condition, value);
}

void fill_iterations(LinearForms *forms, StageFacts *facts, double *values) {
    fill_scatter(facts, values);
    for (int g = 0; g < facts->stage->guard_count; g++)
        fill_window(forms, facts, &facts->stage->guards[g]);
    fill_counted(forms, facts, values);
    forms->stage = facts->stage->stage;
    forms->axes = values;
    fill_ragged(forms, facts);
}
