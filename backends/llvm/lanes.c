/* lanes.c - see llvm/lanes.h. */
#include "backends/llvm/lanes.h"

#include <string.h>

Lanes lanes_like(Code *code, LLVMTypeRef scalar, LLVMValueRef value) {
    LLVMTypeRef integer = scalar == code->f64 ? code->i64 : code->i32;
    return (Lanes){code, code->builder, scalar, type_like(scalar, value), type_like(integer, value)};
}

bool lanes_are_wide(const Lanes *l) {
    return l->scalar == l->code->f64;
}

LLVMValueRef lanes_number(Lanes *l, double value) {
    return constant_real(l->real, value);
}

LLVMValueRef lanes_whole(Lanes *l, int64_t value) {
    return constant_int(l->integer, value);
}

LLVMValueRef lanes_add(Lanes *l, LLVMValueRef a, LLVMValueRef b) {
    return LLVMBuildFAdd(l->b, a, b, "");
}

LLVMValueRef lanes_subtract(Lanes *l, LLVMValueRef a, LLVMValueRef b) {
    return LLVMBuildFSub(l->b, a, b, "");
}

LLVMValueRef lanes_multiply(Lanes *l, LLVMValueRef a, LLVMValueRef b) {
    return LLVMBuildFMul(l->b, a, b, "");
}

LLVMValueRef lanes_divide(Lanes *l, LLVMValueRef a, LLVMValueRef b) {
    return LLVMBuildFDiv(l->b, a, b, "");
}

LLVMValueRef lanes_fused(Lanes *l, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c) {
    return multiply_add(l->code, a, b, c);
}

LLVMValueRef lanes_absolute(Lanes *l, LLVMValueRef a) {
    return unary_intrinsic(l->code, "llvm.fabs", a);
}

LLVMValueRef lanes_select_where(Lanes *l, LLVMValueRef condition, LLVMValueRef a, LLVMValueRef b) {
    return LLVMBuildSelect(l->b, condition, a, b, "");
}

LLVMValueRef lanes_compare(Lanes *l, LLVMRealPredicate predicate, LLVMValueRef a, double b) {
    return LLVMBuildFCmp(l->b, predicate, a, lanes_number(l, b), "");
}

LLVMValueRef lanes_both(Lanes *l, LLVMValueRef a, LLVMValueRef b) {
    return LLVMBuildAnd(l->b, a, b, "");
}

LLVMValueRef lanes_polynomial(Lanes *l, LLVMValueRef x, const double *coefficients, int count) {
    LLVMValueRef sum = lanes_number(l, coefficients[count - 1]);
    for (int i = count - 2; i >= 0; i--)
        sum = lanes_fused(l, sum, x, lanes_number(l, coefficients[i]));
    return sum;
}

LLVMValueRef lanes_clamp(Lanes *l, LLVMValueRef x, double low, double high) {
    x = lanes_select_where(l, lanes_compare(l, LLVMRealOLT, x, low), lanes_number(l, low), x);
    return lanes_select_where(l, lanes_compare(l, LLVMRealOGT, x, high), lanes_number(l, high), x);
}

/* Adding 1.5 * 2^23 (for double 1.5 * 2^52) leaves the whole number in the low bits. */
LLVMValueRef lanes_round_product(Lanes *l, LLVMValueRef x, double y, LLVMValueRef *bits) {
    double rounder = l->scalar == l->code->f64 ? 0x1.8p52 : 0x1.8p23;
    LLVMValueRef shifted = lanes_fused(l, x, lanes_number(l, y), lanes_number(l, rounder));
    if (bits)
        *bits = bits_of(l->code, shifted);
    return lanes_subtract(l, shifted, lanes_number(l, rounder));
}

LLVMValueRef lanes_power_of_two(Lanes *l, LLVMValueRef n) {
    bool wide = lanes_are_wide(l);
    LLVMValueRef biased = LLVMBuildAdd(l->b, n, lanes_whole(l, wide ? 1023 : 127), "");
    return real_of(l->code, LLVMBuildShl(l->b, biased, lanes_whole(l, wide ? 52 : 23), ""), l->scalar);
}

/* --- instructions of AVX-512 --- */

enum { MOST_ARGUMENTS = 2, REGISTER_BYTES = 64, MOST_LANES = 16 };

static int register_lanes(const Lanes *l) {
    return REGISTER_BYTES / (lanes_are_wide(l) ? 8 : 4);
}

static bool has_instructions(const Lanes *l) {
    return l->code->target->avx512;
}

/* Whether the lanes fill a register or several. The instructions of several are neighbours, so that none waits for
 * another. */
static bool fills_registers(const Lanes *l) {
    return has_instructions(l) && LLVMGetTypeKind(l->real) == LLVMVectorTypeKind &&
           LLVMGetVectorSize(l->real) % (unsigned)register_lanes(l) == 0;
}

typedef LLVMValueRef RegisterFunction(Lanes *l, LLVMValueRef *args, const void *context);

/* Calls the function register by register, for lanes from `first` on. */
static LLVMValueRef by_registers(Lanes *l, RegisterFunction *function, LLVMValueRef *args, int count, int first,
                                 int lanes, const void *context) {
    LLVMValueRef parts[MOST_ARGUMENTS];
    if (lanes > register_lanes(l)) {
        int half = lanes / 2;
        LLVMValueRef low = by_registers(l, function, args, count, first, half, context);
        return emit_joined(l->code, low, by_registers(l, function, args, count, first + half, half, context));
    }
    for (int i = 0; i < count; i++)
        parts[i] = lanes_of(args[i]) == lanes ? args[i] : emit_lanes(l->code, args[i], first, lanes);
    return function(l, parts, context);
}

static LLVMValueRef in_registers(Lanes *l, RegisterFunction *function, LLVMValueRef *args, int count,
                                 const void *context) {
    return by_registers(l, function, args, count, 0, lanes_of(args[0]), context);
}

/* A masked instruction on registers of so many bits. For a whole register it also takes a rounding mode. The mask has
 * all lanes, and at least 8 bits. */
static LLVMValueRef masked_instruction(Lanes *l, const char *name, int lanes, LLVMValueRef *args, int count) {
    enum { CURRENT_ROUNDING = 4 };
    bool whole = lanes == register_lanes(l);
    const char *full = arena_printf(l->code->arena, "llvm.x86.avx512.mask.%s.%s.%d", name,
                                    lanes_are_wide(l) ? "pd" : "ps", lanes * (lanes_are_wide(l) ? 64 : 32));
    LLVMValueRef all[MOST_ARGUMENTS + 3];
    for (int i = 0; i < count; i++)
        all[i] = args[i];
    all[count] = LLVMGetPoison(LLVMTypeOf(args[0]));
    all[count + 1] = LLVMConstAllOnes(lanes > 8 ? l->code->i16 : l->code->i8);
    all[count + 2] = LLVMConstInt(l->code->i32, CURRENT_ROUNDING, false);
    return emit_intrinsic(l->code, full, NULL, 0, all, count + 2 + whole);
}

/* scalef works on whole registers and on parts of one. */
bool lanes_can_scale(const Lanes *l) {
    int lanes = LLVMGetTypeKind(l->real) == LLVMVectorTypeKind ? (int)LLVMGetVectorSize(l->real) : 1;
    int part = REGISTER_BYTES / (lanes * (lanes_are_wide(l) ? 8 : 4));
    return fills_registers(l) || (has_instructions(l) && (part == 2 || part == 4));
}

static LLVMValueRef scale_register(Lanes *l, LLVMValueRef *args, const void *context) {
    return masked_instruction(l, "scalef", lanes_of(args[0]), args, 2);
}

LLVMValueRef lanes_scale(Lanes *l, LLVMValueRef x, LLVMValueRef n) {
    return in_registers(l, scale_register, (LLVMValueRef[]){x, n}, 2, NULL);
}

bool lanes_can_look_up(const Lanes *l) {
    return fills_registers(l);
}

int lanes_table(const Lanes *l) {
    return 2 * register_lanes(l);
}

static LLVMValueRef look_up_register(Lanes *l, LLVMValueRef *args, const void *context) {
    const double *table = context;
    int count = register_lanes(l);
    LLVMValueRef halves[2], entries[MOST_LANES];
    for (int half = 0; half < 2; half++) {
        for (int i = 0; i < count; i++)
            entries[i] = LLVMConstReal(l->scalar, table[half * count + i]);
        halves[half] = LLVMConstVector(entries, (unsigned)count);
    }
    LLVMValueRef all[] = {halves[0], args[0], halves[1]};
    const char *name = lanes_are_wide(l) ? "llvm.x86.avx512.vpermi2var.pd.512" : "llvm.x86.avx512.vpermi2var.ps.512";
    return emit_intrinsic(l->code, name, NULL, 0, all, 3);
}

LLVMValueRef lanes_look_up(Lanes *l, const double *table, LLVMValueRef index) {
    return in_registers(l, look_up_register, &index, 1, table);
}

static LLVMValueRef exponent_register(Lanes *l, LLVMValueRef *args, const void *context) {
    return masked_instruction(l, "getexp", register_lanes(l), args, 1);
}

LLVMValueRef lanes_exponent(Lanes *l, LLVMValueRef x) {
    return in_registers(l, exponent_register, &x, 1, NULL);
}

static LLVMValueRef mantissa_register(Lanes *l, LLVMValueRef *args, const void *context) {
    enum { FROM_3_4_TO_3_2 = 3, NONE_OF_NEGATIVE = 2 << 2 };
    LLVMValueRef all[] = {args[0], LLVMConstInt(l->code->i32, FROM_3_4_TO_3_2 | NONE_OF_NEGATIVE, false)};
    return masked_instruction(l, "getmant", register_lanes(l), all, 2);
}

LLVMValueRef lanes_mantissa(Lanes *l, LLVMValueRef x) {
    return in_registers(l, mantissa_register, &x, 1, NULL);
}
