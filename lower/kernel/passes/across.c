/* across.c - pass: neighbouring statements that combine the lanes of a register into one element do so by halves. This
 * is how a reduction ends that was computed in vectors.
 *
 * n statements t = op(t, r(i)), with i going up by one, first combine the lanes r(i) to r(i + n - 1) with each other,
 * in log2(n) steps, if reductions may be computed in any order. Needs unrolled loops.
 */
#include "lower/kernel/passes/passes.h"
#include "lower/kernel/passes/vectors.h"
#include "lower/kernel/statements.h"

enum { LEAST_LANES = 4, WHOLE_BYTES = 16 };

typedef struct Lane {
    Expr *held;       /* the read of the element that is stored again */
    const Expr *lane; /* of a register */
    int64_t number;
} Lane;

static bool is_held(const Stmt *stmt, const Expr *e) {
    return e->kind == EXPR_READ && e->tensor == stmt->tensor && !e->guard && e->count == stmt->index_count &&
           (e->count == 0 || expr_equal(e->args[0], stmt->index[0]));
}

static bool is_lane(const Expr *e, Lane *lane) {
    lane->lane = e;
    return e->kind == EXPR_READ && !e->guard && e->count == 1 && expr_is_int(e->args[0], &lane->number) &&
           e->tensor->scope == SCOPE_REGISTER;
}

static bool may_reorder(const Kernel *kernel, const Expr *e) {
    bool strict = kernel->strict || kernel->program->strict;
    bool rounds = type_is_float(e->type) && op_info[e->op].exactness == EXACTNESS_ROUNDS;
    return op_info[e->op].order == OPERANDS_FREE && !(strict && rounds);
}

static bool combines_lane(const Kernel *kernel, const Stmt *stmt, Lane *lane) {
    const Expr *e = stmt->value;
    if (stmt->kind != STMT_STORE || e->lanes != 1 || e->kind != EXPR_OP || stmt->guard || stmt->index_count > 1 ||
        !may_reorder(kernel, e) || e->type != stmt->tensor->type || e->type == TYPE_BOOL)
        return false;
    for (int first = 0; first < 2; first++)
        if (is_held(stmt, e->args[first]) && is_lane(e->args[!first], lane) && lane->lane->tensor != stmt->tensor &&
            lane->lane->tensor->type == e->type) {
            lane->held = e->args[first];
            return true;
        }
    return false;
}

/* How many statements continue with the next lanes of what the first one combines: a power of two. */
static int count_lanes(const Kernel *kernel, Stmt *const *statements, int count, const Lane *first) {
    int lanes = 1, found = 1;
    for (Lane next; found < count && combines_lane(kernel, statements[found], &next); found++)
        if (next.lane->tensor != first->lane->tensor || next.number != first->number + found ||
            statements[found]->value->op != statements[0]->value->op || !is_held(statements[0], next.held))
            break;
    while (2 * lanes <= found)
        lanes *= 2;
    return lanes;
}

typedef struct Halves {
    Vectors vectors;
    StmtList list;
} Halves;

/* The lanes from `from` on, in a vector of `lanes` lanes whose rest is anything. */
static Expr *upper_lanes(const Halves *halves, Expr *value, int from, int lanes) {
    int pattern[lanes];
    for (int i = 0; i < lanes; i++)
        pattern[i] = from + i < value->lanes ? from + i : -1;
    return from == 0 && lanes == value->lanes ? value : expr_shuffle(halves->vectors.arena, &value, 1, pattern, lanes);
}

static Expr *lane_of(const Halves *halves, Expr *value, int lane) {
    return value->lanes > 1 ? expr_shuffle(halves->vectors.arena, &value, 1, &lane, 1) : value;
}

/* Combines halves down to a register of 16 bytes, then within it: these have instructions that smaller ones lack. In
 * the last step integers are scalars. LLVM takes a sum that is all in vectors, of products of 8 bits, for one that its
 * instruction computes, and with more than a register leaves lanes out. */
static Expr *combine_lanes(Halves *halves, Op op, Expr *value) {
    Arena *arena = halves->vectors.arena;
    int least = WHOLE_BYTES / element_info[value->type].bytes, last = type_is_float(value->type) ? 0 : 1;
    for (int half = value->lanes / 2; half > last; half /= 2) {
        int lanes = half < least && value->lanes >= least ? least : half > 1 ? half : 2;
        Expr *both =
            expr_binary(arena, op, upper_lanes(halves, value, 0, lanes), upper_lanes(halves, value, half, lanes));
        value = vectors_keep(&halves->vectors, &halves->list, both);
    }
    Expr *first = lane_of(halves, value, 0);
    return last == 0 ? first : expr_binary(arena, op, first, lane_of(halves, value, 1));
}

static int combine_across(const Kernel *kernel, const Map *shared, StmtList *list, Stmt *const *statements,
                          int count) {
    (void)shared;
    Arena *arena = kernel->arena;
    const Stmt *stmt = statements[0];
    Lane first;
    if (!combines_lane(kernel, stmt, &first))
        return 0;
    int lanes = count_lanes(kernel, statements, count, &first);
    if (lanes < LEAST_LANES)
        return 0;
    Halves halves = {.vectors = vectors_new(arena, "halves", stmt->value->type, stmt->loc)};
    Expr *value = expr_copy(arena, first.lane);
    value->args[0] = expr_ramp(arena, first.lane->args[0], expr_int(arena, 1), lanes);
    value->lanes = lanes;
    value = expr_binary(arena, stmt->value->op, first.held, combine_lanes(&halves, stmt->value->op, value));
    stmts_add(arena, &halves.list,
              stmt_store(arena, stmt->tensor, stmt->index, stmt->index_count, value, NULL, stmt->loc));
    stmts_add(arena, list, vectors_around(&halves.vectors, halves.list));
    return lanes;
}

void pass_across(Kernel *kernel) {
    replace_statements(kernel, combine_across);
}
