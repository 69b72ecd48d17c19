/* packing.c - functions whose const arguments come packed: the program that their schedule is chosen for, the kernel
 * that takes packed arguments, and the kernels that pack.
 *
 * In that program a const argument is a constant whose contents come later. A stage at the root that alone reads it and
 * reads nothing else (a copy, a transform of filters) is then computed once, before all calls. So is a stage made from
 * that in the same way: the last one is what the packed argument holds. An argument without such a stage is packed as
 * it is. A packing function takes the sizes of the argument's shape alone, which are the same under each schedule.
 *
 * An argument with parts (slices.c), such as the weights of all layers, is packed part by part, each in its own way.
 */
#include "lower/kernel/statements.h"
#include "sema/sema.h"

#include <string.h>

enum { PART_ALIGNMENT = 64 }; /* in bytes, of the parts of a packed argument */

static bool is_size_of(const Tensor *tensor, const Var *size) {
    for (int d = 0; d < tensor->rank; d++)
        if (expr_uses_var(tensor->dims[d], size))
            return true;
    return false;
}

const Var **packing_sizes(Arena *arena, const Program *program, const Tensor *argument, int *count) {
    const Var **sizes = ARENA_ARRAY(arena, const Var *, program->size_count + 1);
    *count = 0;
    for (int i = 0; i < program->size_count; i++)
        if (is_size_of(argument, program->sizes[i]))
            sizes[(*count)++] = program->sizes[i];
    return sizes;
}

bool is_packing_size(const Program *program, const Var *size) {
    for (int i = 0; i < program->argument_count; i++)
        if (argument_is_packed(&program->arguments[i]) && is_size_of(program->arguments[i].tensor, size))
            return true;
    return false;
}

bool is_packed_together(const Program *program) {
    for (int i = 0; i < program->argument_count; i++)
        if (argument_is_packed(&program->arguments[i]) && strcmp(program->arguments[i].tensor->name, "all") == 0)
            return false;
    return program_is_packed(program);
}

Program *packing_program(Arena *arena, const Program *program, const Schedule *user) {
    const char *why = "";
    Program *later = program_is_packed(program) ? program_bind(arena, program, NULL, 0, &why) : NULL;
    for (int i = 0; later && i < later->argument_count; i++)
        if (argument_is_packed(&later->arguments[i])) {
            ((Tensor *)later->arguments[i].tensor)->role = ROLE_CONSTANT; /* program_bind made a copy */
            slice_argument(arena, later, i, user);
        }
    return later;
}

/* --- packing one -------------------------------------------------------------------------------------------------- */

/* A stage that copies an argument as it is. */
static Stage *plain_copy(Arena *arena, const Tensor *from) {
    Stage *stage = stage_new(arena, (Component){NULL, NULL, NULL});
    stage->axis_count = from->rank;
    stage->loc = from->loc;
    stage->axes = ARENA_ARRAY(arena, const Var *, from->rank);
    Expr **index = ARENA_ARRAY(arena, Expr *, from->rank);
    for (int d = 0; d < from->rank; d++) {
        stage->axes[d] = var_new(arena, VAR_AXIS, TYPE_INT64, arena_printf(arena, "i%d", d), from->dims[d]);
        index[d] = expr_var(arena, stage->axes[d]);
    }
    stage->components[0].value = expr_read(arena, (Tensor *)from, index, NULL);
    return stage;
}

static Tensor *tensor_like(Arena *arena, const Tensor *tensor, const char *name, Role role) {
    Tensor *copy = ARENA_NEW(arena, Tensor);
    *copy = *tensor;
    copy->name = name;
    copy->role = role;
    copy->maker = NULL;
    return copy;
}

/* A nest with packed arguments. */
typedef struct Packed {
    const Nest *nest;
    Map next; /* from a tensor to the one that is made from it before all calls: to the first one of several */
} Packed;

static Packed packed_by(Arena *arena, const Nest *nest) {
    Packed packed = {.nest = nest};
    for (int i = nest->stage_count - 1; i >= 0; i--) {
        const Tensor *made = nest->stages[i]->buffers[0], *of = NULL;
        if (nest->stages[i]->constant)
            of = made_of(made->maker);
        if (of)
            address_map_set(arena, &packed.next, of, (void *)made);
    }
    return packed;
}

static const Tensor *next_packed(const Packed *packed, const Tensor *tensor) {
    return address_map_get(&packed->next, tensor);
}

/* NAME_pack_ARG(sizes of ARG..., from, to) under construction: the stages from the argument to the packed tensor, or
 * from each of its parts to the packed one. */
typedef struct PackFunction {
    Arena *arena;
    const Packed *by;
    Argument from, to;
    LIST(const Tensor *) tensors;
    LIST(const Stage *) stages;
} PackFunction;

static void add_copy(PackFunction *copying, Stage *stage, const Tensor *read, const Tensor *as, Tensor *made) {
    Renaming renaming = {read, as};
    stage = stage_rewrite_exprs(copying->arena, stage, rename_read, &renaming);
    stage->components[0].tensor = made;
    stage->name = made->name;
    list_push(copying->arena, &copying->stages, stage);
}

static void add_copies(PackFunction *copying, const Tensor *argument, const Tensor *from, Tensor *to) {
    Arena *arena = copying->arena;
    const Tensor *read = argument, *as = from;
    for (const Tensor *made, *next = next_packed(copying->by, argument); (made = next); read = made) {
        next = next_packed(copying->by, made);
        Tensor *tensor = next ? tensor_like(arena, made, made->name, ROLE_TEMPORARY) : to;
        if (next) {
            tensor->order = NULL;
            list_push(arena, &copying->tensors, tensor);
        }
        add_copy(copying, stage_copy(arena, made->maker), read, as, tensor);
        as = tensor;
    }
    if (read == argument)
        add_copy(copying, plain_copy(arena, argument), argument, from, to);
}

/* Whether a requirement uses only sizes that the packing function takes. */
static bool is_checked(const Program *program, const Tensor *argument, const Requirement *requirement) {
    for (int i = 0; i < program->size_count; i++)
        if (expr_uses_var(requirement->condition, program->sizes[i]) && !is_size_of(argument, program->sizes[i]))
            return false;
    return requirement->status == STATUS_BAD_SIZE;
}

/* Requires a computed extent to be 0 or more: in a call the requirements on other sizes may ensure that. */
static Requirement shape_requirement(Arena *arena, const Tensor *argument, int d) {
    Expr *condition = expr_binary(arena, OP_GE, argument->dims[d], expr_int(arena, 0));
    return (Requirement){.condition = condition,
                         .text = expr_text(arena, condition),
                         .status = STATUS_BAD_SIZE,
                         .after = -1,
                         .loc = argument->loc};
}

static void add_requirements(Arena *arena, const Program *program, const Tensor *argument, Program *made) {
    made->requirement_count = 0;
    made->requirements = ARENA_ARRAY(arena, Requirement, program->requirement_count + argument->rank);
    for (int i = 0; i < program->requirement_count; i++)
        if (is_checked(program, argument, &program->requirements[i]))
            made->requirements[made->requirement_count++] = program->requirements[i];
    for (int d = 0; d < argument->rank; d++)
        if (argument->dims[d]->kind == EXPR_OP)
            made->requirements[made->requirement_count++] = shape_requirement(arena, argument, d);
}

/* The tensor with another name and role, as a part of an argument of the function that packs. */
static Tensor *add_part(PackFunction *copying, Argument *argument, const ArgumentPart *like, const char *name,
                        Role role) {
    Tensor *tensor = tensor_like(copying->arena, like->tensor, name, role);
    list_push(copying->arena, &copying->tensors, tensor);
    argument->parts[argument->part_count++] = (ArgumentPart){tensor, like->offset};
    return tensor;
}

static void copy_parts(PackFunction *copying, const Argument *argument, const Argument *packed) {
    Arena *arena = copying->arena;
    copying->from.parts = ARENA_ARRAY(arena, ArgumentPart, argument->part_count);
    copying->to.parts = ARENA_ARRAY(arena, ArgumentPart, argument->part_count);
    for (int i = 0; i < argument->part_count; i++) {
        const char *name = argument->parts[i].tensor->name;
        Tensor *from = add_part(copying, &copying->from, &argument->parts[i], name, ROLE_INPUT);
        Tensor *to =
            add_part(copying, &copying->to, &packed->parts[i], arena_printf(arena, "to.%s", name), ROLE_OUTPUT);
        add_copies(copying, argument->parts[i].tensor, from, to);
    }
}

static void copy_whole(PackFunction *copying, const Tensor *argument) {
    list_push(copying->arena, &copying->tensors, copying->from.tensor);
    list_push(copying->arena, &copying->tensors, copying->to.tensor);
    add_copies(copying, argument, copying->from.tensor, (Tensor *)copying->to.tensor);
}

/* Parts that are packed as they are were left out: then the whole argument is. */
static const Program *copying_program(Arena *arena, const Packed *by, const Argument *argument, const Argument *packed,
                                      bool by_parts) {
    const Program *program = by->nest->program;
    PackFunction copying = {.arena = arena, .by = by};
    copying.from.tensor = tensor_like(arena, argument->tensor, "from", ROLE_INPUT);
    copying.to.tensor = tensor_like(arena, packed->tensor, "to", ROLE_OUTPUT);
    if (by_parts)
        copy_parts(&copying, argument, packed);
    else
        copy_whole(&copying, argument->tensor);
    Program *made = ARENA_NEW(arena, Program);
    *made = *program;
    made->symbol = arena_printf(arena, "%s_pack_%s", program->symbol, argument->tensor->name);
    made->sizes = packing_sizes(arena, program, argument->tensor, &made->size_count);
    made->argument_count = 2;
    made->tensor_count = copying.tensors.count;
    made->tensors = copying.tensors.items;
    made->arguments = ARENA_ARRAY(arena, Argument, 2);
    made->arguments[0] = copying.from;
    made->arguments[1] = copying.to;
    made->stage_count = copying.stages.count;
    made->stages = copying.stages.items;
    made->known = NULL;
    made->scan_count = made->instr_count = 0;
    add_requirements(arena, program, argument->tensor, made);
    return made;
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

/* The last tensor made from one that is given before all calls, or that itself. */
static const Tensor *packed_tensor(const Packed *by, const Tensor *given) {
    const Tensor *packed = given;
    for (const Tensor *next; (next = next_packed(by, packed));)
        packed = next;
    return packed;
}

/* Rounds up to where a part may begin. */
static Expr *aligned_end(Arena *arena, Expr *end) {
    Expr *step = expr_int(arena, PART_ALIGNMENT);
    end = expr_binary(arena, OP_ADD, end, expr_int(arena, PART_ALIGNMENT - 1));
    return expr_binary(arena, OP_MUL, expr_binary(arena, OP_DIV, end, step), step);
}

/* Replaces the argument's parts by packed ones, one behind the other, of so many bytes. Returns how many are
 * rearranged; 0: they lie as before. */
static int pack_parts(Arena *arena, const Packed *by, Argument *argument, Expr **bytes) {
    ArgumentPart *parts = ARENA_ARRAY(arena, ArgumentPart, argument->part_count);
    Expr *end = expr_int(arena, 0);
    int rearranged = 0;
    for (int i = 0; i < argument->part_count; i++) {
        const Tensor *packed = packed_tensor(by, argument->parts[i].tensor);
        parts[i] = (ArgumentPart){packed, aligned_end(arena, end)};
        end = expr_binary(arena, OP_ADD, parts[i].offset, tensor_memory(arena, packed));
        rearranged += packed != argument->parts[i].tensor;
    }
    if (rearranged) {
        argument->parts = parts;
        *bytes = end;
    }
    return rearranged;
}

/* Makes the argument that of the packed function. */
static Packing pack_argument(Arena *arena, const Packed *by, Argument *argument, const ExpandOptions *options) {
    const Nest *nest = by->nest;
    Argument plain = *argument;
    argument->tensor = packed_tensor(by, plain.tensor);
    Expr *bytes = tensor_memory(arena, argument->tensor);
    int parts = pack_parts(arena, by, argument, &bytes);
    const Program *program = copying_program(arena, by, &plain, argument, parts > 0);
    return (Packing){
        .argument = plain.tensor->name,
        .size_symbol = arena_printf(arena, "%s_packed_%s_size", nest->program->symbol, plain.tensor->name),
        .bytes = bytes,
        .part_count = plain.part_count ? plain.part_count : 1,
        .rearranged = parts + (argument->tensor != plain.tensor),
        .kernel = expand(arena, nest_build(arena, program, NULL, NULL, nest->target, NULL), options),
    };
}

/* NAME_packed under construction: the nest's program with packed arguments in place of the const ones. */
static Program *packed_program(Arena *arena, const Nest *nest, Kernel *kernel, const ExpandOptions *options) {
    const Packed by = packed_by(arena, nest);
    Program *program = ARENA_NEW(arena, Program);
    *program = *nest->program;
    program->symbol = arena_printf(arena, "%s_packed", nest->program->symbol);
    program->arguments = ARENA_ARRAY(arena, Argument, program->argument_count);
    kernel->packings = ARENA_ARRAY(arena, Packing, program->argument_count);
    for (int i = 0; i < program->argument_count; i++) {
        Argument *argument = &program->arguments[i];
        *argument = nest->program->arguments[i];
        if (argument->tensor && argument->tensor->role == ROLE_CONSTANT)
            kernel->packings[kernel->packing_count++] = pack_argument(arena, &by, argument, options);
    }
    return program;
}

static bool rearranges(const Kernel *kernel) {
    for (int i = 0; i < kernel->packing_count; i++)
        if (kernel->packings[i].rearranged > 0)
            return true;
    return false;
}

static Kernel *kernel_named(Arena *arena, const Kernel *kernel, const char *symbol) {
    Kernel *named = ARENA_NEW(arena, Kernel);
    Program *program = ARENA_NEW(arena, Program);
    *program = *kernel->program;
    program->symbol = symbol;
    *named = *kernel;
    named->program = program;
    return named;
}

void add_packing(Kernel *kernel, const Nest *nest, const ExpandOptions *options) {
    Arena *arena = kernel->arena;
    Program *program = packed_program(arena, nest, kernel, options);
    kernel->packed_as_is = !rearranges(kernel);
    if (kernel->packed_as_is) {
        kernel->packed = kernel_named(arena, kernel, program->symbol);
        return;
    }
    Nest *over = ARENA_NEW(arena, Nest);
    *over = *nest;
    over->program = program;
    kernel->packed = expand(arena, over, options);
}
