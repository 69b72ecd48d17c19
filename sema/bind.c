/* bind.c - a program with some of its run-time sizes fixed or limited.
 *
 * Everything that mentions a size is made anew: tensors, axes, stages, requirements. The former program stays as it is.
 */
#include "sema/sema.h"
#include "sema/sizes.h"

#include <string.h>

typedef struct Binder {
    Arena *arena;
    const Program *from;
    Program *to;
    LIST(Substitution) sizes;
    LIST(Substitution) axes; /* axes of the current stage */
    Tensor **tensors;        /* by the index of the old tensor in from->tensors */
    const char *why;
    bool limits; /* the bindings are upper limits: sizes stay variables */
} Binder;

/* --- expressions --- */

static const Tensor *new_of(const Binder *b, const Tensor *tensor) {
    for (int i = 0; i < b->from->tensor_count; i++)
        if (b->from->tensors[i] == tensor)
            return b->tensors[i];
    return tensor;
}

static Expr *substitute_in(const Substitution *list, int count, Expr *e) {
    for (int i = 0; i < count; i++)
        if (list[i].var == e->var)
            return list[i].value;
    return NULL;
}

static Expr *replace(Arena *arena, Expr *e, void *context) {
    const Binder *b = context;
    if (e->kind == EXPR_VAR) {
        Expr *found = substitute_in(b->sizes.items, b->sizes.count, e);
        found = found ? found : substitute_in(b->axes.items, b->axes.count, e);
        return found ? found : e;
    }
    if (e->kind != EXPR_READ)
        return e;
    Expr *read = expr_read(arena, new_of(b, e->tensor), e->args, e->otherwise);
    read->loc = e->loc;
    return read;
}

static Expr *bind_expr(Binder *b, Expr *e) {
    return e ? expr_rewrite(b->arena, e, replace, b) : NULL;
}

/* A bound extent: a constant wherever possible. */
static Expr *bind_extent(Binder *b, Expr *e) {
    return size_normal(b->arena, bind_expr(b, e));
}

/* --- parts --- */

static Tensor *bind_tensor(Binder *b, const Tensor *tensor) {
    Tensor *bound = ARENA_NEW(b->arena, Tensor);
    *bound = *tensor;
    bound->dims = ARENA_ARRAY(b->arena, Expr *, tensor->rank);
    bound->lower = tensor->lower ? ARENA_ARRAY(b->arena, Expr *, tensor->rank) : NULL;
    for (int d = 0; d < tensor->rank; d++) {
        bound->dims[d] = bind_extent(b, tensor->dims[d]);
        if (bound->lower)
            bound->lower[d] = bind_extent(b, tensor->lower[d]);
    }
    return bound;
}

static const Var **bind_axes(Binder *b, const Var **axes, int count) {
    const Var **bound = ARENA_ARRAY(b->arena, const Var *, count);
    for (int i = 0; i < count; i++) {
        Var *axis = ARENA_NEW(b->arena, Var);
        *axis = *axes[i];
        axis->extent = bind_extent(b, axes[i]->extent);
        bound[i] = axis;
        list_push(b->arena, &b->axes, ((Substitution){axes[i], expr_var(b->arena, axis)}));
    }
    return bound;
}

static Stage *bind_stage(Binder *b, const Stage *stage) {
    Stage *bound = stage_copy(b->arena, stage);
    b->axes.count = 0;
    bound->axes = bind_axes(b, stage->axes, stage->axis_count);
    bound->reductions = bind_axes(b, stage->reductions, stage->reduction_count);
    for (int c = 0; c < bound->component_count; c++) {
        Component *component = &bound->components[c];
        component->tensor = new_of(b, component->tensor);
        component->initial = bind_expr(b, component->initial);
        component->value = expr_simplify(b->arena, bind_expr(b, component->value));
    }
    return bound;
}

/* True: the requirement stays. False: it always holds, or never does (then why is set). */
static bool bind_requirement(Binder *b, const Requirement *from, Requirement *to) {
    *to = *from;
    b->axes.count = 0;
    to->axes = bind_axes(b, from->axes, from->axis_count);
    to->condition = bind_expr(b, from->condition);
    for (int i = 0; i < to->axis_count; i++)
        if (expr_is_int(to->axes[i]->extent, NULL) && to->axes[i]->extent->integer <= 0)
            return false;
    int64_t holds;
    if (!expr_evaluate(to->condition, NULL, 0, &holds))
        return expr_prove(b->arena, to->condition, NULL) != 1;
    if (!holds)
        b->why = arena_printf(b->arena, "it needs %s", from->text);
    return false;
}

static void bind_scans(Binder *b, const Stage **stages) {
    b->to->scans = ARENA_ARRAY(b->arena, const Scan *, b->from->scan_count);
    for (int i = 0; i < b->from->scan_count; i++) {
        Scan *scan = ARENA_NEW(b->arena, Scan);
        *scan = *b->from->scans[i];
        b->axes.count = 0;
        scan->axis = *bind_axes(b, &scan->axis, 1);
        for (int s = scan->first; s < scan->first + scan->count; s++)
            ((Stage *)stages[s])->scan = scan;
        b->to->scans[i] = scan;
    }
}

/* --- sizes --- */

/* A size of the same name that is known to be at most `most`. */
static const Var *limited_size(Arena *arena, const Var *size, int64_t most) {
    Var *limited = ARENA_NEW(arena, Var);
    *limited = *size;
    limited->most = most;
    return limited;
}

const struct Binding *find_binding(const struct Binding *bindings, int count, const char *name) {
    for (int i = 0; i < count; i++)
        if (strcmp(bindings[i].name, name) == 0)
            return &bindings[i];
    return NULL;
}

static void take_sizes(Binder *b, const struct Binding *bindings, int count) {
    const Var **left = ARENA_ARRAY(b->arena, const Var *, b->from->size_count);
    int left_count = 0;
    for (int i = 0; i < b->from->size_count; i++) {
        const Var *size = b->from->sizes[i];
        const struct Binding *found = find_binding(bindings, count, size->name);
        bool stays = !found || b->limits;
        if (stays)
            left[left_count++] = found ? limited_size(b->arena, size, found->value) : size;
        if (found)
            list_push(b->arena, &b->sizes,
                      ((Substitution){size, stays ? expr_var(b->arena, left[left_count - 1])
                                                  : expr_int(b->arena, found->value)}));
    }
    b->to->sizes = left;
    b->to->size_count = left_count;
}

static void note_bindings(Binder *b) {
    int before = b->from->bound_count;
    b->to->bounds = ARENA_ARRAY(b->arena, struct Binding, before + b->sizes.count);
    if (before)
        memcpy(b->to->bounds, b->from->bounds, sizeof *b->to->bounds * (size_t)before);
    b->to->bound_count = before;
    for (int i = 0; i < b->sizes.count; i++)
        if (b->sizes.items[i].value->kind == EXPR_INT)
            b->to->bounds[b->to->bound_count++] =
                (struct Binding){b->sizes.items[i].var->name, b->sizes.items[i].value->integer};
}

/* --- the whole --- */

static void bind_tensors(Binder *b) {
    const Program *from = b->from;
    b->tensors = ARENA_ARRAY(b->arena, Tensor *, from->tensor_count);
    const Tensor **tensors = ARENA_ARRAY(b->arena, const Tensor *, from->tensor_count);
    for (int i = 0; i < from->tensor_count; i++)
        tensors[i] = b->tensors[i] = bind_tensor(b, from->tensors[i]);
    for (int i = 0; i < from->tensor_count; i++)
        if (b->tensors[i]->buffer)
            b->tensors[i]->buffer = new_of(b, b->tensors[i]->buffer);
    b->to->tensors = tensors;
}

static void bind_arguments(Binder *b) {
    const Program *from = b->from;
    b->to->arguments = ARENA_ARRAY(b->arena, Argument, from->argument_count);
    for (int i = 0; i < from->argument_count; i++) {
        Argument *bound = &b->to->arguments[i];
        *bound = from->arguments[i];
        bound->tensor = bound->tensor ? new_of(b, bound->tensor) : NULL;
        bound->parts = ARENA_ARRAY(b->arena, ArgumentPart, bound->part_count);
        for (int p = 0; p < bound->part_count; p++) {
            const ArgumentPart *part = &from->arguments[i].parts[p];
            bound->parts[p] = (ArgumentPart){new_of(b, part->tensor), bind_extent(b, part->offset)};
        }
    }
}

static Program *bind_program(Binder *b, const struct Binding *bindings, int count, const char **why) {
    Arena *arena = b->arena;
    const Program *program = b->from;
    Program *bound = b->to = ARENA_NEW(arena, Program);
    *bound = *program;
    bound->known = NULL;
    bound->arena = arena;
    take_sizes(b, bindings, count);
    note_bindings(b);
    bind_tensors(b);
    bind_arguments(b);
    bound->requirements = ARENA_ARRAY(arena, Requirement, program->requirement_count);
    bound->requirement_count = 0;
    for (int i = 0; i < program->requirement_count && !b->why; i++)
        if (bind_requirement(b, &program->requirements[i], &bound->requirements[bound->requirement_count]))
            bound->requirement_count++;
    if (b->why) {
        *why = b->why;
        return NULL;
    }
    const Stage **stages = ARENA_ARRAY(arena, const Stage *, program->stage_count);
    for (int i = 0; i < program->stage_count; i++)
        stages[i] = bind_stage(b, program->stages[i]);
    bound->stages = stages;
    bind_scans(b, stages);
    program_list_stages(arena, bound);
    return bound;
}

Program *program_bind(Arena *arena, const Program *program, const struct Binding *bindings, int count,
                      const char **why) {
    Program *bound = bind_program(&(Binder){.arena = arena, .from = program}, bindings, count, why);
    if (bound && program->meaning && count > 0 &&
        !(bound->meaning = program_bind(arena, program->meaning, bindings, count, why)))
        return NULL;
    return bound;
}

Program *program_limit(Arena *arena, const Program *program, const struct Binding *limit, const char **why) {
    Program *limited = bind_program(&(Binder){.arena = arena, .from = program, .limits = true}, limit, 1, why);
    if (limited && program->meaning && !(limited->meaning = program_limit(arena, program->meaning, limit, why)))
        return NULL;
    return limited;
}
