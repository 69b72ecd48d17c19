/* profile.c - see profile.h. */
#include "autosched/model/copies.h"
#include "autosched/model/forms.h"
#include "autosched/model/model.h"
#include "lang/sequence.h"

#include <math.h>
#include <string.h>

/* --- stages --- */

/* Puts a loop, or the loops that it was fused from, into loops (may be NULL). Returns their number. */
static int parts_fill(Arena *arena, const Loop *loop, const Loop **loops) {
    if (loops && loop->fused_count == 0)
        loops[0] = loop;
    for (int k = 0; loops && k < loop->fused_count; k++) {
        Loop *part = ARENA_NEW(arena, Loop);
        *part = *loop;
        part->extent = loop->fused[k];
        loops[k] = part;
    }
    return loop->fused_count > 0 ? loop->fused_count : 1;
}

/* Puts the first `depth` loops of the stage and all around them into loops (may be NULL). Returns their number. */
static int chain_fill(Arena *arena, const NestStage *stage, int depth, const Loop **loops) {
    int count = stage->parent ? chain_fill(arena, stage->parent, stage->depth, loops) : 0;
    for (int l = 0; l < depth; l++)
        count += parts_fill(arena, stage->loops[l], loops ? loops + count : NULL);
    return count;
}

int profile_loop_parts(const StageFacts *stage, int first) {
    int last = first + 1;
    while (last < stage->loop_count && stage->loops[last]->var == stage->loops[first]->var)
        last++;
    return last - first;
}

static bool is_among(const Loop *loop, const NestStage *stage, int depth) {
    for (int l = 0; l < depth; l++)
        if (stage->loops[l]->var == loop->var)
            return true;
    return false;
}

/* Whether the stage's buffer lives inside the loop. */
static bool encloses(const Loop *loop, const NestStage *stage) {
    const NestStage *outer = stage->home;
    int depth = stage->home_depth;
    while (outer && !is_among(loop, outer, depth)) {
        depth = outer->depth;
        outer = outer->parent;
    }
    return outer != NULL;
}

/* The elements that one step along dimension d crosses: those of the component that a step of this slope moves. */
static double ordered_stride(const AccessFacts *access, const ElementOrder *order, int d, double slope) {
    double elements = 1, stride = 0, reach = 0;
    for (int i = order->count - 1; i >= 0; i--) {
        const OrderPart *part = &order->parts[i];
        if (part->dimension == d && part->divisor <= larger(slope, 1) && part->divisor > reach) {
            reach = (double)part->divisor;
            stride = elements / reach;
        }
        elements *= part->modulus ? (double)part->modulus : ceil(access->dims[part->dimension] / (double)part->divisor);
    }
    return stride;
}

/* A buffer that lives inside a loop is the same place in each of its iterations. */
static void stay_in_buffer(const StageFacts *facts, AccessFacts *access, const NestStage *producer) {
    for (int l = 0; l < facts->loop_count; l++)
        if (encloses(facts->loops[l], producer))
            for (int d = 0; d < access->rank; d++)
                access->slopes[d * facts->loop_count + l] = 0;
}

static void access_strides(const StageFacts *facts, AccessFacts *access, const ElementOrder *order) {
    double step = 1;
    access->size = access->bytes;
    for (int d = access->rank - 1; d >= 0; d--) {
        const double *slopes = access->slopes + d * facts->loop_count;
        int *movers = access->movers + d * facts->loop_count;
        for (int l = 0; l < facts->loop_count; l++)
            if (slopes[l] != 0) {
                movers[access->mover_count[d]++] = l;
                access->strides[l] += slopes[l] * (order ? ordered_stride(access, order, d, fabs(slopes[l])) : step);
            }
        step *= access->dims[d];
        access->size *= access->dims[d];
    }
}

/* How much it costs to take lanes back inside: a remainder is a division in each tile at an end. 0: the index is not
 * limited, or has the same value in all lanes, which costs next to nothing. */
static int clamp_cost(const LinearForms *forms, const Expr *index, const double *form) {
    int cost = 0;
    if (!moves_in_lanes(forms, form))
        return 0;
    EACH_EXPR(e, index) {
        bool limit = expr_is_op(e, OP_MIN) || expr_is_op(e, OP_MAX), divides = expr_is_op(e, OP_MOD);
        int64_t period;
        bool known = divides && expr_is_int(e->args[1], &period), block = known && period <= BLOCK_MOST;
        int own = limit ? CLAMP_LIMIT : !divides || block ? 0 : known ? CLAMP_NUMBER : CLAMP_SIZE;
        cost = own > cost ? own : cost;
    }
    return cost;
}

/* All arrays of an access, in two pieces of memory. */
static void access_arrays(Arena *arena, AccessFacts *access, int loops) {
    int rank = access->rank;
    double *numbers = ARENA_ARRAY(arena, double, 3 * rank + rank * loops + 2 * loops + 1);
    int *counts = arena_alloc(arena, sizeof(int) * (size_t)(rank * loops + 2 * rank) + sizeof(bool) * (size_t)rank);
    access->dims = numbers;
    access->offsets = access->dims + rank;
    access->spread = access->offsets + rank;
    access->slopes = access->spread + rank;
    access->strides = access->slopes + rank * loops;
    access->reached = access->strides + loops;
    access->movers = counts;
    access->mover_count = counts + rank * loops;
    access->clamped = access->mover_count + rank;
    access->tested = (bool *)(access->clamped + rank);
}

static void access_make(LinearForms *forms, StageFacts *facts, AccessFacts *access, const Tensor *tensor,
                        Expr *const *index) {
    const NestStage *producer = nest_producer(forms->nest, tensor);
    const Tensor *buffer = producer ? producer->buffers[stage_component_of(producer->stage, tensor)] : tensor;
    int loops = facts->loop_count;
    double form[loops + 1];
    access->tensor = tensor;
    access->rank = tensor->rank;
    access->bytes = element_info[tensor->type].bytes;
    access->in_registers = buffer->scope == SCOPE_REGISTER;
    access->temporary = producer && buffer->role == ROLE_TEMPORARY && buffer->scope == SCOPE_GLOBAL;
    access->shifts = 1;
    access_arrays(forms->arena, access, loops);
    forms->irregular = false;
    for (int d = 0; d < access->rank; d++) {
        access->dims[d] = linear_constant(buffer->dims[d], forms->typical);
        linear_form(forms, index[d], form);
        memcpy(access->slopes + d * loops, form, sizeof *form * (size_t)loops);
        access->offsets[d] = form[loops];
        access->clamped[d] = clamp_cost(forms, index[d], form);
    }
    access->irregular = forms->irregular;
    if (producer)
        stay_in_buffer(facts, access, producer);
    access_strides(facts, access, buffer->order);
}

typedef struct ValueWalk {
    LinearForms *forms;
    StageFacts *facts;
    const Expr **seen; /* repeated reads are loaded once */
    uint64_t *marks;   /* of many reads: equal ones have the same; or NULL */
    int seen_count;
    const Expr *term; /* what is combined */
    bool padded;      /* inside a choice of 0 where some indices are outside */
    bool omits;       /* there, the whole term is 0 */
    bool added;       /* the product that a multiply-add computes is found */
} ValueWalk;

enum { MANY_READS = 64 }; /* to be compared each with each */

static uint64_t mark_of(const Expr *read) {
    uint64_t mark = 0;
    EACH_EXPR(e, read)
        mark = 31 * mark + (e->kind == EXPR_INT ? (uint64_t)e->integer : (uint64_t)e->kind);
    return mark;
}

static bool is_seen(ValueWalk *walk, const Expr *read) {
    uint64_t mark = walk->marks ? mark_of(read) : 0;
    for (int i = 0; i < walk->seen_count; i++)
        if ((!walk->marks || walk->marks[i] == mark) && expr_equal(walk->seen[i], read))
            return true;
    if (walk->marks)
        walk->marks[walk->seen_count] = mark;
    walk->seen[walk->seen_count++] = read;
    return false;
}

/* What a choice at compile time chooses by: the axis of axis == 3, or of axis % 4 == 3 with the period 4. NULL: it is
 * none, or not all loops that change it are unrolled. */
static const Expr *chosen_axis(const ValueWalk *walk, const Expr *e, int64_t *period) {
    int64_t value;
    const Expr *condition = expr_is_op(e, OP_SELECT) ? e->args[0] : NULL;
    if (!condition || !expr_is_op(condition, OP_EQ) || !expr_is_int(condition->args[1], &value))
        return NULL;
    const Expr *chosen = condition->args[0];
    *period = 0;
    if (expr_is_op(chosen, OP_MOD) && expr_is_int(chosen->args[1], period))
        chosen = chosen->args[0];
    if (chosen->kind != EXPR_VAR)
        return NULL;
    double form[walk->forms->count + 1];
    linear_form(walk->forms, chosen, form);
    for (int l = 0; l < walk->forms->count; l++)
        if (form[l] != 0 && walk->forms->loops[l]->kind != LOOP_UNROLLED && extent_of(walk->forms, l) > 1 &&
            (*period == 0 || fmod(form[l], (double)*period) != 0))
            return NULL;
    return chosen;
}

/* How many values the axis of a choice takes. */
static double chosen_values(const ValueWalk *walk, const Expr *axis, int64_t period) {
    double form[walk->forms->count + 1], values = 1;
    linear_form(walk->forms, axis, form);
    for (int l = 0; l < walk->forms->count; l++)
        values *= form[l] != 0 ? extent_of(walk->forms, l) : 1;
    return period ? fmin(values, (double)period) : values;
}

static void add_value(ValueWalk *walk, const Expr *value);

typedef struct ArithmeticWork {
    double operations, expensive, divisions;
} ArithmeticWork;

static ArithmeticWork work_so_far(const StageFacts *facts) {
    return (ArithmeticWork){facts->operations, facts->expensive, facts->divisions};
}

static void set_work(StageFacts *facts, ArithmeticWork work) {
    facts->operations = work.operations;
    facts->expensive = work.expensive;
    facts->divisions = work.divisions;
}

/* Adds `part` of what one side of a case takes. */
static void add_side(ValueWalk *walk, const Expr *value, ArithmeticWork before, double part, ArithmeticWork *mean) {
    bool added = walk->added;
    set_work(walk->facts, before);
    add_value(walk, value);
    walk->added = added;
    ArithmeticWork after = work_so_far(walk->facts);
    mean->operations += part * (after.operations - before.operations);
    mean->expensive += part * (after.expensive - before.expensive);
    mean->divisions += part * (after.divisions - before.divisions);
}

/* Each value of the axis takes one side: a chain of cases takes the mean of its sides. */
static void add_cases(ValueWalk *walk, const Expr *e, const Expr *axis, int64_t period) {
    double values = chosen_values(walk, axis, period), left = values;
    ArithmeticWork before = work_so_far(walk->facts), mean = before;
    int64_t other_period = period;
    for (const Expr *other = axis; other && other->var == axis->var && other_period == period && left > 0; left--) {
        add_side(walk, e->args[1], before, fmin(left, 1) / values, &mean);
        e = e->args[2];
        other = chosen_axis(walk, e, &other_period);
    }
    add_side(walk, e, before, fmax(left, 0) / values, &mean);
    set_work(walk->facts, mean);
}

/* Adds the access to an earlier one that differs in offsets alone. */
static void find_shift(const StageFacts *facts, int number) {
    AccessFacts *access = &facts->accesses[number];
    for (int a = 0; a < number; a++) {
        AccessFacts *first = &facts->accesses[a];
        if (first->write || !first->shifts || first->tensor != access->tensor || access->irregular ||
            memcmp(first->slopes, access->slopes, sizeof *first->slopes * (size_t)(access->rank * facts->loop_count)))
            continue;
        for (int d = 0; d < access->rank; d++)
            first->spread[d] = fmax(first->spread[d], fabs(access->offsets[d] - first->offsets[d]));
        first->shifts++;
        access->shifts = 0;
        return;
    }
}

static bool is_sum(const ValueWalk *walk) {
    return walk->facts->stage->stage->combine == COMBINE_ADD && !walk->forms->nest->program->strict;
}

/* (h + r > 0 ? T((h + r) / 2) : 0) in a sum: what (U(h + r) else 0) becomes when U is inlined. */
static bool is_padding(const ValueWalk *walk, const Expr *e) {
    return expr_is_op(e, OP_SELECT) && is_sum(walk) && expr_is_zero(e->args[2]) && !expr_reads(e->args[0]);
}

/* Whether the value is 0 where the part is. */
static bool is_factor(const ValueWalk *walk, const Expr *value, const Expr *part) {
    if (value == part)
        return true;
    if (is_padding(walk, value))
        return is_factor(walk, value->args[1], part);
    bool product = value->kind == EXPR_CAST || (expr_is_op(value, OP_MUL)), factor = false;
    for (int i = 0; i < value->count && product && !factor; i++)
        factor = is_factor(walk, value->args[i], part);
    return factor;
}

/* Whether terms of the sum that are 0 because this read is outside may be left out. */
static bool adds_zeros(const ValueWalk *walk, const Expr *read) {
    if (read->otherwise)
        return is_sum(walk) && expr_is_zero(read->otherwise) && is_factor(walk, walk->term, read);
    return walk->padded && walk->omits;
}

static void add_access(ValueWalk *walk, const Expr *read) {
    StageFacts *facts = walk->facts;
    AccessFacts *access = &facts->accesses[facts->access_count++];
    access_make(walk->forms, facts, access, read->tensor, read->args);
    find_shift(facts, facts->access_count - 1);
    access->guarded = read->otherwise || walk->padded;
    double inside = access->guarded ? access_clip(facts, access, adds_zeros(walk, read)) : 1;
    facts->kept *= walk->padded ? 1 : inside; /* the padding says which part is inside */
}

/* Whether the value differs between lanes: an index that is a quotient, as channels of one head are, may not. */
static bool value_moves(LinearForms *forms, const Expr *value) {
    double form[forms->count + 1];
    if (value->kind == EXPR_VAR) {
        linear_form(forms, value, form);
        return moves_in_lanes(forms, form);
    }
    for (int a = 0; a < value->count; a++) {
        bool index = value->kind == EXPR_READ, irregular = forms->irregular;
        if (index)
            linear_form(forms, value->args[a], form);
        forms->irregular = irregular; /* that is said of accesses */
        if (index ? moves_in_lanes(forms, form) : value_moves(forms, value->args[a]))
            return true;
    }
    return value->otherwise && value_moves(forms, value->otherwise);
}

static bool has_vectors(const LinearForms *forms) {
    for (int l = 0; l < forms->count; l++)
        if (forms->loops[l]->kind == LOOP_VECTORIZED)
            return true;
    return false;
}

/* Whether the divisor is one value for all lanes: code computes its reciprocal once for them and multiplies by it. */
static bool divides_by_one_value(const ValueWalk *walk, const Expr *divisor) {
    LinearForms *forms = walk->forms;
    bool number = divisor->kind == EXPR_REAL || divisor->kind == EXPR_INT;
    return has_vectors(forms) && !number && !forms->nest->program->strict && !value_moves(forms, divisor);
}

/* Whether it is a product that is corrected by its remainder. */
static bool divides_by_constant(const ValueWalk *walk, const Expr *divisor) {
    const Nest *nest = walk->forms->nest;
    return has_vectors(walk->forms) && !nest->program->strict && divisor_is_refined(divisor) &&
           target_refines_quotients(nest->target);
}

enum { SCALED = 2 /* operations in place of a division */ };

static void add_operation(const ValueWalk *walk, const Expr *e) {
    StageFacts *facts = walk->facts;
    bool divides = e->op == OP_DIV && type_is_float(e->type);
    bool scaled = divides && divides_by_one_value(walk, e->args[1]);
    bool refined = divides && divides_by_constant(walk, e->args[1]), by_divider = divides && !scaled && !refined;
    facts->operations += scaled ? SCALED : refined ? SEQUENCE_REFINED : 1;
    facts->expensive += op_info[e->op].class == CLASS_MATH || by_divider;
    facts->divisions += by_divider;
}

/* Whether it is the product that a sum adds: a multiply-add does both. Only one is. */
static bool is_added(ValueWalk *walk, const Expr *e) {
    const StageFacts *facts = walk->facts;
    bool added =
        e->op == OP_MUL && facts->operations == 0 && !walk->added && facts->stage->stage->combine == COMBINE_ADD;
    walk->added |= added;
    return added;
}

/* A form over the loops that is negative where the predicate holds; false: it is no comparison of indices. */
static bool form_of_predicate(const ValueWalk *walk, const Expr *predicate, double *form) {
    if (!expr_is_inequality(predicate))
        return false;
    int loops = walk->facts->loop_count, less = comparison_info[predicate->op].less;
    double other[loops + 1];
    linear_form(walk->forms, predicate->args[!less], form);
    linear_form(walk->forms, predicate->args[less], other);
    for (int l = 0; l <= loops; l++)
        form[l] -= other[l];
    form[loops] -= comparison_info[predicate->op].equal ? 1 : 0;
    return true;
}

/* The part of the iterations that a predicate on indices leaves, if loops can leave out the others. */
static double part_inside(const ValueWalk *walk, const Expr *predicate) {
    double form[walk->facts->loop_count + 1], part = 1;
    if (expr_is_op(predicate, OP_AND)) {
        for (int i = 0; i < predicate->count; i++)
            part *= part_inside(walk, predicate->args[i]);
        return part;
    }
    return form_of_predicate(walk, predicate, form) ? predicate_clip(walk->facts, form) : 1;
}

static void add_padded(ValueWalk *walk, const Expr *padding) {
    bool padded = walk->padded, omits = walk->omits, factor = is_factor(walk, walk->term, padding);
    if (factor)
        walk->facts->kept *= part_inside(walk, padding->args[0]);
    walk->padded = true;
    walk->omits |= factor;
    add_value(walk, padding->args[1]);
    walk->padded = padded;
    walk->omits = omits;
}

static void add_value(ValueWalk *walk, const Expr *value) {
    EACH_EXPR(e, value) {
        int64_t period;
        const Expr *axis = chosen_axis(walk, e, &period);
        if (axis) {
            add_cases(walk, e, axis, period);
        } else if (is_padding(walk, e)) {
            add_padded(walk, e);
        } else if (e->kind == EXPR_READ) {
            if (!is_seen(walk, e))
                add_access(walk, e);
        } else {
            if (e->kind == EXPR_OP && !is_added(walk, e))
                add_operation(walk, e);
            continue;
        }
        SKIP_BELOW(e);
    }
}

/* Loops leave out iterations where a predicate on indices fails. */
static void leave_out(const ValueWalk *walk, const Expr *predicate) {
    Arena *arena = walk->forms->arena;
    if (expr_is_op(predicate, OP_AND)) {
        for (int i = 0; i < predicate->count; i++)
            leave_out(walk, predicate->args[i]);
        return;
    }
    double *form = ARENA_ARRAY(arena, double, walk->facts->loop_count + 1);
    if (form_of_predicate(walk, predicate, form))
        list_push(arena, &walk->facts->predicates, form);
}

/* Walks what is combined where the stage's predicates hold. Those on indices alone are tested outside the loops. */
static void walk_value(ValueWalk *walk, const Stage *stage, int component) {
    const Expr *value = walk->term = stage->components[component].value, *condition;
    while ((condition = stage_take_condition(stage, component, &value)))
        if (expr_reads(condition))
            add_value(walk, condition);
        else if (component == 0)
            leave_out(walk, condition);
    walk->term = value;
    add_value(walk, value);
}

/* Values that several results share are computed once. */
static void add_combining(const ValueWalk *walk, const Expr *result, ExprList *seen) {
    EACH_EXPR(e, result) {
        if (e->kind != EXPR_OP)
            continue;
        if (expr_is_listed(seen, e)) {
            SKIP_BELOW(e);
            continue;
        }
        list_push(walk->forms->arena, seen, (Expr *)e);
        add_operation(walk, e);
    }
}

/* Operations from what was combined so far to the expression, plus 1; 0: it does not depend on that. */
static int depth_of(const Combiner *combiner, const Expr *e) {
    int depth = 0;
    for (int c = 0; c < combiner->count && e->kind == EXPR_VAR; c++)
        depth |= e->var == combiner->left[c];
    for (int i = 0; i < e->count; i++) {
        int below = depth_of(combiner, e->args[i]);
        depth = below > 0 && below + 1 > depth ? below + 1 : depth;
    }
    return depth;
}

static void walk_combiner(ValueWalk *walk, const Combiner *combiner) {
    ExprList seen = {0};
    for (int c = 0; c < combiner->count; c++) {
        int depth = depth_of(combiner, combiner->result[c]) - 1;
        add_combining(walk, combiner->result[c], &seen);
        walk->facts->depth = depth > walk->facts->depth ? depth : walk->facts->depth;
    }
}

/* Whether what the stage stores is loaded again, in later iterations of its reduction loops. */
static bool goes_on(const StageFacts *facts) {
    bool again = false;
    for (int l = 0; l < facts->stage->loop_count && facts->stage->partial; l++)
        again |= facts->stage->loops[l]->reduction && facts->stage->loops[l]->extent != 1;
    return again;
}

static void stage_accesses(LinearForms *forms, StageFacts *facts) {
    const Stage *stage = facts->stage->stage;
    int most = 2 * stage->component_count;
    EACH_VALUE_READ(read, stage)
        most++;
    facts->accesses = ARENA_ARRAY(forms->arena, AccessFacts, most);
    ValueWalk walk = {.forms = forms, .facts = facts, .seen = ARENA_ARRAY(forms->arena, const Expr *, most + 1)};
    if (most > MANY_READS)
        walk.marks = ARENA_ARRAY(forms->arena, uint64_t, most + 1);
    Expr *index[stage->axis_count + 1];
    for (int a = 0; a < stage->axis_count; a++)
        index[a] = expr_var(forms->arena, stage->axes[a]);
    for (int c = 0; c < stage->component_count; c++) {
        AccessFacts *access = &facts->accesses[facts->access_count++];
        access_make(forms, facts, access, stage->components[c].tensor, index);
        access->write = true;
    }
    for (int c = 0; c < stage->component_count && goes_on(facts); c++)
        access_make(forms, facts, &facts->accesses[facts->access_count++], stage->components[c].tensor, index);
    const AccessFacts *reads = facts->accesses + facts->access_count;
    for (int c = 0; c < stage->component_count; c++)
        walk_value(&walk, stage, c);
    count_copies(forms->arena, facts, &(ReadsSeen){walk.seen, reads, walk.seen_count});
    if (stage->combine == COMBINE_DECLARED)
        walk_combiner(&walk, stage->combiner);
    facts->operations += stage->combine != COMBINE_NONE && stage->combine != COMBINE_DECLARED;
}

static void stage_fill(Arena *arena, const Nest *nest, const NestStage *stage, double typical, StageFacts *facts) {
    facts->stage = stage;
    facts->loop_count = chain_fill(arena, stage, stage->loop_count, NULL);
    facts->outer_count = stage->parent ? chain_fill(arena, stage->parent, stage->depth, NULL) : 0;
    facts->loops = ARENA_ARRAY(arena, const Loop *, facts->loop_count + 1);
    chain_fill(arena, stage, stage->loop_count, facts->loops);
    facts->extents = ARENA_ARRAY(arena, double, facts->loop_count + 1);
    facts->bodies = ARENA_ARRAY(arena, double, facts->loop_count + 1);
    facts->iterations = facts->kept = 1;
    for (int l = 0; l < facts->loop_count; l++) {
        const Loop *loop = facts->loops[l];
        facts->extents[l] = loop->extent >= 0 ? (double)loop->extent : linear_constant(loop->var->extent, typical);
        facts->iterations *= facts->extents[l];
    }
    facts->lanes = target_lanes(nest->target, stage->stage->components[0].tensor->type);
    facts->registers = nest->target->vector_registers;
    facts->column_most = nest->target->family->column_most;
    facts->machine = nest->target->machine;
    int axes = stage->stage->axis_count + stage->stage->reduction_count;
    LinearForms forms = {
        .arena = arena, .nest = nest, .count = facts->loop_count, .loops = facts->loops, .typical = typical};
    double *values = ARENA_ARRAY(arena, double, axes *(facts->loop_count + 1));
    for (int a = 0; a < axes; a++)
        linear_form(&forms, stage->axis_values[a], values + a * (facts->loop_count + 1));
    fill_iterations(&forms, facts, values);
    stage_accesses(&forms, facts);
}

/* What the stages that count do together, and the one that does most. */
static void count_work(Profile *profile) {
    double heaviest = -1;
    profile->operations = 0;
    for (int s = 0; s < profile->stage_count; s++) {
        const StageFacts *facts = &profile->stages[s];
        double work = facts->iterations * (facts->operations + 4 * facts->expensive + 0.5);
        if (!profile_counts(profile, s))
            continue;
        profile->operations += facts->iterations * facts->operations;
        if (work > heaviest) {
            heaviest = work;
            profile->heaviest = s;
        }
    }
}

Profile *profile_nest_at(Arena *arena, const Nest *nest, double typical) {
    Profile *profile = ARENA_NEW(arena, Profile);
    profile->stages = ARENA_ARRAY(arena, StageFacts, nest->stage_count + 1);
    for (int s = 0; s < nest->stage_count; s++) {
        if (nest->stages[s]->inlined || nest->stages[s]->scan || nest->stages[s]->constant)
            continue;
        stage_fill(arena, nest, nest->stages[s], typical, &profile->stages[profile->stage_count++]);
    }
    count_work(profile);
    return profile;
}

Profile *profile_nest(Arena *arena, const Nest *nest) {
    return profile_nest_at(arena, nest, TYPICAL_SIZE);
}

double *nest_work(Arena *arena, const Nest *nest) {
    double *work = ARENA_ARRAY(arena, double, nest->stage_count + 1);
    const Profile *profile = profile_nest(arena, nest);
    for (int n = 0, s = 0; s < profile->stage_count; n++)
        if (nest->stages[n] == profile->stages[s].stage) {
            work[n] = profile->stages[s].iterations * (profile->stages[s].operations + 1);
            s++;
        }
    return work;
}

enum { GAPS_LIMIT = 8 }; /* places further apart: what lies between is not touched */

double access_reach(const StageFacts *stage, const AccessFacts *access, int dimension, int depth) {
    const double *slopes = access->slopes + dimension * stage->loop_count;
    const int *movers = access->movers + dimension * stage->loop_count;
    double reach = 1;
    for (int m = 0; m < access->mover_count[dimension]; m++)
        if (movers[m] >= depth)
            reach += fabs(slopes[movers[m]]) * (stage->extents[movers[m]] - 1);
    return reach;
}

/* The elements that loops reach, by dimension. An index that leaves large gaps touches as many places as the loops have
 * iterations. */
static double elements_reached(const AccessFacts *access, const double *reach, const double *places) {
    double elements = 1;
    for (int d = 0; d < access->rank; d++)
        elements *= smaller(reach[d] > GAPS_LIMIT * places[d] ? places[d] : reach[d], access->dims[d]);
    return elements;
}

/* Footprints from `first` on, at their depths in `bytes`: the same before a loop that moves no index. */
static void footprints(const StageFacts *stage, const AccessFacts *access, int first, double *bytes) {
    int loops = stage->loop_count;
    double reach[access->rank + 1], places[access->rank + 1];
    for (int d = 0; d < access->rank; d++)
        reach[d] = places[d] = 1;
    bytes[loops] = elements_reached(access, reach, places) * access->bytes;
    for (int l = loops - 1; l >= first; l--) {
        bool moves = false;
        for (int d = 0; d < access->rank; d++) {
            double slope = fabs(access->slopes[d * loops + l]);
            if (slope == 0)
                continue;
            reach[d] += slope * (stage->extents[l] - 1);
            places[d] *= stage->extents[l];
            moves = true;
        }
        bytes[l] = moves ? elements_reached(access, reach, places) * access->bytes : bytes[l + 1];
    }
}

/* Footprints are kept: all memory levels and the features ask for the same few. */
double access_footprint(const StageFacts *stage, const AccessFacts *access, int depth) {
    if (depth < stage->changed) {
        double bytes[stage->loop_count + 1];
        footprints(stage, access, depth, bytes);
        return bytes[depth];
    }
    if (access->reached[depth] == 0)
        footprints(stage, access, stage->changed, access->reached);
    return access->reached[depth];
}

Profile profile_of_some(const Profile *profile, const bool *left_out) {
    Profile some = *profile;
    some.left_out = left_out;
    count_work(&some);
    return some;
}
