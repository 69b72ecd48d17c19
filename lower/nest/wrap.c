/* wrap.c - stages at a loop whose consumers read them with `else wrap`.
 *
 * Indices modulo the extent jump at the ends, so that what a block reads there is no interval. Before they are taken
 * modulo the extent they are near each other. So the box is one of such indices: it may reach beyond the ends, and the
 * stage has at index v the value of v modulo the extent, which no other place needs. Consumers then read at the index
 * as it was. Along the dimensions where that holds the stage is unwrapped; a stage that cache_write made of it is
 * unwrapped with it. Larger boxes than the domain are right, too: some values are computed twice.
 */
#include "lower/nest/state.h"

/* --- where -------------------------------------------------------------------------------------------------------- */

static bool shares_variable(const Expr *a, const Expr *b) {
    EACH_EXPR(e, a)
        if (e->kind == EXPR_VAR && expr_uses_var(b, e->var))
            return true;
    return false;
}

const Expr *read_wraps(const Expr *read, int dimension) {
    const Expr *wrapped = wrapped_index(read->args[dimension], read->tensor->dims[dimension]);
    for (int d = 0; d < read->count && wrapped != NULL; d++) {
        const Expr *other = read->args[d];
        if (d != dimension && expr_is_op(other, OP_DIV) && shares_variable(other, wrapped))
            return NULL;
    }
    return wrapped;
}

static bool any_wraps(const Expr *read) {
    for (int d = 0; d < read->count; d++)
        if (read_wraps(read, d) != NULL)
            return true;
    return false;
}

static void begin_boxes(NestState *state, StageState *stage) {
    stage->unwrapped = ARENA_ARRAY(state->arena, Box, 2 * stage->tensor->rank);
    stage->unwrapped_stores = stage->unwrapped + stage->tensor->rank;
}

/* Whether it may be unwrapped: itself, or what stores it. */
static bool has_unwrapped(const StageState *stage) {
    for (; stage != NULL; stage = stage->owner)
        if (stage->unwrapped != NULL)
            return true;
    return false;
}

/* A stage that is unwrapped makes reads at its own place wrap, so all stages that such a stage reads have boxes, too.
 */
void begin_unwrapped(NestState *state) {
    for (int i = state->stages.count - 1; i >= 0; i--) {
        const StageState *reader = state->stages.items[i];
        for (int k = 0; k < reader->accesses.count && !reader->nest.inlined; k++) {
            const NestRead *access = &reader->accesses.items[k];
            StageState *producer = access->producer;
            bool wraps = has_unwrapped(reader) || any_wraps(access->read);
            if (wraps && producer != NULL && producer->boxes != NULL && producer->unwrapped == NULL)
                begin_boxes(state, producer);
        }
    }
}

static bool is_tensorized(const StageState *stage) {
    for (int i = 0; i < stage->leaves.count; i++)
        if (stage->leaves.items[i]->loop.kind == LOOP_TENSORIZED)
            return true;
    return false;
}

/* Whether it reads what the caller's buffer held, which its reader may overwrite but at its own place. */
static bool reads_held(const StageState *stage) {
    for (int i = 0; i < stage->accesses.count; i++)
        if (stage->accesses.items[i].read->tensor->role == ROLE_INITIAL)
            return true;
    return false;
}

/* Whether the value of an element may be computed at an index beyond the ends: an instruction would not read modulo
 * the extent, and who shares the buffer or the steps counts indices of the domain. */
static bool may_unwrap(const NestState *state, const StageState *stage) {
    for (int i = 0; i < state->stages.count; i++) {
        const StageState *made = state->stages.items[i];
        bool part = made == stage || made->owner == stage;
        if (part && (is_tensorized(made) || made->partial || made->initialisation != NULL || reads_held(made)))
            return false;
    }
    return state->nest.program->scan_count == 0;
}

static bool is_better_unwrapped(NestState *state, const StageState *stage, int d) {
    const Box *box = &stage->unwrapped[d];
    int64_t width;
    return box->wraps && !box_is_whole(state, stage, d, box) && affine_is_int(box->width, &width) &&
           box_is_whole(state, stage, d, &stage->boxes[d]) && (!stage->stored || !stage->unwrapped_stores[d].whole);
}

static void set_unwrapped(NestState *state, StageState *stage, int d) {
    if (stage->unwraps == NULL)
        stage->unwraps = ARENA_ARRAY(state->arena, bool, stage->tensor->rank);
    stage->unwraps[d] = true;
}

static void unwrap_boxes(NestState *state, StageState *stage, int d) {
    stage->boxes[d] = stage->unwrapped[d];
    stage->boxes[d].unwrapped = true;
    if (stage->stored) {
        stage->stores[d] = stage->unwrapped_stores[d];
        stage->stores[d].unwrapped = true;
    }
    set_unwrapped(state, stage, d);
}

void choose_unwrapped(NestState *state, StageState *stage) {
    bool may = stage->unwrapped != NULL && may_unwrap(state, stage);
    for (int d = 0; d < stage->tensor->rank; d++) {
        int axis = stage->owner_axes != NULL ? stage->owner_axes[d] : d;
        if (stage->owner != NULL && stage_unwraps(stage->owner, axis))
            set_unwrapped(state, stage, d);
        else if (may && is_better_unwrapped(state, stage, d))
            unwrap_boxes(state, stage, d);
    }
}

bool stage_unwraps(const StageState *stage, int dimension) {
    return stage->unwraps != NULL && stage->unwraps[dimension];
}

/* --- what changes ------------------------------------------------------------------------------------------------- */

typedef struct Unwrapping {
    const StageState *stage;
    Expr **wrapped; /* [rank] the axis modulo the extent */
} Unwrapping;

static bool reads_unwrapped(const StageState *stage, const Expr *e) {
    return e->kind == EXPR_READ && (e->tensor == stage->tensor || stage_writes(stage->nest.stage, e->tensor));
}

static Expr *unwrap_read(Arena *arena, Expr *e, void *context) {
    const StageState *stage = context;
    if (!reads_unwrapped(stage, e))
        return e;
    Expr **args = ARENA_ARRAY(arena, Expr *, e->count);
    for (int d = 0; d < e->count; d++) {
        const Expr *index = stage_unwraps(stage, d) ? wrapped_index(e->args[d], e->tensor->dims[d]) : NULL;
        args[d] = index != NULL ? (Expr *)index : e->args[d];
    }
    Expr *read = expr_read(arena, e->tensor, args, e->otherwise);
    read->guard = e->guard;
    read->loc = e->loc;
    return read;
}

/* An index that counts modulo the extent anyway, with the axis as it is in sums and products. */
static Expr *with_axis(Arena *arena, Expr *e, const Expr *wrapped) {
    if (expr_equal(e, wrapped))
        return wrapped->args[0];
    if (e->kind != EXPR_OP || e->count != 2 || (e->op != OP_ADD && e->op != OP_SUB && e->op != OP_MUL))
        return e;
    return expr_binary(arena, e->op, with_axis(arena, e->args[0], wrapped), with_axis(arena, e->args[1], wrapped));
}

static Expr *wrap_axis(Arena *arena, Expr *e, void *context) {
    const Unwrapping *unwrapping = context;
    const Stage *stage = unwrapping->stage->nest.stage;
    for (int d = 0; d < stage->axis_count; d++) {
        Expr *wrapped = unwrapping->wrapped[d];
        if (wrapped != NULL && e->kind == EXPR_VAR && e->var == stage->axes[d])
            return wrapped;
        if (wrapped != NULL && wrapped_index(e, wrapped->args[1]) != NULL)
            e = expr_binary(arena, OP_MOD, with_axis(arena, e->args[0], wrapped), e->args[1]);
    }
    return e;
}

void unwrap_stage(NestState *state, StageState *stage) {
    if (stage->unwraps == NULL)
        return;
    Arena *arena = state->arena;
    for (int i = 0; i < stage->readers.count; i++) {
        StageState *reader = stage->readers.items[i];
        if (!reader->nest.inlined && reads_stage(reader, stage))
            stage_rewrite(state, reader, stage_rewrite_exprs(arena, reader->nest.stage, unwrap_read, stage));
    }
    const Stage *computed = stage->nest.stage;
    Unwrapping unwrapping = {stage, ARENA_ARRAY(arena, Expr *, stage->tensor->rank)};
    for (int d = 0; d < stage->tensor->rank; d++)
        if (stage_unwraps(stage, d))
            unwrapping.wrapped[d] =
                expr_op(arena, OP_MOD, TYPE_INT64,
                        (Expr *[]){expr_var(arena, computed->axes[d]), computed->components[0].tensor->dims[d]}, 2);
    stage_rewrite(state, stage, stage_rewrite_exprs(arena, computed, wrap_axis, &unwrapping));
}
