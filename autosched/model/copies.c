/* copies.c - what copies of an unrolled loop's body have in common. The next row of a window reads and computes most of
 * what the row before did; the code generator reads and computes it once, as it does with what no copy changes.
 *
 * Needs the accesses of the stage as linear forms. Keeps true: what is counted as repeated is the same in another copy,
 * at the same place of memory or by the same operations on such places. Repeats along several loops count once.
 */
#include "autosched/model/copies.h"
#include "autosched/model/lanes.h"

#include <math.h>
#include <string.h>

enum { COMPARED_LIMIT = 64 }; /* reads or operations that are compared; of more nothing is counted */

static bool makes_copies(const StageFacts *facts, int loop) {
    return facts->loops[loop]->kind == LOOP_UNROLLED && facts->extents[loop] > 1;
}

static bool moves(const StageFacts *facts, const AccessFacts *access, int loop) {
    for (int d = 0; d < access->rank; d++)
        if (access->slopes[d * facts->loop_count + loop] != 0)
            return true;
    return false;
}

/* Iterations of the loop from the access `from` to where `to` is now; 0: none of the other copies is there. */
static double steps_between(const StageFacts *facts, const AccessFacts *from, const AccessFacts *to, int loop) {
    double steps = 0;
    size_t size = sizeof *from->slopes * (size_t)(from->rank * facts->loop_count);
    if (from->tensor != to->tensor || from->irregular || to->irregular || from->write || to->write ||
        memcmp(from->slopes, to->slopes, size) != 0)
        return 0;
    for (int d = 0; d < from->rank; d++) {
        double slope = from->slopes[d * facts->loop_count + loop], apart = to->offsets[d] - from->offsets[d];
        if (slope == 0 && apart == 0)
            continue;
        if (slope == 0 || (steps != 0 && apart != steps * slope))
            return 0;
        steps = apart / slope;
        if (steps < 1 || steps >= facts->extents[loop] || steps != (double)(int)steps)
            return 0;
    }
    return steps;
}

/* The part of the copies' accesses that other copies of accesses make. */
static double repeated_access(const StageFacts *facts, const AccessFacts *access) {
    double new = 1;
    for (int l = 0; l < facts->loop_count; l++)
        for (int a = 0; a < facts->access_count && makes_copies(facts, l) && moves(facts, access, l); a++) {
            double steps = steps_between(facts, access, &facts->accesses[a], l) / facts->extents[l];
            new = steps > 0 && steps < new ? steps : new;
        }
    return 1 - new;
}

/* --- from step to step of a reduction --- */

/* The only dimension that the loop moves; -1: none, or several. */
static int dimension_moved(const StageFacts *facts, const AccessFacts *access, int loop) {
    int moved = -1;
    for (int d = 0; d < access->rank; d++)
        if (access->slopes[d * facts->loop_count + loop] != 0) {
            if (moved >= 0)
                return -1;
            moved = d;
        }
    return moved;
}

/* The fewest steps of the reduction that move the access as far as whole iterations of the other loop do, which are
 * *iterations; 0: no later step is there. */
static double steps_alike(const StageFacts *facts, const AccessFacts *access, int step, int loop, double *iterations) {
    int moved = dimension_moved(facts, access, step);
    if (moved < 0 || dimension_moved(facts, access, loop) != moved)
        return 0;
    double of_step = access->slopes[moved * facts->loop_count + step];
    double of_loop = access->slopes[moved * facts->loop_count + loop];
    for (double steps = 1; steps < facts->extents[step]; steps++) {
        *iterations = fabs(steps * of_step / of_loop);
        if (*iterations == floor(*iterations))
            return *iterations < facts->extents[loop] ? steps : 0;
    }
    return 0;
}

/* Whether only copies and lanes are inside of the loop: in a loop that stays one nothing is held. */
static bool is_all_expanded(const StageFacts *facts, int loop) {
    for (int l = loop + 1; l < facts->loop_count; l++)
        if (facts->extents[l] > 1 && !loop_is_expanded(facts, l))
            return false;
    return true;
}

/* Vectors of the access in one iteration of a loop. */
static double vectors_inside(const StageFacts *facts, const AccessFacts *access, int loop) {
    double vectors = 1;
    for (int l = loop + 1; l < facts->loop_count; l++)
        if (access->strides[l] != 0 && loop_is_expanded(facts, l))
            vectors *= facts->loops[l]->kind == LOOP_VECTORIZED ? loop_vectors(facts, l) : facts->extents[l];
    return vectors;
}

/* Each step of an unrolled reduction over a window reads most of what a step before it did, at the next places. */
static void hold_steps(const StageFacts *facts, AccessFacts *access) {
    for (int r = 0; r < facts->loop_count; r++) {
        if (!facts->loops[r]->reduction || !makes_copies(facts, r) || !is_all_expanded(facts, r))
            continue;
        for (int l = r + 1; l < facts->loop_count; l++) {
            double iterations, steps = 0;
            if (makes_copies(facts, l) && !facts->loops[l]->reduction)
                steps = steps_alike(facts, access, r, l, &iterations);
            if (steps == 0)
                continue;
            double part = 1 - iterations / facts->extents[l];
            access->held += vectors_inside(facts, access, r) * steps * part;
            access->repeated += (1 - access->repeated) * part * (1 - steps / facts->extents[r]);
            break;
        }
    }
}

/* Whether the lanes of each vector are neighbours, or all the same element. */
static bool has_whole_vectors(const StageFacts *facts, const AccessFacts *access) {
    bool whole = !access->irregular && !access->write && !access->in_registers;
    for (int l = 0; l < facts->loop_count && whole; l++)
        whole = facts->loops[l]->kind != LOOP_VECTORIZED || fabs(access->strides[l]) <= 1;
    return whole;
}

/* --- the same operations --- */

/* Whether two expressions differ in what they read alone. */
static bool computes_alike(const Expr *a, const Expr *b) {
    if (a->kind != b->kind || a->type != b->type || a->op != b->op || a->count != b->count)
        return false;
    if (a->kind == EXPR_READ)
        return a->tensor == b->tensor;
    if (a->kind != EXPR_OP && a->kind != EXPR_CAST)
        return expr_equal(a, b);
    for (int i = 0; i < a->count; i++)
        if (!computes_alike(a->args[i], b->args[i]))
            return false;
    return true;
}

/* Its reads stand one after the other among those of the value. */
typedef struct Operation {
    const Expr *e;
    int first, count;
} Operation;

typedef struct CopiedValue {
    Arena *arena;
    StageFacts *facts;
    const ReadsSeen *seen;
    LIST(const AccessFacts *) reads;
    LIST(Operation) operations;
} CopiedValue;

static const AccessFacts *access_of(const ReadsSeen *seen, const Expr *read) {
    for (int i = 0; i < seen->count; i++)
        if (expr_equal(seen->reads[i], read))
            return &seen->accesses[i];
    return NULL;
}

static bool is_large(const CopiedValue *value) {
    return value->reads.count > COMPARED_LIMIT || value->operations.count > COMPARED_LIMIT;
}

/* Whether it makes floats of integers: with work of its own, as loads do not. */
static bool converts(const Expr *e) {
    return e->kind == EXPR_CAST && type_is_float(e->type) && type_is_integer(e->args[0]->type);
}

static void list_operations(CopiedValue *value, const Expr *e) {
    if (is_large(value))
        return;
    if (e->kind == EXPR_READ) {
        list_push(value->arena, &value->reads, access_of(value->seen, e));
        return;
    }
    int at = value->operations.count, first = value->reads.count;
    bool counts = e->kind == EXPR_OP || converts(e);
    if (counts)
        list_push(value->arena, &value->operations, ((Operation){.e = e, .first = first}));
    for (int i = 0; i < e->count; i++)
        list_operations(value, e->args[i]);
    if (counts)
        value->operations.items[at].count = value->reads.count - first;
}

/* Iterations of the loop from one operation to where it computes what the other does now; 0: there are none. */
static double steps_to_operation(const CopiedValue *value, const Operation *from, const Operation *to, int loop) {
    double steps = 0;
    if (from == to || from->count != to->count)
        return 0;
    for (int i = 0; i < from->count; i++) {
        const AccessFacts *here = value->reads.items[from->first + i], *there = value->reads.items[to->first + i];
        if (here && here == there && !moves(value->facts, here, loop))
            continue;
        double of_read = here && there ? steps_between(value->facts, here, there, loop) : 0;
        if (of_read == 0 || (steps != 0 && of_read != steps))
            return 0;
        steps = of_read;
    }
    return steps > 0 && computes_alike(from->e, to->e) ? steps : 0;
}

static double repeated_part(const CopiedValue *value, const Operation *one) {
    const StageFacts *facts = value->facts;
    double new = 1;
    for (int l = 0; l < facts->loop_count; l++)
        for (int i = 0; i < value->operations.count && makes_copies(facts, l); i++) {
            double steps = steps_to_operation(value, one, &value->operations.items[i], l) / facts->extents[l];
            new = steps > 0 && steps < new ? steps : new;
        }
    return 1 - new;
}

/* Whether the value is made of integers that become floats, and depends on what it reads alone. */
static bool is_of_integers(const Expr *value) {
    bool made = false;
    EACH_EXPR(e, value) {
        if (e->kind == EXPR_VAR)
            return false;
        made |= converts(e);
        if (e->kind == EXPR_READ)
            SKIP_BELOW(e);
    }
    return made;
}

/* Whether the loop leaves all that the operation reads where it is. */
static bool keeps(const CopiedValue *value, const Operation *one, int loop) {
    bool kept = makes_copies(value->facts, loop);
    for (int i = 0; i < one->count && kept; i++) {
        const AccessFacts *access = value->reads.items[one->first + i];
        kept = access && !access->irregular && !moves(value->facts, access, loop);
    }
    return kept;
}

/* Whether it differs from lane to lane. What all lanes share is a scalar, and has to become a vector in each copy. */
static bool moves_in_lanes(const CopiedValue *value, const Operation *one) {
    const StageFacts *facts = value->facts;
    for (int l = 0; l < facts->loop_count; l++)
        for (int i = 0; i < one->count && facts->loops[l]->kind == LOOP_VECTORIZED; i++) {
            const AccessFacts *access = value->reads.items[one->first + i];
            if (access && moves(facts, access, l))
                return true;
        }
    return false;
}

/* The part of the copies that compute again what no loop around them changes: of weights that are stored as integers.
 * Other factors that are computed again are better computed once, by the algorithm of temporaries. */
static double kept_part(const CopiedValue *value, const Operation *one) {
    double new = 1;
    bool vectors = is_of_integers(one->e) && moves_in_lanes(value, one);
    for (int l = 0; l < value->facts->loop_count && vectors; l++)
        new /= keeps(value, one, l) ? value->facts->extents[l] : 1;
    return 1 - new;
}

/* Whether a multiply-add does it together with the sum, which changes in each copy. */
static bool is_added(const StageFacts *facts, const Expr *e) {
    const Stage *stage = facts->stage->stage;
    return stage->combine == COMBINE_ADD && e == stage->components[0].value && e->op == OP_MUL;
}

static void add_repeated(CopiedValue *value) {
    StageFacts *facts = value->facts;
    for (int i = 0; i < value->operations.count && !is_large(value); i++) {
        const Operation *one = &value->operations.items[i];
        const Expr *e = one->e;
        double part = repeated_part(value, one), kept = is_added(facts, e) ? 0 : kept_part(value, one);
        part = part > kept ? part : kept;
        if (e->kind == EXPR_CAST) {
            facts->conversions += one->count > 0 ? 1 - part : 0;
            continue;
        }
        facts->repeated += part;
        facts->repeated_functions += op_info[e->op].class == CLASS_MATH ? part : 0;
        facts->repeated_divisions += e->op == OP_DIV && type_is_float(e->type) ? part : 0;
    }
}

void count_copies(Arena *arena, StageFacts *facts, const ReadsSeen *seen) {
    const Stage *stage = facts->stage->stage;
    if (seen->count > COMPARED_LIMIT)
        return;
    for (int a = 0; a < facts->access_count; a++) {
        if (facts->accesses[a].shifts != 1) /* there are others */
            facts->accesses[a].repeated = repeated_access(facts, &facts->accesses[a]);
        if (has_whole_vectors(facts, &facts->accesses[a]))
            hold_steps(facts, &facts->accesses[a]);
    }
    for (int c = 0; c < stage->component_count; c++) {
        CopiedValue value = {.arena = arena, .facts = facts, .seen = seen};
        list_operations(&value, stage->components[c].value);
        add_repeated(&value);
    }
}
