/* bounds.c - bound inference: extents, values, boxes and guards, from the last stage to the first.
 *
 * A stage at root runs over its domain. A stage that is computed at a loop runs over a box: the hull of what its
 * consumers read in the body of that loop. Consumers come later in the order of execution, so a stage's box is complete
 * when its turn comes. Then extents go down its relations, values of loops come up, and its own reads widen the boxes
 * of its producers. A stage made by cache_write shares the domain or box of the stage that stores it; its buffer holds
 * the part that it fills.
 */
#include "lower/nest/state.h"

/* --- places and kinds of loops ------------------------------------------------------------------------------------ */

static bool is_straight(LoopKind kind) {
    return loop_kind_is_expanded(kind);
}

/* Whether all leaves made from a node are unrolled or vectorized. */
static bool all_straight(const Node *node) {
    const Relation *relation = node->taken;
    if (relation == NULL)
        return is_straight(node->loop.kind);
    if (relation->kind == RELATION_FUSE)
        return all_straight(relation->whole);
    for (int i = 0; i < relation->count; i++)
        if (!all_straight(relation->parts[i]))
            return false;
    return true;
}

/* The kind of a ".store" loop that no primitive named: that of its twin, but vectorized only where that is allowed. */
static LoopKind twin_kind(const Node *store, bool may_vectorize) {
    const Node *twin = store->twin;
    if (!node_is_leaf(twin))
        return all_straight(twin) ? LOOP_UNROLLED : LOOP_SERIAL;
    if (twin->loop.kind == LOOP_VECTORIZED || twin->loop.kind == LOOP_TENSORIZED)
        return may_vectorize ? LOOP_VECTORIZED : LOOP_UNROLLED;
    return twin->loop.kind;
}

void place_loops(NestState *state) {
    for (int s = state->stages.count - 1; s >= 0; s--) {
        StageState *stage = state->stages.items[s];
        bool may_vectorize = true;
        if (stage->beside)
            stage_place(stage, stage->updates->at);
        for (int i = stage->leaves.count - 1; i >= 0; i--) {
            Node *leaf = stage->leaves.items[i];
            leaf->position = i;
            if (leaf->twin != NULL && !leaf->kind_set)
                leaf->loop.kind = twin_kind(leaf, may_vectorize);
            may_vectorize &= leaf->loop.kind == LOOP_UNROLLED;
        }
    }
}

static bool is_around(const Node *at, const Loop *loop) {
    for (; at != NULL; at = stage_of(at)->at)
        if (loop->stage == at->loop.stage)
            return ((const Node *)loop)->position <= at->position;
    return false;
}

bool loop_is_outside(const void *context, const Loop *loop) {
    return is_around(((const StageState *)context)->at, loop);
}

static bool loop_is_outside_buffer(const void *context, const Loop *loop) {
    return is_around(((const StageState *)context)->store, loop);
}

/* --- boxes -------------------------------------------------------------------------------------------------------- */

static const Form *domain_extent(NestState *state, const StageState *stage, int d) {
    return extent_form(state, stage->tensor->dims[d]);
}

/* The hull of two spans whose first indices differ by a constant; else the whole dimension. */
static void widen_box(Forms *forms, Box *box, const Form *low, const Form *width) {
    int64_t shift;
    if (!box->begun) {
        box->begun = true;
        box->low = low;
        box->width = width;
    } else if (affine_is_int(form_add_scaled(forms, low, -1, box->low), &shift)) {
        const Form *shared = shift < 0 ? low : box->low;
        const Form *old_width = form_add_int(forms, box->width, shift < 0 ? -shift : 0);
        const Form *new_width = form_add_int(forms, width, shift > 0 ? shift : 0);
        box->width = form_extreme(forms, OP_MAX, old_width, new_width);
        box->low = shared;
    } else {
        box->whole = true;
    }
}

/* An index as loops of the stage that has it. */
static const Form *loops_form(NestState *state, const StageState *stage, const Expr *index) {
    return form_of_expr(&state->forms, (Expr *)index, find_axis_form, stage);
}

/* Whether the expression is the last index of a dimension. */
static bool is_last_index(NestState *state, const StageState *producer, int d, const Expr *e) {
    const Form *last = form_add_int(&state->forms, domain_extent(state, producer, d), -1);
    const Form *form = loops_form(state, producer, e);
    return form != NULL && form_equal(form, last);
}

/* What an index clamps to its dimension, as max(0, min(i, n - 1)) or the half of it that is needed; or the index. */
static const Expr *unclamped(NestState *state, const StageState *producer, int d, const Expr *index) {
    const Expr *inside = index;
    for (int a = 0; a < 2 && expr_is_op(inside, OP_MAX); a++)
        if (expr_is_zero(inside->args[a]))
            inside = inside->args[1 - a];
    for (int a = 0; a < 2 && expr_is_op(inside, OP_MIN); a++)
        if (is_last_index(state, producer, d, inside->args[a]))
            inside = inside->args[1 - a];
    return inside;
}

/* An index that `else reflect` turns back inside: its value is at most as far from the axis as it would be. */
typedef struct Reflection {
    const Expr *index; /* axis + shift; NULL: it is none */
    int64_t shift;
} Reflection;

/* Of an axis that is always inside of the dimension, by less than its extent, which is known: it turns back once. */
static Reflection reflection_of(NestState *state, const StageState *stage, const Expr *index, const Form *domain) {
    Forms *forms = &state->forms;
    int64_t period, extent, shift;
    const Expr *inside = reflected_index(index, &period);
    const Form *form = inside ? loops_form(state, stage, inside) : NULL;
    if (form == NULL || !affine_is_int(domain, &extent) || period != 2 * (extent - 1))
        return (Reflection){0};
    for (int a = 0; a < stage->nest.stage->axis_count; a++)
        if (affine_is_int(form_add_scaled(forms, form, -1, stage->axes[a]), &shift) && shift > -extent &&
            shift < extent && form_at_most(forms, domain_extent(state, stage, a), domain))
            return (Reflection){inside, shift};
    return (Reflection){0};
}

const Form *access_form(NestState *state, const StageState *stage, const NestRead *access, int dimension) {
    return loops_form(state, stage, access->read->args[dimension]);
}

static bool is_computed_in(const StageState *stage, const StageState *outer) {
    for (const Node *at = stage->at; at != NULL; at = stage_of(at)->at)
        if (at->loop.stage == &outer->nest)
            return true;
    return false;
}

/* Whether the producer is computed in a loop of the reader, or of a stage that it was made for and that stores it. Such
 * a loop is around both, so the producer holds what the reader reads there, not what it reads of the whole window. */
static bool shares_loops(const StageState *producer, const StageState *reader) {
    for (; reader != NULL; reader = reader->owner)
        if (is_computed_in(producer, reader))
            return true;
    return false;
}

/* A read that alone spans as much as the dimension (NULL: as anything) asks for all of it: of a maximum with other
 * spans, over sizes, that would no longer be seen, and the maxima of a chain of stages would be made of each other. */
static void widen_by(Forms *forms, Box *box, const Form *index, LoopOutside *outside, const StageState *producer,
                     const Form *domain) {
    const Form *low, *width;
    if (!box->whole && index != NULL && form_span(forms, index, outside, producer, &low, &width) &&
        !(domain != NULL && form_at_most(forms, domain, form_add_int(forms, width, 1))))
        widen_box(forms, box, low, width);
    else
        box->whole = true;
}

/* The index of a read, as loops of the reader, or beside it as all that it ever is. */
static const Form *index_form(NestState *state, const StageState *stage, const Expr *index, bool inside) {
    Seeing seeing = {&state->forms, stage};
    return inside ? loops_form(state, stage, index)
                  : form_of_expr(&state->forms, (Expr *)index, find_seen_form, &seeing);
}

/* The boxes as they would be if indices counted on beyond the ends: they stay near where `else wrap` jumps. */
static void widen_unwrapped(NestState *state, StageState *producer, int d, const Form *index, bool wraps) {
    const Form *domain = domain_extent(state, producer, d);
    producer->unwrapped[d].wraps |= wraps;
    widen_by(&state->forms, &producer->unwrapped[d], index, loop_is_outside, producer, domain);
    if (producer->stored)
        widen_by(&state->forms, &producer->unwrapped_stores[d], index, loop_is_outside_buffer, producer, NULL);
}

/* Of what the producer computes at once, and of what it keeps. */
static void widen_boxes(NestState *state, StageState *producer, int d, const Form *index, bool clamped) {
    const Form *domain = domain_extent(state, producer, d);
    producer->boxes[d].clamped |= clamped;
    widen_by(&state->forms, &producer->boxes[d], index, loop_is_outside, producer, domain);
    if (!producer->stored)
        return;
    producer->stores[d].clamped |= clamped;
    widen_by(&state->forms, &producer->stores[d], index, loop_is_outside_buffer, producer, domain);
}

/* Widens a producer's box by a read: in loops that both share by what one iteration reads, beside the reader by all
 * that it ever reads. */
static void widen_producer(NestState *state, const StageState *stage, const NestRead *access) {
    StageState *producer = access->producer;
    bool inside = shares_loops(producer, stage);
    for (int d = 0; d < access->read->count; d++) {
        const Form *domain = domain_extent(state, producer, d);
        Reflection reflected = reflection_of(state, stage, access->read->args[d], domain);
        const Expr *place = reflected.index ? reflected.index : unclamped(state, producer, d, access->read->args[d]);
        const Form *index = index_form(state, stage, place, inside);
        bool clamped = !reflected.index && place != access->read->args[d];
        const Expr *wrapped = read_wraps(access->read, d);
        bool stays = !clamped && !reflected.index && access->read->otherwise == NULL;
        widen_boxes(state, producer, d, index, clamped);
        if (producer->unwrapped != NULL)
            widen_unwrapped(state, producer, d,
                            !stays    ? NULL
                            : wrapped ? index_form(state, stage, wrapped, inside)
                                      : index,
                            wrapped != NULL);
        if (reflected.index)
            widen_boxes(state, producer, d, form_add_int(&state->forms, index, -2 * reflected.shift), false);
    }
}

/* The extent, made at least 0: a loop without values can give a negative one. */
static const Form *not_negative(Forms *forms, const Form *extent) {
    const Form *zero = form_int(forms, 0);
    return form_at_most(forms, zero, extent) ? extent : form_extreme(forms, OP_MAX, extent, zero);
}

/* Whether a box that holds indices before they are clamped also holds what they become: it reaches into the dimension.
 * An index below 0 becomes 0, which is in a box that begins below 0 and ends at 0 or later; likewise at the end. */
static bool holds_clamped(NestState *state, const Box *box, const Form *domain) {
    Forms *forms = &state->forms;
    const Form *last = form_add(forms, box->low, box->width);
    return form_at_most(forms, form_int(forms, 0), last) && form_below(forms, box->low, domain);
}

static const Form *box_extent(Forms *forms, const Box *box) {
    return not_negative(forms, form_add_int(forms, box->width, 1));
}

bool box_is_whole(NestState *state, const StageState *stage, int d, const Box *box) {
    const Form *domain = domain_extent(state, stage, d);
    return box->whole || !box->begun || form_at_most(&state->forms, domain, box_extent(&state->forms, box)) ||
           (box->clamped && !holds_clamped(state, box, domain));
}

/* The first index and the extent of a box; the whole dimension if the box is as large. */
static void close_box(NestState *state, const StageState *stage, int d, const Box *box, const Form **low,
                      const Form **extent) {
    bool all = !box->unwrapped && box_is_whole(state, stage, d, box);
    *low = all ? form_int(&state->forms, 0) : box->low;
    *extent = all ? domain_extent(state, stage, d) : box_extent(&state->forms, box);
}

/* Finds where the stage's roots count from, and their extents. */
static void find_domain(NestState *state, StageState *stage) {
    int rank = stage->tensor->rank;
    stage->boxed = stage->owner != NULL ? stage->owner->boxed : stage->at != NULL && stage->scan == NULL;
    stage->base = ARENA_ARRAY(state->arena, const Form *, rank);
    stage->origin = ARENA_ARRAY(state->arena, const Form *, rank);
    stage->size = ARENA_ARRAY(state->arena, const Form *, rank);
    choose_unwrapped(state, stage);
    for (int d = 0; d < rank; d++) {
        stage->size[d] = stage->roots[d]->extent;
        stage->base[d] = form_int(&state->forms, 0);
        if (stage->owner != NULL) {
            int axis = stage->owner_axes != NULL ? stage->owner_axes[d] : d;
            stage->base[d] = stage->owner->base[axis];
            stage->size[d] = stage->owner->roots[axis]->extent;
        } else if (stage->boxed) {
            close_box(state, stage, d, &stage->boxes[d], &stage->base[d], &stage->size[d]);
        }
        stage->roots[d]->extent = stage->size[d];
        stage->origin[d] = stage->base[d];
    }
    if (!stage->stored)
        return;
    find_window(state, stage);
    for (int d = 0; d < rank; d++)
        close_box(state, stage, d, &stage->stores[d], &stage->origin[d], &stage->size[d]);
}

/* A stage made by cache_write has a buffer for what its loops fill. A buffer in registers also holds the lanes and
 * copies that guards cut off: they cost no more than others, and the guards need no test. */
static void find_filled_part(NestState *state, StageState *stage) {
    Forms *forms = &state->forms;
    bool registers = stage->scope_set && stage->scope == SCOPE_REGISTER && stage->scan == NULL;
    for (int d = 0; (stage->owner != NULL || registers) && !stage->stored && d < stage->tensor->rank; d++) {
        Box box = {.begun = true, .unwrapped = stage_unwraps(stage, d)};
        box.whole = !form_span(forms, stage->axes[d], loop_is_outside, stage, &box.low, &box.width);
        if (registers && !box.whole) {
            stage->origin[d] = box.low;
            stage->size[d] = not_negative(forms, form_add_int(forms, box.width, 1));
        } else if (stage->owner != NULL && !(box.whole && box.unwrapped)) {
            close_box(state, stage, d, &box, &stage->origin[d], &stage->size[d]);
        }
    }
}

/* --- extents and values ------------------------------------------------------------------------------------------- */

int64_t piece_size(const Relation *relation) {
    int64_t product = 1;
    for (int k = 1; k < relation->count; k++)
        product *= relation->factors[k];
    return product;
}

/* Whether the pieces cover the loop exactly at all sizes. */
static bool split_divides(Forms *forms, const Relation *relation) {
    const Form *pieces = form_int(forms, piece_size(relation));
    return form_equal(form_product(forms, relation->parts[0]->extent, pieces), relation->whole->extent);
}

static void split_extents(Forms *forms, Relation *relation) {
    int64_t product = piece_size(relation);
    const Form *rounded = form_add_int(forms, relation->whole->extent, product - 1);
    relation->parts[0]->extent = form_divide(forms, rounded, form_int(forms, product));
    for (int k = 1; k < relation->count; k++)
        relation->parts[k]->extent = form_int(forms, relation->factors[k]);
}

static void note_fused(Forms *forms, Relation *relation) {
    Loop *whole = &relation->whole->loop;
    int64_t *extents = ARENA_ARRAY(forms->arena, int64_t, relation->count);
    whole->fused = extents;
    whole->fused_count = relation->count;
    for (int k = 0; k < relation->count; k++)
        if (!affine_is_int(relation->parts[k]->extent, &extents[k]))
            whole->fused_count = 0;
}

static void fuse_extent(Forms *forms, Relation *relation) {
    const Form *product = relation->parts[0]->extent;
    for (int k = 1; k < relation->count; k++)
        product = form_product(forms, product, relation->parts[k]->extent);
    relation->whole->extent = product;
    note_fused(forms, relation);
}

static void find_relation_extents(Forms *forms, Relation *relation) {
    if (relation->kind == RELATION_SPLIT)
        split_extents(forms, relation);
    else
        fuse_extent(forms, relation);
}

/* Marks the inner parts of masked splits, and the nodes made from them. */
static void find_masked(StageState *stage) {
    for (int i = 0; i < stage->relations.count; i++) {
        Relation *relation = stage->relations.items[i];
        bool split = relation->kind == RELATION_SPLIT;
        for (int k = 0; k < relation->count; k++) {
            bool tail = relation->tail == TAIL_MASK && k > 0;
            if (split)
                relation->parts[k]->loop.masked |= tail || relation->whole->loop.masked;
            else
                relation->whole->loop.masked |= relation->parts[k]->loop.masked;
        }
    }
}

static void find_extents(NestState *state, StageState *stage) {
    for (int i = 0; i < stage->relations.count; i++)
        find_relation_extents(&state->forms, stage->relations.items[i]);
    find_masked(stage);
    for (int i = 0; i < stage->leaves.count; i++) {
        Node *leaf = stage->leaves.items[i];
        leaf->loop.extent = -1;
        affine_is_int(leaf->extent, &leaf->loop.extent);
    }
}

/* The value of a leaf: its variable, or 0 if it has one value, or the value of the node that it is linked to. */
static void find_leaf_value(Forms *forms, Node *node) {
    int64_t extent;
    if (node->taken != NULL)
        return;
    const Form *variable = node_form(forms, node);
    bool one = affine_is_int(node->extent, &extent) && extent == 1;
    node->value = node->link != NULL ? node->link->value : one ? form_int(forms, 0) : variable;
}

bool split_shifts(Forms *forms, const Relation *relation) {
    return relation->kind == RELATION_SPLIT && relation->tail == TAIL_SHIFT && !split_divides(forms, relation);
}

/* The first value of a piece: its number times its size, or earlier if it would reach beyond the end. */
static const Form *piece_begin(Forms *forms, const Relation *relation, int64_t product) {
    const Form *begin = form_add_scaled(forms, form_int(forms, 0), product, relation->parts[0]->value);
    if (!split_shifts(forms, relation))
        return begin;
    return form_extreme(forms, OP_MIN, begin, form_add_int(forms, relation->whole->extent, -product));
}

static void split_value(Forms *forms, Relation *relation) {
    int64_t stride = piece_size(relation);
    const Form *value = piece_begin(forms, relation, stride);
    for (int k = 0; k < relation->count; k++) {
        if (k > 0)
            value = form_add_scaled(forms, value, stride, relation->parts[k]->value);
        stride /= k + 1 < relation->count ? relation->factors[k + 1] : 1;
    }
    relation->whole->value = value;
}

/* Part k of a fused loop is (whole / product of the later extents) % its own extent; the first needs no modulo. */
static void fuse_values(Forms *forms, Relation *relation) {
    const Form *rest = relation->whole->value;
    bool in_range = form_below(forms, rest, relation->whole->extent);
    for (int k = relation->count - 1; k > 0; k--) {
        Node *part = relation->parts[k];
        rest = form_divide_both(forms, rest, part->extent, &part->value);
        form_note_limit(forms, part->value, part->extent);
        const Form *limit = relation->parts[0]->extent;
        for (int i = 1; in_range && i < k; i++)
            limit = form_product(forms, limit, relation->parts[i]->extent);
        if (in_range)
            form_note_limit(forms, rest, limit);
    }
    relation->parts[0]->value = rest;
}

static void find_leaf_values(Forms *forms, Relation *relation) {
    find_leaf_value(forms, relation->whole);
    for (int k = 0; k < relation->count; k++)
        find_leaf_value(forms, relation->parts[k]);
}

/* After an overflow the nest is refused: values only have to be there. Those of a thousand nested splits would have a
 * thousand terms each. */
static void find_relation_values(Forms *forms, Relation *relation) {
    if (relation->kind == RELATION_SPLIT && forms->overflow)
        relation->whole->value = relation->parts[0]->value;
    else if (relation->kind == RELATION_SPLIT)
        split_value(forms, relation);
    else
        fuse_values(forms, relation);
}

static void find_values(NestState *state, StageState *stage) {
    Forms *forms = &state->forms;
    for (int r = 0; r < stage->root_count; r++)
        find_leaf_value(forms, stage->roots[r]);
    for (int i = 0; i < stage->relations.count; i++)
        find_leaf_values(forms, stage->relations.items[i]);
    for (int i = stage->relations.count - 1; i >= 0; i--)
        find_relation_values(forms, stage->relations.items[i]);
    stage->axes = ARENA_ARRAY(state->arena, const Form *, stage->root_count);
    for (int r = 0; r < stage->root_count; r++) {
        bool axis = r < stage->tensor->rank;
        stage->axes[r] = axis ? form_add(forms, stage->base[r], stage->roots[r]->value) : stage->roots[r]->value;
    }
}

void find_reduction_values(NestState *state, StageState *stage) {
    Forms *forms = &state->forms;
    for (int i = 0; i < stage->relations.count; i++)
        if (stage->relations.items[i]->whole->loop.reduction)
            find_relation_extents(forms, stage->relations.items[i]);
    for (int r = stage->nest.stage->axis_count; r < stage->root_count; r++)
        find_leaf_value(forms, stage->roots[r]);
    for (int i = 0; i < stage->relations.count; i++)
        if (stage->relations.items[i]->whole->loop.reduction)
            find_leaf_values(forms, stage->relations.items[i]);
    for (int i = stage->relations.count - 1; i >= 0; i--)
        if (stage->relations.items[i]->whole->loop.reduction)
            find_relation_values(forms, stage->relations.items[i]);
}

const Form *find_axis_form(const void *context, const Var *var) {
    const StageState *state = context;
    const Stage *stage = state->nest.stage;
    for (int d = 0; d < stage->axis_count; d++)
        if (stage->axes[d] == var)
            return state->axes[d];
    for (int r = 0; r < stage->reduction_count; r++)
        if (stage->reductions[r] == var)
            return state->axes[stage->axis_count + r];
    return NULL;
}

/* --- guards ------------------------------------------------------------------------------------------------------- */

void stage_add_guard(NestState *state, StageState *stage, GuardForm guard) {
    guard.hash = form_hash(guard.value);
    for (int i = 0; i < stage->guards.count; i++)
        if (stage->guards.items[i].hash == guard.hash && form_equal(stage->guards.items[i].value, guard.value) &&
            form_equal(stage->guards.items[i].limit, guard.limit))
            return;
    list_push(state->arena, &stage->guards, guard);
}

/* A split that divides covers its loop exactly. For others the bounds may prove that. */
bool relation_exceeds(NestState *state, const Relation *relation) {
    Forms *forms = &state->forms;
    const Node *whole = relation->whole;
    return relation->kind == RELATION_SPLIT && relation->tail != TAIL_SHIFT && !split_divides(forms, relation) &&
           !form_below(forms, whole->value, whole->extent);
}

static void guard_splits(NestState *state, StageState *stage) {
    for (int i = 0; i < stage->relations.count; i++) {
        const Node *whole = stage->relations.items[i]->whole;
        if (relation_exceeds(state, stage->relations.items[i]))
            stage_add_guard(
                state, stage,
                (GuardForm){.value = whole->value, .limit = whole->extent, .reduction = whole->loop.reduction});
    }
}

static bool is_not_outside(const void *context, const Loop *loop) {
    return !loop_is_outside(context, loop);
}

/* The scan that a stage is computed in: the stage computes nothing in steps that its guards cut off. A window loses
 * nothing by that: in each loop these steps come last, and the first iteration fills all of it. */
static const StageState *scan_around(const StageState *stage) {
    const StageState *root = root_of(stage);
    return root != stage && root->nest.scan != NULL ? root : NULL;
}

/* Guards of the owner, or of the scan, over loops around the stage alone hold for the stage too. */
static void guard_like_owner(NestState *state, StageState *stage) {
    const StageState *owner = stage->owner != NULL ? stage->owner : scan_around(stage);
    for (int i = 0; owner != NULL && i < owner->guards.count; i++) {
        GuardForm guard = owner->guards.items[i];
        if (form_find_loop(guard.value, is_not_outside, stage) == NULL)
            stage_add_guard(state, stage, guard);
    }
}

/* A box can reach beyond its domain, where consumers have guards or an otherwise. One that is unwrapped has values
 * there. */
static void guard_box(NestState *state, StageState *stage) {
    Forms *forms = &state->forms;
    for (int d = 0; stage->boxed && d < stage->tensor->rank; d++) {
        if (stage_unwraps(stage, d))
            continue;
        const Form *index = stage->axes[d], *extent = domain_extent(state, stage, d);
        if (!form_below(forms, index, extent))
            stage_add_guard(state, stage, (GuardForm){.value = index, .limit = extent});
        if (!form_at_most(forms, form_int(forms, 0), index))
            stage_add_guard(state, stage,
                            (GuardForm){.value = form_add_scaled(forms, form_int(forms, 0), -1, index),
                                        .limit = form_int(forms, 1)});
    }
}

/* The box of one iteration can also reach beyond a buffer that is kept for all iterations. A stage that initialises
 * such a buffer fills the same part. */
static void guard_buffer(NestState *state, StageState *stage) {
    Forms *forms = &state->forms;
    const StageState *holder = stage->updates != NULL ? stage->updates : stage;
    for (int d = 0; holder->stored && d < stage->tensor->rank; d++) {
        const Form *index = form_add_scaled(forms, stage->axes[d], -1, holder->origin[d]), *whole = index;
        if (holder->slides != NULL && holder->slides[d]) /* the guard of its window keeps it in the box */
            whole =
                form_add_scaled(forms, form_add(forms, holder->low[d], stage->roots[d]->value), -1, holder->origin[d]);
        if (!form_below(forms, whole, holder->size[d]))
            stage_add_guard(state, stage, (GuardForm){.value = index, .limit = holder->size[d]});
        if (!form_at_most(forms, form_int(forms, 0), whole))
            stage_add_guard(state, stage,
                            (GuardForm){.value = form_add_scaled(forms, form_int(forms, 0), -1, index),
                                        .limit = form_int(forms, 1)});
    }
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

/* What a step of a scan reads of its producers is of that step, even where its axis is cut into more values than the
 * one: guards leave those out, and they have nothing to be computed from yet. Registers hold them all the same. */
static void widen_producers(NestState *state, StageState *stage) {
    const Form **axes = stage->axes;
    int64_t extent;
    bool guarded = scan_around(stage) != NULL && !(stage->scope_set && stage->scope == SCOPE_REGISTER);
    stage->axes = ARENA_ARRAY(state->arena, const Form *, stage->root_count);
    for (int r = 0; r < stage->root_count; r++) {
        bool one = guarded && stage->boxed && r < stage->tensor->rank &&
                   affine_is_int(stage->roots[r]->extent, &extent) && extent == 1;
        stage->axes[r] = one ? stage->base[r] : axes[r];
    }
    for (int i = 0; i < stage->accesses.count; i++) {
        const NestRead *access = &stage->accesses.items[i];
        if (access->producer != NULL && access->producer->boxes != NULL)
            widen_producer(state, stage, access);
    }
    stage->axes = axes;
}

static void finish_stage(NestState *state, StageState *stage) {
    find_domain(state, stage);
    unwrap_stage(state, stage);
    find_extents(state, stage);
    find_values(state, stage);
    find_filled_part(state, stage);
    guard_splits(state, stage);
    guard_like_owner(state, stage);
    guard_box(state, stage);
    guard_buffer(state, stage);
    guard_window(state, stage);
    widen_producers(state, stage);
}

void finish_bounds(NestState *state) {
    for (int i = 0; i < state->stages.count; i++) {
        StageState *stage = state->stages.items[i];
        bool collects = stage->at != NULL && stage->owner == NULL && stage->scan == NULL && !stage->nest.inlined;
        stage->boxes = collects ? ARENA_ARRAY(state->arena, Box, stage->tensor->rank) : NULL;
        stage->stores = collects && stage->stored ? ARENA_ARRAY(state->arena, Box, stage->tensor->rank) : NULL;
        stage->unwrapped = stage->unwrapped_stores = NULL;
        stage->unwraps = NULL;
    }
    begin_unwrapped(state);
    for (int i = state->stages.count - 1; i >= 0; i--)
        if (!state->stages.items[i]->nest.inlined)
            finish_stage(state, state->stages.items[i]);
}
