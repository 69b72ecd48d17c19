/* nests.c - see nests.h. Needs only the makers of lang/expr.h. */
#include "nests.h"

static Loop *identity_loop(Arena *arena, NestStage *stage, const Var *index, bool reduction) {
    Loop *loop = ARENA_NEW(arena, Loop);
    loop->var = var_new(arena, VAR_LOOP, TYPE_INT64, index->name, index->extent);
    loop->var->reduction = loop->reduction = reduction;
    loop->stage = stage;
    if (!expr_is_int(index->extent, &loop->extent))
        loop->extent = -1;
    return loop;
}

static NestStage *identity_stage(Arena *arena, const Stage *stage) {
    NestStage *made = ARENA_NEW(arena, NestStage);
    made->stage = stage;
    made->buffers = ARENA_ARRAY(arena, const Tensor *, stage->component_count);
    for (int c = 0; c < stage->component_count; c++)
        made->buffers[c] = stage->components[c].tensor;
    made->initialises = stage->reduction_count > 0;
    made->loop_count = stage->axis_count + stage->reduction_count;
    made->loops = ARENA_ARRAY(arena, Loop *, made->loop_count);
    made->axis_values = ARENA_ARRAY(arena, Expr *, made->loop_count);
    made->origin = ARENA_ARRAY(arena, Expr *, stage->axis_count);
    for (int i = 0; i < made->loop_count; i++) {
        bool reduction = i >= stage->axis_count;
        const Var *index = reduction ? stage->reductions[i - stage->axis_count] : stage->axes[i];
        made->loops[i] = identity_loop(arena, made, index, reduction);
        made->axis_values[i] = expr_var(arena, made->loops[i]->var);
    }
    for (int d = 0; d < stage->axis_count; d++)
        made->origin[d] = expr_int(arena, 0);
    return made;
}

Nest *nest_identity(Arena *arena, const Program *program, const Target *target) {
    Nest *nest = ARENA_NEW(arena, Nest);
    *nest = (Nest){.arena = arena, .program = program, .target = target, .stage_count = program->stage_count};
    nest->stages = ARENA_ARRAY(arena, NestStage *, program->stage_count);
    for (int i = 0; i < program->stage_count; i++)
        nest->stages[i] = identity_stage(arena, program->stages[i]);
    return nest;
}
