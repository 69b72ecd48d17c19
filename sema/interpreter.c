/* interpreter.c - what a Program means: set-up, requirements, whole tensors and single elements.
 *
 * interpreter_internal.h says how it works. The caller's data are never changed. What is computed lives in the
 * interpreter's arena.
 */
#include "lang/diag.h"
#include "lang/stack.h"
#include "sema/interpreter_internal.h"

#include <string.h>

/* --- sizes and tensors -------------------------------------------------------------------------------------------- */

/* Sets the values that size expressions may use: sizes first, then scalars of integer types. */
static void set_sizes(Interpreter *interpreter, const int64_t *sizes) {
    const Program *program = interpreter->program;
    interpreter->sizes = ARENA_ARRAY(interpreter->arena, SizeValue, program->size_count + program->argument_count);
    for (int i = 0; i < program->size_count; i++)
        interpreter->sizes[interpreter->size_count++] = (SizeValue){program->sizes[i], sizes[i]};
    for (int i = 0; i < program->argument_count; i++) {
        const Var *scalar = program->arguments[i].scalar;
        if (scalar && !type_is_float(scalar->type))
            interpreter->sizes[interpreter->size_count++] =
                (SizeValue){scalar, value_load(scalar->type, interpreter->arguments[i]).integer};
    }
}

/* Extents below 0 count as 0. False if one has no value or the tensor does not fit into memory. */
static bool set_dims(Interpreter *interpreter, Storage *storage, const char **why) {
    const Tensor *tensor = storage->tensor;
    Arena *arena = interpreter->arena;
    storage->dims = ARENA_ARRAY(arena, int64_t, tensor->rank);
    storage->strides = ARENA_ARRAY(arena, int64_t, tensor->rank);
    storage->elements = 1;
    for (int d = tensor->rank - 1; d >= 0; d--) {
        int64_t dim;
        if (!expr_evaluate(tensor->dims[d], interpreter->sizes, interpreter->size_count, &dim)) {
            *why = arena_printf(arena, "dimension %d of %s overflows", d, tensor->name);
            return false;
        }
        storage->dims[d] = dim > 0 ? dim : 0;
        storage->strides[d] = storage->elements;
        if (__builtin_mul_overflow(storage->elements, storage->dims[d], &storage->elements) ||
            storage->elements > INT64_MAX / 64) {
            *why = arena_printf(arena, "%s does not fit into memory", tensor->name);
            return false;
        }
    }
    return true;
}

static char *argument_data(const Interpreter *interpreter, const Tensor *tensor, void *const *data) {
    const Program *program = interpreter->program;
    for (int i = 0; i < program->argument_count; i++)
        if (program->arguments[i].tensor == tensor)
            return data[i];
    return NULL;
}

/* Adds the tensors of the program's list, and initial contents, which may be missing from that list. */
static void add_storage(Interpreter *interpreter, const Tensor *tensor) {
    for (int i = 0; i < interpreter->storage_count; i++)
        if (interpreter->storages[i].tensor == tensor)
            return;
    Storage *storage = &interpreter->storages[interpreter->storage_count++];
    storage->tensor = tensor;
    storage->exact = true;
    if (tensor->role == ROLE_INPUT)
        storage->data = argument_data(interpreter, tensor, interpreter->arguments);
    else if (tensor->role == ROLE_CONSTANT)
        storage->data = (char *)tensor->data;
    else if (tensor->role == ROLE_INITIAL)
        storage->data = argument_data(interpreter, tensor->buffer, interpreter->arguments);
    else if (tensor->role == ROLE_OUTPUT && interpreter->results)
        storage->data = argument_data(interpreter, tensor, interpreter->results);
    storage->given = tensor->role == ROLE_OUTPUT && storage->data;
}

/* How many initial values are read; add: they get memory. */
static int visit_initial(Interpreter *interpreter, bool add) {
    int count = 0;
    for (int i = 0; i < interpreter->program->stage_count; i++)
        EACH_STAGE_READ(read, interpreter->program->stages[i]) {
            count += read->tensor->role == ROLE_INITIAL;
            if (add && read->tensor->role == ROLE_INITIAL)
                add_storage(interpreter, read->tensor);
        }
    return count;
}

static void add_storages(Interpreter *interpreter) {
    const Program *program = interpreter->program;
    int most = program->tensor_count + program->stage_count + visit_initial(interpreter, false);
    interpreter->storages = ARENA_ARRAY(interpreter->arena, Storage, most);
    for (int i = 0; i < program->tensor_count; i++)
        add_storage(interpreter, program->tensors[i]);
    for (int i = 0; i < program->stage_count; i++)
        for (int c = 0; c < program->stages[i]->component_count; c++)
            add_storage(interpreter, program->stages[i]->components[c].tensor);
    visit_initial(interpreter, true);
}

/* --- requirements ------------------------------------------------------------------------------------------------- */

/* A requirement that reads nothing and names no axis but has no value overflows or divides by 0: no call may have such
 * sizes. */
static bool reads_memory(const Requirement *requirement) {
    return expr_reads(requirement->condition) || requirement->axis_count > 0;
}

/* Checks the requirements over sizes only, before anything else has a value. */
static bool sizes_fit(Interpreter *interpreter, int *status, const char **why) {
    const Program *program = interpreter->program;
    for (int i = 0; i < program->size_count; i++)
        if (interpreter->sizes[i].value < 0) {
            *status = STATUS_BAD_SIZE;
            *why = arena_printf(interpreter->arena, "0 <= %s", program->sizes[i]->name);
            return false;
        }
    for (int i = 0; i < program->requirement_count; i++) {
        const Requirement *requirement = &program->requirements[i];
        int64_t holds = 0;
        bool known = expr_evaluate(requirement->condition, interpreter->sizes, interpreter->size_count, &holds);
        if (!holds && (known || !reads_memory(requirement))) {
            *status = requirement->status;
            *why = requirement->text;
            return false;
        }
    }
    return true;
}

/* Puts the next points at which the requirement may fail into the lanes; 0: there are no further ones. */
static int next_points(Interpreter *interpreter, StageCode *code, int64_t *first) {
    if (code->ends)
        return next_strip(interpreter, code, 0);
    int count = code->points - *first < STRIP ? (int)(code->points - *first) : STRIP;
    if (count > 0) /* else an axis may have no values */
        set_points(code, *first, count);
    *first += count;
    return count;
}

/* The lane of the last points at which the requirement does not hold; -1: it holds at all points. */
static int find_failing_lane(Interpreter *interpreter, StageCode *code) {
    int64_t first = 0;
    begin_strips(code);
    for (int count; (count = next_points(interpreter, code, &first)) > 0;) {
        run_points(interpreter, code, count);
        for (int l = 0; l < count; l++)
            if (!code->result.integer[l])
                return l;
    }
    return -1;
}

/* Adds what each integer tensor holds that the requirement reads there; the same value is told once. */
static void add_values_read(Text *text, const StageCode *code, int lane) {
    const Instruction *last = NULL;
    for (int i = 0; i < code->value.count; i++) {
        const Instruction *in = code->value.items[i];
        if (in->kind != CODE_READ || type_is_float(in->type))
            continue;
        long long value = (long long)in->result->integer[lane];
        if (last && last->load->source == in->load->source && last->result->integer[lane] == value)
            continue;
        text_add(text, "%s%s is %lld", last ? " and " : ", where ", in->load->source->tensor->name, value);
        last = in;
    }
}

/* "0 <= ids(b) < V, but not for b = 7, where ids is 99". */
static const char *describe_failure(Arena *arena, const Requirement *requirement, const StageCode *code, int lane) {
    Text text = {.arena = arena};
    text_add(&text, "%s%s", requirement->text, code->axis_count ? ", but not for " : "");
    for (int v = 0; v < code->axis_count; v++)
        text_add(&text, "%s%s = %lld", v ? ", " : "", code->variables[v]->name, (long long)code->lanes[v][lane]);
    add_values_read(&text, code, lane);
    return text.text;
}

/* Checks the requirements that read memory, for all values of their axes. */
static bool contents_fit(Interpreter *interpreter, int *status, const char **why) {
    const Program *program = interpreter->program;
    for (int i = 0; i < program->requirement_count; i++) {
        const Requirement *requirement = &program->requirements[i];
        int64_t known;
        if (expr_evaluate(requirement->condition, interpreter->sizes, interpreter->size_count, &known))
            continue;
        Stage *stage = stage_new(interpreter->arena, (Component){NULL, NULL, requirement->condition});
        stage->axis_count = requirement->axis_count;
        stage->axes = requirement->axes;
        StageCode *code = code_of_stage(interpreter, stage, NULL, why);
        *status = requirement->status;
        if (!code)
            return false;
        int lane = find_failing_lane(interpreter, code);
        if (lane < 0)
            continue;
        *why = describe_failure(interpreter->arena, requirement, code, lane);
        return false;
    }
    *status = STATUS_OK;
    *why = NULL;
    return true;
}

/* --- making ------------------------------------------------------------------------------------------------------- */

static bool set_up(Interpreter *interpreter, const int64_t *sizes, int *status, const char **why) {
    const Program *program = interpreter->program;
    set_sizes(interpreter, sizes);
    if (!sizes_fit(interpreter, status, why))
        return false;
    *status = STATUS_NO_MEMORY;
    add_storages(interpreter);
    for (int i = 0; i < interpreter->storage_count; i++) {
        Storage *storage = &interpreter->storages[i];
        if (!set_dims(interpreter, storage, why))
            return false;
        if (storage->tensor->role == ROLE_INITIAL && !storage->data && storage->elements) {
            *why = arena_printf(interpreter->arena, "%s has no initial contents", storage->tensor->buffer->name);
            return false;
        }
    }
    for (int i = 0; i < program->stage_count; i++) {
        const Stage *stage = program->stages[i];
        bool first = stage->scan && program->stages[stage->scan->first] == stage;
        if (stage->scan ? first && !compile_scan(interpreter, stage->scan, why)
                        : !compile_stage(interpreter, stage, why))
            return false;
    }
    return contents_fit(interpreter, status, why);
}

Interpreter *interpreter_of_results(const Program *program, const int64_t *sizes, void *const *arguments,
                                    void *const *results, int *status, const char **why) {
    Arena *arena = arena_new();
    Interpreter *interpreter = ARENA_NEW(arena, Interpreter);
    const char *reason = NULL;
    int result = STATUS_OK;
    interpreter->arena = arena;
    interpreter->program = program;
    interpreter->arguments = arguments;
    interpreter->results = results;
    bool fine = set_up(interpreter, sizes, &result, &reason);
    if (status)
        *status = result;
    if (why)
        *why = reason ? arena_strdup(program->arena, reason) : NULL;
    if (fine)
        return interpreter;
    arena_free(arena);
    return NULL;
}

Interpreter *interpreter_new(const Program *program, const int64_t *sizes, void *const *arguments, int *status,
                             const char **why) {
    return interpreter_of_results(program, sizes, arguments, NULL, status, why);
}

void interpreter_free(Interpreter *interpreter) {
    if (interpreter)
        arena_free(interpreter->arena);
}

/* --- asking ------------------------------------------------------------------------------------------------------- */

void interpreter_tensor(Interpreter *interpreter, const Tensor *tensor, void *data) {
    Storage *storage = storage_of(interpreter, tensor);
    StackLimit before = stack_widen(interpreter->program->stage_count);
    compute_whole(interpreter, storage);
    stack_restore(before);
    if (storage->elements)
        memcpy(data, storage->data, (size_t)storage->elements * (size_t)element_info[tensor->type].bytes);
}

static Evaluated element_at(Interpreter *interpreter, const Tensor *tensor, const int64_t *index,
                            Evaluated (*evaluate)(Interpreter *, Storage *, int64_t)) {
    Storage *storage = storage_of(interpreter, tensor);
    int64_t element = 0;
    for (int d = 0; d < tensor->rank; d++) {
        ENSURE(index[d] >= 0 && index[d] < storage->dims[d]);
        element += index[d] * storage->strides[d];
    }
    StackLimit before = stack_widen(interpreter->program->stage_count);
    Evaluated value = evaluate(interpreter, storage, element);
    stack_restore(before);
    return value;
}

Evaluated interpreter_element(Interpreter *interpreter, const Tensor *tensor, const int64_t *index) {
    return element_at(interpreter, tensor, index, evaluated_element);
}

Evaluated interpreter_step(Interpreter *interpreter, const Tensor *tensor, const int64_t *index) {
    return element_at(interpreter, tensor, index, computed_element);
}

bool interpreter_is_exact(Interpreter *interpreter, const Tensor *tensor) {
    return storage_of(interpreter, tensor)->exact;
}

double interpreter_step_cost(const Interpreter *interpreter, const Tensor *tensor) {
    const StageCode *code = storage_of((Interpreter *)interpreter, tensor)->code;
    return code->operations * (double)code->reduction_points;
}

double interpreter_cost(const Program *program, const int64_t *sizes) {
    double total = 0;
    Arena *arena = arena_new();
    Interpreter interpreter = {.arena = arena, .program = program};
    interpreter.sizes = ARENA_ARRAY(arena, SizeValue, program->size_count);
    for (int i = 0; i < program->size_count; i++)
        interpreter.sizes[interpreter.size_count++] = (SizeValue){program->sizes[i], sizes[i]};
    for (int i = 0; i < program->stage_count; i++) {
        const Stage *stage = program->stages[i];
        double points = 1, operations = 1; /* of one value, and its combining */
        for (int v = 0; v < stage->axis_count + stage->reduction_count; v++) {
            const Var *var = v < stage->axis_count ? stage->axes[v] : stage->reductions[v - stage->axis_count];
            int64_t extent;
            if (v < stage->axis_count && stage_scatters(stage, v))
                continue;
            bool known = expr_evaluate(var->extent, interpreter.sizes, interpreter.size_count, &extent);
            points *= !known ? 1e9 : extent > 0 ? (double)extent : 0;
        }
        EACH_VALUE_EXPR(e, stage)
            operations += e->kind == EXPR_OP || e->kind == EXPR_CAST;
        total += points * operations;
    }
    arena_free(arena);
    return total;
}
