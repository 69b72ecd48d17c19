/* across.c - neighbouring statements that combine the lanes of a register into one element, by halves: what ends a
 * reduction that was computed in vectors.
 *
 * n statements t = op(t, r(i)), i going up by one: the lanes r(i) to r(i + n - 1) are combined with each other first, in
 * log2(n) steps, where reductions may be computed in any order.
 */
#include "backends/llvm/code.h"
#include "lang/expr.h"

enum { LEAST_LANES = 4, WHOLE_BYTES = 16 };

typedef struct Lane {
    const Expr *held; /* the read of what is stored again */
    const Expr *lane; /* of a register */
    int64_t number;
} Lane;

static bool is_held(const Stmt *stmt, const Expr *e) {
    return e->kind == EXPR_READ && e->tensor == stmt->tensor && !e->guard && e->count == stmt->index_count &&
           (e->count == 0 || expr_equal(e->args[0], stmt->index[0]));
}

static bool is_lane(Code *code, const Expr *e, Lane *lane) {
    lane->lane = e;
    return e->kind == EXPR_READ && !e->guard && e->count == 1 && expr_is_int(e->args[0], &lane->number) &&
           buffer_of(code, e->tensor)->registers;
}

static bool may_reorder(const Code *code, const Expr *e) {
    bool strict = code->kernel->strict || code->kernel->program->strict;
    bool rounds = type_is_float(e->type) && (e->op == OP_ADD || e->op == OP_MUL);
    return (e->op == OP_ADD || e->op == OP_MUL || e->op == OP_MIN || e->op == OP_MAX) && !(strict && rounds);
}

static bool combines_lane(Code *code, const Stmt *stmt, Lane *lane) {
    const Expr *e = stmt->value;
    if (stmt->kind != STMT_STORE || stmt->guard || stmt->index_count > 1 || e->kind != EXPR_OP || e->lanes != 1 ||
        !may_reorder(code, e) || e->type != stmt->tensor->type || e->type == TYPE_BOOL)
        return false;
    for (int first = 0; first < 2; first++)
        if (is_held(stmt, e->args[first]) && is_lane(code, e->args[!first], lane) &&
            lane->lane->tensor != stmt->tensor && lane->lane->tensor->type == e->type) {
            lane->held = e->args[first];
            return true;
        }
    return false;
}

/* How many statements go on with the next lane of what the first one combines: a power of two. */
static int count_lanes(Code *code, Stmt *const *statements, int count, const Lane *first) {
    int lanes = 1, found = 1;
    for (Lane next; found < count && combines_lane(code, statements[found], &next); found++)
        if (next.lane->tensor != first->lane->tensor || next.number != first->number + found ||
            statements[found]->value->op != statements[0]->value->op || !is_held(statements[0], next.held))
            break;
    while (2 * lanes <= found)
        lanes *= 2;
    return lanes;
}

/* The lanes from `from` on, in as many lanes of which the rest is anything. */
static LLVMValueRef upper_lanes(Code *code, LLVMValueRef value, int from, int lanes) {
    int indices[lanes];
    for (int i = 0; i < lanes; i++)
        indices[i] = from + i < lanes_of(value) ? from + i : -1;
    return emit_shuffle(code, value, NULL, indices, lanes);
}

static LLVMValueRef lane_of(Code *code, LLVMValueRef value, int lane) {
    return LLVMBuildExtractElement(code->builder, value, index_constant(code, lane), "");
}

/* Halves down to a whole register of 16 bytes, the rest within it: those have instructions that smaller ones lack.
 * Integers are scalars in the last step: LLVM takes a sum all in vectors, of products of 8 bits, for one that its
 * instruction for them computes, and of more than a register leaves lanes out. */
static LLVMValueRef combine_lanes(Code *code, Op op, ElementType type, LLVMValueRef value) {
    int least = WHOLE_BYTES / element_info[type].bytes, last = type_is_float(type) ? 0 : 1;
    for (int half = lanes_of(value) / 2; half > last; half /= 2) {
        int lanes = half < least && lanes_of(value) >= least ? least : half > 1 ? half : 2;
        LLVMValueRef args[] = {upper_lanes(code, value, 0, lanes), upper_lanes(code, value, half, lanes)};
        value = emit_operator(code, op, type, args);
    }
    if (last == 0)
        return lanes_of(value) > 1 ? emit_resized(code, value, 1) : value;
    return emit_operator(code, op, type, (LLVMValueRef[]){lane_of(code, value, 0), lane_of(code, value, 1)});
}

int emit_across(Code *code, Stmt *const *statements, int count) {
    Lane first;
    if (!combines_lane(code, statements[0], &first))
        return 0;
    int lanes = count_lanes(code, statements, count, &first);
    if (lanes < LEAST_LANES)
        return 0;
    const Expr *e = statements[0]->value;
    Expr *ramp = expr_ramp(code->arena, first.lane->args[0], expr_int(code->arena, 1), lanes);
    LLVMValueRef value = registers_read(code, buffer_of(code, first.lane->tensor)->registers, ramp, lanes);
    LLVMValueRef args[] = {emit_value(code, first.held), combine_lanes(code, e->op, e->type, value)};
    bool in_registers = buffer_of(code, statements[0]->tensor)->registers;
    value = emit_operator(code, e->op, e->type, args);
    emit_stored_lanes(code, statements[0], in_registers ? value : to_memory(code, value, e->type));
    return lanes;
}
