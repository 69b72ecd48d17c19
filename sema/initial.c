/* initial.c - reads of what a caller's buffer held before the call. Where the buffer may already be overwritten, they
 * read a copy.
 *
 * A stage that writes the buffer may read the element that it writes and no other, and only once: not for each term of
 * a reduction. The stages of a scan write in turns, so they always read the copy, as do stages after one that writes:
 * those of a def that was called with the former contents.
 */
#include "lang/program.h"
#include "sema/check.h"

static bool is_own_element(const Stage *stage, const Expr *read) {
    for (int d = 0; d < read->count; d++)
        if (read->args[d]->kind != EXPR_VAR || d >= stage->axis_count || read->args[d]->var != stage->axes[d])
            return false;
    return !read->otherwise;
}

typedef struct InitialCopying {
    Builder *builder;
    const Stage *stage; /* the stage whose expressions are visited */
    int before;         /* how many stages are before it */
    bool begins;        /* the expression is the initial value of a reduction */
    LIST(const Tensor *) initials;
    LIST(Tensor *) copies; /* by the index in initials */
    Stages stages;         /* those that make the copies */
} InitialCopying;

static bool may_be_overwritten(const InitialCopying *copying, const Expr *read) {
    const Stage *stage = copying->stage;
    for (int s = 0; s < copying->before; s++)
        if (stage_writes(copying->builder->stages.items[s], read->tensor->buffer))
            return true;
    if (stage->scan || !stage_writes(stage, read->tensor->buffer))
        return stage->scan != NULL;
    return (stage->combine != COMBINE_NONE && !copying->begins) || !is_own_element(stage, read);
}

static Tensor *make_copy(InitialCopying *copying, const Tensor *initial) {
    Arena *arena = copying->builder->arena;
    Tensor *copy = new_tensor(copying->builder, initial->type, initial->rank, initial->loc);
    Stage *stage = stage_new(arena, (Component){copy, NULL, NULL});
    stage->axes = ARENA_ARRAY(arena, const Var *, copy->rank);
    Expr **indices = ARENA_ARRAY(arena, Expr *, copy->rank);
    copy->name = arena_printf(arena, "%s.before", initial->buffer->name);
    copy->lower = initial->lower;
    for (int d = 0; d < copy->rank; d++) {
        copy->dims[d] = initial->dims[d];
        copy->dim_names[d] = initial->dim_names[d];
        stage->axes[d] = var_new(arena, VAR_AXIS, TYPE_INT64, copy->dim_names[d], copy->dims[d]);
        indices[d] = expr_var(arena, stage->axes[d]);
    }
    stage->components[0].value = expr_read(arena, initial, indices, NULL);
    list_push(arena, &copying->stages, stage);
    return copy;
}

static const Tensor *copy_of(InitialCopying *copying, const Tensor *initial) {
    for (int i = 0; i < copying->initials.count; i++)
        if (copying->initials.items[i] == initial)
            return copying->copies.items[i];
    list_push(copying->builder->arena, &copying->initials, initial);
    list_push(copying->builder->arena, &copying->copies, make_copy(copying, initial));
    return copying->copies.items[copying->copies.count - 1];
}

static Expr *read_copy(Arena *arena, Expr *e, void *context) {
    InitialCopying *copying = context;
    if (e->kind != EXPR_READ || e->tensor->role != ROLE_INITIAL || !may_be_overwritten(copying, e))
        return e;
    Expr *read = expr_copy(arena, e);
    read->tensor = copy_of(copying, e->tensor);
    return read;
}

static Expr *from_copies(InitialCopying *copying, Expr *e, bool begins) {
    copying->begins = begins;
    return e ? expr_rewrite(copying->builder->arena, e, read_copy, copying) : NULL;
}

void copy_overwritten(Builder *builder) {
    InitialCopying copying = {.builder = builder};
    for (int i = 0; i < builder->stages.count; i++) {
        Stage *stage = builder->stages.items[i];
        copying.stage = stage;
        copying.before = i;
        for (int c = 0; c < stage->component_count; c++) {
            Component *component = &stage->components[c];
            component->initial = from_copies(&copying, component->initial, true);
            component->value = from_copies(&copying, component->value, false);
        }
    }
    for (int i = 0; i < builder->stages.count && copying.stages.count; i++)
        list_push(builder->arena, &copying.stages, builder->stages.items[i]);
    if (copying.stages.count)
        builder->stages = copying.stages;
}
