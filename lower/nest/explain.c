/* explain.c - what people want to know of a nest beside its loops: the size of each buffer, and how many bytes of each
 * tensor one iteration of each loop touches.
 *
 * A footprint is that of the widest read of the tensor in the body, including the stages that are computed there.
 * Several reads side by side may touch a little more. Buffers in registers are not counted.
 */
#include "lower/nest/state.h"

#include <string.h>

typedef struct Touched {
    const Tensor *tensor;
    int64_t bytes; /* -1: not known */
    bool written;
} Touched;

typedef struct Explanation {
    Arena *arena;
    Forms forms;
    const Nest *nest;
    const NestStage *stage; /* of the loop */
    int depth;
    LIST(Touched) touched;
} Explanation;

/* --- what is inside ----------------------------------------------------------------------------------------------- */

static bool is_in_body(const Explanation *e, const NestStage *inner) {
    if (inner == e->stage)
        return true;
    while (inner->parent != NULL && inner->parent != e->stage)
        inner = inner->parent;
    return inner->parent == e->stage && inner->depth > e->depth;
}

/* The explained loop, those outside it, and all loops around its stage. */
static bool stands_still(const void *context, const Loop *loop) {
    const Explanation *e = context;
    if (loop->stage == e->stage)
        return ((const Node *)loop)->position <= e->depth;
    return loop_is_outside((const StageState *)e->stage, loop);
}

/* --- footprints --------------------------------------------------------------------------------------------------- */

/* How many values an index has in one iteration, at most the whole dimension; -1: not known. */
static int64_t spread(Explanation *e, const Form *index, const Expr *dimension) {
    const Form *low, *width;
    int64_t extent = -1, whole = -1;
    expr_is_int(dimension, &whole);
    if (index == NULL || !form_span(&e->forms, index, stands_still, e, &low, &width) || !affine_is_int(width, &extent))
        return whole;
    extent = extent < 0 ? 0 : extent + 1;
    return whole >= 0 && extent > whole ? whole : extent;
}

/* The bytes of a buffer that holds a part of its tensor at a time; -1: not known. */
static int64_t buffer_bytes(const Explanation *e, const Tensor *tensor) {
    const NestStage *producer = nest_producer(e->nest, tensor);
    int64_t elements = producer != NULL ? tensor_elements(producer->buffers[0]) : -1, bytes;
    bool fits = elements >= 0 && !__builtin_mul_overflow(elements, element_info[tensor->type].bytes, &bytes);
    return fits ? bytes : -1;
}

static void add_touched(Explanation *e, const Tensor *tensor, int64_t elements, bool written) {
    int64_t bytes = -1;
    if (elements < 0 || __builtin_mul_overflow(elements, element_info[tensor->type].bytes, &bytes))
        bytes = -1;
    int64_t buffer = buffer_bytes(e, tensor);
    bytes = buffer >= 0 && (bytes < 0 || bytes > buffer) ? buffer : bytes;
    for (int i = 0; i < e->touched.count; i++) {
        Touched *known = &e->touched.items[i];
        if (known->tensor != tensor || known->written != written)
            continue;
        known->bytes = known->bytes < 0 || bytes < 0 ? -1 : known->bytes > bytes ? known->bytes : bytes;
        return;
    }
    list_push(e->arena, &e->touched, ((Touched){tensor, bytes, written}));
}

static bool lives_in_registers(const Explanation *e, const Tensor *tensor) {
    const NestStage *producer = nest_producer(e->nest, tensor);
    return producer != NULL && producer->buffers[0]->scope == SCOPE_REGISTER;
}

static int64_t times(int64_t elements, int64_t extent) {
    int64_t product;
    return elements < 0 || extent < 0 || __builtin_mul_overflow(elements, extent, &product) ? -1 : product;
}

static void add_reads(Explanation *e, const StageState *reader) {
    for (int k = 0; k < reader->accesses.count; k++) {
        const Expr *read = reader->accesses.items[k].read;
        int64_t elements = 1;
        for (int d = 0; d < read->count; d++) {
            const Expr *index = wrapped_index(read->args[d], read->tensor->dims[d]);
            index = index != NULL ? index : read->args[d];
            elements = times(elements,
                             spread(e, form_of_expr(&e->forms, index, find_axis_form, reader), read->tensor->dims[d]));
        }
        if (!lives_in_registers(e, read->tensor))
            add_touched(e, read->tensor, elements, false);
    }
}

static void add_writes(Explanation *e, const StageState *writer) {
    int64_t elements = 1;
    if (writer->nest.scan != NULL || writer->nest.constant || writer->nest.buffers[0]->scope == SCOPE_REGISTER)
        return;
    for (int d = 0; d < writer->tensor->rank; d++)
        elements = times(elements, spread(e, writer->axes[d], writer->tensor->dims[d]));
    for (int c = 0; c < writer->nest.stage->component_count; c++)
        add_touched(e, writer->nest.stage->components[c].tensor, elements, true);
}

/* --- text --------------------------------------------------------------------------------------------------------- */

/* "96 B", "1.5 KiB", "12 MiB": at least two digits. */
static void print_bytes(Text *text, int64_t bytes) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double amount = (double)bytes;
    int unit = 0;
    for (; amount >= 1024 && unit < 4; unit++)
        amount /= 1024;
    bool fraction = unit > 0 && amount < 10 && amount != (double)(int)amount;
    text_add(text, fraction ? "%.1f %s" : "%.0f %s", amount, units[unit]);
}

static void print_touched(Text *text, const Explanation *e, bool written) {
    const char *before =
        written ? (e->touched.count > 0 && !e->touched.items[0].written ? "; writes " : "writes ") : "reads ";
    for (int i = 0; i < e->touched.count; i++) {
        const Touched *touched = &e->touched.items[i];
        if (touched->written != written)
            continue;
        text_add(text, "%s%s ", before, touched->tensor->name);
        if (touched->bytes < 0)
            text_add(text, "?");
        else
            print_bytes(text, touched->bytes);
        before = ", ";
    }
}

void nest_explain_loop(Text *text, const Nest *nest, const NestStage *stage, int depth) {
    Explanation e = {.arena = text->arena, .forms = {.arena = text->arena}, .nest = nest, .stage = stage};
    e.depth = depth;
    for (int written = 0; written < 2; written++)
        for (int i = 0; i < nest->stage_count; i++) {
            const NestStage *inner = nest->stages[i];
            if (inner->inlined || !is_in_body(&e, inner))
                continue;
            if (written)
                add_writes(&e, (const StageState *)inner);
            else
                add_reads(&e, (const StageState *)inner);
        }
    if (e.touched.count == 0)
        return;
    text_add(text, "  # ");
    print_touched(text, &e, false);
    print_touched(text, &e, true);
}

void nest_explain_buffer(Text *text, const Tensor *buffer) {
    int64_t elements = tensor_elements(buffer), bytes;
    text_add(text, "  # %s", element_info[buffer->type].spelling);
    if (elements < 0 || __builtin_mul_overflow(elements, element_info[buffer->type].bytes, &bytes))
        return;
    text_add(text, ", ");
    print_bytes(text, bytes);
}
