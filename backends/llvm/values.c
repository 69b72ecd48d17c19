/* values.c - expressions.
 *
 * Expressions share nodes: within one statement each node is emitted once. What is the same in every lane is computed
 * once and then copied to the lanes. If the two arms of a scalar condition read memory or call functions, they become
 * two paths of control flow; everything else is a select.
 */
#include "backends/llvm/lanes.h"
#include "lang/diag.h"
#include "lang/expr.h"
#include "lang/value.h"

#include <math.h>
static LLVMValueRef emit_new_value(Code *code, const Expr *e);

LLVMValueRef emit_value(Code *code, const Expr *e) {
    LLVMValueRef value = NULL;
    for (const Memo *memo = code->memo; memo && !value; memo = memo->outer)
        value = address_map_get(&memo->values, e);
    if (!value) {
        value = emit_new_value(code, e);
        address_map_set(code->arena, &code->memo->values, e, value);
    }
    return value;
}

/* --- leaves --- */

static LLVMValueRef emit_ramp(Code *code, const Expr *e) {
    LLVMValueRef base = emit_splat(code, emit_value(code, e->args[0]), e->lanes);
    LLVMValueRef stride = emit_splat(code, emit_value(code, e->args[1]), e->lanes);
    LLVMValueRef lane = iota(memory_type(code, e->type), padded_lanes(e->lanes));
    return LLVMBuildAdd(code->builder, base, LLVMBuildMul(code->builder, lane, stride, ""), "");
}

static LLVMValueRef emit_offset(Code *code, const Expr *e) {
    LLVMValueRef sum = emit_value(code, e->args[0]);
    for (int i = 1; i < e->count; i++)
        sum = LLVMBuildAdd(code->builder, sum, emit_value(code, e->args[i]), "");
    return e->integer ? LLVMBuildAdd(code->builder, sum, index_constant(code, e->integer), "") : sum;
}

/* --- fused multiply-adds --- */

static LLVMValueRef negated(Code *code, LLVMValueRef value) {
    return LLVMBuildFNeg(code->builder, value, "");
}

/* Whether LLVM may put the sum of a multiply-add into the register of a factor that nothing needs after it.
 * Accumulators then go from register to register, and some into memory, where they are as many as there are registers.
 * With AVX-512 an element that is a factor has no register: it comes from memory. */
static bool sum_takes_factor(const Code *code, const Expr *term, LLVMValueRef sum) {
    const Target *target = code->target;
    bool accumulates = term->kind == EXPR_READ && term->tensor->scope == SCOPE_REGISTER && term->lanes > 1;
    if (!accumulates || !target->family->sse || !target->fused_multiply_add || target->avx512)
        return false;
    LLVMTypeRef element = LLVMGetElementType(LLVMTypeOf(sum));
    int bytes = element == code->f32 ? 4 : element == code->f64 ? 8 : 0;
    return lanes_of(sum) * bytes == target->vector_bytes;
}

/* Keeps a value until here, by a use that is no instruction. */
static void keep_value(Code *code, LLVMValueRef value) {
    LLVMValueRef use = emit_empty_assembly(code, "x", code->nothing, value, true);
    add_call_attribute(code, use, "memory"); /* none */
    add_call_attribute(code, use, "nounwind");
}

/* a*b + c, a*b - c and c - a*b, rounded once; the sign goes where the processor has an instruction for it. */
static LLVMValueRef emit_contracted(Code *code, const Expr *e) {
    bool subtract = e->op == OP_SUB, second = expr_is_op(e->args[1], OP_MUL);
    const Expr *product = e->args[second], *term = e->args[!second];
    LLVMValueRef c = emit_value(code, term);
    LLVMValueRef a = emit_value(code, product->args[0]), b = emit_value(code, product->args[1]);
    if (subtract && second)
        a = negated(code, a);
    else if (subtract)
        c = negated(code, c);
    LLVMValueRef sum = multiply_add(code, a, b, c);
    bool takes = !subtract && sum_takes_factor(code, term, sum);
    for (int i = 0; i < 2 && takes; i++)
        if (product->args[i]->kind != EXPR_READ)
            keep_value(code, i ? b : a);
    return round_to(code, sum, e->type);
}

static bool is_strict(const Code *code) {
    return code->kernel->strict || code->kernel->program->strict;
}

static bool can_contract(const Code *code, const Expr *e) {
    return !is_strict(code) && type_is_float(e->type) && (e->op == OP_ADD || e->op == OP_SUB) &&
           (expr_is_op(e->args[0], OP_MUL) || expr_is_op(e->args[1], OP_MUL));
}

/* --- conditions --- */

static bool is_costly(const Expr *e) {
    EACH_EXPR(at, e)
        if (at->kind == EXPR_READ || (at->kind == EXPR_OP && op_info[at->op].class == CLASS_MATH))
            return true;
    return false;
}

enum { WAY_LIMIT = 4 }; /* code that two arms share is computed on both paths: deeper conditions are selects */

static LLVMValueRef emit_select(Code *code, const Expr *e) {
    LLVMValueRef condition = emit_value(code, e->args[0]);
    bool ways = e->args[0]->lanes == 1 && code->memo->depth < WAY_LIMIT;
    if (!ways || !(is_costly(e->args[1]) || is_costly(e->args[2]))) {
        LLVMValueRef args[] = {condition, emit_value(code, e->args[1]), emit_value(code, e->args[2])};
        return emit_operator(code, OP_SELECT, e->type, args);
    }
    Branch branch = branch_begin(code, condition);
    LLVMValueRef a = emit_value(code, e->args[1]);
    branch_else(code, &branch);
    LLVMValueRef b = emit_value(code, e->args[2]);
    branch_end(code, &branch);
    return branch_phi(code, &branch, a, b);
}

static bool difference_wraps(const Expr *limit, const Expr *base) {
    Interval end = expr_interval(limit), first = expr_interval(base);
    int64_t least, most;
    if (end.has_low && end.low >= 0 && first.has_low && first.low >= 0)
        return false;
    return !end.has_low || !end.has_high || !first.has_low || !first.has_high ||
           __builtin_sub_overflow(end.low, first.high, &least) || __builtin_sub_overflow(end.high, first.low, &most);
}

/* limit - base. */
static LLVMValueRef emit_room(Code *code, const Expr *limit, const Expr *base) {
    int64_t end, first, room;
    if (expr_is_int(limit, &end) && expr_is_int(base, &first) && !__builtin_sub_overflow(end, first, &room))
        return index_constant(code, room);
    LLVMValueRef from = emit_value(code, limit), by = emit_value(code, base);
    return difference_wraps(limit, base) ? binary_intrinsic(code, "llvm.ssub.sat", from, by)
                                         : LLVMBuildSub(code->builder, from, by, "");
}

enum { WORD_BITS = 64 };

/* The mask of a vector's first lanes, for a vector that begins `from` lanes after the base. All vectors of a tile share
 * one number, and each takes its part. */
static LLVMValueRef emit_first_lanes(Code *code, LLVMValueRef room, int64_t from, int lanes) {
    LLVMBuilderRef b = code->builder;
    if (LLVMIsAConstantInt(room)) {
        int64_t count = LLVMConstIntGetSExtValue(room) - from;
        return lane_mask(code, count < 0 ? 0 : count < lanes ? (int)count : lanes, lanes);
    }
    room = binary_intrinsic(code, "llvm.smax", room, index_constant(code, 0));
    LLVMValueRef args[] = {LLVMConstAllOnes(code->i64),
                           binary_intrinsic(code, "llvm.smin", room, index_constant(code, WORD_BITS))};
    LLVMValueRef bits = emit_intrinsic(code, "llvm.x86.bmi.bzhi.64", NULL, 0, args, 2);
    if (from)
        bits = LLVMBuildLShr(b, bits, index_constant(code, from), "");
    LLVMTypeRef number = LLVMIntTypeInContext(code->context, (unsigned)lanes);
    return LLVMBuildBitCast(b, LLVMBuildTrunc(b, bits, number, ""), vector_of(code->i1, lanes), "");
}

/* The base that a vector's lanes are counted from: the beginning of its tile, a little before its first lane. */
static const Expr *tile_base(const Expr *base, int lanes, int64_t *from) {
    int64_t constant = 0;
    bool sum = expr_is_op(base, OP_ADD) && expr_is_int(base->args[1], &constant) && constant > 0 &&
               constant + lanes <= WORD_BITS;
    *from = sum ? constant : 0;
    return sum ? base->args[0] : base;
}

/* The same as a comparison in lanes of 32 bits; or_equal: of one lane more. */
static LLVMValueRef emit_lanes_below(Code *code, LLVMValueRef room, int64_t from, int lanes, bool or_equal) {
    LLVMBuilderRef b = code->builder;
    LLVMTypeRef narrow = vector_of(code->i32, padded_lanes(lanes));
    room = binary_intrinsic(code, "llvm.smax", room, index_constant(code, -1));
    room = binary_intrinsic(code, "llvm.smin", room, index_constant(code, lanes > WORD_BITS ? lanes : WORD_BITS));
    LLVMValueRef rooms = emit_splat(code, LLVMBuildTrunc(b, room, code->i32, ""), lanes);
    LLVMValueRef places = LLVMConstAdd(iota(code->i32, padded_lanes(lanes)), constant_int(narrow, from));
    return LLVMBuildICmp(b, or_equal ? LLVMIntSLE : LLVMIntSLT, places, rooms, "");
}

/* (base + l) < limit for lane l, without 64-bit lanes: l < limit - base. all: a condition for all lanes; NULL: none.
 * Without it there is no room. */
static LLVMValueRef emit_ramp_below(Code *code, const Expr *below, const Expr *all) {
    const Expr *ramp = below->args[0], *limit = below->args[1]->args[0];
    bool or_equal = below->op == OP_LE;
    int64_t from;
    LLVMValueRef room = emit_room(code, limit, tile_base(ramp->args[0], ramp->lanes, &from));
    if (all)
        room = LLVMBuildSelect(code->builder, emit_value(code, all), room, index_constant(code, -1), "");
    return !or_equal && has_mask_numbers(code, ramp->lanes) ? emit_first_lanes(code, room, from, ramp->lanes)
                                                            : emit_lanes_below(code, room, from, ramp->lanes, or_equal);
}

static bool is_ramp_below(const Expr *e) {
    return e->kind == EXPR_OP && (e->op == OP_LT || e->op == OP_LE) && expr_is_unit_ramp(e->args[0]) &&
           e->args[0]->type == TYPE_INT64 && e->args[1]->kind == EXPR_BROADCAST;
}

/* --- quotients --- */

/* Whether the divisor is the same in all lanes and no constant: division by constants stays as written, also where they
 * are those of several nests. */
static bool divides_by_one_value(const Code *code, const Expr *e) {
    if (is_strict(code) || e->op != OP_DIV || !type_is_float(e->type) || e->args[1]->kind != EXPR_BROADCAST)
        return false;
    const Expr *divisor = e->args[1]->args[0];
    bool constant =
        divisor->kind == EXPR_VAR ? divisor->var->number : divisor->kind == EXPR_REAL || divisor->kind == EXPR_INT;
    return !constant;
}

/* The power of two that scales a divisor so that its reciprocal is a normal number. If it is not 1, the product of an
 * operand and that reciprocal overflows, or loses digits, only when the quotient does. */
static LLVMValueRef divisor_scale(Lanes *l, LLVMValueRef divisor) {
    bool wide = l->scalar == l->code->f64;
    LLVMValueRef size = lanes_absolute(l, divisor);
    LLVMValueRef small = lanes_compare(l, LLVMRealOLT, size, wide ? 0x1p-1022 : 0x1p-126);
    LLVMValueRef large = lanes_compare(l, LLVMRealOGT, size, wide ? 0x1p1022 : 0x1p126);
    LLVMValueRef down = lanes_number(l, wide ? 0x1p-512 : 0x1p-64), up = lanes_number(l, wide ? 0x1p512 : 0x1p64);
    return lanes_select_where(l, small, up, lanes_select_where(l, large, down, lanes_number(l, 1)));
}

void forget_divisors(Code *code, const Tensor *tensor) {
    for (int i = code->divisors.count - 1; i >= 0; i--)
        if (!tensor || code->divisors.items[i].read->tensor == tensor)
            code->divisors.items[i] = code->divisors.items[--code->divisors.count];
}

/* Whether another read of the divisor in the same block gives the same value, until it is stored to. */
static bool lasts(const Expr *divisor) {
    bool plain = divisor->kind == EXPR_READ && !divisor->guard &&
                 (divisor->tensor->role == ROLE_TEMPORARY || divisor->tensor->role == ROLE_INPUT);
    for (int i = 0; plain && i < divisor->count; i++)
        plain = !expr_reads(divisor->args[i]);
    return plain;
}

static const KnownDivisor *find_divisor(Code *code, const Expr *divisor) {
    LLVMBasicBlockRef block = LLVMGetInsertBlock(code->builder);
    if (block != code->divisors_block)
        forget_divisors(code, NULL);
    code->divisors_block = block;
    for (int i = 0; i < code->divisors.count; i++)
        if (expr_equal(code->divisors.items[i].read, divisor))
            return &code->divisors.items[i];
    return NULL;
}

/* Computes the reciprocal once for all divisions of an unrolled loop: LLVM would have to prove that stores between two
 * reads of the divisor do not change it. */
static KnownDivisor divisor_of(Code *code, const Expr *e) {
    const KnownDivisor *known = find_divisor(code, e);
    if (known)
        return *known;
    LLVMValueRef divisor = emit_value(code, e);
    Lanes one = lanes_like(code, e->type == TYPE_DOUBLE ? code->f64 : code->f32, divisor);
    KnownDivisor made = {.read = e, .scale = divisor_scale(&one, divisor)};
    made.reciprocal = lanes_divide(&one, lanes_number(&one, 1), lanes_multiply(&one, divisor, made.scale));
    if (lasts(e) && code->divisors_block == LLVMGetInsertBlock(code->builder))
        list_push(code->arena, &code->divisors, made);
    return made;
}

/* Two products in place of a division, within 2 units in the last place; a loop computes a fixed reciprocal once. */
static LLVMValueRef emit_quotient(Code *code, const Expr *e) {
    LLVMValueRef dividend = emit_value(code, e->args[0]);
    KnownDivisor divisor = divisor_of(code, e->args[1]->args[0]);
    LLVMValueRef quotient = LLVMBuildFMul(code->builder, dividend, emit_splat(code, divisor.reciprocal, e->lanes), "");
    quotient = LLVMBuildFMul(code->builder, quotient, emit_splat(code, divisor.scale, e->lanes), "");
    return round_to(code, quotient, e->type);
}

static bool divides_by_constant(const Code *code, const Expr *e) {
    int bytes = e->lanes * element_info[e->type].bytes;
    return !is_strict(code) && e->op == OP_DIV && e->args[1]->kind == EXPR_BROADCAST &&
           bytes >= code->target->vector_bytes && divisor_is_refined(e->args[1]->args[0]) &&
           target_refines_quotients(code->target);
}

/* The same as a division gives: a product with the reciprocal, corrected by its remainder (Markstein). A product that
 * is 0, infinite or NaN is the quotient. */
static LLVMValueRef emit_refined_quotient(Code *code, const Expr *e) {
    LLVMValueRef dividend = emit_value(code, e->args[0]);
    bool wide = e->type == TYPE_DOUBLE;
    double number = e->args[1]->args[0]->real, reciprocal = wide ? 1 / number : (double)(1 / (float)number);
    Lanes l = lanes_like(code, wide ? code->f64 : code->f32, dividend);
    LLVMValueRef by = lanes_number(&l, reciprocal), product = lanes_multiply(&l, dividend, by);
    LLVMValueRef rest = lanes_fused(&l, product, lanes_number(&l, -number), dividend);
    LLVMValueRef refined = lanes_fused(&l, rest, by, product);
    LLVMValueRef size = lanes_absolute(&l, product);
    LLVMValueRef other =
        lanes_both(&l, lanes_compare(&l, LLVMRealOGT, size, 0), lanes_compare(&l, LLVMRealOLT, size, INFINITY));
    return lanes_select_where(&l, other, refined, product);
}

/* --- operators --- */

/* Whether every operand is the same in all lanes. */
static bool is_uniform_operation(const Expr *e) {
    if (e->lanes == 1 || e->kind != EXPR_OP)
        return false;
    for (int i = 0; i < e->count; i++)
        if (e->args[i]->kind != EXPR_BROADCAST)
            return false;
    return e->count > 0;
}

static LLVMValueRef emit_uniform(Code *code, const Expr *e) {
    Expr *scalar = expr_copy(code->arena, e);
    scalar->lanes = 1;
    scalar->args = ARENA_ARRAY(code->arena, Expr *, e->count);
    for (int i = 0; i < e->count; i++)
        scalar->args[i] = e->args[i]->args[0];
    return emit_splat(code, emit_value(code, scalar), e->lanes);
}

static const Expr *without_broadcast(const Expr *e) {
    return e->kind == EXPR_BROADCAST ? e->args[0] : e;
}

/* x >= low and x < high, where high >= low is known: one unsigned comparison. */
static bool is_inside(const Expr *from, const Expr *to, int64_t *low) {
    if (from->kind != EXPR_OP || to->kind != EXPR_OP || from->op != OP_GE || (to->op != OP_LT && to->op != OP_LE) ||
        from->args[0]->type != TYPE_INT64 || !expr_is_int(without_broadcast(from->args[1]), low) || *low < 0 ||
        !expr_equal(from->args[0], to->args[0]))
        return false;
    Interval high = expr_interval(without_broadcast(to->args[1]));
    return high.has_low && high.low >= *low;
}

static LLVMValueRef emit_inside(Code *code, const Expr *to, int64_t low) {
    LLVMValueRef x = emit_value(code, to->args[0]), high = emit_value(code, to->args[1]);
    LLVMValueRef least = constant_int(LLVMTypeOf(x), low);
    if (low != 0) {
        x = LLVMBuildSub(code->builder, x, least, "");
        high = LLVMBuildSub(code->builder, high, least, "");
    }
    return LLVMBuildICmp(code->builder, to->op == OP_LT ? LLVMIntULT : LLVMIntULE, x, high, "");
}

/* A conjunction whose last two conditions are such a pair; NULL for others. */
static LLVMValueRef emit_bounds(Code *code, const Expr *e) {
    const Expr *rest = e->args[0], *to = e->args[1];
    int64_t low;
    if (is_inside(rest, to, &low))
        return emit_inside(code, to, low);
    if (!expr_is_op(rest, OP_AND) || !is_inside(rest->args[1], to, &low))
        return NULL;
    LLVMValueRef before = emit_value(code, rest->args[0]);
    return LLVMBuildAnd(code->builder, before, emit_inside(code, to, low), "");
}

/* A conjunction of what is the same in all lanes and of a ramp's first lanes; NULL for others. */
static LLVMValueRef emit_lanes_where(Code *code, const Expr *e) {
    for (int i = 0; i < 2; i++)
        if (e->args[i]->kind == EXPR_BROADCAST && is_ramp_below(e->args[1 - i]))
            return emit_ramp_below(code, e->args[1 - i], e->args[i]->args[0]);
    return NULL;
}

static LLVMValueRef emit_conjunction(Code *code, const Expr *e) {
    LLVMValueRef bounds = emit_bounds(code, e);
    return bounds ? bounds : emit_lanes_where(code, e);
}

static LLVMValueRef emit_operation(Code *code, const Expr *e) {
    if (is_uniform_operation(e))
        return emit_uniform(code, e);
    LLVMValueRef bounds = e->op == OP_AND ? emit_conjunction(code, e) : NULL;
    if (bounds)
        return bounds;
    if (e->op == OP_SELECT)
        return emit_select(code, e);
    if (is_ramp_below(e))
        return emit_ramp_below(code, e, NULL);
    if (can_contract(code, e))
        return emit_contracted(code, e);
    if (divides_by_one_value(code, e))
        return emit_quotient(code, e);
    if (divides_by_constant(code, e))
        return emit_refined_quotient(code, e);
    LLVMValueRef args[3] = {NULL};
    ENSURE(e->count <= 3);
    for (int i = 0; i < e->count; i++)
        args[i] = emit_value(code, e->args[i]);
    if ((e->op == OP_DIV || e->op == OP_MOD) && type_is_integer(e->type))
        return emit_division(code, e, args[0], args[1]);
    return emit_operator(code, e->op, e->args[0]->type, args);
}

/* --- casts --- */

/* The range of a float, if not NaN, as min, max and rounding show: what is clamped need not be clamped again. */
typedef struct RealRange {
    double low, high;
} RealRange;

static RealRange real_range(const Expr *e) {
    while (e->kind == EXPR_BROADCAST)
        e = e->args[0];
    if (e->kind == EXPR_REAL && !isnan(e->real))
        return (RealRange){e->real, e->real};
    if (e->kind != EXPR_OP || (e->op != OP_MIN && e->op != OP_MAX && e->op != OP_ROUND && e->op != OP_RINT))
        return (RealRange){-HUGE_VAL, HUGE_VAL};
    RealRange a = real_range(e->args[0]);
    if (e->count == 1)
        return (RealRange){floor(a.low), ceil(a.high)};
    RealRange b = real_range(e->args[1]);
    return e->op == OP_MIN ? (RealRange){fmin(a.low, b.low), fmin(a.high, b.high)}
                           : (RealRange){fmax(a.low, b.low), fmax(a.high, b.high)};
}

static bool fits(const Expr *from, ElementType to) {
    if (from->type != TYPE_FLOAT || !type_is_integer(to) || element_info[to].bytes > 2)
        return false;
    RealRange range = real_range(from);
    return range.low >= (double)integer_limit(to, false) && range.high <= (double)integer_limit(to, true);
}

/* Casting a ramp to a narrower integer wraps lane by lane, as its parts do. */
static LLVMValueRef emit_cast(Code *code, const Expr *e) {
    const Expr *from = e->args[0];
    if (from->kind == EXPR_RAMP && type_is_integer(e->type) &&
        element_info[e->type].bytes <= element_info[from->type].bytes) {
        Expr *base = expr_cast(code->arena, e->type, from->args[0]),
             *stride = expr_cast(code->arena, e->type, from->args[1]);
        return emit_ramp(code, expr_ramp(code->arena, base, stride, from->lanes));
    }
    if (from->kind == EXPR_BROADCAST)
        return emit_splat(code, emit_value(code, expr_cast(code->arena, e->type, from->args[0])), e->lanes);
    if (fits(from, e->type))
        return emit_fitting_conversion(code, emit_value(code, from), e->type);
    return emit_conversion(code, emit_value(code, from), from->type, e->type);
}

static LLVMValueRef emit_new_value(Code *code, const Expr *e) {
    switch (e->kind) {
    case EXPR_INT: return constant_int(value_type(code, e->type, e->lanes), e->integer);
    case EXPR_REAL: return constant_real(value_type(code, e->type, e->lanes), e->real);
    case EXPR_VAR: return emit_splat(code, variable_value(code, e->var), e->lanes);
    case EXPR_READ: return emit_read(code, e);
    case EXPR_OP: return emit_operation(code, e);
    case EXPR_CAST: return emit_cast(code, e);
    case EXPR_RAMP: return emit_ramp(code, e);
    case EXPR_BROADCAST: return emit_splat(code, emit_value(code, e->args[0]), e->lanes);
    case EXPR_REPEAT: return emit_repeat(code, e);
    case EXPR_SHUFFLE: return emit_shuffled(code, e);
    case EXPR_OFFSET: return emit_offset(code, e);
    case EXPR_CALL: return emit_instr(code, e);
    }
    INTERNAL_ERROR("expression of kind %d", (int)e->kind);
}
