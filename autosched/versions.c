/* versions.c - values of run-time sizes for which a function deserves a version of its own.
 *
 * Of a product X(i, k) * W(j, k) each element of W is used again for each i: that pays for packing it and for tiles of
 * several rows. Where i has one value nothing is used again, and both cost more than all of the work. Where it has a few
 * and W lies along j in memory, W is better read in place.
 */
#include "autosched/autosched.h"
#include "autosched/space.h"

enum { FEW = 16 };

typedef struct SingleSearch {
    const Stage *stage;
    const Var *axis;  /* of one value */
    bool once, other; /* an argument that is then read once; one that the axis goes through */
    bool along;       /* the former lies along the last axis of the stage */
} SingleSearch;

/* Windows that overlap read an element again. */
static bool is_plain(const Expr *read) {
    for (int d = 0; d < read->count; d++)
        if (read->args[d]->kind != EXPR_VAR)
            return false;
    return true;
}

static bool uses_reductions(const Stage *stage, const Expr *read) {
    for (int r = 0; r < stage->reduction_count; r++)
        if (expr_uses_var(read, stage->reductions[r]))
            return true;
    return false;
}

static bool note_single_read(const Expr *e, void *context) {
    SingleSearch *search = context;
    const Stage *stage = search->stage;
    if (e->kind != EXPR_READ)
        return true;
    search->other |= expr_uses_var(e, search->axis);
    bool once =
        e->tensor->role == ROLE_INPUT && is_plain(e) && !expr_uses_var(e, search->axis) && uses_reductions(stage, e);
    int others = 0;
    for (int a = 0; a < stage->axis_count && once; a++)
        if (stage->axes[a] != search->axis && axis_extent(stage->axes[a]) != 1) {
            once = expr_uses_var(e, stage->axes[a]);
            others++;
        }
    if (!once || others == 0)
        return true;
    search->once = true;
    search->along |= e->args[e->count - 1]->var == stage->axes[stage->axis_count - 1];
    return true;
}

/* The axis of a stage that may have one value; NULL: none. */
static const Var *single_axis_of(const Stage *stage, bool *along) {
    if (stage->scan || !stage_has_reuse(stage))
        return NULL;
    for (int a = 0; a < stage->axis_count; a++) {
        const Expr *extent = stage->axes[a]->extent;
        SingleSearch search = {.stage = stage, .axis = stage->axes[a]};
        if (extent->kind != EXPR_VAR || extent->var->kind != VAR_SIZE)
            continue;
        stage_walk_values(stage, note_single_read, &search);
        *along = search.along;
        if (search.once && search.other)
            return stage->axes[a];
    }
    return NULL;
}

const char *program_single_size(const Program *program, int *few) {
    bool along = false;
    const Var *axis = NULL;
    for (int s = 0; s < program->stage_count && !axis; s++)
        axis = single_axis_of(program->stages[s], &along);
    *few = along ? FEW : 1;
    return axis ? axis->extent->var->name : NULL;
}
