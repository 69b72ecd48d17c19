/* stages.c - makes stages with single assignment of a checked assignment.
 *
 * Each definition of a tensor makes a new version. `+=` without `!` begins with the former version; for a first
 * definition that is what the caller's buffer holds. If a definition covers only a part of the tensor, it becomes a
 * stage over the whole tensor, which takes the former version elsewhere.
 */
#include "sema/check.h"

#include <string.h>

typedef struct Assignment {
    Statement *statement;
    const Combiner *combiner; /* of a tuple, of which this is a component; else NULL */
    int component;
    Builder *builder;
    Arena *arena;
    Variable *variable;
    Loc loc;
    ElementType type;
    Expr *value; /* converted to the type; over raw index variables */
    int rank;
    View whole; /* what the new version spans */
    bool full;  /* the statement covers all of it */
    int reductions;
} Assignment;

Tensor *new_tensor(Builder *builder, ElementType type, int rank, Loc loc) {
    Tensor *tensor = ARENA_NEW(builder->arena, Tensor);
    tensor->name = "";
    tensor->type = type;
    tensor->role = ROLE_TEMPORARY;
    tensor->rank = rank;
    tensor->dims = ARENA_ARRAY(builder->arena, Expr *, rank);
    tensor->dim_names = ARENA_ARRAY(builder->arena, const char *, rank);
    tensor->loc = loc;
    list_push(builder->arena, &builder->tensors, tensor);
    return tensor;
}

/* --- types --- */

static bool is_literal(const Expr *e, ElementType type) {
    return e->kind == EXPR_INT || (e->kind == EXPR_REAL && type_is_float(type));
}

/* Decides the type of the tensor: the declared one, else that of its first definition, else that of the value. */
static bool decide_type(Assignment *a, Typed typed) {
    Expr *value = typed_value(a->arena, typed);
    CallFrame *frame = a->statement->frame;
    const Variable *variable = a->variable;
    bool declared = variable->result && variable->result->has_type;
    bool sums = a->statement->ast->combine == COMBINE_ADD || a->statement->ast->combine == COMBINE_MUL;
    if (sums && value->type == TYPE_BOOL)
        value = convert(a->arena, value, TYPE_INT32);
    const Carried *carried = find_carried(frame, variable);
    a->type = declared                     ? variable->result->type
              : variable->view.tensor      ? variable->view.tensor->type
              : carried && carried->tensor ? carried->type
                                           : value->type;
    bool narrows = !is_literal(value, a->type) && type_promote(a->type, value->type) != a->type;
    const char *from = element_info[value->type].spelling, *to = element_info[a->type].spelling;
    Loc loc = a->statement->ast->values.items[0]->loc;
    if (narrows && declared) {
        ERROR(frame, narrowing, loc, from, variable->name, to);
        HINT(frame, "convert the value: %s(...)", to);
        return false;
    }
    if (narrows) {
        WARN(frame, narrowing_store, loc, from, variable->name, to);
    }
    a->value = typed.wide ? typed_as(a->arena, typed, a->type) : convert(a->arena, value, a->type);
    warn_lost(a->statement, a->value, a->type, declared);
    warn_narrow_reduction(a->statement, variable, a->value, declared);
    return true;
}

/* --- making tensors and stages --- */

static Tensor *make_tensor_in(Assignment *a, const View *view, Tensor *tensor) {
    bool counted_from_zero = true;
    for (int d = 0; d < a->rank; d++) {
        int64_t low;
        tensor->dims[d] = view->dims[d];
        tensor->dim_names[d] = a->statement->indices.items[d]->name;
        counted_from_zero &= !view->lower || (expr_is_int(view->lower[d], &low) && low == 0);
    }
    tensor->lower = counted_from_zero ? NULL : view->lower;
    check_tensor_size(a->statement->frame, tensor, a->statement->frame->caller ? NULL : a->variable->name);
    return tensor;
}

static Tensor *make_tensor(Assignment *a, const View *view) {
    return make_tensor_in(a, view, new_tensor(a->builder, a->type, a->rank, a->variable->loc));
}

/* Makes the new version. In a scan the last version exists already, since earlier statements read it. */
static Tensor *make_version(Assignment *a) {
    Carried *carried = find_carried(a->statement->frame, a->variable);
    bool last = carried && ++carried->defined == carried->definitions && carried->tensor;
    return last ? make_tensor_in(a, &a->whole, carried->tensor) : make_tensor(a, &a->whole);
}

static Stage *make_stage(Assignment *a, const Tensor *tensor, const Var **axes, Expr *value) {
    Stage *stage = stage_new(a->arena, (Component){tensor, NULL, value});
    stage->axes = axes;
    stage->loc = a->loc;
    const CallFrame *frame = a->statement->frame;
    if (frame->scan) {
        stage->scan = frame->scan->scan;
        stage->step = find_carried(frame, a->variable)->step;
    }
    list_push(a->arena, &a->builder->stages, stage);
    return stage;
}

/* New axes over the whole tensor. */
static const Var **whole_axes(const Assignment *a) {
    const Var **axes = ARENA_ARRAY(a->arena, const Var *, a->rank);
    for (int d = 0; d < a->rank; d++) {
        const IndexVariable *index = a->statement->indices.items[d];
        Var *axis = var_new(a->arena, VAR_AXIS, TYPE_INT64, index->name, a->whole.dims[d]);
        axis->loc = index->loc;
        axes[d] = axis;
    }
    return axes;
}

static const Var **own_axes(const Assignment *a) {
    const Var **axes = ARENA_ARRAY(a->arena, const Var *, a->rank);
    for (int d = 0; d < a->rank; d++)
        axes[d] = a->statement->indices.items[d]->axis;
    return axes;
}

static void add_reductions(const Assignment *a, Stage *stage) {
    stage->reductions = ARENA_ARRAY(a->arena, const Var *, a->reductions);
    for (int i = a->rank; i < a->statement->indices.count; i++)
        stage->reductions[stage->reduction_count++] = a->statement->indices.items[i]->axis;
}

static Expr *read_at(const Assignment *a, const Tensor *tensor, const Var **axes) {
    Expr **indices = ARENA_ARRAY(a->arena, Expr *, a->rank);
    for (int d = 0; d < a->rank; d++)
        indices[d] = expr_var(a->arena, axes[d]);
    Expr *read = expr_read(a->arena, tensor, indices, NULL);
    read->loc = a->statement->ast->targets.items[0].loc;
    return read;
}

static void add_part(Assignment *a, Tensor *tensor, const char *suffix) {
    VersionPart part = {tensor, a->variable->versions.count, suffix};
    list_push(a->arena, &a->variable->parts, part);
}

/* --- the former version --- */

static bool combines(const Assignment *a) {
    return a->combiner || a->statement->ast->combine != COMBINE_NONE;
}

static bool accumulates(const Assignment *a) {
    return combines(a) && !a->statement->ast->initialise;
}

/* A tensor for what the caller's buffer holds. */
static const Tensor *caller_buffer(Assignment *a) {
    Tensor *initial = make_tensor(a, &a->whole);
    initial->role = ROLE_INITIAL;
    a->variable->initial = initial;
    add_part(a, initial, "initial");
    return initial;
}

static void warn_former(const Assignment *a, Loc loc) {
    CallFrame *frame = a->statement->frame;
    if (!may_warn(frame) || (a->builder->by_itself && def_is_called(frame->builder->checker, frame->definition)))
        return; /* a call is refused: it has no buffer of a caller */
    const char *declaration = inout_text(a->statement, a->variable, a->type);
    if (a->full && accumulates(a)) {
        WARN(frame, reads_caller_buffer, loc, a->variable->name);
        HINT(frame, "if that is meant, the header says it: %s", declaration);
        return;
    }
    cover_begin(a->builder, a->variable, &a->whole, loc, declaration);
    if (accumulates(a))
        cover_note_read(a->variable);
}

/* Whether the call is assigned to a tensor that has contents, which the result could begin with. */
static bool call_has_contents(const CallFrame *frame, const Variable *variable) {
    const AstResults *results = &frame->definition->ast->results;
    const AstTarget *target = NULL;
    for (int i = 0; i < results->count && frame->targets && i < frame->targets->count; i++)
        if (&results->items[i] == variable->result)
            target = &frame->targets->items[i];
    const Symbol *symbol = target ? frame_symbol(frame->caller, target->name.text) : NULL;
    return symbol && symbol->kind == SYMBOL_TENSOR && symbol->variable->view.tensor;
}

static void hint_former(const Assignment *a) {
    const Statement *s = a->statement;
    CallFrame *frame = s->frame;
    const char *text = op_info[combine_op(s->ast->combine)].spelling;
    if (a->variable->result && call_has_contents(frame, a->variable))
        HINT(frame, "if it is to begin with what the call is assigned to, the header says it: %s",
             inout_text(s, a->variable, a->type));
    else if (a->combiner)
        HINT(frame, "%s=! begins with the identity", a->combiner->name);
    else if (accumulates(a))
        HINT(frame, "the forms with ! begin with the identity: %s=!", text);
    else if (a->variable->result && !a->full)
        hint_rest(s, a->variable, a->type);
    else if (s->predicates.count)
        hint_choice(s, a->type);
}

/* The version before this one; NULL after an error. */
static const Tensor *former_version(Assignment *a) {
    CallFrame *frame = a->statement->frame;
    if (a->variable->view.tensor)
        return a->variable->view.tensor;
    Loc loc = a->statement->ast->targets.items[0].loc;
    if (a->variable->poisoned) {
        a->statement->failed = true;
        return NULL;
    }
    if (!a->variable->result || frame->caller) {
        ERROR(frame, no_former_value, loc, a->variable->name);
        hint_former(a);
        note_calls(frame);
        a->statement->failed = true;
        return NULL;
    }
    warn_former(a, loc);
    return caller_buffer(a);
}

/* --- the whole tensor --- */

static Expr *combined(const Assignment *a, Expr *former, Expr *value) {
    return expr_binary(a->arena, combine_op(a->statement->ast->combine), former, value);
}

/* The value where the predicates of the statement hold, and `elsewhere` where they do not. */
static Expr *where_it_holds(const Assignment *a, Expr *value, Expr *elsewhere) {
    Expr *predicate = resolve_conditions(a->statement);
    return predicate ? expr_select(a->arena, predicate, value, elsewhere) : value;
}

static Expr *identity(const Assignment *a) {
    if (a->combiner)
        return a->combiner->identity[a->component];
    return combine_identity(a->arena, a->statement->ast->combine, a->type);
}

/* A term of the reduction: the identity where the predicates do not hold. */
static Expr *term(const Assignment *a) {
    return where_it_holds(a, resolve_value(a->statement, a->value), identity(a));
}

static bool define_reduction(Assignment *a, Tensor *tensor) {
    const Var **axes = own_axes(a);
    const Tensor *former = accumulates(a) ? former_version(a) : NULL;
    if (accumulates(a) && !former)
        return false;
    Stage *stage = make_stage(a, tensor, axes, term(a));
    stage->combine = a->statement->ast->combine;
    stage->components[0].initial = former ? read_at(a, former, axes) : identity(a);
    add_reductions(a, stage);
    return true;
}

static bool initialises(const Assignment *a) {
    return combines(a) && a->statement->ast->initialise;
}

/* With `=` and a predicate the former value stays where the predicate does not hold. */
static bool needs_former(const Assignment *a) {
    return accumulates(a) || (!initialises(a) && a->statement->predicates.count);
}

/* The new value of an element, from its former one, without a reduction. */
static Expr *changed_value(const Assignment *a, Expr *former) {
    if (initialises(a))
        return term(a);
    Expr *value = resolve_value(a->statement, a->value);
    return where_it_holds(a, accumulates(a) ? combined(a, former, value) : value, former);
}

/* A declared type says that the result of a quotient is meant to be an integer. */
static void note_quotient(const Assignment *a, const Tensor *tensor) {
    const AstResult *result = a->variable->result;
    if (!result || (a->statement->frame->caller && !result->has_type))
        note_rounded(a->statement, tensor, a->value);
}

static bool define_full(Assignment *a, Tensor *tensor) {
    if (a->reductions && initialises(a))
        note_quotient(a, tensor);
    if (a->reductions)
        return define_reduction(a, tensor);
    const Var **axes = own_axes(a);
    if (!needs_former(a)) {
        make_stage(a, tensor, axes, initialises(a) ? term(a) : resolve_value(a->statement, a->value));
        note_range(a->statement, tensor, a->value);
        note_quotient(a, tensor);
        return true;
    }
    const Tensor *former = former_version(a);
    if (former)
        make_stage(a, tensor, axes, changed_value(a, read_at(a, former, axes)));
    return former != NULL;
}

/* --- a part of it --- */

static Expr *both(Arena *arena, Expr *a, Expr *b) {
    return a ? expr_binary(arena, OP_AND, a, b) : b;
}

/* Adds to the condition that the axis of dimension d over the whole tensor is inside the range of the statement, unless
 * it always is. */
static Expr *inside_range(const Assignment *a, int d, const Var *whole_axis, Expr *condition) {
    Arena *arena = a->arena;
    const IndexVariable *index = a->statement->indices.items[d];
    Expr *lower = a->whole.lower ? a->whole.lower[d] : expr_int(arena, 0), *axis = expr_var(arena, whole_axis);
    Expr *first = size_normal(arena, expr_binary(arena, OP_SUB, index->low, lower));
    Expr *end = size_normal(arena, expr_binary(arena, OP_ADD, first, index->extent));
    int64_t zero;
    if (!expr_is_int(first, &zero) || zero != 0)
        condition = both(arena, condition, expr_binary(arena, OP_GE, axis, first));
    if (!size_equal(arena, end, a->whole.dims[d]))
        condition = both(arena, condition, expr_binary(arena, OP_LT, axis, end));
    return condition;
}

/* Whether the axes of the whole tensor are inside the ranges of the statement; NULL if they always are. */
static Expr *inside(const Assignment *a, const Var **axes) {
    Expr *condition = NULL;
    for (int d = 0; d < a->rank; d++)
        condition = inside_range(a, d, axes[d], condition);
    return condition;
}

/* All stages of a scan run over all steps, so the stage of a part does too. A predicate limits its computing and
 * reading to its own steps. */
static void widen_steps(Assignment *a) {
    const Carried *carried = find_carried(a->statement->frame, a->variable);
    if (!carried)
        return;
    View view = {.rank = a->rank,
                 .dims = ARENA_ARRAY(a->arena, Expr *, a->rank),
                 .lower = ARENA_ARRAY(a->arena, Expr *, a->rank)};
    for (int d = 0; d < a->rank; d++) {
        const IndexVariable *index = a->statement->indices.items[d];
        bool step = d == carried->step;
        Expr *lower = a->whole.lower ? a->whole.lower[d] : expr_int(a->arena, 0);
        view.dims[d] = step ? a->whole.dims[d] : index->extent;
        view.lower[d] = step ? lower : index->low;
    }
    guard_over(a->statement, &view);
    IndexVariable *steps = a->statement->indices.items[carried->step];
    Var *axis = var_new(a->arena, VAR_AXIS, TYPE_INT64, steps->name, view.dims[carried->step]);
    Expr *own = inside_range(a, carried->step, axis, NULL);
    axis->loc = steps->loc;
    steps->low = view.lower[carried->step];
    steps->extent = axis->extent;
    steps->axis = axis;
    if (own)
        list_insert(a->statement->builder->arena, &a->statement->predicates, 0, own); /* the others hold under it */
}

/* The part of the tensor that the statement's ranges span. */
static View ranges_view(const Assignment *a) {
    View view = {.rank = a->rank,
                 .dims = ARENA_ARRAY(a->arena, Expr *, a->rank),
                 .lower = ARENA_ARRAY(a->arena, Expr *, a->rank)};
    for (int d = 0; d < a->rank; d++) {
        view.dims[d] = a->statement->indices.items[d]->extent;
        view.lower[d] = a->statement->indices.items[d]->low;
    }
    return view;
}

/* The extents of the part: a tensor by itself. */
static View part_view(const Assignment *a) {
    View view = ranges_view(a);
    view.lower = NULL;
    return view;
}

/* Reads the part at the axes of the whole tensor; 0 outside the part. */
static Expr *read_part(const Assignment *a, const Tensor *part, const Var **axes) {
    Expr **indices = ARENA_ARRAY(a->arena, Expr *, a->rank);
    for (int d = 0; d < a->rank; d++) {
        const IndexVariable *index = a->statement->indices.items[d];
        Expr *lower = a->whole.lower ? a->whole.lower[d] : expr_int(a->arena, 0);
        Expr *offset = expr_binary(a->arena, OP_SUB, index->low, lower);
        indices[d] = size_normal(a->arena, expr_binary(a->arena, OP_SUB, expr_var(a->arena, axes[d]), offset));
    }
    return expr_read(a->arena, part, indices, expr_constant(a->arena, a->type, 0));
}

/* Reduces the part by itself and reads it at the axes of the whole tensor. */
static Expr *reduced_part(Assignment *a, const Var **axes) {
    widen_steps(a);
    View view = part_view(a);
    Tensor *part = make_tensor(a, &view);
    add_part(a, part, "part");
    Stage *stage = make_stage(a, part, own_axes(a), term(a));
    stage->combine = a->statement->ast->combine;
    stage->components[0].initial = identity(a);
    add_reductions(a, stage);
    return read_part(a, part, axes);
}

/* The value at the axes of the whole tensor, where its reads may be outside. */
static Expr *value_over_whole(Assignment *a, const Var **axes, Expr *former) {
    guard_over(a->statement, &a->whole);
    for (int d = 0; d < a->rank; d++) {
        IndexVariable *index = a->statement->indices.items[d];
        index->axis = (Var *)axes[d];
        index->low = a->whole.lower ? a->whole.lower[d] : expr_int(a->arena, 0);
    }
    return changed_value(a, former);
}

static bool define_partial(Assignment *a, Tensor *tensor) {
    const Tensor *former = former_version(a);
    if (!former)
        return false;
    const Var **axes = whole_axes(a);
    Expr *condition = inside(a, axes), *elsewhere = read_at(a, former, axes);
    Expr *value = a->reductions ? reduced_part(a, axes) : value_over_whole(a, axes, elsewhere);
    if (a->reductions && accumulates(a))
        value = combined(a, elsewhere, value);
    make_stage(a, tensor, axes, condition ? expr_select(a->arena, condition, value, elsewhere) : value);
    return true;
}

/* --- the whole --- */

/* A first definition without declared sizes decides the extents of the tensor. Made-up sizes never make a part of
 * it. */
static void decide_span(Assignment *a, const View *target) {
    a->full = true;
    if (!target) {
        a->whole = (View){.rank = a->rank,
                          .dims = ARENA_ARRAY(a->arena, Expr *, a->rank),
                          .lower = ARENA_ARRAY(a->arena, Expr *, a->rank)};
        for (int d = 0; d < a->rank; d++) {
            a->whole.dims[d] = a->statement->indices.items[d]->extent;
            a->whole.lower[d] = a->statement->indices.items[d]->low;
        }
        return;
    }
    a->whole = *target;
    for (int d = 0; d < a->rank; d++) {
        const IndexVariable *index = a->statement->indices.items[d];
        Expr *lower = target->lower ? target->lower[d] : expr_int(a->arena, 0);
        a->full &= a->builder->names_only ||
                   (size_equal(a->arena, index->low, lower) && size_equal(a->arena, index->extent, target->dims[d]));
    }
}

static Assignment begin_assignment(Statement *s, Variable *variable, const View *target) {
    Assignment a = {.statement = s, .builder = s->builder, .arena = s->builder->arena, .variable = variable};
    a.loc = s->ast->loc;
    a.rank = s->ast->targets.items[0].indices.count;
    a.reductions = s->indices.count - a.rank;
    decide_span(&a, target);
    if (!variable->view.tensor)
        a.whole.fixed = fixed_by_reads(s);
    return a;
}

/* What the statement defines of a result without its former value. */
typedef struct Covered {
    bool any;
    View part;
    const Var **axes;
    Expr *condition; /* NULL: all of the part */
} Covered;

/* As long as the statement has its own ranges. */
static Covered covered_by(const Assignment *a) {
    if (!a->variable->result || accumulates(a))
        return (Covered){.any = false};
    Expr *condition = initialises(a) ? NULL : resolve_conditions(a->statement);
    return (Covered){true, ranges_view(a), own_axes(a), condition};
}

static void note_covered(Builder *builder, const Variable *variable, const Covered *covered) {
    if (variable->cover && covered->any)
        cover_add(builder, variable->cover, &covered->part, covered->axes, covered->condition);
}

void define_stages(Statement *s, Variable *variable, Typed value, const View *target) {
    drop_certain_predicates(s);
    Assignment a = begin_assignment(s, variable, target);
    if (!decide_type(&a, value)) {
        s->failed = true;
        return;
    }
    Tensor *tensor = make_version(&a);
    Covered covered = covered_by(&a);
    if (!(a.full ? define_full(&a, tensor) : define_partial(&a, tensor)))
        return;
    variable_define(s->builder, variable, tensor, a.whole);
    note_covered(s->builder, variable, &covered);
}

/* --- tuples: each component is an Assignment; all have the same ranges -------------------------------------------- */

typedef struct Tuple {
    Assignment *components;
    int count;
    Arena *arena;
    const Combiner *combiner;
} Tuple;

/* Decides the type, which the combiner gives. A declared or former type must be the same. */
static bool decide_component(const Tuple *tuple, int component, Typed typed) {
    Assignment *a = &tuple->components[component];
    CallFrame *frame = a->statement->frame;
    const Variable *variable = a->variable;
    const AstStatement *ast = a->statement->ast;
    a->type = tuple->combiner->left[component]->type;
    bool declared = variable->result && variable->result->has_type;
    ElementType known = declared                ? variable->result->type
                        : variable->view.tensor ? variable->view.tensor->type
                                                : a->type;
    if (known != a->type) {
        ERROR(frame, combiner_target_type, ast->targets.items[component].loc, variable->name,
              element_info[known].spelling, tuple->combiner->name, element_info[a->type].spelling);
        return false;
    }
    Expr *value = typed_value(a->arena, typed);
    if (!is_literal(value, a->type) && type_promote(a->type, value->type) != a->type) {
        ERROR(frame, combiner_value_type, ast->values.items[component]->loc, element_info[value->type].spelling,
              tuple->combiner->name, element_info[a->type].spelling);
        HINT(frame, "convert the value: %s(...)", element_info[a->type].spelling);
        return false;
    }
    a->value = typed_as(a->arena, typed, a->type);
    warn_lost(a->statement, a->value, a->type, true);
    return true;
}

static bool find_formers(const Tuple *tuple, const Tensor **formers) {
    bool good = true;
    for (int i = 0; i < tuple->count; i++) {
        formers[i] = former_version(&tuple->components[i]);
        good &= formers[i] != NULL;
    }
    return good;
}

static Expr **read_all(const Tuple *tuple, const Tensor *const *tensors, const Var **axes) {
    Expr **reads = ARENA_ARRAY(tuple->arena, Expr *, tuple->count);
    for (int i = 0; i < tuple->count; i++)
        reads[i] = read_at(&tuple->components[i], tensors[i], axes);
    return reads;
}

/* Reduces all components in one stage that writes all tensors. formers: NULL begins with the identity. */
static void reduce_tuple(const Tuple *tuple, Tensor *const *tensors, const Tensor *const *formers) {
    Assignment *a = tuple->components;
    const Var **axes = own_axes(a);
    Expr **initials = formers ? read_all(tuple, formers, axes) : tuple->combiner->identity;
    Stage *stage = make_stage(a, tensors[0], axes, NULL);
    stage->combine = COMBINE_DECLARED;
    stage->combiner = tuple->combiner;
    stage->component_count = tuple->count;
    stage->components = ARENA_ARRAY(tuple->arena, Component, tuple->count);
    for (int i = 0; i < tuple->count; i++)
        stage->components[i] = (Component){tensors[i], initials[i], term(&tuple->components[i])};
    add_reductions(a, stage);
}

/* Defines each tensor by a stage of its own: its value, combined with the former ones if formers is not NULL. */
static void define_each(const Tuple *tuple, Tensor *const *tensors, const Tensor *const *formers) {
    const Var **axes = own_axes(tuple->components);
    Expr **values = ARENA_ARRAY(tuple->arena, Expr *, tuple->count);
    for (int i = 0; i < tuple->count; i++)
        values[i] = term(&tuple->components[i]);
    for (int i = 0; i < tuple->count; i++) {
        Expr *value = values[i], **before = formers ? read_all(tuple, formers, axes) : NULL;
        if (formers)
            value = where_it_holds(&tuple->components[i],
                                   combiner_apply(tuple->arena, tuple->combiner, i, before, values), before[i]);
        make_stage(&tuple->components[i], tensors[i], axes, value);
    }
}

static void define_whole_tuple(const Tuple *tuple, Tensor *const *tensors) {
    bool adds = accumulates(tuple->components);
    const Tensor **formers = adds ? ARENA_ARRAY(tuple->arena, const Tensor *, tuple->count) : NULL;
    if (adds && !find_formers(tuple, formers))
        return;
    if (tuple->components[0].reductions)
        reduce_tuple(tuple, tensors, formers);
    else
        define_each(tuple, tensors, formers);
}

/* Defines the part by itself, then each whole tensor: from the part where that is, else the former version. */
static void define_partial_tuple(const Tuple *tuple, Tensor *const *tensors) {
    Assignment *first = tuple->components;
    const Tensor **formers = ARENA_ARRAY(tuple->arena, const Tensor *, tuple->count);
    Tensor **parts = ARENA_ARRAY(tuple->arena, Tensor *, tuple->count);
    if (!find_formers(tuple, formers))
        return;
    const Var ***axes = ARENA_ARRAY(tuple->arena, const Var **, tuple->count);
    Expr **conditions = ARENA_ARRAY(tuple->arena, Expr *, tuple->count);
    for (int i = 0; i < tuple->count; i++) {
        axes[i] = whole_axes(&tuple->components[i]);
        conditions[i] = inside(&tuple->components[i], axes[i]);
    }
    widen_steps(first);
    View view = part_view(first);
    for (int i = 0; i < tuple->count; i++) {
        parts[i] = make_tensor(&tuple->components[i], &view);
        add_part(&tuple->components[i], parts[i], "part");
    }
    if (first->reductions)
        reduce_tuple(tuple, parts, NULL);
    else
        define_each(tuple, parts, NULL);
    for (int i = 0; i < tuple->count; i++) {
        Assignment *a = &tuple->components[i];
        Expr **elsewhere = read_all(tuple, formers, axes[i]), **inner = ARENA_ARRAY(tuple->arena, Expr *, tuple->count);
        for (int c = 0; c < tuple->count; c++)
            inner[c] = read_part(&tuple->components[c], parts[c], axes[i]);
        Expr *condition = conditions[i], *value = inner[i];
        if (accumulates(a))
            value = combiner_apply(tuple->arena, tuple->combiner, i, elsewhere, inner);
        make_stage(a, tensors[i], axes[i],
                   condition ? expr_select(tuple->arena, condition, value, elsewhere[i]) : value);
    }
}

void define_tuple(Statement *s, const Combiner *combiner, Variable *const *variables, const Typed *values,
                  const View *target) {
    Arena *arena = s->builder->arena;
    Tuple tuple = {ARENA_ARRAY(arena, Assignment, combiner->count), combiner->count, arena, combiner};
    Tensor **tensors = ARENA_ARRAY(arena, Tensor *, combiner->count);
    for (int i = 0; i < tuple.count; i++) {
        Assignment *a = &tuple.components[i];
        *a = begin_assignment(s, variables[i], target);
        a->combiner = combiner;
        a->component = i;
        s->failed |= !decide_component(&tuple, i, values[i]);
    }
    for (int i = 0; i < tuple.count && !s->failed; i++)
        tensors[i] = make_version(&tuple.components[i]);
    if (s->failed)
        return;
    Covered covered = covered_by(tuple.components);
    (tuple.components[0].full ? define_whole_tuple : define_partial_tuple)(&tuple, tensors);
    for (int i = 0; i < tuple.count && !s->failed; i++)
        variable_define(s->builder, variables[i], tensors[i], tuple.components[i].whole);
    for (int i = 0; i < tuple.count; i++)
        note_covered(s->builder, variables[i], &covered);
}
