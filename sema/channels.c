/* channels.c - makes an alternative of a unit's program in which temporaries lie channels last: the algorithm
 * `channels_last`.
 *
 * A source that counts channels before rows and columns, as in t(c, y, x), has neighbours of an image side by side.
 * What reads windows of it then reads vectors that begin anywhere, and short rows leave lanes empty. Here the dimension
 * of the channels is the last one of such temporaries: t(y, x, c). All that changes is the order of the dimensions of
 * tensors and of the axes of the stages that write them; the terms of each sum keep their order. Arguments, results and
 * constants stay as they are, so stages at the ends of a chain turn what they read or write.
 *
 * The channels of a temporary are a dimension before the last that all stages index by an axis of their own alone,
 * where some stage reads a window, or every so many elements, of the last dimension. From there they are followed: to
 * what is computed from it, along the same axis or along the only one that is new, and to what is computed for it
 * element by element. Programs with recurrences are left as they are.
 */
#include "sema/check.h"

enum { FEW = 8 }; /* channels that fill no vector */

typedef struct Turning {
    Arena *arena;
    const Program *program;
    int *channels;         /* [tensor]: the dimension; -1: none */
    bool *stays;           /* [tensor]: becomes, element by element, something that cannot turn */
    const Tensor **turned; /* [tensor]: what stands for it; itself where it stays */
} Turning;

static int number_of(const Turning *turning, const Tensor *tensor) {
    int number = 0;
    while (turning->program->tensors[number] != tensor)
        number++;
    return number;
}

static int channels_of(const Turning *turning, const Tensor *tensor) {
    return turning->channels[number_of(turning, tensor)];
}

/* --- which temporaries --- */

static bool is_required(const Program *program, const Tensor *tensor) {
    for (int r = 0; r < program->requirement_count; r++)
        if (expr_uses_tensor(program->requirements[r].condition, tensor))
            return true;
    return false;
}

/* Whether a version of it is read or written at the same place. */
static bool has_versions(const Program *program, const Tensor *tensor) {
    for (int s = 0; s < program->stage_count; s++) {
        const Stage *stage = program->stages[s];
        EACH_INITIAL_READ(read, stage)
            if (read->tensor == tensor || stage_writes(stage, tensor))
                return true;
    }
    return false;
}

static bool may_turn(const Program *program, const Tensor *tensor) {
    const Stage *stage = program_stage_of(program, tensor);
    return tensor->role == ROLE_TEMPORARY && tensor->rank > 2 && stage && stage->component_count == 1 &&
           stage_first_scatter(stage) == stage->axis_count && !is_required(program, tensor) &&
           !has_versions(program, tensor);
}

/* Whether the read has the stage's axes as its indices, in their order. */
static bool is_own_element(const Stage *stage, const Expr *read) {
    bool own = read->count == stage->axis_count;
    for (int d = 0; d < read->count && own; d++)
        own = read->args[d]->kind == EXPR_VAR && read->args[d]->var == stage->axes[d];
    return own;
}

/* What is computed in the loops of a result is better in its order. */
static void find_staying(Turning *turning) {
    const Program *program = turning->program;
    for (int s = program->stage_count - 1; s >= 0; s--) {
        const Tensor *result = program->stages[s]->components[0].tensor;
        bool stays = turning->stays[number_of(turning, result)] || !may_turn(program, result);
        EACH_VALUE_READ(read, program->stages[s])
            if (stays && is_own_element(program->stages[s], read))
                turning->stays[number_of(turning, read->tensor)] = true;
    }
}

/* Notes the dimension. False: it has one, is none of those that may turn, or there is nothing to gain. */
static bool note_channels(Turning *turning, const Tensor *tensor, int dimension) {
    int number = number_of(turning, tensor);
    int64_t extent;
    bool few = dimension >= 0 && expr_is_int(tensor->dims[dimension], &extent) && extent < FEW;
    if (dimension < 0 || dimension >= tensor->rank - 1 || few || turning->channels[number] >= 0 ||
        !may_turn(turning->program, tensor))
        return false;
    turning->channels[number] = dimension;
    return true;
}

/* The dimension before the last that the read indexes by one axis alone: a reduction if there is one, else the last
 * such, as batches come first; -1: none. */
static int single_axis(const Expr *read) {
    int found = -1;
    for (int d = 0; d < read->count - 1; d++) {
        const Expr *index = read->args[d];
        bool alone = index->kind == EXPR_VAR && index->var->kind == VAR_AXIS;
        if (alone && (found < 0 || index->var->reduction || !read->args[found]->var->reduction))
            found = d;
    }
    return found;
}

static bool reads_window(const Expr *read) {
    const Expr *last = read->args[read->count - 1];
    return last->kind == EXPR_OP && !expr_reads(last);
}

/* Channels by the windows that are read. A dimension that some stage indexes otherwise is none. */
static void find_by_windows(Turning *turning, const Tensor *tensor) {
    int dimension = -1;
    for (int s = 0; s < turning->program->stage_count; s++)
        EACH_VALUE_READ(read, turning->program->stages[s])
            if (read->tensor == tensor && reads_window(read))
                dimension = single_axis(read);
    for (int s = 0; s < turning->program->stage_count && dimension >= 0; s++)
        EACH_VALUE_READ(read, turning->program->stages[s])
            if (read->tensor == tensor && read->args[dimension]->kind != EXPR_VAR)
                dimension = -1;
    note_channels(turning, tensor, dimension);
}

/* --- following them --- */

static int axis_number(const Stage *stage, const Expr *index) {
    for (int a = 0; a < stage->axis_count; a++)
        if (index->kind == EXPR_VAR && index->var == stage->axes[a])
            return a;
    return -1;
}

static bool read_uses(const Expr *read, const Var *axis) {
    for (int d = 0; d < read->count; d++)
        if (expr_uses_var(read->args[d], axis))
            return true;
    return false;
}

/* The only axis of the stage that the read does not use; -1: none, or several. */
static int new_axis(const Stage *stage, const Expr *read) {
    int found = -1, count = 0;
    for (int a = 0; a < stage->axis_count; a++)
        if (!read_uses(read, stage->axes[a])) {
            found = a;
            count++;
        }
    return count == 1 ? found : -1;
}

/* From what the stage reads to what it writes. */
static bool follow_to_result(Turning *turning, const Stage *stage, const Expr *read, int channels) {
    const Tensor *result = stage->components[0].tensor;
    int axis = axis_number(stage, read->args[channels]);
    return !turning->stays[number_of(turning, result)] &&
           note_channels(turning, result, axis >= 0 ? axis : new_axis(stage, read));
}

/* From what the stage writes to what it reads element by element. */
static bool follow_to_operand(Turning *turning, const Stage *stage, const Expr *read, int channels) {
    return is_own_element(stage, read) && note_channels(turning, read->tensor, channels);
}

static bool follow(Turning *turning, const Stage *stage) {
    bool found = false;
    EACH_VALUE_READ(read, stage) {
        int own = channels_of(turning, read->tensor), result = channels_of(turning, stage->components[0].tensor);
        if (own >= 0)
            found |= follow_to_result(turning, stage, read, own);
        if (result >= 0)
            found |= follow_to_operand(turning, stage, read, result);
    }
    return found;
}

static void find_channels(Turning *turning) {
    const Program *program = turning->program;
    for (int t = 0; t < program->tensor_count; t++)
        turning->channels[t] = -1;
    for (int t = 0; t < program->tensor_count; t++)
        if (may_turn(program, program->tensors[t]))
            find_by_windows(turning, program->tensors[t]);
    for (bool found = true; found;) {
        found = false;
        for (int s = 0; s < program->stage_count; s++)
            found |= follow(turning, program->stages[s]);
    }
}

/* --- the program --- */

/* Which of the dimensions before is the d-th one now. */
static int source_dimension(int rank, int channels, int d) {
    return d == rank - 1 ? channels : d < channels ? d : d + 1;
}

static const Tensor *turn_tensor(Turning *turning, const Tensor *tensor, int channels) {
    Arena *arena = turning->arena;
    Tensor *copy = ARENA_NEW(arena, Tensor);
    *copy = *tensor;
    copy->dims = ARENA_ARRAY(arena, Expr *, tensor->rank);
    copy->lower = tensor->lower ? ARENA_ARRAY(arena, Expr *, tensor->rank) : NULL;
    copy->dim_names = tensor->dim_names ? ARENA_ARRAY(arena, const char *, tensor->rank) : NULL;
    for (int d = 0; d < tensor->rank; d++) {
        int source = source_dimension(tensor->rank, channels, d);
        copy->dims[d] = tensor->dims[source];
        if (tensor->lower)
            copy->lower[d] = tensor->lower[source];
        if (tensor->dim_names)
            copy->dim_names[d] = tensor->dim_names[source];
    }
    return copy;
}

static Expr *turn_read(Arena *arena, Expr *e, void *context) {
    const Turning *turning = context;
    int number = e->kind == EXPR_READ ? number_of(turning, e->tensor) : 0;
    if (e->kind != EXPR_READ || turning->channels[number] < 0)
        return e;
    Expr *copy = expr_copy(arena, e);
    copy->tensor = turning->turned[number];
    for (int d = 0; d < e->count; d++)
        copy->args[d] = e->args[source_dimension(e->count, turning->channels[number], d)];
    return copy;
}

static const Stage *turn_stage(Turning *turning, const Stage *stage) {
    Stage *copy = stage_rewrite_exprs(turning->arena, stage, turn_read, turning);
    int number = number_of(turning, stage->components[0].tensor), channels = turning->channels[number];
    if (channels < 0)
        return copy;
    copy->components[0].tensor = turning->turned[number];
    copy->axes = ARENA_ARRAY(turning->arena, const Var *, stage->axis_count);
    for (int a = 0; a < stage->axis_count; a++)
        copy->axes[a] = stage->axes[source_dimension(stage->axis_count, channels, a)];
    return copy;
}

static Program *turned_program(Turning *turning) {
    const Program *from = turning->program;
    Program *program = ARENA_NEW(turning->arena, Program);
    *program = *from;
    program->tensors = turning->turned;
    program->stages = ARENA_ARRAY(turning->arena, const Stage *, from->stage_count);
    for (int s = 0; s < from->stage_count; s++)
        program->stages[s] = turn_stage(turning, from->stages[s]);
    return program;
}

/* Returns how many. */
static int turn_tensors(Turning *turning) {
    int count = 0;
    for (int t = 0; t < turning->program->tensor_count; t++) {
        const Tensor *tensor = turning->program->tensors[t];
        int channels = turning->channels[t];
        turning->turned[t] = channels >= 0 ? turn_tensor(turning, tensor, channels) : tensor;
        count += channels >= 0;
    }
    return count;
}

/* The program with all that may turn; or, with ends, without what becomes a result element by element. NULL: nothing
 * turns. *count: how much does. */
static Program *program_with_turned(Arena *arena, const Program *program, bool ends, int *count) {
    Turning turning = {.arena = arena, .program = program};
    turning.channels = ARENA_ARRAY(arena, int, program->tensor_count + 1);
    turning.stays = ARENA_ARRAY(arena, bool, program->tensor_count + 1);
    turning.turned = ARENA_ARRAY(arena, const Tensor *, program->tensor_count + 1);
    if (!ends)
        find_staying(&turning);
    find_channels(&turning);
    *count = turn_tensors(&turning);
    return *count ? turned_program(&turning) : NULL;
}

static void add_turned(Arena *arena, Unit *unit, Program *program, const char *name) {
    add_automatic(arena, unit, program, name);
    program->algorithms->only_lies = true;
}

void add_channels_last(Arena *arena, Unit *unit) {
    int all = 0, inner = 0;
    bool possible = !unit->program->scan_count;
    Program *last = possible ? program_with_turned(arena, unit->program, true, &all) : NULL;
    Program *inside = last ? program_with_turned(arena, unit->program, false, &inner) : NULL;
    if (last)
        add_turned(arena, unit, last, "channels_last");
    if (inside && inner < all)
        add_turned(arena, unit, inside, "channels_inside");
}
