/* along.c - how a stage runs along memory: which reduction has vectors, and whether rows of it suit the stage.
 *
 * What a stage reads is what it is given with. So row.c asks of a stage with what is inlined into it, as a producer
 * that is contiguous may read another order of memory; stage_is_row_reduction finds that itself.
 */
#include "autosched/space/along.h"
#include "autosched/space/tile/tile.h"
#include "lang/machine.h"

enum { ROW_LEAST = 8 };

/* Whether neighbours along the axis are neighbours in memory, in this order or the other. */
static bool is_contiguous(const Expr *read, AccessKind kind, int dimension, int64_t coefficient) {
    return kind == ACCESS_CONTIGUOUS ||
           (kind == ACCESS_IRREGULAR && coefficient == -1 && dimension == read->count - 1);
}

/* Whether a read is contiguous along the axis; *other: another one is not. */
static bool reads_along(const Stage *stage, const Var *axis, bool *other) {
    bool any = false;
    *other = false;
    EACH_VALUE_READ(read, stage) {
        int dimension;
        int64_t coefficient;
        AccessKind kind = access_along(read, axis, &dimension, &coefficient);
        bool contiguous = is_contiguous(read, kind, dimension, coefficient);
        any |= contiguous;
        *other |= !contiguous && (kind == ACCESS_STRIDED || kind == ACCESS_IRREGULAR);
    }
    return any;
}

bool runs_along_memory(const Stage *stage, const Var *axis) {
    bool other;
    return reads_along(stage, axis, &other) && !other;
}

/* How well a reduction runs along memory: 2 where all that is read is contiguous, 1 where a part is, 0 elsewhere. */
static int contiguity(const Stage *stage, const Var *reduction) {
    bool other, any = reads_along(stage, reduction, &other);
    return any + (any && !other);
}

/* The reduction along which neighbours are combined in vectors: the last one. Where all is reduced to one element, and
 * no axis can have vectors, it is the one that runs along memory best: of several the last, where that is contiguous in
 * all that is read, else the longest. */
int row_of_reduction(const Stage *stage) {
    int last = stage->reduction_count - 1, row = last;
    if (stage->axis_count > 0 || last < 1)
        return last;
    int best = contiguity(stage, stage->reductions[last]);
    int64_t longest = best == 2 ? INT64_MAX : 0;
    for (int r = last - 1; r >= 0 && longest < INT64_MAX; r--) {
        int own = contiguity(stage, stage->reductions[r]);
        int64_t extent = axis_extent(stage->reductions[r]);
        if (own < best || own == 0 || (own == best && extent >= 0 && extent <= longest))
            continue;
        best = own;
        row = r;
        longest = extent < 0 ? INT64_MAX - 1 : extent;
    }
    return row;
}

const Var *reduction_at(const Stage *stage, int place) {
    int row = row_of_reduction(stage);
    return stage->reductions[place == stage->reduction_count - 1 ? row : place + (place >= row)];
}

const Var *last_reduction(const Stage *stage) {
    return reduction_at(stage, stage->reduction_count - 1);
}

/* In a ragged reduction, and in one of all to one element, it is enough that some reads are contiguous. */
bool stage_reduces_along_memory(const Stage *stage) {
    if (stage->combine == COMBINE_NONE || stage->reduction_count == 0)
        return false;
    bool other;
    return reads_along(stage, last_reduction(stage), &other) &&
           (!other || stage->axis_count == 0 || stage_is_ragged(stage));
}

/* Whether one of a read's first `count` indices uses one of the variables. */
static bool uses_below(const Expr *read, int count, const Var *outer, const Var *inner) {
    for (int d = 0; d < count; d++)
        if (expr_uses_var(read->args[d], outer) || expr_uses_var(read->args[d], inner))
            return true;
    return false;
}

static bool is_var(const Expr *e, const Var *var) {
    return e->kind == EXPR_VAR && e->var == var;
}

static bool is_adjacent(const Expr *read, const Var *outer, const Var *inner) {
    int last = read->count - 1;
    return last >= 1 && !read->otherwise && !uses_below(read, last - 1, outer, inner) &&
           is_var(read->args[last - 1], outer) && is_var(read->args[last], inner) &&
           expr_equal(read->tensor->dims[last], inner->extent);
}

/* Whether the last two reductions are contiguous in all that is read, so that they can run as one loop. A long last
 * reduction needs that not: streams of rows are better then. */
bool runs_on(const Stage *stage) {
    int last = stage->reduction_count - 1;
    if (last < 1 || axis_extent(last_reduction(stage)) >= LONG_ROW)
        return false;
    const Var *outer = reduction_at(stage, last - 1), *inner = last_reduction(stage);
    bool any = false;
    EACH_VALUE_READ(read, stage)
        if (uses_below(read, read->count, outer, inner)) {
            if (!is_adjacent(read, outer, inner))
                return false;
            any = true;
        }
    return any;
}

/* The number of reduction loops, the last two counted once if they are one. */
int reduction_loops(const Stage *stage) {
    return stage->reduction_count - runs_on(stage);
}

/* Terms of the loop along memory; -1: known at run time only. */
int64_t row_extent(const Stage *stage) {
    int64_t extent = axis_extent(last_reduction(stage));
    int64_t around = runs_on(stage) ? axis_extent(reduction_at(stage, stage->reduction_count - 2)) : 1;
    return extent < 0 || around < 0 ? -1 : extent * around;
}

/* Whether reads are contiguous along the stage's last axis too. */
static bool reads_along_last(const Stage *stage) {
    return stage->axis_count > 0 && runs_along_memory(stage, stage->axes[stage->axis_count - 1]);
}

/* Whether neighbours along the last axis can be computed together, and suffice for vectors that do not wait for each
 * other (a filter): no lanes of rows must be combined. Not in a ragged reduction, where each has rows of its own. */
static bool suits_columns(const Space *space, const Stage *stage) {
    if (stage_is_ragged(stage))
        return false;
    int64_t extent = reads_along_last(stage) ? axis_extent(stage->axes[stage->axis_count - 1]) : 0;
    int64_t least = space->target->machine->chains * target_lanes(space->target, stage->components[0].tensor->type);
    return extent < 0 || extent >= least;
}

bool stage_is_column_reduction(const Space *space, const Stage *stage) {
    return stage->combine != COMBINE_NONE && stage->reduction_count > 0 && stage->component_count == 1 &&
           !stage->scan && stage_first_scatter(stage) == stage->axis_count && reads_along_last(stage) &&
           !stage_is_row_reduction(space, stage);
}

/* Whether an axis has too few values for tiles to pay by reuse. */
static bool has_few_values(const Var *axis) {
    const Expr *extent = axis->extent;
    bool few = extent->kind == EXPR_VAR && extent->var->most > 0 && extent->var->most <= FEW_SUMS;
    return few || axis_extent(axis) == 1;
}

/* Whether the largest operand is not reused, as the keys of one query: a tile gains nothing. */
static bool reads_each_once(const Space *space, const Stage *stage) {
    bool once = false;
    EACH_VALUE_READ(read, stage) {
        once |= !read->otherwise && read_is_injective(stage, read);
        SKIP_BELOW(read);
    }
    int64_t extent = row_extent(stage);
    return once && (extent < 0 || extent >= 2 * target_lanes(space->target, stage->components[0].tensor->type));
}

/* Whether lanes would be fetched one by one between the two ends of each row, without masks for these: then rows are
 * computed term by term. */
static bool is_ragged_gather(const Space *space, const Stage *stage) {
    bool other;
    return !space->target->gathers && stage_is_ragged(stage) &&
           reads_along(stage, last_reduction(stage), &other) && other;
}

/* A user's combiner combines lanes as slowly as several vectors: its short rows are computed side by side. */
bool stage_is_row_reduction(const Space *space, const Stage *stage) {
    const Stage *inlined = inlined_stage(space, stage);
    int long_axes = 0;
    for (int a = 0; a < stage->axis_count; a++)
        long_axes += !has_few_values(stage->axes[a]);
    if (stage_is_ordered(space->program, stage) || stage->scan || !stage_reduces_along_memory(inlined) ||
        (stage_has_reuse(stage) && long_axes > 1 && !reads_each_once(space, inlined)) || suits_columns(space, stage))
        return false;
    int64_t extent = row_extent(inlined), least = stage->combine == COMBINE_DECLARED ? LONG_ROW : ROW_LEAST;
    return stage_first_scatter(stage) == stage->axis_count && (extent < 0 || extent >= least) &&
           !is_ragged_gather(space, inlined);
}
