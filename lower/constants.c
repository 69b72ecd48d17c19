/* constants.c - the contents of constants that stages over others make: by the interpreter, which says what a program
 * means, or, for copies, which are large, by walking through the elements.
 */
#include "lang/diag.h"
#include "lower/passes.h"
#include "sema/interpreter.h"

#include <string.h>

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

/* The bytes of a constant; NULL when it is none. */
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
    const Expr *read = stage->value;
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
    copy->from = row_major(arena, read->tensor);
    return true;
}

/* The element that a copy reads where its axes have these values. */
static const char *copied_element(const Copy *copy, const int64_t *at) {
    int64_t element = 0;
    for (int d = 0; d < copy->read->count; d++) {
        int64_t index = copy->start[d];
        for (int a = 0; a < copy->rank; a++)
            index += copy->slopes[d * copy->rank + a] * at[a];
        if (copy->otherwise && (index < 0 || index >= copy->extents[d]))
            return copy->otherwise;
        element = element * copy->extents[d] + index;
    }
    return copy->from + element * copy->bytes;
}

/* The next point in row-major order. */
static void next_point(const Tensor *tensor, int64_t *at) {
    for (int d = tensor->rank - 1; d >= 0 && ++at[d] == extent_of(tensor->dims[d]); d--)
        at[d] = 0;
}

static const void *make_copy(Arena *arena, const Tensor *tensor, const Copy *copy) {
    int64_t count = count_of(tensor), *at = ARENA_ARRAY(arena, int64_t, tensor->rank + 1);
    char *data = arena_alloc(arena, (size_t)(count * copy->bytes) + 1);
    for (int64_t i = 0; i < count; i++, next_point(tensor, at))
        memcpy(data + i * copy->bytes, copied_element(copy, at), (size_t)copy->bytes);
    return data;
}

/* --- anything else ------------------------------------------------------------------------------------------------ */

typedef struct Given {
    LIST(const Tensor *) named; /* as the stage reads them */
    LIST(const Tensor *) known; /* the same with their data, in the order of their dimensions */
} Given;

static Expr *read_known(Arena *arena, Expr *e, void *context) {
    Given *given = context;
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

static const void *interpret(Arena *arena, const Tensor *tensor) {
    Given given = {0};
    const Stage *stage = stage_rewrite_exprs(arena, tensor->maker, read_known, &given);
    list_push(arena, &given.known, stage->tensor);
    Program program = {.arena = arena,
                       .name = tensor->name,
                       .symbol = tensor->name,
                       .tensor_count = given.known.count,
                       .tensors = given.known.items,
                       .stage_count = 1,
                       .stages = &stage};
    const char *why = "";
    int status = 0;
    Interpreter *interpreter = interpreter_new(&program, NULL, NULL, &status, &why);
    if (!interpreter)
        INTERNAL_ERROR("the constant %s cannot be computed: %s", tensor->name, why);
    void *data = arena_alloc(arena, (size_t)(count_of(tensor) * element_info[tensor->type].bytes) + 1);
    interpreter_tensor(interpreter, stage->tensor, data);
    interpreter_free(interpreter);
    return data;
}

/* --- the order in memory ------------------------------------------------------------------------------------------ */

static const void *row_major(Arena *arena, const Tensor *tensor) {
    Copy copy;
    if (!tensor->maker)
        return tensor->data;
    return read_copy(arena, tensor->maker, &copy) ? make_copy(arena, tensor, &copy) : interpret(arena, tensor);
}

static int64_t ordered_element(const Tensor *tensor, const int64_t *strides, const int64_t *at) {
    int64_t element = 0;
    for (int i = 0; i < tensor->order->count; i++) {
        const OrderPart *part = &tensor->order->parts[i];
        int64_t index = at[part->dimension] / part->divisor;
        element += (part->modulus ? index % part->modulus : index) * strides[i];
    }
    return element;
}

/* What padding and alignment leave free is 0. */
static const void *in_order(Arena *arena, const Tensor *tensor, const char *rows) {
    int bytes = element_info[tensor->type].bytes;
    int64_t count = count_of(tensor), padding, *at = ARENA_ARRAY(arena, int64_t, tensor->rank + 1);
    int64_t *strides = ARENA_ARRAY(arena, int64_t, tensor->order->count + 1);
    for (int i = 0; i < tensor->order->count; i++)
        strides[i] = order_stride(tensor, i, &padding);
    char *data = arena_alloc(arena, (size_t)(tensor_elements(tensor) * bytes) + 1);
    memset(data, 0, (size_t)(tensor_elements(tensor) * bytes));
    for (int64_t i = 0; i < count; i++, next_point(tensor, at))
        memcpy(data + ordered_element(tensor, strides, at) * bytes, rows + i * bytes, (size_t)bytes);
    return data;
}

const void *constant_contents(Arena *arena, const Tensor *tensor) {
    const void *rows = row_major(arena, tensor);
    return tensor->order ? in_order(arena, tensor, rows) : rows;
}

/* --- which there are ---------------------------------------------------------------------------------------------- */

typedef struct Found {
    Arena *arena;
    const Program *program;
    LIST(const Tensor *) tensors;
} Found;

static bool note_constant(const Expr *e, void *context) {
    Found *found = context;
    if (e->kind != EXPR_READ || e->tensor->role != ROLE_CONSTANT || !e->tensor->maker)
        return true;
    for (int i = 0; i < found->tensors.count; i++)
        if (found->tensors.items[i] == e->tensor)
            return true;
    for (int i = 0; i < found->program->argument_count; i++)
        if (found->program->arguments[i].tensor == e->tensor)
            return true; /* packed by the caller */
    list_push(found->arena, &found->tensors, e->tensor);
    return true;
}

static void note_expr(Expr *e, void *context) {
    expr_walk(e, note_constant, context);
}

static bool note_stmt(Stmt *stmt, void *context) {
    stmt_exprs(stmt, note_expr, context);
    return true;
}

int kernel_constants(Arena *arena, const Kernel *kernel, const Tensor ***list) {
    Found found = {.arena = arena, .program = kernel->program};
    stmt_walk(kernel->body, note_stmt, &found);
    *list = found.tensors.items;
    return found.tensors.count;
}
