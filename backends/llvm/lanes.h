/* lanes.h - a vocabulary for sequences of floating-point instructions in float or double: operations and constants with
 * as many lanes as a value has.
 */
#ifndef BACKENDS_LLVM_LANES_H
#define BACKENDS_LLVM_LANES_H

#include "backends/llvm/code.h"

typedef struct Lanes {
    Code *code;
    LLVMBuilderRef b;
    LLVMTypeRef scalar, real, integer; /* integer: as wide as real */
} Lanes;

Lanes lanes_like(Code *code, LLVMTypeRef scalar, LLVMValueRef value);
bool lanes_are_wide(const Lanes *l); /* of double */
LLVMValueRef lanes_number(Lanes *l, double value);
LLVMValueRef lanes_whole(Lanes *l, int64_t value);
LLVMValueRef lanes_add(Lanes *l, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef lanes_subtract(Lanes *l, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef lanes_multiply(Lanes *l, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef lanes_divide(Lanes *l, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef lanes_fused(Lanes *l, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c); /* a*b + c */
LLVMValueRef lanes_absolute(Lanes *l, LLVMValueRef a);
LLVMValueRef lanes_select_where(Lanes *l, LLVMValueRef condition, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef lanes_compare(Lanes *l, LLVMRealPredicate predicate, LLVMValueRef a, double b);
LLVMValueRef lanes_both(Lanes *l, LLVMValueRef a, LLVMValueRef b);
/* c[0] + x * (c[1] + x * (...)) */
LLVMValueRef lanes_polynomial(Lanes *l, LLVMValueRef x, const double *coefficients, int count);
/* min(max(x, low), high); NaN stays NaN. */
LLVMValueRef lanes_clamp(Lanes *l, LLVMValueRef x, double low, double high);
/* x * y rounded to a whole number, as a real, and its low bits as an integer. NaN stays NaN, with any bits. */
LLVMValueRef lanes_round_product(Lanes *l, LLVMValueRef x, double y, LLVMValueRef *bits);
/* 2^n for an integer n, if that is a normal number. */
LLVMValueRef lanes_power_of_two(Lanes *l, LLVMValueRef n);
/* x * 2^n in one instruction, rounded once, where the target has it for these lanes. n is rounded down first. If x is
 * NaN, an infinite n gives infinity or 0. */
bool lanes_can_scale(const Lanes *l);
LLVMValueRef lanes_scale(Lanes *l, LLVMValueRef x, LLVMValueRef n);
/* Single instructions that AVX-512 has on whole registers, beside the former:
 * - look_up: an entry of a table, by the low bits of the index: 5 for float, 4 for double;
 * - exponent: the whole real e with 2^e <= |x| < 2^(e + 1); infinite for 0 and for infinity;
 * - mantissa: x >= 0 scaled by a power of two to 3/4 <= m < 3/2; 1 for 0 and infinity, NaN for x < 0. */
enum { LANES_TABLE = 32 }; /* most entries */
bool lanes_can_look_up(const Lanes *l);
int lanes_table(const Lanes *l); /* entries */
LLVMValueRef lanes_look_up(Lanes *l, const double *table, LLVMValueRef index);
LLVMValueRef lanes_exponent(Lanes *l, LLVMValueRef x);
LLVMValueRef lanes_mantissa(Lanes *l, LLVMValueRef x);

#endif
