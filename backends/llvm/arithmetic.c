/* arithmetic.c - the operators of ops.def on values: on vectors what lang/value.c says of single values.
 *
 * No operand traps: integer division by zero gives 0, and the smallest integer by -1 wraps. min and max propagate NaN.
 */
#include "backends/llvm/code.h"
#include "backends/llvm/lanes.h"
#include "lang/diag.h"
#include "lang/expr.h"
#include "lang/value.h"
#include <llvm/Config/llvm-config.h>

static LLVMValueRef zero_like(LLVMValueRef value) {
    return LLVMConstNull(LLVMTypeOf(value));
}

static bool is_signed(ElementType type) {
    return element_info[type].kind == KIND_SIGNED;
}

/* --- integer division --- */

/* An integer division: of lanes, by one value for all of them or not, with sign or without, by what is at least 1. */
typedef struct LaneDivision {
    Op op;
    LLVMValueRef a, b;
    bool with_sign, by_one, by_positive;
} LaneDivision;

/* Of floats that are integers. By one value it is a product with the reciprocal, which is computed once, and made a
 * little larger: an integer would else come out below itself. */
static LLVMValueRef divide_reals(Code *code, LLVMValueRef x, LLVMValueRef y, bool by_one) {
    LLVMBuilderRef at = code->builder;
    if (!by_one)
        return LLVMBuildFDiv(at, x, y, "");
    Lanes l = lanes_like(code, LLVMGetElementType(LLVMTypeOf(x)), x);
    LLVMValueRef larger = lanes_number(&l, lanes_are_wide(&l) ? 1 + 0x1p-51 : 1 + 0x1p-22);
    return lanes_multiply(&l, x, lanes_multiply(&l, lanes_divide(&l, lanes_number(&l, 1), y), larger));
}

/* The quotient towards 0; the divisor is not 0, and not -1 where the dividend may be the least number. Processors
 * divide integers one by one, so registers of them are divided as floats. These have at least 8 digits more than 16-bit
 * integers, and doubles 21 more than 32 bits: a quotient is no closer to the next integer than that. */
static LLVMValueRef divide_lanes(Code *code, const LaneDivision *d, LLVMValueRef divisor) {
    LLVMBuilderRef at = code->builder;
    LLVMTypeRef type = LLVMTypeOf(d->a);
    int bits = (int)LLVMGetIntTypeWidth(LLVMTypeOf(emit_resized(code, d->a, 1)));
    if (lanes_of(d->a) == 1 || bits > 32 || LLVMIsConstant(d->b))
        return d->with_sign ? LLVMBuildSDiv(at, d->a, divisor, "") : LLVMBuildUDiv(at, d->a, divisor, "");
    LLVMTypeRef real = type_like(bits > 16 ? code->f64 : code->f32, d->a);
    LLVMOpcode to = d->with_sign ? LLVMSIToFP : LLVMUIToFP, from = d->with_sign ? LLVMFPToSI : LLVMFPToUI;
    LLVMValueRef x = LLVMBuildCast(at, to, d->a, real, ""), y = LLVMBuildCast(at, to, divisor, real, "");
    return LLVMBuildCast(at, from, divide_reals(code, x, y, d->by_one), type, "");
}

static LLVMValueRef unsigned_division(Code *code, const LaneDivision *d) {
    LLVMBuilderRef at = code->builder;
    if (d->by_positive) {
        LLVMValueRef whole = divide_lanes(code, d, d->b);
        return d->op == OP_DIV ? whole : LLVMBuildSub(at, d->a, LLVMBuildMul(at, whole, d->b, ""), "");
    }
    LLVMValueRef zero = LLVMBuildICmp(at, LLVMIntEQ, d->b, zero_like(d->b), "");
    LLVMValueRef divisor = LLVMBuildSelect(at, zero, constant_int(LLVMTypeOf(d->b), 1), d->b, "");
    LLVMValueRef quotient = divide_lanes(code, d, divisor);
    if (d->op == OP_MOD)
        return LLVMBuildSub(at, d->a, LLVMBuildMul(at, quotient, divisor, ""), "");
    return LLVMBuildSelect(at, zero, zero_like(d->a), quotient, "");
}

/* Rounded down, or what is left, from the quotient towards 0 by a positive divisor. */
static LLVMValueRef floor_of(Code *code, Op op, LLVMValueRef a, LLVMValueRef b, LLVMValueRef quotient) {
    LLVMBuilderRef at = code->builder;
    LLVMValueRef rest = LLVMBuildSub(at, a, LLVMBuildMul(at, quotient, b, ""), "");
    int bits = (int)LLVMGetIntTypeWidth(LLVMTypeOf(emit_resized(code, a, 1)));
    LLVMValueRef negative = LLVMBuildAShr(at, rest, constant_int(LLVMTypeOf(a), bits - 1), ""); /* -1 or 0 */
    if (op == OP_MOD)
        return LLVMBuildAdd(at, rest, LLVMBuildAnd(at, negative, b, ""), "");
    return LLVMBuildAdd(at, quotient, negative, "");
}

/* Divides by 1 in place of 0 and -1. Then the quotient is one too large if the remainder has the other sign. */
static LLVMValueRef floor_division(Code *code, const LaneDivision *d) {
    LLVMBuilderRef at = code->builder;
    LLVMValueRef a = d->a, b = d->b;
    LLVMTypeRef type = LLVMTypeOf(a);
    LLVMValueRef zero = LLVMBuildICmp(at, LLVMIntEQ, b, zero_like(b), "");
    LLVMValueRef minus = LLVMBuildICmp(at, LLVMIntEQ, b, constant_int(type, -1), "");
    LLVMValueRef divisor = LLVMBuildSelect(at, LLVMBuildOr(at, zero, minus, ""), constant_int(type, 1), b, "");
    LLVMValueRef quotient = divide_lanes(code, d, divisor);
    LLVMValueRef rest = LLVMBuildSub(at, a, LLVMBuildMul(at, quotient, divisor, ""), "");
    LLVMValueRef some = LLVMBuildICmp(at, LLVMIntNE, rest, zero_like(a), "");
    LLVMValueRef mixed = LLVMBuildICmp(at, LLVMIntSLT, LLVMBuildXor(at, rest, divisor, ""), zero_like(a), "");
    LLVMValueRef lower = LLVMBuildAnd(at, some, mixed, "");
    if (d->op == OP_MOD)
        return LLVMBuildSelect(at, lower, LLVMBuildAdd(at, rest, divisor, ""), rest, "");
    quotient = LLVMBuildSub(at, quotient, LLVMBuildZExt(at, lower, type, ""), "");
    quotient = LLVMBuildSelect(at, minus, LLVMBuildNeg(at, a, ""), quotient, "");
    return LLVMBuildSelect(at, zero, zero_like(a), quotient, "");
}

static LLVMValueRef integer_division(Code *code, const LaneDivision *d) {
    if (d->with_sign && d->by_positive)
        return floor_of(code, d->op, d->a, d->b, divide_lanes(code, d, d->b));
    return d->with_sign ? floor_division(code, d) : unsigned_division(code, d);
}

/* LaneDivision by a positive constant, using what is known of the dividend's sign. */
static LLVMValueRef division_by_constant(Code *code, Op op, LLVMValueRef a, int64_t divisor, bool not_negative) {
    LLVMBuilderRef at = code->builder;
    LLVMTypeRef type = LLVMTypeOf(a);
    LLVMValueRef b = constant_int(type, divisor);
    if ((divisor & (divisor - 1)) == 0) {
        if (op == OP_MOD)
            return LLVMBuildAnd(at, a, constant_int(type, divisor - 1), "");
        return LLVMBuildAShr(at, a, constant_int(type, __builtin_ctzll((unsigned long long)divisor)), "");
    }
    if (not_negative)
        return op == OP_MOD ? LLVMBuildURem(at, a, b, "") : LLVMBuildUDiv(at, a, b, "");
    return floor_of(code, op, a, b, LLVMBuildSDiv(at, a, b, ""));
}

/* The values of an index, in all lanes; unbounded where that takes more than its operators. */
static Interval range_of_lanes(const Expr *e) {
    static const Interval unknown = {.has_low = false};
    int64_t stride, ends[2];
    if (e->lanes == 1)
        return expr_interval(e);
    if (e->kind == EXPR_BROADCAST)
        return range_of_lanes(e->args[0]);
    if (e->kind == EXPR_RAMP && expr_is_int(e->args[1], &stride) &&
        !__builtin_mul_overflow(stride, e->lanes - 1, &ends[1])) {
        Interval steps = {true, true, ends[1] < 0 ? ends[1] : 0, ends[1] < 0 ? 0 : ends[1]};
        return interval_combine(OP_ADD, expr_interval(e->args[0]), steps);
    }
    if (e->kind != EXPR_OP || e->count != 2 || e->type != TYPE_INT64 || op_info[e->op].class == CLASS_COMPARE)
        return unknown;
    Interval a = range_of_lanes(e->args[0]), b = range_of_lanes(e->args[1]);
    bool known = a.has_low && a.has_high && b.has_low && b.has_high; /* then nothing wraps that has bounds */
    return known ? interval_combine(e->op, a, b) : unknown;
}

/* Where the quotient is one of a few: what is left after as many divisors as there always are, after one more and so
 * on; the last one that is not negative is the remainder. NULL: more steps than a division takes. */
static LLVMValueRef short_division(Code *code, const Expr *e, LLVMValueRef a, int64_t divisor, Interval range) {
    enum { MOST = 2 };
    static const int64_t large = INT64_MAX / 4; /* multiples of the divisor stay within 64 bits */
    bool known = range.has_low && range.has_high && range.low > -large && range.high < large && divisor < large;
    if (!known || (divisor & (divisor - 1)) == 0)
        return NULL;
    int64_t least = floor_div(range.low, divisor), more = floor_div(range.high, divisor) - least;
    if (more > (e->lanes > 1 ? MOST : MOST - 1))
        return NULL;
    LLVMBuilderRef at = code->builder;
    LLVMTypeRef type = LLVMTypeOf(a);
    LLVMValueRef left[MOST + 1] = {a}, quotient = constant_int(type, least);
    for (int i = 0; i <= more; i++)
        left[i] = LLVMBuildSub(at, a, constant_int(type, (least + i) * divisor), "");
    LLVMValueRef rest = left[more];
    for (int64_t i = more; i > 0; i--) {
        LLVMValueRef below = LLVMBuildICmp(at, LLVMIntSLT, left[i], zero_like(a), "");
        rest = LLVMBuildSelect(at, below, left[i - 1], rest, "");
        quotient = LLVMBuildAdd(at, quotient, LLVMBuildZExt(at, LLVMBuildNot(at, below, ""), type, ""), "");
    }
    return e->op == OP_MOD ? rest : quotient;
}

LLVMValueRef emit_division(Code *code, const Expr *e, LLVMValueRef a, LLVMValueRef b) {
    const Expr *divisor = e->args[1];
    int64_t value;
    while (divisor->kind == EXPR_BROADCAST)
        divisor = divisor->args[0];
    if (!is_signed(e->type) || !expr_is_int(divisor, &value) || value <= 0) {
        Interval by = expr_interval(divisor);
        bool by_one = e->args[1]->kind == EXPR_BROADCAST, by_positive = by.has_low && by.low > 0;
        LaneDivision d = {e->op, a, b, is_signed(e->type), by_one, by_positive};
        return integer_division(code, &d);
    }
    Interval range = {.has_low = false};
    if (e->type == TYPE_INT64)
        range = range_of_lanes(e->args[0]);
    LLVMValueRef result = short_division(code, e, a, value, range);
    return result ? result : division_by_constant(code, e->op, a, value, range.has_low && range.low >= 0);
}

/* --- arithmetic --- */

/* C's arithmetic on 0 and 1; true where the result is not 0. */
static LLVMValueRef bool_arithmetic(Code *code, Op op, LLVMValueRef a, LLVMValueRef b) {
    switch (op) {
    case OP_ADD:
    case OP_MAX: return LLVMBuildOr(code->builder, a, b, "");
    case OP_SUB: return LLVMBuildXor(code->builder, a, b, "");
    case OP_MUL:
    case OP_DIV:
    case OP_MIN: return LLVMBuildAnd(code->builder, a, b, "");
    case OP_MOD: return zero_like(a);
    default: return a;
    }
}

static LLVMValueRef integer_extreme(Code *code, Op op, ElementType type, LLVMValueRef a, LLVMValueRef b) {
    static const char *const names[2][2] = {{"llvm.umin", "llvm.umax"}, {"llvm.smin", "llvm.smax"}};
    return binary_intrinsic(code, names[is_signed(type)][op == OP_MAX], a, b);
}

static LLVMValueRef integer_arithmetic(Code *code, Op op, ElementType type, LLVMValueRef a, LLVMValueRef b) {
    switch (op) {
    case OP_ADD: return LLVMBuildAdd(code->builder, a, b, "");
    case OP_SUB: return LLVMBuildSub(code->builder, a, b, "");
    case OP_MUL: return LLVMBuildMul(code->builder, a, b, "");
    case OP_DIV:
    case OP_MOD: return integer_division(code, &(LaneDivision){op, a, b, is_signed(type), false, false});
    case OP_NEG: return LLVMBuildNeg(code->builder, a, "");
    case OP_ABS:
        return is_signed(type) ? integer_extreme(code, OP_MAX, type, a, LLVMBuildNeg(code->builder, a, "")) : a;
    default: return integer_extreme(code, op, type, a, b);
    }
}

static bool is_number_constant(LLVMValueRef value) {
    if (lanes_of(value) > 1) {
        value = LLVMIsConstant(value) ? LLVMGetAggregateElement(value, 0) : NULL;
        if (!value)
            return false;
    }
    LLVMBool loses;
    if (!LLVMIsAConstantFP(value))
        return false;
    double real = LLVMConstRealGetDouble(value, &loses);
    return real == real;
}

/* Before version 19, LLVM narrows these between conversions to the half form, which it then cannot select. */
static bool has_extremes(const Code *code) {
    return code->target->family->extremes_keep_nan && LLVM_VERSION_MAJOR >= 19;
}

static LLVMValueRef first_of_register(Code *code, LLVMValueRef value) {
    LLVMTypeRef type = LLVMTypeOf(value);
    LLVMValueRef none = LLVMGetUndef(vector_of(type, type == code->f64 ? 2 : 4));
    return LLVMBuildInsertElement(code->builder, none, value, index_constant(code, 0), "");
}

static LLVMValueRef scalar_extreme(Code *code, Op op, LLVMValueRef a, LLVMValueRef b) {
    static const char *const names[2][2] = {{"llvm.x86.sse.min.ss", "llvm.x86.sse.max.ss"},
                                            {"llvm.x86.sse2.min.sd", "llvm.x86.sse2.max.sd"}};
    LLVMValueRef args[] = {first_of_register(code, a), first_of_register(code, b)};
    const char *name = names[LLVMTypeOf(a) == code->f64][op == OP_MAX];
    LLVMValueRef result = emit_intrinsic(code, name, NULL, 0, args, 2);
    return LLVMBuildExtractElement(code->builder, result, index_constant(code, 0), "");
}

/* LLVM merges the comparison below with the test for NaN; it leaves the instruction itself alone. */
static LLVMValueRef extreme_instruction(Code *code, Op op, LLVMValueRef a, LLVMValueRef b) {
    static const char *const names[3][2] = {{"llvm.x86.sse.min.ps", "llvm.x86.sse.max.ps"},
                                            {"llvm.x86.avx.min.ps.256", "llvm.x86.avx.max.ps.256"},
                                            {"llvm.x86.avx512.min.ps.512", "llvm.x86.avx512.max.ps.512"}};
    enum { CURRENT_ROUNDING = 4 };
    int lanes = lanes_of(a), width = lanes == 4 ? 0 : lanes == 8 ? 1 : 2;
    if (code->target->family->sse && (LLVMTypeOf(a) == code->f32 || LLVMTypeOf(a) == code->f64))
        return scalar_extreme(code, op, a, b);
    bool has = code->target->family->sse && (lanes == 4 || lanes == 8 || lanes == 16);
    if (!has || LLVMTypeOf(a) != type_like(code->f32, a) || code->target->vector_bytes < 4 * lanes)
        return NULL;
    LLVMValueRef args[] = {a, b, constant_int(code->i32, CURRENT_ROUNDING)};
    return emit_intrinsic(code, names[width][op == OP_MAX], NULL, 0, args, lanes == 16 ? 3 : 2);
}

/* The result, or a where that is NaN: one AVX-512 instruction with a table of what to do for each kind of number. Digit
 * 0 is for quiet NaN, digit 1 for signalling NaN; all else keeps the result. NULL: not for these lanes. */
static LLVMValueRef keep_unordered(Code *code, LLVMValueRef a, LLVMValueRef result) {
    static const char *const names[] = {"llvm.x86.avx512.mask.fixupimm.ps.128", "llvm.x86.avx512.mask.fixupimm.ps.256",
                                        "llvm.x86.avx512.mask.fixupimm.ps.512"};
    enum { TAKE_A = 1, TAKE_QUIET_A = 2, CURRENT_ROUNDING = 4 };
    int lanes = lanes_of(a);
    if (!code->target->avx512)
        return NULL;
    LLVMValueRef table = constant_int(type_like(code->i32, a), TAKE_A | TAKE_QUIET_A << 4);
    LLVMValueRef all = LLVMConstAllOnes(lanes == 16 ? code->i16 : code->i8), none = constant_int(code->i32, 0);
    LLVMValueRef args[] = {result, a, table, none, all, constant_int(code->i32, CURRENT_ROUNDING)};
    return emit_intrinsic(code, names[lanes == 16 ? 2 : lanes == 8], NULL, 0, args, lanes == 16 ? 6 : 5);
}

/* x86's minps(a, b) is a < b ? a : b, which gives b if either is NaN: one instruction if only b can be NaN. Arm has the
 * wanted instruction. */
static LLVMValueRef real_extreme(Code *code, Op op, LLVMValueRef a, LLVMValueRef b) {
    LLVMBuilderRef at = code->builder;
    if (has_extremes(code))
        return binary_intrinsic(code, op == OP_MIN ? "llvm.minimum" : "llvm.maximum", a, b);
    if (is_number_constant(b)) {
        LLVMValueRef constant = b;
        b = a;
        a = constant;
    }
    LLVMValueRef result = is_number_constant(a) ? NULL : extreme_instruction(code, op, a, b);
    LLVMValueRef kept = result && lanes_of(a) > 1 ? keep_unordered(code, a, result) : NULL;
    if (kept)
        return kept;
    if (!result) {
        LLVMValueRef ordered = LLVMBuildFCmp(at, op == OP_MIN ? LLVMRealOLT : LLVMRealOGT, a, b, "");
        result = LLVMBuildSelect(at, ordered, a, b, "");
    }
    if (is_number_constant(a))
        return result;
    return LLVMBuildSelect(at, LLVMBuildFCmp(at, LLVMRealUNO, a, a, ""), a, result, "");
}

static LLVMValueRef real_modulo(Code *code, ElementType type, LLVMValueRef a, LLVMValueRef b) {
    return emit_math(code, OP_FMOD, type, (LLVMValueRef[]){a, b});
}

static LLVMValueRef real_arithmetic(Code *code, Op op, ElementType type, LLVMValueRef a, LLVMValueRef b) {
    switch (op) {
    case OP_ADD: return round_to(code, LLVMBuildFAdd(code->builder, a, b, ""), type);
    case OP_SUB: return round_to(code, LLVMBuildFSub(code->builder, a, b, ""), type);
    case OP_MUL: return round_to(code, LLVMBuildFMul(code->builder, a, b, ""), type);
    case OP_DIV: return round_to(code, LLVMBuildFDiv(code->builder, a, b, ""), type);
    case OP_MOD: return real_modulo(code, type, a, b);
    case OP_NEG: return LLVMBuildFNeg(code->builder, a, "");
    case OP_ABS: return unary_intrinsic(code, "llvm.fabs", a);
    default: return real_extreme(code, op, a, b);
    }
}

/* --- comparisons and logic --- */

static LLVMValueRef emit_compare(Code *code, Op op, ElementType type, LLVMValueRef a, LLVMValueRef b) {
    static const struct {
        LLVMRealPredicate real;
        LLVMIntPredicate integer[2]; /* unsigned, signed */
    } predicates[] = {
        [OP_LT - OP_LT] = {LLVMRealOLT, {LLVMIntULT, LLVMIntSLT}},
        [OP_LE - OP_LT] = {LLVMRealOLE, {LLVMIntULE, LLVMIntSLE}},
        [OP_GT - OP_LT] = {LLVMRealOGT, {LLVMIntUGT, LLVMIntSGT}},
        [OP_GE - OP_LT] = {LLVMRealOGE, {LLVMIntUGE, LLVMIntSGE}},
        [OP_EQ - OP_LT] = {LLVMRealOEQ, {LLVMIntEQ, LLVMIntEQ}},
        [OP_NE - OP_LT] = {LLVMRealUNE, {LLVMIntNE, LLVMIntNE}},
    };
    if (type_is_float(type))
        return LLVMBuildFCmp(code->builder, predicates[op - OP_LT].real, a, b, "");
    return LLVMBuildICmp(code->builder, predicates[op - OP_LT].integer[is_signed(type)], a, b, "");
}

static LLVMValueRef emit_logic(Code *code, Op op, LLVMValueRef *args) {
    if (op == OP_NOT)
        return LLVMBuildNot(code->builder, args[0], "");
    return op == OP_AND ? LLVMBuildAnd(code->builder, args[0], args[1], "")
                        : LLVMBuildOr(code->builder, args[0], args[1], "");
}

LLVMValueRef emit_operator(Code *code, Op op, ElementType type, LLVMValueRef *args) {
    LLVMValueRef second = op_info[op].arity > 1 ? args[1] : NULL;
    switch (op_info[op].class) {
    case CLASS_COMPARE: return emit_compare(code, op, type, args[0], second);
    case CLASS_LOGIC: return emit_logic(code, op, args);
    case CLASS_SELECT: return LLVMBuildSelect(code->builder, args[0], args[1], args[2], "");
    case CLASS_MATH: return emit_math(code, op, type, args);
    case CLASS_ARITHMETIC:
        if (type == TYPE_BOOL)
            return bool_arithmetic(code, op, args[0], second);
        if (type_is_float(type))
            return real_arithmetic(code, op, type, args[0], second);
        return integer_arithmetic(code, op, type, args[0], second);
    default: INTERNAL_ERROR("no code for the operator %s", op_info[op].name);
    }
}
