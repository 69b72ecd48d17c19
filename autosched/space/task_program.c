/* task_program.c - the tasks of a program: the parts that are searched by themselves, each a program of its own.
 *
 * A task has the stages of a group, what is inlined into them, and what is computed at compile time for them alone.
 * What other tasks compute is an input of it, what others read of it is an output. Groups whose statements depend on
 * each other are one task: a pipeline and the groups that compute it apart, and groups in a chain. Names are those of
 * the whole program, so a schedule of the task is one of the whole, but for the names that it gives itself.
 *
 * Of a constant that other tasks read too, a task knows nothing: it is rearranged ahead of time only for one reader.
 * A program with scans or run-time sizes is one task, and one whose parts could not run alone: where what a caller's
 * buffer held is read in another task than the one that writes it, or where an index that is checked is computed in a
 * task that reads by it.
 */
#include "autosched/space/groups.h"

#include <string.h>

typedef struct Cutting {
    Space *space;
    Arena *arena;
    const Program *whole;
    int *task; /* [group]: the first group of its task */
    bool *own; /* [stage]: of the task that is made */
    Program *part;
    LIST(const Tensor *) from; /* tensors of the whole, and */
    LIST(const Tensor *) to;   /* what stands for them in the task */
    LIST(const Var *) scalars;
} Cutting;

/* --- which groups are a task --- */

static void unite(Cutting *cutting, int a, int b) {
    int low = cutting->task[a] < cutting->task[b] ? cutting->task[a] : cutting->task[b];
    int high = cutting->task[a] + cutting->task[b] - low;
    for (int g = 0; g < cutting->space->groups.count; g++)
        if (cutting->task[g] == high)
            cutting->task[g] = low;
}

static bool belong_together(const Space *space, const Group *a, const Group *b) {
    int producer;
    const Chain *chain = chain_of(space, a->root, &producer);
    return (a->fused && b->apart == a->fused) || (chain && chain == chain_of(space, b->root, &producer));
}

static void find_tasks(Cutting *cutting) {
    const Space *space = cutting->space;
    cutting->task = ARENA_ARRAY(cutting->arena, int, space->groups.count + 1);
    for (int g = 0; g < space->groups.count; g++)
        cutting->task[g] = g;
    for (int a = 0; a < space->groups.count; a++)
        for (int b = 0; b < space->groups.count; b++)
            if (a != b && belong_together(space, space->groups.items[a], space->groups.items[b]))
                unite(cutting, a, b);
}

/* --- the stages of a task --- */

/* Whether each task that reads the stage computes it for itself. */
static bool is_copied(const Space *space, int stage) {
    return space->inlined[stage] || space->constant[stage];
}

static void take_stage(Cutting *cutting, int stage) {
    if (cutting->own[stage])
        return;
    cutting->own[stage] = true;
    EACH_STAGE_READ(read, cutting->whole->stages[stage]) {
        const Stage *producer = program_stage_of(cutting->whole, read->tensor);
        int number = producer ? program_stage_index(cutting->whole, producer) : -1;
        if (number >= 0 && is_copied(cutting->space, number))
            take_stage(cutting, number);
    }
}

/* Returns their number. */
static int take_stages(Cutting *cutting, int task) {
    const Space *space = cutting->space;
    int count = 0;
    memset(cutting->own, 0, sizeof *cutting->own * (size_t)cutting->whole->stage_count);
    for (int g = 0; g < space->groups.count; g++)
        for (int s = 0; cutting->task[g] == task && s < space->groups.items[g]->stage_count; s++)
            take_stage(cutting, program_stage_index(cutting->whole, space->groups.items[g]->stages[s]));
    for (int s = 0; s < cutting->whole->stage_count; s++)
        count += cutting->own[s];
    return count;
}

/* Whether a stage outside the task reads the tensor. */
static bool is_read_outside(const Cutting *cutting, const Tensor *tensor) {
    for (int s = 0; s < cutting->whole->stage_count; s++)
        if (!cutting->own[s] && stage_uses_tensor(cutting->whole->stages[s], tensor))
            return true;
    return false;
}

/* Whether another task reads the tensor, perhaps through a stage that it computes for itself, too. */
static bool is_shared(const Cutting *cutting, const Tensor *tensor) {
    for (int s = 0; s < cutting->whole->stage_count; s++) {
        const Stage *stage = cutting->whole->stages[s];
        if (!stage_uses_tensor(stage, tensor))
            continue;
        if (!cutting->own[s] || (is_copied(cutting->space, s) && is_shared(cutting, stage->components[0].tensor)))
            return true;
    }
    return false;
}

/* --- its tensors --- */

static int owner_of(const Cutting *cutting, const Tensor *tensor) {
    const Stage *stage = program_stage_of(cutting->whole, tensor);
    int number = stage ? program_stage_index(cutting->whole, stage) : -1;
    return number >= 0 && cutting->own[number] ? number : -1;
}

/* Whether a stage computed at compile time for this task reads it: then it has to stay what it is. */
static bool is_source(const Cutting *cutting, const Tensor *tensor) {
    for (int s = 0; s < cutting->whole->stage_count; s++)
        if (cutting->own[s] && cutting->space->constant[s] && stage_uses_tensor(cutting->whole->stages[s], tensor))
            return true;
    return false;
}

static Role role_in_task(const Cutting *cutting, const Tensor *tensor) {
    int owner = owner_of(cutting, tensor);
    if (owner >= 0 && !is_copied(cutting->space, owner) && is_read_outside(cutting, tensor))
        return ROLE_OUTPUT;
    if (owner >= 0 || tensor->role == ROLE_INITIAL)
        return tensor->role;
    bool constant = tensor->role == ROLE_CONSTANT && (is_source(cutting, tensor) || !is_shared(cutting, tensor));
    return constant ? ROLE_CONSTANT : ROLE_INPUT;
}

static const Tensor *tensor_in_task(Cutting *cutting, const Tensor *tensor) {
    for (int t = 0; t < cutting->from.count; t++)
        if (cutting->from.items[t] == tensor)
            return cutting->to.items[t];
    Role role = role_in_task(cutting, tensor);
    bool constant = tensor->constant && tensor->role == ROLE_INPUT && !is_shared(cutting, tensor);
    const Tensor *buffer = tensor->buffer ? tensor_in_task(cutting, tensor->buffer) : NULL;
    Tensor *copy = (Tensor *)tensor;
    if (role != tensor->role || constant != tensor->constant || buffer != tensor->buffer) {
        copy = ARENA_NEW(cutting->arena, Tensor);
        *copy = *tensor;
        copy->role = role;
        copy->constant = constant;
        copy->buffer = buffer;
        copy->data = role == ROLE_CONSTANT ? tensor->data : NULL;
    }
    list_push(cutting->arena, &cutting->from, tensor);
    list_push(cutting->arena, &cutting->to, copy);
    return copy;
}

static void note_scalar(Cutting *cutting, const Var *scalar) {
    for (int s = 0; s < cutting->scalars.count; s++)
        if (cutting->scalars.items[s] == scalar)
            return;
    list_push(cutting->arena, &cutting->scalars, scalar);
}

/* The node with the task's tensor. Notes the scalars that are used. */
static Expr *expr_in_task(Arena *arena, Expr *e, void *context) {
    Cutting *cutting = context;
    if (e->kind == EXPR_VAR && e->var->kind == VAR_SCALAR)
        note_scalar(cutting, e->var);
    const Tensor *tensor = e->kind == EXPR_READ ? tensor_in_task(cutting, e->tensor) : NULL;
    if (!tensor || tensor == e->tensor)
        return e;
    Expr *copy = expr_copy(arena, e);
    copy->tensor = tensor;
    return copy;
}

static const Stage *stage_in_task(Cutting *cutting, const Stage *stage) {
    Stage *copy = stage_rewrite_exprs(cutting->arena, stage, expr_in_task, cutting);
    for (int c = 0; c < copy->component_count; c++)
        copy->components[c].tensor = tensor_in_task(cutting, copy->components[c].tensor);
    return copy;
}

static void add_stages(Cutting *cutting) {
    Program *part = cutting->part;
    part->stages = ARENA_ARRAY(cutting->arena, const Stage *, cutting->whole->stage_count + 1);
    part->stage_count = 0;
    for (int s = 0; s < cutting->whole->stage_count; s++)
        if (cutting->own[s])
            part->stages[part->stage_count++] = stage_in_task(cutting, cutting->whole->stages[s]);
}

/* --- its arguments --- */

static bool uses_scalar(const Cutting *cutting, const Var *scalar) {
    for (int s = 0; s < cutting->scalars.count; s++)
        if (cutting->scalars.items[s] == scalar)
            return true;
    return false;
}

static void add_tensors(Cutting *cutting, const Tensor **tensors, int *count, Role role) {
    for (int t = 0; t < cutting->to.count; t++)
        if (cutting->to.items[t]->role == role)
            tensors[(*count)++] = cutting->to.items[t];
}

/* Inputs in the order in which they are met, scalars, outputs. */
static void add_arguments(Cutting *cutting) {
    Program *part = cutting->part;
    const Program *whole = cutting->whole;
    int count = cutting->to.count;
    part->tensors = ARENA_ARRAY(cutting->arena, const Tensor *, count + 1);
    part->arguments = ARENA_ARRAY(cutting->arena, Argument, count + whole->argument_count + 1);
    part->tensor_count = part->argument_count = 0;
    add_tensors(cutting, part->tensors, &part->tensor_count, ROLE_INPUT);
    for (int t = 0; t < part->tensor_count; t++)
        part->arguments[part->argument_count++] = (Argument){.tensor = part->tensors[t]};
    for (int a = 0; a < whole->argument_count; a++)
        if (whole->arguments[a].scalar && uses_scalar(cutting, whole->arguments[a].scalar))
            part->arguments[part->argument_count++] = whole->arguments[a];
    int inputs = part->tensor_count;
    add_tensors(cutting, part->tensors, &part->tensor_count, ROLE_OUTPUT);
    for (int t = inputs; t < part->tensor_count; t++)
        part->arguments[part->argument_count++] = (Argument){.tensor = part->tensors[t]};
    static const Role others[] = {ROLE_TEMPORARY, ROLE_CONSTANT, ROLE_INITIAL};
    for (int r = 0; r < (int)(sizeof others / sizeof *others); r++)
        add_tensors(cutting, part->tensors, &part->tensor_count, others[r]);
}

/* --- what is checked at run time --- */

/* Whether a stage of the task reads the tensor. */
static bool is_read_inside(const Cutting *cutting, const Tensor *tensor) {
    for (int s = 0; s < cutting->whole->stage_count; s++)
        if (cutting->own[s] && stage_uses_tensor(cutting->whole->stages[s], tensor))
            return true;
    return false;
}

/* Takes the checks of what the task reads. False: one needs what the task computes. */
static bool add_requirements(Cutting *cutting) {
    const Program *whole = cutting->whole;
    Program *part = cutting->part;
    part->requirements = ARENA_ARRAY(cutting->arena, Requirement, whole->requirement_count + 1);
    part->requirement_count = 0;
    for (int r = 0; r < whole->requirement_count; r++) {
        Requirement requirement = whole->requirements[r];
        bool here = true, computed = false;
        EACH_READ(read, requirement.condition) {
            here &= is_read_inside(cutting, read->tensor);
            computed |= owner_of(cutting, read->tensor) >= 0;
        }
        if (!here)
            continue;
        if (computed)
            return false;
        requirement.condition = expr_rewrite(cutting->arena, requirement.condition, expr_in_task, cutting);
        requirement.after = -1;
        part->requirements[part->requirement_count++] = requirement;
    }
    return true;
}

/* Whether the task reads what a buffer held that another task writes. */
static bool reads_others_buffer(const Cutting *cutting) {
    for (int t = 0; t < cutting->from.count; t++)
        if (cutting->from.items[t]->role == ROLE_INITIAL && owner_of(cutting, cutting->from.items[t]->buffer) < 0)
            return true;
    return false;
}

/* NULL: it cannot run alone. */
static Program *cut(Cutting *cutting, int task) {
    const Program *whole = cutting->whole;
    const Stage *root = cutting->space->groups.items[task]->root;
    cutting->from.count = cutting->to.count = cutting->scalars.count = 0;
    Program *part = cutting->part = ARENA_NEW(cutting->arena, Program);
    *part = *whole;
    part->name = arena_printf(cutting->arena, "%s.%s", whole->name, root->name);
    part->known = NULL;
    part->meaning = NULL;
    part->algorithm_count = 0;
    part->bound_count = 0;
    add_stages(cutting);
    bool whole_checks = add_requirements(cutting);
    program_list_stages(cutting->arena, part);
    if (!whole_checks || reads_others_buffer(cutting))
        return NULL;
    add_arguments(cutting);
    return part;
}

/* --- the tasks --- */

static bool is_one_task(const Space *space) {
    bool rooted = true;
    for (int g = 0; g < space->groups.count; g++)
        rooted &= space->groups.items[g]->root != NULL;
    return space->program->scan_count > 0 || !rooted || space->user || space->program->size_count > 0;
}

/* An output that no task computes would be lost: one computed at compile time. */
static bool all_computed(const Program *whole, Program *const *parts, int count) {
    for (int t = 0; t < whole->tensor_count; t++) {
        bool found = whole->tensors[t]->role != ROLE_OUTPUT;
        for (int p = 0; p < count && !found; p++)
            found = program_find_stage(parts[p], program_stage_of(whole, whole->tensors[t])->name) != NULL;
        if (!found)
            return false;
    }
    return true;
}

int space_tasks(Space *space, Program ***parts) {
    Cutting cutting = {.space = space, .arena = space->arena, .whole = space->program};
    int count = 0;
    if (is_one_task(space))
        return 1;
    find_tasks(&cutting);
    cutting.own = ARENA_ARRAY(space->arena, bool, space->program->stage_count + 1);
    *parts = ARENA_ARRAY(space->arena, Program *, space->groups.count + 1);
    for (int g = space->groups.count - 1; g >= 0; g--) {
        if (cutting.task[g] != g)
            continue;
        if (take_stages(&cutting, g) == space->program->stage_count || !((*parts)[count++] = cut(&cutting, g)))
            return 1;
    }
    return all_computed(space->program, *parts, count) ? count : 1;
}

int space_tasks_with_border(Arena *arena, const Program *program, const Target *target, int stage, Program ***parts) {
    return space_tasks(space_new_with_border(arena, program, target, stage), parts);
}
