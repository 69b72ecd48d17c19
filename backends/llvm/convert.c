/* convert.c - casts between element types, and half and bfloat16 in memory.
 *
 * If the processor has no instructions for half, integer sequences are used, so that objects need no compiler runtime
 * library. bfloat16 always uses them: its instructions flush small numbers to zero.
 */
#include "backends/llvm/code.h"
#include "lang/diag.h"
#include "lang/value.h"

#include <math.h>
#include <string.h>

static LLVMValueRef select_of(Code *code, LLVMValueRef condition, LLVMValueRef a, LLVMValueRef b) {
    return LLVMBuildSelect(code->builder, condition, a, b, "");
}

/* --- half --- */

/* Giesen, "Half to float done quick": a multiplication changes the exponent's bias, and makes small numbers normal. */
static LLVMValueRef half_bits_to_float(Code *code, LLVMValueRef bits) {
    LLVMBuilderRef b = code->builder;
    LLVMValueRef wide = LLVMBuildZExt(b, bits, type_like(code->i32, bits), "");
    LLVMTypeRef type = LLVMTypeOf(wide);
    LLVMValueRef magnitude =
        LLVMBuildShl(b, LLVMBuildAnd(b, wide, constant_int(type, 0x7fff), ""), constant_int(type, 13), "");
    LLVMValueRef sign =
        LLVMBuildShl(b, LLVMBuildAnd(b, wide, constant_int(type, 0x8000), ""), constant_int(type, 16), "");
    LLVMValueRef real = real_of(code, magnitude, code->f32);
    LLVMValueRef finite = bits_of(code, LLVMBuildFMul(b, real, constant_real(LLVMTypeOf(real), 0x1p112), ""));
    LLVMValueRef special = LLVMBuildICmp(b, LLVMIntUGE, magnitude, constant_int(type, 0x7c00 << 13), "");
    LLVMValueRef infinite = LLVMBuildOr(b, magnitude, constant_int(type, 0x7f800000), "");
    LLVMValueRef result = LLVMBuildOr(b, select_of(code, special, infinite, finite), sign, "");
    return real_of(code, result, code->f32);
}

/* Giesen, "float to half with round to nearest even": small numbers are rounded by an addition of 0.5. */
static LLVMValueRef float_to_half_bits(Code *code, LLVMValueRef real) {
    LLVMBuilderRef b = code->builder;
    LLVMValueRef bits = bits_of(code, real);
    LLVMTypeRef type = LLVMTypeOf(bits);
    LLVMValueRef sign = LLVMBuildAnd(b, bits, constant_int(type, 0x80000000), "");
    LLVMValueRef magnitude = LLVMBuildXor(b, bits, sign, "");
    LLVMValueRef odd =
        LLVMBuildAnd(b, LLVMBuildLShr(b, magnitude, constant_int(type, 13), ""), constant_int(type, 1), "");
    LLVMValueRef rounded = LLVMBuildAdd(b, magnitude, constant_int(type, 0xfff - (112 << 23)), "");
    LLVMValueRef normal = LLVMBuildLShr(b, LLVMBuildAdd(b, rounded, odd, ""), constant_int(type, 13), "");
    LLVMValueRef absolute = real_of(code, magnitude, code->f32);
    LLVMValueRef shifted = LLVMBuildFAdd(b, absolute, constant_real(LLVMTypeOf(absolute), 0.5), "");
    LLVMValueRef small = LLVMBuildSub(b, bits_of(code, shifted), constant_int(type, 126 << 23), "");
    LLVMValueRef is_small = LLVMBuildICmp(b, LLVMIntULT, magnitude, constant_int(type, 113 << 23), "");
    LLVMValueRef is_large = LLVMBuildICmp(b, LLVMIntUGE, magnitude, constant_int(type, 0x47800000), "");
    LLVMValueRef is_nan = LLVMBuildICmp(b, LLVMIntUGT, magnitude, constant_int(type, 0x7f800000), "");
    LLVMValueRef special = select_of(code, is_nan, constant_int(type, 0x7e00), constant_int(type, 0x7c00));
    LLVMValueRef half = select_of(code, is_large, special, select_of(code, is_small, small, normal));
    half = LLVMBuildOr(b, half, LLVMBuildLShr(b, sign, constant_int(type, 16), ""), "");
    return LLVMBuildTrunc(b, half, type_like(code->i16, half), "");
}

typedef LLVMValueRef Conversion(Code *code, LLVMValueRef value);

static LLVMValueRef define_conversion(Code *code, const char *name, Conversion *convert, LLVMTypeRef to,
                                      LLVMTypeRef from) {
    Apart apart = apart_open(code, name, LLVMFunctionType(to, &from, 1, false));
    apart_touches(code, &apart, APART_NO_MEMORY);
    LLVMBuildRet(code->builder, convert(code, LLVMGetParam(apart.function, 0)));
    return apart_close(code, &apart);
}

/* The sequence, or, where a kernel has many already, a call of it. */
static LLVMValueRef convert_half(Code *code, const char *what, Conversion *convert, LLVMTypeRef to,
                                 LLVMValueRef value) {
    int lanes = lanes_of(value);
    code->lanes_converted += lanes;
    if (code->lanes_converted <= CONVERTED_LANES)
        return convert(code, value);
    const char *name = arena_printf(code->arena, "%s.%d", what, lanes);
    LLVMValueRef function = LLVMGetNamedFunction(code->module, name);
    if (!function)
        function = define_conversion(code, name, convert, vector_of(to, lanes), LLVMTypeOf(value));
    return emit_call(code, function, &value, 1);
}

static LLVMTypeRef half_type(Code *code, LLVMValueRef value) {
    return type_like(LLVMHalfTypeInContext(code->context), value);
}

/* The fence costs nothing. Without it LLVM compares and converts halves themselves, for which most processors have no
 * vector instructions. */
static LLVMValueRef half_from_memory(Code *code, LLVMValueRef bits) {
    if (!code->half_instructions)
        return convert_half(code, "tensorc.half.to", half_bits_to_float, code->f32, bits);
    LLVMValueRef half = LLVMBuildBitCast(code->builder, bits, half_type(code, bits), "");
    LLVMValueRef real = LLVMBuildFPExt(code->builder, half, type_like(code->f32, bits), "");
    LLVMTypeRef type = LLVMTypeOf(real);
    return emit_intrinsic(code, "llvm.arithmetic.fence", &type, 1, &real, 1);
}

static LLVMValueRef half_to_memory(Code *code, LLVMValueRef real) {
    if (!code->half_instructions)
        return convert_half(code, "tensorc.half.of", float_to_half_bits, code->i16, real);
    LLVMValueRef half = LLVMBuildFPTrunc(code->builder, real, half_type(code, real), "");
    return LLVMBuildBitCast(code->builder, half, type_like(code->i16, real), "");
}

/* --- bfloat16: the upper half of a float --- */

static LLVMValueRef bfloat16_from_memory(Code *code, LLVMValueRef bits) {
    LLVMValueRef wide = LLVMBuildZExt(code->builder, bits, type_like(code->i32, bits), "");
    wide = LLVMBuildShl(code->builder, wide, constant_int(LLVMTypeOf(wide), 16), "");
    return real_of(code, wide, code->f32);
}

static LLVMValueRef bfloat16_to_memory(Code *code, LLVMValueRef real) {
    LLVMBuilderRef b = code->builder;
    LLVMValueRef bits = bits_of(code, real);
    LLVMTypeRef type = LLVMTypeOf(bits);
    LLVMValueRef odd = LLVMBuildAnd(b, LLVMBuildLShr(b, bits, constant_int(type, 16), ""), constant_int(type, 1), "");
    LLVMValueRef rounded = LLVMBuildAdd(b, LLVMBuildAdd(b, bits, constant_int(type, 0x7fff), ""), odd, "");
    LLVMValueRef quiet = LLVMBuildOr(b, bits, constant_int(type, 0x400000), "");
    LLVMValueRef is_nan = LLVMBuildFCmp(b, LLVMRealUNO, real, real, "");
    LLVMValueRef upper = LLVMBuildLShr(b, select_of(code, is_nan, quiet, rounded), constant_int(type, 16), "");
    return LLVMBuildTrunc(b, upper, type_like(code->i16, upper), "");
}

/* --- memory --- */

LLVMValueRef from_memory(Code *code, LLVMValueRef value, ElementType type) {
    switch (type) {
    case TYPE_BOOL: return LLVMBuildICmp(code->builder, LLVMIntNE, value, constant_int(LLVMTypeOf(value), 0), "");
    case TYPE_HALF: return half_from_memory(code, value);
    case TYPE_BFLOAT16: return bfloat16_from_memory(code, value);
    default: return value;
    }
}

LLVMValueRef to_memory(Code *code, LLVMValueRef value, ElementType type) {
    switch (type) {
    case TYPE_BOOL: return LLVMBuildZExt(code->builder, value, type_like(code->i8, value), "");
    case TYPE_HALF: return half_to_memory(code, value);
    case TYPE_BFLOAT16: return bfloat16_to_memory(code, value);
    default: return value;
    }
}

/* --- rounding --- */

LLVMValueRef round_to(Code *code, LLVMValueRef value, ElementType type) {
    if (type != TYPE_HALF && type != TYPE_BFLOAT16)
        return value;
    return from_memory(code, to_memory(code, value, type), type);
}

/* A double as a float rounded to odd, for half: the lowest of the bits that a float keeps shows whether any bit below
 * was set. What is too small for that is zero as a half. */
static LLVMValueRef odd_for_half(Code *code, LLVMValueRef value) {
    LLVMBuilderRef b = code->builder;
    LLVMValueRef bits = bits_of(code, value);
    LLVMTypeRef type = LLVMTypeOf(bits);
    LLVMValueRef below = constant_int(type, (1 << 29) - 1);
    LLVMValueRef carried = LLVMBuildAdd(b, LLVMBuildAnd(b, bits, below, ""), below, "");
    bits = LLVMBuildAnd(b, LLVMBuildOr(b, bits, carried, ""), constant_int(type, -(1 << 29)), "");
    return LLVMBuildFPTrunc(b, real_of(code, bits, code->f64), type_like(code->f32, value), "");
}

/* The same for bfloat16, which is as small as float: an even float that is not exact gets its odd neighbour, in the
 * direction of the double. */
static LLVMValueRef odd_for_bfloat16(Code *code, LLVMValueRef value) {
    LLVMBuilderRef b = code->builder;
    LLVMValueRef real = LLVMBuildFPTrunc(b, value, type_like(code->f32, value), "");
    LLVMValueRef bits = bits_of(code, real);
    LLVMTypeRef integer = LLVMTypeOf(bits);
    LLVMValueRef back = LLVMBuildFPExt(b, real, LLVMTypeOf(value), "");
    LLVMValueRef inexact = LLVMBuildFCmp(b, LLVMRealONE, back, value, "");
    LLVMValueRef low = LLVMBuildAnd(b, bits, constant_int(integer, 1), "");
    LLVMValueRef even = LLVMBuildICmp(b, LLVMIntEQ, low, constant_int(integer, 0), "");
    LLVMValueRef outward = LLVMBuildFCmp(b, LLVMRealOGT, unary_intrinsic(code, "llvm.fabs", value),
                                         unary_intrinsic(code, "llvm.fabs", back), "");
    LLVMValueRef step = select_of(code, outward, constant_int(integer, 1), constant_int(integer, -1));
    LLVMValueRef odd = LLVMBuildAdd(b, bits, step, "");
    bits = select_of(code, LLVMBuildAnd(b, inexact, even, ""), odd, bits);
    return real_of(code, bits, code->f32);
}

/* Boldo and Melquiond, "Emulation of FMA and correctly rounded sums": rounding to odd first makes the second rounding
 * correct. */
LLVMValueRef round_double_to(Code *code, LLVMValueRef value, ElementType type) {
    if (type == TYPE_HALF || type == TYPE_BFLOAT16)
        return round_to(code, type == TYPE_HALF ? odd_for_half(code, value) : odd_for_bfloat16(code, value), type);
    return LLVMBuildFPTrunc(code->builder, value, type_like(code->f32, value), "");
}

/* --- casts --- */

static LLVMValueRef integer_to_integer(Code *code, LLVMValueRef value, ElementType from, ElementType to) {
    LLVMTypeRef type = type_like(memory_type(code, to), value);
    int from_bytes = element_info[from].bytes, to_bytes = element_info[to].bytes;
    if (from == TYPE_BOOL)
        return LLVMBuildZExt(code->builder, value, type, "");
    if (from_bytes >= to_bytes)
        return from_bytes == to_bytes ? value : LLVMBuildTrunc(code->builder, value, type, "");
    return element_info[from].kind == KIND_SIGNED ? LLVMBuildSExt(code->builder, value, type, "")
                                                  : LLVMBuildZExt(code->builder, value, type, "");
}

/* 64 bits to double, so that rounding to fewer digits again rounds as from the integer: the lowest bit kept shows
 * whether any bit below was set. */
static LLVMValueRef sticky_integer(Code *code, LLVMValueRef value, bool is_signed) {
    LLVMBuilderRef b = code->builder;
    LLVMTypeRef type = LLVMTypeOf(value);
    LLVMValueRef kept = LLVMBuildAnd(b, value, constant_int(type, ~(int64_t)2047), "");
    LLVMValueRef rest = LLVMBuildAnd(b, value, constant_int(type, 2047), "");
    LLVMValueRef any = LLVMBuildICmp(b, LLVMIntNE, rest, constant_int(type, 0), "");
    LLVMValueRef sticky =
        LLVMBuildOr(b, kept, select_of(code, any, constant_int(type, 2048), constant_int(type, 0)), "");
    LLVMValueRef magnitude = value;
    if (is_signed) {
        LLVMValueRef sign = LLVMBuildAShr(b, value, constant_int(type, 63), "");
        magnitude = LLVMBuildXor(b, value, sign, "");
    }
    LLVMValueRef large = LLVMBuildICmp(b, LLVMIntUGE, magnitude, constant_int(type, (int64_t)1 << 53), "");
    return select_of(code, large, sticky, value);
}

static LLVMValueRef integer_to_real(Code *code, LLVMValueRef value, ElementType from, ElementType to) {
    bool is_signed = element_info[from].kind == KIND_SIGNED, narrow = to == TYPE_HALF || to == TYPE_BFLOAT16;
    bool exact_float = element_info[from].bytes < 4;
    if (narrow && element_info[from].bytes == 8)
        value = sticky_integer(code, value, is_signed);
    LLVMTypeRef type = type_like(to == TYPE_DOUBLE || (narrow && !exact_float) ? code->f64 : code->f32, value);
    LLVMValueRef real =
        is_signed ? LLVMBuildSIToFP(code->builder, value, type, "") : LLVMBuildUIToFP(code->builder, value, type, "");
    if (!narrow)
        return real;
    return exact_float ? round_to(code, real, to) : round_double_to(code, real, to);
}

static LLVMValueRef cut_to(Code *code, LLVMValueRef value, ElementType to) {
    LLVMBuilderRef b = code->builder;
    LLVMTypeRef type = LLVMTypeOf(value);
    LLVMValueRef low = constant_real(type, (double)integer_limit(to, false));
    LLVMValueRef high = constant_real(type, (double)integer_limit(to, true));
    LLVMValueRef cut = select_of(code, LLVMBuildFCmp(b, LLVMRealOGT, value, low, ""), value, low);
    return select_of(code, LLVMBuildFCmp(b, LLVMRealOLT, cut, high, ""), cut, high);
}

/* To 8 or 16 bits: clamps to what fits, in a float, then goes by int32. The intrinsic for it has no vector form. */
static LLVMValueRef real_to_narrow(Code *code, LLVMValueRef value, ElementType to, bool fits) {
    LLVMBuilderRef b = code->builder;
    LLVMTypeRef integer = type_like(code->i32, value);
    LLVMValueRef whole = LLVMBuildFPToSI(b, fits ? value : cut_to(code, value, to), integer, "");
    LLVMValueRef is_number = LLVMBuildFCmp(b, LLVMRealORD, value, value, "");
    whole = select_of(code, is_number, whole, constant_int(integer, 0));
    return LLVMBuildTrunc(b, whole, type_like(memory_type(code, to), value), "");
}

/* To 32 or 64 bits on x86, where the intrinsic has no vector form either: selects what does not fit beside the
 * conversion. */
static LLVMValueRef real_to_wide(Code *code, LLVMValueRef value, ElementType to) {
    LLVMBuilderRef b = code->builder;
    bool is_signed = element_info[to].kind == KIND_SIGNED;
    int bits = 8 * element_info[to].bytes;
    LLVMTypeRef type = LLVMTypeOf(value), integer = type_like(memory_type(code, to), value);
    LLVMValueRef above = constant_real(type, ldexp(1, bits - is_signed));
    LLVMValueRef low = constant_real(type, is_signed ? -ldexp(1, bits - 1) : 0);
    LLVMValueRef whole = is_signed ? LLVMBuildFPToSI(b, value, integer, "") : LLVMBuildFPToUI(b, value, integer, "");
    whole = select_of(code, LLVMBuildFCmp(b, LLVMRealOGE, value, above, ""),
                      constant_int(integer, integer_limit(to, true)), whole);
    whole = select_of(code, LLVMBuildFCmp(b, LLVMRealOLT, value, low, ""),
                      constant_int(integer, integer_limit(to, false)), whole);
    return select_of(code, LLVMBuildFCmp(b, LLVMRealORD, value, value, ""), whole, constant_int(integer, 0));
}

static LLVMValueRef real_to_integer(Code *code, LLVMValueRef value, ElementType to) {
    if (to == TYPE_BOOL)
        return LLVMBuildFCmp(code->builder, LLVMRealUNE, value, constant_real(LLVMTypeOf(value), 0), "");
    if (element_info[to].bytes < 4)
        return real_to_narrow(code, value, to, false);
    if (!code->target->family->saturating_casts)
        return real_to_wide(code, value, to);
    LLVMTypeRef types[] = {type_like(memory_type(code, to), value), LLVMTypeOf(value)};
    const char *name = element_info[to].kind == KIND_SIGNED ? "llvm.fptosi.sat" : "llvm.fptoui.sat";
    return emit_intrinsic(code, name, types, 2, &value, 1);
}

static LLVMValueRef real_to_real(Code *code, LLVMValueRef value, ElementType from, ElementType to) {
    if (to == TYPE_DOUBLE)
        return LLVMBuildFPExt(code->builder, value, type_like(code->f64, value), "");
    if (from == TYPE_DOUBLE)
        return round_double_to(code, value, to);
    return round_to(code, value, to); /* float, half and bfloat16 are floats already */
}

LLVMValueRef emit_conversion(Code *code, LLVMValueRef value, ElementType from, ElementType to) {
    if (from == to)
        return value;
    bool from_float = type_is_float(from), to_float = type_is_float(to);
    if (from_float)
        return to_float ? real_to_real(code, value, from, to) : real_to_integer(code, value, to);
    if (to_float)
        return integer_to_real(code, value, from, to);
    if (to == TYPE_BOOL)
        return LLVMBuildICmp(code->builder, LLVMIntNE, value, constant_int(LLVMTypeOf(value), 0), "");
    return integer_to_integer(code, value, from, to);
}

LLVMValueRef emit_fitting_conversion(Code *code, LLVMValueRef value, ElementType to) {
    return real_to_narrow(code, value, to, true);
}
