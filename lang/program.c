/* program.c - questions about Programs, their text, and the values of size expressions. */
#include "lang/program.h"
#include "lang/map.h"
#include "lang/sum.h"
#include "lang/value.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- components ----------------------------------------------------------------------------------------------------
 */

static Component *components_new(Arena *arena, const Component *components, int count) {
    Component *made = ARENA_ARRAY(arena, Component, count);
    memcpy(made, components, sizeof *made * (size_t)count);
    return made;
}

Stage *stage_new(Arena *arena, Component component) {
    const Tensor *tensor = component.tensor;
    Stage *stage = ARENA_NEW(arena, Stage);
    *stage = (Stage){.component_count = 1, .components = components_new(arena, &component, 1)};
    if (tensor) {
        stage->name = tensor->name;
        stage->axis_count = tensor->rank;
        stage->loc = tensor->loc;
    }
    return stage;
}

int stage_component_of(const Stage *stage, const Tensor *tensor) {
    for (int c = 0; c < stage->component_count; c++)
        if (stage->components[c].tensor == tensor)
            return c;
    return -1;
}

bool stage_writes(const Stage *stage, const Tensor *tensor) {
    return stage_component_of(stage, tensor) >= 0;
}

bool stage_has_identity(const Stage *stage, int component, const Expr *e) {
    return stage->combine == COMBINE_DECLARED ? expr_equal(e, stage->combiner->identity[component])
                                              : is_identity(stage->combine, e);
}

const Expr *stage_take_condition(const Stage *stage, int component, const Expr **value) {
    const Expr *choice = *value;
    if (!expr_is_op(choice, OP_SELECT) || !stage_has_identity(stage, component, choice->args[2]))
        return NULL;
    *value = choice->args[1];
    return choice->args[0];
}

const Expr *stage_take_shared_condition(const Stage *stage, const Expr **values) {
    const Expr *shared = NULL;
    for (int c = 0; c < stage->component_count; c++) {
        const Expr *value = values[c], *own = stage_take_condition(stage, c, &value);
        shared = shared ? shared : own;
        if (own ? !expr_equal(own, shared) : !stage_has_identity(stage, c, value))
            return NULL;
    }
    for (int c = 0; c < stage->component_count; c++)
        stage_take_condition(stage, c, &values[c]);
    return shared;
}

const Tensor *stage_output(const Stage *stage) {
    for (int c = 0; c < stage->component_count; c++)
        if (stage->components[c].tensor->role == ROLE_OUTPUT)
            return stage->components[c].tensor;
    return NULL;
}

TreeWalk *stage_walk(TreeWalk *walk, const Stage *stage, bool values, bool initials) {
    walk_begin(walk, NULL);
    for (int c = stage->component_count - 1; initials && c >= 0; c--)
        walk_push(walk, stage->components[c].initial);
    for (int c = stage->component_count - 1; values && c >= 0; c--)
        walk_push(walk, stage->components[c].value);
    return walk;
}

bool stage_uses_tensor(const Stage *stage, const Tensor *tensor) {
    EACH_STAGE_READ(read, stage)
        if (read->tensor == tensor)
            return true;
    return false;
}

bool stage_index_is_axis(const Stage *stage, const Expr *index, int axis) {
    int64_t value;
    if (axis < 0 || axis >= stage->axis_count)
        return false;
    return index->kind == EXPR_VAR ? index->var == stage->axes[axis]
                                   : expr_is_int(index, &value) && value == 0 && var_is_fixed(stage->axes[axis]);
}

Stage *stage_copy(Arena *arena, const Stage *stage) {
    Stage *copy = ARENA_NEW(arena, Stage);
    *copy = *stage;
    copy->components = components_new(arena, stage->components, stage->component_count);
    return copy;
}

Stage *stage_rewrite_exprs(Arena *arena, const Stage *stage, Expr *(*replace)(Arena *arena, Expr *e, void *context),
                           void *context) {
    Stage *copy = stage_copy(arena, stage);
    for (int c = 0; c < copy->component_count; c++) {
        Component *component = &copy->components[c];
        component->value = expr_rewrite(arena, component->value, replace, context);
        if (component->initial)
            component->initial = expr_rewrite(arena, component->initial, replace, context);
    }
    return copy;
}

static bool has_floats(const Stage *stage) {
    bool floats = false;
    for (int c = 0; c < stage->component_count; c++)
        floats |= type_is_float(stage->components[c].tensor->type);
    return floats;
}

bool stage_is_ordered(const Program *program, const Stage *stage) {
    bool rounds = program->strict && has_floats(stage);
    if (stage->combine == COMBINE_DECLARED)
        return rounds || !stage->combiner->associative || !stage->combiner->commutative;
    return rounds && (stage->combine == COMBINE_ADD || stage->combine == COMBINE_MUL);
}

/* The results of a combiner with values in place of its names. */
Expr *combiner_apply(Arena *arena, const Combiner *combiner, int component, Expr *const *left, Expr *const *right) {
    Substitution *list = ARENA_ARRAY(arena, Substitution, 2 * combiner->count);
    for (int i = 0; i < combiner->count; i++) {
        list[2 * i] = (Substitution){combiner->left[i], left[i]};
        list[2 * i + 1] = (Substitution){combiner->right[i], right[i]};
    }
    return expr_substitute(arena, combiner->result[component], list, 2 * combiner->count);
}

/* --- stages ------------------------------------------------------------------------------------------------------- */

/* The value that a conjunction gives a variable by an equation with it alone on one side, or NULL. */
static const Expr *value_in(const Expr *condition, const Var *var) {
    if (condition->kind != EXPR_OP)
        return NULL;
    if (condition->op == OP_AND) {
        const Expr *value = value_in(condition->args[0], var);
        return value ? value : value_in(condition->args[1], var);
    }
    for (int side = 0; condition->op == OP_EQ && side < 2; side++) {
        const Expr *here = condition->args[side], *value = condition->args[1 - side];
        if (here->kind == EXPR_VAR && here->var == var && !expr_uses_var(value, var))
            return value;
    }
    return NULL;
}

static bool is_stage_identity(const Stage *stage, const Expr *e) {
    return stage->combine == COMBINE_DECLARED ? expr_equal(e, stage->combiner->identity[0])
                                              : is_identity(stage->combine, e);
}

const Expr *stage_axis_value(const Stage *stage, int axis) {
    const Expr *value = stage->components[0].value;
    bool choice = stage->combine != COMBINE_NONE && expr_is_op(value, OP_SELECT);
    return choice && is_stage_identity(stage, value->args[2]) ? value_in(value->args[0], stage->axes[axis]) : NULL;
}

bool stage_scatters(const Stage *stage, int axis) {
    const Expr *value = stage->reduction_count ? stage_axis_value(stage, axis) : NULL;
    for (int r = 0; value && r < stage->reduction_count; r++)
        if (expr_uses_var(value, stage->reductions[r]))
            return true;
    return false;
}

int stage_first_scatter(const Stage *stage) {
    int axis = 0;
    while (axis < stage->axis_count && !stage_scatters(stage, axis))
        axis++;
    return axis;
}

bool stage_place_uses(const Stage *stage, const Var *axis) {
    for (int d = 0; d < stage->axis_count; d++)
        if (stage_scatters(stage, d) && expr_uses_var(stage_axis_value(stage, d), axis))
            return true;
    return false;
}

/* Where the stages of a list are, and what the requirements read; places count from 1. */
struct StagePlaces {
    const Stage **stages;
    int count;
    Map by_address; /* of stages, and of the tensors that they write */
    Map by_name;    /* of stages */
    const Requirement *requirements;
    int requirement_count;
    Map required; /* tensors that requirements read -> themselves */
};

/* The first of several stages counts. */
static void list_stage(Arena *arena, struct StagePlaces *places, int index) {
    const Stage *stage = places->stages[index];
    void *place = (void *)((intptr_t)index + 1);
    if (!address_map_get(&places->by_address, stage))
        address_map_set(arena, &places->by_address, stage, place);
    if (stage->name && !name_map_get(&places->by_name, stage->name))
        name_map_set(arena, &places->by_name, stage->name, place);
    for (int c = 0; c < stage->component_count; c++)
        if (!address_map_get(&places->by_address, stage->components[c].tensor))
            address_map_set(arena, &places->by_address, stage->components[c].tensor, place);
}

void program_list_stages(Arena *arena, Program *program) {
    struct StagePlaces *places = ARENA_NEW(arena, struct StagePlaces);
    places->stages = program->stages;
    places->count = program->stage_count;
    for (int s = 0; s < places->count; s++)
        list_stage(arena, places, s);
    places->requirements = program->requirements;
    places->requirement_count = program->requirement_count;
    for (int r = 0; r < places->requirement_count; r++)
        EACH_READ(read, places->requirements[r].condition)
            address_map_set(arena, &places->required, read->tensor, (void *)read->tensor);
    program->places = places;
}

/* NULL: its stages are not listed, or others are. */
static const struct StagePlaces *listed(const Program *program) {
    const struct StagePlaces *places = program->places;
    return places && places->stages == program->stages && places->count == program->stage_count ? places : NULL;
}

const Stage *program_stage_of(const Program *program, const Tensor *tensor) {
    const struct StagePlaces *places = listed(program);
    intptr_t place = places ? (intptr_t)address_map_get(&places->by_address, tensor) : 0;
    if (places)
        return place ? program->stages[place - 1] : NULL;
    for (int i = 0; i < program->stage_count; i++)
        if (stage_writes(program->stages[i], tensor))
            return program->stages[i];
    return NULL;
}

int program_stage_index(const Program *program, const Stage *stage) {
    const struct StagePlaces *places = listed(program);
    if (places)
        return (int)(intptr_t)address_map_get(&places->by_address, stage) - 1;
    for (int i = 0; i < program->stage_count; i++)
        if (program->stages[i] == stage)
            return i;
    return -1;
}

/* Whether name is BASE[number]. */
static bool is_version(const char *name, const char *base, size_t base_length, long *number) {
    if (strncmp(name, base, base_length) != 0 || name[base_length] != '[')
        return false;
    char *end;
    *number = strtol(name + base_length + 1, &end, 10);
    return end[0] == ']' && end[1] == '\0';
}

/* The last version of a tensor has the plain name; as BASE[n] it is found by the number of versions before it. */
static bool is_last_version(const Program *program, const Stage *stage, const char *name) {
    size_t length = strlen(stage->name);
    long wanted, number;
    if (!is_version(name, stage->name, length, &wanted))
        return false;
    long earlier = 0;
    for (int i = 0; i < program->stage_count; i++)
        earlier += is_version(program->stages[i]->name, stage->name, length, &number);
    return wanted == earlier;
}

const Instr *program_find_instr(const Program *program, const char *name) {
    for (int i = 0; i < program->instr_count; i++)
        if (strcmp(program->instrs[i]->name, name) == 0)
            return program->instrs[i];
    return NULL;
}

static const Stage *stage_with_name(const Program *program, const char *name) {
    const struct StagePlaces *places = listed(program);
    intptr_t place = places ? (intptr_t)name_map_get(&places->by_name, name) : 0;
    if (places)
        return place ? program->stages[place - 1] : NULL;
    for (int i = 0; i < program->stage_count; i++)
        if (strcmp(program->stages[i]->name, name) == 0)
            return program->stages[i];
    return NULL;
}

const Stage *program_find_stage(const Program *program, const char *name) {
    const Stage *found = stage_with_name(program, name);
    if (found || !strchr(name, '['))
        return found;
    for (int i = 0; i < program->stage_count; i++)
        if (is_last_version(program, program->stages[i], name))
            return program->stages[i];
    return NULL;
}

/* --- counting ----------------------------------------------------------------------------------------------------- */

/* Arithmetic and functions on values; indices and the conditions of selects are not counted. */
static double count_operations(const Expr *e) {
    if (e->kind == EXPR_READ)
        return e->otherwise ? count_operations(e->otherwise) : 0;
    double operations = 0;
    bool select = expr_is_op(e, OP_SELECT);
    for (int i = select; i < e->count; i++)
        operations += count_operations(e->args[i]);
    if (e->kind != EXPR_OP)
        return operations;
    OpClass class = op_info[e->op].class;
    return operations + (class == CLASS_ARITHMETIC || class == CLASS_MATH) + (e->op == OP_FMA);
}

static bool multiply_extents(const Var *const *vars, int count, double *points) {
    for (int i = 0; i < count; i++) {
        int64_t extent;
        if (!expr_is_int(vars[i]->extent, &extent))
            return false;
        *points *= (double)extent;
    }
    return true;
}

/* What is scattered to is one element for each value of the other axes. */
static bool multiply_axes(const Stage *stage, double *points) {
    bool known = true;
    for (int d = 0; d < stage->axis_count && known; d++)
        known = stage_scatters(stage, d) || multiply_extents(&stage->axes[d], 1, points);
    return known;
}

double stage_flops(const Stage *stage) {
    double points = 1;
    if (!multiply_axes(stage, &points) || !multiply_extents(stage->reductions, stage->reduction_count, &points))
        return -1;
    double operations = stage->combine == COMBINE_DECLARED ? 0 : stage->combine != COMBINE_NONE;
    for (int c = 0; c < stage->component_count; c++) {
        operations += count_operations(stage->components[c].value);
        if (stage->combine == COMBINE_DECLARED)
            operations += count_operations(stage->combiner->result[c]);
    }
    return points * operations;
}

const Program *program_meaning(const Program *program) {
    return program->meaning ? program->meaning : program;
}

double program_error(const Program *program) {
    double error = 0;
    for (int i = 0; i < program->algorithm_count; i++)
        error += program->algorithms[i].error;
    return error;
}

const char *program_algorithms(Arena *arena, const Program *program) {
    Text text = {.arena = arena};
    for (int i = 0; i < program->algorithm_count; i++) {
        const struct Algorithm *algorithm = &program->algorithms[i];
        text_add(&text, "%s%s%s%s", i ? ", " : "", algorithm->place, *algorithm->place ? " by " : "by ",
                 algorithm->name);
        if (algorithm->error > 0)
            text_add(&text, " (error %g)", algorithm->error);
    }
    return text.text;
}

/* A tensor whose contents decide how many terms a reduction has; NULL: none does. */
static const Tensor *term_counts_of(const Stage *stage) {
    const Expr *value = stage->components[0].value, *condition;
    while ((condition = stage_take_condition(stage, 0, &value)))
        EACH_READ(read, condition)
            return read->tensor;
    return NULL;
}

const Tensor *program_term_counts(const Program *program) {
    const Tensor *found = NULL;
    for (int i = 0; i < program->stage_count && !found; i++)
        found = term_counts_of(program->stages[i]);
    return found;
}

double program_flops(const Program *program) {
    double total = 0;
    program = program_meaning(program);
    for (int i = 0; i < program->stage_count; i++) {
        double flops = term_counts_of(program->stages[i]) ? -1 : stage_flops(program->stages[i]);
        if (flops < 0)
            return -1;
        total += flops;
    }
    return total;
}

/* --- text --------------------------------------------------------------------------------------------------------- */

static void print_list(Text *text, Expr *const *items, int count) {
    for (int i = 0; i < count; i++) {
        text_add(text, i ? ", " : "");
        expr_print(text, items[i]);
    }
}

static void print_tensor(Text *text, const Tensor *tensor) {
    static const char *const roles[] = {"input", "output", "temporary", "constant", "initial"};
    text_add(text, "  %s %s%s %s(", roles[tensor->role], tensor->constant ? "const " : "",
             element_info[tensor->type].spelling, tensor->name);
    print_list(text, tensor->dims, tensor->rank);
    text_add(text, ")");
    if (tensor->lower) {
        text_add(text, " from (");
        print_list(text, tensor->lower, tensor->rank);
        text_add(text, ")");
    }
    if (tensor->buffer)
        text_add(text, " of %s", tensor->buffer->name);
    text_add(text, "\n");
}

static void print_ranges(Text *text, const Var *const *vars, int count, const char *before) {
    for (int i = 0; i < count; i++) {
        text_add(text, "%s%s in 0:", i ? ", " : before, vars[i]->name);
        expr_print(text, vars[i]->extent);
    }
}

void stage_print_targets(Text *text, const Stage *stage) {
    for (int c = 0; c < stage->component_count; c++) {
        text_add(text, "%s%s(", c ? ", " : "", stage->components[c].tensor->name);
        for (int i = 0; i < stage->axis_count; i++)
            text_add(text, "%s%s", i ? ", " : "", stage->axes[i]->name);
        text_add(text, ")");
    }
}

void stage_print_assignment(Text *text, const Stage *stage) {
    static const char *const assignments[COMBINE_COUNT] = {"=", "+=", "*=", "min=", "max="};
    if (stage->combine == COMBINE_DECLARED)
        text_add(text, "%s=", stage->combiner->name);
    else
        text_add(text, "%s", assignments[stage->combine]);
}

void stage_print_values(Text *text, const Stage *stage, bool initial) {
    int count = stage->component_count;
    text_add(text, count > 1 ? "(" : "");
    for (int c = 0; c < count; c++) {
        Component component = stage->components[c];
        text_add(text, c ? ", " : "");
        expr_print(text, initial ? component.initial : component.value);
    }
    text_add(text, count > 1 ? ")" : "");
}

static void print_stage(Text *text, const Stage *stage) {
    text_add(text, "  ");
    stage_print_targets(text, stage);
    bool identity = stage->components[0].initial &&
                    (stage->components[0].initial->kind == EXPR_INT || stage->components[0].initial->kind == EXPR_REAL);
    text_add(text, " ");
    stage_print_assignment(text, stage);
    text_add(text, "%s ", identity ? "!" : "");
    stage_print_values(text, stage, false);
    if (stage->components[0].initial && !identity) {
        text_add(text, " from ");
        stage_print_values(text, stage, true);
    }
    print_ranges(text, stage->axes, stage->axis_count, " where ");
    print_ranges(text, stage->reductions, stage->reduction_count, stage->axis_count ? ", " : " where ");
    text_add(text, "\n");
}

static void print_requirement(Text *text, const Requirement *requirement) {
    text_add(text, "  require ");
    expr_print(text, requirement->condition);
    print_ranges(text, requirement->axes, requirement->axis_count, " where ");
    text_add(text, " else status %d", requirement->status);
    if (requirement->after >= 0)
        text_add(text, " after stage %d", requirement->after);
    text_add(text, "\n");
}

/* Where a scan begins. */
static void print_scan(Text *text, const Stage *stage, const Scan *before) {
    if (!stage->scan || stage->scan == before)
        return;
    text_add(text, "  %s: %d stage%s together for each ", stage->scan->name, stage->scan->count,
             stage->scan->count == 1 ? "" : "s");
    print_ranges(text, &stage->scan->axis, 1, "");
    text_add(text, "\n");
}

void program_print(Text *text, const Program *program) {
    text_add(text, "program %s", program->name);
    if (strcmp(program->name, program->symbol) != 0)
        text_add(text, " as %s", program->symbol);
    for (int i = 0; i < program->size_count; i++)
        text_add(text, "%s%s", i ? ", " : " for all ", program->sizes[i]->name);
    for (int i = 0; i < program->bound_count; i++)
        text_add(text, "%s%s=%lld", i ? ", " : " with ", program->bounds[i].name, (long long)program->bounds[i].value);
    text_add(text, "\n");
    for (int i = 0; i < program->argument_count; i++)
        if (program->arguments[i].scalar)
            text_add(text, "  scalar %s %s\n", element_info[program->arguments[i].scalar->type].spelling,
                     program->arguments[i].scalar->name);
    for (int i = 0; i < program->tensor_count; i++)
        print_tensor(text, program->tensors[i]);
    for (int i = 0; i < program->requirement_count; i++)
        print_requirement(text, &program->requirements[i]);
    for (int i = 0; i < program->stage_count; i++) {
        print_scan(text, program->stages[i], i > 0 ? program->stages[i - 1]->scan : NULL);
        print_stage(text, program->stages[i]);
    }
}

/* --- values of size expressions ----------------------------------------------------------------------------------- */

typedef struct SizeValues {
    const SizeValue *values;
    int count;
} SizeValues;

static bool evaluate(const Expr *e, const SizeValues *sizes, Value *result);

static bool evaluate_var(const Var *var, const SizeValues *sizes, Value *result) {
    for (int i = 0; i < sizes->count; i++)
        if (sizes->values[i].var == var) {
            *result = (Value){.type = var->type, .integer = sizes->values[i].value};
            return !type_is_float(var->type);
        }
    return false;
}

/* Operands of && || ?: that do not count are not evaluated, so that one may protect another from a division by 0. */
static bool evaluate_lazily(const Expr *e, const SizeValues *sizes, Value *result) {
    Value first;
    if (!evaluate(e->args[0], sizes, &first))
        return false;
    if (e->op == OP_SELECT)
        return evaluate(e->args[first.integer ? 1 : 2], sizes, result);
    *result = first;
    return (first.integer != 0) == (e->op == OP_OR) || evaluate(e->args[1], sizes, result);
}

static bool evaluate_op(const Expr *e, const SizeValues *sizes, Value *result) {
    if (expr_chooses(e))
        return evaluate_lazily(e, sizes, result);
    if (op_info[e->op].class == CLASS_MATH)
        return false;
    Value args[2] = {{.integer = 0}, {.integer = 0}};
    for (int i = 0; i < e->count; i++)
        if (!evaluate(e->args[i], sizes, &args[i]))
            return false;
    bool divides = e->op == OP_DIV || e->op == OP_MOD;
    if ((divides && args[1].integer == 0) ||
        (e->type == TYPE_INT64 && integer_overflows(e->op, args[0].integer, args[1].integer)))
        return false;
    *result = value_apply(e->op, args);
    return true;
}

static bool evaluate(const Expr *e, const SizeValues *sizes, Value *result) {
    switch (e->kind) {
    case EXPR_INT: *result = (Value){.type = e->type, .integer = e->integer}; return true;
    case EXPR_VAR: return evaluate_var(e->var, sizes, result);
    case EXPR_OP: return !type_is_float(e->type) && evaluate_op(e, sizes, result);
    case EXPR_CAST:
        if (type_is_float(e->type) || !evaluate(e->args[0], sizes, result))
            return false;
        *result = value_cast(*result, e->type);
        return true;
    default: return false;
    }
}

bool expr_evaluate(const Expr *e, const SizeValue *values, int count, int64_t *result) {
    Value value;
    if (!evaluate(e, &(SizeValues){values, count}, &value))
        return false;
    *result = value.integer;
    return true;
}

ElementType argument_element_type(const Argument *argument) {
    return argument->tensor ? argument->tensor->type : argument->scalar->type;
}

bool argument_is_packed(const Argument *argument) {
    return argument->tensor && argument->tensor->role == ROLE_INPUT && argument->tensor->constant;
}

bool program_requires(const Program *program, const Tensor *tensor) {
    const struct StagePlaces *places = program->places;
    if (places && places->requirements == program->requirements &&
        places->requirement_count == program->requirement_count)
        return address_map_get(&places->required, tensor) != NULL;
    for (int i = 0; i < program->requirement_count; i++)
        if (expr_uses_tensor(program->requirements[i].condition, tensor))
            return true;
    return false;
}

bool program_reads_elsewhere(const Program *program, const Tensor *tensor) {
    for (int t = 0; t < program->elsewhere_count; t++)
        if (program->elsewhere[t] == tensor)
            return true;
    return false;
}

bool program_is_given(const Program *program, const Tensor *tensor) {
    for (int i = 0; i < program->argument_count; i++) {
        const Argument *argument = &program->arguments[i];
        if (argument->tensor == tensor)
            return true;
        for (int p = 0; p < argument->part_count; p++)
            if (argument->parts[p].tensor == tensor)
                return true;
    }
    return false;
}

bool program_is_packed(const Program *program) {
    for (int i = 0; i < program->argument_count; i++)
        if (argument_is_packed(&program->arguments[i]))
            return true;
    return false;
}

bool program_reads_former(const Program *program, const Tensor *output) {
    for (int i = 0; i < program->tensor_count; i++)
        if (program->tensors[i]->role == ROLE_INITIAL && program->tensors[i]->buffer == output)
            return true;
    return false;
}
