/* temporaries.c - makes an alternative of a unit's program in which what would be computed again has a stage of its
 * own: the algorithm `temporaries`.
 *
 * Two kinds of expressions are found. A factor of a product that does not depend on some axis of the product is
 * computed again for each value of that axis (weights / sum in attention); and a function may be computed by several
 * stages (the exponentials of a softmax). Each becomes a stage that computes it once for each element, as if the source
 * had given it a name. Values stay what they were. Only an expression that is always evaluated is taken, so all its
 * reads are known to be inside; and only one that reads some tensor by all its indices alone, so that the new tensor is
 * not larger than that one. Programs with recurrences are left as they are.
 */
#include "lang/random.h"
#include "sema/check.h"

#include <string.h>

enum { FEW = 8 }; /* values of an axis for which an expression is computed again at little cost */

typedef LIST(const Var *) Vars;

/* A stage that computes what may be read in its place, over its own axes. */
typedef struct Temporary {
    const Tensor *tensor;
    Vars axes;
    Expr *value;
    uint64_t form; /* of the value (form_of) */
} Temporary;

/* A function of the elements of a stage. */
typedef struct Occurrence {
    const Stage *stage;
    Expr *value;
    uint64_t form; /* of the value (form_of) */
    Vars vars;
} Occurrence;

typedef struct TemporaryMaking {
    Arena *arena;
    const Program *program;
    LIST(const Tensor *) tensors;
    LIST(const Stage *) stages;
    LIST(Temporary) made;
    LIST(Occurrence) occurrences;
    bool changed;
    bool (*chooses)(const struct TemporaryMaking *making, const Stage *stage, Expr *e, const Vars *vars);
} TemporaryMaking;

/* --- what an expression is made of --- */

static bool holds(const Vars *vars, const Var *var) {
    for (int i = 0; i < vars->count; i++)
        if (vars->items[i] == var)
            return true;
    return false;
}

static void add_axis(Arena *arena, Vars *vars, const Expr *e) {
    if (e->kind == EXPR_VAR && e->var->kind == VAR_AXIS && !holds(vars, e->var))
        list_push(arena, vars, e->var);
}

/* The axes that index a read alone, in its order. */
static Vars own_indices(Arena *arena, const Expr *read) {
    Vars vars = {0};
    for (int d = 0; d < read->count; d++)
        add_axis(arena, &vars, read->args[d]);
    return vars;
}

/* Whether the read is of what a call of the function begins with, or at an index that is read from memory. */
static bool is_special(const Expr *read) {
    return read->tensor->role == ROLE_INITIAL || read_gathers(read);
}

/* The axes of an expression, in the order of a read that has all of them. False: it is no stage of its own. */
static bool find_vars(Arena *arena, const Expr *e, Vars *vars) {
    Vars all = {0};
    vars->count = 0;
    EACH_EXPR(at, e)
        add_axis(arena, &all, at);
    EACH_READ(read, e) {
        Vars own = own_indices(arena, read);
        if (is_special(read))
            return false;
        if (own.count == all.count && vars->count == 0 && !read->otherwise)
            *vars = own;
    }
    return all.count > 0 && vars->count == all.count;
}

/* Whether it is more than a value that was read, perhaps converted. */
static bool has_operation(const Expr *e) {
    EACH_EXPR(at, e) {
        if (at->kind == EXPR_OP && (type_is_float(at->type) || (type_is_integer(at->type) && expr_reads(at))))
            return true;
        if (at->kind == EXPR_READ)
            SKIP_BELOW(at);
    }
    return false;
}

static bool has_function(const Expr *e) {
    EACH_EXPR(at, e)
        if (at->kind == EXPR_OP && type_is_float(at->type) && op_is_expensive(at))
            return true;
    return false;
}

/* Arguments of a node that are evaluated whenever it is. */
static int certain_arguments(const Expr *e) {
    return e->kind == EXPR_READ ? 0 : expr_chooses(e) ? 1 : e->count;
}

static bool suits(const Stage *stage) {
    return stage->component_count == 1 && stage->combine != COMBINE_DECLARED &&
           stage_first_scatter(stage) == stage->axis_count;
}

/* --- equal expressions --- */

static Expr *renamed(Arena *arena, Expr *e, const Vars *from, const Vars *to) {
    Substitution *list = ARENA_ARRAY(arena, Substitution, from->count);
    for (int i = 0; i < from->count; i++)
        list[i] = (Substitution){from->items[i], expr_var(arena, to->items[i])};
    return expr_substitute(arena, e, list, from->count);
}

/* Of what it is but for its variables and numbers: the same for values that are equal with other variables. */
static uint64_t form_of(const Expr *e) {
    uint64_t form = hash_mix((uint64_t)e->kind * 64 + (uint64_t)e->type + ((uint64_t)e->count << 16));
    if (e->kind == EXPR_OP)
        form = hash_mix(form + (uint64_t)e->op);
    if (e->kind == EXPR_READ)
        form = hash_mix(form + (uint64_t)(uintptr_t)e->tensor);
    for (int i = 0; i < e->count; i++)
        form = hash_mix(form + form_of(e->args[i]));
    return form;
}

/* Whether the values, which have the same form, are equal if the axes are. */
static bool is_same(Arena *arena, Expr *a, const Vars *a_vars, Expr *b, const Vars *b_vars) {
    bool same = a_vars->count == b_vars->count;
    for (int i = 0; i < a_vars->count && same; i++)
        same = expr_equal(a_vars->items[i]->extent, b_vars->items[i]->extent);
    return same && expr_equal(renamed(arena, a, a_vars, b_vars), b);
}

/* --- what is chosen --- */

/* Whether an axis that the expression does not depend on may have no values: then the stage reads nothing. */
static bool may_be_empty(const Vars *vars, const Var *const *axes, int count) {
    bool may = false;
    for (int a = 0; a < count; a++) {
        int64_t extent;
        may |= !holds(vars, axes[a]) && !(expr_is_int(axes[a]->extent, &extent) && extent > 0);
    }
    return may;
}

/* Whether all that it reads is inside for all values of its axes, whatever the stage requires for its own. */
static bool reads_inside(Arena *arena, const Expr *e) {
    bool inside = true;
    EACH_READ(read, e)
        for (int d = 0; d < read->count && !read->otherwise && inside; d++) {
            Expr *low = expr_binary(arena, OP_GE, read->args[d], expr_int(arena, 0));
            Expr *high = expr_binary(arena, OP_LT, read->args[d], read->tensor->dims[d]);
            inside = expr_prove(arena, low, NULL) == 1 && expr_prove(arena, high, NULL) == 1;
        }
    return inside;
}

/* A factor of a reduction: computed for each term, and again for each value of an axis. */
static bool is_again_in_product(const TemporaryMaking *making, const Stage *stage, Expr *e, const Vars *vars) {
    bool reduced = false, again = false;
    for (int r = 0; r < stage->reduction_count; r++)
        reduced |= holds(vars, stage->reductions[r]);
    for (int a = 0; a < stage->axis_count; a++) {
        int64_t extent;
        again |= !holds(vars, stage->axes[a]) && !(expr_is_int(stage->axes[a]->extent, &extent) && extent < FEW);
    }
    bool empty = may_be_empty(vars, stage->axes, stage->axis_count) ||
                 may_be_empty(vars, stage->reductions, stage->reduction_count);
    return reduced && again && has_operation(e) && (!empty || reads_inside(making->arena, e));
}

/* A function that another stage computes too, as often as its value. */
static bool is_of_all_indices(const Stage *stage, const Expr *e, const Vars *vars) {
    return vars->count == stage->axis_count + stage->reduction_count && has_function(e);
}

static bool is_again_in_stage(const TemporaryMaking *making, const Stage *stage, Expr *e, const Vars *vars) {
    if (!is_of_all_indices(stage, e, vars))
        return false;
    uint64_t form = form_of(e);
    for (int o = 0; o < making->occurrences.count; o++) {
        const Occurrence *other = &making->occurrences.items[o];
        if (other->form == form && other->stage != stage &&
            is_same(making->arena, e, vars, other->value, &other->vars))
            return true;
    }
    return false;
}

static void list_functions(TemporaryMaking *making, const Stage *stage, Expr *e) {
    Vars vars;
    if (find_vars(making->arena, e, &vars) && is_of_all_indices(stage, e, &vars))
        list_push(making->arena, &making->occurrences, ((Occurrence){stage, e, form_of(e), vars}));
    for (int i = 0; i < certain_arguments(e); i++)
        list_functions(making, stage, e->args[i]);
}

/* --- making --- */

static const char *new_name(const TemporaryMaking *making, const Stage *stage) {
    const char *name = arena_printf(making->arena, "%s.term", stage->name);
    for (int t = 0, number = 2; t < making->tensors.count; t++)
        if (strcmp(making->tensors.items[t]->name, name) == 0) {
            name = arena_printf(making->arena, "%s.term_%d", stage->name, number++);
            t = -1;
        }
    return name;
}

static Tensor *new_temporary(const TemporaryMaking *making, const Stage *stage, ElementType type, const Vars *axes) {
    Tensor *tensor = ARENA_NEW(making->arena, Tensor);
    *tensor = (Tensor){.name = new_name(making, stage), .type = type, .role = ROLE_TEMPORARY, .loc = stage->loc};
    tensor->rank = axes->count;
    tensor->dims = ARENA_ARRAY(making->arena, Expr *, axes->count);
    tensor->dim_names = ARENA_ARRAY(making->arena, const char *, axes->count);
    for (int d = 0; d < axes->count; d++) {
        tensor->dims[d] = axes->items[d]->extent;
        tensor->dim_names[d] = axes->items[d]->name;
    }
    return tensor;
}

/* Puts a stage before the one that is being made again. */
static Temporary *make_temporary(TemporaryMaking *making, const Stage *stage, Expr *e, const Vars *vars) {
    Arena *arena = making->arena;
    Temporary temporary = {0};
    for (int i = 0; i < vars->count; i++)
        list_push(arena, &temporary.axes,
                  var_new(arena, VAR_AXIS, TYPE_INT64, vars->items[i]->name, vars->items[i]->extent));
    temporary.value = renamed(arena, e, vars, &temporary.axes);
    temporary.form = form_of(e);
    temporary.tensor = new_temporary(making, stage, e->type, &temporary.axes);
    Stage *own = stage_new(arena, (Component){.tensor = temporary.tensor, .value = temporary.value});
    own->axes = temporary.axes.items;
    list_push(arena, &making->tensors, temporary.tensor);
    list_push(arena, &making->stages, own);
    list_push(arena, &making->made, temporary);
    return &making->made.items[making->made.count - 1];
}

/* The temporary that has the value; NULL: there is none. */
static const Temporary *find_made(const TemporaryMaking *making, Expr *e, const Vars *vars) {
    uint64_t form = form_of(e);
    for (int i = 0; i < making->made.count; i++) {
        const Temporary *made = &making->made.items[i];
        if (made->form == form && is_same(making->arena, e, vars, made->value, &made->axes))
            return made;
    }
    return NULL;
}

static Expr *read_temporary(TemporaryMaking *making, const Stage *stage, Expr *e, const Vars *vars) {
    const Temporary *found = find_made(making, e, vars);
    found = found ? found : make_temporary(making, stage, e, vars);
    making->changed = true;
    Expr **indices = ARENA_ARRAY(making->arena, Expr *, vars->count);
    for (int i = 0; i < vars->count; i++)
        indices[i] = expr_var(making->arena, vars->items[i]);
    return expr_read(making->arena, found->tensor, indices, NULL);
}

static Expr *with_temporaries(TemporaryMaking *making, const Stage *stage, Expr *e) {
    Vars vars;
    if (find_vars(making->arena, e, &vars) && making->chooses(making, stage, e, &vars))
        return read_temporary(making, stage, e, &vars);
    Expr *copy = certain_arguments(e) ? expr_copy(making->arena, e) : e;
    for (int i = 0; i < certain_arguments(e); i++)
        copy->args[i] = with_temporaries(making, stage, e->args[i]);
    return copy;
}

/* Makes a stage again. A stage that computes the expression and nothing else is what others read. */
static const Stage *make_again(TemporaryMaking *making, const Stage *stage) {
    Expr *value = stage->components[0].value;
    Vars vars, axes = {.items = stage->axes, .count = stage->axis_count};
    bool whole = stage->combine == COMBINE_NONE && find_vars(making->arena, value, &vars) &&
                 vars.count == axes.count && making->chooses(making, stage, value, &vars);
    for (int i = 0; i < axes.count && whole; i++)
        whole = vars.items[i] == axes.items[i];
    if (whole && !find_made(making, value, &vars)) {
        list_push(making->arena, &making->made,
                  ((Temporary){stage->components[0].tensor, axes, value, form_of(value)}));
        return stage;
    }
    Stage *again = stage_copy(making->arena, stage);
    again->components[0].value = with_temporaries(making, stage, value);
    return again;
}

/* --- the program --- */

/* Where each stage of the former program is. */
static int *make_stages(TemporaryMaking *making, const Stage *const *stages, int count) {
    int *places = ARENA_ARRAY(making->arena, int, count);
    making->stages.items = NULL;
    making->stages.count = making->stages.capacity = making->made.count = 0;
    for (int s = 0; s < count; s++) {
        const Stage *again = suits(stages[s]) ? make_again(making, stages[s]) : stages[s];
        places[s] = making->stages.count;
        list_push(making->arena, &making->stages, again);
    }
    return places;
}

static void use_stages(TemporaryMaking *making, Program *program, const int *places) {
    program->stages = making->stages.items;
    program->stage_count = making->stages.count;
    program->tensors = making->tensors.items;
    program->tensor_count = making->tensors.count;
    move_requirements(making->arena, program, places);
    program_list_stages(making->arena, program);
}

/* NULL: nothing is computed again. */
static Program *program_with_temporaries(Arena *arena, const Program *from) {
    TemporaryMaking making = {.arena = arena, .program = from, .chooses = is_again_in_product};
    Program *program = ARENA_NEW(arena, Program);
    *program = *from;
    for (int t = 0; t < from->tensor_count; t++)
        list_push(arena, &making.tensors, from->tensors[t]);
    use_stages(&making, program, make_stages(&making, program->stages, program->stage_count));
    for (int s = 0; s < program->stage_count; s++)
        if (suits(program->stages[s]))
            list_functions(&making, program->stages[s], program->stages[s]->components[0].value);
    making.chooses = is_again_in_stage;
    use_stages(&making, program, make_stages(&making, program->stages, program->stage_count));
    return making.changed ? program : NULL;
}

void add_temporaries(Arena *arena, Unit *unit) {
    Program *program = unit->program->scan_count ? NULL : program_with_temporaries(arena, unit->program);
    if (program)
        add_automatic(arena, unit, program, "temporaries");
}
