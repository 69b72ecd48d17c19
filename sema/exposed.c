/* exposed.c - makes a program that computes what a program does, and writes what is between its stages as well.
 *
 * Its arguments are those of the program, then its constants of floats as inputs, then, as outputs, the temporaries
 * that sums and recurrences make. So each of its stages can be checked by itself, from what the others wrote: what is
 * left between two outputs is a few operations an element. Stages keep their order and names.
 */
#include "sema/sema.h"

typedef struct Exposing {
    Arena *arena;
    const Program *from;
    LIST(const Tensor *) old;  /* tensors of the program, and */
    LIST(const Tensor *) made; /* what stands for them */
} Exposing;

/* A call that fails writes nothing, so what decides that is no output. Returns the first stage behind it. */
static int stages_of_requirements(const Program *program) {
    int last = -1;
    for (int r = 0; r < program->requirement_count; r++)
        last = program->requirements[r].after > last ? program->requirements[r].after : last;
    const Scan *scan = last >= 0 ? program->stages[last]->scan : NULL;
    return scan ? scan->first + scan->count : last + 1;
}

static void replace_tensor(Exposing *exposing, const Tensor *tensor, Role role) {
    Tensor *made = ARENA_NEW(exposing->arena, Tensor);
    *made = *tensor;
    made->role = role;
    made->data = NULL;
    list_push(exposing->arena, &exposing->old, tensor);
    list_push(exposing->arena, &exposing->made, made);
}

/* Returns how many are inputs. */
static int choose_tensors(Exposing *exposing) {
    const Program *program = exposing->from;
    for (int t = 0; t < program->tensor_count; t++)
        if (program->tensors[t]->role == ROLE_CONSTANT && type_is_float(program->tensors[t]->type))
            replace_tensor(exposing, program->tensors[t], ROLE_INPUT);
    int inputs = exposing->old.count;
    for (int s = stages_of_requirements(program); s < program->stage_count; s++) {
        const Stage *stage = program->stages[s];
        for (int c = 0; (stage->combine != COMBINE_NONE || stage->scan) && c < stage->component_count; c++)
            if (stage->components[c].tensor->role == ROLE_TEMPORARY)
                replace_tensor(exposing, stage->components[c].tensor, ROLE_OUTPUT);
    }
    return inputs;
}

static const Tensor *tensor_for(const Exposing *exposing, const Tensor *tensor) {
    for (int t = 0; t < exposing->old.count; t++)
        if (exposing->old.items[t] == tensor)
            return exposing->made.items[t];
    return tensor;
}

static Expr *expr_for(Arena *arena, Expr *e, void *context) {
    const Tensor *tensor = e->kind == EXPR_READ ? tensor_for(context, e->tensor) : NULL;
    if (!tensor || tensor == e->tensor)
        return e;
    Expr *copy = expr_copy(arena, e);
    copy->tensor = tensor;
    return copy;
}

static const Stage *stage_for(Exposing *exposing, const Stage *stage) {
    Stage *copy = stage_rewrite_exprs(exposing->arena, stage, expr_for, exposing);
    for (int c = 0; c < copy->component_count; c++)
        copy->components[c].tensor = tensor_for(exposing, copy->components[c].tensor);
    return copy;
}

static void add_arguments(const Exposing *exposing, Program *made) {
    const Program *program = exposing->from;
    int before = program->argument_count, count = exposing->made.count;
    made->argument_count = before + count;
    made->arguments = ARENA_ARRAY(exposing->arena, Argument, made->argument_count);
    for (int a = 0; a < made->argument_count; a++)
        made->arguments[a] =
            a < before ? program->arguments[a] : (Argument){.tensor = exposing->made.items[a - before]};
}

/* Arguments come first among the tensors. */
static void add_tensors(const Exposing *exposing, Program *made) {
    const Program *program = exposing->from;
    int count = 0;
    made->tensors = ARENA_ARRAY(exposing->arena, const Tensor *, program->tensor_count + exposing->made.count);
    for (int a = 0; a < made->argument_count; a++)
        if (made->arguments[a].tensor)
            made->tensors[count++] = made->arguments[a].tensor;
    for (int t = 0; t < program->tensor_count; t++) {
        const Tensor *tensor = program->tensors[t];
        if (tensor->role != ROLE_INPUT && tensor->role != ROLE_OUTPUT && tensor_for(exposing, tensor) == tensor)
            made->tensors[count++] = tensor;
    }
    made->tensor_count = count;
}

Program *program_exposed(Arena *arena, const Program *program) {
    Exposing exposing = {.arena = arena, .from = program};
    if (choose_tensors(&exposing) == exposing.made.count)
        return NULL;
    Program *made = ARENA_NEW(arena, Program);
    *made = *program;
    made->meaning = NULL;
    made->known = NULL;
    made->algorithm_count = 0;
    made->stages = ARENA_ARRAY(arena, const Stage *, program->stage_count);
    for (int s = 0; s < program->stage_count; s++)
        made->stages[s] = stage_for(&exposing, program->stages[s]);
    made->requirements = ARENA_ARRAY(arena, Requirement, program->requirement_count + 1);
    for (int r = 0; r < program->requirement_count; r++) {
        made->requirements[r] = program->requirements[r];
        made->requirements[r].condition = expr_rewrite(arena, program->requirements[r].condition, expr_for, &exposing);
    }
    add_arguments(&exposing, made);
    add_tensors(&exposing, made);
    program_list_stages(arena, made);
    return made;
}
