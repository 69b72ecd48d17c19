/* versions.c - values of run-time sizes for which a function deserves a version of its own.
 *
 * In a product X(i, k) * W(j, k) each element of W is used again for each i, which pays for packing it and for tiles of
 * several rows. If i has one value nothing is used again, and both cost more than all of the work. If i has a few
 * values and W is contiguous along j, it is better read in place. If W is contiguous along k and j has a few values,
 * each element is best a sum of its own along the rows of both, without packing.
 *
 * Rows that are reduced, then walked through with the result, are better computed a few at a time if they are short:
 * the ends of the reductions, which wait for each other in one row, overlap. Of long rows the near cache holds one.
 */
#include "autosched/space/groups.h"

enum { FEW = 16, SHORT_ROW = 256, VERSIONED_READS = 192 /* a version is all of the code again */ };

typedef struct SingleSearch {
    const Stage *stage;
    const Var *axis;  /* the axis with one value */
    bool once, other; /* an argument is then read once; the axis walks through another */
    bool along;       /* the former is contiguous along the stage's last axis */
} SingleSearch;

/* Whether all indices are variables: overlapping windows would read an element again. */
static bool is_plain(const Expr *read) {
    for (int d = 0; d < read->count; d++)
        if (read->args[d]->kind != EXPR_VAR)
            return false;
    return true;
}

static void note_single_read(SingleSearch *search, const Expr *e) {
    const Stage *stage = search->stage;
    search->other |= expr_uses_var(e, search->axis);
    bool once = e->tensor->role == ROLE_INPUT && is_plain(e) && !expr_uses_var(e, search->axis) &&
                stage_uses_reduction(stage, e);
    int others = 0;
    for (int a = 0; a < stage->axis_count && once; a++)
        if (stage->axes[a] != search->axis && axis_extent(stage->axes[a]) != 1) {
            once = expr_uses_var(e, stage->axes[a]);
            others++;
        }
    if (!once || others == 0)
        return;
    search->once = true;
    search->along |= e->args[e->count - 1]->var == stage->axes[stage->axis_count - 1];
}

/* The axis of a stage, from one on, that may have one value; NULL: none. */
static const Var *single_axis_of(const Stage *stage, int from, bool *along) {
    if (stage->scan || !stage_has_reuse(stage))
        return NULL;
    for (int a = from; a < stage->axis_count; a++) {
        const Expr *extent = stage->axes[a]->extent;
        SingleSearch search = {.stage = stage, .axis = stage->axes[a]};
        if (extent->kind != EXPR_VAR || extent->var->kind != VAR_SIZE)
            continue;
        EACH_VALUE_READ(read, stage)
            note_single_read(&search, read);
        *along = search.along;
        if (search.once && search.other)
            return stage->axes[a];
    }
    return NULL;
}

/* The last axis if it too may have few values, and what is then read once lies along the reduction; or NULL. */
static const Var *few_columns_of(const Stage *stage, const Var *rows) {
    bool along;
    const Var *axis = single_axis_of(stage, stage->axis_count - 1, &along);
    return axis && axis->extent->var != rows->extent->var && stage_reduces_along_memory(stage) ? axis : NULL;
}

static int product_versions(const Program *program, SizeVersion versions[SIZE_VERSIONS]) {
    bool along = false;
    const Var *axis = NULL, *columns = NULL;
    for (int s = 0; s < program->stage_count && !axis; s++) {
        axis = single_axis_of(program->stages[s], 0, &along);
        columns = axis && !along ? few_columns_of(program->stages[s], axis) : NULL;
    }
    if (!axis)
        return 0;
    versions[0] = (SizeVersion){axis->extent->var->name, 1, false};
    versions[1] = columns ? (SizeVersion){columns->extent->var->name, FEW_SUMS, true}
                          : (SizeVersion){axis->extent->var->name, FEW, true};
    return along || columns ? 2 : 1;
}

/* --- rows --- */

/* The size of the rows along memory that the stage reduces to one value each; NULL: it does not. */
static const Var *row_size_of(const Stage *stage) {
    const Var *last = stage->reduction_count == 1 ? stage->reductions[0] : NULL;
    if (!last || stage->scan || stage->axis_count == 0 || last->extent->kind != EXPR_VAR || stage_has_reuse(stage))
        return NULL;
    EACH_VALUE_READ(read, stage)
        if (read->count > 0 && read->args[read->count - 1]->kind == EXPR_VAR &&
            read->args[read->count - 1]->var == last)
            return last->extent->var;
    return NULL;
}

/* Whether another stage walks through rows of that size with the stage's results. */
static bool rows_are_read(const Program *program, const Stage *stage, const Var *size) {
    for (int s = 0; s < program->stage_count; s++) {
        const Stage *other = program->stages[s];
        const Expr *extent = other->axis_count > 1 ? other->axes[other->axis_count - 1]->extent : NULL;
        if (!extent || extent->kind != EXPR_VAR || extent->var != size)
            continue;
        EACH_VALUE_READ(read, other)
            if (stage_writes(stage, read->tensor))
                return true;
    }
    return false;
}

static int row_versions(const Program *program, SizeVersion versions[SIZE_VERSIONS]) {
    for (int s = 0; s < program->stage_count; s++) {
        const Var *size = row_size_of(program->stages[s]);
        if (!size || !rows_are_read(program, program->stages[s], size))
            continue;
        versions[0] = (SizeVersion){size->name, SHORT_ROW, true};
        return 1;
    }
    return 0;
}

int program_size_versions(const Program *program, SizeVersion versions[SIZE_VERSIONS]) {
    int count = product_versions(program, versions);
    return count ? count : row_versions(program, versions);
}

bool program_is_long(const Program *program) {
    int reads = 0;
    for (int s = 0; s < program->stage_count; s++) {
        EACH_VALUE_READ(read, program->stages[s])
            reads++;
    }
    return reads > VERSIONED_READS;
}
