/* brute_run.c - runs a model: every instance of every stage in the order of its loops, and what is wrong with that.
 *
 * A value is a hash of what it was computed from, and 0 where nothing was stored. Elements that the iterations of
 * parallel and vectorized loops touch are noted, so that two that touch one are found. Forms that no primitive takes,
 * whatever the dependences, are told apart from what breaks a dependence.
 */
#include "brute_state.h"
#include "lang/expr.h"
#include <stdlib.h>
#include <string.h>

/* --- values of loops ---------------------------------------------------------------------------------------------- */

static int64_t piece_size(const Cut *cut) {
    int64_t size = 1;
    for (int i = 1; i < cut->count; i++)
        size *= cut->factors[i];
    return size;
}

static int64_t value_of(Model *m, const Piece *piece, const Domain *domain);

/* A loop that is not under way has no value, unless it has only one. */
static int64_t own_value(Model *m, const Piece *piece, const Domain *domain) {
    const Cut *cut = piece->taken;
    if (!cut) {
        if (!piece->runs && piece_extent(piece, domain) != 1)
            model_wrong(m, "the value of a loop is needed where it does not run");
        return piece->runs ? piece->value : 0;
    }
    if (!cut->fuses) {
        int64_t value = value_of(m, cut->parts[0], domain), inner = 0, size = piece_size(cut);
        for (int i = 1; i < cut->count; i++)
            inner = inner * cut->factors[i] + value_of(m, cut->parts[i], domain);
        int64_t last = piece_extent(piece, domain) - size;
        return (cut->shifts && value * size > last && last >= 0 ? last : value * size) + inner;
    }
    int64_t value = value_of(m, cut->whole, domain);
    for (int i = cut->count - 1; i > 0 && cut->parts[i] != piece; i--)
        value /= piece_extent(cut->parts[i], domain) ? piece_extent(cut->parts[i], domain) : 1;
    int64_t extent = piece_extent(piece, domain);
    return piece == cut->parts[0] || !extent ? value : value % extent;
}

/* What was a reduction loop before rfactor has the values of its axis. */
static int64_t value_of(Model *m, const Piece *piece, const Domain *domain) {
    return own_value(m, piece, domain) + (piece->partial ? domain->base[piece->dimension] : 0);
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t a, uint64_t b) {
    uint64_t z = a * 0x9e3779b97f4a7c15u ^ (b + 0x632be59bd9b4e019u + (a << 6) + (a >> 2));
    z = (z ^ z >> 31) * 0xbf58476d1ce4e5b9u;
    return (z ^ z >> 29) | 1;
}

static void note(Model *m, const Store *store, int64_t element, bool writes) {
    int64_t number = store->first + element;
    for (int i = 0; i < m->lanes.count; i++) {
        Lane *lane = &m->lanes.items[i];
        if (store->born > lane->born)
            continue;
        int64_t own = lane->iteration + 1, *writer = &lane->writers[number], *reader = &lane->readers[number];
        bool clash = (*writer && *writer != own) || (writes && *reader && *reader != own);
        if (clash)
            model_wrong(m, "two iterations of a parallel or vectorized loop touch one element");
        if (writes)
            *writer = own;
        else
            *reader = *reader && *reader != own ? -1 : own;
    }
}

static int64_t element_of(const Store *store, const int64_t *index) {
    int64_t element = 0;
    for (int d = 0; d < store->tensor->rank; d++) {
        if (index[d] < 0 || index[d] >= store->dims[d])
            return -1;
        element = element * store->dims[d] + index[d];
    }
    return element;
}

static void clear_store(Model *m, const Tensor *tensor) {
    Store *store = model_store(m, tensor);
    memset(store->values, 0, sizeof(uint64_t) * (size_t)store->elements);
    store->born = ++m->births;
}

/* --- expressions -------------------------------------------------------------------------------------------------- */

typedef struct Point {
    Model *m;
    const Part *part;
    SizeValue axes[12];
    int count;
} Point;

static uint64_t eval(Point *p, const Expr *e);

static uint64_t eval_read(Point *p, const Expr *e) {
    Model *m = p->m;
    int64_t index[6];
    for (int d = 0; d < e->count; d++)
        if (!expr_evaluate(e->args[d], p->axes, p->count, &index[d])) {
            model_wrong(m, "an index has no value");
            return 1;
        }
    Store *store = model_store(m, e->tensor);
    int64_t element = element_of(store, index);
    if (element < 0) {
        if (!e->otherwise)
            model_wrong(m, "a read is outside");
        return e->otherwise ? eval(p, e->otherwise) : 1;
    }
    if (m->wanted) {
        for (int d = 0; d < e->count && m->wanted == e->tensor; d++) {
            m->low[d] = !m->found || index[d] < m->low[d] ? index[d] : m->low[d];
            m->high[d] = !m->found || index[d] > m->high[d] ? index[d] : m->high[d];
        }
        m->found |= m->wanted == e->tensor;
        return 1;
    }
    note(m, store, element, false);
    if (!store->values[element])
        model_wrong(
            m, arena_printf(m->arena, "%s reads an element of %s that is not there", p->part->name, e->tensor->name));
    return store->values[element];
}

static uint64_t eval(Point *p, const Expr *e) {
    int64_t value;
    if (e->kind == EXPR_READ)
        return eval_read(p, e);
    if (e->kind == EXPR_INT || e->kind == EXPR_REAL)
        return mix(7, (uint64_t)e->integer);
    if (e->type == TYPE_INT64 && expr_evaluate(e, p->axes, p->count, &value))
        return mix(7, (uint64_t)value);
    if (e->kind == EXPR_OP && e->op == OP_SELECT && expr_evaluate(e->args[0], p->axes, p->count, &value))
        return eval(p, e->args[value ? 1 : 2]);
    uint64_t result = mix((uint64_t)e->kind, (uint64_t)e->op * 64 + e->type);
    for (int i = 0; i < e->count; i++)
        result = mix(result, eval(p, e->args[i]));
    return result;
}

/* --- running ------------------------------------------------------------------------------------------------------ */

static void run_part(Model *m, Part *part);

/* Whether no cut of the piece, nor of what it was cut into, is beyond its end. */
static bool is_within(Model *m, const Piece *piece, const Domain *domain) {
    if (own_value(m, piece, domain) >= piece_extent(piece, domain))
        return false;
    const Cut *cut = piece->taken;
    if (cut && cut->fuses)
        return is_within(m, cut->whole, domain);
    for (int i = 0; cut && i < cut->count; i++)
        if (!is_within(m, cut->parts[i], domain))
            return false;
    return true;
}

/* False where the point is beyond the ends of loops that were cut. */
static bool find_point(Model *m, const Part *part, bool initial, Point *p) {
    const Stage *stage = part->stage;
    *p = (Point){.m = m, .part = part};
    for (int i = 0; i < part->root_count && !(initial && i >= stage->axis_count); i++) {
        int64_t value = value_of(m, part->roots[i], part->domain);
        bool axis = i < stage->axis_count;
        if (!is_within(m, part->roots[i], part->domain))
            return false;
        const Var *var = axis ? stage->axes[i] : stage->reductions[i - stage->axis_count];
        p->axes[p->count++] = (SizeValue){var, value + (axis && !part->roots[i]->partial ? part->domain->base[i] : 0)};
    }
    return true;
}

/* An exact tail divides, a shifted one has room: what is said of each split must hold, whatever the dependences. How
 * large the boxes are that a compiler finds is its affair, and tails of them are not judged. */
static bool cuts_fit(Model *m, const Piece *piece, const Domain *domain) {
    const Cut *cut = piece->taken;
    if (!cut)
        return true;
    int64_t extent = piece_extent(piece, domain);
    if (cut->fuses)
        return cuts_fit(m, cut->whole, domain);
    m->form |= cut->shifts && domain->owner->at;
    m->form |= (cut->shifts && extent % piece_size(cut) && extent < piece_size(cut)) ||
               (cut->exact && extent % piece_size(cut));
    for (int i = 0; i < cut->count; i++)
        cuts_fit(m, cut->parts[i], domain);
    return !m->form;
}

static bool tails_fit(Model *m, const Part *part) {
    for (int i = 0; i < part->root_count && !m->form; i++)
        cuts_fit(m, part->roots[i], part->domain);
    return !m->form;
}

static bool is_first_iteration(const Part *part) {
    for (int i = 0; i < part->loops.count; i++)
        if (part->loops.items[i]->reduction && part->loops.items[i]->value != 0)
            return false;
    return true;
}

/* What an element of a stage begins with: its initial value, or what earlier iterations have summed. */
static uint64_t begin_element(Point *p, int64_t element) {
    Model *m = p->m;
    const Part *held = part_held(p->part);
    while (held && is_first_iteration(held))
        held = part_held(held);
    if (!held || m->wanted)
        return eval(p, p->part->stage->components[0].initial);
    Store *store = model_store(m, held->stage->components[0].tensor);
    note(m, store, element, false);
    if (!store->values[element])
        model_wrong(m, "a sum goes on from an element that is not there");
    return store->values[element];
}

static void run_instance(Model *m, const Part *part, bool initial) {
    const Stage *stage = part->stage;
    int64_t index[6];
    Point p;
    if (m->why || !tails_fit(m, part) || !find_point(m, part, initial, &p))
        return;
    for (int d = 0; d < stage->axis_count; d++)
        index[d] = p.axes[d].value;
    Store *store = model_store(m, stage->components[0].tensor);
    int64_t element = element_of(store, index);
    if (part->stored && store->values[element])
        return; /* an earlier iteration has computed it */
    uint64_t value = initial ? begin_element(&p, element) : eval(&p, stage->components[0].value);
    if (m->wanted || m->why)
        return;
    bool updates = stage->combine != COMBINE_NONE && !initial;
    if (updates) {
        note(m, store, element, false);
        if (!store->values[element])
            model_wrong(m, arena_printf(m->arena, "%s is updated before it is begun", part->name));
    }
    note(m, store, element, true);
    bool adds = part->combines && !initial; /* what partial results began with is no term */
    uint64_t term = adds ? value - mix(7, (uint64_t)part->identity) : mix(mix(99, stage->combine), value);
    store->values[element] = updates ? store->values[element] + term : value;
}

static int first_reduction(const Part *part) {
    int first = 0;
    while (first < part->loops.count && !part->loops.items[first]->reduction)
        first++;
    return first;
}

/* Whether a loop around what the part keeps never runs: nothing else writes its elements. */
static bool keeps_nothing(const Part *part) {
    bool empty = false;
    for (int i = 0; i < part->loops.count && part->partial; i++)
        empty |= part->loops.items[i]->reduction && piece_extent(part->loops.items[i], part->domain) == 0;
    return empty;
}

static void run_guests(Model *m, const Piece *loop, const Part *after) {
    bool on = after == NULL;
    for (int i = 0; i < m->parts.count && !m->why; i++) {
        Part *part = m->parts.items[i];
        if (part->at == loop && !part->inlined && on)
            run_part(m, part);
        on |= part == after;
    }
}

static void forget_boxes(Model *m, const Piece *loop) {
    for (int i = 0; i < m->parts.count; i++)
        if (m->parts.items[i]->domain->owner->at == loop)
            m->parts.items[i]->domain->known = false;
}

/* Whether an iteration of the loop is the life of the part's buffer. */
static bool lives_in(const Part *part, const Piece *loop) {
    return !part->inlined && part->at && (part->stored ? part->stored_at : part->at) == loop;
}

static void begin_iteration(Model *m, const Piece *loop) {
    for (int i = 0; i < m->parts.count && !m->wanted; i++)
        if (m->parts.items[i]->stored && lives_in(m->parts.items[i], loop))
            clear_store(m, m->parts.items[i]->stage->components[0].tensor);
}

/* Buffers live in the iteration that they are computed in. */
static void end_iteration(Model *m, const Piece *loop) {
    for (int i = 0; i < m->parts.count && !m->wanted; i++)
        if (lives_in(m->parts.items[i], loop))
            clear_store(m, m->parts.items[i]->stage->components[0].tensor);
}

static void run_loops(Model *m, Part *part, int index, bool initial);

static void run_loop(Model *m, Part *part, int index, bool initial) {
    Piece *loop = part->loops.items[index];
    int64_t extent = piece_extent(loop, part->domain);
    bool lanes = !m->wanted && (loop->mark == MARK_VECTOR || loop->mark == MARK_PARALLEL);
    if (lanes) {
        Lane lane = {.born = m->births};
        lane.writers = calloc((size_t)m->elements + 1, sizeof *lane.writers);
        lane.readers = calloc((size_t)m->elements + 1, sizeof *lane.readers);
        list_push(m->arena, &m->lanes, lane);
    }
    loop->runs = true;
    for (int64_t v = 0; v < extent && !m->why; v++) {
        loop->value = v;
        if (lanes)
            m->lanes.items[m->lanes.count - 1].iteration = v;
        if (!initial) {
            begin_iteration(m, loop);
            forget_boxes(m, loop);
            run_guests(m, loop, NULL);
        }
        run_loops(m, part, index + 1, initial);
        if (!initial)
            end_iteration(m, loop);
    }
    loop->runs = false;
    if (lanes) {
        Lane *lane = &m->lanes.items[--m->lanes.count];
        free(lane->writers);
        free(lane->readers);
    }
}

/* The beginning of a reduction runs just outside its first reduction loop, over the other loops from there on. */
static void run_loops(Model *m, Part *part, int index, bool initial) {
    if (m->why)
        return;
    if (!initial && (part->stage->combine != COMBINE_NONE || keeps_nothing(part)) && index == first_reduction(part)) {
        run_loops(m, part, index, true);
        if (index == part->loops.count) {
            run_instance(m, part, false);
            return;
        }
        run_loop(m, part, index, false);
        return;
    }
    if (index == part->loops.count)
        run_instance(m, part, initial);
    else if (initial && part->loops.items[index]->reduction)
        run_loops(m, part, index + 1, true);
    else
        run_loop(m, part, index, initial);
}

/* The hull of what the rest of the iteration at hand reads of the part. */
static void find_box(Model *m, Part *part) {
    struct {
        const Tensor *wanted;
        int64_t low[6], high[6];
        bool found;
    } outer = {.wanted = m->wanted, .found = m->found};
    memcpy(outer.low, m->low, sizeof m->low);
    memcpy(outer.high, m->high, sizeof m->high);
    Domain *domain = part->domain;
    Piece *loop = part->at;
    m->wanted = part->stage->components[0].tensor;
    m->found = false;
    domain->known = true;
    run_guests(m, loop, part);
    run_loops(m, loop->stage, loop_index(loop->stage, loop) + 1, false);
    for (int d = 0; d < part->stage->axis_count; d++) {
        domain->base[d] = m->found ? m->low[d] : 0;
        domain->width[d] = m->found ? m->high[d] - m->low[d] + 1 : 0;
    }
    if (!m->found && part->stage->axis_count == 0)
        domain->known = true;
    m->wanted = outer.wanted;
    m->found = outer.found;
    memcpy(m->low, outer.low, sizeof m->low);
    memcpy(m->high, outer.high, sizeof m->high);
}

static void run_part(Model *m, Part *part) {
    if (!part->domain->known)
        find_box(m, part->domain->owner);
    if (!m->wanted && !part->stored && part->stage->components[0].tensor->role != ROLE_OUTPUT)
        clear_store(m, part->stage->components[0].tensor);
    run_loops(m, part, 0, false);
}

/* --- forms that are refused whatever the dependences -------------------------------------------------------------- */

static const Piece *next_outer(const Piece *loop) {
    int index = loop_index(loop->stage, loop);
    return index > 0 ? loop->stage->loops.items[index - 1] : loop->stage->at;
}

static bool is_straight(const Piece *piece) {
    if (!piece->taken)
        return piece->mark == MARK_UNROLLED || piece->mark == MARK_VECTOR;
    if (piece->taken->fuses)
        return is_straight(piece->taken->whole);
    for (int i = 0; i < piece->taken->count; i++)
        if (!is_straight(piece->taken->parts[i]))
            return false;
    return true;
}

/* Loops that store are of the kind of those that compute. */
static void mark_twins(Part *part) {
    bool may_vectorize = true;
    for (int i = part->loops.count - 1; i >= 0; i--) {
        Piece *loop = part->loops.items[i];
        if (loop->twin && !loop->mark_set) {
            Mark mark = loop->twin->taken ? (is_straight(loop->twin) ? MARK_UNROLLED : MARK_NONE) : loop->twin->mark;
            loop->mark = mark == MARK_VECTOR && !may_vectorize ? MARK_UNROLLED : mark;
        }
        may_vectorize &= loop->mark == MARK_UNROLLED;
    }
}

/* A buffer is kept over iterations of loops around its stage. */
static bool store_fits(const Part *part) {
    const Piece *loop = part->at;
    while (loop && part->stored && loop != part->stored_at)
        loop = next_outer(loop);
    return !part->stored || (part->at && loop == part->stored_at);
}

static bool marks_fit(const Part *part) {
    if (!store_fits(part))
        return false;
    for (int i = 0; i < part->loops.count; i++) {
        const Piece *loop = part->loops.items[i];
        for (int k = i + 1; k < part->loops.count && loop->mark == MARK_VECTOR; k++)
            if (part->loops.items[k]->mark != MARK_UNROLLED)
                return false;
        for (const Piece *outer = next_outer(loop); outer; outer = next_outer(outer)) {
            bool parallel = loop->mark == MARK_PARALLEL && outer->mark != MARK_NONE;
            if (parallel || (outer->mark == MARK_VECTOR && outer->stage != part))
                return false;
        }
    }
    for (const Piece *outer = part->at; outer; outer = next_outer(outer))
        if (outer->mark == MARK_VECTOR)
            return false;
    return true;
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

/* What the caller passes: inputs, and what the buffers of outputs hold. */
static void begin_stores(Model *m) {
    const Program *program = m->program;
    m->stores.count = 0;
    m->elements = 0;
    for (int i = 0; i < m->parts.count; i++)
        model_store(m, m->parts.items[i]->stage->components[0].tensor);
    for (int i = 0; i < program->tensor_count; i++) {
        Store *store = model_store(m, program->tensors[i]);
        bool given = program->tensors[i]->role == ROLE_INPUT || program->tensors[i]->role == ROLE_INITIAL;
        for (int64_t e = 0; given && e < store->elements; e++)
            store->values[e] = mix(mix(5, (uint64_t)i), (uint64_t)e);
    }
}

static void run_all(Model *m) {
    begin_stores(m);
    for (int i = 0; i < m->parts.count; i++)
        mark_twins(m->parts.items[i]);
    for (int i = 0; i < m->parts.count && !m->why; i++)
        if (!m->parts.items[i]->at && !m->parts.items[i]->inlined)
            run_part(m, m->parts.items[i]);
}

static bool same_outputs(Model *m, Model *plain) {
    for (int i = 0; i < m->program->argument_count; i++) {
        const Tensor *tensor = m->program->arguments[i].tensor;
        if (!tensor || tensor->role != ROLE_OUTPUT)
            continue;
        const Store *a = model_store(m, tensor), *b = model_store(plain, tensor);
        for (int64_t e = 0; e < a->elements; e++)
            if (a->values[e] != b->values[e])
                return model_wrong(m, arena_printf(m->arena, "an element of %s has another value", tensor->name));
    }
    return true;
}

Verdict model_run(Model *m, const char **why) {
    for (int i = 0; i < m->parts.count; i++)
        mark_twins(m->parts.items[i]);
    for (int i = 0; i < m->parts.count; i++)
        if (!marks_fit(m->parts.items[i]))
            return VERDICT_FORM;
    Model *plain = model_new(m->arena, m->program);
    run_all(plain);
    run_all(m);
    if (m->form)
        return VERDICT_FORM;
    if (!m->why && !plain->why)
        same_outputs(m, plain);
    *why = plain->why ? plain->why : m->why;
    return *why ? VERDICT_ILLEGAL : VERDICT_LEGAL;
}
