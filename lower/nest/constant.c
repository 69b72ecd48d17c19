/* constant.c - which stages are computed at compile time: those at the root that read constants alone.
 *
 * Their contents do not depend on a call. They are data of the object, in the order of the stage's buffer; constants
 * that nothing else reads are left out. A stage that would make much data from little, or take long to compute, is
 * computed in each call instead.
 */
#include "lower/nest/state.h"

enum {
    GROWTH = 3,             /* allowed growth over the bytes that are read */
    FREE_BYTES = 1 << 20,   /* and so many bytes more */
    TABLE_BYTES = 1 << 16,  /* for stages that read nothing */
    COPY_LIMIT = 1 << 30,   /* for copies: elements */
    POINTS_LIMIT = 1 << 25, /* for anything else: points, reductions included */
    NODES_LIMIT = 1024
};

static bool is_constant(const Tensor *tensor) {
    return tensor->role == ROLE_CONSTANT;
}

/* The constant that a read means: the buffer of a constant stage, or the tensor itself. */
static const Tensor *constant_of(const NestRead *access) {
    return access->producer != NULL ? access->producer->nest.buffers[0] : access->read->tensor;
}

const Tensor *made_of(const Stage *maker) {
    const Tensor *source = NULL;
    EACH_STAGE_READ(read, maker) {
        if (source != NULL && source != read->tensor)
            return NULL;
        source = read->tensor;
    }
    return source;
}

/* Whether the contents are known only after compiling: the tensor's own, or those that it is made from. */
static bool is_later(const Tensor *tensor) {
    while (is_constant(tensor) && tensor->data == NULL && tensor->maker != NULL && made_of(tensor->maker) != NULL)
        tensor = made_of(tensor->maker);
    return is_constant(tensor) && tensor->data == NULL && tensor->maker == NULL;
}

static bool reads_later(const StageState *stage) {
    for (int i = 0; i < stage->accesses.count; i++)
        if (is_later(constant_of(&stage->accesses.items[i])))
            return true;
    return false;
}

/* Whether the stage alone reads the tensor, requirements and what the program is a part of included. */
static bool is_only_reader(NestState *state, const StageState *stage, const Tensor *tensor) {
    if (program_requires(state->nest.program, tensor) || program_reads_elsewhere(state->nest.program, tensor))
        return false;
    const StageList readers = tensor_readers(state, tensor, NULL);
    for (int i = 0; i < readers.count; i++)
        if (readers.items[i] != stage && !readers.items[i]->nest.inlined)
            return false;
    return true;
}

static bool reads_by_reads(const Expr *e) {
    for (int i = 0; e->kind == EXPR_READ && i < e->count; i++)
        if (expr_reads(e->args[i]))
            return true;
    return false;
}

/* Whether the value has few nodes and no sizes, scalars, or indices read from memory. */
static bool is_known(const Stage *stage) {
    int nodes = 0;
    EACH_STAGE_EXPR(e, stage)
        if (++nodes > NODES_LIMIT || reads_by_reads(e) || (e->kind == EXPR_VAR && e->var->kind != VAR_AXIS))
            return false;
    return true;
}

static int64_t bytes_of(const Tensor *tensor) {
    int64_t bytes, elements = tensor_elements(tensor);
    return elements < 0 || __builtin_mul_overflow(elements, element_info[tensor->type].bytes, &bytes) ? -1 : bytes;
}

/* The number of points of the domain; -1 when the sizes are not known. */
static int64_t points_of(const Stage *stage) {
    int64_t points = 1, extent;
    for (int i = 0; i < stage->axis_count + stage->reduction_count; i++) {
        const Var *axis = i < stage->axis_count ? stage->axes[i] : stage->reductions[i - stage->axis_count];
        if (!expr_is_int(axis->extent, &extent) || __builtin_mul_overflow(points, extent > 0 ? extent : 0, &points))
            return -1;
    }
    return points;
}

static bool is_small(const StageState *stage) {
    int64_t read = 0, made = bytes_of(stage->nest.buffers[0]), points = points_of(stage->nest.stage);
    for (int i = 0; i < stage->accesses.count; i++)
        read += bytes_of(constant_of(&stage->accesses.items[i]));
    bool copies = stage->nest.stage->components[0].value->kind == EXPR_READ;
    int64_t limit = stage->accesses.count > 0 ? GROWTH * read + FREE_BYTES : TABLE_BYTES;
    return made >= 0 && points >= 0 && made <= limit && points <= (copies ? COPY_LIMIT : POINTS_LIMIT);
}

static bool has_sizes_alone(const Expr *e, const Tensor *of) {
    EACH_EXPR(at, e) {
        bool found = at->kind != EXPR_VAR;
        for (int d = 0; !found && d < of->rank; d++)
            found = expr_uses_var(of->dims[d], at->var);
        if (!found)
            return false;
    }
    return true;
}

/* Whether the sizes of the tensor decide the stage's shape: a function that packs an argument gets no others. */
static bool has_sizes_of(const Stage *stage, const Tensor *buffer, const Tensor *tensor) {
    bool known = true;
    for (int d = 0; d < buffer->rank; d++)
        known &= has_sizes_alone(buffer->dims[d], tensor);
    for (int i = 0; i < stage->axis_count; i++)
        known &= has_sizes_alone(stage->axes[i]->extent, tensor);
    for (int i = 0; i < stage->reduction_count; i++)
        known &= has_sizes_alone(stage->reductions[i]->extent, tensor);
    return known;
}

/* Whether the stage is packing: made once, before all calls, from one tensor that nothing else reads. */
static bool packs(NestState *state, const StageState *stage) {
    const Stage *made = stage->nest.stage;
    if (stage->accesses.count == 0 || !is_only_reader(state, stage, stage->accesses.items[0].read->tensor))
        return false;
    for (int i = 1; i < stage->accesses.count; i++)
        if (stage->accesses.items[i].read->tensor != stage->accesses.items[0].read->tensor)
            return false;
    if (!has_sizes_of(made, stage->nest.buffers[0], constant_of(&stage->accesses.items[0])))
        return false;
    return (made->components[0].value->kind == EXPR_READ && made->combine == COMBINE_NONE) || is_small(stage);
}

static bool reads_constants(const StageState *stage) {
    for (int i = 0; i < stage->accesses.count; i++)
        if (!is_constant(constant_of(&stage->accesses.items[i])))
            return false;
    return true;
}

static bool stands_alone(const StageState *stage) {
    const NestStage *nest = &stage->nest;
    return stage->at == NULL && stage->owner == NULL && stage->scan == NULL && nest->scan == NULL && !nest->inlined &&
           nest->stage->component_count == 1 && stage->initialisation == NULL &&
           stage->tensor->role == ROLE_TEMPORARY &&
           (!stage->scope_set || stage->scope == SCOPE_GLOBAL || stage->scope == SCOPE_LOCAL);
}

static Expr *read_constant(Arena *arena, Expr *e, void *context) {
    const StageState *stage = context;
    if (e->kind != EXPR_READ)
        return e;
    for (int i = 0; i < stage->accesses.count; i++) {
        const NestRead *access = &stage->accesses.items[i];
        if (access->producer != NULL && access->read->tensor == e->tensor) {
            Expr *read = expr_read(arena, constant_of(access), e->args, e->otherwise);
            read->loc = e->loc;
            return read;
        }
    }
    return e;
}

/* What a constant stage computes. If compute_root took it out of a scan, it is no longer a step of that. */
static const Stage *maker_of(NestState *state, StageState *stage) {
    Stage *maker = stage_copy(state->arena, stage_rewrite_exprs(state->arena, stage->nest.stage, read_constant, stage));
    maker->scan = NULL;
    return maker;
}

/* The contents that were computed before for this stage of the program, or NULL. */
static const void *known_contents(const Program *program, const Stage *stage) {
    const Stage *own = program->known ? program_find_stage(program, stage->name) : NULL;
    return own && own->components[0].value->kind != EXPR_READ ? program->known[program_stage_index(program, own)]
                                                              : NULL;
}

void find_constants(NestState *state) {
    bool any = false;
    for (int i = 0; i < state->nest.program->tensor_count; i++)
        any |= is_constant(state->nest.program->tensors[i]);
    for (int i = 0; any && i < state->stages.count; i++) {
        StageState *stage = state->stages.items[i];
        if (!stands_alone(stage) || !reads_constants(stage) || !is_known(stage->nest.stage) ||
            !(reads_later(stage) ? packs(state, stage) : is_small(stage)))
            continue;
        Tensor *constant = ARENA_NEW(state->arena, Tensor);
        *constant = *stage->nest.buffers[0];
        constant->role = ROLE_CONSTANT;
        constant->scope = SCOPE_GLOBAL;
        constant->maker = maker_of(state, stage);
        constant->data = known_contents(state->nest.program, stage->nest.stage);
        stage->nest.buffers[0] = constant;
        stage->nest.constant = true;
    }
}
