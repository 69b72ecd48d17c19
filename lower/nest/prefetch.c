/* prefetch.c - prefetch: before the body of a loop, fetches what the body reads of a tensor some iterations later.
 *
 * The box is the hull of all reads of the tensor in the body, including the stages that are computed there. A prefetch
 * touches no memory, so the later iteration need not exist. But the box must have a constant size and few cache lines,
 * because each line takes an instruction. With at= it may be large: the iterations of a loop further in fetch it in
 * equal parts, so that memory works while the body computes.
 */
#include "lower/nest/state.h"

bool apply_prefetch(NestState *state, const Prim *prim) {
    PrefetchOrder order = {.tensor = argument_tensor(state, prim, positional(prim, 0)), .prim = state->prim};
    order.loop = order.tensor != NULL ? argument_loop(state, prim, positional(prim, 1)) : NULL;
    if (order.loop == NULL || !argument_integer(state, prim, positional(prim, 2), &order.distance))
        return false;
    const PrimArg *at = prim_keyword(prim, "at");
    if (at != NULL && (order.at = argument_loop(state, prim, at)) == NULL)
        return false;
    if (order.distance < 1 || order.distance > INT32_MAX)
        return refuse_at(state, positional(prim, 2), "prefetch looks at least 1 iteration ahead, not %lld",
                         (long long)order.distance);
    list_push(state->arena, &state->prefetches, order);
    return true;
}

/* --- what is read ------------------------------------------------------------------------------------------------- */

typedef struct PrefetchReading {
    NestState *state;
    const PrefetchOrder *order;
    const StageState *stage; /* of the loop */
    int count;               /* reads in the body */
    const Form **low;
    int64_t *extents;
    Expr *part;    /* with order->at: which one is fetched, over loops; */
    int64_t parts; /* and of how many; otherwise 1 */
    int row;       /* the dimensions from this one on are one row */
    int64_t lines;
} PrefetchReading;

static bool stands_still(const void *context, const Loop *loop) {
    const PrefetchReading *reading = context;
    if (loop->stage == &reading->stage->nest)
        return ((const Node *)loop)->position <= reading->order->loop->position;
    return loop_is_outside(reading->stage, loop);
}

static bool unknown_box(const PrefetchReading *reading, const StageState *reader) {
    NestState *state = reading->state;
    return refuse_loop(state, reading->order->loop,
                       "which elements of %s the body of %s reads is not known before %s runs",
                       reading->order->tensor->name, loop_text(state, reading->order->loop), reader->name);
}

static const char *form_text(NestState *state, const Form *form) {
    return state->refusal->wanted ? expr_text(state->arena, affine_expr(state->arena, form)) : "";
}

static bool unknown_size(const PrefetchReading *reading, const Form *extent) {
    NestState *state = reading->state;
    return refuse_loop(state, reading->order->loop,
                       "how much of %s an iteration of %s reads is known only at run time, %s: each cache line that is "
                       "fetched is an instruction",
                       reading->order->tensor->name, loop_text(state, reading->order->loop), form_text(state, extent));
}

static bool unknown_distance(const PrefetchReading *reading, const Form *distance) {
    NestState *state = reading->state;
    return refuse_loop(state, reading->order->loop,
                       "how far apart the reads of %s in the body of %s lie is known only at run time, %s: they are "
                       "fetched as one block",
                       reading->order->tensor->name, loop_text(state, reading->order->loop),
                       form_text(state, distance));
}

/* Whether each iteration of the loop, and of those inside it, is a body of its own. */
static bool check_iterations(NestState *state, const Node *loop) {
    bool vectorized = loop->loop.kind == LOOP_VECTORIZED;
    return (!vectorized && loop->loop.kind != LOOP_TENSORIZED) ||
           refuse_loop(state, loop, "%s is %s, so nothing is fetched for one of its iterations", loop_text(state, loop),
                       vectorized ? "vectorized" : "run by an instruction");
}

/* Widens the box by one dimension of a read. */
static bool add_span(PrefetchReading *reading, const StageState *reader, const NestRead *access, int d) {
    NestState *state = reading->state;
    const Form *index = access_form(state, reader, access, d), *low, *width;
    int64_t extent, shift = 0, whole;
    if (index == NULL || !form_span(&state->forms, index, stands_still, reading, &low, &width))
        return unknown_box(reading, reader);
    if (!affine_is_int(width, &extent))
        return unknown_size(reading, form_add_scaled(&state->forms, width, 1, form_int(&state->forms, 1)));
    extent++;
    const Form *distance = reading->count > 0 ? form_add_scaled(&state->forms, low, -1, reading->low[d]) : NULL;
    if (distance != NULL && !affine_is_int(distance, &shift))
        return unknown_distance(reading, distance);
    int64_t end = reading->count > 0 ? reading->extents[d] : 0;
    end = end > shift + extent ? end : shift + extent;
    reading->low[d] = reading->count == 0 || shift < 0 ? low : reading->low[d];
    reading->extents[d] = shift < 0 ? end - shift : end;
    if (expr_is_int(access->read->tensor->dims[d], &whole) && reading->extents[d] > whole)
        reading->extents[d] = whole;
    return true;
}

static bool add_reads(PrefetchReading *reading, const StageState *reader) {
    for (int k = 0; k < reader->accesses.count; k++) {
        const NestRead *access = &reader->accesses.items[k];
        if (access->read->tensor != reading->order->tensor)
            continue;
        for (int d = 0; d < access->read->count; d++)
            if (!add_span(reading, reader, access, d))
                return false;
        reading->count++;
    }
    return true;
}

/* --- equal parts -------------------------------------------------------------------------------------------------- */

/* The iterations of a loop that have a part each: one more loop, further out. */
static bool add_parts(PrefetchReading *reading, const Node *node) {
    NestState *state = reading->state;
    const Node *at = reading->order->at;
    if (node->loop.extent < 0)
        return refuse_loop(state, node,
                           "how often %s runs is known only at run time, so %s does not fetch equal parts of %s",
                           loop_text(state, node), loop_text(state, at), reading->order->tensor->name);
    if (!check_iterations(state, node))
        return false;
    Expr *whole = expr_binary(state->arena, OP_MUL, expr_var(state->arena, (Var *)&node->variable),
                              expr_int(state->arena, reading->parts));
    reading->part = expr_binary(state->arena, OP_ADD, whole, reading->part);
    return !__builtin_mul_overflow(reading->parts, node->loop.extent, &reading->parts) ||
           refuse_loop(state, at, "the parts that %s would fetch are too many to count", loop_text(state, at));
}

/* The parts of the box, and which of them is fetched: numbers the iterations of the loop that fetches, from the inside
 * out to the loop that reads, through the places of the stages in between. */
static bool find_parts(PrefetchReading *reading) {
    NestState *state = reading->state;
    const Node *loop = reading->order->loop, *at = reading->order->at;
    reading->parts = 1;
    if (at == NULL)
        return true;
    const StageState *stage = stage_of(at);
    if (stage->nest.inlined || leaf_index(stage, at) < 0 || !stage_is_inside(stage, loop) ||
        (stage == reading->stage && at->position <= loop->position))
        return refuse_loop(state, at, "%s is not in the body of %s, so it cannot fetch for it", loop_text(state, at),
                           loop_text(state, loop));
    reading->part = expr_int(state->arena, 0);
    for (const Node *last = at;; last = stage->at, stage = stage_of(last)) {
        int first = stage == reading->stage ? loop->position + 1 : 0;
        for (int i = last->position; i >= first; i--)
            if (!add_parts(reading, stage->leaves.items[i]))
                return false;
        if (stage == reading->stage)
            return true;
    }
}

/* --- rules -------------------------------------------------------------------------------------------------------- */

static bool check_producer(const PrefetchReading *reading) {
    NestState *state = reading->state;
    const Node *loop = reading->order->loop;
    const StageState *producer = state_producer(state, reading->order->tensor);
    if (producer == NULL)
        return true;
    if (producer->at != NULL && stage_is_inside(producer, loop) && !producer->nest.inlined)
        return refuse_stage(state, producer,
                            "%s is computed in the body of %s: there is nothing to fetch for a later iteration",
                            producer->name, loop_text(state, loop));
    return !producer->scope_set || producer->scope != SCOPE_REGISTER ||
           refuse_stage(state, producer, "%s lives in registers: there is nothing to fetch", producer->name);
}

/* The first of the dimensions that lie in memory as one row: all after it are in the box whole. */
static int first_of_row(const PrefetchReading *reading) {
    const Tensor *tensor = reading->order->tensor;
    int d = tensor->rank - 1;
    for (int64_t whole; d > 0 && expr_is_int(tensor->dims[d], &whole) && reading->extents[d] == whole;)
        d--;
    return d > 0 ? d : 0;
}

/* The lines of the box; 0: more than `limit`. All at once they are those of each of its rows in the last dimension,
 * with one more, as rows begin anywhere. Parts are of rows that may be longer, counted in whole lines. */
static int64_t lines_of(const PrefetchReading *reading, int row, int64_t limit) {
    const Tensor *tensor = reading->order->tensor;
    int64_t lines = 1, length = 1,
            line = target_line_bytes(reading->state->nest.target) / element_info[tensor->type].bytes;
    for (int d = row; d < tensor->rank; d++)
        if (__builtin_mul_overflow(length, reading->extents[d], &length))
            return 0;
    if (tensor->rank > 0)
        lines = (length - 1) / line + 1 + (reading->order->at == NULL && length > 1);
    for (int d = 0; d < row && lines <= limit; d++)
        if (__builtin_mul_overflow(lines, reading->extents[d], &lines))
            return 0;
    return lines <= limit ? lines : 0;
}

static bool check_lines(PrefetchReading *reading) {
    NestState *state = reading->state;
    const Tensor *tensor = reading->order->tensor;
    const Node *loop = reading->order->loop, *at = reading->order->at;
    int64_t limit = reading->parts > INT64_MAX / PREFETCH_LINES ? INT64_MAX : reading->parts * PREFETCH_LINES;
    reading->row = at != NULL ? first_of_row(reading) : tensor->rank > 0 ? tensor->rank - 1 : 0;
    reading->lines = lines_of(reading, reading->row, limit);
    if (reading->lines > 0)
        return true;
    if (at != NULL)
        return refuse_loop(state, at, "an iteration of %s would fetch more than %d cache lines of %s",
                           loop_text(state, at), PREFETCH_LINES, tensor->name);
    return refuse_loop(state, loop, "an iteration of %s reads more than %d cache lines of %s", loop_text(state, loop),
                       PREFETCH_LINES, tensor->name);
}

/* Whether there is nothing to fetch: the loop never runs, or the tensor has no elements. */
static bool is_empty(const PrefetchReading *reading) {
    for (int d = 0; d < reading->order->tensor->rank; d++)
        if (reading->extents[d] < 1)
            return true;
    return false;
}

static bool check_body(PrefetchReading *reading) {
    NestState *state = reading->state;
    const Node *loop = reading->order->loop;
    if (reading->count == 0 || leaf_index(reading->stage, loop) < 0) /* the loop may be another stage's now */
        return refuse_loop(state, loop, "nothing in the body of %s reads %s", loop_text(state, loop),
                           reading->order->tensor->name);
    for (int i = 0; i <= loop->position; i++)
        if (!check_iterations(state, reading->stage->leaves.items[i]))
            return false;
    return is_empty(reading) || check_lines(reading);
}

/* --- the order carried out ---------------------------------------------------------------------------------------- */

static void publish_prefetch(const PrefetchReading *reading) {
    NestState *state = reading->state;
    const PrefetchOrder *order = reading->order;
    const Node *at = order->at != NULL ? order->at : order->loop;
    NestStage *nest = at->loop.stage;
    Prefetch made = {.tensor = order->tensor,
                     .depth = at->position + 1,
                     .extents = reading->extents,
                     .part = reading->part,
                     .parts = reading->parts,
                     .row = reading->row,
                     .lines = reading->lines};
    Expr *later = expr_binary(state->arena, OP_ADD, expr_var(state->arena, &order->loop->variable),
                              expr_int(state->arena, order->distance));
    bool moves = false;
    made.low = ARENA_ARRAY(state->arena, Expr *, made.tensor->rank);
    for (int d = 0; d < made.tensor->rank; d++) {
        moves |= form_has_loop(reading->low[d], &order->loop->loop);
        made.low[d] = expr_substitute(state->arena, affine_expr(state->arena, reading->low[d]),
                                      &(Substitution){&order->loop->variable, later}, 1);
    }
    if (!moves || is_empty(reading)) { /* each iteration reads the same, or nothing */
        no_effect_of(state, order->prim);
        return;
    }
    Prefetch *all = ARENA_ARRAY(state->arena, Prefetch, nest->prefetch_count + 1);
    for (int i = 0; i < nest->prefetch_count; i++)
        all[i] = nest->prefetches[i];
    all[nest->prefetch_count++] = made;
    nest->prefetches = all;
}

static bool find_prefetch(NestState *state, const PrefetchOrder *order) {
    PrefetchReading reading = {.state = state, .order = order, .stage = stage_of(order->loop)};
    reading.low = ARENA_ARRAY(state->arena, const Form *, order->tensor->rank);
    reading.extents = ARENA_ARRAY(state->arena, int64_t, order->tensor->rank);
    if (reading.stage->nest.inlined)
        return refuse_loop(state, order->loop, "%s is inlined: %s is no loop any more", reading.stage->name,
                           order->loop->variable.name);
    if (!check_producer(&reading))
        return false;
    for (int i = 0; i < state->stages.count; i++) {
        const StageState *reader = state->stages.items[i];
        if (!reader->nest.inlined && stage_is_inside(reader, order->loop) && !add_reads(&reading, reader))
            return false;
    }
    if (!find_parts(&reading) || !check_body(&reading))
        return false;
    publish_prefetch(&reading);
    return true;
}

bool find_prefetches(NestState *state) {
    for (int i = 0; i < state->prefetches.count; i++)
        if (!find_prefetch(state, &state->prefetches.items[i]))
            return false;
    return true;
}
