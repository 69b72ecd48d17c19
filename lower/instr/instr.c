/* instr.c - see instr.h: matches the meanings of instructions with values and loops. */
#include "lower/instr/instr.h"
#include "lang/value.h"

/* --- the parts of a meaning --- */

int instr_index_count(const Instr *instr) {
    return instr->meaning->axis_count + instr->meaning->reduction_count;
}

const Var *instr_index(const Instr *instr, int index) {
    const Stage *meaning = instr->meaning;
    return index < meaning->axis_count ? meaning->axes[index] : meaning->reductions[index - meaning->axis_count];
}

int64_t instr_extent(const Instr *instr, int index) {
    int64_t extent = 1;
    expr_is_int(instr_index(instr, index)->extent, &extent);
    return extent;
}

int64_t tensor_extent(const Tensor *tensor, int d) {
    int64_t extent = 1;
    expr_is_int(tensor->dims[d], &extent);
    return extent;
}

int64_t instr_lanes(const Instr *instr, int operand) {
    int64_t lanes = 1;
    for (int d = 0; d < instr->operands[operand]->rank; d++)
        lanes *= tensor_extent(instr->operands[operand], d);
    return lanes;
}

static const Expr *find_read(const Expr *e, const Tensor *tensor) {
    if (e->kind == EXPR_READ && e->tensor == tensor)
        return e;
    const Expr *found = NULL;
    for (int i = 0; i < e->count && !found; i++)
        found = find_read(e->args[i], tensor);
    return found;
}

int instr_operand_index(const Instr *instr, int operand, int d) {
    if (operand == 0)
        return d;
    const Var *var = find_read(instr->meaning->components[0].value, instr->operands[operand])->args[d]->var;
    int index = 0;
    while (instr_index(instr, index) != var)
        index++;
    return index;
}

bool instr_accumulates(const Instr *instr) {
    return instr->meaning->combine != COMBINE_NONE;
}

/* The value where every operand is zero. */
static Value value_of_zeros(const Expr *e) {
    Value args[3] = {{.type = e->type}};
    for (int i = 0; i < e->count && e->kind != EXPR_READ; i++)
        args[i] = value_of_zeros(e->args[i]);
    switch (e->kind) {
    case EXPR_INT: return (Value){.type = e->type, .integer = e->integer};
    case EXPR_REAL: return (Value){.type = e->type, .real = e->real};
    case EXPR_OP: return value_apply(e->op, args);
    case EXPR_CAST: return value_cast(args[0], e->type);
    default: return value_cast((Value){.type = TYPE_INT32}, e->type);
    }
}

bool instr_ignores_zeros(const Instr *instr) {
    if (instr->meaning->combine != COMBINE_ADD)
        return false;
    Value value = value_of_zeros(instr->meaning->components[0].value);
    return type_is_float(value.type) ? value.real == 0 : value.integer == 0;
}

/* --- values --- */

typedef struct InstrMatch {
    Arena *arena;
    const Instr *instr;
    const Expr **reads;
    const Expr *wanted, *found; /* the first parts that differ */
} InstrMatch;

static bool differ(InstrMatch *m, const Expr *wanted, const Expr *found) {
    if (!m->wanted) {
        m->wanted = wanted;
        m->found = found;
    }
    return false;
}

static bool match_read(InstrMatch *m, const Expr *meaning, const Expr *e) {
    int operand = 0;
    while (m->instr->operands[operand] != meaning->tensor)
        operand++;
    if (e->kind != EXPR_READ || e->type != meaning->type || e->lanes != 1)
        return differ(m, meaning, e);
    if (m->reads[operand])
        return expr_equal(m->reads[operand], e) || differ(m, meaning, e);
    m->reads[operand] = e;
    return true;
}

static bool match(InstrMatch *m, const Expr *meaning, const Expr *e);

static bool match_args(InstrMatch *m, const Expr *meaning, const Expr *e, bool swapped) {
    for (int i = 0; i < e->count; i++)
        if (!match(m, meaning->args[i], e->args[swapped ? 1 - i : i]))
            return false;
    return true;
}

/* Tries both orders where that is free; operands bound by the first try are unbound before the second. */
static bool match_op(InstrMatch *m, const Expr *meaning, const Expr *e) {
    if (meaning->op != e->op)
        return differ(m, meaning, e);
    if (op_info[e->op].order == OPERANDS_ORDERED)
        return match_args(m, meaning, e, false);
    const Expr **before = ARENA_ARRAY(m->arena, const Expr *, m->instr->operand_count);
    for (int i = 0; i < m->instr->operand_count; i++)
        before[i] = m->reads[i];
    if (match_args(m, meaning, e, false))
        return true;
    for (int i = 0; i < m->instr->operand_count; i++)
        m->reads[i] = before[i];
    return match_args(m, meaning, e, true);
}

static bool match(InstrMatch *m, const Expr *meaning, const Expr *e) {
    if (meaning->kind == EXPR_READ)
        return match_read(m, meaning, e);
    if (meaning->kind != e->kind || meaning->type != e->type || meaning->count != e->count || e->lanes != 1)
        return differ(m, meaning, e);
    switch (e->kind) {
    case EXPR_INT:
    case EXPR_REAL: return expr_equal(meaning, e) || differ(m, meaning, e);
    case EXPR_OP: return match_op(m, meaning, e);
    case EXPR_CAST: return match_args(m, meaning, e, false);
    default: return differ(m, meaning, e);
    }
}

bool instr_match(Arena *arena, const Instr *instr, const Expr *value, const Expr **reads, const Expr **wanted,
                 const Expr **found) {
    InstrMatch m = {.arena = arena, .instr = instr, .reads = reads};
    for (int i = 0; i < instr->operand_count; i++)
        reads[i] = NULL;
    if (match(&m, instr->meaning->components[0].value, value))
        return true;
    if (wanted)
        *wanted = m.wanted;
    if (found)
        *found = m.found;
    return false;
}

bool instr_zero(const Expr *e) {
    return e->kind == EXPR_REAL ? e->real == 0 : expr_is_int(e, NULL) && e->integer == 0;
}

const Expr *instr_added(const Instr *instr, const Expr *value) {
    while (instr_ignores_zeros(instr) && expr_is_op(value, OP_SELECT) && instr_zero(value->args[2]))
        value = value->args[1];
    return value;
}

/* --- loops --- */

typedef struct LoopAssignment {
    const Instr *instr;
    const InstrLoop *loops;
    int count;
    VisitLoops *visit;
    void *context;
} LoopAssignment;

static bool is_taken(const int *loop_of, int count, int loop) {
    for (int i = 0; i < count; i++)
        if (loop_of[i] == loop)
            return true;
    return false;
}

/* Counts the loops of more than one value: others stand for no index. */
static int moving_loops(const LoopAssignment *a) {
    int count = 0;
    for (int l = 0; l < a->count; l++)
        count += a->loops[l].extent != 1;
    return count;
}

static bool assign_from(const LoopAssignment *a, int *loop_of, int index, int taken) {
    if (index == instr_index_count(a->instr))
        return taken == moving_loops(a) && a->visit(loop_of, a->context);
    loop_of[index] = -1;
    if (instr_extent(a->instr, index) == 1)
        return assign_from(a, loop_of, index + 1, taken);
    bool reduction = index >= a->instr->meaning->axis_count;
    for (int l = 0; l < a->count; l++) {
        if (a->loops[l].extent != instr_extent(a->instr, index) || a->loops[l].reduction != reduction ||
            is_taken(loop_of, index, l))
            continue;
        loop_of[index] = l;
        if (assign_from(a, loop_of, index + 1, taken + 1))
            return true;
    }
    return false;
}

bool instr_assign(const Instr *instr, const InstrLoop *loops, int count, VisitLoops *visit, void *context) {
    int loop_of[instr_index_count(instr) + 1];
    return assign_from(&(LoopAssignment){instr, loops, count, visit, context}, loop_of, 0, 0);
}

int64_t instr_block(const Instr *instr, int operand, const int64_t *strides) {
    const Tensor *tensor = instr->operands[operand];
    int64_t block = 1;
    int d = tensor->rank - 1;
    for (; d >= 0 && (tensor_extent(tensor, d) == 1 || strides[d] == block); d--)
        block *= tensor_extent(tensor, d);
    for (; d >= 0; d--)
        if (tensor_extent(tensor, d) != 1 && strides[d] != 0)
            return 0;
    return block;
}
