/* constants.c - the contents of constants that stages make from others: by the interpreter, which defines what a
 * program means, or for copies, which are large, by walking through the elements.
 */
#include "lang/diag.h"
#include "lower/kernel/statements.h"
#include "sema/interpreter.h"

#include <string.h>

enum { CHOICES_LIMIT = 16 };

static const void *row_major(Arena *arena, const Tensor *tensor);

static int64_t extent_of(const Expr *e) {
    int64_t extent = 0;
    ENSURE(expr_is_int(e, &extent));
    return extent > 0 ? extent : 0;
}

static int64_t count_of(const Tensor *tensor) {
    int64_t elements = 1;
    for (int d = 0; d < tensor->rank; d++)
        elements *= extent_of(tensor->dims[d]);
    return elements;
}

/* --- copies ------------------------------------------------------------------------------------------------------- */

/* A read whose indices are sums of axes: element = start + what each axis adds. */
typedef struct Copy {
    const Expr *read;
    int rank;         /* of what is made */
    int64_t *start;   /* [dimension of the source] */
    int64_t *slopes;  /* [dimension of the source][axis] */
    int64_t *extents; /* [dimension of the source] */
    const char *from, *otherwise;
    int bytes;
} Copy;

static bool add_term(Copy *copy, const Stage *stage, int d, const Term *term) {
    for (int a = 0; a < stage->axis_count; a++)
        if (term->atom->kind == EXPR_VAR && term->atom->var == stage->axes[a]) {
            copy->slopes[d * copy->rank + a] += term->coefficient;
            return true;
        }
    return false;
}

/* The bytes of a constant expression; NULL for any other. */
static const char *constant_bytes(Arena *arena, const Expr *e, ElementType type) {
    if (e->kind != EXPR_INT && e->kind != EXPR_REAL)
        return NULL;
    char *bytes = arena_alloc(arena, 8);
    Value value = {.type = type};
    if (e->kind == EXPR_REAL)
        value.real = e->real;
    else
        value.integer = e->integer;
    value_store(value, bytes);
    return bytes;
}

static bool read_copy(Arena *arena, const Stage *stage, Copy *copy) {
    const Expr *read = stage->components[0].value;
    if (read->kind != EXPR_READ || stage->combine != COMBINE_NONE)
        return false;
    *copy = (Copy){.read = read, .rank = stage->axis_count, .bytes = element_info[read->type].bytes};
    copy->start = ARENA_ARRAY(arena, int64_t, read->count);
    copy->extents = ARENA_ARRAY(arena, int64_t, read->count);
    copy->slopes = ARENA_ARRAY(arena, int64_t, read->count * copy->rank);
    for (int d = 0; d < read->count; d++) {
        Affine sum;
        if (!expr_affine(arena, read->args[d], &sum))
            return false;
        copy->start[d] = sum.constant;
        copy->extents[d] = extent_of(read->tensor->dims[d]);
        for (int t = 0; t < sum.count; t++)
            if (!add_term(copy, stage, d, &sum.terms[t]))
                return false;
    }
    if (read->otherwise && !(copy->otherwise = constant_bytes(arena, read->otherwise, read->type)))
        return false;
    return true;
}

/* A row is a run along the last axis. */

/* Moves on to the next row in row-major order. */
static void next_row(const Tensor *tensor, int64_t *at) {
    for (int d = tensor->rank - 2; d >= 0 && ++at[d] == extent_of(tensor->dims[d]); d--)
        at[d] = 0;
}

static int64_t row_length(const Tensor *tensor) {
    return tensor->rank > 0 ? extent_of(tensor->dims[tensor->rank - 1]) : 1;
}

/* Narrows [*first, *last) to the points of a row where start + slope * point is within the extent. */
static void narrow(int64_t start, int64_t slope, int64_t extent, int64_t *first, int64_t *last) {
    int64_t low = 0, high = *last; /* of the points within */
    if (slope == 0)
        high = start >= 0 && start < extent ? high : 0;
    else if (slope > 0)
        low = -floor_div(start, slope), high = floor_div(extent - 1 - start, slope) + 1;
    else
        low = -floor_div(extent - 1 - start, -slope), high = floor_div(start, -slope) + 1;
    *first = low > *first ? low : *first;
    *last = high < *last ? high : *last;
}

/* Becomes a loop over words where bytes is constant. */
static inline void copy_run(char *to, const char *from, int64_t step, int64_t count, size_t bytes) {
    if (step == (int64_t)bytes) {
        memcpy(to, from, (size_t)count * bytes);
        return;
    }
    for (int64_t i = 0; i < count; i++)
        memcpy(to + i * (int64_t)bytes, from + i * step, bytes);
}

static void copy_row(const Copy *copy, const int64_t *at, int64_t length, char *to) {
    int64_t element = 0, step = 0, first = 0, last = length;
    for (int d = 0; d < copy->read->count; d++) {
        int64_t index = copy->start[d], slope = copy->rank ? copy->slopes[d * copy->rank + copy->rank - 1] : 0;
        for (int a = 0; a < copy->rank - 1; a++)
            index += copy->slopes[d * copy->rank + a] * at[a];
        if (copy->otherwise)
            narrow(index, slope, copy->extents[d], &first, &last);
        element = element * copy->extents[d] + index;
        step = step * copy->extents[d] + slope;
    }
    size_t bytes = (size_t)copy->bytes;
    first = first < length ? first : length;
    last = last > first ? last : first;
    copy_run(to, copy->otherwise, 0, first, bytes);
    copy_run(to + last * copy->bytes, copy->otherwise, 0, length - last, bytes);
    const char *from = copy->from + (element + first * step) * copy->bytes;
    if (bytes == sizeof(float))
        copy_run(to + first * copy->bytes, from, step * copy->bytes, last - first, sizeof(float));
    else
        copy_run(to + first * copy->bytes, from, step * copy->bytes, last - first, bytes);
}

/* The rows of a tensor, one after another. Those of a copy are made on demand. */
typedef struct TensorRows {
    const Copy *copy; /* or NULL */
    const char *data; /* all of them, or room for one */
    int64_t length;
    int bytes; /* of an element */
} TensorRows;

/* The row of elements from `first` on, at the indices `at` without the last. */
static const char *row_at(const TensorRows *rows, int64_t first, const int64_t *at) {
    if (!rows->copy)
        return rows->data + first * rows->bytes;
    copy_row(rows->copy, at, rows->length, (char *)rows->data);
    return rows->data;
}

static const void *make_copy(Arena *arena, const Tensor *tensor, const Copy *copy) {
    int64_t count = count_of(tensor), length = row_length(tensor), *at = ARENA_ARRAY(arena, int64_t, tensor->rank + 1);
    char *data = arena_alloc(arena, (size_t)(count * copy->bytes) + 1);
    for (int64_t i = 0; i < count; i += length, next_row(tensor, at))
        copy_row(copy, at, length, data + i * copy->bytes);
    return data;
}

/* --- anything else ------------------------------------------------------------------------------------------------ */

typedef struct GivenTensors {
    LIST(const Tensor *) named; /* as the stage reads them */
    LIST(const Tensor *) known; /* the same tensors with their data, row major */
} GivenTensors;

static Expr *read_known(Arena *arena, Expr *e, void *context) {
    GivenTensors *given = context;
    if (e->kind != EXPR_READ)
        return e;
    int i = 0;
    while (i < given->named.count && given->named.items[i] != e->tensor)
        i++;
    if (i == given->named.count) {
        Tensor *known = ARENA_NEW(arena, Tensor);
        *known = *e->tensor;
        known->order = NULL;
        known->maker = NULL;
        known->data = row_major(arena, e->tensor);
        list_push(arena, &given->named, e->tensor);
        list_push(arena, &given->known, known);
    }
    return expr_read(arena, given->known.items[i], e->args, e->otherwise);
}

static void run_stage(Arena *arena, const GivenTensors *given, const Stage *stage, void *data) {
    const Tensor *tensor = stage->components[0].tensor,
                 **tensors = ARENA_ARRAY(arena, const Tensor *, given->known.count + 1);
    for (int i = 0; i < given->known.count; i++)
        tensors[i] = given->known.items[i];
    tensors[given->known.count] = tensor;
    Program program = {.arena = arena,
                       .name = tensor->name,
                       .symbol = tensor->name,
                       .tensor_count = given->known.count + 1,
                       .tensors = tensors,
                       .stage_count = 1,
                       .stages = &stage};
    const char *why = "";
    int status = 0;
    Interpreter *interpreter = interpreter_new(&program, NULL, NULL, &status, &why);
    if (!interpreter)
        INTERNAL_ERROR("the constant %s cannot be computed: %s", tensor->name, why);
    interpreter_values_only(interpreter);
    interpreter_tensor(interpreter, tensor, data);
    interpreter_free(interpreter);
}

/* The axis that a select compares with a constant; -1: none. */
static int choosing_axis(const Stage *stage) {
    int axis = -1;
    EACH_EXPR(e, stage->components[0].value) {
        const Expr *condition = expr_is_op(e, OP_SELECT) ? e->args[0] : NULL;
        if (!condition || !expr_is_op(condition, OP_EQ) || !expr_is_int(condition->args[1], NULL))
            continue;
        for (int a = 0; a < stage->axis_count; a++)
            if (condition->args[0]->kind == EXPR_VAR && condition->args[0]->var == stage->axes[a] &&
                extent_of(stage->axes[a]->extent) <= CHOICES_LIMIT)
                axis = a;
    }
    return axis;
}

/* The stage at one value of an axis, whose extent becomes 1. */
static const Stage *stage_at(Arena *arena, const Stage *stage, int axis, int64_t value) {
    Substitution at = {stage->axes[axis], expr_int(arena, value)};
    Stage *part = stage_copy(arena, stage);
    Tensor *tensor = ARENA_NEW(arena, Tensor);
    *tensor = *stage->components[0].tensor;
    part->components[0].tensor = tensor;
    part->components[0].value = expr_substitute(arena, stage->components[0].value, &at, 1);
    const Var **axes = ARENA_ARRAY(arena, const Var *, stage->axis_count);
    Expr **dims = ARENA_ARRAY(arena, Expr *, stage->axis_count);
    memcpy(axes, stage->axes, sizeof *axes * (size_t)stage->axis_count);
    memcpy(dims, stage->components[0].tensor->dims, sizeof *dims * (size_t)stage->axis_count);
    dims[axis] = expr_int(arena, 1);
    axes[axis] = var_new(arena, VAR_AXIS, TYPE_INT64, stage->axes[axis]->name, dims[axis]);
    part->axes = axes;
    tensor->dims = dims;
    return part;
}

/* If an axis chooses among cases, computes one case after another: the interpreter would compute all for each
 * element. */
static void compute(Arena *arena, const GivenTensors *given, const Stage *stage, char *data) {
    int axis = stage->combine == COMBINE_NONE ? choosing_axis(stage) : -1;
    if (axis < 0) {
        run_stage(arena, given, stage, data);
        return;
    }
    int64_t extent = extent_of(stage->components[0].tensor->dims[axis]), outer = 1;
    size_t run = (size_t)element_info[stage->components[0].tensor->type].bytes;
    for (int d = 0; d < axis; d++)
        outer *= extent_of(stage->components[0].tensor->dims[d]);
    for (int d = axis + 1; d < stage->components[0].tensor->rank; d++)
        run *= (size_t)extent_of(stage->components[0].tensor->dims[d]);
    for (int64_t v = 0; v < extent; v++) {
        Arena *scratch = arena_new();
        char *part = arena_alloc(scratch, (size_t)outer * run + 1);
        compute(scratch, given, stage_at(scratch, stage, axis, v), part);
        for (int64_t o = 0; o < outer; o++)
            memcpy(data + (size_t)(o * extent + v) * run, part + (size_t)o * run, run);
        arena_free(scratch);
    }
}

/* Runs in an arena of its own: what the constant is made of may be as large, and is then no longer needed. */
static const void *interpret(Arena *arena, const Tensor *tensor) {
    Arena *scratch = arena_new();
    GivenTensors given = {0};
    const Stage *stage = stage_rewrite_exprs(scratch, tensor->maker, read_known, &given);
    char *data = arena_alloc(arena, (size_t)(count_of(tensor) * element_info[tensor->type].bytes) + 1);
    compute(scratch, &given, stage, data);
    arena_free(scratch);
    return data;
}

/* --- the order in memory ------------------------------------------------------------------------------------------ */

static const void *row_major(Arena *arena, const Tensor *tensor) {
    Copy copy;
    if (!tensor->maker || tensor->data)
        return tensor->data;
    if (!read_copy(arena, tensor->maker, &copy))
        return interpret(arena, tensor);
    Arena *scratch = arena_new();
    copy.from = row_major(scratch, copy.read->tensor);
    const void *data = make_copy(arena, tensor, &copy);
    arena_free(scratch);
    return data;
}

static TensorRows rows_of(Arena *arena, const Tensor *tensor, Copy *copy) {
    TensorRows rows = {.length = row_length(tensor), .bytes = element_info[tensor->type].bytes};
    if (tensor->maker && !tensor->data && read_copy(arena, tensor->maker, copy)) {
        copy->from = row_major(arena, copy->read->tensor);
        rows.copy = copy;
        rows.data = arena_alloc(arena, (size_t)(rows.length * rows.bytes) + 1);
    } else {
        rows.data = row_major(arena, tensor);
    }
    return rows;
}

/* What each index of a dimension adds to an element's place. Each part of an order has one dimension. */
static int64_t *places_of(Arena *arena, const Tensor *tensor, int dimension) {
    int64_t extent = extent_of(tensor->dims[dimension]), padding, *places = ARENA_ARRAY(arena, int64_t, extent + 1);
    for (int p = 0; p < tensor->order->count; p++) {
        const OrderPart *part = &tensor->order->parts[p];
        int64_t stride = order_stride(tensor, p, &padding);
        for (int64_t i = 0; i < extent && part->dimension == dimension; i++)
            places[i] += (part->modulus ? i / part->divisor % part->modulus : i / part->divisor) * stride;
    }
    return places;
}

/* How many neighbours stay neighbours: a row consists of pieces of so many elements. */
static int64_t piece_length(const int64_t *places, int64_t length) {
    int64_t piece = 1;
    while (piece < length && places[piece] == places[0] + piece)
        piece++;
    for (int64_t i = 0; i < length; i++)
        if (length % piece != 0 || places[i] != places[i - i % piece] + i % piece)
            return 1;
    return piece;
}

static void scatter_row(char *to, const char *from, const int64_t *places, int64_t length, int64_t piece, int bytes) {
    for (int64_t i = 0; i < length; i += piece)
        memcpy(to + places[i] * bytes, from + i * bytes, (size_t)(piece * bytes));
}

static void store_rows(Arena *arena, const Tensor *tensor, const TensorRows *rows, char *to) {
    int64_t count = count_of(tensor), *at = ARENA_ARRAY(arena, int64_t, tensor->rank + 1);
    for (int64_t i = 0; i < count; i += rows->length, next_row(tensor, at))
        memcpy(to + i * rows->bytes, row_at(rows, i, at), (size_t)(rows->length * rows->bytes));
}

/* Does not touch padding. */
static void store_in_order(Arena *arena, const Tensor *tensor, const TensorRows *rows, char *to) {
    int bytes = rows->bytes;
    int64_t count = count_of(tensor), length = rows->length, *at = ARENA_ARRAY(arena, int64_t, tensor->rank + 1);
    int64_t **places = ARENA_ARRAY(arena, int64_t *, tensor->rank + 1), nowhere = 0;
    for (int d = 0; d < tensor->rank; d++)
        places[d] = places_of(arena, tensor, d);
    const int64_t *last = tensor->rank > 0 ? places[tensor->rank - 1] : &nowhere;
    int64_t piece = piece_length(last, length);
    for (int64_t i = 0; i < count; i += length, next_row(tensor, at)) {
        int64_t place = 0;
        for (int d = 0; d < tensor->rank - 1; d++)
            place += places[d][at[d]];
        scatter_row(to + place * bytes, row_at(rows, i, at), last, length, piece, bytes);
    }
}

void constant_store(const Tensor *tensor, void *to) {
    Arena *scratch = arena_new();
    Copy copy;
    TensorRows rows = rows_of(scratch, tensor, &copy);
    if (tensor->order)
        store_in_order(scratch, tensor, &rows, to);
    else
        store_rows(scratch, tensor, &rows, to);
    arena_free(scratch);
}

const void *constant_contents(Arena *arena, const Tensor *tensor) {
    if (!tensor->order)
        return row_major(arena, tensor);
    char *contents = arena_alloc(arena, (size_t)(tensor_elements(tensor) * element_info[tensor->type].bytes) + 1);
    constant_store(tensor, contents);
    return contents;
}

/* --- which are the same ------------------------------------------------------------------------------------------- */

static void key_numbers(Text *text, const int64_t *numbers, int count) {
    for (int i = 0; i < count; i++)
        text_add(text, "%lld ", (long long)numbers[i]);
    text_add(text, ";");
}

/* The key of a copy names its source, and where it copies from. Known contents, which live as long as the program, have
 * their address as key. */
static bool key_rows(Arena *arena, const Tensor *tensor, Text *text) {
    Copy copy;
    for (int d = 0; d < tensor->rank; d++)
        text_add(text, "%lld ", (long long)extent_of(tensor->dims[d]));
    if (!tensor->maker || tensor->data) {
        text_add(text, "%p", tensor->data);
        return tensor->data != NULL;
    }
    if (!read_copy(arena, tensor->maker, &copy))
        return false;
    const Tensor *source = copy.read->tensor;
    key_numbers(text, copy.start, source->rank);
    key_numbers(text, copy.slopes, source->rank * copy.rank);
    for (int i = 0; copy.otherwise && i < copy.bytes; i++)
        text_add(text, "%02x", (unsigned)(unsigned char)copy.otherwise[i]);
    text_add(text, " of ");
    return key_rows(arena, source, text);
}

const char *constant_key(Arena *arena, const Tensor *tensor) {
    Text text = {.arena = arena};
    text_add(&text, "%d ", tensor->type);
    if (tensor->order)
        order_print(&text, tensor->order);
    text_add(&text, " ");
    return key_rows(arena, tensor, &text) ? text.text : NULL;
}

void know_constants(Arena *arena, Program *program, const Target *target) {
    const Nest *nest = program->known ? NULL : nest_build(arena, program, NULL, NULL, target, NULL);
    if (!nest)
        return;
    const void **known = ARENA_ARRAY(arena, const void *, program->stage_count + 1);
    for (int i = 0; i < nest->stage_count; i++) {
        const NestStage *stage = nest->stages[i];
        int number = program_stage_index(program, program_find_stage(program, stage->stage->name));
        if (!stage->constant || stage->buffers[0]->maker->components[0].value->kind == EXPR_READ || number < 0)
            continue;
        Tensor *buffer = (Tensor *)stage->buffers[0]; /* this nest's own: later stages read its contents */
        known[number] = buffer->data = row_major(arena, buffer);
    }
    program->known = known;
}

/* --- which there are ---------------------------------------------------------------------------------------------- */

typedef struct FoundConstants {
    Arena *arena;
    const Program *program;
    LIST(const Tensor *) tensors;
} FoundConstants;

static void note_tensor(FoundConstants *found, const Tensor *tensor) {
    if (tensor->role != ROLE_CONSTANT || !tensor->maker)
        return;
    for (int i = 0; i < found->tensors.count; i++)
        if (found->tensors.items[i] == tensor)
            return;
    if (!program_is_given(found->program, tensor)) /* packed by the caller */
        list_push(found->arena, &found->tensors, tensor);
}

static void note_constants(FoundConstants *found, Stmt *body) {
    EACH_STMT(s, body) {
        if (s->kind == STMT_PREFETCH) /* simplification may have removed all reads of it */
            note_tensor(found, s->tensor);
        for (int t = 0; s->shared && t < s->shared->tensor_count; t++)
            note_tensor(found, s->tensors[t]);
        EACH_STMT_READ(read, s)
            note_tensor(found, read->tensor);
    }
}

int kernel_constants(Arena *arena, const Kernel *kernel, const Tensor ***list) {
    FoundConstants found = {.arena = arena, .program = kernel->program};
    note_constants(&found, kernel->body);
    for (int n = 0; n < kernel->shared.count; n++)
        note_constants(&found, kernel->shared.items[n]->kernel->body);
    *list = found.tensors.items;
    return found.tensors.count;
}
