/* channels.c - makes an alternative of a unit's program in which temporaries lie channels last: the algorithm
 * `channels_last`.
 *
 * A source that counts channels before rows and columns, as in t(c, y, x), has neighbours of an image side by side.
 * What reads windows of it then reads vectors that begin anywhere, and short rows leave lanes empty. Here the dimension
 * of the channels is the last one of such temporaries: t(y, x, c). All that changes is the order of the dimensions of
 * tensors and of the axes of the stages that write them; the terms of each sum keep their order. Arguments, results and
 * constants stay as they are, so stages at the ends of a chain transpose what they read or write.
 *
 * The channels of a temporary are a dimension before the last that all stages index by an axis of their own alone,
 * where some stage reads a window, or every so many elements, of the last dimension. From there they are followed: to
 * what is computed from it, along the same axis or along the only one that is new, and to what is computed for it
 * element by element. Programs with recurrences are left as they are.
 */
#include "lang/map.h"
#include "sema/check.h"

enum { FEW = 8 }; /* channels that fill no vector */

typedef struct Transposition {
    Arena *arena;
    const Program *program;
    int *channels;       /* [tensor]: the dimension; -1: none */
    Map numbers;         /* of tensors: int */
    bool *may;           /* [tensor]: may be transposed */
    bool *stays;         /* [tensor]: becomes, element by element, something that cannot be transposed */
    const Tensor **made; /* [tensor]: what stands for it; itself where it stays */
} Transposition;

static int number_of(const Transposition *transposition, const Tensor *tensor) {
    const int *number = address_map_get(&transposition->numbers, tensor);
    ENSURE(number);
    return *number;
}

static int channels_of(const Transposition *transposition, const Tensor *tensor) {
    return transposition->channels[number_of(transposition, tensor)];
}

/* --- which temporaries --- */

static bool is_possible(const Stage *stage) {
    const Tensor *tensor = stage->components[0].tensor;
    return tensor->role == ROLE_TEMPORARY && tensor->rank > 2 && stage->component_count == 1 &&
           stage_first_scatter(stage) == stage->axis_count;
}

/* Neither what requirements read nor what has versions, which are read or written at the same place, may be
 * transposed. */
static void find_possible(Transposition *transposition) {
    const Program *program = transposition->program;
    bool *may = transposition->may;
    for (int s = 0; s < program->stage_count; s++)
        may[number_of(transposition, program->stages[s]->components[0].tensor)] = is_possible(program->stages[s]);
    for (int r = 0; r < program->requirement_count; r++)
        EACH_READ(read, program->requirements[r].condition)
            may[number_of(transposition, read->tensor)] = false;
    for (int s = 0; s < program->stage_count; s++)
        EACH_INITIAL_READ(read, program->stages[s]) {
            may[number_of(transposition, read->tensor)] = false;
            may[number_of(transposition, program->stages[s]->components[0].tensor)] = false;
        }
}

/* Whether the read has the stage's axes as its indices, in their order. */
static bool is_own_element(const Stage *stage, const Expr *read) {
    bool own = read->count == stage->axis_count;
    for (int d = 0; d < read->count && own; d++)
        own = read->args[d]->kind == EXPR_VAR && read->args[d]->var == stage->axes[d];
    return own;
}

/* What is computed in the loops of a result is better in its order. */
static void find_staying(Transposition *transposition) {
    const Program *program = transposition->program;
    for (int s = program->stage_count - 1; s >= 0; s--) {
        const Tensor *result = program->stages[s]->components[0].tensor;
        bool stays = transposition->stays[number_of(transposition, result)] ||
                     !transposition->may[number_of(transposition, result)];
        EACH_VALUE_READ(read, program->stages[s])
            if (stays && is_own_element(program->stages[s], read))
                transposition->stays[number_of(transposition, read->tensor)] = true;
    }
}

/* Notes the dimension. False: it has one, is none of those that may be transposed, or there is nothing to gain. */
static bool note_channels(Transposition *transposition, const Tensor *tensor, int dimension) {
    int number = number_of(transposition, tensor);
    int64_t extent;
    bool few = dimension >= 0 && expr_is_int(tensor->dims[dimension], &extent) && extent < FEW;
    if (dimension < 0 || dimension >= tensor->rank - 1 || few || transposition->channels[number] >= 0 ||
        !transposition->may[number])
        return false;
    transposition->channels[number] = dimension;
    return true;
}

bool read_uses(const Expr *read, const Var *axis) {
    for (int d = 0; d < read->count; d++)
        if (expr_uses_var(read->args[d], axis))
            return true;
    return false;
}

/* Whether another operand of the stage has its own values along the axis, but the same along the window's dimension, as
 * weights and biases have for channels. */
static bool is_weighted(const Stage *stage, const Expr *read, const Var *axis) {
    EACH_VALUE_READ(other, stage) {
        bool same_along_window = other->tensor != read->tensor && read_uses(other, axis);
        for (int a = 0; a < stage->axis_count; a++)
            if (expr_uses_var(read->args[read->count - 1], stage->axes[a]) && read_uses(other, stage->axes[a]))
                same_along_window = false;
        if (same_along_window)
            return true;
    }
    return false;
}

/* The dimension before the last that the read indexes by one axis alone: a reduction if there is one, else one with
 * weights, else any; the last such, as batches come first; -1: none. */
static int single_axis(const Stage *stage, const Expr *read) {
    int found = -1, found_rank = 0;
    for (int d = 0; d < read->count - 1; d++) {
        const Expr *index = read->args[d];
        if (index->kind != EXPR_VAR || index->var->kind != VAR_AXIS)
            continue;
        int rank = index->var->reduction ? 2 : is_weighted(stage, read, index->var);
        if (rank >= found_rank) {
            found = d;
            found_rank = rank;
        }
    }
    return found;
}

static bool reads_window(const Expr *read) {
    const Expr *last = read->count ? read->args[read->count - 1] : NULL;
    return last && last->kind == EXPR_OP && !expr_reads(last);
}

/* Channels by the windows that are read. A dimension that some stage indexes otherwise is none. */
static void find_by_windows(Transposition *transposition) {
    const Program *program = transposition->program;
    int *dimensions = ARENA_ARRAY(transposition->arena, int, program->tensor_count + 1);
    for (int t = 0; t < program->tensor_count; t++)
        dimensions[t] = -1;
    for (int s = 0; s < program->stage_count; s++)
        EACH_VALUE_READ(read, program->stages[s])
            if (reads_window(read))
                dimensions[number_of(transposition, read->tensor)] = single_axis(program->stages[s], read);
    for (int s = 0; s < program->stage_count; s++)
        EACH_VALUE_READ(read, program->stages[s]) {
            int *dimension = &dimensions[number_of(transposition, read->tensor)];
            if (*dimension >= 0 && read->args[*dimension]->kind != EXPR_VAR)
                *dimension = -1;
        }
    for (int t = 0; t < program->tensor_count; t++)
        note_channels(transposition, program->tensors[t], dimensions[t]);
}

/* --- following them --- */

static int axis_number(const Stage *stage, const Expr *index) {
    for (int a = 0; a < stage->axis_count; a++)
        if (index->kind == EXPR_VAR && index->var == stage->axes[a])
            return a;
    return -1;
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
static bool follow_to_result(Transposition *transposition, const Stage *stage, const Expr *read, int channels) {
    const Tensor *result = stage->components[0].tensor;
    int axis = axis_number(stage, read->args[channels]);
    return !transposition->stays[number_of(transposition, result)] &&
           note_channels(transposition, result, axis >= 0 ? axis : new_axis(stage, read));
}

/* From what the stage writes to what it reads element by element. */
static bool follow_to_operand(Transposition *transposition, const Stage *stage, const Expr *read, int channels) {
    return is_own_element(stage, read) && note_channels(transposition, read->tensor, channels);
}

static bool follow(Transposition *transposition, const Stage *stage) {
    bool found = false;
    EACH_VALUE_READ(read, stage) {
        int own = channels_of(transposition, read->tensor),
            result = channels_of(transposition, stage->components[0].tensor);
        if (own >= 0)
            found |= follow_to_result(transposition, stage, read, own);
        if (result >= 0)
            found |= follow_to_operand(transposition, stage, read, result);
    }
    return found;
}

static void find_channels(Transposition *transposition) {
    const Program *program = transposition->program;
    for (int t = 0; t < program->tensor_count; t++)
        transposition->channels[t] = -1;
    find_by_windows(transposition);
    for (bool found = true; found;) {
        found = false;
        for (int s = 0; s < program->stage_count; s++)
            found |= follow(transposition, program->stages[s]);
    }
}

/* --- the program --- */

/* Which of the dimensions before is the d-th one now. */
static int source_dimension(int rank, int channels, int d) {
    return d == rank - 1 ? channels : d < channels ? d : d + 1;
}

static const Tensor *transpose_tensor(Transposition *transposition, const Tensor *tensor, int channels) {
    Arena *arena = transposition->arena;
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

static Expr *transpose_read(Arena *arena, Expr *e, void *context) {
    const Transposition *transposition = context;
    int number = e->kind == EXPR_READ ? number_of(transposition, e->tensor) : 0;
    if (e->kind != EXPR_READ || transposition->channels[number] < 0)
        return e;
    Expr *copy = expr_copy(arena, e);
    copy->tensor = transposition->made[number];
    for (int d = 0; d < e->count; d++)
        copy->args[d] = e->args[source_dimension(e->count, transposition->channels[number], d)];
    return copy;
}

static const Stage *transpose_stage(Transposition *transposition, const Stage *stage) {
    Stage *copy = stage_rewrite_exprs(transposition->arena, stage, transpose_read, transposition);
    int number = number_of(transposition, stage->components[0].tensor), channels = transposition->channels[number];
    if (channels < 0)
        return copy;
    copy->components[0].tensor = transposition->made[number];
    copy->axes = ARENA_ARRAY(transposition->arena, const Var *, stage->axis_count);
    for (int a = 0; a < stage->axis_count; a++)
        copy->axes[a] = stage->axes[source_dimension(stage->axis_count, channels, a)];
    return copy;
}

static Program *make_program(Transposition *transposition) {
    const Program *from = transposition->program;
    Program *program = ARENA_NEW(transposition->arena, Program);
    *program = *from;
    program->tensors = transposition->made;
    program->stages = ARENA_ARRAY(transposition->arena, const Stage *, from->stage_count);
    for (int s = 0; s < from->stage_count; s++)
        program->stages[s] = transpose_stage(transposition, from->stages[s]);
    program_list_stages(transposition->arena, program);
    return program;
}

/* Returns how many. */
static int transpose_tensors(Transposition *transposition) {
    int count = 0;
    for (int t = 0; t < transposition->program->tensor_count; t++) {
        const Tensor *tensor = transposition->program->tensors[t];
        int channels = transposition->channels[t];
        transposition->made[t] = channels >= 0 ? transpose_tensor(transposition, tensor, channels) : tensor;
        count += channels >= 0;
    }
    return count;
}

static Transposition new_transposition(Arena *arena, const Program *program) {
    Transposition transposition = {.arena = arena, .program = program};
    int *numbers = ARENA_ARRAY(arena, int, program->tensor_count + 1);
    for (int t = 0; t < program->tensor_count; t++) {
        numbers[t] = t;
        address_map_set(arena, &transposition.numbers, program->tensors[t], &numbers[t]);
    }
    transposition.channels = ARENA_ARRAY(arena, int, program->tensor_count + 1);
    transposition.may = ARENA_ARRAY(arena, bool, program->tensor_count + 1);
    transposition.stays = ARENA_ARRAY(arena, bool, program->tensor_count + 1);
    transposition.made = ARENA_ARRAY(arena, const Tensor *, program->tensor_count + 1);
    return transposition;
}

/* The program with all transposed that may be; or, without ends, without what becomes a result element by element.
 * NULL: there is none. *count: how many are. */
static Program *program_transposed(Arena *arena, const Program *program, bool ends, int *count) {
    Transposition transposition = new_transposition(arena, program);
    find_possible(&transposition);
    if (!ends)
        find_staying(&transposition);
    find_channels(&transposition);
    *count = transpose_tensors(&transposition);
    return *count ? make_program(&transposition) : NULL;
}

static void add_transposed(Arena *arena, Unit *unit, Program *program, const char *name) {
    add_automatic(arena, unit, program, name);
    program->algorithms->only_lies = true;
}

/* Another alternative with its temporaries transposed: its algorithms, and the layout. */
static void add_transposed_of(Arena *arena, Unit *unit, const Program *other, Program *program, const char *name) {
    add_transposed(arena, unit, program, name);
    struct Algorithm layout = program->algorithms[0];
    program->algorithms = ARENA_ARRAY(arena, struct Algorithm, other->algorithm_count + 1);
    for (int i = 0; i < other->algorithm_count; i++)
        program->algorithms[i] = other->algorithms[i];
    program->algorithms[other->algorithm_count] = layout;
    program->algorithm_count = other->algorithm_count + 1;
}

void add_channels_last(Arena *arena, Unit *unit) {
    int all = 0, inner = 0, others = unit->alternative_count;
    bool possible = !unit->program->scan_count;
    Program *last = possible ? program_transposed(arena, unit->program, true, &all) : NULL;
    Program *inside = last ? program_transposed(arena, unit->program, false, &inner) : NULL;
    if (last)
        add_transposed(arena, unit, last, "channels_last");
    if (inside && inner < all)
        add_transposed(arena, unit, inside, "channels_inside");
    for (int i = 0; last && i < others; i++) {
        const Program *other = unit->alternatives[i];
        bool written = other->algorithm_count > 0 && !other->algorithms[0].automatic;
        Program *transposed = written ? program_transposed(arena, other, true, &all) : NULL;
        if (transposed)
            add_transposed_of(arena, unit, other, transposed, "channels_last");
    }
}
