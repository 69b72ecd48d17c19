/* kernel_run.c - see kernel_run.h. Walks statements and expressions; values of vectors are arrays of cells. */
#include "kernel_run.h"
#include "lang/expr.h"
#include "lang/value.h"
#include "lower/instr/instr.h"
#include "lower/kernel/statements.h"
#include <string.h>

/* One lane. */
typedef struct Cell {
    Value value;
    bool undefined;
} Cell;

typedef struct Buffer {
    const Tensor *tensor;
    char *data;
    bool *defined; /* NULL: all */
    int64_t elements;
    int64_t *dims;
    bool output;
    int64_t *written, *read; /* [elements] the iteration of a parallel loop that did so last; NULL: none did */
} Buffer;

typedef struct Run {
    const Kernel *kernel;
    Arena *arena;   /* for buffers and the fault */
    Arena *scratch; /* for cells, emptied before each statement */
    LIST(SizeValue) vars;
    LIST(Cell) scalars; /* beside vars */
    LIST(Buffer) buffers;
    int status;
    const char *fault;
    const Stmt *at;
    int64_t steps;
    int64_t iteration; /* of the parallel loop at hand, counted over all of them; 0: in none */
    int64_t first;     /* that of the loop's first one */
    int64_t counted;   /* iterations of parallel loops so far */
    int shared;        /* buffers that are older than the loop */
    const char *watched;
    bool built;     /* not flat yet */
    int64_t writes; /* of elements of buffers named `watched` */
} Run;

enum { STEP_LIMIT = 400000, ELEMENTS_A_STEP = 64 };

static void fault(Run *r, const char *what) {
    if (r->fault)
        return;
    Text text = {.arena = r->kernel->arena};
    if (r->at)
        stmt_print(&text, r->at);
    r->fault = arena_printf(r->kernel->arena, "%s in:\n%s", what, r->at ? text.text : "");
}

static bool stopped(const Run *r) {
    return r->fault || r->status;
}

/* --- buffers ------------------------------------------------------------------------------------------------------ */

static const Cell *eval(Run *r, const Expr *e);

static int64_t eval_index(Run *r, const Expr *e) {
    const Cell *cell = eval(r, e);
    if (cell->undefined)
        fault(r, "an undefined index, extent or condition");
    return cell->value.integer;
}

/* With what a layout pads and an alignment leaves out. */
static int64_t ordered_elements(Run *r, const Tensor *tensor) {
    int64_t elements = 1;
    for (int i = tensor->order->count - 1; i >= 0; i--) {
        elements += order_padding(&tensor->order->parts[i], elements);
        elements *= eval_index(r, order_extent(r->arena, tensor, i));
    }
    return elements;
}

static Buffer buffer_new(Run *r, const Tensor *tensor) {
    Buffer buffer = {.tensor = tensor, .elements = 1, .dims = ARENA_ARRAY(r->arena, int64_t, tensor->rank + 1)};
    for (int d = 0; d < tensor->rank; d++) {
        buffer.dims[d] = eval_index(r, tensor->dims[d]);
        buffer.elements *= buffer.dims[d] < 0 ? 0 : buffer.dims[d];
    }
    if (tensor->order)
        buffer.elements = ordered_elements(r, tensor);
    return buffer;
}

static Buffer *find_buffer(Run *r, const Tensor *tensor) {
    for (int i = r->buffers.count - 1; i >= 0; i--)
        if (r->buffers.items[i].tensor == tensor)
            return &r->buffers.items[i];
    fault(r, "a buffer that is not there");
    return NULL;
}

/* The element of one lane of an access; -1 and a fault when it is outside. */
static int64_t element_of(Run *r, const Buffer *buffer, const Cell *const *index, int count, int lane) {
    int64_t element = 0;
    for (int d = 0; d < count; d++) {
        int64_t extent = count == 1 ? buffer->elements : buffer->dims[d], at = index[d][lane].value.integer;
        if (index[d][lane].undefined || at < 0 || at >= extent) {
            fault(r, arena_printf(r->kernel->arena, "index %d of lane %d of %s is %lld, outside 0:%lld", d, lane,
                                  buffer->tensor->name, (long long)at, (long long)extent));
            return -1;
        }
        element = element * extent + at;
    }
    return element;
}

/* --- iterations of parallel loops: none may touch what another one writes ----------------------------------------- */

static bool is_shared(const Run *r, const Buffer *buffer) {
    return r->iteration && buffer - r->buffers.items < r->shared;
}

static bool is_other(const Run *r, int64_t iteration) {
    return iteration >= r->first && iteration != r->iteration;
}

/* Reads that several iterations of this loop did are kept as minus the first iteration's number. */
static void note_read(Run *r, Buffer *buffer, int64_t element) {
    if (!is_shared(r, buffer))
        return;
    if (!buffer->read)
        buffer->read = ARENA_ARRAY(r->arena, int64_t, buffer->elements);
    if (buffer->written && is_other(r, buffer->written[element]))
        fault(r, arena_printf(r->kernel->arena, "element %lld of %s is written by another iteration of a parallel loop",
                              (long long)element, buffer->tensor->name));
    int64_t *last = &buffer->read[element];
    *last = is_other(r, *last) || *last == -r->first ? -r->first : r->iteration;
}

static void note_write(Run *r, Buffer *buffer, int64_t element) {
    if (!is_shared(r, buffer))
        return;
    if (!buffer->written)
        buffer->written = ARENA_ARRAY(r->arena, int64_t, buffer->elements);
    bool read = buffer->read && (is_other(r, buffer->read[element]) || buffer->read[element] == -r->first);
    if (read || is_other(r, buffer->written[element]))
        fault(r, arena_printf(r->kernel->arena, "element %lld of %s is %s by another iteration of a parallel loop",
                              (long long)element, buffer->tensor->name, read ? "read" : "written"));
    buffer->written[element] = r->iteration;
}

/* --- expressions -------------------------------------------------------------------------------------------------- */

static Cell *cells(Run *r, int lanes) {
    return ARENA_ARRAY(r->scratch, Cell, lanes);
}

static const Cell *constant_cell(Run *r, Value value) {
    Cell *cell = cells(r, 1);
    cell->value = value;
    return cell;
}

static const Cell *eval_var(Run *r, const Expr *e) {
    for (int i = r->vars.count - 1; i >= 0; i--)
        if (r->vars.items[i].var == e->var)
            return &r->scalars.items[i];
    fault(r, "a variable without a value");
    return cells(r, 1);
}

static bool lane_is_on(Run *r, const Cell *guard, int lane) {
    if (guard && guard[lane].undefined)
        fault(r, "an undefined guard");
    return !guard || guard[lane].value.integer;
}

static bool is_inside_anyway(const Expr *index, int64_t extent) {
    Interval interval = expr_interval(index);
    return interval.has_low && interval.has_high && interval.low >= 0 && interval.high < extent;
}

/* An index may be made of what nothing wrote where it is inside whatever that holds, as in lanes and copies behind the
 * end: which element is read is open then, not whether there is one. The value counts as undefined. */
static bool reads_any_element(const Buffer *buffer, const Expr *e, const Cell *const *index, int lane) {
    bool any = false;
    for (int d = 0; d < e->count; d++) {
        if (!index[d][lane].undefined)
            continue;
        if (!is_inside_anyway(e->args[d], e->count == 1 ? buffer->elements : buffer->dims[d]))
            return false;
        any = true;
    }
    return any;
}

static const Cell *eval_read(Run *r, const Expr *e) {
    const Cell *guard = e->guard ? eval(r, e->guard) : NULL;
    const Cell **index = ARENA_ARRAY(r->scratch, const Cell *, e->count);
    Buffer *buffer = find_buffer(r, e->tensor);
    Cell *result = cells(r, e->lanes);
    for (int d = 0; d < e->count; d++)
        index[d] = eval(r, e->args[d]);
    for (int lane = 0; lane < e->lanes && !r->fault; lane++) {
        result[lane].value.type = e->type;
        if (!lane_is_on(r, guard, lane))
            continue;
        if ((result[lane].undefined = reads_any_element(buffer, e, index, lane)))
            continue;
        int64_t element = element_of(r, buffer, index, e->count, lane);
        if (element < 0)
            break;
        note_read(r, buffer, element);
        result[lane].value = value_load(e->type, buffer->data + element * element_info[e->type].bytes);
        result[lane].undefined = buffer->defined && !buffer->defined[element];
    }
    return result;
}

/* One lane of an operator; a choice takes nothing from what it does not choose. */
static Cell apply(Op op, const Cell *args, int count, ElementType type) {
    Cell result = {.value.type = type};
    if (op == OP_SELECT && !args[0].undefined)
        return args[args[0].value.integer ? 1 : 2];
    Value values[3];
    for (int i = 0; i < count; i++) {
        result.undefined |= args[i].undefined;
        values[i] = args[i].value;
    }
    if (op == OP_AND || op == OP_OR) /* the operand that decides alone does so */
        for (int i = 0; i < 2; i++)
            if (!args[i].undefined && args[i].value.integer == (op == OP_OR))
                return args[i];
    if (!result.undefined)
        result.value = value_apply(op, values);
    return result;
}

static const Cell *eval_op(Run *r, const Expr *e) {
    const Cell *args[3] = {NULL};
    Cell *result = cells(r, e->lanes);
    for (int i = 0; i < e->count; i++)
        args[i] = eval(r, e->args[i]);
    for (int lane = 0; lane < e->lanes && !r->fault; lane++) {
        Cell lane_args[3] = {{.undefined = false}};
        for (int i = 0; i < e->count; i++)
            lane_args[i] = args[i][lane];
        result[lane] = apply(e->op, lane_args, e->count, e->type);
    }
    return result;
}

static const Cell *eval_lanes(Run *r, const Expr *e) {
    const Cell *a = eval(r, e->args[0]), *stride = e->kind == EXPR_RAMP ? eval(r, e->args[1]) : NULL;
    Cell *result = cells(r, e->lanes);
    for (int lane = 0; lane < e->lanes; lane++) {
        result[lane] = a[e->kind == EXPR_CAST ? lane : 0];
        if (e->kind == EXPR_CAST && !result[lane].undefined)
            result[lane].value = value_cast(result[lane].value, e->type);
        result[lane].value.type = e->type;
        if (stride)
            result[lane].value.integer += lane * stride->value.integer;
    }
    return result;
}

static const Cell *eval_repeat(Run *r, const Expr *e) {
    const Cell *block = eval(r, e->args[0]);
    Cell *result = cells(r, e->lanes);
    for (int lane = 0; lane < e->lanes; lane++)
        result[lane] = block[lane % e->args[0]->lanes];
    return result;
}

static const Cell *eval_offset(Run *r, const Expr *e) {
    Cell *sum = cells(r, 1);
    *sum = (Cell){.value = {.type = TYPE_INT64, .integer = e->integer}};
    for (int i = 0; i < e->count; i++) {
        const Cell *part = eval(r, e->args[i]);
        sum->value.integer += part->value.integer;
        sum->undefined |= part->undefined;
    }
    return sum;
}

static const Cell *eval_shuffle(Run *r, const Expr *e) {
    const Cell **vectors = ARENA_ARRAY(r->scratch, const Cell *, e->count);
    Cell *result = cells(r, e->lanes);
    for (int i = 0; i < e->count; i++)
        vectors[i] = eval(r, e->args[i]);
    for (int lane = 0; lane < e->lanes; lane++) {
        int from = e->pattern[lane], lanes = e->args[0]->lanes;
        result[lane] =
            from < 0 ? (Cell){.value.type = e->type, .undefined = true} : vectors[from / lanes][from % lanes];
    }
    return result;
}

/* One element of an operand where the indices of a meaning have these values. */
static Cell operand_cell(const Instr *instr, const Cell *const *operands, const Expr *read, const int64_t *indices) {
    int operand = 0, element = 0;
    while (instr->operands[operand] != read->tensor)
        operand++;
    for (int d = 0; d < read->count; d++) {
        int index = instr_operand_index(instr, operand, d);
        element = element * (int)tensor_extent(read->tensor, d) + (int)indices[index];
    }
    return operands[operand][element];
}

static Cell eval_meaning(Run *r, const Expr *e, const Instr *instr, const Cell *const *operands,
                         const int64_t *indices) {
    Cell args[3];
    for (int i = 0; i < e->count && e->kind != EXPR_READ; i++)
        args[i] = eval_meaning(r, e->args[i], instr, operands, indices);
    switch (e->kind) {
    case EXPR_READ: return operand_cell(instr, operands, e, indices);
    case EXPR_OP: return apply(e->op, args, e->count, e->type);
    case EXPR_CAST:
        if (!args[0].undefined)
            args[0].value = value_cast(args[0].value, e->type);
        return args[0];
    default: return *eval(r, e);
    }
}

/* The next values of the indices, the last one fastest; false after the last. */
static bool next_indices(const Instr *instr, int64_t *indices) {
    for (int i = instr_index_count(instr) - 1; i >= 0; i--) {
        if (++indices[i] < instr_extent(instr, i))
            return true;
        indices[i] = 0;
    }
    return false;
}

static const Cell *eval_call(Run *r, const Expr *e) {
    const Instr *instr = e->instr;
    int first = !instr_accumulates(instr);
    const Cell **operands = ARENA_ARRAY(r->scratch, const Cell *, instr->operand_count);
    int64_t *indices = ARENA_ARRAY(r->scratch, int64_t, instr_index_count(instr) + 1);
    for (int i = first; i < instr->operand_count; i++)
        operands[i] = eval(r, e->args[i - first]);
    Cell *result = cells(r, e->lanes);
    for (int lane = 0; lane < e->lanes && !first; lane++)
        result[lane] = operands[0][lane];
    do {
        int lane = 0;
        for (int d = 0; d < instr->operands[0]->rank; d++)
            lane = lane * (int)tensor_extent(instr->operands[0], d) + (int)indices[d];
        Cell value = eval_meaning(r, instr->meaning->components[0].value, instr, operands, indices);
        Cell both[3] = {result[lane], value};
        result[lane] = first ? value : apply(combine_op(instr->meaning->combine), both, 2, e->type);
    } while (next_indices(instr, indices));
    return result;
}

static const Cell *eval(Run *r, const Expr *e) {
    switch (e->kind) {
    case EXPR_INT: return constant_cell(r, (Value){.type = e->type, .integer = e->integer});
    case EXPR_REAL: return constant_cell(r, (Value){.type = e->type, .real = e->real});
    case EXPR_VAR: return eval_var(r, e);
    case EXPR_READ: return r->fault ? cells(r, e->lanes) : eval_read(r, e);
    case EXPR_OP: return eval_op(r, e);
    case EXPR_REPEAT: return eval_repeat(r, e);
    case EXPR_SHUFFLE: return eval_shuffle(r, e);
    case EXPR_OFFSET: return eval_offset(r, e);
    case EXPR_CALL: return eval_call(r, e);
    default: return eval_lanes(r, e);
    }
}

/* --- statements --------------------------------------------------------------------------------------------------- */

static void run_body(Run *r, Stmt *const *body, int count);

/* Holds in all lanes, or not. */
static void run_check(Run *r, const Stmt *stmt) {
    const Cell *lanes = eval(r, stmt->condition);
    for (int lane = 0; lane < stmt->condition->lanes; lane++) {
        if (lanes[lane].undefined)
            fault(r, "an undefined condition");
        if (!lanes[lane].value.integer)
            r->status = stmt->status;
    }
}

/* What a store needs to know before it stores. */
typedef struct Pending {
    const Cell *value, *guard, **index;
} Pending;

static Pending eval_store(Run *r, const Stmt *stmt) {
    Pending pending = {eval(r, stmt->value), stmt->guard ? eval(r, stmt->guard) : NULL, NULL};
    pending.index = ARENA_ARRAY(r->scratch, const Cell *, stmt->index_count);
    for (int d = 0; d < stmt->index_count; d++)
        pending.index[d] = eval(r, stmt->index[d]);
    return pending;
}

static void finish_store(Run *r, const Stmt *stmt, const Pending *pending) {
    int lanes = stmt->value->lanes;
    const Cell *value = pending->value, *guard = pending->guard, **index = pending->index;
    Buffer *buffer = find_buffer(r, stmt->tensor);
    for (int lane = 0; lane < lanes && !r->fault; lane++) {
        if (!lane_is_on(r, guard, lane))
            continue;
        int64_t element = element_of(r, buffer, index, stmt->index_count, lane);
        if (element >= 0 && buffer->output && value[lane].undefined)
            fault(r, "an undefined value for an output");
        if (element >= 0)
            note_write(r, buffer, element);
        r->writes += r->watched && strcmp(stmt->tensor->name, r->watched) == 0;
        if (r->fault)
            return;
        if (!value[lane].undefined)
            value_store(value[lane].value, buffer->data + element * element_info[stmt->tensor->type].bytes);
        if (buffer->defined)
            buffer->defined[element] = !value[lane].undefined;
    }
}

static void run_store(Run *r, const Stmt *stmt) {
    Pending pending = eval_store(r, stmt);
    finish_store(r, stmt, &pending);
}

static void run_together(Run *r, const Stmt *stmt) {
    Pending *pending = ARENA_ARRAY(r->scratch, Pending, stmt->count);
    for (int i = 0; i < stmt->count; i++)
        pending[i] = eval_store(r, stmt->body[i]);
    for (int i = 0; i < stmt->count && !r->fault; i++)
        finish_store(r, stmt->body[i], &pending[i]);
}

static void run_for(Run *r, const Stmt *stmt) {
    int64_t extent = eval_index(r, stmt->extent), bound = eval_index(r, stmt->var->extent);
    if (extent > bound && extent > 0)
        fault(r, "an extent above the bound of its variable");
    list_push(r->arena, &r->vars, ((SizeValue){stmt->var, 0}));
    list_push(r->arena, &r->scalars, ((Cell){.value.type = TYPE_INT64}));
    bool parallel = stmt->loop == LOOP_PARALLEL && !r->iteration;
    if (parallel) {
        r->first = r->counted + 1;
        r->shared = r->buffers.count;
    }
    for (int64_t i = 0; i < extent && !stopped(r); i++) {
        int64_t value = stmt->loop == LOOP_PARALLEL ? extent - 1 - i : i;
        r->iteration = parallel ? ++r->counted : r->iteration;
        r->vars.items[r->vars.count - 1].value = value;
        r->scalars.items[r->scalars.count - 1].value.integer = value;
        run_body(r, stmt->body, stmt->count);
    }
    r->iteration = parallel ? 0 : r->iteration;
    r->vars.count--;
    r->scalars.count--;
}

static void run_allocate(Run *r, const Stmt *stmt) {
    Arena *outer = r->arena;
    r->arena = arena_new();
    Buffer buffer = buffer_new(r, stmt->tensor);
    r->steps += buffer.elements / ELEMENTS_A_STEP; /* clearing them takes time too */
    if (r->steps > STEP_LIMIT) {
        r->status = KERNEL_RUN_TOO_LONG;
        buffer.elements = 0;
    }
    buffer.data = arena_alloc(r->arena, (size_t)(buffer.elements * element_info[stmt->tensor->type].bytes) + 1);
    buffer.defined = ARENA_ARRAY(r->arena, bool, buffer.elements + 1);
    list_push(outer, &r->buffers, buffer);
    Arena *own = r->arena;
    r->arena = outer;
    run_body(r, stmt->body, stmt->count);
    r->buffers.count--;
    arena_free(own);
}

/* The nest's own tensors and numbers stand for those of the statement. */
static void run_shared(Run *r, const Stmt *stmt) {
    const SharedNest *nest = stmt->shared;
    int buffers = r->buffers.count;
    Buffer *own = ARENA_ARRAY(r->arena, Buffer, nest->tensor_count + 1);
    for (int i = 0; i < nest->tensor_count; i++) {
        const Buffer *buffer = find_buffer(r, stmt->tensors[i]);
        if (!buffer)
            return;
        own[i] = *buffer;
        own[i].tensor = nest->tensors[i];
    }
    for (int i = 0; i < nest->tensor_count; i++)
        list_push(r->arena, &r->buffers, own[i]);
    for (int i = 0; i < nest->number_count; i++) {
        const Cell *number = eval(r, stmt->numbers[i]);
        list_push(r->arena, &r->scalars, *number);
        list_push(r->arena, &r->vars, ((SizeValue){nest->numbers[i], number->value.integer}));
    }
    run_body(r, nest->kernel->body->body, nest->kernel->body->count);
    r->vars.count -= nest->number_count;
    r->scalars.count -= nest->number_count;
    r->buffers.count = buffers;
}

static void run_stmt(Run *r, const Stmt *stmt) {
    r->at = stmt;
    arena_reset(r->scratch);
    if (++r->steps > STEP_LIMIT)
        r->status = KERNEL_RUN_TOO_LONG;
    switch (stmt->kind) {
    case STMT_BLOCK: run_body(r, stmt->body, stmt->count); break;
    case STMT_FOR: run_for(r, stmt); break;
    case STMT_IF:
        if (eval_index(r, stmt->condition))
            run_body(r, stmt->body, stmt->count);
        else
            run_body(r, stmt->otherwise, stmt->otherwise_count);
        break;
    case STMT_STORE: run_store(r, stmt); break;
    case STMT_TOGETHER: run_together(r, stmt); break;
    case STMT_ALLOCATE: run_allocate(r, stmt); break;
    case STMT_CHECK: run_check(r, stmt); break;
    case STMT_PREFETCH: /* touches nothing, but its indices have values */
        for (int d = 0; d < stmt->index_count; d++)
            eval_index(r, stmt->index[d]);
        break;
    case STMT_STEP: break;
    case STMT_SHARED: run_shared(r, stmt); break;
    }
}

static void run_body(Run *r, Stmt *const *body, int count) {
    for (int i = 0; i < count && !stopped(r); i++)
        run_stmt(r, body[i]);
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

static bool holds_initial(const Program *program, const Tensor *output) {
    for (int i = 0; i < program->tensor_count; i++)
        if (program->tensors[i]->role == ROLE_INITIAL && program->tensors[i]->buffer == output)
            return true;
    return false;
}

static void add_tensor(Run *r, const Tensor *tensor, char *data) {
    Buffer buffer = buffer_new(r, tensor);
    buffer.data = data;
    buffer.output = tensor->role == ROLE_OUTPUT;
    bool padded = tensor->order; /* what an alignment leaves free stays as it was */
    if (buffer.output && !padded && !holds_initial(r->kernel->program, tensor))
        buffer.defined = ARENA_ARRAY(r->arena, bool, buffer.elements + 1);
    list_push(r->arena, &r->buffers, buffer);
}

static void add_argument(Run *r, const Argument *argument, void *data) {
    if (argument->scalar) {
        list_push(r->arena, &r->vars, ((SizeValue){argument->scalar, 0}));
        list_push(r->arena, &r->scalars, ((Cell){.value = value_load(argument->scalar->type, data)}));
    } else if (argument->part_count == 0) {
        add_tensor(r, argument->tensor, data);
    }
    for (int p = 0; p < argument->part_count; p++)
        add_tensor(r, argument->parts[p].tensor, (char *)data + eval_index(r, argument->parts[p].offset));
}

static void add_constant(Run *r, const Tensor *tensor) {
    if (tensor->role != ROLE_CONSTANT || (!tensor->data && !tensor->maker))
        return;
    Buffer buffer = buffer_new(r, tensor);
    Tensor rows = *tensor; /* before flattening an index is one of each dimension, whatever the order in memory */
    rows.order = r->built ? NULL : tensor->order;
    buffer.data = (char *)constant_contents(r->arena, &rows);
    list_push(r->arena, &r->buffers, buffer);
}

static void require_outputs(Run *r) {
    for (int i = 0; i < r->buffers.count && !stopped(r); i++)
        for (int64_t e = 0; r->buffers.items[i].defined && e < r->buffers.items[i].elements; e++)
            if (!r->buffers.items[i].defined[e])
                fault(r, arena_printf(r->kernel->arena, "element %lld of %s was not written", (long long)e,
                                      r->buffers.items[i].tensor->name));
}

static void run_kernel(Run *r, const int64_t *sizes, void *const *arguments) {
    const Program *program = r->kernel->program;
    r->arena = arena_new();
    r->scratch = arena_new();
    for (int i = 0; i < program->size_count; i++) {
        list_push(r->arena, &r->vars, ((SizeValue){program->sizes[i], sizes[i]}));
        list_push(r->arena, &r->scalars, ((Cell){.value = {.type = TYPE_INT64, .integer = sizes[i]}}));
    }
    for (int i = 0; i < program->argument_count; i++)
        add_argument(r, &program->arguments[i], arguments[i]);
    const Tensor **constants;
    int constant_count = kernel_constants(r->arena, r->kernel, &constants);
    for (int i = 0; i < program->tensor_count; i++)
        add_constant(r, program->tensors[i]);
    for (int i = 0; i < constant_count; i++)
        add_constant(r, constants[i]);
    run_body(r, r->kernel->body->body, r->kernel->body->count);
    r->at = NULL;
    require_outputs(r);
    arena_free(r->arena);
    arena_free(r->scratch);
}

int64_t kernel_run_writes(const Kernel *kernel, const int64_t *sizes, void *const *arguments, const char *watched,
                          int *status, const char **why) {
    Run r = {.kernel = kernel, .watched = watched};
    run_kernel(&r, sizes, arguments);
    *why = r.fault;
    *status = r.status;
    return r.writes;
}

int kernel_run(const Kernel *kernel, const int64_t *sizes, void *const *arguments, const char **why) {
    int status;
    kernel_run_writes(kernel, sizes, arguments, NULL, &status, why);
    return status;
}

int kernel_run_built(const Kernel *kernel, const int64_t *sizes, void *const *arguments, const char **why) {
    Run r = {.kernel = kernel, .built = true};
    run_kernel(&r, sizes, arguments);
    *why = r.fault;
    return r.status;
}
