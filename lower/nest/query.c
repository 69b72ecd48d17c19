/* query.c - what others ask of a finished nest: producers, kinds of indices, registers. */
#include "lower/nest/state.h"

/* --- producers ---------------------------------------------------------------------------------------------------- */

/* Of the stages of a list. A part of a nest is a copy of it with another list. */
struct NestProducers {
    NestStage **stages;
    Map by_tensor; /* the first that writes it */
};

void list_producers(Nest *nest) {
    struct NestProducers *producers = ARENA_NEW(nest->arena, struct NestProducers);
    producers->stages = nest->stages;
    for (int i = 0; i < nest->stage_count; i++) {
        const Stage *stage = nest->stages[i]->stage;
        for (int c = 0; c < stage->component_count; c++)
            if (address_map_get(&producers->by_tensor, stage->components[c].tensor) == NULL)
                address_map_set(nest->arena, &producers->by_tensor, stage->components[c].tensor, nest->stages[i]);
    }
    nest->producers = producers;
}

const NestStage *nest_producer(const Nest *nest, const Tensor *tensor) {
    if (nest->producers != NULL && nest->producers->stages == nest->stages)
        return address_map_get(&nest->producers->by_tensor, tensor);
    for (int i = 0; i < nest->stage_count; i++)
        if (stage_writes(nest->stages[i]->stage, tensor))
            return nest->stages[i];
    return NULL;
}

/* --- indices --- */

const Expr *reflected_index_by(const Expr *index, const Expr **period) {
    for (int a = 0; a < 2 && expr_is_op(index, OP_MIN); a++) {
        const Expr *forward = index->args[a], *back = index->args[1 - a];
        if (expr_is_op(forward, OP_MOD) && expr_is_op(back, OP_SUB) && expr_equal(back->args[1], forward) &&
            expr_equal(expr_without_least_one(forward->args[1]), back->args[0])) {
            *period = back->args[0];
            return forward->args[0];
        }
    }
    return NULL;
}

const Expr *reflected_index(const Expr *index, int64_t *period) {
    const Expr *by, *inside = reflected_index_by(index, &by);
    return inside && expr_is_int(by, period) && *period > 0 ? inside : NULL;
}

const Expr *wrapped_index(const Expr *index, const Expr *extent) {
    bool wraps = expr_is_op(index, OP_MOD) && expr_equal(index->args[1], extent);
    return wraps ? index->args[0] : NULL;
}

/* --- registers ---------------------------------------------------------------------------------------------------- */

/* The registers of a buffer: one for each vector if its stage is vectorized, else one for each element. */
static int registers_of(const NestStage *stage, const Tensor *buffer, const Target *target) {
    int64_t elements = 1, size, lanes = 1;
    for (int d = 0; d < buffer->rank; d++)
        if (expr_is_int(buffer->dims[d], &size))
            elements *= size;
    for (int i = 0; i < stage->loop_count; i++)
        if (stage->loops[i]->kind == LOOP_VECTORIZED && stage->loops[i]->extent > 0)
            lanes = stage->loops[i]->extent;
    int64_t whole = target_lanes(target, buffer->type);
    int64_t vectors = (elements + lanes - 1) / lanes;
    return (int)(vectors * ((lanes + whole - 1) / whole));
}

/* Adds up the buffers of a stage and of those around it, which live at once; others live at other times or are
 * small. */
int nest_register_count(const Nest *nest, const Target *target) {
    int most = 0;
    for (int i = 0; i < nest->stage_count; i++) {
        int count = 0;
        for (const NestStage *stage = nest->stages[i]; stage != NULL; stage = stage->parent)
            for (int c = 0; c < stage->stage->component_count && !stage->inlined; c++)
                if (stage->buffers[c]->scope == SCOPE_REGISTER)
                    count += registers_of(stage, stage->buffers[c], target);
        most = count > most ? count : most;
    }
    return most;
}
