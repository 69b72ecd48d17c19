/* packing.c - functions whose const arguments come packed: the program that their schedule is chosen for, the kernel
 * that takes them packed, and those that pack.
 *
 * In that program a const argument is a constant whose contents come later. A copy of one at the root that alone reads
 * it is then made once, ahead of all calls: what it makes is what the argument holds when it is packed. An argument
 * without such a copy is packed as it is.
 */
#include "lower/passes.h"
#include "sema/sema.h"

static bool is_packed(const Argument *argument) {
    return argument->tensor && argument->tensor->role == ROLE_INPUT && argument->tensor->constant;
}

Program *packing_program(Arena *arena, const Program *program) {
    const char *why = "";
    bool any = false;
    for (int i = 0; i < program->argument_count; i++)
        any |= is_packed(&program->arguments[i]);
    Program *later = any ? program_bind(arena, program, NULL, 0, &why) : NULL;
    for (int i = 0; later && i < later->argument_count; i++)
        if (is_packed(&later->arguments[i]))
            ((Tensor *)later->arguments[i].tensor)->role = ROLE_CONSTANT; /* program_bind made it anew */
    return later;
}

/* --- packing one -------------------------------------------------------------------------------------------------- */

/* What copies an argument as it is. */
static Stage *plain_copy(Arena *arena, const Tensor *from) {
    Stage *stage = ARENA_NEW(arena, Stage);
    *stage = (Stage){.axis_count = from->rank, .loc = from->loc};
    stage->axes = ARENA_ARRAY(arena, const Var *, from->rank);
    Expr **index = ARENA_ARRAY(arena, Expr *, from->rank);
    for (int d = 0; d < from->rank; d++) {
        stage->axes[d] = var_new(arena, VAR_AXIS, TYPE_INT64, arena_printf(arena, "i%d", d), from->dims[d]);
        index[d] = expr_var(arena, stage->axes[d]);
    }
    stage->value = expr_read(arena, (Tensor *)from, index, NULL);
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

static const Tensor **two_tensors(Arena *arena, const Tensor *a, const Tensor *b) {
    const Tensor **list = ARENA_ARRAY(arena, const Tensor *, 2);
    list[0] = a;
    list[1] = b;
    return list;
}

/* NAME_pack_ARG(sizes..., from, to). */
static const Program *copying_program(Arena *arena, const Program *program, const Tensor *argument,
                                      const Tensor *packed) {
    Tensor *from = tensor_like(arena, argument, "from", ROLE_INPUT);
    Tensor *to = tensor_like(arena, packed, "to", ROLE_OUTPUT);
    Renaming renaming = {argument, from};
    Stage *copy = packed->maker ? stage_copy(arena, packed->maker) : plain_copy(arena, argument);
    copy = stage_rewrite_exprs(arena, copy, rename_read, &renaming);
    copy->tensor = to;
    copy->name = to->name;
    const Stage **stages = ARENA_ARRAY(arena, const Stage *, 1);
    stages[0] = copy;
    Program *made = ARENA_NEW(arena, Program);
    *made = *program;
    made->symbol = arena_printf(arena, "%s_pack_%s", program->symbol, argument->name);
    made->argument_count = made->tensor_count = 2;
    made->tensors = two_tensors(arena, from, to);
    made->arguments = ARENA_ARRAY(arena, Argument, 2);
    made->arguments[0].tensor = from;
    made->arguments[1].tensor = to;
    made->stage_count = 1;
    made->stages = stages;
    made->scan_count = made->instr_count = made->requirement_count = 0;
    made->requirements = ARENA_ARRAY(arena, Requirement, program->requirement_count);
    for (int i = 0; i < program->requirement_count; i++)
        if (program->requirements[i].status == STATUS_BAD_SIZE)
            made->requirements[made->requirement_count++] = program->requirements[i];
    return made;
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

/* What the nest's copy of an argument makes, or the argument. */
static const Tensor *packed_tensor(const Nest *nest, const Tensor *argument) {
    for (int i = 0; i < nest->stage_count; i++) {
        const NestStage *stage = nest->stages[i];
        if (stage->constant && stage->buffer->maker->value->kind == EXPR_READ &&
            stage->buffer->maker->value->tensor == argument)
            return stage->buffer;
    }
    return argument;
}

static Kernel *copying_kernel(Arena *arena, const Nest *nest, const Tensor *argument, const Tensor *packed,
                              const ExpandOptions *options) {
    const Program *program = copying_program(arena, nest->program, argument, packed);
    return expand(arena, nest_build(arena, program, NULL, NULL, nest->target, NULL), options);
}

void add_packing(Kernel *kernel, const Nest *nest, const ExpandOptions *options) {
    Arena *arena = kernel->arena;
    Program *program = ARENA_NEW(arena, Program);
    *program = *nest->program;
    program->symbol = arena_printf(arena, "%s_packed", nest->program->symbol);
    program->arguments = ARENA_ARRAY(arena, Argument, program->argument_count);
    kernel->packings = ARENA_ARRAY(arena, Packing, program->argument_count);
    for (int i = 0; i < program->argument_count; i++) {
        program->arguments[i] = nest->program->arguments[i];
        const Tensor *argument = program->arguments[i].tensor;
        if (!argument || argument->role != ROLE_CONSTANT)
            continue;
        const Tensor *packed = packed_tensor(nest, argument);
        program->arguments[i].tensor = packed;
        kernel->packings[kernel->packing_count++] = (Packing){
            .size_symbol = arena_printf(arena, "%s_packed_%s_size", nest->program->symbol, argument->name),
            .packed = packed,
            .kernel = copying_kernel(arena, nest, argument, packed, options),
        };
    }
    Nest *over = ARENA_NEW(arena, Nest);
    *over = *nest;
    over->program = program;
    kernel->packed = expand(arena, over, options);
}
